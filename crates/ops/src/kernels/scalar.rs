//! Vectors and scalars (VSS, VVS, VVSS), and scalars alone (SSS, SSSS).

use super::{Inputs, Memory, add, dot, dot_momentum, sub, times, unitary};
use mebridge_simd::{Cx, Simd};

#[inline(always)]
pub(super) unsafe fn vss_amplitude<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(8) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = m.four(inputs.address(op[0]));
            let s = m.complex(inputs.address(op[1])) * m.complex(inputs.address(op[2]));
            let d = sub(m.momentum(op[5]), m.momentum(op[6]));
            m.put_complex(op[7], m.complex(op[3]) * s * dot_momentum(d, v));
        }
    }
}

/// `(p2 - p3) S2 S3` and the momentum of the result.
#[inline(always)]
unsafe fn vss_current<V: Simd, I: Inputs>(
    op: &[u32],
    inputs: I,
    m: Memory<V>,
) -> ([Cx<V>; 4], [V; 4]) {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let s = m.complex(inputs.address(op[0])) * m.complex(inputs.address(op[1]));
        let s = m.complex(op[2]) * s;
        let (p2, p3) = (m.momentum(op[3]), m.momentum(op[4]));
        let d = sub(p2, p3);
        let v = [s.scale(d[0]), s.scale(d[1]), s.scale(d[2]), s.scale(d[3])];
        (v, add(p2, p3))
    }
}

#[inline(always)]
pub(super) unsafe fn vss_vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let (v, _) = vss_current(op, inputs, m);
            m.put_four(op[5], v);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vss_massive_vector<V: Simd, I: Inputs>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(7) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let (v, p) = vss_current(op, inputs, m);
            m.put_four(op[6], unitary(v, p, m.real(op[5])));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vss_scalar<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = m.four(inputs.address(op[0]));
            let s = m.complex(op[2]) * m.complex(inputs.address(op[1]));
            let (p1, p2) = (m.momentum(op[3]), m.momentum(op[4]));
            let q = add(add(p1, p2), p2);
            m.put_complex(op[5], s * dot_momentum(q, v));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vvs_amplitude<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(5) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            let s = m.complex(op[3]) * m.complex(inputs.address(op[2]));
            m.put_complex(op[4], s * dot(v1, v2));
        }
    }
}

/// `V2 S3`.
#[inline(always)]
unsafe fn vvs_current<V: Simd, I: Inputs>(op: &[u32], inputs: I, m: Memory<V>) -> [Cx<V>; 4] {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let s = m.complex(op[2]) * m.complex(inputs.address(op[1]));
        times(s, m.four(inputs.address(op[0])))
    }
}

#[inline(always)]
pub(super) unsafe fn vvs_vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(4) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = vvs_current(op, inputs, m);
            m.put_four(op[3], v);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vvs_massive_vector<V: Simd, I: Inputs>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = vvs_current(op, inputs, m);
            m.put_four(op[5], unitary(v, m.momentum(op[3]), m.real(op[4])));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vvs_scalar<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(4) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            m.put_complex(op[3], m.complex(op[2]) * dot(v1, v2));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vvss_amplitude<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(6) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            let s = m.complex(inputs.address(op[2])) * m.complex(inputs.address(op[3]));
            m.put_complex(op[5], m.complex(op[4]) * s * dot(v1, v2));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vvss_vector<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(5) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let s = m.complex(inputs.address(op[1])) * m.complex(inputs.address(op[2]));
            let s = m.complex(op[3]) * s;
            m.put_four(op[4], times(s, m.four(inputs.address(op[0]))));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn vvss_scalar<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(5) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v1 = m.four(inputs.address(op[0]));
            let v2 = m.four(inputs.address(op[1]));
            let s = m.complex(op[3]) * m.complex(inputs.address(op[2]));
            m.put_complex(op[4], s * dot(v1, v2));
        }
    }
}

/// The product of `N` scalars: an amplitude or a scalar.
#[inline(always)]
pub(super) unsafe fn product<V: Simd, I: Inputs, const N: usize>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(N + 2) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let mut result = m.complex(op[N]);
            for &input in &op[..N] {
                result = result * m.complex(inputs.address(input));
            }
            m.put_complex(op[N + 1], result);
        }
    }
}
