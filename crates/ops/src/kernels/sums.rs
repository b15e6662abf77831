//! Currents of a recursion: sums of vertices, added up in registers before the propagator.
//!
//! The operations in this module have variable length; their operands are listed for each function. A *mode* determines
//! what is done with the sum ([`Mode`]).

use super::ffv::{
    add_vertex, propagate_first, propagate_in, propagate_out, propagate_second, slash, vector_of,
};
use super::{Inputs, Memory, Table, add, dot, dot_momentum, sub};
use crate::opcode::Mode;
use mebridge_simd::{Cx, Simd};

/// Reads the operands of operations of variable length.
pub(super) struct OperandReader<'a>(&'a [u32]);

impl<'a> OperandReader<'a> {
    #[inline(always)]
    pub(super) fn new(operands: &'a [u32]) -> Self {
        OperandReader(operands)
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    fn next(&mut self) -> u32 {
        self.take(1)[0]
    }

    #[inline(always)]
    pub(super) fn take(&mut self, count: usize) -> &'a [u32] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    #[inline(always)]
    pub(super) fn two(&mut self, first: u32, second: u32) -> (&'a [u32], &'a [u32]) {
        (self.take(first as usize), self.take(second as usize))
    }
}

/// Multiplies by the factor, and stores or adds the result.
#[inline(always)]
pub(super) unsafe fn finish<V: Simd>(
    m: Memory<V>,
    mode: u32,
    factor: u32,
    sum: [Cx<V>; 4],
    out: u32,
) {
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let factor = m.complex(factor);
        let result = if mode & Mode::ADD != 0 {
            let old = m.four(out);
            [
                factor.mul_add(sum[0], old[0]),
                factor.mul_add(sum[1], old[1]),
                factor.mul_add(sum[2], old[2]),
                factor.mul_add(sum[3], old[3]),
            ]
        } else {
            [
                factor * sum[0],
                factor * sum[1],
                factor * sum[2],
                factor * sum[3],
            ]
        };
        m.put_four(out, result);
    }
}

/// Changes the sign of complex numbers.
#[inline(always)]
pub(super) fn negative<V: Simd, const N: usize>(mut z: [Cx<V>; N]) -> [Cx<V>; N] {
    for x in &mut z {
        *x = Cx::new(-x.re, -x.im);
    }
    z
}

/// The empty second list of sums without subtraction.
pub(super) const NO_TERMS: &[u32] = &[];

/// Adds up terms with the given number of operands, and subtracts others. (A macro, as a closure would not be compiled
/// for the SIMD level.)
macro_rules! difference {
    ($plus:expr, $minus:expr, [$($operand:ident),+], $sum:ident: $V:ident => $add:expr) => {{
        let mut $sum = [Cx::new($V::zero(), $V::zero()); _];
        for [$($operand),+] in $minus.as_chunks().0.iter().copied() {
            $sum = $add;
        }
        if !$minus.is_empty() {
            $sum = $crate::kernels::sums::negative($sum);
        }
        for [$($operand),+] in $plus.as_chunks().0.iter().copied() {
            $sum = $add;
        }
        $sum
    }};
}

pub(super) use difference;

/// Defines sums of products of slashed vectors and spinors, for one or several spinors at a time: each vector is loaded
/// and slashed once for all of them.
macro_rules! spinor_sums {
    ($(#[$doc:meta])* $one:ident, $(#[$doc_of:meta])* $several:ident, $propagate:ident, $in:literal,
     |$v:ident, $f:ident, $sum:ident| $add:expr) => {
        $(#[$doc])*
        #[inline(always)]
        pub(super) unsafe fn $one<V: Simd>(operands: &[u32], m: Memory<V>) {
            // SAFETY: guaranteed by the caller.
            unsafe { $several::<V, 1>(operands, m) }
        }

        $(#[$doc_of])*
        #[inline(always)]
        pub(super) unsafe fn $several<V: Simd, const N: usize>(operands: &[u32], m: Memory<V>) {
            let mut ops = OperandReader::new(operands);
            while !ops.is_empty() {
                let head = ops.take(3);
                let (plus, minus) = ops.two((N as u32 + 1) * head[1], (N as u32 + 1) * head[2]);
                let (factor, momentum, mass) = (ops.next(), ops.next(), ops.next());
                let results = ops.take(N);
                // SAFETY: the caller guarantees valid addresses.
                unsafe {
                    if head[0] & Mode::HALF != 0 {
                        let terms = [plus, minus];
                        let momentum = (head[0] & Mode::BARE == 0).then_some(momentum);
                        let others = (head[0], factor, momentum);
                        match head[0] & Mode::FIRST_HALF {
                            0 => half::<V, $in, false, N>(m, terms, others, results),
                            _ => half::<V, $in, true, N>(m, terms, others, results),
                        }
                        continue;
                    }
                    let mut sums = [[Cx::new(V::zero(), V::zero()); 4]; N];
                    for term in minus.chunks_exact(N + 1) {
                        let $v = slash(m.four(term[N]));
                        for i in 0..N {
                            let ($f, $sum) = (m.four(term[i]), sums[i]);
                            sums[i] = $add;
                        }
                    }
                    if !minus.is_empty() {
                        for i in 0..N {
                            sums[i] = negative(sums[i]);
                        }
                    }
                    for term in plus.chunks_exact(N + 1) {
                        let $v = slash(m.four(term[N]));
                        for i in 0..N {
                            let ($f, $sum) = (m.four(term[i]), sums[i]);
                            sums[i] = $add;
                        }
                    }
                    for i in 0..N {
                        if head[0] & Mode::BARE == 0 {
                            sums[i] = $propagate(sums[i], m.momentum(momentum), m.real(mass), false);
                        }
                        finish(m, head[0], factor, sums[i], results[i]);
                    }
                }
            }
        }
    };
}

/// Adds terms of [`half`].
#[inline(always)]
unsafe fn add_half<V: Simd, const IN: bool, const FIRST: bool, const N: usize>(
    m: Memory<V>,
    sums: &mut [[Cx<V>; 2]; N],
    terms: &[u32],
) {
    let at = if FIRST { 0 } else { 4 };
    for term in terms.chunks_exact(N + 1) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let v = slash(m.four(term[N]));
            let v = [v.plus, v.minus, v.up, v.down];
            for i in 0..N {
                sums[i] = add_vertex::<V, IN, FIRST>(sums[i], v, m.two(term[i] + at));
            }
        }
    }
}

/// The operations of [`incoming_of`] (`IN`) and [`outgoing_of`] for massless lines and spinors of which only the first
/// or the last two components are not zero. The others are mode, factor, and momentum unless bare.
#[inline(always)]
unsafe fn half<V: Simd, const IN: bool, const FIRST: bool, const N: usize>(
    m: Memory<V>,
    [plus, minus]: [&[u32]; 2],
    (mode, factor, momentum): (u32, u32, Option<u32>),
    results: &[u32],
) {
    let at = if FIRST { 0 } else { 4 };
    // SAFETY: the caller guarantees valid addresses.
    unsafe {
        let mut sums = [[Cx::new(V::zero(), V::zero()); 2]; N];
        add_half::<V, IN, FIRST, N>(m, &mut sums, minus);
        if !minus.is_empty() {
            for sum in &mut sums {
                *sum = negative(*sum);
            }
        }
        add_half::<V, IN, FIRST, N>(m, &mut sums, plus);
        let factor = m.complex(factor);
        for i in 0..N {
            let (sum, at) = match momentum {
                Some(p) if FIRST => (propagate_first::<V, IN>(sums[i], m.momentum(p)), at),
                Some(p) => (propagate_second::<V, IN>(sums[i], m.momentum(p)), at),
                None => (sums[i], 4 - at),
            };
            let (here, there) = (results[i] + at, results[i] + 4 - at);
            if mode & Mode::ADD != 0 {
                let old = m.two(here);
                let new = [
                    factor.mul_add(sum[0], old[0]),
                    factor.mul_add(sum[1], old[1]),
                ];
                m.put_two(here, new);
            } else {
                m.put_two(here, [factor * sum[0], factor * sum[1]]);
                m.put_two(there, [Cx::new(V::zero(), V::zero()); 2]);
            }
        }
    }
}

spinor_sums! {
    /// `(m - p/) sum of V/ f1`. Operands: mode, number of terms to add and to subtract, the terms (f1, V), factor,
    /// momentum, mass, result. In bare mode momentum and mass are present but unused.
    incoming,
    /// The same for N spinors f1 in each term, with N results.
    incoming_of,
    propagate_in,
    true,
    |v, f, sum| [
        v.minus.mul_add(f[2], v.down.neg_mul_add(f[3], sum[0])),
        v.plus.mul_add(f[3], v.up.neg_mul_add(f[2], sum[1])),
        v.plus.mul_add(f[0], v.down.mul_add(f[1], sum[2])),
        v.up.mul_add(f[0], v.minus.mul_add(f[1], sum[3])),
    ]
}

spinor_sums! {
    /// `sum of f2 V/ (m + p/)`, with the operands of [`incoming`] and terms (f2, V).
    outgoing,
    /// The same for N spinors f2 in each term, with N results.
    outgoing_of,
    propagate_out,
    false,
    |v, f, sum| [
        v.plus.mul_add(f[2], v.up.mul_add(f[3], sum[0])),
        v.down.mul_add(f[2], v.minus.mul_add(f[3], sum[1])),
        v.minus.mul_add(f[0], v.up.neg_mul_add(f[1], sum[2])),
        v.plus.mul_add(f[1], v.down.neg_mul_add(f[0], sum[3])),
    ]
}

/// Vectors `sum of f2 gamma f1`. Operands: mode, number of terms to add and to subtract, the terms (f1, f2), factor,
/// result.
#[inline(always)]
pub(super) unsafe fn vector<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(3);
        let (plus, minus) = ops.two(2 * head[1], 2 * head[2]);
        let tail = ops.take(2);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let sum = match head[0] & Mode::HALF {
                0 => difference!(plus, minus, [f1, f2], sum: V => {
                    add_four(sum, vector_of(m.four(f1), m.four(f2)))
                }),
                Mode::FIRST_HALF => difference!(plus, minus, [f1, f2], sum: V => {
                    let (f1, f2) = (m.two(f1), m.two(f2 + 4));
                    let (x, y) = (f1[0] * f2[1], f1[1] * f2[0]);
                    add_current(sum, f1[1] * f2[1], f1[0] * f2[0], negative([x, y]))
                }),
                _ => difference!(plus, minus, [f1, f2], sum: V => {
                    let (f1, f2) = (m.two(f1 + 4), m.two(f2));
                    let others = [f1[0] * f2[1], f1[1] * f2[0]];
                    add_current(sum, f1[0] * f2[0], f1[1] * f2[1], others)
                }),
            };
            finish(m, head[0], tail[0], sum, tail[1]);
        }
    }
}

#[inline(always)]
fn add_four<V: Simd>(a: [Cx<V>; 4], b: [Cx<V>; 4]) -> [Cx<V>; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// Adds a vector given by its products of spinors, as in [`vector_of`].
#[inline(always)]
fn add_current<V: Simd>(sum: [Cx<V>; 4], s: Cx<V>, t: Cx<V>, [x, y]: [Cx<V>; 2]) -> [Cx<V>; 4] {
    let i = x - y;
    add_four(sum, [s + t, x + y, Cx::new(-i.im, i.re), s - t])
}

/// Vectors from three-vector vertices, and from four-vector vertices of colour-ordered gluons. Operands: mode, numbers
/// of three-vector terms and of four-vector terms to add and to subtract, the terms (V2, V3, p2, p3), the terms (V2,
/// V3, V4), a factor for each kind, result. A three-vector term is subtracted by exchanging 2 and 3.
#[inline(always)]
pub(super) unsafe fn three_vectors<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(4);
        let threes = ops.take(4 * head[1] as usize);
        let (plus, minus) = ops.two(3 * head[2], 3 * head[3]);
        let tail = ops.take(3);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let sum = difference!(threes, NO_TERMS, [v2, v3, p2, p3], sum: V => {
                let (v2, v3) = (m.four(v2), m.four(v3));
                let (p2, p3) = (m.momentum(p2), m.momentum(p3));
                let p = add(p2, p3);
                let along = dot(v2, v3);
                let with2 = dot_momentum(add(p, p2), v3);
                let with3 = dot_momentum(add(p, p3), v2);
                let d = sub(p3, p2);
                for i in 0..4 {
                    let x = along.scale_add(d[i], sum[i]);
                    sum[i] = with3.neg_mul_add(v3[i], with2.mul_add(v2[i], x));
                }
                sum
            });
            finish(m, head[0], tail[0], sum, tail[2]);
            if head[2] + head[3] == 0 {
                continue;
            }
            let sum = difference!(plus, minus, [v2, v3, v4], sum: V => {
                let (v2, v3, v4) = (m.four(v2), m.four(v3), m.four(v4));
                let (with2, with3, with4) = (dot(v3, v4), dot(v2, v4), dot(v2, v3));
                let with3 = with3 + with3;
                for i in 0..4 {
                    let x = with3.mul_add(v3[i], sum[i]);
                    sum[i] = with4.neg_mul_add(v4[i], with2.neg_mul_add(v2[i], x));
                }
                sum
            });
            finish(m, Mode::ADD, tail[1], sum, tail[2]);
        }
    }
}

/// Vectors from four-vector vertices, `V3 (V2 V4) - V4 (V2 V3)`. Operands: mode, number of terms, the terms (V2, V3,
/// V4), factor, result. A term is subtracted by exchanging 3 and 4.
#[inline(always)]
pub(super) unsafe fn four_vectors<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let (mode, count) = (ops.next(), ops.next());
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let mut sum = [Cx::new(V::zero(), V::zero()); 4];
            for term in ops.take(3 * count as usize).chunks_exact(3) {
                let v2 = m.four(term[0]);
                let v3 = m.four(term[1]);
                let v4 = m.four(term[2]);
                let (with3, with4) = (dot(v2, v4), dot(v2, v3));
                for i in 0..4 {
                    let x = with3.mul_add(v3[i], sum[i]);
                    sum[i] = with4.neg_mul_add(v4[i], x);
                }
            }
            let tail = ops.take(2);
            finish(m, mode, tail[0], sum, tail[1]);
        }
    }
}

/// Amplitudes as products of two spinors.
#[inline(always)]
pub(super) unsafe fn dot_spinors<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let a = m.four(inputs.address(op[0]));
            let b = m.four(inputs.address(op[1]));
            m.put_complex(op[2], product::<V, false>(a, b));
        }
    }
}

/// Amplitudes as products of two vectors.
#[inline(always)]
pub(super) unsafe fn dot_vectors<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let a = m.four(inputs.address(op[0]));
            let b = m.four(inputs.address(op[1]));
            m.put_complex(op[2], dot(a, b));
        }
    }
}

/// Amplitudes as products of two vectors or of two spinors, for two helicities given by their tables. The helicities
/// share one of the two factors, which is loaded once. The products of the second helicity are stored `stride` vectors
/// after those of the first.
#[inline(always)]
pub(super) unsafe fn products_of_two<V: Simd, const VECTORS: bool>(
    operands: &[u32],
    tables: [Table; 2],
    pair_stride: u32,
    m: Memory<V>,
) {
    for op in operands.chunks_exact(3) {
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let [a, c] = [tables[0].address(op[0]), tables[1].address(op[0])];
            let [b, d] = [tables[0].address(op[1]), tables[1].address(op[1])];
            let (first, second) = match a == c {
                true => {
                    let (a, b, d) = (m.four(a), m.four(b), m.four(d));
                    (product::<V, VECTORS>(a, b), product::<V, VECTORS>(a, d))
                }
                false => {
                    let (b, a, c) = (m.four(b), m.four(a), m.four(c));
                    (product::<V, VECTORS>(a, b), product::<V, VECTORS>(c, b))
                }
            };
            m.put_complex(op[2], first);
            m.put_complex(op[2] + pair_stride, second);
        }
    }
}

/// The product of two vectors, with the metric, or of two spinors, without it.
#[inline(always)]
fn product<V: Simd, const VECTORS: bool>(a: [Cx<V>; 4], b: [Cx<V>; 4]) -> Cx<V> {
    match VECTORS {
        true => dot(a, b),
        false => {
            let product = a[0] * b[0];
            let product = a[1].mul_add(b[1], product);
            let product = a[2].mul_add(b[2], product);
            a[3].mul_add(b[3], product)
        }
    }
}

/// Products of one spinor with several. Operands: that spinor, the number of others, then pairs of another spinor and
/// the address of the product. Spinors are looked up in the helicity's table.
#[inline(always)]
pub(super) unsafe fn dots<V: Simd, I: Inputs>(operands: &[u32], inputs: I, m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(2);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let b = m.four(inputs.address(head[0]));
            for pair in ops.take(2 * head[1] as usize).chunks_exact(2) {
                let a = m.four(inputs.address(pair[0]));
                let product = b[0] * a[0];
                let product = b[1].mul_add(a[1], product);
                let product = b[2].mul_add(a[2], product);
                m.put_complex(pair[1], b[3].mul_add(a[3], product));
            }
        }
    }
}

/// [`dots`] for two helicities, given by their tables, that differ only in the first spinor of each operation: each of
/// the others is loaded once for both. The products of the second helicity are stored `pair_stride` vectors after those
/// of the first.
#[inline(always)]
pub(super) unsafe fn dots_of_two<V: Simd>(
    operands: &[u32],
    tables: [Table; 2],
    pair_stride: u32,
    m: Memory<V>,
) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(2);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let b = m.four(tables[0].address(head[0]));
            let c = m.four(tables[1].address(head[0]));
            for pair in ops.take(2 * head[1] as usize).chunks_exact(2) {
                let a = m.four(tables[0].address(pair[0]));
                let mut first = b[0] * a[0];
                let mut second = c[0] * a[0];
                for i in 1..4 {
                    first = b[i].mul_add(a[i], first);
                    second = c[i].mul_add(a[i], second);
                }
                m.put_complex(pair[1], first);
                m.put_complex(pair[1] + pair_stride, second);
            }
        }
    }
}

/// Sums of wavefunctions. Operands: numbers to add and to subtract, the wavefunctions, result.
#[inline(always)]
pub(super) unsafe fn add_wavefunctions<V: Simd>(operands: &[u32], m: Memory<V>) {
    let mut ops = OperandReader::new(operands);
    while !ops.is_empty() {
        let head = ops.take(2);
        let (plus, minus) = ops.two(head[0], head[1]);
        // SAFETY: the caller guarantees valid addresses.
        unsafe {
            let sum = difference!(plus, minus, [v], sum: V => add_four(sum, m.four(v)));
            m.put_four(ops.next(), sum);
        }
    }
}

/// Conjugates, or (with `MINUS`) their negatives. Operands: wavefunction, result.
#[inline(always)]
pub(super) unsafe fn conjugate<V: Simd, const MINUS: bool>(operands: &[u32], m: Memory<V>) {
    for op in operands.chunks_exact(2) {
        for i in 0..4 {
            // SAFETY: the caller guarantees valid addresses.
            unsafe {
                let z = m.complex(op[0] + 2 * i);
                let z = match MINUS {
                    false => Cx::new(z.re, -z.im),
                    true => Cx::new(-z.re, z.im),
                };
                m.put_complex(op[1] + 2 * i, z);
            }
        }
    }
}
