//! The doors: what Fortran and C call.
//!
//! All doors stand on the same [`crate::bridge::Bridge`] and on lists of what is open ([`registry`]). A caller holds a
//! number, never an address that we would follow, so a handle that is not ours is an error and not a crash. No panic
//! crosses a door, and behind it the caller's floating-point traps are off.
//!
//! | module | what it knows |
//! |---|---|
//! | [`fbridge`] | the Fortran symbols that MadEvent calls |
//! | [`generation`] | whether a Fortran call is one with or without `igraph` |
//! | [`lhe`] | event files for the Python package |
//! | [`linked`] | what executables call that `mebridge link` made |
//! | `check` | both answers of such executables, in check mode |
//! | [`memory`] | the memory of this process: what may be read and written, of which file it is |
//! | `pointers` | pointers of callers, looked at before they are followed |
//! | [`registry`] | the open bridges |
//! | `sized` | structs that say how large they are |
//! | [`c`] | the C interface of `include/mebridge.h` |
//! | [`umami`] | the interface of MadSpace and MadGraph7, `include/mebridge_umami.h` |
//! | [`xla`] | the interface of XLA, for JAX |

pub mod c;
mod check_mode;
pub mod fbridge;
pub mod generation;
pub mod lhe;
pub mod linked;
pub mod memory;
mod pointers;
pub mod registry;
mod sized;
mod survivor;
pub mod umami;
pub mod xla;

use crate::error::{Error, Result};
use crate::float_environment::in_default_environment;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `f` without the caller's floating-point traps, and makes an error of a panic. A panic is a defect
/// of mebridge, whatever the input.
pub(crate) fn no_panic<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
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
