//! Events of a file with scaled weights.

use crate::event::Event;
use crate::number::push_scientific;
use crate::word::{real, shown};
use crate::written::WeightsInText;
use std::ops::Range;

/// Bounds for the number of digits after the point of a weight, otherwise that of the original.
const DIGITS: (usize, usize) = (7, 16);

/// A range of an event's text, and its replacement.
type Replacement = (Range<usize>, Vec<u8>);

impl Event {
    /// Appends its text with this IDPRUP, and with its weight and all additional ones multiplied by a factor. Unchanged
    /// values keep their text.
    ///
    /// # Errors
    /// An additional weight is not a number; the text names it.
    pub fn push_scaled(
        &self,
        process: i32,
        factor: f64,
        to: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        let mut changed: Vec<Replacement> = Vec::new();
        let [_, number, weight] = self.first_words();
        if process != self.process {
            changed.push((number, process.to_string().into_bytes()));
        }
        if factor != 1.0 {
            changed.push((weight.clone(), self.scaled(&weight, self.weight * factor)));
            changed.extend(self.scaled_values(factor)?);
        }
        changed.sort_unstable_by_key(|(at, _)| at.start);
        self.push_changed(0, changed, to);
        Ok(())
    }

    /// Appends its text from an offset after its particles, with all additional weights multiplied by a factor.
    ///
    /// # Errors
    /// As for [`Event::push_scaled`].
    pub fn push_rest(
        &self,
        from: usize,
        factor: f64,
        to: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        self.push_changed(from, self.scaled_values(factor)?, to);
        Ok(())
    }

    /// Formats a number with the number of digits of the text in this range.
    fn scaled(&self, at: &Range<usize>, value: f64) -> Vec<u8> {
        let mut text = Vec::new();
        push_scientific(&mut text, value, digits(&self.text[at.clone()]), true);
        text
    }

    /// Returns all additional weights multiplied by a factor, with their ranges.
    fn scaled_values(&self, factor: f64) -> std::result::Result<Vec<Replacement>, String> {
        let with = |at: Range<usize>| {
            let word = String::from_utf8_lossy(&self.text[at.clone()]);
            let value =
                real(&word).ok_or_else(|| format!("a weight is `{}`, no number", shown(&word)))?;
            let text = self.scaled(&at, value * factor);
            Ok((at, text))
        };
        self.values().map(with).collect()
    }

    /// Appends its text from an offset on with these replacements.
    fn push_changed(&self, mut begin: usize, changed: Vec<Replacement>, to: &mut Vec<u8>) {
        for (at, text) in changed {
            to.extend_from_slice(&self.text[begin..at.start]);
            to.extend(text);
            begin = at.end;
        }
        to.extend_from_slice(&self.text[begin..]);
    }

    /// Returns the ranges of the first three words after its tag and comments.
    fn first_words(&self) -> [Range<usize>; 3] {
        let mut quote = None;
        let tag = self.text.iter().position(|&byte| {
            match (quote, byte) {
                (None, b'"' | b'\'') => quote = Some(byte),
                (Some(open), byte) if open == byte => quote = None,
                _ => {}
            }
            byte == b'>' && quote.is_none()
        });
        let mut at = tag.map_or(0, |end| end + 1);
        let mut next = || {
            let text = &self.text;
            let is_space = |at: usize| text.get(at).is_some_and(u8::is_ascii_whitespace);
            loop {
                while is_space(at) {
                    at += 1;
                }
                if text.get(at) != Some(&b'#') {
                    break;
                }
                while text.get(at).is_some_and(|byte| !b"\r\n".contains(byte)) {
                    at += 1;
                }
            }
            let begin = at;
            while at < text.len() && !is_space(at) {
                at += 1;
            }
            begin..at
        };
        [(); 3].map(|()| next())
    }

    /// Returns the ranges of all additional weights.
    fn values(&self) -> impl Iterator<Item = Range<usize>> {
        let words = |range: &Range<usize>| {
            let mut found = Vec::new();
            let mut begin = None;
            for at in range.start..=range.end {
                let inside = at < range.end && !self.text[at].is_ascii_whitespace();
                match (begin, inside) {
                    (None, true) => begin = Some(at),
                    (Some(start), false) => {
                        found.push(start..at);
                        begin = None;
                    }
                    _ => {}
                }
            }
            found
        };
        self.written.iter().flat_map(move |written| match written {
            WeightsInText::One { value, .. } => words(value),
            WeightsInText::List(values) => words(values),
        })
    }
}

fn digits(word: &[u8]) -> usize {
    let point = word.iter().position(|byte| *byte == b'.');
    let after = point.map_or(&[][..], |point| &word[point + 1..]);
    let count = after
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    count.clamp(DIGITS.0, DIGITS.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;
    use std::io::Cursor;
    use std::path::Path;

    fn scaled(event: &str, process: i32, factor: f64) -> Result<String, String> {
        let mut read = Event::default();
        let input = Box::new(Cursor::new(event.to_owned()));
        let mut reader = Reader::new(input, Path::new("f"), false).unwrap();
        assert!(reader.next(&mut read).unwrap());
        let mut found = Vec::new();
        read.push_scaled(process, factor, &mut found)?;
        Ok(String::from_utf8(found).unwrap())
    }

    #[test]
    fn weights_of_events_are_multiplied() {
        let particle = " 21 -1 0 0 501 502 0 0 1 1 0 0 9\n";
        let event = format!(
            "<event attribute='>'>\n# a comment of 3 words\n 1   7 -2.5E-01 91 0.007 0.118\n{particle}<mgrwt>\n<totfact> 3.0\
             </totfact>\n</mgrwt>\n<rwgt>\n<wgt id='1001'> +1.234567891D+00 </wgt>\n<wgt id=\"b\">4</wgt>\n</rwgt>\n\
             <weights> 1.0\n -2.0</weights>\n</event>"
        );
        assert_eq!(scaled(&event, 7, 1.0).unwrap(), event);
        let renamed = event.replace(" 1   7 -2.5E-01", " 1   12 -2.5E-01");
        assert_eq!(scaled(&event, 12, 1.0).unwrap(), renamed);
        let twice = event
            .replace("-2.5E-01", "-5.0000000e-01")
            .replace("+1.234567891D+00", "+2.469135782e+00")
            .replace(">4<", ">+8.0000000e+00<")
            .replace(" 1.0\n -2.0<", " +2.0000000e+00\n -4.0000000e+00<");
        assert_eq!(scaled(&event, 7, 2.0).unwrap(), twice);
        let wrong = event.replace(">4<", ">four<");
        assert_eq!(scaled(&wrong, 7, 1.0).unwrap(), wrong);
        assert_eq!(
            scaled(&wrong, 7, 2.0).unwrap_err(),
            "a weight is `four`, no number"
        );
    }
}
