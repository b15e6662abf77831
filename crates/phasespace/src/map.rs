//! Maps between random numbers and invariants.

use mebridge_simd::{Operation, Simd, functions};

/// The density of points in an invariant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Map {
    /// Uniform.
    Flat,
    /// `s^-power` with a power other than 1; the lower limit may be 0 if the power is below 1.
    Power(f64),
    /// `1 / s`.
    Inverse,
    /// `1 / ((s - mass^2)^2 + (mass width)^2)`.
    BreitWigner {
        /// `mass^2`.
        square: f64,
        /// `mass width`.
        product: f64,
    },
}

impl Map {
    /// Returns the invariant for a random number from 0 to 1, and its derivative by the random number.
    #[inline(always)]
    pub fn forward<V: Simd<Scalar = f64>>(self, random: V, least: V, most: V) -> (V, V) {
        random.outlined(Forward(self, [random, least, most]))
    }

    /// Returns the random number of an invariant, and the derivative of the invariant by it.
    #[inline(always)]
    pub fn inverse<V: Simd<Scalar = f64>>(self, value: V, least: V, most: V) -> (V, V) {
        value.outlined(Inverse(self, [value, least, most]))
    }
}

/// [`Map::forward`], with its numbers.
struct Forward<V>(Map, [V; 3]);

impl<V: Simd<Scalar = f64>> Operation<V> for Forward<V> {
    type Output = (V, V);

    #[inline(always)]
    fn run(self) -> (V, V) {
        let Forward(map, [random, least, most]) = self;
        match map {
            Map::Flat => {
                let range = most - least;
                (random.mul_add(range, least), range)
            }
            Map::Inverse => {
                let (from, to) = (functions::ln(least), functions::ln(most));
                let value = functions::exp(random.mul_add(to - from, from));
                (value, value * (to - from))
            }
            Map::Power(power) => {
                let rest = random.same(1.0 - power);
                let (from, to) = (power_of(least, rest), power_of(most, rest));
                let value =
                    functions::pow(random.mul_add(to - from, from), random.same(1.0) / rest);
                let slope = power_of(value, random.same(power)) * (to - from) / rest;
                (value, slope)
            }
            Map::BreitWigner { square, product } => {
                let (square, product) = (random.same(square), random.same(product));
                let from = functions::atan((least - square) / product);
                let to = functions::atan((most - square) / product);
                let tangent = functions::tan(random.mul_add(to - from, from));
                let slope = tangent.mul_add(tangent, random.same(1.0)) * product * (to - from);
                (tangent.mul_add(product, square), slope)
            }
        }
    }
}

/// [`Map::inverse`], with its numbers.
struct Inverse<V>(Map, [V; 3]);

impl<V: Simd<Scalar = f64>> Operation<V> for Inverse<V> {
    type Output = (V, V);

    #[inline(always)]
    fn run(self) -> (V, V) {
        let Inverse(map, [value, least, most]) = self;
        match map {
            Map::Flat => {
                let range = most - least;
                ((value - least) / range, range)
            }
            Map::Inverse => {
                let range = functions::ln(most) - functions::ln(least);
                let random = (functions::ln(value) - functions::ln(least)) / range;
                (random, value * range)
            }
            Map::Power(power) => {
                let rest = value.same(1.0 - power);
                let (from, to) = (power_of(least, rest), power_of(most, rest));
                let random = (power_of(value, rest) - from) / (to - from);
                (
                    random,
                    power_of(value, value.same(power)) * (to - from) / rest,
                )
            }
            Map::BreitWigner { square, product } => {
                let (square, product) = (value.same(square), value.same(product));
                let from = functions::atan((least - square) / product);
                let to = functions::atan((most - square) / product);
                let tangent = (value - square) / product;
                let random = (functions::atan(tangent) - from) / (to - from);
                let slope = tangent.mul_add(tangent, value.same(1.0)) * product * (to - from);
                (random, slope)
            }
        }
    }
}

/// `x^power`; 0 for `x = 0`, where the power must be positive.
#[inline(always)]
fn power_of<V: Simd<Scalar = f64>>(x: V, power: V) -> V {
    let zero = x.same(0.0);
    V::select(x.le(zero), zero, functions::pow(x, power))
}
