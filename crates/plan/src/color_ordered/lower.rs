//! Lowering of the colour-ordered form of a process to loops.

use super::lowering::{Lowering, Machine};
use super::{boson, gluons, quark};
use crate::Plan;
use crate::binding::Binding;
use crate::compiler::Compiler;
use mebridge_process::Process;
use mebridge_process::color_ordered::ColorOrdered;
use mebridge_support::error::Result;

/// Makes the plan of a process in its colour-ordered form, for the helicities with these indices.
pub fn compile(
    process: &Process,
    form: &ColorOrdered,
    binding: &Binding,
    helicities: &[u32],
    machine: Machine,
) -> Result<Plan> {
    let used = vec![true; process.wavefunctions.len()];
    let mut compiler = Compiler::new(process, binding, helicities, used);
    compiler.externals();
    let mut lowering = Lowering::new(compiler, form, machine)?;
    lowering.gluon_currents();
    match (lowering.line.clone(), lowering.chirality) {
        (Some(line), Some(chirality)) => {
            let boson = lowering.slashed_boson()?;
            lowering.weights = boson::weights(&mut lowering, chirality);
            boson::lower(&mut lowering, &line, chirality, boson);
        }
        (Some(line), None) => quark::lower(&mut lowering, &line),
        (None, _) => gluons::lower(&mut lowering),
    }
    Ok(lowering.finish(form))
}

/// Whether a process can be evaluated in its colour-ordered form.
pub fn can(process: &Process, binding: &Binding) -> bool {
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let Some(form) = process.amplitudes.color_ordered() else {
        return false;
    };
    let compiler = Compiler::new(process, binding, &all, Vec::new());
    Lowering::new(compiler, form, Machine::CORE).is_ok()
}
