//! `mebridge`: matrix elements for MadEvent.
//!
//! Data flows one way: a [`process`] (read from an MG5aMC directory or from a file) is compiled into a plan, a backend
//! runs the plan, and the bridge returns the answer to the caller. No process is special and no source code is
//! generated. Fortran and C programs use the crate `mebridge-capi`; this crate exports no C symbols.
//!
//! # For Rust programs
//!
//! ```
//! use mebridge::{Answers, Bridge, Events, Switches, import_directory};
//! # fn main() -> mebridge::Result<()> {
//! # let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fortran/gg_ttx/SubProcesses/P1_gg_ttx");
//! // An MG5aMC directory for g g > t t~; a directory contains one or several matrix elements.
//! let process = import_directory(directory.as_ref())?.remove(0);
//! let card = process.model.default_card();
//! let mut bridge = Bridge::new(process, &card, &Switches::default(), 1)?;
//!
//! // One event: (E, px, py, pz) in GeV, leg after leg.
//! let (e, p) = (500.0, (500.0_f64.powi(2) - 173.0_f64.powi(2)).sqrt());
//! let momenta = [
//!     [e, 0.0, 0.0, e],
//!     [e, 0.0, 0.0, -e],
//!     [e, 0.6 * p, 0.0, 0.8 * p],
//!     [e, -0.6 * p, 0.0, -0.8 * p],
//! ];
//! let events = Events {
//!     momenta: momenta.as_flattened(),
//!     g_s: &[1.2],
//!     random_helicity: &[0.5],
//!     random_color: &[0.5],
//!     channels: None,
//!     igraph: None,
//! };
//! let (mut matrix_element, mut helicity, mut color) = ([0.0], [0], [0]);
//! bridge.run(&events, &mut Answers {
//!     matrix_elements: &mut matrix_element,
//!     helicity: &mut helicity,
//!     color: &mut color,
//! })?;
//! assert!(matrix_element[0] > 0.0);
//! # Ok(())
//! # }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`bridge`] | events in, answers out |
//! | [`events`] | the arrays of one call |
//! | [`process`] | the physics as data, its file format, the parameter card |
//! | [`import`] | MG5aMC's directories |
//! | [`generate`](mod@generate) | processes from their names, without MG5aMC |
//! | [`describe`] | the description of a process for samplers |
//! | [`sample`] | the arrays of a sampler's call |
//! | [`runtime`] | the `CUDACPP_RUNTIME_*` switches |
//! | [`error`](mod@error) | errors |
//!
//! All other modules serve the command, the tests and each other; they are not part of the interface and may
//! change at any time. docs/architecture.md describes them.
// Tests share code that uses this crate from outside.
#[cfg(test)]
extern crate self as mebridge;

pub mod born;
pub mod bridge;
pub mod propagators;

#[doc(hidden)]
pub mod channel_factors;
#[doc(hidden)]
pub mod event_generator;
#[doc(hidden)]
pub mod import_cached;
#[doc(hidden)]
pub mod leading_color;
#[doc(hidden)]
pub mod locate;
#[doc(hidden)]
pub mod models;
#[doc(hidden)]
pub mod open_widths;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod records;
#[doc(hidden)]
pub mod sampling;
#[doc(hidden)]
pub mod target;

// Contents of lower crates, under the names that users of this crate know.

pub use mebridge_backend::{events, sample};
pub use mebridge_describe as describe;
pub use mebridge_generate as generate;
pub use mebridge_import as import;
pub use mebridge_process as process;
pub use mebridge_support::{error, runtime};

#[doc(hidden)]
pub use mebridge_backend::{self as backend, inputs, trial};
#[doc(hidden)]
pub use mebridge_cache as cache;
#[doc(hidden)]
pub use mebridge_cpu as cpu;
#[doc(hidden)]
pub use mebridge_engine as engine;
#[doc(hidden)]
pub use mebridge_generate::model;
#[doc(hidden)]
pub use mebridge_gpu as gpu;
#[doc(hidden)]
pub use mebridge_lhe as lhe;
#[doc(hidden)]
pub use mebridge_ops as ops;
#[doc(hidden)]
pub use mebridge_plan::{self as plan, color};
#[doc(hidden)]
pub use mebridge_process::{export, phase_space};
#[doc(hidden)]
pub use mebridge_simd as simd;
#[doc(hidden)]
pub use mebridge_support::{files, float_environment, message, random};
#[doc(hidden)]
pub use mebridge_ufo as ufo;

pub use bridge::Bridge;
pub use error::{Error, Result};
pub use events::{Answers, Events};
pub use generate::generate;
pub use import::import_directory;
pub use process::Process;
pub use runtime::Switches;
