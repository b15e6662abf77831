//! Weights of events for other scales and densities: which there are, and how they are named. What they are, a
//! [`Calculator`](crate::calculator::Calculator) finds.
//!
//! Names are those of arXiv:2203.08230; groups, attributes and numbers those of MG5aMC's `systematics`.

mod arguments;
mod naming;

use crate::densities::{AlphaS, BeamDensities, PdfSet};
use crate::scale;
use crate::text::quoted;
use mebridge::{Error, Result};
use mebridge_phasespace::scales::Dynamical;
pub use naming::{Naming, WeightFormat};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The group of other scales, and that of the other members of the set, as a caller names them.
pub const SCALE: &str = "scale";
/// See [`SCALE`].
pub const MEMBERS: &str = "pdf";

/// Factors of the scales of renormalisation and factorisation, but for those of which one is 4 times as large as the other.
const SEVEN: [(f64, f64); 6] = [
    (0.5, 0.5),
    (0.5, 1.0),
    (1.0, 0.5),
    (1.0, 2.0),
    (2.0, 1.0),
    (2.0, 2.0),
];
/// The same without densities.
const TWO: [(f64, f64); 2] = [(0.5, 1.0), (2.0, 1.0)];
const CURE: &str = "set systematics_program to none, and run MG5aMC's systematics on the file";
const CENTRAL: &str = "Central scale variation";
const EMISSION: &str = "Emission scale variation";
const ENVELOPE: &str = "envelope";

/// What a weight is for.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Variation {
    /// What multiplies the scale of renormalisation,
    pub mur: f64,
    /// and those of factorisation.
    pub muf: f64,
    /// The number of the densities at LHAPDF, or their file's name without `.dat` where the set has none; empty without
    /// densities.
    pub lhapdf: String,
    /// Which of the other members, where it is one.
    pub member: Option<usize>,
    /// The scales that are multiplied; those that events have where there is none.
    pub dynamical: Option<Dynamical>,
    /// What multiplies the scales of the vertices that jets were clustered at.
    pub emissions: f64,
}

impl Variation {
    /// With the scales of the events, of these densities.
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

    /// The number that `dynamical_scale_choice` has for its scales.
    fn choice(&self) -> Option<i64> {
        let own = self.dynamical?;
        let mut choices = scales().zip(1..);
        choices.find_map(|(scale, choice)| (scale == own).then_some(choice))
    }
}

/// Other densities than those of the events.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Member {
    /// Of the densities.
    pub file: PathBuf,
    /// Its alpha_s, where that is not the one of all.
    pub alpha_s: Option<AlphaS>,
    /// The number of its set at LHAPDF, or the name of the set where it has none.
    pub set: String,
    /// Which one of its set it is, from 0.
    pub number: u32,
}

/// Weights that belong together.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct WeightGroup {
    /// Its name; empty where weights are in no group.
    pub name: String,
    /// How they are combined: `envelope`, or what a set of densities says.
    pub combined: String,
    /// What a set of densities says of itself, for a comment.
    pub about: String,
    /// What they are for.
    pub variations: Vec<Variation>,
}

/// The further weights of a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Systematics {
    /// All of them.
    pub groups: Vec<WeightGroup>,
    /// What some of them are for, by [`Variation::member`].
    pub members: Vec<Member>,
    /// How files name them.
    pub naming: Naming,
}

impl Systematics {
    /// Those that a caller names: [`SCALE`], [`MEMBERS`], members or sets of densities; `running` says whether alpha_s is
    /// that of the densities.
    ///
    /// # Errors
    /// There are no such densities, or weights have the same name.
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
                (false, _) => PdfSet::read(Path::new(word))?,
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

    /// Adds an envelope, if something is in it.
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

    /// Adds members of a set, but for the one of the events.
    fn add_members(
        &mut self,
        set: &PdfSet,
        mut members: Vec<PdfSet>,
        nominal: Option<&PdfSet>,
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

    /// All weights in their order.
    pub fn variations(&self) -> impl Iterator<Item = &Variation> {
        self.groups.iter().flat_map(|group| &group.variations)
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.variations().map(Variation::name).collect()
    }

    /// The files of densities that they need.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.members.iter().map(|member| member.file.as_path())
    }
}

/// Scales by the momenta, in the order of `dynamical_scale_choice` from 1 on.
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
