//! Sums of squared products, computed from sums over each factor's helicities.
//!
//! Summed over all helicities of the wavefunctions `a` and `b`, `sum |a b|^2 = sum over i, j of A_ij B_ij`, where
//! `A_ij` is the sum of `a_i a_j^*`. Reversing all helicities turns `a` into the *mirrored* wavefunction, up to a
//! phase: the conjugate of a vector, and `(a3, -a2, a1, -a0)^*` for a spinor `(a0, a1, a2, a3)`, for either direction
//! of flow. (These are HELAS's conventions in the chiral representation; vertices that treat both chiralities equally
//! preserve this.) If `A` is equal to the matrix `A'` of the mirrored wavefunctions, `A` and `B` give the same sum as `A` and
//! `(B + B')/2`, so that only matrices with this symmetry are needed, of which few numbers are independent:
//!
//! - for spinors `A_00 = A_33`, `A_11 = A_22`, `A_01 = -A_23` and `A_02 = A_13`, the others being 0: two real numbers,
//!   then two complex ones;
//! - for vectors a real symmetric matrix in the components `V0 + V3`, `V0 - V3`, `V1`, `V2` (half of A is stored): its
//!   rows from the diagonal on. A boost along the beam scales these components, but does not introduce cancellations.
//!
//! Of two helicities that are each other's reverse only one is given, in the second list of a kernel, which adds the
//! mirrored one. Wavefunctions in the first list are not in such a pair: they and their mirrored ones count half.

use super::Memory;
use super::sums::OperandReader;
use mebridge_simd::{Cx, Simd};

/// Real numbers in the matrix of a spinor.
const OF_SPINORS: usize = 6;
/// Real numbers in the matrix of a vector.
const OF_VECTORS: usize = 10;

/// Defines a kernel that makes matrices. Operands: numbers of wavefunctions in both lists, the wavefunctions, result.
macro_rules! matrices {
    ($(#[$doc:meta])* $name:ident, $numbers:expr, $add:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) unsafe fn $name<V: Simd>(operands: &[u32], m: Memory<V>) {
            let mut ops = OperandReader::new(operands);
            while !ops.is_empty() {
                let counts = ops.take(2);
                let (single, paired) = ops.two(counts[0], counts[1]);
                let result = ops.take(1)[0];
                // SAFETY: the caller guarantees valid addresses.
                unsafe {
                    let mut matrix = [V::zero(); $numbers];
                    for &term in single {
                        matrix = $add(m, term, matrix);
                    }
                    if !single.is_empty() {
                        for number in &mut matrix {
                            *number = *number * number.same(0.5);
                        }
                    }
                    for &term in paired {
                        matrix = $add(m, term, matrix);
                    }
                    put(m, result, matrix);
                }
            }
        }
    };
}

matrices! {
    /// Matrices of spinors.
    of_spinors, OF_SPINORS, add_spinor
}

matrices! {
    /// Matrices of vectors.
    of_vectors, OF_VECTORS, add_vector
}

matrices! {
    /// Sums of squares of scalars.
    of_scalars, 1, add_scalar
}

/// Adds a spinor and the mirrored one.
#[inline(always)]
unsafe fn add_spinor<V: Simd>(
    m: Memory<V>,
    term: u32,
    [outer, inner, xre, xim, yre, yim]: [V; OF_SPINORS],
) -> [V; OF_SPINORS] {
    // SAFETY: the caller guarantees a valid address.
    let [a, b, c, d] = unsafe { m.four(term) };
    let outer = add_square(d, add_square(a, outer));
    let inner = add_square(c, add_square(b, inner));
    let x = d.neg_conj_mul_add(c, b.conj_mul_add(a, Cx::new(xre, xim)));
    let y = d.conj_mul_add(b, c.conj_mul_add(a, Cx::new(yre, yim)));
    [outer, inner, x.re, x.im, y.re, y.im]
}

/// Adds half of a vector and the mirrored one.
#[inline(always)]
unsafe fn add_vector<V: Simd>(
    m: Memory<V>,
    term: u32,
    mut matrix: [V; OF_VECTORS],
) -> [V; OF_VECTORS] {
    // SAFETY: the caller guarantees a valid address.
    let [e, x, y, z] = unsafe { m.four(term) };
    let v = [e + z, e - z, x, y];
    let mut at = 0;
    for i in 0..4 {
        for j in i..4 {
            let sum = v[i].re.mul_add(v[j].re, matrix[at]);
            matrix[at] = v[i].im.mul_add(v[j].im, sum);
            at += 1;
        }
    }
    matrix
}

/// Adds half of a scalar and the mirrored one.
#[inline(always)]
unsafe fn add_scalar<V: Simd>(m: Memory<V>, term: u32, [sum]: [V; 1]) -> [V; 1] {
    // SAFETY: the caller guarantees a valid address.
    [add_square(unsafe { m.complex(term) }, sum)]
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
