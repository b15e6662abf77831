//! Compilation of a process to a plan: the operations that a backend executes, their operands and order.
//!
//! A plan is made for one process, one parameter card and one list of helicities. It recycles helicities: a
//! wavefunction depends only on the helicities of its own legs, and is computed once for each combination of them.
//! Everything that does not depend on helicity (momenta of the lines, propagators, couplings) is computed once per
//! event.
//!
//! Memory is an array of vectors as described in [`mebridge_ops`]. For a block of events a backend fills in
//! [`Plan::constants`] (once), couplings, momenta, propagators and factors, then the external wavefunctions, then
//! executes the batches of [`Operations::currents`] in order. After that, for each helicity, it executes
//! [`Operations::amplitudes`] with that helicity's table, and [`Operations::jamp`]. A process without diagrams has
//! [`Plan::loops`] instead. A plan for a CPU may compute some currents in between ([`Operations::tiles`]).

mod amplitudes;
pub mod binding;
pub mod color;
pub mod color_ordered;
mod compile;
mod compiler;
pub mod count;
mod data_flow;
pub mod memory_reuse;
mod partial;
pub mod passes;
pub mod print;
pub mod recursion;
mod series;
pub mod sums;
pub mod tiling;
mod validate;

pub use compile::{compile, compile_for, plan_after};
pub use count::Count;
pub use validate::ValidPlan;

use color_ordered::Loops;
use mebridge_ops::{Address, Batch, GeneralRoutine};
use mebridge_process::ExternalKind;
use mebridge_process::channels::Channels;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use sums::Sums;

/// The operations that evaluate a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Number of vectors of memory per block of events.
    pub vectors: u32,
    /// Masses of the external legs, in order.
    pub masses: Vec<f64>,
    /// Address of the momenta of the external legs as given by the events, one leg after the other.
    pub leg_momenta: Address,
    /// Real constants (masses and widths of internal lines), the same for all events.
    pub constants: Vec<(Address, f64)>,
    /// Address of each coupling of the model.
    pub couplings: Vec<Address>,
    /// Sums of external momenta.
    pub momenta: Vec<MomentumSum>,
    /// Squares of the momenta of legs.
    pub squares: Vec<MomentumSquare>,
    /// Products of the momenta of two legs.
    pub products: Vec<MomentumProduct>,
    /// Propagators `1 / (p^2 - m (m - i width))`.
    pub propagators: Vec<Propagator>,
    /// Coupling times propagator.
    pub factors: Vec<Factor>,
    /// External wavefunctions.
    pub externals: Vec<External>,
    /// Good helicities, as indices into the process's table, in ascending order.
    pub helicities: Vec<u32>,
    /// Address of the first JAMP; the others follow.
    pub jamp_base: Address,
    /// Number of colour flows.
    pub flows: usize,
    /// The operations that follow the external wavefunctions.
    pub body: Body,
    /// Operation counts.
    pub count: Count,
}

/// The operations that a plan executes after the external wavefunctions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// Operations on single wavefunctions, of diagrams or of a recursion.
    Operations(Operations),
    /// Operations on arrays, for a colour-ordered form.
    Loops(Loops),
}

impl Default for Body {
    fn default() -> Body {
        Body::Operations(Operations::default())
    }
}

/// Operations on single wavefunctions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    /// Off-shell wavefunctions.
    pub currents: Vec<Batch>,
    /// The amplitudes of one helicity; their inputs are indices of wavefunctions, to be looked up in the helicity's
    /// table.
    pub amplitudes: Vec<Batch>,
    /// What kind of recursion this is; `None` for a list of diagrams.
    pub recursion: Option<RecursionKind>,
    /// For each good helicity, the addresses of all wavefunctions.
    pub tables: Vec<Vec<Address>>,
    /// The good helicities (indices into `tables`) in order of evaluation, in groups of one or two. The two helicities
    /// of a group differ only in the first wavefunction of each [`Opcode::Dots`](mebridge_ops::Opcode::Dots), and all
    /// amplitudes are of that kind.
    pub groups: Vec<Vec<u32>>,
    /// Currents that are computed between groups, in ascending order of groups.
    pub tiles: Vec<Tile>,
    /// Distance in vectors from the amplitudes and JAMPs of the first helicity of a group to those of the second.
    pub pair_stride: u32,
    /// The sums of amplitudes that give JAMPs.
    pub jamp: Sums,
    /// Squared single diagrams.
    pub channels: ChannelPlan,
    /// Lorentz structures without a kernel, by the index in [`Opcode::General`](mebridge_ops::Opcode::General).
    pub general: Vec<GeneralRoutine>,
}

/// The kind of a recursion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecursionKind {
    /// Whether each diagram is cut at an internal line, instead of rooted at an external one.
    pub cut: bool,
    /// Whether operations contain factors that depend on the chirality of massless fermions: the plan holds for no other
    /// helicities of these.
    pub chiral: bool,
}

/// The operations of a plan that has only loops.
static NO_OPERATIONS: Operations = Operations {
    recursion: None,
    currents: Vec::new(),
    amplitudes: Vec::new(),
    tables: Vec::new(),
    groups: Vec::new(),
    tiles: Vec::new(),
    pair_stride: 0,
    jamp: Sums {
        sums: Vec::new(),
        units: Vec::new(),
        terms: Vec::new(),
    },
    channels: ChannelPlan {
        amp2: Vec::new(),
        squares: Vec::new(),
        totals: Vec::new(),
        without_squares: QuantityCounts {
            momenta: 0,
            propagators: 0,
            factors: 0,
        },
        denominator: Vec::new(),
        amp2_of_diagram: Vec::new(),
    },
    general: Vec::new(),
};

impl Plan {
    /// The operations on single wavefunctions; empty for a plan of loops.
    #[inline]
    pub fn operations(&self) -> &Operations {
        match &self.body {
            Body::Operations(operations) => operations,
            Body::Loops(_) => &NO_OPERATIONS,
        }
    }

    /// Mutable access to the operations; `None` for a plan of loops.
    pub fn operations_mut(&mut self) -> Option<&mut Operations> {
        match &mut self.body {
            Body::Operations(operations) => Some(operations),
            Body::Loops(_) => None,
        }
    }

    /// The loops; `None` for a plan of operations on single wavefunctions.
    #[inline]
    pub fn loops(&self) -> Option<&Loops> {
        match &self.body {
            Body::Operations(_) => None,
            Body::Loops(loops) => Some(loops),
        }
    }

    /// Squared single diagrams; empty for a plan of loops.
    #[inline]
    pub fn channels(&self) -> &ChannelPlan {
        &self.operations().channels
    }

    /// All momenta, propagators and factors.
    pub fn quantities(&self) -> QuantityCounts {
        QuantityCounts {
            momenta: self.momenta.len(),
            propagators: self.propagators.len(),
            factors: self.factors.len(),
        }
    }

    /// The momenta, propagators and factors that calls without squared diagrams need.
    pub fn quantities_without_squares(&self) -> QuantityCounts {
        match self.channels().squares.is_empty() {
            true => self.quantities(),
            false => self.channels().without_squares,
        }
    }

    /// The good helicities (indices into [`Plan::helicities`]) in order of evaluation, in groups of one or two. For
    /// loops, every group has one helicity.
    pub fn groups(&self) -> Cow<'_, [Vec<u32>]> {
        match &self.body {
            Body::Operations(operations) => Cow::Borrowed(&operations.groups),
            Body::Loops(loops) => Cow::Owned(loops.order().map(|h| vec![h]).collect()),
        }
    }
}

/// A sum of external momenta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentumSum {
    /// Address of the four components.
    pub address: Address,
    /// Factor of each leg: how often its momentum is added or, if negative, subtracted.
    pub signs: Vec<i8>,
}

/// The square of a leg's momentum: that of the mass, unless the event gives an off-shell momentum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentumSquare {
    /// Address of the result (real).
    pub address: Address,
    /// The leg.
    pub leg: u32,
}

/// The product of the momenta of two legs. Computed from their directions, it keeps all digits if they are nearly
/// collinear or one is soft, where the square of a sum of momenta keeps none. It is stored as a fraction, so that a
/// line of two legs needs one division only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentumProduct {
    /// Address of numerator and denominator (two reals).
    pub address: Address,
    /// The legs.
    pub legs: [u32; 2],
    /// Addresses of their squares.
    pub squares: [Address; 2],
}

/// `p^2 - m^2` of a line without a width, which may vanish, as a sum of `-m^2`, squares and products of momenta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Virtuality {
    /// Size of the squared masses of line and legs, which have rounding errors; zero if they cancel exactly.
    pub size: f64,
    /// Addresses of squares.
    pub squares: Vec<Address>,
    /// Addresses of products, with their coefficients: 2 or -2.
    pub terms: Vec<(Address, f64)>,
}

impl Virtuality {
    /// Addresses of squares and products, with the number of vectors of each.
    fn addresses(&self) -> impl Iterator<Item = (Address, u32)> {
        let squares = self.squares.iter().map(|&square| (square, 1));
        squares.chain(self.terms.iter().map(|&(product, _)| (product, 2)))
    }
}

/// A propagator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Propagator {
    /// Address of the result (complex).
    pub address: Address,
    /// Address of its momentum.
    pub momentum: Address,
    /// Mass.
    pub mass: f64,
    /// Width.
    pub width: f64,
    /// `p^2 - m^2`, if the line has no width.
    pub virtuality: Option<Virtuality>,
}

/// A linear combination of couplings, multiplied by a propagator if there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Address of the result (complex).
    pub address: Address,
    /// Indices of couplings, with their coefficients.
    pub terms: Vec<(u32, Complex64)>,
    /// Address of the propagator.
    pub propagator: Option<Address>,
}

/// An external wavefunction for all helicities of its leg that are needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct External {
    /// The kind of wavefunction.
    pub kind: ExternalKind,
    /// The leg.
    pub leg: u32,
    /// Its mass.
    pub mass: f64,
    /// +1 or -1, see [`mebridge_process::External`].
    pub sign: i8,
    /// Helicities.
    pub helicities: Vec<i8>,
    /// Address of the wavefunction for each helicity.
    pub results: Vec<Address>,
}

/// Currents that are computed just before a group of helicities, see [`tiling`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// The group, as an index into [`Operations::groups`].
    pub group: u32,
    /// The currents.
    pub currents: Vec<Batch>,
}

/// How many of the momenta, propagators and factors of a plan, from the first on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuantityCounts {
    /// Momenta.
    pub momenta: usize,
    /// Propagators.
    pub propagators: usize,
    /// Factors.
    pub factors: usize,
}

/// Data for multichannel weights and colour choices. AMP2 come either from the amplitudes of each helicity (`amp2`), or
/// from separate operations (`squares`, `totals`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelPlan {
    /// For each AMP2 the sets of amplitudes (addresses) that are added before squaring.
    pub amp2: Vec<Vec<Vec<Address>>>,
    /// Operations that compute AMP2, summed over helicities; executed only if channel weights are requested.
    pub squares: Vec<Batch>,
    /// Addresses of the AMP2 computed by `squares`.
    pub totals: Vec<Address>,
    /// The first momenta, propagators and factors of the plan, without those that only `squares` read.
    pub without_squares: QuantityCounts,
    /// For each configuration of this process, the index of its AMP2; their sum is the denominator of the channel
    /// weight.
    pub denominator: Vec<u32>,
    /// For each diagram the index of its AMP2, if it has one.
    pub amp2_of_diagram: Vec<Option<u32>>,
}

impl ChannelPlan {
    /// Number of AMP2, 0 if the plan does not compute them.
    pub fn len(&self) -> usize {
        self.amp2.len().max(self.totals.len())
    }

    /// Diagrams (from 0) that have an AMP2 and a configuration, each with the index of its AMP2: those from which a
    /// sampler draws.
    pub fn drawn_diagrams(&self, channels: &Channels) -> Vec<(u32, u32)> {
        let configs = channels.config_of_diagrams(self.amp2_of_diagram.len() as u32);
        let both = self.amp2_of_diagram.iter().zip(configs);
        let amp2 = |(diagram, (amp2, config)): (u32, (&Option<u32>, Option<u32>))| {
            config?;
            Some((diagram, (*amp2)?))
        };
        (0..).zip(both).filter_map(amp2).collect()
    }

    /// Whether the plan computes no AMP2.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
