//! Adaptive grids: VEGAS (G. P. Lepage, J. Comput. Phys. 27 (1978) 192; arXiv:2009.05112).
//!
//! A dimension from 0 to 1 has [`BINS`] bins with edges e_0 = 0 < e_1 < .. < 1. A random number u lies in bin i =
//! floor(BINS u) and becomes x = e_i + (e_(i+1) - e_i) (BINS u - i): all bins are drawn equally often, and they are
//! narrow where the integrand is large. The Jacobian is the product of BINS (e_(i+1) - e_i) over the dimensions.
//!
//! Training sums w^2 in each bin, where w is the full weight of a point, Jacobian included. With d the shares of those
//! sums, smoothed over some bins, a bin has the importance ((1 - d) / ln(1 / d))^damping, and the new edges divide the
//! importance into equal parts. The variance is smallest if all bins have the same sum of w^2.
//!
//! Maps round according to IEEE 754 without fused multiply-add, so that all levels and machines give the same numbers.

use crate::sums::is_usable;
use crate::{Error, Result, bytes};
use mebridge_phasespace::Rows;
use mebridge_simd::{Level, Real, Simd, Task, dispatch, functions};
use std::sync::Arc;

/// Bins of a dimension.
pub const BINS: usize = 64;
const EDGES: usize = BINS + 1;
/// Minimum width of a bin, so that no bin is empty.
const MIN_WIDTH: f64 = 1e-10;
/// Minimum share of a bin. A bin without contributions keeps a tenth of an average importance or more: that no point
/// hit it does not prove that the integrand vanishes there.
const MIN_SHARE: f64 = 1e-10;
/// How often a bin takes a quarter of each of its neighbours: 16 times spread it by three bins. A part of a survey has
/// few large weights in each bin, and grids that follow them individually have half the efficiency.
const SMOOTHED: usize = 16;
/// Adding this rounds a number to an integer, held in its lowest bits.
const TO_WHOLE: f64 = (1_u64 << 52) as f64;
/// Lanes of the longest register.
const MAX_LANES: usize = 8;

/// The bins of all dimensions.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// [`EDGES`] edges for each dimension, ascending from 0 to 1. Copies share them until one of them adapts.
    edges: Arc<Vec<f64>>,
}

impl Grid {
    /// Creates a grid with bins of equal width.
    pub fn new(dimensions: usize) -> Self {
        let edges = (0..EDGES).map(|i| i as f64 / BINS as f64);
        Grid {
            edges: Arc::new(edges.collect::<Vec<_>>().repeat(dimensions)),
        }
    }

    /// Returns the number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.edges.len() / EDGES
    }

    /// Returns the edges of the bins of a dimension, ascending from 0 to 1.
    pub fn edges(&self, dimension: usize) -> &[f64] {
        &self.edges[dimension * EDGES..][..EDGES]
    }

    /// Maps random numbers in (0, 1), one row per dimension, to rows of x in (0, 1), followed by a row of Jacobians.
    ///
    /// # Panics
    /// If there are fewer rows, or the CPU lacks the level.
    pub fn map(&self, level: Level, numbers: &Rows, to: &mut Rows) {
        let task = MapGrid {
            grid: self,
            numbers,
            to,
        };
        // SAFETY: the task requires nothing but the level, which `dispatch` checks.
        unsafe { dispatch(level, task) }
    }

    /// Computes the random numbers that [`Self::map`] maps to x in [0, 1), followed by a row of its Jacobians.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn invert(&self, x: &Rows, numbers: &mut Rows) {
        let dimensions = self.dimensions();
        numbers.row_mut(dimensions).fill(1.0);
        for dimension in 0..dimensions {
            let edges = self.edges(dimension);
            for (point, &x) in x.row(dimension).iter().enumerate() {
                let mut bin = 0;
                for step in [32, 16, 8, 4, 2, 1] {
                    bin += if edges[bin + step] <= x { step } else { 0 };
                }
                let width = edges[bin + 1] - edges[bin];
                let number = (bin as f64 + (x - edges[bin]) / width) / BINS as f64;
                numbers.row_mut(dimension)[point] = number;
                numbers.row_mut(dimensions)[point] *= BINS as f64 * width;
            }
        }
    }

    /// Moves the edges according to the training data. With a `damping` of 0 they do not move; the larger it is, the
    /// faster but noisier they follow. 1 suits surveys with few parts of a few thousand points. A dimension without
    /// contributions does not change.
    ///
    /// # Panics
    /// If the training data have other dimensions.
    pub fn adapt(&mut self, training: &Training, damping: f64) {
        assert_eq!(training.squares.len(), self.dimensions() * BINS);
        let squares = training.squares.chunks_exact(BINS);
        let edges = Arc::make_mut(&mut self.edges);
        for (edges, squares) in edges.chunks_exact_mut(EDGES).zip(squares) {
            // The sum may overflow when a large weight is among others.
            let most = squares.iter().copied().fold(0.0, f64::max);
            if most > 0.0 && most.is_finite() {
                divide(edges, &importance(squares, most, damping));
            }
        }
    }

    /// Returns the edges as little-endian doubles, dimension by dimension.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::to_bytes(&self.edges)
    }

    /// Reads the bytes of [`Self::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let edges = bytes::from_bytes(bytes)?;
        if edges.len() % EDGES != 0 {
            let found = edges.len();
            return Err(Error::GridSize { found });
        }
        for (dimension, edges) in edges.chunks_exact(EDGES).enumerate() {
            let ascending = edges.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascending || edges[0] != 0.0 || edges[BINS] != 1.0 {
                return Err(Error::Edges { dimension });
            }
        }
        Ok(Grid {
            edges: Arc::new(edges),
        })
    }
}

/// The task of [`Grid::map`], for callers that already run at a SIMD level.
#[derive(Debug)]
pub struct MapGrid<'a> {
    /// The bins.
    pub grid: &'a Grid,
    /// Random numbers.
    pub numbers: &'a Rows,
    /// x of each dimension, and Jacobians.
    pub to: &'a mut Rows,
}

impl Task<f64> for MapGrid<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        let dimensions = self.grid.dimensions();
        for register in 0..self.numbers.registers::<V>() {
            // SAFETY: the caller guarantees that the CPU has the level.
            let one = unsafe { V::splat(1.0) };
            let mut jacobian = one;
            for dimension in 0..dimensions {
                let edges = &self.grid.edges[dimension * EDGES..][..EDGES];
                // SAFETY: the caller guarantees that the CPU has the level.
                let number: V = unsafe { self.numbers.load(dimension, register) };
                let (x, width) = place(edges, number);
                self.to.store(dimension, register, x);
                jacobian = jacobian * (width * one.same(BINS as f64));
            }
            self.to.store(dimensions, register, jacobian);
        }
    }
}

#[repr(align(64))]
struct Aligned([f64; MAX_LANES]);

/// Returns x for a random number, and the width of its bin.
#[inline(always)]
fn place<V: Simd<Scalar = f64>>(edges: &[f64], number: V) -> (V, V) {
    let to_whole = number.same(TO_WHOLE);
    let scaled = number * number.same(BINS as f64);
    let nearest = (scaled + to_whole) - to_whole;
    let above = scaled.lt(nearest);
    let bin = V::select(above, nearest - number.same(1.0), nearest);
    let mut bins = Aligned([0.0; MAX_LANES]);
    // SAFETY: the array holds the longest register and is aligned to it.
    unsafe { (bin + to_whole).store(bins.0.as_mut_ptr()) };
    let (mut left, mut right) = (Aligned([0.0; MAX_LANES]), Aligned([0.0; MAX_LANES]));
    for lane in 0..V::LANES {
        // A valid bin for any number, even NaN.
        let at = bins.0[lane].to_bits() as usize % BINS;
        left.0[lane] = edges[at];
        right.0[lane] = edges[at + 1];
    }
    // SAFETY: as above; `number` proves that the CPU has the level.
    let (left, right): (V, V) = unsafe { (V::load(left.0.as_ptr()), V::load(right.0.as_ptr())) };
    let width = right - left;
    // The last bin ends at 1, to which its largest numbers may be rounded.
    let below_one = number.same(f64::BELOW_ONE);
    ((left + width * (scaled - bin)).min(below_one), width)
}

/// Sums of squared weights by bin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Training {
    squares: Vec<f64>,
}

impl Training {
    /// Creates training data without points for a grid with `dimensions` dimensions; `default()` can be merged with any.
    pub fn new(dimensions: usize) -> Self {
        Training {
            squares: vec![0.0; dimensions * BINS],
        }
    }

    /// Wraps sums computed elsewhere, the bins of one dimension after those of another.
    pub fn from_squares(squares: Vec<f64>) -> Self {
        Training { squares }
    }

    /// Adds points: their random numbers, one row per dimension, and their weights. Unusable weights are skipped;
    /// [`crate::sums::WeightSums`] counts them.
    ///
    /// # Panics
    /// If there are fewer rows, or more weights than points.
    pub fn add(&mut self, numbers: &Rows, weights: &[f64]) {
        let contributes = |&(_, &weight): &(usize, &f64)| weight != 0.0 && is_usable(weight);
        let points: Vec<(usize, f64)> = (weights.iter().enumerate())
            .filter(contributes)
            .map(|(point, weight)| (point, weight * weight))
            .collect();
        for (dimension, squares) in self.squares.chunks_exact_mut(BINS).enumerate() {
            let numbers = &numbers.row(dimension)[..weights.len()];
            for &(point, square) in &points {
                squares[(numbers[point] * BINS as f64) as usize % BINS] += square;
            }
        }
    }

    /// Clears the sums of a dimension, so that its edges do not move.
    pub fn forget(&mut self, dimension: usize) {
        self.squares[dimension * BINS..][..BINS].fill(0.0);
    }

    /// Adds the sums of later points. Each block of points is summed separately, and blocks are merged in order, so the
    /// result does not depend on which thread computed them.
    ///
    /// # Panics
    /// If dimensions differ.
    pub fn merge(&mut self, later: &Training) {
        if self.squares.is_empty() {
            self.squares.clone_from(&later.squares);
            return;
        }
        assert_eq!(self.squares.len(), later.squares.len());
        for (sum, more) in self.squares.iter_mut().zip(&later.squares) {
            *sum += more;
        }
    }
}

/// Returns the number of new bins for each old one, up to a common factor. `most` is the largest of the squares.
fn importance(squares: &[f64], most: f64, damping: f64) -> [f64; BINS] {
    // Normalised so that the sum does not overflow.
    let mut shares: [f64; BINS] = std::array::from_fn(|bin| squares[bin] / most);
    for _ in 0..SMOOTHED {
        let before = shares;
        for (bin, share) in shares.iter_mut().enumerate() {
            let (below, above) = (bin.saturating_sub(1), (bin + 1).min(BINS - 1));
            *share = (before[below] + 2.0 * before[bin] + before[above]) / 4.0;
        }
    }
    let total: f64 = shares.iter().sum();
    for share in &mut shares {
        *share = (*share / total).max(MIN_SHARE);
    }
    let task = Compress {
        shares: &mut shares,
        damping,
    };
    // SAFETY: every CPU has this level. It is used on all machines, since the results of other levels differ in the
    // last bit.
    unsafe { dispatch(Level::None, task) };
    shares
}

/// ((1 - share) / ln(1 / share))^damping.
struct Compress<'a> {
    shares: &'a mut [f64; BINS],
    damping: f64,
}

impl Task<f64> for Compress<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) {
        for shares in self.shares.chunks_exact_mut(V::LANES) {
            // SAFETY: the chunk has as many numbers as lanes; the caller guarantees that the CPU has the level.
            unsafe {
                let share = V::load_doubles(shares.as_ptr());
                let base = (share - share.same(1.0)) / functions::ln(share);
                functions::pow(base, share.same(self.damping)).store_doubles(shares.as_mut_ptr());
            }
        }
    }
}

/// Moves the edges so that they divide the importance into equal parts.
fn divide(edges: &mut [f64], importance: &[f64; BINS]) {
    let part = importance.iter().sum::<f64>() / BINS as f64;
    let mut new = [0.0; EDGES];
    let (mut bin, mut below) = (0, 0.0);
    for (i, edge) in new.iter_mut().enumerate().take(BINS).skip(1) {
        let wanted = i as f64 * part;
        while bin + 1 < BINS && below + importance[bin] < wanted {
            below += importance[bin];
            bin += 1;
        }
        let share = ((wanted - below) / importance[bin]).min(1.0);
        *edge = edges[bin] + (edges[bin + 1] - edges[bin]) * share;
    }
    new[BINS] = 1.0;
    // Bins of the minimum width push their neighbours up, and those near 1 down again.
    for i in 1..BINS {
        new[i] = new[i].max(new[i - 1] + MIN_WIDTH);
    }
    for i in (1..BINS).rev() {
        new[i] = new[i].min(new[i + 1] - MIN_WIDTH);
    }
    edges.copy_from_slice(&new);
}

#[cfg(test)]
mod tests;
