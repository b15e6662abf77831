//! Exact complex numbers: coefficients of colour.

use num_complex::Complex64;

/// `(re + i im) / below`, in lowest terms.
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

    /// `above / below`.
    pub fn ratio(above: i64, below: i64) -> Number {
        Number::reduced(above, 0, below)
    }

    /// `i` times `above`.
    pub fn imaginary(above: i64) -> Number {
        Number::reduced(0, above, 1)
    }

    fn reduced(re: i64, im: i64, below: i64) -> Number {
        let divisor = gcd(gcd(re, im), below).max(1) * below.signum();
        Number {
            re: re / divisor,
            im: im / divisor,
            below: below / divisor,
        }
    }

    /// Product.
    pub fn times(self, other: Number) -> Number {
        Number::reduced(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
            self.below * other.below,
        )
    }

    /// Sum.
    pub fn plus(self, other: Number) -> Number {
        Number::reduced(
            self.re * other.below + other.re * self.below,
            self.im * other.below + other.im * self.below,
            self.below * other.below,
        )
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.re == 0 && self.im == 0
    }

    /// Its value.
    pub fn value(self) -> Complex64 {
        Complex64::new(self.re as f64, self.im as f64) / self.below as f64
    }

    /// Numerator and denominator of a real number.
    pub fn real(self) -> Option<(i64, i64)> {
        (self.im == 0).then_some((self.re, self.below))
    }
}

/// The greatest common divisor.
pub fn gcd(a: i64, b: i64) -> i64 {
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
        assert_eq!(third.plus(Number::ratio(1, 6)).real(), Some((1, 2)));
        assert_eq!(i.real(), None);
    }
}
