//! Values of sums of vertices with scalars in them: vertices of three and of four legs, with a factor for each kind.

use super::expression::Expression;
use super::value_graph::{Id, Type, ValueGraph};
use super::values::ValueOperand;
use mebridge_ops::opcode::{Mode, Opcode};

/// Terms of one kind: the device function of one, of how many operands it is, and how many there are to add and to
/// subtract.
struct Terms {
    function: &'static str,
    length: usize,
    counts: [usize; 2],
}

/// The value of [`Opcode::SumVss1`], [`Opcode::ScalarVertex`] or [`Opcode::SumSss1`].
pub(super) fn sum(graph: &mut ValueGraph, opcode: Opcode, operands: &[ValueOperand]) -> Option<Id> {
    let value = |i: usize| match operands.get(i)? {
        ValueOperand::Value(id) => Some(*id),
        _ => None,
    };
    let count = |i: usize| match operands.get(i)? {
        ValueOperand::Number(n) => Some(*n as usize),
        _ => None,
    };
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
    // Factors stand before the result, one for each kind.
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
        let mut sum = zero(graph, class);
        let term = |graph: &mut ValueGraph, sum: Id, i: usize| {
            let operands = at + kind.length * i..at + kind.length * (i + 1);
            let mut of: Vec<Id> = operands.map(value).collect::<Option<_>>()?;
            of.push(sum);
            Some(graph.call(class, kind.function, &of))
        };
        for i in plus..plus + minus {
            sum = term(graph, sum, i)?;
        }
        if minus > 0 {
            sum = negative(graph, class, sum);
        }
        for i in 0..plus {
            sum = term(graph, sum, i)?;
        }
        at += kind.length * (plus + minus);
        let factor = value(factor)?;
        result = Some(match (result, class) {
            (None, Type::Complex) => graph.infix(class, factor, "*", sum),
            (None, _) => graph.call(class, "times", &[factor, sum]),
            (Some(before), Type::Complex) => graph.call(class, "mul_add", &[factor, sum, before]),
            (Some(before), _) => graph.call(class, "times_add", &[factor, sum, before]),
        });
    }
    Some(result.unwrap_or_else(|| zero(graph, class)))
}

fn negative(graph: &mut ValueGraph, class: Type, sum: Id) -> Id {
    let function = if class == Type::Complex {
        "-"
    } else {
        "negative"
    };
    graph.call(class, function, &[sum])
}

fn zero(graph: &mut ValueGraph, class: Type) -> Id {
    let zero = if class == Type::Complex {
        "cx(0, 0)"
    } else {
        "no_four()"
    };
    graph.literal(class, Expression::Leaf(zero.into()))
}
