//! Colour flows by recursion, without diagrams.
//!
//! A process has this form if its coloured legs are gluons and at most one quark and antiquark. One line runs from one
//! *end* to the other: the quark line, or a gluon line. The other gluons are *inserted* along it in every order. Only
//! neighbouring gluon currents contribute to the amplitude of an order (Berends and Giele, Nucl. Phys. B306 (1988)
//! 759):
//!
//! * gluon current `J(1..k) = sum of V3(J(1..j), J(j+1..k)) + sum of V4(J(1..i), J(i+1..j), J(j+1..k))`;
//! * current of the line `L(1..k) = sum of V(L(1..j), J(j+1..k))`, or the same as a gluon current if the line is a
//!   gluon line;
//! * JAMP of an order: the current of the line with all insertions, without its propagator, times the wavefunction of
//!   the second end.
//!
//! A massless quark line may also absorb one colour-singlet vector (a *boson*: Z, W, photon) at any place along it.
//! Colour does not change, and the line has two currents, with and without the boson. In place of the vector there may
//! be two massless fermions (a lepton pair), which annihilate into one vector, or one of several: the line then absorbs
//! the sum.
//!
//! The colour matrix depends only on the order of one JAMP relative to the other: `C(s, t) = row(s^-1 t)`.

mod evaluate;
pub mod traces;
mod validate;

use super::{CouplingRef, Quantity};
use serde::{Deserialize, Serialize};

/// Most insertions; the number of JAMPs is the factorial of their number.
pub const MAX_INSERTIONS: usize = 7;

/// The recursion for the JAMPs of a process. JAMPs are numbered by their insertion order, lexicographically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColorOrdered {
    /// The wavefunctions (indices into [`super::Process::wavefunctions`]) at the ends of the line.
    pub ends: [u32; 2],
    /// The wavefunctions of the insertions, by ascending legs.
    pub insertions: Vec<u32>,
    /// The vertex of a line current and a gluon current; `None` if the line is a gluon line.
    pub line: Option<OrderedVertex>,
    /// The vertex of two gluon currents.
    pub three_gluon: OrderedVertex,
    /// The vertices of three gluon currents.
    pub four_gluon: Vec<OrderedVertex>,
    /// The colour-singlet vector that the line absorbs, or the fermion pair in its place.
    pub boson: Option<Boson>,
    /// The factor of the vertex at the second end, relative to that of a current.
    pub closing: f64,
    /// The first row of the colour matrix of the JAMPs, times `denominator`.
    pub row: Vec<f64>,
    /// The denominator of `row`.
    pub denominator: f64,
    /// The JAMPs whose signed sum is each colour flow; empty if the JAMPs are the colour flows.
    pub flows: Vec<Vec<FlowTerm>>,
}

/// A colour-singlet vector that a massless quark line absorbs once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boson {
    /// The wavefunction of the vector, or those of the two massless fermions in its place.
    pub wavefunctions: Vec<u32>,
    /// The possible vectors; two fermions may annihilate into several.
    pub vectors: Vec<Exchange>,
}

/// The vertices that create a vector and absorb it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The vertex at which two fermions annihilate into the vector; `None` if the vector is external.
    pub made: Option<OrderedVertex>,
    /// The vertex of a line current, from its first end on, and the vector.
    pub taken: OrderedVertex,
}

/// A JAMP as a term of a colour flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowTerm {
    /// Number of the JAMP.
    pub jamp: u32,
    /// Whether it is subtracted.
    pub minus: bool,
}

/// A vertex of neighbouring currents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderedVertex {
    /// Index into [`super::Process::routines`]: the routine that returns the resulting current.
    pub routine: u32,
    /// The neighbour, from 0, that each argument of the routine takes.
    pub inputs: Vec<u8>,
    /// The couplings, in the routine's order.
    pub couplings: Vec<CouplingRef>,
    /// Mass of the resulting current.
    pub mass: Quantity,
    /// Width of the resulting current.
    pub width: Quantity,
    /// Colour factor, real and imaginary part.
    pub factor: (f64, f64),
}

impl ColorOrdered {
    /// Number of JAMPs.
    pub fn jamps(&self) -> usize {
        (1..=self.insertions.len()).product()
    }
}

/// Returns all permutations of `0..count`, in lexicographic order.
pub fn orders(count: usize) -> Vec<Vec<u8>> {
    parts(count, count)
}

/// Returns all ordered selections of `size` elements of `0..count`, in lexicographic order.
pub fn parts(count: usize, size: usize) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..size {
        let longer = |order: &Vec<u8>| {
            let free = (0..count as u8).filter(|x| !order.contains(x));
            let longer = free.map(|x| [order.as_slice(), &[x]].concat());
            longer.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Returns the lexicographic rank of a permutation; of any list of distinct numbers, that of their relative order.
pub fn number_of(order: &[u8]) -> usize {
    let count = order.len();
    let smaller = |i: usize| order[i + 1..].iter().filter(|x| **x < order[i]).count();
    (0..count).fold(0, |number, i| number * (count - i) + smaller(i))
}

/// Expands the current of an order in the Kleiss-Kuijf basis, the orders with the smallest element first: the orders to
/// be summed, and whether the sum is negated (Kleiss and Kuijf, Nucl. Phys. B312 (1989) 616): `J(a, 1, b) = (-1)^|a|
/// sum of J(1, s)` over all shuffles `s` of `a` backwards with `b`.
pub fn shuffles(order: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let least = (0..order.len()).min_by_key(|&i| order[i]).unwrap_or(0);
    let before: Vec<u8> = order[..least].iter().rev().copied().collect();
    let behind = order.get(least + 1..).unwrap_or(&[]);
    let start = order.get(least).copied().into_iter().collect();
    let mut all = Vec::new();
    shuffle(start, &before, behind, &mut all);
    (all, least % 2 == 1)
}

fn shuffle(start: Vec<u8>, a: &[u8], b: &[u8], all: &mut Vec<Vec<u8>>) {
    let with = |x: u8| [start.as_slice(), &[x]].concat();
    if let Some((&first, rest)) = a.split_first() {
        shuffle(with(first), rest, b, all);
    }
    if let Some((&first, rest)) = b.split_first() {
        shuffle(with(first), a, rest, all);
    }
    if a.is_empty() && b.is_empty() {
        all.push(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_numbered() {
        let all = orders(4);
        assert_eq!((all.len(), &all[1][..]), (24, &[0, 1, 3, 2][..]));
        for (number, order) in all.iter().enumerate() {
            assert_eq!(number_of(order), number);
        }
        assert_eq!(number_of(&[9, 3, 5]), 4);
        assert_eq!(orders(0), [Vec::<u8>::new()]);
    }

    #[test]
    fn shuffles_have_the_smallest_first() {
        let (all, minus) = shuffles(&[3, 1, 2, 4]);
        assert_eq!(all, [[1, 3, 2, 4], [1, 2, 3, 4], [1, 2, 4, 3]]);
        assert!(minus);
        assert_eq!(shuffles(&[1, 3, 2]), (vec![vec![1, 3, 2]], false));
    }
}
