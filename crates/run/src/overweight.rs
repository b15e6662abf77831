//! Treatment of overweight events, whose weights exceed the maximum expected from the survey (see `overweight` of
//! [`RunSpec`](crate::RunSpec)).

use crate::records::{RoundFile, RowFile};
use crate::rounds::{Perform, Rounds, seed};
use crate::text::significant;
use mebridge::lhe::Record;
use mebridge::{Error, Result};
use mebridge_sampler::random::Philox;
use serde::{Deserialize, Serialize};

/// Largest number of times that more events are made.
const MAX_COMPLETIONS: usize = 20;
/// Safety factor on the number of events expected to suffice.
const MORE: f64 = 1.02;

/// Statistics of the events above the nominal weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overweights {
    /// Number of events.
    pub events: u64,
    /// Sum of their weights in excess of the nominal one, as a share of all weight.
    pub share: f64,
    /// The largest weight, in units of the nominal one.
    pub largest: f64,
}

impl Overweights {
    /// No event is above the nominal weight.
    pub const NONE: Overweights = Overweights {
        events: 0,
        share: 0.0,
        largest: 1.0,
    };
}

/// Treatment of overweight events.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Overweight {
    /// They keep their weights, so that spectra are correct.
    #[default]
    Keep,
    /// They get the weight of the others, as in MadEvent: the cross section stays, but spectra are too low where they
    /// lie.
    Truncate,
    /// More events are made, and events are chosen by their weights: all have the same weight, and spectra are correct.
    Unweight,
}

/// Names of the rules on the command line, in the order of [`Overweight`].
pub const NAMES: [&str; 3] = ["keep", "truncate", "unweight"];

impl Overweight {
    /// The rule with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Keep, Self::Truncate, Self::Unweight];
        let place = NAMES.iter().position(|known| *known == name)?;
        Some(all[place])
    }

    /// The line of a summary if there are overweight events: `made` events were made, and `left` of them are in the
    /// file.
    pub fn line(self, above: Overweights, made: u64, left: u64) -> Option<String> {
        let Overweights {
            events,
            share,
            largest,
        } = above;
        let (times, share) = (significant(largest, 3), significant(100.0 * share, 2));
        match self {
            _ if events == 0 => None,
            Self::Keep => Some(format!(
                "{events} events weigh more than the others, up to {times} times: {share}% of the cross section"
            )),
            Self::Truncate => Some(format!(
                "{events} events, up to {times} times as heavy as the others, were given the weight of these: spectra lack \
                 {share}% of the cross section where they lie, and have it elsewhere"
            )),
            Self::Unweight => Some(format!(
                "{made} events were made for {left} of one weight: the heaviest was {times} times as heavy as most"
            )),
        }
    }
}

/// Checks that events with a bias keep their weights.
///
/// # Errors
/// They are to have one weight.
pub fn check(rule: Overweight, biased: bool) -> Result<()> {
    if !biased || rule == Overweight::Keep {
        return Ok(());
    }
    Err(Error::run_at(
        "overweight",
        "events with a bias have weights of their own, and none can be given to all",
        "keep their weights, or make events without a bias",
    ))
}

/// Which events a file has, and with which weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Weighting {
    /// All events with their own weights.
    #[default]
    Kept,
    /// All events with the same weight.
    Truncated,
    /// A chosen subset with the same weight.
    Chosen(ChosenEvents),
}

/// A choice of events according to their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChosenEvents {
    seed: u64,
    /// An event is kept if its random number is at most `bound` times its relative weight.
    bound: f64,
    /// Number of events kept.
    pub events: usize,
}

impl ChosenEvents {
    /// Whether to keep the event with this index, whose weight is `times` the smallest one.
    pub fn keeps(&self, event: usize, times: f64) -> bool {
        score(self.seed, event, times) <= self.bound
    }

    /// Chooses `events` events; if there are too few, returns the share of events that could be kept.
    ///
    /// # Errors
    /// A round cannot be read.
    fn choose(
        rounds: &[RoundFile],
        events: usize,
        seed: u64,
    ) -> Result<std::result::Result<Self, f64>> {
        let (mut scores, mut largest) = (Vec::new(), 1.0_f64);
        for round in rounds {
            let (table, _) = RowFile::records(&round.file, round.events)?;
            table.each(round.events, |record| {
                let times = Record::new(record).weight().abs() / round.weights.nominal;
                scores.push(score(seed, scores.len(), times));
            })?;
            largest = largest.max(round.weights.largest / round.weights.nominal);
        }
        let most = 1.0 / largest;
        let there = scores.iter().filter(|score| **score <= most).count();
        if there < events {
            return Ok(Err(there as f64 / scores.len() as f64));
        }
        // Events with scores up to `most` are all equally probable.
        let (_, bound, _) = scores.select_nth_unstable_by(events - 1, f64::total_cmp);
        Ok(Ok(ChosenEvents {
            seed,
            bound: *bound,
            events,
        }))
    }
}

fn score(seed: u64, event: usize, times: f64) -> f64 {
    let philox = Philox {
        seed,
        round: 0,
        channel: 0,
    };
    philox.number(event as u64, 0) / times
}

/// If the rule is to unweight, makes more rounds until `events` events of one weight can be chosen; calls `report`
/// after each round.
///
/// # Errors
/// Those of a round or of `report`; or some weights are so large that almost no event would be kept.
pub fn complete(
    rule: Overweight,
    rounds: &mut Rounds,
    performer: &mut dyn Perform,
    events: u64,
    mut report: impl FnMut(&Rounds) -> Result<()>,
) -> Result<Weighting> {
    match rule {
        Overweight::Keep => return Ok(Weighting::Kept),
        Overweight::Truncate => return Ok(Weighting::Truncated),
        Overweight::Unweight => {}
    }
    let seed = seed(rounds.seed(), "one weight");
    let wanted = usize::try_from(events).unwrap_or(usize::MAX);
    for _ in 0..MAX_COMPLETIONS {
        let found = rounds.state().unwritten_rounds();
        let share = match ChosenEvents::choose(&found, wanted, seed)? {
            Ok(choice) => return Ok(Weighting::Chosen(choice)),
            Err(share) => share,
        };
        let all = MORE * events as f64 / share;
        if !all.is_finite() || all > 1000.0 * events as f64 {
            break;
        }
        let there: u64 = found.iter().map(|round| round.events as u64).sum();
        rounds.extend((all as u64).max(there + 1))?;
        rounds.run(performer, &mut report)?;
    }
    Err(Error::run_at(
        "overweight",
        "some events weigh so much more than the others that hardly any of one weight would be left",
        "keep their weights, or truncate them",
    ))
}

#[cfg(test)]
#[path = "overweight_tests.rs"]
mod tests;
