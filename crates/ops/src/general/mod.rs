//! Arbitrary Lorentz structures without a kernel, as instructions.
//!
//! A routine's program is compiled to a short code (`Code::of_routine`) in two steps. The first makes a graph of real
//! and complex numbers (`graph`): it keeps track of factors of `i` and signs instead of computing them, and so finds
//! common subexpressions. The second makes instructions with fused products, over temporaries that are reused as soon
//! as they are free (`code`). A backend interprets the instructions or generates a program from them.
//!
//! Operations have the layout described in [`crate::opcode`]: wavefunctions, couplings, momenta of the wavefunctions,
//! mass and width if the routine has them, result. The first two components of a wavefunction argument are
//! reconstructed from its momentum; those of the result are not computed, as they are the sum of those of the
//! arguments, which the plan's compiler checks.

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
    /// Compiles a routine for which [`crate::recognize::momentum_is_conserved`] holds. `massless` means that the mass
    /// (and with it the width) is exactly zero where the routine is used, so that the code need not read them.
    pub fn of_routine(routine: &Routine, massless: bool) -> Code {
        Code::new(&Graph::new(routine, massless))
    }
}

/// A compiled routine.
#[derive(Clone, Debug)]
pub struct General {
    layout: Layout,
    code: Code,
}

impl General {
    /// Compiles a routine for which [`crate::recognize::momentum_is_conserved`] holds. `massless` means that the mass
    /// (and with it the width) is exactly zero where the routine is used, so that the code need not read them.
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

    /// Number of instructions, including loads and stores.
    pub fn instructions(&self) -> usize {
        self.code.instructions.len()
    }
}
