//! The phases of a call, as clocks tell them apart.

use mebridge_backend::{AMPLITUDES, CHOICES, COLOR, SQUARES, WAVEFUNCTIONS};

/// The phases of a call, in the order in which they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Events to the GPU.
    CopyIn,
    /// Momenta into the memory of blocks, couplings, propagators, wavefunctions.
    Currents,
    /// AMP2 by operations of their own.
    Squares,
    /// Amplitudes and JAMP; with generated code of whole events all but what follows.
    Amplitudes,
    /// Colour sums, where they are told from amplitudes; otherwise these have their time.
    Color,
    /// Sums over helicities and choices.
    Answer,
    /// Answers back.
    CopyOut,
}

impl Phase {
    /// All, in order.
    pub const ALL: [Phase; 7] = [
        Phase::CopyIn,
        Phase::Currents,
        Phase::Squares,
        Phase::Amplitudes,
        Phase::Color,
        Phase::Answer,
        Phase::CopyOut,
    ];

    /// What lies between the events of the driver; there colour sums are among the amplitudes.
    pub(super) const BETWEEN: [Phase; 6] = [
        Phase::CopyIn,
        Phase::Currents,
        Phase::Squares,
        Phase::Amplitudes,
        Phase::Answer,
        Phase::CopyOut,
    ];

    /// What it is called.
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
