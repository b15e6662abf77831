//! Conversion of a list of diagrams to a recursion.
//!
//! A plan made here computes the colour flows without the amplitudes of single diagrams; the squares of these, which
//! channel weights need, are computed separately ([`squares`]). With two fermion lines each diagram is cut in two at a line
//! between them ([`diagrams::DiagramCut`]), so that no current has nearly all legs. Otherwise all diagrams are
//! rooted at one external fermion, or a scalar or vector if there are none ([`diagrams`]). Sums of trees that always occur
//! together become currents (`columns`, [`berends_giele`]), and the currents become operations (`lower`). If a process
//! has vertices whose legs cannot be exchanged, or sums that do not factor, there is no such plan, and the list of
//! diagrams is evaluated directly.
//!
//! Vertices may depend on the chirality of massless fermions, which follows from their helicities: each helicity of a
//! current has its own factor.

mod basis;
pub mod berends_giele;
mod columns;
pub mod diagrams;
mod lower;
mod merged;
mod parity;
mod root;
mod scalar_lines;
pub mod squares;
mod vertices;

use super::amplitudes::{squared, used};
use super::binding::Binding;
use super::compiler::Compiler;
use super::passes::Pass;
use super::{Count, Plan, RecursionKind, memory_reuse, tiling};
use berends_giele::BerendsGiele;
use diagrams::{DiagramCut, Forest, Interaction};
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
    let mut grow = |at| Forest::grow(process, binding, listed, at, &mut recognize);
    let plan = |mut forest: Forest| {
        let recursion = BerendsGiele::find(&forest, &listed.jamp, last)?;
        lowered(
            last,
            process,
            binding,
            helicities,
            each,
            &mut forest,
            &recursion,
        )
    };
    let plans = cuts(process)
        .into_iter()
        .filter_map(|cut| grow((cut.from, Some(cut))).and_then(plan));
    if let Some(best) = plans.min_by_key(|plan| plan.count.cost()) {
        return Some(best);
    }
    // Chooses the root that gives the fewest trees.
    let forests = roots(process).into_iter().filter_map(|w| grow((w, None)));
    plan(forests.min_by_key(|forest| forest.trees.len())?)
}

/// The size of the parts of a diagram after which it is not cut, see [`DiagramCut`]: smaller and larger ones cost more
/// work in processes of two quark lines with up to three gluons, or with a boson and two.
const SMALL: u32 = 3;

/// The places where the diagrams of a process with several fermion lines may be cut.
fn cuts(process: &Process) -> Vec<DiagramCut> {
    let fermions = of_kinds(process, &FERMIONS);
    match fermions[..] {
        [from, ref others @ ..] if others.len() >= 3 => {
            let cut = |&to| DiagramCut {
                from,
                to,
                size: SMALL,
            };
            others.iter().map(cut).collect()
        }
        _ => Vec::new(),
    }
}

/// Makes the plan of a recursion.
fn lowered(
    last: Pass,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
    each: bool,
    forest: &mut Forest,
    recursion: &BerendsGiele,
) -> Option<Plan> {
    let listed = process.amplitudes.diagrams()?;
    let is_chiral = forest.interactions.iter().any(Interaction::is_chiral);
    // If helicities differ from lane to lane, so do chiralities.
    if each && is_chiral {
        return None;
    }
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
    // Only kernels of CPUs use that half of the components vanish, and not if helicities differ from lane to lane.
    compiler.half_spinors = last.is_for_cpus() && !each;
    compiler.externals();
    let nodes = lower::lower(&mut compiler, forest, recursion)?;
    if each {
        compiler.squared_amplitudes(listed).ok()?;
    } else if let Some(squares) = Amp2Cuts::find(&compiler, forest) {
        squares.lower(&mut compiler, recursion, &nodes)?;
    }
    compiler.operations.recursion = Some(RecursionKind {
        cut: forest.cut.is_some(),
        chiral: is_chiral,
    });
    let mut plan = compiler.into_plan();
    if last.is_for_cpus() {
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
    let fermions = of_kinds(process, &FERMIONS);
    if !fermions.is_empty() {
        return fermions;
    }
    let scalars = of_kinds(process, &[ExternalKind::Scalar]);
    if !scalars.is_empty() {
        return scalars;
    }
    match process.amplitudes.jamps() {
        1 => of_kinds(process, &[ExternalKind::Vector]),
        _ => Vec::new(),
    }
}

const FERMIONS: [ExternalKind; 2] = [ExternalKind::FermionIn, ExternalKind::FermionOut];

/// The external wavefunctions of these kinds.
fn of_kinds(process: &Process, kinds: &[ExternalKind]) -> Vec<u32> {
    let all = (0..).zip(&process.wavefunctions);
    let fits =
        all.filter(|(_, w)| matches!(w, Wavefunction::External(e) if kinds.contains(&e.kind)));
    fits.map(|(w, _)| w).collect()
}
