//! aMC@NLO's Born: `born.f`, with its colour links `b_sf_<n>.f` and `sborn_sf.f`.
//!
//! `BORN` is run on symbols like `MATRIX<i>`. If a gluon can split, it evaluates both helicities of it in one call, with
//! the same calls of HELAS, and returns |M|^2 of both and the complex Born, a product of the JAMPs of one with those of
//! the other. Each `B_SF_<n>` then runs on the amplitudes that `BORN` has left in COMMON /TO_SAVEAMP/: its second set of
//! JAMPs (colour operators of two legs applied to the amplitude) is a linear combination of the Born's, which gives
//! the colour matrix of the link between the Born's own JAMPs.
//!
//! NHEL and IDEN are those of the DATA statements of `SBORN_SPLITORDERS`, which adds the helicities.

use super::helas::HelasCalls;
use super::squares::{self, SquareTables};
use super::sum::HelicityLoop;
use super::{MatrixFile, Results, legs_of, number_of_flows, run_with_helas, unit_named};
use crate::amplitude_expression::{AmplitudeExpression, JampProduct, Terms};
use crate::dependencies;
use crate::lorentz::Routines;
use crate::model::ModelReader;
use crate::program_unit::{Library, ProgramUnit};
use crate::source::SourceFile;
use crate::symbolic::{Interpreter, Location, Preset, UnitFrame};
use crate::value::{FortranValue, Truth};
use mebridge_process::born::ColorLink;
use mebridge_process::color::ColorMatrix;
use mebridge_process::{HelicitySum, TermSource};
use mebridge_support::error::{Error, Result};
use num_complex::Complex64;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// Largest difference between colour factors, which have sixteen digits.
const ROUNDING: f64 = 1e-12;

/// The program units of a Born.
pub struct BornUnits<'l> {
    /// `SBORN_SPLITORDERS`.
    pub sum: &'l ProgramUnit,
    /// `BORN`.
    born: &'l ProgramUnit,
    links: Vec<LinkUnits<'l>>,
}

/// The program units of a colour link.
struct LinkUnits<'l> {
    legs: [usize; 2],
    /// `SB_SF_<n>_SPLITORDERS`.
    sum: &'l ProgramUnit,
    /// `B_SF_<n>`.
    link: &'l ProgramUnit,
}

/// Adds the files of a Born to the library.
pub fn add_sources(library: &mut Library, directory: &Path) -> Result<()> {
    library.add_source(&Rc::new(SourceFile::read(&directory.join("born.f"))?));
    for file in dependencies::fortran(directory).map_err(Error::io(directory))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("b_sf_") {
            library.add_source(&Rc::new(SourceFile::read(&file)?));
        }
    }
    Ok(())
}

/// Finds the units of a Born, and of its links by `SBORN_SF`, which chooses among them.
pub fn units<'l>(library: &'l Library, directory: &Path) -> Result<BornUnits<'l>> {
    let (file, why) = (
        directory.join("born.f"),
        ", which MG5aMC writes from version 3 on",
    );
    let find = |name: &str| unit_named(library, &file, name, why);
    let mut links = Vec::new();
    for (legs, name) in link_table(&directory.join("sborn_sf.f"))? {
        let number = name.strip_prefix('S').unwrap_or(&name);
        links.push(LinkUnits {
            legs,
            sum: find(&format!("{name}_SPLITORDERS"))?,
            link: find(number)?,
        });
    }
    Ok(BornUnits {
        sum: find("SBORN_SPLITORDERS")?,
        born: find("BORN")?,
        links,
    })
}

/// Reads which legs (from 0) each `SB_SF_<n>` links, from the conditions before its calls:
///
/// ```fortran
///         IF ((M.EQ.1 .AND. N.EQ.2).OR.(M.EQ.2 .AND. N.EQ.1)) THEN
///           CALL SB_SF_001(P_BORN,WGT_COL)
/// ```
fn link_table(path: &Path) -> Result<Vec<([usize; 2], String)>> {
    let source = SourceFile::read(path)?;
    let mut found: Vec<([usize; 2], String)> = Vec::new();
    for i in 1..source.len() {
        let text = String::from_utf8_lossy(source.text(i));
        let call = text.strip_prefix("CALL").and_then(|t| t.split_once('('));
        let Some((name, _)) = call.filter(|(name, _)| name.starts_with("SB_SF_")) else {
            continue;
        };
        let condition = String::from_utf8_lossy(source.text(i - 1)).into_owned();
        match linked_legs(&condition) {
            Some(legs) if found.iter().all(|(other, _)| *other != legs) => {
                found.push((legs, name.to_owned()));
            }
            _ => {
                return Err(Error::Fortran {
                    file: path.to_path_buf(),
                    line: source.line(i),
                    what: format!("{name} is called for legs that cannot be determined"),
                });
            }
        }
    }
    Ok(found)
}

/// Returns the legs of a condition on M and N.
fn linked_legs(condition: &str) -> Option<[usize; 2]> {
    let condition = condition.strip_prefix("ELSE").unwrap_or(condition);
    let condition = condition.strip_prefix("IF(")?.strip_suffix(")THEN")?;
    let pair = |text: &str| -> Option<[usize; 2]> {
        let (m, n) = text.strip_prefix("M.EQ.")?.split_once(".AND.N.EQ.")?;
        let leg = |text: &str| text.parse::<usize>().ok()?.checked_sub(1);
        Some([leg(m)?, leg(n)?])
    };
    match condition.split_once(").OR.(") {
        None => pair(condition).filter(|[m, n]| m == n),
        Some((first, second)) => {
            let [m, n] = pair(first.strip_prefix('(')?)?;
            let other = pair(second.strip_suffix(')')?)?;
            (other == [n, m] && m < n).then_some([m, n])
        }
    }
}

/// Checks that a Born has one coupling order. `int_constant` returns constants of its sum over helicities.
fn check_orders(sum: &ProgramUnit, int_constant: impl Fn(&str) -> Option<i64>) -> Result<()> {
    for (name, what) in [("NAMPSO", "amplitude"), ("NSQAMPSO", "squared")] {
        if int_constant(name) != Some(1) {
            return Err(sum.error(format!(
                "the Born has several {what} coupling orders ({name}), as with electroweak corrections, and \
                 mebridge serves one; generate with [QCD] and the lowest order of QED"
            )));
        }
    }
    Ok(())
}

/// Reads a Born and its links.
pub fn read<'l>(
    units: &BornUnits<'l>,
    model: &mut ModelReader<'l>,
    routines: &mut Routines<'l>,
) -> Result<(MatrixFile, Vec<ColorLink>)> {
    let (sum, unit) = (units.sum, units.born);
    let frame = model.interpreter.declare_unit(sum, &sum.body()?)?;
    // NEXTERNAL is that of the real emissions.
    let legs = legs_of(sum, &model.interpreter, &frame)? - 1;
    check_orders(sum, |name| model.interpreter.int_constant(&frame, name))?;
    let data = |name: &str| integers(&model.interpreter, &frame, name).map_err(|w| sum.error(w));
    let (table, splits) = (data("NHEL")?, data("IJ_VALUES")?);
    let iden = one_iden(&data("IDEN_VALUES")?).map_err(|what| sum.error(what))?;
    let helicities: Vec<Vec<i8>> = table
        .chunks(legs)
        .map(|row| row.iter().map(|&h| h as i8).collect())
        .collect();
    for &leg in &splits {
        if !flips_by_a_step(&helicities, leg) {
            return Err(sum.error(format!(
                "the rows of NHEL in which leg {leg} has its other helicity are not a fixed number of rows further"
            )));
        }
    }
    let frame = model.interpreter.declare_unit(unit, &unit.body()?)?;
    let flows = number_of_flows(unit, &model.interpreter, &frame)?;
    let graphs = model.interpreter.int_constant(&frame, "NGRAPHS");

    // The first FKS configuration in which a leg with two helicities splits: both are evaluated.
    let splitting = splits.iter().position(|&leg| leg != 0);
    let int = |n: usize| Preset::Value(FortranValue::Int(n as i64));
    for (block, place, preset) in [
        ("C_NFKSPROCESS", 0, int(splitting.unwrap_or(0) + 1)),
        ("CBORN", 2, int(1)),
        // From 3.6 on `SBORN` sets it before it calls; then no leg is taken to split for one helicity alone.
        (
            "TO_FORCE_IJGLU",
            0,
            Preset::Value(FortranValue::Logical(Truth::Known(false))),
        ),
        ("TO_AMPS_BORN", 0, Preset::Before),
        ("TO_AMPS_BORN", 1, Preset::Before),
    ] {
        let at = (block.to_owned(), place);
        model.interpreter.presets.insert(at, preset);
    }
    // Without such a leg, BORN multiplies by JAMPs that it has not set, and nothing uses the product.
    model.interpreter.zero_locals = match splitting {
        Some(_) => &[],
        None => &["JAMPH"],
    };
    let run = call(unit, model, routines, legs)?;
    let passes = if splitting.is_some() { 2.0 } else { 1.0 };
    let amplitudes = run.calls.amplitudes.len();
    if graphs != Some(amplitudes as i64) || !saves_all(&mut model.interpreter, amplitudes) {
        return Err(unit.error("SAVEAMP does not hold the amplitudes in their order"));
    }
    let interpreter = &model.interpreter;
    let results = Results {
        values: vec![run.square.clone()],
        amp2: Vec::new(),
        jamp2: Vec::new(),
    };
    let tables = squares::read(interpreter, &results, &[1.0 / passes], flows, amplitudes);
    let SquareTables { jamp, color, .. } = tables.map_err(|what| unit.error(what))?;
    let expansion = Expansion::of(interpreter, &run.square, amplitudes);
    let expansion = expansion.map_err(|what| unit.error(what))?;
    if let Some(mixed) = run.complex {
        let mixed = expansion.matrix(interpreter, &mixed);
        let mixed = mixed.map_err(|what| unit.error(format!("the complex Born: {what}")))?;
        // From 3.6 on only one triangle of the colour matrix is added, twice, which is right for |M|^2 alone; what is
        // read here is the matrix.
        if !expansion.same(&mixed, &color) {
            return Err(unit.error("the complex Born has another colour matrix than the Born"));
        }
    }
    let links = read_links(units, model, &expansion, iden)?;
    if links.iter().any(|link| link.legs[1] >= legs) {
        return Err(sum.error("a colour link has a leg that does not exist"));
    }
    let weights = match color.is_positive() {
        true => HelicitySum::Positive,
        false => HelicitySum::Signed,
    };
    let matrix = MatrixFile {
        legs,
        diagrams: amplitudes as u32,
        wavefunctions: run.calls.wavefunctions,
        amplitudes: run.calls.amplitudes,
        jamp,
        color,
        flows,
        jamp2: Vec::new(),
        amp2: Vec::new(),
        sum: HelicityLoop {
            helicities,
            iden,
            weights,
            beam_weights: Vec::new(),
        },
        results: 1,
    };
    Ok((matrix, links))
}

/// Reads the colour links of a Born.
fn read_links<'l>(
    units: &BornUnits<'l>,
    model: &mut ModelReader<'l>,
    expansion: &Expansion,
    iden: u32,
) -> Result<Vec<ColorLink>> {
    let mut links = Vec::new();
    for link in &units.links {
        let frame = model
            .interpreter
            .declare_unit(link.sum, &link.sum.body()?)?;
        let data = integers(&model.interpreter, &frame, "IDEN_VALUES");
        if data.and_then(|all| one_iden(&all)) != Ok(iden) {
            return Err(link.sum.error("IDEN is not that of the Born"));
        }
        let value = call_link(link.link, &mut model.interpreter)?;
        let color = expansion.matrix(&model.interpreter, &value);
        links.push(ColorLink {
            legs: link.legs,
            color: color.map_err(|what| link.link.error(what))?,
        });
    }
    Ok(links)
}

/// Returns the integers of an array that a DATA statement sets completely.
fn integers(
    interpreter: &Interpreter,
    frame: &UnitFrame,
    name: &str,
) -> std::result::Result<Vec<i64>, String> {
    let places = interpreter.locations(frame);
    let at = places
        .get(name)
        .ok_or_else(|| format!("there is no {name}"))?;
    let size = interpreter.size_of(frame, name).unwrap_or(0) as i64;
    let value = |i| match interpreter.get((at.0, at.1 + i)) {
        Some(FortranValue::Int(n)) => Ok(*n),
        _ => Err(format!("{name} is not set by DATA")),
    };
    (0..size).map(value).collect()
}

/// Returns the IDEN of all FKS configurations.
fn one_iden(values: &[i64]) -> std::result::Result<u32, String> {
    match values {
        [first, others @ ..] if others.iter().all(|iden| iden == first) => u32::try_from(*first)
            .ok()
            .filter(|&iden| iden > 0)
            .ok_or_else(|| format!("IDEN is {first}")),
        _ => Err("IDEN differs between FKS configurations, so that there is not one Born".into()),
    }
}

/// Whether the rows with the other helicity of a leg (from 1; 0 is none) are a fixed number of rows further (SKIP).
fn flips_by_a_step(table: &[Vec<i8>], leg: i64) -> bool {
    let leg = match usize::try_from(leg) {
        Ok(0) => return true,
        Ok(leg) if table.iter().all(|row| leg <= row.len()) => leg - 1,
        _ => return false,
    };
    let Some(first) = table.first().map(|row| row[leg]) else {
        return false;
    };
    let Some(step) = table.iter().position(|row| row[leg] == -first) else {
        return false;
    };
    let mut rows = (0..).zip(table).filter(|(_, row)| row[leg] == first);
    rows.all(|(at, row)| {
        let mut flipped = row.clone();
        flipped[leg] = -first;
        table.get(at + step) == Some(&flipped)
    })
}

/// Whether row 1 of SAVEAMP holds all amplitudes after a call of `BORN` for that row.
fn saves_all(interpreter: &mut Interpreter, amplitudes: usize) -> bool {
    let (block, at) = interpreter.common_place("TO_SAVEAMP", 0);
    let interpreter = &*interpreter;
    (0..amplitudes).all(|i| {
        let mut own = vec![Complex64::default(); amplitudes];
        own[i] = Complex64::new(1.0, 0.0);
        match interpreter.get((block, at + i as i64)) {
            Some(FortranValue::AmplitudeExpression(form)) => match &**form {
                AmplitudeExpression::Linear(terms) => {
                    vector(interpreter, terms, amplitudes).is_ok_and(|v| v == own)
                }
                _ => false,
            },
            _ => false,
        }
    })
}

/// Outcome of a call of `BORN`.
struct BornRun {
    calls: HelasCalls,
    /// `ANS(1,1)`: the sum of |M|^2 of the helicities.
    square: FortranValue,
    /// `ANS(2,1)`: the complex Born, if a leg splits.
    complex: Option<FortranValue>,
}

/// Runs `BORN` once.
fn call<'l>(
    unit: &'l ProgramUnit,
    model: &mut ModelReader<'l>,
    routines: &mut Routines<'l>,
    legs: usize,
) -> Result<BornRun> {
    let calculated = set_calculated(&mut model.interpreter, false);
    let interpreter = &mut model.interpreter;
    let [momenta, helicities, row, answer, parts] = [(); 5].map(|()| interpreter.place());
    for leg in 0..legs as i64 {
        interpreter.set((helicities.0, leg), FortranValue::Int(-1));
    }
    interpreter.set(row, FortranValue::Int(1));
    let arguments: Vec<&str> = unit.arguments.iter().map(String::as_str).collect();
    if arguments != ["P", "NHEL", "HELL", "ANS", "BORNS"] {
        return Err(unit.error("BORN has other arguments than MG5aMC writes from version 3 on"));
    }
    let places = [momenta, helicities, row, answer, parts];
    let event = (momenta, helicities, legs);
    let (calls, _) = run_with_helas(unit, model, routines, event, &places)?;
    let interpreter = &mut model.interpreter;
    interpreter.set(calculated, FortranValue::Logical(Truth::Known(true)));
    let value = |i| interpreter.get((answer.0, answer.1 + i)).cloned();
    // ANS(2,NSQAMPSO).
    let square = value(0).ok_or_else(|| unit.error("BORN does not set ANS(1,1)"))?;
    let complex = value(1).filter(|v| matches!(v, FortranValue::AmplitudeExpression(_)));
    Ok(BornRun {
        calls,
        square,
        complex,
    })
}

/// Sets CALCULATEDBORN: whether the amplitudes are in COMMON /TO_SAVEAMP/.
fn set_calculated(interpreter: &mut Interpreter, is: bool) -> Location {
    let at = interpreter.common_place("CCALCULATEDBORN", 0);
    interpreter.set(at, FortranValue::Logical(Truth::Known(is)));
    at
}

/// Runs `B_SF_<n>` on the amplitudes of the last `BORN`, and returns its result.
fn call_link<'l>(unit: &'l ProgramUnit, interpreter: &mut Interpreter<'l>) -> Result<FortranValue> {
    let [row, answer] = [(); 2].map(|()| interpreter.place());
    interpreter.set(row, FortranValue::Int(1));
    if unit.arguments != ["HELL", "ANS"] {
        return Err(unit.error(format!(
            "{} takes other arguments than HELL and ANS",
            unit.name
        )));
    }
    interpreter.enter(unit, &[row, answer], 0)?;
    let value = interpreter.get(answer).cloned();
    value.ok_or_else(|| unit.error(format!("{} does not set ANS", unit.name)))
}

/// The JAMPs of a Born in terms of its amplitudes.
struct Expansion {
    amplitudes: usize,
    /// `[JAMP][amplitude]`.
    jamps: Vec<Vec<Complex64>>,
    /// An orthonormal basis of what they span, with coefficients in terms of the JAMPs.
    basis: Vec<(Vec<Complex64>, Vec<Complex64>)>,
}

impl Expansion {
    /// For the JAMPs of this |M|^2, in the order of the colour matrix ([`squares`]).
    fn of(
        interpreter: &Interpreter,
        square: &FortranValue,
        amplitudes: usize,
    ) -> std::result::Result<Expansion, String> {
        let order = squares::jamp_order(interpreter, products_of(square)?)?;
        let one = Complex64::new(1.0, 0.0);
        let jamps = order
            .iter()
            .map(|source| vector(interpreter, &vec![(*source, one)], amplitudes));
        Ok(Expansion::new(
            amplitudes,
            jamps.collect::<std::result::Result<_, _>>()?,
        ))
    }

    /// For these JAMPs in terms of the amplitudes.
    fn new(amplitudes: usize, jamps: Vec<Vec<Complex64>>) -> Expansion {
        let one = Complex64::new(1.0, 0.0);
        let mut made = Expansion {
            amplitudes,
            basis: Vec::new(),
            jamps,
        };
        // Gram and Schmidt, twice for precision, the longest rest first.
        let mut rest: Vec<(Vec<Complex64>, Vec<Complex64>)> = made
            .jamps
            .iter()
            .enumerate()
            .map(|(i, jamp)| {
                let mut unit = vec![Complex64::default(); made.jamps.len()];
                unit[i] = one;
                (jamp.clone(), unit)
            })
            .collect();
        let largest = rest.iter().map(|(v, _)| norm(v)).fold(0.0, f64::max);
        while let Some(at) = (0..rest.len()).max_by(|&a, &b| {
            let size = |i: usize| norm(&rest[i].0);
            size(a).total_cmp(&size(b))
        }) {
            let (mut v, mut c) = rest.swap_remove(at);
            for (e, of_e) in &made.basis {
                let factor = project(e, &v);
                subtract(&mut v, factor, e);
                subtract(&mut c, factor, of_e);
            }
            let size = norm(&v);
            if size <= 1e-9 * largest {
                break;
            }
            for x in v.iter_mut().chain(&mut c) {
                *x /= size;
            }
            for (other, of_other) in &mut rest {
                let factor = project(&v, other);
                subtract(other, factor, &v);
                subtract(of_other, factor, &c);
            }
            made.basis.push((v, c));
        }
        made
    }

    /// Returns the coefficients of a sum of amplitudes in terms of the JAMPs.
    fn coefficients(&self, v: &[Complex64]) -> std::result::Result<Vec<Complex64>, String> {
        let mut c = vec![Complex64::default(); self.jamps.len()];
        if let Some(same) = self.jamps.iter().position(|jamp| jamp == v) {
            c[same] = Complex64::new(1.0, 0.0);
            return Ok(c);
        }
        let size = norm(v);
        let mut rest = v.to_vec();
        // A second time for the digits that the first loses.
        for _ in 0..2 {
            for (e, of_e) in &self.basis {
                let factor = project(e, &rest);
                subtract(&mut rest, factor, e);
                subtract(&mut c, -factor, of_e);
            }
        }
        match norm(&rest) <= 10.0 * ROUNDING * size {
            true => Ok(c),
            false => Err("its JAMPs are no linear combinations of the Born's".into()),
        }
    }

    /// Whether two colour matrices make the same sum of products of amplitudes, but for rounding. JAMPs that depend on each
    /// other, such as those of traces of gluons and of their reversals, have many matrices of one sum.
    fn same(&self, a: &ColorMatrix, b: &ColorMatrix) -> bool {
        let parts: Vec<Vec<Complex64>> = self
            .jamps
            .iter()
            .map(|jamp| self.basis.iter().map(|(e, _)| project(e, jamp)).collect())
            .collect();
        let entries = |color: &ColorMatrix| -> Vec<Complex64> {
            let (n, rank) = (parts.len(), self.basis.len());
            let mut entries = vec![Complex64::default(); rank * rank];
            for (i, left) in parts.iter().enumerate() {
                // The row of CF times the JAMPs.
                let mut row = vec![Complex64::default(); rank];
                for (j, right) in (0..n).zip(&parts) {
                    subtract(&mut row, (-color.entry(i, j)).into(), right);
                }
                for (of_left, l) in entries.chunks_exact_mut(rank).zip(left) {
                    subtract(of_left, -l.conj(), &row);
                }
            }
            entries
        };
        let [a_entries, b_entries] = [a, b].map(entries);
        let largest = b_entries.iter().fold(0.0f64, |size, x| size.max(x.norm()));
        let mut pairs = a_entries.iter().zip(&b_entries);
        a.flows == b.flows && pairs.all(|(x, y)| (x - y).norm() <= ROUNDING * largest)
    }

    /// Returns the colour matrix, between the JAMPs of the Born, of a sum of products.
    fn matrix(
        &self,
        interpreter: &Interpreter,
        value: &FortranValue,
    ) -> std::result::Result<ColorMatrix, String> {
        let n = self.jamps.len();
        let mut entries = vec![Complex64::default(); n * n];
        let mut known: HashMap<TermSource, Vec<Complex64>> = HashMap::new();
        for p in products_of(value)? {
            let [left, right] = [&p.left, &p.right].map(|terms| {
                let mut all = vec![Complex64::default(); n];
                for (source, factor) in terms.iter() {
                    if !known.contains_key(source) {
                        let one = vec![(*source, Complex64::new(1.0, 0.0))];
                        let v = vector(interpreter, &one, self.amplitudes)?;
                        known.insert(*source, self.coefficients(&v)?);
                    }
                    subtract(&mut all, -factor, &known[source]);
                }
                Ok::<_, String>(all)
            });
            let (left, right) = (left?, right?);
            let factor = p.factor / p.divisor;
            for (i, r) in right.iter().enumerate() {
                for (j, l) in left.iter().enumerate() {
                    entries[i * n + j] += factor * r.conj() * l;
                }
            }
        }
        let largest = entries.iter().fold(0.0f64, |size, x| size.max(x.norm()));
        let mut upper = Vec::with_capacity(ColorMatrix::triangle(n));
        for i in 0..n {
            for j in i..n {
                let sum = (entries[i * n + j] + entries[j * n + i].conj()) / 2.0;
                if sum.im.abs() > 1e-9 * largest {
                    return Err("its colour matrix is not real".into());
                }
                upper.push(sum.re);
            }
        }
        Ok(ColorMatrix {
            flows: n as u32,
            denominator: 1.0,
            upper,
        })
    }
}

/// Returns the products of a result.
fn products_of(value: &FortranValue) -> std::result::Result<&[JampProduct], String> {
    let none = || String::from("it is no sum of products of JAMPs");
    let FortranValue::AmplitudeExpression(form) = value else {
        return Err(none());
    };
    match &**form {
        AmplitudeExpression::Products(products) => Ok(products),
        AmplitudeExpression::Real(real) if real.moduli.is_empty() && real.before.is_empty() => {
            Ok(&real.products)
        }
        _ => Err(none()),
    }
}

/// Expands terms in amplitudes.
fn vector(
    interpreter: &Interpreter,
    terms: &Terms,
    amplitudes: usize,
) -> std::result::Result<Vec<Complex64>, String> {
    let mut v = vec![Complex64::default(); amplitudes];
    let mut open: Vec<(TermSource, Complex64)> = terms.clone();
    while let Some((source, factor)) = open.pop() {
        match source {
            TermSource::Amplitude(a) => {
                let place = v.get_mut(a as usize);
                *place.ok_or("an amplitude of another call")? += factor;
            }
            TermSource::Partial(p) => {
                let terms = &interpreter.sums[p as usize].terms;
                open.extend(terms.iter().map(|(source, f)| (*source, f * factor)));
            }
        }
    }
    Ok(v)
}

fn norm(v: &[Complex64]) -> f64 {
    v.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt()
}

/// The component of `v` along a unit vector.
fn project(unit: &[Complex64], v: &[Complex64]) -> Complex64 {
    unit.iter().zip(v).map(|(e, x)| e.conj() * x).sum()
}

fn subtract(v: &mut [Complex64], factor: Complex64, other: &[Complex64]) {
    for (x, y) in v.iter_mut().zip(other) {
        *x -= factor * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legs_of_links_are_read() {
        let both = "IF((M.EQ.1.AND.N.EQ.3).OR.(M.EQ.3.AND.N.EQ.1))THEN";
        assert_eq!(linked_legs(both), Some([0, 2]));
        assert_eq!(linked_legs(&format!("ELSE{both}")), Some([0, 2]));
        assert_eq!(linked_legs("ELSEIF(M.EQ.4.AND.N.EQ.4)THEN"), Some([3, 3]));
        for wrong in [
            "IF(M.EQ.1.AND.N.EQ.3)THEN",
            "IF((M.EQ.1.AND.N.EQ.3).OR.(M.EQ.3.AND.N.EQ.2))THEN",
            "IF((M.EQ.3.AND.N.EQ.1).OR.(M.EQ.1.AND.N.EQ.3))THEN",
            "IF(M.EQ.0.AND.N.EQ.0)THEN",
            "IF(NEED_COLOR_LINKS)THEN",
        ] {
            assert_eq!(linked_legs(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_other_helicity_is_a_step_further() {
        let table: Vec<Vec<i8>> = vec![vec![-1, 1], vec![-1, -1], vec![1, 1], vec![1, -1]];
        assert!([0, 1, 2].iter().all(|&leg| flips_by_a_step(&table, leg)));
        assert!(!flips_by_a_step(&table, 3) && !flips_by_a_step(&table[..2], 1));
        let other = [0, 1, 3, 2].map(|row: usize| table[row].clone());
        assert!(!flips_by_a_step(&other, 1) && !flips_by_a_step(&other, 2));
    }

    /// A trace of gluons and its reversal are the same JAMP twice, of which only the sum of the entries counts.
    #[test]
    fn matrices_of_dependent_jamps_are_compared_by_what_they_make() {
        let real = |v: [f64; 2]| v.map(Complex64::from).to_vec();
        let color = |[a, b, c]: [f64; 3]| ColorMatrix {
            flows: 2,
            denominator: 2.0,
            upper: vec![a, b, c],
        };
        let twice = Expansion::new(2, vec![real([1.0, 2.0]), real([1.0, 2.0])]);
        let opposite = Expansion::new(2, vec![real([1.0, 2.0]), real([-1.0, -2.0])]);
        let both = Expansion::new(2, vec![real([1.0, 2.0]), real([1.0, 2.1])]);
        let [a, b, c] = [[1.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0]].map(color);
        assert!(twice.same(&a, &b) && twice.same(&a, &c));
        assert!(opposite.same(&a, &b) && !opposite.same(&a, &c));
        assert!(both.same(&a, &a) && !both.same(&a, &b) && !both.same(&a, &c));
        assert!(!twice.same(&a, &color([1.0, 0.0, 1.0 + 1e-9])));
    }

    #[test]
    fn one_average_serves_all_configurations() {
        assert_eq!(one_iden(&[36, 36]), Ok(36));
        for wrong in [&[36, 18][..], &[], &[0], &[-4, -4]] {
            assert!(one_iden(wrong).is_err(), "{wrong:?}");
        }
    }
}
