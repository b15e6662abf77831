//! What work on mebridge itself needs, as it is used.

mod mutate;
mod share;
#[path = "../command/support.rs"]
mod support;
mod written;

use mebridge_testing as common;
