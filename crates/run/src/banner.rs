//! What stands in an event file besides its events.

use crate::event_file::{
    self, Banner, Blocks, Overweights, nominal_weight, one_weight, overweights,
};
use crate::overweight::Weighting;
use crate::records::Round;
use crate::rounds::BiasedEvents;
use crate::run_card::with_entries;
use crate::summary::Measured;
use crate::{Element, text};
use mebridge::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use std::path::Path;

/// The cards of a directory that MG5aMC wrote, as texts, which its banner repeats.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Cards {
    /// Of MG5aMC.
    pub version: String,
    /// Its steps: `proc_card_mg5.dat`.
    pub process: String,
    /// The run card. Where events have no `<mgrwt>` it says `use_syst = False`, which MG5aMC's `systematics` reads before it
    /// looks for that block.
    pub run: String,
    /// The parameter card.
    pub parameters: String,
}

impl Cards {
    /// The blocks of MG5aMC's banner; the cross section is in pb, or a width in GeV.
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

/// What the weights of a file are.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// They average to the cross section.
    #[default]
    Average,
    /// They average to 1.
    Unity,
    /// They are its parts.
    Sum,
}

impl Norm {
    /// The entry `event_norm` of a run card.
    pub fn of_card(entry: &str) -> Norm {
        match entry.to_lowercase().as_str() {
            "unity" => Norm::Unity,
            "sum" => Norm::Sum,
            _ => Norm::Average,
        }
    }

    /// To what so many weights average.
    fn mean(self, cross_section: f64, events: usize) -> f64 {
        match self {
            Norm::Average => cross_section,
            Norm::Unity => 1.0,
            Norm::Sum => cross_section / events as f64,
        }
    }

    /// IDWTUP.
    fn strategy(self) -> i32 {
        if self == Norm::Sum { -3 } else { -4 }
    }
}

/// What all event files of a process and its cards have in common.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Head {
    /// What stands in events after their particles, and the beams.
    pub blocks: Blocks,
    /// What weights are.
    #[serde(default)]
    pub norm: Norm,
    /// A line of the block of the beams; it may be empty.
    #[serde(default)]
    pub generator: String,
    /// Blocks of the header besides the banner.
    #[serde(default)]
    pub header: String,
    /// What the banner repeats.
    #[serde(default)]
    pub cards: Option<Cards>,
}

/// What a run made, for its files.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// Its events.
    pub rounds: &'a [Round],
    /// How many others the file has that they are added to.
    pub before: u64,
    /// Which of its events a file has.
    pub weighting: Weighting,
    /// LPRUP of each process, and its cross section and error, pb.
    pub processes: &'a [(i32, Measured)],
    /// Of all together, pb.
    pub cross_section: f64,
    /// Replaces these for events with a bias.
    pub biased: Option<&'a BiasedEvents>,
    /// Of its random numbers.
    pub seed: u64,
}

impl Contents<'_> {
    /// How many events there are.
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

impl Head {
    /// The blocks of the header, MG5aMC's first.
    pub fn banner(&self, events: usize, seed: u64, cross_section: f64) -> String {
        let cards = self.cards.as_ref();
        let banner = cards.map(|cards| cards.banner(events, seed, cross_section));
        banner.unwrap_or_default() + &self.header
    }

    /// The file with the banner alone.
    pub fn banner_file(&self, events: usize, seed: u64, cross_section: f64) -> String {
        let banner = self.banner(events, seed, cross_section);
        format!(
            "<LesHouchesEvents version=\"3.0\">\n<header>\n{banner}</header>\n</LesHouchesEvents>\n"
        )
    }

    /// Writes the events into a file, compressed where its name ends with `.gz`; `asked` is what makes the run, which is
    /// written as JSON and has to be a structure or a map.
    ///
    /// # Errors
    /// As of [`event_file::write`].
    pub fn write(
        &self,
        output: &Path,
        made: &Contents,
        asked: &impl Serialize,
        threads: usize,
    ) -> Result<()> {
        let events = made.events();
        let header = self.banner(events, made.seed, made.mean());
        let asked = Said {
            asked,
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
            asked: &asked.json()?,
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

/// What the block `<mebridge>` of a header says.
#[derive(Serialize)]
struct Said<'a, T> {
    #[serde(flatten)]
    asked: &'a T,
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

impl<T: Serialize> Said<'_, T> {
    fn json(&self) -> Result<String> {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(b" ");
        let written = self.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        written.map_err(|error| Error::io("the header")(error.into()))?;
        Ok(String::from_utf8(bytes).expect("JSON is UTF-8"))
    }
}

/// The line of the block of the beams that names this program, and what made the matrix elements.
pub fn generator(by: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("<generator name='mebridge' version='{version}'>{by}</generator>")
}

/// Powers of alpha_s in each matrix element; none where `<mgrwt>` is not wanted or cannot be written.
pub fn powers(elements: &[Element], wanted: bool) -> Vec<u32> {
    let found: Option<Vec<u32>> = elements.iter().map(Element::qcd_power).collect();
    found.filter(|_| wanted).unwrap_or_default()
}

#[cfg(test)]
#[path = "banner_tests.rs"]
mod tests;
