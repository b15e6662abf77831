//! Clustering of a single point.

use super::memory::{ClusteringCache, Mergeable, Start};
use super::path::Path;
use super::{Clustering, ClusteringSettings, MAX_LEGS};

/// Factor on the distance of emissions against the beam's direction, so that those along it come first.
const AGAINST: f64 = 1.0 + 1e-6;
/// Lower limits, GeV^2: on the squared mass of a system that is boosted to its rest frame; on the partons' remaining
/// squared energy.
const BOOSTED: f64 = 100.0;
const LEFT: f64 = 1.0;
/// Distances of impossible emissions, as in `pyjb`: a timelike momentum transfer, and no energy left for the partons.
const TIMELIKE: f64 = 1e30;
const NOTHING: f64 = 1e20;

type Momentum = [f64; 4];

/// A remaining line.
#[derive(Clone, Copy, Default)]
struct Remaining {
    p: Momentum,
    /// Squared mass for the distance measure, GeV^2.
    mass: f64,
}

/// The state of a clustering.
struct Parts<'a> {
    settings: &'a ClusteringSettings,
    left: [Remaining; MAX_LEGS],
    count: usize,
    /// Boost and rotation after the last combination with a beam.
    boost: Option<(Momentum, [[f64; 3]; 3])>,
}

fn square(p: Momentum) -> f64 {
    p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3]
}

fn add(p: Momentum, q: Momentum) -> Momentum {
    [p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]]
}

fn subtract(p: Momentum, q: Momentum) -> Momentum {
    [p[0] - q[0], p[1] - q[1], p[2] - q[2], p[3] - q[3]]
}

fn product(p: Momentum, q: Momentum) -> f64 {
    p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
}

/// The invariant mass of some legs, GeV.
pub fn mass(p: &[Momentum], legs: u32) -> f64 {
    let some = p.iter().enumerate().filter(|(leg, _)| legs >> leg & 1 == 1);
    square(some.fold([0.0; 4], |sum, (_, p)| add(sum, *p)))
        .max(0.0)
        .sqrt()
}

/// Boosts `p` from the rest frame of `q` to the frame in which `q` is given.
fn boosted(p: Momentum, q: Momentum) -> Momentum {
    let size = product(q, q);
    if size == 0.0 {
        return p;
    }
    let product = product(p, q);
    let mass = (q[0] * q[0] - size).max(1e-99).sqrt();
    let factor = ((q[0] - mass) * product / size + p[0]) / mass;
    [
        (p[0] * q[0] + product) / mass,
        p[1] + q[1] * factor,
        p[2] + q[2] * factor,
        p[3] + q[3] * factor,
    ]
}

/// The rotation of an axis to z, about the direction perpendicular to both.
fn rotation(axis: Momentum) -> [[f64; 3]; 3] {
    let size = product(axis, axis).sqrt();
    let [x, y, cosine] = [axis[1] / size, axis[2] / size, axis[3] / size];
    let sine = (x * x + y * y).sqrt();
    if sine < 1e-17 {
        return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    }
    let (a, b) = (y / sine, -x / sine);
    let rest = 1.0 - cosine;
    [
        [1.0 - rest * b * b, rest * a * b, sine * b],
        [rest * a * b, 1.0 - rest * a * a, -sine * a],
        [-sine * b, sine * a, 1.0 - rest * (a * a + b * b)],
    ]
}

fn turned(turn: &[[f64; 3]; 3], p: Momentum) -> Momentum {
    let row = |i: usize| turn[i][0] * p[1] + turn[i][1] * p[2] + turn[i][2] * p[3];
    [p[0], row(0), row(1), row(2)]
}

fn turned_back(turn: &[[f64; 3]; 3], p: Momentum) -> Momentum {
    let row = |i: usize| turn[0][i] * p[1] + turn[1][i] * p[2] + turn[2][i] * p[3];
    [p[0], row(0), row(1), row(2)]
}

/// Unlike a sign bit, takes -0 as positive, as in Fortran.
fn is_negative(x: f64) -> bool {
    x < 0.0
}

/// Clusters a point, and stores its path in the memory; returns whether the diagrams allow it.
pub fn walk(of: &Clustering, start: Start, p: &[Momentum], memory: &mut ClusteringCache) -> bool {
    let mut parts = Parts {
        settings: &of.settings,
        left: [Remaining::default(); MAX_LEGS],
        count: p.len(),
        boost: None,
    };
    for (part, &p) in parts.left.iter_mut().zip(p) {
        *part = Remaining { p, mass: square(p) };
    }
    let mut end = memory.start(of, start);
    memory.path.steps = 0;
    memory.path.last = None;
    while !memory.order(end).is_whole() {
        let pairs = &memory.order(end).pairs;
        let mut best: Option<(f64, usize)> = None;
        for (number, pair) in pairs.iter().enumerate() {
            let measure = parts.measure(pair);
            if best.is_none_or(|(least, _)| measure < least) {
                best = Some((measure, number));
            }
        }
        // MadEvent drops points that it cannot cluster.
        let Some((distance, number)) = best else {
            return false;
        };
        let pair = pairs[number];
        parts.combine(&pair, distance, &mut memory.path);
        end = memory.next(of, end, number);
    }
    let fraction = if p.len() == 3 { 0.0 } else { 1.0 };
    let path = &mut memory.path;
    path.push(parts.beam(parts.left[2].p), 0.0, fraction);
    path.end = end;
    true
}

impl Parts<'_> {
    /// Distance measure of an emission from a beam.
    fn beam(&self, p: Momentum) -> f64 {
        match self.settings.hadrons {
            true => (p[0] - p[3]) * (p[0] + p[3]),
            false => p[0].max(0.0).powi(2),
        }
    }

    /// Distance measure of two lines.
    fn measure(&self, pair: &Mergeable) -> f64 {
        let (i, j) = (pair.second as usize, pair.first as usize);
        let (one, other) = (self.left[i], self.left[j]);
        if j >= 2 {
            let sum = add(one.p, other.p);
            if pair.resonant {
                return square(sum);
            }
            if self.settings.scheme == 2 {
                let energy = one.p[0] + other.p[0];
                return one.p[0] * other.p[0] / (energy * energy) * square(sum);
            }
            return self.between(one, other);
        }
        let distance = match self.settings.scheme {
            2 => self.evolution(j, i),
            _ => self.beam(one.p),
        };
        match is_negative(one.p[3]) != is_negative(other.p[3]) {
            true => distance * AGAINST,
            false => distance,
        }
    }

    /// Distance measure of an emission from a beam, for Pythia's shower.
    fn evolution(&self, j: usize, i: usize) -> f64 {
        let (beam, out) = (self.left[j], self.left[i]);
        let transfer = -square(subtract(beam.p, out.p)) + beam.mass.max(out.mass).max(0.0);
        let (after, fraction) = self.fraction(j, i);
        if transfer < 0.0 {
            return TIMELIKE;
        }
        if after < LEFT {
            return NOTHING;
        }
        (1.0 - fraction) * transfer
    }

    /// The partons' squared energy after an emission from a beam, GeV^2, and its ratio to that before.
    fn fraction(&self, j: usize, i: usize) -> (f64, f64) {
        let [beam, out, partner] = [j, i, 1 - j].map(|place| self.left[place].p);
        let before = square(add(beam, partner));
        let after = square(add(subtract(beam, out), partner));
        (after, if after < LEFT { 0.0 } else { after / before })
    }

    /// Distance measure of two outgoing lines: Durham's, or that for hadrons.
    fn between(&self, one: Remaining, other: Remaining) -> f64 {
        let (p, q) = (one.p, other.p);
        let sizes = [product(p, p).sqrt(), product(q, q).sqrt()];
        if !self.settings.hadrons {
            let cosine = product(p, q) / (sizes[0] * sizes[1]);
            return 2.0 * (p[0] * p[0]).min(q[0] * q[0]) * (1.0 - cosine);
        }
        let [first, second] = [p, q].map(|p| p[1] * p[1] + p[2] * p[2]);
        // cosh of the distance in pseudorapidity minus the cosine of that in azimuth.
        let apart = (sizes[0] * sizes[1] - product(p, q)) / (first * second).sqrt();
        let angle = 2.0 * apart / (self.settings.distance * self.settings.distance);
        let mut found = one.mass.max(other.mass) + first.min(second) * angle;
        for (light, heavy) in [(one, other), (other, one)] {
            let flavors = self.settings.maxjetflavor;
            let mixed = heavy.mass >= 3.0 && flavors > 4 || heavy.mass >= 1.0 && flavors > 3;
            if light.mass < 1.0 && mixed {
                found = self.beam(light.p) * AGAINST;
            }
        }
        found
    }

    fn combine(&mut self, pair: &Mergeable, distance: f64, path: &mut Path) {
        let (i, j) = (pair.second as usize, pair.first as usize);
        let (one, other) = (self.left[j], self.left[i]);
        let heavier = one.mass.max(other.mass).max(0.0);
        let emitted = self.beam(other.p);
        // With Pythia's shower the fraction of the first step is unknown.
        let known = j < 2 && (self.settings.scheme != 2 || path.steps > 0);
        let fraction = if known { self.fraction(j, i).1 } else { 0.0 };
        path.push(distance, if j < 2 { emitted } else { 0.0 }, fraction);
        self.left[..self.count].copy_within(i + 1.., i);
        self.count -= 1;
        if j < 2 {
            self.left[j] = Remaining {
                p: subtract(one.p, other.p),
                mass: heavier,
            };
            self.rest(j, self.count > 3);
            return;
        }
        let mass = if pair.resonant { distance } else { heavier };
        let p = add(one.p, other.p);
        self.left[j] = Remaining { p, mass };
        if self.count == 3 {
            path.last = Some((self.beam(one.p) * emitted).sqrt());
            self.back();
        }
    }

    /// Boosts the remaining lines to the partons' rest frame, with the new parton along z.
    fn rest(&mut self, j: usize, moves: bool) {
        self.boost = None;
        if !moves {
            return;
        }
        let system = add(self.left[j].p, self.left[1 - j].p);
        let against = [system[0], -system[1], -system[2], -system[3]];
        let turn = rotation(boosted(self.left[j].p, against));
        if square(system) > BOOSTED {
            for part in &mut self.left[..self.count] {
                part.p = turned(&turn, boosted(part.p, against));
            }
        }
        self.boost = Some((system, turn));
    }

    /// Transforms the last particle back to the frame before the last boost.
    fn back(&mut self) {
        if let Some((system, turn)) = self.boost
            && square(system) > BOOSTED
        {
            self.left[2].p = boosted(turned_back(&turn, self.left[2].p), system);
        }
    }
}
