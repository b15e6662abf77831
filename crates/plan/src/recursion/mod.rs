//! Conversion of a list of diagrams to a recursion.
//!
//! A plan made here computes the colour flows without the amplitudes of single diagrams; the squares of these, which
//! channel weights need, are computed separately ([`squares`]). All diagrams are rooted at one external fermion, or a
//! scalar or vector if there are none ([`diagrams`]); sums of trees that always occur together become currents (`columns`,
//! [`berends_giele`]); and the currents become operations (`lower`). If a process has vertices whose legs cannot be
//! exchanged, or sums that do not factor, there is no such plan, and the list of diagrams is evaluated directly.

mod basis;
pub mod berends_giele;
mod columns;
pub mod diagrams;
mod lower;
mod parity;
mod root;
mod scalar_lines;
pub mod squares;
mod vertices;

use super::amplitudes::{squared, used};
use super::binding::Binding;
use super::compiler::Compiler;
use super::passes::Pass;
use super::{Count, Plan, memory_reuse, tiling};
use berends_giele::BerendsGiele;
use diagrams::Forest;
use mebridge_ops::recognize::{Recognized, recognize};
use mebridge_process::{ExternalKind, Process, Vertex, Wavefunction};
use rustc_hash::FxHashMap as HashMap;
use squares::Amp2Cuts;

/// Makes a recursive plan without tiles, as used on GPUs, if the process has one.
pub fn compile(process: &Process, binding: &Binding, helicities: &[u32]) -> Option<Plan> {
    compile_until(Pass::MemoryReuse, process, binding, helicities)
}

/// Makes a recursive plan without the passes after `last`.
pub fn compile_until(
    last: Pass,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
) -> Option<Plan> {
    make(last, process, binding, helicities, false)
}

/// Makes a recursive plan that separates helicities: AMP2 are computed from the amplitudes of single diagrams in
/// addition to the recursion.
pub fn compile_each(process: &Process, binding: &Binding, helicities: &[u32]) -> Option<Plan> {
    make(Pass::Tiling, process, binding, helicities, true)
}

fn make(
    last: Pass,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
    each: bool,
) -> Option<Plan> {
    let listed = process.amplitudes.diagrams()?;
    let mut known: HashMap<(u32, bool), Option<Recognized>> = HashMap::default();
    let mut recognize = |vertex: &Vertex| {
        let massless = binding.value(vertex.mass) == 0.0;
        let routine = &process.routines[vertex.routine as usize];
        known
            .entry((vertex.routine, massless))
            .or_insert_with(|| recognize(routine, massless))
            .clone()
    };
    // Vertices with spin 3/2 or 2 are not supported.
    let large =
        |w: &Wavefunction| matches!(w, Wavefunction::External(e) if e.kind.components() > 6);
    if process.wavefunctions.iter().any(large) {
        return None;
    }
    // Chooses the root that gives the fewest trees.
    let mut best: Option<Forest> = None;
    for w in roots(process) {
        let forest = Forest::grow(process, listed, w, &mut recognize)?;
        if best
            .as_ref()
            .is_none_or(|best| forest.trees.len() < best.trees.len())
        {
            best = Some(forest);
        }
    }
    let mut forest = best?;
    let recursion = BerendsGiele::find(&forest, &listed.jamp, last)?;
    let mut used = match each {
        true => used(
            process,
            squared(process).map(|i| &listed.amplitudes[i as usize]),
        ),
        false => vec![false; process.wavefunctions.len()],
    };
    for (used, wavefunction) in used.iter_mut().zip(&process.wavefunctions) {
        *used |= matches!(wavefunction, Wavefunction::External(_));
    }
    let mut compiler = Compiler::new(process, binding, helicities, used);
    compiler.last = last;
    compiler.externals();
    let nodes = lower::lower(&mut compiler, &forest, &recursion)?;
    if each {
        compiler.squared_amplitudes(listed).ok()?;
    } else if let Some(squares) = Amp2Cuts::find(process, helicities, &mut forest) {
        squares.lower(&mut compiler, &forest, &recursion, &nodes)?;
    }
    let mut plan = compiler.into_plan();
    if last >= Pass::Tiling {
        tiling::reuse(&mut plan, &process.helicities);
    } else if last >= Pass::MemoryReuse {
        memory_reuse::reuse(&mut plan);
    }
    plan.count = Count::new(&plan);
    Some(plan)
}

/// The external wavefunctions that can be the root: fermions, or scalars if there are none, or a vector if there are only
/// vectors and one JAMP (more of them have few currents in common at a vector).
fn roots(process: &Process) -> Vec<u32> {
    let of_kind = |kinds: &[ExternalKind]| -> Vec<u32> {
        let all = (0..).zip(&process.wavefunctions);
        let fits =
            all.filter(|(_, w)| matches!(w, Wavefunction::External(e) if kinds.contains(&e.kind)));
        fits.map(|(w, _)| w).collect()
    };
    let fermions = of_kind(&[ExternalKind::FermionIn, ExternalKind::FermionOut]);
    if !fermions.is_empty() {
        return fermions;
    }
    let scalars = of_kind(&[ExternalKind::Scalar]);
    if !scalars.is_empty() {
        return scalars;
    }
    match process.amplitudes.jamps() {
        1 => of_kind(&[ExternalKind::Vector]),
        _ => Vec::new(),
    }
}
