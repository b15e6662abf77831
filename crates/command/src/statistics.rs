//! Statistics of matrix elements: mean and spread in one pass, with abnormal values counted separately.
//!
//! Mean and squared deviations are updated value by value (Welford), which avoids cancellation for values far from
//! zero; the spread is that of the values themselves, divided by n and not n - 1, as in the check executable of
//! MG5aMC's CUDACPP plugin.

use serde::Serialize;

/// The class of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueClass {
    /// Positive, finite, not denormal.
    Normal,
    /// Not a number.
    Nan,
    /// Infinite.
    Infinite,
    /// Too small for full precision.
    Denormal,
    /// Exactly zero.
    Zero,
    /// Negative: impossible for a squared matrix element, except for an interference.
    Negative,
}

impl ValueClass {
    /// Returns the class of a value.
    pub fn classify(value: f64) -> ValueClass {
        use std::num::FpCategory;
        match value.classify() {
            FpCategory::Nan => ValueClass::Nan,
            FpCategory::Infinite => ValueClass::Infinite,
            FpCategory::Zero => ValueClass::Zero,
            _ if value < 0.0 => ValueClass::Negative,
            FpCategory::Subnormal => ValueClass::Denormal,
            FpCategory::Normal => ValueClass::Normal,
        }
    }

    /// Returns the word for it in a message.
    pub fn name(self) -> &'static str {
        match self {
            ValueClass::Normal => "normal",
            ValueClass::Nan => "NaN",
            ValueClass::Infinite => "infinite",
            ValueClass::Denormal => "denormal",
            ValueClass::Zero => "zero",
            ValueClass::Negative => "negative",
        }
    }
}

/// Number of values of each abnormal class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Abnormal {
    /// Not a number.
    pub nan: u64,
    /// Infinite.
    pub infinite: u64,
    /// Too small for full precision.
    pub denormal: u64,
    /// Negative.
    pub negative: u64,
    /// Exactly zero.
    pub zero: u64,
}

impl Abnormal {
    /// Returns their total.
    pub fn total(&self) -> u64 {
        self.nan + self.infinite + self.denormal + self.negative + self.zero
    }
}

/// Running statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    signed: bool,
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
    abnormal: Abnormal,
}

impl Default for Statistics {
    fn default() -> Self {
        Statistics {
            signed: false,
            count: 0,
            mean: 0.0,
            squares: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            abnormal: Abnormal::default(),
        }
    }
}

impl Statistics {
    /// Statistics of values that may be negative, as for interferences.
    pub fn signed() -> Statistics {
        Statistics {
            signed: true,
            ..Statistics::default()
        }
    }

    /// Adds a value: to the mean if it is normal, otherwise to the count of its class.
    pub fn add(&mut self, value: f64) -> ValueClass {
        let class = ValueClass::classify(if self.signed { value.abs() } else { value });
        match class {
            ValueClass::Normal => {
                self.count += 1;
                let off = value - self.mean;
                self.mean += off / self.count as f64;
                self.squares += off * (value - self.mean);
                self.min = self.min.min(value);
                self.max = self.max.max(value);
            }
            ValueClass::Nan => self.abnormal.nan += 1,
            ValueClass::Infinite => self.abnormal.infinite += 1,
            ValueClass::Denormal => self.abnormal.denormal += 1,
            ValueClass::Zero => self.abnormal.zero += 1,
            ValueClass::Negative => self.abnormal.negative += 1,
        }
        class
    }

    /// Returns the number of normal values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the counts of abnormal values.
    pub fn abnormal(&self) -> Abnormal {
        self.abnormal
    }

    /// Returns the mean of the normal values; NaN if there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// Returns the standard deviation of the normal values; NaN if there are none.
    pub fn standard_deviation(&self) -> f64 {
        (self.squares / self.count as f64).sqrt()
    }

    /// Returns the standard error of the mean; NaN if there are no normal values.
    pub fn standard_error(&self) -> f64 {
        self.standard_deviation() / (self.count as f64).sqrt()
    }

    /// Returns the smallest normal value; infinity if there are none.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Returns the largest normal value; minus infinity if there are none.
    pub fn max(&self) -> f64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_of_known_values() {
        let mut s = Statistics::default();
        for x in [1.0, 2.0, 3.0, 6.0] {
            s.add(x);
        }
        assert_eq!(s.count(), 4);
        assert_eq!(s.mean(), 3.0);
        assert_eq!(s.standard_deviation(), 3.5_f64.sqrt());
        assert_eq!(s.standard_error(), 3.5_f64.sqrt() / 2.0);
        assert_eq!((s.min(), s.max()), (1.0, 6.0));
    }

    #[test]
    fn a_large_offset_costs_no_digits() {
        let mut s = Statistics::default();
        for i in 0..1000 {
            s.add(1e9 + f64::from(i % 2));
        }
        assert!((s.mean() - 1e9 - 0.5).abs() < 1e-6);
        assert!((s.standard_deviation() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn abnormal_values_are_counted_and_left_out() {
        let mut s = Statistics::default();
        let values = [
            (f64::NAN, ValueClass::Nan),
            (f64::INFINITY, ValueClass::Infinite),
            (f64::NEG_INFINITY, ValueClass::Infinite),
            (1e-310, ValueClass::Denormal),
            (0.0, ValueClass::Zero),
            (-0.0, ValueClass::Zero),
            (-2.0, ValueClass::Negative),
            (-1e-310, ValueClass::Negative),
            (5.0, ValueClass::Normal),
        ];
        for (value, class) in values {
            assert_eq!(s.add(value), class, "{value}");
        }
        let expected = Abnormal {
            nan: 1,
            infinite: 2,
            denormal: 1,
            negative: 2,
            zero: 2,
        };
        assert_eq!(s.abnormal(), expected);
        assert_eq!(expected.total(), 8);
        assert_eq!((s.count(), s.mean(), s.min(), s.max()), (1, 5.0, 5.0, 5.0));
        assert_eq!(s.standard_deviation(), 0.0);
    }

    #[test]
    fn signed_values_count_by_their_size() {
        let mut s = Statistics::signed();
        for (value, class) in [
            (-3.0, ValueClass::Normal),
            (1.0, ValueClass::Normal),
            (-1e-310, ValueClass::Denormal),
            (-0.0, ValueClass::Zero),
            (f64::NEG_INFINITY, ValueClass::Infinite),
        ] {
            assert_eq!(s.add(value), class, "{value}");
        }
        assert_eq!(
            (s.count(), s.mean(), s.min(), s.max()),
            (2, -1.0, -3.0, 1.0)
        );
    }

    #[test]
    fn without_values_there_is_no_mean() {
        let s = Statistics::default();
        assert!(s.mean().is_nan() && s.standard_error().is_nan());
    }
}
