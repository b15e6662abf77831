//! The phases of a call that are timed separately.

use mebridge_backend::{AMPLITUDES, CHOICES, COLOR, SQUARES, WAVEFUNCTIONS};

/// The phases of a call, in the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Copy of events to the GPU.
    CopyIn,
    /// Storing momenta in memory blocks; couplings, propagators, wavefunctions.
    Currents,
    /// AMP2 by separate operations.
    Squares,
    /// Amplitudes and JAMP; with generated code for whole events, everything except the later phases.
    Amplitudes,
    /// Colour sums, if timed separately; otherwise they are included in the amplitudes.
    Color,
    /// Sums over helicities, and choices.
    Answer,
    /// Copy of results to the host.
    CopyOut,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Phase; 7] = [
        Phase::CopyIn,
        Phase::Currents,
        Phase::Squares,
        Phase::Amplitudes,
        Phase::Color,
        Phase::Answer,
        Phase::CopyOut,
    ];

    /// Phases between driver events, where colour sums are included in the amplitudes.
    pub(super) const BETWEEN: [Phase; 6] = [
        Phase::CopyIn,
        Phase::Currents,
        Phase::Squares,
        Phase::Amplitudes,
        Phase::Answer,
        Phase::CopyOut,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::CopyIn => "copies to the GPU",
            Phase::Currents => WAVEFUNCTIONS,
            Phase::Squares => SQUARES,
            Phase::Amplitudes => AMPLITUDES,
            Phase::Color => COLOR,
            Phase::Answer => CHOICES,
            Phase::CopyOut => "copies back",
        }
    }
}
