//! Fermion line and vector.
//!
//! With `A = V0 + sigma V` and `B = V0 - sigma V` (Pauli matrices on the contravariant components) the amplitude is
//! `f2R A f1L + f2L B f1R`; the propagator turns an incoming spinor `u` into `(m - p/) u`, and an outgoing one `w` into
//! `w (m + p/)`.

use super::{Inputs, Memory, unitary};
use mebridge_simd::{Cx, Simd};

/// The chiralities of a structure, and its factors.
pub(super) trait Chirality {
    /// Number of factors.
    const FACTORS: usize;
    /// Whether the right-handed half contributes.
    const RIGHT: bool;
}

/// Both halves, with one factor.
pub(super) struct BothChiralities;
/// The left-handed half.
pub(super) struct Left;
/// Both halves, with a factor for each.
pub(super) struct LeftRight;

impl Chirality for BothChiralities {
    const FACTORS: usize = 1;
    const RIGHT: bool = true;
}
impl Chirality for Left {
    const FACTORS: usize = 1;
    const RIGHT: bool = false;
}
impl Chirality for LeftRight {
    const FACTORS: usize = 2;
    const RIGHT: bool = true;
}

/// A slashed vector.
pub(super) struct Slashed<V> {
    /// `V0 + V3`.
    pub(super) plus: Cx<V>,
    /// `V0 - V3`.
    pub(super) minus: Cx<V>,
    /// `V1 + i V2`.
    pub(super) up: Cx<V>,
    /// `V1 - i V2`.
    pub(super) down: Cx<V>,
}

#[inline(always)]
pub(super) fn slash<V: Simd>(v: [Cx<V>; 4]) -> Slashed<V> {
    Slashed {
        plus: v[0] + v[3],
        minus: v[0] - v[3],
        up: v[1].add_i(v[2]),
        down: v[1].sub_i(v[2]),
    }
}

impl<V: Simd> Slashed<V> {
    /// `A f1L`, a right-handed half.
    #[inline(always)]
    fn on_left(&self, a: Cx<V>, b: Cx<V>) -> (Cx<V>, Cx<V>) {
        (
            self.plus.mul_add(a, self.down * b),
            self.up.mul_add(a, self.minus * b),
        )
    }

    /// `B f1R`, a left-handed half.
    #[inline(always)]
    fn on_right(&self, a: Cx<V>, b: Cx<V>) -> (Cx<V>, Cx<V>) {
        (
            self.down.neg_mul_add(b, self.minus * a),
            self.up.neg_mul_add(a, self.plus * b),
        )
    }

    /// `f2R A`.
    #[inline(always)]
    fn row_left(&self, a: Cx<V>, b: Cx<V>) -> (Cx<V>, Cx<V>) {
        (
            self.plus.mul_add(a, self.up * b),
            self.down.mul_add(a, self.minus * b),
        )
    }

    /// `f2L B`.
    #[inline(always)]
    fn row_right(&self, a: Cx<V>, b: Cx<V>) -> (Cx<V>, Cx<V>) {
        (
            self.up.neg_mul_add(b, self.minus * a),
            self.down.neg_mul_add(a, self.plus * b),
        )
    }
}

/// Adds the product of a slashed vector and a spinor, given its non-zero components: the first two or the last two. The
/// product has the other two.
#[inline(always)]
pub(super) fn add_vertex<V: Simd, const IN: bool, const FIRST: bool>(
    sum: [Cx<V>; 2],
    [plus, minus, up, down]: [Cx<V>; 4],
    [x, y]: [Cx<V>; 2],
) -> [Cx<V>; 2] {
    // Rows and columns of the same matrices.
    let (one, other) = if IN { (down, up) } else { (up, down) };
    match IN == FIRST {
        true => [
            plus.mul_add(x, one.mul_add(y, sum[0])),
            other.mul_add(x, minus.mul_add(y, sum[1])),
        ],
        false => [
            minus.mul_add(x, one.neg_mul_add(y, sum[0])),
            plus.mul_add(y, other.neg_mul_add(x, sum[1])),
        ],
    }
}

/// `f2 gamma f1`.
#[inline(always)]
pub(super) fn vector_of<V: Simd>(f1: [Cx<V>; 4], f2: [Cx<V>; 4]) -> [Cx<V>; 4] {
    let s = f1[2].mul_add(f2[0], f1[1] * f2[3]);
    let t = f1[3].mul_add(f2[1], f1[0] * f2[2]);
    let x = f1[0].neg_mul_add(f2[3], f1[2] * f2[1]);
    let y = f1[1].neg_mul_add(f2[2], f1[3] * f2[0]);
    let i = x - y;
    [s + t, x + y, Cx::new(-i.im, i.re), s - t]
}

/// `(m - p/) u`; with `right_only` the left-handed half of `u` is zero.
#[inline(always)]
pub(super) fn propagate_in<V: Simd>(
    u: [Cx<V>; 4],
    p: [V; 4],
    m: V,
    right_only: bool,
) -> [Cx<V>; 4] {
    let (plus, minus, pt) = (p[0] + p[3], p[0] - p[3], Cx::new(p[1], p[2]));
    if right_only {
        return [
            pt.conj_mul_add(u[3], -u[2].scale(minus)),
            pt.mul_add(u[2], -u[3].scale(plus)),
            u[2].scale(m),
            u[3].scale(m),
        ];
    }
    [
        pt.conj_mul_add(u[3], u[2].neg_scale_add(minus, u[0].scale(m))),
        pt.mul_add(u[2], u[3].neg_scale_add(plus, u[1].scale(m))),
        pt.neg_conj_mul_add(u[1], u[0].neg_scale_add(plus, u[2].scale(m))),
        pt.neg_mul_add(u[0], u[1].neg_scale_add(minus, u[3].scale(m))),
    ]
}

/// `w (m + p/)`; with `left_only` the second half of `w` is zero.
#[inline(always)]
pub(super) fn propagate_out<V: Simd>(
    w: [Cx<V>; 4],
    p: [V; 4],
    m: V,
    left_only: bool,
) -> [Cx<V>; 4] {
    let (plus, minus, pt) = (p[0] + p[3], p[0] - p[3], Cx::new(p[1], p[2]));
    if left_only {
        return [
            w[0].scale(m),
            w[1].scale(m),
            pt.neg_mul_add(w[1], w[0].scale(minus)),
            pt.neg_conj_mul_add(w[0], w[1].scale(plus)),
        ];
    }
    [
        pt.mul_add(w[3], w[2].scale_add(plus, w[0].scale(m))),
        pt.conj_mul_add(w[2], w[3].scale_add(minus, w[1].scale(m))),
        pt.neg_mul_add(w[1], w[0].scale_add(minus, w[2].scale(m))),
        pt.neg_conj_mul_add(w[0], w[1].scale_add(plus, w[3].scale(m))),
    ]
}

/// The first two components of the massless `(m - p/) u`, or of `w (m + p/)`, from the last two components.
#[inline(always)]
pub(super) fn propagate_first<V: Simd, const IN: bool>(u: [Cx<V>; 2], p: [V; 4]) -> [Cx<V>; 2] {
    let (plus, minus, pt) = (p[0] + p[3], p[0] - p[3], Cx::new(p[1], p[2]));
    match IN {
        true => [
            pt.conj_mul_add(u[1], -u[0].scale(minus)),
            pt.mul_add(u[0], -u[1].scale(plus)),
        ],
        false => [
            pt.mul_add(u[1], u[0].scale(plus)),
            pt.conj_mul_add(u[0], u[1].scale(minus)),
        ],
    }
}

/// The last two components from the first two, likewise.
#[inline(always)]
pub(super) fn propagate_second<V: Simd, const IN: bool>(u: [Cx<V>; 2], p: [V; 4]) -> [Cx<V>; 2] {
    let (plus, minus, pt) = (p[0] + p[3], p[0] - p[3], Cx::new(p[1], p[2]));
    match IN {
        true => [
            pt.neg_conj_mul_add(u[1], -u[0].scale(plus)),
            pt.neg_mul_add(u[0], -u[1].scale(minus)),
        ],
        false => [
            pt.neg_mul_add(u[1], u[0].scale(minus)),
            pt.neg_conj_mul_add(u[0], u[1].scale(plus)),
        ],
    }
}

/// The factors of an operation, for L and for R.
#[inline(always)]
pub(super) unsafe fn factors<V: Simd, C: Chirality>(op: &[u32], m: Memory<V>) -> (Cx<V>, Cx<V>) {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let left = m.complex(op[0]);
        let right = if C::FACTORS == 2 {
            m.complex(op[1])
        } else {
            left
        };
        (left, right)
    }
}

#[inline(always)]
pub(super) unsafe fn amplitude<V: Simd, I: Inputs, C: Chirality>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(3 + C::FACTORS + 1) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let f1 = m.four(inputs.address(op[0]));
            let f2 = m.four(inputs.address(op[1]));
            let v = slash(m.four(inputs.address(op[2])));
            let (left, right) = factors::<V, C>(&op[3..], m);
            let (a, b) = v.on_left(f1[0], f1[1]);
            let sum = a.mul_add(f2[2], b * f2[3]);
            let result = if C::RIGHT {
                let (a, b) = v.on_right(f1[2], f1[3]);
                if C::FACTORS == 2 {
                    let other = a.mul_add(f2[0], b * f2[1]);
                    left.mul_add(sum, right * other)
                } else {
                    left * a.mul_add(f2[0], b.mul_add(f2[1], sum))
                }
            } else {
                left * sum
            };
            m.put_complex(op[3 + C::FACTORS], result);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn outgoing<V: Simd, I: Inputs, C: Chirality>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(2 + C::FACTORS + 3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let f2 = inputs.address(op[0]);
            let v = slash(m.four(inputs.address(op[1])));
            let (left, right) = factors::<V, C>(&op[2..], m);
            let (a, b) = v.row_left(m.complex(f2 + 4), m.complex(f2 + 6));
            let (a, b) = (left * a, left * b);
            let (c, d) = if C::RIGHT {
                let (c, d) = v.row_right(m.complex(f2), m.complex(f2 + 2));
                (right * c, right * d)
            } else {
                (a, b)
            };
            let p = m.momentum(op[2 + C::FACTORS]);
            let mass = m.real(op[3 + C::FACTORS]);
            let result = propagate_out([a, b, c, d], p, mass, !C::RIGHT);
            m.put_four(op[4 + C::FACTORS], result);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn incoming<V: Simd, I: Inputs, C: Chirality>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(2 + C::FACTORS + 3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let f1 = inputs.address(op[0]);
            let v = slash(m.four(inputs.address(op[1])));
            let (left, right) = factors::<V, C>(&op[2..], m);
            let (c, d) = v.on_left(m.complex(f1), m.complex(f1 + 2));
            let (c, d) = (left * c, left * d);
            let (a, b) = if C::RIGHT {
                let (a, b) = v.on_right(m.complex(f1 + 4), m.complex(f1 + 6));
                (right * a, right * b)
            } else {
                (c, d)
            };
            let p = m.momentum(op[2 + C::FACTORS]);
            let mass = m.real(op[3 + C::FACTORS]);
            let result = propagate_in([a, b, c, d], p, mass, !C::RIGHT);
            m.put_four(op[4 + C::FACTORS], result);
        }
    }
}

/// `f2 gamma f1` with its factors.
#[inline(always)]
unsafe fn current<V: Simd, I: Inputs, C: Chirality>(
    op: &[u32],
    inputs: I,
    m: Memory<V>,
) -> [Cx<V>; 4] {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let f1 = m.four(inputs.address(op[0]));
        let f2 = m.four(inputs.address(op[1]));
        let (left, right) = factors::<V, C>(&op[2..], m);
        let (a, b) = (left * f1[0], left * f1[1]);
        if C::RIGHT {
            let (c, d) = (right * f1[2], right * f1[3]);
            let s = c.mul_add(f2[0], b * f2[3]);
            let t = d.mul_add(f2[1], a * f2[2]);
            let x = a.neg_mul_add(f2[3], c * f2[1]);
            let y = b.neg_mul_add(f2[2], d * f2[0]);
            [s + t, x + y, i_times(x - y), s - t]
        } else {
            let (s, t) = (b * f2[3], a * f2[2]);
            let (x, y) = (a * f2[3], b * f2[2]);
            [s + t, -(x + y), i_times(y - x), s - t]
        }
    }
}

#[inline(always)]
fn i_times<V: Simd>(z: Cx<V>) -> Cx<V> {
    Cx::new(-z.im, z.re)
}

#[inline(always)]
pub(super) unsafe fn vector<V: Simd, I: Inputs, C: Chirality>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(2 + C::FACTORS + 1) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = current::<V, I, C>(op, inputs, m);
            m.put_four(op[2 + C::FACTORS], v);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn massive_vector<V: Simd, I: Inputs, C: Chirality>(
    operands: &[u32],
    inputs: I,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(2 + C::FACTORS + 3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = current::<V, I, C>(op, inputs, m);
            let p = m.momentum(op[2 + C::FACTORS]);
            let mass = m.real(op[3 + C::FACTORS]);
            m.put_four(op[4 + C::FACTORS], unitary(v, p, mass));
        }
    }
}
