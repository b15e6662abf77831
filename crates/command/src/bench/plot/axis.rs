//! Axes: their ends, ticks and labels.

/// An axis of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Whether it is logarithmic.
    pub log: bool,
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// Ticks with labels.
    pub ticks: Vec<(f64, String)>,
    /// Lines between them.
    pub light: Vec<f64>,
    /// Power of ten that labels are to be multiplied with.
    pub exponent: i32,
}

/// Mantissas of ticks where whole decades are too far apart.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

impl Axis {
    /// A logarithmic axis that holds these (positive) numbers with a little room on both sides.
    pub fn log(low: f64, high: f64) -> Axis {
        let (low, high) = (low / 1.25, high * 1.25);
        let first = low.log10().floor() as i32;
        let last = high.log10().ceil() as i32;
        let inside = |x: &f64| (low..=high).contains(x);
        let decades: Vec<i32> = (first..=last).filter(|&n| inside(&power(n))).collect();
        let ticks = if decades.len() >= 2 {
            // At most eight labels.
            let every = decades.len().div_ceil(8);
            let labelled = decades.iter().step_by(every);
            labelled.map(|&n| (power(n), power_text(n))).collect()
        } else {
            let steps = (first..=last).flat_map(|n| STEPS.map(|m| (m, n)));
            let steps: Vec<(f64, i32)> = steps.filter(|&(m, n)| inside(&(m * power(n)))).collect();
            // All of them in the same way.
            let plain = steps.iter().all(|(_, n)| (0..=4).contains(n));
            let text = |m: f64, n| match plain {
                true => (m * power(n)).to_string(),
                false => step_text(m, n),
            };
            match steps.len() {
                // One tick alone says nothing about the scale.
                0 | 1 => fine(low, high),
                _ => {
                    let labelled = steps.into_iter();
                    labelled.map(|(m, n)| (m * power(n), text(m, n))).collect()
                }
            }
        };
        let light = (first..=last).flat_map(|n| (1..10).map(move |m| f64::from(m) * power(n)));
        Axis {
            log: true,
            low,
            high,
            ticks,
            light: light.filter(inside).collect(),
            exponent: 0,
        }
    }

    /// A logarithmic axis with ticks at these numbers.
    pub fn log_at(low: f64, high: f64, at: &[u64]) -> Axis {
        Axis {
            ticks: at.iter().map(|&n| (n as f64, n.to_string())).collect(),
            light: Vec::new(),
            ..Axis::log(low, high)
        }
    }

    /// A linear axis from zero, in thousands, millions and so on.
    pub fn from_zero(high: f64) -> Axis {
        let exponent = (high.log10() / 3.0).floor() as i32 * 3;
        let unit = power(exponent);
        let high = 1.12 * high;
        let rough = high / unit / 7.0;
        let decade = power(rough.log10().floor() as i32);
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|m| m * decade);
        let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let decimals = if step >= 1.0 && step.fract() == 0.0 {
            0
        } else {
            2
        };
        let ticks = (0..)
            .map(|i| f64::from(i) * step)
            .take_while(|x| x * unit <= high)
            .map(|x| (x * unit, trimmed(format!("{x:.decimals$}"))))
            .collect();
        Axis {
            log: false,
            low: 0.0,
            high,
            ticks,
            light: Vec::new(),
            exponent,
        }
    }

    /// Places 0 to 1, 1 to 2 and so on with a name each.
    pub fn names(names: Vec<String>) -> Axis {
        Axis {
            log: false,
            low: 0.0,
            high: names.len() as f64,
            ticks: (0..).map(|i| f64::from(i) + 0.5).zip(names).collect(),
            light: Vec::new(),
            exponent: 0,
        }
    }

    /// How far along the axis a number lies, from 0 to 1.
    pub fn share(&self, x: f64) -> f64 {
        match self.log {
            true => (x / self.low).ln() / (self.high / self.low).ln(),
            false => (x - self.low) / (self.high - self.low),
        }
    }

    /// The label of a tick.
    pub fn label(&self, x: f64) -> String {
        let near = |tick: &&(f64, String)| (tick.0 - x).abs() <= 1e-9 * tick.0.abs().max(1e-300);
        let tick = self.ticks.iter().find(near);
        tick.map_or(String::new(), |tick| tick.1.clone())
    }
}

/// Ticks at equal distances, for an axis so short that few of [`STEPS`] are on it.
fn fine(low: f64, high: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / 5.0;
    let decade = rough.log10().floor() as i32;
    let steps = [1.0, 2.0, 5.0, 10.0].map(|m| m * power(decade));
    let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let largest = high.log10().floor() as i32;
    let decimals = (largest - step.log10().floor() as i32).max(0) as usize;
    let text = |x: f64| match (0..=4).contains(&largest) && step >= 1.0 {
        true => format!("{x:.0}"),
        false => format!(
            "{:.decimals$}\u{d7}{}",
            x / power(largest),
            power_text(largest)
        ),
    };
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    let ticks = (first..=last).map(|i| i as f64 * step);
    ticks.map(|x| (x, text(x))).collect()
}

/// What stands before a quantity that is given in units of this power of ten.
pub fn unit_text(exponent: i32) -> String {
    match exponent {
        0 => String::new(),
        n => format!("{} ", power_text(n)),
    }
}

/// Three significant digits, without exponent.
pub fn three_digits(x: f64) -> String {
    let decimals = (2 - x.abs().max(1e-300).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{x:.decimals$}")
}

fn power(n: i32) -> f64 {
    10f64.powi(n)
}

/// `10⁵`.
fn power_text(n: i32) -> String {
    let superscript = |c: char| match c {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
    };
    format!(
        "10{}",
        n.to_string().chars().map(superscript).collect::<String>()
    )
}

/// `2×10⁵`.
fn step_text(mantissa: f64, n: i32) -> String {
    match mantissa {
        1.0 => power_text(n),
        _ => format!("{mantissa}\u{d7}{}", power_text(n)),
    }
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.1.as_str()).collect()
    }

    #[test]
    fn decades() {
        let axis = Axis::log(3.0e3, 6.0e6);
        assert_eq!(labels(&axis), ["10⁴", "10⁵", "10⁶"]);
        assert_eq!(axis.label(1e5), "10⁵");
        assert_eq!(axis.label(2e5), "");
        assert!(axis.light.contains(&2e4) && axis.light.iter().all(|&x| x < axis.high));
        assert!(labels(&Axis::log(1.0, 1e20)).len() <= 8);
        assert_eq!(power_text(-12), "10⁻¹²");
    }

    #[test]
    fn less_than_two_decades() {
        assert_eq!(labels(&Axis::log(1.3e5, 8e5)), ["2×10⁵", "5×10⁵", "10⁶"]);
        assert_eq!(labels(&Axis::log(32.0, 512.0)), ["50", "100", "200", "500"]);
        assert_eq!(labels(&Axis::log(4.5e3, 1.7e4)), ["5000", "10000", "20000"]);
        assert_eq!(labels(&Axis::log_at(1.0, 6.0, &[1, 2, 6])), ["1", "2", "6"]);
    }

    #[test]
    fn a_scale_has_more_than_one_tick() {
        assert_eq!(
            labels(&Axis::log(2.1e5, 2.1e5)),
            ["1.8×10⁵", "2.0×10⁵", "2.2×10⁵", "2.4×10⁵", "2.6×10⁵"]
        );
        assert_eq!(labels(&Axis::log(32.0, 64.0)), ["40", "60", "80"]);
        let mut low = 1.0;
        while low < 1e9 {
            for ratio in [1.0, 1.3, 2.0, 4.0, 7.0, 12.0, 90.0, 110.0] {
                let axis = Axis::log(low, ratio * low);
                let mut texts = labels(&axis);
                assert!((2..=9).contains(&texts.len()), "{low} {ratio}: {texts:?}");
                assert!(
                    axis.ticks
                        .iter()
                        .all(|t| (axis.low..=axis.high).contains(&t.0))
                );
                texts.dedup();
                assert_eq!(texts.len(), axis.ticks.len(), "{low} {ratio}: {texts:?}");
            }
            low *= 1.37;
        }
    }

    #[test]
    fn bars() {
        let axis = Axis::from_zero(9.8e4);
        assert_eq!((axis.exponent, axis.low), (3, 0.0));
        assert_eq!(labels(&axis), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(unit_text(3), "10³ ");
        assert_eq!(unit_text(0), "");
        assert_eq!(
            labels(&Axis::from_zero(1.1e6)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]
        );
        let names = Axis::names(vec!["none".into(), "avx2".into()]);
        assert_eq!(names.label(1.5), "avx2");
        assert_eq!(three_digits(98.56), "98.6");
        assert_eq!(three_digits(1.234), "1.23");
        assert_eq!(three_digits(123.4), "123");
    }
}
