//! FILE|DIR on the command line: a process file, or a P* directory of an MG5aMC output.

use mebridge::Result;
use mebridge::import::{Options, import_with};
use mebridge::locate::locate;
use mebridge::process::Process;
use mebridge::runtime::{ProcessChoice, Switches};
use std::ffi::OsStr;
use std::path::Path;

/// A process with the values of a parameter card.
pub struct Source {
    /// The process.
    pub process: Process,
    /// Card values in the order of the process's model.
    pub card: Vec<f64>,
    /// Which matrix element of its directory, from 1.
    pub number: usize,
}

/// All processes that the argument stands for: those of a directory, or the one of a file or of
/// `DIR#N`.
pub fn all(argument: &OsStr, card: Option<&Path>) -> Result<Vec<Source>> {
    let choice = ProcessChoice::parse(argument);
    if choice.path.is_dir() {
        directory(argument, card)
    } else {
        Ok(vec![one(&switches(choice, card)?)?])
    }
}

/// The processes of a directory, or the one of `DIR#N`.
pub fn directory(argument: &OsStr, card: Option<&Path>) -> Result<Vec<Source>> {
    let choice = ProcessChoice::parse(argument);
    if choice.element.is_some() && choice.path.is_dir() {
        return Ok(vec![one(&switches(choice, card)?)?]);
    }
    let options = Options {
        card,
        harmless_calls: &Switches::from_env()?.harmless_calls,
        ..Options::default()
    };
    let processes = (1..).zip(import_with(&choice.path, &options)?);
    let sources = processes.map(|(number, process)| Source {
        card: process.model.default_card(),
        process,
        number,
    });
    Ok(sources.collect())
}

fn switches(choice: ProcessChoice, card: Option<&Path>) -> Result<Switches> {
    Ok(Switches {
        process: Some(choice),
        param_card: card.map(Path::to_owned),
        harmless_calls: Switches::from_env()?.harmless_calls,
        ..Switches::default()
    })
}

/// The one process that the switches name, with the card that the library would take.
pub fn one(switches: &Switches) -> Result<Source> {
    let located = locate(switches)?;
    Ok(Source {
        process: located.process,
        card: located.card,
        number: switches
            .process
            .as_ref()
            .and_then(|p| p.element)
            .unwrap_or(1),
    })
}
