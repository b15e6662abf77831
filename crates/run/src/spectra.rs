//! Spectra of the particles that go out, as text for a terminal.

use crate::records::{Round, Table};
use crate::text::significant;
use mebridge::Result;
use mebridge::lhe::{OUTGOING, Particle, Record};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Events that are looked at.
const MOST: usize = 200_000;
const BINS: usize = 12;
/// Characters of the longest bar, and of both columns where the second one begins.
const LONGEST: f64 = 24.0;
const COLUMN: usize = 47;
/// Kinds of particles that are shown, the most frequent first.
const KINDS: usize = 4;
/// Gluons and quarks but for the top, by PDG code, are one kind.
const PARTONS: [i32; 6] = [1, 2, 3, 4, 5, 21];

/// What is kept of particles of a kind.
#[derive(Default)]
struct Kind {
    transverse: Vec<f64>,
    rapidities: Vec<f64>,
    weights: Vec<f64>,
}

/// Transverse momentum and rapidity of each kind of particle that goes out.
///
/// # Errors
/// A round cannot be read.
pub fn text(rounds: &[Round]) -> Result<String> {
    let mut kinds: BTreeMap<i32, Kind> = BTreeMap::new();
    let mut events = 0;
    for round in rounds {
        let taken = round.events.min(MOST - events);
        let (table, _) = Table::records(&round.file, round.events)?;
        table.each(taken, |row| push_outgoing(&mut kinds, &Record::new(row)))?;
        events += taken;
    }
    let mut kinds: Vec<(i32, Kind)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, kind)| Reverse(kind.weights.len()));
    let mut lines = Vec::new();
    for (code, kind) in kinds.iter().take(KINDS) {
        let named = match PARTONS.contains(code) {
            true => "21, 1 to 5".to_owned(),
            false => format!("{code}, -{code}"),
        };
        let title = format!("pt of {named} (PDG codes), GeV");
        lines.extend([
            String::new(),
            format!("{title:COLUMN$}rapidity"),
            String::new(),
        ]);
        let left = bars(&kind.transverse, &kind.weights, from_zero(&kind.transverse));
        let right = bars(
            &kind.rapidities,
            &kind.weights,
            around_zero(&kind.rapidities),
        );
        let both = left.zip(right);
        lines.extend(
            both.map(|(left, right)| format!("{left:COLUMN$}{right}").trim_end().to_owned()),
        );
    }
    if lines.is_empty() {
        return Ok(String::new());
    }
    let head = format!("\nspectra of {events} events, % of the particles\n");
    Ok(lines.iter().fold(head, |text, line| text + line + "\n"))
}

fn push_outgoing(kinds: &mut BTreeMap<i32, Kind>, record: &Record) {
    for particle in record.particles().filter(|of| of.status == OUTGOING) {
        let code = particle.pdg.abs();
        let code = if PARTONS.contains(&code) { 21 } else { code };
        let (transverse, rapidity) = transverse_and_rapidity(&particle);
        let kind = kinds.entry(code).or_default();
        kind.transverse.push(transverse);
        kind.rapidities.push(rapidity);
        kind.weights.push(record.weight());
    }
}

fn transverse_and_rapidity(particle: &Particle) -> (f64, f64) {
    let [x, y, z, energy, mass] = particle.momentum;
    let transverse = x.hypot(y);
    // The smaller one of E + pz and E - pz has lost its digits where a particle goes along a beam.
    let squared = (transverse * transverse + mass * mass).max(f64::MIN_POSITIVE);
    let rapidity = ((energy + z.abs()) / squared.sqrt()).ln();
    (transverse, rapidity.copysign(z))
}

/// A range from 0 on that holds nearly all, with round bins.
fn from_zero(values: &[f64]) -> [f64; 2] {
    let bins = BINS as f64;
    [0.0, bins * rounded(quantile(values.to_vec(), 0.99) / bins)]
}

/// The same on both sides of 0.
fn around_zero(values: &[f64]) -> [f64; 2] {
    let sizes = values.iter().map(|value| value.abs()).collect();
    let bins = BINS as f64 / 2.0;
    let half = bins * rounded(quantile(sizes, 0.995) / bins);
    [-half, half]
}

/// The value below which this share of them lies, between two of them in proportion.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = share * (values.len() - 1) as f64;
    let below = values[place as usize];
    let above = values[place.ceil() as usize];
    below + (above - below) * place.fract()
}

/// The next larger of 1, 2, 2.5, 5 times a power of ten.
fn rounded(width: f64) -> f64 {
    let power = 10_f64.powf(width.max(1e-6).log10().floor());
    let mut steps = [1.0, 2.0, 2.5, 5.0].map(|step| step * power).into_iter();
    let found = steps.find(|step| *step >= width * (1.0 - 1e-9));
    found.unwrap_or(10.0 * power)
}

/// A line for each bin: where it begins, its share in per cent, and a bar.
fn bars(values: &[f64], weights: &[f64], [low, high]: [f64; 2]) -> impl Iterator<Item = String> {
    let step = (high - low) / BINS as f64;
    let edge = move |bin: usize| {
        if bin == BINS {
            high
        } else {
            low + bin as f64 * step
        }
    };
    let mut sums = [0.0; BINS];
    let mut total = 0.0;
    for (&value, &weight) in values.iter().zip(weights) {
        total += weight;
        if !(low..=high).contains(&value) {
            continue;
        }
        let bin = ((value - low) / (high - low) * BINS as f64) as usize;
        let bin = bin.min(BINS - 1);
        // By the edges that are shown, whatever was rounded.
        let bin = match bin {
            _ if value < edge(bin) => bin - 1,
            _ if bin + 1 < BINS && value >= edge(bin + 1) => bin + 1,
            _ => bin,
        };
        sums[bin] += weight;
    }
    let total = if total == 0.0 { 1.0 } else { total };
    // Without the sign of a zero.
    let shares = sums.map(|sum| (100.0 * sum / total * 100.0).round_ties_even() / 100.0 + 0.0);
    let largest = shares
        .iter()
        .fold(0.0, |largest: f64, share| largest.max(share.abs()));
    let largest = if largest == 0.0 { 1.0 } else { largest };
    shares.into_iter().enumerate().map(move |(bin, share)| {
        let length = (LONGEST * share.max(0.0) / largest).round_ties_even();
        let (begin, bar) = (significant(edge(bin), 4), "#".repeat(length as usize));
        format!("{begin:>8} {share:6.2} {bar}")
    })
}

#[cfg(test)]
#[path = "spectra_tests.rs"]
mod tests;
