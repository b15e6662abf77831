//! The colour matrix by orders.

use super::sort::Sorted;
use mebridge_process::color::ColorMatrix;
use mebridge_process::color_ordered::{number_of, orders};

/// Largest part of the first entry that is rounding.
const TOLERANCE: f64 = 1e-12;

/// The row of the first of all orders of so many insertions, times the denominator, in a matrix whose flows are sorted
/// by order. `None` where an entry does not follow from the order of one flow as seen from the other. `traces` are
/// those of a gluon and so many others: read backwards they have the same JAMP up to a sign, so that what counts is the
/// sum of their entries, and which of both is which cannot be told.
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
