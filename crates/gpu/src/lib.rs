//! The engine for GPUs.
//!
//! | module | what it knows |
//! |---|---|
//! | [`level_schedule`] | a plan as tables of operations in levels |
//! | [`color_ordered`] | a plan of loops as tables of operations on arrays in levels, and its colour matrix |
//! | [`source`] | the device code for them |
//! | [`routine`] | the device code of Lorentz structures that no kernel knows |
//! | [`module_cache`] | device code, compiled and kept |
//! | [`structures`] | what kernels are given, and the heads of tables, for host and device |
//! | [`engine`] | the launches that run a plan on a GPU |
//! | [`cuda`] | how a real GPU answers |
//! | [`choose`] | which GPU is taken where there are several |
//! | `limits` | which processes it cannot run |

mod arena;
mod choose;
mod codegen;
mod color;
mod color_ordered;
pub mod cuda;
#[cfg(test)]
mod emulator_tests;
mod engine;
mod engines;
mod generated;
mod helicity_split;
mod level_schedule;
mod limits;
mod module_cache;
mod routine;
#[cfg(test)]
mod routine_tests;
mod source;
mod structures;
#[cfg(test)]
mod vertices_tests;

#[cfg(test)]
use cuda::{Nvrtc, Platform};
pub use engines::{Engines, Gpus, platform_there};
pub use limits::{lacks, samples_run};
pub use mebridge_driver as driver;
pub use module_cache::ModuleCache;
pub use source::CompilationUnit;
pub use structures::DeviceStructure;
