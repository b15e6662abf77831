//! Evaluation of several helicities at a time, for processes with few operations per helicity.
//!
//! In these processes decoding the operations takes longer than executing them, so helicities are evaluated in
//! portions. Each helicity of a portion has its own memory for amplitudes and JAMPs. The operations, JAMP sums and
//! squared diagrams of the whole portion form one sequence, as if they belonged to one helicity. Two helicities that
//! share a factor of each product ([`super::groups`]) stay together. All portions use the same memory, which stays in
//! the L1 cache.

use super::groups::{self, Groups};
use super::jamp::JampSums;
use super::squares::{ChannelSquares, ScratchAddresses, jamp2_of};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_plan::Plan;
use mebridge_plan::sums::{Sum, Sums};
use mebridge_simd::Real;

/// Upper bound on the vectors owned by the helicities of a portion: 16 KB at 512z, which leaves room for wavefunctions
/// in the L1 cache.
const MAX_VECTORS: u32 = 256;

/// The helicities of a plan, divided into portions.
pub(super) struct HelicityPortions<T> {
    pub(super) portions: Vec<Portion<T>>,
    /// Whether helicities are evaluated in pairs.
    pub(super) in_pairs: bool,
    /// Distance in vectors from the memory of the first helicities of the pairs to that of the second ones.
    pub(super) stride: u32,
    /// Vectors of memory needed in addition to those already taken.
    pub(super) vectors: u32,
}

/// Helicities that are evaluated together.
pub(super) struct Portion<T> {
    /// The operations of all groups.
    pub(super) batches: Vec<Batch>,
    /// Wavefunction tables for the first and for the second helicity of each group, concatenated.
    pub(super) tables: [Vec<Address>; 2],
    /// JAMP sums of the first helicities.
    pub(super) jamp: JampSums<T>,
    pub(super) amp2: ChannelSquares,
    /// Helicities, with the distance of their JAMPs from those of the plan.
    pub(super) helicities: Vec<(u32, u32)>,
}

/// Layout of the memory of a portion's helicities.
struct HelicityAddresses<'a> {
    plan: &'a Plan,
    /// First address after all other memory.
    taken: u32,
    /// The memory of one helicity in the plan: first address and number of vectors.
    first: Address,
    own: u32,
}

impl HelicityAddresses<'_> {
    /// Distance from a helicity's memory in the plan to its memory at `place` of a portion.
    fn shift(&self, place: usize) -> u32 {
        self.taken - self.first + self.own * place as u32
    }
}

impl<T: Real> HelicityPortions<T> {
    /// Divides the helicities of a plan into portions, with `taken` vectors already in use. `None` if each helicity has
    /// too many operations for that.
    pub(super) fn new(
        plan: &Plan,
        groups: &Groups,
        scratch: &ScratchAddresses,
        taken: u32,
        lanes: usize,
    ) -> Option<HelicityPortions<T>> {
        let groups = &groups.helicities;
        let (together, lines) = (
            groups.first()?.len(),
            plan.operations().tables.first()?.len(),
        );
        let alike = groups.iter().all(|group| group.len() == together)
            && plan
                .operations()
                .tables
                .iter()
                .all(|table| table.len() == lines);
        if plan.loops().is_some() || !plan.operations().tiles.is_empty() || !alike || together > 2 {
            return None;
        }
        let (first, end) = groups::of_one_helicity(plan)?;
        let own = end - first;
        let places = HelicityAddresses {
            plan,
            taken,
            first,
            own,
        };
        let most = (MAX_VECTORS / (own * together as u32)) as usize;
        // Makes portions of equal size, as far as possible.
        let portions = groups.len().div_ceil(most.max(1));
        let most = groups.len().div_ceil(portions);
        if most < 2 {
            return None;
        }
        let portions = groups.chunks(most);
        let portions = portions.map(|groups| Portion::new(groups, most, &places, scratch, lanes));
        Some(HelicityPortions {
            portions: portions.collect::<Option<_>>()?,
            in_pairs: together == 2,
            stride: own * most as u32,
            vectors: own * (most * together) as u32,
        })
    }
}

impl<T: Real> Portion<T> {
    /// Makes a portion of at most `most` groups.
    fn new(
        groups: &[Vec<u32>],
        most: usize,
        places: &HelicityAddresses,
        scratch: &ScratchAddresses,
        lanes: usize,
    ) -> Option<Portion<T>> {
        let plan = places.plan;
        let mut tables = [Vec::new(), Vec::new()];
        let mut helicities = Vec::new();
        let mut sums = Sums::default();
        let mut begins = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            begins.push(tables[0].len() as u32);
            let shift = places.shift(at);
            sums.sums
                .extend(plan.operations().jamp.sums.iter().map(|sum| Sum {
                    address: sum.address + shift,
                    ..*sum
                }));
            let units = plan.operations().jamp.units.iter();
            sums.units.extend(units.map(|unit| unit + shift));
            for term in &plan.operations().jamp.terms {
                let mut term = *term;
                term.re += shift;
                term.im += shift;
                sums.terms.push(term);
            }
            for (place, (&h, table)) in group.iter().zip(&mut tables).enumerate() {
                table.extend(&plan.operations().tables[h as usize]);
                helicities.push((h, places.shift(at + place * most)));
            }
        }
        let mut batches = Vec::new();
        for batch in &plan.operations().amplitudes {
            let mut operands = Vec::new();
            for (at, begin) in begins.iter().enumerate() {
                visit(
                    batch,
                    &plan.operations().general,
                    true,
                    &mut |operand, access| {
                        operands.push(match access {
                            Access::Indexed(_) => operand + begin,
                            Access::Write(_) | Access::Update(_) => operand + places.shift(at),
                            Access::Read(_) | Access::Number => operand,
                        });
                    },
                )?;
            }
            batches.push(Batch { operands, ..*batch });
        }
        let jamp2 = |address: Address| {
            let place = address.checked_sub(places.taken)? % places.own;
            jamp2_of(plan, scratch, places.first + place)
        };
        let shifts: Vec<u32> = helicities.iter().map(|it| it.1).collect();
        Some(Portion {
            batches,
            tables,
            jamp: JampSums::new(&sums, jamp2, lanes),
            amp2: ChannelSquares::new(plan.channels(), &shifts),
            helicities,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use mebridge_import::import_directory;
    use mebridge_plan::binding::Binding;
    use mebridge_plan::color::BlockDiagonal;
    use mebridge_plan::{compile, recursion};
    use mebridge_simd::Level;
    use std::path::Path;

    /// The numbers are checked by tests that compare plans; plans with tiles have no portions.
    #[test]
    fn helicities_have_places_of_their_own_behind_all_others() {
        let directory = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fortran/gg_ttx/SubProcesses/P1_gg_ttx"
        );
        let process = import_directory(Path::new(directory)).unwrap().remove(0);
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let color = BlockDiagonal::of_process(&process, false);
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let list = compile(&process, &binding, &all).unwrap();
        let recursion = recursion::compile(&process, &binding, &all).unwrap();
        for plan in [list, recursion] {
            let (first, end) = groups::of_one_helicity(&plan).unwrap();
            let plan = plan.validate(&process).unwrap();
            let engine = Engine::<f64>::new(&process, &color, &binding, plan, Level::None, false);
            let engine = engine.unwrap();
            let all = engine.at_once.as_ref().unwrap();
            assert!(all.in_pairs);
            let begin = engine.scratch.vectors - all.vectors;
            let mut evaluated: Vec<u32> = Vec::new();
            for portion in &all.portions {
                let mut shifts: Vec<u32> = portion.helicities.iter().map(|it| it.1).collect();
                shifts.sort_unstable();
                let apart = |two: &[u32]| two[1] - two[0] >= end - first;
                assert!(shifts.windows(2).all(apart));
                assert!(first + shifts[0] >= begin);
                assert!(end + shifts[shifts.len() - 1] <= engine.scratch.vectors);
                evaluated.extend(portion.helicities.iter().map(|it| it.0));
                let [one, two] = &portion.tables;
                assert!(one.len() == two.len() && portion.helicities.len() % 2 == 0);
                for batch in &portion.batches {
                    visit(batch, &[], true, &mut |operand, access| match access {
                        Access::Indexed(_) => assert!((operand as usize) < one.len()),
                        Access::Write(_) => assert!(operand >= begin),
                        _ => {}
                    })
                    .unwrap();
                }
            }
            evaluated.sort_unstable();
            assert_eq!(evaluated, (0..16).collect::<Vec<u32>>());
        }
    }
}
