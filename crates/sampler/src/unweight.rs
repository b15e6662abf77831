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
//! [`crate::rounds`].

use crate::sums::is_usable;

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
