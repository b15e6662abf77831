//! `mebridge events`: makes events of an MG5aMC output, or of a process with a run card.

use crate::model::SchemeOptions;
use crate::number::whole;
use crate::{decay, interrupt, output, reweight};
use mebridge::event_generator::ColorTreatment;
use mebridge::models;
use mebridge::{Error, Result};
use mebridge_run::overweight::{NAMES, Overweight};
use mebridge_run::progress::{Lines, RunProgress};
use mebridge_run::run::{Observer, by_cards};
use mebridge_run::run_folder::RunFolder;
use mebridge_run::spec::{Conditions, MAX_THREADS, RunSpec};
use mebridge_support::sorted::SortedSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Make events of a directory that MG5aMC wrote, or of a process by a run card, without MadEvent
///
/// Uses the output's own cards, and writes Events/run_NN/unweighted_events.lhe.gz with MG5aMC's banner.
/// docs/run_card.md lists the supported run card entries.
#[derive(clap::Args)]
pub struct Options {
    /// Output of 'output madevent', MG5aMC 2.8.3 to 3.7; or a process such as 'p p > w+; add process p p > w+ j'
    #[arg(value_name = "OUTPUT|PROCESS")]
    process: String,
    /// Number of events [default: the run card's]
    #[arg(long, value_name = "N", value_parser = whole)]
    nevents: Option<u64>,
    /// Seed of the random numbers [default: the run card's iseed; 0: a random seed]
    #[arg(long, value_name = "S", value_parser = whole)]
    seed: Option<u64>,
    /// Where phase space and matrix elements are computed
    #[arg(long, value_name = "BACKEND", default_value = "cpu", value_parser = ["cpu", "cuda", "hip"])]
    backend: String,
    /// Threads
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Factor for the number of threads, because a run is a single program
    #[arg(long, value_name = "W", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
    /// Name of the run [default: run_NN with the next number]; an interrupted run is resumed
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Events above the common weight (docs/run_card.md): keep their weights; truncate them, as MadEvent does; or
    /// unweight all, by making more
    #[arg(long, value_name = "RULE", default_value = NAMES[0], value_parser = NAMES)]
    overweight: String,
    /// Sum over colours: all of it for each point (full); at leading colour, and all of it for events alone, which gives
    /// the same (leading-first), where that is less work (auto); or only at leading colour, an approximation (leading)
    #[arg(long, value_name = "SUM", default_value = ColorTreatment::NAMES[0].0, value_parser = ColorTreatment::NAMES.map(|(name, _)| name))]
    color: String,
    /// Parameter card for an additional weight of each event, as in 'mebridge reweight'; repeatable
    #[arg(long, value_name = "CARD[=NAME]")]
    reweight: Vec<String>,
    /// Decay of outgoing particles (`t > w+ b, w+ > l+ vl`), as in 'mebridge decay'; repeatable
    #[arg(long, value_name = "DECAY")]
    decay: Vec<String>,
    #[command(flatten)]
    cards: CardOptions,
}

/// The cards of a run.
#[derive(clap::Args)]
pub struct CardOptions {
    /// Run card instead of Cards/run_card.dat
    #[arg(long, value_name = "CARD")]
    run_card: Option<PathBuf>,
    /// Parameter card instead of Cards/param_card.dat
    #[arg(long, value_name = "CARD")]
    param_card: Option<PathBuf>,
    /// Entry of the run card; repeatable
    #[arg(long, value_name = "ENTRY=VALUE", value_parser = entry, conflicts_with = "run_card")]
    set: Vec<(String, String)>,
    /// Continue although Fortran for cuts or scales was changed
    #[arg(long)]
    pub changed_files: bool,
    /// For a process: a model file or a UFO folder [default: the Standard Model]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    scheme: SchemeOptions,
    /// For a process: folder that contains, or will contain, Events [default: the working directory]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// For a process, for pdlabel = nn23lo1 and others: an output, or the folder of MG5aMC
    #[arg(long, value_name = "FOLDER")]
    pub pdf_data: Option<PathBuf>,
    /// No progress lines
    #[arg(long)]
    pub quiet: bool,
}

impl CardOptions {
    /// Makes the specification of a run of a process with these cards.
    pub fn run_spec(&self, process: String) -> RunSpec {
        let model = models::named(self.model.as_deref(), self.scheme.scheme());
        RunSpec {
            process,
            conditions: Conditions::RunCard {
                file: self.run_card.clone(),
                changed: self.set.clone(),
                changed_files: self.changed_files,
                pdf_data: self.pdf_data.clone(),
                folder: self.folder.clone(),
            },
            model,
            param_card: self.param_card.clone(),
            ..RunSpec::default()
        }
    }

    /// Returns which cards, or changes of them, are given.
    pub fn given_options(&self) -> [(&'static str, bool); 3] {
        [
            ("run-card", self.run_card.is_some()),
            ("param-card", self.param_card.is_some()),
            ("set", !self.set.is_empty()),
        ]
    }
}

/// Parses ENTRY=VALUE.
fn entry(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be ENTRY=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl Options {
    /// Performs the run.
    pub fn run(self) -> Result<()> {
        let spec = RunSpec {
            events: self.nevents,
            seed: self.seed,
            threads: ((self.threads * self.workers) as usize).min(MAX_THREADS),
            devices: vec![self.backend],
            overweight_rule: Overweight::from_name(&self.overweight).unwrap_or_default(),
            color: self.color.parse().unwrap_or_default(),
            ..self.cards.run_spec(self.process)
        };
        let mut observer = EventsObserver::new(self.cards.quiet, benchmarks(&self.reweight)?);
        let made = by_cards(&spec, self.name.as_deref(), &mut observer)?;
        let output = made.output.unwrap_or_default();
        output::print(&format!("{}\n{}\n", made.summary, output.display()))?;
        if self.decay.is_empty() {
            return Ok(());
        }
        let threads = u32::try_from(spec.threads).unwrap_or(1);
        decay::Options::for_run(&output, self.decay, self.seed, threads).run()
    }
}

/// Parses parameter cards, with the names of their weights: for all or for none.
fn benchmarks(given: &[String]) -> Result<Vec<(PathBuf, Option<String>)>> {
    let refused = |what: String, cure: &str| Error::run_at("--reweight", what, cure);
    let mut found: Vec<(PathBuf, Option<String>)> = Vec::new();
    for text in given {
        let named = text.rsplit_once('=').filter(|_| !Path::new(text).is_file());
        found.push(match named {
            Some((card, name)) => (card.into(), Some(name.to_owned())),
            None => (text.into(), None),
        });
    }
    let names: SortedSet<&str> = found
        .iter()
        .filter_map(|(_, name)| name.as_deref())
        .collect();
    if !names.is_empty() && names.len() < found.len() {
        let what = "some cards have no name of their own".to_owned();
        return Err(refused(
            what,
            "give all of them one (CARD=NAME), or none of them",
        ));
    }
    if let Some((card, _)) = found.iter().find(|(card, _)| !card.is_file()) {
        return Err(refused(
            format!("there is no parameter card {}", card.display()),
            "",
        ));
    }
    Ok(found)
}

/// Prints progress on stderr, and adds weights of other cards.
pub struct EventsObserver {
    quiet: bool,
    lines: Lines,
    /// Holds signals back while the folder of the run is made.
    held: Option<interrupt::HeldExit>,
    benchmarks: Vec<(PathBuf, Option<String>)>,
}

impl EventsObserver {
    /// Makes an observer, without progress lines if `quiet`.
    pub fn new(quiet: bool, benchmarks: Vec<(PathBuf, Option<String>)>) -> Self {
        EventsObserver {
            quiet,
            lines: Lines::new(std::io::stderr().is_terminal()),
            held: None,
            benchmarks,
        }
    }
}

impl Observer for EventsObserver {
    fn claims(&mut self) {
        self.held = Some(interrupt::hold_exit());
    }

    fn begins(&mut self, folder: &RunFolder) {
        let held = self.held.take().unwrap_or_else(interrupt::hold_exit);
        held.run_before_exit(folder.interrupted());
    }

    fn notice(&mut self, line: &str) {
        output::warn(line);
    }

    fn conditions(&mut self, line: &str) {
        if !self.quiet {
            output::warn(line);
        }
    }

    fn report(&mut self, progress: &RunProgress) -> Result<()> {
        if let Some(line) = self.lines.line(progress).filter(|_| !self.quiet) {
            output::warn(&line);
        }
        Ok(())
    }

    fn reweights(&self) -> bool {
        !self.benchmarks.is_empty()
    }

    fn check_weights(&mut self, card: &str, processes: &[String]) -> Result<()> {
        let processes = processes.iter().map(Into::into).collect();
        reweight::Options::check_run(card, processes, &self.benchmarks)
    }

    fn weigh(
        &mut self,
        events: &Path,
        into: &Path,
        processes: &[String],
        threads: usize,
    ) -> Result<String> {
        let processes = processes.iter().map(Into::into).collect();
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        let options =
            reweight::Options::for_run(events, processes, &self.benchmarks, into, threads);
        let table = options.reweight()?;
        // The first line names the file.
        Ok(table
            .split_once('\n')
            .map_or(String::new(), |(_, rest)| rest.to_owned()))
    }
}
