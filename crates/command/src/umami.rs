//! `mebridge umami`: a library that carries a process, for MadSpace and MadGraph7.

use crate::link;
use crate::output::{self, OutputFile};
use crate::progress::Progress;
use crate::source::{self, CardedProcess};
use mebridge::describe::describe;
use mebridge::files::regular;
use mebridge::generate::arrow_apart;
use mebridge::gpu::samples_run;
use mebridge::locate::process_text;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, ProcessChoice};
use mebridge::{Error, Result};
use mebridge_capi::umami::attached::attach;
use mebridge_capi::umami::matrix_elements::fit_together;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Make a library that carries a process, for MadSpace, MadGraph7 and whatever speaks UMAMI
///
/// FILE is a copy of libmebridge that answers the umami_* functions for this process alone; no compiler is needed. What
/// a sampler has to know (channels as topologies, colour flows, helicities, flavours) is written beside it as JSON, a
/// list with one entry in the words of MadGraph7's subprocesses.json. A directory or a process such as 'p p > t t~' may
/// hold several matrix elements with the same legs and masses: the flavour index tells them apart.
#[derive(clap::Args)]
pub struct Options {
    /// Process file, P* directory of an MG5aMC output (#N behind it for its N-th matrix element), or a process such as
    /// 'g g > t t~'; several of them for one library
    #[arg(value_name = "FILE|DIR", required = true)]
    processes: Vec<OsString>,
    /// Library to write, by custom with the extension .so
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// File for the JSON, - for stdout [default: that of the library with the extension .json]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Parameter card whose values hold where a caller names none [default: that of the output, or those in the file]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    /// A parameter of the card with another value, such as mt=172.5; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    set: Vec<(String, f64)>,
    /// What evaluates: arrays of callers lie in the memory of the CPU or, with cuda or hip, of a GPU [default: what
    /// CUDACPP_RUNTIME_BACKEND says where the library is used, else cpu]
    #[arg(long, value_name = "cpu|cuda|hip", hide_possible_values = true)]
    backend: Option<Backend>,
    /// The library to copy [default: MEBRIDGE_LIBRARY, or the one installed with this command]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// No table of a directory is longer.
const LONGEST: u64 = 64 << 20;

/// What evaluates.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Backend {
    Cpu,
    Cuda,
    Hip,
}

impl Options {
    /// Makes it.
    pub fn run(self) -> Result<()> {
        let mut sources = {
            let _progress = Progress::new("reading", 0);
            let mut sources = Vec::new();
            for process in &self.processes {
                sources.push(source::all(process, self.card.as_deref())?);
            }
            sources
        };
        for (name, value) in &self.set {
            set(&mut sources, name, *value)?;
        }
        let each = |of: &Vec<CardedProcess>| of.iter().map(CardedProcess::with_card).collect();
        let each: Vec<Vec<Process>> = sources.iter().map(each).collect();
        let choices: Vec<ProcessChoice> = self.processes.iter().map(ProcessChoice::parse).collect();
        let mut exchanged = Vec::new();
        for (choice, processes) in choices.iter().zip(&each) {
            exchanged.extend(mirrored(choice, processes)?);
        }
        let processes = each.concat();
        fit_together(&processes)?;
        let library = link::library(self.library.as_deref())?;
        let bytes = regular::read(&library, link::LARGEST_LIBRARY).map_err(Error::io(&library))?;
        let backend = match self.backend {
            None => BackendChoice::Auto,
            Some(Backend::Cpu) => BackendChoice::Cpu,
            Some(Backend::Cuda) => BackendChoice::Cuda,
            Some(Backend::Hip) => BackendChoice::Hip,
        };
        let gpu = matches!(backend, BackendChoice::Cuda | BackendChoice::Hip);
        if gpu {
            processes.iter().try_for_each(samples_run)?;
        }
        let copy = attach(&bytes, &library, &processes, backend)?;
        let json = match &self.json {
            Some(json) => json.clone(),
            None => self.output.with_extension("json"),
        };
        let names: BTreeSet<_> = choices
            .iter()
            .map(|choice| choice.path.to_string_lossy())
            .collect();
        let text = Vec::from_iter(names).join("; ");
        let description = describe(
            &processes,
            &exchanged,
            &self.output.to_string_lossy(),
            &text,
        )?;
        if choices.iter().any(|choice| asks_for_masses(&choice.path)) {
            output::warn(
                "decayBW.inc of this directory asks for particles on their mass shell, or not on it ($); the JSON does \
                 not (on_shell_propagators and off_shell_propagators are empty), so a sampler integrates over all their \
                 virtualities",
            );
        }
        // Where the former one is loaded it stays what it is.
        let library = OutputFile::with(&self.output, &copy, true)?;
        let description = output::json(&[description])?;
        // Both or none.
        match json == Path::new("-") {
            true => {
                library.finish()?;
                output::print(&description)?;
            }
            false => {
                let beside = OutputFile::with(&json, description.as_bytes(), false)?;
                library.finish()?;
                beside.finish()?;
            }
        }
        if json != Path::new("-") {
            let names: Vec<&str> = processes.iter().map(|p| p.name.as_str()).collect();
            output::print(&format!(
                "{}: {}, {} bytes\n{}: channels, colour flows, helicities, flavours\n",
                self.output.display(),
                names.join(", "),
                copy.len(),
                json.display(),
            ))?;
        }
        Ok(())
    }
}

/// NAME=VALUE.
fn parameter(text: &str) -> std::result::Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("it is no NAME=VALUE")?;
    match value.trim().parse() {
        Ok(number) if f64::is_finite(number) => Ok((name.trim().into(), number)),
        _ => Err(format!("`{value}` is no finite number")),
    }
}

/// Gives a parameter another value in all matrix elements that have it.
fn set(sources: &mut [Vec<CardedProcess>], name: &str, value: f64) -> Result<()> {
    let mut known = BTreeSet::new();
    let mut found = false;
    for source in sources.iter_mut().flatten() {
        let model = &source.process.model;
        match model.card_parameter(name) {
            Some(number) => {
                source.card[number] = value;
                found = true;
            }
            None => known.extend(model.card.iter().map(|p| p.name.clone())),
        }
    }
    match found {
        true => Ok(()),
        false => Err(Error::Call {
            function: "--set",
            what: format!(
                "there is no parameter {name}; there are {}",
                Vec::from_iter(known).join(", ")
            ),
        }),
    }
}

/// Which matrix elements stand for the process with both beams exchanged, too: what mirrorprocs.inc of a directory
/// says; of a generated process those with different beams where each beam may be either.
fn mirrored(choice: &ProcessChoice, processes: &[Process]) -> Result<Vec<bool>> {
    if let Some(text) = process_text(&choice.path) {
        let same = text.split([';', '\n']).filter_map(either_beam);
        let same: BTreeSet<bool> = same.collect();
        if same.len() > 1 {
            return Err(Error::Import {
                path: choice.path.clone(),
                what: "its beams are the same in some processes and different in others; make a library for each"
                    .to_owned(),
            });
        }
        let same = same.contains(&true);
        let differ = |p: &Process| p.legs.len() > 1 && p.legs[0].pdg != p.legs[1].pdg;
        return Ok(processes.iter().map(|p| same && differ(p)).collect());
    }
    let none = vec![false; processes.len()];
    let table = choice.path.join("mirrorprocs.inc");
    let text = match regular::read_to_string(&table, LONGEST) {
        Ok(text) => text,
        // A process file, or a standalone output.
        Err(_) if !table.exists() => return Ok(none),
        Err(error) => return Err(Error::io(&table)(error)),
    };
    // DATA (MIRRORPROCS(I),I=1,2)/.FALSE.,.TRUE./
    let text = text.to_ascii_uppercase();
    let values: Vec<bool> = text
        .split(['/', ',', '\n'])
        .filter_map(|word| match word.trim() {
            ".TRUE." => Some(true),
            ".FALSE." => Some(false),
            _ => None,
        })
        .collect();
    match choice.element {
        Some(n) if n <= values.len() => Ok(vec![values[n - 1]]),
        None if values.len() == processes.len() => Ok(values),
        _ => Err(Error::Import {
            path: table,
            what: format!(
                "it has {} values for {} matrix elements",
                values.len(),
                processes.len()
            ),
        }),
    }
}

/// Whether both beams of a statement are the same label or particle; none of `define` and `set`, which have no process.
fn either_beam(statement: &str) -> Option<bool> {
    let text = arrow_apart(statement);
    let mut words = text.split_whitespace().peekable();
    while words
        .next_if(|w| ["generate", "add", "process"].contains(w))
        .is_some()
    {}
    let words: Vec<&str> = words.take(3).collect();
    match words[..] {
        [] | ["define" | "set", ..] => None,
        [one, other, ">"] => Some(one == other),
        _ => Some(false),
    }
}

/// Whether a directory asks for lines on their mass shell (decay chains) or not on it (`$`), which the JSON does not.
fn asks_for_masses(directory: &Path) -> bool {
    let text = regular::read_to_string(&directory.join("decayBW.inc"), LONGEST);
    let asks = |text: String| {
        let text = text.to_ascii_uppercase().replace(' ', "");
        // The last is MG5aMC's until 2.
        ["/1/", "/2/", "/.TRUE./"]
            .iter()
            .any(|value| text.contains(value))
    };
    text.is_ok_and(asks)
}

#[cfg(test)]
mod tests {
    use super::{asks_for_masses, either_beam};

    #[test]
    fn what_a_directory_asks_of_masses_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        for (text, asks) in [
            ("      DATA GFORCEBW(-1,1)/0/\n", false),
            (
                "      DATA GFORCEBW(-1,1)/0/\n      DATA GFORCEBW(-1,2)/1/\n",
                true,
            ),
            ("      DATA GFORCEBW(-1,2) / 2 /\n", true),
            ("      data gForceBW(-1,1)/.true./\n", true),
        ] {
            std::fs::write(folder.path().join("decayBW.inc"), text).unwrap();
            assert_eq!(asks_for_masses(folder.path()), asks, "{text}");
        }
        assert!(!asks_for_masses(&folder.path().join("none")));
    }

    #[test]
    fn statements_before_the_process_do_not_hide_its_beams() {
        let text = "define p = p b b~; p p>t t~; add process u u~ > t t~";
        let found: Vec<_> = text.split(';').map(either_beam).collect();
        assert_eq!(found, [None, Some(true), Some(false)]);
    }
}
