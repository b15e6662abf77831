//! Pure gluon amplitudes: the first gluon takes the place of the line.
//!
//! The orders are visited as a tree; for each depth, one array holds the line's current for the insertions so far. A
//! JAMP is a sum over n: the line's current with the first n insertions, times the current of the second end with the
//! others. The latter has no propagator; in it the second end couples to one or two gluon currents. For n = 0 a CPU
//! multiplies scalar products instead, see [`BothEnds`].

use super::arrays::{Array, PRODUCTS, insertions};
use super::both_ends::BothEnds;
use super::lowering::{Contraction, Lowering, SHORT};
use mebridge_ops::Address;
use mebridge_ops::arrays::{ArrayOp, Components, ELEMENT, Folded, Pair, Payload, Triple, Vector};
use mebridge_process::color_ordered::parts;

/// Adds the operations of all JAMPs.
pub fn lower(lowering: &mut Lowering) {
    lowering.ends();
    let mut both_ends = match lowering.reuses_memory() {
        true => Some(BothEnds::new(lowering)),
        false => None,
    };
    lowering.visit(&mut Vec::new(), &mut both_ends);
}

/// Represents an array that does not exist.
const NOWHERE: Array = Array::new(Address::MAX, 0, true);

impl Lowering<'_> {
    /// Allocates memory along the line, and computes short currents of the second end.
    fn ends(&mut self) {
        let count = self.count;
        if self.reuses_memory() {
            for insertions in 0..count {
                let line = self.allocate_any(1, insertions);
                self.lines.push(line);
                let elements = self.elements_of_any(1, insertions, false);
                let products = self.allocate_vectors(PRODUCTS * elements);
                self.line_products.push(products);
            }
        }
        let longest = match self.reuses_memory() {
            true => count - 1,
            false => count,
        };
        for size in 1..=longest.min(SHORT) {
            for order in parts(count, size) {
                let elements = self
                    .helicities
                    .count(insertions(&order) | self.last(), false);
                let address = self.allocate(elements);
                self.root(&order, address);
            }
        }
    }

    /// Computes the current of the second end and the insertions before it.
    fn root(&mut self, order: &[u8], address: Address) {
        let legs = insertions(order) | self.last();
        let root = self.external(self.count + 1);
        let size = order.len() + 1;
        // Restricted to vertices with the second end as the last leg.
        let folded = self.folded(Folded::Last);
        let mut op = self.vectors(
            legs,
            false,
            &mut |lowering, from, to, products| match (from, to) {
                (from, to) if to == size && from == size - 1 => root,
                (_, to) if to == size => NOWHERE,
                (from, to) => lowering.gluon_current_within(order, from, to, products),
            },
            size,
            folded,
        );
        self.keep_last(&mut op);
        let op = Vector {
            components: Components::Lower,
            ..self.multiplied(op, None, self.closing)
        };
        self.per_run.push(ArrayOp {
            out: address,
            count: self.helicities.count(legs, false),
            payload: Payload::Vector(op),
        });
        let array = Array::new(address, legs, false);
        self.roots.insert(order.to_vec(), array);
    }

    /// Removes pairs and triples with an array that does not exist.
    fn keep_last(&mut self, op: &mut Vector) {
        let somewhere = |address: Address| address != NOWHERE.address;
        let pairs = self.pools.pairs.split_off(op.pairs.range[0] as usize);
        let kept = |p: &Pair| somewhere(p.a.address) && somewhere(p.b.address);
        if let Some((_, first)) = op.pairs.folded {
            let products = self.pools.products.split_off(first as usize);
            let of_kept = products
                .into_iter()
                .zip(&pairs)
                .filter(|(_, pair)| kept(pair));
            self.pools
                .products
                .extend(of_kept.map(|(products, _)| products));
        }
        self.pools.pairs.extend(pairs.into_iter().filter(kept));
        op.pairs.range[1] = self.pools.pairs.len() as u32;
        let triples = self.pools.triples.split_off(op.triples.0[0] as usize);
        let whole = |t: &Triple| t.operands.iter().all(|p| somewhere(p.address));
        self.pools.triples.extend(triples.into_iter().filter(whole));
        op.triples.0[1] = self.pools.triples.len() as u32;
    }

    fn gluon_current_within(
        &mut self,
        order: &[u8],
        from: usize,
        to: usize,
        products: bool,
    ) -> Array {
        // Offset past the insertions of the line, so that its own currents use other memory.
        let before = self.count - order.len();
        let mut whole = vec![0; before];
        whole.extend(order);
        self.gluon_current_of(&whole, before + from, before + to, products)
    }

    /// A gluon current within a run, with or without its products.
    fn gluon_current_of(&mut self, order: &[u8], from: usize, to: usize, products: bool) -> Array {
        match products {
            true => self.gluon_current_with_products(order, from, to, false),
            false => self.gluon_current(order, from, to, Components::Plain),
        }
    }

    /// Visits the orders that begin with the insertions `start`.
    fn visit(&mut self, start: &mut Vec<u8>, both_ends: &mut Option<BothEnds>) {
        if start.len() == self.count {
            return self.jamp(start, both_ends);
        }
        if !start.is_empty() {
            self.line_current(start);
        }
        let free = (0..self.count as u8).filter(|r| !start.contains(r));
        for next in free.collect::<Vec<u8>>() {
            start.push(next);
            self.visit(start, both_ends);
            start.pop();
        }
    }

    /// The current of the line with the insertions `start`.
    fn line_array(&self, start: &[u8]) -> Array {
        match start {
            [] => self.external(0),
            _ => self.line_currents[start],
        }
    }

    fn line_current(&mut self, start: &[u8]) {
        let legs = insertions(start) | 1;
        let folded = self.folded(Folded::Both);
        let op = self.vectors(
            legs,
            false,
            &mut |lowering, from, to, products| match from {
                0 => lowering.line_array(&start[..to - 1]),
                _ => lowering.gluon_current_of(start, from - 1, to - 1, products),
            },
            start.len() + 1,
            folded,
        );
        let count = self.helicities.count(legs, false);
        let address = match self.lines.get(start.len()) {
            Some(&address) => address,
            None => self.allocate(count),
        };
        let products = folded.and_then(|_| self.line_products.get(start.len()).copied());
        let op = self.multiplied(op, Some(legs), 1.0);
        let op = Vector {
            products: products.map(|address| self.with_products(address)),
            ..op
        };
        self.per_run.push(ArrayOp {
            out: address,
            count,
            payload: Payload::Vector(op),
        });
        let array = Array {
            address,
            legs,
            stride: ELEMENT,
            whole: false,
            products,
        };
        self.line_currents.insert(start.to_vec(), array);
    }

    /// Computes the JAMP of an order.
    fn jamp(&mut self, order: &[u8], both_ends: &mut Option<BothEnds>) {
        let all = self.all();
        let mut products = Contraction::default();
        if let Some(both_ends) = both_ends {
            both_ends.add(self, order, &mut products);
        }
        for at in usize::from(both_ends.is_some())..self.count {
            let (start, rest) = order.split_at(at);
            let left = rest.len();
            if !self.roots.contains_key(rest) && !self.reuses_memory() {
                let elements = self.helicities.count(insertions(rest) | self.last(), false);
                let address = self.allocate(elements);
                self.root(rest, address);
            }
            if !self.roots.contains_key(rest) {
                let address = match self.long_roots.get(&left) {
                    Some(&address) => address,
                    None => {
                        let last = self.last();
                        let address = self.allocate_any(last, left);
                        self.long_roots.insert(left, address);
                        address
                    }
                };
                self.roots.retain(|order, _| order.len() != left);
                self.root(rest, address);
            }
            let (first, second) = (self.line_array(start), self.roots[rest]);
            products.pairs.push(Pair {
                a: self.helicities.operand(all, false, first),
                b: self.helicities.operand(all, false, second),
                momenta: [0; 2],
            });
        }
        self.push_jamp(order, products);
    }
}
