//! Channels, cuts, weights and scales as tables of words and numbers for the device code on GPUs
//! (`cuda/phase_space.cuh`, `cuda/cuts.cuh`, `cuda/channel_weights.cuh`, `cuda/scales.cuh`).
//!
//! Features that this code does not support are refused by name; the caller then uses the CPU.

mod channel;
mod cuts;
mod weights;

use crate::permutations::Permutation;
use crate::scales::{Dynamical, Scale};

/// Marks the absence of a row, a number or a table.
pub const NOWHERE: u32 = u32::MAX;
/// Bit of an operand that is a number instead of a row.
const CONSTANT: u32 = 1 << 31;

/// A feature that is not supported on GPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not supported on GPUs: use the CPU")]
pub struct Unknown(pub String);

/// Tables of words and numbers. Some words are offsets of other words or of numbers, from the first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Words.
    pub words: Vec<u32>,
    /// Numbers.
    pub numbers: Vec<f64>,
}

impl Tables {
    /// The offset of the next word.
    pub fn next(&self) -> u32 {
        self.words.len() as u32
    }

    /// Adds numbers; returns their offset.
    pub fn numbers(&mut self, some: &[f64]) -> u32 {
        let at = self.numbers.len() as u32;
        self.numbers.extend_from_slice(some);
        at
    }

    /// Adds an item: a word with its kind and its length, which includes this word, and its words.
    fn tagged(&mut self, kind: u32, words: &[u32]) {
        self.words.push(kind | (words.len() as u32 + 1) << 8);
        self.words.extend_from_slice(words);
    }

    /// Adds scales; returns their offset.
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

    /// Adds the first of the four rows of each outgoing leg, permuted.
    pub fn leg_rows(&mut self, permutation: &Permutation) {
        let mut rows = vec![0; permutation.legs.len()];
        for (leg, &place) in permutation.legs.iter().enumerate() {
            rows[place] = 4 * leg as u32;
        }
        self.words.extend(rows);
    }
}
