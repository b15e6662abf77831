//! Plans and the CPU engine, against reference numbers, the plain meaning of a process, and each other.

#[path = "../common/mod.rs"]
mod common;
mod generated;
mod one_event;
mod passes;
mod plan_order;
mod recognition;
mod recursion;
mod reference;
