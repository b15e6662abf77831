//! Aligned memory for the vectors of one block of events.

use mebridge_simd::Real;
use mebridge_support::error::{Error, Result};
use mebridge_support::memory::ask_for_large_pages;

/// Alignment of every vector in bytes, that of the widest one.
const ALIGNMENT: usize = 64;

/// Zeroed, aligned memory of numbers.
pub struct Arena<T> {
    /// Cache lines, for alignment; their content is only accessed through pointers to `T`.
    lines: Vec<CacheLine>,
    numbers: usize,
    _marker: std::marker::PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; ALIGNMENT]);

impl<T: Real> Arena<T> {
    /// Allocates `numbers` numbers, all zero.
    pub fn new(numbers: usize) -> Result<Self> {
        let bytes = numbers.saturating_mul(size_of::<T>());
        let count = bytes.div_ceil(ALIGNMENT).max(1);
        let mut lines: Vec<CacheLine> = Vec::new();
        lines
            .try_reserve_exact(count)
            .map_err(|_| Error::Memory { bytes })?;
        ask_for_large_pages(lines.spare_capacity_mut());
        lines.resize(count, CacheLine([0; ALIGNMENT]));
        Ok(Arena {
            lines,
            numbers,
            _marker: std::marker::PhantomData,
        })
    }

    /// All numbers.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let first = self.as_mut_ptr();
        // SAFETY: the lines are aligned, hold at least this many numbers and are borrowed mutably. Their bytes are
        // zero, which is a valid number, or were written as numbers.
        unsafe { std::slice::from_raw_parts_mut(first, self.numbers) }
    }

    /// Number of numbers.
    pub fn len(&self) -> usize {
        self.numbers
    }

    /// Pointer to the first number.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.lines.as_mut_ptr().cast()
    }
}

const _: () = assert!(size_of::<CacheLine>() == ALIGNMENT && align_of::<CacheLine>() == ALIGNMENT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let error = Arena::<f64>::new(usize::MAX / 4).err().unwrap();
        assert!(
            error.to_string().contains("CUDACPP_RUNTIME_THREADS"),
            "{error}"
        );
        assert_eq!(Arena::<f64>::new(3).unwrap().as_mut_slice(), [0.0; 3]);
    }
}
