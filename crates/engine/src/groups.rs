//! Groups of helicities that are evaluated together.
//!
//! Two helicities that differ in one leg share a factor of each product at the end of a list of diagrams, as the leg
//! contributes only to the other factor. If they are evaluated together, the shared factor is loaded once, and the
//! table of JAMP sums is read once. A recursion specifies such pairs itself ([`Plan::groups`]); this module finds them
//! for a list of diagrams.

use mebridge_ops::opcode::Opcode;
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_plan::Plan;
use mebridge_process::Process;
use rustc_hash::FxHashMap as HashMap;

/// The groups of a plan.
pub(super) struct Groups {
    /// Helicities (indices into the plan's tables), one or two in a group.
    pub(super) helicities: Vec<Vec<u32>>,
    /// Distance in vectors from the amplitudes and JAMPs of the first helicity of a group to those of the second.
    pub(super) pair_stride: u32,
    /// Additional vectors for the second helicities, after those of the plan and the scratch.
    pub(super) vectors: u32,
}

impl Groups {
    /// The groups of a plan, with `taken` vectors already in use.
    pub(super) fn new(plan: &Plan, process: &Process, taken: u32) -> Groups {
        list_pairs(plan, process, taken).unwrap_or_else(|| Groups {
            helicities: plan.groups().into_owned(),
            pair_stride: plan.operations().pair_stride,
            vectors: 0,
        })
    }
}

/// Pairs helicities for a list of diagrams; `None` if the plan has another form or helicities cannot be paired.
fn list_pairs(plan: &Plan, process: &Process, taken: u32) -> Option<Groups> {
    let of_products =
        |batch: &Batch| matches!(batch.opcode, Opcode::DotSpinor0 | Opcode::DotVector0);
    let single = plan.groups().iter().all(|group| group.len() == 1);
    let listed = plan.loops().is_none() && plan.operations().tiles.is_empty() && single;
    if !listed || !plan.operations().amplitudes.iter().all(of_products) {
        return None;
    }
    let helicities = pairs(plan, process)?;
    let (first, end) = of_one_helicity(plan)?;
    Some(Groups {
        helicities,
        pair_stride: taken - first,
        vectors: end - first,
    })
}

/// Pairs helicities that differ in the same leg, for the leg with the most pairs; the last such leg, as it changes
/// fastest.
fn pairs(plan: &Plan, process: &Process) -> Option<Vec<Vec<u32>>> {
    let legs = 0..process.legs.len();
    let by_leg = legs.map(|leg| pairs_by(leg, plan, process));
    let best = by_leg.rev().min_by_key(Vec::len)?;
    (best.len() < plan.helicities.len()).then_some(best)
}

fn pairs_by(leg: usize, plan: &Plan, process: &Process) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut open: HashMap<Vec<i8>, usize> = HashMap::default();
    for group in plan.groups().iter() {
        for &h in group {
            let mut rest = process.helicities[plan.helicities[h as usize] as usize].clone();
            rest[leg] = 0;
            match open.get(&rest).copied() {
                Some(first) if shares(plan, groups[first][0], h) => {
                    groups[first].push(h);
                    open.remove(&rest);
                }
                _ => {
                    open.insert(rest, groups.len());
                    groups.push(vec![h]);
                }
            }
        }
    }
    groups
}

/// Whether two helicities have a common factor in each product.
fn shares(plan: &Plan, first: u32, second: u32) -> bool {
    let (a, b) = (
        &plan.operations().tables[first as usize],
        &plan.operations().tables[second as usize],
    );
    let same = |factor: u32| a[factor as usize] == b[factor as usize];
    let operations = plan
        .operations()
        .amplitudes
        .iter()
        .flat_map(|batch| batch.operands.as_chunks::<3>().0);
    operations
        .into_iter()
        .all(|&[one, other, _]| same(one) || same(other))
}

/// The range of vectors that belong to one helicity: amplitudes, partial sums and JAMPs. `None` if numbers outside of
/// it are read as belonging to the helicity.
pub(super) fn of_one_helicity(plan: &Plan) -> Option<(Address, Address)> {
    let mut range = (plan.jamp_base, plan.jamp_base + 2 * plan.flows as u32);
    let mut note = |address: Address| range = (range.0.min(address), range.1.max(address + 2));
    for batch in &plan.operations().amplitudes {
        visit(
            batch,
            &plan.operations().general,
            true,
            &mut |operand, access| {
                if let Access::Write(_) = access {
                    note(operand);
                }
            },
        )?;
    }
    for sum in &plan.operations().jamp.sums {
        note(sum.address);
    }
    // Every number that is read per helicity must be in this range.
    let units = plan.operations().jamp.units.iter().copied();
    let terms = plan
        .operations()
        .jamp
        .terms
        .iter()
        .flat_map(|term| [term.re, term.im]);
    let squares = plan.channels().amp2.iter().flatten().flatten().copied();
    let mut read = units
        .chain(squares)
        .flat_map(|at| [at, at + 1])
        .chain(terms);
    read.all(|at| (range.0..range.1).contains(&at))
        .then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_import::import_directory;
    use mebridge_plan::binding::Binding;
    use mebridge_plan::{compile, recursion};
    use std::path::Path;

    fn gg_ttx() -> (Process, Plan, Plan) {
        let directory = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fortran/gg_ttx/SubProcesses/P1_gg_ttx"
        );
        let process = import_directory(Path::new(directory)).unwrap().remove(0);
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let list = compile(&process, &binding, &all).unwrap();
        let recursion = recursion::compile(&process, &binding, &all).unwrap();
        (process, list, recursion)
    }

    #[test]
    fn helicities_of_a_list_come_in_pairs_that_differ_in_one_leg() {
        let (process, list, _) = gg_ttx();
        let taken = list.vectors + 10;
        let groups = Groups::new(&list, &process, taken);
        assert_eq!(groups.helicities.len(), 8);
        for group in &groups.helicities {
            let [a, b] = group[..] else {
                panic!("a group of {}", group.len());
            };
            let of = |h: u32| &process.helicities[list.helicities[h as usize] as usize];
            let differ = of(a).iter().zip(of(b)).map(|(x, y)| x != y);
            assert_eq!(differ.collect::<Vec<_>>(), [false, false, false, true]);
        }
        // The second helicity's numbers follow all others.
        let (first, end) = of_one_helicity(&list).unwrap();
        assert_eq!(first + groups.pair_stride, taken);
        assert_eq!(groups.vectors, end - first);
        let own = 2 * (process.amplitudes.vertices().len() + list.flows) as u32;
        assert!(groups.vectors >= own, "{} {own}", groups.vectors);
    }

    #[test]
    fn pairs_of_a_recursion_stay_as_they_are() {
        let (process, _, recursion) = gg_ttx();
        let groups = Groups::new(&recursion, &process, recursion.vectors);
        assert_eq!(groups.helicities, recursion.operations().groups);
        assert_eq!(groups.pair_stride, recursion.operations().pair_stride);
        assert_eq!(groups.vectors, 0);
    }

    /// The planner does not make such a plan, but a file may contain one.
    #[test]
    fn a_list_that_reads_anything_else_for_a_helicity_is_left_alone() {
        let (process, list, _) = gg_ttx();
        let single = |damage: &dyn Fn(&mut Plan)| {
            let mut plan = list.clone();
            damage(&mut plan);
            let groups = Groups::new(&plan, &process, plan.vectors);
            groups.helicities.len() == 16 && groups.vectors == 0
        };
        assert!(!single(&|_| ()));
        let elsewhere = list.externals[0].results[0];
        match list.operations().jamp.terms.is_empty() {
            true => assert!(single(
                &|plan| plan.operations_mut().unwrap().jamp.units[0] = elsewhere
            )),
            false => assert!(single(&|plan| plan.operations_mut().unwrap().jamp.terms
                [0]
            .im = elsewhere)),
        }
        assert!(single(&|plan| plan
            .operations_mut()
            .unwrap()
            .channels
            .amp2[0][0][0] = elsewhere));
        assert!(single(&|plan| plan.operations_mut().unwrap().amplitudes
            [0]
        .opcode = Opcode::Dots));
        // The leg that differs contributes to both factors of a product.
        let apart = |plan: &mut Plan| {
            let operand = &mut plan.operations_mut().unwrap().amplitudes[0].operands;
            operand[1] = operand[0];
        };
        let mut plan = list.clone();
        apart(&mut plan);
        let groups = Groups::new(&plan, &process, plan.vectors);
        for group in groups.helicities.iter().filter(|group| group.len() == 2) {
            assert!(shares(&plan, group[0], group[1]));
        }
    }
}
