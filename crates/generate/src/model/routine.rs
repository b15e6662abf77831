//! The arithmetic of a Lorentz structure with any of its legs as the result, as ALOHA (arXiv:1108.2041) derives it.
//!
//! With the couplings `C` of a vertex, which hold the factor i of a Feynman rule, and its structure `L`, an amplitude
//! is `-i C L`. An off-shell wavefunction is `C` times the derivative of `L` by the wavefunction of its leg, times
//! its propagator: `i/D` for a scalar, `i(pslash + M)/D` for a fermion, `i(-g + p p/M^2)/D` for a vector, without
//! the second term where it has no mass; `D = p^2 - M(M - i W)`. Its momentum is the sum of those of the others.

use super::lorentz::{Structure, TensorKind, Term};
use super::tensor::{Algebra, METRIC, Tensor};
use mebridge_process::arith::{Builder, Function, Op, ValueId};
use mebridge_process::lorentz::Routine;
use num_complex::Complex64;
use std::collections::BTreeMap;

/// The routine of structures with one coupling each, for legs of these spins (2s + 1). `result` is the leg (from 0)
/// that it gives, none for an amplitude; `massless` says that a vector that is the result has no mass.
pub fn derive(
    name: String,
    structures: &[&Structure],
    spins: &[u8],
    result: Option<usize>,
    massless: bool,
) -> Routine {
    let legs = 0..spins.len();
    let arguments: Vec<usize> = legs.filter(|&leg| Some(leg) != result).collect();
    let components = |spin: u8| if spin == 1 { 3 } else { 6 };
    let mut routine = Routine {
        name,
        inputs: arguments
            .iter()
            .map(|&leg| components(spins[leg]))
            .collect(),
        couplings: structures.len() as u32,
        massive: result.is_some(),
        program: Default::default(),
        outputs: Vec::new(),
    };
    let mut derivation = Derivation {
        algebra: Algebra {
            builder: Builder::new(routine.program_inputs()),
        },
        routine: &routine,
        arguments: &arguments,
        spins,
    };
    let mut sum = BTreeMap::new();
    for (coupling, structure) in (0..).zip(structures) {
        let input = routine.coupling_input(coupling);
        let coupling = derivation.algebra.builder.input(input);
        for term in &structure.terms {
            let value = derivation.term(term);
            for (at, entry) in value.entries {
                let entry = derivation.algebra.mul(entry, coupling);
                derivation.algebra.add(&mut sum, at, entry);
            }
        }
    }
    let outputs = match result {
        None => vec![derivation.amplitude(&sum)],
        Some(leg) => derivation.wavefunction(leg, &sum, massless),
    };
    let (program, ids) = derivation.algebra.builder.finish().pruned(&outputs);
    routine.program = program;
    // A root of the pruned program is in it.
    routine.outputs = outputs.iter().filter_map(|&v| ids[v as usize]).collect();
    routine
}

struct Derivation<'a> {
    algebra: Algebra,
    routine: &'a Routine,
    /// The leg of each argument.
    arguments: &'a [usize],
    spins: &'a [u8],
}

/// Components of a momentum in a wavefunction: which of its numbers, and which part of it.
const PARTS: [(u32, Function); 4] = [
    (0, Function::Re),
    (1, Function::Re),
    (1, Function::Im),
    (0, Function::Im),
];

impl Derivation<'_> {
    /// A term with the wavefunctions of the arguments: a number, or a tensor with the index of the result.
    fn term(&mut self, term: &Term) -> Tensor {
        let factor = self.algebra.number(term.factor);
        let mut tensors = vec![Tensor {
            indices: Vec::new(),
            entries: BTreeMap::from([(Vec::new(), factor)]),
        }];
        for (argument, &leg) in self.arguments.iter().enumerate() {
            let size = if self.spins[leg] == 1 { 1 } else { 4 };
            let first = self.routine.wavefunction_input(argument, 2);
            let values = (0..size).map(|i| self.algebra.builder.input(first + i));
            let values: Vec<ValueId> = values.collect();
            let vector = self.spins[leg] == 3;
            tensors.push(match size {
                1 => Tensor {
                    indices: Vec::new(),
                    entries: BTreeMap::from([(Vec::new(), values[0])]),
                },
                _ => Tensor {
                    indices: vec![(leg as i32 + 1, vector)],
                    entries: (0..).zip(values).map(|(i, v)| (vec![i], v)).collect(),
                },
            });
        }
        let (routine, arguments) = (self.routine, self.arguments);
        let momentum = |algebra: &mut Algebra, leg: u8| {
            let leg = usize::from(leg) - 1;
            match arguments.iter().position(|&l| l == leg) {
                Some(argument) => momentum(algebra, routine, argument),
                // The momentum that goes out along the result comes in along the others.
                None => total(algebra, routine).map(|x| algebra.builder.push(Op::Neg(x))),
            }
        };
        for named in &term.tensors {
            tensors.push(self.algebra.tensor(named, &momentum));
        }
        // Two at a time, those first that leave the smallest product.
        while tensors.len() > 1 {
            let mut best = (usize::MAX, 0, 1);
            for i in 0..tensors.len() {
                for j in i + 1..tensors.len() {
                    let (a, b) = (&tensors[i], &tensors[j]);
                    let shared = a.indices.iter().filter(|x| b.indices.contains(x)).count();
                    let rank = a.indices.len() + b.indices.len() - 2 * shared;
                    // Numbers last, so that they multiply few entries.
                    let cost = 4 * rank + if shared == 0 { 2 } else { 0 };
                    if cost < best.0 {
                        best = (cost, i, j);
                    }
                }
            }
            let second = tensors.remove(best.2);
            let first = tensors.remove(best.1);
            let product = self.algebra.contract(&first, &second);
            tensors.push(product);
        }
        tensors.swap_remove(0)
    }

    /// `-i` times the sum.
    fn amplitude(&mut self, sum: &BTreeMap<Vec<u8>, ValueId>) -> ValueId {
        let factor = self.algebra.builder.complex(0.0, -1.0);
        match sum.get(&Vec::new()) {
            Some(&value) => self.algebra.mul(factor, value),
            None => self.algebra.builder.real(0.0),
        }
    }

    /// The wavefunction of a leg: the two numbers of its momentum and its components.
    fn wavefunction(
        &mut self,
        leg: usize,
        sum: &BTreeMap<Vec<u8>, ValueId>,
        massless: bool,
    ) -> Vec<ValueId> {
        let routine = self.routine;
        let algebra = &mut self.algebra;
        let mut outputs: Vec<ValueId> = [0, 1]
            .map(|number| {
                let inputs = 0..routine.inputs.len();
                let inputs = inputs.map(|a| routine.wavefunction_input(a, number));
                let inputs: Vec<ValueId> = inputs.map(|n| algebra.builder.input(n)).collect();
                added(algebra, &inputs)
            })
            .to_vec();
        let p = total(algebra, routine);
        let mass = algebra.builder.input(routine.mass_input());
        let width = algebra.builder.input(routine.mass_input() + 1);
        let squares: Vec<ValueId> = p
            .iter()
            .zip(METRIC)
            .map(|(&x, sign)| {
                let sign = algebra.builder.real(sign);
                let square = algebra.builder.push(Op::Mul(x, x));
                algebra.mul(sign, square)
            })
            .collect();
        let square = added(algebra, &squares);
        let i = algebra.builder.complex(0.0, 1.0);
        let pole = algebra.builder.push(Op::Mul(i, width));
        let pole = algebra.builder.push(Op::Sub(mass, pole));
        let pole = algebra.builder.push(Op::Mul(mass, pole));
        let below = algebra.builder.push(Op::Sub(square, pole));
        let factor = algebra.builder.push(Op::Div(i, below));
        let zero = algebra.builder.real(0.0);
        let entry = |at: u8| sum.get(&vec![at]).copied().unwrap_or(zero);
        let numerators: Vec<ValueId> = match self.spins[leg] {
            1 => vec![sum.get(&Vec::new()).copied().unwrap_or(zero)],
            2 => {
                // pslash with p along the flow of the fermion, which is out of the vertex where the leg is the
                // second of its two.
                let first = leg.is_multiple_of(2);
                let mut slash = BTreeMap::new();
                let gamma = super::lorentz::Tensor {
                    kind: TensorKind::Gamma,
                    indices: vec![-1, -2, -3],
                };
                let gamma = algebra.tensor(&gamma, &|_, _| p);
                for (at, &x) in &gamma.entries {
                    let mu = usize::from(at[0]);
                    let sign = METRIC[mu] * if first { 1.0 } else { -1.0 };
                    let sign = algebra.builder.real(sign);
                    let x = algebra.mul(sign, x);
                    let x = algebra.mul(x, p[mu]);
                    let at = if first {
                        (at[1], at[2])
                    } else {
                        (at[2], at[1])
                    };
                    algebra.add(&mut slash, vec![at.0, at.1], x);
                }
                (0..4)
                    .map(|to| {
                        let mut terms = vec![algebra.mul(mass, entry(to))];
                        for from in 0..4 {
                            if let Some(&x) = slash.get(&vec![from, to]) {
                                terms.push(algebra.mul(entry(from), x));
                            }
                        }
                        added(algebra, &terms)
                    })
                    .collect()
            }
            _ => {
                let plain: Vec<ValueId> = (0..4)
                    .map(|mu| algebra.builder.push(Op::Neg(entry(mu))))
                    .collect();
                if massless {
                    plain
                } else {
                    let products: Vec<ValueId> = (0..4u8)
                        .map(|mu| {
                            let sign = algebra.builder.real(METRIC[usize::from(mu)]);
                            let x = algebra.mul(p[usize::from(mu)], entry(mu));
                            algebra.mul(sign, x)
                        })
                        .collect();
                    let along = added(algebra, &products);
                    let mass2 = algebra.builder.push(Op::Mul(mass, mass));
                    let along = algebra.builder.push(Op::Div(along, mass2));
                    (0..4)
                        .map(|mu| {
                            let x = algebra.mul(p[mu], along);
                            algebra.builder.push(Op::Add(plain[mu], x))
                        })
                        .collect()
                }
            }
        };
        outputs.extend(numerators.into_iter().map(|x| algebra.mul(factor, x)));
        outputs
    }
}

fn added(algebra: &mut Algebra, values: &[ValueId]) -> ValueId {
    let sum = values.iter().copied();
    let sum = sum.reduce(|a, b| match algebra.builder.constant(a) {
        Some(c) if c == Complex64::new(0.0, 0.0) => b,
        _ => algebra.builder.push(Op::Add(a, b)),
    });
    sum.unwrap_or_else(|| algebra.builder.real(0.0))
}

/// Momentum of an argument.
fn momentum(algebra: &mut Algebra, routine: &Routine, argument: usize) -> [ValueId; 4] {
    PARTS.map(|(number, part)| {
        let input = routine.wavefunction_input(argument, number);
        let input = algebra.builder.input(input);
        algebra.builder.push(Op::Call(part, input))
    })
}

/// Sum of the momenta of all arguments.
fn total(algebra: &mut Algebra, routine: &Routine) -> [ValueId; 4] {
    let momenta = 0..routine.inputs.len();
    let momenta: Vec<_> = momenta.map(|a| momentum(algebra, routine, a)).collect();
    [0, 1, 2, 3].map(|mu| {
        let components: Vec<ValueId> = momenta.iter().map(|p| p[mu]).collect();
        added(algebra, &components)
    })
}
