//! Reads a file with events, in any format, in chunks.

use super::chunk::{Chunk, ElementOrigin};
use super::lhe::Lhe;
use super::lines::LineReader;
use super::npy::{self, Npy};
use super::text::TextEvents;
use crate::decompress::{self, Decompressed};
use mebridge::lhe::{Reader, broken};
use mebridge::{Error, Result};
use std::io::Read;
use std::path::Path;

/// Byte order mark that some editors put before UTF-8 text.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A file with events.
pub enum Input {
    /// Numbers as text.
    Text(TextEvents),
    /// A NumPy array.
    Npy(Npy),
    /// A Les Houches event file.
    Lhe(Box<Lhe>),
}

impl Input {
    /// Opens a file (`-`: stdin) for the events of these matrix elements; if there are several, the particles decide to
    /// which one an event belongs. With `skip_others` events with other particles are left out.
    pub fn open(path: &Path, known: &[ElementOrigin], skip_others: bool) -> Result<Input> {
        let stdin = path == Path::new("-");
        let path = name(path);
        let wrong = |what: &str| Error::EventsFile {
            path: path.to_path_buf(),
            what: what.into(),
        };
        let legs = known.first().map_or(0, |one| one.process.legs.len());
        let failed = |error| broken(path, error, "at its beginning");
        let Decompressed {
            mut input,
            mut first,
            file,
        } = match stdin {
            true => decompress::from_input(Box::new(std::io::stdin().lock()), None, path)?,
            false => decompress::open(path)?,
        };
        if first.starts_with(BOM) {
            first.drain(..BOM.len());
            input.read_exact(&mut [0; BOM.len()]).map_err(failed)?;
        }
        if first.is_empty() {
            return Err(wrong("the file is empty"));
        }
        let numbers = || match known {
            [_] => Ok(()),
            _ => Err(wrong(&alone(known))),
        };
        if first.starts_with(npy::MAGIC) {
            numbers()?;
            return Npy::open(input, file, path, legs).map(Input::Npy);
        }
        if first.contains(&0) {
            return Err(wrong(
                "this is neither text nor a .npy array nor an LHE file",
            ));
        }
        match first.iter().find(|c| !c.is_ascii_whitespace()) {
            Some(b'<') => {
                let reader = Reader::new(Box::new(input), path, false)?;
                Lhe::new(reader, known, skip_others).map(|lhe| Input::Lhe(Box::new(lhe)))
            }
            _ => {
                numbers()?;
                Ok(Input::Text(TextEvents::new(
                    LineReader::new(input, path),
                    legs,
                )))
            }
        }
    }

    /// Returns the name of the format.
    pub fn format(&self) -> &'static str {
        match self {
            Input::Text(_) => "text",
            Input::Npy(_) => "npy",
            Input::Lhe(_) => "lhe",
        }
    }

    /// Whether each event has its own alpha_s.
    pub fn has_alpha_s(&self) -> bool {
        matches!(self, Input::Lhe(_))
    }

    /// Reads at most `most` further events, and returns their number.
    pub fn fill(&mut self, chunk: &mut Chunk, most: usize) -> Result<usize> {
        chunk.clear();
        while chunk.rows.len() < most {
            let more = match self {
                Input::Text(text) => text.next(chunk)?,
                Input::Lhe(lhe) => lhe.next(chunk)?,
                Input::Npy(npy) => {
                    npy.fill(chunk, most)?;
                    false
                }
            };
            if !more {
                break;
            }
        }
        Ok(chunk.rows.len())
    }

    /// Reports unusual properties of the file on stderr, after its last event.
    pub fn warn(&self) {
        if let Input::Lhe(lhe) = self {
            lhe.warn();
        }
    }
}

/// Explains why numbers without particles are not sufficient.
fn alone(known: &[ElementOrigin]) -> String {
    let lines = known
        .iter()
        .map(|one| format!("\n  {}: {}", one.place, one.process.name));
    let lines: String = lines.collect();
    format!(
        "numbers do not say of which of {} matrix elements an event is; give an LHE file, or name one of them:{lines}",
        known.len()
    )
}

/// Returns the name of a file for messages.
pub fn name(path: &Path) -> &Path {
    match path == Path::new("-") {
        true => Path::new("stdin"),
        false => path,
    }
}
