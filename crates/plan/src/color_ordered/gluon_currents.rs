//! Gluon currents: those that are stored, and those that are computed when needed.
//!
//! Currents of the Kleiss-Kuijf basis, whose orders begin with the smallest insertion, are computed from vertices.
//! Currents of all other orders are sums of these. Short currents are stored for all orders; long ones are in memory
//! that is reused.

use super::arrays::{Array, Helicities, Legs, PRODUCTS, ScratchContent, insertions};
use super::lowering::{Lowering, SHORT};
use super::vertices::Constant;
use mebridge_ops::Address;
use mebridge_ops::arrays::{
    Addend, Addends, ArrayOp, Components, ELEMENT, Folded, Mirror, Once, Operand, Pair, Pairs,
    Payload, Products, Ratio, Sum, Triple, Triples, Vector, VectorPairs, WithProducts,
};
use mebridge_process::color_ordered::{orders, parts, shuffles};
use rustc_hash::FxHashMap as HashMap;

impl Lowering<'_> {
    /// Computes the gluon currents that are stored.
    pub(super) fn gluon_currents(&mut self) {
        for insertion in 0..self.count {
            let array = self.external(insertion + 1);
            self.currents.insert(vec![insertion as u8], array);
        }
        let mut sets: Vec<u32> = (1..1u32 << self.count).collect();
        sets.sort_by_key(|set| (set.count_ones(), *set));
        for set in sets {
            let insertions: Vec<u8> = (0..self.count as u8)
                .filter(|r| set >> r & 1 == 1)
                .collect();
            let size = insertions.len();
            // Other orders of long currents are computed when needed.
            if size > 1 {
                for order in orders(size) {
                    let order: Vec<u8> =
                        order.iter().map(|&i| insertions[usize::from(i)]).collect();
                    if order[0] == insertions[0] {
                        self.current(&order);
                    } else if size <= SHORT && !(self.chirality.is_some() && size == self.count) {
                        self.short_sum(&order);
                    }
                }
            }
        }
        if self.chirality.is_some() {
            for size in 1..=self.count.min(SHORT) {
                for order in parts(self.count, size) {
                    if order[0] <= order[size - 1] {
                        self.slash(&order);
                    }
                }
            }
        } else if self.line.is_some() {
            let mut orders: Vec<Vec<u8>> = self.currents.keys().cloned().collect();
            orders.retain(|order| order.len() <= SHORT);
            orders.sort();
            for order in orders {
                self.slash(&order);
            }
        }
    }

    /// Computes a gluon current of the Kleiss-Kuijf basis from vertices.
    fn current(&mut self, order: &[u8]) {
        let legs = insertions(order);
        let elements = self.helicities.count(legs, true);
        let out = self.allocate(elements);
        let folded = self.folded(Folded::Both);
        let of = &mut |lowering: &mut Self, from, to, products| match products {
            true => lowering.gluon_current_with_products(order, from, to, true),
            false => lowering.gluon_current_once(order, from, to),
        };
        let op = self.vectors(legs, true, of, order.len(), folded);
        // A factor -1 for each leg, and the sign of each vertex under conjugation; there is one vertex fewer than legs.
        let plus = |parity: f64| order.len().is_multiple_of(2) && parity > 0.0;
        let mirror = match self.parity {
            None => Mirror::None,
            Some(parity) if plus(parity) => Mirror::Plus,
            Some(_) => Mirror::Minus,
        };
        let op = self.multiplied(op, Some(legs), 1.0);
        // In pure gluon processes the second end couples to currents of all insertions.
        let longest = self.count - usize::from(self.line.is_some());
        let needed = folded.is_some() && order.len() <= longest;
        let products = needed.then(|| self.allocate_vectors(PRODUCTS * elements));
        let op = Vector {
            mirror,
            products: products.map(|address| self.with_products(address)),
            ..op
        };
        self.once.push(ArrayOp {
            out,
            count: elements,
            payload: Payload::Vector(op),
        });
        let array = Array {
            address: out,
            legs,
            stride: ELEMENT,
            whole: true,
            products,
        };
        self.currents.insert(order.to_vec(), array);
    }

    /// Selects the terms of triples to be folded into pairs; `None` on a GPU or without four-gluon vertices.
    pub(super) fn folded(&self, folded: Folded) -> Option<Folded> {
        (self.machine.is_core() && self.four_gluon.is_some()).then_some(folded)
    }

    /// The ratio of the constants of pairs and of triples.
    fn ratio(&mut self) -> Ratio {
        let [under, over] = self.factors(None, 1.0).map(Once);
        Ratio { under, over }
    }

    /// The part of an operation that writes the products of its result to `address`.
    pub(super) fn with_products(&mut self, address: Address) -> WithProducts {
        WithProducts {
            address,
            ratio: self.ratio(),
        }
    }

    /// Adds the factors of pairs and triples to a vector operation, see [`Lowering::factors`].
    pub(super) fn multiplied(&mut self, op: Vector, legs: Option<Legs>, scale: f64) -> Vector {
        let [of_pairs, of_triples] = self.factors(legs, scale).map(Once);
        Vector {
            factor: of_pairs,
            factor_of_triples: (!op.triples.is_empty()).then_some(of_triples),
            ..op
        }
    }

    /// The products of an array, or zero if it has none.
    fn products_of(&mut self, legs: Legs, whole: bool, array: Option<Array>) -> Operand {
        let products = match array.and_then(Array::of_products) {
            Some(products) => products,
            None => Array::numbers(self.zero(), 0, true),
        };
        self.helicities.operand(legs, whole, products)
    }

    fn zero(&mut self) -> Address {
        if let Some(zero) = self.zero {
            return zero;
        }
        let zero = self.allocate(1);
        self.once.insert(
            0,
            ArrayOp {
                out: zero,
                count: 1,
                payload: Payload::Sum(Sum::default()),
            },
        );
        self.zero = Some(zero);
        zero
    }

    /// Vectors from all pairs and triples of adjacent parts of `size` insertions. `of` returns the array for the
    /// insertions from one index to another, with or without products.
    pub(super) fn vectors(
        &mut self,
        legs: Legs,
        whole: bool,
        of: &mut dyn FnMut(&mut Self, usize, usize, bool) -> Array,
        size: usize,
        folded: Option<Folded>,
    ) -> Vector {
        let (mut pairs, mut triples) = (Vec::new(), Vec::new());
        let mut products = Vec::new();
        // With two insertions there is nothing to fold.
        let folded = folded.filter(|_| size > 2);
        let (first, both) = (folded.is_some(), folded == Some(Folded::Both));
        for i in 1..size {
            let (a, b) = (of(self, 0, i, first), of(self, i, size, both));
            pairs.push(Pair {
                a: self.helicities.operand(legs, whole, a),
                b: self.helicities.operand(legs, whole, b),
                momenta: [self.momentum(a.legs), self.momentum(b.legs)],
            });
            if first {
                let of_first = self.products_of(legs, whole, Some(a));
                products.push([of_first, self.products_of(legs, whole, both.then_some(b))]);
            }
            for j in i + 1..size {
                if self.four_gluon.is_none() {
                    continue;
                }
                let (b, c) = (of(self, i, j, false), of(self, j, size, false));
                let operand = |h: &mut Helicities, array| h.operand(legs, whole, array);
                let ends = Array::numbers(0, a.legs | c.legs, false);
                triples.push(Triple {
                    operands: [a, b, c].map(|array| operand(&mut self.helicities, array)),
                    ends: operand(&mut self.helicities, ends).index,
                });
            }
        }
        let from = self.pools.triples.len() as u32;
        self.pools.triples.extend(triples);
        let first = self.pools.products.len() as u32;
        self.pools.products.extend(products);
        Vector {
            pairs: VectorPairs {
                range: self.push_pairs(pairs),
                folded: folded.map(|folded| (folded, first)),
            },
            triples: Triples([from, self.pools.triples.len() as u32]),
            ..Vector::default()
        }
    }

    /// A gluon current with its products, if triples are folded into pairs. With `once` it is for a current that is
    /// computed once per event, otherwise for one within a run.
    pub(super) fn gluon_current_with_products(
        &mut self,
        order: &[u8],
        from: usize,
        to: usize,
        once: bool,
    ) -> Array {
        let of = |lowering: &mut Self, from, to| match once {
            true => lowering.gluon_current_once(order, from, to),
            false => lowering.gluon_current(order, from, to, Components::Plain),
        };
        let array = of(self, from, to);
        let part = &order[from..to];
        if self.folded(Folded::Both).is_none() || part.len() == 1 || array.products.is_some() {
            return array;
        }
        let count = self.helicities.count(array.legs, array.whole);
        let kept = self.currents.contains_key(part);
        // Reversing an even number of insertions leaves the products unchanged; an odd number changes their sign.
        let key = match part.len().is_multiple_of(2) {
            true => part.to_vec().min(part.iter().rev().copied().collect()),
            false => part.to_vec(),
        };
        let place = (ScratchContent::Products, once, from, part.len());
        let known = match kept {
            true => self.products.get(&key).map(|&products| (products, true)),
            false => self.scratch.find(&place, part),
        };
        let (products, is_current) = known.unwrap_or_else(|| {
            let elements = match kept {
                true => count,
                false => self.elements_of_any(0, part.len(), once),
            };
            (self.allocate_vectors(PRODUCTS * elements), false)
        });
        let with_products = Array {
            products: Some(products),
            ..array
        };
        if is_current {
            return with_products;
        }
        let mut pairs = Vec::new();
        for at in from + 1..to {
            let (a, b) = (of(self, from, at), of(self, at, to));
            // An operation that is executed once per event must not read arrays of a run.
            debug_assert!(!array.whole || a.whole && b.whole, "{order:?}");
            pairs.push(Pair {
                a: self.helicities.operand(array.legs, array.whole, a),
                b: self.helicities.operand(array.legs, array.whole, b),
                momenta: [0; 2],
            });
        }
        let pairs = Pairs(self.push_pairs(pairs));
        let ratio = Some(self.ratio());
        let op = ArrayOp {
            out: products,
            count,
            payload: Payload::Products(Products { ratio, pairs }),
        };
        self.push(op, array.whole);
        match kept {
            true => {
                self.products.insert(key, products);
            }
            false => self.scratch.put(place, products, part),
        }
        with_products
    }

    /// The operation that computes a current as a sum of others.
    fn sum_op(
        &mut self,
        order: &[u8],
        whole: bool,
        out: Address,
        components: Components,
    ) -> ArrayOp {
        let (all, minus) = match self.currents.contains_key(order) {
            true => (vec![order.to_vec()], false),
            false => shuffles(order),
        };
        let from = self.pools.addends.len() as u32;
        for order in all {
            let array = self.currents[&order];
            let shift = if whole {
                0
            } else {
                self.helicities.shift(array)
            };
            self.pools.addends.push(Addend {
                address: array.address,
                shift,
                minus,
            });
        }
        let to = self.pools.addends.len() as u32;
        let factor = match components {
            Components::Slashed => self.factor_of_slashed(),
            Components::Plain | Components::Lower => None,
        };
        ArrayOp {
            out,
            count: self.helicities.count(insertions(order), whole),
            payload: Payload::Sum(Sum {
                components,
                factor: factor.map(Once),
                addends: Addends([from, to]),
            }),
        }
    }

    fn short_sum(&mut self, order: &[u8]) {
        let array = self.sum_once(order, Components::Plain);
        self.currents.insert(order.to_vec(), array);
    }

    fn slash(&mut self, order: &[u8]) {
        let array = self.sum_once(order, Components::Slashed);
        self.slashed.insert(order.to_vec(), array);
    }

    /// Computes the current of an order, once per event.
    fn sum_once(&mut self, order: &[u8], components: Components) -> Array {
        let elements = self.helicities.count(insertions(order), true);
        let address = self.allocate(elements);
        self.push_sum(order, address, components, true)
    }

    /// Computes the current of an order at this address, once per event or within a run.
    fn push_sum(
        &mut self,
        order: &[u8],
        address: Address,
        components: Components,
        whole: bool,
    ) -> Array {
        let op = self.sum_op(order, whole, address, components);
        self.push(op, whole);
        Array::new(address, insertions(order), whole)
    }

    /// Adds an operation to those executed once per event, or to those of a run.
    pub(super) fn push(&mut self, op: ArrayOp, once: bool) {
        match once {
            true => self.once.push(op),
            false => self.per_run.push(op),
        }
    }

    /// The factor that slashed gluon currents already contain.
    fn factor_of_slashed(&mut self) -> Option<Address> {
        let line = self.line.clone().filter(|_| self.chirality.is_some())?;
        Some(self.factor(&line.constant, None))
    }

    /// Converts an array to other components, with an optional factor, once per event.
    pub(super) fn push_form(
        &mut self,
        from: Address,
        out: Address,
        count: u32,
        (components, factor): (Components, Option<Address>),
    ) {
        let first = self.pools.addends.len() as u32;
        self.pools.addends.push(Addend {
            address: from,
            shift: 0,
            minus: false,
        });
        self.once.push(ArrayOp {
            out,
            count,
            payload: Payload::Sum(Sum {
                components,
                factor: factor.map(Once),
                addends: Addends([first, first + 1]),
            }),
        });
    }

    /// A gluon current for a current that is computed once per event.
    fn gluon_current_once(&mut self, order: &[u8], from: usize, to: usize) -> Array {
        self.gluon_current_in(order, (from, to), Components::Plain, true)
    }

    /// A slashed current within a run, and whether its sign must be changed: reversed insertions have the same current,
    /// with opposite sign if their number is even.
    pub(super) fn signed_gluon_current(
        &mut self,
        order: &[u8],
        from: usize,
        to: usize,
    ) -> (Array, bool) {
        let part = &order[from..to];
        let known = |order: &[u8]| self.slashed.get(order).copied();
        match part {
            [first, .., last] if first > last => {
                let backwards: Vec<u8> = part.iter().rev().copied().collect();
                match known(&backwards) {
                    Some(array) => (array, part.len().is_multiple_of(2)),
                    None => (
                        self.gluon_current(order, from, to, Components::Slashed),
                        false,
                    ),
                }
            }
            _ => (
                self.gluon_current(order, from, to, Components::Slashed),
                false,
            ),
        }
    }

    /// The current of the insertions `from..to` of an order, within a run.
    pub(super) fn gluon_current(
        &mut self,
        order: &[u8],
        from: usize,
        to: usize,
        components: Components,
    ) -> Array {
        self.gluon_current_in(order, (from, to), components, false)
    }

    /// The current of the insertions `from..to` of an order, once per event or within a run.
    fn gluon_current_in(
        &mut self,
        order: &[u8],
        (from, to): (usize, usize),
        components: Components,
        whole: bool,
    ) -> Array {
        let part = &order[from..to];
        if let Some(&array) = self.kept(components).get(part) {
            return array;
        }
        if !self.reuses_memory() {
            if let Some(&array) = self.kept(components).get(&backwards(part)) {
                return array;
            }
            let elements = self.helicities.count(insertions(part), whole);
            let address = self.allocate(elements);
            let array = self.push_sum(part, address, components, whole);
            self.kept(components).insert(part.to_vec(), array);
            return array;
        }
        let content = match components {
            Components::Slashed => ScratchContent::Slashed,
            Components::Plain | Components::Lower => ScratchContent::Plain,
        };
        let key = (content, whole, from, part.len());
        let place = self.scratch.find(&key, part);
        let (address, is_current) = place.unwrap_or_else(|| {
            let elements = self.elements_of_any(0, part.len(), whole);
            (self.allocate(elements), false)
        });
        if is_current {
            return Array::new(address, insertions(part), whole);
        }
        self.scratch.put(key, address, part);
        self.push_sum(part, address, components, whole)
    }

    /// The stored currents with these components.
    fn kept(&mut self, components: Components) -> &mut HashMap<Vec<u8>, Array> {
        match components {
            Components::Slashed => &mut self.slashed,
            Components::Plain | Components::Lower => &mut self.currents,
        }
    }

    /// The factors of pairs and triples of gluon currents, including the propagator of `legs`.
    pub(super) fn factors(&mut self, legs: Option<Legs>, scale: f64) -> [Address; 2] {
        let propagator = legs.map(|legs| (legs, 0.0, 0.0));
        let scaled = |constant: &Constant| {
            let terms = constant.1.iter().map(|&(i, c)| (i, c * scale));
            (constant.0.clone(), terms.collect())
        };
        let (three_gluon, four_gluon) = (
            scaled(&self.three_gluon),
            self.four_gluon.as_ref().map(scaled),
        );
        let factor = self.factor(&three_gluon, propagator);
        let of_triples =
            four_gluon.map_or(factor, |four_gluon| self.factor(&four_gluon, propagator));
        [factor, of_triples]
    }
}

/// The order stored for a current that may have been computed in reverse: an odd number of insertions is reversed.
/// (Reversing an even number changes the sign.)
fn backwards(order: &[u8]) -> Vec<u8> {
    match order.len() % 2 {
        1 => order.iter().rev().copied().collect(),
        _ => order.to_vec(),
    }
}
