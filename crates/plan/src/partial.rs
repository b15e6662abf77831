//! Sharing of partial vertices between amplitudes.
//!
//! An amplitude is linear in each of its wavefunctions, so it is the product of one of them with a function of the
//! others. This *partial vertex* depends only on the helicities of its own legs and often serves several amplitudes,
//! and the product costs a fraction of the full vertex. For each amplitude the wavefunction of the final product is
//! chosen greedily, such that partial vertices serve as many amplitudes as possible at the least cost.

use super::Batch;
use super::compiler::{Compiler, VertexKernel};
use mebridge_ops::opcode::{Mode, Opcode};
use rustc_hash::FxHashMap as HashMap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A partial vertex: kernel, input wavefunctions, factor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Partial {
    opcode: Opcode,
    inputs: Vec<u32>,
    factor: u32,
}

/// One way to compute an amplitude.
struct LastProduct {
    partial: Partial,
    /// The wavefunction by which the partial vertex is multiplied.
    last: u32,
    /// [`Opcode::DotSpinor0`] or [`Opcode::DotVector0`].
    dot: Opcode,
}

/// Cost of a dot product in multiply-adds, including a share for load latencies.
const DOT: f64 = 24.0;

/// Replaces full vertices by products with partial vertices if that is less work, and adds the partial vertices to the
/// plan.
pub fn share(compiler: &mut Compiler, calls: &mut [VertexKernel]) {
    let helicities = compiler.helicity_indices.len() as f64;
    let ways: Vec<Vec<LastProduct>> = calls.iter().map(ways).collect();
    let mut users: HashMap<&Partial, Vec<usize>> = HashMap::default();
    for (amplitude, ways) in ways.iter().enumerate() {
        for way in ways {
            users.entry(&way.partial).or_default().push(amplitude);
        }
    }
    let cost = |partial: &Partial| {
        let combinations = combinations(compiler, &partial.inputs);
        combinations as f64 / helicities * work(partial.opcode)
    };
    let mut queue: BinaryHeap<Candidate> = users
        .iter()
        .map(|(partial, users)| Candidate {
            each: cost(partial) / users.len() as f64,
            users: users.len(),
            partial,
        })
        .collect();
    let mut chosen: Vec<Option<&Partial>> = vec![None; calls.len()];
    while let Some(candidate) = queue.pop() {
        let left: Vec<usize> = users[candidate.partial]
            .iter()
            .copied()
            .filter(|&a| chosen[a].is_none())
            .collect();
        if left.is_empty() {
            continue;
        }
        if left.len() < candidate.users {
            queue.push(Candidate {
                each: cost(candidate.partial) / left.len() as f64,
                users: left.len(),
                partial: candidate.partial,
            });
            continue;
        }
        for amplitude in left {
            let whole = work(calls[amplitude].opcode);
            if candidate.each + DOT < whole {
                chosen[amplitude] = Some(candidate.partial);
            }
        }
    }
    let mut nodes: HashMap<&Partial, u32> = HashMap::default();
    let mut batches: Vec<Batch> = Vec::new();
    for (amplitude, partial) in chosen.into_iter().enumerate() {
        let Some(partial) = partial else { continue };
        let node = match nodes.get(partial) {
            Some(&node) => node,
            None => {
                let node = emit(compiler, partial, &mut batches);
                nodes.insert(partial, node);
                node
            }
        };
        let Some(way) = ways[amplitude].iter().find(|w| w.partial == *partial) else {
            continue;
        };
        let layout = way.dot.layout().expect("products have a layout");
        calls[amplitude] = VertexKernel {
            opcode: way.dot,
            layout,
            inputs: vec![node, way.last],
            others: Vec::new(),
        };
    }
    compiler.operations.currents.append(&mut batches);
}

/// Cost in multiply-adds of a full or partial vertex, including a share for stores.
fn work(opcode: Opcode) -> f64 {
    match opcode {
        Opcode::Ffv0 => 60.0,
        Opcode::Vvv0 => 100.0,
        Opcode::VvvvDiff0 => 76.0,
        Opcode::SumFfv1 | Opcode::SumFfv2 => 56.0,
        Opcode::SumFfv3 => 64.0,
        Opcode::SumVvv1 => 100.0,
        _ => 80.0,
    }
}

/// Opcode of a partial vertex, indices of its inputs, and index of the remaining input.
type Choice = (Opcode, &'static [usize], usize);

/// The ways to compute an amplitude from a partial vertex.
fn ways(call: &VertexKernel) -> Vec<LastProduct> {
    let (choices, vector): (&[Choice], bool) = match call.opcode {
        Opcode::Ffv0 => (
            &[
                (Opcode::SumFfv1, &[1, 2], 0),
                (Opcode::SumFfv2, &[0, 2], 1),
                (Opcode::SumFfv3, &[0, 1], 2),
            ],
            false,
        ),
        Opcode::Vvv0 => (
            &[
                (Opcode::SumVvv1, &[1, 2], 0),
                (Opcode::SumVvv1, &[2, 0], 1),
                (Opcode::SumVvv1, &[0, 1], 2),
            ],
            true,
        ),
        Opcode::VvvvDiff0 => (
            &[
                (Opcode::SumVvvvDiff1, &[1, 2, 3], 0),
                (Opcode::SumVvvvDiff1, &[0, 3, 2], 1),
                (Opcode::SumVvvvDiff1, &[3, 0, 1], 2),
                (Opcode::SumVvvvDiff1, &[2, 1, 0], 3),
            ],
            true,
        ),
        _ => return Vec::new(),
    };
    let factor = call.others[0];
    choices
        .iter()
        .map(|&(opcode, inputs, last)| LastProduct {
            partial: Partial {
                opcode,
                inputs: inputs.iter().map(|&i| call.inputs[i]).collect(),
                factor,
            },
            last: call.inputs[last],
            dot: if vector || opcode == Opcode::SumFfv3 {
                Opcode::DotVector0
            } else {
                Opcode::DotSpinor0
            },
        })
        .collect()
}

/// Maximum number of helicity combinations of the legs of some wavefunctions.
fn combinations(compiler: &Compiler, inputs: &[u32]) -> usize {
    inputs
        .iter()
        .map(|&input| compiler.wavefunctions[input as usize].examples.len())
        .product()
}

/// Adds the operations of a partial vertex; returns the index of its wavefunction.
fn emit(compiler: &mut Compiler, partial: &Partial, batches: &mut Vec<Batch>) -> u32 {
    let signs = compiler.sum_of(&partial.inputs);
    let node = compiler.add_wavefunction(signs, 4);
    let line = &compiler.wavefunctions[node as usize];
    let (examples, instances) = (line.examples.clone(), line.instances.clone());
    let spinor = matches!(partial.opcode, Opcode::SumFfv1 | Opcode::SumFfv2);
    let momenta: Vec<u32> = match partial.opcode {
        Opcode::SumVvv1 => partial
            .inputs
            .iter()
            .map(|&input| {
                let signs = compiler.wavefunctions[input as usize].signs.clone();
                compiler.momentum(&signs)
            })
            .collect(),
        _ => Vec::new(),
    };
    let at = batches.iter().position(|b| b.opcode == partial.opcode);
    let at = at.unwrap_or_else(|| {
        batches.push(Batch::stream(partial.opcode, Vec::new()));
        batches.len() - 1
    });
    let operands = &mut batches[at].operands;
    for (instance, h) in examples {
        operands.extend([Mode::BARE, 1]);
        match partial.opcode {
            Opcode::SumVvvvDiff1 => {}
            Opcode::SumVvv1 => operands.extend([0, 0]),
            _ => operands.push(0),
        }
        for &input in &partial.inputs {
            let line = &compiler.wavefunctions[input as usize];
            operands.push(line.instances[line.instance(&compiler.helicity_indices[h])]);
        }
        operands.extend(&momenta);
        operands.push(partial.factor);
        if partial.opcode == Opcode::SumVvv1 {
            // The factor of four-leg terms, of which there are none.
            operands.push(partial.factor);
        }
        if spinor {
            // Momentum and mass, which a bare vertex does not use.
            operands.extend([partial.factor, partial.factor]);
        }
        operands.push(instances[instance as usize]);
    }
    node
}

/// A partial vertex in the priority queue, ordered by its cost per amplitude served.
struct Candidate<'a> {
    each: f64,
    users: usize,
    partial: &'a Partial,
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let cost = other.each.total_cmp(&self.each);
        cost.then_with(|| self.partial.cmp(other.partial))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate<'_> {}
