//! Blocks of points on several threads. What comes out does not depend on how many there are.

use super::flow::Flow;
use super::grid::Grid;
use super::integrand::{Failure, Integrand, Squared, Workspace};
use super::random::Philox;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Blocks of which what is kept lies in memory together.
const TOGETHER: usize = 1024;

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
    let mut take = take;
    for some in blocks.chunks(TOGETHER) {
        weigh(integrand, some, evaluators, harvest)?
            .into_iter()
            .for_each(&mut take);
    }
    Ok(())
}

/// The same, and gives everything that is kept.
///
/// # Errors
/// A matrix element cannot be evaluated.
///
/// # Panics
/// If there is no evaluator, or a thread panics.
pub fn weigh<S: Squared + Send, H: Harvest>(
    integrand: &Integrand,
    blocks: &[Block],
    evaluators: &mut [S],
    harvest: &H,
) -> Result<Vec<H::Kept>, Failure> {
    assert!(!evaluators.is_empty(), "one evaluator at least");
    let next = AtomicUsize::new(0);
    let wrong: Mutex<Option<(usize, Failure)>> = Mutex::new(None);
    let work = |evaluator: &mut S| {
        let mut work = Workspace::new(integrand, POINTS);
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(block) = blocks.get(number) else {
                return found;
            };
            match integrand.weigh(block, evaluator, &mut work) {
                Ok(()) => found.push((number, harvest.keep(block, &work))),
                Err(failure) => {
                    // The others end at their next block.
                    next.fetch_add(blocks.len(), Ordering::Relaxed);
                    let mut wrong = wrong
                        .lock()
                        .unwrap_or_else(|of_thread| of_thread.into_inner());
                    if wrong.as_ref().is_none_or(|(before, _)| number < *before) {
                        *wrong = Some((number, failure));
                    }
                    return found;
                }
            }
        }
    };
    let (first, others) = evaluators.split_first_mut().expect("one at least");
    let mut found = std::thread::scope(|scope| {
        let threads: Vec<_> = (others.iter_mut().map(|one| scope.spawn(|| work(one)))).collect();
        let mut found = work(first);
        for thread in threads {
            found.extend(thread.join().expect("a thread that weighs points"));
        }
        found
    });
    if let Some((_, failure)) = wrong
        .into_inner()
        .unwrap_or_else(|of_thread| of_thread.into_inner())
    {
        return Err(failure);
    }
    found.sort_by_key(|(number, _)| *number);
    Ok(found.into_iter().map(|(_, kept)| kept).collect())
}
