//! Division of the helicities of a process into subsets that share the same code.
//!
//! The helicities of some legs are *fixed*, those of the others *free*. If the good helicities are all combinations of
//! some settings of the fixed legs with the same settings of the free ones, the plan for one subset is valid for every
//! subset, with other external wavefunctions of the fixed legs. Generated code is then short, few values are alive at a
//! time, and a thread computes one subset of one event. A preceding kernel computes values that depend on the
//! helicities of only a few fixed legs (`codegen/hoisting.rs`). Other values shared by subsets are computed again in
//! each subset; the more legs are free, the fewer these are. In a recursion with factors that depend on chirality all
//! fermions are free.

use super::level_schedule::LevelSchedule;
use mebridge_plan::binding::Binding;
use mebridge_plan::{Plan, RecursionKind, compile, recursion};
use mebridge_process::Process;
use rustc_hash::FxHashMap as HashMap;

/// The subsets of helicities, with the plan that they share.
#[derive(Clone, Debug)]
pub struct HelicitySplit {
    /// The plan of the first subset.
    pub plan: Plan,
    /// Tables of the plan.
    pub tables: LevelSchedule,
    /// For each leg, whether its helicity is fixed.
    pub fixed: Vec<bool>,
    /// For each subset, the helicities of the legs; those of free legs are not used.
    pub helicities: Vec<Vec<i8>>,
    /// For each subset, the indices of its helicities among all good ones, in the order of the plan.
    pub order: Vec<Vec<u32>>,
    /// Multiply-adds per event, without the colour sum.
    pub multiply_adds: usize,
}

/// A division of the good helicities into subsets.
struct SubsetChoice {
    fixed: Vec<bool>,
    helicities: Vec<Vec<i8>>,
    order: Vec<Vec<u32>>,
}

impl SubsetChoice {
    /// Returns the division for these fixed legs, if the subsets can share the same code.
    fn new(process: &Process, good: &[u32], fixed: Vec<bool>) -> Option<SubsetChoice> {
        let part = |helicity: &[i8], of: bool| -> Vec<i8> {
            let legs = helicity.iter().zip(&fixed);
            legs.filter(|(_, f)| **f == of).map(|(h, _)| *h).collect()
        };
        let mut number = HashMap::default();
        let mut cut = SubsetChoice {
            helicities: Vec::new(),
            order: Vec::new(),
            fixed: fixed.clone(),
        };
        let mut free: Vec<Vec<Vec<i8>>> = Vec::new();
        for (place, &h) in good.iter().enumerate() {
            let helicity = process.helicities.get(h as usize)?;
            let subset = *number.entry(part(helicity, true)).or_insert(free.len());
            if subset == free.len() {
                free.push(Vec::new());
                cut.helicities.push(helicity.clone());
                cut.order.push(Vec::new());
            }
            free[subset].push(part(helicity, false));
            cut.order[subset].push(place as u32);
        }
        let alike = free.iter().all(|f| *f == free[0]);
        alike.then_some(cut)
    }
}

impl HelicitySplit {
    /// Returns the division with the least work among those with at most `limit` multiply-adds per subset, by diagrams or by
    /// the kind of recursion of the whole.
    pub fn best(
        process: &Process,
        binding: &Binding,
        good: &[u32],
        recursion: Option<RecursionKind>,
        limit: usize,
    ) -> Option<HelicitySplit> {
        // Fermions first: one of them is the root of a recursion.
        let fermions = process.fermions();
        let mut legs: Vec<usize> = (0..process.legs.len()).collect();
        legs.sort_by_key(|&leg| (fermions >> leg & 1 == 0, process.legs[leg].incoming, leg));
        let least = match recursion {
            Some(kind) if kind.chiral => fermions.count_ones() as usize,
            _ => 0,
        };
        let mut best: Option<HelicitySplit> = None;
        for free in least..legs.len() {
            let mut fixed = vec![true; legs.len()];
            for &leg in &legs[..free] {
                fixed[leg] = false;
            }
            let Some(cut) = SubsetChoice::new(process, good, fixed) else {
                continue;
            };
            let own: Vec<u32> = cut.order[0]
                .iter()
                .map(|&place| good[place as usize])
                .collect();
            let plan = match recursion {
                Some(_) => recursion::compile(process, binding, &own),
                None => compile(process, binding, &own).ok(),
            };
            let Some(plan) = plan else {
                continue;
            };
            if plan.count.multiply_adds > limit {
                break;
            }
            let multiply_adds = plan.count.multiply_adds * cut.order.len();
            if best
                .as_ref()
                .is_none_or(|b| multiply_adds < b.multiply_adds)
            {
                best = Some(HelicitySplit {
                    tables: LevelSchedule::new(&plan, binding)?,
                    plan,
                    fixed: cut.fixed,
                    helicities: cut.helicities,
                    order: cut.order,
                    multiply_adds,
                });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recursion made for one chirality is wrong for the other, so that no subset of it has less than both.
    #[test]
    fn subsets_of_a_chiral_recursion_have_all_helicities_of_fermions() {
        let text = "u u~ > e+ e- g";
        let process = mebridge_generate::generate(text).expect(text).remove(0);
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect(text);
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let recursion = recursion::compile(&process, &binding, &all).expect(text);
        let kind = recursion.operations().recursion;
        assert!(kind.is_some_and(|kind| kind.chiral));
        let split = |kind, limit| HelicitySplit::best(&process, &binding, &all, kind, limit);
        let whole = split(kind, usize::MAX).expect("a recursion");
        let most = whole.plan.count.multiply_adds;
        assert!(split(kind, most - 1).is_none());
        assert!(split(None, most - 1).is_some());
        // Legs 0 to 3 are fermions.
        assert!(whole.fixed[..4].iter().all(|fixed| !fixed));
    }
}
