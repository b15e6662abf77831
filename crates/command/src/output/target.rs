//! The files that the command writes.
//!
//! All go through here. They take their names when they are whole; pipes, devices and symbolic links stay what they are;
//! and what was read in the same run, or is written by it already, is not written over.

use super::usage;
use mebridge::files::inputs;
use mebridge::files::replace::Replacement;
use mebridge::{Error, Result};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The outputs that were begun.
static BEGUN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// An output; dropped before [`OutputFile::finish`] it leaves what was there.
pub struct OutputFile {
    file: Replacement,
    /// As the user names it.
    path: PathBuf,
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    OutputFile::with(path, bytes, false)?.finish()
}

impl OutputFile {
    /// Begins an output.
    pub fn create(path: &Path) -> Result<OutputFile> {
        OutputFile::begin(path, false)
    }

    /// An output with these contents; with `executable` whoever may read it may run it.
    pub fn with(path: &Path, bytes: &[u8], executable: bool) -> Result<OutputFile> {
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

    /// Ends with an error where an input has been read from its place, as some are read only after the output was begun.
    pub fn refuse_inputs(&self) {
        refuse_inputs(&self.path);
    }

    /// Gives it its name.
    pub fn finish(self) -> Result<()> {
        self.refuse_inputs();
        self.file.finish().map_err(Error::io(&self.path))
    }
}

/// Two names may lead to one file.
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
