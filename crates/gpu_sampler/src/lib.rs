//! Points and events of a sampler on GPUs.
//!
//! | module | what it knows |
//! |---|---|
//! | [`structures`] | what kernels read and write: blocks of points, rows of numbers |
//! | [`source`] | how device code becomes a unit that is compiled |

pub mod source;
pub mod structures;
