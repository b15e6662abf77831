//! Plans of whole processes.

use super::amplitudes::used;
use super::binding::Binding;
use super::compiler::Compiler;
use super::passes::Pass;
use super::{Count, Plan, color_ordered, memory_reuse, recursion};
use mebridge_process::{Amplitudes, Process};
use mebridge_support::error::Result;

/// Makes the plan of a process for the helicities with these indices. The plan is suitable for any core.
pub fn compile(process: &Process, binding: &Binding, helicities: &[u32]) -> Result<Plan> {
    compile_until(Pass::MemoryReuse, process, binding, helicities)
}

/// Makes a plan for a machine, which determines over how many helicities loops run at once.
pub fn compile_for(
    machine: color_ordered::Machine,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
) -> Result<Plan> {
    match &process.amplitudes {
        Amplitudes::Diagrams(_) => compile(process, binding, helicities),
        Amplitudes::ColorOrdered(form) => {
            color_ordered::compile(process, form, binding, helicities, machine)
        }
    }
}

/// Makes a plan without the passes after `last` (of those that are not part of the recursion).
pub(super) fn compile_until(
    last: Pass,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
) -> Result<Plan> {
    let diagrams = match &process.amplitudes {
        Amplitudes::Diagrams(diagrams) => diagrams,
        Amplitudes::ColorOrdered(form) => {
            let machine = color_ordered::Machine::CORE;
            return color_ordered::compile(process, form, binding, helicities, machine);
        }
    };
    let mut compiler = Compiler::new(
        process,
        binding,
        helicities,
        used(process, &diagrams.amplitudes),
    );
    compiler.last = last;
    compiler.externals();
    compiler.currents()?;
    compiler.amplitudes(diagrams)?;
    let mut plan = compiler.into_plan();
    if last >= Pass::MemoryReuse {
        memory_reuse::reuse(&mut plan);
    }
    plan.count = Count::new(&plan);
    Ok(plan)
}

/// Makes the plan after this pass, with all passes before it. `None` for passes of the recursion if the process does
/// not have one.
pub fn plan_after(
    pass: Pass,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
) -> Result<Option<Plan>> {
    if pass < Pass::Recursion {
        compile_until(pass, process, binding, helicities).map(Some)
    } else {
        Ok(recursion::compile_until(pass, process, binding, helicities))
    }
}
