//! Evaluation of a call: its chunks of events, and the work put into a stream for each.

use super::kernel_spec::GeneratedPart;
use super::slot::{Arrays, Slot};
use super::thread_blocks::{BlockSizes, LaunchClass};
use super::{Engine, Phase};
use crate::driver::{Event, Function, Stream, bytes, bytes_mut};
use mebridge_backend::BadMomentum;
use mebridge_backend::inputs::{Inputs, Outputs};
use mebridge_support::error::Result;
use std::borrow::Cow;

/// Value of [`Arrays::bad`] for a chunk without bad events.
pub(super) const NONE_BAD: [u32; 2] = [u32::MAX; 2];

/// Maximum number of graphs kept; each is for a certain number of events.
const GRAPHS: usize = 32;

/// Method by which a chunk is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evaluation {
    /// With table-driven kernels.
    Tables,
    /// The same, keeping all AMP2.
    AllAmp2,
    /// With generated code, if available.
    Generated,
}

/// A guard for pending copies from and to a caller's arrays. Dropping it, also in a panic, waits for them.
pub(super) struct Copies {
    streams: Vec<Stream>,
}

impl Copies {
    /// Disarms the guard, because the copies have been waited for.
    pub(super) fn disarm(mut self) {
        self.streams.clear();
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        for stream in &self.streams {
            // The next use of the stream reports the error.
            let _ = stream.synchronize();
        }
    }
}

impl Engine {
    /// Returns a guard that waits for copies from and to arrays. It must be created after the arrays, so that it is
    /// dropped before them.
    pub(super) fn copies(&self) -> Copies {
        Copies {
            streams: self.slots.iter().map(|slot| slot.stream.clone()).collect(),
        }
    }

    /// Returns whether a |M|^2 of the last run was not a sum of squares.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Sets whether massless vectors may have negative energies.
    pub fn set_crossed(&mut self, crossed: bool) {
        self.crossed = crossed;
    }

    /// Evaluates events whose indices have been checked.
    pub fn run(&mut self, inputs: Inputs, outputs: Outputs) -> Result<Result<(), BadMomentum>> {
        // Copies rely on the lengths of the arrays.
        let nevt = inputs.check(self.legs())?;
        outputs.check(nevt)?;
        self.tuning.begin();
        let (size, slots) = self.make_room(nevt)?;
        let evaluation = match self.verify_generated(&inputs)? {
            true => Evaluation::Generated,
            false => Evaluation::Tables,
        };
        let mut rest = outputs;
        let mut bad = vec![NONE_BAD; nevt.div_ceil(size)];
        let mut result = Ok(());
        let copies = self.copies();
        for (i, bad) in bad.iter_mut().enumerate() {
            let first = i * size;
            let count = size.min(nevt - first);
            let (outputs, others) = rest.split(count);
            rest = others;
            let chunk = inputs.part(first, count);
            result = self.enqueue(i % slots, &chunk, outputs, bad, evaluation);
            if result.is_err() {
                break;
            }
        }
        // Copies into the caller's arrays must be complete, even after an error.
        for i in 0..self.slots.len() {
            let done = self.slots[i].synchronize();
            result = result.and(done);
        }
        copies.disarm();
        result?;
        self.measure()?;
        if self.learn()? {
            // The graphs were recorded with other sizes.
            self.slots.iter_mut().for_each(Slot::drop_graphs);
        }
        self.lost = bad.iter().any(|[_, lost]| *lost != u32::MAX);
        let first_bad = bad.iter().position(|[bad, _]| *bad != u32::MAX);
        Ok(match first_bad {
            Some(i) => Err(BadMomentum {
                event: i * size + bad[i][0] as usize,
            }),
            None => Ok(()),
        })
    }

    /// Submits all work on a chunk to the slot's stream.
    pub(super) fn enqueue(
        &mut self,
        slot: usize,
        inputs: &Inputs,
        outputs: Outputs,
        bad: &mut [u32; 2],
        evaluation: Evaluation,
    ) -> Result<()> {
        let count = inputs.points.count();
        let arrays = Arrays::new(self.slots[slot].capacity, self.legs());
        let formula_couplings = self.formula_couplings(inputs);
        let (channels, colors) = (inputs.channel.is_some(), inputs.config.is_some());
        let generated = match evaluation {
            Evaluation::Tables | Evaluation::AllAmp2 => None,
            Evaluation::Generated => {
                let generated = self.generated(channels, colors);
                generated.filter(|_| self.is_generated_for(count))
            }
        };
        let sort = LaunchClass {
            channels,
            colors,
            generated: generated.is_some(),
        };
        self.slots[slot].sizes = match evaluation {
            Evaluation::AllAmp2 => BlockSizes::default(),
            _ => self.sizes(sort, generated.as_deref(), count)?,
        };
        let part = self.generated_part();
        let clocked = match &generated {
            Some(_) if part != GeneratedPart::Levels => {
                self.clocked(self.which(channels, colors))?
            }
            _ => self.clocked(None)?,
        };
        let (whole, parts) = match part {
            GeneratedPart::Whole => (generated, None),
            GeneratedPart::Helicity | GeneratedPart::Levels => (None, generated),
        };
        let all_amp2 = matches!(evaluation, Evaluation::AllAmp2);
        let profile = self.profile();
        let number = slot;
        if profile {
            self.read_clocks(number)?;
        }
        let stream = self.slots[number].stream.clone();
        self.slots[number].set_clocked(clocked)?;
        let slot = &self.slots[number];
        slot.mark(profile, 0)?;
        let input = slot.inputs.pointer();
        let output = slot.outputs.pointer();
        let upload = |at: u64, bytes: &[u8]| {
            // SAFETY: the slot holds as many events as it was created for; the caller's arrays live until all streams
            // have been synchronised.
            unsafe { stream.upload(input + at, bytes) }
        };
        let points = &inputs.points;
        let momenta = points.momenta.to_rows();
        upload(arrays.momenta, bytes(&momenta))?;
        if let Cow::Owned(copy) = momenta {
            self.slots[number].given_numbers.push(copy);
        }
        upload(arrays.g_s, bytes(points.g_s))?;
        upload(arrays.random_helicity, bytes(points.random_helicity))?;
        upload(arrays.random_color, bytes(points.random_color))?;
        if channels || colors {
            let indices = self.slots[number].indices(inputs);
            // SAFETY: as above, and the slot keeps the indices alive.
            unsafe { stream.upload(arrays.indices(input), indices)? };
        }
        // SAFETY: the output has eight bytes at this address.
        unsafe { stream.fill(output + arrays.bad, 0xff, 8)? };
        if !formula_couplings.is_empty() {
            let slot = &mut self.slots[number];
            slot.given_numbers.push(formula_couplings);
            let formula_couplings = &slot.given_numbers[slot.given_numbers.len() - 1];
            // SAFETY: the slot holds the couplings of its events, and keeps the numbers alive.
            unsafe { stream.upload(slot.formula_couplings.pointer(), bytes(formula_couplings))? };
        }
        let slot = &self.slots[number];
        if let Some(before) = self.tuning.before() {
            stream.wait(before)?;
        }
        slot.mark(profile, 1)?;
        let key = (count, channels, colors, all_amp2);
        if let Some(functions) = whole {
            self.launch_generated(slot, &arrays, key, &functions)?;
        } else if self.graphs() && !slot.sizes.tuning() {
            self.launch_recorded(number, &arrays, key, parts.as_deref(), sort.generated)?;
            // For a graph, only the total time can be measured.
            for phase in 2..6 {
                self.slots[number].mark(profile, phase)?;
            }
        } else {
            let parts = self.parts_of(parts.as_deref(), channels || colors);
            self.work(slot, &arrays, key, parts)?;
            if self.graphs() {
                for phase in 2..6 {
                    slot.mark(profile, phase)?;
                }
            }
        }
        let sizes = std::mem::take(&mut self.slots[number].sizes);
        self.tuning.put(sort, count, sizes, &stream)?;
        let download = |to: &mut [u8], at: u64| {
            // SAFETY: as for `upload`.
            unsafe { stream.download(to, output + at) }
        };
        download(bytes_mut(outputs.matrix_elements), arrays.matrix_elements)?;
        download(bytes_mut(outputs.helicity), arrays.helicity)?;
        download(bytes_mut(outputs.color), arrays.color)?;
        download(bytes_mut(bad), arrays.bad)?;
        self.slots[number].mark(profile, 6)?;
        self.slots[number].timed = profile;
        Ok(())
    }

    /// Reads the clocks of a slot's previous chunk, before they are recorded again.
    fn read_clocks(&mut self, number: usize) -> Result<()> {
        if self.slots[number].events.is_empty() {
            let driver = self.library.driver();
            let clocks = (0..=Phase::BETWEEN.len()).map(|_| Event::new(driver));
            self.slots[number].events = clocks.collect::<Result<_>>()?;
        }
        let slot = &self.slots[number];
        if slot.timed {
            slot.stream.synchronize()?;
            self.seconds = slot.add_seconds(self.seconds)?;
        }
        Ok(())
    }

    /// Launches the work on a chunk as a graph, which is recorded first if this is the first chunk of its kind.
    fn launch_recorded(
        &mut self,
        number: usize,
        arrays: &Arrays,
        key: (usize, bool, bool, bool),
        parts: Option<&[Function]>,
        generated: bool,
    ) -> Result<()> {
        let slot = &self.slots[number];
        let stream = slot.stream.clone();
        let (count, channels, colors, all_amp2) = key;
        let parts = self.parts_of(parts, channels || colors);
        let mut done = false;
        let recorded = (count, channels, colors, all_amp2, generated);
        if !slot.graphs.contains_key(&recorded) {
            // The first cuBLAS product cannot be recorded.
            if self.blas.is_some() {
                self.work(slot, arrays, key, parts)?;
                done = true;
            }
            let recording = stream.begin_recording()?;
            self.work(slot, arrays, key, parts)?;
            let graph = recording.end()?;
            if slot.graphs.len() >= GRAPHS {
                // Calls keep changing their size.
                stream.synchronize()?;
                self.slots[number].drop_graphs();
            }
            self.slots[number].graphs.insert(recorded, graph);
        }
        if let (false, Some(graph)) = (done, self.slots[number].graphs.get_mut(&recorded)) {
            // SAFETY: the slot keeps its memory as long as its graphs, which are dropped after the stream has been
            // synchronised.
            unsafe { stream.launch_graph(graph)? };
        }
        Ok(())
    }

    /// Computes the couplings that are not polynomials in G: `[coupling][real, imaginary][event]`.
    fn formula_couplings(&mut self, inputs: &Inputs) -> Vec<f64> {
        let count = inputs.points.count();
        let mut values = vec![0.0; 2 * self.tables.formula_couplings.len() * count];
        if values.is_empty() {
            return values;
        }
        for (event, &g) in inputs.points.g_s.iter().enumerate() {
            self.binding.evaluate(g, &mut self.couplings);
            for (i, &(coupling, _)) in self.tables.formula_couplings.iter().enumerate() {
                let value = self.couplings[coupling as usize];
                values[2 * i * count + event] = value.re;
                values[(2 * i + 1) * count + event] = value.im;
            }
        }
        values
    }

    /// Adds the times of finished chunks.
    fn measure(&mut self) -> Result<()> {
        if self.profile() {
            for slot in self.slots.iter_mut().filter(|slot| slot.timed) {
                self.seconds = slot.add_seconds(self.seconds)?;
                slot.timed = false;
            }
        }
        Ok(())
    }
}
