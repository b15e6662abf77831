//! Pure gluon amplitudes: the vertex that connects both ends of the line.
//!
//! There are no insertions between the first end and this vertex. Let F and E be the ends, and J the current of all
//! insertions. The contribution to the JAMP is `F V(E, J)`, and `2 (F B) (A E) - (F A) (B E) - (F E) (A B)` for each
//! pair of currents A and B into which the insertions split. The first term is a product of J with the vector of both
//! ends. The others are products of scalar products, so no vector is computed for them; the sum of A B over all pairs
//! is computed together with J.

use super::arrays::{Array, PRODUCTS, ReusedMemory, insertions};
use super::lowering::{Contraction, Lowering, SHORT};
use mebridge_ops::Address;
use mebridge_ops::arrays::{
    ArrayOp, Components, Once, Operand, Pair, Pairs, Payload, Products, Split, Vector,
};
use rustc_hash::FxHashMap as HashMap;

/// Arrays used by all JAMPs.
pub(super) struct BothEnds {
    /// The vector computed from both ends.
    vector: Array,
    /// The factors multiplied with gluon currents: the first end, and the second end times the constant of triples.
    ends: [Array; 2],
    /// The product of both ends, times the factor of the product of A and B.
    product: Array,
    /// Stored products of each end with gluon currents.
    kept: [HashMap<Vec<u8>, Array>; 2],
    /// Temporary products with long currents, by end, position of the first insertion in the order, and number of
    /// insertions.
    scratch: ReusedMemory<(usize, usize, usize)>,
}

impl BothEnds {
    pub(super) fn new(lowering: &mut Lowering) -> BothEnds {
        let closing = lowering.closing;
        let [of_pairs, of_triples] = lowering.factors(None, closing);
        let [minus, _] = lowering.factors(None, -closing);
        let first = lowering.external(0);
        let second = lowering.external(lowering.count + 1);
        let legs = first.legs | second.legs;
        let count = lowering.helicities.count(legs, false);
        let vector = lowering.allocate(count);
        let ends = &mut |_: &mut Lowering, from, _, _| if from == 0 { second } else { first };
        let op = Vector {
            components: Components::Lower,
            factor: Once(of_pairs),
            ..lowering.vectors(legs, false, ends, 2, None)
        };
        lowering.per_run.push(ArrayOp {
            out: vector,
            count,
            payload: Payload::Vector(op),
        });
        let mut scaled = |factor: Address| {
            let count = lowering.helicities.count(second.legs, true);
            let address = lowering.allocate(count);
            lowering.push_form(
                second.address,
                address,
                count,
                (Components::Plain, Some(factor)),
            );
            Array { address, ..second }
        };
        let (of_triples, minus) = (scaled(of_triples), scaled(minus));
        let product = lowering.allocate_vectors(PRODUCTS * count);
        BothEnds {
            vector: Array::new(vector, legs, false),
            ends: [first, of_triples],
            product: multiply(lowering, first, minus, product),
            kept: Default::default(),
            scratch: ReusedMemory::default(),
        }
    }

    /// Adds the contribution of this vertex to the JAMP of an order.
    pub(super) fn add(&mut self, lowering: &mut Lowering, order: &[u8], to: &mut Contraction) {
        let (all, count) = (lowering.all(), order.len());
        let current = lowering.gluon_current_with_products(order, 0, count, false);
        let pair = |lowering: &mut Lowering, a: Array, b: Array| Pair {
            a: lowering.helicities.operand(all, false, a),
            b: lowering.helicities.operand(all, false, b),
            momenta: [0; 2],
        };
        to.broadcast.push(pair(lowering, self.vector, current));
        let Some(products) = current.of_products() else {
            return;
        };
        to.numbers.push(pair(lowering, self.product, products));
        for at in 1..count {
            let mut of = |end| {
                let a = self.with(lowering, end, order, (0, at));
                [a, self.with(lowering, end, order, (at, count))]
            };
            let (first, second) = (of(0), of(1));
            to.splits.push(Split { first, second });
        }
    }

    /// The product of an end with the current of the insertions `from..to` of an order.
    fn with(
        &mut self,
        lowering: &mut Lowering,
        end: usize,
        order: &[u8],
        (from, to): (usize, usize),
    ) -> Operand {
        let part = &order[from..to];
        let all = lowering.all();
        if let Some(&array) = self.kept[end].get(part) {
            return lowering.helicities.operand(all, false, array);
        }
        let key = (end, from, part.len());
        let legs = self.ends[end].legs;
        let (address, is_current) = self.scratch.find(&key, part).unwrap_or_else(|| {
            let elements = lowering.elements_of_any(legs, part.len(), false);
            (lowering.allocate_vectors(PRODUCTS * elements), false)
        });
        let array = Array::numbers(address, legs | insertions(part), false);
        if !is_current {
            let current = lowering.gluon_current(order, from, to, Components::Plain);
            multiply(lowering, self.ends[end], current, address);
            match part.len() <= SHORT {
                true => {
                    self.kept[end].insert(part.to_vec(), array);
                }
                false => self.scratch.put(key, address, part),
            }
        }
        lowering.helicities.operand(all, false, array)
    }
}

/// The products of two arrays of vectors.
fn multiply(lowering: &mut Lowering, a: Array, b: Array, address: Address) -> Array {
    let legs = a.legs | b.legs;
    let pair = Pair {
        a: lowering.helicities.operand(legs, false, a),
        b: lowering.helicities.operand(legs, false, b),
        momenta: [0; 2],
    };
    let op = ArrayOp {
        out: address,
        count: lowering.helicities.count(legs, false),
        payload: Payload::Products(Products {
            ratio: None,
            pairs: Pairs(lowering.push_pairs(vec![pair])),
        }),
    };
    lowering.per_run.push(op);
    Array::numbers(address, legs, false)
}
