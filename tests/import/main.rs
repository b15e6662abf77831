//! The importer, and exported Fortran that it reads.

mod by_hand;
use mebridge_testing as common;
mod export;
mod fixtures;
mod nlo;
mod reference;
mod small;
#[path = "../command/support.rs"]
mod support;
mod user_code;
