//! The importer, and the Fortran that it reads back.

mod by_hand;
#[path = "../command/support.rs"]
mod command;
#[path = "../common/mod.rs"]
mod common;
mod export;
mod fixtures;
mod reference;
mod small;
