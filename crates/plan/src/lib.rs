//! From a process to a plan: which operations a backend runs, on what, in which order.
//!
//! A plan is made for one process, one parameter card and one list of helicities. It recycles
//! helicities: a wavefunction depends only on the helicities of the legs below it, and is
//! computed once for each combination of those. Everything that does not depend on helicity
//! (momenta of the lines, propagators, couplings) is computed once an event.
//!
//! Memory is an array of vectors as described in [`mebridge_ops`]. For a block of events a backend fills in
//! [`Plan::constants`] (once), couplings, momenta, propagators and factors, then the external wavefunctions, then runs
//! the batches of [`Operations::currents`] in order. After that, for each helicity, it runs [`Operations::amplitudes`]
//! with that helicity's table, and [`Operations::jamp`]. A process without diagrams has [`Plan::loops`] in place of
//! these. A plan for a CPU may compute currents in between ([`Operations::tiles`]).

pub mod binding;
pub mod color;
pub mod color_ordered;
mod compile;
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

pub use compile::{compile, compile_for};
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

/// How to evaluate a process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Vectors of memory that one block of events takes.
    pub vectors: u32,
    /// Masses of the external legs, in order.
    pub masses: Vec<f64>,
    /// Address of the momenta of the external legs, as the events give them, leg after leg.
    pub leg_momenta: Address,
    /// Real constants (masses and widths of inner lines), the same for all events.
    pub constants: Vec<(Address, f64)>,
    /// Where each coupling of the model goes.
    pub couplings: Vec<Address>,
    /// Sums of external momenta.
    pub momenta: Vec<MomentumSum>,
    /// Squares of momenta of legs.
    pub squares: Vec<MomentumSquare>,
    /// Products of momenta of two legs.
    pub products: Vec<MomentumProduct>,
    /// Propagators `1 / (p^2 - m (m - i width))`.
    pub propagators: Vec<Propagator>,
    /// Coupling times propagator.
    pub factors: Vec<Factor>,
    /// External wavefunctions.
    pub externals: Vec<External>,
    /// Good helicities, as indices into the process's table, in its order.
    pub helicities: Vec<u32>,
    /// Address of the first JAMP; the others follow.
    pub jamp_base: Address,
    /// Number of colour flows.
    pub flows: usize,
    /// What is run behind all that.
    pub body: Body,
    /// How much work there is.
    pub count: Count,
}

/// What a plan runs once external wavefunctions are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// Operations on single wavefunctions, of diagrams or of a recursion over them.
    Operations(Operations),
    /// Operations on arrays, of a colour-ordered form.
    Loops(Loops),
}

impl Default for Body {
    fn default() -> Body {
        Body::Operations(Operations::default())
    }
}

/// Operations on single wavefunctions, and what they are for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    /// Off-shell wavefunctions.
    pub currents: Vec<Batch>,
    /// The amplitudes of one helicity; the addresses of their inputs are numbers of
    /// wavefunctions, to be looked up in the helicity's table.
    pub amplitudes: Vec<Batch>,
    /// For each good helicity the address of each wavefunction.
    pub tables: Vec<Vec<Address>>,
    /// The good helicities (indices into `tables`) in the order in which they are evaluated, in
    /// groups of one or two. The two of a group differ only in the first wavefunction of each
    /// [`Opcode::Dots`](mebridge_ops::Opcode::Dots), and all amplitudes are of that kind.
    pub groups: Vec<Vec<u32>>,
    /// Currents that are computed between groups, by ascending groups.
    pub tiles: Vec<Tile>,
    /// Vectors from where the first helicity of a group has its amplitudes and JAMP to where the
    /// second has them.
    pub pair_stride: u32,
    /// From amplitudes to JAMP.
    pub jamp: Sums,
    /// Squared single diagrams.
    pub channels: ChannelPlan,
    /// Lorentz structures that no kernel knows, by the index in [`Opcode::General`](mebridge_ops::Opcode::General).
    pub general: Vec<GeneralRoutine>,
}

/// Those of a plan that has none.
static NO_OPERATIONS: Operations = Operations {
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
        denominator: Vec::new(),
        amp2_of_diagram: Vec::new(),
    },
    general: Vec::new(),
};

impl Plan {
    /// The operations on single wavefunctions: of a plan of loops none.
    #[inline]
    pub fn operations(&self) -> &Operations {
        match &self.body {
            Body::Operations(operations) => operations,
            Body::Loops(_) => &NO_OPERATIONS,
        }
    }

    /// The same, to be changed, unless it is a plan of loops.
    pub fn operations_mut(&mut self) -> Option<&mut Operations> {
        match &mut self.body {
            Body::Operations(operations) => Some(operations),
            Body::Loops(_) => None,
        }
    }

    /// The loops, of a plan that is made of them.
    #[inline]
    pub fn loops(&self) -> Option<&Loops> {
        match &self.body {
            Body::Operations(_) => None,
            Body::Loops(loops) => Some(loops),
        }
    }

    /// Squared single diagrams: of a plan of loops none.
    #[inline]
    pub fn channels(&self) -> &ChannelPlan {
        &self.operations().channels
    }

    /// The good helicities (indices into [`Plan::helicities`]) in the order in which they are evaluated, in groups of
    /// one or two; those of loops one by one.
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
    /// Where its four components go.
    pub address: Address,
    /// For each leg how often it is added; below zero, subtracted.
    pub signs: Vec<i8>,
}

/// The square of the momentum of a leg: that of its mass, unless the event says another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentumSquare {
    /// Where it goes (real).
    pub address: Address,
    /// The leg.
    pub leg: u32,
}

/// The product of the momenta of two legs. From their directions it has all digits where they are nearly collinear or
/// one is soft, and a sum of momenta, squared, has none. It is left as a fraction, so that a line of two legs takes one
/// division.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MomentumProduct {
    /// Where numerator and denominator go (two reals).
    pub address: Address,
    /// The legs.
    pub legs: [u32; 2],
    /// Addresses of their squares.
    pub squares: [Address; 2],
}

/// `p^2 - m^2` of a line without a width, which may vanish: `-m^2`, squares and products of momenta.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Virtuality {
    /// How large the squares of the masses of line and legs are, which are rounded; zero where they cancel altogether.
    pub size: f64,
    /// Addresses of squares.
    pub squares: Vec<Address>,
    /// Addresses of products, and how often they are added: 2 or -2.
    pub terms: Vec<(Address, f64)>,
}

impl Virtuality {
    /// Addresses of squares and products, and how many numbers each has.
    fn addresses(&self) -> impl Iterator<Item = (Address, u32)> {
        let squares = self.squares.iter().map(|&square| (square, 1));
        squares.chain(self.terms.iter().map(|&(product, _)| (product, 2)))
    }
}

/// A propagator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Propagator {
    /// Where it goes (complex).
    pub address: Address,
    /// Address of its momentum.
    pub momentum: Address,
    /// Mass.
    pub mass: f64,
    /// Width.
    pub width: f64,
    /// Without a width.
    pub virtuality: Option<Virtuality>,
}

/// A linear combination of couplings, times a propagator where there is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Where it goes (complex).
    pub address: Address,
    /// Couplings, by index, with their coefficients.
    pub terms: Vec<(u32, Complex64)>,
    /// Address of the propagator.
    pub propagator: Option<Address>,
}

/// An external wavefunction for all helicities of its leg that occur.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct External {
    /// Which kind.
    pub kind: ExternalKind,
    /// The leg.
    pub leg: u32,
    /// Its mass.
    pub mass: f64,
    /// +1 or -1, see [`mebridge_process::External`].
    pub sign: i8,
    /// Helicities.
    pub helicities: Vec<i8>,
    /// Where the wavefunction of each helicity goes.
    pub results: Vec<Address>,
}

/// Currents that are computed right ahead of a group of helicities, behind the groups before it,
/// see [`tiling`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// The group, as an index into [`Operations::groups`].
    pub group: u32,
    /// The currents.
    pub currents: Vec<Batch>,
}

/// What multichannel weights and colour choices need. AMP2 come either from the amplitudes of each
/// helicity (`amp2`), or from operations of their own (`squares`, `totals`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChannelPlan {
    /// For each AMP2 the sets of amplitudes (addresses) that are added before squaring.
    pub amp2: Vec<Vec<Vec<Address>>>,
    /// Operations that compute AMP2, summed over helicities; run only if channels are asked for.
    pub squares: Vec<Batch>,
    /// For each AMP2 where these leave it.
    pub totals: Vec<Address>,
    /// For each configuration that this process has, the index of its AMP2: the sum over these
    /// is the denominator of the weight.
    pub denominator: Vec<u32>,
    /// For each diagram the index of its AMP2, if it has one.
    pub amp2_of_diagram: Vec<Option<u32>>,
}

impl ChannelPlan {
    /// Number of AMP2, 0 if the plan does not compute them.
    pub fn len(&self) -> usize {
        self.amp2.len().max(self.totals.len())
    }

    /// Diagrams (from 0) that have an AMP2 and a configuration, each with its AMP2: those that a sampler draws from.
    pub fn drawn(&self, channels: &Channels) -> Vec<(u32, u32)> {
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
