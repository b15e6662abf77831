//! Work on each of many things by several threads.

use std::mem::MaybeUninit;

/// Things of which a thread has at least so many.
const LEAST: usize = 256;

/// What `make` gives for the numbers from 0 on, in their order.
///
/// # Panics
/// If `make` does. What was made until then is lost.
pub fn map<R: Send>(threads: usize, count: usize, make: impl Fn(usize) -> R + Sync) -> Vec<R> {
    map_large(threads.min(count / LEAST), count, make)
}

/// The same for what takes long.
///
/// # Panics
/// As [`map`].
pub fn map_large<R: Send>(
    threads: usize,
    count: usize,
    make: impl Fn(usize) -> R + Sync,
) -> Vec<R> {
    let mut found = Vec::with_capacity(count);
    let each = count.div_ceil(threads.max(1)).max(1);
    let parts = found.spare_capacity_mut()[..count].chunks_mut(each);
    let make = &make;
    let fill = |part: &mut [MaybeUninit<R>], first: usize| {
        for (place, to) in part.iter_mut().enumerate() {
            to.write(make(first + place));
        }
    };
    std::thread::scope(|scope| {
        let mut parts = parts.enumerate();
        let own = parts.next();
        for (number, part) in parts {
            scope.spawn(move || fill(part, each * number));
        }
        if let Some((_, part)) = own {
            fill(part, 0);
        }
    });
    // SAFETY: the threads have written as many; one that panicked would have passed that on.
    unsafe { found.set_len(count) };
    found
}

/// The same for parts of so many numbers: `fill` has the first number and writes the part.
///
/// # Panics
/// If `fill` does.
pub fn fill<T: Send>(
    threads: usize,
    items: &mut [T],
    of_one: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) {
    let of_one = of_one.max(1);
    let count = items.len() / of_one;
    let each = count.div_ceil(threads.max(1)).max(LEAST);
    let fill = &fill;
    std::thread::scope(|scope| {
        let mut parts = items.chunks_mut(each * of_one).enumerate();
        let own = parts.next();
        for (number, part) in parts {
            scope.spawn(move || fill(each * number, part));
        }
        if let Some((_, part)) = own {
            fill(0, part);
        }
    });
}

/// Numbers from 0 on as many as there are keys in [0, 1), in the order of the keys, and of the numbers where those are
/// the same.
pub fn order(threads: usize, keys: &[f64]) -> Vec<u32> {
    let buckets = match keys.len() / LEAST {
        0 | 1 => 1,
        most => threads.clamp(1, most),
    };
    let mut parts = vec![Vec::with_capacity(keys.len() / buckets * 9 / 8); buckets];
    for (number, &key) in keys.iter().enumerate() {
        let bucket = ((key * buckets as f64) as usize).min(buckets - 1);
        parts[bucket].push((key, number as u32));
    }
    let sort = |part: &mut Vec<(f64, u32)>| {
        part.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    };
    std::thread::scope(|scope| {
        for part in &mut parts {
            scope.spawn(move || sort(part));
        }
    });
    parts
        .into_iter()
        .flatten()
        .map(|(_, number)| number)
        .collect()
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
        // Some are the same.
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
}
