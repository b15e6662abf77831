//! Samples in device memory ([`DeviceSample`]), on a stream of the caller.
//!
//! All work is submitted to that stream, chunk by chunk, without waiting. All callers share one slot: the GPU starts a
//! sample when it has finished the previous one, even on different streams. A sample with more events than any before
//! may need a larger slot; in this case the host waits for the previous sample.
//!
//! The kernels are those of calls except for the first and the last: momenta are read in place, and results are those
//! of a sampler. Generated code for whole events, and for values shared by subsets of helicities, is generated
//! separately for samples; it is compiled, and compared with the tables, before the first sample (`prepare`).

mod prepare;
mod tail;

use super::Engine;
use super::kernel_spec::{GENERATED_SHAPE, GeneratedPart};
use super::launch::{by_event, by_warp};
use super::slot::{Arrays, Slot, optional};
use super::thread_blocks::BY_EVENT;
use crate::driver::{Function, Pointer, Shape, Stream};
use crate::generated::Generated;
use crate::level_schedule::Amp2Source;
use crate::structures::{DeviceStructure, SampleArguments, SumPartsArguments};
use mebridge_backend::sample::{DeviceSample, Strides};
use mebridge_support::error::{Error, Result};
use std::sync::Arc;
use tail::Tail;

/// Maximum events of a launch that needs no memory.
const MAX_LAUNCH: usize = 1 << 24;
/// Minimum capacity of a slot in events.
const MIN_SLOT: usize = 1 << 10;

/// State of an engine for samples.
#[derive(Default)]
pub(super) struct Samples {
    /// End of all work on samples, set by the preparation. Declared first, so that it is dropped first.
    tail: Option<Tail>,
    ends: Option<Ends>,
    slot: Option<Slot>,
    /// Maximum events of a slot.
    largest: Option<usize>,
    /// Generated code for samples without and with diagrams, if it exists and agrees with the tables.
    generated: [Option<Arc<[Function]>>; 2],
    /// The same code during compilation, if samples do not wait for it.
    pending: [Option<Generated>; 2],
    /// Whether it has been decided if the code is used.
    settled: [bool; 2],
}

/// Kernels before and after the amplitudes.
#[derive(Clone)]
struct Ends {
    load: Function,
    sum_parts: Function,
    answer: Function,
}

fn not_prepared() -> Error {
    Error::Internal {
        what: "an engine that was not prepared for samples".into(),
    }
}

/// Returns the address of element `first` of an array, or 0 if the array is absent.
fn from(array: u64, first: usize, size: usize) -> Pointer {
    optional(array != 0, array.wrapping_add((first * size) as u64))
}

impl Engine {
    /// Waits until all work on samples has finished.
    pub fn wait_for_samples(&self) -> Result<()> {
        self.samples.tail.as_ref().map_or(Ok(()), Tail::synchronize)
    }

    /// Submits all work on a sample to its stream.
    ///
    /// # Safety
    /// As for [`DeviceSession::run`](mebridge_backend::DeviceSession::run).
    pub unsafe fn run_sample(&mut self, sample: &DeviceSample) -> Result<()> {
        if sample.events == 0 {
            return Ok(());
        }
        let driver = self.library.driver();
        for (what, array) in sample.arrays() {
            if array != 0 && !driver.reaches(array)? {
                let gpu = driver.properties().name.clone();
                return Err(Error::NotOnThisGpu { what, gpu });
            }
        }
        self.settle(usize::from(sample.diagrams()))?;
        let tail = self.samples.tail.as_mut().ok_or_else(not_prepared)?;
        // SAFETY: guaranteed by the caller.
        let stream = unsafe { tail.caller_stream(sample.stream) };
        tail.before(&stream)?;
        let generated = self.samples.generated[usize::from(sample.diagrams())].clone();
        // SAFETY: guaranteed by the caller.
        let done = unsafe { self.enqueue_sample(sample, &stream, generated.as_ref()) };
        // The end of the work is recorded even after an error.
        match &self.samples.tail {
            Some(tail) => done.and(tail.after(&stream)),
            None => done,
        }
    }

    /// # Safety
    /// As for [`Engine::run_sample`], with this stream.
    unsafe fn enqueue_sample(
        &mut self,
        sample: &DeviceSample,
        stream: &Stream,
        generated: Option<&Arc<[Function]>>,
    ) -> Result<()> {
        let subsets = self.spec.as_ref().is_some_and(|s| s.subsets.is_some());
        let is_whole = self.generated_part() == GeneratedPart::Whole;
        let whole = generated.filter(|_| is_whole && !subsets);
        if let Some(functions) = whole {
            for first in (0..sample.events).step_by(MAX_LAUNCH) {
                let count = MAX_LAUNCH.min(sample.events - first);
                let arguments = self.sample_arguments(sample, first, count, None);
                let shape = by_event(count, GENERATED_SHAPE.0);
                // SAFETY: the arguments match the kernel; the caller guarantees the rest.
                unsafe { stream.launch(&functions[0], shape, &arguments.bytes())? };
            }
            return Ok(());
        }
        let mut slot = self.take_slot(sample.events)?;
        let own = std::mem::replace(&mut slot.stream, stream.clone());
        let mut chunks = (0..sample.events).step_by(slot.capacity);
        let done = chunks.try_for_each(|first| {
            let count = slot.capacity.min(sample.events - first);
            // SAFETY: guaranteed by the caller.
            unsafe { self.chunk_of_sample(&slot, sample, first, count, generated) }
        });
        slot.stream = own;
        self.samples.slot = Some(slot);
        done
    }

    /// Returns a slot for `events` events, or for the maximum number.
    fn take_slot(&mut self, events: usize) -> Result<Slot> {
        let largest = match self.samples.largest {
            Some(largest) => largest,
            None => self.largest_of_samples()?,
        };
        self.samples.largest = Some(largest);
        let mut wanted = events.next_power_of_two().max(MIN_SLOT).min(largest);
        let enough = wanted.min(events);
        let there = self.samples.slot.take_if(|slot| slot.capacity >= enough);
        if let Some(slot) = there {
            return Ok(slot);
        }
        if let Some(tail) = &self.samples.tail {
            tail.synchronize()?;
        }
        self.samples.slot = None;
        let slot = loop {
            match Slot::new(self, wanted) {
                // Other programs may have taken the memory.
                Err(Error::GpuMemory { .. }) if wanted > self.lanes() as usize => wanted /= 2,
                slot => break slot?,
            }
        };
        self.samples.largest = Some(if wanted < events { wanted } else { largest });
        Ok(slot)
    }

    /// # Safety
    /// As for [`Engine::run_sample`]; the events are among those of the sample.
    unsafe fn chunk_of_sample(
        &self,
        slot: &Slot,
        sample: &DeviceSample,
        first: usize,
        count: usize,
        generated: Option<&Arc<[Function]>>,
    ) -> Result<()> {
        let ends = self.samples.ends.as_ref().ok_or_else(not_prepared)?;
        let generated = generated.filter(|_| self.is_generated_for(count));
        let diagrams = sample.diagrams();
        let mut arguments = self.sample_arguments(sample, first, count, Some(slot));
        let launch = |function: &Function, shape, arguments: &SampleArguments| {
            // SAFETY: the arguments match the kernel, and the tables were built for the slot; the caller
            // guarantees the rest.
            unsafe { slot.launch(function, shape, arguments) }
        };
        let parts = match generated {
            Some(functions) if self.generated_part() == GeneratedPart::Whole => {
                self.subsets_of_sample(slot, &mut arguments, functions)?
            }
            parts => {
                let parts = self.parts_of(parts.map(|functions| &functions[..]), diagrams);
                launch(&ends.load, by_event(count, BY_EVENT), &arguments)?;
                let key = (count, diagrams, diagrams, false);
                let ([contributions, jamp2, amp2], parts) = self.amplitudes(slot, key, parts)?;
                arguments.contributions = contributions;
                (arguments.jamp2, arguments.amp2) = (jamp2, amp2);
                parts
            }
        };
        for (numbers, rows) in [
            (arguments.jamp2, self.color_flows),
            (arguments.amp2, self.tables.squares.len()),
        ] {
            if numbers != 0 && parts > 1 && rows > 0 {
                let arguments = SumPartsArguments {
                    numbers,
                    parts,
                    rows: rows as u32,
                    events: count as u32,
                };
                let by_event = by_event(count, BY_EVENT);
                let shape = Shape {
                    blocks: [by_event.blocks[0], rows.min(65535) as u32, 1],
                    ..by_event
                };
                // SAFETY: `parts` parts have been written.
                unsafe { slot.launch(&ends.sum_parts, shape, &arguments)? };
            }
        }
        launch(&ends.answer, by_event(count, BY_EVENT), &arguments)
    }

    /// Launches generated code for subsets of the helicities, and returns the number of parts of JAMP2 and AMP2.
    fn subsets_of_sample(
        &self,
        slot: &Slot,
        arguments: &mut SampleArguments,
        functions: &[Function],
    ) -> Result<u32> {
        let subsets = self.spec.as_ref().and_then(|spec| spec.subsets.as_ref());
        let parts = subsets.map_or(1, |subsets| subsets.order.len() as u32);
        let diagrams = arguments.diagrams != 0;
        arguments.choices = self.uploaded.at(self.layout.choices_of_subsets);
        arguments.contributions = slot.contributions.pointer();
        arguments.jamp2 = optional(diagrams, slot.jamp2.pointer());
        arguments.amp2 = optional(diagrams, slot.amp2.pointer());
        for (i, function) in functions.iter().enumerate() {
            let threads = GENERATED_SHAPE.0;
            let shape = match i {
                // Values shared by subsets.
                0 => by_event(arguments.events as usize, threads),
                _ => by_warp(self.lanes(), parts, arguments.events, threads),
            };
            // SAFETY: the arguments match the kernels, and the slot holds the subsets.
            unsafe { slot.launch(function, shape, arguments)? };
        }
        Ok(parts)
    }

    /// Returns the kernel arguments for a range of events of a sample.
    fn sample_arguments(
        &self,
        sample: &DeviceSample,
        first: usize,
        count: usize,
        slot: Option<&Slot>,
    ) -> SampleArguments {
        let at = |offset| self.uploaded.at(offset);
        let layout = &self.layout;
        let doubles = |array| from(array, first, 8);
        let integers = |array| from(array, first, 4);
        let Strides {
            event,
            leg,
            component,
        } = sample.strides;
        let skipped = (first as isize).wrapping_mul(event).wrapping_mul(8);
        let memory = slot.map_or(0, |slot| slot.memory.pointer());
        // Samples store no helicities in the slot's outputs.
        let bad = slot.map_or(0, |slot| {
            slot.outputs.pointer() + Arrays::new(slot.capacity, self.legs()).helicity
        });
        let totals = matches!(self.tables.squares, Amp2Source::Totals { .. });
        debug_assert!(!totals || self.tables.squares.len() == self.plan.channels().len());
        let element = &sample.element;
        SampleArguments {
            choices: at(layout.choices),
            process: at(layout.samples),
            memory,
            vectors: self.tables.vectors,
            events: count as u32,
            momenta: sample.momenta.wrapping_add(skipped as u64),
            event_stride: event as u64,
            leg_stride: leg as u64,
            component_stride: component as u64,
            alpha_s: doubles(sample.alpha_s),
            default_g_s: sample.default_g_s,
            random_helicity: doubles(sample.random_helicity),
            random_color: doubles(sample.random_color),
            random_diagram: doubles(sample.random_diagram),
            flavor: integers(sample.flavor),
            elements: element.count as u32,
            element: element.index as u32,
            first_helicity: element.helicity as u32,
            first_color: element.color as u32,
            first_diagram: element.diagram as u32,
            share_rows: element.diagrams as u32,
            fixed_helicity: integers(sample.fixed_helicity),
            fixed_diagram: integers(sample.fixed_diagram),
            matrix_elements: doubles(sample.matrix_elements),
            helicity: integers(sample.helicity),
            color: integers(sample.color),
            diagram: integers(sample.diagram),
            leading_color: doubles(sample.leading_color),
            shares: doubles(sample.amp2),
            share_stride: sample.amp2_stride as u64,
            bad,
            contributions: 0,
            jamp2: 0,
            amp2: 0,
            normalization: at(layout.normalization),
            legs: self.legs() as u32,
            leg_momenta: self.tables.leg_momenta,
            g: self.tables.g,
            constant_count: self.tables.constants.len() as u32,
            masses: at(layout.masses),
            crossed: u32::from(self.crossed),
            constants: at(layout.constants),
            values: at(layout.values),
            diagrams: u32::from(sample.diagrams()),
        }
    }
}
