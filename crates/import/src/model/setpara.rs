//! `SETPARA` of rw_para.f, which a program calls to read the card.
//!
//! A standalone output reads each parameter by its name (`LHA_GET_REAL`), MadEvent includes what MG5aMC has written
//! from the card (`param_card.inc`). Here ident_card.dat and the card replace both; but each name must go to the
//! variable of that name, and `COUP` must be called once. A standalone output then changes some of the values: the
//! width of a Majorana fermion gets the sign of its mass.

use crate::expression::{FortranExpr, Parsed};
use crate::program_unit::Library;
use crate::symbolic::{Externals, Interpreter, UnitFrame};
use crate::value::FortranValue;
use mebridge_process::arith::{Builder, ValueId};
use mebridge_process::model::CardParameter;
use mebridge_support::error::Result;
use std::cell::RefCell;
use std::rc::Rc;

/// Results of running SETPARA.
#[derive(Default)]
pub struct Setpara {
    /// Parameters of the card that it does not read.
    pub unread: Vec<String>,
    /// Parameters read by name, and their values where these differ from the card's.
    pub changed: Vec<(usize, ValueId)>,
}

/// Runs SETPARA, if the directory has it, on the inputs of a builder, which are the parameters.
pub fn run(
    library: &Library,
    inputs: &[CardParameter],
    builder: Builder,
) -> Result<(Setpara, Builder)> {
    let Some(unit) = library.unit("SETPARA")?.cloned() else {
        return Ok((Setpara::default(), builder));
    };
    let mut interpreter = Interpreter::new(library, builder);
    interpreter.defer = true;
    let calls = Rc::new(RefCell::new(SetparaCalls {
        names: inputs.iter().map(|input| input.name.clone()).collect(),
        read: vec![false; inputs.len()],
        changed: Vec::new(),
        coup: 0,
    }));
    interpreter.externals = Some(calls.clone());
    let places: Vec<_> = unit.arguments.iter().map(|_| interpreter.place()).collect();
    let (frame, _) = interpreter.enter(&unit, &places, 0)?;
    // MG5aMC writes param_card.inc when the output is launched.
    let written_later = frame
        .missing_includes
        .iter()
        .any(|name| name.ends_with("param_card.inc"));
    let mut unread = Vec::new();
    for input in inputs.iter().filter(|_| !written_later) {
        if interpreter.value_of(&frame, &input.name).is_err() {
            unread.push(input.name.clone());
        }
    }
    interpreter.externals = None;
    let calls = calls.take();
    match calls.coup {
        1 => {
            let changed = calls.changed;
            Ok((Setpara { unread, changed }, interpreter.builder))
        }
        n => Err(unit.error(format!("SETPARA calls COUP {n} times, and not once"))),
    }
}

#[derive(Default)]
struct SetparaCalls {
    /// Names of ident_card.dat.
    names: Vec<String>,
    /// Which of them were read by name.
    read: Vec<bool>,
    /// See `Setpara::changed`.
    changed: Vec<(usize, ValueId)>,
    /// Calls of COUP.
    coup: u32,
}

impl SetparaCalls {
    /// Handles `LHA_GET_REAL(npara, param, value, 'mdl_MT', MDL_MT, default)`.
    fn get_real(
        &mut self,
        m: &mut Interpreter,
        frame: &mut UnitFrame,
        arguments: &[FortranExpr],
        silent: bool,
    ) -> Parsed<()> {
        let [
            _,
            _,
            _,
            FortranExpr::Text(name),
            FortranExpr::Name(variable),
            _,
        ] = arguments
        else {
            return Err("not called with a name and a variable for it".into());
        };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        if name != *variable {
            return Err(format!(
                "the parameter {name} goes to the variable {variable}"
            ));
        }
        let value = match self.names.iter().position(|known| *known == name) {
            Some(input) => {
                self.read[input] = true;
                m.builder.input(input as u32)
            }
            // A silent one, such as the scale of loops, may be missing from the card.
            None if silent => m.builder.real(1.0),
            None => return Err(format!("ident_card.dat does not know the parameter {name}")),
        };
        m.set_name(frame, variable, FortranValue::Real(value));
        Ok(())
    }

    /// Records the values that `COUP` will find.
    fn coup(&mut self, m: &mut Interpreter, frame: &mut UnitFrame) -> Parsed<()> {
        self.coup += 1;
        for input in 0..self.names.len() {
            if !self.read[input] {
                continue;
            }
            let value = m.value_of(frame, &self.names[input])?;
            let value = value.real(&mut m.builder)?;
            if value != m.builder.input(input as u32) {
                self.changed.push((input, value));
            }
        }
        Ok(())
    }
}

impl<'l> Externals<'l> for SetparaCalls {
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>> {
        match name {
            "COUP" => return Some(self.coup(interpreter, frame)),
            "LHA_LOADCARD" | "PRINTOUT" => {}
            "LHA_GET_REAL" | "LHA_GET_REAL_SILENT" => {
                let silent = name != "LHA_GET_REAL";
                let done = self.get_real(interpreter, frame, arguments, silent);
                return Some(done.map_err(|what| format!("{name}: {what}")));
            }
            _ => return None,
        }
        Some(Ok(()))
    }
}
