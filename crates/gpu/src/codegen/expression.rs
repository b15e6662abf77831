//! Expressions of the generated code.
//!
//! They record the operands of a value and the helicities on which it depends, and are converted to C++ text only at
//! the end.

use std::borrow::Cow;
use std::fmt::Write;

/// Number of a value.
pub(super) type Id = usize;

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Expression {
    /// A number in the working precision, by its bits.
    Number(u64),
    /// An integer constant.
    Integer(i64),
    /// Another value.
    Value(Id),
    /// The real (false) or imaginary part of a complex expression.
    Part(Box<Expression>, bool),
    /// The helicity of a leg that is fixed in a subset of the helicities.
    Helicity(usize),
    /// A call of a device function or constructor with these arguments.
    Call(Cow<'static, str>, Vec<Expression>),
    /// Two expressions with an operator between them.
    Infix(Box<Expression>, &'static str, Box<Expression>),
    /// The negative of an expression.
    Negative(Box<Expression>),
    /// A load or a constant, which contains no other value.
    Leaf(String),
}

use Expression::*;

impl Expression {
    /// Returns a number in the working precision.
    pub(super) fn number(x: f64) -> Expression {
        Number(x.to_bits())
    }

    /// Returns a call of a device function with these arguments.
    pub(super) fn call(
        function: impl Into<Cow<'static, str>>,
        arguments: impl IntoIterator<Item = Expression>,
    ) -> Expression {
        Call(function.into(), arguments.into_iter().collect())
    }

    /// Returns two expressions joined by an operator.
    pub(super) fn infix(a: Expression, operator: &'static str, b: Expression) -> Expression {
        Infix(Box::new(a), operator, Box::new(b))
    }

    /// Returns the real part of a value.
    pub(super) fn re(id: Id) -> Expression {
        Part(Box::new(Value(id)), false)
    }

    /// Returns the imaginary part of a value.
    pub(super) fn im(id: Id) -> Expression {
        Part(Box::new(Value(id)), true)
    }

    /// Returns whether it calls this function.
    pub(super) fn calls(&self, name: &str) -> bool {
        matches!(self, Call(function, _) if function == name)
    }

    /// Returns its subexpressions, in the order of evaluation: an addend comes before the product added to it.
    fn parts(&self) -> Vec<&Expression> {
        match self {
            Call(function, of) => match (&**function, &of[..]) {
                ("fused" | "mul_add", [a, b, sum]) => vec![sum, a, b],
                _ => of.iter().collect(),
            },
            Infix(a, _, b) => vec![a, b],
            Part(a, _) | Negative(a) => vec![a],
            Number(_) | Integer(_) | Value(_) | Helicity(_) | Leaf(_) => Vec::new(),
        }
    }

    /// Returns the values that occur, each once.
    pub(super) fn values(&self) -> Vec<Id> {
        let (mut found, mut stack) = (Vec::new(), vec![self]);
        while let Some(expression) = stack.pop() {
            match expression {
                Value(id) if !found.contains(id) => found.push(*id),
                other => stack.extend(other.parts().into_iter().rev()),
            }
        }
        found
    }

    /// Returns the legs whose helicities occur, as bits.
    pub(super) fn legs(&self) -> u32 {
        match self {
            Helicity(leg) => 1 << leg,
            other => other.parts().into_iter().fold(0, |legs, e| legs | e.legs()),
        }
    }

    /// Replaces values and helicities by other expressions. Returns `None` if there is no replacement for a value.
    pub(super) fn replaced(
        &self,
        value: &impl Fn(Id) -> Option<Expression>,
        helicity: &impl Fn(usize) -> Expression,
    ) -> Option<Expression> {
        let inner = |e: &Expression| e.replaced(value, helicity);
        Some(match self {
            Value(id) => value(*id)?,
            Helicity(leg) => helicity(*leg),
            Part(a, imaginary) => Part(Box::new(inner(a)?), *imaginary),
            Negative(a) => Negative(Box::new(inner(a)?)),
            Infix(a, operator, b) => Expression::infix(inner(a)?, operator, inner(b)?),
            Call(function, of) => Call(
                function.clone(),
                of.iter().map(inner).collect::<Option<_>>()?,
            ),
            Number(_) | Integer(_) | Leaf(_) => self.clone(),
        })
    }

    /// Writes the expression as C++ text; `name` returns the name of a value.
    pub(super) fn text(&self, name: &impl Fn(Id) -> String) -> String {
        let mut text = String::new();
        self.write(name, &mut text);
        text
    }

    fn write(&self, name: &impl Fn(Id) -> String, text: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Number(bits) => write!(text, "{}", number(f64::from_bits(*bits))),
            Integer(n) => write!(text, "{n}"),
            Value(id) => write!(text, "{}", name(*id)),
            Helicity(leg) => write!(text, "h{leg}"),
            Leaf(leaf) => write!(text, "{leaf}"),
            Part(a, imaginary) => {
                a.write(name, text);
                write!(text, "{}", if *imaginary { ".im" } else { ".re" })
            }
            Negative(a) => {
                text.push_str("(-");
                a.write(name, text);
                write!(text, ")")
            }
            Infix(a, operator, b) => {
                a.write(name, text);
                let _ = write!(text, " {operator} ");
                b.write(name, text);
                Ok(())
            }
            Call(function, of) => {
                let _ = write!(text, "{function}(");
                for (i, argument) in of.iter().enumerate() {
                    text.push_str(if i == 0 { "" } else { ", " });
                    argument.write(name, text);
                }
                write!(text, ")")
            }
        };
    }
}

/// Returns a number as C++ text.
pub(super) fn number(x: f64) -> String {
    format!("Real({x:e})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_helicities_are_found_and_replaced() {
        let vector = Expression::call(
            "external_vector",
            [Value(12), Expression::number(1.0), Integer(0), Helicity(3)],
        );
        let sum = Expression::call("fused", [Expression::re(1), vector.clone(), Value(7)]);
        let name = |id: Id| format!("x{id}");
        let right = "fused(x1.re, external_vector(x12, Real(1e0), 0, h3), x7)";
        assert_eq!(sum.text(&name), right);
        // The addend comes first.
        assert_eq!(sum.values(), [7, 1, 12]);
        assert_eq!(sum.legs(), 1 << 3);
        let other = sum.replaced(&|id| Some(Value(id + 1)), &|_| Integer(-1));
        let right = "fused(x2.re, external_vector(x13, Real(1e0), 0, -1), x8)";
        assert_eq!(other.expect("all are known").text(&name), right);
        assert_eq!(sum.replaced(&|_| None, &Helicity), None);
    }
}
