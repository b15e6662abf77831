//! A quark line with rungs, see [`Cover`].

use super::arrays::{Array, Legs};
use super::cover::Cover;
use super::lower::{Line, Lowering, SHORT, parts, rungs};
use crate::ops::arrays::{ArrayKind, ArrayOp, ELEMENT, Form, Pair};
use crate::process::color_ordered::{number_of, orders, shuffles};
use rustc_hash::FxHashMap as HashMap;

type Order = Vec<u8>;

/// What the JAMPs are made of.
#[derive(Default)]
struct Parts {
    /// Currents of the first end with the rungs behind it, and of the second with those before it.
    ends: [HashMap<Order, Array>; 2],
    /// Sums of blocks joined with them, without propagator, by the number of their blocks' other side.
    joined: [HashMap<Order, Array>; 2],
    /// Vectors of currents of both ends.
    vectors: HashMap<(Order, Order), Array>,
    /// The number of the first of their products with the orders of a block.
    products: HashMap<(Order, Order), u32>,
    /// Number of all of these.
    numbers: u32,
}

/// Adds the operations of all JAMPs.
pub fn lower(lowering: &mut Lowering, line: &Line) {
    let count = lowering.count;
    let cover = match lowering.reuses_memory() {
        true => Cover::new(count, SHORT),
        false => Cover::without_sums(count),
    };
    let mut made = Parts::default();
    for (end, longest) in [(0, cover.cut), (1, count - cover.cut - 1)] {
        let place = if end == 0 { 0 } else { count + 1 };
        made.ends[end].insert(Order::new(), lowering.external(place));
        for size in 1..=longest {
            for order in parts(count, size) {
                let array = current(lowering, line, &made, end, &order);
                made.ends[end].insert(order, array);
            }
        }
    }
    let of_right = cover.right.iter().enumerate().map(|(k, ms)| (1, k, ms));
    let of_left = cover.left.iter().enumerate().map(|(m, ks)| (0, m, ks));
    for (end, at, others) in of_right.chain(of_left) {
        if others.is_empty() {
            continue;
        }
        let size = if end == 0 { at } else { count - at };
        for order in parts(count, size) {
            let array = joined(lowering, line, &made, (end, at), others, &order);
            made.joined[end].insert(order, array);
        }
    }
    let of_block = |&(k, m): &(usize, usize)| {
        let outside: usize = (m - k + 1..=count).product();
        let orders: usize = (1..m - k).product();
        (outside * orders) as u32
    };
    lowering.allocate_numbers(cover.sums.iter().map(of_block).sum());
    for &(k, m) in cover.all.iter().chain(&cover.sums) {
        for whole in parts(count, k + count - m) {
            let (start, end) = (whole[..k].to_vec(), whole[k..].to_vec());
            let vector = vector(lowering, line, &made, &start, &end);
            if cover.sums.contains(&(k, m)) {
                made.products
                    .insert((start.clone(), end.clone()), made.numbers);
                made.numbers += products(lowering, vector, &whole, made.numbers);
            }
            made.vectors.insert((start, end), vector);
        }
    }
    for order in orders(count) {
        jamp(lowering, &cover, &made, &order);
    }
}

/// A current of an end and rungs, with its propagator.
fn current(lowering: &mut Lowering, line: &Line, made: &Parts, end: usize, order: &[u8]) -> Array {
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
        (made.ends[end][rest], from, to)
    });
    let splits: Vec<_> = splits.collect();
    spinor(lowering, line, end, order, &splits, true)
}

/// Currents of an end joined with blocks; `at` is that side of the blocks that all have.
fn joined(
    lowering: &mut Lowering,
    line: &Line,
    made: &Parts,
    (end, at): (usize, usize),
    others: &[usize],
    order: &[u8],
) -> Array {
    let size = order.len();
    let splits = others.iter().map(|&other| match end {
        0 => (made.ends[0][&order[..other]], other, size),
        _ => (made.ends[1][&order[other - at..]], 0, other - at),
    });
    let splits: Vec<_> = splits.collect();
    spinor(lowering, line, end, order, &splits, false)
}

/// Spinors of an end's currents and those of the rungs from one place to another.
fn spinor(
    lowering: &mut Lowering,
    line: &Line,
    end: usize,
    order: &[u8],
    splits: &[(Array, usize, usize)],
    propagate: bool,
) -> Array {
    let legs = rungs(order) | if end == 0 { 1 } else { lowering.last() };
    let mut pairs = Vec::new();
    for &(array, from, to) in splits {
        let rung = lowering.rung(order, from, to, Form::Slashed);
        pairs.push(Pair {
            a: lowering.helicities.place(legs, false, array),
            b: lowering.helicities.place(legs, false, rung),
            momenta: [0; 2],
        });
    }
    let propagator = propagate.then_some((legs, line.mass, line.width));
    let factor = lowering.factor(&line.constant, propagator);
    let count = lowering.helicities.count(legs, false);
    let out = lowering.allocate(count);
    let op = ArrayOp {
        kind: match line.flows_in == (end == 0) {
            true => ArrayKind::LineIn,
            false => ArrayKind::LineOut,
        },
        out,
        count,
        stride: ELEMENT,
        pairs: lowering.push_pairs(pairs),
        factors: [factor; 2],
        momentum: lowering.momentum(legs),
        mass: lowering.constant(line.mass),
        propagate,
        // Of the first end the helicity varies fastest.
        twos: lowering.pools.fours && end == 0,
        ..ArrayOp::default()
    };
    lowering.each.push(op);
    Array {
        address: out,
        legs,
        whole: false,
    }
}

/// The vector of the currents of both ends.
fn vector(lowering: &mut Lowering, line: &Line, made: &Parts, start: &[u8], end: &[u8]) -> Array {
    if let Some(&known) = made.vectors.get(&(start.to_vec(), end.to_vec())) {
        return known;
    }
    let legs: Legs = rungs(start) | rungs(end) | 1 | lowering.last();
    let (first, second) = (made.ends[0][start], made.ends[1][end]);
    let (f1, f2) = match line.flows_in {
        true => (first, second),
        false => (second, first),
    };
    let pair = Pair {
        a: lowering.helicities.place(legs, false, f1),
        b: lowering.helicities.place(legs, false, f2),
        momenta: [0; 2],
    };
    let factor = lowering.factor(&line.constant, None);
    let count = lowering.helicities.count(legs, false);
    let out = lowering.allocate(count);
    let pairs = lowering.push_pairs(vec![pair]);
    lowering.each.push(ArrayOp {
        kind: ArrayKind::Current,
        out,
        count,
        stride: ELEMENT,
        pairs,
        factors: [factor; 2],
        form: Form::Lower,
        ..ArrayOp::default()
    });
    Array {
        address: out,
        legs,
        whole: false,
    }
}

/// The products of a vector with the currents of all rungs but these, in all orders with the smallest first, as numbers
/// from one on; gives how many they are.
fn products(lowering: &mut Lowering, vector: Array, without: &[u8], first: u32) -> u32 {
    let rest: Order = (0..lowering.count as u8)
        .filter(|r| !without.contains(r))
        .collect();
    let all = lowering.all();
    let count = lowering.helicities.count(all, false);
    let orders = orders(rest.len() - 1);
    let size = orders.len() as u32;
    for (number, order) in (first..).zip(orders) {
        let mut whole = vec![rest[0]];
        whole.extend(order.iter().map(|&i| rest[usize::from(i) + 1]));
        let current = lowering.currents[&whole];
        let pair = wide(lowering, vector, current);
        let wide = lowering.push_pairs(vec![pair]);
        lowering.each.push(ArrayOp {
            kind: ArrayKind::Contract,
            out: lowering.numbers + 2 * number,
            count,
            stride: lowering.numbers_stride,
            wide,
            ..ArrayOp::default()
        });
    }
    size
}

fn wide(lowering: &mut Lowering, vector: Array, current: Array) -> Pair {
    let all = lowering.all();
    Pair {
        a: lowering.helicities.place(all, false, vector),
        b: lowering.helicities.place(all, false, current),
        momenta: [0; 2],
    }
}

/// The JAMP of an order.
fn jamp(lowering: &mut Lowering, cover: &Cover, made: &Parts, order: &[u8]) {
    let all = lowering.all();
    let (mut pairs, mut wides, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..=order.len() {
        let (start, end) = order.split_at(at);
        let products = [
            (
                &cover.right[at],
                made.ends[0].get(start),
                made.joined[1].get(end),
            ),
            (
                &cover.left[at],
                made.joined[0].get(start),
                made.ends[1].get(end),
            ),
        ];
        for (blocks, first, second) in products {
            if let (false, Some(&first), Some(&second)) = (blocks.is_empty(), first, second) {
                pairs.push(Pair {
                    a: lowering.helicities.place(all, false, first),
                    b: lowering.helicities.place(all, false, second),
                    momenta: [0; 2],
                });
            }
        }
    }
    let ends = |k: usize, m: usize| (order[..k].to_vec(), order[m..].to_vec());
    for &(k, m) in &cover.all {
        let current = lowering.rung(order, k, m, Form::Plain);
        wides.push(wide(lowering, made.vectors[&ends(k, m)], current));
    }
    for &(k, m) in &cover.sums {
        let first = made.products[&ends(k, m)];
        let (all, minus) = shuffles(&order[k..m]);
        let number = |order: &Order| (first + number_of(&order[1..]) as u32, minus);
        numbers.extend(all.iter().map(number));
    }
    lowering.push_jamp(order, pairs, wides, &numbers);
}
