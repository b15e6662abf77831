//! `mebridge`: matrix elements for MadEvent.
//!
//! The data go one way: a [`process`] (read from an MG5aMC directory or from a file) is turned
//! into a plan, a backend runs the plan, and the bridge gives the answer to whoever asked,
//! be it Fortran, C or Rust. No process is special and no source is generated.
//!
//! | module | what it knows |
//! |---|---|
//! | [`process`] | the physics as data, and its file format |
//! | [`import`] | MG5aMC's Fortran |
//! | [`simd`] | registers of the CPU |
//! | [`ops`] | what one step of a plan computes |
//! | `plan` | how to evaluate a process |
//! | [`backend`] | what runs a plan |
//! | `cpu` | threads and SIMD |
//! | [`gpu`] | NVIDIA GPUs |
//! | [`machine`] | which of these evaluates |
//! | `bridge` | events in, answers out |
//! | [`cache`] | keeps processes and plans for the next start |
//! | [`abi`] | Fortran and C |
//! | [`float_environment`] | how the CPU computes while this library does |
//! | [`locate`] | which process and which card are meant |
//! | [`runtime`] | the `CUDACPP_RUNTIME_*` switches |
//! | [`phase_space`], [`random`], [`statistics`] | events to try a process on |
//! | [`trial`] | points on which the library asks what holds for a process |

// Tests share code that sees this crate from outside.
#[cfg(test)]
extern crate self as mebridge;

pub mod abi;
pub mod backend;
pub mod bridge;
pub mod cache;
pub mod color;
pub mod cpu;
pub mod error;
pub mod events;
pub mod float_environment;
pub mod gpu;
pub mod import;
pub mod locate;
pub mod machine;
pub mod ops;
pub mod phase_space;
pub mod plan;
pub mod process;
pub mod random;
pub mod runtime;
pub mod simd;
pub mod statistics;
pub mod trial;

pub use error::{Error, Result};
