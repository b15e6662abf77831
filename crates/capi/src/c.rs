//! The C interface: what `include/mebridge.h` declares.
//!
//! The header is made from this file, `densities.rs` and `events.rs` by cbindgen, its comments from the ones there; the test
//! `the_headers_are_those_of_this_version` fails where the committed one is another.
//!
//! A bridge is an opaque pointer for the compiler's sake; its value is the registry's number and
//! is never followed. Every function that can fail gives 0 or a code, and keeps the message of the
//! last failure for its thread.

use super::event_arrays::EventArrays;
use super::fbridge::{c_name, channel_weights};
use super::generation::Caller;
use super::no_panic;
use super::pointers::{
    CallerArray, MOST_NUMBERS, PointerAccess, Spread, check, check_apart, input, input_or_none,
    numbers, output, output_or_none, overlap, put, string, wrong,
};
use super::registry::{self, Entry, Indices};
use super::sized::{self, Grows};
use mebridge::bridge::Bridge;
use mebridge::describe::{describe, topologies};
use mebridge::error::{CALL_WITHIN_CALL, Error, Result};
use mebridge::events::Events;
use mebridge::locate::locate;
use mebridge::propagators::Topology;
use mebridge::runtime::{CachePlace, Switches};
use mebridge::sample::{
    DeviceSample, MatrixElementOffsets, Momenta, Rows, Sample, SampleAnswers, Strides, g_s,
};
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything went well.
pub const MEBRIDGE_OK: i32 = 0;
/// Something is wrong; `mebridge_last_error` says what.
pub const MEBRIDGE_ERROR: i32 = 1;

/// An open bridge. Opaque: only pass it on.
pub struct MebridgeBridge {
    _private: [u8; 0],
}

/// What a bridge is made with. A field that is NULL or 0 is as if its switch
/// `CUDACPP_RUNTIME_<NAME>` were not set; set all of it but its size to zero first
/// (`struct mebridge_options options = {.size = sizeof options};`, before C++20
/// `= {}` and then `options.size = sizeof options;`). The environment is not looked at.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MebridgeOptions {
    /// `sizeof(struct mebridge_options)`: later versions have more fields behind these.
    pub size: usize,
    /// PROCESS: a .mebridge file or a P directory that MG5aMC wrote, `#n` behind it for its n-th
    /// matrix element. NULL: the process linked into the executable, else the P directory around
    /// the working directory or the executable.
    pub process: *const c_char,
    /// PARAMCARD: a parameter card. NULL: the card of the P directory, else the process's values.
    pub param_card: *const c_char,
    /// BACKEND: "auto", "cpu", "cuda" or "hip"; "cuda:1" or "hip:1" for the second GPU (DEVICE), and so on.
    pub backend: *const c_char,
    /// SIMD: "auto", "none", "sse4", "avx2", "512y" or "512z".
    pub simd: *const c_char,
    /// FPTYPE: "d" (double), "m" (mixed) or "f" (single precision).
    pub fptype: *const c_char,
    /// THREADS: how many; 0 means 1.
    pub threads: u32,
    /// GOODHELICITIES: whether to keep helicities whose contribution vanishes.
    pub all_helicities: bool,
    /// CACHE: a directory, or "off". NULL: the user's cache.
    pub cache: *const c_char,
    /// MODEL: the model of a process that is generated, a file or a UFO folder. NULL: the Standard Model.
    pub model: *const c_char,
}

/// Events of a sample that are evaluated at a time: enough for all threads, and what is made for them fits into memory.
const PIECE: usize = 1 << 18;

thread_local! {
    /// Code and message.
    static LAST_ERROR: RefCell<[CString; 2]> = RefCell::default();
    /// Whether the last error of this thread is that of a call within a call.
    static LAST_WITHIN: AtomicBool = const { AtomicBool::new(false) };
}

/// The message of the last call of this thread that failed; empty if there was none. Valid until
/// the next call that fails in this thread, or its end. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_last_error() -> *const c_char {
    if LAST_WITHIN.with(|within| within.load(Ordering::SeqCst)) {
        return CALL_WITHIN_CALL.as_ptr();
    }
    // A thread that ends calls destructors of its data, this message among them.
    let message = LAST_ERROR.try_with(|last| last.borrow()[1].as_ptr());
    message.unwrap_or(c"the thread ends, and its messages are gone".as_ptr())
}

/// What kind of error that was, for programs: a name such as "no_gpu", "io" or "run" that later versions keep
/// (`mebridge::Error::code` in Rust); empty if no call of this thread failed. Valid as the message is. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_last_error_code() -> *const c_char {
    if LAST_WITHIN.with(|within| within.load(Ordering::SeqCst)) {
        return c"call_within_call".as_ptr();
    }
    let code = LAST_ERROR.try_with(|last| last.borrow()[0].as_ptr());
    code.unwrap_or(c"".as_ptr())
}

/// Version of the library, such as "0.2.0". Valid for ever.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_version() -> *const c_char {
    // The literal ends in NUL.
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Creates a bridge for calls of `nevt` events and puts it into `bridge`.
///
/// `options` is NULL for the switches of the environment, CUDACPP_RUNTIME_*.
///
/// # Safety
/// `options` is NULL or points at options whose strings end in NUL; `bridge` points at a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_create(
    options: *const MebridgeOptions,
    nevt: usize,
    bridge: *mut *mut MebridgeBridge,
) -> i32 {
    const NAME: &str = "mebridge_create";
    status(|| {
        // SAFETY: the caller's promise; NULL is refused.
        unsafe { put(NAME, "bridge", bridge, std::ptr::null_mut()) }?;
        let switches = match options.is_null() {
            true => Switches::from_env()?,
            // SAFETY: the caller's promise.
            false => unsafe { switches(&sized::read(NAME, "options", options)?) }?,
        };
        if nevt == 0 {
            return Err(wrong(
                NAME,
                "nevt is 0; at least one event a call is needed",
            ));
        }
        let located = locate(&switches)?;
        numbers(NAME, nevt, 4 * located.process.legs.len())?;
        let caller = Caller::new(switches.igraph, located.process.contract);
        let made = Bridge::new(located.process, &located.card, &switches, nevt)?;
        let handle = registry::add(Entry::new(made, caller));
        // SAFETY: as above.
        unsafe {
            put(
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

/// Evaluates the matrix elements of `nevt` events, the number that the bridge was created with.
///
/// In:
/// - `momenta[nevt][legs][4]`: (E, px, py, pz) in GeV, incoming ones with positive energy;
/// - `g_s[nevt]`: the strong coupling of each event;
/// - `random_helicity[nevt]`, `random_color[nevt]`: random numbers from [0, 1) for the choices. Below 0 they count as 0,
///   and what is not below 1, NaN too, as the largest number that is;
/// - `channels[nevt]`: the diagram (from 1) of each event's channel, or NULL for no channel weights;
/// - `igraph[nevt]`: the configuration (from 1) whose colour flows are allowed, 0 where it follows
///   from the channel, or NULL where it always does.
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
        with(bridge, |entry| {
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
            // SAFETY: the caller's promise.
            unsafe { arrays.run(NAME, entry, nevt) }
        })
    })
}

/// What weights the channels from the next `mebridge_run` on: `strategy` is MadEvent's `sde_strategy`, 1 (squared
/// diagrams, as a new bridge has it) or 2 (products of propagators). `s` is the square of the energy of the beams in
/// GeV^2, for 2 alone.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_set_sde_strategy(
    bridge: *mut MebridgeBridge,
    strategy: i32,
    s: f64,
) -> i32 {
    status(|| {
        with(bridge, |entry| {
            let weights = channel_weights("mebridge_set_sde_strategy", strategy, s)?;
            entry.bridge.set_channel_weights(weights)
        })
    })
}

/// Takes a list of channels from the next `mebridge_run` on: a channel is the number of a topology in it, from 1, and so
/// is a configuration (`igraph`). Weights are products of propagators as in `sde_strategy` 2, with `s` the square of the
/// energy of the beams in GeV^2. `topologies` is JSON, a list as `mebridge_topologies` gives it or a part of that; of each
/// entry `vertices` and `parameters` are read. `mebridge_set_sde_strategy` brings the process's own channels back.
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
        // SAFETY: the caller's promise.
        let list = unsafe { stated(NAME, topologies) }?;
        with(bridge, |entry| entry.bridge.set_channels(&list, s))
    })
}

/// The weights that channels would have after `mebridge_set_channels`, which this takes the place of where no |M|^2 is
/// wanted: nothing is evaluated, and the bridge stays as it is.
///
/// In: `topologies` and `s` as there; `momenta[nevt][legs][4]`, of any number of events.
///
/// Out: `weights[nevt][topologies]`; those of an event add up to 1.
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
        // SAFETY: the caller's promise.
        let list = unsafe { stated(NAME, topologies) }?;
        with(bridge, |entry| {
            let legs = entry.bridge.process().legs.len();
            // SAFETY: the caller's promise; NULL and misalignment are refused.
            let (momenta, weights) = unsafe {
                (
                    input(NAME, "momenta", momenta, numbers(NAME, nevt, 4 * legs)?)?,
                    output(NAME, "weights", weights, numbers(NAME, nevt, list.len())?)?,
                )
            };
            entry.bridge.channel_weights(&list, s, momenta, weights)
        })
    })
}

/// The channels that a caller states.
///
/// # Safety
/// `topologies` is NULL, which is refused, or a string that ends in NUL.
unsafe fn stated(name: &'static str, topologies: *const c_char) -> Result<Vec<Topology>> {
    // SAFETY: the caller's promise; NULL is refused.
    let text = unsafe { string(name, "topologies", topologies) }?;
    let refused = |error| {
        let form =
            "it is a list of {\"vertices\": .., \"parameters\": ..} as in mebridge_topologies";
        wrong(name, format!("topologies: {error}; {form}"))
    };
    serde_json::from_slice(text.to_bytes()).map_err(refused)
}

/// The topologies that a sampler needs, as JSON: a list in the words of the `channels` of `mebridge_description`. They are
/// these channels; of a process whose diagrams are not listed they are all topologies whose vertices join three lines,
/// one of those that differ by permutations of equal gluons in the final state, with no `diagrams`. Valid until the
/// bridge is deleted. NULL if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_topologies(bridge: *const MebridgeBridge) -> *const c_char {
    kept_json(
        bridge,
        |entry| &mut entry.topologies,
        |bridge| topologies(&bridge.process().with_card(bridge.card())),
    )
}

/// JSON of something about a bridge, made once for its parameters: where it is kept, and what it is of. NULL if there is no such bridge.
fn kept_json<T: Serialize>(
    bridge: *const MebridgeBridge,
    place: fn(&mut Entry) -> &mut Option<CString>,
    make: fn(&Bridge) -> Result<T>,
) -> *const c_char {
    let mut text = std::ptr::null();
    status(|| {
        with(bridge, |entry| {
            if place(entry).is_none() {
                let made = make(&entry.bridge)?;
                let json = serde_json::to_string(&made).map_err(|e| Error::Internal {
                    what: e.to_string(),
                })?;
                *place(entry) = Some(c_name(&json));
            }
            // The string stays where it is, whatever moves the entry.
            text = place(entry).as_ref().map_or(text, |json| json.as_ptr());
            Ok(())
        })
    });
    text
}

/// Evaluates one event, each helicity by itself, whatever number of events the bridge was created for.
///
/// In: `momenta[legs][4]` and `g_s` as for `mebridge_run`. `all`: whether to evaluate also helicities whose
/// contribution vanishes, and whose AMP2 and JAMP2 may not; otherwise all of these are zero.
///
/// Out, each of which may be NULL:
/// - `contributions[helicities]`: for each row of the helicity table |M|^2 summed over colours, without the average;
/// - `amp2[helicities][diagrams]`: the square of each diagram, 0 for those without a channel;
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
        with(bridge, |entry| {
            let legs = entry.bridge.process().legs.len();
            // SAFETY: the caller's promise; NULL and misalignment are refused, and nothing is written before the event is
            // evaluated.
            let event = entry.bridge.one_event(
                unsafe { input(NAME, "momenta", momenta, 4 * legs) }?,
                g_s,
                all,
            )?;
            let written = |to, from: &[f64]| CallerArray::of(to, from.len(), PointerAccess::Write);
            check_apart(
                NAME,
                [
                    (
                        "momenta",
                        CallerArray::of(momenta, 4 * legs, PointerAccess::Read),
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
                    // SAFETY: the caller's promise; misalignment is refused.
                    let to = unsafe { output(NAME, name, to, from.len()) }?;
                    to.copy_from_slice(from);
                }
            }
            Ok(())
        })
    })
}

/// A sample of events, which may lie in memory in any order, and where its answers go. What is NULL is not given or not
/// asked for; set all of it but its size to zero first (`struct mebridge_sample sample = {.size = sizeof sample};`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MebridgeSample {
    /// `sizeof(struct mebridge_sample)`: later versions have more fields behind these.
    pub size: usize,
    /// How many events; any number.
    pub events: usize,
    /// (E, px, py, pz) of all legs in GeV, incoming ones with positive energy.
    pub momenta: *const f64,
    /// How many numbers lie from an event, a leg and a component of its momentum to the next; may be negative.
    pub momenta_strides: [isize; 3],
    /// `alpha_s[events]`; NULL: the parameter `aS` of the card, 0.118 where there is none.
    pub alpha_s: *const f64,
    /// `random_helicity[events]`, in [0, 1) as all random numbers (others count as in `mebridge_run`); NULL: 0.5.
    pub random_helicity: *const f64,
    /// `random_color[events]`
    pub random_color: *const f64,
    /// `random_diagram[events]`
    pub random_diagram: *const f64,
    /// `fixed_helicity[events]`: rows of the helicity table, from 0. The matrix element is what this helicity
    /// contributes; NULL: all of them do.
    pub fixed_helicity: *const i32,
    /// `fixed_diagram[events]`: diagrams, from 0, by which colour flows are drawn; NULL: drawn themselves.
    pub fixed_diagram: *const i32,
    /// `matrix_elements[events]`: |M|^2 in GeV^(4-2n) for n outgoing particles, summed over helicities and colours and
    /// averaged over those of the initial state, without a weight of any channel. Never NULL. NaN for an event whose
    /// momenta are not finite, not on their mass shells or not conserved, and where it is not finite itself (at a pole).
    pub matrix_elements: *mut f64,
    /// `helicity[events]`: the row of the helicity table, drawn by its share, from 0.
    pub helicity: *mut i32,
    /// `color[events]`: the colour flow, drawn among those that the diagram allows, from 0.
    pub color: *mut i32,
    /// `diagram[events]`: drawn by the squared diagrams, from 0.
    pub diagram: *mut i32,
    /// `amp2[diagrams][events]`: squared diagrams as shares of the sum of those that have a channel.
    pub amp2: *mut f64,
    /// How many numbers lie from a diagram to the next; at least `events`.
    pub amp2_stride: usize,
    /// Out: how many events have NaN as their matrix element.
    pub bad_events: usize,
}

/// Evaluates a sample, on the CPU. Events that are bad are no error; `mebridge_last_error` describes the first of them.
///
/// # Safety
/// The arrays have these lengths, and no output overlaps another array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_evaluate(
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
) -> i32 {
    const NAME: &str = "mebridge_evaluate";
    // SAFETY: the caller's promise.
    status(|| unsafe { evaluate_sample(NAME, bridge, sample) })
}

/// What [`mebridge_evaluate`] does, for other doors.
///
/// # Safety
/// As for that.
pub(super) unsafe fn evaluate_sample(
    name: &'static str,
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
) -> Result<()> {
    // SAFETY: the caller's promise; NULL is refused.
    unsafe {
        with_sample(name, sample, |asked| {
            let own = CallerArray::of(sample.cast::<u8>(), asked.size, PointerAccess::Write);
            with(bridge, |entry| evaluate(name, entry, asked, own))
        })
    }
}

/// Evaluates a sample in the memory of a GPU, by a bridge that was created for one (BACKEND "cuda" or "hip"): all pointers of the
/// sample are addresses there, and matrix_elements may be NULL. `stream` is the CUstream into which all work is put; NULL
/// is the legacy default stream. The function returns when that is done, and does not wait for the work. `bad_events` is
/// 0: that an event is bad is told by its NaN alone, and so is an index that names nothing. In a lower precision than
/// double an event of which it makes no sum of squares (soft gluons, beside the beam) is NaN too, and the shares of its
/// diagrams may be 0: nobody waits for the answers here, so that it is not evaluated again, as `mebridge_evaluate` does.
/// The first call compiles.
///
/// # Safety
/// The arrays have these lengths, no output overlaps another array, and they and the stream stay until it has come past
/// the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_evaluate_on_device(
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
    stream: *mut c_void,
) -> i32 {
    const NAME: &str = "mebridge_evaluate_on_device";
    // SAFETY: the caller's promise.
    status(|| unsafe { evaluate_sample_on_device(NAME, bridge, sample, stream) })
}

/// What [`mebridge_evaluate_on_device`] does, for other doors.
///
/// # Safety
/// As for that.
pub(super) unsafe fn evaluate_sample_on_device(
    name: &'static str,
    bridge: *mut MebridgeBridge,
    sample: *mut MebridgeSample,
    stream: *mut c_void,
) -> Result<()> {
    // SAFETY: the caller's promise; NULL is refused.
    unsafe {
        with_sample(name, sample, |asked| {
            with(bridge, |entry| {
                evaluate_on_device(name, entry, asked, stream)
            })
        })
    }
}

/// Waits until the work of all calls of `mebridge_evaluate_on_device` for this bridge is done.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_wait_for_device(bridge: *mut MebridgeBridge) -> i32 {
    status(|| with(bridge, |entry| entry.bridge.wait_for_device()))
}

const _: () =
    assert!(offset_of!(MebridgeOptions, size) == 0 && offset_of!(MebridgeSample, size) == 0);

// SAFETY: such structs, of numbers, pointers and a bool.
unsafe impl Grows for MebridgeOptions {
    const NAME: &'static str = "mebridge_options";
    const BOOLS: &'static [usize] = &[offset_of!(MebridgeOptions, all_helicities)];
}

// SAFETY: such structs, of numbers and pointers.
unsafe impl Grows for MebridgeSample {
    const NAME: &'static str = "mebridge_sample";
}

/// Runs `f` on the sample of a caller, as far as that has it, and tells how many events are bad.
///
/// # Safety
/// The pointer is NULL or that of a sample of the size that it says.
unsafe fn with_sample(
    name: &'static str,
    sample: *mut MebridgeSample,
    f: impl FnOnce(&mut MebridgeSample) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let mut asked = unsafe { sized::read(name, "sample", sample) }?;
    let done = f(&mut asked);
    let at = offset_of!(MebridgeSample, bad_events);
    // SAFETY: as above.
    unsafe { sized::write(sample, asked.size, at, asked.bad_events) };
    done
}

/// # Safety
/// As for [`mebridge_evaluate_on_device`].
unsafe fn evaluate_on_device(
    name: &'static str,
    entry: &mut Entry,
    asked: &mut MebridgeSample,
    stream: *mut c_void,
) -> Result<()> {
    asked.bad_events = 0;
    if asked.events == 0 {
        return Ok(());
    }
    let process = entry.bridge.process();
    let (legs, diagrams) = (process.legs.len(), process.diagrams as usize);
    check_extents(name, asked, legs, diagrams)?;
    check_sample_apart(name, asked, legs, diagrams, None)?;
    fn address<T>(pointer: *const T) -> u64 {
        pointer as usize as u64
    }
    let [event, leg, component] = asked.momenta_strides;
    let sample = DeviceSample {
        events: asked.events,
        momenta: address(asked.momenta),
        strides: Strides {
            event,
            leg,
            component,
        },
        alpha_s: address(asked.alpha_s),
        default_g_s: super::default_g_s(&process.model, entry.bridge.card()),
        random_helicity: address(asked.random_helicity),
        random_color: address(asked.random_color),
        random_diagram: address(asked.random_diagram),
        fixed_helicity: address(asked.fixed_helicity),
        fixed_diagram: address(asked.fixed_diagram),
        flavor: 0,
        matrix_elements: address(asked.matrix_elements),
        helicity: address(asked.helicity),
        color: address(asked.color),
        diagram: address(asked.diagram),
        amp2: address(asked.amp2),
        amp2_stride: asked.amp2_stride,
        stream: address(stream),
        element: MatrixElementOffsets::only(entry.bridge.process().diagrams as usize),
    };
    // SAFETY: the caller's promise.
    unsafe { entry.bridge.evaluate_on_device(&sample) }
}

/// # Safety
/// As for [`mebridge_evaluate`].
unsafe fn evaluate(
    name: &'static str,
    entry: &mut Entry,
    asked: &mut MebridgeSample,
    own: CallerArray,
) -> Result<()> {
    let (n, process) = (asked.events, entry.bridge.process());
    let (legs, diagrams) = (process.legs.len(), process.diagrams as usize);
    asked.bad_events = 0;
    if n == 0 {
        return Ok(());
    }
    let reach = check_extents(name, asked, legs, diagrams)?;
    let [event, leg, component] = asked.momenta_strides;
    let strides = Strides {
        event,
        leg,
        component,
    };
    if [event, leg, component].iter().all(|&stride| stride >= 0) {
        check(
            name,
            "momenta",
            CallerArray::of(asked.momenta, reach, PointerAccess::Read),
        )?;
    }
    if !asked.amp2.is_null() {
        let reach = diagrams.saturating_sub(1) * asked.amp2_stride + n;
        check(
            name,
            "amp2",
            CallerArray::of(asked.amp2, reach, PointerAccess::Write),
        )?;
    }
    check_sample_apart(name, asked, legs, diagrams, Some(own))?;
    let piece = n.min(PIECE);
    let half = vec![0.5; piece];
    let mut couplings = vec![super::default_g_s(&process.model, entry.bridge.card()); piece];
    let mut indices = Indices::default();
    let mut own: [Vec<i32>; 3] = Default::default();
    let mut first_bad = None;
    // SAFETY: the caller's promise; NULL and misalignment are refused, and so are arrays that no memory holds or that
    // overlap one that is written.
    unsafe {
        let momenta = Momenta::new(asked.momenta, n, legs, strides);
        let doubles = |name_of, from| input_or_none(name, name_of, from, n);
        let alpha_s = doubles("alpha_s", asked.alpha_s)?;
        let random_helicity = doubles("random_helicity", asked.random_helicity)?;
        let random_color = doubles("random_color", asked.random_color)?;
        let random_diagram = doubles("random_diagram", asked.random_diagram)?;
        let fixed_helicity = input_or_none(name, "fixed_helicity", asked.fixed_helicity, n)?;
        let fixed_diagram = input_or_none(name, "fixed_diagram", asked.fixed_diagram, n)?;
        let mut rest = output(name, "matrix_elements", asked.matrix_elements, n)?;
        let mut optional_outputs = [
            output_or_none(name, "helicity", asked.helicity, n)?,
            output_or_none(name, "color", asked.color, n)?,
            output_or_none(name, "diagram", asked.diagram, n)?,
        ];
        let mut rows = match asked.amp2.is_null() {
            true => None,
            false => Some(Rows::new(asked.amp2, n, diagrams, asked.amp2_stride)),
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
            let [helicity, diagram] = indices.of(
                fixed_helicity.map(|all: &[i32]| &all[events.clone()]),
                fixed_diagram.map(|all: &[i32]| &all[events.clone()]),
            )?;
            let sample = Sample {
                momenta: momenta.part(begin, count),
                g_s: &couplings[..count],
                random_helicity: random(random_helicity),
                random_color: random(random_color),
                random_diagram: random(random_diagram),
                helicity,
                diagram,
                diagrams: !(asked.color.is_null()
                    && asked.diagram.is_null()
                    && asked.amp2.is_null()),
            };
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(count);
            rest = others;
            let [to_helicity, to_color, to_diagram] = &mut optional_outputs;
            let [own_helicity, own_color, own_diagram] = &mut own;
            let mut my_rows = None;
            if let Some(all) = rows.take() {
                let (mine, others) = all.split(count);
                (my_rows, rows) = (Some(mine), Some(others));
            }
            let answers = SampleAnswers {
                matrix_elements: mine,
                helicity: front_or(to_helicity, own_helicity, count),
                color: front_or(to_color, own_color, count),
                diagram: front_or(to_diagram, own_diagram, count),
                amp2: my_rows,
            };
            let bad = entry.bridge.evaluate(&sample, answers);
            let bad = bad.map_err(|error| error.behind(begin))?;
            asked.bad_events += bad.count;
            first_bad = first_bad.or(bad.first.map(|event| begin + event));
        }
        if let Some(event) = first_bad {
            let legs = (0..legs).flat_map(|leg| (0..4).map(move |i| (leg, i)));
            let numbers: Vec<f64> = legs.map(|(leg, i)| momenta.get(event, leg, i)).collect();
            let error = entry.bridge.what_is_wrong(&numbers, event);
            keep_error(error.code(), &error.to_string());
        }
    }
    Ok(())
}

/// The next so many of an array that is given, or as many of one of our own.
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

/// Looks at what a sample says of its arrays: that they can be at all. Gives how many numbers the momenta reach over.
fn check_extents(
    name: &'static str,
    asked: &MebridgeSample,
    legs: usize,
    diagrams: usize,
) -> Result<usize> {
    let n = asked.events;
    check(
        name,
        "momenta",
        CallerArray::of(asked.momenta, 1, PointerAccess::Read),
    )?;
    numbers(name, n, 1)?;
    let last = [n - 1, legs.saturating_sub(1), 3];
    let mut reach = 0usize;
    for (stride, last) in asked.momenta_strides.iter().zip(last) {
        let here = stride.unsigned_abs().checked_mul(last);
        reach = here
            .and_then(|here| reach.checked_add(here))
            .filter(|&reach| reach < MOST_NUMBERS)
            .ok_or_else(|| wrong(name, format!(
                    "momenta_strides are {:?}, with which {n} events reach beyond the end of memory",
                    asked.momenta_strides
                )))?;
    }
    if asked.amp2.is_null() {
        return Ok(reach + 1);
    }
    check(
        name,
        "amp2",
        CallerArray::of(asked.amp2, 1, PointerAccess::Write),
    )?;
    if asked.amp2_stride < n {
        return Err(wrong(
            name,
            format!(
                "amp2_stride is {}, but there are {n} events",
                asked.amp2_stride
            ),
        ));
    }
    numbers(name, asked.amp2_stride, diagrams)?;
    Ok(reach + 1)
}

/// Refuses a sample of which an array that is written overlaps another one. In the memory of the host, where the sample
/// itself lies (`own`), the arrays are looked at before.
fn check_sample_apart(
    name: &'static str,
    asked: &MebridgeSample,
    legs: usize,
    diagrams: usize,
    own: Option<CallerArray>,
) -> Result<()> {
    let n = asked.events;
    let doubles = |pointer: *const f64| CallerArray::of(pointer, n, PointerAccess::Read);
    let integers = |pointer: *const i32, access| CallerArray::of(pointer, n, access);
    let rows = [
        ("alpha_s", doubles(asked.alpha_s)),
        ("random_helicity", doubles(asked.random_helicity)),
        ("random_color", doubles(asked.random_color)),
        ("random_diagram", doubles(asked.random_diagram)),
        (
            "fixed_helicity",
            integers(asked.fixed_helicity, PointerAccess::Read),
        ),
        (
            "fixed_diagram",
            integers(asked.fixed_diagram, PointerAccess::Read),
        ),
        (
            "matrix_elements",
            CallerArray::of(asked.matrix_elements, n, PointerAccess::Write),
        ),
        ("helicity", integers(asked.helicity, PointerAccess::Write)),
        ("color", integers(asked.color, PointerAccess::Write)),
        ("diagram", integers(asked.diagram, PointerAccess::Write)),
    ];
    let there = |&(_, array): &(&str, CallerArray)| array.address != 0;
    if own.is_some() {
        for (row, array) in rows.into_iter().filter(there) {
            check(name, row, array)?;
        }
    }
    let [event, leg, component] = asked.momenta_strides;
    let momenta = Spread::new(
        CallerArray::of(asked.momenta, 1, PointerAccess::Read),
        [(n, event), (legs, leg), (4, component)],
    );
    let amp2 = Spread::new(
        CallerArray::of(asked.amp2, 1, PointerAccess::Write),
        [(n, 1), (diagrams, asked.amp2_stride as isize), (1, 0)],
    );
    let own = own.map(|own| ("sample", Spread::of(own)));
    let amp2 = (!asked.amp2.is_null()).then_some(("amp2", amp2));
    let rows = rows.into_iter().filter(there);
    let rows = rows.map(|(row, array)| (row, Spread::of(array)));
    let arrays = own.into_iter().chain([("momenta", momenta)]);
    let arrays: Vec<(&str, Spread)> = arrays.chain(rows).chain(amp2).collect();
    for (i, (written_name, written)) in arrays.iter().enumerate() {
        // All that are read come before, and the sample, which was.
        if written.first.access == PointerAccess::Write && i > 0 {
            let mut others = arrays[..i].iter();
            if let Some((other, _)) = others.find(|(_, other)| other.overlaps(written)) {
                return Err(overlap(name, other, written_name));
            }
        }
    }
    Ok(())
}

/// Everything that a sampler has to know of the process (legs, channels as topologies with propagators, colour flows,
/// helicities, flavours), as JSON in the words of MadGraph7's subprocesses.json: one object. Masses and widths are those of
/// the bridge's parameters at this call. Valid until the bridge is deleted. NULL if there is no such bridge.
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

/// Number of parameters of the card, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_parameters(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().model.card.len() as i64)
}

/// Name of a parameter of the card, `number` counting from 0, such as "MDL_MT". Valid until the bridge is deleted. NULL
/// if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_parameter_name(
    bridge: *const MebridgeBridge,
    number: usize,
) -> *const c_char {
    let mut name = std::ptr::null();
    status(|| {
        with(bridge, |entry| {
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

/// Gives the value of a parameter of the card. Capitals and the prefix MDL_ of its name may be left out.
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
        with(bridge, |entry| {
            // SAFETY: the caller's promise; NULL is refused.
            unsafe {
                let number = parameter(NAME, entry, name)?;
                put(NAME, "value", value, entry.bridge.card()[number])
            }
        })
    })
}

/// Sets a parameter of the card from the next call on. All that follows from it is computed anew, plans too; widths are
/// parameters of their own and stay as they are.
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
        with(bridge, |entry| {
            // SAFETY: the caller's promise.
            let number = unsafe { parameter(NAME, entry, name) }?;
            if !value.is_finite() {
                let name = &entry.bridge.process().model.card[number].name;
                return Err(wrong(
                    NAME,
                    format!("{name} cannot be {value}; it needs a finite value"),
                ));
            }
            let mut card = entry.bridge.card().to_vec();
            card[number] = value;
            entry.bridge.set_card(&card)?;
            let texts = [entry.description.take(), entry.topologies.take()];
            entry.former_texts.extend(texts.into_iter().flatten());
            Ok(())
        })
    })
}

/// # Safety
/// The name is null or ends in NUL.
unsafe fn parameter(function: &'static str, entry: &Entry, name: *const c_char) -> Result<usize> {
    // SAFETY: the caller's promise; NULL is refused.
    let name = unsafe { string(function, "name", name) }?.to_string_lossy();
    let model = &entry.bridge.process().model;
    model.card_parameter(&name).ok_or_else(|| {
        let known: Vec<&str> = model.card.iter().map(|p| p.name.as_str()).collect();
        wrong(
            function,
            format!(
                "there is no parameter {name}; there are {}",
                known.join(", ")
            ),
        )
    })
}

/// Finds the good helicities, those that contribute somewhere in phase space, and puts their number
/// into `good` (which may be NULL). They do not depend on these events. `mebridge_run` does the same
/// on its first call.
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
        with(bridge, |entry| {
            check_count(NAME, nevt, entry)?;
            let legs = entry.bridge.process().legs.len();
            // SAFETY: the caller's promise; NULL and misalignment are refused.
            let events = unsafe {
                let g_s = input(NAME, "g_s", g_s, nevt)?;
                Events {
                    momenta: input(NAME, "momenta", momenta, numbers(NAME, nevt, 4 * legs)?)?,
                    g_s,
                    // Nothing is chosen.
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
            // SAFETY: the caller's promise.
            unsafe { put(NAME, "good", good, found) }
        })
    })
}

/// Number of good helicities, or -1 if they have not been found yet or there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_good_helicities(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| {
        e.bridge.good_helicities().map_or(-1, |n| n as i64)
    })
}

/// Number of helicity configurations, good or not, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_helicities(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().helicities.len() as i64)
}

/// Number of external legs, incoming ones included, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_legs(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().legs.len() as i64)
}

/// Number of colour flows, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_colors(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.process().amplitudes.jamps() as i64)
}

/// Number of diagrams, which channels count, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_diagrams(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| i64::from(e.bridge.process().diagrams))
}

/// Number of events of a call, or -1 if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_nevt(bridge: *const MebridgeBridge) -> i64 {
    query(bridge, |e| e.bridge.nevt() as i64)
}

/// Helicities of the legs in a row of the helicity table, `row` counting from 1 as in the
/// answers of `mebridge_run`.
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
        with(bridge, |entry| {
            let table = &entry.bridge.process().helicities;
            let Some(row) = row.checked_sub(1).and_then(|i| table.get(i)) else {
                return Err(wrong(
                    NAME,
                    format!(
                        "there is no row {row}, the table has rows 1 to {}",
                        table.len()
                    ),
                ));
            };
            // SAFETY: the caller's promise; NULL and misalignment are refused.
            let out = unsafe { output(NAME, "helicities", helicities, row.len()) }?;
            for (out, &helicity) in out.iter_mut().zip(row) {
                *out = helicity.into();
            }
            Ok(())
        })
    })
}

/// Name of the process as MG5aMC writes it, such as "g g > t t~". Valid until the bridge is
/// deleted. NULL if there is no such bridge.
#[unsafe(no_mangle)]
pub extern "C" fn mebridge_process_name(bridge: *const MebridgeBridge) -> *const c_char {
    let mut name = std::ptr::null();
    status(|| {
        with(bridge, |entry| {
            // The string stays where it is, whatever moves the entry.
            name = entry.name.as_ptr();
            Ok(())
        })
    });
    name
}

/// Bytes of the text of an event, at most, without its particles: see `mebridge_lhe_events`.
pub const MEBRIDGE_LHE_EVENT_BYTES: usize = 160;
/// And of each particle.
pub const MEBRIDGE_LHE_PARTICLE_BYTES: usize = 240;

const _: () = assert!(MEBRIDGE_LHE_EVENT_BYTES == mebridge_lhe::EVENT_TEXT);
const _: () = assert!(MEBRIDGE_LHE_PARTICLE_BYTES == mebridge_lhe::PARTICLE_TEXT);

/// Writes events as `<event>` blocks of the Les Houches Accord (hep-ph/0109068); needs no bridge.
///
/// `records` has `events` records with room for `particles` particles each, without gaps: the process (an integer of 4
/// bytes), weight, scale, alpha and alpha_s (doubles); and for each particle PDG code, status, two mothers, colour,
/// anticolour (integers of 4 bytes), px, py, pz, E, mass (GeV), lifetime and spin (doubles). Those that an event does not
/// have are zeros at its end. Weights are multiplied by `weight_factor`.
///
/// `text` has room for `capacity` bytes, at least
/// `events * (MEBRIDGE_LHE_EVENT_BYTES + MEBRIDGE_LHE_PARTICLE_BYTES * particles)`. `written` is set to how many it has
/// then; no NUL follows.
///
/// # Safety
/// All three point at so much memory, and `text` is no part of the records.
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
            return Err(wrong(NAME, "particles is 0; every event has some"));
        }
        let bytes = |each: Option<usize>| numbers(NAME, events.max(1), each.unwrap_or(usize::MAX));
        let read = bytes(mebridge_lhe::record_bytes(particles))?;
        let room = bytes(mebridge_lhe::text_bytes(particles))?;
        if capacity < room {
            let what =
                format!("text has room for {capacity} bytes, and {events} events may take {room}");
            return Err(wrong(NAME, what));
        }
        if events > 0 {
            check_apart(
                NAME,
                [
                    (
                        "records",
                        CallerArray::of(records.cast::<u8>(), read, PointerAccess::Read),
                    ),
                    (
                        "text",
                        CallerArray::of(text.cast::<u8>(), room, PointerAccess::Write),
                    ),
                    (
                        "written",
                        CallerArray::of(
                            written.cast::<u8>(),
                            size_of::<usize>(),
                            PointerAccess::Write,
                        ),
                    ),
                ],
            )?;
        }
        // SAFETY: the caller's promise.
        unsafe { put(NAME, "written", written, 0) }?;
        if events == 0 {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let records = unsafe { input(NAME, "records", records.cast::<u8>(), read) }?;
        let mut events = Vec::with_capacity(room);
        mebridge_lhe::push_events(&mut events, records, particles, weight_factor)?;
        // SAFETY: the caller's promise; the text is no longer than its room.
        let text = unsafe { output(NAME, "text", text.cast::<u8>(), events.len()) }?;
        text.copy_from_slice(&events);
        // SAFETY: the caller's promise.
        unsafe { put(NAME, "written", written, events.len()) }
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
            // SAFETY: the caller's promise.
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
    Err(wrong(
        function,
        format!(
            "nevt is {nevt}, but this bridge was created for {created} events a call; pass as many, \
             or create another bridge"
        ),
    ))
}

pub(super) fn with<T>(
    bridge: *const MebridgeBridge,
    f: impl FnOnce(&mut Entry) -> Result<T>,
) -> Result<T> {
    registry::with(bridge as usize as u64, f)
}

fn query(bridge: *const MebridgeBridge, f: impl FnOnce(&Entry) -> i64) -> i64 {
    let mut value = -1;
    status(|| {
        with(bridge, |entry| {
            value = f(entry);
            Ok(())
        })
    });
    value
}

/// Runs `f`; an error is kept as the last one of this thread.
pub(super) fn status(f: impl FnOnce() -> Result<()>) -> i32 {
    match no_panic(f) {
        Ok(()) => MEBRIDGE_OK,
        Err(Error::CallWithinCall) => {
            keep_within();
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
    // In a thread that ends there is no place for it.
    let _ = LAST_ERROR.try_with(|kept| kept.replace(last));
}

/// The same of a call within a call, in a way that signal handlers may.
pub(super) fn keep_within() {
    LAST_WITHIN.with(|within| within.store(true, Ordering::SeqCst));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Masses and widths of all propagators, and the text that says them.
    fn lines(
        bridge: *mut MebridgeBridge,
        tell: extern "C" fn(*const MebridgeBridge) -> *const c_char,
    ) -> (BTreeSet<String>, *const c_char) {
        let text = tell(bridge);
        // SAFETY: it ends in NUL, and the bridge is there.
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
        // SAFETY: these are such, and live.
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
            // A caller may still hold the former one.
            assert_ne!(text, other);
            // SAFETY: it is valid until the bridge goes.
            let former = unsafe { CStr::from_ptr(text) }.to_str();
            assert!(former.expect("UTF-8").contains("173.0"));
        }
        assert_eq!(mebridge_delete(bridge), MEBRIDGE_OK);
    }
}
