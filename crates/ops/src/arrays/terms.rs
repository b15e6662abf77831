//! What an operation on arrays reads and writes.
//!
//! An element of the result is a sum of *terms*, each a product of elements of some arrays.

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
    /// By offsets, which begin at this index in [`super::Pools::indices`].
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
