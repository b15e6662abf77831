//! Values, each made of others, as they stand in the code.

use crate::ops::Address;
use crate::ops::opcode::Mode;
use crate::ops::opcode::{FOUR, MOMENTUM};
use rustc_hash::FxHashMap as HashMap;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Real,
    Complex,
    Momentum,
    Four,
    Matrix,
}

impl Type {
    pub(super) fn of(vectors: u32) -> Option<Type> {
        Some(match vectors {
            1 => Type::Real,
            2 => Type::Complex,
            MOMENTUM => Type::Momentum,
            FOUR => Type::Four,
            16 => Type::Matrix,
            _ => return None,
        })
    }

    /// Numbers that it consists of.
    pub(super) fn numbers(self) -> usize {
        match self {
            Type::Real => 1,
            Type::Complex => 2,
            Type::Momentum => 4,
            Type::Four => 8,
            Type::Matrix => 16,
        }
    }

    /// What functions that read and write it are called.
    pub(super) fn access(self) -> &'static str {
        match self {
            Type::Real => "real",
            Type::Complex => "complex",
            Type::Momentum => "momentum",
            Type::Four => "four",
            Type::Matrix => "matrix",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Real => "Real",
            Type::Complex => "Cx",
            Type::Momentum => "Momentum",
            Type::Four => "Four",
            Type::Matrix => "Matrix",
        }
    }
}

/// The number of a value.
pub(super) type Id = usize;

/// A value of the generated code.
pub(super) struct Value {
    pub(super) class: Type,
    /// The expression; in it the values it is made of by name.
    pub(super) text: String,
    /// These values.
    pub(super) of: Vec<Id>,
    /// Whether the expression stands wherever the value is used.
    pub(super) literal: bool,
    /// Whether it was computed before; then the expression is its address.
    pub(super) stored: bool,
}

/// A number as it stands in the code.
pub(super) fn number(x: f64) -> String {
    format!("Real({x:e})")
}

#[derive(Default)]
pub(super) struct ValueGraph {
    pub(super) values: Vec<Value>,
    known: HashMap<String, Id>,
    /// What lies at the addresses of the memory of events.
    pub(super) memory: HashMap<Address, Id>,
}

impl ValueGraph {
    pub(super) fn push(&mut self, class: Type, text: String, of: Vec<Id>, literal: bool) -> Id {
        if let Some(&id) = self.known.get(&text) {
            return id;
        }
        self.known.insert(text.clone(), self.values.len());
        self.values.push(Value {
            class,
            text,
            of,
            literal,
            stored: false,
        });
        self.values.len() - 1
    }

    pub(super) fn name(&self, id: Id) -> String {
        match &self.values[id] {
            value if value.literal => value.text.clone(),
            _ => format!("x{id}"),
        }
    }

    /// A value that was computed before, and lies there.
    pub(super) fn stored(&mut self, class: Type, at: String) -> Id {
        self.values.push(Value {
            class,
            text: at,
            of: Vec::new(),
            literal: false,
            stored: true,
        });
        self.values.len() - 1
    }

    pub(super) fn literal(&mut self, class: Type, text: String) -> Id {
        self.push(class, text, Vec::new(), true)
    }

    /// The call of a function.
    pub(super) fn call(&mut self, class: Type, function: &str, of: &[Id], more: &[String]) -> Id {
        let names = of.iter().map(|&id| self.name(id));
        let arguments: Vec<String> = names.chain(more.iter().cloned()).collect();
        let text = format!("{function}({})", arguments.join(", "));
        self.push(class, text, of.to_vec(), false)
    }

    pub(super) fn infix(&mut self, class: Type, a: Id, operator: &str, b: Id) -> Id {
        let text = format!("{} {operator} {}", self.name(a), self.name(b));
        self.push(class, text, vec![a, b], false)
    }
}

impl ValueGraph {
    /// A sum of terms, and others with a minus sign.
    pub(super) fn terms(&mut self, term: &str, added: &[Vec<Id>], subtracted: &[Vec<Id>]) -> Id {
        let mut sum = self.literal(Type::Four, "no_four()".into());
        for of in subtracted {
            sum = self.call(Type::Four, term, &[of.as_slice(), &[sum]].concat(), &[]);
        }
        if !subtracted.is_empty() {
            sum = self.call(Type::Four, "negative", &[sum], &[]);
        }
        for of in added {
            sum = self.call(Type::Four, term, &[of.as_slice(), &[sum]].concat(), &[]);
        }
        sum
    }

    /// Times a factor, and added to what is there.
    pub(super) fn finish(
        &mut self,
        mode: u32,
        factor: Id,
        sum: Id,
        there: Option<Id>,
    ) -> Option<Id> {
        Some(match mode & Mode::ADD {
            0 => self.call(Type::Four, "times", &[factor, sum], &[]),
            _ => self.call(Type::Four, "times_add", &[factor, sum, there?], &[]),
        })
    }

    /// The squared modulus of a complex number, added to another number.
    pub(super) fn square(&mut self, id: Id, before: Option<Id>) -> Id {
        let name = self.name(id);
        let (text, of) = match before {
            None => (
                format!("fused({name}.re, {name}.re, {name}.im * {name}.im)"),
                vec![id],
            ),
            Some(sum) => (
                format!(
                    "fused({name}.re, {name}.re, fused({name}.im, {name}.im, {}))",
                    self.name(sum)
                ),
                vec![id, sum],
            ),
        };
        self.push(Type::Real, text, of, false)
    }
}

/// Values in the order in which they are computed.
#[derive(Default)]
pub(super) struct Schedule {
    done: Vec<bool>,
    pub(super) order: Vec<Id>,
}

impl Schedule {
    /// Puts a value at the end, before it what it is made of and is not there yet.
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
