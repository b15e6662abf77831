//! Files that are there whole or not at all: written under another name in the same folder, then renamed.
//!
//! Only regular files are replaced. A pipe or a device is written to as it is, and a symbolic link stays, its file is
//! replaced.

use super::temporary::{Temporary, folder_of};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file that is being written; dropped before [`Replacement::finish`] it leaves what was there.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    /// Its name for the time being, and the one that it will have; nothing for what is written to as it is.
    names: Option<(Temporary, PathBuf)>,
}

/// Writes a file in the place of what is at the path; with `executable` whoever may read it may run it. Who has the
/// former one open keeps it.
pub fn write(path: &Path, bytes: &[u8], executable: bool) -> Result<()> {
    let mut file = Replacement::begin(path, executable)?;
    file.write_all(bytes)?;
    file.finish()
}

impl Replacement {
    /// Begins a file in the place of what is at the path.
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

    /// The file that it will be; nothing for what is written to as it is.
    pub fn path(&self) -> Option<&Path> {
        self.names.as_ref().map(|(_, path)| path.as_path())
    }

    /// Gives it its name.
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

/// What is at a path.
enum Existing {
    Nothing,
    /// A file that can be replaced.
    File(Metadata),
    /// A pipe or a device, or an open file of some program, which a new one under its name would not become.
    Other(File),
}

fn look(path: &Path) -> Result<Existing> {
    // As the system says it to who opens `name/` for writing.
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
            // Whoever may not write to a file does not replace it either. What an open file holds already stays.
            let file = options.append(true).open(path)?;
            match seen.is_file() && !is_open_file(path) {
                true => Ok(Existing::File(seen)),
                false => Ok(Existing::Other(file)),
            }
        }
    }
}

/// Whether a path leads through an open file of some program: `/dev/stdout`, `/dev/fd/3`, `/proc/self/fd/1`.
fn is_open_file(path: &Path) -> bool {
    let mut path = path.to_owned();
    // The system follows no more, and has followed them already.
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

/// Gives a file owner and permissions of the one that it replaces.
#[cfg(unix)]
fn resemble(file: &File, former: &Metadata, executable: bool) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (former.uid(), former.gid()) {
        // Only root may give files away; a file of somebody else's in a common folder becomes who writes it.
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
