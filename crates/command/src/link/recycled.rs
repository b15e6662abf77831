//! Helicity recycling: vertices for which the Fortran has two routines, of which only one was edited.

use super::batch::CARD;
use super::card;
use super::layout::OutputLayout;
use super::matrix_element::{MatrixElement, latin};
use mebridge::Result;
use mebridge::import::recycled_otherwise;
use std::path::Path;

/// Returns a message if a P directory's Fortran evaluates vertices that differ from those that were read: with
/// recycling it runs `FFV1P1N_3` instead of `FFV1_0`, so an edit of one of them does not affect the other.
pub fn changed_vertices(layout: &OutputLayout, directory: &Path) -> Result<Option<String>> {
    if !MatrixElement::read_all(directory)?
        .iter()
        .any(MatrixElement::is_recycled)
    {
        return Ok(None);
    }
    let path = layout.root.join(CARD);
    let off = path.exists() && {
        let value = card::entry(&latin(&path)?, "hel_recycling").unwrap_or_default();
        ["f", "false", ".false.", "0"].contains(&value.to_lowercase().as_str())
    };
    let pairs = match off {
        // matrix<i>_optim.f is then a copy of matrix<i>_orig.f.
        true => return Ok(None),
        false => recycled_otherwise(directory)?,
    };
    let pairs: Vec<String> = pairs
        .into_iter()
        .map(|(amplitude, recycled)| format!("{amplitude} and {recycled}"))
        .collect();
    Ok((!pairs.is_empty()).then(|| {
        format!(
            "{} of Source/DHELAS are not the same vertex: the library has the first, the Fortran of helicity recycling \
             runs the second. Edit both alike, or set hel_recycling to False in the run card",
            pairs.join(", ")
        )
    }))
}
