//! Operations: the steps of a plan, their operands, and their implementation.
//!
//! Memory is an array of *vectors*, each with one number per event of a block; an *address* is the index of a vector.
//! An operation is an [`Opcode`] and a list of operands (addresses and counts), with the layout described in
//! [`opcode`].
//!
//! | module | content |
//! |---|---|
//! | `table` | the table of operations: name, formula, operands, cost, kernel |
//! | [`opcode`] | derived from the table: the enum, layouts, costs |
//! | [`visit`] | derived from the table: the operand visitor |
//! | [`kernels`] | implementation on SIMD registers |
//! | [`arrays`] | operations on arrays of wavefunctions, for all helicities at once |
//! | [`general`] | Lorentz structures without an opcode, as interpreted instructions |
//! | [`recognize`](mod@recognize) | finds the opcode that computes the same as a routine of a process |

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
    /// The opcode of all operations.
    pub opcode: Opcode,
    /// Operands per operation, 0 if the length is variable.
    pub stride: usize,
    /// The operations, contiguous, in the layout described by [`opcode::Layout`].
    pub operands: Vec<Address>,
}

impl Batch {
    /// A batch of operations of variable length, see [`visit`].
    pub fn stream(opcode: Opcode, operands: Vec<Address>) -> Batch {
        Batch {
            opcode,
            stride: 0,
            operands,
        }
    }

    /// Number of operations, for opcodes with a fixed number of operands.
    pub fn len(&self) -> usize {
        self.operands.len() / self.stride
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.operands.is_empty()
    }
}

/// A Lorentz structure without an opcode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneralRoutine {
    /// Its arithmetic.
    pub routine: Routine,
    /// Whether mass and width of the result are exactly zero.
    pub massless: bool,
}
