//! Validation: whether a plan can be executed safely.
//!
//! Engines follow the addresses and table indices of a plan without checks. This module checks, for compiled plans as
//! well as those from files, that no address is outside of the plan's memory and no index out of range, and that the
//! plan fits the process. A [`ValidPlan`] is the proof, and the only input that an engine accepts.

use super::amplitudes::amp2_index;
use super::sums::Sum;
use super::{Body, External, Plan, Virtuality};
use mebridge_ops::opcode::{Layout, Opcode};
use mebridge_ops::visit::{Access, visit};
use mebridge_ops::{Address, Batch};
use mebridge_process::Process;
use mebridge_support::error::{Error, Result};
use std::collections::HashSet;
use std::ops::Deref;

/// Maximum number of vectors of a plan, so that vectors appended by the engine can still be addressed.
const MAX_VECTORS: u32 = 1 << 30;
/// Largest absolute helicity supported for external wavefunctions (see [`mebridge_process::external`]).
const MAX_HELICITY: u8 = 4;

/// A plan that has been validated, and cannot be changed any more.
#[derive(Clone, Debug)]
pub struct ValidPlan(Plan);

impl Deref for ValidPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

impl ValidPlan {
    /// Returns the plan for modification.
    pub fn into_inner(self) -> Plan {
        self.0
    }
}

impl Plan {
    /// Checks that an engine of this process can execute the plan. Numerical values are not checked.
    ///
    /// # Errors
    /// [`Error::InvalidProcess`] if the plan is for another process, or if any of its addresses or indices is out of
    /// range.
    pub fn validate(self, process: &Process) -> Result<ValidPlan> {
        let valid = self.is_for(process)
            && self.vectors <= MAX_VECTORS
            && self.event_valid(process)
            && self.operations_valid()
            && self.jamps_valid()
            && match &self.body {
                Body::Operations(_) => !process.is_color_ordered(),
                Body::Loops(loops) => process.is_color_ordered() && loops.is_valid(&self),
            }
            && self.channels_valid(process);
        match valid {
            true => Ok(ValidPlan(self)),
            false => Err(Error::InvalidProcess {
                what: "a plan of another process".into(),
            }),
        }
    }

    /// Whether the plan has the legs, helicities, couplings, colour flows and routines of the process.
    pub fn is_for(&self, process: &Process) -> bool {
        let helicities = &self.helicities;
        let known = |&h: &u32| (h as usize) < process.helicities.len();
        let mut seen = vec![false; helicities.len()];
        let mut once = |h: &u32| {
            let seen = seen.get_mut(*h as usize);
            seen.is_some_and(|seen| !std::mem::replace(seen, true))
        };
        helicities.iter().all(known)
            && match &self.body {
                Body::Operations(operations) => operations.tables.len() == helicities.len(),
                Body::Loops(_) => true,
            }
            && self.flows == process.amplitudes.jamps()
            && self.masses.len() == process.legs.len()
            && self.couplings.len() == process.model.couplings.len()
            && self.groups().iter().all(|g| matches!(g.len(), 1 | 2))
            && self.groups().iter().flatten().all(&mut once)
            && seen.iter().all(|&seen| seen)
            && self.operations().general.iter().all(|general| {
                let mut routines = process.routines.iter();
                routines.any(|routine| *routine == general.routine)
            })
    }

    /// Whether `vectors` vectors starting at an address are within the plan's memory.
    fn holds(&self, address: Address, vectors: u32) -> bool {
        u64::from(address) + u64::from(vectors) <= u64::from(self.vectors)
    }

    /// Whether this also holds for the second helicity of groups of two.
    fn holds_for_all(&self, address: Address, vectors: u32) -> bool {
        let shift = if self.has_pairs() {
            self.operations().pair_stride
        } else {
            0
        };
        address
            .checked_add(shift)
            .is_some_and(|last| self.holds(last, vectors))
    }

    fn has_pairs(&self) -> bool {
        self.groups().iter().any(|group| group.len() == 2)
    }

    /// Checks the numbers that are computed once per event.
    fn event_valid(&self, process: &Process) -> bool {
        let legs = process.legs.len();
        let coupling = |term: &(u32, _)| (term.0 as usize) < self.couplings.len();
        let external = |e: &External| {
            let vectors = 2 * (e.kind.components() - 2);
            (e.leg as usize) < legs
                && e.sign.unsigned_abs() == 1
                && e.helicities.len() == e.results.len()
                && e.helicities
                    .iter()
                    .all(|h| h.unsigned_abs() <= MAX_HELICITY)
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
                .squares
                .iter()
                .all(|square| self.holds(square.address, 1) && (square.leg as usize) < legs)
            && self.products.iter().all(|product| {
                self.holds(product.address, 2)
                    && product.legs.iter().all(|&leg| (leg as usize) < legs)
                    && product.squares.iter().all(|&square| self.holds(square, 1))
            })
            && self.propagators.iter().all(|p| {
                let mut parts = p.virtuality.iter().flat_map(Virtuality::addresses);
                self.holds(p.address, 2)
                    && p.virtuality
                        .as_ref()
                        .is_none_or(|line| !line.terms.is_empty())
                    && self.holds(p.momentum, 4)
                    && parts.all(|(part, count)| self.holds(part, count))
            })
            && self.factors.iter().all(|f| {
                self.holds(f.address, 2)
                    && f.terms.iter().all(coupling)
                    && f.propagator.is_none_or(|p| self.holds(p, 2))
            })
            && self.externals.iter().all(external)
    }

    /// Checks the batches, and the groups at which tiles begin.
    fn operations_valid(&self) -> bool {
        // For each table entry the number of vectors that amplitudes read.
        let lines = self
            .operations()
            .tables
            .iter()
            .map(Vec::len)
            .min()
            .unwrap_or(0);
        let mut looked = vec![0u32; lines];
        let currents = self.operations().currents.iter();
        let squares = self.operations().channels.squares.iter();
        let direct = |batch: &Batch| {
            !self.gives_amplitudes(batch) && self.batch_valid(batch, false, &mut |_, _| false)
        };
        let looking = |batch: &Batch| {
            self.gives_amplitudes(batch)
                && (batch.opcode == Opcode::Dots || !self.has_pairs())
                && self.batch_valid(batch, true, &mut |line, vectors| {
                    let looked = looked.get_mut(line as usize);
                    looked
                        .map(|looked| *looked = vectors.max(*looked))
                        .is_some()
                })
        };
        let tiles = self
            .operations()
            .tiles
            .iter()
            .flat_map(|tile| &tile.currents);
        currents.chain(squares.clone()).chain(tiles).all(direct)
            && self
                .operations()
                .tiles
                .is_sorted_by(|a, b| a.group < b.group)
            && self
                .operations()
                .tiles
                .iter()
                .all(|tile| (tile.group as usize) < self.operations().groups.len())
            && squares
                .clone()
                .all(|batch| !matches!(batch.opcode, Opcode::General(_)))
            && self.operations().amplitudes.iter().all(looking)
            && self.operations().tables.iter().all(|table| {
                let mut lines = table.iter().zip(&looked);
                lines.all(|(&at, &vectors)| vectors == 0 || self.holds(at, vectors))
            })
    }

    /// Whether a batch is allowed among the amplitudes.
    fn gives_amplitudes(&self, batch: &Batch) -> bool {
        match batch.opcode {
            Opcode::Dots => true,
            Opcode::General(i) => {
                let general = self.operations().general.get(i as usize);
                general.is_some_and(|g| g.routine.is_amplitude())
            }
            opcode => opcode.layout().is_some_and(|layout| layout.amplitude),
        }
    }

    /// Whether all operations are well-formed and refer only to addresses of the plan; `look` checks indices of
    /// wavefunctions.
    fn batch_valid(
        &self,
        batch: &Batch,
        tables: bool,
        look: &mut impl FnMut(u32, u32) -> bool,
    ) -> bool {
        let layout = match batch.opcode {
            Opcode::General(i) => {
                let general = self.operations().general.get(i as usize);
                general.map(|g| Layout::of_routine(&g.routine))
            }
            opcode => opcode.layout(),
        };
        let mut good = layout.is_none_or(|layout| layout.len() == batch.stride);
        let whole = visit(
            batch,
            &self.operations().general,
            tables,
            &mut |at, access| {
                good &= match access {
                    Access::Number => true,
                    Access::Indexed(vectors) => look(at, vectors),
                    Access::Write(vectors) if tables => self.holds_for_all(at, vectors),
                    Access::Read(vectors) | Access::Write(vectors) | Access::Update(vectors) => {
                        self.holds(at, vectors)
                    }
                }
            },
        );
        whole.is_some() && good
    }

    /// Checks the sums that give JAMPs.
    fn jamps_valid(&self) -> bool {
        let jamp = &self.operations().jamp;
        let complex = |&at: &Address| self.holds_for_all(at, 2);
        let flows = u32::try_from(2 * self.flows);
        let count =
            |of: fn(&Sum) -> u32| jamp.sums.iter().map(|sum| of(sum) as usize).sum::<usize>();
        let units = |sum: &Sum| {
            sum.units
                .iter()
                .fold(0, |all: u32, &n| all.saturating_add(n))
        };
        count(units) == jamp.units.len()
            && count(|sum| sum.terms) == jamp.terms.len()
            && jamp.sums.iter().all(|sum| complex(&sum.address))
            && jamp.units.iter().all(complex)
            && jamp
                .terms
                .iter()
                .all(|t| self.holds_for_all(t.re, 1) && self.holds_for_all(t.im, 1))
            && flows.is_ok_and(|flows| self.holds_for_all(self.jamp_base, flows))
    }

    /// Checks AMP2: the plan has those of the process, or none.
    fn channels_valid(&self, process: &Process) -> bool {
        let channels = &self.operations().channels;
        let (sets, tables) = amp2_index(process);
        let amp2 = channels.amp2.iter().flatten();
        let square = |square: &Vec<Address>| {
            !square.is_empty() && square.iter().all(|&at| self.holds_for_all(at, 2))
        };
        let one_way = match channels.amp2.is_empty() {
            true => channels.totals.is_empty() == channels.squares.is_empty(),
            false => channels.totals.is_empty() && channels.squares.is_empty(),
        };
        let tables_fit = channels.len() == sets.len()
            && channels.denominator == tables.denominator
            && channels.amp2_of_diagram == tables.amp2_of_diagram;
        let (some, all) = (self.quantities_without_squares(), self.quantities());
        let counts_fit = some.momenta <= all.momenta
            && some.propagators <= all.propagators
            && some.factors <= all.factors;
        one_way
            && counts_fit
            && (tables_fit || channels.is_empty())
            && { amp2 }.all(square)
            && channels.totals.iter().all(|&at| self.holds(at, 1))
    }

    /// Whether the plan computes the AMP2 of the process.
    pub fn has_channels_of(&self, process: &Process) -> bool {
        let diagrams = process.channels.amp2.iter().map(|amp2| amp2.diagram);
        self.operations().channels.len() == diagrams.collect::<HashSet<_>>().len()
    }
}
