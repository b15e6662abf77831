//! Plans of loops: their tables, and the launches that replace the kernel `helicities`.
//!
//! Array operations are launched level by level ([`crate::color_ordered::schedule`]), one run of helicities after the
//! other. Each run is followed by its colour sums. A small plan is one kernel ([`crate::color_ordered::whole`]).

use super::launch::{by_warp, launch};
use super::slot::{Slot, optional};
use super::{Engine, LOOPS_LANES, not_whole};
use crate::arena::{DeviceArena, Offset};
use crate::color_ordered::color_matrix::{
    AHEAD, ColorMatrixTables, GROUP_WARPS, SHARED_COLUMNS, WARPS, upper_triangle,
};
use crate::color_ordered::schedule::{ArrayKernel, ArrayLevel, ArraySchedule};
use crate::color_ordered::whole::WholeTables;
use crate::driver::{Function, Pointer, Properties, Shape};
use crate::module_cache::ModuleCache;
use crate::source::{self, CompilationUnit};
use crate::structures::{
    ArrayArguments, ColorOrderedArguments, FewJampsArguments, FlowsArguments, LoopsArguments,
    WeightsArguments,
};
use mebridge_backend::Clocks;
use mebridge_plan::ValidPlan;
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::color_ordered::{Loops, Machine};
use mebridge_process::color_ordered::FlowTerm;
use mebridge_support::error::{Error, Result};
use std::sync::Arc;

/// Maximum fraction of the memory for a block of events.
const BLOCK_SHARE: f64 = 0.45;
/// Maximum number of JAMP that a thread keeps in registers.
const FEW_JAMPS: usize = 24;
/// Default of [`super::Options::stage`], chosen so that two thread blocks fit on a multiprocessor.
pub(super) const STAGE: usize = 92 << 10;

/// Returns the plan for GPUs with this many free bytes, from those that `make` creates for a machine. Helicities are
/// divided into runs if a block of events with all of them needs too much memory.
pub(crate) fn fitted(
    free: usize,
    share: f64,
    double: bool,
    mut make: impl FnMut(Machine) -> Result<ValidPlan>,
) -> Result<ValidPlan> {
    let number = if double { 8 } else { 4 };
    let budget = (free as f64 * share * BLOCK_SHARE) as usize;
    let (mut tile, mut before) = (usize::MAX, None);
    loop {
        let plan = make(Machine::Gpu { tile })?;
        let Some(helicities) = plan.loops().map(|loops| loops.helicities as usize) else {
            return Ok(plan);
        };
        let bytes = plan.vectors as usize * LOOPS_LANES as usize * number;
        // If no further division is possible, the allocation of chunks reports the missing memory.
        if bytes <= budget || before == Some(helicities) {
            return Ok(plan);
        }
        // Half as many helicities: JAMP have two vectors per helicity.
        tile = plan.flows * helicities;
        before = Some(helicities);
    }
}

/// The tables of a plan of loops on the host.
pub(super) struct LoopsTables {
    schedule: ArraySchedule,
    /// The colour matrix of few JAMP.
    few: Option<Vec<f64>>,
    /// All operations as one kernel, if JAMP are few.
    whole: Option<WholeTables>,
    jamps: usize,
}

impl LoopsTables {
    /// Builds the tables of a plan of this many vectors.
    pub(super) fn new(
        loops: &Loops,
        vectors: u32,
        color_blocks: &BlockDiagonal,
        double: bool,
        gpu: &Properties,
    ) -> Result<LoopsTables> {
        let schedule = ArraySchedule::new(loops).ok_or_else(not_whole)?;
        let jamps = color_blocks.flows;
        let few = match jamps <= FEW_JAMPS {
            true => upper_triangle(color_blocks),
            false => None,
        };
        let size = (vectors, LOOPS_LANES, if double { 8 } else { 4 });
        let whole = few
            .as_ref()
            .and_then(|_| WholeTables::new(loops, &schedule, size, gpu));
        Ok(LoopsTables {
            schedule,
            few,
            whole,
            jamps,
        })
    }

    /// Returns the units of the kernels.
    pub(super) fn units(&self, shape: &source::CompileOptions) -> Vec<CompilationUnit> {
        let mut units = vec![shape.color_ordered()];
        match (&self.whole, &self.few) {
            (Some(whole), _) => units.push(self.whole_unit(whole, shape)),
            (None, Some(_)) => units.extend([shape.arrays(), shape.few_jamps(self.jamps)]),
            (None, None) => units.push(shape.arrays()),
        }
        units
    }

    fn whole_unit(&self, whole: &WholeTables, shape: &source::CompileOptions) -> CompilationUnit {
        shape.array_loops(&whole.kernels, self.jamps, whole.of_processor)
    }
}

/// The loops of a plan on a GPU.
pub(super) struct ArrayLoops {
    runs: u32,
    /// Helicities per run.
    helicities: u32,
    products: u32,
    rows: Offset,
    /// The helicities with all legs reversed, if there are any.
    reversed: Option<Offset>,
    weights: Weights,
    flow_count: u32,
    flow_starts: Offset,
    flow_terms: Offset,
    way: Way,
}

/// How operations and colour sums are launched.
enum Way {
    /// All of them by one kernel.
    Whole(Box<WholeLoops>),
    /// Operations level by level, then colour sums.
    Levels(Box<LoopsByLevels>, ColorSum),
}

/// A kernel for the whole plan.
struct WholeLoops {
    function: Function,
    /// `words` and `inputs` are in device memory.
    tables: WholeTables,
    words: Offset,
    table_size: u32,
    inputs: Offset,
    /// Upper triangle of the colour matrix.
    entries: Offset,
    /// Number of thread blocks that run at the same time.
    blocks: u32,
}

/// Operations of one kernel.
struct ArrayLaunch {
    kernel: ArrayKernel,
    function: Function,
    first: u32,
    count: u32,
}

/// Operations in levels.
struct LoopsByLevels {
    once: Vec<ArrayLaunch>,
    per_run: Vec<ArrayLaunch>,
    /// Number of shifts.
    shift_count: u32,
    operations: Offset,
    pairs: Offset,
    tile_pairs: Offset,
    triples: Offset,
    addends: Offset,
    indices: Offset,
    shifts: Offset,
    items: Offset,
    flows: Function,
}

/// The colour sum.
enum ColorSum {
    /// Of few JAMP, with the upper triangle of the colour matrix.
    Few { function: Function, entries: Offset },
    /// By the blocks of the matrix.
    Blocks(Box<ColorBlocks>),
}

/// The blocks of the colour matrix.
struct ColorBlocks {
    sums: Function,
    orders: Function,
    group_count: u32,
    group_starts: Offset,
    groups: Offset,
    stages: Offset,
    stage_count: u32,
    /// Maximum bytes of shared memory of a stage.
    shared: usize,
    lists: Offset,
    warps: u32,
    tiles: Offset,
    slots: Offset,
    entries: Offset,
}

impl WholeLoops {
    fn new(
        library: &Arc<ModuleCache>,
        arena: &mut DeviceArena,
        unit: &CompilationUnit,
        mut tables: WholeTables,
        entries: Offset,
    ) -> Result<WholeLoops> {
        let processors = library.driver().properties().processors;
        let words = std::mem::take(&mut tables.words);
        Ok(WholeLoops {
            function: library.function(unit, "array_loops", tables.shared)?,
            table_size: words.len() as u32,
            words: arena.numbers(words),
            inputs: arena.numbers(tables.inputs.iter().copied()),
            entries,
            blocks: processors * tables.of_processor,
            tables,
        })
    }
}

impl LoopsByLevels {
    fn new(
        library: &Arc<ModuleCache>,
        arena: &mut DeviceArena,
        shape: &source::CompileOptions,
        loops: &Loops,
        schedule: ArraySchedule,
    ) -> Result<LoopsByLevels> {
        let unit = shape.arrays();
        let launches = |levels: &[ArrayLevel]| -> Result<Vec<ArrayLaunch>> {
            let runs = levels.iter().flatten();
            runs.map(|run| {
                Ok(ArrayLaunch {
                    kernel: run.kernel,
                    function: library.function(&unit, &run.kernel.name(), 0)?,
                    first: run.first,
                    count: run.count,
                })
            })
            .collect()
        };
        Ok(LoopsByLevels {
            once: launches(&schedule.once)?,
            per_run: launches(&schedule.per_run)?,
            shift_count: loops.runs.first().map_or(0, |run| run.len() as u32),
            operations: arena.numbers(schedule.operations),
            pairs: arena.structures(schedule.pairs),
            tile_pairs: arena.structures(schedule.tile_pairs),
            triples: arena.structures(schedule.triples),
            addends: arena.structures(schedule.addends),
            items: arena.structures(schedule.items),
            indices: arena.numbers(loops.pools.indices.iter().copied()),
            shifts: arena.numbers(loops.runs.iter().flatten().copied()),
            flows: library.function(&shape.color_ordered(), "color_flows", 0)?,
        })
    }
}

impl ColorBlocks {
    fn new(
        library: &Arc<ModuleCache>,
        arena: &mut DeviceArena,
        shape: &source::CompileOptions,
        color_blocks: &BlockDiagonal,
        stage: usize,
    ) -> Result<ColorBlocks> {
        let number = if shape.double { 8 } else { 4 };
        let of_slot = 2 * LOOPS_LANES as usize * number;
        let gpu = library.driver().properties();
        let kept = |warps: usize| warps * LOOPS_LANES as usize * SHARED_COLUMNS * number;
        // With fewer warps if large blocks do not fit otherwise.
        let with = |warps: usize| {
            let room = gpu.shared_per_block.checked_sub(kept(warps))? / of_slot;
            let most = room.checked_sub(AHEAD)?;
            ColorMatrixTables::new(color_blocks, (stage / of_slot).min(most), most, warps)
        };
        let color = [WARPS, WARPS / 2, WARPS / 4, WARPS / 8]
            .into_iter()
            .find_map(with);
        let color = color.ok_or(Error::NotOnGpu {
            what: "a colour matrix whose blocks have no room in shared memory".into(),
        })?;
        let shared = (color.largest_stage as usize + AHEAD) * of_slot + kept(color.warps as usize);
        let unit = shape.color_ordered();
        Ok(ColorBlocks {
            sums: library.function(&unit, "color_sums", 0)?,
            orders: library.function(&unit, "color_ordered_sum", shared)?,
            group_count: color.group_count() as u32,
            group_starts: arena.numbers(color.group_starts.iter().copied()),
            groups: arena.numbers(color.groups.iter().copied()),
            stage_count: color.stage_count() as u32,
            stages: arena.numbers(color.stages),
            shared,
            warps: color.warps,
            lists: arena.numbers(color.lists),
            tiles: arena.numbers(color.tiles),
            slots: arena.numbers(color.slots),
            entries: arena.reals(shape.double, color.entries),
        })
    }

    /// Returns whether sums of JAMP are a kernel of their own: a single stage computes them itself.
    fn has_sums(&self) -> bool {
        self.group_count > 0 && self.stage_count > 1
    }
}

/// Factors of helicities, and helicities that vanish.
struct Weights {
    function: Function,
    count: u32,
    starts: Offset,
    factors: Offset,
    /// Addresses of the weights, if there are any, and the number of helicities with the same two.
    addresses: Option<Offset>,
    weighted: u32,
    vanishing_count: u32,
    vanishing: Offset,
}

impl Weights {
    fn new(function: Function, arena: &mut DeviceArena, loops: &Loops) -> Weights {
        let (mut starts, mut factors) = (Vec::new(), Vec::new());
        let weights = || loops.weights.iter().flatten();
        for weight in weights() {
            starts.push(factors.len() as u32);
            factors.extend([weight.address, weight.products.len() as u32]);
            for product in &weight.products {
                factors.push(product.len() as u32);
                factors.extend(product);
            }
        }
        let addresses: Vec<u32> = weights().map(|weight| weight.address).collect();
        Weights {
            function,
            count: starts.len() as u32,
            starts: arena.numbers(starts),
            factors: arena.numbers(factors),
            weighted: loops.helicities / (loops.weights.len().max(1) as u32),
            addresses: (!addresses.is_empty()).then(|| arena.numbers(addresses)),
            vanishing_count: loops.vanishing.len() as u32,
            vanishing: arena.numbers(loops.vanishing.iter().copied()),
        }
    }

    /// Returns the number of weights and vanishing helicities.
    fn items(&self) -> u32 {
        self.count + self.vanishing_count
    }
}

impl ArrayLoops {
    /// Adds the tables to the arena.
    pub(super) fn new(
        library: &Arc<ModuleCache>,
        arena: &mut DeviceArena,
        shape: &source::CompileOptions,
        (loops, tables): (&Loops, LoopsTables),
        color_blocks: &BlockDiagonal,
        stage: usize,
    ) -> Result<ArrayLoops> {
        let one = |jamp| {
            vec![FlowTerm {
                jamp: jamp as u32,
                minus: false,
            }]
        };
        let flows = match loops.flows.is_empty() {
            true => (0..color_blocks.flows).map(one).collect(),
            false => loops.flows.clone(),
        };
        let mut starts = vec![0];
        let mut terms = Vec::new();
        for flow in &flows {
            terms.extend(flow.iter().map(|t| 2 * t.jamp + u32::from(t.minus)));
            starts.push(terms.len() as u32);
        }
        let entries = tables.few.as_ref();
        let entries = entries.map(|few| arena.reals(shape.double, few.iter().copied()));
        let unit = tables
            .whole
            .as_ref()
            .map(|whole| tables.whole_unit(whole, shape));
        let way = match (tables.whole, unit, entries) {
            (Some(whole), Some(unit), Some(entries)) => {
                let whole = WholeLoops::new(library, arena, &unit, whole, entries)?;
                Way::Whole(Box::new(whole))
            }
            (_, _, entries) => {
                let levels = LoopsByLevels::new(library, arena, shape, loops, tables.schedule)?;
                let sum = match entries {
                    Some(entries) => {
                        let unit = shape.few_jamps(tables.jamps);
                        let function = library.function(&unit, "few_color_sums", 0)?;
                        ColorSum::Few { function, entries }
                    }
                    None => {
                        let blocks = ColorBlocks::new(library, arena, shape, color_blocks, stage)?;
                        ColorSum::Blocks(Box::new(blocks))
                    }
                };
                Way::Levels(Box::new(levels), sum)
            }
        };
        let of_weights = library.function(&shape.color_ordered(), "color_weights", 0)?;
        Ok(ArrayLoops {
            runs: loops.runs.len() as u32,
            helicities: loops.helicities,
            products: loops.jamps,
            rows: arena.numbers(loops.rows.iter().copied()),
            reversed: (!loops.reversed.is_empty())
                .then(|| arena.numbers(loops.reversed.iter().copied())),
            weights: Weights::new(of_weights, arena, loops),
            flow_count: flows.len() as u32,
            flow_starts: arena.numbers(starts),
            flow_terms: arena.numbers(terms),
            way,
        })
    }

    /// Returns the bytes of all workspaces in device memory for this many blocks of events.
    pub(super) fn workspaces(&self, blocks: usize) -> usize {
        match &self.way {
            Way::Whole(whole) => whole.tables.workspace * blocks.min(whole.blocks as usize),
            Way::Levels(..) => 0,
        }
    }

    /// Returns the kernels, with their numbers of launches, threads per block and bytes of shared memory.
    pub(super) fn kernels(&self) -> Vec<(String, &Function, usize, u32, usize)> {
        let mut all: Vec<(String, &Function, usize, u32, usize)> = Vec::new();
        let runs = self.runs as usize;
        if self.weights.items() > 0 {
            let function = &self.weights.function;
            all.push(("color_weights".into(), function, 1, source::THREADS, 0));
        }
        let (levels, sum) = match &self.way {
            Way::Whole(whole) => {
                let (name, shared) = ("array_loops".into(), whole.tables.shared);
                all.push((name, &whole.function, 1, source::LOOPS_THREADS, shared));
                return all;
            }
            Way::Levels(levels, sum) => (levels, sum),
        };
        let once = levels.once.iter().map(|launch| (launch, 1));
        for (launch, times) in once.chain(levels.per_run.iter().map(|launch| (launch, runs))) {
            let name = launch.kernel.name();
            match all.iter_mut().find(|known| known.0 == name) {
                Some(known) => known.2 += times,
                None => all.push((name, &launch.function, times, source::THREADS, 0)),
            }
        }
        match sum {
            ColorSum::Few { function, .. } => {
                all.push(("few_color_sums".into(), function, runs, source::THREADS, 0));
            }
            ColorSum::Blocks(blocks) => {
                if blocks.has_sums() {
                    let threads = GROUP_WARPS * LOOPS_LANES;
                    all.push(("color_sums".into(), &blocks.sums, runs, threads, 0));
                }
                let threads = blocks.warps * LOOPS_LANES;
                let name = "color_ordered_sum".into();
                all.push((name, &blocks.orders, runs, threads, blocks.shared));
            }
        }
        all
    }
}

impl Engine {
    /// Launches the computation from external wavefunctions to the contributions of helicities, and to JAMP2 if
    /// requested.
    pub(super) fn launch_loops(
        &self,
        loops: &ArrayLoops,
        slot: &Slot,
        events: u32,
        jamp2: Pointer,
    ) -> Result<()> {
        let at = |offset| self.uploaded.at(offset);
        let weights = &loops.weights;
        if weights.items() > 0 {
            let arguments = WeightsArguments {
                memory: slot.memory.pointer(),
                vectors: self.tables.vectors,
                events,
                starts: at(weights.starts),
                factors: at(weights.factors),
                weight_count: weights.count,
                vanishing_count: weights.vanishing_count,
                vanishing: at(weights.vanishing),
                contributions: slot.contributions.pointer(),
            };
            let shape = by_warp(LOOPS_LANES, weights.items(), events, source::THREADS);
            launch(slot, &weights.function, shape, &arguments)?;
        }
        match &loops.way {
            Way::Whole(whole) => self.launch_whole(loops, whole, slot, events, jamp2),
            Way::Levels(levels, sum) => {
                self.launch_levels(levels, &levels.once, slot, events, 0)?;
                for run in 0..loops.runs {
                    self.launch_levels(levels, &levels.per_run, slot, events, run)?;
                    self.launch_colors(loops, &levels.flows, sum, slot, events, jamp2, run)?;
                }
                Ok(())
            }
        }
    }

    /// Launches all operations and colour sums as one kernel.
    fn launch_whole(
        &self,
        loops: &ArrayLoops,
        whole: &WholeLoops,
        slot: &Slot,
        events: u32,
        jamp2: Pointer,
    ) -> Result<()> {
        let at = |offset| self.uploaded.at(offset);
        let tables = &whole.tables;
        let arguments = LoopsArguments {
            memory: slot.memory.pointer(),
            vectors: self.tables.vectors,
            events,
            workspaces: optional(tables.workspace > 0, slot.workspaces.pointer()),
            inputs: at(whole.inputs),
            input_count: tables.inputs.len() as u32,
            tables: at(whole.words),
            table_size: whole.table_size,
            operations: tables.operations,
            pairs: tables.pairs,
            tile_pairs: tables.tile_pairs,
            triples: tables.triples,
            addends: tables.addends,
            indices: tables.indices,
            shifts: tables.shifts,
            items: tables.items,
            levels: tables.levels,
            level_count: tables.level_count,
            launches: tables.launches,
            products: loops.products,
            helicities: loops.helicities,
            rows: at(loops.rows),
            reversed: loops.reversed.map_or(0, at),
            weights: loops.weights.addresses.map_or(0, at),
            weighted: loops.weights.weighted,
            entries: at(whole.entries),
            contributions: slot.contributions.pointer(),
            flow_starts: at(loops.flow_starts),
            flow_terms: at(loops.flow_terms),
            flows: loops.flow_count,
            jamp2,
        };
        let shape = Shape {
            blocks: [events.div_ceil(LOOPS_LANES).min(whole.blocks), 1, 1],
            threads: [LOOPS_LANES, source::LOOPS_THREADS / LOOPS_LANES, 1],
            shared: tables.shared as u32,
        };
        launch(slot, &whole.function, shape, &arguments)
    }

    /// Launches some operations of a run level by level.
    fn launch_levels(
        &self,
        levels: &LoopsByLevels,
        launches: &[ArrayLaunch],
        slot: &Slot,
        events: u32,
        run: u32,
    ) -> Result<()> {
        let at = |offset| self.uploaded.at(offset);
        for one in launches {
            let arguments = ArrayArguments {
                memory: slot.memory.pointer(),
                vectors: self.tables.vectors,
                events,
                operations: at(levels.operations),
                pairs: at(levels.pairs),
                tile_pairs: at(levels.tile_pairs),
                triples: at(levels.triples),
                addends: at(levels.addends),
                indices: at(levels.indices),
                shifts: at(levels.shifts) + 4 * u64::from(run * levels.shift_count),
                items: at(levels.items) + 8 * u64::from(one.first),
                count: one.count,
            };
            let shape = by_warp(LOOPS_LANES, one.count, events, source::THREADS);
            launch(slot, &one.function, shape, &arguments)?;
        }
        Ok(())
    }

    /// Launches the colour sums of a run, and JAMP2 if requested.
    #[allow(clippy::too_many_arguments)]
    fn launch_colors(
        &self,
        loops: &ArrayLoops,
        flows: &Function,
        sum: &ColorSum,
        slot: &Slot,
        events: u32,
        jamp2: Pointer,
        run: u32,
    ) -> Result<()> {
        let at = |offset| self.uploaded.at(offset);
        let of_run = |rows: Offset| at(rows) + 4 * u64::from(run * loops.helicities);
        let (memory, vectors) = (slot.memory.pointer(), self.tables.vectors);
        let (products, helicities) = (loops.products, loops.helicities);
        let rows = of_run(loops.rows);
        let reversed = loops.reversed.map_or(0, of_run);
        let weights = loops.weights.addresses.map_or(0, at);
        let weighted = loops.weights.weighted;
        let contributions = slot.contributions.pointer();
        if jamp2 != 0 {
            let arguments = FlowsArguments {
                memory,
                vectors,
                events,
                products,
                helicities,
                rows,
                reversed,
                weights,
                weighted,
                flow_starts: at(loops.flow_starts),
                flow_terms: at(loops.flow_terms),
                flows: loops.flow_count,
                first: u32::from(run == 0),
                jamp2,
            };
            let shape = by_warp(LOOPS_LANES, loops.flow_count, events, source::THREADS);
            launch(slot, flows, shape, &arguments)?;
        }
        let before = match self.clocks {
            Clocks::Kernels => Some(slot.stream.put_event()?),
            Clocks::None | Clocks::Phases => None,
        };
        match sum {
            ColorSum::Few { function, entries } => {
                let arguments = FewJampsArguments {
                    memory,
                    vectors,
                    events,
                    products,
                    helicities,
                    rows,
                    reversed,
                    weights,
                    weighted,
                    entries: at(*entries),
                    contributions,
                };
                let shape = by_warp(LOOPS_LANES, helicities, events, source::THREADS);
                launch(slot, function, shape, &arguments)?;
            }
            ColorSum::Blocks(matrix) => {
                let arguments = ColorOrderedArguments {
                    memory,
                    vectors,
                    events,
                    products,
                    helicities,
                    rows,
                    reversed,
                    weights,
                    weighted,
                    group_count: matrix.group_count,
                    group_starts: at(matrix.group_starts),
                    groups: at(matrix.groups),
                    stages: at(matrix.stages),
                    stage_count: matrix.stage_count,
                    warps: matrix.warps,
                    lists: at(matrix.lists),
                    tiles: at(matrix.tiles),
                    slots: at(matrix.slots),
                    entries: at(matrix.entries),
                    contributions,
                };
                let blocks = events.div_ceil(LOOPS_LANES).min(65535);
                let helicities = helicities.min(65535);
                if matrix.has_sums() {
                    let groups = matrix.group_count.div_ceil(GROUP_WARPS);
                    let shape = Shape {
                        blocks: [groups, blocks, helicities],
                        threads: [LOOPS_LANES, GROUP_WARPS, 1],
                        shared: 0,
                    };
                    launch(slot, &matrix.sums, shape, &arguments)?;
                }
                let shape = Shape {
                    blocks: [helicities, blocks, 1],
                    threads: [LOOPS_LANES, matrix.warps, 1],
                    shared: matrix.shared as u32,
                };
                launch(slot, &matrix.orders, shape, &arguments)?;
            }
        }
        if let Some(before) = before {
            let both = [before, slot.stream.put_event()?];
            slot.sums.borrow_mut().push(both);
        }
        Ok(())
    }
}
