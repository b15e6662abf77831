//! Sums of weights that do not depend on which thread computed them.
//!
//! Points are divided into blocks of a fixed size. Each block is summed separately ([`WeightSums::new`]), always with
//! the same eight partial sums; blocks are then merged in order ([`WeightSums::merge`]) with compensated summation (A.
//! Neumaier, ZAMM 54 (1974) 39). So the bits of the result depend only on the block size.
//!
//! With weights w of N points, including zeros of points that fail cuts, the cross section is the mean m = sum w / N,
//! and the square of its error (sum w^2 / N - m^2) / (N - 1).

/// The largest usable weight: squares of larger ones would overflow.
pub const MAX_WEIGHT: f64 = 1e140;

/// Returns whether a weight is a number that can be squared and summed.
#[inline(always)]
pub fn is_usable(weight: f64) -> bool {
    // False for NaN.
    weight.abs() <= MAX_WEIGHT
}

/// Length of serialised sums in words, and of those of [`Unbiased`].
pub const WORDS: usize = 10;
pub(crate) const WORDS_UNBIASED: usize = 4;
/// Partial sums of a block.
const LANES: usize = 8;

/// A compensated sum: the sum and its rounding error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Compensated {
    sum: f64,
    rest: f64,
}

impl Compensated {
    fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.rest += if self.sum.abs() >= x.abs() {
            (self.sum - sum) + x
        } else {
            (x - sum) + self.sum
        };
        self.sum = sum;
    }

    fn merge(&mut self, other: Compensated) {
        self.add(other.sum);
        self.rest += other.rest;
    }

    fn value(self) -> f64 {
        self.sum + self.rest
    }
}

/// A number with its error, one standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub mean: f64,
    /// Its standard deviation.
    pub error: f64,
}

impl Estimate {
    /// Returns the mean of independent estimates of one number, with weights that do not depend on them, such as
    /// planned numbers of points. (Weighting by errors would favour low estimates.) Zero if all weights are zero.
    pub fn average(parts: impl IntoIterator<Item = (f64, Estimate)>) -> Estimate {
        let (mut total, mut mean, mut square) = (0.0, Compensated::default(), 0.0);
        for (weight, part) in parts {
            total += weight;
            mean.add(weight * part.mean);
            square += (weight * part.error).powi(2);
        }
        if total == 0.0 {
            return Estimate::default();
        }
        Estimate {
            mean: mean.value() / total,
            error: f64::sqrt(square) / total,
        }
    }

    /// Returns the product with an independent factor.
    pub fn times(self, factor: Estimate) -> Estimate {
        Estimate {
            mean: self.mean * factor.mean,
            error: f64::hypot(self.error * factor.mean, self.mean * factor.error),
        }
    }

    /// Returns the sum of independent numbers, such as channels.
    pub fn sum(parts: impl IntoIterator<Item = Estimate>) -> Estimate {
        let (mut mean, mut square) = (Compensated::default(), 0.0);
        for part in parts {
            mean.add(part.mean);
            square += part.error.powi(2);
        }
        Estimate {
            mean: mean.value(),
            error: square.sqrt(),
        }
    }
}

/// Sums over the weights of points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WeightSums {
    points: u64,
    passed: u64,
    unusable: u64,
    sum: Compensated,
    absolute: Compensated,
    square: Compensated,
    largest: f64,
    /// The same for weights without their bias; none if they have none.
    unbiased: Option<Unbiased>,
}

/// Sums over weights without their bias.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Unbiased {
    sum: Compensated,
    square: Compensated,
}

impl WeightSums {
    /// Sums the weights of a block that include a bias; `plain` are the same weights without it.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn from_biased(weights: &[f64], plain: &[f64]) -> Self {
        assert_eq!(weights.len(), plain.len(), "a weight of each point");
        let counts = |place: usize| is_usable(weights[place]) && is_usable(plain[place]);
        let of = |weights: &[f64]| {
            let usable = (0..).zip(weights);
            let usable =
                usable.map(|(place, weight)| if counts(place) { *weight } else { f64::NAN });
            WeightSums::new(&usable.collect::<Vec<f64>>())
        };
        let WeightSums { sum, square, .. } = of(plain);
        WeightSums {
            unbiased: Some(Unbiased { sum, square }),
            ..of(weights)
        }
    }

    /// Sums the weights of a block. Unusable weights count as zero and are counted separately ([`Self::unusable`]).
    pub fn new(weights: &[f64]) -> Self {
        let mut lanes = [[0.0; LANES]; 4];
        let mut counts = [[0_u64; LANES]; 2];
        for chunk in weights.chunks(LANES) {
            for (lane, &weight) in chunk.iter().enumerate() {
                let usable = is_usable(weight);
                let weight = if usable { weight } else { 0.0 };
                let size = weight.abs();
                counts[0][lane] += u64::from(weight != 0.0);
                counts[1][lane] += u64::from(!usable);
                lanes[0][lane] += weight;
                lanes[1][lane] += size;
                lanes[2][lane] += weight * weight;
                lanes[3][lane] = f64::max(lanes[3][lane], size);
            }
        }
        let [sum, absolute, square] = [0, 1, 2].map(|row| Compensated {
            sum: pairwise(lanes[row]),
            rest: 0.0,
        });
        WeightSums {
            points: weights.len() as u64,
            passed: counts[0].iter().sum(),
            unusable: counts[1].iter().sum(),
            sum,
            absolute,
            square,
            largest: lanes[3].iter().copied().fold(0.0, f64::max),
            unbiased: None,
        }
    }

    /// Adds the sums of later points.
    pub fn merge(&mut self, later: &WeightSums) {
        if self.unbiased.is_some() || later.unbiased.is_some() {
            let of_later = later.unbiased_sums();
            let mut sums = self.unbiased_sums();
            sums.sum.merge(of_later.sum);
            sums.square.merge(of_later.square);
            self.unbiased = Some(sums);
        }
        self.points += later.points;
        self.passed += later.passed;
        self.unusable += later.unusable;
        self.sum.merge(later.sum);
        self.absolute.merge(later.absolute);
        self.square.merge(later.square);
        self.largest = self.largest.max(later.largest);
    }

    /// Returns the number of points.
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Returns the number of points with a weight other than zero.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Returns the number of points whose weight was NaN, infinite or above [`MAX_WEIGHT`]. The sums exclude them.
    pub fn unusable(&self) -> u64 {
        self.unusable
    }

    /// Returns the largest absolute value of a weight.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Returns the mean of the weights, including their bias, with its error: zero without points, and an infinite error for
    /// one point.
    pub fn mean(&self) -> Estimate {
        self.estimate(self.sum, self.square)
    }

    /// Returns the same without the bias: the cross section.
    pub fn unbiased_mean(&self) -> Estimate {
        let Unbiased { sum, square } = self.unbiased_sums();
        self.estimate(sum, square)
    }

    /// Returns whether weights include a bias.
    pub fn is_biased(&self) -> bool {
        self.unbiased.is_some()
    }

    fn unbiased_sums(&self) -> Unbiased {
        let WeightSums { sum, square, .. } = *self;
        self.unbiased.unwrap_or(Unbiased { sum, square })
    }

    /// Returns the mean of the absolute weights, which determines the number of events if weights have signs.
    pub fn mean_size(&self) -> Estimate {
        self.estimate(self.absolute, self.square)
    }

    /// Serialises the sums: numbers of points, of those that pass and of unusable ones; the bits of sum and rounding
    /// error of weights, absolute weights and squares; the largest absolute weight.
    pub fn words(&self) -> [u64; WORDS] {
        let bits = |of: Compensated| [of.sum.to_bits(), of.rest.to_bits()];
        let [[a, b], [c, d], [e, f]] = [self.sum, self.absolute, self.square].map(bits);
        let [points, passed, unusable] = [self.points, self.passed, self.unusable];
        let largest = self.largest.to_bits();
        [points, passed, unusable, a, b, c, d, e, f, largest]
    }

    /// Reads the words of [`Self::words`].
    pub fn from_words(words: [u64; WORDS]) -> Self {
        let of = |sum: usize| Compensated {
            sum: f64::from_bits(words[sum]),
            rest: f64::from_bits(words[sum + 1]),
        };
        WeightSums {
            points: words[0],
            passed: words[1],
            unusable: words[2],
            sum: of(3),
            absolute: of(5),
            square: of(7),
            largest: f64::from_bits(words[9]),
            unbiased: None,
        }
    }

    /// Serialises what [`Self::words`] leaves out: the sums of weights and of squared weights without their bias. Empty if
    /// there is none.
    pub(crate) fn unbiased_words(&self) -> Vec<u64> {
        let bits = |of: Compensated| [of.sum.to_bits(), of.rest.to_bits()];
        let sums = self.unbiased.iter();
        sums.flat_map(|of| [of.sum, of.square].map(bits).concat())
            .collect()
    }

    /// Adds the words of [`Self::unbiased_words`].
    pub(crate) fn with_unbiased(self, words: [u64; WORDS_UNBIASED]) -> Self {
        let of = |sum: usize| Compensated {
            sum: f64::from_bits(words[sum]),
            rest: f64::from_bits(words[sum + 1]),
        };
        let (sum, square) = (of(0), of(2));
        WeightSums {
            unbiased: Some(Unbiased { sum, square }),
            ..self
        }
    }

    fn estimate(&self, sum: Compensated, square: Compensated) -> Estimate {
        let points = self.points as f64;
        if self.points == 0 {
            return Estimate::default();
        }
        let mean = sum.value() / points;
        if self.points == 1 {
            let error = f64::INFINITY;
            return Estimate { mean, error };
        }
        // For equal weights, rounding may make it negative.
        let spread = (square.value() / points - mean * mean).max(0.0);
        let error = (spread / (points - 1.0)).sqrt();
        Estimate { mean, error }
    }
}

fn pairwise(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Philox;

    const PHILOX: Philox = Philox {
        seed: 3,
        round: 0,
        channel: 0,
    };

    fn close(found: f64, expected: f64, share: f64) {
        let difference = (found - expected).abs();
        assert!(difference <= share * expected.abs(), "{found}, {expected}");
    }

    #[test]
    fn mean_and_error_are_those_of_the_definition() {
        let weights: Vec<f64> = (0..1003)
            .map(|point| (PHILOX.number(point, 0) - 0.3).max(-0.2))
            .collect();
        let count = weights.len() as f64;
        let mean = weights.iter().sum::<f64>() / count;
        let spread = weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>();
        let sums = WeightSums::new(&weights);
        close(sums.mean().mean, mean, 1e-14);
        let error = (spread / count / (count - 1.0)).sqrt();
        close(sums.mean().error, error, 1e-13);
        let size = weights.iter().map(|w| w.abs()).sum::<f64>() / count;
        close(sums.mean_size().mean, size, 1e-14);
        let largest = weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        assert_eq!(sums.largest(), largest);
        assert_eq!([sums.points(), sums.passed()], [1003; 2]);
    }

    #[test]
    fn many_blocks_lose_nothing() {
        // A plain sum in double precision loses the small terms one by one.
        let mut sums = WeightSums::new(&[1e16]);
        for _ in 0..1000 {
            sums.merge(&WeightSums::new(&[1.0]));
        }
        let mut all = sums;
        all.merge(&sums);
        all.merge(&WeightSums::new(&[-2e16]));
        assert_eq!(all.mean().mean, 2000.0 / 2003.0);
    }

    #[test]
    fn weights_that_are_no_numbers_are_counted_and_poison_nothing() {
        let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2e140];
        let mut sums = WeightSums::new(&[&[1.0, 0.0, 3.0], &bad[..]].concat());
        sums.merge(&WeightSums::new(&[MAX_WEIGHT, -MAX_WEIGHT]));
        assert_eq!([sums.points(), sums.passed(), sums.unusable()], [9, 4, 4]);
        assert!(sums.mean().mean.is_finite() && sums.mean().error.is_finite());
        assert_eq!(sums.largest(), MAX_WEIGHT);
    }

    #[test]
    fn biased_weights_have_the_mean_without_their_bias_as_well() {
        let plain: Vec<f64> = (0..1000).map(|point| PHILOX.number(point, 0)).collect();
        let biased: Vec<f64> = plain.iter().map(|weight| weight.powi(3)).collect();
        let (head, rest) = (600, 400);
        let mut sums = WeightSums::from_biased(&biased[..head], &plain[..head]);
        sums.merge(&WeightSums::from_biased(&biased[head..], &plain[head..]));
        assert!(sums.is_biased() && rest + head == 1000);
        let close_to = |found: Estimate, of: &[f64]| {
            let wanted = WeightSums::new(of).mean();
            close(found.mean, wanted.mean, 1e-13);
            close(found.error, wanted.error, 1e-12);
        };
        close_to(sums.mean(), &biased);
        close_to(sums.unbiased_mean(), &plain);
        // A point counts in both means or in none.
        let bad = WeightSums::from_biased(&[1.0, f64::INFINITY, 2.0], &[3.0, 4.0, f64::NAN]);
        assert_eq!(bad.unusable(), 2);
        close(bad.mean().mean, 1.0 / 3.0, 1e-15);
        close(bad.unbiased_mean().mean, 1.0, 1e-15);
        let words = sums.unbiased_words().try_into().unwrap();
        assert_eq!(
            WeightSums::from_words(sums.words()).with_unbiased(words),
            sums
        );
    }

    #[test]
    fn few_points_have_an_estimate() {
        assert_eq!(WeightSums::default().mean(), Estimate::default());
        let one = WeightSums::new(&[2.0]).mean();
        assert_eq!([one.mean, one.error], [2.0, f64::INFINITY]);
        let equal = WeightSums::new(&[0.1; 1000]).mean();
        close(equal.mean, 0.1, 1e-14);
        assert!(equal.error < 1e-8, "{}", equal.error);
    }

    #[test]
    fn estimates_are_put_together() {
        let of = |mean, error| Estimate { mean, error };
        let average = Estimate::average([(1.0, of(2.0, 0.3)), (3.0, of(4.0, 0.1))]);
        close(average.mean, 3.5, 1e-15);
        close(average.error, 0.18_f64.sqrt() / 4.0, 1e-15);
        assert_eq!(Estimate::average([]), Estimate::default());
        assert_eq!(Estimate::sum([of(1.0, 3.0), of(2.0, 4.0)]), of(3.0, 5.0));
    }
}
