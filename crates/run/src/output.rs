//! The output of MG5aMC's `output madevent`: its cards, its directories, and the propagators of their diagrams.

use crate::text::without_number;
use mebridge::import::each_integer;
use mebridge::{Error, Result};
use mebridge_phasespace::clustering::Forced;
use mebridge_support::files::{lines, regular};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::path::{Path, PathBuf};

/// Largest size of a table of an output, in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// Advice for an incomplete table.
pub const REWRITE_OUTPUT: &str = "write the output anew";

/// A propagator of a diagram, as a line between two vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagramLine {
    /// The legs on one side as a bit mask, in which leg 1 is bit 0.
    pub legs: u32,
    /// The two lines that join to this one, as the same kind of bit mask.
    pub daughters: [u32; 2],
    /// The PDG code of the line in each matrix element of the directory.
    pub codes: Vec<i32>,
    /// Whether it is a t-channel line.
    pub spacelike: bool,
    /// Whether the process text requires or forbids the resonance to be on shell.
    pub forced: Forced,
}

/// A diagram that is a channel of integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// MadEvent's configuration number, from 1.
    pub number: u32,
    /// Propagators, from the external legs inwards.
    pub lines: Vec<DiagramLine>,
    /// Number of the diagram in each matrix element, from 1; 0 if the matrix element has no such diagram.
    pub diagrams: Vec<u32>,
    /// Power of the strong coupling.
    pub nqcd: i32,
}

/// A directory `P*` with matrix elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Path of the directory; for a process given by name, its name in messages.
    pub path: PathBuf,
    /// PDG codes of the first process of each matrix element.
    pub legs: Vec<Vec<i32>>,
    /// Its diagrams.
    pub configs: Vec<Config>,
    /// Dimension of the colour representation by PDG code, if not from `get_color.f`.
    pub colors: Option<SortedMap<i32, i32>>,
}

impl Directory {
    /// Reads a directory.
    ///
    /// # Errors
    /// A table is missing or incomplete.
    pub fn read(path: &Path) -> Result<Self> {
        let listed = Table::read(&path.join("leshouche.inc"))?;
        let mut legs: SortedMap<i64, SortedMap<i64, i32>> = SortedMap::new();
        for (subscripts, code) in listed.array("IDUP") {
            let &[leg, process, element] = subscripts else {
                legs.clear();
                break;
            };
            // The first process of each matrix element.
            if process == 1 {
                legs.entry(element).or_default().insert(leg, code);
            }
        }
        if legs.is_empty() {
            let what = format!(
                "{} is not of an output with grouped subprocesses",
                path.display()
            );
            return Err(Error::run(
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

    /// Legs that come from a decay chain, counted from 0; as in MadEvent, found from the first diagram.
    pub fn decayed(&self) -> SortedSet<usize> {
        let lines = self.configs.first().into_iter().flat_map(|c| &c.lines);
        let decays = lines.filter(|line| line.forced == Forced::On && !line.spacelike);
        let bits = decays.fold(0, |all, line| all | line.legs);
        let legs = 0..self.legs[0].len();
        legs.filter(|leg| bits >> leg & 1 == 1).collect()
    }

    /// Dimension of the colour representation by PDG code.
    ///
    /// # Errors
    /// `get_color.f` cannot be read.
    pub fn colors(&self) -> Result<SortedMap<i32, i32>> {
        if let Some(colors) = &self.colors {
            return Ok(colors.clone());
        }
        let file = self.path.join("get_color.f");
        let text =
            regular::read(&file, MAX_BYTES).map_err(|error| unreadable(&file, &error, ""))?;
        Ok(colors_of(&String::from_utf8_lossy(&text)))
    }

    /// Checks that the matrix element with this index has these PDG codes.
    ///
    /// # Errors
    /// It has other codes.
    pub fn check(&self, number: usize, pdg: &[i32]) -> Result<()> {
        match self.legs.get(number).is_some_and(|legs| legs == pdg) {
            true => Ok(()),
            false => {
                let what = format!(
                    "matrix element {} of {} is not the one of leshouche.inc there",
                    number + 1,
                    self.path.display()
                );
                Err(Error::run(what, ""))
            }
        }
    }
}

/// Reads the values of the function GET_COLOR by PDG code.
fn colors_of(text: &str) -> SortedMap<i32, i32> {
    let mut found = SortedMap::new();
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

/// Integers set by the DATA statements of a file, by array and subscripts.
struct Table {
    file: PathBuf,
    arrays: SortedMap<String, SortedMap<Vec<i64>, i32>>,
}

impl Table {
    fn read(file: &Path) -> Result<Table> {
        let mut arrays: SortedMap<String, SortedMap<Vec<i64>, i32>> = SortedMap::new();
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

    /// The error for an invalid array element of a diagram.
    fn wrong(&self, diagram: i64, array: &str, value: i32) -> Error {
        let file = self.file.display();
        Error::run(
            format!("{file}: {array} of diagram {diagram} is {value}"),
            REWRITE_OUTPUT,
        )
    }

    /// Configuration numbers for which an array has values: the last subscripts.
    fn numbers(&self, name: &str) -> SortedSet<i64> {
        let subscripts = self.array(name).map(|(subscripts, _)| subscripts.last());
        subscripts.flatten().copied().collect()
    }
}

/// The tables of a directory that describe its diagrams.
struct Tables {
    configs: Table,
    map: Table,
    powers: Table,
    forced: Table,
    /// Whether the directory has several matrix elements in general. Otherwise CONFSUB is 1 everywhere, and MAPCONFIG has the
    /// diagrams.
    grouped: bool,
}

impl Tables {
    fn read(path: &Path) -> Result<Tables> {
        let table = |name: &str| Table::read(&path.join(name));
        let alone = ["matrix.f", "matrix_orig.f"].map(|name| path.join(name).is_file());
        Ok(Tables {
            grouped: alone == [false; 2],
            configs: table("configs.inc")?,
            map: table("config_subproc_map.inc")?,
            powers: table("config_nqcd.inc")?,
            forced: table("decayBW.inc")?,
        })
    }

    /// All diagrams; `legs` are the PDG codes of each matrix element.
    fn configs(&self, legs: &[Vec<i32>]) -> Result<Vec<Config>> {
        let numbers = self.numbers()?;
        let config = |&number: &i64| {
            let diagram = |element: i64| {
                let (table, array, place) = match self.grouped {
                    true => (&self.map, "CONFSUB", &[element, number][..]),
                    false => (&self.configs, "MAPCONFIG", &[number][..]),
                };
                let diagram = table.get(array, place).unwrap_or(0);
                u32::try_from(diagram).map_err(|_| table.wrong(number, array, diagram))
            };
            let of = (1..=legs.len() as i64).map(diagram);
            Ok(Config {
                number: number as u32,
                lines: self.lines(number, legs)?,
                diagrams: of.collect::<Result<_>>()?,
                nqcd: self.powers.get("NQCD", &[number]).unwrap_or(0),
            })
        };
        numbers.iter().map(config).collect()
    }

    /// Configuration numbers; checks that each has entries in all tables.
    fn numbers(&self) -> Result<SortedSet<i64>> {
        // A diagram with a single vertex (two particles to one) has no propagators.
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
            return Err(Error::run(what, REWRITE_OUTPUT));
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
                return Err(Error::run(what, REWRITE_OUTPUT));
            }
        }
        Ok(numbers)
    }

    /// The propagators of a diagram.
    fn lines(&self, number: i64, of_legs: &[Vec<i32>]) -> Result<Vec<DiagramLine>> {
        let legs = of_legs[0].len() as i64;
        let broken = |branch: i64| {
            let file = self.configs.file.display();
            let what = format!("{file}: line {branch} of diagram {number} joins no two lines");
            Error::run(what, REWRITE_OUTPUT)
        };
        let mut bits: SortedMap<i64, u32> = (1..=legs).map(|leg| (leg, 1 << (leg - 1))).collect();
        let mut found = Vec::new();
        for branch in (1 - legs..0).rev() {
            let daughter = |place: i64| self.configs.get("IFOREST", &[place, branch, number]);
            let (Some(one), Some(other)) = (daughter(1), daughter(2)) else {
                break;
            };
            // Each line is used by exactly one vertex.
            let mut daughter = |line: i32| bits.remove(&line.into()).ok_or_else(|| broken(branch));
            let daughters = [daughter(one)?, daughter(other)?];
            let side = daughters[0] | daughters[1];
            bits.insert(branch, side);
            let exchanged = self.configs.get("TPRID", &[branch, number]).unwrap_or(0);
            let codes = (1..).zip(of_legs).map(|(element, legs)| {
                let decayed = self.configs.get("SPROP", &[element, branch, number]);
                // MG5aMC up to 2.9 lists no code for the last t-channel line; its clustering takes that of leg 2.
                let last = if branch == 2 - legs.len() as i64 {
                    legs[1]
                } else {
                    0
                };
                let codes = [decayed.unwrap_or(0), exchanged, last];
                codes.into_iter().find(|code| *code != 0).unwrap_or(0)
            });
            let requested = self.forced.get("GFORCEBW", &[branch, number]).unwrap_or(0);
            let forced = u8::try_from(requested).ok().map(Forced::try_from);
            let Some(Ok(forced)) = forced else {
                return Err(self.forced.wrong(number, "GFORCEBW", requested));
            };
            found.push(DiagramLine {
                legs: side,
                daughters,
                codes: codes.collect(),
                // A t-channel line has exactly one of the beams on its side.
                spacelike: side & 1 != side >> 1 & 1,
                forced,
            });
        }
        Ok(found)
    }
}

/// The place of a matrix element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementPlace {
    /// Index of the directory.
    pub directory: usize,
    /// Index of the matrix element in the directory.
    pub number: usize,
}

/// An output of MG5aMC's `output madevent`.
#[derive(Clone, Debug)]
pub struct Output {
    /// Path of its folder.
    pub path: PathBuf,
    /// Its directories with matrix elements.
    pub directories: Vec<PathBuf>,
}

impl Output {
    /// Opens an output.
    ///
    /// # Errors
    /// The folder is not such an output, or it is incomplete.
    pub fn find(path: &Path) -> Result<Self> {
        let none = |what: &str, cure: &str| {
            let path = path.display();
            let what =
                format!("{path} is no output of MG5aMC's 'output madevent': it has no {what}");
            Error::run(what, cure)
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
            return Err(Error::run(what, ""));
        }
        if !missing.is_empty() {
            let what = format!(
                "{} lists {}, and there is no such directory",
                listed.display(),
                missing.join(", ")
            );
            return Err(Error::run(what, ""));
        }
        Ok(Output {
            path: path.to_owned(),
            directories,
        })
    }

    /// Whether the process is a decay of one particle.
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

    /// The UFO folder of the model, if MG5aMC has left it there.
    pub fn model(&self) -> Option<PathBuf> {
        let folder = self.path.join("bin/internal/ufomodel");
        folder.is_dir().then_some(folder)
    }

    /// The MG5aMC commands that generated the output.
    pub fn steps(&self) -> String {
        text(&self.path.join("Cards/proc_card_mg5.dat")).unwrap_or_default()
    }

    /// The path of a card.
    ///
    /// # Errors
    /// The card is missing.
    pub fn card(&self, name: &str) -> Result<PathBuf> {
        let file = self.path.join("Cards").join(name);
        match file.is_file() {
            true => Ok(file),
            false => {
                let what = format!("{} is missing", file.display());
                Err(Error::run(what, "MG5aMC writes it with the output"))
            }
        }
    }

    /// The version of MG5aMC, or [`UNKNOWN`].
    pub fn version(&self) -> String {
        let mut versions = self.versions().into_iter();
        let version = versions.next().map(|(_, version)| version);
        version.unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// The files that contain a version of MG5aMC, with that version.
    pub fn versions(&self) -> Vec<(&'static str, String)> {
        let files = ["MGMEVersion.txt", "SubProcesses/MGVersion.txt"];
        let version = |name| {
            let text = text(&self.path.join(name)).ok()?;
            let version = text.split_whitespace().next()?;
            let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
            version
                .bytes()
                .all(is_one)
                .then(|| (name, version.to_owned()))
        };
        files.into_iter().filter_map(version).collect()
    }

    /// The folder of the MG5aMC that wrote the output.
    pub fn mg5_path(&self) -> Option<PathBuf> {
        let card = text(&self.path.join("Cards/me5_configuration.txt")).ok()?;
        setting(&card, "mg5_path").map(PathBuf::from)
    }
}

/// Name of the version if no file has one.
pub const UNKNOWN: &str = "unknown";

/// The version of the MG5aMC in a folder; `None` if it has no VERSION file.
pub fn version_of_mg5(folder: &Path) -> Option<String> {
    setting(&text(&folder.join("VERSION")).ok()?, "version")
}

/// The value of the last line `name = value` of a text.
fn setting(text: &str, name: &str) -> Option<String> {
    text.lines().rev().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.split('#').next().unwrap_or_default().trim();
        (key.trim() == name && !value.is_empty()).then(|| value.to_owned())
    })
}

/// `run_NN` with the first number above those of the existing runs in a folder `Events`. Numbers that are too large to
/// be counted further are names like any other.
pub fn next_run(events: &Path) -> String {
    let entries = std::fs::read_dir(events).into_iter().flatten().flatten();
    let number = |entry: std::fs::DirEntry| -> Option<u64> {
        let name = entry.file_name();
        let digits = name.to_str()?.strip_prefix("run_")?;
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()?.checked_add(1)
    };
    let next = entries.filter_map(number).max().unwrap_or(1);
    format!("run_{next:02}")
}

/// An absolute path without `.` and `..`, resolved as a shell does: symbolic links stay.
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

/// Reads a small text file of an output.
fn text(file: &Path) -> Result<String> {
    let bytes = regular::read(file, MAX_BYTES).map_err(|error| unreadable(file, &error, ""))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(file: &Path, error: &std::io::Error, cure: &str) -> Error {
    let why = without_number(error);
    Error::run(format!("{} cannot be read: {why}", file.display()), cure)
}

fn values(of: SortedMap<i64, i32>) -> Vec<i32> {
    of.into_values().collect()
}

#[cfg(test)]
pub mod samples {
    //! Outputs without matrix elements to evaluate.

    use std::fs;
    use std::path::{Path, PathBuf};

    /// u u~ > t t~ as `configs.inc` and its neighbours have it.
    pub const QUARKS: [(&str, &str); 6] = [
        (
            "leshouche.inc",
            "      DATA (IDUP(I,1,1),I=1,4)/2,-2,6,-6/\n      DATA (IDUP(I,2,1),I=1,4)/1,-1,6,-6/\n",
        ),
        (
            "configs.inc",
            "C     Diagram 1
      DATA MAPCONFIG(1)/1/
      DATA TSTRATEGY(1)/2/
      DATA (IFOREST(I,-1,1),I=1,2)/4,3/
      DATA (SPROP(I,-1,1),I=1,1)/21/
      DATA TPRID(-1,1)/0/
      DATA MAPCONFIG(0)/1/
",
        ),
        (
            "config_subproc_map.inc",
            "      DATA (CONFSUB(I,1),I=1,1)/1/\n",
        ),
        ("config_nqcd.inc", "      DATA NQCD(1)/2/\n"),
        ("decayBW.inc", "      DATA GFORCEBW(-1,1)/0/\n"),
        (
            "get_color.f",
            "      FUNCTION GET_COLOR(IPDG)
      IF(IPDG.EQ.-6)THEN
        GET_COLOR=-3
        RETURN
      ELSE IF(IPDG.EQ.2)THEN
        GET_COLOR=3
        RETURN
      ELSE IF(IPDG.EQ.21)THEN
        GET_COLOR=8
        RETURN
      ELSE IF(IPDG.EQ.7)THEN
C       This is dummy particle used in multiparticle vertices
        GET_COLOR=2
        RETURN
      ENDIF
      END
",
        ),
    ];

    /// Writes an output of u u~ > t t~; `files` replace the default ones.
    pub fn output(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        let place = folder.join("SubProcesses/P1_qq_ttx");
        fs::create_dir_all(&place).unwrap();
        fs::create_dir_all(folder.join("Cards")).unwrap();
        fs::write(folder.join("SubProcesses/subproc.mg"), "P1_qq_ttx\n").unwrap();
        fs::write(folder.join("MGMEVersion.txt"), "3.5.7\n").unwrap();
        for (name, text) in QUARKS.iter().chain(files) {
            fs::write(place.join(name), text).unwrap();
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::output;
    use std::fs;

    /// u u~ > z g: the gluon comes from the first beam, or from the second.
    const ONE: [(&str, &str); 5] = [
        (
            "leshouche.inc",
            "      DATA (IDUP(I,1,1),I=1,4)/2,-2,23,21/\n      DATA (IDUP(I,2,1),I=1,4)/1,-1,23,21/\n",
        ),
        (
            "configs.inc",
            "      DATA MAPCONFIG(1)/1/
      DATA (IFOREST(I,-1,1),I=1,2)/1,4/
      DATA (SPROP(I,-1,1),I=1,1)/0/
      DATA TPRID(-1,1)/2/
      DATA (IFOREST(I,-2,1),I=1,2)/-1,3/
      DATA TPRID(-2,1)/2/
      DATA MAPCONFIG(2)/2/
      DATA (IFOREST(I,-1,2),I=1,2)/1,3/
      DATA (SPROP(I,-1,2),I=1,1)/0/
      DATA TPRID(-1,2)/2/
      DATA (IFOREST(I,-2,2),I=1,2)/-1,4/
      DATA TPRID(-2,2)/2/
      DATA MAPCONFIG(0)/2/
",
        ),
        (
            "config_subproc_map.inc",
            "      DATA (CONFSUB(I,1),I=1,1)/1/\n      DATA (CONFSUB(I,2),I=1,1)/2/\n",
        ),
        (
            "config_nqcd.inc",
            "      DATA NQCD(1)/1/\n      DATA NQCD(2)/1/\n",
        ),
        ("decayBW.inc", ""),
    ];

    #[test]
    fn diagrams_of_a_matrix_element_alone_are_those_of_mapconfig() {
        let configs = ONE[1].1.replace("MAPCONFIG(2)/2/", "MAPCONFIG(2)/4/");
        let map = ONE[2].1.replace("/2/", "/1/");
        let mut files = ONE.to_vec();
        files[1].1 = &configs;
        files[2].1 = &map;
        let diagrams = |files: &[(&str, &str)]| {
            let configs = read(files).unwrap().configs.into_iter();
            configs.map(|config| config.diagrams).collect::<Vec<_>>()
        };
        assert_eq!(diagrams(&files), [[1], [1]]);
        files.push(("matrix.f", ""));
        assert_eq!(diagrams(&files), [[1], [4]]);
    }

    fn read(files: &[(&str, &str)]) -> Result<Directory> {
        let folder = tempfile::tempdir().unwrap();
        Directory::read(&output(folder.path(), files))
    }

    /// The expected values were read from the same files by the Python package.
    #[test]
    fn diagrams_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::read(&output(folder.path(), &[])).unwrap();
        assert_eq!(directory.name(), "P1_qq_ttx");
        assert_eq!(directory.legs, [[2, -2, 6, -6]]);
        let line = DiagramLine {
            legs: 12,
            daughters: [8, 4],
            codes: vec![21],
            spacelike: false,
            forced: Forced::No,
        };
        let [config] = &directory.configs[..] else {
            panic!("{directory:?}");
        };
        assert_eq!(config.lines, [line]);
        assert_eq!((config.number, config.nqcd), (1, 2));
        assert_eq!(config.diagrams, [1]);
        let colors: Vec<(i32, i32)> = directory.colors().unwrap().into_iter().collect();
        assert_eq!(colors, [(-6, -3), (2, 3), (7, 2), (21, 8)]);
        assert!(directory.decayed().is_empty());
        directory.check(0, &[2, -2, 6, -6]).unwrap();
        for (number, pdg) in [(0, [21, 21, 6, -6]), (1, [2, -2, 6, -6])] {
            let error = directory.check(number, &pdg).unwrap_err().to_string();
            let wanted = format!("matrix element {} of ", number + 1);
            assert!(error.starts_with(&wanted), "{error}");
        }
    }

    #[test]
    fn particles_of_decay_chains_are_found() {
        let directory = read(&[("decayBW.inc", "      DATA GFORCEBW(-1,1)/1/\n")]).unwrap();
        assert_eq!(directory.decayed(), SortedSet::from([2, 3]));
    }

    #[test]
    fn lines_between_the_beams_have_codes() {
        let listed = |directory: &Directory| -> Vec<(u32, [u32; 2], i32, bool)> {
            let lines = directory.configs.iter().flat_map(|config| &config.lines);
            let lines = lines.map(|l| (l.legs, l.daughters, l.codes[0], l.spacelike));
            lines.collect()
        };
        let whole = read(&ONE).unwrap();
        let wanted = |last| {
            [
                (9, [1, 8], 2, true),
                (13, [9, 4], last, true),
                (5, [1, 4], 2, true),
                (13, [5, 8], 2, true),
            ]
        };
        assert_eq!(listed(&whole), wanted(2));
        // MG5aMC 2.8 and 2.9 list no code for the last one.
        let [legs, (name, configs), rest @ ..] = ONE;
        let configs = configs.replace("      DATA TPRID(-2,1)/2/\n", "");
        let older = [&[legs, (name, configs.as_str())], &rest[..]].concat();
        assert_eq!(listed(&read(&older).unwrap()), wanted(-2));
    }

    #[test]
    fn tables_that_are_not_whole_are_refused() {
        let configs = samples::QUARKS[1].1;
        let without = configs.replace("      DATA MAPCONFIG(0)/1/\n", "");
        let more = configs.replace("MAPCONFIG(0)/1/", "MAPCONFIG(0)/2/");
        let broken = configs.replace("I=1,2)/4,3/", "I=1,2)/4,5/");
        let ungrouped = "      DATA (IDUP(I,1),I=1,4)/2,-2,6,-6/\n";
        #[rustfmt::skip]
        let cases = [
            ("configs.inc", &*without,
             "configs.inc lists 1 diagrams and ends before it says how many there are; write the output anew"),
            ("configs.inc", &more, "ends before it says how many"),
            ("configs.inc", &broken, "line -1 of diagram 1 joins no two lines"),
            ("config_subproc_map.inc", "", "config_subproc_map.inc has nothing of diagram 1, which configs.inc lists"),
            ("decayBW.inc", "", "decayBW.inc has nothing of diagram 1"),
            ("decayBW.inc", "      DATA GFORCEBW(-1,1)/3/\n", "GFORCEBW of diagram 1 is 3"),
            ("leshouche.inc", ungrouped,
             "P1_qq_ttx is not of an output with grouped subprocesses; generate it with 'set group_subprocesses True'"),
        ];
        for (name, text, message) in cases {
            let error = read(&[(name, text)]).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let place = output(folder.path(), &[]);
        fs::remove_file(place.join("config_nqcd.inc")).unwrap();
        let error = Directory::read(&place).unwrap_err().to_string();
        let message = "config_nqcd.inc cannot be read: No such file or directory; does MG5aMC's output lack it?";
        assert!(error.ends_with(message), "{error}");
    }

    #[test]
    fn what_is_no_output_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let error = || Output::find(path).unwrap_err().to_string();
        let none = format!(
            "{} is no output of MG5aMC's 'output madevent'",
            path.display()
        );
        assert_eq!(error(), format!("{none}: it has no SubProcesses and Cards"));
        for name in ["SubProcesses/P1_gg_ttx", "Cards"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        let message = format!("{none}: it has no SubProcesses/subproc.mg, and those");
        assert!(error().starts_with(&message), "{}", error());
        let listed = path.join("SubProcesses/subproc.mg");
        for (text, message) in [
            ("", "subproc.mg lists no directories of matrix elements"),
            (
                "P1_gg_ttx\nP2_qq_ttx\n",
                "P2_qq_ttx, and there is no such directory",
            ),
        ] {
            fs::write(&listed, text).unwrap();
            assert!(error().ends_with(message), "{}", error());
        }
        fs::write(&listed, "P1_gg_ttx\n").unwrap();
        let found = Output::find(path).unwrap();
        assert_eq!(
            (found.version(), found.steps()),
            ("unknown".into(), String::new())
        );
        let error = found.card("run_card.dat").unwrap_err().to_string();
        let message = "Cards/run_card.dat is missing; MG5aMC writes it with the output";
        assert!(error.ends_with(message), "{error}");
    }

    #[test]
    fn decays_have_one_particle_that_comes_in() {
        let folder = tempfile::tempdir().unwrap();
        let place = output(folder.path(), &[]);
        let found = Output::find(folder.path()).unwrap();
        assert_eq!(found.version(), "3.5.7");
        for (text, decays) in [
            ("      PARAMETER (NINCOMING=2)\n", false),
            ("      parameter (nincoming = 1)\n", true),
            ("      PARAMETER (NINCOMING=12)\n", false),
        ] {
            fs::write(place.join("nexternal.inc"), text).unwrap();
            assert_eq!(found.decays(), decays, "{text}");
        }
    }

    #[test]
    fn runs_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(next_run(&folder.path().join("none")), "run_01");
        for name in ["run_01", "run_9_decayed", "run_x", "other_40"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(next_run(folder.path()), "run_10");
        for digits in ["18446744073709551615", "99999999999999999999999"] {
            fs::create_dir(folder.path().join(format!("run_{digits}"))).unwrap();
            assert_eq!(next_run(folder.path()), "run_10");
        }
        fs::create_dir(folder.path().join("run_4294967295")).unwrap();
        assert_eq!(next_run(folder.path()), "run_4294967296");
    }

    #[test]
    fn paths_are_from_the_root() {
        assert_eq!(absolute("/a/./b/../c/".as_ref()), Path::new("/a/c"));
        assert_eq!(absolute("/../a".as_ref()), Path::new("/a"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute("x".as_ref()), here.join("x"));
    }
}
