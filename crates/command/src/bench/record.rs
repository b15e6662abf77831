//! The JSON of a result of `mebridge bench`. docs/bench.md describes the format.

use super::machine::{self, Host};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// Name and version of the format.
pub const FORMAT: &str = "mebridge-bench-1";

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRecord {
    /// [`FORMAT`].
    pub format: String,
    /// The measured program, with its version.
    pub program: String,
    /// Its name in legends, if different.
    pub label: Option<String>,
    /// When the measurement began.
    pub date: String,
    /// The machine.
    pub machine: Host,
    /// The settings.
    pub settings: Settings,
    /// Whether a signal ended the measurement before all points were measured.
    pub interrupted: bool,
    /// The measurements.
    pub points: Vec<Point>,
    /// The skipped points.
    pub skipped: Vec<Skipped>,
}

/// Settings of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Maximum number of repetitions of a point.
    pub repetitions: usize,
    /// Time for one point.
    pub seconds: f64,
    /// Points that take longer are skipped.
    pub limit: f64,
    /// Centre-of-mass energy in GeV.
    pub energy: f64,
    /// Strong coupling.
    pub g_s: f64,
}

/// One of the two functions of the Fortran interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SequenceFunction {
    /// Without channels.
    NoMultichannel,
    /// With channels.
    Sequence,
}

impl SequenceFunction {
    /// Returns the function of calls with or without channels.
    pub fn for_channels(channels: bool) -> SequenceFunction {
        match channels {
            true => SequenceFunction::Sequence,
            false => SequenceFunction::NoMultichannel,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            SequenceFunction::NoMultichannel => "nomultichannel",
            SequenceFunction::Sequence => "sequence",
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
    /// Number of repetitions.
    pub repetitions: usize,
    /// Calls in each repetition.
    pub calls: u64,
    /// Helicities that contribute.
    pub good_helicities: Option<usize>,
    /// `diagrams`, `recursion` or `colour-ordered`.
    pub plan: Option<String>,
    /// Multiply-adds of one event, all helicities, including the colour sum, as counted for the plan.
    pub multiply_adds: Option<u64>,
    /// 1e9 floating-point operations per second at the median, counting a multiply-add as two.
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
    /// Returns the spread of these values, of which there must be at least one.
    pub fn new(values: impl Iterator<Item = f64>) -> Spread {
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
    /// Name of the point.
    pub point: String,
    /// Reason.
    pub why: String,
}

impl Display for Skipped {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "left out: {}: {}", self.point, self.why)
    }
}

impl BenchRecord {
    /// Makes a record without measurements.
    pub fn new(label: Option<String>, settings: Settings) -> BenchRecord {
        BenchRecord {
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

    /// Completes the record after all points are measured.
    pub fn finish(&mut self) {
        self.machine.load_after = machine::load();
    }

    /// Returns the name in legends.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let of = |values: &[f64]| Spread::new(values.iter().copied());
        assert_eq!(of(&[3.0, 1.0, 2.0]).median, 2.0);
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        let one = of(&[7.0]);
        assert_eq!((one.min, one.median, one.max), (7.0, 7.0, 7.0));
    }
}
