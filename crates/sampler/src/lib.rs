//! What draws points and makes events of them: random numbers by counter, grids that adapt, unweighting.
//!
//! | module | what it does with points |
//! |---|---|
//! | [`random`] | numbers of each, whoever draws it |
//! | [`grid`] | numbers into variables that follow the integrand, with Jacobians |
//! | [`flow`] | numbers into those of grids, by networks that know how they depend on each other |
//! | [`weigh`] | blocks of them weighed, by a CPU or GPUs |
//! | [`clustered`] | their scales, cuts and weights by clustering |
//! | [`survey`] | what is known of them before a run: which channels stay, their grids and weights |
//! | [`networks`] | which channels have a flow before their grid, because it is better |
//! | [`rounds`] | points of known channels until they are as many events as wanted |
//! | [`parallel`] | what is left to do for each event, by several threads |
//! | [`sums`] | weights into a cross section with its error |
//! | [`unweight`] | weighted points into events |
//!
//! What learns is added up apart for each block of points, and blocks are merged in their order. So results do not depend
//! on threads, but on the size of a block.

pub mod blocks;
mod bytes;
pub mod clustered;
pub mod events;
pub mod flow;
pub mod grid;
pub mod integrand;
pub mod leave_out;
pub mod networks;
pub mod parallel;
pub mod random;
pub mod rounds;
mod stored;
pub mod sums;
pub mod survey;
pub mod unweight;
pub mod weigh;

/// Why what a survey wrote cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A part of a number.
    #[error(
        "{found} bytes are no whole count of doubles: the file is cut off or damaged; run the survey again"
    )]
    Bytes {
        /// How many there are.
        found: usize,
    },
    /// A part of a dimension.
    #[error(
        "{found} edges of a grid are no whole count of dimensions with {} each: the file is cut off or of another \
         version; run the survey again",
        grid::BINS + 1
    )]
    GridSize {
        /// How many edges there are.
        found: usize,
    },
    /// Edges in disorder.
    #[error(
        "the edges of dimension {dimension} of a grid do not ascend from 0 to 1: the file is damaged; run the survey again"
    )]
    Edges {
        /// Which dimension, from 0.
        dimension: usize,
    },
    /// Something else.
    #[error("this is no survey of mebridge: name the file that a survey wrote")]
    NoSurvey,
    /// An older or a newer one.
    #[error(
        "the survey has the format {found}, and this version of mebridge reads {}: run the survey again",
        stored::FORMAT
    )]
    Format {
        /// Which one it has.
        found: u64,
    },
    /// Of other matrix elements, beams, cuts or the like.
    #[error("the survey is of another run: name its own, or run the survey again")]
    OtherRun,
    /// It is not what was written.
    #[error("the survey is cut off or damaged: run it again")]
    Damaged,
}

/// Result of reading what a survey wrote.
pub type Result<T> = std::result::Result<T, Error>;
