//! A result of `mebridge bench` as it stands in JSON. docs/bench.md describes the format.

use super::machine::{self, Host};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// Name and version of the format.
pub const FORMAT: &str = "mebridge-bench-1";

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: String,
    /// What was measured, with its version.
    pub program: String,
    /// Its name in legends, where that is another.
    pub label: Option<String>,
    /// When the measuring began.
    pub date: String,
    /// On what.
    pub machine: Host,
    /// How.
    pub settings: Settings,
    /// Whether a signal ended the measuring before all points were measured.
    pub interrupted: bool,
    /// What came out.
    pub points: Vec<Point>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Repetitions of a point, at most.
    pub repetitions: usize,
    /// Time for one point.
    pub seconds: f64,
    /// Points that take longer are left out.
    pub limit: f64,
    /// Centre-of-mass energy in GeV.
    pub energy: f64,
    /// Strong coupling.
    pub g_s: f64,
}

/// Which of the two functions of the Fortran interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Door {
    /// Without channels.
    NoMultichannel,
    /// With channels.
    Sequence,
}

impl Door {
    /// The door of calls with or without channels.
    pub fn of(channels: bool) -> Door {
        match channels {
            true => Door::Sequence,
            false => Door::NoMultichannel,
        }
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Door::NoMultichannel => "nomultichannel",
            Door::Sequence => "sequence",
        }
    }
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the process.
    pub process: String,
    /// `d`, `m` or `f`.
    pub precision: String,
    /// SIMD level.
    pub simd: String,
    /// Events in one call.
    pub nevt: u64,
    /// CPU threads.
    pub threads: u64,
    /// Whether calls had channels.
    pub channels: bool,
    /// Throughput.
    pub matrix_elements_per_second: Spread,
    /// Time of one call.
    pub seconds_per_call: Spread,
    /// Repetitions, and calls in each.
    pub repetitions: usize,
    /// See there.
    pub calls: u64,
    /// Helicities that contribute.
    pub good_helicities: Option<usize>,
    /// `diagrams`, `recursion` or `colour-ordered`.
    pub plan: Option<String>,
    /// Multiply-adds of one event, all helicities, colour sum included, as the plan counts them.
    pub multiply_adds: Option<u64>,
    /// 1e9 floating-point operations a second at the median, a multiply-add being two.
    pub gflops: Option<f64>,
}

/// Median, smallest and largest value of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// The spread of these values, of which there is at least one.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        Spread {
            median: (values[n / 2] + values[(n - 1) / 2]) / 2.0,
            min: values[0],
            max: values[n - 1],
        }
    }
}

/// A point that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// Which.
    pub point: String,
    /// Why.
    pub why: String,
}

impl Display for Skipped {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "left out: {}: {}", self.point, self.why)
    }
}

impl Record {
    /// Nothing measured yet.
    pub fn new(label: Option<String>, settings: Settings) -> Record {
        Record {
            format: FORMAT.into(),
            program: format!("mebridge {}", env!("CARGO_PKG_VERSION")),
            label,
            date: machine::now(),
            machine: Host::this(),
            settings,
            interrupted: false,
            points: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// All points are measured.
    pub fn finish(&mut self) {
        self.machine.load_after = machine::load();
    }

    /// The name in legends.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(of(&[3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        let one = of(&[7.0]);
        assert_eq!((one.min, one.median, one.max), (7.0, 7.0, 7.0));
    }
}
