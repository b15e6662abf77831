//! LHAPDF 6: the files of its sets, and its interpolation `logcubic`.
//!
//! In each part of a grid it is a cubic Hermite polynomial in ln x and in ln Q^2, whose slopes at knots are means of
//! the differences to both neighbours, and that to one of them at the ends of the part.

use super::outside;
use super::stencil::{Rule, Stencil, Table, interval};
use super::text::Text;
use super::{Densities, Result};
use std::path::Path;

/// Reads a member of a set.
pub fn read(file: &Path) -> Result<Densities> {
    let text = Text::open(file)?;
    let mut lines = text.lines().peekable();
    let mut known = false;
    for (n, line) in lines.by_ref().take_while(|(_, line)| !divides(line)) {
        known |= line.starts_with("Format:") && line.contains("lhagrid1");
        // Else a part of the grid would pass for a head.
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(text.error(
                n,
                "numbers stand where the head is; `---` has to be before them",
            ));
        }
    }
    if !known {
        return Err(text.error(
            None,
            "it is no grid of LHAPDF: before the first line --- there is no `Format: lhagrid1`",
        ));
    }
    let mut tables: Vec<Table> = Vec::new();
    let mut codes: Vec<i32> = Vec::new();
    while lines
        .peek()
        .is_some_and(|(_, line)| !line.trim().is_empty())
    {
        let mut next = || {
            let cut_off = || text.error(None, "it ends within a grid; is it cut off?");
            lines.next().ok_or_else(cut_off)
        };
        let (of_x, of_q, of_codes) = (next()?, next()?, next()?);
        let (x, q) = (text.numbers(of_x)?, text.numbers(of_q)?);
        for (line, name, knots, least) in [(of_x.0, "x", &x, 4), (of_q.0, "scales", &q, 2)] {
            if knots.len() < least {
                return Err(text.error(line, format!("a grid needs {least} {name} at least")));
            }
            text.rising(line, name, knots)?;
        }
        let here: Vec<i32> = (of_codes.1.split_ascii_whitespace())
            .map(|word| word.parse().ok())
            .collect::<Option<_>>()
            .filter(|codes: &Vec<i32>| !codes.is_empty())
            .ok_or_else(|| text.error(of_codes.0, "these are no PDG codes"))?;
        // 0 is a gluon, too.
        let here: Vec<i32> = (here.iter())
            .map(|&code| if code == 0 { 21 } else { code })
            .collect();
        let mut sorted = here.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|two| two[0] == two[1]) {
            return Err(text.error(of_codes.0, "a PDG code stands there twice"));
        }
        if tables.is_empty() {
            codes.clone_from(&here);
        } else if here != codes {
            return Err(text.error(of_codes.0, "the parts of the grid have different partons"));
        }
        let q2: Vec<f64> = q.iter().map(|q| q * q).collect();
        if let Some(before) = tables.last() {
            let end = before.q2[before.q2.len() - 1];
            if (q2[0] - end).abs() > 1e-6 * end {
                return Err(text.error(
                    of_q.0,
                    "a part does not begin at the last scale of the one before",
                ));
            }
        }
        let flavors = codes.len();
        let mut values = vec![0.0; x.len() * q.len() * flavors];
        for at_x in 0..x.len() {
            for at_q in 0..q.len() {
                let line = next()?;
                let row = text.numbers(line)?;
                if row.len() != flavors {
                    let what =
                        format!("{} numbers where each parton has one, {flavors}", row.len());
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
                "`---` has to end a part of the grid; is a line missing or too many?",
            ));
        }
        tables.push(Table {
            in_x: x.iter().map(|x| x.ln()).collect(),
            in_q: q2.iter().map(|q2| q2.ln()).collect(),
            x,
            q2,
            values,
            flavors,
        });
    }
    if tables.is_empty() {
        return Err(text.error(None, "it holds no grid; is it cut off?"));
    }
    if tables.iter().any(|table| table.x != tables[0].x) {
        return Err(text.error(None, "the parts of the grid have different x"));
    }
    let rule = Rule::Lhapdf;
    Ok(Densities {
        tables,
        codes,
        rule,
    })
}

fn divides(line: &str) -> bool {
    line.trim_end() == "---"
}

/// x f(x, Q) of all flavours.
pub fn evaluate(tables: &[Table], x: f64, q2: f64, values: &mut [f64]) {
    let (first, last) = (&tables[0], &tables[tables.len() - 1]);
    let inside = x >= first.x[0] && q2 >= first.q2[0] && q2 <= last.q2[last.q2.len() - 1];
    if inside || x.is_nan() || q2.is_nan() {
        within(tables, x, q2, values);
    } else {
        outside::evaluate(tables, x, q2, values);
    }
}

/// The same within the grid.
pub fn within(tables: &[Table], x: f64, q2: f64, values: &mut [f64]) {
    // A scale that two parts share belongs to the upper one.
    let part = tables.partition_point(|table| table.q2[0] <= q2);
    let table = &tables[part.saturating_sub(1)];
    let (first_x, in_x) = weights(&table.in_x, x.ln());
    let (first_q, in_q) = if table.in_q.len() < 4 {
        linear(&table.in_q, q2.ln())
    } else {
        weights(&table.in_q, q2.ln())
    };
    // With few scales LHAPDF is linear in both.
    let (first_x, in_x) = if table.in_q.len() < 4 {
        linear(&table.in_x, x.ln())
    } else {
        (first_x, in_x)
    };
    let stencil = Stencil {
        first_x,
        first_q,
        in_x,
        in_q,
    };
    stencil.sum(table, values);
}

/// The first of four knots about a point, which may lie one before the first of all, and their weights.
pub fn weights(knots: &[f64], at: f64) -> (usize, [f64; 4]) {
    let i = interval(knots, at);
    let step = knots[i + 1] - knots[i];
    let t = (at - knots[i]) / step;
    let (t2, t3) = (t * t, t * t * t);
    // Value and slope of the Hermite polynomial at both ends.
    let value = [2.0 * t3 - 3.0 * t2 + 1.0, 3.0 * t2 - 2.0 * t3];
    let slope = [t3 - 2.0 * t2 + t, t3 - t2];
    let mut of = [0.0; 4];
    of[1] = value[0];
    of[2] = value[1];
    for (end, slope) in slope.into_iter().enumerate() {
        let knot = i + end;
        // Differences to the neighbours, in units of this interval.
        let below = knot.checked_sub(1).map(|k| step / (knots[knot] - knots[k]));
        let above = knots.get(knot + 1).map(|next| step / (next - knots[knot]));
        let share = if below.is_some() && above.is_some() {
            0.5 * slope
        } else {
            slope
        };
        if let Some(below) = below {
            of[end + 1] += share * below;
            of[end] -= share * below;
        }
        if let Some(above) = above {
            of[end + 2] += share * above;
            of[end + 1] -= share * above;
        }
    }
    // Knots outside have weight zero; the stencil moves into the grid.
    if i == 0 {
        (0, [of[1], of[2], of[3], 0.0])
    } else if i + 2 == knots.len() {
        (i - 1, [of[0], of[1], of[2], 0.0])
    } else {
        (i - 1, of)
    }
}

fn linear(knots: &[f64], at: f64) -> (usize, [f64; 4]) {
    let i = interval(knots, at);
    let t = (at - knots[i]) / (knots[i + 1] - knots[i]);
    (i, [1.0 - t, t, 0.0, 0.0])
}
