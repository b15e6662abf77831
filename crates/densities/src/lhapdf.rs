//! LHAPDF 6: the files of its sets, and its interpolation `logcubic`.
//!
//! In each part of a grid, this is a cubic Hermite polynomial in ln x and in ln Q^2, whose slopes at knots are means of
//! the difference quotients to both neighbours, and at the ends of the part that to the only neighbour.

use super::axis::{Axis, hermite, linear};
use super::interpolation::Interpolation;
use super::table::DensityGrid;
use super::text::TableText;
use super::{Densities, Result};
use std::path::Path;

/// Most partons: quarks, gluon, photon, and one or two leptons.
const MAX_PARTONS: usize = 16;

/// Reads a member of a set.
pub fn read(file: &Path) -> Result<Densities> {
    let text = TableText::open(file)?;
    let mut lines = text.lines().peekable();
    let mut known = false;
    for (n, line) in lines.by_ref().take_while(|(_, line)| !divides(line)) {
        known |= line.starts_with("Format:") && line.contains("lhagrid1");
        // Otherwise a part of the grid would be taken for a head.
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(text.error(n, "there are numbers in the head; `---` must precede them"));
        }
    }
    if !known {
        return Err(text.error(
            None,
            "it is no grid of LHAPDF: there is no `Format: lhagrid1` before the first line ---",
        ));
    }
    let mut tables: Vec<DensityGrid> = Vec::new();
    let mut codes: Vec<i32> = Vec::new();
    while lines
        .peek()
        .is_some_and(|(_, line)| !line.trim().is_empty())
    {
        let part = read_part(&text, &mut lines)?;
        if tables.is_empty() {
            codes.clone_from(&part.codes);
        } else if part.codes != codes {
            return Err(text.error(
                part.line_of_codes,
                "the parts of the grid have different partons",
            ));
        }
        if let Some(before) = tables.last() {
            let end = before.q2[before.q2.len() - 1];
            if (part.grid.q2[0] - end).abs() > 1e-6 * end {
                return Err(text.error(
                    part.line_of_scales,
                    "a part does not begin at the last scale of the one before",
                ));
            }
        }
        tables.push(part.grid);
    }
    if tables.is_empty() {
        return Err(text.error(None, "it contains no grid; is it cut off?"));
    }
    if tables.iter().any(|table| table.x != tables[0].x) {
        return Err(text.error(None, "the parts of the grid have different x"));
    }
    Ok(Densities::new(tables, codes, Interpolation::Lhapdf))
}

/// A part of the grid, between two lines `---`.
struct GridPart {
    codes: Vec<i32>,
    grid: DensityGrid,
    line_of_scales: usize,
    line_of_codes: usize,
}

/// Reads a part of the grid, with the line that ends it.
fn read_part<'a>(
    text: &TableText,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<GridPart> {
    let mut next = || {
        let cut_off = || text.error(None, "it ends within a grid; is it cut off?");
        lines.next().ok_or_else(cut_off)
    };
    let (of_x, of_q, of_codes) = (next()?, next()?, next()?);
    let (x, q) = (text.numbers(of_x)?, text.numbers(of_q)?);
    for (line, name, knots, least) in [(of_x.0, "x", &x, 4), (of_q.0, "scales", &q, 2)] {
        if knots.len() < least {
            return Err(text.error(line, format!("a grid needs at least {least} {name}")));
        }
        text.check_ascending(line, name, knots)?;
    }
    let here: Vec<i32> = (of_codes.1.split_ascii_whitespace())
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()
        .filter(|codes: &Vec<i32>| !codes.is_empty())
        .ok_or_else(|| text.error(of_codes.0, "these are not PDG codes"))?;
    // 0 also means a gluon.
    let here: Vec<i32> = (here.iter())
        .map(|&code| if code == 0 { 21 } else { code })
        .collect();
    if here.len() > MAX_PARTONS {
        let what = format!("there are more than {MAX_PARTONS} partons");
        return Err(text.error(of_codes.0, what));
    }
    let mut sorted = here.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|two| two[0] == two[1]) {
        return Err(text.error(of_codes.0, "a PDG code is given twice"));
    }
    let q2: Vec<f64> = q.iter().map(|q| q * q).collect();
    let flavors = here.len();
    let mut values = vec![0.0; x.len() * q.len() * flavors];
    for at_x in 0..x.len() {
        for at_q in 0..q.len() {
            let line = next()?;
            let row = text.numbers(line)?;
            if row.len() != flavors {
                let what = format!("{} numbers, but there are {flavors} partons", row.len());
                return Err(text.error(line.0, what));
            }
            let place = (at_q * x.len() + at_x) * flavors;
            values[place..place + flavors].copy_from_slice(&row);
        }
    }
    let end = next()?;
    if !divides(end.1) {
        return Err(text.error(
            end.0,
            "`---` must end a part of the grid; is a line missing, or is there an extra one?",
        ));
    }
    let few = q.len() < 4;
    let axis = |knots: &[f64]| {
        let knots: Vec<f64> = knots.iter().map(|knot| knot.ln()).collect();
        let own = knots.clone();
        // With few scales LHAPDF is linear in both variables.
        Axis::new(knots, move |i, at| {
            if few {
                linear(&own, i, at)
            } else {
                hermite(&own, i, at)
            }
        })
    };
    let (along_x, along_q) = (axis(&x), axis(&q2));
    Ok(GridPart {
        codes: here,
        grid: DensityGrid::new(x, q2, along_x, along_q, &values),
        line_of_scales: of_q.0,
        line_of_codes: of_codes.0,
    })
}

fn divides(line: &str) -> bool {
    line.trim_end() == "---"
}
