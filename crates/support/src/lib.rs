//! The foundation of mebridge, independent of matrix elements.
//!
//! | module | contents |
//! |---|---|
//! | [`error`](mod@error) | the error type |
//! | [`memory`] | large pages |
//! | [`message`] | messages to the user on stderr |
//! | [`files`] | safe reading and replacing of files |
//! | [`runtime`] | the `CUDACPP_RUNTIME_*` switches and all other environment variables |
//! | [`random`] | random numbers that are the same on all machines |
//! | [`float_environment`] | traps, rounding and flushing of the floating-point unit |
//! | [`signals`] | threads that run none of the caller's signal handlers |
//! | [`sorted`] | maps and sets as sorted vectors |
//! | [`threads`] | threads that work beside a caller's own |

pub mod error;
pub mod files;
pub mod float_environment;
pub mod memory;
pub mod message;
pub mod random;
pub mod runtime;
pub mod signals;
pub mod sorted;
pub mod sync;
pub mod threads;

pub use error::{Error, Result};

/// Returns the BLAKE3 hash of a file's contents.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}
