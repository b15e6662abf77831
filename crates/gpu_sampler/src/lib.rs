//! Points and events of a sampler on GPUs.
//!
//! | module | what it knows |
//! |---|---|
//! | [`points`] | the kernel that draws points, and the tables that it reads |
//! | [`structures`] | what kernels read and write: blocks of points, rows of numbers |
//! | [`source`] | how device code becomes a unit that is compiled |

pub mod points;
pub mod source;
pub mod structures;
mod tables;

pub use tables::{Tables, TablesError};
