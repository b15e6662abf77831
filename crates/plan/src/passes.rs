//! The passes of the plan compiler, one after the other.
//!
//! Each pass leaves the answer as it is and makes less work of it (or memory, for the last two).
//! They can be left out from the end, which is how their tests see that the answer does not move, and
//! how `mebridge info --plan` tells what each one saves.

use super::binding::Binding;
use super::{Plan, compile, recursion};
use mebridge_process::Process;
use mebridge_support::error::Result;

/// A pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// Every diagram for every helicity, as MG5aMC lists them.
    List,
    /// A wavefunction depends on the helicities of the legs below it alone, and is computed once
    /// for each combination of those ([`super::compile()`]).
    Recycling,
    /// Amplitudes share partial vertices: products of all but one of the wavefunctions of a vertex (`partial`).
    PartialVertices,
    /// Sub-diagrams that always occur together are added before they go on: a recursion over sets
    /// of legs. From here on squared diagrams come from their two halves ([`super::recursion`]).
    Recursion,
    /// Currents get such phases that sums of vertices share one factor
    /// ([`recursion::berends_giele`]).
    Phases,
    /// Currents that are sums of others are computed as such ([`recursion::berends_giele`]).
    Basis,
    /// Currents of reversed helicities that are complex conjugates are not computed
    /// ([`super::recursion`]).
    Conjugates,
    /// Memory is reused when nothing reads it again ([`super::memory_reuse`]).
    MemoryReuse,
    /// Currents are computed right ahead of the helicities that need them, if the plan does not fit
    /// into L2 ([`super::tiling`]). Only for CPUs.
    Tiling,
}

impl Pass {
    /// All passes in order.
    pub const ALL: [Pass; 9] = [
        Pass::List,
        Pass::Recycling,
        Pass::PartialVertices,
        Pass::Recursion,
        Pass::Phases,
        Pass::Basis,
        Pass::Conjugates,
        Pass::MemoryReuse,
        Pass::Tiling,
    ];

    /// What it does, in a few words.
    pub fn what(self) -> &'static str {
        match self {
            Pass::List => "diagrams as listed",
            Pass::Recycling => "helicities recycled",
            Pass::PartialVertices => "partial vertices shared",
            Pass::Recursion => "recursion",
            Pass::Phases => "one factor for each sum",
            Pass::Basis => "dependent currents as sums",
            Pass::Conjugates => "conjugates of currents",
            Pass::MemoryReuse => "memory used again",
            Pass::Tiling => "currents computed in tiles",
        }
    }
}

/// The plan after this pass, with all passes before it. `None` from the recursion on for a process
/// that has none.
pub fn plan_after(
    pass: Pass,
    process: &Process,
    binding: &Binding,
    helicities: &[u32],
) -> Result<Option<Plan>> {
    if pass < Pass::Recursion {
        compile::compile_until(pass, process, binding, helicities).map(Some)
    } else {
        Ok(recursion::compile_until(pass, process, binding, helicities))
    }
}
