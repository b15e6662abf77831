//! Histograms: how often which relative difference occurs.

use super::axis::Axis;
use super::figure::{self, Bar, Contents, Figure, LineStyle, Panel};
use mebridge::Result;

/// Smaller differences are in the same bar as this power of ten: no two doubles are closer but for equal ones.
const LEAST: i32 = -17;
/// Larger ones in the same as this.
const MOST: i32 = 0;

/// The power of ten of a difference that is not zero.
fn decade(difference: f64) -> i32 {
    // NaN becomes 0 in a conversion, infinity the greatest: both are as different as can be.
    match difference.is_finite() {
        true => (difference.log10().floor() as i32).clamp(LEAST, MOST),
        false => MOST,
    }
}

/// A panel for each process: its name, where it is from, and the differences of its events. As SVG.
pub fn differences(rows: &[(&str, &str, &[f64])]) -> Result<String> {
    let all = rows.iter().flat_map(|row| row.2.iter().copied());
    let decades = all.filter(|d| *d != 0.0).map(decade);
    let (low, high) = decades.fold((-15, -15), |(low, high), n| (low.min(n), high.max(n)));
    let names = std::iter::once("0".to_owned()).chain((low..=high).map(|n| n.to_string()));
    let names: Vec<String> = names.collect();
    let panels = rows.iter().map(|(title, place, values)| {
        let mut counts = vec![0u32; names.len()];
        for &value in *values {
            let bin = match value == 0.0 {
                true => 0,
                false => (decade(value) - low) as usize + 1,
            };
            counts[bin] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1);
        let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let bars = bars.map(|(bin, &count)| {
            let y = f64::from(count);
            Bar {
                from: bin as f64 + 0.05,
                to: bin as f64 + 0.95,
                y,
                low: y,
                high: y,
                look: LineStyle {
                    color: Some(0),
                    ..LineStyle::default()
                },
            }
        });
        Panel {
            title: title.replace(" > ", " \u{2192} "),
            subtitle: format!("{place}, {} events", values.len()),
            x: Axis::names(names.clone()),
            y: Axis::from_zero(f64::from(most)),
            contents: Contents::Bars(bars.collect()),
        }
    });
    figure::svg(&Figure {
        panels: panels.collect(),
        x_description: "power of ten of the relative difference; 0: none".into(),
        y_description: "events".into(),
        legends: Vec::new(),
        notes: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_fall_into_decades() {
        for (difference, power) in [
            (1.1e-16, -16),
            (9.9e-15, -15),
            (1e-30, LEAST),
            (7.0, MOST),
            (f64::INFINITY, MOST),
        ] {
            assert_eq!(decade(difference), power, "{difference}");
        }
        let svg = differences(&[
            ("a > b", "P1", &[0.0, 2e-16, 3e-16, 1e-12]),
            ("c > d", "P2", &[0.0]),
        ])
        .unwrap();
        assert!(
            svg.starts_with("<svg ")
                && svg.contains("P1, 4 events")
                && svg.contains("P2, 1 events")
        );
        assert_eq!(
            svg.matches(">-16</text>").count() + svg.matches(">\n-16\n</text>").count(),
            2
        );
    }
}
