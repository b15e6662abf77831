//! Turns weighted points into events of weight one.
//!
//! A channel draws N points with weights w whose mean is its cross section. With a threshold t, a point becomes an
//! event with the probability min(1, |w| / t), and the event has the weight max(1, |w| / t) with the sign of w. The
//! product is |w| / t: for any t, the event weights add up to N / t times the cross section, also in any part of phase
//! space. Events above weight one carry an excess over the others; as a share of the sum S of all |w| it is
//!
//! ```text
//! excess(t) = sum over |w| > t of (|w| - t) / S.
//! ```
//!
//! [`Spectrum::threshold`] is the smallest t with an excess of at most `overweight`, so the one with most events. An
//! excess of 0 gives the largest weight as threshold; a larger `overweight` unweights partially. Sizes are kept as a
//! histogram with sixteen bins per factor of two, with integer counts and sums, so that the result does not depend on
//! the order of the points. Between edges excess(t) is convex, so linear interpolation lies above it, and `overweight`
//! holds.
//!
//! The random number that decides about a point belongs to it ([`crate::random::ACCEPTANCE`]): point i is an event if
//! number < |w| / t. Events of a larger threshold are a subset of those of a smaller one, so when t rises, accepted
//! points are tested again with the same numbers, and the result depends only on the last t.
//!
//! *Several channels.* With a luminosity L, channel j gets L t_j points, so that all events have the weight 1 / L: see
//! [`crate::rounds`]. [`thresholds`] minimises the sum of t_j, and so the number of points, with an excess of at most
//! `overweight` of the cross section of all channels, and in each channel [`MAX_CHANNEL_EXCESS`] times `overweight` of its
//! own.

use crate::sums::is_usable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bins of a spectrum, which covers sixteen powers of two.
pub const BINS: usize = 256;
/// Bits of a number below those that determine its bin, which are 11 of the exponent and 4 of the fraction.
pub const BITS_BELOW_BIN: u32 = 48;
/// The leading bits of these that are summed: 2^36 points fit into a bin.
pub const BITS_SUMMED: u32 = 28;

/// The sizes (absolute values) of a channel's weights, from the largest down to 2^-16 of it. Smaller ones are left out,
/// also of S.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Bin `i` is at `i % BINS`.
    bins: Vec<Bin>,
    largest: f64,
}

/// A bin of a spectrum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    points: u64,
    /// Sum of the first [`BITS_SUMMED`] bits of each size within the bin.
    within: u64,
}

impl Default for Spectrum {
    fn default() -> Self {
        Spectrum {
            bins: vec![Bin::default(); BINS],
            largest: 0.0,
        }
    }
}

/// Returns the bin of a size.
fn bin_of(size: f64) -> usize {
    (size.to_bits() >> BITS_BELOW_BIN) as usize
}

/// Returns the smallest size in a bin.
fn edge(bin: usize) -> f64 {
    f64::from_bits((bin as u64) << BITS_BELOW_BIN)
}

impl Bin {
    /// Returns the sum of the sizes in the bin.
    fn sum(self, bin: usize) -> f64 {
        let width = edge(bin + 1) - edge(bin);
        let unit = 1.0 / (1_u64 << BITS_SUMMED) as f64;
        self.points as f64 * edge(bin) + self.within as f64 * unit * width
    }
}

impl Spectrum {
    /// Creates a spectrum counted elsewhere: the largest size, and for each bin `i % BINS` the number of sizes and the
    /// sum of their bits within it.
    ///
    /// # Panics
    /// If there are not [`BINS`].
    pub fn counted(largest: f64, bins: &[[u64; 2]]) -> Self {
        assert_eq!(bins.len(), BINS);
        let bins = (bins.iter()).map(|&[points, within]| Bin { points, within });
        Spectrum {
            bins: bins.collect(),
            largest,
        }
    }

    /// Adds weights. Zero and unusable ones are skipped; [`crate::sums::WeightSums`] counts them.
    pub fn add(&mut self, weights: &[f64]) {
        for weight in weights {
            let size = weight.abs();
            if size == 0.0 || !is_usable(size) {
                continue;
            }
            self.raise_largest(size);
            let bin = bin_of(size);
            if bin + BINS > bin_of(self.largest) {
                let sizes = &mut self.bins[bin % BINS];
                sizes.points += 1;
                sizes.within += (size.to_bits() & ((1 << BITS_BELOW_BIN) - 1))
                    >> (BITS_BELOW_BIN - BITS_SUMMED);
            }
        }
    }

    /// Adds the spectrum of other points.
    pub fn merge(&mut self, other: &Spectrum) {
        self.raise_largest(other.largest);
        for bin in other.range() {
            if bin + BINS > bin_of(self.largest) {
                let (sizes, more) = (&mut self.bins[bin % BINS], other.bins[bin % BINS]);
                sizes.points += more.points;
                sizes.within += more.within;
            }
        }
    }

    /// Updates the largest size, and clears the bins that become too small compared with it.
    fn raise_largest(&mut self, size: f64) {
        let (before, after) = (bin_of(self.largest), bin_of(size));
        for bin in before + 1..=after.min(before + BINS) {
            self.bins[bin % BINS] = Bin::default();
        }
        self.largest = self.largest.max(size);
    }

    /// Returns the bins that are kept, ascending.
    fn range(&self) -> std::ops::RangeInclusive<usize> {
        let last = bin_of(self.largest);
        (last + 1).saturating_sub(BINS)..=last
    }

    /// Returns the largest size; zero if there is none.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Serialises the spectrum: the largest size, and for each non-empty bin its place, count and sum within.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = vec![self.largest.to_bits()];
        for (place, of) in self.bins.iter().enumerate().filter(|(_, of)| of.points > 0) {
            words.extend([place as u64, of.points, of.within]);
        }
        words
    }

    /// Reads the words of [`Self::words`]; `None` if they are invalid.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let (&largest, bins) = words.split_first()?;
        let (bins, rest) = bins.as_chunks::<3>();
        let mut found = Spectrum {
            largest: f64::from_bits(largest),
            ..Spectrum::default()
        };
        for &[place, points, within] in bins {
            *found.bins.get_mut(usize::try_from(place).ok()?)? = Bin { points, within };
        }
        (rest.is_empty() && is_usable(found.largest)).then_some(found)
    }

    /// Returns S, the sum of all sizes.
    fn total(&self) -> f64 {
        let bins = self.range();
        bins.map(|bin| self.bins[bin % BINS].sum(bin)).sum()
    }

    /// Iterates over the largest size and the edges of bins, descending: pairs of t and the sum of (|w| - t) over |w| >
    /// t.
    fn sums_above(&self) -> impl Iterator<Item = (f64, f64)> {
        let (mut points, mut sum) = (0, 0.0);
        let edges = self.range().rev().map(move |bin| {
            let sizes = self.bins[bin % BINS];
            points += sizes.points;
            sum += sizes.sum(bin);
            (edge(bin), f64::max(sum - points as f64 * edge(bin), 0.0))
        });
        std::iter::once((self.largest, 0.0)).chain(edges)
    }

    /// Iterates over the steps by which the threshold falls from the largest size, bin by bin, to the smallest one with
    /// points.
    fn threshold_steps(&self, points: u64) -> impl Iterator<Item = ThresholdStep> {
        let least = self.range().find(|bin| self.bins[bin % BINS].points > 0);
        let least = least.filter(|_| self.largest > 0.0);
        let bins = least.map(|least| (least..=*self.range().end()).rev());
        let (mut upper, mut above, mut below) = (self.largest, 0, 0.0);
        let mut sum = 0.0;
        bins.into_iter().flatten().map(move |bin| {
            let (sizes, to) = (self.bins[bin % BINS], edge(bin));
            sum += sizes.sum(bin);
            let before = std::mem::replace(&mut below, 0.0);
            above += sizes.points;
            below = f64::max(sum - above as f64 * to, before);
            let added = (below - before) / points.max(1) as f64;
            // Without points in the bin, the slope is the number of points above, equal for all channels with that
            // number.
            let slope = match sizes.points {
                0 => above as f64 / points.max(1) as f64,
                _ if upper > to => added / (upper - to),
                _ => 0.0,
            };
            upper = to;
            ThresholdStep { slope, to, added }
        })
    }

    /// Returns the threshold with an excess of at most `overweight`; `None` if all weights are zero.
    pub fn threshold(&self, overweight: f64) -> Option<f64> {
        if self.largest == 0.0 {
            return None;
        }
        let allowed = overweight * self.total();
        let (mut upper, mut below) = (self.largest, 0.0);
        for (lower, above) in self.sums_above() {
            if above > allowed {
                let share = (allowed - below) / (above - below);
                return Some(upper - (upper - lower) * share);
            }
            (upper, below) = (lower, above);
        }
        // All points become events.
        let least = self.range().find(|bin| self.bins[bin % BINS].points > 0);
        least.map(edge)
    }

    /// Returns the excess of a threshold.
    pub fn excess(&self, threshold: f64) -> f64 {
        let (mut upper, mut below) = (self.largest, 0.0);
        for (lower, above) in self.sums_above() {
            if lower <= threshold {
                if threshold < upper {
                    below += (above - below) * (upper - threshold) / (upper - lower);
                }
                return below / self.total();
            }
            (upper, below) = (lower, above);
        }
        // All sizes are above the threshold.
        let points: u64 = self.bins.iter().map(|sizes| sizes.points).sum();
        1.0 - points as f64 * threshold / self.total()
    }

    /// Returns the expected number of events from the points added.
    pub fn events(&self, threshold: f64) -> f64 {
        (1.0 - self.excess(threshold)) * self.total() / threshold
    }
}

/// Maximum excess of one channel in units of `overweight`, if others need less.
const MAX_CHANNEL_EXCESS: f64 = 5.0;

/// A step by which the threshold of a channel falls.
struct ThresholdStep {
    /// Excess added per unit of the threshold and point of the channel.
    slope: f64,
    to: f64,
    added: f64,
}

/// Returns the thresholds of channels whose events are combined, from each channel's spectrum and number of points;
/// `None` where all weights are zero.
///
/// Each step lowers the threshold that adds least to the excess; since the excess is convex, this minimises the sum.
pub fn thresholds(spectra: &[(&Spectrum, u64)], overweight: f64) -> Vec<Option<f64>> {
    let totals: Vec<f64> = (spectra.iter())
        .map(|(of, points)| of.total() / (*points).max(1) as f64)
        .collect();
    let mut left = overweight * totals.iter().sum::<f64>();
    let mut left_of_one: Vec<f64> = (totals.iter())
        .map(|total| MAX_CHANNEL_EXCESS * overweight * total)
        .collect();
    let mut found: Vec<Option<f64>> = (spectra.iter())
        .map(|(of, _)| (of.largest > 0.0).then_some(of.largest))
        .collect();
    let mut steps: Vec<_> = (spectra.iter())
        .map(|&(of, points)| of.threshold_steps(points).peekable())
        .collect();
    // Slopes are not negative, so they are ordered like their bits.
    let key = |step: &ThresholdStep, channel: usize| Reverse((step.slope.to_bits(), channel));
    let mut next: BinaryHeap<_> = (steps.iter_mut().enumerate())
        .filter_map(|(channel, steps)| Some(key(steps.peek()?, channel)))
        .collect();
    while let Some(Reverse((_, channel))) = next.pop() {
        let Some(step) = steps[channel].next() else {
            continue;
        };
        let threshold = found[channel].get_or_insert(step.to);
        let allowed = f64::min(left, left_of_one[channel]);
        if step.added > allowed {
            *threshold -= (*threshold - step.to) * (allowed / step.added);
            left -= allowed;
            continue;
        }
        *threshold = step.to;
        left -= step.added;
        left_of_one[channel] -= step.added;
        if let Some(step) = steps[channel].peek() {
            next.push(key(step, channel));
        }
    }
    found
}

/// Returns whether a point becomes an event.
#[inline(always)]
pub fn is_event(weight: f64, number: f64, threshold: f64) -> bool {
    is_usable(weight) && number * threshold < weight.abs()
}

/// Returns the weight of an event: 1 or, above the threshold, more, with the sign of the point's weight.
pub fn event_weight(weight: f64, threshold: f64) -> f64 {
    (weight.abs() / threshold).max(1.0).copysign(weight)
}

#[cfg(test)]
mod tests;
