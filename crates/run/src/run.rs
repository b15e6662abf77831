//! A run by cards: the survey, the rounds, and the files of `Events/run_NN`.

use crate::banner::{Contents, Head, Norm, generator};
use crate::calculator::{Calculator, density_products};
use crate::cards::Cards;
use crate::densities::{AT_Z, BeamDensity};
use crate::element::names;
use crate::event_file::{Blocks, InitBeams};
use crate::maker::{Description, Further, Maker, identity};
use crate::param_card::ParamCard;
use crate::plan::{Plan, card_texts};
use crate::progress::{Progress, Stage};
use crate::records::Round;
use crate::rounds::Rounds;
use crate::run_folder::{EVENTS, RunFolder};
use crate::scratch::Scratch;
use crate::spec::RunSpec;
use crate::state::{Arguments, State, forget_rounds};
use crate::summary::{self, Measured, Summary};
use crate::{cuts, decays, load, replaced, spectra};
use mebridge::event_generator::{EventGenerator, Request};
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Its file about cross sections.
pub const SUMMARY: &str = "summary.txt";
/// Bytes of the name of a file, at most, and characters of one that messages have.
const LONGEST: usize = 255;
const SHOWN: usize = 40;
/// Events of a run, at most.
pub const MOST_EVENTS: u64 = 1 << 40;
/// The relative error of a width, where no other is requested.
const PRECISION: f64 = 3e-3;

/// What a caller is told while a run goes on.
pub trait Observer {
    /// The folder is there: from now on an interruption has something to keep.
    fn begins(&mut self, folder: &RunFolder);
    /// A line that users should know.
    fn notice(&mut self, line: &str);
    /// Which alpha_s, scales and cuts hold.
    fn conditions(&mut self, line: &str);
    /// How far it is.
    ///
    /// # Errors
    /// The caller ends the run; what is done is kept.
    fn report(&mut self, progress: &Progress) -> Result<()>;
    /// Whether events get weights of other parameter cards.
    fn reweights(&self) -> bool {
        false
    }
    /// Sees that these can be made of events of these processes, whose file has this header.
    ///
    /// # Errors
    /// They cannot.
    fn check_weights(&mut self, _header: &str, _processes: &[String]) -> Result<()> {
        Ok(())
    }
    /// Adds the weights to the events of a file, into another one, and gives a table of them.
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

/// What a run made.
#[derive(Clone, Debug)]
pub struct Made {
    /// `Events/run_NN`.
    pub folder: PathBuf,
    /// Its event file.
    pub output: PathBuf,
    /// pb; of a decay the width, GeV.
    pub cross_section: Measured,
    /// The same of each matrix element.
    pub processes: Vec<(String, Measured)>,
    /// How many events it has.
    pub events: u64,
    /// Events a phase-space point, after the survey.
    pub efficiency: f64,
    /// How long the start, the survey and the events took.
    pub seconds: [f64; 3],
    /// Cross sections and spectra, for a terminal.
    pub summary: String,
}

/// Makes the events of a run by cards, in a folder of this name, or one with the next number.
///
/// # Errors
/// The cards request what cannot be honoured, there are no events, or files cannot be written.
pub fn by_cards(spec: &RunSpec, name: Option<&str>, observer: &mut dyn Observer) -> Result<Made> {
    let begun = Instant::now();
    let cards = Cards::read(spec)?;
    let card = &cards.run_card;
    for notice in &cards.notices {
        observer.notice(notice);
    }
    if card.flag("gridpack") {
        let what = "gridpack = True asks for a pack, which `mebridge pack` makes";
        return Err(refused(card.source(), what, "set it to False for events"));
    }
    let events = match spec.events {
        Some(events) => events,
        None => card.whole_within("nevents", 1, MOST_EVENTS)?,
    };
    let seed = match spec.seed {
        Some(seed) => seed,
        None => card.whole_within("iseed", 0, u64::MAX)?,
    };
    let folder = RunFolder::claim(&cards.source.path().join("Events"), name)?;
    observer.begins(&folder);
    let banner = folder.path().join(banner_name(&cards, &folder)?);
    let seed = if seed == 0 { folder.seed() } else { seed };
    let run = Run {
        cards: &cards,
        spec,
        folder: &folder,
        banner,
        events,
        seed,
        begun,
    };
    match cards.source.decays() {
        true => run.decay(observer),
        false => run.collide(observer),
    }
}

/// The name of the file with the banner alone.
fn banner_name(cards: &Cards, folder: &RunFolder) -> Result<String> {
    let card = &cards.run_card;
    let tag = card.text("run_tag");
    let name = format!("{}_{tag}_banner.txt", folder.name());
    if name.len() > LONGEST {
        let shown: String = tag.chars().take(SHOWN).collect();
        let what = format!(
            "run_tag = {shown}... is part of a file's name, which has at most {LONGEST} bytes"
        );
        return Err(refused(card.source(), &what, "shorten it"));
    }
    Ok(name)
}

/// A run that has a folder.
struct Run<'a> {
    cards: &'a Cards,
    spec: &'a RunSpec,
    folder: &'a RunFolder,
    /// The file with the banner alone.
    banner: PathBuf,
    events: u64,
    seed: u64,
    begun: Instant,
}

/// What the rounds of a run gave.
struct Found {
    rounds: Vec<Round>,
    all: Measured,
    of_elements: Vec<Measured>,
    /// Drawn, in all cuts, and those that became events.
    points: [f64; 3],
    seconds: [f64; 3],
}

impl Run<'_> {
    /// Events of two beams.
    fn collide(&self, observer: &mut dyn Observer) -> Result<Made> {
        let plan = Plan::of_cards(self.cards, self.spec, self.spec.threads)?;
        for notice in &plan.notices[self.cards.notices.len()..] {
            observer.notice(notice);
        }
        let names = plan.names();
        let description = Description {
            cuts: cuts::described(&plan.request.elements[0].windows, plan.elements[0].pdg()),
            ..self.description(&names)
        };
        if observer.reweights() {
            self.check_weights(&plan, observer)?;
        }
        let further = further(&plan, &Switches::from_env()?)?;
        let arguments = self.arguments(plan.arguments.clone(), &plan.elements)?;
        let elements = plan.elements;
        let processes: Vec<Process> = elements.into_iter().map(|one| one.process).collect();
        let state = State::open(&self.folder.state(), &arguments, true)?;
        let (mut maker, notices) =
            self.maker(processes, &plan.request, description, further, &names)?;
        for notice in notices {
            observer.notice(&notice);
        }
        for line in &plan.conditions {
            observer.conditions(line);
        }
        let mut rounds = Rounds::new(
            state,
            self.events,
            self.seed,
            self.spec.overweight,
            self.spec.backend()? != "cpu",
        )?;
        let found = self.make(
            &mut rounds,
            &mut maker,
            names.len(),
            self.spec.precision,
            "pb",
            observer,
        )?;
        // GPUs are given back while the events are written.
        drop(maker);
        let processes = pairs(&names, &found.of_elements);
        let text = Summary {
            name: &self.folder.name(),
            events: self.events as usize,
            processes: &processes,
            cross_section: found.all,
            points: found.points,
            cut: None,
        };
        let text = text.text() + &spectra::text(&found.rounds)?;
        let made = self.write(&plan.head, found, processes, text, &arguments, observer)?;
        drop(rounds);
        // What was surveyed stays, for a pack.
        if forget_rounds(&self.folder.state()).is_err() {
            let _ = std::fs::remove_dir_all(self.folder.state());
        }
        Ok(made)
    }

    /// Events of one particle that decays. They are made so soon that nothing is kept for a run that goes on.
    fn decay(&self, observer: &mut dyn Observer) -> Result<Made> {
        let (cards, spec) = (self.cards, self.spec);
        for (name, is_there, cure) in [
            ("backend", spec.backend()? != "cpu", "set it to \"cpu\""),
            (
                "systematics",
                spec.systematics.as_ref().is_some_and(|of| !of.is_empty()),
                "leave it out",
            ),
            ("reweight", observer.reweights(), "leave it out"),
        ] {
            if is_there {
                let what = format!("{name} is not for decays, whose events are made at once");
                return Err(refused("", &what, cure));
            }
        }
        let none = Default::default();
        let elements =
            load::load_elements(&cards.source, Some(&cards.param_card), &none, spec.threads)?;
        let directories = match &cards.source {
            crate::Source::Output(_) => cards.source.directories()?,
            crate::Source::Named(_) => Vec::new(),
        };
        let listed: Vec<_> = match directories.is_empty() {
            true => Vec::new(),
            false => elements
                .iter()
                .map(|one| (&directories[one.source], one.number))
                .collect(),
        };
        let listed = (!listed.is_empty()).then_some(&listed[..]);
        let at_z = ParamCard::read(&cards.param_card)?.value("sminputs", 3, AT_Z);
        let plan = decays::plan(
            &elements,
            &cards.run_card,
            at_z,
            listed,
            cards.alpha_qed()?,
            spec.threads,
        )?;
        for notice in &plan.notices {
            observer.notice(notice);
        }
        for line in &plan.conditions {
            observer.conditions(line);
        }
        let names = names(&elements);
        let texts = card_texts(cards, &elements, &Vec::new(), false)?;
        let processes: Vec<Process> = elements.into_iter().map(|one| one.process).collect();
        let description = Description {
            cuts: plan.cuts.clone(),
            ..self.description(&names)
        };
        let (mut maker, notices) = self.maker(
            processes,
            &plan.request,
            description,
            Further::default(),
            &names,
        )?;
        for notice in notices {
            observer.notice(&notice);
        }
        let scratch = Scratch::new()?;
        let state = State::open(&scratch.path().join("state"), &[], false)?;
        let mut rounds = Rounds::new(state, self.events, self.seed, spec.overweight, false)?;
        let precision = spec.precision.or(Some(PRECISION));
        let found = self.make(
            &mut rounds,
            &mut maker,
            names.len(),
            precision,
            "GeV",
            observer,
        )?;
        let head = Head {
            blocks: Blocks {
                beams: InitBeams {
                    codes: [plan.pdg, 0],
                    energies: [plan.mass, 0.0],
                    densities: [0; 2],
                },
                powers: Vec::new(),
                matched: false,
                clustering: false,
                names: Vec::new(),
            },
            norm: Norm::of_card(cards.run_card.text("event_norm")),
            generator: generator(&cards.source.by()),
            header: String::new(),
            cards: Some(texts),
        };
        let processes = pairs(&names, &found.of_elements);
        let text = summary::of_decays(
            &self.folder.name(),
            self.events as usize,
            found.points[0] as u64,
            &processes,
            found.all,
        ) + &spectra::text(&found.rounds)?;
        let mut arguments: Arguments = vec![("output".to_owned(), json!(cards.source.path()))];
        if let Some((process, model)) = cards.source.name() {
            arguments.push(("process".to_owned(), json!(process)));
            arguments.push(("model".to_owned(), json!(model)));
        }
        arguments.push(("seed".to_owned(), json!(self.seed)));
        arguments.push(("events".to_owned(), json!(self.events)));
        self.write(&head, found, processes, text, &arguments, observer)
    }

    /// That weights of other cards can be made of the events of a plan.
    fn check_weights(&self, plan: &Plan, observer: &mut dyn Observer) -> Result<()> {
        if plan.runs {
            let what =
                "parameters of the model run, and weights of other cards would not have theirs";
            let cure = "leave them out, or fix their scale (fixed_extra_scale of the run card)";
            return Err(refused("reweight", what, cure));
        }
        let parameters = plan
            .head
            .cards
            .as_ref()
            .map_or("", |cards| &cards.parameters);
        let header = format!("<slha>\n{parameters}\n</slha>\n");
        observer.check_weights(&header, &self.cards.source.sources())
    }

    fn description(&self, names: &[String]) -> Description {
        Description {
            identity: [0; 32],
            names: names.to_vec(),
            cuts: String::new(),
            selection: None,
            threads: self.spec.threads,
        }
    }

    /// Opens the event generator; what a user should know of the matrix elements comes beside it.
    fn maker<'m>(
        &self,
        processes: Vec<Process>,
        request: &Request,
        description: Description,
        further: Further<'m>,
        names: &[String],
    ) -> Result<(Maker<'m>, Vec<String>)> {
        let mut switches = Switches::from_env()?;
        if let Some(numbers) = self.spec.gpus() {
            switches.set("DEVICE", OsString::from(numbers))?;
        }
        let (maker, vanishing) = maker(processes, request, description, further, switches)?;
        let vanishing = vanishing.iter().map(|&number| vanishes(&names[number]));
        Ok((maker, vanishing.collect()))
    }

    /// The survey and the rounds.
    fn make(
        &self,
        rounds: &mut Rounds,
        maker: &mut Maker,
        elements: usize,
        precision: Option<f64>,
        unit: &'static str,
        observer: &mut dyn Observer,
    ) -> Result<Found> {
        let progress = |stage: Stage, rounds: &Rounds| Progress {
            stage,
            events: rounds.done(),
            target: self.events,
            cross_section: rounds.cross_section(),
            seconds: self.begun.elapsed().as_secs_f64(),
            unit,
        };
        let started = self.begun.elapsed().as_secs_f64();
        let mut notices = Vec::new();
        rounds.survey(maker, precision, &mut notices)?;
        for notice in &notices {
            observer.notice(notice);
        }
        observer.report(&progress(Stage::Survey, rounds))?;
        let surveyed = self.begun.elapsed().as_secs_f64();
        rounds.run(maker, |rounds| {
            observer.report(&progress(Stage::Events, rounds))
        })?;
        let done = self.begun.elapsed().as_secs_f64();
        let measured = |found: Option<mebridge_sampler::sums::Estimate>| {
            let found = found.expect("there are rounds");
            (found.mean, found.error)
        };
        let state = rounds.state();
        let mut points = [0.0; 3];
        for channel in state.rounds().values().flat_map(|round| &round.channels) {
            let counts = [channel.drawn, channel.passed, channel.events];
            for (sum, count) in points.iter_mut().zip(counts) {
                *sum += count as f64;
            }
        }
        Ok(Found {
            rounds: made(state),
            all: measured(rounds.cross_section()),
            of_elements: (0..elements)
                .map(|number| measured(rounds.of_element(number)))
                .collect(),
            points,
            seconds: [started, surveyed - started, done - surveyed],
        })
    }

    /// Writes the files of the run.
    fn write(
        &self,
        head: &Head,
        found: Found,
        processes: Vec<(String, Measured)>,
        mut summary: String,
        arguments: &Arguments,
        observer: &mut dyn Observer,
    ) -> Result<Made> {
        let (events, (cross_section, _)) = (self.events as usize, found.all);
        let path = self.folder.path();
        let text = head.banner_file(events, self.seed, cross_section);
        let output = path.join(EVENTS);
        let mut files = || -> Result<()> {
            replaced::write_text(&self.banner, &text)?;
            replaced::write_text(&path.join(SUMMARY), &summary)?;
            let contents = Contents {
                rounds: &found.rounds,
                processes: &found.of_elements,
                cross_section,
                seed: self.seed,
            };
            let arguments: serde_json::Map<String, Value> = arguments.iter().cloned().collect();
            let threads = self.spec.threads;
            if !observer.reweights() {
                return head.write(&output, &contents, &arguments, threads);
            }
            let plain = Plain(path.join(format!(".plain-{EVENTS}")));
            head.write(&plain.0, &contents, &arguments, threads)?;
            let sources = self.cards.source.sources();
            let table = observer.weigh(&plain.0, &output, &sources, threads)?;
            summary = format!("{summary}\n{table}");
            replaced::write_text(&path.join(SUMMARY), &summary)
        };
        files().inspect_err(|_| {
            for file in [&self.banner, &path.join(SUMMARY)] {
                let _ = std::fs::remove_file(file);
            }
        })?;
        Ok(Made {
            folder: path.to_owned(),
            output,
            cross_section: found.all,
            processes,
            events: self.events,
            efficiency: self.events as f64 / found.points[0],
            seconds: found.seconds,
            summary,
        })
    }

    /// What makes the run another one than others, with what this call says of it.
    fn arguments(&self, of_cards: Arguments, elements: &[crate::Element]) -> Result<Arguments> {
        arguments(self.spec, (self.events, self.seed), of_cards, elements)
    }
}

/// What makes a run of these events and this seed another one than others, with what its cards say.
pub(crate) fn arguments(
    spec: &RunSpec,
    (events, seed): (u64, u64),
    mut of_cards: Arguments,
    elements: &[crate::Element],
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
    let switches: serde_json::Map<String, Value> = [
        switch("CUDACPP_RUNTIME_FPTYPE", "d"),
        switch("CUDACPP_RUNTIME_SIMD", "auto"),
    ]
    .into_iter()
    .collect();
    let mut bytes = Vec::new();
    for element in elements {
        bytes.extend(element.process.to_bytes()?);
    }
    for (name, value) in [
        ("switches", Value::Object(switches)),
        ("events", json!(events)),
        ("seed", json!(seed)),
        ("precision", json!(spec.precision)),
        ("overweight", json!(spec.overweight)),
        ("threads", json!(spec.threads)),
        ("device", json!(spec.devices)),
        ("versions", json!([env!("CARGO_PKG_VERSION")])),
        (
            "matrix_elements",
            json!(hex(&mebridge_support::digest(&bytes))),
        ),
    ] {
        of_cards.push((name.to_owned(), value));
    }
    Ok(of_cards)
}

/// Opens the event generator of a run; beside it are the numbers of the matrix elements that vanish identically.
pub(crate) fn maker<'m>(
    processes: Vec<Process>,
    request: &Request,
    description: Description,
    further: Further<'m>,
    switches: Switches,
) -> Result<(Maker<'m>, Vec<usize>)> {
    let description = Description {
        identity: identity(&processes, request)?,
        ..description
    };
    let generator = EventGenerator::with(processes, request, None, switches);
    let generator = generator.map_err(crate::maker::failed)?;
    let vanishing = generator.vanishing().to_vec();
    Ok((Maker::new(generator, description, further), vanishing))
}

/// That a matrix element vanishes identically.
pub(crate) fn vanishes(name: &str) -> String {
    format!("|M|^2 of {name} (PDG codes) vanishes identically: it counts as 0")
}

/// The rounds that are done, for their file.
pub(crate) fn made(state: &State) -> Vec<Round> {
    let rounds = state.rounds().iter().map(|(&number, round)| Round {
        file: state.records(number),
        events: round.counted.events as usize,
        weights: crate::records::Weights {
            nominal: round.weights.nominal,
            total: round.weights.total,
            above: round.weights.above,
            largest: round.weights.largest,
            absolute: round.weights.absolute,
        },
    });
    rounds.collect()
}

/// What is computed of events besides their records.
pub(crate) fn further(plan: &Plan, switches: &Switches) -> Result<Further<'static>> {
    let beams = plan.request.beams()?;
    let (energies, threads) = (plan.energies, plan.request.threads);
    let mut further = Further::default();
    if !plan.systematics.groups.is_empty() {
        let mut calculator = Calculator::new(
            &plan.systematics,
            &plan.elements,
            energies,
            &plan.alpha_s,
            BeamDensity::of_beams(&beams)?,
            threads,
            switches,
        )?;
        further.ratios = Some(Box::new(move |of| {
            let matched = of.records.round.events.iter();
            let matched: Vec<_> = matched.filter_map(|one| one.matched.as_deref()).collect();
            calculator.ratios(of.bytes, of.records.particles, of.scales, &matched)
        }));
    }
    if plan.keeps_scales {
        let densities = BeamDensity::of_beams(&beams)?;
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

/// Events without further weights, for as long as these are made.
struct Plain(PathBuf);

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn pairs(names: &[String], values: &[Measured]) -> Vec<(String, Measured)> {
    names.iter().cloned().zip(values.iter().copied()).collect()
}

/// In digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn refused(place: &str, what: &str, cure: &str) -> Error {
    Error::Run {
        place: place.to_owned(),
        what: what.to_owned(),
        cure: cure.to_owned(),
    }
}
