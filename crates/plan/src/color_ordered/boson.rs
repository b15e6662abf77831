//! A massless quark line with insertions that couples to a colourless vector boson.
//!
//! Cut the line after insertion `h`. In every diagram, exactly one vertex of the line is the first that holds an
//! insertion after the cut: it couples to a current of the insertions `k + 1` to `m` with `k <= h < m`. The boson is
//! before or after this vertex. So a JAMP is the sum of
//!
//! * for each `m`: the sum over `k` of the line up to `m` without boson, times the second end's current with boson, and
//! * for each `k`: the first end's current with boson, times the sum over `m` of the rest of the line without boson.
//!
//! The helicities of the boson thus enter one of two factors, and neither factor contains all insertions in addition.

use super::Weight;
use super::arrays::{Array, Legs, insertions};
use super::chirality::Chirality;
use super::lowering::{Contraction, Lowering};
use super::vertices::QuarkLine;
use mebridge_ops::arrays::{
    ArrayOp, CHIRAL, ChiralLine, Less, MasslessPropagator, Once, Pair, Pairs, Payload,
};
use mebridge_process::color_ordered::{orders, parts};
use rustc_hash::FxHashMap as HashMap;

type InsertionOrder = Vec<u8>;

/// Currents of both ends, by their insertions.
#[derive(Default)]
struct EndCurrents {
    /// With propagator, without boson.
    ends: [HashMap<InsertionOrder, Array>; 2],
    /// With propagator and boson.
    with: [HashMap<InsertionOrder, Array>; 2],
    /// Without propagator and boson, for currents that contain an insertion beyond the cut.
    across: [HashMap<InsertionOrder, Array>; 2],
}

/// Adds the operations of all JAMPs.
pub fn lower(lowering: &mut Lowering, line: &QuarkLine, chirality: Chirality, boson: Array) {
    let count = lowering.count;
    let cut = cut(count, lowering.helicities.count(boson.legs, true) as usize);
    let maker = BosonCurrents {
        line,
        chirality,
        boson,
    };
    let mut currents = EndCurrents::default();
    for (end, longest) in [(0, cut), (1, count - cut - 1)] {
        for size in 0..=longest {
            for order in parts(count, size) {
                let array = match size {
                    0 => lowering.chiral_end(end, chirality.spinors(line.flows_in == (end == 0))),
                    _ => {
                        let splits = splits(&currents.ends[end], end, &order, 0..size);
                        maker.spinor(lowering, end, &order, &splits, None, true)
                    }
                };
                currents.ends[end].insert(order.clone(), array);
                let splits = splits(&currents.with[end], end, &order, 0..size);
                let with = maker.spinor(lowering, end, &order, &splits, Some(array), true);
                currents.with[end].insert(order, with);
            }
        }
        // Currents of this end that contain gluon currents across the cut.
        for size in longest + 1..=count {
            for order in parts(count, size) {
                let splits = splits(&currents.ends[end], end, &order, 0..longest + 1);
                let array = maker.spinor(lowering, end, &order, &splits, None, false);
                currents.across[end].insert(order, array);
            }
        }
    }
    for order in orders(count) {
        let mut pairs = Vec::new();
        let all = lowering.all();
        for at in 0..=count {
            let (start, end) = order.split_at(at);
            let products = match at <= cut {
                true => (currents.across[1][end], currents.with[0][start]),
                false => (currents.across[0][start], currents.with[1][end]),
            };
            pairs.push(Pair {
                a: lowering.helicities.operand(all, false, products.0),
                b: lowering.helicities.operand(all, false, products.1),
                momenta: [0; 2],
            });
        }
        let products = Contraction {
            pairs,
            ..Contraction::default()
        };
        lowering.push_jamp(&order, products);
    }
}

/// The ratio of |M|^2 to the squares of JAMPs computed without the factors of the boson's vertices. If the boson is a
/// pair of fermions, one ratio for each of their helicity indices.
pub fn weights(lowering: &mut Lowering, chirality: Chirality) -> Vec<[Weight; 2]> {
    let Some(chiral) = lowering.chiral.take() else {
        return Vec::new();
    };
    let legs = 1 << (lowering.count + 2);
    let fermions = std::mem::take(&mut lowering.evaluated.fermions);
    let mut weight = |line: Chirality, fermions: Option<Chirality>| {
        let mut products = Vec::new();
        for (taken, of_fermions) in chiral.factors(line, fermions) {
            let mut product = vec![lowering.factor(taken, None)];
            if let Some((constant, mass, width)) = of_fermions {
                product.push(lowering.factor(constant, Some((legs, mass, width))));
            }
            products.push(product);
        }
        Weight {
            address: lowering.allocate_vectors(1),
            products,
        }
    };
    let mut both = |fermions: &Option<Chirality>| {
        let other = fermions.map(Chirality::opposite);
        [
            weight(chirality, *fermions),
            weight(chirality.opposite(), other),
        ]
    };
    fermions.iter().map(&mut both).collect()
}

/// The insertion after which cutting the line costs the least work.
fn cut(count: usize, helicities: usize) -> usize {
    let elements = |size: usize| (0..size).map(|i| 2 * (count - i)).product::<usize>();
    let side = |longest: usize| {
        let ends = (1..=longest).map(|k| elements(k) * (k + 1));
        let with = (0..=longest).map(|k| elements(k) * helicities * (k + 2));
        let across = (longest + 1..=count).map(|k| elements(k) * (longest + 1));
        ends.sum::<usize>() + with.sum::<usize>() + across.sum::<usize>()
    };
    let work = |cut: &usize| side(*cut) + side(count - cut - 1);
    (0..count).min_by_key(work).unwrap_or(0)
}

/// For each number of insertions in `sizes`: the current of the end with these insertions of `order`, and the range of
/// the others.
fn splits(
    known: &HashMap<InsertionOrder, Array>,
    end: usize,
    order: &[u8],
    sizes: std::ops::Range<usize>,
) -> Vec<(Array, usize, usize)> {
    let all = order.len();
    let split = |size: usize| match end {
        0 => (known[&order[..size]], size, all),
        _ => (known[&order[all - size..]], 0, all - size),
    };
    sizes.map(split).collect()
}

struct BosonCurrents<'a> {
    line: &'a QuarkLine,
    chirality: Chirality,
    boson: Array,
}

impl BosonCurrents<'_> {
    /// Computes spinors from an end's currents times gluon currents of the remaining insertions, and, if `with` is
    /// given, from that current times the boson.
    fn spinor(
        &self,
        lowering: &mut Lowering,
        end: usize,
        order: &[u8],
        splits: &[(Array, usize, usize)],
        with: Option<Array>,
        propagate: bool,
    ) -> Array {
        let last = lowering.last();
        let of_end: Legs = if end == 0 { 1 } else { last };
        let mut legs = insertions(order) | of_end;
        let mut meet: Vec<(Array, Array, bool)> = Vec::new();
        for &(array, from, to) in splits {
            let (insertion, minus) = lowering.signed_gluon_current(order, from, to);
            meet.push((array, insertion, minus));
        }
        if let Some(without) = with {
            legs |= self.boson.legs;
            meet.push((without, self.boson, false));
        }
        let (mut pairs, mut less) = (Vec::new(), Vec::new());
        for (spinor, vector, minus) in meet {
            let to = if minus { &mut less } else { &mut pairs };
            to.push(Pair {
                a: lowering.helicities.operand(legs, false, spinor),
                b: lowering.helicities.operand(legs, false, vector),
                momenta: [0; 2],
            });
        }
        let flows_in = self.line.flows_in == (end == 0);
        let count = lowering.helicities.count(legs, false);
        let out = lowering.allocate_vectors(CHIRAL * count);
        let op = ChiralLine {
            spinors: self.chirality.spinors(flows_in),
            propagator: propagate.then(|| MasslessPropagator {
                inverse: Once(lowering.propagator(legs)),
                momentum: Once(lowering.momentum(legs)),
            }),
            pairs: Pairs(lowering.push_pairs(pairs)),
            less: Less(Pairs(lowering.push_pairs(less))),
        };
        let payload = match flows_in {
            true => Payload::ChiralLineIn(op),
            false => Payload::ChiralLineOut(op),
        };
        lowering.per_run.push(ArrayOp {
            out,
            count,
            payload,
        });
        Array {
            address: out,
            legs,
            stride: CHIRAL,
            whole: false,
            products: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn lines_are_cut_in_the_middle() {
        assert_eq!([1, 2, 3, 5].map(|count| cut(count, 3)), [0, 0, 1, 2]);
    }
}
