//! Values of the symbolic interpreter: values of a program with their Fortran types.

use super::amplitude_expression::{AmplitudeExpression, RealSum};
use super::expression::Parsed;
use super::statement::Type;
use mebridge_process::arith::{Builder, Comparison, Function, Op, ValueId};
use std::rc::Rc;

/// A value. Integers are known numbers; real and complex ones are values of the program being built.
#[derive(Clone, Debug)]
pub enum FortranValue {
    Int(i64),
    Real(ValueId),
    Complex(ValueId),
    Logical(Truth),
    Text,
    /// An expression of amplitudes.
    AmplitudeExpression(Rc<AmplitudeExpression>),
    /// A wavefunction by its index: the content of the first element of a column of W.
    Wavefunction(u32),
    /// A value that could not be computed, with the reason. It is an error to need it.
    Broken(Rc<str>),
}

/// A logical value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Known(bool),
    /// The result of a comparison.
    Test(Comparison, ValueId, ValueId),
}

impl FortranValue {
    /// Returns the value as a real or complex number, and whether it is real.
    pub fn number(&self, builder: &mut Builder) -> Parsed<(ValueId, bool)> {
        match self {
            FortranValue::Int(i) => Ok((builder.real(*i as f64), true)),
            FortranValue::Real(v) => Ok((*v, true)),
            FortranValue::Complex(v) => Ok((*v, false)),
            FortranValue::Broken(why) => Err(why.to_string()),
            FortranValue::AmplitudeExpression(_) => {
                Err("amplitudes where only a number can stand".into())
            }
            FortranValue::Wavefunction(_) => {
                Err("a component of a wavefunction, outside of the routines for them".into())
            }
            FortranValue::Logical(_) | FortranValue::Text => Err("expected a number".into()),
        }
    }

    /// Returns the value as a real number: the real part of a complex value.
    pub fn real(&self, builder: &mut Builder) -> Parsed<ValueId> {
        let (v, is_real) = self.number(builder)?;
        Ok(if is_real {
            v
        } else {
            builder.push(Op::Call(Function::Re, v))
        })
    }

    /// Returns the type of a variable that holds it.
    pub fn fortran_type(&self) -> Option<Type> {
        match self {
            FortranValue::Int(_) => Some(Type::Integer),
            FortranValue::Real(_) => Some(Type::Real),
            FortranValue::Complex(_) => Some(Type::Complex),
            FortranValue::Logical(_) => Some(Type::Logical),
            FortranValue::Text => Some(Type::Character),
            FortranValue::AmplitudeExpression(_)
            | FortranValue::Wavefunction(_)
            | FortranValue::Broken(_) => None,
        }
    }

    pub fn int(&self) -> Parsed<i64> {
        match self {
            FortranValue::Int(i) => Ok(*i),
            FortranValue::Broken(why) => Err(why.to_string()),
            _ => Err("expected an integer that is known on import".into()),
        }
    }

    pub fn truth(&self) -> Parsed<Truth> {
        match self {
            FortranValue::Logical(t) => Ok(*t),
            FortranValue::Broken(why) => Err(why.to_string()),
            _ => Err("expected a logical value".into()),
        }
    }

    /// Converts the value as in an assignment to a variable of this type.
    pub fn convert(self, ty: Type, builder: &mut Builder) -> Parsed<FortranValue> {
        if let FortranValue::Broken(_) = self {
            return Ok(self);
        }
        match ty {
            Type::Single => Err("a variable in single precision".into()),
            Type::Real if matches!(self, FortranValue::AmplitudeExpression(_)) => {
                let FortranValue::AmplitudeExpression(form) = self else {
                    return Err("expected amplitudes".into());
                };
                Ok(FortranValue::AmplitudeExpression(Rc::new(
                    owned(form).real_part()?,
                )))
            }
            Type::Complex if matches!(self, FortranValue::AmplitudeExpression(_)) => match &self {
                FortranValue::AmplitudeExpression(form) => match &**form {
                    AmplitudeExpression::Real(real) if real.complex => {
                        Err("a real sum of squares of amplitudes in a COMPLEX variable".into())
                    }
                    // Its imaginary part is zero.
                    AmplitudeExpression::Real(real) => {
                        let form = AmplitudeExpression::Real(RealSum {
                            complex: true,
                            ..real.clone()
                        });
                        Ok(FortranValue::AmplitudeExpression(Rc::new(form)))
                    }
                    _ => Ok(self),
                },
                _ => Ok(self),
            },
            Type::Integer => match self {
                FortranValue::Int(_) => Ok(self),
                _ => {
                    let v = self.real(builder)?;
                    let known = builder.constant(v);
                    let known = known.ok_or("an integer that depends on a parameter")?.re;
                    if known.abs() < 9e15 {
                        Ok(FortranValue::Int(known.trunc() as i64))
                    } else {
                        Err("an integer out of range".into())
                    }
                }
            },
            Type::Real => Ok(FortranValue::Real(self.real(builder)?)),
            Type::Complex => Ok(FortranValue::Complex(self.number(builder)?.0)),
            Type::Logical => Ok(FortranValue::Logical(self.truth()?)),
            Type::Character => Ok(FortranValue::Text),
        }
    }
}

/// Unwraps an expression, copying it only if it is shared.
pub fn owned(form: Rc<AmplitudeExpression>) -> AmplitudeExpression {
    Rc::try_unwrap(form).unwrap_or_else(|shared| (*shared).clone())
}

impl Truth {
    /// Compares two numbers.
    pub fn compare(
        test: Comparison,
        a: &FortranValue,
        b: &FortranValue,
        builder: &mut Builder,
    ) -> Parsed<Truth> {
        if let (FortranValue::Int(a), FortranValue::Int(b)) = (a, b) {
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

    /// Evaluates the comparison if both sides are constants.
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

    /// Returns 1 if it holds, 0 otherwise.
    fn number(self, builder: &mut Builder) -> ValueId {
        match self {
            Truth::Known(known) => builder.real(f64::from(u8::from(known))),
            Truth::Test(test, a, b) => Truth::select(test, a, b, builder),
        }
    }

    /// Returns whether a number is not 0.
    fn of_number(v: ValueId, builder: &mut Builder) -> Truth {
        let zero = builder.real(0.0);
        Truth::Test(Comparison::Ne, v, zero).settled(builder)
    }

    pub fn not(self, builder: &mut Builder) -> Truth {
        match self {
            Truth::Known(known) => Truth::Known(!known),
            Truth::Test(..) => {
                // Not the opposite comparison, which differs if a side is NaN.
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

    /// Returns `yes` if it holds, `no` otherwise.
    pub fn choose(
        self,
        yes: &FortranValue,
        no: &FortranValue,
        builder: &mut Builder,
    ) -> Parsed<FortranValue> {
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
            (FortranValue::Int(a), FortranValue::Int(b)) if a == b => Ok(yes.clone()),
            (FortranValue::Logical(a), FortranValue::Logical(b)) => {
                if a == b {
                    return Ok(yes.clone());
                }
                let (a, b) = (a.number(builder), b.number(builder));
                let v = select(a, b, builder);
                Ok(FortranValue::Logical(Truth::of_number(v, builder)))
            }
            (FortranValue::Text, FortranValue::Text) => Ok(FortranValue::Text),
            _ => {
                let (a, a_real) = yes.number(builder)?;
                let (b, b_real) = no.number(builder)?;
                let v = select(a, b, builder);
                Ok(if a_real && b_real {
                    FortranValue::Real(v)
                } else {
                    FortranValue::Complex(v)
                })
            }
        }
    }
}
