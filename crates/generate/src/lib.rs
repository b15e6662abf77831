//! Generation of a [`Process`] from a text such as `g g > t t~ g` and a model.
//!
//! All legs are treated as outgoing here: an incoming particle is its outgoing antiparticle. Helicities and colour
//! flows are in MG5aMC's order, diagrams in an order of their own.
//!
//! | module | content |
//! |---|---|
//! | `language`, `request` | MG5aMC's language: texts with decays, and single processes |
//! | `subprocess` | expansion of labels into processes, conservation laws |
//! | `matrix_element`, `matrix_elements` | grouping of processes with equal matrix elements |
//! | `weighted` | the `WEIGHTED` at which the search for the lowest one starts |
//! | `trees` | diagrams |
//! | `chains` | diagrams of processes with decays |
//! | `squared` | squared coupling orders |
//! | `vanishing` | products of amplitudes that vanish identically |
//! | `number`, `strings`, `color` | colour algebra |
//! | `flows`, `matrix`, `links` | colour flows, the colour matrix, and that with a soft gluon |
//! | `color_ordered` | recursion over colour-ordered currents, in place of diagrams |
//! | `assembly`, `assemble` | assembly of a [`Process`]: its parts, the whole |
//! | `lines` | the lines of diagrams with their particles |
//! | `partial_widths` | partial widths by |M|^2 as formulas |
//!
//! docs/generate.md describes the conventions, and what cannot be generated.

mod assemble;
mod assembly;
mod chains;
mod color;
mod color_ordered;
mod flips;
mod flows;
mod language;
pub mod lines;
pub mod links;
mod matrix;
mod matrix_element;
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
mod widths;

pub use language::imported_model;
pub use matrix_elements::{MatrixElements, choose_process};
pub use request::{is_process, with_spaced_arrow};

use crate::model::Model;
use mebridge_process::Process;
use mebridge_support::error::Result;

/// Generates a process of the Standard Model, or several for a text with labels. Processes with equal matrix elements
/// are combined into one; [`Process::other_flavours`] lists the others.
pub fn generate(text: &str) -> Result<Vec<Process>> {
    generate_with(text, &Model::standard()?)
}

/// The same with another model.
pub fn generate_with(text: &str, model: &Model) -> Result<Vec<Process>> {
    let elements = MatrixElements::parse(text, model)?;
    (0..elements.len()).map(|n| elements.process(n)).collect()
}

/// The same, or nothing if there are particles and vertices for it, but no diagrams have these squared coupling orders,
/// or their products cancel at all points.
pub fn generate_unless_zero(text: &str, model: &Model) -> Result<Vec<Process>> {
    match MatrixElements::parse_unless_zero(text, model)? {
        Ok(elements) => (0..elements.len()).map(|n| elements.process(n)).collect(),
        Err(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod leading_color_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod ordered_tests;
#[cfg(test)]
mod scheme_tests;
#[cfg(test)]
mod tests;
