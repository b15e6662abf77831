//! What all of mebridge rests on, which knows nothing of matrix elements.
//!
//! | module | what it holds |
//! |---|---|
//! | [`error`](mod@error) | what can go wrong |
//! | [`memory`] | large pages |
//! | [`message`] | what is said to those who run the program |
//! | [`files`] | files that are read and replaced so that nothing is lost |
//! | [`runtime`] | the `CUDACPP_RUNTIME_*` switches and all other environment variables |
//! | [`random`] | random numbers that are the same everywhere |
//! | [`float_environment`] | traps, rounding and flushing of the floating-point unit |
//! | [`signals`] | threads that run no signal handler of the caller's |

pub mod error;
pub mod files;
pub mod float_environment;
pub mod memory;
pub mod message;
pub mod random;
pub mod runtime;
pub mod signals;

pub use error::{Error, Result};

/// The hash of a file's contents.
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    *blake3::hash(bytes).as_bytes()
}
