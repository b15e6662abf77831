//! Propagators of a vector of events.
//!
//! A line without a width may be on its mass shell: near collinear or soft legs, the square of a sum of momenta has
//! lost all digits to rounding. So `p^2 - m^2` is computed from products of legs' momenta, which keep their digits as
//! long as the events have them. If no digits are left, the line is at a pole: its propagator is NaN, and so is |M|^2.

use mebridge_ops::kernels::Memory;
use mebridge_plan::{Plan, Propagator, Virtuality};
use mebridge_simd::{Cx, Real, Simd};

/// Momenta have the same direction within this many roundings. (Also in `cuda/operations.cuh`, like the others.)
const COLLINEAR: f64 = 64.0;
/// A line is on its mass shell within this many roundings.
const ON_SHELL: f64 = 16.0;
/// A leg, which may have been boosted, is on its mass shell within this many.
pub(super) const LEG_ON_SHELL: f64 = 256.0;

/// Below this value, remainders of sums may have lost digits to underflow.
#[inline(always)]
fn least<V: Simd>(zero: V) -> V {
    zero.same(f64::powi(2.0, if V::Scalar::DOUBLE { -970 } else { -103 }))
}

/// Computes the products of legs' momenta that the plan lists, given their squares. Of `crossed` momenta some are
/// negative.
///
/// # Safety
/// The CPU supports the level; addresses are those of the plan.
#[inline(always)]
pub(super) unsafe fn products<V: Simd>(m: Memory<V>, plan: &Plan, crossed: bool) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        for product in &plan.products {
            let [a, b] = product.legs;
            let p = m.momentum(plan.leg_momenta + 4 * a);
            let q = m.momentum(plan.leg_momenta + 4 * b);
            let squares = [m.real(product.squares[0]), m.real(product.squares[1])];
            let [numerator, denominator] = match crossed {
                false => momentum_product(p, q, squares),
                true => {
                    let (p, first) = with_positive_energy(p);
                    let (q, second) = with_positive_energy(q);
                    let [numerator, denominator] = momentum_product(p, q, squares);
                    [numerator * (first * second), denominator]
                }
            };
            m.put_real(product.address, numerator);
            m.put_real(product.address + 1, denominator);
        }
    }
}

/// A momentum times the sign of its energy, and this sign.
#[inline(always)]
fn with_positive_energy<V: Simd>([e, x, y, z]: [V; 4]) -> ([V; 4], V) {
    let sign = e.same(1.0).copysign(e);
    ([e * sign, x * sign, y * sign, z * sign], sign)
}

/// Numerator and denominator of `p q`, given `p^2` and `q^2`. For momenta in similar directions it is `((p x q)^2 + p^2
/// E_q^2 + q^2 (E_p^2 - p^2)) / (E_p E_q + p q)`, which has no cancellations; for massless momenta whose directions
/// agree within rounding it is zero.
#[inline(always)]
fn momentum_product<V: Simd>(p: [V; 4], q: [V; 4], [p2, q2]: [V; 2]) -> [V; 2] {
    let (zero, one) = (p[0].same(0.0), p[0].same(1.0));
    let energies = p[0] * q[0];
    let along = p[1].mul_add(q[1], p[2].mul_add(q[2], p[3] * q[3]));
    // For instance the product of the incoming momenta.
    if V::all(along.le(zero)) {
        return [energies - along, one];
    }
    let [x, y, z] = [
        p[2].mul_sub(q[3], p[3] * q[2]),
        p[3].mul_sub(q[1], p[1] * q[3]),
        p[1].mul_sub(q[2], p[2] * q[1]),
    ];
    let across = x.mul_add(x, y.mul_add(y, z * z));
    let rounding = energies * zero.same(COLLINEAR * V::Scalar::EPSILON.to_f64());
    let across = V::select(across.le(rounding * rounding), zero, across);
    let sum = p2.mul_add(q[0] * q[0], across);
    let sum = q2.mul_add(p[0].mul_sub(p[0], p2), sum);
    let forward = zero.lt(along);
    [
        V::select(forward, sum, energies - along),
        V::select(forward, energies + along, one),
    ]
}

/// Computes `1 / (p^2 - m (m - i width))`.
///
/// # Safety
/// The CPU supports the level; addresses are those of the plan, whose products have been computed.
#[inline(always)]
pub(super) unsafe fn inverse<V: Simd>(m: Memory<V>, propagator: &Propagator) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let square = V::zero().same(propagator.mass * propagator.mass);
        let inverse = match &propagator.virtuality {
            Some(virtuality) => without_width(m, virtuality, square),
            None => {
                let [e, x, y, z] = m.momentum(propagator.momentum);
                with_width(
                    e * e - x * x - y * y - z * z - square,
                    propagator.mass * propagator.width,
                )
            }
        };
        m.put_complex(propagator.address, inverse);
    }
}

#[inline(always)]
fn with_width<V: Simd>(re: V, im: f64) -> Cx<V> {
    let one = re.same(1.0);
    if im == 0.0 {
        return Cx::new(one / re, re.same(0.0));
    }
    let im = re.same(im);
    let scale = one / re.mul_add(re, im * im);
    Cx::new(re * scale, -(im * scale))
}

/// # Safety
/// As for [`inverse`].
#[inline(always)]
unsafe fn without_width<V: Simd>(m: Memory<V>, virtuality: &Virtuality, square: V) -> Cx<V> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let zero = V::zero();
        let (mut sum, mut size) = (-square, zero.same(virtuality.size));
        for &square in &virtuality.squares {
            sum = sum + m.real(square);
        }
        // Common denominator of the sum: at the end that of the last product, which needs no division of its own.
        let mut under = zero.same(1.0);
        for (i, &(product, factor)) in virtuality.terms.iter().enumerate() {
            if i > 0 {
                let inverse = zero.same(1.0) / under;
                (sum, size) = (sum * inverse, size * inverse);
            }
            under = m.real(product + 1);
            let product = zero.same(factor) * m.real(product);
            sum = under.mul_add(sum, product);
            size = under.mul_add(size, product.abs());
        }
        let rounding = size.mul_add(
            zero.same(ON_SHELL * V::Scalar::EPSILON.to_f64()),
            least(zero),
        );
        let pole = sum.abs().le(rounding);
        Cx::new(V::select(pole, zero.same(f64::NAN), under / sum), zero)
    }
}
