//! Lists the files of a folder.

use mebridge::{Error, Result};
use std::path::{Path, PathBuf};

/// Paths of all that a folder holds, in no order.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    let paths = entries.map(|entry| entry.map(|e| e.path()));
    paths
        .collect::<std::io::Result<_>>()
        .map_err(Error::io(folder))
}
