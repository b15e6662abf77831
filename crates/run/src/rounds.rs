//! A survey, and rounds of events. Each round begins where the survey ended, with random numbers of its own, so that it
//! can be made again, anywhere.

use crate::exact::sum;
use crate::maker::Maker;
use crate::round::{Measured, POINTS, RoundCounts, RoundFound, SurveyPoints};
use crate::state::{SURVEY, SettledRound, State};
use crate::summary;
use crate::text::significant;
use mebridge::{Error, Result};
use mebridge_sampler::sums::Estimate;
use mebridge_sampler::survey::SurveySettings;
use mebridge_support::signals;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{Builder, ScopedJoinHandle};

/// Into how many rounds a run is divided, and how many events each has at least. At most as many as memory has room for:
/// larger runs have more rounds. On a GPU a round of few events takes as long as one of many.
const ROUNDS: u64 = 20;
const LEAST: [u64; 2] = [5000, 250_000];
const MOST: [u64; 2] = [50_000, 500_000];
/// Points are drawn in groups of so many.
const GROUP: f64 = 8.0;

/// Events of each round, on CPUs or on GPUs.
pub fn sizes(events: u64, on_gpus: bool) -> Vec<u64> {
    let [least, most] = [LEAST, MOST].map(|of| of[usize::from(on_gpus)]);
    let count = (events / least)
        .min(ROUNDS)
        .max(events.div_ceil(most))
        .max(1);
    let size = |round| events / count + u64::from(round < events % count);
    (0..count).map(size).collect()
}

/// The seed of the random numbers of a part of a run: the first 56 bits of the SHA-256 of the seed of the run and the name
/// of the part.
pub fn seed(of_run: &str, part: &str) -> u64 {
    let hash = Sha256::digest(format!("{of_run} {part}"));
    hash[..7]
        .iter()
        .fold(0, |seed, byte| seed << 8 | u64::from(*byte))
}

/// What does the parts of a run.
pub trait Perform {
    /// Surveys the whole run, and leaves what it finds in a folder, as [`Maker::survey`] does.
    ///
    /// # Errors
    /// Those of that.
    fn survey(
        &mut self,
        part: &Path,
        settings: &SurveySettings,
        notices: &mut Vec<String>,
    ) -> Result<()>;

    /// Makes the rounds that are open, and calls `report` after each.
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
            // The round before, whose files go to the disk.
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
                match signals::held_back(|| Builder::new().spawn_scoped(scope, all)) {
                    Ok(thread) => before = Some((number, thread)),
                    // Without another thread this one waits for the disk.
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

/// What a thread settled.
fn joined(thread: ScopedJoinHandle<'_, Result<SettledRound>>) -> Result<SettledRound> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// A survey, and rounds of events.
pub struct Rounds {
    state: State,
    events: u64,
    seed: String,
    overweight: f64,
    on_gpus: bool,
    surveyed: Option<(PathBuf, SurveyPoints)>,
    /// Of other runs from the same survey on.
    before: Vec<RoundCounts>,
}

impl Rounds {
    /// Of so many events. A run that goes on with more of them keeps the rounds that it has; those of an event file that is
    /// added to are counted as many as the file has.
    ///
    /// Args: `seed` is what random numbers follow from; `overweight` that of [`crate::RunSpec`].
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

    /// Has more rounds, until there are so many events besides those of an event file.
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

    /// What random numbers follow from.
    pub fn seed(&self) -> &str {
        &self.seed
    }

    /// What is done.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How many events the rounds have that are done.
    pub fn done(&self) -> u64 {
        let rounds = self.state.rounds().values();
        rounds.map(|round| round.counted.events).sum()
    }

    /// The folder of the mappings that rounds begin with, after a survey.
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

    /// Adapts the mappings, unless that is done. What users should know of it is added to `notices`.
    ///
    /// # Errors
    /// Nothing passes the cuts, a matrix element cannot be evaluated, or the state cannot be written.
    pub fn survey(
        &mut self,
        performer: &mut dyn Perform,
        precision: Option<f64>,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        let folder = match self.state.kept(SURVEY) {
            Some(folder) => folder,
            None => {
                let settings = self.settings(self.events, SURVEY, precision);
                let part = self.state.part(SURVEY)?;
                performer.survey(&part, &settings, notices)?;
                self.state.keep(SURVEY, &part)?
            }
        };
        self.take(&folder)
    }

    /// Begins rounds where the survey of this folder ended.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn take(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join(POINTS);
        let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
        let points: SurveyPoints = postcard::from_bytes(&bytes)
            .map_err(|_| Error::run(format!("{} is no survey", path.display()), "survey anew"))?;
        self.surveyed = Some((folder.to_owned(), points));
        Ok(())
    }

    /// Takes points of other rounds from the same survey on, with other random numbers, for the cross section.
    pub fn count(&mut self, rounds: Vec<RoundCounts>) {
        self.before = rounds;
    }

    /// What [`Self::count`] takes of the rounds of this run.
    pub fn counted(&self) -> Vec<RoundCounts> {
        let rounds = self.state.rounds().values();
        rounds.map(|round| round.counted.clone()).collect()
    }

    /// Numbers of the rounds that are not done.
    pub fn open(&self) -> Vec<usize> {
        let done = self.state.rounds();
        let all = 0..self.state.sizes().len();
        all.filter(|number| !done.contains_key(number)).collect()
    }

    /// Makes the rounds that are not done, and calls `report` after each.
    ///
    /// # Errors
    /// Those of `report`, by which a caller ends the run, among others; what is done then is kept.
    ///
    /// # Panics
    /// If there was no survey.
    pub fn run(
        &mut self,
        performer: &mut dyn Perform,
        mut report: impl FnMut(&Rounds) -> Result<()>,
    ) -> Result<()> {
        performer.rounds(self, &mut report)
    }

    /// An empty folder for a round, and what [`Maker::round`] takes.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn begin(&self, number: usize) -> Result<(PathBuf, SurveySettings)> {
        let events = self.state.sizes()[number];
        let settings = self.settings(events, &format!("round {number}"), None);
        Ok((self.state.part(&format!("round{number:04}"))?, settings))
    }

    /// Keeps a round that lies in this folder.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn keep(&mut self, number: usize, part: &Path, found: RoundFound) -> Result<()> {
        let settled = self.state.settle()(number, part, found)?;
        self.state.keep_round(number, settled)
    }

    /// What counts for the cross section besides the survey, in the order of the numbers of rounds, whichever came first.
    fn counting(&self) -> impl Iterator<Item = &RoundCounts> {
        let own = self.state.rounds().values().map(|round| &round.counted);
        self.before.iter().chain(own)
    }

    /// The cross section, pb; none before the first round. It is that of the survey's last part and of those points of the
    /// rounds that were planned before they were drawn.
    pub fn cross_section(&self) -> Option<Estimate> {
        let groups = self.groups()?;
        Some(total(
            groups.iter().map(|group| (group.mean, group.variance)),
        ))
    }

    /// The same, and that of each of so many matrix elements, by their numbers.
    pub fn measured(&self, elements: usize) -> Option<(summary::Measured, Vec<summary::Measured>)> {
        let groups = self.groups()?;
        let all = total(groups.iter().map(|group| (group.mean, group.variance)));
        let of = |element: usize| pair(self.sum_of(&groups, |one| one == element));
        Some((pair(all), (0..elements).map(of).collect()))
    }

    /// The same of processes, in the order of the numbers that matrix elements have of them.
    pub fn by_process(&self, numbers: &[i32]) -> Option<Vec<(i32, summary::Measured)>> {
        let groups = self.groups()?;
        let mut found: Vec<(i32, summary::Measured)> = Vec::new();
        for &number in numbers {
            if found.iter().all(|(known, _)| *known != number) {
                let sum = self.sum_of(&groups, |element| numbers.get(element) == Some(&number));
                found.push((number, pair(sum)));
            }
        }
        found.sort_by_key(|(number, _)| *number);
        Some(found)
    }

    /// Returns the contents of the event file for events with a bias, with processes by the numbers of matrix elements;
    /// none without a bias, or before the first round.
    pub fn biased(&self, numbers: &[i32]) -> Option<BiasedEvents> {
        let (_, points) = self.surveyed.as_ref()?;
        if points.biased.is_empty() {
            return None;
        }
        let channels = self.channels(points, &points.biased, |round| &round.biased);
        let size = total(channels.into_iter());
        let rounds = || self.state.rounds().values();
        let events = rounds().map(|round| round.counted.events).sum::<u64>() as f64;
        let of = |round: &RoundFound| round.weights.drawn() / round.weights.nominal;
        let unit = size.mean * events / sum(rounds().map(of));
        // Sums of weights and of squared weights, by process.
        let mut sums: BTreeMap<i32, [f64; 2]> =
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

    /// The cross section of some matrix elements together.
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

    /// The cross sections of matrix elements that share channels; none before the first round.
    fn groups(&self) -> Option<Vec<SharedChannels<'_>>> {
        let (_, points) = self.surveyed.as_ref()?;
        self.counting().next()?;
        let channels = self.channels(points, &points.measured, |round| &round.measured);
        let mut own: BTreeMap<&[usize], Vec<(f64, f64)>> = BTreeMap::new();
        for (members, channel) in points.elements.iter().zip(channels) {
            own.entry(members).or_default().push(channel);
        }
        let group = |(members, channels): (_, Vec<(f64, f64)>)| SharedChannels {
            members,
            mean: sum(channels.iter().map(|one| one.0)),
            variance: sum(channels.iter().map(|one| one.1)),
        };
        Some(own.into_iter().map(group).collect())
    }

    /// Of some matrix elements in the cross section of those that share their channels, by events; and its variance.
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
            // None is as probable where one is expected.
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
            // A round counts by the points that it would have by the trial. Those that it has follow from the last part of
            // the survey: one that came out low would have fewer beside it, and count for more.
            for one in self.counting() {
                let planned = (points.shares[number] * one.events as f64).ceil();
                sums.add(GROUP * (planned / GROUP).ceil(), of_round(one)[number]);
            }
            (
                sums.mean / sums.weight,
                sums.square / (sums.weight * sums.weight),
            )
        };
        (0..points.elements.len()).map(channel).collect()
    }
}

/// Events whose weights are divided by their bias.
#[derive(Clone, Debug, PartialEq)]
pub struct BiasedEvents {
    /// The weight of an event whose bias is 1, pb.
    pub unit: f64,
    /// Number of events with equal weights whose sum would have the same relative error.
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

/// Matrix elements that share channels, by their numbers, and the cross section of these.
struct SharedChannels<'a> {
    members: &'a [usize],
    /// pb.
    mean: f64,
    /// Of the mean, pb^2.
    variance: f64,
}

fn pair(found: Estimate) -> summary::Measured {
    (found.mean, found.error)
}

/// The sum of means with these variances.
fn total(of: impl Iterator<Item = (f64, f64)>) -> Estimate {
    let (means, variances): (Vec<f64>, Vec<f64>) = of.unzip();
    Estimate {
        mean: sum(means),
        error: sum(variances).sqrt(),
    }
}

/// Sums of means by their weights.
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
