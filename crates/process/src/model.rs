//! Parameters and couplings of a model, as formulas.
//!
//! MG5aMC computes them in three steps: it reads the card's parameters, computes once what depends only on them, and
//! computes per event what depends on the strong coupling G. Here all of it is one [`Program`]: its inputs are the
//! card's parameters in the order of [`Model::card`], then the event's G. Values that do not depend on G are the same
//! for all events.

use super::arith::{Program, ValueId};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

/// A model, as far as a process needs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Parameters that are read from the parameter card.
    pub card: Vec<CardParameter>,
    /// Everything computed from the card's parameters and G.
    pub program: Program,
    /// Masses and widths.
    pub parameters: Vec<NamedValue>,
    /// Couplings.
    pub couplings: Vec<NamedValue>,
    /// Whether a particle of negative mass has a negative width. MG5aMC writes the card that way for MadEvent
    /// (`write_inc_file` of check_param_card.py), while a standalone output takes the card as it is.
    pub widths_signed: bool,
    /// Widths that the model can compute if the card has `Auto`.
    pub auto_widths: Vec<AutoWidth>,
}

/// A parameter of the card, found by block and index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardParameter {
    /// Fortran name in upper case, such as `MDL_MT`.
    pub name: String,
    /// Block of the SLHA card in lower case, such as `mass`; `decay` for a width. Empty for a parameter that no card
    /// holds (its value is `default`).
    pub block: String,
    /// Index within the block; PDG code for `mass` and `decay`; empty in a block of a single number.
    pub index: Vec<i32>,
    /// Value in the card beside the process at import.
    pub default: f64,
}

/// A named value of the model's program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedValue {
    /// Fortran name in upper case, such as `GC_11`.
    pub name: String,
    /// The value's position in the program.
    pub value: ValueId,
}

/// A width as the sum of partial widths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutoWidth {
    /// Index of the width in [`Model::card`].
    pub parameter: u32,
    /// The card parameters that the formulas need: the inputs of the program, whose last input is the strong coupling.
    pub card: Vec<CardParameter>,
    /// Index of alpha_s in `card`.
    pub alpha_s: Option<u32>,
    /// The mass of the particle, then its partial widths with their names (`t > w+ b`); those of closed decays are
    /// zero.
    pub values: Vec<NamedValue>,
    /// The formulas.
    pub program: Program,
    /// Whether the particle has colour.
    pub colored: bool,
}

impl Model {
    /// The program's input for G.
    pub fn g_input(&self) -> u32 {
        self.card.len() as u32
    }

    /// Evaluates the program for these card values and G.
    pub fn evaluate(&self, card: &[f64], g: f64) -> Vec<Complex64> {
        let inputs: Vec<Complex64> = card
            .iter()
            .chain([&g])
            .map(|&x| Complex64::new(x, 0.0))
            .collect();
        self.program.evaluate(&inputs)
    }

    /// Returns the index of the card parameter with this name. Case does not matter, and the prefix `MDL_` may be
    /// omitted.
    pub fn card_parameter(&self, name: &str) -> Option<usize> {
        let name = name.to_ascii_uppercase();
        let full = format!("MDL_{name}");
        let at = |name: &str| self.card.iter().position(|p| p.name == name);
        at(&name).or_else(|| at(&full))
    }

    /// The card values at import.
    pub fn default_card(&self) -> Vec<f64> {
        self.card.iter().map(|p| p.default).collect()
    }
}
