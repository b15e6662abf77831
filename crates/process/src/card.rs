//! Parameter cards in the SUSY Les Houches Accord format (hep-ph/0311123).
//!
//! A card has blocks (`BLOCK name`, perhaps with a scale `Q=`) of lines "indices value", and
//! lines `DECAY pdg width`. `#` starts a comment; upper and lower case are the same. Exponents
//! may be written with D. An entry that stands twice with two values is refused where it is asked for, as MG5aMC does
//! when it launches a run: its Fortran reader would take the first (`lha_read.f` of 2.8.3, 2.9.4, 3.4.2 and 3.5.7,
//! tried with such cards), the C++ reader of its plugin the last.

use super::model::{CardParameter, Model};
use mebridge_support::error::{Error, Result};
use mebridge_support::files::regular;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A card is a few kilobytes; a file beyond this is none.
const MAX_CARD_BYTES: u64 = 64 << 20;
/// No block has more indices than this.
const MAX_INDICES: usize = 4;

/// A parameter card that was read.
#[derive(Clone, Debug, Default)]
pub struct Card {
    path: PathBuf,
    /// Entries by block and indices.
    entries: HashMap<(String, Vec<i32>), Entry>,
}

/// A value as it stands in a card.
#[derive(Clone, Debug)]
struct Entry {
    text: String,
    line: usize,
    /// Whether another number stands behind it, so that it may be an index.
    more: bool,
    /// The line with another value for the same entry, and that value.
    other: Option<(usize, String)>,
}

impl Card {
    /// Reads a card from a file.
    pub fn read(path: &Path) -> Result<Card> {
        let bytes = regular::read_or_pipe(path, MAX_CARD_BYTES).map_err(Error::io(path))?;
        Ok(Card::parse(&String::from_utf8_lossy(&bytes), path))
    }

    /// Reads a card from text; `path` is for messages. Values are looked at when they are asked
    /// for, since a card may hold whatever other programs want.
    pub fn parse(text: &str, path: &Path) -> Card {
        let mut card = Card {
            path: path.to_path_buf(),
            entries: HashMap::new(),
        };
        let mut block: Option<String> = None;
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(first) = words.first() else {
                continue;
            };
            if first.eq_ignore_ascii_case("block") {
                block = words.get(1).map(|name| name.to_ascii_lowercase());
            } else if first.eq_ignore_ascii_case("decay") {
                block = None;
                if let Some(pdg) = words.get(1).and_then(|w| w.parse::<i32>().ok()) {
                    let value = words.get(2).copied().unwrap_or("");
                    card.enter("decay", vec![pdg], value, i + 1, false);
                }
            } else if let Some(block) = &block {
                let mut index = Vec::new();
                for (k, word) in words.iter().enumerate().take(MAX_INDICES + 1) {
                    // Only a line of one number is the value of a block without indices.
                    if k == 0 && words.len() > 1 {
                        match word.parse::<i32>() {
                            Ok(n) => index.push(n),
                            Err(_) => break,
                        }
                        continue;
                    }
                    let whole = word.parse::<i32>();
                    let behind = words.get(k + 1).is_some_and(|word| number(word).is_some());
                    card.enter(block, index.clone(), word, i + 1, whole.is_ok() && behind);
                    match whole {
                        Ok(n) if k + 1 < words.len() => index.push(n),
                        _ => break,
                    }
                }
            }
        }
        card
    }

    fn enter(&mut self, block: &str, index: Vec<i32>, text: &str, line: usize, more: bool) {
        let entry = self
            .entries
            .entry((block.to_owned(), index))
            .or_insert_with(|| Entry {
                text: text.to_owned(),
                line,
                more,
                other: None,
            });
        let same = entry.text == text || number(&entry.text) == number(text);
        if !same && entry.other.is_none() {
            entry.other = Some((line, text.to_owned()));
        }
    }

    /// An entry of a block, where there is one that is a number.
    pub fn number(&self, block: &str, index: &[i32]) -> Option<f64> {
        let entry = self.entries.get(&(block.to_owned(), index.to_vec()))?;
        number(&entry.text)
    }

    /// Whether the card gives a particle a mass below zero.
    fn has_negative_mass(&self, pdg: &[i32]) -> bool {
        self.number("mass", pdg).is_some_and(|mass| mass < 0.0)
    }

    /// The value of a parameter.
    pub fn value(&self, parameter: &CardParameter) -> Result<f64> {
        let fail = |what: String| Error::Card {
            path: self.path.clone(),
            what,
        };
        let place = place(parameter);
        let key = (parameter.block.clone(), parameter.index.clone());
        let Some(Entry {
            text,
            line,
            more,
            other,
        }) = self.entries.get(&key)
        else {
            return Err(fail(format!(
                "there is no entry {place} ({}), which the process needs; add it",
                parameter.name
            )));
        };
        if text.eq_ignore_ascii_case("auto") || text.to_ascii_lowercase().starts_with("auto@") {
            return Err(fail(format!(
                "line {line}: {place} ({}) is Auto; let MG5aMC compute it first (it writes the \
                 number into the card when the run is launched), or put a number there",
                parameter.name
            )));
        }
        if *more {
            return Err(fail(format!(
                "line {line}: {place} ({}) is followed by another number; it has more indices here than \
                 ident_card.dat says",
                parameter.name
            )));
        }
        if let Some((again, other)) = other {
            return Err(fail(format!(
                "{place} ({}) stands there twice: `{text}` in line {line} and `{other}` in line {again}; leave the \
                 one that is meant",
                parameter.name
            )));
        }
        match number(text) {
            Some(x) if x.is_finite() => Ok(x),
            _ => Err(fail(format!(
                "line {line}: {place} ({}) is `{text}`, which is no finite number",
                parameter.name
            ))),
        }
    }
}

/// A number, whose exponent may be written with D.
fn number(text: &str) -> Option<f64> {
    text.replace(['d', 'D'], "e").parse().ok()
}

/// A parameter's place in the card, in words.
fn place(parameter: &CardParameter) -> String {
    let index: Vec<String> = parameter.index.iter().map(i32::to_string).collect();
    match parameter.block.as_str() {
        "decay" => format!("DECAY {}", index.join(" ")),
        block if index.is_empty() => format!("of block {block}"),
        block => format!("{} of block {block}", index.join(" ")),
    }
}

impl Model {
    /// The values that a card gives to [`Model::card`], in its order.
    pub fn card_values(&self, card: &Card) -> Result<Vec<f64>> {
        let value = |parameter: &CardParameter| match parameter.block.is_empty() {
            true => Ok(parameter.default),
            false => {
                let negative = self.widths_signed
                    && parameter.block == "decay"
                    && card.has_negative_mass(&parameter.index);
                let value = card.value(parameter)?;
                Ok(if negative { -value } else { value })
            }
        };
        self.card.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: &str = "\
# a card
BLOCK Mass Q= 9.1D+01 # masses
  6  1.73D+02 # top
 25  Auto
Block mix
  1 2 -5.0e-01
block alpha # one number
  -1.1e-01
DECAY 6 1.49 # width
   0.5 2 5 24
DECAY 23 nan
";

    fn value(block: &str, index: &[i32]) -> Result<f64> {
        let parameter = CardParameter {
            name: "MDL_X".into(),
            block: block.into(),
            index: index.into(),
            default: 0.0,
        };
        Card::parse(CARD, Path::new("param_card.dat")).value(&parameter)
    }

    #[test]
    fn finds_values_by_block_and_indices() {
        assert_eq!(value("mass", &[6]).unwrap(), 173.0);
        assert_eq!(value("mix", &[1, 2]).unwrap(), -0.5);
        assert_eq!(value("alpha", &[]).unwrap(), -0.11);
        assert_eq!(value("decay", &[6]).unwrap(), 1.49);
    }

    #[test]
    fn entries_that_stand_twice_have_one_value() {
        let text = "BLOCK MASS\n  6 171.0 # first\n  6 172.0\n 23 91.0\nBLOCK SMINPUTS\n  3 0.118\n\
                    BLOCK MASS\n  5 173.0 # in another block\n 23 9.1D1\nDECAY 6 1.1\nDECAY 6 1.2\n";
        let card = Card::parse(text, Path::new("param_card.dat"));
        let value = |block: &str, index: i32| {
            let parameter = CardParameter {
                name: "MDL_X".into(),
                block: block.into(),
                index: vec![index],
                default: 0.0,
            };
            card.value(&parameter)
        };
        // The same number in another form is no second value.
        assert_eq!(value("mass", 23).unwrap(), 91.0);
        assert_eq!(value("mass", 5).unwrap(), 173.0);
        for block in ["mass", "decay"] {
            let error = value(block, 6).unwrap_err().to_string();
            assert!(error.contains("stands there twice"), "{error}");
        }
        let error = value("mass", 6).unwrap_err().to_string();
        assert!(
            error.contains("`171.0` in line 2 and `172.0` in line 3"),
            "{error}"
        );
    }

    #[test]
    fn says_what_is_wrong_where() {
        let auto = value("mass", &[25]).unwrap_err().to_string();
        assert!(auto.contains("line 4") && auto.contains("Auto"), "{auto}");
        let missing = value("mass", &[5]).unwrap_err().to_string();
        assert!(
            missing.contains("param_card.dat") && missing.contains("5 of block mass"),
            "{missing}"
        );
        assert!(missing.contains("MDL_X"), "{missing}");
        let nan = value("decay", &[23]).unwrap_err().to_string();
        assert!(nan.contains("finite"), "{nan}");
    }
}
