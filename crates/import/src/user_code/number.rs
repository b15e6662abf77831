//! Numbers of Fortran, their arithmetic and the intrinsic functions.

use super::Kind;
use crate::expression::Parsed;
use mebridge_process::arith::Comparison;
use serde::{Deserialize, Serialize};

/// The value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FortranNumber {
    /// None: nothing has set the variable.
    Unset,
    /// INTEGER.
    Integer(i32),
    /// REAL in single precision.
    Single(f32),
    /// DOUBLE PRECISION.
    Real(f64),
    /// LOGICAL.
    Logical(bool),
}

/// A function in single and in double precision.
type Functions = (fn(f32) -> f32, fn(f64) -> f64);

/// Two numbers of one type.
enum Pair {
    Integers(i32, i32),
    Singles(f32, f32),
    Reals(f64, f64),
}

const OVERFLOW: &str = "an INTEGER overflows";
const NO_NUMBER: &str = "a LOGICAL where a number is needed";

impl FortranNumber {
    pub(super) fn is_finite(&self) -> bool {
        match self {
            FortranNumber::Single(x) => x.is_finite(),
            FortranNumber::Real(x) => x.is_finite(),
            _ => true,
        }
    }

    pub(super) fn zero(kind: Kind) -> FortranNumber {
        match kind {
            Kind::Logical => FortranNumber::Logical(false),
            Kind::Integer => FortranNumber::Integer(0),
            Kind::Single => FortranNumber::Single(0.0),
            Kind::Real => FortranNumber::Real(0.0),
        }
    }

    pub(super) fn kind(self) -> Parsed<Kind> {
        match self {
            FortranNumber::Unset => Err("a variable that has no value".into()),
            FortranNumber::Integer(_) => Ok(Kind::Integer),
            FortranNumber::Single(_) => Ok(Kind::Single),
            FortranNumber::Real(_) => Ok(Kind::Real),
            FortranNumber::Logical(_) => Ok(Kind::Logical),
        }
    }

    pub(super) fn real(self) -> Parsed<f64> {
        match self {
            FortranNumber::Integer(i) => Ok(f64::from(i)),
            FortranNumber::Single(x) => Ok(f64::from(x)),
            FortranNumber::Real(x) => Ok(x),
            FortranNumber::Logical(_) | FortranNumber::Unset => Err(NO_NUMBER.into()),
        }
    }

    fn single(self) -> Parsed<f32> {
        match self {
            FortranNumber::Integer(i) => Ok(i as f32),
            FortranNumber::Single(x) => Ok(x),
            other => Ok(other.real()? as f32),
        }
    }

    pub(super) fn integer(self) -> Parsed<i32> {
        match self {
            FortranNumber::Integer(i) => Ok(i),
            _ => Err("expected an INTEGER".into()),
        }
    }

    pub(super) fn truth(self) -> Parsed<bool> {
        match self {
            FortranNumber::Logical(truth) => Ok(truth),
            _ => Err("expected a LOGICAL".into()),
        }
    }

    /// Converts the value as an assignment to a variable does.
    pub(super) fn convert(self, kind: Kind) -> Parsed<FortranNumber> {
        Ok(match kind {
            Kind::Logical => FortranNumber::Logical(self.truth()?),
            Kind::Integer => FortranNumber::Integer(self.truncated(f64::trunc)?),
            Kind::Single => FortranNumber::Single(self.single()?),
            Kind::Real => FortranNumber::Real(self.real()?),
        })
    }

    fn truncated(self, round: fn(f64) -> f64) -> Parsed<i32> {
        if let FortranNumber::Integer(i) = self {
            return Ok(i);
        }
        let x = round(self.real()?);
        match (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&x) {
            true => Ok(x as i32),
            false => Err(OVERFLOW.into()),
        }
    }

    fn pair(self, other: FortranNumber) -> Parsed<Pair> {
        Ok(match (self, other) {
            (FortranNumber::Integer(a), FortranNumber::Integer(b)) => Pair::Integers(a, b),
            (FortranNumber::Real(_), _) | (_, FortranNumber::Real(_)) => {
                Pair::Reals(self.real()?, other.real()?)
            }
            _ => Pair::Singles(self.single()?, other.single()?),
        })
    }

    fn arithmetic(
        self,
        other: FortranNumber,
        integers: impl Fn(i32, i32) -> Option<i32>,
        singles: impl Fn(f32, f32) -> f32,
        reals: impl Fn(f64, f64) -> f64,
    ) -> Parsed<FortranNumber> {
        Ok(match self.pair(other)? {
            Pair::Integers(a, b) => FortranNumber::Integer(integers(a, b).ok_or(OVERFLOW)?),
            Pair::Singles(a, b) => FortranNumber::Single(singles(a, b)),
            Pair::Reals(a, b) => FortranNumber::Real(reals(a, b)),
        })
    }

    pub(super) fn plus(self, other: FortranNumber) -> Parsed<FortranNumber> {
        self.arithmetic(other, i32::checked_add, |a, b| a + b, |a, b| a + b)
    }

    pub(super) fn minus(self, other: FortranNumber) -> Parsed<FortranNumber> {
        self.arithmetic(other, i32::checked_sub, |a, b| a - b, |a, b| a - b)
    }

    pub(super) fn times(self, other: FortranNumber) -> Parsed<FortranNumber> {
        self.arithmetic(other, i32::checked_mul, |a, b| a * b, |a, b| a * b)
    }

    pub(super) fn over(self, other: FortranNumber) -> Parsed<FortranNumber> {
        if other == FortranNumber::Integer(0) && matches!(self, FortranNumber::Integer(_)) {
            return Err("an INTEGER is divided by 0".into());
        }
        self.arithmetic(other, i32::checked_div, |a, b| a / b, |a, b| a / b)
    }

    pub(super) fn negative(self) -> Parsed<FortranNumber> {
        match self {
            FortranNumber::Single(x) => Ok(FortranNumber::Single(-x)),
            FortranNumber::Real(x) => Ok(FortranNumber::Real(-x)),
            other => FortranNumber::Integer(0).minus(other),
        }
    }

    pub(super) fn power(self, exponent: FortranNumber) -> Parsed<FortranNumber> {
        match (self, exponent) {
            (FortranNumber::Single(x), FortranNumber::Integer(n)) => {
                Ok(FortranNumber::Single(x.powi(n)))
            }
            (FortranNumber::Real(x), FortranNumber::Integer(n)) => {
                Ok(FortranNumber::Real(x.powi(n)))
            }
            (FortranNumber::Integer(_), FortranNumber::Integer(n)) if n < 0 => {
                Err("an INTEGER with a negative power".into())
            }
            _ => self.arithmetic(
                exponent,
                |a, n| a.checked_pow(n as u32),
                f32::powf,
                f64::powf,
            ),
        }
    }

    pub(super) fn compare(self, test: Comparison, other: FortranNumber) -> Parsed<bool> {
        let holds = |order: Option<std::cmp::Ordering>| match test {
            Comparison::Eq => order.is_some_and(|order| order.is_eq()),
            Comparison::Ne => order.is_none_or(|order| order.is_ne()),
            Comparison::Lt => order.is_some_and(|order| order.is_lt()),
            Comparison::Le => order.is_some_and(|order| order.is_le()),
            Comparison::Gt => order.is_some_and(|order| order.is_gt()),
            Comparison::Ge => order.is_some_and(|order| order.is_ge()),
        };
        Ok(holds(match self.pair(other)? {
            Pair::Integers(a, b) => Some(a.cmp(&b)),
            Pair::Singles(a, b) => a.partial_cmp(&b),
            Pair::Reals(a, b) => a.partial_cmp(&b),
        }))
    }
}

/// Intrinsic functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Intrinsic {
    Sqrt,
    Log,
    Log10,
    Exp,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Abs,
    Max,
    Min,
    Sign,
    Atan2,
    Mod,
    Int,
    Nint,
    Dble,
    Real,
    IsNan,
}

/// Names of the intrinsic functions: generic ones, and those for one type.
const NAMES: [(Intrinsic, &[&str]); 24] = [
    (Intrinsic::Sqrt, &["SQRT", "DSQRT"]),
    (Intrinsic::Log, &["LOG", "DLOG", "ALOG"]),
    (Intrinsic::Log10, &["LOG10", "DLOG10", "ALOG10"]),
    (Intrinsic::Exp, &["EXP", "DEXP"]),
    (Intrinsic::Sin, &["SIN", "DSIN"]),
    (Intrinsic::Cos, &["COS", "DCOS"]),
    (Intrinsic::Tan, &["TAN", "DTAN"]),
    (Intrinsic::Asin, &["ASIN", "DASIN"]),
    (Intrinsic::Acos, &["ACOS", "DACOS"]),
    (Intrinsic::Atan, &["ATAN", "DATAN"]),
    (Intrinsic::Sinh, &["SINH", "DSINH"]),
    (Intrinsic::Cosh, &["COSH", "DCOSH"]),
    (Intrinsic::Tanh, &["TANH", "DTANH"]),
    (Intrinsic::Abs, &["ABS", "DABS", "IABS"]),
    (Intrinsic::Max, &["MAX", "DMAX1", "AMAX1", "MAX0"]),
    (Intrinsic::Min, &["MIN", "DMIN1", "AMIN1", "MIN0"]),
    (Intrinsic::Sign, &["SIGN", "DSIGN", "ISIGN"]),
    (Intrinsic::Atan2, &["ATAN2", "DATAN2"]),
    (Intrinsic::Mod, &["MOD", "DMOD", "AMOD"]),
    (Intrinsic::Int, &["INT", "IDINT", "IFIX"]),
    (Intrinsic::Nint, &["NINT", "IDNINT"]),
    (Intrinsic::Dble, &["DBLE", "DFLOAT"]),
    (Intrinsic::Real, &["REAL", "FLOAT", "SNGL"]),
    (Intrinsic::IsNan, &["ISNAN"]),
];

impl Intrinsic {
    pub(super) fn find(name: &str) -> Option<Intrinsic> {
        let found = NAMES.iter().find(|(_, names)| names.contains(&name));
        found.map(|(intrinsic, _)| *intrinsic)
    }

    /// Returns the type of the result for arguments of these types.
    pub(super) fn kind(self, name: &str, arguments: &[Kind]) -> Parsed<Kind> {
        use Intrinsic::*;
        let count = arguments.len();
        let fits = match self {
            Max | Min => count >= 2,
            Sign | Atan2 | Mod => count == 2,
            _ => count == 1,
        };
        if !fits {
            return Err(format!("{name} with {count} arguments"));
        }
        let largest = arguments.iter().copied().max().unwrap_or(Kind::Real);
        let same = arguments.iter().all(|kind| *kind == largest);
        if arguments.contains(&Kind::Logical) {
            return Err(format!("{name} of a LOGICAL"));
        }
        // What a name for one type takes and gives.
        let own = match name.as_bytes() {
            b"IABS" | b"ISIGN" | b"MAX0" | b"MIN0" => Some(Kind::Integer),
            b"DBLE" | b"DFLOAT" => None,
            [b'D', ..] | b"IDINT" | b"IDNINT" => Some(Kind::Real),
            b"ALOG" | b"ALOG10" | b"AMAX1" | b"AMIN1" | b"AMOD" | b"IFIX" => Some(Kind::Single),
            b"FLOAT" => Some(Kind::Integer),
            _ => None,
        };
        if !same || own.is_some_and(|own| own != largest) {
            return Err(format!("{name} of arguments of these types"));
        }
        let real = matches!(
            self,
            Sqrt | Log
                | Log10
                | Exp
                | Sin
                | Cos
                | Tan
                | Asin
                | Acos
                | Atan
                | Sinh
                | Cosh
                | Tanh
                | Atan2
                | Nint
                | IsNan
        );
        if real && largest == Kind::Integer {
            return Err(format!("{name} of an INTEGER"));
        }
        Ok(match self {
            Int | Nint => Kind::Integer,
            Dble => Kind::Real,
            Real => Kind::Single,
            IsNan => Kind::Logical,
            _ => largest,
        })
    }

    /// Computes the function of arguments whose types [`Self::kind`] takes.
    pub(super) fn of(self, arguments: &[FortranNumber]) -> Parsed<FortranNumber> {
        let Some(&first) = arguments.first() else {
            return Err("a function without arguments".into());
        };
        let other = arguments.get(1).copied().unwrap_or(first);
        match self {
            Intrinsic::Max => extreme(arguments, |a, b| a.compare(Comparison::Gt, b)),
            Intrinsic::Min => extreme(arguments, |a, b| a.compare(Comparison::Lt, b)),
            Intrinsic::Sign => first.arithmetic(
                other,
                |a, b| a.checked_abs()?.checked_mul(if b < 0 { -1 } else { 1 }),
                f32::copysign,
                f64::copysign,
            ),
            Intrinsic::Atan2 => first.arithmetic(other, |_, _| None, f32::atan2, f64::atan2),
            Intrinsic::Mod => match other {
                FortranNumber::Integer(0) => Err("MOD by 0".into()),
                _ => first.arithmetic(other, i32::checked_rem, |a, b| a % b, |a, b| a % b),
            },
            Intrinsic::Int => first.convert(Kind::Integer),
            Intrinsic::Nint => Ok(FortranNumber::Integer(first.truncated(f64::round)?)),
            Intrinsic::Dble => first.convert(Kind::Real),
            Intrinsic::Real => first.convert(Kind::Single),
            Intrinsic::IsNan => Ok(FortranNumber::Logical(first.real()?.is_nan())),
            Intrinsic::Abs => match first {
                FortranNumber::Integer(i) => {
                    Ok(FortranNumber::Integer(i.checked_abs().ok_or(OVERFLOW)?))
                }
                _ => self.of_real(first),
            },
            _ => self.of_real(first),
        }
    }

    fn of_real(self, x: FortranNumber) -> Parsed<FortranNumber> {
        let (single, double): Functions = match self {
            Intrinsic::Sqrt => (f32::sqrt, f64::sqrt),
            Intrinsic::Log => (f32::ln, f64::ln),
            Intrinsic::Log10 => (f32::log10, f64::log10),
            Intrinsic::Exp => (f32::exp, f64::exp),
            Intrinsic::Sin => (f32::sin, f64::sin),
            Intrinsic::Cos => (f32::cos, f64::cos),
            Intrinsic::Tan => (f32::tan, f64::tan),
            Intrinsic::Asin => (f32::asin, f64::asin),
            Intrinsic::Acos => (f32::acos, f64::acos),
            Intrinsic::Atan => (f32::atan, f64::atan),
            Intrinsic::Sinh => (f32::sinh, f64::sinh),
            Intrinsic::Cosh => (f32::cosh, f64::cosh),
            Intrinsic::Tanh => (f32::tanh, f64::tanh),
            _ => (f32::abs, f64::abs),
        };
        Ok(match x {
            FortranNumber::Single(x) => FortranNumber::Single(single(x)),
            other => FortranNumber::Real(double(other.real()?)),
        })
    }
}

/// Returns the first argument to which no later one is preferred. A later number replaces one that is not a number.
fn extreme(
    arguments: &[FortranNumber],
    better: impl Fn(FortranNumber, FortranNumber) -> Parsed<bool>,
) -> Parsed<FortranNumber> {
    let mut found = arguments[0];
    for &next in &arguments[1..] {
        if better(next, found)? || found.real()?.is_nan() {
            found = next;
        }
    }
    Ok(found)
}
