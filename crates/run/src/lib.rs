//! A run: from the cards of a process to an event file.
//!
//! A [`RunSpec`] describes it. From its cards and its process a plan is made; the event generator of `mebridge` surveys
//! the phase space and then makes events in rounds. Finished rounds are kept in the folder of the run, so that an
//! interrupted run can continue; in the end all rounds become one event file.

pub mod banner;
pub mod beams;
mod bosons;
pub mod calculator;
pub mod cards;
mod channel_line;
pub mod chart;
pub mod conditions;
pub mod cuts;
pub mod decays;
pub mod densities;
pub mod element;
pub mod event_file;
pub mod exact;
pub mod figures;
mod in_order;
pub mod limits;
pub mod lines;
pub mod load;
pub mod maker;
pub mod markup;
pub mod merge;
pub mod named;
pub mod named_cuts;
pub mod output;
pub mod overweight;
pub mod pack;
pub mod packed;
pub mod page;
pub mod param_card;
pub mod plan;
pub mod plan_file;
pub mod plot;
pub mod poles;
pub mod progress;
pub mod records;
pub mod replaced;
pub mod round;
pub mod rounds;
pub mod run;
pub mod run_card;
pub mod run_folder;
pub mod running;
pub mod scale;
pub mod scratch;
pub mod source;
pub mod spec;
pub mod spectra;
pub mod state;
pub mod stated;
pub mod summary;
pub mod systematics;
pub mod text;
pub mod topology;
pub mod user_functions;
pub mod written;

pub use element::Element;
pub use source::Source;
pub use spec::RunSpec;
