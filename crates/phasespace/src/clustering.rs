//! The scales of `dynamical_scale_choice = -1`: a point is clustered to 2 -> 2 along diagrams of its process.
//!
//! What MadEvent does in `cluster.f` and `setclscales` of `reweight.f` (kT clustering of arXiv:hep-ph/0208156 and
//! arXiv:0810.5350, by the diagrams that the process has), as the Python package has it in `_clustering.py`. Legs and
//! what they are combined to are sets of bits, 1 and 2 being the beams.
//!
//! A point belongs to a channel. The diagrams that it may be clustered by are those with as many strong vertices as its
//! channel, and with the resonances that are on their mass shells in its channel; and it has as many jets as its channel.
//!
//! Points are few, those that pass the cuts, and each goes its own way: nothing is in lanes here.

mod event;
mod trace;

use crate::Rows;
use crate::scales::ROWS;
use event::Event;
use serde::Deserialize;
use std::collections::BTreeMap;
use trace::Trace;

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
    #[error("{0} legs cannot be clustered: it takes from 3 to 16; set dynamical_scale_choice to 3")]
    Legs(usize),
    /// A line that is none.
    #[error(
        "a line with the legs {0:#b}, as bits, of a process with {1} legs: some have to be on either side of it"
    )]
    NoLine(u32, usize),
}

/// What is known of a line beside its legs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "u8")]
pub enum Forced {
    /// Nothing.
    #[default]
    No,
    /// It is of a decay chain, on its mass shell.
    On,
    /// It is behind a `$`, not on it.
    Off,
}

impl From<u8> for Forced {
    fn from(number: u8) -> Self {
        match number {
            1 => Forced::On,
            2 => Forced::Off,
            _ => Forced::No,
        }
    }
}

/// A propagator of a diagram.
#[derive(Clone, Debug, Deserialize)]
pub struct Propagator {
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

/// A diagram with a channel.
#[derive(Clone, Debug, Deserialize)]
pub struct Diagram {
    /// From the outer ones inwards.
    pub lines: Vec<Propagator>,
    /// Powers of the strong coupling.
    pub nqcd: i32,
}

/// What of the run card matters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Settings {
    /// Whether hadrons collide.
    pub hadrons: bool,
    /// Quarks up to it are jets.
    pub maxjetflavor: i32,
    /// Widths about a mass within which it is on its shell.
    pub bwcutoff: f64,
    /// The least width, of the mass.
    pub small_width: f64,
    /// The entry d.
    pub distance: f64,
    /// `ktscheme`: 1, transverse momenta, or 2, those of Pythia's shower.
    pub scheme: i32,
    /// `chcluster`: whether points are clustered along the diagram of their channel alone.
    pub alone: bool,
    /// The least scale of a jet, GeV; 0 for none.
    #[serde(default)]
    pub xqcut: f64,
    /// The least transverse mass of a central vertex, GeV; 0 for none.
    #[serde(default)]
    pub xmtcentral: f64,
}

/// Scales that points have before they are clustered, GeV; 0 where clustering gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// Of renormalisation.
    pub renormalisation: f64,
    /// Of both densities.
    pub factorisation: [f64; 2],
    /// Whether those of densities are fixed, which are not multiplied then.
    pub fixed: bool,
    /// What multiplies the others.
    pub factor: f64,
}

impl Given {
    /// None.
    pub fn nothing(factor: f64) -> Self {
        Given {
            renormalisation: 0.0,
            factorisation: [0.0; 2],
            fixed: false,
            factor,
        }
    }
}

/// Clustering of one process.
#[derive(Clone, Debug)]
pub struct Clustering {
    legs: usize,
    settings: Settings,
    diagrams: Vec<Diagram>,
    /// Diagrams by a propagator, from either side; lines are places.
    by_line: Vec<Vec<usize>>,
    /// PDG codes of lines, of each diagram.
    codes: Vec<BTreeMap<u32, i32>>,
    /// Lines that may be on their mass shells, of each diagram.
    resonant: Vec<Vec<u32>>,
    /// Dimensions of colour by PDG code.
    colors: BTreeMap<i32, i32>,
    /// Of each channel, where it is known.
    jets: Vec<Option<usize>>,
}

/// The least squared scale of densities, GeV^2.
const LEAST: f64 = 4.0;

/// Whether MadEvent drops a point with these scales: not clustered or cut, or with a scale of densities, of beams that
/// have some, below 2 GeV.
pub fn drops(scales: [f64; ROWS], densities: [bool; 2]) -> bool {
    let [renormalisation, first, second] = scales;
    let low = |there: bool, scale: f64| there && scale * scale < LEAST;
    renormalisation <= 0.0 || low(densities[0], first) || low(densities[1], second)
}

impl Clustering {
    /// Of a process.
    ///
    /// Args:
    ///     codes: PDG codes of all legs.
    ///     diagrams: those that have channels, which go by their places.
    ///     colors: PDG codes with dimensions of colour.
    ///
    /// # Errors
    /// There are too many legs, or a line has all of them or none.
    pub fn new(
        codes: &[i32],
        diagrams: Vec<Diagram>,
        colors: &[(i32, i32)],
        settings: Settings,
    ) -> Result<Self, Error> {
        let legs = codes.len();
        if !(3..=16).contains(&legs) {
            return Err(Error::Legs(legs));
        }
        let everything = (1 << legs) - 1;
        let mut made = Clustering {
            legs,
            settings,
            by_line: vec![Vec::new(); 1 << legs],
            codes: Vec::new(),
            resonant: Vec::new(),
            colors: colors.iter().copied().collect(),
            jets: vec![None; diagrams.len()],
            diagrams,
        };
        for (number, diagram) in made.diagrams.iter().enumerate() {
            let mut of: BTreeMap<u32, i32> = (0..)
                .zip(codes)
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

    /// How many jets points of each channel have, from some of them: what most have that are clustered along their own
    /// diagram. A channel that has been counted, or has no points, stays as it is.
    ///
    /// # Errors
    /// A point cannot be clustered.
    ///
    /// # Panics
    /// The arrays do not fit each other.
    pub fn count_jets(&mut self, momenta: &Rows, channels: &[usize]) -> Result<(), Error> {
        assert_eq!(channels.len(), momenta.points(), "a channel for each point");
        // By channel and resonances, of which the first ones count, as in the Python package.
        let mut counts: BTreeMap<(usize, u64), Vec<usize>> = BTreeMap::new();
        for (point, &channel) in channels.iter().enumerate() {
            if self.jets[channel].is_some() {
                continue;
            }
            let p = self.momenta(momenta, point);
            let Some((key, resonances)) = self.on_shell(channel, &p) else {
                continue;
            };
            if let Some(event) = Event::clustered(self, channel, &p, &resonances, true) {
                let jets = self.traced(&event, &p)?.jets();
                let found = counts.entry((channel, key)).or_default();
                found.resize(found.len().max(jets + 1), 0);
                found[jets] += 1;
            }
        }
        for ((channel, _), found) in counts {
            let most = (0..found.len()).rev().max_by_key(|&jets| found[jets]);
            self.jets[channel] = self.jets[channel].or(most);
        }
        Ok(())
    }

    /// Writes three rows from `first` on: the scale of renormalisation and those of both densities, GeV; 0 where
    /// MadEvent drops the point.
    ///
    /// Args:
    ///     momenta: in the rest frame of what comes in.
    ///     channels: of each point.
    ///
    /// # Errors
    /// A point cannot be clustered.
    ///
    /// # Panics
    /// The arrays do not fit each other.
    pub fn evaluate(
        &self,
        momenta: &Rows,
        channels: &[usize],
        given: &Given,
        scales: &mut Rows,
        first: usize,
    ) -> Result<(), Error> {
        assert_eq!(channels.len(), momenta.points(), "a channel for each point");
        assert_eq!(momenta.points(), scales.points(), "scales of each point");
        for (point, &channel) in channels.iter().enumerate() {
            let p = self.momenta(momenta, point);
            let found = self.scales(channel, &p, given)?.unwrap_or([0.0; ROWS]);
            for (row, scale) in (first..).zip(found) {
                scales.row_mut(row)[point] = scale;
            }
        }
        Ok(())
    }

    /// Of a point; nothing where it is dropped.
    fn scales(
        &self,
        channel: usize,
        p: &[[f64; 4]],
        given: &Given,
    ) -> Result<Option<[f64; ROWS]>, Error> {
        let Some((_, resonances)) = self.on_shell(channel, p) else {
            return Ok(None);
        };
        let clustered = |alone| Event::clustered(self, channel, p, &resonances, alone);
        let mut scales = None;
        for alone in [self.settings.alone, true] {
            let Some(event) = clustered(alone) else {
                return Ok(None);
            };
            let traced = self.traced(&event, p)?;
            scales = event.scales(&traced, given, &self.settings);
            if self.jets[channel].is_none_or(|jets| traced.jets() == jets) {
                break;
            }
        }
        Ok(scales)
    }

    fn traced<'a>(&'a self, event: &'a Event, p: &[[f64; 4]]) -> Result<Trace<'a>, Error> {
        let codes = &self.codes[event.diagram];
        Trace::new(
            &event.steps,
            codes,
            &self.colors,
            self.settings.maxjetflavor,
            p,
        )
    }

    fn momenta(&self, momenta: &Rows, point: usize) -> Vec<[f64; 4]> {
        let of = |leg| [0, 1, 2, 3].map(|i| momenta.row(4 * leg + i)[point]);
        (0..self.legs).map(of).collect()
    }

    /// Which propagators of the channel are on their mass shells, as bits of their places and by their legs; nothing
    /// where the point is dropped.
    fn on_shell(&self, channel: usize, p: &[[f64; 4]]) -> Option<(u64, Vec<u32>)> {
        let lines = &self.diagrams[channel].lines;
        let mut found: Vec<bool> = Vec::new();
        let mut masses: Vec<f64> = Vec::new();
        let (mut beyond, mut dropped) = (false, false);
        for line in lines {
            beyond |= line.spacelike || line.legs & 3 != 0;
            masses.push(if beyond {
                0.0
            } else {
                event::mass(p, line.legs)
            });
            let mass = masses[masses.len() - 1];
            if beyond || line.width <= 0.0 {
                found.push(false);
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
                match lines
                    .iter()
                    .take(found.len())
                    .rposition(|line| line.legs == *same)
                {
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
            found.push(shell);
        }
        let key = (0..)
            .zip(&found)
            .map(|(i, shell)| u64::from(*shell) << i)
            .sum();
        let on = lines.iter().zip(&found).filter(|(_, shell)| **shell);
        (!dropped).then(|| (key, on.map(|(line, _)| line.legs).collect()))
    }
}

#[cfg(test)]
mod tests;
