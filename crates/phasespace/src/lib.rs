//! Phase space as data: a channel is a list of steps, made of a diagram, which draws momenta of many points at once.

pub mod clustering;
pub mod compact;
pub mod cuts;
mod observables;
mod rows;
pub mod scales;

pub use rows::Rows;
