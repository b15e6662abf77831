//! Blocks of points on several threads. What comes out does not depend on how many there are.

use super::flow::Flow;
use super::grid::Grid;
use super::integrand::{Failure, Integrand, Squared, Workspace};
use super::parallel;
use super::random::Philox;

/// Points that are weighed together.
pub const POINTS: usize = 512;

/// A block of points.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The number of its source.
    pub source: usize,
    /// The grid of that.
    pub grid: &'a Grid,
    /// Its random numbers.
    pub random: Philox,
    /// The first point.
    pub first: u64,
    /// How many there are, [`POINTS`] at most, a multiple of 8.
    pub count: usize,
    /// What its grid is given.
    pub numbers: Numbers<'a>,
}

/// What grids are given.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// Random numbers.
    Random,
    /// What a flow makes of them.
    Flow(&'a Flow),
    /// These: those of a point, and one for its partons, come before those of the next point.
    Given(&'a [f64]),
}

impl<'a> From<Option<&'a Flow>> for Numbers<'a> {
    fn from(flow: Option<&'a Flow>) -> Self {
        flow.map_or(Numbers::Random, Numbers::Flow)
    }
}

impl<'a> Block<'a> {
    /// With other numbers.
    pub fn with(self, numbers: Numbers<'a>) -> Self {
        Block { numbers, ..self }
    }
}

/// Blocks for so many points of a source, from `first` on; both are multiples of 8.
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
        numbers: Numbers::Random,
    })
}

/// What becomes of a block.
pub trait Harvest: Sync {
    /// What is kept of it.
    type Kept: Send;
    /// Looks at the workspace in which the block lies.
    fn keep(&self, block: &Block, work: &Workspace) -> Self::Kept;
}

/// Weighs blocks in these threads, one for each evaluator, and gives what is kept to `take`, in their order.
///
/// # Errors
/// A matrix element cannot be evaluated.
///
/// # Panics
/// If there is no evaluator, or a thread panics.
pub fn weigh_each<S: Squared + Send, H: Harvest>(
    integrand: &Integrand,
    blocks: &[Block],
    evaluators: &mut [S],
    harvest: &H,
    take: impl FnMut(H::Kept),
) -> Result<(), Failure> {
    let with_room = |evaluator| (evaluator, Workspace::new(integrand, POINTS));
    let mut workers: Vec<(&mut S, Workspace)> = evaluators.iter_mut().map(with_room).collect();
    let weigh = |(evaluator, work): &mut (&mut S, Workspace), number: usize| {
        let block = &blocks[number];
        integrand.weigh(block, *evaluator, work)?;
        Ok(harvest.keep(block, work))
    };
    parallel::each(&mut workers, blocks.len(), weigh, take)
}
