//! Runs for C and Python: from cards, or from stated conditions, to an event file.
//!
//! Requests and results are JSON: [`mebridge_run::RunSpec`] and [`mebridge_run::run::RunResult`].

use super::c::status;
use super::call_caller;
use super::callbacks::{CallerSelection, Context, Done, MebridgeRunHooks, Take, pass_answer};
use super::events::{parsed, status_of, text};
use super::pointers::argument_error;
use super::sized;
use mebridge::error::{Error, Result};
use mebridge_run::RunSpec;
use mebridge_run::cards::Cards;
use mebridge_run::overweight::Overweight;
use mebridge_run::pack::{MEASURED, Packing, pack, pack_run, pack_stated};
use mebridge_run::plan::RunPlan;
use mebridge_run::progress::RunProgress;
use mebridge_run::round::RoundResult;
use mebridge_run::rounds::{Perform, Rounds};
use mebridge_run::run::{CallerFunctions, Destination, Observer, by_cards, stated};
use mebridge_run::run_folder::RunFolder;
use mebridge_run::scratch::Scratch;
use mebridge_run::spec::Conditions;
use mebridge_run::state::Arguments;
use mebridge_run::text::read;
use mebridge_sampler::survey::SurveySettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::ffi::{CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Request of `mebridge_make_events`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunRequest {
    spec: RunSpec,
    /// A run by cards, into `Events/NAME`, or `run_NN` with the next number.
    #[serde(default)]
    cards: Option<ByCards>,
    /// A run under stated conditions.
    #[serde(default)]
    stated: Option<Stated>,
    /// A survey packed into one file with everything needed to generate events from it.
    #[serde(default)]
    pack: Option<PackRequest>,
    /// The caller's cut.
    #[serde(default)]
    cut: Option<NamedFunction>,
    /// The caller's bias.
    #[serde(default)]
    bias: Option<NamedFunction>,
    /// Other arguments that identify the run.
    #[serde(default)]
    arguments: Map<String, Value>,
    /// Whether the caller adds weights to the events of a run by cards.
    #[serde(default)]
    reweights: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByCards {
    #[serde(default)]
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    state: PathBuf,
    #[serde(default)]
    lasting: bool,
    #[serde(default)]
    output: Option<PathBuf>,
}

/// A pack (docs/pack.md).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackRequest {
    output: PathBuf,
    /// The command `mebridge`.
    program: PathBuf,
    simd: String,
    #[serde(default)]
    measured: Option<u64>,
    /// Whether there is `runcmsgrid.sh`, too.
    #[serde(default)]
    cms: bool,
    /// What becomes of events of jobs that weigh more than others; that of the run if it is left out.
    #[serde(default)]
    overweights: Option<Overweight>,
    /// The folder of a run under the same stated conditions, whose survey is used.
    #[serde(default)]
    state: Option<PathBuf>,
    /// `Events/run_NN` of a run by cards, whose survey is used.
    #[serde(default)]
    run: Option<PackedRun>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PackedRun {
    folder: PathBuf,
    #[serde(default)]
    changed_files: bool,
    #[serde(default)]
    pdf_data: Option<PathBuf>,
}

impl PackRequest {
    fn write(&self, spec: &RunSpec, caller: &mut Caller) -> Result<Value> {
        let how = Packing {
            output: &self.output,
            program: &self.program,
            measured: self.measured.unwrap_or(MEASURED),
            simd: &self.simd,
            cms: self.cms,
            overweights: self.overweights,
        };
        let output = match (&self.run, &self.state) {
            (Some(_), Some(_)) => {
                let what = "a pack takes the survey of a run by cards or of a state, one of them";
                return Err(argument_error("mebridge_make_events", what));
            }
            (Some(run), None) => {
                let data = run.pdf_data.as_deref();
                pack_run(&run.folder, run.changed_files, data, &how, caller)?
            }
            (None, Some(state)) => pack_stated(spec, state, &how, caller)?,
            (None, None) => pack(spec, &how, caller)?,
        };
        Ok(json!({ "output": output }))
    }
}

/// A function of the caller: its name in messages, and a value that identifies it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedFunction {
    name: String,
    identity: Value,
}

/// Generates events and passes the results to `take` as JSON; `request` is JSON (docs/engine.md).
///
/// # Safety
/// `request` ends in NUL; `hooks` is NULL or as large as its `size`; its functions may be called with its context until
/// this returns, `cut` and `bias` by several threads at the same time; `take` is NULL or may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_make_events(
    request: *const c_char,
    hooks: *const MebridgeRunHooks,
    take: Take,
    context: *mut c_void,
) -> i32 {
    const NAME: &str = "mebridge_make_events";
    status_of(|| {
        // SAFETY: guaranteed by the caller.
        let request: RunRequest = parsed(NAME, unsafe { text(NAME, "request", request) }?)?;
        let hooks = match hooks.is_null() {
            true => None,
            // SAFETY: guaranteed by the caller.
            false => Some(unsafe { sized::read(NAME, "hooks", hooks) }?),
        };
        request.spec.check()?;
        let mut caller = Caller {
            hooks,
            cut: request.cut,
            bias: request.bias,
            arguments: request.arguments,
            reweights: request.reweights,
        };
        let made = match (request.cards, request.stated, request.pack) {
            (Some(of), None, None) => {
                json!(by_cards(&request.spec, of.name.as_deref(), &mut caller)?)
            }
            (None, None, Some(of)) => of.write(&request.spec, &mut caller)?,
            (None, Some(of), None) => {
                let to = Destination {
                    state: &of.state,
                    lasting: of.lasting,
                    output: of.output.as_deref(),
                };
                json!(stated(&request.spec, to, &mut caller)?)
            }
            _ => {
                return Err(
                    argument_error(NAME, "it is by cards, stated or a pack, one of them").into(),
                );
            }
        };
        // SAFETY: guaranteed by the caller.
        unsafe { pass_answer(take, context, made.to_string()) };
        Ok(())
    })
}

/// Reads the cards of a run and passes JSON to `take`: `path`, its folder; `decays`, whether it has decays;
/// `param_card`, the text of this card; `run_card`, all its values; `notices`. `spec` is as in the request of
/// `mebridge_make_events`.
///
/// # Safety
/// `spec` ends in NUL; `take` is NULL or may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_check_events(
    spec: *const c_char,
    take: Take,
    context: *mut c_void,
) -> i32 {
    const NAME: &str = "mebridge_check_events";
    status_of(|| {
        // SAFETY: guaranteed by the caller.
        let spec: RunSpec = parsed(NAME, unsafe { text(NAME, "spec", spec) }?)?;
        if !matches!(spec.conditions, Conditions::RunCard { .. }) {
            return Err(argument_error(NAME, "the run is none by cards").into());
        }
        let cards = Cards::read(&spec)?;
        let found = json!({
            "path": cards.source.path(),
            "decays": cards.source.decays(),
            "param_card": read(&cards.param_card, "the parameter card")?,
            "run_card": cards.run_card.to_json(),
            "notices": cards.notices,
        });
        // SAFETY: guaranteed by the caller.
        unsafe { pass_answer(take, context, found.to_string()) };
        Ok(())
    })
}

/// The caller of a run.
struct Caller {
    hooks: Option<MebridgeRunHooks>,
    cut: Option<NamedFunction>,
    bias: Option<NamedFunction>,
    arguments: Map<String, Value>,
    reweights: bool,
}

impl Caller {
    fn tell(&self, message: &Value) -> Result<()> {
        let Some(MebridgeRunHooks {
            context,
            tell: Some(tell),
            ..
        }) = self.hooks
        else {
            return Ok(());
        };
        let message = CString::new(message.to_string()).expect("JSON has no NUL");
        // SAFETY: the caller of the run guarantees that `tell` may be called.
        match call_caller(|| unsafe { tell(context, message.as_ptr()) }) {
            0 => Ok(()),
            _ => Err(argument_error(
                "mebridge_make_events",
                "the caller ended the run",
            )),
        }
    }
}

impl Observer for Caller {
    fn begins(&mut self, folder: &RunFolder) {
        let begins = json!({ "folder": folder.path(), "name": folder.name() });
        // If the caller wants to end the run, it does so at the next message.
        let _ = self.tell(&json!({ "begins": begins }));
    }

    fn notice(&mut self, line: &str) {
        let _ = self.tell(&json!({ "notice": line }));
    }

    fn conditions(&mut self, line: &str) {
        let _ = self.tell(&json!({ "conditions": line }));
    }

    fn report(&mut self, progress: &RunProgress) -> Result<()> {
        let found = progress.cross_section;
        self.tell(&json!({ "progress": {
            "stage": progress.stage.to_string(),
            "events": progress.events,
            "target": progress.target,
            "cross_section": found.map(|found| found.mean),
            "error": found.map(|found| found.error),
            "seconds": progress.seconds,
            "unit": progress.unit,
        }}))
    }

    fn functions(&self) -> Option<CallerFunctions> {
        let hooks = self.hooks.as_ref()?;
        let named = |of: &Option<NamedFunction>, is_there: bool| {
            let of = of.clone().filter(|_| is_there);
            of.map(|of| (of.name, of.identity))
        };
        let cut = named(&self.cut, hooks.cut.is_some());
        let bias = named(&self.bias, hooks.bias.is_some());
        let selection = CallerSelection {
            cut: hooks.cut.filter(|_| cut.is_some()),
            bias: hooks.bias.filter(|_| bias.is_some()),
            context: Context(hooks.context),
        };
        (cut.is_some() || bias.is_some()).then(|| CallerFunctions {
            selection: Arc::new(selection),
            cut,
            bias,
        })
    }

    fn arguments(&self) -> Arguments {
        self.arguments.clone().into_iter().collect()
    }

    fn reweights(&self) -> bool {
        self.reweights
    }

    fn check_weights(&mut self, card: &str, processes: &[String]) -> Result<()> {
        self.tell(&json!({ "check_weights": { "card": card, "processes": processes } }))
    }

    fn weigh(
        &mut self,
        events: &Path,
        into: &Path,
        processes: &[String],
        threads: usize,
    ) -> Result<String> {
        let scratch = Scratch::new()?;
        let table = scratch.path().join("table");
        self.tell(&json!({ "weigh": {
            "events": events, "output": into, "table": table, "processes": processes, "threads": threads,
        }}))?;
        std::fs::read_to_string(&table).map_err(Error::io(&table))
    }

    fn performer(&mut self, plan: &RunPlan) -> Result<Option<Box<dyn Perform>>> {
        let Some(MebridgeRunHooks {
            context,
            perform: Some(perform),
            ..
        }) = self.hooks
        else {
            return Ok(None);
        };
        let scratch = Scratch::new()?;
        let folder = scratch.path().join("plan");
        let file = folder.join("plan");
        let mut plan = plan.clone();
        // Workers on other machines get a copy of the folder.
        for (after, before) in plan.gather("files") {
            let after = folder.join(after);
            let place = after.parent().unwrap_or(&folder);
            std::fs::create_dir_all(place).map_err(Error::io(place))?;
            let linked = std::path::absolute(&before)
                .and_then(|before| std::os::unix::fs::symlink(before, &after));
            linked.map_err(Error::io(&after))?;
        }
        std::fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        plan.write(&file)?;
        Ok(Some(Box::new(Performer {
            perform,
            context,
            plan: file,
            _scratch: scratch,
        })))
    }
}

/// Lets the caller perform parts of the run.
struct Performer {
    perform: unsafe extern "C" fn(*mut c_void, *const c_char, Done, *mut c_void) -> i32,
    context: *mut c_void,
    plan: PathBuf,
    /// The folder of the plan.
    _scratch: Scratch,
}

/// A round to perform.
#[derive(Serialize)]
struct RoundPart {
    number: usize,
    folder: PathBuf,
    settings: SurveySettings,
}

/// Receiver of the answers of parts.
struct Answers<'a> {
    take: &'a mut dyn FnMut(u64, &str) -> Result<()>,
    failed: Option<mebridge::error::Error>,
}

/// # Safety
/// `context` is the one passed by [`Performer::call`], and `answer` ends in NUL.
unsafe extern "C" fn take_answer(context: *mut c_void, number: u64, answer: *const c_char) -> i32 {
    // SAFETY: guaranteed as above; nothing else uses the answers while the caller performs parts.
    let answers = unsafe { &mut *context.cast::<Answers>() };
    let taken = status(|| {
        // SAFETY: guaranteed as above.
        let answer = unsafe { text("mebridge_make_events", "answer", answer) }?;
        answers.failed = (answers.take)(number, answer).err();
        Ok(())
    });
    i32::from(taken != 0 || answers.failed.is_some())
}

impl Performer {
    fn call(&self, parts: &Value, take: &mut dyn FnMut(u64, &str) -> Result<()>) -> Result<()> {
        let mut answers = Answers { take, failed: None };
        let parts = CString::new(parts.to_string()).expect("JSON has no NUL");
        let to: *mut Answers = &raw mut answers;
        // SAFETY: the caller of the run guarantees that `perform` may be called; the answers outlive the call.
        let status = call_caller(|| unsafe {
            (self.perform)(self.context, parts.as_ptr(), take_answer, to.cast())
        });
        match (answers.failed, status) {
            (Some(error), _) => Err(error),
            (None, 0) => Ok(()),
            (None, _) => Err(argument_error(
                "mebridge_make_events",
                "the caller did not perform the parts of the run",
            )),
        }
    }
}

impl Perform for Performer {
    fn survey(
        &mut self,
        part: &Path,
        settings: &SurveySettings,
        notices: &mut Vec<String>,
    ) -> Result<()> {
        #[derive(Deserialize)]
        struct Surveyed {
            notices: Vec<String>,
        }
        let parts = json!({
            "plan": self.plan, "folder": part, "part": { "survey": settings },
        });
        let mut count = 0;
        self.call(&parts, &mut |_, answer| {
            let found: Surveyed = parsed("mebridge_make_events", answer)?;
            notices.extend(found.notices);
            count += 1;
            Ok(())
        })?;
        match count {
            1 => Ok(()),
            _ => Err(argument_error(
                "mebridge_make_events",
                "a survey was performed more or less than once",
            )),
        }
    }

    fn rounds(
        &mut self,
        rounds: &mut Rounds,
        report: &mut dyn FnMut(&Rounds) -> Result<()>,
    ) -> Result<()> {
        let part = |number: usize| {
            let (folder, settings) = rounds.begin(number)?;
            Ok(RoundPart {
                number,
                folder,
                settings,
            })
        };
        let open: Vec<RoundPart> = rounds.open().into_iter().map(part).collect::<Result<_>>()?;
        if open.is_empty() {
            return Ok(());
        }
        let parts = json!({
            "plan": self.plan, "survey": rounds.surveyed(), "rounds": open,
        });
        self.call(&parts, &mut |number, answer| {
            let part = open.iter().find(|part| part.number as u64 == number);
            let part = part
                .ok_or_else(|| argument_error("mebridge_make_events", "there is no such round"))?;
            let found: RoundResult = parsed("mebridge_make_events", answer)?;
            rounds.add_round(part.number, &part.folder, found)?;
            report(rounds)
        })?;
        match rounds.open().is_empty() {
            true => Ok(()),
            false => Err(argument_error(
                "mebridge_make_events",
                "a round was not performed",
            )),
        }
    }
}
