//! The colour matrix of JAMPs that are orders of the same things, in blocks by its known symmetries.
//!
//! It depends only on the order of one JAMP as seen from the other ([`crate::process::color_ordered`]), so giving the
//! things other names changes nothing, nor does reading all orders backwards. Exchanges of two things that have none in
//! common, and the latter, commute: of these the blocks are made, entry by entry, without the matrix.

use super::block_diagonal::{Block, BlockDiagonal, Orbit, Slot};
use super::symmetry::Matrix;
use crate::process::color_ordered::{number_of, orders};

/// Exchanges that are used at once.
const EXCHANGES: usize = 3;

/// Flows that belong together: bit k of a number says whether exchange k is made.
struct Coset {
    flows: Vec<Slot>,
    /// The coset of the orders read backwards, and by which exchanges its first is the first of these.
    backwards: usize,
    by: usize,
}

impl BlockDiagonal {
    /// For all orders of so many things, from the first row of their matrix.
    pub fn of_orders(count: usize, row: &[f64], denominator: f64) -> BlockDiagonal {
        let all = orders(count);
        let exchanges = (count / 2).min(EXCHANGES);
        let cosets = cosets(&all, exchanges);
        let mut passes = Vec::new();
        if exchanges > 0 {
            let orbit = |coset: &Coset| Orbit(coset.flows.clone());
            passes.push(cosets.iter().map(orbit).collect());
        }
        // Sums over cosets, and of two of them or one.
        let mut second = Vec::new();
        let mut blocks = Vec::new();
        for sum in 0..1 << exchanges {
            for minus in [false, true] {
                let mut parts = Vec::new();
                for (i, coset) in cosets.iter().enumerate() {
                    let odd = (coset.by & sum).count_ones() % 2 == 1;
                    let (first, other) = (coset.flows[sum], cosets[coset.backwards].flows[sum]);
                    match coset.backwards {
                        // Read backwards the sum is itself, with a sign.
                        same if same == i && odd == minus => parts.push((first, i, None)),
                        same if same == i => {}
                        before if before < i => {}
                        other_coset => {
                            if !minus {
                                second.push(Orbit(vec![first, other]));
                            }
                            let slot = if minus { other } else { first };
                            parts.push((slot, i, Some(other_coset)));
                        }
                    }
                }
                if !parts.is_empty() {
                    blocks.push(block(&all, row, &cosets, sum, minus, &parts));
                }
            }
        }
        let in_second: Vec<Slot> = second.iter().flat_map(|o| o.0.iter().copied()).collect();
        if passes.is_empty() {
            // The first pass takes all flows to their places.
            let mut taken = vec![false; all.len()];
            in_second.iter().for_each(|&slot| taken[slot as usize] = true);
            let left = (0..all.len() as Slot).filter(|&slot| !taken[slot as usize]);
            second.extend(left.map(|slot| Orbit(vec![slot])));
        }
        passes.push(second);
        BlockDiagonal {
            flows: all.len(),
            passes,
            blocks,
            denominator,
        }
    }
}

fn cosets(all: &[Vec<u8>], exchanges: usize) -> Vec<Coset> {
    let exchanged = |order: &[u8], by: usize| -> Vec<u8> {
        let name = |&x: &u8| {
            let pair = usize::from(x / 2);
            if pair < exchanges && by >> pair & 1 == 1 { x ^ 1 } else { x }
        };
        order.iter().map(name).collect()
    };
    // For each flow its coset and place there.
    let mut of: Vec<Option<(usize, usize)>> = vec![None; all.len()];
    let mut cosets: Vec<Coset> = Vec::new();
    let mut add = |order: &[u8], backwards: usize, of: &mut Vec<Option<(usize, usize)>>| {
        let flows = (0..1 << exchanges).map(|by| number_of(&exchanged(order, by)) as Slot);
        let flows: Vec<Slot> = flows.collect();
        for (by, &flow) in flows.iter().enumerate() {
            of[flow as usize] = Some((cosets.len(), by));
        }
        cosets.push(Coset {
            flows,
            backwards,
            by: 0,
        });
    };
    let mut next = 0;
    let mut own = Vec::new();
    for (first, order) in all.iter().enumerate() {
        if of[first].is_some() {
            continue;
        }
        let mut backwards = order.clone();
        backwards.reverse();
        let number = number_of(&backwards);
        add(order, next + 1, &mut of);
        match of[number] {
            // In the coset itself.
            Some((_, by)) => {
                own.push((next, by));
                next += 1;
            }
            None => {
                add(&backwards, next, &mut of);
                next += 2;
            }
        }
    }
    for (coset, by) in own {
        cosets[coset].backwards = coset;
        cosets[coset].by = by;
    }
    cosets
}

/// The block of sums with these signs. Its entries are the sums, with signs, over all flows of one part, of the entries
/// with the first flow of the other, divided by their number.
fn block(
    all: &[Vec<u8>],
    row: &[f64],
    cosets: &[Coset],
    sum: usize,
    minus: bool,
    parts: &[(Slot, usize, Option<usize>)],
) -> Block {
    let odd = |by: usize| (by & sum).count_ones() % 2 == 1;
    let matrix = Matrix::new(parts.len(), |i, j| {
        let from = &all[cosets[parts[i].1].flows[0] as usize];
        let mut place = [0; u8::MAX as usize];
        for (at, &x) in (0..).zip(from) {
            place[usize::from(x)] = at;
        }
        let entry = |flow: Slot| {
            let mut seen = [0; u8::MAX as usize];
            let order = &all[flow as usize];
            for (to, &x) in seen.iter_mut().zip(order) {
                *to = place[usize::from(x)];
            }
            row[number_of(&seen[..order.len()])]
        };
        let of = |coset: usize, minus: bool| -> f64 {
            let flows = cosets[coset].flows.iter().enumerate();
            let terms = flows.map(|(by, &flow)| {
                let x = entry(flow);
                if odd(by) != minus { -x } else { x }
            });
            terms.sum()
        };
        let (_, coset, backwards) = parts[j];
        let size = cosets[coset].flows.len() as f64;
        match backwards {
            None => of(coset, false) / size,
            Some(other) => (of(coset, false) + of(other, minus)) / (2.0 * size),
        }
    });
    Block {
        slots: parts.iter().map(|(slot, ..)| *slot).collect(),
        matrix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::color::ColorMatrix;
    use num_complex::Complex64;

    /// `x^dagger C x` by the blocks.
    fn in_blocks(split: &BlockDiagonal, x: &[Complex64]) -> f64 {
        let mut x = x.to_vec();
        for orbit in split.passes.iter().flatten() {
            let old: Vec<Complex64> = orbit.0.iter().map(|&s| x[s as usize]).collect();
            for (c, &slot) in orbit.0.iter().enumerate() {
                let term = |(v, z): (usize, &Complex64)| {
                    if (c & v).count_ones() % 2 == 1 { -z } else { *z }
                };
                x[slot as usize] = old.iter().enumerate().map(term).sum();
            }
        }
        let mut total = 0.0;
        for block in &split.blocks {
            for (i, &a) in block.slots.iter().enumerate() {
                for (j, &b) in block.slots.iter().enumerate() {
                    let product = x[a as usize].conj() * x[b as usize];
                    total += product.re * block.matrix[(i, j)];
                }
            }
        }
        total / split.denominator
    }

    /// A matrix with the symmetries, and its blocks: one to five things, which are even and odd.
    #[test]
    fn blocks_give_what_the_matrix_gives() {
        for count in 1..=5 {
            let all = orders(count);
            // Distances between orders that no renaming and no reading backwards changes.
            let entry = |s: &[u8], t: &[u8]| {
                let mut sum = 0.0;
                for i in 0..count {
                    for j in 0..count {
                        let near = i.abs_diff(j) as f64;
                        let place = |x: u8| t.iter().position(|y| *y == x).unwrap();
                        sum += near.powi(2) * (0.3 * place(s[i]).abs_diff(place(s[j])) as f64).cos();
                    }
                }
                sum.sin()
            };
            let row: Vec<f64> = all.iter().map(|t| entry(&all[0], t)).collect();
            let split = BlockDiagonal::of_orders(count, &row, 3.0);
            let color = ColorMatrix {
                flows: all.len() as u32,
                denominator: 3.0,
                upper: Vec::new(),
            };
            assert!(split.fits(&color));
            let x: Vec<Complex64> = (0..all.len())
                .map(|i| Complex64::new((1.7 * i as f64).sin(), (0.9 * i as f64 + 1.0).cos()))
                .collect();
            let mut whole = 0.0;
            for (s, a) in all.iter().zip(&x) {
                for (t, b) in all.iter().zip(&x) {
                    whole += (a.conj() * b).re * entry(s, t) / 3.0;
                }
            }
            let own = in_blocks(&split, &x);
            assert!((own - whole).abs() < 1e-11 * whole.abs().max(1.0), "{count}: {own} {whole}");
        }
    }
}
