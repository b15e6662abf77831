//! Export of a process as standalone Fortran, in the layout of MG5aMC's outputs, so that the importer can read it back.
//!
//! External wavefunctions, the choice of a colour flow and the reading of cards are the handwritten files in
//! `fortran/`; everything else is generated from the process. No text is copied from MG5aMC.
//!
//! | module | content |
//! |---|---|
//! | `source` | Fortran in fixed form |
//! | `program` | straight-line arithmetic as statements |
//! | `shared` | parameters, couplings and routines of all matrix elements of an output |
//! | `model` | `Source/MODEL`, the cards |
//! | `lorentz` | `Source/DHELAS` |
//! | `matrix` | `matrix1.f` |
//! | `tables` | the files beside `matrix1.f` |

mod lorentz;
mod matrix;
mod model;
mod program;
mod shared;
mod source;
mod tables;

use crate::phase_space::PhaseSpace;
use crate::{Diagrams, ExternalKind, HelicitySum, Process, Wavefunction};
use mebridge_support::error::{Error, Result};
use mebridge_support::files::temporary::{Temporary, folder_of, make_folders};
use mebridge_support::random::SplitMix64;
use shared::Shared;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Number of events in `events.txt`.
const EVENTS: usize = 4;
/// Their energy, in units of the threshold or [`MIN_ENERGY_UNIT`] (in GeV), whichever is larger.
const ENERGY: f64 = 2.3;
const MIN_ENERGY_UNIT: f64 = 200.0;
const SEED: u64 = 14;

/// Writes processes of one model to a new directory, with a directory `SubProcesses/P<n>_..` per process. Returns the
/// names of these.
pub fn write(processes: &[Process], directory: &Path) -> Result<Vec<PathBuf>> {
    if std::fs::symlink_metadata(directory).is_ok() {
        return Err(Error::Export {
            what: format!(
                "{} exists, and is not overwritten; name a new directory, or remove it",
                directory.display()
            ),
        });
    }
    let (files, names) = files(processes)?;
    // Written beside the target, then renamed, so that it is complete or absent.
    let beside = folder_of(directory);
    std::fs::create_dir_all(beside).map_err(Error::io(beside))?;
    let temporary = Temporary::folder(beside, 0o777).map_err(Error::io(directory))?;
    for (path, text) in &files {
        let to = temporary.path().join(path);
        if let Some(folder) = path.parent() {
            make_folders(temporary.path(), folder).map_err(Error::io(&to))?;
        }
        std::fs::write(&to, text).map_err(Error::io(&to))?;
    }
    temporary.keep(directory).map_err(Error::io(directory))?;
    Ok(names)
}

/// Paths and texts of files in the output.
type Files = Vec<(PathBuf, String)>;

/// Returns all files, and the directories of the processes.
fn files(processes: &[Process]) -> Result<(Files, Vec<PathBuf>)> {
    for process in processes {
        diagrams(process)?;
    }
    let fail = |what| Error::Export { what };
    let shared = Shared::merge(processes).map_err(fail)?;
    let model = processes.first().map_or("", |p| p.model_name.as_str());
    let mut files = Files::new();
    let mut add = |folder: &Path, name: &str, text: String| files.push((folder.join(name), text));
    for (name, text) in model::cards(&shared.model, model).map_err(fail)? {
        add("Cards".as_ref(), name, text);
    }
    let vector = "      INTEGER VECSIZE_MEMMAX\n      PARAMETER (VECSIZE_MEMMAX=1)\n";
    add("Source".as_ref(), "vector.inc", vector.into());
    for (name, text) in model::files(&shared) {
        add("Source/MODEL".as_ref(), name, text);
    }
    let dhelas = Path::new("Source/DHELAS");
    let wavefunctions = include_str!("../../../../fortran/gg_ttx/Source/DHELAS/aloha_functions.f");
    add(dhelas, "aloha_functions.f", wavefunctions.into());
    for routine in &shared.routines {
        let name = format!("{}.f", routine.name);
        add(dhelas, &name, lorentz::subroutine(routine));
    }
    let depends = shared.per_event();
    let per_event = |name: &str| {
        let mut couplings = shared.model.couplings.iter();
        couplings.any(|c| c.name == name && depends[c.value as usize])
    };
    let mut names = Vec::new();
    for (number, process) in (1..).zip(processes) {
        let particles = particles(&process.name);
        let folder = format!("SubProcesses/P{number}_{}", folder_name(&particles));
        let folder = Path::new(&folder);
        add(
            folder,
            "matrix1.f",
            matrix::matrix(process, diagrams(process)?, &per_event),
        );
        for (name, text) in tables::files(process, &particles) {
            add(folder, name, text);
        }
        let choice =
            include_str!("../../../../fortran/gg_ttx/SubProcesses/P1_gg_ttx/select_color.f");
        add(folder, "select_color.f", choice.into());
        add(folder, "driver.f", include_str!("text/driver.f").into());
        add(folder, "makefile", include_str!("text/makefile").into());
        add(folder, "events.txt", events(process)?);
        names.push(folder.to_owned());
    }
    let base = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned());
    let list: Vec<String> = names.iter().filter_map(base).collect();
    add(
        "SubProcesses".as_ref(),
        "subproc.mg",
        list.join("\n") + "\n",
    );
    Ok((files, names))
}

/// The diagrams of a process, or an error that says why it cannot be written.
fn diagrams(process: &Process) -> Result<&Diagrams> {
    let refused = |what: String| Error::Export {
        what: format!("{}: {what}", process.name),
    };
    let diagrams = process.amplitudes.diagrams().ok_or_else(|| {
        refused(
            "it is evaluated without diagrams, and Fortran can only be written from diagrams; generate it with fewer gluons".into(),
        )
    })?;
    match why_not(process) {
        Some(what) => Err(refused(what)),
        None => Ok(diagrams),
    }
}

/// Why a process with diagrams cannot be written, if so.
fn why_not(process: &Process) -> Option<String> {
    if process.helicity_sum != HelicitySum::Positive
        || !process.beam_weights.is_empty()
        || !process.flow_weights.is_empty()
    {
        return Some("polarised beams and squared coupling orders cannot be written".into());
    }
    let kinds = process.wavefunctions.iter().filter_map(|w| match w {
        Wavefunction::External(e) => Some(e.kind),
        Wavefunction::Internal(_) => None,
    });
    let written = [
        ExternalKind::FermionIn,
        ExternalKind::FermionOut,
        ExternalKind::Vector,
        ExternalKind::Scalar,
    ];
    let mut others = kinds.filter(|kind| !written.contains(kind));
    let other = others.next()?;
    Some(format!(
        "external wavefunctions {} cannot be written",
        other.routine()
    ))
}

/// The particles in a process's name, without coupling orders and the rest.
fn particles(name: &str) -> String {
    let words = name.split_whitespace();
    let words = words.take_while(|word| {
        !word.contains(['=', '<', '@', '/']) && (*word == ">" || !word.contains('>'))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `gg_ttx` for `g g > t t~`.
fn folder_name(particles: &str) -> String {
    let mut name = String::new();
    for c in particles.chars() {
        match c {
            ' ' => {}
            '>' => name.push('_'),
            '~' => name.push('x'),
            '+' => name.push('p'),
            '-' => name.push('m'),
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ => {}
        }
    }
    name
}

/// Generates a few events, one line each, as `mebridge eval` and the driver read them.
fn events(process: &Process) -> Result<String> {
    let model = &process.model;
    let values = model.evaluate(&model.default_card(), 1.0);
    let masses = |incoming: bool| -> Vec<f64> {
        let legs = process.legs.iter().filter(|leg| leg.incoming == incoming);
        let mass = |leg: &crate::Leg| match leg.mass.0 {
            Some(n) => values[model.parameters[n as usize].value as usize].re.abs(),
            None => 0.0,
        };
        legs.map(mass).collect()
    };
    let (incoming, outgoing) = (masses(true), masses(false));
    let needed = incoming.iter().sum::<f64>().max(outgoing.iter().sum());
    let energy = match incoming.len() == 1 || outgoing.len() == 1 {
        true => needed,
        false => ENERGY * needed.max(MIN_ENERGY_UNIT),
    };
    let space = PhaseSpace::new(energy, &incoming, &outgoing)?;
    let mut random = SplitMix64::new(SEED);
    let mut text = String::new();
    for _ in 0..EVENTS {
        let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.number()).collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&numbers, &mut momenta);
        let numbers: Vec<String> = momenta.iter().map(|x| format!("{x:e}")).collect();
        let _ = writeln!(text, "{}", numbers.join(" "));
    }
    Ok(text)
}
