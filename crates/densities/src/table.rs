//! Values at the knots of a grid, and the sum over the knots around a point, which is the same for all interpolations.

use super::axis::Axis;
use mebridge_simd::Simd;

/// Number of doubles in the longest register.
const ROW: usize = 8;

/// Part of the flavours at a knot.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Row([f64; ROW]);

/// A grid, or a part of one between two scales.
#[derive(Debug)]
pub struct DensityGrid {
    /// Knots in x and in Q^2, the latter in GeV^2.
    pub x: Vec<f64>,
    pub q2: Vec<f64>,
    pub along_x: Axis,
    pub along_q: Axis,
    /// Values by Q, then x, then flavour.
    values: Vec<Row>,
    /// Number of rows per knot.
    rows: usize,
}

impl DensityGrid {
    /// Creates a table; `values` are by Q, then x, then flavour.
    pub fn new(x: Vec<f64>, q2: Vec<f64>, along_x: Axis, along_q: Axis, values: &[f64]) -> Self {
        let flavors = values.len() / (x.len() * q2.len());
        let rows = flavors.div_ceil(ROW);
        let mut padded = Vec::with_capacity(x.len() * q2.len() * rows);
        for knot in values.chunks_exact(flavors) {
            for part in knot.chunks(ROW) {
                let mut row = Row([0.0; ROW]);
                row.0[..part.len()].copy_from_slice(part);
                padded.push(row);
            }
        }
        // Four scales are always read; missing ones have weight zero.
        let least = 4 * x.len() * rows;
        padded.resize(padded.len().max(least), Row([0.0; ROW]));
        DensityGrid {
            x,
            q2,
            along_x,
            along_q,
            values: padded,
            rows,
        }
    }

    /// The value of a flavour at a knot; zero for padding.
    pub fn value(&self, at_q: usize, at_x: usize, flavor: usize) -> f64 {
        let row = (at_q * self.x.len() + at_x) * self.rows + flavor / ROW;
        self.values[row].0[flavor % ROW]
    }

    /// Interpolates x f(x, Q) of all flavours at a position on the axes. `proof` shows that the CPU supports the level.
    #[inline(always)]
    pub fn sum<V: Simd<Scalar = f64>>(&self, at: [f64; 2], proof: V, values: &mut [f64]) {
        let (first_x, of_x) = self.along_x.weights(at[0]);
        let (first_q, of_q) = self.along_q.weights(at[1]);
        let line = self.x.len() * self.rows;
        let first = first_q * line + first_x * self.rows;
        let mut row = 0;
        while row < self.rows {
            let mut sum = Row([0.0; ROW]);
            // The slice bounds all reads, whatever the axes return.
            let knots = &self.values[first + row..][..3 * line + 3 * self.rows + 1];
            let mut part = 0;
            while part < ROW {
                let mut sum_of_part = proof.same(0.0);
                for (j, &of_q) in of_q.iter().enumerate() {
                    for (i, &of_x) in of_x.iter().enumerate() {
                        let knot = &knots[j * line + i * self.rows].0[part..];
                        // SAFETY: a row is aligned to the longest register, and its length is a multiple of this
                        // register's; `proof` shows that the CPU supports the level.
                        let knot = unsafe { V::load(knot.as_ptr()) };
                        sum_of_part = knot.mul_add(proof.same(of_q * of_x), sum_of_part);
                    }
                }
                // SAFETY: as above.
                unsafe { sum_of_part.store(sum.0[part..].as_mut_ptr()) };
                part += V::LANES;
            }
            let values = &mut values[row * ROW..];
            let count = values.len().min(ROW);
            values[..count].copy_from_slice(&sum.0[..count]);
            row += 1;
        }
    }
}

/// The part of a grid that contains a squared scale; a boundary belongs to the upper part.
#[inline(always)]
pub fn part(tables: &[DensityGrid], q2: f64) -> &DensityGrid {
    let mut part = 0;
    while part + 1 < tables.len() && tables[part + 1].q2[0] <= q2 {
        part += 1;
    }
    &tables[part]
}
