//! Multithreaded evaluation with one engine.
//!
//! A thread that has finished a chunk of events takes the next one; a chunk consists of whole vectors. A thread that
//! starts late, or is delayed by other work on the machine, takes fewer chunks. The chunk size is a fraction of the
//! remaining events, so that all threads end at about the same time. An event's answer does not depend on the thread or
//! on the other events of its chunk. The caller's own thread is one of the threads; the others ([`threads`]) are not woken
//! for a call that would be done before they are awake.

use super::engine::Engine;
use super::worker::{EngineTimers, SingleHelicities, Worker};
use mebridge_backend::inputs::{Inputs, Outputs};
use mebridge_backend::sample::{Sample, SampleAnswers};
use mebridge_backend::{
    self, AllowedMomenta, Backend, BadMomentum, Clocks, Contributions, EachHelicity, Failure,
    Session, SessionMemory, check_length,
};
use mebridge_plan::{Plan, ValidPlan};
use mebridge_simd::Real;
use mebridge_support::error::{Error, Result};
use mebridge_support::sync::lock;
use mebridge_support::threads::{self, KeptThreads};
use std::sync::{Arc, Mutex, PoisonError};

/// The chunk size is the number of remaining events per thread, divided by this.
const CHUNKS: usize = 4;
/// Minimum multiply-adds (of vectors) per chunk, unless that is less than a vector: about 4 microseconds of work,
/// compared to which taking the next chunk is negligible.
const MIN_CHUNK_WORK: usize = 10_000;
/// Multiply-adds (of vectors) that justify waking a thread: about 25 microseconds of work.
const WORTH_WAKING: usize = 60_000;

/// An engine and its threads.
pub struct ThreadedEngine<T: Real> {
    engine: Arc<Engine<T>>,
    workers: Vec<Worker<T>>,
    _kept: KeptThreads,
}

impl<T: Real> ThreadedEngine<T> {
    /// Makes an engine with `threads` threads, including the caller's own. The vectors of each are allocated by the first
    /// call that needs them: samplers use sessions, which share theirs.
    pub fn new(engine: Engine<T>, threads: usize) -> Result<Self> {
        let workers = (0..threads.max(1)).map(|_| Worker::without_vectors(&engine));
        let workers = workers.collect::<Result<_>>()?;
        let kept = threads::start(threads.max(1) - 1).map_err(|source| Error::Threads {
            threads,
            what: source.to_string(),
        })?;
        Ok(ThreadedEngine {
            engine: Arc::new(engine),
            workers,
            _kept: kept,
        })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine<T> {
        &self.engine
    }

    /// Returns the plan, for use in another engine.
    pub fn into_plan(self) -> ValidPlan {
        match Arc::try_unwrap(self.engine) {
            Ok(engine) => engine.into_plan(),
            Err(shared) => shared.plan().clone(),
        }
    }

    /// Sets whether times are measured.
    pub fn set_profile(&mut self, profile: bool) {
        for worker in &mut self.workers {
            worker.profile = profile;
        }
    }

    /// Time spent by all threads.
    pub fn timers(&self) -> EngineTimers {
        let mut sum = EngineTimers::default();
        for worker in &self.workers {
            sum.amplitudes += worker.timers.amplitudes;
            sum.color += worker.timers.color;
        }
        sum
    }

    /// Number of threads to use for a call with this many vectors of events.
    fn threads_for(&self, vectors: usize) -> usize {
        let work = self.engine.plan().count.multiply_adds.max(1);
        let worth = work.saturating_mul(vectors) / WORTH_WAKING;
        worth.clamp(1, self.workers.len()).min(vectors.max(1))
    }

    fn contributions_of_first_thread(
        &mut self,
        inputs: Inputs,
    ) -> Result<Vec<Contributions>, BadMomentum> {
        let nevt = inputs.points.count();
        let mut all = Vec::with_capacity(nevt);
        let mut matrix_elements = vec![0.0; nevt];
        let mut helicity = vec![0; nevt];
        let mut color = vec![0; nevt];
        let mut queue = Queue {
            inputs: Inputs::without_channels(inputs.points),
            outputs: Outputs {
                matrix_elements: &mut matrix_elements,
                helicity: &mut helicity,
                color: &mut color,
            },
            first: 0,
            bad: None,
        };
        while let Some(share) = queue.take(self.engine.lanes()) {
            let count = share.inputs.points.count();
            let first = share.first;
            let worker = &mut self.workers[0];
            worker.all_amp2 = true;
            let result = self.engine.run(worker, share.inputs, share.outputs);
            worker.all_amp2 = false;
            result.map_err(|bad| BadMomentum {
                event: bad.event + first,
            })?;
            let helicities = self.engine.contributions(worker, count);
            let amp2 = self.engine.amp2(worker, count);
            let parts = |(helicities, amp2)| Contributions { helicities, amp2 };
            all.extend(helicities.into_iter().zip(amp2).map(parts));
        }
        Ok(all)
    }
}

impl<T: Real> Backend for ThreadedEngine<T> {
    fn plan(&self) -> &Plan {
        self.engine.plan()
    }

    fn allow(&mut self, momenta: AllowedMomenta) -> bool {
        // Not possible if the engine is shared.
        let engine = Arc::get_mut(&mut self.engine);
        engine.map(|engine| engine.allow(momenta)).is_some()
    }

    fn set_profile(&mut self, clocks: Clocks) {
        ThreadedEngine::set_profile(self, clocks != Clocks::None);
    }

    fn timers(&self) -> mebridge_backend::Timers {
        let timers = ThreadedEngine::timers(self);
        mebridge_backend::Timers(vec![
            (mebridge_backend::AMPLITUDES, timers.amplitudes),
            (mebridge_backend::COLOR, timers.color),
        ])
    }

    fn run(&mut self, inputs: Inputs, outputs: Outputs) -> Result<(), Failure> {
        let engine = &self.engine;
        let lanes = engine.lanes();
        let vectors = inputs.points.count().div_ceil(lanes);
        for worker in &mut self.workers {
            worker.lost = false;
        }
        let threads = self.threads_for(vectors);
        for worker in &mut self.workers[..threads] {
            worker.allocate_vectors(engine)?;
        }
        if threads == 1 {
            return Ok(engine.run(&mut self.workers[0], inputs, outputs)?);
        }
        let smallest = (MIN_CHUNK_WORK / engine.plan().count.multiply_adds.max(1)).max(1);
        let queue = Mutex::new(Queue {
            inputs,
            outputs,
            first: 0,
            bad: None,
        });
        let workers: Vec<_> = self.workers[..threads].iter_mut().map(Mutex::new).collect();
        threads::run(threads - 1, &|number| {
            let worker = &mut lock(&workers[number]);
            let next = || {
                let mut queue = lock(&queue);
                let left = queue.outputs.helicity.len().div_ceil(lanes);
                let vectors = (left / (CHUNKS * threads)).max(smallest);
                queue.take(vectors * lanes)
            };
            while let Some(share) = next() {
                if let Err(bad) = engine.run(worker, share.inputs, share.outputs) {
                    lock(&queue).refuse(share.first + bad.event);
                }
            }
        });
        let queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        match queue.bad {
            Some(event) => Err(BadMomentum { event }.into()),
            None => Ok(()),
        }
    }

    fn may_be_invalid(&self) -> bool {
        self.workers.iter().any(|worker| worker.lost)
    }

    // Vectors are kept only if they were there before: engines are tried and then used by sessions.
    fn contributions(&mut self, inputs: Inputs) -> Result<Vec<Contributions>, Failure> {
        let temporary = self.workers[0].allocate_vectors(&self.engine)?;
        let found = self.contributions_of_first_thread(inputs);
        if temporary {
            self.workers[0].free_vectors()?;
        }
        Ok(found?)
    }

    // Only a plan that takes helicities one at a time and computes AMP2 from their amplitudes, and JAMPs, if requested,
    // from diagrams, can do this.
    fn each(&mut self, inputs: Inputs, answer: &mut EachHelicity) -> Result<bool, Failure> {
        let plan = self.engine.plan();
        let several = plan.groups().iter().any(|group| group.len() != 1);
        // JAMPs of loops are those of another basis.
        let other_jamps = answer.jamps.is_some() && plan.loops().is_some();
        if several || !plan.channels().squares.is_empty() || other_jamps {
            return Ok(false);
        }
        let worker = &mut self.workers[0];
        worker.allocate_vectors(&self.engine)?;
        worker.all_amp2 = true;
        answer.amp2.clear();
        answer.jamp2.clear();
        if let Some(jamps) = &mut answer.jamps {
            jamps.clear();
        }
        // Reuses the memory of `answer`.
        worker.single_helicities = Some(SingleHelicities {
            amp2: std::mem::take(&mut answer.amp2),
            jamp2: std::mem::take(&mut answer.jamp2),
            jamps: answer.jamps.take(),
        });
        let outputs = Outputs {
            matrix_elements: &mut [0.0],
            helicity: &mut [0],
            color: &mut [0],
        };
        let event = Inputs::without_channels(inputs.points.part(0, 1));
        let result = self.engine.run(worker, event, outputs);
        worker.all_amp2 = false;
        let each = worker.single_helicities.take().unwrap_or_default();
        (answer.amp2, answer.jamp2, answer.jamps) = (each.amp2, each.jamp2, each.jamps);
        result?;
        answer.lanes = self.engine.helicity_lanes();
        answer.order.clone_from(&self.engine.order);
        let contributions = &mut answer.contributions;
        self.engine
            .contributions_of_lanes(worker, answer.lanes, contributions);
        Ok(true)
    }

    fn session(&self, memory: &SessionMemory) -> Result<Box<dyn Session>> {
        Ok(Box::new(OneThread {
            worker: Worker::without_vectors(&self.engine)?,
            engine: self.engine.clone(),
            memory: memory.clone(),
        }))
    }
}

/// A thread of the caller on an engine that it shares with other threads.
struct OneThread<T: Real> {
    engine: Arc<Engine<T>>,
    worker: Worker<T>,
    memory: SessionMemory,
}

impl<T: Real> Session for OneThread<T> {
    fn run(&mut self, sample: &Sample, answers: SampleAnswers) -> Result<()> {
        let OneThread {
            engine,
            worker,
            memory,
        } = self;
        worker.with_vectors(engine, memory, |worker| {
            engine.run_sample(worker, sample, answers)
        })?
    }

    fn run_with_leading_color(
        &mut self,
        sample: &Sample,
        answers: SampleAnswers,
        leading: &mut [f64],
    ) -> Result<()> {
        check_length("leading", leading.len(), sample.points.count())?;
        self.worker.leading_color = Some(leading.to_vec());
        let done = self.run(sample, answers);
        if let Some(found) = self.worker.leading_color.take() {
            leading.copy_from_slice(&found);
        }
        done
    }
}

/// The remaining events of a call.
struct Queue<'a> {
    /// Inputs of all events of the call.
    inputs: Inputs<'a>,
    /// Outputs of the remaining events.
    outputs: Outputs<'a>,
    /// Index of the first remaining event.
    first: usize,
    /// Index of the first event with bad momenta.
    bad: Option<usize>,
}

/// A chunk of the events of a call.
struct CallShare<'a> {
    first: usize,
    inputs: Inputs<'a>,
    outputs: Outputs<'a>,
}

impl<'a> Queue<'a> {
    /// Takes the next `size` events, or all that remain.
    fn take(&mut self, size: usize) -> Option<CallShare<'a>> {
        let size = size.min(self.outputs.helicity.len());
        if size == 0 {
            return None;
        }
        let first = self.first;
        self.first += size;
        let (outputs, rest) = std::mem::take(&mut self.outputs).split(size);
        self.outputs = rest;
        Some(CallShare {
            first,
            inputs: self.inputs.part(first, size),
            outputs,
        })
    }

    /// Records a bad event. The remaining events come after it and need not be evaluated.
    fn refuse(&mut self, event: usize) {
        self.bad = Some(self.bad.map_or(event, |bad| bad.min(event)));
        let _ = self.take(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_backend::inputs::Points;
    use mebridge_backend::sample::Momenta;
    use mebridge_backend::trial::Trial;
    use mebridge_plan::binding::Binding;
    use mebridge_plan::color::BlockDiagonal;
    use mebridge_plan::compile;
    use mebridge_process::example;
    use mebridge_simd::Level;

    /// Whichever thread takes a chunk, and however large it is.
    #[test]
    fn answers_do_not_depend_on_threads() {
        let process = example::scalars();
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let engine = |threads: usize| {
            let plan = compile(&process, &binding, &[0]).unwrap();
            let plan = plan.validate(&process).unwrap();
            let split = BlockDiagonal::of_process(&process, false);
            let engine = Engine::<f64>::new(&process, &split, &binding, plan, Level::None, false);
            ThreadedEngine::new(engine.unwrap(), threads).unwrap()
        };
        // Enough for 16 threads.
        let count = 16 * WORTH_WAKING / engine(1).engine().plan().count.multiply_adds + 1;
        let (trial, legs) = (Trial::new(&process, &binding).unwrap(), process.legs.len());
        let known = trial.points().momenta.to_rows();
        let momenta: Vec<f64> = (0..4 * legs * count)
            .map(|i| known[i % known.len()])
            .collect();
        let random: Vec<f64> = (0..count).map(|i| (0.618 * i as f64).fract()).collect();
        let g_s: Vec<f64> = random.iter().map(|x| 1.0 + x).collect();
        let points = Points {
            momenta: Momenta::rows(&momenta, legs),
            g_s: &g_s,
            random_helicity: &random,
            random_color: &random,
        };
        let answers = [1, 2, 16].map(|threads| {
            let mut engine = engine(threads);
            assert_eq!(engine.threads_for(count), threads);
            let mut found = (vec![0.0; count], vec![0; count], vec![0; count]);
            let outputs = Outputs {
                matrix_elements: &mut found.0,
                helicity: &mut found.1,
                color: &mut found.2,
            };
            let inputs = Inputs::without_channels(points);
            engine.run(inputs, outputs).unwrap();
            found
        });
        assert!(answers[0].0.iter().all(|x| *x > 0.0));
        assert!(answers[0] == answers[1] && answers[0] == answers[2]);
    }

    /// A sampler makes some hundred engines, tries each of them once, and uses sessions.
    #[test]
    fn only_calls_of_run_leave_vectors_behind() {
        let process = example::scalars();
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let plan = compile(&process, &binding, &[0]).unwrap();
        let plan = plan.validate(&process).unwrap();
        let split = BlockDiagonal::of_process(&process, false);
        let engine = Engine::<f64>::new(&process, &split, &binding, plan, Level::None, false);
        let mut engine = ThreadedEngine::new(engine.unwrap(), 2).unwrap();
        let held = |engine: &mut ThreadedEngine<f64>| -> Vec<usize> {
            let workers = engine.workers.iter_mut();
            workers.map(|worker| worker.numbers().len()).collect()
        };
        let trial = Trial::new(&process, &binding).unwrap();
        let inputs = Inputs::without_channels(trial.points().part(0, 1));
        let first = engine.contributions(inputs).unwrap();
        assert_eq!(held(&mut engine), [0, 0]);
        let mut found = ([0.0], [0], [0]);
        let outputs = Outputs {
            matrix_elements: &mut found.0,
            helicity: &mut found.1,
            color: &mut found.2,
        };
        engine.run(inputs, outputs).unwrap();
        let needed = engine.engine.vector_numbers();
        assert!(needed > 0);
        assert_eq!(held(&mut engine), [needed, 0]);
        // They stay where they were before, and hold nothing that matters.
        assert_eq!(engine.contributions(inputs).unwrap(), first);
        assert_eq!(held(&mut engine), [needed, 0]);
    }
}
