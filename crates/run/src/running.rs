//! Parameters that run with alpha_s (`running.py` of a UFO model): the part that depends on the run.
//!
//! A process contains the equation that runs a parameter from the scale of its block in the parameter card to the scale
//! of the event ([`mebridge::process::running`]). alpha_s at the former scale depends on the run; matrix elements read
//! it from a block `RUNNING_<block>` of the card.

use crate::densities::AlphaS;
use crate::text::repr;
use mebridge::Result;
use mebridge::process::Process;
use mebridge::process::running::{ENTRIES, entry};
use mebridge_support::sorted::SortedMap;

/// The reason why events with running parameters have no weights for systematics.
pub const NO_SYSTEMATICS: &str = "events have no weights for systematics, in which parameters of the model that run would have to stay; ask for \
     none, or fix their scale (fixed_extra_scale of a run card)";

/// The `RUNNING_` blocks of a card: for each block that runs its name, and values by index.
pub type CardBlocks = Vec<(String, SortedMap<usize, f64>)>;

/// Indices of the entries of a `RUNNING_` block.
const ALPHA_S: usize = 1;
const FIXED: usize = 2;
const QUARKS: usize = 3;
const SCALE: usize = 4;

/// The blocks with running parameters in some of these processes, with their scales, GeV.
pub fn scales<'a>(processes: impl IntoIterator<Item = &'a Process>) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for parameter in processes
        .into_iter()
        .flat_map(|process| &process.model.card)
    {
        let Some((block, "SCALE")) = entry(parameter) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| known == block) {
            Some((_, scale)) => *scale = parameter.default,
            None => found.push((block.to_owned(), parameter.default)),
        }
    }
    found
}

/// The contents of the `RUNNING_` blocks.
///
/// Args: `fixed` is a scale of the parameters common to all events, GeV, by default the scale of each event; `quarks`
/// is the number of flavours in the running of alpha_s, by default that of the process.
///
/// # Errors
/// alpha_s is not known at one of the scales.
pub fn blocks(
    scales: &[(String, f64)],
    alpha_s: &AlphaS,
    fixed: Option<f64>,
    quarks: Option<i64>,
) -> Result<CardBlocks> {
    let table = alpha_s.table()?;
    let at = |scale: f64| {
        alpha_s.check_scale(scale, "the scale")?;
        Ok(table.at(scale * scale))
    };
    let of_block = |(block, scale): &(String, f64)| {
        let mut entries = SortedMap::from([(ALPHA_S, at(*scale)?), (SCALE, *scale)]);
        if let Some(fixed) = fixed {
            entries.insert(FIXED, at(fixed)?);
        }
        entries.extend(quarks.map(|quarks| (QUARKS, quarks as f64)));
        Ok((block.clone(), entries))
    };
    scales.iter().map(of_block).collect()
}

/// A process with these values as the defaults of its card.
pub fn applied(process: &Process, blocks: &CardBlocks) -> Process {
    let mut process = process.clone();
    for parameter in &mut process.model.card {
        let own = entry(parameter).and_then(|(block, _)| {
            let (_, entries) = blocks.iter().find(|(known, _)| known == block)?;
            entries.get(&usize::try_from(parameter.index[0]).ok()?)
        });
        if let Some(value) = own {
            parameter.default = *value;
        }
    }
    process
}

/// The text of a card in which these blocks replace the existing ones.
pub fn with_blocks(card: &str, blocks: &CardBlocks) -> String {
    let (mut text, mut skipped) = (String::new(), false);
    for line in card.lines() {
        let words = line.split('#').next().unwrap_or("").to_ascii_lowercase();
        let mut words = words.split_whitespace();
        let first = words.next();
        if let Some("block" | "decay") = first {
            let name = words.next().and_then(|name| name.strip_prefix("running_"));
            let ours = name.is_some_and(|name| blocks.iter().any(|(block, _)| block == name));
            skipped = first == Some("block") && ours;
        }
        if !skipped {
            text.extend([line, "\n"]);
        }
    }
    for (block, entries) in blocks {
        text += &format!("BLOCK RUNNING_{}\n", block.to_ascii_uppercase());
        for (index, value) in entries {
            text += &format!("  {index} {} # {}\n", repr(*value), ENTRIES[index - 1]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::process::{example, running};

    fn process(scale: f64) -> Process {
        let mut process = example::scalars();
        let of = running::entries("DIM6", [0.1, 0.0, running::QUARKS, scale]);
        process.model.card.extend(of);
        process
    }

    #[test]
    fn blocks_take_the_place_of_such_that_are_there() {
        let card =
            "BLOCK MASS\n 6 173 # top\nblock running_dim6 # of another run\n 1 0.3\nDECAY 6 1.5\n";
        let blocks = vec![("dim6".to_owned(), SortedMap::from([(4, 100.0), (1, 0.1)]))];
        assert_eq!(
            with_blocks(card, &blocks),
            "BLOCK MASS\n 6 173 # top\nDECAY 6 1.5\nBLOCK RUNNING_DIM6\n  1 0.1 # ALPHA_S\n  4 100.0 # SCALE\n"
        );
    }

    #[test]
    fn processes_take_alpha_s_of_the_run() {
        assert!(scales([&example::scalars()]).is_empty());
        let process = process(100.0);
        let scales = scales([&example::scalars(), &process]);
        assert_eq!(scales, [("dim6".to_owned(), 100.0)]);
        let alpha_s = AlphaS::by_loops(0.118, 2);
        let found = blocks(&scales, &alpha_s, Some(800.0), Some(4)).expect("blocks");
        let own = applied(&process, &found);
        let values: Vec<f64> = own
            .model
            .card
            .iter()
            .rev()
            .take(4)
            .map(|p| p.default)
            .collect();
        let at = |scale: f64| alpha_s.table().expect("a table").at(scale * scale);
        assert_eq!(values, [100.0, 4.0, at(800.0), at(100.0)]);
        // Values that are not given stay.
        let found = blocks(&scales, &alpha_s, None, None).expect("blocks");
        assert_eq!(found[0].1.len(), 2);
        let own = applied(&process, &found);
        let values: Vec<f64> = own
            .model
            .card
            .iter()
            .rev()
            .take(3)
            .map(|p| p.default)
            .collect();
        assert_eq!(values, [100.0, running::QUARKS, 0.0]);
        let error = blocks(&scales, &alpha_s, Some(1e7), None).unwrap_err();
        assert!(
            error.to_string().contains("the scale is 1e+07 GeV"),
            "{error}"
        );
    }
}
