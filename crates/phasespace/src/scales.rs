//! Renormalisation scale and factorisation scales of both beams, from the momenta of each point.

use crate::Rows;
use crate::observables::mass_squared;
use mebridge_simd::{Level, Simd, Task, dispatch};
use serde::{Deserialize, Serialize};

/// A scale that depends on the momenta, with its number in `dynamical_scale_choice` of a run card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Dynamical {
    /// 1: the sum of the transverse energies, E pt / |p|, of the outgoing legs (in MadEvent in the rest frame of the
    /// incoming legs).
    #[serde(rename = "et")]
    TransverseEnergy,
    /// 2: the sum of the transverse masses.
    #[serde(rename = "ht")]
    TransverseMass,
    /// 3: half of that sum.
    #[serde(rename = "ht/2")]
    HalfTransverseMass,
    /// 4: the energy of the partons in their rest frame.
    #[serde(rename = "shat")]
    PartonicEnergy,
}

/// The choice of scales.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Scale {
    /// The dynamical scale, for scales that are not fixed.
    pub dynamical: Dynamical,
    /// Factor for the dynamical scale.
    pub factor: f64,
    /// The renormalisation scale, GeV, if it is fixed.
    #[serde(default)]
    pub renormalisation: Option<f64>,
    /// The factorisation scale of each beam, GeV, if it is fixed.
    #[serde(default)]
    pub factorisation: [Option<f64>; 2],
}

/// Number of rows of scales.
pub const ROWS: usize = 3;

impl Scale {
    /// Writes three rows from `first` on: the renormalisation scale and the factorisation scales of both beams, GeV.
    ///
    /// # Panics
    /// If the numbers of points differ, rows are missing, or the CPU does not support the level.
    pub fn evaluate(
        &self,
        level: Level,
        legs: usize,
        momenta: &Rows,
        scales: &mut Rows,
        first: usize,
    ) {
        assert_eq!(momenta.points(), scales.points(), "scales of each point");
        let run = Evaluation {
            scale: *self,
            legs,
            momenta,
            scales,
            first,
        };
        // SAFETY: the task requires nothing but the level, which `dispatch` checks.
        unsafe { dispatch(level, run) };
    }

    /// The fixed scales, in the order of the rows.
    pub fn fixed(&self) -> [Option<f64>; ROWS] {
        let [one, other] = self.factorisation;
        [self.renormalisation, one, other]
    }
}

/// Arguments of an evaluation.
struct Evaluation<'a> {
    scale: Scale,
    legs: usize,
    momenta: &'a Rows,
    scales: &'a mut Rows,
    first: usize,
}

impl Task<f64> for Evaluation<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        // SAFETY: the caller guarantees the level.
        let zero = unsafe { V::zero() };
        let factor = match self.scale.dynamical {
            Dynamical::HalfTransverseMass => 0.5,
            _ => 1.0,
        };
        let factor = zero.same(factor * self.scale.factor);
        let fixed = self.scale.fixed();
        for register in 0..self.momenta.registers::<V>() {
            let mut sum = zero;
            match self.scale.dynamical {
                Dynamical::PartonicEnergy => {
                    let (p, q) = (
                        momentum(self.momenta, 0, register, zero),
                        momentum(self.momenta, 1, register, zero),
                    );
                    let together = [p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]];
                    sum = mass_squared(together).sqrt();
                }
                Dynamical::TransverseEnergy => {
                    for leg in 2..self.legs {
                        sum = sum + transverse_energy(momentum(self.momenta, leg, register, zero));
                    }
                }
                Dynamical::TransverseMass | Dynamical::HalfTransverseMass => {
                    for leg in 2..self.legs {
                        let p = momentum(self.momenta, leg, register, zero);
                        let square = (p[0] - p[3]) * (p[0] + p[3]);
                        // NaN is kept.
                        sum = sum + V::select(square.lt(zero), zero, square).sqrt();
                    }
                }
            }
            let found = sum * factor;
            for (row, fixed) in (self.first..).zip(fixed) {
                let scale = match fixed {
                    Some(fixed) => zero.same(fixed),
                    None => found,
                };
                self.scales.store(row, register, scale);
            }
        }
    }
}

#[inline(always)]
fn momentum<V: Simd<Scalar = f64>>(momenta: &Rows, leg: usize, register: usize, zero: V) -> [V; 4] {
    [
        load(momenta, 4 * leg, register, zero),
        load(momenta, 4 * leg + 1, register, zero),
        load(momenta, 4 * leg + 2, register, zero),
        load(momenta, 4 * leg + 3, register, zero),
    ]
}

/// E pt / |p|, which is 0 along the beams and at rest.
#[inline(always)]
fn transverse_energy<V: Simd<Scalar = f64>>(p: [V; 4]) -> V {
    let zero = p[0].same(0.0);
    let pt = p[1].mul_add(p[1], p[2] * p[2]);
    let found = p[0] * (pt / p[3].mul_add(p[3], pt)).sqrt();
    V::select(pt.eq(zero), zero, found)
}

/// A register of a row.
#[inline(always)]
fn load<V: Simd<Scalar = f64>>(rows: &Rows, row: usize, register: usize, _proof: V) -> V {
    // SAFETY: a value of `V` exists, so the CPU has the level.
    unsafe { rows.load::<V>(row, register) }
}

#[cfg(test)]
mod tests;
