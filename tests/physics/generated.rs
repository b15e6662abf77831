//! Generated processes: formulas in closed form for all crossings of a process, gauge invariance and its
//! cancellations at high energy, permutations, charge conjugation.

use crate::batch::squared;
use crate::kinematics::{Point, points};
use crate::processes::{gauge_invariant, gg_ttx};
use crate::ward;
use mebridge::generate;
use mebridge::process::Process;

fn one(text: &str) -> Process {
    let mut processes = generate(text).expect("generated");
    assert_eq!(processes.len(), 1, "{text}");
    processes.remove(0)
}

/// `|M|^2` at these points with g_s = 1.2.
fn values(process: &Process, points: &[Point]) -> Vec<f64> {
    squared(process, &process.model.default_card(), points, 1.2)
}

fn at(process: &Process, energy: f64, count: usize) -> Vec<Point> {
    points(process, &process.model.default_card(), energy, count, 21)
}

fn agree(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert!(!a.is_empty() && a.len() == b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * b.abs(), "{what}: {a:e} {b:e}");
    }
}

/// The process of this repository, which is imported.
#[test]
fn generated_is_imported() {
    let (own, imported) = (one("g g > t t~"), gg_ttx());
    let points = at(&own, 700.0, 10);
    agree(
        "g g > t t~",
        &values(&own, &points),
        &values(&imported, &points),
        1e-13,
    );
    assert_eq!(own.helicities, imported.helicities);
    assert_eq!(own.channels.color_flows, imported.channels.color_flows);
    let color = |process: &Process| process.amplitudes.diagrams().map(|d| d.color.clone());
    assert_eq!(color(&own), color(&imported));
}

/// Two massless particles to two (Combridge, Kripfganz, Ranft, Phys. Lett. 70B (1977) 234): one function of s, t and u
/// in all of its crossings, and quarks of equal flavour, whose lines interfere.
#[test]
fn massless_particles_in_closed_form() {
    type Formula = fn(f64, f64, f64) -> f64;
    let formulas: [(&str, Formula); 9] = [
        ("u d > u d", |s, t, u| 4.0 / 9.0 * (s * s + u * u) / (t * t)),
        ("u d~ > u d~", |s, t, u| {
            4.0 / 9.0 * (s * s + u * u) / (t * t)
        }),
        ("u u~ > d d~", |s, t, u| {
            4.0 / 9.0 * (t * t + u * u) / (s * s)
        }),
        ("u u > u u", |s, t, u| {
            let sum = 4.0 / 9.0 * ((s * s + u * u) / (t * t) + (s * s + t * t) / (u * u));
            (sum - 8.0 / 27.0 * s * s / (t * u)) / 2.0
        }),
        ("u u~ > u u~", |s, t, u| {
            let sum = 4.0 / 9.0 * ((s * s + u * u) / (t * t) + (t * t + u * u) / (s * s));
            sum - 8.0 / 27.0 * u * u / (s * t)
        }),
        ("u u~ > g g", |s, t, u| {
            (32.0 / 27.0 * (t * t + u * u) / (t * u) - 8.0 / 3.0 * (t * t + u * u) / (s * s)) / 2.0
        }),
        ("g g > u u~", |s, t, u| {
            (t * t + u * u) / (6.0 * t * u) - 3.0 / 8.0 * (t * t + u * u) / (s * s)
        }),
        ("u g > u g", |s, t, u| {
            -4.0 / 9.0 * (s * s + u * u) / (s * u) + (s * s + u * u) / (t * t)
        }),
        ("g g > g g", |s, t, u| {
            4.5 * (3.0 - t * u / (s * s) - s * u / (t * t) - s * t / (u * u)) / 2.0
        }),
    ];
    for (text, formula) in formulas {
        let process = one(text);
        let points = at(&process, 400.0, 10);
        let expected = points.iter().map(|p| {
            let invariant = |a: usize, b: usize, sign: f64| {
                let q: Vec<f64> = (0..4).map(|i| p[a][i] + sign * p[b][i]).collect();
                q[0] * q[0] - q[1] * q[1] - q[2] * q[2] - q[3] * q[3]
            };
            let (s, t, u) = (
                invariant(0, 1, 1.0),
                invariant(0, 2, -1.0),
                invariant(0, 3, -1.0),
            );
            1.2f64.powi(4) * formula(s, t, u)
        });
        agree(
            text,
            &values(&process, &points),
            &expected.collect::<Vec<_>>(),
            1e-11,
        );
    }
}

/// With a gluon's or a photon's momentum instead of its polarisation |M|^2 vanishes.
#[test]
fn gluons_and_photons_decouple() {
    for text in [
        "g g > t t~ g",
        "g g > g g g",
        "g g > u u~ u u~",
        "u u~ > d d~ g a QED=1",
        "e+ e- > mu+ mu- a",
        "a a > w+ w- z",
        "w+ w- > w+ w- a",
    ] {
        ward::check(&one(text), &[1500.0], 3);
    }
}

/// Polarisations of W and Z along their momentum grow with the energy; diagrams cancel until nothing does. Without one
/// of the particles they do not.
#[test]
fn amplitudes_do_not_grow_with_the_energy() {
    let growth = |text: &str| {
        let process = one(text);
        let card = gauge_invariant(&process);
        let value = |energy: f64| {
            let point = points(&process, &card, energy, 8, 5);
            let squared = squared(&process, &card, &point, 1.2);
            squared.iter().sum::<f64>()
        };
        // Ten times the energy in the same directions.
        value(2e4) / value(2e3)
    };
    for (process, without) in [
        ("e+ e- > w+ w-", "ve"),
        ("e+ e- > w+ w-", "a"),
        ("u d~ > w+ z", "w+"),
        ("w+ w- > w+ w-", "h"),
        ("w+ w- > z z", "h"),
        ("t t~ > w+ w-", "b"),
    ] {
        let (all, some) = (growth(process), growth(&format!("{process} / {without}")));
        println!("{process}: {all:.2}, without {without} {some:.1e}");
        assert!((0.2..5.0).contains(&all), "{process}: {all}");
        assert!(some > 50.0, "{process} / {without}: {some}");
    }
}

/// With the momenta of legs exchanged.
fn exchanged(points: &[Point], a: usize, b: usize) -> Vec<Point> {
    let swap = |point: &Point| {
        let mut point = point.clone();
        point.swap(a, b);
        point
    };
    points.iter().map(swap).collect()
}

#[test]
fn equal_particles_can_be_exchanged() {
    for (text, pairs) in [
        ("u u > u u g", &[(0, 1), (2, 3)][..]),
        ("g g > g g g", &[(0, 1), (2, 4)]),
        ("u u~ > u u~ u u~", &[(2, 4), (3, 5)]),
        ("e- e- > e- e- a", &[(0, 1), (2, 3)]),
        ("g g > z z b b~", &[(0, 1), (2, 3)]),
    ] {
        let process = one(text);
        let points = at(&process, 800.0, 4);
        let before = values(&process, &points);
        for &(a, b) in pairs {
            agree(
                text,
                &values(&process, &exchanged(&points, a, b)),
                &before,
                1e-10,
            );
        }
    }
}

/// Particles and antiparticles, with all momenta reversed: CP.
#[test]
fn antiparticles_do_what_particles_do() {
    for (text, conjugate) in [
        ("u u > u u g", "u~ u~ > u~ u~ g"),
        ("u g > t t~ u", "u~ g > t~ t u~"),
        ("u d~ > w+ z g", "u~ d > w- z g"),
        ("e- ve~ > w- h a", "e+ ve > w+ h a"),
        ("t > b u d~", "t~ > b~ u~ d"),
    ] {
        let (a, b) = (one(text), one(conjugate));
        let energy = if text.starts_with('t') { 173.0 } else { 900.0 };
        let points = at(&a, energy, 5);
        let reversed: Vec<Point> = points
            .iter()
            .map(|point| point.iter().map(|p| [p[0], -p[1], -p[2], -p[3]]).collect())
            .collect();
        agree(text, &values(&b, &reversed), &values(&a, &points), 1e-10);
    }
}

/// Labels give one matrix element for each set of particles with the same one.
#[test]
fn labels_are_merged() {
    let names = |text: &str| -> Vec<String> {
        let processes = generate(text).expect("generated");
        let name = |p: &Process| format!("{} +{}", p.name, p.other_flavours.len());
        processes.iter().map(name).collect()
    };
    assert_eq!(
        names("p p > t t~"),
        ["g g > t t~ WEIGHTED<=2 +0", "u u~ > t t~ WEIGHTED<=2 +3"]
    );
    assert_eq!(
        names("p p > l+ l-"),
        ["u u~ > e+ e- WEIGHTED<=4 +3", "d d~ > e+ e- WEIGHTED<=4 +3"]
    );
    assert_eq!(
        names("p p > w+ j"),
        [
            "g u > w+ d WEIGHTED<=3 +1",
            "g d~ > w+ u~ WEIGHTED<=3 +1",
            "u d~ > w+ g WEIGHTED<=3 +1"
        ]
    );
}

/// Processes that cannot be generated are refused with the reason.
#[test]
fn what_is_violated_is_told() {
    for (text, says) in [
        ("u d > u u", "electric charge is not conserved"),
        ("u u~ > e- mu+", "electron number is not conserved"),
        ("e+ e- > w+ w- ve", "angular momentum"),
        ("e+ e- > g a", "colour is not conserved"),
        (
            "g g>z h",
            "no tree diagrams in the model sm: no conservation law forbids it",
        ),
        ("u s~ > w+ g", "keep their generation"),
        ("p p > t j", "the labels p and j contain no b"),
        ("p p > e+ e+", "conserves all of colour, electric charge"),
        ("e+ e- > mu+ mu- QED=1", "QED>=2"),
        ("e+ e- > mu+ mu- / a z", "excluded"),
        ("e+ e- > mu+ tau-", "do you mean"),
    ] {
        let error = generate(text).expect_err(text).to_string();
        assert!(error.starts_with(text) && error.contains(says), "{error}");
    }
}

/// More gluons have billions of diagrams: the search does not go through all of them.
#[test]
fn too_many_diagrams_are_refused() {
    for process in ["g g > g g g g g g g g g g", "u u~ > g g g g g g g g g g"] {
        let refused = generate(process).unwrap_err().to_string();
        assert!(refused.contains("more than 4000000"), "{refused}");
    }
}
