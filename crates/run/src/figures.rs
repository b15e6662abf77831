//! Spectra as figures of a page, with tables of their numbers.

use crate::chart::{Chart, Curve, ratios};
use crate::markup::{Cell, curve_classes, escaped, table};
use crate::spectra::{BINS, OBSERVABLES, ParticleSpectrum, Spectra, kind_name};
use crate::summary::shown;
use crate::text::significant;

/// Spectra of one sample of events, whose weights are multiplied by `factor`.
#[derive(Clone, Debug)]
pub struct ScaledSpectra<'a> {
    /// Name of the sample in the legend.
    pub name: String,
    /// The spectra; all samples have the same bins.
    pub spectra: &'a Spectra,
    /// Factor by which weights are multiplied, such that they add up to the cross section, for example.
    pub factor: f64,
    /// Identifies the events: samples of the same events with other weights are not independent.
    pub origin: usize,
}

/// Returns a piece of a curve's line, for legends.
fn key(number: usize) -> String {
    let classes = curve_classes(number);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"12\">\
         <path class=\"curve {classes}\" d=\"M0 6H40\"/></svg>"
    )
}

/// Returns the legend of several samples.
pub fn legend(samples: &[ScaledSpectra]) -> String {
    let item = |(number, sample): (usize, &ScaledSpectra)| {
        format!("<li>{}{}</li>\n", key(number), escaped(&sample.name))
    };
    let items: String = samples.iter().enumerate().map(item).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

/// Returns figures of the spectra of all kinds. `symbol` and `unit` are those of the quantity that spectra add up to.
///
/// # Panics
/// If a sample has other spectra than the first one.
pub fn figures(samples: &[ScaledSpectra], [symbol, unit]: [&str; 2]) -> String {
    let Some(first) = samples.first() else {
        return String::new();
    };
    // Tables of several samples take the full width of the page.
    let beside = match samples.len() {
        1 => " class=\"pair\"",
        _ => "",
    };
    let mut text = String::new();
    for (number, of_kind) in first
        .spectra
        .all
        .chunks_exact(OBSERVABLES.len())
        .enumerate()
    {
        let places = number * OBSERVABLES.len()..;
        let (mut pictures, mut tables) = (String::new(), String::new());
        for (spectrum, place) in of_kind.iter().zip(places) {
            let curves: Vec<Curve> = samples
                .iter()
                .map(|sample| Curve {
                    bins: sample.spectra.all[place].per_width(sample.factor),
                })
                .collect();
            pictures += &figure(spectrum, samples, &curves, [symbol, unit]);
            tables += &numbers(spectrum, samples, &curves, place, [symbol, unit]);
        }
        text += &format!(
            "<h3>{}</h3>\n<div class=\"pair\">\n{pictures}</div>\n<details>\n<summary>numbers</summary>\n\
             <div{beside}>\n{tables}</div>\n</details>\n",
            kind_name(of_kind[0].kind)
        );
    }
    text
}

/// Returns the title of the horizontal axis, with the unit.
fn observable_title(spectrum: &ParticleSpectrum) -> String {
    let observable = spectrum.observable;
    match observable.unit() {
        Some(unit) => format!("{}, {unit}", observable.name()),
        None => observable.name().to_owned(),
    }
}

/// Returns the title of the vertical axis, with the unit.
fn value_title(spectrum: &ParticleSpectrum, [symbol, unit]: [&str; 2]) -> String {
    let name = format!("d{symbol}/d{}", spectrum.observable.symbol());
    match (unit, spectrum.observable.unit()) {
        ("", None) => name,
        ("", Some(per)) => format!("{name}, 1/{per}"),
        (unit, Some(per)) if unit == per => name,
        (unit, Some(per)) => format!("{name}, {unit}/{per}"),
        (unit, None) => format!("{name}, {unit}"),
    }
}

fn figure(
    spectrum: &ParticleSpectrum,
    samples: &[ScaledSpectra],
    curves: &[Curve],
    of: [&str; 2],
) -> String {
    let chart = Chart {
        axes: [&observable_title(spectrum), &value_title(spectrum, of)],
        edges: spectrum.histogram.edges(),
        curves,
        falls: spectrum.observable.unit().is_some(),
    };
    let mut compared = String::new();
    for (number, (sample, curve)) in samples.iter().zip(curves).enumerate().skip(1) {
        if sample.origin != samples[0].origin {
            let (sum, bins) = chi_squared(&curve.bins, &curves[0].bins);
            let sum = significant(sum, 3);
            compared += &format!("<li>{}χ² = {sum} of {bins} bins</li>\n", key(number));
        }
    }
    if !compared.is_empty() {
        compared = format!("<figcaption><ul class=\"legend\">\n{compared}</ul></figcaption>\n");
    }
    format!("<figure>\n{}{compared}</figure>\n", chart.svg())
}

/// Returns χ² of two independent histograms, and the number of bins that contribute.
fn chi_squared(one: &[(f64, f64)], other: &[(f64, f64)]) -> (f64, usize) {
    let terms = one.iter().zip(other).filter_map(|((a, error), (b, its))| {
        let variance = error * error + its * its;
        (variance > 0.0).then(|| (a - b) * (a - b) / variance)
    });
    terms.fold((0.0, 0), |(sum, count), term| (sum + term, count + 1))
}

/// Returns the numbers of a spectrum as a table.
fn numbers(
    spectrum: &ParticleSpectrum,
    samples: &[ScaledSpectra],
    curves: &[Curve],
    place: usize,
    of: [&str; 2],
) -> String {
    let edges = spectrum.histogram.edges();
    let (title, value) = (observable_title(spectrum), value_title(spectrum, of));
    let mut titles = vec![title.as_str()];
    for _ in samples {
        titles.extend(["%", &value, "±"]);
    }
    titles.extend(samples.iter().skip(1).map(|_| "ratio"));
    let shares: Vec<[f64; BINS]> = samples
        .iter()
        .map(|sample| sample.spectra.all[place].histogram.shares())
        .collect();
    let ratios: Vec<_> = curves
        .iter()
        .map(|curve| ratios(&curve.bins, &curves[0].bins))
        .collect();
    let row = |bin: usize| {
        let [from, to] = [0, 1].map(|side| significant(edges[bin + side], 4));
        let mut cells = vec![Cell::Text(format!("{from} to {to}"))];
        for (curve, shares) in curves.iter().zip(&shares) {
            let [value, error] = shown(curve.bins[bin]);
            cells.push(Cell::Number(format!("{:.2}", shares[bin])));
            cells.extend([value, error].map(Cell::Number));
        }
        for ratio in ratios.iter().skip(1) {
            cells.push(Cell::Number(match ratio[bin].0 {
                ratio if ratio.is_nan() => String::new(),
                ratio => significant(ratio, 4),
            }));
        }
        cells
    };
    let rows: Vec<Vec<Cell>> = (0..BINS).map(row).collect();
    let order = match samples.len() {
        1 => "",
        _ => "<p class=\"note\">columns in the order of the samples above</p>\n",
    };
    format!("<div>\n{order}{}</div>\n", table(&titles, &rows))
}
