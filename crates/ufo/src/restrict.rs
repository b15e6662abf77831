//! Restrictions as in MG5aMC (`RestrictModel` of import_ufo.py): zeros, ones and equal values in a card remove
//! parameters and vertices from the model.

use crate::complex_masses::mass_of_w;
use crate::formula::replaced;
use crate::imported::{Imported, OpenWidth, OpenWidths};
use crate::source::{Parameter, ParameterValue, UfoCoupling};
use crate::values::{ParameterValues, evaluate};
use mebridge_generate::model::expression::Expr;
use mebridge_process::card::Card;
use mebridge_support::message;
use mebridge_support::sorted::{SortedMap, SortedSet};
use num_complex::Complex64;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Couplings below this are zero.
const ZERO: f64 = 1e-13;
/// If any coupling is between `ZERO` and this, the model has small couplings, and only exact zeros are zero.
const SMALL: f64 = 1e-10;
/// A block that a card may lack; its parameters are then the mass of the Z boson.
const SCALES: &str = "loop";
/// Blocks by which MG5aMC recognises supersymmetric models, whose card stays complete.
const SUPERSYMMETRY: [&str; 8] = [
    "USQMIX", "SL2", "MSOFT", "YE", "NMIX", "TU", "MSE2", "UPMNS",
];
/// Placeholder for a width that is to be computed: neither 0 nor 1, so that the restriction does not remove it.
const NOT_YET_COMPUTED: f64 = 0.5;
/// Values that stand for 0 and 1 without being removed.
const NEITHER_ZERO_NOR_ONE: [f64; 2] = [0.000001e-99, 9.999999e-1];

type Fallible<T> = Result<T, String>;

/// Updates the open widths by a card's entry for a width; returns whether the width is open. A number closes it; a card
/// without an entry changes nothing.
fn is_open(open: &mut OpenWidths, card: &Card, pdg: i32, value: &mut f64) -> bool {
    if card.number("decay", &[pdg]).is_some() {
        open.remove(&pdg);
    } else if card.is_auto("decay", &[pdg]) {
        let own = match open.get(&pdg) {
            Some(known) => known.own,
            None => Some(*value).filter(|own| ![0.0, 1.0].contains(own)),
        };
        *value = own.unwrap_or(NOT_YET_COMPUTED);
        let card = card.path().to_path_buf();
        open.insert(pdg, OpenWidth { card, own });
    }
    open.contains_key(&pdg)
}

impl Imported {
    /// Sets parameters to the values of a card.
    pub fn set_card(&mut self, path: &Path) -> Fallible<()> {
        let card = Card::read(path).map_err(|e| e.to_string())?;
        let w = mass_of_w(&card).filter(|_| self.has_complex_masses);
        for parameter in &mut self.parameters {
            let ParameterValue::External(block, index, value) = &mut parameter.value else {
                continue;
            };
            let block = block.to_ascii_lowercase();
            if block == "decay"
                && let [pdg] = index[..]
                && is_open(&mut self.open_widths, &card, pdg, value)
            {
                continue;
            }
            *value = match card.number(&block, index) {
                Some(x) if x.is_finite() => x,
                None if (block.as_str(), &index[..]) == ("mass", &[24]) && w.is_some() => {
                    w.unwrap_or_default()
                }
                None if block == SCALES && card.number("mass", &[23]).is_some() => {
                    card.number("mass", &[23]).unwrap_or_default()
                }
                // The model's value is kept, unless it is 0 or 1.
                None if block == "decay" && *value != 0.0 && *value != 1.0 => {
                    message::say_once(format!(
                        "{}: DECAY {} is not a number; {} stays {value}, the model's own value",
                        path.display(),
                        index.first().unwrap_or(&0),
                        parameter.name
                    ));
                    *value
                }
                _ => {
                    let index: Vec<String> = index.iter().map(i32::to_string).collect();
                    return Err(format!(
                        "{}: there is no number for {} of block {block} ({})",
                        path.display(),
                        index.join(" "),
                        parameter.name
                    ));
                }
            };
        }
        Ok(())
    }

    /// Restricts the model by a card. `name` is the name of the model.
    pub fn restrict(&mut self, card: &Path, name: &str) -> Fallible<()> {
        let blocks: SortedSet<&str> = self
            .parameters
            .iter()
            .filter_map(Parameter::block)
            .collect();
        let keeps_card = name == "MSSM_SLHA2" || SUPERSYMMETRY.iter().all(|b| blocks.contains(b));
        self.set_card(card)?;
        let values = evaluate(self)?;
        let (zero, same) = self.special_couplings(&values.couplings);
        for interaction in &mut self.interactions {
            interaction
                .terms
                .retain(|term| !zero.contains(&term.coupling));
            for term in &mut interaction.terms {
                if let (true, Some(&(main, negative))) =
                    (interaction.physical, same.get(&term.coupling))
                {
                    term.coupling = main;
                    term.negative ^= negative;
                }
            }
        }
        self.interactions
            .retain(|interaction| !interaction.terms.is_empty());
        for at in 0..self.interactions.len() {
            self.merge_lorentz(at, true);
        }
        self.drop_unused_couplings();
        let values = self.of_parameters(&values);
        self.fix_parameters(&values, keeps_card);
        self.merge_parameters();
        let file = card
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let beside = |name: &str| {
            let other = card.with_file_name(file.replace("restrict", name));
            Some(other).filter(|other| file.contains("restrict") && other.is_file())
        };
        if let Some(values) = beside("param") {
            self.set_card(&values)?;
        }
        // The file that MG5aMC copies to `param_card.dat` of its output.
        if let Some(values) = beside("paramcard") {
            self.set_defaults(&values)?;
        }
        Ok(())
    }

    /// Sets default values of parameters from a card, as far as it has them.
    fn set_defaults(&mut self, path: &Path) -> Fallible<()> {
        let card = Card::read(path).map_err(|e| e.to_string())?;
        for parameter in &mut self.parameters {
            let ParameterValue::External(block, index, value) = &mut parameter.value else {
                continue;
            };
            let block = block.to_ascii_lowercase();
            let number = card.number(&block, index);
            if let ("decay", &[pdg]) = (block.as_str(), &index[..]) {
                is_open(&mut self.open_widths, &card, pdg, value);
            }
            *value = number.filter(|x| x.is_finite()).unwrap_or(*value);
        }
        Ok(())
    }

    fn of_parameters(&self, values: &ParameterValues) -> HashMap<String, Complex64> {
        let names = self.parameters.iter().map(|p| p.name.clone());
        names.zip(values.parameters.iter().copied()).collect()
    }

    /// Finds couplings that vanish, and for each coupling that equals another one up to the sign, that one and whether
    /// it is negated.
    #[allow(clippy::type_complexity)]
    fn special_couplings(
        &self,
        values: &[Complex64],
    ) -> (HashSet<usize>, HashMap<usize, (usize, bool)>) {
        let small = |x: &Complex64| (ZERO..SMALL).contains(&x.norm());
        let exact = values.iter().any(small);
        let mut zero = HashSet::new();
        let mut sorted: Vec<usize> = (0..values.len()).collect();
        sorted.sort_by(|&a, &b| self.couplings[a].name.cmp(&self.couplings[b].name));
        let mut equal: HashMap<(u64, u64), Vec<(usize, bool)>> = HashMap::new();
        for n in sorted {
            let value = values[n];
            if value == Complex64::new(0.0, 0.0) || (!exact && value.norm() < ZERO) {
                zero.insert(n);
                continue;
            }
            let value = Complex64::new(rounded(value.re), rounded(value.im));
            // Removes the sign of zero.
            let key = |x: Complex64| ((x.re + 0.0).to_bits(), (x.im + 0.0).to_bits());
            if let Some(known) = equal.get_mut(&key(-value)) {
                known.push((n, true));
            } else {
                equal.entry(key(value)).or_default().push((n, false));
            }
        }
        // Only couplings with the same orders are merged; those of no physical vertex separately. MG5aMC counts
        // couplings that only occur with a minus among the latter, and stores the orders with the vertex.
        let physical = self.interactions.iter().filter(|i| i.physical);
        let terms = physical.flat_map(|i| i.terms.iter().filter(|term| !term.negative));
        let used: HashSet<usize> = terms.map(|term| term.coupling).collect();
        let mut same = HashMap::new();
        for group in equal.values() {
            let mut first: HashMap<(bool, &SortedMap<String, i32>), (usize, bool)> = HashMap::new();
            for &(n, negative) in group {
                let key = (used.contains(&n), &self.couplings[n].orders);
                match first.get(&key) {
                    Some(&(main, sign)) => {
                        same.insert(n, (main, negative != sign));
                    }
                    None => {
                        first.insert(key, (n, negative));
                    }
                }
            }
        }
        (zero, same)
    }

    fn drop_unused_couplings(&mut self) {
        let used = self.interactions.iter().flat_map(|i| &i.terms);
        let used: SortedSet<usize> = used.map(|term| term.coupling).collect();
        let new: HashMap<usize, usize> =
            used.iter().enumerate().map(|(n, &old)| (old, n)).collect();
        let couplings = std::mem::take(&mut self.couplings);
        let couplings = couplings.into_iter().enumerate();
        let kept = couplings.filter(|(n, _)| used.contains(n));
        self.couplings = kept.map(|(_, coupling)| coupling).collect();
        for interaction in &mut self.interactions {
            for term in &mut interaction.terms {
                term.coupling = new[&term.coupling];
            }
        }
    }

    /// Removes parameters that are 0 or 1 from the card, and replaces them by numbers where they are still used.
    fn fix_parameters(&mut self, values: &HashMap<String, Complex64>, keeps_card: bool) {
        let number = |name: &str| values.get(name).filter(|x| x.im == 0.0).map(|x| x.re);
        let mut fixed: HashMap<String, f64> = HashMap::new();
        for name in values.keys() {
            if let Some(x @ (0.0 | 1.0)) = number(name) {
                fixed.insert(name.clone(), x);
            }
        }
        for pair in &mut self.particles {
            for quantity in [&mut pair.mass, &mut pair.width] {
                match quantity.as_ref().and_then(|name| fixed.get(name)) {
                    Some(0.0) => *quantity = None,
                    // A mass of 1 GeV stays a mass.
                    Some(_) => {
                        fixed.remove(quantity.as_deref().unwrap_or_default());
                    }
                    None => {}
                }
            }
        }
        let mut used: HashSet<String> = HashSet::new();
        let mut note = |expr: &Expr| {
            expr.for_each_name(&mut |name| {
                used.insert(name.to_owned());
            });
        };
        self.couplings
            .iter()
            .for_each(|c: &UfoCoupling| note(&c.formula));
        for parameter in &self.parameters {
            if let (ParameterValue::Formula(formula), false) =
                (&parameter.value, fixed.contains_key(&parameter.name))
            {
                note(formula);
            }
        }
        self.parameters.retain_mut(|parameter| {
            let Some(&x) = fixed.get(&parameter.name) else {
                return true;
            };
            match used.contains(&parameter.name) {
                true => parameter.value = ParameterValue::Formula(Expr::Number(x)),
                false => return keeps_card && parameter.block().is_some(),
            }
            true
        });
        // Replace removed parameters in formulas of widths.
        let left: HashSet<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
        let gone = |name: &str| fixed.get(name).filter(|_| !left.contains(name));
        let number = |name: &str| gone(name).map(|&x| Expr::Number(x));
        for (_, width) in self
            .decays
            .iter_mut()
            .flat_map(|decays| &mut decays.channels)
        {
            *width = replaced(width, &number);
        }
    }

    /// Of parameters of a block with equal or opposite values, only the first stays in the card.
    fn merge_parameters(&mut self) {
        let mut first: HashMap<(String, u64), usize> = HashMap::new();
        let mut renamed: Vec<(String, String)> = Vec::new();
        for at in 0..self.parameters.len() {
            let ParameterValue::External(block, _, value) = &self.parameters[at].value else {
                continue;
            };
            let special = [0.0, 1.0].contains(value) || NEITHER_ZERO_NOR_ONE.contains(value);
            if special || block.eq_ignore_ascii_case("decay") {
                continue;
            }
            let key = (block.clone(), value.to_bits());
            let opposite = (block.clone(), (-value).to_bits());
            let (main, sign) = match (first.get(&key), first.get(&opposite)) {
                (Some(&main), _) => (main, 1.0),
                (None, Some(&main)) => (main, -1.0),
                _ => {
                    first.insert(key, at);
                    continue;
                }
            };
            let mass = block == "MASS";
            let main = self.parameters[main].name.clone();
            let parameter = &mut self.parameters[at];
            if mass && sign > 0.0 {
                renamed.push((parameter.name.clone(), main.clone()));
            }
            parameter.value = ParameterValue::Formula(match sign > 0.0 {
                true => Expr::Name(main),
                false => Expr::Neg(Expr::Name(main).into()),
            });
        }
        for pair in &mut self.particles {
            let new = renamed
                .iter()
                .find(|(old, _)| Some(old) == pair.mass.as_ref());
            if let Some((_, new)) = new {
                pair.mass = Some(new.clone());
            }
        }
    }
}

impl Parameter {
    /// The block in the card; `None` for a formula.
    pub fn block(&self) -> Option<&str> {
        match &self.value {
            ParameterValue::External(block, ..) => Some(block),
            ParameterValue::Formula(_) => None,
        }
    }
}

/// Rounds a number to the decimal places with which MG5aMC compares couplings.
fn rounded(x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    let places = (x.abs().log10().round_ties_even() + 0.0).abs() as usize + 10;
    let places = places.min(400);
    format!("{x:.places$}").parse().unwrap_or(x)
}
