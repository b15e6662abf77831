//! Exact complex numbers: coefficients of colour.
//!
//! Values that do not fit into 64 bits do not wrap: such a [`Number`] is unknown, as is any number computed from it.
//! Taking out the value of an unknown number is an error.

use num_complex::Complex64;

/// `(re + i im) / below`, in lowest terms. `below` is 0 if the number is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    re: i64,
    im: i64,
    below: i64,
}

impl Number {
    /// 1.
    pub const ONE: Number = Number {
        re: 1,
        im: 0,
        below: 1,
    };

    /// A number that is too large, or divided by 0.
    const UNKNOWN: Number = Number {
        re: 0,
        im: 0,
        below: 0,
    };

    /// `above / below`.
    pub fn ratio(above: i64, below: i64) -> Number {
        Number::reduced(above.into(), 0, below.into())
    }

    /// `i` times `above`.
    pub fn imaginary(above: i64) -> Number {
        Number::reduced(0, above.into(), 1)
    }

    fn reduced(re: i128, im: i128, below: i128) -> Number {
        let divisor = gcd(gcd(re, im), below).max(1) * below.signum();
        // `i64::MIN` has no negative.
        let part = |x: i128| x.checked_div(divisor).and_then(|x| i64::try_from(x).ok());
        let part = |x: i128| part(x).filter(|&x| x != i64::MIN);
        match (part(re), part(im), part(below)) {
            (Some(re), Some(im), Some(below)) => Number { re, im, below },
            _ => Number::UNKNOWN,
        }
    }

    /// Real part, imaginary part and denominator, wide enough for sums of two products of two of these.
    fn to_i128(self) -> [i128; 3] {
        [self.re, self.im, self.below].map(i128::from)
    }

    /// Product.
    pub fn times(self, other: Number) -> Number {
        let ([re, im, below], [re2, im2, below2]) = (self.to_i128(), other.to_i128());
        Number::reduced(re * re2 - im * im2, re * im2 + im * re2, below * below2)
    }

    /// Sum.
    pub fn plus(self, other: Number) -> Number {
        let ([re, im, below], [re2, im2, below2]) = (self.to_i128(), other.to_i128());
        Number::reduced(
            re * below2 + re2 * below,
            im * below2 + im2 * below,
            below * below2,
        )
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.is_known() && self.re == 0 && self.im == 0
    }

    /// Whether the number is known.
    pub fn is_known(self) -> bool {
        self.below != 0
    }

    /// Its value.
    pub fn value(self) -> Result<Complex64, String> {
        match self.is_known() {
            true => Ok(Complex64::new(self.re as f64, self.im as f64) / self.below as f64),
            false => Err(TOO_LARGE.into()),
        }
    }

    /// Numerator and denominator, if the number is real.
    pub fn real(self) -> Result<(i64, i64), String> {
        match (self.is_known(), self.im) {
            (true, 0) => Ok((self.re, self.below)),
            (true, _) => Err("a product of colours is not real".into()),
            (false, _) => Err(TOO_LARGE.into()),
        }
    }
}

/// The error for unknown numbers.
pub const TOO_LARGE: &str = "the numbers of its colour structures do not fit into 64 bits";

/// Puts fractions over their common denominator: returns numerators, and the denominator.
pub fn over_common_denominator(fractions: &[(i64, i64)]) -> Result<(Vec<f64>, f64), String> {
    let common = fractions.iter().try_fold(1i64, |all, &(_, d)| {
        let divisor = i64::try_from(gcd(all.into(), d.into())).ok()?;
        all.checked_div(divisor)?.checked_mul(d)
    });
    let common = common.filter(|&d| d > 0).ok_or(TOO_LARGE)?;
    let above = fractions.iter().map(|&(x, d)| {
        let x = x.checked_mul(common / d).ok_or(TOO_LARGE)?;
        Ok(x as f64)
    });
    Ok((above.collect::<Result<_, String>>()?, common as f64))
}

/// The greatest common divisor.
fn gcd(a: i128, b: i128) -> i128 {
    // The usual case, and many times faster.
    if let (Ok(a), Ok(b)) = (
        u64::try_from(a.unsigned_abs()),
        u64::try_from(b.unsigned_abs()),
    ) {
        let (mut a, mut b) = (a, b);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        return a.into();
    }
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact() {
        let third = Number::ratio(-2, -6);
        assert_eq!(third, Number::ratio(1, 3));
        let i = Number::imaginary(2).times(third);
        assert_eq!(i.times(i), Number::ratio(-4, 9));
        assert!(i.plus(Number::imaginary(-2).times(third)).is_zero());
        assert_eq!(third.plus(Number::ratio(1, 6)).real(), Ok((1, 2)));
        assert!(i.real().unwrap_err().contains("not real"));
    }

    #[test]
    fn what_is_too_large_is_no_other_number() {
        let large = Number::ratio(1 << 40, 1);
        let fits = large.times(Number::ratio(1, 1 << 39));
        assert_eq!(fits, Number::ratio(2, 1));
        let most = Number::ratio(i64::MAX, 1);
        assert_eq!(
            most.plus(Number::ratio(-1, 1)).real(),
            Ok((i64::MAX - 1, 1))
        );
        let beyond = [
            large.times(large),
            most.plus(Number::ONE),
            Number::ratio(1, 1 << 40).times(Number::ratio(1, 1 << 40)),
            Number::ratio(1, i64::MAX).plus(Number::ratio(1, i64::MAX - 1)),
            Number::ratio(1, 0),
            Number::ratio(i64::MIN, -1),
        ];
        for number in beyond {
            // Neither are numbers computed from it.
            for number in [
                number,
                number.times(Number::ratio(0, 1)),
                number.plus(Number::ONE),
            ] {
                assert!(!number.is_known() && !number.is_zero());
                assert!(number.value().is_err() && number.real().is_err());
            }
        }
        assert_eq!(
            over_common_denominator(&[(1, 2), (1, 3)]),
            Ok((vec![3.0, 2.0], 6.0))
        );
        assert!(over_common_denominator(&[(1, 1 << 40), (1, (1 << 40) - 1)]).is_err());
        assert!(over_common_denominator(&[(i64::MAX, 1), (1, 2)]).is_err());
    }
}
