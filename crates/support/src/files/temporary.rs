//! Files and folders that are removed when they are dropped, and when a signal ends the program.
//!
//! The library installs no signal handlers; a program that wants the latter calls [`remove_all`] in its own. Other
//! threads and child programs continue meanwhile. So a folder is renamed before it is emptied, and nothing more is put
//! into it; [`make_folders`] makes folders within it but does not recreate it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// All temporary files and folders that exist.
static ALL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file or a folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// Creates an empty file in a folder, with these permissions minus the umask.
    pub fn file(folder: &Path, mode: u32) -> Result<(Temporary, File)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        Temporary::new(folder, |path| options.open(path))
    }

    /// Creates an empty folder in another one, with these permissions minus the umask.
    pub fn folder(within: &Path, mode: u32) -> Result<Temporary> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        Ok(Temporary::new(within, |path| builder.create(path))?.0)
    }

    /// Creates something under a new name. It must not exist before: in a folder that everyone may write to, another
    /// user could have placed a link to be written through, or a program to be run.
    fn new<T>(folder: &Path, make: impl Fn(&Path) -> Result<T>) -> Result<(Temporary, T)> {
        // Held while it is created, so that it never exists without being listed.
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let random = RandomState::new().build_hasher().finish();
            let path = folder.join(format!(".mebridge-{random:016x}.tmp"));
            match make(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(made) => {
                    all.insert(path.clone());
                    return Ok((Temporary(path), made));
                }
            }
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Renames it to a permanent name.
    pub fn keep(self, path: &Path) -> Result<()> {
        // Dropping `self` finds nothing under the old name.
        fs::rename(&self.0, path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        remove(&self.0);
        all.remove(&self.0);
    }
}

/// Returns the folder that contains a path.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Creates the folders of a path within a folder, but not `within` itself: it may have been removed because the program
/// is ending, and `create_dir_all` would leave it behind.
pub fn make_folders(within: &Path, path: &Path) -> Result<()> {
    let mut folder = within.to_owned();
    for part in path {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    Ok(())
}

/// Removes all temporary files and folders before the program ends: no more can be created afterwards.
pub fn remove_all() {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().for_each(|path| remove(path));
    std::mem::forget(all);
}

/// Removes a file or folder. Errors are ignored: nothing can be done about them, and it may have been renamed by
/// `keep`.
fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(is) if is.is_dir() => {}
        Ok(_) => {
            let _ = fs::remove_file(path);
            return;
        }
        Err(_) => return,
    }
    // No other code knows the new name. If it cannot be renamed, it is emptied under the old name.
    let mut nameless = path.to_owned().into_os_string();
    nameless.push(".removed");
    let nameless = match fs::rename(path, &nameless) {
        Ok(()) => Path::new(&nameless),
        Err(_) => path,
    };
    // Programs that work in it, or have one of its files open, may still write into it.
    for pause in 0..10 {
        match fs::remove_dir_all(nameless) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                std::thread::sleep(Duration::from_millis(pause));
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A thread copies files into a folder while a signal arrives.
    #[test]
    fn a_folder_that_is_being_filled_goes_and_stays_away() {
        let within = tempfile::tempdir().unwrap();
        for _ in 0..10 {
            let folder = Temporary::folder(within.path(), 0o700).unwrap();
            let (is_over, inner) = (AtomicBool::new(false), folder.path().to_owned());
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for i in 0.. {
                        let name = PathBuf::from(format!("{}/{i}", i % 7));
                        let made = make_folders(&inner, name.parent().unwrap());
                        let _ = made.and_then(|()| fs::write(inner.join(name), "text"));
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                });
                while fs::read_dir(&inner).unwrap().count() < 3 {}
                remove(&inner);
                std::thread::sleep(Duration::from_millis(1));
                is_over.store(true, Ordering::Relaxed);
            });
            assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
        }
    }
}
