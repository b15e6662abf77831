//! The properties of a process that the first call determines do not depend on its events, and hold in every frame.

use crate::batch::{Batch, Outcome, bridge, cpu, squared, worst};
use crate::kinematics::{Lorentz, masses, points};
use crate::processes::{card, gg_ttx, with_more_gluons};
use mebridge::generate;
use mebridge::process::Process;
use mebridge::runtime::{Precision, Switches};
use mebridge::simd::Level;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// g g > t t~ along z: at rest, along the beam, and at a great energy.
fn special(energy: f64, along: bool) -> Vec<[f64; 4]> {
    let mass = 173.0f64;
    let beam = energy / 2.0;
    let p = (beam * beam - mass * mass).max(0.0).sqrt();
    let (x, z) = match along {
        true => (0.0, p),
        false => (0.6 * p, 0.8 * p),
    };
    vec![
        [beam, 0.0, 0.0, beam],
        [beam, 0.0, 0.0, -beam],
        [beam, x, 0.0, z],
        [beam, -x, 0.0, -z],
    ]
}

fn every_switch(mut check: impl FnMut(Switches)) {
    for level in Level::supported() {
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            check(Switches {
                simd: Some(level.name().into()),
                precision,
                ..cpu()
            });
        }
    }
}

/// Returns the answers of a new bridge after a first call, and its number of good helicities.
fn after(process: &Process, switches: &Switches, first: &Batch, all: &Batch) -> (Outcome, usize) {
    let card = process.model.default_card();
    let mut bridge = bridge(process, &card, switches);
    // Events of 10^7 GeV are off their mass shells in single precision, which is an answer too.
    let _ = first.try_run(&mut bridge);
    let outcome = all.run(&mut bridge);
    (outcome, bridge.good_helicities().expect("they are known"))
}

#[test]
fn good_helicities_do_not_depend_on_the_first_events() {
    let process = gg_ttx();
    let card = process.model.default_card();
    let all = Batch::new(&points(&process, &card, 800.0, 40, 41), 1.2).varied(3);
    let all = all.in_channels(&[1, 2, 3]);
    every_switch(|switches| {
        let expected = after(&process, &switches, &all, &all);
        assert_eq!(expected.1, 16);
        for first in [
            special(346.0, true),
            special(800.0, true),
            special(1e7, false),
            special(1e7, true),
        ] {
            for count in [1, 3, 16, 20] {
                let first = Batch::new(&vec![first.clone(); count], 1.2);
                let got = after(&process, &switches, &first, &all);
                assert_eq!(got, expected, "{switches:?}");
            }
        }
    });
}

#[test]
fn a_recursion_does_not_depend_on_the_first_events() {
    for process in with_more_gluons() {
        let card = process.model.default_card();
        let mut points = points(&process, &card, 1500.0, 16, 17);
        let serving = |first: &Batch, switches: &Switches| {
            let mut bridge = bridge(&process, &card, switches);
            bridge
                .prepare(&first.events())
                .expect("momenta on their mass shells");
            let serves = |channels| bridge.serving(channels).expect("it is prepared").1;
            [false, true].map(serves)
        };
        let ordinary = Batch::new(&points, 1.2);
        // A gluon of some GeV so close to the beam that its transverse momentum is lost beside its
        // energy; the top quarks take the recoil.
        let legs = process.legs.len();
        let point = &mut points[5];
        let top = point[2];
        let energy: f64 = top[0];
        let e = 30.0;
        point[legs - 1] = [e, 1e-7 * e, 0.0, e * (1.0 - 1e-14f64).sqrt()];
        point[4..legs - 1].fill([40.0, 0.0, 24.0, -32.0]);
        let mass2 = energy * energy - top[1] * top[1] - top[2] * top[2] - top[3] * top[3];
        point[2] = [0.0, 200.0, 90.0, 150.0];
        let others: Vec<[f64; 4]> = point[4..].to_vec();
        let rest = |i: usize| -> f64 { others.iter().map(|p| p[i]).sum() };
        let p = [1, 2, 3].map(|i| -point[2][i] - rest(i));
        point[3] = [0.0, p[0], p[1], p[2]];
        for leg in [2, 3] {
            let q = point[leg];
            point[leg][0] = (mass2 + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
        }
        let beam = point[2..].iter().map(|p| p[0]).sum::<f64>() / 2.0;
        point[0] = [beam, 0.0, 0.0, beam];
        point[1] = [beam, 0.0, 0.0, -beam];
        let collinear = Batch::new(&points, 1.2);
        every_switch(|switches| {
            let expected = serving(&ordinary, &switches);
            assert!(expected[0], "{}", process.name);
            let got = serving(&collinear, &switches);
            assert_eq!(got, expected, "{} {switches:?}", process.name);
        });
    }
}

/// In the centre-of-mass frame with the beams along z the conservation of angular momentum forbids helicities which
/// other frames have: those with the beams exchanged, boosted along z, beside it, with the beams in another direction.
#[test]
fn good_helicities_hold_in_every_frame() {
    let mut rng = ChaCha8Rng::seed_from_u64(61);
    for (text, good) in [
        ("u u~ > z", 6),
        ("u d~ > w+", 3),
        ("b b~ > z", 12),
        ("b b~ > h", 4),
        ("w+ w- > h", 9),
        ("z > b b~", 12),
        ("w+ > e+ ve", 3),
        ("h > w+ w-", 9),
        ("t > b w+", 12),
        ("t > b e+ ve", 4),
        ("t > b u d~ g", 8),
        ("u u~ > w+ w-", 18),
        ("e+ e- > z h", 6),
    ] {
        let process = generate(text).expect("generated").remove(0);
        // W pairs are too heavy for the Higgs boson of the default card.
        let card = match text {
            "h > w+ w-" | "w+ w- > h" => card(&process, &[("mass", 25, 200.0)]),
            _ => process.model.default_card(),
        };
        let masses = masses(&process, &card);
        let incoming = process.legs.iter().filter(|leg| leg.incoming).count();
        let energy = match (incoming, masses.len() - incoming) {
            (1, _) => masses[0],
            (_, 1) => masses[incoming],
            _ => 500.0,
        };
        let turned = Lorentz::turn_about_x();
        let mut events = Vec::new();
        for point in points(&process, &card, energy, 6, 62) {
            for frame in [
                Lorentz::boost([0.0, 0.0, 0.6]),
                Lorentz::boost([0.0, 0.0, -0.6]),
                Lorentz::boost([0.5, 0.0, 0.0]),
                Lorentz::boost([0.3, -0.4, 0.2]),
                Lorentz::rotation(&mut rng),
            ] {
                events.push(frame.apply(&point));
                events.push(frame.apply(&turned.apply(&point)));
            }
            events.push(turned.apply(&point));
            events.push(point);
        }
        let expected = squared(&process, &card, &events, 1.2);
        let mut bridge = bridge(&process, &card, &cpu());
        let found = Batch::new(&events, 1.2).run(&mut bridge).squared;
        let deviation = worst(&found, &expected);
        println!("{text}: {deviation:.1e}");
        assert!(deviation < 1e-12, "{text}: {deviation:e}");
        assert_eq!(bridge.good_helicities(), Some(good), "{text}");
    }
}
