//! Sums of squared products, computed from sums over each factor's helicities.
//!
//! Summed over all helicities of the wavefunctions `a` and `b`, `sum |a b|^2 = sum over i, j of A_ij B_ij`, where
//! `A_ij` is the sum of `a_i a_j^*`. Reversing all helicities turns `a` into the *mirrored* wavefunction, up to a
//! phase: the conjugate of a vector, and `(a3, -a2, a1, -a0)^*` for a spinor `(a0, a1, a2, a3)`, for either direction
//! of flow. (These are HELAS's conventions in the chiral representation; vertices that treat both chiralities equally
//! preserve this.) If helicities come in pairs that are each other's reverse, only one of each pair is given, and the
//! kernel adds the mirrored one. Few numbers of A are then independent:
//!
//! - for spinors `A_00 = A_33`, `A_11 = A_22`, `A_01 = -A_23` and `A_02 = A_13`, the others being 0: two real numbers,
//!   then two complex ones;
//! - for vectors a real symmetric matrix in the components `V0 + V3`, `V0 - V3`, `V1`, `V2` (half of A is stored): its
//!   rows from the diagonal on. A boost along the beam scales these components, but does not introduce cancellations.

use super::Memory;
use mebridge_simd::{Cx, Simd};

/// Real numbers in the matrix of a spinor.
const OF_SPINORS: usize = 6;
/// Real numbers in the matrix of a vector.
const OF_VECTORS: usize = 10;

/// Matrices of spinors. Operands: number of spinors, the spinors, result.
#[inline(always)]
pub(super) unsafe fn of_spinors<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut rest = operands;
    while let [count, next @ ..] = rest {
        let (terms, next) = next.split_at(*count as usize);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let zero = V::zero();
            let (mut outer, mut inner) = (zero, zero);
            let (mut x, mut y) = (Cx::new(zero, zero), Cx::new(zero, zero));
            for &term in terms {
                let [a, b, c, d] = m.four(term);
                outer = add_square(d, add_square(a, outer));
                inner = add_square(c, add_square(b, inner));
                x = d.neg_conj_mul_add(c, b.conj_mul_add(a, x));
                y = d.conj_mul_add(b, c.conj_mul_add(a, y));
            }
            put(m, next[0], [outer, inner, x.re, x.im, y.re, y.im]);
        }
        rest = &next[1..];
    }
}

/// Matrices of vectors, with the same operands.
#[inline(always)]
pub(super) unsafe fn of_vectors<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut rest = operands;
    while let [count, next @ ..] = rest {
        let (terms, next) = next.split_at(*count as usize);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let mut matrix = [V::zero(); OF_VECTORS];
            for &term in terms {
                let [e, x, y, z] = m.four(term);
                let v = [e + z, e - z, x, y];
                let mut at = 0;
                for i in 0..4 {
                    for j in i..4 {
                        let sum = v[i].re.mul_add(v[j].re, matrix[at]);
                        matrix[at] = v[i].im.mul_add(v[j].im, sum);
                        at += 1;
                    }
                }
            }
            put(m, next[0], matrix);
        }
        rest = &next[1..];
    }
}

/// Sums of squares of scalars. Operands: number of scalars, the scalars, result.
#[inline(always)]
pub(super) unsafe fn of_scalars<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut rest = operands;
    while let [count, next @ ..] = rest {
        let (terms, next) = next.split_at(*count as usize);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let mut sum = V::zero();
            for &term in terms {
                sum = add_square(m.complex(term), sum);
            }
            m.put_real(next[0], sum);
        }
        rest = &next[1..];
    }
}

/// Adds |z|^2.
#[inline(always)]
fn add_square<V: Simd>(z: Cx<V>, sum: V) -> V {
    z.im.mul_add(z.im, z.re.mul_add(z.re, sum))
}

#[inline(always)]
unsafe fn put<V: Simd, const N: usize>(m: Memory<V>, at: u32, numbers: [V; N]) {
    for (x, at) in numbers.into_iter().zip(at..) {
        // SAFETY: the caller guarantees a valid address.
        unsafe { m.put_real(at, x) };
    }
}

#[inline(always)]
unsafe fn get<V: Simd, const N: usize>(m: Memory<V>, at: u32) -> [V; N] {
    // SAFETY: the caller guarantees a valid address.
    unsafe {
        let mut numbers = [V::zero(); N];
        for (x, at) in numbers.iter_mut().zip(at..) {
            *x = m.real(at);
        }
        numbers
    }
}

/// A sum of squares computed from terms with other signs: just above a threshold, rounding may make small values
/// negative. NaN is preserved.
#[inline(always)]
fn squared<V: Simd>(sum: V) -> V {
    let zero = sum.same(0.0);
    V::select(sum.lt(zero), zero, sum)
}

/// Squared products of spinors. Operands: two matrices, result (real).
#[inline(always)]
pub(super) unsafe fn trace_spinors<V: Simd>(operands: &[u32], m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let a = get::<V, OF_SPINORS>(m, op[0]);
            let b = get::<V, OF_SPINORS>(m, op[1]);
            let mut above = a[2] * b[2];
            above = a[3].neg_mul_add(b[3], above);
            above = a[4].mul_add(b[4], above);
            above = a[5].neg_mul_add(b[5], above);
            let mut sum = above + above;
            sum = a[0].mul_add(b[0], sum);
            sum = a[1].mul_add(b[1], sum);
            m.put_real(op[2], squared(sum + sum));
        }
    }
}

/// Squared products of vectors, with the operands of [`trace_spinors`].
#[inline(always)]
pub(super) unsafe fn trace_vectors<V: Simd>(operands: &[u32], m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            // Rows and columns: p is V0 + V3, m is V0 - V3.
            let [app, apm, apx, apy, amm, amx, amy, axx, axy, ayy] = get::<V, OF_VECTORS>(m, op[0]);
            let [bpp, bpm, bpx, bpy, bmm, bmx, bmy, bxx, bxy, byy] = get::<V, OF_VECTORS>(m, op[1]);
            let mut across = apx * bmx;
            across = amx.mul_add(bpx, across);
            across = apy.mul_add(bmy, across);
            across = amy.mul_add(bpy, across);
            let mut rest = axx.mul_add(bxx, -across);
            rest = ayy.mul_add(byy, rest);
            let double = axy * bxy;
            rest = rest + (double + double);
            let along = apm * bpm;
            let mut sum = along + along;
            sum = app.mul_add(bmm, sum);
            sum = amm.mul_add(bpp, sum);
            let rest = rest + rest;
            m.put_real(op[2], squared(sum + (rest + rest)));
        }
    }
}

/// Squared products of scalars. Operands: two sums of squares, result. Each sum also represents the mirrored scalars.
#[inline(always)]
pub(super) unsafe fn trace_scalars<V: Simd>(operands: &[u32], m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let half = m.real(op[0]) * m.real(op[1]);
            let half = half + half;
            m.put_real(op[2], half + half);
        }
    }
}
