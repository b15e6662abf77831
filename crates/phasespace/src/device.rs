//! Channels, cuts, weights and scales as tables of words and numbers, which the device code of a GPU reads
//! (`cuda/phase_space.cuh`, `cuda/cuts.cuh`, `cuda/channel_weights.cuh`, `cuda/scales.cuh`).
//!
//! What that code does not know is refused by its name: whoever asks takes the CPU then.

mod channel;
mod cuts;
mod weights;

use crate::permutations::Permutation;
use crate::scales::{Dynamical, Scale};

/// In the place of a row, a number or a table: there is none.
pub const NOWHERE: u32 = u32::MAX;
/// Of an operand that is a number and not a row.
const CONSTANT: u32 = 1 << 31;

/// What a GPU does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not done on a GPU: take the CPU")]
pub struct Unknown(pub String);

/// Words and numbers. Words say where others begin, and numbers, counted from the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Words.
    pub words: Vec<u32>,
    /// Numbers.
    pub numbers: Vec<f64>,
}

impl Tables {
    /// Where the next word goes.
    pub fn next(&self) -> u32 {
        self.words.len() as u32
    }

    /// Adds numbers; where they begin.
    pub fn numbers(&mut self, some: &[f64]) -> u32 {
        let at = self.numbers.len() as u32;
        self.numbers.extend_from_slice(some);
        at
    }

    /// Adds something of a kind, after a word for that and for its length, both included.
    fn tagged(&mut self, kind: u32, words: &[u32]) {
        self.words.push(kind | (words.len() as u32 + 1) << 8);
        self.words.extend_from_slice(words);
    }

    /// Adds scales; where they begin.
    pub fn scale(&mut self, scale: &Scale) -> u32 {
        let Scale {
            dynamical,
            factor,
            renormalisation: _,
            factorisation: _,
        } = *scale;
        let (kind, half) = match dynamical {
            Dynamical::TransverseEnergy => (1, 1.0),
            Dynamical::TransverseMass => (2, 1.0),
            Dynamical::HalfTransverseMass => (2, 0.5),
            Dynamical::PartonicEnergy => (3, 1.0),
        };
        let fixed = scale.fixed();
        let numbers = self.numbers(&[half * factor]);
        self.numbers(&fixed.map(|fixed| fixed.unwrap_or(0.0)));
        let bits = (fixed.iter().enumerate())
            .map(|(i, fixed)| u32::from(fixed.is_some()) << i)
            .sum();
        let at = self.next();
        self.words.extend([kind, numbers, bits]);
        at
    }

    /// Adds the rows of the legs that go out, permuted so: each leg has four.
    pub fn leg_rows(&mut self, permutation: &Permutation) {
        let mut rows = vec![0; permutation.legs.len()];
        for (leg, &place) in permutation.legs.iter().enumerate() {
            rows[place] = 4 * leg as u32;
        }
        self.words.extend(rows);
    }
}
