//! A machine that runs Fortran on symbols.
//!
//! Integers and most conditions are known while importing and are simply computed; reals and
//! complex numbers become operations of a [`Program`](crate::process::arith::Program). What the
//! run leaves in a variable is then the formula of that variable. Where a condition depends on
//! a parameter both branches are run and what they changed is chosen by a `Select`.
//!
//! Variables live in *storages*, so that COMMON blocks and arguments by reference are what they
//! are in Fortran. Arrays are sparse: MG5aMC declares arrays of 16384 couplings of which
//! one is used here.

mod arithmetic;
mod declare;

use super::expression::{Expr, Parsed};
use super::intrinsic;
use super::statement::{Statement, Type};
use super::unit::{Library, Node, NodeKind, Unit};
use super::value::{Truth, Value};
use crate::error::{Error, Result};
use crate::process::arith::{Builder, Op};
use arithmetic::{arithmetic, negated, offset, power};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Statements and operands that one matrix element may take to run: no model's formulas come
/// near.
const MAX_STEPS: u64 = 20_000_000;
/// Deepest nesting of calls and includes.
const MAX_CALLS: usize = 16;

type StorageId = usize;

/// A variable or an element of an array: storage, and index within it.
pub type Location = (StorageId, i64);

/// Bounds of an array: lower, and upper where it is known.
type Bounds = Vec<(i64, Option<i64>)>;

/// What a name stands for in a unit.
#[derive(Clone, Debug, Default)]
struct Symbol {
    ty: Option<Type>,
    /// Of an array.
    dims: Option<Rc<Bounds>>,
    place: Place,
}

#[derive(Clone, Debug, Default)]
enum Place {
    #[default]
    Nowhere,
    At(Location),
    Constant(Value),
}

/// The names of a unit that is being run.
#[derive(Clone, Debug)]
pub struct Frame {
    symbols: HashMap<String, Symbol>,
    /// File whose statements are being run.
    pub file: PathBuf,
    /// Included files that are not there.
    pub missing_includes: Vec<String>,
    depth: usize,
}

/// How a list of statements ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    Return,
}

/// The machine.
#[derive(Clone)]
pub struct Machine<'l> {
    pub library: &'l Library,
    pub builder: Builder,
    storages: Vec<HashMap<i64, Value>>,
    commons: HashMap<(String, usize), StorageId>,
    /// Names that a frame does not know are looked up here.
    pub outer: HashMap<String, Location>,
    /// What was overwritten since the innermost undecided condition.
    journal: Vec<(Location, Option<Value>)>,
    journals: usize,
    steps: u64,
    /// Whether a formula that cannot be read leaves a broken value rather than stopping the
    /// import; then it is an error only where that value is needed.
    pub defer: bool,
    /// Whether DATA statements are passed over: the tables among them are read elsewhere.
    pub without_data: bool,
}

impl<'l> Machine<'l> {
    pub fn new(library: &'l Library, builder: Builder) -> Self {
        Machine {
            library,
            builder,
            storages: Vec::new(),
            commons: HashMap::new(),
            outer: HashMap::new(),
            journal: Vec::new(),
            journals: 0,
            steps: 0,
            defer: false,
            without_data: false,
        }
    }

    /// A frame without names.
    pub fn frame(&self, file: &Path) -> Frame {
        Frame {
            symbols: HashMap::new(),
            file: file.to_path_buf(),
            missing_includes: Vec::new(),
            depth: 0,
        }
    }

    /// A frame in which the declarations of a unit are known.
    pub fn declare_unit(&mut self, unit: &Unit, body: &[Node]) -> Result<Frame> {
        let mut frame = self.frame(&unit.source.path);
        self.declare(&mut frame, body)?;
        Ok(frame)
    }

    fn new_storage(&mut self) -> StorageId {
        self.storages.push(HashMap::new());
        self.storages.len() - 1
    }

    fn write(&mut self, at: Location, value: Value) {
        let old = self.storages[at.0].insert(at.1, value);
        if self.journals > 0 {
            self.journal.push((at, old));
        }
    }

    fn read(&self, at: Location) -> Option<&Value> {
        self.storages[at.0].get(&at.1)
    }

    // ----- names ---------------------------------------------------------------------------

    fn symbol<'f>(&self, frame: &'f mut Frame, name: &str) -> &'f mut Symbol {
        if !frame.symbols.contains_key(name) {
            frame.symbols.insert(name.to_owned(), Symbol::default());
        }
        // Inserted above if it was not there.
        frame.symbols.get_mut(name).expect("just inserted")
    }

    /// Declared type of a name, or the one that its first letter implies.
    pub fn type_of(&self, frame: &Frame, name: &str) -> Type {
        let declared = frame.symbols.get(name).and_then(|s| s.ty);
        declared.unwrap_or(match name.as_bytes().first() {
            Some(b'I'..=b'N') => Type::Integer,
            _ => Type::Real,
        })
    }

    /// Whether a name is declared, and whether as an array.
    pub fn declared(&self, frame: &Frame, name: &str) -> Option<(Type, bool)> {
        let symbol = frame.symbols.get(name)?;
        Some((symbol.ty?, symbol.dims.is_some()))
    }

    /// Number of elements of an array whose bounds are known.
    pub fn size_of(&self, frame: &Frame, name: &str) -> Option<u64> {
        let dims = frame.symbols.get(name)?.dims.as_ref()?;
        let mut size = 1u64;
        for (low, high) in dims.iter() {
            let extent = u64::try_from((*high)?.checked_sub(*low)?.checked_add(1)?).ok()?;
            size = size.checked_mul(extent)?;
        }
        Some(size)
    }

    /// Number of dimensions of an array.
    pub fn rank_of(&self, frame: &Frame, name: &str) -> usize {
        let symbol = frame.symbols.get(name);
        symbol
            .and_then(|s| s.dims.as_ref())
            .map_or(0, |dims| dims.len())
    }

    /// The value of a PARAMETER.
    pub fn constant(&self, frame: &Frame, name: &str) -> Option<Value> {
        match &frame.symbols.get(name)?.place {
            Place::Constant(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// The value of an integer PARAMETER.
    pub fn int_constant(&self, frame: &Frame, name: &str) -> Option<i64> {
        self.constant(frame, name)?.int().ok()
    }

    /// Binds a dummy argument to a storage of its own and gives its location.
    pub fn bind_new(&mut self, frame: &mut Frame, name: &str) -> Location {
        let at = (self.new_storage(), 0);
        self.symbol(frame, name).place = Place::At(at);
        at
    }

    /// Where a name is stored, all of a frame's names.
    pub fn locations(&self, frame: &Frame) -> HashMap<String, Location> {
        let mut found = HashMap::new();
        for (name, symbol) in &frame.symbols {
            if let Place::At(at) = symbol.place {
                found.insert(name.clone(), at);
            }
        }
        found
    }

    /// Sets an element of a storage.
    pub fn set(&mut self, at: Location, value: Value) {
        self.write(at, value);
    }

    /// The value at a location.
    pub fn get(&self, at: Location) -> Option<&Value> {
        self.read(at)
    }

    /// Sets a variable of a frame.
    pub fn set_name(&mut self, frame: &mut Frame, name: &str, value: Value) {
        let at = match self.symbol(frame, name).place {
            Place::At(at) => at,
            _ => self.bind_new(frame, name),
        };
        self.write(at, value);
    }

    fn location(&mut self, frame: &mut Frame, name: &str, subscripts: &[Expr]) -> Parsed<Location> {
        let mut indices = Vec::with_capacity(subscripts.len());
        for subscript in subscripts {
            indices.push(self.eval(frame, subscript)?.int()?);
        }
        let symbol = frame.symbols.get(name);
        let base = match symbol.map(|s| &s.place) {
            Some(Place::At(at)) => *at,
            Some(Place::Constant(_)) => return Err(format!("{name} is a PARAMETER")),
            Some(Place::Nowhere) | None => match self.outer.get(name) {
                // A declared name is the unit's own unless it is in a COMMON block.
                Some(&at) if symbol.is_none() => {
                    let index = indices.first().copied().unwrap_or(1);
                    return Ok((at.0, at.1.saturating_add(index.saturating_sub(1))));
                }
                _ => self.bind_new(frame, name),
            },
        };
        if indices.is_empty() {
            return Ok(base);
        }
        let dims = frame.symbols.get(name).and_then(|s| s.dims.clone());
        let dims =
            dims.ok_or_else(|| format!("{name} is no array and no function that is known"))?;
        let offset = offset(name, &dims, &indices)?;
        Ok((base.0, base.1.saturating_add(offset)))
    }

    // ----- expressions ---------------------------------------------------------------------

    /// The value of an expression.
    pub fn eval(&mut self, frame: &mut Frame, expr: &Expr) -> Parsed<Value> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err("the formulas take too many steps".into());
        }
        match expr {
            Expr::Int(i) => Ok(Value::Int(*i)),
            Expr::Real(x) => Ok(Value::Real(self.builder.real(*x))),
            Expr::Complex(parts) => {
                let re = self.eval(frame, &parts.0)?.real(&mut self.builder)?;
                let im = self.eval(frame, &parts.1)?.real(&mut self.builder)?;
                Ok(Value::Complex(self.builder.push(Op::Complex(re, im))))
            }
            Expr::Logical(known) => Ok(Value::Logical(Truth::Known(*known))),
            Expr::Text(_) => Ok(Value::Text),
            Expr::Name(name) => self.eval_name(frame, name),
            Expr::Apply(name, arguments) => self.eval_apply(frame, name, arguments),
            Expr::Sum(terms) => self.eval_sum(frame, terms),
            Expr::Product(factors) => self.eval_product(frame, factors),
            Expr::Power(parts) => {
                let base = self.eval(frame, &parts.0)?;
                let exponent = self.eval(frame, &parts.1)?;
                power(&base, &exponent, &mut self.builder)
            }
            Expr::Compare(test, sides) => {
                let a = self.eval(frame, &sides.0)?;
                let b = self.eval(frame, &sides.1)?;
                Truth::compare(*test, &a, &b, &mut self.builder).map(Value::Logical)
            }
            Expr::Not(inner) => {
                let truth = self.eval(frame, inner)?.truth()?;
                Ok(Value::Logical(truth.not(&mut self.builder)))
            }
            Expr::And(all) => {
                let mut truth = Truth::Known(true);
                for part in all {
                    if truth == Truth::Known(false) {
                        break;
                    }
                    let next = self.eval(frame, part)?.truth()?;
                    truth = truth.and(next, &mut self.builder);
                }
                Ok(Value::Logical(truth))
            }
            Expr::Or(all) => {
                let mut truth = Truth::Known(false);
                for part in all {
                    if truth == Truth::Known(true) {
                        break;
                    }
                    let next = self.eval(frame, part)?.truth()?;
                    truth = truth.or(next, &mut self.builder);
                }
                Ok(Value::Logical(truth))
            }
            Expr::Range(..) => Err("an array section cannot be read here".into()),
        }
    }

    fn eval_name(&mut self, frame: &mut Frame, name: &str) -> Parsed<Value> {
        if let Some(Symbol {
            place: Place::Constant(value),
            ..
        }) = frame.symbols.get(name)
        {
            return Ok(value.clone());
        }
        let at = self.location(frame, name, &[])?;
        self.value_at(frame, name, at)
    }

    fn value_at(&self, frame: &Frame, name: &str, at: Location) -> Parsed<Value> {
        match self.read(at) {
            Some(Value::Broken(why)) => Err(why.to_string()),
            Some(value) => Ok(value.clone()),
            None if frame.missing_includes.is_empty() => Err(format!("{name} has no value here")),
            None => Err(format!(
                "{name} has no value here (included files that are missing: {})",
                frame.missing_includes.join(", ")
            )),
        }
    }

    fn eval_apply(&mut self, frame: &mut Frame, name: &str, args: &[Expr]) -> Parsed<Value> {
        let is_array = frame.symbols.get(name).is_some_and(|s| s.dims.is_some());
        if is_array || (!frame.symbols.contains_key(name) && self.outer.contains_key(name)) {
            let at = self.location(frame, name, args)?;
            return self.value_at(frame, name, at);
        }
        if let Some(unit) = self.library.unit(name).cloned()
            && unit.result.is_some()
        {
            return self.call_function(frame, &unit, args);
        }
        let mut values = Vec::with_capacity(args.len());
        for argument in args {
            values.push(self.eval(frame, argument)?);
        }
        intrinsic::call(name, &values, &mut self.builder)
            .unwrap_or_else(|| Err(format!("the function {name} is not known")))
    }

    fn eval_sum(&mut self, frame: &mut Frame, terms: &[(bool, Expr)]) -> Parsed<Value> {
        let mut sum: Option<Value> = None;
        for (negative, term) in terms {
            let value = self.eval(frame, term)?;
            let b = &mut self.builder;
            sum = Some(match (sum, negative) {
                (None, false) => value,
                (None, true) => negated(&value, b)?,
                (Some(sum), false) => arithmetic(&sum, &value, b, i64::checked_add, Op::Add)?,
                (Some(sum), true) => arithmetic(&sum, &value, b, i64::checked_sub, Op::Sub)?,
            });
        }
        sum.ok_or_else(|| "an empty sum".into())
    }

    fn eval_product(&mut self, frame: &mut Frame, factors: &[(bool, Expr)]) -> Parsed<Value> {
        let mut product: Option<Value> = None;
        for (divides, factor) in factors {
            let value = self.eval(frame, factor)?;
            let b = &mut self.builder;
            product = Some(match (product, divides) {
                (None, _) => value,
                (Some(p), false) => arithmetic(&p, &value, b, i64::checked_mul, Op::Mul)?,
                (Some(p), true) => arithmetic(&p, &value, b, i64::checked_div, Op::Div)?,
            });
        }
        product.ok_or_else(|| "an empty product".into())
    }

    // ----- calls ---------------------------------------------------------------------------

    fn call_function(&mut self, frame: &mut Frame, unit: &Unit, args: &[Expr]) -> Parsed<Value> {
        let name = unit.name.clone();
        let (callee, _) = self.call(frame, unit, args)?;
        let Some((result, _)) = &unit.result else {
            return Err(format!("{name} is no function"));
        };
        let value = match callee.symbols.get(result).map(|s| &s.place) {
            Some(Place::At(at)) => self.value_at(&callee, result, *at)?,
            _ => return Err(format!("the function {name} sets no result")),
        };
        Ok(value)
    }

    /// Runs a unit with arguments by reference.
    fn call(&mut self, frame: &mut Frame, unit: &Unit, args: &[Expr]) -> Parsed<(Frame, Flow)> {
        let name = &unit.name;
        if frame.depth >= MAX_CALLS {
            return Err(format!("calls nest more than {MAX_CALLS} deep at {name}"));
        }
        if args.len() != unit.arguments.len() {
            return Err(format!(
                "{name} is called with {} arguments and takes {}",
                args.len(),
                unit.arguments.len()
            ));
        }
        let mut callee = self.frame(&unit.source.path);
        callee.depth = frame.depth + 1;
        for (dummy, argument) in unit.arguments.iter().zip(args) {
            let at = self.reference(frame, argument)?;
            self.symbol(&mut callee, dummy).place = Place::At(at);
        }
        if let Some((result, Some(ty))) = &unit.result {
            self.symbol(&mut callee, result).ty = Some(*ty);
        }
        let body = unit.body().map_err(|e| e.to_string())?;
        self.declare(&mut callee, &body)
            .map_err(|e| e.to_string())?;
        // A caller's whole array is seen from its first element on.
        let flow = self.run(&mut callee, &body).map_err(|e| e.to_string())?;
        Ok((callee, flow))
    }

    /// Where an argument is stored; what is no variable gets a place of its own.
    fn reference(&mut self, frame: &mut Frame, argument: &Expr) -> Parsed<Location> {
        match argument {
            Expr::Name(name) => {
                let constant = matches!(
                    frame.symbols.get(name).map(|s| &s.place),
                    Some(Place::Constant(_))
                );
                if !constant {
                    return self.location(frame, name, &[]);
                }
            }
            Expr::Apply(name, subscripts)
                if frame.symbols.get(name).is_some_and(|s| s.dims.is_some()) =>
            {
                return self.location(frame, name, subscripts);
            }
            _ => {}
        }
        let value = self.eval(frame, argument)?;
        let at = (self.new_storage(), 0);
        self.write(at, value);
        Ok(at)
    }

    // ----- statements ----------------------------------------------------------------------

    /// Runs statements.
    pub fn run(&mut self, frame: &mut Frame, body: &[Node]) -> Result<Flow> {
        for node in body {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(Error::Fortran {
                    file: frame.file.clone(),
                    line: node.line,
                    what: "this takes too many steps for a formula".into(),
                });
            }
            let flow = match &node.kind {
                NodeKind::Plain(statement) => self.plain(frame, statement, node.line),
                NodeKind::If(branches) => self.condition(frame, branches, node.line),
                NodeKind::Do {
                    variable,
                    from,
                    to,
                    step,
                    body,
                } => {
                    let bounds = self.bounds(frame, from, to, step.as_ref());
                    match bounds {
                        Ok(bounds) => self.counted(frame, variable, bounds, body),
                        Err(what) => self.broken(frame, node, what),
                    }
                }
                NodeKind::DoOther(_) => self.broken(
                    frame,
                    node,
                    "a loop without a counter cannot be read".into(),
                ),
            };
            if flow? == Flow::Return {
                return Ok(Flow::Return);
            }
        }
        Ok(Flow::Next)
    }

    /// An error on a line, or, where errors wait, broken values in what the statements set.
    fn broken(&mut self, frame: &mut Frame, node: &Node, what: String) -> Result<Flow> {
        let error = Error::Fortran {
            file: frame.file.clone(),
            line: node.line,
            what,
        };
        if !self.defer {
            return Err(error);
        }
        let why: Rc<str> = error.to_string().into();
        let mut targets = HashSet::new();
        targets_of(node, &mut targets);
        for target in targets {
            // Only whole variables: an element of an array whose index is not known is rare
            // enough to stop.
            if frame.symbols.get(&target).is_some_and(|s| s.dims.is_some()) {
                return Err(error);
            }
            self.set_name(frame, &target, Value::Broken(why.clone()));
        }
        Ok(Flow::Next)
    }

    fn plain(&mut self, frame: &mut Frame, statement: &Statement, line: u32) -> Result<Flow> {
        let fault = |frame: &Frame, what: String| Error::Fortran {
            file: frame.file.clone(),
            line,
            what,
        };
        match statement {
            Statement::Assign(name, subscripts, expr) => {
                self.assign(frame, name, subscripts, expr, line)?;
                Ok(Flow::Next)
            }
            Statement::Call(name, arguments) => {
                let Some(unit) = self.library.unit(name).cloned() else {
                    return Err(fault(
                        frame,
                        format!("{name} is called, and no file has a subroutine of that name"),
                    ));
                };
                self.call(frame, &unit, arguments)
                    .map_err(|what| fault(frame, what))?;
                Ok(Flow::Next)
            }
            Statement::Return => Ok(Flow::Return),
            Statement::Include(name) => {
                // Its declarations are known already.
                let Some((path, nodes)) = self.library.include(&frame.file, name)? else {
                    return Ok(Flow::Next);
                };
                let outer = std::mem::replace(&mut frame.file, path);
                frame.depth += 1;
                let flow = match frame.depth <= MAX_CALLS {
                    true => self.run(frame, &nodes),
                    false => Err(fault(frame, "included files nest too deep".into())),
                };
                frame.depth -= 1;
                frame.file = outer;
                flow
            }
            Statement::Other(text) => Err(fault(frame, format!("cannot read `{text}`"))),
            _ => Ok(Flow::Next),
        }
    }

    fn assign(
        &mut self,
        frame: &mut Frame,
        name: &str,
        subscripts: &[Expr],
        expr: &Expr,
        line: u32,
    ) -> Result<()> {
        let fault = |frame: &Frame, what: String| Error::Fortran {
            file: frame.file.clone(),
            line,
            what,
        };
        let at = self
            .location(frame, name, subscripts)
            .map_err(|what| fault(frame, what))?;
        let ty = self.type_of(frame, name);
        let value = self
            .eval(frame, expr)
            .and_then(|v| v.convert(ty, &mut self.builder));
        let value = match value {
            Ok(value) => value,
            Err(what) => {
                let error = fault(frame, what.clone());
                if !self.defer {
                    return Err(error);
                }
                // A value that was broken before keeps the reason that it broke for.
                let first = what.contains(".f:") || what.contains(".inc:");
                let why = if first { what } else { error.to_string() };
                Value::Broken(why.into())
            }
        };
        self.write(at, value);
        Ok(())
    }

    fn bounds(
        &mut self,
        frame: &mut Frame,
        from: &Expr,
        to: &Expr,
        step: Option<&Expr>,
    ) -> Parsed<(i64, i64, i64)> {
        let from = self.eval(frame, from)?.int()?;
        let to = self.eval(frame, to)?.int()?;
        let step = match step {
            None => 1,
            Some(step) => self.eval(frame, step)?.int()?,
        };
        if step == 0 {
            return Err("a loop with step 0".into());
        }
        Ok((from, to, step))
    }

    fn counted(
        &mut self,
        frame: &mut Frame,
        variable: &str,
        (from, to, step): (i64, i64, i64),
        body: &[Node],
    ) -> Result<Flow> {
        let mut i = from;
        while (step > 0 && i <= to) || (step < 0 && i >= to) {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(Error::Fortran {
                    file: frame.file.clone(),
                    line: body.first().map_or(0, |n| n.line),
                    what: "this loop takes too many steps for a formula".into(),
                });
            }
            self.set_name(frame, variable, Value::Int(i));
            if self.run(frame, body)? == Flow::Return {
                return Ok(Flow::Return);
            }
            i = i.saturating_add(step);
            if i == i64::MAX || i == i64::MIN {
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn condition(
        &mut self,
        frame: &mut Frame,
        branches: &[(Option<Expr>, Vec<Node>)],
        line: u32,
    ) -> Result<Flow> {
        let Some(((condition, body), rest)) = branches.split_first() else {
            return Ok(Flow::Next);
        };
        let truth = match condition {
            None => Ok(Truth::Known(true)),
            Some(expr) => self.eval(frame, expr).and_then(|v| v.truth()),
        };
        let truth = match truth {
            Ok(truth) => truth,
            Err(what) => {
                let node = Node {
                    line,
                    kind: NodeKind::If(branches.to_vec()),
                };
                return self.broken(frame, &node, what);
            }
        };
        match truth {
            Truth::Known(true) => self.run(frame, body),
            Truth::Known(false) => self.condition(frame, rest, line),
            Truth::Test(..) => self.undecided(frame, truth, body, rest, line),
        }
    }

    /// Runs both sides of a condition and chooses between what they leave.
    fn undecided(
        &mut self,
        frame: &mut Frame,
        truth: Truth,
        body: &[Node],
        rest: &[(Option<Expr>, Vec<Node>)],
        line: u32,
    ) -> Result<Flow> {
        let fault = |frame: &Frame, what: String| Error::Fortran {
            file: frame.file.clone(),
            line,
            what,
        };
        let (yes, yes_flow) = self.tried(|m| m.run(frame, body))?;
        let (no, no_flow) = self.tried(|m| m.condition(frame, rest, line))?;
        if yes_flow != no_flow {
            return Err(fault(
                frame,
                "RETURN within a condition that depends on a parameter cannot be read".into(),
            ));
        }
        let mut changed: Vec<Location> = yes.keys().chain(no.keys()).copied().collect();
        changed.sort_unstable();
        changed.dedup();
        for at in changed {
            let before = self.read(at).cloned();
            let side = |table: &HashMap<Location, Value>| {
                table.get(&at).cloned().or_else(|| before.clone())
            };
            let value = match (side(&yes), side(&no)) {
                (Some(yes), Some(no)) => truth
                    .choose(&yes, &no, &mut self.builder)
                    .unwrap_or_else(|why| Value::Broken(why.into())),
                _ => {
                    let what = "a value is set on one side of a condition only";
                    Value::Broken(fault(frame, what.into()).to_string().into())
                }
            };
            self.write(at, value);
        }
        Ok(yes_flow)
    }

    /// Runs something, takes its changes back, and gives what it left.
    fn tried(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<Flow>,
    ) -> Result<(HashMap<Location, Value>, Flow)> {
        let mark = self.journal.len();
        self.journals += 1;
        let flow = run(self);
        self.journals -= 1;
        let mut left = HashMap::new();
        for (at, old) in self.journal.split_off(mark).into_iter().rev() {
            // Going back, the first entry of a location has its latest value still in place.
            if let Some(now) = self.storages[at.0].get(&at.1) {
                left.entry(at).or_insert_with(|| now.clone());
            }
            match old {
                Some(old) => self.storages[at.0].insert(at.1, old),
                None => self.storages[at.0].remove(&at.1),
            };
        }
        Ok((left, flow?))
    }
}

/// Names that a statement assigns to.
pub fn targets_of(node: &Node, targets: &mut HashSet<String>) {
    match &node.kind {
        NodeKind::Plain(Statement::Assign(name, ..)) => {
            targets.insert(name.clone());
        }
        NodeKind::Plain(_) => {}
        NodeKind::If(branches) => {
            for (_, body) in branches {
                body.iter().for_each(|n| targets_of(n, targets));
            }
        }
        NodeKind::Do { variable, body, .. } => {
            targets.insert(variable.clone());
            body.iter().for_each(|n| targets_of(n, targets));
        }
        NodeKind::DoOther(body) => body.iter().for_each(|n| targets_of(n, targets)),
    }
}
