//! The engine for NVIDIA GPUs.
//!
//! | module | what it knows |
//! |---|---|
//! | [`driver`] | what the engine asks of a GPU |
//! | [`cuda`] | how a real GPU answers |
//! | [`choose`] | which GPU is taken where there are several |

pub mod choose;
pub mod cuda;
pub mod driver;
