//! Pairs of spinor sums that are computed together.
//!
//! A fermion current is a sum of vectors times spinors ([`Opcode::SumFfv1`], [`Opcode::SumFfv2`]). Two currents that
//! differ only in the helicity of the incoming fermion line use the same vectors, factor, momentum and mass. If both
//! are computed at the same time, each vector is loaded and slashed once, and the overhead is halved. This needs 32
//! registers; with 16 the sums would spill to memory.
//!
//! Operations of a batch do not depend on each other or on the order in which memory is reused
//! ([`mebridge_plan::memory_reuse`]), so any two of them can be combined.

use mebridge_ops::opcode::Opcode;
use mebridge_ops::{Address, Batch};
use mebridge_simd::Level;
use rustc_hash::FxHashMap as HashMap;

/// A step of the engine for a batch of a plan.
pub(super) enum BatchStep {
    /// The batch with this index, unchanged.
    Whole(usize),
    /// The operations of a batch that were not paired.
    Alone(Batch),
    /// Pairs of operations, for [`mebridge_ops::kernels::spinors_of_two`].
    Two(Opcode, Vec<Address>),
}

/// The steps for some batches at a SIMD level.
pub(super) fn steps(batches: &[Batch], level: Level) -> Vec<BatchStep> {
    let mut steps = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let of_spinors = matches!(batch.opcode, Opcode::SumFfv1 | Opcode::SumFfv2);
        let (alone, two) = match of_spinors && level.has_32_registers() {
            true => pairs(&batch.operands),
            false => (Vec::new(), Vec::new()),
        };
        if two.is_empty() {
            steps.push(BatchStep::Whole(number));
            continue;
        }
        if !alone.is_empty() {
            steps.push(BatchStep::Alone(Batch::stream(batch.opcode, alone)));
        }
        steps.push(BatchStep::Two(batch.opcode, two));
    }
    steps
}

/// Operands before the terms: mode, number of terms to add and to subtract.
const HEAD: usize = 3;
/// Operands after the terms: factor, momentum, mass, result.
const TAIL: usize = 4;

/// The operands of one operation, separated by role.
struct Operation<'a> {
    head: &'a [Address],
    /// Pairs of a spinor and a vector.
    terms: &'a [Address],
    tail: &'a [Address],
}

impl<'a> Operation<'a> {
    /// Splits off the first operation.
    fn first(operands: &'a [Address]) -> Option<(Self, &'a [Address])> {
        let (head, rest) = operands.split_at_checked(HEAD)?;
        let terms = 2 * (head[1] as usize + head[2] as usize);
        let (terms, rest) = rest.split_at_checked(terms)?;
        let (tail, rest) = rest.split_at_checked(TAIL)?;
        Some((Operation { head, terms, tail }, rest))
    }

    /// The operands that the operations of a pair have in common.
    fn common(&self) -> Vec<Address> {
        let vectors = self.terms.chunks_exact(2).map(|term| term[1]);
        let others = self.head.iter().chain(&self.tail[..TAIL - 1]).copied();
        others.chain(vectors).collect()
    }
}

/// Returns the operations without a partner, and the pairs. A pair is one operation with two spinors in each term and
/// two results. Pairs with equal numbers of terms are consecutive, for the sake of branch prediction.
fn pairs(operands: &[Address]) -> (Vec<Address>, Vec<Address>) {
    let mut open: HashMap<Vec<Address>, (usize, Operation)> = HashMap::default();
    let mut two: Vec<Vec<Address>> = Vec::new();
    let mut rest = operands;
    while let Some((second, behind)) = Operation::first(rest) {
        rest = behind;
        let common = second.common();
        let Some((_, first)) = open.remove(&common) else {
            open.insert(common, (behind.len(), second));
            continue;
        };
        let mut pair = second.head.to_vec();
        for (a, b) in first
            .terms
            .chunks_exact(2)
            .zip(second.terms.chunks_exact(2))
        {
            pair.extend([a[0], b[0], a[1]]);
        }
        pair.extend(&second.tail[..TAIL - 1]);
        pair.extend([first.tail[TAIL - 1], second.tail[TAIL - 1]]);
        two.push(pair);
    }
    two.sort_by_key(|pair| [pair[1], pair[2]]);
    // In the original order.
    let mut left: Vec<(usize, Operation)> = open.into_values().collect();
    left.sort_by_key(|&(behind, _)| std::cmp::Reverse(behind));
    let whole = |(_, it): &(usize, Operation)| [it.head, it.terms, it.tail].concat();
    (left.iter().flat_map(whole).collect(), two.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operation with these spinors and vectors, factor 90, momentum 91, mass 92 and a result.
    fn operation(plus: &[[u32; 2]], minus: &[[u32; 2]], result: u32) -> Vec<u32> {
        let mut operands = vec![1, plus.len() as u32, minus.len() as u32];
        operands.extend(plus.iter().chain(minus).flatten());
        operands.extend([90, 91, 92, result]);
        operands
    }

    #[test]
    fn operations_with_the_same_vectors_are_paired() {
        let a = operation(&[[10, 50]], &[[11, 51]], 70);
        let other_vector = operation(&[[10, 52]], &[[11, 51]], 71);
        let other_signs = operation(&[[10, 50], [11, 51]], &[], 72);
        let second = operation(&[[20, 50]], &[[21, 51]], 73);
        let third = operation(&[[30, 50]], &[[31, 51]], 74);
        let all = [
            a,
            other_vector.clone(),
            other_signs.clone(),
            second,
            third.clone(),
        ]
        .concat();
        let (alone, two) = pairs(&all);
        assert_eq!(alone, [other_vector, other_signs, third].concat());
        assert_eq!(two, [1, 1, 1, 10, 20, 50, 11, 21, 51, 90, 91, 92, 70, 73]);
    }

    #[test]
    fn levels_of_sixteen_registers_and_other_operations_keep_their_batches() {
        let spinors = [
            operation(&[[10, 50]], &[], 70),
            operation(&[[20, 50]], &[], 71),
        ]
        .concat();
        let batches = [
            Batch::stream(Opcode::SumFfv2, spinors.clone()),
            Batch::stream(Opcode::SumFfv3, spinors),
        ];
        let whole = |level| {
            let steps = steps(&batches, level);
            let whole = steps.iter().map(|step| matches!(step, BatchStep::Whole(_)));
            whole.collect::<Vec<_>>()
        };
        assert_eq!(whole(Level::Avx512z), [false, true]);
        let sixteen = !Level::Sse4.has_32_registers();
        assert_eq!(whole(Level::Sse4), [sixteen, true]);
    }
}
