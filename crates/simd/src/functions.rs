//! Mathematical functions of all lanes at once, in double precision.
//!
//! | function | arguments | error, ulp |
//! |---|---|---|
//! | [`exp`] | all; below -708.3 the result is 0 | 1 |
//! | [`ln`] | all | 1 |
//! | [`pow`] | a base above 0, a power up to 50 in size | 2 |
//! | [`sin_cos`], [`tan`] | up to 1e5 in size; beyond that NaN | 1, 2 |
//! | [`atan`] | all | 2 |
//!
//! Arguments are reduced to a short interval, on which a series is used whose first omitted term is below 2^-58. The
//! errors are the largest that tests find relative to the standard library's functions, which are accurate to slightly
//! more than half an ulp.

use super::{Level, Simd};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, FRAC_PI_4, FRAC_PI_8, LN_2, LOG2_E};

/// Adding and subtracting this number rounds to an integer.
const TO_WHOLE: f64 = 6_755_399_441_055_744.0;
/// Number of bits of the fraction, and the exponent bias.
const FRACTION: u32 = 52;
const BIAS: f64 = 1023.0;
/// The logarithm of 2 in two parts. The first has 21 bits fewer, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Half of pi in three parts, the first two with 33 bits.
const HALF_PI: [f64; 3] = [
    f64::from_bits(0x3ff9_21fb_5440_0000),
    f64::from_bits(0x3dd0_b461_1a60_0000),
    f64::from_bits(0x3ba3_198a_2e03_7073),
];
const MAX_ANGLE: f64 = 1e5;
const MIN_EXP: f64 = -708.3;
const MAX_EXP: f64 = 709.782_712_893_384;

/// The bit patterns of the numbers in a register.
#[repr(C, align(64))]
struct Bits([u64; 8]);

impl Bits {
    #[inline(always)]
    fn new<V: Simd<Scalar = f64>>(x: V) -> Self {
        let mut bits = Bits([0; 8]);
        // SAFETY: there is room for eight numbers, the size of the longest register, with the required alignment.
        unsafe { x.store(bits.0.as_mut_ptr().cast()) };
        bits
    }

    /// Converts back to a register. `_proof` shows that the CPU supports the level.
    #[inline(always)]
    fn numbers<V: Simd<Scalar = f64>>(self, _proof: V) -> V {
        // SAFETY: as above; any bit pattern is a valid number.
        unsafe { V::load(self.0.as_ptr().cast()) }
    }
}

/// Whether `mul_add` is a fused operation.
#[inline(always)]
fn is_fused<V: Simd>() -> bool {
    cfg!(target_arch = "aarch64") && V::LEVEL == Level::Sse4
        || V::LEVEL != Level::None && V::LEVEL != Level::Sse4
}

/// A product and its rounding error.
#[inline(always)]
fn exact_product<V: Simd<Scalar = f64>>(a: V, b: V) -> (V, V) {
    let product = a * b;
    if is_fused::<V>() {
        return (product, a.mul_sub(b, product));
    }
    // Veltkamp's and Dekker's algorithm, with halves of 26 bits.
    let split = a.same(134_217_729.0);
    let (c, d) = (a * split, b * split);
    let (a1, b1) = (c - (c - a), d - (d - b));
    let (a2, b2) = (a - a1, b - b1);
    (
        product,
        a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2),
    )
}

/// A sum and its rounding error, for |a| >= |b|.
#[inline(always)]
fn exact_sum<V: Simd<Scalar = f64>>(a: V, b: V) -> (V, V) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// Evaluates a polynomial; coefficients are in ascending order.
#[inline(always)]
fn polynomial<V: Simd<Scalar = f64>>(x: V, coefficients: &[f64]) -> V {
    let mut sum = x.same(coefficients[coefficients.len() - 1]);
    let mut i = coefficients.len() - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, x.same(coefficients[i]));
    }
    sum
}

/// 2^n for integers from -1022 to 1023.
#[inline(always)]
fn power_of_two<V: Simd<Scalar = f64>>(n: V) -> V {
    let mut bits = Bits::new(n + n.same(TO_WHOLE + BIAS));
    for lane in &mut bits.0 {
        *lane <<= FRACTION;
    }
    bits.numbers(n)
}

/// `x = m 2^n` with m from sqrt(1/2) to sqrt(2), for positive normal numbers.
#[inline(always)]
fn mantissa_and_exponent<V: Simd<Scalar = f64>>(x: V) -> (V, V) {
    // Shifts the step between exponents to sqrt(2).
    const STEP: u64 = 1f64.to_bits() - FRAC_1_SQRT_2.to_bits();
    const WHOLE: u64 = TO_WHOLE.to_bits();
    let (mut mantissa, mut exponent) = (Bits::new(x), Bits([0; 8]));
    for lane in 0..8 {
        let moved = mantissa.0[lane].wrapping_add(STEP);
        // The bias is subtracted below, in floating point.
        exponent.0[lane] = WHOLE | (moved >> FRACTION);
        mantissa.0[lane] = (moved & ((1 << FRACTION) - 1)).wrapping_add(FRAC_1_SQRT_2.to_bits());
    }
    (
        mantissa.numbers(x),
        exponent.numbers(x) - x.same(TO_WHOLE + BIAS),
    )
}

/// The exponential function. Results below the smallest normal number are 0.
#[inline(always)]
pub fn exp<V: Simd<Scalar = f64>>(x: V) -> V {
    exp_of_sum(x, x.same(0.0))
}

/// `exp(x + more)`, where `more` is much smaller than 1.
#[inline(always)]
fn exp_of_sum<V: Simd<Scalar = f64>>(x: V, more: V) -> V {
    // 1 / n!
    const SERIES: [f64; 12] = [
        0.5,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    ];
    let whole = x.same(TO_WHOLE);
    // NaN is preserved, as the comparisons are false.
    let inside = V::select(x.lt(x.same(MIN_EXP)), x.same(MIN_EXP), x);
    let inside = V::select(x.same(MAX_EXP).lt(inside), x.same(MAX_EXP), inside);
    let n = inside.mul_add(x.same(LOG2_E), whole) - whole;
    let high = n.neg_mul_add(x.same(LN_2_HIGH), inside);
    let (r, left) = exact_sum(high, more - n * x.same(LN_2_LOW));
    let series = (r * r).mul_add(polynomial(r, &SERIES), left) + r;
    // In two steps, as 2^1024 is not representable.
    let half = (n.mul_add(x.same(0.5), whole) - whole).min(x.same(1023.0));
    let (first, second) = (power_of_two(half), power_of_two(n - half));
    let result = first.mul_add(series, first) * second;
    let result = V::select(x.lt(x.same(MIN_EXP)), x.same(0.0), result);
    V::select(x.same(MAX_EXP).lt(x), x.same(f64::INFINITY), result)
}

/// The logarithm as a sum of two parts, for positive normal numbers.
#[inline(always)]
fn ln_in_two<V: Simd<Scalar = f64>>(x: V) -> (V, V) {
    // Coefficients of ln((1 + s) / (1 - s)) / s - 2 in powers of s^2.
    const SERIES: [f64; 11] = [
        2.0 / 3.0,
        2.0 / 5.0,
        2.0 / 7.0,
        2.0 / 9.0,
        2.0 / 11.0,
        2.0 / 13.0,
        2.0 / 15.0,
        2.0 / 17.0,
        2.0 / 19.0,
        2.0 / 21.0,
        2.0 / 23.0,
    ];
    let one = x.same(1.0);
    let (m, n) = mantissa_and_exponent(x);
    let f = m - one;
    let (sum, sum_low) = (m + one, (m - ((m + one) - one)));
    let s = f / sum;
    // Remainder of the division, divided by the sum.
    let (back, back_low) = exact_product(s, sum);
    let s_low = ((f - back) - back_low - s * sum_low) / sum;
    let z = s * s;
    let two = s + s;
    let tail = s * z * polynomial(z, &SERIES) + (s_low + s_low);
    // The first part of n ln 2 is exact and, for n != 0, the larger term.
    let (high, low) = exact_sum(n * x.same(LN_2_HIGH), two);
    exact_sum(high, low + n.mul_add(x.same(LN_2_LOW), tail))
}

/// The natural logarithm: -infinity at 0, NaN below.
#[inline(always)]
pub fn ln<V: Simd<Scalar = f64>>(x: V) -> V {
    // Subnormal numbers are scaled up.
    const LARGER: f64 = 18_014_398_509_481_984.0;
    const LN_LARGER: f64 = 54.0 * LN_2;
    let zero = x.same(0.0);
    let small = x.lt(x.same(f64::MIN_POSITIVE));
    let scaled = V::select(small, x * x.same(LARGER), x);
    let (high, low) = ln_in_two(scaled);
    let result = high + low;
    let result = V::select(small, result - x.same(LN_LARGER), result);
    let result = V::select(x.eq(x.same(f64::INFINITY)), x, result);
    let result = V::select(x.eq(zero), x.same(f64::NEG_INFINITY), result);
    let defined = zero.le(x);
    V::select(defined, result, x.same(f64::NAN))
}

/// A power of a positive number that is neither subnormal nor infinite.
#[inline(always)]
pub fn pow<V: Simd<Scalar = f64>>(x: V, y: V) -> V {
    let (high, low) = ln_in_two(x);
    let (product, left) = exact_product(high, y);
    exp_of_sum(product, low.mul_add(y, left))
}

/// Reduces an angle by multiples of pi/2; returns sine and cosine of the rest, and the multiple modulo 4.
#[inline(always)]
fn reduced<V: Simd<Scalar = f64>>(x: V) -> (V, V, V) {
    // (-1)^n / (2n + 1)! and (-1)^n / (2n)!
    const SINE: [f64; 8] = [
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5_040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0,
    ];
    const COSINE: [f64; 7] = [
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 20_922_789_888_000.0,
    ];
    let (one, half, whole) = (x.same(1.0), x.same(0.5), x.same(TO_WHOLE));
    let n = x.mul_add(x.same(1.0 / FRAC_PI_2), whole) - whole;
    // The first two products and the first difference are exact.
    let (first, second) = (x - n * x.same(HALF_PI[0]), n * x.same(HALF_PI[1]));
    let near = first - second;
    let rounded = (first - near) - second;
    let (r, left) = exact_sum(near, rounded - n * x.same(HALF_PI[2]));
    let z = r * r;
    let sine = (r * z).mul_add(polynomial(z, &SINE), left.neg_mul_add(z * half, left)) + r;
    // The rounding error of 1 - z / 2 is added to the rest.
    let (large, rounded) = exact_sum(one, -(z * half));
    let rest = (z * z).mul_add(polynomial(z, &COSINE), rounded - r * left);
    let quarter = (n * x.same(0.25) + whole) - whole;
    let turn = n - quarter * x.same(4.0);
    (sine, large + rest, turn)
}

/// Sine and cosine.
#[inline(always)]
pub fn sin_cos<V: Simd<Scalar = f64>>(x: V) -> (V, V) {
    let (sine, cosine, turn) = reduced(x);
    let one = x.same(1.0);
    // The multiple is from -2 to 2.
    let odd = turn.abs().eq(one);
    let (s, c) = (V::select(odd, cosine, sine), V::select(odd, sine, cosine));
    let two = turn.abs().eq(x.same(2.0));
    let sine_negative = V::select(two, -one, V::select(turn.eq(-one), -one, one));
    let cosine_negative = V::select(two, -one, V::select(turn.eq(one), -one, one));
    let known = x.abs().le(x.same(MAX_ANGLE));
    let nan = x.same(f64::NAN);
    (
        V::select(known, s * sine_negative, nan),
        V::select(known, c * cosine_negative, nan),
    )
}

/// The tangent.
#[inline(always)]
pub fn tan<V: Simd<Scalar = f64>>(x: V) -> V {
    let (sine, cosine, turn) = reduced(x);
    let odd = turn.abs().eq(x.same(1.0));
    let result = V::select(odd, -cosine, sine) / V::select(odd, sine, cosine);
    let known = x.abs().le(x.same(MAX_ANGLE));
    V::select(known, result, x.same(f64::NAN))
}

/// The arctangent, from -pi/2 to pi/2.
#[inline(always)]
pub fn atan<V: Simd<Scalar = f64>>(x: V) -> V {
    // (-1)^n / (2n + 1)
    const SERIES: [f64; 13] = [
        -1.0 / 3.0,
        1.0 / 5.0,
        -1.0 / 7.0,
        1.0 / 9.0,
        -1.0 / 11.0,
        1.0 / 13.0,
        -1.0 / 15.0,
        1.0 / 17.0,
        -1.0 / 19.0,
        1.0 / 21.0,
        -1.0 / 23.0,
        1.0 / 25.0,
        -1.0 / 27.0,
    ];
    // Tangents of pi/16, pi/8 and 3 pi/16.
    const FIRST: f64 = 0.198_912_367_379_658;
    const SECOND: f64 = 0.414_213_562_373_095_03;
    const THIRD: f64 = 0.668_178_637_919_298_9;
    let (zero, one) = (x.same(0.0), x.same(1.0));
    let size = x.abs();
    let large = one.lt(size);
    // Subtracts the angle of a centre (0, pi/8 or pi/4) from that of the number, or of its inverse.
    let first = V::select(large, x.same(1.0 / FIRST), size);
    let last = V::select(large, size, x.same(FIRST));
    let outer = first.le(last);
    let first = V::select(large, size, x.same(THIRD));
    let last = V::select(large, x.same(1.0 / THIRD), size);
    let middle = first.lt(last);
    let center = V::select(outer, zero, V::select(middle, one, x.same(SECOND)));
    let offset = V::select(
        outer,
        zero,
        V::select(middle, x.same(FRAC_PI_4), x.same(FRAC_PI_8)),
    );
    let over = V::select(large, center.neg_mul_add(size, one), size - center);
    let under = V::select(large, size + center, center.mul_add(size, one));
    // Avoids infinity over infinity.
    let r = V::select(size.eq(x.same(f64::INFINITY)), zero, over / under);
    let z = r * r;
    let angle = (r * z).mul_add(polynomial(z, &SERIES), r);
    let angle = V::select(large, (x.same(FRAC_PI_2) - offset) - angle, offset + angle);
    angle.copysign(x)
}

#[cfg(test)]
mod tests;
