//! Simplification of vector Lorentz structures by momentum conservation.
//!
//! Operators of dimension six have terms that are equal, or zero, only because momenta are conserved and `Epsilon` is
//! antisymmetric. Here, terms are products of scalar products and `Epsilon`s of the legs' indices and momenta in a
//! unique order, so that equal terms are recognised, and those with the same momentum twice in an `Epsilon` vanish.

use super::lorentz::{Structure, Tensor, TensorKind, TensorTerm};
use mebridge_support::sorted::SortedMap;
use num_complex::Complex64;

/// Most intermediate terms of a structure.
const MAX_TERMS: usize = 4000;

/// An argument of a scalar product or `Epsilon`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Contracted {
    /// The index of a leg.
    Index(i32),
    /// The outgoing momentum of a leg.
    Momentum(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    Dot([Contracted; 2]),
    Epsilon([Contracted; 4]),
}

impl Factor {
    fn contracted(&mut self) -> &mut [Contracted] {
        match self {
            Factor::Dot(contracted) => contracted,
            Factor::Epsilon(contracted) => contracted,
        }
    }

    /// Sorts the arguments. Returns the sign of the permutation, or 0 if the factor is zero.
    fn order(&mut self) -> f64 {
        let antisymmetric = matches!(self, Factor::Epsilon(_));
        let contracted = self.contracted();
        let mut sign = 1.0;
        for end in (1..contracted.len()).rev() {
            for at in 0..end {
                if contracted[at] > contracted[at + 1] {
                    contracted.swap(at, at + 1);
                    sign = -sign;
                }
            }
        }
        match antisymmetric {
            true if contracted.windows(2).any(|pair| pair[0] == pair[1]) => 0.0,
            true => sign,
            false => 1.0,
        }
    }
}

/// Collects the terms of a structure of a vertex with `legs` legs; the momentum of leg `without` is replaced by minus
/// the sum of the others. `None` if there are tensors other than those of vectors, or too many terms.
pub fn collected(structure: &Structure, legs: u8, without: Option<u8>) -> Option<Structure> {
    let mut sum: SortedMap<Vec<Factor>, (Complex64, f64)> = SortedMap::new();
    let mut count = 0;
    for term in &structure.terms {
        let mut products = vec![(factors(term)?, term.factor)];
        while let Some((mut product, mut number)) = products.pop() {
            count += 1;
            if count > MAX_TERMS {
                return None;
            }
            let gone =
                |one: &Contracted| without.is_some_and(|leg| *one == Contracted::Momentum(leg));
            let at = product
                .iter_mut()
                .position(|f| f.contracted().iter().any(gone));
            if let Some(at) = at {
                let place = product[at].contracted().iter().position(gone)?;
                for leg in (1..=legs).filter(|&leg| Some(leg) != without) {
                    product[at].contracted()[place] = Contracted::Momentum(leg);
                    products.push((product.clone(), -number));
                }
                continue;
            }
            for factor in &mut product {
                number *= factor.order();
            }
            product.sort();
            let entry = sum.entry(product).or_default();
            entry.0 += number;
            entry.1 += number.norm();
        }
    }
    // Drop rounding errors of vanishing sums.
    let left = sum
        .into_iter()
        .filter(|(_, (number, size))| number.norm() > 1e-13 * size);
    let terms = left.map(|(product, (factor, _))| TensorTerm {
        factor,
        tensors: tensors(&product),
    });
    Some(Structure {
        terms: terms.collect(),
    })
}

fn factors(term: &TensorTerm) -> Option<Vec<Factor>> {
    let tensors = &term.tensors;
    let with = |index: i32, but: usize| {
        let mut others = tensors.iter().enumerate();
        others.find(|&(n, other)| n != but && other.indices.contains(&index))
    };
    let of_index = |index: i32, of: usize| match (index, with(index, of)) {
        (1.., _) => Some(Contracted::Index(index)),
        (_, Some((_, other))) => match other.kind {
            TensorKind::Momentum(leg) => Some(Contracted::Momentum(leg)),
            _ => None,
        },
        _ => None,
    };
    let mut factors = Vec::new();
    for (n, tensor) in tensors.iter().enumerate() {
        match (tensor.kind, &tensor.indices[..]) {
            (TensorKind::Momentum(leg), &[index]) => {
                let own = Contracted::Momentum(leg);
                match with(index, n) {
                    _ if index > 0 => factors.push(Factor::Dot([Contracted::Index(index), own])),
                    Some((m, other)) => {
                        // A product of two momenta is added once; other momenta are part of the tensor that contains
                        // them.
                        if let TensorKind::Momentum(leg) = other.kind
                            && n < m
                        {
                            factors.push(Factor::Dot([own, Contracted::Momentum(leg)]));
                        }
                    }
                    None => return None,
                }
            }
            (TensorKind::Metric, &[a, b]) => {
                factors.push(Factor::Dot([of_index(a, n)?, of_index(b, n)?]));
            }
            (TensorKind::Epsilon, &[a, b, c, d]) => {
                let contracted = [
                    of_index(a, n)?,
                    of_index(b, n)?,
                    of_index(c, n)?,
                    of_index(d, n)?,
                ];
                factors.push(Factor::Epsilon(contracted));
            }
            _ => return None,
        }
    }
    Some(factors)
}

fn tensors(product: &[Factor]) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    let mut summed = 0;
    let momentum = |leg: u8, index: i32| Tensor {
        kind: TensorKind::Momentum(leg),
        indices: vec![index],
    };
    for factor in product {
        match *factor {
            Factor::Dot([Contracted::Index(a), Contracted::Momentum(leg)]) => {
                tensors.push(momentum(leg, a))
            }
            Factor::Dot(contracted) => {
                let indices = indices(&contracted, &mut summed);
                match contracted {
                    [Contracted::Momentum(a), Contracted::Momentum(b)] => {
                        // Both share the first index.
                        tensors.push(momentum(a, indices[0]));
                        tensors.push(momentum(b, indices[0]));
                    }
                    _ => tensors.push(Tensor {
                        kind: TensorKind::Metric,
                        indices,
                    }),
                }
            }
            Factor::Epsilon(contracted) => {
                let indices = indices(&contracted, &mut summed);
                for (one, &index) in contracted.iter().zip(&indices) {
                    if let Contracted::Momentum(leg) = *one {
                        tensors.push(momentum(leg, index));
                    }
                }
                tensors.push(Tensor {
                    kind: TensorKind::Epsilon,
                    indices,
                });
            }
        }
    }
    tensors
}

/// The indices of the arguments, new ones for momenta.
fn indices(contracted: &[Contracted], summed: &mut i32) -> Vec<i32> {
    let index = |one: &Contracted| match *one {
        Contracted::Index(index) => index,
        Contracted::Momentum(_) => {
            *summed -= 1;
            *summed
        }
    };
    contracted.iter().map(index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(text: &str) -> Structure {
        Structure::read(text).unwrap()
    }

    /// Numbers of terms left, with all momenta and without that of the third leg.
    fn left(text: &str) -> [usize; 2] {
        [None, Some(3)].map(|without| {
            let collected = collected(&structure(text), 3, without).unwrap();
            collected.check(&[3, 3, 3]).unwrap_or_else(|what| {
                assert!(collected.terms.is_empty(), "{text}: {what}");
            });
            collected.terms.len()
        })
    }

    #[test]
    fn equal_terms_meet_and_vanishing_ones_go() {
        // The sum of all momenta is zero.
        let total = "Epsilon(1,2,3,-1)*(P(-1,1) + P(-1,2) + P(-1,3))";
        assert_eq!(left(total), [3, 0]);
        // Three momenta of which two are independent.
        let three = "Epsilon(3,-1,-2,-3)*P(-1,1)*P(-2,2)*P(-3,3)*Metric(1,2)";
        assert_eq!(left(three), [1, 0]);
        let twice = "Epsilon(3,1,-1,-2)*P(-1,1)*P(-2,1)*P(2,3)";
        assert_eq!(left(twice), [0, 0]);
        let opposite = "Epsilon(1,2,3,-1)*P(-1,1) + Epsilon(2,1,3,-9)*P(-9,1)";
        assert_eq!(left(opposite), [0, 0]);
        let equal = "Metric(1,2)*P(3,1)*P(-1,1)*P(-1,2) + P(-4,2)*P(-4,1)*Metric(2,1)*P(3,1)";
        assert_eq!(left(equal), [1, 1]);
        // P(-1,3)*P(-1,3) is three products of the other two momenta.
        assert_eq!(left("Metric(1,2)*P(3,1)*P(-1,3)*P(-1,3)"), [1, 3]);
    }

    #[test]
    fn other_tensors_are_left_alone() {
        for text in [
            "Gamma(3,2,1)",
            "Metric(1,-1)*Metric(-1,2)*P(3,1)",
            "Epsilon(1,2,-1,-2)*Epsilon(3,-1,-2,-3)*P(-3,1)",
        ] {
            assert!(collected(&structure(text), 3, Some(3)).is_none(), "{text}");
        }
    }
}
