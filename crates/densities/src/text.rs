//! Words and numbers of a text file, with their lines.

use super::{Error, Result};
use std::io::Read;
use std::path::Path;

/// Largest file that is read; no set of densities is larger.
const MAX_BYTES: u64 = 1 << 28;

/// A text file.
pub struct TableText<'a> {
    file: &'a Path,
    text: String,
}

impl<'a> TableText<'a> {
    pub fn open(file: &'a Path) -> Result<Self> {
        let fail = |what: String| Error {
            file: file.to_owned(),
            line: None,
            what,
        };
        let mut bytes = Vec::new();
        std::fs::File::open(file)
            .and_then(|opened| opened.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| fail(error.to_string()))?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(fail(format!(
                "it has more than {MAX_BYTES} bytes, which no set of parton densities has"
            )));
        }
        // Names in headers may be in any encoding; numbers are ASCII.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(TableText { file, text })
    }

    /// An error in the file, or in a line, counted from 1.
    pub fn error(&self, line: impl Into<Option<usize>>, what: impl Into<String>) -> Error {
        Error {
            file: self.file.to_owned(),
            line: line.into(),
            what: what.into(),
        }
    }

    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(n, line)| (n + 1, line))
    }

    /// Parses the numbers of a line, which must be finite.
    pub fn numbers(&self, (line, text): (usize, &str)) -> Result<Vec<f64>> {
        let words = text.split_ascii_whitespace();
        words.map(|word| self.number(line, word)).collect()
    }

    /// Parses a finite number.
    pub fn number(&self, line: usize, word: &str) -> Result<f64> {
        match word.parse() {
            Ok(number) if f64::is_finite(number) => Ok(number),
            _ => Err(self.error(line, format!("`{word}` is not a finite number"))),
        }
    }

    /// Checks that numbers are positive and ascending.
    pub fn check_ascending(
        &self,
        line: impl Into<Option<usize>>,
        what: &str,
        numbers: &[f64],
    ) -> Result<()> {
        if numbers[0] > 0.0 && numbers.windows(2).all(|two| two[0] < two[1]) {
            return Ok(());
        }
        Err(self.error(line, format!("{what} are not positive ascending numbers")))
    }
}
