//! Any Lorentz structure, without a kernel of its own, as instructions.
//!
//! A routine's program is compiled to a short code (`Code::of_routine`) in two steps. The first is a graph of real and
//! complex numbers (`graph`): it carries factors of `i` and signs along instead of computing them, and so finds equal
//! parts. The second is instructions with fused products, over temporaries that are reused as soon as they are free
//! (`code`). A backend interprets the instructions or makes a program of its own out of them.
//!
//! An operation is laid out as [`crate::opcode`] says: wavefunctions, couplings, the momenta
//! of the wavefunctions, mass and width where the routine has them, result. The first two
//! components of a wavefunction argument are rebuilt from its momentum; those of the result are
//! not computed, for they are the sum of the arguments', which the plan's compiler checks.

mod code;
mod graph;
mod interpret;
#[cfg(test)]
mod interpret_tests;

pub use code::{Action, Code, Instruction};
pub use interpret::run;

pub use graph::{Binary, Elementary, Test, evaluate_elementary};

use super::opcode::Layout;
use graph::Graph;
use mebridge_process::lorentz::Routine;

impl Code {
    /// Compiles a routine of which [`crate::recognize::momentum_is_conserved`] holds.
    /// `massless` says that the mass (and with it the width) is exactly zero where the routine is
    /// used; then the code does not read them.
    pub fn of_routine(routine: &Routine, massless: bool) -> Code {
        Code::of(&Graph::of(routine, massless))
    }
}

/// A compiled routine.
#[derive(Clone, Debug)]
pub struct General {
    layout: Layout,
    code: Code,
}

impl General {
    /// Compiles a routine of which [`crate::recognize::momentum_is_conserved`] holds.
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
