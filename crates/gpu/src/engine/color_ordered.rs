//! Plans of loops: their tables, and the launches that replace the kernel `helicities`.
//!
//! Array operations are launched level by level ([`crate::color_ordered::schedule`]), one run of helicities after the
//! other. Each run is followed by its colour sums.

use super::launch::{by_warp, launch};
use super::slot::Slot;
use super::{Engine, LOOPS_LANES, not_whole};
use crate::arena::{DeviceArena, Offset};
use crate::color_ordered::color_matrix::{
    AHEAD, ColorMatrixTables, GROUP_WARPS, SHARED_COLUMNS, WARPS,
};
use crate::color_ordered::schedule::{ArrayKernel, ArrayLevel, ArraySchedule};
use crate::driver::{Function, Pointer, Shape};
use crate::module_cache::ModuleCache;
use crate::source;
use crate::structures::{ArrayArguments, ColorOrderedArguments, FlowsArguments, WeightsArguments};
use mebridge_backend::Clocks;
use mebridge_plan::ValidPlan;
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::color_ordered::{Loops, Machine};
use mebridge_process::color_ordered::FlowTerm;
use mebridge_support::error::{Error, Result};
use std::sync::Arc;

/// Maximum fraction of the memory for a block of events.
const BLOCK_SHARE: f64 = 0.45;
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

/// Operations of one kernel.
struct ArrayLaunch {
    kernel: ArrayKernel,
    function: Function,
    first: u32,
    count: u32,
}

/// The loops of a plan on a GPU.
pub(super) struct ArrayLoops {
    once: Vec<ArrayLaunch>,
    per_run: Vec<ArrayLaunch>,
    runs: u32,
    /// Helicities per run.
    helicities: u32,
    /// Number of shifts.
    shift_count: u32,
    products: u32,
    operations: Offset,
    pairs: Offset,
    tile_pairs: Offset,
    triples: Offset,
    addends: Offset,
    indices: Offset,
    shifts: Offset,
    items: Offset,
    rows: Offset,
    /// The helicities with all legs reversed, if there are any.
    reversed: Option<Offset>,
    weights: Weights,
    sums: Function,
    orders: Function,
    flows: Function,
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
    flow_count: u32,
    flow_starts: Offset,
    flow_terms: Offset,
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
        loops: &Loops,
        color_blocks: &BlockDiagonal,
        stage: usize,
    ) -> Result<ArrayLoops> {
        let schedule = ArraySchedule::new(loops).ok_or_else(not_whole)?;
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
        let of_color = shape.color_ordered();
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
        Ok(ArrayLoops {
            once: launches(&schedule.once)?,
            per_run: launches(&schedule.per_run)?,
            runs: loops.runs.len() as u32,
            helicities: loops.helicities,
            shift_count: loops.runs.first().map_or(0, |run| run.len() as u32),
            products: loops.jamps,
            operations: arena.numbers(schedule.operations),
            pairs: arena.structures(schedule.pairs),
            tile_pairs: arena.structures(schedule.tile_pairs),
            triples: arena.structures(schedule.triples),
            addends: arena.structures(schedule.addends),
            items: arena.structures(schedule.items),
            indices: arena.numbers(loops.pools.indices.iter().copied()),
            shifts: arena.numbers(loops.runs.iter().flatten().copied()),
            rows: arena.numbers(loops.rows.iter().copied()),
            reversed: (!loops.reversed.is_empty())
                .then(|| arena.numbers(loops.reversed.iter().copied())),
            weights: Weights::new(
                library.function(&of_color, "color_weights", 0)?,
                arena,
                loops,
            ),
            sums: library.function(&of_color, "color_sums", 0)?,
            orders: library.function(&of_color, "color_ordered_sum", shared)?,
            flows: library.function(&of_color, "color_flows", 0)?,
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
            flow_count: flows.len() as u32,
            flow_starts: arena.numbers(starts),
            flow_terms: arena.numbers(terms),
        })
    }

    /// Returns whether sums of JAMP are a kernel of their own: a single stage computes them itself.
    fn has_sums(&self) -> bool {
        self.group_count > 0 && self.stage_count > 1
    }

    /// Returns the kernels, with their numbers of launches, threads per block and bytes of shared memory.
    pub(super) fn kernels(&self) -> Vec<(String, &Function, usize, u32, usize)> {
        let mut all: Vec<(String, &Function, usize, u32, usize)> = Vec::new();
        let runs = self.runs as usize;
        let once = self.once.iter().map(|launch| (launch, 1));
        for (launch, times) in once.chain(self.per_run.iter().map(|launch| (launch, runs))) {
            let name = launch.kernel.name();
            match all.iter_mut().find(|known| known.0 == name) {
                Some(known) => known.2 += times,
                None => all.push((name, &launch.function, times, source::THREADS, 0)),
            }
        }
        if self.weights.items() > 0 {
            let function = &self.weights.function;
            all.push(("color_weights".into(), function, 1, source::THREADS, 0));
        }
        if self.has_sums() {
            let threads = GROUP_WARPS * LOOPS_LANES;
            all.push(("color_sums".into(), &self.sums, runs, threads, 0));
        }
        let threads = self.warps * LOOPS_LANES;
        let name = "color_ordered_sum".into();
        all.push((name, &self.orders, runs, threads, self.shared));
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
        let blocks = events.div_ceil(LOOPS_LANES).min(65535);
        let vectors = self.tables.vectors;
        let memory = slot.memory.pointer();
        let operations = |launches: &[ArrayLaunch], run: u32| -> Result<()> {
            for one in launches {
                let arguments = ArrayArguments {
                    memory,
                    vectors,
                    events,
                    operations: at(loops.operations),
                    pairs: at(loops.pairs),
                    tile_pairs: at(loops.tile_pairs),
                    triples: at(loops.triples),
                    addends: at(loops.addends),
                    indices: at(loops.indices),
                    shifts: at(loops.shifts) + 4 * u64::from(run * loops.shift_count),
                    items: at(loops.items) + 8 * u64::from(one.first),
                    count: one.count,
                };
                let shape = by_warp(LOOPS_LANES, one.count, events, source::THREADS);
                launch(slot, &one.function, shape, &arguments)?;
            }
            Ok(())
        };
        let weights = &loops.weights;
        if weights.items() > 0 {
            let arguments = WeightsArguments {
                memory,
                vectors,
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
        operations(&loops.once, 0)?;
        for run in 0..loops.runs {
            operations(&loops.per_run, run)?;
            let of_run = |rows: Offset| at(rows) + 4 * u64::from(run * loops.helicities);
            let rows = of_run(loops.rows);
            let reversed = loops.reversed.map_or(0, of_run);
            let addresses = weights.addresses.map_or(0, at);
            if jamp2 != 0 {
                let arguments = FlowsArguments {
                    memory,
                    vectors,
                    events,
                    products: loops.products,
                    helicities: loops.helicities,
                    rows,
                    reversed,
                    weights: addresses,
                    weighted: weights.weighted,
                    starts: at(loops.flow_starts),
                    terms: at(loops.flow_terms),
                    flows: loops.flow_count,
                    first: u32::from(run == 0),
                    jamp2,
                };
                let shape = by_warp(LOOPS_LANES, loops.flow_count, events, source::THREADS);
                launch(slot, &loops.flows, shape, &arguments)?;
            }
            let arguments = ColorOrderedArguments {
                memory,
                vectors,
                events,
                products: loops.products,
                helicities: loops.helicities,
                rows,
                reversed,
                weights: addresses,
                weighted: weights.weighted,
                group_count: loops.group_count,
                group_starts: at(loops.group_starts),
                groups: at(loops.groups),
                stages: at(loops.stages),
                stage_count: loops.stage_count,
                warps: loops.warps,
                lists: at(loops.lists),
                tiles: at(loops.tiles),
                slots: at(loops.slots),
                entries: at(loops.entries),
                contributions: slot.contributions.pointer(),
            };
            let helicities = loops.helicities.min(65535);
            let of_sums = Shape {
                blocks: [loops.group_count.div_ceil(GROUP_WARPS), blocks, helicities],
                threads: [LOOPS_LANES, GROUP_WARPS, 1],
                shared: 0,
            };
            let shape = Shape {
                blocks: [helicities, blocks, 1],
                threads: [LOOPS_LANES, loops.warps, 1],
                shared: loops.shared as u32,
            };
            let before = match self.clocks {
                Clocks::Kernels => Some(slot.stream.put_event()?),
                Clocks::None | Clocks::Phases => None,
            };
            if loops.has_sums() {
                launch(slot, &loops.sums, of_sums, &arguments)?;
            }
            launch(slot, &loops.orders, shape, &arguments)?;
            if let Some(before) = before {
                slot.sums
                    .borrow_mut()
                    .push([before, slot.stream.put_event()?]);
            }
        }
        Ok(())
    }
}
