//! Access to the files of an output, which may belong to another user: nothing outside of it is touched, whatever a
//! path says.
//!
//! A path is walked from the open folder of the output, one folder at a time, and symbolic links are followed neither
//! on the way nor at the end ([`at`](super::at)).

use super::at::{FolderEntryKind, OpenFolder};
use mebridge::files::regular;
use mebridge::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Makes an error about a file or folder.
pub fn wrong(path: &Path, what: String) -> Error {
    Error::Link {
        path: path.to_owned(),
        what,
    }
}

/// An output.
#[derive(Debug)]
pub struct OutputRoot {
    path: PathBuf,
    folder: OpenFolder,
}

/// An entry in a folder of an output.
#[derive(Debug)]
pub struct FolderEntry {
    folder: OpenFolder,
    name: OsString,
    /// For messages.
    path: PathBuf,
}

impl OutputRoot {
    /// Opens an output, whose own path may contain links.
    pub fn open(path: &Path) -> Result<OutputRoot> {
        Ok(OutputRoot {
            path: path.to_owned(),
            folder: OpenFolder::open(path).map_err(Error::io(path))?,
        })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an entry; `None` if its folder does not exist.
    pub fn find(&self, relative: impl AsRef<Path>) -> Result<Option<FolderEntry>> {
        self.walk(relative.as_ref(), false)
    }

    /// Returns an entry, whose folders are made.
    pub fn make(&self, relative: impl AsRef<Path>) -> Result<FolderEntry> {
        let relative = relative.as_ref();
        self.walk(relative, true)?
            .ok_or_else(|| Error::io(self.path.join(relative))(ErrorKind::NotFound.into()))
    }

    fn walk(&self, relative: &Path, make: bool) -> Result<Option<FolderEntry>> {
        let path = self.path.join(relative);
        let mut names = Vec::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => names.push(name),
                _ => return Err(wrong(&path, "this is no path within the output".into())),
            }
        }
        let Some(name) = names.pop() else {
            return Err(wrong(&path, "this is the output itself".into()));
        };
        let here = self.folder.enter(OsStr::new("."));
        let mut folder = here.map_err(Error::io(&self.path))?;
        let mut at = self.path.clone();
        for name in names {
            at.push(name);
            folder = match folder.enter(name) {
                Ok(inner) => inner,
                Err(error) if error.kind() == ErrorKind::NotFound && !make => return Ok(None),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let made = folder.make(name).and_then(|()| folder.enter(name));
                    made.map_err(Error::io(&at))?
                }
                Err(_)
                    if folder
                        .kind(name)
                        .is_ok_and(|kind| kind == FolderEntryKind::Link) =>
                {
                    return Err(wrong(
                        &at,
                        "this is a symbolic link, and mebridge changes only what lies in the output itself; put a copy \
                         of what it leads to in its place"
                            .into(),
                    ));
                }
                Err(error) => return Err(Error::io(&at)(error)),
            };
        }
        Ok(Some(FolderEntry {
            folder,
            name: name.to_owned(),
            path,
        }))
    }

    /// Returns the kind of an entry; `None` if it does not exist.
    pub fn kind(&self, relative: impl AsRef<Path>) -> Result<Option<FolderEntryKind>> {
        match self.find(relative)? {
            Some(place) => place.kind(),
            None => Ok(None),
        }
    }

    /// Removes a file or a link, if it exists. Folders are never ours.
    pub fn remove(&self, relative: impl AsRef<Path>) -> Result<()> {
        match self.find(relative)? {
            Some(place) => place.remove(),
            None => Ok(()),
        }
    }

    /// Returns the names in a folder; none if it does not exist or is a link.
    pub fn names(&self, relative: impl AsRef<Path>) -> Result<Vec<OsString>> {
        let relative = relative.as_ref();
        if self.kind(relative)? != Some(FolderEntryKind::Folder) {
            return Ok(Vec::new());
        }
        let path = self.path.join(relative);
        let entries = std::fs::read_dir(&path).map_err(Error::io(&path))?;
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names.collect::<io::Result<_>>().map_err(Error::io(&path))
    }
}

impl FolderEntry {
    /// Returns its kind; `None` if it does not exist.
    pub fn kind(&self) -> Result<Option<FolderEntryKind>> {
        match self.folder.kind(&self.name) {
            Ok(kind) => Ok(Some(kind)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Returns the bytes of a regular file of at most `most` bytes; `None` if it does not exist.
    pub fn read(&self, most: u64) -> Result<Option<Vec<u8>>> {
        let opened = self.folder.open_at(&self.name, libc::O_RDONLY, 0);
        match opened.and_then(|file| regular::bytes(&file, most)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(_) if self.kind()? == Some(FolderEntryKind::Link) => Err(wrong(
                &self.path,
                "this is a symbolic link, where mebridge expects a file that it wrote; remove it"
                    .into(),
            )),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Makes a new empty file with these permissions, or those of the umask.
    pub fn create(&self, permissions: Option<Permissions>) -> Result<File> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        let made = || {
            let file = self.folder.open_at(&self.name, flags, 0o666)?;
            if let Some(permissions) = permissions {
                file.set_permissions(permissions)?;
            }
            Ok(file)
        };
        made().map_err(|error| self.error(error))
    }

    /// Opens a regular file, and makes it if it does not exist; its contents stay.
    pub fn open_or_create(&self) -> Result<File> {
        let flags = libc::O_RDWR | libc::O_CREAT;
        let opened = self.folder.open_at(&self.name, flags, 0o666);
        let opened = opened.and_then(|file| regular::accept(&file, u64::MAX).map(|_| file));
        opened.map_err(|error| self.error(error))
    }

    /// Removes a file or a link, if it exists. Folders are never ours.
    pub fn remove(&self) -> Result<()> {
        match self.kind()? {
            None | Some(FolderEntryKind::Folder) => Ok(()),
            Some(_) => match self.folder.remove(&self.name, false) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(self.error(error)),
                _ => Ok(()),
            },
        }
    }

    /// Removes a folder, if it exists and is empty.
    pub fn remove_folder(&self) -> io::Result<()> {
        self.folder.remove(&self.name, true)
    }

    /// Renames this entry, replacing an existing one.
    pub fn rename(&self, to: &FolderEntry) -> Result<()> {
        let renamed = self.folder.rename(&self.name, &to.folder, &to.name);
        renamed.map_err(|error| to.error(error))
    }

    /// Makes a hard link to this entry.
    pub fn link(&self, to: &FolderEntry) -> io::Result<()> {
        self.folder.link(&self.name, &to.folder, &to.name)
    }

    /// Makes this entry a symbolic link.
    pub fn symlink(&self, to: &Path) -> Result<()> {
        let made = self.folder.symlink(to, &self.name);
        made.map_err(|error| self.error(error))
    }

    /// Returns its target, if it is a symbolic link.
    pub fn read_link(&self) -> Option<PathBuf> {
        self.folder.read_link(&self.name).ok().map(PathBuf::from)
    }

    /// Returns its path, for messages and for reading.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn error(&self, error: io::Error) -> Error {
        Error::io(&self.path)(error)
    }
}
