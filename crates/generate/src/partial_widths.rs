//! Partial widths of two-body decays by the vertices of a model, as formulas.
//!
//! |M|^2 of such a decay, summed over helicities, does not depend on directions. Here the particle is at rest, its
//! decay products fly along z, and all spins are quantised along z: most amplitudes vanish, and are omitted.

use mebridge_process::arith::{Builder, Comparison, Function, Op, Program, ValueId};
use mebridge_process::{
    Diagrams, External, ExternalKind, Process, Quantity, Term, TermSource, Vertex, Wavefunction,
};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// A builder for programs that omits products with zero.
pub struct Formulas {
    builder: Builder,
}

/// A spin state of a leg.
struct State {
    /// Twice the spin of its wavefunction along z.
    spin: i32,
    /// The mass, if massless particles do not have this state.
    massive: Option<ValueId>,
    wavefunction: Vec<ValueId>,
}

/// A leg on the z axis.
#[derive(Clone, Copy)]
struct Leg {
    /// The mass with its sign.
    mass: ValueId,
    /// The absolute value of the mass.
    size: ValueId,
    energy: ValueId,
    /// The momentum along z, negative unless the leg flies forward.
    z: ValueId,
    forward: bool,
}

/// A decay, with the values of its model's program.
struct Decay<'a> {
    process: &'a Process,
    values: Vec<ValueId>,
}

impl Formulas {
    /// Starts a program with this many inputs.
    pub fn new(inputs: u32) -> Formulas {
        Formulas {
            builder: Builder::new(inputs),
        }
    }

    /// Returns the program for these values, and their positions in it.
    pub fn finish(self, values: &[ValueId]) -> (Program, Vec<ValueId>) {
        let (program, ids) = self.builder.finish().pruned(values);
        // Requested values are not pruned.
        let values = values.iter().map(|&v| ids[v as usize].unwrap_or(0));
        (program, values.collect())
    }

    /// An input.
    pub fn input(&mut self, number: u32) -> ValueId {
        self.builder.input(number)
    }

    /// Adds a program with these inputs, and returns its values.
    pub fn inline(&mut self, program: &Program, inputs: &[ValueId]) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = Vec::with_capacity(program.ops.len());
        for op in &program.ops {
            let value = match *op {
                Op::Input(n) => inputs[n as usize],
                op => self.push(op.map_operands(|v| values[v as usize])),
            };
            values.push(value);
        }
        values
    }

    /// `value`, or zero if `test` is zero.
    pub fn unless_zero(&mut self, test: ValueId, value: ValueId) -> ValueId {
        let zero = self.real(0.0);
        self.push(Op::Select {
            test: Comparison::Ne,
            lhs: test,
            rhs: zero,
            yes: value,
            no: zero,
        })
    }

    /// The partial width of a decay, with these inputs of its model. Valid only if the masses allow the decay.
    pub fn partial_width(&mut self, process: &Process, inputs: &[ValueId]) -> ValueId {
        let decay = Decay {
            process,
            values: self.inline(&process.model.program, inputs),
        };
        let (legs, momentum) = self.legs(&decay);
        let states: Vec<Vec<State>> = (process.wavefunctions.iter())
            .map(|wavefunction| match wavefunction {
                Wavefunction::External(external) => self.states(external, &legs),
                Wavefunction::Internal(_) => Vec::new(),
            })
            .collect();
        // A leg may have two wavefunctions, of a fermion that flows in and of one that flows out.
        let of_leg = |leg: u32| {
            let is = |w: &Wavefunction| matches!(w, Wavefunction::External(e) if e.leg == leg);
            let at = process.wavefunctions.iter().position(is);
            at.map_or(&[][..], |at| &states[at])
        };
        let mut sum = self.real(0.0);
        for (i, a) in of_leg(0).iter().enumerate() {
            for (j, b) in of_leg(1).iter().enumerate() {
                for (k, c) in of_leg(2).iter().enumerate() {
                    if a.spin + b.spin + c.spin != 0 {
                        continue;
                    }
                    let mut square = self.squared(&decay, &states, [i, j, k]);
                    for mass in [a, b, c].into_iter().filter_map(|state| state.massive) {
                        square = self.unless_zero(mass, square);
                    }
                    sum = self.push(Op::Add(sum, square));
                }
            }
        }
        // |M|^2 |p| / (8 pi M^2)
        let above = self.push(Op::Mul(sum, momentum));
        let number = self.real(8.0 * PI * f64::from(process.iden));
        let square = self.push(Op::PowI(legs[0].size, 2));
        let below = self.push(Op::Mul(number, square));
        self.push(Op::Div(above, below))
    }

    /// The legs of a decay, and the momentum of the products.
    fn legs(&mut self, decay: &Decay) -> ([Leg; 3], ValueId) {
        let zero = self.real(0.0);
        let mut leg = |n: usize| {
            let mass = match decay.process.legs[n].mass {
                Quantity(None) => zero,
                Quantity(Some(at)) => {
                    let named = &decay.process.model.parameters[at as usize];
                    let value = decay.values[named.value as usize];
                    self.push(Op::Call(Function::Re, value))
                }
            };
            let size = self.push(Op::Call(Function::Abs, mass));
            Leg {
                mass,
                size,
                energy: size,
                z: zero,
                forward: n < 2,
            }
        };
        let [a, mut b, mut c] = [leg(0), leg(1), leg(2)];
        let [more, less] =
            [Op::Add as fn(_, _) -> Op, Op::Sub].map(|op| self.push(op(b.size, c.size)));
        let mut product = self.real(1.0);
        for other in [more, less] {
            for op in [Op::Add as fn(_, _) -> Op, Op::Sub] {
                let factor = self.push(op(a.size, other));
                product = self.push(Op::Mul(product, factor));
            }
        }
        let root = self.push(Op::Call(Function::RealSqrt, product));
        let twice = self.push(Op::Add(a.size, a.size));
        let momentum = self.push(Op::Div(root, twice));
        let square = self.push(Op::PowI(momentum, 2));
        for leg in [&mut b, &mut c] {
            let mass = self.push(Op::PowI(leg.size, 2));
            let sum = self.push(Op::Add(mass, square));
            leg.energy = self.push(Op::Call(Function::RealSqrt, sum));
        }
        b.z = momentum;
        c.z = self.push(Op::Neg(momentum));
        ([a, b, c], momentum)
    }

    /// The states of the leg of an external wavefunction. Fermions that flow in are the charge conjugates of those that
    /// flow out, as in HELAS.
    fn states(&mut self, external: &External, legs: &[Leg; 3]) -> Vec<State> {
        let leg = legs[external.leg as usize];
        let flows_in = matches!(
            external.kind,
            ExternalKind::FermionIn | ExternalKind::RaritaIn
        );
        let sign = if flows_in {
            -external.sign
        } else {
            external.sign
        };
        let [energy, z] = match sign {
            1 => [leg.energy, leg.z],
            _ => [leg.energy, leg.z].map(|x| self.push(Op::Neg(x))),
        };
        let zero = self.real(0.0);
        let momentum = [self.push(Op::Complex(energy, z)), zero];
        let vectors = self.vectors(leg);
        let components: Vec<(i32, bool, Vec<ValueId>)> = match external.kind {
            ExternalKind::Scalar => vec![(0, false, vec![self.real(1.0)])],
            ExternalKind::Vector => {
                let all = [-2, 0, 2].into_iter().zip(vectors);
                all.map(|(spin, v)| (spin, spin == 0, v.to_vec())).collect()
            }
            ExternalKind::FermionIn | ExternalKind::FermionOut => {
                let all = [-1, 1].into_iter().zip(self.spinors(leg, sign, flows_in));
                all.map(|(spin, s)| (spin, false, s.to_vec())).collect()
            }
            ExternalKind::Tensor => {
                let numbers = [
                    1.0,
                    FRAC_1_SQRT_2,
                    (1.0f64 / 6.0).sqrt(),
                    (2.0f64 / 3.0).sqrt(),
                ];
                let [one, half, sixth, rest] = numbers.map(|x| self.real(x));
                let all: [(i32, Vec<_>); 5] = [
                    (-4, vec![(one, 0, 0)]),
                    (-2, vec![(half, 0, 1), (half, 1, 0)]),
                    (0, vec![(sixth, 0, 2), (sixth, 2, 0), (rest, 1, 1)]),
                    (2, vec![(half, 1, 2), (half, 2, 1)]),
                    (4, vec![(one, 2, 2)]),
                ];
                all.map(|(spin, terms)| {
                    let products = self.products(&terms, &vectors, &vectors);
                    (spin, spin.abs() < 4, products)
                })
                .into()
            }
            ExternalKind::RaritaIn | ExternalKind::RaritaOut => {
                let numbers = [1.0, (1.0f64 / 3.0).sqrt(), (2.0f64 / 3.0).sqrt()];
                let [one, third, rest] = numbers.map(|x| self.real(x));
                // The relative sign of the two spinors is that of the mass.
                let third = match sign {
                    1 => self.push(Op::Neg(third)),
                    _ => third,
                };
                let signed = self.push(Op::Div(leg.mass, leg.size));
                let third = self.push(Op::Mul(third, signed));
                let spinors = self.spinors(leg, sign, flows_in);
                let all: [(i32, Vec<_>); 4] = [
                    (-3, vec![(one, 0, 0)]),
                    (-1, vec![(rest, 1, 0), (third, 0, 1)]),
                    (1, vec![(rest, 1, 1), (third, 2, 0)]),
                    (3, vec![(one, 2, 1)]),
                ];
                all.map(|(spin, terms)| {
                    let products = self.products(&terms, &vectors, &spinors);
                    (spin, spin.abs() < 3, products)
                })
                .into()
            }
        };
        let massless = self.builder.constant(leg.mass) == Some(0.0.into());
        let all = components.into_iter();
        all.filter(|(_, massive, _)| !(massless && *massive))
            .map(|(spin, massive, components)| State {
                spin,
                massive: massive.then_some(leg.mass),
                wavefunction: [&momentum[..], &components].concat(),
            })
            .collect()
    }

    /// The polarisation vectors with spins -1, 0 and 1 along z.
    fn vectors(&mut self, leg: Leg) -> [[ValueId; 4]; 3] {
        let half = FRAC_1_SQRT_2;
        let zero = self.real(0.0);
        let [plus, minus] = [half, -half].map(|x| self.real(x));
        let across = self.builder.complex(0.0, -half);
        let along = [leg.z, leg.energy].map(|x| self.push(Op::Div(x, leg.size)));
        [
            [zero, plus, across, zero],
            [along[0], zero, zero, along[1]],
            [zero, minus, across, zero],
        ]
    }

    /// The spinors of an outgoing particle (`sign` 1) or an incoming antiparticle, with spins -1/2 and 1/2 along z, or
    /// their charge conjugates.
    fn spinors(&mut self, leg: Leg, sign: i8, conjugate: bool) -> [[ValueId; 4]; 2] {
        let zero = self.real(0.0);
        let size = self.push(Op::Call(Function::Abs, leg.z));
        let sum = self.push(Op::Add(leg.energy, size));
        let large = self.push(Op::Call(Function::RealSqrt, sum));
        let mass = match sign {
            1 => leg.mass,
            _ => self.push(Op::Neg(leg.mass)),
        };
        let small = self.push(Op::Div(mass, large));
        // The left- and right-handed components of the spinor whose adjoint is taken.
        let (up, down) = match leg.forward {
            true => ([small, large], [large, small]),
            false => ([large, small], [small, large]),
        };
        let out = [[up[1], zero, up[0], zero], [zero, down[1], zero, down[0]]];
        match conjugate {
            false => out,
            true => out.map(|[a, b, c, d]| {
                let [a, d] = [a, d].map(|x| self.push(Op::Neg(x)));
                [b, a, d, c]
            }),
        }
    }

    /// Sums of products of the components of two wavefunctions.
    fn products<const A: usize, const B: usize>(
        &mut self,
        terms: &[(ValueId, usize, usize)],
        a: &[[ValueId; 4]; A],
        b: &[[ValueId; 4]; B],
    ) -> Vec<ValueId> {
        let mut sums = vec![self.real(0.0); 16];
        for &(factor, left, right) in terms {
            for (at, sum) in sums.iter_mut().enumerate() {
                let product = self.push(Op::Mul(a[left][at / 4], b[right][at % 4]));
                let product = self.push(Op::Mul(factor, product));
                *sum = self.push(Op::Add(*sum, product));
            }
        }
        sums
    }

    /// `JAMP^dagger CF JAMP / DENOM` for these states of the legs.
    fn squared(&mut self, decay: &Decay, states: &[Vec<State>], chosen: [usize; 3]) -> ValueId {
        let mut sum = self.real(0.0);
        let Some(Diagrams {
            amplitudes,
            jamp,
            color,
            ..
        }) = decay.process.amplitudes.diagrams()
        else {
            return sum;
        };
        let amplitudes = amplitudes.iter();
        let amplitudes = amplitudes.map(|vertex| self.amplitude(decay, states, chosen, vertex));
        let amplitudes: Vec<ValueId> = amplitudes.collect();
        let mut partial = Vec::new();
        for terms in &jamp.partial {
            partial.push(self.combined(terms, &amplitudes, &partial));
        }
        let jamps = jamp.outputs.iter();
        let jamps: Vec<ValueId> = jamps
            .map(|terms| self.combined(terms, &amplitudes, &partial))
            .collect();
        for (i, &a) in jamps.iter().enumerate() {
            for (j, &b) in jamps.iter().enumerate() {
                let other = self.push(Op::Call(Function::Conj, b));
                let product = self.push(Op::Mul(a, other));
                let product = self.push(Op::Call(Function::Re, product));
                let entry = self.real(color.entry(i, j));
                let product = self.push(Op::Mul(entry, product));
                sum = self.push(Op::Add(sum, product));
            }
        }
        sum
    }

    fn amplitude(
        &mut self,
        decay: &Decay,
        states: &[Vec<State>],
        chosen: [usize; 3],
        vertex: &Vertex,
    ) -> ValueId {
        let process = decay.process;
        let routine = &process.routines[vertex.routine as usize];
        let mut inputs = Vec::new();
        for (&input, &size) in vertex.inputs.iter().zip(&routine.inputs) {
            if let Wavefunction::External(external) = process.wavefunctions[input as usize] {
                let state = &states[input as usize][chosen[external.leg as usize]];
                inputs.extend_from_slice(&state.wavefunction[..size as usize]);
            }
        }
        for coupling in &vertex.couplings {
            let named = &process.model.couplings[coupling.coupling as usize];
            let value = decay.values[named.value as usize];
            inputs.push(match coupling.negative {
                true => self.push(Op::Neg(value)),
                false => value,
            });
        }
        let values = self.inline(&routine.program, &inputs);
        values[routine.outputs[0] as usize]
    }

    /// A linear combination.
    fn combined(&mut self, terms: &[Term], amplitudes: &[ValueId], partial: &[ValueId]) -> ValueId {
        let mut sum = self.real(0.0);
        for term in terms {
            let value = match term.source {
                TermSource::Amplitude(n) => amplitudes[n as usize],
                TermSource::Partial(n) => partial[n as usize],
            };
            let factor = self.builder.complex(term.factor.0, term.factor.1);
            let value = self.push(Op::Mul(factor, value));
            sum = self.push(Op::Add(sum, value));
        }
        sum
    }

    fn real(&mut self, x: f64) -> ValueId {
        self.builder.real(x)
    }

    /// Adds an operation, unless its value is trivial.
    fn push(&mut self, op: Op) -> ValueId {
        let is = |v: ValueId, x: f64| self.builder.constant(v) == Some(x.into());
        match op {
            Op::Neg(a) if is(a, 0.0) => a,
            Op::Add(a, b) if is(a, 0.0) => b,
            Op::Add(a, b) | Op::Sub(a, b) if is(b, 0.0) => a,
            Op::Sub(a, b) if is(a, 0.0) => self.builder.push(Op::Neg(b)),
            Op::Mul(a, b) if is(a, 0.0) || is(b, 1.0) => a,
            Op::Mul(a, b) if is(b, 0.0) || is(a, 1.0) => b,
            Op::Div(a, _) if is(a, 0.0) => a,
            Op::Call(part @ (Function::Re | Function::Im), a) => {
                match (self.builder.program().ops[a as usize], part) {
                    (Op::Complex(real, _), Function::Re) => real,
                    (Op::Complex(_, imaginary), _) => imaginary,
                    _ => self.builder.push(op),
                }
            }
            op => self.builder.push(op),
        }
    }
}
