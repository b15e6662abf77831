//! Parameters that run with alpha_s (UFO 2.0, arXiv:2304.09883), as formulas in G.
//!
//! They obey d c_i / d ln mu = alpha_s sum_j gamma_ij c_j. With one-loop running of alpha_s the solution is
//!
//! ```text
//! c(mu) = exp(4 pi gamma r) c(Q),  r = ln(g(Q) / g(mu)) / beta_0,  beta_0 = 11 - 2/3 n_f
//! ```
//!
//! where Q is the scale of their block in the parameter card. MG5aMC has the same (`C_RUNNING_<n>` of couplings.f),
//! with alpha_s at both scales from the run's own running. alpha_s at Q and n_f are not parameters of the model, but
//! inputs of these formulas: a card block `running_<block>` may set them ([`ENTRIES`]). Otherwise they follow from the
//! card, see [`absent`].

use super::arith::{Builder, Comparison, Function, Op, ValueId};
use super::card::Card;
use super::model::{CardParameter, Model};
use super::widths::running as two_loops;
use mebridge_support::error::{Error, Result};
use std::f64::consts::PI;

/// Prefix of the blocks with the inputs for the running of another block.
const BLOCK: &str = "running_";

/// Name suffixes of the inputs, in the order of their indices from 1.
pub const ENTRIES: [&str; 4] = [
    // alpha_s at the scale of the block.
    "ALPHA_S", // alpha_s at a fixed scale of all events; 0 to use the event's.
    "FIXED",   // Flavours in the running of alpha_s.
    "QUARKS",  // The scale of the block.
    "SCALE",
];

/// Default number of flavours.
pub const QUARKS: f64 = 5.0;

/// Returns the entries for the running of a block, with their values in the absence of a card.
pub fn entries(block: &str, defaults: [f64; 4]) -> [CardParameter; 4] {
    let mut index = 0;
    ENTRIES.map(|entry| {
        index += 1;
        CardParameter {
            name: format!("RUNNING_{}_{entry}", block.to_ascii_uppercase()),
            block: format!("{BLOCK}{}", block.to_ascii_lowercase()),
            index: vec![index],
            default: defaults[index as usize - 1],
        }
    })
}

/// Returns the block whose running a card parameter is an input of, and its entry of [`ENTRIES`].
pub fn entry(parameter: &CardParameter) -> Option<(&str, &'static str)> {
    let block = parameter.block.strip_prefix(BLOCK)?;
    let [index] = parameter.index[..] else {
        return None;
    };
    let entry = ENTRIES.get(usize::try_from(index).ok()?.checked_sub(1)?)?;
    let name = format!("RUNNING_{}_{entry}", block.to_ascii_uppercase());
    (parameter.name == name).then_some((block, *entry))
}

/// alpha_s at the scale of a block from its value at the mass of the Z boson, at two loops.
pub fn alpha_s(at_z: f64, scale: f64) -> f64 {
    two_loops(at_z, scale)
}

/// Computes the value of an entry that is missing in the card.
pub fn absent(card: &Card, parameter: &CardParameter) -> Result<f64> {
    let fail = |what: String| Error::Card {
        path: card.path().to_path_buf(),
        what,
    };
    let Some((block, entry)) = entry(parameter) else {
        return Ok(parameter.default);
    };
    let scale = || {
        card.scale(block).filter(|scale| *scale > 0.0).ok_or_else(|| {
            fail(format!(
                "block {block} has no scale, from which its parameters run; write it after the name of the block \
                 (`BLOCK {} Q= 91.188`)",
                block.to_ascii_uppercase()
            ))
        })
    };
    match entry {
        "SCALE" => scale(),
        "ALPHA_S" => {
            let scale = scale()?;
            let at_z = card.number("sminputs", &[3]).ok_or_else(|| {
                fail(format!(
                    "there is no entry 3 of block sminputs (alpha_s), with which parameters of block {block} run; add it"
                ))
            })?;
            match alpha_s(at_z, scale) {
                value if value > 0.0 => Ok(value),
                _ => Err(fail(format!(
                    "there is no alpha_s at {scale} GeV, the scale of block {block}, for alpha_s = {at_z} at the mass of the \
                     Z boson; change one of them"
                ))),
            }
        }
        _ => Ok(parameter.default),
    }
}

/// Returns a block whose parameters run from an alpha_s that the card does not state, so that a program's own running
/// of alpha_s may give another value. `values` are those of the card.
pub fn unknown<'m>(model: &'m Model, card: Option<&Card>, values: &[f64]) -> Option<&'m str> {
    let value = |block: &str, name: &str| {
        let is = |p: &CardParameter| entry(p) == Some((block, name));
        let at = model.card.iter().position(is)?;
        values.get(at).copied()
    };
    model.card.iter().find_map(|p| match entry(p) {
        Some((block, "ALPHA_S")) if !card.is_some_and(|card| card.has(p)) => {
            // If both are equal, nothing runs.
            (value(block, "FIXED") != value(block, "ALPHA_S")).then_some(block)
        }
        _ => None,
    })
}

/// alpha_s may differ from its value at the card's scale by at least this factor. Further away, the formulas give NaN.
const FARTHEST: f64 = 6.0;
/// The largest number of flavours, for which the beta function is smallest.
const MAX_QUARKS: f64 = 6.0;
/// Bound on the first omitted term of the series, relative to the parameters.
const ACCURACY: f64 = 1e-18;
/// Largest number of terms of the exponential series; enough unless gamma is absurdly large.
const MAX_TERMS: u32 = 150;

/// The largest r that the series must cover.
fn largest() -> f64 {
    FARTHEST.ln() / 2.0 / (11.0 - 2.0 / 3.0 * MAX_QUARKS)
}

/// The running of the parameters of one block, which mix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mixing {
    /// Number of parameters.
    pub parameters: usize,
    /// Entries of `4 pi gamma`: row, column, value.
    pub matrix: Vec<(usize, usize, f64)>,
}

impl Mixing {
    /// Returns the number of terms needed, or an error if there are too many.
    fn terms(&self) -> std::result::Result<u32, String> {
        let mut rows = vec![0.0; self.parameters];
        for &(row, _, value) in &self.matrix {
            rows[row] += value.abs();
        }
        let norm = rows.into_iter().fold(0.0, f64::max);
        let largest = norm * largest();
        let mut term = 1.0;
        for n in 1..=MAX_TERMS {
            term *= largest / f64::from(n);
            if term < ACCURACY && f64::from(n) > largest {
                return Ok(n);
            }
        }
        Err(format!(
            "the coefficients of parameters that run are too large, {norm} in a row of 4 pi gamma"
        ))
    }

    /// Builds the formulas for `exp(4 pi gamma r)` times the parameters at the card's scale.
    pub fn evolved(
        &self,
        b: &mut Builder,
        start: &[ValueId],
        r: ValueId,
    ) -> std::result::Result<Vec<ValueId>, String> {
        let terms = self.terms()?;
        let zero = b.real(0.0);
        let r = bounded(b, r);
        // (4 pi gamma)^n c / n!
        let mut power: Vec<Option<ValueId>> = start.iter().map(|&value| Some(value)).collect();
        let mut series: Vec<Vec<ValueId>> = start.iter().map(|&value| vec![value]).collect();
        for n in 1..=terms {
            let mut next: Vec<Option<ValueId>> = vec![None; self.parameters];
            for &(row, column, value) in &self.matrix {
                let Some(factor) = power[column] else {
                    continue;
                };
                let value = b.real(value / f64::from(n));
                let product = b.push(Op::Mul(value, factor));
                next[row] = Some(match next[row] {
                    Some(sum) => b.push(Op::Add(sum, product)),
                    None => product,
                });
            }
            power = next;
            for (coefficients, value) in series.iter_mut().zip(&power) {
                coefficients.push(value.unwrap_or(zero));
            }
        }
        let sums = series.into_iter().map(|mut coefficients| {
            while coefficients.len() > 1 && coefficients.last() == Some(&zero) {
                coefficients.pop();
            }
            let last = coefficients.pop().unwrap_or(zero);
            coefficients.into_iter().rev().fold(last, |sum, value| {
                let product = b.push(Op::Mul(sum, r));
                b.push(Op::Add(product, value))
            })
        });
        Ok(sums.collect())
    }
}

/// Builds `ln(g(Q) / g(mu)) / beta_0` from the first three inputs of [`ENTRIES`].
pub fn logarithm(b: &mut Builder, [reference, fixed, quarks]: [ValueId; 3], g: ValueId) -> ValueId {
    let from = coupling(b, reference);
    let to = coupling_there(b, fixed, g);
    let ratio = b.push(Op::Div(from, to));
    let logarithm = b.push(Op::Call(Function::RealLog, ratio));
    let beta = beta(b, quarks);
    b.push(Op::Div(logarithm, beta))
}

/// Builds `beta_0` for a number of flavours.
pub fn beta(b: &mut Builder, quarks: ValueId) -> ValueId {
    let (eleven, third) = (b.real(11.0), b.real(2.0 / 3.0));
    let below = b.push(Op::Mul(third, quarks));
    b.push(Op::Sub(eleven, below))
}

/// Builds G from alpha_s.
fn coupling(b: &mut Builder, alpha_s: ValueId) -> ValueId {
    let four_pi = b.real(4.0 * PI);
    let square = b.push(Op::Mul(four_pi, alpha_s));
    b.push(Op::Call(Function::RealSqrt, square))
}

/// Builds G at the scale of the parameters: from the fixed alpha_s if it is positive, otherwise the event's.
pub fn coupling_there(b: &mut Builder, fixed: ValueId, g: ValueId) -> ValueId {
    let zero = b.real(0.0);
    let stated = coupling(b, fixed);
    b.push(Op::Select {
        test: Comparison::Gt,
        lhs: fixed,
        rhs: zero,
        yes: stated,
        no: g,
    })
}

/// `r`, or NaN if it is too large for the series.
fn bounded(b: &mut Builder, r: ValueId) -> ValueId {
    let distance = b.push(Op::Call(Function::Abs, r));
    let most = b.real(largest());
    let beyond = b.push(Op::Sub(most, distance));
    let nothing = b.push(Op::Call(Function::RealSqrt, beyond));
    b.push(Op::Select {
        test: Comparison::Le,
        lhs: distance,
        rhs: most,
        yes: r,
        no: nothing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;
    use std::path::Path;

    const GAMMA: [[f64; 3]; 3] = [[-0.9, 0.4, 0.0], [1.1, -0.2, 0.7], [0.0, -1.3, 0.5]];
    const START: [f64; 3] = [0.8, -1.7, 0.3];

    fn mixing() -> Mixing {
        let places = (0..3).flat_map(|row| (0..3).map(move |column| (row, column)));
        let matrix = places.map(|(row, column)| (row, column, 4.0 * PI * GAMMA[row][column]));
        Mixing {
            parameters: 3,
            matrix: matrix.filter(|&(.., value)| value != 0.0).collect(),
        }
    }

    /// Parameters of a mixing at one G.
    fn evolved(mixing: &Mixing, inputs: [f64; 3], g: f64) -> Vec<f64> {
        let mut b = Builder::new(7);
        let start = [0, 1, 2].map(|n| b.input(n));
        let entries = [3, 4, 5].map(|n| b.input(n));
        let g_input = b.input(6);
        let r = logarithm(&mut b, entries, g_input);
        let values = mixing.evolved(&mut b, &start, r).expect("formulas");
        let inputs = START.into_iter().chain(inputs).chain([g]);
        let inputs: Vec<Complex64> = inputs.map(|x| Complex64::new(x, 0.0)).collect();
        let all = b.finish().evaluate(&inputs);
        values.iter().map(|&value| all[value as usize].re).collect()
    }

    /// d c / d ln mu = alpha_s gamma c and d alpha_s / d ln mu = -beta_0 alpha_s^2 / (2 pi), integrated by Runge-Kutta
    /// from Q to e^t Q: alpha_s and the parameters there.
    fn integrated(alpha_s: f64, quarks: f64, t: f64) -> [f64; 4] {
        let slope = |y: [f64; 4]| -> [f64; 4] {
            let beta = 11.0 - 2.0 / 3.0 * quarks;
            let row = |row: usize| (0..3).map(|n| GAMMA[row][n] * y[n + 1]).sum::<f64>() * y[0];
            [-beta * y[0] * y[0] / (2.0 * PI), row(0), row(1), row(2)]
        };
        let mut y = [alpha_s, START[0], START[1], START[2]];
        let steps = 4000;
        let h = t / f64::from(steps);
        let along = |y: [f64; 4], k: [f64; 4], h: f64| std::array::from_fn(|n| y[n] + h * k[n]);
        for _ in 0..steps {
            let k1 = slope(y);
            let k2 = slope(along(y, k1, h / 2.0));
            let k3 = slope(along(y, k2, h / 2.0));
            let k4 = slope(along(y, k3, h));
            y = std::array::from_fn(|n| y[n] + h / 6.0 * (k1[n] + 2.0 * (k2[n] + k3[n]) + k4[n]));
        }
        y
    }

    #[test]
    fn the_differential_equation_is_solved() {
        for (alpha_s, quarks) in [(0.108, 5.0), (0.118, 4.0), (0.1, 6.0)] {
            for t in [-2.5, -0.7, 0.9, 3.0] {
                let [at, expected @ ..] = integrated(alpha_s, quarks, t);
                let g = (4.0 * PI * at).sqrt();
                let found = evolved(&mixing(), [alpha_s, 0.0, quarks], g);
                let stated = evolved(&mixing(), [alpha_s, at, quarks], 1.0);
                for ((found, stated), expected) in found.iter().zip(stated).zip(expected) {
                    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
                    assert!((found - stated).abs() < 1e-14, "{found} {stated}");
                }
            }
        }
    }

    #[test]
    fn at_the_scale_of_the_card_they_are_the_cards() {
        let g = (4.0 * PI * 0.11_f64).sqrt();
        assert_eq!(evolved(&mixing(), [0.11, 0.11, 5.0], 0.3), START);
        for (found, start) in evolved(&mixing(), [0.11, 0.0, 5.0], g).iter().zip(START) {
            assert!((found - start).abs() < 1e-14);
        }
    }

    #[test]
    fn there_is_no_number_far_away() {
        for alpha_s in [0.11 * 8.0, 0.11 / 8.0] {
            let g = (4.0 * PI * alpha_s).sqrt();
            assert!(evolved(&mixing(), [0.11, 0.0, 5.0], g)[0].is_nan());
        }
        let mut large = mixing();
        large.matrix[0].2 = 1e4;
        assert!(large.terms().unwrap_err().contains("too large"));
    }

    #[test]
    fn a_card_without_the_entries_says_what_they_are() {
        let card = |text: &str| Card::parse(text, Path::new("param_card.dat"));
        let all = entries("DIM6", [0.1, 0.0, QUARKS, 100.0]);
        assert_eq!(entry(&all[2]), Some(("dim6", "QUARKS")));
        let good = card("BLOCK DIM6 Q= 200\nBLOCK SMINPUTS\n3 0.118\n");
        let value = |card: &Card, n: usize| absent(card, &all[n]).map_err(|e| e.to_string());
        assert_eq!(value(&good, 3), Ok(200.0));
        assert_eq!(value(&good, 0), Ok(alpha_s(0.118, 200.0)));
        assert_eq!(value(&good, 2), Ok(5.0));
        let none = card("BLOCK DIM6\nBLOCK SMINPUTS\n3 0.118\n");
        let error = value(&none, 0).unwrap_err();
        assert!(
            error.contains("block dim6 has no scale") && error.contains("BLOCK DIM6 Q="),
            "{error}"
        );
        let none = card("BLOCK DIM6 Q= 200\n");
        assert!(
            value(&none, 0)
                .unwrap_err()
                .contains("entry 3 of block sminputs")
        );
        let low = card("BLOCK DIM6 Q= 0.01\nBLOCK SMINPUTS\n3 0.118\n");
        assert!(
            value(&low, 0)
                .unwrap_err()
                .contains("no alpha_s at 0.01 GeV")
        );
        // A model's own parameter in such a block is not an entry.
        let mut other = all[0].clone();
        other.name = "MDL_X".into();
        assert_eq!(entry(&other), None);
    }
}
