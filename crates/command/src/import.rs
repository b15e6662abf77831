//! `mebridge import`: converts a directory written by MG5aMC to process files.

use crate::output::{self, OutputFile};
use crate::progress::Progress;
use crate::source::{self, CardedProcess};
use mebridge::Result;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Read a directory that MG5aMC wrote and write the process to a file
///
/// The directory is a SubProcesses/P* directory of an MG5aMC output. All that is needed
/// afterwards is in the file. A directory with several matrix elements (matrix1.f, matrix2.f, ...)
/// gives several files, FILE with the number before its extension; DIR#N takes the N-th only.
#[derive(clap::Args)]
pub struct Options {
    /// P* directory of an MG5aMC output, #N after it for its N-th matrix element
    #[arg(value_name = "DIR")]
    directory: OsString,
    /// File to write, by custom with the extension .mebridge
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Parameter card whose values become the file's [default: Cards/param_card.dat of the output]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
}

impl Options {
    /// Imports the directory.
    pub fn run(self) -> Result<()> {
        let sources = {
            let _progress = Progress::new("reading", 0);
            source::directory(&self.directory, self.card.as_deref())?
        };
        output::print(&write(sources, &self.output)?)
    }
}

/// Writes processes with the values of their cards, each to its own file; returns a line about each.
pub fn write(sources: Vec<CardedProcess>, output: &Path) -> Result<String> {
    let several = sources.len() > 1;
    let mut report = String::new();
    let mut files = Vec::new();
    for source in sources {
        let file = if several {
            numbered(output, source.number)
        } else {
            output.to_owned()
        };
        let process = source.with_card();
        let bytes = process.to_bytes()?;
        files.push(OutputFile::with_contents(&file, &bytes, false)?);
        let _ = writeln!(
            report,
            "{}: {}, {} bytes",
            file.display(),
            source::name_and_counts(&process),
            bytes.len(),
        );
    }
    // Only after all are complete: an error leaves none of them.
    files.into_iter().try_for_each(OutputFile::finish)?;
    Ok(report)
}

/// `out.mebridge` becomes `out.2.mebridge`.
fn numbered(file: &Path, number: usize) -> PathBuf {
    match file.extension() {
        Some(extension) => {
            let mut last = OsString::from(format!("{number}."));
            last.push(extension);
            file.with_extension(last)
        }
        None => file.with_extension(number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_before_the_extension() {
        let name = |file: &str| numbered(Path::new(file), 2).display().to_string();
        assert_eq!(name("a/out.mebridge"), "a/out.2.mebridge");
        assert_eq!(name("out"), "out.2");
    }
}
