//! Sums of numbers over shuffles of insertion orders.
//!
//! Currents of gluons in all orders are sums of those in which the smallest insertion comes first (Kleiss and Kuijf,
//! Nucl. Phys. B312 (1989) 616). The same holds for their products with other currents: `N(a, 1, b) = (-1)^|a| sum of
//! N(1, s)` over all shuffles `s` of the reverse of `a` with `b`.
//!
//! Sums that begin with the same insertions are computed once: let `S(p; a, b)` be the sum over the shuffles of `a` and
//! `b` after `p`, then `S(p; xa, yb) = S(px; a, yb) + S(py; xa, b)`. Each sum serves two orders, because `S(p; a, b) =
//! S(p; b, a)`.
//!
//! An order is the sum of several of these: one for each *shuffled range*, the insertions k + 1 to m. They are added up
//! before the result is used.

use mebridge_process::color_ordered::{number_of, orders, parts};
use rustc_hash::FxHashMap as HashMap;
use serde::{Deserialize, Serialize};

/// Numbers that are shuffled, and the places to which results are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShuffleOp {
    /// The numbers to be shuffled: products of the pairs in this range of [`super::Pools::pairs`].
    pub pairs: [u32; 2],
    /// Index of the shuffle in [`super::Pools::shuffles`].
    pub shuffle: u32,
    /// The places of the results, in vectors relative to the first number of an element: a range of
    /// [`super::Pools::targets`].
    pub targets: [u32; 2],
}

/// Number of elements whose products are computed at a time.
pub const SHUFFLE_TILE: u32 = 4;
/// Maximum number of elements that are shuffled at a time.
pub const SHUFFLE_UNROLL: u32 = 2;

/// Rules by which numbers for orders with the smallest insertion first are combined to numbers for all orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shuffle {
    /// Number of input numbers.
    pub given: u32,
    /// Number of inputs and intermediate sums; the sums follow the inputs.
    pub all: u32,
    /// Intermediate sums: index of the sum, and of its two terms.
    pub sums: Vec<[u16; 3]>,
    /// The terms of each result; intermediate sums are indexed separately.
    pub of: Vec<u16>,
    /// Groups of consecutive results with equal numbers of terms.
    pub groups: Vec<SumGroup>,
    /// Steps, each consisting of some sums and then some groups: the end indices of both.
    pub steps: Vec<[u32; 2]>,
}

/// Results that are sums with equal numbers of terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SumGroup {
    /// Number of results.
    pub results: u32,
    /// Numbers of inputs that each result adds and subtracts, and the same for intermediate sums.
    pub counts: [u8; 4],
}

impl SumGroup {
    /// Number of terms of each result.
    pub fn numbers(&self) -> usize {
        self.counts.iter().map(|&count| usize::from(count)).sum()
    }
}

type Letters = Vec<u8>;

/// Shuffled ranges, the insertions k + 1 to m: one m, with ascending k.
pub type ShuffledRanges = (usize, Vec<usize>);

impl Shuffle {
    /// Makes the shuffle for all orders of at most seven insertions, in which the insertions k + 1 to m are shuffled,
    /// for ascending m, each with ascending k; and the order for each result. Inputs are grouped by m, then by the
    /// insertions that follow m ([`parts`]), by k, and by the insertions before k + 1.
    pub fn new(insertions: usize, blocks: &[ShuffledRanges]) -> (Shuffle, Vec<Letters>) {
        let mut shuffle = Shuffle::default();
        let mut sources = Vec::new();
        for (m, before) in blocks {
            let first = sources.len();
            let mut of_end = 0;
            for &k in before {
                sources.push(ShuffleSource::new(insertions, (k, *m), of_end));
                of_end += sources.last().map_or(0, ShuffleSource::given);
            }
            for source in &mut sources[first..] {
                source.stride = of_end;
                source.first += shuffle.given;
            }
            let ends: usize = (m + 1..=insertions).product();
            shuffle.given += ends as u32 * of_end;
        }
        shuffle.all = shuffle.given;
        // Blocks with the same first insertion are shuffled one after the other. If there is only one range end,
        // nothing comes in between, and the memory of their sums is reused.
        for source in &mut sources {
            source.kept = match blocks.len() {
                1 => (source.starts.len() as u32).div_ceil(insertions as u32),
                _ => source.starts.len() as u32,
            };
            source.scratch = shuffle.all;
            shuffle.all += source.kept * source.sum_count();
        }
        // The insertions after the shortest range, and then the first insertion, vary slowest.
        let shortest = blocks.first().map_or(insertions, |block| block.0);
        let place = |order: &Letters| (order[shortest..].iter().rev().copied().collect(), order[0]);
        let mut all: Vec<((Letters, u8), Letters)> = orders(insertions)
            .into_iter()
            .map(|order| (place(&order), order))
            .collect();
        all.sort();
        let mut held: HashMap<u32, u32> = HashMap::default();
        let mut orders_of_results = Vec::new();
        for orders in all.chunk_by(|a, b| a.0 == b.0) {
            let mut results = Vec::new();
            for (_, order) in orders {
                let mut kinds: [Vec<u16>; 4] = Default::default();
                for source in &sources {
                    let (number, scratch) = source.places(order);
                    let place = |i: u32| match i.checked_sub(source.block.given) {
                        None => number + i,
                        Some(i) => scratch + i,
                    };
                    if source.sum_count() > 0 && held.insert(scratch, number) != Some(number) {
                        let sums = source.block.sums.iter();
                        let sums = sums.map(|sum| sum.map(|i| place(i) as u16));
                        shuffle.sums.extend(sums);
                    }
                    let (of, minus) = source.block.term(&ranks(source.shuffled(order)));
                    for i in of.into_iter().flatten().map(place) {
                        match i.checked_sub(shuffle.given) {
                            None => kinds[usize::from(minus)].push(i as u16),
                            Some(i) => kinds[2 + usize::from(minus)].push(i as u16),
                        }
                    }
                }
                let counts = kinds.each_ref().map(|kind| kind.len() as u8);
                results.push((counts, kinds.concat(), order));
            }
            results.sort_by_key(|(counts, _, _)| *counts);
            let first = shuffle.groups.len();
            for (counts, of, order) in results {
                match shuffle.groups[first..].last_mut() {
                    Some(group) if group.counts == counts => group.results += 1,
                    _ => shuffle.groups.push(SumGroup { results: 1, counts }),
                }
                shuffle.of.extend(of);
                orders_of_results.push(order.clone());
            }
            let ends = [shuffle.sums.len(), shuffle.groups.len()];
            shuffle.steps.push(ends.map(|end| end as u32));
        }
        (shuffle, orders_of_results)
    }

    /// Number of inputs for such blocks, including all insertions before and after them.
    pub fn numbers(insertions: usize, blocks: &[ShuffledRanges]) -> usize {
        let of = |(m, before): &ShuffledRanges| {
            let ends: usize = (m + 1..=insertions).product();
            let of = |&k: &usize| -> usize {
                let starts: usize = (m - k + 1..=*m).product();
                starts * (1..m - k).product::<usize>()
            };
            ends * before.iter().map(of).sum::<usize>()
        };
        blocks.iter().map(of).sum()
    }

    /// Number of results.
    pub fn results(&self) -> usize {
        self.groups.iter().map(|group| group.results as usize).sum()
    }

    /// Whether all indices are valid: numbers, and the ends of steps.
    pub fn holds(&self) -> bool {
        let within = |&number: &u16| u32::from(number) < self.all;
        let sum_count = self.all.saturating_sub(self.given);
        let limits = [self.given, self.given, sum_count, sum_count];
        let mut left = &self.of[..];
        let of_results = self.groups.iter().all(|group| {
            let size = group.numbers();
            let Some(all) = size.checked_mul(group.results as usize) else {
                return false;
            };
            let Some((terms, behind)) = left.split_at_checked(all) else {
                return false;
            };
            left = behind;
            size > 0
                && terms.chunks_exact(size).all(|numbers| {
                    let kinds = group.counts.iter().zip(limits);
                    let limits = kinds.flat_map(|(&count, limit)| (0..count).map(move |_| limit));
                    numbers
                        .iter()
                        .zip(limits)
                        .all(|(&n, limit)| u32::from(n) < limit)
                })
        });
        let ends = self.steps.last().copied().unwrap_or_default();
        self.given <= self.all
            && self.sums.iter().flatten().all(within)
            && self.sums.iter().all(|sum| u32::from(sum[0]) >= self.given)
            && of_results
            && left.is_empty()
            && self.steps.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1])
            && ends.map(|end| end as usize) == [self.sums.len(), self.groups.len()]
    }

    /// Number of real additions.
    pub fn additions(&self) -> usize {
        2 * (self.sums.len() + self.of.len())
    }
}

/// The inputs of all blocks of the insertions k + 1 to m.
struct ShuffleSource {
    ends: [usize; 2],
    block: GluonShuffle,
    /// The insertions before a range, by ranks, and those after it, with their indices.
    starts: HashMap<Letters, u32>,
    behind: HashMap<Letters, u32>,
    /// Index of the first input, distance between inputs for successive ends, and index of the first sum.
    first: u32,
    stride: u32,
    scratch: u32,
    /// Number of starts whose sums are kept at the same time.
    kept: u32,
}

impl ShuffleSource {
    fn new(insertions: usize, (k, m): (usize, usize), first: u32) -> ShuffleSource {
        let numbered = |parts: Vec<Letters>| parts.into_iter().zip(0..).collect();
        ShuffleSource {
            ends: [k, m],
            block: GluonShuffle::new((m - k) as u8),
            starts: numbered(parts(m, k)),
            behind: numbered(parts(insertions, insertions - m)),
            first,
            stride: 0,
            scratch: 0,
            kept: 1,
        }
    }

    /// Number of inputs for one end.
    fn given(&self) -> u32 {
        self.starts.len() as u32 * self.block.given
    }

    /// Number of intermediate sums of one block.
    fn sum_count(&self) -> u32 {
        self.block.all - self.block.given
    }

    /// The insertions of an order that are shuffled.
    fn shuffled<'a>(&self, order: &'a [u8]) -> &'a [u8] {
        &order[self.ends[0]..self.ends[1]]
    }

    /// Indices of the first input and the first sum of the block of an order.
    fn places(&self, order: &[u8]) -> (u32, u32) {
        let [k, m] = self.ends;
        let end = self.behind.get(&order[m..]).copied().unwrap_or(0);
        let start = &ranks(&order[..m])[..k];
        let start = self.starts.get(start).copied().unwrap_or(0);
        (
            self.first + end * self.stride + start * self.block.given,
            self.scratch + start % self.kept * self.sum_count(),
        )
    }
}

/// The inputs and sums of one gluon current, by ranks.
struct GluonShuffle {
    given: u32,
    all: u32,
    sums: Vec<[u32; 3]>,
    parts: Vec<(u8, ShuffleSums)>,
}

impl GluonShuffle {
    fn new(insertions: u8) -> GluonShuffle {
        let rest: Letters = (1..insertions).collect();
        let given = (1..u32::from(insertions)).product();
        let mut block = GluonShuffle {
            given,
            all: given,
            sums: Vec::new(),
            parts: Vec::new(),
        };
        block.parts = block.behind(&[], &rest, given);
        block
    }

    /// Expresses an order as an input or the sum of two numbers; also returns whether the sign changes.
    fn term(&self, order: &[u8]) -> ([Option<u32>; 2], bool) {
        let least = order.iter().position(|&x| x == 0).unwrap_or(0);
        let a: Letters = order[..least].iter().rev().copied().collect();
        let b = order.get(least + 1..).unwrap_or(&[]);
        let of = match (&a[..], b) {
            (one, []) | ([], one) => [Some(number_of(one) as u32), None],
            (a, b) => shuffle_terms(&self.parts, &[], a, b).map(Some),
        };
        (of, least % 2 == 1)
    }

    /// Computes the sums after each possible next insertion, stored from index `next` on.
    fn behind(&mut self, start: &[u8], rest: &[u8], mut next: u32) -> Vec<(u8, ShuffleSums)> {
        let mut all = Vec::new();
        for &x in rest {
            let start = [start, &[x]].concat();
            let rest: Letters = rest.iter().copied().filter(|&y| y != x).collect();
            let pairs = splits(&rest);
            let behind = next + pairs.len() as u32;
            self.all = self.all.max(behind);
            let parts = match pairs.is_empty() {
                true => Vec::new(),
                false => self.behind(&start, &rest, behind),
            };
            let mut sums = ShuffleSums::default();
            for ((a, b), to) in pairs.into_iter().zip(next..) {
                let [first, second] = shuffle_terms(&parts, &start, &a, &b);
                self.sums.push([to, first, second]);
                sums.insert((a, b), to);
            }
            next = behind;
            all.push((x, sums));
        }
        all
    }
}

/// Indices of sums of shuffles, by the two orders that are shuffled, neither of which is empty.
type ShuffleSums = HashMap<(Letters, Letters), u32>;

/// The two numbers whose sum is that of the shuffles of `a` and `b` after `start`.
fn shuffle_terms(parts: &[(u8, ShuffleSums)], start: &[u8], a: &[u8], b: &[u8]) -> [u32; 2] {
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

/// All pairs of non-empty orders that together contain these letters, each pair once.
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
    let of = |order: &Letters| order.iter().map(|&i| letters[usize::from(i)]).collect();
    orders(letters.len()).iter().map(of).collect()
}

/// For each letter the number of smaller letters.
fn ranks(letters: &[u8]) -> Letters {
    let rank = |x: &u8| letters.iter().filter(|y| *y < x).count() as u8;
    letters.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_process::color_ordered::shuffles;

    /// Every order is the sum of the correct shuffles, with their sign, for all starts and ends.
    #[test]
    fn results_are_sums_over_shuffles() {
        let all: [fn(usize) -> Vec<ShuffledRanges>; 6] = [
            |n| vec![(n, vec![0])],
            |n| vec![(n, vec![1])],
            |n| vec![(n, vec![0, 1])],
            |n| vec![(n, vec![0, 2])],
            |n| vec![(n - 1, vec![1]), (n, vec![0, 1])],
            |n| vec![(n - 2, vec![0, 1]), (n - 1, vec![0, 1, 2]), (n, vec![2])],
        ];
        let cases = (2..=7)
            .flat_map(|insertions| all.map(|blocks| (insertions, blocks(insertions.max(3)))));
        let fits = |blocks: &[ShuffledRanges], insertions| {
            let mut all = blocks.iter();
            all.all(|(m, before)| *m <= insertions && before.iter().all(|k| k < m))
        };
        for (insertions, blocks) in cases.filter(|(insertions, blocks)| fits(blocks, *insertions)) {
            let (shuffle, targets) = Shuffle::new(insertions, &blocks);
            assert!(shuffle.holds());
            assert_eq!(
                shuffle.given as usize,
                Shuffle::numbers(insertions, &blocks)
            );
            let mut numbers: Vec<i64> = (0..i64::from(shuffle.given))
                .map(|i| i * i * 7919 % 65537)
                .collect();
            let mut given = numbers.iter().copied();
            // The inputs by the insertions before, the shuffled order, and the insertions after.
            let mut known: HashMap<[Letters; 3], i64> = HashMap::default();
            for (m, before) in &blocks {
                for end in parts(insertions, insertions - m) {
                    let others: Letters =
                        (0..insertions as u8).filter(|r| !end.contains(r)).collect();
                    for start in before.iter().flat_map(|&k| parts(*m, k)) {
                        let start: Letters = start.iter().map(|&i| others[i as usize]).collect();
                        let mut rest = others.clone();
                        rest.retain(|r| !start.contains(r));
                        for order in all_orders(&rest[1..]) {
                            let order = [&rest[..1], &order].concat();
                            let place = [start.clone(), order, end.clone()];
                            known.insert(place, given.next().unwrap());
                        }
                    }
                }
            }
            assert_eq!(given.next(), None);
            numbers.resize(shuffle.all as usize, 0);
            let mut found = HashMap::default();
            let (mut sums, mut groups, mut of, mut targets) =
                (0, 0, shuffle.of.iter(), targets.into_iter());
            for [end_of_sums, end] in shuffle
                .steps
                .iter()
                .map(|step| step.map(|end| end as usize))
            {
                for &[to, a, b] in &shuffle.sums[sums..end_of_sums] {
                    numbers[to as usize] = numbers[a as usize] + numbers[b as usize];
                }
                for group in &shuffle.groups[groups..end] {
                    for _ in 0..group.results {
                        let kinds = [(0, 1), (0, -1), (shuffle.given, 1), (shuffle.given, -1)];
                        let mut sum = 0;
                        for (count, (first, sign)) in group.counts.iter().zip(kinds) {
                            let terms = of.by_ref().take(usize::from(*count));
                            let numbers = terms.map(|&i| numbers[usize::from(i) + first as usize]);
                            sum += sign * numbers.sum::<i64>();
                        }
                        assert!(found.insert(targets.next().unwrap(), sum).is_none());
                    }
                }
                (sums, groups) = (end_of_sums, end);
            }
            let all = orders(insertions);
            assert_eq!((found.len(), shuffle.results()), (all.len(), all.len()));
            for order in all {
                let of = |(m, k): (usize, usize)| {
                    let (start, end) = (order[..k].to_vec(), order[m..].to_vec());
                    let (terms, minus) = shuffles(&order[k..m]);
                    let terms = terms
                        .into_iter()
                        .map(|s| known[&[start.clone(), s, end.clone()]]);
                    let sum: i64 = terms.sum();
                    if minus { -sum } else { sum }
                };
                let all = blocks.iter();
                let all = all.flat_map(|(m, before)| before.iter().map(|&k| (*m, k)));
                assert_eq!(found[&order], all.map(of).sum::<i64>(), "{order:?}");
            }
        }
    }
}
