//! `mebridge umami`: makes a library that carries a process, for MadSpace and MadGraph7.

mod nlo;

use crate::link;
use crate::output::{self, OutputFile};
use crate::progress::Progress;
use crate::source::{self, CardedProcess};
use mebridge::describe::describe;
use mebridge::files::regular;
use mebridge::gpu::check_samples;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, ProcessChoice};
use mebridge::{Error, Result};
use mebridge_capi::umami::attached::{Carried, attach};
use mebridge_capi::umami::matrix_elements::check_compatible;
use mebridge_run::load::{asks_for_masses, mirrored, set_parameter};
use mebridge_support::sorted::SortedSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Make a library that carries a process, for MadSpace, MadGraph7 and whatever speaks UMAMI
///
/// FILE is a copy of libmebridge that answers the umami_* functions for this process only; no compiler is needed. The
/// description for samplers (channels as topologies, colour flows, helicities, flavours) is written next to it as JSON,
/// a list with one entry in the format of MadGraph7's subprocesses.json. A directory or a process such as 'p p > t t~'
/// may have several matrix elements with the same legs and masses: the flavour index selects one.
#[derive(clap::Args)]
pub struct Options {
    /// Process file, P* directory of an MG5aMC output (#N after it for its N-th matrix element), or a process such as
    /// 'g g > t t~'; several of them for one library
    #[arg(value_name = "FILE|DIR", required = true)]
    processes: Vec<OsString>,
    /// Library to write, by convention with the extension .so; with --nlo the folder for several
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// DIR is a subprocess directory of MadGraph7 with a nlo_real_manifest.json: make a library for each real emission in
    /// it, for the nlo_real_backend of this name (scalar, simd_256, ...) of the run card
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "backend", "set"])]
    nlo: Option<String>,
    /// File for the JSON, - for stdout [default: that of the library with the extension .json]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Parameter card to use if a caller names none [default: that of the output, or the values in the file]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    /// A parameter with a value other than the card's, such as mt=172.5; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    set: Vec<(String, f64)>,
    /// Where the callers' arrays are: in CPU memory or, with cuda or hip, in GPU memory [default: the value of
    /// CUDACPP_RUNTIME_BACKEND where the library is used, else cpu]
    #[arg(long, value_name = "cpu|cuda|hip", hide_possible_values = true)]
    backend: Option<Backend>,
    /// The library to copy [default: MEBRIDGE_LIBRARY, or the one installed with this command]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// The hardware that evaluates.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Backend {
    Cpu,
    Cuda,
    Hip,
}

impl Options {
    /// Makes the library.
    pub fn run(self) -> Result<()> {
        if let Some(name) = &self.nlo {
            return nlo::run(&self, name);
        }
        let mut sources = {
            let _progress = Progress::new("reading", 0);
            let mut sources = Vec::new();
            for process in &self.processes {
                sources.push(source::all_processes(process, self.card.as_deref())?);
            }
            sources
        };
        for (name, value) in &self.set {
            set_parameter(sources.iter_mut().flatten(), name, *value).map_err(|what| {
                Error::Call {
                    function: "--set",
                    what,
                }
            })?;
        }
        let each = |of: &Vec<CardedProcess>| of.iter().map(CardedProcess::with_card).collect();
        let each: Vec<Vec<Process>> = sources.iter().map(each).collect();
        let choices: Vec<ProcessChoice> = self.processes.iter().map(ProcessChoice::parse).collect();
        let mut exchanged = Vec::new();
        for (choice, processes) in choices.iter().zip(&each) {
            let processes: Vec<&Process> = processes.iter().collect();
            exchanged.extend(mirrored(choice, &processes)?);
        }
        let processes = each.concat();
        check_compatible(&processes)?;
        let library = link::library(self.library.as_deref())?;
        let bytes =
            regular::read(&library, link::MAX_LIBRARY_BYTES).map_err(Error::io(&library))?;
        let backend = match self.backend {
            None => BackendChoice::Auto,
            Some(Backend::Cpu) => BackendChoice::Cpu,
            Some(Backend::Cuda) => BackendChoice::Cuda,
            Some(Backend::Hip) => BackendChoice::Hip,
        };
        let gpu = matches!(backend, BackendChoice::Cuda | BackendChoice::Hip);
        if gpu {
            processes.iter().try_for_each(check_samples)?;
        }
        let copy = attach(&bytes, &library, &Carried::new(processes.clone(), backend))?;
        let json = match &self.json {
            Some(json) => json.clone(),
            None => self.output.with_extension("json"),
        };
        let names: SortedSet<_> = choices
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
        // Programs that have loaded the previous file keep it unchanged.
        let library = OutputFile::with_contents(&self.output, &copy, true)?;
        let description = output::json(&[description])?;
        // Both files or none.
        match json == Path::new("-") {
            true => {
                library.finish()?;
                output::print(&description)?;
            }
            false => {
                let beside = OutputFile::with_contents(&json, description.as_bytes(), false)?;
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

/// Parses NAME=VALUE.
fn parameter(text: &str) -> std::result::Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("it is no NAME=VALUE")?;
    match value.trim().parse() {
        Ok(number) if f64::is_finite(number) => Ok((name.trim().into(), number)),
        _ => Err(format!("`{value}` is no finite number")),
    }
}
