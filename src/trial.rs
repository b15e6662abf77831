//! Points of phase space that the library chooses itself, to find out what holds for a process.
//!
//! Which helicities contribute, and whether two ways of evaluating agree, is a matter of the process and
//! its card. A caller's first events may be special: a helicity vanishes for particles at rest or along
//! the beam, terms cancel where a gluon is collinear, numbers of single precision underflow at high energy. So
//! these questions are asked on points made here: in the centre-of-mass frame with the beams along z,
//! as a generator's events are, at a few energies not far above what the masses need, and as far from
//! all singularities as some tries make them. They depend on the masses alone.

use crate::events::Events;
use crate::phase_space::PhaseSpace;
use crate::plan::binding::Binding;
use crate::process::Process;
use crate::random::SplitMix64;

/// Energies in units of what the masses need, or of [`LEAST`].
const ENERGIES: [f64; 4] = [1.9, 1.4, 3.1, 5.3];
/// The unit where masses need less, in GeV.
const LEAST: f64 = 100.0;
/// Points at each energy.
const POINTS: u64 = 4;
/// Tries for a point; the one farthest from singularities is taken.
const TRIES: usize = 24;
const SEED: u64 = 20_200_805;
/// The strong coupling at all points, near that of any card.
const G: f64 = 1.2;

/// Some points.
#[derive(Clone, Debug)]
pub struct Trial {
    momenta: Vec<f64>,
    g_s: Vec<f64>,
    random: Vec<f64>,
    /// All channels in turn, and all configurations.
    channels: Vec<i32>,
    igraph: Vec<i32>,
}

impl Trial {
    /// Points of a process with the masses of a card; `None` if these leave it no phase space.
    pub fn new(process: &Process, binding: &Binding) -> Option<Trial> {
        let masses = |incoming| -> Vec<f64> {
            let masses = binding.masses(&process.legs, incoming).into_iter();
            // Majorana fermions may have negative ones.
            masses.map(f64::abs).collect()
        };
        let (incoming, outgoing) = (masses(true), masses(false));
        let needed = incoming.iter().sum::<f64>().max(outgoing.iter().sum());
        // The energy of a decay, or of a single particle that comes out, is its mass.
        let fixed = incoming.len() == 1 || outgoing.len() == 1;
        let (unit, factors) = match fixed {
            true => (needed, &[1.0][..]),
            false => (needed.max(LEAST), &ENERGIES[..]),
        };
        let mut momenta = Vec::new();
        for round in 0..POINTS {
            for (stream, factor) in (0..).zip(factors) {
                let space = PhaseSpace::new(factor * unit, &incoming, &outgoing).ok()?;
                momenta.extend(farthest(&space, stream, round));
            }
        }
        let count = momenta.len() / (4 * process.legs.len());
        Some(Trial {
            momenta,
            g_s: vec![G; count],
            random: vec![0.5; count],
            channels: in_turn(channels(process), count),
            igraph: in_turn(1..=process.channels.config_diagram.len() as i32, count),
        })
    }

    /// The points as events without channels.
    pub fn events(&self) -> Events<'_> {
        Events {
            momenta: &self.momenta,
            g_s: &self.g_s,
            random_helicity: &self.random,
            random_color: &self.random,
            channels: None,
            igraph: None,
        }
    }

    /// The points as events with channels and igraphs where other events have them.
    pub fn like(&self, events: &Events) -> Events<'_> {
        Events {
            channels: events.channels.map(|_| &self.channels[..]),
            igraph: events.igraph.map(|_| &self.igraph[..]),
            ..self.events()
        }
    }
}

/// The channels that events may have.
fn channels(process: &Process) -> impl Iterator<Item = i32> + Clone {
    let channels = &process.channels;
    let numbers = channels.amp2.iter().map(|amp2| amp2.diagram);
    let known = numbers.filter(|&diagram| channels.config_of(diagram).is_some());
    known.map(|diagram| diagram as i32)
}

/// So many of them, over and over; zeros where there are none.
fn in_turn(numbers: impl Iterator<Item = i32> + Clone, count: usize) -> Vec<i32> {
    let zeros = std::iter::repeat(0);
    numbers.cycle().chain(zeros).take(count).collect()
}

/// Of some points the one whose smallest product of two momenta is largest.
fn farthest(space: &PhaseSpace, stream: u64, round: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(SEED ^ (stream << 32) ^ round);
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for _ in 0..TRIES {
        let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.number()).collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&numbers, &mut momenta);
        let distance = distance(&momenta);
        if best.1.is_empty() || distance > best.0 {
            best = (distance, momenta);
        }
    }
    best.1
}

/// The smallest product of two momenta over the product of their energies.
fn distance(momenta: &[f64]) -> f64 {
    let mut least = f64::INFINITY;
    let legs: Vec<&[f64]> = momenta.chunks_exact(4).collect();
    for (i, p) in legs.iter().enumerate() {
        for q in &legs[..i] {
            let product = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
            least = least.min(product / (p[0] * q[0]));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::example;

    fn binding(process: &Process) -> Binding {
        Binding::new(&process.model, &process.model.default_card()).unwrap()
    }

    #[test]
    fn points_are_the_same_each_time_and_far_from_singularities() {
        let process = example::scalars();
        let binding = binding(&process);
        let (a, b) = (
            Trial::new(&process, &binding).unwrap(),
            Trial::new(&process, &binding).unwrap(),
        );
        assert_eq!(a.momenta, b.momenta);
        let events = a.events();
        assert_eq!(events.count(4).unwrap(), POINTS as usize * ENERGIES.len());
        let asked = Events {
            channels: Some(&[3]),
            igraph: Some(&[0]),
            ..events
        };
        let like = a.like(&asked);
        assert_eq!(like.count(4).unwrap(), POINTS as usize * ENERGIES.len());
        assert_eq!(like.channels.unwrap()[..4], [1, 2, 3, 1]);
        for point in a.momenta.chunks_exact(16) {
            assert!(distance(point) > 0.1, "{point:?}");
        }
    }

    #[test]
    fn a_process_without_phase_space_has_no_points() {
        let mut process = example::scalars();
        let binding = binding(&process);
        // Three come out of one of the same mass.
        process.legs[1].incoming = false;
        assert!(Trial::new(&process, &binding).is_none());
    }
}
