//! A model evaluated for one parameter card: masses, widths and couplings.
//!
//! Couplings depend on each event's G. Most are polynomials in G (`GC_11 = i G`) and are stored as such, so that
//! backends can evaluate them on vectors of events; any other coupling is evaluated event by event from the model's
//! program.

use crate::series::{MAX_ARGUMENT, Series, series};
use mebridge_process::arith::{Builder, Comparison, Function, Op, Program, ValueId, evaluate_op};
use mebridge_process::model::Model;
use mebridge_process::{Leg, Quantity};
use mebridge_support::error::{Error, Result};
use mebridge_support::message;
use num_complex::Complex64;

/// Highest power of G in a polynomial; couplings with higher powers are evaluated as formulas.
const MAX_POWER: usize = 12;

/// Parameters and couplings of a model for one parameter card.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Values of [`Model::parameters`] (masses and widths).
    pub parameters: Vec<f64>,
    /// For each of [`Model::couplings`], its dependence on G.
    pub couplings: Vec<Coupling>,
    /// The formulas of couplings that are not polynomials.
    formulas: Option<Formulas>,
}

/// Dependence of a coupling on the strong coupling G.
#[derive(Clone, Debug, PartialEq)]
pub enum Coupling {
    /// `sum of c[k] G^k`.
    Polynomial(Vec<Complex64>),
    /// Any other function of G, see [`Binding::evaluate_formulas`].
    Formula,
}

/// The model's formulas after the parameters of a card have been inserted: a program with G as its only input.
#[derive(Clone, Debug)]
struct Formulas {
    program: Program,
    /// Indices of couplings, with the values of the program that compute them.
    couplings: Vec<(usize, ValueId)>,
    /// The value that computes the function in which series are expanded.
    function: Option<ValueId>,
    /// Couplings that are series, which are faster to evaluate than the program.
    series: Vec<(usize, Series)>,
}

impl Binding {
    /// Inserts the values of a card (in the order of [`Model::card`]) into a model.
    pub fn new(model: &Model, card: &[f64]) -> Result<Binding> {
        if card.len() != model.card.len() {
            return Err(Error::InvalidProcess {
                what: format!(
                    "{} card values for {} parameters",
                    card.len(),
                    model.card.len()
                ),
            });
        }
        let g_default = 1.0;
        let values = model.evaluate(card, g_default);
        let varies = model.program.dependence(|n| n == model.g_input());
        let mut parameters = Vec::with_capacity(model.parameters.len());
        for named in &model.parameters {
            let value = values[named.value as usize];
            if varies[named.value as usize] {
                return Err(Error::InvalidProcess {
                    what: format!("{} depends on the strong coupling", named.name),
                });
            }
            if !value.re.is_finite() || value.im != 0.0 {
                return Err(Error::BadParameter {
                    name: named.name.clone(),
                    value,
                });
            }
            parameters.push(value.re);
        }
        let polynomials = polynomials(&model.program, card, model.g_input());
        let mut couplings = Vec::with_capacity(model.couplings.len());
        for named in &model.couplings {
            let value = values[named.value as usize];
            if !(value.re.is_finite() && value.im.is_finite()) {
                return Err(Error::BadParameter {
                    name: named.name.clone(),
                    value,
                });
            }
            couplings.push(match &polynomials[named.value as usize] {
                Some(coefficients) => Coupling::Polynomial(coefficients.clone()),
                None => Coupling::Formula,
            });
        }
        let of_formula = (0..)
            .zip(&couplings)
            .filter(|(_, c)| **c == Coupling::Formula);
        let of_formula: Vec<usize> = of_formula.map(|(i, _)| i).collect();
        if let Some(line) = outside(model, &values, &varies) {
            message::say_once(line);
        }
        let formulas =
            (!of_formula.is_empty()).then(|| Formulas::new(model, card, &polynomials, &of_formula));
        Ok(Binding {
            parameters,
            couplings,
            formulas,
        })
    }

    /// Evaluates all couplings at one value of G.
    pub fn evaluate(&self, g: f64, out: &mut Vec<Complex64>) {
        out.clear();
        for coupling in &self.couplings {
            out.push(match coupling {
                Coupling::Polynomial(c) => c
                    .iter()
                    .rev()
                    .fold(Complex64::default(), |sum, c| sum * g + c),
                Coupling::Formula => Complex64::default(),
            });
        }
        self.evaluate_formulas(g, out);
    }

    /// Evaluates the couplings that are not polynomials.
    pub fn evaluate_formulas(&self, g: f64, out: &mut [Complex64]) {
        let Some(formulas) = &self.formulas else {
            return;
        };
        let values = formulas.program.evaluate(&[Complex64::new(g, 0.0)]);
        for &(coupling, value) in &formulas.couplings {
            out[coupling] = values[value as usize];
        }
        if let Some(function) = formulas.function {
            let f = values[function as usize].re;
            for (coupling, series) in &formulas.series {
                let nothing = Complex64::new(f64::NAN, f64::NAN);
                out[*coupling] = series.value(g, f).unwrap_or(nothing);
            }
        }
    }

    /// Whether any coupling is not a polynomial in G.
    pub fn has_formulas(&self) -> bool {
        self.formulas.is_some()
    }

    /// The value of a mass or width in GeV.
    pub fn value(&self, quantity: Quantity) -> f64 {
        quantity.0.map_or(0.0, |i| self.parameters[i as usize])
    }

    /// Masses in GeV of the incoming or the outgoing legs.
    pub fn masses(&self, legs: &[Leg], incoming: bool) -> Vec<f64> {
        let legs = legs.iter().filter(|leg| leg.incoming == incoming);
        legs.map(|leg| self.value(leg.mass)).collect()
    }
}

impl Formulas {
    /// The formulas of some couplings. Subexpressions that do not depend on G become constants.
    fn new(
        model: &Model,
        card: &[f64],
        polynomials: &[Option<Vec<Complex64>>],
        couplings: &[usize],
    ) -> Formulas {
        let mut builder = Builder::new(1);
        let mut values: Vec<ValueId> = Vec::with_capacity(model.program.ops.len());
        for (op, polynomial) in model.program.ops.iter().zip(polynomials) {
            let value = match (op, polynomial.as_deref()) {
                (_, Some([c])) => builder.complex(c.re, c.im),
                (Op::Input(n), _) if *n == model.g_input() => builder.input(0),
                (Op::Input(n), _) => builder.real(card[*n as usize]),
                (op, _) => match chosen(op, |v| polynomials[v as usize].as_deref()) {
                    Some(value) => values[value as usize],
                    None => builder.push(op.map_operands(|v| values[v as usize])),
                },
            };
            values.push(value);
        }
        let value = |&i: &usize| values[model.couplings[i].value as usize];
        let program = builder.finish();
        let known = self::polynomials(&program, &[], 0);
        let all: Vec<ValueId> = couplings.iter().map(value).collect();
        let (mut function, found) = match series(&program, &known, &all) {
            Some((function, found)) if is_real(&program, function) => (Some(function), found),
            _ => (None, vec![None; all.len()]),
        };
        let (mut left, mut series) = (Vec::new(), Vec::new());
        for (&coupling, found) in couplings.iter().zip(found) {
            match found {
                Some(found) => series.push((coupling, found)),
                None => left.push(coupling),
            }
        }
        let roots = left.iter().map(value).chain(function);
        let (program, ids) = program.pruned(&roots.collect::<Vec<_>>());
        let place = |root: ValueId| ids[root as usize].unwrap_or(0);
        function = function.map(place);
        Formulas {
            program,
            couplings: left.iter().map(|i| (*i, place(value(i)))).collect(),
            function,
            series,
        }
    }
}

/// Largest imaginary part that may come from rounding in a card, as in `sqrt(1 - c**2)` for a cosine of 1.00000001.
const ROUNDING: f64 = 1e-3;

/// A warning if a coupling, mass or width contains a real function outside of its domain, such as the square root of a
/// negative number: its value is then not real, and seldom what the card intends. MG5aMC silently takes the real part
/// of the parameter in which this happens.
fn outside(model: &Model, values: &[Complex64], varies: &[bool]) -> Option<String> {
    let mut found: Vec<Option<(Function, f64)>> = Vec::with_capacity(values.len());
    for (at, op) in model.program.ops.iter().enumerate() {
        let mut inner = None;
        match *op {
            Op::Call(function @ (Function::Sqrt | Function::Asin | Function::Acos), a) => {
                let (x, y) = (values[a as usize], values[at]);
                let outside = x.im == 0.0 && y.im.abs() > ROUNDING && !varies[at];
                inner = found[a as usize].or(outside.then_some((function, x.re)));
            }
            Op::Select { lhs, rhs, .. } => {
                let chosen = chosen(op, |v| Some(std::slice::from_ref(&values[v as usize])));
                for value in chosen.into_iter().chain([lhs, rhs]) {
                    inner = inner.or(found[value as usize]);
                }
            }
            _ => op.for_each_operand(|a| inner = inner.or(found[a as usize])),
        }
        found.push(inner);
    }
    let named = model.parameters.iter().chain(&model.couplings);
    let line = |named: &mebridge_process::model::NamedValue| {
        let (function, x) = found[named.value as usize]?;
        let function = format!("{function:?}").to_lowercase();
        Some(format!(
            "{} contains {function}({x}) with these parameters, which is not a real number; check the parameter card",
            named.name
        ))
    };
    named.filter_map(line).next()
}

/// Whether a value is real and, if used as an argument, small enough: it has the form that
/// [`mebridge_process::running`] gives to bounded values.
fn is_real(program: &Program, value: ValueId) -> bool {
    let bounded = |v: ValueId| match program.ops[v as usize] {
        Op::Const(most, _) => most <= MAX_ARGUMENT,
        _ => false,
    };
    matches!(program.ops[value as usize],
        Op::Select { test: Comparison::Le, rhs, .. } if bounded(rhs))
}

/// The branch taken by a conditional, if the operands of its comparison are known.
fn chosen<'p>(op: &Op, known: impl Fn(ValueId) -> Option<&'p [Complex64]>) -> Option<ValueId> {
    let Op::Select {
        test,
        lhs,
        rhs,
        yes,
        no,
    } = *op
    else {
        return None;
    };
    match (known(lhs), known(rhs)) {
        (Some([a]), Some([b])) => Some(if test.holds(*a, *b) { yes } else { no }),
        _ => None,
    }
}

/// For each value of the program its coefficients as a polynomial in G; `None` if it is not one.
fn polynomials(program: &Program, card: &[f64], g_input: u32) -> Vec<Option<Vec<Complex64>>> {
    let constant = |c: Complex64| Some(vec![c]);
    let mut known: Vec<Option<Vec<Complex64>>> = Vec::with_capacity(program.ops.len());
    for op in &program.ops {
        let get = |v: u32| known[v as usize].as_deref();
        let all_constant = {
            let mut all = !matches!(op, Op::Input(_));
            op.for_each_operand(|v| all &= get(v).is_some_and(|c| c.len() == 1));
            all
        };
        let value = match *op {
            Op::Input(n) if n == g_input => Some(vec![Complex64::default(), 1.0.into()]),
            Op::Input(n) => constant(card[n as usize].into()),
            _ if all_constant => constant(evaluate_op(op, &[], |v| {
                get(v).expect("operand is constant")[0]
            })),
            Op::Neg(a) => get(a).map(|a| a.iter().map(|c| -c).collect()),
            Op::Add(a, b) => zip(get(a), get(b), 1.0),
            Op::Sub(a, b) => zip(get(a), get(b), -1.0),
            Op::Mul(a, b) if [a, b].iter().any(|v| is_zero(get(*v))) => {
                constant(Complex64::default())
            }
            Op::Mul(a, b) => product(get(a), get(b)),
            Op::Div(a, b) => match (get(a), get(b)) {
                (Some(a), Some([b])) => Some(a.iter().map(|c| c / b).collect()),
                _ => None,
            },
            Op::PowI(a, n) if (0..=MAX_POWER as i32).contains(&n) => {
                let mut power = constant(1.0.into());
                for _ in 0..n {
                    power = product(power.as_deref(), get(a));
                }
                power
            }
            // The value is marked as real for every G, so its coefficients are real.
            Op::Call(Function::Re, a) => get(a).map(|a| a.iter().map(|c| c.re.into()).collect()),
            Op::Call(Function::Im, a) => get(a).map(|a| a.iter().map(|c| c.im.into()).collect()),
            Op::Call(Function::Conj, a) => get(a).map(|a| a.iter().map(|c| c.conj()).collect()),
            Op::Complex(a, b) => {
                let i_b: Option<Vec<Complex64>> =
                    get(b).map(|b| b.iter().map(|c| c * Complex64::i()).collect());
                zip(get(a), i_b.as_deref(), 1.0)
            }
            Op::Select { .. } => chosen(op, get).and_then(|v| known[v as usize].clone()),
            _ => None,
        };
        known.push(value);
    }
    known
}

/// Whether a value vanishes for every G.
fn is_zero(polynomial: Option<&[Complex64]>) -> bool {
    polynomial.is_some_and(|c| c.iter().all(|c| *c == Complex64::default()))
}

fn zip(a: Option<&[Complex64]>, b: Option<&[Complex64]>, sign: f64) -> Option<Vec<Complex64>> {
    let (a, b) = (a?, b?);
    let at = |c: &[Complex64], k: usize| c.get(k).copied().unwrap_or_default();
    Some(
        (0..a.len().max(b.len()))
            .map(|k| at(a, k) + at(b, k) * sign)
            .collect(),
    )
}

fn product(a: Option<&[Complex64]>, b: Option<&[Complex64]>) -> Option<Vec<Complex64>> {
    let (a, b) = (a?, b?);
    let degree = a.len() + b.len() - 2;
    if degree > MAX_POWER {
        return None;
    }
    let mut c = vec![Complex64::default(); degree + 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            c[i + j] += x * y;
        }
    }
    Some(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_process::model::{CardParameter, NamedValue};

    fn model() -> Model {
        let mut b = Builder::new(2);
        let (m, g) = (b.input(0), b.input(1));
        let i = b.complex(0.0, 1.0);
        let ig = b.push(Op::Mul(i, g));
        let g2 = b.push(Op::PowI(g, 2));
        let g2m = b.push(Op::Div(g2, m));
        let one = b.real(1.0);
        let both = b.push(Op::Add(g2m, one));
        let root = b.push(Op::Call(Function::RealSqrt, g));
        let name = |name: &str, value| NamedValue {
            name: name.into(),
            value,
        };
        Model {
            card: vec![CardParameter {
                name: "M".into(),
                block: "mass".into(),
                index: vec![6],
                default: 2.0,
            }],
            program: b.finish(),
            parameters: vec![name("M", m)],
            couplings: vec![name("GC_1", ig), name("GC_2", both), name("GC_3", root)],
            widths_signed: false,
            auto_widths: Vec::new(),
        }
    }

    #[test]
    fn a_root_of_a_negative_number_is_told() {
        let warning = |m: f64, function: Function, hidden: bool| {
            let mut b = Builder::new(2);
            let (m_, zero) = (b.input(0), b.real(0.0));
            let _g = b.input(1);
            let root = b.push(Op::Call(function, m_));
            let part = b.push(Op::Call(Function::Re, root));
            let choice = b.push(Op::Select {
                test: Comparison::Lt,
                lhs: m_,
                rhs: zero,
                yes: m_,
                no: part,
            });
            let value = if hidden { choice } else { part };
            let mut model = model();
            (model.program, model.parameters) = (b.finish(), Vec::new());
            model.couplings.truncate(1);
            model.couplings[0].value = value;
            let values = model.evaluate(&[m], 1.0);
            outside(&model, &values, &vec![false; values.len()])
        };
        let sqrt = |m| warning(m, Function::Sqrt, false);
        let line = sqrt(-2.0).unwrap();
        assert!(
            line.starts_with("GC_1 contains sqrt(-2) with these parameters"),
            "{line}"
        );
        assert!(warning(1.5, Function::Acos, false).is_some_and(|line| line.contains("acos(1.5)")));
        assert!(warning(-1.5, Function::Asin, false).is_some());
        // A real value, one that rounding produces, and one that a conditional excludes.
        assert_eq!(
            [sqrt(2.0), sqrt(-1e-9), warning(1.0, Function::Acos, false)],
            [None, None, None]
        );
        assert_eq!(warning(-2.0, Function::Sqrt, true), None);
    }

    #[test]
    fn couplings_are_polynomials_in_g_where_they_can_be() {
        let model = model();
        let binding = Binding::new(&model, &[2.0]).unwrap();
        assert_eq!(binding.parameters, [2.0]);
        let c = |re: f64, im: f64| Complex64::new(re, im);
        assert_eq!(
            binding.couplings[0],
            Coupling::Polynomial(vec![c(0.0, 0.0), c(0.0, 1.0)])
        );
        assert_eq!(
            binding.couplings[1],
            Coupling::Polynomial(vec![c(1.0, 0.0), c(0.0, 0.0), c(0.5, 0.0)])
        );
        assert_eq!(binding.couplings[2], Coupling::Formula);
        assert!(binding.has_formulas());
    }

    #[test]
    fn evaluates_both_kinds_like_the_program() {
        let model = model();
        let binding = Binding::new(&model, &[2.0]).unwrap();
        let mut out = Vec::new();
        for g in [0.3, 1.0, 1.7] {
            binding.evaluate(g, &mut out);
            let values = model.evaluate(&[2.0], g);
            for (coupling, value) in model.couplings.iter().zip(&out) {
                let exact = values[coupling.value as usize];
                assert!((exact - value).norm() < 1e-15, "{}", coupling.name);
            }
        }
    }

    /// A formula reduces to a polynomial if the condition it depends on is known, or if it is multiplied by zero.
    #[test]
    fn numbers_of_the_card_simplify_formulas() {
        let mut b = Builder::new(2);
        let (m, g) = (b.input(0), b.input(1));
        let log = b.push(Op::Call(Function::RealLog, g));
        let zero = b.real(0.0);
        let none = b.push(Op::Mul(log, m));
        let chosen = b.push(Op::Select {
            test: Comparison::Gt,
            lhs: m,
            rhs: zero,
            yes: g,
            no: log,
        });
        let shifted = b.push(Op::Add(chosen, m));
        let model = Model {
            program: b.finish(),
            couplings: vec![
                NamedValue {
                    name: "GC_1".into(),
                    value: none,
                },
                NamedValue {
                    name: "GC_2".into(),
                    value: shifted,
                },
            ],
            ..model()
        };
        let law = |mass: f64| {
            let model = Model {
                parameters: Vec::new(),
                ..model.clone()
            };
            let binding = Binding::new(&model, &[mass]).unwrap();
            let mut out = Vec::new();
            binding.evaluate(0.7, &mut out);
            let values = model.evaluate(&[mass], 0.7);
            for (coupling, value) in model.couplings.iter().zip(&out) {
                assert_eq!(*value, values[coupling.value as usize], "{}", coupling.name);
            }
            binding.couplings
        };
        assert!(matches!(
            &law(2.0)[..],
            [Coupling::Formula, Coupling::Polynomial(_)]
        ));
        assert!(matches!(
            &law(0.0)[..],
            [Coupling::Polynomial(_), Coupling::Formula]
        ));
    }

    #[test]
    fn a_card_that_makes_a_coupling_infinite_is_refused() {
        let error = Binding::new(&model(), &[0.0]).unwrap_err().to_string();
        assert!(error.contains("GC_2"), "{error}");
    }
}
