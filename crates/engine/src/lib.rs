//! The CPU backend: the engine that runs a plan in SIMD registers, and its threads.

mod arena;
mod at_once;
mod block;
pub mod color;
mod engine;
mod groups;
mod jamp;
mod lanes;
mod pairs;
mod run;
mod squares;
#[doc(hidden)]
pub mod stages;
mod threaded;
mod worker;

pub use engine::Engine;
pub use lanes::HelicityLanes;
pub use threaded::ThreadedEngine;
pub use worker::EngineTimers;
