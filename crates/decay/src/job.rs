//! The whole job: from an event file to the decayed event file.

use crate::banner::Banner;
use crate::element::Theory;
use crate::fractions::Fractions;
use crate::head::{self, Ratios, number};
use crate::production::Production;
use crate::request::DecayRequest;
use crate::trials::{DecaySettings, Decayer};
use crate::{Maxima, SpinMode, text};
use mebridge::model::Model;
use mebridge::models;
use mebridge::process::card::Card;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use mebridge_lhe::{Event, Head, Reader};
use mebridge_run::event_file::{LEVEL, push_member};
use mebridge_run::param_card;
use mebridge_sampler::parallel;
use mebridge_support::files::replace::Replacement;
use mebridge_support::message::say;
use mebridge_support::sorted::{SortedMap, SortedSet};
use mebridge_support::{signals, threads};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Instant;

/// Number of events that are decayed together, and the largest size of their text in bytes.
const CHUNK: usize = 1 << 13;
const MAX_CHUNK_BYTES: usize = 1 << 28;
/// Number of events whose text one thread writes at a time.
const EVENTS_PER_PART: usize = 1024;
/// Largest distance of a mass from the pole, in widths, if neither the user nor the run card sets it; the default of
/// MG5aMC.
const WIDTHS: f64 = 15.0;
/// Largest `--bw-cut`: beyond this the narrow-width approximation fails.
const MAX_WIDTHS: f64 = 100.0;

/// Settings of a decay job.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name of the event file in messages.
    pub events: PathBuf,
    /// The decays: `t > w+ b, w+ > l+ vl`.
    pub decays: Vec<String>,
    /// The file to write, compressed if its name ends in `.gz`.
    pub output: PathBuf,
    /// Which effects of spins and masses the decays include.
    pub mode: SpinMode,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Largest distance of a mass from the pole, in widths; by default that of the run card.
    pub widths: Option<f64>,
    /// The model; by default that of the header.
    pub model: Option<PathBuf>,
    /// The parameter card; by default that of the header.
    pub param_card: Option<PathBuf>,
    /// Labels: `l = e+ e-`.
    pub labels: Vec<String>,
    /// Number of threads.
    pub threads: usize,
    /// How matrix elements are evaluated.
    pub switches: Switches,
}

/// Summary of a decay job.
#[derive(Clone, Debug, Default)]
pub struct DecaySummary {
    /// Number of events in the file, and of those in which a particle decayed.
    pub events: u64,
    /// See [`DecaySummary::events`].
    pub decayed: u64,
    /// Cross section and error in pb before and after; `None` if `<init>` has none.
    pub cross_sections: Option<[(f64, f64); 2]>,
    /// The average branching fraction.
    pub fraction: f64,
    /// Branching fractions of the requested decays, by line and particle.
    pub fractions: Vec<(String, f64)>,
    /// The largest relative error of a partial width.
    pub fraction_error: f64,
    /// Number of trials with matrix elements of production and decays together.
    pub trials: u64,
    /// Number of events decayed by such trials.
    pub correlated: u64,
    /// Statistics of the accepted weights of these trials.
    pub maxima: Maxima,
    /// Statistics of the accepted weights of decays generated alone.
    pub decay_maxima: Maxima,
    /// Number of events whose decays neglect the spins of production, by reason.
    pub averaged: Vec<(String, u64)>,
    /// Seconds until the first events were decayed, in total, and in the decays alone.
    pub seconds: [f64; 3],
}

/// Messages from the reading thread.
enum Message {
    Head(Box<Head>),
    Events(Vec<Event>),
    End { rest: Vec<u8>, closed: bool },
}

/// Decays the particles of an event file.
///
/// Args: `open` opens the file for reading; `tell` receives the number of events just finished.
///
/// # Errors
/// The file cannot be read or written, or is cut off; a request is not a decay, is kinematically closed, or its
/// particle is in no event; a particle has no width. No output file is left then.
pub fn decay(
    spec: &Spec,
    open: impl FnOnce() -> Result<Box<dyn Read>> + Send,
    mut tell: impl FnMut(u64),
) -> Result<DecaySummary> {
    let (to, from) = sync_channel(1);
    std::thread::scope(|scope| {
        let read = move || {
            if let Err(error) = read(spec, open, &to) {
                // If the receiver is gone, it has an error of its own.
                let _ = to.send(Err(error));
            }
        };
        let reader = signals::with_blocked_signals(|| Builder::new().spawn_scoped(scope, read));
        reader.map_err(Error::io(&spec.events))?;
        // `from` is dropped when this returns, which ends a reader that still sends.
        job(spec, from, &mut tell)
    })
}

/// Reads the file and sends its parts.
fn read(
    spec: &Spec,
    open: impl FnOnce() -> Result<Box<dyn Read>>,
    to: &SyncSender<Result<Message>>,
) -> Result<()> {
    let mut reader = Reader::new(open()?, &spec.events, true)?;
    let send = |message| to.send(Ok(message)).is_ok();
    if !send(Message::Head(Box::new(reader.head().clone()))) {
        return Ok(());
    }
    loop {
        let mut events: Vec<Event> = Vec::new();
        let mut bytes = 0;
        while events.len() < CHUNK && bytes < MAX_CHUNK_BYTES {
            let mut event = Event::default();
            let more = reader.next(&mut event)?;
            if let Some(line) = reader.second() {
                let what = format!(
                    "line {line}: a second file begins, with a header of its own; decay them one by one"
                );
                return Err(reader.error(what));
            }
            if !more {
                break;
            }
            bytes += event.text.len() + event.before.len();
            events.push(event);
        }
        let is_last = events.is_empty();
        if is_last {
            let rest = reader.rest().to_vec();
            send(Message::End {
                rest,
                closed: reader.closed(),
            });
        }
        if is_last || !send(Message::Events(events)) {
            return Ok(());
        }
    }
}

fn receive(from: &Receiver<Result<Message>>, spec: &Spec) -> Result<Message> {
    from.recv().unwrap_or_else(|_| {
        let what = "the reading thread has ended".to_owned();
        Err(Error::EventsFile {
            path: spec.events.clone(),
            what,
        })
    })
}

fn job(
    spec: &Spec,
    from: Receiver<Result<Message>>,
    tell: &mut dyn FnMut(u64),
) -> Result<DecaySummary> {
    let start = Instant::now();
    let _kept = threads::keep(spec.threads.saturating_sub(1));
    let Message::Head(head) = receive(&from, spec)? else {
        return Err(Error::NoEvents);
    };
    let banner = Banner::read(&head, &spec.events);
    let (theory, card) = theory(spec, &banner)?;
    let widths = spec.widths.or(banner.widths()).unwrap_or(WIDTHS);
    if !(widths > 0.0 && widths <= MAX_WIDTHS) {
        let what = format!("{widths} widths are too many for the narrow-width approximation");
        return Err(Error::run(
            what,
            "give --bw-cut a number up to 100, such as 15",
        ));
    }
    let fractions = Fractions::from_card(&card, &theory.model);
    let request = DecayRequest::read(&spec.decays, fractions, widths, &theory, spec.threads)?;
    let production = match spec.mode {
        SpinMode::None => Production::default(),
        _ => Production::read(&banner, &theory)?,
    };
    let unused = production.unused.clone();
    if let Some(why) = &unused {
        say(format!(
            "decay: {why}; matrix elements of production are generated from the particles of each event, at tree level and \
             lowest order"
        ));
    }
    let conditions = DecaySettings {
        mode: spec.mode,
        seed: spec.seed,
        threads: spec.threads,
        widths,
    };
    let mut decayer = Decayer::new(&theory, request, production, conditions, &spec.events);
    let mut output = Output::begin(spec)?;
    let mut made = Made::default();
    let block =
        |made: &Made, decayer: &Decayer| done(spec, widths, unused.as_deref(), made, decayer);
    let begin = head::text(&head, &block(&made, &decayer), &made.ratios);
    output.begin_with(&begin)?;
    loop {
        match receive(&from, spec)? {
            Message::Events(events) => {
                made.chunk(&events, &mut decayer, &mut output, spec)?;
                tell(events.len() as u64);
                made.summary.seconds[0] = match made.summary.seconds[0] {
                    0.0 => start.elapsed().as_secs_f64(),
                    known => known,
                };
            }
            Message::End { rest, closed } => {
                if !closed {
                    say(format!(
                        "{}: there is no </LesHouchesEvents>; events may have been lost",
                        spec.events.display()
                    ));
                }
                output.write(rest)?;
                break;
            }
            Message::Head(_) => {}
        }
    }
    made.check(spec, &decayer)?;
    made.finish(&head, &decayer);
    output.end_with(
        &head::text(&head, &block(&made, &decayer), &made.ratios),
        begin.len(),
    )?;
    made.summary.seconds[1] = start.elapsed().as_secs_f64();
    Ok(made.summary)
}

/// Model and parameter card with the settings, and the text of the card.
fn theory(spec: &Spec, banner: &Banner) -> Result<(Theory, String)> {
    let model = model(spec, banner)?;
    let (card, path) = match (&spec.param_card, &banner.card) {
        (Some(path), _) => {
            let bytes = mebridge_support::files::regular::read_or_pipe(path, 1 << 26)
                .map_err(Error::io(path))?;
            (String::from_utf8_lossy(&bytes).into_owned(), path.clone())
        }
        (None, Some(card)) => (card.clone(), spec.events.clone()),
        (None, None) => {
            say(format!(
                "decay: {} has no parameter card (<slha>); the default card of the model {} is used (--param-card sets another one)",
                spec.events.display(),
                model.name
            ));
            (
                param_card::text(&model.card, &SortedMap::new()),
                spec.events.clone(),
            )
        }
    };
    let mut labels = banner.labels();
    for label in &spec.labels {
        labels.push_str(&format!("define {label}\n"));
    }
    let theory = Theory {
        card: Card::parse(&card, &path),
        model,
        switches: Switches {
            threads: spec.threads,
            ..spec.switches.clone()
        },
        labels,
    };
    Ok((theory, card))
}

fn model(spec: &Spec, banner: &Banner) -> Result<Model> {
    let own = banner.model();
    if let Some(name) = &spec.model {
        return models::model(Some(name));
    }
    let Some((name, scheme)) = own else {
        return models::model(None);
    };
    // `loop_sm` differs from `sm` only in its loops.
    let name = match name.as_str() {
        "loop_sm" => "sm",
        other => other,
    };
    let named = models::named(Some(Path::new(name)), scheme);
    models::model(named.as_deref()).map_err(|error| {
        let what = format!("the header names the model {name}: {error}");
        let cure = "give it with --model: a UFO folder, followed by -X for its restriction, or a file of `mebridge model`";
        Error::run_at(spec.events.display().to_string(), what, cure)
    })
}

/// The results so far.
#[derive(Default)]
struct Made {
    summary: DecaySummary,
    ratios: Ratios,
}

impl Made {
    fn chunk(
        &mut self,
        events: &[Event],
        decayer: &mut Decayer,
        output: &mut Output,
        spec: &Spec,
    ) -> Result<()> {
        let start = Instant::now();
        let outcomes = decayer.decay(events, self.summary.events)?;
        self.summary.seconds[2] += start.elapsed().as_secs_f64();
        for (event, outcome) in events.iter().zip(&outcomes) {
            let class = &decayer.classes[outcome.class];
            self.ratios.all.add(event.weight, class.fraction);
            let own = self.ratios.processes.entry(event.process).or_default();
            own.add(event.weight, class.fraction);
            self.summary.events += 1;
            self.summary.decayed += u64::from(!class.roots.is_empty());
        }
        let (classes, request) = (&decayer.classes, &decayer.request);
        let packs = output.packs;
        let parts = parallel::collect(
            spec.threads,
            events.len().div_ceil(EVENTS_PER_PART),
            |part| {
                let range = part * EVENTS_PER_PART..events.len().min((part + 1) * EVENTS_PER_PART);
                let mut bytes =
                    Vec::with_capacity(2 * events[range.start].text.len() * range.len());
                for (event, outcome) in events[range.clone()].iter().zip(&outcomes[range]) {
                    bytes.extend_from_slice(&event.before);
                    text::push(&mut bytes, event, outcome, &classes[outcome.class], request)
                        .map_err(|what| Error::EventsFile {
                            path: spec.events.clone(),
                            what: format!("{}: {what}", event.place),
                        })?;
                }
                Ok::<_, Error>(packed(bytes, packs))
            },
        )?;
        parts
            .into_iter()
            .try_for_each(|part| output.write_part(&part))
    }

    /// Checks that there were events and that each requested decay occurred.
    fn check(&self, spec: &Spec, decayer: &Decayer) -> Result<()> {
        let place = spec.events.display().to_string();
        if self.summary.events == 0 {
            let path = spec.events.clone();
            let what = "there are no events in it".to_owned();
            return Err(Error::EventsFile { path, what });
        }
        let roots = decayer.classes.iter().flat_map(|class| &class.roots);
        let decayed: SortedSet<i32> = roots.map(|root| root.pdg).collect();
        for (line, flavours) in spec.decays.iter().zip(&decayer.request.lines) {
            let mothers = flavours
                .iter()
                .map(|&flavour| decayer.request.flavours[flavour].legs[0]);
            let mothers: SortedSet<i32> = mothers.collect();
            if mothers.is_disjoint(&decayed) {
                let mothers: Vec<String> = mothers.iter().map(i32::to_string).collect();
                let what = format!(
                    "`{line}` is a decay of PDG {}, which no event has as an outgoing particle (ISTUP 1)",
                    mothers.join(" or ")
                );
                return Err(Error::run_at(
                    place,
                    what,
                    "leave it out, or append it to the decay that produces the particle",
                ));
            }
        }
        Ok(())
    }

    fn finish(&mut self, head: &Head, decayer: &Decayer) {
        let summary = &mut self.summary;
        summary.fraction = self.ratios.all.mean();
        summary.fraction_error = decayer.request.fractions.error;
        if let Some(init) = head.init() {
            let sum = |fraction: &dyn Fn(i32) -> f64| {
                let each = init.processes.iter().map(|(process, [section, error, _])| {
                    let fraction = fraction(*process);
                    (section * fraction, error * fraction)
                });
                each.fold((0.0, 0.0), |(section, error), (s, e)| {
                    (section + s, f64::hypot(error, e))
                })
            };
            let of = |process: i32| {
                self.ratios
                    .processes
                    .get(&process)
                    .copied()
                    .unwrap_or_default()
                    .mean()
            };
            summary.cross_sections = Some([sum(&|_| 1.0), sum(&of)]);
        }
        let request = &decayer.request;
        for (line, flavours) in decayer.request.lines.iter().enumerate() {
            let mothers: SortedSet<i32> = flavours
                .iter()
                .map(|&flavour| request.flavours[flavour].legs[0])
                .collect();
            for mother in mothers {
                let own = flavours
                    .iter()
                    .filter(|&&flavour| request.flavours[flavour].legs[0] == mother);
                let sum = own.map(|&flavour| request.flavours[flavour].fraction).sum();
                let particle = decayer
                    .theory
                    .model
                    .particles
                    .iter()
                    .find(|particle| particle.pdg == mother);
                let name =
                    particle.map_or_else(|| mother.to_string(), |particle| particle.name.clone());
                summary
                    .fractions
                    .push((format!("{} ({name})", line + 1), sum));
            }
        }
        for pair in &decayer.pairs {
            summary.trials += pair.trials;
            summary.correlated += pair.maxima.taken;
            summary.maxima.add(&pair.maxima);
        }
        decayer
            .sources
            .iter()
            .for_each(|source| summary.decay_maxima.add(&source.maxima));
        summary.averaged = decayer
            .averaged
            .iter()
            .map(|(why, count)| (why.clone(), *count))
            .collect();
        for (why, count) in &summary.averaged {
            say(format!(
                "decay: {count} events have decays without the spins of their production: {why}"
            ));
        }
    }
}

/// The block of the header that records the decays.
fn done(spec: &Spec, widths: f64, unused: Option<&str>, made: &Made, decayer: &Decayer) -> String {
    let mut lines = vec![
        "<madspin>".to_owned(),
        "<![CDATA[".to_owned(),
        format!("# decays by mebridge {}", env!("CARGO_PKG_VERSION")),
        format!("set spinmode {}", spec.mode.name()),
        format!("set seed {}", spec.seed),
        format!("set BW_cut {widths}"),
    ];
    lines.extend(spec.labels.iter().map(|label| format!("define {label}")));
    let decay = |line: &String| format!("decay {}", line.trim().trim_start_matches("decay "));
    lines.extend(spec.decays.iter().map(decay));
    lines.push("launch".to_owned());
    let widths = decayer.request.fractions.partial_widths();
    lines.extend(
        widths.map(|(name, width)| format!("# partial width of {name}: {} GeV", number(width))),
    );
    if let Some(why) = unused {
        let why = why.lines().next().unwrap_or_default();
        lines.push(format!(
            "# production by the particles of each event at tree level: {why}"
        ));
    }
    let summary = &made.summary;
    let averaged: u64 = summary.averaged.iter().map(|(_, count)| count).sum();
    for (what, value) in [
        ("branching fraction", summary.fraction),
        ("events with decays", summary.decayed as f64),
        (
            "events with decays without the spins of their production",
            averaged as f64,
        ),
        (
            "events with a weight above the largest known one",
            summary.maxima.above as f64,
        ),
        (
            "the largest such weight, in units of that one",
            summary.maxima.largest,
        ),
    ] {
        lines.push(format!("# {what}: {}", number(value)));
    }
    lines.extend(["]]>", "</madspin>", ""].map(str::to_owned));
    lines.join("\n")
}

/// The output file.
struct Output {
    file: Replacement,
    /// Output to a pipe, which is held back until the header is known.
    waiting: Option<Vec<u8>>,
    packs: bool,
    path: PathBuf,
}

impl Output {
    fn begin(spec: &Spec) -> Result<Output> {
        let file = Replacement::begin(&spec.output, false).map_err(Error::io(&spec.output))?;
        let suffix = spec.output.extension();
        Ok(Output {
            waiting: file.path().is_none().then(Vec::new),
            file,
            packs: suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("gz")),
            path: spec.output.clone(),
        })
    }

    fn write(&mut self, bytes: Vec<u8>) -> Result<()> {
        let bytes = packed(bytes, self.packs);
        self.write_part(&bytes)
    }

    fn write_part(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.waiting {
            Some(waiting) => {
                waiting.extend_from_slice(bytes);
                Ok(())
            }
            None => self.file.write_all(bytes).map_err(Error::io(&self.path)),
        }
    }

    /// The header as written to the file; its length does not depend on its numbers.
    fn header(&self, text: &[u8]) -> Vec<u8> {
        match self.packs {
            true => member(text, 0),
            false => text.to_vec(),
        }
    }

    /// Writes the preliminary header.
    fn begin_with(&mut self, text: &[u8]) -> Result<()> {
        match self.waiting {
            Some(_) => Ok(()),
            None => self.write_part(&self.header(text)),
        }
    }

    /// Writes the final header, which must have the length `before`, and completes the file.
    fn end_with(mut self, text: &[u8], before: usize) -> Result<()> {
        let header = self.header(text);
        let path = self.path.clone();
        match self.waiting.take() {
            Some(waiting) => {
                self.file.write_all(&header).map_err(Error::io(&path))?;
                self.file.write_all(&waiting).map_err(Error::io(&path))?;
            }
            None => {
                if text.len() != before {
                    let what = "the length of the header has changed since the events were written";
                    return Err(Error::run_at(
                        path.display().to_string(),
                        what,
                        "tell the authors",
                    ));
                }
                self.file
                    .seek(SeekFrom::Start(0))
                    .map_err(Error::io(&path))?;
                self.file.write_all(&header).map_err(Error::io(&path))?;
            }
        }
        self.file.finish().map_err(Error::io(path))
    }
}

/// The bytes, compressed if the file is.
fn packed(bytes: Vec<u8>, packs: bool) -> Vec<u8> {
    match packs {
        true => member(&bytes, LEVEL),
        false => bytes,
    }
}

/// One member of a gzip file.
fn member(text: &[u8], level: u32) -> Vec<u8> {
    let mut packed = Vec::with_capacity(text.len() / 2);
    push_member(text, level, &mut packed);
    packed
}
