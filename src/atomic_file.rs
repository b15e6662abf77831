//! Atomic replacement of files: written under another name beside the path, then renamed, so that a file is there whole
//! or not at all.

use crate::error::{Error, Result};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file in the place of what is at the path; with `executable` everybody may run it. Who has the former one
/// open keeps it.
pub fn write(path: &Path, bytes: &[u8], executable: bool) -> Result<()> {
    let temporary = temporary_beside(path);
    let written = (|| {
        let mut file = fs::File::create_new(&temporary)?;
        file.write_all(bytes)?;
        #[cfg(unix)]
        if executable {
            use std::os::unix::fs::PermissionsExt;
            file.set_permissions(fs::Permissions::from_mode(0o755))?;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // It may not even exist; the error that matters is the one above.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(Error::io(path))
}

/// A name that nobody else uses, in the same directory so that it can be renamed.
fn temporary_beside(path: &Path) -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}.{count}.tmp", std::process::id()));
    path.with_file_name(name)
}
