//! Computes weights from random numbers for a block of points of one channel.
//!
//! The weight of a point is its contribution to the cross section in pb, or to the width in GeV: phase space, the share
//! of its channel in all channels, flux, densities and |M|^2. Matrix elements that differ by flavours may share their
//! channels; one of them is drawn for each point, according to its densities and the known size of its |M|^2, so that
//! each point costs one |M|^2.

use super::blocks::{Block, GridInput};
use super::clustered::{ClusteringWork, Clusterings};
use super::events::{self, Event};
use super::sums::WeightSums;
use mebridge_densities::{Densities, StrongCoupling};
use mebridge_phasespace::compact::{collect_passed, keep_points};
use mebridge_phasespace::cuts::Cuts;
use mebridge_phasespace::scales::{self, Scale};
use mebridge_phasespace::{Channel, Layout, Permutation, Rows, Weights};
use mebridge_simd::Level;
use std::sync::Arc;

/// 1 / GeV^2 in pb (CODATA 2018).
pub const PICOBARN: f64 = 0.389_379_372_1e9;

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
    /// `element` is the index of the matrix element; `points` hold its momenta in the rows of [`Layout`]; `alpha_s` and
    /// `squared` have one number per point. With numbers for channels, `channels` gets the channel in which each point
    /// is clustered, drawn by the shares of the channels; negative if there is none.
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
    fn correct(&mut self, _events: &mut [Event]) -> Result<(), Failure> {
        Ok(())
    }
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

/// Incoming partons, and how they enter a matrix element.
#[derive(Clone, Debug, PartialEq)]
pub struct Partons {
    /// Index among the matrix elements of its group.
    pub element: usize,
    /// PDG codes of the first and the second leg.
    pub codes: [i32; 2],
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
    fn factor(self, s: f64) -> f64 {
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
    /// The channel that draws momenta.
    pub channel: Channel,
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
            _ => false,
        }
    }

    /// Returns the number of densities; a beam that is a parton has one, which is 1.
    fn flavors(&self) -> usize {
        match self {
            Beam::Parton => 1,
            Beam::Densities { densities, .. } => densities.codes().len(),
        }
    }

    /// Returns x f(x, Q) of a parton; 0 if the beam lacks it.
    pub(crate) fn value(&self, code: i32, x: f64, q2: f64) -> f64 {
        let mut values = vec![1.0; self.flavors()];
        if let Beam::Densities { densities, .. } = self {
            densities.evaluate(&[x], &[q2], &mut values);
        }
        self.place(code).map_or(0.0, |place| values[place])
    }

    /// Returns the index of a parton's density among those of the beam; `None` if there is none.
    pub fn place(&self, code: i32) -> Option<usize> {
        let Beam::Densities { densities, anti } = self else {
            return Some(0);
        };
        let find = |code: i32| densities.codes().iter().position(|&known| known == code);
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
    /// SIMD level.
    pub level: Level,
}

/// Buffers of a thread for a block of points.
#[derive(Debug)]
pub struct Workspace {
    /// Random numbers, the input of grids.
    pub numbers: Rows,
    /// The weights of all points of the last block, 0 for those that fail the cuts. They include the bias, if any.
    pub weights: Vec<f64>,
    /// The same without the bias; empty if there is none.
    pub unbiased: Vec<f64>,
    /// The bias of each point that passes; empty if there is none.
    pub biases: Vec<f64>,
    /// Index in the block of each point that passes; the fields that follow have one entry for each of these.
    pub kept: Vec<u32>,
    /// Index of the drawn partons in the group.
    pub drawn: Vec<u32>,
    /// Momenta and other variables in the rows of [`Layout`].
    pub points: Rows,
    /// Scales in GeV: of renormalisation, and of the densities of both beams.
    pub scales: Rows,
    /// alpha_s.
    pub alpha_s: Vec<f64>,
    /// |M|^2; 0 for points that clustering drops.
    pub squared: Vec<f64>,
    /// Results of clustering.
    pub clustering: ClusteringWork,
    mapped: Rows,
    shares: Rows,
    passed: Vec<bool>,
    columns: Vec<u32>,
    /// Random numbers for the channels in which points are clustered, and for the colour flows by which they are
    /// weighed.
    pub(crate) channel_numbers: Vec<f64>,
    flow_numbers: Vec<f64>,
    q2: Vec<f64>,
    values: [Vec<f64>; 2],
    pub(crate) factors: Vec<f64>,
    parts: Vec<DrawnElement>,
    /// Jacobians of flows.
    jacobians: Vec<f64>,
}

/// The points of a block that belong to one matrix element.
#[derive(Debug)]
struct DrawnElement {
    points: Rows,
    which: Vec<u32>,
    alpha_s: Vec<f64>,
    squared: Vec<f64>,
    channel_numbers: Vec<f64>,
    flow_numbers: Vec<f64>,
    channels: Vec<i32>,
}

/// Additional rows after those of [`Layout`]: the Jacobian of the grid, and the random number that selects the
/// flavours.
const JACOBIAN: usize = 0;
const FLAVOR: usize = 1;
const MORE: usize = 2;

impl Workspace {
    /// Creates buffers for blocks of up to `points` points of an integrand.
    pub fn new(integrand: &Integrand, points: usize) -> Self {
        let dimension = integrand
            .sources
            .iter()
            .map(|source| source.channel.dimension());
        let dimension = dimension.max().unwrap_or(0);
        let legs = integrand.groups.iter().map(|group| group.legs).max();
        let rows = Layout::new(legs.unwrap_or(0)).rows() + MORE;
        let elements = integrand
            .groups
            .iter()
            .map(|group| group.elements.len())
            .max();
        let part = || DrawnElement {
            points: Rows::new(rows - MORE, points),
            which: Vec::new(),
            alpha_s: Vec::new(),
            squared: Vec::new(),
            channel_numbers: Vec::new(),
            flow_numbers: Vec::new(),
            channels: Vec::new(),
        };
        Workspace {
            numbers: Rows::new(dimension + 1, points),
            weights: Vec::new(),
            unbiased: Vec::new(),
            biases: Vec::new(),
            kept: Vec::new(),
            drawn: Vec::new(),
            points: Rows::new(rows, points),
            scales: Rows::new(scales::ROWS, points),
            alpha_s: Vec::new(),
            squared: Vec::new(),
            clustering: ClusteringWork::new(integrand),
            mapped: Rows::new(dimension + 1, points),
            shares: Rows::new(1, points),
            passed: Vec::new(),
            columns: Vec::new(),
            channel_numbers: Vec::new(),
            flow_numbers: Vec::new(),
            q2: Vec::new(),
            values: [Vec::new(), Vec::new()],
            factors: Vec::new(),
            parts: (0..elements.unwrap_or(0)).map(|_| part()).collect(),
            jacobians: Vec::new(),
        }
    }
}

impl Workspace {
    /// Returns sums over the weights of the last block.
    pub(crate) fn sums(&self) -> WeightSums {
        match self.unbiased.is_empty() {
            true => WeightSums::new(&self.weights),
            false => WeightSums::of_biased(&self.weights, &self.unbiased),
        }
    }
}

impl Integrand {
    /// Weighs the points of a block.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    ///
    /// # Panics
    /// If the workspace is too small, there is no such source, or the number of points is not a multiple of 8.
    pub fn weigh(
        &self,
        block: &Block,
        elements: &mut dyn MatrixElementSource,
        work: &mut Workspace,
    ) -> Result<(), Failure> {
        let Block { first, count, .. } = *block;
        assert!(first % 8 == 0 && count % 8 == 0, "whole groups of points");
        let source = &self.sources[block.source];
        let group = &self.groups[source.group];
        let layout = Layout::new(group.legs);
        let dimension = source.channel.dimension();
        let level = self.level;
        for rows in [&mut work.numbers, &mut work.mapped, &mut work.points] {
            rows.set_points(count);
        }
        fill(block, level, dimension, work);
        block.grid.map(level, &work.numbers, &mut work.mapped);
        let of_grid = work.mapped.row_mut(dimension).iter_mut();
        of_grid
            .zip(&work.jacobians)
            .for_each(|(grid, flow)| *grid *= flow);
        let turn = (first / 8) as usize;
        (source.channel).draw(
            level,
            &work.mapped,
            &source.permutations,
            turn,
            &mut work.points,
        );
        let more = layout.rows();
        for (row, from) in [
            (JACOBIAN, work.mapped.row(dimension)),
            (FLAVOR, work.numbers.row(dimension)),
        ] {
            work.points.row_mut(more + row).copy_from_slice(from);
        }
        self.select(group, count, work);
        let biased = self.is_biased();
        work.weights.clear();
        work.weights.resize(count, 0.0);
        work.unbiased.clear();
        work.unbiased.resize(if biased { count } else { 0 }, 0.0);
        work.biases.clear();
        if work.kept.is_empty() {
            return Ok(());
        }
        work.columns.clear();
        let permutations = source.permutations.len();
        let columns = work
            .kept
            .iter()
            .map(|&point| source.columns[(turn + point as usize / 8) % permutations]);
        work.columns.extend(columns);
        let passed = work.kept.len();
        work.shares.set_points(passed);
        group
            .weights
            .shares(level, &work.points, &work.columns, &mut work.shares);
        work.scales.set_points(passed);
        group
            .scale
            .evaluate(level, group.legs, &work.points, &mut work.scales, 0);
        if let Some(of) = &group.clustering {
            of.raise(&group.scale, &mut work.scales);
        }
        self.couple(passed, work);
        self.draw_partons(group, source, passed, layout, work);
        if !self.selections.is_empty() {
            self.filter(group, work)?;
        }
        // The dimensions after those of the grid, of the partons and of their process.
        let needed = [
            (group.clustering.is_some(), &mut work.channel_numbers),
            (elements.draws_flows(), &mut work.flow_numbers),
        ];
        for (next, (needed, numbers)) in (dimension as u32 + 2..).zip(needed) {
            let number = |&point: &u32| block.random.number(first + u64::from(point), next);
            numbers.clear();
            if needed {
                numbers.extend(work.kept.iter().map(number));
            }
        }
        evaluate(group, elements, passed, work)?;
        match &group.clustering {
            None => work.clustering.matched.clear(),
            Some(of) => self.cluster(group, of, block, elements, work)?,
        }
        for (place, &point) in work.kept.iter().enumerate() {
            let row = |row: usize| work.points.row(row)[place];
            let flux = group.flux.factor(row(layout.energy_square()));
            let phase_space = row(layout.weight()) * row(more + JACOBIAN) * flux;
            let share = work.shares.row(0)[place] * permutations as f64;
            let weight = work.factors[place] * work.squared[place];
            work.weights[point as usize] = weight * share * phase_space;
        }
        if biased {
            work.unbiased.copy_from_slice(&work.weights);
            for (bias, &point) in work.biases.iter().zip(&work.kept) {
                work.weights[point as usize] *= bias;
            }
        }
        Ok(())
    }

    /// Keeps the points that pass the cuts, with rapidities in the detector frame.
    pub(crate) fn select(&self, group: &ElementGroup, count: usize, work: &mut Workspace) {
        let layout = Layout::new(group.legs);
        if group.rapidity != 0.0 {
            for rapidity in work.points.row_mut(layout.rapidity()) {
                *rapidity += group.rapidity;
            }
        }
        work.passed.clear();
        work.passed.resize(count, true);
        if let Some(cuts) = &group.cuts {
            let moves = group.rapidity != 0.0 || self.has_densities();
            let boost = moves.then(|| work.points.row(layout.rapidity()));
            cuts.passed(self.level, &work.points, boost, &mut work.passed);
        }
        for (passed, weight) in work.passed.iter_mut().zip(work.points.row(layout.weight())) {
            *passed &= *weight > 0.0;
        }
        collect_passed(&work.passed, &mut work.kept);
        keep_points(&mut work.points, &work.kept);
    }

    /// Returns whether points have a bias.
    pub fn is_biased(&self) -> bool {
        self.selections
            .iter()
            .any(|selection| selection.is_biased())
    }

    /// Sets the factors of points to zero that fail further cuts, and finds the bias of the others.
    fn filter(&self, group: &ElementGroup, work: &mut Workspace) -> Result<(), Failure> {
        let layout = Layout::new(group.legs);
        for (number, &element) in group.elements.iter().enumerate() {
            let own = |&place: &usize| {
                let partons = &group.partons[work.drawn[place] as usize];
                partons.element == number && work.factors[place] != 0.0
            };
            let own: Vec<usize> = (0..work.drawn.len()).filter(own).collect();
            let mut momenta = Vec::with_capacity(own.len() * group.legs);
            for &place in &own {
                let exchanged = group.partons[work.drawn[place] as usize].exchanged;
                let first = momenta.len();
                momenta.extend(events::momenta(
                    &work.points,
                    layout,
                    group.legs,
                    place,
                    exchanged,
                ));
                if exchanged {
                    momenta.swap(first, first + 1);
                }
            }
            let mut passes = vec![true; own.len()];
            if !own.is_empty() {
                for selection in &self.selections {
                    selection.select(element, group.legs, &momenta, &mut passes)?;
                }
            }
            for (&place, _) in own.iter().zip(&passes).filter(|(_, passes)| !**passes) {
                work.factors[place] = 0.0;
            }
            if self.is_biased() && !own.is_empty() {
                work.biases.resize(work.drawn.len(), 1.0);
                let mut biases = vec![1.0; own.len()];
                for selection in &self.selections {
                    selection.bias(element, group.legs, &momenta, &mut biases)?;
                }
                for ((place, bias), _) in own
                    .into_iter()
                    .zip(biases)
                    .zip(passes)
                    .filter(|(_, passes)| *passes)
                {
                    if !(bias > 0.0 && bias.is_finite()) {
                        let what = format!(
                            "the bias of an event is {bias}: it must be positive and finite"
                        );
                        return Err(what.into());
                    }
                    work.biases[place] = bias;
                }
            }
        }
        Ok(())
    }

    /// Computes alpha_s of each point.
    fn couple(&self, passed: usize, work: &mut Workspace) {
        work.alpha_s.clear();
        match &self.running {
            RunningCoupling::Fixed(value) => work.alpha_s.resize(passed, *value),
            RunningCoupling::Table(table) => {
                let scales = work.scales.row(0);
                work.alpha_s
                    .extend(scales.iter().map(|scale| table.at(scale * scale)));
            }
        }
    }

    /// Returns whether one of the beams has densities.
    pub fn has_densities(&self) -> bool {
        !self.beams.iter().all(Beam::is_parton)
    }

    /// Returns the number of densities of each incoming leg.
    fn flavors(&self, group: &ElementGroup) -> [usize; 2] {
        group.beams.map(|beam| self.beams[beam].flavors())
    }

    /// Returns the indices of the densities of two partons among those of their legs.
    fn places(&self, group: &ElementGroup, codes: [i32; 2]) -> Option<[usize; 2]> {
        let [first, second] = group.beams.map(|beam| &self.beams[beam]);
        Some([first.place(codes[0])?, second.place(codes[1])?])
    }

    /// Looks up the densities of all flavours at the scales of the points; 1 for a beam that is a parton.
    pub(crate) fn look_up(
        &self,
        group: &ElementGroup,
        passed: usize,
        layout: Layout,
        work: &mut Workspace,
    ) {
        for (leg, beam) in group.beams.into_iter().enumerate() {
            let values = &mut work.values[leg];
            let Beam::Densities { densities, .. } = &self.beams[beam] else {
                values.clear();
                values.resize(passed, 1.0);
                continue;
            };
            let scales = work.scales.row(1 + leg);
            work.q2.clear();
            work.q2.extend(scales.iter().map(|scale| scale * scale));
            values.resize(passed * densities.codes().len(), 0.0);
            densities.evaluate(work.points.row(layout.fraction(leg)), &work.q2, values);
        }
    }

    /// Returns the product of the densities of the drawn partons from the last look-up; 1 without densities.
    pub(crate) fn luminosity(&self, group: &ElementGroup, work: &Workspace, place: usize) -> f64 {
        if !self.has_densities() {
            return 1.0;
        }
        let flavors = self.flavors(group);
        let values = [0, 1].map(|leg| &work.values[leg][place * flavors[leg]..][..flavors[leg]]);
        let partons = &group.partons[work.drawn[place] as usize];
        let places = self.places(group, partons.codes);
        places.map_or(0.0, |[a, b]| values[0][a] * values[1][b])
    }

    /// Draws the incoming partons of each point, and writes the factors of its weight.
    fn draw_partons(
        &self,
        group: &ElementGroup,
        source: &PointSource,
        passed: usize,
        layout: Layout,
        work: &mut Workspace,
    ) {
        work.drawn.clear();
        work.factors.clear();
        if let (false, [only]) = (self.has_densities(), &group.partons[..]) {
            work.drawn.resize(passed, 0);
            work.factors.resize(passed, only.factor);
            return;
        }
        self.look_up(group, passed, layout, work);
        let flavors = self.flavors(group);
        let places: Vec<Option<[usize; 2]>> = (group.partons.iter())
            .map(|one| self.places(group, one.codes))
            .collect();
        let random = work.points.row(layout.rows() + FLAVOR);
        let fractions = [0, 1].map(|leg| work.points.row(layout.fraction(leg)));
        let mut shares = vec![0.0; group.partons.len()];
        for point in 0..passed {
            let values =
                [0, 1].map(|leg| &work.values[leg][point * flavors[leg]..][..flavors[leg]]);
            let mut total = 0.0;
            for ((share, places), one) in shares.iter_mut().zip(&places).zip(&group.partons) {
                let both = places.map_or(0.0, |[a, b]| values[0][a] * values[1][b]);
                *share = both * one.factor * source.chances[one.element];
                // Densities may be negative, and then events are too.
                total += share.abs();
            }
            let mut rest = random[point] * total;
            let mut drawn = 0;
            for (number, share) in shares
                .iter()
                .enumerate()
                .filter(|(_, share)| **share != 0.0)
            {
                drawn = number;
                if rest < share.abs() {
                    break;
                }
                rest -= share.abs();
            }
            let fractions = fractions[0][point] * fractions[1][point];
            let chance = source.chances[group.partons[drawn].element] * fractions;
            work.factors.push(total.copysign(shares[drawn]) / chance);
            work.drawn.push(drawn as u32);
        }
    }
}

/// Fills in the input of a block's grid, and the Jacobians of its flow.
fn fill(block: &Block, level: Level, dimension: usize, work: &mut Workspace) {
    work.jacobians.clear();
    let GridInput::Given(given) = block.numbers else {
        let dimensions = 0..dimension as u32 + 1;
        (block.random).fill(level, block.first, dimensions, &mut work.numbers, 0);
        if let GridInput::Flow(flow) = block.numbers {
            work.jacobians.resize(block.count, 1.0);
            flow.map(level, &mut work.numbers, &mut work.jacobians);
        }
        return;
    };
    assert_eq!(given.len(), block.count * (dimension + 1), "all numbers");
    for (point, numbers) in given.chunks_exact(dimension + 1).enumerate() {
        for (row, &number) in numbers.iter().enumerate() {
            work.numbers.row_mut(row)[point] = number;
        }
    }
}

/// Evaluates |M|^2 of all points, by matrix element, and draws the channels of clustered ones.
pub(crate) fn evaluate(
    group: &ElementGroup,
    elements: &mut dyn MatrixElementSource,
    passed: usize,
    work: &mut Workspace,
) -> Result<(), Failure> {
    work.squared.clear();
    work.squared.resize(passed, 0.0);
    let channels = &mut work.clustering.channels;
    channels.clear();
    channels.resize(work.channel_numbers.len(), -1);
    if let [element] = group.elements[..] {
        let numbers = PointNumbers {
            channels: &work.channel_numbers,
            flows: &work.flow_numbers,
        };
        let (points, alpha_s) = (&work.points, &work.alpha_s);
        return elements.evaluate(
            element,
            points,
            alpha_s,
            numbers,
            &mut work.squared,
            channels,
        );
    }
    for (number, &element) in group.elements.iter().enumerate() {
        let part = &mut work.parts[number];
        part.which.clear();
        let own = |drawn: u32| group.partons[drawn as usize].element == number;
        let some = (0..).zip(&work.drawn).filter(|(_, drawn)| own(**drawn));
        part.which.extend(some.map(|(point, _): (u32, _)| point));
        if part.which.is_empty() {
            continue;
        }
        let count = part.which.len();
        part.points.set_points(count);
        for row in 0..4 * group.legs {
            let from = work.points.row(row);
            for (to, &point) in part.points.row_mut(row).iter_mut().zip(&part.which) {
                *to = from[point as usize];
            }
        }
        let own = |all: &[f64], to: &mut Vec<f64>| {
            to.clear();
            if !all.is_empty() {
                to.extend(part.which.iter().map(|&point| all[point as usize]));
            }
        };
        own(&work.alpha_s, &mut part.alpha_s);
        own(&work.channel_numbers, &mut part.channel_numbers);
        own(&work.flow_numbers, &mut part.flow_numbers);
        part.squared.clear();
        part.squared.resize(count, 0.0);
        part.channels.clear();
        part.channels.resize(part.channel_numbers.len(), -1);
        let numbers = PointNumbers {
            channels: &part.channel_numbers,
            flows: &part.flow_numbers,
        };
        let (points, alpha_s) = (&part.points, &part.alpha_s);
        let (squared, of_part) = (&mut part.squared, &mut part.channels);
        elements.evaluate(element, points, alpha_s, numbers, squared, of_part)?;
        for (&point, &channel) in part.which.iter().zip(&part.channels) {
            channels[point as usize] = channel;
        }
        for (&point, &value) in part.which.iter().zip(&part.squared) {
            work.squared[point as usize] = value;
        }
    }
    Ok(())
}
