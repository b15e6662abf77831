//! Symbols: the functions of CUDA's libraries, as the libraries export them.
//!
//! | module | what it knows |
//! |---|---|
//! | `driver` | `libcuda`, which comes with the driver |
//! | `hip` | `libamdhip64`, as far as it differs |
//! | `nvrtc`, `blas` | the libraries of the toolkit; hiprtc and hipBLAS |
//! | `library` | where these are |
//!
//! All symbols of a library are looked up when it is loaded: one that is missing is an error that names it, and no call
//! can meet it later. Types and signatures are those of cudarc for the oldest driver that is served. cudarc's own
//! loading is not used, as it panics where a library or a symbol is missing. Results are plain numbers here: a later
//! driver may return a code that no enumeration of today has.

pub mod blas;
pub mod driver;
pub mod hip;
pub mod library;
pub mod nvrtc;

/// By what GPUs are driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// CUDA, NVIDIA's.
    Cuda,
    /// HIP, AMD's.
    Hip,
}
