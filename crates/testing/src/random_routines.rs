//! Random Lorentz structures for tests: amplitudes that use most of [`mebridge_process::arith`], without physical
//! meaning.

use mebridge_process::arith::{Builder, Comparison, Function, Op, Program};
use mebridge_process::lorentz::Routine;
use num_complex::Complex64;

/// One step of a random program: the operation (below 32), and the earlier values that it uses.
#[derive(Clone, Debug)]
pub struct Step(pub u8, pub u32, pub u32, pub u32, pub u32);

/// Makes an amplitude of a vector and a scalar from random steps.
pub fn random_routine(steps: &[Step]) -> Routine {
    let mut routine = Routine {
        name: "RANDOM_0".into(),
        inputs: vec![6, 3],
        couplings: 1,
        massive: true,
        program: Program::default(),
        outputs: Vec::new(),
    };
    let inputs = routine.program_inputs();
    let mut builder = Builder::new(inputs);
    let mut values: Vec<u32> = (0..inputs).map(|n| builder.input(n)).collect();
    values.push(builder.complex(0.0, 1.0));
    values.push(builder.complex(0.5, 0.0));
    values.push(builder.complex(-2.0, 0.0));
    values.push(builder.complex(0.3, 0.7));
    values.push(builder.real(0.0));
    for &Step(n, a, b, c, d) in steps {
        let pick = |x: u32| values[x as usize % values.len()];
        let (a, b, c, d) = (pick(a), pick(b), pick(c), pick(d));
        let call = |f: Function| Op::Call(f, a);
        let select = |test: Comparison, builder: &mut Builder| {
            let lhs = builder.push(Op::Call(Function::Re, a));
            let rhs = builder.push(Op::Call(Function::Re, b));
            Op::Select {
                test,
                lhs,
                rhs,
                yes: c,
                no: d,
            }
        };
        let op = match n {
            0..=3 => Op::Mul(a, b),
            4..=6 => Op::Add(a, b),
            7..=9 => Op::Sub(a, b),
            10 => Op::Neg(a),
            11 => Op::Div(a, b),
            12 => Op::PowI(a, (n as i32 + b as i32) % 5 - 2),
            13 => call(Function::Conj),
            14 => call(Function::Re),
            15 => call(Function::Im),
            16 => Op::Complex(a, b),
            17 => Op::Max(a, b),
            18 => Op::Min(a, b),
            19 => Op::Sign(a, b),
            20 => Op::Atan2(a, b),
            21 => call(Function::Abs),
            22 => call(Function::Exp),
            23 => call(Function::Sqrt),
            24 => call(Function::Log),
            25 => call(Function::Sin),
            26 => Op::Pow(a, b),
            27 => select(Comparison::Lt, &mut builder),
            28 => select(Comparison::Ge, &mut builder),
            29 => select(Comparison::Ne, &mut builder),
            30 => {
                let square = builder.push(Op::Mul(a, a));
                let size = builder.push(Op::Call(Function::Abs, square));
                Op::Call(Function::RealSqrt, size)
            }
            _ => {
                let i = builder.complex(0.0, -1.0);
                Op::Mul(i, a)
            }
        };
        values.push(builder.push(op));
    }
    // A sum of the last values, so that most of the program contributes.
    let mut sum = values[values.len() - 1];
    for &value in values.iter().rev().skip(1).take(8) {
        sum = builder.push(Op::Add(sum, value));
    }
    routine.outputs = vec![sum];
    routine.program = builder.finish();
    routine
}

/// Whether a value is so small or large, or a comparison so close, that rounding matters.
pub fn badly_conditioned(program: &Program, values: &[Complex64]) -> bool {
    values.iter().zip(&program.ops).any(|(z, op)| {
        let size = z.norm();
        let close = match *op {
            Op::Select { lhs, rhs, .. } => {
                let (l, r) = (values[lhs as usize], values[rhs as usize]);
                lhs != rhs && ((l.re - r.re).abs() < 1e-3 || l.norm() == 0.0)
            }
            // Discontinuities: branch cuts (where the sign of a zero decides) and signs.
            Op::Pow(a, _) | Op::Call(_, a) => {
                let z = values[a as usize];
                z.re.abs() < 1e-3 || (z.re < 0.0 && z.im.abs() < 1e-3)
            }
            Op::Sign(_, b) => values[b as usize].re.abs() < 1e-3,
            Op::Atan2(a, b) => {
                values[a as usize].re.abs() < 1e-3 || values[b as usize].re.abs() < 1e-3
            }
            _ => false,
        };
        close || !size.is_finite() || size > 1e3 || (size != 0.0 && size < 1e-3)
    })
}
