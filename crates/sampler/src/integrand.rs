//! The integrand of a run: its matrix elements with their channels, cuts, scales, beams and densities.
//!
//! The weight of a point is its contribution to the cross section in pb, or to the width in GeV: phase space, the share
//! of its channel in all channels, flux, densities and |M|^2. Matrix elements that differ by flavours may share their
//! channels; one of them is drawn for each point, according to its densities and the known size of its |M|^2, so that
//! each point costs one |M|^2.

use super::clustered::Clusterings;
use super::events::Event;
use mebridge_densities::{Densities, PhotonPairs, StrongCoupling};
use mebridge_phasespace::cuts::Cuts;
use mebridge_phasespace::scales::Scale;
use mebridge_phasespace::{Channel, Layout, Permutation, Rows, Weights};
use mebridge_simd::Level;
use std::sync::Arc;

/// 1 / GeV^2 in pb (CODATA 2018).
pub const PICOBARN: f64 = 0.389_379_372_1e9;

/// The PDG code of the photon.
const PHOTON: i32 = 22;

/// Reason why |M|^2 could not be evaluated.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Random numbers in (0, 1), one per point; empty where they are not needed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PointNumbers<'a> {
    /// They draw the channels in which points are clustered.
    pub channels: &'a [f64],
    /// They draw the colour flows by which points are weighed.
    pub flows: &'a [f64],
}

/// The matrix elements of a run, evaluated by one thread.
pub trait MatrixElementSource {
    /// Evaluates |M|^2 of points, summed and averaged, in GeV^(4-2n) for n outgoing legs; or an approximation that
    /// [`MatrixElementSource::correct`] corrects.
    ///
    /// `element` is the index of the matrix element; `points` hold its momenta in the rows of
    /// [`mebridge_phasespace::Layout`]; `alpha_s` and `squared` have one number per point. With numbers for channels,
    /// `channels` gets the channel in which each point is clustered, drawn by the shares of the channels; negative if
    /// there is none.
    ///
    /// # Errors
    /// It cannot be evaluated, or the implementation cannot draw channels.
    fn evaluate(
        &mut self,
        element: usize,
        points: &Rows,
        alpha_s: &[f64],
        numbers: PointNumbers,
        squared: &mut [f64],
        channels: &mut [i32],
    ) -> Result<(), Failure>;

    /// Whether [`MatrixElementSource::evaluate`] needs numbers for colour flows.
    fn draws_flows(&self) -> bool {
        false
    }

    /// Whether [`MatrixElementSource::correct`] has something to correct.
    fn approximates(&self) -> bool {
        false
    }

    /// Sets the correction of events, the ratio of |M|^2 to its approximation, and may make their choices.
    ///
    /// # Errors
    /// |M|^2 cannot be evaluated.
    fn correct(&mut self, _events: &mut [&mut Event]) -> Result<(), Failure> {
        Ok(())
    }

    /// Chooses helicity, colour flow and diagram of events that have no choice yet.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    fn choose(&mut self, events: &mut [&mut Event]) -> Result<(), Failure>;
}

/// A cut or a bias beyond those of a request, or both.
pub trait Selection: std::fmt::Debug + Send + Sync {
    /// Determines which events pass.
    ///
    /// `element` is the index of their matrix element; `momenta` has (E, px, py, pz) of all `legs` of each event in
    /// GeV, in the detector frame, the leg along +z first; `passes` has one entry per event, initially true.
    ///
    /// # Errors
    /// The cut fails.
    fn select(
        &self,
        _element: usize,
        _legs: usize,
        _momenta: &[[f64; 4]],
        _passes: &mut [bool],
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns whether points have a bias: events are drawn in proportion to their weight times the bias, and their weights
    /// are divided by it.
    fn is_biased(&self) -> bool {
        false
    }

    /// Computes the bias of events, positive and finite for those that pass.
    ///
    /// The arguments are those of [`Self::select`]; `biases` has one entry per event, initially 1.
    ///
    /// # Errors
    /// The bias fails.
    fn bias(
        &self,
        _element: usize,
        _legs: usize,
        _momenta: &[[f64; 4]],
        _biases: &mut [f64],
    ) -> Result<(), Failure> {
        Ok(())
    }
}

/// A cut and a scale that are functions of the momenta of a point, apart from those of a request. They may be slow.
pub trait PointFunctions: std::fmt::Debug + Send + Sync {
    /// Whether there is a scale.
    fn has_scale(&self) -> bool;

    /// Determines the scales of points, and which of them pass the cut.
    ///
    /// `element` is the index of a matrix element of their group, all of which have the same functions. Scales, of
    /// renormalisation and factorisation, are positive, in GeV, and stay 0 for points that do not pass.
    ///
    /// # Errors
    /// A function fails.
    fn evaluate(
        &self,
        element: usize,
        points: &PointMomenta,
        passes: &mut [bool],
        scales: &mut [[f64; 2]],
    ) -> Result<(), Failure>;
}

/// The momenta of points in the rest frame of the partons, with the first beam along +z and the legs in the order of the
/// matrix element, the first of which may come from the second beam.
#[derive(Clone, Copy, Debug)]
pub struct PointMomenta<'a> {
    /// Number of legs.
    pub legs: usize,
    /// (E, px, py, pz) of all legs of each point, GeV.
    pub momenta: &'a [[f64; 4]],
    /// Rapidity of this frame in that of the detector, one for each point.
    pub rapidities: &'a [f64],
}

/// Incoming partons, and how they enter a matrix element.
#[derive(Clone, Debug, PartialEq)]
pub struct Partons {
    /// Index among the matrix elements of its group.
    pub element: usize,
    /// PDG codes of the first and the second leg.
    pub codes: [i32; 2],
    /// Helicities of the same, where the matrix element has only one.
    pub helicities: [Option<i8>; 2],
    /// Whether the first leg comes from the second beam.
    pub exchanged: bool,
    /// Factor of the weight: the number of processes that they represent.
    pub factor: f64,
}

/// The flux factor of the incoming particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flux {
    /// Two colliding particles with these masses, GeV: weights are in pb.
    Collision([f64; 2]),
    /// A decaying particle with this mass, GeV: weights are in GeV.
    Decay(f64),
}

impl Flux {
    /// Returns the flux factor at a squared energy.
    pub(crate) fn factor(self, s: f64) -> f64 {
        match self {
            Flux::Collision([one, other]) => {
                let (sum, difference) = (one + other, one - other);
                PICOBARN / (2.0 * ((s - sum * sum) * (s - difference * difference)).sqrt())
            }
            Flux::Decay(mass) => 1.0 / (2.0 * mass),
        }
    }
}

/// Matrix elements that share their channels.
#[derive(Clone, Debug)]
pub struct ElementGroup {
    /// Their indices.
    pub elements: Vec<usize>,
    /// What comes in.
    pub partons: Vec<Partons>,
    /// Weights of all their channels.
    pub weights: Weights,
    /// Cuts on points.
    pub cuts: Option<Cuts>,
    /// Their scales; those of the densities are in the order of the legs.
    pub scale: Scale,
    /// Their clustering, if points are clustered.
    pub clustering: Option<Clusterings>,
    /// Number of legs.
    pub legs: usize,
    /// Beam of each incoming leg. If both orders of like beams count, this is the first order.
    pub beams: [usize; 2],
    /// The rapidity of the beams' centre of mass in the detector frame, with the first leg along +z.
    pub rapidity: f64,
    /// What comes in.
    pub flux: Flux,
}

/// A source of points of a group: one channel with its permutations.
#[derive(Clone, Debug)]
pub struct PointSource {
    /// Its group.
    pub group: usize,
    /// The channel that draws momenta. Copies of an integrand share it.
    pub channel: Arc<Channel>,
    /// Permutations of the legs.
    pub permutations: Vec<Permutation>,
    /// Column of the channel weight for each permutation.
    pub columns: Vec<u32>,
    /// Relative probability, apart from densities, of drawing each matrix element of the group.
    pub chances: Vec<f64>,
}

/// The origin of incoming partons.
#[derive(Clone, Debug)]
pub enum Beam {
    /// The beam is the parton, with all of its energy.
    Parton,
    /// A hadron, or a particle that radiates photons.
    Densities {
        /// Densities of its partons.
        densities: Arc<Densities>,
        /// Whether it is the antiparticle of the particle that the densities describe.
        anti: bool,
    },
    /// A proton that radiates photons, whose density depends on the other one's.
    PhotonPair(Arc<PhotonPairs>),
}

impl Beam {
    /// Returns whether the beam is the parton itself.
    pub fn is_parton(&self) -> bool {
        matches!(self, Beam::Parton)
    }

    /// Returns whether it is an ion.
    pub fn is_ion(&self) -> bool {
        matches!(self, Beam::Densities { densities, .. } if densities.is_of_ion())
    }

    /// Returns whether it is a lepton beam with densities.
    pub fn is_lepton(&self) -> bool {
        matches!(self, Beam::Densities { densities, .. } if densities.is_of_lepton())
    }

    /// Returns whether it has a density for each helicity of its partons.
    pub fn has_helicities(&self) -> bool {
        matches!(self, Beam::Densities { densities, .. } if !densities.helicities().is_empty())
    }

    /// Returns whether there is a density of both partons alone, so that those of one parton cannot be compared.
    pub fn is_joint(&self) -> bool {
        matches!(self, Beam::PhotonPair(_)) || self.is_lepton()
    }

    /// Returns what GPUs do not support about it.
    pub fn not_on_gpus(&self) -> Option<&'static str> {
        match self {
            Beam::PhotonPair(_) => Some("densities of pairs of photons"),
            _ if self.is_lepton() => Some("densities of leptons"),
            _ if self.has_helicities() => Some("densities of weak bosons"),
            _ if self.is_ion() => Some("densities of ions"),
            _ => None,
        }
    }

    /// Returns whether both beams have the same partons.
    pub fn is_like(&self, other: &Beam) -> bool {
        match (self, other) {
            (Beam::Parton, Beam::Parton) => true,
            (
                Beam::Densities {
                    densities: one,
                    anti: of_one,
                },
                Beam::Densities {
                    densities: other,
                    anti: of_other,
                },
            ) => Arc::ptr_eq(one, other) && of_one == of_other,
            (Beam::PhotonPair(one), Beam::PhotonPair(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Returns the number of densities; a beam that is a parton has one, which is 1.
    pub(crate) fn flavors(&self) -> usize {
        match self {
            Beam::Parton | Beam::PhotonPair(_) => 1,
            Beam::Densities { densities, .. } => densities.codes().len() * densities.components(),
        }
    }

    /// Returns the number of components of each density.
    fn components(&self) -> usize {
        match self {
            Beam::Parton | Beam::PhotonPair(_) => 1,
            Beam::Densities { densities, .. } => densities.components(),
        }
    }

    /// Returns x f(x, Q) of a parton of a hadron; 0 if the beam lacks it.
    pub(crate) fn value(&self, code: i32, x: f64, q2: f64) -> f64 {
        let mut values = vec![1.0; self.flavors()];
        if let Beam::Densities { densities, .. } = self {
            densities.evaluate(&[x], &[q2], &mut values);
        }
        self.place(code, None).map_or(0.0, |place| values[place])
    }

    /// Returns the index of a parton's density among those of the beam; `None` if there is none. The helicity only matters
    /// if the beam [has a density for each](Beam::has_helicities).
    pub fn place(&self, code: i32, helicity: Option<i8>) -> Option<usize> {
        let (densities, anti) = match self {
            Beam::Parton => return Some(0),
            Beam::PhotonPair(_) => return (code == PHOTON).then_some(0),
            Beam::Densities { densities, anti } => (densities, anti),
        };
        let (codes, helicities) = (densities.codes(), densities.helicities());
        let is_own = |place: usize| helicities.is_empty() || Some(helicities[place]) == helicity;
        let find = |code: i32| (0..codes.len()).find(|&at| codes[at] == code && is_own(at));
        // Gluons and photons are their own antiparticles.
        match anti {
            true => find(-code).or_else(|| find(code)),
            false => find(code),
        }
    }
}

/// alpha_s as a function of the scale.
#[derive(Clone, Debug)]
pub enum RunningCoupling {
    /// Constant.
    Fixed(f64),
    /// From a table.
    Table(Arc<StrongCoupling>),
}

impl RunningCoupling {
    /// Returns alpha_s at a scale in GeV.
    pub(crate) fn at(&self, scale: f64) -> f64 {
        match self {
            RunningCoupling::Fixed(value) => *value,
            RunningCoupling::Table(table) => table.at(scale * scale),
        }
    }
}

/// The integrand of a run.
#[derive(Clone, Debug)]
pub struct Integrand {
    /// Matrix elements with their channels.
    pub groups: Vec<ElementGroup>,
    /// The channels of all groups.
    pub sources: Vec<PointSource>,
    /// Both beams.
    pub beams: [Beam; 2],
    /// The strong coupling.
    pub running: RunningCoupling,
    /// Cuts in addition to those of each group, and biases, applied in this order. At most one has a bias. They may be slow.
    pub selections: Vec<Arc<dyn Selection>>,
    /// A further cut and scale, applied before the selections.
    pub functions: Option<Arc<dyn PointFunctions>>,
    /// SIMD level.
    pub level: Level,
}

impl Integrand {
    /// Returns whether points have a bias.
    pub fn is_biased(&self) -> bool {
        self.selections
            .iter()
            .any(|selection| selection.is_biased())
    }

    /// Returns whether one of the beams has densities.
    pub fn has_densities(&self) -> bool {
        !self.beams.iter().all(Beam::is_parton)
    }

    /// Returns the number of densities of each incoming leg.
    pub(crate) fn flavors(&self, group: &ElementGroup) -> [usize; 2] {
        group.beams.map(|beam| self.beams[beam].flavors())
    }

    /// Returns the function from the densities of all partons of each leg at a point, and the places of two of them
    /// ([`Self::places`]), to the density of both.
    pub(crate) fn luminosities(&self) -> impl Fn([&[f64]; 2], Option<[usize; 2]>) -> f64 + use<> {
        let count = self.beams[0].components();
        move |values, places| match places {
            None => 0.0,
            Some([first, second]) if count == 1 => values[0][first] * values[1][second],
            Some(places) => {
                let of = |leg: usize| values[leg][places[leg] * count..][..count].iter();
                of(0).zip(of(1)).map(|(one, other)| one * other).sum()
            }
        }
    }

    /// Returns the function from a leg and the place of a point to the energy fraction of the parton.
    pub(crate) fn fractions(&self, points: &Rows, layout: Layout) -> impl Fn(usize, usize) -> f64 {
        let is_lepton = self.beams[0].is_lepton();
        let rows = [0, 1].map(|leg| points.row(layout.fraction(leg)));
        move |leg, place| match is_lepton {
            true => 1.0 - rows[leg][place],
            false => rows[leg][place],
        }
    }

    /// Returns the indices of the densities of two partons among those of their legs.
    pub(crate) fn places(&self, group: &ElementGroup, of: &Partons) -> Option<[usize; 2]> {
        let place = |leg: usize| {
            let beam = &self.beams[group.beams[leg]];
            beam.place(of.codes[leg], of.helicities[leg])
        };
        Some([place(0)?, place(1)?])
    }
}
