//! Points of channels: volumes compared with closed forms, momenta, and inversion.

use mebridge_phasespace::{
    Beams, Channel, ChannelSettings, Diagram, Edge, Error, Layout, Limits, Permutation, Propagator,
    Rows, Weights,
};
use mebridge_simd::Level;
use std::f64::consts::PI;

const POINTS: usize = 50_000;
/// Where weights spread more.
const MANY: usize = 200_000;

fn diagram(masses: &[f64], propagators: &[(f64, f64)], vertices: &[&[&str]]) -> Diagram {
    let lines = |names: &&[&str]| -> Vec<Edge> {
        names
            .iter()
            .map(|name| name.parse().expect("a line"))
            .collect()
    };
    let of = propagators
        .iter()
        .map(|&(mass, width)| Propagator { mass, width });
    Diagram {
        masses: masses.to_vec(),
        propagators: of.collect(),
        vertices: vertices.iter().map(lines).collect(),
    }
}

fn settings(energy: f64, beams: Beams) -> ChannelSettings {
    ChannelSettings {
        energy,
        beams,
        incoming: [0.0; 2],
        fermions: Vec::new(),
        limits: Limits::default(),
    }
}

/// Evenly spread numbers (M. Roberts' sequence), the same each time.
fn random(dimension: usize, points: usize) -> Rows {
    let mut base = 2.0f64;
    for _ in 0..60 {
        base = (1.0 + base).powf(1.0 / (dimension as f64 + 1.0));
    }
    let mut rows = Rows::new(dimension + 1, points);
    for d in 0..dimension {
        let step = base.powi(-(d as i32 + 1));
        for (k, to) in rows.row_mut(d).iter_mut().enumerate() {
            *to = (0.5 + step * (k as f64 + 1.0)).fract();
        }
    }
    rows
}

fn draw(channel: &Channel, legs: usize, level: Level, count: usize) -> (Rows, Rows) {
    let from = random(channel.dimension(), count);
    let mut points = Rows::new(Layout::new(legs + 2).rows(), count);
    let order = [Permutation::identity(legs)];
    channel.draw(level, &from, &order, 0, &mut points);
    (from, points)
}

fn volume(channel: &Channel, legs: usize, count: usize) -> f64 {
    let (_, points) = draw(channel, legs, Level::best(), count);
    let weights = points.row(Layout::new(legs + 2).weight());
    weights.iter().sum::<f64>() / count as f64
}

fn factorial(n: usize) -> f64 {
    (1..=n).map(|i| i as f64).product()
}

/// Volume of massless particles.
fn massless(n: usize, energy: f64) -> f64 {
    let power = 4.0 - 3.0 * n as f64;
    (2.0 * PI).powf(power) * (PI / 2.0).powi(n as i32 - 1) * energy.powi(2 * n as i32 - 4)
        / (factorial(n - 1) * factorial(n - 2))
}

/// Diagrams of two to five massless legs: their lines at each vertex, and the masses and widths of propagators.
fn shapes() -> Vec<(usize, Diagram)> {
    /// Mass and width.
    type Peak = (f64, f64);
    let (zero, broad) = ((0.0, 0.0), (200.0, 300.0));
    #[rustfmt::skip]
    let shapes: [(usize, &[Peak], &str); 14] = [
        (2, &[zero], "i0 i1 p0, p0 o0 o1"),
        (2, &[zero], "i0 o1 p0, p0 i1 o0"),
        (2, &[(80.0, 0.0)], "i0 o0 p0, p0 i1 o1"),
        (2, &[], "i0 i1 o0 o1"),
        (3, &[zero; 2], "i0 i1 p0, p0 o2 p1, p1 o0 o1"),
        (3, &[broad; 2], "i0 i1 p0, p0 o2 p1, p1 o0 o1"),
        (3, &[zero; 2], "i0 o0 p0, p0 o2 p1, p1 i1 o1"),
        (3, &[zero, broad], "i0 o1 p0, p0 i1 p1, p1 o0 o2"),
        (3, &[zero], "i0 o1 p0, p0 i1 o0 o2"),
        (4, &[zero; 3], "i0 o0 p0, p0 o2 p1, p1 p2 i1, p2 o1 o3"),
        (4, &[zero; 3], "i0 o0 p0, p0 o2 p1, p1 p2 o3, p2 o1 i1"),
        (4, &[zero, broad, (250.0, 200.0)], "i0 i1 p0, p0 p1 p2, p1 o0 o3, p2 o1 o2"),
        (4, &[zero], "i0 i1 p0, p0 o0 o1 o2 o3"),
        (5, &[zero; 4], "i0 o0 p0, p0 o2 p1, p1 p2 o3, p2 p3 i1, p3 o1 o4"),
    ];
    let shapes = shapes.into_iter().map(|(legs, propagators, vertices)| {
        let vertices = vertices.split(", ").map(|names| names.split(' ').collect());
        let vertices: Vec<Vec<&str>> = vertices.collect();
        let vertices: Vec<&[&str]> = vertices.iter().map(|names| &names[..]).collect();
        (legs, diagram(&vec![0.0; legs], propagators, &vertices))
    });
    shapes.collect()
}

#[test]
fn volumes_without_masses() {
    for (n, diagram) in shapes() {
        let channel = Channel::new(&diagram, &settings(1000.0, Beams::Neither)).expect("a channel");
        assert_eq!(channel.dimension(), 3 * n - 4, "{diagram:?}");
        let (found, wanted) = (volume(&channel, n, MANY), massless(n, 1000.0));
        let off = (found / wanted - 1.0).abs();
        assert!(off < 0.02, "{found} for {wanted}: {off} {diagram:?}");
    }
}

/// Divided by their dependence on the energy, they are the weights at the energy of the beams.
#[test]
fn volumes_of_two_beams() {
    for (n, diagram) in shapes() {
        for fermions in [Vec::new(), [true, false].repeat(n)] {
            let settings = ChannelSettings {
                fermions,
                ..settings(1000.0, Beams::Both)
            };
            let channel = Channel::new(&diagram, &settings).expect("a channel");
            assert_eq!(channel.dimension(), 3 * n - 2, "{diagram:?}");
            let (_, points) = draw(&channel, n, Level::best(), MANY);
            let layout = Layout::new(n + 2);
            let some = (points.row(layout.weight()).iter()).zip(points.row(layout.energy_square()));
            let scaled = some
                .filter(|(weight, _)| **weight > 0.0)
                .map(|(weight, s)| weight * (s / 1e6).powi(2 - n as i32));
            let found = scaled.sum::<f64>() / MANY as f64;
            let wanted = massless(n, 1000.0);
            let off = (found / wanted - 1.0).abs();
            assert!(off < 0.02, "{found} for {wanted}: {off} {diagram:?}");
        }
    }
}

/// Beams with masses are on their mass shells, and the volume of the outgoing legs is the same as without.
#[test]
fn volumes_of_beams_with_masses() {
    let (incoming, energy) = ([30.0, 40.0], 1000.0);
    for (n, mut diagram) in shapes() {
        // Heavy enough for the incoming legs to be stable.
        for propagator in &mut diagram.propagators {
            propagator.mass = propagator.mass.max(1000.0);
        }
        let settings = ChannelSettings {
            incoming,
            ..settings(energy, Beams::Neither)
        };
        let channel = Channel::new(&diagram, &settings).expect("a channel");
        let (found, wanted) = (volume(&channel, n, POINTS), massless(n, energy));
        let off = (found / wanted - 1.0).abs();
        assert!(off < 0.02, "{found} for {wanted}: {off} {diagram:?}");
        let (_, points) = draw(&channel, n, Level::best(), 8);
        for (leg, mass) in incoming.into_iter().enumerate() {
            let [e, x, y, z] = [0, 1, 2, 3].map(|i| points.row(4 * leg + i)[0]);
            let square = e * e - x * x - y * y - z * z;
            assert!((square / (mass * mass) - 1.0).abs() < 1e-10, "{square}");
            assert!((z > 0.0) == (leg == 0), "{z}");
        }
    }
}

/// A cut on transverse momentum keeps -t away from 0 beside a massive beam, and no point is lost.
#[test]
fn limits_beside_masses() {
    let exchange: [&[&str]; 2] = [&["i0", "o0", "p0"], &["p0", "i1", "o1"]];
    for (beams, masses) in [
        ([5.0, 0.0], [5.0, 0.0]),
        ([5.0, 30.0], [5.0, 30.0]),
        ([0.0, 30.0], [0.0, 60.0]),
        ([40.0, 40.0], [70.0, 70.0]),
    ] {
        let diagram = diagram(&masses, &[(0.0, 0.0)], &exchange);
        let volume = |pt: Vec<f64>| {
            let settings = ChannelSettings {
                incoming: beams,
                limits: Limits {
                    pt,
                    ..Limits::default()
                },
                ..settings(200.0, Beams::Neither)
            };
            let channel = Channel::new(&diagram, &settings).expect("a channel");
            let (_, points) = draw(&channel, 2, Level::best(), POINTS);
            let layout = Layout::new(4);
            let row = |i: usize| points.row(layout.momentum(2) + i);
            let some = (0..POINTS).filter(|&k| row(1)[k].hypot(row(2)[k]) >= 20.0);
            let passing: Vec<usize> = some.collect();
            let sum: f64 = passing
                .iter()
                .map(|&k| points.row(layout.weight())[k])
                .sum();
            (sum / POINTS as f64, passing.len())
        };
        let (all, _) = volume(Vec::new());
        let (limited, many) = volume(vec![20.0; 2]);
        let off = (limited / all - 1.0).abs();
        assert!(off < 0.01, "{limited} for {all} {beams:?}");
        assert!(many > POINTS / 2, "{many} {beams:?}");
    }
}

/// If a beam can decay into the outgoing line beside it, the exchanged particle can be on its mass shell.
#[test]
fn unstable_beams_are_refused() {
    let exchange: [&[&str]; 2] = [&["i0", "o0", "p0"], &["p0", "i1", "o1"]];
    for (beam, refused) in [(84.0, false), (86.0, true)] {
        let settings = ChannelSettings {
            incoming: [beam, 0.0],
            ..settings(1000.0, Beams::Neither)
        };
        let found = Channel::new(&diagram(&[5.0, 0.0], &[(80.0, 2.0)], &exchange), &settings);
        match found {
            Ok(_) => assert!(!refused),
            Err(found) => assert!(
                refused && found == Error::Unstable(86.0, 5.0, 80.0),
                "{found}"
            ),
        }
    }
}

/// The rapidity of a parton and a massive beam is that of their light-cone momenta.
#[test]
fn one_beam_with_a_mass() {
    let (energy, mass) = (100.0, 40.0);
    let s_channel: [&[&str]; 2] = [&["i0", "i1", "p0"], &["p0", "o0", "o1"]];
    for beams in [Beams::First, Beams::Second] {
        let settings = ChannelSettings {
            incoming: if beams == Beams::First {
                [0.0, mass]
            } else {
                [mass, 0.0]
            },
            ..settings(energy, beams)
        };
        let diagram = diagram(&[10.0; 2], &[(0.0, 0.0)], &s_channel);
        let channel = Channel::new(&diagram, &settings).expect("a channel");
        let (_, points) = draw(&channel, 2, Level::best(), 64);
        let layout = Layout::new(4);
        let side = usize::from(beams == Beams::Second);
        for k in 0..64 {
            let x = points.row(layout.fraction(side))[k];
            assert!(
                (points.row(layout.energy_square())[k] / (x * energy * energy) - 1.0).abs() < 1e-9
            );
            // In the centre of mass of both beams; the parton's beam is massless.
            let along = (energy * energy - mass * mass) / (2.0 * energy);
            let (e, z) = (along.hypot(mass) + x * along, along - x * along);
            let rapidity = [-1.0, 1.0][side] * 0.5 * ((e + z) / (e - z)).ln();
            let found = points.row(layout.rapidity())[k];
            assert!((found - rapidity).abs() < 1e-9, "{found} for {rapidity}");
        }
    }
}

/// One particle decays at rest: the volume is that of two incoming legs with its mass as energy.
#[test]
fn volumes_of_decays() {
    for (n, diagram) in shapes() {
        let mut diagram = diagram;
        let spine = diagram.spine().expect("a tree");
        if !spine.exchanged.is_empty() || diagram.vertices.len() == 1 {
            continue;
        }
        // The decaying particle is the line of both incoming legs.
        let number = diagram.vertices[0]
            .iter()
            .position(|line| *line == Edge::Propagator(0));
        assert!(number.is_some(), "{diagram:?}");
        diagram.vertices.remove(0);
        for line in diagram.vertices.iter_mut().flatten() {
            if *line == Edge::Propagator(0) {
                *line = Edge::In(0);
            }
        }
        diagram.vertices[0].push(Edge::In(1));
        let settings = ChannelSettings {
            incoming: [0.0, 500.0],
            ..settings(500.0, Beams::AtRest)
        };
        let channel = Channel::new(&diagram, &settings).expect("a channel");
        assert_eq!(channel.dimension(), 3 * n - 4, "{diagram:?}");
        let (found, wanted) = (volume(&channel, n, POINTS), massless(n, 500.0));
        let off = (found / wanted - 1.0).abs();
        assert!(off < 0.02, "{found} for {wanted}: {off} {diagram:?}");
        let (_, points) = draw(&channel, n, Level::best(), 8);
        let incoming: Vec<f64> = (0..8).map(|row| points.row(row)[0].abs()).collect();
        assert_eq!(incoming, [0.0, 0.0, 0.0, 0.0, 500.0, 0.0, 0.0, 0.0]);
    }
}

/// Lines that must be near their masses are drawn there, and no point is lost; also those that cannot be resonances.
#[test]
fn windows_lose_nothing() {
    let chain: [&[&str]; 5] = [
        &["i0", "i1", "p0"],
        &["p0", "p1", "p2"],
        &["p1", "p3", "o0"],
        &["p3", "o1", "o2"],
        &["p2", "o3", "o4"],
    ];
    let lines = [(0.0, 0.0), (173.0, 30.0), (0.0, 0.0), (80.0, 20.0)];
    let with_widths = diagram(&[4.7, 0.0, 0.0, 80.0, 4.7], &lines, &chain);
    let mut without = with_widths.clone();
    without.propagators.fill(Propagator {
        mass: 0.0,
        width: 0.0,
    });
    for windows in [
        [(0b111, 130.0, 220.0), (0b110, 50.0, 110.0)],
        [(0b111, 20.0, 90.0), (0b110, 10.0, 20.0)],
        [(0b111, 330.0, 400.0), (0b110, 190.0, 250.0)],
    ] {
        // The volume within the windows, and its relative error.
        let volume = |diagram: &Diagram, limits: Limits| {
            let settings = ChannelSettings {
                limits,
                ..settings(700.0, Beams::Neither)
            };
            let channel = Channel::new(diagram, &settings).expect("a channel");
            let (_, points) = draw(&channel, 5, Level::best(), MANY);
            let layout = Layout::new(7);
            let weight = points.row(layout.weight());
            let passes = |k: usize| {
                windows.iter().all(|&(legs, least, largest)| {
                    let sum = [0, 1, 2, 3].map(|i| {
                        let some = (0..5).filter(|leg| legs & (1 << leg) != 0);
                        let of = some.map(|leg| points.row(layout.momentum(leg + 2) + i)[k]);
                        of.sum::<f64>()
                    });
                    let [e, x, y, z] = sum.map(|one| one * one);
                    let mass = (e - x - y - z).sqrt();
                    mass >= least * (1.0 - 1e-9) && mass <= largest * (1.0 + 1e-9)
                })
            };
            let own: Vec<f64> = (0..MANY)
                .filter(|&k| weight[k] > 0.0)
                .map(|k| if passes(k) { weight[k] } else { 0.0 })
                .collect();
            let sum: f64 = own.iter().sum();
            let square: f64 = own.iter().map(|weight| weight * weight).sum();
            let failing = own.iter().filter(|weight| **weight == 0.0).count();
            (sum / MANY as f64, square.sqrt() / sum, failing)
        };
        let limits = Limits {
            masses: windows.map(|(legs, least, _)| (legs, least)).to_vec(),
            largest_masses: windows.map(|(legs, _, largest)| (legs, largest)).to_vec(),
            ..Limits::default()
        };
        let (all, error, _) = volume(&without, Limits::default());
        let (within, own, failing) = volume(&with_widths, limits);
        assert!(failing == 0 && own < 0.02, "{failing} {own} {windows:?}");
        let pull = (within / all - 1.0) / f64::hypot(error, own);
        assert!(
            pull.abs() < 4.0 && error < 0.1,
            "{within} for {all}: {pull}, {error} {windows:?}"
        );
    }
}

/// Limits exclude only points that fail the cuts.
#[test]
fn limits_lose_nothing() {
    for (n, diagram) in shapes() {
        for masses in [[0.0; 3], [0.0, 80.0, 0.0]] {
            let masses: Vec<f64> = (0..n).map(|leg| masses[leg % 3]).collect();
            let pt: Vec<f64> = (masses.iter().enumerate())
                .map(|(leg, mass)| {
                    if *mass > 0.0 {
                        0.0
                    } else {
                        20.0 + 5.0 * leg as f64
                    }
                })
                .collect();
            let diagram = Diagram {
                masses,
                ..diagram.clone()
            };
            let volume = |limits: Limits| {
                let settings = ChannelSettings {
                    limits,
                    ..settings(400.0, Beams::Neither)
                };
                let channel = Channel::new(&diagram, &settings).expect("a channel");
                let (_, points) = draw(&channel, n, Level::best(), POINTS);
                let layout = Layout::new(n + 2);
                let passes = |point: &usize| {
                    pt.iter().enumerate().all(|(leg, least)| {
                        let of = |i: usize| points.row(layout.momentum(leg + 2) + i)[*point];
                        of(1).hypot(of(2)) >= *least
                    })
                };
                let some = (0..POINTS).filter(passes);
                let sum: f64 = some.map(|point| points.row(layout.weight())[point]).sum();
                sum / POINTS as f64
            };
            let all = volume(Limits::default());
            let limited = volume(Limits {
                pt: pt.clone(),
                ..Limits::default()
            });
            let off = (limited / all - 1.0).abs();
            assert!(
                off < 0.01 * n as f64,
                "{limited} for {all}: {off} {diagram:?}"
            );
        }
    }
}

/// Volumes of lepton beams, whose points lie close to the whole energy, with and without a resonance of all legs.
#[test]
fn volumes_of_lepton_beams() {
    let resonance: [&[&str]; 2] = [&["i0", "i1", "p0"], &["p0", "o0", "o1"]];
    let resonance = diagram(&[0.0; 2], &[(300.0, 20.0)], &resonance);
    for (n, diagram) in shapes().into_iter().chain([(2, resonance)]) {
        let channel = Channel::new(&diagram, &settings(1000.0, Beams::Leptons));
        let channel = channel.expect("a channel");
        assert_eq!(channel.dimension(), 3 * n - 2, "{diagram:?}");
        let (_, points) = draw(&channel, n, Level::best(), MANY);
        let layout = Layout::new(n + 2);
        let (mut found, mut squares, mut least) = (0.0, 0.0, 1.0);
        for k in 0..MANY {
            let of = |row: usize| points.row(row)[k];
            let s = of(layout.energy_square()) / 1e6;
            if of(layout.weight()) > 0.0 {
                let part = of(layout.weight()) * s.powi(2 - n as i32);
                found += part / MANY as f64;
                squares += part * part / MANY as f64;
            }
            let rest = [0, 1].map(|beam| of(layout.fraction(beam)));
            least = f64::min(least, rest[0].min(rest[1]));
            let ratio = (1.0 - rest[1]).ln() - (1.0 - rest[0]).ln();
            let off = of(layout.rapidity()) + 0.5 * ratio;
            // A small fraction cannot be had from what it lacks to 1.
            let is_known = rest.iter().all(|rest| *rest < 0.999);
            assert!(!is_known || off.abs() < 1e-9, "{rest:?} {off}");
        }
        assert!(least < 1e-30, "{least}");
        let wanted = massless(n, 1000.0);
        // Weights of t channels have long tails.
        let error = ((squares - found * found) / MANY as f64).sqrt();
        let off = (found - wanted).abs();
        assert!(
            off < 5.0 * error && error < 0.1 * n as f64 * wanted,
            "{found} +- {error} for {wanted}: {diagram:?}"
        );
    }
}

/// Inversion of every map returns the random numbers and the weight, at every level.
#[test]
fn momenta_and_the_way_back() {
    let levels = Level::ALL.into_iter().filter(|level| level.is_supported());
    let both = [Beams::Both, Beams::Leptons].into_iter();
    for (level, beams) in levels.flat_map(|level| both.clone().map(move |beams| (level, beams))) {
        for (n, diagram) in shapes() {
            let masses: Vec<f64> = (0..n).map(|leg| [0.0, 4.7, 80.0][leg % 3]).collect();
            let diagram = Diagram {
                masses: masses.clone(),
                ..diagram
            };
            let channel = Channel::new(&diagram, &settings(1000.0, beams)).expect("a channel");
            // Two random numbers of lepton beams give the same mass of a resonance.
            let alone =
                beams == Beams::Leptons && diagram.propagators.iter().any(|p| p.width > 0.0);
            let (from, points) = draw(&channel, n, level, 500);
            let layout = Layout::new(n + 2);
            let weights = points.row(layout.weight());
            for (k, &weight) in weights.iter().enumerate() {
                if weight == 0.0 {
                    continue;
                }
                assert!(weight > 0.0 && weight.is_finite(), "{} {diagram:?}", weight);
                let p = |leg: usize, i: usize| points.row(layout.momentum(leg) + i)[k];
                let energy = points.row(layout.energy_square())[k].sqrt();
                for i in 0..4 {
                    let out: f64 = (2..n + 2).map(|leg| p(leg, i)).sum();
                    let off = out - p(0, i) - p(1, i);
                    assert!(
                        off.abs() < 1e-11 * energy,
                        "{off} of {energy} {level} {diagram:?}"
                    );
                }
                for (leg, mass) in masses.iter().enumerate() {
                    let [e, x, y, z] = std::array::from_fn(|i| p(leg + 2, i));
                    let square = e * e - x * x - y * y - z * z;
                    assert!(
                        (square - mass * mass).abs() < 1e-14 * e * e + 1e-300,
                        "{square}"
                    );
                }
                let [first, second] = [0, 1].map(|beam| match beams {
                    Beams::Leptons => 1.0 - points.row(layout.fraction(beam))[k],
                    _ => points.row(layout.fraction(beam))[k],
                });
                let share = first * second;
                assert!((share * 1e6 / (energy * energy) - 1.0).abs() < 1e-9);
            }
            let mut back = Rows::new(channel.dimension() + 1, 500);
            channel.invert(level, &points, &[Permutation::identity(n)], 0, &mut back);
            let (mut close, mut count) = (0, 0);
            for k in (0..500).filter(|&k| weights[k] > 0.0) {
                count += 1;
                let weight = back.row(channel.dimension())[k];
                let of = (0..if alone { 0 } else { channel.dimension() })
                    .map(|d| (back.row(d)[k] - from.row(d)[k]).abs());
                let most = of.fold((weight / weights[k] - 1.0).abs(), f64::max);
                close += usize::from(most < 1e-7);
            }
            assert!(count > 50, "{count} points {diagram:?}");
            // Angles of collinear momenta have no significant digits.
            assert!(
                close * 100 >= count * 97,
                "{close} of {count} come back {level} {diagram:?}"
            );
        }
    }
}

/// Propagators have the power 1.5, except those of resonances, which are squared, with the same value on the mass
/// shell; with MG5aMC's weights all are squared.
#[test]
fn weights_are_powers_of_propagators() {
    let (mass, width) = (91.188, 2.5);
    let masses = [0.0; 3];
    let pair = |pair: [&str; 2], third, of| {
        let names: [&[&str]; 3] = [
            &["i0", "i1", "p0"],
            &["p0", "p1", third],
            &["p1", pair[0], pair[1]],
        ];
        diagram(&masses, &[(0.0, 0.0), of], &names)
    };
    let exchange: [&[&str]; 2] = [&["i0", "o0", "p0"], &["p0", "i1", "p1"]];
    let exchange = [exchange[0], exchange[1], &["p1", "o1", "o2"]];
    let diagrams = [
        pair(["o0", "o1"], "o2", (0.0, 0.0)),
        pair(["o0", "o1"], "o2", (mass, width)),
        diagram(&masses, &[(mass, width), (0.0, 0.0)], &exchange),
    ];
    let channel = Channel::new(&diagrams[1], &settings(200.0, Beams::Neither)).expect("a channel");
    let (_, points) = draw(&channel, 3, Level::best(), 64);
    let layout = Layout::new(5);
    let limits = Limits::default();
    for squared in [false, true] {
        let weights = match squared {
            false => Weights::new(&diagrams, &limits, false),
            true => Weights::squared(&diagrams, &limits),
        };
        let mut shares = Rows::new(3, 64);
        weights
            .expect("trees")
            .every_share(Level::best(), &points, &mut shares);
        for point in 0..64 {
            let row = |leg: usize, i: usize| points.row(layout.momentum(leg) + i)[point];
            let of = |sum: &dyn Fn(usize) -> f64| {
                let p: [f64; 4] = std::array::from_fn(sum);
                p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3]
            };
            let s = |a, b| of(&|i| row(a, i) + row(b, i));
            let (first, second) = (s(2, 3), s(3, 4));
            let t = of(&|i| row(2, i) - row(0, i));
            let (whole, product) = (200.0_f64.powi(2), mass * width);
            let size = (first - mass * mass).hypot(product);
            let expected = match squared {
                false => [
                    (whole * first).powf(-1.5),
                    whole.powf(-1.5) * product.sqrt() / (size * size),
                    ((mass * mass - t) * second).powf(-1.5),
                ],
                true => [
                    (whole * first).powi(-2),
                    (whole * size).powi(-2),
                    (mass * mass - t).hypot(product).powi(-2) / (second * second),
                ],
            };
            let total: f64 = expected.iter().sum();
            for (diagram, expected) in expected.iter().enumerate() {
                let found = shares.row(diagram)[point];
                let off = found - expected / total;
                assert!(
                    off.abs() < 1e-9,
                    "{squared} {diagram}: {found} {}",
                    expected / total
                );
            }
        }
    }
}
