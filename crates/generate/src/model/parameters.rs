//! Parameters and couplings that a process uses, as arithmetic.

use super::Model;
use super::expression::{Binary, Expr};
use mebridge_process::arith::{Builder, Function, Op, ValueId};
use mebridge_process::model::{CardParameter, Model as Formulas, Named};
use std::collections::{BTreeSet, HashMap};

/// The strong coupling of the event.
const STRONG_COUPLING: &str = "G";
/// Formulas that refer to each other, one within the other.
const DEEPEST: usize = 100;

/// Collects the parameters and couplings of a process.
pub struct Parameters<'a> {
    model: &'a Model,
    /// Masses and widths, in the order of their first use.
    used: Vec<String>,
    /// Couplings.
    couplings: Vec<String>,
}

impl<'a> Parameters<'a> {
    /// None yet.
    pub fn new(model: &'a Model) -> Self {
        Parameters {
            model,
            used: Vec::new(),
            couplings: Vec::new(),
        }
    }

    /// The number of a mass or width.
    pub fn parameter(&mut self, name: &str) -> u32 {
        number(&mut self.used, name)
    }

    /// The number of a coupling.
    pub fn coupling(&mut self, name: &str) -> u32 {
        number(&mut self.couplings, name)
    }

    /// Whether every name in a formula has a meaning and every function is known.
    pub fn check(&self, formula: &Expr) -> Result<(), String> {
        let mut needed = BTreeSet::new();
        self.needs(formula, &mut needed, 0)?;
        let mut lowering = Lowering::new(self.model, &needed);
        lowering.lower(formula).map(|_| ())
    }

    /// Everything that was used, as a program with what it needs of the card. The model was checked, so that
    /// nothing can fail but for a name that it does not have.
    pub fn finish(self) -> Result<Formulas, String> {
        let mut needed = BTreeSet::new();
        let couplings = self.couplings.iter().map(|name| {
            let formula = self.model.couplings.get(name);
            formula.ok_or_else(|| format!("there is no coupling {name}"))
        });
        let couplings: Vec<&Expr> = couplings.collect::<Result<_, _>>()?;
        let parameters = self.used.iter().map(|name| Expr::Name(name.clone()));
        let parameters: Vec<Expr> = parameters.collect();
        for formula in parameters.iter().chain(couplings.iter().copied()) {
            self.needs(formula, &mut needed, 0)?;
        }
        needed.extend(self.model.alpha_s.clone());
        let mut lowering = Lowering::new(self.model, &needed);
        let mut named = |names: &[String], formulas: &[&Expr], prefix: &str| {
            let each = names.iter().zip(formulas).map(|(name, formula)| {
                Ok(Named {
                    name: format!("{prefix}{}", name.to_uppercase()),
                    value: lowering.lower(formula)?,
                })
            });
            each.collect::<Result<Vec<Named>, String>>()
        };
        let formulas: Vec<&Expr> = parameters.iter().collect();
        let parameters = named(&self.used, &formulas, "MDL_")?;
        let couplings = named(&self.couplings, &couplings, "")?;
        let card = self.model.card.iter().filter(|e| needed.contains(&e.name));
        let card = card.map(|entry| CardParameter {
            name: format!("MDL_{}", entry.name.to_uppercase()),
            block: entry.block.clone(),
            index: entry.index.clone(),
            default: entry.value,
        });
        Ok(Formulas {
            card: card.collect(),
            program: lowering.builder.finish(),
            parameters,
            couplings,
            widths_signed: false,
        })
    }

    /// Collects the names that a formula refers to, by way of others too.
    fn needs(
        &self,
        formula: &Expr,
        needed: &mut BTreeSet<String>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > DEEPEST {
            return Err("a parameter is defined by itself".into());
        }
        let mut names = BTreeSet::new();
        formula.for_each_name(&mut |name| {
            names.insert(name.to_owned());
        });
        for name in names {
            if name == STRONG_COUPLING || name == "pi" || needed.contains(&name) {
                continue;
            }
            if self.model.card.iter().any(|entry| entry.name == name) {
                needed.insert(name);
                continue;
            }
            let Some(formula) = self.model.parameters.get(&name) else {
                return Err(format!("there is no parameter `{name}`"));
            };
            self.needs(formula, needed, depth + 1)?;
            needed.insert(name);
        }
        Ok(())
    }
}

fn number(names: &mut Vec<String>, name: &str) -> u32 {
    let found = names.iter().position(|n| n == name);
    found.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u32
}

/// Formulas on their way into a program.
struct Lowering<'a> {
    model: &'a Model,
    builder: Builder,
    values: HashMap<String, ValueId>,
}

impl<'a> Lowering<'a> {
    /// A program whose inputs are the needed entries of the card, and G.
    fn new(model: &'a Model, needed: &BTreeSet<String>) -> Self {
        let card = model.card.iter().filter(|e| needed.contains(&e.name));
        let names: Vec<&str> = card.map(|e| e.name.as_str()).collect();
        let mut builder = Builder::new(names.len() as u32 + 1);
        let names = names.into_iter().chain([STRONG_COUPLING]);
        let inputs = (0..).zip(names);
        let values = inputs.map(|(n, name)| (name.to_owned(), builder.input(n)));
        Lowering {
            values: values.collect(),
            model,
            builder,
        }
    }

    fn lower(&mut self, formula: &Expr) -> Result<ValueId, String> {
        Ok(match formula {
            Expr::Number(x) => self.builder.real(*x),
            Expr::Name(name) => self.name(name)?,
            Expr::Neg(a) => {
                let a = self.lower(a)?;
                self.builder.push(Op::Neg(a))
            }
            Expr::Binary(Binary::Pow, base, exponent) => {
                let base = self.lower(base)?;
                match exponent.integer() {
                    Some(n) => self.builder.push(Op::PowI(base, n)),
                    None => {
                        let exponent = self.lower(exponent)?;
                        self.builder.push(Op::Pow(base, exponent))
                    }
                }
            }
            Expr::Binary(operator, a, b) => {
                let (a, b) = (self.lower(a)?, self.lower(b)?);
                self.builder.push(match operator {
                    Binary::Add => Op::Add(a, b),
                    Binary::Sub => Op::Sub(a, b),
                    Binary::Mul => Op::Mul(a, b),
                    _ => Op::Div(a, b),
                })
            }
            Expr::Call(name, arguments) => {
                let values = arguments.iter().map(|a| self.lower(a));
                let values: Vec<ValueId> = values.collect::<Result<_, _>>()?;
                let function = match (name.as_str(), values.as_slice()) {
                    ("complex", &[re, im]) => return Ok(self.builder.push(Op::Complex(re, im))),
                    ("sqrt", [_]) => Function::Sqrt,
                    ("exp", [_]) => Function::Exp,
                    ("log", [_]) => Function::Log,
                    ("sin", [_]) => Function::Sin,
                    ("cos", [_]) => Function::Cos,
                    ("tan", [_]) => Function::Tan,
                    ("asin", [_]) => Function::Asin,
                    ("acos", [_]) => Function::Acos,
                    ("atan", [_]) => Function::Atan,
                    ("abs", [_]) => Function::Abs,
                    ("re", [_]) => Function::Re,
                    ("im", [_]) => Function::Im,
                    ("complexconjugate", [_]) => Function::Conj,
                    _ => {
                        return Err(format!(
                            "there is no function {name} of {} arguments",
                            arguments.len()
                        ));
                    }
                };
                self.builder.push(Op::Call(function, values[0]))
            }
        })
    }

    fn name(&mut self, name: &str) -> Result<ValueId, String> {
        if let Some(&value) = self.values.get(name) {
            return Ok(value);
        }
        if name == "pi" {
            return Ok(self.builder.real(std::f64::consts::PI));
        }
        let model = self.model;
        let Some(formula) = model.parameters.get(name) else {
            return Err(format!("there is no parameter `{name}`"));
        };
        let value = self.lower(formula)?;
        self.values.insert(name.to_owned(), value);
        Ok(value)
    }
}
