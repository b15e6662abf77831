//! The event generator for C and Python: matrix elements that libraries of `mebridge umami` carry, one description of the
//! run, surveys and rounds.
//!
//! What is asked and what is answered are JSON: a run has nested parts of any number, which a struct of C would bind to one
//! version. Events go to files.

use super::c::{MEBRIDGE_ERROR, keep_error, status};
use super::no_panic;
use super::pointers::{CallerArray, PointerAccess, check_apart, input, output, put, string, wrong};
use super::registry::Registry;
use super::runs::MebridgeRunHooks;
use super::sized;
use super::umami::attached::carried;
use mebridge::error::{Error, Result};
use mebridge::event_generator::{EventGenerator, Request};
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge_run::maker::{Description, Further, Maker, identity};
use mebridge_run::plan::Plan;
use mebridge_run::run::open;
use mebridge_sampler::events::Events;
use mebridge_sampler::flow::{Flow, FlowShape};
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds;
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::survey::{Nothing, SurveySettings};
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

/// Gives JSON to a caller.
///
/// # Safety
/// `take` is NULL or may be called with `context`.
pub unsafe fn give(take: Take, context: *mut c_void, answer: String) {
    let answer = CString::new(answer).expect("JSON has no NUL");
    if let Some(take) = take {
        // SAFETY: the caller's promise.
        unsafe { take(context, answer.as_ptr()) };
    }
}

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

/// Writes the bias of `events` events of a matrix element that pass the cuts, positive and finite, in the place of ones: there are
/// as many events as their cross section times it says, and each weighs as much less. As of `mebridge_events_cut`.
pub type Bias = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        element: u32,
        events: usize,
        legs: usize,
        momenta: *const f64,
        biases: *mut f64,
    ) -> i32,
>;

/// What is opened.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Opened {
    /// Matrix elements, and what is requested of their events.
    Stated {
        /// Of each the library of `mebridge umami` that carries it, and its number there from 0.
        matrix_elements: Vec<(PathBuf, usize)>,
        run: Box<Request>,
    },
    /// A plan that `mebridge_make_events` wrote.
    Planned {
        plan: PathBuf,
        threads: usize,
        /// The name of the further cut.
        #[serde(default)]
        cut: Option<String>,
    },
}

impl Opened {
    fn open(self, selection: Option<Arc<dyn Selection>>) -> Result<OpenEvents, Failure> {
        const NAME: &str = "mebridge_events_open";
        let switches = Switches::from_env()?;
        let mut notices = Vec::new();
        let maker = match self {
            Opened::Planned { plan, threads, cut } => {
                let plan = Plan::read(&plan, threads)?;
                let selection = selection.map(|selection| (selection, cut));
                open(plan, selection, switches, &mut notices)?
            }
            Opened::Stated {
                matrix_elements,
                run,
            } => {
                let processes = processes(NAME, &matrix_elements)?;
                let description = Description {
                    identity: identity(&processes, &run)?,
                    names: processes.iter().map(|one| one.name.clone()).collect(),
                    cuts: String::new(),
                    selection: None,
                    threads: run.threads,
                };
                let generator = EventGenerator::with(processes, &run, selection, switches)?;
                Maker::new(generator, description, Further::default())
            }
        };
        Ok(OpenEvents { maker, notices })
    }
}

/// What is asked of an open one.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Call {
    /// Surveys, and writes what is found into a file.
    Survey {
        settings: SurveySettings,
        file: PathBuf,
    },
    /// Takes a survey from its file.
    Load { file: PathBuf },
    /// Takes those networks that are better than grids alone, and writes what is found into a file, or in the place of a survey
    /// into the folder of that part.
    Networks {
        settings: SurveySettings,
        /// Of each channel the place of its network among the shapes, or none.
        networks: Vec<Option<usize>>,
        shapes: Vec<FlowShape>,
        /// A file of the parameters of all networks, one after the other: floats, little endian.
        parameters: PathBuf,
        #[serde(default)]
        file: Option<PathBuf>,
        #[serde(default)]
        folder: Option<PathBuf>,
    },
    /// Performs a part of a run, whose files go into a folder.
    Part(RunPart),
    /// Makes events: records are appended to a file, scales to another one, and what matching found to a third one.
    Round {
        settings: SurveySettings,
        #[serde(default)]
        number: u16,
        file: PathBuf,
        #[serde(default)]
        scales: Option<PathBuf>,
        #[serde(default)]
        matched: Option<PathBuf>,
    },
}

/// A part of a run that `mebridge_make_events` has performed elsewhere.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum RunPart {
    /// The survey.
    Survey {
        survey: SurveySettings,
        folder: PathBuf,
    },
    /// A round, from the survey of a folder on.
    Round {
        round: SurveySettings,
        folder: PathBuf,
        survey: PathBuf,
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
    maker: Maker<'static>,
    /// What a user should know of its matrix elements, until it is told.
    notices: Vec<String>,
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
        let callers = Callers {
            cut,
            bias: None,
            context: Context(context),
        };
        let handle = OPEN.add(opened.open(callers.selection())?);
        // SAFETY: the caller's promise.
        Ok(unsafe { put(NAME, "events", events, as_pointer(handle)) }?)
    })
}

/// The same with a cut, a bias or both of `hooks`, and their context.
///
/// # Safety
/// As of `mebridge_events_open`; `hooks` is NULL or as large as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_open_with(
    request: *const c_char,
    hooks: *const MebridgeRunHooks,
    events: *mut *mut MebridgeEvents,
) -> i32 {
    const NAME: &str = "mebridge_events_open_with";
    done(|| {
        // SAFETY: the caller's promise; NULL is refused.
        unsafe { put(NAME, "events", events, std::ptr::null_mut()) }?;
        // SAFETY: the caller's promise.
        let opened: Opened = parsed(NAME, unsafe { text(NAME, "request", request) }?)?;
        let selection = match hooks.is_null() {
            true => None,
            false => {
                // SAFETY: the caller's promise.
                let hooks = unsafe { sized::read(NAME, "hooks", hooks) }?;
                let callers = Callers {
                    cut: hooks.cut,
                    bias: hooks.bias,
                    context: Context(hooks.context),
                };
                callers.selection()
            }
        };
        let handle = OPEN.add(opened.open(selection)?);
        // SAFETY: the caller's promise.
        Ok(unsafe { put(NAME, "events", events, as_pointer(handle)) }?)
    })
}

fn as_pointer(handle: u64) -> *mut MebridgeEvents {
    handle as usize as *mut MebridgeEvents
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
                ("numbers", CallerArray::of(numbers, of, PointerAccess::Read)),
                (
                    "weights",
                    CallerArray::of(weights, count, PointerAccess::Write),
                ),
            ],
        )?;
        // SAFETY: the caller's promise.
        let numbers = unsafe { input(NAME, "numbers", numbers, of) }?;
        // SAFETY: the caller's promise.
        let weights = unsafe { output(NAME, "weights", weights, count) }?;
        let found = OPEN.with_any(events as usize as u64, |open| {
            open.maker
                .generator()
                .weigh(source as usize, first, numbers)
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
        // SAFETY: the caller's promise.
        unsafe { give(take, context, answer) };
        Ok(())
    })
}

/// What a call gives, as JSON.
fn answer(open: &mut OpenEvents, call: Call) -> Result<String, Failure> {
    match call {
        Call::Part(RunPart::Survey { survey, folder }) => {
            let mut notices = std::mem::take(&mut open.notices);
            open.maker.survey(&folder, &survey, &mut notices)?;
            Ok(serde_json::to_string(
                &serde_json::json!({ "notices": notices }),
            )?)
        }
        Call::Part(RunPart::Round {
            round,
            folder,
            survey,
        }) => {
            open.maker.load(&survey)?;
            Ok(serde_json::to_string(&open.maker.round(&folder, &round)?)?)
        }
        other => Ok(serde_json::to_string(&sources(open, other)?)?),
    }
}

/// The answer of a call about channels.
fn sources(open: &mut OpenEvents, call: Call) -> Result<Answer, Failure> {
    match call {
        Call::Part(_) => unreachable!("it has another answer"),
        Call::Survey { settings, file } => {
            if let Err(failure) = open.maker.generator().survey(&settings) {
                return nothing(failure);
            }
            let answer = surveyed(open, Some(&file))?;
            Ok(Answer {
                by_threads: open.maker.generator().by_threads().map(str::to_owned),
                ..answer
            })
        }
        Call::Load { file } => {
            let bytes = std::fs::read(&file).map_err(Error::io(&file))?;
            let identity = *open.maker.identity();
            open.maker.generator().load(&bytes, &identity)?;
            surveyed(open, None)
        }
        Call::Networks {
            settings,
            networks,
            shapes,
            parameters,
            file,
            folder,
        } => {
            let flows = flows(&networks, &shapes, &parameters)?;
            open.maker.generator().try_flows(&settings, flows)?;
            if let Some(folder) = folder {
                open.maker.keep(&folder)?;
            }
            surveyed(open, file.as_deref())
        }
        Call::Round {
            settings,
            number,
            file,
            scales,
            matched,
        } => {
            let generator = open.maker.generator();
            let made = generator.round(&settings, number)?;
            generator.append(&made, &file)?;
            if let Some(file) = scales {
                let scales = made.round.events.iter().flat_map(|event| event.scales);
                let bytes: Vec<u8> = scales.flat_map(f64::to_le_bytes).collect();
                append(&file, &bytes)?;
            }
            if let Some(file) = matched {
                append(&file, &generator.matched(&made))?;
            }
            let round = made.round;
            Ok(Answer {
                sources: rows(generator, &round.sums, &round.drawn, &[], &round.events)?,
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
fn surveyed(open: &mut OpenEvents, file: Option<&Path>) -> Result<Answer, Failure> {
    let identity = *open.maker.identity();
    let generator = &*open.maker.generator();
    let survey = generator.surveyed()?;
    if let Some(file) = file {
        std::fs::write(file, survey.to_bytes(&identity)).map_err(Error::io(file))?;
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
        let mean = sums.unbiased_mean();
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
fn flows(
    networks: &[Option<usize>],
    shapes: &[FlowShape],
    path: &Path,
) -> Result<Vec<Option<Flow>>> {
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

/// A cut and a bias of the caller.
pub(super) struct Callers {
    pub(super) cut: Cut,
    pub(super) bias: Bias,
    pub(super) context: Context,
}

impl Callers {
    /// What asks for them; none where there is neither.
    fn selection(self) -> Option<Arc<dyn Selection>> {
        let is_there = self.cut.is_some() || self.bias.is_some();
        is_there.then(|| -> Arc<dyn Selection> { Arc::new(self) })
    }
}

/// A pointer of the caller's.
#[derive(Clone, Copy)]
pub(super) struct Context(pub(super) *mut c_void);

// SAFETY: it is given back to the caller, who promised that several threads may do so, and nothing else.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl std::fmt::Debug for Callers {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("Callers")
    }
}

impl Selection for Callers {
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

    fn is_biased(&self) -> bool {
        self.bias.is_some()
    }

    fn bias(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        biases: &mut [f64],
    ) -> Result<(), Failure> {
        let Some(bias) = self.bias else {
            return Ok(());
        };
        assert_eq!(momenta.len(), legs * biases.len(), "all legs of each event");
        let numbers = momenta.as_flattened().as_ptr();
        let Context(context) = self.context;
        // SAFETY: the arrays have as many numbers as it is told.
        let failed = unsafe {
            let events = biases.len();
            bias(
                context,
                element as u32,
                events,
                legs,
                numbers,
                biases.as_mut_ptr(),
            )
        };
        match failed {
            0 => Ok(()),
            _ => Err("the bias of the caller failed".into()),
        }
    }
}

/// # Safety
/// The text ends in NUL.
pub(super) unsafe fn text<'a>(
    function: &'static str,
    name: &str,
    pointer: *const c_char,
) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let text = unsafe { string(function, name, pointer) }?;
    text.to_str()
        .map_err(|_| wrong(function, format!("{name} is no UTF-8")))
}

pub(super) fn parsed<T: serde::de::DeserializeOwned>(
    function: &'static str,
    text: &str,
) -> Result<T> {
    serde_json::from_str(text).map_err(|error| wrong(function, error.to_string()))
}

/// As [`status`], with other errors, too.
pub(super) fn done(what: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let mut failed = None;
    let done = status(|| {
        failed = what().err();
        Ok(())
    });
    let Some(failure) = failed else {
        return done;
    };
    let code = failure.downcast_ref().map_or("sampling", Error::code);
    keep_error(code, &failure.to_string());
    MEBRIDGE_ERROR
}
