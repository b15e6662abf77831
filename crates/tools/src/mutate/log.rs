//! The log of changes, a line of JSON for each, and its summary.

use super::change::Change;
use super::judge::Times;
use super::verdict::{Outcome, Verdict};
use mebridge::{Error, Result};
use mebridge_command::output;
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One change with its outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The directory, and the number of the matrix element in it.
    #[serde(default)]
    pub directory: String,
    #[serde(default)]
    pub seed: u64,
    /// The number of the change.
    pub number: u64,
    pub file: String,
    pub line: usize,
    pub change: String,
    pub before: String,
    pub after: String,
    pub outcome: Outcome,
    pub detail: String,
    pub milliseconds: f64,
}

impl Entry {
    pub fn new(
        number: u64,
        file: &Path,
        change: &Change,
        verdict: Verdict,
        time: Duration,
    ) -> Entry {
        Entry {
            directory: String::new(),
            seed: 0,
            number,
            file: file.display().to_string(),
            line: change.line,
            change: change.what.into(),
            before: change.before.clone(),
            after: change.after.clone(),
            outcome: verdict.outcome,
            detail: verdict.detail,
            milliseconds: 1e3 * time.as_secs_f64(),
        }
    }

    fn is_bad(&self) -> bool {
        matches!(
            self.outcome,
            Outcome::Differs | Outcome::Panics | Outcome::Hangs
        )
    }
}

/// All entries of one directory and seed.
pub struct Log {
    file: Option<(PathBuf, File)>,
    directory: String,
    seed: u64,
    entries: Vec<Entry>,
    numbers: HashSet<u64>,
    /// Number of entries from an earlier run.
    earlier: usize,
}

impl Log {
    /// Reads the existing log. A truncated last line is ignored.
    pub fn open(path: Option<&Path>, directory: &str, seed: u64) -> Result<Log> {
        let mut log = Log {
            file: None,
            directory: directory.to_owned(),
            seed,
            entries: Vec::new(),
            numbers: HashSet::new(),
            earlier: 0,
        };
        let Some(path) = path else {
            return Ok(log);
        };
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for entry in text
            .lines()
            .filter_map(|l| serde_json::from_str::<Entry>(l).ok())
        {
            if entry.directory == directory && entry.seed == seed {
                log.numbers.insert(entry.number);
                log.entries.push(entry);
            }
        }
        log.earlier = log.entries.len();
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(Error::io(path))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(Error::io(path))?;
        }
        log.file = Some((path.to_owned(), file));
        Ok(log)
    }

    /// Whether the log contains a change.
    pub fn has(&self, number: u64) -> bool {
        self.numbers.contains(&number)
    }

    /// Adds an entry; bad outcomes are reported immediately.
    pub fn add(&mut self, mut entry: Entry) -> Result<()> {
        entry.directory.clone_from(&self.directory);
        entry.seed = self.seed;
        if let Some((path, file)) = &mut self.file {
            let text = serde_json::to_string(&entry).map_err(|e| Error::io(&*path)(e.into()))?;
            writeln!(file, "{text}").map_err(Error::io(&*path))?;
        }
        if entry.is_bad() {
            output::print(&in_words(&entry))?;
        }
        self.numbers.insert(entry.number);
        self.entries.push(entry);
        Ok(())
    }

    /// Whether any outcome is bad.
    pub fn is_bad(&self) -> bool {
        self.entries.iter().any(Entry::is_bad)
    }

    /// Returns the numbers of changes by outcome, in total and for each file, and the times.
    pub fn summary(&self, times: Times, wall: Duration) -> String {
        let mut files: SortedMap<&str, SortedMap<Outcome, usize>> = SortedMap::new();
        let mut all: SortedMap<Outcome, usize> = SortedMap::new();
        for entry in &self.entries {
            let file = files.entry(&entry.file).or_default();
            *file.entry(entry.outcome).or_default() += 1;
            *all.entry(entry.outcome).or_default() += 1;
        }
        let outcomes: Vec<Outcome> = all.keys().copied().collect();
        let mut rows = vec![
            std::iter::once("file".to_owned())
                .chain(outcomes.iter().map(|o| name(*o).to_owned()))
                .collect::<Vec<_>>(),
        ];
        let counts = |counts: &SortedMap<Outcome, usize>| -> Vec<String> {
            let count = |o: &Outcome| counts.get(o).copied().unwrap_or(0).to_string();
            outcomes.iter().map(count).collect()
        };
        for (file, found) in &files {
            rows.push([vec![(*file).to_owned()], counts(found)].concat());
        }
        rows.push([vec!["all".to_owned()], counts(&all)].concat());
        let mut text = output::columns(&rows);
        let fresh = &self.entries[self.earlier..];
        let mean = |refused: bool| {
            let of = |e: &&Entry| (e.outcome == Outcome::Refused) == refused;
            let times: Vec<f64> = fresh.iter().filter(of).map(|e| e.milliseconds).collect();
            times.iter().sum::<f64>() / times.len().max(1) as f64
        };
        let _ = writeln!(
            text,
            "{} changes in {:.1} s: {:.1} ms for one that is refused, {:.1} ms for another",
            fresh.len(),
            wall.as_secs_f64(),
            mean(true),
            mean(false),
        );
        let _ = writeln!(
            text,
            "seconds: import {:.1}, compiler {:.1}, linker {:.1}, program {:.1}",
            times.import.as_secs_f64(),
            times.compile.as_secs_f64(),
            times.link.as_secs_f64(),
            times.run.as_secs_f64(),
        );
        text
    }
}

/// Returns the name of an outcome in tables.
pub fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Refused => "refused",
        Outcome::Agrees => "agrees",
        Outcome::Rounding => "rounding",
        Outcome::NotCompiled => "not compiled",
        Outcome::FortranFails => "Fortran fails",
        Outcome::NotJudged => "not judged",
        Outcome::Panics => "panics",
        Outcome::Hangs => "hangs",
        Outcome::Differs => "DIFFERS",
    }
}

/// Formats an entry for people.
fn in_words(entry: &Entry) -> String {
    format!(
        "{} #{} {}:{} ({}): {}\n  - {}\n  + {}\n",
        name(entry.outcome).to_uppercase(),
        entry.number,
        entry.file,
        entry.line,
        entry.change,
        entry.detail,
        entry.before.replace('\n', "\n  - "),
        entry.after.replace('\n', "\n  + "),
    )
}
