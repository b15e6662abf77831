//! `mebridge pack`: packs a process with everything needed to generate its events into one file; and runs the jobs of
//! such files.

use crate::events::CardOptions;
use crate::number::whole;
use crate::{interrupt, output};
use clap::Parser;
use mebridge::{Error, Result};
use mebridge_run::overweight::{NAMES, Overweight};
use mebridge_run::pack::{EVENTS, MEASURED, Packing, SIMD, pack, pack_run};
use mebridge_run::packed::{CMS_EVENTS, CMS_SCRIPT, Job, Recipe, broken};
use mebridge_run::progress::RunProgress;
use mebridge_run::replaced;
use mebridge_run::run::{MAX_EVENTS, Observer};
use mebridge_run::run_folder::RunFolder;
use mebridge_run::spec::{MAX_THREADS, RunSpec};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Pack a directory that MG5aMC wrote, or a process, as one file that makes events by itself
///
/// After unpacking, './run.sh NEVENTS SEED' makes events on any Linux with this type of processor: offline, from a
/// read-only folder, without a compiler. See docs/pack.md.
#[derive(clap::Args)]
pub struct Options {
    /// Output of 'output madevent', or a process; or its Events/run_NN, a run of 'mebridge events', whose survey is
    /// used
    #[arg(value_name = "OUTPUT|PROCESS|RUN")]
    process: String,
    /// The file: .tar, .tar.gz or .tar.xz
    #[arg(long = "output", short = 'o', value_name = "FILE")]
    file: PathBuf,
    /// Number of events of all jobs together, to which the survey is adapted [default: 1000000]
    #[arg(long, value_name = "N", value_parser = events)]
    nevents: Option<u64>,
    /// Events that are made immediately, for the cross section that all jobs report [default: 10000]
    #[arg(long, value_name = "N", value_parser = whole)]
    measured: Option<u64>,
    /// Seed of the survey [default: the run card's iseed, or 1]
    #[arg(long, value_name = "S", value_parser = seed)]
    seed: Option<u64>,
    /// Threads of the survey [default: 1]
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Factor for the number of threads, because a survey is a single program [default: 1]
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: Option<u32>,
    /// Sampler of grids; for networks (madnis) use the Python package: Run.pack
    #[arg(long, value_name = "SAMPLER", value_parser = ["auto", "vegas"])]
    sampler: Option<String>,
    /// SIMD level of all jobs; auto: the best of each machine, with different last digits
    #[arg(long, value_name = "LEVEL", default_value = SIMD, value_parser = ["auto", "none", "sse4", "avx2", "512y", "512z"])]
    simd: String,
    /// Include runcmsgrid.sh NEVENTS SEED NCPU, which writes cmsgrid_final.lhe, as CMS's workflows call it
    #[arg(long)]
    cms: bool,
    /// Events of jobs above the common weight: keep their weights, truncate them, or unweight all by making more
    /// [default: keep, or that of the run]
    #[arg(long, value_name = "RULE", value_parser = NAMES)]
    overweight: Option<String>,
    #[command(flatten)]
    cards: CardOptions,
}

/// Parses a number of events.
fn events(text: &str) -> std::result::Result<u64, String> {
    within(whole(text)?, MAX_EVENTS)
}

/// Parses a seed of a survey.
fn seed(text: &str) -> std::result::Result<u64, String> {
    within(whole(text)?, u64::MAX)
}

fn within(number: u64, most: u64) -> std::result::Result<u64, String> {
    match (1..=most).contains(&number) {
        true => Ok(number),
        false => Err(format!("it must be a whole number from 1 to {most}")),
    }
}

impl Options {
    /// Makes the pack.
    pub fn run(self) -> Result<()> {
        let program = std::env::current_exe().map_err(Error::io("mebridge"))?;
        let how = Packing {
            output: &self.file,
            program: &program,
            measured: self.measured.unwrap_or(MEASURED),
            simd: &self.simd,
            cms: self.cms,
            overweights: self.overweight.as_deref().and_then(Overweight::from_name),
        };
        let mut observer = PackObserver {
            quiet: self.cards.quiet,
        };
        let is_output = Path::new(&self.process).join("SubProcesses").is_dir();
        let made = match is_output || self.process.contains('>') {
            true => pack(&self.spec(), &how, &mut observer)?,
            false => {
                self.refuse_others()?;
                let folder = Path::new(&self.process);
                let (changed, data) = (self.cards.changed_files, self.cards.pdf_data.as_deref());
                pack_run(folder, changed, data, &how, &mut observer)?
            }
        };
        let size = std::fs::metadata(&made).map_err(Error::io(&made))?.len();
        let megabytes = size as f64 / 1e6;
        output::print(&format!("{}: {megabytes:.1} MB\n", made.display()))
    }

    fn spec(&self) -> RunSpec {
        let [threads, workers] = [self.threads, self.workers].map(|given| given.unwrap_or(1));
        RunSpec {
            events: Some(self.nevents.unwrap_or(EVENTS)),
            seed: self.seed,
            threads: ((threads * workers) as usize).min(MAX_THREADS),
            ..self.cards.run_spec(self.process.clone())
        }
    }

    /// Checks that no option is given that a run already determines.
    fn refuse_others(&self) -> Result<()> {
        let of_survey = [
            ("nevents", self.nevents.is_some()),
            ("measured", self.measured.is_some()),
            ("seed", self.seed.is_some()),
            ("threads", self.threads.is_some()),
            ("workers", self.workers.is_some()),
            ("sampler", self.sampler.is_some()),
        ];
        let cards = self.cards.given_options();
        let given = of_survey.into_iter().chain(cards).find(|(_, given)| *given);
        let Some((name, _)) = given else {
            return Ok(());
        };
        Err(Error::run(
            format!(
                "--{name} is for an output; {} is taken for a run, which has its own",
                self.process
            ),
            "",
        ))
    }
}

/// Prints progress on stderr.
struct PackObserver {
    quiet: bool,
}

impl Observer for PackObserver {
    fn begins(&mut self, _folder: &RunFolder) {}

    fn notice(&mut self, line: &str) {
        output::warn(line);
    }

    fn conditions(&mut self, line: &str) {
        if !self.quiet {
            output::warn(line);
        }
    }

    fn report(&mut self, progress: &RunProgress) -> Result<()> {
        if !self.quiet {
            output::warn(&format!("{}: {:.1} s", progress.stage, progress.seconds));
        }
        Ok(())
    }
}

/// The command that `run.sh` of a pack calls.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct JobOptions {
    /// The folder of the pack
    root: PathBuf,
    /// --check, the arguments of `run.sh`, or --cms and the arguments of `runcmsgrid.sh`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Exit code for a pack with changed files; it tells `run.sh` that the error was already printed.
const BROKEN: u8 = 3;
/// Number of such files that are named.
const SHOWN: usize = 20;
/// Exit code of a job that a signal ended.
const INTERRUPTED: i32 = 130;

/// Makes events of a pack. The same seed gives the same file, another seed different events. Only the file is written,
/// and temporary files below TMPDIR.
#[derive(Parser)]
#[command(name = "run.sh", max_term_width = 100)]
struct Call {
    /// Number of events
    #[arg(value_name = "NEVENTS")]
    events: String,
    /// Seed of the random numbers: 1, 2, ... for the jobs of a pack
    #[arg(value_name = "SEED")]
    seed: String,
    /// File to write, compressed if its name ends with .gz
    #[arg(long, short, value_name = "FILE", default_value = "events.lhe.gz")]
    output: PathBuf,
    /// Threads
    #[arg(long, value_name = "T", default_value = "1")]
    threads: String,
    /// Events above the common weight: keep their weights, truncate them, or unweight all by making more [default: that
    /// of the pack]
    #[arg(long, value_name = "RULE", value_parser = NAMES)]
    overweight: Option<String>,
    /// No progress lines
    #[arg(long)]
    quiet: bool,
}

impl JobOptions {
    /// Checks a pack, or makes events of it.
    pub fn run(self) -> Result<ExitCode> {
        if self.arguments == ["--check"] {
            return Ok(self.check());
        }
        let recipe = Recipe::read(&self.root)?;
        if let Some((first, rest)) = self.arguments.split_first()
            && first == "--cms"
        {
            return self.run_for_cms(rest, &recipe);
        }
        let about = format!(
            "Makes events of {}. The same seed gives the same file, another seed others. Nothing is written but the file, and \
             what is temporary below TMPDIR.",
            recipe.name
        );
        let call = <Call as clap::CommandFactory>::command().about(about);
        let name = OsString::from("run.sh");
        let words = std::iter::once(&name).chain(&self.arguments);
        let parsed = call.try_get_matches_from(words);
        let parsed =
            parsed.and_then(|found| <Call as clap::FromArgMatches>::from_arg_matches(&found));
        match parsed {
            Ok(call) => call.run(&self.root, &recipe).map(|()| ExitCode::SUCCESS),
            Err(message) => output::print_message(&message),
        }
    }

    /// Makes events with the interface of CMS's genproductions: NEVENTS SEED NCPU, and arguments that select an
    /// environment, which are ignored.
    fn run_for_cms(&self, words: &[OsString], recipe: &Recipe) -> Result<ExitCode> {
        let words: Vec<String> = (words.iter())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let (events, seed, threads) = match &words[..] {
            [events, seed, threads, ..] => (events, seed, threads.as_str()),
            [events, seed] => (events, seed, "1"),
            _ => {
                let what = format!("{CMS_SCRIPT} takes NEVENTS SEED NCPU");
                return Err(Error::run(what, ""));
            }
        };
        report_interruptions();
        let job = Job {
            root: &self.root,
            events: number("NEVENTS", events, MAX_EVENTS)?,
            seed: number("SEED", seed, u64::MAX)?,
            output: &replaced::target(Path::new(CMS_EVENTS), [])?,
            overweight: recipe.overweights,
            threads: number("NCPU", threads, MAX_THREADS as u64)? as usize,
        };
        make(&job, false)?;
        Ok(ExitCode::SUCCESS)
    }

    fn check(&self) -> ExitCode {
        let found = broken(&self.root);
        for line in found.iter().take(SHOWN) {
            output::warn(line);
        }
        if found.is_empty() {
            return ExitCode::SUCCESS;
        }
        let more = match found.len() {
            count if count > SHOWN => format!(" ({count} files)"),
            _ => String::new(),
        };
        let folder = self.root.parent().unwrap_or(&self.root).display();
        output::warn(&format!(
            "the pack in {folder} is broken{more}; unpack it again"
        ));
        ExitCode::from(BROKEN)
    }
}

impl Call {
    fn run(&self, root: &Path, recipe: &Recipe) -> Result<()> {
        let events = number("NEVENTS", &self.events, MAX_EVENTS)?;
        let seed = number("SEED", &self.seed, u64::MAX)?;
        let threads = number("--threads", &self.threads, MAX_THREADS as u64)?;
        if self.output.symlink_metadata().is_ok() {
            let what = format!("{} is there already", self.output.display());
            let cure = "take it away, or name another file with --output";
            return Err(Error::run(what, cure));
        }
        report_interruptions();
        let output = replaced::target(&self.output, [])?;
        let job = Job {
            root,
            events,
            seed,
            output: &output,
            overweight: match &self.overweight {
                Some(name) => Overweight::from_name(name).unwrap_or_default(),
                None => recipe.overweights,
            },
            threads: threads as usize,
        };
        make(&job, self.quiet)
    }
}

/// Makes every signal end a job with the status of SIGINT, as batch systems send others, and with a line on stderr, after
/// temporary files have been removed.
fn report_interruptions() {
    interrupt::run_before_exit(|| {
        output::warn("interrupted; no file was written");
        std::process::exit(INTERRUPTED)
    });
}

/// Makes the events of a job.
fn make(job: &Job, quiet: bool) -> Result<()> {
    let made = job.run(&mut |line| {
        if !quiet {
            output::warn(line);
        }
    })?;
    // The file is there.
    interrupt::run_before_exit(|| None);
    output::print(&format!("{}: {made}\n", job.output.display()))
}

/// Parses a number given to a job, from 1 on.
fn number(name: &str, text: &str, most: u64) -> Result<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let found = text
        .parse()
        .ok()
        .filter(|number| (1..=most).contains(number));
    found.ok_or_else(|| {
        let shown = match digits {
            true => text.to_owned(),
            false => mebridge_run::text::quoted(text),
        };
        let what = format!("{name} is {shown}; it must be a whole number from 1 to {most}");
        Error::run(what, "")
    })
}
