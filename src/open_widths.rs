//! Computes widths that the card of an output leaves open (`DECAY 6 Auto`), from the UFO model that MG5aMC stored in
//! the output.
//!
//! MG5aMC computes them when a run is launched, and writes the numbers into the card. Programs that read the output
//! without launching it need them earlier.

use crate::error::Result;
use crate::import::{Options, import_with};
use crate::model::Model;
use crate::process::Process;
use crate::process::card::Card;
use crate::ufo::{Restriction, is_ufo, read};
use std::path::{Path, PathBuf};

/// Path of the model in an output. Its `restrict_default.dat` is the restriction that the output was made with.
const MODEL: &str = "bin/internal/ufomodel";

/// Imports the processes of a directory as [`import_with`] does, and computes widths that the card leaves open.
pub fn import(dir: &Path, options: &Options) -> Result<Vec<Process>> {
    let options = Options {
        open_widths: true,
        ..*options
    };
    let mut processes = import_with(dir, &options)?;
    let is_open = |process: &Process| process.model.card.iter().any(|p| p.default.is_nan());
    if processes.iter().any(is_open) {
        let card = match options.card {
            Some(card) => card.to_path_buf(),
            None => output(dir)?.join("Cards/param_card.dat"),
        };
        let card = Card::read(&card)?;
        add_formulas(processes.iter_mut(), dir, &card)?;
        for process in processes.iter_mut().filter(|process| is_open(process)) {
            let values = process.model.card_values(&card)?;
            for (parameter, value) in process.model.card.iter_mut().zip(values) {
                parameter.default = value;
            }
        }
    }
    Ok(processes)
}

/// Adds the formulas that processes of a directory need to compute widths that a card leaves open.
pub fn add_formulas<'a>(
    processes: impl Iterator<Item = &'a mut Process>,
    dir: &Path,
    card: &Card,
) -> Result<()> {
    let mut model = None;
    for process in processes {
        let process = &mut process.model;
        for (at, parameter) in (0..).zip(&process.card) {
            let known = process
                .auto_widths
                .iter()
                .any(|width| width.parameter == at);
            if known || !card.leaves_open(parameter) {
                continue;
            }
            let model = match &model {
                Some(model) => model,
                None => model.insert(model_of(&output(dir)?)),
            };
            let width = match model {
                Ok(model) => model.auto_width(at, parameter),
                Err(why) => Err(why.clone()),
            };
            let width = width
                .and_then(|width| width.ok_or_else(|| format!("{MODEL} has no such particle")));
            let width = width.map_err(|why| card.not_computed(parameter, &why))?;
            process.auto_widths.push(width);
        }
    }
    Ok(())
}

/// Returns the output that contains a P directory.
fn output(dir: &Path) -> Result<PathBuf> {
    let dir = dir.canonicalize().map_err(crate::Error::io(dir))?;
    let output = dir.ancestors().nth(2).unwrap_or(&dir);
    Ok(output.to_path_buf())
}

fn model_of(output: &Path) -> std::result::Result<Model, String> {
    let folder = output.join(MODEL);
    if !is_ufo(&folder) {
        return Err(format!("this output has no {MODEL} with a formula for it"));
    }
    let document = read(&folder, &Restriction::Default).map_err(|error| error.to_string());
    document
        .and_then(Model::from_document)
        .map_err(|error| format!("the model with its formula cannot be read: {error}"))
}
