//! Four vectors: products of metric tensors, `12 34`, `13 24` and `14 23`.

use super::{Inputs, Memory, dot, times, unitary};
use mebridge_simd::{Cx, Simd};

/// `13 24 - 14 23`.
#[inline(always)]
pub(super) unsafe fn difference_amplitude<V: Simd, I: Inputs>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            let v3 = m.four(inputs.address(op[2]));
            let v4 = m.four(inputs.address(op[3]));
            let sum = dot(v1, v4).neg_mul_add(dot(v2, v3), dot(v1, v3) * dot(v2, v4));
            m.put_complex(op[5], m.complex(op[4]) * sum);
        }
    }
}

/// `V3 (V2 V4) - V4 (V2 V3)`.
#[inline(always)]
pub(super) unsafe fn difference_vector<V: Simd, I: Inputs>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(5) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v2 = m.four(inputs.address(op[0]));
            let v3 = m.four(inputs.address(op[1]));
            let v4 = m.four(inputs.address(op[2]));
            let factor = m.complex(op[3]);
            let with3 = factor * dot(v2, v4);
            let with4 = factor * dot(v2, v3);
            let v = times(with3, v3);
            let v = [
                with4.neg_mul_add(v4[0], v[0]),
                with4.neg_mul_add(v4[1], v[1]),
                with4.neg_mul_add(v4[2], v[2]),
                with4.neg_mul_add(v4[3], v[3]),
            ];
            m.put_four(op[4], v);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn amplitude<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(8) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            let v3 = m.four(inputs.address(op[2]));
            let v4 = m.four(inputs.address(op[3]));
            let sum = m.complex(op[4]) * (dot(v1, v2) * dot(v3, v4));
            let sum = m.complex(op[5]).mul_add(dot(v1, v3) * dot(v2, v4), sum);
            let sum = m.complex(op[6]).mul_add(dot(v1, v4) * dot(v2, v3), sum);
            m.put_complex(op[7], sum);
        }
    }
}

/// `V2 (V3 V4)`, `V3 (V2 V4)` and `V4 (V2 V3)` with their factors.
#[inline(always)]
unsafe fn current<V: Simd, I: Inputs>(op: &[u32], inputs: I, m: Memory<V>) -> [Cx<V>; 4] {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let v2 = m.four(inputs.address(op[0]));
        let v3 = m.four(inputs.address(op[1]));
        let v4 = m.four(inputs.address(op[2]));
        let with2 = m.complex(op[3]) * dot(v3, v4);
        let with3 = m.complex(op[4]) * dot(v2, v4);
        let with4 = m.complex(op[5]) * dot(v2, v3);
        let v = times(with2, v2);
        [
            with4.mul_add(v4[0], with3.mul_add(v3[0], v[0])),
            with4.mul_add(v4[1], with3.mul_add(v3[1], v[1])),
            with4.mul_add(v4[2], with3.mul_add(v3[2], v[2])),
            with4.mul_add(v4[3], with3.mul_add(v3[3], v[3])),
        ]
    }
}

#[inline(always)]
pub(super) unsafe fn vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(7) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = current(op, inputs, m);
            m.put_four(op[6], v);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn massive_vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(9) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = current(op, inputs, m);
            m.put_four(op[8], unitary(v, m.momentum(op[6]), m.real(op[7])));
        }
    }
}
