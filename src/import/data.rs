//! DATA statements, element by element.

use super::expression::{Expr, Parsed};
use super::statement::{Constant, DataGroup, DataTarget};
use std::collections::HashMap;

/// Elements that one DATA statement may set.
const MAX_DATA: u64 = 1 << 26;

/// The implied loops that are running: the value of each variable.
pub type Loops = HashMap<String, i64>;
/// Gives the value of a subscript.
pub type Eval<'a> = dyn FnMut(&Expr, &Loops) -> Parsed<i64> + 'a;
/// Takes the name, the subscripts and the value of an element.
pub type Set<'a> = dyn FnMut(&str, &[i64], &Constant) -> Parsed<()> + 'a;

/// Goes through the elements that a DATA statement sets.
pub fn expand_data(
    group: &DataGroup,
    eval: &mut Eval,
    set: &mut Set,
    loops: &mut Loops,
) -> Parsed<()> {
    let mut values = Values {
        list: &group.values,
        next: 0,
        used: 0,
        total: 0,
    };
    for target in &group.targets {
        expand_target(target, &mut values, eval, set, loops)?;
    }
    Ok(())
}

struct Values<'a> {
    list: &'a [(u64, Constant)],
    next: usize,
    /// How often the next value was taken already.
    used: u64,
    total: u64,
}

impl<'a> Values<'a> {
    /// Counts what is done for the statement.
    fn step(&mut self) -> Parsed<()> {
        self.total += 1;
        if self.total > MAX_DATA {
            return Err("a DATA statement sets too many values".into());
        }
        Ok(())
    }

    fn take(&mut self) -> Parsed<&'a Constant> {
        self.step()?;
        loop {
            let (times, value) = self
                .list
                .get(self.next)
                .ok_or("a DATA statement has fewer values than names")?;
            if self.used < *times {
                self.used += 1;
                return Ok(value);
            }
            self.next += 1;
            self.used = 0;
        }
    }
}

fn expand_target(
    target: &DataTarget,
    values: &mut Values,
    eval: &mut Eval,
    set: &mut Set,
    loops: &mut Loops,
) -> Parsed<()> {
    match target {
        DataTarget::Element(name, subscripts) => {
            let mut indices = [0i64; 7];
            if subscripts.len() > indices.len() {
                return Err(format!("{name} has too many subscripts"));
            }
            for (index, subscript) in indices.iter_mut().zip(subscripts) {
                *index = eval(subscript, loops)?;
            }
            set(name, &indices[..subscripts.len()], values.take()?)
        }
        DataTarget::Implied {
            items,
            variable,
            from,
            to,
            step,
        } => {
            let mut i = eval(from, loops)?;
            let to = eval(to, loops)?;
            let step = match step {
                None => 1,
                Some(step) => eval(step, loops)?,
            };
            if step == 0 || items.is_empty() {
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
                    expand_target(item, values, eval, set, loops)?;
                }
                i = i.checked_add(step).ok_or("an implied loop overflows")?;
            }
            loops.remove(variable);
            Ok(())
        }
    }
}
