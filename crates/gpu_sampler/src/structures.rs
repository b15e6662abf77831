//! Structures that the host fills and device code reads.

use mebridge_driver::Pointer;
use mebridge_gpu::device_structures;
use mebridge_sampler::blocks::{Block, POINTS};

/// Slots of a block: as many as a block of the sampler has points at most.
pub const SLOTS: usize = POINTS;
/// In the place of the number of a matrix element: there is no point, or it does not pass the cuts.
pub const NONE: u32 = u32::MAX;

/// Rows of [`PointRows::kinematics`].
pub mod kinematics {
    /// Of the partons in the centre of mass of the beams.
    pub const RAPIDITY: usize = 0;
    /// Energy fractions of the first beam, and of the second one.
    pub const FRACTIONS: usize = 1;
    /// Of renormalisation, and of the densities of both beams.
    pub const SCALES: usize = 3;
    /// The strong coupling.
    pub const ALPHA_S: usize = 6;
    /// How many rows there are.
    pub const ROWS: usize = 7;
}

device_structures! {
    /// A block of points. Point `i` of block `b` of a launch has the slot `512 b + i`.
    BlockHead {
        /// Its first point.
        first: [Size],
        /// The seed of its random numbers.
        seed: [Size],
        /// The number of its source.
        source: [unsigned],
        /// The channel of its random numbers.
        channel: [unsigned],
        /// Their round.
        round: [unsigned],
        /// How many points there are.
        count: [unsigned],
        /// Where its grid begins among the edges of all: those of a dimension after each other.
        grid: [unsigned],
        /// Which of the runs of blocks of one source it belongs to.
        run: [unsigned],
    }
}

impl BlockHead {
    /// That of a block, of the run with this number, whose grid begins there.
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

/// Where the points of a launch lie in the memory of a GPU. Rows of doubles go `[row][slot]`.
#[derive(Clone, Copy, Debug)]
pub struct PointRows {
    /// Numbers from a row to the next.
    pub stride: u32,
    /// Of each slot, the number of the matrix element, or [`NONE`]. What follows is written where there is one.
    pub element: Pointer,
    /// Which partons of the group came in.
    pub partons: Pointer,
    /// (E, px, py, pz) of each leg, one row each, in the centre of mass of the partons.
    pub momenta: Pointer,
    /// Rows as [`kinematics`] says.
    pub kinematics: Pointer,
    /// What a weight is besides |M|^2.
    pub factor: Pointer,
}
