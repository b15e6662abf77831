//! The matrix element: `matrix<i>.f`.
//!
//! The body of the function `MATRIX<i>` is followed statement by statement. Calls of HELAS and
//! ALOHA routines give wavefunctions and amplitudes; a slot of `W` that is written again is a
//! new wavefunction. Assignments to TMP_JAMP, JAMP and AMP2 are read as sums of amplitudes.
//! What else is set (the widths `FK_...`) is left to the symbolic machine, and the closing loops
//! over colours, which mean the same in every output, are only checked for what they set.

mod color;
mod helicities;

use super::data::{self, Loops, Setter, sets};
use super::expression::{Expr, Parsed};
use super::linear::{self, Form, Names};
use super::lorentz::{Role, Routines, missing};
use super::model::ModelReader;
use super::source::Source as Fortran;
use super::statement::{Constant, Statement};
use super::symbolic::{Frame, targets_of};
use super::unit::{Node, NodeKind, Unit, units_of};
use super::value::{Truth, Value};
use crate::error::{Error, Result};
use crate::process::channels::Amp2;
use crate::process::color::ColorMatrix;
use crate::process::{
    CouplingRef, External, ExternalKind, LinearMap, Quantity, Source, Term, Vertex, Wavefunction,
};
use color::ColorData;
use helicities::{Table, helicities};
use num_complex::Complex64;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// More colour flows than a matrix of them could be stored for.
const MAX_FLOWS: i64 = 20_000;

/// What a matrix element's file says.
pub struct Matrix {
    pub legs: usize,
    pub helicities: Vec<Vec<i8>>,
    pub iden: u32,
    pub wavefunctions: Vec<Wavefunction>,
    pub amplitudes: Vec<Vertex>,
    pub diagrams: u32,
    pub jamp: LinearMap,
    pub color: ColorMatrix,
    pub amp2: Vec<Amp2>,
}

/// Reads `matrix<number>.f`.
pub fn read<'l>(
    path: &Path,
    number: &str,
    model: &mut ModelReader<'l>,
    routines: &mut Routines<'l>,
    small_width: f64,
) -> Result<Matrix> {
    let source = Rc::new(Fortran::read(path)?);
    let units = units_of(&source);
    let find = |name: String| {
        units
            .iter()
            .find(|u| u.name == name)
            .ok_or_else(|| Error::Import {
                path: path.to_path_buf(),
                what: format!(
                    "there is no {name}; this is no matrix element as MG5aMC writes it for MadEvent"
                ),
            })
    };
    let matrix = find(format!("MATRIX{number}"))?;
    let smatrix = find(format!("SMATRIX{number}"))?;
    let table = helicities(smatrix, model)?;
    let body = matrix.body()?;
    let mut reader = Reader::new(matrix, &body, model, routines, table.legs, small_width)?;
    reader.run(&body)?;
    reader.finish(table)
}

/// Elements that DATA statements set, with subscripts that the machine knows.
struct Elements<'a, 'l, F> {
    model: &'a mut ModelReader<'l>,
    frame: &'a mut Frame,
    set: F,
}

impl<F: FnMut(&str, &[i64], &Constant) -> Parsed<()>> Setter for Elements<'_, '_, F> {
    fn integer(&mut self, expr: &Expr, loops: &Loops) -> Parsed<i64> {
        self.model.machine.eval_index(self.frame, expr, loops)
    }

    fn set(&mut self, name: &str, subscripts: &[i64], value: &Constant) -> Parsed<()> {
        (self.set)(name, subscripts, value)
    }
}

/// Follows the body of `MATRIX<i>`.
struct Reader<'a, 'l> {
    unit: &'a Unit,
    file: PathBuf,
    frame: Frame,
    model: &'a mut ModelReader<'l>,
    routines: &'a mut Routines<'l>,
    legs: usize,
    flows: usize,
    /// Which wavefunction a slot of W holds now.
    slots: HashMap<i64, u32>,
    wavefunctions: Vec<Wavefunction>,
    /// Components of each wavefunction.
    components: Vec<u32>,
    /// Equal wavefunctions are kept once.
    known: HashMap<Wavefunction2, u32>,
    amplitudes: Vec<Option<Vertex>>,
    partial: Vec<Vec<Term>>,
    /// Which partial sum an element of TMP_JAMP is now.
    partial_of: HashMap<i64, u32>,
    jamp: Vec<Option<Vec<Term>>>,
    amp2: HashMap<u32, Vec<Vec<u32>>>,
    color: ColorData,
}

/// A wavefunction as a key.
#[derive(PartialEq, Eq, Hash)]
enum Wavefunction2 {
    External(External),
    Internal(Vertex),
}

impl<'a, 'l> Reader<'a, 'l> {
    fn new(
        unit: &'a Unit,
        body: &[Node],
        model: &'a mut ModelReader<'l>,
        routines: &'a mut Routines<'l>,
        legs: usize,
        small_width: f64,
    ) -> Result<Self> {
        let mut frame = model.machine.frame(&unit.source.path);
        let machine = &mut model.machine;
        // Colour data is read by element below; the machine would keep it as symbols.
        for node in body {
            if !is_color_data(node) {
                machine.declare(&mut frame, std::slice::from_ref(node))?;
            }
        }
        for order in ["NAMPSO", "NSQAMPSO"] {
            if machine.int_constant(&frame, order).is_some_and(|n| n > 1) {
                return Err(unit.error(format!(
                    "{order} is larger than 1: the process is split by coupling orders, which \
                     the library does not do; generate it again without squared orders \
                     (`^2==`) or with each order on its own"
                )));
            }
        }
        let flows = match machine.int_constant(&frame, "NCOLOR") {
            Some(n @ 1..=MAX_FLOWS) => n as usize,
            Some(n) => {
                return Err(unit.error(format!("NCOLOR = {n} is no number of colour flows")));
            }
            None => return Err(unit.error("there is no PARAMETER NCOLOR")),
        };
        let full = machine.rank_of(&frame, "CF") == 2;
        let has_denominator = machine.declared(&frame, "DENOM").is_some();
        machine.set_name(&mut frame, "IVEC", Value::Int(1));
        let small = Value::Real(machine.builder.real(small_width));
        machine.set_name(&mut frame, "SMALL_WIDTH_TREATMENT", small);
        let known = |b| Value::Logical(Truth::Known(b));
        machine.set_name(&mut frame, "FIRST", known(true));
        machine.set_name(&mut frame, "INIT_MODE", known(false));
        machine.set_name(&mut frame, "MULTI_CHANNEL", known(true));
        machine.set_name(&mut frame, "SDE_STRAT", Value::Int(1));
        // IC is +1 for every leg.
        let ic = machine.bind_new(&mut frame, "IC");
        for leg in 0..legs {
            machine.set((ic.0, leg as i64), Value::Int(1));
        }
        Ok(Reader {
            unit,
            file: unit.source.path.clone(),
            frame,
            model,
            routines,
            legs,
            flows,
            slots: HashMap::new(),
            wavefunctions: Vec::new(),
            components: Vec::new(),
            known: HashMap::new(),
            amplitudes: Vec::new(),
            partial: Vec::new(),
            partial_of: HashMap::new(),
            jamp: vec![None; flows],
            amp2: HashMap::new(),
            color: ColorData::new(full, has_denominator),
        })
    }

    fn fault(&self, line: u32, what: impl Into<String>) -> Error {
        Error::Fortran {
            file: self.file.clone(),
            line,
            what: what.into(),
        }
    }

    fn run(&mut self, body: &[Node]) -> Result<()> {
        for node in body {
            self.node(node)?;
        }
        Ok(())
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        match &node.kind {
            NodeKind::Plain(Statement::Assign(name, subscripts, value)) => {
                self.assignment(node, name, subscripts, value)
            }
            NodeKind::Plain(Statement::Call(name, arguments)) => {
                self.call(node.line, name, arguments)
            }
            NodeKind::Plain(Statement::Data(groups)) if is_color_data(node) => {
                for group in groups {
                    let (color, flows) = (&mut self.color, self.flows);
                    let mut elements = Elements {
                        model: self.model,
                        frame: &mut self.frame,
                        set: |name: &str, subscripts: &[i64], value: &Constant| {
                            color.set(name, subscripts, value, flows)
                        },
                    };
                    let result = data::expand(group, &mut elements);
                    result.map_err(|what| self.fault(node.line, what))?;
                }
                Ok(())
            }
            NodeKind::Plain(Statement::Other(text)) => {
                Err(self.fault(node.line, format!("cannot read `{text}`")))
            }
            NodeKind::Plain(_) => Ok(()),
            NodeKind::If(branches) => self.condition(node, branches),
            NodeKind::Do { .. } | NodeKind::DoOther(_) => self.closing_loop(node),
        }
    }

    fn condition(&mut self, node: &Node, branches: &[(Option<Expr>, Vec<Node>)]) -> Result<()> {
        for (condition, body) in branches {
            let truth = match condition {
                None => Truth::Known(true),
                Some(expr) => self
                    .model
                    .machine
                    .eval(&mut self.frame, expr)
                    .and_then(|v| v.truth())
                    .map_err(|what| self.fault(node.line, what))?,
            };
            match truth {
                Truth::Known(true) => return self.run(body),
                Truth::Known(false) => {}
                // Widths that depend on whether a parameter is 0.
                Truth::Test(..) => {
                    let nodes = std::slice::from_ref(node);
                    return self.model.machine.run(&mut self.frame, nodes).map(|_| ());
                }
            }
        }
        Ok(())
    }

    /// A loop at the end of the function: |M|^2 from JAMP and CF, and JAMP2 from JAMP.
    fn closing_loop(&mut self, node: &Node) -> Result<()> {
        let mut targets = HashSet::new();
        targets_of(node, &mut targets);
        let function = &self.unit.name;
        let ok = |name: &String| {
            name == function
                || matches!(
                    name.as_str(),
                    "ZTEMP" | "CF_INDEX" | "JAMP2" | "I" | "J" | "K" | "M" | "N" | "L"
                )
        };
        match targets.iter().find(|name| !ok(name)) {
            None => Ok(()),
            Some(name) => Err(self.fault(
                node.line,
                format!("a loop that sets {name} is not expected here"),
            )),
        }
    }

    fn assignment(
        &mut self,
        node: &Node,
        name: &str,
        subscripts: &[Expr],
        value: &Expr,
    ) -> Result<()> {
        let line = node.line;
        let result = match name {
            "JAMP" => self.jamp(subscripts, value),
            "TMP_JAMP" => self.partial_sum(subscripts, value),
            "AMP2" => self.channel(subscripts, value),
            "AMP" | "W" => Err(format!(
                "{name} is assigned and not the result of a routine"
            )),
            "JAMP2" | "ZTEMP" | "CF_INDEX" => Ok(()),
            _ if name == self.unit.name => Ok(()),
            _ => {
                let nodes = std::slice::from_ref(node);
                return self.model.machine.run(&mut self.frame, nodes).map(|_| ());
            }
        };
        result.map_err(|what| self.fault(line, what))
    }

    /// The only subscript, or the first of two of which the second is 1 (NAMPSO).
    fn subscript(&mut self, subscripts: &[Expr]) -> Parsed<i64> {
        let (first, rest) = subscripts.split_first().ok_or("a subscript is missing")?;
        for expr in rest {
            if self.int(expr)? != 1 {
                return Err("a split order other than the first".into());
            }
        }
        self.int(first)
    }

    fn int(&mut self, expr: &Expr) -> Parsed<i64> {
        match expr {
            Expr::Int(i) => Ok(*i),
            _ => self.model.machine.eval(&mut self.frame, expr)?.int(),
        }
    }

    fn jamp(&mut self, subscripts: &[Expr], value: &Expr) -> Parsed<()> {
        if subscripts.iter().all(|s| matches!(s, Expr::Range(..))) {
            // `JAMP(:,:) = 0`
            let terms = linear::terms(linear::form(value, self)?)?;
            if !terms.is_empty() {
                return Err("all of JAMP is set to something other than 0".into());
            }
            self.jamp.fill(Some(Vec::new()));
            return Ok(());
        }
        let flow = self.subscript(subscripts)?;
        let terms = linear::terms(linear::form(value, self)?)?;
        let flow = usize::try_from(flow - 1).ok().filter(|&f| f < self.flows);
        let flow = flow.ok_or("JAMP beyond NCOLOR")?;
        self.jamp[flow] = Some(terms);
        Ok(())
    }

    fn partial_sum(&mut self, subscripts: &[Expr], value: &Expr) -> Parsed<()> {
        let place = self.subscript(subscripts)?;
        let terms = linear::terms(linear::form(value, self)?)?;
        self.partial_of.insert(place, self.partial.len() as u32);
        self.partial.push(terms);
        Ok(())
    }

    fn channel(&mut self, subscripts: &[Expr], value: &Expr) -> Parsed<()> {
        let diagram = self.subscript(subscripts)?;
        let diagram = u32::try_from(diagram).map_err(|_| format!("AMP2({diagram})"))?;
        // AMP2(d) = AMP2(d) + what this helicity adds.
        let added = match value {
            Expr::Sum(terms) => match terms.split_first() {
                Some(((false, Expr::Apply(name, same)), rest))
                    if name == "AMP2" && same.as_slice() == subscripts =>
                {
                    Expr::Sum(rest.to_vec())
                }
                _ => return Err(format!("AMP2({diagram}) is not added to")),
            },
            _ => return Err(format!("AMP2({diagram}) is not added to")),
        };
        match linear::form(&added, self)? {
            Form::Squares(all) => {
                self.amp2.entry(diagram).or_default().extend(all);
                Ok(())
            }
            _ => Err(format!("AMP2({diagram}) is no sum of |AMP|^2")),
        }
    }

    // ----- calls ---------------------------------------------------------------------------

    fn call(&mut self, line: u32, name: &str, arguments: &[Expr]) -> Result<()> {
        let kind = match name {
            "IXXXXX" => Some(ExternalKind::FermionIn),
            "OXXXXX" => Some(ExternalKind::FermionOut),
            "VXXXXX" => Some(ExternalKind::Vector),
            "SXXXXX" => Some(ExternalKind::Scalar),
            _ => None,
        };
        if let Some(kind) = kind {
            return self
                .external(kind, arguments)
                .map_err(|what| self.fault(line, format!("{name}: {what}")));
        }
        let Some(signature) = self.routines.signature(name)? else {
            return Err(missing(name, &self.file, line));
        };
        let fail = |what: String| Error::Fortran {
            file: self.file.clone(),
            line,
            what: format!("{name}: {what}"),
        };
        if signature.roles.len() != arguments.len() {
            return Err(fail(format!(
                "called with {} arguments and takes {}",
                arguments.len(),
                signature.roles.len()
            )));
        }
        let mut vertex = Vertex {
            routine: 0,
            inputs: Vec::new(),
            couplings: Vec::new(),
            mass: Quantity::ZERO,
            width: Quantity::ZERO,
        };
        let mut result = None;
        for (role, argument) in signature.roles.iter().zip(arguments) {
            let done = match role {
                Role::Wavefunction => self.input(argument).map(|w| vertex.inputs.push(w)),
                Role::Coupling => self.coupling(argument).map(|c| vertex.couplings.push(c)),
                Role::Mass => self.quantity(argument).map(|q| vertex.mass = q),
                Role::Width => self.quantity(argument).map(|q| vertex.width = q),
                Role::Result => {
                    result = Some(argument);
                    Ok(())
                }
            };
            done.map_err(|what| Error::Fortran {
                file: self.file.clone(),
                line,
                what: format!("{name}: {what}"),
            })?;
        }
        let sizes: Vec<u32> = vertex
            .inputs
            .iter()
            .map(|&w| self.components[w as usize])
            .collect();
        vertex.routine = self.routines.routine(name, &signature, &sizes)?;
        let components = self.routines.found[vertex.routine as usize].outputs.len() as u32;
        match result {
            Some(Expr::Apply(array, subscripts)) if array == "AMP" && components == 1 => {
                self.amplitude(subscripts, vertex)
            }
            Some(Expr::Apply(array, _)) if array == "W" && components > 1 => {
                let slot = result.map_or(Err("no result".into()), |r| self.slot(r));
                slot.map(|slot| {
                    self.store(slot, Wavefunction::Internal(vertex), components);
                })
            }
            _ => Err("the result is neither in W nor in AMP, as the routine's kind asks".into()),
        }
        .map_err(|what: String| self.fault(line, format!("{name}: {what}")))
    }

    /// Number of the slot in `W(1,slot)`.
    fn slot(&mut self, argument: &Expr) -> Parsed<i64> {
        match argument {
            Expr::Apply(array, subscripts) if array == "W" => match subscripts.as_slice() {
                [Expr::Int(1), slot] => self.int(slot),
                _ => Err("a wavefunction is not given as W(1,n)".into()),
            },
            _ => Err("a wavefunction is not given as W(1,n)".into()),
        }
    }

    fn input(&mut self, argument: &Expr) -> Parsed<u32> {
        let slot = self.slot(argument)?;
        let found = self.slots.get(&slot).copied();
        found.ok_or_else(|| format!("W(1,{slot}) is used before it is set"))
    }

    fn store(&mut self, slot: i64, wavefunction: Wavefunction, components: u32) {
        let key = match &wavefunction {
            Wavefunction::External(e) => Wavefunction2::External(*e),
            Wavefunction::Internal(v) => Wavefunction2::Internal(v.clone()),
        };
        let next = self.wavefunctions.len() as u32;
        let index = *self.known.entry(key).or_insert(next);
        if index == next {
            self.wavefunctions.push(wavefunction);
            self.components.push(components);
        }
        self.slots.insert(slot, index);
    }

    fn amplitude(&mut self, subscripts: &[Expr], vertex: Vertex) -> Parsed<()> {
        let number = self.subscript(subscripts)?;
        // Amplitudes come in order, so that a wild number cannot ask for much memory.
        let place = usize::try_from(number - 1).ok();
        let place = place.filter(|&p| p <= self.amplitudes.len() + 1000);
        let place = place.ok_or_else(|| format!("AMP({number}) is out of order"))?;
        if place >= self.amplitudes.len() {
            self.amplitudes.resize(place + 1, None);
        }
        if self.amplitudes[place].is_some() {
            return Err(format!("AMP({number}) is set twice"));
        }
        self.amplitudes[place] = Some(vertex);
        Ok(())
    }

    /// `VXXXXX(P(0,leg), mass, NHEL(leg), sign*IC(leg), W(1,n))`, and SXXXXX without mass and
    /// helicity.
    fn external(&mut self, kind: ExternalKind, arguments: &[Expr]) -> Parsed<()> {
        let (momentum, mass, helicity, sign, result) = match (kind, arguments) {
            (ExternalKind::Scalar, [p, sign, w]) => (p, None, None, sign, w),
            (ExternalKind::Scalar, _) => return Err("expected 3 arguments".into()),
            (_, [p, mass, helicity, sign, w]) => (p, Some(mass), Some(helicity), sign, w),
            _ => return Err("expected 5 arguments".into()),
        };
        let leg = match momentum {
            Expr::Apply(p, subscripts) if p == "P" => match subscripts.as_slice() {
                [Expr::Int(0), leg] => self.int(leg)?,
                _ => return Err("the momentum is not given as P(0,leg)".into()),
            },
            _ => return Err("the momentum is not given as P(0,leg)".into()),
        };
        if leg < 1 || leg > self.legs as i64 {
            return Err(format!("there is no leg {leg}"));
        }
        if let Some(helicity) = helicity {
            match helicity {
                Expr::Apply(name, of) if name == "NHEL" && of.as_slice() == [Expr::Int(leg)] => {}
                _ => return Err(format!("the helicity is not NHEL({leg})")),
            }
        }
        let sign = match self.int(sign)? {
            1 => 1,
            -1 => -1,
            other => return Err(format!("a sign {other}")),
        };
        let mass = match mass {
            Some(mass) => self.quantity(mass)?,
            None => Quantity::ZERO,
        };
        let slot = self.slot(result)?;
        let external = External {
            kind,
            leg: leg as u32 - 1,
            mass,
            sign,
        };
        self.store(slot, Wavefunction::External(external), kind.components());
        Ok(())
    }

    fn quantity(&mut self, argument: &Expr) -> Parsed<Quantity> {
        let machine = &mut self.model.machine;
        let value = machine.eval(&mut self.frame, argument)?;
        let (value, real) = value.number(&mut machine.builder)?;
        if !real {
            return Err(format!(
                "{} is complex; the complex-mass scheme is not supported, generate the process \
                 without it",
                shown(argument)
            ));
        }
        if machine.builder.constant(value) == Some(Complex64::new(0.0, 0.0)) {
            return Ok(Quantity::ZERO);
        }
        Ok(Quantity(Some(
            self.model.parameter(&shown(argument), value),
        )))
    }

    fn coupling(&mut self, argument: &Expr) -> Parsed<CouplingRef> {
        let (negative, argument) = match argument {
            Expr::Sum(terms) => match terms.as_slice() {
                [(negative, inner)] => (*negative, inner),
                _ => (false, argument),
            },
            _ => (false, argument),
        };
        let machine = &mut self.model.machine;
        let value = machine.eval(&mut self.frame, argument)?;
        let (value, _) = value.number(&mut machine.builder)?;
        Ok(CouplingRef {
            coupling: self.model.coupling(&shown(argument), value),
            negative,
        })
    }

    // ----- the whole -----------------------------------------------------------------------

    fn finish(self, table: Table) -> Result<Matrix> {
        let unit = self.unit;
        let mut amplitudes = Vec::with_capacity(self.amplitudes.len());
        for (i, amplitude) in self.amplitudes.into_iter().enumerate() {
            let missing = || unit.error(format!("AMP({}) is never set", i + 1));
            amplitudes.push(amplitude.ok_or_else(missing)?);
        }
        let mut outputs = Vec::with_capacity(self.flows);
        for (i, jamp) in self.jamp.into_iter().enumerate() {
            let missing = || unit.error(format!("JAMP({}) is never set", i + 1));
            outputs.push(jamp.ok_or_else(missing)?);
        }
        let color = self
            .color
            .matrix(self.flows)
            .map_err(|what| unit.error(what))?;
        let mut amp2: Vec<Amp2> = self
            .amp2
            .into_iter()
            .map(|(diagram, squares)| Amp2 { diagram, squares })
            .collect();
        amp2.sort_by_key(|a| a.diagram);
        let last = amp2.last().map_or(0, |a| a.diagram);
        Ok(Matrix {
            legs: table.legs,
            helicities: table.helicities,
            iden: table.iden,
            wavefunctions: self.wavefunctions,
            diagrams: table.diagrams.unwrap_or(last).max(last),
            amplitudes,
            jamp: LinearMap {
                partial: self.partial,
                outputs,
            },
            color,
            amp2,
        })
    }
}

impl Names for Reader<'_, '_> {
    fn look_up(&mut self, name: &str, subscripts: &[Expr]) -> Parsed<Form> {
        let one = Complex64::new(1.0, 0.0);
        match name {
            "AMP" => {
                let number = self.subscript(subscripts)?;
                let place = usize::try_from(number - 1).ok();
                let place = place.filter(|&p| matches!(self.amplitudes.get(p), Some(Some(_))));
                let place = place.ok_or_else(|| format!("AMP({number}) is not set"))?;
                Ok(Form::Linear(
                    vec![(Source::Amplitude(place as u32), one)],
                    false,
                ))
            }
            "TMP_JAMP" => {
                let number = self.subscript(subscripts)?;
                let partial = self.partial_of.get(&number);
                let partial = partial.ok_or_else(|| format!("TMP_JAMP({number}) is not set"))?;
                Ok(Form::Linear(vec![(Source::Partial(*partial), one)], false))
            }
            "JAMP" => {
                let number = self.subscript(subscripts)?;
                let flow = usize::try_from(number - 1).ok();
                let terms = flow.and_then(|f| self.jamp.get(f)?.as_ref());
                let terms = terms.ok_or_else(|| format!("JAMP({number}) is not set"))?;
                let terms = terms
                    .iter()
                    .map(|t| (t.source, Complex64::new(t.factor.0, t.factor.1)))
                    .collect();
                Ok(Form::Linear(terms, false))
            }
            _ => {
                let expr = match subscripts {
                    [] => Expr::Name(name.to_owned()),
                    _ => Expr::Apply(name.to_owned(), subscripts.to_vec()),
                };
                let machine = &mut self.model.machine;
                let value = machine.eval(&mut self.frame, &expr)?;
                let (value, _) = value.number(&mut machine.builder)?;
                let known = machine.builder.constant(value);
                known
                    .map(Form::Number)
                    .ok_or_else(|| format!("{name} is no constant"))
            }
        }
    }
}

/// Whether a node is a DATA statement for CF or DENOM.
fn is_color_data(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Plain(Statement::Data(groups)) => {
            groups.iter().any(|group| sets(group, &["CF", "DENOM"]))
        }
        _ => false,
    }
}

/// An argument as a name: `GC_11` for `GC_11(IVEC)`.
fn shown(argument: &Expr) -> String {
    match argument {
        Expr::Name(name) | Expr::Apply(name, _) => name.clone(),
        Expr::Sum(terms) if terms.len() == 1 => format!("-{}", shown(&terms[0].1)),
        _ => "expression".into(),
    }
}
