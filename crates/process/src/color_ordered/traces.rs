//! Gluons only: conversion between the colour flows, which are traces, and the basis of Del Duca, Dixon and Maltoni
//! (DDM), in which a [colour-ordered form](super) has its JAMPs.
//!
//! A colour factor of that basis is `f f .. f` from a first gluon over the insertions to a last one (hep-ph/9910563). A
//! trace begins with the first gluon; the others are labelled by the numbers of the insertions, from 0, and the last
//! gluon by their count.

use super::{FlowTerm, MAX_INSERTIONS, number_of, orders, shuffles};

/// Computes the first row of the colour matrix in the DDM basis of `count` insertions from that in the basis of traces.
pub fn row(traces: &[f64], count: usize) -> Vec<f64> {
    let first = ddm(&(0..count as u8).collect::<Vec<_>>());
    let row = orders(count).into_iter().map(|order| {
        let second = ddm(&order);
        let mut place = vec![0; count + 1];
        let mut sum = 0.0;
        for (u, plus) in &first {
            for (at, &label) in (0..).zip(u) {
                place[usize::from(label)] = at;
            }
            for (v, also) in &second {
                let mut seen = [0; MAX_INSERTIONS + 1];
                for (to, &label) in seen.iter_mut().zip(v) {
                    *to = place[usize::from(label)];
                }
                let x = traces[number_of(&seen[..=count])];
                sum += if plus == also { x } else { -x };
            }
        }
        sum
    });
    row.collect()
}

/// Returns, for each trace in lexicographic order, its terms in the DDM basis of `count` insertions.
pub fn flows(count: usize) -> Vec<Vec<FlowTerm>> {
    let last = count as u8;
    let terms = |order: Vec<u8>| -> Vec<FlowTerm> {
        // The trace (0, a, last, b) equals (last, b, 0, a), so the amplitude is the current of (b, 0, a) with the last
        // leg as its root.
        let at = order.iter().position(|&x| x == last).unwrap_or(0);
        let (ahead, behind) = (&order[..at], &order[at + 1..]);
        let next = |x: &u8| x + 1;
        let whole = behind.iter().map(next).chain([0]);
        let whole: Vec<u8> = whole.chain(ahead.iter().map(next)).collect();
        let (all, minus) = shuffles(&whole);
        let term = |s: &Vec<u8>| {
            let rest: Vec<u8> = s[1..].iter().map(|x| x - 1).collect();
            FlowTerm {
                jamp: number_of(&rest) as u32,
                minus,
            }
        };
        all.iter().map(term).collect()
    };
    orders(count + 1).into_iter().map(terms).collect()
}

/// `Tr([..[[T^0, T^a], T^b].., T^z] T^n)` as traces that begin with leg 0, up to a factor `f f .. f` from leg 0 to the
/// last: for each trace the labels after leg 0, and whether the sign is plus.
fn ddm(insertions: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let count = insertions.len();
    let terms = (0..1u32 << count).map(|left| {
        let is_left = |i: &usize| left >> i & 1 == 1;
        let right = (0..count).filter(|i| !is_left(i)).map(|i| insertions[i]);
        let back = (0..count).rev().filter(is_left).map(|i| insertions[i]);
        let labels = right.chain([count as u8]).chain(back).collect();
        (labels, left.count_ones() % 2 == 0)
    });
    terms.collect()
}
