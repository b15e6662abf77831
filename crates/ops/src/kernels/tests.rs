//! Compares every kernel at every level with explicit gamma matrices and metric tensors.

use super::*;
use crate::opcode::{Mode, Momenta};
use mebridge_simd::{Level, dispatch};
use num_complex::Complex64;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

type C = Complex64;

fn c(re: f64, im: f64) -> C {
    C::new(re, im)
}

/// Memory of a block: aligned vectors, filled and read lane by lane.
pub(super) struct EventBlock<S> {
    numbers: Vec<S>,
    start: usize,
    lanes: usize,
}

impl<S: Real> EventBlock<S> {
    pub(super) fn new(vectors: usize, lanes: usize) -> Self {
        let numbers = vec![S::default(); vectors * lanes + 64];
        let start = numbers.as_ptr().align_offset(64);
        EventBlock {
            numbers,
            start,
            lanes,
        }
    }

    pub(super) fn base(&mut self) -> *mut S {
        self.numbers[self.start..].as_mut_ptr()
    }

    pub(super) fn set(&mut self, address: u32, lane: usize, x: f64) {
        self.numbers[self.start + address as usize * self.lanes + lane] = S::from_f64(x);
    }

    pub(super) fn get(&self, address: u32, lane: usize) -> f64 {
        self.numbers[self.start + address as usize * self.lanes + lane].to_f64()
    }

    pub(super) fn complex(&self, address: u32, lane: usize) -> C {
        c(self.get(address, lane), self.get(address + 1, lane))
    }

    fn momentum(&self, address: u32, lane: usize) -> [f64; 4] {
        [0, 1, 2, 3].map(|i| self.get(address + i, lane))
    }
}

struct RunKernel<'a, S> {
    opcode: Opcode,
    operands: &'a [u32],
    table: Option<&'a [u32]>,
    base: *mut S,
}

impl<S: Real> Task<S> for RunKernel<'_, S> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) {
        // SAFETY: the operands are addresses within the block.
        unsafe {
            match self.table {
                Some(table) => {
                    amplitudes::<V, _>(self.opcode, self.operands, Table(table), self.base);
                }
                None => currents::<V, _>(self.opcode, self.operands, Direct, self.base),
            }
        }
    }
}

struct LanesOf;

impl<S: Real> Task<S> for LanesOf {
    type Output = usize;
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) -> usize {
        V::LANES
    }
}

pub(super) fn lanes<S: Real>(level: Level) -> usize {
    // SAFETY: the task has no requirements.
    unsafe { dispatch::<S, _>(level, LanesOf) }
}

const I: C = C::new(0.0, 1.0);

/// The four gamma matrices, contravariant.
fn gamma(mu: usize) -> [[C; 4]; 4] {
    let (o, l) = (c(0.0, 0.0), c(1.0, 0.0));
    let sigma: [[C; 2]; 2] = match mu {
        0 => [[l, o], [o, l]],
        1 => [[o, l], [l, o]],
        2 => [[o, -I], [I, o]],
        _ => [[l, o], [o, -l]],
    };
    let sign = if mu == 0 { 1.0 } else { -1.0 };
    let mut g = [[o; 4]; 4];
    for i in 0..2 {
        for j in 0..2 {
            g[i][j + 2] = sigma[i][j];
            g[i + 2][j] = sigma[i][j] * sign;
        }
    }
    g
}

fn metric(mu: usize) -> f64 {
    if mu == 0 { 1.0 } else { -1.0 }
}

pub(super) fn slashed(v: &[C]) -> [[C; 4]; 4] {
    let mut s = [[c(0.0, 0.0); 4]; 4];
    for (mu, component) in v.iter().enumerate() {
        for (row, g) in s.iter_mut().zip(gamma(mu)) {
            for (entry, g) in row.iter_mut().zip(g) {
                *entry += g * component * metric(mu);
            }
        }
    }
    s
}

fn on(m: [[C; 4]; 4], f: &[C]) -> Vec<C> {
    (0..4)
        .map(|i| (0..4).map(|j| m[i][j] * f[j]).sum())
        .collect()
}

fn from(f: &[C], m: [[C; 4]; 4]) -> Vec<C> {
    (0..4)
        .map(|j| (0..4).map(|i| f[i] * m[i][j]).sum())
        .collect()
}

fn row_times(a: &[C], b: &[C]) -> C {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn product(a: &[C], b: &[C]) -> C {
    (0..4).map(|mu| a[mu] * b[mu] * metric(mu)).sum()
}

fn complexed(p: [f64; 4]) -> Vec<C> {
    p.iter().map(|&x| c(x, 0.0)).collect()
}

fn scaled(z: C, v: &[C]) -> Vec<C> {
    v.iter().map(|x| z * x).collect()
}

fn sum(a: Vec<C>, b: Vec<C>) -> Vec<C> {
    a.into_iter().zip(b).map(|(x, y)| x + y).collect()
}

/// The result of a kernel, from its definition. `l` and `r` are the factors of the two halves.
#[expect(clippy::too_many_lines, reason = "a case for each operation")]
fn reference(
    opcode: Opcode,
    w: &[Vec<C>],
    factors: &[C],
    p: &[[f64; 4]],
    result: [f64; 4],
    mass: f64,
) -> Vec<C> {
    use Opcode::*;
    let zero = c(0.0, 0.0);
    let (l, r) = match opcode {
        FfvL0 | FfvL1 | FfvL2 | FfvL3 | FfvLMassive3 => (factors[0], zero),
        FfvLr0 | FfvLr1 | FfvLr2 | FfvLr3 | FfvLrMassive3 | FfsLr0 | FfsLr1 | FfsLr2 | FfsLr3 => {
            (factors[0], factors[1])
        }
        _ => (factors[0], factors[0]),
    };
    let chiral = |f: &[C]| vec![l * f[0], l * f[1], r * f[2], r * f[3]];
    let q = complexed(result);
    let massive = |v: Vec<C>| {
        let pv = product(&q, &v) / (mass * mass);
        (0..4).map(|mu| v[mu] - q[mu] * pv).collect::<Vec<C>>()
    };
    let combine = |parts: [(usize, C); 3]| {
        let mut v = vec![zero; 4];
        for (i, z) in parts {
            v = sum(v, scaled(z, &w[i]));
        }
        v
    };
    let all: C = w.iter().filter(|w| w.len() == 1).map(|w| w[0]).product();
    let f = factors[0];
    let difference = |a: [f64; 4], b: [f64; 4]| complexed([0, 1, 2, 3].map(|i| a[i] - b[i]));
    match opcode {
        Ffv0 | FfvL0 | FfvLr0 => vec![row_times(&w[1], &on(slashed(&w[2]), &chiral(&w[0])))],
        Ffv1 | FfvL1 | FfvLr1 => {
            let line = chiral(&from(&w[0], slashed(&w[1])));
            sum(scaled(c(mass, 0.0), &line), from(&line, slashed(&q)))
        }
        Ffv2 | FfvL2 | FfvLr2 => {
            let line = on(slashed(&w[1]), &chiral(&w[0]));
            sum(
                scaled(c(mass, 0.0), &line),
                scaled(c(-1.0, 0.0), &on(slashed(&q), &line)),
            )
        }
        Ffv3 | FfvL3 | FfvLr3 | FfvMassive3 | FfvLMassive3 | FfvLrMassive3 => {
            let v = (0..4)
                .map(|mu| row_times(&w[1], &on(gamma(mu), &chiral(&w[0]))))
                .collect();
            match opcode {
                FfvMassive3 | FfvLMassive3 | FfvLrMassive3 => massive(v),
                _ => v,
            }
        }
        FfsLr0 => vec![row_times(&w[1], &chiral(&w[0])) * w[2][0]],
        FfsLr1 => {
            let line = scaled(w[1][0], &chiral(&w[0]));
            sum(scaled(c(mass, 0.0), &line), from(&line, slashed(&q)))
        }
        FfsLr2 => {
            let line = scaled(w[1][0], &chiral(&w[0]));
            sum(
                scaled(c(mass, 0.0), &line),
                scaled(c(-1.0, 0.0), &on(slashed(&q), &line)),
            )
        }
        FfsLr3 => vec![row_times(&w[1], &chiral(&w[0]))],
        Vvv0 => {
            let mut total = zero;
            for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                total += product(&w[i], &w[j]) * product(&w[k], &difference(p[j], p[i]));
            }
            vec![f * total]
        }
        Vvv1 | VvvMassive1 => {
            // The amplitude with unit vectors in place of vector 1, index raised.
            let p1 = result.map(|x| -x);
            let v = (0..4)
                .map(|mu| {
                    let mut unit = vec![zero; 4];
                    unit[mu] = c(metric(mu), 0.0);
                    let legs = [(&unit, p1), (&w[0], p[0]), (&w[1], p[1])];
                    let mut total = zero;
                    for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
                        total += product(legs[i].0, legs[j].0)
                            * product(legs[k].0, &difference(legs[j].1, legs[i].1));
                    }
                    f * total
                })
                .collect();
            if opcode == VvvMassive1 { massive(v) } else { v }
        }
        VvvvDiff0 => vec![
            f * (product(&w[0], &w[2]) * product(&w[1], &w[3])
                - product(&w[0], &w[3]) * product(&w[1], &w[2])),
        ],
        VvvvDiff1 => combine([
            (0, zero),
            (1, f * product(&w[0], &w[2])),
            (2, -f * product(&w[0], &w[1])),
        ]),
        Vvvv0 => vec![
            factors[0] * product(&w[0], &w[1]) * product(&w[2], &w[3])
                + factors[1] * product(&w[0], &w[2]) * product(&w[1], &w[3])
                + factors[2] * product(&w[0], &w[3]) * product(&w[1], &w[2]),
        ],
        Vvvv1 | VvvvMassive1 => {
            let v = combine([
                (0, factors[0] * product(&w[1], &w[2])),
                (1, factors[1] * product(&w[0], &w[2])),
                (2, factors[2] * product(&w[0], &w[1])),
            ]);
            if opcode == VvvvMassive1 {
                massive(v)
            } else {
                v
            }
        }
        Vss0 => vec![f * all * product(&difference(p[1], p[2]), &w[0])],
        Vss1 | VssMassive1 => {
            let v = scaled(f * all, &difference(p[0], p[1]));
            if opcode == VssMassive1 { massive(v) } else { v }
        }
        Vss3 => {
            let q = [0, 1, 2, 3].map(|i| p[0][i] + 2.0 * p[1][i]);
            vec![f * all * product(&complexed(q), &w[0])]
        }
        Vvs0 | Vvs3 | Vvss0 | Vvss4 => vec![f * all * product(&w[0], &w[1])],
        Vvs1 | Vvss1 => scaled(f * all, &w[0]),
        VvsMassive1 => massive(scaled(f * all, &w[0])),
        Sss0 | Sss1 | Ssss0 | Ssss1 => vec![f * all],
        DotSpinor0 | DotVector0 | DotScalar0 | SumFfv1 | SumFfv2 | SumFfv3 | SumVvv1
        | SumVvvvDiff1 | SumVss1 | ScalarVertex | SumSss1 | Dots | Add | Conjugate
        | MinusConjugate | DensitySpinor | DensityVector | DensityScalar | TraceSpinor
        | TraceVector | TraceScalar | General(_) => {
            unreachable!("not among Opcode::ALL")
        }
    }
}

/// Runs a batch of three operations on random numbers and returns the largest deviation from the reference, relative to
/// the largest component of the result.
fn worst<S: Real>(opcode: Opcode, level: Level, seed: u64) -> f64 {
    const BATCH: usize = 3;
    let lanes = lanes::<S>(level);
    let layout = opcode.layout().unwrap();
    // Amplitudes look up their inputs in a table.
    let by_table = layout.amplitude;
    let components: Vec<u8> = opcode.spins().iter().map(|s| s.components()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut next = 0u32;
    let mut claim = |vectors: u32| {
        let address = next;
        next += vectors;
        address
    };
    let mut operations = Vec::new();
    for _ in 0..BATCH {
        let inputs: Vec<u32> = components[..layout.inputs]
            .iter()
            .map(|&n| claim(2 * u32::from(n)))
            .collect();
        let factors: Vec<u32> = (0..layout.factors).map(|_| claim(2)).collect();
        let momenta: Vec<u32> = match layout.momenta {
            Momenta::None => vec![],
            Momenta::Result => vec![claim(4)],
            Momenta::Inputs => (0..layout.inputs).map(|_| claim(4)).collect(),
        };
        let masses: Vec<u32> = (0..layout.masses).map(|_| claim(1)).collect();
        let result = claim(2 * u32::from(components[layout.inputs]));
        operations.push((inputs, factors, momenta, masses, result));
    }
    let mut block = EventBlock::<S>::new(next as usize, lanes);
    for address in 0..next {
        for lane in 0..lanes {
            block.set(address, lane, rng.random_range(-1.0..1.0));
        }
    }
    // Masses well away from zero.
    for operation in &operations {
        for &mass in &operation.3 {
            for lane in 0..lanes {
                block.set(mass, lane, rng.random_range(1.0..2.0));
            }
        }
    }
    let mut table = vec![u32::MAX; 5];
    let mut operands = Vec::new();
    for (inputs, factors, momenta, masses, result) in &operations {
        for &input in inputs {
            if by_table {
                operands.push(table.len() as u32);
                table.push(input);
            } else {
                operands.push(input);
            }
        }
        operands.extend(factors.iter().chain(momenta).chain(masses));
        operands.push(*result);
    }
    assert_eq!(operands.len(), BATCH * layout.len());
    let task = RunKernel {
        opcode,
        operands: &operands,
        table: by_table.then_some(&table),
        base: block.base(),
    };
    // SAFETY: the operands are addresses within the block.
    unsafe { dispatch(level, task) };

    let mut worst = 0.0f64;
    for (inputs, factors, momenta, masses, result) in &operations {
        for lane in 0..lanes {
            let w: Vec<Vec<C>> = inputs
                .iter()
                .zip(&components)
                .map(|(&a, &n)| {
                    (0..u32::from(n))
                        .map(|i| block.complex(a + 2 * i, lane))
                        .collect()
                })
                .collect();
            let f: Vec<C> = factors.iter().map(|&a| block.complex(a, lane)).collect();
            let p: Vec<[f64; 4]> = momenta.iter().map(|&a| block.momentum(a, lane)).collect();
            let total = [0, 1, 2, 3].map(|i| p.iter().map(|p| p[i]).sum());
            let mass = masses.first().map_or(0.0, |&a| block.get(a, lane));
            let expected = reference(opcode, &w, &f, &p, total, mass);
            let scale = expected.iter().map(|z| z.norm()).fold(0.1, f64::max);
            for (i, z) in expected.iter().enumerate() {
                let got = block.complex(result + 2 * i as u32, lane);
                worst = worst.max((got - z).norm() / scale);
            }
        }
    }
    worst
}

#[test]
fn kernels_compute_their_definition_at_every_level_in_double() {
    for level in Level::supported() {
        for (i, opcode) in Opcode::VERTICES.iter().copied().enumerate() {
            let deviation = worst::<f64>(opcode, level, i as u64);
            assert!(deviation < 1e-13, "{opcode:?} at {level}: {deviation:e}");
        }
    }
}

#[test]
fn kernels_compute_their_definition_at_every_level_in_single() {
    for level in Level::supported() {
        for (i, opcode) in Opcode::VERTICES.iter().copied().enumerate() {
            let deviation = worst::<f32>(opcode, level, 100 + i as u64);
            assert!(deviation < 1e-4, "{opcode:?} at {level}: {deviation:e}");
        }
    }
}

/// ALOHA's numbering: 0 is an amplitude.
#[test]
fn names_say_what_the_result_is() {
    for &opcode in Opcode::VERTICES {
        let name = format!("{opcode:?}");
        assert_eq!(opcode.is_amplitude(), Some(name.ends_with('0')), "{name}");
        assert_eq!(opcode.is_unitary(), name.contains("Massive"), "{name}");
    }
}

/// The wavefunction with all helicities reversed, up to a phase.
fn mirrored(opcode: Opcode, w: &[C]) -> Vec<C> {
    match opcode {
        Opcode::DensitySpinor => [w[3], -w[2], w[1], -w[0]].map(|z| z.conj()).to_vec(),
        _ => w.iter().map(|z| z.conj()).collect(),
    }
}

/// Matrices of wavefunctions that stand for pairs, with the mirrored ones, give the sum of all squared products, and so do
/// those of single wavefunctions on the other side.
#[test]
fn matrices_give_sums_of_squared_products() {
    use Opcode::{
        DensityScalar, DensitySpinor, DensityVector, TraceScalar, TraceSpinor, TraceVector,
    };
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for level in Level::supported() {
        for (density, trace) in [
            (DensitySpinor, TraceSpinor),
            (DensityVector, TraceVector),
            (DensityScalar, TraceScalar),
        ] {
            let lanes = lanes::<f64>(level);
            let mut block = EventBlock::<f64>::new(83, lanes);
            for address in 0..40 {
                for lane in 0..lanes {
                    block.set(address, lane, rng.random_range(-1.0..1.0));
                }
            }
            let (a, b): ([u32; 3], [u32; 2]) = ([0, 8, 16], [24, 32]);
            // Both are pairs, one of both is single, both are.
            let of_b = [
                vec![0, 2, b[0], b[1]],
                vec![1, 1, b[0], b[1]],
                vec![2, 0, b[0], b[1]],
            ];
            let matrices: Vec<u32> = (of_b.iter().zip([50, 61, 71]))
                .flat_map(|(of, at)| of.iter().copied().chain([at]))
                .chain([0, 3, a[0], a[1], a[2], 40])
                .collect();
            let steps = [
                (density, matrices),
                (trace, vec![40, 50, 60, 40, 61, 81, 40, 71, 82]),
            ];
            for (opcode, operands) in &steps {
                let task = RunKernel {
                    opcode: *opcode,
                    operands,
                    table: None,
                    base: block.base(),
                };
                // SAFETY: the operands are addresses within the block.
                unsafe { dispatch(level, task) };
            }
            for lane in 0..lanes {
                let all = |addresses: &[u32]| -> Vec<Vec<C>> {
                    let own = addresses.iter().map(|&at| {
                        let parts = [0, 2, 4, 6].map(|i| block.complex(at + i, lane));
                        parts.to_vec()
                    });
                    let own: Vec<Vec<C>> = own.collect();
                    let others = own.iter().map(|w| mirrored(density, w));
                    own.iter().cloned().chain(others).collect()
                };
                let (all_a, all_b) = (all(&a), all(&b));
                // Two wavefunctions of b, then their mirrored ones.
                let existing: [&[usize]; 3] = [&[0, 1, 2, 3], &[0, 1, 3], &[0, 1]];
                for (existing, result) in existing.into_iter().zip([60, 81, 82]) {
                    let of_b = |a| existing.iter().map(move |&i| (a, i));
                    let squares = all_a.iter().flat_map(of_b).map(|(a, i)| {
                        let b = &all_b[i];
                        let components = if density == DensityScalar { 1 } else { 4 };
                        let terms = (0..components).map(|mu| match density {
                            DensitySpinor => a[mu] * b[mu],
                            _ => a[mu] * b[mu] * metric(mu),
                        });
                        terms.sum::<C>().norm_sqr()
                    });
                    let (expected, got) = (squares.sum::<f64>(), block.get(result, lane));
                    let off = (got - expected).abs() / expected;
                    assert!(off < 1e-13, "{density:?} at {level}: {got} for {expected}");
                }
            }
        }
    }
}

/// Sums of vertices with scalars, stored or added to the previous value, with terms of all kinds and of each kind
/// alone.
#[test]
fn sums_with_scalars_are_those_of_their_terms() {
    use Opcode::{ScalarVertex, SumSss1, SumVss1};
    /// Terms to be added or subtracted, each a coefficient with operands.
    type Terms<'a> = &'a [(f64, &'a [u32])];
    // Vectors at 0, 8 and 16, scalars at 24, 26 and 28, momenta at 30 and 34, factors at 38 and 40, the result at 42.
    // Each operation is listed with its three-leg and its four-leg terms.
    #[rustfmt::skip]
    let cases: [(Opcode, &[u32], Terms, Terms); 9] = [
        (SumVss1, &[0, 1, 0, 0, 24, 26, 30, 38, 40, 42], &[(1.0, &[24, 26, 30])], &[]),
        (SumVss1, &[0, 0, 1, 0, 8, 24, 28, 38, 40, 42], &[], &[(1.0, &[8, 24, 28])]),
        (SumVss1, &[0, 0, 0, 1, 8, 24, 28, 38, 40, 42], &[], &[(-1.0, &[8, 24, 28])]),
        (SumVss1, &[1, 2, 1, 1, 24, 26, 30, 28, 24, 34, 0, 26, 28, 8, 24, 28, 38, 40, 42],
         &[(1.0, &[24, 26, 30]), (1.0, &[28, 24, 34])], &[(1.0, &[0, 26, 28]), (-1.0, &[8, 24, 28])]),
        (ScalarVertex, &[0, 1, 0, 0, 0, 8, 30, 38, 40, 42], &[(1.0, &[8, 30])], &[]),
        (ScalarVertex, &[0, 0, 0, 0, 1, 8, 16, 38, 40, 42], &[], &[(-1.0, &[8, 16])]),
        (ScalarVertex, &[1, 1, 1, 1, 1, 0, 30, 8, 34, 0, 8, 8, 16, 38, 40, 42], &[(1.0, &[0, 30]), (-1.0, &[8, 34])],
         &[(1.0, &[0, 8]), (-1.0, &[8, 16])]),
        (SumSss1, &[1, 0, 24, 26, 38, 42], &[(1.0, &[24, 26])], &[]),
        (SumSss1, &[1, 1, 24, 26, 28, 26, 38, 42], &[(1.0, &[24, 26]), (-1.0, &[28, 26])], &[]),
    ];
    for (level, (opcode, operands, three, four)) in Level::supported()
        .into_iter()
        .flat_map(|l| cases.map(|c| (l, c)))
    {
        let lanes = lanes::<f64>(level);
        let mut block = EventBlock::<f64>::new(50, lanes);
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        for (address, lane) in (0..50).flat_map(|a| (0..lanes).map(move |l| (a, l))) {
            block.set(address, lane, rng.random_range(-1.0..1.0));
        }
        let components = if opcode == SumVss1 { 4 } else { 1 };
        let results = |block: &EventBlock<f64>| -> Vec<Vec<C>> {
            let result = |lane| (0..components).map(move |i| (42 + 2 * i, lane));
            let of_lane = |lane| {
                result(lane)
                    .map(|(at, lane)| block.complex(at, lane))
                    .collect()
            };
            (0..lanes).map(of_lane).collect()
        };
        let before = results(&block);
        let base = block.base();
        let task = RunKernel {
            opcode,
            operands,
            table: None,
            base,
        };
        // SAFETY: the operands are addresses within the block.
        unsafe { dispatch(level, task) };
        for (lane, got) in results(&block).into_iter().enumerate() {
            let vector = |at: u32| [0, 2, 4, 6].map(|i| block.complex(at + i, lane));
            let number = |at: u32| block.complex(at, lane);
            let momentum = |at: u32| complexed(block.momentum(at, lane));
            let mut expected = vec![C::new(0.0, 0.0); components as usize];
            if opcode != SumSss1 && operands[0] == Mode::ADD {
                expected.clone_from(&before[lane]);
            }
            for (terms, factor) in [(three, number(38)), (four, number(40))] {
                for &(sign, term) in terms {
                    let value = match (opcode, term) {
                        (SumVss1, &[a, b, d]) if d >= 30 => {
                            scaled(number(a) * number(b), &momentum(d))
                        }
                        (SumVss1, &[v, a, b]) => scaled(number(a) * number(b), &vector(v)),
                        (ScalarVertex, &[v, q]) if q >= 30 => {
                            vec![product(&momentum(q), &vector(v))]
                        }
                        (ScalarVertex, &[v, w]) => vec![product(&vector(v), &vector(w))],
                        (_, &[a, b]) => vec![number(a) * number(b)],
                        _ => unreachable!("a term has two or three operands"),
                    };
                    for (x, y) in expected.iter_mut().zip(value) {
                        *x += sign * factor * y;
                    }
                }
            }
            for (got, expected) in got.iter().zip(&expected) {
                let off = (got - expected).norm();
                assert!(off < 1e-13, "{opcode:?} at {level}: {got} for {expected}");
            }
        }
    }
}

/// The modes for spinors of which half of the components vanish give the same as the modes without, for one spinor of
/// each term and for two.
#[test]
fn half_spinors_give_what_whole_ones_do() {
    use Opcode::{SumFfv1, SumFfv2, SumFfv3};
    struct Two<'a>(Opcode, &'a [u32], *mut f64);
    impl Task<f64> for Two<'_> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = f64>>(self) {
            // SAFETY: the operands are addresses within the block.
            unsafe { spinors_of_two::<V>(self.0, self.1, self.2) }
        }
    }
    // Spinors at 0, 8, 16 and 24, vectors at 32 and 40, a momentum at 48, no mass at 52, a factor at 54, results at 56
    // and 64.
    let modes = [Mode::STORE, Mode::ADD, Mode::BARE, Mode::ADD | Mode::BARE];
    let halves = [(Mode::FIRST_HALF, 4), (Mode::LAST_HALF, 0)];
    let opcodes = [
        (SumFfv1, false),
        (SumFfv1, true),
        (SumFfv2, false),
        (SumFfv2, true),
        (SumFfv3, false),
    ];
    for level in Level::supported() {
        let lanes = lanes::<f64>(level);
        for (mode, (half, zeros), (opcode, two)) in modes
            .into_iter()
            .flat_map(|mode| halves.map(|half| (mode, half)))
            .flat_map(|(mode, half)| opcodes.map(|opcode| (mode, half, opcode)))
        {
            let results = [0, half].map(|half| {
                let mut block = EventBlock::<f64>::new(72, lanes);
                let mut rng = ChaCha8Rng::seed_from_u64(13);
                for (address, lane) in (0..72).flat_map(|a| (0..lanes).map(move |l| (a, l))) {
                    block.set(address, lane, rng.random_range(-1.0..1.0));
                    let spinors = if opcode == SumFfv3 { 16 } else { 32 };
                    let vanishes = address < spinors && address % 8 / 4 * 4 == zeros;
                    if vanishes || address == 52 {
                        block.set(address, lane, 0.0);
                    }
                }
                let mode = mode | half;
                let operands: &[u32] = match (opcode, two) {
                    (SumFfv3, _) => &[mode, 1, 1, 0, 32, 8, 40, 54, 56],
                    (_, false) => &[mode, 1, 1, 0, 32, 8, 40, 54, 48, 52, 56],
                    (_, true) => &[mode, 1, 1, 0, 16, 32, 8, 24, 40, 54, 48, 52, 56, 64],
                };
                let base = block.base();
                // SAFETY: the operands are addresses within the block.
                unsafe {
                    match two {
                        true => dispatch(level, Two(opcode, operands, base)),
                        false => {
                            let task = RunKernel {
                                opcode,
                                operands,
                                table: None,
                                base,
                            };
                            dispatch(level, task);
                        }
                    }
                }
                let results = (56..72).flat_map(|a| (0..lanes).map(move |l| (a, l)));
                results.map(|(a, l)| block.get(a, l)).collect::<Vec<f64>>()
            });
            let [whole, halved] = results;
            for (a, b) in whole.iter().zip(&halved) {
                assert!(
                    (a - b).abs() < 1e-13,
                    "{opcode:?} {mode} {half} at {level}: {a} {b}"
                );
            }
        }
    }
}

/// Products for two helicities are bitwise equal to those of each alone, whichever factor is shared.
#[test]
fn products_of_two_helicities_are_those_of_one() {
    struct SumsTask<'a> {
        opcode: Opcode,
        operands: &'a [u32],
        tables: [&'a [u32]; 2],
        both: bool,
        base: *mut f64,
    }
    impl Task<f64> for SumsTask<'_> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<V: Simd<Scalar = f64>>(self) {
            let SumsTask {
                opcode,
                operands,
                tables,
                both,
                base,
            } = self;
            // SAFETY: the test's memory contains all addresses.
            unsafe {
                match both {
                    true => products_of_two::<V>(opcode, operands, tables.map(Table), 10, base),
                    false => amplitudes::<V, _>(opcode, operands, Table(tables[0]), base),
                }
            }
        }
    }
    // Four wavefunctions, products of the first helicity at 32 and 34, of the second at 42 and 44.
    let operands = [0, 1, 32, 2, 0, 34];
    let tables: [&[u32]; 2] = [&[0, 8, 16], &[0, 24, 8]];
    for level in Level::supported() {
        let lanes = lanes::<f64>(level);
        for opcode in [Opcode::DotSpinor0, Opcode::DotVector0] {
            let mut block = EventBlock::<f64>::new(64, lanes);
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            for address in 0..32 {
                for lane in 0..lanes {
                    block.set(address, lane, rng.random_range(-1.0..1.0));
                }
            }
            let mut run = |tables: [&[u32]; 2], both: bool| {
                let (operands, base) = (&operands[..], block.base());
                let run = SumsTask {
                    opcode,
                    operands,
                    tables,
                    both,
                    base,
                };
                // SAFETY: the CPU supports the level, and the memory is large enough.
                unsafe { dispatch(level, run) };
                let at = |address: u32| (0..lanes).map(move |lane| (address, lane));
                let numbers = [32, 33, 34, 35, 42, 43, 44, 45].into_iter().flat_map(at);
                let numbers: Vec<f64> = numbers.map(|(at, lane)| block.get(at, lane)).collect();
                numbers
            };
            let both = run(tables, true);
            let first = run(tables, false);
            let second = run([tables[1], tables[0]], false);
            let half = 4 * lanes;
            assert_eq!(both[..half], first[..half], "{opcode:?} {level}");
            assert_eq!(both[half..], second[..half], "{opcode:?} {level}");
            assert!(both.iter().all(|x| *x != 0.0));
        }
    }
}
