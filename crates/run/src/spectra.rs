//! Spectra of the outgoing particles: histograms of their transverse momenta and rapidities, and their text for a
//! terminal.

use crate::records::{RoundFile, RowFile};
use crate::text::significant;
use mebridge::Result;
use mebridge::lhe::{OUTGOING, Particle, Record};
use mebridge_support::sorted::SortedMap;
use std::cmp::Reverse;

/// Largest number of events in the spectra of a run; for an event file, the number of events from which bins are
/// chosen.
pub const MAX_EVENTS: usize = 200_000;
/// Number of bins of a histogram.
pub const BINS: usize = 12;
/// Lengths in characters: of the longest bar, and of the first of two columns.
const BAR_LENGTH: f64 = 24.0;
const COLUMN: usize = 47;
/// Largest number of particle kinds that are shown, the most frequent first.
pub const KINDS: usize = 4;
/// PDG codes of gluons and all quarks except the top, which are treated as one kind.
const PARTONS: [i32; 6] = [1, 2, 3, 4, 5, 21];

/// A quantity measured for each particle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ParticleObservable {
    /// In GeV.
    TransverseMomentum,
    /// With respect to the beam axis.
    Rapidity,
}

/// All observables, in the order of their discriminants.
pub const OBSERVABLES: [ParticleObservable; 2] = [
    ParticleObservable::TransverseMomentum,
    ParticleObservable::Rapidity,
];

impl ParticleObservable {
    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            ParticleObservable::TransverseMomentum => "pt",
            ParticleObservable::Rapidity => "rapidity",
        }
    }

    /// Its symbol in formulas.
    pub fn symbol(self) -> &'static str {
        match self {
            ParticleObservable::TransverseMomentum => "pt",
            ParticleObservable::Rapidity => "y",
        }
    }

    /// Its unit; `None` if it is dimensionless.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            ParticleObservable::TransverseMomentum => Some("GeV"),
            ParticleObservable::Rapidity => None,
        }
    }
}

/// Names of the particles of the standard model, with their antiparticles, as in MG5aMC; 21 stands for [`PARTONS`].
const NAMES: [(i32, &str); 12] = [
    (6, "t t~"),
    (11, "e- e+"),
    (12, "ve ve~"),
    (13, "mu- mu+"),
    (14, "vm vm~"),
    (15, "ta- ta+"),
    (16, "vt vt~"),
    (21, "partons (g, d to b)"),
    (22, "a"),
    (23, "z"),
    (24, "w+ w-"),
    (25, "h"),
];

/// The title of a kind of particles; `code` is a PDG code without sign.
pub fn kind_name(code: i32) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == code);
    known.map_or_else(
        || format!("PDG code {code}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// The contents of a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// The sum of weights.
    pub sum: f64,
    /// The sum over events of the squared contribution of each event: several particles of one event are not
    /// independent.
    pub squares: f64,
    /// The sums of weight times value, and of weight times squared value.
    pub moments: [f64; 2],
    /// Number of values.
    pub entries: u64,
    /// The last event that contributed, and the weight that it has added so far.
    last: (u64, f64),
}

impl Bin {
    fn add(&mut self, event: u64, value: f64, weight: f64) {
        if self.entries == 0 || self.last.0 != event {
            self.last = (event, 0.0);
        }
        let before = self.last.1;
        self.last.1 += weight;
        self.squares += self.last.1 * self.last.1 - before * before;
        self.sum += weight;
        self.moments[0] += weight * value;
        self.moments[1] += weight * value * value;
        self.entries += 1;
    }

    /// The statistical error of the sum.
    pub fn error(&self) -> f64 {
        self.squares.max(0.0).sqrt()
    }
}

/// A histogram with bins of equal width.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    range: [f64; 2],
    /// The bins within the range.
    pub bins: [Bin; BINS],
    /// The values below and above the range.
    pub outside: [Bin; 2],
    /// All values. Its squares are not the sum of those of the bins where an event contributes to several.
    pub total: Bin,
}

impl Histogram {
    fn new(range: [f64; 2]) -> Self {
        Histogram {
            range,
            bins: Default::default(),
            outside: Default::default(),
            total: Bin::default(),
        }
    }

    /// The lower edge of a bin; for [`BINS`], the upper edge of the last bin.
    pub fn edge(&self, bin: usize) -> f64 {
        let [low, high] = self.range;
        match bin {
            BINS => high,
            _ => low + bin as f64 * ((high - low) / BINS as f64),
        }
    }

    /// All edges.
    pub fn edges(&self) -> [f64; BINS + 1] {
        std::array::from_fn(|bin| self.edge(bin))
    }

    fn fill(&mut self, event: u64, value: f64, weight: f64) {
        let [low, high] = self.range;
        let bin = match value {
            _ if value < low => &mut self.outside[0],
            _ if value > high => &mut self.outside[1],
            _ => {
                let bin = ((value - low) / (high - low) * BINS as f64) as usize;
                let bin = bin.min(BINS - 1);
                // The bin follows from the edges as shown, also where the division above was rounded across one.
                let bin = match bin {
                    _ if value < self.edge(bin) => bin - 1,
                    _ if bin + 1 < BINS && value >= self.edge(bin + 1) => bin + 1,
                    _ => bin,
                };
                &mut self.bins[bin]
            }
        };
        bin.add(event, value, weight);
        self.total.add(event, value, weight);
    }

    /// The share of each bin in all weights, in per cent rounded to two decimals.
    pub fn shares(&self) -> [f64; BINS] {
        let total = match self.total.sum {
            0.0 => 1.0,
            total => total,
        };
        // Adding 0.0 turns -0.0 into 0.0.
        self.bins
            .map(|bin| (100.0 * bin.sum / total * 100.0).round_ties_even() / 100.0 + 0.0)
    }
}

/// Values of the particles of a kind, collected before bins are chosen.
#[derive(Debug, Default)]
struct Values {
    events: Vec<u64>,
    weights: Vec<f64>,
    of: [Vec<f64>; OBSERVABLES.len()],
}

/// The outgoing particles of some events.
#[derive(Debug, Default)]
pub struct Collection {
    kinds: SortedMap<i32, Values>,
    events: u64,
    weight: f64,
}

/// Ranges of the histograms of each kind, one per observable.
pub type Ranges = SortedMap<i32, [[f64; 2]; OBSERVABLES.len()]>;

impl Collection {
    /// Adds an event.
    pub fn add(&mut self, particles: impl Iterator<Item = Particle>, weight: f64) {
        for (code, values) in outgoing(particles) {
            let kind = self.kinds.entry(code).or_default();
            kind.events.push(self.events);
            kind.weights.push(weight);
            for (all, value) in kind.of.iter_mut().zip(values) {
                all.push(value);
            }
        }
        self.events += 1;
        self.weight += weight;
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.events as usize
    }

    /// Its kinds, the most frequent first.
    pub fn kinds(&self) -> Vec<i32> {
        let mut codes: Vec<i32> = self.kinds.keys().copied().collect();
        codes.sort_by_key(|code| Reverse(self.kinds[code].weights.len()));
        codes
    }

    /// Returns ranges with round bin widths that contain nearly all values of these kinds.
    ///
    /// # Panics
    /// If there are no particles of a kind.
    pub fn ranges(&self, kinds: &[i32]) -> Ranges {
        let of = |code: &i32| {
            let [transverse, rapidities] = &self.kinds[code].of;
            (*code, [from_zero(transverse), around_zero(rapidities)])
        };
        kinds.iter().map(of).collect()
    }

    /// Returns the spectra with these ranges.
    ///
    /// # Panics
    /// If there are no particles of a kind.
    pub fn spectra(&self, kinds: &[i32], ranges: &Ranges) -> Spectra {
        let mut spectra = Spectra::new(kinds, ranges);
        (spectra.events, spectra.weight) = (self.events, self.weight);
        for spectrum in &mut spectra.all {
            let values = &self.kinds[&spectrum.kind];
            let of = &values.of[spectrum.observable as usize];
            for ((&event, &value), &weight) in values.events.iter().zip(of).zip(&values.weights) {
                spectrum.histogram.fill(event, value, weight);
            }
        }
        spectra
    }
}

/// Returns the kind and the observables of each outgoing particle.
fn outgoing(
    particles: impl Iterator<Item = Particle>,
) -> impl Iterator<Item = (i32, [f64; OBSERVABLES.len()])> {
    particles
        .filter(|of| of.status == OUTGOING)
        .map(|particle| {
            let code = particle.pdg.saturating_abs();
            let code = if PARTONS.contains(&code) { 21 } else { code };
            (code, transverse_and_rapidity(&particle))
        })
}

fn transverse_and_rapidity(particle: &Particle) -> [f64; 2] {
    let [x, y, z, energy, mass] = particle.momentum;
    let transverse = x.hypot(y);
    // The smaller of E + pz and E - pz loses its digits for a particle along a beam, so the larger one is used.
    let [along, across] =
        [energy + z.abs(), transverse.hypot(mass)].map(|of| of.max(f64::MIN_POSITIVE));
    let rapidity = along.ln() - across.ln();
    [transverse, rapidity.copysign(z)]
}

/// The spectrum of one observable of one kind of particles.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleSpectrum {
    /// PDG code without sign; 21 stands for gluons and all quarks except the top.
    pub kind: i32,
    /// The observable.
    pub observable: ParticleObservable,
    /// The weights, binned in the observable.
    pub histogram: Histogram,
}

impl ParticleSpectrum {
    /// Returns the weights of the bins, multiplied by `factor` and divided by the bin width, with their errors.
    pub fn per_width(&self, factor: f64) -> [(f64, f64); BINS] {
        let histogram = &self.histogram;
        std::array::from_fn(|bin| {
            let width = histogram.edge(bin + 1) - histogram.edge(bin);
            let of = histogram.bins[bin];
            (factor * of.sum / width, (factor * of.error() / width).abs())
        })
    }

    /// The observable and kind, with the unit.
    pub fn title(&self) -> String {
        let unit = self
            .observable
            .unit()
            .map_or(String::new(), |unit| format!(", {unit}"));
        format!(
            "{} of {}{unit}",
            self.observable.name(),
            kind_name(self.kind)
        )
    }
}

/// Spectra of a sample of events.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectra {
    /// Number of events.
    pub events: u64,
    /// The sum of their weights.
    pub weight: f64,
    /// `[kind][observable]`, flattened.
    pub all: Vec<ParticleSpectrum>,
}

impl Spectra {
    fn new(kinds: &[i32], ranges: &Ranges) -> Self {
        let spectra = kinds.iter().flat_map(|&kind| {
            OBSERVABLES.map(|observable| ParticleSpectrum {
                kind,
                observable,
                histogram: Histogram::new(ranges[&kind][observable as usize]),
            })
        });
        Spectra {
            events: 0,
            weight: 0.0,
            all: spectra.collect(),
        }
    }

    /// Returns the spectra of the most frequent kinds of particles of a run.
    ///
    /// # Errors
    /// A round cannot be read.
    pub fn from_rounds(rounds: &[RoundFile]) -> Result<Self> {
        let mut found = Collection::default();
        for round in rounds {
            let taken = round.events.min(MAX_EVENTS - found.events());
            let (table, _) = RowFile::records(&round.file, round.events)?;
            table.each(taken, |row| {
                let record = Record::new(row);
                // In units of the nominal weight of the round, as in the event file, where most weights are the same.
                found.add(record.particles(), record.weight() / round.weights.nominal);
            })?;
        }
        let mut kinds = found.kinds();
        kinds.truncate(KINDS);
        Ok(found.spectra(&kinds, &found.ranges(&kinds)))
    }

    /// Adds an event.
    pub fn add(&mut self, particles: impl Iterator<Item = Particle>, weight: f64) {
        for (kind, values) in outgoing(particles) {
            for spectrum in self.all.iter_mut().filter(|of| of.kind == kind) {
                let value = values[spectrum.observable as usize];
                spectrum.histogram.fill(self.events, value, weight);
            }
        }
        self.events += 1;
        self.weight += weight;
    }

    /// Returns the text for a terminal.
    pub fn text(&self) -> String {
        let Spectra { events, all, .. } = self;
        if all.is_empty() {
            return String::new();
        }
        let mut text = format!("\nspectra of {events} events, % of the particles\n");
        for of_kind in all.chunks_exact(OBSERVABLES.len()) {
            let [left, right] = [0, 1].map(|place| &of_kind[place]);
            let (title, other) = (left.title(), right.observable.name());
            text += &format!("\n{title:COLUMN$}{other}\n\n");
            for (left, right) in bars(&left.histogram).zip(bars(&right.histogram)) {
                text += format!("{left:COLUMN$}{right}").trim_end();
                text.push('\n');
            }
        }
        text
    }
}

/// Returns a range from 0 upwards that contains nearly all values, with round bin widths.
fn from_zero(values: &[f64]) -> [f64; 2] {
    let bins = BINS as f64;
    [
        0.0,
        bins * bin_width(quantile(values.to_vec(), 0.99) / bins),
    ]
}

/// Returns the same for a range that is symmetric about 0.
fn around_zero(values: &[f64]) -> [f64; 2] {
    let sizes = values.iter().map(|value| value.abs()).collect();
    let bins = BINS as f64 / 2.0;
    let half = bins * bin_width(quantile(sizes, 0.995) / bins);
    [-half, half]
}

/// Returns the value below which this share of the values lies, interpolated linearly between neighbours.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    let place = share * (values.len() - 1) as f64;
    let (_, &mut below, larger) = values.select_nth_unstable_by(place as usize, f64::total_cmp);
    let above = larger.iter().copied().fold(f64::INFINITY, f64::min);
    match place.fract() {
        0.0 => below,
        share => below + (above - below) * share,
    }
}

/// Rounds a bin width up; the minimum is for values that are all 0.
fn bin_width(width: f64) -> f64 {
    rounded(width.max(1e-6))
}

/// Rounds a positive number up to 1, 2, 2.5 or 5 times a power of ten.
pub fn rounded(width: f64) -> f64 {
    let power = 10_f64.powf(width.log10().floor());
    let mut steps = [1.0, 2.0, 2.5, 5.0].map(|step| step * power).into_iter();
    let found = steps.find(|step| *step >= width * (1.0 - 1e-9));
    found.unwrap_or(10.0 * power)
}

/// Returns a line for each bin: its lower edge, its share in per cent, and a bar.
fn bars(histogram: &Histogram) -> impl Iterator<Item = String> {
    let shares = histogram.shares();
    let largest = shares
        .iter()
        .fold(0.0, |largest: f64, share| largest.max(share.abs()));
    let largest = if largest == 0.0 { 1.0 } else { largest };
    shares.into_iter().enumerate().map(move |(bin, share)| {
        let length = (BAR_LENGTH * share.max(0.0) / largest).round_ties_even();
        let (begin, bar) = (
            significant(histogram.edge(bin), 4),
            "#".repeat(length as usize),
        );
        format!("{begin:>8} {share:6.2} {bar}")
    })
}

#[cfg(test)]
#[path = "spectra_tests.rs"]
mod tests;
