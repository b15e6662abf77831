//! The command line.

use crate::rows::{self, Backend, Row};
use std::path::PathBuf;

/// Said by `--help`.
pub const HELP: &str = "\
mebridge-against --old A.so --new B.so [OPTION...]

Measures two builds of libmebridge in turn, on one core, over a fixed list of rows, and prints a table in Markdown.
The ratio of a row is the old time over the new one: above 1 the new library is the faster one. The status is 1 where
a row is below 0.97, where the libraries' numbers differ, or where the new library fails.

  --old FILE, --new FILE   the two libraries
  --old-name NAME, --new-name NAME   what the table calls them (old, new)
  --outputs DIR            folder of MG5aMC outputs, *.mad ($MEBRIDGE_MG5_OUTPUTS); without it processes are generated
  --backend cpu|cuda       what evaluates (cpu)
  --only TEXT              rows with TEXT in their name or process; several --only: any of them
  --quick                  6 rounds instead of 15
  --rounds N               so many rounds
  --core N                 the core that all runs on (the last one that may be used)
  --list                   the names of the rows
";

/// What the command line says.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--old`
    pub old: PathBuf,
    /// `--new`
    pub new: PathBuf,
    /// `--old-name` and `--new-name`
    pub names: [String; 2],
    /// `--outputs`
    pub outputs: Option<PathBuf>,
    /// `--backend`
    pub backend: Backend,
    /// `--only`
    pub only: Vec<String>,
    /// `--rounds`
    pub rounds: usize,
    /// `--core`
    pub core: Option<usize>,
    /// What to do.
    pub task: Task,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// `--help`
    Help,
    /// `--list`
    List,
    /// All rows, each in programs of its own.
    Table,
    /// `--start`: be such a program.
    Start(Start),
}

/// One start of one row, as this program asks itself for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// The name of the row.
    pub row: String,
    /// The libraries' folders for what they keep, of the old and of the new one.
    pub caches: [PathBuf; 2],
    /// Which start of the row this is, from 0: every other one begins with the new library.
    pub number: usize,
    /// Events of a call, and the channels that they are in; `None`: it finds out.
    pub size: Option<(usize, Vec<i32>)>,
}

impl Options {
    /// Reads the command line. `outputs` is what the environment says.
    pub fn read(
        mut words: impl Iterator<Item = String>,
        outputs: Option<PathBuf>,
    ) -> Result<Options, String> {
        let mut options = Options {
            old: PathBuf::new(),
            new: PathBuf::new(),
            names: ["old".into(), "new".into()],
            outputs: outputs.filter(|outputs| !outputs.as_os_str().is_empty()),
            backend: Backend::Cpu,
            only: Vec::new(),
            rounds: 15,
            core: None,
            task: Task::Table,
        };
        let mut start = Start::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--help" | "-h" => options.task = Task::Help,
                "--list" => options.task = Task::List,
                "--quick" => options.rounds = 6,
                _ => {
                    let value = words.next().ok_or(format!(
                        "{word} lacks its value, or is not known; see --help"
                    ))?;
                    match word.as_str() {
                        "--old" => options.old = value.into(),
                        "--new" => options.new = value.into(),
                        "--old-name" => options.names[0] = value,
                        "--new-name" => options.names[1] = value,
                        "--outputs" => options.outputs = Some(value.into()),
                        "--backend" => {
                            options.backend = match value.as_str() {
                                "cpu" => Backend::Cpu,
                                "cuda" => Backend::Cuda,
                                _ => return Err(format!("--backend is cpu or cuda, not {value}")),
                            }
                        }
                        "--only" => options.only.push(value),
                        "--rounds" => options.rounds = number(&word, &value)?.max(1),
                        "--core" => options.core = Some(number(&word, &value)?),
                        "--start" => start.row = value,
                        "--old-cache" => start.caches[0] = value.into(),
                        "--new-cache" => start.caches[1] = value.into(),
                        "--number" => start.number = number(&word, &value)?,
                        "--size" => start.size = Some(size(&value)?),
                        _ => return Err(format!("{word} is no option; see --help")),
                    }
                }
            }
        }
        if !start.row.is_empty() {
            options.task = Task::Start(start);
        }
        let runs = matches!(options.task, Task::Table | Task::Start(_));
        if runs && (options.old.as_os_str().is_empty() || options.new.as_os_str().is_empty()) {
            return Err("name the two libraries by --old FILE and --new FILE; see --help".into());
        }
        Ok(options)
    }

    /// The rows that are asked for.
    pub fn rows(&self) -> Vec<Row> {
        let only = |row: &Row| self.only.is_empty() || self.only.iter().any(|t| row.matches(t));
        rows::all(self.backend).into_iter().filter(only).collect()
    }
}

impl Start {
    /// The words by which this program starts itself, behind those that it was started with.
    pub fn words(&self) -> Vec<String> {
        let cache = |i: usize| self.caches[i].to_string_lossy().into_owned();
        let mut words: Vec<String> = vec![
            "--start".into(),
            self.row.clone(),
            "--old-cache".into(),
            cache(0),
            "--new-cache".into(),
            cache(1),
            "--number".into(),
            self.number.to_string(),
        ];
        if let Some((events, channels)) = &self.size {
            let numbers = [*events as i32].into_iter().chain(channels.iter().copied());
            let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
            words.extend(["--size".into(), numbers.join(",")]);
        }
        words
    }
}

/// Events and channels, with commas between them.
pub fn size(value: &str) -> Result<(usize, Vec<i32>), String> {
    let bad = || format!("'{value}' is no number of events with channels behind it");
    let mut numbers = value
        .split(',')
        .map(|n| n.parse::<i32>().map_err(|_| bad()));
    let events = numbers.next().ok_or_else(bad)??;
    let events = usize::try_from(events).map_err(|_| bad())?;
    Ok((events, numbers.collect::<Result<_, _>>()?))
}

fn number(word: &str, value: &str) -> Result<usize, String> {
    value
        .parse()
        .map_err(|_| format!("{word} is a number, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, String> {
        Options::read(words.iter().map(|word| word.to_string()), None)
    }

    #[test]
    fn a_command_line_is_read() {
        let options = read(&[
            "--old", "a", "--new", "b", "--only", "gg_ttg ", "--only", "mixed", "--quick",
        ]);
        let options = options.unwrap();
        assert_eq!(options.rounds, 6);
        assert_eq!(options.rows().len(), 11 + 4);
        assert_eq!(options.task, Task::Table);
        for words in [
            &["--old", "a"][..],
            &["--only"],
            &["--backend", "gpu"],
            &["--core", "x"],
        ] {
            assert!(read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_start_is_read_as_it_was_written() {
        for size in [None, Some((64, vec![])), Some((8192, vec![1, 5, 7]))] {
            let start = Start {
                row: "gg_tt alone 512z d".into(),
                caches: ["x".into(), "y".into()],
                number: 2,
                size,
            };
            let words = start.words();
            let words = ["--old", "a", "--new", "b"]
                .iter()
                .map(|w| w.to_string())
                .chain(words);
            assert_eq!(Options::read(words, None).unwrap().task, Task::Start(start));
        }
    }
}
