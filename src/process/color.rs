//! The colour matrix.
//!
//! MG5aMC writes the colour matrix as integers over a common denominator. Since 3.6 it writes
//! the upper triangle with the off-diagonal entries doubled, so that the sum runs over j >= i;
//! before, the full matrix with one denominator a row. Here: the upper triangle, row by row,
//! of the symmetric matrix itself, not doubled.

use serde::{Deserialize, Serialize};

/// `CF` and `DENOM`: `|M|^2` is the sum over i and j of `JAMP_i^* C_ij JAMP_j`, with
/// `C_ij = upper / denominator`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColorMatrix {
    /// Number of JAMPs: colour flows, `NCOLOR`, or these times the coupling orders that are split, `NAMPSO`.
    pub flows: u32,
    /// The common denominator.
    pub denominator: f64,
    /// Numerators of the entries (i, j) with j >= i, row by row.
    pub upper: Vec<f64>,
}

/// `JAMP2`: the weight of a colour flow in the choice of one, where it is not `|JAMP|^2`. Where coupling orders
/// are split (NAMPSO > 1) it is a sum over pairs of orders that are selected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowWeight {
    /// For each modulus that is added the pairs (a, b) of which `Re(JAMP_a JAMP_b^*)` is summed within it.
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
        // Row i starts behind the i rows above it, of n, n-1, ... entries.
        self.upper[i * n - i * i.saturating_sub(1) / 2 + (j - i)] / self.denominator
    }

    /// Number of entries of the upper triangle of a matrix of this size.
    pub fn triangle(flows: usize) -> usize {
        flows * (flows + 1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
