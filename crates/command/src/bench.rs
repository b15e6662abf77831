//! `mebridge bench`: measures throughput over processes, precisions, SIMD levels, nevt, doors and threads; writes a
//! table and JSON, which `benches/speed_figure.py` plots.

mod lists;
mod machine;
mod record;
mod sweep;
mod table;

use crate::info::DEFAULT_G;
use crate::interrupt;
use crate::output::{self, OutputFile};
use crate::source::{self, CardedProcess};
use lists::{LevelList, NumberList, Words};
use mebridge::process::example;
use mebridge::runtime::{Precision, Switches};
use mebridge::{Error, Result};
use record::{BenchRecord, SequenceFunction};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use sweep::Sweep;

/// Hint at the script that draws figures, which the command no longer does.
pub const FIGURES_HINT: &str =
    "benches/speed_figure.py of mebridge's source draws figures of the JSON files (docs/bench.md)";

/// Measure throughput by precision, SIMD level, events in a call and threads
///
/// Prints a table and writes PREFIX.json, of which benches/speed_figure.py draws figures. A list has commas
/// between its items. Ctrl-C ends the measuring; what has been measured is written.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// Process files, P* directories of MG5aMC outputs (all their matrix elements; #N after one for
    /// the N-th), whole outputs or their SubProcesses [default: as the library would find it, or else a small example]
    #[arg(value_name = "FILE|DIR")]
    processes: Vec<OsString>,
    /// Name of the file that is written, without its ending
    #[arg(short, long, value_name = "PREFIX", default_value = "bench")]
    output: PathBuf,
    /// Events in one call: numbers and ranges FIRST:LAST or FIRST:LAST:FACTOR (factor 2)
    #[arg(long, value_name = "LIST", default_value = "32:16384:8")]
    nevt: NumberList,
    /// Engine [default: as CUDACPP_RUNTIME_BACKEND says, or auto]
    #[arg(long, value_name = "ENGINE", value_parser = ["auto", "cpu", "cuda", "hip"])]
    backend: Option<String>,
    /// SIMD levels: none, sse4, avx2, 512y, 512z, auto (the best) or all (that this CPU has)
    #[arg(long, value_name = "LIST", default_value = "all")]
    simd: LevelList,
    /// Precisions: d (double), m (colour sums in single precision), f (single)
    #[arg(long, value_name = "LIST", default_value = "d,m,f")]
    fptype: Words<Precision>,
    /// Doors: nomultichannel (calls without channels), sequence (with channels)
    #[arg(long, value_name = "LIST", default_value = "nomultichannel")]
    door: Words<SequenceFunction>,
    /// Numbers of CPU threads
    #[arg(long, value_name = "LIST", default_value = "1")]
    threads: NumberList,
    /// Repetitions of each point; their median, smallest and largest value are given
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repetitions: u32,
    /// Seconds for one point, all its repetitions together
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = lists::seconds)]
    seconds: f64,
    /// Leave out points that take longer than this even with three calls
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = lists::seconds)]
    limit: f64,
    /// Centre-of-mass energy in GeV
    #[arg(long, value_name = "GEV", default_value_t = 1500.0)]
    energy: f64,
    /// Strong coupling g_s of all events
    #[arg(long, value_name = "G", default_value_t = DEFAULT_G, value_parser = lists::positive)]
    g: f64,
    /// Parameter card [default: that of the output, or the values in the file]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    /// Name of this result in legends [default: mebridge and its version]
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// On a GPU: count the time of its kernels alone, by its own clocks, without copies
    #[arg(long)]
    device_time: bool,
    /// Removed options about figures, accepted to give a hint
    #[arg(long, alias = "no-plots", hide = true, num_args = 0..)]
    plot: Option<Vec<PathBuf>>,
}

impl Options {
    /// Measures, and prints and writes the result.
    pub fn run(self) -> Result<ExitCode> {
        if self.plot.is_some() {
            output::usage(&format!(
                "--plot and --no-plots are no more: {FIGURES_HINT}"
            ));
        }
        let sweep = self.sweep()?;
        let mut path = self.output.clone().into_os_string();
        path.push(".json");
        let path = PathBuf::from(path);
        // An output that cannot be written is an error before minutes of measuring.
        let mut target = OutputFile::create(&path)?;
        let record = self.measure(&sweep, &target)?;
        let text = output::json(&record)?;
        target
            .write_all(text.as_bytes())
            .map_err(Error::io(&path))?;
        target.finish()?;
        output::print(&table::text(&record))?;
        output::print(&format!("wrote {}\n", path.display()))?;
        if record.interrupted {
            output::warn("interrupted; what had been measured is written");
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the processes to measure, or an error if there are none.
    fn sweep(&self) -> Result<Sweep> {
        let threads = self.threads.0.iter().map(|&n| match n {
            1..=1024 => n as usize,
            _ => output::usage(&format!(
                "--threads: {n} is not a number of threads from 1 to 1024"
            )),
        });
        let nevt = self.nevt.0.iter().map(|&n| match i32::try_from(n) {
            Ok(1..) => n as usize,
            _ => output::usage(&format!(
                "--nevt: {n} is not a number of events from 1 to 2147483647"
            )),
        });
        interrupt::first_signal_requests_stop();
        Ok(Sweep {
            nevt: nevt.collect(),
            levels: self.simd.0.clone(),
            precisions: self.fptype.0.clone(),
            doors: self.door.0.clone(),
            threads: threads.collect(),
            repetitions: self.repetitions as usize,
            seconds: Duration::from_secs_f64(self.seconds),
            limit: Duration::from_secs_f64(self.limit),
            energy: self.energy,
            g_s: self.g,
            device_time: self.device_time,
        })
    }

    fn measure(&self, sweep: &Sweep, target: &OutputFile) -> Result<BenchRecord> {
        let mut switches = Switches::from_env()?;
        if let Some(backend) = &self.backend {
            switches.set("BACKEND", backend.into())?;
        }
        let card = self.card.as_deref().or(switches.param_card.as_deref());
        let sources = self.sources(&switches, card)?;
        // Inputs that were read since must not be overwritten either.
        target.refuse_inputs();
        let mut record = BenchRecord::new(self.label.clone(), sweep.settings());
        for (name, source) in names(&sources).iter().zip(&sources) {
            if !interrupt::stop_requested() {
                sweep.process(name, source, &switches, &mut record)?;
            }
        }
        record.interrupted = interrupt::stop_requested();
        record.finish();
        for skipped in &record.skipped {
            output::warn(&skipped.to_string());
        }
        match (record.points.is_empty(), record.interrupted) {
            (true, true) => Err(Error::io("bench")(ErrorKind::Interrupted.into())),
            (true, false) => Err(Error::NothingMeasured),
            (false, _) => Ok(record),
        }
    }

    /// Returns the named processes; without names the one that the library would find here, or else the example that is
    /// part of the program.
    fn sources(&self, switches: &Switches, card: Option<&Path>) -> Result<Vec<CardedProcess>> {
        if !self.processes.is_empty() {
            let places = source::expand_outputs(&self.processes);
            let each = places.iter().map(|name| source::all_processes(name, card));
            return Ok(each
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect());
        }
        let switches = Switches {
            param_card: card.map(Path::to_owned),
            ..switches.clone()
        };
        match source::single_process(&switches) {
            Err(Error::NoProcess { .. }) => {
                output::warn("no process is named, and there is none around: taking the example");
                let process = example::scalars();
                Ok(vec![CardedProcess {
                    card: process.model.default_card(),
                    process,
                    number: 1,
                }])
            }
            one => Ok(vec![one?]),
        }
    }
}

/// Names the processes without the coupling orders that MG5aMC appends; if two names are equal, with their models, and
/// finally with numbers.
fn names(sources: &[CardedProcess]) -> Vec<String> {
    let bare = |source: &CardedProcess| {
        let name = &source.process.name;
        let end = [" WEIGHTED", " @"]
            .iter()
            .filter_map(|end| name.find(end))
            .min();
        name[..end.unwrap_or(name.len())].trim().to_owned()
    };
    let mut names: Vec<String> = sources.iter().map(bare).collect();
    let twice = |names: &[String], name: &String| names.iter().filter(|n| *n == name).count() > 1;
    let first = names.clone();
    for (name, source) in names.iter_mut().zip(sources) {
        if twice(&first, name) && !source.process.model_name.is_empty() {
            *name = format!("{name} ({})", source.process.model_name);
        }
    }
    let second = names.clone();
    for (i, name) in names.iter_mut().enumerate() {
        if twice(&second, name) {
            let before = second[..=i].iter().filter(|n| *n == name).count();
            *name = format!("{name} #{before}");
        }
    }
    names
}
