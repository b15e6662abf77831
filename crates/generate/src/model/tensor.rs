//! Sparse tensors whose entries are values of a program.

use super::lorentz::{Tensor as Named, TensorKind};
use mebridge_process::arith::{Builder, Comparison, Op, ValueId};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;

/// An index: its number (see [`super::lorentz`]), and whether it is a Lorentz index, for which sums include the metric.
pub type Index = (i32, bool);

/// Diagonal of the metric.
pub const METRIC: [f64; 4] = [1.0, -1.0, -1.0, -1.0];

/// A tensor; missing entries are zero.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its indices.
    pub indices: Vec<Index>,
    /// Entries by the values of the indices.
    pub entries: SortedMap<Vec<u8>, ValueId>,
}

impl Tensor {
    /// The tensor with its indices in this order; `order` must be a permutation of its indices.
    pub fn ordered(self, order: &[Index]) -> Tensor {
        if self.indices == order {
            return self;
        }
        let places: Vec<usize> = order
            .iter()
            .filter_map(|index| self.indices.iter().position(|i| i == index))
            .collect();
        let entries = self.entries.into_iter();
        Tensor {
            indices: order.to_vec(),
            entries: entries
                .map(|(at, x)| (places.iter().map(|&i| at[i]).collect(), x))
                .collect(),
        }
    }
}

const I: Complex64 = Complex64::new(0.0, 1.0);

/// `gamma^mu` in the chiral representation, left-handed components first: the column and value of the only entry in
/// each row.
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

/// The entries of a constant tensor.
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
        TensorKind::C => {
            let entries = [(0, 1, -1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, -1.0)];
            let entries = entries
                .iter()
                .map(|&(i, j, x)| (vec![i, j], Complex64::new(x, 0.0)));
            entries.collect()
        }
        // Depend on the arguments of a routine.
        TensorKind::Momentum(_)
        | TensorKind::Mass
        | TensorKind::Width
        | TensorKind::OverMass2
        | TensorKind::SpaceMomentum
        | TensorKind::TransverseMomentum
        | TensorKind::Longitudinal
        | TensorKind::FirstTransverse
        | TensorKind::SecondTransverse => Vec::new(),
    }
}

/// Mass and width of a propagator.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its mass.
    pub mass: ValueId,
    /// Its width.
    pub width: ValueId,
}

/// Tensor arithmetic on the values of a program.
pub struct Algebra {
    /// The program under construction.
    pub builder: Builder,
}

impl Algebra {
    /// The value of which this one is the negative, if any.
    fn negative_of(&self, x: ValueId) -> Option<ValueId> {
        match self.builder.program().ops[x as usize] {
            Op::Neg(x) => Some(x),
            _ => None,
        }
    }

    /// `-x`.
    pub fn neg(&mut self, x: ValueId) -> ValueId {
        match self.negative_of(x) {
            Some(x) => x,
            None => self.builder.push(Op::Neg(x)),
        }
    }

    /// `x + y`, as a difference if either is the negative of a value.
    pub fn plus(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let op = match (self.negative_of(x), self.negative_of(y)) {
            (_, Some(y)) => Op::Sub(x, y),
            (Some(x), None) => Op::Sub(y, x),
            _ => Op::Add(x, y),
        };
        self.builder.push(op)
    }

    /// `x * y`, without multiplications by 1. Signs are moved in front of the product, for [`Self::plus`].
    pub fn mul(&mut self, x: ValueId, y: ValueId) -> ValueId {
        match (self.negative_of(x), self.negative_of(y)) {
            (Some(x), Some(y)) => return self.mul(x, y),
            (Some(x), None) => {
                let product = self.mul(x, y);
                return self.neg(product);
            }
            (None, Some(y)) => {
                let product = self.mul(x, y);
                return self.neg(product);
            }
            (None, None) => {}
        }
        for (a, b) in [(x, y), (y, x)] {
            match self.builder.constant(a) {
                Some(c) if c == Complex64::new(1.0, 0.0) => return b,
                Some(c) if c == Complex64::new(-1.0, 0.0) => return self.neg(b),
                _ => {}
            }
        }
        self.builder.push(Op::Mul(x, y))
    }

    /// A number.
    pub fn number(&mut self, x: Complex64) -> ValueId {
        self.builder.complex(x.re, x.im)
    }

    /// A tensor of a Lorentz structure; `momentum` returns the outgoing momentum of a leg, and `line` is the line of a
    /// propagator.
    pub fn tensor(
        &mut self,
        named: &Named,
        momentum: &dyn Fn(&mut Self, u8) -> [ValueId; 4],
        line: Option<Line>,
    ) -> Tensor {
        let lorentz = named.kind.indices().0;
        let indices = named.indices.iter().enumerate();
        let indices = indices.map(|(i, &index)| (index, i < lorentz)).collect();
        let of = |components: [ValueId; 4]| -> SortedMap<Vec<u8>, ValueId> {
            let components = (0..4).zip(components);
            components.map(|(i, value)| (vec![i], value)).collect()
        };
        let entries = match named.kind {
            TensorKind::Momentum(leg) => of(momentum(self, leg)),
            kind @ (TensorKind::SpaceMomentum
            | TensorKind::TransverseMomentum
            | TensorKind::Longitudinal
            | TensorKind::FirstTransverse
            | TensorKind::SecondTransverse) => {
                let p = momentum(self, 0);
                let components = self.direction(kind, p);
                of(components)
            }
            kind @ (TensorKind::Mass | TensorKind::Width | TensorKind::OverMass2) => {
                let value = match line {
                    Some(line) if kind == TensorKind::Mass => line.mass,
                    Some(line) if kind == TensorKind::Width => line.width,
                    Some(line) => {
                        let zero = self.builder.real(0.0);
                        let one = self.builder.real(1.0);
                        let square = self.builder.push(Op::Mul(line.mass, line.mass));
                        let over = self.builder.push(Op::Div(one, square));
                        self.builder.push(Op::Select {
                            test: Comparison::Ne,
                            lhs: line.mass,
                            rhs: zero,
                            yes: over,
                            no: zero,
                        })
                    }
                    None => self.builder.real(0.0),
                };
                SortedMap::from([(Vec::new(), value)])
            }
            kind => {
                let entries = constant(kind).into_iter();
                entries.map(|(at, x)| (at, self.number(x))).collect()
            }
        };
        Tensor { indices, entries }
    }

    /// A part of a momentum, or a polarisation direction for it.
    fn direction(&mut self, kind: TensorKind, p: [ValueId; 4]) -> [ValueId; 4] {
        let zero = self.builder.real(0.0);
        let [energy, x, y, z] = p;
        let square = |algebra: &mut Self, x| algebra.builder.push(Op::Mul(x, x));
        let across = {
            let (x, y) = (square(self, x), square(self, y));
            self.builder.push(Op::Add(x, y))
        };
        match kind {
            TensorKind::SpaceMomentum => [zero, x, y, z],
            TensorKind::TransverseMomentum => [zero, x, y, zero],
            TensorKind::Longitudinal => {
                let along = square(self, z);
                let all = self.builder.push(Op::Add(across, along));
                let [x, y, z] = [x, y, z].map(|x| self.builder.push(Op::Mul(x, energy)));
                [all, x, y, z]
            }
            TensorKind::FirstTransverse => {
                let [x, y] = [x, y].map(|x| self.builder.push(Op::Mul(x, z)));
                [zero, x, y, self.builder.push(Op::Neg(across))]
            }
            _ => [zero, self.builder.push(Op::Neg(y)), x, zero],
        }
    }

    /// The product of two tensors, summed over their common indices.
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
        let mut entries = SortedMap::new();
        for (at_a, &x) in &a.entries {
            for (at_b, &y) in &b.entries {
                if shared.iter().any(|&(i, j, _)| at_a[i] != at_b[j]) {
                    continue;
                }
                let signs = shared.iter().filter(|s| s.2);
                let sign: f64 = signs.map(|s| METRIC[usize::from(at_a[s.0])]).product();
                let mut value = self.mul(x, y);
                if sign < 0.0 {
                    value = self.neg(value);
                }
                let mut at: Vec<u8> = free_a.iter().map(|&i| at_a[i]).collect();
                at.extend(free_b.iter().map(|&i| at_b[i]));
                self.add(&mut entries, at, value);
            }
        }
        Tensor { indices, entries }
    }

    /// Adds to an entry.
    pub fn add(&mut self, entries: &mut SortedMap<Vec<u8>, ValueId>, at: Vec<u8>, value: ValueId) {
        let sum = match entries.get(&at) {
            Some(&before) => self.plus(before, value),
            None => value,
        };
        entries.insert(at, sum);
    }
}
