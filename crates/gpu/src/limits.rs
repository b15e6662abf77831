//! Processes that only the CPU runs.
//!
//! Device code holds scalars, spinors and vectors, takes JAMP2 to be |JAMP|^2 and contributions of helicities to
//! be positive and to count alike.

use mebridge_process::{Amplitudes, HelicitySum, Process, Wavefunction};

/// What of a process the device code lacks, if anything.
pub fn lacks(process: &Process) -> Option<&'static str> {
    if process.helicity_sum != HelicitySum::Positive || !process.flow_weights.is_empty() {
        return Some("split coupling orders (squared orders such as QCD^2==2)");
    }
    if !process.beam_weights.is_empty() {
        return Some("polarised beams");
    }
    let large = process.wavefunctions.iter().any(|w| match w {
        Wavefunction::External(e) => e.kind.components() > 6,
        Wavefunction::Internal(v) => process.routines[v.routine as usize].outputs.len() > 6,
    });
    if large {
        return Some("particles of spin 3/2 or 2");
    }
    let boson =
        matches!(&process.amplitudes, Amplitudes::ColorOrdered(form) if form.boson.is_some());
    boson.then_some("a colour-ordered form with a particle without colour")
}
