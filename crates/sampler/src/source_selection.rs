//! Removes sources that others can replace.
//!
//! The channel weights of the remaining sources add up to one as well, so the cross section does not change, and each
//! source costs a grid and survey points. But the remaining points must not have large weights at the peaks of a
//! removed source. Channels and their weights follow propagators: where the remaining sources have the fraction S of
//! all channel weights, points are rarer by S, and the mean squared weight grows by 1 / S. Sources are removed in
//! ascending order of their cross section as long as this mean, measured with the points of a trial, grows by at most a
//! hundredth. It hardly grows for a source with a thousandth of the cross section and the peaks of other sources, but a
//! thousandfold for a photon of a few GeV that no other source has.

use super::integrand::Integrand;
use super::parallel;
use super::sums::is_usable;
use super::workspace::Workspace;
use mebridge_phasespace::{Layout, Rows};
use mebridge_support::sorted::SortedMap;
use std::convert::Infallible;

/// Maximum relative growth of the mean squared weight.
const GROWTH: f64 = 0.01;
/// Maximum number of points of a source that are used.
pub const POINTS: usize = 64;
/// Maximum number of weights per group: if it has many sources, fewer points of each are used ([`points_used`]).
const NUMBERS: usize = 1 << 22;
/// A source is removed if fewer of its points than this pass the cuts.
const FEW: u64 = 10;

/// Points of a trial that pass the cuts, in the order in which they were drawn.
#[derive(Clone, Debug, Default)]
pub struct TrialPoints {
    /// Momenta, `[point][leg][4]`.
    momenta: Vec<f64>,
    weights: Vec<f64>,
    /// Maximum number of points kept; all others are only counted.
    most: usize,
    /// Number of points drawn.
    pub drawn: u64,
    /// Number of points that passed.
    pub passed: u64,
}

impl TrialPoints {
    /// Takes at most `most` points of a block; all others are only counted.
    pub fn from_workspace(work: &Workspace, legs: usize, most: usize) -> TrialPoints {
        let weights = work.kept.iter().map(|&point| work.weights[point as usize]);
        let weights: Vec<f64> = weights.take(most).collect();
        let mut momenta = Vec::with_capacity(4 * legs * weights.len());
        for place in 0..weights.len() {
            momenta.extend((0..4 * legs).map(|row| work.points.row(row)[place]));
        }
        TrialPoints {
            momenta,
            weights,
            most,
            drawn: work.weights.len() as u64,
            passed: work.kept.len() as u64,
        }
    }

    /// Creates the result of a trial that keeps at most `most` points.
    ///
    /// `momenta` (`[point][leg][4]`) and `weights` are those of the first points that pass.
    ///
    /// # Panics
    /// If there are more points.
    pub fn new(
        momenta: Vec<f64>,
        weights: Vec<f64>,
        most: usize,
        drawn: u64,
        passed: u64,
    ) -> TrialPoints {
        assert!(weights.len() <= most);
        TrialPoints {
            momenta,
            weights,
            most,
            drawn,
            passed,
        }
    }

    /// Drops the points and keeps their numbers.
    pub fn forget_points(&mut self) {
        (self.momenta, self.weights) = (Vec::new(), Vec::new());
    }

    /// Adds later points.
    pub fn merge(&mut self, later: &TrialPoints) {
        self.most = self.most.max(later.most);
        let count = later.weights.len().min(self.most - self.weights.len());
        if count > 0 {
            let momenta = &later.momenta[..later.momenta.len() / later.weights.len() * count];
            self.momenta.reserve_exact(momenta.len());
            self.momenta.extend_from_slice(momenta);
            self.weights.extend_from_slice(&later.weights[..count]);
        }
        self.drawn += later.drawn;
        self.passed += later.passed;
    }
}

/// Returns the number of points that are used of each source in a group with this number of them.
fn points_used(sources: usize) -> usize {
    (NUMBERS / sources.pow(2).max(1)).clamp(1, POINTS)
}

/// Returns for each group the number of points of each source to keep: none if this is not a trial.
pub fn points_to_keep(integrand: &Integrand, trial: bool) -> Vec<usize> {
    let mut sources = vec![0; integrand.groups.len()];
    for source in &integrand.sources {
        sources[source.group] += 1;
    }
    let points = |sources| if trial { points_used(sources) } else { 0 };
    sources.into_iter().map(points).collect()
}

/// Returns the indices of the sources to keep, ascending.
pub fn sources_to_keep(integrand: &Integrand, tried: &[&TrialPoints], threads: usize) -> Vec<u32> {
    let of_group = |group: usize| {
        let own = (0..integrand.sources.len()).filter(|&i| integrand.sources[i].group == group);
        let own: Vec<usize> = own.collect();
        let most = own.iter().map(|&i| tried[i].passed).max().unwrap_or(0);
        let enough = |i: &usize| tried[*i].passed >= FEW.min(most).max(1);
        let own: Vec<usize> = own.into_iter().filter(enough).collect();
        let kept = Trial::new(integrand, group, &own, tried).kept();
        kept.into_iter().map(|place| own[place] as u32).collect()
    };
    let of_group = |group: usize| Ok::<Vec<u32>, Infallible>(of_group(group));
    let Ok(found) = parallel::collect(threads, integrand.groups.len(), of_group);
    let mut found = found.concat();
    found.sort_unstable();
    found
}

/// Trial points of all sources of a group, and how the sources cover them.
struct Trial {
    /// Channel weight of each source at all points.
    of_sources: Vec<Vec<f64>>,
    /// Contribution of each point to the cross section.
    values: Vec<f64>,
    /// Contribution of each source to the cross section.
    shares: Vec<f64>,
    /// Resonances of each diagram of each source.
    peaks: Vec<Vec<Vec<usize>>>,
}

impl Trial {
    fn new(integrand: &Integrand, group: usize, own: &[usize], tried: &[&TrialPoints]) -> Trial {
        let of = &integrand.groups[group];
        let (layout, rows) = (Layout::new(of.legs), 4 * of.legs);
        let columns = own.iter().flat_map(|&i| &integrand.sources[i].columns);
        let columns: Vec<u32> = columns.copied().collect();
        let weights = of.weights.select(&columns);
        let most = points_used(own.len());
        let mut points = Rows::new(layout.rows(), most);
        let mut every = Rows::new(columns.len().max(1), most);
        let mut found = Trial {
            of_sources: vec![Vec::new(); own.len()],
            values: Vec::new(),
            shares: Vec::new(),
            peaks: Vec::new(),
        };
        for &i in own {
            let count = tried[i].weights.len().min(most);
            points.set_points(count);
            every.set_points(count);
            for (point, momenta) in tried[i].momenta.chunks_exact(rows).take(count).enumerate() {
                for (row, &number) in momenta.iter().enumerate() {
                    points.row_mut(row)[point] = number;
                }
            }
            weights.every_share(integrand.level, &points, &mut every);
            let mut next = 0;
            for (of, &j) in found.of_sources.iter_mut().zip(own) {
                let begin = of.len();
                of.resize(begin + count, 0.0);
                for column in next..next + integrand.sources[j].columns.len() {
                    for (sum, share) in of[begin..].iter_mut().zip(every.row(column)) {
                        *sum += share;
                    }
                }
                next += integrand.sources[j].columns.len();
            }
            // These points represent all that passed.
            let each = tried[i].passed as f64 / (count as f64 * tried[i].drawn as f64);
            let values = tried[i].weights[..count].iter().map(|w| w.abs() * each);
            let values = values.map(|value| if is_usable(value) { value } else { 0.0 });
            let begin = found.values.len();
            found.values.extend(values);
            found.shares.push(found.values[begin..].iter().sum());
            let columns = integrand.sources[i].columns.iter();
            let peaks = columns.map(|&column| of.weights.resonances(column));
            found.peaks.push(peaks.collect());
        }
        found
    }

    /// Returns the indices of the sources to keep.
    fn kept(&self) -> Vec<usize> {
        let count = self.shares.len();
        let mut keeps = vec![true; count];
        let mut left = count;
        let mut rest = vec![0.0; self.values.len()];
        for of in &self.of_sources {
            for (rest, one) in rest.iter_mut().zip(of) {
                *rest += one;
            }
        }
        let most = (1.0 + GROWTH) * self.values.iter().sum::<f64>();
        let mut has: SortedMap<&[usize], usize> = SortedMap::new();
        for peaks in self.peaks.iter().flatten() {
            *has.entry(peaks).or_default() += 1;
        }
        // Rounded so that the order is the same on all machines.
        let rounded = |i: usize| {
            let digits = format!("{:.6e}", self.shares[i]);
            digits.parse::<f64>().unwrap_or(self.shares[i])
        };
        let mut order: Vec<(f64, usize)> = (0..count).map(|i| (rounded(i), i)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        for (_, i) in order {
            if left == 1 || most <= 0.0 {
                break;
            }
            let mut grown = 0.0;
            for ((rest, own), value) in rest.iter().zip(&self.of_sources[i]).zip(&self.values) {
                let without = rest - own;
                // Nothing but rounding errors is left.
                let gone = without < 1e-9 * rest;
                if *value > 0.0 {
                    grown += if gone { f64::INFINITY } else { value / without };
                }
            }
            // NaN counts as too large.
            if grown.is_nan() || grown > most || !self.others_have_its_peaks(i, &has) {
                continue;
            }
            for peaks in &self.peaks[i] {
                let of = has.get_mut(peaks.as_slice()).expect("it was counted");
                *of -= 1;
            }
            for (rest, own) in rest.iter_mut().zip(&self.of_sources[i]) {
                *rest -= own;
            }
            keeps[i] = false;
            left -= 1;
        }
        (0..count).filter(|&i| keeps[i]).collect()
    }

    /// Returns whether, for each diagram of this source, other sources have a diagram with all of its resonances or a
    /// subset of them.
    fn others_have_its_peaks(&self, i: usize, has: &SortedMap<&[usize], usize>) -> bool {
        let own = |peaks: &[usize]| self.peaks[i].iter().filter(|own| *own == peaks).count();
        let within = |some: &[usize], of: &[usize]| some.iter().all(|one| of.contains(one));
        self.peaks[i].iter().all(|peaks| {
            has.iter()
                .any(|(of, count)| *count > own(of) && within(peaks, of))
        })
    }
}

/// Returns the entries of these sources.
pub fn select<T: Clone>(all: &[T], sources: &[u32]) -> Vec<T> {
    sources.iter().map(|&i| all[i as usize].clone()).collect()
}

/// Keeps only these sources of an integrand.
///
/// # Panics
/// If there is no such source.
pub fn keep_sources(integrand: &mut Integrand, sources: &[u32]) {
    integrand.sources = select(&integrand.sources, sources);
    for (number, group) in integrand.groups.iter_mut().enumerate() {
        let mut columns = Vec::new();
        for source in integrand
            .sources
            .iter_mut()
            .filter(|one| one.group == number)
        {
            for column in &mut source.columns {
                columns.push(*column);
                *column = columns.len() as u32 - 1;
            }
        }
        group.weights = group.weights.select(&columns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_points_are_kept_than_are_used() {
        assert_eq!([1, 256, 512, 100_000].map(points_used), [64, 64, 16, 1]);
        // Two legs and three points in each part.
        let part = |first: usize| {
            let weights = (first..first + 3).map(|i| i as f64).collect();
            let momenta = (8 * first..8 * (first + 3)).map(|i| i as f64).collect();
            TrialPoints::new(momenta, weights, 4, 10, 5)
        };
        let mut all = TrialPoints::default();
        for first in [0, 3, 6] {
            all.merge(&part(first));
        }
        assert_eq!(all.weights, [0.0, 1.0, 2.0, 3.0]);
        assert!(all.momenta.iter().copied().eq((0..32).map(f64::from)));
        assert_eq!((all.drawn, all.passed), (30, 15));
        all.forget_points();
        assert!(all.weights.is_empty() && all.momenta.is_empty() && all.passed == 15);
    }
}
