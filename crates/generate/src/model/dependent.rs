//! Masses and widths of particles that have no entry of their own in the parameter card.

use super::expression::Expr;
use super::parameters::{needed, program};
use super::{Model, Particle};
use mebridge_process::arith::{Program, ValueId};
use mebridge_process::card::Card;
use mebridge_process::model::CardParameter;
use num_complex::Complex64;
use std::f64::consts::PI;

/// PDG codes of particles of the Standard Model, whose quantum numbers every program knows.
const STANDARD: [i32; 17] = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25];
/// PDG codes of particles whose charge is known, in units of e/3.
const CHARGED: [(i32, i32); 5] = [(11, -3), (13, -3), (24, 3), (1, -1), (2, 2)];

/// Masses and widths that a model computes, that are zero, or that are those of another particle, and quantum numbers:
/// what MG5aMC writes to parameter cards besides the entries that it reads.
#[derive(Clone, Debug)]
pub struct DependentValues {
    /// The card entries that the formulas need, the inputs of `program`.
    card: Vec<CardParameter>,
    /// The position of alpha_s among them.
    alpha_s: Option<usize>,
    program: Program,
    rows: Vec<Row>,
    /// Particles outside of the Standard Model.
    pub quantum_numbers: Vec<QuantumNumbers>,
}

/// The formula of a mass or width.
#[derive(Clone, Debug)]
struct Row {
    block: &'static str,
    pdg: i32,
    comment: String,
    value: ValueId,
    /// The inputs that it needs.
    needs: Vec<usize>,
}

/// A mass or width without an entry of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct DependentValue {
    /// `mass` or `decay`.
    pub block: &'static str,
    /// PDG code.
    pub pdg: i32,
    /// The particle's name and the formula.
    pub comment: String,
    /// GeV.
    pub value: f64,
}

/// The quantum numbers of a particle.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantumNumbers {
    /// PDG code.
    pub pdg: i32,
    /// Its name.
    pub name: String,
    /// Electric charge, in units of e/3.
    pub charge: i32,
    /// `2s + 1`.
    pub spin: u8,
    /// Dimension of the colour representation.
    pub color: i8,
    /// Whether it is its own antiparticle.
    pub own_anti: bool,
}

impl Model {
    /// The masses and widths that cards need not have.
    ///
    /// # Errors
    /// A formula has an unknown name or function.
    pub fn dependent_values(&self) -> Result<DependentValues, String> {
        let physical = |p: &&Particle| !p.is_anti && !p.ghost && !p.goldstone;
        let particles: Vec<&Particle> = self.particles.iter().filter(physical).collect();
        let mut found = Vec::new();
        for block in ["mass", "decay"] {
            for particle in &particles {
                let name = match block {
                    "mass" => &particle.mass,
                    _ => &particle.width,
                };
                let zero = Expr::Number(0.0);
                let (formula, text, shared) = match name {
                    None => (zero, "0.0".to_owned(), false),
                    Some(name) => {
                        let entry = self.card.iter().find(|entry| entry.name == *name);
                        let own = entry.is_some_and(|entry| entry.index == [particle.pdg]);
                        if own {
                            continue;
                        }
                        let formula = self.parameters.get(name).map(ToString::to_string);
                        let (text, shared) = match formula {
                            Some(text) => (text, false),
                            None => (name.clone(), true),
                        };
                        (Expr::Name(name.clone()), text, shared)
                    }
                };
                let comment = format!("{} : {text}", particle.name);
                found.push((block, particle.pdg, comment, shared, formula));
            }
        }
        // As in MG5aMC: mass by mass in the order of the codes, then those that are another particle's.
        found.sort_by_key(|&(block, pdg, _, shared, _)| (block == "decay", shared, pdg));
        let formulas: Vec<&Expr> = found.iter().map(|(.., formula)| formula).collect();
        let mut card = needed(self, &formulas)?;
        let alpha_s = self
            .card
            .iter()
            .filter(|e| Some(&e.name) == self.alpha_s.as_ref());
        for entry in alpha_s {
            if !card.iter().any(|known| known.name == entry.name) {
                card.push(entry);
            }
        }
        let names: Vec<&str> = card.iter().map(|entry| entry.name.as_str()).collect();
        let (program, values) = program(&names, &self.parameters, &formulas)?;
        let rows = found.iter().zip(values);
        let rows = rows.map(|(&(block, pdg, ref comment, _, ref formula), value)| {
            let of = needed(self, &[formula])?;
            let place = |entry: &&super::CardEntry| names.iter().position(|n| *n == entry.name);
            Ok(Row {
                block,
                pdg,
                comment: comment.clone(),
                value,
                needs: of.iter().filter_map(place).collect(),
            })
        });
        Ok(DependentValues {
            rows: rows.collect::<Result<_, String>>()?,
            alpha_s: names
                .iter()
                .position(|n| Some(*n) == self.alpha_s.as_deref()),
            card: card.iter().map(|entry| entry.parameter()).collect(),
            program,
            quantum_numbers: self.quantum_numbers(&particles),
        })
    }

    /// Empty if the unit of electric charge is not known.
    fn quantum_numbers(&self, particles: &[&Particle]) -> Vec<QuantumNumbers> {
        let electric = self.charges.iter().position(|c| c.contains("electric"));
        let charge = |particle: &Particle| electric.map_or(0, |at| particle.charges[at]);
        let unit = CHARGED.iter().find_map(|&(code, thirds)| {
            let particle = particles.iter().find(|p| p.pdg == code)?;
            Some((charge(particle), thirds)).filter(|&(charge, _)| charge != 0)
        });
        let Some((units, thirds)) = unit else {
            return Vec::new();
        };
        let new = particles.iter().filter(|p| !STANDARD.contains(&p.pdg));
        let of = |particle: &&Particle| QuantumNumbers {
            pdg: particle.pdg,
            name: particle.name.clone(),
            charge: charge(particle) * thirds / units,
            spin: particle.spin,
            color: particle.color,
            own_anti: self.properties(particle.anti).pdg == particle.pdg,
        };
        new.map(of).collect()
    }
}

impl DependentValues {
    /// The values for a card; those whose formulas need an entry that the card lacks are left out.
    pub fn of(&self, card: &Card) -> Vec<DependentValue> {
        let values = self
            .card
            .iter()
            .map(|entry| card.number(&entry.block, &entry.index));
        let values: Vec<Option<f64>> = values.collect();
        let mut inputs: Vec<Complex64> = values
            .iter()
            .zip(&self.card)
            .map(|(value, entry)| value.unwrap_or(entry.default).into())
            .collect();
        let alpha_s = self.alpha_s.map_or(0.0, |at| inputs[at].re);
        inputs.push((4.0 * PI * alpha_s).sqrt().into());
        let computed = self.program.evaluate(&inputs);
        let rows = self.rows.iter();
        let known = rows.filter(|row| row.needs.iter().all(|&at| values[at].is_some()));
        known
            .map(|row| DependentValue {
                block: row.block,
                pdg: row.pdg,
                comment: row.comment.clone(),
                value: computed[row.value as usize].re,
            })
            .collect()
    }
}
