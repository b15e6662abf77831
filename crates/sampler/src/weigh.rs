//! The interface of engines that weigh blocks: CPU threads here, GPUs elsewhere.
//!
//! Surveys and rounds plan blocks and pass them to a [`Weigh`]. Results come back in the order of the blocks. A GPU may
//! merge consecutive blocks of one source before it answers.

use super::blocks::Block;
use super::events::{Event, momenta};
use super::grid::Training;
use super::integrand::{Failure, Flux, Integrand, MatrixElementSource, PointSource};
use super::parallel;
use super::random::ACCEPTANCE;
use super::source_selection::{self, TrialPoints};
use super::sums::WeightSums;
use super::unweight::{Spectrum, is_event};
use super::weigh_block::{BlockReader, weigh_each};
use super::workspace::Workspace;
use mebridge_phasespace::Layout;
use mebridge_phasespace::clustering::Matched;
use mebridge_support::sync::lock;
use std::sync::Mutex;

/// An engine that weighs blocks.
pub trait Weigh {
    /// Returns the number of threads for all other work.
    fn threads(&self) -> usize;

    /// Returns the seconds that parts of the work have taken so far, by name; parts may overlap.
    fn seconds(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Sets the integrand of the blocks that follow: its sources and their chances may have changed. Grids come with
    /// the blocks.
    ///
    /// # Errors
    /// The engine does not support this integrand.
    fn set(&mut self, integrand: &Integrand) -> Result<(), Failure>;

    /// Weighs blocks, and passes the training data of each with the index of its source to `take`. In a `trial` the
    /// data include the points themselves.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    fn learn(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        trial: bool,
        take: &mut dyn FnMut(usize, &TrainingData),
    ) -> Result<(), Failure>;

    /// Weighs blocks, and passes the weights of all their points to `take`.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated, or this is a GPU.
    fn weights(
        &mut self,
        _: &Integrand,
        _: &[Block],
        _: &mut dyn FnMut(Vec<f64>),
    ) -> Result<(), Failure> {
        Err("a GPU gives no weights to who trains networks: train them on a CPU".into())
    }

    /// Weighs blocks, and passes the points that become events by the thresholds of their sources to `take`.
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    fn draw(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        thresholds: &[f64],
        take: &mut dyn FnMut(DrawnEvents),
    ) -> Result<(), Failure>;

    /// Whether points are weighed by an approximation that [`Weigh::correct`] corrects.
    fn approximates(&self) -> bool {
        false
    }

    /// Sets the corrections of events.
    ///
    /// # Errors
    /// |M|^2 cannot be evaluated.
    fn correct(&mut self, _: &mut [Vec<Event>]) -> Result<(), Failure> {
        Ok(())
    }

    /// Chooses helicity, colour flow and diagram of events that have no choice yet, by
    /// [`random_choices`](super::events::random_choices).
    ///
    /// # Errors
    /// A matrix element cannot be evaluated.
    fn choose(&mut self, parts: &mut [Vec<Event>]) -> Result<(), Failure>;
}

/// Number of pieces for each worker that changes events: matrix elements take unequal times.
const PIECES_PER_WORKER: usize = 4;

/// Lets each worker, of which each evaluates matrix elements, change some of the events at a time, and no fewer than
/// `least`.
///
/// # Errors
/// A matrix element cannot be evaluated.
pub fn change_events<W: Send, E: Send>(
    workers: &mut [W],
    parts: &mut [Vec<Event>],
    least: usize,
    change: impl Fn(&mut W, &mut [&mut Event]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let count: usize = parts.iter().map(Vec::len).sum();
    let size = count.div_ceil(PIECES_PER_WORKER * workers.len()).max(least);
    let mut pieces: Vec<Vec<&mut [Event]>> = Vec::new();
    let mut room = 0;
    for part in parts {
        let mut rest = &mut part[..];
        while !rest.is_empty() {
            if room == 0 {
                pieces.push(Vec::new());
                room = size;
            }
            let (next, later) = rest.split_at_mut(room.min(rest.len()));
            room -= next.len();
            pieces.last_mut().expect("one was added").push(next);
            rest = later;
        }
    }
    let pieces: Vec<_> = pieces.into_iter().map(Mutex::new).collect();
    let change = |worker: &mut W, number: usize| {
        let piece = std::mem::take(&mut *lock(&pieces[number]));
        let mut events: Vec<&mut Event> = piece.into_iter().flatten().collect();
        change(worker, &mut events)
    };
    parallel::each(workers, pieces.len(), change, |()| ())
}

/// Training data from points of a source.
#[derive(Clone, Debug)]
pub struct TrainingData {
    /// Sums of their weights.
    pub sums: WeightSums,
    /// Sums for the grid.
    pub training: Training,
    /// Spectrum of the absolute weights.
    pub spectrum: Spectrum,
    /// For each matrix element of the group, the sum of the sizes of weights, and the same without |M|^2.
    pub sizes: Vec<[f64; 2]>,
    /// Number of points that pass the cuts and, in a trial, the points themselves.
    pub tried: TrialPoints,
}

impl TrainingData {
    /// Creates training data without points. The sums for the grid take memory from the first block on.
    pub fn empty(source: &PointSource) -> Self {
        TrainingData {
            sums: WeightSums::default(),
            training: Training::default(),
            spectrum: Spectrum::default(),
            sizes: vec![[0.0; 2]; source.chances.len()],
            tried: TrialPoints::default(),
        }
    }

    /// Adds later points.
    pub fn merge(&mut self, later: &TrainingData) {
        self.sums.merge(&later.sums);
        self.training.merge(&later.training);
        self.spectrum.merge(&later.spectrum);
        for (sum, more) in self.sizes.iter_mut().zip(&later.sizes) {
            sum[0] += more[0];
            sum[1] += more[1];
        }
        self.tried.merge(&later.tried);
    }
}

/// Points of a source, some of which are events.
#[derive(Clone, Debug)]
pub struct DrawnEvents {
    /// Index of the source.
    pub source: usize,
    /// Sums of the weights of all points.
    pub sums: WeightSums,
    /// Spectrum of the absolute weights.
    pub spectrum: Spectrum,
    /// The events; their weights are those of the points in pb.
    pub events: Vec<Event>,
}

struct Learn<'a> {
    integrand: &'a Integrand,
    /// For each group the number of points of each source to keep.
    points: Vec<usize>,
}

impl BlockReader for Learn<'_> {
    type Output = (usize, TrainingData);

    fn read(&self, block: &Block, work: &Workspace) -> (usize, TrainingData) {
        let source = &self.integrand.sources[block.source];
        let group = &self.integrand.groups[source.group];
        let mut taught = TrainingData::empty(source);
        taught.training = Training::new(source.channel.dimension());
        taught.sums = work.sums();
        taught.training.add(&work.numbers, &work.weights);
        taught.spectrum.add(&work.weights);
        taught.tried = TrialPoints::from_workspace(work, group.legs, self.points[source.group]);
        for (place, (&point, &drawn)) in work.kept.iter().zip(&work.drawn).enumerate() {
            let weight = work.weights[point as usize].abs();
            let without = weight / work.squared[place].abs();
            if without.is_finite() {
                let of = &mut taught.sizes[group.partons[drawn as usize].element];
                of[0] += weight;
                of[1] += without;
            }
        }
        (block.source, taught)
    }
}

struct Weights;

impl BlockReader for Weights {
    type Output = Vec<f64>;

    fn read(&self, _: &Block, work: &Workspace) -> Vec<f64> {
        work.weights.clone()
    }
}

/// Extracts the points that become events.
struct Draw<'a> {
    integrand: &'a Integrand,
    /// For each source the weight above which a point counts as more than one event.
    thresholds: &'a [f64],
}

impl BlockReader for Draw<'_> {
    type Output = DrawnEvents;

    fn read(&self, block: &Block, work: &Workspace) -> DrawnEvents {
        let threshold = self.thresholds[block.source];
        let mut spectrum = Spectrum::default();
        spectrum.add(&work.weights);
        let mut events = Vec::new();
        for (place, &point) in work.kept.iter().enumerate() {
            let number = block.first + u64::from(point);
            let weight = work.weights[point as usize];
            if is_event(weight, block.random.number(number, ACCEPTANCE), threshold) {
                events.push(self.event(block, work, place, number, weight));
            }
        }
        DrawnEvents {
            source: block.source,
            sums: work.sums(),
            spectrum,
            events,
        }
    }
}

impl Draw<'_> {
    fn event(
        &self,
        block: &Block,
        work: &Workspace,
        place: usize,
        point: u64,
        weight: f64,
    ) -> Event {
        let source = &self.integrand.sources[block.source];
        let group = &self.integrand.groups[source.group];
        let layout = Layout::new(group.legs);
        // The next dimension after those of the grid and the one that selects the partons.
        let next = source.channel.dimension() as u32 + 1;
        let partons = work.drawn[place];
        let of_partons = &group.partons[partons as usize];
        let exchanged = of_partons.exchanged;
        let fraction = self.integrand.fractions(&work.points, layout);
        let mut fractions = [0, 1].map(|leg| fraction(leg, place));
        let mut scales = [0, 1, 2].map(|row| work.scales.row(row)[place]);
        let mut matched = work.clustering.matched.get(place).cloned().flatten();
        if exchanged {
            fractions.swap(0, 1);
            scales.swap(1, 2);
            matched.iter_mut().for_each(Matched::exchange);
        }
        let shown = match (&matched, self.integrand.has_densities()) {
            (Some(matched), _) => matched.start.sqrt(),
            (None, true) => scales[1].max(scales[2]),
            (None, false) if matches!(group.flux, Flux::Decay(_)) => scales[1],
            (None, false) => scales[0],
        };
        let diagram = group.clustering.as_ref().map(|of| {
            let channel = work.clustering.channels[place] as usize;
            of.elements[of_partons.element].diagrams[channel]
        });
        Event {
            source: block.source as u32,
            point,
            element: group.elements[of_partons.element] as u32,
            partons,
            process: block.random.number(point, next),
            weight,
            correction: 1.0,
            choice: None,
            bias: work.biases.get(place).copied().unwrap_or(1.0),
            momenta: momenta(&work.points, layout, group.legs, place, exchanged).collect(),
            fractions,
            scales,
            shown,
            alpha_s: work.alpha_s[place],
            diagram,
            matched: matched.map(Box::new),
        }
    }
}

/// CPU threads, one per evaluator.
impl<S: MatrixElementSource + Send> Weigh for Vec<S> {
    fn threads(&self) -> usize {
        self.len()
    }

    fn set(&mut self, _: &Integrand) -> Result<(), Failure> {
        Ok(())
    }

    fn learn(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        trial: bool,
        take: &mut dyn FnMut(usize, &TrainingData),
    ) -> Result<(), Failure> {
        let points = source_selection::points_to_keep(integrand, trial);
        let learn = Learn { integrand, points };
        weigh_each(integrand, blocks, self, &learn, |(source, taught)| {
            take(source, &taught);
        })
    }

    fn weights(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        take: &mut dyn FnMut(Vec<f64>),
    ) -> Result<(), Failure> {
        weigh_each(integrand, blocks, self, &Weights, take)
    }

    fn draw(
        &mut self,
        integrand: &Integrand,
        blocks: &[Block],
        thresholds: &[f64],
        take: &mut dyn FnMut(DrawnEvents),
    ) -> Result<(), Failure> {
        let draw = Draw {
            integrand,
            thresholds,
        };
        weigh_each(integrand, blocks, self, &draw, take)
    }

    fn approximates(&self) -> bool {
        self.first().is_some_and(MatrixElementSource::approximates)
    }

    fn correct(&mut self, parts: &mut [Vec<Event>]) -> Result<(), Failure> {
        change_events(self, parts, LEAST_CHANGED, S::correct)
    }

    fn choose(&mut self, parts: &mut [Vec<Event>]) -> Result<(), Failure> {
        change_events(self, parts, LEAST_CHANGED, S::choose)
    }
}

/// Minimum number of events that a thread corrects, or makes the choices of, at a time.
const LEAST_CHANGED: usize = 128;
