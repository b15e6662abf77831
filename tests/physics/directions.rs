//! |M|^2 is accurate for all directions of momenta: towards -z, where HELAS's spinors lose precision, close to other
//! legs, where sums of momenta do, and nearly at rest, where there is no direction. Events at a pole are refused.

use crate::batch::{Batch, bridge, cpu, squared, worst};
use crate::kinematics::{Lorentz, Point, masses, points};
use mebridge::Error;
use mebridge::generate;
use mebridge::process::Process;
use mebridge::process::external::AT_REST;
use mebridge::runtime::{Precision, Switches};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn one(text: &str) -> Process {
    generate(text).expect("generated").remove(0)
}

fn values(process: &Process, points: &[Point]) -> Vec<f64> {
    squared(process, &process.model.default_card(), points, 1.2)
}

/// The whole event is turned until one of its legs points nearly to -z.
#[test]
fn turning_a_leg_towards_the_negative_axis_changes_nothing() {
    for (text, energy) in [
        ("u u~ > e+ e- g", 500.0),
        ("u u~ > e+ e- a", 500.0),
        ("g g > t t~ g", 900.0),
        ("u u~ > t t~", 1e5),
        ("u d~ > w+ z", 2e3),
    ] {
        let process = one(text);
        let point = points(&process, &process.model.default_card(), energy, 1, 41).remove(0);
        let expected = values(&process, std::slice::from_ref(&point));
        for leg in 0..point.len() {
            let from = [1, 2, 3].map(|i| point[leg][i]);
            let angles = [0.1f64, 1e-2, 1e-4, 1e-6, 1e-8, 1e-12];
            let turned = angles.map(|angle| {
                let to = [0.6 * angle.sin(), -0.8 * angle.sin(), -angle.cos()];
                Lorentz::turn(from, to).apply(&point)
            });
            for (found, angle) in values(&process, &turned).into_iter().zip(angles) {
                let far = worst(&[found], &expected);
                assert!(far < 1e-11, "{text}, leg {leg} at {angle:e}: {far:e}");
            }
        }
    }
}

/// `2 p_i p_j` of massless momenta, from their directions.
fn invariant(p: &[f64; 4], q: &[f64; 4]) -> f64 {
    let dot: f64 = (1..4).map(|i| p[i] * q[i]).sum();
    if dot <= 0.0 {
        return 2.0 * (p[0] * q[0] - dot);
    }
    let across = [(1, 2), (2, 3), (3, 1)].map(|(i, j)| p[i] * q[j] - p[j] * q[i]);
    2.0 * across.iter().map(|x| x * x).sum::<f64>() / (p[0] * q[0] + dot)
}

/// What |M|^2 of five gluons is proportional to (Parke, Taylor, Phys. Rev. Lett. 56 (1986) 2459).
fn five_gluons(point: &Point) -> f64 {
    let s = |i: usize, j: usize| {
        let sign = if (i < 2) == (j < 2) { 1.0 } else { -1.0 };
        sign * invariant(&point[i], &point[j])
    };
    let powers = (0..5).flat_map(|i| (0..i).map(move |j| (i, j)));
    let powers: f64 = powers.map(|(i, j)| s(i, j).powi(4)).sum();
    let mut sum = 0.0;
    for (a, b, c) in (1..5).flat_map(|a| (1..5).flat_map(move |b| (1..5).map(move |c| (a, b, c)))) {
        if a != b && b != c && c != a {
            let d = 10 - a - b - c;
            sum += 1.0 / (s(0, a) * s(a, b) * s(b, c) * s(c, d) * s(d, 0));
        }
    }
    powers * sum
}

/// Beams along z, a given momentum, and two legs of these masses that take the rest.
fn with_recoil(energy: f64, given: &[[f64; 4]], masses: [f64; 2], rng: &mut ChaCha8Rng) -> Point {
    let mut rest = [energy, 0.0, 0.0, 0.0];
    for p in given {
        (0..4).for_each(|i| rest[i] -= p[i]);
    }
    let square = rest[0].powi(2) - (1..4).map(|i| rest[i].powi(2)).sum::<f64>();
    let [a, b] = masses.map(|m| m * m);
    let whole = square.sqrt();
    let e = 0.5 * (square + a - b) / whole;
    let size = (e * e - a).sqrt();
    let cosine: f64 = rng.random_range(-0.7..0.7);
    let phi: f64 = rng.random_range(0.0..6.2);
    let sine = (1.0 - cosine * cosine).sqrt();
    let p = [sine * phi.cos(), sine * phi.sin(), cosine].map(|x| x * size);
    let velocity = [1, 2, 3].map(|i| rest[i] / rest[0]);
    let pair = vec![[e, p[0], p[1], p[2]], [whole - e, -p[0], -p[1], -p[2]]];
    let pair = match velocity == [0.0; 3] {
        true => pair,
        false => Lorentz::boost(velocity).apply(&pair),
    };
    let beam = 0.5 * energy;
    let mut point = vec![[beam, 0.0, 0.0, beam], [beam, 0.0, 0.0, -beam]];
    point.extend(pair);
    point.extend(given);
    point
}

/// A massless momentum at a small angle from the z axis, or from -z.
fn near_the_beam(energy: f64, angle: f64, axis: f64) -> [f64; 4] {
    let pt = energy * angle;
    let z = axis * (1.0 - angle) * (1.0 + angle);
    let z = energy * z / z.abs().sqrt();
    [energy, 0.6 * pt, -0.8 * pt, z]
}

#[test]
fn a_gluon_beside_the_beam_has_its_pole_to_all_digits_of_its_angle() {
    let process = one("g g > g g g");
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    let mut far = |angle: f64, energy: f64, axis: f64| {
        let given = [near_the_beam(energy, angle, axis)];
        with_recoil(1000.0, &given, [0.0; 2], &mut rng)
    };
    let regular = far(0.7, 300.0, 1.0);
    let scale = values(&process, std::slice::from_ref(&regular))[0] / five_gluons(&regular);
    for axis in [1.0, -1.0] {
        for energy in [300.0, 1e-3] {
            for angle in [0.3, 1e-2, 1e-4, 1e-6, 1e-8] {
                let point = far(angle, energy, axis);
                let found = values(&process, std::slice::from_ref(&point))[0];
                let expected = scale * five_gluons(&point);
                // Vertices are differences of momenta, which know the angle to a rounding.
                let limit = 1e-11 + 1e-14 / angle * (1.0 + 1.0 / energy);
                let off = (found / expected - 1.0).abs();
                assert!(off < limit, "{axis} {energy} {angle:e}: {off:e}");
            }
        }
    }
}

/// Events whose last leg flies along a beam, and the same turned.
fn poles(text: &str, rng: &mut ChaCha8Rng) -> Vec<Point> {
    let process = one(text);
    let all = masses(&process, &process.model.default_card());
    let mut events = Vec::new();
    for i in 0..100 {
        let energy = rng.random_range(20.0..400.0);
        let axis = if i % 2 == 0 { energy } else { -energy };
        let given = [[energy, 0.0, 0.0, axis]];
        let point = with_recoil(1000.0, &given, [all[2], all[3]], rng);
        events.push(Lorentz::rotation(rng).apply(&point));
        events.push(point);
    }
    events
}

#[test]
fn at_a_pole_there_is_no_matrix_element() {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    for text in [
        "g g > g g g",
        "u u~ > e+ e- g",
        "g g > t t~ g",
        "u u~ > mu+ mu- a",
    ] {
        let process = one(text);
        let card = process.model.default_card();
        let poles = poles(text, &mut rng);
        let good = points(&process, &card, 1000.0, 3, 44);
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            let mut bridge = bridge(&process, &card, &Switches { precision, ..cpu() });
            for pole in &poles {
                let events = [&good[..], std::slice::from_ref(pole)].concat();
                let found = Batch::new(&events, 1.2).try_run(&mut bridge);
                let named = matches!(&found, Err(Error::NotFinite { event: 3, why }) if why.contains("direction"));
                assert!(named, "{text}, {precision:?}, {pole:?}: {found:?}");
                let momenta: Vec<f64> = pole.iter().flatten().copied().collect();
                let found = bridge.one_event(&momenta, 1.2, false);
                assert!(
                    matches!(found, Err(Error::NotFinite { .. })),
                    "{text} {pole:?}"
                );
            }
        }
    }
}

#[test]
fn gluons_in_one_direction_are_a_pole() {
    let process = one("g g > g g g");
    let card = process.model.default_card();
    let mut bridge = bridge(&process, &card, &cpu());
    let mut rng = ChaCha8Rng::seed_from_u64(45);
    for _ in 0..100 {
        let point = with_recoil(1000.0, &[], [0.0; 2], &mut rng);
        let share: f64 = rng.random_range(0.05..0.95);
        let parts = [share, 1.0 - share].map(|share| point[2].map(|x| share * x));
        let point = [&point[..2], &parts, &point[3..]].concat();
        let found = Batch::new(std::slice::from_ref(&point), 1.2).try_run(&mut bridge);
        assert!(matches!(found, Err(Error::NotFinite { .. })), "{point:?}");
    }
}

/// A leg along the beam is not a pole if no line is on its mass shell because of it.
#[test]
fn what_is_no_pole_is_evaluated() {
    let mut rng = ChaCha8Rng::seed_from_u64(46);
    let (lepton, top) = (one("u u~ > e+ e- g"), one("g g > t t~ g"));
    for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
        for axis in [1.0, -1.0] {
            let given = [[200.0, 0.0, 0.0, 200.0 * axis]];
            let point = with_recoil(1000.0, &given, [0.0; 2], &mut rng);
            // The e+ has that direction.
            let order = [0, 1, 4, 3, 2].map(|leg| point[leg]);
            let mass = masses(&top, &top.model.default_card())[2];
            let massive = [[200f64.hypot(mass), 0.0, 0.0, 200.0 * axis]];
            let massive = with_recoil(1000.0, &massive, [mass, 0.0], &mut rng);
            let massive = [0, 1, 4, 2, 3].map(|leg| massive[leg]);
            let close = with_recoil(
                1000.0,
                &[near_the_beam(200.0, 1e-9, axis)],
                [0.0; 2],
                &mut rng,
            );
            for (process, point) in [
                (&lepton, order.to_vec()),
                (&top, massive.to_vec()),
                (&lepton, close),
            ] {
                let card = process.model.default_card();
                let mut bridge = bridge(process, &card, &Switches { precision, ..cpu() });
                let found = Batch::new(&[point], 1.2).try_run(&mut bridge);
                let found = found.expect("no pole").squared[0];
                assert!(found > 0.0, "{}", process.name);
            }
        }
    }
}

/// A line without a width that is exactly on its mass shell.
#[test]
fn a_resonance_without_a_width_is_a_pole_on_its_mass_shell() {
    let process = one("e+ e- > mu+ mu-");
    let card = process.model.default_card();
    let parameter = |name| process.model.card_parameter(name).expect("a parameter");
    let mut narrow = card.clone();
    narrow[parameter("WZ")] = 0.0;
    let mass = card[parameter("MZ")];
    let mut rng = ChaCha8Rng::seed_from_u64(47);
    let on = with_recoil(mass, &[], [0.0; 2], &mut rng);
    let off = with_recoil(1.001 * mass, &[], [0.0; 2], &mut rng);
    let run = |card: &[f64], point: &Point| {
        Batch::new(std::slice::from_ref(point), 1.2).try_run(&mut bridge(&process, card, &cpu()))
    };
    assert!(matches!(run(&narrow, &on), Err(Error::NotFinite { .. })));
    assert!(run(&narrow, &off).is_ok() && run(&card, &on).is_ok());
}

/// A polarised particle nearly at rest has its spin along z, whatever the direction that rounding gives it.
#[test]
fn a_particle_nearly_at_rest_has_one_axis() {
    let directions = [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
        [0.48, -0.64, -0.6],
    ];
    for text in [
        "z{0} > e+ e-",
        "z{T} > e+ e-",
        "w+{0} > e+ ve",
        "t{L} > b w+",
        "t{R} > b w+",
    ] {
        let process = one(text);
        let card = process.model.default_card();
        let all = masses(&process, &card);
        let mut rng = ChaCha8Rng::seed_from_u64(48);
        let decay = with_recoil(all[0], &[], [all[1], all[2]], &mut rng);
        let at = |size: f64, direction: [f64; 3]| -> Point {
            let [x, y, z] = direction.map(|x| size * x);
            vec![[all[0].hypot(size), x, y, z], decay[2], decay[3]]
        };
        let expected = values(&process, &[at(0.0, directions[0])]);
        for size in [1e-20, 1e-12, 0.5 * AT_REST * all[0]] {
            let moving = directions.map(|direction| at(size, direction));
            for found in values(&process, &moving) {
                let far = worst(&[found], &expected);
                assert!(
                    far < 1e-12 + 4.0 * size / all[0],
                    "{text} {size:e}: {far:e}"
                );
            }
        }
    }
}
