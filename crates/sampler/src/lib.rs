//! Draws phase-space points and turns them into events: counter-based random numbers, adaptive grids, unweighting.
//!
//! | module | purpose |
//! |---|---|
//! | [`random`] | random numbers of each point, the same wherever it is drawn |
//! | [`grid`] | maps random numbers to variables that follow the integrand, with Jacobians |
//! | [`color_flows`] | draws a colour flow for each point |
//! | [`flow`] | maps random numbers to those of grids, by networks that know their correlations |
//! | [`integrand`] | what is integrated |
//! | [`weigh_block`] | computes the weights of a block's points from random numbers |
//! | [`weigh`] | weighs blocks of points on a CPU or GPUs |
//! | [`handover`] | an engine that weighs points until another one is ready |
//! | [`clustered`] | scales, cuts and weights from clustering |
//! | [`survey`] | prepares a run: selects channels, adapts their grids, measures their weights |
//! | [`networks`] | selects channels for which a flow before the grid is better |
//! | [`rounds`] | draws points until they give the requested number of events |
//! | [`parallel`] | parallel loops over events |
//! | [`sums`] | sums weights into a cross section with its error |
//! | [`unweight`] | turns weighted points into events |
//!
//! Training data are summed separately for each block of points, and blocks are merged in order. So results do not
//! depend on the number of threads, only on the block size.

pub mod blocks;
mod bytes;
pub mod clustered;
mod clustered_points;
pub mod color_flows;
pub mod events;
pub mod flow;
pub mod grid;
pub mod handover;
pub mod integrand;
pub mod networks;
pub mod parallel;
pub mod random;
pub mod rounds;
pub mod source_selection;
mod stored;
pub mod sums;
pub mod survey;
pub mod unweight;
pub mod weigh;
pub mod weigh_block;
pub mod workspace;

/// Errors when reading a stored survey.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The number of bytes is not a multiple of 8.
    #[error(
        "{found} bytes are not a whole number of doubles: the file is cut off or damaged; run the survey again"
    )]
    Bytes {
        /// Number of bytes.
        found: usize,
    },
    /// The number of edges is not a multiple of those of a dimension.
    #[error(
        "{found} edges of a grid are not a whole number of dimensions with {} each: the file is cut off or of another \
         version; run the survey again",
        grid::BINS + 1
    )]
    GridSize {
        /// Number of edges.
        found: usize,
    },
    /// The edges do not ascend.
    #[error(
        "the edges of dimension {dimension} of a grid do not ascend from 0 to 1: the file is damaged; run the survey again"
    )]
    Edges {
        /// Which dimension, from 0.
        dimension: usize,
    },
    /// The file is not a survey.
    #[error("this is no survey of mebridge: name the file that a survey wrote")]
    NoSurvey,
    /// The format is older or newer.
    #[error(
        "the survey has the format {found}, and this version of mebridge reads {}: run the survey again",
        stored::FORMAT
    )]
    Format {
        /// The format found.
        found: u64,
    },
    /// The survey belongs to a run with other matrix elements, beams or cuts.
    #[error("the survey is of another run: name its own, or run the survey again")]
    OtherRun,
    /// The contents differ from those written.
    #[error("the survey is cut off or damaged: run it again")]
    Damaged,
}

/// Result of reading a stored survey.
pub type Result<T> = std::result::Result<T, Error>;
