//! `Source/param_card.inc`: the parameters of a card as Fortran assignments, which MG5aMC writes when a MadEvent run
//! starts.
//!
//! MG5aMC rounds each number to seven digits there. Here all digits are kept, so that differences come from matrix
//! elements and not from cards. As in MG5aMC the width of a particle with a negative mass is negative.

use super::tree::Tree;
use mebridge::files::lines;
use std::collections::HashMap;
use std::path::Path;

/// Adds the file to a tree in which a file includes it; an existing one is replaced if the cards are present.
pub fn add(tree: &mut Tree) -> Result<(), String> {
    let wanted = tree
        .text("Source/MODEL/param_read.inc")
        .is_some_and(|text| text.to_ascii_lowercase().contains("param_card.inc"));
    let ident = tree.text("Cards/ident_card.dat");
    let card = tree.text("Cards/param_card.dat");
    let (true, Some(ident), Some(card)) = (wanted, ident, card) else {
        return Ok(());
    };
    let text = assignments(ident, card);
    tree.files
        .insert(Path::new("Source/param_card.inc").into(), text);
    Ok(())
}

/// An entry of a card: block in lower case, and indices.
type Key = (String, Vec<i64>);

fn assignments(ident: &str, card: &str) -> String {
    let values = entries(card);
    let mut text = String::new();
    for line in ident.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [block, indices @ .., name] = &words[..] else {
            continue;
        };
        let numbers: Option<Vec<i64>> = indices.iter().map(|w| w.parse().ok()).collect();
        let Some(numbers) = numbers.filter(|n| !n.is_empty()) else {
            continue;
        };
        let key = (block.to_ascii_lowercase(), numbers);
        // Entries that no process needs may be missing, such as the scale of loops.
        let Some(&value) = values.get(&key) else {
            continue;
        };
        let mass = values.get(&("mass".to_owned(), key.1.clone()));
        let negative = key.0 == "decay" && mass.is_some_and(|m| *m < 0.0);
        let value = if negative { -value } else { value };
        let value = format!("{value:.17e}").replace('e', "D");
        text.push_str(&format!("      {name} = {value}\n"));
    }
    text
}

/// Returns the numbers of a card.
fn entries(card: &str) -> HashMap<Key, f64> {
    let mut entries = HashMap::new();
    let mut block = String::new();
    for line in lines(card) {
        let line = line.split('#').next().unwrap_or("").to_ascii_lowercase();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["block", name, ..] => block = name.to_owned(),
            ["decay", code, value, ..] => {
                // The channels of the decay follow.
                block = String::new();
                if let (Ok(code), Some(value)) = (code.parse(), number(value)) {
                    entries.entry(("decay".into(), vec![code])).or_insert(value);
                }
            }
            [ref indices @ .., value] if !block.is_empty() => {
                let indices: Option<Vec<i64>> = indices.iter().map(|w| w.parse().ok()).collect();
                if let (Some(indices), Some(value)) = (indices, number(value)) {
                    entries.entry((block.clone(), indices)).or_insert(value);
                }
            }
            _ => {}
        }
    }
    entries
}

fn number(word: &str) -> Option<f64> {
    word.replace('d', "e").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_becomes_assignments() {
        let ident = "cccc\nc  written by\nmass 6 mdl_MT\ndecay 6 mdl_WT\nnmix 1 2 mdl_N\n";
        let card =
            "Block MASS # x\n 6 -1.73e+02\nDECAY 6 1.5d0\n 1.0 2 24 5\nBlock nmix\n1 2 0.5\n";
        assert_eq!(
            assignments(ident, card),
            "      mdl_MT = -1.73000000000000000D2\n\
             \x20     mdl_WT = -1.50000000000000000D0\n\
             \x20     mdl_N = 5.00000000000000000D-1\n"
        );
        assert_eq!(assignments("mass 7 X", card), "");
    }
}
