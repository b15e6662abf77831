//! The sum over the knots about a point, which is the same for all interpolations.

use super::{cteq, lhapdf, nnpdf};

/// Values at the knots of a grid.
#[derive(Debug)]
pub struct Table {
    /// Knots, and Q^2 in GeV^2.
    pub x: Vec<f64>,
    pub q2: Vec<f64>,
    /// The same in the variables that a rule interpolates in.
    pub in_x: Vec<f64>,
    pub in_q: Vec<f64>,
    /// By Q, then x, then flavour.
    pub values: Vec<f64>,
    pub flavors: usize,
}

/// How values between the knots follow from those at them.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Lhapdf,
    Nnpdf,
    Cteq {
        /// Lambda, GeV.
        scale: f64,
    },
}

impl Rule {
    /// x f(x, Q) of all flavours at a point.
    pub fn evaluate(self, tables: &[Table], x: f64, q2: f64, values: &mut [f64]) {
        match self {
            // A NaN goes through to the answer.
            _ if x > 1.0 => values.fill(0.0),
            Rule::Lhapdf => lhapdf::evaluate(tables, x, q2, values),
            Rule::Nnpdf => nnpdf::stencil(&tables[0], x, q2).sum(&tables[0], values),
            Rule::Cteq { scale } => cteq::evaluate(&tables[0], scale, x, q2, values),
        }
    }
}

/// Knots about a point, and what their values are multiplied by.
pub struct Stencil {
    pub first_x: usize,
    pub first_q: usize,
    pub in_x: [f64; 4],
    pub in_q: [f64; 4],
}

impl Stencil {
    /// The sum, for all flavours. Knots with weight zero may lie outside of the grid.
    pub fn sum(&self, table: &Table, values: &mut [f64]) {
        values.fill(0.0);
        let (width, row) = (table.flavors, table.x.len() * table.flavors);
        for (j, &of_q) in self.in_q.iter().enumerate() {
            if of_q == 0.0 {
                continue;
            }
            for (i, &of_x) in self.in_x.iter().enumerate() {
                if of_x == 0.0 {
                    continue;
                }
                let at = (self.first_q + j) * row + (self.first_x + i) * width;
                let weight = of_q * of_x;
                for (value, &knot) in values.iter_mut().zip(&table.values[at..at + width]) {
                    *value += weight * knot;
                }
            }
        }
    }
}

/// The interval of rising knots that a number lies in: the index of its lower end. What lies outside belongs to the
/// first or the last one.
pub fn interval(knots: &[f64], at: f64) -> usize {
    let above = knots.partition_point(|&knot| knot <= at);
    above.saturating_sub(1).min(knots.len() - 2)
}

/// Weights of the polynomial of degree 3 through four knots.
pub fn cubic(at: f64, knots: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|i| {
        let others = (0..4).filter(|&j| j != i);
        others
            .map(|j| (at - knots[j]) / (knots[i] - knots[j]))
            .product()
    })
}
