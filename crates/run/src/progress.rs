//! The progress of a run, and the lines that report it.

use crate::text::{general, significant};
use mebridge_sampler::sums::Estimate;
use std::fmt;

/// Width of the bar on a terminal, in characters.
const BAR: usize = 20;
/// Without a terminal, a line is written after this percentage of the events, or after this many seconds.
const PERCENT: u64 = 10;
const SECONDS: f64 = 10.0;

/// The stages of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// The mappings are being adapted.
    Survey,
    /// Events are being made.
    Events,
    /// The pack is being written.
    Packing,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Stage::Survey => "survey",
            Stage::Events => "events",
            Stage::Packing => "packing",
        })
    }
}

/// The progress of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunProgress {
    /// The current stage.
    pub stage: Stage,
    /// Number of events made.
    pub events: u64,
    /// Number of events requested.
    pub target: u64,
    /// The cross section so far; `None` before the first events.
    pub cross_section: Option<Estimate>,
    /// Seconds since the start of this program's run.
    pub seconds: f64,
    /// Unit of the cross section: `pb`, or `GeV` for the width of a decay.
    pub unit: &'static str,
}

impl RunProgress {
    /// Percentage of the events that are made.
    fn percent(&self) -> u64 {
        let share = self.events.min(self.target) as f64 / self.target.max(1) as f64;
        (100.0 * share).floor() as u64
    }

    /// The number of events, the cross section and the time, as text.
    fn found(&self) -> String {
        let cross_section = self.cross_section.map_or_else(String::new, |found| {
            format!(", {}", shown(found, self.unit))
        });
        let (events, target) = (self.events, self.target);
        format!(
            "{events} of {target} events{cross_section}, {:.1} s",
            self.seconds
        )
    }
}

/// A cross section as text.
pub(crate) fn shown(of: Estimate, unit: &str) -> String {
    let (mean, error) = (general(of.mean), significant(of.error, 2));
    format!("{mean} +- {error} {unit}")
}

/// Decides when to report progress, and writes the lines.
#[derive(Debug, Default)]
pub struct Lines {
    is_terminal: bool,
    /// Stage, percentage and seconds of the last line.
    last: Option<(Stage, u64, f64)>,
}

impl Lines {
    /// On a terminal every report is a line with a bar. Elsewhere, such as in the logs of batch systems, lines are
    /// written now and then.
    pub fn new(is_terminal: bool) -> Self {
        Lines {
            is_terminal,
            last: None,
        }
    }

    /// The line for this progress, if one is due.
    pub fn line(&mut self, progress: &RunProgress) -> Option<String> {
        let (stage, percent) = (progress.stage, progress.percent());
        let found = progress.found();
        if self.is_terminal {
            let done = BAR * percent as usize / 100;
            return Some(format!(
                "{stage} [{:BAR$}] {percent} %: {found}",
                "#".repeat(done)
            ));
        }
        let is_new = self.last.is_none_or(|(before, of, at)| {
            let is_over = percent == 100 && of < 100;
            stage != before
                || is_over
                || percent >= of + PERCENT
                || progress.seconds >= at + SECONDS
        });
        is_new.then(|| {
            self.last = Some((stage, percent, progress.seconds));
            format!("{stage} {percent} %: {found}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(stage: Stage, events: u64, seconds: f64) -> RunProgress {
        let found = Estimate {
            mean: 505.91234,
            error: 1.2345,
        };
        RunProgress {
            stage,
            events,
            target: 600,
            cross_section: (events > 0).then_some(found),
            seconds,
            unit: "pb",
        }
    }

    #[test]
    fn a_terminal_has_a_bar_after_each_part() {
        let mut lines = Lines::new(true);
        let mut line = |stage, events| lines.line(&progress(stage, events, 0.25)).unwrap();
        assert_eq!(
            line(Stage::Survey, 0),
            "survey [                    ] 0 %: 0 of 600 events, 0.2 s"
        );
        assert_eq!(
            line(Stage::Events, 300),
            "events [##########          ] 50 %: 300 of 600 events, 505.912 +- 1.2 pb, 0.2 s"
        );
        assert_eq!(
            line(Stage::Events, 601),
            "events [####################] 100 %: 601 of 600 events, 505.912 +- 1.2 pb, 0.2 s"
        );
    }

    #[test]
    fn elsewhere_lines_are_few() {
        let mut lines = Lines::new(false);
        let mut shown =
            |stage, events, seconds| lines.line(&progress(stage, events, seconds)).is_some();
        assert!(shown(Stage::Survey, 0, 1.0));
        let of_events: Vec<u64> = (1..=20).map(|round| 30 * round).collect();
        let count = of_events
            .iter()
            .filter(|&&events| shown(Stage::Events, events, 2.0))
            .count();
        // The first one, one per 10 %, and the last one.
        assert_eq!(count, 11);
        let mut lines = Lines::new(false);
        let mut shown = |events, seconds| {
            lines
                .line(&progress(Stage::Events, events, seconds))
                .is_some()
        };
        let seconds = [1.0, 5.0, 10.9, 11.0, 12.0, 21.0];
        let found = [1, 2, 3, 4, 5, 6].map(|event| shown(event, seconds[event as usize - 1]));
        assert_eq!(found, [true, false, false, true, false, true]);
        assert_eq!(
            lines.line(&progress(Stage::Events, 600, 21.5)).unwrap(),
            "events 100 %: 600 of 600 events, 505.912 +- 1.2 pb, 21.5 s"
        );
        assert_eq!(lines.line(&progress(Stage::Events, 600, 22.0)), None);
    }
}
