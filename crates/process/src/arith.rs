//! Straight-line arithmetic: the representation of all formulas.
//!
//! A model's couplings and parameters (`Source/MODEL`) and the bodies of Lorentz structures (`Source/DHELAS`) have no
//! loops, and no branches beyond a choice between two values. Both are therefore held as a list of operations in
//! single-assignment form, in which each operation refers to earlier ones.
//!
//! Every value is a complex number; a REAL value of Fortran has imaginary part zero. If the meaning in Fortran depends
//! on the type (the square root of a negative number is NaN for REAL and imaginary for COMPLEX), there are two
//! operations here.

use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A value: the position in [`Program::ops`] of the operation that computes it.
pub type ValueId = u32;

/// Functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Function {
    /// Square root of a REAL argument: NaN where it is negative.
    RealSqrt,
    /// Principal square root of a COMPLEX argument.
    Sqrt,
    Exp,
    /// Natural logarithm of a REAL argument: NaN where it is negative.
    RealLog,
    /// Principal logarithm of a COMPLEX argument.
    Log,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    /// Modulus; of a REAL argument its absolute value.
    Abs,
    Conj,
    Re,
    Im,
}

/// Comparisons of two REAL values (`Eq` and `Ne` of any two).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Comparison {
    /// Whether the comparison holds for two values.
    pub fn holds(self, a: Complex64, b: Complex64) -> bool {
        match self {
            Comparison::Eq => a == b,
            Comparison::Ne => a != b,
            Comparison::Lt => a.re < b.re,
            Comparison::Le => a.re <= b.re,
            Comparison::Gt => a.re > b.re,
            Comparison::Ge => a.re >= b.re,
        }
    }
}

/// An operation on earlier values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Op {
    /// The n-th input of the program.
    Input(u32),
    /// A constant, real and imaginary part.
    Const(f64, f64),
    Neg(ValueId),
    Add(ValueId, ValueId),
    Sub(ValueId, ValueId),
    Mul(ValueId, ValueId),
    Div(ValueId, ValueId),
    /// Power with a constant integer exponent.
    PowI(ValueId, i32),
    /// Power with any exponent.
    Pow(ValueId, ValueId),
    /// A function of one argument.
    Call(Function, ValueId),
    /// `DCMPLX(a, b)` of two REAL values.
    Complex(ValueId, ValueId),
    /// The larger of two REAL values.
    Max(ValueId, ValueId),
    /// The smaller of two REAL values.
    Min(ValueId, ValueId),
    /// `SIGN(a, b)`: |a| with the sign of b.
    Sign(ValueId, ValueId),
    /// `ATAN2(a, b)`.
    Atan2(ValueId, ValueId),
    /// `yes` if the comparison of `lhs` and `rhs` holds, otherwise `no`.
    Select {
        test: Comparison,
        lhs: ValueId,
        rhs: ValueId,
        yes: ValueId,
        no: ValueId,
    },
}

impl Op {
    /// The same operation on other operands.
    pub fn map_operands(&self, f: impl Fn(ValueId) -> ValueId) -> Op {
        match *self {
            Op::Input(_) | Op::Const(..) => *self,
            Op::Neg(a) => Op::Neg(f(a)),
            Op::PowI(a, n) => Op::PowI(f(a), n),
            Op::Call(function, a) => Op::Call(function, f(a)),
            Op::Add(a, b) => Op::Add(f(a), f(b)),
            Op::Sub(a, b) => Op::Sub(f(a), f(b)),
            Op::Mul(a, b) => Op::Mul(f(a), f(b)),
            Op::Div(a, b) => Op::Div(f(a), f(b)),
            Op::Pow(a, b) => Op::Pow(f(a), f(b)),
            Op::Complex(a, b) => Op::Complex(f(a), f(b)),
            Op::Max(a, b) => Op::Max(f(a), f(b)),
            Op::Min(a, b) => Op::Min(f(a), f(b)),
            Op::Sign(a, b) => Op::Sign(f(a), f(b)),
            Op::Atan2(a, b) => Op::Atan2(f(a), f(b)),
            Op::Select {
                test,
                lhs,
                rhs,
                yes,
                no,
            } => Op::Select {
                test,
                lhs: f(lhs),
                rhs: f(rhs),
                yes: f(yes),
                no: f(no),
            },
        }
    }

    /// Calls `f` on every operand.
    pub fn for_each_operand(&self, mut f: impl FnMut(ValueId)) {
        match *self {
            Op::Input(_) | Op::Const(..) => {}
            Op::Neg(a) | Op::PowI(a, _) | Op::Call(_, a) => f(a),
            Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Div(a, b)
            | Op::Pow(a, b)
            | Op::Complex(a, b)
            | Op::Max(a, b)
            | Op::Min(a, b)
            | Op::Sign(a, b)
            | Op::Atan2(a, b) => {
                f(a);
                f(b);
            }
            Op::Select {
                lhs, rhs, yes, no, ..
            } => {
                f(lhs);
                f(rhs);
                f(yes);
                f(no);
            }
        }
    }
}

/// A list of operations in single-assignment form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Number of inputs.
    pub inputs: u32,
    /// The operations; each refers only to earlier ones.
    pub ops: Vec<Op>,
}

impl Program {
    /// Evaluates every operation. `inputs` must have [`Program::inputs`] entries.
    pub fn evaluate(&self, inputs: &[Complex64]) -> Vec<Complex64> {
        let mut values: Vec<Complex64> = Vec::with_capacity(self.ops.len());
        for op in &self.ops {
            let value = evaluate_op(op, inputs, |v| values[v as usize]);
            values.push(value);
        }
        values
    }

    /// For every value, whether it depends on an input for which `varies` is true.
    pub fn dependence(&self, varies: impl Fn(u32) -> bool) -> Vec<bool> {
        let mut depends = vec![false; self.ops.len()];
        for (i, op) in self.ops.iter().enumerate() {
            let mut any = matches!(*op, Op::Input(n) if varies(n));
            op.for_each_operand(|v| any |= depends[v as usize]);
            depends[i] = any;
        }
        depends
    }

    /// Describes the first defect: an operand that is not an earlier value, or an input out of range. `None` if there
    /// is none.
    pub fn defect(&self) -> Option<String> {
        for (i, op) in self.ops.iter().enumerate() {
            if let Op::Input(n) = *op
                && n >= self.inputs
            {
                return Some(format!("operation {i} reads input {n} of {}", self.inputs));
            }
            let mut bad = None;
            op.for_each_operand(|v| {
                if v as usize >= i {
                    bad = Some(v);
                }
            });
            if let Some(v) = bad {
                return Some(format!(
                    "operation {i} reads value {v}, which is not earlier"
                ));
            }
        }
        None
    }
}

/// Evaluates one operation, given the values of the earlier ones.
pub fn evaluate_op(op: &Op, inputs: &[Complex64], v: impl Fn(ValueId) -> Complex64) -> Complex64 {
    let real = |x: f64| Complex64::new(x, 0.0);
    match *op {
        Op::Input(n) => inputs[n as usize],
        Op::Const(re, im) => Complex64::new(re, im),
        Op::Neg(a) => -v(a),
        Op::Add(a, b) => v(a) + v(b),
        Op::Sub(a, b) => v(a) - v(b),
        Op::Mul(a, b) => {
            let (a, b) = (v(a), v(b));
            if a.im == 0.0 && b.im == 0.0 {
                // REAL times REAL: the imaginary part must not be -0.0, the other side of a branch cut.
                real(a.re * b.re)
            } else if a.im == 0.0 {
                b * a.re
            } else if b.im == 0.0 {
                a * b.re
            } else {
                a * b
            }
        }
        Op::Div(a, b) => {
            let (a, b) = (v(a), v(b));
            if a.im == 0.0 && b.im == 0.0 {
                real(a.re / b.re)
            } else if b.im == 0.0 {
                a / b.re
            } else {
                a / b
            }
        }
        Op::PowI(a, n) => {
            let a = v(a);
            if a.im == 0.0 {
                real(a.re.powi(n))
            } else {
                a.powi(n)
            }
        }
        Op::Pow(a, b) => {
            let (a, b) = (v(a), v(b));
            if a.im == 0.0 && b.im == 0.0 && a.re >= 0.0 {
                real(a.re.powf(b.re))
            } else {
                a.powc(b)
            }
        }
        Op::Call(function, a) => call(function, v(a)),
        Op::Complex(a, b) => Complex64::new(v(a).re, v(b).re),
        Op::Max(a, b) => real(v(a).re.max(v(b).re)),
        Op::Min(a, b) => real(v(a).re.min(v(b).re)),
        Op::Sign(a, b) => real(v(a).re.abs().copysign(v(b).re)),
        Op::Atan2(a, b) => real(v(a).re.atan2(v(b).re)),
        Op::Select {
            test,
            lhs,
            rhs,
            yes,
            no,
        } => {
            if test.holds(v(lhs), v(rhs)) {
                v(yes)
            } else {
                v(no)
            }
        }
    }
}

fn call(function: Function, x: Complex64) -> Complex64 {
    let real = |y: f64| Complex64::new(y, 0.0);
    let is_real = x.im == 0.0;
    match function {
        Function::RealSqrt => real(x.re.sqrt()),
        Function::Sqrt if is_real && x.re >= 0.0 => real(x.re.sqrt()),
        Function::Sqrt => x.sqrt(),
        Function::RealLog => real(x.re.ln()),
        Function::Log => x.ln(),
        Function::Exp if is_real => real(x.re.exp()),
        Function::Exp => x.exp(),
        Function::Sin if is_real => real(x.re.sin()),
        Function::Sin => x.sin(),
        Function::Cos if is_real => real(x.re.cos()),
        Function::Cos => x.cos(),
        Function::Tan if is_real => real(x.re.tan()),
        Function::Tan => x.tan(),
        Function::Asin if is_real && x.re.abs() <= 1.0 => real(x.re.asin()),
        Function::Asin => x.asin(),
        Function::Acos if is_real && x.re.abs() <= 1.0 => real(x.re.acos()),
        Function::Acos => x.acos(),
        Function::Atan if is_real => real(x.re.atan()),
        Function::Atan => x.atan(),
        Function::Sinh if is_real => real(x.re.sinh()),
        Function::Sinh => x.sinh(),
        Function::Cosh if is_real => real(x.re.cosh()),
        Function::Cosh => x.cosh(),
        Function::Tanh if is_real => real(x.re.tanh()),
        Function::Tanh => x.tanh(),
        Function::Abs => real(x.norm()),
        Function::Conj => x.conj(),
        Function::Re => real(x.re),
        Function::Im => real(x.im),
    }
}

/// Builds a program without duplicates: an operation that is already in the program is reused, and operations on
/// constants are folded.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    program: Program,
    seen: HashMap<Key, ValueId>,
}

/// An operation in hashable form, with its constants as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u8, u64, u64, u64);

impl Builder {
    /// Starts a program with this many inputs.
    pub fn new(inputs: u32) -> Self {
        let program = Program {
            inputs,
            ops: Vec::new(),
        };
        Builder {
            program,
            seen: HashMap::new(),
        }
    }

    /// Adds an input and returns its value.
    pub fn new_input(&mut self) -> ValueId {
        let n = self.program.inputs;
        self.program.inputs += 1;
        self.push(Op::Input(n))
    }

    /// The value of an input.
    pub fn input(&mut self, n: u32) -> ValueId {
        self.push(Op::Input(n))
    }

    /// A real constant.
    pub fn real(&mut self, x: f64) -> ValueId {
        self.push(Op::Const(x, 0.0))
    }

    /// A complex constant.
    pub fn complex(&mut self, re: f64, im: f64) -> ValueId {
        self.push(Op::Const(re, im))
    }

    /// Returns the value of an operation, which is appended unless it already exists.
    pub fn push(&mut self, op: Op) -> ValueId {
        let op = self.fold(op);
        let key = Key::new(&op);
        if let Some(&value) = self.seen.get(&key) {
            return value;
        }
        let value = self.program.ops.len() as ValueId;
        self.program.ops.push(op);
        self.seen.insert(key, value);
        value
    }

    /// The constant of this value; `None` if it is not a constant.
    pub fn constant(&self, value: ValueId) -> Option<Complex64> {
        match self.program.ops[value as usize] {
            Op::Const(re, im) => Some(Complex64::new(re, im)),
            _ => None,
        }
    }

    /// The program so far.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The finished program.
    pub fn finish(self) -> Program {
        self.program
    }

    /// Replaces an operation whose operands are all constants by its result.
    fn fold(&self, op: Op) -> Op {
        if matches!(op, Op::Input(_) | Op::Const(..)) {
            return op;
        }
        let mut all_constant = true;
        op.for_each_operand(|v| all_constant &= self.constant(v).is_some());
        if !all_constant {
            return op;
        }
        let result = evaluate_op(&op, &[], |v| self.constant(v).unwrap_or_default());
        Op::Const(result.re, result.im)
    }
}

impl Key {
    fn new(op: &Op) -> Key {
        let two = |tag: u8, a: ValueId, b: ValueId| Key(tag, a.into(), b.into(), 0);
        match *op {
            Op::Input(n) => Key(0, n.into(), 0, 0),
            Op::Const(re, im) => Key(1, re.to_bits(), im.to_bits(), 0),
            Op::Neg(a) => Key(2, a.into(), 0, 0),
            Op::Add(a, b) => two(3, a, b),
            Op::Sub(a, b) => two(4, a, b),
            Op::Mul(a, b) => two(5, a, b),
            Op::Div(a, b) => two(6, a, b),
            Op::PowI(a, n) => Key(7, a.into(), n as u32 as u64, 0),
            Op::Pow(a, b) => two(8, a, b),
            Op::Call(f, a) => Key(9, f as u64, a.into(), 0),
            Op::Complex(a, b) => two(10, a, b),
            Op::Max(a, b) => two(11, a, b),
            Op::Min(a, b) => two(12, a, b),
            Op::Sign(a, b) => two(13, a, b),
            Op::Atan2(a, b) => two(14, a, b),
            Op::Select {
                test,
                lhs,
                rhs,
                yes,
                no,
            } => Key(
                15 + test as u8,
                (u64::from(lhs) << 32) | u64::from(rhs),
                (u64::from(yes) << 32) | u64::from(no),
                0,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_each_operation_once_and_folds_constants() {
        let mut b = Builder::new(1);
        let x = b.input(0);
        let two = b.real(2.0);
        let three = b.real(3.0);
        let six = b.push(Op::Mul(two, three));
        assert_eq!(b.constant(six), Some(Complex64::new(6.0, 0.0)));
        let y = b.push(Op::Mul(six, x));
        let again = b.push(Op::Mul(six, x));
        assert_eq!(y, again);
        let values = b.finish().evaluate(&[Complex64::new(0.5, 1.0)]);
        assert_eq!(values[y as usize], Complex64::new(3.0, 6.0));
    }

    #[test]
    fn finds_what_depends_on_an_input() {
        let mut b = Builder::new(2);
        let g = b.input(0);
        let m = b.input(1);
        let m2 = b.push(Op::PowI(m, 2));
        let c = b.push(Op::Mul(g, m2));
        let depends = b.finish().dependence(|n| n == 0);
        assert!(depends[g as usize] && depends[c as usize]);
        assert!(!depends[m2 as usize]);
    }

    #[test]
    fn names_a_defect() {
        let program = Program {
            inputs: 1,
            ops: vec![Op::Input(0), Op::Add(0, 1)],
        };
        assert!(program.defect().unwrap().contains("value 1"));
    }

    #[test]
    fn real_and_complex_square_roots_differ() {
        let minus = Complex64::new(-4.0, 0.0);
        assert!(call(Function::RealSqrt, minus).re.is_nan());
        assert_eq!(call(Function::Sqrt, minus), Complex64::new(0.0, 2.0));
    }
}
