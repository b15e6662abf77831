//! The parameter cards: the one that the events were made with, and the differences of the others from it.

use super::banner::Banner;
use crate::number::short;
use mebridge::files::regular;
use mebridge::files::temporary::Temporary;
use mebridge::{Error, Result};
use mebridge_oracle::fortran_build::scratch;
use std::path::{Path, PathBuf};

/// Largest card, in bytes.
pub const MAX_CARD_BYTES: u64 = 64 << 20;

/// The card that the events were made with.
pub struct Original {
    path: PathBuf,
    /// The text of the card.
    pub text: String,
    /// For a card from a header: its temporary folder, and the file with events.
    header: Option<(Temporary, PathBuf)>,
}

impl Original {
    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rewrites an error for the user: the temporary folder of a card from a header is about to be deleted.
    pub fn name(&self, error: Error) -> Error {
        let Some((_, events)) = &self.header else {
            return error;
        };
        let (path, what) = match &error {
            Error::Card { path, what } | Error::Import { path, what } => (path, what.clone()),
            Error::Io { path, source } => (path, source.to_string()),
            _ => return error,
        };
        if *path != self.path {
            return error;
        }
        Error::EventsFile {
            path: events.clone(),
            what: format!(
                "the parameter card in its header (<slha>): {what}; --original CARD takes another one"
            ),
        }
    }
}

/// A card with the parameters of a weight.
pub struct CardVariation {
    /// The name of the weight, if it has one.
    pub name: Option<String>,
    /// Name of the card in messages.
    pub shown: PathBuf,
    /// The text of the card.
    pub text: String,
}

impl CardVariation {
    /// Reads a card from a file.
    pub fn read(path: &Path, name: Option<&String>) -> Result<CardVariation> {
        let text = read(path)?;
        let begins = |line: &str| line.split_whitespace().next() == Some("launch");
        if text.lines().any(begins) {
            return Err(Error::Card {
                path: path.into(),
                what: "it has commands of MG5aMC's reweighting (launch) and is no parameter card; give it with \
                       --reweight-card"
                    .into(),
            });
        }
        Ok(CardVariation {
            name: name.cloned(),
            shown: path.into(),
            text,
        })
    }
}

fn read(path: &Path) -> Result<String> {
    let bytes = regular::read_or_pipe(path, MAX_CARD_BYTES).map_err(Error::io(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the named card, else the one in the header of the file.
pub fn original(banner: &Banner, named: Option<&Path>) -> Result<Original> {
    if let Some(path) = named {
        return Ok(Original {
            path: path.into(),
            text: read(path)?,
            header: None,
        });
    }
    let text = banner.card.clone().ok_or_else(|| {
        let what = "there is no parameter card (<slha>) in its header; give the one that the events were made with: \
                    --original CARD";
        banner.error(what.into())
    })?;
    let scratch = scratch()?;
    let path = scratch.path().join("param_card.dat");
    std::fs::write(&path, &text).map_err(Error::io(&path))?;
    Ok(Original {
        path,
        text,
        header: Some((scratch, banner.path().into())),
    })
}

/// Describes the differences of each card, in the syntax of MG5aMC's `set` command.
pub fn describe(original: &Original, weights: &[CardVariation]) -> Vec<String> {
    let numbers = |text: &str| -> Vec<(String, f64)> {
        let entries = entries(text).into_iter();
        entries
            .filter_map(|entry| Some((entry.place(), number(&text[entry.value])?)))
            .collect()
    };
    let old = numbers(&original.text);
    let describe = |weight: &CardVariation| {
        let mut text = String::new();
        for (place, value) in numbers(&weight.text) {
            let before = old.iter().find(|(known, _)| *known == place);
            let before = before.map(|(_, value)| *value);
            if before != Some(value) {
                let before = before.map_or("none".into(), short);
                text += &format!("set param_card {place} {} # orig: {before}\n", short(value));
            }
        }
        text
    };
    weights.iter().map(describe).collect()
}

/// Parses a number, whose exponent may be written with D.
fn number(text: &str) -> Option<f64> {
    text.replace(['d', 'D'], "e").parse().ok()
}

/// A line of a card that has a value.
struct Entry {
    /// In lower case; `decay` for a width.
    block: String,
    indices: Vec<String>,
    /// Position of the value in the card.
    value: std::ops::Range<usize>,
    comment: String,
}

impl Entry {
    fn place(&self) -> String {
        let mut words = vec![self.block.as_str()];
        words.extend(self.indices.iter().map(String::as_str));
        words.join(" ")
    }

    /// Whether the comment gives it this name, as MG5aMC reads it (`ParamCard.analyze_param_card`).
    fn is_called(&self, name: &str) -> bool {
        let words: Vec<&str> = self.comment.split_whitespace().collect();
        match words.as_slice() {
            [only] => only.eq_ignore_ascii_case(name),
            [first, second, ..] => second.starts_with('(') && first.eq_ignore_ascii_case(name),
            [] => false,
        }
    }
}

/// Returns the lines with a value. Those of a decay table are excluded: they follow a `decay` and have no block.
fn entries(text: &str) -> Vec<Entry> {
    let mut block: Option<String> = None;
    let mut found = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let start = at;
        at += whole.len();
        let (line, comment) = whole.split_once('#').unwrap_or((whole, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((&last, before)) = words.split_last() else {
            continue;
        };
        let mut indices: Vec<String> = before.iter().map(|word| word.to_lowercase()).collect();
        if words[0].eq_ignore_ascii_case("block") {
            block = words.get(1).map(|name| name.to_lowercase());
            continue;
        }
        let of = if words[0].eq_ignore_ascii_case("decay") {
            block = None;
            if !indices.is_empty() {
                indices.remove(0);
            }
            "decay".to_owned()
        } else if let Some(block) = &block {
            block.clone()
        } else {
            continue;
        };
        // Up to the last word of the line.
        let end = start + line.trim_end().len();
        found.push(Entry {
            block: of,
            indices,
            value: end - last.len()..end,
            comment: comment.trim().to_owned(),
        });
    }
    found
}

/// Applies MG5aMC's `set` to a card: `[param_card] BLOCK INDEX... VALUE`, `BLOCK NAME VALUE` or `NAME VALUE`.
pub fn set(text: &str, words: &[&str]) -> std::result::Result<String, String> {
    let mut words: Vec<&str> = words.iter().copied().filter(|word| *word != "=").collect();
    if words
        .first()
        .is_some_and(|w| w.eq_ignore_ascii_case("param_card"))
    {
        words.remove(0);
    }
    let Some((&value, place)) = words.split_last().filter(|(_, place)| !place.is_empty()) else {
        return Err("a block, an index and a value are expected, or a name and a value".into());
    };
    if !number(value).is_some_and(f64::is_finite) {
        return Err(format!(
            "{value} is no number; values that MG5aMC computes (auto, scan, default) have to be written out"
        ));
    }
    let block = match place[0].to_lowercase() {
        width if width == "width" => "decay".to_owned(),
        block => block,
    };
    let indices = &place[1..];
    let entries = entries(text);
    let is_block = entries.iter().any(|entry| entry.block == block);
    let matches = |entry: &Entry| match (is_block, indices) {
        (true, [name]) if name.parse::<i32>().is_err() => {
            entry.block == block && entry.is_called(name)
        }
        (true, _) => {
            let same = |(a, b): (&String, &&str)| a == *b;
            entry.block == block
                && entry.indices.len() == indices.len()
                && entry.indices.iter().zip(indices).all(same)
        }
        (false, []) => entry.is_called(place[0]),
        (false, _) => false,
    };
    let mut places: Vec<&Entry> = entries.iter().filter(|entry| matches(entry)).collect();
    if places.is_empty() {
        return Err("the card of the events has no such entry".into());
    }
    if is_block {
        // The first of two entries counts.
        places.truncate(1);
    }
    let mut text = text.to_owned();
    for entry in places.iter().rev() {
        text.replace_range(entry.value.clone(), value);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_commands() {
        let old = "BLOCK MASS # x\n  6 1.730000e+02 # MT\n 25 125.\nBLOCK SMINPUTS\n 3 0.118\n\
                   DECAY 6 1.5\n  1.0 2 5 24\n";
        let original = Original {
            path: "a".into(),
            text: old.into(),
            header: None,
        };
        let new = old
            .replace("1.730000e+02", "1.7D+02")
            .replace("6 1.5", "6 1.4");
        let weights = [new, old.to_owned()].map(|text| CardVariation {
            name: None,
            shown: "b".into(),
            text,
        });
        let expected =
            "set param_card mass 6 170 # orig: 173\nset param_card decay 6 1.4 # orig: 1.5\n";
        assert_eq!(describe(&original, &weights), [expected, ""]);
    }
}
