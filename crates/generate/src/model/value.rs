//! Numerical values of a model's parameters.

use super::Model;
use super::expression::Expr;
use super::parameters::{needed, program};
use mebridge_process::card::Card;
use num_complex::Complex64;
use std::f64::consts::PI;

impl Model {
    /// The value of a parameter, whether from the card or a formula, with the values of a card or the model's defaults.
    /// The name is matched exactly, otherwise without regard to case. The strong coupling is that of the card.
    pub fn parameter(&self, name: &str, card: Option<&Card>) -> Result<Complex64, String> {
        let known = self.card.iter().map(|entry| &entry.name);
        let known = known.chain(self.parameters.keys());
        let known: Vec<&String> = known.filter(|n| n.eq_ignore_ascii_case(name)).collect();
        let exact = known.iter().find(|known| **known == name);
        let Some(found) = exact.or(known.first()) else {
            return Err(format!("there is no parameter {name}"));
        };
        let formula = Expr::Name((*found).clone());
        let alpha_s = self.alpha_s.clone().map(Expr::Name);
        let all: Vec<&Expr> = [&formula].into_iter().chain(&alpha_s).collect();
        let entries = needed(self, &all)?;
        let value = |entry: &&super::CardEntry| match card {
            Some(card) => card.value(&entry.parameter()).map_err(|e| e.to_string()),
            None => Ok(entry.value),
        };
        let values: Vec<f64> = entries.iter().map(value).collect::<Result<_, _>>()?;
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let at = self.alpha_s.as_ref();
        let at = at.and_then(|alpha_s| names.iter().position(|name| name == alpha_s));
        let g = at.map_or(1.0, |at| 2.0 * (values[at] * PI).sqrt());
        let (program, ids) = program(&names, &self.parameters, &[&formula])?;
        let inputs = values.iter().chain([&g]).map(|&x| Complex64::new(x, 0.0));
        let inputs: Vec<Complex64> = inputs.collect();
        let value = program.evaluate(&inputs)[ids[0] as usize];
        match value.is_finite() {
            true => Ok(value),
            false => Err(format!(
                "the parameter {found} is {value}, which is not a finite number"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The mass of the W boson and the strong coupling of the Standard Model.
    #[test]
    fn parameters_are_those_of_a_card() {
        let model = Model::standard().unwrap();
        let w = model.parameter("mw", None).unwrap();
        assert!((w.re - 80.419).abs() < 1e-3 && w.im == 0.0, "{w}");
        assert_eq!(model.parameter("AEWM1", None).unwrap().re, 132.507);
        let text = "BLOCK SMINPUTS\n1 128.0\n2 1.16639e-05\n3 0.2\nBLOCK MASS\n23 91.0\n";
        let card = Card::parse(text, Path::new("my.dat"));
        let alpha = 1.0 / 128.0;
        let root = (91.0f64.powi(4) / 4.0
            - PI * alpha * 91.0f64.powi(2) / (2.0f64.sqrt() * 1.16639e-5))
            .sqrt();
        let expected = (91.0f64.powi(2) / 2.0 + root).sqrt();
        let found = model.parameter("MW", Some(&card)).unwrap().re;
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
        let error = model.parameter("nothing", None).unwrap_err();
        assert_eq!(error, "there is no parameter nothing");
        let less = Card::parse("BLOCK MASS\n23 91.0\n", Path::new("my.dat"));
        let error = model.parameter("mw", Some(&less)).unwrap_err();
        assert!(error.contains("my.dat: there is no entry"), "{error}");
    }
}
