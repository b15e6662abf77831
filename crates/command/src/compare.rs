//! `mebridge compare`: compares the Fortran of a directory, compiled unchanged, with mebridge.

mod matrix_element;
mod report;

use crate::bench::FIGURES_HINT;
use crate::output;
use crate::progress::Progress;
use matrix_element::FortranComparison;
pub use matrix_element::{CANCELLED, ROUNDING, difference};
use mebridge::files::regular;
use mebridge::{Error, Result};
use mebridge_oracle::compiler;
use mebridge_oracle::fortran_build::{FortranBuild, Objects};
use mebridge_oracle::tree::Tree;
use mebridge_oracle::{library, matrix_element::MatrixElement};
use report::{ComparisonRow, Verdict, table};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Longer files (bytes) are compiled without optimisation, which would take minutes.
const LONG: usize = 3 << 20;
/// Up to this number of events optimisation takes longer than it saves. (Results are the same: nothing is reordered.)
const FEW: u32 = 1000;
/// Largest size of a card, in bytes.
const MAX_CARD_BYTES: u64 = 64 << 20;

/// Compare with the Fortran of a directory, compiled by gfortran, on random events
///
/// DIR is a SubProcesses/P* directory of an MG5aMC output, its SubProcesses, or the output itself.
/// Nothing is written there. The exit code is 1 if any matrix element differs.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// P* directories, SubProcesses, or whole outputs of MG5aMC
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Events for each matrix element
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    points: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 20_200_805)]
    seed: u64,
    /// Relative difference above which a matrix element differs
    #[arg(long, value_name = "X", default_value_t = 1e-8)]
    tolerance: f64,
    /// Also compile in quadruple precision, and report the errors of both relative to it
    #[arg(long)]
    quad: bool,
    /// Compare channels, with their weights and with the choices of helicity and colour
    #[arg(long)]
    channels: bool,
    /// Evaluate the process by its definition instead of with the engine
    #[arg(long)]
    plain: bool,
    /// Parameter card [default: Cards/param_card.dat of the output]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    /// Seconds that one program may run
    #[arg(long, value_name = "S", default_value_t = 600)]
    limit: u64,
    /// Write the results as JSON to FILE (- for stdout, instead of the table)
    #[arg(short, long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Compare on the events of FILE (LHE, text or .npy) instead of random ones: those of the run to be checked
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Removed option that drew a histogram
    #[arg(long, value_name = "FILE", hide = true)]
    plot: Option<PathBuf>,
    /// Include the values of all events in the JSON, the Fortran's also if mebridge refuses
    #[arg(long, requires = "json")]
    values: bool,
}

impl Options {
    /// Runs.
    pub fn run(self) -> Result<ExitCode> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            output::usage("--tolerance must be a number from 0 on");
        }
        if self.plot.is_some() {
            output::usage(&format!(
                "--plot is no more: give --values --json FILE; {FIGURES_HINT}"
            ));
        }
        if !compiler::is_there() {
            return Err(Error::io("gfortran")(std::io::Error::other(
                "cannot be run; install it, the comparison is with what it compiles",
            )));
        }
        let directories = expand(&self.directories)?;
        let mut rows = Vec::new();
        {
            let progress = Progress::new("directories", directories.len() as u64);
            for directory in &directories {
                rows.extend(self.directory(directory)?);
                progress.step();
            }
        }
        match self.json.as_deref() {
            Some(path) => {
                if path != Path::new("-") {
                    output::print(&table(&rows))?;
                }
                output::write_json(path, &rows)?;
            }
            None => output::print(&table(&rows))?,
        }
        let differs = rows.iter().any(|row| row.verdict == Verdict::Differs);
        Ok(if differs {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    /// Compares all matrix elements of one directory.
    fn directory(&self, directory: &Path) -> Result<Vec<ComparisonRow>> {
        let mut tree = Tree::read(directory)?;
        if let Some(card) = &self.card {
            let text = regular::read_or_pipe(card, MAX_CARD_BYTES).map_err(Error::io(card))?;
            let text = String::from_utf8_lossy(&text).into_owned();
            tree.files.insert("Cards/param_card.dat".into(), text);
        }
        let elements = tree.elements();
        let long = |(_, file): &(String, PathBuf)| tree.text(file).map_or(0, str::len) > LONG;
        let few = self.points <= FEW && self.events.is_none();
        let optimisation = match few || elements.iter().any(long) {
            true => "-O0",
            false => "-O1",
        };
        let mut build = FortranBuild::open(tree.clone(), optimisation, false, Objects::ByFolder)?;
        let mut quad = match self.quad {
            true => Some(FortranBuild::open(
                tree.clone(),
                optimisation,
                true,
                Objects::ByFolder,
            )?),
            false => None,
        };
        let mut rows = Vec::new();
        for (i, (number, file)) in elements.iter().enumerate() {
            let mut row = ComparisonRow::new(directory, number, elements.len() > 1);
            let element = match MatrixElement::read(&tree, number, file) {
                Ok(element) => element,
                Err(reason) => {
                    row.verdict = Verdict::FortranFails(reason);
                    rows.push(row);
                    continue;
                }
            };
            row.process.clone_from(&element.name);
            let process = library::import(directory, self.card.as_deref(), i);
            let comparison = FortranComparison {
                options: self,
                directory,
                element,
                process: process.as_ref().map_err(String::clone),
            };
            comparison.fill(&mut row, &mut build, quad.as_mut())?;
            rows.push(row);
        }
        Ok(rows)
    }
}

/// Returns the P* directories that the arguments mean.
fn expand(directories: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for directory in directories {
        let subprocesses = directory.join("SubProcesses");
        let holder = match subprocesses.is_dir() {
            true => &subprocesses,
            false => directory,
        };
        let entries = std::fs::read_dir(holder).map_err(Error::io(holder))?;
        let mut inside: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with('P') && path.is_dir() && has_matrix(path)
            })
            .collect();
        inside.sort();
        if inside.is_empty() && !has_matrix(directory) {
            return Err(Error::NotProcessDirectory {
                path: directory.clone(),
                missing: "there is no matrix<i>.f in it, nor in a P* directory under it".into(),
            });
        }
        match inside.is_empty() {
            true => found.push(directory.clone()),
            false => found.append(&mut inside),
        }
    }
    Ok(found)
}

fn has_matrix(directory: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("matrix") && name.ends_with(".f")
    })
}

/// A build, or the reason why the Fortran cannot be compiled.
type Opened = std::result::Result<FortranBuild, String>;
