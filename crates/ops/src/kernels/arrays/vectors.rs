//! Vectors made from pairs and triples of vectors ([`crate::arrays::ArrayKind::Vector`]), and their products.
//!
//! The product of a vector with a momentum depends only on the vector's helicities. The product of the outer vectors of
//! a triple depends only on their helicities. If terms of triples are folded into pairs ([`crate::arrays::Folded`]),
//! these numbers are computed before the vectors.

use super::super::{add, dot, dot_momentum, sub};
use super::{ArrayContext, Four, in_components, scaled};
use crate::arrays::{ArrayOp, ELEMENT, Mirror, Operand, Products, Ratio, Triple, Vector};
use crate::opcode::{COMPLEX, MOMENTUM};
use mebridge_simd::{Cx, Real, Simd, Task};

/// Size of a vector element in units of a number.
const PER_NUMBER: u32 = ELEMENT / COMPLEX;

/// Requirements of all methods: the operation is valid, see [`super::ArraysTask`].
impl<V: Simd> ArrayContext<'_, V> {
    /// Vectors from pairs, and triples with all of their terms.
    #[inline(always)]
    pub(super) unsafe fn vectors(&self, op: &ArrayOp, vector: &Vector) {
        // SAFETY: the operation is valid.
        unsafe {
            let zero = Cx::new(V::zero(), V::zero());
            let ratio = self.ratio(vector.ratio());
            let computed = vector.computed(op.count);
            for r in 0..computed {
                let (mut sum, mut product) = ([zero; 4], zero);
                for pair in self.some(&self.pools.pairs, vector.pairs.range) {
                    let p2 = self.m.momentum(pair.momenta[0]);
                    let p3 = self.m.momentum(pair.momenta[1]);
                    let p = add(p2, p3);
                    let v2 = self.m.four(self.element(&pair.a, r));
                    let v3 = self.m.four(self.element(&pair.b, r));
                    let along = dot(v2, v3);
                    let with2 = dot_momentum(add(p, p2), v3);
                    let with3 = dot_momentum(add(p, p3), v2);
                    product = product + along;
                    sum = add_pair(sum, [v2, v3], [with2, with3], (along, sub(p3, p2)));
                }
                let mut fours = [zero; 4];
                for triple in self.some(&self.pools.triples, vector.triples.0) {
                    let [a, b, c] = &triple.operands;
                    let v2 = self.m.four(self.element(a, r));
                    let v3 = self.m.four(self.element(b, r));
                    let v4 = self.m.four(self.element(c, r));
                    let with3 = dot(v2, v4);
                    fours = add_times(fours, with3 + with3, v3);
                    fours = add_times(fours, -dot(v3, v4), v2);
                    fours = add_times(fours, -dot(v2, v3), v4);
                }
                self.put_vector(op, vector, r, (sum, fours), product * ratio);
            }
        }
    }

    /// Vectors from pairs, and triples without the terms that are folded into pairs: `BOTH` of them, or the last one.
    #[inline(always)]
    pub(super) unsafe fn folded_vectors<const BOTH: bool>(&self, op: &ArrayOp, vector: &Vector) {
        // SAFETY: the operation is valid.
        unsafe {
            let zero = Cx::new(V::zero(), V::zero());
            let ratio = self.ratio(vector.ratio());
            let computed = vector.computed(op.count);
            let of_triples = self.numbers_of_pairs::<BOTH>(vector, computed);
            self.numbers_of_triples(vector, computed, of_triples);
            for r in 0..computed {
                let (mut sum, mut product) = ([zero; 4], zero);
                let mut at = self.pools.first_numbers;
                for pair in self.some(&self.pools.pairs, vector.pairs.range) {
                    let (a, b) = (self.offset(&pair.a, r), self.offset(&pair.b, r));
                    let v2 = self.m.four(self.first(&pair.a) + a);
                    let v3 = self.m.four(self.first(&pair.b) + b);
                    let d = self.m.momentum(at);
                    let with3 = at + MOMENTUM;
                    let with2 = with3 + self.numbers_of(&pair.a, computed);
                    at = with2 + self.numbers_of(&pair.b, computed);
                    let with3 = self.m.complex(with3 + a / PER_NUMBER);
                    let with2 = self.m.complex(with2 + b / PER_NUMBER);
                    let along = dot(v2, v3);
                    product = product + along;
                    sum = add_pair(sum, [v2, v3], [with2, with3], (along, d));
                }
                let mut fours = [zero; 4];
                for triple in self.some(&self.pools.triples, vector.triples.0) {
                    let [a, b, c] = &triple.operands;
                    let v3 = self.m.four(self.element(b, r));
                    let with3 = self.m.complex(at + self.offset_of_ends(triple, r));
                    at += self.numbers_of_ends(triple, computed);
                    fours = add_times(fours, with3, v3);
                    if !BOTH {
                        let v2 = self.m.four(self.element(a, r));
                        let v4 = self.m.four(self.element(c, r));
                        fours = add_times(fours, -dot(v3, v4), v2);
                    }
                }
                self.put_vector(op, vector, r, (sum, fours), product * ratio);
            }
        }
    }

    /// Stores the sums of pairs and triples and the product, times their factors; also the conjugates that follow from
    /// them.
    #[inline(always)]
    unsafe fn put_vector(
        &self,
        op: &ArrayOp,
        vector: &Vector,
        r: u32,
        (pairs, triples): (Four<V>, Four<V>),
        product: Cx<V>,
    ) {
        // SAFETY: the operation is valid.
        unsafe {
            let factor = self.m.complex(vector.factor.0);
            let mut sum = scaled(pairs, factor);
            if let Some(factor) = vector.factor_of_triples {
                sum = add_times(sum, self.m.complex(factor.0), triples);
            }
            self.m
                .put_four(op.out + r * ELEMENT, in_components(sum, vector.components));
            if let Some(products) = vector.products {
                self.m.put_complex(products.address + 2 * r, product);
            }
            let sign = match vector.mirror {
                Mirror::None => return,
                Mirror::Plus => 1.0,
                Mirror::Minus => -1.0,
            };
            let sign = factor.re.same(sign);
            let other = op.count - 1 - r;
            if let Some(products) = vector.products {
                let product = mirrored(product, sign);
                self.m.put_complex(products.address + 2 * other, product);
            }
            for z in &mut sum {
                *z = mirrored(*z, sign);
            }
            self.m.put_four(
                op.out + other * ELEMENT,
                in_components(sum, vector.components),
            );
        }
    }

    /// Computes the numbers that depend on one vector of each pair only: the difference of momenta, then the products
    /// of each element of both vectors with momenta, including the terms of triples that are folded into them. Returns
    /// the address after them.
    #[inline(always)]
    unsafe fn numbers_of_pairs<const BOTH: bool>(&self, vector: &Vector, computed: u32) -> u32 {
        // SAFETY: the operation is valid.
        unsafe {
            let products = match vector.pairs.products_of_all() {
                Some(all) => self.some(&self.pools.products, all),
                None => &[],
            };
            let pairs = self.some(&self.pools.pairs, vector.pairs.range);
            let mut at = self.pools.first_numbers;
            for (i, pair) in pairs.iter().enumerate() {
                let p2 = self.m.momentum(pair.momenta[0]);
                let p3 = self.m.momentum(pair.momenta[1]);
                let p = add(p2, p3);
                let (q2, q3) = (add(p, p2), add(p, p3));
                self.m.put_momentum(at, sub(p3, p2));
                let (of2, of3) = match products.get(i) {
                    Some([of2, of3]) if BOTH => (Some(of2), Some(of3)),
                    Some([of2, _]) => (Some(of2), None),
                    None => (None, None),
                };
                at += MOMENTUM;
                at = self.numbers_with::<false>(at, (&pair.a, of2), q3, computed);
                at = self.numbers_with::<true>(at, (&pair.b, of3), q2, computed);
            }
            at
        }
    }

    /// Computes products of a momentum with the elements of an array, plus or (with `MINUS`) minus the array's own
    /// products, if there are any. Returns the address after them.
    #[inline(always)]
    unsafe fn numbers_with<const MINUS: bool>(
        &self,
        at: u32,
        (place, products): (&Operand, Option<&Operand>),
        q: [V; 4],
        computed: u32,
    ) -> u32 {
        // SAFETY: the operation is valid: no element has a larger offset than the last computed one, and likewise for
        // products.
        unsafe {
            let last = computed - 1;
            let size = self.numbers_of(place, computed);
            let elements = size / 2;
            let products = match products {
                Some(products) => {
                    let step = self.offset(products, last) / (elements - 1).max(1);
                    Some((self.first(products), step))
                }
                None => None,
            };
            for element in 0..elements {
                let v = self.m.four(self.first(place) + element * ELEMENT);
                let mut x = dot_momentum(q, v);
                if let Some((products, step)) = products {
                    let y = self.m.complex(products + element * step);
                    x = if MINUS { x - y } else { x + y };
                }
                self.m.put_complex(at + 2 * element, x);
            }
            at + size
        }
    }

    /// Computes twice the products of the outer vectors of each triple; each serves all elements of the inner vector.
    #[inline(always)]
    unsafe fn numbers_of_triples(&self, vector: &Vector, computed: u32, mut at: u32) {
        // SAFETY: the operation is valid.
        unsafe {
            for triple in self.some(&self.pools.triples, vector.triples.0) {
                let [a, b, c] = &triple.operands;
                for r in 0..computed {
                    if self.offset(b, r) == 0 {
                        let v2 = self.m.four(self.element(a, r));
                        let v4 = self.m.four(self.element(c, r));
                        let x = dot(v2, v4);
                        let at = at + self.offset_of_ends(triple, r);
                        self.m.put_complex(at, x + x);
                    }
                }
                at += self.numbers_of_ends(triple, computed);
            }
        }
    }

    /// Number of vectors for one number per element of an array that the computed elements need.
    #[inline(always)]
    unsafe fn numbers_of(&self, place: &Operand, computed: u32) -> u32 {
        // SAFETY: the operation is valid.
        unsafe { self.offset(place, computed - 1) / PER_NUMBER + 2 }
    }

    /// The same for the outer vectors of a triple.
    #[inline(always)]
    unsafe fn numbers_of_ends(&self, triple: &Triple, computed: u32) -> u32 {
        // SAFETY: the operation is valid.
        unsafe { self.offset_of_ends(triple, computed - 1) + 2 }
    }

    #[inline(always)]
    unsafe fn offset_of_ends(&self, triple: &Triple, r: u32) -> u32 {
        // SAFETY: the operation is valid.
        unsafe { *self.pools.indices.get_unchecked((triple.ends + r) as usize) }
    }

    #[inline(always)]
    pub(super) unsafe fn products_of_pairs(&self, op: &ArrayOp, products: &Products) {
        // SAFETY: the operation is valid.
        unsafe {
            let ratio = self.ratio(products.ratio);
            for r in 0..op.count {
                let mut sum = Cx::new(V::zero(), V::zero());
                for pair in self.pairs(products.pairs) {
                    let v2 = self.m.four(self.element(&pair.a, r));
                    let v3 = self.m.four(self.element(&pair.b, r));
                    sum = sum + dot(v2, v3);
                }
                if products.ratio.is_some() {
                    sum = sum * ratio;
                }
                self.m.put_complex(op.out + 2 * r, sum);
            }
        }
    }

    /// The factor of the products, or 0 if there is none or the coupling vanishes.
    #[inline(always)]
    unsafe fn ratio(&self, ratio: Option<Ratio>) -> Cx<V> {
        let Some(ratio) = ratio else {
            // SAFETY: the operation is valid.
            return unsafe { Cx::new(V::zero(), V::zero()) };
        };
        // SAFETY: the operation is valid.
        unsafe {
            let mut result = [V::zero(); 2];
            // Once per operation: a separate function leaves the registers to the rest.
            V::call(Quotient {
                under: self.m.pointer(ratio.under.0),
                over: self.m.pointer(ratio.over.0),
                result: result.as_mut_ptr().cast(),
            });
            Cx::new(result[0], result[1])
        }
    }
}

/// The ratio of two complex numbers, or 0 for 0 over 0; the vectors of real and imaginary part are adjacent.
struct Quotient<S> {
    under: *const S,
    over: *const S,
    result: *mut S,
}

impl<S: Real> Task<S> for Quotient<S> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let under = Cx::new(V::load(self.under), V::load(self.under.add(V::LANES)));
            let over = Cx::new(V::load(self.over), V::load(self.over.add(V::LANES)));
            // Scaled, since squares of small couplings underflow.
            let (zero, one) = (V::zero(), under.re.same(1.0));
            let size = under.re.abs().max(under.im.abs());
            let size = V::select(size.eq(zero), one, size);
            let (re, im) = (under.re / size, under.im / size);
            let norm = re.mul_add(re, im * im).max(one) * size;
            let ratio = over * Cx::new(re / norm, -(im / norm));
            ratio.re.store(self.result);
            ratio.im.store(self.result.add(V::LANES));
        }
    }
}

/// Adds the contribution of two vectors, given their products with momenta, with each other, and the difference of
/// their momenta.
#[inline(always)]
fn add_pair<V: Simd>(
    mut sum: Four<V>,
    [v2, v3]: [Four<V>; 2],
    [with2, with3]: [Cx<V>; 2],
    (along, d): (Cx<V>, [V; 4]),
) -> Four<V> {
    for i in 0..4 {
        let x = along.scale_add(d[i], sum[i]);
        sum[i] = with3.neg_mul_add(v3[i], with2.mul_add(v2[i], x));
    }
    sum
}

#[inline(always)]
fn add_times<V: Simd>(mut sum: Four<V>, x: Cx<V>, v: Four<V>) -> Four<V> {
    for i in 0..4 {
        sum[i] = x.mul_add(v[i], sum[i]);
    }
    sum
}

/// The conjugate times a sign.
#[inline(always)]
fn mirrored<V: Simd>(z: Cx<V>, sign: V) -> Cx<V> {
    Cx::new(z.re * sign, -(z.im * sign))
}
