//! The batch size: `vector_size` and `nb_warp` of the run card, and `Source/vector.inc`, which the launcher writes from
//! them.
//!
//! In a plain output both are 1, and MadEvent requests one event at a time.

use mebridge::files::lines;
use serde::{Deserialize, Serialize};

/// Mark after our lines in other files.
pub const MARK: &str = "# mebridge link";
/// Number of events in a warp. MadEvent gives all of them the same configuration.
const WARP: usize = 32;

/// The two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    pub vector_size: usize,
    pub nb_warp: usize,
}

impl Sizes {
    /// Returns sizes for batches of about `events` events.
    pub fn new(events: usize) -> Sizes {
        let warps = events.div_ceil(WARP).max(1);
        Sizes {
            vector_size: if events == 1 { 1 } else { WARP },
            nb_warp: warps,
        }
    }

    pub fn events(self) -> usize {
        self.vector_size.saturating_mul(self.nb_warp)
    }
}

/// Returns the value of a run card entry. If it occurs twice the last one counts, as in MG5aMC.
pub fn entry(card: &str, name: &str) -> Option<String> {
    let values = lines(card).filter_map(|line| {
        let (value, found) = split(line)?;
        (found == name).then(|| value.to_owned())
    });
    values.last()
}

fn split(line: &str) -> Option<(&str, String)> {
    let code = line.split(['#', '!']).next().unwrap_or("");
    let (value, name) = code.split_once('=')?;
    Some((value.trim(), name.trim().to_lowercase()))
}

/// Returns the sizes of a run card; missing ones are 1.
pub fn sizes(card: &str) -> Sizes {
    let number = |name| {
        entry(card, name)
            .and_then(|v| v.parse().ok())
            .unwrap_or(1usize)
            .max(1)
    };
    Sizes {
        vector_size: number("vector_size"),
        nb_warp: number("nb_warp"),
    }
}

/// Whether MadEvent samples helicities: then it picks one for all events of a batch, so that batches are not possible.
pub fn samples_helicities(card: &str) -> bool {
    entry(card, "nhel").is_some_and(|value| value.parse() != Ok(0))
}

/// Returns the run card with these sizes.
pub fn with_sizes(card: &str, sizes: Sizes) -> String {
    let card = set(card, "vector_size", sizes.vector_size);
    set(&card, "nb_warp", sizes.nb_warp)
}

fn set(card: &str, name: &str, value: usize) -> String {
    let is = |line: &str| split(line).is_some_and(|(_, found)| found == name);
    let last = card.lines().filter(|line| is(line)).count();
    let mut seen = 0;
    let mut text: String = card
        .split_inclusive('\n')
        .map(|line| {
            match is(line) && {
                seen += 1;
                seen == last
            } {
                true => {
                    let (old, rest) = line.split_once('=').unwrap_or((line, ""));
                    let lead = &old[..old.len() - old.trim_start().len()];
                    format!("{lead}{value} ={rest}")
                }
                false => line.to_owned(),
            }
        })
        .collect();
    if last == 0 {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("  {value} = {name} {MARK}\n"));
    }
    text
}

/// Removes the lines that link added from a run card whose original sizes are unknown.
pub fn without_marked(card: &str) -> String {
    let lines = card.split_inclusive('\n');
    let others = lines.filter(|line| !line.trim_end().ends_with(MARK));
    others.collect()
}

/// Removes our sizes from a run card that has changed since: `before` is the original card, `ours` the sizes that were
/// inserted.
pub fn without_sizes(card: &str, before: &str, ours: Sizes) -> String {
    let mut text = card.to_owned();
    for (name, ours) in [("vector_size", ours.vector_size), ("nb_warp", ours.nb_warp)] {
        if entry(&text, name).is_none_or(|value| value != ours.to_string()) {
            continue;
        }
        text = match entry(before, name).and_then(|v| v.parse().ok()) {
            Some(old) => set(&text, name, old),
            None => {
                let keep = |line: &&str| split(line).is_none_or(|(_, found)| found != name);
                text.split_inclusive('\n').filter(keep).collect()
            }
        };
    }
    text
}

/// Returns `Source/vector.inc` with these sizes.
pub fn vector_inc(text: &str, sizes: Sizes) -> String {
    let values = [
        ("WARP_SIZE", sizes.vector_size),
        ("VECTOR_SIZE", sizes.vector_size),
        ("NB_WARP", sizes.nb_warp),
        ("VECSIZE_MEMMAX", sizes.events()),
    ];
    text.split_inclusive('\n')
        .map(|line| {
            let upper: String = line.to_uppercase().split_whitespace().collect();
            let found = values
                .iter()
                .find(|(name, _)| upper.starts_with(&format!("PARAMETER({name}=")));
            match found {
                Some((name, value)) => format!("      PARAMETER ({name}={value})\n"),
                None => line.to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_in_and_out() {
        let plain = "  10 = nevents ! number\n# = x\n  1   = sde_strategy\n";
        let sizes = Sizes::new(500);
        assert_eq!(sizes.events(), 512);
        let linked = with_sizes(plain, sizes);
        assert_eq!(super::sizes(&linked), sizes);
        assert_eq!(without_sizes(&linked, plain, sizes), plain);
        let explicit = "  1 = vector_size ! hidden\n 16 = nb_warp\n";
        let linked = with_sizes(
            explicit,
            Sizes {
                vector_size: 32,
                nb_warp: 16,
            },
        );
        assert!(linked.contains("  32 = vector_size ! hidden"), "{linked}");
        let back = without_sizes(
            &linked,
            explicit,
            Sizes {
                vector_size: 32,
                nb_warp: 16,
            },
        );
        assert_eq!(super::sizes(&back), super::sizes(explicit));
        // A later choice of the user stays.
        let changed = linked.replace("32 = vector_size", "64 = vector_size");
        let back = without_sizes(
            &changed,
            explicit,
            Sizes {
                vector_size: 32,
                nb_warp: 16,
            },
        );
        assert!(back.contains("64 = vector_size"));
    }

    #[test]
    fn of_several_entries_the_last_counts() {
        let twice = "  64 = vector_size\n  32 = vector_size ! last\n 2 = nb_warp\n";
        assert_eq!(super::sizes(twice).events(), 64);
        let sizes = Sizes::new(512);
        let linked = with_sizes(twice, sizes);
        assert_eq!(super::sizes(&linked), sizes);
        assert!(linked.starts_with("  64 = vector_size\n"), "{linked}");
        assert_eq!(without_sizes(&linked, twice, sizes), twice);
        assert!(!samples_helicities("  1 = nhel\n  0 = nhel\n"));
    }

    #[test]
    fn sampled_helicities_are_seen() {
        assert!(samples_helicities("  1  = nhel ! sampled\n"));
        assert!(!samples_helicities("  0  = nhel\n  1 = vector_size\n"));
        assert!(!samples_helicities("  10 = nevents\n"));
    }

    #[test]
    fn vector_inc_has_the_product() {
        let text = "C     x\n      INTEGER WARP_SIZE\n      PARAMETER (WARP_SIZE=1)\n      PARAMETER (NB_WARP=1)\n      PARAMETER (VECSIZE_MEMMAX=1)";
        let new = vector_inc(text, Sizes::new(64));
        assert!(new.contains("(VECSIZE_MEMMAX=64)") && new.contains("(NB_WARP=2)"));
    }
}
