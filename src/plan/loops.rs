//! Plans as loops over helicities: that of a process in its colour-ordered form.
//!
//! What [`crate::process::color_ordered`] says becomes operations on arrays ([`crate::ops::arrays`]). Currents of rungs
//! are computed once an event, for all helicities. The helicities of some rungs, the *outer* ones, are then taken one
//! after the other, so that the JAMPs of all orders for those of the other legs fit the cache. How JAMPs are made of
//! currents is said in `quark` and `gluons`.

mod arrays;
mod cover;
mod gluons;
mod lower;
mod quark;

pub use lower::compile;

use super::Plan;
use crate::ops::Address;
use crate::ops::arrays::{ArrayKind, ArrayOp, NumberSums, Pools};
use crate::process::color_ordered::FlowTerm;
use serde::{Deserialize, Serialize};

/// No helicity of the plan.
pub const NO_HELICITY: u32 = u32::MAX;

/// The loops of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loops {
    /// For each run of `each` the shifts of addresses; the first is 0.
    pub runs: Vec<Vec<u32>>,
    /// Operations that come once an event.
    pub once: Vec<ArrayOp>,
    /// Operations of each run.
    pub each: Vec<ArrayOp>,
    /// What they name.
    pub pools: Pools,
    /// Helicities of a run.
    pub helicities: u32,
    /// Vectors from the JAMPs of one helicity of a run to those of the next.
    pub stride: u32,
    /// Address of numbers that JAMPs are sums of, of a run's first helicity; two vectors each.
    pub numbers: Address,
    /// Vectors of those of one helicity.
    pub numbers_stride: u32,
    /// For each JAMP what is added of them; empty where there are none.
    pub sums: NumberSums,
    /// For each run and each of its helicities the index of that among the plan's, or [`NO_HELICITY`].
    pub rows: Vec<u32>,
    /// For each colour flow its JAMPs; none where each JAMP is one.
    pub flows: Vec<Vec<FlowTerm>>,
}

impl Loops {
    /// Whether all operations of a plan with these loops stay within its memory, and its tables fit each other.
    pub(super) fn in_order(&self, plan: &Plan) -> bool {
        let classes = self.runs.first().map_or(0, Vec::len);
        let none = vec![0; classes];
        let mut largest = none.clone();
        for run in &self.runs {
            for (largest, &shift) in largest.iter_mut().zip(run) {
                *largest = shift.max(*largest);
            }
        }
        let vectors = plan.vectors;
        let mut seen = vec![false; plan.helicities.len()];
        let jamps = u32::try_from(2 * plan.flows).unwrap_or(u32::MAX);
        let last = u64::from(self.stride) * u64::from(self.helicities.saturating_sub(1));
        classes > 0
            && self.runs.iter().all(|run| run.len() == classes && run[0] == 0)
            && self.once.iter().all(|op| self.pools.holds(op, &none, vectors))
            && self.each.iter().all(|op| self.pools.holds(op, &largest, vectors))
            && self.helicities > 0
            && self.rows.len() as u64 == self.runs.len() as u64 * u64::from(self.helicities)
            && u64::from(plan.jamp_base) + last + u64::from(jamps) <= u64::from(vectors)
            && self.numbers_in_order(plan)
            && self.rows.iter().filter(|&&h| h != NO_HELICITY).all(|&h| {
                let seen = seen.get_mut(h as usize);
                seen.is_some_and(|seen| !std::mem::replace(seen, true))
            })
            && seen.iter().all(|&seen| seen)
            && self.flows.iter().flatten().all(|t| (t.jamp as usize) < plan.flows)
            && plan.groups.iter().all(|group| group.len() == 1)
            && plan.groups.len() == plan.helicities.len()
    }

    fn numbers_in_order(&self, plan: &Plan) -> bool {
        let all = u64::from(self.numbers_stride) * u64::from(self.helicities);
        let within = u64::from(self.numbers) + all <= u64::from(plan.vectors);
        let sums = if self.sums.0.is_empty() { 0 } else { plan.flows };
        within && self.sums.hold(sums, self.numbers_stride / 2).is_some()
    }

    /// Elements computed once and in all runs, among them those of contractions, and their multiply-adds.
    pub(super) fn work(&self) -> (usize, usize, usize) {
        let mut all = (0, 0, 0);
        let mut add = |op: &ArrayOp, times: usize| {
            let elements = times * op.count as usize;
            match op.kind {
                ArrayKind::Contract => all.1 += elements,
                _ => all.0 += elements,
            }
            all.2 += times * self.pools.multiply_adds(op);
        };
        self.once.iter().for_each(|op| add(op, 1));
        self.each.iter().for_each(|op| add(op, self.runs.len()));
        // Two for each term; what stands there beside terms are two numbers for each sum.
        let helicities = self.rows.iter().filter(|&&h| h != NO_HELICITY);
        all.2 += 2 * helicities.count() * self.sums.0.len();
        all
    }
}
