//! The parameter cards: the one that the events were made with, and in what the others differ from it.

use super::banner::Banner;
use crate::number::short;
use crate::oracle::workshop::scratch;
use mebridge::files::regular;
use mebridge::files::temporary::Temporary;
use mebridge::{Error, Result};
use std::path::{Path, PathBuf};

/// No card is longer.
const LONGEST: u64 = 64 << 20;

/// The card that the events were made with.
pub struct Original {
    path: PathBuf,
    /// The folder that it lies in, where it comes from a header.
    _scratch: Option<Temporary>,
}

impl Original {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The card that is named, else the one in the header of the file.
pub fn original(banner: &Banner, named: Option<&Path>, events: &Path) -> Result<Original> {
    if let Some(path) = named {
        return Ok(Original {
            path: path.into(),
            _scratch: None,
        });
    }
    let text = banner.card().ok_or_else(|| Error::EventsFile {
        path: events.into(),
        what: "there is no parameter card (<slha>) in its header; give the one that the events were made with: \
               --original CARD"
            .into(),
    })?;
    let scratch = scratch()?;
    // Messages name it.
    let path = scratch.path().join("param_card_of_the_events.dat");
    std::fs::write(&path, text).map_err(Error::io(&path))?;
    Ok(Original {
        path,
        _scratch: Some(scratch),
    })
}

/// For each card in what it differs, in the words of MG5aMC's `set` command.
pub fn describe(original: &Original, cards: &[PathBuf]) -> Result<Vec<String>> {
    let old = entries(original.path())?;
    cards
        .iter()
        .map(|card| {
            let mut text = String::new();
            for (place, value) in entries(card)? {
                let before = old.iter().find(|(known, _)| *known == place);
                let before = before.map(|(_, value)| *value);
                if before != Some(value) {
                    let before = before.map_or("none".into(), short);
                    text += &format!("set param_card {place} {} # orig: {before}\n", short(value));
                }
            }
            Ok(text)
        })
        .collect()
}

/// Block, indices and value of all entries that are numbers.
fn entries(path: &Path) -> Result<Vec<(String, f64)>> {
    let bytes = regular::read_or_pipe(path, LONGEST).map_err(Error::io(path))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut block: Option<String> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or("");
        let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
        let Some((last, before)) = words.split_last() else {
            continue;
        };
        match words[0].as_str() {
            "block" => {
                block = words.get(1).cloned();
                continue;
            }
            "decay" => block = None,
            _ => {}
        }
        let place = match &block {
            Some(block) => format!("{block} {}", before.join(" ")),
            None => before.join(" "),
        };
        // Lines of a decay table are none of ours: they come behind a `decay` and have no block.
        let listed = block.is_some() || words[0] == "decay";
        if let Ok(value) = last.replace('d', "e").parse::<f64>()
            && listed
        {
            found.push((place.trim().to_owned(), value));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_commands() {
        let folder = scratch().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let old = "BLOCK MASS # x\n  6 1.730000e+02 # MT\n 25 125.\nBLOCK SMINPUTS\n 3 0.118\nDECAY 6 1.5\n  1.0 2 5 24\n";
        let original = Original {
            path: write("a", old),
            _scratch: None,
        };
        let new = old
            .replace("1.730000e+02", "1.7D+02")
            .replace("6 1.5", "6 1.4");
        let cards = [write("b", &new), write("c", old)];
        let expected =
            "set param_card mass 6 170 # orig: 173\nset param_card decay 6 1.4 # orig: 1.5\n";
        assert_eq!(describe(&original, &cards).unwrap(), [expected, ""]);
    }
}
