//! `mebridge generate`: generates process files from the name of a process.

use crate::model::SchemeOptions;
use crate::progress::Progress;
use crate::source::CardedProcess;
use crate::{import, output, source};
use mebridge::generate::MatrixElements;
use mebridge::generate::lines::DiagramLines;
use mebridge::models;
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge::{Result, export};
use mebridge_support::sorted::SortedMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Generate a process of the Standard Model or of another one, and write it to a file
///
/// The process is written as for MG5aMC: 'g g > t t~ g', 'p p > z j QED=1', 'e+ e- > mu+ mu- / z'. Without coupling
/// orders the lowest WEIGHTED with diagrams is used. Labels (p, j, l+, l-, vl, vl~) may give several matrix elements:
/// FILE with the number before its extension; '#N' after the process selects the N-th only. All other commands accept a
/// process instead of a file, too. With --fortran the process is written as standalone Fortran, for a check or for
/// other programs: DIR/SubProcesses/P* with a makefile in each, in the layout of an MG5aMC output.
#[derive(clap::Args)]
pub struct Options {
    /// The process, with spaces around its particles
    #[arg(value_name = "PROCESS")]
    process: String,
    /// File to write, by convention with the extension .mebridge
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["fortran", "lines"])]
    output: Option<PathBuf>,
    /// New directory to write Fortran to, which gfortran compiles and every command reads as an MG5aMC output
    #[arg(long, value_name = "DIR")]
    fortran: Option<PathBuf>,
    /// File for the lines of all diagrams with their particles and coupling orders, and the model's parameter card, as
    /// JSON: the input for clustering events
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Model: a file (see mebridge model), or a UFO folder, restricted by its restrict_default.dat if there is one;
    /// append -X to the folder for its restrict_X.dat, -full for none [default: CUDACPP_RUNTIME_MODEL, which all
    /// commands obey, else the Standard Model]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    scheme: SchemeOptions,
    /// Parameter card whose values are stored in the file [default: those of MG5aMC's default card]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
}

impl Options {
    /// Generates the process.
    pub fn run(self) -> Result<()> {
        let switches = Switches::from_env()?;
        let model = self.model.as_deref().or(switches.model.as_deref());
        let model = models::named(model, self.scheme.scheme());
        if let Some(file) = &self.lines {
            lines(&self.process, model.as_deref(), file)?;
        }
        if self.fortran.is_none() && self.output.is_none() {
            return Ok(());
        }
        let sources = {
            let _progress = Progress::patient("generating");
            source::generated_processes(&self.process, model.as_deref(), self.card.as_deref())?
        };
        let mut report = String::new();
        if let Some(directory) = &self.fortran {
            report += &fortran(&sources, directory)?;
        }
        if let Some(file) = &self.output {
            report += &import::write(sources, file)?;
        }
        output::print(&report)
    }
}

/// Writes the lines of diagrams.
fn lines(text: &str, named: Option<&Path>, file: &Path) -> Result<()> {
    let model = models::model(models::for_process(text, named).as_deref())?;
    let elements = MatrixElements::parse(text, &model)?;
    let found: Vec<Option<DiagramLines>> = (0..elements.len())
        .map(|place| elements.lines(place))
        .collect::<Result<_>>()?;
    // Scales of the blocks whose parameters run.
    let scales = model.running.iter();
    let scales = scales.filter(|set| set.refused.is_none());
    let scales: SortedMap<&str, f64> = scales.map(|set| (set.block.as_str(), set.scale)).collect();
    output::write_json(
        file,
        &serde_json::json!({ "card": model.card, "scales": scales, "elements": found }),
    )
}

/// Writes the Fortran of processes with the values of their cards; returns a line about each.
fn fortran(sources: &[CardedProcess], directory: &Path) -> Result<String> {
    let processes: Vec<Process> = sources.iter().map(CardedProcess::with_card).collect();
    let folders = export::write(&processes, directory)?;
    let mut report = String::new();
    for (process, folder) in processes.iter().zip(folders) {
        let folder = directory.join(folder);
        let _ = writeln!(
            report,
            "{}: {}",
            folder.display(),
            source::name_and_counts(process)
        );
    }
    Ok(report)
}
