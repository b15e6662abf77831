//! The report of `mebridge check`, as text and as JSON.

use super::profile::Profile;
use super::text::{WIDTH, row};
use crate::number::{scientific, short};
use crate::output;
use crate::random_events::RandomEvents;
use crate::statistics::{Abnormal, Statistics};
use mebridge::process::{HelicitySum, Process};
use serde::ser::{Serialize, Serializer};
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// The settings.
#[derive(serde::Serialize)]
pub struct Configuration {
    pub blocks: u64,
    pub threads_per_block: u64,
    pub iterations: u64,
    pub fptype: &'static str,
    /// The GPU that evaluates, if one does.
    pub gpu: Option<String>,
    pub simd: &'static str,
    pub cpu_threads: usize,
    pub random: &'static str,
    pub seed: u64,
    pub energy: f64,
    pub g_s: f64,
    pub channel: Option<i32>,
    pub bridge: bool,
}

/// The times of the phases.
#[derive(Default)]
pub struct Times {
    /// Phase 0.
    pub setup: Duration,
    /// Phases 1 to 3, for each iteration.
    pub random: Vec<Duration>,
    pub rambo: Vec<Duration>,
    pub matrix_elements: Vec<Duration>,
    /// Share of colour sums in phase 3, if it was measured.
    pub color_share: Option<f64>,
}

/// The report.
pub struct Report {
    pub configuration: Configuration,
    pub process: String,
    pub good_helicities: usize,
    pub helicities: usize,
    pub times: Times,
    pub elements: Statistics,
    pub weights: Statistics,
    /// The profile, if requested.
    pub profile: Option<Profile>,
    /// Power of GeV of the matrix element, and of the weight.
    dimension: i64,
    weight_dimension: i64,
}

impl Report {
    /// Makes a report without measurements.
    pub fn new(process: &Process, configuration: Configuration) -> Report {
        let legs = process.legs.len() as i64;
        let outgoing = process.legs.iter().filter(|leg| !leg.incoming).count() as i64;
        let elements = match process.helicity_sum {
            HelicitySum::Positive => Statistics::default(),
            HelicitySum::Signed | HelicitySum::Absolute => Statistics::signed(),
        };
        Report {
            configuration,
            process: process.name.clone(),
            good_helicities: 0,
            helicities: process.helicities.len(),
            times: Times::default(),
            elements,
            weights: Statistics::default(),
            profile: None,
            dimension: 8 - 2 * legs,
            weight_dimension: 2 * outgoing - 4,
        }
    }

    fn totals(&self) -> [f64; 3] {
        let t = &self.times;
        [&t.random, &t.rambo, &t.matrix_elements].map(|phase| {
            let total: Duration = phase.iter().sum();
            total.as_secs_f64()
        })
    }

    fn events_computed(&self) -> u64 {
        self.elements.count() + self.elements.abnormal().total()
    }

    /// Formats the report: all of it, or the most important lines.
    pub fn text(&self, whole: bool) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = if whole {
            self.write_whole(&mut text)
        } else {
            self.write_short(&mut text)
        };
        if let Some(profile) = &self.profile {
            let _ = profile.write(&mut text);
        }
        text
    }

    fn write_short(&self, f: &mut String) -> std::fmt::Result {
        let [_, _, me] = self.totals();
        let events = self.events_computed();
        row(f, "Process", &self.process)?;
        self.write_helicities(f)?;
        row(f, "TotalEventsComputed", events)?;
        throughput(f, "EvtsPerSec[MatrixElems] (3)", events, me)?;
        self.write_abnormal(f)?;
        self.write_mean(f)
    }

    fn write_whole(&self, f: &mut String) -> std::fmt::Result {
        let c = &self.configuration;
        let rule = |f: &mut String, mark: &str| writeln!(f, "{}", mark.repeat(WIDTH));
        rule(f, "*")?;
        row(f, "Process", &self.process)?;
        row(f, "NumBlocksPerGrid", c.blocks)?;
        row(f, "NumThreadsPerBlock", c.threads_per_block)?;
        row(f, "NumIterations", c.iterations)?;
        rule(f, "-")?;
        row(f, "Workflow summary", self.workflow())?;
        let abnormal = self.elements.abnormal();
        let precision = match c.fptype {
            "d" => "DOUBLE",
            "m" => "MIXED",
            _ => "FLOAT",
        };
        let (bad, zero) = (abnormal.total() - abnormal.zero, abnormal.zero);
        row(
            f,
            "FP precision",
            format!("{precision} (NaN/abnormal={bad}, zero={zero})"),
        )?;
        if let Some(gpu) = &c.gpu {
            row(f, "GPU", gpu)?;
        } else {
            row(f, "SIMD level", c.simd)?;
        }
        row(f, "CPU threads", c.cpu_threads)?;
        row(
            f,
            "Random number generation",
            format!("{} (seed {})", c.random, c.seed),
        )?;
        row(f, "Energy", format!("{} GeV", short(c.energy)))?;
        row(f, "Strong coupling", format!("g_s = {}", c.g_s))?;
        if let Some(channel) = c.channel {
            row(f, "Channel", channel)?;
        }
        rule(f, "-")?;
        self.write_helicities(f)?;
        rule(f, "-")?;
        self.write_times(f)?;
        rule(f, "-")?;
        let events = self.events_computed();
        let [random, rambo, me] = self.totals();
        row(f, "TotalEventsComputed", events)?;
        throughput(
            f,
            "EvtsPerSec[Rnd+Rmb+ME](123)",
            events,
            random + rambo + me,
        )?;
        throughput(f, "EvtsPerSec[Rmb+ME]     (23)", events, rambo + me)?;
        throughput(f, "EvtsPerSec[RndNumGen]   (1)", events, random)?;
        throughput(f, "EvtsPerSec[Rambo]       (2)", events, rambo)?;
        throughput(f, "EvtsPerSec[MatrixElems] (3)", events, me)?;
        rule(f, "*")?;
        row(f, "NumMatrixElems(notAbnormal)", self.elements.count())?;
        self.write_abnormal(f)?;
        self.write_mean(f)?;
        spread(f, "MatrixElemValue", &self.elements, self.dimension)?;
        mean(f, "MeanWeight", &self.weights, self.weight_dimension)?;
        spread(f, "Weight", &self.weights, self.weight_dimension)?;
        rule(f, "*")
    }

    fn write_helicities(&self, f: &mut String) -> std::fmt::Result {
        let (good, all) = (self.good_helicities, self.helicities);
        row(f, "HelicityComb Good/Tot", format!("{good}/{all}"))
    }

    fn write_times(&self, f: &mut String) -> std::fmt::Result {
        let [random, rambo, me] = self.totals();
        let mes = &self.times.matrix_elements;
        let seconds = |d: Option<&Duration>| d.map_or(f64::NAN, Duration::as_secs_f64);
        time(
            f,
            "TotalTime[Setup]        (0)",
            self.times.setup.as_secs_f64(),
        )?;
        time(f, "TotalTime[Rnd+Rmb+ME] (123)", random + rambo + me)?;
        time(f, "TotalTime[Rambo+ME]    (23)", rambo + me)?;
        time(f, "TotalTime[RndNumGen]    (1)", random)?;
        time(f, "TotalTime[Rambo]        (2)", rambo)?;
        time(f, "TotalTime[MatrixElems]  (3)", me)?;
        time(f, "MeanTimeInMatrixElems", me / mes.len() as f64)?;
        row(
            f,
            "[Min,Max]TimeInMatrixElems",
            format!(
                "[ {} ,  {} ]  sec",
                scientific(seconds(mes.iter().min())),
                scientific(seconds(mes.iter().max()))
            ),
        )?;
        if let Some(color) = self.times.color_share {
            time(f, "TotalTime[Amplitudes]  (3b)", me * (1.0 - color))?;
            time(f, "TotalTime[ColorTreatment]    (3c)", me * color)?;
        }
        Ok(())
    }

    fn write_abnormal(&self, f: &mut String) -> std::fmt::Result {
        let abnormal = self.elements.abnormal();
        if abnormal.total() > 0 {
            row(f, "AbnormalMatrixElems", abnormal_text(&abnormal))?;
        }
        Ok(())
    }

    fn write_mean(&self, f: &mut String) -> std::fmt::Result {
        mean(f, "MeanMatrixElemValue", &self.elements, self.dimension)
    }

    /// Returns a summary in the plugin's format: hardware, precision, random numbers, phase space, interface, SIMD
    /// level.
    fn workflow(&self) -> String {
        let c = &self.configuration;
        let precision = match c.fptype {
            "d" => "DBL",
            "m" => "MIX",
            _ => "FLT",
        };
        let (place, how) = match (&c.gpu, c.bridge) {
            (None, false) => ("CPU", "MESHST"),
            (None, true) => ("CPU", "BRDHST"),
            (Some(_), false) => ("CUD", "MESDEV"),
            (Some(_), true) => ("CUD", "BRDDEV"),
        };
        let random = c.random.to_uppercase();
        format!("{place}:{precision}+{random}+RMBHST+{how}/{}", c.simd)
    }

    /// Formats momenta and matrix elements of all events.
    pub fn events(&self, drawn: &RandomEvents, iteration: u64) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_events(&mut text, drawn, iteration);
        text
    }

    fn write_events(
        &self,
        f: &mut String,
        drawn: &RandomEvents,
        iteration: u64,
    ) -> std::fmt::Result {
        let rule = "-".repeat(WIDTH);
        let of = self.configuration.iterations;
        writeln!(f, "{}", "*".repeat(WIDTH))?;
        writeln!(f, "Iteration #{} of {of}", iteration + 1)?;
        for (momenta, element) in drawn.momenta().zip(drawn.elements()) {
            writeln!(f, "Momenta:")?;
            for (leg, p) in momenta.chunks_exact(4).enumerate() {
                write!(f, "{:>4}", leg + 1)?;
                for x in p {
                    write!(f, " {:>13}", scientific(*x))?;
                }
                writeln!(f)?;
            }
            writeln!(f, "{rule}")?;
            let element = scientific(*element);
            writeln!(f, " Matrix element = {element} GeV^{}", self.dimension)?;
            writeln!(f, "{rule}")?;
        }
        Ok(())
    }

    /// Prints important warnings on stderr.
    pub fn warn(&self) {
        let abnormal = self.elements.abnormal();
        if abnormal.total() > 0 {
            output::warn(&format!(
                "{} of {} matrix elements are abnormal ({}) and not in the mean",
                abnormal.total(),
                self.events_computed(),
                abnormal_text(&abnormal)
            ));
        }
    }
}

fn abnormal_text(a: &Abnormal) -> String {
    let classes = [
        ("NaN", a.nan),
        ("infinite", a.infinite),
        ("denormal", a.denormal),
        ("negative", a.negative),
        ("zero", a.zero),
    ];
    let some = classes.iter().filter(|(_, count)| *count > 0);
    let texts: Vec<String> = some
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    texts.join(", ")
}

fn time(f: &mut String, name: &str, seconds: f64) -> std::fmt::Result {
    row(f, name, format!("( {:<28} )  sec", scientific(seconds)))
}

fn throughput(f: &mut String, name: &str, events: u64, seconds: f64) -> std::fmt::Result {
    let rate = scientific(events as f64 / seconds);
    row(f, name, format!("( {rate:<28} )  sec^-1"))
}

fn mean(f: &mut String, name: &str, s: &Statistics, dimension: i64) -> std::fmt::Result {
    let (mean, error) = (scientific(s.mean()), scientific(s.standard_error()));
    row(f, name, format!("( {mean} +- {error} )  GeV^{dimension}"))
}

fn spread(f: &mut String, name: &str, s: &Statistics, dimension: i64) -> std::fmt::Result {
    let (min, max) = (scientific(s.min()), scientific(s.max()));
    row(
        f,
        &format!("[Min,Max]{name}"),
        format!("[ {min} ,  {max} ]  GeV^{dimension}"),
    )?;
    let deviation = scientific(s.standard_deviation());
    row(
        f,
        &format!("StdDev{name}"),
        format!("( {deviation:<28} )  GeV^{dimension}"),
    )
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [random, rambo, me] = self.totals();
        let events = self.events_computed() as f64;
        let t = &self.times;
        let seconds: fn(&Duration) -> f64 = Duration::as_secs_f64;
        let statistics = |s: &Statistics, dimension: i64| {
            json!({
                "unit": format!("GeV^{dimension}"),
                "count": s.count(),
                "mean": s.mean(),
                "standard_error": s.standard_error(),
                "standard_deviation": s.standard_deviation(),
                "min": s.min(),
                "max": s.max(),
            })
        };
        json!({
            "mebridge": env!("CARGO_PKG_VERSION"),
            "process": self.process,
            "configuration": self.configuration,
            "helicities": { "good": self.good_helicities, "total": self.helicities },
            "events": self.events_computed(),
            "seconds": {
                "setup": seconds(&t.setup),
                "random": random,
                "rambo": rambo,
                "matrix_elements": me,
                "matrix_elements_min": t.matrix_elements.iter().min().map(seconds),
                "matrix_elements_max": t.matrix_elements.iter().max().map(seconds),
                "amplitudes": t.color_share.map(|color| me * (1.0 - color)),
                "color_sums": t.color_share.map(|color| me * color),
            },
            "events_per_second": {
                "random_rambo_matrix_elements": events / (random + rambo + me),
                "rambo_matrix_elements": events / (rambo + me),
                "random": events / random,
                "rambo": events / rambo,
                "matrix_elements": events / me,
            },
            "profile": self.profile.as_ref().map(Profile::json),
            "abnormal": self.elements.abnormal(),
            "matrix_element": statistics(&self.elements, self.dimension),
            "weight": statistics(&self.weights, self.weight_dimension),
        })
        .serialize(serializer)
    }
}
