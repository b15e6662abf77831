//! The GPU engine: a plan in the memory of a GPU, and the launches that run it.
//!
//! Events are taken in chunks that fit the memory. Momenta, couplings, random numbers and channels of a chunk go to the
//! GPU; |M|^2, helicities and colours come back. Two chunks at a time are under way, each with a stream and memory of
//! its own, so that one copies while the other computes.
//!
//! | module | what it knows |
//! |---|---|
//! | `chunks` | a call: its chunks, and what is put into a stream for each |
//! | `launch` | the launches that evaluate a chunk |
//! | `samples` | samples of a caller's, in the memory of the GPU |
//! | `verify` | which generated code serves a call, and whether it agrees with the tables |
//! | `kernel_spec` | what generated code is made from |
//! | `contributions` | what helicities and diagrams contribute to a few events |
//! | `thread_blocks` | threads of the blocks of kernels: constants, what is being tried, what was chosen |
//! | `tuning` | the choice of one of these by times |
//! | `clocks` | clocks that tell colour sums from amplitudes |
//! | `blas` | the colour sum by cuBLAS or hipBLAS |
//! | `color_ordered` | plans of loops: their tables, and launches in place of the kernel of helicities |
//! | `memory` | the memory of chunks, and so their sizes |
//! | `slot` | what one chunk needs while it is under way |
//! | `workspace` | the workspaces of the kernel of helicities |
//! | `device_layout` | the tables in the memory of the GPU |
//! | `phase` | the phases of a call |
//! | `report` | what the kernels take of the GPU |

#[cfg(test)]
mod amd_tests;
mod blas;
mod chunks;
mod clocks;
mod color_ordered;
mod contributions;
mod device_layout;
mod kernel_spec;
mod launch;
mod memory;
mod phase;
mod report;
mod samples;
mod slot;
mod thread_blocks;
mod tuning;
mod verify;
mod workspace;

pub(crate) use color_ordered::fitted;
pub use phase::Phase;

use super::arena::{DeviceArena, Uploaded};
use super::color::ColorTables;
use super::driver::{Function, Stream};
use super::generated::Generated;
use super::level_schedule::{Amp2Source, KernelRange, LevelSchedule, OperationKind, ScheduleLevel};
use super::module_cache::ModuleCache;
use super::source::{self, CompilationUnit};
use blas::Blas;
use clocks::Clocked;
use color_ordered::{ArrayLoops, STAGE};
use device_layout::DeviceLayout;
use kernel_spec::{KernelSpec, MOST_GENERATED, WHOLE};
use launch::Launch;
use mebridge_backend::Clocks;
use mebridge_backend::trial::Trial;
use mebridge_plan::ValidPlan;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_process::{HelicitySum, Process};
use mebridge_support::error::{Error, Result};
use mebridge_support::runtime::Precision;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;
use samples::Samples;
use slot::Slot;
use std::sync::Arc;
use thread_blocks::Tuning;
use workspace::WorkspaceSize;

/// Events of a block of memory of plans of loops, whichever warps a GPU has: with more of them colour sums would have no
/// room in the shared memory of most. Otherwise a block has as many as a warp has threads.
const LOOPS_LANES: u32 = 32;

/// What may be set.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The share of the free memory that this engine may take.
    pub memory: f64,
    /// Whether launches are recorded and replayed; if nothing is said they are, unless phases are
    /// to be told apart.
    pub graphs: Option<bool>,
    /// The most multiply-adds of a thread for which straight-line code is generated.
    pub most_generated: usize,
    /// Operations in a group of the generated code of a whole process; 0: as the engine finds best.
    pub group: usize,
    /// Whether groups are functions of one kernel.
    pub functions: bool,
    /// Multiply-adds of an event up to which one thread does all helicities.
    pub whole: usize,
    /// Whether cuBLAS, or hipBLAS, does the colour sum; by its size if `None`.
    pub blas: Option<bool>,
    /// Whether it may do so with the precision of TF32.
    pub tf32: bool,
    /// Whether threads of blocks are chosen by the times of launches.
    pub tune: bool,
    /// Bytes of JAMP that the colour sum of a plan of loops has in shared memory at a time, where no block of the colour
    /// matrix needs more.
    pub stage: usize,
    /// Whether samples wait for generated code; otherwise tables serve them until it is there.
    pub samples_wait: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 0.9,
            graphs: None,
            most_generated: MOST_GENERATED,
            group: 0,
            functions: true,
            whole: WHOLE,
            blas: None,
            tf32: false,
            tune: true,
            stage: STAGE,
            samples_wait: true,
        }
    }
}

fn not_whole() -> Error {
    Error::InvalidProcess {
        what: "a plan whose operations are not whole".into(),
    }
}

/// A plan on a GPU.
pub struct Engine {
    /// The first to go: it waits for what is under way.
    samples: Samples,
    library: Arc<ModuleCache>,
    plan: Arc<ValidPlan>,
    binding: Binding,
    tables: LevelSchedule,
    options: Options,
    double: bool,
    double_color: bool,
    /// What the kernel of helicities is compiled with.
    shape: source::CompileOptions,
    workspace_lanes: u32,
    workspace_threads: u32,
    /// Groups of helicities.
    groups: usize,
    /// Bytes of a workspace.
    workspace_bytes: usize,
    /// Whether workspaces lie in shared memory.
    shared: bool,
    /// Workspaces that should be at work at the same time; where they take memory of the GPU, the most.
    wanted: usize,
    uploaded: Uploaded,
    layout: DeviceLayout,
    load: Function,
    answer: Function,
    gather: Function,
    /// Amplitudes, JAMP and colour sums; none where `loops` do them.
    helicities: Option<Function>,
    /// What takes its place for a plan of loops.
    loops: Option<ArrayLoops>,
    /// Numbers of JAMP2.
    color_flows: usize,
    levels: Vec<Vec<Launch>>,
    squares: Vec<Vec<Launch>>,
    slots: Vec<Slot>,
    /// The colour sum, where a library does it.
    blas: Option<Blas>,
    /// What generated code is made from: a kernel for all, or one for a helicity, which takes the
    /// place of `helicities`.
    spec: Option<Arc<KernelSpec>>,
    /// Numbers of memory of an event that generated code needs.
    vectors: u32,
    /// Generated code for calls without and with channels.
    generated: [Option<Generated>; 2],
    tuning: Tuning,
    /// What is measured.
    clocks: Clocks,
    clocked: Clocked,
    /// Seconds spent in each phase.
    seconds: [f64; Phase::ALL.len()],
    couplings: Vec<Complex64>,
    /// Where generated code is compared.
    trial: Option<Arc<Trial>>,
    /// How contributions of helicities are added.
    helicity_sum: HelicitySum,
    /// Whether a |M|^2 of the last run is no sum of squares.
    lost: bool,
}

impl Engine {
    /// An engine for a plan of the process, whose addresses it follows. (Only within this crate, which gives it
    /// no events whose channels it has not checked.)
    pub(crate) fn new(
        library: &Arc<ModuleCache>,
        process: &Process,
        color_blocks: &BlockDiagonal,
        binding: &Binding,
        plan: ValidPlan,
        precision: Precision,
        options: Options,
    ) -> Result<Engine> {
        let driver = library.driver();
        let double = precision != Precision::Float;
        let tables = LevelSchedule::new(&plan, binding).ok_or_else(not_whole)?;
        let in_loops = plan.loops().is_some();
        let outside = !in_loops && blas::wanted(&options, color_blocks, driver)?;
        let color = match outside || in_loops {
            true => ColorTables::default(),
            false => ColorTables::new(color_blocks),
        };
        let workspace = match in_loops {
            true => WorkspaceSize::none(LOOPS_LANES),
            false => WorkspaceSize::choose(&tables, driver.properties(), precision, outside),
        };
        let shape = source::CompileOptions {
            double,
            double_color: precision == Precision::Double,
            lanes: match in_loops {
                true => LOOPS_LANES,
                false => driver.properties().warp,
            },
            workspace_lanes: workspace.lanes,
            workspace_threads: workspace.threads,
            workspace_blocks: workspace.blocks,
            colors_outside: outside,
            split_orders: !process.flow_weights.is_empty(),
            helicity_sum: process.helicity_sum,
        };
        let kinds = source::amplitude_kinds(&tables);
        let ends = shape.ends();
        let helicities =
            (!in_loops).then(|| shape.helicities(&kinds, &plan.operations().general, false));
        let executors: HashMap<OperationKind, CompilationUnit> = tables
            .kinds()
            .into_iter()
            .map(|kind| (kind, shape.operations(kind, &plan.operations().general)))
            .collect();
        let mut units: Vec<CompilationUnit> = executors.values().cloned().collect();
        units.push(ends.clone());
        units.extend(helicities.clone());
        if in_loops {
            units.extend([shape.arrays(), shape.color_ordered()]);
        }
        library.load(&units)?;
        let functions = executors
            .iter()
            .map(|(&kind, unit)| {
                let function = library.function(unit, &source::run_name(kind), 0)?;
                Ok((kind, function))
            })
            .collect::<Result<HashMap<OperationKind, Function>>>()?;
        let launches = |levels: &[ScheduleLevel]| -> Vec<Vec<Launch>> {
            let launch = |run: &KernelRange| Launch {
                function: functions[&run.kind].clone(),
                first: run.first,
                count: run.count,
            };
            let level = |level: &ScheduleLevel| level.iter().map(launch).collect();
            levels.iter().map(level).collect()
        };
        let mut arena = DeviceArena::default();
        let layout = DeviceLayout::new(
            &mut arena, process, &plan, &tables, &color, &kinds, &workspace, double, precision,
        );
        let blas = match process.amplitudes.diagrams() {
            Some(diagrams) if outside => Some(Blas::new(
                library,
                &mut arena,
                &shape,
                &diagrams.color,
                &tables,
                &workspace,
                &options,
            )?),
            _ => None,
        };
        let loops = match plan.loops() {
            Some(loops) => Some(ArrayLoops::new(
                library,
                &mut arena,
                &shape,
                loops,
                color_blocks,
                options.stage,
            )?),
            None => None,
        };
        let uploaded = arena.upload(&Stream::new(driver)?)?;
        let shared = if workspace.shared { workspace.bytes } else { 0 };
        // Generated code has the colour sum in it, always in the precision of the amplitudes: to
        // turn JAMP into single precision costs more there than is saved.
        let generated = source::CompileOptions {
            double_color: double,
            ..shape
        };
        let spec = match outside || in_loops {
            true => None,
            false => KernelSpec::new(
                process,
                binding,
                &plan,
                &tables,
                color_blocks,
                generated,
                options,
            )
            .or_else(|| {
                KernelSpec::of_helicity(process, &plan, &tables, color_blocks, generated, options)
            }),
        };
        let groups = match in_loops {
            true => 1,
            false => workspace.groups(&tables).len(),
        };
        let helicities = match &helicities {
            Some(unit) => Some(library.function(unit, "helicities", shared)?),
            None => None,
        };
        Ok(Engine {
            samples: Samples::default(),
            wanted: memory::workspaces_wanted(driver, &workspace, &options)?,
            groups,
            load: library.function(&ends, "load", 0)?,
            answer: library.function(&ends, "answer", 0)?,
            gather: library.function(&ends, "gather", 0)?,
            helicities,
            loops,
            color_flows: tables.color_flows(&process.flow_weights),
            levels: launches(&tables.levels),
            squares: match &tables.squares {
                Amp2Source::Totals { levels, .. } => launches(levels),
                Amp2Source::Amplitudes(_) => Vec::new(),
            },
            library: library.clone(),
            binding: binding.clone(),
            vectors: spec.as_ref().map_or(0, KernelSpec::vectors),
            spec: spec.map(Arc::new),
            blas,
            uploaded,
            layout,
            plan: Arc::new(plan),
            tables,
            options,
            double,
            double_color: shape.double_color,
            shape,
            workspace_lanes: workspace.lanes,
            workspace_threads: workspace.threads,
            workspace_bytes: workspace.bytes,
            shared: workspace.shared,
            slots: Vec::new(),
            generated: [None, None],
            tuning: Tuning::default(),
            clocks: Clocks::None,
            clocked: Clocked::default(),
            seconds: Default::default(),
            couplings: Vec::new(),
            trial: Trial::new(process, binding).map(Arc::new),
            helicity_sum: process.helicity_sum,
            lost: false,
        })
    }

    /// Events of a block of memory.
    fn lanes(&self) -> u32 {
        self.shape.lanes
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<ValidPlan> {
        &self.plan
    }

    /// What to measure of where the time goes.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.clocks = clocks;
    }

    /// Whether the times of phases are measured.
    fn profile(&self) -> bool {
        self.clocks != Clocks::None
    }

    /// Seconds spent in a phase, as far as [`Engine::set_profile`] asked.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.seconds[phase as usize]
    }

    /// Waits until all code that is being generated is there.
    pub fn wait_for_compiler(&mut self) {
        for generated in self.generated.iter().flatten() {
            generated.wait_for_compiler();
        }
    }

    /// Whether generated code is a kernel for a helicity.
    fn of_helicity(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.helicity)
    }

    /// Whether the next launches are recorded.
    fn graphs(&self) -> bool {
        if self.blas.is_some() && !blas::can_be_recorded(self.library.driver()) {
            return false;
        }
        match self.clocks {
            Clocks::None => self.options.graphs.unwrap_or(true),
            Clocks::Phases => self.options.graphs.unwrap_or(false),
            Clocks::Kernels => false,
        }
    }

    /// The kernel of helicities.
    fn helicities(&self) -> Result<&Function> {
        self.helicities.as_ref().ok_or_else(not_whole)
    }

    /// Number of external legs.
    fn legs(&self) -> usize {
        self.plan.masses.len()
    }

    fn real(&self) -> usize {
        if self.double { 8 } else { 4 }
    }
}
