//! What a run found, as text.

use crate::text::significant;
use std::fmt::Write;

/// A value and its error.
pub type Measured = (f64, f64);

/// What the numbers of a run are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rate {
    /// Of collisions, pb.
    CrossSection,
    /// Of a particle that decays, GeV.
    PartialWidth,
}

impl Rate {
    /// Titles of what they are of, and of the numbers.
    pub fn titles(self) -> [&'static str; 2] {
        match self {
            Rate::CrossSection => ["subprocess (PDG codes)", "cross section, pb"],
            Rate::PartialWidth => ["decay (PDG codes)", "partial width, GeV"],
        }
    }

    /// Its sign in formulas, and its unit.
    pub fn symbol(self) -> [&'static str; 2] {
        match self {
            Rate::CrossSection => ["σ", "pb"],
            Rate::PartialWidth => ["Γ", "GeV"],
        }
    }
}

/// What the summary of a run says.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// Of the run.
    pub name: &'a str,
    /// How many were made.
    pub events: usize,
    /// What its numbers are.
    pub rate: Rate,
    /// Those of matrix elements, by their names ([`names`](crate::element::names)).
    pub processes: &'a [(String, Measured)],
    /// That of all together.
    pub all: Measured,
    /// Points of the rounds: drawn, in all cuts, and those that became events.
    pub points: [f64; 3],
    /// What became of events that weigh more than others, where there are some.
    pub overweights: Option<String>,
    /// The effect of a bias, if there is one.
    pub biased: Option<String>,
    /// The name of a function that cuts, how many events it was called with, and how many it kept.
    pub cut: Option<(&'a str, u64, u64)>,
}

impl Summary<'_> {
    /// Cross sections by subprocess, and how the events were made.
    pub fn text(&self) -> String {
        let [title, numbers] = self.rate.titles();
        let widest = self.processes.iter().map(|(name, _)| name.len()).max();
        let least = match self.rate {
            // The title may be wider.
            Rate::CrossSection => "all",
            Rate::PartialWidth => title,
        };
        let width = widest.unwrap_or(0).max(least.len());
        let mut text = format!("{}: {} events\n\n", self.name, self.events);
        // A String can always be written to.
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

    /// A row for each matrix element, and one for all together.
    pub fn rows(&self) -> impl Iterator<Item = (&str, Measured)> {
        let rows = self.processes.iter();
        rows.map(|(name, measured)| (name.as_str(), *measured))
            .chain([("all", self.all)])
    }

    /// How events were made.
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

/// A value and its error as they are shown.
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

    /// As the Python package wrote it.
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
