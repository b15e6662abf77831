//! Lorentz structures: the subroutines of `Source/DHELAS` as programs.
//!
//! The role of an argument follows from its declaration: the last one is the result, complex arrays are wavefunctions,
//! complex scalars are couplings, and two real scalars are mass and width. The result is a wavefunction if it is an
//! array and an amplitude if it is a scalar.

use super::externals;
use super::momentum_layout::MomentumLayout;
use super::program_unit::{BlockNode, Library, ProgramUnit};
use super::statement::Type;
use super::symbolic::{Global, Interpreter, Location, UnitFrame};
use super::value::FortranValue;
use mebridge_process::arith::{Builder, Op, ValueId};
use mebridge_process::lorentz::Routine;
use mebridge_process::{External, ExternalKind};
use mebridge_support::error::Result;
use std::collections::HashMap;
use std::rc::Rc;

/// Role of a routine's argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Wavefunction,
    Coupling,
    Mass,
    Width,
    Result,
}

/// Upper bound for the components of a wavefunction: spin 2 has 16, plus up to four for the momentum.
const MAX_COMPONENTS: u64 = 64;

/// Reads routines on demand, each once for every combination of sizes of its wavefunctions.
pub struct Routines<'l> {
    library: &'l Library,
    /// BWCUTOFF of the run card, used by routines for lines that `$` forbids to be on shell.
    bw_cutoff: f64,
    /// Layout of all wavefunctions, known once an external one was compared.
    layout: Option<MomentumLayout>,
    /// Whether a result may lack its momentum, as in helicity recycling (`FFV1P1N_3`); it is then 0.
    pub momentum_may_be_unset: bool,
    /// Routines read so far, in the order of their first calls.
    pub found: Vec<Routine>,
    /// For each of these routines, the model variables that it uses in addition, placed after the couplings of its
    /// calls.
    globals: Vec<Vec<Global>>,
    index: HashMap<(String, Vec<u32>), u32>,
    signatures: HashMap<String, Rc<Signature>>,
    /// External wavefunctions compared so far.
    externals: Vec<(ExternalKind, i8)>,
}

/// A routine's arguments.
#[derive(Debug)]
pub struct Signature {
    pub roles: Vec<Role>,
    unit: Rc<ProgramUnit>,
    body: Rc<Vec<BlockNode>>,
}

impl<'l> Routines<'l> {
    pub fn new(library: &'l Library, bw_cutoff: f64) -> Self {
        Routines {
            library,
            bw_cutoff,
            layout: None,
            momentum_may_be_unset: false,
            found: Vec::new(),
            globals: Vec::new(),
            index: HashMap::new(),
            signatures: HashMap::new(),
            externals: Vec::new(),
        }
    }

    /// Returns an empty reader with the same settings.
    pub fn without_any(&self) -> Self {
        Routines::new(self.library, self.bw_cutoff)
    }

    /// Returns the layout of all wavefunctions.
    pub fn layout(&self) -> MomentumLayout {
        self.layout.unwrap_or_default()
    }

    /// Compares the external wavefunctions of a kind, once for each sign, with those of [`mebridge_process::external`],
    /// which replace them.
    pub fn external(&mut self, external: External) -> Result<()> {
        let key = (external.kind, external.sign);
        if self.externals.contains(&key) {
            return Ok(());
        }
        let External { kind, sign, .. } = external;
        self.layout = Some(externals::compare(self.library, kind, sign, self.layout)?);
        self.externals.push(key);
        Ok(())
    }

    /// Returns the arguments of a routine; `None` if there is no such routine.
    pub fn signature(&mut self, name: &str) -> Result<Option<Rc<Signature>>> {
        if let Some(signature) = self.signatures.get(name) {
            return Ok(Some(signature.clone()));
        }
        let Some(unit) = self.library.unit(name)? else {
            return Ok(None);
        };
        let body = unit.body()?;
        let mut interpreter = Interpreter::new(self.library, Builder::new(0));
        let frame = interpreter.declare_unit(unit, &body)?;
        let roles = roles(unit, &interpreter, &frame)?;
        let signature = Rc::new(Signature {
            roles,
            unit: unit.clone(),
            body,
        });
        self.signatures.insert(name.to_owned(), signature.clone());
        Ok(Some(signature))
    }

    /// Returns the index in [`Routines::found`] of a routine for wavefunctions of these sizes.
    pub fn routine(&mut self, name: &str, signature: &Signature, sizes: &[u32]) -> Result<u32> {
        let key = (name.to_owned(), sizes.to_vec());
        if let Some(&index) = self.index.get(&key) {
            return Ok(index);
        }
        let (routine, globals) = self.read(name, signature, sizes)?;
        let index = self.found.len() as u32;
        self.found.push(routine);
        self.globals.push(globals);
        self.index.insert(key, index);
        Ok(index)
    }

    /// Returns the model variables that a routine uses in addition to its arguments.
    pub fn globals(&self, routine: u32) -> &[Global] {
        &self.globals[routine as usize]
    }

    /// Returns the components of a result.
    fn outputs(
        &self,
        interpreter: &mut Interpreter,
        unit: &ProgramUnit,
        (name, dummy): (&str, &str),
        at: Location,
        (components, is_array): (i64, bool),
    ) -> Result<Vec<ValueId>> {
        let mut outputs = Vec::new();
        for i in 0..components {
            let value = interpreter.get((at.0, i)).cloned();
            if value.is_none()
                && self.momentum_may_be_unset
                && is_array
                && i < i64::from(self.layout().momentum())
            {
                outputs.push(interpreter.builder.real(0.0));
                continue;
            }
            let value = value.ok_or_else(|| {
                unit.error(format!(
                    "{name} does not set component {} of {dummy}",
                    i + 1
                ))
            })?;
            let (value, _) = value
                .number(&mut interpreter.builder)
                .map_err(|what| unit.error(what))?;
            outputs.push(value);
        }
        Ok(outputs)
    }

    fn read(
        &self,
        name: &str,
        signature: &Signature,
        sizes: &[u32],
    ) -> Result<(Routine, Vec<Global>)> {
        let Signature { roles, unit, body } = signature;
        let count = |role| roles.iter().filter(|&&r| r == role).count() as u32;
        let couplings = count(Role::Coupling);
        let massive = count(Role::Mass) > 0;
        let mut routine = Routine {
            name: name.to_owned(),
            inputs: sizes.to_vec(),
            couplings,
            massive,
            program: Default::default(),
            outputs: Vec::new(),
        };
        let builder = Builder::new(routine.program_inputs());
        let mut interpreter = Interpreter::new(self.library, builder);
        let mut frame = interpreter.frame_of(unit);
        let (mut wavefunction, mut coupling) = (0, 0);
        let mut result = None;
        let mut given = Vec::new();
        for (role, dummy) in roles.iter().zip(&unit.arguments) {
            let at = interpreter.bind_new(&mut frame, dummy);
            match role {
                Role::Wavefunction => {
                    let builder = &mut interpreter.builder;
                    let input = |component| {
                        builder.input(routine.wavefunction_input(wavefunction, component))
                    };
                    let inputs: Vec<ValueId> = (0..sizes[wavefunction]).map(input).collect();
                    let theirs = self.layout().of_helas(builder, &inputs);
                    for (component, value) in (0..).zip(theirs) {
                        interpreter.set((at.0, component), FortranValue::Complex(value));
                    }
                    wavefunction += 1;
                }
                Role::Coupling => {
                    let value = interpreter.builder.input(routine.coupling_input(coupling));
                    interpreter.set(at, FortranValue::Complex(value));
                    coupling += 1;
                }
                Role::Mass | Role::Width => {
                    let offset = u32::from(*role == Role::Width);
                    let value = interpreter.builder.input(routine.mass_input() + offset);
                    interpreter.set(at, FortranValue::Real(value));
                }
                Role::Result => result = Some((dummy, at)),
            }
            if *role != Role::Result {
                given.push((dummy, at, interpreter.contents(at)));
            }
        }
        interpreter.declare_in(&mut frame, unit, body)?;
        if interpreter.declared(&frame, "BWCUTOFF").is_some() {
            let value = FortranValue::Real(interpreter.builder.real(self.bw_cutoff));
            interpreter.set_name(&mut frame, "BWCUTOFF", value);
        }
        interpreter.globals = Some(Vec::new());
        interpreter.plain_powers = true;
        interpreter.run(&mut frame, body)?;
        let globals = interpreter.globals.take().unwrap_or_default();
        // A routine must be a pure function: its arguments may not change.
        for (dummy, at, before) in given {
            if interpreter.contents(at) != before {
                return Err(unit.error(format!("{name} changes its argument {dummy}")));
            }
        }
        let Some((dummy, at)) = result else {
            return Err(unit.error(format!("{name} has no result")));
        };
        let components = components(&interpreter, unit, &frame, (name, dummy), at)?;
        let is_array = interpreter.declared(&frame, dummy).is_some_and(|d| d.1);
        let outputs = self.outputs(
            &mut interpreter,
            unit,
            (name, dummy),
            at,
            (components, is_array),
        )?;
        let outputs = self.layout().in_helas(&mut interpreter.builder, &outputs);
        let (program, ids) = interpreter.builder.finish().pruned(&outputs);
        routine.program = program;
        // The roots are part of the pruned program.
        routine.outputs = outputs.iter().filter_map(|&v| ids[v as usize]).collect();
        // The model variables follow all inputs; moves them between the couplings and mass and width.
        let (before, mass, more) = (
            routine.program_inputs(),
            routine.mass_input(),
            globals.len() as u32,
        );
        for op in &mut routine.program.ops {
            if let Op::Input(n) = op {
                *n = match *n {
                    n if n >= before => mass + (n - before),
                    n if n >= mass => n + more,
                    n => n,
                };
            }
        }
        routine.couplings += more;
        Ok((routine, globals))
    }
}

/// Returns the number of components of a result.
fn components(
    interpreter: &Interpreter,
    unit: &ProgramUnit,
    frame: &UnitFrame,
    (name, dummy): (&str, &str),
    at: Location,
) -> Result<i64> {
    let is_array = interpreter.declared(frame, dummy).is_some_and(|d| d.1);
    Ok(match interpreter.size_of(frame, dummy) {
        _ if !is_array => 1,
        Some(size) if size <= MAX_COMPONENTS => size as i64,
        Some(size) => {
            return Err(unit.error(format!("{name} gives {size} components")));
        }
        // `V(*)`: the components that were set.
        None => (0..MAX_COMPONENTS as i64)
            .take_while(|&i| interpreter.get((at.0, i)).is_some())
            .count() as i64,
    })
}

fn roles(unit: &ProgramUnit, interpreter: &Interpreter, frame: &UnitFrame) -> Result<Vec<Role>> {
    let mut roles = Vec::new();
    let mut reals = 0;
    for (i, dummy) in unit.arguments.iter().enumerate() {
        let declared = interpreter.declared(frame, dummy);
        let (ty, array) = declared.unwrap_or((interpreter.type_of(frame, dummy), false));
        let last = i + 1 == unit.arguments.len();
        roles.push(match (ty, array) {
            (Type::Complex, _) if last => Role::Result,
            (Type::Complex, true) => Role::Wavefunction,
            (Type::Complex, false) => Role::Coupling,
            (Type::Real, false) => {
                reals += 1;
                match reals {
                    1 => Role::Mass,
                    _ => Role::Width,
                }
            }
            _ => {
                return Err(unit.error(format!(
                    "{}: the argument {dummy} is neither a wavefunction nor a coupling, a mass \
                     or a width",
                    unit.name
                )));
            }
        });
    }
    if roles.last() != Some(&Role::Result) {
        return Err(unit.error(format!("{} has no complex result", unit.name)));
    }
    if reals != 0 && reals != 2 {
        return Err(unit.error(format!(
            "{} has {reals} real arguments; mass and width were expected",
            unit.name
        )));
    }
    Ok(roles)
}

/// Returns the error for a routine that is called but not defined.
pub fn missing(name: &str) -> String {
    match name {
        "PXXXXX" => "pseudo-particles of spin 2 (PXXXXX) are not supported".into(),
        _ => {
            "no file in Source/DHELAS has a subroutine of that name; is the output complete? If it cannot touch the answer (a \
             timer, a print), name it in CUDACPP_RUNTIME_HARMLESSCALLS"
                .into()
        }
    }
}
