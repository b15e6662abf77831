//! A survey: grids adapt in some parts, the last of which measures.

use super::blocks::{Block, Harvest, blocks, weigh};
use super::grid::{Grid, Training};
use super::integrand::{Failure, Integrand, Source, Squared, Workspace};
use super::random::{ACCEPTANCE, Philox};
use super::sums::{Estimate, WeightSums};
use super::unweight::{Spectrum, is_event};

/// What is known of a source.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its grid.
    pub grid: Grid,
    /// The weights of the last part.
    pub sums: WeightSums,
    /// Their sizes.
    pub spectrum: Spectrum,
}

/// What a block taught.
#[derive(Debug)]
pub struct Taught {
    source: usize,
    sums: WeightSums,
    training: Training,
    spectrum: Spectrum,
    /// By matrix element of the group the size of the weights, and the same without |M|^2.
    sizes: Vec<[f64; 2]>,
}

struct Learn<'a> {
    integrand: &'a Integrand,
}

impl Harvest for Learn<'_> {
    type Kept = Taught;

    fn keep(&self, block: &Block, work: &Workspace) -> Taught {
        let source = &self.integrand.sources[block.source];
        let mut training = Training::new(block.grid.dimensions());
        training.add(&work.numbers, &work.weights);
        let mut spectrum = Spectrum::default();
        spectrum.add(&work.weights);
        let mut sizes = vec![[0.0; 2]; source.chances.len()];
        for (place, (&point, &drawn)) in work.kept.iter().zip(&work.drawn).enumerate() {
            let weight = work.weights[point as usize].abs();
            let without = weight / work.squared[place].abs();
            if without.is_finite() {
                let partons = &self.integrand.groups[source.group].partons;
                let of = &mut sizes[partons[drawn as usize].element];
                of[0] += weight;
                of[1] += without;
            }
        }
        Taught {
            source: block.source,
            sums: WeightSums::of(&work.weights),
            training,
            spectrum,
            sizes,
        }
    }
}

/// Adapts the grids of all sources in parts of so many points each, a multiple of 8.
///
/// # Errors
/// A matrix element cannot be evaluated.
pub fn survey<S: Squared + Send>(
    integrand: &mut Integrand,
    seed: u64,
    parts: &[usize],
    damping: f64,
    evaluators: &mut [S],
) -> Result<Vec<Known>, Failure> {
    let known = |dimension: usize| Known {
        grid: Grid::new(dimension),
        sums: WeightSums::default(),
        spectrum: Spectrum::default(),
    };
    let dimensions = integrand
        .sources
        .iter()
        .map(|source| source.channel.dimension());
    let mut all: Vec<Known> = dimensions.map(known).collect();
    for (part, &count) in parts.iter().enumerate() {
        let mut plan = Vec::new();
        for (number, one) in all.iter().enumerate() {
            let random = Philox {
                seed,
                round: part as u16,
                channel: number as u32,
            };
            plan.extend(blocks(number, &one.grid, random, 0, count));
        }
        let learn = Learn { integrand };
        let taught = weigh(integrand, &plan, evaluators, &learn)?;
        for one in &mut all {
            one.sums = WeightSums::default();
            one.spectrum = Spectrum::default();
        }
        let mut trainings: Vec<Training> = (all.iter())
            .map(|one| Training::new(one.grid.dimensions()))
            .collect();
        let none = |source: &Source| vec![[0.0; 2]; source.chances.len()];
        let mut sizes: Vec<Vec<[f64; 2]>> = integrand.sources.iter().map(none).collect();
        for of in &taught {
            let one = &mut all[of.source];
            one.sums.merge(&of.sums);
            one.spectrum.merge(&of.spectrum);
            trainings[of.source].merge(&of.training);
            for (sum, size) in sizes[of.source].iter_mut().zip(&of.sizes) {
                sum[0] += size[0];
                sum[1] += size[1];
            }
        }
        if part + 1 < parts.len() {
            for (number, one) in all.iter_mut().enumerate() {
                one.grid.adapt(&trainings[number], damping);
                learn_chances(&mut integrand.sources[number].chances, &sizes[number]);
            }
        }
    }
    Ok(all)
}

/// Of what each matrix element would have if all were the same: few points say what is so on average, not everywhere.
const LEAST_CHANCE: f64 = 0.3;

/// Matrix elements are drawn by their densities and their mean |M|^2.
fn learn_chances(chances: &mut [f64], sizes: &[[f64; 2]]) {
    let mean = |&[with, without]: &[f64; 2]| if without > 0.0 { with / without } else { 0.0 };
    let means: Vec<f64> = sizes.iter().map(mean).collect();
    let total: f64 = means.iter().sum();
    if chances.len() < 2 || !(total > 0.0 && total.is_finite()) {
        return;
    }
    let least = LEAST_CHANCE / chances.len() as f64;
    for (chance, mean) in chances.iter_mut().zip(means) {
        *chance = f64::max(mean / total, least);
    }
}

/// The cross section that a survey measured, pb.
pub fn cross_section(known: &[Known]) -> Estimate {
    Estimate::sum(known.iter().map(|one| one.sums.mean()))
}

/// Counts the events of points.
#[derive(Debug)]
pub struct Count<'a> {
    /// Of each source the weight above which points are events more than once.
    pub thresholds: &'a [f64],
}

impl Harvest for Count<'_> {
    type Kept = (usize, WeightSums, u64);

    fn keep(&self, block: &Block, work: &Workspace) -> Self::Kept {
        let mut events = 0;
        for &point in &work.kept {
            let number = block
                .random
                .number(block.first + u64::from(point), ACCEPTANCE);
            let weight = work.weights[point as usize];
            events += u64::from(is_event(weight, number, self.thresholds[block.source]));
        }
        (block.source, WeightSums::of(&work.weights), events)
    }
}
