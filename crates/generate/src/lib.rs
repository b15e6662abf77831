//! `g g > t t~ g` and a model -> process.
//!
//! All legs count as going out here; a particle that comes in is its antiparticle going out. Numbering: helicities
//! and colour flows are in MG5aMC's order, diagrams in one of their own.
//!
//! | module | what it knows |
//! |---|---|
//! | `language`, `request` | MG5aMC's language: texts with decays, and single processes |
//! | `subprocess` | labels into processes, what is conserved |
//! | `matrix_elements` | which of them have equal matrix elements |
//! | `weighted` | the `WEIGHTED` from which the lowest one is searched |
//! | `trees` | diagrams |
//! | `chains` | diagrams of processes with decays |
//! | `squared` | squared coupling orders |
//! | `vanishing` | products of amplitudes that vanish at all points |
//! | `number`, `strings`, `color` | the algebra of colour |
//! | `flows`, `matrix` | colour flows and the colour matrix |
//! | `color_ordered` | currents of neighbours in a colour flow, in place of diagrams |
//! | `assemble` | all of it into a [`Process`] |
//! | `lines` | the lines of diagrams with their particles |
//! | `partial_widths` | partial widths by |M|^2 as formulas |
//!
//! docs/generate.md says which conventions hold, and what cannot be generated.

mod assemble;
mod chains;
mod color;
mod color_ordered;
mod flips;
mod flows;
mod language;
pub mod lines;
mod matrix;
mod matrix_elements;
pub mod model;
mod number;
mod partial_widths;
mod request;
mod reroot;
mod same_color;
mod squared;
mod strings;
mod subprocess;
mod trees;
mod vanishing;
mod weighted;

pub use language::imported_model;
pub use matrix_elements::{MatrixElements, choose_process};
pub use request::{arrow_apart, is_process};

use crate::model::Model;
use mebridge_process::Process;
use mebridge_support::error::Result;

/// Generates a process of the Standard Model; labels give several. Processes with equal matrix elements are one,
/// whose [`Process::other_flavours`] lists the others.
pub fn generate(text: &str) -> Result<Vec<Process>> {
    generate_with(text, &Model::standard()?)
}

/// The same with another model.
pub fn generate_with(text: &str, model: &Model) -> Result<Vec<Process>> {
    let elements = MatrixElements::of(text, model)?;
    (0..elements.len()).map(|n| elements.process(n)).collect()
}

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod ordered_tests;
#[cfg(test)]
mod scheme_tests;
#[cfg(test)]
mod tests;
