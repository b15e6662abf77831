//! Cuts: observables of the legs that lie between two numbers, and rules that are no such windows.
//!
//! They mean what `crates/run/src/cuts.rs` has made of a run card or of cuts by name, with the same names, and
//! what MadEvent's `cuts.f` does: rapidities and distances are those of particles with their masses; only the isolation
//! of photons (S. Frixione, hep-ph/9801442) has pseudorapidities. A momentum that is no number passes no cuts, and
//! neither does one of which an observable is asked that it does not have.

pub(crate) mod program;

use crate::Rows;
use mebridge_simd::{Level, dispatch};
use program::{CutCall, CutProgram};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What is wrong with cuts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is no such leg.
    #[error(
        "a cut on leg {leg}, counted from 0, of a process with {legs} legs: give it a leg that goes out"
    )]
    NoLeg {
        /// From 0.
        leg: usize,
        /// How many there are.
        legs: usize,
    },
    /// A window without legs, or without those that it needs.
    #[error("a window in {0:?} with {1} groups of legs: {2}")]
    Groups(Observable, usize, &'static str),
    /// A limit that is no number.
    #[error("a window in {0:?} whose limits are {1} and {2}: both must be numbers or infinite")]
    NoNumber(Observable, f64, f64),
    /// What is taken of several groups.
    #[error(
        "a window takes {0:?} of its groups: it must be all, any, sum, a number such as 0, or +2"
    )]
    Take(String),
    /// A rule that has not what it needs.
    #[error("the rule {0}: {1}")]
    Rule(&'static str, &'static str),
}

/// What a window is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Observable {
    /// Transverse momentum, GeV.
    Pt,
    /// The absolute value of the rapidity in the frame of the detector.
    Rapidity,
    /// In the rest frame of what comes in, GeV.
    Energy,
    /// Of two groups, in rapidity and azimuth.
    Distance,
    /// Invariant mass, GeV.
    Mass,
}

/// What of several groups has to lie in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Take {
    /// Each of them.
    #[default]
    All,
    /// One of them at least.
    Any,
    /// Their sum.
    Sum,
    /// That with this number in falling order, from 0; where there are fewer, nothing is asked.
    Number(usize),
    /// The sum of so many first ones in falling order.
    First(usize),
}

impl FromStr for Take {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse().map_err(|_| Error::Take(text.to_owned())),
            false => Err(Error::Take(text.to_owned())),
        };
        match (text, text.strip_prefix('+')) {
            ("all", _) => Ok(Take::All),
            ("any", _) => Ok(Take::Any),
            ("sum", _) => Ok(Take::Sum),
            (_, Some(digits)) => Ok(Take::First(number(digits)?)),
            (digits, None) => Ok(Take::Number(number(digits)?)),
        }
    }
}

impl From<Take> for String {
    fn from(take: Take) -> String {
        match take {
            Take::All => "all".to_owned(),
            Take::Any => "any".to_owned(),
            Take::Sum => "sum".to_owned(),
            Take::Number(number) => number.to_string(),
            Take::First(count) => format!("+{count}"),
        }
    }
}

impl TryFrom<String> for Take {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

/// An observable that lies between two numbers. In JSON a limit that is not there, or null, is infinite.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Window {
    /// In what.
    pub observable: Observable,
    /// Legs, from 0 and with those that come in, whose momenta are added: one sum for each group; a distance has two.
    pub legs: Vec<Vec<usize>>,
    /// The least value; -infinity for none.
    #[serde(
        default = "no_least",
        deserialize_with = "least",
        serialize_with = "finite"
    )]
    pub least: f64,
    /// The largest one; infinity for none.
    #[serde(
        default = "no_largest",
        deserialize_with = "largest",
        serialize_with = "finite"
    )]
    pub largest: f64,
    /// What has to lie in it.
    #[serde(default)]
    pub take: Take,
    /// The observable lies outside the window instead, or on its border.
    #[serde(default)]
    pub outside: bool,
}

fn no_least() -> f64 {
    f64::NEG_INFINITY
}

fn no_largest() -> f64 {
    f64::INFINITY
}

/// One that is infinite is null.
fn finite<S: serde::Serializer>(limit: &f64, to: S) -> Result<S::Ok, S::Error> {
    limit.is_finite().then_some(limit).serialize(to)
}

fn least<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NEG_INFINITY))
}

fn largest<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

impl Window {
    /// That something lies between two numbers, all groups of it.
    pub fn new(observable: Observable, legs: Vec<Vec<usize>>, least: f64, largest: f64) -> Self {
        Window {
            observable,
            legs,
            least,
            largest,
            take: Take::All,
            outside: false,
        }
    }
}

/// A cut that is no window.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub enum Rule {
    /// One of the jets, in falling order of their transverse momenta, lies in the window of its place.
    Some {
        /// Legs.
        jets: Vec<usize>,
        /// Least and largest transverse momentum of each place, GeV.
        limits: Vec<[f64; 2]>,
    },
    /// The two jets with the largest transverse momenta go to different sides.
    Opposite {
        /// Legs, two or more.
        jets: Vec<usize>,
        /// The least absolute value of their rapidities.
        least: f64,
        /// The least difference of them.
        apart: f64,
    },
    /// Photons have little about them.
    Isolated {
        /// Legs.
        photons: Vec<usize>,
        /// What may be near only with little energy.
        jets: Vec<usize>,
        /// The same for what is electromagnetic, by itself and with the other photons; none where that may be near.
        electromagnetic: Option<Vec<usize>>,
        /// The least transverse momentum of photons, GeV.
        least: f64,
        /// The cone.
        radius: f64,
        /// The power that the allowed energy falls by.
        power: f64,
        /// How much of the photon's transverse momentum is allowed in the whole cone.
        share: f64,
    },
    /// Each two of the jets have a relative transverse momentum: the smaller one of both times their distance in rapidity
    /// and azimuth (`ktdurham` of MadEvent, for hadrons).
    Relative {
        /// Legs, two or more.
        jets: Vec<usize>,
        /// The least one, GeV.
        least: f64,
        /// The unit of distances.
        radius: f64,
    },
}

/// A rule as JSON has it.
#[derive(Deserialize, Serialize)]
struct Plain {
    kind: String,
    legs: Vec<Vec<usize>>,
    /// Those that are infinite are null: the first of two is -infinity then.
    numbers: Vec<Option<f64>>,
}

impl TryFrom<Plain> for Rule {
    type Error = Error;

    fn try_from(plain: Plain) -> Result<Self, Error> {
        let Plain {
            kind,
            mut legs,
            numbers,
        } = plain;
        let finite: Option<Vec<f64>> = numbers.iter().copied().collect();
        match (kind.as_str(), legs.as_mut_slice(), finite.as_deref()) {
            ("some", [jets], _) if numbers.len().is_multiple_of(2) => Ok(Rule::Some {
                jets: std::mem::take(jets),
                limits: numbers
                    .chunks_exact(2)
                    .map(|two| {
                        [
                            two[0].unwrap_or(f64::NEG_INFINITY),
                            two[1].unwrap_or(f64::INFINITY),
                        ]
                    })
                    .collect(),
            }),
            ("opposite", [jets], Some(&[least, apart])) => Ok(Rule::Opposite {
                jets: std::mem::take(jets),
                least,
                apart,
            }),
            (
                "isolated",
                [photons, jets, leptons],
                Some(&[least, radius, power, share, electromagnetic]),
            ) => Ok(Rule::Isolated {
                photons: std::mem::take(photons),
                jets: std::mem::take(jets),
                electromagnetic: (electromagnetic != 0.0).then(|| std::mem::take(leptons)),
                least,
                radius,
                power,
                share,
            }),
            ("relative", [jets], Some(&[least, radius])) => Ok(Rule::Relative {
                jets: std::mem::take(jets),
                least,
                radius,
            }),
            ("some", ..) => Err(Error::Rule(
                "some",
                "one list of jets, and two limits for each place",
            )),
            ("opposite", ..) => Err(Error::Rule("opposite", "one list of jets, and two numbers")),
            ("isolated", ..) => Err(Error::Rule(
                "isolated",
                "lists of photons, jets and leptons, and five numbers",
            )),
            ("relative", ..) => Err(Error::Rule("relative", "one list of jets, and two numbers")),
            _ => Err(Error::Rule(
                "by its kind",
                "it is some, opposite, isolated or relative",
            )),
        }
    }
}

impl From<Rule> for Plain {
    fn from(rule: Rule) -> Plain {
        let (kind, legs, numbers) = match rule {
            Rule::Some { jets, limits } => ("some", vec![jets], limits.into_flattened()),
            Rule::Opposite { jets, least, apart } => ("opposite", vec![jets], vec![least, apart]),
            Rule::Relative {
                jets,
                least,
                radius,
            } => ("relative", vec![jets], vec![least, radius]),
            Rule::Isolated {
                photons,
                jets,
                electromagnetic,
                least,
                radius,
                power,
                share,
            } => {
                let isolated = f64::from(u8::from(electromagnetic.is_some()));
                let legs = vec![photons, jets, electromagnetic.unwrap_or_default()];
                (
                    "isolated",
                    legs,
                    vec![least, radius, power, share, isolated],
                )
            }
        };
        let numbers = numbers.into_iter();
        let numbers = numbers.map(|number| number.is_finite().then_some(number));
        Plain {
            kind: kind.to_owned(),
            legs,
            numbers: numbers.collect(),
        }
    }
}

/// Cuts on the legs of one process.
#[derive(Clone, Debug)]
pub struct Cuts {
    pub(crate) program: CutProgram,
}

impl Cuts {
    /// All of these windows and rules on a process with so many legs, those that come in included.
    ///
    /// # Errors
    /// One names a leg that is not there, or lacks what it needs.
    pub fn new(legs: usize, windows: &[Window], rules: &[Rule]) -> Result<Self, Error> {
        CutProgram::new(legs, windows, rules).map(|program| Cuts { program })
    }

    /// What GPUs do not know of them.
    pub fn not_on_gpus(&self) -> Option<&'static str> {
        let relative = |test: &program::Tested| matches!(test.test, program::CutTest::Relative(..));
        let found = self.program.tests.iter().any(relative);
        found.then_some("a cut on relative transverse momenta (ktdurham)")
    }

    /// Which points pass.
    ///
    /// Args:
    ///     momenta: of all legs, rows 4 l to 4 l + 3 of leg l, in any frame along the beams.
    ///     boost: of each point the rapidity of that frame in the frame of the detector; none where it is that frame.
    ///
    /// # Panics
    /// The arrays do not fit each other, or the CPU lacks the level.
    pub fn passed(&self, level: Level, momenta: &Rows, boost: Option<&[f64]>, passed: &mut [bool]) {
        assert_eq!(passed.len(), momenta.points(), "an answer for each point");
        assert!(
            boost.is_none_or(|boost| boost.len() == momenta.points()),
            "a rapidity for each point"
        );
        let run = CutCall {
            program: &self.program,
            momenta,
            boost,
            passed,
        };
        // SAFETY: the task asks for nothing but the level.
        unsafe { dispatch(level, run) };
    }
}

#[cfg(test)]
mod tests;
