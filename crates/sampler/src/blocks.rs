//! Blocks of points.

use super::flow::Flow;
use super::grid::Grid;
use super::random::Philox;

/// Maximum number of points in a block.
pub const POINTS: usize = 512;

/// A block of points of one source.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Index of the source.
    pub source: usize,
    /// Grid of the source.
    pub grid: &'a Grid,
    /// Random numbers of the source.
    pub random: Philox,
    /// Number of the first point.
    pub first: u64,
    /// Number of points, at most [`POINTS`], a multiple of 8.
    pub count: usize,
    /// Input of the grid.
    pub numbers: GridInput<'a>,
}

/// Input of a grid.
#[derive(Clone, Copy, Debug)]
pub enum GridInput<'a> {
    /// Random numbers.
    Random,
    /// Random numbers mapped by a flow.
    Flow(&'a Flow),
    /// These numbers, `[point][dimensions + 1]`; the last one of each point selects its partons.
    Given(&'a [f64]),
}

impl<'a> From<Option<&'a Flow>> for GridInput<'a> {
    fn from(flow: Option<&'a Flow>) -> Self {
        flow.map_or(GridInput::Random, GridInput::Flow)
    }
}

impl<'a> Block<'a> {
    /// Returns the block with other numbers.
    pub fn with_numbers(self, numbers: GridInput<'a>) -> Self {
        Block { numbers, ..self }
    }
}

/// Splits `count` points of a source, from `first` on, into blocks; both numbers are multiples of 8.
pub fn blocks<'a>(
    source: usize,
    grid: &'a Grid,
    random: Philox,
    first: u64,
    count: usize,
) -> impl Iterator<Item = Block<'a>> {
    (0..count).step_by(POINTS).map(move |begin| Block {
        source,
        grid,
        random,
        first: first + begin as u64,
        count: POINTS.min(count - begin),
        numbers: GridInput::Random,
    })
}
