//! The table of several matrix elements, including refused ones.

use super::origin::{Origin, OutputKind};
use crate::progress::Progress;
use crate::source::{self, CardedProcess};
use mebridge::runtime::ProcessChoice;
use mebridge::{Error, Result};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// Longest names of processes and reasons in the table; longer ones are cut.
const MAX_NAME_LENGTH: usize = 40;
const MAX_REASON_LENGTH: usize = 60;
/// A row for each matrix element.
#[derive(Serialize)]
#[serde(transparent)]
pub struct ProcessTable {
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// The P directory, or the process file.
    directory: String,
    /// Number of the matrix element in its directory, from 1; `None` if unknown.
    element: Option<usize>,
    process: String,
    kind: Option<OutputKind>,
    mg5amc: Option<String>,
    legs: Option<usize>,
    diagrams: Option<u32>,
    color_flows: Option<u32>,
    helicities: Option<usize>,
    /// Why it cannot be evaluated; `None` if it can.
    refused: Option<String>,
    /// The same, shortened.
    #[serde(skip)]
    shortly: String,
}

/// Whether these arguments give a table.
pub fn requests_table(arguments: &[OsString]) -> bool {
    match arguments {
        [one] => source::p_directories(one).is_some(),
        _ => true,
    }
}

impl ProcessTable {
    /// Reads everything that the arguments stand for. It is an error if none of it exists.
    pub fn new(arguments: &[OsString], card: Option<&Path>) -> Result<ProcessTable> {
        let places = source::expand_outputs(arguments);
        let progress = Progress::new("directories", places.len() as u64);
        let mut rows = Vec::new();
        let mut first_error = None;
        let mut any = false;
        for place in &places {
            let path = ProcessChoice::parse(place).path;
            let origin = path.is_dir().then(|| Origin::read(&path));
            any |= origin
                .as_ref()
                .is_some_and(|o| o.kind != OutputKind::Unknown);
            match source::all_processes(place, card) {
                Ok(sources) => {
                    any = true;
                    rows.extend(sources.iter().map(|s| Row::new(s, &path, origin.as_ref())));
                }
                Err(error) => {
                    rows.extend(refused(&error, place, &path, origin.as_ref()));
                    first_error.get_or_insert(error);
                }
            }
            progress.step();
        }
        match first_error {
            Some(error) if !any => Err(error),
            _ => Ok(ProcessTable { rows }),
        }
    }
}

impl Row {
    fn new(source: &CardedProcess, path: &Path, origin: Option<&Origin>) -> Row {
        let process = &source.process;
        Row {
            directory: path.display().to_string(),
            element: Some(source.number),
            process: process.name.clone(),
            kind: origin.map(|o| o.kind),
            mg5amc: origin.and_then(|o| o.version.clone()),
            legs: Some(process.legs.len()),
            diagrams: Some(process.diagrams),
            color_flows: Some(process.color_flows() as u32),
            helicities: Some(process.helicities.len()),
            refused: None,
            shortly: String::new(),
        }
    }
}

/// Makes rows for a refused directory or file: one for each known matrix element.
fn refused(error: &Error, place: &OsStr, path: &Path, origin: Option<&Origin>) -> Vec<Row> {
    let row = |element: Option<usize>, process: &str| Row {
        directory: path.display().to_string(),
        element,
        process: process.into(),
        kind: origin.map(|o| o.kind),
        mg5amc: origin.and_then(|o| o.version.clone()),
        legs: None,
        diagrams: None,
        color_flows: None,
        helicities: None,
        refused: Some(error.to_string()),
        shortly: cut(&shortly(error), MAX_REASON_LENGTH),
    };
    let element = ProcessChoice::parse(place).element;
    let processes = origin.map_or(&[][..], |o| &o.processes);
    match element {
        Some(n) => {
            let process = n.checked_sub(1).and_then(|i| processes.get(i));
            vec![row(element, process.map_or("", String::as_str))]
        }
        None if processes.is_empty() => vec![row(None, "")],
        None => (1..)
            .zip(processes)
            .map(|(n, process)| row(Some(n), process))
            .collect(),
    }
}

/// Returns an error without the parts that the table shows anyway.
fn shortly(error: &Error) -> String {
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    match error {
        Error::NotProcessDirectory { missing, .. } => missing.clone(),
        Error::Fortran { file, line, what } => format!("{}:{line}: {what}", name(file)),
        Error::Import { path, what } | Error::Card { path, what } => {
            format!("{}: {what}", name(path))
        }
        Error::Io { path, source } => format!("{}: {source}", name(path)),
        other => other.to_string().lines().next().unwrap_or("").to_owned(),
    }
}

/// Cuts a text to `most` characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 3).chain("...".chars()).collect(),
    }
}

/// Returns the common parent directory; empty if there is none.
fn common(paths: &[&Path]) -> PathBuf {
    let mut parents = paths.iter().map(|path| path.parent().unwrap_or(path));
    let first = parents.next().unwrap_or(Path::new("")).to_path_buf();
    parents.fold(first, |common, parent| {
        let both = common.components().zip(parent.components());
        both.take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    })
}

impl Display for ProcessTable {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let paths: Vec<&Path> = self.rows.iter().map(|r| Path::new(&r.directory)).collect();
        let common = common(&paths);
        if !common.as_os_str().is_empty() {
            writeln!(f, "in {}\n", common.display())?;
        }
        let mut lines = vec![
            [
                "directory",
                "process",
                "kind",
                "MG5aMC",
                "legs",
                "diagrams",
                "colour flows",
                "helicities",
                "state",
            ]
            .map(String::from),
        ];
        let names: Vec<String> = self
            .rows
            .iter()
            .map(|row| self.name(row, &common))
            .collect();
        for (row, name) in self.rows.iter().zip(&names) {
            let count = |n: Option<usize>| n.map_or("-".into(), |n| n.to_string());
            let word = |word: Option<String>| word.unwrap_or("-".into());
            lines.push([
                name.clone(),
                match row.process.is_empty() {
                    true => "-".into(),
                    false => cut(&row.process, MAX_NAME_LENGTH),
                },
                word(row.kind.map(|kind| kind.to_string())),
                word(row.mg5amc.clone()),
                count(row.legs),
                count(row.diagrams.map(|n| n as usize)),
                count(row.color_flows.map(|n| n as usize)),
                count(row.helicities),
                match row.refused {
                    None => "ok".into(),
                    Some(_) => format!("refused: {}", row.shortly),
                },
            ]);
        }
        let widths: Vec<usize> = (0..lines[0].len())
            .map(|i| {
                lines
                    .iter()
                    .map(|l| l[i].chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate();
            let cells = cells.map(|(i, (cell, &width))| match i {
                4..=7 => format!("{cell:>width$}"),
                _ => format!("{cell:<width$}"),
            });
            let text = cells.collect::<Vec<_>>().join("  ");
            writeln!(f, "{}", text.trim_end())?;
        }
        let good = self.rows.iter().filter(|row| row.refused.is_none()).count();
        writeln!(
            f,
            "\n{good} of {} matrix elements can be evaluated",
            self.rows.len()
        )?;
        let mut last = None;
        for (row, name) in self.rows.iter().zip(&names) {
            let reason = row.refused.as_deref();
            // An error of a directory applies to all its matrix elements.
            if let Some(reason) = reason.filter(|_| reason != last) {
                let first = if last.is_none() { "\n" } else { "" };
                match reason.contains(&row.directory) {
                    true => writeln!(f, "{first}{reason}")?,
                    false => writeln!(f, "{first}{name}: {reason}")?,
                }
            }
            last = reason.or(last);
        }
        Ok(())
    }
}

impl ProcessTable {
    /// Returns the name of this row for other commands, relative to `common`.
    fn name(&self, row: &Row, common: &Path) -> String {
        let path = Path::new(&row.directory);
        let name = path.strip_prefix(common).unwrap_or(path).display();
        let others = self.rows.iter().filter(|r| r.directory == row.directory);
        match row.element {
            Some(n) if others.count() > 1 || n > 1 => format!("{name}#{n}"),
            _ => name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_paths_have_in_common() {
        let of = |paths: &[&str]| {
            let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
            common(&paths).display().to_string()
        };
        assert_eq!(of(&["a/b/P1", "a/b/P2"]), "a/b");
        assert_eq!(of(&["a/b/P1", "a/c/P2", "a/b/P3"]), "a");
        assert_eq!(of(&["a/b/P1", "c/b/P1"]), "");
        assert_eq!(of(&["P1"]), "");
        assert_eq!(of(&[]), "");
        assert_eq!(of(&["/a/P1", "/P1"]), "/");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "lo...");
        assert_eq!(cut("µµµµµµ", 5), "µµ...");
    }
}
