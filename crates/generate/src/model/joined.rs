//! Merging of Lorentz structures with the same colour structure and the same coupling formula up to a sign. Some models
//! write the three-gluon vertex as two halves, with `-G` and `G`, but kernels are for vertices with one coupling.

use super::expression::{BinaryOperator, Expr};
use super::lorentz::Structure;
use super::{ColorTerm, Lorentz};

/// A structure with its coupling.
struct WithCoupling {
    structure: u32,
    coupling: String,
    /// The formula of the coupling without its sign, and whether that is negative.
    formula: Option<(Expr, bool)>,
}

/// Merges the structures of a term. `formula` looks up a coupling by its name.
pub fn join(
    term: &mut ColorTerm,
    lorentz: &mut Vec<Lorentz>,
    formula: impl Fn(&str) -> Option<Expr>,
) {
    let mut parts: Vec<WithCoupling> = Vec::new();
    for (structure, coupling) in std::mem::take(&mut term.lorentz) {
        let name = coupling.strip_prefix('-');
        let value = formula(name.unwrap_or(&coupling)).map(positive);
        let value = value.map(|(expr, negative)| (expr, negative != name.is_some()));
        let mut whole = None;
        for part in &mut parts {
            let (Some((known, sign)), Some((expr, negative))) = (&part.formula, &value) else {
                continue;
            };
            if whole.is_none() && known == expr {
                whole = sum(lorentz, part.structure, structure, sign != negative);
                part.structure = whole.unwrap_or(part.structure);
            }
        }
        if whole.is_none() {
            parts.push(WithCoupling {
                structure,
                coupling,
                formula: value,
            });
        }
    }
    let parts = parts.into_iter();
    term.lorentz = parts.map(|part| (part.structure, part.coupling)).collect();
}

/// An expression without its leading sign, and whether that is a minus.
fn positive(expr: Expr) -> (Expr, bool) {
    match expr {
        Expr::Neg(inner) => {
            let (inner, negative) = positive(*inner);
            (inner, !negative)
        }
        Expr::Binary(op @ (BinaryOperator::Mul | BinaryOperator::Div), first, second) => {
            let (first, negative) = positive(*first);
            (Expr::Binary(op, Box::new(first), second), negative)
        }
        other => (other, false),
    }
}

/// The structure that is the sum of two, or their difference; `None` if one of them cannot be read.
fn sum(lorentz: &mut Vec<Lorentz>, first: u32, second: u32, negative: bool) -> Option<u32> {
    let [a, b] = [first, second].map(|number| &lorentz[number as usize]);
    let word = if negative { "LESS" } else { "PLUS" };
    let name = format!("{}_{word}_{}", a.name, b.name);
    if let Some(known) = lorentz.iter().position(|l| l.name == name) {
        return Some(known as u32);
    }
    let (mut terms, mut others) = (
        a.structure.as_ref().ok()?.terms.clone(),
        b.structure.clone().ok()?.terms,
    );
    if negative {
        others
            .iter_mut()
            .for_each(|term| term.factor = -term.factor);
    }
    terms.extend(others);
    lorentz.push(Lorentz {
        name,
        structure: Ok(Structure { terms }),
    });
    Some(lorentz.len() as u32 - 1)
}
