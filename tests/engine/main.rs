//! Plans and the CPU engine, compared with reference numbers, the definition of a process, and each other.

use mebridge_testing as common;
mod data_flow;
mod generated;
mod one_event;
mod passes;
mod recognition;
mod recursion;
mod reference;
