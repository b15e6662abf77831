//! Widths that the card of a restriction leaves to be computed (`DECAY 6 Auto`).

use crate::imported::Imported;
use mebridge_generate::model::file::Document;
use mebridge_generate::model::{Model, ParticleId};
use mebridge_process::model::CardParameter;
use mebridge_support::message;

/// Computes these widths from partial widths with the model's card, enters them into the document, and reports each on
/// stderr. If a width cannot be computed from vertices, the model's own value is kept, if it has one.
pub fn compute(from: &Imported, model: &Model, document: &mut Document) -> Result<(), String> {
    for (pdg, open) in &from.open_widths {
        let is = |block: &str, index: &[i32]| block == "decay" && index == [*pdg];
        let entries = document.card.iter_mut();
        let mut entries = entries.filter(|entry| is(&entry.block.to_lowercase(), &entry.index));
        // Skip particles whose width the restriction removed from the card.
        let Some(entry) = entries.next() else {
            continue;
        };
        let auto = format!("{}: DECAY {pdg} is Auto", open.card.display());
        match computed(from, model, &entry.parameter())? {
            Ok((value, line)) => {
                message::say_once(format!("{auto}: {line}"));
                entry.value = value;
            }
            Err(why) => {
                let is_mother = |p: &ParticleId| model.properties(*p).pdg.abs() == pdg.abs();
                let has_formulas = model.decays.keys().any(is_mother);
                let Some(own) = open.own.filter(|_| !has_formulas) else {
                    return Err(format!("{auto}, and {why}; write a number in its place"));
                };
                message::say_once(format!(
                    "{auto}, and {why}; {} stays {own}, the model's own value",
                    entry.name
                ));
                entry.value = own;
            }
        }
    }
    Ok(())
}

/// A width with the message about it, or the reason why it cannot be computed.
fn computed(
    from: &Imported,
    model: &Model,
    parameter: &CardParameter,
) -> Result<Result<(f64, String), String>, String> {
    let Some(width) = model.auto_width(0, parameter)? else {
        return Ok(Err(match from.has_complex_masses {
            true => "in the complex-mass scheme couplings depend on the widths".into(),
            false => "the model has no such particle".into(),
        }));
    };
    let is_open = |p: &&CardParameter| {
        p.block == "decay" && p.index.iter().any(|pdg| from.open_widths.contains_key(pdg))
    };
    if let Some(other) = width.card.iter().find(is_open) {
        return Ok(Err(format!(
            "its formula needs the width {}, which is Auto as well",
            other.name
        )));
    }
    let inputs: Vec<f64> = width.card.iter().map(|p| p.default).collect();
    let found = width.width_with_decays(&inputs);
    Ok(found.map(|(value, of)| (value, width.line(value, &of))))
}
