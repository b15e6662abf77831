//! Events for comparisons.
//!
//! Half of them have one energy, well above all masses. The others have random energies from just above the threshold
//! on, energies very close to the threshold, and energies close to the masses of lines that can be resonant. If the
//! energy has to be a mass, these others are boosted along the beams: a particle at rest has the helicities that
//! conservation of angular momentum along z allows, and others if it moves in one direction or the other.

use crate::random::Random;
use mebridge::phase_space::PhaseSpace;
use mebridge::{Error, Result};
use std::f64::consts::PI;

/// Number of random numbers that are not for momenta: energy (2), g, helicity, colour.
const OTHERS: usize = 5;
/// Largest rapidity of boosts.
const RAPIDITY: f64 = 1.5;
/// Energy of the ordinary events in GeV, if that is far above the threshold.
const ENERGY: f64 = 1000.0;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// `P(0:3, NEXTERNAL)`.
    pub momenta: Vec<f64>,
    /// Strong coupling g_s.
    pub g: f64,
    /// Random number for the helicity.
    pub random_helicity: f64,
    /// Random number for the colour flow.
    pub random_color: f64,
}

/// The legs of a process and its lines.
#[derive(Clone, Debug, Default)]
pub struct Kinematics {
    /// Masses of the incoming legs.
    pub incoming: Vec<f64>,
    /// Masses of the outgoing legs.
    pub outgoing: Vec<f64>,
    /// Mass and width of unstable lines.
    pub resonances: Vec<(f64, f64)>,
}

impl Kinematics {
    /// Returns the smallest possible energy.
    fn threshold(&self) -> f64 {
        let sum = |masses: &[f64]| masses.iter().sum::<f64>();
        sum(&self.incoming).max(sum(&self.outgoing))
    }

    /// Returns the energy if it is the mass of the only particle on a side.
    fn fixed(&self) -> Option<f64> {
        match (&self.incoming[..], &self.outgoing[..]) {
            ([mass], _) | (_, [mass]) => Some(*mass),
            _ => None,
        }
    }

    /// Returns the energy of an event from two random numbers.
    fn energy(&self, event: usize, random: &[f64]) -> f64 {
        if let Some(energy) = self.fixed() {
            return energy;
        }
        let threshold = self.threshold();
        let scale = threshold.max(10.0);
        if event.is_multiple_of(2) {
            return ENERGY.max(1.5 * threshold);
        }
        let reachable = |(mass, _): &&(f64, f64)| *mass > 1.001 * threshold;
        let resonances: Vec<_> = self.resonances.iter().filter(reachable).collect();
        match event / 2 % 4 {
            // From 0.01 to 10 per cent above the threshold.
            1 => threshold + scale * 10f64.powf(-4.0 + 3.0 * random[0]),
            // Within three widths.
            3 if !resonances.is_empty() => {
                let pick = (random[1] * resonances.len() as f64) as usize;
                let (mass, width) = resonances[pick.min(resonances.len() - 1)];
                (mass + 3.0 * (2.0 * random[0] - 1.0) * width).max(1.0005 * threshold)
            }
            _ => threshold + scale * 10f64.powf(-1.0 + 3.0 * random[0]),
        }
    }

    /// Makes `count` events.
    pub fn points(&self, count: usize, seed: u64) -> Result<Vec<Point>> {
        let source = Random::new(seed);
        let legs = 4 * self.outgoing.len();
        let per_event = OTHERS + legs;
        let mut points = Vec::with_capacity(count);
        for event in 0..count {
            let mut random = vec![0.0; per_event];
            source.fill(0, event, per_event, &mut random);
            let energy = self.energy(event, &random);
            let space = PhaseSpace::new(energy, &self.incoming, &self.outgoing)?;
            let mut momenta = vec![0.0; space.components()];
            space.event(&random[OTHERS..], &mut momenta);
            if self.fixed().is_some() && event % 2 == 1 {
                boost(&mut momenta, RAPIDITY * (2.0 * random[0] - 1.0));
            }
            if momenta.iter().any(|x| !x.is_finite()) {
                return Err(Error::PhaseSpace {
                    what: format!("event {event} at {energy} GeV has no momenta"),
                });
            }
            points.push(Point {
                momenta,
                g: 0.6 + random[2],
                random_helicity: random[3],
                random_color: random[4],
            });
        }
        Ok(points)
    }
}

/// Boosts momenta along z.
fn boost(momenta: &mut [f64], rapidity: f64) {
    let (cosh, sinh) = (rapidity.cosh(), rapidity.sinh());
    for p in momenta.chunks_exact_mut(4) {
        (p[0], p[3]) = (cosh * p[0] + sinh * p[3], cosh * p[3] + sinh * p[0]);
    }
}

/// Makes events with these momenta, and alpha_s if known; other random numbers are as in [`Kinematics::points`], and so
/// is g if alpha_s is unknown.
pub fn with_momenta(given: Vec<(Vec<f64>, Option<f64>)>, seed: u64) -> Vec<Point> {
    let source = Random::new(seed);
    let point = |(event, (momenta, alpha_s)): (usize, (Vec<f64>, Option<f64>))| {
        let mut random = [0.0; OTHERS];
        source.fill(0, event, OTHERS, &mut random);
        Point {
            momenta,
            g: alpha_s.map_or(0.6 + random[2], |alpha_s| (4.0 * PI * alpha_s.abs()).sqrt()),
            random_helicity: random[3],
            random_color: random[4],
        }
    };
    given.into_iter().enumerate().map(point).collect()
}

/// Returns the same events with each component of the momenta changed by at most this fraction, at random: what rounding
/// does to them.
pub fn moved(points: &[Point], fraction: f64, seed: u64) -> Vec<Point> {
    let source = Random::new(seed);
    let moved = |(event, point): (usize, &Point)| {
        let mut point = point.clone();
        let mut random = vec![0.0; point.momenta.len()];
        source.fill(0, event, random.len(), &mut random);
        for (x, random) in point.momenta.iter_mut().zip(random) {
            *x *= 1.0 + fraction * (2.0 * random - 1.0);
        }
        point
    };
    points.iter().enumerate().map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momenta_move_by_their_last_digits_in_another_way_for_each_seed() {
        let kinematics = Kinematics {
            incoming: vec![0.0, 0.0],
            outgoing: vec![173.0, 173.0],
            resonances: Vec::new(),
        };
        let points = kinematics.points(20, 3).unwrap();
        let fraction = 1e-15;
        let (one, other) = (moved(&points, fraction, 1), moved(&points, fraction, 2));
        assert_ne!(one, other);
        for (point, moved) in points.iter().zip(&one) {
            assert_ne!(point.momenta, moved.momenta);
            assert_eq!((point.g, point.random_color), (moved.g, moved.random_color));
            for (x, y) in point.momenta.iter().zip(&moved.momenta) {
                assert!((y - x).abs() <= (fraction + f64::EPSILON) * x.abs());
            }
        }
    }

    #[test]
    fn events_depend_on_the_seed_alone_and_lie_above_the_threshold() {
        let kinematics = Kinematics {
            incoming: vec![0.0, 0.0],
            outgoing: vec![173.0, 173.0],
            resonances: vec![(500.0, 2.0)],
        };
        let points = kinematics.points(40, 3).unwrap();
        assert_eq!(points[..10], kinematics.points(10, 3).unwrap());
        assert_ne!(points, kinematics.points(40, 4).unwrap());
        let energies: Vec<f64> = points.iter().map(|p| 2.0 * p.momenta[0]).collect();
        assert!(energies.iter().all(|e| *e > 346.0));
        assert!(energies.iter().any(|e| (e - 500.0).abs() < 6.1));
        assert!(energies.iter().any(|e| *e < 385.0));
    }

    #[test]
    fn a_single_particle_is_at_rest_and_moves_both_ways() {
        let kinematics = Kinematics {
            incoming: vec![0.0, 0.0],
            outgoing: vec![91.0],
            resonances: Vec::new(),
        };
        let points = kinematics.points(20, 3).unwrap();
        let along: Vec<f64> = points.iter().map(|p| p.momenta[11]).collect();
        assert!(along.iter().step_by(2).all(|z| *z == 0.0));
        assert!(along.iter().any(|z| *z > 10.0) && along.iter().any(|z| *z < -10.0));
        for p in points.iter().map(|p| &p.momenta) {
            let off = p[8] * p[8] - p[11] * p[11] - 91.0 * 91.0;
            assert!(off.abs() < 1e-10 && (p[0] + p[4] - p[8]).abs() < 1e-12);
        }
    }
}
