//! The steps by which a point was clustered.

use super::MAX_LEGS;

/// Most steps.
pub const MAX_STEPS: usize = MAX_LEGS - 2;

/// The steps of a clustered point.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Index of the order of the steps in the memory.
    pub end: usize,
    /// Number of steps.
    pub steps: usize,
    /// Squared distance of each step, GeV^2.
    pub distances: [f64; MAX_STEPS],
    /// Squared transverse masses of emissions from a beam, GeV^2; 0 otherwise.
    pub transverse: [f64; MAX_STEPS],
    /// Remaining fraction of a beam's momentum.
    pub fractions: [f64; MAX_STEPS],
    /// The product of the transverse masses of the last pair, GeV^2.
    pub last: Option<f64>,
}

impl Path {
    pub(super) fn push(&mut self, distance: f64, transverse: f64, fraction: f64) {
        let step = self.steps;
        self.distances[step] = distance;
        self.transverse[step] = transverse;
        self.fractions[step] = fraction;
        self.steps += 1;
    }
}
