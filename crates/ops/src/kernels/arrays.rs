//! Operations on arrays of wavefunctions ([`crate::arrays`]).
//!
//! Sums over all terms stay in registers. Two elements of spinors, or four of products, are computed at a time and
//! share loads.

mod chiral;
mod shuffle;
mod vectors;

pub use shuffle::ShufflesTask;

use super::Memory;
use super::ffv::{propagate_in, propagate_out, slash, vector_of};
use crate::arrays::{
    ArrayOp, Components, Contract, Current, ELEMENT, FOURS, Folded, Line, Numbers, Operand, Pair,
    Pairs, Payload, Pools, Propagator, Range, Sum, Unrolled, Vector,
};
use crate::table::for_each_opcode;
use mebridge_simd::{Cx, Real, Simd, Task, prefetch};

/// Runs the operations of a list in order.
pub struct ArraysTask<'a, T: Real> {
    /// The operations.
    pub ops: &'a [ArrayOp],
    /// The lists to which the operations refer.
    pub pools: &'a Pools,
    /// The shifts of the run.
    pub shifts: &'a [u32],
    /// The memory.
    pub base: *mut T,
}

/// Requirements of `run`: all operations satisfy [`Pools::holds`] for these shifts and the memory at `base`.
impl<T: Real> Task<T> for ArraysTask<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        let at = ArrayContext {
            pools: self.pools,
            shifts: self.shifts,
            m: Memory::<V>::new(self.base),
        };
        for (i, op) in self.ops.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe {
                if let Some(next) = self.ops.get(i + AHEAD)
                    && self.pools.far
                {
                    at.fetch(next);
                }
                at.run(op);
            }
        }
    }
}

/// The kernel of each kind of operation, from the table of operations.
macro_rules! dispatch {
    (
        amplitudes { $($amplitudes:tt)* }
        currents { $($currents:tt)* }
        products { $($products:tt)* }
        sums { $($sums:tt)* }
        dots { $($dots:tt)* }
        arrays { $(
            $(#[$doc:meta])* $payload:ident -> $size:ident { $($(#[$about:meta])* $field:ident: $part:ty,)* }
            multiply_adds: $cost:expr, scratch: $scratch:path, gpu: $gpu:literal,
            kinds: { $($(#[$of:meta])* $kind:ident: $kernel:path;)* }
        )* }
    ) => {
        impl<V: Simd> ArrayContext<'_, V> {
            #[inline(always)]
            unsafe fn run(&self, op: &ArrayOp) {
                // SAFETY: the operation is valid.
                unsafe {
                    match &op.payload {
                        $($(Payload::$kind(payload) => $kernel(self, op, payload),)*)*
                    }
                }
            }
        }
    };
}

for_each_opcode!(dispatch);

/// Two spinors at a time, which share vectors.
const TWO: Unrolled = Unrolled(2);
/// Number of operations by which prefetching is ahead.
const AHEAD: usize = 2;
/// Maximum number of vectors of an array that are prefetched.
const FETCHED: u32 = 4 * ELEMENT;

struct ArrayContext<'a, V: Simd> {
    pools: &'a Pools,
    shifts: &'a [u32],
    m: Memory<V>,
}

/// Sources and destinations of products: the vectors to which they are added, and those of the results; an address and
/// a stride each.
#[derive(Clone, Copy)]
struct ProductTarget {
    from: Option<(u32, u32)>,
    to: (u32, u32),
}

/// Four complex numbers.
type Four<V> = [Cx<V>; 4];

#[inline(always)]
fn scaled<V: Simd>(x: Four<V>, c: Cx<V>) -> Four<V> {
    [x[0] * c, x[1] * c, x[2] * c, x[3] * c]
}

/// Requirements of all methods: the operation is valid, see [`ArraysTask`].
impl<V: Simd> ArrayContext<'_, V> {
    /// Prefetches arrays in slow memory: gluon currents.
    #[inline(always)]
    unsafe fn fetch(&self, op: &ArrayOp) {
        let insertions = match &op.payload {
            Payload::LineIn(line) | Payload::LineOut(line) => line.pairs.0,
            Payload::ChiralLineIn(line) | Payload::ChiralLineOut(line) => line.pairs.0,
            Payload::Contract(contract) => contract.broadcast.0,
            _ => return,
        };
        // SAFETY: the operation is valid.
        unsafe {
            for pair in self.some(&self.pools.pairs, insertions) {
                let first = self.element(&pair.b, 0);
                let last = self.element(&pair.b, op.count - 1);
                for vector in first..first + (last - first + ELEMENT).min(FETCHED) {
                    prefetch(self.m.pointer(vector));
                }
            }
        }
    }

    /// A range of a pool.
    #[inline(always)]
    unsafe fn some<'p, T>(&self, all: &'p [T], [from, to]: Range) -> &'p [T] {
        // SAFETY: the operation is valid.
        unsafe { all.get_unchecked(from as usize..to as usize) }
    }

    #[inline(always)]
    unsafe fn pairs<const A: u32, const B: u32>(&self, of: Pairs<A, B>) -> &[Pair] {
        // SAFETY: the operation is valid.
        unsafe { self.some(&self.pools.pairs, of.0) }
    }

    /// Address of the element that corresponds to an element of the result.
    #[inline(always)]
    unsafe fn element(&self, place: &Operand, r: u32) -> u32 {
        // SAFETY: the operation is valid.
        unsafe { self.first(place) + self.offset(place, r) }
    }

    /// Address of the first element.
    #[inline(always)]
    unsafe fn first(&self, place: &Operand) -> u32 {
        // SAFETY: the operation is valid.
        unsafe { place.address + self.shifts.get_unchecked(place.shift as usize) }
    }

    /// Offset of the element that corresponds to an element of the result.
    #[inline(always)]
    unsafe fn offset(&self, place: &Operand, r: u32) -> u32 {
        // SAFETY: the operation is valid.
        unsafe { *self.pools.indices.get_unchecked((place.index + r) as usize) }
    }

    /// One component of an element.
    #[inline(always)]
    unsafe fn part(&self, element: u32, component: u32) -> Cx<V> {
        // SAFETY: the operation is valid. (All components are at constant distances from one pointer.)
        unsafe {
            let at = self
                .m
                .pointer(element)
                .add(2 * component as usize * V::LANES);
            Cx::new(V::load(at), V::load(at.add(V::LANES)))
        }
    }

    #[inline(always)]
    unsafe fn line<const IN: bool>(&self, op: &ArrayOp, line: &Line) {
        // SAFETY: the operation is valid.
        unsafe {
            let factor = self.m.complex(line.factor.0);
            let step = if line.unrolled == TWO { 2 } else { 1 };
            for r in (0..op.count).step_by(step) {
                let zero = Cx::new(V::zero(), V::zero());
                let (mut first, mut second) = ([zero; 4], [zero; 4]);
                for pair in self.pairs(line.pairs) {
                    let v = self.m.four(self.element(&pair.b, r));
                    self.vertex::<IN>(&mut first, self.element(&pair.a, r), v);
                    if step == 2 {
                        self.vertex::<IN>(&mut second, self.element(&pair.a, r + 1), v);
                    }
                }
                let out = op.out + r * ELEMENT;
                self.m
                    .put_four(out, scaled(self.propagated::<IN>(line, first), factor));
                if step == 2 {
                    let second = scaled(self.propagated::<IN>(line, second), factor);
                    self.m.put_four(out + ELEMENT, second);
                }
            }
        }
    }

    /// Adds the product of a slashed vector and a spinor.
    #[inline(always)]
    unsafe fn vertex<const IN: bool>(&self, sum: &mut Four<V>, spinor: u32, v: Four<V>) {
        let [plus, minus, up, down] = v;
        // SAFETY: the operation is valid.
        unsafe {
            *sum = match IN {
                true => {
                    let (f0, f1) = (self.part(spinor, 0), self.part(spinor, 1));
                    let (c, d) = (
                        plus.mul_add(f0, down.mul_add(f1, sum[2])),
                        up.mul_add(f0, minus.mul_add(f1, sum[3])),
                    );
                    let (f2, f3) = (self.part(spinor, 2), self.part(spinor, 3));
                    [
                        minus.mul_add(f2, down.neg_mul_add(f3, sum[0])),
                        plus.mul_add(f3, up.neg_mul_add(f2, sum[1])),
                        c,
                        d,
                    ]
                }
                false => {
                    let (f2, f3) = (self.part(spinor, 2), self.part(spinor, 3));
                    let (a, b) = (
                        plus.mul_add(f2, up.mul_add(f3, sum[0])),
                        down.mul_add(f2, minus.mul_add(f3, sum[1])),
                    );
                    let (f0, f1) = (self.part(spinor, 0), self.part(spinor, 1));
                    [
                        a,
                        b,
                        minus.mul_add(f0, up.neg_mul_add(f1, sum[2])),
                        plus.mul_add(f1, down.neg_mul_add(f0, sum[3])),
                    ]
                }
            };
        }
    }

    #[inline(always)]
    unsafe fn propagated<const IN: bool>(&self, line: &Line, sum: Four<V>) -> Four<V> {
        let Some(Propagator { momentum, mass }) = line.propagator else {
            return sum;
        };
        // SAFETY: the operation is valid.
        unsafe {
            let (p, mass) = (self.m.momentum(momentum.0), self.m.real(mass.0));
            match IN {
                true => propagate_in(sum, p, mass, false),
                false => propagate_out(sum, p, mass, false),
            }
        }
    }

    #[inline(always)]
    unsafe fn all_vectors(&self, op: &ArrayOp, vector: &Vector) {
        // SAFETY: the operation is valid.
        unsafe {
            match vector.pairs.folded {
                None => self.vectors(op, vector),
                Some((Folded::Last, _)) => self.folded_vectors::<false>(op, vector),
                Some((Folded::Both, _)) => self.folded_vectors::<true>(op, vector),
            }
        }
    }

    #[inline(always)]
    unsafe fn currents(&self, op: &ArrayOp, current: &Current) {
        // SAFETY: the operation is valid.
        unsafe {
            let factor = self.m.complex(current.factor.0);
            for r in 0..op.count {
                let zero = Cx::new(V::zero(), V::zero());
                let mut sum = [zero; 4];
                for pair in self.pairs(current.pairs) {
                    let f1 = self.m.four(self.element(&pair.a, r));
                    let f2 = self.m.four(self.element(&pair.b, r));
                    let v = vector_of(f1, f2);
                    sum = [sum[0] + v[0], sum[1] + v[1], sum[2] + v[2], sum[3] + v[3]];
                }
                let sum = in_components(scaled(sum, factor), current.components);
                self.m.put_four(op.out + r * ELEMENT, sum);
            }
        }
    }

    #[inline(always)]
    unsafe fn sums(&self, op: &ArrayOp, sums: &Sum) {
        // SAFETY: the operation is valid.
        unsafe {
            for r in 0..op.count {
                let zero = Cx::new(V::zero(), V::zero());
                let mut sum = [zero; 4];
                for addend in self.some(&self.pools.addends, sums.addends.0) {
                    let shift = self.shifts.get_unchecked(addend.shift as usize);
                    let v = self.m.four(addend.address + shift + r * ELEMENT);
                    for i in 0..4 {
                        sum[i] = if addend.minus {
                            sum[i] - v[i]
                        } else {
                            sum[i] + v[i]
                        };
                    }
                }
                let mut sum = in_components(sum, sums.components);
                if let Some(factor) = sums.factor {
                    sum = scaled(sum, self.m.complex(factor.0));
                }
                self.m.put_four(op.out + r * ELEMENT, sum);
            }
        }
    }

    #[inline(always)]
    unsafe fn contract(&self, op: &ArrayOp, contract: &Contract) {
        // SAFETY: the operation is valid.
        unsafe {
            let (pairs, broadcast) = (self.pairs(contract.pairs), self.pairs(contract.broadcast));
            let (stride, numbers) = (contract.stride.0, &contract.numbers);
            if contract.unrolled == FOURS {
                for r in (0..op.count).step_by(4) {
                    let mut s = self.four_products(pairs, broadcast, [r, r + 1, r + 2, r + 3]);
                    self.add_numbers(numbers, [r, r + 1, r + 2, r + 3], &mut s);
                    for (r, s) in (r..).zip(s) {
                        self.m.put_complex(op.out + r * stride, s);
                    }
                }
                return;
            }
            // One pair after the other, so that its arrays stay in the L1 cache.
            let (out, buffer) = ((op.out, stride), (self.pools.buffer, 2));
            let count = pairs.len() + broadcast.len();
            for (i, pair) in pairs.iter().chain(broadcast).enumerate() {
                let way = ProductTarget {
                    from: match i == 0 {
                        true => None,
                        false => Some(buffer),
                    },
                    to: if i + 1 == count { out } else { buffer },
                };
                self.products(op, pair, way);
            }
            for r in 0..if count == 0 { op.count } else { 0 } {
                let zero = Cx::new(V::zero(), V::zero());
                self.m.put_complex(op.out + r * stride, zero);
            }
            if numbers.is_empty() {
                return;
            }
            for r in 0..op.count {
                let at = op.out + r * stride;
                let mut sum = [self.m.complex(at)];
                self.add_numbers(numbers, [r], &mut sum);
                self.m.put_complex(at, sum[0]);
            }
        }
    }

    /// Computes the products of a pair.
    #[inline(always)]
    unsafe fn products(
        &self,
        op: &ArrayOp,
        pair: &Pair,
        ProductTarget { from, to }: ProductTarget,
    ) {
        // SAFETY: the operation is valid.
        unsafe {
            for r in 0..op.count {
                let sum = match from {
                    None => Cx::new(V::zero(), V::zero()),
                    Some((from, stride)) => self.m.complex(from + r * stride),
                };
                let sum = self.add_product(pair, r, sum);
                self.m.put_complex(to.0 + r * to.1, sum);
            }
        }
    }

    /// Adds the contributions of numbers and splits to one element, or to four in the order of
    /// [`ArrayContext::four_products`].
    #[inline(always)]
    unsafe fn add_numbers<const K: usize>(
        &self,
        numbers: &Numbers,
        r: [u32; K],
        s: &mut [Cx<V>; K],
    ) {
        // SAFETY: the operation is valid.
        unsafe {
            for pair in self.pairs(numbers.pairs) {
                let z = self.m.complex(self.element(&pair.b, r[0]));
                for k in 0..K {
                    s[k] = self.m.complex(self.element(&pair.a, r[k])).mul_add(z, s[k]);
                }
            }
            for split in self.some(&self.pools.splits, numbers.splits) {
                // The first and the second of four elements differ in the first end, the first and the third in the
                // second end.
                let [fa, fb] = &split.first;
                let [ae, be] = &split.second;
                let (other, behind) = if K == 4 { (r[1], r[2]) } else { (r[0], r[0]) };
                let (fa, fb) = (self.numbers(fa, r[0], other), self.numbers(fb, r[0], other));
                let (ae, be) = (
                    self.numbers(ae, r[0], behind),
                    self.numbers(be, r[0], behind),
                );
                let ae = [ae[0] + ae[0], ae[1] + ae[1]];
                for k in 0..K {
                    let x = fb[k % 2].mul_add(ae[k / 2], s[k]);
                    s[k] = fa[k % 2].neg_mul_add(be[k / 2], x);
                }
            }
        }
    }

    /// The numbers in two elements.
    #[inline(always)]
    unsafe fn numbers(&self, place: &Operand, first: u32, second: u32) -> [Cx<V>; 2] {
        // SAFETY: the operation is valid.
        unsafe {
            [
                self.m.complex(self.element(place, first)),
                self.m.complex(self.element(place, second)),
            ]
        }
    }

    /// Adds the products of a pair whose second array does not depend on the ends.
    #[inline(always)]
    unsafe fn add_broadcast(&self, pair: &Pair, r: [u32; 4], s: &mut Four<V>) {
        // SAFETY: the operation is valid.
        unsafe {
            let b = self.element(&pair.b, r[0]);
            let z = self.m.four(b);
            for k in 0..4 {
                let a = self.m.four(self.element(&pair.a, r[k]));
                for i in 0..4 {
                    s[k] = a[i].mul_add(z[i], s[k]);
                }
            }
        }
    }

    /// Adds the product of a pair to `sum`.
    #[inline(always)]
    unsafe fn add_product(&self, pair: &Pair, r: u32, mut sum: Cx<V>) -> Cx<V> {
        // SAFETY: the operation is valid.
        unsafe {
            let (a, b) = (self.element(&pair.a, r), self.element(&pair.b, r));
            for i in 0..4 {
                sum = self.part(a, i).mul_add(self.part(b, i), sum);
            }
            sum
        }
    }

    /// Products of all pairs for the helicities of both ends: the helicity of the first end differs within the first
    /// two and within the last two elements, that of the second end between these pairs.
    #[inline(always)]
    unsafe fn four_products(&self, pairs: &[Pair], broadcast: &[Pair], r: [u32; 4]) -> Four<V> {
        // SAFETY: the operation is valid.
        unsafe {
            let mut s = [Cx::new(V::zero(), V::zero()); 4];
            for pair in pairs {
                let (a0, a1) = (self.element(&pair.a, r[0]), self.element(&pair.a, r[1]));
                let (b0, b1) = (self.element(&pair.b, r[0]), self.element(&pair.b, r[2]));
                for i in 0..4 {
                    let (x, y) = (self.part(a0, i), self.part(a1, i));
                    let (z, w) = (self.part(b0, i), self.part(b1, i));
                    s[0] = x.mul_add(z, s[0]);
                    s[1] = y.mul_add(z, s[1]);
                    s[2] = x.mul_add(w, s[2]);
                    s[3] = y.mul_add(w, s[3]);
                }
            }
            for pair in broadcast {
                self.add_broadcast(pair, r, &mut s);
            }
            s
        }
    }
}

/// Converts a vector from plain to other components.
#[inline(always)]
fn in_components<V: Simd>(v: Four<V>, components: Components) -> Four<V> {
    match components {
        Components::Plain => v,
        Components::Lower => [v[0], -v[1], -v[2], -v[3]],
        Components::Slashed => {
            let s = slash(v);
            [s.plus, s.minus, s.up, s.down]
        }
    }
}
