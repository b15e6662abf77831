//! A process as data.
//!
//! A [`Process`] holds everything needed to evaluate one squared matrix element, and nothing that depends on how it is
//! evaluated: the external legs, the helicity table, the model's parameters and couplings as formulas, the Lorentz
//! structures as arithmetic, the wavefunctions and amplitudes of the diagrams, the map from amplitudes to colour flows,
//! the colour matrix and the channel tables. Helicities, diagrams, colour flows and configurations are in MG5aMC's
//! order; indices here count from 0, MG5aMC's from 1.
//!
//! Conventions are those of HELAS and ALOHA, as written by MG5aMC:
//! * metric (+,-,-,-), momenta `(E, px, py, pz)` in GeV, incoming ones with positive energy;
//! * a wavefunction is an array of complex numbers: the first two hold the momentum that flows along it, `(E + i pz, px
//!   + i py)`, the others its components;
//! * spinors in the chiral (Weyl) representation, left-handed components first;
//! * `|M|^2 = 1/IDEN * sum over helicities of JAMP^dagger CF JAMP / DENOM`.

pub mod arith;
pub mod born;
pub mod card;
mod card_values;
pub mod channels;
pub mod color;
pub mod color_ordered;
pub mod evaluate;
pub mod example;
pub mod export;
pub mod external;
pub mod file;
pub mod frames;
pub mod leading_color;
pub mod legs;
pub mod lorentz;
pub mod model;
pub mod phase_space;
mod prune;
pub mod running;
mod validate;
pub mod widths;

use channels::Channels;
use color::{ColorMatrix, FlowWeight};
use color_ordered::ColorOrdered;
use lorentz::Routine;
use model::Model;
use serde::{Deserialize, Serialize};

/// One squared matrix element as data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// MG5aMC's name of the process, such as `g g > t t~ g WEIGHTED<=3 @1`.
    pub name: String,
    /// Name of the model, such as `sm`; empty if unknown.
    pub model_name: String,
    /// The external legs in MG5aMC's order, incoming ones first.
    pub legs: Vec<Leg>,
    /// For each other set of particles with the same matrix element (`c c~` besides `u u~`), the PDG codes of the legs.
    pub other_flavours: Vec<Vec<i32>>,
    /// `NHEL`: one row of leg helicities per helicity configuration.
    pub helicities: Vec<Vec<i8>>,
    /// How the contributions of helicity configurations are added.
    pub helicity_sum: HelicitySum,
    /// Weight of each helicity configuration for polarised beams; empty for unpolarised ones. A configuration with
    /// weight 0 does not contribute to AMP2 and JAMP2 either.
    pub beam_weights: Vec<f64>,
    /// `IDEN`: the average over initial helicities and colours, times the identical-particle factor.
    pub iden: u32,
    /// Parameters and couplings.
    pub model: Model,
    /// The Lorentz structures that the vertices call.
    pub routines: Vec<Routine>,
    /// Wavefunctions; each refers only to earlier ones. MG5aMC's reuse of `W` is undone.
    pub wavefunctions: Vec<Wavefunction>,
    /// The computation of the JAMPs.
    pub amplitudes: Amplitudes,
    /// Number of diagrams that channels and configurations may refer to, whether or not the diagrams are listed.
    pub diagrams: u32,
    /// `JAMP2` of each colour flow; empty if each flow has one JAMP and the weight `|JAMP|^2`.
    pub flow_weights: Vec<FlowWeight>,
    /// `AMP2`, `CONFSUB` and `ICOLAMP`.
    pub channels: Channels,
    /// The generation of the Fortran contract that the directory was written for.
    pub contract: Contract,
}

/// The computation of a process's JAMPs from its external wavefunctions, and the colour matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Amplitudes {
    /// From diagrams.
    Diagrams(Diagrams),
    /// By recursion over colour orderings alone; all wavefunctions of the process are external.
    ColorOrdered(ColorOrdered),
}

/// Diagrams as MG5aMC lists them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagrams {
    /// `AMP`: the amplitudes, in MG5aMC's order.
    pub amplitudes: Vec<Vertex>,
    /// `JAMP`: from amplitudes to colour flows.
    pub jamp: LinearMap,
    /// `CF` and `DENOM`.
    pub color: ColorMatrix,
    /// The recursion that gives the colour flows without diagrams, if there is one.
    pub color_ordered: Option<ColorOrdered>,
}

impl Amplitudes {
    /// The diagrams, if any.
    pub fn diagrams(&self) -> Option<&Diagrams> {
        match self {
            Amplitudes::Diagrams(diagrams) => Some(diagrams),
            Amplitudes::ColorOrdered(_) => None,
        }
    }

    /// The same, mutable.
    pub fn diagrams_mut(&mut self) -> Option<&mut Diagrams> {
        match self {
            Amplitudes::Diagrams(diagrams) => Some(diagrams),
            Amplitudes::ColorOrdered(_) => None,
        }
    }

    /// The final vertex of each amplitude; empty without diagrams.
    pub fn vertices(&self) -> &[Vertex] {
        self.diagrams().map_or(&[], |diagrams| &diagrams.amplitudes)
    }

    /// The colour-ordered form, alone or beside diagrams.
    pub fn color_ordered(&self) -> Option<&ColorOrdered> {
        match self {
            Amplitudes::Diagrams(diagrams) => diagrams.color_ordered.as_ref(),
            Amplitudes::ColorOrdered(form) => Some(form),
        }
    }

    /// The same, mutable.
    pub fn color_ordered_mut(&mut self) -> Option<&mut ColorOrdered> {
        match self {
            Amplitudes::Diagrams(diagrams) => diagrams.color_ordered.as_mut(),
            Amplitudes::ColorOrdered(form) => Some(form),
        }
    }

    /// Number of JAMPs.
    pub fn jamps(&self) -> usize {
        match self {
            Amplitudes::Diagrams(diagrams) => diagrams.color.flows as usize,
            Amplitudes::ColorOrdered(form) => form.jamps(),
        }
    }

    /// `DENOM`: the common denominator of the colour matrix.
    pub fn denominator(&self) -> f64 {
        match self {
            Amplitudes::Diagrams(diagrams) => diagrams.color.denominator,
            Amplitudes::ColorOrdered(form) => form.denominator,
        }
    }
}

/// How `SMATRIX<i>` adds the contributions of helicity configurations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HelicitySum {
    /// No contribution can be negative.
    #[default]
    Positive,
    /// With their signs, as in a standalone output. Contributions can be negative if an interference of coupling orders
    /// is selected (`QCD^2==2`).
    Signed,
    /// By their absolute values, as in MadEvent, which gives the sum the sign of the chosen helicity's contribution.
    Absolute,
}

/// The two generations of the Fortran contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contract {
    /// Unknown: the process does not record it.
    #[default]
    Unknown,
    /// `fbridgesequence` without `igraph`: MG5aMC up to 3.6.
    WithoutIgraph,
    /// `fbridgesequence` with `igraph`: MG5aMC from 3.7 on.
    WithIgraph,
}

impl Process {
    /// Number of colour flows.
    pub fn color_flows(&self) -> usize {
        match (self.flow_weights.len(), &self.amplitudes) {
            (0, Amplitudes::ColorOrdered(form)) if !form.flows.is_empty() => form.flows.len(),
            (0, amplitudes) => amplitudes.jamps(),
            (flows, _) => flows,
        }
    }

    /// The process without names of particles and of itself: everything that a plan depends on.
    pub fn without_names(&self) -> Process {
        let mut process = self.clone();
        process.name.clear();
        process.model_name.clear();
        process.other_flavours.clear();
        process.model.auto_widths.clear();
        for leg in &mut process.legs {
            leg.pdg = 0;
        }
        process
    }

    /// The external legs of spin 1/2, one bit each.
    pub fn fermions(&self) -> u64 {
        let bit = |w: &Wavefunction| match w {
            Wavefunction::External(e)
                if matches!(e.kind, ExternalKind::FermionIn | ExternalKind::FermionOut) =>
            {
                1 << e.leg
            }
            _ => 0,
        };
        self.wavefunctions.iter().map(bit).fold(0, |a, b| a | b)
    }

    /// The process in its colour-ordered form only, without diagrams and their channels; `None` if it has no such form.
    pub fn as_color_ordered(&self) -> Option<Process> {
        let form = self.amplitudes.color_ordered()?;
        let external = |w: &Wavefunction| matches!(w, Wavefunction::External(_));
        let externals = self.wavefunctions.iter().take_while(|w| external(w));
        Some(Process {
            wavefunctions: externals.cloned().collect(),
            amplitudes: Amplitudes::ColorOrdered(form.clone()),
            channels: Channels {
                amp2: Vec::new(),
                ..self.channels.clone()
            },
            ..self.clone()
        })
    }

    /// The process with its diagrams only; `None` if it has none.
    pub fn as_diagrams(&self) -> Option<Process> {
        let diagrams = self.amplitudes.diagrams()?;
        Some(Process {
            amplitudes: Amplitudes::Diagrams(Diagrams {
                color_ordered: None,
                ..diagrams.clone()
            }),
            ..self.clone()
        })
    }

    /// Whether the process has only a colour-ordered form, and no diagrams.
    pub fn is_color_ordered(&self) -> bool {
        matches!(self.amplitudes, Amplitudes::ColorOrdered(_))
    }

    /// The process with these card values as its defaults.
    pub fn with_card(&self, card: &[f64]) -> Process {
        let mut process = self.clone();
        for (parameter, value) in process.model.card.iter_mut().zip(card) {
            parameter.default = *value;
        }
        process
    }

    /// The sign of each leg's momentum in momentum conservation: 1 for incoming, -1 for outgoing legs.
    pub fn signs(&self) -> Vec<f64> {
        let sign = |leg: &Leg| if leg.incoming { 1.0 } else { -1.0 };
        self.legs.iter().map(sign).collect()
    }
}

/// An external leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// PDG code of the (first) particle of this leg; 0 if the directory does not state it.
    pub pdg: i32,
    /// Whether the leg is in the initial state.
    pub incoming: bool,
    /// Its mass.
    pub mass: Quantity,
}

/// A mass or a width: a parameter of the model, or zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Quantity(pub Option<u32>);

impl Quantity {
    /// Exactly zero.
    pub const ZERO: Quantity = Quantity(None);
}

/// A wavefunction: external, or the result of a vertex.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wavefunction {
    /// An external wavefunction.
    External(External),
    /// An off-shell wavefunction.
    Internal(Vertex),
}

/// A call of `IXXXXX`, `OXXXXX`, `VXXXXX`, `SXXXXX`, `TXXXXX`, `IRXXXX` or `ORXXXX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct External {
    /// The routine.
    pub kind: ExternalKind,
    /// The leg.
    pub leg: u32,
    /// Its mass.
    pub mass: Quantity,
    /// `NSF`, `NSV`, `NSS`, `NST` or `NSR`, +1 or -1.
    pub sign: i8,
}

/// The kinds of external wavefunctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExternalKind {
    /// `IXXXXX`: a fermion flowing in.
    FermionIn,
    /// `OXXXXX`: a fermion flowing out.
    FermionOut,
    /// `VXXXXX`: a vector boson.
    Vector,
    /// `SXXXXX`: a scalar.
    Scalar,
    /// `TXXXXX`: a tensor, of spin 2.
    Tensor,
    /// `IRXXXX`: a massive particle of spin 3/2 (Rarita-Schwinger), fermion flow in.
    RaritaIn,
    /// `ORXXXX`: the same, fermion flow out.
    RaritaOut,
}

impl ExternalKind {
    /// The kind of wavefunction that the routine of this name computes.
    pub fn of_routine(name: &str) -> Option<ExternalKind> {
        match name {
            "IXXXXX" => Some(ExternalKind::FermionIn),
            "OXXXXX" => Some(ExternalKind::FermionOut),
            "VXXXXX" => Some(ExternalKind::Vector),
            "SXXXXX" => Some(ExternalKind::Scalar),
            "TXXXXX" => Some(ExternalKind::Tensor),
            "IRXXXX" => Some(ExternalKind::RaritaIn),
            "ORXXXX" => Some(ExternalKind::RaritaOut),
            _ => None,
        }
    }

    /// Name of the routine that computes this kind.
    pub fn routine(self) -> &'static str {
        match self {
            ExternalKind::FermionIn => "IXXXXX",
            ExternalKind::FermionOut => "OXXXXX",
            ExternalKind::Vector => "VXXXXX",
            ExternalKind::Scalar => "SXXXXX",
            ExternalKind::Tensor => "TXXXXX",
            ExternalKind::RaritaIn => "IRXXXX",
            ExternalKind::RaritaOut => "ORXXXX",
        }
    }

    /// The helicities of such a particle, with or without mass; for spin 1/2 and 3/2 in units of 1/2.
    pub fn helicities(self, massive: bool) -> &'static [i8] {
        match self {
            ExternalKind::FermionIn | ExternalKind::FermionOut => &[-1, 1],
            ExternalKind::Vector if massive => &[-1, 0, 1],
            ExternalKind::Vector => &[-1, 1],
            ExternalKind::Scalar => &[0],
            ExternalKind::Tensor if massive => &[-2, -1, 0, 1, 2],
            ExternalKind::Tensor => &[-2, 2],
            ExternalKind::RaritaIn | ExternalKind::RaritaOut if massive => &[-3, -1, 1, 3],
            // HELAS's wavefunctions of massless spin 3/2 are not reliable.
            ExternalKind::RaritaIn | ExternalKind::RaritaOut => &[],
        }
    }

    /// Number of complex numbers in the wavefunction, including the two of the momentum.
    pub fn components(self) -> u32 {
        match self {
            ExternalKind::FermionIn | ExternalKind::FermionOut | ExternalKind::Vector => 6,
            ExternalKind::Scalar => 3,
            ExternalKind::Tensor | ExternalKind::RaritaIn | ExternalKind::RaritaOut => 18,
        }
    }
}

/// A call of a Lorentz structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Vertex {
    /// Index into [`Process::routines`].
    pub routine: u32,
    /// The incoming wavefunctions, in the routine's order: indices into [`Process::wavefunctions`].
    pub inputs: Vec<u32>,
    /// The couplings, in the routine's order.
    pub couplings: Vec<CouplingRef>,
    /// Mass of the outgoing line (of an amplitude: zero).
    pub mass: Quantity,
    /// Width of the outgoing line (of an amplitude: zero).
    pub width: Quantity,
}

/// A coupling, or minus a coupling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CouplingRef {
    /// Index into [`Model::couplings`].
    pub coupling: u32,
    /// Whether the coupling enters with a minus sign.
    pub negative: bool,
}

/// Linear combinations of amplitudes, with shared partial sums.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinearMap {
    /// `TMP_JAMP`: partial sums; each refers only to earlier ones.
    pub partial: Vec<Vec<Term>>,
    /// `JAMP`: the results.
    pub outputs: Vec<Vec<Term>>,
}

/// One term of a linear combination.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The value that is added.
    pub source: TermSource,
    /// Real and imaginary part of its coefficient.
    pub factor: (f64, f64),
}

/// The source of a term of a [`LinearMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TermSource {
    /// An amplitude.
    Amplitude(u32),
    /// A partial sum.
    Partial(u32),
}
