//! System calls on names relative to an open folder. None of them follows a symbolic link of that name.

use std::ffi::{CString, OsStr, OsString, c_int};
use std::fs::{File, OpenOptions};
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// An open folder.
#[derive(Debug)]
pub struct OpenFolder(File);

/// The kind of an entry in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderEntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a device, a socket.
    Other,
}

impl OpenFolder {
    /// Opens a folder; only this function follows symbolic links.
    pub fn open(path: &Path) -> Result<OpenFolder> {
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(libc::O_DIRECTORY);
        Ok(OpenFolder(options.open(path)?))
    }

    /// Opens a folder in it.
    pub fn enter(&self, name: &OsStr) -> Result<OpenFolder> {
        self.open_at(name, libc::O_RDONLY | libc::O_DIRECTORY, 0)
            .map(OpenFolder)
    }

    /// Opens the entry of this name, with the flags and permissions of `open(2)`. Does not wait for the other end of a
    /// pipe.
    pub fn open_at(&self, name: &OsStr, flags: c_int, mode: libc::mode_t) -> Result<File> {
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let name = c_name(name)?;
        // SAFETY: an open folder, and a name that ends with a zero byte; any number is valid as the mode.
        let opened = unsafe { libc::openat(self.fd(), name.as_ptr(), flags, mode as libc::c_uint) };
        done(opened)?;
        // SAFETY: the descriptor was just opened, and nothing else owns it.
        Ok(unsafe { File::from_raw_fd(opened) })
    }

    /// Makes a folder in it.
    pub fn make(&self, name: &OsStr) -> Result<()> {
        let name = c_name(name)?;
        // SAFETY: an open folder, and a name that ends with a zero byte.
        done(unsafe { libc::mkdirat(self.fd(), name.as_ptr(), 0o777) })
    }

    /// Returns the kind of the entry of this name.
    pub fn kind(&self, name: &OsStr) -> Result<FolderEntryKind> {
        let name = c_name(name)?;
        // SAFETY: all zeros is a valid value of this struct.
        let mut seen: libc::stat = unsafe { std::mem::zeroed() };
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        // SAFETY: an open folder, a name that ends with a zero byte, and a struct for the call to fill.
        done(unsafe { libc::fstatat(self.fd(), name.as_ptr(), &raw mut seen, flags) })?;
        Ok(match seen.st_mode & libc::S_IFMT {
            libc::S_IFREG => FolderEntryKind::File,
            libc::S_IFDIR => FolderEntryKind::Folder,
            libc::S_IFLNK => FolderEntryKind::Link,
            _ => FolderEntryKind::Other,
        })
    }

    /// Removes the entry of this name; an empty folder if `folder`, else anything but a folder.
    pub fn remove(&self, name: &OsStr, folder: bool) -> Result<()> {
        let name = c_name(name)?;
        let flags = if folder { libc::AT_REMOVEDIR } else { 0 };
        // SAFETY: an open folder, and a name that ends with a zero byte.
        done(unsafe { libc::unlinkat(self.fd(), name.as_ptr(), flags) })
    }

    /// Renames an entry, replacing an existing one.
    pub fn rename(&self, name: &OsStr, to: &OpenFolder, new: &OsStr) -> Result<()> {
        let (name, new) = (c_name(name)?, c_name(new)?);
        // SAFETY: open folders, and names that end with a zero byte.
        done(unsafe { libc::renameat(self.fd(), name.as_ptr(), to.fd(), new.as_ptr()) })
    }

    /// Makes a hard link to an entry.
    pub fn link(&self, name: &OsStr, to: &OpenFolder, new: &OsStr) -> Result<()> {
        let (name, new) = (c_name(name)?, c_name(new)?);
        // SAFETY: open folders, and names that end with a zero byte.
        done(unsafe { libc::linkat(self.fd(), name.as_ptr(), to.fd(), new.as_ptr(), 0) })
    }

    /// Makes a symbolic link of this name.
    pub fn symlink(&self, to: &Path, name: &OsStr) -> Result<()> {
        let (to, name) = (c_name(to.as_os_str())?, c_name(name)?);
        // SAFETY: an open folder, and texts that end with a zero byte.
        done(unsafe { libc::symlinkat(to.as_ptr(), self.fd(), name.as_ptr()) })
    }

    /// Returns the target of a symbolic link.
    pub fn read_link(&self, name: &OsStr) -> Result<OsString> {
        let name = c_name(name)?;
        let mut bytes = vec![0u8; libc::PATH_MAX as usize];
        // SAFETY: an open folder, a name that ends with a zero byte, and a buffer of the given length.
        let length = unsafe {
            libc::readlinkat(
                self.fd(),
                name.as_ptr(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
            )
        };
        if length < 0 {
            return Err(Error::last_os_error());
        }
        bytes.truncate(length as usize);
        Ok(OsString::from_vec(bytes))
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Converts a name for system calls.
fn c_name(name: &OsStr) -> Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}

fn done(result: c_int) -> Result<()> {
    match result < 0 {
        true => Err(Error::last_os_error()),
        false => Ok(()),
    }
}
