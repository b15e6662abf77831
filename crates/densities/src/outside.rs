//! Extrapolation of LHAPDF grids, as by its `ContinuationExtrapolator`, which follows MSTW.

use super::table::{DensityGrid, part};
use mebridge_simd::Simd;

/// Relative step above the least Q^2, for the slope there.
const STEP: f64 = 0.01;
/// Below this value, the slope at the least scale is ignored.
const SMALL: f64 = 1e-5;
/// The lowest power of Q^2 below the least scale.
const MIN_POWER: f64 = -2.5;
/// Above this value, logarithms are extrapolated, below it values.
const POSITIVE: f64 = 1e-3;
/// Largest number of flavours.
const SOME: usize = 16;

/// Whether a point is below the least x, or outside the range of Q^2.
#[inline(always)]
pub fn is_outside(tables: &[DensityGrid], x: f64, q2: f64) -> bool {
    let (first, last) = (&tables[0], &tables[tables.len() - 1]);
    x < first.x[0] || q2 < first.q2[0] || q2 > last.q2[last.q2.len() - 1]
}

/// Evaluates x f(x, Q) of all flavours outside the grid, at a point and its position on the axes.
#[inline(always)]
pub fn evaluate<V: Simd<Scalar = f64>>(
    tables: &[DensityGrid],
    [x, q2]: [f64; 2],
    place: [f64; 2],
    proof: V,
    values: &mut [f64],
) {
    let (first, last) = (&tables[0], &tables[tables.len() - 1]);
    let (least, count) = (first.q2[0], last.q2.len());
    let (low, high) = (last.q2[count - 2], last.q2[count - 1]);
    let mut second = [0.0; SOME];
    assert!(values.len() <= SOME, "the reader allows no more");
    let second = &mut second[..values.len()];
    // A loop, because what is inlined for each SIMD level should be there once.
    let at_q = if q2 < least {
        [Some(least), Some(least * (1.0 + STEP))]
    } else if q2 > high {
        [Some(high), Some(low)]
    } else {
        [Some(q2), None]
    };
    for (q2, values) in at_q.into_iter().zip([&mut *values, &mut *second]) {
        if let Some(q2) = q2 {
            at_x(tables, x, place[0], q2, proof, values);
        }
    }
    if q2 < least {
        let share = q2 / least;
        for (value, above) in values.iter_mut().zip(second) {
            let power = if value.abs() >= SMALL {
                ((*above - *value) / *value / STEP).max(MIN_POWER)
            } else {
                1.0
            };
            *value *= share.powf(power * share + 1.0 - share);
        }
    } else if q2 > high {
        go_on(values, second, (q2 / high).ln() / (low / high).ln());
    }
}

/// Evaluates at a scale within the grid, and any x.
#[inline(always)]
fn at_x<V: Simd<Scalar = f64>>(
    tables: &[DensityGrid],
    x: f64,
    place: f64,
    q2: f64,
    proof: V,
    values: &mut [f64],
) {
    let table = part(tables, q2);
    let at_q = q2.ln();
    let (first, next) = (table.x[0], table.x[1]);
    let below = x < first;
    let mut second = [0.0; SOME];
    let second = &mut second[..values.len()];
    let places = match below {
        true => [Some(first.ln()), Some(next.ln())],
        false => [Some(place), None],
    };
    for (place, values) in places.into_iter().zip([&mut *values, &mut *second]) {
        if let Some(place) = place {
            table.sum([place, at_q], proof, values);
        }
    }
    if below {
        go_on(values, second, (x / first).ln() / (next / first).ln());
    }
}

/// Linear extrapolation from the first values, by `share` of the way to the second ones; in logarithms if both are
/// clearly positive.
#[inline(always)]
fn go_on(values: &mut [f64], second: &[f64], share: f64) {
    for (value, &second) in values.iter_mut().zip(second) {
        *value = if *value > POSITIVE && second > POSITIVE {
            (value.ln() + share * (second.ln() - value.ln())).exp()
        } else {
            *value + share * (second - *value)
        };
    }
}
