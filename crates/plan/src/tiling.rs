//! Cache tiling: currents are computed right ahead of the first helicities that need them.
//!
//! A current depends on the helicities of the legs below it, so a tile of helicities that follow each other reads some
//! of the currents only. If all currents were computed first, all of them would have to be kept. Here the groups of
//! helicities are cut into tiles of the same length. Ahead of each tile come the currents that it needs and no tile
//! before did. Nothing is done twice, every helicity has the numbers that it would have otherwise, and the memory of
//! currents that no later tile needs is reused ([`super::memory_reuse`]).
//!
//! How much is kept depends on the order of helicities. Those of vectors change slowest, those of
//! fermions fastest: most currents have the fermion among their legs, and where its helicity
//! changes first, the two of them are needed one after the other.
//!
//! Squared diagrams, and the currents that they are made of, are computed ahead of all tiles, for all helicities at
//! once.

use super::{Body, External, Operations, Plan, Tile, memory_reuse};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_process::ExternalKind;
use std::ops::Range;

/// Vectors of a plan that fits into L2 as it is: 1 MB of 64-byte vectors. Tiling makes
/// batches shorter, which costs a plan that fits some percent.
const L2_VECTORS: u32 = 1 << 14;

/// Gives wavefunctions their places. A plan that does not fit into L2 then is cut into twice as many tiles, until it
/// fits or gets no smaller. A tile has at least two groups: the two helicities of the fermion that changes fastest,
/// whose currents meet the same vectors and are computed together. `None` if its operations are not whole. `helicities`
/// are those of the process.
pub fn reuse(plan: &mut Plan, helicities: &[Vec<i8>]) -> Option<()> {
    let mut apart = plan.clone();
    memory_reuse::reuse(plan)?;
    if plan.vectors <= L2_VECTORS {
        return Some(());
    }
    order(&mut apart, helicities);
    let needs = Needs::of(&apart)?;
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

/// Cuts the groups into so many tiles, or fewer if there are not as many. `None`, and the plan as it was, if its
/// operations are not whole. No two currents may lie in the same memory yet.
pub fn cut(plan: &mut Plan, runs: usize) -> Option<()> {
    Needs::of(plan)?.cut(plan.operations_mut()?, runs);
    Some(())
}

/// An operation of a batch.
struct Operation {
    /// Its operands in the batch.
    range: Range<usize>,
    result: Address,
    /// Its reads, in [`Needs::reads`].
    reads: Range<usize>,
    /// The operation before that has the same result, if there is one.
    before: Option<u32>,
}

/// The wavefunctions that each group needs, however groups are cut into tiles.
struct Needs {
    /// The operations of all batches, one after the other.
    operations: Vec<Operation>,
    reads: Vec<Address>,
    /// For each address the last operation whose result is there.
    makers: Vec<Option<u32>>,
    /// For each result the first group that needs it, from 1; 0 is ahead of all of them.
    first: Vec<Option<u32>>,
}

impl Needs {
    fn of(plan: &Plan) -> Option<Needs> {
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
        // Currents of squared diagrams come ahead of all tiles.
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

    /// Notes the operations of a batch.
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

    /// Notes that a group needs a wavefunction, with all that it is made of.
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

    /// Cuts the plan into tiles of groups.
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
                // Currents that nobody needs stay where they were.
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
