//! The output files of the command.
//!
//! Files get their names when they are complete; pipes, devices and symbolic links stay what they are; a file that was
//! read in the same run, or is already being written by it, is not overwritten.

use mebridge::files::inputs;
use mebridge::files::replace::Replacement;
use mebridge::files::temporary;
use mebridge::{Error, Result};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Paths of the outputs that were begun.
static BEGUN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An output; if it is dropped before [`OutputFile::finish`], the existing file stays.
pub struct OutputFile {
    file: Replacement,
    /// Path as named by the user.
    path: PathBuf,
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    OutputFile::with_contents(path, bytes, false)?.finish()
}

impl OutputFile {
    /// Begins an output.
    pub fn create(path: &Path) -> Result<OutputFile> {
        OutputFile::begin(path, false)
    }

    /// Writes an output with these contents; with `executable` it is executable for everyone who may read it.
    pub fn with_contents(path: &Path, bytes: &[u8], executable: bool) -> Result<OutputFile> {
        let mut target = OutputFile::begin(path, executable)?;
        target.write_all(bytes).map_err(Error::io(path))?;
        Ok(target)
    }

    fn begin(path: &Path, executable: bool) -> Result<OutputFile> {
        refuse_inputs(path);
        let file = Replacement::begin(path, executable).map_err(Error::io(path))?;
        if let Some(place) = file.path() {
            let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
            let place = std::path::absolute(place).map_err(Error::io(path))?;
            if begun.contains(&place) {
                refuse(path, "is another output of this run already");
            }
            begun.push(place);
        }
        Ok(OutputFile {
            file,
            path: path.to_owned(),
        })
    }

    /// Ends the program with an error if an input was read from this path, because some inputs are read only after the
    /// output was begun.
    pub fn refuse_inputs(&self) {
        refuse_inputs(&self.path);
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<()> {
        self.refuse_inputs();
        self.file.finish().map_err(Error::io(&self.path))
    }
}

/// Ends the program with an error if an input was read from this file, under any name.
fn refuse_inputs(path: &Path) {
    if path.metadata().is_ok_and(|file| inputs::was_read(&file)) {
        refuse(path, "is an input of this run");
    }
}

fn refuse(path: &Path, why: &str) -> ! {
    usage(&format!(
        "the output {} {why}, which would be lost; name another one",
        path.display()
    ))
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Ends the program with a message about wrong usage.
pub fn usage(what: &str) -> ! {
    // No destructors run.
    temporary::remove_all();
    clap::Error::raw(
        clap::error::ErrorKind::ValueValidation,
        format!("{what}\n\nFor more information, try '--help'.\n"),
    )
    .exit()
}
