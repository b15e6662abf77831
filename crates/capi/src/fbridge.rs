//! The Fortran interface: the symbols that MadEvent calls.
//!
//! They are the symbols of the CUDACPP plugin, so a `madevent` linked against its libraries runs with this one instead.
//! Every argument is passed by reference:
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
//! `handle` is an INTEGER*8; `momenta` is `(0:3, npar, nevt)`; reals are DOUBLE PRECISION, integers INTEGER*4.
//! `goodHelOnly` is a LOGICAL of any kind: as in the plugin, only its first byte is read. `igraph` exists from MG5aMC
//! 3.7 on, see [`generation`](super::generation).
//!
//! Fortran cannot receive an error. It is printed on stderr, and the program ends as with `STOP 1`: by `exit`, so that
//! open units are flushed and closed. A call from a signal handler that interrupted another call in the same thread
//! would deadlock: it ends the program by `_exit`, since a handler may do no more.

use super::fork_reset_mutex::ForkResetMutex;
use super::generation::{Call, CallSizes, Caller};
use super::pointers::{self, PointerAccess, check_variable};
use super::registry::{self, Entry};
use super::{no_panic, report_nested_call};
use mebridge::bridge::Bridge;
use mebridge::error::{Error, Result};
use mebridge::events::{Answers, Events};
use mebridge::locate::locate;
use mebridge::message::say;
use mebridge::propagators::ChannelWeights;
use mebridge::runtime::{Precision, Switches};
use std::ffi::c_void;
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Creates a bridge for the process that [`mebridge::locate`] finds.
///
/// # Safety
/// Each argument is null or points to a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fbridgecreate_(
    handle: *mut u64,
    nevt: *const i32,
    npar: *const i32,
    np4: *const i32,
) {
    or_stop(|| {
        const NAME: &str = "fbridgecreate";
        // SAFETY: guaranteed by the caller; pointers to memory that is not accessible are rejected.
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
/// The argument is null or points to an INTEGER*8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fbridgedelete_(handle: *const u64) {
    or_stop(|| {
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { value("fbridgedelete", "handle", handle) }?;
        registry::remove(handle)
    });
}

/// Evaluates matrix elements times the weights of their channels.
///
/// `tail4` is `goodHelOnly` if the caller passes `igraph`; otherwise `goodHelOnly` is `tail3`, and `tail4` was not
/// passed.
///
/// # Safety
/// The arrays are those of the caller's generation of the contract, with `nevt` events.
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
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe { sequence(handle, &call) });
}

/// Evaluates matrix elements without channel weights.
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
    // SAFETY: guaranteed by the caller.
    or_stop(|| unsafe { sequence(handle, &call) });
}

/// Sets the channel weights used from the next call on, see [`mebridge::propagators`]: `sde_strategy` 1 or 2, and for 2
/// the squared centre-of-mass energy of the beams in GeV^2.
///
/// # Safety
/// Each argument is null or points to a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_set_sde_strategy_(
    handle: *const u64,
    strategy: *const i32,
    s: *const f64,
) {
    const NAME: &str = "mebridge_set_sde_strategy";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; pointers to memory that is not accessible are rejected.
        let (handle, strategy, s) = unsafe {
            (
                value(NAME, "handle", handle)?,
                value(NAME, "strategy", strategy)?,
                value(NAME, "s", s)?,
            )
        };
        let weights = channel_weights(NAME, strategy, s)?;
        registry::with_entry(handle, |entry| entry.bridge.set_channel_weights(weights))
    });
}

/// Returns the channel weights of a strategy.
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

/// Writes the number of good helicities and of all helicities.
///
/// # Safety
/// Each argument is null or points to a variable of its type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fbridgegetngoodhel_(handle: *const u64, good: *mut i32, total: *mut i32) {
    const NAME: &str = "fbridgegetngoodhel";
    or_stop(|| {
        // SAFETY: guaranteed by the caller; pointers to memory that is not accessible are rejected.
        let (handle, good, total) = unsafe {
            (
                value(NAME, "handle", handle)?,
                place(NAME, "ngoodhel", good)?,
                place(NAME, "ntothel", total)?,
            )
        };
        registry::with_entry(handle, |entry| {
            let found = entry.bridge.good_helicities().ok_or_else(|| Error::Call {
                function: NAME,
                what: "no good helicities have been found yet; call fbridgesequence first".into(),
            })?;
            // The number of rows fits: the table comes from a file of less than 2 GB.
            let all = entry.bridge.process().helicities.len();
            // SAFETY: the variables checked above.
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
    if let Some(block) = located.block_lacking_alpha_s()? {
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

/// The lines that [`announce`] has printed.
static ANNOUNCED: ForkResetMutex<Vec<String>> = ForkResetMutex::new();

/// Resets the state in the child of a fork.
pub(super) fn after_a_fork() {
    ANNOUNCED.after_a_fork(|_| false);
}

/// Prints one line on stderr that names the process, card and target in the log; once in a program that creates the
/// same bridge repeatedly.
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
    let mut announced = ANNOUNCED.lock();
    if !announced.contains(&line) {
        say(&line);
        announced.push(line);
    }
}

/// # Safety
/// As for [`fbridgesequence_`].
unsafe fn sequence(handle: *const u64, call: &Call) -> Result<()> {
    // SAFETY: guaranteed by the caller.
    let handle = unsafe { pointers::value(call.function(), "handle", handle) }?;
    registry::with_entry(handle, |entry| {
        let nevt = entry.bridge.nevt();
        let legs = entry.bridge.process().legs.len();
        let shape = CallSizes {
            nevt,
            legs,
            configurations: entry.bridge.process().channels.config_diagram.len(),
        };
        let reading = entry.caller.read(call, &shape)?;
        // SAFETY: guaranteed by the caller. `read` has found these addresses aligned and the output arrays disjoint
        // from all others, now or at an earlier call with the same addresses; at that time it also checked that the
        // system maps the memory.
        let (events, only) = unsafe {
            let doubles = |address: usize, n: usize| from_raw_parts(address as *const f64, n);
            let integers = |address: usize| from_raw_parts(address as *const i32, nevt);
            let [channels, igraph] = entry
                .indices
                .copy(reading.channels.map(integers), reading.igraph.map(integers))?;
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

/// Reads a variable. A variable that the system reports as unreadable is rejected.
///
/// # Safety
/// A pointer to readable memory points to a value of its type.
unsafe fn value<T: Copy>(function: &'static str, name: &str, pointer: *const T) -> Result<T> {
    check_variable(function, name, pointer, PointerAccess::Read)?;
    // SAFETY: checked above as far as the system can tell; otherwise guaranteed by the caller.
    unsafe { pointers::value(function, name, pointer) }
}

/// Checks a variable that will be written in the same way.
fn place<T>(function: &'static str, name: &str, pointer: *mut T) -> Result<*mut T> {
    check_variable(function, name, pointer, PointerAccess::Write)?;
    Ok(pointer)
}

/// Runs `f`; on error prints it and ends the program.
pub(super) fn or_stop(f: impl FnOnce() -> Result<()>) {
    if let Err(error) = no_panic(f) {
        if matches!(error, Error::CallWithinCall) {
            report_nested_call();
            // SAFETY: `_exit` takes any number and is async-signal-safe.
            unsafe { libc::_exit(1) };
        }
        say(format_args!("ERROR {error}"));
        // SAFETY: `exit` runs the program's exit handlers, among them those that close Fortran's units. No lock of this
        // library is held here.
        unsafe { libc::exit(1) };
    }
}
