//! Parton densities and alpha_s of a run: the location of their files, and the information in them.
//!
//! LHAPDF sets are found with `LHAPDF_DATA_PATH`. The sets that MG5aMC puts into an output, in `lib/Pdfdata`, are NNPDF
//! 2.3 with QED (arXiv:1308.0598) and CTEQ6 (hep-ph/0201195). For these alpha_s runs from its value at 91.188 GeV with
//! one or two loops, as in `alfas_functions.f`.

use crate::beams::{LEPTON_SETS, form_factor, radiator};
use crate::run_card::{OF_BOSONS, OF_PHOTONS};
use crate::text::{general, quoted};
use mebridge::event_generator::BeamRequest;
use mebridge::{Error, Result};
use mebridge_densities::{Densities, FormFactor, PhotonPairs, Radiator, StrongCoupling, evolved};
use mebridge_support::files::regular;
use mebridge_support::sorted::SortedSet;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The PDG code of the photon.
pub const PHOTON: i32 = 22;
/// Default of alpha_s at the mass of the Z boson, for parameter cards without it.
pub const AT_Z: f64 = 0.118;

/// Scales in the table of a constant alpha_s, GeV.
const CONSTANT: [f64; 6] = [1e-3, 1.0, 1e3, 1e6, 1e9, 1e12];
/// Ends of the table of an alpha_s that runs by loops, with the quark masses in between, GeV; and the number of scales
/// in each interval, which is large because alpha_s is interpolated.
const ENDS: [f64; 4] = [1.0, 1.42, 4.7, 1e5];
const SCALES: usize = 60;
/// Largest scale at which CTEQ6 tables are used, GeV; beyond their last scale they are extrapolated, as in MG5aMC.
const CTEQ6_TO: f64 = 1e5;
/// Range in which densities of photons are used: the least x, and the ends of the scales, GeV.
const PHOTONS_FROM: f64 = 1e-8;
const PHOTONS_SCALES: [f64; 2] = [0.5, 1e5];
/// The least x at which densities of weak bosons are used.
const BOSONS_FROM: f64 = 1e-8;
/// Largest size of the header of an LHAPDF member, the only part that is read here, in bytes.
const HEAD: u64 = 1 << 16;
/// Largest size of the `.info` file of a set, in bytes.
const MAX_BYTES: u64 = 1 << 24;

/// A table of alpha_s, for interpolation between scales.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AlphaS {
    /// Rising scales, GeV.
    pub scales: Vec<f64>,
    /// The value at each scale.
    pub values: Vec<f64>,
}

impl AlphaS {
    /// Returns the table of a constant alpha_s.
    ///
    /// # Errors
    /// `alpha_s` is not a positive number.
    pub fn constant(alpha_s: f64) -> Result<Self> {
        if !(alpha_s.is_finite() && alpha_s > 0.0) {
            let what = format!("alpha_s is {alpha_s}; it must be a positive number");
            return Err(Error::run(what, ""));
        }
        Ok(AlphaS {
            scales: CONSTANT.to_vec(),
            values: vec![alpha_s; CONSTANT.len()],
        })
    }

    /// Returns alpha_s from 1 GeV, or above its pole, to 100 TeV, from its value at the mass of the Z boson and with
    /// this many loops.
    pub fn by_loops(at_z: f64, loops: u32) -> Self {
        let mut scales: Vec<f64> = (ENDS.windows(2))
            .flat_map(|ends| geometric(ends[0], ends[1], SCALES))
            .collect();
        scales.dedup();
        let mut values: Vec<f64> = Vec::new();
        for &scale in scales.iter().rev() {
            let value = evolved(scale, at_z, loops);
            let before = values.last().copied().unwrap_or(0.0);
            if !(before < value && value < f64::INFINITY) {
                break;
            }
            values.push(value);
        }
        values.reverse();
        AlphaS {
            scales: scales.split_off(scales.len() - values.len()),
            values,
        }
    }

    /// Returns alpha_s for a run without densities: `at_z` is entry 3 of SMINPUTS in the parameter card.
    ///
    /// # Errors
    /// The entry is not between 0 and 1.
    pub fn from_param_card(at_z: f64) -> Result<Self> {
        if !(0.0 < at_z && at_z < 1.0) {
            let what = format!(
                "the parameter card has alpha_s = {} (block SMINPUTS, 3)",
                general(at_z)
            );
            return Err(Error::run(what, "it must be a number above 0 and below 1"));
        }
        Ok(AlphaS::by_loops(at_z, 2))
    }

    /// Checks that the table covers a scale in GeV; `name` is that of the scale in messages.
    ///
    /// # Errors
    /// The scale is outside the table.
    pub fn check_scale(&self, scale: f64, name: &str) -> Result<()> {
        let ends = [self.scales[0], self.scales[self.scales.len() - 1]];
        inside(scale, ends, "the scales of alpha_s", name)
    }

    /// Returns alpha_s at a scale in GeV, accurately enough for display: 1 / alpha_s is nearly linear in the logarithm
    /// of the scale.
    pub fn at(&self, scale: f64) -> f64 {
        let (scales, last) = (&self.scales, self.scales.len() - 1);
        if scale >= scales[last] {
            return self.values[last];
        }
        let Some(low) = scales.partition_point(|&knot| knot <= scale).checked_sub(1) else {
            return self.values[0];
        };
        let [begin, end] = [low, low + 1].map(|i| scales[i].ln());
        let [first, second] = [low, low + 1].map(|i| 1.0 / self.values[i]);
        1.0 / (first + (second - first) / (end - begin) * (scale.ln() - begin))
    }

    /// Returns the coupling that is used for events.
    ///
    /// # Errors
    /// Scales do not rise, or a number is not positive.
    pub fn table(&self) -> Result<StrongCoupling> {
        StrongCoupling::new(&self.scales, &self.values)
            .map_err(|what| Error::run(format!("alpha_s: {what}"), ""))
    }
}

/// Returns numbers that are equidistant on a logarithmic scale, including both ends, as numpy's `geomspace`.
fn geometric(low: f64, high: f64, count: usize) -> impl Iterator<Item = f64> {
    let (begin, end, last) = (low.log10(), high.log10(), count - 1);
    let step = (end - begin) / last as f64;
    (0..count).map(move |i| match i {
        0 => low,
        i if i == last => high,
        i => 10f64.powf(i as f64 * step + begin),
    })
}

/// A member of a set of parton densities.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PdfMember {
    /// A file of LHAPDF, or of `lib/Pdfdata` in an output.
    pub file: PathBuf,
    /// alpha_s of the set, if it has a table.
    pub coupling: Option<AlphaS>,
    /// Its LHAPDF number; 0 if the set does not contain it.
    pub number: i32,
}

impl PdfMember {
    /// Reads the header of a member and the `.info` file of its set. `pdf` is a file, the folder of a set, or the name
    /// of a set.
    ///
    /// # Errors
    /// The set does not exist, or the file is invalid.
    pub fn read(pdf: &Path) -> Result<Self> {
        let of_mg5amc = pdf
            .extension()
            .is_some_and(|end| end == "grid" || end == "tbl");
        if of_mg5amc && pdf.is_file() {
            return PdfMember::from_mg5amc(pdf);
        }
        let file = locate(pdf)?;
        let about = about(&file);
        PdfMember::member(file, &about)
    }

    /// Reads the header of a member; `about` is the text of the `.info` file of its set.
    fn member(file: PathBuf, about: &str) -> Result<Self> {
        let head = head(&file)?;
        let member = place_of(&file).and_then(|place| i32::try_from(place).ok());
        let first = whole(about, "SetIndex");
        let coupling = match table(&head, &file)? {
            // A member may have its own alpha_s.
            Some(own) => Some(own),
            None => table(about, &file)?,
        };
        let number = first
            .zip(member)
            .and_then(|(first, member)| first.checked_add(member));
        Ok(PdfMember {
            file,
            coupling,
            number: number.unwrap_or(0),
        })
    }

    /// Returns the set of a file that MG5aMC puts into outputs.
    fn from_mg5amc(file: &Path) -> Result<Self> {
        let file = std::path::absolute(file).map_err(Error::io(file))?;
        let name = name_of(&file);
        let Some(set) = MG5AMC.iter().find(|set| set.file == name) else {
            let known: Vec<&str> = MG5AMC.iter().map(|set| set.file).collect();
            let what = format!(
                "{} is no set that MG5aMC puts into outputs ({})",
                file.display(),
                known.join(", ")
            );
            return Err(Error::run(what, "take one of these, or a set of LHAPDF"));
        };
        Ok(PdfMember {
            coupling: Some(AlphaS::by_loops(set.at_z, set.loops)),
            number: set.number,
            file,
        })
    }

    /// The files that [`PdfMember::read`] reads.
    pub fn files(&self) -> Vec<PathBuf> {
        let beside = about_file(&self.file);
        let beside = beside.is_file().then_some(beside);
        std::iter::once(self.file.clone()).chain(beside).collect()
    }

    /// All members of its set, in order.
    ///
    /// # Errors
    /// The file of a member is invalid.
    pub fn members(&self) -> Result<Vec<PdfMember>> {
        let (folder, set) = (folder_of(&self.file), set_of(&self.file));
        let is_member = |path: &PathBuf| {
            let number = name_of(path).strip_prefix(&set);
            let number = number.and_then(|rest| rest.strip_prefix('_')?.strip_suffix(".dat"));
            number.is_some_and(|digits| {
                digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit())
            })
        };
        let mut files: Vec<PathBuf> = paths_in(folder).filter(is_member).collect();
        files.sort();
        let about = about(&self.file);
        let members = files
            .into_iter()
            .map(|file| PdfMember::member(file, &about));
        members.collect()
    }

    /// The name of its set.
    pub fn set(&self) -> String {
        set_of(&self.file)
    }

    /// The description of its set.
    pub fn description(&self) -> String {
        let about = about(&self.file);
        let words = entries(&about, "SetDesc").next().unwrap_or_default();
        let words = words.trim().trim_matches(['\'', '"']);
        // As in the comments of MG5aMC's `systematics`.
        words
            .replace("=>", ";")
            .replace('>', ".gt.")
            .replace('<', ".lt.")
    }

    /// Number of the member in its set, from 0.
    pub fn place(&self) -> u32 {
        place_of(&self.file).unwrap_or(0)
    }

    /// Whether both are members of the same set.
    pub fn is_of_set_of(&self, other: &PdfMember) -> bool {
        let of = |one: &PdfMember| (folder_of(&one.file).to_owned(), set_of(&one.file));
        of(self) == of(other)
    }

    /// LHAPDF's name of the rule by which members of its set are combined.
    pub fn error_type(&self) -> String {
        let about = about(&self.file);
        let mut words =
            entries(&about, "ErrorType").flat_map(|rest| rest.split_whitespace().next());
        words.next().unwrap_or("unknown").to_owned()
    }

    /// Its LHAPDF number, or the name of its file without `.dat` if the set has no number.
    pub fn label(&self) -> String {
        match self.number {
            0 => stem(&self.file),
            number => number.to_string(),
        }
    }

    /// Returns alpha_s of the set.
    ///
    /// # Errors
    /// The set has no table of alpha_s; `cure` is the advice in the message.
    pub fn with_alpha_s(&self, cure: &str) -> Result<AlphaS> {
        self.coupling.clone().ok_or_else(|| {
            let what = format!(
                "the set of {} has no table of alpha_s (AlphaS_Qs and AlphaS_Vals)",
                self.file.display()
            );
            Error::run(what, cure)
        })
    }
}

/// A set that MG5aMC puts into an output.
struct OfMg5amc {
    /// Its `pdlabel`.
    label: &'static str,
    file: &'static str,
    /// alpha_s at the mass of the Z boson, and the number of loops with which it runs.
    at_z: f64,
    loops: u32,
    /// LHAPDF number.
    number: i32,
}

const MG5AMC: [OfMg5amc; 6] = [
    set(
        "nn23lo",
        "NNPDF23_lo_as_0119_qed_mem0.grid",
        0.119,
        2,
        246_800,
    ),
    set(
        "nn23lo1",
        "NNPDF23_lo_as_0130_qed_mem0.grid",
        0.130,
        2,
        247_000,
    ),
    set(
        "nn23nlo",
        "NNPDF23nlo_as_0119_qed_mem0.grid",
        0.119,
        2,
        244_800,
    ),
    set("cteq6_m", "cteq6m.tbl", 0.118, 2, 10_000),
    set("cteq6_l", "cteq6l.tbl", 0.118, 2, 10_041),
    set("cteq6l1", "cteq6l1.tbl", 0.130, 1, 10_042),
];

const fn set(
    label: &'static str,
    file: &'static str,
    at_z: f64,
    loops: u32,
    number: i32,
) -> OfMg5amc {
    OfMg5amc {
        label,
        file,
        at_z,
        loops,
        number,
    }
}

/// Labels of the sets that MG5aMC puts into an output.
pub fn labels() -> impl Iterator<Item = &'static str> {
    MG5AMC.iter().map(|set| set.label)
}

/// Returns the set of such a label; `data` is an output, or MG5aMC's own `Template/LO`.
///
/// # Errors
/// The file is missing.
///
/// # Panics
/// If the label is unknown.
pub fn by_label(label: &str, data: &Path) -> Result<PdfMember> {
    let set = MG5AMC.iter().find(|set| set.label == label);
    let file = data.join("lib/Pdfdata").join(set.expect("a label").file);
    if !file.is_file() {
        let what = format!(
            "the densities {label} need {}, which is missing",
            file.display()
        );
        return Err(Error::run(what, "MG5aMC writes it with the output"));
    }
    PdfMember::from_mg5amc(&file)
}

/// Returns the file of a set of leptons in an output, or in MG5aMC's own `Template/LO`.
///
/// # Errors
/// The file is missing.
fn lepton_file(label: &str, data: &Path) -> Result<PathBuf> {
    let within = Path::new("Source/PDF/lep_densities")
        .join(label)
        .join("eepdf.f");
    let mut places = [data.to_owned(), data.join("../Common")].into_iter();
    let found = places.find_map(|place| place.join(&within).canonicalize().ok());
    found.ok_or_else(|| {
        let file = data.join(&within);
        let what = format!(
            "the densities {label} need {}, which is missing",
            file.display()
        );
        let cure = "MG5aMC writes it with outputs of lepton collisions from version 3.5 on";
        Error::run(what, cure)
    })
}

/// The densities of both beams, or of the only beam that is a hadron.
#[derive(Clone, Debug, PartialEq)]
pub enum BeamDensities {
    /// Partons of a set.
    Set(PdfMember),
    /// Photons of both beams, whose particles stay intact, by a formula.
    Photons(Radiator),
    /// Photons of both protons of ultraperipheral collisions, by a formula.
    PhotonPairs {
        /// The name in run cards.
        label: String,
        /// The form factor.
        form: FormFactor,
    },
    /// Electrons and positrons in beams of these, from an `eepdf.f`.
    Leptons {
        /// The name of the set.
        label: String,
        /// The file.
        file: PathBuf,
    },
    /// Weak bosons and photons of one or both beams, by formulas for each beam.
    Bosons,
}

impl BeamDensities {
    /// The LHAPDF number; 0 if there is none.
    pub fn number(&self) -> i32 {
        match self {
            BeamDensities::Set(set) => set.number,
            _ => 0,
        }
    }

    /// The label in names of weights.
    pub fn label(&self) -> String {
        match self {
            BeamDensities::Set(set) => set.label(),
            BeamDensities::Photons(_) => OF_PHOTONS.to_owned(),
            BeamDensities::Bosons => OF_BOSONS.to_owned(),
            BeamDensities::Leptons { label, .. } | BeamDensities::PhotonPairs { label, .. } => {
                label.clone()
            }
        }
    }

    /// Whether there is a density of the partons of both beams alone, and not one of each.
    pub fn is_joint(&self) -> bool {
        matches!(
            self,
            BeamDensities::Leptons { .. } | BeamDensities::PhotonPairs { .. }
        )
    }

    /// The set of a hadron; `None` for photons and leptons.
    pub fn set(&self) -> Option<&PdfMember> {
        match self {
            BeamDensities::Set(set) => Some(set),
            _ => None,
        }
    }

    /// Returns the event generator's request for a beam with these densities; for an antiparticle if `anti`, for an ion
    /// with these numbers of protons and neutrons.
    ///
    /// # Panics
    /// For weak bosons, which differ between the beams.
    pub fn beam(&self, anti: bool, ion: Option<[u32; 2]>) -> BeamRequest {
        match self {
            BeamDensities::Set(set) => BeamRequest::Hadron {
                densities: set.file.clone(),
                anti,
                ion,
            },
            BeamDensities::Photons(of) => BeamRequest::Photons(*of),
            BeamDensities::PhotonPairs { form, .. } => BeamRequest::Ultraperipheral(*form),
            BeamDensities::Leptons { file, .. } => BeamRequest::Lepton {
                densities: file.clone(),
                anti,
            },
            BeamDensities::Bosons => panic!("weak bosons differ between the beams"),
        }
    }

    /// The range in which they are known.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn grid_range(&self) -> Result<GridRange> {
        match self {
            BeamDensities::Set(set) => GridRange::read(&set.file),
            BeamDensities::Photons(_) => Ok(GridRange {
                place: format!("the photons {OF_PHOTONS}"),
                name: OF_PHOTONS.to_owned(),
                codes: SortedSet::from([PHOTON]),
                min_x: PHOTONS_FROM,
                scales: PHOTONS_SCALES,
            }),
            BeamDensities::PhotonPairs { label, .. } => Ok(GridRange {
                place: format!("the photons {label}"),
                name: label.clone(),
                codes: SortedSet::from([PHOTON]),
                min_x: PhotonPairs::least_x(),
                // They do not depend on it.
                scales: [0.0, f64::INFINITY],
            }),
            BeamDensities::Bosons => Ok(GridRange {
                place: format!("the bosons {OF_BOSONS}"),
                name: OF_BOSONS.to_owned(),
                codes: SortedSet::from([PHOTON, 23, 24, -24]),
                min_x: BOSONS_FROM,
                // At small scales some have a density of 0.
                scales: [0.0, f64::INFINITY],
            }),
            BeamDensities::Leptons { label, file } => {
                let densities = open_leptons(file, false)?;
                Ok(GridRange::of(&densities, label.clone(), file))
            }
        }
    }
}

/// The entries of a run card and other inputs that determine densities and alpha_s.
#[derive(Clone, Copy, Debug)]
pub struct DensityEntries<'a> {
    /// `pdlabel1`, or `pdlabel2` if only the second beam is a hadron.
    pub label: &'a str,
    /// The LHAPDF number of a set, or its name.
    pub lhaid: &'a str,
    /// `lpp1`.
    pub lpp: i64,
    /// Whether both beams are partons.
    pub resting: bool,
    /// The folder that contains `lib/Pdfdata`.
    pub data: &'a Path,
    /// alpha_s at the mass of the Z boson in the parameter card, or [`AT_Z`].
    pub at_z: f64,
}

/// Densities and alpha_s of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDensities {
    /// `None` if both beams are partons.
    pub densities: Option<BeamDensities>,
    /// alpha_s of all events.
    pub alpha_s: AlphaS,
    /// The origin of alpha_s, for messages.
    pub source: String,
}

impl DensityEntries<'_> {
    /// Chooses densities and alpha_s as `setrun.f` does.
    ///
    /// # Errors
    /// A set does not exist or has no alpha_s, or that of the parameter card is invalid.
    pub fn choose(&self) -> Result<RunDensities> {
        let by_param_card = |densities| {
            Ok(RunDensities {
                densities,
                alpha_s: AlphaS::from_param_card(self.at_z)?,
                source: "the parameter card".to_owned(),
            })
        };
        if self.resting {
            return by_param_card(None);
        }
        let label = self.label.to_owned();
        if let Some(form) = form_factor(self.label) {
            return by_param_card(Some(BeamDensities::PhotonPairs { label, form }));
        }
        if LEPTON_SETS.contains(&self.label) {
            let file = lepton_file(self.label, self.data)?;
            return by_param_card(Some(BeamDensities::Leptons { label, file }));
        }
        if self.label == OF_BOSONS {
            return by_param_card(Some(BeamDensities::Bosons));
        }
        if self.label == OF_PHOTONS {
            return by_param_card(radiator(self.lpp).map(BeamDensities::Photons));
        }
        let (set, source) = match labels().any(|label| label == self.label) {
            true => (by_label(self.label, self.data)?, self.label.to_owned()),
            false => {
                let set = PdfMember::read(&by_lhaid(self.lhaid)?)?;
                (set, format!("lhaid {}", self.lhaid))
            }
        };
        Ok(RunDensities {
            alpha_s: set.with_alpha_s("")?,
            densities: Some(BeamDensities::Set(set)),
            source,
        })
    }
}

/// The range of a grid of parton densities.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRange {
    /// Its name in messages: the file.
    pub place: String,
    /// The name of its set.
    pub name: String,
    /// PDG codes of its partons.
    pub codes: SortedSet<i32>,
    /// The least x.
    pub min_x: f64,
    /// The first and the last scale, GeV.
    pub scales: [f64; 2],
}

impl GridRange {
    /// Reads the range of a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(file: &Path) -> Result<Self> {
        let densities = open(file)?;
        let name = stem(file);
        let name = name.strip_suffix("_0000").unwrap_or(&name).to_owned();
        let mut found = GridRange::of(&densities, name, file);
        if file.extension().is_some_and(|end| end == "tbl") {
            found.scales[1] = found.scales[1].max(CTEQ6_TO);
        }
        Ok(found)
    }

    fn of(densities: &Densities, name: String, file: &Path) -> Self {
        GridRange {
            place: file.display().to_string(),
            name,
            codes: densities.codes().iter().copied().collect(),
            min_x: densities.range_of_x()[0],
            scales: densities.range_of_q2().map(f64::sqrt),
        }
    }

    /// Checks that the grid has these partons, by PDG code, and momentum fractions down to `min_x`; `cure` is the
    /// advice if it does not reach so far.
    ///
    /// # Errors
    /// Partons are missing, or the grid begins at a larger x.
    pub fn check(&self, incoming: &SortedSet<i32>, min_x: f64, cure: &str) -> Result<()> {
        let missing: Vec<String> = incoming
            .difference(&self.codes)
            .map(i32::to_string)
            .collect();
        if !missing.is_empty() {
            let what = format!(
                "{} has no densities of {} (PDG codes)",
                self.place,
                missing.join(", ")
            );
            return Err(Error::run(what, ""));
        }
        if min_x < self.min_x {
            let what = format!(
                "the densities {} begin at x = {}, and events have x from {} on",
                self.name,
                general(self.min_x),
                general(min_x)
            );
            return Err(Error::run(what, cure));
        }
        Ok(())
    }

    /// Checks that the grid covers a scale in GeV; `name` is that of the scale in messages.
    ///
    /// # Errors
    /// The scale is outside the grid.
    pub fn check_scale(&self, scale: f64, name: &str) -> Result<()> {
        let what = format!("the densities of {}", self.place);
        inside(scale, self.scales, &what, name)
    }
}

fn inside(scale: f64, [low, high]: [f64; 2], of: &str, name: &str) -> Result<()> {
    if low <= scale && scale <= high {
        return Ok(());
    }
    let [scale, low, high] = [scale, low, high].map(general);
    let what = format!("{name} is {scale} GeV, and {of} lie between {low} and {high} GeV");
    Err(Error::run(what, "take one of these"))
}

/// Opens a file of densities.
///
/// # Errors
/// It cannot be read, or is not a file of densities.
pub fn open(file: &Path) -> Result<Densities> {
    Densities::open(file).map_err(|error| Error::run(error.to_string(), ""))
}

fn open_leptons(file: &Path, anti: bool) -> Result<Densities> {
    Densities::leptons(file, anti).map_err(|error| Error::run(error.to_string(), ""))
}

/// The density x f(x, Q) of the partons of a beam, for weights of events.
#[derive(Clone, Debug)]
pub enum BeamDensity {
    /// The beam is the parton; the density is 1.
    One,
    /// A beam with densities.
    Of {
        /// The densities of the particle.
        densities: Arc<Densities>,
        /// Whether the beam is the antiparticle.
        anti: bool,
    },
}

impl BeamDensity {
    /// Returns the densities of both beams; `None` if both are partons.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn from_beams(beams: &[BeamRequest; 2]) -> Result<Option<[Self; 2]>> {
        let open = |beam: &BeamRequest| {
            Ok(match beam {
                BeamRequest::Parton => None,
                BeamRequest::Hadron { densities, .. } => Some(Arc::new(open(densities)?)),
                BeamRequest::Photons(of) => Some(Arc::new(Densities::photons(*of))),
                BeamRequest::Lepton { .. }
                | BeamRequest::Ultraperipheral(_)
                | BeamRequest::Bosons(_) => {
                    let what = "weights of events are not computed for densities of leptons, of pairs of photons and of weak \
                                bosons";
                    return Err(Error::run(what, ""));
                }
            })
        };
        let is_anti = |beam: &BeamRequest| matches!(beam, BeamRequest::Hadron { anti: true, .. });
        let of = |beam: &BeamRequest, densities: Option<Arc<Densities>>| match densities {
            None => BeamDensity::One,
            Some(densities) => BeamDensity::Of {
                densities,
                anti: is_anti(beam),
            },
        };
        let [first, second] = beams;
        let same = match (first, second) {
            (
                BeamRequest::Hadron { densities: one, .. },
                BeamRequest::Hadron {
                    densities: other, ..
                },
            ) => one == other,
            _ => first == second,
        };
        let one = open(first)?;
        let other = if same { one.clone() } else { open(second)? };
        Ok((one.is_some() || other.is_some()).then(|| [of(first, one), of(second, other)]))
    }

    /// Returns the same beam with other densities.
    pub fn with_densities(&self, other: &Arc<Densities>) -> Self {
        match self {
            BeamDensity::One => BeamDensity::One,
            BeamDensity::Of { anti, .. } => BeamDensity::Of {
                densities: other.clone(),
                anti: *anti,
            },
        }
    }

    /// Evaluates the density for each parton, given by PDG code, x and scale `q` in GeV.
    ///
    /// # Errors
    /// The densities do not have a parton.
    pub fn evaluate(&self, codes: &[i32], x: &[f64], q: &[f64]) -> Result<Vec<f64>> {
        let BeamDensity::Of { densities, anti } = self else {
            return Ok(vec![1.0; codes.len()]);
        };
        let known = densities.codes();
        let place = |code: i32| known.iter().position(|&one| one == code);
        let places = codes.iter().map(|&code| {
            // Gluons and photons are their own antiparticles.
            let own = if *anti {
                place(-code).or(place(code))
            } else {
                place(code)
            };
            let missing = || Error::run(format!("there are no densities of {code} (PDG code)"), "");
            own.ok_or_else(missing)
        });
        let places: Vec<usize> = places.collect::<Result<_>>()?;
        let q2: Vec<f64> = q.iter().map(|q| q * q).collect();
        let mut all = vec![0.0; codes.len() * known.len()];
        densities.evaluate(x, &q2, &mut all);
        let own = places.iter().zip(all.chunks_exact(known.len()));
        Ok(own.map(|(&place, all)| all[place]).collect())
    }
}

/// Returns the file of a member: `pdf` itself, or the first member of a set that is given by its folder or by a name in
/// the folders of LHAPDF.
///
/// # Errors
/// There is none.
pub fn locate(pdf: &Path) -> Result<PathBuf> {
    locate_below(&data_folders(), pdf)
}

fn locate_below(folders: &[PathBuf], pdf: &Path) -> Result<PathBuf> {
    let by_name = pdf.file_name().is_some_and(|name| Path::new(name) == pdf);
    let below = folders
        .iter()
        .filter(|_| by_name)
        .map(|folder| folder.join(pdf));
    for folder in std::iter::once(pdf.to_owned()).chain(below) {
        let Ok(place) = folder.canonicalize() else {
            continue;
        };
        if place.is_file() {
            return Ok(place);
        }
        let member = place.join(format!("{}_0000.dat", name_of(&place)));
        if let Some(member) = member
            .is_file()
            .then(|| member.canonicalize().ok())
            .flatten()
        {
            return Ok(member);
        }
    }
    let name = pdf.display();
    if let Some(set) = MG5AMC.iter().find(|set| Path::new(set.label) == pdf) {
        let what = format!(
            "the densities {name} are of MG5aMC, and here a set of LHAPDF is needed (number {} there)",
            set.number
        );
        let cure = format!(
            "for MG5aMC's set pdlabel of a run card to {name}, and name the folder that has them, an output or that of \
             MG5aMC: `mebridge events PROCESS --pdf-data FOLDER`, or mebridge.Run(PROCESS, run_card={{\"pdlabel\": \
             \"{name}\"}}, pdf_data=FOLDER)"
        );
        return Err(Error::run(what, cure));
    }
    Err(Error::run(
        format!(
            "there are no parton densities {}",
            quoted(&name.to_string())
        ),
        "name a member of a set (NAME/NAME_0000.dat), its folder, or a set below LHAPDF_DATA_PATH",
    ))
}

/// Returns the file of a member by its LHAPDF number or as `NAME` or `NAME/MEMBER`, from the folders of LHAPDF.
///
/// # Errors
/// There is none.
pub fn by_lhaid(lhaid: &str) -> Result<PathBuf> {
    by_lhaid_below(&data_folders(), lhaid)
}

fn by_lhaid_below(folders: &[PathBuf], lhaid: &str) -> Result<PathBuf> {
    if let Ok(number) = lhaid.parse() {
        return by_number(folders, number);
    }
    let (name, number) = lhaid.split_once('/').unwrap_or((lhaid, ""));
    let number = match number.is_empty() {
        true => Ok(0),
        false => number.parse(),
    };
    let wrong = |_| {
        let what = format!("lhaid = {lhaid} names no member of a set of densities");
        Error::run(what, "write NAME or NAME/MEMBER, or the number of a set")
    };
    member(
        &locate_below(folders, Path::new(name))?,
        number.map_err(wrong)?,
    )
}

fn by_number(folders: &[PathBuf], lhaid: i32) -> Result<PathBuf> {
    for folder in folders {
        let mut about: Vec<PathBuf> = paths_in(folder)
            .flat_map(|set| paths_in(&set).collect::<Vec<_>>())
            .filter(|path| path.extension().is_some_and(|end| end == "info"))
            .collect();
        about.sort();
        for about in about {
            let text = text_of(&about);
            let number = whole(&text, "SetIndex").and_then(|first| lhaid.checked_sub(first));
            let count = whole(&text, "NumMembers").unwrap_or(1);
            if let Some(number) = number.filter(|number| (0..count).contains(number)) {
                return member(&locate_below(folders, folder_of(&about))?, number);
            }
        }
    }
    let what = format!(
        "no set of parton densities with the number {lhaid} (lhaid) lies below LHAPDF_DATA_PATH"
    );
    let cure = "set this variable to the folder of the sets, or pdlabel to nn23lo1";
    Err(Error::run(what, cure))
}

/// Returns the file of a member of a set; `first` is that of the first member.
fn member(first: &Path, number: i32) -> Result<PathBuf> {
    let name = name_of(first).replace("_0000.dat", &format!("_{number:04}.dat"));
    let file = first.with_file_name(name);
    if !file.is_file() {
        let what = format!(
            "{} is missing: the set has no such member here",
            file.display()
        );
        return Err(Error::run(what, ""));
    }
    Ok(file)
}

/// The folders in which LHAPDF looks for sets.
fn data_folders() -> Vec<PathBuf> {
    let folders = ["LHAPDF_DATA_PATH", "LHAPATH"]
        .into_iter()
        .filter_map(std::env::var_os);
    let folders = folders.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>());
    folders
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect()
}

/// Reads the header of an LHAPDF member, before the first grid.
fn head(file: &Path) -> Result<String> {
    let mut start = Vec::new();
    let opened = std::fs::File::open(file).map_err(Error::io(file))?;
    opened
        .take(HEAD)
        .read_to_end(&mut start)
        .map_err(Error::io(file))?;
    let text = String::from_utf8_lossy(&start);
    match text.split_once("\n---") {
        Some((head, _)) if head.contains("lhagrid1") => Ok(head.to_owned()),
        _ => {
            let what = format!("{} is no grid of LHAPDF", file.display());
            let why = "it does not begin with PdfType, Format: lhagrid1 and ---";
            Err(Error::run(format!("{what}: {why}"), ""))
        }
    }
}

/// Parses the table of alpha_s in the header or `.info` file `text`; `None` if it has none.
fn table(text: &str, file: &Path) -> Result<Option<AlphaS>> {
    let set = set_of(file);
    let mut found = Vec::new();
    for name in ["AlphaS_Qs", "AlphaS_Vals"] {
        let Some(numbers) = list(text, name) else {
            return Ok(None);
        };
        let numbers = numbers.split(',').map(|word| word.trim().parse::<f64>());
        let numbers: std::result::Result<Vec<f64>, _> = numbers.collect();
        let what = || format!("{name} of {set} holds something that is no number");
        found.push(numbers.map_err(|_| Error::run(what(), ""))?);
    }
    let [scales, values] = <[Vec<f64>; 2]>::try_from(found).expect("two of them");
    let found = AlphaS { scales, values };
    let what = "does not hold rising scales with positive values";
    match StrongCoupling::new(&found.scales, &found.values) {
        Ok(_) => Ok(Some(found)),
        Err(_) => Err(Error::run(
            format!("the table of alpha_s of {set} {what}"),
            "",
        )),
    }
}

/// The text between the brackets of an entry.
fn list<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let (_, after) = match rest.strip_prefix(name) {
            Some(after) => ("", after),
            None => rest.split_once(&format!("\n{name}"))?,
        };
        let opened = after
            .strip_prefix(':')
            .and_then(|after| after.trim_start().strip_prefix('['));
        if let Some((numbers, _)) = opened.and_then(|opened| opened.split_once(']')) {
            return Some(numbers);
        }
        rest = after;
    }
}

/// The texts after the name in all lines of an entry.
fn entries<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter_map(move |line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// The whole number with which an entry begins.
fn whole(text: &str, name: &str) -> Option<i32> {
    let digits = |rest: &str| {
        let rest = rest.trim_start();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().ok()
    };
    entries(text, name).find_map(digits)
}

/// The number of a member in its set, from the name of its file.
fn place_of(file: &Path) -> Option<u32> {
    let (_, digits) = name_of(file).strip_suffix(".dat")?.rsplit_once('_')?;
    (digits.len() == 4).then(|| digits.parse().ok()).flatten()
}

/// The `.info` file of the set of a member.
fn about_file(file: &Path) -> PathBuf {
    folder_of(file).join(format!("{}.info", set_of(file)))
}

/// The text of the `.info` file of a set; empty if it cannot be read.
fn about(file: &Path) -> String {
    text_of(&about_file(file))
}

fn text_of(file: &Path) -> String {
    let bytes = regular::read(file, MAX_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn paths_in(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// The name of a member's set, which is that of its folder.
fn set_of(file: &Path) -> String {
    name_of(folder_of(file)).to_owned()
}

fn name_of(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("")
}

fn stem(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy());
    stem.unwrap_or_default().into_owned()
}

#[cfg(test)]
#[path = "densities_tests.rs"]
pub(crate) mod tests;
