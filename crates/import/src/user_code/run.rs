//! Runs compiled functions.

use super::{
    Action, Address, Argument, Base, Expr, FortranNumber, Place, Region, Step, ThreadMemory,
    UserCode,
};
use crate::expression::Parsed;

/// Most statements of one call.
const MAX_STEPS: u32 = 1_000_000;

/// How a list of statements ended.
enum Ending {
    Next,
    Return,
    Exit,
    Cycle,
    Goto(u32),
}

/// The call of a function for one point.
pub(super) struct FunctionCall<'a> {
    code: &'a UserCode,
    memory: &'a mut ThreadMemory,
    rapidity: f64,
    /// Whether the message of an error has its place.
    is_placed: bool,
    /// Whether the unit that ended last did so by a RETURN.
    pub(super) returns: bool,
}

impl<'a> FunctionCall<'a> {
    /// Prepares a call for the momenta of a point.
    pub(super) fn new(
        code: &'a UserCode,
        memory: &'a mut ThreadMemory,
        momenta: &[[f64; 4]],
        rapidity: f64,
    ) -> Self {
        let given = &mut memory.regions[Region::Given as usize];
        let momenta = momenta.iter().flatten().chain([&rapidity]);
        for (place, value) in given.iter_mut().zip(momenta) {
            *place = FortranNumber::Real(*value);
        }
        memory.steps = 0;
        FunctionCall {
            code,
            memory,
            rapidity,
            is_placed: false,
            returns: false,
        }
    }

    /// Calls a unit whose argument is P.
    pub(super) fn entry(&mut self, unit: usize) -> Parsed<FortranNumber> {
        let dummies = self.code.units[unit].dummies;
        if dummies[1] == 1 {
            self.memory.bound[dummies[0]] = (Address::given(0), 4 * self.code.legs as u32);
        }
        let found = self.unit(unit)?;
        found.ok_or_else(|| format!("{} has no result", self.code.units[unit].name))
    }

    /// Runs a unit whose arguments are bound; returns the result of a function.
    fn unit(&mut self, number: usize) -> Parsed<Option<FortranNumber>> {
        let unit = &self.code.units[number];
        let [first, end] = unit.locals.map(|place| place as usize);
        self.memory.regions[Region::Work as usize][first..end].fill(FortranNumber::Unset);
        self.returns = match self.steps(&unit.body)? {
            Ending::Goto(label) => return Err(format!("{}: there is no label {label}", unit.name)),
            Ending::Return => true,
            Ending::Next | Ending::Exit | Ending::Cycle => false,
        };
        match unit.result {
            None => Ok(None),
            Some(result) => {
                match self.memory.regions[result.region as usize][result.index as usize] {
                    FortranNumber::Unset => Err(format!("{} ends without a value", unit.name)),
                    value => Ok(Some(value)),
                }
            }
        }
    }

    fn steps(&mut self, steps: &[Step]) -> Parsed<Ending> {
        let mut next = 0;
        while let Some(step) = steps.get(next) {
            next += 1;
            self.memory.steps += 1;
            let ending = match self.memory.steps > MAX_STEPS {
                false => self.step(step),
                true => Err(format!("it runs more than {MAX_STEPS} statements")),
            };
            let ending = ending.map_err(|what| self.placed(step, what))?;
            match ending {
                Ending::Next => {}
                Ending::Goto(label) => match steps.iter().position(|step| step.label == label) {
                    Some(place) => next = place,
                    None => return Ok(ending),
                },
                _ => return Ok(ending),
            }
        }
        Ok(Ending::Next)
    }

    /// Adds the file and the line of the innermost statement to a message.
    fn placed(&mut self, step: &Step, what: String) -> String {
        if std::mem::replace(&mut self.is_placed, true) {
            return what;
        }
        let file = &self.code.files[usize::from(step.file)];
        format!("{file}:{}: {what}", step.line)
    }

    fn step(&mut self, step: &Step) -> Parsed<Ending> {
        match &step.action {
            Action::Nothing => {}
            Action::Assign(all) => self.assign(all)?,
            Action::Call(unit, arguments) => {
                self.call(*unit, arguments)?;
            }
            Action::If(branches) => {
                for (condition, body) in branches {
                    let holds = match condition {
                        None => true,
                        Some(condition) => self.value(condition)?.truth()?,
                    };
                    if holds {
                        return self.steps(body);
                    }
                }
            }
            Action::Do {
                variable,
                from,
                to,
                step,
                body,
            } => return self.counted(variable, [Some(from), Some(to), step.as_ref()], body),
            Action::While(condition, body) => {
                while self.value(condition)?.truth()? {
                    self.memory.steps += 1;
                    if self.memory.steps > MAX_STEPS {
                        return Err(format!("it runs more than {MAX_STEPS} statements"));
                    }
                    match self.steps(body)? {
                        Ending::Next | Ending::Cycle => {}
                        Ending::Exit => break,
                        ending => return Ok(ending),
                    }
                }
            }
            Action::Return => return Ok(Ending::Return),
            Action::Exit => return Ok(Ending::Exit),
            Action::Cycle => return Ok(Ending::Cycle),
            Action::Goto(label) => return Ok(Ending::Goto(*label)),
            Action::Stop => return Err("it stops here (STOP)".into()),
        }
        Ok(Ending::Next)
    }

    fn assign(&mut self, all: &[(Place, Expr)]) -> Parsed<()> {
        if let [(place, value)] = all {
            let value = self.value(value)?.convert(place.kind)?;
            return self.store(place, value);
        }
        let values: Vec<FortranNumber> = all
            .iter()
            .map(|(place, value)| self.value(value)?.convert(place.kind))
            .collect::<Parsed<_>>()?;
        for ((place, _), value) in all.iter().zip(values) {
            self.store(place, value)?;
        }
        Ok(())
    }

    /// Runs a loop; `bounds` are the first value, the last one and the step.
    fn counted(
        &mut self,
        variable: &Place,
        bounds: [Option<&Expr>; 3],
        body: &[Step],
    ) -> Parsed<Ending> {
        let mut values = [1i64; 3];
        for (value, bound) in values.iter_mut().zip(bounds) {
            if let Some(bound) = bound {
                *value = i64::from(self.value(bound)?.integer()?);
            }
        }
        let [mut at, to, by] = values;
        if by == 0 {
            return Err("a loop with a step of 0".into());
        }
        let rounds = (to - at + by) / by;
        let mut round = 0;
        loop {
            let value = i32::try_from(at).map_err(|_| "an INTEGER overflows")?;
            self.store(variable, FortranNumber::Integer(value))?;
            if round >= rounds {
                return Ok(Ending::Next);
            }
            self.memory.steps += 1;
            if self.memory.steps > MAX_STEPS {
                return Err(format!("it runs more than {MAX_STEPS} statements"));
            }
            match self.steps(body)? {
                Ending::Next | Ending::Cycle => {}
                Ending::Exit => return Ok(Ending::Next),
                ending => return Ok(ending),
            }
            (at, round) = (at + by, round + 1);
        }
    }

    /// Binds the arguments of a unit and runs it.
    fn call(&mut self, unit: usize, arguments: &[Argument]) -> Parsed<Option<FortranNumber>> {
        let [first, count] = self.code.units[unit].dummies;
        // All are evaluated before the first is bound: one may be a call of the same function.
        let mut bound = Vec::with_capacity(count);
        for argument in arguments {
            bound.push(self.reference(argument)?);
        }
        self.memory.bound[first..first + count].copy_from_slice(&bound);
        self.unit(unit)
    }

    /// Returns the first element of an argument and the end of its storage.
    fn reference(&mut self, argument: &Argument) -> Parsed<(Address, u32)> {
        match argument {
            Argument::Place(place) => self.address(place),
            Argument::Value(value, at) => {
                let value = self.value(value)?;
                self.memory.regions[at.region as usize][at.index as usize] = value;
                Ok((*at, at.index + 1))
            }
        }
    }

    /// Returns the element of a place and the end of its storage.
    fn address(&mut self, place: &Place) -> Parsed<(Address, u32)> {
        let (base, end) = match place.base {
            Base::At(at, count) => (at, at.index + count),
            Base::Dummy(dummy) => self.memory.bound[dummy],
        };
        let (mut offset, mut stride) = (0i64, 1i64);
        for (subscript, (low, high)) in place.subscripts.iter().zip(&place.dims) {
            let index = i64::from(self.value(subscript)?.integer()?);
            let low = i64::from(self.value(low)?.integer()?);
            let high = match high {
                Some(high) => i64::from(self.value(high)?.integer()?),
                None => i64::MAX,
            };
            if index < low || index > high {
                return Err(format!(
                    "element {index} is outside of the array {}",
                    place.name
                ));
            }
            offset += (index - low) * stride;
            stride = stride.saturating_mul(high.saturating_sub(low).saturating_add(1));
        }
        let index = i64::from(base.index) + offset;
        match u32::try_from(index) {
            Ok(index) if index < end => Ok((Address { index, ..base }, end)),
            _ => Err(format!("an element is outside of {}", place.name)),
        }
    }

    fn load(&mut self, place: &Place) -> Parsed<FortranNumber> {
        let (at, _) = self.address(place)?;
        self.read(at, &place.name)
    }

    fn read(&mut self, at: Address, name: &str) -> Parsed<FortranNumber> {
        let index = at.index as usize;
        if at.region == Region::Kept && !self.memory.is_written[index] {
            self.memory.read.push(at.index);
        }
        match self.memory.regions[at.region as usize][index] {
            FortranNumber::Unset if at.region == Region::Given => Err(format!(
                "{} has no value here",
                self.code.name_of(at.region, at.index)
            )),
            FortranNumber::Unset => Err(format!("{name} is used, and nothing has set it")),
            value => Ok(value),
        }
    }

    fn store(&mut self, place: &Place, value: FortranNumber) -> Parsed<()> {
        let (at, _) = self.address(place)?;
        let index = at.index as usize;
        match at.region {
            Region::Given => {
                let name = self.code.name_of(at.region, at.index);
                return Err(format!("{name} is changed, which MadEvent uses"));
            }
            Region::Kept if !self.memory.is_written[index] => {
                self.memory.is_written[index] = true;
                self.memory.written.push(at.index);
            }
            _ => {}
        }
        self.memory.regions[at.region as usize][index] = value;
        Ok(())
    }

    /// Evaluates an expression.
    pub(super) fn value(&mut self, expr: &Expr) -> Parsed<FortranNumber> {
        match expr {
            Expr::Constant(value) => Ok(*value),
            Expr::Load(place) => self.load(place),
            Expr::Sum(terms) => {
                let mut sum = None;
                for (negative, term) in terms {
                    let term = self.value(term)?;
                    sum = Some(match (sum, negative) {
                        (None, false) => term,
                        (None, true) => term.negative()?,
                        (Some(sum), false) => FortranNumber::plus(sum, term)?,
                        (Some(sum), true) => FortranNumber::minus(sum, term)?,
                    });
                }
                Ok(sum.unwrap_or(FortranNumber::Integer(0)))
            }
            Expr::Product(factors) => {
                let mut product = None;
                for (divides, factor) in factors {
                    let factor = self.value(factor)?;
                    product = Some(match (product, divides) {
                        (None, _) => factor,
                        (Some(product), false) => FortranNumber::times(product, factor)?,
                        (Some(product), true) => FortranNumber::over(product, factor)?,
                    });
                }
                Ok(product.unwrap_or(FortranNumber::Integer(1)))
            }
            Expr::Power(parts) => self.value(&parts.0)?.power(self.value(&parts.1)?),
            Expr::Compare(test, sides) => {
                let (one, other) = (self.value(&sides.0)?, self.value(&sides.1)?);
                one.compare(*test, other).map(FortranNumber::Logical)
            }
            Expr::Not(inner) => Ok(FortranNumber::Logical(!self.value(inner)?.truth()?)),
            Expr::And(all) => self.joined(all, true),
            Expr::Or(all) => self.joined(all, false),
            Expr::Intrinsic(function, arguments) => {
                let values = arguments.iter().map(|argument| self.value(argument));
                function.of(&values.collect::<Parsed<Vec<_>>>()?)
            }
            Expr::Kinematic(function, arguments) => {
                let mut momenta = [[0.0; 4]; 2];
                for (momentum, argument) in momenta.iter_mut().zip(&arguments[..function.momenta()])
                {
                    *momentum = self.momentum(argument)?;
                }
                let factor = match arguments.get(function.momenta()) {
                    None => 1.0,
                    Some(argument) => {
                        let (at, _) = self.reference(argument)?;
                        self.read(at, "an argument")?.real()?
                    }
                };
                let rapidity = self.rapidity;
                Ok(FortranNumber::Real(function.of(&momenta, factor, rapidity)))
            }
            Expr::Call(unit, arguments) => {
                let found = self.call(*unit, arguments)?;
                found.ok_or_else(|| "a subroutine where a function is needed".to_owned())
            }
        }
    }

    /// Evaluates `.AND.` or `.OR.` up to the first part that decides.
    fn joined(&mut self, all: &[Expr], value: bool) -> Parsed<FortranNumber> {
        for part in all {
            if self.value(part)?.truth()? != value {
                return Ok(FortranNumber::Logical(!value));
            }
        }
        Ok(FortranNumber::Logical(value))
    }

    fn momentum(&mut self, argument: &Argument) -> Parsed<[f64; 4]> {
        let (at, end) = self.reference(argument)?;
        if at.index + 4 > end {
            return Err("a momentum has four components".into());
        }
        let mut found = [0.0; 4];
        for (component, index) in found.iter_mut().zip(0..) {
            *component = self
                .read(at.after(index), "a component of a momentum")?
                .real()?;
        }
        Ok(found)
    }
}
