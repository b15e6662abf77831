//! Determines how `SMATRIX<i>` sums over helicities.
//!
//! It is run on numbers, with known ones instead of `MATRIX<i>`, several times in succession like the first, second,
//! ... event of a run. This shows which rows of NHEL it uses, what it divides by and how it treats signs, whatever
//! version wrote it. Random numbers are supplied; the effects of other parts of MadEvent (grids of helicities, colour
//! choice) are left out.

use super::{AMP2, JAMP2, Units};
use crate::directory::BeamCommons;
use crate::expression::{FortranExpr, Parsed};
use crate::program_unit::{Library, ProgramUnit};
use crate::statement::Type;
use crate::symbolic::{Externals, Interpreter, Location, Preset, UnitFrame};
use crate::value::{FortranValue, Truth};
use mebridge_process::HelicitySum;
use mebridge_process::arith::Builder;
use mebridge_support::error::{Error, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The sum over helicities.
#[derive(Clone, Debug)]
pub struct HelicityLoop {
    /// The rows of NHEL, in order.
    pub helicities: Vec<Vec<i8>>,
    pub iden: u32,
    pub weights: HelicitySum,
    /// Factor of each row for polarised beams; empty if there are none.
    pub beam_weights: Vec<f64>,
}

/// Properties of `SMATRIX<i>`.
pub struct SmatrixSum {
    pub helicities: HelicityLoop,
    /// Factor with which each element of RES is added.
    pub results: Vec<f64>,
}

/// Number of events to try if there are few helicities; after 25, MadEvent skips those that never contributed.
const MAX_CALLS: usize = 30;
/// Maximum number of calls of `MATRIX<i>` for all events.
const MATRIX_CALLS: usize = 40_000;
/// Number of diagrams at each end of the list that get an AMP2 in a trial of channel weights.
const SAMPLED: usize = 32;
/// Maximum number of rows of NHEL.
const MAX_HELICITIES: usize = 1 << 16;
/// Random numbers of the trials with signs, and the number of trials for few helicities, which often all have the same
/// sign.
const RANDOM: [f64; 5] = [0.05, 0.3, 0.55, 0.8, 0.95];
const FEW_HELICITIES: usize = 8;
const TRIALS_OF_FEW: usize = 20;
/// Relative rounding error of sums of these few numbers.
const ROUNDING: f64 = 1e-10;

/// Runs `SMATRIX<i>`. `results` is the number of elements of RES.
pub fn read(
    units: &Units,
    library: &Library,
    legs: usize,
    results: usize,
    beams: &BeamCommons,
) -> Result<SmatrixSum> {
    let fail = |what: String| {
        units
            .smatrix
            .error(format!("{}: {what}", units.smatrix.name))
    };
    let new = || SmatrixRun::new(units, library, legs, results);
    let weights = weights_of_results(&new, results, &fail)?;
    let mut trial = new()?;
    let total = |rows: &[Row]| -> f64 {
        let row = |row: &Row| -> f64 { row.parts.iter().zip(&weights).map(|(x, w)| x * w).sum() };
        rows.iter().map(row).sum()
    };
    let (answer, rows) = trial.event(0.5)?;
    let helicities = table(&rows, &fail)?;
    let ratio = total(&rows) / answer;
    let iden = ratio.round();
    if !((1.0..=f64::from(u32::MAX)).contains(&iden) && (ratio / iden - 1.0).abs() < ROUNDING) {
        return Err(fail(format!(
            "the sum over helicities is divided by {ratio}, which is no averaging factor (IDEN)"
        )));
    }
    let calls = (MATRIX_CALLS / rows.len()).clamp(2, MAX_CALLS);
    for _ in 1..calls {
        let (answer, again) = trial.event(0.5)?;
        if table(&again, &fail)? != helicities {
            return Err(fail(
                "a later call sums other helicities than the first".into(),
            ));
        }
        if !same(answer * iden, total(&again)) {
            return Err(fail(
                "a later call sums in another way than the first".into(),
            ));
        }
    }
    let few = helicities.len() < FEW_HELICITIES;
    let trials = if few { TRIALS_OF_FEW } else { RANDOM.len() };
    let adding = way_of_adding(&new, trials, (&weights, iden), &fail)?;
    let beam_weights = match beams.polarisations == [1.0; 2] {
        true => Vec::new(),
        false => {
            let unpolarised = Unpolarised {
                helicities: &helicities,
                iden,
                results: &weights,
            };
            beam_weights(new, &unpolarised, beams)?.ok_or_else(|| {
                fail("polarised beams (polbeam1, polbeam2) weigh helicities in a way that is not known".into())
            })?
        }
    };
    Ok(SmatrixSum {
        helicities: HelicityLoop {
            helicities,
            iden: iden as u32,
            weights: adding,
            beam_weights,
        },
        results: weights,
    })
}

/// Makes a fresh run of `SMATRIX<i>`.
type NewRun<'a, 'l> = &'a dyn Fn() -> Result<SmatrixRun<'l>>;

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * (a.abs() + b.abs())
}

/// Returns with which factor each element of RES is added.
fn weights_of_results(
    new: NewRun,
    results: usize,
    fail: &dyn Fn(String) -> Error,
) -> Result<Vec<f64>> {
    // Determines the factors of the elements of RES one by one, with all helicities at once.
    let mut weights = vec![1.0; results];
    if results > 1 {
        for (i, weight) in weights.iter_mut().enumerate() {
            let mut trial = new()?;
            trial.only = Some(i);
            let (answer, rows) = trial.event(0.5)?;
            let total: f64 = rows.iter().map(|row| row.value).sum();
            *weight = answer / total;
        }
        let largest = weights.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        if !(largest > 0.0 && largest.is_finite()) {
            return Err(fail("no coupling orders are selected".into()));
        }
        for weight in &mut weights {
            *weight /= largest;
            if weight.fract() != 0.0 {
                return Err(fail("coupling orders are added in unequal parts".into()));
            }
        }
    }
    Ok(weights)
}

/// Returns how contributions of both signs are added.
fn way_of_adding(
    new: NewRun,
    trials: usize,
    (weights, iden): (&[f64], f64),
    fail: &dyn Fn(String) -> Error,
) -> Result<HelicitySum> {
    // Trials with contributions of both signs. If all signs of a trial are the same, or if there is only one helicity,
    // both ways of adding agree.
    let mut seen = None;
    for (n, random) in RANDOM.into_iter().cycle().take(trials).enumerate() {
        let mut trial = new()?;
        trial.signs = true;
        trial.seed = n as u64 * 1000;
        let (answer, rows) = trial.event(random)?;
        let parts: Vec<f64> = rows
            .iter()
            .map(|row| row.parts.iter().zip(weights).map(|(x, w)| x * w).sum())
            .collect();
        let signed: f64 = parts.iter().sum();
        let absolute: f64 = parts.iter().map(|x| x.abs()).sum();
        let mut running = 0.0;
        let chosen = parts.iter().find(|x| {
            running += x.abs();
            random < running / absolute
        });
        let picked = absolute * chosen.map_or(1.0, |x| x.signum());
        let way = match answer * iden {
            x if same(x, signed) && same(x, picked) => continue,
            x if same(x, signed) => HelicitySum::Signed,
            x if same(x, picked) => HelicitySum::Absolute,
            _ => {
                return Err(fail(
                    "contributions of both signs are added in a way that is not known".into(),
                ));
            }
        };
        if *seen.get_or_insert(way) != way {
            return Err(fail(
                "contributions of both signs are added in two ways".into(),
            ));
        }
    }
    Ok(seen.unwrap_or(HelicitySum::Signed))
}

/// The sum over helicities without polarised beams.
struct Unpolarised<'a> {
    helicities: &'a [Vec<i8>],
    iden: f64,
    /// Factor with which each element of RES is added.
    results: &'a [f64],
}

/// Determines the factor of each row of NHEL for polarised beams from events in which only rows with the same beam
/// helicities contribute, and checks it against an event in which all do. `None` if they disagree.
fn beam_weights<'l>(
    new: impl Fn() -> Result<SmatrixRun<'l>>,
    sum: &Unpolarised,
    beams: &BeamCommons,
) -> Result<Option<Vec<f64>>> {
    let total = |row: &Row| -> f64 { row.parts.iter().zip(sum.results).map(|(x, w)| x * w).sum() };
    let mut of_beams: HashMap<Vec<i8>, f64> = HashMap::new();
    for row in sum.helicities {
        let states = row[..2].to_vec();
        if of_beams.contains_key(&states) {
            continue;
        }
        let mut trial = new()?;
        trial.polarise(beams);
        trial.states = Some(states.clone());
        let (answer, rows) = trial.event(0.5)?;
        let all: f64 = rows.iter().map(total).sum();
        of_beams.insert(states, answer * sum.iden / all);
    }
    let weights: Vec<f64> = sum
        .helicities
        .iter()
        .map(|row| of_beams[&row[..2]])
        .collect();
    let mut trial = new()?;
    trial.polarise(beams);
    let (answer, rows) = trial.event(0.5)?;
    let all: f64 = rows
        .iter()
        .zip(&weights)
        .map(|(row, w)| w * total(row))
        .sum();
    let agree = (answer * sum.iden - all).abs() <= ROUNDING * all.abs();
    // They also disagree if one is NaN.
    if !agree {
        return Ok(None);
    }
    // Versions 3.x do not weight vectors, and standalone outputs weight nothing.
    let one = |w: &f64| (w - 1.0).abs() < ROUNDING;
    Ok(Some(match weights.iter().all(one) {
        true => Vec::new(),
        false => weights,
    }))
}

/// Tables of a matrix element, to check `SMATRIX<i>` against.
pub struct SmatrixTables<'a> {
    /// Diagrams that have an AMP2.
    pub amp2: Vec<u32>,
    /// For each configuration its diagram, or 0.
    pub configurations: &'a [u32],
    /// NCOLOR.
    pub flows: usize,
}

/// Runs `SMATRIX<i>` with channels, and checks that it weights the sum by `AMP2(channel)` over the sum of AMP2 of all
/// configurations, returns the helicity that it chooses, and initialises AMP2 and JAMP2 to zero.
pub fn check_channels(
    units: &Units,
    library: &Library,
    legs: usize,
    results: usize,
    helicities: &HelicityLoop,
    tables: &SmatrixTables,
) -> Result<()> {
    let fail = |what: &str| {
        Err(units
            .smatrix
            .error(format!("{}: {what}", units.smatrix.name)))
    };
    let mut channels: Vec<u32> = tables
        .configurations
        .iter()
        .copied()
        .filter(|&d| d != 0)
        .collect();
    channels.sort_unstable();
    channels.dedup();
    channels.retain(|d| tables.amp2.contains(d));
    let same = |a: f64, b: f64| (a - b).abs() <= ROUNDING * (a.abs() + b.abs());
    for (n, &channel) in channels.iter().take(3).enumerate() {
        let mut trial = SmatrixRun::new(units, library, legs, results)?;
        trial.seed = 77 + n as u64;
        let is = Preset::Value(FortranValue::Logical(Truth::Known(true)));
        let diagram = || Preset::Value(FortranValue::Int(i64::from(channel)));
        for (block, place, preset) in [
            ("TO_MATRIX", 1, is),
            // SUBDIAG, and MAPCONFIG.
            ("TO_SUB_DIAG", 0, diagram()),
            ("TO_MCONFIGS", 0, diagram()),
        ] {
            trial
                .interpreter
                .presets
                .insert((block.into(), place), preset);
        }
        trial.channel = Some(channel);
        // A few at both ends of a long list suffice.
        let far = |at: usize| at >= SAMPLED && at + SAMPLED < tables.amp2.len();
        let diagrams = tables.amp2.iter().copied().enumerate();
        let sample = diagrams.filter(|&(at, d)| !far(at) || d == channel);
        trial.amp2 = sample.map(|(_, d)| d).collect();
        trial.flows = tables.flows;
        for random in [0.1, 0.9] {
            let (answer, rows) = trial.event(random)?;
            let total: f64 = rows.iter().map(|row| row.value).sum();
            let added = |diagram: u32| trial.added.get(&diagram).copied().unwrap_or(0.0);
            let all: f64 = tables.configurations.iter().map(|&d| added(d)).sum();
            let listed: f64 = tables.amp2.iter().map(|&d| added(d)).sum();
            let expected = total * added(channel) / f64::from(helicities.iden);
            if !same(answer, expected / all) {
                return match same(answer, expected / listed) {
                    true => fail(
                        "channels are weighed by AMP2 of diagrams that are no configuration, which is not \
                         supported",
                    ),
                    false => fail(
                        "the sum is not weighed by AMP2(channel) over those of all configurations",
                    ),
                };
            }
            let mut running = 0.0;
            let chosen = rows.iter().position(|row| {
                running += row.value.abs();
                random < running / total
            });
            if let Some(ihel) = trial.chosen
                && chosen.is_none_or(|chosen| chosen as i64 + 1 != ihel)
            {
                return fail("IHEL is not the helicity that the random number chooses");
            }
            if let Some(hel_buff) = &trial.hel_buff
                && chosen.is_none_or(|row| {
                    let row = rows[row].helicities.iter();
                    !row.copied().map(i64::from).eq(hel_buff.iter().copied())
                })
            {
                return fail(
                    "HEL_BUFF does not tell the helicities that the random number chooses",
                );
            }
            if let Some(jamp2) = &trial.jamp2
                && (jamp2.len() != tables.flows + 1
                    || !same(jamp2[0], tables.flows as f64)
                    || (1..=tables.flows).any(|flow| !same(jamp2[flow], trial.colored[flow - 1])))
            {
                return fail(
                    "JAMP2 is not the sum over helicities, for each of NCOLOR colour flows",
                );
            }
        }
    }
    Ok(())
}

/// Returns the helicities of all rows, which must be distinct.
fn table(rows: &[Row], fail: &impl Fn(String) -> Error) -> Result<Vec<Vec<i8>>> {
    let mut helicities: Vec<Vec<i8>> = rows.iter().map(|row| row.helicities.clone()).collect();
    let whole = helicities.clone();
    helicities.sort_unstable();
    let twice = helicities.windows(2).find(|pair| pair[0] == pair[1]);
    match (twice, whole.is_empty()) {
        (Some(pair), _) => Err(fail(format!(
            "the helicities {:?} stand twice in NHEL",
            pair[0]
        ))),
        (None, true) => Err(fail("no helicity is summed".into())),
        (None, false) => Ok(whole),
    }
}

/// A call of `MATRIX<i>`.
#[derive(Clone, Debug)]
struct Row {
    helicities: Vec<i8>,
    /// The results: the elements of RES, or the value of the function.
    parts: Vec<f64>,
    /// Their sum.
    value: f64,
}

/// A run of MadEvent, event by event.
struct SmatrixRun<'l> {
    interpreter: Interpreter<'l>,
    smatrix: &'l ProgramUnit,
    matrix: &'l ProgramUnit,
    legs: usize,
    results: usize,
    /// The only element of RES that is not zero.
    only: Option<usize>,
    /// The only helicities of the first legs whose rows contribute.
    states: Option<Vec<i8>>,
    /// Whether contributions have both signs.
    signs: bool,
    seed: u64,
    /// The channel, if any.
    channel: Option<u32>,
    /// Diagrams whose AMP2 the calls of `MATRIX<i>` add to.
    amp2: Vec<u32>,
    /// Number of colour flows whose JAMP2 they add to.
    flows: usize,
    /// Sums added to AMP2 by the calls of the last event.
    added: HashMap<u32, f64>,
    /// Sums added to JAMP2 by the calls of the last event.
    colored: Vec<f64>,
    /// JAMP2 as passed to the choice of a colour.
    jamp2: Option<Vec<f64>>,
    /// IHEL, if it is an argument.
    chosen: Option<i64>,
    /// The numbers in HEL_BUFF, if it exists; fewer than legs if some are unknown.
    hel_buff: Option<Vec<i64>>,
}

impl<'l> SmatrixRun<'l> {
    fn new(units: &Units<'l>, library: &'l Library, legs: usize, results: usize) -> Result<Self> {
        let mut interpreter = Interpreter::new(library, Builder::new(0));
        let one = interpreter.builder.real(1.0);
        let int = |n| Preset::Value(FortranValue::Int(n));
        let is = |b| Preset::Value(FortranValue::Logical(Truth::Known(b)));
        let real = || Preset::Value(FortranValue::Real(one));
        let presets = [
            // ISUM_HEL, MULTI_CHANNEL.
            ("TO_MATRIX", 0, int(0)),
            ("TO_MATRIX", 1, is(false)),
            // INIT_MODE.
            ("TO_DETERMINE_ZERO_HEL", 0, is(false)),
            // SDE_STRAT.
            ("TO_CHANNEL_STRAT", 1, int(1)),
            // NTRY, GOODHEL.
            ("BLOCK_GOODHEL", 0, Preset::Zero),
            ("BLOCK_GOODHEL", 1, Preset::Zero),
            // IMIRROR, IPROC.
            ("TO_MIRROR", 0, int(1)),
            ("TO_MIRROR", 1, int(1)),
            // POL.
            ("TO_POLARIZATION", 0, real()),
            // NB_SPIN_STATE_IN.
            ("NB_HEL_STATE", 0, int(2)),
            // LIMHEL.
            ("TO_LIMHEL", 0, Preset::Zero),
            ("TO_AMPS", 0, Preset::Zero),
            ("TO_AMPS", 1, Preset::Zero),
            // ICONFIG.
            ("TO_MCONFIGS", 1, int(1)),
            ("TO_ALLOW_HELICITY_GRID_ENTRIES", 0, is(false)),
            // IGRAPH of the event.
            ("VEC_IGRAPH", 0, Preset::Zero),
        ];
        for (block, place, preset) in presets {
            interpreter.presets.insert((block.into(), place), preset);
        }
        Ok(SmatrixRun {
            interpreter,
            smatrix: units.smatrix,
            matrix: units.matrix,
            legs,
            results,
            only: None,
            states: None,
            signs: false,
            seed: 0,
            channel: None,
            amp2: Vec::new(),
            flows: 0,
            added: HashMap::new(),
            colored: Vec::new(),
            jamp2: None,
            chosen: None,
            hel_buff: None,
        })
    }

    /// Sets the polarisation of the beams.
    fn polarise(&mut self, beams: &BeamCommons) {
        let interpreter = &mut self.interpreter;
        let (storage, first) = interpreter.common_place("TO_POLARIZATION", 0);
        for (i, &pol) in (0..).zip(&beams.polarisations) {
            let pol = interpreter.builder.real(pol);
            interpreter.set((storage, first + i), FortranValue::Real(pol));
        }
        let (storage, first) = interpreter.common_place("NB_HEL_STATE", 0);
        for (i, &states) in (0..).zip(beams.spin_states.iter().flatten()) {
            interpreter.set((storage, first + i), FortranValue::Int(states));
        }
    }

    /// Returns the result for one event, and the calls of `MATRIX<i>`.
    #[expect(clippy::too_many_lines, reason = "a case for each argument")]
    fn event(&mut self, random: f64) -> Result<(f64, Vec<Row>)> {
        let unit = self.smatrix;
        let interpreter = &mut self.interpreter;
        let momenta = interpreter.place();
        let mut answer = None;
        let mut chosen = None;
        let mut jamp2 = None;
        let mut places: Vec<Location> = Vec::new();
        for dummy in &unit.arguments {
            let at = interpreter.place();
            match dummy.as_str() {
                "P" => places.push(momenta),
                "ANS" | "ANS_SUMMED" => {
                    answer = Some(at);
                    places.push(at);
                }
                "RHEL" | "RCOL" => {
                    let value = interpreter.builder.real(random);
                    interpreter.set(at, FortranValue::Real(value));
                    places.push(at);
                }
                "CHANNEL" => {
                    let channel = self.channel.unwrap_or(0);
                    interpreter.set(at, FortranValue::Int(i64::from(channel)));
                    places.push(at);
                }
                "IVEC" => {
                    interpreter.set(at, FortranValue::Int(1));
                    places.push(at);
                }
                // SELECTED_HEL in ungrouped outputs from 3.6 on.
                "IHEL" | "SELECTED_HEL" => {
                    chosen = Some(at);
                    places.push(at);
                }
                "ICOL" | "SELECTED_COL" => places.push(at),
                "DUM" => {
                    interpreter.set(at, FortranValue::Int(0));
                    places.push(at);
                }
                // In 3.1 and the vectorised 3.3 and 3.4 the caller chooses a colour.
                "JAMP2" => {
                    jamp2 = Some(at);
                    places.push(at);
                }
                _ => {
                    return Err(unit.error(format!(
                        "{} has an argument {dummy}, which no version of MG5aMC writes",
                        unit.name
                    )));
                }
            }
        }
        let answer = answer.ok_or_else(|| unit.error("there is no argument ANS"))?;
        self.seed += 1;
        let calls = Rc::new(RefCell::new(SmatrixCalls {
            matrix: self.matrix.name.clone(),
            arguments: self.matrix.arguments.clone(),
            is_function: self.matrix.result.is_some(),
            momenta,
            legs: self.legs,
            results: self.results,
            only: self.only,
            states: self.states.clone(),
            signs: self.signs,
            random,
            state: self.seed,
            rows: Vec::new(),
            diagrams: self.amp2.clone(),
            added: HashMap::new(),
            colored: vec![0.0; self.flows],
            jamp2: None,
        }));
        let common = [AMP2, JAMP2].map(|place| self.interpreter.common_place("TO_AMPS", place));
        self.interpreter.externals = Some(calls.clone());
        let done = self.interpreter.enter(unit, &places, 0);
        self.interpreter.externals = None;
        done?;
        let mut calls = calls.borrow_mut();
        let rows = std::mem::take(&mut calls.rows);
        self.added = std::mem::take(&mut calls.added);
        self.colored = std::mem::take(&mut calls.colored);
        self.jamp2 = calls.jamp2.take();
        if let (None, Some(at)) = (&self.jamp2, jamp2) {
            let flows = 0..=self.flows as i64;
            let all: Option<Vec<f64>> = flows
                .map(|flow| number(&mut self.interpreter, (at.0, at.1 + flow)))
                .collect();
            // A variable that was not set counts as no sum.
            self.jamp2 = Some(all.unwrap_or_default());
        } else if self.jamp2.is_none() && !calls.arguments.iter().any(|name| name == "JAMP2") {
            // Until 3.5 it is passed to the choice of a colour in its COMMON block.
            self.jamp2 = (0..=self.flows as i64)
                .map(|flow| number(&mut self.interpreter, (common[JAMP2].0, flow)))
                .collect();
        }
        drop(calls);
        self.chosen = chosen.and_then(|at| match self.interpreter.get(at) {
            Some(FortranValue::Int(row)) => Some(*row),
            _ => None,
        });
        let buffer = self.interpreter.common_place("TO_HELICITY", 0);
        self.hel_buff = self.interpreter.get(buffer).is_some().then(|| {
            let places = (buffer.1..).map(|place| (buffer.0, place));
            let numbers = places.map_while(|at| match self.interpreter.get(at) {
                Some(FortranValue::Int(number)) => Some(*number),
                _ => None,
            });
            numbers.collect()
        });
        let value = match self.interpreter.get(answer) {
            Some(FortranValue::Real(value)) => self.interpreter.builder.constant(*value),
            _ => None,
        };
        match value {
            Some(value) if value.re.is_finite() => Ok((value.re, rows)),
            _ => Err(unit.error(format!("{} leaves no number in ANS", unit.name))),
        }
    }
}

/// Returns the number in an element of a REAL array.
fn number(interpreter: &mut Interpreter, at: Location) -> Option<f64> {
    match interpreter.element(at, Type::Real)? {
        FortranValue::Real(value) => interpreter.builder.constant(value).map(|c| c.re),
        _ => None,
    }
}

/// Receiver of the calls that `SMATRIX<i>` makes.
struct SmatrixCalls {
    matrix: String,
    /// Dummy arguments of `MATRIX<i>`.
    arguments: Vec<String>,
    is_function: bool,
    momenta: Location,
    legs: usize,
    results: usize,
    only: Option<usize>,
    states: Option<Vec<i8>>,
    signs: bool,
    random: f64,
    state: u64,
    rows: Vec<Row>,
    /// Diagrams whose AMP2 each call adds to.
    diagrams: Vec<u32>,
    added: HashMap<u32, f64>,
    colored: Vec<f64>,
    /// JAMP2 as passed to SELECT_COLOR.
    jamp2: Option<Vec<f64>>,
}

impl SmatrixCalls {
    /// Returns a number between 1 and 2 or, with signs, possibly its negative.
    fn number(&mut self) -> f64 {
        // splitmix64, by Sebastiano Vigna.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        let x = 1.0 + (z >> 12) as f64 / (1u64 << 52) as f64;
        if self.signs && z & 1 == 1 { -x } else { x }
    }

    /// Adds to AMP2 and JAMP2, which are arguments or in COMMON /TO_AMPS/.
    fn add_squares(
        &mut self,
        m: &mut Interpreter,
        frame: &mut UnitFrame,
        arguments: &[FortranExpr],
    ) -> Parsed<()> {
        if self.diagrams.is_empty() {
            self.touch_squares(m);
            return Ok(());
        }
        let mut squares = [AMP2, JAMP2].map(|place| m.common_place("TO_AMPS", place));
        for (place, name) in [(AMP2, "AMP2"), (JAMP2, "JAMP2")] {
            if let Some(i) = self.arguments.iter().position(|dummy| dummy == name) {
                squares[place] = m.reference(frame, &arguments[i])?;
            }
        }
        let mut add = |at: Location, x: f64| {
            let before = number(m, at).ok_or("AMP2 or JAMP2 has no value when it is added to")?;
            let sum = m.builder.real(before + x);
            m.set(at, FortranValue::Real(sum));
            Ok::<(), String>(())
        };
        for diagram in self.diagrams.clone() {
            let x = self.number().abs();
            let (storage, first) = squares[AMP2];
            add((storage, first + i64::from(diagram) - 1), x)?;
            *self.added.entry(diagram).or_default() += x;
        }
        for flow in 0..self.colored.len() {
            let x = self.number().abs();
            let (storage, first) = squares[JAMP2];
            // From JAMP2(0) on.
            add((storage, first + flow as i64 + 1), x)?;
            self.colored[flow] += x;
        }
        Ok(())
    }

    /// Without channels, `SMATRIX<i>` may not read AMP2 and JAMP2, which accumulate over events: in COMMON they are
    /// changed after each call.
    fn touch_squares(&mut self, m: &mut Interpreter) {
        // The first elements of AMP2 and of JAMP2, whose flows start at 1.
        for (place, name, element) in [(AMP2, "AMP2", 0), (JAMP2, "JAMP2", 1)] {
            let (storage, first) = m.common_place("TO_AMPS", place);
            let at = (storage, first + element);
            if !self.arguments.iter().any(|dummy| dummy == name)
                && let Some(before) = number(m, at)
            {
                let sum = m.builder.real(before + 1.0);
                m.set(at, FortranValue::Real(sum));
            }
        }
    }

    fn call(
        &mut self,
        m: &mut Interpreter,
        frame: &mut UnitFrame,
        arguments: &[FortranExpr],
    ) -> Parsed<f64> {
        if arguments.len() != self.arguments.len() {
            return Err(format!(
                "called with {} arguments and takes {}",
                arguments.len(),
                self.arguments.len()
            ));
        }
        if self.rows.len() > MAX_HELICITIES {
            return Err(format!("called for more than {MAX_HELICITIES} helicities"));
        }
        let mut parts: Vec<f64> = (0..self.results)
            .map(|i| match self.only {
                Some(only) if only != i => 0.0,
                _ => self.number(),
            })
            .collect();
        let mut row = None;
        for (dummy, argument) in self.arguments.clone().iter().zip(arguments) {
            let at = m.reference(frame, argument)?;
            let element = |m: &mut Interpreter, i: usize| {
                let value = m.element((at.0, at.1 + i as i64), Type::Integer);
                let value = value.ok_or_else(|| format!("{dummy} has no value"))?;
                value.int()
            };
            match dummy.as_str() {
                "P" if at != self.momenta => return Err("P is not passed on".into()),
                "NHEL" => {
                    let mut helicities = Vec::with_capacity(self.legs);
                    for leg in 0..self.legs {
                        let h = element(m, leg)?;
                        helicities.push(i8::try_from(h).map_err(|_| format!("a helicity {h}"))?);
                    }
                    let counts = |states: &Vec<i8>| helicities.starts_with(states);
                    if !self.states.as_ref().is_none_or(counts) {
                        parts.fill(0.0);
                    }
                    row = Some(helicities);
                }
                "IC" => {
                    for leg in 0..self.legs {
                        match element(m, leg)? {
                            1 => {}
                            n => return Err(format!("IC({}) is {n}, not 1", leg + 1)),
                        }
                    }
                }
                "RES" if !self.is_function => {
                    for (i, &x) in (0..).zip(&parts) {
                        let x = m.builder.real(x);
                        m.set((at.0, at.1 + i), FortranValue::Real(x));
                    }
                }
                _ => {}
            }
        }
        self.add_squares(m, frame, arguments)?;
        let value = parts.iter().sum();
        self.rows.push(Row {
            helicities: row.ok_or("there is no argument NHEL")?,
            parts,
            value,
        });
        Ok(value)
    }
}

impl<'l> Externals<'l> for SmatrixCalls {
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>> {
        if name == self.matrix && !self.is_function {
            let done = self.call(interpreter, frame, arguments);
            return Some(done.map(|_| ()).map_err(|what| format!("{name}: {what}")));
        }
        if name == "RANMAR"
            && let [argument] = arguments
        {
            let value = FortranValue::Real(interpreter.builder.real(self.random));
            return Some(
                interpreter
                    .reference(frame, argument)
                    .map(|at| interpreter.set(at, value)),
            );
        }
        if name == "SELECT_COLOR"
            && let Some(argument @ FortranExpr::Name(jamp2)) = arguments.get(1)
            && jamp2 == "JAMP2"
        {
            let at = match interpreter.reference(frame, argument) {
                Ok(at) => at,
                Err(what) => return Some(Err(what)),
            };
            self.jamp2 = (0..=self.colored.len() as i64)
                .map(|flow| number(interpreter, (at.0, at.1 + flow)))
                .collect();
        }
        (leaves_sums_alone(name) || interpreter.library.is_harmless(name)).then_some(Ok(()))
    }

    fn function(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<FortranValue>> {
        if name == self.matrix && self.is_function {
            let value = self.call(interpreter, frame, arguments);
            let value = value.map(|x| FortranValue::Real(interpreter.builder.real(x)));
            return Some(value.map_err(|what| format!("{name}: {what}")));
        }
        match name {
            "DS_GET_DIM_STATUS" => Some(Ok(FortranValue::Int(-1))),
            "XRAN1" => Some(Ok(FortranValue::Real(
                interpreter.builder.real(self.random),
            ))),
            // Where aMC@NLO keeps the squared orders separately, which nothing here reads.
            "ORDERS_TO_AMP_SPLIT_POS" => Some(Ok(FortranValue::Int(1))),
            "GET_CHANNEL_CUT" => Some(Ok(FortranValue::Real(interpreter.builder.real(1.0)))),
            _ => None,
        }
    }
}

/// Returns whether a MadEvent routine, called by `SMATRIX<i>`, does not change its result: grids of helicities,
/// counters, and the choice of a colour after the sum.
fn leaves_sums_alone(name: &str) -> bool {
    matches!(
        name,
        "DS_ADD_ENTRY"
            | "DS_UPDATE_GRID"
            | "DS_SET_GRID_MODE"
            | "RESET_CUMULATIVE_VARIABLE"
            | "SELECT_COLOR"
    )
}
