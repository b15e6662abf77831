//! Matrix-element engine for GPUs.
//!
//! | module | contents |
//! |---|---|
//! | [`level_schedule`] | a plan as tables of operations in levels |
//! | [`shared_levels`] | the levels of such a plan in one kernel |
//! | [`color_ordered`] | a plan of loops as tables of array operations in levels, and its colour matrix |
//! | [`source`] | assembly of device code into compilation units |
//! | [`routine`] | device code of Lorentz structures without a predefined routine |
//! | [`module_cache`] | compilation and caching of device code |
//! | [`structures`] | kernel arguments and table headers shared by host and device |
//! | [`engine`] | the launches that run a plan on a GPU |
//! | [`cuda`] | the driver interface of CUDA and HIP |
//! | [`choose`] | choice of the GPU if there are several |
//! | `limits` | processes that GPUs cannot run |

mod arena;
mod background;
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
mod shared_levels;
mod source;
mod structures;
#[cfg(test)]
mod vertices_tests;

pub use background::{Background, abandon_compilers, compilers_at_work};
#[cfg(test)]
use cuda::{Nvrtc, Platform};
pub use engines::{Engines, Gpus, likely_platform};
pub use limits::{check_samples, missing_feature};
pub use mebridge_driver as driver;
pub use module_cache::ModuleCache;
pub use source::CompilationUnit;
pub use structures::DeviceStructure;
