//! The strong coupling at a scale: LHAPDF's tables, and the formulas of MG5aMC's `alfas_functions.f`.

use super::axis::{Axis, hermite};
use super::text::TableText;
use super::{Error, Result};
use std::path::Path;

/// A table of alpha_s, interpolated as by LHAPDF's `AlphaS_Ipol`: by cubic Hermite polynomials in ln Q^2, in separate
/// parts between scales that occur twice. Below the table, the power law of the first interval is continued; above,
/// alpha_s is constant.
#[derive(Debug)]
pub struct StrongCoupling {
    parts: Vec<Subgrid>,
}

#[derive(Debug)]
pub(crate) struct Subgrid {
    /// Knots in ln Q^2.
    pub knots: Vec<f64>,
    /// Values at the knots, padded to at least four.
    pub values: Vec<f64>,
    pub axis: Axis,
}

impl StrongCoupling {
    /// Creates a table from ascending scales in GeV, some of which may occur twice, and values.
    ///
    /// # Errors
    /// There are fewer than two scales, or the scales are not positive and ascending, or the values not positive.
    pub fn new(scales: &[f64], values: &[f64]) -> std::result::Result<Self, &'static str> {
        let positive = |numbers: &[f64]| numbers.iter().all(|&n| n > 0.0 && n.is_finite());
        if scales.len() != values.len() || scales.len() < 2 {
            return Err("it needs at least two scales, and a value for each");
        }
        if !positive(scales) || !positive(values) || scales.windows(2).any(|two| two[0] > two[1]) {
            return Err("it needs positive ascending scales, and positive values");
        }
        let mut parts: Vec<(Vec<f64>, Vec<f64>)> = vec![(Vec::new(), Vec::new())];
        for (&scale, &value) in scales.iter().zip(values) {
            let at = 2.0 * scale.ln();
            let last = &mut parts.last_mut().expect("one at least").0;
            if last.last() == Some(&at) {
                parts.push((Vec::new(), Vec::new()));
            }
            let (knots, of) = parts.last_mut().expect("one at least");
            knots.push(at);
            of.push(value);
        }
        if parts.iter().any(|(knots, _)| knots.len() < 2) {
            return Err("a part of it has only one scale");
        }
        let parts = parts.into_iter().map(|(knots, mut values)| {
            let own = knots.clone();
            let axis = Axis::new(knots.clone(), move |i, at| hermite(&own, i, at));
            values.resize(values.len().max(4), 0.0);
            Subgrid {
                knots,
                values,
                axis,
            }
        });
        Ok(StrongCoupling {
            parts: parts.collect(),
        })
    }

    /// Reads the table from a file of LHAPDF, `.info` or the head of a member; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or its table cannot be used.
    pub fn read(file: &Path) -> Result<Option<Self>> {
        let text = TableText::open(file)?;
        let head: Vec<_> = (text.lines())
            .take_while(|(_, line)| line.trim_end() != "---")
            .collect();
        let mut found: [Option<(usize, Vec<f64>)>; 2] = [None, None];
        for (name, place) in ["AlphaS_Qs:", "AlphaS_Vals:"].into_iter().zip(&mut found) {
            let begins = |(_, line): &&(usize, &str)| line.starts_with(name);
            let Some(&(first, _)) = head.iter().find(begins) else {
                continue;
            };
            let mut numbers = Vec::new();
            let mut closed = false;
            for &(n, line) in &head[first - 1..] {
                let line = if n == first {
                    &line[name.len()..]
                } else {
                    line
                };
                closed = line.contains(']');
                let words = line.split(['[', ']', ',', ' ', '\t', '\r']);
                for word in words.filter(|word| !word.is_empty()) {
                    numbers.push(text.number(n, word)?);
                }
                if closed {
                    break;
                }
            }
            if !closed {
                return Err(text.error(first, "the list does not end with ]"));
            }
            *place = Some((first, numbers));
        }
        match found {
            [Some((line, scales)), Some((_, values))] => StrongCoupling::new(&scales, &values)
                .map(Some)
                .map_err(|what| {
                    text.error(line, format!("the table of alpha_s cannot be used: {what}"))
                }),
            [None, None] => Ok(None),
            [Some((line, _)), None] | [None, Some((line, _))] => {
                let what = "alpha_s has scales without values, or values without scales";
                Err(Error {
                    line: Some(line),
                    ..text.error(None, what)
                })
            }
        }
    }

    pub(crate) fn parts(&self) -> &[Subgrid] {
        &self.parts
    }

    /// alpha_s at a squared scale in GeV^2.
    pub fn at(&self, q2: f64) -> f64 {
        let at = q2.ln();
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        if at < first.knots[0] {
            let power =
                (first.values[1] / first.values[0]).ln() / (first.knots[1] - first.knots[0]);
            return first.values[0] * (power * (at - first.knots[0])).exp();
        }
        let count = last.knots.len();
        if at > last.knots[count - 1] {
            return last.values[count - 1];
        }
        let part = self.parts.partition_point(|part| part.knots[0] <= at);
        let part = &self.parts[part.saturating_sub(1)];
        let (from, of) = part.axis.weights(at);
        let some = part.values[from..].iter().zip(of);
        some.map(|(value, of)| value * of).sum()
    }
}

/// Masses of the Z boson, the bottom and the charm quark in `alfas_functions.f`, GeV.
const Z: f64 = 91.188;
const BOTTOM: f64 = 4.7;
const CHARM: f64 = 1.42;

/// alpha_s at a scale in GeV, evolved from its value at the mass of the Z boson at one or two loops, with five flavours
/// above 4.7 GeV, four above 1.42 GeV and three below (R. K. Ellis in MG5aMC's `alfas_functions.f`).
pub fn evolved(scale: f64, at_z: f64, loops: u32) -> f64 {
    let run = |from: f64, to: f64, value: f64, flavors: u32| {
        solution(2.0 * (to / from).ln(), value, f64::from(flavors), loops)
    };
    if scale >= BOTTOM {
        return run(Z, scale, at_z, 5);
    }
    let at_bottom = run(Z, BOTTOM, at_z, 5);
    if scale >= CHARM {
        return run(BOTTOM, scale, at_bottom, 4);
    }
    run(CHARM, scale, run(BOTTOM, CHARM, at_bottom, 4), 3)
}

/// Solves the evolution equation for a change `t` of the logarithm of the squared scale, at two loops by Newton's
/// method.
fn solution(t: f64, start: f64, flavors: f64, loops: u32) -> f64 {
    use std::f64::consts::PI;
    let b = (11.0 - 2.0 / 3.0 * flavors) / (4.0 * PI);
    if loops == 1 {
        return start / (1.0 + b * start * t);
    }
    let c = (102.0 - 38.0 / 3.0 * flavors) / (4.0 * PI * (11.0 - 2.0 / 3.0 * flavors));
    let function = |a: f64| 1.0 / a + c * (c * a / (1.0 + c * a)).ln();
    let mut found = start / (1.0 + b * start * t + c * start * (1.0 + start * b * t).ln());
    for _ in 0..50 {
        let step = (b * t + function(start) - function(found)) * found * found * (1.0 + c * found);
        found -= step;
        if step.abs() < 1e-14 * found {
            break;
        }
    }
    found
}
