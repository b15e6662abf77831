//! The summary of a run, as text.

use crate::text::significant;
use std::fmt::Write;

/// A value and its error.
pub type Measured = (f64, f64);

/// The quantity that a run measures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rate {
    /// The cross section of collisions, pb.
    CrossSection,
    /// The partial width of a decaying particle, GeV.
    PartialWidth,
}

impl Rate {
    /// Titles of the columns of processes and of numbers.
    pub fn titles(self) -> [&'static str; 2] {
        match self {
            Rate::CrossSection => ["subprocess (PDG codes)", "cross section, pb"],
            Rate::PartialWidth => ["decay (PDG codes)", "partial width, GeV"],
        }
    }

    /// Its symbol in formulas, and its unit.
    pub fn symbol(self) -> [&'static str; 2] {
        match self {
            Rate::CrossSection => ["σ", "pb"],
            Rate::PartialWidth => ["Γ", "GeV"],
        }
    }
}

/// The contents of the summary of a run.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// Number of events.
    pub events: usize,
    /// The measured quantity.
    pub rate: Rate,
    /// The result of each matrix element, with its name ([`names`](crate::element::names)).
    pub processes: &'a [(String, Measured)],
    /// The sum of all.
    pub all: Measured,
    /// Numbers of points in the rounds: drawn, within all cuts, and turned into events.
    pub points: [f64; 3],
    /// The treatment of overweight events, if there are any.
    pub overweights: Option<String>,
    /// The effect of a bias, if there is one.
    pub biased: Option<String>,
    /// Name of the function that cuts events, the number of events passed to it, and the number that it kept.
    pub cut: Option<(&'a str, u64, u64)>,
}

impl Summary<'_> {
    /// Returns the text: cross sections by subprocess, and the lines of [`Self::lines`].
    pub fn text(&self) -> String {
        let [title, numbers] = self.rate.titles();
        let widest = self.processes.iter().map(|(name, _)| name.len()).max();
        let least = match self.rate {
            // The title may be wider than the column.
            Rate::CrossSection => "all",
            Rate::PartialWidth => title,
        };
        let width = widest.unwrap_or(0).max(least.len());
        let mut text = format!("{}: {} events\n\n", self.name, self.events);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{title:width$}  {numbers}\n");
        for (name, measured) in self.rows() {
            let [value, error] = shown(measured);
            let _ = writeln!(text, "{name:width$}  {value} +- {error}");
        }
        text.push('\n');
        for line in self.lines() {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Returns a row for each matrix element, and one for their sum.
    pub fn rows(&self) -> impl Iterator<Item = (&str, Measured)> {
        let rows = self.processes.iter();
        rows.map(|(name, measured)| (name.as_str(), *measured))
            .chain([("all", self.all)])
    }

    /// Returns lines on how the events were made.
    pub fn lines(&self) -> Vec<String> {
        let [drawn, passed, chosen] = self.points;
        let mut lines = Vec::new();
        if drawn != 0.0 && passed != 0.0 {
            let cuts = match self.rate {
                Rate::CrossSection => {
                    format!("{:.1}% of them in all cuts, ", 100.0 * (passed / drawn))
                }
                Rate::PartialWidth => String::new(),
            };
            let chosen = 100.0 * (chosen / drawn);
            lines.push(format!(
                "{drawn:.0} points, {cuts}{chosen:.2}% became events"
            ));
        }
        lines.extend(self.overweights.iter().chain(&self.biased).cloned());
        if let Some((name, events, kept)) = self.cut.filter(|(_, events, _)| *events > 0) {
            let kept = 100.0 * (kept as f64 / events as f64);
            lines.push(format!("the cut {name} kept {kept:.1}% of {events} events"));
        }
        lines
    }
}

/// Formats a value and its error.
pub fn shown((value, error): Measured) -> [String; 2] {
    [significant(value, 6), significant(error, 2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize>(rows: [(&str, f64, f64); N]) -> Vec<(String, Measured)> {
        let row = |(name, value, error): (&str, f64, f64)| (name.to_owned(), (value, error));
        rows.map(row).to_vec()
    }

    /// The text is that of the former Python package.
    #[test]
    fn a_run_is_summed_up() {
        let processes = rows([
            ("21 21 6 -6", 439.71234567, 1.2345),
            ("2 -2 6 -6", 1e-5, 0.0),
        ]);
        let mut summary = Summary {
            name: "run_01",
            events: 300,
            rate: Rate::CrossSection,
            processes: &processes,
            all: (505.91234, 0.0996),
            points: [1024.0, 1001.0, 300.0],
            overweights: None,
            biased: None,
            cut: None,
        };
        let wanted = "run_01: 300 events\n\nsubprocess (PDG codes)  cross section, pb\n\n\
                      21 21 6 -6  439.712 +- 1.2\n2 -2 6 -6   1e-05 +- 0\n\
                      all         505.912 +- 0.1\n\n\
                      1024 points, 97.8% of them in all cuts, 29.30% became events\n";
        assert_eq!(summary.text(), wanted);
        summary.cut = Some(("of_mine", 800, 100));
        let cut = "the cut of_mine kept 12.5% of 800 events\n";
        assert_eq!(summary.text(), format!("{wanted}{cut}"));
        summary.cut = None;
        summary.points = [0.0; 3];
        let (wanted, _) = wanted.split_once("1024").unwrap();
        assert_eq!(summary.text(), wanted);
    }

    #[test]
    fn decays_are_summed_up() {
        let processes = rows([("6 5 24", 1.4915, 0.00012)]);
        let summary = Summary {
            name: "run_02",
            events: 100,
            rate: Rate::PartialWidth,
            processes: &processes,
            all: (1.4915, 0.00012),
            points: [128.0, 128.0, 100.0],
            overweights: None,
            biased: None,
            cut: None,
        };
        assert_eq!(
            summary.text(),
            "run_02: 100 events\n\ndecay (PDG codes)  partial width, GeV\n\n\
             6 5 24             1.4915 +- 0.00012\nall                1.4915 +- 0.00012\n\n\
             128 points, 78.12% became events\n"
        );
    }
}
