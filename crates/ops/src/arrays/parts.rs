//! Parts: the components of the payload of an operation on arrays.
//!
//! A payload in the table of operations is a list of parts. Each part describes what it reads and writes, when it is
//! valid, how it is printed, and what a GPU reads. Everything that is derived from the table uses these descriptions,
//! without knowing the kinds of operations.

use super::terms::{AddendTerm, ElementMap, Read, Written};
use super::{Operand, Pools};
use crate::Address;
use crate::opcode::{COMPLEX, FOUR, MOMENTUM, REAL};
use serde::{Deserialize, Serialize};
use std::fmt::Arguments;

/// A part of an operation's payload.
pub trait Part {
    /// Calls `visitor` for each term in the sum that makes up an element. `None` if the part refers to something that
    /// does not exist.
    fn terms(&self, _: &Pools, _visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        Some(())
    }

    /// Calls `visitor` with the addresses and numbers of vectors that are read once for all elements.
    fn once(&self, _: &Pools, _visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        Some(())
    }

    /// Calls `visitor` for each pair, with the [products](Folded) that are read for its first array or for both.
    fn products(&self, _: &Pools, _visitor: &mut dyn FnMut(&[Read])) -> Option<()> {
        Some(())
    }

    /// What is written for each element in addition to the result.
    fn written(&self) -> Option<Written> {
        None
    }

    /// Distance in vectors between elements of the result, if it is not their size.
    fn stride(&self) -> Option<u32> {
        None
    }

    /// The number of elements must be a multiple of this.
    fn divisor(&self) -> u32 {
        1
    }

    /// Whether the second half of the elements follows from the first.
    fn mirrors(&self) -> bool {
        false
    }

    /// The part's text in printed plans.
    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        None
    }

    /// Calls `visitor` with the name and value of each number in a GPU's structure for a part with this name. `None` if
    /// a GPU does not support the part. The set of names does not depend on the part's value.
    fn device(&self, _name: &str, _visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        Some(())
    }
}

/// An optional part.
impl<P: Part + Default> Part for Option<P> {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        self.iter().try_for_each(|part| part.terms(pools, visitor))
    }

    fn once(&self, pools: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        self.iter().try_for_each(|part| part.once(pools, visitor))
    }

    fn products(&self, pools: &Pools, visitor: &mut dyn FnMut(&[Read])) -> Option<()> {
        self.iter()
            .try_for_each(|part| part.products(pools, visitor))
    }

    fn written(&self) -> Option<Written> {
        self.as_ref()?.written()
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        self.as_ref()?.word()
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        visitor(format_args!("has_{name}"), u32::from(self.is_some()));
        match self {
            Some(part) => part.device(name, visitor),
            None => {
                // The same number of zeros; parts that no GPU supports have none.
                let _ = P::default().device(name, &mut |name, _| visitor(name, 0));
                Some(())
            }
        }
    }
}

/// A range of a pool: begin and end.
pub type Range = [u32; 2];

/// The elements in a range, if it is valid.
pub(super) fn range<T>(all: &[T], of: Range) -> Option<&[T]> {
    all.get(of[0] as usize..of[1] as usize)
}

#[inline]
fn length([from, to]: Range) -> usize {
    to.saturating_sub(from) as usize
}

/// A range in a GPU's structure.
fn device_range([first, end]: Range, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) {
    visitor(format_args!("first_of_{name}"), first);
    visitor(format_args!("end_of_{name}"), end);
}

impl Operand {
    fn read(&self, size: u32) -> Read {
        Read {
            address: self.address,
            shift: self.shift,
            elements: ElementMap::Indexed(self.index),
            size,
        }
    }
}

/// Pairs of arrays ([`Pools::pairs`]), with `A` vectors per element of the first and `B` of the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairs<const A: u32, const B: u32>(pub Range);

impl<const A: u32, const B: u32> Pairs<A, B> {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        length(self.0)
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<const A: u32, const B: u32> Part for Pairs<A, B> {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        for pair in range(&pools.pairs, self.0)? {
            visitor(AddendTerm::two(pair.a.read(A), pair.b.read(B)));
        }
        Some(())
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        device_range(self.0, name, visitor);
        Some(())
    }
}

/// Terms to be subtracted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Less<P>(pub P);

impl<P: Part> Part for Less<P> {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        self.0.terms(pools, &mut |term| visitor(term.subtracted()))
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        self.0.device(name, visitor)
    }
}

/// The terms of the vertex of three vectors, `2 B (A C) - A (B C) - C (A B)`, that are folded into pairs.
///
/// The sum of A B over the pairs of a current is a number, one of its *products*: with it, all triples in which A and B
/// form the same current become one term of the pair of this current and C. Likewise for triples in which B and C form
/// one current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Folded {
    /// `C (A B)`.
    Last,
    /// `A (B C)` and `C (A B)`.
    Both,
}

/// Pairs of vectors, with the momenta of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorPairs {
    /// Range in [`Pools::pairs`].
    pub range: Range,
    /// The terms of triples that are folded into the pairs, and the index in [`Pools::products`] of the products of the
    /// first pair; those of the other pairs follow. `None` if triples have all of their terms.
    pub folded: Option<(Folded, u32)>,
}

impl VectorPairs {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        length(self.range)
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Range of the products of all pairs.
    #[inline]
    pub fn products_of_all(&self) -> Option<Range> {
        let (_, first) = self.folded?;
        Some([first, first.saturating_add(self.len() as u32)])
    }
}

impl Part for VectorPairs {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        Pairs::<FOUR, FOUR>(self.range).terms(pools, visitor)
    }

    fn once(&self, pools: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        for pair in range(&pools.pairs, self.range)? {
            pair.momenta.iter().for_each(|&at| visitor(at, MOMENTUM));
        }
        Some(())
    }

    fn products(&self, pools: &Pools, visitor: &mut dyn FnMut(&[Read])) -> Option<()> {
        let (Some((folded, _)), Some(all)) = (self.folded, self.products_of_all()) else {
            return Some(());
        };
        for both in range(&pools.products, all)? {
            let both = both.map(|operand| operand.read(COMPLEX));
            visitor(match folded {
                Folded::Last => &both[..1],
                Folded::Both => &both,
            });
        }
        Some(())
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        let word = match self.folded?.0 {
            Folded::Last => "folded Last",
            Folded::Both => "folded Both",
        };
        Some((word, None))
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        device_range(self.range, name, visitor);
        self.folded.is_none().then_some(())
    }
}

/// Triples of vectors ([`Pools::triples`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triples(pub Range);

impl Triples {
    /// Number of triples.
    pub fn len(&self) -> usize {
        length(self.0)
    }

    /// Whether there are no triples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Part for Triples {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        for triple in range(&pools.triples, self.0)? {
            visitor(AddendTerm::three(triple.operands.map(|o| o.read(FOUR))));
        }
        Some(())
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        device_range(self.0, name, visitor);
        Some(())
    }
}

/// Arrays to be added or subtracted ([`Pools::addends`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addends(pub Range);

impl Addends {
    /// Number of arrays.
    pub fn len(&self) -> usize {
        length(self.0)
    }

    /// Whether there are no arrays.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Part for Addends {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        for addend in range(&pools.addends, self.0)? {
            let read = Read {
                address: addend.address,
                shift: addend.shift,
                elements: ElementMap::Same,
                size: FOUR,
            };
            let term = AddendTerm::one(read);
            visitor(if addend.minus {
                term.subtracted()
            } else {
                term
            });
        }
        Some(())
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        device_range(self.0, name, visitor);
        Some(())
    }
}

/// Products of numbers. Not supported on GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// Range in [`Pools::pairs`] of pairs of numbers, the first of which is over all legs of the result.
    pub pairs: Pairs<COMPLEX, COMPLEX>,
    /// Range in [`Pools::splits`].
    pub splits: Range,
}

impl Numbers {
    /// Whether there are neither pairs nor splits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty() && length(self.splits) == 0
    }

    /// Multiply-adds per element.
    pub fn multiply_adds(&self) -> usize {
        4 * self.pairs.len() + 8 * length(self.splits)
    }
}

impl Part for Numbers {
    fn terms(&self, pools: &Pools, visitor: &mut dyn FnMut(AddendTerm)) -> Option<()> {
        self.pairs.terms(pools, visitor)?;
        for split in range(&pools.splits, self.splits)? {
            let [fa, fb] = split.first.map(|operand| operand.read(COMPLEX));
            let [ae, be] = split.second.map(|operand| operand.read(COMPLEX));
            visitor(AddendTerm::two(fb, ae));
            visitor(AddendTerm::two(fa, be).subtracted());
        }
        Some(())
    }

    fn device(&self, _: &str, _: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        self.is_empty().then_some(())
    }
}

/// `N` vectors at an address, which are read once for all elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Once<const N: u32>(pub Address);

impl<const N: u32> Part for Once<N> {
    fn once(&self, _: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        visitor(self.0, N);
        Some(())
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        visitor(format_args!("{name}"), self.0);
        Some(())
    }
}

/// The numerator of a spinor's propagator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Propagator {
    /// The momentum of the spinor.
    pub momentum: Once<MOMENTUM>,
    /// Its mass.
    pub mass: Once<REAL>,
}

impl Part for Propagator {
    fn once(&self, pools: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        self.momentum.once(pools, visitor)?;
        self.mass.once(pools, visitor)
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        Some(("propagated", None))
    }

    fn device(&self, _: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        self.momentum.device("momentum", visitor)?;
        self.mass.device("mass", visitor)
    }
}

/// The propagator of a massless spinor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MasslessPropagator {
    /// One over the square of the momentum.
    pub inverse: Once<REAL>,
    /// The momentum of the spinor.
    pub momentum: Once<MOMENTUM>,
}

impl Part for MasslessPropagator {
    fn once(&self, pools: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        self.inverse.once(pools, visitor)?;
        self.momentum.once(pools, visitor)
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        Some(("propagated", None))
    }

    fn device(&self, _: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        self.inverse.device("inverse", visitor)?;
        self.momentum.device("momentum", visitor)
    }
}

/// The ratio of two constants: the factor of products of vectors that are folded into pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ratio {
    /// The constant of pairs.
    pub under: Once<COMPLEX>,
    /// The constant of triples.
    pub over: Once<COMPLEX>,
}

impl Part for Ratio {
    fn once(&self, pools: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        self.under.once(pools, visitor)?;
        self.over.once(pools, visitor)
    }
}

/// The [products](Folded) of the result, which are written in addition to it. Not supported on GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithProducts {
    /// Address of the products of the first element; each takes two vectors.
    pub address: Address,
    /// Their factor.
    pub ratio: Ratio,
}

impl Part for WithProducts {
    fn once(&self, pools: &Pools, visitor: &mut dyn FnMut(Address, u32)) -> Option<()> {
        self.ratio.once(pools, visitor)
    }

    fn written(&self) -> Option<Written> {
        Some(Written {
            address: self.address,
            stride: COMPLEX,
            size: COMPLEX,
        })
    }

    fn device(&self, _: &str, _: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        None
    }
}

/// The components in which a vector is stored. (GPUs use their numbers from 0.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Components {
    /// Contravariant components.
    #[default]
    Plain,
    /// Covariant components: a component-wise product with plain ones includes the metric.
    Lower,
    /// `V0 + V3`, `V0 - V3`, `V1 + i V2`, `V1 - i V2`.
    Slashed,
}

impl Part for Components {
    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        match self {
            Components::Plain => None,
            Components::Lower => Some(("Lower", None)),
            Components::Slashed => Some(("Slashed", None)),
        }
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        visitor(format_args!("{name}"), *self as u32);
        Some(())
    }
}

/// The components that are stored for spinors of one chirality. (GPUs use their numbers from 0.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spinors {
    /// The first two; the others are zero.
    #[default]
    First,
    /// The last two.
    Second,
}

impl Part for Spinors {
    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        let word = match self {
            Spinors::First => "First",
            Spinors::Second => "Second",
        };
        Some((word, None))
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        visitor(format_args!("{name}"), *self as u32);
        Some(())
    }
}

/// Whether elements of the second half are conjugates of those of the first, in reverse order. (GPUs use the numbers of
/// the cases from 0.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mirror {
    /// No.
    #[default]
    None,
    /// Yes.
    Plus,
    /// Yes, with the opposite sign.
    Minus,
}

impl Part for Mirror {
    fn divisor(&self) -> u32 {
        if self.mirrors() { 2 } else { 1 }
    }

    fn mirrors(&self) -> bool {
        *self != Mirror::None
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        match self {
            Mirror::None => None,
            Mirror::Plus => Some(("mirrored +1", None)),
            Mirror::Minus => Some(("mirrored -1", None)),
        }
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        visitor(format_args!("{name}"), *self as u32);
        Some(())
    }
}

/// The distance from one element of the result to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stride(pub u32);

impl Part for Stride {
    fn stride(&self) -> Option<u32> {
        Some(self.0)
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        Some(("stride", Some(self.0)))
    }

    fn device(&self, name: &str, visitor: &mut dyn FnMut(Arguments, u32)) -> Option<()> {
        visitor(format_args!("{name}"), self.0);
        Some(())
    }
}

/// Number of elements that a core computes at a time because they share operands. A GPU computes elements one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unrolled(pub u32);

impl Default for Unrolled {
    fn default() -> Unrolled {
        Unrolled(1)
    }
}

impl Part for Unrolled {
    fn divisor(&self) -> u32 {
        self.0
    }

    fn word(&self) -> Option<(&'static str, Option<u32>)> {
        (self.0 > 1).then_some(("unrolled", Some(self.0)))
    }
}
