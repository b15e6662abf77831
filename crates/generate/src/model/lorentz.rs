//! Lorentz structures as sums of products of tensors.
//!
//! Conventions: a positive index is that of a leg of the vertex (from 1), a negative one is summed over. All Lorentz
//! indices are upper ones; sums over two of them include the metric. `P(mu, k)` is the outgoing momentum of leg `k`. Of
//! two fermions, the first one flows in.

use super::expression::{BinaryOperator, Expr, parse_terms};
use num_complex::Complex64;

/// A sum of products.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Its terms.
    pub terms: Vec<TensorTerm>,
}

/// A number times tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorTerm {
    /// The number.
    pub factor: Complex64,
    /// The tensors.
    pub tensors: Vec<Tensor>,
}

/// A tensor with its indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The kind of tensor.
    pub kind: TensorKind,
    /// Its indices, without the leg of a momentum.
    pub indices: Vec<i32>,
}

/// The supported tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorKind {
    /// `Gamma(mu, i, j)`.
    Gamma,
    /// `Gamma5(i, j)`.
    Gamma5,
    /// `ProjM(i, j) = (1 - gamma5) / 2`.
    ProjM,
    /// `ProjP(i, j) = (1 + gamma5) / 2`.
    ProjP,
    /// `Identity(i, j)` of spinors.
    Identity,
    /// `Sigma(mu, nu, i, j) = i/4 [gamma^mu, gamma^nu]`.
    Sigma,
    /// `Metric(mu, nu)`.
    Metric,
    /// `Epsilon(mu, nu, rho, sigma)`, with `Epsilon(0, 1, 2, 3) = -1`.
    Epsilon,
    /// `P(mu, leg)`; in a propagator leg 0 is its own, `id`.
    Momentum(u8),
    /// `C(i, j)`: charge conjugation.
    C,
    /// `Mass(id)`, `Width(id)`.
    Mass,
    #[allow(missing_docs)]
    Width,
    /// `OverMass2(id)`: 1 over the squared mass; 0 if massless.
    OverMass2,
    /// `PVec(mu, id)`, `PT(mu, id)`: the three-momentum of a propagator, and its transverse part.
    SpaceMomentum,
    #[allow(missing_docs)]
    TransverseMomentum,
    /// `EPSL(mu, id)`, `EPST1(mu, id)`, `EPST2(mu, id)`: the polarisation directions of a vector with this momentum,
    /// not normalised.
    Longitudinal,
    #[allow(missing_docs)]
    FirstTransverse,
    #[allow(missing_docs)]
    SecondTransverse,
}

impl TensorKind {
    /// Numbers of Lorentz indices, which come first, and of spinor indices, which follow.
    pub fn indices(self) -> (usize, usize) {
        match self {
            TensorKind::Gamma => (1, 2),
            TensorKind::Gamma5
            | TensorKind::ProjM
            | TensorKind::ProjP
            | TensorKind::Identity
            | TensorKind::C => (0, 2),
            TensorKind::Mass | TensorKind::Width | TensorKind::OverMass2 => (0, 0),
            TensorKind::SpaceMomentum
            | TensorKind::TransverseMomentum
            | TensorKind::Longitudinal
            | TensorKind::FirstTransverse
            | TensorKind::SecondTransverse => (1, 0),
            TensorKind::Sigma => (2, 2),
            TensorKind::Metric => (2, 0),
            TensorKind::Epsilon => (4, 0),
            TensorKind::Momentum(_) => (1, 0),
        }
    }
}

/// Most terms of a structure.
const MAX_TERMS: usize = 1000;

/// The indices of leg n with spin 2 are n + 1000 and n + 2000.
pub const SPIN_2: i32 = 1000;

/// The indices of a leg of this spin (2s + 1), and whether each is a Lorentz index.
pub fn indices_of(leg: i32, spin: u8) -> Vec<(i32, bool)> {
    match spin {
        2 => vec![(leg, false)],
        3 => vec![(leg, true)],
        4 => vec![(leg, true), (leg, false)],
        5 => vec![(leg + SPIN_2, true), (leg + 2 * SPIN_2, true)],
        _ => Vec::new(),
    }
}

impl Structure {
    /// Parses a structure, and expands it. Operators of dimension eight have hundreds of terms.
    pub fn read(text: &str) -> Result<Structure, String> {
        let mut all = Vec::new();
        for (negative, term) in parse_terms(text)? {
            let sign = if negative { -1.0 } else { 1.0 };
            all.extend(scaled(terms(&term, false)?, sign.into()));
            if all.len() > MAX_TERMS {
                return Err(format!("more than {MAX_TERMS} terms"));
            }
        }
        Ok(Structure { terms: all })
    }

    /// Reverses fermion lines that are written backwards, from the fermion that flows out to the one that flows in:
    /// `M(1,2)` is `C M^T C^-1 (2,1)`, where vectors and `Sigma` change sign.
    pub fn forward(mut self) -> Structure {
        self.terms.iter_mut().for_each(TensorTerm::turn_lines);
        self
    }

    /// Reads the structure of a propagator, which may contain `id`, `Mass` and others.
    pub fn of_propagator(expr: &Expr) -> Result<Structure, String> {
        let terms = terms(expr, true)?;
        Ok(Structure { terms })
    }

    /// Checks that the indices are those of legs with these spins (2s + 1).
    pub fn check(&self, spins: &[u8]) -> Result<(), String> {
        let legs = (1..)
            .zip(spins)
            .flat_map(|(leg, &spin)| indices_of(leg, spin));
        let legs: Vec<(i32, bool)> = legs.collect();
        for term in &self.terms {
            let mut seen: Vec<(i32, bool)> = Vec::new();
            for tensor in &term.tensors {
                if let TensorKind::Momentum(leg) = tensor.kind
                    && usize::from(leg) > spins.len()
                {
                    return Err(format!("there is no leg {leg} for a momentum"));
                }
                let lorentz = tensor.kind.indices().0;
                let indices = tensor.indices.iter().enumerate();
                seen.extend(indices.map(|(i, &index)| (index, i < lorentz)));
            }
            // Lorentz and spinor indices with the same number are unrelated.
            for index in &seen {
                let times = seen.iter().filter(|i| *i == index).count();
                let good = match index.0 {
                    ..0 => times == 2,
                    _ => times == 1 && legs.contains(index),
                };
                if !good {
                    return Err(format!("index {} does not fit the particles", index.0));
                }
            }
            if let Some((index, _)) = legs.iter().find(|index| !seen.contains(index)) {
                return Err(format!("there is no index of leg {}", index % SPIN_2));
            }
        }
        Ok(())
    }
}

impl TensorTerm {
    fn turn_lines(&mut self) {
        let ends = |tensor: &Tensor| match tensor.indices[..] {
            [.., to, from] if tensor.kind.indices().1 == 2 => Some((to, from)),
            _ => None,
        };
        // Legs alternate between fermions that flow in and out.
        let starts = self.tensors.iter().filter_map(ends).map(|(to, _)| to);
        let starts: Vec<i32> = starts.filter(|&to| to > 0 && to % 2 == 1).collect();
        for start in starts {
            let (mut line, mut at) = (Vec::new(), start);
            while let Some(next) = (0..self.tensors.len()).find(|&n| {
                !line.contains(&n) && ends(&self.tensors[n]).is_some_and(|(to, _)| to == at)
            }) {
                line.push(next);
                at = ends(&self.tensors[next]).map_or(0, |(_, from)| from);
            }
            let known = |&n: &usize| self.tensors[n].kind != TensorKind::C;
            if at > 0 && at % 2 == 0 && line.iter().all(known) {
                for n in line {
                    let tensor = &mut self.tensors[n];
                    let count = tensor.indices.len();
                    tensor.indices.swap(count - 1, count - 2);
                    if matches!(tensor.kind, TensorKind::Gamma | TensorKind::Sigma) {
                        self.factor = -self.factor;
                    }
                }
            }
        }
    }
}

/// Expands an expression into terms; `own` if it is part of a propagator.
fn terms(expr: &Expr, own: bool) -> Result<Vec<TensorTerm>, String> {
    let number = |factor: Complex64| {
        vec![TensorTerm {
            factor,
            tensors: Vec::new(),
        }]
    };
    let of = |expr: &Expr| terms(expr, own);
    Ok(match expr {
        Expr::Number(x) => number((*x).into()),
        Expr::Name(name) => return Err(format!("`{name}` has no meaning in a Lorentz structure")),
        Expr::Neg(a) => scaled(of(a)?, (-1.0).into()),
        Expr::Binary(BinaryOperator::Add, a, b) => [of(a)?, of(b)?].concat(),
        Expr::Binary(BinaryOperator::Sub, a, b) => [of(a)?, scaled(of(b)?, (-1.0).into())].concat(),
        Expr::Binary(BinaryOperator::Mul, a, b) => product(&of(a)?, &of(b)?)?,
        Expr::Binary(BinaryOperator::Div, a, b) => match of(b)?.as_slice() {
            [TensorTerm { factor, tensors }] if tensors.is_empty() && factor.norm() > 0.0 => {
                scaled(of(a)?, factor.inv())
            }
            // `/ Mass(id)**2`.
            [TensorTerm { factor, tensors }]
                if factor.norm() > 0.0
                    && tensors.len() == 2
                    && tensors.iter().all(|t| t.kind == TensorKind::Mass) =>
            {
                let over = TensorTerm {
                    factor: factor.inv(),
                    tensors: vec![Tensor {
                        kind: TensorKind::OverMass2,
                        indices: Vec::new(),
                    }],
                };
                product(&of(a)?, &[over])?
            }
            _ => return Err("a Lorentz structure can be divided by numbers only".into()),
        },
        // An index that is summed over within a power is shared by its factors: `P(-1,1)**2`.
        Expr::Binary(BinaryOperator::Pow, a, b) => match b.integer() {
            Some(n @ 1..=8) => {
                let a = of(a)?;
                (1..n).try_fold(a.clone(), |all, _| product(&all, &a))?
            }
            _ => return Err("powers in a Lorentz structure are whole and small".into()),
        },
        Expr::Binary(..) | Expr::If(_) => {
            return Err("comparisons and choices have no meaning in a Lorentz structure".into());
        }
        Expr::Call(name, arguments) if name == "complex" => {
            let part = |argument: &Expr| match of(argument)?.as_slice() {
                [TensorTerm { factor, tensors }] if tensors.is_empty() => Ok(*factor),
                _ => Err("complex takes two numbers".to_owned()),
            };
            match arguments.as_slice() {
                [re, im] => number(part(re)? + part(im)? * Complex64::new(0.0, 1.0)),
                _ => return Err("complex takes two numbers".into()),
            }
        }
        Expr::Call(name, arguments) if name == "PSlash" => {
            let (first, second, leg) = match arguments.as_slice() {
                [first, second, leg] => (first, second, leg),
                _ => return Err("PSlash has two indices and a leg".into()),
            };
            let index = |expr: &Expr| expr.integer().ok_or("PSlash: an index is not a number");
            let (first, second) = (index(first)?, index(second)?);
            // A unique index, derived from the spinor indices, which are unique within a product.
            let summed = -100_000 - 1000 * first.rem_euclid(1000) - second.rem_euclid(1000);
            let gamma = Tensor {
                kind: TensorKind::Gamma,
                indices: vec![summed, first, second],
            };
            let momentum = Tensor {
                kind: momentum_of(leg, own)?,
                indices: vec![summed],
            };
            vec![TensorTerm {
                factor: 1.0.into(),
                tensors: vec![gamma, momentum],
            }]
        }
        Expr::Call(name, arguments) => vec![TensorTerm {
            factor: 1.0.into(),
            tensors: vec![tensor(name, arguments, own)?],
        }],
    })
}

fn product(a: &[TensorTerm], b: &[TensorTerm]) -> Result<Vec<TensorTerm>, String> {
    if a.len() * b.len() > MAX_TERMS {
        return Err(format!("more than {MAX_TERMS} terms"));
    }
    let product = |x: &TensorTerm, y: &TensorTerm| TensorTerm {
        factor: x.factor * y.factor,
        tensors: [x.tensors.clone(), y.tensors.clone()].concat(),
    };
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| product(x, y)));
    Ok(pairs.collect())
}

fn scaled(terms: Vec<TensorTerm>, by: Complex64) -> Vec<TensorTerm> {
    let scale = |term: TensorTerm| TensorTerm {
        factor: term.factor * by,
        ..term
    };
    terms.into_iter().map(scale).collect()
}

/// The momentum of a leg, or of a propagator.
fn momentum_of(leg: &Expr, own: bool) -> Result<TensorKind, String> {
    match (leg, leg.integer()) {
        (Expr::Name(name), _) if own && name == "id" => Ok(TensorKind::Momentum(0)),
        (_, Some(leg @ 1..=9)) if !own => Ok(TensorKind::Momentum(leg as u8)),
        _ => Err("P(mu, leg): the leg is not one of 1 to 9".into()),
    }
}

fn tensor(name: &str, arguments: &[Expr], own: bool) -> Result<Tensor, String> {
    let is_id = |e: &Expr| own && matches!(e, Expr::Name(name) if name == "id");
    let (arguments, kind) = match (name, arguments.split_last()) {
        ("P", Some((leg, rest))) => (rest, momentum_of(leg, own)?),
        (
            "Mass" | "Width" | "OverMass2" | "PVec" | "PT" | "EPSL" | "EPST1" | "EPST2",
            Some((id, rest)),
        ) if is_id(id) => {
            let kind = match name {
                "Mass" => TensorKind::Mass,
                "Width" => TensorKind::Width,
                "OverMass2" => TensorKind::OverMass2,
                "PVec" => TensorKind::SpaceMomentum,
                "PT" => TensorKind::TransverseMomentum,
                "EPSL" => TensorKind::Longitudinal,
                "EPST1" => TensorKind::FirstTransverse,
                _ => TensorKind::SecondTransverse,
            };
            (rest, kind)
        }
        _ => {
            let kind = match name {
                "Gamma" => TensorKind::Gamma,
                "Gamma5" => TensorKind::Gamma5,
                "ProjM" => TensorKind::ProjM,
                "ProjP" => TensorKind::ProjP,
                "Identity" => TensorKind::Identity,
                "Sigma" => TensorKind::Sigma,
                "Metric" => TensorKind::Metric,
                "Epsilon" => TensorKind::Epsilon,
                "C" => TensorKind::C,
                _ => {
                    return Err(format!(
                        "there is no tensor {name}; functions of momenta (form factors) cannot be generated"
                    ));
                }
            };
            (arguments, kind)
        }
    };
    let indices = arguments.iter().map(Expr::integer);
    let indices: Option<Vec<i32>> = indices.collect();
    let indices = indices.ok_or_else(|| format!("{name}: an index is not a number"))?;
    let (lorentz, spinor) = kind.indices();
    if indices.len() != lorentz + spinor {
        return Err(format!("{name} has {} indices", arguments.len()));
    }
    Ok(Tensor { kind, indices })
}
