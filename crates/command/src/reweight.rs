//! `mebridge reweight`: adds weights |M'|^2 / |M|^2 for other parameters to the events of an LHE file.
//!
//! The definition is that of MG5aMC at leading order (docs/reweight.md). alpha_s of both is the event's AQCDUP. Both
//! are evaluated in the frame where the incoming particles are back to back along z, for the helicities of the event;
//! if the event has none, for the sum over all helicities.
//!
//! All bytes of the file other than weights are unchanged.

mod banner;
mod cards;
mod commands;
mod event;
mod file;
mod matrix_elements;

use crate::engine_options::{self, EngineOptions};
use crate::output;
use crate::progress::Progress;
use crate::source;
use banner::Banner;
use cards::CardVariation;
use event::Event;
pub use file::with_stem_suffix;
use file::{EventOutput, Pieces};
use matrix_elements::{CHUNK, MatrixElements, Settings};
use mebridge::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The helicities to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Helicity {
    /// Those of the event (SPINUP); all if one of them is unknown
    Event,
    /// The sum over all
    Sum,
}

/// Reweight LHE events to other parameters: adds weights |M'|^2 / |M|^2 to a file
///
/// The original parameters are those of the file's header (`<slha>`), where MG5aMC stores them. Each card gives a
/// weight, named rwgt_1, rwgt_2, ... or by --name. alpha_s of an event is always its own (AQCDUP), whatever the card
/// contains.
#[derive(clap::Args)]
pub struct Options {
    /// File with events, gzipped or not
    #[arg(value_name = "EVENTS")]
    events: PathBuf,
    /// Outputs of MG5aMC, P* directories (#N after one for its N-th matrix element) or process files: events are
    /// assigned to their matrix elements by PDG codes
    #[arg(value_name = "PROCESS", required = true)]
    processes: Vec<OsString>,
    /// Parameter card with the new values; several give several weights
    #[arg(
        long = "card",
        value_name = "CARD",
        required_unless_present = "reweight_card"
    )]
    cards: Vec<PathBuf>,
    /// MG5aMC's reweight_card.dat: a weight for each `launch` in it, before those of --card
    #[arg(long, value_name = "CARD")]
    reweight_card: Option<PathBuf>,
    /// Names of the weights, one for each --card
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Parameter card that the events were made with [default: that in the header of the file]
    #[arg(long, value_name = "CARD")]
    original: Option<PathBuf>,
    /// Whether |M|^2 is that of the event's helicities or summed over all
    #[arg(long, value_enum, default_value = "event")]
    helicity: Helicity,
    /// Evaluate at the unmodified momenta if a card changes the mass of an external particle
    #[arg(long)]
    off_shell: bool,
    /// File to write, gzipped if its name ends in .gz [default: _rwgt after the name]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Check that the cards can be used for events of these processes that were made with --original, and stop before
    /// EVENTS is read
    #[arg(long, requires = "original")]
    check: bool,
    #[command(flatten)]
    engine: EngineOptions,
}

impl Options {
    /// Options for weights of `cards` for the events of a run of these processes, with their names if given.
    pub fn for_run(
        events: &Path,
        processes: Vec<OsString>,
        cards: &[(PathBuf, Option<String>)],
        output: &Path,
        threads: u32,
    ) -> Self {
        Options {
            events: events.to_owned(),
            processes,
            cards: cards.iter().map(|(card, _)| card.clone()).collect(),
            reweight_card: None,
            names: cards.iter().filter_map(|(_, name)| name.clone()).collect(),
            original: None,
            helicity: Helicity::Event,
            off_shell: false,
            output: Some(output.to_owned()),
            check: false,
            engine: EngineOptions::on_cpu(threads),
        }
    }

    /// Reweights the events.
    pub fn run(self) -> Result<()> {
        if !self.names.is_empty() && self.names.len() != self.cards.len() {
            output::usage("give one --name for each --card");
        }
        if self.check {
            return self.prepare(&Banner::default()).map(drop);
        }
        output::print(&self.reweight()?)
    }

    /// Checks that the weights of `cards` can be computed for events of these processes made with this parameter card.
    ///
    /// # Errors
    /// A card or a process cannot be read, or does not fit the others.
    pub fn check_run(
        card: &str,
        processes: Vec<OsString>,
        cards: &[(PathBuf, Option<String>)],
    ) -> Result<()> {
        let none = Path::new("");
        let options = Options::for_run(none, processes, cards, none, 1);
        options.prepare(&Banner::from_card(card)).map(drop)
    }

    /// Reweights the events, and returns a table about the weights.
    ///
    /// # Errors
    /// A file cannot be read or written, or an event does not belong to any process.
    pub fn reweight(self) -> Result<String> {
        let start = Instant::now();
        let mut pieces = Pieces::open(&self.events)?;
        let banner = Banner::new(pieces.head(), &self.events);
        let Prepared {
            mut elements,
            weights,
            names,
            described,
        } = self.prepare(&banner)?;
        let path = match &self.output {
            Some(path) => path.clone(),
            None => with_stem_suffix(&self.events, "_rwgt"),
        };
        let mut target = EventOutput::create(&path)?;
        target.write(&banner::with_weights(pieces.head(), &names, &described))?;
        let mut sums = ReweightSummary::new(weights.len(), banner.cross_section);
        {
            let _progress = Progress::new("events", 0);
            let mut chunk = Vec::new();
            while pieces.fill(&mut chunk, CHUNK)? > 0 {
                let events = chunk
                    .iter()
                    .map(|read| Event::from_lhe(read, &self.events))
                    .collect::<Result<Vec<Event>>>()?;
                let ratios = elements.ratios(&events, &self.events)?;
                for ((read, event), ratios) in chunk.iter().zip(&events).zip(&ratios) {
                    sums.add(event.weight, ratios);
                    let weights: Vec<f64> = ratios.iter().map(|r| r * event.weight).collect();
                    target.write(&read.before)?;
                    let with = event::with_weights(read, &names, &weights);
                    let with = with.ok_or_else(|| {
                        let what = "has one of these weights already; give others with --name";
                        event.error(&self.events, what)
                    })?;
                    target.write(&with)?;
                }
            }
        }
        if sums.events == 0 {
            return Err(Error::EventsFile {
                path: self.events,
                what: crate::eval::NO_EVENTS.into(),
            });
        }
        target.write(pieces.rest())?;
        target.finish()?;
        pieces.warn();
        for (name, weight) in sums.unchanged(&names, &weights) {
            output::warn(&format!(
                "{}: no weight of '{name}' is another than the event's: nothing that |M|^2 depends on is changed \
                 (alpha_s is the events' own, AQCDUP)",
                weight.shown.display()
            ));
        }
        Ok(sums.text(&names, &path, start))
    }

    /// Prepares the reweighting before the first event is read: everything except the events is checked.
    fn prepare(&self, banner: &Banner) -> Result<Prepared> {
        let original = cards::original(banner, self.original.as_deref())?;
        let mut by_helicity = self.helicity == Helicity::Event;
        let mut weights = Vec::new();
        if let Some(card) = &self.reweight_card {
            let commands = commands::read(card, &original.text)?;
            by_helicity &= commands.by_helicity;
            if commands.next_to_leading {
                let shown = card.display();
                if banner.has_next_to_leading() {
                    return Err(Error::Card {
                        path: card.clone(),
                        what: "weights at next-to-leading order (`change mode`) are MG5aMC's alone; write `change mode LO` \
                               for those of leading order"
                            .into(),
                    });
                }
                output::warn(&format!(
                    "{shown}: events of leading order have no weights of next-to-leading order (`change mode`); these are \
                     of leading order, as in MG5aMC"
                ));
            }
            weights = commands.weights;
        }
        for (i, card) in self.cards.iter().enumerate() {
            weights.push(CardVariation::read(card, self.names.get(i))?);
        }
        let bad = |name: &str| {
            name.is_empty() || name.contains(|c: char| c.is_whitespace() || "<>&'\"".contains(c))
        };
        let requested: Vec<Option<&str>> = weights.iter().map(|w| w.name.as_deref()).collect();
        if let Some(name) = requested.iter().flatten().find(|name| bad(name)) {
            output::usage(&format!("'{name}' cannot be the name of a weight"));
        }
        let names = banner.names(&requested)?;
        let settings = Settings {
            switches: engine_options::switches(&self.engine.pairs([]))?,
            by_helicity,
            off_shell: self.off_shell,
            boson_densities: banner.boson_densities(),
        };
        let places = source::expand_outputs(&self.processes);
        let elements = MatrixElements::read(&places, &original, &weights, settings)?;
        banner.check_frame(by_helicity, elements.names())?;
        let described = cards::describe(&original, &weights);
        Ok(Prepared {
            elements,
            weights,
            names,
            described,
        })
    }
}

/// Everything needed to reweight events.
struct Prepared {
    elements: MatrixElements,
    weights: Vec<CardVariation>,
    /// Names of the weights.
    names: Vec<String>,
    /// Changes of each card.
    described: Vec<String>,
}

/// The data printed at the end.
struct ReweightSummary {
    events: u64,
    original: f64,
    /// Cross section of the events and its error, in pb.
    cross: Option<(f64, f64)>,
    cards: Vec<WeightSum>,
}

/// Sums over the weights of a card.
struct WeightSum {
    weights: f64,
    /// Mean of the ratios so far, and the sum of their squared deviations from it.
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl ReweightSummary {
    fn new(cards: usize, cross: Option<(f64, f64)>) -> ReweightSummary {
        let sum = || WeightSum {
            weights: 0.0,
            mean: 0.0,
            squares: 0.0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
        };
        ReweightSummary {
            events: 0,
            original: 0.0,
            cross,
            cards: (0..cards).map(|_| sum()).collect(),
        }
    }

    fn add(&mut self, weight: f64, ratios: &[f64]) {
        self.events += 1;
        self.original += weight;
        for (sum, &ratio) in self.cards.iter_mut().zip(ratios) {
            sum.weights += weight * ratio;
            let from = ratio - sum.mean;
            sum.mean += from / self.events as f64;
            sum.squares += from * (ratio - sum.mean);
            sum.least = sum.least.min(ratio);
            sum.most = sum.most.max(ratio);
        }
    }

    /// Returns names and cards whose ratios are all 1.
    fn unchanged<'a>(
        &self,
        names: &'a [String],
        weights: &'a [CardVariation],
    ) -> impl Iterator<Item = (&'a String, &'a CardVariation)> {
        let each = names.iter().zip(weights).zip(&self.cards);
        let same = each.filter(|(_, sum)| (sum.least, sum.most) == (1.0, 1.0));
        let same: Vec<_> = same.map(|(pair, _)| pair).collect();
        same.into_iter()
    }

    /// Returns cross section and error of a card: that of the events times the mean ratio, plus the statistical error
    /// of the ratios.
    fn cross(&self, sum: &WeightSum) -> Option<(f64, f64)> {
        let (cross, error) = self.cross?;
        let ratio = sum.weights / self.original;
        let n = self.events as f64;
        let spread = (sum.squares / n / n).sqrt();
        Some((cross * ratio, error * ratio.abs() + cross.abs() * spread))
    }

    fn text(&self, names: &[String], path: &Path, start: Instant) -> String {
        use std::fmt::Write;
        let seconds = start.elapsed().as_secs_f64();
        let column = |cross: Option<(f64, f64)>| match cross {
            Some((cross, error)) => format!(" {cross:>13.6e} {error:>10.2e}"),
            None => String::new(),
        };
        let mut text = format!(
            "{}: {} events in {seconds:.1} s, {:.3e} events/s\n{:<16} {:>14} {:>12} {:>12} {:>12}",
            path.display(),
            self.events,
            self.events as f64 / seconds,
            "weight",
            "sum",
            "of original",
            "least ratio",
            "most"
        );
        if self.cross.is_some() {
            let _ = write!(text, " {:>13} {:>10}", "pb", "+-");
        }
        let _ = writeln!(
            text,
            "\n{:<16} {:>14.6e} {:>38}{}",
            "original",
            self.original,
            "",
            column(self.cross)
        );
        for (name, sum) in names.iter().zip(&self.cards) {
            let _ = writeln!(
                text,
                "{name:<16} {:>14.6e} {:>12.6} {:>12.4e} {:>12.4e}{}",
                sum.weights,
                sum.weights / self.original,
                sum.least,
                sum.most,
                column(self.cross(sum))
            );
        }
        text
    }
}
