//! Functions of the caller: those that receive answers, and cuts, biases and hooks of runs.

use super::call_caller;
use super::sized::SizedStruct;
use mebridge_sampler::integrand::{Failure, Selection};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

/// Receives an answer, JSON that ends in NUL and is valid during the call.
pub type Take = Option<unsafe extern "C" fn(context: *mut c_void, answer: *const c_char)>;

/// Passes JSON to the caller.
///
/// # Safety
/// `take` is NULL or may be called with `context`.
pub unsafe fn pass_answer(take: Take, context: *mut c_void, answer: String) {
    let answer = CString::new(answer).expect("JSON has no NUL");
    if let Some(take) = take {
        // SAFETY: guaranteed by the caller.
        unsafe { take(context, answer.as_ptr()) };
    }
}

/// Decides which of `events` events of matrix element number `element`, from 0, pass the caller's cut: writes false for
/// those that do not. `momenta[events][legs][4]` are (E, px, py, pz) in GeV in the detector frame, the leg along +z
/// first. If the run has several threads, they call this at the same time. It may call the library, but not with the same
/// handle. Returns 0 on success.
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

/// Writes the bias of `events` events of a matrix element that pass the cuts, a positive finite number for each; all are 1
/// before. Events are drawn in proportion to their cross section times their bias, and their weights are divided by it.
/// Otherwise as `mebridge_events_cut`.
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

/// Receives the answer of a part of a run that was performed elsewhere, JSON as from `mebridge_events_call`; `number`
/// is the number of a round, or 0 for the survey. Returns 0 on success.
pub type Done =
    unsafe extern "C" fn(context: *mut c_void, number: u64, answer: *const c_char) -> i32;

/// Functions that a run calls with `context`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MebridgeRunHooks {
    /// `sizeof(struct mebridge_run_hooks)`
    pub size: usize,
    /// Passed to all of these functions.
    pub context: *mut c_void,
    /// NULL, or receives JSON: `{"notice": text}`, `{"conditions": text}`, `{"begins": {"folder", "name"}}` or
    /// `{"progress": {"stage", "events", "target", "cross_section", "error", "seconds", "unit"}}`; if the request has
    /// `reweights`, also `{"check_weights": {"card", "processes"}}` and `{"weigh": {"events", "output", "table",
    /// "processes", "threads"}}`. For the latter it writes two files: `output`, the events with additional weights, and
    /// `table`, a table of these weights. A result other than 0 ends the run; what is done is kept.
    pub tell: Option<unsafe extern "C" fn(context: *mut c_void, message: *const c_char) -> i32>,
    /// NULL, or an additional cut as for `mebridge_events_open`; `cut` of the request names it.
    pub cut: Cut,
    /// NULL, or performs parts of the run for this program and calls `done` with `done_context` when each ends, in the
    /// same thread. `parts` is JSON: `plan`, a file for `mebridge_events_open`, whose folder holds all files that it
    /// refers to; then `part` and `folder` of the survey, or `rounds` (`number`, `folder`, `settings`) and the folder
    /// of their `survey`.
    pub perform: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            parts: *const c_char,
            done: Done,
            done_context: *mut c_void,
        ) -> i32,
    >,
    /// NULL, or the bias of events, named by `bias` in the request.
    pub bias: Bias,
}

// SAFETY: `repr(C)`, its size first; all members are pointers and functions that may be NULL.
unsafe impl SizedStruct for MebridgeRunHooks {
    const NAME: &'static str = "mebridge_run_hooks";
}

/// The caller's cut and bias.
pub(super) struct CallerSelection {
    pub(super) cut: Cut,
    pub(super) bias: Bias,
    pub(super) context: Context,
}

impl CallerSelection {
    /// Returns what calls them, or none if there is neither.
    pub(super) fn selection(self) -> Option<Arc<dyn Selection>> {
        let is_there = self.cut.is_some() || self.bias.is_some();
        is_there.then(|| -> Arc<dyn Selection> { Arc::new(self) })
    }
}

/// The caller's context pointer.
#[derive(Clone, Copy)]
pub(super) struct Context(pub(super) *mut c_void);

// SAFETY: the pointer is only passed back to the caller, who guarantees that several threads may use it.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl std::fmt::Debug for CallerSelection {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("CallerSelection")
    }
}

/// A function of the caller that writes a value for each event.
type PerEvent<T> = unsafe extern "C" fn(*mut c_void, u32, usize, usize, *const f64, *mut T) -> i32;

impl CallerSelection {
    /// Calls a function, if there is one, for the events of a matrix element; `what` names it in messages.
    fn call<T>(
        &self,
        function: Option<PerEvent<T>>,
        what: &str,
        (element, legs): (usize, usize),
        momenta: &[[f64; 4]],
        values: &mut [T],
    ) -> Result<(), Failure> {
        let Some(function) = function else {
            return Ok(());
        };
        assert_eq!(momenta.len(), legs * values.len(), "all legs of each event");
        let (events, numbers) = (values.len(), momenta.as_flattened().as_ptr());
        let Context(context) = self.context;
        // SAFETY: the arrays have the lengths that the function receives; it writes valid values, as its caller promised.
        let failed = call_caller(|| unsafe {
            let values = values.as_mut_ptr();
            function(context, element as u32, events, legs, numbers, values)
        });
        match failed {
            0 => Ok(()),
            _ => Err(format!("the {what} of the caller failed").into()),
        }
    }
}

impl Selection for CallerSelection {
    fn select(
        &self,
        element: usize,
        legs: usize,
        momenta: &[[f64; 4]],
        passes: &mut [bool],
    ) -> Result<(), Failure> {
        self.call(self.cut, "cut", (element, legs), momenta, passes)
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
        self.call(self.bias, "bias", (element, legs), momenta, biases)
    }
}
