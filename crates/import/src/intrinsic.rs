//! Fortran's intrinsic functions, as operations of a program.
//!
//! Generic names (`SQRT`) follow the type of their argument, specific ones (`DSQRT`) imply it.

use super::amplitude_expression::AmplitudeExpression;
use super::expression::Parsed;
use super::value::FortranValue;
use mebridge_process::arith::{Builder, Comparison, Function, Op, ValueId};
use std::rc::Rc;

/// Calls an intrinsic function. `None` if there is no such function.
pub fn call(name: &str, args: &[FortranValue], b: &mut Builder) -> Option<Parsed<FortranValue>> {
    if let [FortranValue::AmplitudeExpression(form)] = args {
        return of_amplitudes(name, form);
    }
    match name {
        "SQRT" | "DSQRT" | "CSQRT" | "CDSQRT" | "ZSQRT" => Some(one(name, args).and_then(|x| {
            let (v, real) = x.number(b)?;
            Ok(if real {
                FortranValue::Real(b.push(Op::Call(Function::RealSqrt, v)))
            } else {
                FortranValue::Complex(b.push(Op::Call(Function::Sqrt, v)))
            })
        })),
        "LOG" | "DLOG" | "CLOG" | "CDLOG" | "ZLOG" => Some(one(name, args).and_then(|x| {
            let (v, real) = x.number(b)?;
            Ok(if real {
                FortranValue::Real(b.push(Op::Call(Function::RealLog, v)))
            } else {
                FortranValue::Complex(b.push(Op::Call(Function::Log, v)))
            })
        })),
        "LOG10" | "DLOG10" => Some(one(name, args).and_then(|x| {
            let v = x.real(b)?;
            let ten = b.real(std::f64::consts::LN_10);
            let log = b.push(Op::Call(Function::RealLog, v));
            Ok(FortranValue::Real(b.push(Op::Div(log, ten))))
        })),
        "EXP" | "DEXP" | "CEXP" | "CDEXP" => Some(same_type(name, Function::Exp, args, b)),
        "SIN" | "DSIN" | "CSIN" => Some(same_type(name, Function::Sin, args, b)),
        "COS" | "DCOS" | "CCOS" => Some(same_type(name, Function::Cos, args, b)),
        "TAN" | "DTAN" => Some(same_type(name, Function::Tan, args, b)),
        "SINH" | "DSINH" => Some(same_type(name, Function::Sinh, args, b)),
        "COSH" | "DCOSH" => Some(same_type(name, Function::Cosh, args, b)),
        "TANH" | "DTANH" => Some(same_type(name, Function::Tanh, args, b)),
        "ATAN" | "DATAN" => Some(same_type(name, Function::Atan, args, b)),
        "ASIN" | "DASIN" => Some(bounded(name, Function::Asin, args, b)),
        "ACOS" | "DACOS" => Some(bounded(name, Function::Acos, args, b)),
        "ABS" | "DABS" | "CDABS" | "ZABS" | "IABS" => Some(one(name, args).and_then(|x| {
            if let FortranValue::Int(i) = x {
                return Ok(FortranValue::Int(i.saturating_abs()));
            }
            let (v, _) = x.number(b)?;
            Ok(FortranValue::Real(b.push(Op::Call(Function::Abs, v))))
        })),
        "DBLE" | "DREAL" | "DFLOAT" => Some(real_function(name, Function::Re, args, b)),
        // The result has double precision for a COMPLEX*16 argument, single precision for others.
        "REAL" | "FLOAT" | "SNGL" => Some(match args {
            [FortranValue::Complex(_)] if name == "REAL" => {
                real_function(name, Function::Re, args, b)
            }
            _ => one(name, args).and_then(|x| single(name, x, b)),
        }),
        "DIMAG" | "AIMAG" | "IMAG" => Some(one(name, args).and_then(|x| {
            let (v, real) = x.number(b)?;
            Ok(FortranValue::Real(if real {
                b.real(0.0)
            } else {
                b.push(Op::Call(Function::Im, v))
            }))
        })),
        "CONJG" | "DCONJG" => Some(one(name, args).and_then(|x| {
            let (v, real) = x.number(b)?;
            Ok(FortranValue::Complex(if real {
                v
            } else {
                b.push(Op::Call(Function::Conj, v))
            }))
        })),
        "DCMPLX" => Some(complex(args, b)),
        // Without a kind, in single precision.
        "CMPLX" => Some(complex(args, b).and_then(|x| single(name, &x, b))),
        "MAX" | "DMAX1" | "AMAX1" | "MAX0" => Some(extreme(name, true, args, b)),
        "MIN" | "DMIN1" | "AMIN1" | "MIN0" => Some(extreme(name, false, args, b)),
        "SIGN" | "DSIGN" | "ISIGN" => Some(two(name, args).and_then(|(x, y)| {
            let (x, y) = (x.real(b)?, y.real(b)?);
            Ok(FortranValue::Real(b.push(Op::Sign(x, y))))
        })),
        "ATAN2" | "DATAN2" => Some(two(name, args).and_then(|(x, y)| {
            let (x, y) = (x.real(b)?, y.real(b)?);
            Ok(FortranValue::Real(b.push(Op::Atan2(x, y))))
        })),
        "MOD" => Some(two(name, args).and_then(|(x, y)| {
            let (x, y) = (x.int()?, y.int()?);
            x.checked_rem(y)
                .map(FortranValue::Int)
                .ok_or_else(|| "MOD by zero".into())
        })),
        "INT" | "IDINT" | "IFIX" => Some(
            one(name, args).and_then(|x| x.clone().convert(super::statement::Type::Integer, b)),
        ),
        _ => None,
    }
}

/// Applies a function to an expression of amplitudes.
fn of_amplitudes(name: &str, form: &AmplitudeExpression) -> Option<Parsed<FortranValue>> {
    let result = match name {
        "DCONJG" | "CONJG" => Ok(form.clone().conjugate()),
        "DBLE" | "DREAL" | "REAL" => form.clone().real_part(),
        "DABS" | "ABS" | "CDABS" | "ZABS" => form.clone().absolute(),
        _ => Err(format!("{name} of amplitudes")),
    };
    Some(result.map(|form| FortranValue::AmplitudeExpression(Rc::new(form))))
}

/// Converts a number to single precision: a constant is rounded; anything else is an error, since it would lose half of
/// its digits, which no formula of MG5aMC does.
fn single(name: &str, x: &FortranValue, b: &mut Builder) -> Parsed<FortranValue> {
    let (v, real) = x.number(b)?;
    let known = b.constant(v);
    let known = known.ok_or_else(|| format!("{name} rounds to single precision"))?;
    let rounded = |x: f64| f64::from(x as f32);
    Ok(match real {
        true => FortranValue::Real(b.real(rounded(known.re))),
        false => FortranValue::Complex(b.complex(rounded(known.re), rounded(known.im))),
    })
}

fn one<'a>(name: &str, args: &'a [FortranValue]) -> Parsed<&'a FortranValue> {
    match args {
        [x] => Ok(x),
        // A second argument names the kind, as in `REAL(X, KIND=8)`.
        _ => Err(format!("{name} takes one argument, not {}", args.len())),
    }
}

fn two<'a>(name: &str, args: &'a [FortranValue]) -> Parsed<(&'a FortranValue, &'a FortranValue)> {
    match args {
        [x, y] => Ok((x, y)),
        _ => Err(format!("{name} takes two arguments, not {}", args.len())),
    }
}

/// Applies a function whose result has the type of its argument.
fn same_type(
    name: &str,
    f: Function,
    args: &[FortranValue],
    b: &mut Builder,
) -> Parsed<FortranValue> {
    let (v, real) = one(name, args)?.number(b)?;
    let result = b.push(Op::Call(f, v));
    Ok(if real {
        FortranValue::Real(result)
    } else {
        FortranValue::Complex(result)
    })
}

/// As [`same_type`], for a function that is undefined for REAL arguments beyond 1.
fn bounded(
    name: &str,
    f: Function,
    args: &[FortranValue],
    b: &mut Builder,
) -> Parsed<FortranValue> {
    let (v, real) = one(name, args)?.number(b)?;
    let result = b.push(Op::Call(f, v));
    if !real {
        return Ok(FortranValue::Complex(result));
    }
    let size = b.push(Op::Call(Function::Abs, v));
    let bound = b.real(1.0);
    let nan = b.real(f64::NAN);
    Ok(FortranValue::Real(b.push(Op::Select {
        test: Comparison::Gt,
        lhs: size,
        rhs: bound,
        yes: nan,
        no: result,
    })))
}

fn real_function(
    name: &str,
    f: Function,
    args: &[FortranValue],
    b: &mut Builder,
) -> Parsed<FortranValue> {
    let (v, real) = one(name, args)?.number(b)?;
    Ok(FortranValue::Real(if real {
        v
    } else {
        b.push(Op::Call(f, v))
    }))
}

fn complex(args: &[FortranValue], b: &mut Builder) -> Parsed<FortranValue> {
    match args {
        [x] => Ok(FortranValue::Complex(x.number(b)?.0)),
        [x, y] => {
            let (x, y) = (x.real(b)?, y.real(b)?);
            Ok(FortranValue::Complex(b.push(Op::Complex(x, y))))
        }
        _ => Err("DCMPLX takes one or two arguments".into()),
    }
}

fn extreme(
    name: &str,
    largest: bool,
    args: &[FortranValue],
    b: &mut Builder,
) -> Parsed<FortranValue> {
    if args.len() < 2 {
        return Err(format!("{name} takes at least two arguments"));
    }
    let ints: Option<Vec<i64>> = args
        .iter()
        .map(|a| match a {
            FortranValue::Int(i) => Some(*i),
            _ => None,
        })
        .collect();
    if let Some(ints) = ints {
        let found = if largest {
            ints.iter().max()
        } else {
            ints.iter().min()
        };
        return Ok(FortranValue::Int(*found.unwrap_or(&0)));
    }
    let mut result: Option<ValueId> = None;
    for argument in args {
        let v = argument.real(b)?;
        result = Some(match result {
            None => v,
            Some(r) if largest => b.push(Op::Max(r, v)),
            Some(r) => b.push(Op::Min(r, v)),
        });
    }
    result
        .map(FortranValue::Real)
        .ok_or_else(|| format!("{name} without arguments"))
}
