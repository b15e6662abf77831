//! Lower bounds on masses that follow from windows.

use mebridge_phasespace::cuts::{GroupValue, Observable, Window};
use mebridge_support::sorted::{SortedMap, SortedSet};
use std::f64::consts::PI;

/// Returns an energy of the partons, GeV, below which no event lies in all windows.
///
/// Args: `masses` of all legs, GeV.
pub fn min_energy(windows: &[Window], masses: &[f64]) -> f64 {
    let outgoing: SortedSet<usize> = (2..masses.len()).collect();
    let mut found = min_mass(windows, masses, &outgoing);
    let momenta = least_momenta(windows);
    for window in windows
        .iter()
        .filter(|window| is_least(window, Observable::Mass))
    {
        let others = outgoing.iter().filter(|leg| !window.legs[0].contains(leg));
        found = found.max(window.least + others.map(|&leg| masses[leg]).sum::<f64>());
    }
    let energy = |&leg: &usize| masses[leg].hypot(momenta.get(&leg).copied().unwrap_or(0.0));
    found.max(outgoing.iter().map(energy).sum())
}

/// Returns an invariant mass of these legs, GeV, below which no event lies in all windows.
///
/// The squared mass of two massless legs is `2 pt pt' (cosh y - cos phi)`. If `y^2 + phi^2` is at least `R^2`, the
/// bracket is at least `1 - cos R`.
pub fn min_mass(windows: &[Window], masses: &[f64], legs: &SortedSet<usize>) -> f64 {
    let momenta = least_momenta(windows);
    let pt = |leg: usize| momenta.get(&leg).copied().unwrap_or(0.0);
    let masses_of = least_of_groups(windows, Observable::Mass);
    let distances = least_of_groups(windows, Observable::Distance);
    let mut squared: f64 = legs.iter().map(|&leg| masses[leg] * masses[leg]).sum();
    for &one in legs {
        for &other in legs.iter().filter(|&&other| other > one) {
            let pair = SortedSet::from([one, other]);
            let (m, n) = (masses[one], masses[other]);
            let mut of_pair = 2.0 * m * n;
            if m == 0.0 && n == 0.0 {
                let angle = distances.get(&pair).copied().unwrap_or(0.0).min(PI);
                of_pair = 2.0 * pt(one) * pt(other) * (1.0 - angle.cos());
            }
            let mass = masses_of.get(&pair).copied().unwrap_or(0.0);
            squared += of_pair.max(mass * mass - m * m - n * n);
        }
    }
    let together = masses_of.get(legs).copied().unwrap_or(0.0);
    squared.sqrt().max(together)
}

/// Whether a window is a lower limit on an observable.
fn is_least(window: &Window, observable: Observable) -> bool {
    window.observable == observable && window.least > 0.0 && !window.outside
}

/// Returns the least transverse momenta of legs, GeV.
fn least_momenta(windows: &[Window]) -> SortedMap<usize, f64> {
    let mut found: SortedMap<usize, f64> = SortedMap::new();
    for window in windows {
        if is_least(window, Observable::Pt) && window.take == GroupValue::All {
            for group in window.legs.iter().filter(|group| group.len() == 1) {
                let least = found.entry(group[0]).or_default();
                *least = least.max(window.least);
            }
        }
    }
    found
}

/// Returns the least masses of groups of legs, GeV, or the least distances of pairs.
fn least_of_groups(windows: &[Window], observable: Observable) -> SortedMap<SortedSet<usize>, f64> {
    let mut found: SortedMap<_, f64> = SortedMap::new();
    for window in windows {
        if !is_least(window, observable) || window.take != GroupValue::All {
            continue;
        }
        let groups = match observable {
            Observable::Distance => vec![window.legs.concat()],
            _ => window.legs.clone(),
        };
        for group in groups {
            let least = found.entry(group.into_iter().collect()).or_default();
            *least = least.max(window.least);
        }
    }
    found
}
