//! Reading of regular files alone, and of no more than they can need.
//!
//! What lies at a path that somebody names, or in a folder that somebody else made, may be a pipe, which blocks until
//! somebody writes, a device, which never ends, or a sparse file of any size.

use super::inputs;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a file, if it is a regular one of at most so many bytes.
pub fn open(path: &Path, most: u64) -> Result<File> {
    // Some devices do something when they are opened.
    check(&fs::metadata(path)?, most)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // It may have become a pipe meanwhile. To regular files this means nothing.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    accept(&file, most)?;
    Ok(file)
}

/// The bytes of a file, if it is a regular one of at most so many.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    bytes(&open(path, most)?, most)
}

/// The same of a file that a user names, which may be a pipe (`--card <(sed ...)`).
pub fn read_or_pipe(path: &Path, most: u64) -> Result<Vec<u8>> {
    if !is_pipe(&fs::metadata(path)?) {
        return read(path, most);
    }
    let mut bytes = Vec::new();
    // One byte more, to see that there is more.
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, most)?;
    Ok(bytes)
}

/// The text of a file, if it is a regular one of at most so many bytes.
pub fn read_to_string(path: &Path, most: u64) -> Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "this is no text in UTF-8"))
}

/// The bytes of an open file, if it is a regular one of at most so many.
pub fn bytes(file: &File, most: u64) -> Result<Vec<u8>> {
    let size = accept(file, most)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize)?;
    // It may grow meanwhile.
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Notes an open file as read, and gives its size, if it is a regular one of at most so many bytes.
pub fn accept(file: &File, most: u64) -> Result<u64> {
    let seen = file.metadata()?;
    check(&seen, most)?;
    inputs::note(&seen);
    Ok(seen.len())
}

fn check(seen: &Metadata, most: u64) -> Result<()> {
    if !seen.is_file() {
        let what = match seen.is_dir() {
            true => "this is a folder",
            false => "this is no regular file",
        };
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    check_size(seen.len(), most)
}

fn check_size(size: u64, most: u64) -> Result<()> {
    if size > most {
        let what = format!("{size} bytes are more than this file can need");
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(())
}

#[cfg(unix)]
fn is_pipe(seen: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&seen.file_type())
}

#[cfg(not(unix))]
fn is_pipe(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn what_blocks_or_never_ends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "text").unwrap();
        assert_eq!(read_to_string(&at("a"), 4).unwrap(), "text");
        let refused = |path: &Path| read(path, 3).unwrap_err().to_string();
        assert_eq!(
            refused(&at("a")),
            "4 bytes are more than this file can need"
        );
        assert_eq!(refused(folder.path()), "this is a folder");
        assert_eq!(refused("/dev/zero".as_ref()), "this is no regular file");
        let name = CString::new(at("pipe").as_os_str().as_bytes()).unwrap();
        // SAFETY: a name that ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(refused(&at("pipe")), "this is no regular file");
        let sparse = File::create(at("sparse")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        assert!(refused(&at("sparse")).contains("more than this file can need"));
        assert_eq!(
            read(&at("none"), 3).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }
}
