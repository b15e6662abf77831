//! A result of `mebridge bench` as it stands in JSON. docs/bench.md describes the format: other
//! programs may write it too, so what is not needed to draw a point may be left out.

use super::machine::{self, Host};
use super::sweep::Sweep;
use mebridge::files::regular;
use mebridge::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::path::Path;

/// No result is longer.
const LONGEST: u64 = 1 << 30;

/// Name and version of the format.
pub const FORMAT: &str = "mebridge-bench-1";

/// A result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`FORMAT`].
    pub format: String,
    /// What was measured, with its version.
    pub program: String,
    /// Its name in legends, where that is another.
    #[serde(default)]
    pub label: Option<String>,
    /// When the measuring began.
    #[serde(default)]
    pub date: Option<String>,
    /// On what.
    #[serde(default)]
    pub machine: Option<Host>,
    /// How.
    #[serde(default)]
    pub settings: Option<Settings>,
    /// Whether a signal ended the measuring before all points were measured.
    #[serde(default)]
    pub interrupted: bool,
    /// What came out.
    pub points: Vec<Point>,
    /// What was left out.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default = "one")]
    pub threads: u64,
    /// Whether calls had channels.
    #[serde(default)]
    pub channels: bool,
    /// Throughput.
    pub matrix_elements_per_second: Spread,
    /// Time of one call.
    #[serde(default)]
    pub seconds_per_call: Option<Spread>,
    /// Repetitions, and calls in each.
    #[serde(default)]
    pub repetitions: Option<usize>,
    /// See there.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Helicities that contribute.
    #[serde(default)]
    pub good_helicities: Option<usize>,
    /// `diagrams`, `recursion` or `colour-ordered`.
    #[serde(default)]
    pub plan: Option<String>,
    /// Multiply-adds of one event, all helicities, colour sum included, as the plan counts them.
    #[serde(default)]
    pub multiply_adds: Option<u64>,
    /// 1e9 floating-point operations a second at the median, a multiply-add being two.
    #[serde(default)]
    pub gflops: Option<f64>,
}

fn one() -> u64 {
    1
}

/// Median, smallest and largest value of the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// Smallest.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest.
    #[serde(default)]
    pub max: Option<f64>,
}

impl Spread {
    /// The spread of these values, of which there is at least one.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let n = values.len();
        Spread {
            median: (values[n / 2] + values[(n - 1) / 2]) / 2.0,
            min: Some(values[0]),
            max: Some(values[n - 1]),
        }
    }

    /// Smallest value, or the median where that is all there is.
    pub fn low(&self) -> f64 {
        self.min.unwrap_or(self.median)
    }

    /// Largest value, or the median.
    pub fn high(&self) -> f64 {
        self.max.unwrap_or(self.median)
    }

    fn is_sound(&self) -> bool {
        let good = |x: f64| x.is_finite() && x > 0.0;
        good(self.low())
            && good(self.high())
            && self.low() <= self.median
            && self.median <= self.high()
    }
}

/// A point that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub fn new(label: Option<String>, sweep: &Sweep) -> Record {
        Record {
            format: FORMAT.into(),
            program: format!("mebridge {}", env!("CARGO_PKG_VERSION")),
            label,
            date: Some(machine::now()),
            machine: Some(Host::this()),
            settings: Some(Settings {
                repetitions: sweep.repetitions,
                seconds: sweep.seconds.as_secs_f64(),
                limit: sweep.limit.as_secs_f64(),
                energy: sweep.energy,
                g_s: sweep.g_s,
            }),
            interrupted: false,
            points: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// All points are measured.
    pub fn finish(&mut self) {
        if let Some(machine) = &mut self.machine {
            machine.load_after = machine::load();
        }
    }

    /// The name in legends.
    pub fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.program)
    }

    /// Reads a result.
    pub fn read(path: &Path) -> Result<Record> {
        let text = regular::read_to_string(path, LONGEST).map_err(Error::io(path))?;
        let bad = |what: String| Error::BenchFile {
            path: path.to_owned(),
            what,
        };
        let record: Record = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if record.format != FORMAT {
            return Err(bad(format!(
                "its format is '{}', not '{FORMAT}'",
                record.format
            )));
        }
        if record.points.is_empty() {
            return Err(bad("there are no points in it".into()));
        }
        for (i, point) in record.points.iter().enumerate() {
            point
                .check()
                .map_err(|what| bad(format!("points[{i}]: {what}")))?;
        }
        Ok(record)
    }
}

impl Point {
    fn check(&self) -> Result<(), String> {
        if !matches!(self.precision.as_str(), "d" | "m" | "f") {
            return Err(format!(
                "the precision is '{}', not d, m or f",
                self.precision
            ));
        }
        if self.nevt == 0 || self.threads == 0 {
            return Err("nevt and threads must be at least 1".into());
        }
        if !self.matrix_elements_per_second.is_sound() {
            return Err("matrix_elements_per_second: not 0 < min <= median <= max".into());
        }
        Ok(())
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
        assert_eq!((one.low(), one.median, one.high()), (7.0, 7.0, 7.0));
        assert!(one.is_sound());
        assert!(!of(&[0.0, 1.0]).is_sound());
        assert!(!of(&[f64::INFINITY]).is_sound());
    }

    #[test]
    fn little_is_needed() {
        let text = r#"{"format": "mebridge-bench-1", "program": "peer 1", "points": [
            {"process": "g g > t t~", "precision": "d", "simd": "avx2", "nevt": 512,
             "matrix_elements_per_second": {"median": 1e5}}]}"#;
        let record: Record = serde_json::from_str(text).unwrap();
        let point = &record.points[0];
        assert_eq!(point.check(), Ok(()));
        assert_eq!((point.threads, point.channels), (1, false));
        assert_eq!(point.matrix_elements_per_second.low(), 1e5);
        assert_eq!(record.name(), "peer 1");
    }
}
