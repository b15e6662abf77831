//! The CPU backend: SIMD registers, kernels over them, the general path for Lorentz structures
//! that no kernel knows, and the engine that runs a plan on them.

mod arena;
mod block;
mod crew;
mod engine;
pub mod general;
pub mod kernels;
pub mod simd;
#[doc(hidden)]
pub mod stages;
mod team;
mod worker;

pub use engine::{Engine, Timers};
pub use team::Team;
