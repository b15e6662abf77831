//! The table, in Markdown, a line when its row is done; then what is to be said of all rows.

use crate::rows::{Call, Row};
use crate::statistics::Summary;
use std::collections::BTreeMap;

/// A row whose ratio is below this has become slower.
pub const SLOWER: f64 = 0.97;

/// How a row ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Events of the sample, and the times.
    Measured(usize, Summary),
    /// Why it was left out.
    Skipped(String),
    /// What was wrong.
    Wrong(String),
}

/// All rows that are done.
#[derive(Default)]
pub struct Report {
    measured: usize,
    slower: Vec<String>,
    wrong: Vec<String>,
    skipped: BTreeMap<String, Vec<String>>,
}

/// The two lines that begin the table.
pub fn heading(names: &[String; 2]) -> String {
    let [old, new] = names;
    format!(
        "| row | events a call | {old}, ME/s | {new}, ME/s | ratio | smallest to largest |\n|---|---|---|---|---|---|"
    )
}

impl Report {
    /// Takes a row in; its line of the table, where it has one.
    pub fn add(&mut self, row: &Row, ending: Ending) -> Option<String> {
        match ending {
            Ending::Measured(events, summary) => {
                self.measured += 1;
                let ratio = format!("{:.3}", summary.ratio);
                let slower = summary.ratio < SLOWER;
                if slower {
                    self.slower.push(format!("{row}: {ratio}"));
                }
                let events = match row.call {
                    Call::OneEvent => 1,
                    _ => events,
                };
                let bold = if slower { "**" } else { "" };
                Some(format!(
                    "| {row} | {events} | {} | {} | {bold}{ratio}{bold} | {:.3} to {:.3} |",
                    short(summary.old),
                    short(summary.new),
                    summary.smallest,
                    summary.largest,
                ))
            }
            Ending::Skipped(why) => {
                self.skipped.entry(why).or_default().push(row.to_string());
                None
            }
            Ending::Wrong(what) => {
                self.wrong.push(format!("{row}: {what}"));
                Some(format!("| {row} | | | | **wrong** | |"))
            }
        }
    }

    /// What stands below the table.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (why, rows) in &self.skipped {
            text += &format!("\nSkipped, {why}: {}.\n", rows.join(", "));
        }
        for (what, rows) in [
            (format!("Below {SLOWER}"), &self.slower),
            ("Wrong".into(), &self.wrong),
        ] {
            if !rows.is_empty() {
                text += &format!("\n{what}:\n\n");
                text.extend(rows.iter().map(|row| format!("- {row}\n")));
            }
        }
        if self.measured == 0 {
            text += "\nNo row was measured.\n";
        } else if self.good() {
            text += &format!("\nNone of {} rows is below {SLOWER}.\n", self.measured);
        }
        text
    }

    /// Whether something was measured, nothing was wrong and no row has become slower.
    pub fn good(&self) -> bool {
        self.measured > 0 && self.slower.is_empty() && self.wrong.is_empty()
    }
}

/// Four significant digits.
fn short(x: f64) -> String {
    format!("{x:.3e}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{self, Backend};
    use crate::statistics::Round;

    #[test]
    fn slower_rows_are_named_and_make_it_bad() {
        let rows = rows::all(Backend::Cpu);
        let mut report = Report::default();
        assert!(!report.good());
        let measured = |old, new| Ending::Measured(64, Summary::new(&[Round { old, new }]));
        let line = report.add(&rows[0], measured(0.99, 1.0)).unwrap();
        assert_eq!(
            line,
            "| ee_mumu alone 512z d | 64 | 1.010e0 | 1.000e0 | 0.990 | 0.990 to 0.990 |"
        );
        assert_eq!(
            report.add(&rows[1], Ending::Skipped("it is not there".into())),
            None
        );
        assert!(report.good());
        assert!(
            report
                .text()
                .contains("Skipped, it is not there: ee_mumu alone 512z f.")
        );
        assert!(report.text().contains("None of 1 rows"));
        assert!(
            report
                .add(&rows[2], measured(0.7, 1.0))
                .unwrap()
                .contains("**0.700**")
        );
        assert!(!report.good());
        assert!(report.text().contains("- ee_mumu alone avx2 d: 0.700"));
    }

    #[test]
    fn different_numbers_make_it_bad() {
        let mut report = Report::default();
        let row = &rows::all(Backend::Cuda)[0];
        report.add(
            row,
            Ending::Measured(64, Summary::new(&[Round { old: 1.0, new: 1.0 }])),
        );
        report.add(row, Ending::Wrong("they differ".into()));
        assert!(!report.good());
        assert!(
            report
                .text()
                .contains("- ee_mumu alone cuda d: they differ")
        );
    }
}
