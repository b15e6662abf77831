//! The L2 cache of a core.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Size in bytes of the L2 cache of a core of this machine; 0 if the system does not report it.
///
/// Concurrent first calls each query the system. No thread waits for another, since it might wait forever after a fork.
pub fn l2_bytes() -> usize {
    const UNKNOWN: usize = usize::MAX;
    static BYTES: AtomicUsize = AtomicUsize::new(UNKNOWN);
    match BYTES.load(Ordering::Relaxed) {
        UNKNOWN => {
            let bytes = of_system();
            BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn of_system() -> usize {
    // SAFETY: `sysconf` accepts any name, and returns -1 or 0 for unknown values.
    let bytes = unsafe { libc::sysconf(libc::_SC_LEVEL2_CACHE_SIZE) };
    match usize::try_from(bytes) {
        Ok(bytes) if bytes > 0 => bytes,
        // The C library queries the processor on x86-64 only; the kernel knows the size on most systems.
        _ => std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size")
            .ok()
            .and_then(|text| kilobytes(&text))
            .unwrap_or(0),
    }
}

/// Parses a size in the kernel's format, such as `1024K`, and converts it to bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn kilobytes(text: &str) -> Option<usize> {
    let kilobytes: usize = text.trim().strip_suffix('K')?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn of_system() -> usize {
    0
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::kilobytes;

    #[test]
    fn the_kernels_sizes_are_read() {
        assert_eq!(kilobytes("1024K\n"), Some(1 << 20));
        for text in [
            "",
            "K",
            "1M",
            "-1K",
            "99999999999999999999K",
            "18446744073709551615K",
        ] {
            assert_eq!(kilobytes(text), None, "{text}");
        }
    }
}
