//! Colour sum for a vector of events.
//!
//! JAMPs are transformed to coordinates of the diagonal blocks of [`BlockDiagonal`]. The scratch holds the coordinates
//! of each block contiguously, in `2 flows` vectors (real and imaginary part alternate), and some temporary ones at its
//! end. Coordinates that are connected by sums are processed together, a few sets at a time: they go from the JAMPs to
//! the end of the scratch, and from there to their places. Tables, read sequentially, list the source and destination
//! of each. If the matrix has no blocks, the JAMPs are summed directly.

use super::triangle::Triangle;
use mebridge_plan::color::block_diagonal::{BlockDiagonal, Coordinate, DiagonalBlock, Orbit};
use mebridge_simd::{Simd, Task};

/// Minimum number of coordinates processed at a time, small enough that they stay in the L1 cache with the JAMPs and
/// their sums. (With 128, 120 and 720 flows are 3 % slower at 512z, and the same at avx2.)
const COORDINATES_AT_ONCE: usize = 24;

/// A colour matrix ready for [`ColorSumTask`].
#[derive(Clone, Debug)]
pub struct ColorSum<T> {
    passes: Vec<OrbitSums>,
    blocks: Vec<Triangle<T>>,
    flows: usize,
    /// Number of temporary coordinates at the end of the scratch.
    together: usize,
    /// The square root of three.
    root: T,
    /// The coefficient of |JAMP|^2 if there is only one flow.
    pub only: Option<T>,
}

/// Sums of up to eight vectors: tables of source and destination places.
#[derive(Clone, Debug, Default)]
struct OrbitSums {
    /// Whether the sources are the JAMPs.
    first: bool,
    of_one: Vec<[[u32; 1]; 2]>,
    of_two: Vec<[[u32; 2]; 2]>,
    of_three: Vec<[[u32; 3]; 2]>,
    of_four: Vec<[[u32; 4]; 2]>,
    of_eight: Vec<[[u32; 8]; 2]>,
}

impl<T: Copy + Default> ColorSum<T> {
    /// Lays out a matrix; `convert` converts from double precision.
    pub fn new(color_blocks: &BlockDiagonal, convert: impl Fn(f64) -> T) -> Self {
        let flows = color_blocks.flows;
        let mut first = 0;
        let mut blocks: Vec<Triangle<T>> = Vec::new();
        let mut last: Option<&DiagonalBlock> = None;
        for block in &color_blocks.blocks {
            match blocks.last_mut() {
                // The same matrix applied to other coordinates.
                Some(triangle) if last.is_some_and(|last| last.matrix == block.matrix) => {
                    triangle.apply_to(first);
                }
                _ => blocks.push(Triangle::new(&block.matrix, first, |x| {
                    convert(x / color_blocks.denominator)
                })),
            }
            first += block.coordinates.len();
            last = Some(block);
        }
        let only = match &color_blocks.blocks[..] {
            [DiagonalBlock { matrix, .. }] if flows == 1 => {
                Some(convert(matrix[(0, 0)] / color_blocks.denominator))
            }
            _ => None,
        };
        let place = color_blocks.places();
        let mut passes = Vec::new();
        let mut together = 0;
        let taken = taken_together(color_blocks);
        for coordinates in &taken {
            together = coordinates.len().max(together);
            passes.extend(OrbitSums::all(color_blocks, coordinates, &place));
        }
        ColorSum {
            passes,
            blocks,
            flows,
            together,
            root: convert(3f64.sqrt()),
            only,
        }
    }
}

/// Groups coordinates into sets to be processed together: coordinates connected by sums share a set.
fn taken_together(color_blocks: &BlockDiagonal) -> Vec<Vec<Coordinate>> {
    let mut of: Vec<Coordinate> = (0..color_blocks.flows as Coordinate).collect();
    fn root(of: &mut [Coordinate], mut coordinate: Coordinate) -> Coordinate {
        while of[coordinate as usize] != coordinate {
            of[coordinate as usize] = of[of[coordinate as usize] as usize];
            coordinate = of[coordinate as usize];
        }
        coordinate
    }
    for orbit in color_blocks.passes.iter().flatten() {
        for pair in orbit.0.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|coordinate| root(&mut of, coordinate));
            of[a.max(b) as usize] = a.min(b);
        }
    }
    if color_blocks.passes.is_empty() {
        return Vec::new();
    }
    let mut sets: Vec<Vec<Coordinate>> = vec![Vec::new(); color_blocks.flows];
    for coordinate in 0..color_blocks.flows as Coordinate {
        sets[root(&mut of, coordinate) as usize].push(coordinate);
    }
    let mut all: Vec<Vec<Coordinate>> = Vec::new();
    for set in sets.into_iter().filter(|set| !set.is_empty()) {
        match all.last_mut() {
            Some(last) if last.len() < COORDINATES_AT_ONCE => last.extend(set),
            _ => all.push(set),
        }
    }
    all
}

impl OrbitSums {
    /// The sums of some coordinates, which end up at `places`.
    fn all(
        color_blocks: &BlockDiagonal,
        coordinates: &[Coordinate],
        places: &[u32],
    ) -> Vec<OrbitSums> {
        let mut local = vec![u32::MAX; color_blocks.flows];
        for (at, &coordinate) in (color_blocks.flows as u32..).zip(coordinates) {
            local[coordinate as usize] = at;
        }
        let is_local = |orbit: &&Orbit| {
            orbit
                .0
                .iter()
                .any(|&coordinate| local[coordinate as usize] != u32::MAX)
        };
        let passes = color_blocks.passes.iter();
        let passes = passes.map(|pass| pass.iter().filter(is_local).collect::<Vec<&Orbit>>());
        let passes: Vec<_> = passes.filter(|pass| !pass.is_empty()).collect();
        let count = passes.len();
        let mut all = Vec::new();
        for (i, orbits) in passes.into_iter().enumerate() {
            let (first, last) = (i == 0, i + 1 == count);
            let mut pass = OrbitSums {
                first,
                ..OrbitSums::default()
            };
            let mut left: Vec<bool> = vec![true; color_blocks.flows];
            let rest = coordinates
                .iter()
                .map(|&coordinate| Orbit(vec![coordinate]));
            let rest: Vec<Orbit> = if first || last {
                rest.collect()
            } else {
                Vec::new()
            };
            for orbit in orbits.into_iter().chain(&rest) {
                if orbit.0.len() == 1 && !(left[orbit.0[0] as usize] && (first || last)) {
                    continue;
                }
                for &coordinate in &orbit.0 {
                    left[coordinate as usize] = false;
                }
                let at = |jamps: bool, end: bool| {
                    let of = |&coordinate: &Coordinate| match (jamps, end) {
                        (true, _) => coordinate,
                        (_, true) => places[coordinate as usize],
                        _ => local[coordinate as usize],
                    };
                    orbit.0.iter().map(of).collect::<Vec<u32>>()
                };
                pass.push(&at(first, false), &at(false, last));
            }
            all.push(pass);
        }
        all
    }

    fn push(&mut self, from: &[u32], to: &[u32]) {
        fn both<const N: usize>(from: &[u32], to: &[u32]) -> Option<[[u32; N]; 2]> {
            Some([from.try_into().ok()?, to.try_into().ok()?])
        }
        match from.len() {
            1 => self.of_one.extend(both(from, to)),
            2 => self.of_two.extend(both(from, to)),
            3 => self.of_three.extend(both(from, to)),
            4 => self.of_four.extend(both(from, to)),
            8 => self.of_eight.extend(both(from, to)),
            _ => {}
        }
    }
}

impl<T: Copy> ColorSum<T> {
    /// Vectors of scratch needed by a sum.
    pub fn scratch(&self) -> usize {
        if self.passes.is_empty() {
            0
        } else {
            2 * (self.flows + self.together)
        }
    }
}

/// A task that computes `sum over i, j of JAMP_i^* C_ij JAMP_j` for a vector of events.
pub struct ColorSumTask<'a, T> {
    /// The matrix.
    pub color: &'a ColorSum<T>,
    /// The JAMPs; real and imaginary vectors alternate.
    pub jamp: *const T,
    /// Scratch.
    pub scratch: *mut T,
    /// Destination of the sum.
    pub result: *mut T,
}

impl<T: mebridge_simd::Real> Task<T> for ColorSumTask<'_, T> {
    type Output = ();

    /// `jamp` must point to `2 * flows` vectors, `scratch` to the number of vectors that the matrix requires, and
    /// `result` to one, aligned for `V`.
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        let color = self.color;
        // SAFETY: guaranteed by the caller; places are below `flows`.
        unsafe {
            for pass in &color.passes {
                let from = if pass.first { self.jamp } else { self.scratch };
                pass.run::<V>(from, self.scratch, color.root);
            }
            let from = match color.passes.is_empty() {
                true => self.jamp,
                false => self.scratch,
            };
            let mut total = [V::zero(); 2];
            for block in &color.blocks {
                block.add::<V>(from, &mut total);
            }
            (total[0] + total[1]).store(self.result);
        }
    }
}

impl OrbitSums {
    /// # Safety
    /// The places are within `from` and `to`.
    #[inline(always)]
    unsafe fn run<V: Simd>(&self, from: *const V::Scalar, to: *mut V::Scalar, root: V::Scalar) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            orbits::<V, 1>(&self.of_one, from, to);
            orbits::<V, 2>(&self.of_two, from, to);
            of_three::<V>(&self.of_three, from, to, root);
            orbits::<V, 4>(&self.of_four, from, to);
            orbits::<V, 8>(&self.of_eight, from, to);
        }
    }
}

/// Replaces groups of N by their sums.
///
/// # Safety
/// The places are within `from` and `to`.
#[inline(always)]
unsafe fn orbits<V: Simd, const N: usize>(
    places: &[[[u32; N]; 2]],
    from: *const V::Scalar,
    to: *mut V::Scalar,
) {
    for [froms, tos] in places {
        for part in 0..2 {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let mut x = [V::zero(); N];
                for i in 0..N {
                    x[i] = V::load(from.add((2 * froms[i] as usize + part) * V::LANES));
                }
                let mut bit = 1;
                while bit < N {
                    for i in 0..N {
                        if i & bit == 0 {
                            (x[i], x[i | bit]) = (x[i] + x[i | bit], x[i] - x[i | bit]);
                        }
                    }
                    bit *= 2;
                }
                for i in 0..N {
                    x[i].store(to.add((2 * tos[i] as usize + part) * V::LANES));
                }
            }
        }
    }
}

/// Replaces groups of three by their sums, given the square root of three.
///
/// # Safety
/// The places are within `from` and `to`; the CPU supports the features of `V`.
#[inline(always)]
unsafe fn of_three<V: Simd>(
    places: &[[[u32; 3]; 2]],
    from: *const V::Scalar,
    to: *mut V::Scalar,
    root: V::Scalar,
) {
    // SAFETY: the CPU supports the level, as guaranteed by the caller.
    let root = unsafe { V::splat(root) };
    for [froms, tos] in places {
        for part in 0..2 {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let a = V::load(from.add((2 * froms[0] as usize + part) * V::LANES));
                let b = V::load(from.add((2 * froms[1] as usize + part) * V::LANES));
                let c = V::load(from.add((2 * froms[2] as usize + part) * V::LANES));
                let both = b + c;
                let results = [a + both, (a - both) + a, (b - c) * root];
                for i in 0..3 {
                    results[i].store(to.add((2 * tos[i] as usize + part) * V::LANES));
                }
            }
        }
    }
}
