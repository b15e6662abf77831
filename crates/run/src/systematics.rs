//! Weights of events for other scales and densities: which there are, and how they are named. What they are, a
//! [`Calculator`](crate::calculator::Calculator) finds.
//!
//! Names are those of arXiv:2203.08230, groups and attributes those of MG5aMC's `systematics`.

use crate::densities::{AlphaS, BeamDensities, PdfSet, by_lhaid};
use crate::scale;
use crate::text::{general, quoted};
use mebridge::{Error, Result};
use mebridge_phasespace::scales::Dynamical;
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
/// Of `systematics_arguments`, where they leave it out.
const FACTORS: [f64; 3] = [0.5, 1.0, 2.0];
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

    /// The name of the weight.
    pub fn name(&self) -> String {
        let [mur, muf] = [self.mur, self.muf].map(general);
        let mut found = format!("MUR={mur}__MUF={muf}");
        if self.emissions != 1.0 {
            found += &format!("__ALPSFACT={}", general(self.emissions));
        }
        if let Some(choice) = self.choice() {
            found += &format!("__DYN={choice}");
        }
        if !self.lhapdf.is_empty() {
            found += &format!("__LHAPDF={}", self.lhapdf);
        }
        found
    }

    /// Attributes of its element in an LHE file.
    pub fn attributes(&self) -> String {
        let [mur, muf] = [self.mur, self.muf].map(general);
        let mut found = format!("MUR=\"{mur}\" MUF=\"{muf}\"");
        if self.emissions != 1.0 {
            found += &format!(" ALPSFACT=\"{}\"", general(self.emissions));
        }
        if let Some(choice) = self.choice() {
            found += &format!(" DYN_SCALE=\"{choice}\"");
        }
        if !self.lhapdf.is_empty() {
            found += &format!(" PDF=\"{}\"", self.lhapdf);
        }
        found
    }
}

/// Other densities than those of the events.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Member {
    /// Of the densities.
    pub file: PathBuf,
    /// Its alpha_s, where that is not the one of all.
    pub alpha_s: Option<AlphaS>,
}

/// Weights that belong together.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct WeightGroup {
    /// Its name.
    pub name: String,
    /// How they are combined: `envelope`, or what a set of densities says.
    pub combined: String,
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

    /// Those that MG5aMC's `systematics` makes for `systematics_arguments` of a run card, but for arguments that are refused by
    /// their names; `matched` says whether events have scales of their own for emissions.
    ///
    /// # Errors
    /// An argument is unknown, or has a value that it cannot have; there are no such densities.
    pub fn of_arguments(arguments: &[String], densities: &PdfSet, matched: bool) -> Result<Self> {
        let of = Arguments::read(arguments)?;
        if of.alps != [1.0] && !matched {
            let factors: Vec<String> = of.alps.iter().copied().map(general).collect();
            let what = format!(
                "has --alps={}, and no emissions are clustered",
                factors.join(",")
            );
            return Err(wrong(&what));
        }
        let label = densities.label();
        let mut found = Systematics::default();
        let mut scales = Vec::new();
        for &mur in &of.mur {
            for &muf in &of.muf {
                for &dynamical in &of.dynamical {
                    let one = Variation {
                        dynamical,
                        ..Variation::new(mur, muf, &label)
                    };
                    if one != Variation::new(1.0, 1.0, &label) {
                        scales.push(one);
                    }
                }
            }
        }
        found.add(CENTRAL, scales);
        let emissions = of.alps.iter().filter(|&&factor| factor != 1.0);
        let emissions = emissions.map(|&emissions| Variation {
            emissions,
            ..Variation::new(1.0, 1.0, &label)
        });
        found.add(EMISSION, emissions.collect());
        for word in &of.pdf {
            let (set, number) = word.split_once('@').unwrap_or((word, ""));
            if set == "central" || (set == "errorset" && number == "0") {
                continue;
            }
            let set = match set {
                "errorset" => densities.clone(),
                other => PdfSet::read(&by_lhaid(other)?)?,
            };
            let mut members = set.members()?;
            if !number.is_empty() {
                let number: u32 = number.parse().map_err(|_| no_number("pdf", word))?;
                let end = format!("_{number:04}.dat");
                members.retain(|one| one.file.to_string_lossy().ends_with(&end));
            }
            // A set may have none but the one of the events.
            if members.iter().any(|one| one.file != densities.file) {
                found.add_members(&set, members, Some(densities), true)?;
            }
        }
        Ok(found)
    }

    /// Adds an envelope, if something is in it.
    fn add(&mut self, name: &str, variations: Vec<Variation>) {
        if !variations.is_empty() {
            self.groups.push(WeightGroup {
                name: name.to_owned(),
                combined: ENVELOPE.to_owned(),
                variations,
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
        });
        self.members.extend(members.into_iter().map(|one| Member {
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

    /// The block of an LHE file that says what its weights are.
    pub fn header(&self) -> String {
        let mut text = String::from("<initrwgt>\n");
        for WeightGroup {
            name,
            combined,
            variations,
        } in &self.groups
        {
            text += &format!("<weightgroup name=\"{name}\" combine=\"{combined}\">\n");
            for one in variations {
                let (name, attributes) = (one.name(), one.attributes());
                text += &format!("<weight id=\"{name}\" {attributes}> {name} </weight>\n");
            }
            text += "</weightgroup>\n";
        }
        text + "</initrwgt>"
    }
}

/// `systematics_arguments` of a run card.
struct Arguments {
    mur: Vec<f64>,
    muf: Vec<f64>,
    alps: Vec<f64>,
    dynamical: Vec<Option<Dynamical>>,
    pdf: Vec<String>,
}

impl Arguments {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut found = Arguments {
            mur: FACTORS.to_vec(),
            muf: FACTORS.to_vec(),
            alps: vec![1.0],
            dynamical: std::iter::once(None).chain(scales().map(Some)).collect(),
            pdf: vec!["errorset".to_owned()],
        };
        for argument in arguments {
            let text = argument.trim_start_matches('-');
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            let words = value.trim_matches(['\'', '"']).split(',').map(str::trim);
            let factors = || -> Result<Vec<f64>> {
                let factor = |word: &str| {
                    let factor: f64 = word.parse().map_err(|_| no_number(name, word))?;
                    match factor.is_finite() && factor > 0.0 {
                        true => Ok(factor),
                        false => Err(no_factor(name, word)),
                    }
                };
                words.clone().map(factor).collect()
            };
            match name {
                "mur" => found.mur = factors()?,
                "muf" => found.muf = factors()?,
                "alps" => found.alps = factors()?,
                "dyn" => found.dynamical = words.map(choice).collect::<Result<_>>()?,
                "pdf" => found.pdf = words.map(str::to_owned).collect(),
                _ => return Err(wrong(&format!("has {argument}, which is not made here"))),
            }
        }
        Ok(found)
    }
}

/// Scales by the momenta, in the order of `dynamical_scale_choice` from 1 on.
fn scales() -> impl Iterator<Item = Dynamical> {
    (1..).map_while(scale::dynamical)
}

/// A scale by its `dynamical_scale_choice`.
fn choice(word: &str) -> Result<Option<Dynamical>> {
    let number: i64 = word.parse().map_err(|_| no_number("dyn", word))?;
    match scale::dynamical(number) {
        None if number != -1 => {
            let what = format!("systematics_arguments has --dyn={number}");
            Err(Error::run(what, "there are -1, 1, 2, 3 and 4"))
        }
        found => Ok(found),
    }
}

fn no_number(name: &str, word: &str) -> Error {
    Error::run(with(name, word), "write a number there")
}

fn no_factor(name: &str, word: &str) -> Error {
    Error::run(with(name, word), "write a positive number there")
}

fn with(name: &str, word: &str) -> String {
    format!("systematics_arguments has --{name} with {}", quoted(word))
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
