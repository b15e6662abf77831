//! Values of all parameters and couplings.

use crate::imported::Imported;
use crate::source::{Parameter, ParameterValue};
use mebridge_generate::model::expression::Expr;
use mebridge_generate::model::program;
use num_complex::Complex64;
use std::collections::HashMap;
use std::f64::consts::PI;

/// The parameter that determines the strong coupling.
pub const ALPHA_S: &str = "aS";
/// The strong coupling.
pub const STRONG_COUPLING: &str = "G";

/// Values of parameters and couplings, in the order of the model.
pub struct ParameterValues {
    /// Values of the parameters.
    pub parameters: Vec<Complex64>,
    /// Values of the couplings.
    pub couplings: Vec<Complex64>,
}

/// The formulas of parameters by name.
pub fn formulas(model: &Imported) -> HashMap<String, Expr> {
    let formula = |p: &Parameter| match &p.value {
        ParameterValue::Formula(expr) => Some((p.name.clone(), expr.clone())),
        ParameterValue::External(..) => None,
    };
    model.parameters.iter().filter_map(formula).collect()
}

/// Evaluates everything with the values of the card's parameters.
pub fn evaluate(model: &Imported) -> Result<ParameterValues, String> {
    let external = model.parameters.iter().filter_map(|p| match p.value {
        ParameterValue::External(_, _, value) => Some((p.name.as_str(), value)),
        ParameterValue::Formula(_) => None,
    });
    let (names, card): (Vec<&str>, Vec<f64>) = external.unzip();
    let formulas = formulas(model);
    // The strong coupling is an input; the model's formula for it is a value like others.
    let of = |p: &Parameter| match &p.value {
        ParameterValue::Formula(formula) if p.name == STRONG_COUPLING => formula.clone(),
        _ => Expr::Name(p.name.clone()),
    };
    let parameters: Vec<Expr> = model.parameters.iter().map(of).collect();
    let all: Vec<&Expr> = parameters
        .iter()
        .chain(model.couplings.iter().map(|c| &c.formula))
        .collect();
    let places = model.parameters.iter().map(|p| (&p.place, &p.name));
    let places = places.chain(model.couplings.iter().map(|c| (&c.place, &c.name)));
    // If something is wrong, one by one, so that the message names it.
    let (program, ids) = match program(&names, &formulas, &all) {
        Ok(program) => program,
        Err(what) => {
            for (formula, (place, name)) in all.iter().zip(places) {
                if let Err(what) = program(&names, &formulas, &[formula]) {
                    let what = what
                        .strip_prefix(&*format!("parameter {name}: "))
                        .unwrap_or(&what);
                    return Err(format!("{place}: {name}: {what}"));
                }
            }
            return Err(what);
        }
    };
    let alpha_s = names.iter().position(|name| *name == ALPHA_S);
    let g = alpha_s.map_or(1.0, |at| 2.0 * (card[at] * PI).sqrt());
    let inputs = card.iter().chain([&g]).map(|&x| Complex64::new(x, 0.0));
    let inputs: Vec<Complex64> = inputs.collect();
    let values = program.evaluate(&inputs);
    let values: Vec<Complex64> = ids.iter().map(|&id| values[id as usize]).collect();
    for (value, (place, name)) in values.iter().zip(places) {
        if !value.is_finite() {
            return Err(format!(
                "{place}: {name} = {value}, which is not a finite number: a division by zero, or a function where it \
                 is not defined"
            ));
        }
    }
    let (parameters, couplings) = values.split_at(parameters.len());
    Ok(ParameterValues {
        parameters: parameters.to_vec(),
        couplings: couplings.to_vec(),
    })
}
