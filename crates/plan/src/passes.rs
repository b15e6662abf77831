//! The passes of the plan compiler, in order.
//!
//! Each pass preserves the results and reduces the work (or memory, for the last two). Passes can be left out from the
//! end: tests use this to check that the results do not change, and `mebridge info --plan` to report what each pass
//! saves.

/// A pass of the plan compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// Every diagram for every helicity, in MG5aMC's form.
    List,
    /// A wavefunction depends only on the helicities of its own legs, and is computed once for each combination of them
    /// ([`super::compile()`]).
    Recycling,
    /// Amplitudes share partial vertices: products of all but one of the wavefunctions of a vertex (`partial`).
    PartialVertices,
    /// Sub-diagrams that always occur together are added first, which gives a recursion over sets of legs. From here on
    /// squared diagrams are computed from two halves ([`super::recursion`]).
    Recursion,
    /// The phases of currents are chosen such that sums of vertices share one factor
    /// ([`crate::recursion::berends_giele`]).
    Phases,
    /// Currents that are linear combinations of others are computed as such ([`crate::recursion::berends_giele`]).
    Basis,
    /// Currents of reversed helicities that are complex conjugates of others are computed by conjugation
    /// ([`super::recursion`]).
    Conjugates,
    /// Memory is reused after its last read ([`super::memory_reuse`]).
    MemoryReuse,
    /// What only CPUs do: currents are computed just before the helicities that need them, if the plan does not fit into
    /// L2 ([`super::tiling`]); in a recursion components of massless spinors that vanish are skipped
    /// ([`Mode::HALF`](mebridge_ops::opcode::Mode::HALF)).
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

    /// Whether plans after this pass are for CPUs alone.
    pub fn is_for_cpus(self) -> bool {
        self >= Pass::Tiling
    }

    /// A short description of the pass.
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
