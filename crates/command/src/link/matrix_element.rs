//! How MadEvent calls the matrix elements of a P directory.

use super::root::wrong;
use mebridge::files::regular;
use mebridge::{Error, Result};
use mebridge_oracle::statements;
use std::path::{Path, PathBuf};

/// Largest Fortran file of MG5aMC, in bytes.
const MAX_SOURCE_BYTES: u64 = 1 << 30;

/// A routine and its arguments, in upper case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub arguments: Vec<String>,
}

impl Signature {
    /// Whether the routine has this argument.
    pub fn takes(&self, argument: &str) -> bool {
        self.arguments.iter().any(|a| a == argument)
    }
}

/// One matrix element of a P directory.
#[derive(Clone, Debug)]
pub struct MatrixElement {
    /// The number in its names; empty in an ungrouped output.
    pub number: String,
    /// The file that was read: `matrix<i>_orig.f` or `matrix<i>.f`.
    pub file: PathBuf,
    /// `FUNCTION MATRIX<i>`: one helicity of one event.
    pub matrix: Signature,
    /// `SMATRIX<i>`.
    pub smatrix: Signature,
    /// `SMATRIX<i>_MULTI`, a batch of events, in grouped outputs from MG5aMC 3.6 on.
    pub batch: Option<Signature>,
    /// Whether AMP2 is summed only for `SDE_STRAT` 1, which is in `COMMON/TO_CHANNEL_STRAT/`.
    pub strategy: bool,
    /// Whether widths depend on `COMMON/NARROW_WIDTH/`.
    pub small_width: bool,
    /// Whether the matrix element depends on `COMMON/TO_BWCUTOFF/`.
    pub bw_cutoff: bool,
}

const OF_MATRIX: [&str; 7] = ["P", "NHEL", "IC", "IHEL", "AMP2", "JAMP2", "IVEC"];
const OF_SMATRIX: [&str; 11] = [
    "P",
    "RHEL",
    "RCOL",
    "CHANNEL",
    "IVEC",
    "ANS",
    "IHEL",
    "ICOL",
    // Names in ungrouped outputs.
    "DUM",
    "SELECTED_HEL",
    "SELECTED_COL",
];
const OF_BATCH: [&str; 10] = [
    "P_MULTI",
    "HEL_RAND",
    "COL_RAND",
    "CHANNEL",
    "CHANNELS",
    "IGRAPH",
    "OUT",
    "SELECTED_HEL",
    "SELECTED_COL",
    "VECSIZE_USED",
];

impl MatrixElement {
    /// Reads all elements of a P directory, in the order of their numbers.
    pub fn read_all(directory: &Path) -> Result<Vec<MatrixElement>> {
        let mut all = MatrixElement::read_numbered(directory)?;
        // Lines that must not be on shell are cut in DHELAS routines.
        if routines_cut(directory)? {
            all.iter_mut().for_each(|element| element.bw_cutoff = true);
        }
        Ok(all)
    }

    fn read_numbered(directory: &Path) -> Result<Vec<MatrixElement>> {
        if is_ungrouped(directory)? {
            return Ok(vec![MatrixElement::read(directory, "")?]);
        }
        let numbers = numbers(directory)?;
        if numbers.is_empty() {
            return Err(Error::NotProcessDirectory {
                path: directory.to_owned(),
                missing: "there is no matrix<i>.f in it that MadEvent calls".into(),
            });
        }
        let read = |number: &u32| MatrixElement::read(directory, &number.to_string());
        numbers.iter().map(read).collect()
    }

    /// Whether MadEvent runs a different file from the one that was read: helicity recycling makes `matrix<i>_optim.f`
    /// from `matrix<i>_orig.f`.
    pub fn is_recycled(&self) -> bool {
        self.file.to_string_lossy().ends_with("_orig.f")
    }

    fn read(directory: &Path, number: &str) -> Result<MatrixElement> {
        let original = directory.join(format!("matrix{number}_orig.f"));
        let file = match original.is_file() {
            true => original,
            false => directory.join(format!("matrix{number}.f")),
        };
        let text = latin(&file)?;
        let found = statements::read(&text);
        let find = |start: &str, name: &str, known: &[&str], file: &Path| {
            signature(&found, start, name)
                .map(|s| check(s, known, file))
                .transpose()
        };
        let (matrix, smatrix) = (format!("MATRIX{number}"), format!("SMATRIX{number}"));
        let lacks = |what: String| wrong(&file, format!("there is no {what} in it"));
        let matrix = find("FUNCTION", &matrix, &OF_MATRIX, &file)?
            .ok_or_else(|| lacks(format!("FUNCTION {matrix}")))?;
        let smatrix = find("SUBROUTINE", &smatrix, &OF_SMATRIX, &file)?
            .ok_or_else(|| lacks(format!("SUBROUTINE {smatrix}")))?;
        let caller = directory.join(format!("auto_dsig{number}.f"));
        // In ungrouped outputs the batch routine cannot be called: DSIG_VEC has other arguments than dsample.f passes.
        let batch = match caller.is_file() && !number.is_empty() {
            true => {
                let found = statements::read(&latin(&caller)?);
                signature(&found, "SUBROUTINE", &format!("SMATRIX{number}_MULTI"))
                    .map(|s| check(s, &OF_BATCH, &caller))
                    .transpose()?
            }
            false => None,
        };
        let has = |part: &str| found.iter().any(|s| s.text.contains(part));
        Ok(MatrixElement {
            number: number.to_owned(),
            matrix,
            smatrix,
            batch,
            strategy: has("IF(SDE_STRAT.EQ.1)THEN"),
            small_width: has("COMMON/NARROW_WIDTH/"),
            bw_cutoff: has("COMMON/TO_BWCUTOFF/"),
            file,
        })
    }
}

/// Returns the numbers of `matrix<i>.f`.
fn numbers(directory: &Path) -> Result<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Error::io(directory))? {
        let name = entry.map_err(Error::io(directory))?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_prefix("matrix").and_then(|rest| {
            rest.strip_suffix("_orig.f")
                .or_else(|| rest.strip_suffix(".f"))
        });
        if let Some(Ok(number)) = number.map(str::parse) {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Whether a routine of DHELAS depends on the run card's bwcutoff.
pub fn routines_cut(directory: &Path) -> Result<bool> {
    let folder = directory.join("../../Source/DHELAS");
    if !folder.is_dir() {
        return Ok(false);
    }
    for file in super::listing::files(&folder)? {
        if file.extension().is_some_and(|extension| extension == "f") {
            let found = statements::read(&latin(&file)?);
            if found.iter().any(|s| s.text.contains("COMMON/TO_BWCUTOFF/")) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a P directory belongs to an ungrouped output: one matrix element, without a number.
pub fn is_ungrouped(directory: &Path) -> Result<bool> {
    Ok(directory.join("matrix.f").is_file() && numbers(directory)?.is_empty())
}

/// Returns the routine of this name, with any text before `start` (`REAL*8`).
pub fn signature(found: &[statements::Statement], start: &str, name: &str) -> Option<Signature> {
    let head = format!("{start}{name}(");
    found.iter().find_map(|statement| {
        let at = statement.text.find(&head)?;
        let typed = &statement.text[..at];
        if !matches!(typed, "" | "REAL*8" | "DOUBLEPRECISION") {
            return None;
        }
        let arguments = statement.text[at + head.len()..].strip_suffix(')')?;
        Some(Signature {
            name: name.to_owned(),
            arguments: arguments.split(',').map(str::to_owned).collect(),
        })
    })
}

fn check(signature: Signature, known: &[&str], file: &Path) -> Result<Signature> {
    match signature
        .arguments
        .iter()
        .find(|a| !known.contains(&a.as_str()))
    {
        None => Ok(signature),
        Some(argument) => Err(wrong(
            file,
            format!(
                "{} has an argument {argument} that mebridge does not know ({}); it knows {}",
                signature.name,
                signature.arguments.join(", "),
                known.join(", "),
            ),
        )),
    }
}

/// Reads a file of MG5aMC, whose comments may contain any bytes.
pub fn latin(path: &Path) -> Result<String> {
    let bytes = regular::read(path, MAX_SOURCE_BYTES).map_err(Error::io(path))?;
    Ok(bytes.into_iter().map(char::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_of_all_versions_are_read() {
        let old = "      REAL*8 FUNCTION MATRIX1(P,NHEL,IC, IHEL)\n      END\n";
        let new = "      REAL*8 FUNCTION MATRIX12(P,NHEL,IC, IHEL,AMP2,\n     $ JAMP2, IVEC)\n      END\n";
        let read = |text: &str, name: &str| signature(&statements::read(text), "FUNCTION", name);
        assert_eq!(
            read(old, "MATRIX1").unwrap().arguments,
            ["P", "NHEL", "IC", "IHEL"]
        );
        let new = read(new, "MATRIX12").unwrap();
        assert!(new.takes("IVEC") && new.arguments.len() == 7);
        assert!(read(old, "MATRIX2").is_none());
        let other = Signature {
            name: "MATRIX1".into(),
            arguments: vec!["P".into(), "Q".into()],
        };
        let error = check(other, &OF_MATRIX, Path::new("x.f")).unwrap_err();
        assert!(error.to_string().contains("argument Q"), "{error}");
    }
}
