//! Reads event files for merging and checks that they fit together.

use crate::banner::Norm;
use crate::run_card;
use crate::text::repr;
use mebridge::lhe::{Event, Init, Reader};
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Opens an event file, compressed or not.
pub type Open<'a> = &'a dyn Fn(&Path) -> Result<Box<dyn Read>>;

/// Entries of the run card that may differ between files of one process.
const OWN: [&str; 11] = [
    "nevents",
    "iseed",
    "python_seed",
    "run_tag",
    "gridpack",
    "gseed",
    "nb_core",
    "gridrun",
    "systematics_program",
    "survey_splitting",
    "job_strategy",
];
/// Weights with a relative difference below this are equal up to rounding.
const ROUNDING: f64 = 1e-6;

/// An event file after a first pass.
pub struct InputFile {
    pub path: PathBuf,
    /// The text before its events.
    pub head: Vec<u8>,
    pub init: Init,
    pub events: u64,
    /// Sum of the absolute weights; the smallest one, and the number of events with it.
    absolute: f64,
    least: (f64, u64),
    pub normalization: Norm,
    /// Hash of the first event's particles.
    pub first: Vec<u8>,
    /// The MG5aMC commands that generated its processes; empty if unknown. A merged file may have several.
    pub processes: SortedSet<String>,
    /// Seeds with the processes they belong to.
    pub seeds: Vec<(String, u64)>,
    /// The records of the files that it was merged from.
    pub merged: Vec<Value>,
    /// The pack that made it; jobs of one pack share phase-space points of the cross section.
    pub pack: Option<String>,
    /// Whether its events have a bias, and therefore different weights.
    pub is_biased: bool,
    /// The weight of an event whose bias is 1, pb, where this program wrote it.
    pub unit: Option<f64>,
    model: Option<String>,
    /// Lines of the parameter card without comments.
    parameters: Vec<String>,
    run_card: SortedMap<String, String>,
    /// Names of its weights.
    weights: Vec<String>,
}

impl InputFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is cut off, or cannot be merged.
    pub fn read(path: &Path, open: Open) -> Result<Self> {
        let mut reader = Reader::new(open(path)?, path, false)?;
        let head = reader.head().bytes.clone();
        let weights = reader.head().listed.clone();
        let init = reader.init()?;
        let mut event = Event::default();
        let (mut events, mut sum, mut absolute) = (0, 0.0, 0.0);
        let mut least = (f64::INFINITY, 0);
        let mut first = Vec::new();
        while reader.next(&mut event)? {
            if events == 0 {
                event.push_particles(&mut first);
            }
            if !init
                .processes
                .iter()
                .any(|(number, _)| *number == event.process)
            {
                let what = format!("{}: <init> has no LPRUP {}", event.place, event.process);
                return Err(reader.error(what));
            }
            events += 1;
            sum += event.weight;
            let size = event.weight.abs();
            absolute += size;
            if size < least.0 * (1.0 - ROUNDING) {
                least = (size, 0);
            }
            least.1 += u64::from(size <= least.0 * (1.0 + ROUNDING));
        }
        let refused = |what: &str| Err(reader.error(what));
        if let Some(line) = reader.second() {
            return refused(&format!(
                "line {line}: a second file begins; merge files that are one each"
            ));
        }
        if !reader.closed() {
            return refused("it has no </LesHouchesEvents>: it was cut off; copy or make it again");
        }
        if events == 0 {
            return refused("there are no events in it");
        }
        if !matches!(init.strategy.abs(), 3 | 4) {
            return refused(&format!(
                "IDWTUP is {}: its events are not unweighted, and others cannot be added to them",
                init.strategy
            ));
        }
        if absolute == 0.0 {
            return refused("all its weights are 0");
        }
        let cards = HeaderCards::parse(&head);
        Ok(InputFile {
            path: path.to_owned(),
            normalization: normalization(&init, events, [sum, absolute], &cards.run_card),
            head,
            init,
            events,
            absolute,
            least,
            first: blake3::hash(&first).as_bytes().to_vec(),
            processes: cards.processes,
            seeds: cards.seeds,
            merged: cards.merged,
            pack: cards.pack,
            is_biased: cards.is_biased,
            unit: cards.unit,
            model: cards.model,
            parameters: cards.parameters,
            run_card: cards.run_card,
            weights,
        })
    }

    /// Average of the absolute weights, or their sum if the weights add up to the cross section.
    pub fn average(&self) -> f64 {
        match self.normalization {
            Norm::Sum => self.absolute,
            Norm::Average | Norm::Unity => self.absolute / self.events as f64,
        }
    }

    /// The weight of most events, in the normalisation of [`InputFile::average`]; the average if most events have
    /// different weights.
    pub fn usual(&self) -> f64 {
        let (least, count) = self.least;
        match self.normalization {
            _ if 2 * count <= self.events => self.average(),
            Norm::Sum => least * self.events as f64,
            Norm::Average | Norm::Unity => least,
        }
    }

    /// Drops data that is only needed of the first file of a process.
    pub fn forget_cards(&mut self) {
        self.head = Vec::new();
        self.parameters = Vec::new();
        self.weights = Vec::new();
        self.run_card = SortedMap::new();
    }

    pub fn refusal(&self, what: &str, cure: &str) -> Error {
        Error::run_at(self.path.display().to_string(), what, cure)
    }

    /// Whether its process is unknown.
    pub fn is_unnamed(&self) -> bool {
        self.processes.is_empty()
    }

    /// Its processes as one line.
    pub fn process(&self) -> String {
        let all: Vec<&str> = self.processes.iter().map(String::as_str).collect();
        all.join(" + ")
    }

    /// Whether both files are of the same process.
    pub fn is_of_process_of(&self, other: &InputFile) -> bool {
        let numbers = |file: &InputFile| {
            let mut all: Vec<i32> = file
                .init
                .processes
                .iter()
                .map(|(number, _)| *number)
                .collect();
            all.sort_unstable();
            all
        };
        self.processes == other.processes && (!self.is_unnamed() || numbers(self) == numbers(other))
    }

    /// Whether the two files have a process in common.
    pub fn shares_processes_with(&self, other: &InputFile) -> bool {
        !self.processes.is_disjoint(&other.processes)
    }

    /// Checks that the events of both files can be in one file.
    ///
    /// # Errors
    /// Something differs; the message names it.
    pub fn fits(&self, other: &InputFile) -> Result<()> {
        let differs = |what: &str, there: String, here: String| {
            let of = self.path.display();
            let text = format!("it has {what} {here}, and {of} has {there}");
            Err(other.refusal(&text, "merge files of the same beams, model and weights"))
        };
        let both = |codes: [i32; 2]| format!("{} {}", codes[0], codes[1]);
        let (one, two) = (&self.init, &other.init);
        if one.beams != two.beams {
            return differs("beams", both(one.beams), both(two.beams));
        }
        if one.energies != two.energies {
            let text = |of: [f64; 2]| of.map(repr).join(" GeV, ") + " GeV";
            return differs("beams of", text(one.energies), text(two.energies));
        }
        if one.densities != two.densities {
            return differs("densities", both(one.densities), both(two.densities));
        }
        if one.strategy != two.strategy {
            let of = |init: &Init| init.strategy.to_string();
            return differs("IDWTUP", of(one), of(two));
        }
        if self.normalization != other.normalization {
            let of = |file: &InputFile| format!("{:?}", file.normalization).to_lowercase();
            return differs("weights by event_norm", of(self), of(other));
        }
        let shown =
            |of: Option<&String>| of.map_or_else(|| "none".to_owned(), |one| format!("`{one}`"));
        if let (Some(one), Some(two)) = (&self.model, &other.model)
            && one != two
        {
            return differs("the model", one.clone(), two.clone());
        }
        if let Some((one, two)) = first_other(&self.parameters, &other.parameters) {
            return differs("the parameter", shown(one), shown(two));
        }
        if let Some((one, two)) = first_other(&self.weights, &other.weights) {
            return differs("the further weight", shown(one), shown(two));
        }
        Ok(())
    }

    /// Checks that both files have the same run card, except for entries that may differ.
    ///
    /// # Errors
    /// An entry differs; the message names it.
    pub fn has_cards_of(&self, other: &InputFile) -> Result<()> {
        let (one, two) = (&self.run_card, &other.run_card);
        let mut names = one.keys().chain(two.keys());
        let differs =
            |name: &&String| !OWN.contains(&name.as_str()) && one.get(*name) != two.get(*name);
        let Some(name) = names.find(differs) else {
            return Ok(());
        };
        let of = |card: &SortedMap<String, String>| {
            let value = card.get(name).map_or("its default", String::as_str);
            value.to_owned()
        };
        let what = format!(
            "its run card has {name} = {}, and that of {}, of the same process, {}",
            of(two),
            self.path.display(),
            of(one)
        );
        Err(other.refusal(&what, "merge files that were made with the same cards"))
    }
}

/// The first entries that differ in two lists.
fn first_other<'a>(
    one: &'a [String],
    two: &'a [String],
) -> Option<(Option<&'a String>, Option<&'a String>)> {
    let mut places = 0..one.len().max(two.len());
    let place = places.find(|&place| one.get(place) != two.get(place))?;
    Some((one.get(place), two.get(place)))
}

/// Tolerance, in the logarithm of ratios, for preferring the normalisation of the run card to the one that fits best.
const FAR: f64 = 0.5;

/// The normalisation of the weights: the one that fits their averages, or that of the run card if it fits almost as
/// well. `sums` are the sums of the weights with and without signs.
fn normalization(
    init: &Init,
    events: u64,
    [sum, absolute]: [f64; 2],
    card: &SortedMap<String, String>,
) -> Norm {
    let cross_section: f64 = init.processes.iter().map(|(_, [mean, ..])| mean).sum();
    let count = events as f64;
    let far = |value: f64, from: f64| (value / from).abs().ln().abs();
    let choices = [
        (Norm::Average, far(sum / count, cross_section)),
        (Norm::Unity, far(absolute / count, 1.0)),
        (Norm::Sum, far(sum, cross_section)),
    ];
    let stated = card.get("event_norm").map(|entry| Norm::from_card(entry));
    let least = |one: &&(Norm, f64), other: &&(Norm, f64)| one.1.total_cmp(&other.1);
    let (nearest, distance) = *choices.iter().min_by(least).expect("three of them");
    let may_be = |(kind, of): &&(Norm, f64)| Some(*kind) == stated && *of <= distance + FAR;
    choices
        .iter()
        .find(may_be)
        .map_or(nearest, |(kind, _)| *kind)
}

/// The contents of a header.
#[derive(Default)]
struct HeaderCards {
    processes: SortedSet<String>,
    seeds: Vec<(String, u64)>,
    merged: Vec<Value>,
    pack: Option<String>,
    is_biased: bool,
    unit: Option<f64>,
    model: Option<String>,
    parameters: Vec<String>,
    run_card: SortedMap<String, String>,
}

impl HeaderCards {
    fn parse(head: &[u8]) -> HeaderCards {
        let text = String::from_utf8_lossy(head);
        let block = |name: &str| {
            let (_, rest) = text.split_once(&format!("<{name}>"))?;
            Some(rest.split_once(&format!("</{name}>"))?.0)
        };
        let mut found = HeaderCards::default();
        let mut process = block("MG5ProcCard").map_or_else(String::new, |steps| found.steps(steps));
        let mut seed = None;
        if let Some(card) = block("MGRunCard") {
            found.run_card = run_card::parse(card).into_iter().collect();
            seed = found
                .run_card
                .get("iseed")
                .and_then(|seed| seed.parse().ok());
        }
        let plain = |line: &str| {
            let line = line.split('#').next().unwrap_or_default();
            line.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .to_lowercase()
        };
        let lines = block("slha").into_iter().flat_map(str::lines);
        let lines = lines.map(plain).filter(|line| !line.is_empty());
        found.parameters = lines.collect();
        let own = block("mebridge").map(|own| own.replace("&lt;", "<").replace("&amp;", "&"));
        let own = own.and_then(|own| serde_json::from_str::<Value>(&own).ok());
        let own = own.unwrap_or_default();
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |of: &Value| of.get("seed").and_then(Value::as_u64);
        if let Some(given) = text(&own, "process").filter(|_| process.is_empty()) {
            process = given;
            found.run_card = stated(&own);
        }
        found.pack = text(&own, "pack");
        let module = found.run_card.get("bias_module");
        let module = module.map(|module| module.trim_matches(['\'', '"']).to_lowercase());
        let by_card = module.is_some_and(|module| !run_card::UNBIASED.contains(&module.as_str()));
        let bias = own.get("bias");
        found.is_biased = by_card || bias.is_some();
        found.unit = bias.and_then(|of| of.get("unit")?.as_f64());
        let mut add = |process: String, seed: Option<u64>| {
            if process.is_empty() {
                return;
            }
            let seed = seed.filter(|seed| *seed > 0);
            found.seeds.extend(seed.map(|seed| (process.clone(), seed)));
            found.processes.insert(process);
        };
        let merged = own.get("merged").and_then(Value::as_array).cloned();
        match &merged {
            Some(merged) => merged
                .iter()
                .for_each(|one| add(text(one, "process").unwrap_or_default(), number(one))),
            None => add(process, number(&own).or(seed)),
        }
        found.merged = merged.unwrap_or_default();
        found
    }

    /// Reads MG5aMC's commands; returns those that define the process.
    fn steps(&mut self, text: &str) -> String {
        let mut process = Vec::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["import", "model", model, ..] => self.model = Some(model.to_owned()),
                ["generate" | "add" | "define", ..] => process.push(words.join(" ")),
                _ => {}
            }
        }
        process.join("; ")
    }
}

/// Arguments other than the process that determine a run under stated conditions.
fn stated(own: &Value) -> SortedMap<String, String> {
    let names = [
        "energy",
        "cuts",
        "scale",
        "scale_factor",
        "alpha_s",
        "pdf",
        "matrix_elements",
    ];
    let entries = names
        .iter()
        .filter_map(|name| Some((*name, own.get(name)?)));
    entries
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .collect()
}
