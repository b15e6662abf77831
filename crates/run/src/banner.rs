//! The parts of an event file besides its events.

use crate::event_file::{self, Banner, Blocks, nominal_weight, one_weight, overweights};
use crate::overweight::{Overweights, Weighting};
use crate::records::RoundFile;
use crate::rounds::BiasedEvents;
use crate::run_card::with_entries;
use crate::summary::Measured;
use crate::{Element, text};
use mebridge::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use std::path::Path;

/// The texts of an MG5aMC directory that the banner repeats.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Cards {
    /// Version of MG5aMC.
    pub version: String,
    /// Its commands: `proc_card_mg5.dat`.
    pub process: String,
    /// The run card. If events have no `<mgrwt>`, it contains `use_syst = False`, which MG5aMC's `systematics` reads
    /// before it looks for that block.
    pub run: String,
    /// The parameter card.
    pub parameters: String,
}

impl Cards {
    /// The blocks of MG5aMC's banner. The cross section is in pb; for decays it is the width in GeV.
    pub fn banner(&self, events: usize, seed: u64, cross_section: f64) -> String {
        let version = &self.version;
        let made = [("nevents", events.to_string()), ("iseed", seed.to_string())];
        let run = with_entries(
            &self.run,
            &made.map(|(name, value)| (name.to_owned(), value)),
        );
        let [process, run, parameters] =
            [&self.process, &run, &self.parameters].map(|card| card.trim_end());
        let cross_section = text::repr(cross_section);
        format!(
            "<MGVersion>\n#{version}\n</MGVersion>\n\
             <MG5ProcCard>\n<![CDATA[\n{process}\n]]>\n</MG5ProcCard>\n\
             <MGRunCard>\n<![CDATA[\n{run}\n]]>\n</MGRunCard>\n\
             <slha>\n{parameters}\n</slha>\n\
             <MGGenerationInfo>\n\
             #  Number of Events        :       {events}\n\
             #  Integrated weight (pb)  :       {cross_section}\n\
             </MGGenerationInfo>\n"
        )
    }
}

/// Normalisation of the event weights.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// The average weight is the cross section.
    #[default]
    Average,
    /// The average weight is 1.
    Unity,
    /// The sum of the weights is the cross section.
    Sum,
}

impl Norm {
    /// The normalisation of an entry `event_norm` of a run card.
    pub fn from_card(entry: &str) -> Norm {
        match entry.to_lowercase().as_str() {
            "unity" => Norm::Unity,
            "sum" => Norm::Sum,
            _ => Norm::Average,
        }
    }

    /// The average of the weights of `events` events.
    fn mean(self, cross_section: f64, events: usize) -> f64 {
        match self {
            Norm::Average => cross_section,
            Norm::Unity => 1.0,
            Norm::Sum => cross_section / events as f64,
        }
    }

    /// IDWTUP of the normalisation.
    fn strategy(self) -> i32 {
        if self == Norm::Sum { -3 } else { -4 }
    }
}

/// Everything that the event files of a process and its cards have in common.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct CommonBanner {
    /// The blocks after the particles of each event, and the beams.
    pub blocks: Blocks,
    /// Normalisation of the weights.
    #[serde(default)]
    pub norm: Norm,
    /// The `<generator>` line of `<init>`; may be empty.
    #[serde(default)]
    pub generator: String,
    /// Blocks of the header after MG5aMC's banner.
    #[serde(default)]
    pub header: String,
    /// The cards that the banner repeats.
    #[serde(default)]
    pub cards: Option<Cards>,
}

/// The results of a run, for its files.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// Rounds of events.
    pub rounds: &'a [RoundFile],
    /// Number of events already in the file, to which these are added.
    pub before: u64,
    /// How the events of the file are chosen and weighted.
    pub weighting: Weighting,
    /// LPRUP of each process, and its cross section and error, pb.
    pub processes: &'a [(i32, Measured)],
    /// Total cross section, pb.
    pub cross_section: f64,
    /// Replaces these for events with a bias.
    pub biased: Option<&'a BiasedEvents>,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Contents<'_> {
    /// Number of events in the file.
    fn events(&self) -> usize {
        let own = match self.weighting {
            Weighting::Chosen(choice) => choice.events,
            _ => self.rounds.iter().map(|round| round.events).sum(),
        };
        own + self.before as usize
    }

    /// Returns the mean of the weights, pb.
    pub fn mean(&self) -> f64 {
        self.biased.map_or(self.cross_section, |of| of.all.0)
    }

    /// The weight of most events, but for its sign; with a bias, of those whose bias is 1.
    fn nominal(&self, norm: Norm) -> f64 {
        let of = |cross_section: f64| norm.mean(cross_section, self.events());
        match (self.biased, self.weighting) {
            (Some(biased), _) => of(biased.unit),
            (None, Weighting::Kept) => nominal_weight(self.rounds, of(self.cross_section)),
            (None, _) => one_weight(self.rounds, of(self.cross_section)),
        }
    }
}

impl CommonBanner {
    /// The blocks of the header, MG5aMC's first.
    pub fn banner(&self, events: usize, seed: u64, cross_section: f64) -> String {
        let cards = self.cards.as_ref();
        let banner = cards.map(|cards| cards.banner(events, seed, cross_section));
        banner.unwrap_or_default() + &self.header
    }

    /// The text of the file that has only the banner.
    pub fn banner_file(&self, events: usize, seed: u64, cross_section: f64) -> String {
        let banner = self.banner(events, seed, cross_section);
        format!(
            "<LesHouchesEvents version=\"3.0\">\n<header>\n{banner}</header>\n</LesHouchesEvents>\n"
        )
    }

    /// Writes the events to a file, compressed if its name ends in `.gz`. `arguments` are those of the run; they are
    /// written as JSON and must serialize to a structure or a map.
    ///
    /// # Errors
    /// Those of [`event_file::write`].
    pub fn write(
        &self,
        output: &Path,
        made: &Contents,
        arguments: &impl Serialize,
        threads: usize,
    ) -> Result<()> {
        let events = made.events();
        let header = self.banner(events, made.seed, made.mean());
        let arguments = HeaderBlock {
            arguments,
            overweights: match made.weighting {
                Weighting::Chosen(_) => Overweights::NONE,
                _ => overweights(made.rounds),
            },
            bias: made.biased.map(|of| Bias {
                unit: of.unit,
                worth: of.worth,
            }),
        };
        let banner = Banner {
            header: &header,
            arguments: &arguments.json()?,
            generator: &self.generator,
            strategy: match made.biased {
                // As in MG5aMC (`correct_bias`).
                Some(_) => Norm::Average.strategy(),
                None => self.norm.strategy(),
            },
            processes: made.biased.map_or(made.processes, |of| &of.processes),
        };
        event_file::write(
            output,
            &banner,
            &self.blocks,
            made.rounds,
            made.weighting,
            made.nominal(self.norm),
            threads,
        )
    }
}

/// Contents of the header's `<mebridge>` block.
#[derive(Serialize)]
struct HeaderBlock<'a, T> {
    #[serde(flatten)]
    arguments: &'a T,
    overweights: Overweights,
    #[serde(skip_serializing_if = "Option::is_none")]
    bias: Option<Bias>,
}

/// The bias of events in a header.
#[derive(Serialize)]
struct Bias {
    /// The weight of one whose bias is 1, pb, where weights average to the cross section.
    unit: f64,
    /// Number of events with equal weights whose sum would have the same relative error.
    worth: f64,
}

impl<T: Serialize> HeaderBlock<'_, T> {
    fn json(&self) -> Result<String> {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(b" ");
        let written = self.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        written.map_err(|error| Error::io("the header")(error.into()))?;
        Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
    }
}

/// The `<generator>` line of `<init>`: names this program, and in `by` the source of the matrix elements.
pub fn generator(by: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("<generator name='mebridge' version='{version}'>{by}</generator>")
}

/// The power of alpha_s of each matrix element; empty if `<mgrwt>` is not wanted or some power is not unique.
pub fn powers(elements: &[Element], wanted: bool) -> Vec<u32> {
    let found: Option<Vec<u32>> = elements.iter().map(Element::qcd_power).collect();
    found.filter(|_| wanted).unwrap_or_default()
}

#[cfg(test)]
#[path = "banner_tests.rs"]
mod tests;
