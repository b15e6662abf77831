//! Aligned memory for the vectors of one block of events.

/// Bytes to which every vector is aligned: those of the widest one.
const ALIGNMENT: usize = 64;

/// Zeroed, aligned memory of numbers.
pub struct Arena<T> {
    /// Cache lines, so that the first number is aligned; their content is only used through
    /// pointers to `T`.
    lines: Vec<Line>,
    numbers: usize,
    of: std::marker::PhantomData<T>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

impl<T: Copy> Arena<T> {
    /// Room for this many numbers, all zero. `T` is a floating point type, for which zero bytes
    /// are the number zero.
    pub fn new(numbers: usize) -> Self {
        let bytes = numbers * size_of::<T>();
        let lines = vec![Line([0; ALIGNMENT]); bytes.div_ceil(ALIGNMENT).max(1)];
        Arena {
            lines,
            numbers,
            of: std::marker::PhantomData,
        }
    }

    /// All numbers.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let first = self.as_mut_ptr();
        // SAFETY: the lines hold at least this many numbers, initialised and aligned, and are
        // borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(first, self.numbers) }
    }

    /// The first number.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.lines.as_mut_ptr().cast()
    }
}
