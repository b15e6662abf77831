//! The propagators listed in a directory, matched to the channels of its matrix elements for masses, widths and
//! topologies.

use crate::channel_line::{MIN_WIDTH_RATIO, without_width};
use crate::cuts::{Cut, resonance};
use crate::element::Element;
use crate::output::{Config, DiagramLine, Directory};
use crate::topology::{legs_of, outgoing};
use mebridge::describe::Channel;
use mebridge::propagators::Topology;
use mebridge::sampling::{ClusteredLines, DiagramLines};
use mebridge::{Error, Result};
use mebridge_phasespace::clustering::{Forced, ListedDiagram, ListedLine};
use mebridge_support::sorted::{SortedMap, SortedSet};

/// The beams as a bit mask.
const BEAMS: u32 = 3;

/// A propagator of a channel: index of the channel in the matrix element, and of the propagator in the channel.
type InChannel = (usize, usize);

/// The propagators that a directory lists for a matrix element, with their properties from its channels.
pub struct ListedLines<'a> {
    element: &'a Element,
    directory: &'a Directory,
    number: usize,
    /// By legs, code, and whether it is a t-channel line (whose outgoing legs may be those of another line).
    known: SortedMap<(u32, u32, bool), InChannel>,
}

impl<'a> ListedLines<'a> {
    /// The propagators of a matrix element, whose index in its directory is `number`.
    pub fn new(element: &'a Element, directory: &'a Directory, number: usize) -> Self {
        let channels = element.channels();
        let mut places: Vec<usize> = (0..channels.len()).collect();
        places.sort_by_key(|&place| channels[place].diagrams[0].diagram);
        let (mut known, mut of_channels) = (SortedMap::new(), Vec::new());
        for place in places {
            let channel = &channels[place];
            let mut own = SortedMap::new();
            for (line, code) in channel.propagators.iter().enumerate() {
                let name = format!("p{line}");
                let legs = bits(channel, &name);
                let between = outgoing(&channel.vertices, &name).1 == 1;
                own.insert((legs, between), (place, line));
                known.insert((legs, code.unsigned_abs(), between), (place, line));
            }
            of_channels.push(own);
        }
        let mut found = ListedLines {
            element,
            directory,
            number,
            known,
        };
        // Particles of several generations may share a mass, and with it the code in the matrix element: the lines of a
        // diagram are then identified by those of its channel.
        let mut configs: Vec<&Config> = of_diagrams(directory, number).collect();
        configs.sort_by_key(|config| &config.diagrams);
        if configs.len() == of_channels.len() {
            for (config, own) in configs.into_iter().zip(of_channels) {
                for line in &config.lines {
                    for legs in found.sides(line) {
                        if let Some(&place) = own.get(&(legs, line.spacelike)) {
                            let key = (legs, line.codes[number].unsigned_abs(), line.spacelike);
                            found.known.entry(key).or_insert(place);
                        }
                    }
                }
            }
        }
        found
    }

    /// The legs on both sides; for t-channel lines only the outgoing ones.
    fn sides(&self, line: &DiagramLine) -> [u32; 2] {
        let everything = (1 << self.element.pdg().len()) - 1;
        let sides = [line.legs, everything & !line.legs];
        match line.spacelike {
            true => sides.map(|side| side & !BEAMS),
            false => sides,
        }
    }

    /// The propagator of a channel that corresponds to a line.
    fn get(&self, line: &DiagramLine) -> Option<InChannel> {
        let of_side = |legs: u32| {
            // The code may be missing in the channel.
            let codes = [line.codes[self.number].unsigned_abs(), 0];
            let mut keys = codes.into_iter().map(|code| (legs, code, line.spacelike));
            keys.find_map(|key| self.known.get(&key).copied())
        };
        self.sides(line).into_iter().find_map(of_side)
    }

    fn configs(&self) -> impl Iterator<Item = &'a Config> {
        of_diagrams(self.directory, self.number)
    }

    /// Mass and width of a line, GeV.
    pub fn masses(&self, line: &DiagramLine) -> (f64, f64) {
        let found = self.get(line);
        let found = found.map(|(channel, line)| self.element.channels()[channel].masses[line]);
        let (mass, width) = found.unwrap_or_default();
        (mass.abs(), width.abs())
    }

    /// The topologies of the diagrams, in the order of the directory, as needed for channel weights by propagators.
    pub fn topologies(&self) -> Vec<Topology> {
        self.configs().map(|config| self.topology(config)).collect()
    }

    fn topology(&self, config: &Config) -> Topology {
        let legs = self.element.pdg().len();
        let name = |leg: usize| match leg {
            0 | 1 => format!("i{leg}"),
            _ => format!("o{}", leg - 2),
        };
        let mut open: Vec<(u32, String)> = (0..legs).map(|leg| (1 << leg, name(leg))).collect();
        let (mut vertices, mut parameters) = (Vec::new(), Vec::new());
        // t-channel diagrams list one line more, with the momentum of the second beam.
        for (place, line) in config.lines.iter().take(legs - 3).enumerate() {
            let mut vertex = Vec::new();
            for daughter in line.daughters {
                let at = open.iter().position(|(legs, _)| *legs == daughter);
                vertex.push(open.remove(at.expect("a line of the tree")).1);
            }
            vertex.push(format!("p{place}"));
            vertices.push(vertex);
            open.push((line.legs, format!("p{place}")));
            let of = self.get(line);
            let channels = self.element.channels();
            let of = of.map(|(channel, line)| channels[channel].parameters[line].clone());
            parameters.push(of.unwrap_or_default());
        }
        vertices.push(open.into_iter().map(|(_, name)| name).collect());
        Topology {
            vertices,
            parameters,
        }
    }

    /// The data by which points are clustered; `denominators` says whether channel weights are by propagators.
    ///
    /// # Errors
    /// The colour representations cannot be read.
    pub fn clustered(&self, denominators: bool) -> Result<ClusteredLines> {
        let line = |line: &DiagramLine| {
            let (mass, width) = self.masses(line);
            ListedLine {
                legs: line.legs,
                daughters: line.daughters,
                code: line.codes[self.number],
                spacelike: line.spacelike,
                forced: line.forced,
                mass,
                width,
            }
        };
        let diagrams = self.configs().map(|config| DiagramLines {
            diagram: config.diagrams[self.number],
            lines: ListedDiagram {
                lines: config.lines.iter().map(line).collect(),
                nqcd: config.nqcd,
            },
        });
        Ok(ClusteredLines {
            diagrams: diagrams.collect(),
            colors: self.directory.colors()?,
            topologies: match denominators {
                true => self.topologies(),
                false => Vec::new(),
            },
        })
    }

    /// Windows on the invariant masses of the particles of decay chains, which all diagrams have in common: `bwcutoff`
    /// widths around the mass, with widths of at least `small_width` (`small_width_treatment`) times the mass.
    ///
    /// # Errors
    /// A particle has no width.
    pub fn resonances(&self, bwcutoff: f64, small_width: f64) -> Result<Vec<Cut>> {
        let mut found: Vec<(u32, Cut)> = Vec::new();
        let lines = self.configs().flat_map(|config| &config.lines);
        for line in lines.filter(|line| line.forced == Forced::On && !line.spacelike) {
            let (mass, width) = self.masses(line);
            if width < MIN_WIDTH_RATIO * mass {
                let what = without_width(line.codes[self.number], mass, width);
                return Err(Error::run_at(
                    "decay chain",
                    format!("{what}, or take a model that has a parameter for it"),
                    "",
                ));
            }
            let legs = 0..self.element.pdg().len();
            let legs = legs.filter(|leg| line.legs >> leg & 1 == 1);
            let cut = Cut::from(resonance(
                legs,
                mass,
                bwcutoff * width.max(mass * small_width),
            ));
            match found.iter_mut().find(|(legs, _)| *legs == line.legs) {
                Some((_, last)) => *last = cut,
                None => found.push((line.legs, cut)),
            }
        }
        Ok(found.into_iter().map(|(_, cut)| cut).collect())
    }
}

/// The diagrams of a directory that contribute to one of its matrix elements.
fn of_diagrams(directory: &Directory, number: usize) -> impl Iterator<Item = &Config> {
    let configs = directory.configs.iter();
    configs.filter(move |config| config.diagrams[number] != 0)
}

/// The legs on a side of a channel's propagator as a bit mask, including the incoming ones.
fn bits(channel: &Channel, line: &str) -> u32 {
    let legs = legs_of(&channel.vertices, line);
    legs.into_iter().map(|leg| 1 << leg).sum()
}

/// Sets the PDG codes of propagators that the matrix element does not know, from the lines that its directory lists for
/// the same legs.
pub fn name_lines(element: &mut Element, directory: &Directory, number: usize) {
    let everything = (1 << element.pdg().len()) - 1;
    let mut listed: SortedMap<u32, SortedSet<i32>> = SortedMap::new();
    for line in of_diagrams(directory, number).flat_map(|config| &config.lines) {
        for legs in [line.legs, everything & !line.legs] {
            listed.entry(legs).or_default().insert(line.codes[number]);
        }
    }
    let mut known: SortedMap<u32, SortedSet<u32>> = SortedMap::new();
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

/// PDG codes of propagators that must be on their mass shells, or must not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForcedCodes {
    /// Particles of decay chains, as absolute values.
    pub on: Vec<i32>,
    /// Particles that are nowhere on their mass shells (`$`).
    pub off: Vec<i32>,
}

impl ForcedCodes {
    /// The codes of all directories.
    pub fn new(directories: &[Directory]) -> Self {
        let configs = directories.iter().flat_map(|directory| &directory.configs);
        let lines = configs.flat_map(|config| &config.lines);
        let codes = |keeps: &dyn Fn(&DiagramLine) -> bool| -> SortedSet<i32> {
            let lines = lines.clone().filter(|line| keeps(line));
            lines.flat_map(|line| &line.codes).copied().collect()
        };
        let on = codes(&|line| line.forced == Forced::On);
        let off = codes(&|line| line.forced == Forced::Off && !line.spacelike);
        let elsewhere = codes(&|line| line.forced != Forced::Off && !line.spacelike);
        let on: SortedSet<i32> = on.into_iter().map(i32::abs).collect();
        let off = off.difference(&elsewhere).filter(|code| **code != 0);
        ForcedCodes {
            on: on.into_iter().collect(),
            off: off.copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load_elements;
    use crate::source::Source;
    use std::path::Path;

    fn loaded(process: &str, card: Option<&Path>) -> (Vec<Element>, Vec<Directory>) {
        let source = Source::find(process, None, None, None).unwrap();
        let elements = load_elements(&source, card, &SortedMap::new(), 1).unwrap();
        (elements, source.directories().unwrap())
    }

    /// The expected values are from the Python package.
    #[test]
    fn lines_have_masses_and_topologies() {
        let (elements, directories) = loaded("u u~ > t t~, t > w+ b", None);
        let listed = ListedLines::new(&elements[0], &directories[0], 0);
        let found = listed.clustered(true).unwrap();
        let lines = found.diagrams[0].lines.lines.iter();
        let lines: Vec<(i32, f64, f64, Forced)> =
            lines.map(|l| (l.code, l.mass, l.width, l.forced)).collect();
        let wanted = [(6, 173.0, 1.4915, Forced::On), (21, 0.0, 0.0, Forced::No)];
        assert_eq!(lines, wanted);
        let text = r#"[{"vertices": [["o0", "o1", "p0"], ["o2", "p0", "p1"], ["i0", "i1", "p1"]],
            "parameters": [["MDL_MT", "MDL_WT"], ["", ""]]}]"#;
        let wanted: Vec<Topology> = serde_json::from_str(text).unwrap();
        let mut topologies = found.topologies;
        topologies[0]
            .vertices
            .iter_mut()
            .for_each(|vertex| vertex.sort());
        assert_eq!(topologies, wanted);
        let [cut] = &listed.resonances(10.0, 0.1).unwrap()[..] else {
            panic!("one particle decays");
        };
        assert_eq!(cut.window.legs, [[2, 3]]);
        assert_eq!([cut.window.least, cut.window.largest], [0.0, 346.0]);
        let cut = &listed.resonances(10.0, 0.0).unwrap()[0];
        assert_eq!([cut.window.least, cut.window.largest], [158.085, 187.915]);
    }

    #[test]
    fn a_chain_needs_a_width() {
        let process = "e+ e- > ta+ ta-, ta- > vt mu- vm~";
        let (elements, directories) = loaded(process, None);
        let listed = ListedLines::new(&elements[0], &directories[0], 0);
        let error = listed.resonances(15.0, 0.0).unwrap_err().to_string();
        let begin = "decay chain: particle 15 (PDG code) can be on its mass shell, at 1.777 GeV, and has no width, ";
        assert!(error.starts_with(begin), "{error}");
        let end = "in the parameter card (DECAY 15), or take a model that has a parameter for it";
        assert!(error.ends_with(end), "{error}");
    }

    #[test]
    fn codes_of_chains_and_after_a_dollar() {
        let codes = |process: &str| {
            let (_, directories) = loaded(process, None);
            let ForcedCodes { on, off } = ForcedCodes::new(&directories);
            (on, off)
        };
        assert_eq!(codes("u u~ > t t~, t > w+ b"), (vec![6], vec![]));
        assert_eq!(codes("u u~ > e+ e- $ z"), (vec![], vec![23]));
    }

    /// A directory provides codes that an imported matrix element lacks.
    #[test]
    fn lines_without_a_code_are_named() {
        let (mut elements, mut directories) = loaded("u u~ > e+ e-", None);
        let element = &mut elements[0];
        assert_eq!(element.channels().len(), 2);
        let z = element
            .channels()
            .iter()
            .position(|c| c.propagators == [23])
            .unwrap();
        let channel = &mut element.described.channels[z];
        channel.propagators[0] = 0;
        channel.diagrams[0].propagator_pdgs[0] = 0;
        // Only if one code is left.
        let mut other = directories[0].configs[0].clone();
        other.lines[0].codes[0] = 25;
        directories[0].configs.push(other);
        name_lines(element, &directories[0], 0);
        assert_eq!(element.channels()[z].propagators, [0]);
        directories[0].configs.pop();
        name_lines(element, &directories[0], 0);
        assert_eq!(element.channels()[z].propagators, [23]);
        assert_eq!(element.channels()[z].diagrams[0].propagator_pdgs, [23]);
    }
}
