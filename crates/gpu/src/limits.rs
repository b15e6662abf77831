//! Processes that only the CPU supports.
//!
//! Device code assumes that all helicities contribute with equal weight.

use mebridge_plan::binding::{Binding, Coupling};
use mebridge_process::{Process, Wavefunction, running};
use mebridge_support::error::{Error, Result};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Returns the first feature of a process that device code lacks, if any.
pub fn missing_feature(process: &Process) -> Option<&'static str> {
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
    odd.then_some("wavefunctions of other than 1, 4 or 16 components")
}

/// Returns whether samples of a process can run on a GPU, with the values of its own param card.
///
/// Couplings that are not polynomials in the strong coupling are computed by the CPU, which has no access to a sample's
/// alpha_s.
pub fn check_samples(process: &Process) -> Result<()> {
    if let Some(what) = missing_feature(process) {
        return Err(Error::NotOnGpu { what: what.into() });
    }
    let model = &process.model;
    let couplings = Binding::new(model, &model.default_card())?.couplings;
    let named = model.couplings.iter().zip(couplings);
    let Some((coupling, _)) = named
        .into_iter()
        .find(|(_, follows)| *follows == Coupling::Formula)
    else {
        return Ok(());
    };
    let mut what = format!(
        "{} of `{}`, a coupling that is no polynomial in the strong one",
        coupling.name, process.name
    );
    let blocks = model.card.iter().filter_map(running::entry);
    for block in blocks.map(|(block, _)| block).collect::<BTreeSet<_>>() {
        let block = block.to_ascii_uppercase();
        let _ = write!(
            what,
            " (parameters of block {block} run: give them one scale by entry 2 of block RUNNING_{block}, or by \
             fixed_extra_scale of a run card)"
        );
    }
    Err(Error::NotOnGpu { what: what.into() })
}
