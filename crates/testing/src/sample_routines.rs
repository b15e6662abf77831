//! Lorentz structures for tests, written like ALOHA's: momenta taken from the first two components, a propagator in
//! each routine, the numerator of a massive vector after a test of the mass. The formulas are textbook ones (gamma
//! matrices and metric), not ALOHA's.

use mebridge_process::arith::{Builder, Comparison, Function, Op, ValueId};
use mebridge_process::lorentz::Routine;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value under construction.
#[derive(Clone, Copy)]
pub struct E<'a> {
    builder: &'a RefCell<Builder>,
    id: ValueId,
}

impl<'a> E<'a> {
    fn push(self, op: Op) -> E<'a> {
        E {
            builder: self.builder,
            id: self.builder.borrow_mut().push(op),
        }
    }

    /// A constant.
    pub fn number(self, re: f64, im: f64) -> E<'a> {
        self.push(Op::Const(re, im))
    }

    fn re(self) -> E<'a> {
        self.push(Op::Call(Function::Re, self.id))
    }

    fn im(self) -> E<'a> {
        self.push(Op::Call(Function::Im, self.id))
    }
}

macro_rules! operator {
    ($trait:ident $method:ident) => {
        impl<'a> $trait for E<'a> {
            type Output = E<'a>;
            fn $method(self, b: E<'a>) -> E<'a> {
                self.push(Op::$trait(self.id, b.id))
            }
        }
    };
}
operator!(Add add);
operator!(Sub sub);
operator!(Mul mul);
operator!(Div div);

impl<'a> Neg for E<'a> {
    type Output = E<'a>;
    fn neg(self) -> E<'a> {
        self.push(Op::Neg(self.id))
    }
}

/// The arguments of a routine under construction.
pub struct Arguments<'a> {
    /// Components of each wavefunction, without momentum.
    pub w: Vec<Vec<E<'a>>>,
    /// Momentum of each wavefunction.
    pub p: Vec<[E<'a>; 4]>,
    /// Minus the sum of the momenta: the momentum of the result, flowing in, as in ALOHA.
    pub out: [E<'a>; 4],
    /// Couplings.
    pub coupling: Vec<E<'a>>,
    /// Mass of the result.
    pub mass: E<'a>,
    /// `coupling[0]` times the propagator (for an amplitude: `coupling[0]`).
    pub factor: E<'a>,
    /// `1/m^2`, or zero if the mass is zero.
    pub om: E<'a>,
    /// The imaginary unit.
    pub i: E<'a>,
    /// Zero.
    pub zero: E<'a>,
}

/// Builds a routine from its formula. `result` is the number of components, 0 for an amplitude.
pub fn routine(
    name: &str,
    inputs: &[u32],
    couplings: u32,
    result: usize,
    formula: impl for<'a> Fn(&Arguments<'a>) -> Vec<E<'a>>,
) -> Routine {
    let mut routine = Routine {
        name: name.into(),
        inputs: inputs.to_vec(),
        couplings,
        massive: result > 0,
        program: Default::default(),
        outputs: Vec::new(),
    };
    let builder = RefCell::new(Builder::new(routine.program_inputs()));
    let input = |n: u32| E {
        builder: &builder,
        id: builder.borrow_mut().input(n),
    };
    let zero = E {
        builder: &builder,
        id: builder.borrow_mut().real(0.0),
    };
    let i = zero.number(0.0, 1.0);
    let w: Vec<Vec<E>> = (0..inputs.len())
        .map(|a| {
            (2..inputs[a])
                .map(|c| input(routine.wavefunction_input(a, c)))
                .collect()
        })
        .collect();
    let heads: Vec<[E; 2]> = (0..inputs.len())
        .map(|a| [0, 1].map(|c| input(routine.wavefunction_input(a, c))))
        .collect();
    let p: Vec<[E; 4]> = heads
        .iter()
        .map(|[a, b]| [a.re(), b.re(), b.im(), a.im()])
        .collect();
    let sum = [0, 1].map(|c| heads.iter().skip(1).fold(heads[0][c], |s, h| s + h[c]));
    let out = [-sum[0].re(), -sum[1].re(), -sum[1].im(), -sum[0].im()];
    let coupling: Vec<E> = (0..couplings)
        .map(|c| input(routine.coupling_input(c)))
        .collect();
    let (mass, factor, om) = if result > 0 {
        let mass = input(routine.mass_input());
        let width = input(routine.mass_input() + 1);
        let p2 = out[0] * out[0] - out[1] * out[1] - out[2] * out[2] - out[3] * out[3];
        let inverse = zero.number(1.0, 0.0) / (mass * mass);
        let om = zero.push(Op::Select {
            test: Comparison::Ne,
            lhs: mass.id,
            rhs: zero.id,
            yes: inverse.id,
            no: zero.id,
        });
        (mass, coupling[0] / (p2 - mass * (mass - i * width)), om)
    } else {
        (zero, coupling[0], zero)
    };
    let arguments = Arguments {
        w,
        p,
        out,
        coupling,
        mass,
        factor,
        om,
        i,
        zero,
    };
    let values = formula(&arguments);
    assert_eq!(values.len(), result.max(1));
    if result > 0 {
        routine.outputs = sum.iter().map(|e| e.id).collect();
    }
    routine.outputs.extend(values.iter().map(|e| e.id));
    drop(arguments);
    routine.program = builder.into_inner().finish();
    routine
}

/// Metric product.
pub fn product<'a>(a: &[E<'a>], b: &[E<'a>]) -> E<'a> {
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
}

/// Difference.
pub fn minus<'a>(a: &[E<'a>], b: &[E<'a>]) -> Vec<E<'a>> {
    a.iter().zip(b).map(|(&x, &y)| x - y).collect()
}

/// Each component times a number.
pub fn times<'a>(z: E<'a>, v: &[E<'a>]) -> Vec<E<'a>> {
    v.iter().map(|&x| z * x).collect()
}

/// Applies a slashed vector to a spinor that flows in.
pub fn on<'a>(v: &[E<'a>], f: &[E<'a>], i: E<'a>) -> Vec<E<'a>> {
    let (plus, minus) = (v[0] + v[3], v[0] - v[3]);
    let (up, down) = (v[1] + i * v[2], v[1] - i * v[2]);
    vec![
        minus * f[2] - down * f[3],
        plus * f[3] - up * f[2],
        plus * f[0] + down * f[1],
        up * f[0] + minus * f[1],
    ]
}

/// Applies a slashed vector, from the right, to a spinor that flows out.
pub fn row<'a>(f: &[E<'a>], v: &[E<'a>], i: E<'a>) -> Vec<E<'a>> {
    let (plus, minus) = (v[0] + v[3], v[0] - v[3]);
    let (up, down) = (v[1] + i * v[2], v[1] - i * v[2]);
    vec![
        f[2] * plus + f[3] * up,
        f[2] * down + f[3] * minus,
        f[0] * minus - f[1] * up,
        f[1] * plus - f[0] * down,
    ]
}

/// A spinor that flows out times one that flows in.
pub fn contract<'a>(f2: &[E<'a>], f1: &[E<'a>]) -> E<'a> {
    f2[0] * f1[0] + f2[1] * f1[1] + f2[2] * f1[2] + f2[3] * f1[3]
}

/// The two halves of a spinor scaled.
pub fn chiral<'a>(l: E<'a>, r: E<'a>, f: &[E<'a>]) -> Vec<E<'a>> {
    vec![l * f[0], l * f[1], r * f[2], r * f[3]]
}

/// `f2 gamma f1`.
pub fn current<'a>(f1: &[E<'a>], f2: &[E<'a>], i: E<'a>, zero: E<'a>) -> Vec<E<'a>> {
    let one = zero.number(1.0, 0.0);
    (0..4)
        .map(|mu| {
            let mut unit = vec![zero; 4];
            unit[mu] = if mu == 0 { one } else { -one };
            contract(f2, &on(&unit, f1, i))
        })
        .collect()
}

/// `v - p (p v) / m^2`.
pub fn unitary<'a>(v: &[E<'a>], a: &Arguments<'a>) -> Vec<E<'a>> {
    let pv = product(&a.out, v) * a.om;
    minus(v, &times(pv, &a.out))
}

/// `-i f2 V/ (l P_L + r P_R) f1`, as FFV1_0 (1, 1) or FFV2_0 (1, 0).
pub fn ffv_0(l: f64, r: f64) -> Routine {
    routine("FFV_0", &[6, 6, 6], 1, 0, |a| {
        let f1 = chiral(a.i.number(0.0, -l), a.i.number(0.0, -r), &a.w[0]);
        vec![a.factor * contract(&a.w[1], &on(&a.w[2], &f1, a.i))]
    })
}

/// As FFV1_1.
pub fn ffv_1(l: f64, r: f64) -> Routine {
    routine("FFV_1", &[6, 6], 1, 4, |a| {
        let line = row(&a.w[0], &a.w[1], a.i);
        let line = chiral(a.i.number(0.0, l), a.i.number(0.0, r), &line);
        let moved = row(&line, &a.out, a.i);
        times(a.factor, &minus(&times(a.mass, &line), &moved))
    })
}

/// As FFV1_2.
pub fn ffv_2(l: f64, r: f64) -> Routine {
    routine("FFV_2", &[6, 6], 1, 4, |a| {
        let f1 = chiral(a.i.number(0.0, l), a.i.number(0.0, r), &a.w[0]);
        let line = on(&a.w[1], &f1, a.i);
        let moved = on(&a.out, &line, a.i);
        let sum: Vec<E> = line
            .iter()
            .zip(&moved)
            .map(|(&u, &v)| a.mass * u + v)
            .collect();
        times(a.factor, &sum)
    })
}

/// As FFV4_3 with a massive numerator, or FFV1P0_3 without.
pub fn ffv_3(l: f64, r: f64, massive: bool) -> Routine {
    routine("FFV_3", &[6, 6], 1, 4, |a| {
        let f1 = chiral(a.i.number(0.0, -l), a.i.number(0.0, -r), &a.w[0]);
        let v = current(&f1, &a.w[1], a.i, a.zero);
        let v = if massive { unitary(&v, a) } else { v };
        times(a.factor, &v)
    })
}

/// The Yang-Mills numerator for vector 1, `p1` flowing in as all others.
fn yang_mills<'a>(
    p1: &[E<'a>],
    p2: &[E<'a>],
    p3: &[E<'a>],
    v2: &[E<'a>],
    v3: &[E<'a>],
) -> Vec<E<'a>> {
    let along = times(product(v2, v3), &minus(p3, p2));
    let with2 = times(product(v3, &minus(p2, p1)), v2);
    let with3 = times(product(v2, &minus(p3, p1)), v3);
    minus(
        &along
            .iter()
            .zip(&with2)
            .map(|(&x, &y)| x + y)
            .collect::<Vec<_>>(),
        &with3,
    )
}

/// As VVV1_0.
pub fn vvv_0() -> Routine {
    routine("VVV_0", &[6, 6, 6], 1, 0, |a| {
        let v = yang_mills(&a.p[0], &a.p[1], &a.p[2], &a.w[1], &a.w[2]);
        vec![a.i * a.factor * product(&a.w[0], &v)]
    })
}

/// As VVV1P0_1, or VVV1_1 with a massive numerator.
pub fn vvv_1(massive: bool) -> Routine {
    routine("VVV_1", &[6, 6], 1, 4, |a| {
        let v = yang_mills(&a.out, &a.p[0], &a.p[1], &a.w[0], &a.w[1]);
        let v = if massive { unitary(&v, a) } else { v };
        times(a.i * a.factor, &v)
    })
}

/// Metric products `12 34`, `13 24`, `14 23` with these coefficients.
pub fn vvvv_0(c: [f64; 3]) -> Routine {
    routine("VVVV_0", &[6, 6, 6, 6], 1, 0, move |a| {
        let g = |i: usize, j: usize| product(&a.w[i], &a.w[j]);
        let n = |x: f64| a.zero.number(0.0, x);
        vec![
            a.factor
                * (n(c[0]) * g(0, 1) * g(2, 3)
                    + n(c[1]) * g(0, 2) * g(1, 3)
                    + n(c[2]) * g(0, 3) * g(1, 2)),
        ]
    })
}

/// The same for vector 1.
pub fn vvvv_1(c: [f64; 3], massive: bool) -> Routine {
    routine("VVVV_1", &[6, 6, 6], 1, 4, move |a| {
        let n = |x: f64| a.zero.number(0.0, x);
        let parts = [(0, 1, 2), (1, 0, 2), (2, 0, 1)]
            .map(|(i, j, k)| times(n(c[i]) * product(&a.w[j], &a.w[k]), &a.w[i]));
        let v: Vec<E> = (0..4)
            .map(|mu| parts[0][mu] + parts[1][mu] + parts[2][mu])
            .collect();
        let v = if massive { unitary(&v, a) } else { v };
        times(a.factor, &v)
    })
}

/// A dipole: `f2 (V/ q/ - q/ V/) f1`, for which no kernel exists.
pub fn dipole_0() -> Routine {
    routine("FFV8_0", &[6, 6, 6], 1, 0, |a| {
        let (v, q) = (&a.w[2], &a.p[2]);
        let one = on(v, &on(q, &a.w[0], a.i), a.i);
        let two = on(q, &on(v, &a.w[0], a.i), a.i);
        vec![a.factor * contract(&a.w[1], &minus(&one, &two))]
    })
}

/// The operator of gg -> H in the limit of a heavy top, for the scalar; no kernel exists for it.
pub fn heft_3() -> Routine {
    routine("VVS3_3", &[6, 6], 1, 1, |a| {
        let one = product(&a.w[1], &a.p[0]) * product(&a.w[0], &a.p[1]);
        let two = product(&a.w[0], &a.w[1]) * product(&a.p[0], &a.p[1]);
        vec![a.i * a.factor * (one - two)]
    })
}
