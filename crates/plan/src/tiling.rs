//! Cache tiling: currents are computed just before the first helicities that need them.
//!
//! A current depends on the helicities of its own legs, so a tile of consecutive helicities reads only some of the
//! currents. If all currents were computed first, all of them would have to be kept. Here the groups of helicities are
//! divided into tiles of equal length. Before each tile come the currents that it needs and no earlier tile did.
//! Nothing is computed twice, the results are identical, and the memory of currents that no later tile needs is reused
//! ([`super::memory_reuse`]).
//!
//! The memory required depends on the order of helicities. Helicities of vectors change slowest, those of fermions
//! fastest: most currents include the fermion, and if its helicity changes first, the currents for both helicities are
//! needed in succession.
//!
//! Squared diagrams, and the currents from which they are computed, come before all tiles, for all helicities at once.

use super::{Body, External, Operations, Plan, Tile, memory_reuse};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_process::ExternalKind;
use std::ops::Range;

/// Vectors of a plan that fits into L2 without tiling: 1 MB of 64-byte vectors. Tiling makes batches shorter, which
/// makes a plan that fits a few per cent slower.
const L2_VECTORS: u32 = 1 << 14;

/// Allocates memory to wavefunctions. A plan that then does not fit into L2 is divided into twice as many tiles, until
/// it fits or stops shrinking. A tile has at least two groups: the two helicities of the fermion that changes fastest,
/// whose currents use the same vectors and are computed together. Returns `None` if the operations are malformed.
/// `helicities` are those of the process.
pub fn reuse(plan: &mut Plan, helicities: &[Vec<i8>]) -> Option<()> {
    let mut apart = plan.clone();
    memory_reuse::reuse(plan)?;
    if plan.vectors <= L2_VECTORS {
        return Some(());
    }
    order(&mut apart, helicities);
    let needs = Needs::new(&apart)?;
    let mut runs = 2;
    while plan.vectors > L2_VECTORS && runs <= plan.operations().groups.len() / 2 {
        let mut more = apart.clone();
        needs.cut(more.operations_mut()?, runs);
        memory_reuse::reuse(&mut more)?;
        if more.vectors >= plan.vectors {
            break;
        }
        *plan = more;
        runs *= 2;
    }
    Some(())
}

/// Sorts groups such that few currents have to be kept.
pub fn order(plan: &mut Plan, helicities: &[Vec<i8>]) {
    let (vectors, others): (Vec<&External>, Vec<_>) = plan
        .externals
        .iter()
        .partition(|external| external.kind == ExternalKind::Vector);
    let legs = vectors.iter().chain(&others).map(|e| e.leg as usize);
    let legs: Vec<usize> = legs.collect();
    let of = |group: &Vec<u32>| {
        let &h = group.first()?;
        let of = &helicities[plan.helicities[h as usize] as usize];
        Some(legs.iter().map(|&leg| of[leg]).collect::<Vec<_>>())
    };
    if let Body::Operations(operations) = &mut plan.body {
        operations.groups.sort_by_key(of);
    }
}

/// Divides the groups into `runs` tiles, or fewer if there are not enough groups. Returns `None`, and leaves the plan
/// unchanged, if its operations are malformed. Currents must not share memory yet.
pub fn cut(plan: &mut Plan, runs: usize) -> Option<()> {
    Needs::new(plan)?.cut(plan.operations_mut()?, runs);
    Some(())
}

/// An operation of a batch.
struct Operation {
    /// Range of its operands in the batch.
    range: Range<usize>,
    result: Address,
    /// Range of its reads in [`Needs::reads`].
    reads: Range<usize>,
    /// The previous operation with the same result, if any.
    before: Option<u32>,
}

/// The wavefunctions that each group needs, for any division into tiles.
struct Needs {
    /// The operations of all batches, in order.
    operations: Vec<Operation>,
    reads: Vec<Address>,
    /// For each address the last operation that writes its result there.
    makers: Vec<Option<u32>>,
    /// For each result the first group that needs it, from 1; 0 if it is needed before all groups.
    first: Vec<Option<u32>>,
}

impl Needs {
    fn new(plan: &Plan) -> Option<Needs> {
        let mut needs = Needs {
            operations: Vec::new(),
            reads: Vec::new(),
            makers: vec![None; plan.vectors as usize],
            first: vec![None; plan.vectors as usize],
        };
        let operations = plan.operations();
        for batch in &operations.currents {
            needs.batch(operations, batch)?;
        }
        // Currents for squared diagrams come before all tiles.
        for batch in &operations.channels.squares {
            visit(batch, &operations.general, false, &mut |operand, access| {
                if let Access::Read(_) = access {
                    needs.note(operand, 0);
                }
            })?;
        }
        let looked_up = memory_reuse::looked_up(plan)?;
        for (group, of_group) in (1..).zip(&operations.groups) {
            for &h in of_group {
                for &i in &looked_up {
                    needs.note(operations.tables[h as usize][i as usize], group);
                }
            }
        }
        Some(needs)
    }

    /// Adds the operations of a batch.
    fn batch(&mut self, plan: &Operations, batch: &Batch) -> Option<()> {
        let (mut start, mut at) = (0, 0);
        let mut read = self.reads.len();
        visit(batch, &plan.general, false, &mut |operand, access| {
            at += 1;
            match access {
                Access::Read(_) => self.reads.push(operand),
                Access::Write(_) | Access::Update(_) => {
                    let maker = &mut self.makers[operand as usize];
                    self.operations.push(Operation {
                        range: start..at,
                        result: operand,
                        reads: read..self.reads.len(),
                        before: *maker,
                    });
                    *maker = Some(self.operations.len() as u32 - 1);
                    (start, read) = (at, self.reads.len());
                }
                Access::Indexed(_) | Access::Number => {}
            }
        })
    }

    /// Records that a group needs a wavefunction, and everything from which it is computed.
    fn note(&mut self, wavefunction: Address, group: u32) {
        let mut open = vec![wavefunction];
        while let Some(next) = open.pop() {
            let mut maker = self.makers[next as usize];
            if maker.is_none() || self.first[next as usize].is_some() {
                continue;
            }
            self.first[next as usize] = Some(group);
            while let Some(operation) = maker.map(|maker| &self.operations[maker as usize]) {
                open.extend(&self.reads[operation.reads.clone()]);
                maker = operation.before;
            }
        }
    }

    /// Divides the groups of the plan into tiles.
    fn cut(&self, plan: &mut Operations, runs: usize) {
        let length = plan.groups.len().div_ceil(runs.max(1)).max(1);
        let mut tiles: Vec<Tile> = (0..plan.groups.len().div_ceil(length))
            .map(|run| Tile {
                group: (run * length) as u32,
                currents: Vec::new(),
            })
            .collect();
        let mut currents = Vec::new();
        let mut operations = self.operations.iter();
        for batch in &plan.currents {
            let mut of_tile = vec![Vec::new(); 1 + tiles.len()];
            let mut left = batch.operands.len();
            while left > 0
                && let Some(operation) = operations.next()
            {
                // Currents that are not needed stay in place.
                let tile = match self.first[operation.result as usize] {
                    None | Some(0) => 0,
                    Some(group) => 1 + (group as usize - 1) / length,
                };
                of_tile[tile].extend_from_slice(&batch.operands[operation.range.clone()]);
                left -= operation.range.len();
            }
            let places =
                std::iter::once(&mut currents).chain(tiles.iter_mut().map(|t| &mut t.currents));
            for (place, operands) in places.zip(of_tile) {
                if !operands.is_empty() {
                    place.push(Batch {
                        opcode: batch.opcode,
                        stride: batch.stride,
                        operands,
                    });
                }
            }
        }
        plan.currents = currents;
        plan.tiles = tiles;
    }
}
