//! Large blocks of memory, and what is read from them in random order.

/// Requests 2 MiB pages for memory that is large enough: fewer pages to set up, and fewer TLB entries. Must be called
/// before the memory is written.
pub fn ask_for_large_pages<T>(memory: &mut [T]) {
    const LARGE: usize = 2 << 20;
    const SMALL: usize = 4096;
    let (first, bytes) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    let skipped = first.addr().next_multiple_of(SMALL) - first.addr();
    if bytes < 2 * LARGE + skipped {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: the range consists of whole pages of this memory; the advice does not change their contents, and the
    // result does not matter.
    unsafe {
        let whole = (bytes - skipped) / SMALL * SMALL;
        libc::madvise(first.add(skipped).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

/// Lets the processor load a value into its cache, for a use that follows soon.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let first = std::ptr::from_ref(value).cast::<i8>();
        for offset in (0..size_of::<T>()).step_by(LINE) {
            // SAFETY: this is a hint: it changes no memory, and is ignored where none is.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
