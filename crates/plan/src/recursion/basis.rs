//! Selection of a basis of vectors, such that the others are sums and differences of these.

use super::diagrams::TreeIndex;
use num_complex::Complex64;
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeSet;

/// A vector: its non-zero components, and marks that guide the selection.
pub struct Sparse<'a> {
    /// Components.
    pub components: &'a [(TreeIndex, Complex64)],
    /// One bit per mark.
    pub marks: u64,
}

/// For each vector the sum of others that it equals, or `None` if it is in the basis.
type Dependence = Vec<Option<Vec<(usize, f64)>>>;

/// Finds the vectors that are sums of others; `None` for those that are kept. The kept vectors are linearly
/// independent, or cannot be written as sums with coefficients 1 and -1 only.
///
/// The choice of basis determines the length of the sums. Gluon currents that begin with one chosen gluon are a good
/// basis (all others are sums of them with signs). So for each mark, the vectors with this mark are tried first, and
/// the choice with the shortest sums wins.
pub fn reduce(vectors: &[Sparse]) -> Dependence {
    let related = related(vectors);
    let mut all_sums = vec![None; vectors.len()];
    if related.len() < 2 {
        return all_sums;
    }
    let trees = related.iter().flat_map(|&v| vectors[v].components);
    let trees: BTreeSet<TreeIndex> = trees.map(|e| e.0).collect();
    let index: HashMap<TreeIndex, usize> = trees.iter().zip(0..).map(|(&t, i)| (t, i)).collect();
    let dense = related.iter().map(|&v| {
        let mut row = vec![Complex64::default(); trees.len()];
        for (tree, c) in vectors[v].components {
            row[index[tree]] = *c;
        }
        row
    });
    let mut dense: Vec<Vec<Complex64>> = dense.collect();
    let mut best: Option<(usize, Dependence)> = None;
    let marks = vectors.iter().fold(0, |all, v| all | v.marks);
    for mark in (0..64).filter(|bit| marks >> bit & 1 == 1).chain([64]) {
        let mut order: Vec<usize> = (0..related.len()).collect();
        order.sort_by_key(|&i| mark < 64 && vectors[related[i]].marks >> mark & 1 == 0);
        let (sums, pivots) = express(&dense, &order);
        let kept = sums.iter().filter(|s| s.is_none()).count();
        let terms: usize = sums.iter().flatten().map(Vec::len).sum();
        let cost = kept * KEPT + terms;
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, sums));
        }
        // Vectors that are linearly dependent in as many components as the rank are dependent in all.
        for row in &mut dense {
            *row = pivots.iter().map(|&p| row[p]).collect();
        }
    }
    let sums = best.map(|(_, sums)| sums).into_iter().flatten();
    for (&v, sum) in related.iter().zip(sums) {
        let terms = |sum: Vec<_>| sum.into_iter().map(|(i, c): (usize, _)| (related[i], c));
        all_sums[v] = sum.map(|sum| terms(sum).collect());
    }
    all_sums
}

/// The vectors that may depend on others, or vice versa: excludes those with a component that no other vector has.
fn related(vectors: &[Sparse]) -> Vec<usize> {
    let mut related: Vec<usize> = (0..vectors.len()).collect();
    loop {
        let before = related.len();
        let mut have: HashMap<TreeIndex, u32> = HashMap::default();
        for (tree, _) in related.iter().flat_map(|&v| vectors[v].components) {
            *have.entry(*tree).or_default() += 1;
        }
        related.retain(|&v| vectors[v].components.iter().all(|(tree, _)| have[tree] > 1));
        if related.len() == before {
            return related;
        }
    }
}

/// Cost of a kept vector, in units of terms of sums.
const KEPT: usize = 20;

/// Numbers below this count as zero.
const TINY: f64 = 1e-9;

/// Takes the vectors in the given order, and writes each as a sum of those kept before it if possible. Also returns
/// pivots: one component per independent vector, restricted to which they are still independent.
fn express(dense: &[Vec<Complex64>], order: &[usize]) -> (Dependence, Vec<usize>) {
    /// A vector in reduced form: its pivot, and the kept vectors that it combines.
    struct Row {
        vector: Vec<Complex64>,
        pivot: usize,
        made_of: HashMap<usize, Complex64>,
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut sums = vec![None; dense.len()];
    for &v in order {
        let mut rest = dense[v].clone();
        let mut made_of: HashMap<usize, Complex64> = HashMap::default();
        for row in &rows {
            let c = rest[row.pivot];
            if c.norm_sqr() < TINY * TINY {
                continue;
            }
            for (x, y) in rest.iter_mut().zip(&row.vector) {
                *x -= c * y;
            }
            for (&kept, x) in &row.made_of {
                *made_of.entry(kept).or_default() += c * x;
            }
        }
        let size = |p: usize| rest[p].norm_sqr();
        let pivot = (0..rest.len()).max_by(|&a, &b| size(a).total_cmp(&size(b)));
        match pivot.filter(|&p| size(p) > TINY * TINY) {
            Some(pivot) => {
                let scale = rest[pivot];
                for x in &mut rest {
                    *x /= scale;
                }
                for x in made_of.values_mut() {
                    *x /= -scale;
                }
                made_of.insert(v, scale.inv());
                rows.push(Row {
                    vector: rest,
                    pivot,
                    made_of,
                });
            }
            None => sums[v] = signs(made_of),
        }
    }
    (sums, rows.iter().map(|row| row.pivot).collect())
}

/// Converts coefficients if all are 0, 1 or -1.
fn signs(made_of: HashMap<usize, Complex64>) -> Option<Vec<(usize, f64)>> {
    let mut sum = Vec::new();
    for (kept, c) in made_of {
        if c.norm() < TINY {
            continue;
        }
        let sign = c.re.signum();
        if (c - sign).norm() > TINY {
            return None;
        }
        sum.push((kept, sign));
    }
    sum.sort_by_key(|(kept, _)| *kept);
    Some(sum)
}
