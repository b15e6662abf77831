//! Sums that do not depend on the order of their numbers.

/// The sum of numbers, rounded once, as Python's `math.fsum` has it (J. R. Shewchuk, Discrete Comput. Geom. 18 (1997)
/// 305). Numbers that are infinite or none are summed as they are.
pub fn fsum(numbers: impl IntoIterator<Item = f64>) -> f64 {
    // They do not overlap, and the largest one is last.
    let mut partials: Vec<f64> = Vec::new();
    let mut special = None;
    for number in numbers {
        let (mut x, mut kept) = (number, 0);
        for place in 0..partials.len() {
            let mut y = partials[place];
            if x.abs() < y.abs() {
                std::mem::swap(&mut x, &mut y);
            }
            let high = x + y;
            let low = y - (high - x);
            if low != 0.0 {
                partials[kept] = low;
                kept += 1;
            }
            x = high;
        }
        partials.truncate(kept);
        match x.is_finite() {
            true => partials.push(x),
            false => special = Some(special.unwrap_or(0.0) + x),
        }
    }
    special.unwrap_or_else(|| rounded(&partials))
}

/// The sum of partial sums, the nearest number, and the even one of two that are as near.
fn rounded(partials: &[f64]) -> f64 {
    let Some((&last, mut rest)) = partials.split_last() else {
        return 0.0;
    };
    let (mut high, mut low) = (last, 0.0);
    while let Some((&y, before)) = rest.split_last() {
        let x = high;
        high = x + y;
        low = y - (high - x);
        rest = before;
        if low != 0.0 {
            break;
        }
    }
    // What is left decides where `low` is half of a last digit.
    let goes_on = rest
        .last()
        .is_some_and(|next| low != 0.0 && (low < 0.0) == (*next < 0.0));
    if goes_on {
        let (y, x) = (low * 2.0, high + low * 2.0);
        if y == x - high {
            high = x;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `math.fsum` gives them.
    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(fsum([]), 0.0);
        assert_eq!(fsum([0.1; 10]), 1.0);
        assert_eq!(fsum([1e16, 1.0, 1e-16]), 10_000_000_000_000_002.0);
        assert_eq!(fsum([1e16, 1.0, -1e-16]), 10_000_000_000_000_000.0);
        assert_eq!(
            fsum([1e100, 1.0, -1e100, 1e-100, 1e50, -1.0, -1e50]),
            1e-100
        );
        let tiny = (2.0_f64).powi(-53);
        assert_eq!(fsum([1.0, tiny]), 1.0);
        assert_eq!(fsum([1.0, tiny, tiny * tiny]), 1.0 + 2.0 * tiny);
        assert_eq!(fsum([-1.0, -tiny, -tiny * tiny]), -1.0 - 2.0 * tiny);
        assert_eq!(fsum([f64::INFINITY, 1.0]), f64::INFINITY);
        assert!(fsum([f64::NAN, 1.0]).is_nan());
        // The order does not matter.
        let numbers: Vec<f64> = (1..2000)
            .map(|i| f64::from(i).sin() * f64::from(i).exp2().sqrt())
            .collect();
        assert_eq!(
            fsum(numbers.iter().copied()).to_bits(),
            fsum(numbers.iter().rev().copied()).to_bits()
        );
    }
}
