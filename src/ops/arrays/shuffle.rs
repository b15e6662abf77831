//! Sums of numbers over shuffles of orders.
//!
//! Where the currents of some rungs are those of the orders with the smallest first (Kleiss and Kuijf, Nucl. Phys. B312
//! (1989) 616), so are their products with what is around them: `N(a, 1, b) = (-1)^|a| sum of N(1, s)` over all shuffles
//! `s` of `a` backwards with `b`. Sums that begin with the same rungs are added up once: with `S(p; a, b)` the sum over the
//! shuffles of `a` and `b` behind `p`, `S(p; xa, yb) = S(px; a, yb) + S(py; xa, b)`. And each serves two orders, as `a` and
//! `b` are shuffled alike.

use crate::ops::Address;
use crate::process::color_ordered::number_of;
use rustc_hash::FxHashMap as HashMap;
use serde::{Deserialize, Serialize};

/// Numbers that are shuffled, and what the results are added to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuffleOp {
    /// Which of [`super::Pools::shuffles`].
    pub shuffle: u32,
    /// Address of the first element's numbers, two vectors each.
    pub numbers: Address,
    /// Where the results go: from and to in [`super::Pools::targets`].
    pub targets: [u32; 2],
}

/// How numbers of the orders with the smallest first become those of all orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shuffle {
    /// Numbers that there are.
    pub given: u32,
    /// The same with sums on the way, which come behind them.
    pub all: u32,
    /// Sums on the way: which number becomes the sum of which two.
    pub sums: Vec<[u32; 3]>,
    /// The results.
    pub results: Vec<Shuffled>,
}

/// A result. It is added to two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shuffled {
    /// The number, or the two whose sum it is.
    pub of: [u32; 2],
    /// Whether it is a sum.
    pub sum: bool,
    /// Whether it is subtracted from the first and from the second.
    pub minus: [bool; 2],
}

type Letters = Vec<u8>;

impl Shuffle {
    /// For so many rungs, two at least; and for each result the orders that it is added to.
    pub fn new(rungs: u8) -> (Shuffle, Vec<[Letters; 2]>) {
        let rest: Letters = (1..rungs).collect();
        let mut shuffle = Shuffle {
            given: (1..u32::from(rungs)).product(),
            ..Shuffle::default()
        };
        shuffle.all = shuffle.given;
        let mut results: Vec<(Shuffled, [Letters; 2])> = Vec::new();
        let first = shuffle.all;
        let parts = shuffle.behind(&[], &rest, first);
        let result = |a: &[u8], b: &[u8], of: [u32; 2], sum: bool| {
            let order = |a: &[u8], b: &[u8]| -> Letters {
                let before = a.iter().rev().chain(&[0]);
                before.chain(b).copied().collect()
            };
            let minus = [a.len() % 2 == 1, b.len() % 2 == 1];
            (Shuffled { of, sum, minus }, [order(a, b), order(b, a)])
        };
        for order in all_orders(&rest) {
            let number = number_of(&order) as u32;
            results.push(result(&[], &order, [number; 2], false));
        }
        for (a, b) in splits(&rest) {
            results.push(result(&a, &b, of(&parts, &[], &a, &b), true));
        }
        let (results, orders) = results.into_iter().unzip();
        shuffle.results = results;
        (shuffle, orders)
    }

    /// Sums of what comes next behind a beginning, by what that is: kept from this place on.
    fn behind(&mut self, start: &[u8], rest: &[u8], mut next: u32) -> Vec<(u8, Sums)> {
        let mut all = Vec::new();
        for &x in rest {
            let start = [start, &[x]].concat();
            let rest: Letters = rest.iter().copied().filter(|&y| y != x).collect();
            let mine = splits(&rest);
            let behind = next + mine.len() as u32;
            self.all = self.all.max(behind);
            let parts = match mine.is_empty() {
                true => Vec::new(),
                false => self.behind(&start, &rest, behind),
            };
            let mut sums = Sums::default();
            for ((a, b), to) in mine.into_iter().zip(next..) {
                let [first, second] = of(&parts, &start, &a, &b);
                self.sums.push([to, first, second]);
                sums.insert((a, b), to);
            }
            next = behind;
            all.push((x, sums));
        }
        all
    }

    /// Whether it stays within its numbers.
    pub fn holds(&self) -> bool {
        let within = |&number: &u32| number < self.all;
        self.given <= self.all
            && self.sums.iter().flatten().all(within)
            && self.sums.iter().all(|sum| sum[0] >= self.given)
            && self.results.iter().flat_map(|r| &r.of).all(within)
    }

    /// Additions of real numbers.
    pub fn additions(&self) -> usize {
        let sums = self.results.iter().filter(|r| r.sum).count();
        2 * (self.sums.len() + sums + 2 * self.results.len())
    }
}

/// Sums of shuffles by what is shuffled, neither of which is empty.
type Sums = HashMap<(Letters, Letters), u32>;

/// The two numbers whose sum is that of the shuffles of `a` and `b` behind a beginning.
fn of(parts: &[(u8, Sums)], start: &[u8], a: &[u8], b: &[u8]) -> [u32; 2] {
    let one = |first: u8, rest: &[u8], other: &[u8]| {
        if rest.is_empty() {
            return number_of(&[start, &[first], other].concat()) as u32;
        }
        let sums = parts.iter().find(|part| part.0 == first);
        sums.map_or(0, |(_, sums)| sums[&sorted(rest.to_vec(), other.to_vec())])
    };
    [one(a[0], &a[1..], b), one(b[0], &b[1..], a)]
}

fn sorted(a: Letters, b: Letters) -> (Letters, Letters) {
    if (a.len(), &a) < (b.len(), &b) {
        (a, b)
    } else {
        (b, a)
    }
}

/// Two orders, neither empty, that have these letters together; each two once.
fn splits(letters: &[u8]) -> Vec<(Letters, Letters)> {
    let mut all: Vec<(Letters, Letters)> = Vec::new();
    for order in all_orders(letters) {
        for at in 1..order.len() {
            let (a, b) = order.split_at(at);
            let split = sorted(a.to_vec(), b.to_vec());
            if split.0 == a {
                all.push(split);
            }
        }
    }
    all.sort_by_key(|(a, _)| a.len());
    all
}

fn all_orders(letters: &[u8]) -> Vec<Letters> {
    let orders = crate::process::color_ordered::orders(letters.len());
    let of = |order: &Letters| order.iter().map(|&i| letters[usize::from(i)]).collect();
    orders.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::color_ordered::{orders, shuffles};

    /// Every order gets the shuffles that it is, with their sign.
    #[test]
    fn results_are_sums_over_shuffles() {
        for rungs in 2..=7u8 {
            let (shuffle, targets) = Shuffle::new(rungs);
            assert!(shuffle.holds());
            let given: usize = (1..usize::from(rungs)).product();
            let mut numbers: Vec<i64> = (0..given as i64).map(|i| i * i * 7919 % 65537).collect();
            let given = numbers.clone();
            numbers.resize(shuffle.all as usize, 0);
            for &[to, a, b] in &shuffle.sums {
                numbers[to as usize] = numbers[a as usize] + numbers[b as usize];
            }
            let mut found = HashMap::default();
            for (result, orders) in shuffle.results.iter().zip(&targets) {
                let [a, b] = result.of.map(|i| numbers[i as usize]);
                let x = if result.sum { a + b } else { a };
                for (order, minus) in orders.iter().zip(result.minus) {
                    let x = if minus { -x } else { x };
                    assert!(found.insert(order.clone(), x).is_none());
                }
            }
            let all = orders(rungs.into());
            assert_eq!(found.len(), all.len());
            for order in all {
                let (terms, minus) = shuffles(&order);
                let sum: i64 = terms.iter().map(|s| given[number_of(&s[1..])]).sum();
                assert_eq!(found[&order], if minus { -sum } else { sum }, "{order:?}");
            }
        }
    }
}
