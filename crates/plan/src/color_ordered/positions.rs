//! The legs at each place along the line, and their helicities.
//!
//! Places are the first end, the rungs, the second end, and the boson: one leg each, but for two fermions in place of a
//! boson. A *digit* of a place says which of its helicities a row of the helicity table has.

use crate::compile::Compiler;
use mebridge_process::Wavefunction;
use mebridge_process::color_ordered::ColorOrdered;

/// All places.
pub struct Places(Vec<PlaceOf>);

struct PlaceOf {
    /// Indices into [`mebridge_process::Process::wavefunctions`].
    wavefunctions: Vec<u32>,
    legs: Vec<usize>,
    /// For each digit the helicities of the legs.
    states: Vec<Vec<i8>>,
}

impl Places {
    /// With all helicities of single legs; those of two are to be given.
    pub fn of(compiler: &Compiler, form: &ColorOrdered) -> Places {
        let leg = |w: &u32| match compiler.process.wavefunctions[*w as usize] {
            Wavefunction::External(e) => e.leg as usize,
            Wavefunction::Internal(_) => 0,
        };
        let boson = form.boson.as_ref();
        let place = |wavefunctions: Vec<u32>| {
            let legs: Vec<usize> = wavefunctions.iter().map(leg).collect();
            let states = match legs[..] {
                [leg] => compiler.values[leg].iter().map(|&h| vec![h]).collect(),
                _ => Vec::new(),
            };
            PlaceOf {
                wavefunctions,
                legs,
                states,
            }
        };
        let single = [form.ends[0]].into_iter().chain(form.rungs.iter().copied());
        let single = single.chain([form.ends[1]]).map(|w| vec![w]);
        let all = single.chain(boson.map(|boson| boson.wavefunctions.clone()));
        Places(all.map(place).collect())
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The wavefunctions at a place.
    pub fn wavefunctions(&self, place: usize) -> &[u32] {
        &self.0[place].wavefunctions
    }

    /// For each digit of a place the helicities of its legs.
    pub fn states(&self, place: usize) -> &[Vec<i8>] {
        &self.0[place].states
    }

    /// Gives the place of two legs their helicities.
    pub fn set_states(&mut self, place: usize, states: Vec<Vec<i8>>) {
        self.0[place].states = states;
    }

    /// Number of digits of each place.
    pub fn radix(&self) -> Vec<u32> {
        let count = |place: &PlaceOf| place.states.len().max(1) as u32;
        self.0.iter().map(count).collect()
    }

    /// The helicities that a row has at a place.
    pub fn state(&self, place: usize, row: &[i8]) -> Vec<i8> {
        self.0[place].legs.iter().map(|&leg| row[leg]).collect()
    }

    /// The digits of a row, if all places have them.
    pub fn digits(&self, row: &[i8]) -> Option<Vec<u32>> {
        let digit = |place: usize| {
            let state = self.state(place, row);
            let at = self.0[place].states.iter().position(|s| *s == state);
            at.map(|at| at as u32)
        };
        (0..self.count()).map(digit).collect()
    }
}

/// All helicities reversed.
pub fn reversed(row: &[i8]) -> Vec<i8> {
    row.iter().map(|h| -h).collect()
}
