//! Reading of regular files only, up to a maximum size.
//!
//! A path from a user, or in a folder made by another program, may lead to a pipe, which blocks until it is written to,
//! to a device, which never ends, or to a sparse file of any size.

use super::inputs;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a file if it is a regular file of at most `most` bytes.
pub fn open(path: &Path, most: u64) -> Result<File> {
    // Checked before opening, since opening some devices has side effects.
    check(&fs::metadata(path)?, most)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Does not block if the path has become a pipe meanwhile; no effect on regular files.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    accept(&file, most)?;
    Ok(file)
}

/// Reads a file if it is a regular file of at most `most` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    bytes(&open(path, most)?, most)
}

/// As [`read`], for a path from a user, which may also be a pipe (`--card <(sed ...)`).
pub fn read_or_pipe(path: &Path, most: u64) -> Result<Vec<u8>> {
    if !is_pipe(&fs::metadata(path)?) {
        return read(path, most);
    }
    let mut bytes = Vec::new();
    // One more byte, to detect a longer input.
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, most)?;
    Ok(bytes)
}

/// Reads a text file if it is a regular file of at most `most` bytes.
pub fn read_to_string(path: &Path, most: u64) -> Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|_| Error::new(ErrorKind::InvalidData, "this is no text in UTF-8"))
}

/// Reads an open file if it is a regular file of at most `most` bytes.
pub fn bytes(file: &File, most: u64) -> Result<Vec<u8>> {
    let size = accept(file, most)?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize)?;
    // The file may grow meanwhile: what is too large then is not cut.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    check_size(bytes.len() as u64, most)?;
    Ok(bytes)
}

/// Records an open file as read and returns its size, if it is a regular file of at most `most` bytes.
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
