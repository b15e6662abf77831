//! Operations: what one step of a plan computes, what its operands are, and how it is computed.
//!
//! Memory is an array of *vectors*, one number for each event of a block in each; an *address* is
//! the index of a vector. An operation is an [`Opcode`] and a list of operands (addresses and
//! counts), laid out as [`opcode`] says.
//!
//! | module | what it holds |
//! |---|---|
//! | `table` | the table of operations: name, formula, operands, cost, kernel |
//! | [`opcode`] | what follows from it: the enum, layouts, costs |
//! | [`visit`] | the operand visitor, which follows from that table |
//! | [`kernels`] | how each is computed on SIMD registers |
//! | [`arrays`] | operations on arrays of wavefunctions, for all helicities at once |
//! | [`general`] | Lorentz structures without an opcode of their own, as interpreted instructions |
//! | [`recognize`](mod@recognize) | which opcode computes what a routine of a process computes |

pub mod arrays;
pub mod general;
pub mod kernels;
pub mod opcode;
pub mod recognize;
mod table;
pub mod visit;

pub use opcode::Opcode;

use mebridge_process::lorentz::Routine;
use serde::{Deserialize, Serialize};

/// Index of a vector in a backend's memory.
pub type Address = u32;

/// Operations of one opcode that do not depend on each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// What they compute.
    pub opcode: Opcode,
    /// Operands of one operation, 0 if they have no fixed length.
    pub stride: usize,
    /// The operations, one after the other, as [`opcode::Layout`] says.
    pub operands: Vec<Address>,
}

impl Batch {
    /// Operations of no fixed length, see [`visit`].
    pub fn stream(opcode: Opcode, operands: Vec<Address>) -> Batch {
        Batch {
            opcode,
            stride: 0,
            operands,
        }
    }

    /// Number of operations, of an opcode whose operations have a fixed length.
    pub fn len(&self) -> usize {
        self.operands.len() / self.stride
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }
}

/// A Lorentz structure without an opcode of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneralRoutine {
    /// Its arithmetic.
    pub routine: Routine,
    /// Whether mass and width of the result are exactly zero.
    pub massless: bool,
}
