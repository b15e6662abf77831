//! The CPU backend: the engine that runs a plan on SIMD registers, and its threads.

mod arena;
mod block;
pub mod color;
mod crew;
mod engine;
#[cfg(test)]
mod plan_tests;
#[doc(hidden)]
pub mod stages;
mod team;
mod worker;

pub use engine::{Engine, Timers};
pub use team::Team;
