//! Locations of files in a directory written by MG5aMC.
//!
//! A subprocess directory is `<output>/SubProcesses/P<n>_<process>`; the model, the Lorentz structures and the cards
//! are in `<output>/Source/MODEL`, `<output>/Source/DHELAS` and `<output>/Cards`.

use super::dependencies::{self, read_bounded};
use super::source::SourceFile;
use super::statement::{self, Statement};
use mebridge_process::Contract;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::lines;
use std::path::{Path, PathBuf};

/// The paths of one subprocess directory.
#[derive(Debug)]
pub struct SubprocessPaths {
    /// The directory itself.
    pub path: PathBuf,
    pub dhelas: PathBuf,
    pub model: PathBuf,
    pub source: PathBuf,
    pub cards: PathBuf,
    /// The matrix elements in order.
    pub matrices: Vec<ElementFile>,
}

/// The file of a matrix element.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ElementFile {
    pub kind: ElementKind,
    /// Number in names, empty for `matrix.f` and `born.f`.
    pub number: String,
    pub path: PathBuf,
}

/// Kind of a matrix element's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElementKind {
    /// `matrix<i>.f` of leading order.
    LeadingOrder,
    /// `matrix_<n>.f` of aMC@NLO: a real emission.
    Real,
    /// `born.f` of aMC@NLO.
    Born,
}

/// The beams as `SMATRIX<i>` finds them in COMMON blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamCommons {
    /// POL, from polbeam1 and polbeam2 of the run card in per cent: 1 for an unpolarised beam.
    pub polarisations: [f64; 2],
    /// NB_SPIN_STATE_IN, if the directory specifies it.
    pub spin_states: Option<[i64; 2]>,
}

impl Default for BeamCommons {
    fn default() -> BeamCommons {
        BeamCommons {
            polarisations: [1.0; 2],
            spin_states: None,
        }
    }
}

/// Rejects matrix elements of MadLoop, which are loop integrals instead of tree diagrams.
pub fn no_loops(path: &Path) -> Result<()> {
    // The second exists in MadEvent directories of loop-induced processes, and in aMC@NLO's beside tree diagrams.
    let files = ["loop_matrix.f", "MadLoop5_resources"];
    if is_nlo(path) {
        return Ok(());
    }
    let Some(file) = files.iter().find(|name| path.join(name).exists()) else {
        return Ok(());
    };
    Err(Error::Import {
        path: path.to_path_buf(),
        what: format!(
            "this is of a loop-induced process or of MadLoop's virtuals (it has {file}): its matrix elements are loop \
             integrals, and mebridge evaluates tree diagrams alone; of an NLO process choose SubProcesses/P*, whose \
             Born and real emissions are tree diagrams"
        ),
    })
}

/// Whether this is a subprocess directory of aMC@NLO, with a Born and real emissions.
pub fn is_nlo(path: &Path) -> bool {
    dependencies::is_file(&path.join("born.f"))
}

impl SubprocessPaths {
    /// Opens a directory; the error names what is missing if it is not one of MG5aMC's.
    pub fn open(path: &Path) -> Result<SubprocessPaths> {
        let lacks = |missing: String| Error::NotProcessDirectory {
            path: path.to_path_buf(),
            missing,
        };
        if !path.is_dir() {
            return Err(lacks("there is no such directory".into()));
        }
        no_loops(path)?;
        let output = path.join("..").join("..");
        let directory = SubprocessPaths {
            path: path.to_path_buf(),
            dhelas: output.join("Source").join("DHELAS"),
            model: output.join("Source").join("MODEL"),
            source: output.join("Source"),
            cards: output.join("Cards"),
            matrices: matrices(path)?,
        };
        if directory.matrices.is_empty() {
            let also = if path.join("SubProcesses").is_dir() {
                "; choose one of the directories P* under its SubProcesses"
            } else if path.join("CPPProcess.cc").is_file() {
                ", but C++, which is not read; write it by `output madevent` or `output standalone`"
            } else {
                ""
            };
            return Err(lacks(format!("it has no matrix<i>.f{also}")));
        }
        for (what, folder) in [
            ("Source/DHELAS", &directory.dhelas),
            ("Source/MODEL", &directory.model),
        ] {
            if !folder.is_dir() {
                return Err(lacks(format!("there is no ../../{what}")));
            }
        }
        Ok(directory)
    }

    /// Returns whether this is a standalone output, which lacks MadEvent's tables.
    pub fn is_standalone(&self) -> bool {
        let tables = ["leshouche.inc", "coloramps.inc", "configs.inc"];
        let any = tables
            .iter()
            .any(|name| dependencies::is_file(&self.path.join(name)));
        let plain =
            |file: &ElementFile| file.kind == ElementKind::LeadingOrder && file.number.is_empty();
        !any && self.matrices.iter().all(plain)
    }

    /// Returns the beams as `SMATRIX<i>` finds them.
    pub fn beams(&self) -> Result<BeamCommons> {
        let mut beams = BeamCommons::default();
        for (beam, pol) in beams.polarisations.iter_mut().enumerate() {
            let name = format!("polbeam{}", beam + 1);
            let per_cent = self.run_number(&name)?.unwrap_or(0.0);
            if per_cent != 0.0 {
                *pol = (1.0 + per_cent.abs() / 100.0).copysign(per_cent);
            }
        }
        beams.spin_states = self.spin_states();
        Ok(beams)
    }

    /// Reads NB_SPIN_STATE from a DATA statement of `auto_dsig.f`.
    fn spin_states(&self) -> Option<[i64; 2]> {
        let source = SourceFile::read(&self.path.join("auto_dsig.f")).ok()?;
        let texts = (0..source.len()).rev().map(|i| source.text(i));
        let mut values = texts.filter_map(|text| text.strip_prefix(b"DATANB_SPIN_STATE/"));
        let values = String::from_utf8_lossy(values.next()?).into_owned();
        let (first, second) = values.strip_suffix('/')?.split_once(',')?;
        Some([first.parse().ok()?, second.parse().ok()?])
    }

    /// Returns the path of a required table.
    pub fn table(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        if dependencies::is_file(&path) {
            return Ok(path);
        }
        Err(Error::NotProcessDirectory {
            path: self.path.clone(),
            missing: format!("it has no {name}"),
        })
    }

    /// Returns the generation of the Fortran contract that the directory was written for.
    pub fn contract(&self) -> Contract {
        let mut files = vec![self.path.join("fbridge.inc")];
        for file in &self.matrices {
            files.push(self.path.join(format!("auto_dsig{}.f", file.number)));
        }
        for file in files {
            let Ok(source) = SourceFile::read(&file) else {
                continue;
            };
            for i in 0..source.len() {
                let text = source.text(i);
                let interface = text.starts_with(b"SUBROUTINEFBRIDGESEQUENCE(");
                let call = text.starts_with(b"CALLFBRIDGESEQUENCE(");
                if !interface && !call {
                    continue;
                }
                // Both have the form of a call after their first word.
                let arguments = &text[if interface { 10 } else { 4 }..];
                let mut as_call = b"CALL".to_vec();
                as_call.extend_from_slice(arguments);
                if let Ok(Statement::Call(_, arguments)) = statement::parse(&as_call) {
                    return match arguments.len() {
                        10 => Contract::WithoutIgraph,
                        11 => Contract::WithIgraph,
                        _ => Contract::Unknown,
                    };
                }
            }
        }
        Contract::Unknown
    }

    /// Reads a non-negative number from the run card; MG5aMC's default if the card or the line is missing.
    pub fn run_parameter(&self, parameter: &str, default: f64) -> Result<f64> {
        match self.run_number(parameter)? {
            None => Ok(default),
            Some(x) if x >= 0.0 => Ok(x),
            Some(x) => Err(Error::Card {
                path: self.cards.join("run_card.dat"),
                what: format!("{parameter} is {x}, and must not be negative"),
            }),
        }
    }

    /// Reads a switch of the run card that is off by default.
    pub fn run_switch(&self, parameter: &str) -> Result<bool> {
        let value = self.run_entry(parameter)?;
        let value = value.map(|(_, value)| value.trim_matches('.').to_ascii_lowercase());
        Ok(value.is_some_and(|value| ["true", "t", "1"].contains(&&*value)))
    }

    /// Reads a number from the run card, if it is there.
    fn run_number(&self, parameter: &str) -> Result<Option<f64>> {
        let Some((line, value)) = self.run_entry(parameter)? else {
            return Ok(None);
        };
        match value.replace(['d', 'D'], "e").parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Some(x)),
            _ => Err(Error::Card {
                path: self.cards.join("run_card.dat"),
                what: format!("line {line}: {parameter} is `{value}`, which is no number"),
            }),
        }
    }

    /// Reads an entry of the run card with its line, if it is there. As in MG5aMC, the last of several counts.
    fn run_entry(&self, parameter: &str) -> Result<Option<(usize, String)>> {
        let path = self.cards.join("run_card.dat");
        if !dependencies::is_file(&path) {
            return Ok(None);
        }
        let bytes = read_bounded(&path)?;
        let text = String::from_utf8_lossy(&bytes);
        let mut found = None;
        for (i, line) in lines(&text).enumerate() {
            let line = line.split(['#', '!']).next().unwrap_or("");
            let Some((value, name)) = line.split_once('=') else {
                continue;
            };
            if !name.trim().eq_ignore_ascii_case(parameter) {
                continue;
            }
            found = Some((i + 1, value.trim().to_owned()));
        }
        Ok(found)
    }

    /// Returns the name of the model from proc_card_mg5.dat, or "" without that card.
    pub fn model_name(&self) -> String {
        let Ok(bytes) = read_bounded(&self.cards.join("proc_card_mg5.dat")) else {
            return String::new();
        };
        let text = String::from_utf8_lossy(&bytes);
        // MG5aMC starts with the Standard Model.
        let mut name = String::from("sm");
        for line in lines(&text) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // The last import wins.
            if let ["import", "model", model, ..] = words.as_slice() {
                name = (*model).to_owned();
            }
        }
        name
    }
}

/// Returns the files of the matrix elements in a directory, in the order in which they are imported.
///
/// # Errors
/// The directory cannot be listed.
pub fn matrix_files(path: &Path) -> Result<Vec<PathBuf>> {
    Ok(matrices(path)?.into_iter().map(|file| file.path).collect())
}

/// Finds the matrix elements in a directory, in the order of their numbers; aMC@NLO's Born comes last. With helicity
/// recycling, MG5aMC's default, the plain matrix element is `matrix<i>_orig.f`.
fn matrices(path: &Path) -> Result<Vec<ElementFile>> {
    let nlo = is_nlo(path);
    let (kind, start) = match nlo {
        true => (ElementKind::Real, "matrix_"),
        false => (ElementKind::LeadingOrder, "matrix"),
    };
    let mut found: Vec<(u32, String, bool, PathBuf)> = Vec::new();
    for file in dependencies::fortran(path).map_err(Error::io(path))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let Some(number) = name.strip_prefix(start).and_then(|n| n.strip_suffix(".f")) else {
            continue;
        };
        let (number, original) = match number.strip_suffix("_orig") {
            Some(number) => (number, true),
            None => (number, false),
        };
        if number.len() > 6 || !number.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let order = number.parse().unwrap_or(0);
        found.push((order, number.to_owned(), original, file.clone()));
    }
    found.sort();
    found.dedup_by(|later, earlier| later.0 == earlier.0);
    let of_number = |(_, number, _, path)| ElementFile { kind, number, path };
    let mut files: Vec<ElementFile> = found.into_iter().map(of_number).collect();
    if nlo {
        files.push(ElementFile {
            kind: ElementKind::Born,
            number: String::new(),
            path: path.join("born.f"),
        });
    }
    Ok(files)
}
