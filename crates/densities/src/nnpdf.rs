//! NNPDF 2.3 with QED (arXiv:1308.0598) as MG5aMC's `NNPDFDriver.f` reads and interpolates it: polynomials of degree 3
//! in ln x, in x from 0.1 on, and straight lines in ln Q^2.

use super::stencil::{Rule, Stencil, Table, cubic, interval};
use super::text::Text;
use super::{Densities, Result};
use std::path::Path;

/// Columns of a grid by PDG code.
const CODES: [i32; 14] = [-6, -5, -4, -3, -2, -1, 21, 1, 2, 3, 4, 5, 6, 22];
/// Below this x lines are drawn in ln x, from it on in x.
const LINEAR: f64 = 0.1;

/// Reads a grid of `lib/Pdfdata`.
pub fn read(file: &Path) -> Result<Densities> {
    let text = Text::open(file)?;
    let mut lines = text
        .lines()
        .skip_while(|(_, line)| !line.contains("NNPDF20int"));
    if lines.next().is_none() {
        return Err(text.error(None, "it is no grid of NNPDF: there is no word NNPDF20int"));
    }
    // A line with the numbers of replicas follows.
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
            return Err(text.error(line, format!("{count} is no number of {what}")));
        }
        // Between the number of scales and the scales stands the least one.
        for _ in 0..skipped {
            next()?;
        }
        let numbers: Vec<f64> = (0..count as usize)
            .map(|_| Ok(next()?.1))
            .collect::<Result<_>>()?;
        text.rising(line, what, &numbers)?;
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
    let table = Table {
        in_x: x.iter().map(|x| x.ln()).collect(),
        in_q: q2.iter().map(|q2| q2.ln()).collect(),
        x,
        q2,
        values,
        flavors,
    };
    Ok(Densities {
        tables: vec![table],
        codes: CODES.to_vec(),
        rule: Rule::Nnpdf,
    })
}

/// The knots about a point; outside of the grid those at its end, with the value there.
pub fn stencil(table: &Table, x: f64, q2: f64) -> Stencil {
    let (first, last) = (table.x[0], table.x[table.x.len() - 1]);
    let x = x.clamp(first, last);
    let q2 = q2.clamp(table.q2[0], table.q2[table.q2.len() - 1]);
    let first_x = interval(&table.x, x)
        .saturating_sub(1)
        .min(table.x.len() - 4);
    let (at, knots) = if x < LINEAR {
        (x.ln(), &table.in_x)
    } else {
        (x, &table.x)
    };
    let knots = std::array::from_fn(|i| knots[first_x + i]);
    let first_q = interval(&table.q2, q2);
    let (low, high) = (table.in_q[first_q], table.in_q[first_q + 1]);
    let share = (q2.ln() - low) / (high - low);
    Stencil {
        first_x,
        first_q,
        in_x: cubic(at, knots),
        in_q: [1.0 - share, share, 0.0, 0.0],
    }
}
