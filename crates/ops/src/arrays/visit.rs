//! Visitor for operations on arrays: what they read and write.
//!
//! An element of the result is a sum of *terms*, each a product of elements of some arrays. The parts of an operation
//! ([`Part`]) describe them. Validation, the data-flow check, the GPU's schedule and the printer of plans use this
//! description, without knowing the kinds of operations.

use super::{ArrayOp, Part, Pools};
use crate::Address;

/// An array of which one element is read for each element of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Address of its first element.
    pub address: Address,
    /// Index of the shift that is added to the address.
    pub shift: u32,
    /// The correspondence to elements of the result.
    pub elements: ElementMap,
    /// Number of vectors read per element.
    pub size: u32,
}

/// The map from elements of the result to those of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementMap {
    /// By offsets, which begin at this index in [`Pools::indices`].
    Indexed(u32),
    /// Contiguous elements, in the order of the result.
    Same,
}

/// A term: the product of elements of one, two or three arrays, with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddendTerm {
    arrays: [Read; 3],
    count: usize,
    /// Whether the term is subtracted.
    pub minus: bool,
}

impl AddendTerm {
    fn new(arrays: [Read; 3], count: usize) -> AddendTerm {
        AddendTerm {
            arrays,
            count,
            minus: false,
        }
    }

    /// A single array.
    pub(super) fn one(a: Read) -> AddendTerm {
        AddendTerm::new([a; 3], 1)
    }

    /// A product of two arrays.
    pub(super) fn two(a: Read, b: Read) -> AddendTerm {
        AddendTerm::new([a, b, b], 2)
    }

    /// A product of three arrays.
    pub(super) fn three(arrays: [Read; 3]) -> AddendTerm {
        AddendTerm::new(arrays, 3)
    }

    /// The same term with the opposite sign.
    pub(super) fn subtracted(self) -> AddendTerm {
        AddendTerm {
            minus: !self.minus,
            ..self
        }
    }

    /// The arrays of the term.
    pub fn reads(&self) -> &[Read] {
        &self.arrays[..self.count]
    }
}

/// Memory written by an operation, one entry per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Address of the first element.
    pub address: Address,
    /// Distance in vectors between elements.
    pub stride: u32,
    /// Number of vectors written per element.
    pub size: u32,
}

impl Pools {
    /// Calls `visitor` for each term. `None` if the operation refers to something that does not exist.
    pub fn terms(&self, op: &ArrayOp, visitor: &mut impl FnMut(AddendTerm)) -> Option<()> {
        let mut whole = Some(());
        op.parts(&mut |part| whole = whole.and(part.terms(self, visitor)));
        whole
    }

    /// Calls `visitor` with the addresses and numbers of vectors that are read once for all elements.
    pub fn once(&self, op: &ArrayOp, visitor: &mut impl FnMut(Address, u32)) -> Option<()> {
        let mut whole = Some(());
        op.parts(&mut |part| whole = whole.and(part.once(self, visitor)));
        whole
    }

    /// Calls `visitor` for each pair, with the [products](super::Folded) of its arrays.
    pub fn products_of(&self, op: &ArrayOp, visitor: &mut impl FnMut(&[Read])) -> Option<()> {
        let mut whole = Some(());
        op.parts(&mut |part| whole = whole.and(part.products(self, visitor)));
        whole
    }

    /// Offset from the first element of an array to the one that corresponds to an element of the result.
    pub fn offset(&self, read: &Read, element: u32) -> Option<u32> {
        match read.elements {
            ElementMap::Indexed(index) => {
                let at = index.checked_add(element)?;
                self.indices.get(at as usize).copied()
            }
            ElementMap::Same => element.checked_mul(read.size),
        }
    }
}

impl ArrayOp {
    /// Calls `visitor` for each part.
    fn parts(&self, visitor: &mut dyn FnMut(&dyn Part)) {
        self.payload.parts(&mut |_, part| visitor(part));
    }

    /// The result.
    pub fn result(&self) -> Written {
        let size = self.payload.size();
        let mut stride = size;
        self.parts(&mut |part| stride = part.stride().unwrap_or(stride));
        Written {
            address: self.out,
            stride,
            size,
        }
    }

    /// The numbers written in addition to the result.
    pub fn result_products(&self) -> Option<Written> {
        let mut written = None;
        self.parts(&mut |part| written = written.or(part.written()));
        written
    }

    /// Number of elements that are computed; any others are conjugates of these.
    pub fn computed(&self) -> u32 {
        let mut mirrors = false;
        self.parts(&mut |part| mirrors |= part.mirrors());
        if mirrors { self.count / 2 } else { self.count }
    }

    /// Calls `visitor` with each word that describes the operation in print.
    pub fn words(&self, visitor: &mut dyn FnMut(&'static str, Option<u32>)) {
        self.parts(&mut |part| {
            if let Some((word, number)) = part.word() {
                visitor(word, number);
            }
        });
    }
}
