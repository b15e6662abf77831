//! Structures filled by the host and read by device code.

use mebridge_driver::Pointer;
use mebridge_gpu::device_structures;
use mebridge_sampler::blocks::{Block, POINTS};

/// Slots per block: the maximum number of points in a block of the sampler.
pub const SLOTS: usize = POINTS;
/// Value of [`PointRows::element`] if a slot has no point or its point does not pass the cuts.
pub const NONE: u32 = u32::MAX;

/// Rows of [`PointRows::kinematics`].
pub mod kinematics {
    /// Rapidity of the parton system in the centre-of-mass frame of the beams.
    pub const RAPIDITY: usize = 0;
    /// Energy fractions of the first and the second beam (two rows).
    pub const FRACTIONS: usize = 1;
    /// Renormalisation scale, and the factorisation scales of both beams (three rows).
    pub const SCALES: usize = 3;
    /// The strong coupling.
    pub const ALPHA_S: usize = 6;
    /// Number of rows.
    pub const ROWS: usize = 7;
}

device_structures! {
    /// A block of points. Point `i` of block `b` of a launch has the slot `512 b + i`.
    BlockHead {
        /// Number of its first point.
        first: [Size],
        /// Seed of its random numbers.
        seed: [Size],
        /// Number of its source.
        source: [unsigned],
        /// Channel of its random numbers.
        channel: [unsigned],
        /// Round of its random numbers.
        round: [unsigned],
        /// Number of points.
        count: [unsigned],
        /// Start of its grid in the array of all bin edges, ordered by dimension.
        grid: [unsigned],
        /// Number of the run to which it belongs.
        run: [unsigned],
    }
}

impl BlockHead {
    /// Returns the head of a block that belongs to run `run` and whose grid starts at `grid`.
    pub fn new(block: &Block, grid: u32, run: u32) -> BlockHead {
        BlockHead {
            first: block.first,
            seed: block.random.seed,
            source: block.source as u32,
            channel: block.random.channel,
            round: u32::from(block.random.round),
            count: block.count as u32,
            grid,
            run,
        }
    }
}

/// Device arrays of the points of a launch. Arrays of doubles are `[row][slot]`.
#[derive(Clone, Copy, Debug)]
pub struct PointRows {
    /// Stride between rows, in numbers.
    pub stride: u32,
    /// Number of the matrix element of each slot, or [`NONE`], in which case the other arrays are not written.
    pub element: Pointer,
    /// Index of the incoming partons in the group.
    pub partons: Pointer,
    /// (E, px, py, pz) of each leg, one row per component, in the centre-of-mass frame of the partons.
    pub momenta: Pointer,
    /// Rows as in [`kinematics`].
    pub kinematics: Pointer,
    /// Weight without the factor |M|^2.
    pub factor: Pointer,
}
