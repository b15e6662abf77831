//! From a process to a plan: which operations a backend runs, on what, in which order.

pub mod binding;
pub mod kernel;
pub mod recognize;
