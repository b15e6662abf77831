//! Limits on invariants that follow from the cuts, so that no points are drawn where all would fail.

use super::cuts::{GroupValue, Observable, Window};
use super::diagram::Legs;
use super::permutations::Permutation;
use mebridge_support::sorted::SortedSet;
use std::f64::consts::PI;

/// Lower limits, and upper limits on invariant masses, that follow from the cuts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Least transverse momenta of the outgoing legs, GeV.
    pub pt: Vec<f64>,
    /// Least invariant masses of sets of legs, GeV.
    pub masses: Vec<(Legs, f64)>,
    /// Largest invariant masses of sets of legs, GeV.
    pub largest_masses: Vec<(Legs, f64)>,
    /// Least distances of two legs in rapidity and azimuth.
    pub distances: Vec<(Legs, f64)>,
}

impl Limits {
    /// Derives the limits from windows on `legs` outgoing legs.
    pub fn new(legs: usize, windows: &[Window]) -> Self {
        let mut found = Limits {
            pt: vec![0.0; legs],
            ..Limits::default()
        };
        // Windows count legs with the two incoming ones.
        let set = |group: &[usize]| {
            let out = group.iter().filter(|&&leg| leg >= 2);
            out.fold(0, |set: Legs, leg| set | 1 << (leg - 2))
        };
        let mut all: Vec<&Window> = windows.iter().collect();
        all.retain(|window| window.take == GroupValue::All && !window.outside);
        for window in &all {
            if window.observable == Observable::Mass && window.largest < f64::INFINITY {
                let groups = window.legs.iter().map(|group| (set(group), window.largest));
                found.largest_masses.extend(groups);
            }
        }
        all.retain(|window| window.least > 0.0);
        for window in all {
            match window.observable {
                Observable::Pt => {
                    for group in window.legs.iter().filter(|group| group.len() == 1) {
                        let pt = &mut found.pt[group[0] - 2];
                        *pt = pt.max(window.least);
                    }
                }
                Observable::Mass => {
                    let groups = window.legs.iter().map(|group| (set(group), window.least));
                    found.masses.extend(groups);
                }
                Observable::Distance => {
                    let both = window.legs.iter().fold(0, |all, group| all | set(group));
                    found.distances.push((both, window.least));
                }
                Observable::Rapidity | Observable::Energy => {}
            }
        }
        found
    }

    /// Limits that hold for the legs in all of these permutations.
    pub fn permuted(&self, permutations: &[Permutation]) -> Limits {
        let pt = (0..self.pt.len()).map(|leg| {
            let of = permutations.iter().map(|one| self.pt[one.legs[leg]]);
            of.fold(f64::INFINITY, f64::min)
        });
        // For each set, the limit that holds in all permutations.
        let sets = |of: &[(Legs, f64)], value: &dyn Fn(Legs) -> f64, both: fn(f64, f64) -> f64| {
            let mut before = SortedSet::new();
            for one in permutations {
                before.extend(of.iter().map(|&(legs, _)| moved(legs, &inverse(&one.legs))));
            }
            let found = before.into_iter().filter_map(|legs| {
                let of = permutations.iter();
                let of = of.map(|one| value(moved(legs, &one.legs)));
                of.reduce(both).map(|value| (legs, value))
            });
            found.collect::<Vec<(Legs, f64)>>()
        };
        let masses = |legs| largest(&self.masses, legs);
        let distances = |legs| largest(&self.distances, legs);
        let largest_masses = |legs| self.max_mass(legs);
        Limits {
            pt: pt.collect(),
            masses: sets(&self.masses, &masses, f64::min),
            largest_masses: sets(&self.largest_masses, &largest_masses, f64::max),
            distances: sets(&self.distances, &distances, f64::min),
        }
    }

    /// Upper limit on the invariant mass of these legs, GeV.
    pub fn max_mass(&self, legs: Legs) -> f64 {
        let some = self.largest_masses.iter().filter(|(one, _)| *one == legs);
        some.map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
    }

    /// Lower limit on the transverse momentum of a leg, GeV.
    pub fn pt(&self, leg: usize) -> f64 {
        self.pt.get(leg).copied().unwrap_or(0.0)
    }

    /// Lower limit on the energy of the partons in their rest frame, GeV.
    pub fn min_energy(&self, masses: &[f64]) -> f64 {
        let transverse = masses
            .iter()
            .enumerate()
            .map(|(leg, mass)| mass.hypot(self.pt(leg)));
        transverse.sum()
    }

    /// Lower limit on the invariant mass of these legs, GeV.
    ///
    /// For two massless legs its square is 2 pt pt' (cosh y - cos phi); if y^2 + phi^2 >= R^2, the bracket is at least
    /// 1 - cos R.
    pub fn min_mass(&self, legs: Legs, masses: &[f64]) -> f64 {
        let of: Vec<usize> = (0..masses.len())
            .filter(|leg| legs & (1 << leg) != 0)
            .collect();
        let mut square: f64 = of.iter().map(|&leg| masses[leg] * masses[leg]).sum();
        for (i, &a) in of.iter().enumerate() {
            for &b in &of[i + 1..] {
                let pair = 1 << a | 1 << b;
                let mut product = 2.0 * masses[a] * masses[b];
                if masses[a] == 0.0 && masses[b] == 0.0 {
                    let angle = largest(&self.distances, pair).min(PI);
                    product = 2.0 * self.pt(a) * self.pt(b) * (1.0 - angle.cos());
                }
                let mass = largest(&self.masses, pair);
                square += product.max(mass * mass - masses[a] * masses[a] - masses[b] * masses[b]);
            }
        }
        let sum: f64 = of.iter().map(|&leg| masses[leg]).sum();
        square.sqrt().max(largest(&self.masses, legs)).max(sum)
    }
}

/// The largest limit that is listed for a set of legs; 0 if there is none.
fn largest(of: &[(Legs, f64)], legs: Legs) -> f64 {
    let some = of.iter().filter(|(one, _)| *one == legs);
    some.map(|(_, value)| *value).fold(0.0, f64::max)
}

/// The set with each leg moved to its place in `to`.
fn moved(legs: Legs, to: &[usize]) -> Legs {
    let some = to
        .iter()
        .enumerate()
        .filter(|(leg, _)| legs & (1 << leg) != 0);
    some.fold(0, |set, (_, to)| set | 1 << to)
}

fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut found = vec![0; permutation.len()];
    for (from, &to) in permutation.iter().enumerate() {
        found[to] = from;
    }
    found
}
