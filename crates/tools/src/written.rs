//! `mebridge-tools written`: lines of `crates/run/src/written.txt` for another version of MG5aMC.

use mebridge::Result;
use mebridge_command::output;
use mebridge_run::written::{rows, statement_rows};
use std::path::PathBuf;

/// Print the routines of cuts and scales that a version of MG5aMC writes: lines of crates/run/src/written.txt
#[derive(clap::Args)]
pub struct Options {
    /// An unmodified output, or Template/LO of MG5aMC
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Version of that MG5aMC
    version: String,
    /// Lines of crates/run/src/statements.txt instead: the statements of PASSCUTS
    #[arg(long)]
    cuts: bool,
}

impl Options {
    /// Prints the lines.
    pub fn run(self) -> Result<()> {
        let line = |line: String| match self.cuts {
            true => format!("{line}\n"),
            false => format!("{line} {}\n", self.version),
        };
        let lines = match self.cuts {
            true => statement_rows(&self.folder)?,
            false => rows(&self.folder)?,
        };
        let text: String = lines.into_iter().map(line).collect();
        output::print(&text)
    }
}
