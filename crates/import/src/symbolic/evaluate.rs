//! Expressions and calls.

use super::*;
use mebridge_process::arith::Function;

impl<'l> Interpreter<'l> {
    // ----- expressions ---------------------------------------------------------------------

    /// Evaluates an expression.
    pub fn eval(&mut self, frame: &mut UnitFrame, expr: &FortranExpr) -> Parsed<FortranValue> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err("the formulas take too many steps".into());
        }
        match expr {
            FortranExpr::Int(i) => Ok(FortranValue::Int(*i)),
            FortranExpr::Real(x) => Ok(FortranValue::Real(self.builder.real(*x))),
            FortranExpr::Single(x) => {
                let value = self.builder.real(f64::from(*x));
                Ok(FortranValue::Real(value))
            }
            FortranExpr::Complex(parts) => {
                let re = self.eval(frame, &parts.0)?.real(&mut self.builder)?;
                let im = self.eval(frame, &parts.1)?.real(&mut self.builder)?;
                Ok(FortranValue::Complex(
                    self.builder.push(Op::Complex(re, im)),
                ))
            }
            FortranExpr::Logical(known) => Ok(FortranValue::Logical(Truth::Known(*known))),
            FortranExpr::Text(_) => Ok(FortranValue::Text),
            FortranExpr::Name(name) => self.eval_name(frame, name),
            FortranExpr::Apply(name, arguments) => self.eval_apply(frame, name, arguments),
            FortranExpr::Sum(terms) => self.eval_sum(frame, terms),
            FortranExpr::Product(factors) => self.eval_product(frame, factors),
            FortranExpr::Power(parts) => {
                let base = self.eval(frame, &parts.0)?;
                let exponent = self.eval(frame, &parts.1)?;
                if self.plain_powers && frame.depth == 0 {
                    self.is_plain(&base, &exponent)?;
                }
                power(&base, &exponent, &mut self.builder)
            }
            FortranExpr::Compare(test, sides) => {
                let a = self.eval(frame, &sides.0)?;
                let b = self.eval(frame, &sides.1)?;
                Truth::compare(*test, &a, &b, &mut self.builder).map(FortranValue::Logical)
            }
            FortranExpr::Not(inner) => {
                let truth = self.eval(frame, inner)?.truth()?;
                Ok(FortranValue::Logical(truth.not(&mut self.builder)))
            }
            FortranExpr::And(all) => {
                let mut truth = Truth::Known(true);
                for part in all {
                    if truth == Truth::Known(false) {
                        break;
                    }
                    let next = self.eval(frame, part)?.truth()?;
                    truth = truth.and(next, &mut self.builder);
                }
                Ok(FortranValue::Logical(truth))
            }
            FortranExpr::Or(all) => {
                let mut truth = Truth::Known(false);
                for part in all {
                    if truth == Truth::Known(true) {
                        break;
                    }
                    let next = self.eval(frame, part)?.truth()?;
                    truth = truth.or(next, &mut self.builder);
                }
                Ok(FortranValue::Logical(truth))
            }
            FortranExpr::Component(what) => Err(format!("{what} cannot be read")),
            FortranExpr::Kind(_) => Err("a kind cannot be read here".into()),
            FortranExpr::Range(..) => Err("an array section cannot be read here".into()),
        }
    }

    /// Checks that a power has a unique value for any signs of zeros, and a finite one.
    fn is_plain(&self, base: &FortranValue, exponent: &FortranValue) -> Parsed<()> {
        let fixed = |value: &FortranValue| match value {
            FortranValue::Real(v) | FortranValue::Complex(v) => self.builder.constant(*v),
            _ => None,
        };
        if matches!(base, FortranValue::Int(_)) || fixed(base).is_some() {
            return Ok(());
        }
        let exponent = match (exponent, fixed(exponent)) {
            (FortranValue::Int(n), _) => *n as f64,
            (_, Some(c)) if c.im == 0.0 => c.re,
            _ => return Err("a power whose exponent is no number".into()),
        };
        if exponent < 0.0 {
            return Err("a negative power, which has no value at zero".into());
        }
        match base {
            FortranValue::Complex(_) if exponent.fract() != 0.0 => {
                Err("a power of a complex number that is not whole".into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn eval_name(&mut self, frame: &mut UnitFrame, name: &str) -> Parsed<FortranValue> {
        if let Some(Symbol {
            place: VariableStorage::Constant(value),
            ..
        }) = frame.symbols.get(name)
        {
            return Ok(value.clone());
        }
        let at = self.location(frame, name, &[])?;
        self.value_at(frame, name, at)
    }

    fn value_at(&mut self, frame: &UnitFrame, name: &str, at: Location) -> Parsed<FortranValue> {
        let ty = self.type_of(frame, name);
        match self.read(at) {
            Some(FortranValue::Broken(why)) => return Err(why.to_string()),
            Some(value) => {
                let value = value.clone();
                return self.as_declared(frame, name, value, ty);
            }
            None => {}
        }
        match self
            .unset(at, ty)
            .or_else(|| self.global(frame, name, at, ty))
            .or_else(|| self.flow_without_diagrams(frame, name, at, ty))
        {
            Some(value) => Ok(value),
            None if frame.missing_includes.is_empty() => Err(format!(
                "{name} has no value here: nothing has set it, and the Fortran would take what happens to \
                 be in memory"
            )),
            None => Err(format!(
                "{name} has no value here (included files that are missing: {})",
                frame.missing_includes.join(", ")
            )),
        }
    }

    /// Returns zero for JAMP of a flow without diagrams of an order, which standalone outputs do not set although they
    /// set others of that order and of that flow.
    fn flow_without_diagrams(
        &mut self,
        frame: &UnitFrame,
        name: &str,
        at: Location,
        ty: Type,
    ) -> Option<FortranValue> {
        let dims = frame.symbols.get(name)?.dims.as_ref()?;
        let [(1, Some(flows @ 1..)), _] = dims[..] else {
            return None;
        };
        let set = |by: fn(i64, i64) -> i64| {
            let mut of_others = self.elements(at).map(|(place, _)| by(place, flows));
            of_others.any(|other| other == by(at.1, flows))
        };
        let has_others = name == "JAMP"
            && set(|place, flows| place / flows)
            && set(|place, flows| place % flows);
        if has_others { self.zero(ty) } else { None }
    }

    /// Interprets a value as a variable of this type. Arguments are passed by reference: a REAL dummy for a COMPLEX
    /// argument sees the real part, which comes first; all other differences would mix up bits.
    fn as_declared(
        &mut self,
        frame: &UnitFrame,
        name: &str,
        value: FortranValue,
        ty: Type,
    ) -> Parsed<FortranValue> {
        let symbol = frame.symbols.get(name);
        let scalar = symbol.is_none_or(|s| s.dims.is_none());
        if frame.unit.is_empty() && symbol.is_none_or(|s| s.ty.is_none()) {
            // A file of numbers without declarations, such as pmass.inc.
            return Ok(value);
        }
        match (&value, ty) {
            (FortranValue::Complex(v), Type::Real) if scalar => {
                let re = self.builder.push(Op::Call(Function::Re, *v));
                Ok(FortranValue::Real(re))
            }
            (FortranValue::Complex(_), Type::Real)
            | (FortranValue::Real(_), Type::Complex | Type::Integer)
            | (FortranValue::Complex(_), Type::Integer)
            | (FortranValue::Int(_), Type::Real | Type::Complex)
            | (FortranValue::Logical(_), Type::Integer | Type::Real | Type::Complex)
            | (_, Type::Single) => Err(format!("{name} is declared as another type than it holds")),
            _ => Ok(value),
        }
    }

    /// Turns a variable of a COMMON block that nothing has set into an input.
    fn global(
        &mut self,
        frame: &UnitFrame,
        name: &str,
        at: Location,
        ty: Type,
    ) -> Option<FortranValue> {
        let scalar = frame.symbols.get(name).is_some_and(|s| s.dims.is_none());
        let globals = self.globals.as_mut()?;
        let Origin::Common(block, place) = &self.origins[at.0] else {
            return None;
        };
        if !scalar || !matches!(ty, Type::Real | Type::Complex) {
            return None;
        }
        globals.push(Global {
            name: name.to_owned(),
            block: block.clone(),
            place: *place,
            ty,
        });
        let input = self.builder.new_input();
        let value = match ty {
            Type::Real => FortranValue::Real(input),
            _ => FortranValue::Complex(input),
        };
        self.initial(at, value.clone());
        Some(value)
    }

    fn eval_apply(
        &mut self,
        frame: &mut UnitFrame,
        name: &str,
        args: &[FortranExpr],
    ) -> Parsed<FortranValue> {
        let is_array = frame.symbols.get(name).is_some_and(|s| s.dims.is_some());
        let outer = || !frame.symbols.contains_key(name) && self.outer.contains_key(name);
        if is_array || (frame.implicit != Implicit::None && outer()) {
            let at = self.location(frame, name, args)?;
            return self.value_at(frame, name, at);
        }
        let unit = self.library.unit(name).map_err(|e| e.to_string())?;
        let unit = unit.filter(|unit| unit.result.is_some()).cloned();
        if unit.is_some() {
            self.known(frame, name)?;
        }
        if let Some(externals) = self.externals.clone()
            && let Ok(mut externals) = externals.try_borrow_mut()
            && let Some(value) = externals.function(self, frame, name, args)
        {
            return value;
        }
        if let Some(unit) = unit {
            return self.call_function(frame, &unit, args);
        }
        // The result has at least double precision.
        let (name, args) = match (name, args) {
            ("CMPLX", [args @ .., FortranExpr::Kind(8 | 16)]) => ("DCMPLX", args),
            ("REAL", [args @ .., FortranExpr::Kind(8 | 16)]) => ("DBLE", args),
            _ => (name, args),
        };
        let mut values = Vec::with_capacity(args.len());
        for argument in args {
            values.push(self.eval(frame, argument)?);
        }
        intrinsic::call(name, &values, &mut self.builder)
            .unwrap_or_else(|| Err(format!("the function {name} is not known")))
    }

    fn eval_sum(
        &mut self,
        frame: &mut UnitFrame,
        terms: &[(bool, FortranExpr)],
    ) -> Parsed<FortranValue> {
        let Some((first, rest)) = terms.split_first() else {
            return Err("an empty sum".into());
        };
        let mut total = self.eval(frame, &first.1)?;
        if first.0 {
            total = negated(&total, &mut self.builder)?;
        }
        self.add_terms(frame, total, rest)
    }

    /// Adds terms to a value.
    pub(super) fn add_terms(
        &mut self,
        frame: &mut UnitFrame,
        mut total: FortranValue,
        terms: &[(bool, FortranExpr)],
    ) -> Parsed<FortranValue> {
        for (negative, term) in terms {
            let value = self.eval(frame, term)?;
            total = sum(total, value, *negative, &mut self.builder)?;
        }
        Ok(total)
    }

    fn eval_product(
        &mut self,
        frame: &mut UnitFrame,
        factors: &[(bool, FortranExpr)],
    ) -> Parsed<FortranValue> {
        let mut total: Option<FortranValue> = None;
        for (divides, factor) in factors {
            let value = self.eval(frame, factor)?;
            total = Some(match total {
                None => value,
                Some(total) => product(total, value, *divides, &mut self.builder)?,
            });
        }
        total.ok_or_else(|| "an empty product".into())
    }

    // ----- calls ---------------------------------------------------------------------------

    fn call_function(
        &mut self,
        frame: &mut UnitFrame,
        unit: &ProgramUnit,
        args: &[FortranExpr],
    ) -> Parsed<FortranValue> {
        let name = unit.name.clone();
        let (callee, _) = self.call(frame, unit, args)?;
        let Some((result, _)) = &unit.result else {
            return Err(format!("{name} is no function"));
        };
        if self.type_of(frame, &name) != self.type_of(&callee, result) {
            return Err(format!(
                "{name} is declared as a function of another type than it is"
            ));
        }
        let at = match callee.symbols.get(result).map(|s| &s.place) {
            Some(VariableStorage::At(at)) => *at,
            _ => return Err(format!("the function {name} sets no result")),
        };
        self.value_at(&callee, result, at)
    }

    /// Runs a unit with arguments by reference.
    pub fn call(
        &mut self,
        frame: &mut UnitFrame,
        unit: &ProgramUnit,
        args: &[FortranExpr],
    ) -> Parsed<(UnitFrame, Ending)> {
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
        let mut places = Vec::with_capacity(args.len());
        for argument in args {
            places.push(self.reference(frame, argument)?);
        }
        self.enter(unit, &places, frame.depth + 1)
            .map_err(|e| e.to_string())
    }

    /// Runs a unit whose dummy arguments are stored at these places.
    pub fn enter(
        &mut self,
        unit: &ProgramUnit,
        places: &[Location],
        depth: usize,
    ) -> Result<(UnitFrame, Ending)> {
        let mut callee = self.frame_of(unit);
        callee.depth = depth;
        // The location of a caller's array is that of its first element.
        for (dummy, &at) in unit.arguments.iter().zip(places) {
            self.symbol(&mut callee, dummy).place = VariableStorage::At(at);
        }
        let body = unit.body()?;
        self.declare_in(&mut callee, unit, &body)?;
        match self.run(&mut callee, &body)? {
            flow @ (Ending::Next | Ending::Return) => Ok((callee, flow)),
            Ending::Goto(label) => Err(unit.error(format!("there is no label {label} to jump to"))),
            Ending::Exit | Ending::Cycle => Err(unit.error("EXIT or CYCLE outside of a loop")),
        }
    }

    /// Returns the value of a result or argument after a unit was run.
    pub fn value_of(&mut self, frame: &UnitFrame, name: &str) -> Parsed<FortranValue> {
        match frame.symbols.get(name).map(|s| &s.place) {
            Some(&VariableStorage::At(at)) => self.value_at(frame, name, at),
            _ => Err(format!("{name} is not set")),
        }
    }

    /// Creates a new location for an argument.
    pub fn place(&mut self) -> Location {
        (self.new_storage(), 0)
    }

    /// Returns the location of an argument; an expression that is not a variable gets a new location.
    pub fn reference(&mut self, frame: &mut UnitFrame, argument: &FortranExpr) -> Parsed<Location> {
        match argument {
            FortranExpr::Name(name) => {
                let constant = matches!(
                    frame.symbols.get(name).map(|s| &s.place),
                    Some(VariableStorage::Constant(_))
                );
                if !constant {
                    return self.location(frame, name, &[]);
                }
            }
            FortranExpr::Apply(name, subscripts)
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
}
