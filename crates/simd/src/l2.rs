//! The L2 cache of a core.

use std::sync::OnceLock;

/// Bytes of the L2 cache of a core of this machine; 0 where the system does not say.
pub fn l2_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(of_system)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn of_system() -> usize {
    // SAFETY: sysconf takes any name, and gives -1 or 0 for what it does not know.
    let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
    usize::try_from(bytes).unwrap_or(0)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn of_system() -> usize {
    0
}
