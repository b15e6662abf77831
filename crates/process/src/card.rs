//! Parameter cards in the SUSY Les Houches Accord format (hep-ph/0311123).
//!
//! A card has blocks (`BLOCK name`, optionally with a scale `Q=`) of lines "indices value", and lines `DECAY pdg
//! width`. `#` starts a comment; case is ignored. Exponents may be written with D.
//!
//! MG5aMC has three readers, which differ for ambiguous cards. `check_param_card.py` reads the card whenever a run is
//! launched, and stops at errors; `lha_read.f` reads it in standalone programs, and so does the plugin's C++. An entry
//! that the first one refuses is refused here when its value is requested:
//!
//! | card | `check_param_card.py` (3.4.2 to 3.5.7) | `lha_read.f` (2.8.3 to 3.5.7) | plugin |
//! |---|---|---|---|
//! | one entry in two lines, two values | `already define` | the first | the last |
//! | `6 173.0 5`, `DECAY 6 1.49 5` | not a number, `ValueError` | 173.0 | |
//! | `6 173 5` where 6 is needed | entry of indices 6 173; the default, with a warning | 173 | |

use super::model::CardParameter;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::{lines, regular};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The text, in lower case, that replaces a width which is to be computed.
const AUTO: &str = "auto";

/// Largest card that is read; cards have a few kilobytes.
const MAX_CARD_BYTES: u64 = 64 << 20;

/// A parameter card.
#[derive(Clone, Debug, Default)]
pub struct Card {
    path: PathBuf,
    /// Entries by block and indices.
    entries: HashMap<(String, Vec<i32>), Entry>,
    /// Scales of blocks, in GeV.
    scales: HashMap<String, f64>,
}

/// The text of a value in a card.
#[derive(Clone, Debug)]
struct Entry {
    /// Everything after the indices.
    text: String,
    line: usize,
    /// The line of a second, different value for the same entry, and that value.
    other: Option<(usize, String)>,
}

impl Card {
    /// Reads a card from a file.
    pub fn read(path: &Path) -> Result<Card> {
        let bytes = regular::read_or_pipe(path, MAX_CARD_BYTES).map_err(Error::io(path))?;
        Ok(Card::parse(&String::from_utf8_lossy(&bytes), path))
    }

    /// Reads a card from text; `path` is for messages. Values are parsed only when they are requested, because a card
    /// may hold entries for other programs.
    pub fn parse(text: &str, path: &Path) -> Card {
        let mut card = Card {
            path: path.to_path_buf(),
            entries: HashMap::new(),
            scales: HashMap::new(),
        };
        let mut block: Option<String> = None;
        for (i, line) in lines(text).enumerate() {
            let line = line.split('#').next().unwrap_or("");
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(first) = words.first() else {
                continue;
            };
            if first.eq_ignore_ascii_case("block") {
                block = words.get(1).map(|name| name.to_ascii_lowercase());
                if let (Some(name), Some(scale)) = (&block, scale(&words[1..])) {
                    card.scales.insert(name.clone(), scale);
                }
            } else if first.eq_ignore_ascii_case("decay") {
                block = None;
                if let Some(pdg) = words.get(1).and_then(|w| w.parse::<i32>().ok()) {
                    card.enter("decay", vec![pdg], &words[2..], i + 1);
                }
            } else if let Some(block) = &block {
                let (index, value) = parts(&words);
                card.enter(block, index, value, i + 1);
            }
        }
        card
    }

    fn enter(&mut self, block: &str, index: Vec<i32>, value: &[&str], line: usize) {
        let text = value.join(" ");
        let entry = self
            .entries
            .entry((block.to_owned(), index))
            .or_insert_with(|| Entry {
                text: text.clone(),
                line,
                other: None,
            });
        let value = |text: &str| number(text).map(f64::to_bits);
        let same =
            entry.text == text || value(&text).is_some_and(|x| value(&entry.text) == Some(x));
        if !same && entry.other.is_none() {
            entry.other = Some((line, text));
        }
    }

    /// The number of an entry; `None` if there is no such entry or it is not a number.
    pub fn number(&self, block: &str, index: &[i32]) -> Option<f64> {
        let entry = self.entries.get(&(block.to_owned(), index.to_vec()))?;
        number(&entry.text)
    }

    /// Whether there is an entry for a parameter.
    pub fn has(&self, parameter: &CardParameter) -> bool {
        let key = (parameter.block.clone(), parameter.index.clone());
        self.entries.contains_key(&key)
    }

    /// The scale of a block (`Q=`), if it has one.
    pub fn scale(&self, block: &str) -> Option<f64> {
        self.scales.get(block).copied()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an entry leaves its number to be computed: `Auto`, or `Auto@NLO`.
    pub fn is_auto(&self, block: &str, index: &[i32]) -> bool {
        let entry = self.entries.get(&(block.to_owned(), index.to_vec()));
        entry.is_some_and(|entry| is_auto(&entry.text))
    }

    /// Whether the card leaves a width to be computed at leading order (`Auto`).
    pub fn leaves_open(&self, parameter: &CardParameter) -> bool {
        parameter.block == "decay" && self.text(parameter) == AUTO
    }

    /// The error for an entry that is `Auto` but cannot be computed, because of `why`.
    pub fn not_computed(&self, parameter: &CardParameter, why: &str) -> Error {
        let key = (parameter.block.clone(), parameter.index.clone());
        let line = self.entries.get(&key).map_or(0, |entry| entry.line);
        let what = format!(
            "line {line}: {} ({}) is Auto, and {why}; let MG5aMC compute it first (it writes the number into the card \
             when the run is launched), or put a number there",
            place(parameter),
            parameter.name
        );
        Error::Card {
            path: self.path.clone(),
            what,
        }
    }

    /// Whether the card gives a particle a mass below zero.
    pub(super) fn has_negative_mass(&self, pdg: &[i32]) -> bool {
        self.number("mass", pdg).is_some_and(|mass| mass < 0.0)
    }

    /// The text of a parameter's value, in lower case; empty if there is no value, or two.
    fn text(&self, parameter: &CardParameter) -> String {
        let key = (parameter.block.clone(), parameter.index.clone());
        let one = self.entries.get(&key).filter(|entry| entry.other.is_none());
        one.map_or_else(String::new, |entry| entry.text.to_ascii_lowercase())
    }

    /// Finds an entry whose indices begin with these, for error messages.
    fn longer(&self, (block, index): &(String, Vec<i32>)) -> Option<(String, &Entry)> {
        let is_longer = |key: &&(String, Vec<i32>)| key.0 == *block && key.1.starts_with(index);
        let key = self.entries.keys().filter(is_longer).min()?;
        let index: Vec<String> = key.1.iter().map(i32::to_string).collect();
        Some((index.join(" "), self.entries.get(key)?))
    }

    /// The value of a parameter.
    pub fn value(&self, parameter: &CardParameter) -> Result<f64> {
        let fail = |what: String| Error::Card {
            path: self.path.clone(),
            what,
        };
        let place = place(parameter);
        let key = (parameter.block.clone(), parameter.index.clone());
        let Some(Entry { text, line, other }) = self.entries.get(&key) else {
            if let Some((index, entry)) = self.longer(&key) {
                return Err(fail(format!(
                    "line {}: `{index} {}` is not the entry {place} ({}), which the process needs: it has more indices than \
                     in ident_card.dat; write one value, and # before any comment",
                    entry.line, entry.text, parameter.name
                )));
            }
            return Err(fail(match self.entries.is_empty() {
                true => "it has no entries; give a parameter card, with `BLOCK MASS` and so on"
                    .to_owned(),
                false => format!(
                    "there is no entry {place} ({}), which the process needs; add it",
                    parameter.name
                ),
            }));
        };
        if is_auto(text) {
            return Err(self.not_computed(parameter, "the process has no formula for it"));
        }
        if let Some((again, other)) = other {
            return Err(fail(format!(
                "{place} ({}) is given twice: `{text}` in line {line} and `{other}` in line {again}; keep the right \
                 one",
                parameter.name
            )));
        }
        match number(text) {
            Some(x) if x.is_finite() => Ok(x),
            None if text.is_empty() => Err(fail(format!(
                "line {line}: {place} ({}) has no value; write one there",
                parameter.name
            ))),
            None if text.contains(' ') => Err(fail(format!(
                "line {line}: {place} ({}) is `{text}`, more than one word, which MG5aMC does not accept; write one \
                 value, and # before any comment",
                parameter.name
            ))),
            _ => Err(fail(format!(
                "line {line}: {place} ({}) is `{text}`, which is not a finite number",
                parameter.name
            ))),
        }
    }
}

/// Splits a line into indices and value, as MG5aMC does: the leading integers are indices, except the last word;
/// everything after them is the value.
fn parts<'a, 'b>(words: &'a [&'b str]) -> (Vec<i32>, &'a [&'b str]) {
    let last = words.len() - 1;
    let index: Vec<i32> = words[..last].iter().map_while(|w| w.parse().ok()).collect();
    let at = index.len();
    (index, &words[at..])
}

/// Parses the scale after the name of a block: `Q= 172.5`, with spaces or without.
fn scale(words: &[&str]) -> Option<f64> {
    let text = words.get(1..)?.concat();
    number(text.to_ascii_lowercase().strip_prefix("q=")?)
}

/// Parses a number whose exponent may be written with D.
fn number(text: &str) -> Option<f64> {
    text.replace(['d', 'D'], "e").parse().ok()
}

/// Whether the text of a value leaves the number to be computed.
fn is_auto(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text == AUTO || text.starts_with("auto@")
}

/// A parameter's place in the card, for messages.
pub(crate) fn place(parameter: &CardParameter) -> String {
    let index: Vec<String> = parameter.index.iter().map(i32::to_string).collect();
    match parameter.block.as_str() {
        "decay" => format!("DECAY {}", index.join(" ")),
        block if index.is_empty() => format!("of block {block}"),
        block => format!("{} of block {block}", index.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

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

    /// Line endings of other systems, including old Macintoshes.
    #[test]
    fn lines_end_in_any_way() {
        let parameter = |block: &str| CardParameter {
            name: "MDL_X".into(),
            block: block.into(),
            index: vec![6],
            default: 0.0,
        };
        let at = |end: &str, text: &str| {
            Card::parse(&text.replace('\n', end), Path::new("param_card.dat"))
        };
        for end in ["\n", "\r\n", "\r"] {
            let card = at(end, CARD);
            assert_eq!(card.value(&parameter("mass")).unwrap(), 173.0);
            assert_eq!(card.value(&parameter("decay")).unwrap(), 1.49);
            assert_eq!(card.scale("mass"), Some(91.0));
            let twice = at(end, "BLOCK MASS\n 6 1\n\n 6 2\nDECAY 6 # none\n");
            let error = twice.value(&parameter("mass")).unwrap_err().to_string();
            assert!(error.contains("`1` in line 2 and `2` in line 4"), "{error}");
            let error = twice.value(&parameter("decay")).unwrap_err().to_string();
            assert!(
                error.contains("line 5: DECAY 6 (MDL_X) has no value"),
                "{error}"
            );
        }
        for nothing in ["", "# a comment alone\n", "\u{1f}\u{8b}"] {
            let error = at("\n", nothing).value(&parameter("mass")).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains("param_card.dat: it has no entries; give a"),
                "{error}"
            );
        }
    }

    #[test]
    fn blocks_have_scales() {
        let card = Card::parse(
            "Block A Q=1.5D2 # GeV\nBLOCK b q = 91.\nBLOCK c\nBLOCK d Q\n",
            Path::new("x"),
        );
        let scales = ["a", "b", "c", "d"].map(|block| card.scale(block));
        assert_eq!(scales, [Some(150.0), Some(91.0), None, None]);
        let other = Card::parse(CARD, Path::new("x"));
        assert_eq!(other.scale("mass"), Some(91.0));
    }

    #[test]
    fn widths_may_be_left_open() {
        let model = Model {
            card: [("decay", 25), ("mass", 25)]
                .map(|(block, index)| CardParameter {
                    name: "MDL_X".into(),
                    block: block.into(),
                    index: vec![index],
                    default: 0.0,
                })
                .into(),
            ..Model::default()
        };
        let card = |text: &str| Card::parse(text, Path::new("param_card.dat"));
        for auto in ["Auto", "auto@NLO"] {
            let open = card(&format!("BLOCK MASS\n25 125\nDECAY 25 {auto}\n"));
            let values = model.card_values_so_far(&open).unwrap();
            assert!(values[0].is_nan() && values[1] == 125.0, "{values:?}");
            // The two-body formulas do not give a one-loop width.
            assert_eq!(open.leaves_open(&model.card[0]), auto == "Auto");
            let error = model.card_values(&open).unwrap_err().to_string();
            assert!(
                error.contains("line 3: DECAY 25 (MDL_X) is Auto"),
                "{error}"
            );
        }
        // A parameter other than a width cannot be left open.
        let mass = card("BLOCK MASS\n25 Auto\nDECAY 25 1\n");
        assert!(!mass.leaves_open(&model.card[1]));
        assert!(model.card_values_so_far(&mass).is_err());
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
        // The same number in another form does not count as a second value.
        assert_eq!(value("mass", 23).unwrap(), 91.0);
        assert_eq!(value("mass", 5).unwrap(), 173.0);
        for block in ["mass", "decay"] {
            let error = value(block, 6).unwrap_err().to_string();
            assert!(error.contains("is given twice"), "{error}");
        }
        let error = value("mass", 6).unwrap_err().to_string();
        assert!(
            error.contains("`171.0` in line 2 and `172.0` in line 3"),
            "{error}"
        );
    }

    /// Entries at which MG5aMC stops when it launches a run, or which it takes for others.
    #[test]
    fn one_value_stands_behind_the_indices() {
        let text = "BLOCK MASS\n  6 173.0 5 # MT\n  5 4.7 GeV\n 23 91 5\n 24 80.4 # 5\nDECAY 6 1.49 7\nBLOCK MIX\n\
                    1 2 0.5\n1 0.3\n-1 -2 -0.7\n1 3 0.5 1\nBLOCK ALPHA\n 0.1 0.2\n";
        let card = Card::parse(text, Path::new("param_card.dat"));
        let value = |block: &str, index: &[i32]| {
            let parameter = CardParameter {
                name: "MDL_X".into(),
                block: block.into(),
                index: index.into(),
                default: 0.0,
            };
            card.value(&parameter).map_err(|e| e.to_string())
        };
        for (block, index, what) in [
            (
                "mass",
                &[6][..],
                "line 2: 6 of block mass (MDL_X) is `173.0 5`, more than one word",
            ),
            ("mass", &[5], "`4.7 GeV`, more than one word"),
            (
                "mass",
                &[23],
                "line 4: `23 91 5` is not the entry 23 of block mass",
            ),
            ("decay", &[6], "`1.49 7`, more than one word"),
            ("mix", &[1, 3], "`0.5 1`, more than one word"),
            ("alpha", &[], "`0.1 0.2`, more than one word"),
        ] {
            let error = value(block, index).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        assert_eq!(value("mass", &[24]), Ok(80.4));
        // Entries of one and of two indices in one block.
        assert_eq!(value("mix", &[1]), Ok(0.3));
        assert_eq!(value("mix", &[1, 2]), Ok(0.5));
        assert_eq!(value("mix", &[-1, -2]), Ok(-0.7));
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
