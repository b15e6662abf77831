//! Decays of the particles in event files, with their spins and masses.
//!
//! Production and decays are generated one after the other with their spin correlations: S. Frixione, E. Laenen,
//! P. Motylinski and B. R. Webber, hep-ph/0702198; P. Artoisenet, R. Frederix, O. Mattelaer and R. Rietkerk,
//! arXiv:1212.3460 (MadSpin). The method is described in docs/decay.md.
//!
//! | module | contents |
//! |---|---|
//! | `banner` | the header's record of how the events were made |
//! | `name` | names of processes with decays |
//! | `element` | matrix elements, evaluated for many events per call |
//! | `vectors`, `shape` | four-momenta; decay trees and their phase space |
//! | `fractions` | branching fractions |
//! | `channel` | decays generated with their own |M|^2 |
//! | `request` | the requested decays |
//! | `production` | matrix elements of production |
//! | `class`, `reshuffle` | events with the same particles; their momenta with other masses |
//! | `trials` | decays of events, unweighted with |M|^2 of production and decays together |
//! | `head`, `text` | the header and events as text |
//! | `job` | from an event file to the decayed event file |

mod banner;
mod channel;
mod class;
mod element;
mod fractions;
mod head;
mod job;
mod name;
mod production;
mod request;
mod reshuffle;
mod shape;
mod text;
mod trials;
mod vectors;

pub use job::{DecaySummary, Spec, decay};

/// Which effects of spins and masses the decays include.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpinMode {
    /// Neither spins nor widths: decays are isotropic in the rest frame of the decaying particle, which has the mass of
    /// the card.
    None,
    /// Spins; decaying particles have the mass of the card.
    OnShell,
    /// Spins, and masses drawn from Breit-Wigner distributions.
    #[default]
    Full,
}

impl SpinMode {
    /// MadSpin's name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            SpinMode::None => "none",
            SpinMode::OnShell => "onshell",
            SpinMode::Full => "full",
        }
    }
}

/// Statistics of accepted weights, in units of the largest weight known when each was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Maxima {
    /// Number of accepted weights.
    pub taken: u64,
    /// Number of accepted weights above 1.
    pub above: u64,
    /// The largest weight.
    pub largest: f64,
    /// Sum of `weight - 1` over the weights above 1.
    pub excess: f64,
}

impl Maxima {
    /// Counts one accepted weight.
    fn count(&mut self, weight: f64) {
        self.taken += 1;
        self.largest = self.largest.max(weight);
        if weight > 1.0 {
            self.above += 1;
            self.excess += weight - 1.0;
        }
    }

    fn add(&mut self, other: &Maxima) {
        self.taken += other.taken;
        self.above += other.above;
        self.largest = self.largest.max(other.largest);
        self.excess += other.excess;
    }
}
