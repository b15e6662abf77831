//! `mebridge-tools written`: lines of `crates/run/src/written.txt` for another version of MG5aMC.

use mebridge::Result;
use mebridge_command::output;
use mebridge_run::written::rows;
use std::path::PathBuf;

/// Print the routines of cuts and scales that a version of MG5aMC writes: lines of crates/run/src/written.txt
#[derive(clap::Args)]
pub struct Options {
    /// An unmodified output, or Template/LO of MG5aMC
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Version of that MG5aMC
    version: String,
}

impl Options {
    /// Prints the lines.
    pub fn run(self) -> Result<()> {
        let lines = rows(&self.folder)?.into_iter();
        let text: String = lines
            .map(|line| format!("{line} {}\n", self.version))
            .collect();
        output::print(&text)
    }
}
