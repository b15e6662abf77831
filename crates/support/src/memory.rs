//! Memory of many megabytes.

/// Asks the system for pages of 2 MiB where memory is that large: there are fewer of them to set up, and to find in the tables
/// of a core. Must come before the memory is written to.
pub fn ask_for_large_pages<T>(memory: &mut [T]) {
    const LARGE: usize = 2 << 20;
    const SMALL: usize = 4096;
    let (first, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    let skipped = first.addr().next_multiple_of(SMALL) - first.addr();
    if bytes < 2 * LARGE + skipped {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: whole pages of this memory; the advice changes nothing that they hold, and that it may not be followed does not
    // matter.
    unsafe {
        let whole = (bytes - skipped) / SMALL * SMALL;
        libc::madvise(first.add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
    }
}
