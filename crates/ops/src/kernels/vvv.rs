//! Three vectors with the Yang-Mills structure, all momenta incoming: `(V1 V2) (V3 (p2 - p1)) + (V1 V3) (V2 (p1 - p3))
//! + (V2 V3) (V1 (p3 - p2))`.

use super::{Inputs, Memory, add, dot, dot_momentum, sub, unitary};
use mebridge_simd::{Cx, Simd};

#[inline(always)]
pub(super) unsafe fn amplitude<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(8) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            let v3 = m.four(inputs.address(op[2]));
            let (p1, p2, p3) = (m.momentum(op[4]), m.momentum(op[5]), m.momentum(op[6]));
            let sum = dot(v1, v2) * dot_momentum(sub(p2, p1), v3);
            let sum = dot(v1, v3).mul_add(dot_momentum(sub(p1, p3), v2), sum);
            let sum = dot(v2, v3).mul_add(dot_momentum(sub(p3, p2), v1), sum);
            m.put_complex(op[7], m.complex(op[3]) * sum);
        }
    }
}

/// With `p1 = -(p2 + p3)`:
/// `(V2 V3) (p3 - p2) + V2 (V3 (2 p2 + p3)) - V3 (V2 (p2 + 2 p3))`.
#[inline(always)]
unsafe fn current<V: Simd, I: Inputs>(op: &[u32], inputs: I, m: Memory<V>) -> ([Cx<V>; 4], [V; 4]) {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let v2 = m.four(inputs.address(op[0]));
        let v3 = m.four(inputs.address(op[1]));
        let factor = m.complex(op[2]);
        let (p2, p3) = (m.momentum(op[3]), m.momentum(op[4]));
        let p = add(p2, p3);
        let along = factor * dot(v2, v3);
        let with2 = factor * dot_momentum(add(p, p2), v3);
        let with3 = factor * dot_momentum(add(p, p3), v2);
        let d = sub(p3, p2);
        (
            [
                component(along, d[0], with2, v2[0], with3, v3[0]),
                component(along, d[1], with2, v2[1], with3, v3[1]),
                component(along, d[2], with2, v2[2], with3, v3[2]),
                component(along, d[3], with2, v2[3], with3, v3[3]),
            ],
            p,
        )
    }
}

#[inline(always)]
fn component<V: Simd>(
    along: Cx<V>,
    d: V,
    with2: Cx<V>,
    v2: Cx<V>,
    with3: Cx<V>,
    v3: Cx<V>,
) -> Cx<V> {
    with3.neg_mul_add(v3, with2.mul_add(v2, along.scale(d)))
}

#[inline(always)]
pub(super) unsafe fn vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let (v, _) = current(op, inputs, m);
            m.put_four(op[5], v);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn massive_vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(7) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let (v, p) = current(op, inputs, m);
            m.put_four(op[6], unitary(v, p, m.real(op[5])));
        }
    }
}
