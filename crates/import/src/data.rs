//! Expansion of DATA statements into elements.

use super::expression::{FortranExpr, Parsed};
use super::statement::{DataGroup, DataTarget, LiteralValue};
use std::collections::HashMap;

/// Maximum number of elements set by one DATA statement.
const MAX_DATA: u64 = 1 << 26;

/// Values of the variables of the active implied loops.
pub type Loops = HashMap<String, i64>;

/// Receiver of the values of a DATA statement.
pub trait Setter {
    /// Evaluates a subscript, a bound or a repeat count.
    fn integer(&mut self, expr: &FortranExpr, loops: &Loops) -> Parsed<i64>;

    /// Sets an element of an array or, without subscripts, a variable.
    fn set(&mut self, name: &str, subscripts: &[i64], value: &LiteralValue) -> Parsed<()>;

    /// Checks whether a variable may count an implied loop.
    fn may_count(&mut self, _variable: &str) -> Parsed<()> {
        Ok(())
    }

    /// Returns the number of elements of a name without subscripts.
    fn size(&mut self, _name: &str) -> u64 {
        1
    }

    /// Sets an element (from 0, in storage order) of an array without subscripts.
    fn set_in_order(&mut self, name: &str, place: u64, value: &LiteralValue) -> Parsed<()> {
        match place {
            0 => self.set(name, &[], value),
            _ => Err(format!("the whole of {name} is set at once")),
        }
    }
}

/// Returns the first name that a target sets.
pub fn first_name(target: &DataTarget) -> Option<&str> {
    match target {
        DataTarget::Element(name, _) => Some(name),
        DataTarget::Implied { items, .. } => items.first().and_then(first_name),
    }
}

/// Passes the elements of a DATA statement to a [`Setter`].
pub fn expand(group: &DataGroup, setter: &mut impl Setter) -> Parsed<()> {
    let mut values = Values {
        list: &group.values,
        next: 0,
        left: None,
        steps: 0,
    };
    let mut loops = Loops::new();
    for target in &group.targets {
        expand_target(target, &mut values, setter, &mut loops)?;
    }
    Ok(())
}

struct Values<'a> {
    list: &'a [(u64, LiteralValue)],
    next: usize,
    /// The value being repeated, and its remaining count.
    left: Option<(u64, &'a LiteralValue)>,
    steps: u64,
}

impl<'a> Values<'a> {
    /// Counts a step of the statement.
    fn step(&mut self) -> Parsed<()> {
        self.steps += 1;
        if self.steps > MAX_DATA {
            return Err("a DATA statement sets too many values".into());
        }
        Ok(())
    }

    fn take(&mut self, setter: &mut impl Setter) -> Parsed<&'a LiteralValue> {
        loop {
            self.step()?;
            if let Some((times, value)) = &mut self.left
                && *times > 0
            {
                *times -= 1;
                return Ok(value);
            }
            let (times, value) = self
                .list
                .get(self.next)
                .ok_or("a DATA statement has fewer values than names")?;
            self.next += 1;
            self.left = Some(match value {
                LiteralValue::Repeated(inner) => {
                    let (count, value) = inner.as_ref();
                    let count = setter.integer(&FortranExpr::Name(count.clone()), &Loops::new())?;
                    let count = u64::try_from(count).map_err(|_| "a negative repeat count")?;
                    (count, value)
                }
                value => (*times, value),
            });
        }
    }
}

fn expand_target(
    target: &DataTarget,
    values: &mut Values,
    setter: &mut impl Setter,
    loops: &mut Loops,
) -> Parsed<()> {
    match target {
        DataTarget::Element(name, subscripts) if subscripts.is_empty() => {
            for place in 0..setter.size(name) {
                let value = values.take(setter)?;
                setter.set_in_order(name, place, value)?;
            }
            Ok(())
        }
        DataTarget::Element(name, subscripts) => {
            let mut indices = [0i64; 7];
            if subscripts.len() > indices.len() {
                return Err(format!("{name} has too many subscripts"));
            }
            for (index, subscript) in indices.iter_mut().zip(subscripts) {
                *index = setter.integer(subscript, loops)?;
            }
            let value = values.take(setter)?;
            setter.set(name, &indices[..subscripts.len()], value)
        }
        DataTarget::Implied {
            items,
            variable,
            from,
            to,
            step,
        } => {
            setter.may_count(variable)?;
            let mut i = setter.integer(from, loops)?;
            let to = setter.integer(to, loops)?;
            let step = match step {
                None => 1,
                Some(step) => setter.integer(step, loops)?,
            };
            if step == 0 {
                return Err("an implied loop that does not end".into());
            }
            while (step > 0 && i <= to) || (step < 0 && i >= to) {
                values.step()?;
                match loops.get_mut(variable) {
                    Some(value) => *value = i,
                    None => {
                        loops.insert(variable.clone(), i);
                    }
                }
                for item in items {
                    expand_target(item, values, setter, loops)?;
                }
                i = i.checked_add(step).ok_or("an implied loop overflows")?;
            }
            loops.remove(variable);
            Ok(())
        }
    }
}
