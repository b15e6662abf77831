//! How much work a plan is.
//!
//! Multiply-adds are counted by hand from what the kernels do, a complex product as four, a sum
//! as one for each part; couplings, momenta and external wavefunctions are left out, and so are
//! colour sums, which [`crate::color::Split::multiply_adds`] counts. The numbers serve to compare plans with each other, and throughput with the hardware's peak.

use super::kernel::{Kernel, Mode};
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
        let currents = plan.currents.iter().map(work);
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
        Kernel::SumFfv1 | Kernel::SumFfv2 => sums(batch, 3, 2, 4, 32, 48),
        Kernel::SumFfv3 => sums(batch, 3, 2, 2, 48, 16),
        Kernel::SumVvv1 => vectors(batch),
        Kernel::SumVvvvDiff1 => sums(batch, 2, 3, 2, 64, 16),
        Kernel::Dots => products(batch),
        Kernel::Add => additions(batch),
        Kernel::Conjugate | Kernel::MinusConjugate => (batch.operands.len() / 2, 0),
        Kernel::DensitySpinor | Kernel::DensityVector => densities(batch),
        Kernel::TraceSpinor | Kernel::TraceVector => {
            let results = batch.operands.len() / 3;
            (results, 16 * results)
        }
        _ => fixed(32),
    }
}

/// Work of [`Kernel::SumVvv1`].
fn vectors(batch: &Batch) -> (usize, usize) {
    let (mut results, mut all, mut at) = (0, 0, 0);
    while at < batch.operands.len() {
        let [three, plus, minus] = [1, 2, 3].map(|i| batch.operands[at + i] as usize);
        let four = plus + minus;
        results += 1;
        all += three * 72 + four * 96 + if four > 0 { 32 } else { 16 };
        at += 4 + 4 * three + 3 * four + 3;
    }
    (results, all)
}

/// Work of [`Kernel::DensitySpinor`] and [`Kernel::DensityVector`].
fn densities(batch: &Batch) -> (usize, usize) {
    let (mut results, mut all, mut at) = (0, 0, 0);
    while at < batch.operands.len() {
        let terms = batch.operands[at] as usize;
        results += 1;
        all += 32 * terms;
        at += 2 + terms;
    }
    (results, all)
}

/// Work of [`Kernel::Add`].
fn additions(batch: &Batch) -> (usize, usize) {
    let (mut results, mut all, mut at) = (0, 0, 0);
    while at < batch.operands.len() {
        let terms: u32 = batch.operands[at..at + 2].iter().sum();
        results += 1;
        all += 8 * terms as usize;
        at += 3 + terms as usize;
    }
    (results, all)
}

/// Multiply-adds of a factor times a wavefunction.
const FACTOR: usize = 16;

/// Work of [`Kernel::Dots`].
fn products(batch: &Batch) -> (usize, usize) {
    let (mut results, mut at) = (0, 0);
    while at < batch.operands.len() {
        let terms = batch.operands[at + 1] as usize;
        results += terms;
        at += 2 + 2 * terms;
    }
    (results, 16 * results)
}

/// Work of sums of vertices: a mode and counts of terms (`head` numbers in all), the terms, a tail.
fn sums(
    batch: &Batch,
    head: usize,
    term: usize,
    tail: usize,
    per_term: usize,
    per_sum: usize,
) -> (usize, usize) {
    let (mut results, mut all, mut at) = (0, 0, 0);
    while at < batch.operands.len() {
        let counts = &batch.operands[at + 1..at + head];
        let terms = counts.iter().sum::<u32>() as usize;
        results += 1;
        let bare = batch.operands[at] & Mode::BARE != 0;
        all += terms * per_term + if bare { FACTOR } else { per_sum };
        at += head + terms * term + tail;
    }
    (results, all)
}
