//! The set of files that the program has read, by identity instead of name: an output must not overwrite one of them,
//! whatever its path.
//!
//! The command enables this; other programs may well read a file, change it and write it back, so nothing is recorded
//! there.

use std::collections::HashSet;
use std::fs::Metadata;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Whether reads are recorded. If not, no lock is taken, which a fork could leave locked.
static REMEMBERED: AtomicBool = AtomicBool::new(false);
/// Device and inode of each file.
static READ: LazyLock<Mutex<HashSet<(u64, u64)>>> = LazyLock::new(Mutex::default);

/// Enables the record of files that are read.
pub fn remember() {
    REMEMBERED.store(true, Ordering::Relaxed);
}

/// Records a file as read.
pub fn note(file: &Metadata) {
    if !REMEMBERED.load(Ordering::Relaxed) {
        return;
    }
    if let Some(identity) = identity(file) {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        read.insert(identity);
    }
}

/// Returns whether a file was read.
pub fn was_read(file: &Metadata) -> bool {
    let Some(identity) = identity(file) else {
        return false;
    };
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.contains(&identity)
}

/// Returns device and inode, which all names of a file share. Pipes and devices hold nothing that could be lost.
#[cfg(unix)]
fn identity(file: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    file.is_file().then(|| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}
