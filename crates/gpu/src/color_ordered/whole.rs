//! A plan of loops in one kernel: tables that a thread block keeps in shared memory, and its workspace.

use super::schedule::{ArrayKernel, ArraySchedule};
use crate::driver::Properties;
use crate::structures::DeviceStructure;
use mebridge_ops::Address;
use mebridge_plan::color_ordered::Loops;

/// Maximum bytes of all workspaces in device memory, relative to the second-level cache. (H200, `d d~ > z g g g`: 1.02 times
/// the speed of a launch for each level with 131072 events, 1.2 times with 8192.)
const WORKSPACES: usize = 3;

/// The tables of a plan with a single run.
#[derive(Clone, Debug, Default)]
pub struct WholeTables {
    /// All of these tables, one after the other; the others of these fields are where each of them begins.
    pub words: Vec<u32>,
    /// Operations.
    pub operations: u32,
    /// Pairs.
    pub pairs: u32,
    /// Pairs of tiles.
    pub tile_pairs: u32,
    /// Triples.
    pub triples: u32,
    /// Addends.
    pub addends: u32,
    /// Offsets of elements.
    pub indices: u32,
    /// Shifts of the run.
    pub shifts: u32,
    /// Items.
    pub items: u32,
    /// The first launch of each level, and the end of the last.
    pub levels: u32,
    /// For each launch the number of its kernel, its first item, and the number of items.
    pub launches: u32,
    /// Number of levels.
    pub level_count: u32,
    /// The kernels that occur.
    pub kernels: Vec<ArrayKernel>,
    /// Addresses of what the operations read but do not write.
    pub inputs: Vec<Address>,
    /// Bytes of a workspace in device memory; 0 if it is in shared memory.
    pub workspace: usize,
    /// Bytes of shared memory of a thread block.
    pub shared: usize,
    /// Thread blocks that fit on a multiprocessor.
    pub of_processor: u32,
}

impl WholeTables {
    /// Builds the tables of a plan with this many vectors of `lanes` numbers of `number` bytes. Returns `None` if the plan
    /// has several runs or is too large.
    pub fn new(
        loops: &Loops,
        schedule: &ArraySchedule,
        (vectors, lanes, number): (u32, u32, usize),
        gpu: &Properties,
    ) -> Option<WholeTables> {
        let [shifts] = &loops.runs[..] else {
            return None;
        };
        let workspace = vectors as usize * lanes as usize * number;
        let small = gpu.processors as usize * workspace <= WORKSPACES * gpu.cache;
        if !small && workspace > gpu.shared_per_block {
            return None;
        }
        let kernels = schedule.kernels();
        let (mut levels, mut launches) = (vec![0], Vec::new());
        for level in schedule.once.iter().chain(&schedule.per_run) {
            for range in level {
                let number = kernels.iter().position(|&kernel| kernel == range.kernel)?;
                launches.extend([number as u32, range.first, range.count]);
            }
            levels.push(launches.len() as u32 / 3);
        }
        let mut words = Words::default();
        let mut tables = WholeTables {
            operations: words.add(schedule.operations.iter().copied()),
            pairs: words.structures(&schedule.pairs),
            tile_pairs: words.structures(&schedule.tile_pairs),
            triples: words.structures(&schedule.triples),
            addends: words.structures(&schedule.addends),
            indices: words.add(loops.pools.indices.iter().copied()),
            shifts: words.add(shifts.iter().copied()),
            items: words.structures(&schedule.items),
            level_count: levels.len() as u32 - 1,
            levels: words.add(levels),
            launches: words.add(launches),
            inputs: inputs(loops, shifts, vectors)?,
            ..WholeTables::default()
        };
        // The workspace follows.
        let of_tables = 4 * words.add([]) as usize;
        (tables.workspace, tables.shared) = match of_tables + workspace <= gpu.shared_per_block {
            true => (0, of_tables + workspace),
            false if small => (workspace, of_tables),
            false => return None,
        };
        if tables.shared > gpu.shared_per_block {
            return None;
        }
        // Tiles need all registers. The system uses some shared memory of each block.
        let is_kind = |kernel: &ArrayKernel| matches!(kernel, ArrayKernel::Kind(_));
        let twice =
            kernels.iter().all(is_kind) && 2 * (tables.shared + 1024) <= gpu.shared_per_processor;
        tables.of_processor = if twice { 2 } else { 1 };
        tables.kernels = kernels;
        tables.words = words.0;
        Some(tables)
    }
}

/// Tables of words, one after the other, each aligned for two numbers.
#[derive(Default)]
struct Words(Vec<u32>);

impl Words {
    /// Appends a table and returns its start.
    fn add(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        let start = self.0.len() as u32;
        self.0.extend(words);
        start
    }

    /// Appends an array of structures.
    fn structures<T: DeviceStructure>(&mut self, all: &[T]) -> u32 {
        let bytes: Vec<u8> = all.iter().flat_map(T::bytes).collect();
        let words = bytes.as_chunks::<4>().0.iter();
        self.add(words.map(|&word| u32::from_ne_bytes(word)))
    }
}

/// Returns the addresses that the operations of a run read without having written them, and those of weights. The plan has
/// this many vectors.
fn inputs(loops: &Loops, shifts: &[u32], vectors: u32) -> Option<Vec<Address>> {
    let pools = &loops.pools;
    let (mut read, mut written) = (vec![false; vectors as usize], vec![false; vectors as usize]);
    let mark = |marks: &mut [bool], first: Address, size: u32| {
        marks[first as usize..][..size as usize].fill(true);
    };
    for op in loops.once.iter().chain(&loops.per_run) {
        let mut whole = Some(());
        pools.terms(op, &mut |term| {
            for from in term.reads() {
                let first = from.address + shifts[from.shift as usize];
                for r in 0..op.count {
                    match pools.offset(from, r) {
                        Some(offset) => mark(&mut read, first + offset, from.size),
                        None => whole = None,
                    }
                }
            }
        })?;
        whole?;
        pools.once(op, &mut |at, size| mark(&mut read, at, size))?;
        let to = op.result();
        for r in 0..op.count {
            mark(&mut written, to.address + r * to.stride, to.size);
        }
    }
    for weight in loops.weights.iter().flatten() {
        mark(&mut read, weight.address, 1);
    }
    let unwritten = (0..vectors).filter(|&at| read[at as usize] && !written[at as usize]);
    Some(unwritten.collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;
    use mebridge_plan::color_ordered::Machine;

    /// Returns the tables of a process for a GPU with this much shared memory and cache.
    fn tables(text: &str, tile: usize, shared: usize, cache: usize) -> Option<WholeTables> {
        let plan = plan(text, Machine::Gpu { tile });
        let loops = plan.loops().unwrap();
        let schedule = ArraySchedule::new(loops).unwrap();
        let gpu = Properties {
            processors: 2,
            shared_per_block: shared,
            shared_per_processor: shared + (1 << 10),
            cache,
            ..Properties::default()
        };
        let tables = WholeTables::new(loops, &schedule, (plan.vectors, 32, 8), &gpu);
        if let Some(tables) = &tables {
            let launches = &tables.words[tables.launches as usize..];
            let last = tables.words[tables.levels as usize + tables.level_count as usize];
            let items: u32 = (0..last as usize).map(|i| launches[3 * i + 2]).sum();
            assert_eq!(items as usize, schedule.items.len(), "{text}");
            // External momenta are no operands, JAMPs are no inputs.
            let momenta = plan.leg_momenta..plan.leg_momenta + 4;
            assert!(!tables.inputs.is_empty() && tables.inputs.len() < plan.vectors as usize / 2);
            assert!(
                !tables.inputs.iter().any(|at| momenta.contains(at)),
                "{text}"
            );
            assert!(!tables.inputs.contains(&loops.jamps), "{text}");
            assert!(
                loops
                    .weights
                    .iter()
                    .flatten()
                    .all(|w| tables.inputs.contains(&w.address))
            );
        }
        tables
    }

    #[test]
    fn workspaces_are_where_they_fit() {
        let whole = usize::MAX;
        let small = tables("u u~ > e+ e- g g", whole, 220 << 10, 0).unwrap();
        assert!(small.workspace == 0 && small.shared <= 220 << 10);
        // No tiles, but there is no room for two blocks.
        assert_eq!(small.of_processor, 1);
        assert_eq!(
            tables("d d~ > z g", whole, 220 << 10, 0)
                .unwrap()
                .of_processor,
            2
        );
        let large = tables("u u~ > e+ e- g g g", whole, 220 << 10, 1 << 20).unwrap();
        assert!(large.workspace > 220 << 10 && large.shared < 100 << 10);
        assert!(large.kernels.contains(&ArrayKernel::ChiralTile));
        assert!(tables("u u~ > e+ e- g g g", whole, 220 << 10, 1 << 18).is_none());
        assert!(tables("u u~ > e+ e- g g g", whole, 1 << 10, 1 << 20).is_none());
        assert!(tables("u u~ > e+ e- g g g", 24, 220 << 10, 1 << 20).is_none());
    }
}
