//! A run: from the cards of a process to an event file.
//!
//! A [`RunSpec`] describes it. Its cards and its process make a plan, which the event generator of `mebridge` surveys
//! and makes rounds of events of; what is done lies in the folder of the run, so that an interrupted run goes on; the
//! rounds become one event file.

pub mod beams;
pub mod conditions;
pub mod element;
pub mod param_card;
pub mod run_card;
pub mod scale;
pub mod spec;
pub mod text;

pub use element::Element;
pub use spec::RunSpec;
