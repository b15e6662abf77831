//! Plans and the CPU engine, against reference numbers, the plain meaning of a process, and each other.

use mebridge_testing as common;
mod generated;
mod one_event;
mod passes;
mod plan_order;
mod recognition;
mod recursion;
mod reference;
