//! Finds matrix elements that vanish identically, for example because a coupling is zero or amplitudes cancel: their
//! |M|^2 is only rounding, and they have no events.

use crate::backend::SessionMemory;
use crate::bridge::Bridge;
use crate::error::Result;
use crate::plan::binding::Binding;
use crate::process::Process;
use crate::sample::{Momenta, Points};
use crate::trial::Trial;

/// Smallest relative change of a rounding error under the rotation about the z axis.
const CHANGE: f64 = 0.01;
/// Cosine and sine of the rotation angle.
const TURN: [f64; 2] = [0.6, 0.8];

/// Whether |M|^2 is only rounding: a rotation about the z axis, which does not change a true |M|^2, changes most of its
/// values. If helicities contribute with both signs and calls return the sum of absolute values, the plain sum decides.
pub(super) fn vanishes(bridge: &mut Bridge, process: &Process, card: &[f64]) -> Result<bool> {
    if bridge.cancels() {
        return Ok(true);
    }
    let Some(trial) = Trial::new(process, &Binding::new(&process.model, card)?) else {
        return Ok(false);
    };
    let points = trial.points();
    let momenta = points.momenta.to_rows();
    let turned = momenta.as_chunks::<4>().0.iter();
    let turned = turned.flat_map(|&[e, x, y, z]| {
        let [cos, sin] = TURN;
        [e, cos * x - sin * y, sin * x + cos * y, z]
    });
    let turned: Vec<f64> = turned.collect();
    let mut sampler = bridge.sampler(true, &SessionMemory::default())?;
    let mut squared = |momenta: &[f64]| {
        let momenta = Momenta::rows(momenta, process.legs.len());
        sampler.squared(Points { momenta, ..points })
    };
    let pairs = squared(&momenta)?.into_iter().zip(squared(&turned)?);
    let changed: Vec<bool> = pairs
        .map(|(one, other)| (one - other).abs() >= CHANGE * f64::max(one.abs(), other.abs()))
        .collect();
    let count = changed.iter().filter(|&&changed| changed).count();
    Ok(2 * count > changed.len())
}
