//! A discrete dimension that adapts: which of some options a point has.
//!
//! Option k has the probability p_k. A random number u in (0, 1) draws the option with c_k <= u < c_k + p_k, where c_k is
//! the sum of the probabilities before; what is left, (u - c_k) / p_k, is again uniform in (0, 1) and independent of the
//! option, and serves as the next random number. The point's weight is to be divided by p_k.
//!
//! Training sums the size |w| of the whole weights by option, s_k, which is in proportion to what the options contribute.
//! Then p_k = (1 - floor) s_k / sum s + floor / K, over the K options that are possible. An option with the probability zero
//! is impossible and stays so.

use crate::sums::is_usable;
use crate::{Error, Result, bytes};

/// Options with their probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct Discrete {
    probabilities: Vec<f64>,
    /// Sums of the probabilities before each option, and 1.
    bounds: Vec<f64>,
}

/// An option that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Its number, from 0.
    pub option: usize,
    /// Its probability, by which the weight is to be divided.
    pub probability: f64,
    /// A random number in (0, 1) that serves again.
    pub rest: f64,
}

impl Discrete {
    /// Options with probabilities in proportion to these numbers. None where a number is negative, infinite or NaN, or all
    /// are zero.
    pub fn new(shares: &[f64]) -> Option<Self> {
        let usable = shares.iter().all(|&share| share >= 0.0 && is_usable(share));
        let total: f64 = shares.iter().sum();
        (usable && total > 0.0)
            .then(|| Self::of(shares.iter().map(|share| share / total).collect()))
    }

    fn of(probabilities: Vec<f64>) -> Self {
        let mut bounds = vec![0.0];
        for (option, &probability) in probabilities.iter().enumerate() {
            bounds.push(bounds[option] + probability);
        }
        // Rounding leaves the last possible option the rest, and impossible ones after it nothing.
        let last = probabilities.iter().rposition(|&p| p > 0.0);
        bounds[last.map_or(0, |last| last + 1)..].fill(1.0);
        Discrete {
            probabilities,
            bounds,
        }
    }

    /// Their probabilities.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The option that a random number in (0, 1) says.
    pub fn draw(&self, number: f64) -> Drawn {
        let last = self.probabilities.len();
        let option = self.bounds[1..last].partition_point(|&bound| bound <= number);
        let [begin, end] = [self.bounds[option], self.bounds[option + 1]];
        let least = f64::EPSILON / 2.0;
        Drawn {
            option,
            probability: self.probabilities[option],
            rest: ((number - begin) / (end - begin)).clamp(least, 1.0 - least),
        }
    }

    /// Follows the sums of |w| by option. `floor` is the share of points that all possible options have alike. Where
    /// nothing contributed, probabilities stay.
    ///
    /// # Panics
    /// If there are other options, or the floor is not from 0 to 1.
    pub fn adapt(&mut self, training: &Sizes, floor: f64) {
        assert_eq!(training.0.len(), self.probabilities.len());
        assert!((0.0..=1.0).contains(&floor), "floor {floor}");
        let possible = |&probability: &f64| probability > 0.0;
        let count = self.probabilities.iter().filter(|p| possible(p)).count() as f64;
        let sizes = (self.probabilities.iter().zip(&training.0))
            .map(|(p, &size)| if possible(p) { size } else { 0.0 });
        let total: f64 = sizes.clone().sum();
        if !(total > 0.0 && total.is_finite()) {
            return;
        }
        let new = (self.probabilities.iter().zip(sizes)).map(|(p, size)| match possible(p) {
            true => (1.0 - floor) * (size / total) + floor / count,
            false => 0.0,
        });
        *self = Self::of(new.collect());
    }

    /// The probabilities as little endian doubles.
    pub fn to_bytes(&self) -> Vec<u8> {
        bytes::written(&self.probabilities)
    }

    /// What [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let probabilities = bytes::read(bytes)?;
        let total: f64 = probabilities.iter().sum();
        // What NaN is compared with is false.
        let right = (total - 1.0).abs() < 1e-9 && probabilities.iter().all(|&p| p >= 0.0);
        match right {
            true => Ok(Self::of(probabilities)),
            false => Err(Error::Probabilities),
        }
    }
}

/// Sums of |w| by option.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(Vec<f64>);

impl Sizes {
    /// Nothing, of so many options.
    pub fn new(options: usize) -> Self {
        Sizes(vec![0.0; options])
    }

    /// Adds a point. A weight that is not usable is left out; [`crate::sums::WeightSums`] counts those.
    #[inline]
    pub fn add(&mut self, option: usize, weight: f64) {
        if is_usable(weight) {
            self.0[option] += weight.abs();
        }
    }

    /// Adds those of later points: blocks in their order, as those of [`crate::grid::Training`].
    ///
    /// # Panics
    /// If there are other options.
    pub fn merge(&mut self, later: &Sizes) {
        assert_eq!(self.0.len(), later.0.len());
        for (sum, more) in self.0.iter_mut().zip(&later.0) {
            *sum += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Philox;

    fn discrete(shares: &[f64]) -> Discrete {
        Discrete::new(shares).expect("shares")
    }

    #[test]
    fn options_and_what_is_left_have_their_distributions() {
        let choice = discrete(&[1.0, 0.0, 5.0, 2.0]);
        let philox = Philox {
            seed: 11,
            round: 0,
            channel: 0,
        };
        // What is left in eight bins, beside each option.
        let points = 20_000;
        let mut counts = [[0_u32; 8]; 4];
        for point in 0..points {
            let drawn = choice.draw(philox.number(point, 0));
            assert_eq!(drawn.probability, choice.probabilities()[drawn.option]);
            counts[drawn.option][(drawn.rest * 8.0) as usize] += 1;
        }
        assert_eq!(counts[1], [0; 8]);
        let mut chi2 = 0.0;
        for option in [0, 2, 3] {
            let expected = points as f64 * choice.probabilities()[option] / 8.0;
            let squares = counts[option].iter();
            chi2 += squares
                .map(|&n| (f64::from(n) - expected).powi(2) / expected)
                .sum::<f64>();
        }
        // 23 degrees of freedom: 23 +- 7.
        assert!((5.0..55.0).contains(&chi2), "{chi2}");
    }

    #[test]
    fn the_ends_draw_possible_options() {
        // Ten times a tenth is less than 1 as rounded; a half lies at a bound.
        let ten = [&[1.0; 10][..], &[0.0; 2]].concat();
        for shares in [&ten, &[0.0, 2.0, 2.0, 0.0][..], &[0.0, 3.0, 0.0], &[7.0]] {
            let choice = discrete(shares);
            for number in [f64::EPSILON / 2.0, 0.5, 1.0 - f64::EPSILON / 2.0] {
                let drawn = choice.draw(number);
                assert!(shares[drawn.option] > 0.0, "{shares:?}, {drawn:?}");
                assert!(drawn.rest > 0.0 && drawn.rest < 1.0, "{drawn:?}");
            }
        }
    }

    #[test]
    fn probabilities_follow_sizes_above_a_floor() {
        let mut choice = discrete(&[1.0, 1.0, 0.0, 1.0]);
        let mut sizes = Sizes::new(4);
        for (option, weight) in [
            (0, -3.0),
            (1, 1.0),
            (2, 5.0),
            (0, f64::NAN),
            (1, f64::INFINITY),
        ] {
            sizes.add(option, weight);
        }
        let mut later = Sizes::new(4);
        later.add(1, 4.0);
        sizes.merge(&later);
        choice.adapt(&sizes, 0.3);
        let expected = [0.7 * 3.0 / 8.0 + 0.1, 0.7 * 5.0 / 8.0 + 0.1, 0.0, 0.1];
        for (found, expected) in choice.probabilities().iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found}, {expected}");
        }
    }

    #[test]
    fn nothing_trains_nothing() {
        let before = discrete(&[1.0, 2.0, 0.0]);
        for (option, weight) in [(0, 0.0), (1, f64::NAN), (2, 1.0)] {
            let (mut after, mut sizes) = (before.clone(), Sizes::new(3));
            sizes.add(option, weight);
            after.adapt(&sizes, 0.1);
            assert_eq!(after, before);
        }
    }

    #[test]
    fn shares_that_are_none_are_refused() {
        for shares in [
            &[][..],
            &[0.0, 0.0],
            &[1.0, -1.0],
            &[1.0, f64::NAN],
            &[f64::INFINITY],
        ] {
            assert_eq!(Discrete::new(shares), None, "{shares:?}");
        }
    }

    #[test]
    fn bytes_give_the_options_back_or_say_what_is_wrong() {
        let choice = discrete(&[1.0, 2.0, 0.0, 4.0]);
        let bytes = choice.to_bytes();
        assert_eq!(Discrete::from_bytes(&bytes), Ok(choice));
        let cut_off = Discrete::from_bytes(&bytes[..31]);
        assert_eq!(cut_off, Err(Error::Bytes { found: 31 }));
        for wrong in [&[][..], &[0.5], &[1.5, -0.5], &[1.0, f64::NAN]] {
            let found = Discrete::from_bytes(&bytes::written(wrong));
            assert_eq!(found, Err(Error::Probabilities), "{wrong:?}");
        }
    }
}
