//! Vectors to work in.

use mebridge::simd::Real;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Bytes that the widest register is aligned to.
const ALIGNMENT: usize = 64;

/// Aligned vectors of numbers.
pub struct Memory<T> {
    numbers: Vec<T>,
    start: usize,
    lanes: usize,
}

impl<T: Real> Memory<T> {
    /// Vectors of random numbers from -1 to 1.
    pub fn random(vectors: usize, lanes: usize) -> Self {
        let padding = ALIGNMENT / size_of::<T>();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut numbers = vec![T::default(); vectors * lanes + padding];
        numbers.fill_with(|| T::from_f64(rng.random_range(-1.0..1.0)));
        let start = numbers.as_ptr().align_offset(ALIGNMENT);
        Memory {
            numbers,
            start,
            lanes,
        }
    }

    /// The first vector.
    pub fn base(&mut self) -> *mut T {
        self.numbers[self.start..].as_mut_ptr()
    }

    /// One number in all lanes of a vector.
    pub fn fill(&mut self, address: u32, value: T) {
        let at = self.start + address as usize * self.lanes;
        self.numbers[at..at + self.lanes].fill(value);
    }
}
