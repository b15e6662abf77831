//! `SETPARA` of rw_para.f: what a program calls to read the card.
//!
//! A standalone output reads each parameter by its name (`LHA_GET_REAL`), MadEvent includes what MG5aMC has
//! written of the card (`param_card.inc`). Either is taken over by ident_card.dat and the card here; but each name
//! has to go to the variable of that name, and `COUP` has to be called once.

use crate::error::Result;
use crate::import::expression::{Expr, Parsed};
use crate::import::symbolic::{Externals, Frame, Interpreter};
use crate::import::unit::Library;
use crate::import::value::Value;
use crate::process::arith::Builder;
use crate::process::model::CardParameter;
use std::cell::RefCell;
use std::rc::Rc;

/// Looks at SETPARA, where the directory has it. Gives the parameters that it does not read.
pub fn check(library: &Library, inputs: &[CardParameter]) -> Result<Vec<String>> {
    let Some(unit) = library.unit("SETPARA")?.cloned() else {
        return Ok(Vec::new());
    };
    let mut interpreter = Interpreter::new(library, Builder::new(0));
    let calls = Rc::new(RefCell::new(Calls {
        names: inputs.iter().map(|input| input.name.clone()).collect(),
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
    match calls.borrow().coup {
        1 => Ok(unread),
        n => Err(unit.error(format!("SETPARA calls COUP {n} times, and not once"))),
    }
}

struct Calls {
    /// Names of ident_card.dat.
    names: Vec<String>,
    /// Calls of COUP.
    coup: u32,
}

impl Calls {
    /// `LHA_GET_REAL(npara, param, value, 'mdl_MT', MDL_MT, default)`.
    fn get_real(
        &self,
        m: &mut Interpreter,
        frame: &mut Frame,
        arguments: &[Expr],
        silent: bool,
    ) -> Parsed<()> {
        let [_, _, _, Expr::Text(name), Expr::Name(variable), _] = arguments else {
            return Err("not called with a name and a variable for it".into());
        };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        if name != *variable {
            return Err(format!(
                "the parameter {name} goes to the variable {variable}"
            ));
        }
        // A silent one may be in no card: the scale of loops.
        if !silent && !self.names.contains(&name) {
            return Err(format!("ident_card.dat does not know the parameter {name}"));
        }
        let value = Value::Real(m.builder.real(1.0));
        m.set_name(frame, variable, value);
        Ok(())
    }
}

impl<'l> Externals<'l> for Calls {
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut Frame,
        name: &str,
        arguments: &[Expr],
    ) -> Option<Parsed<()>> {
        match name {
            "COUP" => self.coup += 1,
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

    fn function(
        &mut self,
        _: &mut Interpreter<'l>,
        _: &mut Frame,
        _: &str,
        _: &[Expr],
    ) -> Option<Parsed<Value>> {
        None
    }
}
