//! `mebridge reweight`: weights |M'|^2 / |M|^2 of other parameters for the events of an LHE file.
//!
//! As MG5aMC reweights at leading order (docs/reweight.md): alpha_s of both is the event's (AQCDUP), both are
//! evaluated in the frame where the incoming particles are back to back along z, for the helicities that the
//! event has or, where it has none, for the sum over all.
//!
//! What belongs to the file and not to its weights goes through as it is, byte by byte.

mod banner;
mod cards;
mod elements;
mod event;
mod file;

use crate::engine_options::{self, EngineOptions};
use crate::output;
use crate::progress::Progress;
use crate::source;
use banner::Banner;
use elements::{Elements, Settings};
use event::Event;
use file::{Pieces, Target};
use mebridge::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Events that are read and evaluated at a time.
const CHUNK: usize = 32768;

/// Which helicities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Helicity {
    /// Those of the event (SPINUP); all where one of them is not known
    Event,
    /// The sum over all
    Sum,
}

/// Reweight LHE events to other parameters: adds weights |M'|^2 / |M|^2 to a file
///
/// The original parameters are those of the file's header (<slha>), as MG5aMC leaves them there. Each card gives
/// a weight, its name is rwgt_1, rwgt_2, ... or what --name says. alpha_s of an event stays what the event
/// says (AQCDUP), whatever a card has.
#[derive(clap::Args)]
pub struct Options {
    /// File with events, gzipped or not
    #[arg(value_name = "EVENTS")]
    events: PathBuf,
    /// Outputs of MG5aMC, P* directories (#N behind one for its N-th matrix element) or process files: events are
    /// assigned to their matrix elements by PDG codes
    #[arg(value_name = "PROCESS", required = true)]
    processes: Vec<OsString>,
    /// Parameter card with the new values; several give several weights
    #[arg(long = "card", value_name = "CARD", required = true)]
    cards: Vec<PathBuf>,
    /// Names of the weights, one for each card
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Parameter card that the events were made with [default: that in the header of the file]
    #[arg(long, value_name = "CARD")]
    original: Option<PathBuf>,
    /// Whether |M|^2 is that of the event's helicities or summed over all
    #[arg(long, value_enum, default_value = "event")]
    helicity: Helicity,
    /// Evaluate at the momenta as they are where a card changes the mass of an external particle
    #[arg(long)]
    off_shell: bool,
    /// File to write, gzipped if its name ends in .gz [default: _rwgt behind the name]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineOptions,
}

impl Options {
    /// Reweights.
    pub fn run(self) -> Result<()> {
        if !self.names.is_empty() && self.names.len() != self.cards.len() {
            output::usage("there must be as many --name as --card");
        }
        let bad = |name: &String| {
            name.is_empty() || name.contains(|c: char| c.is_whitespace() || "<>&'\"".contains(c))
        };
        if let Some(name) = self.names.iter().find(|name| bad(name)) {
            output::usage(&format!("--name '{name}' cannot be the name of a weight"));
        }
        let start = Instant::now();
        let mut pieces = Pieces::open(&self.events)?;
        let banner = Banner::new(pieces.header()?, &self.events);
        let names = banner.names(&self.names, self.cards.len())?;
        let original = cards::original(&banner, self.original.as_deref(), &self.events)?;
        if self.helicity == Helicity::Event {
            banner.check_frame()?;
        }
        let settings = Settings {
            switches: engine_options::switches(&self.engine.pairs([]))?,
            by_helicity: self.helicity == Helicity::Event,
            off_shell: self.off_shell,
        };
        let places = source::places(&self.processes);
        let mut elements = Elements::read(&places, original.path(), &self.cards, settings)?;
        let described = cards::describe(&original, &self.cards)?;
        let path = match &self.output {
            Some(path) => path.clone(),
            None => file::beside(&self.events),
        };
        let mut target = Target::create(&path)?;
        target.write(&banner.with_weights(&names, &described))?;
        let mut sums = Sums::new(self.cards.len());
        {
            let _progress = Progress::new("events", 0);
            let mut chunk = Vec::new();
            while pieces.fill(&mut chunk, CHUNK)? > 0 {
                let events = chunk
                    .iter()
                    .map(|piece| Event::read(piece, &self.events))
                    .collect::<Result<Vec<Event>>>()?;
                let ratios = elements.ratios(&events, &self.events)?;
                for ((piece, event), ratios) in chunk.iter().zip(&events).zip(&ratios) {
                    sums.add(event.weight, ratios);
                    let weights: Vec<f64> = ratios.iter().map(|r| r * event.weight).collect();
                    target.write(&piece.before)?;
                    let with = event::with_weights(&piece.event, &names, &weights);
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
                what: "there are no events in it".into(),
            });
        }
        target.write(pieces.rest())?;
        target.finish()?;
        pieces.warn();
        for (name, card) in sums.unchanged(&names, &self.cards) {
            output::warn(&format!(
                "{}: no weight of '{name}' is another than the event's: nothing that |M|^2 depends on is changed \
                 (alpha_s is the events' own, AQCDUP)",
                card.display()
            ));
        }
        output::print(&sums.text(&names, &path, start))
    }
}

/// What is said in the end.
struct Sums {
    events: u64,
    original: f64,
    /// For each card the sum of weights, and the least and the greatest ratio.
    cards: Vec<(f64, f64, f64)>,
}

impl Sums {
    fn new(cards: usize) -> Sums {
        Sums {
            events: 0,
            original: 0.0,
            cards: vec![(0.0, f64::INFINITY, f64::NEG_INFINITY); cards],
        }
    }

    fn add(&mut self, weight: f64, ratios: &[f64]) {
        self.events += 1;
        self.original += weight;
        for ((sum, least, most), &ratio) in self.cards.iter_mut().zip(ratios) {
            *sum += weight * ratio;
            *least = least.min(ratio);
            *most = most.max(ratio);
        }
    }

    /// Names and cards whose ratios are all 1.
    fn unchanged<'a>(
        &self,
        names: &'a [String],
        cards: &'a [PathBuf],
    ) -> impl Iterator<Item = (&'a String, &'a PathBuf)> {
        let each = names.iter().zip(cards).zip(&self.cards);
        let same = each.filter(|(_, (_, least, most))| (*least, *most) == (1.0, 1.0));
        let same: Vec<_> = same.map(|(pair, _)| pair).collect();
        same.into_iter()
    }

    fn text(&self, names: &[String], path: &Path, start: Instant) -> String {
        use std::fmt::Write;
        let seconds = start.elapsed().as_secs_f64();
        let mut text = format!(
            "{}: {} events in {seconds:.1} s, {:.3e} events/s\n{:<16} {:>14} {:>12} {:>12} {:>12}\n",
            path.display(),
            self.events,
            self.events as f64 / seconds,
            "weight",
            "sum",
            "of original",
            "least ratio",
            "most"
        );
        let _ = writeln!(text, "{:<16} {:>14.6e}", "original", self.original);
        for (name, (sum, least, most)) in names.iter().zip(&self.cards) {
            let _ = writeln!(
                text,
                "{name:<16} {sum:>14.6e} {:>12.6} {least:>12.4e} {most:>12.4e}",
                sum / self.original
            );
        }
        text
    }
}
