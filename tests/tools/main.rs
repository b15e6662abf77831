//! The tools for developing mebridge.

mod mutate;
mod share;
#[path = "../command/support.rs"]
mod support;
mod written;

use mebridge_testing as common;
