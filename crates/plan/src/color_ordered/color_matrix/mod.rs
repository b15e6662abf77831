//! Block-diagonal form of the colour matrix of JAMPs by insertion order, using its known symmetries.
//!
//! The matrix depends only on the order of one JAMP relative to the other ([`mebridge_process::color_ordered`]). So
//! relabelling the insertions does not change it, nor does reversing all orders. Exchanges of disjoint pairs of
//! insertions commute; they define sums of JAMPs. Reversal and the exchange of two such pairs then split these sums
//! into blocks. The full matrix is never computed.

mod by_names;

use crate::color::block_diagonal::{
    BlockDiagonal, Coordinate, DiagonalBlock, Orbit, block, orbits,
};
use crate::color::symmetry::{Involution, Matrix};
use mebridge_process::color_ordered::{number_of, orders};
use mebridge_process::{Amplitudes, Process};

/// Maximum number of exchanges used at once.
const EXCHANGES: usize = 3;

/// On a CPU, matrices of at most this number of insertions are used as they are.
const FEW: usize = 3;

/// Flows related by exchanges: bit k of an index tells whether exchange k is applied.
type Coset = Vec<Coordinate>;

/// The orders, divided into cosets.
struct CosetTable {
    all: Vec<Vec<u8>>,
    cosets: Vec<Coset>,
    /// For each flow its coset and its index there.
    of: Vec<(usize, usize)>,
}

impl BlockDiagonal {
    /// The colour matrix of a process, for a CPU or a GPU. If the process has no diagrams, it is that of its
    /// colour-ordered form.
    pub fn of_process(process: &Process, on_gpu: bool) -> BlockDiagonal {
        match &process.amplitudes {
            Amplitudes::ColorOrdered(form) => {
                let (count, row) = (form.insertions.len(), &form.row);
                // A GPU does not support sums of three.
                let of_core = match on_gpu {
                    true => None,
                    false if count <= FEW => Some(whole(count, row, form.denominator)),
                    false => BlockDiagonal::of_names(count, row, form.denominator),
                };
                of_core.unwrap_or_else(|| BlockDiagonal::of_orders(count, row, form.denominator))
            }
            Amplitudes::Diagrams(diagrams) => BlockDiagonal::new(&diagrams.color),
        }
    }

    /// The block-diagonal form for all orders of `count` insertions, given the first row of the matrix.
    pub fn of_orders(count: usize, row: &[f64], denominator: f64) -> BlockDiagonal {
        let exchanges = (count / 2).min(EXCHANGES);
        let orders = CosetTable::new(count, exchanges);
        let mut second = Vec::new();
        let mut blocks = Vec::new();
        for sum in 0..1 << exchanges {
            let matrix = orders.matrix(row, sum);
            let coordinates: Vec<Coordinate> =
                orders.cosets.iter().map(|coset| coset[sum]).collect();
            let backwards = |order: &[u8]| order.iter().rev().copied().collect::<Vec<u8>>();
            let mut symmetries = vec![orders.involution(sum, &backwards)];
            // Exchanging the first two pairs with each other maps sums to sums if both exchanges have the same sign.
            if exchanges > 1 && sum & 1 == sum >> 1 & 1 {
                let pairs = |order: &[u8]| {
                    let name = |&x: &u8| if x < 4 { x ^ 2 } else { x };
                    order.iter().map(name).collect::<Vec<u8>>()
                };
                symmetries.push(orders.involution(sum, &pairs));
            }
            let found = loop {
                match orbits(&symmetries, coordinates.len()) {
                    Some(found) => break found,
                    None => symmetries.pop(),
                };
            };
            second.extend(found.iter().map(|orbit| orbit.in_slots(&coordinates)));
            for signs in 0..1 << symmetries.len() {
                let (matrix, coordinates) = block(&matrix, &coordinates, &found, signs);
                if !coordinates.is_empty() {
                    blocks.push(DiagonalBlock {
                        coordinates,
                        matrix,
                    });
                }
            }
        }
        let mut passes = Vec::new();
        if exchanges > 0 {
            passes.push(orders.cosets.into_iter().map(Orbit).collect());
        }
        passes.push(second);
        BlockDiagonal {
            flows: orders.all.len(),
            passes,
            blocks,
            denominator,
        }
    }
}

/// The matrix as a single block.
fn whole(count: usize, row: &[f64], denominator: f64) -> BlockDiagonal {
    let orders = CosetTable::new(count, 0);
    let matrix = orders.matrix(row, 0);
    BlockDiagonal {
        flows: matrix.size(),
        passes: Vec::new(),
        blocks: vec![DiagonalBlock {
            coordinates: (0..matrix.size() as Coordinate).collect(),
            matrix,
        }],
        denominator,
    }
}

impl CosetTable {
    fn new(count: usize, exchanges: usize) -> CosetTable {
        let all = orders(count);
        let mut of = vec![None; all.len()];
        let mut cosets: Vec<Coset> = Vec::new();
        for (first, order) in all.iter().enumerate() {
            if of[first].is_some() {
                continue;
            }
            let exchanged = |by: usize| {
                let name = |&x: &u8| {
                    let pair = usize::from(x / 2);
                    if pair < exchanges && by >> pair & 1 == 1 {
                        x ^ 1
                    } else {
                        x
                    }
                };
                number_of(&order.iter().map(name).collect::<Vec<u8>>()) as Coordinate
            };
            let coset: Coset = (0..1 << exchanges).map(exchanged).collect();
            for (by, &flow) in coset.iter().enumerate() {
                of[flow as usize] = Some((cosets.len(), by));
            }
            cosets.push(coset);
        }
        CosetTable {
            all,
            cosets,
            of: of.into_iter().flatten().collect(),
        }
    }

    /// The matrix between sums over cosets with the signs `sum`: `sum over v' of chi(v') C(v, v')`, divided by the
    /// number of terms.
    fn matrix(&self, row: &[f64], sum: usize) -> Matrix {
        let mut place = vec![0; usize::from(u8::MAX)];
        let mut seen = Vec::new();
        let mut known = None;
        Matrix::new(self.cosets.len(), |i, j| {
            if known != Some(i) {
                let first = &self.all[self.cosets[i][0] as usize];
                for (at, &x) in (0..).zip(first) {
                    place[usize::from(x)] = at;
                }
                known = Some(i);
            }
            let mut total = 0.0;
            for (by, &flow) in self.cosets[j].iter().enumerate() {
                seen.clear();
                seen.extend(
                    self.all[flow as usize]
                        .iter()
                        .map(|&x| place[usize::from(x)]),
                );
                let x = row[number_of(&seen)];
                total += if (by & sum).count_ones() % 2 == 1 {
                    -x
                } else {
                    x
                };
            }
            total / self.cosets[j].len() as f64
        })
    }

    /// The involution of the sums over cosets that follows from a symmetry of the orders.
    fn involution(&self, sum: usize, symmetry: &dyn Fn(&[u8]) -> Vec<u8>) -> Involution {
        let images = self.cosets.iter().map(|coset| {
            let image = symmetry(&self.all[coset[0] as usize]);
            let (to, by) = self.of[number_of(&image)];
            (to as u32, (by & sum).count_ones() % 2 == 1)
        });
        let (image, negative) = images.unzip();
        Involution { image, negative }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_process::color::ColorMatrix;
    use num_complex::Complex64;

    /// Computes `x^dagger C x` from the blocks.
    fn in_blocks(color_blocks: &BlockDiagonal, x: &[Complex64]) -> f64 {
        let mut x = x.to_vec();
        for orbit in color_blocks.passes.iter().flatten() {
            let old: Vec<Complex64> = orbit.0.iter().map(|&s| x[s as usize]).collect();
            if let (&[a, b, c], coordinates) = (&old[..], &orbit.0) {
                x[coordinates[0] as usize] = a + b + c;
                x[coordinates[1] as usize] = a + a - b - c;
                x[coordinates[2] as usize] = (b - c) * 3f64.sqrt();
                continue;
            }
            for (c, &coordinate) in orbit.0.iter().enumerate() {
                let term = |(v, z): (usize, &Complex64)| {
                    if (c & v).count_ones() % 2 == 1 {
                        -z
                    } else {
                        *z
                    }
                };
                x[coordinate as usize] = old.iter().enumerate().map(term).sum();
            }
        }
        let mut total = 0.0;
        for block in &color_blocks.blocks {
            for (i, &a) in block.coordinates.iter().enumerate() {
                for (j, &b) in block.coordinates.iter().enumerate() {
                    let product = x[a as usize].conj() * x[b as usize];
                    total += product.re * block.matrix[(i, j)];
                }
            }
        }
        total / color_blocks.denominator
    }

    /// A matrix with these symmetries and its blocks, for one to six insertions.
    #[test]
    fn blocks_give_what_the_matrix_gives() {
        for count in 1..=6 {
            let all = orders(count);
            // A function of distances within both orders, which is invariant under relabelling and reversal.
            let entry = |s: &[u8], t: &[u8]| {
                let place = |order: &[u8], x: u8| order.iter().position(|y| *y == x).unwrap();
                let near = |order: &[u8], x: u8, y: u8| {
                    let distance = place(order, x).abs_diff(place(order, y)) as f64;
                    (0.3 * distance * distance).cos()
                };
                let pairs = s.iter().flat_map(|&x| s.iter().map(move |&y| (x, y)));
                let sum: f64 = pairs.map(|(x, y)| near(s, x, y) * near(t, x, y)).sum();
                sum.sin()
            };
            let row: Vec<f64> = all.iter().map(|t| entry(&all[0], t)).collect();
            let by_exchanges = BlockDiagonal::of_orders(count, &row, 3.0);
            let by_names = BlockDiagonal::of_names(count, &row, 3.0);
            assert_eq!(by_names.is_some(), count > 4);
            let color = ColorMatrix {
                flows: all.len() as u32,
                denominator: 3.0,
                upper: Vec::new(),
            };
            let x: Vec<Complex64> = (0..all.len())
                .map(|i| Complex64::new((1.7 * i as f64).sin(), (0.9 * i as f64 + 1.0).cos()))
                .collect();
            let mut whole = 0.0;
            for (s, a) in all.iter().zip(&x) {
                for (t, b) in all.iter().zip(&x) {
                    whole += (a.conj() * b).re * entry(s, t) / 3.0;
                }
            }
            for color_blocks in [Some(by_exchanges), by_names].into_iter().flatten() {
                assert!(color_blocks.fits(&color));
                let own = in_blocks(&color_blocks, &x);
                assert!(
                    (own - whole).abs() < 1e-11 * whole.abs().max(1.0),
                    "{count}: {own} {whole}"
                );
            }
        }
    }
}
