//! The cost of a routine's arithmetic.

use mebridge_process::arith::{Function, Op, Program, ValueId};

/// The number of real multiply-adds, plus one per operation. A product that is used only once, by a sum, is part of the
/// sum; signs, parts and factors of i are free.
pub fn work(program: &Program) -> usize {
    let mut uses = vec![0u32; program.ops.len()];
    for op in &program.ops {
        op.for_each_operand(|v| uses[v as usize] += 1);
    }
    let mut real: Vec<bool> = Vec::with_capacity(program.ops.len());
    let mut sum = 0;
    for op in &program.ops {
        let is = |v: ValueId| real[v as usize];
        let unit = |v: ValueId| match program.ops[v as usize] {
            Op::Const(re, im) => re.abs() + im.abs() == 1.0 && re * im == 0.0,
            _ => false,
        };
        // A product, or its negative, with no other use.
        let product = |v: ValueId| {
            let of = match program.ops[v as usize] {
                Op::Neg(of) if uses[v as usize] == 1 => of,
                _ => v,
            };
            uses[of as usize] == 1 && matches!(program.ops[of as usize], Op::Mul(..))
        };
        let parts = |is_real: bool| if is_real { 1 } else { 2 };
        let (result, multiply_adds) = match *op {
            Op::Input(_) => (false, 0),
            Op::Const(_, im) => (im == 0.0, 0),
            Op::Neg(a) => (is(a), 0),
            Op::Add(a, b) | Op::Sub(a, b) => {
                let result = is(a) && is(b);
                let fused = product(a) || product(b);
                (result, if fused { 0 } else { 1 + parts(result) })
            }
            Op::Mul(a, b) if unit(a) || unit(b) => (is(a) && is(b), 0),
            Op::Mul(a, b) => (is(a) && is(b), 1 + parts(is(a)) * parts(is(b))),
            Op::Call(Function::Re | Function::Im, _) => (true, 0),
            Op::Complex(..) => (false, 0),
            Op::Call(Function::Abs, _) | Op::Max(..) | Op::Min(..) | Op::Sign(..) => (true, 2),
            Op::Select { yes, no, .. } => (is(yes) && is(no), 3),
            Op::PowI(a, _) | Op::Call(_, a) => (is(a), 8),
            Op::Div(a, b) | Op::Pow(a, b) | Op::Atan2(a, b) => (is(a) && is(b), 8),
        };
        real.push(result);
        sum += multiply_adds;
    }
    sum
}
