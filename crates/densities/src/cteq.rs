//! CTEQ6 (hep-ph/0201195), read and interpolated as by MG5aMC's `Ctq6Pdf.f`: in x^0.3 and in ln ln (Q / Lambda),
//! through the four knots around a point.

use super::axis::{Axis, cubic};
use super::interpolation::Interpolation;
use super::table::DensityGrid;
use super::text::TableText;
use super::{Densities, Result};
use mebridge_simd::{Simd, functions};
use std::path::Path;

const POWER: f64 = 0.3;
/// Rows of a table by PDG code; quarks from s on equal their antiquarks.
const ROWS: [(i32, usize); 11] = [
    (-5, 0),
    (-4, 1),
    (-3, 2),
    (-1, 3),
    (-2, 4),
    (21, 5),
    (2, 6),
    (1, 7),
    (3, 2),
    (4, 1),
    (5, 0),
];
const FLAVORS: f64 = 5.0;
/// f is interpolated from this knot of x on, below it x^2 f.
pub const FIRST_WITHOUT: usize = 2;

/// Reads a table of `lib/Pdfdata`.
pub fn read(file: &Path) -> Result<Densities> {
    let text = TableText::open(file)?;
    let line = |at: usize| {
        let cut_off = || text.error(None, "it is not a table of CTEQ6: it ends within its head");
        text.lines().nth(at - 1).ok_or_else(cut_off)
    };
    let wrong =
        |at: usize, what: &str| text.error(at, format!("it is not a table of CTEQ6: {what}"));
    let head = text.numbers(line(3)?)?;
    let &scale = head.get(2).ok_or_else(|| wrong(3, "Lambda is missing"))?;
    let counts = text.numbers(line(5)?)?;
    let [last_x, last_q, flavors] = counts[..] else {
        return Err(wrong(
            5,
            "the numbers of x, scales and flavours are missing",
        ));
    };
    let whole = |n: f64| (3.0..=1e4).contains(&n) && n.fract() == 0.0;
    if !whole(last_x) || !whole(last_q) || flavors != FLAVORS {
        return Err(wrong(
            5,
            "it needs five flavours, and at least three x and scales",
        ));
    }
    let (count_x, count_q, rows) = (
        last_x as usize + 1,
        last_q as usize + 1,
        flavors as usize + 3,
    );
    let mut numbers = Vec::new();
    for (n, line) in text.lines().skip(6) {
        if line.trim_start().starts_with(['X', 'P']) {
            continue;
        }
        numbers.extend(text.numbers((n, line))?);
    }
    // The least and largest scales precede the scales, the least x precedes the x.
    let want = 2 + count_q + 1 + count_x + rows * count_q * count_x;
    if numbers.len() != want {
        let what = format!(
            "it has {} numbers after its head, but should have {want}",
            numbers.len()
        );
        return Err(text.error(None, format!("it is not a table of CTEQ6: {what}")));
    }
    let scales = &numbers[2..2 + count_q];
    let x = &numbers[3 + count_q..3 + count_q + count_x];
    text.check_ascending(None, "scales", scales)?;
    // The first x is 0.
    text.check_ascending(None, "x", &x[1..])?;
    if x[0] != 0.0 || scales[0] <= scale {
        return Err(text.error(
            None,
            "it is not a table of CTEQ6: x does not begin at 0, or Q not above Lambda",
        ));
    }
    let found = &numbers[3 + count_q + count_x..];
    let mut values = vec![0.0; count_x * count_q * ROWS.len()];
    for at_q in 0..count_q {
        for at_x in 0..count_x {
            for (column, (_, row)) in ROWS.iter().enumerate() {
                let place = (at_q * count_x + at_x) * ROWS.len() + column;
                values[place] = found[(row * count_q + at_q) * count_x + at_x];
            }
        }
    }
    let knots: Vec<f64> = x.iter().map(|x| x.powf(POWER)).collect();
    let (own, of_x) = (knots.clone(), x.to_vec());
    let along_x = Axis::new(knots, move |i, at| {
        let first = i.saturating_sub(1).min(own.len() - 4);
        let four = std::array::from_fn(|k| own[first + k]);
        let weights = if i < FIRST_WITHOUT {
            let of = cubic(at, four);
            std::array::from_fn(|k| of[k] * of_x[first + k] * of_x[first + k])
        } else if i == own.len() - 2 {
            cubic(at, four)
        } else {
            smooth(at, four)
        };
        (first, weights)
    });
    let knots: Vec<f64> = scales.iter().map(|q| (q / scale).ln().ln()).collect();
    let own = knots.clone();
    let along_q = Axis::new(knots, move |i, at| {
        let first = i.saturating_sub(1).min(own.len() - 4);
        let four = std::array::from_fn(|k| own[first + k]);
        let ends = i == 0 || i == own.len() - 2;
        let weights = if ends {
            cubic(at, four)
        } else {
            smooth(at, four)
        };
        (first, weights)
    });
    let q2 = scales.iter().map(|q| q * q).collect();
    let table = DensityGrid::new(x.to_vec(), q2, along_x, along_q, &values);
    let codes = ROWS.iter().map(|(code, _)| *code).collect();
    Ok(Densities::new(
        vec![table],
        codes,
        Interpolation::Cteq { scale },
    ))
}

/// The positions on the axes.
#[inline(always)]
pub fn variables<V: Simd<Scalar = f64>>(scale: f64, x: V, q2: V) -> (V, V) {
    let logarithm = functions::ln(q2 / x.same(scale * scale)) * x.same(0.5);
    (functions::pow(x, x.same(POWER)), functions::ln(logarithm))
}

/// Converts interpolated values to x f(x, Q).
#[inline(always)]
pub fn finish(table: &DensityGrid, x: f64, values: &mut [f64]) {
    // Near x = 0, x^2 f was interpolated.
    let factor = if x < table.x[FIRST_WITHOUT] {
        1.0 / x
    } else {
        x
    };
    for value in values {
        *value = (*value * factor).max(0.0);
    }
}

/// Weights of the line through the two inner knots, corrected by the deviations of the outer values from it.
fn smooth(at: f64, [one, two, three, four]: [f64; 4]) -> [f64; 4] {
    let (from_two, from_three) = (at - two, at - three);
    let (before, after) = ((one - two) + (one - three), (two - four) + (three - four));
    let determinant = ((one - two) * (three - four) - before * after) * (two - three);
    let shape = from_two * from_three / determinant;
    let of_first = ((three - four) * from_two - after * from_three) / (one - two) * shape;
    let of_last = (before * from_two - (one - two) * from_three) / (three - four) * shape;
    let step = three - two;
    let line = [1.0 - from_two / step, from_two / step];
    // The deviation of an outer value from the line is itself a sum over the knots.
    let off = |outer: f64| [-(1.0 - (outer - two) / step), -(outer - two) / step];
    let (first, last) = (off(one), off(four));
    [
        of_first,
        line[0] + of_first * first[0] + of_last * last[0],
        line[1] + of_first * first[1] + of_last * last[1],
        of_last,
    ]
}
