//! Calls of HELAS and ALOHA routines by `MATRIX<i>`.
//!
//! Convention: the first element of a column of W (`W(1,n)`) holds the index of the wavefunction in that column; the
//! others hold nothing, so that no component can be read outside the routines. A column that is written again holds a
//! new wavefunction, and equal wavefunctions are stored once.

use crate::amplitude_expression::AmplitudeExpression;
use crate::expression::{FortranExpr, Parsed};
use crate::lorentz::{Role, Routines, missing};
use crate::model::ParameterNames;
use crate::statement::Type;
use crate::symbolic::{Externals, Global, Interpreter, Location, UnitFrame};
use crate::value::FortranValue;
use mebridge_process::{
    CouplingRef, External, ExternalKind, Quantity, TermSource, Vertex, Wavefunction,
};
use std::collections::HashMap;
use std::rc::Rc;

/// Wavefunctions and amplitudes made by the calls.
#[derive(Debug, Default, PartialEq)]
pub struct HelasCalls {
    pub wavefunctions: Vec<Wavefunction>,
    pub amplitudes: Vec<Vertex>,
}

/// Receiver of the calls.
pub struct Helas<'l> {
    /// Storage of the momenta P.
    momenta: usize,
    /// Storage of the helicities NHEL.
    helicities: usize,
    legs: usize,
    names: ParameterNames,
    routines: Routines<'l>,
    calls: HelasCalls,
    /// Components of each wavefunction.
    components: Vec<u32>,
    known: HashMap<Key, u32>,
    /// Amplitudes by where they were stored: `born.f` computes them again for the other helicity of a gluon.
    stored: HashMap<(Location, Vertex), u32>,
}

/// Key of a wavefunction.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    External(External),
    Internal(Vertex),
}

impl<'l> Helas<'l> {
    /// Takes the names and routines until [`Helas::finish`].
    pub fn new(
        momenta: usize,
        helicities: usize,
        legs: usize,
        names: ParameterNames,
        routines: &mut Routines<'l>,
    ) -> Self {
        let empty = routines.without_any();
        Helas {
            momenta,
            helicities,
            legs,
            names,
            routines: std::mem::replace(routines, empty),
            calls: HelasCalls::default(),
            components: Vec::new(),
            known: HashMap::new(),
            stored: HashMap::new(),
        }
    }

    pub fn finish(self, routines: &mut Routines<'l>) -> (HelasCalls, ParameterNames) {
        *routines = self.routines;
        (self.calls, self.names)
    }

    fn vertex(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Parsed<()> {
        let signature = match self.routines.signature(name) {
            Ok(Some(signature)) => signature,
            Ok(None) => return Err(missing(name)),
            Err(error) => return Err(error.to_string()),
        };
        if signature.roles.len() != arguments.len() {
            return Err(format!(
                "called with {} arguments and takes {}",
                arguments.len(),
                signature.roles.len()
            ));
        }
        let mut vertex = Vertex {
            routine: 0,
            inputs: Vec::new(),
            couplings: Vec::new(),
            mass: Quantity::ZERO,
            width: Quantity::ZERO,
        };
        let mut result = None;
        for (role, argument) in signature.roles.iter().zip(arguments) {
            match role {
                Role::Wavefunction => {
                    vertex
                        .inputs
                        .push(wavefunction(interpreter, frame, argument)?)
                }
                Role::Coupling => {
                    let coupling = self.coupling(interpreter, frame, argument)?;
                    vertex.couplings.push(coupling);
                }
                Role::Mass => vertex.mass = self.quantity(interpreter, frame, argument)?,
                Role::Width => vertex.width = self.quantity(interpreter, frame, argument)?,
                Role::Result => result = Some(argument),
            }
        }
        let sizes: Vec<u32> = vertex
            .inputs
            .iter()
            .map(|&w| self.components[w as usize])
            .collect();
        let index = self.routines.routine(name, &signature, &sizes);
        vertex.routine = index.map_err(|e| e.to_string())?;
        for global in self.routines.globals(vertex.routine).to_vec() {
            let coupling = self.global(interpreter, &global)?;
            vertex.couplings.push(coupling);
        }
        let components = self.routines.found[vertex.routine as usize].outputs.len() as u32;
        let result = result.ok_or("there is no result")?;
        let at = target(interpreter, frame, result)?;
        if components > 1 {
            self.column(frame, interpreter, result, at, components)?;
            let wavefunction = Wavefunction::Internal(vertex);
            self.store(interpreter, at, wavefunction, components);
        } else {
            let next = self.calls.amplitudes.len() as u32;
            let number = *self.stored.entry((at, vertex.clone())).or_insert(next);
            if number == next {
                self.calls.amplitudes.push(vertex);
            }
            let form = AmplitudeExpression::from_source(TermSource::Amplitude(number));
            interpreter.set(at, FortranValue::AmplitudeExpression(Rc::new(form)));
        }
        Ok(())
    }

    fn store(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        at: Location,
        wavefunction: Wavefunction,
        components: u32,
    ) {
        let key = match &wavefunction {
            Wavefunction::External(e) => Key::External(*e),
            Wavefunction::Internal(v) => Key::Internal(v.clone()),
        };
        let next = self.calls.wavefunctions.len() as u32;
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            self.calls.wavefunctions.push(wavefunction);
            self.components.push(components);
        }
        interpreter.set(at, FortranValue::Wavefunction(index));
    }

    /// Checks that an element is the first of a column of a two-dimensional array, whose columns have room for a
    /// wavefunction.
    fn column(
        &self,
        frame: &UnitFrame,
        interpreter: &Interpreter,
        argument: &FortranExpr,
        at: Location,
        components: u32,
    ) -> Parsed<()> {
        let FortranExpr::Apply(name, _) = argument else {
            return Err("a wavefunction is not given as W(1,n)".into());
        };
        let needed = self.routines.layout().rows(components);
        match interpreter.rows_of(frame, name) {
            Some(rows) if rows < i64::from(needed) => Err(format!(
                "a wavefunction of {needed} components, and {name} has {rows} rows"
            )),
            Some(rows) if at.1 % rows == 0 => Ok(()),
            _ => Err("a wavefunction is not given as W(1,n)".into()),
        }
    }

    /// Handles `IXXXXX(P(0,3), MDL_MT, NHEL(3), -1*IC(3), W(1,3))`; a scalar has neither mass nor helicity.
    fn external(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        kind: ExternalKind,
        arguments: &[FortranExpr],
    ) -> Parsed<()> {
        let (momentum, mass, helicity, sign, result) = match (kind, arguments) {
            (ExternalKind::Scalar, [p, sign, result]) => (p, None, None, sign, result),
            (ExternalKind::Scalar, _) => return Err("takes three arguments".into()),
            (_, [p, mass, helicity, sign, result]) => (p, Some(mass), Some(helicity), sign, result),
            _ => return Err("takes five arguments".into()),
        };
        let leg = match interpreter.reference(frame, momentum)? {
            (storage, at) if storage == self.momenta && at % 4 == 0 => at / 4,
            _ => return Err("the momentum is not that of a leg, P(0,n)".into()),
        };
        let leg = u32::try_from(leg)
            .ok()
            .filter(|&leg| (leg as usize) < self.legs);
        let leg = leg.ok_or("the momentum of a leg that does not exist")?;
        if let Some(helicity) = helicity {
            let at = interpreter.reference(frame, helicity)?;
            if at != (self.helicities, i64::from(leg)) {
                return Err(format!("the helicity is not NHEL({})", leg + 1));
            }
        }
        let sign = match interpreter.eval(frame, sign)?.int()? {
            1 => 1,
            -1 => -1,
            n => return Err(format!("the sign is {n}, not 1 or -1")),
        };
        let mass = match mass {
            Some(mass) => self.quantity(interpreter, frame, mass)?,
            None => Quantity::ZERO,
        };
        let external = External {
            kind,
            leg,
            mass,
            sign,
        };
        self.routines
            .external(external)
            .map_err(|error| error.to_string())?;
        let at = target(interpreter, frame, result)?;
        self.column(frame, interpreter, result, at, kind.components())?;
        let wavefunction = Wavefunction::External(external);
        self.store(interpreter, at, wavefunction, kind.components());
        Ok(())
    }

    /// Evaluates a mass or a width.
    fn quantity(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        argument: &FortranExpr,
    ) -> Parsed<Quantity> {
        let value = interpreter.eval(frame, argument)?;
        let FortranValue::Real(value) = value else {
            return Err("a mass or width that is not REAL".into());
        };
        match interpreter.builder.constant(value) {
            Some(c) if c.re == 0.0 => Ok(Quantity::ZERO),
            _ => Ok(Quantity(Some(
                self.names.parameter(&shown(argument), value),
            ))),
        }
    }

    /// Looks up a model variable that a routine uses in addition to its arguments.
    fn global(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        global: &Global,
    ) -> Parsed<CouplingRef> {
        let at = interpreter.common_place(&global.block, global.place);
        match (interpreter.element(at, global.ty), global.ty) {
            (Some(FortranValue::Real(value)), Type::Real)
            | (Some(FortranValue::Complex(value)), Type::Complex) => Ok(CouplingRef {
                coupling: self.names.coupling(&global.name, value),
                negative: false,
            }),
            _ => Err(format!(
                "{} of COMMON /{}/ has no value: the model does not set it",
                global.name, global.block
            )),
        }
    }

    /// Evaluates a coupling, which may have a minus sign.
    fn coupling(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        argument: &FortranExpr,
    ) -> Parsed<CouplingRef> {
        let (negative, argument) = match argument {
            FortranExpr::Sum(terms) => match terms.as_slice() {
                [(true, inner)] => (true, inner),
                _ => (false, argument),
            },
            _ => (false, argument),
        };
        match interpreter.eval(frame, argument)? {
            FortranValue::Complex(value) => Ok(CouplingRef {
                coupling: self.names.coupling(&shown(argument), value),
                negative,
            }),
            _ => Err("a coupling that is not COMPLEX".into()),
        }
    }
}

impl<'l> Externals<'l> for Helas<'l> {
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>> {
        let done = match ExternalKind::of_routine(name) {
            Some(kind) => self.external(interpreter, frame, kind, arguments),
            None if interpreter.library.is_harmless(name) => Ok(()),
            None => self.vertex(interpreter, frame, name, arguments),
        };
        Some(done.map_err(|what| format!("{name}: {what}")))
    }
}

/// Returns the wavefunction in `W(1,n)`.
fn wavefunction(
    interpreter: &mut Interpreter,
    frame: &mut UnitFrame,
    argument: &FortranExpr,
) -> Parsed<u32> {
    let at = target(interpreter, frame, argument)?;
    match interpreter.get(at) {
        Some(FortranValue::Wavefunction(index)) => Ok(*index),
        _ => Err("a wavefunction is used before it is set".into()),
    }
}

/// Returns the location of a result: an element of a COMPLEX array.
fn target(
    interpreter: &mut Interpreter,
    frame: &mut UnitFrame,
    argument: &FortranExpr,
) -> Parsed<Location> {
    match argument {
        FortranExpr::Apply(name, _)
            if interpreter.declared(frame, name) == Some((Type::Complex, true)) =>
        {
            interpreter.reference(frame, argument)
        }
        _ => Err("a wavefunction or amplitude that is no element of a COMPLEX array".into()),
    }
}

/// Returns an argument as a name: `GC_11` for `GC_11(IVEC)`.
fn shown(argument: &FortranExpr) -> String {
    match argument {
        FortranExpr::Name(name) | FortranExpr::Apply(name, _) => name.clone(),
        FortranExpr::Sum(terms) if terms.len() == 1 => format!("-{}", shown(&terms[0].1)),
        _ => "expression".into(),
    }
}
