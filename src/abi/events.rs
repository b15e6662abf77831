//! The event generator for C and Python: matrix elements that libraries of `mebridge umami` carry, one description of the
//! run, surveys and rounds.
//!
//! What is asked and what is answered are JSON: a run has nested parts of any number, which a struct of C would bind to one
//! version. Events go to files.

use super::c::{MEBRIDGE_ERROR, MEBRIDGE_OK, keep_error};
use super::no_panic;
use super::pointers::{input, null, output, string};
use super::umami::attached::carried;
use crate::error::{Error, Result};
use crate::event_generator::{BeamRequest, EventGenerator, Request};
use crate::process::Process;
use mebridge_sampler::events::Event;
use mebridge_sampler::flow::{Flow, Shape};
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds;
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::survey::{Nothing, Settings, Survey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open event generator. Opaque: only pass it on.
pub struct MebridgeEvents {
    _private: [u8; 0],
}

/// Takes an answer, JSON that ends in NUL and is there as long as the call.
pub type Take = Option<unsafe extern "C" fn(context: *mut c_void, answer: *const c_char)>;

/// Says which of `events` events of a matrix element, counted from 0, pass a cut of the caller: writes false where one does
/// not. `momenta[events][legs][4]` are (E, px, py, pz) in GeV in the frame of the detector, the leg along +z first. It is
/// called by several threads at once where the run has several, and gives 0 where all is well.
pub type Cut = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        element: u32,
        events: usize,
        legs: usize,
        momenta: *const f64,
        passes: *mut bool,
    ) -> i32,
>;

/// What is opened.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Opened {
    /// Of each matrix element the library of `mebridge umami` that carries it, and its number there from 0.
    matrix_elements: Vec<(PathBuf, usize)>,
    run: Request,
}

/// What is asked of an open one.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Call {
    /// Surveys, and writes what is found into a file.
    Survey { settings: Wanted, file: PathBuf },
    /// Takes a survey from its file.
    Load { file: PathBuf },
    /// Takes those networks that are better than grids alone, and writes what is found into a file.
    Networks {
        settings: Wanted,
        /// Of each channel the place of its network among the shapes, or none.
        networks: Vec<Option<usize>>,
        shapes: Vec<Shape>,
        /// A file of the parameters of all networks, one after the other: floats, little endian.
        parameters: PathBuf,
        file: PathBuf,
    },
    /// Makes events: records are appended to a file, scales to another one, and what matching found to a third one.
    Round {
        settings: Wanted,
        #[serde(default)]
        number: u16,
        file: PathBuf,
        #[serde(default)]
        scales: Option<PathBuf>,
        #[serde(default)]
        matched: Option<PathBuf>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    events: u64,
    overweight: f64,
    seed: u64,
    #[serde(default)]
    precision: Option<f64>,
}

impl From<Wanted> for Settings {
    fn from(of: Wanted) -> Settings {
        Settings {
            seed: of.seed,
            events: of.events,
            overweight: of.overweight,
            precision: of.precision,
        }
    }
}

/// What a channel has.
#[derive(Serialize)]
struct SourceAnswer {
    /// The numbers of its matrix elements.
    elements: Vec<usize>,
    /// Points that count, their mean and its error in pb, and how many passed the cuts.
    sums: (u64, f64, f64, u64),
    /// Points that were drawn, those among them that do not count.
    drawn: u64,
    /// Events of a round.
    events: u64,
    /// Points for each event of a round that count.
    share: f64,
    /// Random numbers of a point, besides the one for its partons.
    dimensions: usize,
    /// Whether a network is before its grid.
    network: bool,
}

#[derive(Serialize)]
struct Answer {
    /// Those of the channels that stay.
    sources: Vec<SourceAnswer>,
    /// For how many particles records have room.
    particles: usize,
    /// All points that were drawn.
    points: u64,
    /// Points whose weight is no number.
    unusable: u64,
    /// Of a round, by matrix element: events, and the sums of their weights and of the squares.
    elements: BTreeMap<u32, [f64; 3]>,
    /// There are no events: no point passes the cuts, or all that do have the weight zero.
    nothing: Option<&'static str>,
    /// Of a survey, why threads weigh points although GPUs were asked for: what these do not know.
    by_threads: Option<String>,
}

/// An open one.
struct Open {
    generator: EventGenerator,
    /// Which run it is, whatever its threads and the names of its files are.
    run: [u8; 32],
    /// Why threads weigh points although GPUs were asked for.
    by_threads: Option<String>,
}

/// What is open, by number from 1.
static OPEN: Mutex<BTreeMap<u64, Arc<Mutex<Open>>>> = Mutex::new(BTreeMap::new());

/// Opens the events of a run and puts a handle into `events`.
///
/// `request` is JSON (docs/engine.md has its fields). `cut` is NULL, or a further cut, which is called with `context`.
///
/// # Safety
/// `request` ends in NUL; `events` points at a pointer; `cut` may be called as long as the handle is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_open(
    request: *const c_char,
    cut: Cut,
    context: *mut c_void,
    events: *mut *mut MebridgeEvents,
) -> i32 {
    const NAME: &str = "mebridge_events_open";
    done(|| {
        if events.is_null() {
            return Err(null(NAME, "events").into());
        }
        // SAFETY: the caller's promise.
        let opened: Opened = parsed(NAME, unsafe { text(NAME, "request", request) }?)?;
        let processes = processes(NAME, &opened.matrix_elements)?;
        let run = digest(&processes, &opened.run)?;
        let mut run_request = opened.run;
        let mut by_threads = None;
        if cut.is_some() && run_request.backend.as_deref().is_some_and(|on| on != "cpu") {
            run_request.backend = Some("cpu".to_owned());
            by_threads = Some("a cut that is a function".to_owned());
        }
        let mut generator = EventGenerator::new(processes, &run_request)?;
        if cut.is_some() {
            let context = Context(context);
            generator.select(Arc::new(CallersCut { cut, context }));
        }
        let by_threads = by_threads.or_else(|| generator.by_threads().map(str::to_owned));
        let made = Open {
            generator,
            run,
            by_threads,
        };
        let made = Arc::new(Mutex::new(made));
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = open.keys().next_back().map_or(1, |last| last + 1);
        open.insert(number, made);
        // SAFETY: the caller's promise; NULL was refused.
        unsafe { events.write(number as usize as *mut MebridgeEvents) };
        Ok(())
    })
}

/// Closes a handle. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_events_close(events: *mut MebridgeEvents) {
    // Threads of it have ended with the last call.
    let _ = no_panic(|| {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        drop(open.remove(&(events as usize as u64)));
        Ok(())
    });
}

/// Weighs points of channel `source`, counted from 0, by the grid that it has since the survey: puts the cross section, in pb,
/// that each of them stands for into `weights[count]`. They are those of the points `first`, a multiple of 8, and so on, with
/// `numbers[count][dimensions + 1]` in (0, 1) for random numbers; the survey says how many dimensions a channel has.
///
/// # Safety
/// The arrays have as many numbers as that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_weigh(
    events: *mut MebridgeEvents,
    source: u32,
    first: u64,
    count: usize,
    dimensions: usize,
    numbers: *const f64,
    weights: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_events_weigh";
    done(|| {
        let each = dimensions.checked_add(1);
        let of = each.and_then(|each| each.checked_mul(count));
        let of = of.ok_or_else(|| wrong(NAME, "there are too many numbers".into()))?;
        // SAFETY: the caller's promise.
        let numbers = unsafe { input(NAME, "numbers", numbers, of) }?;
        // SAFETY: the caller's promise.
        let weights = unsafe { output(NAME, "weights", weights, count) }?;
        let open = opened(NAME, events)?;
        let mut open = locked(NAME, &open)?;
        let found = open.generator.weigh(source as usize, first, numbers)?;
        if found.len() != count {
            let what =
                format!("channel {source} has another number of dimensions than {dimensions}");
            return Err(wrong(NAME, what).into());
        }
        weights.copy_from_slice(&found);
        Ok(())
    })
}

/// Does what `call`, JSON, asks for (docs/engine.md), and gives `take` the answer; a handle serves one call at a time.
///
/// # Safety
/// `call` ends in NUL; `take` is NULL or may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_call(
    events: *mut MebridgeEvents,
    call: *const c_char,
    take: Take,
    context: *mut c_void,
) -> i32 {
    const NAME: &str = "mebridge_events_call";
    done(|| {
        // SAFETY: the caller's promise.
        let call: Call = parsed(NAME, unsafe { text(NAME, "call", call) }?)?;
        let open = opened(NAME, events)?;
        let mut open = locked(NAME, &open)?;
        let answer = serde_json::to_string(&answer(&mut open, call)?)?;
        let answer = CString::new(answer).expect("JSON has no NUL");
        if let Some(take) = take {
            // SAFETY: the caller's promise.
            unsafe { take(context, answer.as_ptr()) };
        }
        Ok(())
    })
}

fn opened(function: &'static str, events: *mut MebridgeEvents) -> Result<Arc<Mutex<Open>>> {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get(&(events as usize as u64)).cloned();
    open.ok_or_else(|| wrong(function, "events is no open handle".into()))
}

fn locked<'a>(function: &'static str, open: &'a Mutex<Open>) -> Result<MutexGuard<'a, Open>> {
    let failed = |_| wrong(function, "an earlier call of this handle failed".into());
    open.lock().map_err(failed)
}

fn answer(open: &mut Open, call: Call) -> Result<Answer, Failure> {
    match call {
        Call::Survey { settings, file } => {
            let survey = match open.generator.survey(&settings.into()) {
                Ok(survey) => survey.clone(),
                Err(failure) => return nothing(failure),
            };
            let bytes = survey.to_bytes(&open.run);
            std::fs::write(&file, bytes).map_err(Error::io(&file))?;
            Ok(Answer {
                by_threads: open.by_threads.clone(),
                ..of_survey(&open.generator, &survey)
            })
        }
        Call::Load { file } => {
            let bytes = std::fs::read(&file).map_err(Error::io(&file))?;
            let survey = open.generator.load(&bytes, &open.run)?.clone();
            Ok(of_survey(&open.generator, &survey))
        }
        Call::Networks {
            settings,
            networks,
            shapes,
            parameters,
            file,
        } => {
            let flows = flows(&networks, &shapes, &parameters)?;
            let survey = open.generator.try_flows(&settings.into(), flows)?.clone();
            std::fs::write(&file, survey.to_bytes(&open.run)).map_err(Error::io(&file))?;
            Ok(of_survey(&open.generator, &survey))
        }
        Call::Round {
            settings,
            number,
            file,
            scales,
            matched,
        } => {
            let made = open.generator.round(&settings.into(), number)?;
            append(&file, &made.bytes)?;
            if let Some(file) = scales {
                let scales = made.scales.as_flattened().iter();
                let bytes: Vec<u8> = scales.flat_map(|scale| scale.to_le_bytes()).collect();
                append(&file, &bytes)?;
            }
            if let Some(file) = matched {
                append(&file, &made.matched)?;
            }
            let round = made.round;
            Ok(Answer {
                sources: rows(
                    &open.generator,
                    &round.sums,
                    &round.drawn,
                    &[],
                    &round.events,
                ),
                particles: made.particles,
                points: round.drawn.iter().sum(),
                unusable: round.unusable,
                elements: made.elements,
                nothing: None,
                by_threads: None,
            })
        }
    }
}

/// The answer of a survey that found nothing.
fn nothing(failure: Failure) -> Result<Answer, Failure> {
    let (nothing, points) = match failure.downcast_ref::<Nothing>() {
        Some(Nothing::Passes(points)) => ("passes", *points),
        Some(Nothing::Weighs) => ("weighs", 0),
        None | Some(Nothing::Hardly(..)) => return Err(failure),
    };
    Ok(Answer {
        sources: Vec::new(),
        particles: 0,
        points,
        unusable: 0,
        elements: BTreeMap::new(),
        nothing: Some(nothing),
        by_threads: None,
    })
}

fn of_survey(generator: &EventGenerator, survey: &Survey) -> Answer {
    let sums: Vec<WeightSums> = survey.sources.iter().map(|one| one.sums).collect();
    let drawn: Vec<u64> = sums.iter().map(WeightSums::points).collect();
    Answer {
        sources: rows(generator, &sums, &drawn, &rounds::shares(survey), &[]),
        particles: generator.particles(),
        points: survey.points,
        unusable: sums.iter().map(WeightSums::unusable).sum(),
        elements: BTreeMap::new(),
        nothing: None,
        by_threads: None,
    }
}

fn rows(
    generator: &EventGenerator,
    sums: &[WeightSums],
    drawn: &[u64],
    shares: &[f64],
    events: &[Event],
) -> Vec<SourceAnswer> {
    let mut counts = vec![0; sums.len()];
    for event in events {
        counts[event.source as usize] += 1;
    }
    let known = generator.sources().zip(generator.known());
    let of_sources = known.zip(sums).zip(drawn).enumerate();
    let rows = of_sources.map(|(number, (((elements, known), sums), &drawn))| {
        let mean = sums.mean();
        SourceAnswer {
            elements: elements.to_vec(),
            sums: (sums.points(), mean.mean, mean.error, sums.passed()),
            drawn,
            events: counts[number],
            share: shares.get(number).copied().unwrap_or(0.0),
            dimensions: known.grid.dimensions(),
            network: known.flow.is_some(),
        }
    });
    rows.collect()
}

/// Of each channel its network.
fn flows(networks: &[Option<usize>], shapes: &[Shape], path: &Path) -> Result<Vec<Option<Flow>>> {
    const NAME: &str = "mebridge_events_call";
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let mut rest = &bytes[..];
    let too_few = || wrong(NAME, format!("{} ends too early", path.display()));
    let mut found = Vec::new();
    for shape in networks {
        let Some(place) = shape else {
            found.push(None);
            continue;
        };
        let shape = shapes.get(*place).cloned();
        let shape = shape.ok_or_else(|| wrong(NAME, format!("there is no shape {place}")))?;
        let own = rest.split_at_checked(4 * shape.parameters());
        let (own, after) = own.ok_or_else(too_few)?;
        rest = after;
        let (own, _) = own.as_chunks::<4>();
        let parameters = own.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let flow = Flow::new(shape, parameters).map_err(|what| wrong(NAME, what))?;
        found.push(Some(flow));
    }
    match rest {
        [] => Ok(found),
        _ => Err(wrong(
            NAME,
            format!("{} has further parameters", path.display()),
        )),
    }
}

fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(bytes))
        .map_err(Error::io(path))
}

fn processes(function: &'static str, of: &[(PathBuf, usize)]) -> Result<Vec<Process>> {
    let mut libraries: BTreeMap<&Path, Vec<Process>> = BTreeMap::new();
    for (library, _) in of {
        if !libraries.contains_key(&**library) {
            libraries.insert(library, carried(library)?);
        }
    }
    let found = of.iter().map(|(library, number)| {
        let there = libraries[&**library].get(*number).cloned();
        there.ok_or_else(|| {
            let what = format!("{} has no matrix element {number}", library.display());
            wrong(function, what)
        })
    });
    found.collect()
}

/// Which run it is.
fn digest(processes: &[Process], run: &Request) -> Result<[u8; 32]> {
    let mut bytes = Vec::new();
    for process in processes {
        bytes.extend(process.to_bytes()?);
    }
    // Of files what they hold counts, and not their names.
    let mut beams = run.beams()?;
    for beam in &mut beams {
        if let BeamRequest::Hadron { densities, .. } = beam {
            let text = std::fs::read(&*densities).map_err(Error::io(&*densities))?;
            bytes.extend(mebridge_support::digest(&text));
            densities.clear();
        }
    }
    let same = Request {
        densities: None,
        beams: Some(beams),
        threads: 0,
        backend: None,
        ..run.clone()
    };
    bytes.extend(format!("{same:?}").into_bytes());
    Ok(mebridge_support::digest(&bytes))
}

/// A cut of the caller.
struct CallersCut {
    cut: Cut,
    context: Context,
}

/// A pointer of the caller's.
struct Context(*mut c_void);

// SAFETY: it is given back to the caller, whose promise is that several threads may do so, and nothing else.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl std::fmt::Debug for CallersCut {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("CallersCut")
    }
}

impl Selection for CallersCut {
    fn select(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        passes: &mut [bool],
    ) -> Result<(), Failure> {
        let Some(cut) = self.cut else {
            return Ok(());
        };
        assert_eq!(momenta.len(), legs * passes.len(), "all legs of each event");
        let numbers = momenta.as_flattened().as_ptr();
        let Context(context) = self.context;
        // SAFETY: the arrays have as many numbers as it is told; a caller's bool is 0 or 1.
        let failed = unsafe {
            let events = passes.len();
            cut(
                context,
                element as u32,
                events,
                legs,
                numbers,
                passes.as_mut_ptr(),
            )
        };
        match failed {
            0 => Ok(()),
            _ => Err("the cut of the caller failed".into()),
        }
    }
}

fn wrong(function: &'static str, what: String) -> Error {
    Error::Call { function, what }
}

/// # Safety
/// The text ends in NUL.
unsafe fn text<'a>(function: &'static str, name: &str, pointer: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let text = unsafe { string(function, name, pointer) }?;
    text.to_str()
        .map_err(|_| wrong(function, format!("{name} is no UTF-8")))
}

fn parsed<T: serde::de::DeserializeOwned>(function: &'static str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| wrong(function, error.to_string()))
}

fn done(what: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let mut failed = None;
    let done = no_panic(|| {
        failed = what().err().map(|failure| failure.to_string());
        Ok(())
    });
    match (done, failed) {
        (Ok(()), None) => MEBRIDGE_OK,
        (Ok(()), Some(text)) => {
            keep_error(&text);
            MEBRIDGE_ERROR
        }
        (Err(error), _) => {
            keep_error(&error.to_string());
            MEBRIDGE_ERROR
        }
    }
}
