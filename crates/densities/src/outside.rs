//! Outside of a grid of LHAPDF, as its `ContinuationExtrapolator` has it, which is MSTW's.

use super::lhapdf::within;
use super::stencil::Table;

/// A step above the least Q^2, for the slope there.
const STEP: f64 = 0.01;
/// Below this value the slope at the least scale is not taken.
const SMALL: f64 = 1e-5;
/// The least power that densities go with below the least scale.
const LEAST_POWER: f64 = -2.5;
/// Above this value logarithms are continued, below it values.
const POSITIVE: f64 = 1e-3;

/// x f(x, Q) of all flavours below the least x, or below the least Q^2, or above the largest.
pub fn evaluate(tables: &[Table], x: f64, q2: f64, values: &mut [f64]) {
    let (first, last) = (&tables[0], &tables[tables.len() - 1]);
    let least = first.q2[0];
    let count = last.q2.len();
    if q2 < least {
        let mut above = vec![0.0; values.len()];
        at_x(tables, x, least, values);
        at_x(tables, x, least * (1.0 + STEP), &mut above);
        let share = q2 / least;
        for (value, above) in values.iter_mut().zip(above) {
            let power = if value.abs() >= SMALL {
                ((above - *value) / *value / STEP).max(LEAST_POWER)
            } else {
                1.0
            };
            *value *= share.powf(power * share + 1.0 - share);
        }
    } else if q2 > last.q2[count - 1] {
        let [low, high] = [last.q2[count - 1], last.q2[count - 2]];
        along([low, high], q2, values, |q2, values| {
            at_x(tables, x, q2, values)
        });
    } else {
        at_x(tables, x, q2, values);
    }
}

/// At a scale of the grid, and at any x.
fn at_x(tables: &[Table], x: f64, q2: f64, values: &mut [f64]) {
    let knots = &tables[0].x;
    if x >= knots[0] {
        within(tables, x, q2, values);
    } else {
        along([knots[0], knots[1]], x, values, |x, values| {
            within(tables, x, q2, values)
        });
    }
}

/// Straight on from two places, in their logarithms.
fn along(places: [f64; 2], at: f64, values: &mut [f64], of: impl Fn(f64, &mut [f64])) {
    let mut second = vec![0.0; values.len()];
    of(places[0], values);
    of(places[1], &mut second);
    let share = (at / places[0]).ln() / (places[1] / places[0]).ln();
    for (value, second) in values.iter_mut().zip(second) {
        *value = if *value > POSITIVE && second > POSITIVE {
            (value.ln() + share * (second.ln() - value.ln())).exp()
        } else {
            *value + share * (second - *value)
        };
    }
}
