//! Values of the symbolic interpreter: what Fortran's types say about a value of a program.

use super::amplitude_expression::AmplitudeExpression;
use super::expression::Parsed;
use super::statement::Type;
use mebridge_process::arith::{Builder, Comparison, Function, Op, ValueId};
use std::rc::Rc;

/// A value. Integers are known numbers; reals and complex ones are values of the program that
/// is being built.
#[derive(Clone, Debug)]
pub enum Value {
    Int(i64),
    Real(ValueId),
    Complex(ValueId),
    Logical(Truth),
    Text,
    /// Something made of amplitudes.
    AmplitudeExpression(Rc<AmplitudeExpression>),
    /// A wavefunction, by its number: what the first element of a column of W holds.
    Wavefunction(u32),
    /// A value that could not be computed, with the reason. It is an error to need it.
    Broken(Rc<str>),
}

/// A logical value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Known(bool),
    /// Holds where the comparison does.
    Test(Comparison, ValueId, ValueId),
}

impl Value {
    /// The value as a real or complex one, and whether it is real.
    pub fn number(&self, builder: &mut Builder) -> Parsed<(ValueId, bool)> {
        match self {
            Value::Int(i) => Ok((builder.real(*i as f64), true)),
            Value::Real(v) => Ok((*v, true)),
            Value::Complex(v) => Ok((*v, false)),
            Value::Broken(why) => Err(why.to_string()),
            Value::AmplitudeExpression(_) => Err("amplitudes where only a number can stand".into()),
            Value::Wavefunction(_) => {
                Err("a component of a wavefunction, outside of the routines for them".into())
            }
            Value::Logical(_) | Value::Text => Err("expected a number".into()),
        }
    }

    /// The value as a real one: of a complex value its real part.
    pub fn real(&self, builder: &mut Builder) -> Parsed<ValueId> {
        let (v, is_real) = self.number(builder)?;
        Ok(if is_real {
            v
        } else {
            builder.push(Op::Call(Function::Re, v))
        })
    }

    /// The type of a variable that holds it.
    pub fn fortran_type(&self) -> Option<Type> {
        match self {
            Value::Int(_) => Some(Type::Integer),
            Value::Real(_) => Some(Type::Real),
            Value::Complex(_) => Some(Type::Complex),
            Value::Logical(_) => Some(Type::Logical),
            Value::Text => Some(Type::Character),
            Value::AmplitudeExpression(_) | Value::Wavefunction(_) | Value::Broken(_) => None,
        }
    }

    pub fn int(&self) -> Parsed<i64> {
        match self {
            Value::Int(i) => Ok(*i),
            Value::Broken(why) => Err(why.to_string()),
            _ => Err("expected an integer that is known on import".into()),
        }
    }

    pub fn truth(&self) -> Parsed<Truth> {
        match self {
            Value::Logical(t) => Ok(*t),
            Value::Broken(why) => Err(why.to_string()),
            _ => Err("expected a logical value".into()),
        }
    }

    /// The value as an assignment to a variable of this type leaves it.
    pub fn convert(self, ty: Type, builder: &mut Builder) -> Parsed<Value> {
        if let Value::Broken(_) = self {
            return Ok(self);
        }
        match ty {
            Type::Single => Err("a variable in single precision".into()),
            Type::Real if matches!(self, Value::AmplitudeExpression(_)) => {
                let Value::AmplitudeExpression(form) = self else {
                    return Err("expected amplitudes".into());
                };
                Ok(Value::AmplitudeExpression(Rc::new(
                    owned(form).real_part()?,
                )))
            }
            Type::Complex if matches!(self, Value::AmplitudeExpression(_)) => match &self {
                Value::AmplitudeExpression(form)
                    if matches!(**form, AmplitudeExpression::Real(_)) =>
                {
                    Err("a real sum of squares of amplitudes in a COMPLEX variable".into())
                }
                _ => Ok(self),
            },
            Type::Integer => match self {
                Value::Int(_) => Ok(self),
                _ => {
                    let v = self.real(builder)?;
                    let known = builder.constant(v);
                    let known = known.ok_or("an integer that depends on a parameter")?.re;
                    if known.abs() < 9e15 {
                        Ok(Value::Int(known.trunc() as i64))
                    } else {
                        Err("an integer out of range".into())
                    }
                }
            },
            Type::Real => Ok(Value::Real(self.real(builder)?)),
            Type::Complex => Ok(Value::Complex(self.number(builder)?.0)),
            Type::Logical => Ok(Value::Logical(self.truth()?)),
            Type::Character => Ok(Value::Text),
        }
    }
}

/// The form itself, without a copy where nobody else has it.
pub fn owned(form: Rc<AmplitudeExpression>) -> AmplitudeExpression {
    Rc::try_unwrap(form).unwrap_or_else(|shared| (*shared).clone())
}

impl Truth {
    /// Compares two numbers.
    pub fn compare(test: Comparison, a: &Value, b: &Value, builder: &mut Builder) -> Parsed<Truth> {
        if let (Value::Int(a), Value::Int(b)) = (a, b) {
            return Ok(Truth::Known(match test {
                Comparison::Eq => a == b,
                Comparison::Ne => a != b,
                Comparison::Lt => a < b,
                Comparison::Le => a <= b,
                Comparison::Gt => a > b,
                Comparison::Ge => a >= b,
            }));
        }
        let (a, a_real) = a.number(builder)?;
        let (b, b_real) = b.number(builder)?;
        let order = !matches!(test, Comparison::Eq | Comparison::Ne);
        if order && !(a_real && b_real) {
            return Err("complex numbers have no order".into());
        }
        Ok(Truth::Test(test, a, b).settled(builder))
    }

    /// The same, known if both sides are constants.
    fn settled(self, builder: &mut Builder) -> Truth {
        let Truth::Test(test, a, b) = self else {
            return self;
        };
        if builder.constant(a).is_none() || builder.constant(b).is_none() {
            return self;
        }
        let value = Truth::select(test, a, b, builder);
        match builder.constant(value) {
            Some(c) => Truth::Known(c.re != 0.0),
            None => self,
        }
    }

    fn select(test: Comparison, lhs: ValueId, rhs: ValueId, builder: &mut Builder) -> ValueId {
        let yes = builder.real(1.0);
        let no = builder.real(0.0);
        builder.push(Op::Select {
            test,
            lhs,
            rhs,
            yes,
            no,
        })
    }

    /// 1 where it holds, 0 elsewhere.
    fn number(self, builder: &mut Builder) -> ValueId {
        match self {
            Truth::Known(known) => builder.real(f64::from(u8::from(known))),
            Truth::Test(test, a, b) => Truth::select(test, a, b, builder),
        }
    }

    /// True where the number is not 0.
    fn of_number(v: ValueId, builder: &mut Builder) -> Truth {
        let zero = builder.real(0.0);
        Truth::Test(Comparison::Ne, v, zero).settled(builder)
    }

    pub fn not(self, builder: &mut Builder) -> Truth {
        match self {
            Truth::Known(known) => Truth::Known(!known),
            Truth::Test(..) => {
                // Not the opposite comparison, which differs where a side is NaN.
                let one = builder.real(1.0);
                let v = self.number(builder);
                let v = builder.push(Op::Sub(one, v));
                Truth::of_number(v, builder)
            }
        }
    }

    pub fn and(self, other: Truth, builder: &mut Builder) -> Truth {
        match (self, other) {
            (Truth::Known(false), _) | (_, Truth::Known(false)) => Truth::Known(false),
            (Truth::Known(true), t) | (t, Truth::Known(true)) => t,
            _ => {
                let (a, b) = (self.number(builder), other.number(builder));
                let v = builder.push(Op::Min(a, b));
                Truth::of_number(v, builder)
            }
        }
    }

    pub fn or(self, other: Truth, builder: &mut Builder) -> Truth {
        match (self, other) {
            (Truth::Known(true), _) | (_, Truth::Known(true)) => Truth::Known(true),
            (Truth::Known(false), t) | (t, Truth::Known(false)) => t,
            _ => {
                let (a, b) = (self.number(builder), other.number(builder));
                let v = builder.push(Op::Max(a, b));
                Truth::of_number(v, builder)
            }
        }
    }

    /// `yes` where it holds, `no` elsewhere.
    pub fn choose(self, yes: &Value, no: &Value, builder: &mut Builder) -> Parsed<Value> {
        let (test, lhs, rhs) = match self {
            Truth::Known(known) => return Ok(if known { yes.clone() } else { no.clone() }),
            Truth::Test(test, lhs, rhs) => (test, lhs, rhs),
        };
        let select = |yes, no, builder: &mut Builder| {
            if yes == no {
                return yes;
            }
            builder.push(Op::Select {
                test,
                lhs,
                rhs,
                yes,
                no,
            })
        };
        match (yes, no) {
            (Value::Int(a), Value::Int(b)) if a == b => Ok(yes.clone()),
            (Value::Logical(a), Value::Logical(b)) => {
                if a == b {
                    return Ok(yes.clone());
                }
                let (a, b) = (a.number(builder), b.number(builder));
                let v = select(a, b, builder);
                Ok(Value::Logical(Truth::of_number(v, builder)))
            }
            (Value::Text, Value::Text) => Ok(Value::Text),
            _ => {
                let (a, a_real) = yes.number(builder)?;
                let (b, b_real) = no.number(builder)?;
                let v = select(a, b, builder);
                Ok(if a_real && b_real {
                    Value::Real(v)
                } else {
                    Value::Complex(v)
                })
            }
        }
    }
}
