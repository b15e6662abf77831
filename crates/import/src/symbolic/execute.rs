//! Statements.

use super::*;

/// Maximum number of array elements set at once.
const MAX_FILLED: u64 = 1 << 22;

impl<'l> Interpreter<'l> {
    // ----- statements ----------------------------------------------------------------------

    /// Runs statements.
    pub fn run(&mut self, frame: &mut UnitFrame, body: &[BlockNode]) -> Result<Ending> {
        let mut next = 0;
        while let Some(node) = body.get(next) {
            next += 1;
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(Error::Fortran {
                    file: frame.file.clone(),
                    line: node.line,
                    what: "this takes too many steps for a formula".into(),
                });
            }
            match self.node(frame, node)? {
                Ending::Next => {}
                Ending::Goto(label) => {
                    let ahead = body[next..].iter().position(|n| n.label == label);
                    match ahead {
                        Some(ahead) => next += ahead,
                        None if body[..next].iter().any(|n| n.label == label) => {
                            return Err(Error::Fortran {
                                file: frame.file.clone(),
                                line: node.line,
                                what: format!("a jump back to label {label} cannot be read"),
                            });
                        }
                        None => return Ok(Ending::Goto(label)),
                    }
                }
                flow => return Ok(flow),
            }
        }
        Ok(Ending::Next)
    }

    fn node(&mut self, frame: &mut UnitFrame, node: &BlockNode) -> Result<Ending> {
        match &node.kind {
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
            NodeKind::DoWhile(..) | NodeKind::DoOther(_) => self.broken(
                frame,
                node,
                "a loop without a counter cannot be read".into(),
            ),
        }
    }

    /// Returns an error at a line or, if errors are deferred, sets broken values for the targets of the statement.
    fn broken(&mut self, frame: &mut UnitFrame, node: &BlockNode, what: String) -> Result<Ending> {
        let error = Error::Fortran {
            file: frame.file.clone(),
            line: node.line,
            what,
        };
        if !self.defer {
            return Err(error);
        }
        // The variables that a routine sets are unknown here.
        if calls(node) {
            return Err(error);
        }
        let why: Rc<str> = error.to_string().into();
        let mut targets = HashSet::new();
        targets_of(node, &mut targets);
        for target in targets {
            // Only scalar variables: an array element with an unknown index is rare enough to stop the import.
            if frame.symbols.get(&target).is_some_and(|s| s.dims.is_some()) {
                return Err(error);
            }
            self.set_name(frame, &target, FortranValue::Broken(why.clone()));
        }
        Ok(Ending::Next)
    }

    fn plain(&mut self, frame: &mut UnitFrame, statement: &Statement, line: u32) -> Result<Ending> {
        let fault = |frame: &UnitFrame, what: String| Error::Fortran {
            file: frame.file.clone(),
            line,
            what,
        };
        match statement {
            Statement::Assign(name, subscripts, expr) => {
                self.assign(frame, name, subscripts, expr, line)?;
                Ok(Ending::Next)
            }
            Statement::Call(name, arguments) => {
                if let Some(externals) = self.externals.clone()
                    && let Ok(mut externals) = externals.try_borrow_mut()
                    && let Some(done) = externals.subroutine(self, frame, name, arguments)
                {
                    done.map_err(|what| fault(frame, what))?;
                    return Ok(Ending::Next);
                }
                let Some(unit) = self.library.unit(name)?.cloned() else {
                    return Err(fault(
                        frame,
                        format!(
                            "{name} is called, and no file has a subroutine of that name; if it cannot touch \
                             the answer (a timer, a print), name it in CUDACPP_RUNTIME_HARMLESSCALLS"
                        ),
                    ));
                };
                self.call(frame, &unit, arguments)
                    .map_err(|what| fault(frame, what))?;
                Ok(Ending::Next)
            }
            Statement::Return => Ok(Ending::Return),
            Statement::Exit => Ok(Ending::Exit),
            Statement::Cycle => Ok(Ending::Cycle),
            Statement::Goto(label) => Ok(Ending::Goto(*label)),
            Statement::Stop => Err(fault(frame, "the program stops here".into())),
            Statement::Include(name) => {
                // Its declarations have been processed.
                let Some((path, nodes)) = self.library.include(&frame.file, name)? else {
                    let name = String::from_utf8_lossy(name).into_owned();
                    if !frame.missing_includes.contains(&name) {
                        frame.missing_includes.push(name);
                    }
                    return Ok(Ending::Next);
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
            Statement::Other(what) => Err(fault(frame, what.clone())),
            Statement::InternalWrite(write) => {
                // If the integers are unknown, they are only missing, like the output of any other WRITE.
                if self.internal_write(frame, write).is_err()
                    && let Ok(at) = self.location(frame, &write.name, &[])
                {
                    self.write(at, FortranValue::Text);
                }
                Ok(Ending::Next)
            }
            _ => Ok(Ending::Next),
        }
    }

    /// Stores the integers as the elements of the variable's storage.
    fn internal_write(&mut self, frame: &mut UnitFrame, write: &ImpliedDo) -> Parsed<()> {
        let at = self.location(frame, &write.name, &[])?;
        let counter = self.location(frame, &write.counter, &[])?;
        let from = self.eval(frame, &write.from)?.int()?;
        let to = self.eval(frame, &write.to)?.int()?;
        if to.saturating_sub(from) > MAX_IMPLIED_DO {
            return Err("too many numbers".into());
        }
        let mut place = at.1;
        for i in from..=to {
            self.write(counter, FortranValue::Int(i));
            let number = self.eval(frame, &write.item)?.int()?;
            self.write((at.0, place), FortranValue::Int(number));
            place += 1;
        }
        self.write(
            counter,
            FortranValue::Int(to.max(from.saturating_sub(1)).saturating_add(1)),
        );
        // Blanks after them.
        while self.read((at.0, place)).is_some() {
            self.write((at.0, place), FortranValue::Text);
            place += 1;
        }
        Ok(())
    }

    fn assign(
        &mut self,
        frame: &mut UnitFrame,
        name: &str,
        subscripts: &[FortranExpr],
        expr: &FortranExpr,
        line: u32,
    ) -> Result<()> {
        let fault = |frame: &UnitFrame, what: String| Error::Fortran {
            file: frame.file.clone(),
            line,
            what,
        };
        let whole = match subscripts {
            [] => frame.symbols.get(name).is_some_and(|s| s.dims.is_some()),
            all => all
                .iter()
                .all(|s| matches!(s, FortranExpr::Range(None, None))),
        };
        if whole {
            return self
                .fill(frame, name, expr)
                .map_err(|what| fault(frame, what));
        }
        if subscripts
            .iter()
            .any(|s| matches!(s, FortranExpr::Range(..)))
        {
            return self
                .fill_section(frame, name, subscripts, expr)
                .map_err(|what| fault(frame, what));
        }
        let at = self
            .location(frame, name, subscripts)
            .map_err(|what| fault(frame, what))?;
        let ty = self.type_of(frame, name);
        let value = self
            .added_to(frame, name, subscripts, at, expr)
            .and_then(|v| v.convert(ty, &mut self.builder));
        let value = match value {
            Ok(value) => value,
            Err(what) => {
                let error = fault(frame, what.clone());
                if !self.defer {
                    return Err(error);
                }
                // A value that was broken before keeps its original reason.
                let first = what.contains(".f:") || what.contains(".inc:");
                let why = if first { what } else { error.to_string() };
                FortranValue::Broken(why.into())
            }
        };
        let value = self.named(frame, name, at, value);
        self.write(at, value);
        Ok(())
    }

    /// Evaluates the value to be assigned. `X = X + ...` adds to the value of X instead of to a copy of it, since sums
    /// of amplitudes become long.
    fn added_to(
        &mut self,
        frame: &mut UnitFrame,
        name: &str,
        subscripts: &[FortranExpr],
        at: Location,
        expr: &FortranExpr,
    ) -> Parsed<FortranValue> {
        let FortranExpr::Sum(terms) = expr else {
            return self.eval(frame, expr);
        };
        let itself = |expr: &FortranExpr| match expr {
            FortranExpr::Name(other) => subscripts.is_empty() && other == name,
            FortranExpr::Apply(other, same) => other == name && same.as_slice() == subscripts,
            _ => false,
        };
        let Some(((false, first), rest)) = terms.split_first() else {
            return self.eval(frame, expr);
        };
        if !itself(first)
            || self.journals > 0
            || !matches!(self.read(at), Some(FortranValue::AmplitudeExpression(_)))
        {
            return self.eval(frame, expr);
        }
        let mut values = Vec::with_capacity(rest.len());
        for (negative, term) in rest {
            values.push((*negative, self.eval(frame, term)?));
        }
        let Some(mut total) = self.storages[at.0].remove(&at.1) else {
            return self.eval(frame, expr);
        };
        for (negative, value) in values {
            total = sum(total, value, negative, &mut self.builder)?;
        }
        Ok(total)
    }

    /// Turns a sum of amplitudes assigned to an array element into a stored sum that others can refer to.
    fn named(
        &mut self,
        frame: &UnitFrame,
        name: &str,
        at: Location,
        value: FortranValue,
    ) -> FortranValue {
        let array = frame.symbols.get(name).is_some_and(|s| s.dims.is_some());
        match value {
            FortranValue::AmplitudeExpression(form)
                if array && matches!(*form, AmplitudeExpression::Linear(_)) =>
            {
                let AmplitudeExpression::Linear(mut terms) = owned(form) else {
                    return FortranValue::Broken("a sum of amplitudes".into());
                };
                // `JAMP(1) = JAMP(1) + ...`: nothing else refers to the sum so far.
                if let Some((TermSource::Partial(p), factor)) = terms.first()
                    && *factor == Complex64::new(1.0, 0.0)
                    && self.sums[*p as usize].at == at
                {
                    let so_far = self.sums[*p as usize].terms.clone();
                    terms.splice(..1, so_far);
                }
                let source = match self.stored_sum(at) {
                    // The same sum again, in a loop over the helicities of a leg.
                    Some(p) if self.sums[p as usize].terms == terms => TermSource::Partial(p),
                    _ => {
                        self.sums.push(StoredSum { at, terms });
                        TermSource::Partial(self.sums.len() as u32 - 1)
                    }
                };
                let one = Complex64::new(1.0, 0.0);
                FortranValue::AmplitudeExpression(Rc::new(AmplitudeExpression::Linear(vec![(
                    source, one,
                )])))
            }
            value => value,
        }
    }

    /// Returns the sum of amplitudes that an element of an array holds.
    fn stored_sum(&self, at: Location) -> Option<u32> {
        let Some(FortranValue::AmplitudeExpression(form)) = self.read(at) else {
            return None;
        };
        match &**form {
            AmplitudeExpression::Linear(terms) => match terms[..] {
                [(TermSource::Partial(p), factor)]
                    if factor == Complex64::new(1.0, 0.0) && self.sums[p as usize].at == at =>
                {
                    Some(p)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Sets all elements of an array.
    fn fill(&mut self, frame: &mut UnitFrame, name: &str, expr: &FortranExpr) -> Parsed<()> {
        let size = self
            .size_of(frame, name)
            .filter(|&size| size <= MAX_FILLED)
            .ok_or_else(|| format!("the size of {name} is not known"))?;
        let first = self.location(frame, name, &[])?;
        let value = self.value_for_all(frame, name, "all", expr)?;
        for place in 0..size as i64 {
            self.write((first.0, first.1.saturating_add(place)), value.clone());
        }
        Ok(())
    }

    /// Returns the value to which elements of an array are set, which is no array and has no amplitudes. `part` says
    /// which elements.
    fn value_for_all(
        &mut self,
        frame: &mut UnitFrame,
        name: &str,
        part: &str,
        expr: &FortranExpr,
    ) -> Parsed<FortranValue> {
        if let FortranExpr::Name(other) = expr
            && self.rank_of(frame, other) > 0
        {
            return Err(format!("an array is set to the array {other}"));
        }
        let ty = self.type_of(frame, name);
        let value = self.eval(frame, expr)?.convert(ty, &mut self.builder)?;
        if matches!(value, FortranValue::AmplitudeExpression(_)) {
            return Err(format!(
                "{part} of {name} is set to something of amplitudes"
            ));
        }
        Ok(value)
    }

    /// Sets the elements of a section of an array, `A(1:N)` or `A(1:N,2)`, to a value of all of them.
    fn fill_section(
        &mut self,
        frame: &mut UnitFrame,
        name: &str,
        subscripts: &[FortranExpr],
        expr: &FortranExpr,
    ) -> Parsed<()> {
        let dims = frame.symbols.get(name).and_then(|s| s.dims.clone());
        let dims = dims.filter(|dims| dims.len() == subscripts.len());
        let dims =
            dims.ok_or_else(|| format!("{name} is no array with this number of dimensions"))?;
        let first = self.location(frame, name, &[])?;
        let mut places: Vec<Vec<i64>> = vec![Vec::new()];
        for (subscript, (low, high)) in subscripts.iter().zip(dims.iter()) {
            let (from, to) = match subscript {
                FortranExpr::Range(from, to) => {
                    let from = match from {
                        Some(from) => self.eval(frame, from)?.int()?,
                        None => *low,
                    };
                    let to = match (to, high) {
                        (Some(to), _) => self.eval(frame, to)?.int()?,
                        (None, Some(high)) => *high,
                        (None, None) => return Err(format!("the size of {name} is not known")),
                    };
                    (from, to)
                }
                one => {
                    let index = self.eval(frame, one)?.int()?;
                    (index, index)
                }
            };
            let length = to.saturating_sub(from).saturating_add(1).max(0) as u64;
            if (places.len() as u64).saturating_mul(length) > MAX_FILLED {
                return Err(format!("a section of {name} has too many elements"));
            }
            let longer = |index: i64| {
                places.iter().map(move |place| {
                    let mut place = place.clone();
                    place.push(index);
                    place
                })
            };
            places = (from..=to).flat_map(longer).collect();
        }
        let value = self.value_for_all(frame, name, "a section", expr)?;
        for place in places {
            let offset = offset(name, &dims, &place)?;
            self.write((first.0, first.1.saturating_add(offset)), value.clone());
        }
        Ok(())
    }

    fn bounds(
        &mut self,
        frame: &mut UnitFrame,
        from: &FortranExpr,
        to: &FortranExpr,
        step: Option<&FortranExpr>,
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
        frame: &mut UnitFrame,
        variable: &str,
        (from, to, step): (i64, i64, i64),
        body: &[BlockNode],
    ) -> Result<Ending> {
        let mut i = from;
        let at = self
            .location(frame, variable, &[])
            .map_err(|what| Error::Fortran {
                file: frame.file.clone(),
                line: body.first().map_or(0, |n| n.line),
                what,
            })?;
        while (step > 0 && i <= to) || (step < 0 && i >= to) {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(Error::Fortran {
                    file: frame.file.clone(),
                    line: body.first().map_or(0, |n| n.line),
                    what: "this loop takes too many steps for a formula".into(),
                });
            }
            self.write(at, FortranValue::Int(i));
            match self.run(frame, body)? {
                Ending::Next | Ending::Cycle => {}
                Ending::Exit => return Ok(Ending::Next),
                flow => return Ok(flow),
            }
            i = i.saturating_add(step);
            if i == i64::MAX || i == i64::MIN {
                break;
            }
        }
        // After the loop the counter is one step beyond its end.
        self.write(at, FortranValue::Int(i));
        Ok(Ending::Next)
    }

    fn condition(
        &mut self,
        frame: &mut UnitFrame,
        branches: &[(Option<FortranExpr>, Vec<BlockNode>)],
        line: u32,
    ) -> Result<Ending> {
        let Some(((condition, body), rest)) = branches.split_first() else {
            return Ok(Ending::Next);
        };
        let truth = match condition {
            None => Ok(Truth::Known(true)),
            Some(expr) => self.eval(frame, expr).and_then(|v| v.truth()),
        };
        let truth = match truth {
            Ok(truth) => truth,
            Err(what) => {
                let node = BlockNode {
                    line,
                    label: 0,
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

    /// Runs both sides of a condition and chooses between their results.
    fn undecided(
        &mut self,
        frame: &mut UnitFrame,
        truth: Truth,
        body: &[BlockNode],
        rest: &[(Option<FortranExpr>, Vec<BlockNode>)],
        line: u32,
    ) -> Result<Ending> {
        let fault = |frame: &UnitFrame, what: String| Error::Fortran {
            file: frame.file.clone(),
            line,
            what,
        };
        let (yes, yes_flow) = self.tried(|m| m.run(frame, body))?;
        let (no, no_flow) = self.tried(|m| m.condition(frame, rest, line))?;
        if yes_flow != no_flow {
            return Err(fault(
                frame,
                "a jump within a condition that depends on a parameter cannot be read".into(),
            ));
        }
        let mut changed: Vec<Location> = yes.keys().chain(no.keys()).copied().collect();
        changed.sort_unstable();
        changed.dedup();
        for at in changed {
            let before = self.read(at).cloned();
            let side = |table: &HashMap<Location, FortranValue>| {
                table.get(&at).cloned().or_else(|| before.clone())
            };
            let (yes, no) = (side(&yes), side(&no));
            // If one side does not set it, its initial value counts, which is zero for static variables.
            let start = |interpreter: &mut Self, other: &Option<FortranValue>| {
                let ty = other.as_ref().and_then(FortranValue::fortran_type)?;
                interpreter.unset(at, ty)
            };
            let (yes, no) = match (yes, no) {
                (None, no) => (start(self, &no), no),
                (yes, None) => {
                    let start = start(self, &yes);
                    (yes, start)
                }
                both => both,
            };
            let value = match (yes, no) {
                (Some(yes), Some(no)) => truth
                    .choose(&yes, &no, &mut self.builder)
                    .unwrap_or_else(|why| FortranValue::Broken(why.into())),
                _ => {
                    let what = "a value is set on one side of a condition only";
                    FortranValue::Broken(fault(frame, what.into()).to_string().into())
                }
            };
            self.write(at, value);
        }
        Ok(yes_flow)
    }

    /// Runs `run`, undoes its changes, and returns them.
    fn tried(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<Ending>,
    ) -> Result<(HashMap<Location, FortranValue>, Ending)> {
        let mark = self.journal.len();
        self.journals += 1;
        let flow = run(self);
        self.journals -= 1;
        let mut left = HashMap::new();
        for (at, old) in self.journal.split_off(mark).into_iter().rev() {
            // Going backwards, the first entry of a location still has its latest value in place.
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

/// Returns whether a statement contains a call of a routine.
fn calls(node: &BlockNode) -> bool {
    match &node.kind {
        NodeKind::Plain(statement) => matches!(statement, Statement::Call(..)),
        NodeKind::If(branches) => branches.iter().any(|(_, body)| body.iter().any(calls)),
        NodeKind::Do { body, .. } | NodeKind::DoWhile(_, body) | NodeKind::DoOther(body) => {
            body.iter().any(calls)
        }
    }
}

/// Collects the names that a statement assigns to.
pub fn targets_of(node: &BlockNode, targets: &mut HashSet<String>) {
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
        NodeKind::DoWhile(_, body) | NodeKind::DoOther(body) => {
            body.iter().for_each(|n| targets_of(n, targets))
        }
    }
}
