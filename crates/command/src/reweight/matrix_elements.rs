//! The matrix elements of the processes, and the assignment of events to them.

use super::cards::{CardVariation, Original};
use super::event::{Event, LegOrder};
use crate::eval::ElementIndex;
use crate::number::short;
use crate::output;
use crate::source;
use mebridge::backend::AllowedMomenta;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::plan::binding::Binding;
use mebridge::process::card::Card;
use mebridge::process::model::CardParameter;
use mebridge::process::running;
use mebridge::process::{Leg, Process};
use mebridge::runtime::{BackendChoice, CachePlace, Switches};
use mebridge::{Error, Result};
use mebridge_support::sorted::SortedSet;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Number of events that are read and evaluated at a time.
pub const CHUNK: usize = 32768;

/// Relative difference below which masses count as equal: MG5aMC compares four digits.
const SAME_MASS: f64 = 1e-4;

/// Settings of the evaluation.
pub struct Settings {
    pub switches: Switches,
    /// Whether helicities are those of the event.
    pub by_helicity: bool,
    /// Whether momenta may be off the new mass shells.
    pub off_shell: bool,
    /// Entry of the run card by which sums over helicities are not those of the events, if there is one.
    pub boson_densities: Option<String>,
}

/// All matrix elements.
pub struct MatrixElements {
    each: Vec<MatrixElement>,
    index: ElementIndex,
    settings: Settings,
}

/// The cards, with their names.
struct Cards<'a> {
    old: Card,
    new: Vec<Card>,
    weights: &'a [CardVariation],
}

struct MatrixElement {
    process: Process,
    place: String,
    /// Card values of the original parameters, and of each card.
    cards: Vec<Vec<f64>>,
    /// Whether each card changes masses of legs.
    other_masses: Vec<bool>,
    /// Bridges for each set of parameters, for the sum over helicities (`None`) or a row of the helicity table.
    bridges: HashMap<Option<usize>, Vec<Bridge>>,
}

/// An event, or one order of its particles.
struct Task {
    event: usize,
    share: f64,
    momenta: Vec<f64>,
    g_s: f64,
}

/// Checks that a card contains the alpha_s from which parameters run: it is that of the run that made the events, and
/// is not known otherwise.
fn knows_alpha_s(process: &Process, card: &Card, values: &[f64]) -> Result<()> {
    match running::unknown(&process.model, Some(card), values) {
        None => Ok(()),
        Some(block) => Err(Error::Card {
            path: card.path().into(),
            what: format!(
                "parameters of block {block} run from alpha_s at its scale, which the card does not say; write the block \
                 RUNNING_{0} into it that the card in the header of events of mebridge has, or one with alpha_s of the run at \
                 that scale (`BLOCK RUNNING_{0}`, `1 0.108`)",
                block.to_ascii_uppercase()
            ),
        }),
    }
}

impl MatrixElements {
    /// Reads all processes with all cards.
    pub fn read(
        places: &[OsString],
        original: &Original,
        weights: &[CardVariation],
        settings: Settings,
    ) -> Result<MatrixElements> {
        let mut each: Vec<MatrixElement> = Vec::new();
        let new = weights
            .iter()
            .map(|weight| Card::parse(&weight.text, &weight.shown));
        let cards = Cards {
            old: Card::parse(&original.text, original.path()),
            new: new.collect(),
            weights,
        };
        let mut derived = SortedSet::new();
        for place in places {
            let shown = Path::new(place).display().to_string();
            let sources = source::all_processes(place, Some(original.path()))
                .map_err(|error| original.name(error))?;
            for source in sources {
                let new = cards
                    .new
                    .iter()
                    .map(|card| source.process.model.card_values(card));
                let mut values = vec![source.card];
                values.extend(new.collect::<Result<Vec<_>>>()?);
                let all = std::iter::once(&cards.old).chain(&cards.new);
                for (card, values) in all.zip(&values) {
                    knows_alpha_s(&source.process, card, values)
                        .map_err(|error| original.name(error))?;
                }
                let process = source.process;
                let shown = shown.clone();
                let element =
                    MatrixElement::new(process, values, shown, &cards, &settings, &mut derived)?;
                each.push(element);
            }
        }
        derived.iter().for_each(|what| output::warn(what));
        let elements = each
            .iter()
            .map(|element| (&element.process, element.place.as_str()));
        Ok(MatrixElements {
            index: ElementIndex::new(elements),
            each,
            settings,
        })
    }

    /// Returns their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.each
            .iter()
            .map(|element| element.process.name.as_str())
    }

    /// Returns |M'|^2 / |M|^2, `[event][card]`.
    pub fn ratios(&mut self, events: &[Event], path: &Path) -> Result<Vec<Vec<f64>>> {
        let mut tasks: HashMap<(usize, Option<usize>), Vec<Task>> = HashMap::new();
        for (i, event) in events.iter().enumerate() {
            let (which, orders) = self.find(event, path)?;
            let element = &self.each[which];
            let helicities = match orders.as_slice() {
                [order] if self.settings.by_helicity => event.helicities(order, path)?,
                // The assignment of helicities to legs is unknown, too.
                _ => None,
            };
            let row = match (helicities, &self.settings.boson_densities) {
                (None, Some(entry)) => {
                    let what = format!(
                        "was made with {entry}, so only weights by its helicities are right, and these are unknown, or those \
                         of identical particles, or --helicity sum is requested"
                    );
                    return Err(event.error(path, &what));
                }
                (None, None) => None,
                (Some(wanted), _) => Some(element.row(&wanted).ok_or_else(|| {
                    event.error(
                        path,
                        &format!(
                            "has the helicities {wanted:?}, which '{}' has not; reweight with --helicity sum",
                            element.process.name
                        ),
                    )
                })?),
            };
            let share = 1.0 / orders.len() as f64;
            let g_s = (4.0 * PI * event.alpha_s).sqrt();
            let mine = tasks.entry((which, row)).or_default();
            mine.extend(orders.iter().map(|order| Task {
                event: i,
                share,
                momenta: event.momenta(order),
                g_s,
            }));
        }
        let sets = self.each.first().map_or(0, |e| e.cards.len());
        let mut values = vec![vec![0.0; sets]; events.len()];
        for ((which, row), tasks) in tasks {
            let element = &mut self.each[which];
            for (set, found) in element
                .evaluate(row, &tasks, &self.settings, events, path)?
                .iter()
                .enumerate()
            {
                for (task, value) in tasks.iter().zip(found) {
                    values[task.event][set] += task.share * value;
                }
            }
        }
        for (event, values) in events.iter().zip(&mut values) {
            let original = values.remove(0);
            if original == 0.0 || !original.is_finite() {
                let what = format!(
                    "has |M|^2 = {original} with the original parameters: they are not those that it was made with, \
                     or its helicities are not; look at --original, or reweight with --helicity sum"
                );
                return Err(event.error(path, &what));
            }
            values.iter_mut().for_each(|value| *value /= original);
        }
        Ok(values)
    }

    /// Returns the matrix element of an event, and the orders of its particles there.
    fn find(&self, event: &Event, path: &Path) -> Result<(usize, Vec<LegOrder>)> {
        let assign = |legs: &[Leg]| Some(event.orders(legs)).filter(|orders| !orders.is_empty());
        let found = self.index.find(&event.particles, assign);
        let found = found.map_err(|what| event.error(path, &what))?;
        found.ok_or_else(|| {
            let what = self.index.describe_mismatch(&event.particles);
            event.error(
                path,
                &format!("{what}; give the process that the events are of"),
            )
        })
    }
}

/// Whether two masses count as equal.
fn same_mass(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME_MASS * a.abs().max(b.abs())
}

/// Whether a leg's mass follows from other parameters (that of the W boson from aEWM1, Gf and the Z boson's), and both
/// cards list it with the same value: MG5aMC checks there whether momenta belong to the new card.
fn keeps_derived(process: &Process, leg: usize, old: &Card, new: &Card) -> bool {
    let pdg = [process.legs[leg].pdg.abs()];
    let own = |parameter: &CardParameter| parameter.block == "mass" && parameter.index == pdg;
    if process.model.card.iter().any(own) {
        return false;
    }
    let (old, new) = (old.number("mass", &pdg), new.number("mass", &pdg));
    matches!((old, new), (Some(a), Some(b)) if same_mass(a, b))
}

impl MatrixElement {
    /// Adds notes about masses that follow from other parameters to `derived`.
    fn new(
        process: Process,
        values: Vec<Vec<f64>>,
        place: String,
        cards: &Cards,
        settings: &Settings,
        derived: &mut SortedSet<String>,
    ) -> Result<MatrixElement> {
        let wrong = |what: String| Error::EventsFile {
            path: PathBuf::from(&place),
            what,
        };
        if process.legs.iter().any(|leg| leg.pdg == 0) {
            return Err(wrong(format!(
                "'{}' has legs without PDG codes, so it is not known which events are its own",
                process.name
            )));
        }
        let masses = |card: &[f64]| -> Result<Vec<f64>> {
            let binding = Binding::new(&process.model, card)?;
            let legs = process.legs.iter();
            Ok(legs.map(|leg| binding.value(leg.mass)).collect())
        };
        let old = masses(&values[0])?;
        let mut other_masses = vec![false];
        for ((new, card), weight) in values[1..].iter().zip(&cards.new).zip(cards.weights) {
            let new = masses(new)?;
            let mut changed = (0..old.len()).filter(|&i| !same_mass(new[i], old[i]));
            let mut follows = false;
            let refused = changed.find(|&i| {
                let keeps = keeps_derived(&process, i, &cards.old, card);
                follows |= keeps;
                if keeps && !settings.off_shell {
                    derived.insert(format!(
                        "{}: the mass of PDG {} follows from what it changes: {} instead of {}; its own entry in the \
                         card is that of the events, at whose momenta |M|^2 is evaluated as they are (as MG5aMC does)",
                        weight.shown.display(),
                        process.legs[i].pdg,
                        short(new[i]),
                        short(old[i])
                    ));
                }
                !keeps
            });
            if let Some(leg) = refused
                && !settings.off_shell
            {
                return Err(wrong(format!(
                    "'{}': {} gives leg {} (PDG {}) the mass {}, the events have it with {}. Their momenta are off \
                     the new mass shell (MG5aMC makes other events of them); `mebridge reweight --off-shell` evaluates \
                     at the momenta as they are",
                    process.name,
                    weight.shown.display(),
                    leg + 1,
                    process.legs[leg].pdg,
                    new[leg],
                    old[leg]
                )));
            }
            other_masses.push(follows || refused.is_some());
        }
        Ok(MatrixElement {
            process,
            place,
            other_masses,
            cards: values,
            bridges: HashMap::new(),
        })
    }

    /// Returns the row of the helicity table with these helicities.
    fn row(&self, helicities: &[i8]) -> Option<usize> {
        let rows = &self.process.helicities;
        rows.iter().position(|row| row == helicities)
    }

    /// Returns |M|^2 of the events for each set of parameters.
    fn evaluate(
        &mut self,
        row: Option<usize>,
        tasks: &[Task],
        settings: &Settings,
        events: &[Event],
        path: &Path,
    ) -> Result<Vec<Vec<f64>>> {
        if !self.bridges.contains_key(&row) {
            let made = self.bridges(row, settings)?;
            self.bridges.insert(row, made);
        }
        let momenta: Vec<f64> = tasks
            .iter()
            .flat_map(|t| t.momenta.iter().copied())
            .collect();
        let g_s: Vec<f64> = tasks.iter().map(|t| t.g_s).collect();
        let nevt = tasks.len();
        // Helicity and colour flow are not used.
        let random = vec![0.5; nevt];
        let requested = Events {
            momenta: &momenta,
            g_s: &g_s,
            random_helicity: &random,
            random_color: &random,
            channels: None,
            igraph: None,
        };
        let mut all = Vec::new();
        for bridge in self.bridges.entry(row).or_default() {
            let mut values = vec![0.0; nevt];
            let (mut helicity, mut color) = (vec![0; nevt], vec![0; nevt]);
            let mut answers = Answers {
                matrix_elements: &mut values,
                helicity: &mut helicity,
                color: &mut color,
            };
            bridge.run(&requested, &mut answers).map_err(|error| {
                let Some(place) = error.bad_event() else {
                    return error;
                };
                // The error counts events within the call; the user needs the location in the file.
                let text = error.to_string();
                let what = text
                    .split_once("(from 0): ")
                    .map_or(&*text, |(_, what)| what);
                events[tasks[place].event].error(path, &format!("cannot be evaluated: {what}"))
            })?;
            all.push(values);
        }
        Ok(all)
    }

    /// Makes bridges for one row of helicities, or for the sum over all.
    fn bridges(&self, row: Option<usize>, settings: &Settings) -> Result<Vec<Bridge>> {
        let sets = self.cards.iter().zip(&self.other_masses);
        sets.map(|(card, &off_shell)| {
            let mut process = self.process.clone();
            let mut switches = settings.switches.clone();
            if let Some(row) = row {
                process.helicities = vec![process.helicities[row].clone()];
                switches.good_helicities_all = true;
                // Plans of single helicities are made quickly; caching is for slow ones.
                switches.cache = CachePlace::Off;
            }
            if off_shell {
                switches.backend = BackendChoice::Cpu;
            }
            let mut bridge = Bridge::new(process, card, &switches, CHUNK)?;
            if off_shell {
                bridge.allow(AllowedMomenta::OffShell);
            }
            Ok(bridge)
        })
        .collect()
    }
}
