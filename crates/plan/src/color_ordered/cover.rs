//! Decomposition of the JAMP for an insertion order along a quark line into products.
//!
//! Cut the line after insertion `h`. In every diagram, exactly one vertex of the line is the first that holds an
//! insertion after the cut: it couples to a current of the insertions `k + 1` to `m` with `k <= h < m`, a *block*. A
//! JAMP is the sum over all blocks `(k, m)` of a product of three factors: the line's current with the insertions
//! before the block, the current of the block, and the second end's current with the insertions after it.
//!
//! Some blocks are combined with the currents on their right, and those with the same `k` are added up; some are
//! combined with the currents on their left. The rest are products of the block's current with the vector of both
//! sides: for all orders of the block, or for those from which the others follow as sums.

/// Costs in multiply-adds of a product, of a vertex of the line, and of a vector of both ends. (Measured: vertices cost
/// more than their multiply-adds because of latencies.)
const PRODUCT: f64 = 16.0;
const VERTEX: f64 = 50.0;
const VECTOR: f64 = 64.0;

/// The cost of adding one number to another, which is dominated by loads.
const ADDITION: f64 = 2.5;

/// The treatment of each block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cover {
    /// Number of insertions before the cut of the line.
    pub cut: usize,
    /// For each `k` up to the cut, the `m` of the blocks that are combined with the second end's currents.
    pub right: Vec<Vec<usize>>,
    /// For each `m`, the `k` of the blocks that are combined with the line's currents.
    pub left: Vec<Vec<usize>>,
    /// Blocks for which the currents of all orders are multiplied.
    pub all: Vec<(usize, usize)>,
    /// Blocks for which only the orders with the smallest insertion first are multiplied.
    pub sums: Vec<(usize, usize)>,
}

impl Cover {
    /// Finds the cheapest cover for `count` insertions. Gluon currents of more than `short` insertions are not stored
    /// for all orders. `weights[n]` is the number of elements of one end's currents with `n` insertions, per JAMP and
    /// helicity.
    pub fn new(count: usize, short: usize, weights: &[f64]) -> Cover {
        Cover::cheapest(count, short, true, weights)
    }

    /// The cheapest cover without `sums`, whose products all go directly into JAMPs, for a single run over all
    /// helicities.
    pub fn without_sums(count: usize) -> Cover {
        let weights: Vec<f64> = (0..=count)
            .map(|insertions| weight(count, insertions))
            .collect();
        Cover::cheapest(count, count, false, &weights)
    }

    fn cheapest(count: usize, short: usize, sums: bool, weights: &[f64]) -> Cover {
        let mut best: Option<(f64, Cover)> = None;
        for cut in 0..count {
            let (firsts, lasts) = (cut + 1, count - cut);
            for joined in 0..1u32 << (firsts + lasts) {
                let right = |k: usize| joined >> k & 1 == 1;
                let left = |m: usize| joined >> (firsts + m - cut - 1) & 1 == 1;
                let (cost, cover) = with((count, short, sums), weights, cut, right, left);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, cover));
                }
            }
        }
        best.map(|(_, cover)| cover).unwrap_or_default()
    }
}

/// Number of elements of one end's currents with `insertions` of `count` insertions, per JAMP.
fn weight(count: usize, insertions: usize) -> f64 {
    let others = (count - insertions) as i32;
    let orders: f64 = (1..=others).map(f64::from).product();
    1.0 / (orders * 2f64.powi(others + 1))
}

fn with(
    (count, short, sums): (usize, usize, bool),
    weights: &[f64],
    cut: usize,
    right: impl Fn(usize) -> bool,
    left: impl Fn(usize) -> bool,
) -> (f64, Cover) {
    let mut cover = Cover {
        cut,
        right: vec![Vec::new(); count + 1],
        left: vec![Vec::new(); count + 1],
        ..Cover::default()
    };
    let mut cost = 0.0;
    for (k, weight) in weights.iter().enumerate().take(cut + 1) {
        cost += if right(k) { PRODUCT } else { 0.0 };
        // The line's own current.
        cost += k as f64 * VERTEX * weight;
    }
    for m in cut + 1..=count {
        cost += if left(m) { PRODUCT } else { 0.0 };
        cost += (count - m) as f64 * VERTEX * weights[count - m];
    }
    for k in 0..=cut {
        for m in cut + 1..=count {
            let to_right = VERTEX * weights[count - k];
            let to_left = VERTEX * weights[m];
            match (right(k), left(m)) {
                (true, false) => cover.right[k].push(m),
                (false, true) => cover.left[m].push(k),
                (true, true) if to_right < to_left => cover.right[k].push(m),
                (true, true) => cover.left[m].push(k),
                (false, false) => {
                    let length = (m - k) as f64;
                    let orders: f64 = (1..=m - k).map(|i| i as f64).product();
                    cost += VECTOR / orders;
                    // Each intermediate sum serves two orders.
                    let shared = (length - 1.0) * (length - 2.0) / (4.0 * length);
                    let of_sums = PRODUCT / length + 2.0 * ADDITION * (1.0 + shared);
                    if !sums || m - k <= short && PRODUCT <= of_sums {
                        cost += PRODUCT;
                        cover.all.push((k, m));
                    } else {
                        cost += of_sums;
                        cover.sums.push((k, m));
                    }
                    continue;
                }
            }
            cost += match cover.right[k].last() == Some(&m) {
                true => to_right,
                false => to_left,
            };
        }
    }
    (cost, cover)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_treated_once() {
        let weights = |count| {
            (0..=count)
                .map(|insertions| weight(count, insertions))
                .collect::<Vec<f64>>()
        };
        let with_sums = (1..=7).map(|count| (count, Cover::new(count, 4, &weights(count))));
        let without = (1..=7).map(|count| (count, Cover::without_sums(count)));
        for (count, cover) in with_sums.chain(without) {
            let mut blocks: Vec<(usize, usize)> = [&cover.all[..], &cover.sums].concat();
            for (k, ms) in cover.right.iter().enumerate() {
                blocks.extend(ms.iter().map(|&m| (k, m)));
            }
            for (m, ks) in cover.left.iter().enumerate() {
                blocks.extend(ks.iter().map(|&k| (k, m)));
            }
            blocks.sort_unstable();
            let of_cut = |k| (cover.cut + 1..=count).map(move |m| (k, m));
            let expected: Vec<(usize, usize)> = (0..=cover.cut).flat_map(of_cut).collect();
            assert_eq!(blocks, expected);
        }
    }
}
