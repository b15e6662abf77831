//! Couplings other than alpha_s that run: `C_RUNNING_<n>` of couplings.f, which MG5aMC (3.5 and later) writes for models
//! with a `running.py`.
//!
//! Such a routine evolves parameters from the scale of their block of the card (`BLOCK NAME Q= 172.5`) to that of the
//! event. It is run as written, except for two calls: `ALPHAS` at the scale of the block is an input
//! (`mebridge_process::running`), and `C8MAT_EXPM1`, the exponential of a matrix, is replaced by a series for its
//! product with the parameters.

use crate::directory::SubprocessPaths;
use crate::expression::{FortranExpr, Parsed};
use crate::program_unit::Library;
use crate::symbolic::{Externals, Interpreter, UnitFrame};
use crate::value::{FortranValue, Truth};
use mebridge_process::arith::{Op, ValueId};
use mebridge_process::card::Card;
use mebridge_process::model::CardParameter;
use mebridge_process::running::{self, Mixing, QUARKS, alpha_s, coupling_there, entries};
use mebridge_support::error::Result;
use mebridge_support::sorted::SortedSet;
use std::cell::RefCell;
use std::rc::Rc;

/// Prefix of the names of these routines.
const ROUTINES: &str = "C_RUNNING_";
/// The parameter that tells whether the scale is fixed.
const FIXED: &str = "FIXED_EXTRA_SCALE";
/// Prefix and suffix of a block's name in the name of its scale.
const SCALE: (&str, &str) = ("MDL__", "__SCALE");
/// Number of flavours in the beta function while a routine is run.
const STATED_QUARKS: i64 = 5;
/// Maximum number of parameters that mix.
const MAX_MIXING: i64 = 200;

/// Settings of these couplings from the cards of a directory.
#[derive(Clone, Default)]
pub struct ExtraScale {
    /// The fixed scale of the run card.
    fixed: Option<f64>,
    /// The ratio of their scale to that of alpha_s, if it follows the event.
    ratio: f64,
    /// Flavours in the running of alpha_s.
    quarks: f64,
    /// alpha_s of the parameter card, at the mass of the Z boson.
    at_z: f64,
}

impl ExtraScale {
    /// Reads the cards of a directory. Standalone programs have no run card.
    pub fn from_cards(directory: &SubprocessPaths, card: Option<&Card>) -> Result<ExtraScale> {
        let alone = directory.is_standalone();
        let number = |name: &str, default: f64| match alone {
            true => Ok(default),
            false => directory.run_parameter(name, default),
        };
        let fixed = !alone && directory.run_switch("fixed_extra_scale")?;
        Ok(ExtraScale {
            fixed: match fixed {
                true => Some(number("mue_ref_fixed", 91.188)?),
                false => None,
            },
            ratio: number("mue_over_ref", 1.0)?,
            // MadEvent's default.
            quarks: number("maxjetflavor", if alone { QUARKS } else { 4.0 })?,
            at_z: card
                .and_then(|card| card.number("sminputs", &[3]))
                .unwrap_or(0.0),
        })
    }

    /// Returns the inputs of the routines in addition to the parameters of the card.
    pub fn inputs(&self, library: &Library) -> Result<Vec<CardParameter>> {
        let mut blocks = SortedSet::new();
        for n in 1.. {
            let Some(unit) = library.unit(&format!("{ROUTINES}{n}"))? else {
                break;
            };
            for line in unit.header..unit.end {
                blocks.extend(blocks_of(&String::from_utf8_lossy(unit.source.text(line))));
            }
        }
        let fixed = self.fixed.map_or(0.0, |scale| alpha_s(self.at_z, scale));
        let defaults = [0.0, fixed, self.quarks, 0.0];
        let all = blocks.iter().flat_map(|block| entries(block, defaults));
        Ok(all.collect())
    }

    /// Sets the variables that `UPDATE_AS_PARAM` reads, for a scale that follows the event; for a fixed scale, all
    /// events have the same G there.
    pub fn set(&self, interpreter: &mut Interpreter, frame: &mut UnitFrame) {
        if !frame.names().any(|name| name == FIXED) {
            return;
        }
        let truth = |truth| FortranValue::Logical(Truth::Known(truth));
        interpreter.set_name(frame, FIXED, truth(false));
        interpreter.set_name(frame, "FIRST", truth(true));
        let one = FortranValue::Real(interpreter.builder.real(1.0));
        interpreter.set_name(frame, "MUE_OVER_REF", one);
    }

    /// Creates the receiver of the calls of these routines, for inputs with these numbers.
    pub fn calls(&self, inputs: &[CardParameter]) -> RunningCalls {
        RunningCalls {
            ratio: if self.fixed.is_some() {
                1.0
            } else {
                self.ratio
            },
            inputs: inputs.to_vec(),
            made: false,
            over: false,
        }
    }
}

/// Returns the names of the blocks whose scales occur in a statement.
fn blocks_of(text: &str) -> Vec<String> {
    let parts = text.split(SCALE.0).skip(1);
    let names = parts.filter_map(|rest| rest.split_once(SCALE.1));
    names.map(|(block, _)| block.to_ascii_lowercase()).collect()
}

/// Receiver of calls of `C_RUNNING_<n>`.
pub struct RunningCalls {
    ratio: f64,
    inputs: Vec<CardParameter>,
    /// Whether there were any.
    made: bool,
    /// Whether the parameters have been evolved, so that further calls do nothing.
    over: bool,
}

impl RunningCalls {
    /// Makes further calls do nothing; returns whether there were any.
    pub fn are_over(&mut self) -> bool {
        self.over = true;
        self.made
    }

    fn run(
        &self,
        m: &mut Interpreter,
        frame: &mut UnitFrame,
        name: &str,
        to: &FortranExpr,
    ) -> Parsed<()> {
        if self.ratio != 1.0 {
            return Err(format!(
                "mue_over_ref = {} of Cards/run_card.dat is about the scale of parameters that run, which is that of alpha_s \
                 here (MadEvent asks for alpha_s at 0 GeV then, and stops); set it to 1, or set fixed_extra_scale and mue_ref_fixed",
                self.ratio
            ));
        }
        let unit = m.library.unit(name).map_err(|e| e.to_string())?.cloned();
        let unit = unit.ok_or("no file has a subroutine of that name")?;
        let body = unit.body().map_err(|e| e.to_string())?;
        let lines = (unit.header..unit.end).map(|line| unit.source.text(line));
        let lines = lines.flat_map(|text| blocks_of(&String::from_utf8_lossy(text)));
        let blocks: SortedSet<String> = lines.collect();
        let blocks: Vec<&String> = blocks.iter().collect();
        let &[block] = &blocks[..] else {
            return Err(format!(
                "parameters of {} blocks of the card run together, and have to be of one; take a model without running.py",
                blocks.len()
            ));
        };
        let [dummy] = &unit.arguments[..] else {
            return Err("it has not one argument".into());
        };
        let input = |m: &mut Interpreter, name: &str| {
            let is = |p: &CardParameter| running::entry(p) == Some((block.as_str(), name));
            let at = self.inputs.iter().position(is);
            at.map(|at| m.builder.input(at as u32))
        };
        let (Some(reference), Some(fixed), Some(quarks)) = (
            input(m, running::ENTRIES[0]),
            input(m, running::ENTRIES[1]),
            input(m, running::ENTRIES[2]),
        ) else {
            return Err(format!("there are no inputs for block {block}"));
        };
        let g = m.eval(frame, to)?.real(&mut m.builder)?;
        let g = coupling_there(&mut m.builder, fixed, g);
        let mut callee = m.frame_of(&unit);
        let at = m.bind_new(&mut callee, dummy);
        m.set(at, FortranValue::Real(g));
        m.declare_in(&mut callee, &unit, &body)
            .map_err(|e| e.to_string())?;
        // An integer in Fortran, but an input here: the logarithm is divided by the beta function of the former and
        // then multiplied by that of the latter.
        m.set_name(
            &mut callee,
            "MAXJETFLAVOR",
            FortranValue::Int(STATED_QUARKS),
        );
        let stated = m.builder.real(STATED_QUARKS as f64);
        let betas = [stated, quarks].map(|quarks| running::beta(&mut m.builder, quarks));
        let routine_calls = RoutineCalls {
            reference,
            factor: m.builder.push(Op::Div(betas[0], betas[1])),
        };
        let outer = m.externals.take();
        m.externals = Some(Rc::new(RefCell::new(routine_calls)));
        let done = m.run(&mut callee, &body).map_err(|e| e.to_string());
        m.externals = outer;
        done.map(|_| ())
    }
}

impl<'l> Externals<'l> for RunningCalls {
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>> {
        if !name.starts_with(ROUTINES) {
            return None;
        }
        self.made = true;
        if self.over {
            return Some(Ok(()));
        }
        let done = match arguments {
            [to] => self.run(interpreter, frame, name, to),
            _ => Err("it is not called with one argument".into()),
        };
        Some(done.map_err(|what| format!("{name} lets parameters of the model run: {what}")))
    }
}

/// Receiver of the calls that `C_RUNNING_<n>` makes.
struct RoutineCalls {
    /// alpha_s at the scale of the block.
    reference: ValueId,
    /// Factor of the logarithm.
    factor: ValueId,
}

impl<'l> Externals<'l> for RoutineCalls {
    fn subroutine(
        &mut self,
        interpreter: &mut Interpreter<'l>,
        frame: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<()>> {
        match (name, arguments) {
            (
                "C8MAT_EXPM1",
                [
                    size,
                    FortranExpr::Name(matrix),
                    FortranExpr::Name(exponential),
                ],
            ) => Some(
                exponential_of(interpreter, frame, size, [matrix, exponential], self.factor)
                    .map_err(|what| format!("{name}: {what}")),
            ),
            _ => None,
        }
    }

    fn function(
        &mut self,
        _: &mut Interpreter<'l>,
        _: &mut UnitFrame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Option<Parsed<FortranValue>> {
        match (name, arguments) {
            ("ALPHAS", [FortranExpr::Name(scale)]) if !blocks_of(scale).is_empty() => {
                Some(Ok(FortranValue::Real(self.reference)))
            }
            _ => None,
        }
    }
}

/// Computes the product of the exponential of a matrix with the parameters C0. The first column of the exponential then
/// holds the product, and C0 is set to (1, 0, 0, ...).
fn exponential_of(
    m: &mut Interpreter,
    frame: &mut UnitFrame,
    size: &FortranExpr,
    [matrix, exponential]: [&str; 2],
    times: ValueId,
) -> Parsed<()> {
    let size = m.eval(frame, size)?.int()?;
    if !(1..=MAX_MIXING).contains(&size) {
        return Err(format!("{size} parameters mix; {MAX_MIXING} are the most"));
    }
    let element = |name: &str, indices: &[i64]| {
        let indices = indices.iter().map(|&n| FortranExpr::Int(n)).collect();
        FortranExpr::Apply(name.to_owned(), indices)
    };
    let mut mixing = Mixing {
        parameters: size as usize,
        matrix: Vec::new(),
    };
    let (mut r, mut start) = (None, Vec::new());
    for row in 1..=size {
        let c0 = m.eval(frame, &element("C0", &[row]))?;
        start.push(c0.real(&mut m.builder)?);
        for column in 1..=size {
            let (value, _) = m
                .eval(frame, &element(matrix, &[row, column]))?
                .number(&mut m.builder)?;
            let Some((factor, rest)) = factor(m, value) else {
                return Err(format!(
                    "{matrix}({row}, {column}) is no number times one logarithm: parameters run with one power of alpha_s \
                     alone here; take a model without running.py"
                ));
            };
            if factor != 0.0 {
                if *r.get_or_insert(rest) != rest {
                    return Err(format!("{matrix} has several logarithms"));
                }
                let place = (row as usize - 1, column as usize - 1);
                mixing.matrix.push((place.0, place.1, factor));
            }
        }
    }
    let r = r.unwrap_or_else(|| m.builder.real(0.0));
    let r = m.builder.push(Op::Mul(r, times));
    let evolved = mixing.evolved(&mut m.builder, &start, r)?;
    let (zero, one) = (m.builder.real(0.0), m.builder.real(1.0));
    for row in 1..=size {
        let c0 = m.reference(frame, &element("C0", &[row]))?;
        m.set(c0, FortranValue::Real(if row == 1 { one } else { zero }));
        for column in 1..=size {
            let at = m.reference(frame, &element(exponential, &[row, column]))?;
            let value = match column {
                1 => evolved[row as usize - 1],
                _ => zero,
            };
            m.set(at, FortranValue::Complex(value));
        }
    }
    Ok(())
}

/// Splits a value into a real number times another value.
fn factor(m: &Interpreter, value: ValueId) -> Option<(f64, ValueId)> {
    let number = |v: ValueId| m.builder.constant(v).filter(|c| c.im == 0.0);
    match m.builder.program().ops[value as usize] {
        Op::Mul(a, b) => match (number(a), number(b)) {
            (Some(x), None) => Some((x.re, b)),
            (None, Some(x)) => Some((x.re, a)),
            _ => None,
        },
        _ => number(value).filter(|x| x.re == 0.0).map(|_| (0.0, value)),
    }
}
