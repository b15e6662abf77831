//! Fermion line and scalar: `f2 (L P_L + R P_R) f1 S`. Unlike for a vector, each half of a spinor is multiplied by the
//! same half of the other.

use super::ffv::{LeftRight, factors, propagate_in, propagate_out};
use super::{Inputs, Memory};
use mebridge_simd::{Cx, Simd};

#[inline(always)]
pub(super) unsafe fn amplitude<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let s = m.complex(inputs.address(op[2]));
            let sum = contract(op, &op[3..], inputs, m);
            m.put_complex(op[5], sum * s);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn scalar<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(5) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let sum = contract(op, &op[2..], inputs, m);
            m.put_complex(op[4], sum);
        }
    }
}

/// `f2 (L P_L + R P_R) f1`.
#[inline(always)]
unsafe fn contract<V: Simd, I: Inputs>(
    op: &[u32],
    factor_operands: &[u32],
    inputs: I,
    m: Memory<V>,
) -> Cx<V> {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let f1 = m.four(inputs.address(op[0]));
        let f2 = m.four(inputs.address(op[1]));
        let (left, right) = factors::<V, LeftRight>(factor_operands, m);
        let l = f1[0].mul_add(f2[0], f1[1] * f2[1]);
        let r = f1[2].mul_add(f2[2], f1[3] * f2[3]);
        left.mul_add(l, right * r)
    }
}

/// The spinor times the scalar and the factors.
#[inline(always)]
unsafe fn scaled<V: Simd, I: Inputs>(op: &[u32], inputs: I, m: Memory<V>) -> [Cx<V>; 4] {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let f = m.four(inputs.address(op[0]));
        let s = m.complex(inputs.address(op[1]));
        let (left, right) = factors::<V, LeftRight>(&op[2..], m);
        let (left, right) = (left * s, right * s);
        [left * f[0], left * f[1], right * f[2], right * f[3]]
    }
}

#[inline(always)]
pub(super) unsafe fn outgoing<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(7) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let w = scaled(op, inputs, m);
            let result = propagate_out(w, m.momentum(op[4]), m.real(op[5]), false);
            m.put_four(op[6], result);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn incoming<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(7) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let u = scaled(op, inputs, m);
            let result = propagate_in(u, m.momentum(op[4]), m.real(op[5]), false);
            m.put_four(op[6], result);
        }
    }
}
