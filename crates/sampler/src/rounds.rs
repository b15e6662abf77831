//! Rounds of events, each with random numbers of its own.
//!
//! With a luminosity L (events for each pb) and a threshold t a source has L t points: so events of all sources weigh the
//! same, and are mixed as cross sections are. L for n events follows from the survey, so that a round plans its points
//! before it draws them, and these count for the cross section. Where they are too few events, L rises, and where weights
//! are larger than those of the survey, the threshold of the source does. The points that are drawn then are events, but do
//! not count: there are more of them where weights came out low.

use super::blocks::blocks;
use super::events::{Event, Events};
use super::integrand::{Failure, Integrand};
use super::parallel;
use super::random::{ACCEPTANCE, Philox};
use super::sums::{Estimate, WeightSums};
use super::survey::{self, Known, Nothing, Survey, SurveySettings, whole};
use super::unweight::{Spectrum, event_weight, is_event, thresholds};
use super::weigh::Weigh;

/// Events, and what their points say.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// As many as were wanted, mixed.
    pub events: Events,
    /// Of each source, the weights of the points that were planned.
    pub sums: Vec<WeightSums>,
    /// Of each source, how many points were drawn.
    pub drawn: Vec<u64>,
    /// Those of them whose weight is no number.
    pub unusable: u64,
}

/// Makes events. Rounds have numbers, and the same one has the same events.
///
/// # Errors
/// A matrix element cannot be evaluated, or all weights are zero.
///
/// # Panics
/// If the survey is of another integrand, or there are too many rounds for their numbers.
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
        return Err(Nothing::Weighs.into());
    }
    let wanted = events.max(1) as f64;
    let mut luminosity = wanted / total;
    let mut drawn = vec![0; known.len()];
    let mut sums = vec![WeightSums::default(); known.len()];
    let mut found: Vec<Vec<Event>> = Vec::new();
    let threads = weigher.threads();
    let (mut first, mut unusable, mut most) = (true, 0, None);
    loop {
        let planned: f64 = thresholds.iter().map(|one| luminosity * one).sum();
        let most = *most.get_or_insert(HOPELESS * f64::max(planned, wanted));
        if planned.is_nan() || planned > most {
            let drawn = drawn.iter().map(|&count: &usize| count as u64).sum();
            let count: usize = found.iter().map(Vec::len).sum();
            return Err(Nothing::Hardly(drawn, count as u64).into());
        }
        let mut plan = Vec::new();
        for (source, threshold) in thresholds.iter_mut().enumerate() {
            let until = whole(luminosity * *threshold * (1.0 - 1e-12)).max(drawn[source]);
            // Whole registers are more points, of which fewer become events.
            *threshold = until as f64 / luminosity;
            let from = std::mem::replace(&mut drawn[source], until);
            let Known { grid, flow, .. } = &known[source];
            let more = blocks(source, grid, of(source), from as u64, until - from);
            plan.extend(more.map(|block| block.with(flow.as_ref().into())));
        }
        // Those that were drawn before, by the thresholds of now.
        parallel::for_each(threads, &mut found, |part| {
            part.retain(|event| {
                let source = event.source as usize;
                let number = of(source).number(event.point, ACCEPTANCE);
                is_event(event.weight, number, thresholds[source])
            });
        });
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
        first = false;
        let count: usize = found.iter().map(Vec::len).sum();
        let mut done = count as u64 >= events;
        if !done {
            let there = count.max(1) as f64;
            luminosity *= ((wanted + wanted.sqrt()) / there).min(MOST_RISE);
        }
        for (threshold, now) in thresholds.iter_mut().zip(together(&spectra, &points)) {
            let now = now.unwrap_or(0.0);
            if now > *threshold {
                *threshold = now;
                done = false;
            }
        }
        if done {
            break;
        }
    }
    parallel::for_each(threads, &mut found, |part| {
        for event in part {
            event.weight = event_weight(event.weight, thresholds[event.source as usize]);
        }
    });
    // Events lie by source: they are mixed by a random number each.
    let mix = of(u32::MAX as usize);
    let count = found.iter().map(Vec::len).sum();
    let keys = parallel::map(threads, count, |place| mix.number(place as u64, 0));
    let events = Events::new(threads, found, &keys, events as usize);
    Ok(Round {
        events,
        sums,
        drawn: drawn.into_iter().map(|count| count as u64).collect(),
        unusable,
    })
}

/// A round gives up where it would take so many times the points that the survey promised: weights without a bound rise
/// with each of them.
const HOPELESS: f64 = 100.0;

/// By how much the luminosity rises at once: of few events nobody knows how many there are.
const MOST_RISE: f64 = 4.0;

/// How many points of a source a round with so many events counts for; `share` is what [`shares`] gives.
fn planned(events: u64, share: f64) -> f64 {
    whole(events as f64 * share) as f64
}

/// Of each source how many points for each event of a round are planned, by what was found before the last part.
pub fn shares(survey: &Survey) -> Vec<f64> {
    let total: f64 = survey.sources.iter().map(|one| one.trial[0]).sum();
    let of_source = |one: &Known| one.trial[1] / total;
    survey.sources.iter().map(of_source).collect()
}

/// The cross section without any bias, pb, by a survey and rounds with so many events each: the points that were planned.
///
/// Rounds count by the points that they would have by what was found before the last part of the survey. Those that they
/// have follow from that part: one that came out low would have other ones beside it.
pub fn cross_section<'a>(
    survey: &Survey,
    rounds: impl IntoIterator<Item = (u64, &'a [WeightSums])>,
) -> Estimate {
    together(survey, rounds, WeightSums::unbiased_mean)
}

/// The same without the signs of weights, and with their bias: what events are drawn by.
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
    let of_source = |(source, one): (usize, &Known)| {
        let last = (one.sums.points() as f64, of(&one.sums));
        let more = rounds
            .iter()
            .map(|(events, sums)| (planned(*events, shares[source]), of(&sums[source])));
        Estimate::average(std::iter::once(last).chain(more))
    };
    Estimate::sum(survey.sources.iter().enumerate().map(of_source))
}
