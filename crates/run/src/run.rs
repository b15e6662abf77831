//! Execution of a planned run: the survey, the rounds, and their results.

mod by_cards;
mod stated;

pub use by_cards::by_cards;
pub use stated::{Destination, stated};

use crate::calculator::{Calculator, density_products};
use crate::densities::BeamDensity;
use crate::event_file::{InitBeams, nominal_weight};
use crate::maker::{CountedSelection, Description, ExtraValues, Maker, digest, failed, identity};
use crate::overweight::{Overweight, Weighting};
use crate::plan::RunPlan;
use crate::progress::{RunProgress, Stage};
use crate::records::RoundFile;
use crate::rounds::{BiasedEvents, Perform, Rounds};
use crate::run_folder::RunFolder;
use crate::spec::RunSpec;
use crate::state::{Arguments, State};
use crate::summary::Measured;
use crate::{Element, cuts, overweight};
use mebridge::event_generator::{ColorTreatment, EventGenerator, Request};
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use mebridge_sampler::integrand::Selection;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Largest number of events of a run; it bounds the list of rounds.
pub const MAX_EVENTS: u64 = 10_000_000_000;

/// Callbacks of the caller during a run.
pub trait Observer {
    /// The folder of a run is about to be created: an interruption must wait for [`begins`](Self::begins), or for the
    /// end of this observer.
    fn claims(&mut self) {}
    /// The folder exists: from now on an interrupted run can be continued.
    fn begins(&mut self, folder: &RunFolder);
    /// A notice for the user.
    fn notice(&mut self, line: &str);
    /// A line on the alpha_s, scales and cuts of the run.
    fn conditions(&mut self, line: &str);
    /// Reports the progress.
    ///
    /// # Errors
    /// The caller ends the run; finished rounds are kept.
    fn report(&mut self, progress: &RunProgress) -> Result<()>;
    /// Functions of the caller.
    fn functions(&self) -> Option<CallerFunctions> {
        None
    }
    /// Further arguments that distinguish this run from others.
    fn arguments(&self) -> Arguments {
        Vec::new()
    }
    /// A replacement for this process's event generator, if the caller has one.
    fn performer(&mut self, _plan: &RunPlan) -> Result<Option<Box<dyn Perform>>> {
        Ok(None)
    }
    /// Whether events get weights for other parameter cards.
    fn reweights(&self) -> bool {
        false
    }
    /// Checks that such weights can be computed for events of these processes with this parameter card.
    ///
    /// # Errors
    /// They cannot be computed.
    fn check_weights(&mut self, _card: &str, _processes: &[String]) -> Result<()> {
        Ok(())
    }
    /// Copies the events of a file into another one with these weights added, and returns a table of them.
    ///
    /// # Errors
    /// A file cannot be read or written.
    fn weigh(
        &mut self,
        _events: &Path,
        _into: &Path,
        _processes: &[String],
        _threads: usize,
    ) -> Result<String> {
        Ok(String::new())
    }
}

/// The caller's cut and bias.
#[derive(Clone, Debug)]
pub struct CallerFunctions {
    /// Cut and bias.
    pub selection: Arc<dyn Selection>,
    /// The name of the cut in messages, and a value that identifies it; none without a cut.
    pub cut: Option<(String, Value)>,
    /// The same for the bias.
    pub bias: Option<(String, Value)>,
}

impl CallerFunctions {
    /// Returns the functions with the name of the cut.
    fn named(self) -> NamedSelection {
        (self.selection, self.cut.map(|(name, _)| name))
    }
}

/// Results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// `Events/run_NN` of a run by cards.
    pub folder: Option<PathBuf>,
    /// Its event file, if it has one.
    pub output: Option<PathBuf>,
    /// Cross section in pb; for a decay the width in GeV.
    pub cross_section: Measured,
    /// The same for each matrix element.
    pub processes: Vec<(String, Measured)>,
    /// Number of events.
    pub events: u64,
    /// Events per phase-space point, after the survey.
    pub efficiency: f64,
    /// Numbers of phase-space points after the survey: drawn, within all cuts, and accepted as events.
    pub points: [f64; 3],
    /// Seconds that the start, the survey and the events took.
    pub seconds: [f64; 3],
    /// Cross sections and spectra of a run by cards, for a terminal.
    pub summary: String,
    /// Its events as records, if they were not written to a file.
    pub rounds: Vec<RoundFile>,
    /// The weight of most events, up to the sign, with which the average of all is the cross section; with a bias, the
    /// weight of an event whose bias is 1.
    pub nominal: f64,
    /// Number of events that the further cut was called with, and of those it kept.
    pub cut: [u64; 2],
    /// The beams, as in `<init>`.
    pub beams: InitBeams,
    /// Names of further weights.
    pub weight_names: Vec<String>,
}

/// The settings that runs of all kinds share.
struct Session<'a> {
    spec: &'a RunSpec,
    events: u64,
    seed: u64,
    begun: Instant,
}

impl Found {
    /// The weight of most events of a file, but for its sign; with a bias, of those whose bias is 1.
    fn nominal(&self) -> f64 {
        let (cross_section, _) = self.all;
        let unit = self.biased.as_ref().map(|biased| biased.unit);
        unit.unwrap_or_else(|| nominal_weight(&self.rounds, cross_section))
    }
}

/// Results of the rounds of a run.
struct Found {
    rounds: Vec<RoundFile>,
    all: Measured,
    of_elements: Vec<Measured>,
    /// By process: LPRUP, cross section and error.
    of_processes: Vec<(i32, Measured)>,
    /// Contents of its file for events with a bias.
    biased: Option<BiasedEvents>,
    /// How the events of the file are chosen and weighted.
    weighting: Weighting,
    /// Numbers of points: drawn, within all cuts, and accepted as events.
    points: [f64; 3],
    cut: [u64; 2],
    seconds: [f64; 3],
}

impl Session<'_> {
    /// Surveys a planned run of two beams and makes its rounds. GPUs are free again afterwards.
    fn collide(
        &self,
        plan: RunPlan,
        state: State,
        observer: &mut dyn Observer,
    ) -> Result<(Rounds, Found)> {
        let (spec, numbers) = (self.spec, plan.head.blocks.numbers.clone());
        let conditions = plan.conditions.clone();
        let mut performer = performer(plan, self.switches()?, observer)?;
        for line in &conditions {
            observer.conditions(line);
        }
        let on_gpus = spec.backend()? != "cpu";
        let mut rounds = Rounds::new(state, self.events, self.seed, spec.overweight, on_gpus)?;
        let (performer, precision) = (&mut *performer, spec.precision);
        let found = self.make(&mut rounds, performer, &numbers, precision, "pb", observer)?;
        Ok((rounds, found))
    }

    /// The switches of the environment, with the GPUs of the spec.
    fn switches(&self) -> Result<Switches> {
        let mut switches = Switches::from_env()?;
        if let Some(numbers) = self.spec.gpus() {
            switches.set("DEVICE", OsString::from(numbers))?;
        }
        Ok(switches)
    }

    /// Surveys the matrix elements and makes the rounds. `numbers` are the LPRUP of the matrix elements; `unit` is that
    /// of the cross section.
    fn make(
        &self,
        rounds: &mut Rounds,
        performer: &mut dyn Perform,
        numbers: &[i32],
        precision: Option<f64>,
        unit: &'static str,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let progress = |stage: Stage, rounds: &Rounds| RunProgress {
            stage,
            events: rounds.finished_events(),
            target: self.events,
            cross_section: rounds.cross_section(),
            seconds: self.begun.elapsed().as_secs_f64(),
            unit,
        };
        let started = self.begun.elapsed().as_secs_f64();
        let mut notices = Vec::new();
        rounds.survey(performer, precision, &mut notices)?;
        for notice in &notices {
            observer.notice(notice);
        }
        observer.report(&progress(Stage::Survey, rounds))?;
        let surveyed = self.begun.elapsed().as_secs_f64();
        let mut report = |rounds: &Rounds| observer.report(&progress(Stage::Events, rounds));
        rounds.run(performer, &mut report)?;
        let rule = self.spec.overweight_rule;
        let events = self.events - rounds.state().written().events;
        let weighting = overweight::complete(rule, rounds, performer, events, report)?;
        let done = self.begun.elapsed().as_secs_f64();
        let (all, of_elements) = rounds.measured(numbers.len()).expect("there are rounds");
        let of_processes = rounds.by_process(numbers).expect("there are rounds");
        let biased = rounds.biased(numbers);
        let state = rounds.state();
        let (mut points, mut cut) = ([0.0; 3], [0; 2]);
        for round in state.rounds().values() {
            for channel in &round.channels {
                let counts = [channel.drawn, channel.passed, channel.events];
                for (sum, count) in points.iter_mut().zip(counts) {
                    *sum += count as f64;
                }
            }
            for (sum, count) in cut.iter_mut().zip(round.cut) {
                *sum += count;
            }
        }
        Ok(Found {
            rounds: state.unwritten_rounds(),
            all,
            of_elements,
            of_processes,
            biased,
            weighting,
            points,
            cut,
            seconds: [started, surveyed - started, done - surveyed],
        })
    }

    /// All arguments that distinguish this run from others, starting with `found`.
    fn arguments(
        &self,
        found: Arguments,
        elements: &[Element],
        observer: &dyn Observer,
    ) -> Result<Arguments> {
        let mut found = arguments(self.spec, (self.events, self.seed), found, elements)?;
        let functions = observer.functions().map(|of| (of.cut, of.bias));
        let (cut, bias) = functions.unwrap_or_default();
        for (name, function) in [("cut", cut), ("bias", bias)] {
            found.extend(function.map(|(_, identity)| (name.to_owned(), identity)));
        }
        found.extend(observer.arguments());
        Ok(found)
    }
}

/// Completes the arguments that distinguish a run from others: adds events, seed and settings to `found`.
pub(crate) fn arguments(
    spec: &RunSpec,
    (events, seed): (u64, u64),
    mut found: Arguments,
    elements: &[Element],
) -> Result<Arguments> {
    let switch = |name: &str, default: &str| {
        let given = std::env::var(name).unwrap_or_default();
        let value = if given.is_empty() {
            default.to_owned()
        } else {
            given
        };
        (name.to_owned(), json!(value))
    };
    let switches: Map<String, Value> = [
        switch("CUDACPP_RUNTIME_FPTYPE", "d"),
        switch("CUDACPP_RUNTIME_SIMD", "auto"),
    ]
    .into_iter()
    .collect();
    let hash = digest(elements.iter().map(|element| &element.process), &[])?;
    for (name, value) in [
        ("switches", Value::Object(switches)),
        ("events", json!(events)),
        ("seed", json!(seed)),
        ("precision", json!(spec.precision)),
        ("overweight", json!(spec.overweight)),
        ("threads", json!(spec.threads)),
        ("device", json!(spec.devices)),
        ("versions", json!([env!("CARGO_PKG_VERSION")])),
        ("matrix_elements", json!(hex(&hash))),
    ] {
        found.push((name.to_owned(), value));
    }
    if spec.color != ColorTreatment::Auto {
        found.push(("color".to_owned(), json!(spec.color)));
    }
    if spec.overweight_rule != Overweight::Keep {
        found.push(("overweight_rule".to_owned(), json!(spec.overweight_rule)));
    }
    Ok(found)
}

/// Returns whether the events of a run have a bias, by a card or by the caller.
pub(crate) fn is_biased(plan: &RunPlan, observer: &dyn Observer) -> bool {
    let functions = observer.functions();
    plan.request.bias.is_some() || functions.is_some_and(|of| of.bias.is_some())
}

/// The performer of the parts of a planned run: the observer's, or the event generator of this process.
pub(crate) fn performer(
    plan: RunPlan,
    switches: Switches,
    observer: &mut dyn Observer,
) -> Result<Box<dyn Perform>> {
    if let Some(performer) = observer.performer(&plan)? {
        return Ok(performer);
    }
    let selection = observer.functions().map(CallerFunctions::named);
    let mut notices = Vec::new();
    let maker = open(plan, selection, switches, &mut notices)?;
    for notice in &notices {
        observer.notice(notice);
    }
    Ok(Box::new(maker))
}

/// The caller's functions, and the name of the cut.
pub type NamedSelection = (Arc<dyn Selection>, Option<String>);

/// Opens the event generator that surveys a planned run and makes its rounds.
///
/// # Errors
/// A matrix element cannot be evaluated, or the request cannot be honoured.
pub fn open(
    plan: RunPlan,
    selection: Option<NamedSelection>,
    switches: Switches,
    notices: &mut Vec<String>,
) -> Result<Maker<'static>> {
    let further = further(&plan, &switches)?;
    let names = plan.elements.iter().map(Element::name).collect();
    let cuts = cuts::describe(&plan.request.elements[0].windows, plan.elements[0].pdg());
    let elements = plan.elements.into_iter();
    let processes = elements.map(|element| element.process).collect();
    open_with(
        processes,
        &plan.request,
        names,
        cuts,
        further,
        selection,
        switches,
        notices,
    )
}

/// The same for processes and a request; `names` and `cuts` appear in messages.
#[allow(clippy::too_many_arguments)]
fn open_with<'m>(
    processes: Vec<Process>,
    request: &Request,
    names: Vec<String>,
    cuts: String,
    further: ExtraValues<'m>,
    selection: Option<NamedSelection>,
    switches: Switches,
    notices: &mut Vec<String>,
) -> Result<Maker<'m>> {
    let (selection, cut) = selection.unzip();
    let counted = (selection.clone().zip(cut.flatten()))
        .map(|(selection, name)| Arc::new(CountedSelection::new(selection, name)));
    let description = Description {
        identity: identity(&processes, request)?,
        names,
        cuts,
        selection: counted.clone(),
        threads: request.threads,
    };
    let selection = match counted {
        Some(counted) => Some(counted as Arc<dyn Selection>),
        None => selection,
    };
    let generator = EventGenerator::with_switches(processes, request, selection, switches);
    let generator = generator.map_err(failed)?;
    notices.extend(generator.vanishing().iter().map(|&number| {
        let name = &description.names[number];
        format!("|M|^2 of {name} (PDG codes) vanishes identically: it counts as 0")
    }));
    Ok(Maker::new(generator, description, further))
}

/// Further values computed for the events: ratios of weights, and density products.
fn further(plan: &RunPlan, switches: &Switches) -> Result<ExtraValues<'static>> {
    let beams = plan.request.beams()?;
    let (energies, threads) = (plan.head.blocks.beams.energies, plan.request.threads);
    // Events with `<mgrwt>`.
    let keeps_scales = !plan.head.blocks.powers.is_empty();
    let mut further = ExtraValues::default();
    if plan.systematics.groups.is_empty() && !keeps_scales {
        return Ok(further);
    }
    let densities = BeamDensity::from_beams(&beams)?;
    if !plan.systematics.groups.is_empty() {
        let mut calculator = Calculator::new(
            &plan.systematics,
            &plan.elements,
            energies,
            &plan.alpha_s,
            densities.clone(),
            threads,
            switches,
        )?;
        further.ratios = Some(Box::new(move |of| {
            let matched = of.records.round.events.iter();
            let matched: Vec<_> = matched.filter_map(|one| one.matched.as_deref()).collect();
            calculator.ratios(of.bytes, of.records.particles, of.scales, &matched)
        }));
    }
    if keeps_scales {
        further.densities = Some(Box::new(move |of| {
            let scales: Vec<[f64; 2]> = of.scales.iter().map(|&[_, a, b]| [a, b]).collect();
            let particles = of.records.particles;
            density_products(
                densities.as_ref(),
                of.bytes,
                particles,
                &scales,
                energies,
                threads,
            )
        }));
    }
    Ok(further)
}

/// Checks a number of events, which messages call `name`.
pub(crate) fn check_event_count(name: &str, events: u64) -> Result<u64> {
    if (1..=MAX_EVENTS).contains(&events) {
        return Ok(events);
    }
    let cure = format!("it must be a whole number from 1 to {MAX_EVENTS}");
    Err(Error::run(format!("{name} is {events}"), cure))
}

fn pairs(names: &[String], values: &[Measured]) -> Vec<(String, Measured)> {
    names.iter().cloned().zip(values.iter().copied()).collect()
}

/// The bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
