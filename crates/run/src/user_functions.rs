//! Functions that users write in Fortran, in `dummy_fct.f`, `setscales.f` or files of `custom_fcts`: which ones a run has,
//! and what surrounds them.

use crate::beams::Beams;
use crate::cuts::{LegKind, Legs};
use crate::element::Element;
use crate::output::{Directory, Output};
use crate::run_card::value::Value;
use crate::run_card::{RunCard, entries};
use crate::source::Source;
use crate::written::{SCALES, functions_file, functions_of_user, scales_of_user};
use mebridge::files::regular;
use mebridge::import::user_code::{
    AddedCuts, CUT, FACTORISATION, FortranNumber, FortranText, PASSCUTS, RENORMALISATION, SCALE,
    UserCode, UserCodeContext, UserScale, common_blocks,
};
use mebridge::import::{fortran_of, routines_of};
use mebridge::process::phase_space::PhaseSpace;
use mebridge::{Error, Result};
use mebridge_support::random::SplitMix64;
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::path::{Path, PathBuf};

/// Entry of the run card with files of functions.
const FILES: &str = "custom_fcts";
/// Largest size of a file, in bytes.
const MAX_BYTES: u64 = 16 << 20;
/// How headers begin by which MG5aMC recognises functions in files of `custom_fcts`, without blanks.
const HEADERS: [&str; 4] = [
    "SUBROUTINE",
    "INTEGERFUNCTION",
    "DOUBLEPRECISIONFUNCTION",
    "LOGICALFUNCTION",
];
/// Functions that MG5aMC takes from these files, and that are not run here.
const NOT_RUN: [&str; 4] = [
    "GET_DUMMY_X1",
    "GET_DUMMY_X1_X2",
    "DUMMY_BOOSTFRAME",
    "BIAS_WGT_CUSTOM",
];
/// COMMON blocks of MadEvent with variables that have the names of entries of the run card and their values.
const BLOCKS_OF_CARD: [&str; 9] = [
    "TO_SCALE",
    "TO_COLLIDER",
    "TO_AUTO_CUTS",
    "TO_MIN_MAX_CUTS",
    "TO_ISOGAMMA_CUTS",
    "TO_ISOGAMMA_EM",
    "TO_SPECXPT",
    "TO_CUT_DECAYS",
    "TO_BWCUTOFF",
];
/// Masses in GeV above which MadEvent has no cuts on a particle, and above which one is heavy.
const NO_CUTS: f64 = 20.0;
const HEAVY: f64 = 10.0;

/// The functions of a run.
#[derive(Clone, Debug)]
pub struct UserFunctions {
    files: Vec<FortranText>,
    /// Names of the routines that the user has written, in upper case.
    own: SortedSet<String>,
}

impl UserFunctions {
    /// Finds the functions of a run; `None` if there are none. `changed_files` leaves out those of the output, except for
    /// `added`, the answer of [`cuts_of_user`](crate::written::cuts_of_user).
    ///
    /// # Errors
    /// A file cannot be read, or has something that is not run here.
    pub fn find(
        source: &Source,
        card: &RunCard,
        changed_files: bool,
        added: Option<(AddedCuts, Vec<String>)>,
    ) -> Result<Option<Self>> {
        let names = card.words(FILES);
        let output = match source {
            Source::Output(output) => output,
            Source::Named(_) if names.is_empty() => return Ok(None),
            Source::Named(_) => {
                let what = format!("{FILES} = {} is for outputs of MG5aMC", card.value(FILES));
                let cure = "write the output, whose files the functions include, or give a cut as a function in Python";
                return Err(card.refused(what, cure));
            }
        };
        let mut own = SortedSet::new();
        let mut files = Vec::new();
        for name in names {
            let file = read(&path_of(name, output, card)?)?;
            own.extend(check_file(&file)?);
            files.push(file);
        }
        if !changed_files && functions_file(output).is_file() {
            let mut base = read(&functions_file(output))?;
            base.without.clone_from(&own);
            let edited = functions_of_user(output)?.into_iter();
            let edited: Vec<String> = edited.filter(|name| !own.contains(name)).collect();
            own.extend(edited);
            files.push(base);
        }
        if !changed_files && output.path.join(SCALES).is_file() {
            let edited = scales_of_user(output)?;
            if !edited.is_empty() {
                own.extend(edited);
                files.push(read(&output.path.join(SCALES))?);
            }
        }
        if let Some((added, names)) = added {
            check_jumps(&added, card)?;
            own.extend(names);
            files.push(added.file);
        }
        if own.is_empty() {
            return Ok(None);
        }
        if source.decays() {
            let what = "functions in Fortran are for collisions".to_owned();
            return Err(card.refused(what, "put the original back"));
        }
        Ok(Some(UserFunctions { files, own }))
    }

    /// Where scales come from; `None` if they are not the user's.
    pub fn scale(&self) -> Option<UserScale> {
        let factorisation = self.own.contains(FACTORISATION);
        match factorisation || self.own.contains(RENORMALISATION) {
            true => Some(UserScale::Routines { factorisation }),
            false => (self.own.contains(SCALE)).then_some(UserScale::Function),
        }
    }

    /// Compiles the functions for each directory of an output; returns them without repetitions, and for each matrix
    /// element the number of its functions.
    ///
    /// # Errors
    /// A function has a statement that is not run here.
    pub fn compile(
        &self,
        source: &Source,
        card: &RunCard,
        beams: &Beams,
        directories: &[Directory],
        elements: &[Element],
    ) -> Result<(Vec<UserCode>, Vec<Option<usize>>)> {
        let Source::Output(output) = source else {
            return Ok((Vec::new(), vec![None; elements.len()]));
        };
        let blocks = blocks(output)?;
        let (mut codes, mut of_directories) = (Vec::new(), SortedMap::new());
        let mut of_elements = Vec::new();
        for element in elements {
            let place = source.place(element).directory;
            let number = match of_directories.get(&place) {
                Some(number) => *number,
                None => {
                    let directory = &directories[place];
                    let parts = (directory, element);
                    let surroundings = surroundings(output, card, beams, parts, &blocks);
                    let cuts = [CUT, PASSCUTS].into_iter();
                    let cuts: Vec<_> = cuts.filter(|name| self.own.contains(*name)).collect();
                    let scale = self.scale();
                    let mut code = UserCode::compile(&self.files, &cuts, scale, &surroundings)?;
                    self.check_reached(&code)?;
                    if !beams.own_scale(card, scale) {
                        code = code.without_scale();
                    }
                    settle(&mut code, element)?;
                    let known = codes.iter().position(|known| *known == code);
                    let number = known.unwrap_or(codes.len());
                    if known.is_none() {
                        codes.push(code);
                    }
                    of_directories.insert(place, number);
                    number
                }
            };
            of_elements.push(Some(number));
        }
        Ok((codes, of_elements))
    }

    /// Checks that all routines of the user are run: others may replace routines of MadEvent.
    fn check_reached(&self, code: &UserCode) -> Result<()> {
        let reached: SortedSet<&str> = code.routines().collect();
        match self.own.iter().find(|name| !reached.contains(&***name)) {
            None => Ok(()),
            Some(name) => Err(Error::run(
                format!(
                    "{name} is called by no function that is run here ({CUT}, {PASSCUTS}, {SCALE}, {RENORMALISATION}, {FACTORISATION}), and \
                     may replace a routine of MadEvent"
                ),
                "leave it out, or give --changed-files (changed_files=True) where neither cuts nor scales depend on it",
            )),
        }
    }
}

/// Describes the functions that are run, for the end of a line on the conditions of a run.
pub fn described(codes: &[UserCode]) -> String {
    let Some(code) = codes.first() else {
        return String::new();
    };
    let names: Vec<String> = code.called().into_iter().map(str::to_lowercase).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; functions in Fortran: {}", names.join(", ")),
    }
}

/// The path of a file of `custom_fcts`, from the working directory or from the output.
fn path_of(name: &str, output: &Output, card: &RunCard) -> Result<PathBuf> {
    let places = [PathBuf::from(name), output.path.join(name)];
    let found: SortedSet<PathBuf> = places
        .iter()
        .filter(|place| place.is_file())
        .filter_map(|place| place.canonicalize().ok())
        .collect();
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        (None, _) => {
            let what = format!("{FILES}: there is no file {name}");
            Err(card.refused(what, "give its whole path"))
        }
        (Some(one), Some(other)) => {
            let what = format!(
                "{FILES}: {name} is {} or {}",
                one.display(),
                other.display()
            );
            Err(card.refused(what, "give its whole path"))
        }
    }
}

fn read(path: &Path) -> Result<FortranText> {
    Ok(FortranText {
        path: path.to_owned(),
        text: regular::read(path, MAX_BYTES).map_err(Error::io(path))?,
        without: SortedSet::new(),
        left_out: SortedSet::new(),
    })
}

/// Checks that MadEvent does not jump over what was added to its cuts.
fn check_jumps(added: &AddedCuts, card: &RunCard) -> Result<()> {
    let jumps = |name: &&String| {
        let entry = entries::all().find(|(entry, _)| entry.eq_ignore_ascii_case(name));
        !entry.is_some_and(|(entry, _)| matches!(card.value(entry), Value::Real(x) if *x <= 0.0))
    };
    match added.not_positive.iter().find(jumps) {
        None => Ok(()),
        Some(name) => {
            let what = format!(
                "with {} > 0 MadEvent may jump over the statements that were added to {PASSCUTS} in {}",
                name.to_lowercase(),
                added.file.path.display()
            );
            Err(card.refused(what, "put them before its cuts on xetamin and deltaeta"))
        }
    }
}

/// Checks that MG5aMC takes the routines of a file of `custom_fcts`, and returns their names.
fn check_file(file: &FortranText) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for routine in routines_of(&file.path, &file.text) {
        let name = routine.name;
        let header = String::from_utf8_lossy(&routine.text).into_owned();
        let is_seen = HEADERS.iter().any(|known| header.starts_with(known));
        let (what, cure) = match () {
            () if name.is_empty() => (
                "there are statements outside of functions".to_owned(),
                "put them into one",
            ),
            () if is_seen && NOT_RUN.contains(&&*name) => (
                format!("{name} is not run here"),
                "leave it out, or run MadEvent (mebridge link)",
            ),
            () if is_seen && ![CUT, SCALE].contains(&&*name) && !name.starts_with("USER_") => (
                format!("MG5aMC takes no function {name} from {FILES}"),
                "give it a name that begins with user_",
            ),
            () if !is_seen && names.is_empty() => (
                format!("MG5aMC does not recognise the header of {name}"),
                "begin it with SUBROUTINE, LOGICAL FUNCTION, INTEGER FUNCTION or DOUBLE PRECISION FUNCTION",
            ),
            () => {
                names.push(name);
                continue;
            }
        };
        let place = format!("{}, line {}", file.path.display(), routine.line);
        return Err(Error::run_at(&place, what, cure));
    }
    Ok(names)
}

/// Names of all COMMON blocks of MadEvent.
fn blocks(output: &Output) -> Result<SortedSet<String>> {
    let own = functions_file(output);
    let mut found = SortedSet::new();
    let folders = ["SubProcesses", "Source", "Source/MODEL", "Source/PDF"];
    let folders = folders.map(|name| output.path.join(name));
    for folder in folders.iter().chain(output.directories.first()) {
        let mut files = fortran_of(folder).unwrap_or_default();
        let listed = std::fs::read_dir(folder).map_err(Error::io(folder))?;
        let included = listed.flatten().map(|entry| entry.path());
        files.extend(included.filter(|path| path.extension().is_some_and(|end| end == "inc")));
        for file in files {
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // Matrix elements may be large, and the others may have blocks of the user.
            let is_left_out = ["matrix", "dummy_fct.f", "setscales.f"]
                .iter()
                .any(|one| name.starts_with(one));
            if is_left_out || file == own {
                continue;
            }
            if let Ok(text) = regular::read(&file, MAX_BYTES) {
                found.extend(common_blocks(&file, &text));
            }
        }
    }
    Ok(found)
}

/// What surrounds the functions of a directory, of which `element` is one of the matrix elements.
fn surroundings(
    output: &Output,
    card: &RunCard,
    beams: &Beams,
    (directory, element): (&Directory, &Element),
    blocks: &SortedSet<String>,
) -> UserCodeContext {
    let pdg = &directory.legs[0];
    let decayed = directory.decayed();
    let legs = Legs {
        pdg,
        masses: &element.masses,
        decayed: &decayed,
        card,
    };
    let mut commons = SortedMap::new();
    let mut set = |block: &str, name: &str, place: Option<usize>, values: Vec<FortranNumber>| {
        commons.insert((block.to_owned(), name.to_owned()), (place, values));
    };
    for (name, _) in entries::all() {
        let value = match card.value(name) {
            Value::Real(x) => FortranNumber::Real(*x),
            Value::Whole(i) => match i32::try_from(*i) {
                Ok(i) => FortranNumber::Integer(i),
                Err(_) => continue,
            },
            Value::Flag(flag) => FortranNumber::Logical(*flag),
            _ => continue,
        };
        // What MadEvent sets from point to point, or changes.
        if name == "alpsfact" || name == "scale" && !card.flag("fixed_ren_scale") {
            continue;
        }
        for block in BLOCKS_OF_CARD {
            set(block, &name.to_uppercase(), None, vec![value]);
        }
    }
    let reals = |values: &[f64]| {
        values
            .iter()
            .map(|x| FortranNumber::Real(*x))
            .collect::<Vec<_>>()
    };
    let lpp = beams.lpp.map(|lpp| FortranNumber::Integer(lpp as i32));
    set("TO_COLLIDER", "EBEAM", None, reals(&beams.energies));
    set("TO_COLLIDER", "LPP", None, lpp.to_vec());
    let parameters = element.process.model.card.iter();
    for mass in parameters.filter(|parameter| parameter.block == "mass") {
        set("MASSES", &mass.name, None, reals(&[mass.default]));
    }
    let masses: Vec<f64> = element.masses.iter().map(|mass| mass.abs()).collect();
    set("TO_MASS", "PMASS", Some(0), reals(&masses));
    set(
        "TO_CM_RAP",
        "SET_CM_RAP",
        Some(0),
        vec![FortranNumber::Logical(true)],
    );
    set(
        "TO_CM_RAP",
        "CM_RAP",
        Some(1),
        vec![FortranNumber::Real(0.0)],
    );
    let of_kind = |kind: LegKind| move |leg: usize| legs.kind(leg) == Some(kind);
    let is_cut = |leg: usize| {
        let from_chain = decayed.contains(&leg) && !card.flag("cut_decays");
        let neutrino = legs.kind(leg) == Some(LegKind::Neutrino);
        !from_chain && !neutrino && masses[leg] <= NO_CUTS
    };
    let kinds: [(&str, &dyn Fn(usize) -> bool); 8] = [
        ("IS_A_J", &of_kind(LegKind::Jet)),
        ("IS_A_A", &of_kind(LegKind::Photon)),
        ("IS_A_L", &of_kind(LegKind::Lepton)),
        ("IS_A_B", &of_kind(LegKind::Bottom)),
        ("IS_A_NU", &of_kind(LegKind::Neutrino)),
        ("IS_HEAVY", &|leg: usize| masses[leg] > HEAVY),
        ("IS_A_ONIUM", &|_: usize| false),
        ("DO_CUTS", &is_cut),
    ];
    for (place, (name, holds)) in kinds.into_iter().enumerate() {
        let values = (0..pdg.len()).map(|leg| FortranNumber::Logical(leg >= 2 && holds(leg)));
        set("TO_SPECISA", name, Some(place), values.collect());
    }
    let path = &output.path;
    let folders = ["SubProcesses", "Source", "Source/MODEL"].map(|name| path.join(name));
    UserCodeContext {
        legs: pdg.len(),
        include_folders: [directory.path.clone()]
            .into_iter()
            .chain(folders)
            .collect(),
        commons,
        blocks: blocks.clone(),
    }
}

/// Determines with which values variables that live from call to call start.
fn settle(code: &mut UserCode, element: &Element) -> Result<()> {
    let (incoming, outgoing) = element.masses.split_at(2);
    let threshold: f64 = outgoing.iter().sum();
    let energy = match outgoing {
        [mass] => *mass,
        _ => 3.0 * f64::max(threshold, 100.0),
    };
    let space = PhaseSpace::new(energy, incoming, outgoing)?;
    let mut random = SplitMix64::new(1);
    let points = [0, 1].map(|_| {
        let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.number()).collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&numbers, &mut momenta);
        momenta.as_chunks::<4>().0.to_vec()
    });
    let settled = code.settle([&points[0], &points[1]]);
    settled.map_err(|what| {
        Error::run(
            what,
            "change the function, or give a cut as a function in Python",
        )
    })
}

#[cfg(test)]
mod tests;
