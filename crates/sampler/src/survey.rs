//! The survey: explores the sources before events are generated from their points.
//!
//! Grids adapt in parts. The first part is a trial of all sources with even grids, which decides which sources are kept
//! ([`source_selection`]). Each further part has twice as many points, and a source takes part as long as the cost is small
//! compared with what the run needs of it: training pays off for sources that are important or whose weights vary. The
//! last part measures weights with the final grids. Its number of points is fixed before it is drawn and does not
//! depend on its own results: points that count for a cross section must not decide how many of them count. (A part
//! that stops when weights look even stops earlier when large weights are missing, and its mean is too small.)

use super::blocks::blocks;
use super::flow::Flow;
use super::grid::{Grid, Training};
use super::integrand::{Failure, Integrand, PointSource};
use super::parallel;
use super::random::Philox;
use super::source_selection::{self, TrialPoints};
use super::sums::{Estimate, WeightSums};
use super::unweight::{Spectrum, thresholds};
use super::weigh::{TrainingData, Weigh};
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};

/// Settings of a survey.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SurveySettings {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of events to generate.
    pub events: u64,
    /// Maximum excess of event weights above one, as a share of the cross section.
    pub overweight: f64,
    /// Relative error of the cross section that the survey must reach, if any.
    #[serde(default)]
    pub precision: Option<f64>,
}

/// Results of the survey for a source.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyedSource {
    /// Its grid.
    pub grid: Grid,
    /// The flow before the grid, if it is better; then `spectrum` and `trial` are those of flow and grid together.
    pub flow: Option<Flow>,
    /// Relative probability, apart from densities, of drawing each matrix element of the group.
    pub chances: Vec<f64>,
    /// Sums of the weights of the last part.
    pub sums: WeightSums,
    /// Spectrum of their absolute values.
    pub spectrum: Spectrum,
    /// Results before the last part: the mean absolute weight, and the threshold of events.
    pub trial: [f64; 2],
}

/// Results of a survey.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// The sources that are kept.
    pub sources: Vec<SurveyedSource>,
    /// Their indices in the integrand that was surveyed.
    pub stay: Vec<u32>,
    /// Number of sources of that integrand.
    pub of: u32,
    /// Total number of points drawn.
    pub points: u64,
}

/// Reason why there are no events.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEvents {
    /// No point passes the cuts.
    #[error(
        "of {0} points none passes the cuts, in any channel: loosen them, or look whether they exclude each other"
    )]
    NonePasses(u64),
    /// All weights are zero.
    #[error(
        "all points that pass the cuts have the weight zero: |M|^2 or the densities vanish there"
    )]
    AllZero,
    /// A few points carry nearly all of the cross section.
    #[error(
        "of {0} points only {1} become events, as a few have nearly all of the cross section: it is infinite, or hardly \
         within reach; give cuts that keep propagators from their poles"
    )]
    TooFew(u64, u64),
}

/// Points of a source in the trial: it begins with `FIRST` and adds three times as many as it has until `ENOUGH` of
/// them pass the cuts or it has `MAX_TRIED`.
const FIRST: usize = 1024;
const ENOUGH: u64 = 32;
const MAX_TRIED: u64 = 1 << 16;
/// Points of all sources in the trial: if there are thousands of sources, each gets an equal part, but at least
/// [`MIN_TRIED`], since other sources cover what it hardly reaches.
const ALL_TRIED: u64 = 1 << 22;
const MIN_TRIED: u64 = 1 << 12;
/// Points that pass the cuts in the part after the trial; each further part has twice as many.
const PASSING: f64 = 256.0;
/// Maximum number of points of that part, as a multiple of what the run needs of the source; at least `MIN_FIRST`.
const MAX_FIRST: f64 = 8.0;
const MIN_FIRST: f64 = 1024.0;
/// Lower bound for the share of points that pass, which limits the points of a part.
const MIN_PASSING: f64 = 0.05;
/// Points of the last part, as a share of what the run needs, within bounds.
const MEASURED: f64 = 0.2;
const MIN_MEASURED: f64 = 512.0;
const MAX_MEASURED: f64 = 65536.0;
/// Maximum number of parts, which also limits the points of the last of them.
const PARTS: u16 = 12;
/// Relative difference of weights that are equal up to rounding.
const SAME: f64 = 1e-9;
/// Damping exponent of the grids.
const DAMPING: f64 = 1.0;
/// Rounds of random numbers reserved for the survey; rounds of events have later ones.
pub(crate) const ROUNDS: u16 = 64;
/// The rounds of the last part and of flows.
const LAST: u16 = ROUNDS - 1;
pub(crate) const FLOWS: u16 = ROUNDS - 2;

impl TrainingData {
    /// Returns the number of points of which `passing` are expected to pass the cuts.
    fn points(&self, passing: f64) -> usize {
        let share = self.tried.passed as f64 / self.tried.drawn.max(1) as f64;
        whole_registers(passing / share.max(MIN_PASSING))
    }
}

/// Rounds a number of points up to whole registers.
pub(crate) fn whole_registers(points: f64) -> usize {
    (points.ceil() as usize).next_multiple_of(8)
}

/// Surveys an integrand and removes sources that others can replace.
///
/// # Errors
/// A matrix element cannot be evaluated, or there are no events ([`NoEvents`]).
pub fn survey<W: Weigh + ?Sized>(
    integrand: &mut Integrand,
    settings: &SurveySettings,
    weigher: &mut W,
) -> Result<Survey, Failure> {
    // Grids with as many dimensions share their edges until they adapt.
    let mut even = SortedMap::new();
    let mut grid = |source: &PointSource| {
        let dimension = source.channel.dimension();
        let grid = even
            .entry(dimension)
            .or_insert_with(|| Grid::new(dimension));
        grid.clone()
    };
    let mut surveyed = SurveyProgress {
        seed: settings.seed,
        grids: integrand.sources.iter().map(&mut grid).collect(),
        points: 0,
    };
    let of = integrand.sources.len() as u32;
    weigher.set(integrand)?;
    let mut latest = surveyed.trial(integrand, weigher)?;
    let tried: Vec<&TrialPoints> = latest.iter().map(|one| &one.tried).collect();
    let stay = source_selection::sources_to_keep(integrand, &tried, weigher.threads());
    if stay.is_empty() {
        return Err(NoEvents::NonePasses(surveyed.points).into());
    }
    source_selection::keep_sources(integrand, &stay);
    surveyed.grids = source_selection::select(&surveyed.grids, &stay);
    for one in &mut latest {
        one.tried.forget_points();
    }
    latest = source_selection::select(&latest, &stay);
    surveyed.learn(integrand, &mut latest, |_| true, weigher.threads());
    weigher.set(integrand)?;
    let mut more = points_after_trial(&latest, settings);
    for part in 1..PARTS {
        let mut found = surveyed.part(integrand, part, &more, weigher)?;
        let had = |source: usize| more[source] > 0;
        surveyed.learn(integrand, &mut found, had, weigher.threads());
        weigher.set(integrand)?;
        for ((latest, found), &count) in latest.iter_mut().zip(found).zip(&more) {
            if count > 0 {
                *latest = found;
            }
        }
        let needed = points_needed(&latest, settings);
        let passing = PASSING * f64::from(1 << part);
        for (source, more) in more.iter_mut().enumerate() {
            let next = latest[source].points(passing);
            // A grid gains less with each part.
            let worth = *more > 0 && f64::from(part + 1) * next as f64 <= needed[source];
            *more = if worth { next } else { 0 };
        }
        if more.iter().all(|&more| more == 0) {
            break;
        }
    }
    let counts = points_of_last_part(&latest, settings);
    let last = surveyed.part(integrand, LAST, &counts, weigher)?;
    if last.iter().all(|one| one.sums.passed() == 0) {
        return Err(NoEvents::AllZero.into());
    }
    let SurveyProgress { grids, points, .. } = surveyed;
    let sources = (grids
        .into_iter()
        .zip(last)
        .zip(&latest)
        .zip(&integrand.sources))
    .map(|(((grid, last), trial), source)| SurveyedSource {
        grid,
        flow: None,
        chances: source.chances.clone(),
        sums: last.sums,
        spectrum: last.spectrum,
        trial: [
            trial.sums.mean_size().mean,
            trial.spectrum.threshold(settings.overweight).unwrap_or(0.0),
        ],
    });
    Ok(Survey {
        sources: sources.collect(),
        stay,
        of,
        points,
    })
}

struct SurveyProgress {
    seed: u64,
    grids: Vec<Grid>,
    points: u64,
}

impl SurveyProgress {
    /// Performs the first part; sources with few points that pass the cuts get more.
    fn trial<W: Weigh + ?Sized>(
        &mut self,
        integrand: &Integrand,
        weigher: &mut W,
    ) -> Result<Vec<TrainingData>, Failure> {
        let mut found: Vec<TrainingData> =
            integrand.sources.iter().map(TrainingData::empty).collect();
        let most = (ALL_TRIED / found.len().max(1) as u64).clamp(MIN_TRIED, MAX_TRIED);
        loop {
            let missing = |one: &TrainingData| match one.tried.drawn {
                0 => FIRST,
                drawn if one.tried.passed < ENOUGH && drawn < most => 3 * drawn as usize,
                _ => 0,
            };
            let counts: Vec<usize> = found.iter().map(missing).collect();
            if counts.iter().all(|&count| count == 0) {
                return Ok(found);
            }
            let firsts: Vec<u64> = found.iter().map(|one| one.tried.drawn).collect();
            self.draw(integrand, 0, &firsts, &counts, weigher, &mut found)?;
        }
    }

    /// Performs a part with these numbers of points of each source.
    fn part<W: Weigh + ?Sized>(
        &mut self,
        integrand: &Integrand,
        part: u16,
        counts: &[usize],
        weigher: &mut W,
    ) -> Result<Vec<TrainingData>, Failure> {
        let mut found: Vec<TrainingData> =
            integrand.sources.iter().map(TrainingData::empty).collect();
        let firsts = vec![0; counts.len()];
        self.draw(integrand, part, &firsts, counts, weigher, &mut found)?;
        Ok(found)
    }

    fn draw<W: Weigh + ?Sized>(
        &mut self,
        integrand: &Integrand,
        part: u16,
        firsts: &[u64],
        counts: &[usize],
        weigher: &mut W,
        found: &mut [TrainingData],
    ) -> Result<(), Failure> {
        let mut plan = Vec::new();
        for (number, grid) in self.grids.iter().enumerate() {
            let random = Philox {
                seed: self.seed,
                round: part,
                channel: number as u32,
            };
            plan.extend(blocks(number, grid, random, firsts[number], counts[number]));
        }
        self.points += counts.iter().map(|&count| count as u64).sum::<u64>();
        weigher.learn(integrand, &plan, part == 0, &mut |source, taught| {
            found[source].merge(taught);
        })
    }

    /// Adapts the grids and chances of the sources selected by `of` to the results of a part, of which the sums for grids
    /// are dropped.
    fn learn(
        &mut self,
        integrand: &mut Integrand,
        found: &mut [TrainingData],
        of: impl Fn(usize) -> bool + Sync,
        threads: usize,
    ) {
        let grids = parallel::map_large(threads, found.len(), |number| {
            (of(number) && weights_vary(&found[number].sums)).then(|| {
                let mut grid = self.grids[number].clone();
                let mut training = found[number].training.clone();
                // Weights depend only on combinations of azimuths, so grids would follow noise.
                for dimension in integrand.sources[number].channel.azimuths() {
                    training.forget(dimension);
                }
                grid.adapt(&training, DAMPING);
                grid
            })
        });
        for (number, grid) in grids.into_iter().enumerate() {
            found[number].training = Training::default();
            if let Some(grid) = grid {
                self.grids[number] = grid;
                update_chances(&mut integrand.sources[number].chances, &found[number].sizes);
            }
        }
    }
}

/// Returns whether weights differ. In a two-body decay they do not, and a grid would follow statistical fluctuations of
/// the number of points in its bins.
fn weights_vary(sums: &WeightSums) -> bool {
    sums.largest() > sums.mean_size().mean * (1.0 + SAME)
}

/// Returns the number of points of each source for the events of the run. Events of all sources have the same weight if
/// the points of each are in proportion to its threshold.
fn points_needed(latest: &[TrainingData], settings: &SurveySettings) -> Vec<f64> {
    let total: f64 = latest.iter().map(|one| one.sums.mean_size().mean).sum();
    let spectra = latest.iter().map(|one| (&one.spectrum, one.sums.points()));
    let thresholds = thresholds(&spectra.collect::<Vec<_>>(), settings.overweight).into_iter();
    let points = |threshold: Option<f64>| match total > 0.0 {
        true => settings.events as f64 / total * threshold.unwrap_or(0.0),
        false => 0.0,
    };
    thresholds.map(points).collect()
}

/// Returns the points of the part after the trial: few for a source with few points in the run.
fn points_after_trial(latest: &[TrainingData], settings: &SurveySettings) -> Vec<usize> {
    let of = |(one, needed): (&TrainingData, f64)| {
        let most = (MAX_FIRST * needed).max(MIN_FIRST);
        one.points(PASSING).min(whole_registers(most))
    };
    latest
        .iter()
        .zip(points_needed(latest, settings))
        .map(of)
        .collect()
}

/// Returns the points of the last part.
fn points_of_last_part(latest: &[TrainingData], settings: &SurveySettings) -> Vec<usize> {
    let needed = points_needed(latest, settings);
    let share = needed.into_iter().map(|needed| {
        let points = (MEASURED * needed).clamp(MIN_MEASURED, MAX_MEASURED);
        whole_registers(points)
    });
    let mut points: Vec<usize> = share.collect();
    if let Some(precision) = settings.precision {
        // For a given total, the error is smallest if the points of each source are in proportion to the spread of its
        // weights.
        let spread =
            |one: &TrainingData| one.sums.unbiased_mean().error * (one.sums.points() as f64).sqrt();
        let (all, mean) = latest.iter().fold((0.0, 0.0), |(all, mean), one| {
            (all + spread(one), mean + one.sums.unbiased_mean().mean)
        });
        for (points, one) in points.iter_mut().zip(latest) {
            let least = spread(one) * all / (precision * mean).powi(2);
            if least.is_finite() {
                *points = (*points).max(whole_registers(least));
            }
        }
    }
    points
}

/// Minimum chance of a matrix element, relative to equal chances: few points determine only its average |M|^2, not
/// |M|^2 everywhere.
const MIN_CHANCE: f64 = 0.3;

/// Updates the chances, so that matrix elements are drawn by their densities and their mean |M|^2.
fn update_chances(chances: &mut [f64], sizes: &[[f64; 2]]) {
    let mean = |&[with, without]: &[f64; 2]| if without > 0.0 { with / without } else { 0.0 };
    let means: Vec<f64> = sizes.iter().map(mean).collect();
    let total: f64 = means.iter().sum();
    if chances.len() < 2 || !(total > 0.0 && total.is_finite()) {
        return;
    }
    let least = MIN_CHANCE / chances.len() as f64;
    for (chance, mean) in chances.iter_mut().zip(means) {
        *chance = f64::max(mean / total, least);
    }
}

impl Survey {
    /// Applies the survey to an integrand like the one that was surveyed: removes sources and sets the chances of
    /// matrix elements.
    ///
    /// # Errors
    /// The integrand has other sources.
    pub fn apply(&self, integrand: &mut Integrand) -> crate::Result<()> {
        let fits = |(known, &source): (&SurveyedSource, &u32)| {
            let source = integrand.sources.get(source as usize);
            source.is_some_and(|source| {
                known.grid.dimensions() == source.channel.dimension()
                    && known.chances.len() == source.chances.len()
                    && known.flow.iter().all(|flow| flow.fits(&known.grid))
            })
        };
        let same = integrand.sources.len() == self.of as usize;
        if !same || !self.sources.iter().zip(&self.stay).all(fits) {
            return Err(crate::Error::OtherRun);
        }
        source_selection::keep_sources(integrand, &self.stay);
        for (source, known) in integrand.sources.iter_mut().zip(&self.sources) {
            source.chances.clone_from(&known.chances);
        }
        Ok(())
    }

    /// Returns the cross section of the last part in pb.
    pub fn cross_section(&self) -> Estimate {
        Estimate::sum(self.sources.iter().map(|one| one.sums.unbiased_mean()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of which `passed` of 65536 points pass, all with the same weight.
    fn taught(passed: usize, weight: f64) -> TrainingData {
        let mut weights = vec![0.0; 1 << 16];
        weights[..passed].fill(weight);
        let mut spectrum = Spectrum::default();
        spectrum.add(&weights);
        TrainingData {
            sums: WeightSums::new(&weights),
            training: Training::new(0),
            spectrum,
            sizes: Vec::new(),
            tried: TrialPoints::new(Vec::new(), Vec::new(), 0, 1 << 16, passed as u64),
        }
    }

    #[test]
    fn sources_that_a_run_hardly_needs_are_taught_little() {
        // A sixteenth passes: 4096 points for 256 of them.
        let sources = [taught(1 << 12, 1.0), taught(1 << 12, 1e-3)];
        let points = |events: u64| {
            let settings = SurveySettings {
                seed: 1,
                events,
                overweight: 0.0,
                precision: None,
            };
            points_after_trial(&sources, &settings)
        };
        // The first one has nearly all events, each of some sixteen points.
        assert_eq!(points(4), [1024, 1024]);
        assert_eq!(points(16), [2048, 1024]);
        assert_eq!(points(1_000_000), [4096, 4096]);
    }
}
