//! Propagators that a directory lists: their masses, widths and topologies, by the channels of the matrix element.

use crate::element::Element;
use crate::output::{Config, Directory, Line};
use crate::topology::{legs_of, outgoing};
use mebridge::Result;
use mebridge::describe::Channel;
use mebridge::propagators::Topology;
use mebridge::sampling::{ClusteredLines, DiagramLines};
use mebridge_phasespace::clustering::{Forced, ListedDiagram, ListedLine};
use std::collections::{BTreeMap, BTreeSet};

/// The beams, as bits.
const BEAMS: u32 = 3;

/// What a channel knows of its propagators: places in the matrix element's list of channels, and in their propagators.
type InChannel = (usize, usize);

/// Which propagators of channels are those that a directory lists.
struct Known {
    /// By legs, code, and whether a line lies between the beams, where legs may be those of another line.
    found: BTreeMap<(u32, u32, bool), InChannel>,
    number: usize,
    legs: u32,
}

impl Known {
    /// Of a matrix element, which is this one of its directory.
    fn new(element: &Element, directory: &Directory, number: usize) -> Known {
        let legs = (1 << element.pdg().len()) - 1;
        let mut known = Known {
            found: BTreeMap::new(),
            number,
            legs,
        };
        let channels = element.channels();
        let mut places: Vec<usize> = (0..channels.len()).collect();
        places.sort_by_key(|&place| channels[place].diagrams[0].diagram);
        let mut of_channels = Vec::new();
        for place in places {
            let channel = &channels[place];
            let mut own = BTreeMap::new();
            for (line, code) in channel.propagators.iter().enumerate() {
                let name = format!("p{line}");
                let legs = bits(channel, &name);
                let between = outgoing(&channel.vertices, &name).1 == 1;
                own.insert((legs, between), (place, line));
                let key = (legs, code.unsigned_abs(), between);
                known.found.insert(key, (place, line));
            }
            of_channels.push(own);
        }
        // Particles of several generations may share a mass, and with it the code that a matrix element knows: lines of a
        // diagram are those of its channel.
        let mut configs: Vec<&Config> = of_diagrams(directory, number).collect();
        configs.sort_by_key(|config| &config.diagrams);
        if configs.len() == of_channels.len() {
            for (config, own) in configs.into_iter().zip(of_channels) {
                for line in &config.lines {
                    for legs in known.sides(line) {
                        if let Some(&place) = own.get(&(legs, line.spacelike)) {
                            let key = (legs, line.codes[number].unsigned_abs(), line.spacelike);
                            known.found.entry(key).or_insert(place);
                        }
                    }
                }
            }
        }
        known
    }

    /// Legs on both sides; of a line between beams those that go out.
    fn sides(&self, line: &Line) -> [u32; 2] {
        let sides = [line.legs, self.legs & !line.legs];
        match line.spacelike {
            true => sides.map(|side| side & !BEAMS),
            false => sides,
        }
    }

    fn get(&self, line: &Line) -> Option<InChannel> {
        let of_side = |legs: u32| {
            // A code may be missing there.
            let codes = [line.codes[self.number].unsigned_abs(), 0];
            let mut keys = codes.into_iter().map(|code| (legs, code, line.spacelike));
            keys.find_map(|key| self.found.get(&key).copied())
        };
        self.sides(line).into_iter().find_map(of_side)
    }
}

/// The diagrams of a directory that one of its matrix elements has.
fn of_diagrams(directory: &Directory, number: usize) -> impl Iterator<Item = &Config> {
    let configs = directory.configs.iter();
    configs.filter(move |config| config.diagrams[number] != 0)
}

/// The legs of a channel's line as bits, those that come in among them.
fn bits(channel: &Channel, line: &str) -> u32 {
    let legs = legs_of(&channel.vertices, line);
    legs.into_iter().map(|leg| 1 << leg).sum()
}

/// Masses and widths, GeV, of the propagators of a matrix element, which is this one of its directory.
pub fn line_masses<'a>(
    element: &'a Element,
    directory: &Directory,
    number: usize,
) -> impl Fn(&Line) -> (f64, f64) + 'a {
    let known = Known::new(element, directory, number);
    move |line| {
        let found = known
            .get(line)
            .map(|(channel, line)| element.channels()[channel].masses[line]);
        let (mass, width) = found.unwrap_or_default();
        (mass.abs(), width.abs())
    }
}

/// The diagrams that a directory lists of a matrix element, as weights of channels by their propagators take them, in the
/// order there.
pub fn topologies(element: &Element, directory: &Directory, number: usize) -> Vec<Topology> {
    let known = Known::new(element, directory, number);
    let topology = |config: &Config| {
        let legs = element.pdg().len();
        let name = |leg: usize| match leg {
            0 | 1 => format!("i{leg}"),
            _ => format!("o{}", leg - 2),
        };
        let mut open: Vec<(u32, String)> = (0..legs).map(|leg| (1 << leg, name(leg))).collect();
        let take = |legs: u32, open: &mut Vec<(u32, String)>| {
            let at = open.iter().position(|(bits, _)| *bits == legs);
            open.remove(at.expect("a line that no other vertex has")).1
        };
        let (mut vertices, mut parameters) = (Vec::new(), Vec::new());
        // A line more has the momentum of the second beam.
        for (place, line) in config.lines.iter().take(legs - 3).enumerate() {
            let mut vertex: Vec<String> = line.daughters.map(|legs| take(legs, &mut open)).into();
            vertex.push(format!("p{place}"));
            vertices.push(vertex);
            open.push((line.legs, format!("p{place}")));
            let of = known.get(line);
            let of = of.map(|(channel, line)| element.channels()[channel].parameters[line].clone());
            parameters.push(of.unwrap_or_default());
        }
        vertices.push(open.into_iter().map(|(_, name)| name).collect());
        Topology {
            vertices,
            parameters,
        }
    };
    of_diagrams(directory, number).map(topology).collect()
}

/// Gives propagators whose PDG code a matrix element does not know the one that its directory lists for their legs.
pub fn name_lines(element: &mut Element, directory: &Directory, number: usize) {
    let everything = (1 << element.pdg().len()) - 1;
    let mut listed: BTreeMap<u32, BTreeSet<i32>> = BTreeMap::new();
    for line in of_diagrams(directory, number).flat_map(|config| &config.lines) {
        for legs in [line.legs, everything & !line.legs] {
            listed.entry(legs).or_default().insert(line.codes[number]);
        }
    }
    let mut known: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for (of, channel) in element.channels().iter().enumerate() {
        for (place, code) in channel.propagators.iter().enumerate() {
            let legs = bits(channel, &format!("p{place}"));
            known.entry(legs).or_default().insert(code.unsigned_abs());
            if *code == 0 {
                unknown.push((of, place, legs));
            }
        }
    }
    for (of, place, legs) in unknown {
        let codes = listed.get(&legs).into_iter().flatten();
        let mut left = codes.filter(|code| !known[&legs].contains(&code.unsigned_abs()));
        if let (Some(&code), None) = (left.next(), left.next()) {
            let channel = &mut element.described.channels[of];
            channel.propagators[place] = code;
            for diagram in &mut channel.diagrams {
                diagram.propagator_pdgs[place] = code;
            }
        }
    }
}

/// What points of a matrix element, which is this one of its directory, are clustered by; `denominators` says that channels
/// have their shares by propagators.
///
/// # Errors
/// The dimensions of colour cannot be read.
pub fn clustered(
    element: &Element,
    directory: &Directory,
    number: usize,
    denominators: bool,
) -> Result<ClusteredLines> {
    let masses = line_masses(element, directory, number);
    let line = |line: &Line| {
        let (mass, width) = masses(line);
        ListedLine {
            legs: line.legs,
            daughters: line.daughters,
            code: line.codes[number],
            spacelike: line.spacelike,
            forced: line.forced,
            mass,
            width,
        }
    };
    let diagrams = of_diagrams(directory, number).map(|config| DiagramLines {
        diagram: config.diagrams[number],
        lines: ListedDiagram {
            lines: config.lines.iter().map(line).collect(),
            nqcd: config.nqcd,
        },
    });
    Ok(ClusteredLines {
        diagrams: diagrams.collect(),
        colors: directory.colors()?,
        topologies: match denominators {
            true => topologies(element, directory, number),
            false => Vec::new(),
        },
    })
}

/// A particle of a decay chain, which all diagrams have.
#[derive(Clone, Debug, PartialEq)]
pub struct Resonance {
    /// The legs that it decays into, from 0 with those that come in.
    pub legs: Vec<usize>,
    /// PDG code.
    pub code: i32,
    /// GeV.
    pub mass: f64,
    /// GeV.
    pub width: f64,
}

/// The particles of decay chains of a matrix element, which is this one of its directory.
pub fn chained(element: &Element, directory: &Directory, number: usize) -> Vec<Resonance> {
    let masses = line_masses(element, directory, number);
    let mut found: Vec<(u32, Resonance)> = Vec::new();
    let lines = of_diagrams(directory, number).flat_map(|config| &config.lines);
    for line in lines.filter(|line| line.forced == Forced::On && !line.spacelike) {
        let (mass, width) = masses(line);
        let legs = 0..element.pdg().len();
        let resonance = Resonance {
            legs: legs.filter(|leg| line.legs >> leg & 1 == 1).collect(),
            code: line.codes[number],
            mass,
            width,
        };
        match found.iter_mut().find(|(legs, _)| *legs == line.legs) {
            Some((_, last)) => *last = resonance,
            None => found.push((line.legs, resonance)),
        }
    }
    found.into_iter().map(|(_, resonance)| resonance).collect()
}

/// PDG codes of lines that have to be on their mass shells, or must not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForcedCodes {
    /// Without signs, of particles of decay chains.
    pub on: Vec<i32>,
    /// Of particles that are nowhere on their mass shells (`$`).
    pub off: Vec<i32>,
}

impl ForcedCodes {
    /// Those of all directories.
    pub fn of(directories: &[Directory]) -> Self {
        let configs = directories.iter().flat_map(|directory| &directory.configs);
        let lines = configs.flat_map(|config| &config.lines);
        let codes = |keeps: &dyn Fn(&Line) -> bool| -> BTreeSet<i32> {
            let lines = lines.clone().filter(|line| keeps(line));
            lines.flat_map(|line| &line.codes).copied().collect()
        };
        let on = codes(&|line| line.forced == Forced::On);
        let off = codes(&|line| line.forced == Forced::Off && !line.spacelike);
        let elsewhere = codes(&|line| line.forced != Forced::Off && !line.spacelike);
        let on: BTreeSet<i32> = on.into_iter().map(i32::abs).collect();
        let off = off.difference(&elsewhere).filter(|code| **code != 0);
        ForcedCodes {
            on: on.into_iter().collect(),
            off: off.copied().collect(),
        }
    }
}
