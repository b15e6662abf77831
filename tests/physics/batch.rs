//! Arrays of events, and a bridge that evaluates them.

use crate::kinematics::Point;
use mebridge::Result;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Switches};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::Range;

/// The arrays of [`Events`], owned.
#[derive(Clone)]
pub struct Batch {
    legs: usize,
    pub momenta: Vec<f64>,
    pub g_s: Vec<f64>,
    pub random_helicity: Vec<f64>,
    pub random_color: Vec<f64>,
    pub channels: Option<Vec<i32>>,
    pub igraph: Option<Vec<i32>>,
}

/// The arrays of [`Answers`], owned. Equal means bit for bit, as long as nothing is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub squared: Vec<f64>,
    pub helicity: Vec<i32>,
    pub color: Vec<i32>,
}

impl Batch {
    /// Events at these points, all with the same strong coupling, without channels.
    pub fn new(points: &[Point], g: f64) -> Batch {
        Batch {
            legs: points[0].len(),
            momenta: points.iter().flatten().flatten().copied().collect(),
            g_s: vec![g; points.len()],
            random_helicity: vec![0.5; points.len()],
            random_color: vec![0.5; points.len()],
            channels: None,
            igraph: None,
        }
    }

    /// Another g_s and other random numbers for each event.
    pub fn varied(mut self, seed: u64) -> Batch {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for i in 0..self.len() {
            self.g_s[i] = rng.random_range(0.9..1.4);
            self.random_helicity[i] = rng.random();
            self.random_color[i] = rng.random();
        }
        self
    }

    /// In these channels, over and over.
    pub fn in_channels(mut self, channels: &[i32]) -> Batch {
        self.channels = Some(self.cycle(channels));
        self
    }

    /// With these igraphs, over and over.
    pub fn with_igraph(mut self, igraph: &[i32]) -> Batch {
        self.igraph = Some(self.cycle(igraph));
        self
    }

    fn cycle(&self, values: &[i32]) -> Vec<i32> {
        values.iter().copied().cycle().take(self.len()).collect()
    }

    pub fn len(&self) -> usize {
        self.g_s.len()
    }

    /// The arrays.
    pub fn events(&self) -> Events<'_> {
        Events {
            momenta: &self.momenta,
            g_s: &self.g_s,
            random_helicity: &self.random_helicity,
            random_color: &self.random_color,
            channels: self.channels.as_deref(),
            igraph: self.igraph.as_deref(),
        }
    }

    /// Some of the events.
    pub fn part(&self, range: Range<usize>) -> Batch {
        let some = |x: &Option<Vec<i32>>| x.as_ref().map(|x| x[range.clone()].to_vec());
        Batch {
            legs: self.legs,
            momenta: self.momenta[range.start * self.legs * 4..range.end * self.legs * 4].to_vec(),
            g_s: self.g_s[range.clone()].to_vec(),
            random_helicity: self.random_helicity[range.clone()].to_vec(),
            random_color: self.random_color[range.clone()].to_vec(),
            channels: some(&self.channels),
            igraph: some(&self.igraph),
        }
    }

    /// Returns the answers of a bridge.
    pub fn run(&self, bridge: &mut Bridge) -> Outcome {
        self.try_run(bridge).expect("run")
    }

    /// Returns the answers of a bridge, or its error.
    pub fn try_run(&self, bridge: &mut Bridge) -> Result<Outcome> {
        let n = self.len();
        let mut outcome = Outcome {
            squared: vec![f64::NAN; n],
            helicity: vec![-1; n],
            color: vec![-1; n],
        };
        let mut answers = Answers {
            matrix_elements: &mut outcome.squared,
            helicity: &mut outcome.helicity,
            color: &mut outcome.color,
        };
        bridge.run(&self.events(), &mut answers)?;
        assert!(outcome.squared.iter().all(|x| x.is_finite()));
        Ok(outcome)
    }
}

impl Outcome {
    /// Some of the answers.
    pub fn part(&self, range: Range<usize>) -> Outcome {
        Outcome {
            squared: self.squared[range.clone()].to_vec(),
            helicity: self.helicity[range.clone()].to_vec(),
            color: self.color[range].to_vec(),
        }
    }
}

/// Switches that select the CPU, on any machine.
pub fn cpu() -> Switches {
    Switches {
        backend: BackendChoice::Cpu,
        ..Switches::default()
    }
}

/// A Bridge.
pub fn bridge(process: &Process, card: &[f64], switches: &Switches) -> Bridge {
    Bridge::new(process.clone(), card, switches, 32).expect("bridge")
}

/// Returns |M|^2 of these points, from a bridge made for them.
pub fn squared(process: &Process, card: &[f64], points: &[Point], g: f64) -> Vec<f64> {
    let switches = Switches {
        // Helicities that vanish at the first points must not be missing at the others.
        good_helicities_all: true,
        ..cpu()
    };
    Batch::new(points, g)
        .run(&mut bridge(process, card, &switches))
        .squared
}

/// Largest relative difference of `a` from `b`.
pub fn worst(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| ((a - b) / b).abs())
        .fold(0.0, |w, x| if x > w || x.is_nan() { x } else { w })
}
