//! Graph of the values in generated code, each computed from others.

use super::expression::{Expression, Id};
use crate::level_schedule::MATRIX_NUMBERS;
use mebridge_ops::Address;
use mebridge_process::color::FlowWeight;

use mebridge_ops::opcode::{FOUR, MATRIX, MOMENTUM, Mode};
use rustc_hash::FxHashMap as HashMap;
use std::borrow::Cow;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Real,
    Complex,
    Momentum,
    Four,
    Matrix,
    /// 16 complex components, of spin 3/2 or 2.
    Sixteen,
}

impl Type {
    pub(super) fn from_vectors(vectors: u32) -> Option<Type> {
        Some(match vectors {
            1 => Type::Real,
            2 => Type::Complex,
            MOMENTUM => Type::Momentum,
            FOUR => Type::Four,
            MATRIX => Type::Matrix,
            MATRIX_NUMBERS => Type::Sixteen,
            _ => return None,
        })
    }

    /// Returns the number of real numbers in it.
    pub(super) fn numbers(self) -> usize {
        match self {
            Type::Real => 1,
            Type::Complex => 2,
            Type::Momentum => 4,
            Type::Four => 8,
            Type::Matrix => MATRIX as usize,
            Type::Sixteen => MATRIX_NUMBERS as usize,
        }
    }

    /// Returns the suffix of the functions that load and store it.
    pub(super) fn access(self) -> &'static str {
        match self {
            Type::Real => "real",
            Type::Complex => "complex",
            Type::Momentum => "momentum",
            Type::Four => "four",
            Type::Matrix => "matrix",
            Type::Sixteen => "sixteen",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Real => "Real",
            Type::Complex => "Cx",
            Type::Momentum => "Momentum",
            Type::Four => "Four",
            Type::Matrix => "Matrix",
            Type::Sixteen => "Sixteen",
        }
    }
}

/// A value of the generated code.
pub(super) struct Value {
    pub(super) class: Type,
    /// The expression; for a value computed by an earlier kernel, its address.
    pub(super) expression: Expression,
    /// The values in its expression.
    pub(super) of: Vec<Id>,
    /// Whether the expression is inlined wherever the value is used.
    pub(super) literal: bool,
    /// Whether it was computed by an earlier kernel.
    pub(super) stored: bool,
}

#[derive(Default)]
pub(super) struct ValueGraph {
    pub(super) values: Vec<Value>,
    known: HashMap<Expression, Id>,
    /// Values at the addresses of the memory of events.
    pub(super) memory: HashMap<Address, Id>,
}

impl ValueGraph {
    /// Returns the value with this expression, an existing one if possible.
    pub(super) fn push(&mut self, class: Type, expression: Expression) -> Id {
        self.add(class, expression, false)
    }

    fn add(&mut self, class: Type, expression: Expression, literal: bool) -> Id {
        if let Some(&id) = self.known.get(&expression) {
            return id;
        }
        self.known.insert(expression.clone(), self.values.len());
        self.values.push(Value {
            class,
            of: expression.values(),
            expression,
            literal,
            stored: false,
        });
        self.values.len() - 1
    }

    /// Returns the text of a value where it is used.
    pub(super) fn name(&self, id: Id) -> String {
        match &self.values[id] {
            value if value.literal => self.text(id),
            _ => format!("x{id}"),
        }
    }

    /// Returns the expression of a value as C++ text.
    pub(super) fn text(&self, id: Id) -> String {
        self.values[id].expression.text(&|id| self.name(id))
    }

    /// Returns a value that an earlier kernel stored at this address.
    pub(super) fn stored(&mut self, class: Type, at: String) -> Id {
        self.values.push(Value {
            class,
            expression: Expression::Leaf(at),
            of: Vec::new(),
            literal: false,
            stored: true,
        });
        self.values.len() - 1
    }

    /// Returns a value that is inlined wherever it is used.
    pub(super) fn literal(&mut self, class: Type, expression: Expression) -> Id {
        self.add(class, expression, true)
    }

    /// Returns the value of a function call.
    pub(super) fn call(
        &mut self,
        class: Type,
        function: impl Into<Cow<'static, str>>,
        of: &[Id],
    ) -> Id {
        let arguments = of.iter().map(|&id| Expression::Value(id));
        self.push(class, Expression::call(function, arguments))
    }

    /// Returns two values joined by an operator.
    pub(super) fn infix(&mut self, class: Type, a: Id, operator: &'static str, b: Id) -> Id {
        let (a, b) = (Expression::Value(a), Expression::Value(b));
        self.push(class, Expression::infix(a, operator, b))
    }
}

impl ValueGraph {
    /// Returns the sum of some terms minus others, which are complex numbers or four-component wavefunctions.
    pub(super) fn terms(
        &mut self,
        class: Type,
        term: &str,
        added: &[Vec<Id>],
        subtracted: &[Vec<Id>],
    ) -> Id {
        let mut sum = self.zero(class);
        let add = |graph: &mut Self, sum: Id, of: &Vec<Id>| {
            graph.call(class, term.to_owned(), &[of.as_slice(), &[sum]].concat())
        };
        for of in subtracted {
            sum = add(self, sum, of);
        }
        if !subtracted.is_empty() {
            let negative = match class {
                Type::Complex => "-",
                _ => "negative",
            };
            sum = self.call(class, negative, &[sum]);
        }
        for of in added {
            sum = add(self, sum, of);
        }
        sum
    }

    /// Returns the first term of sums.
    pub(super) fn zero(&mut self, class: Type) -> Id {
        let zero = match class {
            Type::Complex => "cx(0, 0)",
            _ => "no_four()",
        };
        self.literal(class, Expression::Leaf(zero.into()))
    }

    /// Multiplies by a factor and adds the result to an existing value, if any.
    pub(super) fn scaled(&mut self, class: Type, factor: Id, sum: Id, there: Option<Id>) -> Id {
        match (there, class) {
            (None, Type::Complex) => self.infix(class, factor, "*", sum),
            (None, _) => self.call(class, "times", &[factor, sum]),
            (Some(there), Type::Complex) => self.call(class, "mul_add", &[factor, sum, there]),
            (Some(there), _) => self.call(class, "times_add", &[factor, sum, there]),
        }
    }

    /// Multiplies by a factor and, depending on the mode, adds the result to the existing value.
    pub(super) fn finish(
        &mut self,
        mode: u32,
        factor: Id,
        sum: Id,
        there: Option<Id>,
    ) -> Option<Id> {
        let there = match mode & Mode::ADD {
            0 => None,
            _ => Some(there?),
        };
        Some(self.scaled(Type::Four, factor, sum, there))
    }

    /// Returns the squared modulus of a complex number plus another number.
    pub(super) fn square(&mut self, id: Id, before: Option<Id>) -> Id {
        let (re, im) = (|| Expression::re(id), || Expression::im(id));
        let imaginary = match before {
            None => Expression::infix(im(), "*", im()),
            Some(sum) => Expression::call("fused", [im(), im(), Expression::Value(sum)]),
        };
        self.push(
            Type::Real,
            Expression::call("fused", [re(), re(), imaginary]),
        )
    }

    /// Returns the weight of a colour flow with split coupling orders plus another number.
    pub(super) fn weight(&mut self, of: &FlowWeight, jamp: &[Id], before: Option<Id>) -> Id {
        let zero = || Expression::Leaf("Real(0)".into());
        let mut total = before.unwrap_or_else(|| self.literal(Type::Real, zero()));
        for pairs in &of.moduli {
            let mut sum = self.literal(Type::Real, zero());
            for &(a, b) in pairs {
                let (a, b) = (jamp[a as usize], jamp[b as usize]);
                let imaginary = [Expression::im(a), Expression::im(b), Expression::Value(sum)];
                let imaginary = Expression::call("fused", imaginary);
                let product = [Expression::re(a), Expression::re(b), imaginary];
                sum = self.push(Type::Real, Expression::call("fused", product));
            }
            let modulus = Expression::call("magnitude", [Expression::Value(sum)]);
            total = self.push(
                Type::Real,
                Expression::infix(Expression::Value(total), "+", modulus),
            );
        }
        total
    }
}

/// Values in the order in which they are computed.
#[derive(Default)]
pub(super) struct Schedule {
    done: Vec<bool>,
    pub(super) order: Vec<Id>,
}

impl Schedule {
    /// Appends a value, after those of its operands that have not been appended yet.
    pub(super) fn need(&mut self, graph: &ValueGraph, id: Id) {
        self.done.resize(graph.values.len(), false);
        let mut stack = vec![(id, 0)];
        while let Some((id, next)) = stack.pop() {
            if self.done[id] {
                continue;
            }
            let value = &graph.values[id];
            if let Some(&of) = value.of.get(next) {
                stack.push((id, next + 1));
                stack.push((of, 0));
                continue;
            }
            self.done[id] = true;
            if !value.literal {
                self.order.push(id);
            }
        }
    }
}
