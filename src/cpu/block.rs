//! One vector of events through a plan.
//!
//! Everything here is generic over the register type and compiled once for each SIMD level.
//! All numbers of the block lie in one array of vectors (see [`crate::plan::kernel`]), the
//! scratch of this file behind those of the plan.

use super::engine::{ColorSum, Engine};
use super::general;
use super::kernels::{self, Direct, Memory, Table};
use super::simd::{Cx, Real, Simd, Task, dispatch_unchecked};
use super::worker::Worker;
use crate::backend::BadMomentum;
use crate::color::{self, sum::Sum};
use crate::events::{Answers, Events};
use crate::plan::kernel::Kernel;
use crate::plan::{Address, Batch, Factor, MomentumSum, Propagator};
use std::time::Instant;

/// How far a momentum may be off its mass shell, relative to its energy squared. MadEvent's are
/// within 1e-9; a wrong mass or a wrong order of particles is far beyond.
const OFF_SHELL: f64 = 1e-4;

/// The events of a chunk, block after block.
pub struct Blocks<'a, 'b, T: Real> {
    pub engine: &'a Engine<T>,
    pub worker: &'a mut Worker<T>,
    pub events: Events<'a>,
    pub answers: Answers<'b>,
}

impl<T: Real> Task<T> for Blocks<'_, '_, T> {
    type Output = Result<(), BadMomentum>;

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(mut self) -> Self::Output {
        let nevt = self.events.g_s.len();
        for first in (0..nevt).step_by(V::LANES) {
            // SAFETY: the caller has the level, and sized the worker's memory for this engine.
            unsafe { self.block::<V>(first, (nevt - first).min(V::LANES))? };
        }
        Ok(())
    }
}

impl<T: Real> Blocks<'_, '_, T> {
    /// Evaluates the events `first..first + count`, of which there are at most `LANES`.
    #[inline(always)]
    unsafe fn block<V: Simd<Scalar = T>>(
        &mut self,
        first: usize,
        count: usize,
    ) -> Result<(), BadMomentum> {
        let engine = self.engine;
        let base = self.worker.vectors();
        // SAFETY: all addresses of the plan and of the engine's scratch lie within the worker's
        // memory, which is as large as the engine asked for; the level is there.
        unsafe {
            let m = Memory::<V>::new(base);
            self.load_events(m, first, count);
            if let Some(lane) = off_shell(m, engine, count) {
                return Err(BadMomentum {
                    event: first + lane,
                });
            }
            self.couplings(m, first, count);
            for sum in &engine.plan.momenta {
                momentum(m, engine.plan.leg_momenta, sum);
            }
            for propagator in &engine.plan.propagators {
                inverse_propagator(m, propagator);
            }
            for f in &engine.plan.factors {
                factor(m, &engine.plan.couplings, f);
            }
            externals::<V>(m, engine, base);
            self.currents::<V>(&engine.plan.currents);
            self.helicities(m, first, count);
            self.answer::<V>(m, first, count);
        }
        Ok(())
    }

    /// Off-shell wavefunctions.
    #[inline(always)]
    unsafe fn currents<V: Simd<Scalar = T>>(&mut self, batches: &[Batch]) {
        let base = self.worker.vectors();
        // SAFETY: addresses of the plan.
        unsafe {
            for batch in batches {
                let operands = &batch.operands;
                match batch.kernel {
                    Kernel::General(i) => {
                        let routine = &self.engine.general[i as usize];
                        general::run::<V, _>(routine, operands, Direct, base);
                    }
                    kernel => kernels::currents::<V, _>(kernel, operands, Direct, base),
                }
            }
        }
    }

    /// Copies momenta into vectors; lanes without an event repeat the last one.
    #[inline(always)]
    unsafe fn load_events<V: Simd<Scalar = T>>(&self, m: Memory<V>, first: usize, count: usize) {
        let plan = &self.engine.plan;
        let numbers = 4 * plan.masses.len();
        let momenta = &self.events.momenta[first * numbers..(first + count) * numbers];
        // SAFETY: within the legs' momenta, and with all lanes within the events'.
        unsafe {
            if count < V::LANES {
                return last_momenta(m.pointer(plan.leg_momenta), V::LANES, momenta, numbers);
            }
            for leg in (0..numbers).step_by(4) {
                let p = V::columns(momenta.as_ptr().add(leg), numbers);
                m.put_momentum(plan.leg_momenta + leg as u32, p);
            }
        }
    }

    /// Couplings at each event's G.
    #[inline(always)]
    unsafe fn couplings<V: Simd<Scalar = T>>(&mut self, m: Memory<V>, first: usize, count: usize) {
        let engine = self.engine;
        // SAFETY: addresses of the plan and the scratch.
        unsafe {
            let g = self.lanes(m, first, count, self.events.g_s);
            for law in &engine.polynomials {
                let mut value = Cx::new(V::zero(), V::zero());
                for &(re, im) in law.coefficients.iter().rev() {
                    value = Cx::new(
                        value.re.mul_add(g, V::splat(re)),
                        value.im.mul_add(g, V::splat(im)),
                    );
                }
                m.put_complex(law.address, value);
            }
            if engine.binding.has_formulas() {
                for lane in 0..V::LANES {
                    let event = first + lane.min(count - 1);
                    let values = &mut self.worker.couplings;
                    engine.binding.evaluate(self.events.g_s[event], values);
                    for (&address, value) in engine.plan.couplings.iter().zip(values) {
                        *lane_of(m, address, lane) = T::from_f64(value.re);
                        *lane_of(m, address + 1, lane) = T::from_f64(value.im);
                    }
                }
            }
        }
    }

    /// Amplitudes, colour flows and |M|^2 of every good helicity.
    #[inline(always)]
    unsafe fn helicities<V: Simd<Scalar = T>>(&mut self, m: Memory<V>, first: usize, count: usize) {
        let engine = self.engine;
        let plan = &engine.plan;
        let scratch = &engine.scratch;
        let weights = self.worker.weights(engine, &self.events, first, count);
        let colors = self.events.channels.is_some()
            || self
                .events
                .igraph
                .is_some_and(|g| g[first..first + count].iter().any(|&g| g != 0));
        let profile = engine.profile;
        // SAFETY: addresses of the plan and the scratch.
        unsafe {
            if colors {
                for flow in 0..plan.flows as u32 {
                    m.put_real(scratch.jamp2 + flow, V::zero());
                }
            }
            if weights {
                m.put_real(scratch.denominator, V::zero());
                for i in 0..self.worker.amp2.len() as u32 {
                    m.put_real(scratch.numerators + i, V::zero());
                }
            }
            if weights && !plan.channels.squares.is_empty() {
                self.squares(m);
            }
            let mut done = 0;
            let mut turns = plan.turns.iter().peekable();
            for (group, at) in plan.groups.iter().zip(0..) {
                if let Some(turn) = turns.next_if(|turn| turn.group == at) {
                    self.currents::<V>(&turn.currents);
                }
                let start = profile.then(Instant::now);
                self.amplitudes::<V>(group);
                if weights {
                    self.amp2(m);
                }
                if let Some(start) = start {
                    self.worker.timers.amplitudes += start.elapsed();
                }
                for (&h, place) in group.iter().zip(0..) {
                    let start = profile.then(Instant::now);
                    let mine = m.shifted(place * plan.region);
                    sums(mine, engine);
                    if colors {
                        for flow in 0..plan.flows as u32 {
                            let jamp = mine.complex(plan.jamp_base + 2 * flow);
                            let sum = m.real(scratch.jamp2 + flow);
                            let sum = jamp.re.mul_add(jamp.re, jamp.im.mul_add(jamp.im, sum));
                            m.put_real(scratch.jamp2 + flow, sum);
                        }
                    }
                    let middle = profile.then(Instant::now);
                    match &engine.color {
                        ColorSum::Same(color) => V::call(Sum {
                            color,
                            jamp: lane_of(mine, plan.jamp_base, 0),
                            scratch: lane_of(m, scratch.color, 0),
                            result: lane_of(m, scratch.matrix_elements + h, 0),
                        }),
                        ColorSum::Single(color) => self.color_single(m, mine, color, done),
                    }
                    done += 1;
                    if let (Some(start), Some(middle)) = (start, middle) {
                        self.worker.timers.amplitudes += middle - start;
                        self.worker.timers.color += middle.elapsed();
                    }
                }
            }
        }
    }

    /// The amplitudes of a group of helicities.
    #[inline(always)]
    unsafe fn amplitudes<V: Simd<Scalar = T>>(&mut self, group: &[u32]) {
        let engine = self.engine;
        let plan = &engine.plan;
        let base = self.worker.vectors();
        let table = |h: u32| Table(&plan.tables[h as usize]);
        // SAFETY: addresses of the plan.
        unsafe {
            for batch in &plan.amplitudes {
                let operands = &batch.operands;
                match (batch.kernel, group) {
                    (Kernel::Dots, &[a, b]) => {
                        let tables = [table(a), table(b)];
                        kernels::dots_of_two::<V>(operands, tables, plan.region, base);
                    }
                    (Kernel::General(i), &[h, ..]) => {
                        let routine = &engine.general[i as usize];
                        general::run::<V, _>(routine, operands, table(h), base);
                    }
                    (kernel, &[h, ..]) => {
                        kernels::amplitudes::<V, _>(kernel, operands, table(h), base);
                    }
                    (_, []) => {}
                }
            }
        }
    }

    /// Colour sum in single precision (mixed mode). A register holds twice as many numbers in
    /// single as in double precision: the two halves are two helicities of the same events. `mine` is
    /// the memory as the helicity sees it, of which `done` came before.
    #[inline(always)]
    unsafe fn color_single<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        mine: Memory<V>,
        color: &color::ColorSum<f32>,
        done: usize,
    ) {
        let engine = self.engine;
        let plan = &engine.plan;
        let single = self.worker.single_vectors();
        let lanes = V::LEVEL.lanes::<f32>();
        let halves = lanes / V::LANES;
        let half = done % halves;
        // SAFETY: addresses of the plan; the single-precision memory holds `lanes` numbers for
        // each of the 2 * flows vectors, as many for the result, and the sum's scratch.
        unsafe {
            for i in 0..2 * plan.flows {
                let from = lane_of(mine, plan.jamp_base + i as u32, 0);
                let to = single.add(i * lanes + half * V::LANES);
                V::load(from).store_single(to);
            }
            let last = done + 1 == plan.tables.len();
            if half + 1 < halves && !last {
                return;
            }
            let result = single.add(2 * plan.flows * lanes);
            let sum = Sum {
                color,
                jamp: single,
                scratch: result.add(lanes),
                result,
            };
            dispatch_unchecked(V::LEVEL, sum);
            for filled in 0..=half {
                let h = engine.order[done - half + filled];
                let to = lane_of(m, engine.scratch.matrix_elements + h, 0);
                for lane in 0..V::LANES {
                    let value = *result.add(filled * V::LANES + lane);
                    *to.add(lane) = T::from_f64(f64::from(value));
                }
            }
        }
    }

    /// Computes AMP2 where the plan has operations for them.
    #[inline(always)]
    unsafe fn squares<V: Simd<Scalar = T>>(&mut self, m: Memory<V>) {
        let channels = &self.engine.plan.channels;
        let scratch = &self.engine.scratch;
        let base = self.worker.vectors();
        // SAFETY: addresses of the plan and the scratch.
        unsafe {
            for batch in &channels.squares {
                kernels::currents::<V, _>(batch.kernel, &batch.operands, Direct, base);
            }
            let mut total = V::zero();
            for &i in &channels.denominator {
                total = total + m.real(channels.totals[i as usize]);
            }
            m.put_real(scratch.denominator, total);
            for (slot, &i) in self.worker.amp2.iter().enumerate() {
                let value = m.real(channels.totals[i as usize]);
                m.put_real(scratch.numerators + slot as u32, value);
            }
        }
    }

    /// Adds |AMP|^2 of single diagrams to the channels' numerators and to the denominator.
    #[inline(always)]
    unsafe fn amp2<V: Simd<Scalar = T>>(&self, m: Memory<V>) {
        let channels = &self.engine.plan.channels;
        let scratch = &self.engine.scratch;
        // SAFETY: addresses of the plan and the scratch.
        unsafe {
            if channels.amp2.is_empty() {
                return;
            }
            let mut total = m.real(scratch.denominator);
            for &i in &channels.denominator {
                total = squares(m, &channels.amp2[i as usize], total);
            }
            m.put_real(scratch.denominator, total);
            for (slot, &i) in self.worker.amp2.iter().enumerate() {
                let at = scratch.numerators + slot as u32;
                let sum = squares(m, &channels.amp2[i as usize], m.real(at));
                m.put_real(at, sum);
            }
        }
    }

    /// From sums over helicities to the answer for each event.
    #[inline(always)]
    unsafe fn answer<V: Simd<Scalar = T>>(&mut self, m: Memory<V>, first: usize, count: usize) {
        let engine = self.engine;
        let scratch = &engine.scratch;
        let Events {
            random_helicity,
            random_color,
            ..
        } = self.events;
        // SAFETY: addresses of the plan and the scratch; lanes below `LANES`.
        unsafe {
            let contributions = scratch.matrix_elements..;
            let contributions = contributions.take(engine.plan.tables.len());
            let mut total = V::zero();
            for address in contributions.clone() {
                total = total + m.real(address);
            }
            let mut value = total * total.same(engine.normalization);
            if self.events.channels.is_some() {
                value = value * self.channel_weights(m);
            }
            let answers = &mut self.answers.matrix_elements[first..first + count];
            if count == V::LANES {
                value.store_doubles(answers.as_mut_ptr());
            } else {
                m.put_real(scratch.lanes, value);
                spread(m, scratch.lanes, answers, |x| x.to_f64());
            }
            let random = self.lanes(m, first, count, random_helicity);
            let numbers = engine.plan.helicities.iter().copied();
            let chosen = choose(m, random, total, numbers.zip(contributions));
            let answers = &mut self.answers.helicity[first..first + count];
            if count == V::LANES {
                chosen.store_integers(answers.as_mut_ptr());
            } else {
                m.put_real(scratch.lanes, chosen);
                spread(m, scratch.lanes, answers, |x| x.to_f64() as i32);
            }
            if self.events.channels.is_none() && self.events.igraph.is_none() {
                self.answers.color[first..first + count].fill(0);
                return;
            }
            self.configurations(first, count);
            if self.worker.configs.iter().all(Option::is_none) {
                self.answers.color[first..first + count].fill(0);
                return;
            }
            let random = self.lanes(m, first, count, random_color);
            for lane in 0..count {
                self.answers.color[first + lane] = 0;
                // Once for each configuration that occurs.
                let Some(config) = self.worker.configs[lane] else {
                    continue;
                };
                let before = &self.worker.configs[..lane];
                if let Some(same) = before.iter().position(|c| *c == Some(config)) {
                    let chosen = (*lane_of(m, scratch.choices + same as u32, lane)).to_f64();
                    self.answers.color[first + lane] = chosen as i32;
                    continue;
                }
                let allowed = &engine.color_allowed[config as usize];
                let jamp2 = allowed.iter().map(|&flow| (flow, scratch.jamp2 + flow));
                let mut total = V::zero();
                for (_, address) in jamp2.clone() {
                    total = total + m.real(address);
                }
                let chosen = choose(m, random, total, jamp2);
                m.put_real(scratch.choices + lane as u32, chosen);
                let chosen = (*lane_of(m, scratch.choices + lane as u32, lane)).to_f64();
                self.answers.color[first + lane] = chosen as i32;
            }
        }
    }

    /// For each lane the share of its channel in the sum of AMP2.
    #[inline(always)]
    unsafe fn channel_weights<V: Simd<Scalar = T>>(&self, m: Memory<V>) -> V {
        let scratch = &self.engine.scratch;
        // SAFETY: addresses of the scratch; lanes below `LANES`.
        unsafe {
            let mut numerator = m.real(scratch.numerators);
            if self.worker.amp2.len() > 1 {
                for (lane, &slot) in self.worker.slots.iter().enumerate() {
                    *lane_of(m, scratch.lanes, lane) = *lane_of(m, scratch.numerators + slot, lane);
                }
                numerator = m.real(scratch.lanes);
            }
            let denominator = m.real(scratch.denominator);
            let one = denominator.same(1.0);
            V::select(denominator.eq(V::zero()), one, numerator / denominator)
        }
    }

    /// One number of each event as a vector; lanes without an event repeat the last one.
    #[inline(always)]
    unsafe fn lanes<V: Simd<Scalar = T>>(
        &self,
        m: Memory<V>,
        first: usize,
        count: usize,
        numbers: &[f64],
    ) -> V {
        let numbers = &numbers[first..first + count];
        // SAFETY: an address of the scratch; `LANES` numbers to read, or to write in the scratch.
        unsafe {
            if count == V::LANES {
                return V::load_doubles(numbers.as_ptr());
            }
            let at = m.pointer(self.engine.scratch.lanes);
            for lane in 0..V::LANES {
                *at.add(lane) = T::from_f64(numbers[lane.min(count - 1)]);
            }
            V::load(at)
        }
    }

    /// Notes for each event of the block the configuration (from 0) by which its colour is chosen.
    #[inline(always)]
    fn configurations(&mut self, first: usize, count: usize) {
        let engine = self.engine;
        let events = &self.events;
        let config = |event: usize| {
            if let Some(igraph) = events.igraph
                && igraph[event] != 0
            {
                return Some(igraph[event] as u32 - 1);
            }
            let channel = events.channels?[event];
            engine.config_of_channel[channel as usize]
        };
        let configs = &mut self.worker.configs;
        configs.clear();
        configs.extend((first..first + count).map(config));
    }
}

/// Copies the momenta of fewer events than lanes into vectors; lanes without an event repeat the last
/// one. An event has so many `numbers`.
///
/// # Safety
/// `to` is valid for a write of `lanes` times the numbers of an event.
#[cold]
#[inline(never)]
unsafe fn last_momenta<T: Real>(to: *mut T, lanes: usize, momenta: &[f64], numbers: usize) {
    let last = momenta.len() / numbers - 1;
    for lane in 0..lanes {
        let event = &momenta[lane.min(last) * numbers..][..numbers];
        for (i, &x) in event.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *to.add(i * lanes + lane) = T::from_f64(x) };
        }
    }
}

/// From a vector to one number for each event, of which there are fewer than lanes.
#[inline(always)]
unsafe fn spread<V: Simd, T>(
    m: Memory<V>,
    at: Address,
    numbers: &mut [T],
    convert: impl Fn(V::Scalar) -> T,
) {
    for (lane, number) in numbers.iter_mut().enumerate() {
        // SAFETY: the caller gives a valid address, and at most `LANES` numbers.
        *number = unsafe { convert(*lane_of(m, at, lane)) };
    }
}

/// For each lane the first of some numbers (counted from 1) whose running share exceeds a random
/// number; 0 if none does. `parts` are the numbers and where their shares stand.
#[inline(always)]
unsafe fn choose<V: Simd>(
    m: Memory<V>,
    random: V,
    total: V,
    parts: impl Iterator<Item = (u32, Address)>,
) -> V {
    // SAFETY: the caller gives valid addresses.
    unsafe {
        let mut running = V::zero();
        let mut chosen = V::zero();
        for (number, address) in parts {
            running = running + m.real(address);
            let open = chosen.eq(V::zero());
            let hit = V::both(open, random.lt(running / total));
            chosen = V::select(hit, total.same(f64::from(number + 1)), chosen);
        }
        chosen
    }
}

/// The first lane with a momentum that is not finite, has no positive energy or is off its mass
/// shell.
#[inline(always)]
unsafe fn off_shell<V: Simd>(
    m: Memory<V>,
    engine: &Engine<V::Scalar>,
    count: usize,
) -> Option<usize> {
    // SAFETY: addresses of the plan and the scratch.
    unsafe {
        let zero = V::zero();
        let mut good = zero.eq(zero);
        for (leg, &mass) in engine.plan.masses.iter().enumerate() {
            let p = |i: u32| m.real(engine.plan.leg_momenta + 4 * leg as u32 + i);
            let (e, x, y, z) = (p(0), p(1), p(2), p(3));
            let e2 = e * e;
            let p2 = x.mul_add(x, y.mul_add(y, z.mul_add(z, e.same(mass * mass))));
            // Comparisons are false for NaN, infinity minus infinity is NaN, and no number is less
            // than itself.
            let near = (e2 - p2).abs().lt(e2 * e.same(OFF_SHELL));
            good = V::both(good, V::both(near, zero.lt(e)));
        }
        if V::all(good) {
            return None;
        }
        let at = engine.scratch.check;
        m.put_real(at, V::select(good, zero, zero.same(1.0)));
        (0..count).find(|&lane| (*lane_of(m, at, lane)).to_f64() != 0.0)
    }
}

#[inline(always)]
unsafe fn momentum<V: Simd>(m: Memory<V>, legs: Address, sum: &MomentumSum) {
    // SAFETY: addresses of the plan.
    unsafe {
        for component in 0..4 {
            let mut total = V::zero();
            for (leg, &sign) in sum.signs.iter().enumerate() {
                if sign != 0 {
                    let p = m.real(legs + 4 * leg as u32 + component);
                    total = if sign > 0 { total + p } else { total - p };
                }
            }
            m.put_real(sum.address + component, total);
        }
    }
}

#[inline(always)]
unsafe fn inverse_propagator<V: Simd>(m: Memory<V>, propagator: &Propagator) {
    // SAFETY: addresses of the plan.
    unsafe {
        let p = |i: u32| m.real(propagator.momentum + i);
        let (e, x, y, z) = (p(0), p(1), p(2), p(3));
        // p^2 - m (m - i width)
        let re = e * e - x * x - y * y - z * z - e.same(propagator.mass * propagator.mass);
        let im = propagator.mass * propagator.width;
        let one = e.same(1.0);
        let inverse = if im == 0.0 {
            Cx::new(one / re, V::zero())
        } else {
            let im = e.same(im);
            let scale = one / re.mul_add(re, im * im);
            Cx::new(re * scale, -(im * scale))
        };
        m.put_complex(propagator.address, inverse);
    }
}

#[inline(always)]
unsafe fn factor<V: Simd>(m: Memory<V>, couplings: &[Address], factor: &Factor) {
    // SAFETY: addresses of the plan.
    unsafe {
        let mut value = Cx::new(V::zero(), V::zero());
        for &(i, c) in &factor.terms {
            let coupling = m.complex(couplings[i as usize]);
            let constant = Cx::new(value.re.same(c.re), value.re.same(c.im));
            value = constant.mul_add(coupling, value);
        }
        if let Some(propagator) = factor.propagator {
            value = value * m.complex(propagator);
        }
        m.put_complex(factor.address, value);
    }
}

#[inline(always)]
unsafe fn externals<V: Simd>(m: Memory<V>, engine: &Engine<V::Scalar>, base: *mut V::Scalar) {
    for e in &engine.plan.externals {
        // SAFETY: addresses of the plan.
        unsafe {
            let p = |i: u32| m.real(engine.plan.leg_momenta + 4 * e.leg + i);
            let momentum = [p(0), p(1), p(2), p(3)];
            let mass = (e.mass != 0.0).then(|| momentum[0].same(e.mass));
            kernels::external(
                e.kind,
                e.sign,
                mass,
                momentum,
                &e.helicities,
                &e.results,
                base,
            );
        }
    }
}

/// One number of a vector.
#[inline(always)]
unsafe fn lane_of<V: Simd>(m: Memory<V>, address: Address, lane: usize) -> *mut V::Scalar {
    // SAFETY: the caller gives an address of the plan or the scratch, and lane < LANES.
    unsafe { m.pointer(address).add(lane) }
}

#[inline(always)]
unsafe fn squares<V: Simd>(m: Memory<V>, squares: &[Vec<Address>], mut total: V) -> V {
    // SAFETY: addresses of the plan.
    unsafe {
        for square in squares {
            let mut sum = m.complex(square[0]);
            for &a in &square[1..] {
                sum = sum + m.complex(a);
            }
            total = sum.re.mul_add(sum.re, sum.im.mul_add(sum.im, total));
        }
    }
    total
}

/// The linear combinations that lead from amplitudes to JAMP.
#[inline(always)]
pub(super) unsafe fn sums<V: Simd>(m: Memory<V>, engine: &Engine<V::Scalar>) {
    let mut units = &engine.plan.jamp.units[..];
    let mut terms = &engine.jamp_terms[..];
    // SAFETY: addresses of the plan.
    unsafe {
        for sum in &engine.plan.jamp.sums {
            let mut z = Cx::new(V::zero(), V::zero());
            for &x in front(&mut units, sum.units[0]) {
                z = z + m.complex(x);
            }
            for &x in front(&mut units, sum.units[1]) {
                z = z - m.complex(x);
            }
            for &x in front(&mut units, sum.units[2]) {
                z = z.add_i(m.complex(x));
            }
            for &x in front(&mut units, sum.units[3]) {
                z = z.sub_i(m.complex(x));
            }
            for term in front(&mut terms, sum.terms) {
                z.re = V::splat(term.factor_re).mul_add(m.real(term.re), z.re);
                z.im = V::splat(term.factor_im).mul_add(m.real(term.im), z.im);
            }
            m.put_complex(sum.address, z);
        }
    }
}

/// Takes so many from the front, if there are as many.
#[inline(always)]
fn front<'a, T>(rest: &mut &'a [T], count: u32) -> &'a [T] {
    let (front, behind) = rest.split_at(rest.len().min(count as usize));
    *rest = behind;
    front
}
