//! Checked results: a function for each symbol, which gives an error that names the call and what CUDA says of it.
//!
//! Nothing here owns anything. A function is `unsafe` where a handle or an address that is passed in must be alive; where
//! only numbers are passed, which CUDA checks itself, it is not.

pub mod blas;
pub mod driver;
pub mod nvrtc;
