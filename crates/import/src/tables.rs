//! The tables of a matrix element: leshouche.inc, config_subproc_map.inc, coloramps.inc.
//!
//! They consist of DATA statements only. A directory holds one set of tables for all of its matrix elements; the
//! subscript that counts these is compared with the number of `matrix<i>.f`.

use super::data::{self, Loops, Setter};
use super::expression::{FortranExpr, Parsed};
use super::source::SourceFile;
use super::statement::{self, LiteralValue, Statement};
use mebridge_support::error::{Error, Result};
use std::path::Path;

/// Calls `set` for every element that the DATA statements of a file set. Subscripts are
/// integers and loop variables here.
fn each_element(
    path: &Path,
    set: impl FnMut(&str, &[i64], &LiteralValue) -> Parsed<()>,
) -> Result<()> {
    let source = SourceFile::read(path)?;
    let mut elements = ElementVisitor { set };
    for i in 0..source.len() {
        let fault = |what: String| Error::Fortran {
            file: path.to_path_buf(),
            line: source.line(i),
            what,
        };
        let Statement::Data(groups) = statement::parse(source.text(i)).map_err(fault)? else {
            continue;
        };
        for group in &groups {
            data::expand(group, &mut elements).map_err(fault)?;
        }
    }
    Ok(())
}

struct ElementVisitor<F> {
    set: F,
}

impl<F: FnMut(&str, &[i64], &LiteralValue) -> Parsed<()>> Setter for ElementVisitor<F> {
    fn integer(&mut self, expr: &FortranExpr, loops: &Loops) -> Parsed<i64> {
        match expr {
            FortranExpr::Int(i) => Ok(*i),
            FortranExpr::Name(name) => loops
                .get(name)
                .copied()
                .ok_or_else(|| format!("{name} is no loop variable")),
            // Entries of propagators, which are numbered downwards from -1.
            FortranExpr::Sum(terms) => match &terms[..] {
                [(true, FortranExpr::Int(i))] => Ok(-i),
                _ => Err("a subscript is a sum".into()),
            },
            _ => Err("a subscript that is neither a number nor a loop variable".into()),
        }
    }

    fn set(&mut self, name: &str, subscripts: &[i64], value: &LiteralValue) -> Parsed<()> {
        (self.set)(name, subscripts, value)
    }
}

/// Calls `set` with array, subscripts and value for every integer that the DATA statements of a file set.
///
/// # Errors
/// The file cannot be read, or a statement is not understood.
pub fn each_integer(path: &Path, mut set: impl FnMut(&str, &[i64], i64)) -> Result<()> {
    each_element(path, |name, subscripts, value| {
        if let LiteralValue::Int(value) = value {
            set(name, subscripts, *value);
        }
        Ok(())
    })
}

fn int(value: &LiteralValue) -> Parsed<i64> {
    match value {
        LiteralValue::Int(i) => Ok(*i),
        _ => Err("expected an integer".into()),
    }
}

/// Maximum number of flavours with one matrix element, more than MG5aMC can group.
const MAX_FLAVOURS: usize = 10_000;

/// Contents of leshouche.inc for one matrix element.
#[derive(Debug, Default)]
pub struct LesHouches {
    /// PDG codes of the legs in the first subprocess.
    pub pdg: Vec<i32>,
    /// PDG codes of the legs in the others.
    pub other_flavours: Vec<Vec<i32>>,
    /// Colour and anticolour tags of each leg, for each colour flow.
    pub color_flows: Vec<Vec<(i32, i32)>>,
}

/// Reads leshouche.inc for matrix element `process` (from 1).
pub fn leshouche(path: &Path, process: i64, legs: usize, flows: usize) -> Result<LesHouches> {
    let mut pdg: Vec<Vec<Option<i32>>> = vec![vec![None; legs]];
    let mut color_flows = vec![vec![(None, None); legs]; flows];
    let leg_of = |leg: i64| {
        let leg = usize::try_from(leg - 1).ok().filter(|&l| l < legs);
        leg.ok_or("a leg that does not exist")
    };
    let small = |value: &LiteralValue| {
        i32::try_from(int(value)?).map_err(|_| String::from("an integer out of range"))
    };
    each_element(path, |name, indices, value| {
        match (name, indices) {
            ("IDUP", [leg, flavour, p]) if *p == process => {
                let flavour = usize::try_from(*flavour - 1).ok();
                let flavour = flavour.filter(|&n| n < MAX_FLAVOURS);
                let flavour = flavour.ok_or("a subprocess that does not exist")?;
                if flavour >= pdg.len() {
                    pdg.resize(flavour + 1, vec![None; legs]);
                }
                once(&mut pdg[flavour][leg_of(*leg)?], small(value)?)?;
            }
            ("ICOLUP", [kind, leg, flow, p]) if *p == process => {
                let leg = leg_of(*leg)?;
                let flow = usize::try_from(*flow - 1).ok().filter(|&f| f < flows);
                let flow = flow.ok_or("a colour flow beyond NCOLOR")?;
                let entry = &mut color_flows[flow][leg];
                match kind {
                    1 => once(&mut entry.0, small(value)?)?,
                    2 => once(&mut entry.1, small(value)?)?,
                    _ => return Err("ICOLUP has a first index other than 1 and 2".into()),
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let lacks = |what: String| Error::Import {
        path: path.to_path_buf(),
        what,
    };
    let pdg: Option<Vec<Vec<i32>>> = pdg
        .into_iter()
        .map(|flavour| flavour.into_iter().collect())
        .collect();
    let mut flavours = pdg
        .ok_or_else(|| lacks("it does not say which particle each leg is (IDUP)".into()))?
        .into_iter();
    let pdg = flavours.next().unwrap_or_default();
    let other_flavours = flavours.collect();
    let whole = |row: Vec<(Option<i32>, Option<i32>)>| -> Option<Vec<(i32, i32)>> {
        row.into_iter().map(|(c, a)| c.zip(a)).collect()
    };
    let color_flows: Option<Vec<_>> = color_flows.into_iter().map(whole).collect();
    let color_flows = color_flows.ok_or_else(|| {
        lacks(format!(
            "ICOLUP is not set for all of the {flows} colour flows"
        ))
    })?;
    Ok(LesHouches {
        pdg,
        other_flavours,
        color_flows,
    })
}

/// Sets an element, which must not have been set before.
fn once<T>(element: &mut Option<T>, value: T) -> Parsed<()> {
    match element.replace(value) {
        None => Ok(()),
        Some(_) => Err("an element is set twice".into()),
    }
}

/// Reads CONFSUB, or MAPCONFIG: for each configuration the diagram of matrix element `process`, or 0.
pub fn configurations(path: &Path, process: i64) -> Result<Vec<u32>> {
    let mut diagrams: Vec<Option<u32>> = Vec::new();
    let mut count = None;
    each_element(path, |name, indices, value| {
        let config = match (name, indices) {
            ("CONFSUB", [p, config]) if *p == process => *config,
            // Ungrouped output: configs.inc has MAPCONFIG(configuration) / diagram /, and their number in MAPCONFIG(0).
            ("MAPCONFIG", [0]) => return once(&mut count, int(value)?),
            ("MAPCONFIG", [config]) if *config > 0 => *config,
            _ => return Ok(()),
        };
        let place = usize::try_from(config - 1).ok();
        // Configurations come in order; an absurd number must not allocate much memory.
        let place = place.filter(|&p| p <= diagrams.len());
        let place = place.ok_or_else(|| format!("configuration {config} is out of order"))?;
        let diagram = u32::try_from(int(value)?).map_err(|_| "a negative diagram")?;
        if place == diagrams.len() {
            diagrams.push(None);
        }
        once(&mut diagrams[place], diagram)
    })?;
    if let Some(count) = count
        && count != diagrams.len() as i64
    {
        return Err(Error::Import {
            path: path.to_path_buf(),
            what: format!(
                "MAPCONFIG(0) is {count}, and {} configurations are there",
                diagrams.len()
            ),
        });
    }
    Ok(diagrams.into_iter().map(|d| d.unwrap_or(0)).collect())
}

/// Reads ICOLAMP: which colour flows each configuration allows in matrix element `process`.
/// `configurations` are the diagrams of [`configurations`].
pub fn color_allowed(
    path: &Path,
    process: i64,
    configurations: &[u32],
    flows: usize,
) -> Result<Vec<Vec<bool>>> {
    let mut allowed = vec![vec![None; flows]; configurations.len()];
    each_element(path, |name, indices, value| {
        let (flow, config) = match (name, indices) {
            ("ICOLAMP", [flow, config, p]) if *p == process => (*flow, *config),
            // Ungrouped output.
            ("ICOLAMP", [flow, config]) => (*flow, *config),
            _ => return Ok(()),
        };
        let config = usize::try_from(config - 1).ok();
        let row = config.and_then(|c| allowed.get_mut(c));
        let row = row.ok_or("ICOLAMP has more configurations than there are")?;
        // Rows have the length of the matrix element with most colour flows.
        if let Some(entry) = usize::try_from(flow - 1).ok().and_then(|f| row.get_mut(f)) {
            match value {
                LiteralValue::Logical(is) => once(entry, *is)?,
                _ => return Err("ICOLAMP is not logical".into()),
            }
        }
        Ok(())
    })?;
    let mut rows = Vec::with_capacity(allowed.len());
    for ((row, config), &diagram) in allowed.into_iter().zip(1..).zip(configurations) {
        let fail = |what: String| Error::Import {
            path: path.to_path_buf(),
            what,
        };
        // A configuration without a diagram in this matrix element may have no line.
        let whole: Option<Vec<bool>> = row.iter().copied().collect();
        let row = match whole {
            Some(row) => row,
            None if diagram == 0 => vec![false; flows],
            None => {
                return Err(fail(format!(
                    "ICOLAMP is not set for all of the {flows} colour flows of configuration {config}"
                )));
            }
        };
        if diagram != 0 && !row.contains(&true) {
            return Err(fail(format!(
                "ICOLAMP allows no colour flow for configuration {config}"
            )));
        }
        rows.push(row);
    }
    Ok(rows)
}
