//! Subcommands of the Python package, to which their arguments are handed over.

use mebridge::{Error, Result};
use std::env::{current_exe, join_paths, split_paths, var_os};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What Python runs.
const PROGRAM: &str = include_str!("python.py");

/// Where `make python` puts an interpreter with all that events need, in a checkout.
const MADE: &str = "build/venv/bin/python3";

/// Runs a subcommand of the package in the place of this program.
///
/// Nothing of the working directory is imported: neither as `python -m` and `python -c` do, nor where `PYTHONPATH` has an
/// empty part, nor by processes that Python starts.
pub fn hand_over(subcommand: &str, arguments: Vec<OsString>) -> Result<()> {
    let command = current_exe().map_err(Error::io("mebridge"))?;
    let command = command.canonicalize().map_err(Error::io(&command))?;
    let checkout = checkout(&command);
    let python = python(&command, checkout)?;
    let mut call = Command::new(&python);
    let cure = match checkout {
        Some(root) => format!("type `make -C {} python`", root.display()),
        None => format!(
            "type `{} -m pip install \"./python[events]\"` in a checkout of mebridge",
            python.display()
        ),
    };
    call.args(["-c", PROGRAM])
        .arg(checkout.map_or(PathBuf::new(), |root| root.join("python")))
        .arg(format!(
            "{cure}, or name another interpreter in MEBRIDGE_PYTHON"
        ))
        .arg(subcommand)
        .args(arguments)
        .env("PYTHONSAFEPATH", "1")
        // Names and texts are UTF-8, whatever the locale.
        .env("PYTHONUTF8", "1");
    if let Some(given) = var_os("PYTHONPATH") {
        let places = split_paths(&given).filter(|place| !place.as_os_str().is_empty());
        // What was split can be joined.
        call.env("PYTHONPATH", join_paths(places).unwrap_or(given.clone()));
    }
    if checkout.is_some() {
        let library = command.with_file_name("libmebridge.so");
        for (name, place) in [("MEBRIDGE_COMMAND", command), ("MEBRIDGE_LIBRARY", library)] {
            if var_os(name).is_none_or(|given| given.is_empty()) {
                call.env(name, place);
            }
        }
    }
    block_interruptions();
    let source = call.exec();
    Err(Error::NoPython { python, source })
}

/// The checkout that this command was built in, where its package is.
fn checkout(command: &Path) -> Option<&Path> {
    let built = |root: &&Path| {
        root.join("python/mebridge/__init__.py").is_file()
            && root.join("crates/command/Cargo.toml").is_file()
    };
    // That of an environment in a checkout has its own.
    match beside(command).is_file() {
        true => None,
        // target/release/mebridge, or target/x86_64-unknown-linux-gnu/release/mebridge.
        false => command.ancestors().skip(3).take(2).find(built),
    }
}

fn beside(command: &Path) -> PathBuf {
    command.with_file_name("python3")
}

/// The interpreter that has the package.
fn python(command: &Path, checkout: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = var_os("MEBRIDGE_PYTHON").filter(|name| !name.is_empty()) {
        let given = PathBuf::from(given);
        check(&given)?;
        return Ok(given);
    }
    let made = checkout.map(|root| root.join(MADE));
    let mut found = [Some(beside(command)), made].into_iter().flatten();
    Ok(found
        .find(|path| path.is_file())
        .unwrap_or_else(|| "python3".into()))
}

/// Sees that a program is Python: others may do anything with what they are given.
fn check(python: &Path) -> Result<()> {
    let asked = Command::new(python)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let no_python = |source| Error::NoPython {
        python: python.to_owned(),
        source,
    };
    let told = asked.map_err(no_python)?;
    // Python 2 says it on stderr.
    match [told.stdout, told.stderr]
        .iter()
        .any(|text| text.starts_with(b"Python "))
    {
        true => Ok(()),
        false => Err(no_python(std::io::Error::other("it is no Python"))),
    }
}

/// SIGINT waits until Python is there to say so: while it starts it would end with a traceback.
fn block_interruptions() {
    // SAFETY: a set on the stack that sigemptyset fills before it is read; no pointer is kept.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGINT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
    }
}
