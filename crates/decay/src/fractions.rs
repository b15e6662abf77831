//! Branching fractions: from the decay tables of the card if it has them, otherwise partial widths over the card's
//! widths.

use crate::channel::DecayChannel;
use crate::element::{Evaluator, Theory};
use mebridge::model::Model;
use mebridge::{Error, Result};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::collections::HashMap;

/// A decay of one particle: the absolute value of its PDG code, and the codes of its products, ascending.
pub type DecayStep = (i32, Vec<i32>);

/// Branching fractions of the decays in use.
#[derive(Default)]
pub struct Fractions {
    /// From the decay tables of the card.
    tables: HashMap<DecayStep, f64>,
    /// Partial widths and their errors by the name of the decay, GeV.
    partial: SortedMap<String, (f64, f64)>,
    found: SortedMap<DecayStep, f64>,
    widths: SortedMap<i32, f64>,
    /// The largest relative error of a partial width.
    pub error: f64,
}

/// The antiparticle of a PDG code.
pub fn conjugate(pdg: i32, model: &Model) -> i32 {
    let particle = model.particles.iter().find(|particle| particle.pdg == pdg);
    particle.map_or(-pdg, |particle| model.properties(particle.anti).pdg)
}

/// The decay, or its charge conjugate if the code of the mother is negative.
fn step(mother: i32, products: impl IntoIterator<Item = i32>, model: &Model) -> DecayStep {
    let products = products.into_iter();
    let mut products: Vec<i32> = match mother < 0 {
        true => products.map(|code| conjugate(code, model)).collect(),
        false => products.collect(),
    };
    products.sort_unstable();
    (mother.abs(), products)
}

impl Fractions {
    /// Reads the decay tables of a card: lines `0.33 2 -11 12` after `DECAY 24 2.0`.
    pub fn from_card(text: &str, model: &Model) -> Fractions {
        let mut fractions = Fractions::default();
        let mut mother = None;
        for line in text.lines() {
            let words: Vec<&str> = line
                .split('#')
                .next()
                .unwrap_or_default()
                .split_whitespace()
                .collect();
            match words.as_slice() {
                [first, code, ..] if first.eq_ignore_ascii_case("decay") => {
                    mother = code.parse::<i32>().ok()
                }
                [first, ..] if first.eq_ignore_ascii_case("block") => mother = None,
                [fraction, count, products @ ..] => {
                    let products: Option<Vec<i32>> =
                        products.iter().map(|code| code.parse().ok()).collect();
                    if let (Some(mother), Ok(fraction), Some(products)) =
                        (mother, fraction.parse::<f64>(), products)
                        && *count == products.len().to_string()
                    {
                        fractions
                            .tables
                            .insert(step(mother, products, model), fraction);
                    }
                }
                _ => {}
            }
        }
        fractions
    }

    /// The width of a particle in the card, GeV.
    ///
    /// # Errors
    /// The width is missing, not positive, or `Auto`.
    pub fn width(&mut self, pdg: i32, theory: &Theory) -> Result<f64> {
        let pdg = pdg.abs();
        if let Some(known) = self.widths.get(&pdg) {
            return Ok(*known);
        }
        let place = theory.card.path().display().to_string();
        let cure = "give it by --param-card, in a card with `DECAY` and a number in GeV";
        if theory.card.is_auto("decay", &[pdg]) {
            let what = format!("the width of PDG {pdg} is left to be computed (Auto)");
            return Err(Error::run_at(place, what, cure));
        }
        let entry = theory.model.card.iter();
        let mut entry = entry.filter(|entry| entry.block == "decay" && entry.index == [pdg]);
        let own = entry.next().map(|entry| entry.value);
        let width = theory
            .card
            .number("decay", &[pdg])
            .or(own)
            .unwrap_or(0.0)
            .abs();
        if width.is_nan() || width <= 0.0 {
            let what = format!("PDG {pdg} is to decay and has the width {width}");
            return Err(Error::run_at(place, what, cure));
        }
        self.widths.insert(pdg, width);
        Ok(width)
    }

    /// Determines the fraction of a decay of one particle, given by its process text.
    ///
    /// # Errors
    /// The decay is closed, or its partial width cannot be computed.
    pub fn compute(&mut self, name: &str, theory: &Theory, threads: usize) -> Result<()> {
        if self.partial.contains_key(name) {
            return Ok(());
        }
        let element = Evaluator::from_text(name, theory)?;
        let width = self.width(element.process.legs[0].pdg, theory)?;
        let others = element.process.other_flavours.clone();
        let codes: Vec<i32> = element.process.legs.iter().map(|leg| leg.pdg).collect();
        let parsed = crate::name::Name::parse(name).ok_or_else(|| Error::run(name, ""))?;
        let (_, mut source) = DecayChannel::new(parsed, element, width, 0.0, 0, theory)?;
        let (partial, error) = source.partial_width(threads)?;
        for codes in std::iter::once(&codes).chain(&others) {
            let step = step(codes[0], codes[1..].iter().copied(), &theory.model);
            let fraction = self.tables.get(&step).copied().unwrap_or(partial / width);
            self.found.insert(step, fraction);
        }
        if partial > 0.0 {
            self.error = self.error.max(error / partial);
        }
        self.partial.insert(name.to_owned(), (partial, error));
        Ok(())
    }

    /// Partial widths by names, GeV.
    pub fn partial_widths(&self) -> impl Iterator<Item = (&str, f64)> {
        self.partial
            .iter()
            .map(|(name, (width, _))| (name.as_str(), *width))
    }

    /// The fraction of a decay of one particle; `rep` is a decay with the same matrix element that
    /// [`Fractions::compute`] was called for.
    pub fn fraction(
        &mut self,
        mother: i32,
        products: &[i32],
        rep: (i32, &[i32]),
        model: &Model,
    ) -> f64 {
        let own = step(mother, products.iter().copied(), model);
        if let Some(known) = self.found.get(&own) {
            return *known;
        }
        // A decay with the same matrix element has the same partial width.
        let rep = step(rep.0, rep.1.iter().copied(), model);
        let fraction = self.tables.get(&own).or_else(|| self.found.get(&rep));
        let fraction = fraction.copied().unwrap_or(0.0);
        self.found.insert(own, fraction);
        fraction
    }

    /// Particles whose fractions add up to more than 1, as `(PDG code, sum)`: the fractions must be divided by the sum.
    pub fn sums_above_one(&self) -> Vec<(i32, f64)> {
        let mothers: SortedSet<i32> = self.found.keys().map(|(mother, _)| *mother).collect();
        let sum = |mother: &i32| {
            let own = self.found.iter().filter(|((of, _), _)| of == mother);
            own.map(|(_, fraction)| fraction).sum::<f64>()
        };
        let sums = mothers.into_iter().map(|mother| (mother, sum(&mother)));
        sums.filter(|(_, sum)| *sum > 1.0 + 1e-9).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_cards_are_read() {
        let model = Model::standard().expect("it is built in");
        let card = "DECAY 24 2.0 # W\n  0.11 2 -11 12\n 0.2  3 1 2 # not that\nBLOCK MASS\n 0.5 2 1 -1\nDECAY 6 1.4\n";
        let fractions = Fractions::from_card(card, &model);
        let w = step(-24, [11, -12], &model);
        assert_eq!(w, (24, vec![-11, 12]));
        assert_eq!(fractions.tables.get(&w), Some(&0.11));
        assert_eq!(fractions.tables.len(), 1);
        assert_eq!(step(23, [11, -11], &model), (23, vec![-11, 11]));
    }
}
