//! An LHE file in pieces, none of whose bytes is lost, and the file that is written.

use crate::eval::{GZIP, MOST_EMPTY, begins, broken, ends_without};
use crate::output;
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use mebridge::files::inputs;
use mebridge::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// No header and no event is longer, and no more is kept of several. A few kilobytes, compressed, can be gigabytes.
const LONGEST: usize = 1 << 28;

/// An event.
pub struct Piece {
    /// What stands between the event before and this one.
    pub before: Vec<u8>,
    /// From `<event>` to `</event>`, ends of lines included.
    pub event: Vec<u8>,
    /// Its number and its line, both from 1.
    pub number: u64,
    pub line: u64,
}

/// The pieces of a file.
pub struct Pieces {
    input: Box<dyn BufRead>,
    path: PathBuf,
    line: u64,
    events: u64,
    /// The first line of the next event, once it was read.
    next: Option<Vec<u8>>,
    before: Vec<u8>,
    /// Empty lines behind the last that was not.
    empty: u64,
}

impl Pieces {
    /// Opens a file, gzipped or not.
    pub fn open(path: &Path) -> Result<Pieces> {
        let file = File::open(path).map_err(Error::io(path))?;
        inputs::note(&file.metadata().map_err(Error::io(path))?);
        let mut input = BufReader::with_capacity(1 << 20, file);
        let first = input.fill_buf().map_err(Error::io(path))?;
        let input: Box<dyn BufRead> = match first.starts_with(GZIP) {
            true => Box::new(BufReader::with_capacity(
                1 << 20,
                MultiGzDecoder::new(input),
            )),
            false => Box::new(input),
        };
        Ok(Pieces {
            input,
            path: path.into(),
            line: 0,
            events: 0,
            next: None,
            before: Vec::new(),
            empty: 0,
        })
    }

    fn error(&self, what: String) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what,
        }
    }

    /// Adds the next line to some bytes; false at the end of the file.
    fn line(&mut self, to: &mut Vec<u8>) -> Result<bool> {
        let (at, room) = (to.len(), LONGEST + 1 - to.len());
        let read = self
            .input
            .by_ref()
            .take(room as u64)
            .read_until(b'\n', to)
            .map_err(|error| broken(&self.path, error, &format!("behind line {}", self.line)))?;
        self.line += 1;
        if to.len() > LONGEST {
            return Err(self.error(format!(
                "line {}: more than {LONGEST} bytes without an event; is this an LHE file?",
                self.line
            )));
        }
        self.empty = match to[at..].trim_ascii().is_empty() {
            true => self.empty + 1,
            false => 0,
        };
        if self.empty > MOST_EMPTY {
            return Err(self.error(format!(
                "there are more than {MOST_EMPTY} empty lines up to line {}; is this an LHE file?",
                self.line
            )));
        }
        Ok(read > 0)
    }

    /// What comes before the first event.
    pub fn header(&mut self) -> Result<Vec<u8>> {
        self.find()?;
        Ok(std::mem::take(&mut self.before))
    }

    /// Goes to the next event. Banners and comments may hold anything.
    fn find(&mut self) -> Result<()> {
        let mut until: Option<&str> = None;
        loop {
            let at = self.before.len();
            let mut all = std::mem::take(&mut self.before);
            let more = self.line(&mut all);
            self.before = all;
            if !more? {
                return match until {
                    Some(end) => Err(self.error(format!("there is no {end}; the file is cut off"))),
                    None => Ok(()),
                };
            }
            let line = String::from_utf8_lossy(&self.before[at..]);
            let text = line.trim();
            if let Some(end) = until {
                if text.contains(end) {
                    until = None;
                }
            } else if begins(text, "<event") {
                self.next = Some(self.before.split_off(at));
                return Ok(());
            } else if begins(text, "<header") && !text.contains("</header>") {
                until = Some("</header>");
            } else if text.starts_with("<!--") && !text.contains("-->") {
                until = Some("-->");
            }
        }
    }

    /// The next events, at most so many and fewer where they are long, and how many there were.
    pub fn fill(&mut self, chunk: &mut Vec<Piece>, most: usize) -> Result<usize> {
        chunk.clear();
        let mut bytes = 0;
        while chunk.len() < most && bytes < LONGEST {
            let Some(mut event) = self.next.take() else {
                break;
            };
            self.events += 1;
            let line = self.line;
            loop {
                let at = event.len();
                if !self.line(&mut event)? {
                    return Err(self.error(format!(
                        "the file ends within event {} (line {line}); it was cut off, copy or make it again",
                        self.events
                    )));
                }
                let text = String::from_utf8_lossy(&event[at..]);
                if text.trim_start().starts_with("</event>") {
                    break;
                }
                if ends_without(text.trim()) {
                    return Err(self.error(format!(
                        "event {} (line {line}) has no </event> until line {}; make the file again",
                        self.events, self.line
                    )));
                }
            }
            bytes += self.before.len() + event.len();
            chunk.push(Piece {
                before: std::mem::take(&mut self.before),
                event,
                number: self.events,
                line,
            });
            self.find()?;
        }
        Ok(chunk.len())
    }

    /// What stands behind the last event.
    pub fn rest(&self) -> &[u8] {
        &self.before
    }

    /// Says so where the file may be cut off.
    pub fn warn(&self) {
        if !contains(&self.before, b"</LesHouchesEvents>") {
            let what = "there is no </LesHouchesEvents> at the end; was the file cut off?";
            output::warn(&self.error(what.into()).to_string());
        }
    }
}

/// Where some bytes begin within others.
pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

/// Whether some bytes occur in others.
pub fn contains(bytes: &[u8], what: &[u8]) -> bool {
    find(bytes, what).is_some()
}

/// `_rwgt` behind the name of a file.
pub fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".lhe.gz", ".lhe", ".gz"];
    let end = ends.into_iter().find(|end| name.ends_with(end));
    let end = end.unwrap_or_default();
    let stem = &name[..name.len() - end.len()];
    path.with_file_name(format!("{stem}_rwgt{end}"))
}

/// A file that takes its name when it is whole; gzipped if its name says so.
pub struct EventOutput {
    out: Box<dyn Finish>,
    path: PathBuf,
}

/// What is written to, and has an end.
trait Finish: Write {
    fn finish(self: Box<Self>) -> Result<()>;
}

/// A file, and what is not written yet.
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
    /// Begins it.
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

    /// Ends it, and gives it its name.
    pub fn finish(self) -> Result<()> {
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_keep_their_ends() {
        let beside = |name: &str| beside(Path::new(name)).display().to_string();
        assert_eq!(beside("a/events.lhe.gz"), "a/events_rwgt.lhe.gz");
        assert_eq!(beside("events.lhe"), "events_rwgt.lhe");
        assert_eq!(beside("events"), "events_rwgt");
    }
}
