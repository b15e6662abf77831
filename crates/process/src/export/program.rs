//! Straight-line arithmetic as Fortran statements.
//!
//! Values that are used once are inlined, others get a variable. Whether a value is REAL follows from its operands; all
//! others are COMPLEX.

use super::source::number;
use crate::arith::{Comparison, Function, Op, Program, ValueId};
use std::collections::HashMap;

/// Longer expressions also get a variable, in characters.
const MAX_LENGTH: usize = 120;

/// How tightly an expression binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Atom,
    Power,
    Product,
    Sum,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    pub text: String,
    /// REAL, not COMPLEX.
    pub real: bool,
    binding: Binding,
}

impl Expression {
    /// A variable or a call.
    pub fn atom(text: impl Into<String>, real: bool) -> Expression {
        Expression {
            text: text.into(),
            real,
            binding: Binding::Atom,
        }
    }

    /// The text, in parentheses unless it binds at least as tightly as `binding`.
    fn within(&self, binding: Binding) -> String {
        match self.binding <= binding {
            true => self.text.clone(),
            false => format!("({})", self.text),
        }
    }

    /// The text as a REAL value.
    fn as_real(&self) -> String {
        match self.real {
            true => self.text.clone(),
            false => format!("DBLE({})", self.text),
        }
    }
}

/// Statements, and the variables that they need.
#[derive(Default)]
pub struct Statements {
    pub lines: Vec<String>,
    pub real: Vec<String>,
    pub complex: Vec<String>,
    values: HashMap<ValueId, Expression>,
}

impl Statements {
    /// The expression of a value that is already written.
    pub fn value(&self, value: ValueId) -> &Expression {
        &self.values[&value]
    }

    /// Writes statements for the values `roots`. `known` are the values that already have names; `input` names the
    /// inputs.
    pub fn write(
        program: &Program,
        roots: &[ValueId],
        known: &HashMap<ValueId, Expression>,
        input: &dyn Fn(u32) -> Expression,
    ) -> Statements {
        let mut uses = vec![0u32; program.ops.len()];
        for &root in roots {
            uses[root as usize] += 1;
        }
        for value in (0..program.ops.len() as ValueId).rev() {
            let op = &program.ops[value as usize];
            if uses[value as usize] > 0 && !known.contains_key(&value) {
                op.for_each_operand(|v| uses[v as usize] += 1);
            }
        }
        let mut statements = Statements::default();
        for (value, op) in (0..).zip(&program.ops) {
            let uses = uses[value as usize];
            if uses == 0 {
                continue;
            }
            let expression = match (known.get(&value), op) {
                (Some(known), _) => known.clone(),
                (None, Op::Input(n)) => input(*n),
                (None, Op::Const(re, im)) => constant(*re, *im),
                (None, Op::Select { .. }) => statements.choose(op),
                _ => {
                    let expression = statements.expression(op);
                    match uses > 1 || expression.text.len() > MAX_LENGTH {
                        true => statements.variable(expression),
                        false => expression,
                    }
                }
            };
            statements.values.insert(value, expression);
        }
        statements
    }

    /// Declares a new variable.
    fn name(&mut self, real: bool) -> Expression {
        let (letter, names) = match real {
            true => ('R', &mut self.real),
            false => ('C', &mut self.complex),
        };
        let name = format!("{letter}{}", names.len() + 1);
        names.push(name.clone());
        Expression::atom(name, real)
    }

    fn variable(&mut self, expression: Expression) -> Expression {
        let name = self.name(expression.real);
        self.lines
            .push(format!("{} = {}", name.text, expression.text));
        name
    }

    fn choose(&mut self, op: &Op) -> Expression {
        let Op::Select {
            test,
            lhs,
            rhs,
            yes,
            no,
        } = *op
        else {
            return self.expression(op);
        };
        let [lhs, rhs, yes, no] = [lhs, rhs, yes, no].map(|v| self.value(v).clone());
        let name = self.name(yes.real && no.real);
        let (dotted, real) = match test {
            Comparison::Eq => (".EQ.", false),
            Comparison::Ne => (".NE.", false),
            Comparison::Lt => (".LT.", true),
            Comparison::Le => (".LE.", true),
            Comparison::Gt => (".GT.", true),
            Comparison::Ge => (".GE.", true),
        };
        let side = |x: &Expression| match real {
            true => x.as_real(),
            false => x.text.clone(),
        };
        self.lines.extend([
            format!("IF ({}{dotted}{}) THEN", side(&lhs), side(&rhs)),
            format!("  {} = {}", name.text, yes.text),
            "ELSE".into(),
            format!("  {} = {}", name.text, no.text),
            "ENDIF".into(),
        ]);
        name
    }

    fn expression(&self, op: &Op) -> Expression {
        let v = |value: ValueId| self.value(value);
        let two = |a: ValueId, sign: &str, b: ValueId, binding: Binding, right: Binding| {
            let (a, b) = (v(a), v(b));
            Expression {
                text: format!("{}{sign}{}", a.within(binding), b.within(right)),
                real: a.real && b.real,
                binding,
            }
        };
        let call = |name: &str, arguments: &[ValueId]| {
            let arguments: Vec<String> = arguments.iter().map(|&a| v(a).as_real()).collect();
            Expression::atom(format!("{name}({})", arguments.join(",")), true)
        };
        match *op {
            Op::Neg(a) => Expression {
                text: format!("-{}", v(a).within(Binding::Product)),
                real: v(a).real,
                binding: Binding::Sum,
            },
            Op::Add(a, b) => two(a, "+", b, Binding::Sum, Binding::Product),
            Op::Sub(a, b) => two(a, "-", b, Binding::Sum, Binding::Product),
            Op::Mul(a, b) => two(a, "*", b, Binding::Product, Binding::Power),
            Op::Div(a, b) => two(a, "/", b, Binding::Product, Binding::Power),
            Op::PowI(a, n) => {
                let n = if n < 0 {
                    format!("({n})")
                } else {
                    n.to_string()
                };
                Expression {
                    text: format!("{}**{n}", v(a).within(Binding::Atom)),
                    real: v(a).real,
                    binding: Binding::Power,
                }
            }
            Op::Pow(a, b) => Expression {
                text: format!("DCMPLX({})**{}", v(a).text, v(b).within(Binding::Atom)),
                real: false,
                binding: Binding::Power,
            },
            Op::Call(function, a) => self.call(function, v(a)),
            Op::Complex(a, b) => Expression {
                real: false,
                ..call("DCMPLX", &[a, b])
            },
            Op::Max(a, b) => call("MAX", &[a, b]),
            Op::Min(a, b) => call("MIN", &[a, b]),
            Op::Sign(a, b) => call("SIGN", &[a, b]),
            Op::Atan2(a, b) => call("ATAN2", &[a, b]),
            // Handled by `write`.
            Op::Input(_) | Op::Const(..) | Op::Select { .. } => Expression::atom("0D0", true),
        }
    }

    fn call(&self, function: Function, x: &Expression) -> Expression {
        let of_real = |name: &str| Expression::atom(format!("{name}({})", x.as_real()), true);
        let of_complex =
            |name: &str| Expression::atom(format!("{name}(DCMPLX({}))", x.text), false);
        let same = |name: &str| Expression::atom(format!("{name}({})", x.text), x.real);
        match function {
            Function::RealSqrt => of_real("SQRT"),
            Function::RealLog => of_real("LOG"),
            Function::Sqrt => of_complex("SQRT"),
            Function::Log => of_complex("LOG"),
            Function::Asin => of_complex("ASIN"),
            Function::Acos => of_complex("ACOS"),
            Function::Exp => same("EXP"),
            Function::Sin => same("SIN"),
            Function::Cos => same("COS"),
            Function::Tan => same("TAN"),
            Function::Atan => same("ATAN"),
            Function::Sinh => same("SINH"),
            Function::Cosh => same("COSH"),
            Function::Tanh => same("TANH"),
            Function::Abs => Expression::atom(format!("ABS({})", x.text), true),
            Function::Conj if x.real => x.clone(),
            Function::Conj => same("DCONJG"),
            Function::Re if x.real => x.clone(),
            Function::Re => Expression::atom(x.as_real(), true),
            Function::Im if x.real => Expression::atom("0D0", true),
            Function::Im => Expression::atom(format!("DIMAG({})", x.text), true),
        }
    }
}

fn constant(re: f64, im: f64) -> Expression {
    match im == 0.0 {
        true => Expression {
            text: number(re),
            real: true,
            // A sign may not follow another operator.
            binding: match re.is_sign_negative() {
                true => Binding::Sum,
                false => Binding::Atom,
            },
        },
        false => Expression::atom(format!("({},{})", number(re), number(im)), false),
    }
}
