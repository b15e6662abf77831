//! Colour sum over the upper triangle of a block.
//!
//! The matrix is real and symmetric, so the sum runs over j >= i with the off-diagonal entries doubled. `ROWS` rows are
//! processed at a time, so that each loaded JAMP serves all of them.

use mebridge_plan::color::symmetry::Matrix;
use mebridge_simd::Simd;

/// Rows processed together: the real and imaginary parts of four sums fill the pipelines of two multiply-add units with
/// a latency of four.
const ROWS: usize = 4;

/// A block laid out for [`Triangle::add`], with off-diagonal entries doubled.
#[derive(Clone, Debug)]
pub struct Triangle<T> {
    /// Index of the first JAMP of each set of JAMPs to which the matrix applies.
    firsts: Vec<usize>,
    size: usize,
    /// For each group of rows: the entries of each column right of the group, one per row; then those of each column
    /// within the group, down to the diagonal.
    entries: Vec<T>,
}

impl<T: Copy> Triangle<T> {
    /// Lays out a matrix; `convert` converts from double precision.
    pub fn new(matrix: &Matrix, first: usize, convert: impl Fn(f64) -> T) -> Self {
        let size = matrix.size();
        let mut entries = Vec::with_capacity(size * (size + 1) / 2);
        for top in (0..size).step_by(ROWS) {
            let behind = (top + ROWS).min(size);
            for column in (behind..size).chain(top..behind) {
                for row in top..behind.min(column + 1) {
                    let factor = if row == column { 1.0 } else { 2.0 };
                    entries.push(convert(factor * matrix[(row, column)]));
                }
            }
        }
        Triangle {
            firsts: vec![first],
            size,
            entries,
        }
    }

    /// Also applies the matrix to the JAMPs starting at `first`.
    pub fn apply_to(&mut self, first: usize) {
        self.firsts.push(first);
    }

    /// Adds `sum over i, j of JAMP_i^* C_ij JAMP_j` for a vector of events to `total`, in two parts. `jamp` points to
    /// all JAMPs; real and imaginary vectors alternate.
    ///
    /// # Safety
    /// `jamp` must point to the vectors of all JAMPs, aligned for `V`; the CPU must support the features of `V`.
    #[inline(always)]
    pub unsafe fn add<V: Simd<Scalar = T>>(&self, jamp: *const T, total: &mut [V; 2]) {
        for first in &self.firsts {
            // SAFETY: there are as many entries as the size requires.
            unsafe {
                let mut entries = self.entries.as_ptr();
                let mut x = jamp.add(2 * first * V::LANES);
                let mut left = self.size;
                while left >= ROWS {
                    entries = rows::<V, ROWS>(entries, x, left, total);
                    x = x.add(2 * ROWS * V::LANES);
                    left -= ROWS;
                }
                match left {
                    1 => rows::<V, 1>(entries, x, 1, total),
                    2 => rows::<V, 2>(entries, x, 2, total),
                    3 => rows::<V, 3>(entries, x, 3, total),
                    _ => entries,
                };
            }
        }
    }
}

/// Processes `R` rows, starting at the first of `columns` columns. Returns a pointer past their entries.
///
/// # Safety
/// `x` points to `2 * columns` vectors, `entries` to the entries of the rows.
#[inline(always)]
unsafe fn rows<V: Simd, const R: usize>(
    mut entries: *const V::Scalar,
    x: *const V::Scalar,
    columns: usize,
    total: &mut [V; 2],
) -> *const V::Scalar {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut re = [V::zero(); R];
        let mut im = [V::zero(); R];
        for column in R..columns {
            let (x, y) = (
                V::load(x.add((2 * column) * V::LANES)),
                V::load(x.add((2 * column + 1) * V::LANES)),
            );
            for row in 0..R {
                let c = V::splat(*entries.add(row));
                re[row] = c.mul_add(x, re[row]);
                im[row] = c.mul_add(y, im[row]);
            }
            entries = entries.add(R);
        }
        for column in 0..R {
            let (x, y) = (
                V::load(x.add((2 * column) * V::LANES)),
                V::load(x.add((2 * column + 1) * V::LANES)),
            );
            for row in 0..=column {
                let c = V::splat(*entries.add(row));
                re[row] = c.mul_add(x, re[row]);
                im[row] = c.mul_add(y, im[row]);
            }
            entries = entries.add(column + 1);
        }
        for row in 0..R {
            total[0] = V::load(x.add((2 * row) * V::LANES)).mul_add(re[row], total[0]);
            total[1] = V::load(x.add((2 * row + 1) * V::LANES)).mul_add(im[row], total[1]);
        }
        entries
    }
}
