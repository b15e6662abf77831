//! Reads an LHE file in pieces, without losing any of its bytes, and writes the new file.

use crate::decompress;
use crate::eval::warn_if_cut;
use crate::output;
use flate2::Compression;
use flate2::write::GzEncoder;
use mebridge::lhe::{Event, Head, Reader};
use mebridge::{Error, Result};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Maximum size of several events in memory, in bytes.
const MAX_CHUNK_BYTES: usize = 1 << 28;

/// The pieces of a file.
pub struct Pieces {
    reader: Reader,
}

impl Pieces {
    /// Opens a file, gzipped or not.
    pub fn open(path: &Path) -> Result<Pieces> {
        let input = decompress::open(path)?.input;
        let reader = Reader::new(Box::new(input), path, true)?;
        Ok(Pieces { reader })
    }

    /// Returns the text before the first event.
    pub fn head(&self) -> &Head {
        self.reader.head()
    }

    /// Reads at most `most` further events, fewer if they are long, and returns their number.
    pub fn fill(&mut self, chunk: &mut Vec<Event>, most: usize) -> Result<usize> {
        chunk.clear();
        let mut bytes = 0;
        while chunk.len() < most && bytes < MAX_CHUNK_BYTES {
            let mut event = Event::default();
            let more = self.reader.next(&mut event)?;
            if let Some(line) = self.reader.second() {
                return Err(self.reader.error(format!(
                    "line {line}: a second file begins, with a header of its own; reweight them one by one"
                )));
            }
            if !more {
                break;
            }
            bytes += event.before.len() + event.text.len();
            chunk.push(event);
        }
        Ok(chunk.len())
    }

    /// Returns the text after the last event.
    pub fn rest(&self) -> &[u8] {
        self.reader.rest()
    }

    /// Prints a warning if the file may be truncated.
    pub fn warn(&self) {
        warn_if_cut(&self.reader);
    }
}

/// Returns the line ending of the first line of a text.
pub fn end_of_line(text: &[u8]) -> &'static str {
    let at = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    match at.map(|at| &text[at..]) {
        Some([b'\r', b'\n', ..]) => "\r\n",
        Some([b'\r', ..]) => "\r",
        _ => "\n",
    }
}

/// Returns the name of a file with `after` appended to its stem.
pub fn with_stem_suffix(path: &Path, after: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".lhe.gz", ".lhe", ".gz"];
    let end = ends.into_iter().find(|end| name.ends_with(end));
    let end = end.unwrap_or_default();
    let stem = &name[..name.len() - end.len()];
    path.with_file_name(format!("{stem}{after}{end}"))
}

/// A file that gets its name when it is complete; gzipped if its name says so.
pub struct EventOutput {
    out: Box<dyn Finish>,
    path: PathBuf,
}

/// A destination with an end.
trait Finish: Write {
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file with a buffer.
struct Plain(BufWriter<output::OutputFile>, PathBuf);

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Finish for Plain {
    fn finish(self: Box<Self>) -> Result<()> {
        let Plain(file, path) = *self;
        let file = file.into_inner().map_err(|error| error.into_error());
        file.map_err(Error::io(path))?.finish()
    }
}

impl Finish for GzEncoder<Plain> {
    fn finish(self: Box<Self>) -> Result<()> {
        let path = self.get_ref().1.clone();
        let plain = GzEncoder::finish(*self).map_err(Error::io(path))?;
        Box::new(plain).finish()
    }
}

impl EventOutput {
    /// Begins the file.
    pub fn create(path: &Path) -> Result<EventOutput> {
        let file = BufWriter::with_capacity(1 << 20, output::OutputFile::create(path)?);
        let file = Plain(file, path.into());
        let gzipped = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        let out: Box<dyn Finish> = match gzipped {
            true => Box::new(GzEncoder::new(file, Compression::default())),
            false => Box::new(file),
        };
        Ok(EventOutput {
            out,
            path: path.into(),
        })
    }

    /// Writes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(Error::io(&self.path))
    }

    /// Completes the file, and gives it its name.
    pub fn finish(self) -> Result<()> {
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_keep_their_ends() {
        let beside = |name: &str| {
            with_stem_suffix(Path::new(name), "_rwgt")
                .display()
                .to_string()
        };
        assert_eq!(beside("a/events.lhe.gz"), "a/events_rwgt.lhe.gz");
        assert_eq!(beside("events.lhe"), "events_rwgt.lhe");
        assert_eq!(beside("events"), "events_rwgt");
    }
}
