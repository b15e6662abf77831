//! The colour matrix.
//!
//! MG5aMC writes the colour matrix as integers over a common denominator. Since 3.6 it writes the upper triangle with
//! doubled off-diagonal entries, so that the sum runs over j >= i; before, it wrote the full matrix with one
//! denominator per row. Here it is the upper triangle of the symmetric matrix, row by row, not doubled.

use super::Process;
use mebridge_support::sorted::SortedMap;
use serde::{Deserialize, Serialize};

/// Matrices with more rows are not factorised, and taken to be positive.
const MAX_FACTORISED_ROWS: usize = 2000;

/// `CF` and `DENOM`: `|M|^2` is the sum over i and j of `JAMP_i^* C_ij JAMP_j`, with
/// `C_ij = upper / denominator`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColorMatrix {
    /// Number of JAMPs: colour flows (`NCOLOR`), times the number of split coupling orders (`NAMPSO`) if orders are
    /// split.
    pub flows: u32,
    /// The common denominator.
    pub denominator: f64,
    /// Numerators of the entries (i, j) with j >= i, row by row.
    pub upper: Vec<f64>,
}

/// `JAMP2`: the weight of a colour flow in the choice of a flow, if it is not `|JAMP|^2`. With split coupling orders
/// (NAMPSO > 1) it is a sum over the selected pairs of orders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowWeight {
    /// The weight is the sum over this list of `|sum of Re(JAMP_a JAMP_b^*)|`, the inner sum over the pairs (a, b) of
    /// an element.
    pub moduli: Vec<Vec<(u32, u32)>>,
}

impl FlowWeight {
    /// `|JAMP|^2`.
    pub fn of_jamp(jamp: u32) -> Self {
        FlowWeight {
            moduli: vec![vec![(jamp, jamp)]],
        }
    }
}

impl ColorMatrix {
    /// The entry (i, j), numerator over denominator.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        let n = self.flows as usize;
        let (i, j) = if i <= j { (i, j) } else { (j, i) };
        // Row i follows the i rows above it, which have n, n-1, ... entries.
        self.upper[i * n - i * i.saturating_sub(1) / 2 + (j - i)] / self.denominator
    }

    /// Whether `JAMP^dagger CF JAMP` cannot be negative, apart from rounding, that is, whether a Cholesky factorisation
    /// with pivoting succeeds. Very large matrices are taken to be positive.
    pub fn is_positive(&self) -> bool {
        let n = self.flows as usize;
        if n > MAX_FACTORISED_ROWS {
            return true;
        }
        let mut left: Vec<f64> = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| self.entry(i, j))
            .collect();
        let largest = (0..n).fold(0.0f64, |a, i| a.max(left[i * n + i].abs()));
        let small = 1e-9 * largest;
        let mut open: Vec<usize> = (0..n).collect();
        let mut row = vec![0.0; n];
        while let Some(at) = (0..open.len()).max_by(|&a, &b| {
            let diagonal = |k: usize| left[open[k] * n + open[k]];
            diagonal(a).total_cmp(&diagonal(b))
        }) {
            let pivot = open[at];
            let size = left[pivot * n + pivot];
            if size <= small {
                // No remaining diagonal entry is positive, so all remaining entries must be zero.
                let zero = |x: f64| x.abs() <= 1e3 * small;
                let mut rest = open.iter().flat_map(|&i| open.iter().map(move |&j| (i, j)));
                return size >= -small && rest.all(|(i, j)| zero(left[i * n + j]));
            }
            open.swap_remove(at);
            row.copy_from_slice(&left[pivot * n..][..n]);
            for &i in &open {
                let factor = row[i] / size;
                for (x, y) in left[i * n..][..n].iter_mut().zip(&row) {
                    *x -= factor * y;
                }
            }
        }
        true
    }

    /// Number of entries in the upper triangle of a matrix of this size.
    pub fn triangle(flows: usize) -> usize {
        flows * (flows + 1) / 2
    }
}

impl Process {
    /// The pairs of legs that the colour lines of a flow ([`Channels::color_flows`](super::channels::Channels::color_flows))
    /// connect, from colour to anticolour of outgoing particles. `None` if a line does not connect two legs, as those of
    /// sextets, and of three quarks that meet in an epsilon.
    pub fn color_lines(&self, tags: &[(i32, i32)]) -> Option<Vec<[usize; 2]>> {
        let (mut from, mut to) = (SortedMap::new(), SortedMap::new());
        for ((leg, of), &tags) in self.legs.iter().enumerate().zip(tags) {
            let (color, anticolor) = match of.incoming {
                true => (tags.1, tags.0),
                false => tags,
            };
            for (tag, ends) in [(color, &mut from), (anticolor, &mut to)] {
                // Sextets have negative tags.
                if tag < 0 || (tag > 0 && ends.insert(tag, leg).is_some()) {
                    return None;
                }
            }
        }
        if from.len() != to.len() {
            return None;
        }
        from.iter()
            .map(|(tag, &leg)| Some([leg, *to.get(tag)?]))
            .collect()
    }
}

/// The paths along colour lines ([`Process::color_lines`]): from each leg without anticolour on, ascending, then around
/// each loop, from its first leg that is no gluon on if it has one, else from its first gluon.
pub fn color_paths(lines: &[[usize; 2]], legs: usize, gluons: &[bool]) -> Vec<Vec<usize>> {
    let (mut next, mut begins) = (vec![None; legs], vec![false; legs]);
    for &[from, _] in lines {
        begins[from] = true;
    }
    for &[from, to] in lines {
        next[from] = Some(to);
        begins[to] = false;
    }
    let mut passed = vec![false; legs];
    let mut found = Vec::new();
    let open = (0..legs).filter(|&leg| begins[leg]);
    let fixed = (0..legs).filter(|&leg| !gluons[leg]);
    for first in open.chain(fixed).chain(0..legs) {
        let mut path = Vec::new();
        let mut at = Some(first);
        while let Some(leg) = at.filter(|&leg| !passed[leg]) {
            if next[leg].is_none() && path.is_empty() {
                break;
            }
            passed[leg] = true;
            path.push(leg);
            at = next[leg];
        }
        if !path.is_empty() {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f64]]) -> ColorMatrix {
        let upper = (0..rows.len()).flat_map(|i| rows[i][i..].to_vec());
        ColorMatrix {
            flows: rows.len() as u32,
            denominator: 3.0,
            upper: upper.collect(),
        }
    }

    #[test]
    fn tells_positive_matrices_from_others() {
        assert!(matrix(&[&[16.0, -2.0], &[-2.0, 16.0]]).is_positive());
        // Rank 1 and rank 2.
        assert!(matrix(&[&[9.0, 3.0], &[3.0, 1.0]]).is_positive());
        assert!(matrix(&[&[2.0, 1.0, 3.0], &[1.0, 2.0, 3.0], &[3.0, 3.0, 6.0]]).is_positive());
        // An interference alone.
        assert!(!matrix(&[&[0.0, 1.0], &[1.0, 0.0]]).is_positive());
        assert!(!matrix(&[&[1.0, 2.0], &[2.0, 1.0]]).is_positive());
        assert!(!matrix(&[&[1.0, 0.0], &[0.0, -1e-3]]).is_positive());
    }

    #[test]
    fn entries_are_found_in_the_triangle() {
        let n = 4;
        let mut upper = Vec::new();
        for i in 0..n {
            for j in i..n {
                upper.push((10 * i + j) as f64);
            }
        }
        let c = ColorMatrix {
            flows: n as u32,
            denominator: 2.0,
            upper,
        };
        for i in 0..n {
            for j in 0..n {
                let (low, high) = (i.min(j), i.max(j));
                assert_eq!(c.entry(i, j), (10 * low + high) as f64 / 2.0);
            }
        }
    }
}
