//! The survey of a run, and its rounds of events. Each round begins with the results of the survey and has its own
//! random numbers, so that any machine can repeat it.

use crate::exact::sum;
use crate::maker::Maker;
use crate::round::{Measured, POINTS, RoundCounts, RoundResult, SurveyPoints};
use crate::state::{SURVEY, SettledRound, State};
use crate::summary;
use crate::text::significant;
use mebridge::{Error, Result};
use mebridge_sampler::rounds::{CorrectionSums, planned_points};
use mebridge_sampler::sums::Estimate;
use mebridge_sampler::survey::SurveySettings;
use mebridge_support::signals;
use mebridge_support::sorted::{SortedMap, SortedSet};
use sha2::{Digest, Sha256};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, ScopedJoinHandle};

/// Usual number of rounds of a run, and the least and largest number of events of a round, on CPUs and on GPUs. The
/// largest number limits memory: longer runs have more rounds. On a GPU a round of few events takes as long as one of
/// many.
const ROUNDS: u64 = 20;
const MIN_ROUND: [u64; 2] = [5000, 250_000];
const MAX_ROUND: [u64; 2] = [50_000, 500_000];

/// Returns the number of events of each round.
pub fn sizes(events: u64, on_gpus: bool) -> Vec<u64> {
    let [least, most] = [MIN_ROUND, MAX_ROUND].map(|of| of[usize::from(on_gpus)]);
    let count = (events / least)
        .min(ROUNDS)
        .max(events.div_ceil(most))
        .max(1);
    let size = |round| events / count + u64::from(round < events % count);
    (0..count).map(size).collect()
}

/// Returns the seed of the random numbers of a part of a run: the first 56 bits of the SHA-256 of the seed of the run
/// and the name of the part.
pub fn seed(of_run: &str, part: &str) -> u64 {
    let hash = Sha256::digest(format!("{of_run} {part}"));
    hash[..7]
        .iter()
        .fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// Performs the survey and the rounds of a run.
pub trait Perform {
    /// Performs the survey and stores the results in the folder `part`, as [`Maker::survey`] does.
    ///
    /// # Errors
    /// Those of [`Maker::survey`].
    fn survey(
        &mut self,
        part: &Path,
        settings: &SurveySettings,
        notices: &mut Vec<String>,
    ) -> Result<()>;

    /// Makes the rounds that are not finished, and calls `report` after each.
    ///
    /// # Errors
    /// Those of `report` or of a round.
    fn rounds(
        &mut self,
        rounds: &mut Rounds,
        report: &mut dyn FnMut(&Rounds) -> Result<()>,
    ) -> Result<()>;
}

impl Perform for Maker<'_> {
    fn survey(
        &mut self,
        part: &Path,
        settings: &SurveySettings,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        Maker::survey(self, part, settings, notices)
    }

    fn rounds(
        &mut self,
        rounds: &mut Rounds,
        report: &mut dyn FnMut(&Rounds) -> Result<()>,
    ) -> Result<()> {
        let settle = rounds.state.settle();
        let mut keep = |rounds: &mut Rounds, number, settled| {
            rounds.state.keep_round(number, settled)?;
            report(rounds)
        };
        std::thread::scope(|scope| {
            // Thread that writes the files of the preceding round.
            let mut before = None;
            for number in rounds.open() {
                let (part, settings) = rounds.begin(number)?;
                let survey = rounds
                    .surveyed()
                    .expect("a survey before rounds")
                    .to_owned();
                self.load(&survey)?;
                let made = self.round(&part, &settings);
                if let Some((number, settled)) = before.take() {
                    keep(rounds, number, joined(settled)?)?;
                }
                let (found, settle) = (made?, &settle);
                let all = {
                    let (part, found) = (part.clone(), found.clone());
                    move || settle(number, &part, found)
                };
                match signals::with_blocked_signals(|| Builder::new().spawn_scoped(scope, all)) {
                    Ok(thread) => before = Some((number, thread)),
                    // If no thread can be started, this one writes the files.
                    Err(_) => keep(rounds, number, settle(number, &part, found)?)?,
                }
            }
            match before {
                Some((number, settled)) => keep(rounds, number, joined(settled)?),
                None => Ok(()),
            }
        })
    }
}

/// Returns the result of a thread, or continues its panic.
fn joined(thread: ScopedJoinHandle<'_, Result<SettledRound>>) -> Result<SettledRound> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// The survey and the rounds of a run.
pub struct Rounds {
    state: State,
    events: u64,
    seed: String,
    overweight: f64,
    on_gpus: bool,
    surveyed: Option<(PathBuf, SurveyPoints)>,
    /// Results of rounds of other runs with the same survey.
    before: Vec<RoundCounts>,
}

impl Rounds {
    /// Plans the rounds of a run of `events` events. A run that continues with more events keeps its rounds; the events
    /// of an event file that is extended count as already made.
    ///
    /// Args: `seed` determines the random numbers; `overweight` is that of [`crate::RunSpec`].
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn new(
        state: State,
        events: u64,
        seed: impl ToString,
        overweight: f64,
        on_gpus: bool,
    ) -> Result<Self> {
        let mut rounds = Rounds {
            state,
            events,
            seed: seed.to_string(),
            overweight,
            on_gpus,
            surveyed: None,
            before: Vec::new(),
        };
        rounds.extend(events.saturating_sub(rounds.state.written().events))?;
        Ok(rounds)
    }

    /// Plans further rounds until there are `events` events besides those of an event file.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn extend(&mut self, events: u64) -> Result<()> {
        let mut planned = self.state.sizes().to_vec();
        let begun: u64 = planned[self.state.written().rounds..].iter().sum();
        if events > begun {
            planned.extend(sizes(events - begun, self.on_gpus));
        }
        self.state.plan(planned)
    }

    /// The seed of the run.
    pub fn seed(&self) -> &str {
        &self.seed
    }

    /// The state of the run, with its finished parts.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Number of events of the finished rounds.
    pub fn finished_events(&self) -> u64 {
        let rounds = self.state.rounds().values();
        rounds.map(|round| round.counted.events).sum()
    }

    /// The folder of the survey's mappings; `None` before the survey.
    pub fn surveyed(&self) -> Option<&Path> {
        self.surveyed.as_ref().map(|(folder, _)| &**folder)
    }

    fn settings(&self, events: u64, part: &str, precision: Option<f64>) -> SurveySettings {
        SurveySettings {
            seed: seed(&self.seed, part),
            events,
            overweight: self.overweight,
            precision,
        }
    }

    /// Performs the survey unless it is finished. Notices for the user are added to `notices`.
    ///
    /// # Errors
    /// Nothing passes the cuts, a matrix element cannot be evaluated, or the state cannot be written.
    pub fn survey(
        &mut self,
        performer: &mut dyn Perform,
        precision: Option<f64>,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        let folder = match self.state.kept_part(SURVEY) {
            Some(folder) => folder,
            None => {
                let settings = self.settings(self.events, SURVEY, precision);
                let part = self.state.part(SURVEY)?;
                performer.survey(&part, &settings, notices)?;
                self.state.keep_part(SURVEY, &part)?
            }
        };
        self.use_survey(&folder)
    }

    /// Uses the survey in this folder for the rounds.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn use_survey(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join(POINTS);
        let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
        let points: SurveyPoints = postcard::from_bytes(&bytes)
            .map_err(|_| Error::run(format!("{} is no survey", path.display()), "survey anew"))?;
        self.surveyed = Some((folder.to_owned(), points));
        Ok(())
    }

    /// Includes rounds of other runs in the cross section; they must have the same survey and other random numbers.
    pub fn count(&mut self, rounds: Vec<RoundCounts>) {
        self.before = rounds;
    }

    /// Returns the rounds of this run for [`Self::count`] of another.
    pub fn counted(&self) -> Vec<RoundCounts> {
        let rounds = self.state.rounds().values();
        rounds.map(|round| round.counted.clone()).collect()
    }

    /// Returns the numbers of the rounds that are not finished.
    pub fn open(&self) -> Vec<usize> {
        let done = self.state.rounds();
        let all = 0..self.state.sizes().len();
        all.filter(|number| !done.contains_key(number)).collect()
    }

    /// Makes the rounds that are not finished, and calls `report` after each.
    ///
    /// # Errors
    /// Those of `report`, with which a caller can end the run, and those of rounds. Finished rounds are kept.
    ///
    /// # Panics
    /// If there is no survey.
    pub fn run(
        &mut self,
        performer: &mut dyn Perform,
        mut report: impl FnMut(&Rounds) -> Result<()>,
    ) -> Result<()> {
        performer.rounds(self, &mut report)
    }

    /// Returns an empty folder for a round, and its settings for [`Maker::round`].
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn begin(&self, number: usize) -> Result<(PathBuf, SurveySettings)> {
        let events = self.state.sizes()[number];
        let settings = self.settings(events, &format!("round {number}"), None);
        Ok((self.state.part(&format!("round{number:04}"))?, settings))
    }

    /// Adds a finished round, whose files are in the folder `part`, to the state.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn add_round(&mut self, number: usize, part: &Path, found: RoundResult) -> Result<()> {
        let settled = self.state.settle()(number, part, found)?;
        self.state.keep_round(number, settled)
    }

    /// Returns all rounds that count for the cross section, in the order of their numbers and not in that of their
    /// completion.
    fn counting(&self) -> impl Iterator<Item = &RoundCounts> {
        let own = self.state.rounds().values().map(|round| &round.counted);
        self.before.iter().chain(own)
    }

    /// Returns the cross section in pb; `None` before the first round. It follows from the last part of the survey and
    /// from those points of the rounds whose number was fixed before they were drawn.
    pub fn cross_section(&self) -> Option<Estimate> {
        let groups = self.groups()?;
        Some(total(
            groups.iter().map(|group| (group.mean, group.variance)),
        ))
    }

    /// Returns the total cross section, and that of each matrix element, by index; `elements` is the number of matrix
    /// elements.
    pub fn measured(&self, elements: usize) -> Option<(summary::Measured, Vec<summary::Measured>)> {
        let groups = self.groups()?;
        let all = total(groups.iter().map(|group| (group.mean, group.variance)));
        let of = |element: usize| pair(self.sum_of(&groups, |one| one == element));
        Some((pair(all), (0..elements).map(of).collect()))
    }

    /// Returns process numbers and the cross section of each, in ascending order; `numbers` has the process number of
    /// each matrix element.
    pub fn by_process(&self, numbers: &[i32]) -> Option<Vec<(i32, summary::Measured)>> {
        let groups = self.groups()?;
        let measured = |number: i32| {
            let sum = self.sum_of(&groups, |element| numbers.get(element) == Some(&number));
            (number, pair(sum))
        };
        let distinct: SortedSet<i32> = numbers.iter().copied().collect();
        Some(distinct.into_iter().map(measured).collect())
    }

    /// Returns averages of the weights in the event file for events with a bias; `None` without a bias. `numbers` has
    /// the process number of each matrix element.
    pub fn biased(&self, numbers: &[i32]) -> Option<BiasedEvents> {
        let (_, points) = self.surveyed.as_ref()?;
        if points.biased.is_empty() {
            return None;
        }
        let channels = self.channels(points, &points.biased, |round| &round.biased);
        let size = total(channels.into_iter());
        let rounds = || self.state.rounds().values();
        let events = rounds().map(|round| round.counted.events).sum::<u64>() as f64;
        let of = |round: &RoundResult| round.weights.drawn() / round.weights.nominal;
        let unit = size.mean * events / sum(rounds().map(of));
        // Sums of weights and of squared weights, by process.
        let mut sums: SortedMap<i32, [f64; 2]> =
            numbers.iter().map(|&one| (one, [0.0; 2])).collect();
        for round in rounds() {
            let scale = unit / round.weights.nominal;
            for (&element, &[_, weights, squares]) in &round.counted.drawn {
                let sums = numbers
                    .get(element as usize)
                    .and_then(|one| sums.get_mut(one));
                if let Some([own, square]) = sums {
                    *own += weights * scale;
                    *square += squares * scale * scale;
                }
            }
        }
        let measured = |[own, square]: [f64; 2]| {
            let (mean, spread) = (own / events, (square - own * own / events).max(0.0));
            let of_unit = mean * size.error / size.mean;
            (mean, f64::hypot(spread.sqrt() / events, of_unit))
        };
        let all = sums.values().fold([0.0; 2], |[own, square], one| {
            [own + one[0], square + one[1]]
        });
        Some(BiasedEvents {
            unit,
            worth: all[0] * all[0] / all[1],
            all: measured(all),
            processes: sums
                .into_iter()
                .map(|(number, of)| (number, measured(of)))
                .collect(),
        })
    }

    /// Returns the sum of the cross sections of the matrix elements for which `own` is true.
    fn sum_of(&self, groups: &[SharedChannels], own: impl Fn(usize) -> bool) -> Estimate {
        total(groups.iter().filter_map(|group| {
            let some = group.members.iter().filter(|&&one| own(one)).count();
            if some == 0 {
                return None;
            }
            if some == group.members.len() {
                return Some((group.mean, group.variance));
            }
            let (share, spread) = self.share(&own, group.members);
            let variance = group.variance * (share * share) + group.mean * group.mean * spread;
            Some((group.mean * share, variance))
        }))
    }

    /// Returns the cross section of each group of matrix elements that share channels; `None` before the first round.
    fn groups(&self) -> Option<Vec<SharedChannels<'_>>> {
        let (_, points) = self.surveyed.as_ref()?;
        self.counting().next()?;
        let channels = self.channels(points, &points.measured, |round| &round.measured);
        let mut own: SortedMap<&[usize], Vec<usize>> = SortedMap::new();
        for (number, members) in points.elements.iter().enumerate() {
            own.entry(members).or_default().push(number);
        }
        let of_all = CorrectionSums::total(self.counting().flat_map(|one| &one.corrections));
        let group = |(members, own): (_, Vec<usize>)| {
            let corrections = self
                .counting()
                .flat_map(|one| own.iter().filter_map(|&number| one.corrections.get(number)));
            let ratio = CorrectionSums::total(corrections).mean_among(&of_all);
            let found = total(own.iter().map(|&number| channels[number]));
            let found = found.times(ratio);
            SharedChannels {
                members,
                mean: found.mean,
                variance: found.error * found.error,
            }
        };
        Some(own.into_iter().map(group).collect())
    }

    /// Returns the share of some matrix elements in the cross section of the group `members`, estimated from events,
    /// and its variance.
    fn share(&self, is_own: impl Fn(usize) -> bool, members: &[usize]) -> (f64, f64) {
        let rows = members.iter().map(|&number| {
            [0, 1, 2].map(|column| {
                let drawn = self.counting().map(|one| one.drawn.get(&(number as u32)));
                sum(drawn.map(|row| row.map_or(0.0, |row| row[column])))
            })
        });
        let rows: Vec<[f64; 3]> = rows.collect();
        let all = |column: usize| sum(rows.iter().map(|row| row[column]));
        let of_own = |column: usize| {
            let rows = members.iter().zip(&rows).filter(|(one, _)| is_own(**one));
            sum(rows.map(|(_, row)| row[column]))
        };
        let [count, own, square] = [0, 1, 2].map(of_own);
        let (total, squares) = (all(1), all(2));
        if total == 0.0 {
            return (0.0, 0.0);
        }
        if count == 0.0 {
            // With one expected event, none is still likely: the variance is that of one event of average squared
            // weight.
            return (0.0, squares / all(0) / (total * total));
        }
        let (share, rest) = (own / total, 1.0 - own / total);
        let variance = square * (rest * rest) + (squares - square) * (share * share);
        (share, variance / (total * total))
    }

    /// Returns the mean of a measured quantity for each channel, such as the cross section, and its variance.
    fn channels(
        &self,
        points: &SurveyPoints,
        of_survey: &[Measured],
        of_round: impl Fn(&RoundCounts) -> &[Measured],
    ) -> Vec<(f64, f64)> {
        let channel = |number: usize| {
            let survey = of_survey[number];
            let mut sums = Weighted::default();
            sums.add(survey.0 as f64, survey);
            // As in `mebridge_sampler::rounds::cross_section`.
            for one in self.counting() {
                sums.add(
                    planned_points(one.events, points.shares[number]),
                    of_round(one)[number],
                );
            }
            (
                sums.mean / sums.weight,
                sums.square / (sums.weight * sums.weight),
            )
        };
        (0..points.elements.len()).map(channel).collect()
    }
}

/// Properties of events whose weights are divided by their bias.
#[derive(Clone, Debug, PartialEq)]
pub struct BiasedEvents {
    /// The weight of an event whose bias is 1, pb.
    pub unit: f64,
    /// Number of events of equal weight whose sum would have the same relative error.
    pub worth: f64,
    /// Mean of their weights in pb, with its statistical error.
    pub all: summary::Measured,
    /// The part of each process, by number.
    pub processes: Vec<(i32, summary::Measured)>,
}

impl BiasedEvents {
    /// Returns the line of a summary.
    pub fn line(&self) -> String {
        let (mean, error) = self.all;
        format!(
            "weights have a bias: they average to {} +- {} pb, which <init> has, and are worth {:.0} events of one weight",
            significant(mean, 6),
            significant(error, 2),
            self.worth
        )
    }
}

/// Matrix elements that share channels, by index, and the sum of their cross sections.
struct SharedChannels<'a> {
    members: &'a [usize],
    /// Cross section, pb.
    mean: f64,
    /// Variance of the mean, pb^2.
    variance: f64,
}

fn pair(found: Estimate) -> summary::Measured {
    (found.mean, found.error)
}

/// Returns the sum of means, with its error from their variances.
fn total(of: impl Iterator<Item = (f64, f64)>) -> Estimate {
    let (means, variances): (Vec<f64>, Vec<f64>) = of.unzip();
    Estimate {
        mean: sum(means),
        error: sum(variances).sqrt(),
    }
}

/// A weighted mean of results: sums of weights, weighted means, and squared weighted errors.
#[derive(Default)]
struct Weighted {
    weight: f64,
    mean: f64,
    square: f64,
}

impl Weighted {
    fn add(&mut self, weight: f64, (_, mean, error): Measured) {
        self.weight += weight;
        self.mean += weight * mean;
        self.square += (weight * error) * (weight * error);
    }
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
