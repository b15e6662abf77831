//! Descriptions of processes for samplers, in the format of MadGraph7's `subprocesses.json`.
//!
//! Everything is counted from 0. A channel is the topology of a diagram: each vertex is a list of the names of its
//! lines. Incoming legs are `i0` and `i1`, outgoing ones `o0`, `o1` and so on. Propagators are `p0`, `p1` and so on, in
//! the order of the vertices that they result from; the last vertex has no result. There is a channel for each diagram
//! with a channel in MadEvent, with the legs in their order: diagrams that differ only by a permutation of identical
//! particles are separate channels.
//!
//! PDG codes of propagators are derived, because a process does not contain them. A massive line has the code of its
//! mass or width in the parameter card. A massless line has the code of the fermion whose number flows along it or, if
//! a W changed the flavour, of the fermion with the right charge. Any other massless line is a photon if one of its
//! sides is colourless, otherwise a gluon; so a photon between quarks has the code 21. Samplers take mass, width and
//! colour from the code.

mod color_ordered;

use mebridge_process::{Amplitudes, Process, Quantity, Vertex, Wavefunction};
use mebridge_support::error::{Error, Result};
use mebridge_support::sorted::SortedMap;
use serde::Serialize;

/// A library's matrix elements as an entry of `subprocesses.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subprocess {
    /// PDG codes of the incoming legs of the first matrix element.
    pub incoming: Vec<i32>,
    /// PDG codes of its outgoing legs.
    pub outgoing: Vec<i32>,
    /// The channels.
    pub channels: Vec<Channel>,
    /// The library file.
    pub me_path: String,
    /// The origin of the process.
    pub path: String,
    /// The matrix elements, selected by the flavour index.
    pub flavors: Vec<Flavor>,
    /// The power of alpha_s in |M|^2; -1 if diagrams differ.
    pub qcd_power: i32,
    /// `[flow][leg]`: colour and anticolour tags as in event files.
    pub color_flows: Vec<Vec<(i32, i32)>>,
    /// MadGraph7's codes of colour flows; always `None`, so that the tags are used.
    pub color_codes: Option<Vec<u64>>,
    /// The slots that these codes refer to; always `None`.
    pub color_slots: Option<Vec<u64>>,
    /// Colour representations (1, 3, -3, 8) by PDG code.
    pub pdg_color_types: SortedMap<i32, i32>,
    /// Number of diagrams.
    pub diagram_count: usize,
    /// Helicities, `[row][leg]`.
    pub helicities: Vec<Vec<i8>>,
}

/// A topology of the integration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Channel {
    /// PDG codes of the propagators, antiparticles negative.
    pub propagators: Vec<i32>,
    /// For each vertex, the names of its lines.
    pub vertices: Vec<Vec<String>>,
    /// Propagators that must be on their mass shells: particles of a decay chain. Empty for directories of MG5aMC,
    /// which state this elsewhere.
    pub on_shell_propagators: Vec<usize>,
    /// Propagators that must not be on their mass shells (`$`). Also empty for directories of MG5aMC.
    pub off_shell_propagators: Vec<usize>,
    /// Names of the mass and width parameters of each propagator; empty for zero.
    pub parameters: Vec<(String, String)>,
    /// Mass and width of each propagator in GeV, with the process's default card.
    pub masses: Vec<(f64, f64)>,
    /// The diagrams of this topology.
    pub diagrams: Vec<Diagram>,
}

/// A diagram of a channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagram {
    /// Number of the diagram.
    pub diagram: usize,
    /// The permutation of the channel's legs: always the identity.
    pub permutation: Vec<usize>,
    /// Flavour indices of the matrix elements with this diagram.
    pub active_flavors: Vec<usize>,
    /// Colour flows that the diagram allows.
    pub active_colors: Vec<usize>,
    /// PDG codes of the propagators.
    pub propagator_pdgs: Vec<i32>,
}

/// A matrix element that a flavour index selects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flavor {
    /// The flavour index.
    pub index: usize,
    /// PDG codes of the legs of all its processes.
    pub options: Vec<Vec<i32>>,
    /// Whether it also stands for the process with exchanged beams.
    pub mirror: bool,
}

/// Offsets of the diagrams, helicities and colour flows of several matrix elements, and their total numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOffsets {
    /// Diagrams, separate for each matrix element.
    pub diagrams: Counted,
    /// Helicities. Equal tables are shared.
    pub helicities: Counted,
    /// Colour flows. Equal tables are shared.
    pub colors: Counted,
}

/// Offsets of each matrix element in a common numbering.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The first number of each matrix element.
    pub first: Vec<usize>,
    /// The total number.
    pub count: usize,
}

impl Counted {
    /// Counts the items of all matrix elements; those that are the `same` as an earlier one share its numbers.
    fn new(
        processes: &[Process],
        same: impl Fn(&Process, &Process) -> bool,
        count: impl Fn(&Process) -> usize,
    ) -> Counted {
        let mut counted = Counted::default();
        for (i, process) in processes.iter().enumerate() {
            match processes[..i].iter().position(|other| same(other, process)) {
                Some(other) => counted.first.push(counted.first[other]),
                None => {
                    counted.first.push(counted.count);
                    counted.count += count(process);
                }
            }
        }
        counted
    }
}

impl TableOffsets {
    /// Computes the offsets for these matrix elements.
    pub fn new(processes: &[Process]) -> TableOffsets {
        let flows = |a: &Process, b: &Process| {
            a.color_flows() == b.color_flows() && a.channels.color_flows == b.channels.color_flows
        };
        TableOffsets {
            diagrams: Counted::new(processes, |_, _| false, |p| p.diagrams as usize),
            helicities: Counted::new(
                processes,
                |a, b| a.helicities == b.helicities,
                |p| p.helicities.len(),
            ),
            colors: Counted::new(processes, flows, Process::color_flows),
        }
    }
}

/// Describes matrix elements that share a flavour index; `mirrored` tells for each whether it also stands for exchanged
/// beams.
pub fn describe(
    processes: &[Process],
    mirrored: &[bool],
    me_path: &str,
    path: &str,
) -> Result<Subprocess> {
    let Some(first) = processes.first() else {
        return Err(Error::NoEvents);
    };
    let tables = TableOffsets::new(processes);
    let codes = |incoming: bool| {
        let legs = first.legs.iter().filter(|leg| leg.incoming == incoming);
        legs.map(|leg| leg.pdg).collect()
    };
    let mut channels = Vec::new();
    let mut powers = Vec::new();
    let mut colors = SortedMap::new();
    let (mut helicities, mut flows) = (Vec::new(), Vec::new());
    for (element, process) in processes.iter().enumerate() {
        let offset = |counted: &Counted| counted.first[element];
        let mut lines = DiagramLines::new(process);
        for amp2 in &process.channels.amp2 {
            let Some(&amplitude) = amp2.squares.first().and_then(|set| set.first()) else {
                continue;
            };
            let Some(vertex) = process.amplitudes.vertices().get(amplitude as usize) else {
                continue;
            };
            let topology = lines.topology(vertex);
            powers.push(topology.power);
            let Some(config) = process.channels.config_of(amp2.diagram) else {
                continue;
            };
            let allowed = process.channels.color_allowed.get(config);
            let allowed = allowed.into_iter().flatten().enumerate();
            let allowed = allowed.filter(|(_, allowed)| **allowed);
            let first_flow = offset(&tables.colors);
            channels.push(Channel {
                propagators: topology.pdg.clone(),
                vertices: topology.vertices,
                on_shell_propagators: topology.on_shell,
                off_shell_propagators: topology.off_shell,
                parameters: topology.parameters,
                masses: topology.masses,
                diagrams: vec![Diagram {
                    diagram: offset(&tables.diagrams) + amp2.diagram as usize - 1,
                    permutation: (0..process.legs.len()).collect(),
                    active_flavors: vec![element],
                    active_colors: allowed.map(|(flow, _)| first_flow + flow).collect(),
                    propagator_pdgs: topology.pdg,
                }],
            });
        }
        lines.note_colors(&mut colors);
        if helicities.len() == offset(&tables.helicities) {
            helicities.extend(process.helicities.iter().cloned());
        }
        if flows.len() == offset(&tables.colors) {
            flows.extend(process.channels.color_flows.iter().cloned());
        }
    }
    for pdg in channels.iter().flat_map(|channel| &channel.propagators) {
        note_color(&mut colors, *pdg, known_color(*pdg));
    }
    let power = powers.first().copied().flatten();
    let same = powers.iter().all(|p| *p == power);
    let flavors = processes.iter().zip(mirrored).enumerate();
    let flavors = flavors.map(|(index, (process, &mirror))| {
        let own = process.legs.iter().map(|leg| leg.pdg).collect();
        let options = std::iter::once(own).chain(process.other_flavours.iter().cloned());
        Flavor {
            index,
            options: options.collect(),
            mirror,
        }
    });
    Ok(Subprocess {
        incoming: codes(true),
        outgoing: codes(false),
        channels,
        me_path: me_path.to_owned(),
        path: path.to_owned(),
        flavors: flavors.collect(),
        qcd_power: power.filter(|_| same).unwrap_or(-1),
        color_flows: flows,
        color_codes: None,
        color_slots: None,
        pdg_color_types: colors,
        diagram_count: tables.diagrams.count,
        helicities,
    })
}

/// The topologies that a sampler needs: the channels of a process or, if diagrams are not listed, all topologies with
/// three-line vertices, one of each set that differs only by permutations of final-state gluons.
pub fn topologies(process: &Process) -> Result<Vec<Channel>> {
    match &process.amplitudes {
        Amplitudes::ColorOrdered(form) => Ok(color_ordered::channels(process, form)),
        Amplitudes::Diagrams(_) => {
            Ok(describe(std::slice::from_ref(process), &[false], "", "")?.channels)
        }
    }
}

/// A topology under construction.
#[derive(Clone, Debug, Default)]
struct Topology {
    vertices: Vec<Vec<String>>,
    pdg: Vec<i32>,
    parameters: Vec<(String, String)>,
    masses: Vec<(f64, f64)>,
    /// Propagators that must be on their mass shells.
    on_shell: Vec<usize>,
    /// Propagators that must not be on their mass shells.
    off_shell: Vec<usize>,
    /// The power of g_s; `None` if a coupling is not a power of it.
    power: Option<i32>,
}

/// The lines of a process.
struct DiagramLines<'a> {
    process: &'a Process,
    /// Names of the legs.
    names: Vec<String>,
    /// Colour representation of each leg, as an outgoing particle.
    colors: Vec<i32>,
    /// The power of g_s in each coupling.
    powers: Vec<Power>,
    /// Values of the parameters.
    values: Vec<f64>,
}

/// The power of g_s of couplings.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Power {
    /// The couplings vanish.
    Any,
    Of(i32),
    /// Several powers, or not a power.
    None,
}

impl Power {
    /// The power of a sum of couplings.
    fn and(self, other: Power) -> Power {
        match (self, other) {
            (Power::Any, other) => other,
            (one, Power::Any) => one,
            (one, other) if one == other => one,
            _ => Power::None,
        }
    }
}

impl<'a> DiagramLines<'a> {
    fn new(process: &'a Process) -> DiagramLines<'a> {
        let (mut incoming, mut outgoing) = (0.., 0..);
        let name = |leg: &mebridge_process::Leg| match leg.incoming {
            true => incoming.next().map(|n: usize| format!("i{n}")),
            false => outgoing.next().map(|n: usize| format!("o{n}")),
        };
        let names = process.legs.iter().map(name).map(Option::unwrap_or_default);
        let names = names.collect();
        let tags = process.channels.color_flows.first();
        let color = |leg: usize| match tags.and_then(|tags| tags.get(leg)) {
            Some((0, 0)) | None => 1,
            Some((_, 0)) => 3,
            Some((0, _)) => -3,
            Some(_) => 8,
        };
        let model = &process.model;
        let card = model.default_card();
        let (one, two) = (model.evaluate(&card, 1.0), model.evaluate(&card, 2.0));
        let power = |coupling: &mebridge_process::model::NamedValue| {
            let at = |values: &[num_complex::Complex64]| values[coupling.value as usize].norm();
            let ratio = (at(&two) / at(&one)).log2();
            let power = ratio.round();
            // A coupling that vanishes adds nothing to any diagram.
            if at(&one) == 0.0 && at(&two) == 0.0 {
                return Power::Any;
            }
            match (ratio - power).abs() < 1e-9 {
                true => Power::Of(power as i32),
                false => Power::None,
            }
        };
        DiagramLines {
            colors: (0..process.legs.len()).map(color).collect(),
            powers: model.couplings.iter().map(power).collect(),
            values: model
                .parameters
                .iter()
                .map(|p| one[p.value as usize].re)
                .collect(),
            process,
            names,
        }
    }

    fn topology(&mut self, vertex: &Vertex) -> Topology {
        let mut topology = Topology {
            power: Some(0),
            ..Topology::default()
        };
        let (names, _) = self.meet(vertex, &mut topology);
        topology.vertices.push(names);
        topology
    }

    /// Adds all vertices below a vertex, and returns the names of its lines and the legs that these lead to.
    fn meet(&self, vertex: &Vertex, topology: &mut Topology) -> (Vec<String>, Vec<usize>) {
        let (mut names, mut legs) = (Vec::new(), Vec::new());
        for &input in &vertex.inputs {
            match &self.process.wavefunctions[input as usize] {
                Wavefunction::External(external) => {
                    names.push(self.names[external.leg as usize].clone());
                    legs.push(external.leg as usize);
                }
                Wavefunction::Internal(inner) => {
                    let (mut lines, behind) = self.meet(inner, topology);
                    let name = format!("p{}", topology.pdg.len());
                    lines.push(name.clone());
                    topology.vertices.push(lines);
                    self.propagator([inner.mass, inner.width], &behind, topology);
                    names.push(name);
                    legs.extend(behind);
                }
            }
        }
        let powers = vertex.couplings.iter();
        let powers = powers.map(|c| self.powers[c.coupling as usize]);
        let power = match powers.fold(Power::Any, Power::and) {
            Power::Any => Some(0),
            Power::Of(power) => Some(power),
            Power::None => None,
        };
        topology.power = topology.power.zip(power).map(|(a, b)| a + b);
        (names, legs)
    }

    /// Adds a propagator that leads to these legs.
    fn propagator(&self, line: [Quantity; 2], legs: &[usize], topology: &mut Topology) {
        let of_resonance = |is_behind: bool| {
            self.process.channels.resonances.iter().find(|resonance| {
                let mut all = 0..self.process.legs.len();
                let fits = |leg: usize| {
                    (resonance.legs.contains(&(leg as u32)) == legs.contains(&leg)) == is_behind
                };
                all.all(fits) && [resonance.mass, resonance.width] == line
            })
        };
        let (behind, ahead) = (of_resonance(true), of_resonance(false));
        match behind.or(ahead).map(|resonance| resonance.on_shell) {
            Some(true) => topology.on_shell.push(topology.pdg.len()),
            Some(false) => topology.off_shell.push(topology.pdg.len()),
            None => {}
        }
        topology.pdg.push(match behind {
            Some(resonance) => resonance.pdg,
            None => self.pdg(line, legs),
        });
        let parameter = |quantity: Quantity| match quantity.0 {
            Some(i) => self.process.model.parameters[i as usize].name.clone(),
            None => String::new(),
        };
        let value = |quantity: Quantity| quantity.0.map_or(0.0, |i| self.values[i as usize]);
        let [mass, width] = line;
        topology
            .parameters
            .push((parameter(mass), parameter(width)));
        topology.masses.push((value(mass), value(width)));
    }

    /// The PDG code of a line that leads to these legs: of the particle that decays into them.
    fn pdg(&self, [mass, width]: [Quantity; 2], legs: &[usize]) -> i32 {
        let process = self.process;
        // Fermion numbers of the legs, as outgoing particles, by flavour.
        let mut numbers: SortedMap<i32, i32> = SortedMap::new();
        let mut charge = 0;
        for &leg in legs {
            let leg = &process.legs[leg];
            let sign = if leg.incoming { -1 } else { 1 } * leg.pdg.signum();
            charge += sign * charge_of(leg.pdg.abs());
            if is_fermion(leg.pdg.abs()) {
                *numbers.entry(leg.pdg.abs()).or_default() += sign;
            }
        }
        numbers.retain(|_, number| *number != 0);
        // The mass of a W is not a parameter of the card, but its width is.
        let of_mass = [mass, width].into_iter().find_map(|quantity| {
            let name = &process.model.parameters[quantity.0? as usize].name;
            let card = process.model.card.iter().find(|p| p.name == *name)?;
            let block = ["mass", "decay"].contains(&card.block.as_str());
            card.index.first().copied().filter(|_| block)
        });
        // The fermion number distinguishes particle and antiparticle; for bosons the charge.
        let sign = |pdg: i32| match numbers.get(&pdg) {
            Some(number) => number.signum(),
            None if charge_of(pdg) != 0 && !is_fermion(pdg) => (charge * charge_of(pdg)).signum(),
            None => 1,
        };
        if let Some(pdg) = of_mass {
            return if sign(pdg) < 0 { -pdg } else { pdg };
        }
        if let (Some((&pdg, &number)), 1) = (numbers.iter().next(), numbers.len()) {
            return pdg * number.signum();
        }
        if mass.0.is_some() {
            return 0;
        }
        if let Some(pdg) = turned_fermion(&numbers, charge) {
            return pdg;
        }
        let white = |leg: usize| self.colors[leg] == 1;
        let mut others = (0..process.legs.len()).filter(|leg| !legs.contains(leg));
        match legs.iter().all(|&leg| white(leg)) || others.all(white) {
            true => 22,
            false => 21,
        }
    }

    fn note_colors(&self, colors: &mut SortedMap<i32, i32>) {
        for (leg, &color) in self.process.legs.iter().zip(&self.colors) {
            note_color(colors, leg.pdg, Some(color));
        }
        for pdg in self.process.other_flavours.iter().flatten() {
            note_color(colors, *pdg, known_color(*pdg));
        }
    }
}

fn note_color(colors: &mut SortedMap<i32, i32>, pdg: i32, color: Option<i32>) {
    let Some(color) = color else {
        return;
    };
    colors.entry(pdg).or_insert(color);
    let anti = if color.abs() == 3 { -color } else { color };
    colors.entry(-pdg).or_insert(anti);
}

/// The colour representation of a particle of the Standard Model.
fn known_color(pdg: i32) -> Option<i32> {
    match pdg.abs() {
        1..=6 => Some(3 * pdg.signum()),
        21 => Some(8),
        11..=16 | 22..=25 => Some(1),
        _ => None,
    }
}

/// Whether a particle of the Standard Model has a fermion number.
fn is_fermion(pdg: i32) -> bool {
    matches!(pdg, 1..=6 | 11..=16)
}

/// The massless fermion that decays into particles with these fermion numbers and three times this total charge, if a W
/// changed the flavour: d for u, electron and antineutrino. Its generation is that of a fermion among these.
fn turned_fermion(numbers: &SortedMap<i32, i32>, charge: i32) -> Option<i32> {
    let of = |first: i32| {
        let kind = numbers
            .iter()
            .filter(move |(pdg, _)| (first..first + 6).contains(*pdg));
        (kind.clone().map(|(_, number)| number).sum::<i32>(), kind)
    };
    let ((quarks, of_quarks), (leptons, of_leptons)) = (of(1), of(11));
    let (number, mut kind, first) = match (quarks.abs(), leptons.abs()) {
        (1, 0) => (quarks, of_quarks, 1),
        (0, 1) => (leptons, of_leptons, 11),
        _ => return None,
    };
    let (pdg, _) = kind.find(|(_, of)| of.signum() == number)?;
    let down = pdg - (pdg - first) % 2;
    let found = [down, down + 1];
    let found = found
        .into_iter()
        .find(|&pdg| charge_of(pdg) == charge * number)?;
    Some(found * number)
}

/// The code of the antiparticle; the same code if codes do not distinguish it from the particle.
pub fn conjugate(code: i32) -> i32 {
    let differs = charge_of(code.abs()) != 0 || is_fermion(code.abs());
    if differs { -code } else { code }
}

/// Three times the charge of a particle of the Standard Model.
fn charge_of(pdg: i32) -> i32 {
    match pdg {
        1 | 3 | 5 => -1,
        2 | 4 | 6 => 2,
        11 | 13 | 15 => -3,
        24 => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_generate::generate;

    fn described(text: &str) -> Subprocess {
        let processes = generate(text).unwrap();
        let mirrored = vec![false; processes.len()];
        describe(&processes, &mirrored, "x.so", "x").unwrap()
    }

    #[test]
    fn topologies_of_top_pairs() {
        let subprocess = described("g g > t t~");
        assert_eq!(
            (subprocess.incoming, subprocess.outgoing),
            (vec![21, 21], vec![6, -6])
        );
        assert_eq!(subprocess.qcd_power, 2);
        assert_eq!(subprocess.diagram_count, 3);
        assert_eq!(subprocess.pdg_color_types.get(&-6), Some(&-3));
        let mut found = Vec::new();
        for channel in &subprocess.channels {
            assert_eq!(channel.vertices.len(), 2);
            assert_eq!(
                channel
                    .vertices
                    .concat()
                    .iter()
                    .filter(|n| *n == "p0")
                    .count(),
                2
            );
            found.push((
                channel.propagators[0].abs(),
                channel.parameters[0].0.clone(),
            ));
        }
        found.sort();
        let top = (6, "MDL_MT".to_owned());
        assert_eq!(found, [top.clone(), top, (21, String::new())]);
        let colors: Vec<usize> = subprocess
            .channels
            .iter()
            .map(|channel| channel.diagrams[0].active_colors.len())
            .collect();
        assert_eq!(colors.iter().sum::<usize>(), 4);
    }

    /// MadSpace takes the colours of a line from its code.
    #[test]
    fn a_w_turns_flavours() {
        for (process, turned) in [
            (
                "u u~ > e+ ve d u~ QCD=0",
                vec![1, 2, 11, 12, 21, 22, 23, 24],
            ),
            (
                "c c~ > e+ ve s c~ QCD=0",
                vec![3, 4, 11, 12, 21, 22, 23, 24],
            ),
            (
                "e+ e- > mu+ vm d u~",
                vec![1, 2, 11, 12, 13, 14, 22, 23, 24],
            ),
        ] {
            let subprocess = described(process);
            for channel in &subprocess.channels {
                for (name, &pdg) in channel.propagators.iter().enumerate() {
                    assert!(turned.contains(&pdg.abs()), "{process}: {pdg}");
                    // The vertex that results in the line has the lines below it.
                    let line = format!("p{name}");
                    let vertex = channel.vertices.iter().find(|of| of.last() == Some(&line));
                    let quarks = |of: &Vec<String>| {
                        let odd = of.iter().filter(|name| **name != line).filter(|name| {
                            let number: usize = name[1..].parse().unwrap();
                            let pdg = match &name[..1] {
                                "i" => subprocess.incoming[number],
                                "o" => subprocess.outgoing[number],
                                _ => channel.propagators[number],
                            };
                            (1..=6).contains(&pdg.abs())
                        });
                        odd.count() % 2 == 1
                    };
                    let is_quark = (1..=6).contains(&pdg.abs());
                    assert_eq!(
                        vertex.map(quarks),
                        Some(is_quark),
                        "{process}: {channel:?} {line}"
                    );
                }
            }
        }
    }

    /// The particles of a decay chain, and no others.
    #[test]
    fn lines_of_decay_chains_are_on_shell() {
        let subprocess = described("u u~ > t t~, (t > b w+, w+ > e+ ve)");
        assert_eq!(subprocess.channels.len(), 1);
        let channel = &subprocess.channels[0];
        let on_shell: Vec<i32> = channel
            .on_shell_propagators
            .iter()
            .map(|&i| channel.propagators[i])
            .collect();
        assert_eq!(on_shell, [24, 6]);
        assert!(
            described("u u~ > t t~").channels[0]
                .on_shell_propagators
                .is_empty()
        );
    }

    /// Lines with `$`, in the diagrams that have them.
    #[test]
    fn what_must_not_be_on_its_mass_shell_is_told() {
        for (text, forbidden, others) in [
            ("u u~ > e+ e- $ z", vec![23], vec![22]),
            ("t > b e+ ve $ w+", vec![24], vec![]),
            ("h > e+ e- mu+ mu- $ z", vec![23, 23], vec![]),
            ("t > b w+, w+ > e+ ve", vec![], vec![24]),
        ] {
            let (mut found, mut rest) = (Vec::new(), Vec::new());
            for channel in described(text).channels {
                for (line, code) in channel.propagators.iter().enumerate() {
                    let off = channel.off_shell_propagators.contains(&line);
                    if off { &mut found } else { &mut rest }.push(*code);
                }
            }
            assert_eq!((found, rest), (forbidden, others), "{text}");
        }
    }

    #[test]
    fn lines_are_named_by_what_flows_along_them() {
        let pdgs = |text: &str| {
            let mut all: Vec<i32> = described(text)
                .channels
                .iter()
                .flat_map(|channel| channel.propagators.clone())
                .collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        assert_eq!(pdgs("e+ e- > mu+ mu-"), [22, 23]);
        let w = described("u d~ > ve e+").channels[0].masses[0];
        assert!((w.0 - 80.419).abs() < 0.1 && w.1 > 2.0, "{w:?}");
        // The decaying W is a W+, the quark that emits it a d or a u.
        assert_eq!(pdgs("u d~ > ve e+"), [24]);
        assert_eq!(pdgs("u~ d > ve~ e-"), [-24]);
        let found = pdgs("u d~ > w+ g");
        assert!(
            found.iter().all(|pdg| [1, 2].contains(&pdg.abs())),
            "{found:?}"
        );
        assert_eq!(described("u u~ > e+ e- g").qcd_power, 1);
    }
}
