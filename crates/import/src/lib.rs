//! Imports processes from MG5aMC's Fortran.
//!
//! MG5aMC writes a matrix element as fixed-form Fortran, always in the same few patterns. This crate is a front end for
//! that Fortran. It parses statements and expressions instead of matching lines, so what a model or a version of MG5aMC
//! writes differently is either understood or rejected with the file, the line and the construct.
//!
//! | module | contents |
//! |---|---|
//! | `source` | fixed form: splits lines into statements |
//! | `expression`, `statement`, `data`, `program_unit` | the grammar |
//! | `value`, `amplitude_expression`, `intrinsic`, `symbolic` | an interpreter that runs Fortran on symbols |
//! | `lorentz`, `externals`, `momentum_layout` | `Source/DHELAS`: HELAS and ALOHA routines |
//! | `model` | `Source/MODEL`: parameters and couplings |
//! | `matrix` | `matrix<i>.f`, and aMC@NLO's `matrix_<n>.f`, `born.f` and `b_sf_<n>.f` |
//! | `tables` | leshouche.inc, coloramps.inc, config_subproc_map.inc |
//! | `pdg`, `nlo` | PDG codes of standalone outputs and of aMC@NLO's |
//! | `color_ordered` | the colour-ordered form of an imported process, if it has one |
//! | `user_code` | runs functions that users write for MadEvent, on numbers |
//! | `directory` | locations of these files |
//! | `dependencies` | files that an import read, and whether they have changed |

mod amplitude_expression;
mod color_ordered;
mod data;
mod dependencies;
mod directory;
mod expression;
mod externals;
mod intrinsic;
mod lorentz;
mod matrix;
mod model;
mod momentum_layout;
mod nlo;
mod pdg;
mod program_unit;
mod recycled;
mod source;
mod statement;
mod symbolic;
mod tables;
pub mod user_code;
mod value;

pub use dependencies::read_bounded;
pub use dependencies::{DependencyRecord, Seen, fortran as fortran_of, record};
pub use directory::{is_nlo, matrix_files, no_loops};
pub use recycled::recycled_otherwise;
pub use tables::each_integer;

use directory::{ElementFile, ElementKind, SubprocessPaths};
use lorentz::Routines;
use mebridge_process::born::{Born, ColorLink};
use mebridge_process::card::Card;
use mebridge_process::channels::Channels;
use mebridge_process::model::CardParameter;
use mebridge_process::{Amplitudes, Diagrams, ExternalKind, Leg, Process, Quantity, Wavefunction};
use mebridge_support::error::{Error, Result};
use model::{ExtraScale, ModelReader};
use program_unit::Library;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use value::FortranValue;

/// Imports every matrix element of a subprocess directory, in the order of their numbers, with the parameter card in
/// the output's `Cards`.
pub fn import_directory(dir: &Path) -> Result<Vec<Process>> {
    import_with_card(dir, None)
}

/// As [`import_directory`], for evaluation with other values than those of the card, which may leave widths to be
/// computed; also returns the dependencies of the import.
pub fn import_noted(dir: &Path) -> (Result<Vec<Process>>, Vec<DependencyRecord>) {
    let options = Options {
        open_widths: true,
        ..Options::default()
    };
    dependencies::record(dir, || import_with(dir, &options))
}

/// A matrix element of a directory, if it can be imported.
pub struct ImportedElement {
    /// Its file.
    pub file: PathBuf,
    /// The matrix element.
    pub process: Result<Process>,
    /// The colour links of a Born.
    pub links: Vec<ColorLink>,
}

/// As [`import_noted`], where one matrix element may be imported although another cannot be.
///
/// # Errors
/// The directory is none of MG5aMC's.
pub fn import_elements(dir: &Path) -> Result<(Vec<ImportedElement>, Vec<DependencyRecord>)> {
    let (found, looks) = dependencies::record(dir, || {
        let directory = SubprocessPaths::open(dir)?;
        let element = |(number, file): (usize, &ElementFile)| {
            let options = Options {
                open_widths: true,
                element: Some(number),
                ..Options::default()
            };
            let found = elements(&directory, &options).and_then(|mut found| {
                let what = "a matrix element that is not imported".into();
                found.pop().ok_or(Error::Internal { what })
            });
            let (process, links) = match found {
                Ok((process, links)) => (Ok(process), links),
                Err(error) => (Err(error), Vec::new()),
            };
            ImportedElement {
                file: file.path.clone(),
                process,
                links,
            }
        };
        Ok((1..).zip(&directory.matrices).map(element).collect())
    });
    Ok((found?, looks))
}

/// As [`import_directory`], with another parameter card.
pub fn import_with_card(dir: &Path, card: Option<&Path>) -> Result<Vec<Process>> {
    import_with(
        dir,
        &Options {
            card,
            ..Options::default()
        },
    )
}

/// Options of an import.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// A parameter card to use instead of that of the output.
    pub card: Option<&'a Path>,
    /// Subroutines without a source, in upper case, whose calls are declared not to change the result.
    pub harmless_calls: &'a [String],
    /// The only matrix element to import, from 1, so that others that cannot be imported do not matter.
    pub element: Option<usize>,
    /// Whether widths that the card leaves to be computed (`Auto`) become NaN; otherwise such a card is rejected.
    pub open_widths: bool,
}

/// Imports a directory as [`import_directory`] does, with options.
pub fn import_with(dir: &Path, options: &Options) -> Result<Vec<Process>> {
    let elements = elements(&SubprocessPaths::open(dir)?, options)?;
    Ok(elements.into_iter().map(|(process, _)| process).collect())
}

/// Imports the Born of a subprocess directory of aMC@NLO with its colour links; `options.element` is ignored.
pub fn import_born(dir: &Path, options: &Options) -> Result<Born> {
    let directory = SubprocessPaths::open(dir)?;
    let files = (1..).zip(&directory.matrices);
    let mut born = files.filter(|(_, file)| file.kind == ElementKind::Born);
    let Some((number, _)) = born.next() else {
        return Err(Error::NotProcessDirectory {
            path: dir.to_path_buf(),
            missing: "it has no Born (born.f), as the directories SubProcesses/P* of `generate ... [QCD]` have"
                .into(),
        });
    };
    let options = Options {
        element: Some(number),
        ..*options
    };
    let born = elements(&directory, &options)?.pop();
    let (process, links) = born.ok_or(Error::Internal {
        what: "a Born that is not imported".into(),
    })?;
    Ok(Born { process, links })
}

/// Imports the matrix elements of a directory, the Born with its colour links.
fn elements(
    directory: &SubprocessPaths,
    options: &Options,
) -> Result<Vec<(Process, Vec<ColorLink>)>> {
    let (card, dir) = (options.card, &*directory.path);
    let (inputs, card) = parameters(directory, card)?;
    let mut library = Library::default();
    library.harmless_calls = options.harmless_calls.to_vec();
    library.include_folders = vec![
        directory.path.clone(),
        directory.source.clone(),
        directory.model.clone(),
    ];
    library.add_folder(&directory.dhelas)?;
    library.add_folder(&directory.model)?;
    // Minimum width as a fraction of the mass.
    let small_width = directory.run_parameter("small_width_treatment", 1e-6)?;
    // Number of widths from its mass beyond which a line is off shell, where `$` forbids that it is on shell.
    let bw_cutoff = directory.run_parameter("bwcutoff", 15.0)?;
    let scale = ExtraScale::from_cards(directory, card.as_ref())?;
    let contract = directory.contract();
    let model_name = directory.model_name();
    for file in &directory.matrices {
        match file.kind {
            ElementKind::Born => matrix::born::add_sources(&mut library, &directory.path)?,
            _ => library.add_source(&Rc::new(source::SourceFile::read(&file.path)?)),
        }
    }
    let beams = directory.beams()?;
    let mut processes = Vec::new();
    for (n, file) in (1..).zip(&directory.matrices) {
        if options.element.is_some_and(|wanted| wanted != n) {
            continue;
        }
        let ElementFile { kind, number, path } = file;
        let mut model = ModelReader::run(&library, &directory.model, inputs.clone(), &scale)?;
        let mut routines = Routines::new(&library, bw_cutoff);
        let mut links = Vec::new();
        let (mut matrix, tables, sum) = match kind {
            ElementKind::Born => {
                let units = matrix::born::units(&library, &directory.path)?;
                let (matrix, found) = matrix::born::read(&units, &mut model, &mut routines)?;
                links = found;
                let flavours = nlo::born_flavours(&directory.path, matrix.legs)?;
                let tables = Tables::of_flavours(flavours, matrix.legs);
                (matrix, tables, units.sum)
            }
            _ => {
                let units = match kind {
                    ElementKind::Real => matrix::real_units(&library, path, number)?,
                    _ => matrix::units(&library, path, number)?,
                };
                let read = matrix::read(&units, &mut model, &mut routines, small_width, &beams);
                let matrix = read?;
                let tables = tables(directory, file, &units.prefix, &matrix)?;
                matrix.check_channels(&units, &library, &tables.channels.config_diagram)?;
                (matrix, tables, units.smatrix)
            }
        };
        let legs = legs(directory, &matrix, &tables.pdg, &mut model, path)?;
        for wavefunction in &mut matrix.wavefunctions {
            if let Wavefunction::External(e) = wavefunction {
                e.mass = legs[e.leg as usize].mass;
            }
        }
        possible_helicities(&matrix, &legs).map_err(|what| sum.error(what))?;
        let name = source::process_comment(&read_bounded(path)?);
        let mut process = Process {
            name: name.unwrap_or_else(|| folder_name(dir)),
            model_name: model_name.clone(),
            legs,
            other_flavours: tables.other_flavours,
            helicities: matrix.sum.helicities,
            helicity_sum: matrix.sum.weights,
            beam_weights: matrix.sum.beam_weights,
            iden: matrix.sum.iden,
            model: model.finish(
                card.as_ref(),
                !directory.is_standalone(),
                options.open_widths,
            )?,
            routines: routines.found,
            wavefunctions: matrix.wavefunctions,
            amplitudes: Amplitudes::Diagrams(Diagrams {
                amplitudes: matrix.amplitudes,
                jamp: matrix.jamp,
                color: matrix.color,
                color_ordered: None,
            }),
            diagrams: matrix.diagrams,
            flow_weights: matrix.jamp2,
            channels: Channels {
                amp2: matrix.amp2,
                ..tables.channels
            },
            contract,
        };
        process.validate().map_err(|e| Error::Import {
            path: path.clone(),
            what: e.to_string(),
        })?;
        color_ordered::add(&mut process);
        processes.push((process, links));
    }
    Ok(processes)
}

/// Contents of the tables of a matrix element.
#[derive(Default)]
struct Tables {
    /// PDG codes of the legs, if known.
    pdg: Vec<i32>,
    /// PDG codes for other flavours with the same matrix element.
    other_flavours: Vec<Vec<i32>>,
    channels: Channels,
}

impl Tables {
    /// Without channels, for the PDG codes of some flavours, or none.
    fn of_flavours(flavours: Vec<Vec<i32>>, legs: usize) -> Tables {
        let mut codes = flavours.into_iter();
        Tables {
            pdg: codes.next().unwrap_or_else(|| vec![0; legs]),
            other_flavours: codes.collect(),
            ..Tables::default()
        }
    }
}

/// Reads MadEvent's tables. A standalone output has none: no channels, no colour flows to choose from, and PDG codes
/// only if its routines have prefixes. Real emissions have PDG codes alone.
fn tables(
    directory: &SubprocessPaths,
    file: &ElementFile,
    prefix: &str,
    matrix: &matrix::MatrixFile,
) -> Result<Tables> {
    let number = file.number.as_str();
    let flavours = match file.kind {
        ElementKind::Real => Some(nlo::real_flavours(&directory.path, number, matrix.legs)?),
        _ if directory.is_standalone() => {
            Some(pdg::of_prefix(&directory.path, prefix, matrix.legs)?)
        }
        _ => None,
    };
    if let Some(flavours) = flavours {
        return Ok(Tables::of_flavours(flavours, matrix.legs));
    }
    let which = number.parse().unwrap_or(1);
    let path = directory.table("leshouche.inc")?;
    let events = tables::leshouche(&path, which, matrix.legs, matrix.flows)?;
    // An ungrouped output has CONFSUB, too, but its matrix.f uses MAPCONFIG; CONFSUB is 1 everywhere.
    let (map, array) = match number {
        "" => ("configs.inc", "MAPCONFIG"),
        _ => ("config_subproc_map.inc", "CONFSUB"),
    };
    let map = directory.table(map)?;
    let config_diagram = tables::configurations(&map, which)?;
    if config_diagram.iter().any(|&d| d > matrix.diagrams) {
        return Err(Error::Import {
            path: map,
            what: format!("{array} names a diagram that does not exist"),
        });
    }
    let coloramps = directory.table("coloramps.inc")?;
    let color_allowed = match number {
        "" => {
            // Rows are those of diagrams (`diag_number` of driver.f and addmothers.f).
            let channel = |diagram: &u32| config_diagram.contains(diagram);
            let diagrams: Vec<u32> = (1..=matrix.diagrams)
                .map(|diagram| if channel(&diagram) { diagram } else { 0 })
                .collect();
            let rows = tables::color_allowed(&coloramps, which, &diagrams, matrix.flows)?;
            let row = |&diagram: &u32| match diagram {
                0 => vec![false; matrix.flows],
                _ => rows[diagram as usize - 1].clone(),
            };
            config_diagram.iter().map(row).collect()
        }
        _ => tables::color_allowed(&coloramps, which, &config_diagram, matrix.flows)?,
    };
    Ok(Tables {
        pdg: events.pdg,
        other_flavours: events.other_flavours,
        channels: Channels {
            amp2: Vec::new(),
            config_diagram,
            color_allowed,
            color_flows: events.color_flows,
            // MadEvent's files give these for its own configurations only.
            resonances: Vec::new(),
        },
    })
}

/// Checks that every helicity of NHEL is possible for its particle.
fn possible_helicities(
    matrix: &matrix::MatrixFile,
    legs: &[Leg],
) -> std::result::Result<(), String> {
    for wavefunction in &matrix.wavefunctions {
        let Wavefunction::External(e) = wavefunction else {
            continue;
        };
        let leg = e.leg as usize;
        let possible = e.kind.helicities(legs[leg].mass != Quantity::ZERO);
        for (row, helicities) in matrix.sum.helicities.iter().enumerate() {
            if !possible.contains(&helicities[leg]) {
                // Numbers of G, H, Q, W, S and A in MG5aMC 3.8.
                let part = matches!(helicities[leg], 4..=7 | 9 | 99);
                let braces = match part && e.kind == ExternalKind::Vector {
                    true => {
                        "; {G}, {H}, {Q}, {W}, {S} and {A} are parts of propagators, and a particle that comes in or \
                         goes out has none of them"
                    }
                    false => "",
                };
                return Err(format!(
                    "NHEL({}, {}) is {}, which the particle of {} cannot have{braces}",
                    leg + 1,
                    row + 1,
                    helicities[leg],
                    e.kind.routine()
                ));
            }
        }
    }
    Ok(())
}

/// Returns the card parameters of the model, and the card. Without ident_card.dat the values are those of
/// `Source/param_card.inc`, which MG5aMC writes from the card when the output is launched.
fn parameters(
    directory: &SubprocessPaths,
    card: Option<&Path>,
) -> Result<(Vec<CardParameter>, Option<Card>)> {
    let ident = directory.cards.join("ident_card.dat");
    if dependencies::is_file(&ident) {
        let inputs = model::read_ident_card(&ident)?;
        let card = match card {
            Some(path) => path.to_path_buf(),
            None => directory.cards.join("param_card.dat"),
        };
        let bytes = read_bounded(&card)?;
        let card = Card::parse(&String::from_utf8_lossy(&bytes), &card);
        return Ok((inputs, Some(card)));
    }
    let values = directory.source.join("param_card.inc");
    if card.is_some() || !dependencies::is_file(&values) {
        return Err(Error::Import {
            path: ident,
            what: "this file says which parameters the card holds, and it is missing".into(),
        });
    }
    Ok((model::read_values(&values)?, None))
}

/// Returns the names of the subroutines and functions of a Fortran file, in upper case.
pub fn routines_in(path: &Path) -> Result<Vec<String>> {
    let source = Rc::new(source::SourceFile::read(path)?);
    let units = program_unit::units_of(&source).into_iter();
    Ok(units.map(|unit| unit.name).collect())
}

/// A subroutine or function of a Fortran file, or the statements outside of them, which have no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FortranRoutine {
    /// Name, in upper case.
    pub name: String,
    /// First line, from 1.
    pub line: u32,
    /// Its statements with their labels, one per line, without comments; outside character constants also without
    /// blanks and in upper case.
    pub text: Vec<u8>,
}

/// Returns the routines of a fixed-form Fortran file in order.
pub fn routines_of(path: &Path, bytes: &[u8]) -> Vec<FortranRoutine> {
    let source = Rc::new(source::SourceFile::parse(path, bytes));
    let mut found: Vec<FortranRoutine> = Vec::new();
    let mut routine = |name: String, from: usize, to: usize| {
        let mut text = Vec::new();
        for statement in from..to {
            if source.label(statement) != 0 {
                text.extend(format!("{} ", source.label(statement)).into_bytes());
            }
            text.extend(source.text(statement));
            text.push(b'\n');
        }
        if from < to {
            let line = source.line(from);
            found.push(FortranRoutine { name, line, text });
        }
    };
    let mut next = 0;
    for unit in program_unit::units_of(&source) {
        routine(String::new(), next, unit.header);
        // Includes its END, which a truncated file lacks.
        next = (unit.end + 1).min(source.len());
        routine(unit.name, unit.header, next);
    }
    routine(String::new(), next, source.len());
    found
}

/// Returns the name of a process without a name: that of its folder.
pub fn folder_name(dir: &Path) -> String {
    dir.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns the external legs. A leg's mass is that of its wavefunction; scalars have none there, so theirs is looked up
/// in pmass.inc.
fn legs(
    directory: &SubprocessPaths,
    matrix: &matrix::MatrixFile,
    pdg: &[i32],
    model: &mut ModelReader,
    path: &Path,
) -> Result<Vec<Leg>> {
    let fail = |what: String| Error::Import {
        path: path.to_path_buf(),
        what,
    };
    let incoming = incoming(directory, model)?;
    let mut masses: Vec<Option<Quantity>> = vec![None; matrix.legs];
    let mut present = vec![false; matrix.legs];
    for wavefunction in &matrix.wavefunctions {
        if let Wavefunction::External(e) = wavefunction {
            present[e.leg as usize] = true;
            if e.kind != mebridge_process::ExternalKind::Scalar {
                masses[e.leg as usize] = Some(e.mass);
            }
        }
    }
    if let Some(leg) = present.iter().position(|p| !p) {
        return Err(fail(format!("leg {} has no wavefunction", leg + 1)));
    }
    let mut legs = Vec::with_capacity(matrix.legs);
    for (i, mass) in masses.into_iter().enumerate() {
        let mass = match mass {
            Some(mass) => mass,
            None => listed_mass(directory, model, i)?,
        };
        legs.push(Leg {
            pdg: pdg[i],
            incoming: i < incoming,
            mass,
        });
    }
    Ok(legs)
}

/// Reads NINCOMING from nexternal.inc.
fn incoming(directory: &SubprocessPaths, model: &mut ModelReader) -> Result<usize> {
    let path = directory.table("nexternal.inc")?;
    let interpreter = &mut model.interpreter;
    let mut frame = interpreter.frame(&path);
    if let Some((_, nodes)) = interpreter.library.include(&path, b"nexternal.inc")? {
        interpreter.declare(&mut frame, &nodes)?;
    }
    match interpreter.int_constant(&frame, "NINCOMING") {
        Some(n @ 1..=2) => Ok(n as usize),
        _ => Err(Error::Import {
            path,
            what: "NINCOMING is neither 1 nor 2".into(),
        }),
    }
}

/// Reads PMASS of a leg (from 0) from pmass.inc.
fn listed_mass(
    directory: &SubprocessPaths,
    model: &mut ModelReader,
    leg: usize,
) -> Result<Quantity> {
    use expression::FortranExpr;
    use statement::Statement;
    let path = directory.table("pmass.inc")?;
    let interpreter = &mut model.interpreter;
    let mut frame = interpreter.frame(&path);
    let zero = FortranValue::Real(interpreter.builder.real(0.0));
    interpreter.set_name(&mut frame, "ZERO", zero);
    let Some((_, nodes)) = interpreter.library.include(&path, b"pmass.inc")? else {
        return Ok(Quantity::ZERO);
    };
    for node in nodes.iter() {
        let program_unit::NodeKind::Plain(Statement::Assign(name, place, value)) = &node.kind
        else {
            continue;
        };
        if name != "PMASS" || place.as_slice() != [FortranExpr::Int(leg as i64 + 1)] {
            continue;
        }
        let fault = |what| Error::Fortran {
            file: path.clone(),
            line: node.line,
            what,
        };
        // The sign of a mass, which MG5aMC removes here, does not matter for kinematics.
        let value = match value {
            FortranExpr::Apply(abs, inner) if abs == "ABS" || abs == "DABS" => {
                match inner.as_slice() {
                    [inner] => inner,
                    _ => value,
                }
            }
            _ => value,
        };
        let named = match value {
            FortranExpr::Name(name) => name.clone(),
            _ => format!("PMASS({})", leg + 1),
        };
        let value = interpreter.eval(&mut frame, value).map_err(fault)?;
        let value = value.real(&mut interpreter.builder).map_err(fault)?;
        if interpreter
            .builder
            .constant(value)
            .is_some_and(|c| c.re == 0.0)
        {
            return Ok(Quantity::ZERO);
        }
        return Ok(Quantity(Some(model.names.parameter(&named, value))));
    }
    Err(Error::Import {
        path,
        what: format!("there is no PMASS({})", leg + 1),
    })
}
