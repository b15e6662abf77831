//! The text of an event file, read incrementally, with its lines and tags.
//!
//! Places are byte offsets from its beginning.

use crate::word::shown;
use mebridge_support::{Error, Result};
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes read at a time.
const CHUNK: usize = 1 << 16;
/// Maximum size of a header, an event, or the text between two events. A few compressed kilobytes can expand to
/// gigabytes.
pub const MAX_BYTES: usize = 1 << 26;
/// Maximum length of a tag, and of a number.
const MAX_TAG_BYTES: usize = 1 << 16;
const MAX_WORD_BYTES: usize = 1 << 10;

/// The text, of which only the part after a place is kept in memory.
pub struct Text {
    input: Box<dyn Read>,
    path: PathBuf,
    chunk: Box<[u8]>,
    bytes: Vec<u8>,
    /// Offset of the first byte in memory, and of the first one that is still needed.
    first: usize,
    needed: usize,
    /// Current position.
    pub at: usize,
    /// End of the last event: at most [`MAX_BYTES`] bytes are read without another one.
    since: usize,
    ended: bool,
    /// Line of `needed`.
    line: u64,
}

/// A tag.
#[derive(Clone, Debug)]
pub struct Tag {
    /// Offset of its `<`.
    pub begin: usize,
    /// Offset after its `>`.
    pub end: usize,
    /// Name in lower case, with a leading slash for an end tag.
    pub name: String,
    /// Whether it is an empty element, `<name/>`.
    pub empty: bool,
    /// Range of its attributes.
    attributes: Range<usize>,
}

impl Tag {
    /// Returns whether it begins an element with weights.
    pub fn is_of_weights(&self) -> bool {
        matches!(self.name.as_str(), "rwgt" | "wgt" | "weights")
    }
}

/// Markup whose contents are skipped.
const PASSED_OVER: [(&[u8], &[u8]); 3] =
    [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

impl Text {
    /// Wraps an input; `path` is its name in messages.
    pub fn new(input: Box<dyn Read>, path: &Path) -> Text {
        Text {
            input,
            path: path.to_path_buf(),
            chunk: vec![0; CHUNK].into(),
            bytes: Vec::new(),
            first: 0,
            needed: 0,
            at: 0,
            since: 0,
            ended: false,
            line: 1,
        }
    }

    /// Creates an error about this file.
    pub fn error(&self, what: impl Into<String>) -> Error {
        Error::EventsFile {
            path: self.path.clone(),
            what: what.into(),
        }
    }

    /// Releases the text before this place.
    pub fn forget(&mut self, before: usize) {
        self.line = self.line_of(before);
        self.needed = before;
    }

    /// Records that an event ends at the current position.
    pub fn event_ends(&mut self) {
        self.since = self.at;
    }

    /// Returns the bytes in a range.
    pub fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range.start - self.first..range.end - self.first]
    }

    /// Returns the line, from 1, of a place that was not released.
    pub fn line_of(&self, place: usize) -> u64 {
        let bytes = &self.bytes[self.needed - self.first..];
        self.line + lines(bytes, place - self.needed)
    }

    /// Returns the byte at the current position; `None` at the end of the file.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>> {
        if self.at - self.first == self.bytes.len() && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.bytes[self.at - self.first]))
    }

    /// Reads more; returns false at the end of the file.
    fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.first + self.bytes.len() - self.since > MAX_BYTES {
            let line = self.line_of(self.at);
            return Err(self.error(format!(
                "there are more than {MAX_BYTES} bytes without an end of an event up to line {line}; this is no file with \
                 events"
            )));
        }
        if 2 * (self.needed - self.first) >= self.bytes.len() {
            self.bytes.drain(..self.needed - self.first);
            self.first = self.needed;
        }
        let read = loop {
            match self.input.read(&mut self.chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|error| {
            let line = self.line_of(self.at);
            broken(&self.path, error, &format!("after line {}", line - 1))
        })?;
        self.bytes.extend_from_slice(&self.chunk[..read]);
        self.ended = read == 0;
        Ok(!self.ended)
    }

    /// Returns whether these bytes follow.
    pub fn looking_at(&mut self, what: &[u8]) -> Result<bool> {
        while self.bytes.len() < self.at - self.first + what.len() && self.fill()? {}
        Ok(self.bytes[self.at - self.first..].starts_with(what))
    }

    /// Moves past the next occurrence of these bytes; returns false if there is none.
    fn pass(&mut self, what: &[u8]) -> Result<bool> {
        while self.peek()?.is_some() {
            let rest = &self.bytes[self.at - self.first..];
            let first = rest.iter().position(|&byte| byte == what[0]);
            self.at += first.unwrap_or(rest.len());
            if first.is_some() {
                if self.looking_at(what)? {
                    self.at += what.len();
                    return Ok(true);
                }
                self.at += 1;
            }
        }
        Ok(false)
    }

    /// Moves to the next `<`; returns false if there is none.
    pub fn find_tag(&mut self) -> Result<bool> {
        let found = self.pass(b"<")?;
        self.at -= usize::from(found);
        Ok(found)
    }

    /// Skips a comment, or other XML markup that may contain anything; returns false if there is none.
    pub fn pass_markup(&mut self) -> Result<bool> {
        if self.peek()? != Some(b'<') {
            return Ok(false);
        }
        for (begin, end) in PASSED_OVER {
            if self.looking_at(begin)? {
                let place = self.at;
                self.at += begin.len();
                if !self.pass(end)? {
                    let line = self.line_of(place);
                    let text = String::from_utf8_lossy;
                    return Err(self.error(format!(
                        "there is no {} for the {} of line {line}; the file is cut off",
                        text(end),
                        text(begin)
                    )));
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Skips space, comments, and comment lines (`#`).
    pub fn gap(&mut self) -> Result<()> {
        loop {
            match self.peek()? {
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                Some(b'#') => self.find_end_of_line()?,
                Some(b'<') if self.pass_markup()? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Skips space within a line, and comments.
    pub fn gap_in_line(&mut self) -> Result<()> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'<') if self.pass_markup()? => {}
                _ => return Ok(()),
            }
        }
    }

    /// Moves to the end of the line.
    pub fn find_end_of_line(&mut self) -> Result<()> {
        while self
            .peek()?
            .is_some_and(|byte| !matches!(byte, b'\n' | b'\r'))
        {
            self.at += 1;
        }
        Ok(())
    }

    /// Reads a word up to space, a tag or a comment; `None` if there is none.
    pub fn word(&mut self) -> Result<Option<Range<usize>>> {
        let begin = self.at;
        while let Some(byte) = self.peek()? {
            if byte.is_ascii_whitespace() || matches!(byte, b'<' | b'#') {
                break;
            }
            self.at += 1;
            if self.at - begin > MAX_WORD_BYTES {
                let line = self.line_of(begin);
                let text = self.shown(begin);
                return Err(self.error(format!(
                    "line {line} has a word of more than {MAX_WORD_BYTES} bytes: `{text}`; no number is as long"
                )));
            }
        }
        Ok((self.at > begin).then_some(begin..self.at))
    }

    /// Reads a tag; `None` if it is none: other programs may write `<` as text.
    pub fn tag(&mut self) -> Result<Option<Tag>> {
        let begin = self.at;
        self.at += 1;
        let slash = self.peek()? == Some(b'/');
        self.at += usize::from(slash);
        let name = self.at;
        while self.peek()?.is_some_and(is_name) {
            self.at += 1;
            self.check_tag(begin)?;
        }
        let attributes = self.at;
        if !self
            .slice(name..attributes)
            .first()
            .is_some_and(u8::is_ascii_alphabetic)
        {
            self.at = begin + 1;
            return Ok(None);
        }
        let mut quote = None;
        loop {
            match (self.peek()?, quote) {
                (None | Some(b'<'), _) => return Err(self.without_end(begin)),
                (Some(byte), Some(open)) if byte == open => quote = None,
                (Some(byte @ (b'"' | b'\'')), None) => quote = Some(byte),
                (Some(b'>'), None) => break,
                _ => {}
            }
            self.at += 1;
            self.check_tag(begin)?;
        }
        let mut end = self.at;
        let empty = self.slice(attributes..end).ends_with(b"/");
        end -= usize::from(empty);
        self.at += 1;
        let text = String::from_utf8_lossy(self.slice(name - usize::from(slash)..attributes));
        Ok(Some(Tag {
            begin,
            end: self.at,
            name: text.to_ascii_lowercase(),
            empty,
            attributes: attributes..end,
        }))
    }

    /// Returns the name of the tag at the current position, as [`Tag::name`]; empty if there is none.
    pub fn tag_name(&mut self) -> Result<String> {
        const MAX_NAME_LENGTH: usize = 32;
        self.looking_at(&[0; MAX_NAME_LENGTH])?;
        let bytes = &self.bytes[self.at - self.first..];
        let (slash, rest) = match bytes.get(1) {
            Some(b'/') => ("/", &bytes[2..]),
            _ => ("", &bytes[1..]),
        };
        let name = rest
            .iter()
            .take(MAX_NAME_LENGTH)
            .take_while(|&&byte| is_name(byte));
        let name: String = name
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
        Ok(slash.to_owned() + &name)
    }

    fn check_tag(&self, begin: usize) -> Result<()> {
        match self.at - begin > MAX_TAG_BYTES {
            true => Err(self.without_end(begin)),
            false => Ok(()),
        }
    }

    fn without_end(&self, begin: usize) -> Error {
        let line = self.line_of(begin);
        let text = self.shown(begin);
        self.error(format!(
            "line {line}: the tag `{text}` has no end (>); make the file again"
        ))
    }

    /// Returns the range of an attribute's value.
    pub fn attribute(&self, tag: &Tag, name: &str) -> Option<Range<usize>> {
        let bytes = self.slice(tag.attributes.clone());
        let space = |at: usize| {
            at + bytes[at..]
                .iter()
                .take_while(|b| b.is_ascii_whitespace())
                .count()
        };
        let until = |at: usize, end: &dyn Fn(u8) -> bool| {
            at + bytes[at..].iter().take_while(|&&byte| !end(byte)).count()
        };
        let mut at = space(0);
        while at < bytes.len() {
            let end = until(at, &|byte| byte == b'=' || byte.is_ascii_whitespace());
            let this = &bytes[at..end];
            at = space(end);
            if bytes.get(at) != Some(&b'=') {
                at = at.max(end + usize::from(end == at));
                continue;
            }
            at = space(at + 1);
            let value = match bytes.get(at) {
                Some(&quote @ (b'"' | b'\'')) => at + 1..until(at + 1, &|byte| byte == quote),
                _ => at..until(at, &|byte| byte.is_ascii_whitespace()),
            };
            if this.eq_ignore_ascii_case(name.as_bytes()) {
                let first = tag.attributes.start;
                return Some(first + value.start..first + value.end);
            }
            at = space((value.end + 1).min(bytes.len()));
        }
        None
    }

    /// Returns the line that contains a place, for messages.
    pub fn line_shown(&self, place: usize) -> String {
        let before = &self.bytes[self.needed - self.first..place - self.first];
        let begin = before
            .iter()
            .rposition(|byte| matches!(byte, b'\n' | b'\r'));
        self.shown(self.needed + begin.map_or(0, |end| end + 1))
    }

    /// Returns the beginning of the text from a place to the end of its line, for messages.
    pub fn shown(&self, begin: usize) -> String {
        let rest = &self.bytes[begin - self.first..];
        let end = rest
            .iter()
            .take(400)
            .position(|byte| matches!(byte, b'\n' | b'\r'));
        let line = &rest[..end.unwrap_or(rest.len().min(400))];
        shown(String::from_utf8_lossy(line).trim_end())
    }
}

/// Returns whether a byte may be part of the name of a tag.
fn is_name(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"</>'\"=".contains(&byte)
}

/// Returns the number of line ends (LF, CR LF or CR) before a place in some bytes.
pub fn lines(bytes: &[u8], place: usize) -> u64 {
    let ends = |(i, &byte): (usize, &u8)| {
        byte == b'\n' || byte == b'\r' && bytes.get(i + 1) != Some(&b'\n')
    };
    bytes[..place]
        .iter()
        .enumerate()
        .filter(|&of| ends(of))
        .count() as u64
}

/// Converts an error of reading, with an explanation if decompression failed.
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
