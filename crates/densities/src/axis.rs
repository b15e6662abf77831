//! Knots along x or Q, and the polynomials between them.

/// One direction of a grid. In each interval between knots, the weights of four knots are polynomials of degree 3.
#[derive(Debug)]
pub struct Axis {
    /// Knots in the variable of the polynomials.
    knots: Vec<f64>,
    intervals: Vec<Interval>,
    /// For equal parts of the axis, the interval in which each begins.
    lookup: Vec<u32>,
    parts: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Interval {
    pub start: f64,
    /// 1 / length.
    pub inverse: f64,
    /// The first of the four knots.
    pub first: u32,
    /// Coefficients `[power][knot]` in the position within the interval, from 0 to 1.
    pub powers: [[f64; 4]; 4],
}

impl Axis {
    /// Creates an axis. `weights` returns the first of four knots for an interval, and their weights at a position;
    /// these must be polynomials of degree 3 in each interval.
    pub fn new(knots: Vec<f64>, weights: impl Fn(usize, f64) -> (usize, [f64; 4])) -> Self {
        let count = knots.len() - 1;
        let intervals: Vec<Interval> = (0..count)
            .map(|i| {
                let (start, length) = (knots[i], knots[i + 1] - knots[i]);
                let at = |share: f64| weights(i, start + share * length);
                let (first, at_0) = at(0.0);
                let [at_1, at_2, at_3] = [1.0 / 3.0, 2.0 / 3.0, 1.0].map(|share| at(share).1);
                let mut powers = [at_0, [0.0; 4], [0.0; 4], [0.0; 4]];
                for knot in 0..4 {
                    let [a, b, c, d] = [at_0, at_1, at_2, at_3].map(|at| at[knot]);
                    // The polynomial through four equally spaced positions.
                    powers[1][knot] = -5.5 * a + 9.0 * b - 4.5 * c + d;
                    powers[2][knot] = 9.0 * a - 22.5 * b + 18.0 * c - 4.5 * d;
                    powers[3][knot] = -4.5 * a + 13.5 * b - 13.5 * c + 4.5 * d;
                }
                Interval {
                    start,
                    inverse: 1.0 / length,
                    first: first as u32,
                    powers,
                }
            })
            .collect();
        let (begin, end) = (knots[0], knots[count]);
        let parts = 4 * count;
        let lookup = (0..parts)
            .map(|part| {
                let at = begin + (end - begin) * part as f64 / parts as f64;
                interval(&knots, at) as u32
            })
            .collect();
        Axis {
            parts: parts as f64 / (end - begin),
            knots,
            intervals,
            lookup,
        }
    }

    /// The intervals between knots.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// For equal parts of the axis, the interval in which each begins.
    pub fn lookup(&self) -> &[u32] {
        &self.lookup
    }

    /// The beginning of the axis, and the number of these parts per unit.
    pub fn begin_and_parts(&self) -> [f64; 2] {
        [self.knots[0], self.parts]
    }

    /// The first of the four knots around a position, and their weights. Outside, the polynomial of the first or last
    /// interval is continued.
    #[inline(always)]
    pub fn weights(&self, at: f64) -> (usize, [f64; 4]) {
        let part = (at - self.knots[0]) * self.parts;
        // NaN becomes 0 here, but propagates with the position below.
        let part = (part as usize).min(self.lookup.len() - 1);
        let mut i = self.lookup[part] as usize;
        while i + 1 < self.intervals.len() && self.knots[i + 1] <= at {
            i += 1;
        }
        while i > 0 && at < self.knots[i] {
            i -= 1;
        }
        let interval = &self.intervals[i];
        let t = (at - interval.start) * interval.inverse;
        let [a, b, c, d] = &interval.powers;
        let mut of = [0.0; 4];
        for knot in 0..4 {
            of[knot] = a[knot] + t * (b[knot] + t * (c[knot] + t * d[knot]));
        }
        (interval.first as usize, of)
    }
}

/// The interval between ascending knots that contains a number, as the index of its lower end. Numbers outside belong
/// to the first or last interval.
pub fn interval(knots: &[f64], at: f64) -> usize {
    let above = knots.partition_point(|&knot| knot <= at);
    above.saturating_sub(1).min(knots.len() - 2)
}

/// Weights of the cubic polynomial through four knots.
pub fn cubic(at: f64, knots: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|i| {
        let others = (0..4).filter(|&j| j != i);
        others
            .map(|j| (at - knots[j]) / (knots[i] - knots[j]))
            .product()
    })
}

/// Weights of the cubic Hermite polynomial whose slopes at knots are means of the difference quotients to both
/// neighbours, and at the ends that to the only neighbour.
pub fn hermite(knots: &[f64], i: usize, at: f64) -> (usize, [f64; 4]) {
    let step = knots[i + 1] - knots[i];
    let t = (at - knots[i]) / step;
    let (t2, t3) = (t * t, t * t * t);
    let value = [2.0 * t3 - 3.0 * t2 + 1.0, 3.0 * t2 - 2.0 * t3];
    let slope = [t3 - 2.0 * t2 + t, t3 - t2];
    // Weights of the knots, beginning with the one before the interval.
    let mut of = [0.0, value[0], value[1], 0.0];
    for (end, slope) in slope.into_iter().enumerate() {
        let knot = i + end;
        let below = knot.checked_sub(1).map(|k| step / (knots[knot] - knots[k]));
        let above = knots.get(knot + 1).map(|next| step / (next - knots[knot]));
        let share = if below.is_some() && above.is_some() {
            0.5 * slope
        } else {
            slope
        };
        if let Some(below) = below {
            of[end + 1] += share * below;
            of[end] -= share * below;
        }
        if let Some(above) = above {
            of[end + 2] += share * above;
            of[end + 1] -= share * above;
        }
    }
    // Knots outside have weight zero; shift to knots inside.
    if i == 0 {
        (0, [of[1], of[2], of[3], 0.0])
    } else if i + 2 == knots.len() {
        let inside = [0.0, of[0], of[1], of[2]];
        i.checked_sub(2)
            .map_or((0, [of[0], of[1], of[2], 0.0]), |first| (first, inside))
    } else {
        (i - 1, of)
    }
}

/// Weights of linear interpolation.
pub fn linear(knots: &[f64], i: usize, at: f64) -> (usize, [f64; 4]) {
    let t = (at - knots[i]) / (knots[i + 1] - knots[i]);
    // With fewer than four knots, missing ones have weight zero.
    let first = i.min(knots.len().saturating_sub(4));
    let mut of = [0.0; 4];
    of[i - first] = 1.0 - t;
    of[i - first + 1] = t;
    (first, of)
}
