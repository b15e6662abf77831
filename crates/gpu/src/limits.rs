//! Processes that only the CPU runs.
//!
//! Device code takes contributions of helicities to count alike.

use mebridge_process::{Amplitudes, Process, Wavefunction};

/// What of a process the device code lacks, if anything.
pub fn lacks(process: &Process) -> Option<&'static str> {
    if !process.beam_weights.is_empty() {
        return Some("polarised beams");
    }
    let odd = process.wavefunctions.iter().any(|w| match w {
        Wavefunction::External(_) => false,
        Wavefunction::Internal(v) => !matches!(
            process.routines[v.routine as usize].outputs.len(),
            3 | 6 | 18
        ),
    });
    if odd {
        return Some("wavefunctions of other than 1, 4 or 16 components");
    }
    let boson =
        matches!(&process.amplitudes, Amplitudes::ColorOrdered(form) if form.boson.is_some());
    boson.then_some("a colour-ordered form with a particle without colour")
}
