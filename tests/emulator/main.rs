//! Bridges on an emulated GPU (`mebridge_emulator`), compared with those on the CPU's own engine.

mod clocks;
mod color_ordered;
mod events;

mod high_spin;
mod polarized;
mod processes;
mod samples;
mod scalars;
mod split_orders;
mod tuning;
