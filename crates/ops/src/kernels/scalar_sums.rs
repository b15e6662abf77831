//! Currents of a recursion that involve scalars: sums of vertices, added up in registers before the propagator.
//!
//! Operations of variable length, with layouts like those in `sums`.

use super::sums::{NO_TERMS, OperandReader, difference, finish};
use super::{Inputs, Memory, dot as product, dot_momentum};
use crate::opcode::Mode;
use mebridge_simd::{Cx, Simd};

/// Vectors. Operands: mode, numbers of terms `d S2 S3`, of terms `V2 S3 S4` to add and to subtract, the terms (S2, S3,
/// d) with `d = p2 - p3`, the terms (V2, S3, S4), a factor for each kind, result.
#[inline(always)]
pub(super) unsafe fn vector<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(4);
        let pairs = ops.take(3 * head[1] as usize);
        let (plus, minus) = ops.two(3 * head[2], 3 * head[3]);
        let tail = ops.take(3);
        let mut mode = head[0];
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            if head[1] != 0 {
                let sum = difference!(pairs, NO_TERMS, [s2, s3, d], sum: V => {
                    let (s, d) = (m.complex(s2) * m.complex(s3), m.momentum(d));
                    for i in 0..4 {
                        sum[i] = s.scale_add(d[i], sum[i]);
                    }
                    sum
                });
                finish(m, mode, tail[0], sum, tail[2]);
                mode = Mode::ADD;
            }
            if head[2] + head[3] != 0 {
                let sum = difference!(plus, minus, [v2, s3, s4], sum: V => {
                    let (v, s) = (m.four(v2), m.complex(s3) * m.complex(s4));
                    for i in 0..4 {
                        sum[i] = s.mul_add(v[i], sum[i]);
                    }
                    sum
                });
                finish(m, mode, tail[1], sum, tail[2]);
            }
        }
    }
}

/// Numbers that multiply a scalar. Operands: mode, numbers of terms `q V1` to add and to subtract, of terms `V1 V2` to
/// add and to subtract, the terms (V1, q), the terms (V1, V2), a factor for each kind, result.
#[inline(always)]
pub(super) unsafe fn vertex<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(5);
        let (plus, minus) = ops.two(2 * head[1], 2 * head[2]);
        let (more, less) = ops.two(2 * head[3], 2 * head[4]);
        let tail = ops.take(3);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let mut result = match head[0] & Mode::ADD {
                0 => Cx::new(V::zero(), V::zero()),
                _ => m.complex(tail[2]),
            };
            if head[1] + head[2] != 0 {
                let [sum] = difference!(plus, minus, [v, q], sum: V => {
                    [sum[0] + dot_momentum(m.momentum(q), m.four(v))]
                });
                result = m.complex(tail[0]).mul_add(sum, result);
            }
            if head[3] + head[4] != 0 {
                let [sum] = difference!(more, less, [v, w], sum: V => {
                    [sum[0] + product(m.four(v), m.four(w))]
                });
                result = m.complex(tail[1]).mul_add(sum, result);
            }
            m.put_complex(tail[2], result);
        }
    }
}

/// Scalars. Operands: numbers of terms `S2 S3` to add and to subtract, the terms (S2, S3), factor, result.
#[inline(always)]
pub(super) unsafe fn scalar<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(2);
        let (plus, minus) = ops.two(2 * head[0], 2 * head[1]);
        let tail = ops.take(2);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let [sum] = difference!(plus, minus, [s, t], sum: V => {
                [m.complex(s).mul_add(m.complex(t), sum[0])]
            });
            m.put_complex(tail[1], m.complex(tail[0]) * sum);
        }
    }
}

/// Amplitudes as products of two scalars.
#[inline(always)]
pub(super) unsafe fn dot<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let a = m.complex(inputs.address(op[0]));
            let b = m.complex(inputs.address(op[1]));
            m.put_complex(op[2], a * b);
        }
    }
}
