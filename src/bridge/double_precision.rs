//! Evaluates events again in double precision if single precision cannot handle them.
//!
//! Near the beam and just above a threshold numbers in single precision overflow, or cancel until a denominator has no
//! significant digit or a sum of squares is negative. The momenta of a call have double precision, so such events are
//! evaluated again by double-precision servers, on one thread of the CPU.

use super::recipe::Recipe;
use super::servers::Servers;
use super::sessions::Sessions;
use crate::backend::SessionMemory;
use crate::error::Result;
use crate::inputs::{Inputs, Outputs};
use crate::process::HelicitySum;
use crate::sample::{Sample, SampleAnswers};

/// Evaluates samples in double precision, made when an event first needs it.
pub(super) struct DoublePrecision {
    recipe: Recipe,
    sessions: Option<Sessions>,
}

/// Number of events whose shares are added up at a time.
const SOME: usize = 256;

/// Whether a result is beyond single precision, given how contributions of helicities are added: it is not finite, or
/// it is a sum of squares and negative.
fn is_lost(x: f64, sum: HelicitySum) -> bool {
    match sum {
        HelicitySum::Positive => !(0.0..=f64::MAX).contains(&x),
        HelicitySum::Signed | HelicitySum::Absolute => !x.is_finite(),
    }
}

/// Whether some numbers are lost. All are checked, without a branch: GPU calls have tens of thousands of answers.
fn some_are_lost(numbers: &[f64], sum: HelicitySum) -> bool {
    let mut lost = false;
    for &x in numbers {
        lost |= is_lost(x, sum);
    }
    lost
}

/// Evaluates those events again for which single precision gave no valid sum of squares. `in_double` holds the servers
/// for this, once they were needed.
pub(super) fn run_in_double(
    recipe: &Recipe,
    in_double: &mut Option<Servers>,
    inputs: &Inputs,
    outputs: &mut Outputs,
) -> Result<()> {
    let sum = recipe.process.helicity_sum;
    if !recipe.may_lose() || !some_are_lost(outputs.matrix_elements, sum) {
        return Ok(());
    }
    let double = Servers::in_double(in_double, recipe)?;
    for event in 0..outputs.matrix_elements.len() {
        if is_lost(outputs.matrix_elements[event], sum) {
            double.run(&inputs.part(event, 1), outputs.part(event, 1))?;
        }
    }
    Ok(())
}

impl DoublePrecision {
    /// Prepares for samples of a process; `None` if the precision is sufficient.
    pub(super) fn new(recipe: &Recipe) -> Option<DoublePrecision> {
        recipe.may_lose().then(|| DoublePrecision {
            recipe: recipe.in_double(),
            sessions: None,
        })
    }

    /// Evaluates those events again for which single precision gave no valid sum of squares, or no shares of diagrams.
    pub(super) fn run(&mut self, sample: &Sample, answers: &mut SampleAnswers) -> Result<()> {
        let mut lost: Vec<usize> = Vec::new();
        let helicity_sum = self.recipe.process.helicity_sum;
        // A few events at a time, so that their sums of shares stay in L1.
        let events = answers.outputs.matrix_elements.len();
        for first in (0..events).step_by(SOME) {
            let count = SOME.min(events - first);
            let mut part = answers.part(first, count);
            let mut shares = [1.0; SOME];
            if sample.diagrams
                && let Some(rows) = &mut part.amp2
            {
                shares = [0.0; SOME];
                for diagram in 0..rows.count() {
                    for (sum, share) in shares.iter_mut().zip(rows.row(diagram)) {
                        *sum += *share;
                    }
                }
            }
            let numbers = part.outputs.matrix_elements.iter().zip(&shares);
            let is_lost =
                |(&x, &sum): (&f64, &f64)| is_lost(x, helicity_sum) || sum.is_nan() || sum <= 0.0;
            lost.extend(
                (first..)
                    .zip(numbers)
                    .filter(|(_, it)| is_lost(*it))
                    .map(|(at, _)| at),
            );
        }
        for event in lost {
            let sessions = match &mut self.sessions {
                Some(sessions) => sessions,
                None => {
                    let mut servers = Servers::new(self.recipe.clone())?;
                    self.sessions.insert(Sessions::new(
                        &mut servers,
                        true,
                        &SessionMemory::default(),
                    )?)
                }
            };
            sessions.run(&sample.part(event, 1), answers.part(event, 1))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::Bridge;
    use crate::events::{Answers, Events};
    use crate::process::Process;
    use crate::runtime::Precision;
    use crate::runtime::{BackendChoice, CachePlace, Switches};
    use crate::sample::{Momenta, Points, Rows};

    fn bridge(process: &Process, precision: Precision) -> Bridge {
        let switches = Switches {
            backend: BackendChoice::Cpu,
            cache: CachePlace::Off,
            precision,
            ..Switches::default()
        };
        let card = process.model.default_card();
        Bridge::new(process.clone(), &card, &switches, 4).expect("bridge")
    }

    /// Momenta of g g > t t~ g with a gluon at this sine of its angle to the beam; lost in single precision if the sine
    /// is small.
    fn event(sin: f64) -> Vec<f64> {
        let (energy, cos) = (100.0, (1.0 - sin * sin).sqrt());
        let k = [energy, energy * sin, 0.0, energy * cos];
        let (mass, p) = (173.0f64, 400.0);
        let top = |sign: f64| {
            let [x, y, z] = [
                sign * p * 0.48 - 0.5 * k[1],
                sign * p * 0.6,
                sign * p * 0.64 - 0.5 * k[3],
            ];
            [(mass * mass + x * x + y * y + z * z).sqrt(), x, y, z]
        };
        let (t, anti) = (top(1.0), top(-1.0));
        let beam = 0.5 * (t[0] + anti[0] + k[0]);
        let beams = [[beam, 0.0, 0.0, beam], [beam, 0.0, 0.0, -beam]];
        [beams[0], beams[1], t, anti, k].concat()
    }

    #[test]
    fn what_single_precision_loses_is_had_in_double() {
        let process = crate::generate("g g > t t~ g").expect("process").remove(0);
        let momenta = [event(0.6), event(1e-6), event(0.6), event(1e-7)].concat();
        let (four, random) = ([1.2; 4], [0.3; 4]);
        for channels in [None, Some([1, 1, 1, 1])] {
            let events = Events {
                momenta: &momenta,
                g_s: &four,
                random_helicity: &random,
                random_color: &random,
                channels: channels.as_ref().map(|c| &c[..]),
                igraph: None,
            };
            let called = |precision| {
                let mut out = (vec![0.0; 4], vec![0; 4], vec![0; 4]);
                let mut answers = Answers {
                    matrix_elements: &mut out.0,
                    helicity: &mut out.1,
                    color: &mut out.2,
                };
                let mut bridge = bridge(&process, precision);
                bridge.run(&events, &mut answers).expect("answers");
                let again = bridge.in_double.is_some();
                (out, again)
            };
            let (expected, none) = called(Precision::Double);
            let (found, again) = called(Precision::Float);
            assert!(!none && again);
            for at in [1, 3] {
                assert!(expected.0[at] > 1e3 * expected.0[0]);
                assert_eq!(found.0[at], expected.0[at]);
                assert_eq!((found.1[at], found.2[at]), (expected.1[at], expected.2[at]));
            }
            for at in [0, 2] {
                let ratio = found.0[at] / expected.0[at];
                assert!(ratio != 1.0 && (ratio - 1.0).abs() < 1e-3, "{ratio}");
            }
        }
    }

    #[test]
    fn samples_have_shares_of_diagrams_for_all_events() {
        let process = crate::generate("g g > t t~ g").expect("process").remove(0);
        let momenta = [event(0.6), event(1e-6), event(1e-7)].concat();
        let (three, random) = ([1.2; 3], [0.3; 3]);
        let sample = Sample {
            points: Points {
                momenta: Momenta::rows(&momenta, 5),
                g_s: &three,
                random_helicity: &random,
                random_color: &random,
            },
            random_diagram: &random,
            helicity: None,
            diagram: None,
            diagrams: true,
        };
        let diagrams = process.diagrams as usize;
        let sampled = |precision| {
            let mut shares = vec![-1.0; 3 * diagrams];
            let mut out = (vec![0.0; 3], vec![0; 3], vec![0; 3], vec![0; 3]);
            let answers = SampleAnswers {
                outputs: Outputs {
                    matrix_elements: &mut out.0,
                    helicity: &mut out.1,
                    color: &mut out.2,
                },
                diagram: &mut out.3,
                // SAFETY: room for three events in each of `diagrams` rows.
                amp2: Some(unsafe { Rows::new(shares.as_mut_ptr(), 3, diagrams, 3) }),
            };
            let mut bridge = bridge(&process, precision);
            let bad = bridge.evaluate(&sample, answers).expect("a sample");
            assert_eq!(bad.count, 0);
            (out, shares)
        };
        let (expected, found) = (sampled(Precision::Double), sampled(Precision::Float));
        for event in 0..3 {
            let of = |shares: &[f64]| -> Vec<f64> {
                shares.iter().skip(event).step_by(3).copied().collect()
            };
            let (found, expected) = (of(&found.1), of(&expected.1));
            assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{found:?}");
            for (x, y) in found.iter().zip(&expected) {
                assert!((x - y).abs() < 1e-3, "{x} {y}");
            }
        }
        assert_eq!(found.0.0[1..], expected.0.0[1..]);
        assert_ne!(found.0.0[0], expected.0.0[0]);
        assert_eq!(found.0.3[1..], expected.0.3[1..]);
    }
}
