//! Subcommands of the Python package, to which their arguments are handed over.

use mebridge::{Error, Result};
use std::env::{current_exe, var_os};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Runs a subcommand of `python -m mebridge` in the place of this program.
pub fn hand_over(subcommand: &str, arguments: Vec<OsString>) -> Result<()> {
    let python = python();
    let source = Command::new(&python)
        .args(["-m", "mebridge", subcommand])
        .args(arguments)
        .exec();
    Err(Error::NoPython { python, source })
}

/// The interpreter that has the package.
fn python() -> PathBuf {
    if let Some(given) = var_os("MEBRIDGE_PYTHON").filter(|name| !name.is_empty()) {
        return given.into();
    }
    let beside = current_exe()
        .ok()
        .map(|path| path.with_file_name("python3"));
    beside
        .filter(|path| path.is_file())
        .unwrap_or_else(|| "python3".into())
}
