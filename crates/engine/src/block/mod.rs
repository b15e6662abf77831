//! Evaluates a plan for one vector of events.
//!
//! Everything here is generic over the register type and compiled once for each SIMD level. All numbers of the block
//! are in one array of vectors (see [`mebridge_ops::opcode`]); the scratch of this module follows the numbers of the
//! plan.

mod answer;
mod choice;
mod color_ordered;
mod momentum_check;
mod propagators;
mod sample;
mod start;

use super::at_once::HelicityPortions;
use super::color::{self, ColorSumTask};
use super::engine::{ColorSum, Engine};
use super::pairs::BatchStep;
use super::squares::{ChannelSquares, Squares};
use super::worker::Worker;
use mebridge_backend::BadMomentum;
use mebridge_backend::inputs::{Inputs, Outputs, PerEvent};
use mebridge_backend::sample::{Rows, Sample};
use mebridge_ops::general;
use mebridge_ops::kernels::{self, Direct, Memory, Table};
use mebridge_ops::opcode::Opcode;
use mebridge_ops::{Address, Batch};
use mebridge_plan::Operations;
use mebridge_simd::{Real, Simd, Task, dispatch_unchecked};
use std::time::Instant;

/// The events of a chunk, to be evaluated in blocks of one vector.
pub struct EventBlocks<'a, 'b, T: Real> {
    pub engine: &'a Engine<T>,
    pub worker: &'a mut Worker<T>,
    pub inputs: Inputs<'a>,
    pub outputs: Outputs<'b>,
    /// Further inputs and outputs of a sample.
    pub sample: Option<Sampled<'a, 'b>>,
}

/// Inputs and outputs of a sample that [`Inputs`] and [`Outputs`] do not hold.
pub struct Sampled<'a, 'b> {
    /// The inputs.
    pub request: &'a Sample<'a>,
    /// The chosen diagrams.
    pub diagram: &'b mut [i32],
    /// Shares of the squared diagrams.
    pub amp2: Option<Rows<'b>>,
}

impl<T: Real> Task<T> for EventBlocks<'_, '_, T> {
    type Output = Result<(), BadMomentum>;

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(mut self) -> Self::Output {
        let nevt = self.inputs.points.count();
        for first in (0..nevt).step_by(V::LANES) {
            // SAFETY: the caller guarantees that the CPU supports the level and the worker's memory fits this engine.
            unsafe { self.block::<V>(first, (nevt - first).min(V::LANES))? };
        }
        Ok(())
    }
}

impl<T: Real> EventBlocks<'_, '_, T> {
    /// Evaluates the events `first..first + count`, at most `LANES` of them.
    #[inline(always)]
    unsafe fn block<V: Simd<Scalar = T>>(
        &mut self,
        first: usize,
        count: usize,
    ) -> Result<(), BadMomentum> {
        let engine = self.engine;
        let base = self.worker.vectors();
        // SAFETY: all addresses of the plan and of the engine's scratch lie within the worker's memory, which has the
        // size that the engine requires; the CPU supports the level.
        unsafe {
            let m = Memory::<V>::new(base);
            self.start(m, first, count)?;
            self.currents::<V>(&engine.plan.operations().currents, &engine.currents);
            self.helicities(m, first, count);
            self.answer::<V>(m, first, count);
        }
        Ok(())
    }

    /// Computes off-shell wavefunctions or the terms of squared diagrams, by executing the steps made for these
    /// batches.
    #[inline(always)]
    unsafe fn currents<V: Simd<Scalar = T>>(&mut self, batches: &[Batch], steps: &[BatchStep]) {
        let base = self.worker.vectors();
        // SAFETY: addresses from the plan lie within the worker's memory.
        unsafe {
            for step in steps {
                let batch = match step {
                    BatchStep::Whole(number) => &batches[*number],
                    BatchStep::Alone(batch) => batch,
                    BatchStep::Two(opcode, operands) => {
                        kernels::spinors_of_two::<V>(*opcode, operands, base);
                        continue;
                    }
                };
                let operands = &batch.operands;
                match batch.opcode {
                    Opcode::General(i) => {
                        let routine = &self.engine.general[i as usize];
                        general::run::<V, _>(routine, operands, Direct, base);
                    }
                    opcode => kernels::currents::<V, _>(opcode, operands, Direct, base),
                }
            }
        }
    }

    /// Computes amplitudes, colour flows and |M|^2 of every good helicity.
    #[inline(always)]
    unsafe fn helicities<V: Simd<Scalar = T>>(&mut self, m: Memory<V>, first: usize, count: usize) {
        let engine = self.engine;
        let plan = &engine.plan;
        let scratch = &engine.scratch;
        let weights = self.worker.weights(engine, &self.inputs, first, count);
        let each = self.worker.single_helicities.is_some();
        let colors = each || self.asks_for_colors(first, count);
        let profile = self.worker.profile;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            if colors {
                for flow in 0..engine.color_flows() as u32 {
                    m.put_real(scratch.jamp2 + flow, V::zero());
                }
            }
            if weights {
                m.put_real(scratch.denominator, V::zero());
                for i in 0..self.worker.amp2.len() as u32 {
                    m.put_real(scratch.numerators + i, V::zero());
                }
            }
            if weights && !plan.channels().squares.is_empty() {
                self.squares(m);
            }
            if let Some(loops) = plan.loops() {
                return self.loops(m, loops, colors);
            }
            if let (Some(at_once), false) = (&engine.at_once, each) {
                return self.at_once(m, at_once, weights, colors);
            }
            let mut done = 0;
            let operations = plan.operations();
            let mut tiles = operations.tiles.iter().zip(&engine.tiles).peekable();
            let groups = engine.groups.helicities.iter();
            for (group, at) in groups.zip(0..) {
                if let Some(&(tile, steps)) = tiles.peek()
                    && tile.group == at
                {
                    self.currents::<V>(&tile.currents, steps);
                    tiles.next();
                }
                let start = profile.then(Instant::now);
                self.amplitudes::<V>(operations, group);
                if let Some(start) = start {
                    self.worker.timers.amplitudes += start.elapsed();
                }
                let stride = engine.groups.pair_stride;
                if each {
                    for (&h, place) in group.iter().zip(0..) {
                        let local = m.shifted(place * stride);
                        self.clear(m);
                        self.squares_and_jamps([local.pointer(0)], m, weights, colors);
                        self.color_sum(m, local, h, done);
                        self.note_each(m, local);
                        done += 1;
                    }
                    continue;
                }
                let first = m.pointer(0);
                match group[..] {
                    [_, _] => {
                        let second = m.pointer(stride);
                        self.squares_and_jamps([first, second], m, weights, colors);
                    }
                    _ => self.squares_and_jamps([first], m, weights, colors),
                }
                for (&h, place) in group.iter().zip(0..) {
                    let local = m.shifted(place * stride);
                    self.color_sum(m, local, h, done);
                    done += 1;
                }
            }
        }
    }

    /// Like `helicities`, for several small helicities at a time.
    #[inline(always)]
    unsafe fn at_once<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        all: &HelicityPortions<T>,
        weights: bool,
        colors: bool,
    ) {
        let base = self.worker.vectors();
        let mut done = 0;
        for portion in &all.portions {
            let start = self.worker.profile.then(Instant::now);
            let two = [Table(&portion.tables[0]), Table(&portion.tables[1])];
            // SAFETY: addresses from the plan, the scratch and the portion's own memory lie within the worker's memory.
            unsafe {
                for batch in &portion.batches {
                    let operands = &batch.operands;
                    match (batch.opcode, all.in_pairs) {
                        (Opcode::General(i), _) => {
                            let routine = &self.engine.general[i as usize];
                            general::run::<V, _>(routine, operands, two[0], base);
                        }
                        (opcode, false) => {
                            kernels::amplitudes::<V, _>(opcode, operands, two[0], base);
                        }
                        (Opcode::Dots, true) => {
                            kernels::dots_of_two::<V>(operands, two, all.stride, base);
                        }
                        (opcode, true) => {
                            kernels::products_of_two::<V>(opcode, operands, two, all.stride, base);
                        }
                    }
                }
                if weights {
                    self.amp2(&portion.amp2, m, m);
                }
                let jamp = &portion.jamp;
                match (all.in_pairs, colors) {
                    (false, false) => jamp.add_up::<V, 1, false>([base], base),
                    (false, true) => jamp.add_up::<V, 1, true>([base], base),
                    (true, false) => {
                        jamp.add_up::<V, 2, false>([base, m.pointer(all.stride)], base);
                    }
                    (true, true) => {
                        jamp.add_up::<V, 2, true>([base, m.pointer(all.stride)], base);
                    }
                }
            }
            if let Some(start) = start {
                self.worker.timers.amplitudes += start.elapsed();
            }
            for &(h, offset) in &portion.helicities {
                // SAFETY: `offset` is that of this helicity's JAMPs.
                unsafe { self.color_sum(m, m.shifted(offset), h, done) };
                done += 1;
            }
        }
    }

    /// Whether a colour is to be chosen for any of these events.
    fn asks_for_colors(&self, first: usize, count: usize) -> bool {
        let of_sample = |sample: &Sampled| sample.request.diagrams;
        let of_config = |config: PerEvent| config.part(first, count).has_some();
        self.inputs.config.is_some_and(of_config) || self.sample.as_ref().is_some_and(of_sample)
    }

    /// Computes JAMPs from the amplitudes of N helicities, AMP2 if `weights` is set, and JAMP2 if `colors` is set.
    /// `local` points to the memory at each helicity's offset.
    #[inline(always)]
    unsafe fn squares_and_jamps<V: Simd<Scalar = T>, const N: usize>(
        &mut self,
        local: [*mut T; N],
        m: Memory<V>,
        weights: bool,
        colors: bool,
    ) {
        let engine = self.engine;
        let start = self.worker.profile.then(Instant::now);
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            if weights {
                for local in local {
                    self.amp2(&engine.amp2, m, Memory::new(local));
                }
            }
            let all = m.pointer(0);
            if !colors {
                engine.jamp.add_up::<V, N, false>(local, all);
            } else if engine.flow_weights.is_empty() {
                engine.jamp.add_up::<V, N, true>(local, all);
            } else {
                engine.jamp.add_up::<V, N, false>(local, all);
                for local in local {
                    self.weigh_flows(m, Memory::new(local));
                }
            }
        }
        if let Some(start) = start {
            self.worker.timers.amplitudes += start.elapsed();
        }
    }

    /// Computes the colour sum of a helicity whose JAMPs are in `local`, the memory at its offset. `done` helicities
    /// came before.
    #[inline(always)]
    unsafe fn color_sum<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        local: Memory<V>,
        h: u32,
        done: usize,
    ) {
        let engine = self.engine;
        let plan = &engine.plan;
        let scratch = &engine.scratch;
        let start = self.worker.profile.then(Instant::now);
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            match &engine.color {
                // Too little work for a call.
                ColorSum::Same(color::ColorSum { only: Some(c), .. }) => {
                    let jamp = local.complex(plan.jamp_base);
                    let c = V::splat(*c);
                    let square = jamp.re * (c * jamp.re) + jamp.im * (c * jamp.im);
                    m.put_real(scratch.matrix_elements + h, square);
                }
                ColorSum::Same(color) => V::call(ColorSumTask {
                    color,
                    jamp: lane_of(local, plan.jamp_base, 0),
                    scratch: lane_of(m, scratch.color, 0),
                    result: lane_of(m, scratch.matrix_elements + h, 0),
                }),
                ColorSum::Single(color) => self.color_single(m, local, color, done),
            }
            if let Some(start) = start {
                self.worker.timers.color += start.elapsed();
            }
        }
    }

    /// Sets AMP2 and JAMP2 to zero.
    #[inline(always)]
    unsafe fn clear<V: Simd<Scalar = T>>(&self, m: Memory<V>) {
        let scratch = &self.engine.scratch;
        // SAFETY: addresses of the scratch lie within the worker's memory.
        unsafe {
            for i in 0..self.worker.amp2.len() as u32 {
                m.put_real(scratch.numerators + i, V::zero());
            }
            for flow in 0..self.engine.color_flows() as u32 {
                m.put_real(scratch.jamp2 + flow, V::zero());
            }
        }
    }

    /// Records AMP2, JAMP2 and JAMPs of the first event for the current helicity, or for the helicities in the lanes.
    /// `local` is the memory at the helicity's offset.
    #[inline(always)]
    unsafe fn note_each<V: Simd<Scalar = T>>(&mut self, m: Memory<V>, local: Memory<V>) {
        let scratch = &self.engine.scratch;
        let amp2 = self.worker.amp2.len();
        let flows = self.engine.color_flows();
        let lanes = self.engine.helicity_lanes();
        let plan = &self.engine.plan;
        let Some(each) = &mut self.worker.single_helicities else {
            return;
        };
        // SAFETY: addresses of the plan and the scratch lie within the worker's memory; they are contiguous.
        unsafe {
            by_lanes(m, scratch.numerators, amp2, lanes, &mut each.amp2);
            by_lanes(m, scratch.jamp2, flows, lanes, &mut each.jamp2);
            if let Some(jamps) = &mut each.jamps {
                by_lanes(local, plan.jamp_base, 2 * plan.flows, lanes, jamps);
            }
        }
    }

    /// Adds to JAMP2 for processes with split coupling orders. `local` is the memory at the helicity's offset.
    #[inline(always)]
    unsafe fn weigh_flows<V: Simd<Scalar = T>>(&self, m: Memory<V>, local: Memory<V>) {
        let engine = self.engine;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory; flow weights name
        // the process's JAMPs.
        unsafe {
            let jamps = local.shifted(engine.plan.jamp_base);
            for (of_flow, flow) in engine.flow_weights.iter().zip(0..) {
                let mut total = m.real(engine.scratch.jamp2 + flow);
                for pairs in &of_flow.moduli {
                    let mut sum = V::zero();
                    for &(a, b) in pairs {
                        let (a, b) = (jamps.complex(2 * a), jamps.complex(2 * b));
                        sum = a.re.mul_add(b.re, a.im.mul_add(b.im, sum));
                    }
                    total = total + sum.abs();
                }
                m.put_real(engine.scratch.jamp2 + flow, total);
            }
        }
    }

    /// Computes the amplitudes of a group of helicities.
    #[inline(always)]
    unsafe fn amplitudes<V: Simd<Scalar = T>>(&mut self, operations: &Operations, group: &[u32]) {
        let engine = self.engine;
        let base = self.worker.vectors();
        let tables = &operations.tables;
        // SAFETY: addresses from the plan lie within the worker's memory.
        unsafe {
            for batch in &operations.amplitudes {
                let operands = &batch.operands;
                match (batch.opcode, group) {
                    (opcode, &[a, b]) => {
                        let two = [Table(&tables[a as usize]), Table(&tables[b as usize])];
                        let stride = engine.groups.pair_stride;
                        match opcode {
                            Opcode::Dots => kernels::dots_of_two::<V>(operands, two, stride, base),
                            _ => kernels::products_of_two::<V>(opcode, operands, two, stride, base),
                        }
                    }
                    (Opcode::General(i), &[h, ..]) => {
                        let routine = &engine.general[i as usize];
                        general::run::<V, _>(routine, operands, Table(&tables[h as usize]), base);
                    }
                    (opcode, &[h, ..]) => {
                        let table = Table(&tables[h as usize]);
                        kernels::amplitudes::<V, _>(opcode, operands, table, base);
                    }
                    (_, []) => {}
                }
            }
        }
    }

    /// Colour sum in single precision (mixed mode). A register holds twice as many single as double precision numbers:
    /// its halves hold two helicities of the same events. `local` is the memory at the helicity's offset; `done`
    /// helicities came before.
    #[inline(always)]
    unsafe fn color_single<V: Simd<Scalar = T>>(
        &mut self,
        m: Memory<V>,
        local: Memory<V>,
        color: &color::ColorSum<f32>,
        done: usize,
    ) {
        let engine = self.engine;
        let plan = &engine.plan;
        let single = self.worker.single_vectors();
        let lanes = V::LEVEL.lanes::<f32>();
        let halves = lanes / V::LANES;
        let half = done % halves;
        // SAFETY: addresses from the plan lie within the worker's memory; the single-precision memory holds `lanes`
        // numbers for each of the 2 * flows vectors, the same number for the result, and the scratch of the sum.
        unsafe {
            for i in 0..2 * plan.flows {
                let from = lane_of(local, plan.jamp_base + i as u32, 0);
                let to = single.add(i * lanes + half * V::LANES);
                V::load(from).store_single(to);
            }
            let last = done + 1 == engine.evaluated;
            if half + 1 < halves && !last {
                return;
            }
            let result = single.add(2 * plan.flows * lanes);
            let sum = ColorSumTask {
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

    /// Computes AMP2 if the plan has operations for them.
    #[inline(always)]
    unsafe fn squares<V: Simd<Scalar = T>>(&mut self, m: Memory<V>) {
        let engine = self.engine;
        let channels = engine.plan.channels();
        let scratch = &engine.scratch;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            self.factors(m, true);
            self.currents::<V>(&channels.squares, &engine.squares);
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

    /// Adds squares of single diagrams to the channels' numerators and to the denominator. `local` is the memory at the
    /// helicity's offset.
    #[inline(always)]
    unsafe fn amp2<V: Simd<Scalar = T>>(
        &self,
        of: &ChannelSquares,
        m: Memory<V>,
        local: Memory<V>,
    ) {
        let scratch = &self.engine.scratch;
        // SAFETY: addresses from the plan and the scratch lie within the worker's memory.
        unsafe {
            if of.amp2.is_empty() {
                return;
            }
            // A sample derives its sum from the numerators, which are all computed; single helicities have no sum.
            if self.sample.is_none() && self.worker.single_helicities.is_none() {
                let total = squares(local, &of.denominator, m.real(scratch.denominator));
                m.put_real(scratch.denominator, total);
            }
            if let (true, Some((each, amplitudes))) = (self.worker.all_amp2, &of.equal_counts) {
                let mut rest = &amplitudes[..];
                let mut at = scratch.numerators;
                while let Some((some, others)) = rest.split_at_checked(*each)
                    && !some.is_empty()
                {
                    let mut sum = m.real(at);
                    for &amplitude in some {
                        let z = local.complex(amplitude);
                        sum = z.re.mul_add(z.re, z.im.mul_add(z.im, sum));
                    }
                    m.put_real(at, sum);
                    (rest, at) = (others, at + 1);
                }
                return;
            }
            for (slot, &i) in self.worker.amp2.iter().enumerate() {
                let at = scratch.numerators + slot as u32;
                let sum = squares(local, &of.amp2[i as usize], m.real(at));
                m.put_real(at, sum);
            }
        }
    }

    /// Loads one number per event into a vector; lanes without an event repeat the last one.
    #[inline(always)]
    unsafe fn lanes<V: Simd<Scalar = T>>(
        &self,
        m: Memory<V>,
        first: usize,
        count: usize,
        numbers: &[f64],
    ) -> V {
        let numbers = &numbers[first..first + count];
        // SAFETY: the address of the scratch lies within the worker's memory; `LANES` numbers are read or written.
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
}

/// Appends `count` vectors lane by lane: all numbers of the first lane, then those of the second, for `lanes` lanes.
///
/// # Safety
/// The vectors are valid.
#[inline(always)]
unsafe fn by_lanes<V: Simd>(
    m: Memory<V>,
    first: Address,
    count: usize,
    lanes: usize,
    to: &mut Vec<f64>,
) {
    to.reserve(count * lanes);
    let end = to.len() + count * lanes;
    // SAFETY: `count` numbers are reserved for each lane, and all of them are written.
    unsafe {
        let out = to.as_mut_ptr().add(to.len());
        let mut done = 0;
        // Squares of numbers, transposed in registers.
        if lanes == V::LANES && lanes.is_multiple_of(4) && V::Scalar::DOUBLE {
            let from: *const f64 = lane_of(m, first, 0).cast();
            while done + lanes <= count {
                for lane in (0..lanes).step_by(4) {
                    let columns = V::columns(from.add(done * lanes + lane), lanes);
                    for (i, column) in columns.into_iter().enumerate() {
                        column.store_doubles(out.add((lane + i) * count + done));
                    }
                }
                done += lanes;
            }
        }
        for number in done..count {
            for lane in 0..lanes {
                let x = *lane_of(m, first + number as u32, lane);
                *out.add(lane * count + number) = x.to_f64();
            }
        }
        to.set_len(end);
    }
}

/// Pointer to one lane of a vector.
#[inline(always)]
unsafe fn lane_of<V: Simd>(m: Memory<V>, address: Address, lane: usize) -> *mut V::Scalar {
    // SAFETY: the caller passes an address of the plan or the scratch, and lane < LANES.
    unsafe { m.pointer(address).add(lane) }
}

/// Adds squares. Each addition waits for the previous one, so four sums are used if there are enough numbers.
#[inline(always)]
unsafe fn squares<V: Simd>(m: Memory<V>, squares: &Squares, mut total: V) -> V {
    // SAFETY: addresses from the plan lie within the worker's memory.
    unsafe {
        let (fours, rest) = squares.one.as_chunks::<4>();
        if !fours.is_empty() {
            let mut sums = [V::zero(); 4];
            for four in fours {
                for i in 0..4 {
                    let z = m.complex(four[i]);
                    sums[i] = z.re.mul_add(z.re, z.im.mul_add(z.im, sums[i]));
                }
            }
            total = total + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
        }
        for &number in rest {
            let z = m.complex(number);
            total = z.re.mul_add(z.re, z.im.mul_add(z.im, total));
        }
        for square in &squares.several {
            let mut sum = m.complex(square[0]);
            for &a in &square[1..] {
                sum = sum + m.complex(a);
            }
            total = sum.re.mul_add(sum.re, sum.im.mul_add(sum.im, total));
        }
    }
    total
}
