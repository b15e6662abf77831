//! The colour matrix as a function of orders.

use super::sort::Sorted;
use mebridge_process::color::ColorMatrix;
use mebridge_process::color_ordered::{number_of, orders};

/// Relative rounding error, with respect to the first entry.
const TOLERANCE: f64 = 1e-12;

/// Returns the row of the first order of `count` insertions, times the denominator, in a matrix whose flows are sorted
/// by order. `None` if an entry does not depend only on the order of one flow relative to the other. `traces`: the
/// flows are traces of a gluon and `count` others, which have the same JAMP up to a sign when read backwards. Then only
/// the sum of the entries of both matters, and which of them is which cannot be determined.
pub fn row(matrix: &ColorMatrix, sorted: &Sorted, count: usize, traces: bool) -> Option<Vec<f64>> {
    let mut places = vec![(0, false); sorted.of.len()];
    for (flow, &(order, minus)) in sorted.of.iter().enumerate() {
        places[order] = (flow, minus);
    }
    let entry = |a: usize, b: usize| {
        let ((i, one), (j, other)) = (places[a], places[b]);
        let x = matrix.entry(i, j) * matrix.denominator;
        if one == other { x } else { -x }
    };
    let all = orders(count);
    let backwards = |order: &Vec<u8>| {
        let order: Vec<u8> = order.iter().rev().copied().collect();
        number_of(&order)
    };
    let back: Vec<usize> = all.iter().map(backwards).collect();
    let sign = if count.is_multiple_of(2) { -1.0 } else { 1.0 };
    let entry = |a: usize, b: usize| match traces {
        false => entry(a, b),
        true => {
            let same = entry(a, b) + entry(back[a], back[b]);
            (same + sign * (entry(back[a], b) + entry(a, back[b]))) / 4.0
        }
    };
    let whole = |x: f64| match (x - x.round()).abs() < TOLERANCE * x.abs() {
        true => x.round(),
        false => x,
    };
    let row: Vec<f64> = (0..places.len()).map(|b| whole(entry(0, b))).collect();
    let close = TOLERANCE * row.first()?.abs();
    let mut place = vec![0; count];
    let mut seen = vec![0; count];
    for (a, order) in all.iter().enumerate() {
        for (at, &thing) in (0..).zip(order) {
            place[usize::from(thing)] = at;
        }
        for (b, other) in all.iter().enumerate().skip(a) {
            for (seen, &thing) in seen.iter_mut().zip(other) {
                *seen = place[usize::from(thing)];
            }
            if (entry(a, b) - row[number_of(&seen)]).abs() > close {
                return None;
            }
        }
    }
    Some(row)
}
