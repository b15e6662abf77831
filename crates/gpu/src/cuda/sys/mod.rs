//! Symbols: the functions exported by the CUDA libraries.
//!
//! | module | contents |
//! |---|---|
//! | `driver` | `libcuda`, which comes with the driver |
//! | `hip` | `libamdhip64`, where it differs |
//! | `nvrtc`, `blas` | the libraries of the toolkit; hiprtc and hipBLAS |
//! | `library` | search paths of these libraries |
//!
//! All symbols of a library are looked up when it is loaded: a missing symbol is reported by name at that point, not in
//! a later call. Types and signatures are those of cudarc for the oldest supported driver. cudarc's own loading is not
//! used, because it panics if a library or symbol is missing. Results are plain numbers here: a later driver may return
//! a code that today's enumerations lack.

pub mod blas;
pub mod driver;
pub mod hip;
pub mod library;
pub mod nvrtc;

use cudarc::driver::sys::CUresult;
use std::ffi::c_uint;

/// Result of a call: a `CUresult`, or a code of a later driver.
pub type Status = c_uint;
/// Success.
pub const SUCCESS: Status = CUresult::CUDA_SUCCESS as Status;
/// Out of memory.
pub const OUT_OF_MEMORY: Status = CUresult::CUDA_ERROR_OUT_OF_MEMORY as Status;
/// Symbol not found.
pub const NOT_FOUND: Status = CUresult::CUDA_ERROR_NOT_FOUND as Status;
/// Invalid value, returned for a parameter that does not exist.
pub const INVALID_VALUE: Status = CUresult::CUDA_ERROR_INVALID_VALUE as Status;

/// GPU platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// NVIDIA's CUDA.
    Cuda,
    /// AMD's HIP.
    Hip,
}
