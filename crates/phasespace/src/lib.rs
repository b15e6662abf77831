//! Phase space as data: a channel is a list of steps, made of a diagram, which draws momenta of many points at once.

mod rows;

pub use rows::Rows;
