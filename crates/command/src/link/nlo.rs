//! The matrix elements of aMC@NLO's P directories: the Born and the real emissions.
//!
//! aMC@NLO asks for one event at a time, by `SBORN`, `SBORN_SF` and `SMATRIX_REAL`. The Born comes from the library with
//! what many of aMC@NLO's routines read in COMMON blocks: AMP2, JAMP2, and the amplitudes in `SAVEAMP`, with which
//! `SBORN_HEL` begins. `SBORN` makes AMP_SPLIT and AMP_SPLIT_CNT of it. Colour links are made of the same amplitudes, and
//! real emissions come from the library as a whole. Matrix elements that it cannot evaluate stay the Fortran's.

use super::fortran;
use super::layout::{OutputLayout, check_card};
use super::matrix_element::{Signature, latin, signature};
use super::root::wrong;
use mebridge::born::to_bytes;
use mebridge::import::{DependencyRecord, ImportedElement, import_elements};
use mebridge::process::Process;
use mebridge::process::born::{Born, ColorLink};
use mebridge::{Error, Result};
use mebridge_oracle::statements::{self, Statement};
use mebridge_support::sorted::SortedSet;
use std::path::Path;

/// Number in names of the Born's files.
pub const BORN: &str = "born";

/// A matrix element that the library evaluates.
pub struct NloElement {
    /// The number in its names, or [`BORN`].
    pub number: String,
    pub process: Process,
    /// For each FKS configuration of the Born the leg from 1 that splits, or 0.
    splits: Vec<u32>,
    /// The colour links of the Born, with the names of their routines `SB_<name>`.
    links: Vec<(String, ColorLink)>,
    small_width: bool,
    bw_cutoff: bool,
}

/// The matrix elements of a P directory.
pub struct NloElements {
    /// Those that the library evaluates.
    pub served: Vec<NloElement>,
    /// The names of the others, and why.
    pub left: Vec<(String, Error)>,
    /// The files that were looked at.
    pub looks: Vec<DependencyRecord>,
}

impl NloElements {
    /// Reads a P directory.
    pub fn read(layout: &OutputLayout, directory: &Path) -> Result<NloElements> {
        let known = layout.variables()?;
        let (found, looks) = import_elements(directory)?;
        let mut elements = NloElements {
            served: Vec::new(),
            left: Vec::new(),
            looks,
        };
        for ImportedElement {
            file,
            process,
            links,
        } in found
        {
            let served = process.and_then(|process| {
                check_card(directory, &process, &known)?;
                NloElement::new(directory, &file, process, links)
            });
            match served {
                Ok(element) => elements.served.push(element),
                Err(error) => {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    elements.left.push((name.into_owned(), error));
                }
            }
        }
        Ok(elements)
    }
}

impl NloElement {
    fn new(
        directory: &Path,
        file: &Path,
        process: Process,
        links: Vec<ColorLink>,
    ) -> Result<NloElement> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let found = statements::read(&latin(file)?);
        if constants(&found, "NSQAMPSO") != SortedSet::from([1]) {
            return Err(wrong(
                file,
                "it has several squared coupling orders (NSQAMPSO), and mebridge links one".into(),
            ));
        }
        let number = name
            .strip_prefix("matrix_")
            .and_then(|n| n.strip_suffix(".f"));
        let routine = match number {
            Some(number) => format!("SMATRIX{number}_SPLITORDERS"),
            None => "SBORN_SPLITORDERS".to_owned(),
        };
        match signature(&found, "SUBROUTINE", &routine) {
            Some(Signature { arguments, .. })
                if arguments.len() == 2 && arguments[0].starts_with('P') => {}
            _ => {
                return Err(wrong(
                    file,
                    format!(
                        "there is no {routine}(P,ANS) in it, as MG5aMC writes from version 3 on"
                    ),
                ));
            }
        }
        let has = |part: &str| found.iter().any(|s| s.text.contains(part));
        let (mut names, mut splits) = (Vec::new(), Vec::new());
        if number.is_none() {
            splits = data_of(&found, "IJ_VALUES")
                .ok_or_else(|| wrong(file, "there is no DATA statement of IJ_VALUES".into()))?;
            for (name, count) in [
                ("NGRAPHS", process.amplitudes.vertices().len()),
                ("NCOLOR", process.amplitudes.jamps()),
            ] {
                if constants(&found, name) != SortedSet::from([count as u64]) {
                    return Err(wrong(file, format!("{name} is not {count} everywhere")));
                }
            }
            if !has("COMMON/TO_AMPS_BORN/AMP2,JAMP2") {
                return Err(wrong(
                    file,
                    "there is no COMMON /TO_AMPS_BORN/ in it".into(),
                ));
            }
            let table = process.helicities.len() as u64;
            let sizes = directory.join("born_nhel.inc");
            let largest = constants(&statements::read(&latin(&sizes)?), "MAX_BHEL");
            if largest.len() != 1 || largest.iter().any(|&rows| rows < table) {
                return Err(wrong(&sizes, format!("MAX_BHEL is not {table} or more")));
            }
            names = link_names(directory, links.len())?;
        }
        Ok(NloElement {
            number: number.unwrap_or(BORN).to_owned(),
            process,
            splits,
            links: names.into_iter().zip(links).collect(),
            small_width: has("COMMON/NARROW_WIDTH/"),
            bw_cutoff: has("COMMON/TO_BWCUTOFF/")
                || super::matrix_element::routines_cut(directory)?,
        })
    }

    /// Whether it is the Born.
    pub fn is_born(&self) -> bool {
        self.number == BORN
    }

    /// Returns what the file that opens its bridge depends on.
    pub fn handle(&self) -> fortran::Handle<'_> {
        fortran::Handle {
            number: &self.number,
            small_width: self.small_width,
            bw_cutoff: self.bw_cutoff,
            // That of the real emissions.
            legs: match self.is_born() {
                true => "NEXTERNAL-1",
                false => "NEXTERNAL",
            },
            open: match self.is_born() {
                true => "MEBRIDGE_OPEN_BORN",
                false => "MEBRIDGE_OPEN_REAL",
            },
            events: "",
        }
    }

    /// Returns what the executable carries.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self.is_born() {
            true => to_bytes(&Born {
                process: self.process.clone(),
                links: self.links.iter().map(|(_, link)| link.clone()).collect(),
            }),
            false => self.process.to_bytes(),
        }
    }

    /// Returns the routines of the Fortran that are replaced.
    pub fn routines(&self) -> Vec<ReplacedRoutine> {
        let n = &self.number;
        if !self.is_born() {
            return vec![ReplacedRoutine {
                number: n.clone(),
                object: format!("matrix_{n}"),
                name: format!("smatrix{n}_splitorders"),
                called_within: true,
                fortran: fortran::real(n),
            }];
        }
        let mut routines = vec![ReplacedRoutine {
            number: n.clone(),
            object: "born".into(),
            name: "sborn_splitorders".into(),
            called_within: true,
            fortran: fortran::born(&self.process, &self.splits),
        }];
        for (i, (name, _)) in (1..).zip(&self.links) {
            let lower = name.to_lowercase();
            routines.push(ReplacedRoutine {
                object: format!("b_{lower}"),
                name: format!("sb_{lower}_splitorders"),
                number: lower,
                called_within: true,
                fortran: fortran::link(name, i),
            });
        }
        routines
    }
}

/// A routine of the Fortran that is replaced.
pub struct ReplacedRoutine {
    /// The number in names of our files.
    pub number: String,
    /// Its object in the P directory, without `.o`.
    pub object: String,
    /// Its name in lower case.
    pub name: String,
    /// Whether its caller is in the same object.
    pub called_within: bool,
    /// The Fortran of the routine that replaces it.
    pub fortran: String,
}

/// Returns the names of the colour links in the order in which `sborn_sf.f` calls `SB_<name>`.
fn link_names(directory: &Path, count: usize) -> Result<Vec<String>> {
    let path = directory.join("sborn_sf.f");
    let calls = statements::read(&latin(&path)?);
    let calls = calls.iter().filter_map(|statement| {
        let (name, _) = statement.text.strip_prefix("CALLSB_")?.split_once('(')?;
        name.starts_with("SF_").then(|| name.to_owned())
    });
    let names: Vec<String> = calls.collect();
    for name in &names {
        let file = directory.join(format!("b_{}.f", name.to_lowercase()));
        let found = statements::read(&latin(&file)?);
        let routine = signature(&found, "SUBROUTINE", &format!("SB_{name}_SPLITORDERS"));
        if !routine.is_some_and(|s| s.arguments.len() == 2 && s.arguments[0].starts_with('P')) {
            return Err(wrong(
                &file,
                format!("there is no SB_{name}_SPLITORDERS(P,ANS) in it"),
            ));
        }
    }
    match names.len() == count {
        true => Ok(names),
        false => Err(wrong(&path, format!("it does not call {count} links"))),
    }
}

/// Returns the values that a constant has in the PARAMETER statements of a file.
fn constants(found: &[Statement], name: &str) -> SortedSet<u64> {
    let definitions = found.iter().filter_map(|statement| {
        let list = statement
            .text
            .strip_prefix("PARAMETER(")?
            .strip_suffix(')')?;
        list.split(',')
            .find_map(|one| one.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
    });
    definitions.collect()
}

/// Returns the values of an array from its DATA statement.
fn data_of(found: &[Statement], name: &str) -> Option<Vec<u32>> {
    found.iter().find_map(|statement| {
        let values = statement.text.strip_prefix("DATA")?.strip_prefix(name)?;
        let values = values.strip_prefix('/')?.strip_suffix('/')?;
        values.split(',').map(|value| value.parse().ok()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_read() {
        let text = "      PARAMETER (NGRAPHS=   3,NEIGEN=  1)\n      PARAMETER (NAMPSO=1, NSQAMPSO=1)\n\
                    C     PARAMETER (NGRAPHS=5)\n      PARAMETER (NSQAMPSO=2)\n";
        let found = statements::read(text);
        assert_eq!(constants(&found, "NGRAPHS"), SortedSet::from([3]));
        assert_eq!(constants(&found, "NSQAMPSO"), SortedSet::from([1, 2]));
        assert!(constants(&found, "NCOLOR").is_empty());
        let found = statements::read(
            "      DATA IDEN_VALUES /8, 9/\n      DATA IJ_VALUES /1, 0,\n     $  4/\n",
        );
        assert_eq!(data_of(&found, "IJ_VALUES"), Some(vec![1, 0, 4]));
        assert_eq!(data_of(&found, "IJ"), None);
    }
}
