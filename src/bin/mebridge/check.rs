//! `mebridge check`: random numbers, flat phase space, matrix elements; how fast and how large.
//!
//! The meaning of the numbers on the command line, the phases and their numbers in brackets, and
//! the words of the report are those of the check executable that MG5aMC's CUDACPP plugin builds
//! for a process:
//!
//! | phase | what |
//! |---|---|
//! | 0 | the process is loaded, the bridge made, the good helicities are found |
//! | 1 | random numbers |
//! | 2 | phase space by RAMBO |
//! | 3 | matrix elements; 3b is the part in wavefunctions and amplitudes, 3c that in colour sums |

mod engine;
mod profile;
mod report;

use crate::info::DEFAULT_G;
use crate::output;
use crate::progress::Progress;
use crate::sample::{self, Numbers, Sample};
use crate::source;
use engine::{Door, Engine};
use mebridge::Result;
use mebridge::runtime::Switches;
use mebridge::simd::Level;
use mebridge::statistics::{Class, Statistics};
use mebridge::target::Calls;
use profile::Profile;
use report::{Configuration, Report, Times};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How phase 3 divides is measured on all events divided by this (and at most on one iteration;
/// on a whole one with `--profile`).
const PROFILED_SHARE: u64 = 20;
/// The fewest events that it is measured on, if there are as many.
const PROFILED_AT_LEAST: usize = 64;

/// Evaluate a process on random events: throughput, and mean and spread of the matrix element
///
/// One iteration has BLOCKS times THREADS events; on a CPU only their product counts. One number
/// alone is ITERATIONS, of 1 times 32 events.
#[derive(clap::Args)]
#[command(override_usage = "mebridge check [OPTIONS] <FILE|DIR> [BLOCKS THREADS] ITERATIONS")]
pub struct Options {
    /// Process file, or P* directory of an MG5aMC output (#N behind it for its N-th matrix element)
    #[arg(value_name = "FILE|DIR")]
    process: OsString,
    /// BLOCKS, THREADS and ITERATIONS, or ITERATIONS alone
    #[arg(
        value_name = "NUMBERS",
        required = true,
        num_args = 1..=3,
        value_parser = clap::value_parser!(u64).range(1..=1 << 32),
    )]
    numbers: Vec<u64>,
    /// Print the whole report, with all timings
    #[arg(short, long)]
    performance: bool,
    /// Print where the time of a call goes, and on a GPU what its kernels take
    #[arg(long, conflicts_with = "bridge")]
    profile: bool,
    /// Print momenta and matrix element of every event
    #[arg(short, long)]
    verbose: bool,
    /// Name every event whose matrix element is abnormal, on stderr
    #[arg(short, long)]
    debug: bool,
    /// Write the report as JSON to FILE (- for stdout, instead of text)
    #[arg(short, long, value_name = "FILE", conflicts_with = "verbose")]
    json: Option<PathBuf>,
    /// Go through the Fortran functions (fbridgecreate_ and so on), as MadEvent does
    #[arg(long)]
    bridge: bool,
    /// Apply the multichannel weight of this channel: a diagram number, from 1
    #[arg(long, value_name = "N")]
    channel: Option<i32>,
    /// Take the random numbers that the plugin's check executable has with --common
    #[arg(long, conflicts_with = "seed")]
    common: bool,
    /// Centre-of-mass energy in GeV
    #[arg(long, value_name = "GEV", default_value_t = 1500.0)]
    energy: f64,
    /// Strong coupling g_s of all events; the default is that of alpha_s = 0.118
    #[arg(long, value_name = "G", default_value_t = DEFAULT_G)]
    g: f64,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 20_200_805)]
    seed: u64,
    /// Parameter card [default: that of the output, or the values in the file]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    /// SIMD level [default: as CUDACPP_RUNTIME_SIMD says, or the best that this CPU has]
    #[arg(long, value_name = "LEVEL", value_parser = ["auto", "none", "sse4", "avx2", "512y", "512z"])]
    simd: Option<String>,
    /// Precision: double, mixed (single in colour sums) or float [default: as
    /// CUDACPP_RUNTIME_FPTYPE says, or d]
    #[arg(long, value_name = "TYPE", value_parser = ["d", "m", "f"])]
    fptype: Option<String>,
    /// CPU threads [default: as CUDACPP_RUNTIME_THREADS says, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Keep the helicities that do not contribute
    #[arg(long)]
    all_helicities: bool,
}

impl Options {
    /// Runs.
    pub fn run(self) -> Result<()> {
        let report = self.measure()?;
        match self.json.as_deref() {
            Some(path) => {
                if path != Path::new("-") {
                    output::print(&report.text(self.performance))?;
                }
                output::write_json(path, &report)?;
            }
            None => output::print(&report.text(self.performance))?,
        }
        report.warn();
        Ok(())
    }

    fn measure(&self) -> Result<Report> {
        let (blocks, threads, iterations) = match *self.numbers {
            [iterations] => (1, 32, iterations),
            [blocks, threads, iterations] => (blocks, threads, iterations),
            _ => output::usage("give ITERATIONS, or BLOCKS THREADS ITERATIONS"),
        };
        if !(self.g.is_finite() && self.g > 0.0) {
            output::usage("--g must be a positive number");
        }
        let nevt = blocks
            .checked_mul(threads)
            .and_then(|nevt| i32::try_from(nevt).ok())
            .unwrap_or_else(|| output::usage("BLOCKS times THREADS must be below 2147483648"));
        let nevt = nevt as usize;

        let start = Instant::now();
        let (switches, pairs) = self.switches()?;
        let source = source::one(&switches)?;
        let space = sample::phase_space(&source, self.energy)?;
        let numbers = if self.common {
            Numbers::Common
        } else {
            Numbers::Seed(self.seed)
        };
        let mut sample = Sample::new(space, numbers, nevt, self.g, self.channel)?;
        let mut report = Report::new(
            &source.process,
            Configuration {
                blocks,
                threads_per_block: threads,
                iterations,
                fptype: switches.precision.name(),
                gpu: None,
                simd: Level::choose(switches.simd.as_deref().unwrap_or("auto"))?.name(),
                cpu_threads: switches.threads,
                random: numbers.name(),
                seed: numbers.seed(),
                energy: self.energy,
                g_s: self.g,
                channel: self.channel,
                bridge: self.bridge,
            },
        );
        let calls = Calls::of(&source.process, nevt);
        let mut engine = if self.bridge {
            Door::open(&pairs, nevt, source.process.legs.len())
        } else {
            Engine::direct(source, &switches, nevt)?
        };
        sample.use_threads(switches.threads)?;
        let gpu = engine.gpu(&switches, calls)?;
        if gpu.is_some() {
            report.configuration.simd = "none";
        }
        report.configuration.gpu = gpu;
        let mut times = Times {
            setup: start.elapsed(),
            ..Times::default()
        };

        let progress = Progress::new("iterations", iterations);
        for iteration in 0..iterations {
            let start = Instant::now();
            sample.draw(iteration);
            times.random.push(start.elapsed());

            let start = Instant::now();
            sample.make_momenta();
            times.rambo.push(start.elapsed());

            if iteration == 0 {
                let start = Instant::now();
                report.good_helicities = engine.find_good_helicities(&mut sample)?;
                times.setup += start.elapsed();
            }
            let start = Instant::now();
            engine.run(&mut sample)?;
            times.matrix_elements.push(start.elapsed());

            self.count(&sample, iteration * nevt as u64, &mut report);
            if self.verbose {
                output::print(&report.events(&sample, iteration))?;
            }
            progress.step();
        }
        drop(progress);
        if self.performance || self.json.is_some() || self.profile {
            let count = match self.profile {
                true => nevt,
                false => (nevt as u64 * iterations / PROFILED_SHARE) as usize,
            };
            let count = count.clamp(PROFILED_AT_LEAST.min(nevt), nevt);
            let profile = engine.profile(&mut sample, count, switches.precision, self.profile)?;
            times.color_share = profile.as_ref().and_then(Profile::color_share);
            report.profile = profile.filter(|_| self.profile);
        }
        report.times = times;
        Ok(report)
    }

    /// Adds the matrix elements of an iteration to the statistics.
    fn count(&self, sample: &Sample, first: u64, report: &mut Report) {
        let (elements, weights): (&mut Statistics, &mut Statistics) =
            (&mut report.elements, &mut report.weights);
        for ((event, &value), &weight) in (first..).zip(sample.elements()).zip(sample.weights()) {
            let class = elements.add(value);
            if class == Class::Normal {
                weights.add(weight);
            } else if self.debug {
                output::warn(&format!(
                    "the matrix element of event {event} is {}: {value}",
                    class.name()
                ));
            }
        }
    }

    /// The switches of the environment, with those of the command line over them; and the latter
    /// as pairs for the environment.
    fn switches(&self) -> Result<(Switches, Vec<(&'static str, OsString)>)> {
        let threads = self.threads.map(|n| n.to_string().into());
        let pairs: Vec<(&'static str, OsString)> = [
            ("PROCESS", Some(self.process.clone())),
            ("PARAMCARD", self.card.clone().map(PathBuf::into_os_string)),
            ("SIMD", self.simd.clone().map(OsString::from)),
            ("FPTYPE", self.fptype.clone().map(OsString::from)),
            ("THREADS", threads),
            ("GOODHELICITIES", self.all_helicities.then(|| "ALL".into())),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name, value)))
        .collect();
        let mut switches = Switches::from_env()?;
        for (name, value) in &pairs {
            switches.set(name, value.clone())?;
        }
        Ok((switches, pairs))
    }
}
