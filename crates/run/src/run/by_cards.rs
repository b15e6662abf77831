//! Runs by cards, in `Events/run_NN`.

use super::{
    Found, MAX_EVENTS, Observer, RunResult, Session, check_event_count, is_biased, open_with, pairs,
};
use crate::banner::{CommonBanner, Contents, Norm, generator};
use crate::cards::Cards;
use crate::densities::AT_Z;
use crate::element::names;
use crate::event_file::{Blocks, InitBeams, overweights};
use crate::maker::ExtraValues;
use crate::page::{self, PAGE, RunSettings};
use crate::param_card::ParamCard;
use crate::plan::{RunPlan, card_texts, lifetimes};
use crate::rounds::{BiasedEvents, Rounds};
use crate::run_folder::{ADDED_EVENTS, EVENTS, EVENTS_BEFORE_WEIGHTS, RunFolder};
use crate::scratch::Scratch;
use crate::source::Source;
use crate::spec::RunSpec;
use crate::spectra::Spectra;
use crate::state::{Arguments, State, forget_rounds};
use crate::summary::{Rate, Summary};
use crate::{decays, load, merge, overweight, replaced};
use mebridge::process::Process;
use mebridge::{Error, Result};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Instant;

/// The file with the cross sections of a run.
const SUMMARY: &str = "summary.txt";
/// Largest length of a file name in bytes, and number of characters of it that messages show.
const MAX_NAME_BYTES: usize = 255;
const SHOWN: usize = 40;
/// Default relative precision of a width.
const PRECISION: f64 = 3e-3;

/// Makes the events of a run by cards, in the folder `name`, or in `run_NN` with the next number.
///
/// # Errors
/// The cards request what cannot be honoured, there are no events, or files cannot be written.
pub fn by_cards(
    spec: &RunSpec,
    name: Option<&str>,
    observer: &mut dyn Observer,
) -> Result<RunResult> {
    let begun = Instant::now();
    let cards = Cards::read(spec)?;
    let card = &cards.run_card;
    for notice in &cards.notices {
        observer.notice(notice);
    }
    if card.flag("gridpack") {
        let what = "gridpack = True asks for a pack, which `mebridge pack` makes";
        return Err(Error::run_at(
            card.source(),
            what,
            "set it to False for events",
        ));
    }
    let events = match spec.events {
        Some(events) => check_event_count("nevents", events)?,
        None => card.integer_within("nevents", 1, MAX_EVENTS)?,
    };
    let seed = match spec.seed {
        Some(seed) => seed,
        None => card.seed()?,
    };
    observer.claims();
    let folder = RunFolder::claim(&cards.source.path().join("Events"), name)?;
    let before = folder.written(events)?;
    if before > 0 && cards.source.decays() {
        let what = format!(
            "{} holds the events of a decay, to which none can be added",
            folder.path().display()
        );
        return Err(Error::run(what, "take another name, or none"));
    }
    observer.begins(&folder);
    let banner = folder.path().join(banner_name(&cards, &folder)?);
    let seed = if seed == 0 { folder.seed() } else { seed };
    let run = CardRun {
        cards: &cards,
        folder: &folder,
        before,
        banner,
        session: Session {
            spec,
            events,
            seed,
            begun,
        },
    };
    match cards.source.decays() {
        true => run.decay(observer),
        false => run.collide(observer),
    }
}

/// The name of the file that has only the banner.
fn banner_name(cards: &Cards, folder: &RunFolder) -> Result<String> {
    let card = &cards.run_card;
    let tag = card.text("run_tag");
    let name = format!("{}_{tag}_banner.txt", folder.name());
    if name.len() > MAX_NAME_BYTES {
        let shown: String = tag.chars().take(SHOWN).collect();
        let what = format!(
            "run_tag = {shown}... is part of a file's name, which has at most {MAX_NAME_BYTES} bytes"
        );
        return Err(Error::run_at(card.source(), what, "shorten it"));
    }
    Ok(name)
}

/// A run by cards with its folder.
struct CardRun<'a> {
    cards: &'a Cards,
    folder: &'a RunFolder,
    /// Number of events that the event file has already.
    before: u64,
    /// The file that has only the banner.
    banner: PathBuf,
    session: Session<'a>,
}

impl CardRun<'_> {
    /// Makes events of two colliding beams.
    fn collide(&self, observer: &mut dyn Observer) -> Result<RunResult> {
        let Session { spec, events, .. } = self.session;
        let plan = RunPlan::from_cards(self.cards, spec)?;
        overweight::check(spec.overweight_rule, is_biased(&plan, observer))?;
        for notice in &plan.notices {
            observer.notice(notice);
        }
        if observer.reweights() {
            self.check_weights(&plan, observer)?;
        }
        let (names, head) = (plan.names(), plan.head.clone());
        let conditions = plan.conditions.clone();
        let arguments = self
            .session
            .arguments(plan.arguments.clone(), &plan.elements, observer)?;
        let mut state = State::open(&self.folder.state(), &arguments, true)?;
        if self.before == 0 {
            state.begin_again()?;
        }
        self.folder.tidy();
        let (rounds, found) = self.session.collide(plan, state, observer)?;
        let processes = pairs(&names, &found.of_elements);
        let cut = observer.functions().and_then(|of| of.cut);
        let report = Report {
            summary: Summary {
                name: &self.folder.name(),
                events: events as usize,
                rate: Rate::CrossSection,
                processes: &processes,
                all: found.all,
                points: found.points,
                overweights: self.overweights(&found),
                biased: found.biased.as_ref().map(BiasedEvents::line),
                cut: cut
                    .as_ref()
                    .map(|(name, _)| (&**name, found.cut[0], found.cut[1])),
            },
            spectra: Spectra::from_rounds(&found.rounds)?,
            settings: self.settings(&head, conditions, &found)?,
        };
        let made = self.write(&head, found, &report, &arguments, observer)?;
        drop(rounds);
        // The survey is kept, for a pack.
        if forget_rounds(&self.folder.state(), events).is_err() {
            let _ = std::fs::remove_dir_all(self.folder.state());
        }
        Ok(made)
    }

    /// Makes events of a decaying particle. This takes so little time that no state is kept for continuing the run.
    fn decay(&self, observer: &mut dyn Observer) -> Result<RunResult> {
        let (cards, session) = (self.cards, &self.session);
        let spec = session.spec;
        check_decay(spec, observer)?;
        let none = Default::default();
        let elements =
            load::load_elements(&cards.source, Some(&cards.param_card), &none, spec.threads)?;
        let directories = match &cards.source {
            Source::Output(_) => cards.source.directories()?,
            Source::Named(_) => Vec::new(),
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
        let mut plan = decays::plan(
            &elements,
            &cards.run_card,
            at_z,
            listed,
            cards.alpha_qed()?,
            spec.threads,
        )?;
        plan.request.lifetimes = lifetimes(cards, &elements)?;
        for notice in &plan.notices {
            observer.notice(notice);
        }
        for line in &plan.conditions {
            observer.conditions(line);
        }
        let (names, numbers) = (names(&elements), cards.source.numbers(&elements));
        let texts = card_texts(cards, &elements, &Vec::new(), false)?;
        let processes: Vec<Process> = elements.into_iter().map(|one| one.process).collect();
        let mut notices = Vec::new();
        let mut maker = open_with(
            processes,
            &plan.request,
            names.clone(),
            plan.cuts.clone(),
            ExtraValues::default(),
            None,
            session.switches()?,
            &mut notices,
        )?;
        for notice in &notices {
            observer.notice(notice);
        }
        let scratch = Scratch::new()?;
        let state = State::open(&scratch.path().join("state"), &[], false)?;
        let mut rounds = Rounds::new(
            state,
            self.session.events,
            self.session.seed,
            spec.overweight,
            false,
        )?;
        let precision = spec.precision.or(Some(PRECISION));
        let found = session.make(
            &mut rounds,
            &mut maker,
            &numbers,
            precision,
            "GeV",
            observer,
        )?;
        let head = CommonBanner {
            blocks: decay_blocks(&plan, numbers),
            norm: Norm::from_card(cards.run_card.text("event_norm")),
            generator: generator(&cards.source.origin()),
            header: String::new(),
            cards: Some(texts),
        };
        let processes = pairs(&names, &found.of_elements);
        let report = Report {
            summary: Summary {
                name: &self.folder.name(),
                events: self.session.events as usize,
                rate: Rate::PartialWidth,
                processes: &processes,
                all: found.all,
                points: found.points,
                overweights: None,
                biased: None,
                cut: None,
            },
            spectra: Spectra::from_rounds(&found.rounds)?,
            settings: self.settings(&head, plan.conditions, &found)?,
        };
        let mut arguments = cards.source.arguments();
        arguments.push(("seed".to_owned(), json!(self.session.seed)));
        arguments.push(("events".to_owned(), json!(self.session.events)));
        self.write(&head, found, &report, &arguments, observer)
    }

    /// Settings of the run, for its page.
    fn settings(
        &self,
        head: &CommonBanner,
        conditions: Vec<String>,
        found: &Found,
    ) -> Result<RunSettings> {
        Ok(RunSettings {
            process: page::commands(head),
            conditions,
            entries: page::changed_entries(&self.cards.run_card),
            beams: head.blocks.beams,
            seed: self.session.seed,
            backend: self.session.spec.backend()?.to_owned(),
            threads: self.session.spec.threads,
            weights: head.blocks.names.clone(),
            seconds: found.seconds,
        })
    }

    /// The line of the summary about overweight events.
    fn overweights(&self, found: &Found) -> Option<String> {
        let made = found.rounds.iter().map(|round| round.events as u64).sum();
        let rule = self.session.spec.overweight_rule;
        let left = self.session.events - self.before;
        rule.line(overweights(&found.rounds), made, left)
    }

    /// Checks that weights for other parameter cards can be computed for the events of a plan.
    fn check_weights(&self, plan: &RunPlan, observer: &mut dyn Observer) -> Result<()> {
        if plan.runs {
            let what =
                "parameters of the model run, and weights of other cards would not have theirs";
            let cure = "leave them out, or fix their scale (fixed_extra_scale of the run card)";
            return Err(Error::run_at("reweight", what, cure));
        }
        let parameters = plan
            .head
            .cards
            .as_ref()
            .map_or("", |cards| &cards.parameters);
        observer.check_weights(parameters, &self.cards.source.sources())
    }

    /// Writes the files of the run.
    fn write(
        &self,
        head: &CommonBanner,
        found: Found,
        report: &Report,
        arguments: &Arguments,
        observer: &mut dyn Observer,
    ) -> Result<RunResult> {
        let (events, (cross_section, _)) = (self.session.events as usize, found.all);
        let path = self.folder.path();
        let mean = found.biased.as_ref().map_or(cross_section, |of| of.all.0);
        let text = head.banner_file(events, self.session.seed, mean);
        let output = path.join(EVENTS);
        let mut summary = report.summary.text() + &report.spectra.text();
        let mut files = || -> Result<()> {
            if self.before == 0 {
                replaced::write_text(&self.banner, &text)?;
                replaced::write_text(&path.join(SUMMARY), &summary)?;
            }
            let mut table = None;
            let contents = Contents {
                rounds: &found.rounds,
                before: self.before,
                weighting: found.weighting,
                processes: &found.of_processes,
                cross_section,
                biased: found.biased.as_ref(),
                seed: self.session.seed,
            };
            let arguments: Map<String, Value> = arguments.iter().cloned().collect();
            let threads = self.session.spec.threads;
            let added = Hidden(path.join(ADDED_EVENTS));
            let whole = match self.before {
                0 => &output,
                _ => &added.0,
            };
            if observer.reweights() {
                let plain = Hidden(path.join(EVENTS_BEFORE_WEIGHTS));
                head.write(&plain.0, &contents, &arguments, threads)?;
                let sources = self.cards.source.sources();
                let found = observer.weigh(&plain.0, whole, &sources, threads)?;
                summary = format!("{summary}\n{found}");
                table = Some(found);
            } else {
                head.write(whole, &contents, &arguments, threads)?;
            }
            if self.before > 0 {
                merge::append(&output, self.before, &added.0, &merge::open_written)?;
                replaced::write_text(&self.banner, &text)?;
            }
            let page = report.page(table.as_deref());
            replaced::write_text(&path.join(PAGE), &page)?;
            replaced::write_text(&path.join(SUMMARY), &summary)
        };
        files().inspect_err(|_| {
            let own = [&self.banner, &path.join(PAGE), &path.join(SUMMARY)];
            for file in own.into_iter().filter(|_| self.before == 0) {
                let _ = std::fs::remove_file(file);
            }
        })?;
        Ok(RunResult {
            folder: Some(path.to_owned()),
            output: Some(output),
            cross_section: found.all,
            processes: report.summary.processes.to_vec(),
            events: self.session.events,
            efficiency: self.session.events as f64 / found.points[0],
            points: found.points,
            seconds: found.seconds,
            summary,
            nominal: found.nominal(),
            rounds: Vec::new(),
            cut: found.cut,
            beams: head.blocks.beams,
            weight_names: head.blocks.names.clone(),
        })
    }
}

/// Checks that nothing is requested that runs of decays lack.
fn check_decay(spec: &RunSpec, observer: &dyn Observer) -> Result<()> {
    let functions = observer.functions();
    let [cut, bias] = functions.map_or([false; 2], |of| [of.cut.is_some(), of.bias.is_some()]);
    let systematics = spec.systematics.as_ref().is_some_and(|of| !of.is_empty());
    for (name, is_there, cure) in [
        ("backend", spec.backend()? != "cpu", "set it to \"cpu\""),
        ("systematics", systematics, "leave it out"),
        ("reweight", observer.reweights(), "leave it out"),
        ("cut", cut, "leave it out"),
        ("bias", bias, "leave it out"),
    ] {
        if is_there {
            let what = format!("{name} is not for decays, whose events are made at once");
            return Err(Error::run(what, cure));
        }
    }
    Ok(())
}

/// The `<init>` of decays of a particle at rest.
fn decay_blocks(plan: &decays::Decays, numbers: Vec<i32>) -> Blocks {
    Blocks {
        beams: InitBeams {
            codes: [plan.pdg, 0],
            energies: [plan.mass, 0.0],
            densities: [0; 2],
        },
        powers: Vec::new(),
        matched: false,
        clustering: false,
        names: Vec::new(),
        numbers,
    }
}

/// The results of a run, for a terminal and for a browser.
struct Report<'a> {
    summary: Summary<'a>,
    spectra: Spectra,
    settings: RunSettings,
}

impl Report<'_> {
    /// Renders the page, with the table of the weights of other cards if there are any.
    fn page(&self, weights: Option<&str>) -> String {
        page::html(&self.summary, &self.spectra, &self.settings, weights)
    }
}

/// A temporary event file: events before their further weights, or events that are appended to others.
struct Hidden(PathBuf);

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
