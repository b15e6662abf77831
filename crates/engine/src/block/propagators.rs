//! Propagators of a vector of events.
//!
//! A line without a width may be on its mass shell: beside collinear or soft legs nothing but rounding is left of a sum
//! of momenta, squared. So its `p^2 - m^2` is made of products of legs' momenta, which keep their digits as long as the
//! events have them. Where none is left it is a pole, whose propagator is NaN, and so is |M|^2.

use mebridge_ops::kernels::Memory;
use mebridge_plan::{Plan, Propagator, Virtuality};
use mebridge_simd::{Cx, Real, Simd};

/// Two directions are the same up to this many roundings. (Also in `cuda/operations.cuh`, as the others.)
const COLLINEAR: f64 = 64.0;
/// A line is on its mass shell up to this many roundings,
const ON_SHELL: f64 = 16.0;
/// a leg, which may have been boosted, up to this many.
const LEG_ON_SHELL: f64 = 256.0;

/// The squares and products of legs' momenta that a plan asks for.
///
/// # Safety
/// The level is there; addresses of the plan.
#[inline(always)]
pub(super) unsafe fn products<V: Simd>(m: Memory<V>, plan: &Plan) {
    // SAFETY: the caller's promise.
    unsafe {
        for square in &plan.squares {
            let mass = plan.masses[square.leg as usize];
            let momentum = m.momentum(plan.leg_momenta + 4 * square.leg);
            m.put_real(square.address, momentum_square(momentum, mass * mass));
        }
        for product in &plan.products {
            let [a, b] = product.legs;
            let p = m.momentum(plan.leg_momenta + 4 * a);
            let q = m.momentum(plan.leg_momenta + 4 * b);
            let squares = [m.real(product.squares[0]), m.real(product.squares[1])];
            m.put_real(product.address, momentum_product(p, q, squares));
        }
    }
}

/// `p^2`: the mass squared, unless the momentum is off the mass shell by more than its rounding.
#[inline(always)]
fn momentum_square<V: Simd>([e, x, y, z]: [V; 4], mass_squared: f64) -> V {
    let mass_squared = e.same(mass_squared);
    let energies = e * e;
    let square = energies - x.mul_add(x, y.mul_add(y, z * z));
    let rounding = energies * e.same(LEG_ON_SHELL * V::Scalar::EPSILON.to_f64());
    let on_shell = (square - mass_squared).abs().le(rounding);
    V::select(on_shell, mass_squared, square)
}

/// `p q`, given `p^2` and `q^2`. For momenta in one direction
/// `((p x q)^2 + p^2 E_q^2 + q^2 (E_p^2 - p^2)) / (E_p E_q + p q)`, in which nothing cancels; zero of massless ones that
/// have one direction up to rounding.
#[inline(always)]
fn momentum_product<V: Simd>(p: [V; 4], q: [V; 4], [p2, q2]: [V; 2]) -> V {
    let zero = p[0].same(0.0);
    let energies = p[0] * q[0];
    let along = p[1].mul_add(q[1], p[2].mul_add(q[2], p[3] * q[3]));
    // As of what comes in.
    if V::all(along.le(zero)) {
        return energies - along;
    }
    let scale = zero.same(1.0) / (energies + along);
    let across = [
        p[2].mul_sub(q[3], p[3] * q[2]),
        p[3].mul_sub(q[1], p[1] * q[3]),
        p[1].mul_sub(q[2], p[2] * q[1]),
    ];
    let mut sum = zero;
    let mut largest = zero;
    for x in across {
        sum = x.mul_add(x * scale, sum);
        largest = largest.max(x.abs());
    }
    let rounding = energies * zero.same(COLLINEAR * V::Scalar::EPSILON.to_f64());
    let sum = V::select(largest.le(rounding), zero, sum);
    let sum = p2.mul_add(q[0] * (q[0] * scale), sum);
    let forward = q2.mul_add(p[0].mul_sub(p[0], p2) * scale, sum);
    V::select(zero.lt(along), forward, energies - along)
}

/// `1 / (p^2 - m (m - i width))`.
///
/// # Safety
/// The level is there; addresses of the plan, whose products are there.
#[inline(always)]
pub(super) unsafe fn inverse<V: Simd>(m: Memory<V>, propagator: &Propagator) {
    // SAFETY: the caller's promise.
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
    // SAFETY: the caller's promise.
    unsafe {
        let zero = V::zero();
        let (mut sum, mut size) = (-square, zero.same(virtuality.size));
        for &square in &virtuality.squares {
            sum = sum + m.real(square);
        }
        for &(product, factor) in &virtuality.terms {
            let product = m.real(product);
            let factor = zero.same(factor);
            sum = factor.mul_add(product, sum);
            size = factor.abs().mul_add(product.abs(), size);
        }
        let rounding = size * zero.same(ON_SHELL * V::Scalar::EPSILON.to_f64());
        let inverse = zero.same(1.0) / sum;
        let pole = sum.abs().le(rounding);
        Cx::new(V::select(pole, zero.same(f64::NAN), inverse), zero)
    }
}
