//! Error messages for events that have no matrix element.

use super::form::Form;
use crate::backend::{AllowedMomenta, NOT_CONSERVED, OFF_SHELL};
use crate::error::Error;
use crate::inputs::Points;

impl Form {
    /// Returns the error for one of these events.
    pub fn bad_momentum(&self, points: &Points, event: usize) -> Error {
        self.what_is_wrong(&points.momenta.part(event, 1).to_rows(), event)
    }

    /// Returns the error for an event with these momenta, `[leg][component]`, that has no matrix element. `event` is
    /// its number for the message.
    pub fn what_is_wrong(&self, momenta: &[f64], event: usize) -> Error {
        let process = self.process();
        let legs = process.legs.len();
        let off_shell = self.recipe().settings.allowed == AllowedMomenta::OffShell;
        let badness = |leg: usize| {
            let p = &momenta[4 * leg..4 * leg + 4];
            let mass = self.mass(leg);
            let off = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3] - mass * mass;
            let relative = (off / (p[0] * p[0])).abs();
            if p.iter().any(|x| !x.is_finite()) || p[0] <= 0.0 {
                f64::INFINITY
            } else if off_shell {
                0.0
            } else {
                relative
            }
        };
        let leg = (0..legs)
            .max_by(|&a, &b| badness(a).total_cmp(&badness(b)))
            .unwrap_or(0);
        let signs = process.signs();
        let sum = |i: usize| -> f64 { (0..legs).map(|l| signs[l] * momenta[4 * l + i]).sum() };
        let by = [0, 1, 2, 3].map(sum);
        let incoming = (0..legs).filter(|&l| signs[l] > 0.0);
        let energy: f64 = incoming.map(|l| momenta[4 * l]).sum();
        let off = by.iter().map(|x| x * x).sum::<f64>().sqrt();
        if badness(leg) < 0.5 * OFF_SHELL && off < 0.5 * NOT_CONSERVED * energy {
            return Error::NotFinite {
                event,
                why: self.why_not_finite(momenta),
            };
        }
        // In single precision both may be at their limits; then the leg is reported.
        if badness(leg) < OFF_SHELL && off > 0.5 * NOT_CONSERVED * energy {
            return Error::NotConserved {
                event,
                by: by.to_vec(),
                energy,
            };
        }
        Error::BadMomentum {
            event,
            leg: leg + 1,
            pdg: process.legs[leg].pdg,
            mass: self.mass(leg),
            momentum: momenta[4 * leg..4 * leg + 4].to_vec(),
        }
    }

    /// Explains why the matrix element is not finite for valid momenta.
    fn why_not_finite(&self, momenta: &[f64]) -> String {
        let legs = momenta.as_chunks::<4>().0;
        let collinear = |&(a, b): &(usize, usize)| {
            let (p, q) = (legs[a], legs[b]);
            let along = (1..4).map(|i| p[i] * q[i]).sum::<f64>();
            let across = [(1, 2), (2, 3), (3, 1)].map(|(i, j)| (p[i] * q[j] - p[j] * q[i]).abs());
            let largest = across.into_iter().fold(0.0, f64::max);
            along > 0.0 && largest <= 1e-13 * p[0] * q[0]
        };
        let massless = (0..legs.len()).filter(|&leg| self.mass(leg) == 0.0);
        let massless: Vec<usize> = massless.collect();
        let pairs = massless
            .iter()
            .flat_map(|&a| massless.iter().map(move |&b| (a, b)));
        match pairs.filter(|(a, b)| a < b).find(collinear) {
            Some((a, b)) => format!(
                "particles {} and {}, which have no mass, have the same direction",
                a + 1,
                b + 1
            ),
            None => "a line without a width is on its mass shell, or its numbers are too large or \
                     too small"
                .into(),
        }
    }

    /// Returns the mass of a leg in GeV.
    pub fn mass(&self, leg: usize) -> f64 {
        self.binding().value(self.process().legs[leg].mass)
    }
}
