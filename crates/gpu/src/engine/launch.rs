//! The launches that evaluate a chunk of events.

use super::kernel_spec::{GENERATED_SHAPE, helicity_shape};
use super::slot::{Arrays, Slot, optional};
use super::thread_blocks::BY_EVENT;
use super::{Engine, LevelsKernel, PartKernels};
use crate::driver::{Buffer, Function, Pointer, Shape};
use crate::level_schedule::Amp2Source;
use crate::shared_levels::LEVELS_THREADS;
use crate::source;
use crate::structures::{
    AnswerArguments, DeviceStructure, GatherArguments, GeneratedArguments, HelicitiesArguments,
    HelicityArguments, LevelsArguments, LoadArguments, RunArguments,
};
use mebridge_support::error::{Error, Result};

/// A kernel that runs operations, with the tables of its launch.
pub(super) struct Launch {
    pub(super) function: Function,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// Returns a launch shape with one thread per event and `threads` threads per block.
pub(super) fn by_event(count: usize, threads: u32) -> Shape {
    Shape {
        blocks: [(count as u32).div_ceil(threads), 1, 1],
        threads: [threads, 1, 1],
        shared: 0,
    }
}

/// Returns a launch shape in which each warp of `lanes` lanes handles one of `count` items, with blocks in y for the
/// events.
pub(super) fn by_warp(lanes: u32, count: u32, events: u32, threads: u32) -> Shape {
    let warps = threads / lanes;
    Shape {
        blocks: [count.div_ceil(warps), events.div_ceil(lanes).min(65535), 1],
        threads: [lanes, warps, 1],
        shared: 0,
    }
}

/// Returns the warps of a block of the kernel `answer`: as many as share AMP2 and JAMP2 (`ANSWER_WARPS` in the device code),
/// or one for calls without.
pub(super) fn answer_warps((channels, colors): (bool, bool)) -> u32 {
    if channels || colors { 8 } else { 1 }
}

/// Launches a kernel of `cuda/`.
pub(super) fn launch(
    slot: &Slot,
    function: &Function,
    shape: Shape,
    arguments: &impl DeviceStructure,
) -> Result<()> {
    // SAFETY: the arguments match the kernel, and the tables were built for this memory.
    unsafe { slot.launch(function, shape, arguments) }
}

impl Engine {
    /// Launches everything between the copies, with generated code.
    pub(super) fn launch_generated(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, colors, _): (usize, bool, bool, bool),
        functions: &[Function],
    ) -> Result<()> {
        let marks = self.profile();
        slot.mark(marks, 2)?;
        slot.mark(marks, 3)?;
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let subsets = self.spec.as_ref().and_then(|r| r.subsets.as_ref());
        let parts = subsets.map_or(1, |subsets| subsets.order.len() as u32);
        let of = |there: bool, buffer: &Buffer| optional(there, buffer.pointer());
        let contributions = of(subsets.is_some(), &slot.contributions);
        let amp2 = of(subsets.is_some() && channels, &slot.amp2);
        let jamp2 = of(subsets.is_some() && colors, &slot.jamp2);
        let arguments = GeneratedArguments {
            choices: self.uploaded.at(self.layout.choices),
            events: count as u32,
            momenta: input + arrays.momenta,
            g_s: input + arrays.g_s,
            formula_couplings: slot.formula_couplings.pointer(),
            random_helicity: input + arrays.random_helicity,
            random_color: input + arrays.random_color,
            channel: arrays.channel(input, channels),
            config: arrays.config(input, (count, channels, colors)),
            matrix_elements: output + arrays.matrix_elements,
            helicity: output + arrays.helicity,
            color: output + arrays.color,
            bad: output + arrays.bad,
            lost: output + arrays.lost,
            contributions,
            jamp2,
            amp2,
            memory: slot.memory.pointer(),
            cycles: 0,
            crossed: u32::from(self.crossed),
        };
        for (i, function) in functions.iter().enumerate() {
            let threads = slot.sizes.threads(function, GENERATED_SHAPE.0);
            let shape = match subsets.is_some() && i > 0 {
                // Consecutive blocks compute different subsets of the same events. Shared values of subsets were
                // computed before.
                true => by_warp(self.lanes(), parts, count as u32, threads),
                false => by_event(count, threads),
            };
            let (function, cycles) = slot.with_clocks(i, function);
            let arguments = GeneratedArguments {
                cycles,
                ..arguments
            };
            // SAFETY: the arguments match the generated kernels.
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
            (count, channels, colors),
            choices,
            sums,
            parts,
        )?;
        slot.mark(marks, 5)
    }

    /// Launches the kernel that computes results from the contributions of helicities, JAMP2 and AMP2 in `parts` parts.
    fn answer(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, colors): (usize, bool, bool),
        choices: Pointer,
        [contributions, jamp2, amp2]: [Pointer; 3],
        parts: u32,
    ) -> Result<()> {
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let arguments = AnswerArguments {
            choices,
            memory: slot.memory.pointer(),
            vectors: self.tables.vectors,
            events: count as u32,
            contributions,
            jamp2,
            amp2,
            parts,
            random_helicity: input + arrays.random_helicity,
            random_color: input + arrays.random_color,
            channel: arrays.channel(input, channels),
            config: arrays.config(input, (count, channels, colors)),
            matrix_elements: output + arrays.matrix_elements,
            helicity: output + arrays.helicity,
            color: output + arrays.color,
            normalization: self.uploaded.at(self.layout.normalization),
            lost: output + arrays.lost,
        };
        let shape = Shape {
            blocks: [(count as u32).div_ceil(self.lanes()), 1, 1],
            threads: [self.lanes(), answer_warps((channels, colors)), 1],
            shared: 0,
        };
        launch(slot, &self.answer, shape, &arguments)
    }

    /// Launches the kernel for all levels.
    fn launch_shared_levels(&self, slot: &Slot, events: u32, kernel: LevelsKernel) -> Result<()> {
        let levels = kernel.levels;
        let arguments = LevelsArguments {
            memory: slot.memory.pointer(),
            vectors: self.tables.vectors,
            events,
            numbers: self.uploaded.at(self.layout.numbers),
            tables: self.uploaded.at(kernel.tables),
            table_size: levels.tables.len() as u32,
            inputs: levels.inputs,
            input_count: levels.input_count,
            operations: levels.operations,
            ends: levels.ends,
            level_count: levels.level_count,
        };
        let parts = events.div_ceil(self.lanes()) * (self.lanes() / levels.lanes);
        let shape = Shape {
            blocks: [
                parts.min(self.library.driver().properties().processors),
                1,
                1,
            ],
            threads: [levels.lanes, LEVELS_THREADS / levels.lanes, 1],
            shared: levels.bytes(self.double) as u32,
        };
        launch(slot, kernel.function, shape, &arguments)
    }

    /// Launches everything between the copies.
    pub(super) fn work(
        &self,
        slot: &Slot,
        arrays: &Arrays,
        (count, channels, colors, all_amp2): (usize, bool, bool, bool),
        parts: PartKernels,
    ) -> Result<()> {
        let layout = &self.layout;
        let at = |offset| self.uploaded.at(offset);
        let events = count as u32;
        let vectors = self.tables.vectors;
        let memory = slot.memory.pointer();
        let (input, output) = (slot.inputs.pointer(), slot.outputs.pointer());
        let load = LoadArguments {
            memory,
            vectors,
            events,
            momenta: input + arrays.momenta,
            g_s: input + arrays.g_s,
            legs: self.legs() as u32,
            leg_momenta: self.tables.leg_momenta,
            g: self.tables.g,
            masses: at(layout.masses),
            crossed: u32::from(self.crossed),
            constants: at(layout.constants),
            values: at(layout.values),
            constant_count: self.tables.constants.len() as u32,
            formula_coupling_at: at(layout.formula_coupling_at),
            formula_couplings: slot.formula_couplings.pointer(),
            formula_coupling_count: self.tables.formula_couplings.len() as u32,
            bad: output + arrays.bad,
        };
        let threads = slot.sizes.threads(&self.load, BY_EVENT);
        launch(slot, &self.load, by_event(count, threads), &load)?;
        let key = (count, channels, colors, all_amp2);
        let (sums, parts) = self.amplitudes(slot, key, parts)?;
        let marks = self.profile() && !self.graphs();
        let choices = self.uploaded.at(layout.choices);
        self.answer(
            slot,
            arrays,
            (count, channels, colors),
            choices,
            sums,
            parts,
        )?;
        if all_amp2 && !matches!(self.tables.squares, Amp2Source::Amplitudes(_)) {
            let arguments = GatherArguments {
                choices,
                memory,
                vectors,
                events,
                amp2: slot.amp2.pointer(),
            };
            launch(slot, &self.gather, by_event(count, BY_EVENT), &arguments)?;
        }
        slot.mark(marks, 5)
    }

    /// Launches the computation from events in memory blocks to the contributions of helicities, JAMP2 and AMP2.
    /// Returns the number of parts of the latter two.
    #[expect(clippy::too_many_lines, reason = "a list of launches")]
    pub(super) fn amplitudes(
        &self,
        slot: &Slot,
        (count, channels, colors, all_amp2): (usize, bool, bool, bool),
        kernels: PartKernels,
    ) -> Result<([Pointer; 3], u32)> {
        let marks = self.profile() && !self.graphs();
        let layout = &self.layout;
        let at = |offset| self.uploaded.at(offset);
        let events = count as u32;
        let blocks = events.div_ceil(self.lanes());
        let vectors = self.tables.vectors;
        let memory = slot.memory.pointer();
        let operations = |levels: &[Vec<Launch>]| {
            for run in levels.iter().flatten() {
                let threads = slot.sizes.threads(&run.function, source::THREADS);
                let shape = by_warp(self.lanes(), run.count, events, threads);
                let arguments = RunArguments {
                    memory,
                    vectors,
                    events,
                    operands: at(layout.operands),
                    starts: at(layout.starts) + 4 * u64::from(run.first),
                    numbers: at(layout.numbers),
                    count: run.count,
                };
                launch(slot, &run.function, shape, &arguments)?;
            }
            Ok::<(), Error>(())
        };
        match kernels.levels {
            Some(kernel) => self.launch_shared_levels(slot, events, kernel)?,
            None => operations(&self.levels)?,
        }
        slot.mark(marks, 2)?;
        let weights = channels || all_amp2;
        if weights {
            operations(&self.squares)?;
        }
        slot.mark(marks, 3)?;
        let by_amplitudes = matches!(self.tables.squares, Amp2Source::Amplitudes(_));
        let (parts, workspace_blocks) = self.parts(blocks as usize);
        let (parts, workspace_blocks) = (parts as u32, workspace_blocks as u32);
        let of = |there: bool, buffer: &Buffer| optional(there, buffer.pointer());
        let (jamp2, amp2) = (
            of(colors, &slot.jamp2),
            of(weights && by_amplitudes, &slot.amp2),
        );
        let contributions = slot.contributions.pointer();
        let mut parts = parts;
        if let Some(loops) = &self.loops {
            self.launch_loops(loops, slot, events, jamp2)?;
        } else if let Some(function) = kernels.helicity {
            let count = self.tables.waves.len() as u32;
            let (default, _) = helicity_shape(count, self.double, self.lanes());
            let threads = slot.sizes.threads(function, default);
            // Chunks have fewer blocks than the limit of a launch in y.
            let shape = Shape {
                blocks: [count.div_ceil(threads / self.lanes()), blocks, 1],
                threads: [threads, 1, 1],
                shared: 0,
            };
            let row = self.tables.waves.first().map_or(0, |row| row.len() as u32);
            let (function, cycles) = slot.with_clocks(0, function);
            let arguments = HelicityArguments {
                waves: at(layout.waves),
                memory,
                contributions,
                jamp2,
                amp2,
                cycles,
                wave_count: row,
                vectors,
                events,
            };
            launch(slot, function, shape, &arguments)?;
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
            let arguments = HelicitiesArguments {
                tables: at(layout.helicities),
                memory,
                vectors,
                events,
                workspaces: optional(!self.shared, slot.workspaces.pointer()),
                contributions,
                jamp2,
                amp2,
                first_group: 0,
                groups: 0,
                outside: 0,
                group_size: 0,
                cycles: 0,
            };
            match &self.blas {
                Some(blas) => self.color_sums(blas, slot, shape, &arguments)?,
                None => {
                    let (function, cycles) = slot.with_clocks(0, self.helicities()?);
                    let arguments = HelicitiesArguments {
                        cycles,
                        ..arguments
                    };
                    launch(slot, function, shape, &arguments)?;
                }
            }
        }
        slot.mark(marks, 4)?;
        Ok(([contributions, jamp2, amp2], parts))
    }
}
