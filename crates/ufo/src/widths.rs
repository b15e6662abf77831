//! Widths that the card of a restriction leaves to be computed (`DECAY 6 Auto`).

use crate::imported::Imported;
use mebridge_generate::model::Model;
use mebridge_generate::model::file::Document;
use mebridge_support::message;

/// Puts them into the document of a model, computed by partial widths with its card. A line on stderr says what each is. Where
/// there are none the model's own value stays, if it has one.
pub fn compute(from: &Imported, model: &Model, document: &mut Document) -> Result<(), String> {
    for (pdg, open) in &from.open_widths {
        let is = |block: &str, index: &[i32]| block == "decay" && index == [*pdg];
        let entries = document.card.iter_mut();
        let mut entries = entries.filter(|entry| is(&entry.block.to_lowercase(), &entry.index));
        // What the restriction took out of the card has no width.
        let Some(entry) = entries.next() else {
            continue;
        };
        let auto = format!("{}: DECAY {pdg} is Auto", open.card.display());
        let Some(width) = model.auto_width(0, &entry.parameter())? else {
            let why = match from.has_complex_masses {
                true => "in the complex-mass scheme couplings depend on the widths",
                false => "the model has no such particle",
            };
            let Some(own) = open.own else {
                return Err(format!("{auto}, and {why}; write a number in its place"));
            };
            message::say_once(format!(
                "{auto}, and {why}; {} stays {own}, the model's own value",
                entry.name
            ));
            entry.value = own;
            continue;
        };
        let is_open = |p: &&mebridge_process::model::CardParameter| {
            p.block == "decay" && p.index.iter().any(|pdg| from.open_widths.contains_key(pdg))
        };
        if let Some(other) = width.card.iter().find(is_open) {
            return Err(format!(
                "{auto}, and its formula needs the width {}, which is Auto as well; write a number in its place",
                other.name
            ));
        }
        let inputs: Vec<f64> = width.card.iter().map(|p| p.default).collect();
        let (value, of) = width
            .of(&inputs)
            .map_err(|what| format!("{auto}, and {what}; write a number in its place"))?;
        message::say_once(format!("{auto}: {}", width.line(value, &of)));
        entry.value = value;
    }
    Ok(())
}
