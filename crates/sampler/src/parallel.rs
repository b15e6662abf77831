//! Parallel loops.

use mebridge_support::memory::ask_for_large_pages;
use mebridge_support::sorted::SortedMap;
use mebridge_support::sync::lock;
use mebridge_support::threads;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Minimum number of items per thread.
const LEAST: usize = 256;

/// Performs numbered pieces of work, with one thread per worker including the calling one. Results are passed to `take`
/// in the order of the numbers, in the calling thread, while the others continue.
///
/// # Errors
/// A piece failed; of several failures, the first one is returned.
///
/// # Panics
/// If there is no worker, or a thread panics. If a thread cannot be started, the others do its work.
pub fn each<W: Send, T: Send, E: Send>(
    workers: &mut [W],
    count: usize,
    work: impl Fn(&mut W, usize) -> Result<T, E> + Sync,
    mut take: impl FnMut(T),
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<T, E>)>> = Mutex::new(Vec::new());
    let all_done = || std::mem::take(&mut *lock(&done));
    // Performs the next piece; returns whether there was one.
    let one = |worker: &mut W| {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return false;
        }
        let found = work(worker, number);
        if found.is_err() {
            // Pieces with smaller numbers finish; no later one begins.
            next.fetch_max(count, Ordering::Relaxed);
        }
        lock(&done).push((number, found));
        true
    };
    let (mut waiting, mut taken) = (SortedMap::new(), 0);
    let mut take_next = |some: Vec<(usize, Result<T, E>)>| {
        waiting.extend(some);
        while let Some(found) = waiting.remove(&taken) {
            take(found?);
            taken += 1;
        }
        Ok(())
    };
    let (first, others) = workers.split_first_mut().expect("one worker at least");
    // No more threads than pieces.
    let others = others.iter_mut().take(count.saturating_sub(1));
    let others: Vec<_> = others.map(Mutex::new).collect();
    let work = |number: usize| {
        let worker = &mut lock(&others[number - 1]);
        while one(worker) {}
    };
    let taking = threads::beside(others.len(), &work, || {
        let mut taking = Ok(());
        while one(first) {
            taking = taking.and_then(|()| take_next(all_done()));
        }
        taking
    });
    taking.and_then(|()| take_next(all_done()))
}

/// Works on all parts. If a thread cannot be started, the others do its work.
///
/// # Panics
/// If `work` panics.
fn share<P: Send>(threads: usize, parts: Vec<P>, work: impl Fn(P) + Sync) {
    let others = threads.min(parts.len()).saturating_sub(1);
    let parts = Mutex::new(parts.into_iter());
    let next = || lock(&parts).next();
    threads::run(others, &|_| {
        while let Some(part) = next() {
            work(part);
        }
    });
}

/// Changes each item in parallel; for items that take long.
///
/// # Panics
/// If `change` panics.
pub fn for_each<T: Send>(threads: usize, items: &mut [T], change: impl Fn(&mut T) + Sync) {
    share(threads, items.iter_mut().collect(), change);
}

/// Collects the results of `work` for the numbers from 0 on, in order; for work that takes long and unequal times.
///
/// # Errors
/// `work` failed; of several failures, the first one is returned.
///
/// # Panics
/// If `work` panics.
pub fn collect<T: Send, E: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let mut found = Vec::with_capacity(count);
    let work = |(): &mut (), number: usize| work(number);
    each(&mut vec![(); threads.max(1)], count, work, |one| {
        found.push(one)
    })?;
    Ok(found)
}

/// Collects the results of `make` for the numbers from 0 on, in order.
///
/// # Panics
/// If `make` panics. Results made until then are leaked.
pub fn map<R: Send>(threads: usize, count: usize, make: impl Fn(usize) -> R + Sync) -> Vec<R> {
    map_large(threads.min(count / LEAST), count, make)
}

/// As [`map`], for work that takes long.
///
/// # Panics
/// As [`map`].
pub fn map_large<R: Send>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let each = count.div_ceil(threads.max(1)).max(1);
    let mut found = vectors(threads, &[count], each, |_, number| make(number));
    found.swap_remove(0)
}

/// Makes vectors of these lengths; `make` gets the index of a vector and the place in it.
///
/// # Panics
/// As [`map`].
pub fn map_each<R: Send>(
    threads: usize,
    lengths: &[usize],
    make: impl Fn(usize, usize) -> R + Sync,
) -> Vec<Vec<R>> {
    let all: usize = lengths.iter().sum();
    vectors(
        threads,
        lengths,
        all.div_ceil(threads.max(1)).max(LEAST),
        make,
    )
}

/// As [`map_each`], where each thread makes `at_once` items of a vector at a time.
fn vectors<R: Send>(
    threads: usize,
    lengths: &[usize],
    at_once: usize,
    make: impl Fn(usize, usize) -> R + Sync,
) -> Vec<Vec<R>> {
    let mut found: Vec<Vec<R>> = Vec::with_capacity(lengths.len());
    found.extend(lengths.iter().map(|&length| Vec::with_capacity(length)));
    let mut parts = Vec::new();
    for (number, (vector, &length)) in found.iter_mut().zip(lengths).enumerate() {
        let buffer = &mut vector.spare_capacity_mut()[..length];
        ask_for_large_pages(buffer);
        let of_vector = buffer.chunks_mut(at_once).enumerate();
        parts.extend(of_vector.map(|(part, buffer)| (number, at_once * part, buffer)));
    }
    share(threads, parts, |(number, first, buffer)| {
        for (place, to) in buffer.iter_mut().enumerate() {
            to.write(make(number, first + place));
        }
    });
    for (vector, &length) in found.iter_mut().zip(lengths) {
        // SAFETY: the threads have written all `length` items; a panic of a thread would have been propagated.
        unsafe { vector.set_len(length) };
    }
    found
}

/// Fills a slice of items of `of_one` numbers each: `fill` gets the index of the first item and the part to write.
///
/// # Panics
/// If `fill` panics.
pub fn fill<T: Send>(
    threads: usize,
    items: &mut [T],
    of_one: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) {
    let of_one = of_one.max(1);
    let count = items.len() / of_one;
    let each = count.div_ceil(threads.max(1)).max(LEAST);
    let parts = items.chunks_mut(each * of_one).enumerate();
    share(threads, parts.collect(), |(number, part)| {
        fill(each * number, part)
    });
}

/// Returns the indices of the keys, which are in [0, 1), sorted by key and, for equal keys, by index.
pub fn order(threads: usize, keys: &[f64]) -> Vec<u32> {
    let buckets = match keys.len() / LEAST {
        0 | 1 => 1,
        most => threads.clamp(1, most),
    };
    let each = keys.len().div_ceil(buckets).max(1);
    let parts = map_large(threads, keys.len().div_ceil(each), |part| {
        let first = part * each;
        let own = &keys[first..keys.len().min(first + each)];
        let mut in_buckets = vec![Vec::with_capacity(own.len() / buckets * 9 / 8); buckets];
        for (number, &key) in (first as u32..).zip(own) {
            let bucket = ((key * buckets as f64) as usize).min(buckets - 1);
            in_buckets[bucket].push((key, number));
        }
        in_buckets
    });
    let sorted = map_large(threads, buckets, |bucket| {
        let own = parts.iter().flat_map(|in_buckets| &in_buckets[bucket]);
        let mut own: Vec<(f64, u32)> = own.copied().collect();
        own.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        own.into_iter()
            .map(|(_, number)| number)
            .collect::<Vec<u32>>()
    });
    sorted.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Philox;

    #[test]
    fn order_and_parts_do_not_depend_on_threads() {
        let philox = Philox {
            seed: 1,
            round: 0,
            channel: 0,
        };
        // Some keys are equal.
        let key = |number: usize| (philox.number(number as u64, 0) * 1000.0).floor() / 1000.0;
        let keys: Vec<f64> = (0..5000).map(key).collect();
        let mut expected: Vec<u32> = (0..5000).collect();
        expected.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
        for threads in [0, 1, 3, 16] {
            assert_eq!(map(threads, 5000, key), keys);
            assert_eq!(order(threads, &keys), expected);
            let mut twice = vec![0.0; 10_000];
            fill(threads, &mut twice, 2, |first, part| {
                for (place, pair) in part.chunks_exact_mut(2).enumerate() {
                    pair.fill(key(first + place));
                }
            });
            assert!(
                twice
                    .chunks(2)
                    .zip(&keys)
                    .all(|(pair, key)| pair == [*key; 2])
            );
        }
        assert!(map(4, 0, key).is_empty() && order(4, &[]).is_empty());
    }

    #[test]
    fn pieces_come_in_their_order() {
        for threads in [1, 2, 5] {
            let mut workers = vec![0_usize; threads];
            let mut found = Vec::new();
            let work = |done: &mut usize, number: usize| {
                *done += 1;
                // Earlier pieces take longer.
                let long = (0..(100 - number) * 1000).map(|i| i as f64).sum::<f64>();
                Ok::<_, ()>((number, long))
            };
            each(&mut workers, 100, work, |(number, _)| found.push(number))
                .expect("no piece fails");
            assert!(found.into_iter().eq(0..100));
            assert_eq!(workers.iter().sum::<usize>(), 100);
        }
    }

    #[test]
    fn the_first_failure_counts() {
        for threads in [1, 2, 5] {
            let mut found = Vec::new();
            let work = |(): &mut (), number: usize| match number {
                37 | 38 | 41 => Err(number),
                _ => Ok(number),
            };
            let failed = each(&mut vec![(); threads], 100, work, |number| {
                found.push(number)
            });
            assert_eq!(failed, Err(37));
            assert!(found.into_iter().eq(0..37));
        }
    }
}
