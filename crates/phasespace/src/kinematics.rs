//! Two-body kinematics: momenta in the rest frame, boosts and rotations.

use mebridge_simd::Simd;

/// Energy and momentum.
pub type Momentum<V> = [V; 4];

#[inline(always)]
pub fn sum<V: Simd>(p: Momentum<V>, q: Momentum<V>) -> Momentum<V> {
    [p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]]
}

#[inline(always)]
pub fn difference<V: Simd>(p: Momentum<V>, q: Momentum<V>) -> Momentum<V> {
    [p[0] - q[0], p[1] - q[1], p[2] - q[2], p[3] - q[3]]
}

#[inline(always)]
pub fn opposite<V: Simd>(p: Momentum<V>) -> Momentum<V> {
    [p[0], -p[1], -p[2], -p[3]]
}

#[inline(always)]
pub fn square<V: Simd>([e, x, y, z]: Momentum<V>) -> V {
    let along = (e - z) * (e + z);
    along - x.mul_add(x, y * y)
}

#[inline(always)]
pub fn not_negative<V: Simd>(x: V) -> V {
    x.max(x.same(0.0))
}

/// `lambda(s, m1^2, m2^2)` from the masses, without cancellation at the threshold.
#[inline(always)]
pub fn lambda_of_masses<V: Simd>(s: V, m1: V, m2: V) -> V {
    let (sum, difference) = (m1 + m2, m1 - m2);
    not_negative(sum.neg_mul_add(sum, s)) * not_negative(difference.neg_mul_add(difference, s))
}

/// `lambda(s, a, b)` from squared masses, which may be negative.
#[inline(always)]
pub fn lambda<V: Simd>(s: V, a: V, b: V) -> V {
    let rest = s - a - b;
    not_negative(rest.mul_sub(rest, s.same(4.0) * a * b))
}

/// Boosts a momentum from the rest frame of `frame`, which has the given mass, to the frame in which `frame` is given.
#[inline(always)]
pub fn boost<V: Simd>(p: Momentum<V>, frame: Momentum<V>, mass: V) -> Momentum<V> {
    let along = p[1].mul_add(frame[1], p[2].mul_add(frame[2], p[3] * frame[3]));
    let energy = p[0].mul_add(frame[0], along) / mass;
    let scale = (p[0] + energy) / (frame[0] + mass);
    [
        energy,
        scale.mul_add(frame[1], p[1]),
        scale.mul_add(frame[2], p[2]),
        scale.mul_add(frame[3], p[3]),
    ]
}

/// Two unit vectors that form a right-handed frame with a unit vector (Duff et al., JCGT 6 (2017) 1).
#[inline(always)]
pub fn across<V: Simd>([x, y, z]: [V; 3]) -> [[V; 3]; 2] {
    let one = x.same(1.0);
    let sign = one.copysign(z);
    let a = -(one / (sign + z));
    let b = x * y * a;
    [
        [(sign * x * x).mul_add(a, one), sign * b, -(sign * x)],
        [b, (y * y).mul_add(a, sign), -y],
    ]
}

/// The direction of a vector and its length; along z for the zero vector.
#[inline(always)]
pub fn direction<V: Simd>([x, y, z]: [V; 3]) -> ([V; 3], V) {
    let length = x.mul_add(x, y.mul_add(y, z * z)).sqrt();
    let zero = x.same(0.0);
    let none = length.le(zero);
    let inverse = x.same(1.0) / V::select(none, x.same(1.0), length);
    let z = V::select(none, x.same(1.0), z * inverse);
    ([x * inverse, y * inverse, z], length)
}
