//! Fixed-form Fortran source, split into statements.
//!
//! In fixed form blanks are insignificant (MG5aMC breaks lines even inside numbers, as in `2.5D` / `-01`), so a
//! statement is stored as text without blanks and in upper case, except for character constants. Columns 1 to 5 hold a
//! label, a character other than blank and 0 in column 6 continues the statement, and text after column 132 is ignored
//! (MG5aMC compiles with `-ffixed-line-length-132`). Comments start with C, c, *, ! or # in column 1, or with !
//! anywhere outside a character constant. A `&` at the end of a line continues it as in free form.

use super::dependencies::read_bounded;
use mebridge_support::error::Result;
use mebridge_support::sorted::SortedSet;
use std::path::{Path, PathBuf};

/// Text after this column is ignored.
const LAST_COLUMN: usize = 132;

/// A Fortran file as statements.
#[derive(Debug)]
pub struct SourceFile {
    /// Path of the file.
    pub path: PathBuf,
    text: Vec<u8>,
    statements: Vec<StatementSpan>,
}

#[derive(Debug, Clone, Copy)]
struct StatementSpan {
    line: u32,
    /// The label in columns 1 to 5; 0 if there is none.
    label: u32,
    start: u32,
    end: u32,
}

impl SourceFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<SourceFile> {
        let bytes = read_bounded(path)?;
        Ok(SourceFile::parse(path, &bytes))
    }

    /// Splits text into statements; `path` is used in messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> SourceFile {
        let mut reader = Reader {
            text: Vec::with_capacity(bytes.len()),
            statements: Vec::new(),
            open: None,
            quote: None,
            glued: false,
        };
        for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
            reader.line(i as u32 + 1, line);
        }
        reader.close();
        SourceFile {
            path: path.to_path_buf(),
            text: reader.text,
            statements: reader.statements,
        }
    }

    /// The same without some statements, by their numbers.
    #[must_use]
    pub fn without(mut self, left_out: &SortedSet<usize>) -> SourceFile {
        let mut number = 0..;
        self.statements.retain(|_| {
            !number
                .next()
                .is_some_and(|number| left_out.contains(&number))
        });
        self
    }

    /// Returns the number of statements.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Returns the text of a statement.
    pub fn text(&self, statement: usize) -> &[u8] {
        let place = self.statements[statement];
        &self.text[place.start as usize..place.end as usize]
    }

    /// Returns the line on which a statement starts, from 1.
    pub fn line(&self, statement: usize) -> u32 {
        self.statements[statement].line
    }

    /// Returns the label of a statement, 0 if it has none.
    pub fn label(&self, statement: usize) -> u32 {
        self.statements[statement].label
    }
}

/// Returns the first `Process:` comment in a file, including its wrapped lines.
pub fn process_comment(bytes: &[u8]) -> Option<String> {
    let comment = |line: &[u8]| -> Option<(usize, String)> {
        if !matches!(line.first(), Some(b'C' | b'c' | b'*' | b'!')) {
            return None;
        }
        let text = String::from_utf8_lossy(&line[1..]).into_owned();
        let trimmed = text.trim_start();
        let indent = text.len() - trimmed.len();
        Some((indent, trimmed.trim_end().to_owned()))
    };
    let mut lines = bytes.split(|&b| b == b'\n');
    while let Some(line) = lines.next() {
        let Some((indent, text)) = comment(line) else {
            continue;
        };
        let Some(name) = text.strip_prefix("Process:") else {
            continue;
        };
        let mut name = name.trim().to_owned();
        // MG5aMC indents wrapped lines by one more blank.
        for line in lines.by_ref() {
            match comment(line) {
                Some((deeper, more)) if deeper > indent && !more.is_empty() => {
                    name.push(' ');
                    name.push_str(&more);
                }
                _ => break,
            }
        }
        return Some(name);
    }
    None
}

struct Reader {
    text: Vec<u8>,
    statements: Vec<StatementSpan>,
    /// Line, label and start of the current statement.
    open: Option<(u32, u32, usize)>,
    /// The quote that closes the open character constant.
    quote: Option<u8>,
    /// Whether the last line ended with `&`.
    glued: bool,
}

impl Reader {
    fn close(&mut self) {
        if let Some((line, label, start)) = self.open.take()
            && self.text.len() > start
        {
            self.statements.push(StatementSpan {
                line,
                label,
                start: start as u32,
                end: self.text.len() as u32,
            });
        }
        self.quote = None;
    }

    fn line(&mut self, number: u32, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if matches!(line.first(), None | Some(b'C' | b'c' | b'*' | b'!' | b'#')) {
            return;
        }
        let (field, rest) = split_label(line);
        let Some(continued) = field else {
            return; // a comment after the label, or nothing
        };
        let continued = continued || std::mem::take(&mut self.glued);
        if !continued || self.open.is_none() {
            if rest.iter().all(|b| b.is_ascii_whitespace()) {
                return;
            }
            self.close();
            self.open = Some((number, label(line), self.text.len()));
        }
        self.body(number, rest);
    }

    /// Appends the text of one line from column 7 on.
    fn body(&mut self, number: u32, rest: &[u8]) {
        for &byte in rest {
            if let Some(quote) = self.quote {
                self.text.push(byte);
                if byte == quote {
                    self.quote = None;
                }
                continue;
            }
            match byte {
                b'!' => break,
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {}
                b'\'' | b'"' => {
                    self.quote = Some(byte);
                    self.text.push(byte);
                }
                b';' => {
                    self.close();
                    self.open = Some((number, 0, self.text.len()));
                }
                _ => self.text.push(byte.to_ascii_uppercase()),
            }
        }
        if self.quote.is_none()
            && let Some((_, _, start)) = self.open
            && self.text.len() > start
            && self.text.last() == Some(&b'&')
        {
            self.text.pop();
            self.glued = true;
        }
    }
}

/// Returns the number in the label field; 0 if there is none.
fn label(line: &[u8]) -> u32 {
    let field = line.iter().take(5).take_while(|b| **b != b'\t');
    let digits = field.filter(|b| b.is_ascii_digit());
    digits.fold(0, |label, digit| 10 * label + u32::from(digit - b'0'))
}

/// Splits off the label field and column 6. `None` if the line is a comment; otherwise whether it continues the
/// previous line. A tab in the label field leads to column 7.
fn split_label(line: &[u8]) -> (Option<bool>, &[u8]) {
    for column in 0..5 {
        match line.get(column) {
            None => return (None, &[]),
            Some(b'!') => return (None, &[]),
            Some(b'\t') => return (Some(false), bounded(line, column + 1)),
            Some(b' ' | b'0'..=b'9') => {}
            // Not a label: a statement in free layout.
            Some(b'&') => return (Some(true), bounded(line, column + 1)),
            Some(_) => return (Some(false), bounded(line, column)),
        }
    }
    match line.get(5) {
        None => (None, &[]),
        Some(b' ' | b'0' | b'\t') => (Some(false), bounded(line, 6)),
        Some(_) => (Some(true), bounded(line, 6)),
    }
}

fn bounded(line: &[u8], from: usize) -> &[u8] {
    &line[from.min(line.len())..line.len().min(LAST_COLUMN)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(u32, String)> {
        let source = SourceFile::parse(Path::new("x.f"), text.as_bytes());
        (0..source.len())
            .map(|i| {
                (
                    source.line(i),
                    String::from_utf8(source.text(i).to_vec()).unwrap(),
                )
            })
            .collect()
    }

    #[test]
    fn joins_what_column_six_continues() {
        let text = "C comment\n      x = 2.5d\n     $ -01 ! why\n\n     & + y\n   10 continue\n";
        assert_eq!(
            statements(text),
            [(2, "X=2.5D-01+Y".into()), (6, "CONTINUE".into())]
        );
    }

    #[test]
    fn keeps_character_constants_as_they_are() {
        let text = "      include 'Some file!.inc' ! note\n      a=1; b=2\n";
        assert_eq!(
            statements(text),
            [
                (1, "INCLUDE'Some file!.inc'".into()),
                (2, "A=1".into()),
                (2, "B=2".into())
            ]
        );
    }

    #[test]
    fn a_tab_leads_to_column_seven_and_an_ampersand_continues() {
        assert_eq!(statements("\tx = 1 + &\n\t  2\n"), [(1, "X=1+2".into())]);
    }

    #[test]
    fn finds_the_name_of_the_process_over_two_lines() {
        let text = b"      X=1\nC     Process: g g > t t~\nC      g g @1\nC     \n";
        assert_eq!(process_comment(text).unwrap(), "g g > t t~ g g @1");
    }
}
