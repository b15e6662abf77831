//! Visitor for operations on arrays: what they read and write, as their parts ([`Part`]) describe it.
//!
//! Validation, the data-flow check, the GPU's schedule and the printer of plans use this description, without knowing
//! the kinds of operations.

use super::terms::{AddendTerm, ElementMap, Read, Written};
use super::{ArrayOp, Part, Pools};
use crate::Address;

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
