//! Heavy pairs compared with the formulas of P. Nason, S. Dawson, R.K. Ellis, Nucl. Phys. B303 (1988)
//! 607, in the form of Ellis, Stirling, Webber, "QCD and Collider Physics", table 10.2: with
//! `t1 = 2 p1.p3/s`, `t2 = 2 p1.p4/s` and `rho = 4 m^2/s`, averaged over initial and summed over
//! final helicities and colours,
//!
//! * g g > t t~: `g^4 (1/(6 t1 t2) - 3/8) (t1^2 + t2^2 + rho - rho^2/(4 t1 t2))`,
//! * q q~ > t t~: `4/9 g^4 (t1^2 + t2^2 + rho/2)`,
//! * e- e+ > mu- mu+ by a photon: `2 e^4 (t1^2 + t2^2 + rho/2)`.
//!
//! They hold for a top without width. An error of 1e-10 anywhere (a Lorentz structure, a colour
//! factor, IDEN, a propagator, a coupling) makes these fail.

use crate::batch::{Batch, bridge, cpu, squared, worst};
use crate::built::{ee_mumu, uux_ttx};
use crate::kinematics::{Point, two_body};
use crate::processes::{card, gauge_invariant, gg_ttx};
use mebridge::process::Process;
use mebridge::process::card::Card;
use mebridge::runtime::Switches;
use mebridge::simd::Level;
use std::path::Path;

/// Energies in units of the threshold `2 m`.
const ENERGIES: [f64; 7] = [1.0 + 1e-9, 1.0 + 1e-5, 1.01, 1.3, 3.0, 10.0, 40.0];
/// Cosines of the angle between the first and the third leg.
const COSINES: [f64; 11] = [
    -1.0, -0.9999, -0.99, -0.7, -0.2, 0.0, 0.4, 0.8, 0.99, 0.9999, 1.0,
];

/// Points, and t1, t2 and rho of each.
fn grid(mass: f64) -> (Vec<Point>, Vec<[f64; 3]>) {
    let mut points = Vec::new();
    let mut variables = Vec::new();
    for threshold in ENERGIES {
        for (i, cosine) in COSINES.into_iter().enumerate() {
            let energy = threshold * 2.0 * mass;
            points.push(two_body(energy, mass, cosine, i as f64));
            variables.push(variables_of(energy, mass, cosine));
        }
    }
    (points, variables)
}

fn variables_of(energy: f64, mass: f64, cosine: f64) -> [f64; 3] {
    let m = 2.0 * mass / energy;
    let beta = ((1.0 - m) * (1.0 + m)).sqrt();
    [
        0.5 * (1.0 - beta * cosine),
        0.5 * (1.0 + beta * cosine),
        m * m,
    ]
}

fn gluons(g: f64, [t1, t2, rho]: [f64; 3]) -> f64 {
    g.powi(4)
        * (1.0 / (6.0 * t1 * t2) - 0.375)
        * (t1 * t1 + t2 * t2 + rho - rho * rho / (4.0 * t1 * t2))
}

fn quarks(g: f64, [t1, t2, rho]: [f64; 3]) -> f64 {
    4.0 / 9.0 * g.powi(4) * (t1 * t1 + t2 * t2 + 0.5 * rho)
}

fn leptons(inverse_alpha: f64, [t1, t2, rho]: [f64; 3]) -> f64 {
    let e2 = 4.0 * std::f64::consts::PI / inverse_alpha;
    2.0 * e2 * e2 * (t1 * t1 + t2 * t2 + 0.5 * rho)
}

/// Compares the engine and `Process::evaluate` with a formula.
fn check(
    process: &Process,
    card: &[f64],
    g: f64,
    points: &[Point],
    variables: &[[f64; 3]],
    formula: impl Fn([f64; 3]) -> f64,
) {
    let exact: Vec<f64> = variables.iter().map(|&v| formula(v)).collect();
    let engine = worst(&squared(process, card, points, g), &exact);
    let plain: Vec<f64> = points
        .iter()
        .map(|p| process.evaluate(p, g, card).total())
        .collect();
    let plain = worst(&plain, &exact);
    println!(
        "{}: engine {engine:.1e}, plain evaluation {plain:.1e}",
        process.name
    );
    assert!(engine < 1e-10, "{}: engine {engine:e}", process.name);
    assert!(plain < 1e-10, "{}: plain {plain:e}", process.name);
}

#[test]
fn gluons_to_top_quarks() {
    let process = gg_ttx();
    for mass in [173.0, 4.7] {
        let card = card(&process, &[("mass", 6, mass), ("decay", 6, 0.0)]);
        let (points, variables) = grid(mass);
        check(&process, &card, 1.2, &points, &variables, |v| {
            gluons(1.2, v)
        });
    }
}

/// A mass of zero takes other spinors, other kernels and leaves half of the helicities.
#[test]
fn gluons_to_massless_quarks() {
    let process = gg_ttx();
    let card = card(&process, &[("mass", 6, 0.0), ("decay", 6, 0.0)]);
    // Exactly forward the formula has a pole.
    let cosines = COSINES.into_iter().filter(|c| c.abs() < 1.0);
    let (points, variables): (Vec<_>, Vec<_>) = cosines
        .map(|c| (two_body(500.0, 0.0, c, 0.7), variables_of(500.0, 0.0, c)))
        .unzip();
    check(&process, &card, 1.1, &points, &variables, |v| {
        gluons(1.1, v)
    });
    let switches = cpu();
    let mut bridge = bridge(&process, &card, &switches);
    Batch::new(&points, 1.1).run(&mut bridge);
    // Quarks of opposite helicities, gluons of opposite helicities: 2 * 2. Gluons of equal
    // helicities give zero up to rounding, which may or may not be exactly zero.
    let good = bridge.good_helicities().unwrap();
    assert!((4..=8).contains(&good), "{good} good helicities");
}

/// The process is data: this one was never a directory.
#[test]
fn quarks_to_top_quarks() {
    let process = uux_ttx();
    for mass in [173.0, 4.7] {
        let card = card(&process, &[("mass", 6, mass)]);
        let (points, variables) = grid(mass);
        check(&process, &card, 0.9, &points, &variables, |v| {
            quarks(0.9, v)
        });
    }
}

/// A coupling that comes from the card and not from g_s.
#[test]
fn electrons_to_muons() {
    let process = ee_mumu();
    let mass = 0.10566;
    for inverse_alpha in [137.036, 128.0] {
        let card = card(
            &process,
            &[("sminputs", 1, inverse_alpha), ("mass", 13, mass)],
        );
        let (points, variables) = grid(mass);
        for g in [0.5, 1.2] {
            check(&process, &card, g, &points, &variables, |v| {
                leptons(inverse_alpha, v)
            });
        }
    }
}

/// The Lorentz structures of the built processes are known by what they compute, so their
/// fast kernels run, and not the routine's own arithmetic.
#[test]
fn built_structures_are_recognised() {
    for process in [uux_ttx(), ee_mumu()] {
        let card = process.model.default_card();
        let mut bridge = bridge(&process, &card, &cpu());
        let (points, _) = grid(*card.last().unwrap());
        Batch::new(&points, 1.0).run(&mut bridge);
        let plan = bridge.plan().unwrap();
        assert!(plan.operations().general.is_empty(), "{}", process.name);
        // One helicity for the massless pair is the opposite of the other: 2 * 4.
        assert_eq!(bridge.good_helicities(), Some(8), "{}", process.name);
    }
}

/// Each event has its own g_s, and its |M|^2 goes with the fourth power of it.
#[test]
fn the_coupling_runs_event_by_event() {
    let (points, variables) = grid(173.0);
    for (process, formula) in [
        (gg_ttx(), gluons as fn(f64, [f64; 3]) -> f64),
        (uux_ttx(), quarks),
    ] {
        let card = match process.legs[0].pdg {
            21 => gauge_invariant(&process),
            _ => process.model.default_card(),
        };
        for level in Level::supported() {
            let switches = Switches {
                simd: Some(level.name().into()),
                ..cpu()
            };
            let batch = Batch::new(&points, 1.0).varied(3);
            let got = batch.run(&mut bridge(&process, &card, &switches)).squared;
            let exact: Vec<f64> = (0..points.len())
                .map(|i| formula(batch.g_s[i], variables[i]))
                .collect();
            let deviation = worst(&got, &exact);
            assert!(deviation < 1e-10, "{} {level}: {deviation:e}", process.name);
        }
    }
}

/// Mass and width of the top come from the text of a card.
#[test]
fn a_parameter_card_decides() {
    let process = gg_ttx();
    let values = |mass: f64, width: f64| {
        let text =
            format!("Block MASS\n 6 {mass:e} # MT\nBlock sminputs\n 3 0.118\nDECAY 6 {width:e}\n");
        let card = Card::parse(&text, Path::new("param_card.dat"));
        process.model.card_values(&card).expect("card")
    };
    for mass in [80.0, 172.5, 173.0, 400.0] {
        let energy = 1500.0;
        let points: Vec<Point> = COSINES
            .iter()
            .map(|&c| two_body(energy, mass, c, 0.3))
            .collect();
        let exact: Vec<f64> = COSINES
            .iter()
            .map(|&c| gluons(1.2, variables_of(energy, mass, c)))
            .collect();
        let narrow = worst(&squared(&process, &values(mass, 0.0), &points, 1.2), &exact);
        assert!(narrow < 1e-10, "mass {mass}: {narrow:e}");
        // With a width the formula does not hold: the deviation is seen, and grows with it.
        let wide = |width| {
            worst(
                &squared(&process, &values(mass, width), &points, 1.2),
                &exact,
            )
        };
        let (small, large) = (wide(1.5), wide(15.0));
        assert!(small > 1e-7 && large > 10.0 * small, "{small:e} {large:e}");
    }
}

/// Momenta of another mass than the card's are refused, with the leg and the masses.
#[test]
fn momenta_must_have_the_mass_of_the_card() {
    let process = gg_ttx();
    let card = card(&process, &[("mass", 6, 180.0)]);
    let switches = cpu();
    let mut bridge = bridge(&process, &card, &switches);
    let batch = Batch::new(&[two_body(500.0, 173.0, 0.3, 0.0)], 1.2);
    let events = mebridge::events::Events {
        momenta: &batch.momenta,
        g_s: &batch.g_s,
        random_helicity: &batch.random_helicity,
        random_color: &batch.random_color,
        channels: None,
        igraph: None,
    };
    let mut answers = mebridge::events::Answers {
        matrix_elements: &mut [0.0],
        helicity: &mut [0],
        color: &mut [0],
    };
    let error = bridge.run(&events, &mut answers).unwrap_err().to_string();
    assert!(error.contains("180"), "{error}");
}
