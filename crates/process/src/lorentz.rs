//! Lorentz structures: the routines of `Source/DHELAS` as arithmetic.
//!
//! A routine such as `FFV1_1(F2, V3, COUP, M1, W1, F1)` is a pure function of its wavefunctions, couplings, mass and
//! width. Its program's inputs are, in this order: the components of each wavefunction argument (momentum components
//! first, as in the Fortran), the couplings, and, where the routine has them, the mass and the width.

use super::arith::{Program, ValueId};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

/// One Lorentz structure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Routine {
    /// ALOHA's name, such as `FFV1_1`.
    pub name: String,
    /// Number of complex numbers of each wavefunction argument, momentum included.
    pub inputs: Vec<u32>,
    /// Number of coupling arguments.
    pub couplings: u32,
    /// Whether the routine takes a mass and a width.
    pub massive: bool,
    /// The body.
    pub program: Program,
    /// The result: one value for an amplitude, otherwise the components of the outgoing wavefunction, the two of its
    /// momentum first.
    pub outputs: Vec<ValueId>,
}

impl Routine {
    /// Whether the result is an amplitude (`..._0`) and not a wavefunction.
    pub fn is_amplitude(&self) -> bool {
        self.outputs.len() == 1
    }

    /// The program's input for component `component` of wavefunction argument `argument`.
    pub fn wavefunction_input(&self, argument: usize, component: u32) -> u32 {
        self.inputs[..argument].iter().sum::<u32>() + component
    }

    /// The program's input for a coupling.
    pub fn coupling_input(&self, coupling: u32) -> u32 {
        self.inputs.iter().sum::<u32>() + coupling
    }

    /// The program's input for the mass; the width follows.
    pub fn mass_input(&self) -> u32 {
        self.coupling_input(self.couplings)
    }

    /// Evaluates the components of the result at these inputs.
    pub fn evaluate(&self, inputs: &[Complex64]) -> Vec<Complex64> {
        self.results(&self.program.evaluate(inputs))
    }

    /// Selects the components of the result from all values of the program.
    pub fn results(&self, values: &[Complex64]) -> Vec<Complex64> {
        self.outputs.iter().map(|&v| values[v as usize]).collect()
    }

    /// Number of inputs that the program must have, given the arguments.
    pub fn program_inputs(&self) -> u32 {
        self.mass_input() + if self.massive { 2 } else { 0 }
    }
}
