//! `mebridge check`: evaluates random events; reports throughput and statistics of the matrix elements.
//!
//! The numbers on the command line, the phases with their numbers in brackets, and the terms of the report have the
//! meaning of the check executable that MG5aMC's CUDACPP plugin builds for a process:
//!
//! | phase | contents |
//! |---|---|
//! | 0 | set-up: the process is loaded, a bridge is made, the good helicities are found |
//! | 1 | random numbers |
//! | 2 | phase space by RAMBO |
//! | 3 | matrix elements; 3b is the time in wavefunctions and amplitudes, 3c that in colour sums |

mod engine;
mod profile;
mod report;
mod text;

use crate::engine_options::{self, EngineOptions};
use crate::info::DEFAULT_G;
use crate::output;
use crate::progress::Progress;
use crate::random_events::{self, RandomEvents, RandomSource};
use crate::source::{self, CardedProcess};
use crate::statistics::{Statistics, ValueClass};
use engine::{Engine, FortranBridge};
use mebridge::locate::process_text;
use mebridge::runtime::{ProcessChoice, Switches};
use mebridge::simd::Level;
use mebridge::target::CallSize;
use mebridge::{Error, Result};
use profile::Profile;
use report::{Configuration, Report, Times};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// The division of phase 3 is measured on all events divided by this (on at most one iteration; with `--profile` on a
/// whole one).
const PROFILED_SHARE: u64 = 20;
/// Minimum number of events for this measurement, if there are as many.
const MIN_PROFILED: usize = 64;

/// Evaluate processes on random events: throughput, and mean and spread of the matrix element
///
/// Each FILE|DIR is a process file, a P* directory of an MG5aMC output (all its matrix elements; #N after
/// it for its N-th), a whole output or its SubProcesses. One iteration has BLOCKS times THREADS events; on
/// a CPU only their product counts. One number alone is ITERATIONS, of 1 times 32 events.
#[derive(clap::Args)]
#[command(override_usage = "mebridge check [OPTIONS] <FILE|DIR>... [BLOCKS THREADS] ITERATIONS")]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// What to evaluate, and after it BLOCKS, THREADS and ITERATIONS, or ITERATIONS alone
    #[arg(value_name = "FILE|DIR|NUMBER", required = true, hide = true)]
    arguments: Vec<OsString>,
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
    /// Write the report as JSON to FILE (- for stdout, instead of text); of several a list
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
    #[command(flatten)]
    engine: EngineOptions,
    /// Keep the helicities that do not contribute
    #[arg(long)]
    all_helicities: bool,
}

/// An argument, and its process if that is known.
type Item = (OsString, Option<CardedProcess>);

/// The numbers of the command line.
struct Numbered {
    blocks: u64,
    threads: u64,
    iterations: u64,
}

impl Options {
    /// Runs. A process that cannot be evaluated is an error, but does not stop the others.
    pub fn run(self) -> Result<ExitCode> {
        let (arguments, numbers) = self.split();
        let places = source::expand_outputs(&arguments);
        if let [place] = &places[..] {
            let mut items = self.items(place)?;
            if items.len() > 1 {
                return self.all(items, &numbers);
            }
            let source = items.pop_front().and_then(|(_, source)| source);
            match self.measure(place, source, &numbers) {
                Err(error) if several(&error, place).is_some() => {}
                one => {
                    let report = one?;
                    self.print(&report)?;
                    self.write(&report)?;
                    report.warn();
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
        let items = places.into_iter().map(|place| (place, None)).collect();
        self.all(items, &numbers)
    }

    /// Returns the matrix elements of an argument: those of a text are generated together; a file or directory is
    /// returned as it is.
    fn items(&self, place: &OsStr) -> Result<VecDeque<Item>> {
        let choice = ProcessChoice::parse(place);
        if choice.element.is_some() || process_text(&choice.path).is_none() {
            return Ok(VecDeque::from([(place.to_owned(), None)]));
        }
        let sources = source::selected_processes(&self.switches(place)?.0)?;
        let several = sources.len() > 1;
        let items = sources.into_iter().map(|source| {
            let mut name = place.to_owned();
            if several {
                name.push(format!("#{}", source.number));
            }
            (name, Some(source))
        });
        Ok(items.collect())
    }

    /// Evaluates several matrix elements, one after the other.
    fn all(&self, mut items: VecDeque<Item>, numbers: &Numbered) -> Result<ExitCode> {
        if self.bridge {
            output::usage("--bridge is for a single matrix element");
        }
        let mut reports = Vec::new();
        let mut failed = false;
        while let Some((place, source)) = items.pop_front() {
            let name = place.to_string_lossy();
            let found = match source {
                Some(_) => Ok(VecDeque::from([(place.clone(), source)])),
                None => self.items(&place),
            };
            let measured = match found {
                Ok(mut found) if found.len() > 1 => {
                    found.append(&mut items);
                    items = found;
                    continue;
                }
                Ok(mut found) => {
                    let source = found.pop_front().and_then(|(_, source)| source);
                    self.measure(&place, source, numbers)
                }
                Err(error) => Err(error),
            };
            match measured {
                Ok(report) => {
                    if !self.json_alone() {
                        output::print(&format!("{name}:\n"))?;
                    }
                    self.print(&report)?;
                    if !self.json_alone() {
                        output::print("\n")?;
                    }
                    report.warn();
                    reports.push(Named {
                        place: name.into_owned(),
                        report,
                    });
                }
                Err(error) => match several(&error, &place) {
                    Some(elements) => elements
                        .into_iter()
                        .rev()
                        .for_each(|e| items.push_front((e, None))),
                    None => {
                        failed = true;
                        let message = error.to_string();
                        match message.contains(&*name) {
                            true => output::warn(&message),
                            false => output::warn(&format!("{name}: {message}")),
                        }
                    }
                },
            }
        }
        if !reports.is_empty() {
            self.write(&reports)?;
        }
        Ok(match failed {
            true => ExitCode::FAILURE,
            false => ExitCode::SUCCESS,
        })
    }

    /// Whether stdout is used for JSON only.
    fn json_alone(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }

    fn print(&self, report: &Report) -> Result<()> {
        match self.json_alone() {
            true => Ok(()),
            false => output::print(&report.text(self.performance)),
        }
    }

    /// Writes JSON to the requested file.
    fn write(&self, what: &impl serde::Serialize) -> Result<()> {
        let Some(path) = self.json.as_deref() else {
            return Ok(());
        };
        output::write_json(path, what)?;
        match self.json_alone() {
            true => Ok(()),
            false => output::print(&format!("wrote {}\n", path.display())),
        }
    }

    /// Splits the arguments into processes and the numbers after them.
    fn split(&self) -> (Vec<OsString>, Numbered) {
        let number = |argument: &OsString| argument.to_str()?.parse::<u64>().ok();
        let numbers: Vec<u64> = self.arguments.iter().rev().map_while(number).collect();
        let (processes, _) = self
            .arguments
            .split_at(self.arguments.len() - numbers.len());
        if processes.is_empty() {
            output::usage("give a FILE or DIR before the numbers");
        }
        let (iterations, threads, blocks) = match numbers[..] {
            [iterations] => (iterations, 32, 1),
            [iterations, threads, blocks] => (iterations, threads, blocks),
            _ => output::usage("give ITERATIONS, or BLOCKS THREADS ITERATIONS"),
        };
        for number in &numbers {
            if !(1..=1 << 32).contains(number) {
                output::usage(&format!("{number} is not a number from 1 to 4294967296"));
            }
        }
        let numbered = Numbered {
            blocks,
            threads,
            iterations,
        };
        (processes.to_vec(), numbered)
    }

    fn measure(
        &self,
        place: &OsStr,
        source: Option<CardedProcess>,
        numbers: &Numbered,
    ) -> Result<Report> {
        let Numbered {
            blocks,
            threads,
            iterations,
        } = *numbers;
        if !(self.g.is_finite() && self.g > 0.0) {
            output::usage("--g must be a positive number");
        }
        let nevt = blocks
            .checked_mul(threads)
            .and_then(|nevt| i32::try_from(nevt).ok())
            .unwrap_or_else(|| output::usage("BLOCKS times THREADS must be below 2147483648"));
        let nevt = nevt as usize;

        let start = Instant::now();
        let (switches, pairs) = self.switches(place)?;
        let source = match source {
            Some(source) => source,
            None => source::single_process(&switches)?,
        };
        let space = random_events::phase_space(&source, self.energy)?;
        let numbers = if self.common {
            RandomSource::Common
        } else {
            RandomSource::Seed(self.seed)
        };
        let mut drawn = RandomEvents::new(space, numbers, nevt, self.g, self.channel)?;
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
        let calls = CallSize::new(&source.process, nevt);
        let mut engine = if self.bridge {
            FortranBridge::open(&pairs, nevt, source.process.legs.len())
        } else {
            Engine::direct(source, &switches, nevt)?
        };
        drawn.use_threads(switches.threads);
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
            drawn.draw(iteration);
            times.random.push(start.elapsed());

            let start = Instant::now();
            drawn.make_momenta();
            times.rambo.push(start.elapsed());

            if iteration == 0 {
                let start = Instant::now();
                report.good_helicities = engine.find_good_helicities(&mut drawn)?;
                times.setup += start.elapsed();
            }
            let start = Instant::now();
            engine.run(&mut drawn)?;
            times.matrix_elements.push(start.elapsed());

            self.count(&drawn, iteration * nevt as u64, &mut report);
            if self.verbose {
                output::print(&report.events(&drawn, iteration))?;
            }
            progress.step();
        }
        drop(progress);
        if self.performance || self.json.is_some() || self.profile {
            let count = match self.profile {
                true => nevt,
                false => (nevt as u64 * iterations / PROFILED_SHARE) as usize,
            };
            let count = count.clamp(MIN_PROFILED.min(nevt), nevt);
            let profile = engine.profile(&mut drawn, count, switches.precision, self.profile)?;
            times.color_share = profile.as_ref().and_then(Profile::color_share);
            report.profile = profile.filter(|_| self.profile);
        }
        report.times = times;
        Ok(report)
    }

    /// Adds the matrix elements of an iteration to the statistics.
    fn count(&self, drawn: &RandomEvents, first: u64, report: &mut Report) {
        let (elements, weights): (&mut Statistics, &mut Statistics) =
            (&mut report.elements, &mut report.weights);
        for ((event, &value), &weight) in (first..).zip(drawn.elements()).zip(drawn.weights()) {
            let class = elements.add(value);
            if class == ValueClass::Normal {
                weights.add(weight);
            } else if self.debug {
                output::warn(&format!(
                    "the matrix element of event {event} is {}: {value}",
                    class.name()
                ));
            }
        }
    }

    /// Returns the switches of the environment, overridden by those of the command line, and the latter as pairs for
    /// the environment.
    fn switches(&self, place: &OsStr) -> Result<(Switches, Vec<(&'static str, OsString)>)> {
        let pairs = self.engine.pairs([
            ("PROCESS", Some(place.to_owned())),
            ("PARAMCARD", self.card.clone().map(PathBuf::into_os_string)),
            ("GOODHELICITIES", self.all_helicities.then(|| "ALL".into())),
        ]);
        Ok((engine_options::switches(&pairs)?, pairs))
    }
}

/// The report of one of several matrix elements.
#[derive(serde::Serialize)]
struct Named {
    /// The file or directory, with the number of its matrix element if it has several.
    #[serde(rename = "source")]
    place: String,
    #[serde(flatten)]
    report: Report,
}

/// Returns the names of the matrix elements of a directory if the error is that it has several.
fn several(error: &Error, place: &OsStr) -> Option<Vec<OsString>> {
    let Error::ChooseProcess { path, count, .. } = error else {
        return None;
    };
    // The error is that a chosen matrix element does not exist.
    if path.as_os_str() != place {
        return None;
    }
    let name = |n: usize| {
        let mut name = place.to_owned();
        name.push(format!("#{n}"));
        name
    };
    Some((1..=*count).map(name).collect())
}
