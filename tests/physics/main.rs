//! Tests that need no reference numbers: closed formulas, gauge invariance, Lorentz invariance, symmetries, and that an
//! answer depends only on its event. No reference numbers here. Everything goes through a [`mebridge::bridge::Bridge`],
//! as a caller's events do.
//!
//! The processes are g g > t t~ from this repository's `fortran/gg_ttx`, two processes built in
//! code ([`built`]), and, where `MEBRIDGE_MG5_OUTPUTS` names a folder of MG5aMC outputs, larger
//! ones from there.

mod batch;
mod built;
mod channels;
mod choices;
mod closed_formulas;
mod color_ordered;
mod color_ordered_import;
mod conservation;
mod directions;
mod first_events;
mod generated;
mod independence;
mod kinematics;
mod processes;
mod symmetries;
mod ward;

use mebridge_testing as common;
