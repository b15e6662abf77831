//! Summarises several logs in one table: a line for each directory.

use super::log::{Entry, name};
use super::verdict::Outcome;
use mebridge::{Error, Result};
use mebridge_command::output::columns;
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

#[derive(Default)]
struct Row {
    changes: usize,
    /// Hashes of the changes, because two seeds may give the same change.
    different: HashSet<u64>,
    outcomes: SortedMap<Outcome, usize>,
}

impl Row {
    fn add(&mut self, entry: &Entry) {
        let mut hasher = DefaultHasher::new();
        (&entry.directory, &entry.file, entry.line).hash(&mut hasher);
        (&entry.before, &entry.after).hash(&mut hasher);
        self.changes += 1;
        self.different.insert(hasher.finish());
        *self.outcomes.entry(entry.outcome).or_default() += 1;
    }

    fn cells(&self, directory: &str, outcomes: &SortedSet<Outcome>) -> Vec<String> {
        let count = |outcome: &Outcome| self.outcomes.get(outcome).copied().unwrap_or(0);
        let numbers = [self.changes, self.different.len()].into_iter();
        std::iter::once(directory.to_owned())
            .chain(
                numbers
                    .chain(outcomes.iter().map(count))
                    .map(|n| n.to_string()),
            )
            .collect()
    }
}

/// Returns the table of these logs. A truncated line is ignored.
pub fn table(logs: &[PathBuf]) -> Result<String> {
    let mut rows: SortedMap<String, Row> = SortedMap::new();
    let mut all = Row::default();
    for path in logs {
        let file = std::fs::File::open(path).map_err(Error::io(path))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(Error::io(path))?;
            let Ok(entry) = serde_json::from_str::<Entry>(&line) else {
                continue;
            };
            rows.entry(entry.directory.clone()).or_default().add(&entry);
            all.add(&entry);
        }
    }
    let outcomes: SortedSet<Outcome> = all.outcomes.keys().copied().collect();
    let head = ["directory", "changes", "different ones"].into_iter();
    let head = head.chain(outcomes.iter().map(|outcome| name(*outcome)));
    let mut cells: Vec<Vec<String>> = vec![head.map(str::to_owned).collect()];
    cells.extend(rows.iter().map(|(name, row)| row.cells(name, &outcomes)));
    cells.push(all.cells("all", &outcomes));
    Ok(columns(&cells))
}
