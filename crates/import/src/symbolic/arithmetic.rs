//! Operators on values, with Fortran's type rules.

use crate::amplitude_expression::AmplitudeExpression;
use crate::expression::Parsed;
use crate::value::{FortranValue, owned};
use mebridge_process::arith::{Builder, Comparison, Function, Op};
use num_complex::Complex64;
use std::rc::Rc;

/// Returns the index of an element in column-major order.
pub fn offset(name: &str, dims: &[(i64, Option<i64>)], indices: &[i64]) -> Parsed<i64> {
    if dims.len() != indices.len() {
        return Err(format!(
            "{name} has {} dimensions and is used with {}",
            dims.len(),
            indices.len()
        ));
    }
    let range = || format!("{name}: index {indices:?} is out of bounds");
    let mut offset = 0i64;
    let mut stride = 1i64;
    for (i, ((low, high), index)) in dims.iter().zip(indices).enumerate() {
        if index < low || high.is_some_and(|h| *index > h) {
            return Err(range());
        }
        let step = index.checked_sub(*low).and_then(|d| d.checked_mul(stride));
        offset = step.and_then(|s| offset.checked_add(s)).ok_or_else(range)?;
        if i + 1 < dims.len() {
            let high = high.ok_or_else(|| format!("the bounds of {name} are not known"))?;
            let extent = high.checked_sub(*low).and_then(|e| e.checked_add(1));
            stride = extent
                .and_then(|e| stride.checked_mul(e))
                .ok_or_else(range)?;
        }
    }
    Ok(offset)
}

/// Negates a value.
pub fn negated(value: &FortranValue, b: &mut Builder) -> Parsed<FortranValue> {
    match value {
        FortranValue::Int(i) => Ok(FortranValue::Int(
            i.checked_neg().ok_or("integer overflow")?,
        )),
        FortranValue::AmplitudeExpression(form) => {
            let form = (**form).clone();
            let form = form.scaled(Complex64::new(-1.0, 0.0), 1.0)?;
            Ok(FortranValue::AmplitudeExpression(Rc::new(form)))
        }
        _ => {
            let (v, real) = value.number(b)?;
            if real {
                // Not Neg, which would give the zero imaginary part of a REAL value a sign: on a branch cut that
                // selects the other side.
                let zero = b.real(0.0);
                return Ok(FortranValue::Real(b.push(Op::Sub(zero, v))));
            }
            Ok(FortranValue::Complex(b.push(Op::Neg(v))))
        }
    }
}

/// Adds two values, or subtracts the second if `negative`.
pub fn sum(
    x: FortranValue,
    y: FortranValue,
    negative: bool,
    b: &mut Builder,
) -> Parsed<FortranValue> {
    match (x, y) {
        (FortranValue::AmplitudeExpression(x), FortranValue::AmplitudeExpression(y)) => {
            let mut x = owned(x);
            x.add(owned(y), negative)?;
            Ok(FortranValue::AmplitudeExpression(Rc::new(x)))
        }
        (FortranValue::AmplitudeExpression(x), y) => match is_zero(&y, b)? {
            true => Ok(FortranValue::AmplitudeExpression(x)),
            false => Err("a number is added to amplitudes".into()),
        },
        (x, FortranValue::AmplitudeExpression(y)) => match (is_zero(&x, b)?, negative) {
            (true, false) => Ok(FortranValue::AmplitudeExpression(y)),
            (true, true) => negated(&FortranValue::AmplitudeExpression(y), b),
            (false, _) => Err("amplitudes are added to a number".into()),
        },
        (x, y) if negative => arithmetic(&x, &y, b, i64::checked_sub, Op::Sub),
        (x, y) => arithmetic(&x, &y, b, i64::checked_add, Op::Add),
    }
}

/// Multiplies two values, or divides by the second if `divides`.
pub fn product(
    x: FortranValue,
    y: FortranValue,
    divides: bool,
    b: &mut Builder,
) -> Parsed<FortranValue> {
    match (x, y) {
        (FortranValue::AmplitudeExpression(_), FortranValue::AmplitudeExpression(_)) if divides => {
            Err("a quotient of amplitudes".into())
        }
        (FortranValue::AmplitudeExpression(x), FortranValue::AmplitudeExpression(y)) => {
            let product = owned(x).product(owned(y))?;
            Ok(FortranValue::AmplitudeExpression(Rc::new(product)))
        }
        (FortranValue::AmplitudeExpression(x), y) => scaled(owned(x), &y, divides, b),
        (x, FortranValue::AmplitudeExpression(y)) if !divides => scaled(owned(y), &x, false, b),
        (_, FortranValue::AmplitudeExpression(_)) => {
            Err("a number is divided by amplitudes".into())
        }
        (x, y) if divides => arithmetic(&x, &y, b, i64::checked_div, Op::Div),
        (x, y) => arithmetic(&x, &y, b, i64::checked_mul, Op::Mul),
    }
}

fn scaled(
    form: AmplitudeExpression,
    by: &FortranValue,
    divides: bool,
    b: &mut Builder,
) -> Parsed<FortranValue> {
    let by = known(by, b)?;
    if by == Complex64::new(0.0, 0.0) && !divides {
        let zero = b.real(0.0);
        return Ok(match form.is_real() {
            true => FortranValue::Real(zero),
            false => FortranValue::Complex(zero),
        });
    }
    let form = match (divides, by.im == 0.0) {
        (false, _) => form.scaled(by, 1.0)?,
        (true, true) => form.scaled(Complex64::new(1.0, 0.0), by.re)?,
        (true, false) => form.scaled(by.inv(), 1.0)?,
    };
    Ok(FortranValue::AmplitudeExpression(Rc::new(form)))
}

fn known(value: &FortranValue, b: &mut Builder) -> Parsed<Complex64> {
    let (value, _) = value.number(b)?;
    let known = b.constant(value);
    known.ok_or_else(|| "amplitudes are multiplied with what is no constant".into())
}

fn is_zero(value: &FortranValue, b: &mut Builder) -> Parsed<bool> {
    let (value, _) = value.number(b)?;
    Ok(b.constant(value) == Some(Complex64::new(0.0, 0.0)))
}

/// Applies an operation to numbers; the result of integers is an integer.
fn arithmetic(
    x: &FortranValue,
    y: &FortranValue,
    b: &mut Builder,
    of_ints: impl Fn(i64, i64) -> Option<i64>,
    op: impl Fn(u32, u32) -> Op,
) -> Parsed<FortranValue> {
    if let (FortranValue::Int(x), FortranValue::Int(y)) = (x, y) {
        let result = of_ints(*x, *y).ok_or("integer overflow or division by zero")?;
        return Ok(FortranValue::Int(result));
    }
    let (x, x_real) = x.number(b)?;
    let (y, y_real) = y.number(b)?;
    let v = b.push(op(x, y));
    Ok(if x_real && y_real {
        FortranValue::Real(v)
    } else {
        FortranValue::Complex(v)
    })
}

/// Computes a power; an integer exponent means repeated products.
pub fn power(
    base: &FortranValue,
    exponent: &FortranValue,
    b: &mut Builder,
) -> Parsed<FortranValue> {
    if let FortranValue::Int(n) = exponent {
        if let FortranValue::Int(base) = base {
            let n = u32::try_from(*n).map_err(|_| "a negative power of an integer")?;
            let result = base.checked_pow(n).ok_or("integer overflow")?;
            return Ok(FortranValue::Int(result));
        }
        let n = i32::try_from(*n).map_err(|_| "a power is out of range")?;
        let (v, real) = base.number(b)?;
        let v = b.push(Op::PowI(v, n));
        return Ok(if real {
            FortranValue::Real(v)
        } else {
            FortranValue::Complex(v)
        });
    }
    let (x, x_real) = base.number(b)?;
    let (y, y_real) = exponent.number(b)?;
    let v = b.push(Op::Pow(x, y));
    if !(x_real && y_real) {
        return Ok(FortranValue::Complex(v));
    }
    // A fractional power of a negative number has no REAL value.
    if b.constant(x).is_some_and(|x| x.re >= 0.0) {
        return Ok(FortranValue::Real(v));
    }
    if b.constant(y).is_some_and(|y| y.re.fract() == 0.0) {
        return Ok(FortranValue::Real(b.push(Op::Call(Function::Re, v))));
    }
    let zero = b.real(0.0);
    let nan = b.real(f64::NAN);
    Ok(FortranValue::Real(b.push(Op::Select {
        test: Comparison::Lt,
        lhs: x,
        rhs: zero,
        yes: nan,
        no: v,
    })))
}
