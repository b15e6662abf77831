//! `mebridge events`: events of a directory that MG5aMC wrote, or of a process by a run card.

use crate::model::SchemeOptions;
use crate::number::whole;
use crate::{decay, interrupt, output, reweight};
use mebridge::models;
use mebridge::{Error, Result};
use mebridge_run::overweight::{NAMES, Overweight};
use mebridge_run::progress::{Lines, Progress};
use mebridge_run::run::{Observer, by_cards};
use mebridge_run::run_folder::RunFolder;
use mebridge_run::spec::{Conditions, MOST_THREADS, RunSpec};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Make events of a directory that MG5aMC wrote, or of a process by a run card, without MadEvent
///
/// By its own cards, into Events/run_NN/unweighted_events.lhe.gz with MG5aMC's banner. docs/run_card.md says what of a run
/// card is honoured.
#[derive(clap::Args)]
pub struct Options {
    /// What 'output madevent' wrote, MG5aMC 2.8.3 to 3.7; or a process such as 'p p > w+; add process p p > w+ j'
    #[arg(value_name = "OUTPUT|PROCESS")]
    process: String,
    /// How many events [default: the run card's]
    #[arg(long, value_name = "N", value_parser = whole)]
    nevents: Option<u64>,
    /// Of the random numbers [default: the run card's iseed; 0: drawn anew]
    #[arg(long, value_name = "S", value_parser = whole)]
    seed: Option<u64>,
    /// What weighs points
    #[arg(long, value_name = "BACKEND", default_value = "cpu", value_parser = ["cpu", "cuda", "hip"])]
    backend: String,
    /// Threads
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// As many times the threads: a run is one program
    #[arg(long, value_name = "W", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
    /// Of the run [default: run_NN with the next number]; one that was interrupted goes on
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Events that weigh more than the others (docs/run_card.md): keep their weights; truncate them, as MadEvent does; or
    /// unweight all, by making more
    #[arg(long, value_name = "RULE", default_value = NAMES[0], value_parser = NAMES)]
    overweight: String,
    /// Parameter card for a further weight of each event, as of 'mebridge reweight'; several give several weights
    #[arg(long, value_name = "CARD[=NAME]")]
    reweight: Vec<String>,
    /// Decay of what goes out of the events (`t > w+ b, w+ > l+ vl`), as of 'mebridge decay'; several may be given
    #[arg(long, value_name = "DECAY")]
    decay: Vec<String>,
    #[command(flatten)]
    cards: CardOptions,
}

/// The cards of a run.
#[derive(clap::Args)]
pub struct CardOptions {
    /// Another one than Cards/run_card.dat
    #[arg(long, value_name = "CARD")]
    run_card: Option<PathBuf>,
    /// Another one than Cards/param_card.dat
    #[arg(long, value_name = "CARD")]
    param_card: Option<PathBuf>,
    /// An entry of the run card; may be given several times
    #[arg(long, value_name = "ENTRY=VALUE", value_parser = entry, conflicts_with = "run_card")]
    set: Vec<(String, String)>,
    /// Go on where Fortran of cuts or scales was changed
    #[arg(long)]
    pub changed_files: bool,
    /// Of a process: a model file or a UFO folder [default: the Standard Model]
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    scheme: SchemeOptions,
    /// Of a process, where Events is, or will be [default: the working directory]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Of a process, for pdlabel = nn23lo1 and others: an output, or the folder of MG5aMC
    #[arg(long, value_name = "FOLDER")]
    pub pdf_data: Option<PathBuf>,
    /// No lines about progress
    #[arg(long)]
    pub quiet: bool,
}

impl CardOptions {
    /// A run of a process with these cards.
    pub fn spec(&self, process: String) -> RunSpec {
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

    /// Which cards, or changes of them, are given.
    pub fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("run-card", self.run_card.is_some()),
            ("param-card", self.param_card.is_some()),
            ("set", !self.set.is_empty()),
        ]
    }
}

/// ENTRY=VALUE.
fn entry(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be ENTRY=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl Options {
    /// Makes them.
    pub fn run(self) -> Result<()> {
        let spec = RunSpec {
            events: self.nevents,
            seed: self.seed,
            threads: ((self.threads * self.workers) as usize).min(MOST_THREADS),
            devices: vec![self.backend],
            overweights: Overweight::of_name(&self.overweight).unwrap_or_default(),
            ..self.cards.spec(self.process)
        };
        let mut observer = EventsObserver::new(self.cards.quiet, benchmarks(&self.reweight)?);
        let made = by_cards(&spec, self.name.as_deref(), &mut observer)?;
        let output = made.output.unwrap_or_default();
        output::print(&format!("{}\n{}\n", made.summary, output.display()))?;
        if self.decay.is_empty() {
            return Ok(());
        }
        let threads = u32::try_from(spec.threads).unwrap_or(1);
        decay::Options::of_run(&output, self.decay, self.seed, threads).run()
    }
}

/// Parameter cards, with the names of their weights: of all or of none.
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
    let names: BTreeSet<&str> = found
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

/// Lines on stderr, and weights of other cards.
pub struct EventsObserver {
    quiet: bool,
    lines: Lines,
    /// While the folder of the run is made.
    held: Option<interrupt::Held>,
    benchmarks: Vec<(PathBuf, Option<String>)>,
}

impl EventsObserver {
    /// No lines about progress where `quiet`.
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
        self.held = Some(interrupt::hold());
    }

    fn begins(&mut self, folder: &RunFolder) {
        let held = self.held.take().unwrap_or_else(interrupt::hold);
        held.before_the_end(folder.interrupted());
    }

    fn notice(&mut self, line: &str) {
        output::warn(line);
    }

    fn conditions(&mut self, line: &str) {
        if !self.quiet {
            output::warn(line);
        }
    }

    fn report(&mut self, progress: &Progress) -> Result<()> {
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
        let options = reweight::Options::of_run(events, processes, &self.benchmarks, into, threads);
        let table = options.reweight()?;
        // The first line names the file.
        Ok(table
            .split_once('\n')
            .map_or(String::new(), |(_, rest)| rest.to_owned()))
    }
}
