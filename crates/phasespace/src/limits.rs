//! What cuts imply for invariants, so that no points are drawn where all would fail.

use super::diagram::Legs;
use std::f64::consts::PI;

/// The least that cuts leave of some quantities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Transverse momenta of legs that go out, GeV.
    pub pt: Vec<f64>,
    /// Invariant masses of sets of legs, GeV.
    pub masses: Vec<(Legs, f64)>,
    /// Distances of two legs in rapidity and angle.
    pub distances: Vec<(Legs, f64)>,
}

impl Limits {
    /// The least transverse momentum of a leg.
    pub fn pt(&self, leg: usize) -> f64 {
        self.pt.get(leg).copied().unwrap_or(0.0)
    }

    /// An energy of the partons below which no point passes.
    pub fn least_energy(&self, masses: &[f64]) -> f64 {
        let transverse = masses
            .iter()
            .enumerate()
            .map(|(leg, mass)| mass.hypot(self.pt(leg)));
        transverse.sum()
    }

    /// An invariant mass of these legs below which no point passes.
    ///
    /// Of two without masses it is 2 pt pt' (cosh y - cos phi), squared; where y^2 + phi^2 is at least R^2, the bracket
    /// is at least 1 - cos R.
    pub fn least_mass(&self, legs: Legs, masses: &[f64]) -> f64 {
        let of: Vec<usize> = (0..masses.len())
            .filter(|leg| legs & (1 << leg) != 0)
            .collect();
        let mut square: f64 = of.iter().map(|&leg| masses[leg] * masses[leg]).sum();
        for (i, &a) in of.iter().enumerate() {
            for &b in &of[i + 1..] {
                let pair = 1 << a | 1 << b;
                let mut product = 2.0 * masses[a] * masses[b];
                if masses[a] == 0.0 && masses[b] == 0.0 {
                    let angle = largest(&self.distances, pair).min(PI);
                    product = 2.0 * self.pt(a) * self.pt(b) * (1.0 - angle.cos());
                }
                let mass = largest(&self.masses, pair);
                square += product.max(mass * mass - masses[a] * masses[a] - masses[b] * masses[b]);
            }
        }
        let sum: f64 = of.iter().map(|&leg| masses[leg]).sum();
        square.sqrt().max(largest(&self.masses, legs)).max(sum)
    }
}

/// The largest of the numbers of a set of legs.
fn largest(of: &[(Legs, f64)], legs: Legs) -> f64 {
    let some = of.iter().filter(|(one, _)| *one == legs);
    some.map(|(_, value)| *value).fold(0.0, f64::max)
}
