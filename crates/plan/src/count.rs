//! Operation counts of a plan.
//!
//! The multiply-adds of each operation come from the table of operations ([`mebridge_ops::opcode`]). Couplings, momenta
//! and external wavefunctions are not counted, nor are colour sums, for which see
//! [`crate::color::BlockDiagonal::multiply_adds`]. The counts serve to compare plans with each other, and throughput
//! with the hardware's peak.

use super::Plan;
use mebridge_ops::Batch;
use mebridge_ops::opcode::{Consumed, Operands};
use mebridge_ops::visit::{Access, visit};
use serde::{Deserialize, Serialize};

/// Operation counts for one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Off-shell wavefunctions, summed over helicities.
    pub currents: usize,
    /// Amplitudes, or products at the root of a recursion, summed over helicities.
    pub amplitudes: usize,
    /// Terms of JAMP sums, summed over helicities.
    pub jamp_terms: usize,
    /// Distinct momenta of internal lines.
    pub momenta: usize,
    /// Distinct propagators.
    pub propagators: usize,
    /// Vectors of memory.
    pub vectors: usize,
    /// Multiply-adds in wavefunctions, amplitudes and JAMPs.
    pub multiply_adds: usize,
    /// Multiply-adds in squared single diagrams, which are needed only for calls with channels.
    pub squares: usize,
}

impl Count {
    /// Counts the operations of a plan.
    pub fn new(plan: &Plan) -> Count {
        let operations = plan.operations();
        let helicities = plan.helicities.len();
        let tiles = operations.tiles.iter().flat_map(|tile| &tile.currents);
        let currents = operations.currents.iter().chain(tiles).map(work);
        let (currents, in_currents) = currents.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let amplitudes = operations.amplitudes.iter().map(work);
        let (amplitudes, in_amplitudes) = amplitudes.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let jamp_terms = helicities * operations.jamp.len();
        let in_loops = plan.loops().map(|loops| loops.work()).unwrap_or_default();
        Count {
            currents: currents + in_loops.0,
            amplitudes: helicities * amplitudes + in_loops.1,
            jamp_terms,
            momenta: plan.momenta.len(),
            propagators: plan.propagators.len(),
            vectors: plan.vectors as usize,
            multiply_adds: in_currents + helicities * in_amplitudes + 2 * jamp_terms + in_loops.2,
            squares: operations
                .channels
                .squares
                .iter()
                .map(|b| work(b).1)
                .sum::<usize>()
                + 2 * helicities * operations.channels.amp2.iter().flatten().count(),
        }
    }
}

/// Cost of a term of a JAMP sum in addition to its two multiply-adds, in multiply-adds: it is dominated by loads.
/// Measured at 512z on gg -> ttbar + 1, 2 and 3 gluons by running both kinds of plans.
const JAMP_TERM_LOADS: usize = 6;

impl Count {
    /// The cost of a plan in multiply-adds, for comparison with other plans of the process.
    pub fn cost(&self) -> usize {
        self.multiply_adds + JAMP_TERM_LOADS * self.jamp_terms
    }

    /// The cost for calls with channels.
    pub fn cost_with_channels(&self) -> usize {
        self.cost() + self.squares
    }
}

/// Number of results of a batch, and its multiply-adds.
fn work(batch: &Batch) -> (usize, usize) {
    let opcode = batch.opcode;
    if !matches!(opcode.operands(), Some(Operands::Stream { .. })) {
        return (
            batch.len(),
            batch.len() * opcode.multiply_adds(Consumed::default()),
        );
    }
    let (mut results, mut all) = (0, 0);
    let mut read = Consumed::default();
    let mut begins = true;
    let whole = visit(batch, &[], false, &mut |operand, access| {
        read.operand(operand, access, std::mem::take(&mut begins));
        if matches!(access, Access::Write(_) | Access::Update(_)) {
            results += 1;
            all += opcode.multiply_adds(std::mem::take(&mut read));
            begins = true;
        }
    });
    debug_assert!(
        whole.is_some(),
        "{:?} ends within an operation",
        batch.opcode
    );
    (results, all)
}
