//! Atomic replacement of files: written under another name in the same folder, then renamed.
//!
//! Only regular files are replaced. Pipes and devices are written to directly; for a symbolic link, the file that it
//! points to is replaced.

use super::temporary::{Temporary, folder_of};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that is being written. If it is dropped before [`Replacement::finish`], the old file stays unchanged.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// Its temporary and final names; `None` for what is written to directly.
    names: Option<(Temporary, PathBuf)>,
}

/// Replaces the file at a path; with `executable`, everyone who may read it may run it. Programs that have the old file
/// open keep it.
pub fn write(path: &Path, bytes: &[u8], executable: bool) -> Result<()> {
    let mut file = Replacement::begin(path, executable)?;
    file.write_all(bytes)?;
    file.finish()
}

impl Replacement {
    /// Begins to replace the file at a path.
    pub fn begin(path: &Path, executable: bool) -> Result<Replacement> {
        let former = match look(path)? {
            Existing::Other(file) => return Ok(Replacement { file, names: None }),
            Existing::Nothing => None,
            Existing::File(former) => Some(former),
        };
        let path = match &former {
            Some(_) => path.canonicalize()?,
            None => path.to_owned(),
        };
        let mode = if executable { 0o777 } else { 0o666 };
        let (temporary, file) = Temporary::file(folder_of(&path), mode)?;
        if let Some(former) = former {
            resemble(&file, &former, executable)?;
        }
        Ok(Replacement {
            file,
            names: Some((temporary, path)),
        })
    }

    /// Returns the final path; `None` for what is written to directly.
    pub fn path(&self) -> Option<&Path> {
        self.names.as_ref().map(|(_, path)| path.as_path())
    }

    /// Renames the file to its final name.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush()?;
        match self.names {
            Some((temporary, path)) => {
                self.file.sync_all()?;
                temporary.keep(&path)
            }
            None => Ok(()),
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}

impl Seek for Replacement {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.file.seek(to)
    }
}

/// The existing object at a path.
enum Existing {
    Nothing,
    /// A file that can be replaced.
    File(Metadata),
    /// A pipe or a device, or a path to a program's open file, which a new file of that name would not replace.
    Other(File),
}

fn look(path: &Path) -> Result<Existing> {
    // The same error as from opening `name/` for writing.
    let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    match fs::metadata(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Err(_) if path.is_symlink() => Err(Error::new(
            ErrorKind::NotFound,
            "this is a symbolic link that leads nowhere; remove it, or make what it leads to",
        )),
        Err(_) if slash || path.file_name().is_none() => Err(ErrorKind::IsADirectory.into()),
        Err(_) => Ok(Existing::Nothing),
        Ok(seen) if seen.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(seen) => {
            let mut options = OpenOptions::new();
            // A file is replaced only if it may be written to. Appending leaves its contents unchanged.
            let file = options.append(true).open(path)?;
            match seen.is_file() && !is_open_file(path) {
                true => Ok(Existing::File(seen)),
                false => Ok(Existing::Other(file)),
            }
        }
    }
}

/// Returns whether a path leads through a program's open file: `/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/1`.
fn is_open_file(path: &Path) -> bool {
    let mut path = path.to_owned();
    // The system follows at most 40 links, and has followed these already.
    for _ in 0..40 {
        let Ok(to) = fs::read_link(&path) else {
            return false;
        };
        let folder = folder_of(&path);
        if folder
            .canonicalize()
            .is_ok_and(|it| it.starts_with("/proc"))
        {
            return true;
        }
        path = folder.join(to);
    }
    false
}

/// Gives a file the owner and permissions of the file that it replaces.
#[cfg(unix)]
fn resemble(file: &File, former: &Metadata, executable: bool) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (former.uid(), former.gid()) {
        // Only root may change the owner; otherwise another user's file in a shared folder becomes the writer's.
        let _ = fchown(file, Some(former.uid()), Some(former.gid()));
    }
    let mode = former.mode() & 0o777;
    let run = if executable { (mode & 0o444) >> 2 } else { 0 };
    file.set_permissions(fs::Permissions::from_mode(mode | run))
}

#[cfg(not(unix))]
fn resemble(_: &File, _: &Metadata, _: bool) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"one", false).unwrap();
        let mut begun = Replacement::begin(&path, false).unwrap();
        begun.write_all(b"tw").unwrap();
        drop(begun);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write(&path, b"two", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o500, 0o500);
        assert_eq!(names(folder.path()), 1);
    }

    #[test]
    fn permissions_and_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("a", &link).unwrap();
        write(&link, b"two", false).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        symlink("nowhere", folder.path().join("lost")).unwrap();
        let lost = write(&folder.path().join("lost"), b"", false).unwrap_err();
        assert!(lost.to_string().contains("leads nowhere"), "{lost}");
        let inside = write(folder.path(), b"", false).unwrap_err();
        assert_eq!(inside.kind(), ErrorKind::IsADirectory);
        assert_eq!(names(folder.path()), 3);
    }
}
