//! Reads the lines of a text, with their numbers and in bounded memory.

use mebridge::lhe::{broken, real};
use mebridge::{Error, Result};
use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind};
use std::path::{Path, PathBuf};

/// Longest line with numbers, in bytes; the rest of a longer line is skipped.
pub const MAX_LINE_BYTES: usize = 1 << 16;

/// Largest number of consecutive empty lines. A few kilobytes, compressed, can be billions of them.
const MAX_EMPTY_LINES: u64 = 1_000_000;

/// Largest number of bytes between events, such as a header: also the limit for a single line, and for comments.
const MAX_BYTES_BETWEEN_EVENTS: u64 = 1 << 28;

/// Lines of a file.
pub struct LineReader {
    input: Box<dyn BufRead>,
    path: PathBuf,
    buffer: Vec<u8>,
    number: u64,
    /// Whether the last line ended with CR, which LF may follow.
    after_cr: bool,
    /// Number of consecutive empty lines.
    empty: u64,
    /// Bytes since the last event.
    between: u64,
}

/// A line without its end.
pub struct TextLine<'a> {
    /// Its text, or the beginning of it.
    pub text: Cow<'a, str>,
    /// Its number, from 1.
    pub number: u64,
    /// Whether it is longer than [`MAX_LINE_BYTES`].
    pub cut: bool,
}

impl LineReader {
    /// Reads the lines of an input; `path` is for messages.
    pub fn new(input: Box<dyn BufRead>, path: &Path) -> LineReader {
        LineReader {
            input,
            path: path.to_path_buf(),
            buffer: Vec::new(),
            number: 0,
            after_cr: false,
            empty: 0,
            between: 0,
        }
    }

    /// Reports that an event was read to its end.
    pub fn event_ends(&mut self) {
        self.between = 0;
    }

    /// Makes an error about this file.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// Returns the next line; `None` at the end.
    pub fn next(&mut self) -> Result<Option<TextLine<'_>>> {
        let read = self.read();
        self.empty = match self.buffer.is_empty() {
            true => self.empty + 1,
            false => 0,
        };
        if self.empty > MAX_EMPTY_LINES {
            return Err(self.error(format!(
                "there are more than {MAX_EMPTY_LINES} empty lines up to line {}; this is no file with events",
                self.number
            )));
        }
        if self.between > MAX_BYTES_BETWEEN_EVENTS {
            return Err(self.error(format!(
                "there are more than {MAX_BYTES_BETWEEN_EVENTS} bytes without an event up to line {}; this is no file with events",
                self.number
            )));
        }
        match read {
            Ok(None) => Ok(None),
            Ok(Some(cut)) => Ok(Some(TextLine {
                text: String::from_utf8_lossy(&self.buffer),
                number: self.number,
                cut,
            })),
            Err(error) => {
                let place = format!("after line {}", self.number);
                Err(broken(&self.path, error, &place))
            }
        }
    }

    /// Reads a line into the buffer and returns whether it was cut.
    fn read(&mut self) -> io::Result<Option<bool>> {
        self.buffer.clear();
        let mut any = false;
        let mut cut = false;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                break;
            }
            if std::mem::take(&mut self.after_cr) && available[0] == b'\n' {
                self.input.consume(1);
                continue;
            }
            any = true;
            let end = available.iter().position(|c| b"\n\r".contains(c));
            self.after_cr = end.is_some_and(|end| available[end] == b'\r');
            let part = &available[..end.unwrap_or(available.len())];
            let room = MAX_LINE_BYTES - self.buffer.len();
            cut |= part.len() > room;
            self.buffer.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.between += used as u64;
            if end.is_some() || self.between > MAX_BYTES_BETWEEN_EVENTS {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(cut))
    }
}

/// Parses a finite number, in the notation of Fortran, C or Python.
pub fn number(word: &str) -> Option<f64> {
    real(word).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn lines_have_numbers_and_bounds() {
        let mut text = b"one\r\n\nthree\r\rfive\n".to_vec();
        text.extend(vec![b'x'; 3 * MAX_LINE_BYTES]);
        text.extend(b"\nlast");
        let mut lines = LineReader::new(Box::new(Cursor::new(text)), Path::new("file"));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push((line.number, line.text.len(), line.cut));
        }
        let expected = [
            (1, 3, false),
            (2, 0, false),
            (3, 5, false),
            (4, 0, false),
            (5, 4, false),
            (6, MAX_LINE_BYTES, true),
            (7, 4, false),
        ];
        assert_eq!(found, expected);
    }
}
