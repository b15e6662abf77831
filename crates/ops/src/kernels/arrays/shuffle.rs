//! Products of pairs that are shuffled ([`crate::arrays::Shuffle`]) and added to JAMPs.
//!
//! Sums for a JAMP stay in registers. The products of four elements are computed at a time; they share their second
//! vector if elements come in fours. Two elements are shuffled at a time; they share table reads.

use super::ArrayContext;
use crate::arrays::{ELEMENT, Pools, SHUFFLE_TILE, SHUFFLE_UNROLL, Shuffle, ShuffleOp};
use crate::kernels::Memory;
use mebridge_simd::{Cx, Real, Simd, Task, prefetch};

/// Upper bound on inputs and intermediate sums for which those of two elements fit in the caches.
const MAX_INPUTS_OF_TWO: u32 = 3000;
/// Number of products by which prefetching of the second vector is ahead.
const PRODUCTS_AHEAD: usize = 3;
/// Number of results by which prefetching of their destinations is ahead.
const RESULTS_AHEAD: usize = 12;

/// Runs shuffles for some elements.
pub struct ShufflesTask<'a, T: Real> {
    /// The shuffles, in order.
    pub ops: &'a [ShuffleOp],
    /// The lists to which the shuffles refer.
    pub pools: &'a Pools,
    /// The shifts of the run.
    pub shifts: &'a [u32],
    /// The first element, and the number of elements.
    pub elements: [u32; 2],
    /// The memory.
    pub base: *mut T,
    /// Address to which the results of the first element are added.
    pub to: *mut T,
    /// Distance in vectors from there to that of the next element.
    pub stride: u32,
}

/// Requirements of `run`: [`Pools::holds_shuffle`] for all elements, the shifts, the memory at `base` and that at `to`;
/// at most [`SHUFFLE_TILE`] elements, starting at a multiple of it.
impl<T: Real> Task<T> for ShufflesTask<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = T>>(self) {
        let [_, count] = self.elements;
        for op in self.ops {
            // SAFETY: guaranteed by the caller.
            unsafe {
                self.products::<V>(op);
                let shuffle = self.pools.shuffles.get_unchecked(op.shuffle as usize);
                let two = shuffle.all <= MAX_INPUTS_OF_TWO;
                let mut element = 0;
                while element < count {
                    if two && element + 1 < count {
                        self.shuffle::<V, 2>(op, shuffle, element);
                        element += 2;
                    } else {
                        self.shuffle::<V, 1>(op, shuffle, element);
                        element += 1;
                    }
                }
            }
        }
    }
}

/// Requirements of all methods: guaranteed by the caller.
impl<T: Real> ShufflesTask<'_, T> {
    /// Computes the products of all elements.
    #[inline(always)]
    unsafe fn products<V: Simd<Scalar = T>>(&self, op: &ShuffleOp) {
        let m = Memory::<V>::new(self.base);
        let at = ArrayContext {
            pools: self.pools,
            shifts: self.shifts,
            m,
        };
        let [first, count] = self.elements;
        // SAFETY: the operation is valid.
        unsafe {
            let pairs = at.some(&self.pools.pairs, op.pairs);
            let mut out = self.pools.numbers;
            // Distance between groups of elements that are shuffled together.
            let next = 2 * SHUFFLE_UNROLL * pairs.len() as u32;
            for (i, pair) in pairs.iter().enumerate() {
                if let Some(ahead) = pairs.get(i + PRODUCTS_AHEAD)
                    && self.pools.far
                {
                    let vector = at.element(&ahead.b, first);
                    for i in 0..ELEMENT {
                        prefetch(m.pointer(vector + i));
                    }
                }
                if self.pools.fours {
                    let zero = Cx::new(V::zero(), V::zero());
                    let mut s = [zero; SHUFFLE_TILE as usize];
                    at.add_broadcast(pair, [first, first + 1, first + 2, first + 3], &mut s);
                    m.put_complex(out, s[0]);
                    m.put_complex(out + 2, s[1]);
                    m.put_complex(out + next, s[2]);
                    m.put_complex(out + next + 2, s[3]);
                } else {
                    for k in 0..count {
                        let zero = Cx::new(V::zero(), V::zero());
                        let x = at.add_product(pair, first + k, zero);
                        m.put_complex(
                            out + k / SHUFFLE_UNROLL * next + 2 * (k % SHUFFLE_UNROLL),
                            x,
                        );
                    }
                }
                out += 2 * SHUFFLE_UNROLL;
            }
        }
    }

    /// Shuffles `K` elements, starting at this one.
    #[inline(always)]
    unsafe fn shuffle<V: Simd<Scalar = T>, const K: usize>(
        &self,
        op: &ShuffleOp,
        shuffle: &Shuffle,
        element: u32,
    ) {
        let (m, to) = (Memory::<V>::new(self.base), Memory::<V>::new(self.to));
        let next = 2 * SHUFFLE_UNROLL * shuffle.given;
        let numbers =
            self.pools.numbers + element / SHUFFLE_UNROLL * next + 2 * (element % SHUFFLE_UNROLL);
        let sums = self.pools.sums;
        // (Closures would not be compiled for the SIMD level.)
        macro_rules! given {
            ($i:expr, $k:expr) => {
                numbers + 2 * (SHUFFLE_UNROLL * $i + $k as u32)
            };
        }
        macro_rules! sum {
            ($i:expr, $k:expr) => {
                sums + 2 * (SHUFFLE_UNROLL * $i + $k as u32)
            };
        }
        macro_rules! at {
            ($i:expr, $k:expr) => {{
                let i = u32::from($i);
                match i < shuffle.given {
                    true => given!(i, $k),
                    false => sum!(i - shuffle.given, $k),
                }
            }};
        }
        let [from, until] = op.targets;
        let mut of = shuffle.of.as_ptr();
        let (mut first_sum, mut first, mut done) = (0, 0, 0);
        // SAFETY: the operation is valid.
        unsafe {
            let targets = self
                .pools
                .targets
                .get_unchecked(from as usize..until as usize);
            for &[last_sum, last] in &shuffle.steps {
                let (last_sum, last) = (last_sum as usize, last as usize);
                for &[sum, a, b] in shuffle.sums.get_unchecked(first_sum..last_sum) {
                    for k in 0..K {
                        let x = m.complex(at!(a, k)) + m.complex(at!(b, k));
                        m.put_complex(at!(sum, k), x);
                    }
                }
                for group in shuffle.groups.get_unchecked(first..last) {
                    let [plus, minus, plus_sums, minus_sums] = group.counts;
                    let end = done + group.results as usize;
                    for i in done..end {
                        let ahead = targets.get(i + RESULTS_AHEAD);
                        let target = *targets.get_unchecked(i);
                        let mut x = [Cx::new(V::zero(), V::zero()); K];
                        for (k, x) in (0..).zip(&mut x) {
                            let other = (element + k) * self.stride;
                            if let Some(&ahead) = ahead {
                                prefetch(to.pointer(ahead + other));
                                prefetch(to.pointer(ahead + other + 1));
                            }
                            *x = to.complex(target + other);
                        }
                        macro_rules! add {
                            ($count:expr, $at:ident, $sign:tt) => {
                                for _ in 0..$count {
                                    let number = u32::from(*of);
                                    of = of.add(1);
                                    for k in 0..K {
                                        x[k] = x[k] $sign m.complex($at!(number, k));
                                    }
                                }
                            };
                        }
                        add!(plus, given, +);
                        add!(minus, given, -);
                        add!(plus_sums, sum, +);
                        add!(minus_sums, sum, -);
                        for (k, x) in (0..).zip(&x) {
                            to.put_complex(target + (element + k) * self.stride, *x);
                        }
                    }
                    done = end;
                }
                (first_sum, first) = (last_sum, last);
            }
        }
    }
}
