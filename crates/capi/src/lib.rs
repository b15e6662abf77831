//! The doors of `mebridge`: what Fortran and C call. The crate `mebridge-shared` makes libmebridge.so of them.
//!
//! All doors stand on the same [`mebridge::bridge::Bridge`] and on lists of what is open ([`registry`]). A caller holds a
//! number, never an address that we would follow, so a handle that is not ours is an error and not a crash. No panic
//! crosses a door, and behind it the caller's floating-point traps are off.
//!
//! | module | what it knows |
//! |---|---|
//! | [`densities`] | parton densities and alpha_s, in `include/mebridge.h` as well |
//! | `event_arrays` | the arrays of a call for events, of [`c`] and [`linked`] |
//! | [`events`] | event generators, in `include/mebridge.h` as well |
//! | [`fbridge`] | the Fortran symbols that MadEvent calls |
//! | [`generation`] | whether a Fortran call is one with or without `igraph` |
//! | [`lhe`] | event files for the Python package |
//! | [`linked`] | what executables call that `mebridge link` made |
//! | `check_mode` | both answers of such executables, in check mode |
//! | [`memory`] | the memory of this process: what may be read and written, of which file it is |
//! | `pointers` | pointers of callers, looked at before they are followed |
//! | [`registry`] | what is open, by handle |
//! | `sized` | structs that say how large they are |
//! | `survivor` | what is shared behind a lock, in the child of a fork |
//! | [`c`] | the C interface of `include/mebridge.h` |
//! | [`umami`] | the interface of MadSpace and MadGraph7, `include/mebridge_umami.h` |
//! | [`xla`] | the interface of XLA, for JAX |

pub mod c;
mod check_mode;
pub mod densities;
mod event_arrays;
pub mod events;
pub mod fbridge;
pub mod generation;
pub mod lhe;
pub mod linked;
pub mod memory;
mod pointers;
pub mod registry;
pub mod runs;
mod sized;
mod survivor;
pub mod umami;
pub mod xla;

use mebridge::error::{CALL_WITHIN_CALL, Error, Result};
use mebridge::float_environment::in_default_environment;
use mebridge::process::model::Model;
use mebridge::sample::{DEFAULT_ALPHA_S, g_s};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

thread_local! {
    /// Whether this thread is behind a door. Handlers of signals look at it; they run in this thread, so that the order
    /// of its instructions is all that counts.
    static INSIDE: AtomicBool = const { AtomicBool::new(false) };
}

/// A thread behind a door.
struct Inside;

impl Inside {
    /// An error where it is there already: a signal handler called. It would wait for what this thread holds.
    fn enter() -> Result<Inside> {
        let was = INSIDE.with(|inside| {
            let was = inside.load(Ordering::Relaxed);
            inside.store(true, Ordering::Relaxed);
            was
        });
        compiler_fence(Ordering::SeqCst);
        match was {
            false => Ok(Inside),
            true => Err(Error::CallWithinCall),
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        INSIDE.with(|inside| inside.store(false, Ordering::Relaxed));
    }
}

/// Calls a function of the caller's, which may call the library: this thread holds nothing meanwhile.
pub(crate) fn outside<T>(call: impl FnOnce() -> T) -> T {
    /// Comes back whatever the call does.
    struct Back;

    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.with(|inside| inside.store(true, Ordering::Relaxed));
            compiler_fence(Ordering::SeqCst);
        }
    }

    compiler_fence(Ordering::SeqCst);
    INSIDE.with(|inside| inside.store(false, Ordering::Relaxed));
    let _back = Back;
    call()
}

/// Says on stderr that this is a call within a call, in a way that signal handlers may: the interrupted call may be about
/// to take memory, or a lock of what writes.
pub(crate) fn say_within() {
    for text in [b"mebridge: ERROR ", CALL_WITHIN_CALL.to_bytes(), b"\n"] {
        // SAFETY: so many bytes of a constant.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
}

/// g_s of events whose caller gives no alpha_s: by the parameter `aS` of the card, where the process has one.
pub(crate) fn default_g_s(model: &Model, card: &[f64]) -> f64 {
    let alpha_s = model.card_parameter("aS").map(|at| card[at]);
    g_s(alpha_s.unwrap_or(DEFAULT_ALPHA_S))
}

/// Runs `f` without the caller's floating-point traps, and makes an error of a panic. A panic is a defect
/// of mebridge, whatever the input. A call that comes from a signal handler, while this thread is in another one, is an
/// error as well, for which no memory was asked.
pub(crate) fn no_panic<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    let _inside = Inside::enter()?;
    // Unwind safety: after a panic a bridge may be half-way through a call. The Fortran door ends
    // the program; the C door poisons the bridge's lock, and the registry refuses it from then on.
    let quietly = AssertUnwindSafe(|| in_default_environment(f));
    catch_unwind(quietly).unwrap_or_else(|payload| {
        let what = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Error::Internal { what: what.into() })
    })
}
