//! Colour sum over the upper triangle, on a vector of events at a time.
//!
//! The matrix is real and symmetric, so the sum runs over j >= i with the off-diagonal entries
//! doubled. Rows are taken [`ROWS`] at a time: each JAMP that is loaded serves all of them.

use crate::cpu::simd::Simd;
use crate::process::color::ColorMatrix;

/// Rows taken together: real and imaginary parts of four sums fill the pipeline of two
/// multiply-add units of latency four.
const ROWS: usize = 4;

/// A colour matrix laid out for [`Triangle::sum`], entries over the denominator, doubled off the
/// diagonal.
#[derive(Clone, Debug)]
pub struct Triangle<T> {
    flows: usize,
    /// Block after block of rows; in a block, for each column from its first row on, one entry
    /// for each row (0 where the column lies before the row, or the row behind the last).
    entries: Vec<T>,
}

impl<T: Copy + Default> Triangle<T> {
    /// Lays out a matrix, with `convert` from double precision.
    pub fn new(matrix: &ColorMatrix, convert: impl Fn(f64) -> T) -> Self {
        let flows = matrix.flows as usize;
        let mut entries = Vec::new();
        for first in (0..flows).step_by(ROWS) {
            for column in first..flows {
                for row in first..first + ROWS {
                    let entry = if row >= flows || column < row {
                        0.0
                    } else if column == row {
                        matrix.entry(row, column)
                    } else {
                        2.0 * matrix.entry(row, column)
                    };
                    entries.push(convert(entry));
                }
            }
        }
        Triangle { flows, entries }
    }

    /// `sum over i, j of JAMP_i^* C_ij JAMP_j` of a vector of events. `jamp` points at the JAMPs,
    /// real and imaginary vector after each other.
    ///
    /// # Safety
    /// `jamp` must point at `2 * flows` vectors, aligned for `V`; the features that `V` stands
    /// for must be there.
    #[inline(always)]
    pub unsafe fn sum<V: Simd<Scalar = T>>(&self, jamp: *const T) -> V {
        let n = self.flows;
        // SAFETY: the level is there, as the caller promises.
        let zero = unsafe { V::zero() };
        // SAFETY: indices below 2 * flows vectors, as the caller promises.
        let load = |i: usize| unsafe { V::load(jamp.add(i * V::LANES)) };
        let mut total = zero;
        let mut columns = self.entries.chunks_exact(ROWS);
        for first in (0..n).step_by(ROWS) {
            let mut re = [zero; ROWS];
            let mut im = [zero; ROWS];
            for (column, entries) in (first..n).zip(&mut columns) {
                let (x, y) = (load(2 * column), load(2 * column + 1));
                for row in 0..ROWS {
                    // SAFETY: the level is there.
                    let c = unsafe { V::splat(entries[row]) };
                    re[row] = c.mul_add(x, re[row]);
                    im[row] = c.mul_add(y, im[row]);
                }
            }
            for row in 0..ROWS.min(n - first) {
                let i = first + row;
                total = load(2 * i).mul_add(re[row], total);
                total = load(2 * i + 1).mul_add(im[row], total);
            }
        }
        total
    }
}
