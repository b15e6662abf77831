//! Processes in their colour-ordered form: equal to their diagrams where these can be listed, and identities for larger
//! ones.

use crate::batch::{Batch, bridge, cpu, squared};
use crate::kinematics::{Lorentz, Point, masses, points};
use crate::processes::gauge_invariant;
use crate::ward;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::generate;
use mebridge::phase_space::PhaseSpace;
use mebridge::policy::{Processor, color_ordered_is_faster};
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge::simd::Level;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn one(text: &str) -> Process {
    generate(text).expect("generated").remove(0)
}

fn ordered(text: &str) -> Process {
    one(text).as_color_ordered().expect("a colour-ordered form")
}

/// Answers of one bridge, those of single helicities of the first event among them.
struct Seen {
    squared: Vec<f64>,
    chosen: (Vec<i32>, Vec<i32>),
    contributions: Vec<f64>,
    jamp2: Vec<f64>,
}

fn seen(process: &Process, batch: &Batch, switches: &Switches, off_shell: bool) -> Seen {
    let card = process.model.default_card();
    let mut bridge = Bridge::new(process.clone(), &card, switches, batch.len()).expect("bridge");
    assert!(!off_shell || bridge.allow(mebridge::backend::AllowedMomenta::OffShell));
    let count = batch.len();
    let mut seen = Seen {
        squared: vec![0.0; count],
        chosen: (vec![0; count], vec![0; count]),
        contributions: Vec::new(),
        jamp2: Vec::new(),
    };
    let mut answers = Answers {
        matrix_elements: &mut seen.squared,
        helicity: &mut seen.chosen.0,
        color: &mut seen.chosen.1,
    };
    bridge.run(&batch.events(), &mut answers).expect("answers");
    let first = &batch.momenta[..4 * process.legs.len()];
    let event = bridge
        .one_event(first, batch.g_s[0], true)
        .expect("an event");
    seen.contributions = event.contributions.clone();
    seen.jamp2 = event.jamp2.clone();
    seen
}

fn close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    let size = b.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() <= tolerance * size, "{what}: {x:e} and {y:e}");
    }
}

/// A quark line of either direction and mass, at either end of the beam, with and without a boson that couples to one
/// chirality, to both alike or not, or a pair of leptons that becomes one, and gluons alone; on and off mass shells.
#[test]
fn equal_to_diagrams() {
    let cpu = [("CUDACPP_RUNTIME_BACKEND", "cpu")];
    let switches = Switches::from_pairs(cpu).expect("switches");
    for text in [
        "g g > t t~",
        "t~ t > g g",
        "g g > t t~ g",
        "u g > u g g",
        "g u~ > u~ g g g",
        "g g > g g",
        "g g > g g g",
        "g g > g g g g",
        "g u > u g g g",
        "g g > t t~ g g g",
        "d d~ > z g",
        "u~ u > z g g",
        "g d > z d g g",
        "g g > u u~ z g",
        "d d~ > z g g g",
        "u d~ > w+ g g g",
        "g d > w- g u",
        "u~ g > a u~ g",
        "d d~ > a g g g",
        "d d~ > e+ e- g",
        "u u~ > e+ e- g g g",
        "u~ u > e- e+ g g",
        "d d~ > ve ve~ g g",
        "u d~ > e+ ve g g",
        "d~ u > ve e+ g g g",
        "g u > e+ e- u g",
        "g g > mu+ mu- d d~ g",
        "e+ e- > u u~ g g g",
        // Where leptons and quarks were off their mass shells, the numerators of massive vectors would differ.
        "ve d > g e- u g",
    ] {
        let (diagrams, ordered) = (one(text), ordered(text));
        ordered.validate().expect("valid");
        let card = diagrams.model.default_card();
        let configurations = diagrams.channels.config_diagram.len() as i32;
        let igraph: Vec<i32> = (0..=configurations.min(7)).collect();
        let batch = Batch::new(&points(&diagrams, &card, 900.0, 9, 3), 1.2);
        let batch = batch.varied(5).with_igraph(&igraph);
        // Where the diagrams' own bridge would take the colour-ordered form.
        let diagrams = diagrams.as_diagrams().expect("diagrams");
        let mut off = batch.clone();
        let legs = diagrams.legs.len();
        for event in off.momenta.chunks_exact_mut(4 * legs) {
            // Momentum added to one outgoing leg is taken from another.
            for (i, by) in [30.0, -20.0, 10.0, 5.0].into_iter().enumerate() {
                event[8 + i] += by;
                event[12 + i] -= by;
            }
        }
        same(text, &ordered, &diagrams, &batch, &switches, false);
        same(text, &ordered, &diagrams, &off, &switches, true);
    }
}

/// Whether a process gives the same without its diagrams.
pub fn same(
    text: &str,
    ordered: &Process,
    diagrams: &Process,
    batch: &Batch,
    switches: &Switches,
    off_shell: bool,
) {
    let a = seen(ordered, batch, switches, off_shell);
    let b = seen(diagrams, batch, switches, off_shell);
    for (x, y) in a.squared.iter().zip(&b.squared) {
        assert!((x / y - 1.0).abs() < 1e-11, "{text}: {x:e} {y:e}");
    }
    assert_eq!(a.chosen, b.chosen, "{text}");
    close(text, &a.contributions, &b.contributions, 1e-12);
    close(text, &a.jamp2, &b.jamp2, 1e-12);
}

/// A line of one chirality at each SIMD level and in each precision.
#[test]
fn one_chirality_at_every_level() {
    for text in [
        "d d~ > z g g",
        "u d~ > w+ g g g",
        "u u~ > e+ e- g g",
        "d d~ > ve ve~ g g g",
    ] {
        let process = ordered(text);
        let card = process.model.default_card();
        let batch = Batch::new(&points(&process, &card, 900.0, 9, 19), 1.2);
        let run = |simd: &str, precision: &str| {
            let pairs = [
                ("CUDACPP_RUNTIME_BACKEND", "cpu"),
                ("CUDACPP_RUNTIME_SIMD", simd),
                ("CUDACPP_RUNTIME_FPTYPE", precision),
            ];
            let switches = Switches::from_pairs(pairs).expect("switches");
            seen(&process, &batch, &switches, false).squared
        };
        let expected = run("none", "d");
        for simd in ["none", "sse4", "avx2", "512y", "512z"] {
            if Level::choose(simd).is_err() {
                continue;
            }
            for (precision, tolerance) in [("d", 1e-11), ("m", 1e-5), ("f", 1e-3)] {
                for (x, y) in run(simd, precision).iter().zip(&expected) {
                    let close = (x / y - 1.0).abs() < tolerance;
                    assert!(close, "{text}, {simd}, {precision}: {x:e} {y:e}");
                }
            }
        }
    }
}

/// Of a process with some rows of the helicity table: of either chirality alone, of both where each has its opposite,
/// and of both where that is not so, which the diagrams serve.
#[test]
fn some_helicities_of_a_line_with_a_boson() {
    let process = one("d d~ > z g");
    let card = process.model.default_card();
    let point = points(&process, &card, 900.0, 1, 3);
    let alone = |row: usize| squared(&with_helicities(&process, &[row]), &card, &point, 1.2)[0];
    let row_of = |helicities: &[i8]| {
        let row = process.helicities.iter().position(|row| row == helicities);
        row.expect("a row")
    };
    let left = row_of(&[-1, 1, 0, 1]);
    let right = row_of(&[1, -1, 0, -1]);
    let other = row_of(&[1, -1, -1, -1]);
    let vanishing = row_of(&[1, 1, 0, -1]);
    for rows in [
        vec![left],
        vec![right],
        vec![left, right],
        vec![left, other],
        vec![left, right, vanishing],
    ] {
        let some = with_helicities(&process, &rows);
        let sum: f64 = rows
            .iter()
            .filter(|r| **r != vanishing)
            .map(|r| alone(*r))
            .sum();
        let together = squared(&some, &card, &point, 1.2)[0];
        assert!(
            (together / sum - 1.0).abs() < 1e-12,
            "{rows:?}: {together:e} {sum:e}"
        );
        let diagrams = some.as_diagrams().expect("diagrams");
        let expected = squared(&diagrams, &card, &point, 1.2)[0];
        assert!((together / expected - 1.0).abs() < 1e-11, "{rows:?}");
    }
}

/// Leptons of any row or two: of either chirality of the line and of the pair, with and without those that follow.
#[test]
fn some_helicities_of_a_pair_of_leptons() {
    for (text, good) in [
        ("d d~ > e+ e- g", 8),
        ("d d~ > ve ve~ g g", 8),
        ("u d~ > e+ ve g g", 4),
    ] {
        let process = one(text);
        let card = process.model.default_card();
        let point = points(&process, &card, 900.0, 1, 3);
        let value = |process: &Process| squared(process, &card, &point, 1.2)[0];
        let all = 0..process.helicities.len();
        let singles: Vec<f64> = all
            .clone()
            .map(|row| {
                let diagrams = with_helicities(&process, &[row])
                    .as_diagrams()
                    .expect("diagrams");
                value(&diagrams)
            })
            .collect();
        let total: f64 = singles.iter().sum();
        let contribute = |row: &usize| singles[*row] > 1e-12 * total;
        let rows: Vec<usize> = all.clone().filter(contribute).collect();
        assert_eq!(rows.len(), good, "{text}");
        let vanishing = all.clone().find(|row| !contribute(row)).expect("one");
        for (i, &first) in rows.iter().enumerate() {
            for &second in rows[i..].iter().chain([&vanishing]) {
                let mut some = vec![first, second];
                some.dedup();
                let expected: f64 = some
                    .iter()
                    .filter(|r| contribute(r))
                    .map(|r| singles[*r])
                    .sum();
                let found = value(&with_helicities(&process, &some));
                let close = (found / expected - 1.0).abs() < 1e-11;
                assert!(close, "{text}, {some:?}: {found:e} {expected:e}");
            }
        }
    }
}

/// On the Z's pole and far from it, where the vectors' currents cancel, without width, without one of the vectors: as
/// the diagrams, and as the plain evaluation of these.
#[test]
fn vectors_of_a_pair_of_leptons() {
    for text in [
        "e+ e- > u u~ g g",
        "d d~ > mu+ mu- g / z",
        "u u~ > e+ e- g g",
        "e- ve~ > d u~ g",
    ] {
        let process = one(text);
        let form = process.amplitudes.color_ordered().expect("a form");
        let vectors = form.boson.as_ref().map_or(0, |boson| boson.vectors.len());
        let both = !text.contains('/') && !text.contains("ve");
        assert_eq!(vectors, 1 + usize::from(both), "{text}");
        let diagrams = process.as_diagrams().expect("diagrams");
        let ordered = ordered(text);
        let default = process.model.default_card();
        for card in [&default, &gauge_invariant(&process)] {
            // Left-handed up quarks and leptons hardly couple at 68.25 GeV.
            for energy in [1.0, 10.0, 68.25, 80.0, 91.188, 95.0, 500.0, 1e6] {
                if energy == 91.188 && card != &default {
                    continue;
                }
                let points = points(&process, card, energy, 5, 23);
                let found = squared(&ordered, card, &points, 1.2);
                let expected = squared(&diagrams, card, &points, 1.2);
                for (i, (x, y)) in found.iter().zip(&expected).enumerate() {
                    let what = format!("{text} at {energy}: {x:e} {y:e}");
                    assert!((x / y - 1.0).abs() < 1e-10, "{what}");
                    let plain = process.evaluate(&points[i], 1.2, card).total();
                    assert!((x / plain - 1.0).abs() < 1e-10, "{what}, {plain:e}");
                }
            }
        }
    }
}

/// A pair of leptons with another chirality than the line's: gluons decouple.
#[test]
fn gluons_decouple_from_a_line_with_a_pair_of_leptons() {
    for text in ["u d~ > e+ ve g g g", "g d > e- e+ d g g"] {
        let process = ordered(text);
        let card = process.model.default_card();
        let points = points(&process, &card, 900.0, 3, 5);
        // Of the pair of a quark the rows of one chirality, as those of the other one follow from opposite helicities.
        let incoming = process.legs.iter().position(|leg| leg.pdg.abs() < 3);
        let incoming = incoming.expect("a quark");
        let rows = (0..).zip(&process.helicities);
        let rows = rows.filter(|(_, row)| row[incoming] == -1);
        let rows: Vec<usize> = rows.map(|(row, _)| row).collect();
        let process = with_helicities(&process, &rows);
        let normal = squared(&process, &card, &points, 1.2);
        let gluons = process
            .legs
            .iter()
            .enumerate()
            .filter(|(_, leg)| leg.pdg == 21);
        for (leg, _) in gluons {
            let replaced = squared(&ward::with_momentum(&process, leg), &card, &points, 1.2);
            for (x, y) in replaced.iter().zip(&normal) {
                assert!(x / y < 1e-20 && *y > 0.0, "{text}, leg {leg}: {x:e} {y:e}");
            }
        }
    }
}

/// Where anything else than gluons, the line and vectors between it and the pair can be a propagator, there is no such
/// form.
#[test]
fn what_a_line_takes_up() {
    for (text, vectors) in [
        ("u u~ > e+ e- g", Some(2)),
        ("u u~ > e+ e- g QED<=4 QCD<=3", Some(2)),
        ("u u~ > e+ e- g QED=2", Some(2)),
        ("u u~ > ve ve~ g", Some(1)),
        ("u u~ > e+ e- g / a", Some(1)),
        ("g u~ > e- ve~ d~", Some(1)),
        ("u u~ > ta+ ta- g", None),
        ("u u~ > e+ e- a g", None),
        ("u u~ > e+ e- z g", None),
        ("e+ e- > t t~ g", None),
        ("u d~ > ta+ vt g", None),
        ("u u~ > e+ e- d d~", None),
        ("e+ e- > mu+ mu- a", None),
    ] {
        let process = one(text);
        let form = process.amplitudes.color_ordered();
        let boson = form.map(|form| form.boson.as_ref());
        let found = boson.flatten().map(|boson| boson.vectors.len());
        assert_eq!(found, vectors, "{text}");
        assert_eq!(form.is_some(), vectors.is_some(), "{text}");
        assert!(
            !color_ordered_is_faster(&process, Processor::Gpu { single: false }),
            "{text}"
        );
    }
}

/// The bridge of a process with both forms uses either, and both agree.
#[test]
fn calls_with_channels_are_served_by_diagrams() {
    for text in ["g g > g g g g", "u u~ > e+ e- g g", "ve d > e- u g g"] {
        channels_are_served_by_diagrams(text);
    }
}

fn channels_are_served_by_diagrams(text: &str) {
    let process = one(text);
    let card = process.model.default_card();
    let batch = Batch::new(&points(&process, &card, 900.0, 3, 3), 1.2);
    let run = |batch: &Batch, bridge: &mut Bridge| {
        let mut out = (vec![0.0; 3], vec![0; 3], vec![0; 3]);
        let mut answers = Answers {
            matrix_elements: &mut out.0,
            helicity: &mut out.1,
            color: &mut out.2,
        };
        bridge.run(&batch.events(), &mut answers).expect("answers");
        out.0
    };
    let switches = Switches::from_pairs([("CUDACPP_RUNTIME_BACKEND", "cpu")]).expect("switches");
    let mut bridge = Bridge::new(process.clone(), &card, &switches, 3).expect("bridge");
    let all = run(&batch, &mut bridge);
    let plan = |bridge: &Bridge| {
        bridge
            .serving(false)
            .map(|(plan, _)| plan.loops().is_some())
    };
    assert_eq!(plan(&bridge), Some(true));
    let mut sum = vec![0.0; 3];
    for &channel in &process.channels.config_diagram {
        let batch = batch.clone().in_channels(&[channel as i32]);
        for (sum, x) in sum.iter_mut().zip(run(&batch, &mut bridge)) {
            *sum += x;
        }
    }
    close("channels", &sum, &all, 1e-12);
}

/// Some rows of the helicity table: all of a large process would take a while here.
fn with_helicities(process: &Process, rows: &[usize]) -> Process {
    let rows = rows.iter().map(|&row| process.helicities[row].clone());
    Process {
        helicities: rows.collect(),
        ..process.clone()
    }
}

/// Seven gluons with a quark pair, and eight gluons: Ward identities, rotations and exchanges of gluons.
#[test]
fn beyond_diagrams() {
    for (text, row) in [
        ("g g > t t~ g g g g g", 0b101001101),
        ("g g > g g g g g g", 0b10110010),
    ] {
        let process = one(text);
        assert!(process.is_color_ordered(), "{text}");
        process.validate().expect("valid");
        let process = with_helicities(&process, &[row]);
        let card = gauge_invariant(&process);
        let point = points(&process, &card, 2000.0, 1, 8).remove(0);
        let value = |process: &Process, point: &Point| {
            squared(process, &card, std::slice::from_ref(point), 1.2)[0]
        };
        let first = value(&process, &point);
        let last = process.legs.len() - 1;
        for leg in [0, last] {
            let second = value(&ward::with_momentum(&process, leg), &point);
            assert!(second / first < 1e-18, "{text}: {first:e} {second:e}");
        }
        let (mut exchanged, mut at) = (process.clone(), point.clone());
        at.swap(last - 2, last);
        exchanged.helicities[0].swap(last - 2, last);
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let at = Lorentz::rotation(&mut rng).apply(&at);
        let second = value(&exchanged, &at);
        assert!(
            (second / first - 1.0).abs() < 1e-9,
            "{text}: {first:e} {second:e}"
        );
    }
}

/// All helicities of eight gluons: the same whichever gluon is called which, and from one call to the next.
#[test]
fn eight_gluons_are_alike() {
    let process = one("g g > g g g g g g");
    let card = process.model.default_card();
    let mut points = points(&process, &card, 2000.0, 1, 12);
    let mut exchanged = points[0].clone();
    exchanged.swap(3, 7);
    points.push(exchanged);
    let batch = Batch::new(&points, 1.2);
    let mut bridge = bridge(&process, &card, &cpu());
    let first = batch.run(&mut bridge).squared;
    assert!((first[0] / first[1] - 1.0).abs() < 1e-9, "{first:?}");
    assert_eq!(batch.run(&mut bridge).squared, first);
}

/// |M|^2 is proportional to a power of the strong coupling, for any value; without the coupling it is zero.
#[test]
fn couplings_of_any_size() {
    for (text, power) in [
        ("g g > g g g", 6),
        ("u u~ > g g g g", 8),
        ("g g > g g g g", 8),
    ] {
        let process = ordered(text);
        let card = process.model.default_card();
        let point = points(&process, &card, 900.0, 1, 3);
        let unit = squared(&process, &card, &point, 1.0)[0];
        for g in [1e-30f64, 1e-9, 1e3, 1e20] {
            let x = squared(&process, &card, &point, g)[0];
            assert!(
                (x / unit / g.powi(power) - 1.0).abs() < 1e-11,
                "{text}, {g}: {x:e}"
            );
        }
        assert_eq!(squared(&process, &card, &point, 0.0), [0.0], "{text}");
    }
}

/// Energies far beyond any accelerator, and the threshold: answers are finite, and the same as from other lanes.
#[test]
fn at_the_edges() {
    let process = ordered("g g > t t~ g g g");
    let card = process.model.default_card();
    let mut all = points(&process, &card, 1e6, 3, 6);
    // At the threshold, where gluons are soft and the quarks at rest.
    let incoming = [0.0; 2];
    let masses = masses(&process, &card);
    let space = PhaseSpace::new(2.0 * masses[2] + 0.01, &incoming, &masses[2..]).expect("energy");
    for i in 0..2 {
        let random: Vec<f64> = (0..space.randoms())
            .map(|j| (0.37 + 0.61 * (7 * i + j) as f64).fract())
            .collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&random, &mut momenta);
        all.push(momenta.as_chunks().0.to_vec());
    }
    let together = squared(&process, &card, &all, 1.2);
    for (point, x) in all.iter().zip(&together) {
        assert!(x.is_finite() && *x > 0.0, "{x:e}");
        let alone = squared(&process, &card, std::slice::from_ref(point), 1.2);
        assert_eq!(alone[0], *x);
    }
    let switches = Switches::from_pairs([("CUDACPP_RUNTIME_BACKEND", "cpu")]).expect("switches");
    let mut bridge = Bridge::new(process.clone(), &card, &switches, 1).expect("bridge");
    let mut bad = all[0].clone();
    bad[6][0] *= 1.1;
    let momenta: Vec<f64> = bad.iter().flatten().copied().collect();
    let events = Events {
        momenta: &momenta,
        g_s: &[1.2],
        random_helicity: &[0.5],
        random_color: &[0.5],
        channels: None,
        igraph: None,
    };
    let mut out = ([0.0], [0], [0]);
    let mut answers = Answers {
        matrix_elements: &mut out.0,
        helicity: &mut out.1,
        color: &mut out.2,
    };
    assert!(bridge.run(&events, &mut answers).is_err());
}
