//! What is said of a row: the medians of both libraries, and the median of the rounds' ratios.

/// The seconds that an event took in one round, in the old library and in the new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// By the old library.
    pub old: f64,
    /// By the new library.
    pub new: f64,
}

/// A row's result. Ratios are old time over new time: above 1 the new library is the faster one.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Matrix elements a second of the old library.
    pub old: f64,
    /// Matrix elements a second of the new one.
    pub new: f64,
    /// The median of the ratios.
    pub ratio: f64,
    /// The smallest ratio.
    pub smallest: f64,
    /// The largest ratio.
    pub largest: f64,
}

impl Summary {
    /// The summary of these rounds, of which there is at least one.
    pub fn new(rounds: &[Round]) -> Summary {
        let ratios: Vec<f64> = rounds.iter().map(|r| r.old / r.new).collect();
        let times = |time: fn(&Round) -> f64| rounds.iter().map(time).collect::<Vec<f64>>();
        Summary {
            old: 1.0 / median(&times(|r| r.old)),
            new: 1.0 / median(&times(|r| r.new)),
            ratio: median(&ratios),
            smallest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            largest: ratios.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// The median of at least one number.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[half],
        _ => 0.5 * (sorted[half - 1] + sorted[half]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 9.0, 2.0]), 3.0);
    }

    #[test]
    fn a_faster_library_has_a_ratio_above_one() {
        let rounds = [(2.0, 1.0), (3.0, 1.0), (1.0, 2.0)].map(|(old, new)| Round { old, new });
        let summary = Summary::new(&rounds);
        assert_eq!((summary.old, summary.new), (0.5, 1.0));
        assert_eq!(summary.ratio, 2.0);
        assert_eq!((summary.smallest, summary.largest), (0.5, 3.0));
    }
}
