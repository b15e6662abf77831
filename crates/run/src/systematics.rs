//! Weights of events for other scales and parton densities: their list and their names. Their values are computed by a
//! [`Calculator`](crate::calculator::Calculator).
//!
//! Names follow arXiv:2203.08230; groups, attributes and numbers follow MG5aMC's `systematics`.

mod arguments;
mod naming;

use crate::densities::{AlphaS, BeamDensities, PdfMember};
use crate::scale;
use crate::text::quoted;
use mebridge::{Error, Result};
use mebridge_phasespace::scales::Dynamical;
pub use naming::{Naming, WeightFormat};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Words with which a caller requests scale variations, and the other members of the PDF set.
pub const SCALE: &str = "scale";
/// See [`SCALE`].
pub const MEMBERS: &str = "pdf";

/// Factors of the renormalisation and factorisation scales, without the pairs whose ratio is 4.
const SEVEN: [(f64, f64); 6] = [
    (0.5, 0.5),
    (0.5, 1.0),
    (1.0, 0.5),
    (1.0, 2.0),
    (2.0, 1.0),
    (2.0, 2.0),
];
/// The same without densities, where only the renormalisation scale matters.
const TWO: [(f64, f64); 2] = [(0.5, 1.0), (2.0, 1.0)];
const CURE: &str = "set systematics_program to none, and run MG5aMC's systematics on the file";
const CENTRAL: &str = "Central scale variation";
const EMISSION: &str = "Emission scale variation";
const ENVELOPE: &str = "envelope";

/// The scales and densities of a weight.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Variation {
    /// Factor of the renormalisation scale.
    pub mur: f64,
    /// Factor of the factorisation scales.
    pub muf: f64,
    /// LHAPDF number of the densities, or the name of their file without `.dat` if the set has no number; empty without
    /// densities.
    pub lhapdf: String,
    /// Index of the member in [`Systematics::members`]; `None` for the nominal densities.
    pub member: Option<usize>,
    /// The dynamical scale; `None` for the scales of the events.
    pub dynamical: Option<Dynamical>,
    /// Factor of the scales of vertices at which jets were clustered.
    pub emissions: f64,
}

impl Variation {
    /// A weight for the scales of the events multiplied by factors, with these densities.
    fn new(mur: f64, muf: f64, lhapdf: &str) -> Self {
        Variation {
            mur,
            muf,
            lhapdf: lhapdf.to_owned(),
            member: None,
            dynamical: None,
            emissions: 1.0,
        }
    }

    /// The `dynamical_scale_choice` of its scale.
    fn choice(&self) -> Option<i64> {
        let own = self.dynamical?;
        let mut choices = scales().zip(1..);
        choices.find_map(|(scale, choice)| (scale == own).then_some(choice))
    }
}

/// Densities other than those of the events.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Member {
    /// File of the densities.
    pub file: PathBuf,
    /// The member's own alpha_s, if it has one.
    pub alpha_s: Option<AlphaS>,
    /// LHAPDF number of its set, or the name of the set if it has none.
    pub set: String,
    /// Number of the member in its set, from 0.
    pub number: u32,
}

/// Weights that belong together.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WeightGroup {
    /// Name of the group; empty for weights without a group.
    pub name: String,
    /// How the weights are combined: `envelope`, or the error type of the PDF set.
    pub combined: String,
    /// The description of the PDF set, for a comment.
    pub about: String,
    /// The weights.
    pub variations: Vec<Variation>,
}

/// The further weights of a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Systematics {
    /// All weights, in groups.
    pub groups: Vec<WeightGroup>,
    /// The densities to which [`Variation::member`] refers.
    pub members: Vec<Member>,
    /// How weights are named in files.
    pub naming: Naming,
}

impl Systematics {
    /// The weights that a caller requests by words: [`SCALE`], [`MEMBERS`], or names of members or sets; `running` says
    /// whether alpha_s is that of the densities.
    ///
    /// # Errors
    /// Densities do not exist, or two weights have the same name.
    pub fn choose(
        named: &[String],
        densities: Option<&BeamDensities>,
        running: bool,
    ) -> Result<Self> {
        let mut found = Systematics::default();
        let label = densities.map_or_else(String::new, BeamDensities::label);
        for word in named {
            if word == SCALE {
                let points = if densities.is_some() {
                    &SEVEN[..]
                } else {
                    &TWO
                };
                let points = points.iter();
                let variations = points.map(|&(mur, muf)| Variation::new(mur, muf, &label));
                found.add(CENTRAL, variations.collect());
                continue;
            }
            let Some(nominal) = densities else {
                let what = format!("weights for densities ({}) need densities", quoted(word));
                return Err(Error::run(what, "give pdf"));
            };
            let set = match (word == MEMBERS, nominal.set()) {
                (true, Some(set)) => set.clone(),
                (true, None) => return Err(no_others(&label)),
                (false, _) => PdfMember::read(Path::new(word))?,
            };
            let alone = word != MEMBERS && Path::new(word).is_file();
            let members = if alone {
                vec![set.clone()]
            } else {
                set.members()?
            };
            found.add_members(&set, members, nominal.set(), running)?;
        }
        let names = found.names();
        let twice = (names.iter().enumerate()).find(|(place, name)| names[..*place].contains(name));
        match twice {
            Some((_, name)) => Err(Error::run(
                format!("systematics has {name} twice"),
                "leave out one of both",
            )),
            None => Ok(found),
        }
    }

    /// Adds an envelope group, unless it is empty.
    fn add(&mut self, name: &str, variations: Vec<Variation>) {
        if !variations.is_empty() {
            self.groups.push(WeightGroup {
                name: name.to_owned(),
                combined: ENVELOPE.to_owned(),
                variations,
                ..WeightGroup::default()
            });
        }
    }

    /// Adds the members of a set, except for that of the events.
    fn add_members(
        &mut self,
        set: &PdfMember,
        mut members: Vec<PdfMember>,
        nominal: Option<&PdfMember>,
        running: bool,
    ) -> Result<()> {
        members.retain(|one| nominal.is_none_or(|nominal| one.file != nominal.file));
        let Some(first) = members.first() else {
            let folder = set.file.parent().unwrap_or(&set.file);
            return Err(no_others(&folder.display().to_string()));
        };
        let name = first.set();
        let variations = (self.members.len()..)
            .zip(&members)
            .map(|(number, one)| Variation {
                member: Some(number),
                ..Variation::new(1.0, 1.0, &one.label())
            });
        self.groups.push(WeightGroup {
            name,
            combined: set.error_type(),
            variations: variations.collect(),
            ..WeightGroup::default()
        });
        self.members.extend(members.into_iter().map(|one| Member {
            set: one.set(),
            number: one.place(),
            file: one.file,
            alpha_s: one.coupling.filter(|_| running),
        }));
        Ok(())
    }

    /// All weights in order.
    pub fn variations(&self) -> impl Iterator<Item = &Variation> {
        self.groups.iter().flat_map(|group| &group.variations)
    }

    /// Names of all weights in order.
    pub fn names(&self) -> Vec<String> {
        self.variations().map(Variation::name).collect()
    }

    /// The files of densities that the weights need.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.members.iter().map(|member| member.file.as_path())
    }
}

/// The dynamical scales in the order of `dynamical_scale_choice` from 1 on.
fn scales() -> impl Iterator<Item = Dynamical> {
    (1..).map_while(scale::dynamical)
}

fn no_others(set: &str) -> Error {
    let what = format!("{set} has no other members than the one of the events");
    Error::run(what, "")
}

fn wrong(what: &str) -> Error {
    Error::run(format!("systematics_arguments {what}"), CURE)
}

#[cfg(test)]
#[path = "systematics_tests.rs"]
mod tests;
