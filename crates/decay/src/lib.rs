//! Decays of the particles in event files, with their spins and masses.
//!
//! Production and decays are drawn one after the other and belong together: S. Frixione, E. Laenen, P. Motylinski and
//! B. R. Webber, hep-ph/0702198; P. Artoisenet, R. Frederix, O. Mattelaer and R. Rietkerk, arXiv:1212.3460, whose program is
//! MadSpin. docs/decay.md says what is done.
//!
//! | module | what it knows |
//! |---|---|
//! | `banner` | what a header says of how events were made |
//! | `name` | names of processes with decays |
//! | `element` | matrix elements that are evaluated for many events at a time |
//! | `vectors`, `shape` | momenta; what decays into what, and its phase space |
//! | `fractions` | branching fractions |
//! | `channel` | decays drawn by their own |M|^2 |
//! | `request` | which decays are asked for |
//! | `production` | matrix elements of production |
//! | `class`, `reshuffle` | events with the same particles; their momenta with other masses |
//! | `trials` | decays of events by |M|^2 of production and decays together |
//! | `head`, `text` | the header and events as text |
//! | `job` | from one file to another |

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

pub use job::{Spec, Summary, decay};

/// What of spins and masses is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpinMode {
    /// Neither: decays are isotropic in the rest frame of what decays, and have the masses of the card.
    None,
    /// Spins; what decays has the mass of the card.
    OnShell,
    /// Spins, and masses by Breit-Wigner distributions.
    #[default]
    Full,
}

impl SpinMode {
    /// What MadSpin calls it.
    pub fn name(self) -> &'static str {
        match self {
            SpinMode::None => "none",
            SpinMode::OnShell => "onshell",
            SpinMode::Full => "full",
        }
    }
}

/// Weights of what was taken, in units of the largest one that was known before.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Maxima {
    /// How many were taken.
    pub taken: u64,
    /// How many of them were above the largest one.
    pub above: u64,
    /// The largest.
    pub largest: f64,
    /// What they were above it, added up.
    pub excess: f64,
}

impl Maxima {
    /// Counts one.
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
