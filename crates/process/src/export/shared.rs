//! Parameters, couplings and Lorentz structures that the matrix elements of one output share.

use crate::Process;
use crate::arith::{Builder, Op, Program, ValueId};
use crate::lorentz::Routine;
use crate::model::{CardParameter, Model, NamedValue};

/// The union of the models and routines of several processes.
#[derive(Default)]
pub struct Shared {
    /// The model of all of them.
    pub model: Model,
    pub routines: Vec<Routine>,
}

impl Shared {
    /// Merges the models of processes. Equal names must mean the same.
    pub fn merge(processes: &[Process]) -> Result<Shared, String> {
        let mut shared = Shared::default();
        for process in processes {
            for parameter in &process.model.card {
                add(&mut shared.model.card, parameter, |p| &p.name)?;
            }
            for routine in &process.routines {
                add(&mut shared.routines, routine, |r| &r.name)?;
            }
        }
        let card = shared.model.card;
        let mut builder = Builder::new(card.len() as u32 + 1);
        for process in processes {
            let model = &process.model;
            let values = copy(&mut builder, model, &card);
            let each = [
                (&mut shared.model.parameters, &model.parameters),
                (&mut shared.model.couplings, &model.couplings),
            ];
            for (all, these) in each {
                for named in these {
                    let named = NamedValue {
                        name: named.name.clone(),
                        value: values[named.value as usize],
                    };
                    add(all, &named, |n| &n.name)?;
                }
            }
        }
        shared.model.card = card;
        shared.model.program = builder.finish();
        Ok(shared)
    }

    /// For each value of the model's program, whether it depends on G.
    pub fn per_event(&self) -> Vec<bool> {
        let g = self.model.g_input();
        self.model.program.dependence(|input| input == g)
    }
}

/// Adds a named item unless it is already there.
fn add<T: Clone + PartialEq>(
    all: &mut Vec<T>,
    new: &T,
    name: impl Fn(&T) -> &String,
) -> Result<(), String> {
    match all.iter().find(|old| name(old) == name(new)) {
        Some(old) if old == new => Ok(()),
        Some(_) => Err(format!("{} means two things", name(new))),
        None => {
            all.push(new.clone());
            Ok(())
        }
    }
}

/// Copies a model's program to the builder, with these card parameters as its inputs; returns the positions of its
/// values.
fn copy(builder: &mut Builder, model: &Model, card: &[CardParameter]) -> Vec<ValueId> {
    let Program { ops, .. } = &model.program;
    let mut values: Vec<ValueId> = Vec::with_capacity(ops.len());
    for op in ops {
        let value = match *op {
            Op::Input(n) => {
                let parameter = model.card.get(n as usize);
                let place = parameter.and_then(|own| card.iter().position(|p| p.name == own.name));
                builder.input(place.unwrap_or(card.len()) as u32)
            }
            _ => builder.push(op.map_operands(|v| values[v as usize])),
        };
        values.push(value);
    }
    values
}
