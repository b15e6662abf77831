//! Lorentz structures of one colour structure whose couplings are one formula up to a sign, as one structure. Some models
//! write the three-gluon vertex as two halves, with `-G` and `G`; kernels know what a vertex computes with one coupling.

use super::expression::{Binary, Expr};
use super::lorentz::Structure;
use super::{ColorTerm, Lorentz};

/// Joins the structures of a term. `formula` is that of a coupling by its name.
pub fn join(
    term: &mut ColorTerm,
    lorentz: &mut Vec<Lorentz>,
    formula: impl Fn(&str) -> Option<Expr>,
) {
    let mut joined: Vec<(u32, String, Option<(bool, Expr)>)> = Vec::new();
    for (structure, coupling) in std::mem::take(&mut term.lorentz) {
        let name = coupling.strip_prefix('-');
        let value = formula(name.unwrap_or(&coupling)).map(positive);
        let value = value.map(|(negative, expr)| (negative != name.is_some(), expr));
        let place = joined.iter().position(|(_, _, known)| {
            let same = |((_, a), (_, b)): (&(bool, Expr), &(bool, Expr))| a == b;
            known.as_ref().zip(value.as_ref()).is_some_and(same)
        });
        let whole = place.and_then(|place| {
            let sign = |value: &Option<(bool, Expr)>| value.as_ref().is_some_and(|v| v.0);
            let negative = sign(&joined[place].2) != sign(&value);
            Some((place, sum(lorentz, joined[place].0, structure, negative)?))
        });
        match whole {
            Some((place, whole)) => joined[place].0 = whole,
            None => joined.push((structure, coupling, value)),
        }
    }
    let joined = joined.into_iter();
    term.lorentz = joined
        .map(|(structure, name, _)| (structure, name))
        .collect();
}

/// An expression without the sign in front of it, and whether that is a minus.
fn positive(expr: Expr) -> (bool, Expr) {
    match expr {
        Expr::Neg(inner) => {
            let (negative, inner) = positive(*inner);
            (!negative, inner)
        }
        Expr::Binary(op @ (Binary::Mul | Binary::Div), first, second) => {
            let (negative, first) = positive(*first);
            (negative, Expr::Binary(op, Box::new(first), second))
        }
        other => (false, other),
    }
}

/// The structure that is the sum of two, or their difference. None where one of them cannot be read.
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
