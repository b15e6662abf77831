//! Compiles functions: statements with resolved names and checked types.

use super::frame::Frame;
use super::number::Intrinsic;
use super::run::FunctionCall;
use super::{
    Action, Address, Argument, Base, Expr, FortranNumber, Kind, Kinematic, Place, Region, Step,
    ThreadMemory, Unit, UserCode, UserCodeContext, fault,
};
use crate::expression::{FortranExpr, Parsed};
use crate::program_unit::{BlockNode, Library, NodeKind, ProgramUnit};
use crate::statement::Statement;
use mebridge_support::error::{Error, Result};
use std::collections::HashMap;
use std::rc::Rc;

/// Deepest nesting of calls.
const MAX_CALLS: usize = 16;
/// Most elements of an assignment to an array.
const MAX_ELEMENTS: usize = 4096;

/// The state of a compilation.
pub(super) struct Compiler<'l> {
    pub library: &'l Library,
    pub surroundings: &'l UserCodeContext,
    /// COMMON blocks by block and place in it.
    pub commons: HashMap<(String, usize), (Kind, u32, Address)>,
    units: Vec<Option<Unit>>,
    /// Number, type of the result and types of the arguments of each unit.
    known: HashMap<String, Signature>,
    /// Units that are being compiled.
    open: Vec<String>,
    code: UserCode,
}

/// What a call has to know of a unit.
#[derive(Clone, Debug)]
struct Signature {
    number: usize,
    /// `None` for a subroutine.
    result: Option<Kind>,
    /// Types of the arguments, and whether each is an array.
    arguments: Vec<(Kind, bool)>,
}

impl<'l> Compiler<'l> {
    pub(super) fn new(library: &'l Library, surroundings: &'l UserCodeContext) -> Self {
        // Momenta, and the rapidity of the partons' centre of mass.
        let given = vec![FortranNumber::Real(0.0); 4 * surroundings.legs + 1];
        let code = UserCode {
            units: Vec::new(),
            cut: None,
            added: None,
            scale: None,
            factorisation: None,
            legs: surroundings.legs,
            initial: [given, Vec::new(), Vec::new()],
            names: [vec![(0, "P".to_owned())], Vec::new()],
            unsettled: Vec::new(),
            files: Vec::new(),
            dummies: 0,
        };
        let mut compiler = Compiler {
            library,
            surroundings,
            commons: HashMap::new(),
            units: Vec::new(),
            known: HashMap::new(),
            open: Vec::new(),
            code,
        };
        let rapidity = 4 * surroundings.legs as u32;
        compiler.code.names[0].push((rapidity, "CM_RAP".to_owned()));
        compiler
    }

    /// Compiles the functions that MadEvent calls.
    pub(super) fn finish(
        mut self,
        [cut, added, scale, factorisation]: [Option<&str>; 4],
    ) -> Result<UserCode> {
        if let Some(name) = cut {
            self.code.cut = Some(self.entry(name, Kind::Logical)?);
        }
        if let Some(name) = added {
            self.code.added = Some(self.entry(name, Kind::Logical)?);
        }
        if let Some(name) = scale {
            self.code.scale = Some(self.entry(name, Kind::Real)?);
        }
        if let Some(name) = factorisation {
            self.code.factorisation = Some(self.entry(name, Kind::Real)?);
        }
        self.code.units = self.units.into_iter().flatten().collect();
        Ok(self.code)
    }

    fn entry(&mut self, name: &str, kind: Kind) -> Result<usize> {
        let Some(unit) = self.library.unit(name)?.cloned() else {
            return Err(Error::run(
                format!("there is no function {name}"),
                "write it into SubProcesses/dummy_fct.f, or into a file of custom_fcts",
            ));
        };
        let signature = self.unit(name, &unit)?;
        match (signature.result, &signature.arguments[..]) {
            (Some(own), [(Kind::Real, true)]) if own == kind => Ok(signature.number),
            _ => Err(unit.error(format!(
                "{name} must be a {} FUNCTION of P(0:3,NEXTERNAL)",
                match kind {
                    Kind::Logical => "LOGICAL",
                    _ => "DOUBLE PRECISION",
                }
            ))),
        }
    }

    /// Compiles a unit, unless that is done.
    fn unit(&mut self, name: &str, unit: &Rc<ProgramUnit>) -> Result<Signature> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        if self.open.len() > MAX_CALLS || self.open.iter().any(|open| open == name) {
            return Err(unit.error(format!("{name} calls itself, or calls nest too deep")));
        }
        if Intrinsic::find(name).is_some() || Kinematic::find(name).is_some() {
            return Err(unit.error(format!(
                "{name} has the name of a function that exists: give it another one"
            )));
        }
        self.open.push(name.to_owned());
        let first_dummy = self.code.dummies;
        self.code.dummies += unit.arguments.len();
        let number = self.units.len();
        self.units.push(None);
        let nodes = unit.body()?;
        let mut frame = Frame::new(unit, first_dummy);
        self.declare(&mut frame, &nodes)?;
        let at_head = |what: String| unit.error(what);
        let mut arguments = Vec::new();
        for name in &unit.arguments {
            let kind = frame.kind_of(name).map_err(at_head)?;
            arguments.push((kind, frame.is_array(name)));
        }
        let first = self.code.initial[Region::Work as usize].len() as u32;
        let result = match &unit.result {
            None => None,
            Some((result, _)) => {
                let kind = frame.kind_of(result).map_err(at_head)?;
                match self.base(&mut frame, result).map_err(at_head)? {
                    Base::At(at, 1) if !frame.is_array(result) => Some((kind, at)),
                    _ => return Err(unit.error(format!("the result of {name} is no number"))),
                }
            }
        };
        let body = self.steps(&mut frame, &nodes)?;
        self.data(&mut frame)?;
        // Variables of units that it calls lie among its own, which makes no difference: they are not running when it
        // is called.
        let end = self.code.initial[Region::Work as usize].len() as u32;
        self.units[number] = Some(Unit {
            name: name.to_owned(),
            dummies: [first_dummy, unit.arguments.len()],
            locals: [first, end],
            result: result.map(|(_, at)| at),
            body,
        });
        self.open.pop();
        let signature = Signature {
            number,
            result: result.map(|(kind, _)| kind),
            arguments,
        };
        self.known.insert(name.to_owned(), signature.clone());
        Ok(signature)
    }

    /// Makes storage.
    pub(super) fn allocate(
        &mut self,
        region: Region,
        name: &str,
        values: Vec<FortranNumber>,
    ) -> Address {
        let memory = &mut self.code.initial[region as usize];
        let index = memory.len() as u32;
        memory.extend(values);
        match region {
            Region::Given => self.code.names[0].push((index, name.to_owned())),
            Region::Kept => self.code.names[1].push((index, name.to_owned())),
            Region::Work => {}
        }
        Address { region, index }
    }

    /// Sets what an element starts with.
    pub(super) fn set(&mut self, at: Address, value: FortranNumber) {
        self.code.initial[at.region as usize][at.index as usize] = value;
    }

    // ----- statements ----------------------------------------------------------------------

    fn steps(&mut self, frame: &mut Frame, nodes: &[BlockNode]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for node in nodes {
            if let NodeKind::Plain(Statement::Include(name)) = &node.kind {
                // Statements of an included file are executed where it is included.
                steps.append(&mut self.included(frame, name, node.line, Self::steps)?);
                continue;
            }
            let Some(action) = self.action(frame, node)? else {
                continue;
            };
            let file = frame.file.display().to_string();
            let known = self.code.files.iter().position(|known| *known == file);
            let place = known.unwrap_or_else(|| {
                self.code.files.push(file);
                self.code.files.len() - 1
            });
            let too_many = |_| fault(&frame.file, node.line, "too many files are included");
            steps.push(Step {
                file: u16::try_from(place).map_err(too_many)?,
                line: node.line,
                label: node.label,
                action,
            });
        }
        Ok(steps)
    }

    /// Compiles a statement; `None` if it does nothing.
    fn action(&mut self, frame: &mut Frame, node: &BlockNode) -> Result<Option<Action>> {
        let file = frame.file.clone();
        let at = |what: String| fault(&file, node.line, what);
        Ok(Some(match &node.kind {
            NodeKind::Plain(statement) => match self.plain(frame, statement).map_err(at)? {
                None if node.label == 0 => return Ok(None),
                None => Action::Nothing,
                Some(action) => action,
            },
            NodeKind::If(branches) => {
                let mut found = Vec::new();
                for (condition, body) in branches {
                    let condition = match condition {
                        None => None,
                        Some(condition) => {
                            Some(self.of_kind(frame, condition, Kind::Logical).map_err(at)?)
                        }
                    };
                    found.push((condition, self.steps(frame, body)?));
                }
                Action::If(found)
            }
            NodeKind::Do {
                variable,
                from,
                to,
                step,
                body,
            } => {
                let mut bound = |expr| self.of_kind(frame, expr, Kind::Integer).map_err(at);
                let (from, to) = (bound(from)?, bound(to)?);
                let step = step.as_ref().map(bound).transpose()?;
                let variable = self.place(frame, variable, &[]).map_err(at)?;
                if variable.kind != Kind::Integer {
                    return Err(at(format!(
                        "{} counts a loop, and is no INTEGER",
                        variable.name
                    )));
                }
                Action::Do {
                    variable,
                    from,
                    to,
                    step,
                    body: self.steps(frame, body)?,
                }
            }
            NodeKind::DoWhile(condition, body) => {
                let condition = self.of_kind(frame, condition, Kind::Logical).map_err(at)?;
                Action::While(condition, self.steps(frame, body)?)
            }
            NodeKind::DoOther(_) => {
                let what = "a loop without a counter, or one that ends at a label, is not run here";
                return Err(at(what.to_owned()));
            }
        }))
    }

    fn plain(&mut self, frame: &mut Frame, statement: &Statement) -> Parsed<Option<Action>> {
        Ok(Some(match statement {
            Statement::Assign(name, subscripts, value) => {
                Action::Assign(self.assignment(frame, name, subscripts, value)?)
            }
            Statement::Call(name, arguments) => {
                let (signature, arguments) = self.call(frame, name, arguments)?;
                match signature.result {
                    None => Action::Call(signature.number, arguments),
                    Some(_) => return Err(format!("{name} is a FUNCTION, and is called")),
                }
            }
            Statement::Return => Action::Return,
            Statement::Exit => Action::Exit,
            Statement::Cycle => Action::Cycle,
            Statement::Goto(label) => Action::Goto(*label),
            Statement::Stop => Action::Stop,
            Statement::Other(what) => return Err(format!("{what}, which is not run here")),
            Statement::InternalWrite(_) => {
                return Err("a WRITE into a variable is not run here".into());
            }
            // The others declare something, or are output.
            _ => return Ok(None),
        }))
    }

    /// Compiles an assignment, element by element if it is to an array.
    fn assignment(
        &mut self,
        frame: &mut Frame,
        name: &str,
        subscripts: &[FortranExpr],
        value: &FortranExpr,
    ) -> Parsed<Vec<(Place, Expr)>> {
        let target = match subscripts.is_empty() {
            true => FortranExpr::Name(name.to_owned()),
            false => FortranExpr::Apply(name.to_owned(), subscripts.to_vec()),
        };
        let Some(targets) = self.elements(frame, &target)? else {
            let place = self.place(frame, name, subscripts)?;
            let value = self.converted(frame, value, place.kind)?;
            return Ok(vec![(place, value)]);
        };
        let values = match self.elements(frame, value)? {
            Some(values) if values.len() == targets.len() => values,
            None => vec![value.clone(); targets.len()],
            Some(values) => {
                let (one, other) = (targets.len(), values.len());
                return Err(format!(
                    "{one} elements of {name} are set to {other} values"
                ));
            }
        };
        let mut found = Vec::new();
        for (target, value) in targets.iter().zip(&values) {
            let FortranExpr::Apply(name, subscripts) = target else {
                return Err(format!("elements of {name}"));
            };
            let place = self.place(frame, name, subscripts)?;
            let value = self.converted(frame, value, place.kind)?;
            found.push((place, value));
        }
        Ok(found)
    }

    /// Compiles a value that an assignment converts to a type.
    fn converted(&mut self, frame: &mut Frame, value: &FortranExpr, kind: Kind) -> Parsed<Expr> {
        let (value, own) = self.expr(frame, value)?;
        match (own == Kind::Logical) == (kind == Kind::Logical) {
            true => Ok(value),
            false => Err("a LOGICAL and a number".into()),
        }
    }

    // ----- arrays --------------------------------------------------------------------------

    /// Returns the elements of an expression that is an array, in their order, or `None` if it is none.
    fn elements(
        &mut self,
        frame: &mut Frame,
        expr: &FortranExpr,
    ) -> Parsed<Option<Vec<FortranExpr>>> {
        let pairs = |parts: &(FortranExpr, FortranExpr)| vec![parts.0.clone(), parts.1.clone()];
        match expr {
            FortranExpr::Name(name) if frame.is_array(name) => {
                let all = vec![FortranExpr::Range(None, None); frame.symbols[name].dims.len()];
                self.section(frame, name, &all).map(Some)
            }
            FortranExpr::Apply(name, subscripts) if frame.is_array(name) => {
                let ranges = subscripts.iter();
                match ranges
                    .clone()
                    .any(|one| matches!(one, FortranExpr::Range(..)))
                {
                    true => self.section(frame, name, subscripts).map(Some),
                    false => Ok(None),
                }
            }
            FortranExpr::Apply(name, arguments) if Intrinsic::find(name).is_some() => {
                let rebuilt = |parts| FortranExpr::Apply(name.clone(), parts);
                self.each(frame, arguments.clone(), rebuilt)
            }
            FortranExpr::Sum(terms) | FortranExpr::Product(terms) => {
                let signs: Vec<bool> = terms.iter().map(|(sign, _)| *sign).collect();
                let is_sum = matches!(expr, FortranExpr::Sum(_));
                let parts = terms.iter().map(|(_, term)| term.clone()).collect();
                self.each(frame, parts, |parts| {
                    let parts = signs.iter().copied().zip(parts).collect();
                    match is_sum {
                        true => FortranExpr::Sum(parts),
                        false => FortranExpr::Product(parts),
                    }
                })
            }
            FortranExpr::Power(parts) => self.each(frame, pairs(parts), |mut parts| {
                let exponent = parts.pop().unwrap_or(FortranExpr::Int(1));
                let base = parts.pop().unwrap_or(FortranExpr::Int(1));
                FortranExpr::Power(Box::new((base, exponent)))
            }),
            _ => Ok(None),
        }
    }

    /// Returns an expression for each element of its parts; `None` if none of them is an array.
    fn each(
        &mut self,
        frame: &mut Frame,
        parts: Vec<FortranExpr>,
        rebuilt: impl Fn(Vec<FortranExpr>) -> FortranExpr,
    ) -> Parsed<Option<Vec<FortranExpr>>> {
        let mut arrays = Vec::new();
        for part in &parts {
            arrays.push(self.elements(frame, part)?);
        }
        let mut counts = arrays.iter().flatten().map(Vec::len);
        let Some(count) = counts.next() else {
            return Ok(None);
        };
        if counts.any(|other| other != count) {
            return Err("arrays of different sizes in one expression".into());
        }
        let one = |element: usize| {
            let of = parts.iter().zip(&arrays).map(|(part, array)| match array {
                Some(array) => array[element].clone(),
                None => part.clone(),
            });
            rebuilt(of.collect())
        };
        Ok(Some((0..count).map(one).collect()))
    }

    /// Returns the elements of a section of an array.
    fn section(
        &mut self,
        frame: &mut Frame,
        name: &str,
        subscripts: &[FortranExpr],
    ) -> Parsed<Vec<FortranExpr>> {
        let dims = frame.symbols.get(name).map(|symbol| symbol.dims.clone());
        let dims = dims.unwrap_or_default();
        if dims.len() != subscripts.len() {
            return Err(format!("{name} has {} dimensions", dims.len()));
        }
        let mut found = vec![Vec::new()];
        for (subscript, (first, last)) in subscripts.iter().zip(&dims) {
            let values: Vec<FortranExpr> = match subscript {
                FortranExpr::Range(low, high) => {
                    let unknown = || format!("the last bound of {name} is not known");
                    let low = low.as_deref().unwrap_or(first).clone();
                    let high = high.as_deref().or(last.as_ref()).ok_or_else(unknown)?;
                    let low = self.constant(frame, &low)?.integer()?;
                    let high = self.constant(frame, &high.clone())?.integer()?;
                    (low..=high)
                        .map(|index| FortranExpr::Int(i64::from(index)))
                        .collect()
                }
                other => vec![other.clone()],
            };
            // The first subscript varies fastest.
            let one = |value: &FortranExpr| {
                let value = value.clone();
                let longer = found.iter().map(move |start: &Vec<FortranExpr>| {
                    let mut all = start.clone();
                    all.push(value.clone());
                    all
                });
                longer.collect::<Vec<_>>()
            };
            found = values.iter().flat_map(one).collect();
            if found.len() > MAX_ELEMENTS {
                return Err(format!(
                    "more than {MAX_ELEMENTS} elements of {name} at once"
                ));
            }
        }
        let element = |subscripts| FortranExpr::Apply(name.to_owned(), subscripts);
        Ok(found.into_iter().map(element).collect())
    }

    // ----- expressions ---------------------------------------------------------------------

    /// Evaluates an expression of constants.
    pub(super) fn constant(
        &mut self,
        frame: &mut Frame,
        expr: &FortranExpr,
    ) -> Parsed<FortranNumber> {
        match self.expr(frame, expr)?.0 {
            Expr::Constant(value) => Ok(value),
            _ => Err("an expression of variables where a constant is needed".into()),
        }
    }

    fn of_kind(&mut self, frame: &mut Frame, expr: &FortranExpr, kind: Kind) -> Parsed<Expr> {
        match self.expr(frame, expr)? {
            (expr, own) if own == kind => Ok(expr),
            (_, own) => Err(format!("{own} where {kind} is needed")),
        }
    }

    /// Compiles an expression; returns its type, too.
    fn expr(&mut self, frame: &mut Frame, expr: &FortranExpr) -> Parsed<(Expr, Kind)> {
        let (expr, kind) = self.unfolded(frame, expr)?;
        let constant = |one: &Expr| matches!(one, Expr::Constant(_));
        let is_constant = match &expr {
            Expr::Sum(parts) | Expr::Product(parts) => parts.iter().all(|(_, one)| constant(one)),
            Expr::Power(parts) | Expr::Compare(_, parts) => {
                constant(&parts.0) && constant(&parts.1)
            }
            Expr::Not(inner) => constant(inner),
            Expr::And(parts) | Expr::Or(parts) | Expr::Intrinsic(_, parts) => {
                parts.iter().all(constant)
            }
            _ => false,
        };
        if !is_constant {
            return Ok((expr, kind));
        }
        let mut memory = ThreadMemory::default();
        let value = FunctionCall::new(&self.code, &mut memory, &[], 0.0).value(&expr)?;
        Ok((Expr::Constant(value), kind))
    }

    fn unfolded(&mut self, frame: &mut Frame, expr: &FortranExpr) -> Parsed<(Expr, Kind)> {
        let constant = |value: FortranNumber, kind| Ok((Expr::Constant(value), kind));
        match expr {
            FortranExpr::Int(i) => {
                let too_large = |_| format!("the INTEGER {i} is too large");
                let value = i32::try_from(*i).map_err(too_large)?;
                constant(FortranNumber::Integer(value), Kind::Integer)
            }
            FortranExpr::Real(x) => constant(FortranNumber::Real(*x), Kind::Real),
            FortranExpr::Single(x) => constant(FortranNumber::Single(*x), Kind::Single),
            FortranExpr::Logical(truth) => constant(FortranNumber::Logical(*truth), Kind::Logical),
            FortranExpr::Name(name) => self.load(frame, name, &[]),
            FortranExpr::Apply(name, arguments) => match frame.is_array(name) {
                true => self.load(frame, name, arguments),
                false => self.function(frame, name, arguments),
            },
            FortranExpr::Sum(terms) | FortranExpr::Product(terms) => {
                let (mut parts, mut kind) = (Vec::new(), Kind::Integer);
                for (sign, term) in terms {
                    let (term, own) = self.number(frame, term)?;
                    kind = kind.max(own);
                    parts.push((*sign, term));
                }
                let is_sum = matches!(expr, FortranExpr::Sum(_));
                let found = if is_sum {
                    Expr::Sum(parts)
                } else {
                    Expr::Product(parts)
                };
                Ok((found, kind))
            }
            FortranExpr::Power(parts) => {
                let (base, kind) = self.number(frame, &parts.0)?;
                let (exponent, of) = self.number(frame, &parts.1)?;
                Ok((Expr::Power(Box::new((base, exponent))), kind.max(of)))
            }
            FortranExpr::Compare(test, sides) => {
                let (one, _) = self.number(frame, &sides.0)?;
                let (other, _) = self.number(frame, &sides.1)?;
                let found = Expr::Compare(*test, Box::new((one, other)));
                Ok((found, Kind::Logical))
            }
            FortranExpr::Not(inner) => {
                let inner = self.of_kind(frame, inner, Kind::Logical)?;
                Ok((Expr::Not(Box::new(inner)), Kind::Logical))
            }
            FortranExpr::And(parts) | FortranExpr::Or(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    found.push(self.of_kind(frame, part, Kind::Logical)?);
                }
                let is_and = matches!(expr, FortranExpr::And(_));
                let found = if is_and {
                    Expr::And(found)
                } else {
                    Expr::Or(found)
                };
                Ok((found, Kind::Logical))
            }
            FortranExpr::Complex(_) => Err("a COMPLEX number, which is not run here".into()),
            FortranExpr::Text(_) => Err("a text, which is not run here".into()),
            FortranExpr::Component(what) => Err(format!("{what}, which is not run here")),
            FortranExpr::Kind(_) => Err("KIND= is not run here".into()),
            FortranExpr::Range(..) => Err("a section of an array is not run here".into()),
        }
    }

    fn number(&mut self, frame: &mut Frame, expr: &FortranExpr) -> Parsed<(Expr, Kind)> {
        match self.expr(frame, expr)? {
            (_, Kind::Logical) => Err("a LOGICAL where a number is needed".into()),
            found => Ok(found),
        }
    }

    fn load(
        &mut self,
        frame: &mut Frame,
        name: &str,
        subscripts: &[FortranExpr],
    ) -> Parsed<(Expr, Kind)> {
        if let Some(value) = frame.symbols.get(name).and_then(|symbol| symbol.constant) {
            return Ok((Expr::Constant(value), value.kind()?));
        }
        let place = self.place(frame, name, subscripts)?;
        let kind = place.kind;
        Ok((Expr::Load(Box::new(place)), kind))
    }

    /// Compiles a variable or an element of an array.
    fn place(
        &mut self,
        frame: &mut Frame,
        name: &str,
        subscripts: &[FortranExpr],
    ) -> Parsed<Place> {
        let dims = frame
            .symbols
            .get(name)
            .map_or(0, |symbol| symbol.dims.len());
        if subscripts.len() != dims {
            return Err(match dims {
                0 => format!("{name} is no array and no function that is known here"),
                _ => format!(
                    "{name} has {dims} dimensions, and is used with {}",
                    subscripts.len()
                ),
            });
        }
        let constant = frame.symbols.get(name).and_then(|symbol| symbol.constant);
        if constant.is_some() {
            return Err(format!("{name} is a PARAMETER"));
        }
        let mut found = self.whole(frame, name)?;
        for subscript in subscripts {
            let subscript = self.of_kind(frame, subscript, Kind::Integer)?;
            found.subscripts.push(subscript);
        }
        Ok(found)
    }

    /// Compiles a variable or an array as a whole.
    fn whole(&mut self, frame: &mut Frame, name: &str) -> Parsed<Place> {
        let kind = frame.kind_of(name)?;
        let base = self.base(frame, name)?;
        let dims = frame.symbols.get(name).map(|symbol| symbol.dims.clone());
        let mut bounds = Vec::new();
        for (low, high) in dims.unwrap_or_default() {
            let low = self.of_kind(frame, &low, Kind::Integer)?;
            let high = match high {
                None => None,
                Some(high) => Some(self.of_kind(frame, &high, Kind::Integer)?),
            };
            bounds.push((low, high));
        }
        Ok(Place {
            name: name.to_owned(),
            base,
            kind,
            dims: bounds,
            subscripts: Vec::new(),
        })
    }

    /// Compiles the call of a function: one of the user, of `kin_functions.f` or an intrinsic one.
    fn function(
        &mut self,
        frame: &mut Frame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Parsed<(Expr, Kind)> {
        let symbol = frame.symbols.get(name);
        if symbol.is_some_and(|symbol| symbol.dummy.is_some()) {
            return Err(format!(
                "the function {name} is an argument, which is not run here"
            ));
        }
        let declared = symbol.and_then(|symbol| symbol.ty).is_some();
        let is_own = self.library.names().any(|own| own == name);
        if !is_own && Kinematic::find(name).is_none() {
            return match name {
                "SUM" | "MAXVAL" | "MINVAL" | "DOT_PRODUCT" => self.reduced(frame, name, arguments),
                _ => self.intrinsic(frame, name, arguments),
            };
        }
        let expected = frame.kind_of(name)?;
        let what = |kind: Kind| match declared {
            true => format!("{name} is declared as {expected}, and gives {kind}"),
            false => format!("{name}, which gives {kind}, is not declared"),
        };
        if is_own {
            let (signature, arguments) = self.call(frame, name, arguments)?;
            return match signature.result {
                Some(kind) if kind == expected => {
                    Ok((Expr::Call(signature.number, arguments), kind))
                }
                Some(kind) => Err(what(kind)),
                None => Err(format!("{name} is a SUBROUTINE")),
            };
        }
        let known = Kinematic::find(name);
        let function = known.ok_or_else(|| format!("{name} is not known here"))?;
        if expected != Kinematic::KIND {
            return Err(what(Kinematic::KIND));
        }
        if arguments.len() != function.arguments() {
            return Err(format!("{name} takes {} arguments", function.arguments()));
        }
        let mut found = Vec::new();
        for (place, argument) in arguments.iter().enumerate() {
            let kinds = (Kind::Real, place < function.momenta());
            found.push(self.argument(frame, name, argument, kinds)?);
        }
        Ok((Expr::Kinematic(function, found), Kinematic::KIND))
    }

    /// Compiles an intrinsic function.
    fn intrinsic(
        &mut self,
        frame: &mut Frame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Parsed<(Expr, Kind)> {
        // A second argument of conversions is the kind.
        let (name, arguments) = match (name, arguments) {
            ("REAL", [x, FortranExpr::Kind(8) | FortranExpr::Int(8)]) => {
                ("DBLE", std::slice::from_ref(x))
            }
            _ => (name, arguments),
        };
        let unknown = || format!("the function {name} is not known here");
        let function = Intrinsic::find(name).ok_or_else(unknown)?;
        let (mut found, mut kinds) = (Vec::new(), Vec::new());
        for argument in arguments {
            let (argument, kind) = self.expr(frame, argument)?;
            found.push(argument);
            kinds.push(kind);
        }
        let kind = function.kind(name, &kinds)?;
        Ok((Expr::Intrinsic(function, found), kind))
    }

    /// Compiles a function of all elements of arrays.
    fn reduced(
        &mut self,
        frame: &mut Frame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Parsed<(Expr, Kind)> {
        let mut arrays = Vec::new();
        for argument in arguments {
            let array = self.elements(frame, argument)?;
            arrays.push(array.ok_or_else(|| format!("{name} of something that is no array"))?);
        }
        let expr = match (name, &mut arrays[..]) {
            ("SUM", [array]) => {
                let terms = array.drain(..).map(|term| (false, term));
                FortranExpr::Sum(terms.collect())
            }
            ("DOT_PRODUCT", [one, other]) if one.len() == other.len() => {
                let pair = |(one, other)| FortranExpr::Product(vec![(false, one), (false, other)]);
                let terms = one.drain(..).zip(other.drain(..)).map(pair);
                FortranExpr::Sum(terms.map(|term| (false, term)).collect())
            }
            ("MAXVAL" | "MINVAL", [array]) if array.len() > 1 => {
                FortranExpr::Apply(name[..3].to_owned(), std::mem::take(array))
            }
            _ => return Err(format!("{name} of these arguments is not run here")),
        };
        self.expr(frame, &expr)
    }

    /// Compiles the arguments of a unit.
    fn call(
        &mut self,
        frame: &mut Frame,
        name: &str,
        arguments: &[FortranExpr],
    ) -> Parsed<(Signature, Vec<Argument>)> {
        let unit = self.library.unit(name).map_err(|error| error.to_string())?;
        let Some(unit) = unit.cloned() else {
            return Err(format!("{name} is called, which is not run here"));
        };
        // Its own variables come after those of the caller so far.
        let signature = self.unit(name, &unit).map_err(|error| error.to_string())?;
        let (expected, count) = (signature.arguments.len(), arguments.len());
        if expected != count {
            return Err(format!(
                "{name} has {expected} arguments, and is called with {count}"
            ));
        }
        let mut found = Vec::new();
        for (argument, kinds) in arguments.iter().zip(&signature.arguments) {
            found.push(self.argument(frame, name, argument, *kinds)?);
        }
        Ok((signature, found))
    }

    /// Compiles an argument for a dummy argument of this type, which may be an array.
    fn argument(
        &mut self,
        frame: &mut Frame,
        name: &str,
        argument: &FortranExpr,
        (kind, is_array): (Kind, bool),
    ) -> Parsed<Argument> {
        let wrong = |own: Kind| format!("{name} takes {kind}, and gets {own}");
        let place = match argument {
            FortranExpr::Name(variable)
                if frame
                    .symbols
                    .get(variable)
                    .is_none_or(|symbol| symbol.constant.is_none()) =>
            {
                Some(self.whole(frame, variable)?)
            }
            FortranExpr::Apply(array, subscripts) if frame.is_array(array) => {
                let first = self.first_of(frame, array, subscripts)?;
                Some(self.place(frame, array, &first)?)
            }
            _ => None,
        };
        if let Some(place) = place {
            return match place.kind == kind {
                true if is_array || place.dims.len() == place.subscripts.len() => {
                    Ok(Argument::Place(place))
                }
                true => Err(format!(
                    "{name} takes a number, and gets the array {}",
                    place.name
                )),
                false => Err(wrong(place.kind)),
            };
        }
        let (value, own) = self.expr(frame, argument)?;
        if own != kind {
            return Err(wrong(own));
        }
        if is_array {
            return Err(format!("{name} takes an array, and gets a number"));
        }
        let at = self.allocate(Region::Work, "", vec![FortranNumber::Unset]);
        Ok(Argument::Value(value, at))
    }

    /// Returns the subscripts of the first element of a section whose elements follow each other.
    fn first_of(
        &mut self,
        frame: &mut Frame,
        array: &str,
        subscripts: &[FortranExpr],
    ) -> Parsed<Vec<FortranExpr>> {
        let dims = frame.symbols.get(array).map(|symbol| symbol.dims.clone());
        let mut found = Vec::new();
        // Whether the section goes on with the next dimension.
        let mut open = true;
        for (subscript, (low, _)) in subscripts.iter().zip(dims.unwrap_or_default()) {
            let FortranExpr::Range(from, to) = subscript else {
                open = false;
                found.push(subscript.clone());
                continue;
            };
            if !open {
                return Err(format!("elements of {array} that do not follow each other"));
            }
            open = from.is_none() && to.is_none();
            found.push(from.as_deref().unwrap_or(&low).clone());
        }
        Ok(found)
    }
}
