//! Linear combinations with constant coefficients, as lists of terms without branches.
//!
//! Nearly all coefficients are 1, -1, i or -i: such terms are stored as addresses, sorted by coefficient. Any other
//! term adds `fr * x[re]` to the real and `fi * x[im]` to the imaginary part of a sum, where `re` and `im` are
//! addresses; for a factor of `i` they are swapped. A coefficient that is neither real nor imaginary needs two such
//! terms.

use super::Address;
use mebridge_process::{LinearMap, Term, TermSource};
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
    /// Address of the result (complex).
    pub address: Address,
    /// Numbers of terms with coefficients 1, -1, i and -i.
    pub units: [u32; 4],
    /// Number of other terms.
    pub terms: u32,
}

/// One term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SumTerm {
    /// Address of the number added to the real part.
    pub re: Address,
    /// Address of the number added to the imaginary part.
    pub im: Address,
    /// Factor for the real part.
    pub factor_re: f64,
    /// Factor for the imaginary part.
    pub factor_im: f64,
}

impl Sums {
    /// Makes the sums of a map, given the addresses of amplitudes, partial sums and results.
    pub fn new(
        map: &LinearMap,
        amplitude: impl Fn(u32) -> Address,
        partial: impl Fn(u32) -> Address,
        output: impl Fn(u32) -> Address,
    ) -> Sums {
        let partial_sums = map.partial.iter().zip(0..);
        let partial_sums =
            partial_sums.map(|(terms, i)| Long::new(terms, partial(i), &amplitude, &partial));
        let outputs = map.outputs.iter().zip(0..);
        let outputs = outputs.map(|(terms, i)| Long::new(terms, output(i), &amplitude, &partial));
        let mut outputs: Vec<Long> = outputs.collect();
        // Nothing depends on outputs, so sums of the same shape are grouped to make loop lengths predictable.
        outputs.sort_by_key(Long::shape);
        let mut sums = Sums::default();
        for long in partial_sums.chain(outputs) {
            let (units, terms) = long.shape();
            sums.sums.push(Sum {
                address: long.address,
                units,
                terms,
            });
            sums.units.extend(long.units.iter().flatten());
            sums.terms.extend(long.terms);
        }
        sums
    }

    /// Number of terms of all sums.
    pub fn len(&self) -> usize {
        self.units.len() + self.terms.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A sum with its terms.
struct Long {
    address: Address,
    units: [Vec<Address>; 4],
    terms: Vec<SumTerm>,
}

impl Long {
    fn new(
        terms: &[Term],
        address: Address,
        amplitude: &impl Fn(u32) -> Address,
        partial: &impl Fn(u32) -> Address,
    ) -> Self {
        let mut long = Long {
            address,
            units: Default::default(),
            terms: Vec::new(),
        };
        for term in terms {
            let x = match term.source {
                TermSource::Amplitude(i) => amplitude(i),
                TermSource::Partial(i) => partial(i),
            };
            let (re, im) = term.factor;
            match (re, im) {
                (1.0, 0.0) => long.units[0].push(x),
                (-1.0, 0.0) => long.units[1].push(x),
                (0.0, 1.0) => long.units[2].push(x),
                (0.0, -1.0) => long.units[3].push(x),
                _ => long.terms.extend(general(x, re, im)),
            }
        }
        long
    }

    /// Numbers of terms of each kind.
    fn shape(&self) -> ([u32; 4], u32) {
        let units = [0, 1, 2, 3].map(|k: usize| self.units[k].len() as u32);
        (units, self.terms.len() as u32)
    }
}

/// The terms for a coefficient times the number at an address.
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
