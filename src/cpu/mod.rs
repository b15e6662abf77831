//! The CPU backend: SIMD registers, kernels over them, and the general path for Lorentz
//! structures that no kernel knows.

pub mod kernels;
pub mod simd;
