//! Energies of the partons of lepton beams, whose densities rise as (1 - x)^(b - 1) with a small b towards x = 1.
//!
//! No digit of 1 - x may be lost, so points are drawn in logarithms: that of 1 / (x1 x2) with a density that is its
//! power 2 b - 1, and the shares of 1 / x1 and 1 / x2 in it with the power b - 1. For small ones, this is the product of
//! both densities.

use super::map::Map;
use mebridge_simd::{Simd, functions};

/// b: alpha / pi (ln(Q^2 / m^2) - 1) of electrons at some GeV. At larger scales b is larger, and weights vanish towards
/// x = 1; if it were smaller, they would grow without limit.
const POWER: f64 = 0.05;
/// The least logarithm, and the least squared energy over that of the beams.
const TINY: f64 = 1e-300;
const FAR: f64 = 1e-26;
/// The least random number, so that no power of it is too small.
const LEAST: f64 = 1e-14;
/// Logarithms and exponentials of smaller numbers are sums of this many terms.
const SMALL: f64 = 0.125;
const TERMS: u32 = 18;

/// The range of squared energies of the partons.
pub struct Range<V: Simd> {
    energy: V,
    squares: [V; 2],
    /// See [`end`]: of the largest and of the least squared energy.
    ends: [V; 2],
    possible: V::Mask,
}

impl<V: Simd<Scalar = f64>> Range<V> {
    /// From the least mass to the largest one that the cuts allow, for beams of this energy, all in GeV.
    #[inline(always)]
    pub fn new(least: V, ceiling: f64, energy: f64) -> Self {
        let most = least.same(energy.min(ceiling));
        let possible = least.lt(most);
        // Any number will do if no value is possible.
        let most = V::select(possible, most, least + least + least.same(1.0));
        let energy = least.same(energy * energy);
        let squares = [least * least, most * most];
        let ends = [end(squares[1], energy), end(squares[0], energy)];
        Range {
            energy,
            squares,
            ends,
            possible,
        }
    }

    /// Whether the range is not empty.
    #[inline(always)]
    pub fn possible(&self) -> V::Mask {
        self.possible
    }

    /// Draws the logarithm of the beams' squared energy over the partons', and the latter. With a resonance, half of
    /// the random numbers are for that.
    #[inline(always)]
    pub fn draw(&self, resonance: Option<Map>, at: V) -> (V, V) {
        let Some(map) = resonance else {
            return self.by_logarithm(at);
        };
        let twice = at + at;
        let (one, half) = (at.same(1.0), at.same(0.5));
        let first = at.lt(half);
        let (part, square) = self.by_logarithm(V::select(first, twice, half));
        let [low, high] = self.squares;
        let (other, _) = map.forward(V::select(first, half, twice - one), low, high);
        let other = other.max(low).min(high);
        let of_other = functions::ln(self.energy / other).max(at.same(f64::EPSILON));
        (
            V::select(first, part, of_other),
            V::select(first, square, other),
        )
    }

    #[inline(always)]
    fn by_logarithm(&self, at: V) -> (V, V) {
        let [low, high] = self.ends;
        let part = at.max(at.same(LEAST)).mul_add(high - low, low);
        let part = power(part, 0.5 / POWER).max(at.same(TINY));
        let square = self.energy * functions::exp(-part);
        (part, square.max(self.squares[0]).min(self.squares[1]))
    }

    /// The derivative of the squared energy by the random number: the inverse of the density of points.
    #[inline(always)]
    pub fn slope(&self, resonance: Option<Map>, part: V, square: V) -> V {
        let [low, high] = self.ends;
        let of_part = square * power(part, 1.0 - 2.0 * POWER) * (high - low);
        let of_part = of_part * part.same(0.5 / POWER);
        let Some(map) = resonance else {
            return of_part;
        };
        let (_, other) = map.inverse(square, self.squares[0], self.squares[1]);
        part.same(2.0) * of_part * other / (of_part + other)
    }

    /// A random number of a point.
    #[inline(always)]
    pub fn number(&self, resonance: Option<Map>, part: V) -> V {
        let [low, high] = self.ends;
        let number = (power(part, 2.0 * POWER) - low) / (high - low);
        match resonance {
            Some(_) => number * part.same(0.5),
            None => number,
        }
    }
}

/// The power of the logarithm of the beams' squared energy over a squared energy.
#[inline(always)]
fn end<V: Simd<Scalar = f64>>(square: V, energy: V) -> V {
    let square = square.max(energy * energy.same(FAR)).min(energy);
    let logarithm = functions::ln(energy / square).max(energy.same(TINY));
    power(logarithm, 2.0 * POWER)
}

/// Divides a logarithm between the beams; returns the parts, and the derivative of the first one by the random number.
#[inline(always)]
pub fn divide<V: Simd<Scalar = f64>>(whole: V, at: V) -> ([V; 2], V) {
    let one = at.same(1.0);
    let first = at.lt(at.same(0.5));
    let near = V::select(first, at, one - at);
    let near = (near + near).max(at.same(LEAST));
    let share = power(near, 1.0 / POWER) * at.same(0.5);
    let small = (whole * share).max(at.same(TINY));
    let large = whole * (one - share);
    let slope = whole * power(near, 1.0 / POWER - 1.0) * at.same(1.0 / POWER);
    let parts = [
        V::select(first, small, large),
        V::select(first, large, small),
    ];
    (parts, slope)
}

/// Returns the random number of two parts, and the same derivative.
#[inline(always)]
pub fn undivide<V: Simd<Scalar = f64>>([one, other]: [V; 2]) -> (V, V) {
    let whole = one + other;
    let first = one.lt(other);
    let share = one.min(other) / whole;
    let near = power(share + share, POWER);
    let half = near * one.same(0.5);
    let at = V::select(first, half, one.same(1.0) - half);
    let slope = whole * power(near, 1.0 / POWER - 1.0) * one.same(1.0 / POWER);
    (at, slope)
}

/// Returns 1 - x from the logarithm of 1 / x.
#[inline(always)]
pub fn one_minus_x<V: Simd<Scalar = f64>>(part: V) -> V {
    let one = part.same(1.0);
    let small = part.lt(part.same(SMALL));
    let of = V::select(small, part, one);
    let mut sum = one;
    for number in (2..=TERMS).rev() {
        sum = one - of * part.same(1.0 / f64::from(number)) * sum;
    }
    V::select(small, of * sum, one - functions::exp(-part))
}

/// Returns the logarithm of 1 / x from 1 - x.
#[inline(always)]
pub fn inverse_logarithm<V: Simd<Scalar = f64>>(rest: V) -> V {
    let one = rest.same(1.0);
    let small = rest.lt(rest.same(SMALL));
    let of = V::select(small, rest, rest.same(SMALL));
    let mut sum = rest.same(0.0);
    for number in (1..=TERMS).rev() {
        sum = of.mul_add(sum, rest.same(1.0 / f64::from(number)));
    }
    V::select(small, of * sum, -functions::ln(one - rest))
}

#[inline(always)]
fn power<V: Simd<Scalar = f64>>(x: V, power: f64) -> V {
    functions::pow(x, x.same(power))
}
