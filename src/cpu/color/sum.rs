//! The colour sum on a vector of events at a time.
//!
//! What the JAMPs become on the way to the blocks of [`BlockDiagonal`] is kept in a scratch of `2 flows`
//! vectors, real and imaginary part after each other, each block's in a row. The first pass reads
//! the JAMPs and writes the scratch, the others work in it; tables of places, read from one end
//! to the other, say where. Where a matrix has no blocks the JAMPs are summed as they are.

use super::triangle::Triangle;
use crate::color::block_diagonal::{Block, BlockDiagonal};
use crate::simd::{Simd, Task};

/// A colour matrix ready for [`Sum`].
#[derive(Clone, Debug)]
pub struct ColorSum<T> {
    passes: Vec<Pass>,
    blocks: Vec<Triangle<T>>,
    flows: usize,
    /// Where there is one flow, what its square is multiplied by.
    pub only: Option<T>,
}

/// Sums of up to eight vectors: pairs of places, where from and where to.
#[derive(Clone, Debug, Default)]
struct Pass {
    ones: Vec<[[u32; 1]; 2]>,
    twos: Vec<[[u32; 2]; 2]>,
    fours: Vec<[[u32; 4]; 2]>,
    eights: Vec<[[u32; 8]; 2]>,
}

impl<T: Copy + Default> ColorSum<T> {
    /// Lays out a matrix, with `convert` from double precision.
    pub fn new(split: &BlockDiagonal, convert: impl Fn(f64) -> T) -> Self {
        let flows = split.flows;
        let place = split.places();
        let mut first = 0;
        let blocks = split.blocks.iter().map(|Block { slots, matrix }| {
            let triangle = Triangle::new(matrix, first, |x| convert(x / split.denominator));
            first += slots.len();
            triangle
        });
        let blocks: Vec<_> = blocks.collect();
        let only = match &split.blocks[..] {
            [Block { matrix, .. }] if flows == 1 => {
                Some(convert(matrix[(0, 0)] / split.denominator))
            }
            _ => None,
        };
        let passes = split.passes.iter().enumerate().map(|(i, orbits)| {
            let mut pass = Pass::default();
            for orbit in orbits {
                let to: Vec<u32> = orbit.0.iter().map(|&s| place[s as usize]).collect();
                let from = if i == 0 { &orbit.0 } else { &to };
                pass.push(from, &to, i == 0);
            }
            pass
        });
        ColorSum {
            passes: passes.collect(),
            blocks,
            flows,
            only,
        }
    }
}

impl Pass {
    fn push(&mut self, from: &[u32], to: &[u32], first: bool) {
        fn both<const N: usize>(from: &[u32], to: &[u32]) -> Option<[[u32; N]; 2]> {
            Some([from.try_into().ok()?, to.try_into().ok()?])
        }
        match from.len() {
            1 if first => self.ones.extend(both(from, to)),
            2 => self.twos.extend(both(from, to)),
            4 => self.fours.extend(both(from, to)),
            8 => self.eights.extend(both(from, to)),
            _ => {}
        }
    }
}

impl<T: Copy> ColorSum<T> {
    /// Vectors of scratch that a sum needs.
    pub fn scratch(&self) -> usize {
        if self.passes.is_empty() {
            0
        } else {
            2 * self.flows
        }
    }
}

/// `sum over i, j of JAMP_i^* C_ij JAMP_j` of a vector of events, as a task.
pub struct Sum<'a, T> {
    /// The matrix.
    pub color: &'a ColorSum<T>,
    /// The JAMPs, real and imaginary vector after each other.
    pub jamp: *const T,
    /// Scratch.
    pub scratch: *mut T,
    /// Where the sum goes.
    pub result: *mut T,
}

impl<T: crate::simd::Real> Task<T> for Sum<'_, T> {
    type Output = ();

    /// `jamp` must point at `2 * flows` vectors, `scratch` at as many as the matrix asks for, and
    /// `result` at one, aligned for `V`.
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        let color = self.color;
        // SAFETY: what the caller promises; places are below `flows`.
        unsafe {
            let mut from = self.jamp;
            for pass in &color.passes {
                pass.run::<V>(from, self.scratch);
                from = self.scratch;
            }
            let mut total = [V::zero(); 2];
            for block in &color.blocks {
                block.add::<V>(from, &mut total);
            }
            (total[0] + total[1]).store(self.result);
        }
    }
}

impl Pass {
    /// # Safety
    /// The places are within `from` and `to`.
    #[inline(always)]
    unsafe fn run<V: Simd>(&self, from: *const V::Scalar, to: *mut V::Scalar) {
        // SAFETY: the caller's promise.
        unsafe {
            orbits::<V, 1>(&self.ones, from, to);
            orbits::<V, 2>(&self.twos, from, to);
            orbits::<V, 4>(&self.fours, from, to);
            orbits::<V, 8>(&self.eights, from, to);
        }
    }
}

/// Replaces groups of N by their sums.
///
/// # Safety
/// The places are within `from` and `to`.
#[inline(always)]
unsafe fn orbits<V: Simd, const N: usize>(
    places: &[[[u32; N]; 2]],
    from: *const V::Scalar,
    to: *mut V::Scalar,
) {
    for [froms, tos] in places {
        for part in 0..2 {
            // SAFETY: the caller's promise.
            unsafe {
                let mut x = [V::zero(); N];
                for i in 0..N {
                    x[i] = V::load(from.add((2 * froms[i] as usize + part) * V::LANES));
                }
                let mut bit = 1;
                while bit < N {
                    for i in 0..N {
                        if i & bit == 0 {
                            (x[i], x[i | bit]) = (x[i] + x[i | bit], x[i] - x[i | bit]);
                        }
                    }
                    bit *= 2;
                }
                for i in 0..N {
                    x[i].store(to.add((2 * tos[i] as usize + part) * V::LANES));
                }
            }
        }
    }
}
