//! `mebridge merge`: merges event files into one.

use crate::{decompress, output};
use mebridge::Result;
use mebridge_run::merge::merge;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Join event files into one, with their cross sections and weights
///
/// For files of one process the cross section is the mean of theirs; those of several processes are added. Files with
/// other beams, models, cards or weights are refused.
#[derive(clap::Args)]
pub struct Options {
    /// LHE files, gzipped or not: of mebridge, MG5aMC or others
    #[arg(value_name = "EVENTS", required = true)]
    files: Vec<PathBuf>,
    /// The file to write, gzipped if its name ends in .gz
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

impl Options {
    /// Merges the files.
    pub fn run(self) -> Result<()> {
        let open =
            |path: &Path| -> Result<Box<dyn Read>> { Ok(Box::new(decompress::open(path)?.input)) };
        let merged = merge(&self.files, &self.output, &open)?;
        for notice in &merged.notices {
            output::warn(notice);
        }
        let shown = |(mean, error): (f64, f64)| format!("{mean:.6e} +- {error:.2e} pb");
        let mut text = format!(
            "{}: {} events of {} files, {}\n",
            self.output.display(),
            merged.events,
            self.files.len(),
            shown(merged.cross_section())
        );
        if merged.processes.len() > 1 {
            for (number, measured) in &merged.processes {
                text += &format!("LPRUP {number}: {}\n", shown(*measured));
            }
        }
        output::print(&text)
    }
}
