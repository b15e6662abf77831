//! The C interface that `include/mebridge.h` declares.
//!
//! cbindgen generates the header, comments included, from this file, `born.rs`, `densities.rs`, `callbacks.rs`,
//! `events.rs` and `runs.rs`; the test `the_headers_are_those_of_this_version` fails where the committed header differs.
//!
//! A bridge is declared as an opaque pointer so that the compiler checks its type. Its value is a number in the
//! registry and is never dereferenced. Every function that can fail returns null or a status code and keeps the message
//! of the calling thread's last failure.

use super::event_arrays::EventArrays;
use super::fbridge::channel_weights;
use super::generation::Caller;
use super::no_panic;
use super::pointers::{
    CallerArray, MAX_NUMBERS, PointerAccess, StridedArray, argument_error, c_name, check,
    check_apart, input, input_or_none, number_count, output, output_or_none, overlap_error, string,
    write,
};
use super::registry::{self, Entry, Indices};
use super::sized::{self, SizedStruct};
use mebridge::bridge::Bridge;
use mebridge::describe::{describe, topologies};
use mebridge::error::{CALL_WITHIN_CALL, Error, Result};
use mebridge::events::Events;
use mebridge::leading_color::ColorFlowEvaluator;
use mebridge::locate::locate;
use mebridge::propagators::Topology;
use mebridge::runtime::{CachePlace, Switches};
use mebridge::sample::{
    DeviceSample, MatrixElementOffsets, Momenta, Outputs, Points, Rows, Sample, SampleAnswers,
    Strides, g_s,
};
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};

/// Success.
pub const MEBRIDGE_OK: i32 = 0;
/// Failure; `mebridge_last_error` describes it.
pub const MEBRIDGE_ERROR: i32 = 1;

/// An open bridge. Opaque: only pass it on.
pub struct MebridgeBridge {
    _private: [u8; 0],
}

/// Options of a new bridge. A field that is NULL or 0 has the same effect as leaving its switch
/// `CUDACPP_RUNTIME_<NAME>` unset. Set all fields except `size` to zero first (`struct mebridge_options options =
/// {.size = sizeof options};`, before C++20 `= {}` and then `options.size = sizeof options;`). The environment is
/// ignored.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MebridgeOptions {
    /// `sizeof(struct mebridge_options)`: later versions append fields.
    pub size: usize,
    /// PROCESS: a .mebridge file or a P directory written by MG5aMC; append `#n` for its n-th matrix element. NULL: the
    /// process linked into the executable, else the P directory that contains the working directory or the executable.
    pub process: *const c_char,
    /// PARAMCARD: a parameter card. NULL: the card of the P directory, else the default values of the process.
    pub param_card: *const c_char,
    /// BACKEND: "auto", "cpu", "cuda" or "hip"; "cuda:1" or "hip:1" for the second GPU (DEVICE), and so on.
    pub backend: *const c_char,
    /// SIMD: "auto", "none", "sse4", "avx2", "512y" or "512z".
    pub simd: *const c_char,
    /// FPTYPE: "d" (double), "m" (mixed) or "f" (single precision).
    pub fptype: *const c_char,
    /// THREADS: number of threads; 0 means 1.
    pub threads: u32,
    /// GOODHELICITIES: whether to evaluate helicities whose contribution vanishes, too.
    pub all_helicities: bool,
    /// CACHE: a directory, or "off". NULL: the user's cache.
    pub cache: *const c_char,
    /// MODEL: the model for a process that is generated here, a file or a UFO folder. NULL: the Standard Model.
    pub model: *const c_char,
}

/// Events of a sample evaluated at a time: enough for all threads, and few enough that their buffers fit into memory.
const PIECE: usize = 1 << 18;

thread_local! {
    /// Code and message of the last error.
    static LAST_ERROR: RefCell<[CString; 2]> = RefCell::default();
    /// Whether the last error of this thread is a call within a call.
    static LAST_WITHIN: AtomicBool = const { AtomicBool::new(false) };
}

/// Returns the message of this thread's last failed call; empty if no call failed. Valid until this thread's next
/// failed call, or until the thread ends. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_last_error() -> *const c_char {
    if LAST_WITHIN.with(|within| within.load(Ordering::SeqCst)) {
        return CALL_WITHIN_CALL.as_ptr();
    }
    // When a thread ends, its thread-local data, including this message, are destroyed.
    let message = LAST_ERROR.try_with(|last| last.borrow()[1].as_ptr());
    message.unwrap_or(c"the thread ends, and its messages are gone".as_ptr())
}

/// Returns the kind of that error for programs: a name such as "no_gpu", "io" or "run" that later versions keep
/// (`mebridge::Error::code` in Rust); empty if no call of this thread failed. Valid as long as the message. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_last_error_code() -> *const c_char {
    if LAST_WITHIN.with(|within| within.load(Ordering::SeqCst)) {
        return c"call_within_call".as_ptr();
    }
    let code = LAST_ERROR.try_with(|last| last.borrow()[0].as_ptr());
    code.unwrap_or(c"".as_ptr())
}

/// Returns the version of the library, such as "0.2.0". Always valid.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_version() -> *const c_char {
    // The literal ends in NUL.
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Creates a bridge for calls of `nevt` events and puts it into `bridge`.
///
/// If `options` is NULL, the environment variables CUDACPP_RUNTIME_* apply.
///
/// # Safety
/// `options` is NULL or points to options whose strings end in NUL; `bridge` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_create(
    options: *const MebridgeOptions,
    nevt: usize,
    bridge: *mut *mut MebridgeBridge,
) -> i32 {
    const NAME: &str = "mebridge_create";
    status(|| {
        // SAFETY: guaranteed by the caller; NULL is rejected.
        unsafe { write(NAME, "bridge", bridge, std::ptr::null_mut()) }?;
        let switches = match options.is_null() {
            true => Switches::from_env()?,
            // SAFETY: guaranteed by the caller.
            false => unsafe { switches(&sized::read(NAME, "options", options)?) }?,
        };
        if nevt == 0 {
            return Err(argument_error(
                NAME,
                "nevt is 0; at least one event a call is needed",
            ));
        }
        let located = locate(&switches)?;
        number_count(NAME, nevt, 4 * located.process.legs.len())?;
        let caller = Caller::new(switches.igraph, located.process.contract);
        let made = Bridge::new(located.process, &located.card, &switches, nevt)?;
        let handle = registry::add(Entry::new(made, caller));
        // SAFETY: as above.
        unsafe {
            write(
                NAME,
                "bridge",
                bridge,
                handle as usize as *mut MebridgeBridge,
            )
        }
    })
}

/// Deletes a bridge. NULL is allowed and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_delete(bridge: *mut MebridgeBridge) -> i32 {
    if bridge.is_null() {
        return MEBRIDGE_OK;
    }
    status(|| registry::remove(bridge as usize as u64))
}

/// Evaluates the matrix elements of `nevt` events; the bridge was created for the same number.
///
/// In:
/// - `momenta[nevt][legs][4]`: (E, px, py, pz) in GeV, with positive energy for incoming particles;
/// - `g_s[nevt]`: the strong coupling of each event;
/// - `random_helicity[nevt]`, `random_color[nevt]`: random numbers from [0, 1) that select helicity and colour flow.
///   Values below 0 count as 0; values of 1 or more and NaN count as the largest number below 1;
/// - `channels[nevt]`: the diagram (from 1) of each event's channel, or NULL for no channel weights;
/// - `igraph[nevt]`: the configuration (from 1) whose colour flows are allowed, 0 to derive it from the channel, or
///   NULL to derive all of them from the channels.
///
/// Out:
/// - `matrix_elements[nevt]`: |M|^2 summed over helicities and colours, averaged over those of the
///   initial state, in GeV^(4-2n) for n outgoing particles, times the weight of the channel;
/// - `helicity[nevt]`: the chosen row of the helicity table, from 1;
/// - `color[nevt]`: the chosen colour flow, from 1, or 0 without channel and igraph.
///
/// # Safety
/// The arrays have these lengths, and no output overlaps another array.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn mebridge_run(
    bridge: *mut MebridgeBridge,
    nevt: usize,
    momenta: *const f64,
    g_s: *const f64,
    random_helicity: *const f64,
    random_color: *const f64,
    channels: *const i32,
    igraph: *const i32,
    matrix_elements: *mut f64,
    helicity: *mut i32,
    color: *mut i32,
) -> i32 {
    const NAME: &str = "mebridge_run";
    status(|| {
        with_bridge(bridge, |entry| {
            check_count(NAME, nevt, entry)?;
            let arrays = EventArrays {
                momenta,
                g_s,
                random_helicity,
                random_color,
                channels,
                igraph,
                matrix_elements,
                helicity,
                color,
            };
            // SAFETY: guaranteed by the caller.
            unsafe { arrays.run(NAME, entry, nevt) }
        })
    })
}

/// Sets the channel weights used from the next `mebridge_run` on: `strategy` is MadEvent's `sde_strategy`, 1 (squared
/// diagrams, the default of a new bridge) or 2 (products of propagators). `s` is the squared centre-of-mass energy of
/// the beams in GeV^2, used by strategy 2 only.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_set_sde_strategy(
    bridge: *mut MebridgeBridge,
    strategy: i32,
    s: f64,
) -> i32 {
    status(|| {
        with_bridge(bridge, |entry| {
            let weights = channel_weights("mebridge_set_sde_strategy", strategy, s)?;
            entry.bridge.set_channel_weights(weights)
        })
    })
}

/// Sets the list of channels used from the next `mebridge_run` on: a channel, and likewise a configuration (`igraph`),
/// is the number of a topology in this list, from 1. Weights are products of propagators as in `sde_strategy` 2, with
/// `s` the squared centre-of-mass energy of the beams in GeV^2. `topologies` is a JSON list as returned by
/// `mebridge_topologies`, or a part of it; only `vertices` and `parameters` of each entry are read.
/// `mebridge_set_sde_strategy` restores the channels of the process.
///
/// # Safety
/// `topologies` is NULL or a string that ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_set_channels(
    bridge: *mut MebridgeBridge,
    topologies: *const c_char,
    s: f64,
) -> i32 {
    const NAME: &str = "mebridge_set_channels";
    status(|| {
        // SAFETY: guaranteed by the caller.
        let list = unsafe { stated(NAME, topologies) }?;
        with_bridge(bridge, |entry| entry.bridge.set_channels(&list, s))
    })
}

/// Computes the weights that channels would have after `mebridge_set_channels`, without |M|^2: no matrix element is
/// evaluated, and the bridge does not change.
///
/// In: `topologies` and `s` as for `mebridge_set_channels`; `momenta[nevt][legs][4]`, for any number of events.
///
/// Out: `weights[nevt][topologies]`; the weights of an event add up to 1.
///
/// # Safety
/// `topologies` is NULL or a string that ends in NUL. The arrays have these lengths and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_channel_weights(
    bridge: *mut MebridgeBridge,
    topologies: *const c_char,
    s: f64,
    nevt: usize,
    momenta: *const f64,
    weights: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_channel_weights";
    status(|| {
        // SAFETY: guaranteed by the caller.
        let list = unsafe { stated(NAME, topologies) }?;
        with_bridge(bridge, |entry| {
            let legs = entry.bridge.process().legs.len();
            // SAFETY: guaranteed by the caller; NULL and misalignment are rejected.
            let (momenta, weights) = unsafe {
                (
                    input(
                        NAME,
                        "momenta",
                        momenta,
                        number_count(NAME, nevt, 4 * legs)?,
                    )?,
                    output(
                        NAME,
                        "weights",
                        weights,
                        number_count(NAME, nevt, list.len())?,
                    )?,
                )
            };
            entry.bridge.channel_weights(&list, s, momenta, weights)
        })
    })
}

/// Parses the caller's list of channels.
///
/// # Safety
/// `topologies` is NULL, which is rejected, or a string that ends in NUL.
unsafe fn stated(name: &'static str, topologies: *const c_char) -> Result<Vec<Topology>> {
    // SAFETY: guaranteed by the caller; NULL is rejected.
    let text = unsafe { string(name, "topologies", topologies) }?;
    let refused = |error| {
        let form =
            "it is a list of {\"vertices\": .., \"parameters\": ..} as in mebridge_topologies";
        argument_error(name, format!("topologies: {error}; {form}"))
    };
    serde_json::from_slice(text.to_bytes()).map_err(refused)
}

/// Returns the topologies that a sampler needs as a JSON list, in the format of `channels` in `mebridge_description`.
/// These are the channels of the process. If its diagrams are not listed, they are all topologies whose vertices join
/// three lines, without `diagrams`; of topologies that differ only by permutations of equal gluons in the final state,
/// one is listed. Valid until the bridge is deleted. NULL if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_topologies(bridge: *const MebridgeBridge) -> *const c_char {
    kept_json(
        bridge,
        |entry| &mut entry.topologies,
        |bridge| topologies(&bridge.process().with_card(bridge.card())),
    )
}

/// Returns JSON about a bridge, made once for its current parameters: `place` selects where it is kept, `make` computes
/// its content. NULL if there is no such bridge.
fn kept_json<T: Serialize>(
    bridge: *const MebridgeBridge,
    place: fn(&mut Entry) -> &mut Option<CString>,
    make: fn(&Bridge) -> Result<T>,
) -> *const c_char {
    let mut text = std::ptr::null();
    status(|| {
        with_bridge(bridge, |entry| {
            if place(entry).is_none() {
                let made = make(&entry.bridge)?;
                let json = serde_json::to_string(&made).map_err(|e| Error::Internal {
                    what: e.to_string(),
                })?;
                *place(entry) = Some(c_name(&json));
            }
            // The string stays at its address even if the entry moves.
            text = place(entry).as_ref().map_or(text, |json| json.as_ptr());
            Ok(())
        })
    });
    text
}

/// Evaluates each helicity of one event separately, whatever number of events the bridge was created for.
///
/// In: `momenta[legs][4]` and `g_s` as for `mebridge_run`. `all`: whether to evaluate helicities whose |M|^2 vanishes,
/// too, since their AMP2 and JAMP2 may not vanish; otherwise all of their results are zero.
///
/// Out; each may be NULL:
/// - `contributions[helicities]`: |M|^2 of each row of the helicity table, summed over colours, without the average;
/// - `amp2[helicities][diagrams]`: the square of each diagram, 0 for diagrams without a channel;
/// - `jamp2[helicities][colors]`: the weight of each colour flow.
///
/// # Safety
/// The arrays have these lengths, and no output overlaps another array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_one_event(
    bridge: *mut MebridgeBridge,
    momenta: *const f64,
    g_s: f64,
    all: bool,
    contributions: *mut f64,
    amp2: *mut f64,
    jamp2: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_one_event";
    status(|| {
        with_bridge(bridge, |entry| {
            let legs = entry.bridge.process().legs.len();
            // SAFETY: guaranteed by the caller; NULL and misalignment are rejected, and nothing is written before the
            // event is evaluated.
            let event = entry.bridge.one_event(
                unsafe { input(NAME, "momenta", momenta, 4 * legs) }?,
                g_s,
                all,
            )?;
            let written = |to, from: &[f64]| CallerArray::new(to, from.len(), PointerAccess::Write);
            check_apart(
                NAME,
                [
                    (
                        "momenta",
                        CallerArray::new(momenta, 4 * legs, PointerAccess::Read),
                    ),
                    (
                        "contributions",
                        written(contributions, &event.contributions),
                    ),
                    ("amp2", written(amp2, &event.amp2)),
                    ("jamp2", written(jamp2, &event.jamp2)),
                ],
            )?;
            let outputs = [
                ("contributions", contributions, &event.contributions),
                ("amp2", amp2, &event.amp2),
                ("jamp2", jamp2, &event.jamp2),
            ];
            for (name, to, from) in outputs {
                if !to.is_null() {
                    // SAFETY: guaranteed by the caller; misalignment is rejected.
                    let to = unsafe { output(NAME, name, to, from.len()) }?;
                    to.copy_from_slice(from);
                }
            }
            Ok(())
        })
    })
}

/// A sample of events, in any memory layout, and the arrays for its results. Optional inputs and unwanted results are
/// NULL; set all fields except `size` to zero first (`struct mebridge_sample sample = {.size = sizeof sample};`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MebridgeSample {
    /// `sizeof(struct mebridge_sample)`: later versions append fields.
    pub size: usize,
    /// Number of events, not limited.
    pub events: usize,
    /// (E, px, py, pz) of all legs in GeV, with positive energy for incoming particles.
    pub momenta: *const f64,
    /// Distance, in numbers, between successive events, legs and components of a momentum; may be negative.
    pub momenta_strides: [isize; 3],
    /// `alpha_s[events]`; NULL: the parameter `aS` of the card, 0.118 if there is none.
    pub alpha_s: *const f64,
    /// `random_helicity[events]`, in [0, 1) like all random numbers (other values count as in `mebridge_run`); NULL:
    /// 0.5.
    pub random_helicity: *const f64,
    /// `random_color[events]`
    pub random_color: *const f64,
    /// `random_diagram[events]`
    pub random_diagram: *const f64,
    /// `fixed_helicity[events]`: rows of the helicity table, from 0. The matrix element is the contribution of this
    /// helicity alone; NULL: the sum over all helicities.
    pub fixed_helicity: *const i32,
    /// `fixed_diagram[events]`: diagrams, from 0, that determine the allowed colour flows; NULL: a diagram is drawn.
    pub fixed_diagram: *const i32,
    /// `matrix_elements[events]`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours and
    /// averaged over those of the initial state, without any channel weight. Never NULL. NaN for an event whose momenta
    /// are not finite, not on their mass shells or not conserved, and where |M|^2 itself is not finite (at a pole).
    pub matrix_elements: *mut f64,
    /// `helicity[events]`: the row of the helicity table, from 0, drawn in proportion to its contribution.
    pub helicity: *mut i32,
    /// `color[events]`: the colour flow, from 0, drawn among those that the diagram allows.
    pub color: *mut i32,
    /// `diagram[events]`: the diagram, from 0, drawn in proportion to the squared diagrams.
    pub diagram: *mut i32,
    /// `amp2[diagrams][events]`: squared diagrams, divided by the sum over diagrams that have a channel.
    pub amp2: *mut f64,
    /// Distance, in numbers, between successive diagrams in `amp2`; at least `events`.
    pub amp2_stride: usize,
    /// Out: number of events whose matrix element is NaN.
    pub bad_events: usize,
    /// `fixed_color[events]`: colour flows, from 0. The matrix element is the square of this flow alone, at leading colour:
    /// its entry on the diagonal of the colour matrix times |JAMP|^2, summed over helicities. Many events of different
    /// flows take a small part of the time of their sum. Only on the CPU, and with no other output. NULL: all flows.
    pub fixed_color: *const i32,
}

/// Evaluates a sample on the CPU. Bad events are not an error; `mebridge_last_error` describes the first of them.
///
/// # Safety
/// The arrays have these lengths, and no output overlaps another array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_evaluate(
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
) -> i32 {
    const NAME: &str = "mebridge_evaluate";
    // SAFETY: guaranteed by the caller.
    status(|| unsafe { evaluate_sample(NAME, bridge, sample) })
}

/// Implements [`mebridge_evaluate`], also for the other interfaces.
///
/// # Safety
/// As for the public function.
pub(super) unsafe fn evaluate_sample(
    name: &'static str,
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
) -> Result<()> {
    // SAFETY: guaranteed by the caller; NULL is rejected.
    unsafe {
        with_sample(name, sample, |request| {
            let own = CallerArray::new(sample.cast::<u8>(), request.size, PointerAccess::Write);
            with_bridge(bridge, |entry| evaluate(name, entry, request, own))
        })
    }
}

/// Evaluates a sample in the memory of a GPU, with a bridge created for one (BACKEND "cuda" or "hip"): all pointers of
/// the sample are device addresses, and `matrix_elements` may be NULL. All work goes into the CUstream `stream`; NULL
/// is the legacy default stream. The function returns once the work is queued, without waiting for it. `bad_events` is
/// 0: only a matrix element of NaN marks a bad event, and likewise an index out of range. At a precision below double,
/// an event whose sum of squares cannot be formed (soft gluons, near the beam) is NaN too, and the shares of its
/// diagrams may be 0: unlike `mebridge_evaluate`, this function does not wait for the results, so such events are not
/// evaluated again in double precision. The first call compiles.
///
/// # Safety
/// The arrays have these lengths, no output overlaps another array, and arrays and stream stay valid until the stream
/// has completed the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_evaluate_on_device(
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
    stream: *mut c_void,
) -> i32 {
    const NAME: &str = "mebridge_evaluate_on_device";
    // SAFETY: guaranteed by the caller.
    status(|| unsafe { evaluate_sample_on_device(NAME, bridge, sample, stream) })
}

/// Implements [`mebridge_evaluate_on_device`], also for the other interfaces.
///
/// # Safety
/// As for the public function.
pub(super) unsafe fn evaluate_sample_on_device(
    name: &'static str,
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: guaranteed by the caller; NULL is rejected.
    unsafe {
        with_sample(name, sample, |request| {
            with_bridge(bridge, |entry| {
                evaluate_on_device(name, entry, request, stream)
            })
        })
    }
}

/// Waits until the work of all calls of `mebridge_evaluate_on_device` for this bridge is done.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_wait_for_device(bridge: *mut MebridgeBridge) -> i32 {
    status(|| with_bridge(bridge, |entry| entry.bridge.wait_for_device()))
}

const _: () =
    assert!(offset_of!(MebridgeOptions, size) == 0 && offset_of!(MebridgeSample, size) == 0);

// SAFETY: `repr(C)`, its size first; all members are numbers, pointers and a bool, which is listed.
unsafe impl SizedStruct for MebridgeOptions {
    const NAME: &'static str = "mebridge_options";
    const BOOLS: &'static [usize] = &[offset_of!(MebridgeOptions, all_helicities)];
}

// SAFETY: `repr(C)`, its size first; all members are numbers and pointers.
unsafe impl SizedStruct for MebridgeSample {
    const NAME: &'static str = "mebridge_sample";
}

/// Runs `f` on a copy of the caller's sample, with zeros for members that the caller's version lacks, and writes the
/// number of bad events back.
///
/// # Safety
/// The pointer is NULL or points to a sample whose `size` is right.
unsafe fn with_sample(
    name: &'static str,
    sample: *mut MebridgeSample,
    f: impl FnOnce(&mut MebridgeSample) -> Result<()>,
) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let mut request = unsafe { sized::read(name, "sample", sample) }?;
    let done = f(&mut request);
    let at = offset_of!(MebridgeSample, bad_events);
    // SAFETY: as above.
    unsafe { sized::write(sample, request.size, at, request.bad_events) };
    done
}

/// # Safety
/// As for [`mebridge_evaluate_on_device`].
unsafe fn evaluate_on_device(
    name: &'static str,
    entry: &mut Entry,
    request: &mut MebridgeSample,
    stream: *mut c_void,
) -> Result<()> {
    request.bad_events = 0;
    if request.events == 0 {
        return Ok(());
    }
    if !request.fixed_color.is_null() {
        let what = "sample->fixed_color works on the CPU; use mebridge_evaluate".to_owned();
        return Err(argument_error(name, what));
    }
    let process = entry.bridge.process();
    let (legs, diagrams) = (process.legs.len(), process.diagrams as usize);
    check_extents(name, request, legs, diagrams)?;
    check_sample_apart(name, request, legs, diagrams, None)?;
    fn address<T>(pointer: *const T) -> u64 {
        pointer as usize as u64
    }
    let [event, leg, component] = request.momenta_strides;
    let sample = DeviceSample {
        events: request.events,
        momenta: address(request.momenta),
        strides: Strides {
            event,
            leg,
            component,
        },
        alpha_s: address(request.alpha_s),
        default_g_s: super::default_g_s(&process.model, entry.bridge.card()),
        random_helicity: address(request.random_helicity),
        random_color: address(request.random_color),
        random_diagram: address(request.random_diagram),
        fixed_helicity: address(request.fixed_helicity),
        fixed_diagram: address(request.fixed_diagram),
        flavor: 0,
        matrix_elements: address(request.matrix_elements),
        helicity: address(request.helicity),
        color: address(request.color),
        diagram: address(request.diagram),
        leading_color: 0,
        amp2: address(request.amp2),
        amp2_stride: request.amp2_stride,
        stream: address(stream),
        element: MatrixElementOffsets::single(entry.bridge.process().diagrams as usize),
    };
    // SAFETY: guaranteed by the caller.
    unsafe { entry.bridge.evaluate_on_device(&sample) }
}

/// Makes what is wrong with an event the last error.
fn keep_bad_event(entry: &Entry, momenta: &Momenta, event: usize) {
    let bad = momenta.part(event, 1).to_rows();
    let error = entry.bridge.what_is_wrong(&bad, event);
    keep_error(error.code(), &error.to_string());
}

/// Evaluates one colour flow for each event.
///
/// # Safety
/// As for [`mebridge_evaluate`].
unsafe fn evaluate_color_flows(
    name: &'static str,
    entry: &mut Entry,
    request: &mut MebridgeSample,
    strides: Strides,
) -> Result<()> {
    let others = [
        request.fixed_helicity.is_null() && request.fixed_diagram.is_null(),
        request.helicity.is_null() && request.color.is_null() && request.diagram.is_null(),
        request.amp2.is_null(),
    ];
    if others.contains(&false) {
        let what = "with sample->fixed_color all outputs but matrix_elements, and fixed_helicity and fixed_diagram, must be \
                    NULL";
        return Err(argument_error(name, what.to_owned()));
    }
    if entry.color_flows.is_none() {
        entry.color_flows = ColorFlowEvaluator::new(&entry.bridge)?;
    }
    let Some(evaluator) = &mut entry.color_flows else {
        let what = format!(
            "sample->fixed_color: {} has no single colour flows; it must list its diagrams, and have unpolarised gluons and \
             no interferences",
            entry.bridge.process().name
        );
        return Err(argument_error(name, what));
    };
    let (n, legs) = (request.events, entry.bridge.process().legs.len());
    let g = super::default_g_s(&entry.bridge.process().model, entry.bridge.card());
    // SAFETY: guaranteed by the caller; NULL and misalignment are rejected.
    unsafe {
        let momenta = Momenta::new(request.momenta, n, legs, strides);
        let alpha_s = input_or_none(name, "alpha_s", request.alpha_s, n)?;
        let fixed = input_or_none(name, "fixed_color", request.fixed_color, n)?.unwrap_or(&[]);
        let squared = output(name, "matrix_elements", request.matrix_elements, n)?;
        for begin in (0..n).step_by(PIECE) {
            let events = begin..n.min(begin + PIECE);
            let mut flows = Vec::with_capacity(events.len());
            for (event, &flow) in events.clone().zip(&fixed[events.clone()]) {
                match usize::try_from(flow) {
                    Ok(flow) if flow < evaluator.count() => flows.push(flow),
                    _ => {
                        let what = format!(
                            "sample->fixed_color[{event}] is {flow}; the process has the colour flows 0 to {}",
                            evaluator.count() - 1
                        );
                        return Err(argument_error(name, what));
                    }
                }
            }
            let g_s: Vec<f64> = match alpha_s {
                None => vec![g; events.len()],
                Some(all) => all[events.clone()]
                    .iter()
                    .map(|&alpha_s| g_s(alpha_s))
                    .collect(),
            };
            let part = momenta.part(begin, events.len());
            let squared = &mut squared[events];
            evaluator.evaluate(&part, &g_s, &flows, squared)?;
            let bad = squared.iter_mut().filter(|value| !value.is_finite());
            for value in bad {
                (*value, request.bad_events) = (f64::NAN, request.bad_events + 1);
            }
        }
        if let Some(event) = squared.iter().position(|value| value.is_nan()) {
            keep_bad_event(entry, &momenta, event);
        }
    }
    Ok(())
}

/// Checks the arrays of a request, and returns the strides of its momenta.
fn check_arrays(
    name: &'static str,
    request: &MebridgeSample,
    legs: usize,
    diagrams: usize,
    own: CallerArray,
) -> Result<Strides> {
    let n = request.events;
    let reach = check_extents(name, request, legs, diagrams)?;
    let [event, leg, component] = request.momenta_strides;
    let strides = Strides {
        event,
        leg,
        component,
    };
    if [event, leg, component].iter().all(|&stride| stride >= 0) {
        check(
            name,
            "momenta",
            CallerArray::new(request.momenta, reach, PointerAccess::Read),
        )?;
    }
    if !request.amp2.is_null() {
        let reach = diagrams.saturating_sub(1) * request.amp2_stride + n;
        check(
            name,
            "amp2",
            CallerArray::new(request.amp2, reach, PointerAccess::Write),
        )?;
    }
    check_sample_apart(name, request, legs, diagrams, Some(own))?;
    Ok(strides)
}

/// # Safety
/// As for [`mebridge_evaluate`].
unsafe fn evaluate(
    name: &'static str,
    entry: &mut Entry,
    request: &mut MebridgeSample,
    own: CallerArray,
) -> Result<()> {
    let (n, process) = (request.events, entry.bridge.process());
    let (legs, diagrams) = (process.legs.len(), process.diagrams as usize);
    request.bad_events = 0;
    if n == 0 {
        return Ok(());
    }
    let strides = check_arrays(name, request, legs, diagrams, own)?;
    if !request.fixed_color.is_null() {
        // SAFETY: guaranteed by the caller; the arrays have been checked.
        return unsafe { evaluate_color_flows(name, entry, request, strides) };
    }
    let piece = n.min(PIECE);
    let half = vec![0.5; piece];
    let mut couplings = vec![super::default_g_s(&process.model, entry.bridge.card()); piece];
    let mut indices = Indices::default();
    let mut buffers: [Vec<i32>; 3] = Default::default();
    let mut first_bad = None;
    // SAFETY: guaranteed by the caller; NULL and misalignment are rejected, and so are arrays that do not fit into
    // memory and outputs that overlap another array.
    unsafe {
        let momenta = Momenta::new(request.momenta, n, legs, strides);
        let doubles = |name_of, from| input_or_none(name, name_of, from, n);
        let alpha_s = doubles("alpha_s", request.alpha_s)?;
        let random_helicity = doubles("random_helicity", request.random_helicity)?;
        let random_color = doubles("random_color", request.random_color)?;
        let random_diagram = doubles("random_diagram", request.random_diagram)?;
        let fixed_helicity = input_or_none(name, "fixed_helicity", request.fixed_helicity, n)?;
        let fixed_diagram = input_or_none(name, "fixed_diagram", request.fixed_diagram, n)?;
        let mut rest = output(name, "matrix_elements", request.matrix_elements, n)?;
        let mut optional_outputs = [
            output_or_none(name, "helicity", request.helicity, n)?,
            output_or_none(name, "color", request.color, n)?,
            output_or_none(name, "diagram", request.diagram, n)?,
        ];
        let mut rows = match request.amp2.is_null() {
            true => None,
            false => Some(Rows::new(request.amp2, n, diagrams, request.amp2_stride)),
        };
        for begin in (0..n).step_by(piece) {
            let count = piece.min(n - begin);
            let events = begin..begin + count;
            let random = |from: Option<&'static [f64]>| {
                from.map_or(&half[..count], |given| &given[events.clone()])
            };
            if let Some(alpha_s) = alpha_s {
                for (g, &alpha_s) in couplings.iter_mut().zip(&alpha_s[events.clone()]) {
                    *g = g_s(alpha_s);
                }
            }
            let [helicity, diagram] = indices.copy(
                fixed_helicity.map(|all: &[i32]| &all[events.clone()]),
                fixed_diagram.map(|all: &[i32]| &all[events.clone()]),
            )?;
            let sample = Sample {
                points: Points {
                    momenta: momenta.part(begin, count),
                    g_s: &couplings[..count],
                    random_helicity: random(random_helicity),
                    random_color: random(random_color),
                },
                random_diagram: random(random_diagram),
                helicity,
                diagram,
                diagrams: !(request.color.is_null()
                    && request.diagram.is_null()
                    && request.amp2.is_null()),
            };
            let (matrix_elements, others) = std::mem::take(&mut rest).split_at_mut(count);
            rest = others;
            let [to_helicity, to_color, to_diagram] = &mut optional_outputs;
            let [helicity_buffer, color_buffer, diagram_buffer] = &mut buffers;
            let mut part_rows = None;
            if let Some(all) = rows.take() {
                let (part, others) = all.split(count);
                (part_rows, rows) = (Some(part), Some(others));
            }
            let answers = SampleAnswers {
                outputs: Outputs {
                    matrix_elements,
                    helicity: front_or(to_helicity, helicity_buffer, count),
                    color: front_or(to_color, color_buffer, count),
                },
                diagram: front_or(to_diagram, diagram_buffer, count),
                amp2: part_rows,
            };
            let bad = entry.bridge.evaluate(&sample, answers);
            let bad = bad.map_err(|error| error.with_event_offset(begin))?;
            request.bad_events += bad.count;
            first_bad = first_bad.or(bad.first.map(|event| begin + event));
        }
        if let Some(event) = first_bad {
            keep_bad_event(entry, &momenta, event);
        }
    }
    Ok(())
}

/// Returns the next `count` entries of the caller's array, or `count` entries of the buffer `own` if there is no such
/// array.
fn front_or<'a>(
    given: &mut Option<&'static mut [i32]>,
    own: &'a mut Vec<i32>,
    count: usize,
) -> &'a mut [i32] {
    match given {
        Some(rest) => {
            let (front, others) = std::mem::take(rest).split_at_mut(count);
            *rest = others;
            front
        }
        None => {
            own.resize(count, 0);
            own
        }
    }
}

/// Checks that the strides and lengths of a sample's arrays are possible. Returns the number of doubles that the
/// momenta span.
fn check_extents(
    name: &'static str,
    request: &MebridgeSample,
    legs: usize,
    diagrams: usize,
) -> Result<usize> {
    let n = request.events;
    check(
        name,
        "momenta",
        CallerArray::new(request.momenta, 1, PointerAccess::Read),
    )?;
    number_count(name, n, 1)?;
    let last = [n - 1, legs.saturating_sub(1), 3];
    let mut reach = 0usize;
    for (stride, last) in request.momenta_strides.iter().zip(last) {
        let here = stride.unsigned_abs().checked_mul(last);
        reach = here
            .and_then(|here| reach.checked_add(here))
            .filter(|&reach| reach < MAX_NUMBERS)
            .ok_or_else(|| argument_error(name, format!(
                    "momenta_strides are {:?}, with which {n} events reach beyond the end of memory",
                    request.momenta_strides
                )))?;
    }
    if request.amp2.is_null() {
        return Ok(reach + 1);
    }
    check(
        name,
        "amp2",
        CallerArray::new(request.amp2, 1, PointerAccess::Write),
    )?;
    if request.amp2_stride < n {
        return Err(argument_error(
            name,
            format!(
                "amp2_stride is {}, but there are {n} events",
                request.amp2_stride
            ),
        ));
    }
    number_count(name, request.amp2_stride, diagrams)?;
    Ok(reach + 1)
}

/// Rejects a sample if an array that is written overlaps another array. In host memory, where the sample itself (`own`)
/// lies, each array is checked by itself first.
fn check_sample_apart(
    name: &'static str,
    request: &MebridgeSample,
    legs: usize,
    diagrams: usize,
    own: Option<CallerArray>,
) -> Result<()> {
    let n = request.events;
    let doubles = |pointer: *const f64| CallerArray::new(pointer, n, PointerAccess::Read);
    let integers = |pointer: *const i32, access| CallerArray::new(pointer, n, access);
    let rows = [
        ("alpha_s", doubles(request.alpha_s)),
        ("random_helicity", doubles(request.random_helicity)),
        ("random_color", doubles(request.random_color)),
        ("random_diagram", doubles(request.random_diagram)),
        (
            "fixed_helicity",
            integers(request.fixed_helicity, PointerAccess::Read),
        ),
        (
            "fixed_diagram",
            integers(request.fixed_diagram, PointerAccess::Read),
        ),
        (
            "fixed_color",
            integers(request.fixed_color, PointerAccess::Read),
        ),
        (
            "matrix_elements",
            CallerArray::new(request.matrix_elements, n, PointerAccess::Write),
        ),
        ("helicity", integers(request.helicity, PointerAccess::Write)),
        ("color", integers(request.color, PointerAccess::Write)),
        ("diagram", integers(request.diagram, PointerAccess::Write)),
    ];
    let there = |&(_, array): &(&str, CallerArray)| array.address != 0;
    if own.is_some() {
        for (row, array) in rows.into_iter().filter(there) {
            check(name, row, array)?;
        }
    }
    let [event, leg, component] = request.momenta_strides;
    let momenta = StridedArray::new(
        CallerArray::new(request.momenta, 1, PointerAccess::Read),
        [(n, event), (legs, leg), (4, component)],
    );
    let amp2 = StridedArray::new(
        CallerArray::new(request.amp2, 1, PointerAccess::Write),
        [(n, 1), (diagrams, request.amp2_stride as isize), (1, 0)],
    );
    let own = own.map(|own| ("sample", StridedArray::contiguous(own)));
    let amp2 = (!request.amp2.is_null()).then_some(("amp2", amp2));
    let rows = rows.into_iter().filter(there);
    let rows = rows.map(|(row, array)| (row, StridedArray::contiguous(array)));
    let arrays = own.into_iter().chain([("momenta", momenta)]);
    let arrays: Vec<(&str, StridedArray)> = arrays.chain(rows).chain(amp2).collect();
    for (i, (written_name, written)) in arrays.iter().enumerate() {
        // Arrays that are only read precede the written ones, and the sample at index 0 has nothing before it.
        if written.first.access == PointerAccess::Write && i > 0 {
            let mut others = arrays[..i].iter();
            if let Some((other, _)) = others.find(|(_, other)| other.overlaps(written)) {
                return Err(overlap_error(name, other, written_name));
            }
        }
    }
    Ok(())
}

/// Returns everything that a sampler needs to know about the process (legs, channels as topologies with propagators,
/// colour flows, helicities, flavours), as one JSON object in the format of MadGraph7's subprocesses.json. Masses and
/// widths follow from the parameters of the bridge at this call. Valid until the bridge is deleted. NULL if there is no
/// such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_description(bridge: *const MebridgeBridge) -> *const c_char {
    kept_json(
        bridge,
        |entry| &mut entry.description,
        |bridge| {
            let process = bridge.process().with_card(bridge.card());
            describe(&[process], &[false], "", "")
        },
    )
}

/// Returns the number of parameters of the card, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_parameters(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().model.card.len() as i64)
}

/// Returns the name of parameter `number` of the card, from 0, such as "MDL_MT". Valid until the bridge is deleted.
/// NULL if there is no such parameter.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_parameter_name(
    bridge: *const MebridgeBridge,
    number: usize,
) -> *const c_char {
    let mut name = std::ptr::null();
    status(|| {
        with_bridge(bridge, |entry| {
            if entry.parameters.is_empty() {
                let card = &entry.bridge.process().model.card;
                entry.parameters = card.iter().map(|p| c_name(&p.name)).collect();
            }
            name = entry
                .parameters
                .get(number)
                .map_or(name, |text| text.as_ptr());
            Ok(())
        })
    });
    name
}

/// Puts the value of a parameter of the card into `value`. The case of `name` and its prefix MDL_ do not matter.
///
/// # Safety
/// The name ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_parameter(
    bridge: *const MebridgeBridge,
    name: *const c_char,
    value: *mut f64,
) -> i32 {
    const NAME: &str = "mebridge_parameter";
    status(|| {
        with_bridge(bridge, |entry| {
            // SAFETY: guaranteed by the caller; NULL is rejected.
            unsafe {
                let number = parameter(NAME, entry, name)?;
                write(NAME, "value", value, entry.bridge.card()[number])
            }
        })
    })
}

/// Sets a parameter of the card from the next call on. Everything that depends on it is recomputed, plans included;
/// widths are independent parameters and do not change.
///
/// # Safety
/// The name ends in NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_set_parameter(
    bridge: *mut MebridgeBridge,
    name: *const c_char,
    value: f64,
) -> i32 {
    const NAME: &str = "mebridge_set_parameter";
    status(|| {
        with_bridge(bridge, |entry| {
            // SAFETY: guaranteed by the caller.
            let number = unsafe { parameter(NAME, entry, name) }?;
            if !value.is_finite() {
                let name = &entry.bridge.process().model.card[number].name;
                return Err(argument_error(
                    NAME,
                    format!("{name} cannot be {value}; it needs a finite value"),
                ));
            }
            let mut card = entry.bridge.card().to_vec();
            card[number] = value;
            entry.bridge.set_card(&card)?;
            entry.color_flows = None;
            let texts = [entry.description.take(), entry.topologies.take()];
            entry.former_texts.extend(texts.into_iter().flatten());
            Ok(())
        })
    })
}

/// # Safety
/// The name is null or ends in NUL.
unsafe fn parameter(function: &'static str, entry: &Entry, name: *const c_char) -> Result<usize> {
    // SAFETY: guaranteed by the caller; NULL is rejected.
    let name = unsafe { string(function, "name", name) }?.to_string_lossy();
    let model = &entry.bridge.process().model;
    model.card_parameter(&name).ok_or_else(|| {
        let known: Vec<&str> = model.card.iter().map(|p| p.name.as_str()).collect();
        argument_error(
            function,
            format!(
                "there is no parameter {name}; there are {}",
                known.join(", ")
            ),
        )
    })
}

/// Finds the good helicities, those that contribute somewhere in phase space, and puts their number into `good` (which
/// may be NULL). The result does not depend on these events. `mebridge_run` does the same on its first call.
///
/// # Safety
/// `momenta[nevt][legs][4]` and `g_s[nevt]` as for `mebridge_run`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_find_good_helicities(
    bridge: *mut MebridgeBridge,
    nevt: usize,
    momenta: *const f64,
    g_s: *const f64,
    good: *mut usize,
) -> i32 {
    const NAME: &str = "mebridge_find_good_helicities";
    status(|| {
        with_bridge(bridge, |entry| {
            check_count(NAME, nevt, entry)?;
            let legs = entry.bridge.process().legs.len();
            // SAFETY: guaranteed by the caller; NULL and misalignment are rejected.
            let events = unsafe {
                let g_s = input(NAME, "g_s", g_s, nevt)?;
                Events {
                    momenta: input(
                        NAME,
                        "momenta",
                        momenta,
                        number_count(NAME, nevt, 4 * legs)?,
                    )?,
                    g_s,
                    // No helicity or colour is selected here.
                    random_helicity: g_s,
                    random_color: g_s,
                    channels: None,
                    igraph: None,
                }
            };
            let found = entry.bridge.prepare(&events)?;
            if good.is_null() {
                return Ok(());
            }
            // SAFETY: guaranteed by the caller.
            unsafe { write(NAME, "good", good, found) }
        })
    })
}

/// Returns the number of good helicities, or -1 if they have not been found yet or there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_good_helicities(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| {
        e.bridge.good_helicities().map_or(-1, |n| n as i64)
    })
}

/// Returns the number of helicity configurations, good or not, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_helicities(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().helicities.len() as i64)
}

/// Returns the number of external legs, incoming ones included, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_legs(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().legs.len() as i64)
}

/// Returns the number of colour flows, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_colors(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().amplitudes.jamps() as i64)
}

/// Returns the number of diagrams, the range of channel numbers, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_diagrams(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| i64::from(e.bridge.process().diagrams))
}

/// Returns the number of events of a call, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_nevt(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.nevt() as i64)
}

/// Writes the helicities of the legs in a row of the helicity table; `row` counts from 1 as in the results of
/// `mebridge_run`.
///
/// # Safety
/// `helicities` has `legs` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_helicity(
    bridge: *const MebridgeBridge,
    row: usize,
    helicities: *mut i32,
) -> i32 {
    const NAME: &str = "mebridge_helicity";
    status(|| {
        with_bridge(bridge, |entry| {
            let table = &entry.bridge.process().helicities;
            let Some(row) = row.checked_sub(1).and_then(|i| table.get(i)) else {
                return Err(argument_error(
                    NAME,
                    format!(
                        "there is no row {row}, the table has rows 1 to {}",
                        table.len()
                    ),
                ));
            };
            // SAFETY: guaranteed by the caller; NULL and misalignment are rejected.
            let out = unsafe { output(NAME, "helicities", helicities, row.len()) }?;
            for (out, &helicity) in out.iter_mut().zip(row) {
                *out = helicity.into();
            }
            Ok(())
        })
    })
}

/// Returns the name of the process as MG5aMC writes it, such as "g g > t t~". Valid until the bridge is deleted. NULL
/// if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_process_name(bridge: *const MebridgeBridge) -> *const c_char {
    let mut name = std::ptr::null();
    status(|| {
        with_bridge(bridge, |entry| {
            // The string stays at its address even if the entry moves.
            name = entry.name.as_ptr();
            Ok(())
        })
    });
    name
}

/// Maximum number of bytes in the text of an event without its particles, see `mebridge_lhe_events`.
pub const MEBRIDGE_LHE_EVENT_BYTES: usize = 160;
/// Maximum number of bytes in the text of each particle.
pub const MEBRIDGE_LHE_PARTICLE_BYTES: usize = 240;

const _: () = assert!(MEBRIDGE_LHE_EVENT_BYTES == mebridge_lhe::EVENT_TEXT);
const _: () = assert!(MEBRIDGE_LHE_PARTICLE_BYTES == mebridge_lhe::PARTICLE_TEXT);

/// Writes events as `<event>` blocks of the Les Houches Accord (hep-ph/0109068). Needs no bridge.
///
/// `records` holds `events` packed records of `particles` particles each: the process (4-byte integer), weight, scale,
/// alpha and alpha_s (doubles); then for each particle PDG code, status, two mothers, colour, anticolour (4-byte
/// integers), px, py, pz, E, mass (GeV), lifetime and spin (doubles). Records of events with fewer particles end in
/// zeros. Weights are multiplied by `weight_factor`.
///
/// `text` holds `capacity` bytes, at least `events * (MEBRIDGE_LHE_EVENT_BYTES + MEBRIDGE_LHE_PARTICLE_BYTES *
/// particles)`. `written` receives the length of the text; no NUL is appended.
///
/// # Safety
/// The pointers are valid for these sizes, and `text` does not overlap the records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_lhe_events(
    records: *const c_void,
    events: usize,
    particles: usize,
    weight_factor: f64,
    text: *mut c_char,
    capacity: usize,
    written: *mut usize,
) -> i32 {
    const NAME: &str = "mebridge_lhe_events";
    status(|| {
        if particles == 0 {
            return Err(argument_error(NAME, "particles is 0; every event has some"));
        }
        let bytes =
            |each: Option<usize>| number_count(NAME, events.max(1), each.unwrap_or(usize::MAX));
        let read = bytes(mebridge_lhe::record_bytes(particles))?;
        let needed = bytes(mebridge_lhe::text_bytes(particles))?;
        if capacity < needed {
            let what =
                format!("text holds {capacity} bytes, but {events} events may need {needed}");
            return Err(argument_error(NAME, what));
        }
        if events > 0 {
            check_apart(
                NAME,
                [
                    (
                        "records",
                        CallerArray::new(records.cast::<u8>(), read, PointerAccess::Read),
                    ),
                    (
                        "text",
                        CallerArray::new(text.cast::<u8>(), needed, PointerAccess::Write),
                    ),
                    (
                        "written",
                        CallerArray::new(
                            written.cast::<u8>(),
                            size_of::<usize>(),
                            PointerAccess::Write,
                        ),
                    ),
                ],
            )?;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { write(NAME, "written", written, 0) }?;
        if events == 0 {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        let records = unsafe { input(NAME, "records", records.cast::<u8>(), read) }?;
        let mut events = Vec::with_capacity(needed);
        mebridge_lhe::push_events(&mut events, records, particles, weight_factor)?;
        // SAFETY: guaranteed by the caller; the text is no longer than `capacity`.
        let text = unsafe { output(NAME, "text", text.cast::<u8>(), events.len()) }?;
        text.copy_from_slice(&events);
        // SAFETY: guaranteed by the caller.
        unsafe { write(NAME, "written", written, events.len()) }
    })
}

/// # Safety
/// The strings end in NUL.
unsafe fn switches(options: &MebridgeOptions) -> Result<Switches> {
    let strings = [
        ("PROCESS", options.process),
        ("PARAMCARD", options.param_card),
        ("BACKEND", options.backend),
        ("SIMD", options.simd),
        ("FPTYPE", options.fptype),
        ("CACHE", options.cache),
        ("MODEL", options.model),
    ];
    let mut switches = Switches {
        cache: CachePlace::User,
        ..Switches::default()
    };
    for (name, value) in strings {
        if !value.is_null() {
            // SAFETY: guaranteed by the caller.
            let value = unsafe { CStr::from_ptr(value) };
            let named = value.to_str().ok().and_then(|v| v.split_once(':'));
            if let ("BACKEND", Some((platform @ ("cuda" | "hip"), device))) = (name, named) {
                switches.set(name, platform.into())?;
                switches.set("DEVICE", device.into())?;
                continue;
            }
            switches.set(name, os_string(value))?;
        }
    }
    if options.threads != 0 {
        switches.set("THREADS", options.threads.to_string().into())?;
    }
    switches.good_helicities_all = options.all_helicities;
    Ok(switches)
}

#[cfg(unix)]
pub(super) fn os_string(value: &CStr) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt;
    std::ffi::OsString::from_vec(value.to_bytes().to_vec())
}

#[cfg(not(unix))]
pub(super) fn os_string(value: &CStr) -> std::ffi::OsString {
    value.to_string_lossy().into_owned().into()
}

fn check_count(function: &'static str, nevt: usize, entry: &Entry) -> Result<()> {
    let created = entry.bridge.nevt();
    if nevt == created {
        return Ok(());
    }
    Err(argument_error(
        function,
        format!(
            "nevt is {nevt}, but this bridge was created for {created} events a call; pass as many, \
             or create another bridge"
        ),
    ))
}

pub(super) fn with_bridge<T>(
    bridge: *const MebridgeBridge,
    f: impl FnOnce(&mut Entry) -> Result<T>,
) -> Result<T> {
    registry::with_entry(bridge as usize as u64, f)
}

fn query(bridge: *const MebridgeBridge, f: impl FnOnce(&Entry) -> i64) -> i64 {
    let mut value = -1;
    status(|| {
        with_bridge(bridge, |entry| {
            value = f(entry);
            Ok(())
        })
    });
    value
}

/// Runs `f` and keeps an error as the last one of this thread.
pub(super) fn status(f: impl FnOnce() -> Result<()>) -> i32 {
    match no_panic(f) {
        Ok(()) => MEBRIDGE_OK,
        Err(Error::CallWithinCall) => {
            keep_nested_call();
            MEBRIDGE_ERROR
        }
        Err(error) => {
            keep_error(error.code(), &error.to_string());
            MEBRIDGE_ERROR
        }
    }
}

/// Keeps code and message of a failure for `mebridge_last_error`.
pub(super) fn keep_error(code: &str, text: &str) {
    let last = [code, text].map(c_name);
    LAST_WITHIN.with(|within| within.store(false, Ordering::SeqCst));
    // In a thread that ends, the error has nowhere to go.
    let _ = LAST_ERROR.try_with(|kept| kept.replace(last));
}

/// Keeps the error of a call within a call; async-signal-safe.
pub(super) fn keep_nested_call() {
    LAST_WITHIN.with(|within| within.store(true, Ordering::SeqCst));
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_support::sorted::SortedSet;

    /// Masses and widths of all propagators, and the JSON text that contains them.
    fn lines(
        bridge: *mut MebridgeBridge,
        tell: extern "C" fn(*const MebridgeBridge) -> *const c_char,
    ) -> (SortedSet<String>, *const c_char) {
        let text = tell(bridge);
        // SAFETY: the text ends in NUL, and the bridge is open.
        let json = unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8");
        let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let channels = value.get("channels").unwrap_or(&value);
        let channels = channels.as_array().expect("channels").iter();
        let lines = channels.flat_map(|c| c["masses"].as_array().expect("masses"));
        (lines.map(|line| line.to_string()).collect(), text)
    }

    #[test]
    fn descriptions_have_the_parameters_of_the_bridge() {
        let options = MebridgeOptions {
            size: size_of::<MebridgeOptions>(),
            process: c"g g > t t~".as_ptr(),
            param_card: std::ptr::null(),
            backend: c"cpu".as_ptr(),
            simd: std::ptr::null(),
            fptype: std::ptr::null(),
            threads: 1,
            all_helicities: false,
            cache: c"off".as_ptr(),
            model: std::ptr::null(),
        };
        let mut bridge = std::ptr::null_mut();
        // SAFETY: both pointers are valid.
        let made = unsafe { mebridge_create(&options, 1, &mut bridge) };
        assert_eq!(made, MEBRIDGE_OK);
        for tell in [mebridge_description, mebridge_topologies] {
            // SAFETY: the name ends in NUL.
            let set = |value| unsafe { mebridge_set_parameter(bridge, c"MT".as_ptr(), value) };
            assert_eq!(set(173.0), MEBRIDGE_OK);
            let (before, text) = lines(bridge, tell);
            assert!(before.contains("[173.0,1.4915]"), "{before:?}");
            assert_eq!(lines(bridge, tell).1, text);
            assert_eq!(set(150.0), MEBRIDGE_OK);
            let (after, other) = lines(bridge, tell);
            assert!(after.contains("[150.0,1.4915]"), "{after:?}");
            assert!(!after.contains("[173.0,1.4915]"), "{after:?}");
            // A caller may still hold the former text.
            assert_ne!(text, other);
            // SAFETY: the text is valid until the bridge is deleted.
            let former = unsafe { CStr::from_ptr(text) }.to_str();
            assert!(former.expect("UTF-8").contains("173.0"));
        }
        assert_eq!(mebridge_delete(bridge), MEBRIDGE_OK);
    }
}
