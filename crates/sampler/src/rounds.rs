//! Rounds of events, each with its own random numbers.
//!
//! With a luminosity L (events per pb) and a threshold t, a source gets L t points: then events of all sources have the
//! same weight and are mixed in proportion to cross sections. L for n events follows from the survey, so a round plans
//! its number of points before it draws them, and these points count for the cross section. If they give too few
//! events, L is raised, and if weights exceed those of the survey, so is the threshold of the source. The additional
//! points become events but do not count: there are more of them where weights happened to be low.
//!
//! Points may be weighed by an approximation of |M|^2. Then |M|^2 itself is evaluated for events alone, and a second
//! threshold decides by its ratio to the approximation which of them stay events. The cross section is that of the
//! approximation times the mean ratio ([`CorrectionSums`]).

use super::blocks::blocks;
use super::events::{Event, Events};
use super::integrand::{Failure, Integrand};
use super::parallel;
use super::random::{ACCEPTANCE, CORRECTION, Philox};
use super::sums::{Estimate, WeightSums, is_usable};
use super::survey::{self, NoEvents, Survey, SurveySettings, SurveyedSource, whole_registers};
use super::unweight::{Spectrum, event_weight, is_event, thresholds};
use super::weigh::Weigh;
use mebridge_support::sync::lock;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Events, and the weights of their points.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// The requested number of events, mixed.
    pub events: Events,
    /// Sums of the weights of the planned points of each source.
    pub sums: Vec<WeightSums>,
    /// Number of points drawn for each source.
    pub drawn: Vec<u64>,
    /// Number of points whose weight is not a usable number.
    pub unusable: u64,
    /// For each source the sums over the planned points that are events by an approximation of |M|^2; empty if there was
    /// none.
    pub corrections: Vec<CorrectionSums>,
}

/// Sums over events of an approximation: their weights a, and the ratios r of |M|^2 to the approximation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct CorrectionSums {
    /// The sum of a.
    pub weights: f64,
    /// The sum of a r.
    pub corrected: f64,
    /// The sums of a^2, a^2 r and a^2 r^2.
    pub squares: [f64; 3],
    /// Whether there is no approximation, so that all ratios are 1.
    pub is_exact: bool,
}

impl CorrectionSums {
    /// Adds an event.
    pub fn add(&mut self, weight: f64, correction: f64) {
        self.weights += weight;
        self.corrected += weight * correction;
        let powers = [1.0, correction, correction * correction];
        for (sum, power) in self.squares.iter_mut().zip(powers) {
            *sum += weight * weight * power;
        }
    }

    /// Adds up the sums of several sources.
    pub fn total<'a>(sums: impl IntoIterator<Item = &'a CorrectionSums>) -> CorrectionSums {
        let mut total = CorrectionSums {
            is_exact: true,
            ..CorrectionSums::default()
        };
        for one in sums {
            total.is_exact &= one.is_exact;
            total.weights += one.weights;
            total.corrected += one.corrected;
            for (sum, more) in total.squares.iter_mut().zip(one.squares) {
                *sum += more;
            }
        }
        total
    }

    /// Returns the mean ratio: the factor from the cross section of the approximation to that of |M|^2. Exactly 1 without
    /// events.
    pub fn mean(&self) -> Estimate {
        if self.weights == 0.0 {
            return Estimate {
                mean: 1.0,
                error: 0.0,
            };
        }
        let mean = self.corrected / self.weights;
        let [a, b, c] = self.squares;
        let square = f64::max(c - 2.0 * mean * b + mean * mean * a, 0.0);
        Estimate {
            mean,
            error: square.sqrt() / self.weights,
        }
    }

    /// Returns the mean ratio of some sources among `all`.
    ///
    /// Without events it is unknown, and that of all is taken, which may be off by a factor. So with few events the error
    /// is at least that mean over the effective number of events and one more.
    pub fn mean_among(&self, all: &CorrectionSums) -> Estimate {
        if self.is_exact {
            return Estimate {
                mean: 1.0,
                error: 0.0,
            };
        }
        let (of_all, [square, ..]) = (all.mean(), self.squares);
        let (own, events) = match self.weights {
            0.0 => (of_all, 0.0),
            weights => (self.mean(), weights * weights / square),
        };
        Estimate {
            error: own.error.max(of_all.mean / (1.0 + events)),
            ..own
        }
    }
}

/// Generates the events of a round. The same round number gives the same events.
///
/// # Errors
/// A matrix element cannot be evaluated, or all weights are zero.
///
/// # Panics
/// If the survey belongs to another integrand, or the round number is too large.
#[expect(
    clippy::too_many_lines,
    reason = "the loop of a round, with what it counts"
)]
pub fn round<W: Weigh + ?Sized>(
    integrand: &Integrand,
    survey: &Survey,
    settings: &SurveySettings,
    number: u16,
    events: u64,
    weigher: &mut W,
) -> Result<Round, Failure> {
    let known = &survey.sources;
    assert_eq!(known.len(), integrand.sources.len(), "another survey");
    weigher.set(integrand)?;
    let round = number.checked_add(survey::ROUNDS).expect("fewer rounds");
    let of = |source: usize| Philox {
        seed: settings.seed,
        round,
        channel: source as u32,
    };
    let mut spectra: Vec<Spectrum> = known.iter().map(|one| one.spectrum.clone()).collect();
    let mut points: Vec<u64> = known.iter().map(|one| one.sums.points()).collect();
    let together = |spectra: &[Spectrum], points: &[u64]| {
        let both: Vec<_> = spectra.iter().zip(points.iter().copied()).collect();
        thresholds(&both, settings.overweight)
    };
    let mut thresholds: Vec<f64> = (together(&spectra, &points).into_iter().zip(known))
        .map(|(found, one)| found.unwrap_or(one.trial[1]))
        .collect();
    let sizes = known.iter().zip(&thresholds).map(|(one, &threshold)| {
        let excess = if threshold > 0.0 {
            one.spectrum.excess(threshold)
        } else {
            0.0
        };
        one.sums.mean_size().mean * (1.0 - excess)
    });
    let total: f64 = sizes.sum();
    if total.is_nan() || total <= 0.0 {
        return Err(NoEvents::AllZero.into());
    }
    let wanted = events.max(1) as f64;
    let mut luminosity = wanted / total;
    let approximates = weigher.approximates();
    let mut corrections = Vec::new();
    let (mut ratios, mut ratio_threshold) = (Spectrum::default(), 1.0);
    if approximates {
        (luminosity, ratio_threshold) = (luminosity * DRAWN_BEFORE_CORRECTION, 0.0);
        corrections = vec![CorrectionSums::default(); known.len()];
    }
    let mut drawn = vec![0; known.len()];
    let mut sums = vec![WeightSums::default(); known.len()];
    // The events of a source in each.
    let mut found: Vec<Vec<Event>> = Vec::new();
    let mut selected_by = vec![0.0; known.len()];
    let threads = weigher.threads();
    let (mut first, mut unusable, mut most) = (true, 0, None);
    loop {
        let planned: f64 = thresholds.iter().map(|one| luminosity * one).sum();
        let most = *most.get_or_insert(HOPELESS * f64::max(planned, wanted));
        if planned.is_nan() || planned > most {
            let drawn = drawn.iter().map(|&count: &usize| count as u64).sum();
            let count: usize = found.iter().map(Vec::len).sum();
            return Err(NoEvents::TooFew(drawn, count as u64).into());
        }
        let mut plan = Vec::new();
        for (source, threshold) in thresholds.iter_mut().enumerate() {
            let until = whole_registers(luminosity * *threshold * (1.0 - 1e-12)).max(drawn[source]);
            // The number of points is rounded up to whole registers, and the threshold is raised accordingly.
            *threshold = until as f64 / luminosity;
            let from = std::mem::replace(&mut drawn[source], until);
            let SurveyedSource { grid, flow, .. } = &known[source];
            let more = blocks(source, grid, of(source), from as u64, until - from);
            plan.extend(more.map(|block| block.with_numbers(flow.as_ref().into())));
        }
        // Selects again among earlier points where the threshold has changed.
        parallel::for_each(threads, &mut found, |part| {
            let source = source_of(part);
            if thresholds[source] != selected_by[source] {
                part.retain(|event| {
                    let number = of(source).number(event.point, ACCEPTANCE);
                    is_event(event.weight, number, thresholds[source])
                });
            }
        });
        found.retain(|part| !part.is_empty());
        selected_by.clone_from(&thresholds);
        let drawn_before = found.len();
        weigher.draw(integrand, &plan, &thresholds, &mut |one| {
            let source = one.source;
            if first {
                sums[source].merge(&one.sums);
            }
            unusable += one.sums.unusable();
            spectra[source].merge(&one.spectrum);
            points[source] += one.sums.points();
            if !one.events.is_empty() {
                found.push(one.events);
            }
        })?;
        if approximates {
            let latest = &mut found[drawn_before..];
            weigher.correct(latest)?;
            for one in corrected(threads, latest, &thresholds)? {
                unusable += one.unusable;
                ratios.merge(&one.ratios);
                if first {
                    for [weight, correction] in one.weights {
                        corrections[one.source].add(weight, correction);
                    }
                }
            }
            let excess = EXCESS_OF_RATIOS * settings.overweight;
            let threshold = ratios.threshold(excess).unwrap_or(0.0);
            ratio_threshold = f64::max(ratio_threshold, threshold);
        }
        first = false;
        let stays = |event: &Event| {
            let number = of(event.source as usize).number(event.point, CORRECTION);
            is_event(event.correction, number, ratio_threshold)
        };
        let count: usize = match approximates {
            true => {
                let count = |part: usize| found[part].iter().filter(|event| stays(event)).count();
                let counts = parallel::map_large(threads, found.len(), count);
                counts.into_iter().sum()
            }
            false => found.iter().map(Vec::len).sum(),
        };
        let mut done = count as u64 >= events;
        if !done {
            let count_so_far = count.max(1) as f64;
            luminosity *= ((wanted + wanted.sqrt()) / count_so_far).min(MAX_RISE);
        }
        for (threshold, now) in thresholds.iter_mut().zip(together(&spectra, &points)) {
            let now = now.unwrap_or(0.0);
            if now > *threshold {
                *threshold = now;
                done = false;
            }
        }
        if done {
            if approximates {
                parallel::for_each(threads, &mut found, |part| part.retain(stays));
            }
            break;
        }
    }
    parallel::for_each(threads, &mut found, |part| {
        for event in part {
            let weight = event_weight(event.weight, thresholds[event.source as usize]);
            event.weight = weight * event_weight(event.correction, ratio_threshold);
        }
    });
    // Events are sorted by source; a random key for each mixes them.
    let mix = of(u32::MAX as usize);
    let count = found.iter().map(Vec::len).sum();
    let keys = parallel::map(threads, count, |place| mix.number(place as u64, 0));
    let events = Events::new(threads, found, &keys, events as usize);
    Ok(Round {
        events,
        sums,
        drawn: drawn.into_iter().map(|count| count as u64).collect(),
        unusable,
        corrections,
    })
}

/// What the corrections of the events of a source say.
struct CorrectedEvents {
    source: usize,
    ratios: Spectrum,
    /// The weight of each event by the threshold, and its ratio of |M|^2 to the approximation.
    weights: Vec<[f64; 2]>,
    unusable: u64,
}

/// Collects the corrections of the events of each part, and sets unusable ones to 0.
fn corrected(
    threads: usize,
    parts: &mut [Vec<Event>],
    thresholds: &[f64],
) -> Result<Vec<CorrectedEvents>, Failure> {
    let parts: Vec<Mutex<&mut Vec<Event>>> = parts.iter_mut().map(Mutex::new).collect();
    parallel::collect(threads, parts.len(), |number| {
        let part = &mut **lock(&parts[number]);
        let source = source_of(part);
        let mut one = CorrectedEvents {
            source,
            ratios: Spectrum::default(),
            weights: Vec::with_capacity(part.len()),
            unusable: 0,
        };
        for event in part {
            if !is_usable(event.correction) {
                (event.correction, one.unusable) = (0.0, one.unusable + 1);
            }
            one.ratios.add(&[event.correction]);
            let weight = event_weight(event.weight, thresholds[source]).abs();
            one.weights.push([weight, event.correction]);
        }
        Ok(one)
    })
}

/// Returns the source of the events of a part of a round.
fn source_of(part: &[Event]) -> usize {
    part.first().map_or(0, |event| event.source as usize)
}

/// Largest excess of ratios in units of `overweight`. They are close to each other, so that a larger one would give many
/// events a weight slightly above the others.
const EXCESS_OF_RATIOS: f64 = 0.05;

/// Number of events of the approximation planned for each event. The share that a second threshold keeps is not known
/// before; for a sum of colour flows it is 0.5 to 0.8.
const DRAWN_BEFORE_CORRECTION: f64 = 1.5;

/// A round gives up if it would need this many times the points expected from the survey: unbounded weights grow with
/// the number of points.
const HOPELESS: f64 = 100.0;

/// Maximum factor by which the luminosity rises at once: with few events, their expected number is uncertain.
const MAX_RISE: f64 = 4.0;

/// Returns the number of planned points of a source for a round of `events` events; `share` is that of [`shares`].
pub fn planned_points(events: u64, share: f64) -> f64 {
    whole_registers(events as f64 * share) as f64
}

/// Returns the planned number of points per event for each source, from the estimates before the last part of the
/// survey.
pub fn shares(survey: &Survey) -> Vec<f64> {
    let total: f64 = survey.sources.iter().map(|one| one.trial[0]).sum();
    let of_source = |one: &SurveyedSource| one.trial[1] / total;
    survey.sources.iter().map(of_source).collect()
}

/// Returns the cross section without bias in pb from the planned points of a survey and of rounds with these numbers of
/// events.
///
/// Rounds are weighted by the number of points that follows from the estimates before the last part of the survey.
/// Their actual number depends on that part: a low result there would change its own weight relative to them.
pub fn cross_section<'a>(
    survey: &Survey,
    rounds: impl IntoIterator<Item = (u64, &'a [WeightSums])>,
) -> Estimate {
    together(survey, rounds, WeightSums::unbiased_mean)
}

/// As [`cross_section`], with the absolute values of weights that include the bias, by which events are drawn.
pub fn cross_section_without_signs<'a>(
    survey: &Survey,
    rounds: impl IntoIterator<Item = (u64, &'a [WeightSums])>,
) -> Estimate {
    together(survey, rounds, WeightSums::mean_size)
}

fn together<'a>(
    survey: &Survey,
    rounds: impl IntoIterator<Item = (u64, &'a [WeightSums])>,
    of: impl Fn(&WeightSums) -> Estimate,
) -> Estimate {
    let shares = shares(survey);
    let rounds: Vec<(u64, &[WeightSums])> = rounds.into_iter().collect();
    let of_source = |(source, one): (usize, &SurveyedSource)| {
        let last = (one.sums.points() as f64, of(&one.sums));
        let more = rounds
            .iter()
            .map(|(events, sums)| (planned_points(*events, shares[source]), of(&sums[source])));
        Estimate::average(std::iter::once(last).chain(more))
    };
    Estimate::sum(survey.sources.iter().enumerate().map(of_source))
}
