//! Linear combinations with constant coefficients, as a list of terms without branches.
//!
//! A term adds `fr * x[re]` to the real and `fi * x[im]` to the imaginary part of a sum, where
//! `re` and `im` are addresses: a factor of `i` merely swaps them. A coefficient that is neither
//! real nor imaginary takes two terms.

use super::Address;
use crate::process::{LinearMap, Source};

/// Sums in an order in which each uses only earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Where each sum goes (complex), and how many terms it has.
    pub sums: Vec<(Address, u32)>,
    /// The terms of all sums, one sum after the other.
    pub terms: Vec<SumTerm>,
}

/// One term of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
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
            for term in terms {
                let x = match term.source {
                    Source::Amplitude(i) => amplitude(i),
                    Source::Partial(i) => partial(i),
                };
                let (re, im) = term.factor;
                if re != 0.0 {
                    sums.terms.push(SumTerm {
                        re: x,
                        im: x + 1,
                        factor_re: re,
                        factor_im: re,
                    });
                }
                if im != 0.0 {
                    sums.terms.push(SumTerm {
                        re: x + 1,
                        im: x,
                        factor_re: -im,
                        factor_im: im,
                    });
                }
            }
            sums.sums
                .push((address, (sums.terms.len() - before) as u32));
        }
        sums
    }
}
