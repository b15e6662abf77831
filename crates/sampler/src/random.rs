//! Counter-based random numbers: Philox4x32-10 (J. Salmon et al., SC'11, doi:10.1145/2063384.2063405).
//!
//! A number depends only on its coordinates: seed, round, channel, point and dimension. So points are the same whatever
//! threads, processes and devices draw them. The generator encrypts a counter of four 32-bit words with a key of two
//! words, in 10 rounds of two products each:
//!
//! | word | bits |
//! |---|---|
//! | key 0, key 1 | the seed, low and high 32 bits |
//! | counter 0, counter 1 | the point, low and high 32 bits |
//! | counter 2 | the channel |
//! | counter 3 | the round in the high 16 bits, half the dimension (rounded down) in the low 16 bits |
//!
//! The four words of the result form two 64-bit integers, high word first: an even dimension uses words 0 and 1, the
//! next one words 2 and 3. The number is (2 h + 1) / 2^53, where h is the high 52 bits: never 0 or 1, and exact.

use mebridge_phasespace::Rows;
use mebridge_simd::{Level, Simd, Task, dispatch};
use std::ops::Range;

/// Maximum number of dimensions of a point, including [`ACCEPTANCE`] and [`CORRECTION`].
pub const MAX_DIMENSIONS: u32 = 1 << 17;
/// The dimension that decides whether a point becomes an event.
pub const ACCEPTANCE: u32 = MAX_DIMENSIONS - 1;
/// The dimension that decides whether an event stays one after its correction.
pub const CORRECTION: u32 = MAX_DIMENSIONS - 2;

const ROUNDS: u32 = 10;
const PRODUCTS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
const KEYS: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const WORD: u64 = 0xffff_ffff;

/// Points drawn at a time: the lanes of the longest register.
const LANES: usize = 8;

/// Random numbers of the points of one channel in one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    /// Seed of the run.
    pub seed: u64,
    /// Round of the run, from 0.
    pub round: u16,
    /// Channel, from 0.
    pub channel: u32,
}

impl Philox {
    /// Returns the number, in (0, 1), of a point for one of its dimensions.
    ///
    /// # Panics
    /// If the dimension is not below [`MAX_DIMENSIONS`].
    pub fn number(self, point: u64, dimension: u32) -> f64 {
        assert!(dimension < MAX_DIMENSIONS, "dimension {dimension}");
        let words = encrypt(self.counter([point], dimension / 2), self.key());
        let first = 2 * (dimension % 2) as usize;
        numbers(words[first], words[first + 1])[0]
    }

    /// Fills rows with the numbers of `dimensions` for points `first`, `first + 1` and so on; the first dimension goes
    /// to row `row`.
    ///
    /// # Panics
    /// If rows are missing, dimensions are not below [`MAX_DIMENSIONS`], or the CPU lacks the level.
    pub fn fill(
        self,
        level: Level,
        first: u64,
        dimensions: Range<u32>,
        rows: &mut Rows,
        row: usize,
    ) {
        let fill = Fill {
            philox: self,
            first,
            dimensions,
            rows,
            row,
        };
        // SAFETY: the task requires nothing but the level, which `dispatch` checks.
        unsafe { dispatch(level, fill) }
    }

    fn key(self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }

    /// Returns the counter words in the low halves. The high halves must not be known to be zero: the compiler would
    /// then drop the mask in [`encrypt`], and with it the fast product.
    #[inline(always)]
    fn counter<const N: usize>(self, points: [u64; N], pair: u32) -> [[u64; N]; 4] {
        let anything = self.seed & !WORD;
        let last = u32::from(self.round) << 16 | pair;
        [
            points,
            points.map(|point| point.rotate_left(32)),
            [anything | u64::from(self.channel); N],
            [anything | u64::from(last); N],
        ]
    }
}

/// The task of [`Philox::fill`], for callers that already run at a SIMD level.
#[derive(Debug)]
pub struct Fill<'a> {
    /// The generator.
    pub philox: Philox,
    /// Number of the first point.
    pub first: u64,
    /// The dimensions to fill.
    pub dimensions: Range<u32>,
    /// Destination of the numbers.
    pub rows: &'a mut Rows,
    /// The row of the first dimension.
    pub row: usize,
}

impl Task<f64> for Fill<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let Range { start, end } = self.dimensions;
        assert!(end <= MAX_DIMENSIONS, "dimension {end}");
        let key = self.philox.key();
        let registers = self.rows.registers::<V>();
        for pair in start / 2..end.div_ceil(2) {
            let mut register = 0;
            while register < registers {
                let of_register = self.first.wrapping_add((register * V::LANES) as u64);
                let mut points = [of_register; LANES];
                for (lane, point) in points.iter_mut().enumerate() {
                    *point = point.wrapping_add(lane as u64);
                }
                let [a, b, c, d] = encrypt(self.philox.counter(points, pair), key);
                let halves = [Aligned(numbers(a, b)), Aligned(numbers(c, d))];
                for (half, numbers) in (0..2).zip(&halves) {
                    let dimension = 2 * pair + half;
                    if !(start..end).contains(&dimension) {
                        continue;
                    }
                    let row = self.row + (dimension - start) as usize;
                    for part in 0..LANES / V::LANES {
                        // SAFETY: the array holds eight numbers and is aligned to all of them; the CPU has the level.
                        let x = unsafe { V::load(numbers.0.as_ptr().add(part * V::LANES)) };
                        self.rows.store(row, register + part, x);
                    }
                }
                register += LANES / V::LANES;
            }
        }
    }
}

#[repr(align(64))]
struct Aligned([f64; LANES]);

/// Philox4x32-10. Words lie in the low halves of 64-bit integers with arbitrary high halves, as SIMD multiplication
/// takes them.
#[inline(always)]
fn encrypt<const N: usize>(counter: [[u64; N]; 4], key: [u32; 2]) -> [[u64; N]; 4] {
    let [mut a, mut b, mut c, mut d] = counter;
    let mut key = key;
    for _ in 0..ROUNDS {
        for lane in 0..N {
            let first = (a[lane] & WORD).wrapping_mul(PRODUCTS[0]);
            let second = (c[lane] & WORD).wrapping_mul(PRODUCTS[1]);
            a[lane] = (second >> 32) ^ b[lane] ^ u64::from(key[0]);
            b[lane] = second;
            c[lane] = (first >> 32) ^ d[lane] ^ u64::from(key[1]);
            d[lane] = first;
        }
        key = [key[0].wrapping_add(KEYS[0]), key[1].wrapping_add(KEYS[1])];
    }
    [a, b, c, d]
}

/// Converts pairs of words to numbers in (0, 1).
#[inline(always)]
fn numbers<const N: usize>(high: [u64; N], low: [u64; N]) -> [f64; N] {
    let mut numbers = [0.0; N];
    for lane in 0..N {
        let bits = high[lane] << 32 | low[lane] & WORD;
        // From 1 to 2 in steps of 2^-52; adding half a step is exact below 1.
        let from_one = f64::from_bits(0x3ff0_0000_0000_0000 | bits >> 12);
        numbers[lane] = from_one - (1.0 - f64::EPSILON / 2.0);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHILOX: Philox = Philox {
        seed: 0x0123_4567_89ab_cdef,
        round: 7,
        channel: 12,
    };

    /// `kat_vectors` of Random123, the lines of philox4x32-10.
    #[test]
    fn known_answers() {
        let cases: [([u64; 4], [u32; 2], [u64; 4]); 3] = [
            (
                [0; 4],
                [0; 2],
                [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8],
            ),
            (
                [WORD; 4],
                [0xffff_ffff; 2],
                [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd],
            ),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, expected) in cases {
            // The high halves do not matter.
            for high in [0, 0xdead_beef << 32] {
                let words = encrypt(counter.map(|word| [word | high]), key);
                assert_eq!(words.map(|[word]| word & WORD), expected);
            }
        }
    }

    #[test]
    fn words_have_the_places_that_are_documented() {
        let (point, dimension) = (0x1234_5678_9abc_def0, 31);
        let counter = [0x9abc_def0, 0x1234_5678, 12, 7 << 16 | 15];
        let words = encrypt(counter.map(|word: u64| [word]), [0x89ab_cdef, 0x0123_4567]);
        let bits = (words[2][0] & WORD) << 32 | words[3][0] & WORD;
        let expected = (2.0 * (bits >> 12) as f64 + 1.0) / (1_u64 << 53) as f64;
        assert_eq!(PHILOX.number(point, dimension), expected);
    }

    #[test]
    fn numbers_are_never_zero_or_one() {
        let least = numbers([0], [0])[0];
        let largest = numbers([u64::MAX], [u64::MAX])[0];
        assert_eq!(least, f64::EPSILON / 2.0);
        assert_eq!(largest, 1.0 - f64::EPSILON / 2.0);
    }

    #[test]
    fn levels_and_splits_give_the_same_numbers() {
        // Across the end of the first 32 bits.
        let begin = u64::from(u32::MAX) - 20;
        for level in Level::ALL.into_iter().filter(|level| level.is_supported()) {
            for (size, dimensions) in [(1, 0..5), (13, 3..4), (64, 5..12)] {
                let mut rows = Rows::new(dimensions.len() + 1, size);
                for block in 0..3 {
                    let first = begin + (block * size) as u64;
                    PHILOX.fill(level, first, dimensions.clone(), &mut rows, 1);
                    for (row, dimension) in (1..).zip(dimensions.clone()) {
                        let expected: Vec<f64> = (first..first + size as u64)
                            .map(|point| PHILOX.number(point, dimension))
                            .collect();
                        assert_eq!(rows.row(row), expected, "{level}, {dimension}");
                    }
                }
                assert!(rows.row(0).iter().all(|&x| x == 0.0));
            }
        }
    }

    #[test]
    fn every_coordinate_makes_other_numbers() {
        let of = |seed, round, channel, point, dimension| {
            let philox = Philox {
                seed,
                round,
                channel,
            };
            philox.number(point, dimension).to_bits()
        };
        let mut found = vec![of(1, 0, 0, 0, 0)];
        for bit in 0..64 {
            found.push(of(1 ^ 1 << bit, 0, 0, 0, 0));
            found.push(of(1, 0, 0, 1 << bit, 0));
        }
        found.extend((0..16).map(|bit| of(1, 1 << bit, 0, 0, 0)));
        found.extend((0..32).map(|bit| of(1, 0, 1 << bit, 0, 0)));
        found.extend((0..17).map(|bit| of(1, 0, 0, 0, 1 << bit)));
        let count = found.len();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), count);
    }

    #[test]
    fn pairs_of_dimensions_are_uniform() {
        const BINS: usize = 16;
        let points = 40_960;
        let mut counts = [[0_u32; BINS]; BINS];
        let mut rows = Rows::new(2, 1024);
        for first in (0..points).step_by(1024) {
            PHILOX.fill(Level::best(), first, 1..3, &mut rows, 0);
            for (x, y) in rows.row(0).iter().zip(rows.row(1)) {
                counts[(x * BINS as f64) as usize][(y * BINS as f64) as usize] += 1;
            }
        }
        let expected = points as f64 / (BINS * BINS) as f64;
        let squares = counts.as_flattened().iter();
        let chi2: f64 = squares
            .map(|&n| (f64::from(n) - expected).powi(2) / expected)
            .sum();
        // 255 degrees of freedom: 255 +- 23.
        assert!((170.0..340.0).contains(&chi2), "{chi2}");
    }

    #[test]
    #[should_panic(expected = "dimension 131072")]
    fn a_dimension_too_many_is_refused() {
        PHILOX.number(0, MAX_DIMENSIONS);
    }
}
