//! Points clustered to 2 -> 2 along diagrams of their process: the scales of `dynamical_scale_choice = -1`, cuts on
//! clustered jets, and the weights of MLM matching.
//!
//! What MadEvent does in `cluster.f` and `setclscales` of `reweight.f` (kT clustering of arXiv:hep-ph/0208156 and
//! arXiv:0810.5350, by the diagrams that the process has). Legs and what they are combined to are sets of bits, 1 and 2
//! being the beams.
//!
//! A point belongs to a channel. The diagrams that it may be clustered by are those with as many strong vertices as its
//! channel, and with the resonances that are on their mass shells in its channel; and it has as many jets as its channel.
//!
//! What follows from the order of the steps alone is found once for each order ([`Memory`]); a point that is clustered
//! costs the distances of what is left of it.

mod matching;
mod memory;
mod path;
mod point;
mod trace;

use crate::Rows;
pub use matching::{Given, Matched, Matching, Weighing};
pub use memory::Memory;
use memory::Start;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What cannot be clustered.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Colours that no rule is known for.
    #[error(
        "an event cannot be clustered: {mother} becomes {first} and {second} (PDG codes); set dynamical_scale_choice to 3"
    )]
    Colors {
        /// PDG code of what they come from.
        mother: i32,
        /// PDG code.
        first: i32,
        /// PDG code.
        second: i32,
    },
    /// A process with so many legs that there is no table of all lines.
    #[error(
        "{0} legs cannot be clustered: it takes from 3 to {MOST_LEGS}; set dynamical_scale_choice to 3"
    )]
    Legs(usize),
    /// Processes of a matrix element have the same legs.
    #[error("processes of {0} and {1} legs are clustered together")]
    Processes(usize, usize),
    /// A line that is none.
    #[error(
        "a line with the legs {0:#b}, as bits, of a process with {1} legs: some have to be on either side of it"
    )]
    NoLine(u32, usize),
    /// More lines than a diagram of these legs has.
    #[error("a diagram of {0} lines, of a process with {1} legs")]
    Lines(usize, usize),
}

/// Legs at most.
pub const MOST_LEGS: usize = 16;

/// What is known of a line beside its legs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Forced {
    /// Nothing.
    #[default]
    No,
    /// It is of a decay chain, on its mass shell.
    On,
    /// It is behind a `$`, not on it.
    Off,
}

impl TryFrom<u8> for Forced {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            0 => Ok(Forced::No),
            1 => Ok(Forced::On),
            2 => Ok(Forced::Off),
            _ => Err(format!("a line is forced as {number}: it takes 0, 1 or 2")),
        }
    }
}

impl From<Forced> for u8 {
    fn from(forced: Forced) -> u8 {
        forced as u8
    }
}

/// A propagator of a diagram.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ListedLine {
    /// The legs on one side of it.
    pub legs: u32,
    /// The two lines that meet there.
    pub daughters: [u32; 2],
    /// PDG code.
    pub code: i32,
    /// Whether its momentum is that of an exchange.
    pub spacelike: bool,
    /// Where it has to be.
    #[serde(default)]
    pub forced: Forced,
    /// GeV.
    pub mass: f64,
    /// GeV.
    pub width: f64,
}

/// A diagram with a channel, by its lines as MG5aMC lists them, which clustering depends on.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ListedDiagram {
    /// From the outer ones inwards.
    pub lines: Vec<ListedLine>,
    /// Powers of the strong coupling.
    pub nqcd: i32,
}

/// What of the run card matters.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct ClusteringSettings {
    /// Whether hadrons collide.
    pub hadrons: bool,
    /// The beam, 0 or 1, that is a parton itself beside one of hadrons.
    #[serde(default)]
    pub parton_beam: Option<usize>,
    /// Quarks up to it are jets.
    pub maxjetflavor: i32,
    /// Widths about a mass within which it is on its shell.
    pub bwcutoff: f64,
    /// The least width, of the mass.
    pub small_width: f64,
    /// The entry d.
    pub distance: f64,
    /// Whether channels have their shares by propagators (`sde_strategy = 2`), not by squared diagrams.
    #[serde(default)]
    pub denominators: bool,
    /// `ktscheme`: 1, transverse momenta, or 2, those of Pythia's shower.
    pub scheme: i32,
    /// `chcluster`: whether points are clustered along the diagram of their channel alone.
    pub alone: bool,
}

/// Clustering of one matrix element.
#[derive(Clone, Debug)]
pub struct Clustering {
    legs: usize,
    settings: ClusteringSettings,
    matching: Matching,
    diagrams: Vec<ListedDiagram>,
    /// PDG codes of all legs of each process that it serves.
    processes: Vec<Vec<i32>>,
    /// Diagrams by a propagator, from either side; lines are places.
    by_line: Vec<Vec<u32>>,
    /// PDG codes of lines, of each diagram.
    codes: Vec<BTreeMap<u32, i32>>,
    /// Lines that may be on their mass shells, of each diagram.
    resonant: Vec<Vec<u32>>,
    /// Dimensions of colour by PDG code.
    colors: BTreeMap<i32, i32>,
    /// Of each channel, where it is known.
    jets: Vec<Option<usize>>,
}

/// A point that is clustered, and passes the cuts.
#[derive(Clone, Debug)]
pub struct Clustered {
    /// Of renormalisation, and of both densities, GeV.
    pub scales: [f64; 3],
    /// Squared, of the central process, of both beams.
    central: [f64; 2],
    /// Where what follows from its steps stands in a memory.
    traced: usize,
}

/// How many jets points have, by channel and by the resonances that are on their mass shells.
#[derive(Debug, Default)]
pub struct JetCounts {
    counts: BTreeMap<(usize, u32), Vec<usize>>,
    memory: Memory,
}

/// The least squared scale of densities, GeV^2.
const LEAST: f64 = 4.0;

impl Clustering {
    /// Of a matrix element.
    ///
    /// Args:
    ///     processes: PDG codes of all legs of each process that it serves, first those that diagrams have the codes of.
    ///     diagrams: those that have channels, which go by their places.
    ///     colors: PDG codes with dimensions of colour.
    ///
    /// # Errors
    /// There are too many legs, or a line has all of them or none.
    pub fn new(
        processes: Vec<Vec<i32>>,
        diagrams: Vec<ListedDiagram>,
        colors: &BTreeMap<i32, i32>,
        settings: ClusteringSettings,
        matching: Matching,
    ) -> Result<Self, Error> {
        let legs = processes.first().map_or(0, Vec::len);
        if !(3..=MOST_LEGS).contains(&legs) {
            return Err(Error::Legs(legs));
        }
        if let Some(other) = processes.iter().find(|codes| codes.len() != legs) {
            return Err(Error::Processes(legs, other.len()));
        }
        let everything = (1 << legs) - 1;
        let mut made = Clustering {
            legs,
            settings,
            matching,
            by_line: vec![Vec::new(); 1 << legs],
            codes: Vec::new(),
            resonant: Vec::new(),
            colors: colors.clone(),
            jets: vec![None; diagrams.len()],
            diagrams,
            processes,
        };
        for (number, diagram) in (0..).zip(&made.diagrams) {
            if diagram.lines.len() >= legs {
                return Err(Error::Lines(diagram.lines.len(), legs));
            }
            let mut of: BTreeMap<u32, i32> = (0..)
                .zip(&made.processes[0])
                .map(|(leg, code)| (1 << leg, *code))
                .collect();
            let mut resonant = Vec::new();
            for line in &diagram.lines {
                if !(1..everything).contains(&line.legs) {
                    return Err(Error::NoLine(line.legs, legs));
                }
                for legs in [line.legs, everything - line.legs] {
                    made.by_line[legs as usize].push(number);
                    of.insert(legs, line.code);
                    if line.width > 0.0 {
                        resonant.push(legs);
                    }
                }
            }
            made.codes.push(of);
            made.resonant.push(resonant);
        }
        Ok(made)
    }

    /// Whether points are weighted by what clustering finds (`ickkw = 1`).
    pub fn reweighted(&self) -> bool {
        self.matching.reweighted
    }

    /// How many channels there are.
    pub fn channels(&self) -> usize {
        self.diagrams.len()
    }

    /// Counts the jets of points that are clustered along the diagrams of their own channels; those with a negative channel
    /// have none.
    ///
    /// # Errors
    /// A point cannot be clustered.
    ///
    /// # Panics
    /// The arrays do not fit each other.
    pub fn count_jets(
        &self,
        momenta: &Rows,
        channels: &[i32],
        counts: &mut JetCounts,
    ) -> Result<(), Error> {
        assert_eq!(channels.len(), momenta.points(), "a channel for each point");
        let mut momentum = [[0.0; 4]; MOST_LEGS];
        for (point, &channel) in channels.iter().enumerate() {
            let Ok(channel) = usize::try_from(channel) else {
                continue;
            };
            let p = take(momenta, point, &mut momentum[..self.legs]);
            let Some(key) = self.on_shell(channel, p) else {
                continue;
            };
            if let Some(traced) = self.walk(channel, key, true, 0, p, &mut counts.memory)? {
                let jets = counts.memory.traced(traced).jets;
                let found = counts.counts.entry((channel, key)).or_default();
                found.resize(found.len().max(jets + 1), 0);
                found[jets] += 1;
            }
        }
        Ok(())
    }

    /// From now on points of a channel have as many jets as most have that were counted. What is known of a channel stays.
    pub fn settle(&mut self, counts: &JetCounts) {
        // Of several resonances the first ones count.
        for ((channel, _), found) in &counts.counts {
            let most = (0..found.len()).rev().max_by_key(|&jets| found[jets]);
            self.jets[*channel] = self.jets[*channel].or(most);
        }
    }

    /// Clusters a point; nothing where MadEvent drops it: it cannot be clustered, is cut, or has a scale of densities, of
    /// beams that have some, below 2 GeV.
    ///
    /// Args:
    ///     process: its number among those of the matrix element.
    ///     p: in the rest frame of what comes in.
    ///     memory: of this clustering alone.
    ///
    /// # Errors
    /// It cannot be clustered, by the colours of its lines.
    ///
    /// # Panics
    /// The arrays do not fit each other.
    pub fn at(
        &self,
        channel: usize,
        process: usize,
        p: &[[f64; 4]],
        given: &Given,
        memory: &mut Memory,
    ) -> Result<Option<Clustered>, Error> {
        assert_eq!(p.len(), self.legs, "momenta of all legs");
        let Some(key) = self.on_shell(channel, p) else {
            return Ok(None);
        };
        // Codes of legs matter for weights alone.
        let process = if self.matching.reweighted { process } else { 0 };
        let mut found = None;
        for alone in [self.settings.alone, true] {
            found = self.walk(channel, key, alone, process, p, memory)?;
            let Some(traced) = found else {
                return Ok(None);
            };
            let jets = memory.traced(traced).jets;
            if self.jets[channel].is_none_or(|wanted| jets == wanted) {
                break;
            }
        }
        Ok(found.and_then(|traced| self.scaled(traced, given, memory)))
    }

    /// What the weight of the point is multiplied by that was clustered last, and what its event says of it.
    pub fn matched(
        &self,
        of: &Clustered,
        given: &Given,
        by: &Weighing,
        memory: &Memory,
    ) -> Matched {
        let traced = memory.traced(of.traced);
        let (path, central) = (&memory.path, of.central);
        (self.matching).weigh(path, traced, of.scales, central, given, by)
    }

    /// Whether MadEvent drops a point in its channel: a resonance of a decay chain is off its mass shell, or one behind a
    /// `$` is on it.
    pub fn excludes(&self, channel: usize, p: &[[f64; 4]]) -> bool {
        self.on_shell(channel, p).is_none()
    }

    fn scaled(&self, number: usize, given: &Given, memory: &Memory) -> Option<Clustered> {
        let (path, traced) = (&memory.path, memory.traced(number));
        let mut squares = matching::vertices(path, traced);
        if !self.matching.passed(&squares, traced) {
            return None;
        }
        let found = self.matching.scales(&mut squares, path, traced, given);
        let scales = found.scales();
        let densities =
            [0, 1].map(|beam| self.settings.hadrons && self.settings.parton_beam != Some(beam));
        let low = |beam: usize| densities[beam] && found.densities[beam] < LEAST;
        let is_low = !given.fixed && found.clustered && (low(0) || low(1));
        if found.renormalisation.is_nan() || found.renormalisation <= 0.0 || is_low {
            return None;
        }
        Some(Clustered {
            scales,
            central: found.central,
            traced: number,
        })
    }

    /// Clusters a point along diagrams that suit its channel, or along that of its channel alone, and finds what follows
    /// from the order; nothing where none does.
    fn walk(
        &self,
        channel: usize,
        resonances: u32,
        alone: bool,
        process: usize,
        p: &[[f64; 4]],
        memory: &mut Memory,
    ) -> Result<Option<usize>, Error> {
        let start = Start {
            channel: channel as u32,
            resonances,
            alone,
        };
        if !point::walk(self, start, p, memory) {
            return Ok(None);
        }
        memory.trace(self, memory.path.end, process, p).map(Some)
    }

    /// Which propagators of the channel are on their mass shells, as bits of their places; nothing where the point is
    /// dropped.
    fn on_shell(&self, channel: usize, p: &[[f64; 4]]) -> Option<u32> {
        let lines = &self.diagrams[channel].lines;
        let (mut found, mut masses) = ([false; MOST_LEGS], [0.0; MOST_LEGS]);
        let (mut beyond, mut dropped) = (false, false);
        for (place, line) in lines.iter().enumerate() {
            beyond |= line.spacelike || line.legs & 3 != 0;
            if beyond {
                break;
            }
            let mass = point::mass(p, line.legs);
            masses[place] = mass;
            if line.width <= 0.0 {
                continue;
            }
            let width = line.width.max(line.mass * self.settings.small_width);
            let near = (mass - line.mass).abs() < self.settings.bwcutoff * width;
            let mut shell = near && (width / line.mass < 0.1 || line.forced == Forced::On);
            dropped |= match line.forced {
                Forced::Off => shell,
                Forced::On => !shell,
                Forced::No => false,
            };
            // Of a particle that becomes the same particle and another one, one of the two is on its mass shell.
            let codes = &self.codes[channel];
            let same = |daughter: &&u32| codes.get(daughter) == Some(&line.code);
            if let Some(same) = line.daughters.iter().rfind(same) {
                let before = &lines[..place];
                match before.iter().rposition(|line| line.legs == *same) {
                    None => shell = false,
                    Some(other) if lines[other].forced == Forced::On => shell = false,
                    Some(other) if line.forced == Forced::On => found[other] &= !shell,
                    Some(other) => {
                        let off = (mass - line.mass).abs() > (masses[other] - line.mass).abs();
                        found[other] &= !shell || off;
                        shell &= !off;
                    }
                }
            }
            found[place] = shell;
        }
        let bits = (0..)
            .zip(found)
            .map(|(place, shell)| u32::from(shell) << place);
        (!dropped).then(|| bits.sum())
    }

    /// The legs of the propagators that are on their mass shells.
    fn legs_of(&self, channel: u32, resonances: u32) -> Vec<u32> {
        let lines = (0..).zip(&self.diagrams[channel as usize].lines);
        let on = lines.filter(|(place, _)| resonances >> place & 1 == 1);
        on.map(|(_, line)| line.legs).collect()
    }
}

/// Takes the momenta of a point.
pub fn take<'a>(momenta: &Rows, point: usize, to: &'a mut [[f64; 4]]) -> &'a [[f64; 4]] {
    for (leg, p) in to.iter_mut().enumerate() {
        *p = [0, 1, 2, 3].map(|i| momenta.row(4 * leg + i)[point]);
    }
    to
}

#[cfg(test)]
mod tests;
