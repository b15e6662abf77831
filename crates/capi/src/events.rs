//! The event generator for C and Python: matrix elements that libraries of `mebridge umami` carry, one description of the
//! run, surveys and rounds.
//!
//! What is asked and what is answered are JSON: a run has nested parts of any number, which a struct of C would bind to one
//! version. Events go to files.

use super::c::{MEBRIDGE_ERROR, keep_error, status};
use super::no_panic;
use super::pointers::{Access, CallerArray, check_apart, input, output, put, string, wrong};
use super::registry::Registry;
use super::umami::attached::carried;
use mebridge::error::{Error, Result};
use mebridge::event_generator::{BeamRequest, EventGenerator, Request};
use mebridge::process::Process;
use mebridge_sampler::events::Events;
use mebridge_sampler::flow::{Flow, Shape};
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds;
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::survey::{Nothing, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    Survey { settings: Settings, file: PathBuf },
    /// Takes a survey from its file.
    Load { file: PathBuf },
    /// Takes those networks that are better than grids alone, and writes what is found into a file.
    Networks {
        settings: Settings,
        /// Of each channel the place of its network among the shapes, or none.
        networks: Vec<Option<usize>>,
        shapes: Vec<Shape>,
        /// A file of the parameters of all networks, one after the other: floats, little endian.
        parameters: PathBuf,
        file: PathBuf,
    },
    /// Makes events: records are appended to a file, scales to another one, and what matching found to a third one.
    Round {
        settings: Settings,
        #[serde(default)]
        number: u16,
        file: PathBuf,
        #[serde(default)]
        scales: Option<PathBuf>,
        #[serde(default)]
        matched: Option<PathBuf>,
    },
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

#[derive(Default, Serialize)]
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
pub struct OpenEvents {
    generator: EventGenerator,
    /// Which run it is, whatever its threads and the names of its files are.
    run: [u8; 32],
}

/// What is open; the handles spell `evnt`.
pub(super) static OPEN: Registry<OpenEvents> =
    Registry::new("event generator", 0x6576_6e74_0000_0001);

/// Opens the events of a run and puts a handle into `events`.
///
/// `request` is JSON (docs/engine.md has its fields). `cut` is NULL, or a further cut, which is called with `context`.
///
/// # Safety
/// `request` ends in NUL; `events` points at a pointer; `cut` is NULL, or may be called with `context`, by several threads
/// at once, until the handle is closed and no call of it is under way. It calls nothing with this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_open(
    request: *const c_char,
    cut: Cut,
    context: *mut c_void,
    events: *mut *mut MebridgeEvents,
) -> i32 {
    const NAME: &str = "mebridge_events_open";
    done(|| {
        // SAFETY: the caller's promise; NULL is refused.
        unsafe { put(NAME, "events", events, std::ptr::null_mut()) }?;
        // SAFETY: the caller's promise.
        let opened: Opened = parsed(NAME, unsafe { text(NAME, "request", request) }?)?;
        let processes = processes(NAME, &opened.matrix_elements)?;
        let run = digest(&processes, &opened.run)?;
        let selection = cut.is_some().then(|| -> Arc<dyn Selection> {
            let context = Context(context);
            Arc::new(CallersCut { cut, context })
        });
        let generator = EventGenerator::new(processes, &opened.run, selection)?;
        let handle = OPEN.add(OpenEvents { generator, run });
        // SAFETY: the caller's promise.
        Ok(unsafe {
            put(
                NAME,
                "events",
                events,
                handle as usize as *mut MebridgeEvents,
            )
        }?)
    })
}

/// Closes a handle. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_events_close(events: *mut MebridgeEvents) {
    // One that is not open is closed; a call that is under way keeps it until it ends.
    let _ = no_panic(|| OPEN.remove(events as usize as u64));
}

/// Weighs points of channel `source`, counted from 0, by the grid that it has since the survey: puts the cross section, in pb,
/// that each of them stands for into `weights[count]`. They are those of the points `first`, a multiple of 8, and so on, with
/// `numbers[count][dimensions + 1]` in (0, 1) for random numbers; the survey says how many dimensions a channel has.
///
/// # Safety
/// The arrays have as many numbers as that, and share none.
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
        let of = of.ok_or_else(|| wrong(NAME, "there are too many numbers"))?;
        check_apart(
            NAME,
            [
                ("numbers", CallerArray::of(numbers, of, Access::Read)),
                ("weights", CallerArray::of(weights, count, Access::Write)),
            ],
        )?;
        // SAFETY: the caller's promise.
        let numbers = unsafe { input(NAME, "numbers", numbers, of) }?;
        // SAFETY: the caller's promise.
        let weights = unsafe { output(NAME, "weights", weights, count) }?;
        let found = OPEN.with_any(events as usize as u64, |open| {
            open.generator.weigh(source as usize, first, numbers)
        })?;
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
        let answer = OPEN.with_any(events as usize as u64, |open| answer(open, call))?;
        let answer = serde_json::to_string(&answer)?;
        let answer = CString::new(answer).expect("JSON has no NUL");
        if let Some(take) = take {
            // SAFETY: the caller's promise.
            unsafe { take(context, answer.as_ptr()) };
        }
        Ok(())
    })
}

fn answer(open: &mut OpenEvents, call: Call) -> Result<Answer, Failure> {
    match call {
        Call::Survey { settings, file } => {
            if let Err(failure) = open.generator.survey(&settings) {
                return nothing(failure);
            }
            let answer = surveyed(open, Some(&file))?;
            Ok(Answer {
                by_threads: open.generator.by_threads().map(str::to_owned),
                ..answer
            })
        }
        Call::Load { file } => {
            let bytes = std::fs::read(&file).map_err(Error::io(&file))?;
            open.generator.load(&bytes, &open.run)?;
            surveyed(open, None)
        }
        Call::Networks {
            settings,
            networks,
            shapes,
            parameters,
            file,
        } => {
            let flows = flows(&networks, &shapes, &parameters)?;
            open.generator.try_flows(&settings, flows)?;
            surveyed(open, Some(&file))
        }
        Call::Round {
            settings,
            number,
            file,
            scales,
            matched,
        } => {
            let made = open.generator.round(&settings, number)?;
            open.generator.append(&made, &file)?;
            if let Some(file) = scales {
                let scales = made.round.events.iter().flat_map(|event| event.scales);
                let bytes: Vec<u8> = scales.flat_map(f64::to_le_bytes).collect();
                append(&file, &bytes)?;
            }
            if let Some(file) = matched {
                append(&file, &open.generator.matched(&made))?;
            }
            let round = made.round;
            Ok(Answer {
                sources: rows(
                    &open.generator,
                    &round.sums,
                    &round.drawn,
                    &[],
                    &round.events,
                )?,
                particles: made.particles,
                points: round.drawn.iter().sum(),
                unusable: round.unusable,
                elements: made.elements,
                ..Answer::default()
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
        points,
        nothing: Some(nothing),
        ..Answer::default()
    })
}

/// What the survey says, which goes to this file.
fn surveyed(open: &OpenEvents, file: Option<&Path>) -> Result<Answer, Failure> {
    let generator = &open.generator;
    let survey = generator.surveyed()?;
    if let Some(file) = file {
        std::fs::write(file, survey.to_bytes(&open.run)).map_err(Error::io(file))?;
    }
    let sums: Vec<WeightSums> = survey.sources.iter().map(|one| one.sums).collect();
    let drawn: Vec<u64> = sums.iter().map(WeightSums::points).collect();
    let (shares, none) = (rounds::shares(survey), Events::default());
    Ok(Answer {
        sources: rows(generator, &sums, &drawn, &shares, &none)?,
        particles: generator.particles(),
        points: survey.points,
        unusable: sums.iter().map(WeightSums::unusable).sum(),
        ..Answer::default()
    })
}

fn rows(
    generator: &EventGenerator,
    sums: &[WeightSums],
    drawn: &[u64],
    shares: &[f64],
    events: &Events,
) -> Result<Vec<SourceAnswer>> {
    let counts = events.of_sources(sums.len());
    let known = generator.sources().zip(&generator.surveyed()?.sources);
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
    Ok(rows.collect())
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

// SAFETY: it is given back to the caller, who promised that several threads may do so, and nothing else.
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

/// As [`status`], with other errors, too.
fn done(what: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let mut failed = None;
    let done = status(|| {
        failed = what().err().map(|failure| failure.to_string());
        Ok(())
    });
    let Some(text) = failed else {
        return done;
    };
    keep_error(&text);
    MEBRIDGE_ERROR
}
