//! Helicities that need not be evaluated, because those with all legs reversed have the same contribution.
//!
//! With massless particles alone, and vertices that treat both chiralities equally, reversing all helicities turns JAMPs
//! into their conjugates, up to a phase.

use super::diagrams::{Forest, Interaction};
use super::parity;
use crate::Plan;
use crate::binding::Binding;
use mebridge_process::{ExternalKind, Process, Quantity, Wavefunction};
use rustc_hash::FxHashMap as HashMap;

/// Pairs of helicities, as indices into `helicities`, of which only the first need be evaluated. `None` if a helicity has
/// no reverse, or a particle has a mass.
pub(super) fn pairs(
    process: &Process,
    binding: &Binding,
    forest: &Forest,
    helicities: &[u32],
) -> Option<Vec<[u32; 2]>> {
    let massless = |x: Quantity| binding.value(x) == 0.0;
    let is_free = |w: &Wavefunction| match w {
        Wavefunction::External(e) => {
            let kinds = [
                ExternalKind::FermionIn,
                ExternalKind::FermionOut,
                ExternalKind::Vector,
            ];
            kinds.contains(&e.kind) && massless(e.mass)
        }
        Wavefunction::Internal(_) => true,
    };
    let mut lines = forest.lines.iter();
    let symmetric = process.beam_weights.is_empty()
        && process.wavefunctions.iter().all(is_free)
        && lines.all(|line| massless(line.mass) && massless(line.width))
        && !forest.interactions.iter().any(Interaction::is_chiral)
        && forest
            .interactions
            .iter()
            .all(|i| parity::has_one(binding, i));
    let row = |h: u32| &process.helicities[h as usize];
    let known: HashMap<&[i8], u32> = (0..)
        .zip(helicities)
        .map(|(at, &h)| (&row(h)[..], at))
        .collect();
    let mut pairs = Vec::new();
    for (at, &h) in (0..).zip(helicities) {
        let reversed: Vec<i8> = row(h).iter().map(|h| -h).collect();
        let other = *known.get(&reversed[..])?;
        if row(h).first().is_some_and(|&first| first < 0) {
            pairs.push([at, other]);
        }
    }
    (symmetric && 2 * pairs.len() == helicities.len()).then_some(pairs)
}

/// Adds to a plan for the first helicities of pairs the others.
pub(super) fn add(plan: &mut Plan, helicities: &[u32], pairs: Vec<[u32; 2]>) {
    if pairs.is_empty() {
        return;
    }
    plan.helicities = helicities.to_vec();
    let Some(operations) = plan.operations_mut() else {
        return;
    };
    let mut tables = vec![Vec::new(); helicities.len()];
    for (&both, table) in pairs.iter().zip(&operations.tables) {
        for h in both {
            tables[h as usize].clone_from(table);
        }
    }
    operations.tables = tables;
    for h in operations.groups.iter_mut().flatten() {
        *h = pairs[*h as usize][0];
    }
    operations.reversed = pairs;
}
