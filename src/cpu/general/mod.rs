//! The general path: any Lorentz structure, without a kernel of its own.
//!
//! A routine's program is compiled once, when the plan is made, to a short code over vectors
//! ([`General::compile`]): first to a graph of real and complex numbers in which factors of `i` and
//! signs are carried along instead of computed, and equal parts are found by way of that
//! (`graph`); then to instructions with fused products, over temporaries that are reused as soon
//! as they are free (`code`). [`run`] interprets the code for several operations at a time, so that
//! the cost of decoding an instruction is shared (`interpret`).
//!
//! An operation is laid out as [`crate::plan::kernel`] says: wavefunctions, couplings, the momenta
//! of the wavefunctions, mass and width where the routine has them, result. The first two
//! components of a wavefunction argument are rebuilt from its momentum; those of the result are
//! not computed, for they are the sum of the arguments', which the plan's compiler checks.

mod code;
mod graph;
mod interpret;
#[cfg(test)]
mod tests;

pub use interpret::run;

use crate::plan::kernel::Layout;
use crate::process::lorentz::Routine;
use code::Code;
use graph::Graph;

/// A compiled routine.
#[derive(Clone, Debug)]
pub struct General {
    layout: Layout,
    components: usize,
    code: Code,
}

impl General {
    /// Compiles a routine of which [`crate::plan::recognize::momentum_is_conserved`] holds.
    /// `massless` says that the mass (and with it the width) is exactly zero where the routine is
    /// used; then the code does not read them.
    pub fn compile(routine: &Routine, massless: bool) -> General {
        let graph = Graph::of(routine, massless);
        General {
            layout: Layout::of_routine(routine),
            components: graph.outputs.len(),
            code: Code::of(&graph),
        }
    }

    /// The layout of its operations.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Complex components of the result, 1 for an amplitude.
    pub fn components(&self) -> usize {
        self.components
    }

    /// Number of instructions, those that read and write included.
    pub fn instructions(&self) -> usize {
        self.code.instructions.len()
    }
}
