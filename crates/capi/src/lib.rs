//! The foreign interfaces of `mebridge`: the functions that Fortran and C call. The crate `mebridge-shared` links them
//! into libmebridge.so.
//!
//! All interfaces share [`mebridge::bridge::Bridge`] and the registries of open objects ([`registry`]). A caller holds
//! a number, never an address that the library would dereference, so an invalid handle is an error and not a crash. No
//! panic leaves an interface function, and the caller's floating-point traps are disabled while one runs.
//!
//! | module | contents |
//! |---|---|
//! | [`born`] | Borns with their colour links, also in `include/mebridge.h` |
//! | [`densities`] | parton densities and alpha_s, also in `include/mebridge.h` |
//! | `callbacks` | functions of the caller that runs and event generators call |
//! | [`clock`] | the CPU time of executables of aMC@NLO that `mebridge link` makes |
//! | `event_arrays` | the arrays of a call for events, for [`c`] and [`linked`] |
//! | [`events`] | event generators, also in `include/mebridge.h` |
//! | [`fbridge`] | the Fortran symbols that MadEvent calls |
//! | `fork` | what happens to open objects when the program forks |
//! | [`generation`] | whether a Fortran call is one with or without `igraph` |
//! | [`lhe`] | event files for the Python package |
//! | [`linked`] | the functions that executables made by `mebridge link` call |
//! | `check_mode` | comparison of library and Fortran in these executables |
//! | [`memory`] | the memory map of this process: which memory may be read and written, and which file it maps |
//! | `pointers` | checks of callers' pointers before they are dereferenced |
//! | [`registry`] | open objects by handle |
//! | `sized` | structs whose first member is their size |
//! | `fork_reset_mutex` | shared state behind a lock, in the child of a fork |
//! | [`c`] | the C interface of `include/mebridge.h` |
//! | [`umami`] | the interface of MadSpace and MadGraph7, `include/mebridge_umami.h` |
//! | [`xla`] | the interface of XLA, for JAX |

pub mod born;
pub mod c;
mod callbacks;
mod check_mode;
pub mod clock;
pub mod densities;
mod event_arrays;
pub mod events;
pub mod fbridge;
#[cfg(unix)]
mod fork;
mod fork_reset_mutex;
pub mod generation;
pub mod lhe;
pub mod linked;
pub mod memory;
mod pointers;
pub mod registry;
pub mod runs;
mod sized;
pub mod umami;
pub mod xla;

use mebridge::error::{CALL_WITHIN_CALL, Error, Result};
use mebridge::float_environment::in_default_environment;
use mebridge::process::model::Model;
use mebridge::sample::{DEFAULT_ALPHA_S, g_s};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

thread_local! {
    /// Whether this thread is inside an interface function. Signal handlers read it; they run in this thread, so only
    /// the order of its instructions matters.
    static INSIDE: AtomicBool = const { AtomicBool::new(false) };
}

/// Marks this thread as inside an interface function.
struct Inside;

impl Inside {
    /// Returns an error if the thread is inside already: then a signal handler calls, which would wait for a lock that
    /// this thread holds.
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

/// Calls a function of the caller, which may call the library again: this thread holds no lock meanwhile but that of the
/// object that the call in progress is for.
pub(crate) fn call_caller<T>(call: impl FnOnce() -> T) -> T {
    /// Marks the thread as before the call, even if that unwinds. A thread of the library is not inside.
    struct Back(bool);

    impl Drop for Back {
        fn drop(&mut self) {
            INSIDE.with(|inside| inside.store(self.0, Ordering::Relaxed));
            compiler_fence(Ordering::SeqCst);
        }
    }

    compiler_fence(Ordering::SeqCst);
    let was = INSIDE.with(|inside| {
        let was = inside.load(Ordering::Relaxed);
        inside.store(false, Ordering::Relaxed);
        was
    });
    let _back = Back(was);
    call()
}

/// Reports a call within a call on stderr. Async-signal-safe: the interrupted call may be allocating memory or hold the
/// lock of stderr.
pub(crate) fn report_nested_call() {
    for text in [b"mebridge: ERROR ", CALL_WITHIN_CALL.to_bytes(), b"\n"] {
        // SAFETY: pointer and length are those of a constant.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
}

/// Returns g_s for events without alpha_s: from the parameter `aS` of the card if the process has one, else from
/// [`DEFAULT_ALPHA_S`].
pub(crate) fn default_g_s(model: &Model, card: &[f64]) -> f64 {
    let alpha_s = model.card_parameter("aS").map(|at| card[at]);
    g_s(alpha_s.unwrap_or(DEFAULT_ALPHA_S))
}

/// Runs `f` without the caller's floating-point traps and turns a panic into an error. A panic is a defect of mebridge,
/// whatever the input. A call from a signal handler that interrupted another call in this thread is an error too, which
/// allocates no memory.
pub(crate) fn no_panic<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    let _inside = Inside::enter()?;
    // Unwind safety: after a panic a bridge may be in the middle of a call. The Fortran interface ends the program; in
    // the C interface the bridge's lock is poisoned, and the registry rejects the bridge from then on.
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
