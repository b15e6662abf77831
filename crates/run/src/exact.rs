//! Exact summation: the sum is rounded once, so it does not depend on the order of the terms.

/// The sum of finite numbers, rounded once to the nearest double, ties to even (J. Shewchuk, Discrete Comput. Geom. 18
/// (1997)
/// 305).
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    // Their sum is exactly that of the terms so far; they do not overlap and are ordered by magnitude.
    let mut parts: Vec<f64> = Vec::new();
    for mut term in terms {
        let mut kept = 0;
        for i in 0..parts.len() {
            let (large, small) = match term.abs() < parts[i].abs() {
                true => (parts[i], term),
                false => (term, parts[i]),
            };
            term = large + small;
            let rest = small - (term - large);
            if rest != 0.0 {
                parts[kept] = rest;
                kept += 1;
            }
        }
        parts.truncate(kept);
        if term != 0.0 {
            parts.push(term);
        }
    }
    let Some(mut total) = parts.pop() else {
        return 0.0;
    };
    while let Some(part) = parts.pop() {
        let before = total;
        total = before + part;
        let rest = part - (total - before);
        if rest == 0.0 {
            continue;
        }
        // Halfway between two doubles, the remaining parts decide.
        if parts
            .last()
            .is_some_and(|next| next.signum() == rest.signum())
        {
            let other = total + 2.0 * rest;
            if other - total == 2.0 * rest {
                total = other;
            }
        }
        break;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_is_not_lost() {
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum([1e100, 1.0, -1e100, 1.0]), 2.0);
        assert_eq!(sum([0.1; 10]), 1.0);
        // 2^53 plus 1 is halfway between two doubles: it is rounded to even unless there is a little more.
        let large = 9_007_199_254_740_992.0;
        assert_eq!(sum([large, 1.0]), large);
        assert_eq!(sum([large, 1.0, 1e-30]), large + 2.0);
        assert_eq!(sum([1e-30, -large, -1.0]), -large);
        assert_eq!(sum([1e-300, 1.0, large, 1e-16]), large + 2.0);
    }

    #[test]
    fn order_does_not_matter() {
        let mut terms: Vec<f64> = (1..2000)
            .map(|i: i32| (f64::from(i).sin() * 1e3).powi(1 + i % 9))
            .collect();
        let total = sum(terms.iter().copied());
        terms.reverse();
        assert_eq!(sum(terms.iter().copied()), total);
        terms.sort_by(f64::total_cmp);
        assert_eq!(sum(terms), total);
    }
}
