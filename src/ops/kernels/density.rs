//! Hermitian matrices of wavefunctions, and squared products from them.
//!
//! A matrix takes 16 vectors: four real numbers of its diagonal, then the complex ones above it,
//! row by row. That of vectors is in the components `V0 + V3`, `V0 - V3`, `V1 + i V2`, `V1 - i V2`, in
//! which the product of two is `(a0 b1 + a1 b0 - a2 b3 - a3 b2) / 2`.

use super::Memory;
use super::ffv::slash;
use crate::simd::{Cx, Simd};

/// Rows and columns of the numbers above the diagonal.
const ABOVE: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// A hermitian matrix.
struct Matrix<V> {
    diagonal: [V; 4],
    above: [Cx<V>; 6],
}

impl<V: Simd> Matrix<V> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has the level.
        unsafe {
            Matrix {
                diagonal: [V::zero(); 4],
                above: [Cx::new(V::zero(), V::zero()); 6],
            }
        }
    }

    #[inline(always)]
    unsafe fn load(m: Memory<V>, at: u32) -> Self {
        // SAFETY: the caller promises a valid address.
        unsafe {
            let mut matrix = Matrix::zero();
            for i in 0..4 {
                matrix.diagonal[i] = m.real(at + i as u32);
            }
            for i in 0..6 {
                matrix.above[i] = m.complex(at + 4 + 2 * i as u32);
            }
            matrix
        }
    }

    #[inline(always)]
    unsafe fn store(&self, m: Memory<V>, at: u32) {
        // SAFETY: the caller promises a valid address.
        unsafe {
            for i in 0..4 {
                m.put_real(at + i as u32, self.diagonal[i]);
            }
            for i in 0..6 {
                m.put_complex(at + 4 + 2 * i as u32, self.above[i]);
            }
        }
    }

    /// Adds `a_i a_j^*`.
    #[inline(always)]
    fn add(&mut self, a: [Cx<V>; 4]) {
        for (sum, a) in self.diagonal.iter_mut().zip(&a) {
            *sum = a.im.mul_add(a.im, a.re.mul_add(a.re, *sum));
        }
        for (k, &(i, j)) in ABOVE.iter().enumerate() {
            self.above[k] = a[j].conj_mul_add(a[i], self.above[k]);
        }
    }
}

/// Matrices of spinors, or of vectors: how many wavefunctions, these, result.
#[inline(always)]
pub(super) unsafe fn matrices<V: Simd, const VECTORS: bool>(operands: &[u32], m: Memory<V>) {
    let mut rest = operands;
    while let [count, next @ ..] = rest {
        let (terms, next) = next.split_at(*count as usize);
        // SAFETY: the caller promises valid addresses.
        unsafe {
            let mut matrix = Matrix::zero();
            for &term in terms {
                let wave = m.four(term);
                matrix.add(match VECTORS {
                    false => wave,
                    true => {
                        let v = slash(wave);
                        [v.plus, v.minus, v.up, v.down]
                    }
                });
            }
            matrix.store(m, next[0]);
        }
        rest = &next[1..];
    }
}

/// Real part of a product.
#[inline(always)]
fn real<V: Simd>(a: Cx<V>, b: Cx<V>, sum: V) -> V {
    a.im.neg_mul_add(b.im, a.re.mul_add(b.re, sum))
}

/// Real part of a product with the conjugate of the second number.
#[inline(always)]
fn real_conjugate<V: Simd>(a: Cx<V>, b: Cx<V>, sum: V) -> V {
    a.im.mul_add(b.im, a.re.mul_add(b.re, sum))
}

/// Squared products of spinors: two matrices, result (a real number).
#[inline(always)]
pub(super) unsafe fn trace_spinors<V: Simd>(operands: &[u32], m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller promises valid addresses.
        unsafe {
            let (a, b) = (Matrix::load(m, op[0]), Matrix::load(m, op[1]));
            let mut above = V::zero();
            for k in 0..6 {
                above = real(a.above[k], b.above[k], above);
            }
            let mut sum = above + above;
            for i in 0..4 {
                sum = a.diagonal[i].mul_add(b.diagonal[i], sum);
            }
            m.put_real(op[2], sum);
        }
    }
}

/// Squared products of vectors, laid out as [`trace_spinors`].
#[inline(always)]
pub(super) unsafe fn trace_vectors<V: Simd>(operands: &[u32], m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller promises valid addresses.
        unsafe {
            let (a, b) = (Matrix::load(m, op[0]), Matrix::load(m, op[1]));
            // Components 0 and 1 of one meet 1 and 0 of the other, 2 and 3 meet 3 and 2 with a minus.
            let mut minus = real(a.above[1], b.above[4], V::zero());
            minus = real(a.above[2], b.above[3], minus);
            minus = real(a.above[3], b.above[2], minus);
            minus = real(a.above[4], b.above[1], minus);
            let mut above = real_conjugate(a.above[0], b.above[0], -minus);
            above = real_conjugate(a.above[5], b.above[5], above);
            let mut sum = above + above;
            sum = a.diagonal[0].mul_add(b.diagonal[1], sum);
            sum = a.diagonal[1].mul_add(b.diagonal[0], sum);
            sum = a.diagonal[2].mul_add(b.diagonal[3], sum);
            sum = a.diagonal[3].mul_add(b.diagonal[2], sum);
            m.put_real(op[2], sum * sum.same(0.25));
        }
    }
}
