//! The hand-written directory `fortran/gg_ttx` imports correctly.

use crate::common;
use mebridge::bridge::Bridge;
use mebridge::events::Answers;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Switches};
use std::path::PathBuf;

fn directory() -> PathBuf {
    mebridge_testing::root().join("fortran/gg_ttx/SubProcesses/P1_gg_ttx")
}

fn gg_ttx() -> Process {
    let mut processes = import_directory(&directory()).unwrap();
    assert_eq!(processes.len(), 1);
    processes.remove(0)
}

#[test]
fn the_tables_are_those_of_the_files() {
    let process = gg_ttx();
    assert_eq!(process.name, "g g > t t~ WEIGHTED<=2 @1");
    let legs: Vec<_> = process.legs.iter().map(|l| (l.pdg, l.incoming)).collect();
    assert_eq!(legs, [(21, true), (21, true), (6, false), (-6, false)]);
    assert_eq!(process.helicities.len(), 16);
    assert_eq!(process.helicities[0], [-1, -1, -1, 1]);
    assert_eq!(process.iden, 256);
    assert_eq!(process.diagrams, 3);
    assert_eq!(process.amplitudes.vertices().len(), 3);
    let color = &process.amplitudes.diagrams().unwrap().color;
    assert_eq!(color.entry(0, 0), 16.0 / 3.0);
    assert_eq!(color.entry(0, 1), -2.0 / 3.0);
    assert_eq!(process.channels.config_diagram, [1, 2, 3]);
    assert_eq!(
        process.channels.color_allowed,
        [[true, true], [true, false], [false, true]]
    );
}

/// |M|^2 = g^4 (1/(6 t1 t2) - 3/8) (t1^2 + t2^2 + rho - rho^2/(4 t1 t2)) for a stable quark, with
/// t1 = 2 p1.p3/s, t2 = 2 p2.p3/s, rho = 4 m^2/s (Ellis, Stirling, Webber, section 10.1).
#[test]
fn the_sum_is_the_closed_formula() {
    let process = gg_ttx();
    let (mass, g) = (173.0_f64, 1.2_f64);
    let card: Vec<f64> = process
        .model
        .card
        .iter()
        .map(|p| if p.block == "decay" { 0.0 } else { p.default })
        .collect();
    for (energy, cosine, azimuth) in [(200.0, 0.3, 1.0), (500.0, -0.8, 4.0), (2000.0, 0.05, 2.5)] {
        let (e, c): (f64, f64) = (energy, cosine);
        let k = (e * e - mass * mass).sqrt();
        let (sine, phi): (f64, f64) = ((1.0 - c * c).sqrt(), azimuth);
        let (x, y, z) = (k * sine * phi.cos(), k * sine * phi.sin(), k * c);
        let momenta = [
            [e, 0.0, 0.0, e],
            [e, 0.0, 0.0, -e],
            [e, x, y, z],
            [e, -x, -y, -z],
        ];
        let (t1, t2) = ((e - z) / (2.0 * e), (e + z) / (2.0 * e));
        let rho = (mass / e).powi(2);
        let expected = g.powi(4)
            * (1.0 / (6.0 * t1 * t2) - 0.375)
            * (t1 * t1 + t2 * t2 + rho - rho * rho / (4.0 * t1 * t2));
        let sum = process.evaluate(&momenta, g, &card).total();
        assert!(
            (sum / expected - 1.0).abs() < 1e-12,
            "{sum} instead of {expected}"
        );
    }
}

/// The reference numbers for MG5aMC's own directory hold for this one, numbering included.
#[test]
fn the_reference_numbers_hold() {
    let Some(r) = common::reference("gg_tt.P1_gg_ttx", directory()) else {
        return;
    };
    let process = gg_ttx();
    let nevt = r.g_s.len();
    let card = process.model.default_card();
    let switches = Switches {
        backend: BackendChoice::Cpu,
        ..Switches::default()
    };
    let mut bridge = Bridge::new(process, &card, &switches, nevt).unwrap();
    for channels in [false, true] {
        let (mut matrix_elements, mut helicity, mut color) =
            (vec![0.0; nevt], vec![0; nevt], vec![0; nevt]);
        let events = r.events(channels);
        let mut answers = Answers {
            matrix_elements: &mut matrix_elements,
            helicity: &mut helicity,
            color: &mut color,
        };
        bridge.run(&events, &mut answers).unwrap();
        let (expected, expected_helicity) = match channels {
            false => (&r.plain, &r.plain_helicity),
            true => (&r.weighted, &r.weighted_helicity),
        };
        for (has, needs) in matrix_elements.iter().zip(expected) {
            assert!(
                (has / needs - 1.0).abs() < 1e-12,
                "{has} instead of {needs}"
            );
        }
        assert_eq!(&helicity, expected_helicity);
        if channels {
            assert_eq!(color, r.color);
        }
    }
    assert_eq!(bridge.good_helicities(), Some(r.good_helicities));
}
