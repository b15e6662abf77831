//! Resources of one chunk of events in progress.

use super::thread_blocks::BlockSizes;
use super::{Engine, Phase};
use crate::driver::{Buffer, Event, Function, Graph, Pointer, Shape, Stream, bytes};
use crate::structures::DeviceStructure;
use mebridge_backend::inputs::{Inputs, PerEvent};
use mebridge_support::error::Result;
use rustc_hash::FxHashMap as HashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Key of a graph: number of events, whether they have channels and colours, whether all AMP2 are kept, and whether it
/// contains generated code.
pub(super) type GraphKey = (usize, bool, bool, bool, bool);

/// Resources of one chunk of events.
pub(super) struct Slot {
    /// Stream, events and graphs are declared first, so that they are dropped before the memory that their work uses.
    pub(super) stream: Stream,
    pub(super) events: Vec<Event>,
    pub(super) graphs: HashMap<GraphKey, Graph>,
    pub(super) capacity: usize,
    pub(super) memory: Buffer,
    pub(super) workspaces: Buffer,
    pub(super) contributions: Buffer,
    pub(super) jamp2: Buffer,
    pub(super) amp2: Buffer,
    /// JAMP and their products with the colour matrix.
    pub(super) colors: Buffer,
    pub(super) inputs: Buffer,
    pub(super) outputs: Buffer,
    pub(super) formula_couplings: Buffer,
    /// Sources of copies to `formula_couplings`, for each chunk since the stream was last synchronised.
    pub(super) given_numbers: Vec<Vec<f64>>,
    /// Sources of copies of indices to `inputs`, likewise.
    given_indices: Vec<Vec<i32>>,
    /// Whether the events hold times of a chunk that have not been added yet.
    pub(super) timed: bool,
    /// Kernels of the chunk with clocks, and the buffer of their cycle counts.
    pub(super) clocked: Option<Arc<[Function]>>,
    pub(super) cycles: Option<Buffer>,
    /// Events before and after each colour sum by cuBLAS, if timed.
    pub(super) sums: RefCell<Vec<[Event; 2]>>,
    /// Thread block sizes of the chunk's kernels.
    pub(super) sizes: BlockSizes,
}

/// Offsets of the arrays of a chunk in its input and output buffers.
pub(super) struct Arrays {
    pub(super) momenta: u64,
    pub(super) g_s: u64,
    pub(super) random_helicity: u64,
    pub(super) random_color: u64,
    /// Channels, if events have any, immediately followed by configurations.
    indices: u64,
    pub(super) input: usize,
    pub(super) matrix_elements: u64,
    pub(super) helicity: u64,
    pub(super) color: u64,
    /// Number of the first bad event, followed by `lost`; all bits of each are set if there is none.
    pub(super) bad: u64,
    pub(super) lost: u64,
    pub(super) output: usize,
}

/// Returns an address, or 0 if the array is absent.
pub(super) fn optional(there: bool, at: Pointer) -> Pointer {
    if there { at } else { 0 }
}

impl Arrays {
    pub(super) fn new(events: usize, legs: usize) -> Arrays {
        fn take(next: &mut usize, bytes: usize) -> u64 {
            let at = *next;
            *next += bytes.next_multiple_of(256);
            at as u64
        }
        let (mut input, mut output) = (0, 0);
        let mut take_in = |bytes| take(&mut input, bytes);
        let (momenta, g_s) = (take_in(events * legs * 32), take_in(events * 8));
        let (random_helicity, random_color) = (take_in(events * 8), take_in(events * 8));
        let indices = take_in(events * 8);
        let mut take_out = |bytes| take(&mut output, bytes);
        let (matrix_elements, helicity) = (take_out(events * 8), take_out(events * 4));
        let (color, bad) = (take_out(events * 4), take_out(8));
        Arrays {
            momenta,
            g_s,
            random_helicity,
            random_color,
            indices,
            input,
            matrix_elements,
            helicity,
            color,
            bad,
            lost: bad + 4,
            output,
        }
    }

    /// Returns the address of the channels, or 0 if events have none.
    pub(super) fn channel(&self, input: Pointer, channels: bool) -> Pointer {
        optional(channels, input + self.indices)
    }

    /// Returns the address of the configurations of `count` events, or 0 if colours are not requested.
    pub(super) fn config(
        &self,
        input: Pointer,
        (count, channels, colors): (usize, bool, bool),
    ) -> Pointer {
        let after = if channels { 4 * count as u64 } else { 0 };
        optional(colors, input + self.indices + after)
    }

    /// Returns the address to which both are copied.
    pub(super) fn indices(&self, input: Pointer) -> Pointer {
        input + self.indices
    }
}

impl Slot {
    pub(super) fn new(engine: &Engine, size: usize) -> Result<Slot> {
        let driver = engine.library.driver();
        let blocks = size.div_ceil(engine.lanes() as usize);
        let arrays = Arrays::new(size, engine.legs());
        let buffer = |bytes| Buffer::new(driver, bytes);
        let [memory, workspaces, contributions, jamp2, amp2, colors] = engine.bytes_of(blocks);
        Ok(Slot {
            memory: buffer(memory)?,
            workspaces: buffer(workspaces)?,
            contributions: buffer(contributions)?,
            jamp2: buffer(jamp2)?,
            amp2: buffer(amp2)?,
            colors: buffer(colors)?,
            inputs: buffer(arrays.input)?,
            outputs: buffer(arrays.output)?,
            formula_couplings: buffer(16 * engine.tables.formula_couplings.len() * size)?,
            given_numbers: Vec::new(),
            given_indices: Vec::new(),
            stream: Stream::new(driver)?,
            capacity: size,
            events: Vec::new(),
            timed: false,
            clocked: None,
            cycles: None,
            sums: RefCell::default(),
            graphs: HashMap::default(),
            sizes: BlockSizes::default(),
        })
    }

    /// Returns the channels and configurations of events, if any, in the layout of [`Arrays`]. The slot keeps them
    /// until the stream has been synchronised.
    pub(super) fn indices(&mut self, inputs: &Inputs) -> &[u8] {
        let count = inputs.points.count();
        let mut indices = Vec::with_capacity(2 * count);
        for of_events in [inputs.channel, inputs.config].into_iter().flatten() {
            match of_events {
                PerEvent::Same(index) => indices.resize(indices.len() + count, index),
                PerEvent::Each(all) => indices.extend_from_slice(all),
            }
        }
        self.given_indices.push(indices);
        bytes(&self.given_indices[self.given_indices.len() - 1])
    }

    /// Returns the bytes of device memory of the slot.
    pub(super) fn bytes(&self) -> usize {
        [
            &self.memory,
            &self.workspaces,
            &self.contributions,
            &self.jamp2,
            &self.amp2,
            &self.colors,
            &self.inputs,
            &self.outputs,
            &self.formula_couplings,
        ]
        .iter()
        .map(|b| b.bytes())
        .sum()
    }

    /// Launches a kernel.
    ///
    /// # Safety
    /// As for [`Stream::launch`].
    pub(super) unsafe fn launch(
        &self,
        function: &Function,
        shape: Shape,
        arguments: &impl DeviceStructure,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.sizes
                .launch(&self.stream, function, shape, &arguments.bytes())
        }
    }

    /// Drops all graphs, none of which may be running.
    pub(super) fn drop_graphs(&mut self) {
        self.graphs.clear();
    }

    /// Waits until the chunk has finished.
    pub(super) fn synchronize(&mut self) -> Result<()> {
        self.stream.synchronize()?;
        self.given_numbers.clear();
        self.given_indices.clear();
        Ok(())
    }

    /// Records an event between phases.
    pub(super) fn mark(&self, profile: bool, phase: usize) -> Result<()> {
        match self.events.get(phase) {
            Some(event) if profile => self.stream.record(event),
            _ => Ok(()),
        }
    }

    /// Adds the times measured by the events.
    pub(super) fn add_seconds(
        &self,
        mut sums: [f64; Phase::ALL.len()],
    ) -> Result<[f64; Phase::ALL.len()]> {
        let mut seconds = [0.0; Phase::ALL.len()];
        for (phase, pair) in Phase::BETWEEN.into_iter().zip(self.events.windows(2)) {
            seconds[phase as usize] = pair[0].seconds(&pair[1])?;
        }
        self.divide(&mut seconds)?;
        for (sum, seconds) in sums.iter_mut().zip(seconds) {
            *sum += seconds;
        }
        Ok(sums)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // No work may use the memory any more. An error here was reported before or will be.
        let _ = self.stream.synchronize();
    }
}
