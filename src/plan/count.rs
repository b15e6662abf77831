//! How much work a plan is.
//!
//! Multiply-adds are counted by hand from what the kernels do, a complex product as four, a sum
//! as one for each part; couplings, momenta and external wavefunctions are left out, and so are
//! colour sums, which [`crate::color::Split::multiply_adds`] counts. The numbers serve to compare
//! plans with each other, and throughput with the hardware's peak.

use super::kernel::Kernel;
use super::walk::{self, Access, walk};
use super::{Batch, Plan};
use serde::{Deserialize, Serialize};

/// Work for one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Off-shell wavefunctions computed, over all helicities.
    pub currents: usize,
    /// Amplitudes, or products at the root of a recursion, over all helicities.
    pub amplitudes: usize,
    /// Terms of JAMP sums, over all helicities.
    pub jamp_terms: usize,
    /// Distinct momenta of inner lines.
    pub momenta: usize,
    /// Distinct propagators.
    pub propagators: usize,
    /// Vectors of memory.
    pub vectors: usize,
    /// Multiply-adds in wavefunctions, amplitudes and JAMP.
    pub multiply_adds: usize,
    /// Multiply-adds in squared single diagrams, which only calls with channels need.
    pub squares: usize,
}

impl Count {
    /// Counts the work of a plan.
    pub fn of(plan: &Plan) -> Count {
        let helicities = plan.helicities.len();
        let turns = plan.turns.iter().flat_map(|turn| &turn.currents);
        let currents = plan.currents.iter().chain(turns).map(work);
        let (currents, in_currents) = currents.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let amplitudes = plan.amplitudes.iter().map(work);
        let (amplitudes, in_amplitudes) = amplitudes.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let jamp_terms = helicities * plan.jamp.len();
        Count {
            currents,
            amplitudes: helicities * amplitudes,
            jamp_terms,
            momenta: plan.momenta.len(),
            propagators: plan.propagators.len(),
            vectors: plan.vectors as usize,
            multiply_adds: in_currents + helicities * in_amplitudes + 2 * jamp_terms,
            squares: plan
                .channels
                .squares
                .iter()
                .map(|b| work(b).1)
                .sum::<usize>()
                + 2 * helicities * plan.channels.amp2.iter().flatten().count(),
        }
    }
}

/// What a term of a JAMP sum costs beyond its two multiply-adds, in multiply-adds: it waits for
/// loads. Measured at 512z on gg -> ttbar + 1, 2 and 3 gluons by running both plans.
const JAMP_TERM_LOADS: usize = 6;

impl Count {
    /// What a plan costs, in multiply-adds, to compare it with another plan of the process.
    pub fn cost(&self) -> usize {
        self.multiply_adds + JAMP_TERM_LOADS * self.jamp_terms
    }

    /// The same for calls with channels.
    pub fn cost_with_channels(&self) -> usize {
        self.cost() + self.squares
    }
}

/// Number of results of a batch, and multiply-adds.
fn work(batch: &Batch) -> (usize, usize) {
    let fixed = |each: usize| (batch.len(), batch.len() * each);
    match batch.kernel {
        Kernel::DotSpinor0 | Kernel::DotVector0 => fixed(16),
        Kernel::Ffv0 => fixed(60),
        Kernel::Ffv1 | Kernel::Ffv2 => fixed(88),
        Kernel::Ffv3 => fixed(56),
        Kernel::FfvL0 | Kernel::FfvL3 => fixed(32),
        Kernel::FfvL1 | Kernel::FfvL2 => fixed(44),
        Kernel::FfvMassive3 | Kernel::FfvLrMassive3 => fixed(84),
        Kernel::FfvLMassive3 => fixed(60),
        Kernel::FfvLr0 => fixed(64),
        Kernel::FfvLr1 | Kernel::FfvLr2 => fixed(88),
        Kernel::FfvLr3 => fixed(56),
        Kernel::FfsLr0 => fixed(28),
        Kernel::FfsLr1 | Kernel::FfsLr2 => fixed(56),
        Kernel::FfsLr3 => fixed(24),
        Kernel::Vvv0 => fixed(100),
        Kernel::Vvv1 | Kernel::VvvMassive1 => fixed(92),
        Kernel::VvvvDiff0 => fixed(76),
        Kernel::VvvvDiff1 => fixed(72),
        Kernel::Vvvv0 => fixed(120),
        Kernel::Vvvv1 | Kernel::VvvvMassive1 => fixed(108),
        Kernel::General(_) => fixed(200),
        Kernel::SumFfv1 | Kernel::SumFfv2 => each_result(batch, |r| {
            // Without a momentum it is bare: a factor, no propagation.
            let propagation = if r.momenta > 0 { 32 } else { 0 };
            r.waves / 2 * 32 + FACTOR + propagation
        }),
        Kernel::SumFfv3 => each_result(batch, |r| r.waves / 2 * 48 + FACTOR),
        Kernel::SumVvv1 => each_result(batch, |r| {
            let three = r.momenta / 2;
            let four = (r.waves - 2 * three) / 3;
            let factors = if four > 0 { 2 * FACTOR } else { FACTOR };
            three * 72 + four * 96 + factors
        }),
        Kernel::SumVvvvDiff1 => each_result(batch, |r| r.waves / 3 * 64 + FACTOR),
        Kernel::Dots | Kernel::TraceSpinor | Kernel::TraceVector => each_result(batch, |_| 16),
        Kernel::Add => each_result(batch, |r| 8 * r.waves),
        Kernel::Conjugate | Kernel::MinusConjugate => each_result(batch, |_| 0),
        Kernel::DensitySpinor | Kernel::DensityVector => each_result(batch, |r| 32 * r.waves),
        _ => fixed(32),
    }
}

/// Multiply-adds of a factor times a wavefunction.
const FACTOR: usize = 16;

/// What a result is made of.
#[derive(Clone, Copy, Default)]
struct Read {
    /// Spinors and vectors.
    waves: usize,
    momenta: usize,
}

/// Number of results, and the work of all of them, for a kernel of no fixed length.
fn each_result(batch: &Batch, work: impl Fn(Read) -> usize) -> (usize, usize) {
    let (mut results, mut all) = (0, 0);
    let mut read = Read::default();
    let whole = walk(batch, &[], false, &mut |_, access| match access {
        Access::Read(walk::FOUR) => read.waves += 1,
        Access::Read(walk::MOMENTUM) => read.momenta += 1,
        Access::Write(_) | Access::Change(_) => {
            results += 1;
            all += work(std::mem::take(&mut read));
        }
        Access::Read(_) | Access::Look(_) | Access::Number => {}
    });
    debug_assert!(
        whole.is_some(),
        "{:?} ends within an operation",
        batch.kernel
    );
    (results, all)
}
