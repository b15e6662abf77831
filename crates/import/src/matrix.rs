//! The matrix element: `matrix<i>.f` of MadEvent, `matrix.f` of standalone outputs and of the reweighting module.
//!
//! The layout of the file is not relied on. The function `MATRIX<i>` is run on symbols: calls of HELAS and ALOHA
//! routines give wavefunctions and amplitudes (`helas`), and the interpreter runs all other Fortran with the amplitudes
//! as unknowns. Its result, AMP2 and JAMP2 then give the colour matrix, channels and colour flows (`squares`). It is
//! run twice, since static variables may make a second call different. `SMATRIX<i>` is run on numbers, with known ones
//! instead of `MATRIX<i>`, to determine which helicities it sums, and how (`sum`).

pub mod born;
mod helas;
mod squares;
mod sum;

use super::amplitude_expression::AmplitudeExpression;
use super::directory::BeamCommons;
use super::lorentz::Routines;
use super::model::ModelReader;
use super::program_unit::{Library, ProgramUnit};
use super::symbolic::{Interpreter, Location, Preset, UnitFrame};
use super::value::{FortranValue, Truth};
use helas::Helas;
use mebridge_process::channels::Amp2;
use mebridge_process::color::{ColorMatrix, FlowWeight};
use mebridge_process::{HelicitySum, LinearMap, Vertex, Wavefunction};
use mebridge_support::error::{Error, Result};
use squares::SquareTables;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// Maximum number of legs, more than MG5aMC can generate.
const MAX_LEGS: i64 = 32;
/// Maximum number of colour flows: a larger colour matrix could not be stored.
const MAX_FLOWS: i64 = 20_000;

/// Contents of a matrix element's file.
#[derive(Debug)]
pub struct MatrixFile {
    pub legs: usize,
    pub wavefunctions: Vec<Wavefunction>,
    pub amplitudes: Vec<Vertex>,
    pub diagrams: u32,
    /// Map from amplitudes to JAMPs; if coupling orders are split, there is one JAMP per flow and order.
    pub jamp: LinearMap,
    pub color: ColorMatrix,
    /// NCOLOR.
    pub flows: usize,
    /// JAMP2 in terms of JAMPs; empty for a standalone output.
    pub jamp2: Vec<FlowWeight>,
    pub amp2: Vec<Amp2>,
    /// The sum over helicities of `SMATRIX<i>`.
    pub sum: sum::HelicityLoop,
    /// Elements of RES.
    results: usize,
}

/// The program units of one matrix element.
pub struct Units<'l> {
    /// Prefix of the names.
    pub prefix: String,
    /// `SMATRIX<i>`.
    pub smatrix: &'l ProgramUnit,
    /// `MATRIX<i>`.
    pub matrix: &'l ProgramUnit,
}

impl<'l> Units<'l> {
    /// Finds the units by their names without the prefix.
    fn named(
        library: &'l Library,
        path: &Path,
        prefix: &str,
        [smatrix, matrix]: [String; 2],
    ) -> Result<Units<'l>> {
        let find = |name: String| unit_named(library, path, &format!("{prefix}{name}"), "");
        let units = Units {
            prefix: prefix.to_owned(),
            smatrix: find(smatrix)?,
            matrix: find(matrix)?,
        };
        no_bound_states(units.smatrix)?;
        no_bound_states(units.matrix)?;
        Ok(units)
    }
}

/// Finds a unit that the file at `path` has to have; `why` ends the message if it has not.
fn unit_named<'l>(
    library: &'l Library,
    path: &Path,
    name: &str,
    why: &str,
) -> Result<&'l ProgramUnit> {
    match library.unit(name)? {
        Some(unit) => Ok(unit),
        None => Err(Error::Import {
            path: path.to_path_buf(),
            what: format!("there is no {name}{why}"),
        }),
    }
}

/// Finds `SMATRIX<n>` and `MATRIX_<n>` of aMC@NLO's real emissions.
pub fn real_units<'l>(library: &'l Library, path: &Path, number: &str) -> Result<Units<'l>> {
    let old = format!("SMATRIX_{number}");
    if library.names_in(path).contains(&old.as_str()) {
        return Err(Error::Import {
            path: path.to_path_buf(),
            what: format!(
                "there is {old} in it, as MG5aMC 2 writes; mebridge reads outputs of aMC@NLO from version 3 on, so \
                 generate the process with one"
            ),
        });
    }
    let names = [format!("SMATRIX{number}"), format!("MATRIX_{number}")];
    Units::named(library, path, "", names)
}

/// Finds `SMATRIX<i>` and `MATRIX<i>`, or without a number `<prefix>SMATRIX` and `<prefix>MATRIX`.
pub fn units<'l>(library: &'l Library, path: &Path, number: &str) -> Result<Units<'l>> {
    let mut names = library.names_in(path);
    names.sort_unstable();
    let ending = format!("SMATRIX{number}");
    let prefix = names.iter().find_map(|name| {
        let prefix = name.strip_suffix(ending.as_str())?;
        // `--prefix=proc` uses the name of the process as prefix, without an underscore.
        let matrix = format!("{prefix}MATRIX{number}");
        let named = prefix.is_empty() || prefix.ends_with('_') || names.contains(&matrix.as_str());
        named.then_some(prefix)
    });
    let Some(prefix) = prefix else {
        return Err(Error::Import {
            path: path.to_path_buf(),
            what: format!("there is no {ending}; this is no matrix element as MG5aMC writes it"),
        });
    };
    let matrix = format!("MATRIX{number}");
    Units::named(library, path, prefix, [ending, matrix])
}

/// Rejects matrix elements of quarkonium and leptonium (MG5aMC 3.8), whose constituents are projected on spin states
/// and differentiated with respect to their relative momentum with dual numbers (arXiv:2510.26773).
fn no_bound_states(unit: &ProgramUnit) -> Result<()> {
    let marks: [&[u8]; 3] = [b"USEDUAL_VARIABLES", b"TYPE(DUAL)", b"CALLONIA_"];
    let mut texts = (unit.header..unit.end).map(|statement| unit.source.text(statement));
    match texts.any(|text| marks.iter().any(|mark| text.starts_with(mark))) {
        true => Err(unit.error(
            "this is of a quarkonium or leptonium process of MG5aMC 3.8, and mebridge has no bound states; run MadEvent",
        )),
        false => Ok(()),
    }
}

/// Reads a matrix element.
pub fn read<'l>(
    units: &Units<'l>,
    model: &mut ModelReader<'l>,
    routines: &mut Routines<'l>,
    small_width: f64,
    beams: &BeamCommons,
) -> Result<MatrixFile> {
    let unit = units.matrix;
    let body = unit.body()?;
    let smatrix = units.smatrix.body()?;
    let frame = model.interpreter.declare_unit(units.smatrix, &smatrix)?;
    let legs = legs_of(unit, &model.interpreter, &frame)?;
    let diagrams = model.interpreter.int_constant(&frame, "NDIAGS");
    let frame = model.interpreter.declare_unit(unit, &body)?;
    let flows = number_of_flows(unit, &model.interpreter, &frame)?;
    let graphs = model.interpreter.int_constant(&frame, "NGRAPHS");
    let small = FortranValue::Real(model.interpreter.builder.real(small_width));
    set_by_madevent(&mut model.interpreter, small);
    let mut run = || call(unit, model, routines, legs);
    let (helas, results) = run()?;
    let (again, results_again) = run()?;
    if helas != again {
        return Err(unit.error(format!(
            "a second call of {} computes something else than the first",
            unit.name
        )));
    }
    let sum = sum::read(units, model.interpreter.library, legs, results.len(), beams)?;
    let flow_count = flows;
    let squares = |results: &Results| {
        squares::read(
            &model.interpreter,
            results,
            &sum.results,
            flow_count,
            helas.amplitudes.len(),
        )
        .map_err(|what| unit.error(what))
    };
    let first = squares(&results)?;
    if squares(&results_again)? != first {
        return Err(unit.error(format!(
            "a second call of {} sums something else than the first",
            unit.name
        )));
    }
    let SquareTables {
        jamp,
        color,
        jamp2,
        amp2,
    } = first;
    if graphs.is_some_and(|n| n != helas.amplitudes.len() as i64) {
        return Err(unit.error(format!(
            "{} amplitudes are computed, and NGRAPHS is {}",
            helas.amplitudes.len(),
            graphs.unwrap_or(0)
        )));
    }
    // The default: one JAMP per colour flow, with JAMP2 its squared modulus.
    let plain = (0..)
        .zip(&jamp2)
        .all(|(i, weight)| *weight == FlowWeight::of_jamp(i));
    let jamp2 = match plain && (jamp2.is_empty() || jamp2.len() == jamp.outputs.len()) {
        true => Vec::new(),
        false => jamp2,
    };
    let mut sum = sum.helicities;
    if color.is_positive() {
        sum.weights = HelicitySum::Positive;
    }
    let last = amp2.last().map_or(0, |a| a.diagram);
    let diagrams = diagrams.and_then(|n| u32::try_from(n).ok());
    Ok(MatrixFile {
        legs,
        wavefunctions: helas.wavefunctions,
        diagrams: diagrams.unwrap_or(helas.amplitudes.len() as u32).max(last),
        amplitudes: helas.amplitudes,
        jamp,
        color,
        flows,
        jamp2,
        amp2,
        sum,
        results: results.len(),
    })
}

/// Returns NEXTERNAL.
fn legs_of(unit: &ProgramUnit, interpreter: &Interpreter, frame: &UnitFrame) -> Result<usize> {
    match interpreter.int_constant(frame, "NEXTERNAL") {
        Some(n @ 3..=MAX_LEGS) => Ok(n as usize),
        Some(n) => Err(unit.error(format!("NEXTERNAL = {n} is no number of external legs"))),
        None => Err(unit.error(format!(
            "NEXTERNAL is not known (included files that are missing: {})",
            match frame.missing_includes.is_empty() {
                true => "none".into(),
                false => frame.missing_includes.join(", "),
            }
        ))),
    }
}

/// Returns NCOLOR.
fn number_of_flows(
    unit: &ProgramUnit,
    interpreter: &Interpreter,
    frame: &UnitFrame,
) -> Result<usize> {
    match interpreter.int_constant(frame, "NCOLOR") {
        Some(n @ 1..=MAX_FLOWS) => Ok(n as usize),
        Some(n) => Err(unit.error(format!("NCOLOR = {n} is no number of colour flows"))),
        None => Err(unit.error("there is no PARAMETER NCOLOR")),
    }
}

impl MatrixFile {
    /// Checks that `SMATRIX<i>` uses AMP2 and JAMP2 as MadEvent does; `configurations` are CONFSUB.
    pub fn check_channels(
        &self,
        units: &Units,
        library: &Library,
        configurations: &[u32],
    ) -> Result<()> {
        let tables = sum::SmatrixTables {
            amp2: self.amp2.iter().map(|a| a.diagram).collect(),
            configurations,
            flows: self.flows,
        };
        sum::check_channels(units, library, self.legs, self.results, &self.sum, &tables)
    }
}

/// Outcome of a call of `MATRIX<i>`: its results, AMP2 and JAMP2.
pub struct Results {
    /// The function's value, or the elements of RES.
    pub values: Vec<FortranValue>,
    /// Elements of AMP2 (from 1) that the call set.
    pub amp2: Vec<(i64, FortranValue)>,
    /// Elements of JAMP2 (from 1) that the call set.
    pub jamp2: Vec<(i64, FortranValue)>,
}

impl Results {
    fn len(&self) -> usize {
        self.values.len()
    }
}

/// Sets what other parts of MadEvent set before they call a matrix element.
fn set_by_madevent(interpreter: &mut Interpreter, small_width: FortranValue) {
    let known = |b| Preset::Value(FortranValue::Logical(Truth::Known(b)));
    let presets = [
        ("NARROW_WIDTH", 0, Preset::Value(small_width)),
        ("TO_DETERMINE_ZERO_HEL", 0, known(false)),
        ("TO_CHANNEL_STRAT", 1, Preset::Value(FortranValue::Int(1))),
        ("TO_MATRIX", 1, known(true)),
        ("TO_AMPS", AMP2, Preset::Before),
        ("TO_AMPS", JAMP2, Preset::Before),
    ];
    for (block, place, preset) in presets {
        interpreter.presets.insert((block.into(), place), preset);
    }
}

/// Places of AMP2 and JAMP2 in COMMON /TO_AMPS/, where they are before 3.6; later they are arguments.
const AMP2: usize = 0;
const JAMP2: usize = 1;

/// Runs a unit on symbols with these places for its arguments, and records its calls of HELAS. `momenta` and
/// `helicities` are the places of those of the legs.
fn run_with_helas<'l>(
    unit: &'l ProgramUnit,
    model: &mut ModelReader<'l>,
    routines: &mut Routines<'l>,
    (momenta, helicities, legs): (Location, Location, usize),
    places: &[Location],
) -> Result<(helas::HelasCalls, UnitFrame)> {
    let names = std::mem::take(&mut model.names);
    let helas = Helas::new(momenta.0, helicities.0, legs, names, routines);
    let helas = Rc::new(RefCell::new(helas));
    let interpreter = &mut model.interpreter;
    interpreter.externals = Some(helas.clone());
    let done = interpreter.enter(unit, places, 0);
    interpreter.externals = None;
    // The interpreter held the only other reference.
    let helas = Rc::try_unwrap(helas).map_err(|_| unit.error("the interpreter still runs"))?;
    let (calls, names) = helas.into_inner().finish(routines);
    model.names = names;
    let (frame, _) = done?;
    Ok((calls, frame))
}

/// Runs `MATRIX<i>` once.
fn call<'l>(
    unit: &'l ProgramUnit,
    model: &mut ModelReader<'l>,
    routines: &mut Routines<'l>,
    legs: usize,
) -> Result<(helas::HelasCalls, Results)> {
    let interpreter = &mut model.interpreter;
    let momenta = interpreter.place();
    let helicities = interpreter.place();
    let signs = interpreter.place();
    for leg in 0..legs {
        // IC is +1 for every leg.
        interpreter.set((signs.0, leg as i64), FortranValue::Int(1));
    }
    let squares = [AMP2, JAMP2].map(|place| interpreter.common_place("TO_AMPS", place));
    for at in squares {
        interpreter.forget(at);
    }
    let mut result = None;
    let mut places: Vec<Location> = Vec::new();
    for dummy in &unit.arguments {
        places.push(match dummy.as_str() {
            "P" => momenta,
            "NHEL" => helicities,
            "IC" => signs,
            "AMP2" => squares[AMP2],
            "JAMP2" => squares[JAMP2],
            // Index of the helicity configuration, used only for bookkeeping and without a value here.
            "IHEL" => interpreter.place(),
            "IVEC" => {
                let at = interpreter.place();
                interpreter.set(at, FortranValue::Int(1));
                at
            }
            "RES" if unit.result.is_none() => {
                let at = interpreter.place();
                result = Some(at);
                at
            }
            _ => {
                return Err(unit.error(format!(
                    "{} has an argument {dummy}, which no matrix element has",
                    unit.name
                )));
            }
        });
    }
    let event = (momenta, helicities, legs);
    let (calls, frame) = run_with_helas(unit, model, routines, event, &places)?;
    let interpreter = &mut model.interpreter;
    let values = match (result, &unit.result) {
        (Some(at), _) => {
            let size = interpreter.size_of(&frame, "RES").unwrap_or(1);
            if size > MAX_RESULTS {
                return Err(unit.error(format!("RES has {size} elements")));
            }
            let zero = FortranValue::Real(interpreter.builder.real(0.0));
            let value = |i| interpreter.get((at.0, i)).cloned().unwrap_or(zero.clone());
            (0..size as i64).map(value).collect()
        }
        (None, Some((name, _))) => {
            let value = interpreter.value_of(&frame, name);
            vec![value.map_err(|what| unit.error(what))?]
        }
        (None, None) => return Err(unit.error(format!("{} has no result", unit.name))),
    };
    let first = |name: &str, usual: i64| interpreter.first_index(&frame, name).unwrap_or(usual);
    let (amp2, jamp2) = (first("AMP2", 1), first("JAMP2", 0));
    let set = |at: Location, first: i64| {
        let mut elements: Vec<(i64, FortranValue)> = interpreter
            .elements(at)
            .map(|(i, value)| (i + first, value.clone()))
            .collect();
        elements.sort_by_key(|e| e.0);
        elements
    };
    Ok((
        calls,
        Results {
            values,
            amp2: set(squares[AMP2], amp2),
            jamp2: set(squares[JAMP2], jamp2),
        },
    ))
}

/// Maximum number of combinations of coupling orders in RES.
const MAX_RESULTS: u64 = 4096;

/// Returns the expression of amplitudes in a value, if it is one.
fn form_of(value: &FortranValue) -> Option<&AmplitudeExpression> {
    match value {
        FortranValue::AmplitudeExpression(form) => Some(form),
        _ => None,
    }
}
