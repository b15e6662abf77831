//! Random events on which a process is evaluated, with the answers.

use crate::random::CommonRandom;
use crate::source::CardedProcess;
use mebridge::events::{Answers, Events};
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::{Error, Result};
use mebridge_oracle::random::Random;
use mebridge_sampler::parallel;

/// Number of events that a thread takes at a time.
const CHUNK: usize = 512;
/// Streams of random numbers of one iteration: momenta, helicity, colour.
const STREAMS: u64 = 3;

/// The source of random numbers.
#[derive(Clone, Copy)]
pub enum RandomSource {
    /// Our generator with this seed.
    Seed(u64),
    /// The plugin's common random numbers.
    Common,
}

impl RandomSource {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            RandomSource::Seed(_) => "chacha",
            RandomSource::Common => "common",
        }
    }

    /// Returns the seed in use.
    pub fn seed(self) -> u64 {
        match self {
            RandomSource::Seed(seed) => seed,
            RandomSource::Common => CommonRandom::SEED,
        }
    }
}

/// Returns the phase space of a process at an energy.
pub fn phase_space(source: &CardedProcess, energy: f64) -> Result<PhaseSpace> {
    let process = &source.process;
    let binding = Binding::new(&process.model, &source.card)?;
    let masses = |incoming| binding.masses(&process.legs, incoming);
    PhaseSpace::new(energy, &masses(true), &masses(false))
}

/// The events of one iteration.
pub struct RandomEvents {
    space: PhaseSpace,
    numbers: RandomSource,
    threads: usize,
    random: Vec<f64>,
    momenta: Vec<f64>,
    weights: Vec<f64>,
    g_s: Vec<f64>,
    random_helicity: Vec<f64>,
    random_color: Vec<f64>,
    channels: Option<Vec<i32>>,
    elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
}

impl RandomEvents {
    /// Allocates memory for `nevt` events.
    pub fn new(
        space: PhaseSpace,
        numbers: RandomSource,
        nevt: usize,
        g_s: f64,
        channel: Option<i32>,
    ) -> Result<RandomEvents> {
        Ok(RandomEvents {
            threads: 1,
            random: filled(nevt, space.randoms(), 0.0)?,
            momenta: filled(nevt, space.components(), 0.0)?,
            weights: filled(nevt, 1, 0.0)?,
            g_s: filled(nevt, 1, g_s)?,
            random_helicity: filled(nevt, 1, 0.0)?,
            random_color: filled(nevt, 1, 0.0)?,
            channels: channel.map(|c| filled(nevt, 1, c)).transpose()?,
            elements: filled(nevt, 1, 0.0)?,
            helicity: filled(nevt, 1, 0)?,
            color: filled(nevt, 1, 0)?,
            space,
            numbers,
        })
    }

    /// Returns the number of events.
    pub fn nevt(&self) -> usize {
        self.g_s.len()
    }

    /// Sets the number of threads that make the events.
    pub fn use_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Phase 1: draws random numbers.
    pub fn draw(&mut self, iteration: u64) {
        let stream = STREAMS * iteration;
        let per_event = self.space.randoms();
        let source = Random::new(self.numbers.seed());
        let threads = self.threads;
        match self.numbers {
            RandomSource::Seed(_) => chunks(threads, &mut self.random, per_event, |first, part| {
                source.fill(stream, first, per_event, part);
            }),
            RandomSource::Common => CommonRandom.fill(iteration, per_event, &mut self.random),
        }
        chunks(threads, &mut self.random_helicity, 1, |first, part| {
            source.fill(stream + 1, first, 1, part);
        });
        chunks(threads, &mut self.random_color, 1, |first, part| {
            source.fill(stream + 2, first, 1, part);
        });
    }

    /// Phase 2: makes momenta and weights.
    pub fn make_momenta(&mut self) {
        let space = &self.space;
        let random = self.random.chunks(CHUNK * space.randoms());
        let momenta = self.momenta.chunks_mut(CHUNK * space.components());
        let weights = self.weights.chunks_mut(CHUNK);
        let mut parts: Vec<_> = random.zip(momenta).zip(weights).collect();
        parallel::for_each(self.threads, &mut parts, |((random, momenta), weights)| {
            let random = random.chunks_exact(space.randoms());
            let momenta = momenta.chunks_exact_mut(space.components());
            for ((random, momenta), weight) in random.zip(momenta).zip(weights.iter_mut()) {
                *weight = space.event(random, momenta);
            }
        });
    }

    /// Returns the arrays of a call: inputs and answers.
    pub fn call(&mut self) -> (Events<'_>, Answers<'_>) {
        let events = Events {
            momenta: &self.momenta,
            g_s: &self.g_s,
            random_helicity: &self.random_helicity,
            random_color: &self.random_color,
            channels: self.channels.as_deref(),
            igraph: None,
        };
        let answers = Answers {
            matrix_elements: &mut self.elements,
            helicity: &mut self.helicity,
            color: &mut self.color,
        };
        (events, answers)
    }

    /// Returns the momenta of each event.
    pub fn momenta(&self) -> impl Iterator<Item = &[f64]> {
        self.momenta.chunks_exact(self.space.components())
    }

    /// Returns the weights of the phase space.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the matrix elements.
    pub fn elements(&self) -> &[f64] {
        &self.elements
    }
}

/// Calls `f` on chunks of events, with the number of the first event of each.
fn chunks(
    threads: usize,
    numbers: &mut [f64],
    per_event: usize,
    f: impl Fn(usize, &mut [f64]) + Sync,
) {
    let mut parts: Vec<_> = numbers.chunks_mut(CHUNK * per_event).enumerate().collect();
    parallel::for_each(threads, &mut parts, |(i, part)| f(*i * CHUNK, part));
}

/// Allocates an array for all events, or returns an error if memory is insufficient.
fn filled<T: Clone>(nevt: usize, per_event: usize, value: T) -> Result<Vec<T>> {
    let mut array = Vec::new();
    match nevt.checked_mul(per_event) {
        Some(length) if array.try_reserve_exact(length).is_ok() => {
            array.resize(length, value);
            Ok(array)
        }
        _ => Err(Error::NoMemoryForEvents { nevt }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(threads: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let space = PhaseSpace::new(1500.0, &[0.0, 0.0], &[173.0, 173.0, 0.0]).unwrap();
        let mut drawn =
            RandomEvents::new(space, RandomSource::Seed(3), 3 * CHUNK + 17, 1.0, None).unwrap();
        drawn.use_threads(threads);
        drawn.draw(2);
        drawn.make_momenta();
        (drawn.momenta, drawn.weights, drawn.random_color)
    }

    #[test]
    fn events_do_not_depend_on_the_number_of_threads() {
        let one = numbers(1);
        assert!(one.0.iter().all(|x| x.is_finite()));
        assert!(one.1.iter().all(|&x| x > 0.0));
        assert_eq!(one, numbers(3));
    }

    #[test]
    fn too_many_events_are_an_error() {
        let message = filled(1 << 60, 40, 0.0).unwrap_err().to_string();
        assert!(message.contains("1152921504606846976 events"), "{message}");
    }
}
