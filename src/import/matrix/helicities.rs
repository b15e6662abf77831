//! What `SMATRIX<i>` declares: the helicity table and the averaging factor.

use super::Elements;
use crate::error::{Error, Result};
use crate::import::data::{self, sets};
use crate::import::expression::Parsed;
use crate::import::model::ModelReader;
use crate::import::statement::{self, Constant, Statement};
use crate::import::symbolic::Frame;
use crate::import::unit::{Node, NodeKind, Unit};

/// More legs than any process that MG5aMC can generate.
const MAX_LEGS: i64 = 32;

/// What the calling subroutine `SMATRIX<i>` declares.
pub struct Table {
    pub legs: usize,
    pub helicities: Vec<Vec<i8>>,
    pub iden: u32,
    pub diagrams: Option<u32>,
}

/// Reads NHEL, IDEN and NDIAGS from `SMATRIX<i>`. Its code is MadEvent's own business.
pub fn helicities(unit: &Unit, model: &mut ModelReader) -> Result<Table> {
    let source = &unit.source;
    let mut declarations = Vec::new();
    for i in unit.header + 1..unit.end {
        let text = source.text(i);
        let wanted = [&b"PARAMETER("[..], b"INCLUDE", b"DATA", b"INTEGER"];
        if !wanted.iter().any(|word| text.starts_with(word)) {
            continue;
        }
        let statement = statement::parse(text).map_err(|what| Error::Fortran {
            file: source.path.clone(),
            line: source.line(i),
            what,
        })?;
        declarations.push(Node {
            line: source.line(i),
            kind: NodeKind::Plain(statement),
        });
    }
    // DATA is read below, by element; the machine needs the rest.
    let (data, rest): (Vec<Node>, Vec<Node>) = declarations
        .into_iter()
        .partition(|n| matches!(n.kind, NodeKind::Plain(Statement::Data(_))));
    let mut frame = model.machine.frame(&source.path);
    model.machine.without_data = true;
    let declared = model.machine.declare(&mut frame, &rest);
    model.machine.without_data = false;
    declared?;
    let legs = legs_of(&mut frame, model, unit)?;
    let mut table = Table {
        legs,
        helicities: Vec::new(),
        iden: 0,
        diagrams: model
            .machine
            .int_constant(&frame, "NDIAGS")
            .and_then(|n| u32::try_from(n).ok()),
    };
    for node in &data {
        let NodeKind::Plain(Statement::Data(groups)) = &node.kind else {
            continue;
        };
        for group in groups.iter().filter(|g| sets(g, &["NHEL", "IDEN"])) {
            let mut elements = Elements {
                model,
                frame: &mut frame,
                set: |name: &str, subscripts: &[i64], value: &Constant| {
                    table.set(name, subscripts, value)
                },
            };
            data::expand(group, &mut elements).map_err(|what| Error::Fortran {
                file: source.path.clone(),
                line: node.line,
                what,
            })?;
        }
    }
    if table.helicities.is_empty() {
        return Err(unit.error("there is no helicity table (DATA NHEL)"));
    }
    if table.iden == 0 {
        return Err(unit.error("there is no averaging factor (DATA IDEN)"));
    }
    Ok(table)
}

fn legs_of(frame: &mut Frame, model: &ModelReader, unit: &Unit) -> Result<usize> {
    match model.machine.int_constant(frame, "NEXTERNAL") {
        Some(n @ 3..=MAX_LEGS) => Ok(n as usize),
        Some(n) => Err(unit.error(format!("NEXTERNAL = {n} is no number of external legs"))),
        None => Err(unit.error(format!(
            "NEXTERNAL is not known (included files that are missing: {})",
            match frame.missing_includes.is_empty() {
                true => "none".into(),
                false => frame.missing_includes.join(", "),
            }
        ))),
    }
}

impl Table {
    fn set(&mut self, name: &str, indices: &[i64], value: &Constant) -> Parsed<()> {
        match (name, indices, value) {
            ("IDEN", [], Constant::Int(n)) => {
                self.iden = u32::try_from(*n).map_err(|_| format!("IDEN is {n}"))?;
            }
            ("NHEL", [leg, row], Constant::Int(h)) => {
                let legs = self.legs;
                let leg = usize::try_from(*leg - 1).ok().filter(|&l| l < legs);
                let leg = leg.ok_or("NHEL names a leg that does not exist")?;
                let row = usize::try_from(*row - 1).map_err(|_| "NHEL has a row 0")?;
                // Rows come in order; a gap would be a helicity that nobody set.
                if row > self.helicities.len() {
                    return Err("NHEL leaves out a row".into());
                }
                if row == self.helicities.len() {
                    self.helicities.push(vec![0; legs]);
                }
                let h = i8::try_from(*h).map_err(|_| format!("a helicity {h}"))?;
                self.helicities[row][leg] = h;
            }
            _ => {}
        }
        Ok(())
    }
}
