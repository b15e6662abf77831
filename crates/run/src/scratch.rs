//! Folders for temporary files of a run, and checks of disk space.

use crate::state::system;
use mebridge::{Error, Result};
use mebridge_support::files::temporary::Temporary;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const LOCK: &str = "lock";

/// A folder for temporary files. It is removed when this value is dropped, or by
/// [`remove_all`](mebridge_support::files::temporary::remove_all) in a signal handler, or, if this program is killed,
/// by the next run that makes such a folder.
#[derive(Debug)]
pub struct Scratch {
    folder: Temporary,
    /// Locked for the lifetime of this program.
    _lock: File,
}

impl Scratch {
    /// Makes a folder in `TMPDIR`.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new() -> Result<Self> {
        Scratch::within(&std::env::temp_dir())
    }

    fn within(place: &Path) -> Result<Self> {
        sweep(place);
        let made = || {
            let folder = Temporary::folder(place, 0o700)?;
            let path = folder.path().join("lock.new");
            let lock = File::create_new(&path)?;
            lock.lock()?;
            // The lock is taken before the file gets its final name, so other programs never find it unlocked.
            fs::rename(path, folder.path().join(LOCK))?;
            Ok(Scratch {
                folder,
                _lock: lock,
            })
        };
        made().map_err(|error: io::Error| {
            let (place, why) = (place.display(), system(&error));
            let what = format!("a folder for temporary files cannot be made in {place}: {why}");
            Error::run(what, "TMPDIR names another place")
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders left by runs that were killed.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_bytes().starts_with(b".mebridge-");
        // Folders of other users, or in use, stay.
        let _ = is_ours.then(|| sweep_one(&entry.path()));
    }
}

fn sweep_one(left: &Path) -> io::Result<()> {
    let seen = left.symlink_metadata()?;
    // SAFETY: `geteuid` has no preconditions.
    if !seen.is_dir() || seen.uid() != unsafe { libc::geteuid() } {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let lock = options.open(left.join(LOCK))?;
    lock.try_lock()?;
    fs::remove_dir_all(left)
}

/// An upper bound on the bytes that a part of a run with this many events writes.
fn room(events: u64) -> u64 {
    (16 << 20) + 4096 * events
}

/// Checks that a folder has space for this many events.
///
/// # Errors
/// It does not.
pub fn check_room(place: &Path, events: u64) -> Result<()> {
    let free = free(place).map_err(Error::io(place))?;
    check(free, place, events)
}

fn check(free: u64, place: &Path, events: u64) -> Result<()> {
    let needed = room(events);
    if free >= needed {
        return Ok(());
    }
    let what = format!(
        "there is too little space in {} for {events} events, {} MiB where they may take {}",
        place.display(),
        free >> 20,
        needed.div_ceil(1 << 20)
    );
    Err(Error::run(
        what,
        "make room, and the run goes on where it keeps its state",
    ))
}

/// Free bytes in a folder for this user.
fn free(place: &Path) -> io::Result<u64> {
    let name = CString::new(place.as_os_str().as_bytes())?;
    // SAFETY: the name ends with a zero byte, and `found` is a zeroed struct on the stack that the call fills.
    let (status, found) = unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(name.as_ptr(), &raw mut found), found)
    };
    match status {
        0 => Ok(found.f_bavail * found.f_frsize),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_killed_runs_left_goes_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let there = || fs::read_dir(place.path()).unwrap().count();
        let left = place.path().join(".mebridge-0123.tmp");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        // A folder of another program, without a lock file.
        fs::create_dir(place.path().join(".mebridge-4567.tmp")).unwrap();
        let first = Scratch::within(place.path()).unwrap();
        assert!(!left.exists());
        let second = Scratch::within(place.path()).unwrap();
        assert!(first.path().is_dir() && second.path().is_dir());
        assert_eq!(there(), 3);
        drop((first, second));
        assert_eq!(there(), 1);
        let nowhere = Scratch::within(&left).unwrap_err().to_string();
        assert!(
            nowhere.contains("No such file or directory; TMPDIR names"),
            "{nowhere}"
        );
    }

    #[test]
    fn events_need_room() {
        let place = Path::new("/x");
        assert!(check(room(100), place, 100).is_ok());
        assert_eq!(
            check(1 << 20, place, 5000).unwrap_err().to_string(),
            "there is too little space in /x for 5000 events, 1 MiB where they may take 36; make room, and the run goes on \
             where it keeps its state"
        );
        assert!(free(Path::new("/")).unwrap() > 0);
        assert!(check_room(&place.join("nowhere"), 1).is_err());
    }
}
