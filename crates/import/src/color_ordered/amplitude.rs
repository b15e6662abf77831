//! Converts the routine of an amplitude to that of a current.

use mebridge_process::arith::{Builder, Function, Op, ValueId};
use mebridge_process::lorentz::Routine;

/// Converts an amplitude of vectors to the current that replaces its last vector: the coefficient of each component of
/// that vector, over `p^2 - m (m - i w)`, as in ALOHA.
pub fn current_of(amplitude: &Routine) -> Option<Routine> {
    let (&last, others) = amplitude.inputs.split_last()?;
    if amplitude.outputs.len() != 1 || amplitude.inputs.iter().any(|&n| n != 6) || amplitude.massive
    {
        return None;
    }
    let mut routine = Routine {
        name: format!("{}_AS_CURRENT", amplitude.name),
        inputs: others.to_vec(),
        couplings: amplitude.couplings,
        massive: true,
        ..amplitude.clone()
    };
    let mut b = Builder::new(routine.program_inputs());
    let momentum = [0, 1].map(|component| {
        let places = (0..others.len()).map(|n| routine.wavefunction_input(n, component));
        let places: Vec<u32> = places.collect();
        sum(&mut b, &places)
    });
    let below = below(&mut b, momentum, routine.mass_input());
    let mut outputs = momentum.to_vec();
    let begin = amplitude.wavefunction_input(others.len(), 0);
    for component in 0..4 {
        let mut values: Vec<ValueId> = Vec::with_capacity(amplitude.program.ops.len());
        for op in &amplitude.program.ops {
            let value = match *op {
                Op::Input(n) if n < begin => b.input(n),
                Op::Input(n) if n >= begin + last => b.input(n - last),
                // The incoming momentum of the last vector is the outgoing momentum of the current.
                Op::Input(n) if n < begin + 2 => b.push(Op::Neg(momentum[(n - begin) as usize])),
                Op::Input(n) => b.real(if n == begin + 2 + component { 1.0 } else { 0.0 }),
                _ => b.push(op.map_operands(|v| values[v as usize])),
            };
            values.push(value);
        }
        let lower = values[amplitude.outputs[0] as usize];
        let upper = match component {
            0 => lower,
            _ => b.push(Op::Neg(lower)),
        };
        outputs.push(b.push(Op::Div(upper, below)));
    }
    let (program, places) = b.finish().pruned(&outputs);
    let places = outputs.iter().map(|&v| places[v as usize]);
    routine.outputs = places.collect::<Option<_>>()?;
    routine.program = program;
    Some(routine)
}

fn sum(b: &mut Builder, places: &[u32]) -> ValueId {
    let mut sum = b.real(0.0);
    for &place in places {
        let next = b.input(place);
        sum = b.push(Op::Add(sum, next));
    }
    sum
}

/// Computes `p^2 - m (m - i w)` for a momentum `(E + i pz, px + i py)`.
fn below(b: &mut Builder, momentum: [ValueId; 2], mass: u32) -> ValueId {
    let mut squares = |value: ValueId| {
        [Function::Re, Function::Im].map(|part| {
            let part = b.push(Op::Call(part, value));
            b.push(Op::Mul(part, part))
        })
    };
    let ([e, z], [x, y]) = (squares(momentum[0]), squares(momentum[1]));
    let mut square = e;
    for other in [z, x, y] {
        square = b.push(Op::Sub(square, other));
    }
    let (m, w) = (b.input(mass), b.input(mass + 1));
    let i = b.complex(0.0, 1.0);
    let width = b.push(Op::Mul(i, w));
    let complex = b.push(Op::Sub(m, width));
    let pole = b.push(Op::Mul(m, complex));
    b.push(Op::Sub(square, pole))
}
