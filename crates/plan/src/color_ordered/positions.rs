//! The legs at each position along the line, and their helicities.
//!
//! Positions are the first end, the insertions, the second end, and the boson. Each is one leg, except for a pair of
//! fermions in place of a boson. The *helicity index* of a position identifies the helicities of its legs in a row of
//! the helicity table.

use crate::compiler::Compiler;
use mebridge_process::Wavefunction;
use mebridge_process::color_ordered::ColorOrdered;

/// All positions.
pub struct Positions(Vec<Position>);

struct Position {
    /// Indices into [`mebridge_process::Process::wavefunctions`].
    wavefunctions: Vec<u32>,
    legs: Vec<usize>,
    /// For each helicity index, the helicities of the legs.
    states: Vec<Vec<i8>>,
}

impl Positions {
    /// Includes all helicities of single legs; those of pairs must be set later.
    pub fn new(compiler: &Compiler, form: &ColorOrdered) -> Positions {
        let leg = |w: &u32| match compiler.process.wavefunctions[*w as usize] {
            Wavefunction::External(e) => e.leg as usize,
            Wavefunction::Internal(_) => 0,
        };
        let boson = form.boson.as_ref();
        let position = |wavefunctions: Vec<u32>| {
            let legs: Vec<usize> = wavefunctions.iter().map(leg).collect();
            let states = match legs[..] {
                [leg] => compiler.values[leg].iter().map(|&h| vec![h]).collect(),
                _ => Vec::new(),
            };
            Position {
                wavefunctions,
                legs,
                states,
            }
        };
        let single = [form.ends[0]]
            .into_iter()
            .chain(form.insertions.iter().copied());
        let single = single.chain([form.ends[1]]).map(|w| vec![w]);
        let all = single.chain(boson.map(|boson| boson.wavefunctions.clone()));
        Positions(all.map(position).collect())
    }

    /// Number of positions.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The wavefunctions at a position.
    pub fn wavefunctions(&self, position: usize) -> &[u32] {
        &self.0[position].wavefunctions
    }

    /// For each helicity index of a position, the helicities of its legs.
    pub fn states(&self, position: usize) -> &[Vec<i8>] {
        &self.0[position].states
    }

    /// Sets the helicities of a position with two legs.
    pub fn set_states(&mut self, position: usize, states: Vec<Vec<i8>>) {
        self.0[position].states = states;
    }

    /// Number of helicity indices of each position.
    pub fn radix(&self) -> Vec<u32> {
        let count = |position: &Position| position.states.len().max(1) as u32;
        self.0.iter().map(count).collect()
    }

    /// The helicities of a row at a position.
    pub fn state(&self, position: usize, row: &[i8]) -> Vec<i8> {
        self.0[position].legs.iter().map(|&leg| row[leg]).collect()
    }

    /// The helicity indices of a row; `None` if a position has no index for its helicities.
    pub fn helicity_indices(&self, row: &[i8]) -> Option<Vec<u32>> {
        let helicity_index = |position: usize| {
            let state = self.state(position, row);
            let at = self.0[position].states.iter().position(|s| *s == state);
            at.map(|at| at as u32)
        };
        (0..self.count()).map(helicity_index).collect()
    }
}

/// The row with all helicities reversed.
pub fn reversed(row: &[i8]) -> Vec<i8> {
    row.iter().map(|h| -h).collect()
}
