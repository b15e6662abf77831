//! The verdict on one change, from the comparison of two lists of answers.

use super::worker::Answer;
use mebridge_command::compare::{CANCELLED, ROUNDING, difference};
use mebridge_oracle::fortran_build;
use serde::{Deserialize, Serialize};

/// Difference relative to the unchanged directory's answer that counts as equal: a change can make amplitudes vanish.
const VANISHING: f64 = 1e-13;

/// The answers may differ by this many times the effect of rounding on the Fortran's own answer.
const AS_UNSTABLE: f64 = 10.0;

/// Outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The importer refuses.
    Refused,
    /// Both give the same.
    Agrees,
    /// The same except for rounding: at some event the terms cancel almost completely.
    Rounding,
    /// The importer accepts what gfortran does not.
    NotCompiled,
    /// The Fortran ends, hangs, or gives NaN.
    FortranFails,
    /// No evaluated part of the Fortran depends on the file.
    NotJudged,
    /// The importer, or the process that it made, panics.
    Panics,
    /// The importer takes too long, or too much memory.
    Hangs,
    /// The results differ.
    Differs,
}

/// An outcome with its reason.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub outcome: Outcome,
    pub detail: String,
}

impl Verdict {
    /// Makes a verdict from outcome and reason.
    pub fn new(outcome: Outcome, detail: &str) -> Verdict {
        Verdict {
            outcome,
            detail: detail.to_owned(),
        }
    }
}

/// Reference for comparing answers.
pub struct Measure<'a> {
    /// Answers of the unchanged directory.
    pub unchanged: &'a [f64],
    /// Number of events of a round; the first round has no channel.
    pub points: usize,
    pub tolerance: f64,
    /// Whether colours are chosen by the directory itself.
    pub colors: bool,
}

impl Measure<'_> {
    /// Compares the answers with those of the Fortran. `moved` has the Fortran's answers for momenta changed by
    /// rounding, if they were evaluated: if its own answer changes as much as the two differ, they cannot be compared.
    pub fn compare(
        &self,
        answers: &[Answer],
        fortran: &[fortran_build::Answer],
        moved: &[fortran_build::Answer],
    ) -> Verdict {
        if let Some(bad) = fortran.iter().find(|a| !a.value.is_finite()) {
            let mine = answers.iter().map(|a| a.value.as_str());
            let mine: Vec<&str> = mine.collect();
            let what = format!("{} (mebridge: {})", bad.value, mine.join(" "));
            return Verdict::new(Outcome::FortranFails, &what);
        }
        let mut rounded = None;
        for (event, (mine, theirs)) in answers.iter().zip(fortran).enumerate() {
            let value: f64 = mine.value.parse().unwrap_or(f64::NAN);
            let differs =
                |what: String| Verdict::new(Outcome::Differs, &format!("event {event}: {what}"));
            let terms: f64 = mine.terms.parse().unwrap_or(0.0);
            let unchanged = self.unchanged.get(event % self.points);
            let unchanged = unchanged.map_or(0.0, |x| x.abs());
            let nothing = ROUNDING * terms + VANISHING * unchanged;
            let rounding = theirs.value.abs() <= CANCELLED * terms.max(unchanged)
                && (value - theirs.value).abs() <= nothing;
            if difference(value, theirs.value) > self.tolerance {
                let what = format!("{} and not {:e}", mine.value, theirs.value);
                let apart = (value - theirs.value).abs();
                let unstable = moved
                    .get(event)
                    .is_some_and(|m| apart <= AS_UNSTABLE * (m.value - theirs.value).abs());
                if !rounding && !unstable {
                    return differs(what);
                }
                if unstable {
                    rounded.get_or_insert(format!(
                        "event {event}: {what}; rounding moves the Fortran's as much"
                    ));
                    continue;
                }
                rounded.get_or_insert(format!(
                    "event {event}: {what}, of terms {terms:e}; unchanged {unchanged:e}"
                ));
            }
            if theirs.value.abs() <= nothing {
                // There is only one choice.
                continue;
            }
            let row = &theirs.helicities;
            if theirs.helicity != 0 && theirs.helicity != mine.helicity
                || row.iter().any(|h| *h != 0) && !row.starts_with(&mine.row)
            {
                return differs(format!(
                    "helicity {} {:?} and not {} {row:?}",
                    mine.helicity, mine.row, theirs.helicity
                ));
            }
            let chosen = self.colors && event >= self.points && theirs.color != 0;
            if chosen && theirs.color != mine.color {
                return differs(format!("colour {} and not {}", mine.color, theirs.color));
            }
        }
        match rounded {
            Some(what) => Verdict::new(Outcome::Rounding, &what),
            None => Verdict::new(Outcome::Agrees, ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine(value: f64, helicity: u32, row: [i8; 2]) -> Answer {
        Answer {
            value: format!("{value:e}"),
            terms: "1e0".into(),
            helicity,
            row: row.into(),
            color: 1,
        }
    }

    fn theirs(value: f64, helicity: u32, row: [i8; 2]) -> fortran_build::Answer {
        fortran_build::Answer {
            value,
            helicity,
            color: 1,
            helicities: row.into(),
            parts: Vec::new(),
        }
    }

    /// The effect of rounding on an event does not excuse another event.
    #[test]
    fn what_rounding_moves_hides_no_other_difference() {
        let measure = Measure {
            unchanged: &[1.0, 1.0],
            points: 2,
            tolerance: 1e-7,
            colors: true,
        };
        let outcome = |answers: &[Answer], fortran: &[fortran_build::Answer], moved: &[_]| {
            measure.compare(answers, fortran, moved).outcome
        };
        let unstable = theirs(1.0, 1, [1, 1]);
        let moved = [theirs(1.001, 1, [1, 1]), theirs(2.0, 2, [-1, 1])];
        let other_value = [mine(1.002, 3, [-1, -1]), mine(2.1, 2, [-1, 1])];
        let other_choice = [mine(1.002, 3, [-1, -1]), mine(2.0, 3, [-1, -1])];
        let same = [mine(1.002, 3, [-1, -1]), mine(2.0, 2, [-1, 1])];
        let fortran = [unstable, theirs(2.0, 2, [-1, 1])];
        assert_eq!(outcome(&same, &fortran, &[]), Outcome::Differs);
        assert_eq!(outcome(&same, &fortran, &moved), Outcome::Rounding);
        assert_eq!(outcome(&other_value, &fortran, &moved), Outcome::Differs);
        assert_eq!(outcome(&other_choice, &fortran, &moved), Outcome::Differs);
    }
}
