//! Calls of a bridge on random events.

use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Precision, Switches};
use rand::distr::Open01;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A bridge and the events of its calls.
pub struct RepeatedCalls {
    bridge: Bridge,
    momenta: Vec<f64>,
    ones: Vec<f64>,
    random: [Vec<f64>; 2],
    channels: Vec<i32>,
    igraph: Vec<i32>,
    elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
}

impl RepeatedCalls {
    /// A bridge with all its plans made.
    pub fn new(process: &Process, precision: Precision, nevt: usize) -> RepeatedCalls {
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect("the card is complete");
        let masses = |incoming| binding.masses(&process.legs, incoming);
        let space = PhaseSpace::new(1500.0, &masses(true), &masses(false)).expect("enough energy");
        let numbers = |stream, each| {
            let mut random = ChaCha8Rng::seed_from_u64(stream);
            let numbers = std::iter::repeat_with(|| random.sample(Open01));
            numbers.take(nevt * each).collect::<Vec<f64>>()
        };
        let mut momenta = vec![0.0; nevt * space.components()];
        let random = numbers(0, space.randoms());
        for (random, momenta) in random
            .chunks_exact(space.randoms())
            .zip(momenta.chunks_exact_mut(space.components()))
        {
            space.event(random, momenta);
        }
        let configurations = &process.channels.config_diagram;
        let first = configurations
            .iter()
            .position(|&d| d != 0)
            .expect("a channel");
        let switches = Switches {
            backend: BackendChoice::Cpu,
            precision,
            ..Switches::default()
        };
        let bridge = Bridge::new(process.clone(), &card, &switches, nevt).expect("a bridge");
        let mut calls = RepeatedCalls {
            bridge,
            momenta,
            ones: vec![1.0; nevt],
            random: [numbers(1, 1), numbers(2, 1)],
            channels: vec![configurations[first] as i32; nevt],
            igraph: vec![first as i32 + 1; nevt],
            elements: vec![0.0; nevt],
            helicity: vec![0; nevt],
            color: vec![0; nevt],
        };
        calls.run(false, false);
        calls.run(true, true);
        calls
    }

    /// One call.
    pub fn run(&mut self, channels: bool, igraph: bool) {
        let events = Events {
            momenta: &self.momenta,
            g_s: &self.ones,
            random_helicity: &self.random[0],
            random_color: &self.random[1],
            channels: channels.then_some(&self.channels),
            igraph: igraph.then_some(&self.igraph),
        };
        let mut answers = Answers {
            matrix_elements: &mut self.elements,
            helicity: &mut self.helicity,
            color: &mut self.color,
        };
        self.bridge.run(&events, &mut answers).expect("good events");
    }
}
