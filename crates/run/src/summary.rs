//! What a run found, as text.

use crate::text::significant;
use std::fmt::Write;

/// A value and its error.
pub type Measured = (f64, f64);

/// What the summary of a run says.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// Of the run.
    pub name: &'a str,
    /// How many were made.
    pub events: usize,
    /// Cross sections of matrix elements, pb, by their names ([`names`](crate::element::names)).
    pub processes: &'a [(String, Measured)],
    /// Of all together, pb.
    pub cross_section: Measured,
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
        let title = "subprocess (PDG codes)";
        let widest = self.processes.iter().map(|(name, _)| name.len()).max();
        // The title may be wider.
        let width = widest.unwrap_or(0).max("all".len());
        let mut text = format!("{}: {} events\n\n", self.name, self.events);
        // A String can always be written to.
        let _ = writeln!(text, "{title:width$}  cross section, pb\n");
        push_rows(&mut text, self.processes, self.cross_section, width);
        let [drawn, passed, chosen] = self.points;
        if drawn != 0.0 && passed != 0.0 {
            let (passed, chosen) = (100.0 * (passed / drawn), 100.0 * (chosen / drawn));
            let _ = writeln!(
                text,
                "{drawn:.0} points, {passed:.1}% of them in all cuts, {chosen:.2}% became events"
            );
        }
        for line in self.overweights.iter().chain(&self.biased) {
            let _ = writeln!(text, "{line}");
        }
        if let Some((name, events, kept)) = self.cut.filter(|(_, events, _)| *events > 0) {
            let kept = 100.0 * (kept as f64 / events as f64);
            let _ = writeln!(text, "the cut {name} kept {kept:.1}% of {events} events");
        }
        text
    }
}

/// Partial widths by decay, GeV, of a run with this name, which made events of so many points.
pub fn of_decays(
    name: &str,
    events: usize,
    points: u64,
    decays: &[(String, Measured)],
    width: Measured,
) -> String {
    let title = "decay (PDG codes)";
    let widest = decays.iter().map(|(name, _)| name.len()).max();
    let column = widest.unwrap_or(0).max(title.len());
    let mut text = format!("{name}: {events} events\n\n{title:column$}  partial width, GeV\n\n");
    push_rows(&mut text, decays, width, column);
    let share = 100.0 * (events as f64 / points as f64);
    let _ = writeln!(text, "{points} points, {share:.2}% became events");
    text
}

/// A line for each, and one for all together.
fn push_rows(text: &mut String, rows: &[(String, Measured)], all: Measured, width: usize) {
    let rows = rows.iter().map(|(name, value)| (name.as_str(), *value));
    for (name, (value, error)) in rows.chain([("all", all)]) {
        let (value, error) = (significant(value, 6), significant(error, 2));
        let _ = writeln!(text, "{name:width$}  {value} +- {error}");
    }
    text.push('\n');
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
            processes: &processes,
            cross_section: (505.91234, 0.0996),
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
        let decays = rows([("6 5 24", 1.4915, 0.00012)]);
        let text = of_decays("run_02", 100, 128, &decays, (1.4915, 0.00012));
        assert_eq!(
            text,
            "run_02: 100 events\n\ndecay (PDG codes)  partial width, GeV\n\n\
             6 5 24             1.4915 +- 0.00012\nall                1.4915 +- 0.00012\n\n\
             128 points, 78.12% became events\n"
        );
    }
}
