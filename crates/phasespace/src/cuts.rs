//! Cuts: windows on observables of the legs, and rules that are not windows.
//!
//! `crates/run/src/cuts.rs` derives them from a run card or from named cuts, with the same names. As in MadEvent's
//! `cuts.f`, rapidities and distances are those of massive particles; only the isolation of photons (S. Frixione,
//! hep-ph/9801442) uses pseudorapidities. A point with a momentum that is not finite fails all cuts, and so does one
//! for which a required observable is undefined.

pub(crate) mod program;

use crate::Rows;
use mebridge_simd::{Level, dispatch};
use program::{CutCall, CutProgram};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Errors in cuts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A leg is out of range.
    #[error(
        "a cut on leg {leg}, counted from 0, of a process with {legs} legs: give it an outgoing leg"
    )]
    NoLeg {
        /// The leg, from 0.
        leg: usize,
        /// Number of legs.
        legs: usize,
    },
    /// A window without legs, or with a wrong number of groups.
    #[error("a window in {0:?} with {1} groups of legs: {2}")]
    Groups(Observable, usize, &'static str),
    /// A limit is NaN.
    #[error("a window in {0:?} whose limits are {1} and {2}: both must be numbers or infinite")]
    NoNumber(Observable, f64, f64),
    /// An invalid [`GroupValue`].
    #[error(
        "a window takes {0:?} of its groups: it must be all, any, sum, a number such as 0, or +2"
    )]
    Take(String),
    /// A rule with invalid arguments.
    #[error("the rule {0}: {1}")]
    Rule(&'static str, &'static str),
}

/// The observable of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Observable {
    /// Transverse momentum, GeV.
    Pt,
    /// Absolute rapidity in the detector frame.
    Rapidity,
    /// Energy in the rest frame of the incoming legs, GeV.
    Energy,
    /// Distance of two groups in rapidity and azimuth.
    Distance,
    /// Invariant mass, GeV.
    Mass,
}

/// The value, from those of several groups, that must be in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum GroupValue {
    /// Each of them.
    #[default]
    All,
    /// At least one of them.
    Any,
    /// Their sum.
    Sum,
    /// The one with this number in descending order, from 0; if there are fewer, every point passes.
    Number(usize),
    /// The sum of this many largest ones.
    First(usize),
}

impl FromStr for GroupValue {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse().map_err(|_| Error::Take(text.to_owned())),
            false => Err(Error::Take(text.to_owned())),
        };
        match (text, text.strip_prefix('+')) {
            ("all", _) => Ok(GroupValue::All),
            ("any", _) => Ok(GroupValue::Any),
            ("sum", _) => Ok(GroupValue::Sum),
            (_, Some(digits)) => Ok(GroupValue::First(number(digits)?)),
            (digits, None) => Ok(GroupValue::Number(number(digits)?)),
        }
    }
}

impl From<GroupValue> for String {
    fn from(take: GroupValue) -> String {
        match take {
            GroupValue::All => "all".to_owned(),
            GroupValue::Any => "any".to_owned(),
            GroupValue::Sum => "sum".to_owned(),
            GroupValue::Number(number) => number.to_string(),
            GroupValue::First(count) => format!("+{count}"),
        }
    }
}

impl TryFrom<String> for GroupValue {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

/// A window on an observable. In JSON, a limit that is missing or null is infinite.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Window {
    /// The observable.
    pub observable: Observable,
    /// Groups of legs, from 0 with the incoming ones; the momenta of a group are added. A distance needs two groups.
    pub legs: Vec<Vec<usize>>,
    /// The least value; -infinity for none.
    #[serde(
        default = "no_least",
        deserialize_with = "least",
        serialize_with = "finite"
    )]
    pub least: f64,
    /// The largest value; infinity for none.
    #[serde(
        default = "no_largest",
        deserialize_with = "largest",
        serialize_with = "finite"
    )]
    pub largest: f64,
    /// The value that must be in the window.
    #[serde(default)]
    pub take: GroupValue,
    /// Whether the observable must instead be outside the window, or on its border.
    #[serde(default)]
    pub outside: bool,
}

fn no_least() -> f64 {
    f64::NEG_INFINITY
}

fn no_largest() -> f64 {
    f64::INFINITY
}

/// Serializes an infinite limit as null.
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
    /// Creates a window for all groups.
    pub fn new(observable: Observable, legs: Vec<Vec<usize>>, least: f64, largest: f64) -> Self {
        Window {
            observable,
            legs,
            least,
            largest,
            take: GroupValue::All,
            outside: false,
        }
    }
}

/// A cut that is not a window.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub enum Rule {
    /// At least one of the jets, in descending order of transverse momentum, is in the window for its place.
    Some {
        /// Legs.
        jets: Vec<usize>,
        /// Least and largest transverse momentum of each place, GeV.
        limits: Vec<[f64; 2]>,
    },
    /// The two jets with the largest transverse momenta have rapidities of opposite sign.
    Opposite {
        /// Legs, two or more.
        jets: Vec<usize>,
        /// Least absolute value of their rapidities.
        least: f64,
        /// Least difference of their rapidities.
        apart: f64,
    },
    /// Photons are isolated.
    Isolated {
        /// Legs.
        photons: Vec<usize>,
        /// Partons from which photons must be isolated.
        jets: Vec<usize>,
        /// Leptons from which photons must be isolated, separately and together with the other photons; `None` for no
        /// electromagnetic isolation.
        electromagnetic: Option<Vec<usize>>,
        /// Least transverse momentum of photons, GeV.
        least: f64,
        /// Radius of the cone.
        radius: f64,
        /// Power with which the allowed energy falls.
        power: f64,
        /// Allowed transverse momentum in the whole cone, relative to the photon's.
        share: f64,
    },
    /// A lower limit on the relative transverse momentum of all pairs of jets: the smaller of both transverse momenta
    /// times their distance in rapidity and azimuth (`ktdurham` of MadEvent, for hadrons).
    Relative {
        /// Legs, two or more.
        jets: Vec<usize>,
        /// Least relative transverse momentum, GeV.
        least: f64,
        /// Unit of distances.
        radius: f64,
    },
}

/// A rule in JSON.
#[derive(Deserialize, Serialize)]
struct Plain {
    kind: String,
    legs: Vec<Vec<usize>>,
    /// Infinite limits are null: -infinity for the first of two, infinity for the second.
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
                "of unknown kind",
                "it must be some, opposite, isolated or relative",
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
    /// Creates the cuts for a process with `legs` legs, including the incoming ones.
    ///
    /// # Errors
    /// A leg is out of range, or a window or rule is invalid.
    pub fn new(legs: usize, windows: &[Window], rules: &[Rule]) -> Result<Self, Error> {
        CutProgram::new(legs, windows, rules).map(|program| Cuts { program })
    }

    /// A kind of cut in this list that GPUs do not support, if any.
    pub fn not_on_gpus(&self) -> Option<&'static str> {
        let relative = |test: &program::Tested| matches!(test.test, program::CutTest::Relative(..));
        let found = self.program.tests.iter().any(relative);
        found.then_some("a cut on relative transverse momenta (ktdurham)")
    }

    /// Determines which points pass.
    ///
    /// * `momenta`: those of leg l are in rows 4 l to 4 l + 3, in any frame along the beams.
    /// * `boost`: the rapidity of that frame in the detector frame, per point; `None` if the frames are the same.
    ///
    /// # Panics
    /// If the array lengths differ, or the CPU does not support the level.
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
        // SAFETY: the task requires nothing but the level, which `dispatch` checks.
        unsafe { dispatch(level, run) };
    }
}

#[cfg(test)]
mod tests;
