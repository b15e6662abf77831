//! Execution of the steps of a channel on registers: from random numbers to momenta, and back.

use super::Rows;
use super::channel::{Beams, Channel, Cluster, Incoming, Step};
use super::kinematics::{
    Momentum, across, boost, difference, direction, lambda, lambda_of_masses, not_negative,
    opposite, square, sum,
};
use super::permutations::Permutation;
use super::radiation::{self, Range};
use mebridge_simd::{Level, Simd, Task, dispatch, functions};
use std::f64::consts::{PI, TAU};

/// The rows of a point. Rows `4 leg` to `4 leg + 3` are the momentum of a leg in the centre of mass, incoming legs
/// first; the others follow.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    legs: usize,
}

impl Layout {
    /// Creates the layout for `legs` legs, including the incoming ones.
    pub const fn new(legs: usize) -> Self {
        Layout { legs }
    }

    /// The first row of a leg.
    pub const fn momentum(self, leg: usize) -> usize {
        4 * leg
    }

    /// The Jacobian of phase space and energy fractions by the random numbers; 0 for an invalid point.
    pub const fn weight(self) -> usize {
        4 * self.legs
    }

    /// The energy fraction of the first or the second parton; with [`Beams::Leptons`] what it lacks to 1, to all digits.
    pub const fn fraction(self, beam: usize) -> usize {
        4 * self.legs + 1 + beam
    }

    /// The squared energy of the partons in their centre of mass, GeV^2.
    pub const fn energy_square(self) -> usize {
        4 * self.legs + 3
    }

    /// The rapidity of the partons' centre of mass in that of the beams.
    pub const fn rapidity(self) -> usize {
        4 * self.legs + 4
    }

    /// Number of rows.
    pub const fn rows(self) -> usize {
        4 * self.legs + 5
    }
}

impl Channel {
    /// Draws points.
    ///
    /// The phase space is `(2 pi)^4 delta^4(sum) prod d^3p / ((2 pi)^3 2 E)`, times `dx1 dx2` for beams with densities.
    ///
    /// `random` has [`Channel::dimension`] rows of numbers from 0 to 1; `points` has the same number of points,
    /// in the rows of [`Layout`]. The permutations take turns, eight points each, beginning with number `first`.
    ///
    /// # Panics
    /// If rows are missing, or a permutation is invalid.
    pub fn draw(
        &self,
        level: Level,
        random: &Rows,
        permutations: &[Permutation],
        first: usize,
        points: &mut Rows,
    ) {
        self.check(random, permutations, points);
        // SAFETY: `dispatch` checks the level; rows check their bounds.
        unsafe {
            dispatch(
                level,
                Draw {
                    channel: self,
                    random,
                    permutations,
                    first,
                    points,
                },
            );
        }
    }

    /// Computes the random numbers of points, in rows as for [`Channel::draw`], and the Jacobian in a last row.
    ///
    /// # Panics
    /// If rows are missing, or a permutation is invalid.
    pub fn invert(
        &self,
        level: Level,
        points: &Rows,
        permutations: &[Permutation],
        first: usize,
        random: &mut Rows,
    ) {
        self.check(random, permutations, points);
        assert!(random.count() > self.dimension, "no row for the weight");
        // SAFETY: as above.
        unsafe {
            dispatch(
                level,
                Invert {
                    channel: self,
                    random,
                    permutations,
                    first,
                    points,
                },
            );
        }
    }

    fn check(&self, random: &Rows, permutations: &[Permutation], points: &Rows) {
        let legs = self.legs.len();
        assert!(
            random.count() >= self.dimension,
            "random numbers are missing"
        );
        assert!(
            points.count() >= Layout::new(legs + 2).rows(),
            "rows are missing"
        );
        assert_eq!(random.points(), points.points(), "as many points");
        assert!(!permutations.is_empty(), "at least one permutation");
        for permutation in permutations {
            let mut sorted = permutation.legs.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..legs), "a permutation of the legs");
        }
    }
}

/// The values that steps read and write.
struct Slots<V>(Vec<V>);

impl<V: Simd<Scalar = f64>> Slots<V> {
    #[inline(always)]
    fn get(&self, slot: usize) -> V {
        self.0[slot]
    }

    #[inline(always)]
    fn set(&mut self, slot: usize, value: V) {
        self.0[slot] = value;
    }

    #[inline(always)]
    fn momentum(&self, slot: usize) -> Momentum<V> {
        let some = &self.0[slot..slot + 4];
        [some[0], some[1], some[2], some[3]]
    }

    #[inline(always)]
    fn set_momentum(&mut self, slot: usize, p: Momentum<V>) {
        self.0[slot..slot + 4].copy_from_slice(&p);
    }

    /// The bounds of a squared invariant mass, and whether there is room between them.
    #[inline(always)]
    fn bounds(
        &self,
        least: usize,
        whole: usize,
        without: &[usize],
        ceiling: f64,
    ) -> (V, V, V::Mask) {
        let least = self.get(least);
        let mut most = self.get(whole);
        for &slot in without {
            most = most - self.get(slot);
        }
        let most = most.min(most.same(ceiling));
        let possible = least.lt(most);
        // Any number will do if no value is possible.
        let most = V::select(possible, most, least + least + least.same(1.0));
        (least * least, most * most, possible)
    }
}

struct Draw<'a> {
    channel: &'a Channel,
    random: &'a Rows,
    permutations: &'a [Permutation],
    first: usize,
    points: &'a mut Rows,
}

/// The permutation of a register.
#[inline(always)]
fn permutation_of<V: Simd>(
    permutations: &[Permutation],
    first: usize,
    register: usize,
) -> &Permutation {
    &permutations[(first + register * V::LANES / 8) % permutations.len()]
}

impl Task<f64> for Draw<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let channel = self.channel;
        let layout = Layout::new(channel.legs.len() + 2);
        // SAFETY: the caller guarantees the level.
        let zero = unsafe { V::zero() };
        let mut slots = Slots(vec![zero; channel.slots]);
        for &(slot, value) in &channel.constants {
            slots.set(slot, zero.same(value));
        }
        for register in 0..self.random.registers::<V>() {
            let one = zero.same(1.0);
            let mut point = Point {
                weight: one,
                fractions: [one; 2],
                rapidity: zero,
            };
            for step in &channel.steps {
                // SAFETY: as above.
                unsafe {
                    forward(step, channel, self.random, register, &mut slots, &mut point);
                }
            }
            let Point {
                weight,
                fractions,
                rapidity,
            } = point;
            let permutation = permutation_of::<V>(self.permutations, self.first, register);
            for (leg, incoming) in channel.incoming.iter().enumerate() {
                put(
                    self.points,
                    layout.momentum(leg),
                    register,
                    slots.momentum(incoming.momentum),
                );
            }
            let mut whole = zero;
            for (leg, part) in channel.legs.iter().enumerate() {
                let [_, x, y, z] = slots.momentum(part.momentum);
                let square = x.mul_add(x, y.mul_add(y, z.mul_add(z, slots.get(part.square))));
                let energy = square.sqrt();
                whole = whole + energy;
                let [y, z] = if permutation.turned { [-y, -z] } else { [y, z] };
                put(
                    self.points,
                    layout.momentum(permutation.legs[leg] + 2),
                    register,
                    [energy, x, y, z],
                );
            }
            let known = whole.lt(zero.same(f64::INFINITY));
            let weight = V::select(known, weight, zero);
            self.points.store(layout.weight(), register, weight);
            self.points
                .store(layout.fraction(0), register, fractions[0]);
            self.points
                .store(layout.fraction(1), register, fractions[1]);
            self.points
                .store(layout.energy_square(), register, whole * whole);
            self.points.store(layout.rapidity(), register, rapidity);
        }
    }
}

#[inline(always)]
fn put<V: Simd<Scalar = f64>>(rows: &mut Rows, row: usize, register: usize, p: Momentum<V>) {
    for (i, component) in p.into_iter().enumerate() {
        rows.store(row + i, register, component);
    }
}

/// # Safety
/// The CPU must support the level of `V`.
#[inline(always)]
pub unsafe fn load_momentum<V: Simd<Scalar = f64>>(
    rows: &Rows,
    row: usize,
    register: usize,
) -> Momentum<V> {
    // SAFETY: the caller guarantees the level.
    unsafe {
        [
            rows.load(row, register),
            rows.load(row + 1, register),
            rows.load(row + 2, register),
            rows.load(row + 3, register),
        ]
    }
}

/// The values of a point besides its momenta.
struct Point<V> {
    weight: V,
    fractions: [V; 2],
    rapidity: V,
}

/// # Safety
/// The CPU must support the level of `V`.
#[inline(always)]
#[expect(clippy::too_many_lines, reason = "a case for each step")]
unsafe fn forward<V: Simd<Scalar = f64>>(
    step: &Step,
    channel: &Channel,
    random: &Rows,
    register: usize,
    slots: &mut Slots<V>,
    point: &mut Point<V>,
) {
    let Point {
        weight,
        fractions,
        rapidity,
    } = point;
    let zero = weight.same(0.0);
    match step {
        Step::Least { floor, of, to } => least(*floor, of, *to, slots, zero),
        Step::Invariant {
            random: number,
            map,
            least,
            whole,
            without,
            ceiling,
            to,
            measure,
        } => {
            let (from, up_to, possible) = slots.bounds(*least, *whole, without, *ceiling);
            // SAFETY: the caller guarantees the level.
            let at = unsafe { random.load::<V>(*number, register) };
            let (value, slope) = map.forward(at, from, up_to);
            // Rounding must not take the value out of the interval.
            let value = value.max(from).min(up_to);
            slots.set(to.square, value);
            slots.set(to.mass, value.sqrt());
            *weight = V::select(possible, *weight * slope * zero.same(*measure), zero);
        }
        Step::Fractions {
            random: number,
            heavy,
            unequal: [sign, difference],
            map,
            whole,
            measure,
        } => {
            let share =
                slots.get(whole.square) * zero.same(1.0 / (channel.energy * channel.energy));
            *weight = *weight * zero.same(*measure);
            match number {
                Some(number) => {
                    // SAFETY: the caller guarantees the level.
                    let at = unsafe { random.load::<V>(*number, register) };
                    let logarithm = functions::ln(share);
                    let (at, slope) = map.forward(at, zero, zero.same(1.0));
                    *weight = *weight * -logarithm * slope;
                    let first = functions::exp(logarithm * (zero.same(1.0) - at));
                    *fractions = [first, share / first];
                    *rapidity = logarithm * at.neg_mul_add(zero.same(1.0), zero.same(0.5));
                }
                None => {
                    // The light-cone momentum along the beam without partons.
                    let along = share.mul_add(zero.same(1.0 - heavy), zero.same(*heavy));
                    let first = channel.beams == Beams::First;
                    fractions[usize::from(!first)] = share;
                    let half = if first { 0.5 } else { -0.5 };
                    *rapidity = functions::ln(along) * zero.same(half);
                }
            }
            if *sign != 0.0 {
                let ratio = zero.same(*difference) / share + zero.same(1.0);
                *rapidity = functions::ln(ratio).mul_add(zero.same(*sign), *rapidity);
            }
        }
        Step::Radiation {
            random: number,
            resonance,
            least,
            ceiling,
            to,
            logarithm,
        } => {
            let range = Range::new(slots.get(*least), *ceiling, channel.energy);
            // SAFETY: the caller guarantees the level.
            let at = unsafe { random.load::<V>(*number, register) };
            let (part, square) = range.draw(*resonance, at);
            slots.set(*logarithm, part);
            slots.set(to.square, square);
            slots.set(to.mass, square.sqrt());
            let slope = range.slope(*resonance, part, square);
            *weight = V::select(range.possible(), *weight * slope, zero);
        }
        Step::Emissions {
            random: number,
            logarithm,
            measure,
        } => {
            // SAFETY: the caller guarantees the level.
            let at = unsafe { random.load::<V>(*number, register) };
            let (parts, slope) = radiation::divide(slots.get(*logarithm), at);
            *weight = *weight * slope * zero.same(*measure);
            *fractions = [
                radiation::one_minus_x(parts[0]),
                radiation::one_minus_x(parts[1]),
            ];
            *rapidity = (parts[1] - parts[0]) * zero.same(0.5);
        }
        Step::Beams { whole, to } => {
            let (s, mass) = (slots.get(whole.square), slots.get(whole.mass));
            slots.set_momentum(whole.momentum, [mass, zero, zero, zero]);
            let [a, b] = [slots.get(to[0].square), slots.get(to[1].square)];
            let half = zero.same(0.5) / mass;
            let along = lambda_of_masses(s, a.sqrt(), b.sqrt()).sqrt() * half;
            slots.set_momentum(to[0].momentum, [(s + a - b) * half, zero, zero, along]);
            slots.set_momentum(to[1].momentum, [(s + b - a) * half, zero, zero, -along]);
        }
        Step::Decay {
            random: [first, second],
            whole,
            parts,
        } => {
            // SAFETY: the caller guarantees the level.
            let (cosine, angle) = unsafe {
                (
                    random.load::<V>(*first, register),
                    random.load::<V>(*second, register),
                )
            };
            let (s, mass) = (slots.get(whole.square), slots.get(whole.mass));
            let root =
                lambda_of_masses(s, slots.get(parts[0].mass), slots.get(parts[1].mass)).sqrt();
            // The random number is (1 - cosine) / 2.
            let across = zero.same(2.0) * (cosine * (zero.same(1.0) - cosine)).sqrt();
            let along = zero.same(-2.0).mul_add(cosine, zero.same(1.0));
            let (sine, cosine) = functions::sin_cos(angle * zero.same(TAU));
            let size = root * zero.same(0.5) / mass;
            let direction = [across * cosine, across * sine, along];
            divide(slots, *whole, *parts, size, direction);
            *weight = *weight * root * zero.same(1.0 / (8.0 * PI)) / s;
        }
        Step::Scatter {
            random: [first, second],
            map,
            pole,
            transverse,
            incoming,
            whole,
            parts,
            exchanged,
        } => {
            // SAFETY: the caller guarantees the level.
            let (at, angle) = unsafe {
                (
                    random.load::<V>(*first, register),
                    random.load::<V>(*second, register),
                )
            };
            let frame = Scattering::new(slots, *incoming, *whole, *parts);
            let (from, up_to, possible) = frame.bounds(*pole, *transverse);
            let (value, slope) = map.forward(at, from, up_to);
            let value = value.max(from).min(up_to);
            let pole = zero.same(*pole);
            // 1 - cosine, from the forward direction.
            let less = not_negative((value - (pole - frame.forward)) / frame.range_half);
            let less = less.min(zero.same(2.0));
            let across = (less * (zero.same(2.0) - less)).sqrt();
            let along = zero.same(1.0) - less;
            let (sine, cosine) = functions::sin_cos(angle * zero.same(TAU));
            let direction = frame.turned([across * cosine, across * sine, along]);
            divide(slots, *whole, *parts, frame.size, direction);
            exchange(slots, pole - value, *incoming, *parts, *exchanged);
            let scale = slope * zero.same(1.0 / (8.0 * PI)) / frame.root_in;
            *weight = V::select(possible, *weight * scale, zero);
        }
    }
}

#[inline(always)]
fn least<V: Simd<Scalar = f64>>(
    floor: f64,
    of: &[usize],
    to: usize,
    slots: &mut Slots<V>,
    zero: V,
) {
    let mut sum = zero;
    for &slot in of {
        sum = sum + slots.get(slot);
    }
    slots.set(to, sum.max(zero.same(floor)));
}

/// Sets the momenta of two parts: back to back along `direction` in the rest frame of the whole, with modulus `size`.
#[inline(always)]
fn divide<V: Simd<Scalar = f64>>(
    slots: &mut Slots<V>,
    whole: Cluster,
    parts: [Cluster; 2],
    size: V,
    direction: [V; 3],
) {
    let frame = slots.momentum(whole.momentum);
    let mass = slots.get(whole.mass);
    let [x, y, z] = [
        size * direction[0],
        size * direction[1],
        size * direction[2],
    ];
    for (part, [x, y, z]) in parts.into_iter().zip([[x, y, z], [-x, -y, -z]]) {
        let energy = size.mul_add(size, slots.get(part.square)).sqrt();
        slots.set_momentum(part.momentum, boost([energy, x, y, z], frame, mass));
    }
}

/// Sets the exchanged line, as it comes in on either side.
#[inline(always)]
fn exchange<V: Simd<Scalar = f64>>(
    slots: &mut Slots<V>,
    t: V,
    incoming: [Incoming; 2],
    parts: [Cluster; 2],
    exchanged: [Incoming; 2],
) {
    // Each side takes in its beam and the exchanged momentum.
    let first = difference(
        slots.momentum(parts[0].momentum),
        slots.momentum(incoming[0].momentum),
    );
    let second = difference(
        slots.momentum(parts[1].momentum),
        slots.momentum(incoming[1].momentum),
    );
    for (to, p) in exchanged.into_iter().zip([first, second]) {
        slots.set(to.square, t);
        slots.set_momentum(to.momentum, p);
    }
}

/// A 2 -> 2 scattering in its centre of mass.
struct Scattering<V> {
    /// The square root of lambda of the incoming lines.
    root_in: V,
    /// The modulus of the outgoing momenta.
    size: V,
    /// The momentum transfer t in the forward direction, its largest value.
    forward: V,
    /// Half of the range of t.
    range_half: V,
    /// The squared masses of the outgoing lines.
    squares: [V; 2],
    /// Axes: two transverse directions, and that of the first incoming line.
    frame: [[V; 3]; 3],
}

impl<V: Simd<Scalar = f64>> Scattering<V> {
    #[inline(always)]
    fn new(slots: &Slots<V>, incoming: [Incoming; 2], whole: Cluster, parts: [Cluster; 2]) -> Self {
        let (s, mass) = (slots.get(whole.square), slots.get(whole.mass));
        let half = s.same(0.5);
        let [a, b] = [slots.get(incoming[0].square), slots.get(incoming[1].square)];
        let [c, d] = [slots.get(parts[0].square), slots.get(parts[1].square)];
        let masses = [slots.get(parts[0].mass), slots.get(parts[1].mass)];
        let root_in = lambda(s, a, b).sqrt();
        let root_out = lambda_of_masses(s, masses[0], masses[1]).sqrt();
        // t is mean + range_half cosine.
        let range_half = root_in * root_out * half / s;
        let mean = a + c - (s + a - b) * (s + c - d) * half / s;
        let backward = mean - range_half;
        // The sum may lose all digits in the forward direction; the product of both ends does not.
        let product = (a - c) * (b - d) + (a * d - b * c) * (a - b - c + d) / s;
        let safe = (mean + range_half).abs().lt(backward.abs() * s.same(1e-3));
        let forward = V::select(safe, product / backward, mean + range_half);
        let p = slots.momentum(incoming[0].momentum);
        let rest = boost(p, opposite(slots.momentum(whole.momentum)), mass);
        let (along, _) = direction([rest[1], rest[2], rest[3]]);
        let [x, y] = across(along);
        Scattering {
            root_in,
            size: root_out * half / mass,
            forward,
            range_half,
            squares: [c, d],
            frame: [x, y, along],
        }
    }

    /// The bounds of `pole - t`, and whether there is room between them.
    #[inline(always)]
    fn bounds(&self, pole: f64, transverse: [f64; 2]) -> (V, V, V::Mask) {
        let pole = self.forward.same(pole);
        // The incoming lines are stable, so the difference is positive if the pole is.
        let mut least = (pole - self.forward).max(pole * pole.same(f64::EPSILON));
        // See `beside` in channel.rs.
        for (transverse, square) in transverse.into_iter().zip(self.squares) {
            if transverse > 0.0 {
                least = least.max(pole + (pole.same(transverse * transverse) - square));
            }
        }
        let most = pole - self.forward + self.range_half + self.range_half;
        let possible = least.lt(most);
        let most = V::select(possible, most, least + least + pole.same(1.0));
        (least, most, possible)
    }

    #[inline(always)]
    fn turned(&self, [x, y, z]: [V; 3]) -> [V; 3] {
        let mut found = [x; 3];
        for (i, to) in found.iter_mut().enumerate() {
            let [a, b, c] = [self.frame[0][i], self.frame[1][i], self.frame[2][i]];
            *to = x.mul_add(a, y.mul_add(b, z * c));
        }
        found
    }
}

struct Invert<'a> {
    channel: &'a Channel,
    points: &'a Rows,
    permutations: &'a [Permutation],
    first: usize,
    random: &'a mut Rows,
}

impl Task<f64> for Invert<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let channel = self.channel;
        let layout = Layout::new(channel.legs.len() + 2);
        // SAFETY: the caller guarantees the level.
        let zero = unsafe { V::zero() };
        let mut slots = Slots(vec![zero; channel.slots]);
        for register in 0..self.points.registers::<V>() {
            let permutation = permutation_of::<V>(self.permutations, self.first, register);
            for &(legs, part) in &channel.lines {
                let mut whole = [zero; 4];
                for (leg, place) in permutation.legs.iter().enumerate() {
                    if legs & (1 << leg) != 0 {
                        // SAFETY: as above.
                        let p = unsafe {
                            load_momentum(self.points, layout.momentum(place + 2), register)
                        };
                        whole = sum(whole, p);
                    }
                }
                if permutation.turned {
                    whole = [whole[0], whole[1], -whole[2], -whole[3]];
                }
                slots.set_momentum(part.momentum, whole);
                let of = not_negative(square(whole));
                slots.set(part.square, of);
                slots.set(part.mass, of.sqrt());
            }
            for &(slot, value) in &channel.constants {
                slots.set(slot, zero.same(value));
            }
            for (leg, incoming) in channel.incoming.iter().enumerate() {
                // SAFETY: as above.
                let p = unsafe { load_momentum(self.points, layout.momentum(leg), register) };
                slots.set_momentum(incoming.momentum, p);
            }
            // SAFETY: as above.
            let fractions = unsafe {
                [
                    self.points.load::<V>(layout.fraction(0), register),
                    self.points.load::<V>(layout.fraction(1), register),
                ]
            };
            let mut weight = zero.same(1.0);
            for step in &channel.steps {
                backward(
                    step,
                    channel,
                    self.random,
                    register,
                    &mut slots,
                    &mut weight,
                    fractions,
                );
            }
            self.random.store(channel.dimension, register, weight);
        }
    }
}

#[inline(always)]
#[expect(clippy::too_many_lines, reason = "a case for each step")]
fn backward<V: Simd<Scalar = f64>>(
    step: &Step,
    channel: &Channel,
    random: &mut Rows,
    register: usize,
    slots: &mut Slots<V>,
    weight: &mut V,
    fractions: [V; 2],
) {
    let zero = weight.same(0.0);
    match step {
        Step::Least { floor, of, to } => least(*floor, of, *to, slots, zero),
        Step::Invariant {
            random: number,
            map,
            least,
            whole,
            without,
            ceiling,
            to,
            measure,
        } => {
            let (from, up_to, possible) = slots.bounds(*least, *whole, without, *ceiling);
            let (at, slope) = map.inverse(slots.get(to.square), from, up_to);
            random.store(*number, register, at);
            *weight = V::select(possible, *weight * slope * zero.same(*measure), zero);
        }
        Step::Fractions {
            random: number,
            heavy: _,
            unequal: _,
            map,
            whole,
            measure,
        } => {
            *weight = *weight * zero.same(*measure);
            if let Some(number) = number {
                let share =
                    slots.get(whole.square) * zero.same(1.0 / (channel.energy * channel.energy));
                let logarithm = functions::ln(share);
                let at = zero.same(1.0) - functions::ln(fractions[0]) / logarithm;
                let (at, slope) = map.inverse(at, zero, zero.same(1.0));
                *weight = *weight * -logarithm * slope;
                random.store(*number, register, at);
            }
        }
        Step::Radiation {
            random: number,
            resonance,
            least,
            ceiling,
            to,
            logarithm,
        } => {
            let range = Range::new(slots.get(*least), *ceiling, channel.energy);
            let square = slots.get(to.square);
            let part = radiation::inverse_logarithm(fractions[0])
                + radiation::inverse_logarithm(fractions[1]);
            slots.set(*logarithm, part);
            random.store(*number, register, range.number(*resonance, part));
            let slope = range.slope(*resonance, part, square);
            *weight = V::select(range.possible(), *weight * slope, zero);
        }
        Step::Emissions {
            random: number,
            logarithm: _,
            measure,
        } => {
            let parts = [
                radiation::inverse_logarithm(fractions[0]),
                radiation::inverse_logarithm(fractions[1]),
            ];
            let (at, slope) = radiation::undivide(parts);
            random.store(*number, register, at);
            *weight = *weight * slope * zero.same(*measure);
        }
        Step::Beams { .. } => {}
        Step::Decay {
            random: [first, second],
            whole,
            parts,
        } => {
            let (s, mass) = (slots.get(whole.square), slots.get(whole.mass));
            let root =
                lambda_of_masses(s, slots.get(parts[0].mass), slots.get(parts[1].mass)).sqrt();
            let p = slots.momentum(parts[0].momentum);
            let rest = boost(p, opposite(slots.momentum(whole.momentum)), mass);
            let ([x, y, z], _) = direction([rest[1], rest[2], rest[3]]);
            random.store(*first, register, (zero.same(1.0) - z) * zero.same(0.5));
            random.store(*second, register, turns(y, x));
            *weight = *weight * root * zero.same(1.0 / (8.0 * PI)) / s;
        }
        Step::Scatter {
            random: [first, second],
            map,
            pole,
            transverse,
            incoming,
            whole,
            parts,
            exchanged,
        } => {
            let frame = Scattering::new(slots, *incoming, *whole, *parts);
            let p = slots.momentum(parts[0].momentum);
            let t = square(difference(p, slots.momentum(incoming[0].momentum)));
            let (from, up_to, possible) = frame.bounds(*pole, *transverse);
            let (at, slope) = map.inverse(zero.same(*pole) - t, from, up_to);
            random.store(*first, register, at);
            let mass = slots.get(whole.mass);
            let rest = boost(p, opposite(slots.momentum(whole.momentum)), mass);
            let mut of = [zero; 2];
            for (to, axis) in of.iter_mut().zip(frame.frame) {
                *to = rest[1].mul_add(axis[0], rest[2].mul_add(axis[1], rest[3] * axis[2]));
            }
            random.store(*second, register, turns(of[1], of[0]));
            exchange(slots, t, *incoming, *parts, *exchanged);
            let scale = slope * zero.same(1.0 / (8.0 * PI)) / frame.root_in;
            *weight = V::select(possible, *weight * scale, zero);
        }
    }
}

/// The azimuth of a direction, in turns from 0 to 1.
#[inline(always)]
fn turns<V: Simd<Scalar = f64>>(y: V, x: V) -> V {
    let (zero, tiny) = (x.same(0.0), x.same(f64::MIN_POSITIVE));
    let (wide, high) = (x.abs(), y.abs());
    let steep = wide.lt(high);
    let ratio = wide.min(high) / wide.max(high).max(tiny);
    let angle = functions::atan(ratio);
    let angle = V::select(steep, x.same(PI / 2.0) - angle, angle);
    let angle = V::select(x.lt(zero), x.same(PI) - angle, angle);
    let angle = V::select(y.lt(zero), x.same(TAU) - angle, angle);
    angle * x.same(1.0 / TAU)
}
