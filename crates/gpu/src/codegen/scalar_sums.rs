//! Values of sums of vertices with scalars: three- and four-leg vertices, with a factor for each kind.

use super::expression::Id;
use super::operand::ValueOperand;
use super::value_graph::{Type, ValueGraph};
use mebridge_ops::opcode::{Mode, Opcode};

/// Terms of one kind: device function, number of its operands, and numbers of terms to add and to subtract.
struct Terms {
    function: &'static str,
    length: usize,
    counts: [usize; 2],
}

/// Returns the value of [`Opcode::SumVss1`], [`Opcode::ScalarVertex`] or [`Opcode::SumSss1`].
pub(super) fn sum(graph: &mut ValueGraph, opcode: Opcode, operands: &[ValueOperand]) -> Option<Id> {
    let value = |i: usize| operands.get(i)?.value();
    let count = |i: usize| operands.get(i)?.number();
    let terms = |function, length, counts| Terms {
        function,
        length,
        counts,
    };
    let class = match opcode {
        Opcode::SumVss1 => Type::Four,
        _ => Type::Complex,
    };
    let (numbers, kinds) = match opcode {
        Opcode::SumVss1 => {
            let three = terms("term_Vss1", 3, [count(1)?, 0]);
            let four = terms("term_Vvss1", 3, [count(2)?, count(3)?]);
            (4, vec![three, four])
        }
        Opcode::ScalarVertex => {
            let three = terms("term_Vss3", 2, [count(1)?, count(2)?]);
            let four = terms("term_Vvss4", 2, [count(3)?, count(4)?]);
            (5, vec![three, four])
        }
        _ => (2, vec![terms("term_Sss1", 2, [count(0)?, count(1)?])]),
    };
    // Factors precede the result, one for each kind.
    let last = operands.len().checked_sub(1)?;
    let first_factor = last.checked_sub(kinds.len())?;
    let added_to = opcode != Opcode::SumSss1 && count(0)? as u32 & Mode::ADD != 0;
    let mut result = match added_to {
        false => None,
        true => Some(value(last)?),
    };
    let mut at = numbers;
    for (kind, factor) in kinds.into_iter().zip(first_factor..) {
        let [plus, minus] = kind.counts;
        if plus + minus == 0 {
            continue;
        }
        let term = |i: usize| -> Option<Vec<Id>> {
            let operands = at + kind.length * i..at + kind.length * (i + 1);
            operands.map(value).collect()
        };
        let added = (0..plus).map(term).collect::<Option<Vec<_>>>()?;
        let subtracted = (plus..plus + minus).map(term).collect::<Option<Vec<_>>>()?;
        at += kind.length * (plus + minus);
        let sum = graph.terms(class, kind.function, &added, &subtracted);
        result = Some(graph.scaled(class, value(factor)?, sum, result));
    }
    Some(result.unwrap_or_else(|| graph.zero(class)))
}
