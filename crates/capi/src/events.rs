//! The event generator for C and Python: matrix elements carried by libraries of `mebridge umami`, the description of a
//! run, surveys and rounds.
//!
//! Requests and answers are JSON: a run consists of nested parts in any number, which a C struct would tie to one
//! version. Events go to files.

use super::c::{MEBRIDGE_ERROR, keep_error, status};
use super::callbacks::{CallerSelection, Context, Cut, MebridgeRunHooks, Take, pass_answer};
use super::no_panic;
use super::pointers::{
    CallerArray, PointerAccess, argument_error, check_apart, input, output, string, write,
};
use super::registry::Registry;
use super::sized;
use super::umami::attached::attached_to;
use mebridge::error::{Error, Result};
use mebridge::event_generator::{EventGenerator, Request};
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge_run::maker::{Description, ExtraValues, Maker, identity};
use mebridge_run::plan::RunPlan;
use mebridge_run::run::open;
use mebridge_sampler::events::Events;
use mebridge_sampler::flow::{Flow, FlowShape};
use mebridge_sampler::integrand::{Failure, Selection};
use mebridge_sampler::rounds;
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::survey::{NoEvents, SurveySettings};
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::ffi::{c_char, c_void};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open event generator. Opaque: only pass it on.
pub struct MebridgeEvents {
    _private: [u8; 0],
}

/// Request of `mebridge_events_open`: matrix elements and the description of their run, or a plan.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OpenRequest<'a> {
    /// For each matrix element, the library of `mebridge umami` that carries it and its number there, from 0.
    matrix_elements: Option<Vec<(PathBuf, usize)>>,
    /// A [`Request`].
    #[serde(borrow)]
    run: Option<&'a RawValue>,
    /// A plan that `mebridge_make_events` wrote.
    plan: Option<PathBuf>,
    threads: Option<usize>,
    /// Name of the caller's cut.
    cut: Option<String>,
}

impl OpenRequest<'_> {
    fn open(self, selection: Option<Arc<dyn Selection>>) -> Result<OpenEvents, Failure> {
        const NAME: &str = "mebridge_events_open";
        let switches = Switches::from_env()?;
        let mut notices = Vec::new();
        let maker = match self {
            OpenRequest {
                plan: Some(plan),
                threads: Some(threads),
                cut,
                matrix_elements: None,
                run: None,
            } => {
                let plan = RunPlan::read(&plan, threads)?;
                let selection = selection.map(|selection| (selection, cut));
                open(plan, selection, switches, &mut notices)?
            }
            OpenRequest {
                matrix_elements: Some(matrix_elements),
                run: Some(run),
                plan: None,
                threads: None,
                cut: None,
            } => {
                let run = Request::from_json(run.get())
                    .map_err(|error| argument_error(NAME, format!("run: {error}")))?;
                let processes = processes(NAME, &matrix_elements)?;
                let description = Description {
                    identity: identity(&processes, &run)?,
                    names: processes.iter().map(|one| one.name.clone()).collect(),
                    cuts: String::new(),
                    selection: None,
                    threads: run.threads,
                };
                let generator =
                    EventGenerator::with_switches(processes, &run, selection, switches)?;
                Maker::new(generator, description, ExtraValues::default())
            }
            _ => {
                let what = "the request has `matrix_elements` and `run`, or `plan` and `threads` \
                            and perhaps `cut`";
                return Err(argument_error(NAME, what).into());
            }
        };
        Ok(OpenEvents { maker, notices })
    }
}

/// Request of `mebridge_events_call`.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Call {
    /// Performs the survey and writes the result to a file.
    Survey {
        settings: SurveySettings,
        file: PathBuf,
    },
    /// Loads a survey from its file.
    Load { file: PathBuf },
    /// Keeps the networks that are better than grids alone, and writes the result to a file or, replacing the survey,
    /// into the folder of that part.
    Networks {
        settings: SurveySettings,
        /// For each channel the index of its network's shape in `shapes`, if it has a network.
        networks: Vec<Option<usize>>,
        shapes: Vec<FlowShape>,
        /// File with the parameters of all networks, one network after the other: little-endian floats.
        parameters: PathBuf,
        #[serde(default)]
        file: Option<PathBuf>,
        #[serde(default)]
        folder: Option<PathBuf>,
    },
    /// Performs a part of a run and writes its files into a folder.
    Part(RunPart),
    /// Generates events: appends records to `file`, scales to `scales`, and the results of matching to `matched`.
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

/// A part of a run that `mebridge_make_events` delegates.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum RunPart {
    /// The survey.
    Survey {
        survey: SurveySettings,
        folder: PathBuf,
    },
    /// A round, with the survey from the folder `survey`.
    Round {
        round: SurveySettings,
        folder: PathBuf,
        survey: PathBuf,
    },
}

/// Properties and results of a channel.
#[derive(Serialize)]
struct SourceAnswer {
    /// Indices of its matrix elements.
    elements: Vec<usize>,
    /// Number of points that count, their mean and its error in pb, and the number of points that passed the cuts.
    sums: (u64, f64, f64, u64),
    /// Points drawn, including those that do not count.
    drawn: u64,
    /// Number of events of a round.
    events: u64,
    /// Points that count per event of a round.
    share: f64,
    /// Random numbers per point, without the one that selects its partons.
    dimensions: usize,
    /// Whether a network precedes its grid.
    network: bool,
}

#[derive(Default, Serialize)]
struct Answer {
    /// The channels that are kept.
    sources: Vec<SourceAnswer>,
    /// Number of particles in a record.
    particles: usize,
    /// Total number of points drawn.
    points: u64,
    /// Points whose weight is not a number.
    unusable: u64,
    /// Results of a round by matrix element: number of events, sum of their weights, and sum of the squared weights.
    elements: SortedMap<u32, [f64; 3]>,
    /// Why there are no events: no point passes the cuts ("passes"), or the weights of all that do are zero ("weighs").
    nothing: Option<&'static str>,
    /// After a survey, why CPU threads weigh points although GPUs were requested: the feature that GPUs do not support.
    by_threads: Option<String>,
}

/// An open event generator.
pub struct OpenEvents {
    maker: Maker<'static>,
    /// Notices about its matrix elements that have not been reported yet.
    notices: Vec<String>,
}

/// The open event generators; their handles spell `evnt`.
pub(super) static OPEN: Registry<OpenEvents> =
    Registry::new("event generator", 0x6576_6e74_0000_0001);

/// Opens the events of a run and puts a handle into `events`.
///
/// `request` is JSON (fields: docs/engine.md). `cut` is NULL or an additional cut, which is called with `context`.
///
/// # Safety
/// `request` ends in NUL; `events` points to a pointer; `cut` is NULL, or may be called with `context`, by several
/// threads at the same time, until the handle is closed and no call with it is in progress. `cut` makes no call with
/// this handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_open(
    request: *const c_char,
    cut: Cut,
    context: *mut c_void,
    events: *mut *mut MebridgeEvents,
) -> i32 {
    const NAME: &str = "mebridge_events_open";
    status_of(|| {
        // SAFETY: guaranteed by the caller; NULL is rejected.
        unsafe { write(NAME, "events", events, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let opened: OpenRequest = parsed(NAME, unsafe { text(NAME, "request", request) }?)?;
        let callers = CallerSelection {
            cut,
            bias: None,
            context: Context(context),
        };
        let handle = OPEN.add(opened.open(callers.selection())?);
        // SAFETY: guaranteed by the caller.
        Ok(unsafe { write(NAME, "events", events, as_pointer(handle)) }?)
    })
}

/// Opens the events of a run as `mebridge_events_open`, with the cut and the bias of `hooks`, which may be NULL.
///
/// # Safety
/// As for `mebridge_events_open`; `hooks` is NULL or as large as its `size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_events_open_with(
    request: *const c_char,
    hooks: *const MebridgeRunHooks,
    events: *mut *mut MebridgeEvents,
) -> i32 {
    const NAME: &str = "mebridge_events_open_with";
    status_of(|| {
        // SAFETY: guaranteed by the caller; NULL is rejected.
        unsafe { write(NAME, "events", events, std::ptr::null_mut()) }?;
        // SAFETY: guaranteed by the caller.
        let opened: OpenRequest = parsed(NAME, unsafe { text(NAME, "request", request) }?)?;
        let selection = match hooks.is_null() {
            true => None,
            false => {
                // SAFETY: guaranteed by the caller.
                let hooks = unsafe { sized::read(NAME, "hooks", hooks) }?;
                let callers = CallerSelection {
                    cut: hooks.cut,
                    bias: hooks.bias,
                    context: Context(hooks.context),
                };
                callers.selection()
            }
        };
        let handle = OPEN.add(opened.open(selection)?);
        // SAFETY: guaranteed by the caller.
        Ok(unsafe { write(NAME, "events", events, as_pointer(handle)) }?)
    })
}

fn as_pointer(handle: u64) -> *mut MebridgeEvents {
    handle as usize as *mut MebridgeEvents
}

/// Closes a handle. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_events_close(events: *mut MebridgeEvents) {
    // A handle that is not open counts as closed; a call in progress keeps the generator until it ends.
    let _ = no_panic(|| OPEN.remove(events as usize as u64));
}

/// Weighs points of channel `source`, from 0, with its grid from the survey: puts the cross section in pb that each
/// point represents into `weights[count]`. The points are numbers `first`, a multiple of 8, and following, with
/// `numbers[count][dimensions + 1]` in (0, 1) as random numbers; the answer of the survey gives the dimensions of a
/// channel.
///
/// # Safety
/// The arrays have these lengths and do not overlap.
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
    status_of(|| {
        let per_point = dimensions.checked_add(1);
        let total = per_point.and_then(|n| n.checked_mul(count));
        let total = total.ok_or_else(|| argument_error(NAME, "there are too many numbers"))?;
        check_apart(
            NAME,
            [
                (
                    "numbers",
                    CallerArray::new(numbers, total, PointerAccess::Read),
                ),
                (
                    "weights",
                    CallerArray::new(weights, count, PointerAccess::Write),
                ),
            ],
        )?;
        // SAFETY: guaranteed by the caller.
        let numbers = unsafe { input(NAME, "numbers", numbers, total) }?;
        // SAFETY: guaranteed by the caller.
        let weights = unsafe { output(NAME, "weights", weights, count) }?;
        let found = OPEN.with_any(events as usize as u64, |open| {
            open.maker
                .generator()
                .weigh(source as usize, first, numbers)
        })?;
        if found.len() != count {
            let what =
                format!("channel {source} has another number of dimensions than {dimensions}");
            return Err(argument_error(NAME, what).into());
        }
        weights.copy_from_slice(&found);
        Ok(())
    })
}

/// Performs the JSON request `call` (docs/engine.md) and passes the answer to `take`. A handle serves one call at a
/// time.
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
    status_of(|| {
        // SAFETY: guaranteed by the caller.
        let call: Call = parsed(NAME, unsafe { text(NAME, "call", call) }?)?;
        let answer = OPEN.with_any(events as usize as u64, |open| answer(open, call))?;
        // SAFETY: guaranteed by the caller.
        unsafe { pass_answer(take, context, answer) };
        Ok(())
    })
}

/// Performs a call and returns its answer as JSON.
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

/// Performs a call whose answer lists the channels.
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
                open.maker.write_survey(&folder)?;
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
                let scales = made.round.events.map(|event| event.scales);
                let scales = scales.into_iter().flatten();
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

/// Returns the answer of a survey without events.
fn nothing(failure: Failure) -> Result<Answer, Failure> {
    let (nothing, points) = match failure.downcast_ref::<NoEvents>() {
        Some(NoEvents::NonePasses(points)) => ("passes", *points),
        Some(NoEvents::AllZero) => ("weighs", 0),
        None | Some(NoEvents::TooFew(..)) => return Err(failure),
    };
    Ok(Answer {
        points,
        nothing: Some(nothing),
        ..Answer::default()
    })
}

/// Writes the survey to `file`, if given, and returns its answer.
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

/// Reads the network of each channel.
fn flows(
    networks: &[Option<usize>],
    shapes: &[FlowShape],
    path: &Path,
) -> Result<Vec<Option<Flow>>> {
    const NAME: &str = "mebridge_events_call";
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    let mut rest = &bytes[..];
    let too_few = || argument_error(NAME, format!("{} ends too early", path.display()));
    let mut found = Vec::new();
    for shape in networks {
        let Some(place) = shape else {
            found.push(None);
            continue;
        };
        let shape = shapes.get(*place).cloned();
        let shape =
            shape.ok_or_else(|| argument_error(NAME, format!("there is no shape {place}")))?;
        let split = rest.split_at_checked(4 * shape.parameters());
        let (bytes, after) = split.ok_or_else(too_few)?;
        rest = after;
        let (words, _) = bytes.as_chunks::<4>();
        let parameters = words
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        let flow = Flow::new(shape, parameters).map_err(|what| argument_error(NAME, what))?;
        found.push(Some(flow));
    }
    match rest {
        [] => Ok(found),
        _ => Err(argument_error(
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
    let mut libraries: SortedMap<&Path, Vec<Process>> = SortedMap::new();
    for (library, _) in of {
        if !libraries.contains_key(&**library) {
            libraries.insert(library, attached_to(library)?);
        }
    }
    let found = of.iter().map(|(library, number)| {
        let process = libraries[&**library].get(*number).cloned();
        process.ok_or_else(|| {
            let what = format!("{} has no matrix element {number}", library.display());
            argument_error(function, what)
        })
    });
    found.collect()
}

/// # Safety
/// The text ends in NUL.
pub(super) unsafe fn text<'a>(
    function: &'static str,
    name: &str,
    pointer: *const c_char,
) -> Result<&'a str> {
    // SAFETY: guaranteed by the caller.
    let text = unsafe { string(function, name, pointer) }?;
    text.to_str()
        .map_err(|_| argument_error(function, format!("{name} is not UTF-8")))
}

pub(super) fn parsed<'a, T: Deserialize<'a>>(function: &'static str, text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| argument_error(function, error.to_string()))
}

/// As [`status`], for any kind of error.
pub(super) fn status_of(what: impl FnOnce() -> Result<(), Failure>) -> i32 {
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
