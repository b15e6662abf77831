//! Block-diagonal form of a colour matrix.
//!
//! With k commuting symmetries (see [`super::symmetry`]) the flows form orbits of 2^k flows or a smaller power of two.
//! In each orbit the flows are replaced by the sums `y_chi = sum over v of chi(v) x_v`, one for each choice of k signs;
//! the matrix has no entries between sums with different signs. So it splits into 2^k diagonal blocks, whose entries
//! are `sum over v' in O' of chi(v') C(o, v') / |O'|` for orbits O, O' and any o in O. The sums cost k additions per
//! flow.
//!
//! Blocks that have symmetries of their own are split again, as long as the smaller blocks save more time than another
//! pass over all coordinates costs. Rows of zeros are omitted.

use super::symmetry::{Matrix, Work, commuting};
use mebridge_process::Process;
use mebridge_process::color::ColorMatrix;
use serde::{Deserialize, Serialize};

/// Number of entries that the search may examine; takes about a second.
const WORK: usize = 300_000_000;
/// Size of the smallest matrix for which symmetries are searched.
const MIN_SYMMETRIC_SIZE: usize = 4;
/// Maximum number of commuting symmetries used in one pass; their sums fit in registers.
const AT_ONCE: usize = 3;

/// A coordinate of the vector of JAMPs: a colour flow, or the sum that replaces it.
pub type Coordinate = u32;

/// A colour matrix in block-diagonal form, with the sums that lead to its coordinates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BlockDiagonal {
    /// Number of colour flows.
    pub flows: usize,
    /// Passes of sums, to be carried out in this order.
    pub passes: Vec<Vec<Orbit>>,
    /// The diagonal blocks.
    pub blocks: Vec<DiagonalBlock>,
    /// Common denominator of all entries.
    pub denominator: f64,
}

/// Coordinates (1, 2, 4 or 8) that are replaced by their sums. The sum stored at index c has a minus sign for index v
/// if c and v have an odd number of common bits. Three coordinates a, b, c are replaced by `a + b + c`, `2 a - b - c`
/// and `sqrt(3) (b - c)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orbit(pub Vec<Coordinate>);

/// A diagonal block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DiagonalBlock {
    /// Its coordinates.
    pub coordinates: Vec<Coordinate>,
    /// Its entries, times the denominator.
    pub matrix: Matrix,
}

impl BlockDiagonal {
    /// Finds the cheapest block-diagonal form of a matrix.
    pub fn new(color: &ColorMatrix) -> BlockDiagonal {
        let flows = color.flows as usize;
        let mut upper = color.upper.iter();
        let matrix = Matrix::new(flows, |_, _| upper.next().copied().unwrap_or(f64::NAN));
        let mut work = Work::limit(WORK);
        let whole = Submatrix::new(matrix, (0..flows as Coordinate).collect(), &mut work);
        let fastest = (0..=whole.depth()).min_by_key(|&passes| whole.time(passes));
        let Reduction { mut passes, blocks } = whole.reduction(fastest.unwrap_or(0));
        let used = blocks.iter().flat_map(|b| &b.coordinates).copied();
        if !passes.is_empty() || used.zip(0..).any(|(coordinate, place)| coordinate != place) {
            // The first pass must copy all flows to their places.
            passes.resize(passes.len().max(1), Vec::new());
            let mut taken = vec![false; flows];
            for &coordinate in passes[0].iter().flat_map(|o| &o.0) {
                taken[coordinate as usize] = true;
            }
            let left = (0..flows as Coordinate).filter(|&s| !taken[s as usize]);
            passes[0].extend(left.map(|s| Orbit(vec![s])));
        }
        BlockDiagonal {
            flows,
            passes,
            blocks,
            denominator: color.denominator,
        }
    }

    /// Whether this has the layout of `color`, so that a sum accesses only its flows.
    pub fn fits(&self, color: &ColorMatrix) -> bool {
        self.is_of(color.flows as usize, color.denominator)
    }

    /// Whether this has the layout of the JAMPs of a process.
    pub fn fits_process(&self, process: &Process) -> bool {
        self.is_of(process.amplitudes.jamps(), process.amplitudes.denominator())
    }

    fn is_of(&self, flows: usize, denominator: f64) -> bool {
        let known = |coordinate: &Coordinate| (*coordinate as usize) < self.flows;
        let mut seen = vec![false; flows];
        let mut once =
            |coordinate: &Coordinate| !std::mem::replace(&mut seen[*coordinate as usize], true);
        let mut orbits = self.passes.iter().flatten();
        self.flows == flows
            && self.denominator == denominator
            && orbits.all(|o| matches!(o.0.len(), 1 | 2 | 3 | 4 | 8) && o.0.iter().all(known))
            && self.blocks.iter().all(|block| {
                let coordinates = &block.coordinates;
                block.matrix.is_square_of(coordinates.len())
                    && coordinates
                        .iter()
                        .all(|coordinate| known(coordinate) && once(coordinate))
            })
    }

    /// The place of each coordinate if the coordinates of the blocks are stored contiguously, block after block,
    /// followed by those in no block.
    pub fn places(&self) -> Vec<u32> {
        let mut places = vec![u32::MAX; self.flows];
        let mut next = 0;
        let of_blocks = self
            .blocks
            .iter()
            .flat_map(|b| b.coordinates.iter().copied());
        for coordinate in of_blocks.chain(0..self.flows as Coordinate) {
            let place = &mut places[coordinate as usize];
            if *place == u32::MAX {
                *place = next;
                next += 1;
            }
        }
        places
    }

    /// Multiply-adds and additions of one sum: two for each matrix entry (real and imaginary part), two for each row,
    /// and two for each addition.
    pub fn multiply_adds(&self) -> usize {
        let orbits = self.passes.iter().flatten();
        let adds = orbits.map(|o| match o.0.len() {
            3 => 5,
            n => n * n.ilog2() as usize,
        });
        let sizes = self.blocks.iter().map(|b| b.coordinates.len());
        2 * (adds.sum::<usize>() + sizes.map(|n| n * (n + 1) / 2 + n).sum::<usize>())
    }
}

/// Passes and blocks of a part of the matrix.
#[derive(Default)]
struct Reduction {
    passes: Vec<Vec<Orbit>>,
    blocks: Vec<DiagonalBlock>,
}

impl Reduction {
    /// Adds another part, whose passes begin with index `after`.
    fn add(&mut self, part: Reduction, after: usize) {
        let passes = after + part.passes.len();
        self.passes
            .resize(self.passes.len().max(passes), Vec::new());
        for (all, more) in self.passes[after..].iter_mut().zip(part.passes) {
            all.extend(more);
        }
        self.blocks.extend(part.blocks);
    }
}

/// A part of the matrix, and its decomposition.
struct Submatrix {
    coordinates: Vec<Coordinate>,
    matrix: Matrix,
    split: Option<Division>,
}

/// The decomposition of a part: by sums, or without sums if it is not connected.
struct Division {
    pass: Vec<Orbit>,
    parts: Vec<Submatrix>,
}

impl Division {
    /// Number of passes that the decomposition takes: one, or none.
    fn passes(&self) -> usize {
        usize::from(!self.pass.is_empty())
    }
}

/// Cost of a block in units of the time for one entry, measured at 512z and avx2 with blocks of 1 to 120 rows.
fn time_of_block(size: usize) -> usize {
    size * (size + 1) / 2 + 5
}

/// Cost of a pass in the same units. A pass moves all coordinates even if only one part has sums, and except in orbits
/// of eight, loads and stores take longer than additions.
fn time_of_pass(coordinates: usize, of_eight: usize) -> usize {
    2 * coordinates + 8 * of_eight
}

impl Submatrix {
    /// Decomposes a part by all of its symmetries.
    fn new(matrix: Matrix, coordinates: Vec<Coordinate>, work: &mut Work) -> Submatrix {
        let components = matrix.components();
        if components.len() == 1 && components[0].len() == coordinates.len() {
            return Submatrix::connected(matrix, coordinates, work);
        }
        let pieces = components.into_iter().map(|rows| {
            let piece = rows.iter().map(|&r| coordinates[r as usize]).collect();
            Submatrix::connected(matrix.part(&rows), piece, work)
        });
        let parts = pieces.collect();
        Submatrix {
            coordinates,
            matrix,
            split: Some(Division {
                pass: Vec::new(),
                parts,
            }),
        }
    }

    fn connected(matrix: Matrix, coordinates: Vec<Coordinate>, work: &mut Work) -> Submatrix {
        let mut split = None;
        if coordinates.len() >= MIN_SYMMETRIC_SIZE {
            let mut symmetries = commuting(&matrix, AT_ONCE, work);
            while !symmetries.is_empty() && split.is_none() {
                let Some(orbits) = orbits(&symmetries, coordinates.len()) else {
                    symmetries.pop();
                    continue;
                };
                let parts = (0..1 << symmetries.len()).map(|block| {
                    let (matrix, coordinates) = self::block(&matrix, &coordinates, &orbits, block);
                    Submatrix::new(matrix, coordinates, work)
                });
                split = Some(Division {
                    parts: parts.collect(),
                    pass: orbits.iter().map(|o| o.in_slots(&coordinates)).collect(),
                });
            }
        }
        Submatrix {
            coordinates,
            matrix,
            split,
        }
    }

    /// Maximum number of consecutive passes.
    fn depth(&self) -> usize {
        self.split.as_ref().map_or(0, |split| {
            let below = split.parts.iter().map(Submatrix::depth).max();
            split.passes() + below.unwrap_or(0)
        })
    }

    /// The decomposition with at most `passes` passes, the number of passes left for its parts, and the time of their
    /// blocks; `None` if the part stays whole.
    fn division(&self, passes: usize) -> Option<(&Division, usize, usize)> {
        let split = self.split.as_ref()?;
        let left = passes.checked_sub(split.passes())?;
        let times = split.parts.iter().map(|part| part.time_of_blocks(left));
        let time = times.sum();
        let pays = split.pass.is_empty() || time < time_of_block(self.coordinates.len());
        pays.then_some((split, left, time))
    }

    /// Time of all blocks after at most `passes` passes.
    fn time_of_blocks(&self, passes: usize) -> usize {
        match self.division(passes) {
            Some((_, _, time)) => time,
            None => time_of_block(self.coordinates.len()),
        }
    }

    /// Adds the numbers of orbits of eight to each pass.
    fn orbits_of_eight(&self, passes: usize, at: usize, of: &mut [Option<usize>]) {
        let Some((split, left, _)) = self.division(passes) else {
            return;
        };
        if !split.pass.is_empty() {
            let of_eight = split.pass.iter().filter(|o| o.0.len() == 8).count();
            of[at] = Some(of[at].unwrap_or(0) + of_eight);
        }
        for part in &split.parts {
            part.orbits_of_eight(left, at + split.passes(), of);
        }
    }

    /// Time of passes and blocks with at most `passes` passes.
    fn time(&self, passes: usize) -> usize {
        let mut of = vec![None; passes];
        self.orbits_of_eight(passes, 0, &mut of);
        let moves = of.into_iter().flatten();
        let moves = moves.map(|of_eight| time_of_pass(self.coordinates.len(), of_eight));
        moves.sum::<usize>() + self.time_of_blocks(passes)
    }

    fn reduction(self, passes: usize) -> Reduction {
        let left = self.division(passes).map(|(_, left, _)| left);
        let (Some(split), Some(left)) = (self.split, left) else {
            return Reduction {
                passes: Vec::new(),
                blocks: vec![DiagonalBlock {
                    coordinates: self.coordinates,
                    matrix: self.matrix,
                }],
            };
        };
        let mut form = Reduction::default();
        let passes_taken = split.passes();
        if passes_taken > 0 {
            form.passes.push(split.pass);
        }
        for part in split.parts {
            form.add(part.reduction(left), passes_taken);
        }
        form
    }
}

/// An orbit of a group of commuting signed involutions.
pub(crate) struct Labelled {
    /// Flows of the orbit: number `a ^ b` is the image of number `a` under the product of the generators with a bit in
    /// `b`, numbered within the orbit.
    flows: Vec<u32>,
    /// The signs with which the generators map the first flow to others, as a bit mask.
    signs: usize,
    /// For each bit the generator, as a bit of the group.
    generators: Vec<usize>,
    /// For each other generator of the group: its bit, the flow to which it maps the first flow, and whether with a
    /// minus sign.
    fixing: Vec<(usize, usize, bool)>,
}

fn odd(bits: usize) -> bool {
    bits.count_ones() % 2 == 1
}

impl Labelled {
    /// The flow (by number) whose sum belongs to a block, if any.
    fn sum_of(&self, block: usize) -> Option<usize> {
        let mut c = 0;
        for (bit, generator) in self.generators.iter().enumerate() {
            c |= usize::from(block & generator != 0) << bit;
        }
        let fits = |&(generator, label, negative): &(usize, usize, bool)| {
            (block & generator != 0) == (negative != odd(label & c))
        };
        self.fixing.iter().all(fits).then_some(c ^ self.signs)
    }

    pub(crate) fn in_slots(&self, coordinates: &[Coordinate]) -> Orbit {
        Orbit(
            self.flows
                .iter()
                .map(|&f| coordinates[f as usize])
                .collect(),
        )
    }
}

/// The orbits of commuting involutions. `None` if the signs within an orbit are not consistent.
pub(crate) fn orbits(group: &[super::symmetry::Involution], size: usize) -> Option<Vec<Labelled>> {
    let mut seen = vec![false; size];
    let mut orbits = Vec::new();
    for first in 0..size {
        if seen[first] {
            continue;
        }
        let mut flows = vec![first as u32];
        let mut minus = vec![false];
        let (mut generators, mut fixing) = (Vec::new(), Vec::new());
        for (i, p) in group.iter().enumerate() {
            let (to, s) = p.image(first);
            match flows.iter().position(|&f| f as usize == to) {
                Some(label) => fixing.push((1 << i, label, s != minus[label])),
                None => {
                    generators.push(1 << i);
                    for label in 0..flows.len() {
                        let (to, s) = p.image(flows[label] as usize);
                        flows.push(to as u32);
                        minus.push(s != minus[label]);
                    }
                }
            }
        }
        for &f in &flows {
            seen[f as usize] = true;
        }
        let bits = 0..generators.len();
        let signs = bits.fold(0, |signs, bit| signs | usize::from(minus[1 << bit]) << bit);
        if (0..flows.len()).any(|label| minus[label] != odd(label & signs)) {
            return None;
        }
        orbits.push(Labelled {
            flows,
            signs,
            generators,
            fixing,
        });
    }
    Some(orbits)
}

/// Computes a block, given by the signs of the generators, and the coordinates of its sums.
pub(crate) fn block(
    matrix: &Matrix,
    coordinates: &[Coordinate],
    orbits: &[Labelled],
    block: usize,
) -> (Matrix, Vec<Coordinate>) {
    let with_sums = orbits.iter().filter_map(|o| Some((o, o.sum_of(block)?)));
    let with_sums: Vec<_> = with_sums.collect();
    let part = Matrix::new(with_sums.len(), |i, j| {
        let row = matrix.row(with_sums[i].0.flows[0] as usize);
        let (orbit, sum) = with_sums[j];
        let terms = orbit.flows.iter().enumerate().map(|(label, &flow)| {
            let x = row[flow as usize];
            if odd(label & sum) { -x } else { x }
        });
        terms.sum::<f64>() / orbit.flows.len() as f64
    });
    let coordinates = with_sums
        .iter()
        .map(|(orbit, sum)| coordinates[orbit.flows[*sum] as usize]);
    (part, coordinates.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For `C(i, j) = f(i xor j)`, using three symmetries at a time is sufficient.
    fn exclusive_or(size: usize) -> BlockDiagonal {
        let pairs = (0..size).flat_map(|i| (i..size).map(move |j| (i, j)));
        let f = |k: usize| {
            if k == 0 {
                97.0
            } else {
                (7 * k % 13) as f64 + 0.5
            }
        };
        BlockDiagonal::new(&ColorMatrix {
            flows: size as u32,
            denominator: 1.0,
            upper: pairs.map(|(i, j)| f(i ^ j)).collect(),
        })
    }

    #[test]
    fn a_pass_has_to_save_more_than_it_takes() {
        let passes = [4, 8, 16, 32, 64].map(|size| exclusive_or(size).passes.len());
        // Blocks of one coordinate are no cheaper than blocks of two, and another pass moves all coordinates.
        assert_eq!(passes, [0, 0, 1, 1, 1]);
        let blocks = exclusive_or(32).blocks;
        assert!(blocks.iter().all(|block| block.coordinates.len() <= 4));
    }
}
