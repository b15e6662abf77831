//! The L2 cache of a core.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the L2 cache of a core of this machine; 0 where the system does not say.
///
/// Threads that come at once each ask the system. None waits for another: behind a fork it would wait for ever.
pub fn l2_bytes() -> usize {
    const NOT_ASKED: usize = usize::MAX;
    static BYTES: AtomicUsize = AtomicUsize::new(NOT_ASKED);
    match BYTES.load(Ordering::Relaxed) {
        NOT_ASKED => {
            let bytes = of_system();
            BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
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
