//! Evaluation of points in lanes: the positions on the axes, then all flavours of each point.

use super::interpolation::Interpolation;
use super::table::{DensityGrid, part};
use super::{cteq, nnpdf, outside, photons};
use mebridge_simd::{Simd, Task, functions};

/// Arguments of an evaluation.
pub struct DensityPoints<'a> {
    pub tables: &'a [DensityGrid],
    pub rule: Interpolation,
    pub x: &'a [f64],
    pub q2: &'a [f64],
    pub values: &'a mut [f64],
}

/// Number of doubles in the longest register.
const MAX_LANES: usize = 8;

impl Task<f64> for DensityPoints<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let flavors = self.values.len() / self.x.len().max(1);
        let mut begin = 0;
        while begin < self.x.len() {
            let end = (begin + V::LANES).min(self.x.len());
            // Lanes without a point get one that is valid for any grid.
            let (mut x, mut q2) = ([0.5; MAX_LANES], [100.0; MAX_LANES]);
            x[..end - begin].copy_from_slice(&self.x[begin..end]);
            q2[..end - begin].copy_from_slice(&self.q2[begin..end]);
            // SAFETY: the arrays are as long as the longest register; the caller guarantees the level.
            let (in_x, in_q) =
                unsafe { (V::load_doubles(x.as_ptr()), V::load_doubles(q2.as_ptr())) };
            let (at_x, at_q) = match self.rule {
                Interpolation::Lhapdf => (functions::ln(in_x), functions::ln(in_q)),
                Interpolation::Nnpdf => nnpdf::variables(&self.tables[0], in_x, in_q),
                Interpolation::Cteq { scale } => cteq::variables(scale, in_x, in_q),
                Interpolation::Photons(beam) => (photons::flux(beam, in_x, in_q), in_q),
                Interpolation::Bosons(of) => {
                    let rest = in_x.same(1.0) - in_x;
                    let scale = match of.by_transverse_momentum {
                        true => in_q / rest,
                        false => in_q,
                    };
                    (rest, functions::ln(scale))
                }
            };
            let (mut places_x, mut places_q) = ([0.0; MAX_LANES], [0.0; MAX_LANES]);
            // SAFETY: as above.
            unsafe {
                at_x.store_doubles(places_x.as_mut_ptr());
                at_q.store_doubles(places_q.as_mut_ptr());
            }
            for point in begin..end {
                let lane = point - begin;
                let place = [places_x[lane], places_q[lane]];
                let values = &mut self.values[point * flavors..][..flavors];
                let (x, q2) = (x[lane], q2[lane]);
                // NaN propagates to the sums.
                if x > 1.0 {
                    values.fill(0.0);
                    continue;
                }
                let grid = match self.rule {
                    Interpolation::Lhapdf if outside::is_outside(self.tables, x, q2) => {
                        outside::evaluate(self.tables, [x, q2], place, in_x, values);
                        continue;
                    }
                    Interpolation::Photons(_) => {
                        values[0] = place[0];
                        continue;
                    }
                    Interpolation::Bosons(of) => {
                        of.evaluate(place[0], q2, place[1], values);
                        continue;
                    }
                    Interpolation::Lhapdf => part(self.tables, q2),
                    Interpolation::Nnpdf | Interpolation::Cteq { .. } => &self.tables[0],
                };
                grid.sum(place, in_x, values);
                if let Interpolation::Cteq { .. } = self.rule {
                    cteq::finish(grid, x, values);
                }
            }
            begin = end;
        }
    }
}
