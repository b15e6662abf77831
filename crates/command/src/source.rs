//! FILE|DIR on the command line: a process file, a P* directory of an MG5aMC output, or a process to generate.

use mebridge::Result;
use mebridge::generate::{generate_unless_zero, generate_with};
use mebridge::locate::{Located, locate_all, locate_every, process_text};
use mebridge::models;
use mebridge::process::Process;
use mebridge::runtime::{ProcessChoice, Switches};
use mebridge_run::load;
pub use mebridge_run::load::{CardedProcess, directory, single_process};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where an output has its P directories; the second is for an unpacked gridpack.
const FOLDERS: [&str; 3] = ["SubProcesses", "madevent/SubProcesses", ""];

/// Returns the name of a process and its counts.
pub fn name_and_counts(process: &Process) -> String {
    format!(
        "{}, {} diagrams, {} amplitudes, {} colour flows, {} helicities",
        process.name,
        process.diagrams,
        process.amplitudes.vertices().len(),
        process.color_flows(),
        process.helicities.len(),
    )
}

/// Returns all processes of the argument: those of a directory or of a text, or the one of a file or of `DIR#N`.
pub fn all_processes(argument: &OsStr, card: Option<&Path>) -> Result<Vec<CardedProcess>> {
    load::processes(argument, card, Switches::from_env()?.model.as_deref())
}

/// Returns the processes of a text such as `p p > t t~ j`, or the one selected by `#N` after it.
pub fn generated_processes(
    text: &str,
    named: Option<&Path>,
    card: Option<&Path>,
) -> Result<Vec<CardedProcess>> {
    let choice = ProcessChoice::parse(text);
    let one_of_them = choice.element.is_some() && process_text(&choice.path).is_some();
    let model = named.map(Path::to_owned).or(Switches::from_env()?.model);
    if one_of_them {
        let switches = load::switches(choice, card, model.as_deref())?;
        return Ok(vec![single_process(&switches)?]);
    }
    let named = models::for_process(text, model.as_deref());
    let model = models::model(named.as_deref())?;
    load::with_card_values(generate_with(text, &model)?, card)
}

/// The same of a text without a choice, in whose propagators these particles have no width; nothing if its squared
/// coupling orders vanish.
pub fn generated_unless_zero(
    text: &str,
    stable: &[i32],
    card: Option<&Path>,
) -> Result<Vec<CardedProcess>> {
    let model = Switches::from_env()?.model;
    let named = models::for_process(text, model.as_deref());
    let mut model = models::model(named.as_deref())?;
    let mut widths = Vec::new();
    for particle in &model.particles {
        if stable.iter().any(|code| code.abs() == particle.pdg.abs()) {
            widths.extend(particle.width.clone());
        }
    }
    for particle in &mut model.particles {
        particle.width = particle.width.take().filter(|name| !widths.contains(name));
    }
    load::with_card_values(generate_unless_zero(text, &model)?, card)
}

/// Returns all processes of a text that stands for several, or else the single process.
pub fn selected_processes(switches: &Switches) -> Result<Vec<CardedProcess>> {
    match &switches.process {
        Some(choice) if choice.element.is_none() => {
            let located = (1..).zip(locate_all(switches)?);
            Ok(located
                .map(|(number, located)| CardedProcess::new(located, number))
                .collect())
        }
        _ => Ok(vec![single_process(switches)?]),
    }
}

/// Returns all matrix elements that the switches name, including those of a whole output, of a P directory or of a
/// text.
pub fn locate_elements(argument: &OsString, switches: &Switches) -> Result<Vec<Located>> {
    let mut elements = Vec::new();
    for place in expand_outputs(std::slice::from_ref(argument)) {
        elements.extend(locate_every(&Switches {
            process: Some(ProcessChoice::parse(&place)),
            ..switches.clone()
        })?);
    }
    Ok(elements)
}

/// Returns the P directories of an output or of a directory, if the argument is not itself a P directory or a file.
pub fn p_directories(argument: &OsStr) -> Option<Vec<PathBuf>> {
    let choice = ProcessChoice::parse(argument);
    let path = choice.path;
    if choice.element.is_some() || !path.is_dir() {
        return None;
    }
    let mut folders = FOLDERS.iter().map(|folder| match folder.is_empty() {
        true => path.clone(),
        false => path.join(folder),
    });
    folders.find_map(|folder| {
        let entries = std::fs::read_dir(folder).ok()?.flatten();
        let inner = entries.map(|entry| entry.path());
        let mut found: Vec<PathBuf> = inner.filter(|path| is_p(path)).collect();
        // P2 comes before P10.
        found.sort_by_key(|path| (number(path), path.clone()));
        (!found.is_empty()).then_some(found)
    })
}

/// Whether the name is like those of MG5aMC's subprocess directories, `P1_gg_ttx`.
fn is_p(path: &Path) -> bool {
    number(path).is_some() && path.is_dir()
}

/// Returns the number of a P directory.
fn number(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    let (digits, _) = name.strip_prefix('P')?.split_once('_')?;
    digits.parse().ok()
}

/// Returns the files and P directories of the arguments: outputs are replaced by their P directories.
pub fn expand_outputs(arguments: &[OsString]) -> Vec<OsString> {
    let places = arguments
        .iter()
        .flat_map(|argument| match p_directories(argument) {
            Some(found) => found.into_iter().map(PathBuf::into_os_string).collect(),
            None => vec![argument.clone()],
        });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_have_numbers() {
        assert_eq!(number(Path::new("a/P12_gg_ttx")), Some(12));
        for other in ["P1", "Px_gg", "p1_gg", "PROC_sm_0", "G1"] {
            assert_eq!(number(Path::new(other)), None, "{other}");
        }
    }
}
