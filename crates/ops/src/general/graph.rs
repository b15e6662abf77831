//! Conversion of a routine's program to a graph of real and complex numbers.
//!
//! A number is `i^phase` times a node. So multiplications by `i` and signs are never executed, and expressions that
//! differ only by them (such as `-V1 + i V2` and `i V1 + V2`) share a node. Zeros are eliminated, and the graph knows
//! which nodes are real.

use mebridge_process::arith::{Comparison, Function, Op};
use mebridge_process::lorentz::Routine;
use num_complex::Complex64;
use std::collections::HashMap;

/// Index of a node.
pub(super) type Id = u32;

/// `i^phase` times a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value {
    pub node: Id,
    pub phase: u8,
}

/// A value, or zero.
pub(super) type Number = Option<Value>;

/// A function of two complex numbers that is not composed of other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elementary {
    /// A function of the first number (the second is unused).
    Call(Function),
    /// A general power.
    Pow,
    /// `ATAN2`.
    Atan2,
}

/// Comparisons in conditional expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// `a < b`.
    Lt,
    /// `a <= b`.
    Le,
    /// `a == b`.
    Eq,
}

/// Real functions of two real arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `max(a, b)`.
    Max,
    /// `min(a, b)`.
    Min,
    /// `|a|` with the sign of `b`.
    Sign,
}

/// The operation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A real number: the vector at an offset from the address in this operand of the operation.
    Input { operand: u32, offset: u32 },
    /// A complex number at this address.
    InputComplex { operand: u32, offset: u32 },
    /// A real constant, as bits.
    Const(u64),
    /// `a + i^phase b`; real if both are and the phase is even. If one of them is complex, `a` is.
    Add { phase: u8, a: Id, b: Id },
    /// `a b`; if one of them is real, `a` is.
    Mul { a: Id, b: Id },
    /// `1 / a`.
    Inverse(Id),
    /// Complex conjugate of a complex node.
    Conj(Id),
    /// Real part of a complex node.
    Re(Id),
    /// Imaginary part of a complex node.
    Im(Id),
    /// `i^phase a`, when a node without a phase is needed; the phase of a real node is even.
    Phase { phase: u8, a: Id },
    /// A real node converted to a complex one.
    Widen(Id),
    /// Square root of a real node.
    Sqrt(Id),
    /// Absolute value of a real node.
    Abs(Id),
    /// A function of two real nodes.
    Binary(Binary, Id, Id),
    /// `yes` if the test of two real nodes is true, otherwise `no` (both real or both complex).
    Select {
        test: Test,
        lhs: Id,
        rhs: Id,
        yes: Id,
        no: Id,
    },
    /// A function of complex nodes with a complex result.
    Elementary(Elementary, Id, Id),
}

impl Node {
    /// The nodes that this node reads.
    pub(super) fn operands(&self) -> impl Iterator<Item = Id> {
        let list: [Option<Id>; 4] = match *self {
            Node::Input { .. } | Node::InputComplex { .. } | Node::Const(_) => [None; 4],
            Node::Add { a, b, .. } | Node::Mul { a, b } => [Some(a), Some(b), None, None],
            Node::Binary(_, a, b) | Node::Elementary(_, a, b) => [Some(a), Some(b), None, None],
            Node::Inverse(a)
            | Node::Conj(a)
            | Node::Re(a)
            | Node::Im(a)
            | Node::Phase { a, .. }
            | Node::Widen(a)
            | Node::Sqrt(a)
            | Node::Abs(a) => [Some(a), None, None, None],
            Node::Select {
                lhs, rhs, yes, no, ..
            } => [Some(lhs), Some(rhs), Some(yes), Some(no)],
        };
        list.into_iter().flatten()
    }
}

/// The graph of a routine.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// The nodes; each reads only earlier ones.
    pub nodes: Vec<Node>,
    /// Whether each node is real.
    pub real: Vec<bool>,
    /// The components of the result, without its momentum.
    pub outputs: Vec<Number>,
    seen: HashMap<Node, Id>,
}

impl Graph {
    pub(super) fn new(routine: &Routine, massless: bool) -> Graph {
        let mut graph = Graph::default();
        let inputs = graph.inputs(routine, massless);
        let mut values: Vec<Number> = Vec::with_capacity(routine.program.ops.len());
        for op in &routine.program.ops {
            let value = graph.lower(op, &inputs, &values);
            values.push(value);
        }
        let skip = if routine.is_amplitude() { 0 } else { 2 };
        graph.outputs = routine.outputs[skip..]
            .iter()
            .map(|&v| values[v as usize])
            .collect();
        graph
    }

    /// The inputs of the program.
    fn inputs(&mut self, routine: &Routine, massless: bool) -> Vec<Number> {
        let mut inputs = Vec::new();
        let legs = routine.inputs.len() as u32;
        let couplings = routine.couplings;
        for (leg, &components) in (0u32..).zip(&routine.inputs) {
            let momentum = legs + couplings + leg;
            let p = [0, 1, 2, 3].map(|offset| self.input(momentum, offset));
            inputs.push(self.complex(p[0], p[3]));
            inputs.push(self.complex(p[1], p[2]));
            for component in 0..components - 2 {
                let value = self.push(Node::InputComplex {
                    operand: leg,
                    offset: 2 * component,
                });
                inputs.push(value);
            }
        }
        for coupling in 0..couplings {
            let value = self.push(Node::InputComplex {
                operand: legs + coupling,
                offset: 0,
            });
            inputs.push(value);
        }
        if routine.massive {
            for i in 0..2 {
                inputs.push(if massless {
                    None
                } else {
                    self.input(2 * legs + couplings + i, 0)
                });
            }
        }
        inputs
    }

    fn input(&mut self, operand: u32, offset: u32) -> Number {
        self.push(Node::Input { operand, offset })
    }

    /// Returns the index of a node, adding it unless it exists.
    fn id(&mut self, node: Node) -> Id {
        if let Some(&id) = self.seen.get(&node) {
            return id;
        }
        let is_real = |id: Id| self.real[id as usize];
        let real = match node {
            Node::Input { .. } | Node::Const(_) => true,
            Node::InputComplex { .. } | Node::Conj(_) | Node::Widen(_) => false,
            Node::Elementary(..) => false,
            Node::Add { phase, a, b } => is_real(a) && is_real(b) && phase % 2 == 0,
            Node::Mul { a, b } => is_real(a) && is_real(b),
            Node::Inverse(a) | Node::Phase { a, .. } => is_real(a),
            Node::Re(_) | Node::Im(_) | Node::Sqrt(_) | Node::Abs(_) | Node::Binary(..) => true,
            Node::Select { yes, .. } => is_real(yes),
        };
        let id = self.nodes.len() as Id;
        self.nodes.push(node);
        self.real.push(real);
        self.seen.insert(node, id);
        id
    }

    fn push(&mut self, node: Node) -> Number {
        Some(Value {
            node: self.id(node),
            phase: 0,
        })
    }

    fn is_real(&self, id: Id) -> bool {
        self.real[id as usize]
    }

    fn constant(&mut self, x: f64) -> Number {
        if x == 0.0 {
            return None;
        }
        let node = self.id(Node::Const(x.abs().to_bits()));
        let phase = if x < 0.0 { 2 } else { 0 };
        Some(Value { node, phase })
    }

    /// The real constant that a number is up to its phase, if it is one.
    fn known(&self, value: Value) -> Option<f64> {
        match self.nodes[value.node as usize] {
            Node::Const(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// `re + i im` of two real numbers.
    fn complex(&mut self, re: Number, im: Number) -> Number {
        let im = rotate(im, 1);
        self.add(re, im)
    }

    /// Real and imaginary part, if they are available without computation.
    fn parts(&mut self, x: Number) -> Option<(Number, Number)> {
        let Some(value) = x else {
            return Some((None, None));
        };
        let at = |node: Id, phase: u8| {
            Some(Value {
                node,
                phase: phase % 4,
            })
        };
        // An even phase gives a real part, an odd one i times an imaginary part.
        let split = |value: Number| match value {
            Some(v) if v.phase % 2 == 1 => (None, rotate(value, 3)),
            _ => (value, None),
        };
        if self.is_real(value.node) {
            return Some(split(x));
        }
        match self.nodes[value.node as usize] {
            Node::Add { phase, a, b } if self.is_real(a) && self.is_real(b) => {
                let (re1, im1) = split(at(a, value.phase));
                let (re2, im2) = split(at(b, value.phase + phase));
                // One is real and the other imaginary.
                Some((re1.or(re2), im1.or(im2)))
            }
            _ => None,
        }
    }

    fn add(&mut self, x: Number, y: Number) -> Number {
        let (Some(mut a), Some(mut b)) = (x, y) else {
            return x.or(y);
        };
        let made = |graph: &Graph, v: Value| {
            !graph.is_real(v.node) && matches!(graph.nodes[v.node as usize], Node::Add { .. })
        };
        if (made(self, a) || made(self, b))
            && let (Some((re1, im1)), Some((re2, im2))) = (self.parts(x), self.parts(y))
            && !(re1.is_none() && im2.is_none())
            && !(re2.is_none() && im1.is_none())
        {
            let re = self.add(re1, re2);
            let im = self.add(im1, im2);
            return self.complex(re, im);
        }
        let order = |graph: &Graph, v: Value| (graph.is_real(v.node), v.node);
        if order(self, b) < order(self, a) {
            std::mem::swap(&mut a, &mut b);
        }
        let phase = (b.phase + 4 - a.phase) % 4;
        if a.node == b.node && phase % 2 == 0 {
            if phase == 2 {
                return None;
            }
            let two = self.constant(2.0);
            return self.mul(two, Some(a));
        }
        if let (Some(p), Some(q)) = (self.known(a), self.known(b))
            && phase % 2 == 0
        {
            let sum = self.constant(if phase == 0 { p + q } else { p - q });
            return rotate(sum, a.phase);
        }
        let sum = self.push(Node::Add {
            phase,
            a: a.node,
            b: b.node,
        });
        rotate(sum, a.phase)
    }

    fn mul(&mut self, x: Number, y: Number) -> Number {
        let (mut a, mut b) = (x?, y?);
        let phase = a.phase + b.phase;
        let order =
            |graph: &Graph, v: Value| (!graph.is_real(v.node), graph.known(v).is_none(), v.node);
        if order(self, b) < order(self, a) {
            std::mem::swap(&mut a, &mut b);
        }
        if let Some(p) = self.known(a) {
            if p == 1.0 {
                return rotate(Some(Value { phase: 0, ..b }), phase);
            }
            if let Some(q) = self.known(b) {
                let product = self.constant(p * q);
                return rotate(product, phase);
            }
            // Combines a constant with the constant of a product.
            if let Node::Mul { a: c, b: rest } = self.nodes[b.node as usize]
                && let Node::Const(bits) = self.nodes[c as usize]
            {
                let both = self.constant(p * f64::from_bits(bits));
                let rest = Some(Value {
                    node: rest,
                    phase: 0,
                });
                let product = self.mul(both, rest);
                return rotate(product, phase);
            }
        }
        let product = self.push(Node::Mul {
            a: a.node,
            b: b.node,
        });
        rotate(product, phase)
    }

    fn inverse(&mut self, x: Number) -> Number {
        let Some(value) = x else {
            return self.constant(f64::INFINITY);
        };
        let inverse = match self.known(value) {
            Some(p) => self.constant(1.0 / p),
            None => self.push(Node::Inverse(value.node)),
        };
        rotate(inverse, 4 - value.phase)
    }

    /// A node that equals the number, without a phase.
    fn plain(&mut self, x: Number) -> Id {
        match x {
            None => self.id(Node::Const(0)),
            Some(Value { node, phase: 0 }) => node,
            Some(Value { node, phase }) if self.is_real(node) && phase % 2 == 1 => {
                let a = self.id(Node::Widen(node));
                self.id(Node::Phase { phase, a })
            }
            Some(Value { node, phase }) => self.id(Node::Phase { phase, a: node }),
        }
    }

    /// Like `plain`, as a complex node.
    fn plain_complex(&mut self, x: Number) -> Id {
        let node = self.plain(x);
        if self.is_real(node) {
            self.id(Node::Widen(node))
        } else {
            node
        }
    }

    /// Like `plain`, for the real part.
    fn plain_re(&mut self, x: Number) -> Id {
        let re = self.re(x);
        self.plain(re)
    }

    fn re(&mut self, x: Number) -> Number {
        let value = x?;
        if let Some((re, _)) = self.parts(x) {
            return re;
        }
        // Re(i z) = -Im z, and so on.
        let part = match value.phase {
            0 | 2 => self.push(Node::Re(value.node)),
            _ => self.push(Node::Im(value.node)),
        };
        rotate(
            part,
            if value.phase == 1 || value.phase == 2 {
                2
            } else {
                0
            },
        )
    }

    fn im(&mut self, x: Number) -> Number {
        let turned = rotate(x, 3);
        self.re(turned)
    }

    fn conj(&mut self, x: Number) -> Number {
        let value = x?;
        if let Some((re, im)) = self.parts(x) {
            return self.complex(re, rotate(im, 2));
        }
        let conj = self.push(Node::Conj(value.node));
        rotate(conj, 4 - value.phase)
    }

    fn power(&mut self, x: Number, n: i32) -> Number {
        let mut result = self.constant(1.0);
        let mut square = x;
        let mut left = n.unsigned_abs();
        while left > 0 {
            if left % 2 == 1 {
                result = self.mul(result, square);
            }
            left /= 2;
            if left > 0 {
                square = self.mul(square, square);
            }
        }
        if n < 0 { self.inverse(result) } else { result }
    }

    fn select(&mut self, test: Test, lhs: Number, rhs: Number, yes: Number, no: Number) -> Number {
        if yes == no {
            return yes;
        }
        let (lhs, rhs) = (self.plain(lhs), self.plain(rhs));
        if let (Node::Const(p), Node::Const(q)) =
            (self.nodes[lhs as usize], self.nodes[rhs as usize])
        {
            let (p, q) = (f64::from_bits(p), f64::from_bits(q));
            let holds = match test {
                Test::Lt => p < q,
                Test::Le => p <= q,
                Test::Eq => p == q,
            };
            return if holds { yes } else { no };
        }
        let real =
            |graph: &Graph, x: Number| x.is_none_or(|v| graph.is_real(v.node) && v.phase % 2 == 0);
        let (yes, no) = if real(self, yes) && real(self, no) {
            (self.plain(yes), self.plain(no))
        } else {
            (self.plain_complex(yes), self.plain_complex(no))
        };
        self.push(Node::Select {
            test,
            lhs,
            rhs,
            yes,
            no,
        })
    }

    /// A function of complex nodes; with `real`, the real part of its result.
    fn elementary(&mut self, function: Elementary, x: Number, y: Number, real: bool) -> Number {
        let a = self.plain_complex(x);
        let b = self.plain_complex(y);
        let result = self.push(Node::Elementary(function, a, b));
        if real { self.re(result) } else { result }
    }

    fn call(&mut self, function: Function, x: Number) -> Number {
        let is_real = self
            .parts(x)
            .is_some_and(|(_, imaginary)| imaginary.is_none());
        match function {
            Function::Re => self.re(x),
            Function::Im => self.im(x),
            Function::Conj => self.conj(x),
            Function::RealSqrt => {
                let a = self.plain_re(x);
                self.push(Node::Sqrt(a))
            }
            Function::Abs if is_real => {
                let a = self.plain_re(x);
                self.push(Node::Abs(a))
            }
            Function::Abs => {
                let (re, im) = (self.re(x), self.im(x));
                let re2 = self.mul(re, re);
                let im2 = self.mul(im, im);
                let sum = self.add(re2, im2);
                let a = self.plain(sum);
                self.push(Node::Sqrt(a))
            }
            Function::RealLog => self.elementary(Elementary::Call(function), x, x, true),
            // The result may be complex for real arguments.
            Function::Sqrt | Function::Log | Function::Asin | Function::Acos => {
                self.elementary(Elementary::Call(function), x, x, false)
            }
            Function::Exp
            | Function::Sin
            | Function::Cos
            | Function::Tan
            | Function::Atan
            | Function::Sinh
            | Function::Cosh
            | Function::Tanh => self.elementary(Elementary::Call(function), x, x, is_real),
        }
    }

    fn binary(&mut self, binary: Binary, x: Number, y: Number) -> Number {
        let (a, b) = (self.plain_re(x), self.plain_re(y));
        self.push(Node::Binary(binary, a, b))
    }

    fn lower(&mut self, op: &Op, inputs: &[Number], values: &[Number]) -> Number {
        let v = |id: u32| values[id as usize];
        match *op {
            Op::Input(n) => inputs[n as usize],
            Op::Const(re, im) => {
                let (re, im) = (self.constant(re), self.constant(im));
                self.complex(re, im)
            }
            Op::Neg(a) => rotate(v(a), 2),
            Op::Add(a, b) => self.add(v(a), v(b)),
            Op::Sub(a, b) => self.add(v(a), rotate(v(b), 2)),
            Op::Mul(a, b) => self.mul(v(a), v(b)),
            Op::Div(a, b) => {
                let inverse = self.inverse(v(b));
                self.mul(v(a), inverse)
            }
            Op::PowI(a, n) => self.power(v(a), n),
            Op::Pow(a, b) => self.elementary(Elementary::Pow, v(a), v(b), false),
            Op::Call(function, a) => self.call(function, v(a)),
            Op::Complex(a, b) => {
                let (re, im) = (self.re(v(a)), self.re(v(b)));
                self.complex(re, im)
            }
            Op::Max(a, b) => self.binary(Binary::Max, v(a), v(b)),
            Op::Min(a, b) => self.binary(Binary::Min, v(a), v(b)),
            Op::Sign(a, b) => self.binary(Binary::Sign, v(a), v(b)),
            Op::Atan2(a, b) => self.elementary(Elementary::Atan2, v(a), v(b), true),
            Op::Select {
                test,
                lhs,
                rhs,
                yes,
                no,
            } => self.lower_select(test, v(lhs), v(rhs), v(yes), v(no)),
        }
    }

    fn lower_select(
        &mut self,
        test: Comparison,
        lhs: Number,
        rhs: Number,
        yes: Number,
        no: Number,
    ) -> Number {
        let (l, r) = (self.re(lhs), self.re(rhs));
        match test {
            Comparison::Eq | Comparison::Ne => {
                let (yes, no) = if test == Comparison::Eq {
                    (yes, no)
                } else {
                    (no, yes)
                };
                let (li, ri) = (self.im(lhs), self.im(rhs));
                let inner = self.select(Test::Eq, li, ri, yes, no);
                self.select(Test::Eq, l, r, inner, no)
            }
            Comparison::Lt => self.select(Test::Lt, l, r, yes, no),
            Comparison::Le => self.select(Test::Le, l, r, yes, no),
            Comparison::Gt => self.select(Test::Lt, r, l, yes, no),
            Comparison::Ge => self.select(Test::Le, r, l, yes, no),
        }
    }
}

/// `i^by` times a number.
fn rotate(x: Number, by: u8) -> Number {
    x.map(|value| Value {
        phase: (value.phase + by) % 4,
        ..value
    })
}

/// Evaluates an elementary function.
pub fn evaluate_elementary(function: Elementary, a: Complex64, b: Complex64) -> Complex64 {
    use mebridge_process::arith::evaluate_op;
    let op = match function {
        Elementary::Call(function) => Op::Call(function, 0),
        Elementary::Pow => Op::Pow(0, 1),
        Elementary::Atan2 => Op::Atan2(0, 1),
    };
    evaluate_op(&op, &[], |value| if value == 0 { a } else { b })
}
