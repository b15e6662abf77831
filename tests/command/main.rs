//! The command, run as by a user, and its output files.

mod arguments;
mod bench;
mod cache;
mod check;
mod compare;
mod decay;
mod eval;
#[cfg(unix)]
mod events;
#[cfg(unix)]
mod files;
mod generate;
mod import;
mod info;
mod link;
mod link_kinds;
mod link_nlo;
mod link_outputs;
#[cfg(unix)]
mod link_safety;
mod link_sources;
mod madevent;
#[cfg(unix)]
mod pack;
mod plot;
#[cfg(unix)]
mod plugin;
mod reweight;
mod support;

use mebridge_testing as common;
