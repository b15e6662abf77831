//! Clustering of points to 2 -> 2 along diagrams of their process: the scales of `dynamical_scale_choice = -1`, cuts on
//! clustered jets, and the weights of MLM matching.
//!
//! As in MadEvent's `cluster.f` and `setclscales` of `reweight.f` (kT clustering of arXiv:hep-ph/0208156 and
//! arXiv:0810.5350, restricted to the diagrams of the process). Lines are bit masks of their legs; the masks 1 and 2
//! are the beams.
//!
//! A point belongs to a channel. It may be clustered along diagrams that have the same number of strong vertices as its
//! channel, and all resonances that are on their mass shells in its channel; and it must have the same number of jets
//! as its channel.
//!
//! Everything that depends on the order of the steps alone is computed once per order ([`ClusteringCache`]); for each point,
//! only the distances are computed.

mod matching;
mod memory;
mod path;
mod point;
mod trace;

use crate::Rows;
pub use matching::{InitialScales, Matched, Matching, Weighing};
use mebridge_support::sorted::SortedMap;
pub use memory::ClusteringCache;
use memory::Start;
use serde::{Deserialize, Serialize};

/// Errors of clustering.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Colours for which there is no rule.
    #[error(
        "an event cannot be clustered: {mother} becomes {first} and {second} (PDG codes); set dynamical_scale_choice to 3"
    )]
    Colors {
        /// PDG code of the combined line.
        mother: i32,
        /// PDG code of the first line.
        first: i32,
        /// PDG code of the second line.
        second: i32,
    },
    /// The number of legs is not supported.
    #[error(
        "{0} legs cannot be clustered: it takes from 3 to {MAX_LEGS}; set dynamical_scale_choice to 3"
    )]
    Legs(usize),
    /// Processes of one matrix element have different numbers of legs.
    #[error("processes of {0} and {1} legs are clustered together")]
    Processes(usize, usize),
    /// A line without legs on one side.
    #[error(
        "a line with the legs {0:#b}, as bits, of a process with {1} legs: there must be legs on both sides of it"
    )]
    NoLine(u32, usize),
    /// More lines than a diagram with these legs can have.
    #[error("a diagram of a process with {1} legs has too many lines, {0}")]
    Lines(usize, usize),
}

/// Most legs.
pub const MAX_LEGS: usize = 16;

/// The condition on the mass of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Forced {
    /// No condition.
    #[default]
    No,
    /// On its mass shell (a decay chain).
    On,
    /// Off its mass shell (`$`).
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
    /// The legs on one side, as a bit mask.
    pub legs: u32,
    /// The two lines into which it splits, as bit masks.
    pub daughters: [u32; 2],
    /// PDG code.
    pub code: i32,
    /// Whether the line is spacelike.
    pub spacelike: bool,
    /// The condition on its mass.
    #[serde(default)]
    pub forced: Forced,
    /// Mass, GeV.
    pub mass: f64,
    /// Width, GeV.
    pub width: f64,
}

/// A diagram with a channel. Clustering depends on the order of its lines, which is MG5aMC's.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ListedDiagram {
    /// The propagators, from the legs inwards.
    pub lines: Vec<ListedLine>,
    /// Order in the strong coupling.
    pub nqcd: i32,
}

/// Entries of the run card for clustering.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct ClusteringSettings {
    /// Whether hadrons collide.
    pub hadrons: bool,
    /// The beam, 0 or 1, without densities, if the other one is a hadron.
    #[serde(default)]
    pub parton_beam: Option<usize>,
    /// Quarks up to this flavour are jets.
    pub maxjetflavor: i32,
    /// A line is on its mass shell within this many widths.
    pub bwcutoff: f64,
    /// Least width, relative to the mass.
    pub small_width: f64,
    /// The entry `d`: the radius of the kT measure.
    pub distance: f64,
    /// Whether channel weights are from propagators (`sde_strategy = 2`) instead of squared diagrams.
    #[serde(default)]
    pub denominators: bool,
    /// `ktscheme`: 1 for transverse momenta, 2 for those of Pythia's shower.
    pub scheme: i32,
    /// `chcluster`: whether points are clustered only along the diagram of their channel.
    pub alone: bool,
}

/// Clustering for one matrix element.
#[derive(Clone, Debug)]
pub struct Clustering {
    legs: usize,
    settings: ClusteringSettings,
    matching: Matching,
    diagrams: Vec<ListedDiagram>,
    /// PDG codes of all legs of each process.
    processes: Vec<Vec<i32>>,
    /// The diagrams that have a line, indexed by the line's bit mask; either side counts.
    by_line: Vec<Vec<u32>>,
    /// PDG codes of the lines of each diagram.
    codes: Vec<SortedMap<u32, i32>>,
    /// Lines of each diagram that may be on their mass shells.
    resonant: Vec<Vec<u32>>,
    /// Dimensions of colour by PDG code.
    colors: SortedMap<i32, i32>,
    /// Number of jets of each channel, if known.
    jets: Vec<Option<usize>>,
}

/// A clustered point that passes the cuts.
#[derive(Clone, Debug)]
pub struct ClusteredPoint {
    /// Renormalisation scale, and factorisation scales of both beams, GeV.
    pub scales: [f64; 3],
    /// Squared scales of the central process, for both beams.
    central: [f64; 2],
    /// Index of its trace in the memory.
    traced: usize,
}

/// Numbers of points by their number of jets, for each channel and set of resonances on their mass shells.
#[derive(Debug, Default)]
pub struct JetCounts {
    counts: SortedMap<(usize, u32), Vec<usize>>,
    memory: ClusteringCache,
}

/// Least squared factorisation scale, GeV^2.
const MIN_SCALE_SQUARE: f64 = 4.0;

impl Clustering {
    /// Creates the clustering for a matrix element.
    ///
    /// * `processes`: PDG codes of all legs of each process; the codes of the diagrams belong to the first one.
    /// * `diagrams`: the diagrams with channels, in the order of the channels.
    /// * `colors`: dimensions of colour by PDG code.
    ///
    /// # Errors
    /// The number of legs is not supported, or a line has all legs or none.
    pub fn new(
        processes: Vec<Vec<i32>>,
        diagrams: Vec<ListedDiagram>,
        colors: &SortedMap<i32, i32>,
        settings: ClusteringSettings,
        matching: Matching,
    ) -> Result<Self, Error> {
        let legs = processes.first().map_or(0, Vec::len);
        if !(3..=MAX_LEGS).contains(&legs) {
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
            let mut of: SortedMap<u32, i32> = (0..)
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

    /// Whether points are reweighted by the clustering (`ickkw = 1`).
    pub fn reweighted(&self) -> bool {
        self.matching.reweighted
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.diagrams.len()
    }

    /// Clusters points along the diagrams of their channels, and counts their jets. Points with a negative channel are
    /// skipped.
    ///
    /// # Errors
    /// A point cannot be clustered.
    ///
    /// # Panics
    /// If the array lengths differ.
    pub fn count_jets(
        &self,
        momenta: &Rows,
        channels: &[i32],
        counts: &mut JetCounts,
    ) -> Result<(), Error> {
        assert_eq!(channels.len(), momenta.points(), "a channel for each point");
        let mut momentum = [[0.0; 4]; MAX_LEGS];
        for (point, &channel) in channels.iter().enumerate() {
            let Ok(channel) = usize::try_from(channel) else {
                continue;
            };
            let p = copy_momenta(momenta, point, &mut momentum[..self.legs]);
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

    /// Fixes the number of jets of each channel to the most frequent one among the counted points. Numbers that are
    /// already fixed stay.
    pub fn settle(&mut self, counts: &JetCounts) {
        // The first set of resonances decides.
        for ((channel, _), found) in &counts.counts {
            let most = (0..found.len()).rev().max_by_key(|&jets| found[jets]);
            self.jets[*channel] = self.jets[*channel].or(most);
        }
    }

    /// Clusters a point. `None` if MadEvent drops it: it cannot be clustered, fails the cuts, or has a factorisation
    /// scale below 2 GeV for a beam with densities.
    ///
    /// * `process`: number of the process in the matrix element.
    /// * `p`: momenta in the rest frame of the incoming legs.
    /// * `memory`: must be used for this clustering only.
    ///
    /// # Errors
    /// There is no rule for the colours of its lines.
    ///
    /// # Panics
    /// If the array lengths differ.
    pub fn cluster(
        &self,
        channel: usize,
        process: usize,
        p: &[[f64; 4]],
        given: &InitialScales,
        memory: &mut ClusteringCache,
    ) -> Result<Option<ClusteredPoint>, Error> {
        assert_eq!(p.len(), self.legs, "momenta of all legs");
        let Some(key) = self.on_shell(channel, p) else {
            return Ok(None);
        };
        // PDG codes of legs matter only for weights.
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

    /// Returns the weight and the event data of the point that was clustered last.
    pub fn matched(
        &self,
        of: &ClusteredPoint,
        given: &InitialScales,
        by: &Weighing,
        memory: &ClusteringCache,
    ) -> Matched {
        let traced = memory.traced(of.traced);
        let (path, central) = (&memory.path, of.central);
        (self.matching).weigh(path, traced, of.scales, central, given, by)
    }

    /// Whether MadEvent drops a point in its channel, because a resonance of a decay chain is off its mass shell, or
    /// one excluded by `$` is on it.
    pub fn excludes(&self, channel: usize, p: &[[f64; 4]]) -> bool {
        self.on_shell(channel, p).is_none()
    }

    fn scaled(
        &self,
        number: usize,
        given: &InitialScales,
        memory: &ClusteringCache,
    ) -> Option<ClusteredPoint> {
        let (path, traced) = (&memory.path, memory.traced(number));
        let mut squares = matching::vertices(path, traced);
        if !self.matching.passed(&squares, traced) {
            return None;
        }
        let found = self.matching.scales(&mut squares, path, traced, given);
        let scales = found.scales();
        let densities =
            [0, 1].map(|beam| self.settings.hadrons && self.settings.parton_beam != Some(beam));
        let low = |beam: usize| densities[beam] && found.densities[beam] < MIN_SCALE_SQUARE;
        let is_low = !given.fixed && found.clustered && (low(0) || low(1));
        if found.renormalisation.is_nan() || found.renormalisation <= 0.0 || is_low {
            return None;
        }
        Some(ClusteredPoint {
            scales,
            central: found.central,
            traced: number,
        })
    }

    /// Clusters a point along the diagrams that suit its channel, or along that of its channel only, and returns the
    /// index of its trace; `None` if it cannot be clustered.
    fn walk(
        &self,
        channel: usize,
        resonances: u32,
        alone: bool,
        process: usize,
        p: &[[f64; 4]],
        memory: &mut ClusteringCache,
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

    /// The propagators of the channel that are on their mass shells, as a bit mask; `None` if the point is dropped.
    fn on_shell(&self, channel: usize, p: &[[f64; 4]]) -> Option<u32> {
        let lines = &self.diagrams[channel].lines;
        let (mut found, mut masses) = ([false; MAX_LEGS], [0.0; MAX_LEGS]);
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
            // If a particle splits into the same particle and another one, only one of the two is on its mass shell.
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

/// Copies the momenta of a point.
pub fn copy_momenta<'a>(momenta: &Rows, point: usize, to: &'a mut [[f64; 4]]) -> &'a [[f64; 4]] {
    for (leg, p) in to.iter_mut().enumerate() {
        *p = [0, 1, 2, 3].map(|i| momenta.row(4 * leg + i)[point]);
    }
    to
}

#[cfg(test)]
mod tests;
