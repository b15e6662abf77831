//! Workspaces of the kernel `helicities`: events per workspace, size, and location.

use crate::driver::Properties;
use crate::level_schedule::{KernelRange, LevelSchedule, OperationKind};
use mebridge_ops::opcode::Opcode;
use mebridge_support::runtime::Precision;

/// Events per workspace, its size, and its location.
pub(super) struct WorkspaceSize {
    pub(super) lanes: u32,
    /// Whether two helicities are computed together, if the plan has such groups.
    pub(super) pairs: bool,
    pub(super) threads: u32,
    /// Blocks that should fit on a multiprocessor.
    pub(super) blocks: u32,
    /// Numbers per helicity.
    pub(super) numbers: u32,
    /// Offset of the colour sum's numbers among these.
    pub(super) scratch: u32,
    pub(super) bytes: usize,
    pub(super) shared: bool,
}

impl WorkspaceSize {
    /// Chooses the workspaces. Shared memory is read 128 bytes at a time, so this many bytes of consecutive events are
    /// best; fewer are used if otherwise two blocks would not fit on a multiprocessor. Two helicities computed together
    /// read their common wavefunctions once. Colour sums computed `outside` need no memory.
    pub(super) fn choose(
        tables: &LevelSchedule,
        gpu: &Properties,
        precision: Precision,
        outside: bool,
    ) -> WorkspaceSize {
        let real = if precision == Precision::Float { 4 } else { 8 };
        let color = if precision == Precision::Double { 8 } else { 4 };
        // The colour sum overwrites amplitudes, if there are enough.
        let flows = 2 * tables.flows as u32;
        let (scratch, numbers) = match outside || tables.jamp >= flows {
            true => (0, tables.workspace),
            false => (tables.workspace, tables.workspace + flows),
        };
        let has_pairs = tables.groups.iter().any(|g| g[1] != u32::MAX);
        let size = |lanes: u32, pairs: bool, (threads, blocks): (u32, u32), shared: bool| {
            let helicities = if pairs { 2 } else { 1 };
            let workspaces = helicities * numbers as usize * lanes as usize * real;
            let sums = match outside {
                true => 0,
                false => 2 * threads as usize * color,
            };
            WorkspaceSize {
                lanes,
                pairs,
                threads,
                blocks,
                numbers,
                scratch,
                bytes: (workspaces + sums).next_multiple_of(16),
                shared,
            }
        };
        // Two helicities together need many registers in double precision. Only products of spinors read what both have in
        // common once: without them half as many threads are slower (g g > g g g g with channels: 0.90).
        let products = |run: &KernelRange| run.kind == OperationKind::Opcode(Opcode::Dots);
        let has_products = tables.amplitudes.iter().any(products);
        let shapes = |pairs: bool| -> &[(u32, u32)] {
            match (real, pairs) {
                (8, true) if has_products => &[(256, 3), (512, 1)],
                (8, true) => &[(256, 3)],
                (8, false) => &[(256, 4), (512, 2), (1024, 1)],
                _ => &[(256, 4), (512, 2), (1024, 1)],
            }
        };
        let best = 128 / real as u32;
        // The system uses some shared memory of each block.
        let fits = |size: &WorkspaceSize| {
            size.blocks as usize * (size.bytes + 1024) <= gpu.shared_per_processor
                && size.bytes <= gpu.shared_per_block
        };
        for lanes in [best, best / 2, best / 4] {
            for pairs in [true, false] {
                for &shape in shapes(pairs) {
                    let size = size(lanes, pairs && has_pairs, shape, true);
                    if fits(&size) {
                        return size;
                    }
                }
            }
        }
        size(gpu.warp, has_pairs, (256, 3), false)
    }

    /// Returns a value without workspaces, for a plan without the kernel `helicities`.
    pub(super) fn none(lanes: u32) -> WorkspaceSize {
        WorkspaceSize {
            lanes,
            pairs: false,
            threads: lanes,
            blocks: 1,
            numbers: 0,
            scratch: 0,
            bytes: 0,
            shared: true,
        }
    }

    /// Returns the groups of helicities.
    pub(super) fn groups(&self, tables: &LevelSchedule) -> Vec<[u32; 2]> {
        let alone = |group: &[u32; 2]| group.map(|h| [h, u32::MAX]);
        match self.pairs {
            true => tables.groups.clone(),
            false => {
                let all = tables.groups.iter().flat_map(alone);
                all.filter(|group| group[0] != u32::MAX).collect()
            }
        }
    }
}
