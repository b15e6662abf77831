//! Conversion of a model to the complex-mass scheme, as in MG5aMC (`change_mass_to_complex_scheme` of base_objects.py).
//!
//! A particle with a mass and a width gets the complex mass `sqrt(M^2 - i M W)`. It replaces the mass in propagators
//! and in all formulas of parameters and couplings; masses of external legs and the card stay real. Yukawa couplings
//! follow the masses, because they could not be complex otherwise. If the mass of the W follows from the Fermi
//! constant, it replaces the latter in the card.

use crate::formula::replaced;
use crate::imported::Imported;
use crate::source::{Parameter, ParameterValue};
use crate::values::evaluate;
use mebridge_generate::model::Gauge;
use mebridge_generate::model::expression::{BinaryOperator, Expr, parse};
use mebridge_process::card::Card;
use mebridge_support::message;
use mebridge_support::sorted::SortedSet;
use std::collections::HashMap;
use std::f64::consts::{PI, SQRT_2};

type Fallible<T> = Result<T, String>;

/// PDG code of the W boson.
const W: i32 = 24;
/// Formulas for its mass from the Fermi constant, and for the latter from its mass.
const MASS_OF_W: &str = "sqrt(MZ**2/2. + sqrt(MZ**4/4. - (aEW*pi*MZ**2)/(Gf*sqrt(2))))";
const FERMI: &str = "-aEW*MZ**2*pi/(sqrt(2)*MW**2*(MW**2 - MZ**2))";
/// MG5aMC's default for its mass, if no card determines it.
const OWN_MASS_OF_W: f64 = 80.385;

/// The index of a parameter.
fn place(model: &Imported, name: &str) -> Fallible<usize> {
    let found = model.parameters.iter().position(|p| p.name == name);
    found.ok_or_else(|| format!("there is no parameter `{name}`"))
}

impl Imported {
    /// Makes the masses of particles with a width complex. `restricted` is whether the values of parameters are those
    /// of a restriction card.
    pub fn make_masses_complex(&mut self, restricted: bool) -> Fallible<()> {
        let values = evaluate(self)?.parameters;
        let number = self.parameters.iter().map(|p| p.name.clone());
        let number: HashMap<String, f64> = number.zip(values.iter().map(|x| x.norm())).collect();
        let mut real: SortedSet<String> = SortedSet::new();
        let mut complex: HashMap<String, String> = HashMap::new();
        let (mut own, mut derived) = (SortedSet::new(), SortedSet::new());
        for at in self.with_complex_masses() {
            let pair = &self.particles[at];
            let names = [&pair.mass, &pair.width];
            real.extend(names.into_iter().flatten().cloned());
            let (Some(mass), Some(width)) = (pair.mass.clone(), pair.width.clone()) else {
                continue;
            };
            let known = |name: &str| {
                let external = self.parameters[place(self, name)?].block().is_some();
                Ok::<bool, String>(restricted || external)
            };
            let is_zero = |name: &str| Ok::<bool, String>(known(name)? && number[name] == 0.0);
            if is_zero(&width)? || is_zero(&mass)? {
                continue;
            }
            let majorana = pair.antiname.is_none() && pair.spin.is_multiple_of(2);
            if pair.pdg.abs() == W && !self.put_w_into_card(&mass)? {
                message::say_once(format!(
                    "the mass of the W ({mass}) does not follow from just 1/alpha, the Fermi constant and the mass of the Z, \
                     so its complex mass follows from complex parameters; use a model with that mass in its card to set \
                     it"
                ));
            }
            let (name, follows) = self.complex_mass(&mass, &width, majorana)?;
            own.insert(name.clone());
            if follows {
                derived.insert(name.clone());
            }
            self.particles[at].complex_mass = Some(name.clone());
            complex.entry(mass).or_insert(name);
        }
        self.yukawas_follow()?;
        self.decays.clear();
        self.has_complex_masses = true;
        let by = |name: &str| complex.get(name).map(|new| Expr::Name(new.clone()));
        for parameter in &mut self.parameters {
            let ParameterValue::Formula(formula) = &mut parameter.value else {
                continue;
            };
            if derived.contains(&parameter.name) || real.contains(&parameter.name) {
                *formula = powers_replaced(formula, &by);
            } else if !own.contains(&parameter.name) {
                parameter.real = false;
                *formula = replaced(formula, &by);
            }
        }
        for coupling in &mut self.couplings {
            coupling.formula = replaced(&coupling.formula, &by);
        }
        self.say_what_has_no_width(&derived)
    }

    /// Particles that propagate in the gauge: the W first, because its treatment changes parameters, and Goldstone
    /// bosons last.
    fn with_complex_masses(&self) -> Vec<usize> {
        let feynman = self.gauge == Gauge::Feynman;
        let pair = |at: &usize| &self.particles[*at];
        let all = (0..self.particles.len()).filter(|at| !pair(at).ghost);
        let mut all: Vec<usize> = all.filter(|at| feynman || !pair(at).goldstone).collect();
        all.sort_by_key(|at| (pair(at).goldstone, pair(at).pdg.abs() != W));
        all
    }

    /// Adds the complex mass of a particle, unless it exists; returns its name, and whether it follows from other
    /// parameters.
    fn complex_mass(
        &mut self,
        mass: &str,
        width: &str,
        majorana: bool,
    ) -> Fallible<(String, bool)> {
        let [at_mass, at_width] = [place(self, mass)?, place(self, width)?];
        let (m, w) = (Expr::Name(mass.into()), Expr::Name(width.into()));
        let place = self.parameters[at_mass].place.clone();
        let formula = match &self.parameters[at_mass].value {
            ParameterValue::External(..) => None,
            ParameterValue::Formula(formula) => Some(formula.clone()),
        };
        let derived = formula.is_some();
        let value = match formula {
            None => {
                // The width of a Majorana fermion has the sign of its mass, and so does the complex mass.
                let width = match majorana {
                    true => by_sign(&m, call("abs", &w), Expr::Neg(call("abs", &w).into())),
                    false => w,
                };
                let imaginary =
                    Expr::Call("complex".into(), vec![Expr::Number(0.0), Expr::Number(1.0)]);
                let imaginary = binary(
                    BinaryOperator::Mul,
                    binary(BinaryOperator::Mul, imaginary, m.clone()),
                    width,
                );
                let root = call("sqrt", &binary(BinaryOperator::Sub, square(&m), imaginary));
                match majorana {
                    true => by_sign(&m, root.clone(), Expr::Neg(root.into())),
                    false => root,
                }
            }
            Some(formula) => formula,
        };
        let name = format!("CMASS_{mass}");
        let is = |p: &Parameter, name: &str| p.name == name;
        let (name, known) = match self.parameters.iter().find(|p| is(p, &name)) {
            None => (name, false),
            Some(p) if derived || matches!(&p.value, ParameterValue::Formula(f) if *f == value) => {
                (name, true)
            }
            // Two particles with the same mass and different widths.
            Some(_) => {
                let name = format!("{name}_{width}");
                let known = self.parameters.iter().any(|p| is(p, &name));
                (name, known)
            }
        };
        if known {
            return Ok((name, derived));
        }
        if derived {
            let squared = square(&value);
            let root = call("sqrt", &call("re", &squared));
            let part = Expr::Neg(call("im", &squared).into());
            let (real, part) = match self.parameters[at_width].block() {
                Some(_) => (root, binary(BinaryOperator::Div, part, m)),
                None => (call("re", &value), binary(BinaryOperator::Div, part, root)),
            };
            self.parameters[at_mass].value = ParameterValue::Formula(real);
            self.parameters[at_width].value = ParameterValue::Formula(part);
            for at in [at_mass, at_width] {
                self.parameters[at].real = true;
            }
        }
        self.parameters.push(Parameter {
            name: name.clone(),
            value: ParameterValue::Formula(value),
            real: false,
            scale: None,
            place,
        });
        Ok((name, derived))
    }

    /// If the mass of the W follows from the Fermi constant, puts it into the card, and makes the Fermi constant follow
    /// from it. Returns whether the mass is in the card.
    fn put_w_into_card(&mut self, mass: &str) -> Fallible<bool> {
        let at = place(self, mass)?;
        let fermi = self.parameters.iter().position(|p| p.name == "Gf");
        match (&self.parameters[at].value, fermi) {
            (ParameterValue::External(..), _) => return Ok(true),
            (ParameterValue::Formula(formula), Some(_)) if *formula == parse(MASS_OF_W)? => {}
            _ => return Ok(false),
        }
        if let Some(fermi) = fermi {
            let by = |name: &str| (name == "MW").then(|| Expr::Name(mass.to_owned()));
            self.parameters[fermi].value = ParameterValue::Formula(replaced(&parse(FERMI)?, &by));
        }
        self.parameters[at].value = ParameterValue::External("MASS".into(), vec![W], OWN_MASS_OF_W);
        Ok(true)
    }

    /// Replaces Yukawa couplings of the card by the masses of their particles.
    fn yukawas_follow(&mut self) -> Fallible<()> {
        for at in 0..self.parameters.len() {
            let parameter = &self.parameters[at];
            let ParameterValue::External(block, index, _) = &parameter.value else {
                continue;
            };
            if !block.eq_ignore_ascii_case("yukawa") {
                continue;
            }
            let of = |pdg: i32| self.particles.iter().find(|p| p.pdg.abs() == pdg.abs());
            let Some(pair) = index.first().and_then(|&pdg| of(pdg)) else {
                return Err(format!(
                    "{}: {}: block {block} has no particle of that number, whose complex mass it could be",
                    parameter.place, parameter.name
                ));
            };
            let mass = pair.mass.clone().map_or(Expr::Number(0.0), Expr::Name);
            self.parameters[at].value = ParameterValue::Formula(mass);
        }
        Ok(())
    }

    /// Reports particles without a width because their complex mass follows from real parameters.
    fn say_what_has_no_width(&self, derived: &SortedSet<String>) -> Fallible<()> {
        if derived.is_empty() {
            return Ok(());
        }
        let values = evaluate(self)?.parameters;
        for pair in &self.particles {
            let Some(name) = pair
                .complex_mass
                .as_ref()
                .filter(|name| derived.contains(*name))
            else {
                continue;
            };
            if values[place(self, name)?].im == 0.0 {
                message::say_once(format!(
                    "{}: its mass follows from parameters without a width, and so it has none in the complex-mass scheme, \
                     as in MG5aMC; no process should have it as a resonance",
                    pair.name
                ));
            }
        }
        Ok(())
    }
}

/// The mass of the W that follows from the Fermi constant of a card.
pub fn mass_of_w(card: &Card) -> Option<f64> {
    let inverse = card.number("sminputs", &[1])?;
    let (fermi, z) = (card.number("sminputs", &[2])?, card.number("mass", &[23])?);
    let square = z * z / 2.0;
    let under = z.powi(4) / 4.0 - PI * z * z / (inverse * fermi * SQRT_2);
    Some((square + under.sqrt()).sqrt()).filter(|mass| mass.is_finite())
}

/// Replaces masses by complex ones in powers and functions of a single mass, for which MG5aMC introduces parameters; a
/// bare mass stays real in formulas of masses and widths.
fn powers_replaced(expr: &Expr, by: &dyn Fn(&str) -> Option<Expr>) -> Expr {
    let named = match expr {
        Expr::Binary(BinaryOperator::Pow, base, exponent) => {
            matches!((&**base, &**exponent), (Expr::Name(_), Expr::Number(_)))
        }
        Expr::Call(name, arguments) => {
            !["re", "im", "abs", "complex"].contains(&name.as_str())
                && matches!(arguments[..], [Expr::Name(_)])
        }
        _ => false,
    };
    if named {
        return replaced(expr, by);
    }
    let done: Result<Expr, std::convert::Infallible> =
        expr.map(&mut |part| Ok(powers_replaced(part, by)));
    match done {
        Ok(expr) => expr,
        Err(never) => match never {},
    }
}

fn binary(operator: BinaryOperator, a: Expr, b: Expr) -> Expr {
    Expr::Binary(operator, a.into(), b.into())
}

fn call(name: &str, argument: &Expr) -> Expr {
    Expr::Call(name.into(), vec![argument.clone()])
}

fn square(of: &Expr) -> Expr {
    binary(BinaryOperator::Pow, of.clone(), Expr::Number(2.0))
}

/// `negative` if a mass is negative, otherwise `positive`.
fn by_sign(mass: &Expr, positive: Expr, negative: Expr) -> Expr {
    let test = binary(
        BinaryOperator::GreaterOrEqual,
        mass.clone(),
        Expr::Number(0.0),
    );
    Expr::If(Box::new([test, positive, negative]))
}
