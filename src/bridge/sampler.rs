//! Samples of a sampler: what each thread of a caller's holds of a bridge.

use super::Bridge;
use super::again::Again;
use crate::backend::{Backend, Session};
use crate::error::{Error, Result};
use crate::events::Events;
use crate::float_environment::in_default_environment;
use crate::sample::{Bad, Sample, SampleAnswers};
use crate::target::Target;

/// A thread of a bridge's is started for this many events.
const WORTH_A_THREAD: usize = 512;

/// Evaluates samples, one thread at a time. Samplers of a bridge share its plans, run at the same time, and go on when
/// the bridge is gone.
pub struct Sampler {
    /// For calls that ask for diagrams and colours; none where no such call was to come.
    with_diagrams: Option<Box<dyn Session>>,
    /// For the others, where a better plan serves them.
    without: Option<Box<dyn Session>>,
    legs: usize,
    diagrams: usize,
    helicities: usize,
    /// For events that single precision cannot hold.
    again: Option<Again>,
}

impl Bridge {
    /// A sampler; with `diagrams` for samples that ask for diagrams and colours, too. The first one finds the good
    /// helicities and makes the plans.
    pub fn sampler(&mut self, diagrams: bool) -> Result<Sampler> {
        let (with_diagrams, without) = self.sessions(diagrams, |backend| backend.session())?;
        Ok(Sampler {
            with_diagrams,
            without,
            legs: self.process.legs.len(),
            diagrams: self.process.diagrams as usize,
            helicities: self.process.helicities.len(),
            again: self.again(),
        })
    }

    /// What evaluates samples with diagrams and colours, if such may come, and others, where a better plan serves them.
    pub(super) fn sessions<S>(
        &mut self,
        diagrams: bool,
        session: impl Fn(&dyn Backend) -> Result<S>,
    ) -> Result<(Option<S>, Option<S>)> {
        let legs = self.process.legs.len();
        // Questions about the process are asked on points of its own; where there are none, it is not asked.
        let mut event = Events {
            momenta: &vec![0.0; 4 * legs],
            g_s: &[0.0],
            random_helicity: &[0.0],
            random_color: &[0.0],
            channels: None,
            igraph: None,
        };
        let of = |bridge: &Bridge, channels| match bridge.server(channels) {
            Some((backend, recursion)) => Ok((session(backend)?, recursion)),
            None => Err(Error::NoEvents),
        };
        let (mut with_diagrams, mut without) = (None, None);
        if let Some(ordered) = &mut self.ordered {
            ordered.prepare(&event)?;
            without = Some(of(ordered, false)?.0);
            // Any channel asks for diagrams.
            event.channels = Some(&[1]);
        }
        if diagrams || without.is_none() {
            self.prepare(&event)?;
            let (session, recursion) = of(self, true)?;
            with_diagrams = Some(session);
            // Without squared diagrams there may be nothing to serve better.
            let others = self.server(false).map(|(_, recursion)| recursion);
            if without.is_none() && others != Some(recursion) {
                without = Some(of(self, false)?.0);
            }
        }
        Ok((with_diagrams, without))
    }
}

impl Bridge {
    /// Evaluates a sample with as many threads as the bridge has, and says which events are bad.
    pub fn evaluate(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<Bad> {
        let threads = match &self.target {
            Target::Cpu(cores) => cores.threads,
            Target::Gpu(_) => 1,
        };
        // A thread is worth it where it has some events.
        let threads = threads.min(sample.momenta.events() / WORTH_A_THREAD).max(1);
        let lacks = |sampler: &Sampler| sample.diagrams && sampler.with_diagrams.is_none();
        if self.samplers.iter().any(lacks) {
            self.samplers.clear();
        }
        while self.samplers.len() < threads {
            let sampler = self.sampler(sample.diagrams)?;
            self.samplers.push(sampler);
        }
        if threads == 1 {
            let sampler = self.samplers.first_mut();
            return sampler.map_or(Err(Error::NoEvents), |sampler| sampler.run(sample, answers));
        }
        if let Some(sampler) = self.samplers.first() {
            sampler.check(sample, &answers)?;
        }
        let each = sample.momenta.events().div_ceil(threads);
        let samplers = self.samplers[..threads].iter_mut();
        let mut rest = Some(answers);
        let results: Vec<Result<Bad>> = std::thread::scope(|scope| {
            let mut running = Vec::new();
            for (sampler, begin) in samplers.zip((0..).step_by(each)) {
                let count = each.min(sample.momenta.events() - begin);
                let Some((mine, others)) = rest.take().map(|rest| rest.split(count)) else {
                    break;
                };
                rest = Some(others);
                let part = sample.part(begin, count);
                running.push(scope.spawn(move || {
                    let mut bad = sampler.run(&part, mine)?;
                    bad.first = bad.first.map(|event| event + begin);
                    Ok(bad)
                }));
            }
            let lost = || Error::Internal {
                what: "a thread that evaluates samples".into(),
            };
            let running = running.into_iter();
            running
                .map(|thread| thread.join().unwrap_or_else(|_| Err(lost())))
                .collect()
        });
        let mut all = Bad::default();
        for bad in results {
            let bad = bad?;
            all.count += bad.count;
            all.first = all.first.or(bad.first);
        }
        Ok(all)
    }
}

impl Sampler {
    /// Evaluates a sample, and says which events are bad.
    pub fn run(&mut self, sample: &Sample, mut answers: SampleAnswers) -> Result<Bad> {
        self.check(sample, &answers)?;
        if sample.momenta.events() == 0 {
            return Ok(Bad::default());
        }
        let session = match (&mut self.with_diagrams, &mut self.without) {
            (_, Some(session)) if !sample.diagrams => session,
            (Some(session), _) => session,
            (None, _) => {
                return Err(Error::Internal {
                    what: "a sampler that was made without diagrams".into(),
                });
            }
        };
        let all = answers.part(0, sample.momenta.events());
        let bad = in_default_environment(|| session.run(sample, all));
        if let Some(again) = &mut self.again {
            again.run(sample, &mut answers)?;
        }
        Ok(bad)
    }

    fn check(&self, sample: &Sample, answers: &SampleAnswers) -> Result<()> {
        let events = sample.momenta.events();
        let length = |what: &'static str, has: usize, needs: usize| match has == needs {
            true => Ok(()),
            false => Err(Error::ArrayLength { what, has, needs }),
        };
        if events > 0 {
            length("momenta", sample.momenta.legs(), self.legs)?;
        }
        length("g_s", sample.g_s.len(), events)?;
        length("random_helicity", sample.random_helicity.len(), events)?;
        length("random_color", sample.random_color.len(), events)?;
        length("random_diagram", sample.random_diagram.len(), events)?;
        length("matrix_elements", answers.matrix_elements.len(), events)?;
        length("helicity", answers.helicity.len(), events)?;
        length("color", answers.color.len(), events)?;
        length("diagram", answers.diagram.len(), events)?;
        if let Some(rows) = &answers.amp2 {
            length("amp2", rows.events(), events)?;
            length("amp2", rows.count(), self.diagrams)?;
        }
        let index = |what: &'static str, given: Option<&[i32]>, count: usize| {
            let Some(given) = given else {
                return Ok(());
            };
            length(what, given.len(), events)?;
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
    use crate::events::Answers;
    use crate::process::Process;
    use crate::runtime::{BackendChoice, CachePlace, Switches};
    use crate::sample::Momenta;

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
        let nevt = events.g_s.len();
        let sample = Sample {
            momenta: Momenta::rows(events.momenta, bridge.process().legs.len()),
            g_s: events.g_s,
            random_helicity: events.random_helicity,
            random_color: events.random_color,
            random_diagram: events.random_color,
            helicity: None,
            diagram: None,
            diagrams,
        };
        let mut out = (vec![0.0; nevt], vec![0; nevt], vec![0; nevt], vec![0; nevt]);
        let answers = SampleAnswers {
            matrix_elements: &mut out.0,
            helicity: &mut out.1,
            color: &mut out.2,
            diagram: &mut out.3,
            amp2: None,
        };
        let bad = bridge.evaluate(&sample, answers).expect("a sample");
        assert_eq!(bad.count, 0);
        (out.0, out.1.iter().map(|h| h + 1).collect())
    }

    /// Samples are served by either form as calls are, and other values of the card reach both.
    #[test]
    fn both_forms_of_a_process_serve() {
        let process = crate::generate("u u~ > e+ e- g g");
        let process = process.expect("process").remove(0);
        let ordered = process.as_color_ordered().expect("colour-ordered form");
        let card = process.model.default_card();
        let mut wide = card.clone();
        wide[process.model.card_parameter("WZ").expect("a width")] = 40.0;
        let mut both = bridge(&process, &card);
        assert!(both.ordered.is_some());
        let points = bridge(&process, &card).trial.expect("points");
        let events = points.events();
        let mut squared = Vec::new();
        for card in [&card, &wide, &card] {
            both.set_card(card).expect("a card");
            let expected = called(&mut bridge(&ordered, card), &events);
            assert_eq!(called(&mut both, &events), expected);
            for diagrams in [false, true, false] {
                let (x, helicity) = sampled(&mut both, &events, diagrams);
                // By the diagrams the last digits are others.
                for (x, y) in x.iter().zip(&expected.0) {
                    assert!((x / y - 1.0).abs() < 1e-10, "{x:e} {y:e}");
                }
                assert_eq!(helicity, expected.1);
            }
            squared.push(expected.0);
        }
        assert!(squared[0] == squared[2] && squared[0] != squared[1]);
    }
}
