//! PDG codes of aMC@NLO's matrix elements.

use super::dependencies::{self, read_bounded};
use super::source::SourceFile;
use super::tables;
use mebridge_support::error::{Error, Result};
use mebridge_support::files::lines;
use mebridge_support::sorted::SortedMap;
use std::path::Path;

/// Returns the codes of all flavours of real emission `number`: those of its FKS configurations (`real_me_chooser.f`) in
/// `leshouche_info.dat`, whose lines are `I <configuration> <flavour> <codes>`. Empty without these files.
pub fn real_flavours(directory: &Path, number: &str, legs: usize) -> Result<Vec<Vec<i32>>> {
    let [chooser, table] =
        ["real_me_chooser.f", "leshouche_info.dat"].map(|name| directory.join(name));
    if ![&chooser, &table]
        .into_iter()
        .all(|path| dependencies::is_file(path))
    {
        return Ok(Vec::new());
    }
    let source = SourceFile::read(&chooser)?;
    let call = format!("CALLSMATRIX{number}(");
    let mut configurations = Vec::new();
    for i in 1..source.len() {
        if source.text(i).starts_with(call.as_bytes()) {
            let condition = String::from_utf8_lossy(source.text(i - 1)).into_owned();
            let condition = condition.strip_prefix("ELSE").unwrap_or(&condition);
            let number = condition
                .strip_prefix("IF(NFKSPROCESS.EQ.")
                .and_then(|rest| rest.strip_suffix(")THEN")?.parse::<u32>().ok());
            configurations.push(number.ok_or_else(|| Error::Fortran {
                file: chooser.clone(),
                line: source.line(i),
                what: "this is called for an FKS configuration that cannot be determined".into(),
            })?);
        }
    }
    let bytes = read_bounded(&table)?;
    let mut found: Vec<Vec<i32>> = Vec::new();
    for (number, line) in (1..).zip(lines(&String::from_utf8_lossy(&bytes))) {
        let mut words = line.split_whitespace();
        if words.next() != Some("I") {
            continue;
        }
        let numbers: Option<Vec<i32>> = words.map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some([configuration, _, codes @ ..]) if codes.len() == legs => {
                let of_real = configurations
                    .iter()
                    .any(|c| i64::from(*c) == i64::from(*configuration));
                if of_real && !found.iter().any(|known| known == codes) {
                    found.push(codes.to_vec());
                }
            }
            _ => {
                return Err(Error::Import {
                    path: table,
                    what: format!("line {number} does not list the codes of {legs} legs"),
                });
            }
        }
    }
    Ok(found)
}

/// Returns the codes of all flavours of the Born, from IDUP of `born_leshouche.inc`. Empty without that file.
pub fn born_flavours(directory: &Path, legs: usize) -> Result<Vec<Vec<i32>>> {
    let path = directory.join("born_leshouche.inc");
    if !dependencies::is_file(&path) {
        return Ok(Vec::new());
    }
    let mut codes: SortedMap<i64, Vec<i32>> = SortedMap::new();
    tables::each_integer(&path, |name, indices, value| {
        if let ("IDUP", [_, flavour]) = (name, indices) {
            codes.entry(*flavour).or_default().push(value as i32);
        }
    })?;
    let complete = codes.values().all(|of_flavour| of_flavour.len() == legs);
    match complete {
        true => Ok(codes.into_values().collect()),
        false => Err(Error::Import {
            path,
            what: format!("IDUP is not set for {legs} legs of each flavour"),
        }),
    }
}
