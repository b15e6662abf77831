//! What an operation on arrays reads and writes: its visitor.
//!
//! An element of the result is a sum of *terms*, each a product of elements of some arrays. Validation, the check that
//! only what was written is read, the GPU's levels and the printer of plans go through operations with this description
//! and know no kind.

use super::{Addend, ArrayKind, ArrayOp, CHIRAL, ELEMENT, Folded, Operand, Pair, Pools, Spinors};
use crate::Address;
use crate::opcode::{COMPLEX, MOMENTUM, REAL};

/// An array of which one element is read for each element of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Address of its first element.
    pub address: Address,
    /// Which of the shifts is added to the address.
    pub shift: u32,
    /// Which of its elements belongs to one of the result.
    pub elements: Elements,
    /// Vectors that are read.
    pub size: u32,
}

/// How elements of an operand belong to those of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// By offsets, which begin here in [`Pools::indices`].
    Indexed(u32),
    /// One behind the other.
    Same,
}

/// A term: the product of elements of these arrays, with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// One array, added or subtracted.
    One([Read; 1], bool),
    /// Two that meet.
    Two([Read; 2]),
    /// Three that meet.
    Three([Read; 3]),
}

impl Term {
    /// Its arrays.
    pub fn reads(&self) -> &[Read] {
        match self {
            Term::One(reads, _) => reads,
            Term::Two(reads) => reads,
            Term::Three(reads) => reads,
        }
    }
}

/// What one element of a result is, and what comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Address of the first element.
    pub address: Address,
    /// Vectors from one element to the next.
    pub stride: u32,
    /// Vectors that are written.
    pub size: u32,
}

impl Operand {
    fn read(&self, size: u32) -> Read {
        Read {
            address: self.address,
            shift: self.shift,
            elements: Elements::Indexed(self.index),
            size,
        }
    }
}

impl Pair {
    /// Two arrays of vectors that meet.
    pub fn product(&self) -> Term {
        Term::Two([self.a.read(ELEMENT), self.b.read(ELEMENT)])
    }
}

impl Addend {
    fn term(&self) -> Term {
        let read = Read {
            address: self.address,
            shift: self.shift,
            elements: Elements::Same,
            size: ELEMENT,
        };
        Term::One([read], self.minus)
    }
}

/// A part of a pool, if it is there.
pub(super) fn range<T>(all: &[T], of: [u32; 2]) -> Option<&[T]> {
    all.get(of[0] as usize..of[1] as usize)
}

impl Pools {
    /// Calls `visitor` for each term. `None` where the operation names what is not there.
    pub fn terms(&self, op: &ArrayOp, visitor: &mut impl FnMut(Term)) -> Option<()> {
        let spinor = op.spinors.size();
        let of_pair = match op.kind {
            ArrayKind::LineIn | ArrayKind::LineOut => [spinor, ELEMENT],
            ArrayKind::Contract => [spinor; 2],
            _ => [ELEMENT; 2],
        };
        // Of contractions vectors; of spinors with two components what is subtracted.
        let of_broadcast = match op.kind {
            ArrayKind::Contract => [ELEMENT; 2],
            _ => [spinor, ELEMENT],
        };
        let two = |pair: &Pair, sizes: [u32; 2]| {
            Term::Two([pair.a.read(sizes[0]), pair.b.read(sizes[1])])
        };
        for pair in range(&self.pairs, op.pairs)? {
            visitor(two(pair, of_pair));
        }
        for pair in range(&self.pairs, op.broadcast)? {
            visitor(two(pair, of_broadcast));
        }
        for pair in range(&self.pairs, op.numbers)? {
            visitor(two(pair, [COMPLEX; 2]));
        }
        for split in range(&self.splits, op.splits)? {
            let ([fa, fb], [ae, be]) = (&split.first, &split.second);
            visitor(Term::Two([fb.read(COMPLEX), ae.read(COMPLEX)]));
            visitor(Term::Two([fa.read(COMPLEX), be.read(COMPLEX)]));
        }
        for triple in range(&self.triples, op.triples)? {
            visitor(Term::Three(triple.operands.map(|o| o.read(ELEMENT))));
        }
        for addend in range(&self.addends, op.addends)? {
            visitor(addend.term());
        }
        Some(())
    }

    /// For each pair the [products](Folded) of its arrays that come with them. `None` where they are not there.
    pub fn products_of(&self, op: &ArrayOp) -> Option<impl Iterator<Item = [Read; 2]> + '_> {
        let products = range(&self.products, op.products_of)?;
        let reads = |both: &[Operand; 2]| both.map(|operand| operand.read(COMPLEX));
        Some(products.iter().map(reads))
    }

    /// Calls `visitor` with what is read once for all elements: addresses, and vectors from there on.
    pub fn once(&self, op: &ArrayOp, visitor: &mut impl FnMut(Address, u32)) -> Option<()> {
        let chiral = op.spinors != Spinors::Dirac;
        let factors = match op.kind {
            ArrayKind::LineIn | ArrayKind::LineOut if chiral && !op.propagate => 0,
            ArrayKind::LineIn | ArrayKind::LineOut | ArrayKind::Current => 1,
            ArrayKind::Vector if op.triples[0] < op.triples[1] => 2,
            ArrayKind::Vector => 1,
            ArrayKind::Sum => usize::from(op.scaled),
            ArrayKind::Contract | ArrayKind::Products => 0,
        };
        // The propagator of a massless line is real.
        let size = if chiral { REAL } else { COMPLEX };
        for &factor in &op.factors[..factors] {
            visitor(factor, size);
        }
        let constants = match op.kind {
            ArrayKind::Vector => op.products.is_some(),
            ArrayKind::Products => op.scaled,
            _ => false,
        };
        if constants {
            op.constants.iter().for_each(|&at| visitor(at, COMPLEX));
        }
        if op.propagate {
            visitor(op.momentum, MOMENTUM);
            if !chiral {
                visitor(op.mass, REAL);
            }
        }
        if op.kind == ArrayKind::Vector {
            for pair in range(&self.pairs, op.pairs)? {
                pair.momenta.iter().for_each(|&at| visitor(at, MOMENTUM));
            }
        }
        Some(())
    }

    /// Which vectors an operation uses for itself while it runs, if it does: from this address on so many.
    pub fn scratch(&self, op: &ArrayOp) -> Option<(Address, u64)> {
        match (op.kind, op.folded) {
            (ArrayKind::Contract, _) if op.spinors == Spinors::Dirac && !self.fours => {
                Some((self.buffer, u64::from(COMPLEX) * u64::from(op.count)))
            }
            (ArrayKind::Vector, Folded::Last | Folded::Both) => {
                Some((self.first_numbers, self.size_of_first_numbers(op)?))
            }
            _ => None,
        }
    }

    /// From the first element of an array to the one that belongs to an element of the result.
    pub fn offset(&self, read: &Read, element: u32) -> Option<u32> {
        match read.elements {
            Elements::Indexed(index) => {
                let at = index.checked_add(element)?;
                self.indices.get(at as usize).copied()
            }
            Elements::Same => element.checked_mul(read.size),
        }
    }
}

impl ArrayOp {
    /// The result.
    pub fn result(&self) -> Written {
        let (stride, size) = match self.kind {
            ArrayKind::Contract => (self.stride, COMPLEX),
            ArrayKind::Products => (COMPLEX, COMPLEX),
            ArrayKind::LineIn | ArrayKind::LineOut if self.spinors != Spinors::Dirac => {
                (CHIRAL, CHIRAL)
            }
            _ => (ELEMENT, ELEMENT),
        };
        Written {
            address: self.out,
            stride,
            size,
        }
    }

    /// Its products, where they are needed.
    pub fn result_products(&self) -> Option<Written> {
        let address = self.products?;
        Some(Written {
            address,
            stride: COMPLEX,
            size: COMPLEX,
        })
    }
}
