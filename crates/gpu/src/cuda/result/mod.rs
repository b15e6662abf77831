//! Checked calls: a function for each symbol, whose errors name the call and CUDA's description of the failure.
//!
//! Nothing here owns anything. A function is `unsafe` if a handle or address passed to it must be alive; functions that
//! take only numbers, which CUDA checks, are safe.

pub mod blas;
pub mod driver;
pub mod nvrtc;
