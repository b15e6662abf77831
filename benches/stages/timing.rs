//! How long a piece of work takes: the median of several samples, with the shortest and the longest.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Samples of each piece of work.
const SAMPLES: usize = 10;
/// The least time that a sample takes: shorter work is repeated.
const SAMPLE: Duration = Duration::from_millis(80);

/// What is measured.
pub struct Settings {
    /// Parts of names; empty for all.
    names: Vec<String>,
    /// Whether everything runs once, without a measurement.
    once: bool,
}

impl Settings {
    /// Reads `[NAME ...]`; cargo adds `--bench`.
    pub fn from_arguments() -> Settings {
        let arguments = std::env::args().skip(1);
        let names = arguments.filter(|argument| argument != "--bench").collect();
        Settings { names, once: false }
    }

    /// For a test.
    pub fn once() -> Settings {
        let names = Vec::new();
        Settings { names, once: true }
    }

    /// A group, whose name comes before those of its pieces of work.
    pub fn group(&self, name: &'static str) -> Group<'_> {
        Group {
            settings: self,
            name,
            events: None,
        }
    }
}

/// Pieces of work of one stage.
pub struct Group<'a> {
    settings: &'a Settings,
    name: &'static str,
    events: Option<u64>,
}

impl Group<'_> {
    /// Each of the following pieces of work is one of this number of events.
    pub fn events(&mut self, events: u64) {
        self.events = Some(events);
    }

    /// Measures a piece of work, and prints a line.
    pub fn measure<R>(&mut self, name: &str, mut work: impl FnMut() -> R) {
        let name = format!("{}/{name}", self.name);
        let names = &self.settings.names;
        if !names.is_empty() && !names.iter().any(|part| name.contains(part)) {
            return;
        }
        let mut sample = |repetitions: u32| {
            let start = Instant::now();
            for _ in 0..repetitions {
                black_box(work());
            }
            start.elapsed()
        };
        if self.settings.once {
            sample(1);
            return;
        }
        let mut repetitions = 1;
        while sample(repetitions) < SAMPLE {
            repetitions *= 2;
        }
        let mut seconds =
            [(); SAMPLES].map(|()| sample(repetitions).as_secs_f64() / f64::from(repetitions));
        seconds.sort_by(f64::total_cmp);
        let median = seconds[SAMPLES / 2];
        let us = |seconds: f64| format!("{:.4}", 1e6 * seconds);
        let (shortest, longest) = (us(seconds[0]), us(seconds[SAMPLES - 1]));
        let rate = match self.events {
            Some(events) => format!("  {:.3e} events/s", events as f64 / median),
            None => String::new(),
        };
        println!(
            "{name:<70} {:>14} us ({shortest} to {longest}){rate}",
            us(median)
        );
    }
}
