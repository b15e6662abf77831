//! Lowering of the parameters and couplings that a process uses to arithmetic.

use super::expression::{BinaryOperator, Expr, parse};
use super::running::Running;
use super::{CardEntry, Model};
use mebridge_process::arith::{Builder, Comparison, Function, Op, Program, ValueId};
use mebridge_process::model::{CardParameter, Model as Formulas, NamedValue};
use mebridge_process::running::{entries, logarithm};
use mebridge_support::sorted::SortedSet;
use num_complex::Complex64;
use std::collections::{HashMap, HashSet};

/// The strong coupling of the event.
const STRONG_COUPLING: &str = "G";
/// Longest chain of formulas that refer to each other.
const DEEPEST: usize = 100;

/// Collects the parameters and couplings of a process.
pub struct Parameters<'a> {
    model: &'a Model,
    /// Masses and widths, in the order of their first use.
    used: Vec<String>,
    /// Couplings, each with the custom propagator whose factor it includes.
    couplings: Vec<(String, Option<u32>)>,
}

impl<'a> Parameters<'a> {
    /// Starts with no parameters.
    pub fn new(model: &'a Model) -> Self {
        Parameters {
            model,
            used: Vec::new(),
            couplings: Vec::new(),
        }
    }

    /// The number of a mass or width.
    pub fn parameter(&mut self, name: &str) -> u32 {
        number(&mut self.used, name.to_owned())
    }

    /// The number of a coupling or complex mass, times the factor of this custom propagator.
    pub fn coupling(&mut self, name: &str, propagator: Option<u32>) -> u32 {
        let factor = |n: &u32| self.model.propagators[*n as usize].factor.is_some();
        number(
            &mut self.couplings,
            (name.to_owned(), propagator.filter(factor)),
        )
    }

    /// Checks that every name and function in these formulas is known.
    pub fn check<'b>(&self, formulas: impl IntoIterator<Item = &'b Expr>) -> Result<(), String> {
        let formulas: Vec<&Expr> = formulas.into_iter().collect();
        let Model {
            card, parameters, ..
        } = self.model;
        let card: Vec<&str> = card.iter().map(|entry| entry.name.as_str()).collect();
        program(&card, parameters, &formulas).map(|_| ())
    }

    /// Lowers everything that was used to a program, with the card entries that it needs. As the model was checked,
    /// this can only fail for unknown names.
    pub fn finish(self) -> Result<Formulas, String> {
        let mut needed = Needed::default();
        let couplings = self.couplings.iter().map(|(name, propagator)| {
            // A name that is not a coupling is a complex mass.
            let mass = || {
                Some(Expr::Name(name.clone())).filter(|_| self.model.parameters.contains_key(name))
            };
            let formula = self.model.couplings.get(name).cloned().or_else(mass);
            let formula = formula.ok_or_else(|| format!("there is no coupling {name}"))?;
            let propagator = propagator.map(|n| &self.model.propagators[n as usize]);
            let formula = match propagator.and_then(|p| p.factor.clone()) {
                None => formula,
                Some(factor) => {
                    Expr::Binary(BinaryOperator::Mul, Box::new(formula), Box::new(factor))
                }
            };
            let behind = propagator.map_or(String::new(), |p| format!("_{}", p.name));
            Ok((format!("{name}{behind}"), formula))
        });
        let (coupling_names, couplings): (Vec<String>, Vec<Expr>) = couplings
            .collect::<Result<Vec<_>, String>>()?
            .into_iter()
            .unzip();
        let parameters = self.used.iter().map(|name| Expr::Name(name.clone()));
        let parameters: Vec<Expr> = parameters.collect();
        let names = self.model.card.iter().map(|entry| entry.name.as_str());
        let names: HashSet<&str> = names.collect();
        for formula in parameters.iter().chain(&couplings) {
            needs(&names, &self.model.parameters, formula, &mut needed, 0)?;
        }
        let mut fixed = Needed::default();
        for formula in &parameters {
            needs(&names, &self.model.parameters, formula, &mut fixed, 0)?;
        }
        self.check_fixed()?;
        let before = needed.order.clone();
        let mut needed = needed.names;
        needed.extend(self.model.alpha_s.clone());
        let sets = self.model.running_of(&mut needed, &fixed.names)?;
        let running = self.model.running_entries(&sets);
        let card = self.model.card.iter().filter(|e| needed.contains(&e.name));
        let names = card.map(|e| e.name.as_str());
        let entries = running.iter().flat_map(|(_, entries)| entries);
        let names: Vec<&str> = names.chain(entries.map(|e| e.name.as_str())).collect();
        let mut lowering = Lowering::new(&names, &self.model.parameters);
        for set in &sets {
            lowering.run(set)?;
        }
        lowering.all(&before)?;
        let mut named = |names: &[String], formulas: &[Expr], prefix: &str| {
            let each = names.iter().zip(formulas).map(|(name, formula)| {
                Ok(NamedValue {
                    name: format!("{prefix}{}", name.to_uppercase()),
                    value: lowering.lower(formula)?,
                })
            });
            each.collect::<Result<Vec<NamedValue>, String>>()
        };
        let parameters = named(&self.used, &parameters, "MDL_")?;
        let couplings = named(&coupling_names, &couplings, "")?;
        let card = self.model.card.iter().filter(|e| needed.contains(&e.name));
        let mut card: Vec<CardParameter> = card.map(CardEntry::parameter).collect();
        card.extend(running.into_iter().flat_map(|(_, entries)| entries));
        let mut program = lowering.builder.finish();
        let (mut parameters, mut couplings) = (parameters, couplings);
        if !sets.is_empty() {
            // Not all of the mixing parameters are needed.
            let roots = parameters.iter().chain(&couplings);
            let roots: Vec<ValueId> = roots.map(|named| named.value).collect();
            let (pruned, ids) = program.pruned(&roots);
            for named in parameters.iter_mut().chain(&mut couplings) {
                named.value = ids[named.value as usize].unwrap_or(0);
            }
            program = pruned;
        }
        Ok(Formulas {
            // Added later, for processes that are not themselves part of a width.
            auto_widths: Vec::new(),
            card,
            program,
            parameters,
            couplings,
            widths_signed: false,
        })
    }
}

impl Parameters<'_> {
    /// Checks that no mass or width depends on the event's strong coupling.
    fn check_fixed(&self) -> Result<(), String> {
        let Model {
            card, parameters, ..
        } = self.model;
        let card: HashSet<&str> = card.iter().map(|entry| entry.name.as_str()).collect();
        for name in &self.used {
            let mut needed = Needed::default();
            needs(&card, parameters, &Expr::Name(name.clone()), &mut needed, 0)?;
            for through in needed.order.iter().filter_map(|name| parameters.get(name)) {
                let mut strong = false;
                through.for_each_name(&mut |name| strong |= name == STRONG_COUPLING);
                if strong {
                    return Err(format!(
                        "the mass or width {name} of the model {} depends on alpha_s, which is that of each event; masses \
                         and widths are the same in all: give {name} an entry of the card, or a formula without alpha_s",
                        self.model.name
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The names that formulas refer to.
#[derive(Default)]
struct Needed {
    names: SortedSet<String>,
    /// The model's parameters among them, each after those that it refers to.
    order: Vec<String>,
}

/// Adds the names that a formula refers to, directly or indirectly.
fn needs(
    card: &HashSet<&str>,
    parameters: &HashMap<String, Expr>,
    formula: &Expr,
    needed: &mut Needed,
    depth: usize,
) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!(
            "a parameter is defined by itself, or by a chain of more than {DEEPEST}"
        ));
    }
    let mut names = SortedSet::new();
    formula.for_each_name(&mut |name| {
        names.insert(name.to_owned());
    });
    for name in names {
        if name == STRONG_COUPLING || name == "pi" || needed.names.contains(&name) {
            continue;
        }
        if !card.contains(&*name) {
            let Some(formula) = parameters.get(&name) else {
                return Err(format!("there is no parameter `{name}`"));
            };
            let inner = needs(card, parameters, formula, needed, depth + 1);
            inner.map_err(|what| match what.contains("defined by itself") {
                true if depth == 0 => format!("parameter {name}: {what}"),
                _ => what,
            })?;
            needed.order.push(name.clone());
        }
        needed.names.insert(name);
    }
    Ok(())
}

/// The card entries that formulas depend on.
pub fn needed<'a>(model: &'a Model, formulas: &[&Expr]) -> Result<Vec<&'a CardEntry>, String> {
    let names: HashSet<&str> = model.card.iter().map(|entry| entry.name.as_str()).collect();
    let mut needed = Needed::default();
    for formula in formulas {
        needs(&names, &model.parameters, formula, &mut needed, 0)?;
    }
    let is_needed = |entry: &&CardEntry| needed.names.contains(&entry.name);
    Ok(model.card.iter().filter(is_needed).collect())
}

/// Lowers formulas to a program, whose inputs are the card parameters and, last, the strong coupling; also returns the
/// positions of their values.
pub fn program(
    card: &[&str],
    parameters: &HashMap<String, Expr>,
    formulas: &[&Expr],
) -> Result<(Program, Vec<ValueId>), String> {
    let mut needed = Needed::default();
    let names: HashSet<&str> = card.iter().copied().collect();
    for formula in formulas {
        needs(&names, parameters, formula, &mut needed, 0)?;
    }
    let mut lowering = Lowering::new(card, parameters);
    lowering.all(&needed.order)?;
    let values = formulas.iter().map(|formula| lowering.lower(formula));
    let values = values.collect::<Result<_, String>>()?;
    Ok((lowering.builder.finish(), values))
}

/// Evaluates a formula without names.
pub fn constant_value(text: &str) -> Result<f64, String> {
    let formula = parse(text)?;
    let (program, values) = program(&[], &HashMap::new(), &[&formula])
        .map_err(|what| format!("{text} is not a number: {what}"))?;
    let value = program.evaluate(&[Complex64::default()])[values[0] as usize];
    match value.re.is_finite() && value.im == 0.0 {
        true => Ok(value.re),
        false => Err(format!(
            "{text} = {value}, which is not a finite real number"
        )),
    }
}

fn number<T: PartialEq>(known: &mut Vec<T>, thing: T) -> u32 {
    let found = known.iter().position(|n| *n == thing);
    found.unwrap_or_else(|| {
        known.push(thing);
        known.len() - 1
    }) as u32
}

/// The lowering of formulas to a program.
struct Lowering<'a> {
    parameters: &'a HashMap<String, Expr>,
    builder: Builder,
    values: HashMap<String, ValueId>,
}

impl<'a> Lowering<'a> {
    /// Starts a program whose inputs are these entries of the card, and G.
    fn new(card: &[&str], parameters: &'a HashMap<String, Expr>) -> Self {
        let mut builder = Builder::new(card.len() as u32 + 1);
        let names = card.iter().copied().chain([STRONG_COUPLING]);
        let inputs = (0..).zip(names);
        let values = inputs.map(|(n, name)| (name.to_owned(), builder.input(n)));
        Lowering {
            values: values.collect(),
            parameters,
            builder,
        }
    }

    /// Lowers parameters, each after those that it refers to, so that nested formulas do not need a deep stack.
    fn all(&mut self, names: &[String]) -> Result<(), String> {
        names
            .iter()
            .try_for_each(|name| self.name(name).map(|_| ()))
    }

    /// Replaces the parameters of a set by their values at the scale of the event.
    fn run(&mut self, set: &Running) -> Result<(), String> {
        let names = entries(&set.block, Default::default()).map(|entry| entry.name);
        let [reference, fixed, quarks, _] = names.map(|name| self.values.get(&name).copied());
        let (Some(reference), Some(fixed), Some(quarks)) = (reference, fixed, quarks) else {
            return Err(format!(
                "there are no inputs for the running of {}",
                set.block
            ));
        };
        let start = set.parameters.iter().map(|name| self.name(name));
        let start: Vec<ValueId> = start.collect::<Result<_, String>>()?;
        let g = self.name(STRONG_COUPLING)?;
        let r = logarithm(&mut self.builder, [reference, fixed, quarks], g);
        let evolved = set.mixing.evolved(&mut self.builder, &start, r)?;
        self.values
            .extend(set.parameters.iter().cloned().zip(evolved));
        Ok(())
    }

    fn lower(&mut self, formula: &Expr) -> Result<ValueId, String> {
        Ok(match formula {
            Expr::Number(x) => self.builder.real(*x),
            Expr::Name(name) => self.name(name)?,
            Expr::Neg(a) => {
                let a = self.lower(a)?;
                self.builder.push(Op::Neg(a))
            }
            Expr::Binary(BinaryOperator::Pow, base, exponent) => {
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
                let test = match operator {
                    BinaryOperator::Add => return Ok(self.builder.push(Op::Add(a, b))),
                    BinaryOperator::Sub => return Ok(self.builder.push(Op::Sub(a, b))),
                    BinaryOperator::Mul => return Ok(self.builder.push(Op::Mul(a, b))),
                    BinaryOperator::Div => return Ok(self.builder.push(Op::Div(a, b))),
                    BinaryOperator::Pow => return Ok(self.builder.push(Op::Pow(a, b))),
                    // As in Python, the value of one of the operands.
                    BinaryOperator::And => return Ok(self.truth(a, b, a)),
                    BinaryOperator::Or => return Ok(self.truth(a, a, b)),
                    BinaryOperator::Equal => Comparison::Eq,
                    BinaryOperator::NotEqual => Comparison::Ne,
                    BinaryOperator::Less => Comparison::Lt,
                    BinaryOperator::LessOrEqual => Comparison::Le,
                    BinaryOperator::Greater => Comparison::Gt,
                    BinaryOperator::GreaterOrEqual => Comparison::Ge,
                };
                let (yes, no) = (self.builder.real(1.0), self.builder.real(0.0));
                self.builder.push(Op::Select {
                    test,
                    lhs: a,
                    rhs: b,
                    yes,
                    no,
                })
            }
            Expr::If(parts) => {
                let [test, yes, no] = &**parts;
                let test = self.lower(test)?;
                let (yes, no) = (self.lower(yes)?, self.lower(no)?);
                self.truth(test, yes, no)
            }
            Expr::Call(name, arguments) => {
                let values = arguments.iter().map(|a| self.lower(a));
                let values: Vec<ValueId> = values.collect::<Result<_, _>>()?;
                return self.call(name, &values);
            }
        })
    }

    /// `yes` if `value` is not zero, otherwise `no`.
    fn truth(&mut self, value: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        let rhs = self.builder.real(0.0);
        self.builder.push(Op::Select {
            test: Comparison::Ne,
            lhs: value,
            rhs,
            yes,
            no,
        })
    }

    fn call(&mut self, name: &str, values: &[ValueId]) -> Result<ValueId, String> {
        let function = match (name, values) {
            ("complex", &[re, im]) => return Ok(self.builder.push(Op::Complex(re, im))),
            ("atan2", &[y, x]) => return Ok(self.builder.push(Op::Atan2(y, x))),
            ("max", &[a, b]) => return Ok(self.builder.push(Op::Max(a, b))),
            ("min", &[a, b]) => return Ok(self.builder.push(Op::Min(a, b))),
            ("pow", &[a, b]) => return Ok(self.builder.push(Op::Pow(a, b))),
            // As in MG5aMC: the second argument if the first one is zero.
            ("cond", &[test, yes, no]) => return Ok(self.truth(test, no, yes)),
            ("sec", &[z]) => return Ok(self.inverse(Function::Cos, z)),
            ("csc", &[z]) => return Ok(self.inverse(Function::Sin, z)),
            ("cot", &[z]) => return Ok(self.inverse(Function::Tan, z)),
            ("asec" | "acsc" | "acot", &[z]) => {
                let one = self.builder.real(1.0);
                let inverse = self.builder.push(Op::Div(one, z));
                let function = match name {
                    "asec" => Function::Acos,
                    "acsc" => Function::Asin,
                    _ => Function::Atan,
                };
                return Ok(self.builder.push(Op::Call(function, inverse)));
            }
            ("reglog", &[z]) => {
                let log = self.builder.push(Op::Call(Function::Log, z));
                return Ok(self.truth(z, log, z));
            }
            ("phase" | "arg", &[z]) => {
                let im = self.builder.push(Op::Call(Function::Im, z));
                let re = self.builder.push(Op::Call(Function::Re, z));
                return Ok(self.builder.push(Op::Atan2(im, re)));
            }
            ("sqrt", [_]) => Function::Sqrt,
            ("exp", [_]) => Function::Exp,
            ("log", [_]) => Function::Log,
            ("sin", [_]) => Function::Sin,
            ("cos", [_]) => Function::Cos,
            ("tan", [_]) => Function::Tan,
            ("asin", [_]) => Function::Asin,
            ("acos", [_]) => Function::Acos,
            ("atan", [_]) => Function::Atan,
            ("sinh", [_]) => Function::Sinh,
            ("cosh", [_]) => Function::Cosh,
            ("tanh", [_]) => Function::Tanh,
            ("abs", [_]) => Function::Abs,
            ("re", [_]) => Function::Re,
            ("im", [_]) => Function::Im,
            ("complexconjugate", [_]) => Function::Conj,
            _ => {
                let count = values.len();
                return Err(format!("there is no function {name} of {count} arguments"));
            }
        };
        Ok(self.builder.push(Op::Call(function, values[0])))
    }

    fn inverse(&mut self, function: Function, z: ValueId) -> ValueId {
        let (one, value) = (self.builder.real(1.0), Op::Call(function, z));
        let value = self.builder.push(value);
        self.builder.push(Op::Div(one, value))
    }

    fn name(&mut self, name: &str) -> Result<ValueId, String> {
        if let Some(&value) = self.values.get(name) {
            return Ok(value);
        }
        if name == "pi" {
            return Ok(self.builder.real(std::f64::consts::PI));
        }
        let parameters = self.parameters;
        let Some(formula) = parameters.get(name) else {
            return Err(format!("there is no parameter `{name}`"));
        };
        let value = self.lower(formula)?;
        self.values.insert(name.to_owned(), value);
        Ok(value)
    }
}
