//! Histograms as SVG pictures, with error bars and with ratios in a second panel.

use crate::markup::{curve_classes, escaped};
use crate::spectra::{BINS, rounded};
use crate::text::significant;
use std::fmt::Write;

/// Width of the picture, its margins and the height of the upper panel, in units of about a pixel.
const WIDTH: f64 = 520.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const HEIGHT: f64 = 220.0;
/// Heights of the gap between both panels, of the lower panel, and of the space below them.
const GAP: f64 = 14.0;
const RATIOS: f64 = 90.0;
const BOTTOM: f64 = 40.0;
/// Every `NAMED`-th edge has a number.
const NAMED: usize = 3;
/// Approximate number of ticks of an axis.
const TICKS: f64 = 5.0;
/// Ratio of the largest to the least value from which an axis is logarithmic.
const LOGARITHMIC: f64 = 20.0;
/// Smallest and largest half-width of the range of ratios around 1.
const RATIO_RANGE: [f64; 2] = [0.05, 1.0];
/// Ratios with errors of this size or more do not affect the range.
const UNKNOWN: f64 = 0.5;

/// A histogram.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Value and error of each bin.
    pub bins: [(f64, f64); BINS],
}

/// The contents of a picture.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// Titles of the horizontal and vertical axes.
    pub axes: [&'a str; 2],
    /// The edges of the bins.
    pub edges: [f64; BINS + 1],
    /// The histograms; ratios are relative to the first.
    pub curves: &'a [Curve],
    /// Whether the vertical axis may be logarithmic.
    pub falls: bool,
}

/// An axis: the values at its ends, and where it lies in the picture.
#[derive(Clone, Copy, Debug)]
struct Axis {
    ends: [f64; 2],
    is_logarithmic: bool,
    /// Coordinates of the ends in the picture.
    place: [f64; 2],
}

impl Axis {
    /// The coordinate of a value; values outside the range are put at its end.
    fn at(&self, value: f64) -> f64 {
        let [low, high] = self.ends;
        let share = match self.is_logarithmic {
            false => (value - low) / (high - low),
            true if value <= low => 0.0,
            true => (value / low).ln() / (high / low).ln(),
        };
        let [from, to] = self.place;
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// The values that are labelled.
    fn ticks(&self) -> Vec<f64> {
        let [low, high] = self.ends;
        if !self.is_logarithmic {
            let step = rounded((high - low) / TICKS);
            let [first, last] = [
                (low / step).ceil() as i64,
                (high / step * (1.0 + 1e-9)).floor() as i64,
            ];
            return (first..=last).map(|tick| tick as f64 * step).collect();
        }
        let decades = (high / low).log10();
        let factors: &[f64] = if decades < 2.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let [first, last] = [low.log10().floor() as i32, high.log10().ceil() as i32];
        let step = (decades / TICKS).ceil().max(1.0) as usize;
        let powers = (first..=last).step_by(step);
        let all = powers.flat_map(|power| {
            factors
                .iter()
                .map(move |factor| factor * 10_f64.powi(power))
        });
        all.filter(|tick| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(tick))
            .collect()
    }
}

impl Chart<'_> {
    /// Returns the picture. With several curves, a second panel shows the ratios to the first one.
    pub fn svg(&self) -> String {
        let several = self.curves.len() > 1;
        let bottom = TOP + HEIGHT + if several { GAP + RATIOS } else { 0.0 };
        let height = bottom + BOTTOM;
        let label = escaped(format!("{} by {}", self.axes[1], self.axes[0]));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"{label}\">\n"
        );
        let across = Axis {
            ends: [self.edges[0], self.edges[BINS]],
            is_logarithmic: false,
            place: [LEFT, WIDTH - RIGHT],
        };
        let upright = self.upright();
        self.push_panel(&mut text, &across, &upright, self.axes[1]);
        for (number, curve) in self.curves.iter().enumerate() {
            self.push_curve(&mut text, &across, &upright, number, &curve.bins);
        }
        if several {
            self.push_ratios(&mut text, &across, bottom);
        }
        for edge in self.edges.iter().step_by(NAMED) {
            let (x, y) = (across.at(*edge), bottom + 16.0);
            let edge = significant(*edge, 4);
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{edge}</text>"
            );
        }
        let (x, y) = (WIDTH - RIGHT, bottom + 33.0);
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
            escaped(self.axes[0])
        );
        text + "</svg>\n"
    }

    /// Returns the vertical axis.
    fn upright(&self) -> Axis {
        let bins = || self.curves.iter().flat_map(|curve| curve.bins);
        let upper = bins()
            .map(|(value, error)| value + error)
            .fold(0.0, f64::max);
        let lower = bins()
            .map(|(value, error)| value - error)
            .fold(0.0, f64::min);
        let least = bins()
            .map(|(value, _)| value)
            .filter(|value| *value != 0.0)
            .fold(f64::INFINITY, f64::min);
        let is_logarithmic = self.falls && least > 0.0 && upper > LOGARITHMIC * least;
        let ends = match is_logarithmic {
            true => [least / 2.0, 2.0 * upper],
            false if upper == lower => [0.0, 1.0],
            // Error bars of empty bins begin at 0.
            false => [1.05 * lower.min(0.0), 1.05 * upper],
        };
        Axis {
            ends,
            is_logarithmic,
            place: [TOP + HEIGHT, TOP],
        }
    }

    /// Appends the frame of a panel, with ticks and title of its vertical axis.
    fn push_panel(&self, text: &mut String, across: &Axis, upright: &Axis, title: &str) {
        let ([left, right], [bottom, top]) = (across.place, upright.place);
        for tick in upright.ticks() {
            let (y, number) = (upright.at(tick), significant(tick, 4));
            let _ = writeln!(
                text,
                "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        let (width, height) = (right - left, bottom - top);
        let middle = (bottom + top) / 2.0;
        let _ = writeln!(
            text,
            "<rect class=\"frame\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>\
             <text transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(title)
        );
    }

    /// Appends the steps and error bars of a curve.
    fn push_curve(
        &self,
        text: &mut String,
        across: &Axis,
        upright: &Axis,
        number: usize,
        bins: &[(f64, f64)],
    ) {
        let classes = curve_classes(number);
        let (mut steps, mut errors) = (String::new(), String::new());
        let offset = 3.0 * (number as f64 - (self.curves.len() - 1) as f64 / 2.0);
        for (bin, &(value, error)) in bins.iter().enumerate() {
            let [from, to] = [0, 1].map(|side| across.at(self.edges[bin + side]));
            if !value.is_finite() {
                continue;
            }
            let begins = bin == 0 || !bins[bin - 1].0.is_finite();
            let y = upright.at(value);
            let _ = match begins {
                true => write!(steps, "M{from:.1} {y:.1}H{to:.1}"),
                false => write!(steps, "V{y:.1}H{to:.1}"),
            };
            let [low, high] = [value - error, value + error].map(|end| upright.at(end));
            if error > 0.0 && low != high {
                let _ = write!(
                    errors,
                    "M{:.1} {low:.1}V{high:.1}",
                    (from + to) / 2.0 + offset
                );
            }
        }
        let _ = writeln!(
            text,
            "<path class=\"curve {classes}\" d=\"{steps}\"/><path class=\"error {classes}\" d=\"{errors}\"/>"
        );
    }

    /// Appends the ratios to the first curve: error bars are those of each curve, the band is that of the first.
    fn push_ratios(&self, text: &mut String, across: &Axis, bottom: f64) {
        let first = &self.curves[0].bins;
        let ratios: Vec<Vec<(f64, f64)>> = self
            .curves
            .iter()
            .map(|curve| ratios(&curve.bins, first))
            .collect();
        let known = ratios
            .iter()
            .flatten()
            .filter(|(ratio, error)| ratio.is_finite() && *error < UNKNOWN);
        let largest = known
            .map(|(ratio, error)| (ratio - 1.0).abs() + error)
            .fold(0.0, f64::max);
        let half = rounded(largest.clamp(RATIO_RANGE[0], RATIO_RANGE[1]) * (1.0 - 1e-9));
        let upright = Axis {
            ends: [1.0 - half, 1.0 + half],
            is_logarithmic: false,
            place: [bottom, bottom - RATIOS],
        };
        self.push_panel(text, across, &upright, "ratio");
        let mut band = String::new();
        for (bin, (_, error)) in ratios[0]
            .iter()
            .enumerate()
            .filter(|(_, (ratio, _))| ratio.is_finite())
        {
            let [from, to] = [0, 1].map(|side| across.at(self.edges[bin + side]));
            let [low, high] = [1.0 - error, 1.0 + error].map(|end| upright.at(end));
            let _ = write!(band, "M{from:.1} {low:.1}V{high:.1}H{to:.1}V{low:.1}Z");
        }
        let _ = writeln!(
            text,
            "<path class=\"band {}\" d=\"{band}\"/>",
            curve_classes(0)
        );
        for (number, bins) in ratios.iter().enumerate().skip(1) {
            self.push_curve(text, across, &upright, number, bins);
        }
    }
}

/// Returns the ratios of bins to those of another curve, with the errors of the former alone; NaN where the latter is
/// empty.
pub fn ratios(bins: &[(f64, f64)], of: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let ratio = |(&(value, error), &(whole, _)): (&(f64, f64), &(f64, f64))| match whole == 0.0 {
        true => (f64::NAN, f64::NAN),
        false => (value / whole, error / whole.abs()),
    };
    bins.iter().zip(of).map(ratio).collect()
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
