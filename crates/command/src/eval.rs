//! `mebridge eval`: evaluates matrix elements at given momenta.
//!
//! Events are read, evaluated and written in chunks, so that memory use does not grow with the file.

mod answers;
mod chunk;
mod input;
mod legs;
mod lhe;
mod lines;
mod matrix_elements;
mod npy;
mod text;

use crate::engine_options::{self, EngineOptions};
use crate::output;
use crate::progress::Progress;
use crate::source;
use answers::{OutputHead, Writer};
use chunk::{CHUNK, Chunk, ElementOrigin};
use input::Input;
pub use legs::{ElementIndex, assign};
pub use lhe::warn_if_cut;
use matrix_elements::MatrixElements;
use mebridge::lhe::EventLocation;
use mebridge::locate::Located;
pub use mebridge::process::Leg;
use mebridge::process::Process;
use mebridge::process::card::Card;
use mebridge::process::model::CardParameter;
use mebridge::runtime::Switches;
use mebridge::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Error for a file that is valid but has no events.
pub(crate) const NO_EVENTS: &str = "there are no events in it";

/// Largest sum of an event's momenta relative to the energy. Event files have about ten digits.
const UNBALANCED: f64 = 1e-5;

/// Evaluate a process at given momenta: |M|^2 of each event of a file
///
/// EVENTS is text, a NumPy array or a Les Houches event file (LHE), gzipped or not; which of them
/// it is is seen from its contents. In text an event is one line with 4 numbers for each leg (E px py
/// pz, in the order of the process), or one line for each leg and an empty line after the last;
/// # begins a comment. A .npy file has the shape (events, legs, 4) or (events, 4*legs). The particles of
/// an LHE event are put into the order of the process by their PDG codes; of several matrix elements (a
/// whole output, a P* directory, 'p p > t t~') an event's is the one with its particles.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// Process file, P* directory of an MG5aMC output (#N after it for its N-th matrix element), or a whole output
    /// for LHE events of all its processes
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
        let located = source::locate_elements(&self.process, &switches)?;
        let known = located.iter().map(|one| ElementOrigin {
            process: &one.process,
            place: &one.origin,
        });
        let known: Vec<ElementOrigin> = known.collect();
        let mut input = Input::open(&self.events, &known, self.skip_others)?;
        // alpha_s for all events; `None` if each has its own.
        let alpha_s = match (self.alpha_s, input.has_alpha_s()) {
            (Some(alpha_s), _) => Some(alpha_s),
            (None, true) => None,
            (None, false) => located.first().map(card_alpha_s).transpose()?,
        };
        let events = input::name(&self.events);
        let head = OutputHead {
            processes: known.iter().map(|one| one.process.name.clone()).collect(),
            format: input.format(),
            alpha_s,
        };
        let _progress = self.output.is_some().then(|| Progress::new("events", 0));
        let mut elements = MatrixElements::new(&located, switches);
        let mut writer = None;
        let mut notes = Notes::default();
        let mut chunk = Chunk::default();
        let mut whole = || -> Result<bool> {
            while input.fill(&mut chunk, CHUNK)? > 0 {
                notes.note_momenta(&chunk, &elements);
                let values = elements.evaluate(events, &chunk, alpha_s)?;
                notes.note_values(&values, &chunk);
                // Only once there is something to write: input that cannot be read leaves no file.
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
                    what: NO_EVENTS.into(),
                });
            }
            // The reader has closed the pipe.
            (Ok(false), _) => return Ok(()),
            (Err(error), _) => return Err(error),
        }
        notes.warn(events);
        input.warn();
        Ok(())
    }

    fn writer(&self, head: &OutputHead) -> Result<Writer> {
        let Some(path) = &self.output else {
            return Writer::stdout(self.json, head);
        };
        Writer::file(path, self.json, head)
    }

    /// Returns the switches of the environment, overridden by those of the command line.
    fn switches(&self) -> Result<Switches> {
        engine_options::switches(&self.engine.pairs([
            ("PROCESS", Some(self.process.clone())),
            ("PARAMCARD", self.card.clone().map(PathBuf::into_os_string)),
        ]))
    }
}

/// Returns the momenta of the first events of a file that belong to a process, and their alpha_s if the file has it.
pub fn momenta(
    path: &Path,
    process: &Process,
    most: usize,
) -> Result<Vec<(Vec<f64>, Option<f64>)>> {
    let known = ElementOrigin { process, place: "" };
    let mut input = Input::open(path, &[known], true)?;
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

/// Returns alpha_s of the parameter card: entry 3 of block sminputs, from the card itself, or else from the process.
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

/// Unusual properties of the events that are not errors.
#[derive(Default)]
struct Notes {
    skipped: u64,
    unbalanced: u64,
    first: Option<EventLocation>,
    not_finite: u64,
    first_not_finite: Option<EventLocation>,
}

impl Notes {
    fn note_momenta(&mut self, chunk: &Chunk, elements: &MatrixElements) {
        self.skipped += chunk.rows.iter().filter(|&&evaluated| !evaluated).count() as u64;
        let mut rest = chunk.momenta.as_slice();
        for (&element, &place) in chunk.elements.iter().zip(&chunk.places) {
            let legs = elements.legs(element);
            let (event, others) = rest.split_at(4 * legs.len());
            rest = others;
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

    fn note_values(&mut self, values: &[f64], chunk: &Chunk) {
        for (value, &place) in values.iter().zip(&chunk.places) {
            if !value.is_finite() {
                self.not_finite += 1;
                self.first_not_finite.get_or_insert(place);
            }
        }
    }

    fn warn(&self, path: &Path) {
        let path = path.display();
        if let Some(first) = self.first_not_finite {
            output::warn(&format!(
                "{path}: |M|^2 of {} event(s) is no finite number, the first of them is {first}",
                self.not_finite
            ));
        }
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
