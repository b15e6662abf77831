//! Events as records of the Les Houches Accord (hep-ph/0109068): partons, resonances and outgoing particles, with
//! mothers, colours and helicities.
//!
//! A line of the event's diagram that is on its mass shell within some widths, and that no incoming parton belongs to,
//! is written between the incoming and the outgoing particles. Its colours are the combined colours of its products.

use crate::channel_factors::BROAD;
use crate::describe::{self, Channel, Subprocess};
use mebridge_lhe::Particle;
use mebridge_sampler::events::Event;

/// Status codes of incoming particles, of intermediate resonances, and of outgoing particles.
const STATUS: [i32; 3] = [-1, 2, 1];
/// SPINUP of a resonance: unknown.
const UNKNOWN: f64 = 9.0;

/// A line that may be on its mass shell.
#[derive(Clone, Debug)]
struct Resonance {
    code: i32,
    mass: f64,
    width: f64,
    /// Legs that it decays to, from 0 including the incoming ones.
    legs: Vec<usize>,
}

/// Which lines of diagrams are written to records.
#[derive(Clone, Copy, Debug)]
pub struct Resonances<'a> {
    /// Lines are on their mass shells within this many widths.
    pub widths: f64,
    /// PDG codes, without signs, of particles of decay chains.
    pub forced: &'a [i32],
    /// PDG codes of particles that are never on their mass shells.
    pub excluded: &'a [i32],
}

/// Completes the events of a matrix element.
#[derive(Clone, Debug)]
pub struct Completer {
    /// Resonances of each diagram, those that contain others first.
    resonances: Vec<Vec<Resonance>>,
    flows: Vec<Vec<(i32, i32)>>,
    helicities: Vec<Vec<i8>>,
    /// Masses of the legs, GeV.
    masses: Vec<f64>,
    /// Number of incoming legs; 1 for a decay.
    incoming: usize,
    widths: f64,
    forced: Vec<i32>,
}

/// Returns whether the first of two partons comes from the second beam, which is along -z. A parton with a mass may move
/// along the other beam.
fn is_second(first: [f64; 4], second: [f64; 4]) -> bool {
    first[3] * second[0] < second[3] * first[0]
}

impl Completer {
    /// Prepares a matrix element from its description.
    ///
    /// Args: `masses` are those of its legs.
    pub fn new(of: &Subprocess, masses: &[f64], which: &Resonances) -> Self {
        let mut resonances = vec![Vec::new(); of.diagram_count];
        for channel in &of.channels {
            for diagram in &channel.diagrams {
                resonances[diagram.diagram] =
                    lines(channel, [of.incoming.len(), masses.len()], which);
            }
        }
        Completer {
            resonances,
            flows: of.color_flows.clone(),
            helicities: of.helicities.clone(),
            masses: masses.to_vec(),
            incoming: of.incoming.len(),
            widths: which.widths,
            forced: which.forced.to_vec(),
        }
    }

    /// Returns the largest number of particles in an event.
    pub fn particles(&self) -> usize {
        let most = self.resonances.iter().map(Vec::len).max();
        self.masses.len() + most.unwrap_or(0)
    }

    /// Returns the momenta of the legs, without the empty leg that accompanies a decaying particle.
    fn momenta<'a>(&self, event: &'a Event) -> &'a [[f64; 4]] {
        &event.momenta[2 - self.incoming..]
    }

    /// Returns the particles of an event whose legs have these codes.
    fn complete(&self, event: &Event, codes: &[i32], choice: [usize; 3]) -> Vec<Particle> {
        let [helicity, color, diagram] = choice;
        let (legs, incoming) = (self.masses.len(), self.incoming);
        let first = if incoming == 2 { [1, 2] } else { [1, 0] };
        let momenta = self.momenta(event);
        let leg = |leg: usize| {
            let [e, x, y, z] = momenta[leg];
            Particle {
                pdg: codes[leg],
                status: STATUS[if leg < incoming { 0 } else { 2 }],
                mothers: if leg < incoming { [0; 2] } else { first },
                colors: self
                    .flows
                    .get(color)
                    .map_or([0; 2], |flow| flow[leg].into()),
                momentum: [x, y, z, e, self.masses[leg]],
                lifetime: 0.0,
                spin: f64::from(self.helicities[helicity][leg]),
            }
        };
        let lines = self.on_shell(event, codes, diagram);
        let mut particles = Vec::with_capacity(legs + lines.len());
        particles.extend((0..incoming).map(leg));
        if incoming == 2 && is_second(momenta[0], momenta[1]) {
            particles.swap(0, 1);
        }
        let mut mothers = vec![0; if lines.is_empty() { 0 } else { legs }];
        for (line, [x, y, z, e, mass]) in lines {
            let mother = mothers[line.legs[0]];
            particles.push(Particle {
                pdg: line.code,
                status: STATUS[1],
                mothers: if mother == 0 { first } else { [mother; 2] },
                colors: self.together(color, &line.legs),
                momentum: [x, y, z, e, mass],
                lifetime: 0.0,
                spin: UNKNOWN,
            });
            for &leg in &line.legs {
                mothers[leg] = particles.len() as i32;
            }
        }
        for number in incoming..legs {
            let mut one = leg(number);
            if let Some(&mother @ 1..) = mothers.get(number) {
                one.mothers = [mother; 2];
            }
            particles.push(one);
        }
        particles
    }

    /// Returns the lines of a diagram that are on their mass shells, with momentum (x, y, z, E) and mass.
    ///
    /// If a line became the same particle and another one, only one of the two is kept, as in MadEvent: the one closer
    /// to its mass, or the later one if it belongs to a decay chain or is outgoing.
    fn on_shell(
        &self,
        event: &Event,
        codes: &[i32],
        diagram: usize,
    ) -> Vec<(&Resonance, [f64; 5])> {
        let mut found: Vec<(&Resonance, [f64; 5])> = Vec::new();
        for line in &self.resonances[diagram] {
            let mut momentum = [0.0; 4];
            for &leg in &line.legs {
                let [e, x, y, z] = self.momenta(event)[leg];
                for (sum, one) in momentum.iter_mut().zip([x, y, z, e]) {
                    *sum += one;
                }
            }
            let [x, y, z, e] = momentum;
            let mass = f64::max((e - z) * (e + z) - x * x - y * y, 0.0).sqrt();
            if (mass - line.mass).abs() <= self.widths * line.width {
                found.push((line, [x, y, z, e, mass]));
            }
        }
        while let Some(place) = self.extra(&found, codes) {
            found.remove(place);
        }
        found
    }

    /// Returns the line to remove.
    fn extra(&self, found: &[(&Resonance, [f64; 5])], codes: &[i32]) -> Option<usize> {
        let away = |(line, [.., mass]): &(&Resonance, [f64; 5])| (mass - line.mass).abs();
        for (place, inner) in found.iter().enumerate() {
            let contains = |outer: &Resonance| outer.legs.contains(&inner.0.legs[0]);
            let mother = (0..place).rev().find(|&before| contains(found[before].0));
            let Some(mother) = mother.filter(|&mother| found[mother].0.code == inner.0.code) else {
                continue;
            };
            let forced = self.forced.contains(&inner.0.code.abs());
            let outer_goes = forced || away(&found[mother]) >= away(inner);
            return Some(if outer_goes { mother } else { place });
        }
        (2..codes.len()).find_map(|leg| {
            let mother = found.iter().rposition(|(line, _)| line.legs.contains(&leg));
            mother.filter(|&mother| found[mother].0.code == codes[leg])
        })
    }

    /// Returns the combined colour and anticolour of some legs.
    fn together(&self, color: usize, legs: &[usize]) -> [i32; 2] {
        let Some(flow) = self.flows.get(color) else {
            return [0; 2];
        };
        let colors: Vec<i32> = legs.iter().map(|&leg| flow[leg].0).collect();
        let anticolors: Vec<i32> = legs.iter().map(|&leg| flow[leg].1).collect();
        let left = |own: &[i32], others: &[i32]| {
            let mut alone = own.iter().filter(|&tag| *tag != 0 && !others.contains(tag));
            alone.next().copied().unwrap_or(0)
        };
        [left(&colors, &anticolors), left(&anticolors, &colors)]
    }

    /// Returns the record of an event.
    ///
    /// Args: `weight` is in pb; `number` is the event's process, from 1; `codes` are those of its legs, `choice` its
    /// helicity, colour flow and diagram, counted from 0.
    pub fn record(
        &self,
        event: &Event,
        weight: f64,
        number: i32,
        codes: &[i32],
        choice: [usize; 3],
        alpha_qed: f64,
    ) -> mebridge_lhe::Event {
        let mut record = mebridge_lhe::Event::default();
        record.process = number;
        record.weight = weight;
        record.scale = event.shown;
        record.alpha_qed = alpha_qed;
        record.alpha_qcd = event.alpha_s;
        record.particles = self.complete(event, codes, choice);
        record
    }
}

/// Returns the lines of a diagram that have a width and no incoming leg behind them, those that contain others first.
/// `legs` is the number of incoming legs and of all legs.
fn lines(channel: &Channel, legs: [usize; 2], which: &Resonances) -> Vec<Resonance> {
    let [incoming, legs] = legs;
    let mut found = Vec::new();
    for (number, (&code, &(mass, width))) in
        channel.propagators.iter().zip(&channel.masses).enumerate()
    {
        let name = format!("p{number}");
        // A line is made by the vertex that lists it last.
        let behind = behind(channel, &name, incoming);
        // If all incoming legs are behind the line, use its outgoing side.
        let (own, code) = match behind.iter().filter(|&&leg| leg < incoming).count() {
            0 => (behind, code),
            all if all == incoming => {
                let others = (incoming..legs).filter(|leg| !behind.contains(leg));
                (others.collect(), describe::conjugate(code))
            }
            _ => continue,
        };
        let decayed =
            which.forced.contains(&code.abs()) || channel.on_shell_propagators.contains(&number);
        // Except in decay chains.
        let broad = width.abs() >= BROAD * mass.abs() && !decayed;
        if width != 0.0 && mass != 0.0 && !broad && !which.excluded.contains(&code) {
            found.push(Resonance {
                code,
                mass: mass.abs(),
                width: width.abs(),
                legs: own,
            });
        }
    }
    found.sort_by_key(|line| std::cmp::Reverse(line.legs.len()));
    found
}

/// Returns the legs that a line leads to, on the side of the vertex that makes it.
fn behind(channel: &Channel, name: &str, incoming: usize) -> Vec<usize> {
    let vertex = channel
        .vertices
        .iter()
        .find(|vertex| vertex.last().is_some_and(|last| last == name));
    let mut found = Vec::new();
    for line in vertex.into_iter().flatten().filter(|line| *line != name) {
        match (&line[..1], line[1..].parse::<usize>()) {
            ("i", Ok(leg)) => found.push(leg),
            ("o", Ok(leg)) => found.push(leg + incoming),
            _ => found.extend(behind(channel, line, incoming)),
        }
    }
    found.sort_unstable();
    found
}
