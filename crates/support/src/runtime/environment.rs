//! Environment variables, as far as they can be trusted.
//!
//! A program with more privileges than its caller (set-user-id, set-group-id, capabilities) must not let the
//! environment decide where it writes or which library it loads: all variables count as unset there, as in
//! `secure_getenv`.

use std::ffi::OsString;

/// Returns a variable.
pub fn variable(name: &str) -> Option<OsString> {
    match has_more_rights() {
        true => None,
        false => std::env::var_os(name),
    }
}

/// Returns all variables.
pub fn variables() -> Vec<(OsString, OsString)> {
    match has_more_rights() {
        true => Vec::new(),
        false => std::env::vars_os().collect(),
    }
}

/// Returns whether this program has privileges that its caller lacks.
#[cfg(target_os = "linux")]
pub fn has_more_rights() -> bool {
    /// From `<elf.h>`; the libc crate has it for some systems only.
    const AT_SECURE: libc::c_ulong = 23;
    // SAFETY: `getauxval` looks up any number in a table of the process.
    unsafe { libc::getauxval(AT_SECURE) != 0 }
}

/// Returns whether this program has privileges that its caller lacks.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn has_more_rights() -> bool {
    // SAFETY: these functions take no arguments and cannot fail.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

/// Returns whether this program has privileges that its caller lacks.
#[cfg(not(unix))]
pub fn has_more_rights() -> bool {
    false
}
