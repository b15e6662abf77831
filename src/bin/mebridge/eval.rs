//! `mebridge eval`: matrix elements at given momenta.
//!
//! Events are read, evaluated and written some thousands at a time, so that memory does not grow
//! with the file.

mod answers;
mod input;
mod legs;
mod lhe;
mod lines;
mod npy;
mod text;

use crate::engine_options::{self, EngineOptions};
use crate::info::DEFAULT_G;
use crate::output;
use crate::progress::Progress;
use crate::sample::{self, Numbers, Sample};
use crate::source::Source;
use answers::{Head, Writer};
pub use input::GZIP;
use input::{Chunk, Input};
pub use legs::{Particle, UNKNOWN_HELICITY, assign, codes};
pub use lhe::{begins, ends_without, first_line, flavours, particle};
pub use lines::broken;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::locate::{Located, locate};
use mebridge::plan::binding::Binding;
pub use mebridge::process::Leg;
use mebridge::process::Process;
use mebridge::process::card::Card;
use mebridge::process::model::CardParameter;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use std::f64::consts::PI;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Events that are read and evaluated at a time.
const CHUNK: usize = 16384;
/// Random events on which good helicities are found, and their energy in GeV (more where masses
/// ask for it).
const TRIED: usize = 16;
const ENERGY: f64 = 1500.0;
/// How far the sum of an event's momenta may be off, relative to the energy. Event files have ten
/// digits or so.
const UNBALANCED: f64 = 1e-5;

/// Evaluate a process at given momenta: |M|^2 of each event of a file
///
/// EVENTS is text, a NumPy array or a Les Houches event file (LHE), gzipped or not; which of them
/// it is is seen from its contents. In text an event is one line with 4 numbers for each leg (E px py
/// pz, in the order of the process), or one line for each leg and an empty line behind the last;
/// # begins a comment. A .npy file has the shape (events, legs, 4) or (events, 4*legs). The particles of
/// an LHE event are put into the order of the process by their PDG codes.
#[derive(clap::Args)]
pub struct Options {
    /// Process file, or P* directory of an MG5aMC output (#N behind it for its N-th matrix element)
    #[arg(value_name = "FILE|DIR")]
    process: OsString,
    /// File with events: text, .npy or LHE, gzipped or not (- for stdin)
    #[arg(value_name = "EVENTS")]
    events: PathBuf,
    /// Strong coupling alpha_s of all events [default: of LHE events their own, else that of the
    /// parameter card]
    #[arg(long, value_name = "X")]
    alpha_s: Option<f64>,
    /// Give nan for LHE events with other particles than the process has, instead of an error
    #[arg(long)]
    skip_others: bool,
    /// File to write: a NumPy array if its name ends in .npy, else text [default: text to stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write JSON instead of text
    #[arg(long)]
    json: bool,
    /// Parameter card [default: that of the output, or the values in the file]
    #[arg(long, value_name = "CARD")]
    card: Option<PathBuf>,
    #[command(flatten)]
    engine: EngineOptions,
}

impl Options {
    /// Evaluates.
    pub fn run(self) -> Result<()> {
        if let Some(alpha_s) = self.alpha_s
            && !(alpha_s.is_finite() && alpha_s > 0.0)
        {
            output::usage("--alpha-s must be a positive number");
        }
        let switches = self.switches()?;
        let located = locate(&switches)?;
        let process = &located.process;
        let (name, legs) = (process.name.clone(), process.legs.clone());
        let mut input = Input::open(&self.events, process, self.skip_others)?;
        // What holds for all events; nothing where each brings its own.
        let alpha_s = match (self.alpha_s, input.has_alpha_s()) {
            (Some(alpha_s), _) => Some(alpha_s),
            (None, true) => None,
            (None, false) => Some(card_alpha_s(&located)?),
        };
        let mut bridge = bridge(located, &switches)?;
        let events = input::name(&self.events);
        let head = Head {
            process: name,
            format: input.format(),
            alpha_s,
        };
        let _progress = self.output.is_some().then(|| Progress::new("events", 0));
        let mut writer = None;
        let mut notes = Notes::default();
        let mut chunk = Chunk::default();
        let mut whole = || -> Result<bool> {
            while input.fill(&mut chunk, CHUNK)? > 0 {
                notes.look(&chunk, &legs);
                let values = evaluate(&mut bridge, events, &chunk, alpha_s)?;
                // Not before there is something to write: what cannot be read leaves no file.
                let writer = match &mut writer {
                    Some(writer) => writer,
                    None => writer.insert(self.writer(&head)?),
                };
                if !writer.write(&chunk.rows, &values)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match (whole(), writer) {
            (Ok(true), Some(writer)) => writer.finish()?,
            (Ok(true), None) => {
                return Err(Error::EventsFile {
                    path: events.into(),
                    what: "there are no events in it".into(),
                });
            }
            // Whoever reads has seen enough.
            (Ok(false), _) => return Ok(()),
            (Err(error), _) => return Err(error),
        }
        notes.warn(events);
        input.warn();
        Ok(())
    }

    fn writer(&self, head: &Head) -> Result<Writer> {
        let Some(path) = &self.output else {
            return Writer::stdout(self.json, head);
        };
        Writer::file(path, self.json, head)
    }

    /// The switches of the environment, with those of the command line over them.
    fn switches(&self) -> Result<Switches> {
        engine_options::switches(&self.engine.pairs([
            ("PROCESS", Some(self.process.clone())),
            ("PARAMCARD", self.card.clone().map(PathBuf::into_os_string)),
        ]))
    }
}

/// Momenta of the first events of a file that are of a process, and their alpha_s where the file has it.
pub fn momenta(
    path: &Path,
    process: &Process,
    most: usize,
) -> Result<Vec<(Vec<f64>, Option<f64>)>> {
    let mut input = Input::open(path, process, true)?;
    let numbers = 4 * process.legs.len();
    let mut found = Vec::new();
    let mut chunk = Chunk::default();
    while found.len() < most && input.fill(&mut chunk, CHUNK.min(most))? > 0 {
        for (i, momenta) in chunk.momenta.chunks_exact(numbers).enumerate() {
            found.push((momenta.to_vec(), chunk.alpha_s.get(i).copied()));
        }
    }
    found.truncate(most);
    Ok(found)
}

/// alpha_s of the parameter card: entry 3 of block sminputs, of the card itself, or else as the
/// process has it.
fn card_alpha_s(located: &Located) -> Result<f64> {
    let parameter = CardParameter {
        name: "aS".into(),
        block: "sminputs".into(),
        index: vec![3],
        default: 0.0,
    };
    let listed = located.process.model.card.iter().zip(&located.card);
    let mut listed = listed.filter(|(p, _)| p.block == parameter.block && p.index == [3]);
    let found = match (listed.next(), &located.card_path) {
        (Some((_, &value)), _) => Some(value),
        (None, Some(path)) => Card::read(path)?.value(&parameter).ok(),
        (None, None) => None,
    };
    match found {
        Some(value) if value.is_finite() && value > 0.0 => Ok(value),
        found => {
            let why = match (found, &located.card_path) {
                (Some(value), _) => format!("the parameter card has alpha_s = {value}"),
                (None, Some(path)) => format!("{} has no alpha_s", path.display()),
                (None, None) => format!("{} has no alpha_s", located.origin),
            };
            Err(Error::NoAlphaS { why })
        }
    }
}

/// A Bridge that knows its good helicities. They are found on random events: those of the file may
/// all be special ones, at which a helicity vanishes that does not elsewhere.
fn bridge(located: Located, switches: &Switches) -> Result<Bridge> {
    let source = Source {
        process: located.process,
        card: located.card,
        number: 1,
    };
    let energy = energy(&source.process, &source.card)?;
    let space = sample::phase_space(&source, energy);
    let mut bridge = Bridge::new(source.process, &source.card, switches, CHUNK)?;
    // Without a phase space (a decay that is forbidden on shell) the events of the file serve.
    if let Ok(space) = space {
        let numbers = Numbers::Seed(0);
        let mut sample = Sample::new(space, numbers, TRIED, DEFAULT_G, None)?;
        sample.draw(0);
        sample.make_momenta();
        bridge.prepare(&sample.call().0)?;
    }
    Ok(bridge)
}

/// An energy at which the process can be.
fn energy(process: &Process, card: &[f64]) -> Result<f64> {
    let binding = Binding::new(&process.model, card)?;
    let mass = |leg: &Leg| binding.value(leg.mass);
    let (incoming, outgoing): (Vec<&Leg>, Vec<&Leg>) =
        process.legs.iter().partition(|leg| leg.incoming);
    let sum = |legs: &[&Leg]| legs.iter().map(|leg| mass(leg)).sum::<f64>();
    let threshold = sum(&incoming).max(sum(&outgoing));
    Ok(match (incoming.len(), outgoing.len()) {
        (1, _) => sum(&incoming),
        (_, 1) => sum(&outgoing),
        _ => ENERGY.max(2.0 * threshold),
    })
}

/// Evaluates the events of a chunk; errors say where in the file an event is.
fn evaluate(
    bridge: &mut Bridge,
    path: &Path,
    chunk: &Chunk,
    alpha_s: Option<f64>,
) -> Result<Vec<f64>> {
    let nevt = chunk.places.len();
    // What the Les Houches accord has for an alpha_s that is not known is -1.
    let unknown = chunk.alpha_s.iter().position(|&a| a <= 0.0);
    if let (None, Some(event)) = (alpha_s, unknown) {
        return Err(Error::NoAlphaS {
            why: format!(
                "{}: {} has alpha_s (AQCDUP) {}",
                path.display(),
                chunk.places[event],
                chunk.alpha_s[event]
            ),
        });
    }
    let g_s = |alpha_s: f64| (4.0 * PI * alpha_s).sqrt();
    let g_s: Vec<f64> = match alpha_s {
        Some(alpha_s) => vec![g_s(alpha_s); nevt],
        None => chunk.alpha_s.iter().map(|&a| g_s(a)).collect(),
    };
    // No helicity or colour flow is asked for.
    let random = vec![0.5; nevt];
    let mut values = vec![0.0; nevt];
    let (mut helicity, mut color) = (vec![0; nevt], vec![0; nevt]);
    let events = Events {
        momenta: &chunk.momenta,
        g_s: &g_s,
        random_helicity: &random,
        random_color: &random,
        channels: None,
        igraph: None,
    };
    let mut answers = Answers {
        matrix_elements: &mut values,
        helicity: &mut helicity,
        color: &mut color,
    };
    match bridge.run(&events, &mut answers) {
        Ok(()) => Ok(values),
        Err(error @ Error::BadMomentum { event, .. }) => {
            // It counts within the call; a reader wants the place in the file.
            let text = error.to_string();
            let what = text
                .split_once("(from 0): ")
                .map_or(&*text, |(_, what)| what);
            let place = chunk.places.get(event).copied().unwrap_or_default();
            Err(Error::EventsFile {
                path: path.to_path_buf(),
                what: format!("{place}: {what}"),
            })
        }
        Err(error) => Err(error),
    }
}

/// What is odd about the events, and no error.
#[derive(Default)]
struct Notes {
    skipped: u64,
    unbalanced: u64,
    first: Option<input::Place>,
}

impl Notes {
    fn look(&mut self, chunk: &Chunk, legs: &[Leg]) {
        self.skipped += chunk.rows.iter().filter(|&&evaluated| !evaluated).count() as u64;
        let events = chunk.momenta.chunks_exact(4 * legs.len());
        for (event, &place) in events.zip(&chunk.places) {
            let (mut sum, mut energy) = ([0.0; 4], 0.0);
            for (p, leg) in event.chunks_exact(4).zip(legs) {
                let sign = if leg.incoming { 1.0 } else { -1.0 };
                energy += p[0].abs();
                for (sum, p) in sum.iter_mut().zip(p) {
                    *sum += sign * p;
                }
            }
            if sum.iter().any(|x| x.abs() > UNBALANCED * energy) {
                self.unbalanced += 1;
                self.first.get_or_insert(place);
            }
        }
    }

    fn warn(&self, path: &Path) {
        let path = path.display();
        if let Some(first) = self.first {
            output::warn(&format!(
                "{path}: energy and momentum are not conserved in {} event(s), the first of them is \
                 {first}; |M|^2 means little there",
                self.unbalanced
            ));
        }
        if self.skipped > 0 {
            output::warn(&format!(
                "{path}: {} event(s) have other particles than the process; they are nan",
                self.skipped
            ));
        }
    }
}
