//! Sparse tensors whose entries are values of a program.

use super::lorentz::{Tensor as Named, TensorKind};
use mebridge_process::arith::{Builder, Op, ValueId};
use num_complex::Complex64;
use std::collections::BTreeMap;

/// An index: its number (see [`super::lorentz`]), and whether a sum over it goes with the metric.
pub type Index = (i32, bool);

/// Diagonal of the metric.
pub const METRIC: [f64; 4] = [1.0, -1.0, -1.0, -1.0];

/// A tensor; entries that are not there are zero.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its indices.
    pub indices: Vec<Index>,
    /// Entries by the values of the indices.
    pub entries: BTreeMap<Vec<u8>, ValueId>,
}

const I: Complex64 = Complex64::new(0.0, 1.0);

/// `gamma^mu` in the chiral representation, left-handed components first: column and entry of each row.
fn gamma(mu: u8) -> [(u8, Complex64); 4] {
    let one = Complex64::new(1.0, 0.0);
    match mu {
        0 => [(2, one), (3, one), (0, one), (1, one)],
        1 => [(3, one), (2, one), (1, -one), (0, -one)],
        2 => [(3, -I), (2, I), (1, I), (0, -I)],
        _ => [(2, one), (3, -one), (0, -one), (1, one)],
    }
}

/// Even and odd permutations of 0, 1, 2, 3 with their signs.
fn permutations() -> Vec<(Vec<u8>, f64)> {
    let mut found = Vec::new();
    for code in 0..256u32 {
        let p: Vec<u8> = (0..4).map(|i| (code >> (2 * i) & 3) as u8).collect();
        let pairs = || (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        if pairs().all(|(i, j)| p[i] != p[j]) {
            let inversions = pairs().filter(|&(i, j)| p[i] > p[j]).count();
            found.push((p, if inversions % 2 == 0 { 1.0 } else { -1.0 }));
        }
    }
    found
}

/// The entries of a tensor that is made of numbers.
fn constant(kind: TensorKind) -> Vec<(Vec<u8>, Complex64)> {
    let diagonal = |values: [f64; 4]| {
        let entries = (0..4u8).zip(values).filter(|(_, x)| *x != 0.0);
        entries.map(|(i, x)| (vec![i, i], x.into())).collect()
    };
    match kind {
        TensorKind::Gamma => (0..4)
            .flat_map(|mu| {
                (0..4)
                    .zip(gamma(mu))
                    .map(move |(i, (j, x))| (vec![mu, i, j], x))
            })
            .collect(),
        TensorKind::Gamma5 => diagonal([-1.0, -1.0, 1.0, 1.0]),
        TensorKind::ProjM => diagonal([1.0, 1.0, 0.0, 0.0]),
        TensorKind::ProjP => diagonal([0.0, 0.0, 1.0, 1.0]),
        TensorKind::Identity => diagonal([1.0; 4]),
        TensorKind::Metric => diagonal(METRIC),
        TensorKind::Sigma => {
            let product = |mu: u8, nu: u8, i: u8| {
                let (k, x) = gamma(mu)[usize::from(i)];
                let (j, y) = gamma(nu)[usize::from(k)];
                (j, x * y)
            };
            let mut entries = Vec::new();
            for (mu, nu) in (0..4).flat_map(|mu| (0..4).map(move |nu| (mu, nu))) {
                // Different gamma matrices anticommute.
                for i in (0..4).filter(|_| mu != nu) {
                    let (j, x) = product(mu, nu, i);
                    entries.push((vec![mu, nu, i, j], I * 0.5 * x));
                }
            }
            entries
        }
        TensorKind::Epsilon => {
            let signs = permutations().into_iter();
            signs.map(|(p, sign)| (p, (-sign).into())).collect()
        }
        TensorKind::Momentum(_) => Vec::new(),
    }
}

/// The arithmetic of tensors.
pub struct Algebra {
    /// The program that grows.
    pub builder: Builder,
}

impl Algebra {
    /// `x * y`, without multiplying by 1.
    pub fn mul(&mut self, x: ValueId, y: ValueId) -> ValueId {
        for (a, b) in [(x, y), (y, x)] {
            match self.builder.constant(a) {
                Some(c) if c == Complex64::new(1.0, 0.0) => return b,
                Some(c) if c == Complex64::new(-1.0, 0.0) => return self.builder.push(Op::Neg(b)),
                _ => {}
            }
        }
        self.builder.push(Op::Mul(x, y))
    }

    /// A number.
    pub fn number(&mut self, x: Complex64) -> ValueId {
        self.builder.complex(x.re, x.im)
    }

    /// A tensor of a Lorentz structure; `momentum` gives what goes out along a leg.
    pub fn tensor(
        &mut self,
        named: &Named,
        momentum: &dyn Fn(&mut Self, u8) -> [ValueId; 4],
    ) -> Tensor {
        let lorentz = named.kind.indices().0;
        let indices = named.indices.iter().enumerate();
        let indices = indices.map(|(i, &index)| (index, i < lorentz)).collect();
        let entries = match named.kind {
            TensorKind::Momentum(leg) => {
                let components = (0..4).zip(momentum(self, leg));
                components.map(|(i, value)| (vec![i], value)).collect()
            }
            kind => {
                let entries = constant(kind).into_iter();
                entries.map(|(at, x)| (at, self.number(x))).collect()
            }
        };
        Tensor { indices, entries }
    }

    /// The product of two tensors, summed over the indices that both have.
    pub fn contract(&mut self, a: &Tensor, b: &Tensor) -> Tensor {
        let place = |t: &Tensor, index: &Index| t.indices.iter().position(|i| i == index);
        let shared: Vec<(usize, usize, bool)> = (a.indices.iter().enumerate())
            .filter_map(|(i, index)| place(b, index).map(|j| (i, j, index.1)))
            .collect();
        let free = |t: &Tensor, other: &Tensor| -> Vec<usize> {
            let places = 0..t.indices.len();
            let free = places.filter(|&i| place(other, &t.indices[i]).is_none());
            free.collect()
        };
        let (free_a, free_b) = (free(a, b), free(b, a));
        let mut indices: Vec<Index> = free_a.iter().map(|&i| a.indices[i]).collect();
        indices.extend(free_b.iter().map(|&i| b.indices[i]));
        let mut entries = BTreeMap::new();
        for (at_a, &x) in &a.entries {
            for (at_b, &y) in &b.entries {
                if shared.iter().any(|&(i, j, _)| at_a[i] != at_b[j]) {
                    continue;
                }
                let signs = shared.iter().filter(|s| s.2);
                let sign: f64 = signs.map(|s| METRIC[usize::from(at_a[s.0])]).product();
                let mut value = self.mul(x, y);
                if sign < 0.0 {
                    let minus = self.builder.real(-1.0);
                    value = self.mul(minus, value);
                }
                let mut at: Vec<u8> = free_a.iter().map(|&i| at_a[i]).collect();
                at.extend(free_b.iter().map(|&i| at_b[i]));
                self.add(&mut entries, at, value);
            }
        }
        Tensor { indices, entries }
    }

    /// Adds to an entry.
    pub fn add(&mut self, entries: &mut BTreeMap<Vec<u8>, ValueId>, at: Vec<u8>, value: ValueId) {
        let sum = match entries.get(&at) {
            Some(&before) => self.builder.push(Op::Add(before, value)),
            None => value,
        };
        entries.insert(at, sum);
    }
}
