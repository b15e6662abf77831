//! Files and folders that go again: in the end of what they are for, and when a signal ends the program.
//!
//! The library installs no handlers of signals; a program that wants the second calls [`remove_all`] in its own. Other
//! threads and programs that were started go on meanwhile. So a folder loses its name before it is emptied, and nothing
//! more is put into it; [`make_folders`] makes folders within it and does not make it again.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// All that are there.
static ALL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file or a folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// A new, empty file in a folder, with these permissions less the umask.
    pub fn file(folder: &Path, mode: u32) -> Result<(Temporary, File)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        Temporary::new(folder, |path| options.open(path))
    }

    /// A new, empty folder in another one, with these permissions less the umask.
    pub fn folder(within: &Path, mode: u32) -> Result<Temporary> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, mode);
        Ok(Temporary::new(within, |path| builder.create(path))?.0)
    }

    /// Makes something under a name that nobody else uses. It must not be there: where everybody may write, somebody
    /// else could have put there what is then written through, or run.
    fn new<T>(folder: &Path, make: impl Fn(&Path) -> Result<T>) -> Result<(Temporary, T)> {
        // Held all the while: there is no moment at which it exists and is not listed.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it a name of its own, under which it stays.
    pub fn keep(self, path: &Path) -> Result<()> {
        // Nothing is left to remove by the former name.
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

/// The folder in which something has, or will have, its name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Makes the folders of a path within a folder, but not that folder: it may have been removed because the program is
/// about to end, and would be left by `create_dir_all`.
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

/// Removes all that are there, for a program that is about to end: none can be made any more.
pub fn remove_all() {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().for_each(|path| remove(path));
    std::mem::forget(all);
}

/// If it cannot be removed there is nothing that could be done; it may have its own name since.
fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(is) if is.is_dir() => {}
        Ok(_) => {
            let _ = fs::remove_file(path);
            return;
        }
        Err(_) => return,
    }
    // Nobody knows the new name. Where it cannot have one it is emptied under its own.
    let mut nameless = path.to_owned().into_os_string();
    nameless.push(".removed");
    let nameless = match fs::rename(path, &nameless) {
        Ok(()) => Path::new(&nameless),
        Err(_) => path,
    };
    // Only who works in it, or has a file of it open, still writes into it.
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

    /// A thread that copies files into a folder when a signal comes.
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
