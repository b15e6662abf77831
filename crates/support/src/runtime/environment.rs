//! The variables of this program's environment, as far as they may be believed.
//!
//! A program that runs with more rights than who called it (set-user-id, set-group-id, capabilities) must not let them
//! say where it writes, or which library it loads: there all of them count as unset, as by the system's
//! `secure_getenv`.

use std::ffi::OsString;

/// A variable.
pub fn variable(name: &str) -> Option<OsString> {
    match has_more_rights() {
        true => None,
        false => std::env::var_os(name),
    }
}

/// All variables.
pub fn variables() -> Vec<(OsString, OsString)> {
    match has_more_rights() {
        true => Vec::new(),
        false => std::env::vars_os().collect(),
    }
}

/// Whether this program has rights that its caller has not.
#[cfg(target_os = "linux")]
pub fn has_more_rights() -> bool {
    /// Of `<elf.h>`; libc has it for some systems only.
    const AT_SECURE: libc::c_ulong = 23;
    // SAFETY: it takes a number and looks it up in a table that the system made.
    unsafe { libc::getauxval(AT_SECURE) != 0 }
}

/// Whether this program has rights that its caller has not.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn has_more_rights() -> bool {
    // SAFETY: they take nothing and cannot fail.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}

/// Whether this program has rights that its caller has not.
#[cfg(not(unix))]
pub fn has_more_rights() -> bool {
    false
}
