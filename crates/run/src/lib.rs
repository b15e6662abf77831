//! A run: from the cards of a process to an event file.
//!
//! A [`RunSpec`] describes it. Its cards and its process make a plan, which the event generator of `mebridge` surveys
//! and makes rounds of events of; what is done lies in the folder of the run, so that an interrupted run goes on; the
//! rounds become one event file.

pub mod banner;
pub mod element;
pub mod event_file;
pub mod exact;
mod in_order;
pub mod records;
pub mod replaced;
pub mod spec;
pub mod spectra;
pub mod summary;
pub mod text;

pub use element::Element;
pub use spec::RunSpec;
