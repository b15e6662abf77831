//! A point as it is clustered, and its scales.

use super::trace::Trace;
use super::{Clustering, Given, Settings};
use crate::scales::ROWS;

/// Emissions from a beam that go against its direction come after those along it.
const AGAINST: f64 = 1.0 + 1e-6;
/// GeV^2: of a system that is boosted to its rest frame; of what is left of the partons; of the mass of the last pair.
const BOOSTED: f64 = 100.0;
const LEFT: f64 = 1.0;
const PAIR: f64 = 4.0;
/// What cannot be, as `pyjb` has it: a momentum transfer that is timelike, and nothing left of the partons.
const TIMELIKE: f64 = 1e30;
const NOTHING: f64 = 1e20;

type Momentum = [f64; 4];

/// What is left of the legs, the beams first.
#[derive(Clone, Copy)]
struct Remaining {
    legs: u32,
    p: Momentum,
    /// Squared, as the measure has it.
    mass: f64,
}

/// A point that has been clustered.
pub struct Event {
    /// The diagram that lines have their codes of.
    pub diagram: usize,
    /// First, second, and what they became.
    pub steps: Vec<[u32; 3]>,
    /// Squared, of each step.
    distances: Vec<f64>,
    /// Squared transverse masses of what was emitted from a beam; 0 otherwise.
    transverse: Vec<f64>,
    /// The product of the transverse masses of the last pair.
    last: Option<f64>,
}

/// While it is clustered.
struct Parts<'a> {
    settings: &'a Settings,
    resonances: &'a [u32],
    left: Vec<Remaining>,
    /// Boost and rotation of the last clustering with a beam.
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

/// The invariant mass of some legs.
pub fn mass(p: &[Momentum], legs: u32) -> f64 {
    let some = p.iter().enumerate().filter(|(leg, _)| legs >> leg & 1 == 1);
    square(some.fold([0.0; 4], |sum, (_, p)| add(sum, *p)))
        .max(0.0)
        .sqrt()
}

/// A momentum given in the rest frame of another, in the frame where that is given.
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

/// What turns an axis to z, about the axis that stands on both.
fn rotation(axis: Momentum) -> [[f64; 3]; 3] {
    let size = product(axis, axis).sqrt();
    let [x, y, cosine] = [axis[1] / size, axis[2] / size, axis[3] / size];
    let sine = x.hypot(y);
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

/// Fortran's sign of 0 is positive.
fn is_negative(x: f64) -> bool {
    x < 0.0
}

impl Event {
    /// A point, clustered along diagrams that suit its channel, or along that of its channel alone; nothing where none
    /// does.
    pub fn clustered(
        of: &Clustering,
        channel: usize,
        p: &[Momentum],
        resonances: &[u32],
        alone: bool,
    ) -> Option<Event> {
        let part = |(leg, p): (usize, &Momentum)| Remaining {
            legs: 1 << leg,
            p: *p,
            mass: square(*p),
        };
        let mut parts = Parts {
            settings: &of.settings,
            resonances,
            left: p.iter().enumerate().map(part).collect(),
            boost: None,
        };
        let mut event = Event {
            diagram: channel,
            steps: Vec::new(),
            distances: Vec::new(),
            transverse: Vec::new(),
            last: None,
        };
        let nqcd = of.diagrams[channel].nqcd;
        let suits = |diagram: usize| {
            of.diagrams[diagram].nqcd == nqcd
                && (!alone || diagram == channel)
                && resonances
                    .iter()
                    .all(|line| of.resonant[diagram].contains(line))
        };
        // Which diagrams it may be of, and in their order once there are steps.
        let mut open: Vec<bool> = (0..of.diagrams.len()).map(suits).collect();
        let mut graphs: Option<Vec<usize>> = None;
        while parts.left.len() > 3 {
            let mut best: Option<(f64, usize, usize)> = None;
            for i in 2..parts.left.len() {
                for j in 0..i {
                    let together = parts.left[i].legs + parts.left[j].legs;
                    if !of.by_line[together as usize]
                        .iter()
                        .any(|&graph| open[graph])
                    {
                        continue;
                    }
                    let measure = parts.measure(j, i);
                    if best.is_none_or(|(least, ..)| measure < least) {
                        best = Some((measure, j, i));
                    }
                }
            }
            // MadEvent drops what it cannot cluster.
            let (distance, j, i) = best?;
            let together = parts.left[i].legs + parts.left[j].legs;
            let there = of.by_line[together as usize].iter().copied();
            let some: Vec<usize> = there.filter(|&graph| open[graph]).collect();
            open.fill(false);
            for &graph in &some {
                open[graph] = true;
            }
            graphs = Some(some);
            parts.combine(j, i, distance, &mut event);
        }
        let [first, second, last] = [0, 1, 2].map(|place: usize| parts.left[place]);
        event.steps.push([first.legs, second.legs, last.legs]);
        event.distances.push(parts.beam(last.p));
        event.transverse.push(0.0);
        event.diagram = match graphs {
            Some(graphs) if !graphs.contains(&channel) => graphs[0],
            _ => channel,
        };
        Some(event)
    }

    /// Scales of renormalisation and of both densities; nothing where cuts drop the point.
    pub fn scales(
        &self,
        traced: &Trace,
        given: &Given,
        settings: &Settings,
    ) -> Option<[f64; ROWS]> {
        let (first, last, central) = (traced.first, traced.last, traced.central);
        let count = self.distances.len();
        let (mut squares, mut transverse) = (self.distances.clone(), self.transverse.clone());
        if let (true, Some(last)) = (traced.is_paired(), self.last) {
            for step in [count - 1, count - 2] {
                if last > PAIR {
                    transverse[step] = last;
                }
            }
        }
        for step in central {
            if step > 0 && transverse[step - 1] > 0.0 {
                squares[step - 1] = transverse[step - 1];
            }
        }
        if settings.xqcut > 0.0 {
            let hard = |step: usize| squares[step - 1].sqrt() >= settings.xqcut;
            if !traced.jet_steps().all(hard) {
                return None;
            }
        }
        if settings.xmtcentral != 0.0 {
            let least = settings.xmtcentral * settings.xmtcentral;
            if central
                .iter()
                .any(|&step| step > 0 && squares[step - 1] < least)
            {
                return None;
            }
        }
        for beam in 0..2 {
            if last[beam] > 0 {
                squares[last[beam] - 1] = squares[last[beam] - 1].max(squares[first[beam] - 1]);
            }
        }
        // Where there is no step the last one stands for it.
        let of = |step: usize| squares[if step == 0 { count } else { step } - 1];
        let factor = given.factor * given.factor;
        let mut densities = given.factorisation.map(|scale| scale * scale);
        if densities.iter().all(|square| *square > 0.0) {
            // They are what is given.
        } else if traced.single {
            densities = [of(1); 2];
        } else {
            for beam in 0..2 {
                if last[beam] > 0 {
                    densities[beam] = (of(last[beam]) * of(central[beam])).sqrt();
                }
            }
            if central[0] > 0 && central[0] == central[1] {
                densities = [densities[0].max(densities[1]); 2];
            }
        }
        if !given.fixed {
            densities = densities.map(|square| square * factor);
        }
        let mut renormalisation = given.renormalisation;
        if renormalisation <= 0.0 {
            let product = |steps: &[usize]| steps.iter().map(|&step| of(step)).product::<f64>();
            let mean = match (last, central) {
                ([a, b], [c, d]) if a > 0 && b > 0 => product(&[a, c, b, d]).powf(0.125),
                ([a, b], _) if a > 0 || b > 0 => {
                    let beam = usize::from(a == 0);
                    product(&[last[beam], central[beam]]).powf(0.25)
                }
                (_, [c, d]) if c > 0 && d > 0 => product(&[c, d]).powf(0.25),
                (_, [c, d]) => {
                    let step = if c.max(d) > 0 { c.max(d) } else { count };
                    of(step).powf(0.5)
                }
            };
            renormalisation = given.factor * mean;
        }
        if !given.fixed {
            match central {
                [0, 0] if densities[0] > 0.0 => {}
                [0, 0] => densities = [factor * of(count); 2],
                [0, _] => densities[0] = factor * of(first[0]),
                [_, 0] => densities[1] = factor * of(first[1]),
                _ => {}
            }
        }
        Some([renormalisation, densities[0].sqrt(), densities[1].sqrt()])
    }
}

impl Parts<'_> {
    /// Of an emission from a beam.
    fn beam(&self, p: Momentum) -> f64 {
        match self.settings.hadrons {
            true => (p[0] - p[3]) * (p[0] + p[3]),
            false => p[0].max(0.0).powi(2),
        }
    }

    /// How near two are to each other.
    fn measure(&self, j: usize, i: usize) -> f64 {
        let (one, other) = (self.left[i], self.left[j]);
        if j >= 2 {
            let sum = add(one.p, other.p);
            if self.resonances.contains(&(one.legs + other.legs)) {
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

    /// Of an emission from a beam, by Pythia's shower.
    fn evolution(&self, j: usize, i: usize) -> f64 {
        let (beam, out, partner) = (self.left[j], self.left[i], self.left[1 - j]);
        let left = subtract(beam.p, out.p);
        let transfer = -square(left) + beam.mass.max(out.mass).max(0.0);
        let (before, after) = (square(add(beam.p, partner.p)), square(add(left, partner.p)));
        if transfer < 0.0 {
            return TIMELIKE;
        }
        if after < LEFT {
            return NOTHING;
        }
        (1.0 - after / before) * transfer
    }

    /// Of two that go out: Durham's measure, or that of hadrons.
    fn between(&self, one: Remaining, other: Remaining) -> f64 {
        let (p, q) = (one.p, other.p);
        let sizes = [product(p, p).sqrt(), product(q, q).sqrt()];
        if !self.settings.hadrons {
            let cosine = product(p, q) / (sizes[0] * sizes[1]);
            return 2.0 * (p[0] * p[0]).min(q[0] * q[0]) * (1.0 - cosine);
        }
        let [first, second] = [p, q].map(|p| p[1] * p[1] + p[2] * p[2]);
        let eta = |size: f64, p: Momentum| 0.5 * ((size + p[3]) / (size - p[3])).ln();
        let apart = eta(sizes[0], p) - eta(sizes[1], q);
        let cosine = (p[1] * q[1] + p[2] * q[2]) / (first * second).sqrt();
        let angle =
            2.0 * (apart.cosh() - cosine) / (self.settings.distance * self.settings.distance);
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

    fn combine(&mut self, j: usize, i: usize, distance: f64, event: &mut Event) {
        let (one, other) = (self.left[j], self.left[i]);
        let legs = one.legs + other.legs;
        let heavier = one.mass.max(other.mass).max(0.0);
        event.steps.push([one.legs, other.legs, legs]);
        event.distances.push(distance);
        let (count, emitted) = (self.left.len(), self.beam(other.p));
        self.left.remove(i);
        if j < 2 {
            event.transverse.push(emitted);
            self.left[j] = Remaining {
                legs,
                p: subtract(one.p, other.p),
                mass: heavier,
            };
            self.rest(j, count > 4);
            return;
        }
        event.transverse.push(0.0);
        let mass = match self.resonances.contains(&legs) {
            true => distance,
            false => heavier,
        };
        let p = add(one.p, other.p);
        self.left[j] = Remaining { legs, p, mass };
        if self.left.len() == 3 {
            event.last = Some((self.beam(one.p) * emitted).sqrt());
            self.back();
        }
    }

    /// Takes what is left to its rest frame, with the new parton along z.
    fn rest(&mut self, j: usize, moves: bool) {
        self.boost = None;
        if !moves {
            return;
        }
        let system = add(self.left[j].p, self.left[1 - j].p);
        let against = [system[0], -system[1], -system[2], -system[3]];
        let turn = rotation(boosted(self.left[j].p, against));
        if square(system) > BOOSTED {
            for part in &mut self.left {
                part.p = turned(&turn, boosted(part.p, against));
            }
        }
        self.boost = Some((system, turn));
    }

    /// Takes the last particle back to the frame before the last boost.
    fn back(&mut self) {
        if let Some((system, turn)) = self.boost
            && square(system) > BOOSTED
        {
            self.left[2].p = boosted(turned_back(&turn, self.left[2].p), system);
        }
    }
}
