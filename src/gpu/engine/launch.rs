//! The launches that evaluate a chunk of events.

use super::blocks::BY_EVENT;
use super::kernel_spec::{GENERATED_SHAPE, helicity_shape};
use super::slot::{Arrays, Slot};
use super::{Engine, LANES};
use crate::error::{Error, Result};
use crate::gpu::driver::{Argument, Buffer, Function, Pointer, Shape};
use crate::gpu::level_schedule::Squares;
use crate::gpu::source;

/// Kernels that run operations, with the tables of each launch.
pub(super) struct Launch {
    pub(super) function: Function,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// A thread for each event, so many in a block.
fn by_event(count: usize, threads: u32) -> Shape {
    let padded = (count as u32).next_multiple_of(LANES);
    Shape {
        blocks: [padded.div_ceil(threads), 1, 1],
        threads: [threads, 1, 1],
        shared: 0,
    }
}

/// An address, or 0 where there is nothing.
fn optional(there: bool, at: Pointer) -> Argument {
    Argument::Pointer(if there { at } else { 0 })
}

impl Engine {
    /// Everything between the copies, by generated code.
    pub(super) fn launch_generated(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, igraph, _): (usize, bool, bool, bool),
        functions: &[Function],
    ) -> Result<()> {
        use Argument::{Number, Pointer as At};
        let marks = self.profile();
        slot.mark(marks, 2)?;
        slot.mark(marks, 3)?;
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let subsets = self.spec.as_ref().and_then(|r| r.subsets.as_ref());
        let parts = subsets.map_or(1, |subsets| subsets.order.len() as u32);
        let of = |there: bool, buffer: &Buffer| optional(there, buffer.pointer());
        let colors = channels || igraph;
        let contributions = of(subsets.is_some(), &slot.contributions);
        let amp2 = of(subsets.is_some() && channels, &slot.amp2);
        let jamp2 = of(subsets.is_some() && colors, &slot.jamp2);
        let arguments = [
            At(self.uploaded.at(self.layout.choices)),
            Number(count as u32),
            At(input + arrays.momenta),
            At(input + arrays.g_s),
            At(slot.formula_couplings.pointer()),
            At(input + arrays.random_helicity),
            At(input + arrays.random_color),
            optional(channels, input + arrays.channels),
            optional(igraph, input + arrays.igraph),
            At(output + arrays.matrix_elements),
            At(output + arrays.helicity),
            At(output + arrays.color),
            At(output + arrays.bad),
            contributions,
            jamp2,
            amp2,
            // What kernels leave each other lies in the memory of blocks.
            At(slot.memory.pointer()),
        ];
        for (i, &function) in functions.iter().enumerate() {
            let threads = slot.sizes.threads(function, GENERATED_SHAPE.0);
            let shape = match subsets.is_some() && i > 0 {
                // Blocks that follow each other take other subsets of the same events. What subsets have
                // in common came first.
                true => Shape {
                    blocks: [
                        parts.div_ceil(threads / LANES),
                        (count as u32).div_ceil(LANES).min(65535),
                        1,
                    ],
                    threads: [LANES, threads / LANES, 1],
                    shared: 0,
                },
                false => by_event(count, threads),
            };
            let (function, arguments) = slot.with_clocks(i, function, &arguments);
            // SAFETY: the arguments are those of the generated kernels.
            unsafe { slot.launch(function, shape, &arguments)? };
        }
        slot.mark(marks, 4)?;
        if subsets.is_none() {
            return slot.mark(marks, 5);
        }
        let choices = self.uploaded.at(self.layout.choices_of_subsets);
        let sums = [contributions, jamp2, amp2];
        self.answer(
            slot,
            arrays,
            (count, channels, igraph),
            choices,
            sums,
            parts,
        )?;
        slot.mark(marks, 5)
    }

    /// From the contributions of helicities, JAMP2 and AMP2, in so many parts, to answers.
    fn answer(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, igraph): (usize, bool, bool),
        choices: Pointer,
        [contributions, jamp2, amp2]: [Argument; 3],
        parts: u32,
    ) -> Result<()> {
        use Argument::{Number, Pointer as At};
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let arguments = [
            At(choices),
            At(slot.memory.pointer()),
            Number(self.tables.vectors),
            Number(count as u32),
            contributions,
            jamp2,
            amp2,
            Number(parts),
            At(input + arrays.random_helicity),
            At(input + arrays.random_color),
            optional(channels, input + arrays.channels),
            optional(igraph, input + arrays.igraph),
            At(output + arrays.matrix_elements),
            At(output + arrays.helicity),
            At(output + arrays.color),
            At(self.uploaded.at(self.layout.normalization)),
        ];
        let threads = slot.sizes.threads(self.answer, BY_EVENT);
        // SAFETY: the arguments are those of the kernel.
        unsafe { slot.launch(self.answer, by_event(count, threads), &arguments) }
    }

    /// Everything between the copies.
    pub(super) fn work(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, igraph, all_amp2): (usize, bool, bool, bool),
        helicity: Option<Function>,
    ) -> Result<()> {
        use Argument::{Number, Pointer as At};
        let marks = self.profile() && !self.graphs();
        let layout = &self.layout;
        let at = |offset| At(self.uploaded.at(offset));
        let events = count as u32;
        let blocks = events.div_ceil(LANES);
        let vectors = Number(self.tables.vectors);
        let memory = At(slot.memory.pointer());
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let launch = |function, shape, arguments: &[Argument]| {
            // SAFETY: the arguments are those of the kernels in `cuda/`, and the tables were made for
            // this memory.
            unsafe { slot.launch(function, shape, arguments) }
        };
        launch(
            self.load,
            by_event(count, slot.sizes.threads(self.load, BY_EVENT)),
            &[
                memory,
                vectors,
                Number(events),
                At(input + arrays.momenta),
                At(input + arrays.g_s),
                Number(self.legs() as u32),
                Number(self.tables.leg_momenta),
                Number(self.tables.g),
                at(layout.masses),
                at(layout.constants),
                at(layout.values),
                Number(self.tables.constants.len() as u32),
                at(layout.formula_coupling_at),
                At(slot.formula_couplings.pointer()),
                Number(self.tables.formula_couplings.len() as u32),
                At(output + arrays.bad),
            ],
        )?;
        let operations = |levels: &[Vec<Launch>]| {
            for run in levels.iter().flatten() {
                let slots = slot.sizes.threads(run.function, source::THREADS) / LANES;
                let shape = Shape {
                    blocks: [run.count.div_ceil(slots), blocks.min(65535), 1],
                    threads: [LANES, slots, 1],
                    shared: 0,
                };
                let starts = self.uploaded.at(layout.starts) + 4 * u64::from(run.first);
                let operands = at(layout.operands);
                let (count, numbers) = (Number(run.count), at(layout.numbers));
                launch(
                    run.function,
                    shape,
                    &[
                        memory,
                        vectors,
                        Number(events),
                        operands,
                        At(starts),
                        count,
                        numbers,
                    ],
                )?;
            }
            Ok::<(), Error>(())
        };
        operations(&self.levels)?;
        slot.mark(marks, 2)?;
        let weights = channels || all_amp2;
        if weights {
            operations(&self.squares)?;
        }
        slot.mark(marks, 3)?;
        let by_amplitudes = matches!(self.tables.squares, Squares::Amplitudes(_));
        let (parts, workspace_blocks) = self.parts(blocks as usize);
        let (parts, workspace_blocks) = (parts as u32, workspace_blocks as u32);
        let colors = channels || igraph;
        let of = |there: bool, buffer: &Buffer| optional(there, buffer.pointer());
        let (jamp2, amp2) = (
            of(colors, &slot.jamp2),
            of(weights && by_amplitudes, &slot.amp2),
        );
        let contributions = At(slot.contributions.pointer());
        let mut parts = parts;
        if let Some(function) = helicity {
            let count = self.tables.waves.len() as u32;
            let (default, _) = helicity_shape(count, self.double);
            let threads = slot.sizes.threads(function, default);
            // Chunks have fewer blocks than a launch may have in y.
            let shape = Shape {
                blocks: [count.div_ceil(threads / LANES), blocks, 1],
                threads: [threads, 1, 1],
                shared: 0,
            };
            let row = self.tables.waves.first().map_or(0, |row| row.len() as u32);
            let arguments = [
                at(layout.waves),
                Number(row),
                memory,
                vectors,
                Number(events),
                contributions,
                jamp2,
                amp2,
            ];
            let (function, arguments) = slot.with_clocks(0, function, &arguments);
            launch(function, shape, &arguments)?;
            parts = count;
        } else {
            let shape = Shape {
                blocks: [parts, workspace_blocks, 1],
                threads: [
                    self.workspace_lanes,
                    self.workspace_threads / self.workspace_lanes,
                    1,
                ],
                shared: if self.shared {
                    self.workspace_bytes as u32
                } else {
                    0
                },
            };
            let arguments = [
                at(layout.helicities),
                memory,
                vectors,
                Number(events),
                of(!self.shared, &slot.workspaces),
                contributions,
                jamp2,
                amp2,
            ];
            match &self.blas {
                Some(blas) => self.color_sums(blas, slot, (events, shape), &arguments)?,
                None => {
                    let (function, arguments) = slot.with_clocks(0, self.helicities, &arguments);
                    launch(function, shape, &arguments)?;
                }
            }
        }
        slot.mark(marks, 4)?;
        let choices = self.uploaded.at(layout.choices);
        let sums = [contributions, jamp2, amp2];
        self.answer(
            slot,
            arrays,
            (count, channels, igraph),
            choices,
            sums,
            parts,
        )?;
        if all_amp2 && !by_amplitudes {
            let arguments = [
                at(layout.choices),
                memory,
                vectors,
                Number(events),
                At(slot.amp2.pointer()),
            ];
            launch(self.gather, by_event(count, BY_EVENT), &arguments)?;
        }
        slot.mark(marks, 5)
    }
}
