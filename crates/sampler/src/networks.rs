//! Selects the sources for which flows trained after a survey are better than grids alone.
//!
//! A source gets its flow if it then needs fewer points per event than with its grid alone, as estimated before the
//! last part of the survey; otherwise the training may have diverged. A flow may also have missed a peak that the grid
//! found, and seem better for it: it is rejected if its cross section is too far from that of the survey. The points of
//! this decision do not count. The cross section of the survey remains that of grids alone.

use super::blocks::{Block, GridInput, blocks};
use super::flow::Flow;
use super::integrand::{Failure, Integrand};
use super::random::Philox;
use super::sums::WeightSums;
use super::survey::{FLOWS, Survey, SurveySettings};
use super::unweight::Spectrum;
use super::weigh::Weigh;

/// Maximum difference of the cross sections in standard deviations.
const FAR: f64 = 5.0;

/// Weighs points of a source with its grid; weights are in pb. `numbers` is `[point][dimensions + 1]`: the input of the
/// grid and a number that selects the partons. The number of points and the first one, `first`, are multiples of 8.
///
/// # Errors
/// A matrix element cannot be evaluated.
///
/// # Panics
/// If there is no such source, or the numbers have other dimensions.
pub fn weigh_given<W: Weigh + ?Sized>(
    integrand: &Integrand,
    survey: &Survey,
    source: usize,
    first: u64,
    numbers: &[f64],
    weigher: &mut W,
) -> Result<Vec<f64>, Failure> {
    let grid = &survey.sources[source].grid;
    let each = grid.dimensions() + 1;
    // Not used by any other points.
    let random = Philox {
        seed: 0,
        round: FLOWS,
        channel: source as u32,
    };
    let plan = blocks(source, grid, random, first, numbers.len() / each);
    let plan: Vec<Block> = plan
        .map(|block| {
            let begin = (block.first - first) as usize * each;
            block.with_numbers(GridInput::Given(&numbers[begin..][..block.count * each]))
        })
        .collect();
    let mut found = Vec::with_capacity(numbers.len() / each);
    weigher.set(integrand)?;
    weigher.weights(integrand, &plan, &mut |some| found.extend(some))?;
    Ok(found)
}

/// Tries one flow per source, and returns a survey with those that are better.
///
/// # Errors
/// A matrix element cannot be evaluated.
///
/// # Panics
/// If the number of sources differs, or a flow has dimensions that its source lacks.
pub fn try_flows<W: Weigh + ?Sized>(
    integrand: &Integrand,
    survey: &Survey,
    settings: &SurveySettings,
    flows: Vec<Option<Flow>>,
    weigher: &mut W,
) -> Result<Survey, Failure> {
    assert_eq!(flows.len(), survey.sources.len(), "another survey");
    let mut plan = Vec::new();
    for (source, (known, flow)) in survey.sources.iter().zip(&flows).enumerate() {
        let Some(flow) = flow else { continue };
        assert!(flow.fits(&known.grid), "a flow of another source");
        let random = Philox {
            seed: settings.seed,
            round: FLOWS,
            channel: source as u32,
        };
        let points = known.sums.points() as usize;
        let own = blocks(source, &known.grid, random, 0, points);
        plan.extend(own.map(|block| block.with_numbers(GridInput::Flow(flow))));
    }
    let mut found = vec![(WeightSums::default(), Spectrum::default()); flows.len()];
    weigher.set(integrand)?;
    weigher.learn(integrand, &plan, false, &mut |source, taught| {
        found[source].0.merge(&taught.sums);
        found[source].1.merge(&taught.spectrum);
    })?;
    drop(plan);
    let mut survey = survey.clone();
    for ((known, flow), (sums, spectrum)) in survey.sources.iter_mut().zip(flows).zip(found) {
        survey.points += sums.points();
        let Some(threshold) = spectrum.threshold(settings.overweight) else {
            continue;
        };
        let trial = [sums.mean_size().mean, threshold];
        let (mean, other) = (sums.mean(), known.sums.mean());
        let near = (mean.mean - other.mean).abs() <= FAR * mean.error.hypot(other.error);
        let fewer = trial[1] * known.trial[0] < known.trial[1] * trial[0];
        if flow.is_some() && near && fewer && sums.unusable() == 0 {
            known.flow = flow;
            (known.spectrum, known.trial) = (spectrum, trial);
        }
    }
    Ok(survey)
}
