//! Linear combinations with constant coefficients, as lists of terms without branches.
//!
//! Nearly all coefficients are 1, -1, i or -i: such terms are mere addresses, sorted by
//! coefficient. Any other term adds `fr * x[re]` to the real and `fi * x[im]` to the imaginary
//! part of a sum, where `re` and `im` are addresses: a factor of `i` merely swaps them. A
//! coefficient that is neither real nor imaginary takes two of these.

use super::Address;
use crate::process::{LinearMap, Source};
use serde::{Deserialize, Serialize};

/// Sums in an order in which each uses only earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// The sums.
    pub sums: Vec<Sum>,
    /// Addresses of the terms with unit coefficients, one sum after the other.
    pub units: Vec<Address>,
    /// The other terms, one sum after the other.
    pub terms: Vec<SumTerm>,
}

/// One sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Where it goes (complex).
    pub address: Address,
    /// How many terms it has with coefficients 1, -1, i and -i.
    pub units: [u32; 4],
    /// How many other ones.
    pub terms: u32,
}

/// One term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SumTerm {
    /// Address of the number that goes into the real part.
    pub re: Address,
    /// Address of the number that goes into the imaginary part.
    pub im: Address,
    /// Its factor in the real part.
    pub factor_re: f64,
    /// Its factor in the imaginary part.
    pub factor_im: f64,
}

impl Sums {
    /// The sums of a map, with given addresses for amplitudes, partial sums and results.
    pub fn new(
        map: &LinearMap,
        amplitude: impl Fn(u32) -> Address,
        partial: impl Fn(u32) -> Address,
        output: impl Fn(u32) -> Address,
    ) -> Sums {
        let mut sums = Sums::default();
        let all = map
            .partial
            .iter()
            .enumerate()
            .map(|(i, terms)| (partial(i as u32), terms))
            .chain(
                map.outputs
                    .iter()
                    .enumerate()
                    .map(|(i, terms)| (output(i as u32), terms)),
            );
        for (address, terms) in all {
            let before = sums.terms.len();
            let mut units: [Vec<Address>; 4] = Default::default();
            for term in terms {
                let x = match term.source {
                    Source::Amplitude(i) => amplitude(i),
                    Source::Partial(i) => partial(i),
                };
                let (re, im) = term.factor;
                match (re, im) {
                    (1.0, 0.0) => units[0].push(x),
                    (-1.0, 0.0) => units[1].push(x),
                    (0.0, 1.0) => units[2].push(x),
                    (0.0, -1.0) => units[3].push(x),
                    _ => sums.terms.extend(general(x, re, im)),
                }
            }
            sums.sums.push(Sum {
                address,
                units: [0, 1, 2, 3].map(|k: usize| units[k].len() as u32),
                terms: (sums.terms.len() - before) as u32,
            });
            sums.units.extend(units.iter().flatten());
        }
        sums
    }

    /// Number of terms of all sums.
    pub fn len(&self) -> usize {
        self.units.len() + self.terms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The terms of a coefficient times the number at an address.
fn general(x: Address, re: f64, im: f64) -> impl Iterator<Item = SumTerm> {
    let real = (re != 0.0).then_some(SumTerm {
        re: x,
        im: x + 1,
        factor_re: re,
        factor_im: re,
    });
    let imaginary = (im != 0.0).then_some(SumTerm {
        re: x + 1,
        im: x,
        factor_re: -im,
        factor_im: im,
    });
    real.into_iter().chain(imaginary)
}
