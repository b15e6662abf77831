//! Events and their answers.

use crate::common::{Reference, worst};
use mebridge::Result;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::process::Process;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Requested outputs besides the matrix element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    pub channels: bool,
    pub igraph: bool,
}

impl Ask {
    pub const PLAIN: Ask = Ask {
        channels: false,
        igraph: false,
    };
    pub const CHANNELS: Ask = Ask {
        channels: true,
        igraph: false,
    };
    pub const ALL: [Ask; 4] = [
        Ask::PLAIN,
        Ask::CHANNELS,
        Ask {
            channels: false,
            igraph: true,
        },
        Ask {
            channels: true,
            igraph: true,
        },
    ];
}

/// The arrays of [`Events`], owned.
#[derive(Clone)]
pub struct Batch {
    pub legs: usize,
    pub momenta: Vec<f64>,
    pub g_s: Vec<f64>,
    pub random_helicity: Vec<f64>,
    pub random_color: Vec<f64>,
    pub channels: Vec<i32>,
    pub igraph: Vec<i32>,
}

impl Batch {
    /// Makes events of a process over its phase space, at 1.5 TeV; the same every time.
    pub fn random(process: &Process, nevt: usize) -> Batch {
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect("binding");
        let masses = |incoming| binding.masses(&process.legs, incoming);
        let space = PhaseSpace::new(1500.0, &masses(true), &masses(false)).expect("phase space");
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let legs = process.legs.len();
        let mut momenta = vec![0.0; nevt * legs * 4];
        for event in momenta.chunks_exact_mut(4 * legs) {
            let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.random()).collect();
            space.event(&numbers, event);
        }
        let known = process.channels.amp2.iter().map(|a| a.diagram);
        let known = known.filter(|&d| process.channels.config_of(d).is_some());
        let known: Vec<i32> = known.map(|d| d as i32).collect();
        let configurations = process.channels.config_diagram.len() as i32;
        // MadEvent has the same channel for many events; neighbours may differ all the same.
        let channel = |event: usize, random: &mut ChaCha8Rng| match event < nevt / 2 {
            // Without diagrams there are no channels.
            _ if known.is_empty() => 0,
            true => known[event / 16 % known.len()],
            false => known[random.random_range(0..known.len())],
        };
        Batch {
            legs,
            momenta,
            g_s: (0..nevt).map(|_| random.random_range(0.9..1.4)).collect(),
            random_helicity: (0..nevt).map(|_| random.random()).collect(),
            random_color: (0..nevt).map(|_| random.random()).collect(),
            channels: (0..nevt).map(|i| channel(i, &mut random)).collect(),
            igraph: (0..nevt)
                .map(|_| random.random_range(0..=configurations))
                .collect(),
        }
    }

    /// The events of a reference file.
    pub fn new(r: &Reference) -> Batch {
        Batch {
            legs: r.momenta.len() / r.g_s.len() / 4,
            momenta: r.momenta.clone(),
            g_s: r.g_s.clone(),
            random_helicity: r.random_helicity.clone(),
            random_color: r.random_color.clone(),
            channels: r.channels.clone(),
            igraph: vec![0; r.g_s.len()],
        }
    }

    /// Repeats these events up to a given number.
    pub fn repeated(&self, nevt: usize) -> Batch {
        fn again<T: Copy>(of: &[T], count: usize) -> Vec<T> {
            of.iter().copied().cycle().take(count).collect()
        }
        Batch {
            legs: self.legs,
            momenta: again(&self.momenta, 4 * self.legs * nevt),
            g_s: again(&self.g_s, nevt),
            random_helicity: again(&self.random_helicity, nevt),
            random_color: again(&self.random_color, nevt),
            channels: again(&self.channels, nevt),
            igraph: again(&self.igraph, nevt),
        }
    }

    pub fn len(&self) -> usize {
        self.g_s.len()
    }

    /// Returns all of them, with the requested outputs.
    pub fn events(&self, ask: Ask) -> Events<'_> {
        Events {
            momenta: &self.momenta,
            g_s: &self.g_s,
            random_helicity: &self.random_helicity,
            random_color: &self.random_color,
            channels: ask.channels.then_some(&self.channels),
            igraph: ask.igraph.then_some(&self.igraph),
        }
    }

    /// Returns a bridge's answers for the first of them.
    pub fn first(&self, nevt: usize, ask: Ask, bridge: &mut Bridge) -> Outcome {
        run(bridge, &self.events(ask).first(nevt)).expect("run")
    }

    /// Returns a bridge's answers for all of them.
    pub fn run(&self, ask: Ask, bridge: &mut Bridge) -> Outcome {
        self.first(self.len(), ask, bridge)
    }
}

/// The arrays of [`Answers`], owned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub squared: Vec<f64>,
    pub helicity: Vec<i32>,
    pub color: Vec<i32>,
}

impl Outcome {
    /// Allocates answers, filled with wrong values.
    pub fn none(nevt: usize) -> Outcome {
        Outcome {
            squared: vec![f64::NAN; nevt],
            helicity: vec![-1; nevt],
            color: vec![-1; nevt],
        }
    }

    /// The first of them.
    pub fn first(&self, nevt: usize) -> Outcome {
        Outcome {
            squared: self.squared[..nevt].to_vec(),
            helicity: self.helicity[..nevt].to_vec(),
            color: self.color[..nevt].to_vec(),
        }
    }

    /// Adds those of another.
    pub fn extend(&mut self, other: Outcome) {
        self.squared.extend(other.squared);
        self.helicity.extend(other.helicity);
        self.color.extend(other.color);
    }

    /// Returns the number of different choices of helicities or colours.
    pub fn other_choices(&self, other: &Outcome) -> usize {
        differing(&self.helicity, &other.helicity) + differing(&self.color, &other.color)
    }

    /// Describes differences from the expected answers: larger than this, or any choice.
    pub fn differs(&self, right: &Outcome, tolerance: f64) -> Option<String> {
        let by = worst(&self.squared, &right.squared);
        let choices = self.other_choices(right);
        if by <= tolerance && choices == 0 {
            return None;
        }
        let mut squared = self.squared.iter().zip(&right.squared);
        let first = squared.position(|(&a, &b)| worst(&[a], &[b]) > tolerance);
        Some(format!(
            "{by:.1e} (event {first:?} is the first), {choices} choices"
        ))
    }
}

/// Returns a bridge's answers, or its error.
pub fn run(bridge: &mut Bridge, events: &Events) -> Result<Outcome> {
    let mut outcome = Outcome::none(events.g_s.len());
    let mut answers = Answers {
        matrix_elements: &mut outcome.squared,
        helicity: &mut outcome.helicity,
        color: &mut outcome.color,
    };
    bridge.run(events, &mut answers)?;
    Ok(outcome)
}

pub fn differing(a: &[i32], b: &[i32]) -> usize {
    let pairs = a.iter().zip(b).filter(|(a, b)| a != b);
    pairs.count() + a.len().abs_diff(b.len())
}
