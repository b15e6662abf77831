//! The lines of a text, with their numbers and in bounded memory.

use mebridge::{Error, Result};
use std::borrow::Cow;
use std::io::{self, BufRead, ErrorKind};
use std::path::{Path, PathBuf};

/// No line with numbers is longer; the rest of such a line is passed over.
pub const LONGEST: usize = 1 << 16;

/// No file with events has as many empty lines behind each other. A few kilobytes, compressed, can be billions of them.
pub const MOST_EMPTY: u64 = 1_000_000;

/// No header, and nothing else that is no event, is longer: neither may one line be, or many comments.
const MOST_BETWEEN: u64 = 1 << 28;

/// Lines of a file.
pub struct LineReader {
    input: Box<dyn BufRead>,
    path: PathBuf,
    buffer: Vec<u8>,
    number: u64,
    /// Empty ones behind the last that was not.
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
    /// Whether it is longer than [`LONGEST`].
    pub cut: bool,
}

impl LineReader {
    /// Of an input; its name is for messages.
    pub fn new(input: Box<dyn BufRead>, path: &Path) -> LineReader {
        LineReader {
            input,
            path: path.to_path_buf(),
            buffer: Vec::new(),
            number: 0,
            empty: 0,
            between: 0,
        }
    }

    /// An event was read to its end.
    pub fn event_ends(&mut self) {
        self.between = 0;
    }

    /// Number of the last line that was read.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error about this file.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// The next line; nothing at the end.
    pub fn next(&mut self) -> Result<Option<TextLine<'_>>> {
        let read = self.read();
        self.empty = match self.buffer.is_empty() {
            true => self.empty + 1,
            false => 0,
        };
        if self.empty > MOST_EMPTY {
            return Err(self.error(format!(
                "there are more than {MOST_EMPTY} empty lines up to line {}; this is no file with events",
                self.number
            )));
        }
        if self.between > MOST_BETWEEN {
            return Err(self.error(format!(
                "there are more than {MOST_BETWEEN} bytes without an event up to line {}; this is no file with events",
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
                let place = format!("behind line {}", self.number);
                Err(broken(&self.path, error, &place))
            }
        }
    }

    /// Reads a line into the buffer and says whether it was cut.
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
            any = true;
            let end = available.iter().position(|&c| c == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let room = LONGEST - self.buffer.len();
            cut |= part.len() > room;
            self.buffer.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.between += used as u64;
            if end.is_some() || self.between > MOST_BETWEEN {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        if self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        self.number += 1;
        Ok(Some(cut))
    }
}

/// An error of reading, in words where decompression failed.
pub fn broken(path: &Path, error: io::Error, place: &str) -> Error {
    let what = match error.kind() {
        ErrorKind::UnexpectedEof => "the file ends too early; it was cut off",
        ErrorKind::InvalidData | ErrorKind::InvalidInput => "the compressed data are damaged",
        _ => return Error::io(path)(error),
    };
    Error::EventsFile {
        path: path.to_path_buf(),
        what: format!("{what} ({place}); copy or make it again"),
    }
}

/// A finite number, as Fortran, C and Python write it.
pub fn number(word: &str) -> Option<f64> {
    let parse = |word: &str| word.parse::<f64>().ok();
    let value = parse(word).or_else(|| parse(&word.replace(['d', 'D'], "e")))?;
    value.is_finite().then_some(value)
}

/// A word for a message: short, and without what a terminal would act on.
pub fn shown(word: &str) -> String {
    const MOST: usize = 40;
    let mut text: String = word
        .chars()
        .take(MOST)
        .flat_map(char::escape_default)
        .collect();
    if word.chars().nth(MOST).is_some() {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn lines_have_numbers_and_bounds() {
        let mut text = b"one\r\n\n".to_vec();
        text.extend(vec![b'x'; 3 * LONGEST]);
        text.extend(b"\nlast");
        let mut lines = LineReader::new(Box::new(Cursor::new(text)), Path::new("file"));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push((line.number, line.text.len(), line.cut));
        }
        let expected = [
            (1, 3, false),
            (2, 0, false),
            (3, LONGEST, true),
            (4, 4, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn numbers_of_all_languages() {
        for (word, value) in [
            ("1", Some(1.0)),
            ("-1.5e+02", Some(-150.0)),
            ("+1.5D+02", Some(150.0)),
            ("1.5d0", Some(1.5)),
            (".5", Some(0.5)),
            ("nan", None),
            ("inf", None),
            ("1e999", None),
            ("", None),
            ("0x1", None),
        ] {
            assert_eq!(number(word), value, "{word}");
        }
    }

    #[test]
    fn words_in_messages_are_harmless() {
        assert_eq!(shown("1.0x"), "1.0x");
        assert_eq!(shown("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(shown(&"9".repeat(100)), format!("{}...", "9".repeat(40)));
    }
}
