//! Whether a plan that was read from a file can be run.
//!
//! Engines follow the addresses of a plan without looking, and index by its tables. A plan that comes
//! from the planner is in order; of one that comes from a file this is seen here: no address lies
//! outside of its memory, no index outside of its table, and it is one for the process.

use super::compile::amp2_index;
use super::{External, Plan};
use crate::ops::opcode::{Layout, Opcode};
use crate::ops::visit::{Access, visit};
use crate::ops::{Address, Batch};
use crate::process::Process;
use std::collections::HashSet;

/// Most vectors of a plan: what the engine puts behind them still has addresses.
const MOST_VECTORS: u32 = 1 << 30;
/// Largest helicity, up to the sign, that external wavefunctions know (see
/// [`crate::process::external`]).
const LARGEST_HELICITY: u8 = 4;

impl Plan {
    /// Whether this is a plan of that process for these helicities which can be run. What it
    /// computes is not looked at.
    pub fn fits(&self, process: &Process, helicities: &[u32]) -> bool {
        self.is_for(process, helicities)
            && self.vectors <= MOST_VECTORS
            && self.event_in_order(process)
            && self.operations_in_order()
            && self.jamps_in_order()
            && self.channels_in_order(process)
    }

    fn is_for(&self, process: &Process, helicities: &[u32]) -> bool {
        let mut seen = vec![false; helicities.len()];
        let mut once = |h: &u32| {
            let seen = seen.get_mut(*h as usize);
            seen.is_some_and(|seen| !std::mem::replace(seen, true))
        };
        self.helicities == helicities
            && self.tables.len() == helicities.len()
            && self.flows == process.color.flows as usize
            && self.masses.len() == process.legs.len()
            && self.couplings.len() == process.model.couplings.len()
            && self.groups.iter().all(|g| matches!(g.len(), 1 | 2))
            && self.groups.iter().flatten().all(&mut once)
            && seen.iter().all(|&seen| seen)
            && self.general.iter().all(|general| {
                let mut routines = process.routines.iter();
                routines.any(|routine| *routine == general.routine)
            })
    }

    /// Whether so many vectors from an address on belong to the plan.
    fn holds(&self, address: Address, vectors: u32) -> bool {
        u64::from(address) + u64::from(vectors) <= u64::from(self.vectors)
    }

    /// The same, for the second helicity of a group where there are groups of two.
    fn holds_for_all(&self, address: Address, vectors: u32) -> bool {
        let shift = if self.has_pairs() { self.region } else { 0 };
        address
            .checked_add(shift)
            .is_some_and(|last| self.holds(last, vectors))
    }

    fn has_pairs(&self) -> bool {
        self.groups.iter().any(|group| group.len() == 2)
    }

    /// What is computed once an event.
    fn event_in_order(&self, process: &Process) -> bool {
        let legs = process.legs.len();
        let coupling = |term: &(u32, _)| (term.0 as usize) < self.couplings.len();
        let external = |e: &External| {
            let vectors = 2 * (e.kind.components() - 2);
            (e.leg as usize) < legs
                && e.sign.unsigned_abs() == 1
                && e.helicities.len() == e.results.len()
                && e.helicities
                    .iter()
                    .all(|h| h.unsigned_abs() <= LARGEST_HELICITY)
                && e.results.iter().all(|&to| self.holds(to, vectors))
        };
        self.holds(self.leg_momenta, 4 * legs as u32)
            && self.constants.iter().all(|&(to, _)| self.holds(to, 1))
            && self.couplings.iter().all(|&to| self.holds(to, 2))
            && self
                .momenta
                .iter()
                .all(|sum| self.holds(sum.address, 4) && sum.signs.len() == legs)
            && self
                .propagators
                .iter()
                .all(|p| self.holds(p.address, 2) && self.holds(p.momentum, 4))
            && self.factors.iter().all(|f| {
                self.holds(f.address, 2)
                    && f.terms.iter().all(coupling)
                    && f.propagator.is_none_or(|p| self.holds(p, 2))
            })
            && self.externals.iter().all(external)
    }

    /// The batches, and the groups ahead of which turns are taken.
    fn operations_in_order(&self) -> bool {
        // For each wavefunction the vectors that amplitudes look at.
        let lines = self.tables.iter().map(Vec::len).min().unwrap_or(0);
        let mut looked = vec![0u32; lines];
        let currents = self.currents.iter();
        let squares = self.channels.squares.iter();
        let direct = |batch: &Batch| {
            !self.gives_amplitudes(batch) && self.batch_in_order(batch, false, &mut |_, _| false)
        };
        let looking = |batch: &Batch| {
            self.gives_amplitudes(batch)
                && (batch.opcode == Opcode::Dots || !self.has_pairs())
                && self.batch_in_order(batch, true, &mut |line, vectors| {
                    let looked = looked.get_mut(line as usize);
                    looked
                        .map(|looked| *looked = vectors.max(*looked))
                        .is_some()
                })
        };
        let turns = self.turns.iter().flat_map(|turn| &turn.currents);
        currents.chain(squares.clone()).chain(turns).all(direct)
            && self.turns.is_sorted_by(|a, b| a.group < b.group)
            && self
                .turns
                .iter()
                .all(|turn| (turn.group as usize) < self.groups.len())
            && squares
                .clone()
                .all(|batch| !matches!(batch.opcode, Opcode::General(_)))
            && self.amplitudes.iter().all(looking)
            && self.tables.iter().all(|table| {
                let mut lines = table.iter().zip(&looked);
                lines.all(|(&at, &vectors)| vectors == 0 || self.holds(at, vectors))
            })
    }

    /// Whether the kernel of a batch belongs among the amplitudes.
    fn gives_amplitudes(&self, batch: &Batch) -> bool {
        match batch.opcode {
            Opcode::Dots => true,
            Opcode::General(i) => {
                let general = self.general.get(i as usize);
                general.is_some_and(|g| g.routine.is_amplitude())
            }
            opcode => opcode.layout().is_some_and(|layout| layout.amplitude),
        }
    }

    /// Whether all operations are whole and name only addresses of the plan; `look` judges numbers
    /// of wavefunctions.
    fn batch_in_order(
        &self,
        batch: &Batch,
        tables: bool,
        look: &mut impl FnMut(u32, u32) -> bool,
    ) -> bool {
        let layout = match batch.opcode {
            Opcode::General(i) => {
                let general = self.general.get(i as usize);
                general.map(|g| Layout::of_routine(&g.routine))
            }
            opcode => opcode.layout(),
        };
        let mut good = layout.is_none_or(|layout| layout.len() == batch.stride);
        let whole = visit(batch, &self.general, tables, &mut |at, access| {
            good &= match access {
                Access::Number => true,
                Access::Indexed(vectors) => look(at, vectors),
                Access::Write(vectors) if tables => self.holds_for_all(at, vectors),
                Access::Read(vectors) | Access::Write(vectors) | Access::Update(vectors) => {
                    self.holds(at, vectors)
                }
            }
        });
        whole.is_some() && good
    }

    /// From amplitudes to JAMP.
    fn jamps_in_order(&self) -> bool {
        let jamp = &self.jamp;
        let complex = |&at: &Address| self.holds_for_all(at, 2);
        let flows = u32::try_from(2 * self.flows);
        jamp.sums.iter().all(|sum| complex(&sum.address))
            && jamp.units.iter().all(complex)
            && jamp
                .terms
                .iter()
                .all(|t| self.holds_for_all(t.re, 1) && self.holds_for_all(t.im, 1))
            && flows.is_ok_and(|flows| self.holds_for_all(self.jamp_base, flows))
    }

    /// AMP2: all of the process, or none.
    fn channels_in_order(&self, process: &Process) -> bool {
        let channels = &self.channels;
        let (sets, tables) = amp2_index(process);
        let amp2 = channels.amp2.iter().flatten();
        let square = |square: &Vec<Address>| {
            !square.is_empty() && square.iter().all(|&at| self.holds(at, 2))
        };
        let one_way = match channels.amp2.is_empty() {
            true => channels.totals.is_empty() == channels.squares.is_empty(),
            false => channels.totals.is_empty() && channels.squares.is_empty(),
        };
        let tables_fit = channels.len() == sets.len()
            && channels.denominator == tables.denominator
            && channels.amp2_of_diagram == tables.amp2_of_diagram;
        one_way
            && (tables_fit || channels.is_empty())
            && { amp2 }.all(square)
            && channels.totals.iter().all(|&at| self.holds(at, 1))
    }

    /// Whether the plan computes the AMP2 that the process has.
    pub fn has_channels_of(&self, process: &Process) -> bool {
        let diagrams = process.channels.amp2.iter().map(|amp2| amp2.diagram);
        self.channels.len() == diagrams.collect::<HashSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Split;
    use crate::cpu::{Engine, Team};
    use crate::events::Events;
    use crate::import::import_directory;
    use crate::ops::GeneralRoutine;
    use crate::plan::binding::Binding;
    use crate::plan::passes::{Pass, plan_after};
    use crate::plan::{compile, recursion, slots, turns};
    use crate::process::example;
    use crate::simd::Level;
    use proptest::prelude::*;
    use std::path::Path;

    struct Made {
        process: Process,
        binding: Binding,
        plans: Vec<Plan>,
        all: Vec<u32>,
    }

    fn make(process: Process) -> Made {
        let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let mut plans = vec![compile(&process, &binding, &all).unwrap()];
        plans.extend(recursion::compile(&process, &binding, &all));
        if let Some(mut plan) = plan_after(Pass::Conjugates, &process, &binding, &all).unwrap() {
            turns::cut(&mut plan, 4).unwrap();
            slots::reuse(&mut plan).unwrap();
            plans.push(plan);
        }
        Made {
            process,
            binding,
            plans,
            all,
        }
    }

    fn gg_ttx() -> Made {
        let directory = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/fortran/gg_ttx/SubProcesses/P1_gg_ttx"
        );
        make(import_directory(Path::new(directory)).unwrap().remove(0))
    }

    #[test]
    fn plans_of_the_planner_fit() {
        let made = gg_ttx();
        assert_eq!(made.plans.len(), 3);
        for plan in &made.plans {
            assert!(plan.fits(&made.process, &made.all));
            assert!(plan.has_channels_of(&made.process));
            assert!(!plan.fits(&made.process, &made.all[1..]));
            assert!(!plan.fits(&example::scalars(), &made.all));
        }
        let scalars = make(example::scalars());
        assert!(scalars.plans[0].fits(&scalars.process, &scalars.all));
    }

    #[test]
    fn an_address_outside_of_the_memory_is_seen() {
        let made = gg_ttx();
        for plan in &made.plans {
            // Whatever the last vectors are for, without them something lies outside.
            let short = Plan {
                vectors: plan.vectors - 1,
                ..plan.clone()
            };
            assert!(!short.fits(&made.process, &made.all));
            for batch in 0..plan.currents.len() {
                let mut bad = plan.clone();
                *bad.currents[batch].operands.last_mut().unwrap() = plan.vectors - 1;
                assert!(!bad.fits(&made.process, &made.all));
                bad.currents[batch].operands.pop();
                assert!(!bad.fits(&made.process, &made.all));
            }
            for turn in 0..plan.turns.len() {
                let mut bad = plan.clone();
                let batch = bad.turns[turn].currents.last_mut().unwrap();
                *batch.operands.last_mut().unwrap() = plan.vectors - 1;
                assert!(!bad.fits(&made.process, &made.all));
                let mut bad = plan.clone();
                bad.turns[turn].group = plan.groups.len() as u32;
                assert!(!bad.fits(&made.process, &made.all));
                let mut bad = plan.clone();
                bad.turns.swap(0, turn);
                assert_eq!(bad.fits(&made.process, &made.all), turn == 0);
            }
            let mut bad = plan.clone();
            bad.tables.last_mut().unwrap().fill(Address::MAX);
            assert!(!bad.fits(&made.process, &made.all));
            bad.tables[0].clear();
            assert!(!bad.fits(&made.process, &made.all));
            let mut bad = plan.clone();
            bad.couplings[0] = Address::MAX - 1;
            assert!(!bad.fits(&made.process, &made.all));
            let mut bad = plan.clone();
            bad.jamp_base = plan.vectors;
            assert!(!bad.fits(&made.process, &made.all));
            // The same batch among the amplitudes.
            let mut bad = plan.clone();
            bad.amplitudes.push(plan.currents[0].clone());
            assert!(!bad.fits(&made.process, &made.all));
            let mut bad = plan.clone();
            bad.channels.squares.push(plan.amplitudes[0].clone());
            assert!(!bad.fits(&made.process, &made.all));
            let mut bad = plan.clone();
            bad.groups[0] = vec![plan.helicities.len() as u32];
            assert!(!bad.fits(&made.process, &made.all));
            // A routine that the process does not have.
            let mut bad = plan.clone();
            bad.general.push(GeneralRoutine {
                routine: example::scalars().routines.remove(0),
                massless: false,
            });
            assert!(!bad.fits(&made.process, &made.all));
        }
    }

    /// Runs a plan, whatever it computes.
    fn run(made: &Made, plan: Plan) {
        let color = Split::new(&made.process.color);
        let (process, binding) = (&made.process, &made.binding);
        let engine = Engine::<f64>::new(process, &color, binding, plan, Level::best(), false);
        let mut team = Team::new(engine.unwrap(), 1).unwrap();
        let (e, p) = (500.0, (500.0f64.powi(2) - 173.0 * 173.0).sqrt());
        let momenta = [
            [e, 0.0, 0.0, e],
            [e, 0.0, 0.0, -e],
            [e, 0.6 * p, 0.0, 0.8 * p],
            [e, -0.6 * p, 0.0, -0.8 * p],
        ];
        let events = Events {
            momenta: momenta.as_flattened(),
            g_s: &[1.2],
            random_helicity: &[0.5],
            random_color: &[0.5],
            channels: None,
            igraph: None,
        };
        // The damage may have made the masses others.
        let _ = team.parts(events, 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn a_damaged_plan_that_fits_can_be_run(
            which in 0usize..3,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            thread_local! {
                static MADE: Made = gg_ttx();
            }
            MADE.with(|made| {
                let mut bytes = postcard::to_stdvec(&made.plans[which]).unwrap();
                for (at, value) in &changes {
                    let at = at.index(bytes.len());
                    bytes[at] = *value;
                }
                if let Ok(plan) = postcard::from_bytes::<Plan>(&bytes)
                    && plan.vectors < 1 << 20
                    && plan.fits(&made.process, &made.all)
                {
                    run(made, plan);
                }
            });
        }
    }
}
