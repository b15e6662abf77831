//! A run: from the cards of a process to an event file.
//!
//! A [`RunSpec`] describes it. Its cards and its process make a plan, which the event generator of `mebridge` surveys
//! and makes rounds of events of; what is done lies in the folder of the run, so that an interrupted run goes on; the
//! rounds become one event file.

pub mod calculator;
pub mod cuts;
pub mod decays;
pub mod densities;
pub mod element;
pub mod lines;
pub mod load;
pub mod named;
pub mod named_cuts;
pub mod output;
pub mod poles;
pub mod run_card;
pub mod running;
pub mod source;
pub mod spec;
pub mod systematics;
pub mod text;
pub mod topology;
pub mod written;

pub use element::Element;
pub use source::Source;
pub use spec::RunSpec;
