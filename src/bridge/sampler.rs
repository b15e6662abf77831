//! Samplers: the part of a bridge that each thread of a caller holds.

use super::Bridge;
use super::double_precision::DoublePrecision;
use super::sessions::Sessions;
use crate::backend::SessionMemory;
use crate::error::{Error, Result};
use crate::sample::{BadEvents, Outputs, Points, Sample, SampleAnswers};
use crate::target::Target;
use mebridge_sampler::parallel;

/// Number of events for which an additional thread is started.
const WORTH_A_THREAD: usize = 512;

/// Evaluates samples on one thread at a time. The samplers of a bridge share its plans, run concurrently, and remain
/// usable after the bridge is dropped.
pub struct Sampler {
    sessions: Sessions,
    legs: usize,
    diagrams: usize,
    helicities: usize,
    /// For events that single precision cannot handle.
    in_double: Option<DoublePrecision>,
}

impl Bridge {
    /// Makes a sampler; with `diagrams` also for samples that request diagrams and colours. The first one finds the
    /// good helicities and makes the plans. Samplers of one thread share `memory`.
    pub fn sampler(&mut self, diagrams: bool, memory: &SessionMemory) -> Result<Sampler> {
        let process = self.servers.process();
        Ok(Sampler {
            legs: process.legs.len(),
            diagrams: process.diagrams as usize,
            helicities: process.helicities.len(),
            in_double: DoublePrecision::new(self.servers.recipe()),
            sessions: Sessions::new(&mut self.servers, diagrams, memory)?,
        })
    }
}

impl Bridge {
    /// Returns |M|^2 of some points, with all threads of the bridge; NaN for bad ones.
    pub fn squared(&mut self, points: Points) -> Result<Vec<f64>> {
        squared(points, |sample, answers| self.evaluate(sample, answers))
    }

    /// Evaluates a sample with all threads of the bridge, and reports bad events.
    pub fn evaluate(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<BadEvents> {
        let threads = match &self.servers.recipe().settings.target {
            Target::Cpu(cores) => cores.threads,
            Target::Gpu(_) => 1,
        };
        // A thread is worthwhile only for enough events.
        let threads = threads.min(sample.points.count() / WORTH_A_THREAD).max(1);
        let lacks = |sampler: &Sampler| sample.diagrams && sampler.sessions.lacks_diagrams();
        if self.samplers.iter().any(lacks) {
            self.samplers.clear();
        }
        while self.samplers.len() < threads {
            let sampler = self.sampler(sample.diagrams, &SessionMemory::default())?;
            self.samplers.push(sampler);
        }
        if threads == 1 {
            let sampler = self.samplers.first_mut();
            return sampler.map_or(Err(Error::NoEvents), |sampler| sampler.run(sample, answers));
        }
        if let Some(sampler) = self.samplers.first() {
            sampler.check(sample, &answers)?;
        }
        let each = sample.points.count().div_ceil(threads);
        let mut parts = Vec::with_capacity(threads);
        let mut rest = Some(answers);
        for (sampler, begin) in self.samplers[..threads].iter_mut().zip((0..).step_by(each)) {
            let count = each.min(sample.points.count() - begin);
            let Some((mine, others)) = rest.take().map(|rest| rest.split(count)) else {
                break;
            };
            rest = Some(others);
            let part = sample.part(begin, count);
            let work = move || {
                let mut bad = sampler.run(&part, mine)?;
                bad.first = bad.first.map(|event| event + begin);
                Ok(bad)
            };
            parts.push((Some(work), Ok(BadEvents::default())));
        }
        parallel::for_each(threads, &mut parts, |(work, found)| {
            if let Some(work) = work.take() {
                *found = work();
            }
        });
        let mut all = BadEvents::default();
        for (_, bad) in parts {
            let bad: BadEvents = bad?;
            all.count += bad.count;
            all.first = all.first.or(bad.first);
        }
        Ok(all)
    }
}

/// Returns |M|^2 of points, evaluated by `run`.
fn squared(
    points: Points,
    run: impl FnOnce(&Sample, SampleAnswers) -> Result<BadEvents>,
) -> Result<Vec<f64>> {
    let count = points.count();
    let mut found = vec![0.0; count];
    let [mut helicity, mut color, mut diagram] = [(); 3].map(|()| vec![0; count]);
    let answers = SampleAnswers {
        outputs: Outputs {
            matrix_elements: &mut found,
            helicity: &mut helicity,
            color: &mut color,
        },
        diagram: &mut diagram,
        amp2: None,
    };
    let sample = Sample {
        points,
        random_diagram: points.random_color,
        helicity: None,
        diagram: None,
        diagrams: false,
    };
    run(&sample, answers)?;
    Ok(found)
}

impl Sampler {
    /// Returns the number of legs.
    pub fn legs(&self) -> usize {
        self.legs
    }

    /// Returns the number of diagrams.
    pub fn diagrams(&self) -> usize {
        self.diagrams
    }

    /// Evaluates a sample, and reports bad events.
    pub fn run(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<BadEvents> {
        self.run_by(sample, answers, |sessions, all| sessions.run(sample, all))
    }

    /// The same for a sample that requests diagrams; `leading` gets |M|^2 at leading colour, with the diagonal of the colour
    /// matrix alone. Only on a CPU.
    pub fn run_with_leading_color(
        &mut self,
        sample: &Sample,
        answers: SampleAnswers,
        leading: &mut [f64],
    ) -> Result<BadEvents> {
        self.run_by(sample, answers, |sessions, all| {
            sessions.run_with_leading_color(sample, all, leading)
        })
    }

    fn run_by(
        &mut self,
        sample: &Sample,
        mut answers: SampleAnswers,
        run: impl FnOnce(&mut Sessions, SampleAnswers) -> Result<()>,
    ) -> Result<BadEvents> {
        self.check(sample, &answers)?;
        if sample.points.count() == 0 {
            return Ok(BadEvents::default());
        }
        let all = answers.part(0, sample.points.count());
        run(&mut self.sessions, all)?;
        if let Some(in_double) = &mut self.in_double {
            in_double.run(sample, &mut answers)?;
        }
        Ok(BadEvents::find(&mut answers))
    }

    /// Returns |M|^2 of some points; NaN for bad ones.
    pub fn squared(&mut self, points: Points) -> Result<Vec<f64>> {
        squared(points, |sample, answers| self.run(sample, answers))
    }

    fn check(&self, sample: &Sample, answers: &SampleAnswers) -> Result<()> {
        sample.check_lengths(answers, self.legs, self.diagrams)?;
        let index = |what: &'static str, given: Option<&[i32]>, count: usize| {
            let Some(given) = given else {
                return Ok(());
            };
            let outside = |&i: &i32| i < 0 || i as usize >= count;
            match given.iter().position(outside) {
                None => Ok(()),
                Some(event) => Err(Error::NoSuchIndex {
                    what,
                    event,
                    index: given[event],
                    count,
                }),
            }
        };
        index("helicity", sample.helicity, self.helicities)?;
        index("diagram", sample.diagram, self.diagrams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::numbering::tests::call;
    use crate::events::{Answers, Events};
    use crate::process::Process;
    use crate::runtime::{BackendChoice, CachePlace, Switches};

    fn bridge(process: &Process, card: &[f64]) -> Bridge {
        let switches = Switches {
            backend: BackendChoice::Cpu,
            cache: CachePlace::Off,
            ..Switches::default()
        };
        Bridge::new(process.clone(), card, &switches, 64).expect("bridge")
    }

    fn called(bridge: &mut Bridge, events: &Events) -> (Vec<f64>, Vec<i32>) {
        let nevt = events.g_s.len();
        let mut out = (vec![0.0; nevt], vec![0; nevt], vec![0; nevt]);
        let mut answers = Answers {
            matrix_elements: &mut out.0,
            helicity: &mut out.1,
            color: &mut out.2,
        };
        bridge.run(events, &mut answers).expect("answers");
        (out.0, out.1)
    }

    fn sampled(bridge: &mut Bridge, events: &Events, diagrams: bool) -> (Vec<f64>, Vec<i32>) {
        let legs = bridge.process().legs.len();
        sampled_by(events, legs, diagrams, |sample, answers| {
            bridge.evaluate(sample, answers)
        })
    }

    fn sampled_by(
        events: &Events,
        legs: usize,
        diagrams: bool,
        evaluate: impl FnOnce(&Sample, SampleAnswers) -> Result<BadEvents>,
    ) -> (Vec<f64>, Vec<i32>) {
        let nevt = events.g_s.len();
        let sample = Sample {
            points: events.points(legs),
            random_diagram: events.random_color,
            helicity: None,
            diagram: None,
            diagrams,
        };
        let mut out = (vec![0.0; nevt], vec![0; nevt], vec![0; nevt], vec![0; nevt]);
        let answers = SampleAnswers {
            outputs: Outputs {
                matrix_elements: &mut out.0,
                helicity: &mut out.1,
                color: &mut out.2,
            },
            diagram: &mut out.3,
            amp2: None,
        };
        let bad = evaluate(&sample, answers).expect("a sample");
        assert_eq!(bad.count, 0);
        (out.0, out.1.iter().map(|h| h + 1).collect())
    }

    /// Samples use the same forms as calls, and a changed card reaches both.
    #[test]
    fn both_forms_of_a_process_serve() {
        let process = crate::generate("u u~ > e+ e- g g");
        let process = process.expect("process").remove(0);
        let ordered = process.as_color_ordered().expect("colour-ordered form");
        let card = process.model.default_card();
        let mut wide = card.clone();
        wide[process.model.card_parameter("WZ").expect("a width")] = 40.0;
        let mut both = bridge(&process, &card);
        assert!(both.servers.color_ordered.is_some());
        let points = both.servers.own.trial().cloned().expect("points");
        let events = call(&points.points());
        let mut squared = Vec::new();
        for card in [&card, &wide, &card] {
            both.set_card(card).expect("a card");
            let expected = called(&mut bridge(&ordered, card), &events);
            assert_eq!(called(&mut both, &events), expected);
            for diagrams in [false, true, false] {
                let (x, helicity) = sampled(&mut both, &events, diagrams);
                // With the diagrams the last digits differ.
                for (x, y) in x.iter().zip(&expected.0) {
                    assert!((x / y - 1.0).abs() < 1e-10, "{x:e} {y:e}");
                }
                assert_eq!(helicity, expected.1);
            }
            squared.push(expected.0);
        }
        assert!(squared[0] == squared[2] && squared[0] != squared[1]);
    }

    /// The contents that samplers leave in their shared memory do not matter.
    #[test]
    fn samplers_of_a_thread_share_memory() {
        let memory = SessionMemory::default();
        let texts = ["e+ e- > mu+ mu-", "u u~ > e+ e- g g", "g g > t t~ g"];
        let mut made = texts.map(|text| {
            let process = crate::generate(text).expect("process").remove(0);
            let mut bridge = bridge(&process, &process.model.default_card());
            let points = bridge.servers.own.trial().cloned().expect("points");
            let sampler = bridge.sampler(true, &memory).expect("a sampler");
            (points, bridge, sampler)
        });
        for turn in 0..2 {
            for (points, bridge, sampler) in &mut made {
                let (events, legs) = (call(&points.points()), bridge.process().legs.len());
                for diagrams in [false, true] {
                    let found = sampled_by(&events, legs, diagrams, |sample, answers| {
                        sampler.run(sample, answers)
                    });
                    let own = sampled(bridge, &events, diagrams);
                    assert_eq!(found, own, "turn {turn}, {diagrams}");
                }
            }
            // From the largest to the smallest.
            made.reverse();
        }
        assert!(memory.lock().is_some());
    }

    /// A list of channels applies only to calls: samples have the diagrams of the process.
    #[test]
    fn samples_do_not_see_a_list_of_channels() {
        for text in ["g g > t t~ g", "u u~ > e+ e- g g"] {
            let process = crate::generate(text).expect("process").remove(0);
            let card = process.model.default_card();
            let list = crate::describe::topologies(&process).expect("channels");
            let list = serde_json::to_string(&list[..2]).expect("text");
            let list: Vec<crate::propagators::Topology> =
                serde_json::from_str(&list).expect("a list");
            let mut plain = bridge(&process, &card);
            let points = plain.servers.own.trial().cloned().expect("points");
            let events = call(&points.points());
            let expected = [false, true].map(|diagrams| sampled(&mut plain, &events, diagrams));
            let mut listed = bridge(&process, &card);
            listed.set_channels(&list, 1e8).expect("channels");
            let found = [false, true].map(|diagrams| sampled(&mut listed, &events, diagrams));
            assert_eq!(found, expected, "{text}");
        }
    }
}
