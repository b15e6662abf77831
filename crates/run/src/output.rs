//! What MG5aMC's `output madevent` wrote: its cards, its directories, and the lines of their diagrams.

use mebridge::import::each_integer;
use mebridge::{Error, Result};
use mebridge_phasespace::clustering::Forced;
use mebridge_support::files::{lines, regular};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A table of an output is no larger, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// What to do about a table that is not whole.
const ANEW: &str = "write the output anew";

/// A propagator of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The legs on one side of it, as bits; that of leg 1 is 1.
    pub legs: u32,
    /// The two lines that meet there, in the same way.
    pub daughters: [u32; 2],
    /// PDG codes, for each matrix element of the directory.
    pub codes: Vec<i32>,
    /// Whether it lies between the beams.
    pub spacelike: bool,
    /// Where it has to be.
    pub forced: Forced,
}

/// A diagram with a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// MadEvent's number, from 1.
    pub number: u32,
    /// From the outer ones inwards.
    pub lines: Vec<Line>,
    /// Its number in each matrix element, from 1; 0 where that has no such diagram.
    pub diagrams: Vec<u32>,
    /// Powers of the strong coupling.
    pub nqcd: i32,
}

/// A directory `P*` of matrix elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Where it is; of a process by its name what messages call it.
    pub path: PathBuf,
    /// PDG codes of the first process of each matrix element.
    pub legs: Vec<Vec<i32>>,
    /// Its diagrams.
    pub configs: Vec<Config>,
    /// Dimensions of colour by PDG code, where they are not those of `get_color.f`.
    pub colors: Option<BTreeMap<i32, i32>>,
}

impl Directory {
    /// Reads one.
    ///
    /// # Errors
    /// A table is missing or not whole.
    pub fn read(path: &Path) -> Result<Self> {
        let listed = Table::read(&path.join("leshouche.inc"))?;
        let mut legs: BTreeMap<i64, BTreeMap<i64, i32>> = BTreeMap::new();
        for (subscripts, code) in listed.array("IDUP") {
            let &[leg, process, element] = subscripts else {
                legs.clear();
                break;
            };
            // Of all processes of a matrix element the first.
            if process == 1 {
                legs.entry(element).or_default().insert(leg, code);
            }
        }
        if legs.is_empty() {
            let what = format!(
                "{} is not of an output with grouped subprocesses",
                path.display()
            );
            return Err(refused(
                what,
                "generate it with 'set group_subprocesses True'",
            ));
        }
        let legs: Vec<Vec<i32>> = legs.into_values().map(values).collect();
        let configs = Tables::read(path)?.configs(&legs)?;
        let colors = None;
        Ok(Directory {
            path: path.to_owned(),
            legs,
            configs,
            colors,
        })
    }

    /// The last part of its path, for messages.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Legs that come from a decay chain, from 0, as MadEvent finds them by its first diagram.
    pub fn decayed(&self) -> BTreeSet<usize> {
        let lines = self.configs.first().into_iter().flat_map(|c| &c.lines);
        let decays = lines.filter(|line| line.forced == Forced::On && !line.spacelike);
        let bits = decays.fold(0, |all, line| all | line.legs);
        let legs = 0..self.legs[0].len();
        legs.filter(|leg| bits >> leg & 1 == 1).collect()
    }

    /// Dimensions of colour by PDG code.
    ///
    /// # Errors
    /// `get_color.f` cannot be read.
    pub fn colors(&self) -> Result<BTreeMap<i32, i32>> {
        if let Some(colors) = &self.colors {
            return Ok(colors.clone());
        }
        let file = self.path.join("get_color.f");
        let text =
            regular::read(&file, MOST_BYTES).map_err(|error| unreadable(&file, &error, ""))?;
        Ok(colors_of(&String::from_utf8_lossy(&text)))
    }

    /// Checks that a matrix element of it, by its number from 0, has these PDG codes.
    ///
    /// # Errors
    /// It has others.
    pub fn check(&self, number: usize, pdg: &[i32]) -> Result<()> {
        match self.legs.get(number).is_some_and(|legs| legs == pdg) {
            true => Ok(()),
            false => {
                let what = format!(
                    "matrix element {} of {} is not the one of leshouche.inc there",
                    number + 1,
                    self.path.display()
                );
                Err(refused(what, ""))
            }
        }
    }
}

/// What a function GET_COLOR returns, by PDG code.
fn colors_of(text: &str) -> BTreeMap<i32, i32> {
    let mut found = BTreeMap::new();
    let mut code: Option<i32> = None;
    for line in lines(text).filter(|line| !line.starts_with(['C', 'c', '!', '*'])) {
        let mut line = line.to_ascii_uppercase();
        line.retain(|c| c != ' ');
        if let Some((_, condition)) = line.split_once("IPDG.EQ.") {
            code = condition.strip_suffix(")THEN").and_then(|n| n.parse().ok());
        } else if let (Some(code), Some(color)) = (code.take(), line.strip_prefix("GET_COLOR=")) {
            found.extend(color.parse().ok().map(|color| (code, color)));
        }
    }
    found
}

/// Whole numbers that DATA statements of a file set: by array and subscripts.
struct Table {
    file: PathBuf,
    arrays: BTreeMap<String, BTreeMap<Vec<i64>, i32>>,
}

impl Table {
    fn read(file: &Path) -> Result<Table> {
        let mut arrays: BTreeMap<String, BTreeMap<Vec<i64>, i32>> = BTreeMap::new();
        let read = each_integer(file, |name, subscripts, value| {
            if let Ok(value) = i32::try_from(value) {
                let array = match arrays.get_mut(name) {
                    Some(array) => array,
                    None => arrays.entry(name.to_owned()).or_default(),
                };
                array.insert(subscripts.to_vec(), value);
            }
        });
        match read {
            Ok(()) => Ok(Table {
                file: file.to_owned(),
                arrays,
            }),
            Err(Error::Io { source, .. }) => {
                Err(unreadable(file, &source, "does MG5aMC's output lack it?"))
            }
            Err(error) => Err(error),
        }
    }

    fn array(&self, name: &str) -> impl Iterator<Item = (&[i64], i32)> {
        let entries = self.arrays.get(name).into_iter().flatten();
        entries.map(|(subscripts, value)| (&subscripts[..], *value))
    }

    fn get(&self, name: &str, subscripts: &[i64]) -> Option<i32> {
        self.arrays.get(name)?.get(subscripts).copied()
    }

    /// Numbers of configurations that an array has, which are the last of its subscripts.
    fn numbers(&self, name: &str) -> BTreeSet<i64> {
        let subscripts = self.array(name).map(|(subscripts, _)| subscripts.last());
        subscripts.flatten().copied().collect()
    }
}

/// The tables of a directory that are about its diagrams.
struct Tables {
    configs: Table,
    map: Table,
    powers: Table,
    forced: Table,
}

impl Tables {
    fn read(path: &Path) -> Result<Tables> {
        let table = |name: &str| Table::read(&path.join(name));
        Ok(Tables {
            configs: table("configs.inc")?,
            map: table("config_subproc_map.inc")?,
            powers: table("config_nqcd.inc")?,
            forced: table("decayBW.inc")?,
        })
    }

    /// All diagrams, of matrix elements with these legs.
    fn configs(&self, legs: &[Vec<i32>]) -> Result<Vec<Config>> {
        let numbers = self.numbers()?;
        let config = |&number: &i64| {
            let of = (1..=legs.len() as i64).map(|element| {
                let diagram = self.map.get("CONFSUB", &[element, number]);
                diagram.and_then(|n| n.try_into().ok()).unwrap_or(0)
            });
            Ok(Config {
                number: number as u32,
                lines: self.lines(number, legs)?,
                diagrams: of.collect(),
                nqcd: self.powers.get("NQCD", &[number]).unwrap_or(0),
            })
        };
        numbers.iter().map(config).collect()
    }

    /// Numbers of the diagrams, of which all tables have to say something.
    fn numbers(&self) -> Result<BTreeSet<i64>> {
        // A diagram of two that become one has no propagators.
        let mut numbers = self.configs.numbers("MAPCONFIG");
        let ends = numbers.remove(&0);
        numbers.extend(self.configs.numbers("IFOREST"));
        let count = self.configs.get("MAPCONFIG", &[0]);
        if !ends || count != i32::try_from(numbers.len()).ok() {
            let what = format!(
                "{} lists {} diagrams and ends before it says how many there are",
                self.configs.file.display(),
                numbers.len()
            );
            return Err(refused(what, ANEW));
        }
        let timelike = self.configs.array("SPROP");
        let timelike = timelike.filter(|(_, code)| *code != 0);
        let timelike = timelike.filter_map(|(subscripts, _)| subscripts.last().copied());
        for (table, array, wanted) in [
            (&self.map, "CONFSUB", numbers.clone()),
            (&self.forced, "GFORCEBW", timelike.collect()),
        ] {
            if let Some(missing) = wanted.difference(&table.numbers(array)).next() {
                let what = format!(
                    "{} has nothing of diagram {missing}, which configs.inc lists",
                    table.file.display()
                );
                return Err(refused(what, ANEW));
            }
        }
        Ok(numbers)
    }

    /// The lines of a diagram.
    fn lines(&self, number: i64, of_legs: &[Vec<i32>]) -> Result<Vec<Line>> {
        let legs = of_legs[0].len() as i64;
        let broken = |branch: i64| {
            let file = self.configs.file.display();
            let what = format!("{file}: line {branch} of diagram {number} joins no two lines");
            refused(what, ANEW)
        };
        let mut bits: BTreeMap<i64, u32> = (1..=legs).map(|leg| (leg, 1 << (leg - 1))).collect();
        let mut found = Vec::new();
        for branch in (1 - legs..0).rev() {
            let daughter = |place: i64| self.configs.get("IFOREST", &[place, branch, number]);
            let (Some(one), Some(other)) = (daughter(1), daughter(2)) else {
                break;
            };
            let daughter = |line: i32| bits.get(&line.into()).ok_or_else(|| broken(branch));
            let daughters = [*daughter(one)?, *daughter(other)?];
            if daughters[0] & daughters[1] != 0 {
                return Err(broken(branch));
            }
            let side = daughters[0] | daughters[1];
            bits.insert(branch, side);
            let exchanged = self.configs.get("TPRID", &[branch, number]).unwrap_or(0);
            let codes = (1..).zip(of_legs).map(|(element, legs)| {
                let decayed = self.configs.get("SPROP", &[element, branch, number]);
                // MG5aMC until 2.9 lists no code of the line that ends the t channel; its clustering takes that of leg 2.
                let last = if branch == 2 - legs.len() as i64 {
                    legs[1]
                } else {
                    0
                };
                let codes = [decayed.unwrap_or(0), exchanged, last];
                codes.into_iter().find(|code| *code != 0).unwrap_or(0)
            });
            let forced = self.forced.get("GFORCEBW", &[branch, number]).unwrap_or(0);
            let forced = u8::try_from(forced)
                .ok()
                .and_then(|n| Forced::try_from(n).ok());
            found.push(Line {
                legs: side,
                daughters,
                codes: codes.collect(),
                // The beam that a line of the t channel begins with is on its side.
                spacelike: side & 1 != side >> 1 & 1,
                forced: forced.unwrap_or_default(),
            });
        }
        Ok(found)
    }
}

/// Where a matrix element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In which directory, from 0.
    pub directory: usize,
    /// Which one of those there, from 0.
    pub number: usize,
}

/// An output of `output madevent`.
#[derive(Clone, Debug)]
pub struct Output {
    /// Where it is.
    pub path: PathBuf,
    /// Its directories of matrix elements.
    pub directories: Vec<PathBuf>,
}

impl Output {
    /// Looks at one.
    ///
    /// # Errors
    /// It is none, or not whole.
    pub fn find(path: &Path) -> Result<Self> {
        let none = |what: &str, cure: &str| {
            let path = path.display();
            let what =
                format!("{path} is no output of MG5aMC's 'output madevent': it has no {what}");
            refused(what, cure)
        };
        let folder = path.join("SubProcesses");
        if !folder.is_dir() || !path.join("Cards").is_dir() {
            return Err(none("SubProcesses and Cards", ""));
        }
        let listed = folder.join("subproc.mg");
        if !listed.is_file() {
            return Err(none(
                "SubProcesses/subproc.mg, and those of 'output standalone' and others make no events",
                "take one of that, or the process itself by its name",
            ));
        }
        let names = text(&listed)?;
        let directories: Vec<PathBuf> = names.split_whitespace().map(|n| folder.join(n)).collect();
        let missing = directories.iter().filter(|directory| !directory.is_dir());
        let missing: Vec<String> = missing.map(|d| d.display().to_string()).collect();
        if directories.is_empty() {
            let what = format!(
                "{} lists no directories of matrix elements",
                listed.display()
            );
            return Err(refused(what, ""));
        }
        if !missing.is_empty() {
            let what = format!(
                "{} lists {}, and there is no such directory",
                listed.display(),
                missing.join(", ")
            );
            return Err(refused(what, ""));
        }
        Ok(Output {
            path: path.to_owned(),
            directories,
        })
    }

    /// Whether one particle comes in.
    pub fn decays(&self) -> bool {
        let one = |directory: &PathBuf| {
            let text = text(&directory.join("nexternal.inc")).unwrap_or_default();
            let mut text = text.to_ascii_uppercase();
            text.retain(|c| c != ' ');
            let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next() == Some("1");
            text.split("NINCOMING=").skip(1).any(number)
        };
        self.directories.iter().any(one)
    }

    /// What the parameters of event files and their codes come from, where MG5aMC left it: a UFO folder.
    pub fn model(&self) -> Option<PathBuf> {
        let folder = self.path.join("bin/internal/ufomodel");
        folder.is_dir().then_some(folder)
    }

    /// The commands by which MG5aMC wrote it.
    pub fn steps(&self) -> String {
        text(&self.path.join("Cards/proc_card_mg5.dat")).unwrap_or_default()
    }

    /// A card.
    ///
    /// # Errors
    /// It is missing.
    pub fn card(&self, name: &str) -> Result<PathBuf> {
        let file = self.path.join("Cards").join(name);
        match file.is_file() {
            true => Ok(file),
            false => {
                let what = format!("{} is missing", file.display());
                Err(refused(what, "MG5aMC writes it with the output"))
            }
        }
    }

    /// The version of MG5aMC.
    pub fn version(&self) -> String {
        let files = ["MGMEVersion.txt", "SubProcesses/MGVersion.txt"];
        let version = files.iter().find_map(|name| {
            let text = text(&self.path.join(name)).ok()?;
            text.split_whitespace().next().map(str::to_owned)
        });
        version.unwrap_or_else(|| "unknown".to_owned())
    }
}

/// `run_NN` with a number above all that there are in a folder `Events`.
pub fn next_run(events: &Path) -> String {
    let entries = std::fs::read_dir(events).into_iter().flatten().flatten();
    let number = |entry: std::fs::DirEntry| -> Option<u64> {
        let name = entry.file_name();
        let digits = name.to_str()?.strip_prefix("run_")?;
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let last = entries.filter_map(number).max().unwrap_or(0);
    format!("run_{:02}", last + 1)
}

/// A path from the root on, without `.` and `..`, as the shell writes it: links stay.
pub fn absolute(path: &Path) -> PathBuf {
    use std::path::Component::{CurDir, ParentDir};
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut found = PathBuf::new();
    for part in whole.components() {
        match part {
            CurDir => {}
            ParentDir => {
                found.pop();
            }
            part => found.push(part),
        }
    }
    found
}

/// A small text of an output.
fn text(file: &Path) -> Result<String> {
    let bytes = regular::read(file, MOST_BYTES).map_err(|error| unreadable(file, &error, ""))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(file: &Path, error: &std::io::Error, cure: &str) -> Error {
    let why = error.to_string();
    let why = why.split(" (os error").next().unwrap_or(&why);
    refused(format!("{} cannot be read: {why}", file.display()), cure)
}

fn values(of: BTreeMap<i64, i32>) -> Vec<i32> {
    of.into_values().collect()
}

fn refused(what: String, cure: &str) -> Error {
    Error::Run {
        place: String::new(),
        what,
        cure: cure.to_owned(),
    }
}
