//! Currents in turns: computed right ahead of the first helicities that need them.
//!
//! A current depends on the helicities of the legs below it, so a run of helicities that follow
//! each other looks at some of the currents alone. Where all currents are computed
//! first, all of them have to be kept. Here the groups of helicities are cut into runs of the same
//! length, and ahead of each run comes what it needs and no run before it did: nothing is done
//! twice, every helicity has the numbers that it would have otherwise, and the memory of
//! what no later run needs serves for others ([`super::slots`]).
//!
//! How much is kept depends on the order of helicities. Those of vectors change slowest, those of
//! fermions fastest: most currents have the fermion among their legs, and where its helicity
//! changes first, the two of them are needed one after the other.
//!
//! What squared diagrams are made of is computed ahead of all runs, for all helicities at once,
//! and so are they.

use super::walk::{Access, walk};
use super::{Address, Batch, External, Plan, Turn, slots};
use crate::process::ExternalKind;
use rustc_hash::FxHashMap as HashMap;
use std::ops::Range;

/// Vectors of a plan that fits into the second cache as it is: 1 MB of 64-byte vectors. Turns make
/// batches shorter, which costs a plan that fits some percent.
const FITS: u32 = 1 << 14;

/// Gives wavefunctions their places, and where the plan does not fit into the second cache then,
/// cuts it into twice as many runs until it does or takes no less for it. `None` if its operations
/// are not whole. `helicities` are those of the process.
pub fn reuse(plan: &mut Plan, helicities: &[Vec<i8>]) -> Option<()> {
    let mut apart = plan.clone();
    slots::reuse(plan)?;
    order(&mut apart, helicities);
    let mut runs = 2;
    while plan.vectors > FITS && runs <= plan.groups.len() {
        let mut more = apart.clone();
        cut(&mut more, runs)?;
        slots::reuse(&mut more)?;
        if more.vectors >= plan.vectors {
            break;
        }
        *plan = more;
        runs *= 2;
    }
    Some(())
}

/// Brings groups into the order in which few currents have to be kept.
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
    plan.groups.sort_by_key(of);
}

/// Cuts the groups into so many runs, or fewer if there are not as many. `None`, and the plan as it
/// was, if its operations are not whole. No two currents may lie in the same memory yet.
pub fn cut(plan: &mut Plan, runs: usize) -> Option<()> {
    let length = plan.groups.len().div_ceil(runs.max(1)).max(1);
    let mut graph = Graph::new(plan)?;
    graph.squares(plan)?;
    for (group, of_group) in plan.groups.iter().enumerate() {
        for &h in of_group {
            let table = &plan.tables[h as usize];
            for batch in &plan.amplitudes {
                walk(batch, &plan.general, true, &mut |i, access| {
                    if let Access::Look(_) = access {
                        graph.need(table[i as usize], 1 + (group / length) as u32);
                    }
                })?;
            }
        }
    }
    let mut turns: Vec<Turn> = (0..plan.groups.len().div_ceil(length))
        .map(|run| Turn {
            group: (run * length) as u32,
            currents: Vec::new(),
        })
        .collect();
    let mut currents = Vec::new();
    for (batch, operations) in plan.currents.iter().zip(&graph.batches) {
        let mut of_turn = vec![Vec::new(); 1 + turns.len()];
        for operation in operations {
            // What nobody needs stays where it was.
            let turn = graph.turns.get(&operation.result).map_or(0, |&t| t);
            of_turn[turn as usize].extend_from_slice(&batch.operands[operation.range.clone()]);
        }
        let places =
            std::iter::once(&mut currents).chain(turns.iter_mut().map(|t| &mut t.currents));
        for (place, operands) in places.zip(of_turn) {
            if !operands.is_empty() {
                place.push(Batch {
                    kernel: batch.kernel,
                    stride: batch.stride,
                    operands,
                });
            }
        }
    }
    plan.currents = currents;
    plan.turns = turns;
    Some(())
}

/// An operation of a batch.
struct Operation {
    range: Range<usize>,
    result: Address,
}

/// Which wavefunction is made of which others.
struct Graph {
    batches: Vec<Vec<Operation>>,
    inputs: HashMap<Address, Vec<Address>>,
    /// For each wavefunction that is needed the first turn that needs it; 0 is ahead of all.
    turns: HashMap<Address, u32>,
}

impl Graph {
    fn new(plan: &Plan) -> Option<Graph> {
        let mut graph = Graph {
            batches: Vec::new(),
            inputs: HashMap::default(),
            turns: HashMap::default(),
        };
        for batch in &plan.currents {
            let mut operations = Vec::new();
            let mut reads = Vec::new();
            let (mut start, mut at) = (0, 0);
            walk(batch, &plan.general, false, &mut |operand, access| {
                at += 1;
                match access {
                    Access::Read(_) => reads.push(operand),
                    Access::Write(_) | Access::Change(_) => {
                        graph.inputs.entry(operand).or_default().append(&mut reads);
                        operations.push(Operation {
                            range: start..at,
                            result: operand,
                        });
                        start = at;
                    }
                    Access::Look(_) | Access::Number => {}
                }
            })?;
            graph.batches.push(operations);
        }
        Some(graph)
    }

    /// What squared diagrams need comes ahead of all turns.
    fn squares(&mut self, plan: &Plan) -> Option<()> {
        for batch in &plan.channels.squares {
            walk(batch, &plan.general, false, &mut |operand, access| {
                if let Access::Read(_) = access {
                    self.need(operand, 0);
                }
            })?;
        }
        Some(())
    }

    /// Notes that a turn needs a wavefunction, with all that it is made of.
    fn need(&mut self, wavefunction: Address, turn: u32) {
        let mut open = vec![wavefunction];
        while let Some(next) = open.pop() {
            if let Some(inputs) = self.inputs.get(&next)
                && !self.turns.contains_key(&next)
            {
                self.turns.insert(next, turn);
                open.extend(inputs);
            }
        }
    }
}
