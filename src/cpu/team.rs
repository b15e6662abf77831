//! Several threads on one engine.
//!
//! The events of a call are cut into chunks of whole vectors, and every thread takes the next one
//! when it is done with its last: a thread that is held up by other work on the machine takes
//! fewer. An event's answer does not depend on who computes it or on what is in its chunk. The
//! caller's own thread is one of them; the others sleep between calls, and are not woken for a
//! call that would be done before they are awake.

use super::engine::{Engine, Timers};
use super::simd::Real;
use super::worker::Worker;
use crate::backend::{self, Backend, BadMomentum, Failure, Parts};
use crate::error::{Error, Result};
use crate::events::{Answers, Events};
use crate::plan::Plan;
use std::sync::{Mutex, PoisonError};

/// Chunks for each thread. At the end of a call a thread waits for the others for one chunk at
/// most, so it is one part in this many that is lost.
const CHUNKS: usize = 16;
/// A thread is woken for this many multiply-adds of vectors: some 25 microseconds of work.
const WORTH_WAKING: usize = 60_000;

/// An engine and its threads.
pub struct Team<T: Real> {
    engine: Engine<T>,
    workers: Vec<Worker<T>>,
    pool: Option<rayon::ThreadPool>,
}

/// The events of one worker.
struct Share<'a> {
    first: usize,
    events: Events<'a>,
    answers: Answers<'a>,
}

impl<T: Real> Team<T> {
    /// A team of this many threads; with one the caller's own thread does the work.
    pub fn new(engine: Engine<T>, threads: usize) -> Result<Self> {
        let workers = (0..threads.max(1)).map(|_| Worker::new(&engine));
        let workers = workers.collect::<Result<_>>()?;
        let pool = if threads > 1 {
            let builder = rayon::ThreadPoolBuilder::new()
                .num_threads(threads - 1)
                .thread_name(|i| format!("mebridge-{}", i + 1));
            let pool = builder.build().map_err(|source| Error::Threads {
                threads,
                what: source.to_string(),
            })?;
            Some(pool)
        } else {
            None
        };
        Ok(Team {
            engine,
            workers,
            pool,
        })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine<T> {
        &self.engine
    }

    /// Whether to measure where the time goes.
    pub fn set_profile(&mut self, profile: bool) {
        self.engine.set_profile(profile);
    }

    /// Time spent by all threads.
    pub fn timers(&self) -> Timers {
        let mut sum = Timers::default();
        for worker in &self.workers {
            sum.amplitudes += worker.timers.amplitudes;
            sum.color += worker.timers.color;
        }
        sum
    }

    /// Evaluates events whose arrays, channels and igraphs have been checked.
    pub fn run(
        &mut self,
        events: Events,
        answers: Answers,
        legs: usize,
    ) -> Result<(), BadMomentum> {
        let engine = &self.engine;
        let lanes = engine.lanes();
        let vectors = events.g_s.len().div_ceil(lanes);
        let threads = self.threads_for(vectors);
        let (mine, others) = self.workers.split_at_mut(1);
        let mine = &mut mine[0];
        let pool = match &self.pool {
            Some(pool) if threads > 1 => pool,
            _ => return engine.run(mine, events, answers),
        };
        let size = vectors.div_ceil(CHUNKS * threads).max(1) * lanes;
        let chunks = Mutex::new(shares(events, answers, legs, size).into_iter());
        let first_bad = Mutex::new(None);
        let work = |worker: &mut Worker<T>| {
            // No thread panics while it holds one of the locks.
            let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(chunk) = next() {
                if let Err(bad) = engine.run(worker, chunk.events, chunk.answers) {
                    let event = bad.event + chunk.first;
                    let mut first = first_bad.lock().unwrap_or_else(PoisonError::into_inner);
                    *first = Some(first.map_or(event, |first: usize| first.min(event)));
                    // Chunks before this one have been taken, those behind it do not matter.
                    return;
                }
            }
        };
        pool.in_place_scope(|scope| {
            for worker in others.iter_mut().take(threads - 1) {
                let work = &work;
                scope.spawn(move |_| work(worker));
            }
            work(mine);
        });
        let first_bad = first_bad.into_inner();
        match first_bad.unwrap_or_else(PoisonError::into_inner) {
            Some(event) => Err(BadMomentum { event }),
            None => Ok(()),
        }
    }

    /// How many threads a call with this many vectors of events is worth.
    fn threads_for(&self, vectors: usize) -> usize {
        let work = self.engine.plan().count.multiply_adds.max(1);
        let worth = work.saturating_mul(vectors) / WORTH_WAKING;
        worth.clamp(1, self.workers.len()).min(vectors.max(1))
    }

    /// Evaluates a few events and gives for each the contributions of helicities and, where
    /// the plan computes them, all AMP2.
    pub fn parts(&mut self, events: Events, legs: usize) -> Result<Vec<Parts>, BadMomentum> {
        let nevt = events.g_s.len();
        let mut all = Vec::with_capacity(nevt);
        let mut matrix_elements = vec![0.0; nevt];
        let mut helicity = vec![0; nevt];
        let mut color = vec![0; nevt];
        let answers = Answers {
            matrix_elements: &mut matrix_elements,
            helicity: &mut helicity,
            color: &mut color,
        };
        let events = Events {
            channels: None,
            igraph: None,
            ..events
        };
        for share in shares(events, answers, legs, self.engine.lanes()) {
            let count = share.events.g_s.len();
            let first = share.first;
            let worker = &mut self.workers[0];
            worker.all_amp2 = true;
            let result = self.engine.run(worker, share.events, share.answers);
            worker.all_amp2 = false;
            result.map_err(|bad| BadMomentum {
                event: bad.event + first,
            })?;
            let helicities = self.engine.contributions(worker, count);
            let amp2 = self.engine.amp2(worker, count);
            let parts = |(helicities, amp2)| Parts { helicities, amp2 };
            all.extend(helicities.into_iter().zip(amp2).map(parts));
        }
        Ok(all)
    }
}

impl<T: Real> Backend for Team<T> {
    fn plan(&self) -> &Plan {
        self.engine.plan()
    }

    fn set_profile(&mut self, profile: bool) {
        Team::set_profile(self, profile);
    }

    fn timers(&self) -> backend::Timers {
        let timers = Team::timers(self);
        backend::Timers(vec![
            (backend::AMPLITUDES, timers.amplitudes),
            (backend::COLOR, timers.color),
        ])
    }

    fn run(&mut self, events: Events, answers: Answers, legs: usize) -> Result<(), Failure> {
        Ok(Team::run(self, events, answers, legs)?)
    }

    fn parts(&mut self, events: Events, legs: usize) -> Result<Vec<Parts>, Failure> {
        Ok(Team::parts(self, events, legs)?)
    }
}

/// Cuts a call into calls of at most `size` events.
fn shares<'a>(
    events: Events<'a>,
    answers: Answers<'a>,
    legs: usize,
    size: usize,
) -> Vec<Share<'a>> {
    let nevt = events.g_s.len();
    let mut shares = Vec::new();
    let matrix_elements = answers.matrix_elements.chunks_mut(size);
    let helicity = answers.helicity.chunks_mut(size);
    let color = answers.color.chunks_mut(size);
    for (i, ((matrix_elements, helicity), color)) in
        matrix_elements.zip(helicity).zip(color).enumerate()
    {
        let first = i * size;
        let end = (first + size).min(nevt);
        shares.push(Share {
            first,
            events: events.part(first, end - first, legs),
            answers: Answers {
                matrix_elements,
                helicity,
                color,
            },
        });
    }
    shares
}
