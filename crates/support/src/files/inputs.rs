//! Which files a program has read, by what they are and not by their names: an output must not be one of them, whatever
//! it is called.
//!
//! The command asks for it; in other programs, which may well read a file, change it and write it back, nothing is
//! noted.

use std::collections::HashSet;
use std::fs::Metadata;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Whether anybody wants to know. Where nobody does no lock is taken, which a thread could have that a fork leaves
/// behind.
static REMEMBERED: AtomicBool = AtomicBool::new(false);
/// Device and number of each.
static READ: LazyLock<Mutex<HashSet<(u64, u64)>>> = LazyLock::new(Mutex::default);

/// From now on files that are read are noted.
pub fn remember() {
    REMEMBERED.store(true, Ordering::Relaxed);
}

/// Notes a file that is read.
pub fn note(file: &Metadata) {
    if !REMEMBERED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(identity) = identity(file) {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(identity);
    }
}

/// Whether a file was read.
pub fn was_read(file: &Metadata) -> bool {
    let Some(identity) = identity(file) else {
        return false;
    };
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.contains(&identity)
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
