//! Phase-space points that the library generates itself to determine properties of a process.
//!
//! Which helicities contribute, and whether two methods of evaluation agree, depends on the process and its card alone.
//! The first events of a caller may be special: a helicity vanishes for particles at rest or along the beam, terms
//! cancel near a collinear gluon, numbers of single precision underflow at high energy. So these properties are
//! determined at points generated here, at a few energies not far above threshold and as far from all singularities as
//! a number of tries allows. The points depend on the masses alone.
//!
//! Half of the points are in the centre-of-mass frame with the beams along z, like the events of a generator. The
//! others are rotated to a random direction and boosted. The contribution of a helicity is an analytic function of the
//! frame, except for the directions of particles at rest, which are limits of it. So a helicity that contributes in
//! some frame does so in almost all, and one that vanishes in a general frame vanishes in all. The centre-of-mass frame
//! is not general: the outgoing particle of 2 -> 1 and the parent of a decay are at rest there. For given helicities of
//! the quarks, one helicity of the Z in u u~ > z contributes in this frame, another one if the beams are exchanged, and
//! all three in a frame with the beams off the z axis.

use crate::inputs::{Inputs, NONE, PerEvent};
use crate::points::{Momenta, Points};
use mebridge_plan::binding::Binding;
use mebridge_process::Process;
use mebridge_process::phase_space::PhaseSpace;
use mebridge_support::random::SplitMix64;

/// Energies in units of the threshold, or of [`MIN_ENERGY_UNIT`] if that is larger.
const ENERGIES: [f64; 4] = [1.9, 1.4, 3.1, 5.3];
/// Smallest unit of energy, in GeV.
const MIN_ENERGY_UNIT: f64 = 100.0;
/// Points at each energy.
const POINTS: u64 = 4;
/// Number of random candidates for each point; the one farthest from singularities is used.
const TRIES: usize = 24;
const SEED: u64 = 20_200_805;
/// The strong coupling at all points, close to the value in any card.
const G: f64 = 1.2;

/// Range of velocities of boosted frames: no particle is nearly at rest there, and few digits are lost where terms that
/// grow with the energy cancel.
const VELOCITIES: std::ops::Range<f64> = 0.3..0.6;

/// Phase-space points for trial evaluations.
#[derive(Clone, Debug)]
pub struct Trial {
    momenta: Vec<f64>,
    legs: usize,
    /// Whether each point is in a moved (rotated and boosted) frame.
    moved: Vec<bool>,
    g_s: Vec<f64>,
    random: Vec<f64>,
    /// Channels of the points, which take turns; likewise `config`.
    channel: Vec<i32>,
    config: Vec<i32>,
}

impl Trial {
    /// Generates points for the masses of a card; `None` if these leave no phase space.
    pub fn new(process: &Process, binding: &Binding) -> Option<Trial> {
        let masses = |incoming| -> Vec<f64> {
            let masses = binding.masses(&process.legs, incoming).into_iter();
            // Majorana fermions may have negative masses.
            masses.map(f64::abs).collect()
        };
        let (incoming, outgoing) = (masses(true), masses(false));
        let needed = incoming.iter().sum::<f64>().max(outgoing.iter().sum());
        // The energy of a decay, or of a single outgoing particle, is its mass.
        let fixed = incoming.len() == 1 || outgoing.len() == 1;
        let (unit, factors) = match fixed {
            true => (needed, &[1.0][..]),
            false => (needed.max(MIN_ENERGY_UNIT), &ENERGIES[..]),
        };
        let legs = || incoming.iter().chain(&outgoing);
        let (mut momenta, mut moved) = (Vec::new(), Vec::new());
        for round in 0..POINTS {
            for (stream, factor) in (0..).zip(factors) {
                let space = PhaseSpace::new(factor * unit, &incoming, &outgoing).ok()?;
                let mut random = SplitMix64::new(SEED ^ (stream << 32) ^ round);
                let mut point = farthest(&space, &mut random);
                moved.push(round % 2 == 1);
                if moved.last() == Some(&true) {
                    let frame = Moved::new(&mut random);
                    for (p, mass) in point.chunks_exact_mut(4).zip(legs()) {
                        frame.apply(p, *mass);
                    }
                }
                momenta.extend(point);
            }
        }
        let count = moved.len();
        Some(Trial {
            momenta,
            legs: process.legs.len(),
            moved,
            g_s: vec![G; count],
            random: vec![0.5; count],
            channel: in_turn(channels(process), count),
            config: in_turn(0..process.channels.config_diagram.len() as i32, count),
        })
    }

    /// The points.
    pub fn points(&self) -> Points<'_> {
        Points {
            momenta: Momenta::rows(&self.momenta, self.legs),
            g_s: &self.g_s,
            random_helicity: &self.random,
            random_color: &self.random,
        }
    }

    /// Whether a point is in a moved frame.
    pub fn is_moved(&self, point: usize) -> bool {
        self.moved[point]
    }

    /// The points, with channels and configurations if `inputs` has them.
    pub fn inputs_like(&self, inputs: &Inputs) -> Inputs<'_> {
        Inputs {
            channel: inputs.channel.map(|_| PerEvent::Each(&self.channel)),
            config: inputs.config.map(|_| PerEvent::Each(&self.config)),
            points: self.points(),
        }
    }
}

/// The channels that events may have, as diagram indices.
fn channels(process: &Process) -> impl Iterator<Item = i32> + Clone {
    let channels = &process.channels;
    let numbers = channels.amp2.iter().map(|amp2| amp2.diagram);
    let known = numbers.filter(|&diagram| channels.config_of(diagram).is_some());
    known.map(|diagram| diagram as i32 - 1)
}

/// Repeats the numbers cyclically up to `count` of them; [`NONE`] if there are none.
fn in_turn(numbers: impl Iterator<Item = i32> + Clone, count: usize) -> Vec<i32> {
    let nothing = std::iter::repeat(NONE);
    numbers.cycle().chain(nothing).take(count).collect()
}

/// The point, among some random ones, whose smallest product of two momenta is largest.
fn farthest(space: &PhaseSpace, random: &mut SplitMix64) -> Vec<f64> {
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

/// A rotated and boosted frame.
struct Moved {
    /// The rotation, as a unit quaternion.
    turn: [f64; 4],
    /// The boost velocity times gamma.
    velocity: [f64; 3],
    gamma: f64,
}

impl Moved {
    fn new(random: &mut SplitMix64) -> Moved {
        let mut unit = |components: &mut [f64]| loop {
            components.fill_with(|| random.between(-1.0, 1.0));
            let norm = components.iter().map(|x| x * x).sum::<f64>().sqrt();
            if (0.1..1.0).contains(&norm) {
                components.iter_mut().for_each(|x| *x /= norm);
                return;
            }
        };
        let (mut turn, mut velocity) = ([0.0; 4], [0.0; 3]);
        unit(&mut turn);
        unit(&mut velocity);
        let beta = random.between(VELOCITIES.start, VELOCITIES.end);
        let gamma = 1.0 / (1.0 - beta * beta).sqrt();
        Moved {
            turn,
            velocity: velocity.map(|v| v * beta * gamma),
            gamma,
        }
    }

    /// Transforms a momentum into this frame, exactly on its mass shell.
    fn apply(&self, p: &mut [f64], mass: f64) {
        let [w, axis @ ..] = self.turn;
        let cross = |a: [f64; 3], b: [f64; 3]| {
            [0, 1, 2].map(|i| {
                let (j, k) = ((i + 1) % 3, (i + 2) % 3);
                a[j] * b[k] - a[k] * b[j]
            })
        };
        // Rotation by a unit quaternion (w, u): p + 2 u x (u x p + w p).
        let before = [p[1], p[2], p[3]];
        let once = cross(axis, before);
        let twice = cross(axis, [0, 1, 2].map(|i| once[i] + w * before[i]));
        let turned = [0, 1, 2].map(|i| before[i] + 2.0 * twice[i]);
        let u = self.velocity;
        let along: f64 = (0..3).map(|i| u[i] * turned[i]).sum();
        let scale = p[0] + along / (1.0 + self.gamma);
        let mut square = mass * mass;
        for i in 0..3 {
            p[i + 1] = turned[i] + u[i] * scale;
            square += p[i + 1] * p[i + 1];
        }
        p[0] = square.sqrt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_process::example;

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
        let points = a.points();
        assert_eq!(
            (points.count(), points.momenta.legs()),
            (POINTS as usize * ENERGIES.len(), 4)
        );
        let requested = Inputs {
            channel: Some(PerEvent::Same(2)),
            config: Some(PerEvent::Same(NONE)),
            points,
        };
        let like = a.inputs_like(&requested);
        let first = like.channel.unwrap().part(0, 4);
        assert_eq!(first, PerEvent::Each(&[0, 1, 2, 0]));
        assert_eq!(like.config.unwrap().part(0, 4), first);
        for point in a.momenta.chunks_exact(16) {
            assert!(distance(point) > 0.1, "{point:?}");
        }
    }

    /// Half of the points have their beams along z, the others in a random direction; all satisfy the kinematic
    /// constraints.
    #[test]
    fn half_of_the_points_are_moved() {
        let process = example::scalars();
        let binding = binding(&process);
        let trial = Trial::new(&process, &binding).unwrap();
        let (masses, signs) = (binding.parameters.clone(), process.signs());
        let mass = |leg: &mebridge_process::Leg| leg.mass.0.map_or(0.0, |i| masses[i as usize]);
        let mut count = [0, 0];
        for (i, point) in trial.momenta.chunks_exact(16).enumerate() {
            count[usize::from(trial.is_moved(i))] += 1;
            let mut sums = [0.0; 4];
            for ((p, leg), sign) in point.chunks_exact(4).zip(&process.legs).zip(&signs) {
                let square = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3];
                assert!((square - mass(leg).powi(2)).abs() < 1e-15 * p[0] * p[0]);
                let beside = p[1].hypot(p[2]);
                let along = leg.incoming && !trial.is_moved(i);
                assert_eq!(beside < 0.01 * p[0], along, "{i}: {p:?}");
                (0..4).for_each(|k| sums[k] += sign * p[k]);
            }
            assert!(
                sums.iter().all(|x| x.abs() < 1e-15 * 8.0 * point[0]),
                "{sums:?}"
            );
        }
        assert_eq!(count[0], count[1]);
    }

    #[test]
    fn a_process_without_phase_space_has_no_points() {
        let mut process = example::scalars();
        let binding = binding(&process);
        // A decay to three particles of the same mass as the decaying one.
        process.legs[1].incoming = false;
        assert!(Trial::new(&process, &binding).is_none());
    }
}
