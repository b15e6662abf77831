//! The phases of a call, as clocks tell them apart.

use crate::backend::KERNELS;

/// The phases of a call, in the order in which they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Events to the GPU.
    CopyIn,
    /// Momenta into the memory of blocks, couplings, propagators, wavefunctions.
    Currents,
    /// AMP2 by operations of their own.
    Squares,
    /// Amplitudes, JAMP and colour sums.
    Helicities,
    /// Sums over helicities and choices.
    Answer,
    /// Answers back.
    CopyOut,
}

impl Phase {
    /// All, in order.
    pub const ALL: [Phase; 6] = [
        Phase::CopyIn,
        Phase::Currents,
        Phase::Squares,
        Phase::Helicities,
        Phase::Answer,
        Phase::CopyOut,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Phase::CopyIn => "copies to the GPU",
            Phase::Currents => KERNELS[0],
            Phase::Squares => KERNELS[1],
            Phase::Helicities => KERNELS[2],
            Phase::Answer => KERNELS[3],
            Phase::CopyOut => "copies back",
        }
    }
}
