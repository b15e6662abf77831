//! The general path: any Lorentz structure, without a kernel of its own.
//!
//! A routine is compiled once, when the plan is read, to a short code ([`General::compile`], see
//! [`crate::plan::general`]). [`run`] interprets the code over vectors, for several operations at a
//! time, so that the cost of decoding an instruction is shared (`interpret`).

mod interpret;
#[cfg(test)]
mod tests;

pub use interpret::run;

use crate::plan::general::Code;
use crate::plan::kernel::Layout;
use crate::process::lorentz::Routine;

/// A compiled routine.
#[derive(Clone, Debug)]
pub struct General {
    layout: Layout,
    code: Code,
}

impl General {
    /// Compiles a routine of which [`crate::plan::recognize::momentum_is_conserved`] holds.
    /// `massless` says that the mass (and with it the width) is exactly zero where the routine is
    /// used; then the code does not read them.
    pub fn compile(routine: &Routine, massless: bool) -> General {
        General {
            layout: Layout::of_routine(routine),
            code: Code::of_routine(routine, massless),
        }
    }

    /// The layout of its operations.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Complex components of the result, 1 for an amplitude.
    pub fn components(&self) -> usize {
        self.code.components
    }

    /// Number of instructions, those that read and write included.
    pub fn instructions(&self) -> usize {
        self.code.instructions.len()
    }
}
