//! Lorentz structures as sums of products of tensors.
//!
//! Conventions: a positive index is that of a leg of the vertex (from 1), a negative one is summed over. All Lorentz
//! indices are upper ones, a sum over two of them goes with the metric. `P(mu, k)` is the momentum that goes out along
//! leg `k`. The first leg of two fermions is the one that flows in.

use super::expression::{Binary, Expr};
use num_complex::Complex64;

/// A sum of products.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Its terms.
    pub terms: Vec<Term>,
}

/// A number times tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The number.
    pub factor: Complex64,
    /// The tensors.
    pub tensors: Vec<Tensor>,
}

/// A tensor with its indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Which.
    pub kind: TensorKind,
    /// Its indices, without the leg of a momentum.
    pub indices: Vec<i32>,
}

/// Tensors that are known.
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
    /// `P(mu, leg)`.
    Momentum(u8),
}

impl TensorKind {
    /// How many of its indices, the first ones, are Lorentz indices, and how many spinor indices follow.
    pub fn indices(self) -> (usize, usize) {
        match self {
            TensorKind::Gamma => (1, 2),
            TensorKind::Gamma5 | TensorKind::ProjM | TensorKind::ProjP | TensorKind::Identity => {
                (0, 2)
            }
            TensorKind::Sigma => (2, 2),
            TensorKind::Metric => (2, 0),
            TensorKind::Epsilon => (4, 0),
            TensorKind::Momentum(_) => (1, 0),
        }
    }
}

/// Terms of one structure.
const MOST_TERMS: usize = 1000;

impl Structure {
    /// Multiplies an expression out.
    pub fn of(expr: &Expr) -> Result<Structure, String> {
        let terms = terms(expr)?;
        Ok(Structure { terms })
    }

    /// Whether the indices are those of legs of these spins (2s + 1).
    pub fn check(&self, spins: &[u8]) -> Result<(), String> {
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
            for &(index, lorentz) in &seen {
                let times = seen.iter().filter(|(i, _)| *i == index).count();
                let same = seen.iter().all(|&(i, l)| i != index || l == lorentz);
                let good = match index {
                    ..0 => times == 2 && same,
                    0 => false,
                    _ => {
                        let spin = spins.get(index as usize - 1);
                        times == 1 && spin == Some(if lorentz { &3 } else { &2 })
                    }
                };
                if !good {
                    return Err(format!("index {index} does not fit the particles"));
                }
            }
            for (leg, &spin) in (1..).zip(spins) {
                if spin != 1 && !seen.iter().any(|(i, _)| *i == leg) {
                    return Err(format!("there is no index of leg {leg}"));
                }
            }
        }
        Ok(())
    }
}

fn terms(expr: &Expr) -> Result<Vec<Term>, String> {
    let number = |factor: Complex64| {
        vec![Term {
            factor,
            tensors: Vec::new(),
        }]
    };
    Ok(match expr {
        Expr::Number(x) => number((*x).into()),
        Expr::Name(name) => return Err(format!("`{name}` has no meaning in a Lorentz structure")),
        Expr::Neg(a) => scaled(terms(a)?, (-1.0).into()),
        Expr::Binary(Binary::Add, a, b) => [terms(a)?, terms(b)?].concat(),
        Expr::Binary(Binary::Sub, a, b) => [terms(a)?, scaled(terms(b)?, (-1.0).into())].concat(),
        Expr::Binary(Binary::Mul, a, b) => {
            let (a, b) = (terms(a)?, terms(b)?);
            if a.len() * b.len() > MOST_TERMS {
                return Err(format!("more than {MOST_TERMS} terms"));
            }
            let product = |x: &Term, y: &Term| Term {
                factor: x.factor * y.factor,
                tensors: [x.tensors.clone(), y.tensors.clone()].concat(),
            };
            let pairs = a.iter().flat_map(|x| b.iter().map(move |y| product(x, y)));
            pairs.collect()
        }
        Expr::Binary(Binary::Div, a, b) => match terms(b)?.as_slice() {
            [Term { factor, tensors }] if tensors.is_empty() && factor.norm() > 0.0 => {
                scaled(terms(a)?, factor.inv())
            }
            _ => return Err("a Lorentz structure can be divided by numbers only".into()),
        },
        Expr::Binary(..) | Expr::If(_) => {
            return Err("powers and choices have no meaning in a Lorentz structure".into());
        }
        Expr::Call(name, arguments) if name == "complex" => {
            let part = |argument: &Expr| match terms(argument)?.as_slice() {
                [Term { factor, tensors }] if tensors.is_empty() => Ok(*factor),
                _ => Err("complex takes two numbers".to_owned()),
            };
            match arguments.as_slice() {
                [re, im] => number(part(re)? + part(im)? * Complex64::new(0.0, 1.0)),
                _ => return Err("complex takes two numbers".into()),
            }
        }
        Expr::Call(name, arguments) => vec![Term {
            factor: 1.0.into(),
            tensors: vec![tensor(name, arguments)?],
        }],
    })
}

fn scaled(terms: Vec<Term>, by: Complex64) -> Vec<Term> {
    let scale = |term: Term| Term {
        factor: term.factor * by,
        ..term
    };
    terms.into_iter().map(scale).collect()
}

fn tensor(name: &str, arguments: &[Expr]) -> Result<Tensor, String> {
    let indices = arguments.iter().map(Expr::integer).collect();
    let indices: Option<Vec<i32>> = indices;
    let mut indices = indices.ok_or_else(|| format!("{name}: an index is no number"))?;
    let kind = match name {
        "Gamma" => TensorKind::Gamma,
        "Gamma5" => TensorKind::Gamma5,
        "ProjM" => TensorKind::ProjM,
        "ProjP" => TensorKind::ProjP,
        "Identity" => TensorKind::Identity,
        "Sigma" => TensorKind::Sigma,
        "Metric" => TensorKind::Metric,
        "Epsilon" => TensorKind::Epsilon,
        "P" => match indices.pop() {
            Some(leg @ 1..=4) => TensorKind::Momentum(leg as u8),
            _ => return Err("P(mu, leg): the leg is not one of 1 to 4".into()),
        },
        _ => return Err(format!("there is no tensor {name}")),
    };
    let (lorentz, spinor) = kind.indices();
    if indices.len() != lorentz + spinor {
        return Err(format!("{name} has {} indices", arguments.len()));
    }
    Ok(Tensor { kind, indices })
}
