//! |M|^2 summed over helicities and colours does not change under Lorentz transformations of all
//! momenta, under an exchange of identical particles, and under charge conjugation in QCD.
//!
//! Spinors and polarisation vectors do change, each in its own way, so that a wrong phase or
//! component of any of them shows here, as does a dependence on the frame or on an axis.

use crate::batch::{squared, worst};
use crate::built::{ee_mumu, uux_ttx};
use crate::kinematics::{Lorentz, Point, points};
use crate::processes::{card, gauge_invariant, gg_ttx, with_more_gluons};
use mebridge::process::Process;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Processes with their cards and an energy; with massive and with massless quarks. Unstable tops
/// in the propagators would break gauge invariance, and with it that of boosts, which change the
/// gauge that the polarisation vectors are in: a width shows here with about 1e-6.
fn processes() -> Vec<(Process, Vec<f64>, f64)> {
    let top = gg_ttx();
    let massless = card(&top, &[("mass", 6, 0.0), ("decay", 6, 0.0)]);
    let mut all = vec![
        (top.clone(), gauge_invariant(&top), 700.0),
        (top, massless, 700.0),
    ];
    for (process, energy) in [(uux_ttx(), 700.0), (ee_mumu(), 0.4)] {
        let card = process.model.default_card();
        all.push((process, card, energy));
    }
    for process in with_more_gluons() {
        let card = gauge_invariant(&process);
        all.push((process, card, 1000.0));
    }
    all
}

fn invariant(
    name: &str,
    tolerance: f64,
    mut transformation: impl FnMut(&mut ChaCha8Rng) -> Lorentz,
) {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for (process, card, energy) in processes() {
        let points = points(&process, &card, energy, 12, 22);
        let before = squared(&process, &card, &points, 1.2);
        let moved: Vec<Point> = points
            .iter()
            .map(|p| transformation(&mut rng).apply(p))
            .collect();
        let after = squared(&process, &card, &moved, 1.2);
        let deviation = worst(&after, &before);
        println!("{name}, {}: {deviation:.1e}", process.name);
        assert!(deviation < tolerance, "{}: {deviation:e}", process.name);
    }
}

#[test]
fn rotations_change_nothing() {
    invariant("rotations", 1e-11, Lorentz::rotation);
}

#[test]
fn boosts_along_the_beam_change_nothing() {
    invariant("boosts along z", 1e-10, |rng| {
        let v: f64 = rng.random_range(0.05..0.95);
        Lorentz::boost([0.0, 0.0, if rng.random() { v } else { -v }])
    });
}

#[test]
fn boosts_in_any_direction_change_nothing() {
    invariant("boosts", 1e-10, |rng| {
        // At most 0.52 * sqrt(3) = 0.9.
        Lorentz::boost(std::array::from_fn(|_| rng.random_range(-0.52..0.52)))
    });
}

/// The other direction: |M|^2 is no constant, and a change that is no Lorentz transformation of
/// all momenta (the final state turned alone about another axis than the beam's) is seen.
#[test]
fn turning_the_final_state_alone_changes_something() {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    for (process, card, energy) in processes() {
        let points = points(&process, &card, energy, 12, 22);
        let before = squared(&process, &card, &points, 1.2);
        let moved: Vec<Point> = points
            .iter()
            .map(|p| {
                let turned = Lorentz::rotation(&mut rng).apply(p);
                [&p[..2], &turned[2..]].concat()
            })
            .collect();
        let after = squared(&process, &card, &moved, 1.2);
        let changed = before.iter().zip(&after);
        let changed = changed.filter(|(a, b)| ((*a - *b) / *a).abs() > 1e-4);
        assert!(changed.count() >= 10, "{}", process.name);
    }
}

fn swapped(points: &[Point], swaps: &[(usize, usize)]) -> Vec<Point> {
    points
        .iter()
        .map(|p| {
            let mut p = p.clone();
            for &(a, b) in swaps {
                p.swap(a, b);
            }
            p
        })
        .collect()
}

fn unchanged(process: &Process, card: &[f64], energy: f64, swaps: &[(usize, usize)]) {
    let points = points(process, card, energy, 12, 31);
    let before = squared(process, card, &points, 1.2);
    let after = squared(process, card, &swapped(&points, swaps), 1.2);
    let deviation = worst(&after, &before);
    println!("{} {swaps:?}: {deviation:.1e}", process.name);
    assert!(
        deviation < 1e-11,
        "{} {swaps:?}: {deviation:e}",
        process.name
    );
}

/// All gluons of the initial and of the final state may be exchanged, and t with t~. (In a
/// 2 > 2 process both are the same as turning the final state by 180 degrees, in a larger one
/// they are not.)
#[test]
fn identical_gluons_and_charge_conjugates_may_be_exchanged() {
    for process in [gg_ttx()].into_iter().chain(with_more_gluons()) {
        let card = gauge_invariant(&process);
        let last = process.legs.len() - 1;
        let mut all = vec![vec![(0, 1)], vec![(2, 3)], vec![(0, 1), (2, 3)]];
        if last == 5 {
            all.extend([vec![(4, 5)], vec![(0, 1), (2, 3), (4, 5)]]);
        }
        for swaps in all {
            unchanged(&process, &card, 900.0, &swaps);
        }
    }
}

/// With quarks on both sides charge conjugation exchanges both pairs.
#[test]
fn charge_conjugation_of_quark_and_lepton_pairs() {
    for (process, energy) in [(uux_ttx(), 500.0), (ee_mumu(), 0.3)] {
        let card = process.model.default_card();
        unchanged(&process, &card, energy, &[(0, 1), (2, 3)]);
    }
}

/// The other direction: an exchange of different particles is seen.
#[test]
fn different_particles_may_not_be_exchanged() {
    for process in with_more_gluons() {
        // Massless, so that t and gluon have the same mass shell.
        let massless = card(&process, &[("mass", 6, 0.0), ("decay", 6, 0.0)]);
        let points = points(&process, &massless, 900.0, 12, 32);
        let before = squared(&process, &massless, &points, 1.2);
        let after = squared(&process, &massless, &swapped(&points, &[(2, 4)]), 1.2);
        let changed = before.iter().zip(&after);
        let changed = changed.filter(|(a, b)| ((*a - *b) / *a).abs() > 1e-4);
        assert!(changed.count() >= 10, "{}", process.name);
    }
}
