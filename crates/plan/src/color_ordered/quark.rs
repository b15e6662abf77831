//! A quark line with insertions, see [`Cover`].

use super::arrays::{Array, Legs, insertions};
use super::cover::Cover;
use super::lowering::{Contraction, Lowering, SHORT};
use super::vertices::QuarkLine;
use mebridge_ops::Address;
use mebridge_ops::arrays::{
    ArrayOp, Components, Current, Line, Once, Pair, Pairs, Payload, Propagator, Shuffle,
    ShuffledRanges, Unrolled,
};
use mebridge_process::color_ordered::{orders, parts};
use rustc_hash::FxHashMap as HashMap;

type InsertionOrder = Vec<u8>;

/// Upper bound on the numbers in one shuffle: the numbers of four helicities share the L2 cache with the JAMPs.
const NUMBERS: usize = 1500;

/// Spinors of an end with at most this number of insertions are computed once for all runs, if runs have all helicities
/// of both ends. Longer ones are computed in each run, so that they are in cache.
const ONCE: usize = 3;

/// The arrays from which JAMPs are computed.
#[derive(Default)]
struct JampParts {
    /// Currents of the first end with the insertions after it, and of the second end with the insertions before it.
    ends: [HashMap<InsertionOrder, Array>; 2],
    /// Sums of blocks combined with these currents, without propagator, by the insertions on the other side.
    joined: [HashMap<InsertionOrder, Array>; 2],
    /// Vectors made from the currents of both ends.
    vectors: HashMap<(InsertionOrder, InsertionOrder), Array>,
}

/// Adds the operations of all JAMPs.
pub fn lower(lowering: &mut Lowering, line: &QuarkLine) {
    let count = lowering.count;
    let cover = match lowering.reuses_memory() {
        true => Cover::new(count, SHORT, &weights(lowering)),
        false => Cover::without_sums(count),
    };
    let mut arrays = JampParts::default();
    for (end, longest) in [(0, cover.cut), (1, count - cover.cut - 1)] {
        let position = if end == 0 { 0 } else { count + 1 };
        arrays.ends[end].insert(InsertionOrder::new(), lowering.external(position));
        for size in 1..=longest {
            for order in parts(count, size) {
                let array = current(lowering, line, &arrays, end, &order);
                arrays.ends[end].insert(order, array);
            }
        }
    }
    match lowering.reuses_memory() {
        true => by_sets(lowering, line, &cover, arrays),
        false => by_jamps(lowering, line, &cover, arrays),
    }
}

/// `[insertions]`: number of elements of one end's currents with these insertions, divided by the number of elements of
/// all JAMPs in a run.
fn weights(lowering: &Lowering) -> Vec<f64> {
    let count = lowering.count;
    let all = f64::from(lowering.helicities.count(lowering.all(), false));
    let of = |size: usize| {
        let others: usize = (1..=count - size).product();
        let sets = sets(count, size);
        let elements = sets
            .iter()
            .map(|set| lowering.helicities.count(insertions(set) | 1, false));
        f64::from(elements.sum::<u32>()) / sets.len() as f64 / all / others as f64
    };
    (0..=count).map(of).collect()
}

/// Computes all JAMPs from arrays that are stored for all of them.
fn by_jamps(lowering: &mut Lowering, line: &QuarkLine, cover: &Cover, mut arrays: JampParts) {
    let count = lowering.count;
    for (k, ms) in joined_at(&cover.right) {
        arrays.join_all(lowering, line, (1, k), ms);
    }
    for (m, ks) in joined_at(&cover.left) {
        arrays.join_all(lowering, line, (0, m), ks);
    }
    arrays.vectors(lowering, line, cover);
    for order in orders(count) {
        jamp(lowering, cover, &arrays, &order);
    }
}

/// Computes the JAMPs for one set of first insertions after the other, so that the arrays combined for the set stay in
/// cache; then adds the remaining terms to the JAMPs.
fn by_sets(lowering: &mut Lowering, line: &QuarkLine, cover: &Cover, mut arrays: JampParts) {
    let count = lowering.count;
    let mut right = joined_at(&cover.right).peekable();
    let first = right.peek().copied();
    let mut left: Vec<_> = joined_at(&cover.left).collect();
    let size = first.or(left.first().copied()).map_or(0, |of| of.0);
    // Currents with the most insertions are computed for each set, unless there are few of them.
    let first = first.filter(|of| count - of.0 > ONCE);
    for (k, ms) in right.skip(usize::from(first.is_some())) {
        arrays.join_all(lowering, line, (1, k), ms);
    }
    for (m, ks) in left.extract_if(.., |of| of.0 <= ONCE) {
        arrays.join_all(lowering, line, (0, m), ks);
    }
    arrays.vectors(lowering, line, cover);
    let mut buffers = Buffers::default();
    for set in sets(count, size) {
        let starts = orders_of(&set);
        let rest = without(count, &set);
        let mut last: Option<InsertionOrder> = None;
        for end in orders_of(&rest) {
            buffers.next = 0;
            if let Some((k, ms)) = first {
                let buffer = buffers.next(lowering, lowering.last(), end.len());
                arrays.join(lowering, line, (1, k), ms, &end, Some(buffer));
            }
            for &(m, ks) in &left {
                let more = &end[..m - size];
                for start in &starts {
                    let buffer = buffers.next(lowering, 1, m);
                    if last.as_ref().is_none_or(|last| last[..m - size] != *more) {
                        let order = [start, more].concat();
                        arrays.join(lowering, line, (0, m), ks, &order, Some(buffer));
                    }
                }
            }
            for start in &starts {
                jamp(lowering, cover, &arrays, &[start, &end[..]].concat());
            }
            last = Some(end);
        }
    }
    by_numbers(lowering, line, cover, &arrays);
}

/// The numbers of insertions at which blocks are combined with an end, each with the other sides of the blocks.
fn joined_at(sides: &[Vec<usize>]) -> impl Iterator<Item = (usize, &[usize])> {
    let sides = sides.iter().map(Vec::as_slice).enumerate();
    sides.filter(|(_, others)| !others.is_empty())
}

/// Memory that is reused for each set.
#[derive(Default)]
struct Buffers {
    all: Vec<Address>,
    next: usize,
}

impl Buffers {
    /// The next buffer, for an array over an end and `insertions` insertions.
    fn next(&mut self, lowering: &mut Lowering, end: Legs, insertions: usize) -> Address {
        if self.next == self.all.len() {
            let buffer = lowering.allocate_any(end, insertions);
            self.all.push(buffer);
        }
        self.next += 1;
        self.all[self.next - 1]
    }
}

impl JampParts {
    /// Combines an end's currents with blocks.
    fn join(
        &mut self,
        lowering: &mut Lowering,
        line: &QuarkLine,
        (end, at): (usize, usize),
        others: &[usize],
        order: &[u8],
        buffer: Option<Address>,
    ) {
        let array = joined(lowering, line, self, (end, at), others, order, buffer);
        self.joined[end].insert(order.to_vec(), array);
    }

    /// Combines an end's currents with blocks for all orders, and stores the results.
    fn join_all(
        &mut self,
        lowering: &mut Lowering,
        line: &QuarkLine,
        (end, at): (usize, usize),
        others: &[usize],
    ) {
        let count = lowering.count;
        for order in parts(count, if end == 0 { at } else { count - at }) {
            self.join(lowering, line, (end, at), others, &order, None);
        }
    }

    /// Computes vectors for the blocks whose orders are all multiplied.
    fn vectors(&mut self, lowering: &mut Lowering, line: &QuarkLine, cover: &Cover) {
        let count = lowering.count;
        for &(k, m) in &cover.all {
            for whole in parts(count, k + count - m) {
                let ends = (whole[..k].to_vec(), whole[k..].to_vec());
                if !self.vectors.contains_key(&ends) {
                    let vector = vector(lowering, line, self, &ends.0, &ends.1);
                    self.vectors.insert(ends, vector);
                }
            }
        }
    }
}

/// Adds the products of blocks to the JAMPs if only orders with the smallest insertion first are multiplied and the
/// others follow by shuffles.
fn by_numbers(lowering: &mut Lowering, line: &QuarkLine, cover: &Cover, arrays: &JampParts) {
    let count = lowering.count;
    // By the number of insertions before the end of a block.
    let before = |m: usize| {
        let blocks = cover.sums.iter().filter(move |block| block.1 == m);
        let mut before: Vec<usize> = blocks.map(|block| block.0).collect();
        before.sort_unstable();
        before
    };
    let blocks = (1..=count).map(|m| (m, before(m)));
    let blocks: Vec<_> = blocks.filter(|(_, before)| !before.is_empty()).collect();
    // Blocks for several `m` share a shuffle if they do not have too many numbers.
    let mut merged: Vec<Vec<ShuffledRanges>> = Vec::new();
    for block in blocks {
        let m = block.0;
        let alone = Shuffle::numbers(m, std::slice::from_ref(&block));
        match merged.last_mut() {
            Some(others) if Shuffle::numbers(m, others) + alone <= NUMBERS => others.push(block),
            _ => merged.push(vec![block]),
        }
    }
    let made_of = |blocks: &Vec<ShuffledRanges>| {
        let longest = blocks.last().map_or(0, |block| block.0);
        Shuffle::new(longest, blocks)
    };
    let (shuffles, orders): (Vec<_>, Vec<_>) = merged.iter().map(made_of).unzip();
    lowering.set_shuffles(shuffles);
    for ((number, blocks), orders) in (0..).zip(&merged).zip(&orders) {
        let longest = blocks.last().map_or(0, |block| block.0);
        for last in parts(count, count - longest) {
            let rest = without(count, &last);
            let of_rest = |order: &InsertionOrder| -> InsertionOrder {
                order.iter().map(|&i| rest[usize::from(i)]).collect()
            };
            let mut pairs = Vec::new();
            for (m, before) in blocks {
                for end in parts(longest, longest - m) {
                    let end = [of_rest(&end), last.clone()].concat();
                    let rest = without(count, &end);
                    for start in before.iter().flat_map(|&k| parts(*m, k)) {
                        let start: InsertionOrder =
                            start.iter().map(|&i| rest[usize::from(i)]).collect();
                        let block = without(count, &[&start[..], &end].concat());
                        let vector = vector(lowering, line, arrays, &start, &end);
                        for order in orders_of(&block[1..]) {
                            let current = lowering.currents[&[&block[..1], &order].concat()];
                            pairs.push(broadcast(lowering, vector, current));
                        }
                    }
                }
            }
            let orders = orders
                .iter()
                .map(|order| [of_rest(order), last.clone()].concat());
            lowering.push_shuffle(number, pairs, orders);
        }
    }
}

/// All sets of `size` insertions, in ascending order.
fn sets(count: usize, size: usize) -> Vec<InsertionOrder> {
    let ascending = |order: &InsertionOrder| order.is_sorted();
    let mut all = parts(count, size);
    all.retain(ascending);
    all
}

/// The insertions that are not in `set`.
fn without(count: usize, set: &[u8]) -> InsertionOrder {
    (0..count as u8).filter(|r| !set.contains(r)).collect()
}

/// All orders of a set, in lexicographic order.
fn orders_of(set: &[u8]) -> Vec<InsertionOrder> {
    let of = |order: &InsertionOrder| order.iter().map(|&i| set[usize::from(i)]).collect();
    orders(set.len()).iter().map(of).collect()
}

/// Computes a current of an end with insertions, including its propagator.
fn current(
    lowering: &mut Lowering,
    line: &QuarkLine,
    arrays: &JampParts,
    end: usize,
    order: &[u8],
) -> Array {
    let size = order.len();
    let splits = (0..size).map(|i| {
        if end == 0 {
            (i, i, size)
        } else {
            (i + 1, 0, i + 1)
        }
    });
    let splits = splits.map(|(at, from, to)| {
        let rest = if end == 0 { &order[..at] } else { &order[at..] };
        (arrays.ends[end][rest], from, to)
    });
    let splits: Vec<_> = splits.collect();
    spinor(lowering, line, end, order, &splits, true, None)
}

/// Combines currents of an end with blocks; `at` is the side that all blocks have in common. Allocates memory if there
/// is no buffer.
fn joined(
    lowering: &mut Lowering,
    line: &QuarkLine,
    arrays: &JampParts,
    (end, at): (usize, usize),
    others: &[usize],
    order: &[u8],
    buffer: Option<Address>,
) -> Array {
    let size = order.len();
    let splits = others.iter().map(|&other| match end {
        0 => (arrays.ends[0][&order[..other]], other, size),
        _ => (arrays.ends[1][&order[other - at..]], 0, other - at),
    });
    let splits: Vec<_> = splits.collect();
    spinor(lowering, line, end, order, &splits, false, buffer)
}

/// Computes spinors from an end's currents times gluon currents of the remaining insertions, see [`ONCE`].
fn spinor(
    lowering: &mut Lowering,
    line: &QuarkLine,
    end: usize,
    order: &[u8],
    splits: &[(Array, usize, usize)],
    propagate: bool,
    buffer: Option<Address>,
) -> Array {
    let legs = insertions(order) | if end == 0 { 1 } else { lowering.last() };
    let whole = buffer.is_none() && lowering.pools.fours && order.len() <= ONCE;
    let mut pairs = Vec::new();
    for &(array, from, to) in splits {
        let insertion = lowering.gluon_current(order, from, to, Components::Slashed);
        pairs.push(Pair {
            a: lowering.helicities.operand(legs, whole, array),
            b: lowering.helicities.operand(legs, whole, insertion),
            momenta: [0; 2],
        });
    }
    let propagator = propagate.then_some((legs, line.mass, line.width));
    let factor = lowering.factor(&line.constant, propagator);
    let count = lowering.helicities.count(legs, whole);
    let out = buffer.unwrap_or_else(|| lowering.allocate(count));
    let op = Line {
        factor: Once(factor),
        propagator: propagate.then(|| Propagator {
            momentum: Once(lowering.momentum(legs)),
            mass: Once(lowering.constant(line.mass)),
        }),
        // The helicities of both ends vary fastest.
        unrolled: Unrolled(if lowering.pools.fours { 2 } else { 1 }),
        pairs: Pairs(lowering.push_pairs(pairs)),
    };
    let payload = match line.flows_in == (end == 0) {
        true => Payload::LineIn(op),
        false => Payload::LineOut(op),
    };
    let op = ArrayOp {
        out,
        count,
        payload,
    };
    lowering.push(op, whole);
    Array::new(out, legs, whole)
}

/// The vector made from currents of both ends.
fn vector(
    lowering: &mut Lowering,
    line: &QuarkLine,
    arrays: &JampParts,
    start: &[u8],
    end: &[u8],
) -> Array {
    let legs: Legs = insertions(start) | insertions(end) | 1 | lowering.last();
    let (first, second) = (arrays.ends[0][start], arrays.ends[1][end]);
    let (f1, f2) = match line.flows_in {
        true => (first, second),
        false => (second, first),
    };
    let pair = Pair {
        a: lowering.helicities.operand(legs, false, f1),
        b: lowering.helicities.operand(legs, false, f2),
        momenta: [0; 2],
    };
    let factor = lowering.factor(&line.constant, None);
    let count = lowering.helicities.count(legs, false);
    let out = lowering.allocate(count);
    let pairs = lowering.push_pairs(vec![pair]);
    lowering.per_run.push(ArrayOp {
        out,
        count,
        payload: Payload::Current(Current {
            components: Components::Lower,
            factor: Once(factor),
            pairs: Pairs(pairs),
        }),
    });
    Array::new(out, legs, false)
}

fn broadcast(lowering: &mut Lowering, vector: Array, current: Array) -> Pair {
    let all = lowering.all();
    Pair {
        a: lowering.helicities.operand(all, false, vector),
        b: lowering.helicities.operand(all, false, current),
        momenta: [0; 2],
    }
}

/// Computes the JAMP of an order.
fn jamp(lowering: &mut Lowering, cover: &Cover, arrays: &JampParts, order: &[u8]) {
    let all = lowering.all();
    let mut products = Contraction::default();
    for at in 0..=order.len() {
        let (start, end) = order.split_at(at);
        let at_cut = [
            (
                &cover.right[at],
                arrays.ends[0].get(start),
                arrays.joined[1].get(end),
            ),
            (
                &cover.left[at],
                arrays.joined[0].get(start),
                arrays.ends[1].get(end),
            ),
        ];
        for (blocks, first, second) in at_cut {
            if let (false, Some(&first), Some(&second)) = (blocks.is_empty(), first, second) {
                products.pairs.push(Pair {
                    a: lowering.helicities.operand(all, false, first),
                    b: lowering.helicities.operand(all, false, second),
                    momenta: [0; 2],
                });
            }
        }
    }
    let ends = |k: usize, m: usize| (order[..k].to_vec(), order[m..].to_vec());
    for &(k, m) in &cover.all {
        let current = lowering.gluon_current(order, k, m, Components::Plain);
        let vector = arrays.vectors[&ends(k, m)];
        products
            .broadcast
            .push(broadcast(lowering, vector, current));
    }
    lowering.push_jamp(order, products);
}
