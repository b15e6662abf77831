//! NNPDF 2.3 with QED (arXiv:1308.0598), read and interpolated as by MG5aMC's `NNPDFDriver.f`: cubic polynomials in ln
//! x, or in x from 0.1 on, and linear in ln Q^2.

use super::axis::{Axis, cubic, linear};
use super::interpolation::Interpolation;
use super::table::DensityGrid;
use super::text::TableText;
use super::{Densities, Result};
use mebridge_simd::{Simd, functions};
use std::path::Path;

/// Columns of a grid by PDG code.
const CODES: [i32; 14] = [-6, -5, -4, -3, -2, -1, 21, 1, 2, 3, 4, 5, 6, 22];
/// Interpolation is in ln x below this x, and in x from it on.
const LINEAR: f64 = 0.1;
/// 0.1 - ln 0.1
const TO_X: f64 = 2.402_585_092_994_045_7;

/// Reads a grid of `lib/Pdfdata`.
pub fn read(file: &Path) -> Result<Densities> {
    let text = TableText::open(file)?;
    let mut lines = text
        .lines()
        .skip_while(|(_, line)| !line.contains("NNPDF20int"));
    if lines.next().is_none() {
        return Err(text.error(
            None,
            "it is not a grid of NNPDF: the word NNPDF20int is missing",
        ));
    }
    // Skip the line with the numbers of replicas.
    let words = lines
        .skip(1)
        .flat_map(|(n, line)| line.split_ascii_whitespace().map(move |word| (n, word)));
    let mut words = words;
    let mut next = || {
        let (line, word) = words
            .next()
            .ok_or_else(|| text.error(None, "it ends too early; is it cut off?"))?;
        Ok((line, text.number(line, word)?))
    };
    let mut knots = |what: &str, skipped: usize| -> Result<Vec<f64>> {
        let (line, count) = next()?;
        if !(4.0..=1e4).contains(&count) || count.fract() != 0.0 {
            return Err(text.error(line, format!("{count} is not a valid number of {what}")));
        }
        // The least scale is between the number of scales and the scales.
        for _ in 0..skipped {
            next()?;
        }
        let numbers: Vec<f64> = (0..count as usize)
            .map(|_| Ok(next()?.1))
            .collect::<Result<_>>()?;
        text.check_ascending(line, what, &numbers)?;
        Ok(numbers)
    };
    let (x, q2) = (knots("x", 0)?, knots("scales", 1)?);
    // The number of replicas.
    next()?;
    let flavors = CODES.len();
    let mut values = vec![0.0; x.len() * q2.len() * flavors];
    for at_x in 0..x.len() {
        for at_q in 0..q2.len() {
            for flavor in 0..flavors {
                values[(at_q * x.len() + at_x) * flavors + flavor] = next()?.1;
            }
        }
    }
    if let Ok((line, _)) = next() {
        return Err(text.error(line, "there are more numbers than x, scales and partons"));
    }
    // Each interval must be on one side of it.
    if !x.contains(&LINEAR) {
        return Err(text.error(
            None,
            format!("{LINEAR} is not among its x, as it is in grids of NNPDF 2.3"),
        ));
    }
    // Knots ascend in one common variable, which within each interval is that of the interpolation up to a shift.
    let knots: Vec<f64> = x.iter().map(|&x| variable(x)).collect();
    let own = x.clone();
    let along_x = Axis::new(knots, move |i, at| {
        let first = i.saturating_sub(1).min(own.len() - 4);
        let in_logarithm = own[i] < LINEAR;
        let of = |x: f64| if in_logarithm { x.ln() } else { x };
        let at = if in_logarithm { at } else { at + TO_X };
        (
            first,
            cubic(at, std::array::from_fn(|k| of(own[first + k]))),
        )
    });
    let knots: Vec<f64> = q2.iter().map(|q2| q2.ln()).collect();
    let own = knots.clone();
    let along_q = Axis::new(knots, move |i, at| linear(&own, i, at));
    let table = DensityGrid::new(x, q2, along_x, along_q, &values);
    Ok(Densities::new(
        vec![table],
        CODES.to_vec(),
        Interpolation::Nnpdf,
    ))
}

/// ln x below 0.1, and x above, shifted so that the two join.
fn variable(x: f64) -> f64 {
    if x < LINEAR { x.ln() } else { x - TO_X }
}

/// The positions on the axes; outside the grid those of its boundary.
#[inline(always)]
pub fn variables<V: Simd<Scalar = f64>>(table: &DensityGrid, x: V, q2: V) -> (V, V) {
    let (least, most) = (table.x[0], table.x[table.x.len() - 1]);
    let (low, high) = (table.q2[0], table.q2[table.q2.len() - 1]);
    // NaN is kept.
    let x = V::select(x.lt(x.same(least)), x.same(least), x);
    let x = V::select(x.same(most).lt(x), x.same(most), x);
    let q2 = V::select(q2.lt(q2.same(low)), q2.same(low), q2);
    let q2 = V::select(q2.same(high).lt(q2), q2.same(high), q2);
    let logarithmic = x.lt(x.same(LINEAR));
    let at_x = V::select(logarithmic, functions::ln(x), x - x.same(TO_X));
    (at_x, functions::ln(q2))
}
