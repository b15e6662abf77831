//! From weighted points to events of weight one.
//!
//! A channel draws N points with weights w whose mean is its cross section. With a threshold t a point becomes an event with
//! the probability min(1, |w| / t), and the event has the weight max(1, |w| / t) with the sign of w. The product is |w| / t:
//! whatever t is, N / t times the cross section is what events weigh together, and in any part of phase space. Of the
//! sizes' sum S the events above one carry more than the others by the share
//!
//! ```text
//! excess(t) = sum over |w| > t of (|w| - t) / S.
//! ```
//!
//! [`Spectrum::threshold`] is the smallest t with an excess of at most `overweight`, so the largest number of events. The
//! largest weight is that of an excess of 0; a larger `overweight` unweights in part. Contents are kept as a histogram with
//! sixteen bins from each power of two to the next, of counts and sums in whole numbers: the same whatever the order of the
//! points, whoever added them. Between edges excess(t) is convex, so the straight line that stands for it lies above, and
//! `overweight` holds.
//!
//! The number that decides about a point is its own ([`crate::random::ACCEPTANCE`]): point i is an event where
//! number < |w| / t. Events of a larger threshold are among those of a smaller one, so when t rises those that were
//! accepted are asked again with the same numbers, and which are left depends on the last t alone.
//!
//! *Channels together.* With a luminosity L channel j has L t_j points, so that all events weigh 1 / L: see
//! [`crate::rounds`]. [`thresholds`] are those with the least sum of t_j, so the fewest points, whose events carry at most
//! `overweight` of the cross section of all channels, and those of one channel [`MOST_OF_ONE`] times that of its own.

use crate::sums::is_usable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bins of a spectrum: sixteen powers of two.
pub const BINS: usize = 256;
/// Bits of a number below those that say its bin: 11 of the exponent and 4 of the fraction are left.
pub const WITHIN: u32 = 48;
/// Of those below, how many are summed: 2^36 points have room in a bin.
pub const SUMMED: u32 = 28;

/// The sizes of the weights of a channel, from the largest down to 2^-16 of it. What is less is left out, also of S.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Bin `i` of all sizes is at `i % BINS`.
    bins: Vec<Contents>,
    largest: f64,
}

/// What lies in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contents {
    points: u64,
    /// Of the first bits within the bin.
    within: u64,
}

impl Default for Spectrum {
    fn default() -> Self {
        Spectrum {
            bins: vec![Contents::default(); BINS],
            largest: 0.0,
        }
    }
}

/// The bin of a size.
fn bin_of(size: f64) -> usize {
    (size.to_bits() >> WITHIN) as usize
}

/// The least size in a bin.
fn edge(bin: usize) -> f64 {
    f64::from_bits((bin as u64) << WITHIN)
}

impl Contents {
    /// Their sum.
    fn sum(self, bin: usize) -> f64 {
        let width = edge(bin + 1) - edge(bin);
        let unit = 1.0 / (1_u64 << SUMMED) as f64;
        self.points as f64 * edge(bin) + self.within as f64 * unit * width
    }
}

impl Spectrum {
    /// What was counted elsewhere: the largest size, and of bin `i % BINS` how many sizes there are and their bits within.
    ///
    /// # Panics
    /// If there are not [`BINS`].
    pub fn counted(largest: f64, bins: &[[u64; 2]]) -> Self {
        assert_eq!(bins.len(), BINS);
        let bins = (bins.iter()).map(|&[points, within]| Contents { points, within });
        Spectrum {
            bins: bins.collect(),
            largest,
        }
    }

    /// Adds weights. Those that are zero or not usable are left out; [`crate::sums::WeightSums`] counts them.
    pub fn add(&mut self, weights: &[f64]) {
        for weight in weights {
            let size = weight.abs();
            if size == 0.0 || !is_usable(size) {
                continue;
            }
            self.rise(size);
            let bin = bin_of(size);
            if bin + BINS > bin_of(self.largest) {
                let sizes = &mut self.bins[bin % BINS];
                sizes.points += 1;
                sizes.within += (size.to_bits() & ((1 << WITHIN) - 1)) >> (WITHIN - SUMMED);
            }
        }
    }

    /// Adds those of other points.
    pub fn merge(&mut self, other: &Spectrum) {
        self.rise(other.largest);
        for bin in other.range() {
            if bin + BINS > bin_of(self.largest) {
                let (sizes, more) = (&mut self.bins[bin % BINS], other.bins[bin % BINS]);
                sizes.points += more.points;
                sizes.within += more.within;
            }
        }
    }

    /// Takes a size as the largest if it is, and gives up the bins that are too small beside it.
    fn rise(&mut self, size: f64) {
        let (before, after) = (bin_of(self.largest), bin_of(size));
        for bin in before + 1..=after.min(before + BINS) {
            self.bins[bin % BINS] = Contents::default();
        }
        self.largest = self.largest.max(size);
    }

    /// The bins that are kept, ascending.
    fn range(&self) -> std::ops::RangeInclusive<usize> {
        let last = bin_of(self.largest);
        (last + 1).saturating_sub(BINS)..=last
    }

    /// The largest size; zero where there is none.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// As words that are kept: the largest size, and of each bin with points its place, their number and what is within.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = vec![self.largest.to_bits()];
        for (place, of) in self.bins.iter().enumerate().filter(|(_, of)| of.points > 0) {
            words.extend([place as u64, of.points, of.within]);
        }
        words
    }

    /// What [`Self::words`] gave; none where that cannot be.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let (&largest, bins) = words.split_first()?;
        let (bins, rest) = bins.as_chunks::<3>();
        let mut found = Spectrum {
            largest: f64::from_bits(largest),
            ..Spectrum::default()
        };
        for &[place, points, within] in bins {
            *found.bins.get_mut(usize::try_from(place).ok()?)? = Contents { points, within };
        }
        (rest.is_empty() && is_usable(found.largest)).then_some(found)
    }

    /// S.
    fn total(&self) -> f64 {
        let bins = self.range();
        bins.map(|bin| self.bins[bin % BINS].sum(bin)).sum()
    }

    /// From the largest size down to the edges of bins: sizes t, and sum of (|w| - t) over |w| > t.
    fn above(&self) -> impl Iterator<Item = (f64, f64)> {
        let (mut points, mut sum) = (0, 0.0);
        let edges = self.range().rev().map(move |bin| {
            let sizes = self.bins[bin % BINS];
            points += sizes.points;
            sum += sizes.sum(bin);
            (edge(bin), f64::max(sum - points as f64 * edge(bin), 0.0))
        });
        std::iter::once((self.largest, 0.0)).chain(edges)
    }

    /// How the threshold may fall from the largest size, bin by bin, to the least one that has points.
    fn falls(&self, points: u64) -> impl Iterator<Item = Fall> {
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
            // Without points in the bin it is their number above, the same for all that have as many.
            let slope = match sizes.points {
                0 => above as f64 / points.max(1) as f64,
                _ if upper > to => added / (upper - to),
                _ => 0.0,
            };
            upper = to;
            Fall { slope, to, added }
        })
    }

    /// The threshold with an excess of at most `overweight`; none where all weights are zero.
    pub fn threshold(&self, overweight: f64) -> Option<f64> {
        if self.largest == 0.0 {
            return None;
        }
        let allowed = overweight * self.total();
        let (mut upper, mut below) = (self.largest, 0.0);
        for (lower, above) in self.above() {
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

    /// The excess of a threshold.
    pub fn excess(&self, threshold: f64) -> f64 {
        let (mut upper, mut below) = (self.largest, 0.0);
        for (lower, above) in self.above() {
            if lower <= threshold {
                if threshold < upper {
                    below += (above - below) * (upper - threshold) / (upper - lower);
                }
                return below / self.total();
            }
            (upper, below) = (lower, above);
        }
        // All kept sizes are above.
        let points: u64 = self.bins.iter().map(|sizes| sizes.points).sum();
        1.0 - points as f64 * threshold / self.total()
    }

    /// How many events the points that were added give on average.
    pub fn events(&self, threshold: f64) -> f64 {
        (1.0 - self.excess(threshold)) * self.total() / threshold
    }
}

/// How many times `overweight` the excess of one channel may be where others need less of it.
const MOST_OF_ONE: f64 = 5.0;

/// How far the threshold of a channel falls at once, by how much that adds to what its events carry above one.
struct Fall {
    /// What is added for each unit of the threshold, by the points of the channel.
    slope: f64,
    to: f64,
    added: f64,
}

/// The thresholds of channels whose events are put together, of each by its spectrum and of how many points that is; none
/// where all weights are zero.
///
/// The threshold that falls is always the one by which events carry least above one: of an excess that is convex this is
/// the least sum.
pub fn thresholds(spectra: &[(&Spectrum, u64)], overweight: f64) -> Vec<Option<f64>> {
    let totals: Vec<f64> = (spectra.iter())
        .map(|(of, points)| of.total() / (*points).max(1) as f64)
        .collect();
    let mut left = overweight * totals.iter().sum::<f64>();
    let mut left_of_one: Vec<f64> = (totals.iter())
        .map(|total| MOST_OF_ONE * overweight * total)
        .collect();
    let mut found: Vec<Option<f64>> = (spectra.iter())
        .map(|(of, _)| (of.largest > 0.0).then_some(of.largest))
        .collect();
    let mut falls: Vec<_> = (spectra.iter())
        .map(|&(of, points)| of.falls(points).peekable())
        .collect();
    // Slopes are not negative, and have the order of their bits.
    let key = |fall: &Fall, channel: usize| Reverse((fall.slope.to_bits(), channel));
    let mut next: BinaryHeap<_> = (falls.iter_mut().enumerate())
        .filter_map(|(channel, falls)| Some(key(falls.peek()?, channel)))
        .collect();
    while let Some(Reverse((_, channel))) = next.pop() {
        let Some(fall) = falls[channel].next() else {
            continue;
        };
        let threshold = found[channel].get_or_insert(fall.to);
        let allowed = f64::min(left, left_of_one[channel]);
        if fall.added > allowed {
            *threshold -= (*threshold - fall.to) * (allowed / fall.added);
            left -= allowed;
            continue;
        }
        *threshold = fall.to;
        left -= fall.added;
        left_of_one[channel] -= fall.added;
        if let Some(fall) = falls[channel].peek() {
            next.push(key(fall, channel));
        }
    }
    found
}

/// Whether a point becomes an event.
#[inline(always)]
pub fn is_event(weight: f64, number: f64, threshold: f64) -> bool {
    is_usable(weight) && number * threshold < weight.abs()
}

/// The weight of an event: 1 or, above the threshold, more; negative if the point's was.
pub fn event_weight(weight: f64, threshold: f64) -> f64 {
    (weight.abs() / threshold).max(1.0).copysign(weight)
}

#[cfg(test)]
mod tests;
