//! The steps by which a point was clustered.

use super::MOST_LEGS;

/// Steps at most.
pub const MOST_STEPS: usize = MOST_LEGS - 2;

/// A point that has been clustered, by its steps.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// The order of the steps in a memory.
    pub end: usize,
    /// How many there are.
    pub steps: usize,
    /// Squared, of each step.
    pub distances: [f64; MOST_STEPS],
    /// Squared transverse masses of what was emitted from a beam; 0 otherwise.
    pub transverse: [f64; MOST_STEPS],
    /// What of a beam's momentum is left.
    pub fractions: [f64; MOST_STEPS],
    /// The product of the transverse masses of the last pair.
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
