//! `mebridge generate`: from the name of a process to process files.

use crate::progress::Progress;
use crate::{import, output, source};
use mebridge::Result;
use std::path::PathBuf;

/// Generate a process of the Standard Model and write it to a file
///
/// The process is written as for MG5aMC: 'g g > t t~ g', 'p p > z j QED=1', 'e+ e- > mu+ mu- / z'. Without coupling
/// orders the lowest WEIGHTED with diagrams is taken. Labels (p, j, l+, l-, vl, vl~) may give several matrix elements:
/// FILE with the number before its extension. All other commands take a process in the place of a file, too.
#[derive(clap::Args)]
pub struct Options {
    /// The process, with spaces around its particles
    #[arg(value_name = "PROCESS")]
    process: String,
    /// File to write, by custom with the extension .mebridge
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Parameter card whose values become the file's [default: those of MG5aMC's default card]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
}

impl Options {
    /// Generates.
    pub fn run(self) -> Result<()> {
        let sources = {
            let _progress = Progress::new("generating", 0);
            source::generated(&self.process, self.card.as_deref())?
        };
        output::print(&import::write(sources, &self.output)?)
    }
}
