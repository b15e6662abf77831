//! Which helicities are evaluated, and which follow from others.

use super::NO_HELICITY;
use super::chirality::{Chiral, Chirality, chirality};
use super::positions::{Positions, reversed};
use mebridge_process::Process;
use rustc_hash::FxHashMap as HashMap;

/// The helicities that are evaluated, by their helicity indices.
pub struct Evaluated {
    /// The helicity with these indices, and the one with all legs reversed whose result is the same ([`NO_HELICITY`] if
    /// there is none, or if it is evaluated separately).
    pub rows: HashMap<Vec<u32>, [u32; 2]>,
    /// Helicities that vanish.
    pub vanishing: Vec<u32>,
    /// For each helicity index of the boson, the chirality of the fermions in its place. A single boson has one entry,
    /// `None`.
    pub fermions: Vec<Option<Chirality>>,
}

impl Evaluated {
    /// All of these helicities, or, with `halves`, those with index 0 at this position, if the others follow from them.
    pub fn new(positions: &Positions, helicities: &[&[i8]], halves: Option<usize>) -> Evaluated {
        let mut evaluated = Evaluated {
            rows: HashMap::default(),
            vanishing: Vec::new(),
            fermions: Vec::new(),
        };
        for (h, row) in (0..).zip(helicities) {
            let indices = positions.helicity_indices(row);
            match halves {
                Some(position)
                    if indices
                        .as_ref()
                        .is_some_and(|indices| indices[position] != 0) =>
                {
                    evaluated.add(positions.helicity_indices(&reversed(row)), h, true);
                }
                _ => {
                    evaluated.add(indices, h, false);
                }
            }
        }
        evaluated
    }

    /// Adds a helicity; returns false if it has no helicity indices.
    fn add(&mut self, indices: Option<Vec<u32>>, h: u32, reversed: bool) -> bool {
        let Some(indices) = indices else {
            return false;
        };
        let row = self.rows.entry(indices).or_insert([NO_HELICITY; 2]);
        row[usize::from(reversed)] = h;
        true
    }
}

/// The helicities of a massless line with a boson that do not vanish.
pub struct Live<'a> {
    /// The chirality for which the line is evaluated.
    pub evaluated: Chirality,
    /// Index, helicities and chirality of the line.
    rows: Vec<(u32, &'a [i8], Chirality)>,
    vanishing: Vec<u32>,
    fermions: Vec<Option<Chirality>>,
}

impl<'a> Live<'a> {
    /// Selects the helicities that contribute, and sets the helicity indices at the boson's position to those that are
    /// evaluated. `None` if no helicity contributes.
    pub fn new(
        process: &Process,
        positions: &mut Positions,
        chiral: &Chiral,
        helicities: &[&'a [i8]],
    ) -> Option<Live<'a>> {
        let boson = positions.count() - 1;
        let ends = [0, boson - 1].map(|position| positions.wavefunctions(position)[0]);
        let pair = match *positions.wavefunctions(boson) {
            [a, b] => Some([a, b]),
            _ => None,
        };
        let mut live = Live {
            evaluated: Chirality::Left,
            rows: Vec::new(),
            vanishing: Vec::new(),
            fermions: Vec::new(),
        };
        let mut states: Vec<Vec<i8>> = Vec::new();
        for (h, row) in (0..).zip(helicities.iter().copied()) {
            let of_ends = [0, boson - 1].map(|position| positions.state(position, row)[0]);
            let line = chirality(process, [(ends[0], of_ends[0]), (ends[1], of_ends[1])]);
            let state = positions.state(boson, row);
            let fermions = pair.map(|[a, b]| chirality(process, [(a, state[0]), (b, state[1])]));
            let couples = match (line, fermions) {
                (Some(line), None) => chiral.couples(line, None),
                (Some(line), Some(Some(fermions))) => chiral.couples(line, Some(fermions)),
                _ => false,
            };
            let Some(line) = line.filter(|_| couples) else {
                live.vanishing.push(h);
                continue;
            };
            if live.rows.is_empty() {
                live.evaluated = line;
            }
            live.rows.push((h, row, line));
            let other = line != live.evaluated;
            let (state, fermions) = match other {
                true => (
                    reversed(&state),
                    fermions.flatten().map(Chirality::opposite),
                ),
                false => (state, fermions.flatten()),
            };
            if pair.is_some() && !states.contains(&state) {
                states.push(state);
                live.fermions.push(fermions);
            }
        }
        match pair {
            Some(_) => positions.set_states(boson, states),
            None => live.fermions.push(None),
        }
        (!live.rows.is_empty()).then_some(live)
    }

    /// The helicities to evaluate, if possible; if `mirrored`, one chirality gives the results for both.
    pub fn evaluated(&self, positions: &Positions, mirrored: bool) -> Option<Evaluated> {
        let mut evaluated = Evaluated {
            rows: HashMap::default(),
            vanishing: self.vanishing.clone(),
            fermions: self.fermions.clone(),
        };
        for &(h, row, line) in &self.rows {
            let added = match line == self.evaluated {
                true => evaluated.add(positions.helicity_indices(row), h, false),
                false => {
                    mirrored && evaluated.add(positions.helicity_indices(&reversed(row)), h, true)
                }
            };
            if !added {
                return None;
            }
        }
        Some(evaluated)
    }
}
