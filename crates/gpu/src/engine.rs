//! The GPU engine: a plan in device memory, and the launches that run it.
//!
//! Events are processed in chunks that fit into memory. Momenta, couplings, random numbers and channels of a chunk are
//! copied to the GPU; |M|^2, helicities and colours are copied back. Two chunks are in progress at a time, each with
//! its own stream and memory, so that one copies while the other computes.
//!
//! | module | contents |
//! |---|---|
//! | `chunks` | division of a call into chunks, and the work put into a stream for each |
//! | `launch` | the launches that evaluate a chunk |
//! | `samples` | evaluation of a caller's samples in device memory |
//! | `verify` | choice of generated code for a call, and its comparison with the tables |
//! | `kernel_spec` | parameters of generated code |
//! | `contributions` | contributions of helicities and diagrams for a few events |
//! | `thread_blocks` | thread block sizes: defaults, candidates, choices |
//! | `tuning` | choice of a block size by timing |
//! | `clocks` | separate timing of colour sums and amplitudes |
//! | `blas` | the colour sum by cuBLAS or hipBLAS |
//! | `color_ordered` | plans of loops: their tables, and the launches that replace the kernel `helicities` |
//! | `memory` | memory, and therefore size, of chunks |
//! | `slot` | resources of one chunk in progress |
//! | `workspace` | the workspaces of the kernel `helicities` |
//! | `device_layout` | the tables in device memory |
//! | `phase` | the phases of a call |
//! | `report` | resource usage of the kernels |

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

use super::arena::{DeviceArena, Offset, Uploaded};
use super::color::ColorTables;
use super::driver::{Function, Stream};
use super::generated::Generated;
use super::level_schedule::{Amp2Source, KernelRange, LevelSchedule, OperationKind, ScheduleLevel};
use super::module_cache::ModuleCache;
use super::shared_levels::SharedLevels;
use super::source::{self, CompilationUnit};
use blas::Blas;
use clocks::Clocked;
use color_ordered::{ArrayLoops, LoopsTables, STAGE};
use device_layout::DeviceLayout;
use kernel_spec::{GeneratedPart, KernelSpec, MAX_GENERATED, MAX_WHOLE};
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

/// Events per memory block for plans of loops, independent of the warp size: with more events, colour sums would not
/// fit into the shared memory of most GPUs. For other plans, a block has one event per thread of a warp.
const LOOPS_LANES: u32 = 32;

/// Events per multiprocessor up to which one kernel computes the levels before loops. Loops read all results of the levels
/// from memory, and launches that fill the GPU write them there faster.
const BEFORE_LOOPS: usize = 256;

/// Options of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Maximum fraction of the free device memory that this engine may use.
    pub memory: f64,
    /// Whether launches are recorded and replayed. By default they are, unless phases are timed.
    pub graphs: Option<bool>,
    /// Maximum multiply-adds per thread for which straight-line code is generated.
    pub most_generated: usize,
    /// Operations per group in the generated code of a whole process; 0 lets the engine choose.
    pub group: usize,
    /// Whether groups are functions of one kernel.
    pub functions: bool,
    /// Maximum multiply-adds per event for which one thread computes all helicities.
    pub whole: usize,
    /// Whether cuBLAS or hipBLAS computes the colour sum; `None` decides by its size.
    pub blas: Option<bool>,
    /// Whether the library may use TF32 precision.
    pub tf32: bool,
    /// Whether thread block sizes are chosen by timing launches.
    pub tune: bool,
    /// Bytes of JAMP that the colour sum of a plan of loops keeps in shared memory at a time, unless a block of the
    /// colour matrix needs more.
    pub stage: usize,
    /// Whether samples wait for generated code; otherwise tables are used until it is ready.
    pub samples_wait: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory: 0.9,
            graphs: None,
            most_generated: MAX_GENERATED,
            group: 0,
            functions: true,
            whole: MAX_WHOLE,
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

/// Generated kernels that replace some of the table-driven ones.
#[derive(Clone, Copy, Default)]
struct PartKernels<'a> {
    /// Replaces `helicities`.
    helicity: Option<&'a Function>,
    /// Replaces the launches of operations.
    levels: Option<LevelsKernel<'a>>,
}

/// The kernel for all levels.
#[derive(Clone, Copy)]
struct LevelsKernel<'a> {
    function: &'a Function,
    levels: &'a SharedLevels,
    /// Its tables in device memory.
    tables: Offset,
}

/// A plan on a GPU.
pub struct Engine {
    /// Declared first, so that it is dropped first: it waits for pending work.
    samples: Samples,
    library: Arc<ModuleCache>,
    plan: Arc<ValidPlan>,
    binding: Binding,
    tables: LevelSchedule,
    options: Options,
    double: bool,
    double_color: bool,
    /// Compile options of the kernel `helicities`.
    shape: source::CompileOptions,
    workspace_lanes: u32,
    workspace_threads: u32,
    /// Number of groups of helicities.
    groups: usize,
    /// Bytes per workspace.
    workspace_bytes: usize,
    /// Whether workspaces are in shared memory.
    shared: bool,
    /// Desired number of concurrent workspaces; an upper limit if they are in device memory.
    wanted: usize,
    uploaded: Uploaded,
    layout: DeviceLayout,
    load: Function,
    answer: Function,
    gather: Function,
    /// Kernel for amplitudes, JAMP and colour sums; `None` if `loops` replaces it.
    helicities: Option<Function>,
    /// Array operations that replace `helicities` for a plan of loops.
    loops: Option<ArrayLoops>,
    /// Number of JAMP2.
    color_flows: usize,
    levels: Vec<Vec<Launch>>,
    /// Tables of the kernel that replaces these launches, for calls without and with channels or colours
    /// ([`KernelSpec::levels_of`]).
    shared_levels: [Option<Offset>; 2],
    squares: Vec<Vec<Launch>>,
    slots: Vec<Slot>,
    /// Colour sum by a library, if used.
    blas: Option<Blas>,
    /// Parameters of generated code: kernels for the whole process, or a kernel for one helicity that replaces
    /// `helicities`.
    spec: Option<Arc<KernelSpec>>,
    /// Numbers of memory per event that generated code needs.
    vectors: u32,
    /// Generated code for calls without and with channels.
    generated: [Option<Generated>; 2],
    tuning: Tuning,
    /// Requested measurements.
    clocks: Clocks,
    clocked: Clocked,
    /// Seconds spent in each phase.
    seconds: [f64; Phase::ALL.len()],
    couplings: Vec<Complex64>,
    /// Points at which generated code is compared with the tables.
    trial: Option<Arc<Trial>>,
    /// Order in which contributions of helicities are summed.
    helicity_sum: HelicitySum,
    /// Whether a |M|^2 of the last run was not a sum of squares.
    lost: bool,
    /// Whether massless vectors may have negative energies.
    crossed: bool,
}

impl Engine {
    /// Creates an engine for a plan of the process and uses the plan's addresses. (Private to this crate, which checks
    /// the channels of events before it passes them on.)
    #[expect(clippy::too_many_lines, reason = "a field after the other")]
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
        let in_loops = match plan.loops() {
            Some(loops) => {
                let gpu = driver.properties();
                let made = LoopsTables::new(loops, tables.vectors, color_blocks, double, gpu)?;
                units.extend(made.units(&shape));
                Some((loops, made))
            }
            None => None,
        };
        if !options.samples_wait {
            // Those of a generator of events, which needs them next: compiled at the same time.
            units.push(shape.ends_of_samples());
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
        let loops = match in_loops {
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
        let in_loops = loops.is_some();
        let shared = if workspace.shared { workspace.bytes } else { 0 };
        // Generated code contains the colour sum, always in the precision of the amplitudes: converting JAMP to single
        // precision would cost more there than it saves.
        let generated = source::CompileOptions {
            double_color: double,
            ..shape
        };
        let in_parts = outside || in_loops;
        let spec = match in_parts {
            true => None,
            false => KernelSpec::new(
                process,
                binding,
                &plan,
                &tables,
                color_blocks,
                generated,
                options,
            ),
        };
        let spec = match spec {
            None if options.most_generated > 0 => KernelSpec::of_levels(
                process,
                &plan,
                &tables,
                color_blocks,
                generated,
                !in_parts,
                driver.properties().shared_per_block,
            ),
            spec => spec,
        };
        let mut tables_of = |levels: &Option<SharedLevels>| {
            let levels = levels.as_ref()?;
            Some(arena.numbers(levels.tables.iter().copied()))
        };
        let shared_levels = spec.as_ref().map_or([None; 2], |spec| {
            let first = tables_of(&spec.levels);
            [first, tables_of(&spec.levels_before_squares).or(first)]
        });
        let uploaded = arena.upload(&Stream::new(driver)?)?;
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
            shared_levels,
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
            crossed: false,
        })
    }

    /// Returns the number of events per memory block.
    fn lanes(&self) -> u32 {
        self.shape.lanes
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Arc<ValidPlan> {
        &self.plan
    }

    /// Sets which times are measured.
    pub fn set_profile(&mut self, clocks: Clocks) {
        self.clocks = clocks;
    }

    /// Returns whether the times of phases are measured.
    fn profile(&self) -> bool {
        self.clocks != Clocks::None
    }

    /// Returns the seconds spent in a phase, if [`Engine::set_profile`] requested them.
    pub fn seconds(&self, phase: Phase) -> f64 {
        self.seconds[phase as usize]
    }

    /// Waits until all generated code has been compiled.
    pub fn wait_for_compiler(&mut self) {
        for generated in self.generated.iter().flatten() {
            generated.wait_for_compiler();
        }
    }

    /// Returns what generated code computes.
    fn generated_part(&self) -> GeneratedPart {
        self.spec
            .as_ref()
            .map_or(GeneratedPart::Whole, |spec| spec.part)
    }

    /// Returns whether generated code is used for chunks of `events` events.
    fn is_generated_for(&self, events: usize) -> bool {
        let gpu = self.library.driver().properties();
        self.loops.is_none() || events <= BEFORE_LOOPS * gpu.processors as usize
    }

    /// Returns the kernels of a helicity and of the levels, for calls without or with channels or colours, if these are
    /// what generated code consists of.
    fn parts_of<'a>(
        &'a self,
        generated: Option<&'a [Function]>,
        channels: bool,
    ) -> PartKernels<'a> {
        let (Some(spec), Some(functions)) = (&self.spec, generated) else {
            return PartKernels::default();
        };
        PartKernels {
            helicity: functions
                .first()
                .filter(|_| spec.part == GeneratedPart::Helicity),
            levels: (spec.levels_of(channels))
                .zip(self.shared_levels[usize::from(channels)])
                .zip(functions.last())
                .map(|((levels, tables), function)| LevelsKernel {
                    function,
                    levels,
                    tables,
                }),
        }
    }

    /// Returns whether the next launches are recorded.
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

    /// Returns the kernel `helicities`.
    fn helicities(&self) -> Result<&Function> {
        self.helicities.as_ref().ok_or_else(not_whole)
    }

    /// Returns the number of external legs.
    fn legs(&self) -> usize {
        self.plan.masses.len()
    }

    fn real(&self) -> usize {
        if self.double { 8 } else { 4 }
    }
}
