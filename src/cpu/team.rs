//! Several threads on one engine: each takes its share of the events of a call.

use super::block::BadMomentum;
use super::engine::{Engine, Timers};
use super::simd::Real;
use super::worker::Worker;
use crate::error::{Error, Result};
use crate::events::{Answers, Events};
use rayon::prelude::*;

/// An engine and its threads.
pub struct Team<T: Real> {
    engine: Engine<T>,
    workers: Vec<Worker<T>>,
    pool: Option<rayon::ThreadPool>,
}

/// What one event's answer is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The contribution of each helicity of the plan, without the average.
    pub helicities: Vec<f64>,
    /// AMP2 in the order of the plan, empty if it does not compute them.
    pub amp2: Vec<f64>,
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
                .num_threads(threads)
                .thread_name(|i| format!("mebridge-{i}"));
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
        let Some(pool) = &self.pool else {
            return engine.run(&mut self.workers[0], events, answers);
        };
        let nevt = events.g_s.len();
        let lanes = engine.lanes();
        // Whole vectors for everybody, so that only the last one has an incomplete vector.
        let size = nevt.div_ceil(lanes).div_ceil(self.workers.len()).max(1) * lanes;
        let shares = shares(events, answers, legs, size);
        let results: Vec<_> = pool.install(|| {
            self.workers
                .par_iter_mut()
                .zip(shares)
                .map(|(worker, share)| {
                    engine
                        .run(worker, share.events, share.answers)
                        .map_err(|bad| BadMomentum {
                            event: bad.event + share.first,
                        })
                })
                .collect()
        });
        results.into_iter().collect()
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
            events: Events {
                momenta: &events.momenta[first * legs * 4..end * legs * 4],
                g_s: &events.g_s[first..end],
                random_helicity: &events.random_helicity[first..end],
                random_color: &events.random_color[first..end],
                channels: events.channels.map(|c| &c[first..end]),
                igraph: events.igraph.map(|g| &g[first..end]),
            },
            answers: Answers {
                matrix_elements,
                helicity,
                color,
            },
        });
    }
    shares
}
