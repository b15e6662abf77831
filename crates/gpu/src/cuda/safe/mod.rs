//! Safe types: what CUDA makes, given back when it goes.
//!
//! | module | what it has |
//! |---|---|
//! | `context` | whether there is a driver, and the context of a GPU |
//! | `memory` | memory of a GPU, and pinned memory of the host |
//! | `module` | programs and their kernels |
//! | `stream` | queues of work |
//! | `event` | points in these |
//! | `graph` | recorded work |
//! | `nvrtc` | the compiler of device code |
//! | `blas` | products of matrices |
//!
//! Each holds what it lives in: a context is there for as long as anything that was made in it. Streams take events,
//! kernels and graphs of their own context only. `unsafe` is left where safety depends on what a kernel does, or on how
//! long memory stays: copies, launches and products.

pub mod blas;
pub mod context;
pub mod event;
pub mod graph;
pub mod memory;
pub mod module;
pub mod nvrtc;
pub mod stream;
