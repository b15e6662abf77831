//! The Fortran door: the symbols that MadEvent calls.
//!
//! They are those of the CUDACPP plugin, so that a `madevent` that was linked against its libraries
//! runs with this one in their place. Every argument comes by reference:
//!
//! | symbol | arguments |
//! |---|---|
//! | `fbridgecreate` | handle (out), nevt, npar, np4 |
//! | `fbridgedelete` | handle |
//! | `fbridgesequence` | handle, momenta, g_s, rndhel, rndcol, channel, **igraph**, mes (out), selhel (out), selcol (out), goodHelOnly |
//! | `fbridgesequence_nomultichannel` | the same without channel |
//! | `fbridgegetngoodhel` | handle, ngoodhel (out), ntothel (out) |
//! | `mebridge_set_sde_strategy` | handle, strategy, s |
//!
//! `handle` is an INTEGER*8; `momenta` is `(0:3, npar, nevt)`; reals are DOUBLE PRECISION, integers
//! INTEGER*4. `goodHelOnly` is a LOGICAL of any kind: like the plugin, only its first byte is read.
//! `igraph` is there from MG5aMC 3.7 on, see [`generation`](super::generation).
//!
//! Fortran has no way to receive an error. It is printed on stderr, and the program ends as with
//! `STOP 1`: by `exit`, so that open units are flushed and closed. A call from a signal handler that interrupted another
//! one in the same thread would wait for ever: it ends the program at once, since a handler may do no more.

use super::generation::{Call, CallSizes, Caller};
use super::pointers::{self, PointerAccess, check_variable};
use super::registry::{self, Entry};
use super::survivor::Survivor;
use super::{no_panic, say_within};
use mebridge::bridge::Bridge;
use mebridge::error::{Error, Result};
use mebridge::events::{Answers, Events};
use mebridge::locate::locate;
use mebridge::message::say;
use mebridge::propagators::ChannelWeights;
use mebridge::runtime::{Precision, Switches};
use std::ffi::{CString, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Creates a bridge for the process that is found as [`mebridge::locate`] describes.
///
/// # Safety
/// Each argument is null or points at a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fbridgecreate_(
    handle: *mut u64,
    nevt: *const i32,
    npar: *const i32,
    np4: *const i32,
) {
    or_stop(|| {
        const NAME: &str = "fbridgecreate";
        // SAFETY: the caller's promise; what is no such variable is refused.
        unsafe {
            let (nevt, npar, np4) = (
                value(NAME, "nevt", nevt)?,
                value(NAME, "npar", npar)?,
                value(NAME, "np4", np4)?,
            );
            let handle = place(NAME, "handle", handle)?;
            handle.write_unaligned(create(nevt, npar, np4)?);
        }
        Ok(())
    });
}

/// Deletes a bridge.
///
/// # Safety
/// The argument is null or points at an INTEGER*8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fbridgedelete_(handle: *const u64) {
    or_stop(|| {
        // SAFETY: the caller's promise.
        let handle = unsafe { value("fbridgedelete", "handle", handle) }?;
        registry::remove(handle)
    });
}

/// Matrix elements with the weights of their channels.
///
/// The last argument is `goodHelOnly` where the caller passes `igraph`; where it does not,
/// `goodHelOnly` is the last but one and nothing was passed in the place of the last.
///
/// # Safety
/// The arrays are those that the caller's generation of the contract says, of `nevt` events.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn fbridgesequence_(
    handle: *const u64,
    momenta: *const c_void,
    g_s: *const c_void,
    random_helicity: *const c_void,
    random_color: *const c_void,
    channels: *const c_void,
    tail0: *const c_void,
    tail1: *const c_void,
    tail2: *const c_void,
    tail3: *const c_void,
    tail4: *const c_void,
) {
    let call = Call {
        multichannel: true,
        head: [momenta, g_s, random_helicity, random_color].map(|p| p as usize),
        channels: channels as usize,
        tail: [tail0, tail1, tail2, tail3, tail4].map(|p| p as usize),
    };
    // SAFETY: the caller's promise.
    or_stop(|| unsafe { sequence(handle, &call) });
}

/// Matrix elements without the weights of channels.
///
/// # Safety
/// As for [`fbridgesequence_`].
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn fbridgesequence_nomultichannel_(
    handle: *const u64,
    momenta: *const c_void,
    g_s: *const c_void,
    random_helicity: *const c_void,
    random_color: *const c_void,
    tail0: *const c_void,
    tail1: *const c_void,
    tail2: *const c_void,
    tail3: *const c_void,
    tail4: *const c_void,
) {
    let call = Call {
        multichannel: false,
        head: [momenta, g_s, random_helicity, random_color].map(|p| p as usize),
        channels: 0,
        tail: [tail0, tail1, tail2, tail3, tail4].map(|p| p as usize),
    };
    // SAFETY: the caller's promise.
    or_stop(|| unsafe { sequence(handle, &call) });
}

/// What weights the channels from the next call on, see [`mebridge::propagators`]: `sde_strategy` 1 or 2, and for 2 the
/// square of the energy of the beams in GeV^2.
///
/// # Safety
/// Each argument is null or points at a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_set_sde_strategy_(
    handle: *const u64,
    strategy: *const i32,
    s: *const f64,
) {
    const NAME: &str = "mebridge_set_sde_strategy";
    or_stop(|| {
        // SAFETY: the caller's promise; what is no such variable is refused.
        let (handle, strategy, s) = unsafe {
            (
                value(NAME, "handle", handle)?,
                value(NAME, "strategy", strategy)?,
                value(NAME, "s", s)?,
            )
        };
        let weights = channel_weights(NAME, strategy, s)?;
        registry::with(handle, |entry| entry.bridge.set_channel_weights(weights))
    });
}

/// The weights of a strategy by its number.
pub(super) fn channel_weights(
    function: &'static str,
    strategy: i32,
    s: f64,
) -> Result<ChannelWeights> {
    match strategy {
        1 => Ok(ChannelWeights::Amp2),
        2 => Ok(ChannelWeights::Propagators { s }),
        _ => Err(Error::Call {
            function,
            what: format!("strategy is {strategy}; there are 1 and 2"),
        }),
    }
}

/// Number of good helicities, and of all.
///
/// # Safety
/// Each argument is null or points at a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fbridgegetngoodhel_(handle: *const u64, good: *mut i32, total: *mut i32) {
    const NAME: &str = "fbridgegetngoodhel";
    or_stop(|| {
        // SAFETY: the caller's promise; what is no such variable is refused.
        let (handle, good, total) = unsafe {
            (
                value(NAME, "handle", handle)?,
                place(NAME, "ngoodhel", good)?,
                place(NAME, "ntothel", total)?,
            )
        };
        registry::with(handle, |entry| {
            let found = entry.bridge.good_helicities().ok_or_else(|| Error::Call {
                function: NAME,
                what: "no good helicities have been found yet; call fbridgesequence first".into(),
            })?;
            // A helicity table has at most as many rows as a file of less than 2 GB can hold.
            let all = entry.bridge.process().helicities.len();
            // SAFETY: the variables from above.
            unsafe {
                good.write_unaligned(found as i32);
                total.write_unaligned(all as i32);
            }
            Ok(())
        })
    });
}

fn create(nevt: i32, npar: i32, np4: i32) -> Result<u64> {
    let wrong = |what: String| {
        Err(Error::Call {
            function: "fbridgecreate",
            what,
        })
    };
    if np4 != 4 {
        return wrong(format!("np4 is {np4}; momenta have 4 components"));
    }
    if nevt <= 0 {
        return wrong(format!(
            "nevt is {nevt}; at least one event a call is needed (CUDACPP_RUNTIME_VECSIZEUSED sets \
             it for MadEvent)"
        ));
    }
    let switches = Switches::from_env()?;
    let located = locate(&switches)?;
    if let Some(block) = located.block_of_own_alpha_s()? {
        return wrong(format!(
            "parameters of block {block} of {} run from its scale to that of the event, and this call has no alpha_s at the \
             first; make events by `mebridge events`, or set fixed_extra_scale = True and mue_ref_fixed to that scale in \
             Cards/run_card.dat",
            located.origin
        ));
    }
    let process = located.process;
    if npar < 0 || npar as usize != process.legs.len() {
        return wrong(format!(
            "npar is {npar}, but '{}' from {} has {} external legs; name the process that this \
             program was built for in CUDACPP_RUNTIME_PROCESS",
            process.name,
            located.origin,
            process.legs.len()
        ));
    }
    let caller = Caller::new(switches.igraph, process.contract);
    let bridge = Bridge::new(process, &located.card, &switches, nevt as usize)?;
    if switches.verbose {
        let card = located.card_path.map(|path| path.display().to_string());
        announce(&bridge, &located.origin, card.as_deref(), &switches);
    }
    Ok(registry::add(Entry::new(bridge, caller)))
}

/// The lines of [`announce`].
static SAID: Survivor<Vec<String>> = Survivor::new();

/// In the child of a fork.
pub(super) fn behind_a_fork() {
    SAID.behind_a_fork(|_| false);
}

/// One line on stderr, so that a log says which process, card and way to run were used; once in a program
/// that creates the same bridge over and over.
pub(super) fn announce(bridge: &Bridge, origin: &str, card: Option<&str>, switches: &Switches) {
    let card = card.unwrap_or("the process's own values");
    let precision = match switches.precision {
        Precision::Double => "double",
        Precision::Mixed => "mixed",
        Precision::Float => "single",
    };
    let line = format!(
        "version {}, {} from {origin}; card: {card}; {precision} precision, {}",
        env!("CARGO_PKG_VERSION"),
        bridge.process().name,
        bridge.target().describe(),
    );
    let mut said = SAID.lock();
    if !said.contains(&line) {
        say(&line);
        said.push(line);
    }
}

/// # Safety
/// As for [`fbridgesequence_`].
unsafe fn sequence(handle: *const u64, call: &Call) -> Result<()> {
    // SAFETY: the caller's promise.
    let handle = unsafe { pointers::value(call.function(), "handle", handle) }?;
    registry::with(handle, |entry| {
        let nevt = entry.bridge.nevt();
        let legs = entry.bridge.process().legs.len();
        let shape = CallSizes {
            nevt,
            legs,
            configurations: entry.bridge.process().channels.config_diagram.len(),
        };
        let reading = entry.caller.read(call, &shape)?;
        // SAFETY: the caller's promise. `read` has found these addresses aligned and, of arrays that are written, apart from
        // all others, now or at a former call with the same ones; then it asked the system whether so much memory is there.
        let (events, only) = unsafe {
            let doubles = |address: usize, n: usize| from_raw_parts(address as *const f64, n);
            let integers = |address: usize| from_raw_parts(address as *const i32, nevt);
            let [channels, igraph] = entry
                .indices
                .of(reading.channels.map(integers), reading.igraph.map(integers))?;
            let events = Events {
                momenta: doubles(reading.momenta, nevt * legs * 4),
                g_s: doubles(reading.g_s, nevt),
                random_helicity: doubles(reading.random_helicity, nevt),
                random_color: doubles(reading.random_color, nevt),
                channels,
                igraph,
            };
            (events, *(reading.good_helicities_only as *const u8) != 0)
        };
        if only {
            return entry.bridge.prepare(&events).map(drop);
        }
        // SAFETY: as above.
        let mut answers = unsafe {
            Answers {
                matrix_elements: from_raw_parts_mut(reading.matrix_elements as *mut f64, nevt),
                helicity: from_raw_parts_mut(reading.helicity as *mut i32, nevt),
                color: from_raw_parts_mut(reading.color as *mut i32, nevt),
            }
        };
        entry.bridge.run(&events, &mut answers)
    })
}

/// The value of a variable. A variable that cannot be read is refused, as far as the system tells.
///
/// # Safety
/// A pointer to memory that can be read points at a value of its type.
unsafe fn value<T: Copy>(function: &'static str, name: &str, pointer: *const T) -> Result<T> {
    check_variable(function, name, pointer, PointerAccess::Read)?;
    // SAFETY: it can be read, as far as the system tells; else the caller's promise.
    unsafe { pointers::value(function, name, pointer) }
}

/// A variable to write to, in the same way.
fn place<T>(function: &'static str, name: &str, pointer: *mut T) -> Result<*mut T> {
    check_variable(function, name, pointer, PointerAccess::Write)?;
    Ok(pointer)
}

/// A name as C has it: up to its first NUL, if it has one.
pub(super) fn c_name(name: &str) -> CString {
    let name = name.split('\0').next().unwrap_or_default();
    CString::new(name).unwrap_or_default()
}

/// Runs `f`; an error is printed, and the program ends.
pub(super) fn or_stop(f: impl FnOnce() -> Result<()>) {
    if let Err(error) = no_panic(f) {
        if matches!(error, Error::CallWithinCall) {
            say_within();
            // SAFETY: it takes any number. A signal handler may end the program in no other way.
            unsafe { libc::_exit(1) };
        }
        say(format_args!("ERROR {error}"));
        // SAFETY: `exit` runs the handlers of the program, among them those that close Fortran's
        // units. No lock of ours is held here.
        unsafe { libc::exit(1) };
    }
}
