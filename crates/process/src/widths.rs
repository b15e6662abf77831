//! Widths that a parameter card leaves to be computed (`DECAY 6 Auto`): sums of partial widths by the model's formulas.
//!
//! MG5aMC (`compute_widths` with `--body_decay=2`) does the same: a decay is open if the mother is heavier than its
//! products, and alpha_s is taken at the mother's mass. For coloured mothers, partial widths below 0.1 GeV are left
//! out, because perturbation theory does not apply to them.

use super::card::Card;
use super::model::{AutoWidth, CardParameter};
use mebridge_support::error::{Error, Result};
use num_complex::Complex64;
use std::f64::consts::PI;

/// Partial widths of coloured particles below this are left out, in GeV.
const MIN_COLORED_WIDTH: f64 = 0.1;
/// Rounding errors of a vanishing width are below this, in GeV.
const ROUNDING: f64 = 1e-10;

impl AutoWidth {
    /// Returns the width for the values of a card, and a message line about it.
    pub fn value(&self, card: &Card, parameter: &CardParameter) -> Result<(f64, String)> {
        let values = self.card.iter().map(|parameter| card.value(parameter));
        let values: Vec<f64> = values.collect::<Result<_>>()?;
        let place = super::card::place(parameter);
        let (width, of) = self
            .width_with_decays(&values)
            .map_err(|what| Error::Card {
                path: card.path().to_path_buf(),
                what: format!(
                    "{place} ({}) is Auto, and {what}; write a number in its place",
                    parameter.name
                ),
            })?;
        let line = self.line(width, &of);
        Ok((
            width,
            format!("{}: {place} is Auto: {line}", card.path().display()),
        ))
    }

    /// The message about a computed width; `of` describes the sum, as returned by [`AutoWidth::width_with_decays`].
    pub fn line(&self, width: f64, of: &str) -> String {
        format!("{width:.6e} GeV, {of}; decays into more particles, or by loops, are not included")
    }

    /// Returns the width for these card values, and a text that lists the decays it sums over.
    pub fn width_with_decays(&self, card: &[f64]) -> std::result::Result<(f64, String), String> {
        let evaluate = |card: &[f64]| {
            let alpha_s = self
                .alpha_s
                .map_or(1.0 / (4.0 * PI), |at| card[at as usize]);
            let inputs = card.iter().copied().chain([2.0 * (alpha_s * PI).sqrt()]);
            let inputs: Vec<Complex64> = inputs.map(|x| Complex64::new(x, 0.0)).collect();
            self.program.evaluate(&inputs)
        };
        let Some((mass, decays)) = self.values.split_first() else {
            return Err("the model has no mass for the particle".into());
        };
        let mut card = card.to_vec();
        let mass = evaluate(&card)[mass.value as usize].re.abs();
        if let Some(alpha_s) = self.alpha_s {
            card[alpha_s as usize] = running(card[alpha_s as usize], mass);
        }
        let values = evaluate(&card);
        let (mut width, mut parts, mut small) = (0.0, Vec::new(), Vec::new());
        for decay in decays {
            let partial = values[decay.value as usize].re;
            match partial {
                x if !x.is_finite() || x < -ROUNDING => {
                    return Err(format!(
                        "the model's formula for {} gives {x} GeV",
                        decay.name
                    ));
                }
                x if x <= 0.0 => {}
                x if self.colored && x < MIN_COLORED_WIDTH => {
                    small.push(format!("{} ({x:.2e})", decay.name))
                }
                x => {
                    width += x;
                    parts.push(decay.name.as_str());
                }
            }
        }
        let mut of = match parts.is_empty() {
            true => "as no decay into two particles is open".to_owned(),
            false => format!("the sum of {}", parts.join(", ")),
        };
        if !small.is_empty() {
            of += &format!(
                "; left out, below {MIN_COLORED_WIDTH} GeV and with colour, are {}",
                small.join(", ")
            );
        }
        Ok((width, of))
    }
}

/// Thresholds where the number of light quarks changes, and the mass of the Z boson, in GeV, as in MG5aMC.
const CHARM: f64 = 1.4;
const BOTTOM: f64 = 4.7;
const Z: f64 = 91.188;
/// Below this scale the strong coupling is not small, in GeV.
const MIN_SCALE: f64 = 0.188_775_276_209;

/// alpha_s at a scale by two-loop evolution from the mass of the Z boson; zero where it is undefined.
pub(crate) fn running(alpha_s: f64, scale: f64) -> f64 {
    let evolved = |alpha_s: f64, from: f64, quarks: f64, to: f64| {
        // d a / d log(q^2) = -b a^2 (1 + c a), whose solution is t = F(a(t)) - F(a(0)).
        let b = (33.0 - 2.0 * quarks) / (12.0 * PI);
        let c = (153.0 - 19.0 * quarks) / (2.0 * PI * (33.0 - 2.0 * quarks));
        let f = |a: f64| 1.0 / a + c * (c * a / (1.0 + c * a)).ln();
        let right = f(alpha_s) + 2.0 * b * (to / from).ln();
        // F falls from infinity to 0, and is convex: from the left Newton's method does not overshoot.
        let mut a = alpha_s.min(1.0 / right.max(1e-3));
        while f(a) < right {
            a /= 2.0;
        }
        for _ in 0..100 {
            a += (f(a) - right) * a * a * (1.0 + c * a);
        }
        a
    };
    if alpha_s.is_nan() || alpha_s <= 0.0 || scale < MIN_SCALE {
        return 0.0;
    }
    if scale >= BOTTOM {
        return evolved(alpha_s, Z, 5.0, scale);
    }
    let bottom = evolved(alpha_s, Z, 5.0, BOTTOM);
    if scale >= CHARM {
        return evolved(bottom, BOTTOM, 4.0, scale);
    }
    evolved(evolved(bottom, BOTTOM, 4.0, CHARM), CHARM, 3.0, scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Builder, Comparison, Op};
    use crate::model::NamedValue;
    use std::path::Path;

    /// A particle of mass M that decays into one of mass m with the width w, where M > m, and by alpha_s.
    fn example(colored: bool) -> AutoWidth {
        let mut builder = Builder::new(5);
        let [heavy, light, w, g] = [1, 2, 3, 4].map(|n| builder.input(n));
        let zero = builder.real(0.0);
        let open = builder.push(Op::Select {
            test: Comparison::Gt,
            lhs: heavy,
            rhs: light,
            yes: w,
            no: zero,
        });
        let strong = builder.push(Op::PowI(g, 2));
        let names = ["aS", "M", "m", "w"];
        let card = names.iter().enumerate().map(|(n, name)| CardParameter {
            name: (*name).to_owned(),
            block: "block".into(),
            index: vec![n as i32],
            default: 0.0,
        });
        let named = |name: &str, value| NamedValue {
            name: name.into(),
            value,
        };
        AutoWidth {
            parameter: 0,
            card: card.collect(),
            alpha_s: Some(0),
            values: vec![
                named("M", heavy),
                named("X > y y", open),
                named("X > g g", strong),
            ],
            program: builder.finish(),
            colored,
        }
    }

    #[test]
    fn open_decays_are_added() {
        let at = |colored, card: [f64; 4]| example(colored).width_with_decays(&card);
        let strong = |alpha_s: f64| 4.0 * PI * alpha_s;
        let (width, of) = at(false, [0.118, Z, 5.0, 0.01]).unwrap();
        assert!((width - 0.01 - strong(0.118)).abs() < 1e-12, "{width}");
        assert_eq!(of, "the sum of X > y y, X > g g");
        // A closed decay does not count, and the strong coupling is taken at |mass|.
        for mass in [1000.0, -1000.0] {
            let (width, of) = at(false, [0.118, mass, 2000.0, 0.01]).unwrap();
            assert!((width / strong(running(0.118, 1000.0)) - 1.0).abs() < 1e-12);
            assert_eq!(of, "the sum of X > g g");
        }
        let (width, of) = at(true, [0.118, Z, 5.0, 0.01]).unwrap();
        assert!((width - strong(0.118)).abs() < 1e-12, "{width}");
        assert!(
            of.ends_with("left out, below 0.1 GeV and with colour, are X > y y (1.00e-2)"),
            "{of}"
        );
        let (width, of) = at(false, [0.0, Z, 100.0, 0.01]).unwrap();
        assert_eq!(
            (width, of.as_str()),
            (0.0, "as no decay into two particles is open")
        );
        for bad in [f64::NAN, -0.01] {
            let what = at(false, [0.118, Z, 5.0, bad]).unwrap_err();
            assert!(what.contains("formula for X > y y gives"), "{what}");
        }
    }

    /// A width in a card is a number, or Auto.
    #[test]
    fn cards_are_asked_for_what_formulas_need() {
        let width = CardParameter {
            name: "MDL_W".into(),
            block: "decay".into(),
            index: vec![6],
            default: 0.0,
        };
        let text = "BLOCK BLOCK\n0 0.118\n1 91.188\n2 5.0\n3 0.01\n";
        let card = |text: &str| Card::parse(text, Path::new("my.dat"));
        let (value, line) = example(false).value(&card(text), &width).unwrap();
        assert!(value > 0.01);
        assert!(line.starts_with("my.dat: DECAY 6 is Auto: 1.4"), "{line}");
        assert!(line.contains("decays into more particles"), "{line}");
        let missing = example(false)
            .value(&card("BLOCK BLOCK\n0 0.118\n"), &width)
            .unwrap_err();
        assert!(
            missing
                .to_string()
                .contains("there is no entry 1 of block block (M)"),
            "{missing}"
        );
        let bad = example(false)
            .value(&card(&text.replace("0.01", "-1")), &width)
            .unwrap_err();
        assert!(
            bad.to_string()
                .contains("my.dat: DECAY 6 (MDL_W) is Auto, and the model's formula"),
            "{bad}"
        );
    }

    /// A crafted file cannot cause an out-of-range access.
    #[test]
    fn what_does_not_fit_is_refused() {
        let validated = |change: fn(&mut AutoWidth)| {
            let mut process = crate::example::scalars();
            let mut width = example(false);
            change(&mut width);
            process.model.auto_widths.push(width);
            process.validate().map_err(|error| error.to_string())
        };
        validated(|_| {}).unwrap();
        for (change, says) in [
            (
                (|w| drop(w.card.pop())) as fn(&mut AutoWidth),
                "wrong number of inputs",
            ),
            (|w| w.alpha_s = Some(4), "alpha_s is not in its card"),
            (|w| w.values[1].value = 1000, "it has no value"),
            (|w| w.program.ops[0] = Op::Input(9), "reads input 9 of 5"),
        ] {
            let error = validated(change).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    /// The running solves its differential equation, from far above to below the thresholds.
    #[test]
    fn the_strong_coupling_runs() {
        assert!((running(0.118, Z) - 0.118).abs() < 1e-14);
        for (scale, quarks) in [
            (1e4, 5.0),
            (173.0, 5.0),
            (10.0, 5.0),
            (3.0, 4.0),
            (1.2, 3.0),
        ] {
            let (h, a) = (1e-4, running(0.118, scale));
            let slope =
                (running(0.118, scale * (1.0 + h)) - running(0.118, scale * (1.0 - h))) / (4.0 * h);
            let b = (33.0 - 2.0 * quarks) / (12.0 * PI);
            let c = (153.0 - 19.0 * quarks) / (2.0 * PI * (33.0 - 2.0 * quarks));
            assert!(
                (slope / (-b * a * a * (1.0 + c * a)) - 1.0).abs() < 1e-5,
                "{scale}"
            );
        }
        // The coupling is continuous at each threshold.
        for threshold in [BOTTOM, CHARM] {
            let below = running(0.118, threshold * (1.0 - 1e-12));
            assert!((below - running(0.118, threshold)).abs() < 1e-10);
        }
        assert_eq!(
            (
                running(0.118, 0.1),
                running(0.0, 100.0),
                running(f64::NAN, 100.0)
            ),
            (0.0, 0.0, 0.0)
        );
    }
}
