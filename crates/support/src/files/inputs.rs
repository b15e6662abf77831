//! Which files a program has read, by what they are and not by their names: an output must not be one of them, whatever
//! it is called.
//!
//! The command asks for it; in other programs, which may well read a file, change it and write it back, nothing is noted.

use std::collections::HashSet;
use std::fs::Metadata;
use std::sync::{Mutex, PoisonError};

/// Device and number of each; nothing where nobody has asked.
static READ: Mutex<Option<HashSet<(u64, u64)>>> = Mutex::new(None);

/// From now on files that are read are noted.
pub fn remember() {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.get_or_insert_default();
}

/// Notes a file that is read.
pub fn note(file: &Metadata) {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(read), Some(identity)) = (&mut *read, identity(file)) {
        read.insert(identity);
    }
}

/// Whether a file was read.
pub fn was_read(file: &Metadata) -> bool {
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    match (&*read, identity(file)) {
        (Some(read), Some(identity)) => read.contains(&identity),
        _ => false,
    }
}

/// What two names of one file have in common. Pipes and devices are no files that could be lost.
#[cfg(unix)]
fn identity(file: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    file.is_file().then(|| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}
