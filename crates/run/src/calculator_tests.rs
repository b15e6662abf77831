use super::*;
use crate::systematics::{Member, WeightGroup};
use mebridge::event_generator::BeamRequest;
use mebridge::lhe::{Event, Particle};
use std::fs;
use std::path::{Path, PathBuf};

/// Number of particles that records have space for, one more than they have.
const ROOM: usize = 6;
const ENERGIES: [f64; 2] = [500.0, 400.0];

/// Densities with a logarithm of Q that is 0 at 5 GeV and 1 at 10 TeV: x f of the gluon is `gluon` (1 + h t), with h =
/// 1 at x = 1e-3 and 3 at x = 0.1; that of an up quark is the same without the factor.
fn densities(folder: &Path, gluon: f64) -> PathBuf {
    let rows = [[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 0.0]];
    let rows = rows.as_flattened().iter().map(|h| {
        let up = 1.0 + h;
        format!("{} {up} {up}\n", gluon * up)
    });
    let rows: String = rows.collect();
    let text = format!(
        "PdfType: central\nFormat: lhagrid1\n---\n1e-4 1e-3 0.1 1\n5 1e4\n21 2 -2\n{rows}---\n"
    );
    let file = folder.join(format!("own_{gluon:04}.dat"));
    fs::write(&file, text).unwrap();
    file
}

fn t(q: f64) -> f64 {
    (q / 5.0).ln() / 2000f64.ln()
}

/// x f of an up quark.
fn up(x: f64, q: f64) -> f64 {
    1.0 + if x < 0.05 { 1.0 } else { 3.0 } * t(q)
}

fn beams(file: &Path) -> Option<[BeamDensity; 2]> {
    let beam = BeamRequest::Hadron {
        densities: file.to_owned(),
        anti: false,
        ion: None,
    };
    BeamDensity::from_beams(&[beam.clone(), beam]).unwrap()
}

fn variation(mur: f64, muf: f64) -> Variation {
    Variation {
        mur,
        muf,
        lhapdf: String::new(),
        member: None,
        dynamical: None,
        emissions: 1.0,
    }
}

fn systematics(variations: Vec<Variation>, members: Vec<Member>) -> Systematics {
    Systematics {
        groups: vec![WeightGroup {
            variations,
            ..WeightGroup::default()
        }],
        members,
        ..Systematics::default()
    }
}

fn elements(text: &str) -> Vec<Element> {
    let processes = mebridge::generate(text).unwrap();
    let one = |(number, process)| Element::new(process, false, Vec::new(), 0, number).unwrap();
    (0..).zip(processes).map(one).collect()
}

/// alpha_s = 1 / (2 ln Q), up to interpolation.
fn alpha_s() -> AlphaS {
    let scales: Vec<f64> = (1..400).map(|i| 3.0 * 1.03f64.powi(i)).collect();
    let values = scales.iter().map(|scale| 0.5 / scale.ln()).collect();
    AlphaS { scales, values }
}

/// The record of an event of the first matrix element, with an on-shell resonance in between.
fn record(codes: &[i32], momenta: &[[f64; 4]]) -> Vec<u8> {
    let mut event = Event::default();
    event.process = 1;
    let particle = |(leg, (&pdg, &[e, x, y, z])): (usize, (&i32, &[f64; 4]))| Particle {
        pdg,
        status: if leg < 2 { -1 } else { 1 },
        momentum: [x, y, z, e, 0.0],
        ..Particle::default()
    };
    event.particles = codes
        .iter()
        .zip(momenta)
        .enumerate()
        .map(particle)
        .collect();
    let line = Particle {
        pdg: 23,
        status: 2,
        ..Particle::default()
    };
    event.particles.insert(2, line);
    let mut bytes = Vec::new();
    event.push_head(&mut bytes);
    event.push_particles(&mut bytes);
    bytes.resize(record_bytes(ROOM).unwrap(), 0);
    bytes
}

/// Two incoming partons with 0.1 and 1e-3 of the beams' energies, and outgoing top quarks.
fn top_pair() -> [[f64; 4]; 4] {
    let (first, second) = (50.0, 0.4);
    let (e, z) = (first + second, first - second);
    [
        [first, 0.0, 0.0, first],
        [second, 0.0, 0.0, -second],
        [e / 2.0, 3.0, 1.0, z / 2.0],
        [e / 2.0, -3.0, -1.0, z / 2.0],
    ]
}

fn near(found: f64, wanted: f64, share: f64) {
    assert!((found / wanted - 1.0).abs() < share, "{found:e} {wanted:e}");
}

/// Powers of alpha_s, and densities at other scales.
#[test]
fn scales_are_multiplied() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (densities(folder.path(), 1.0), densities(folder.path(), 3.0));
    let member = |coupling: Option<AlphaS>| Member {
        file: other.clone(),
        alpha_s: coupling,
        set: String::new(),
        number: 0,
    };
    let members = vec![member(None), member(Some(AlphaS::constant(0.2).unwrap()))];
    let of_member = |member: usize| Variation {
        member: Some(member),
        ..variation(1.0, 1.0)
    };
    let dynamical = Variation {
        dynamical: Some(Dynamical::TransverseMass),
        ..variation(2.0, 2.0)
    };
    let scales = [[30.0, 20.0, 40.0]];
    let all = vec![
        variation(2.0, 0.5),
        variation(1.0, 1.0),
        dynamical,
        of_member(0),
        of_member(1),
    ];
    let requested = systematics(all, members);
    let found = |codes: [i32; 4], beams: Option<[BeamDensity; 2]>| {
        let elements = elements("g g > t t~");
        let mut of = Calculator::new(
            &requested,
            &elements,
            ENERGIES,
            &alpha_s(),
            beams,
            1,
            &Switches::from_env().unwrap(),
        )
        .unwrap();
        of.ratios(&record(&codes, &top_pair()), ROOM, &scales, &[])
            .unwrap()
    };
    let coupling = |from: f64, to: f64| (from.ln() / to.ln()).powi(2);
    // Both have the transverse mass given by 25.2^2 - 24.8^2.
    let mass = 2.0 * f64::sqrt(25.2f64.powi(2) - 24.8f64.powi(2));
    let by = |first: f64, second: f64| {
        up(0.1, first) * up(1e-3, second) / up(0.1, 20.0) / up(1e-3, 40.0)
    };
    let constant = (0.2 / (0.5 / 30f64.ln())).powi(2);
    let gluons = found([21, 21, 6, -6], beams(&own));
    let wanted = [
        coupling(30.0, 60.0) * by(10.0, 20.0),
        1.0,
        coupling(30.0, 2.0 * mass) * by(2.0 * mass, 2.0 * mass),
        9.0,
        9.0 * constant,
    ];
    assert_eq!(gluons.len(), 5);
    for (found, wanted) in gluons.iter().zip(wanted) {
        near(*found, wanted, 1e-6);
    }
    // Quarks have the same densities in the other members.
    let quarks = found([2, -2, 6, -6], beams(&own));
    near(quarks[3], 1.0, 1e-12);
    near(quarks[4], constant, 1e-6);
    // Beams without densities.
    let partons = found([21, 21, 6, -6], None);
    near(partons[0], coupling(30.0, 60.0), 1e-6);
    near(partons[3], 1.0, 1e-12);
}

/// The results, in the order of the events, do not depend on the number of threads.
#[test]
fn events_keep_their_order() {
    let requested = systematics(vec![variation(2.0, 1.0), variation(0.5, 1.0)], Vec::new());
    let elements = elements("g g > t t~");
    let count = 2 * AT_ONCE + 7;
    let scale = |event: usize| 10.0 + event as f64;
    let scales: Vec<[f64; 3]> = (0..count).map(|event| [scale(event), 0.0, 0.0]).collect();
    let records = record(&[21, 21, 6, -6], &top_pair()).repeat(count);
    let found = |threads: usize| {
        let coupled = alpha_s();
        let mut of = Calculator::new(
            &requested,
            &elements,
            ENERGIES,
            &coupled,
            None,
            threads,
            &Switches::from_env().unwrap(),
        )
        .unwrap();
        of.ratios(&records, ROOM, &scales, &[]).unwrap()
    };
    let one = found(1);
    assert_eq!(one, found(3));
    for (event, pair) in one.chunks_exact(2).enumerate() {
        let wanted = |factor: f64| (scale(event).ln() / (factor * scale(event)).ln()).powi(2);
        near(pair[0], wanted(2.0), 1e-5);
        near(pair[1], wanted(0.5), 1e-5);
    }
}

/// |M|^2 with several powers of alpha_s is evaluated again, with the legs in the order of the matrix element.
#[test]
fn beams_may_be_exchanged() {
    let requested = systematics(vec![variation(3.0, 1.0), variation(1.0, 1.0)], Vec::new());
    let elements = elements("u u~ > t t~ QCD=2 QED=2");
    assert_eq!(elements[0].qcd_power(), None);
    let (e, m) = (400.0f64, 173.0f64);
    let p = (e * e - m * m).sqrt();
    let momenta = |sign: f64| {
        let [x, y, z] = [0.48 * p, sign * 0.36 * p, sign * 0.8 * p];
        [
            [e, 0.0, 0.0, e],
            [e, 0.0, 0.0, -e],
            [e, x, y, z],
            [e, -x, -y, -z],
        ]
    };
    // The second event is the first one, rotated about the x axis; the third one differs.
    let events = [
        record(&[2, -2, 6, -6], &momenta(1.0)),
        record(&[-2, 2, 6, -6], &momenta(-1.0)),
        record(&[2, -2, 6, -6], &momenta(-1.0)),
    ];
    let coupled = alpha_s();
    let mut of = Calculator::new(
        &requested,
        &elements,
        [e; 2],
        &coupled,
        None,
        1,
        &Switches::from_env().unwrap(),
    )
    .unwrap();
    let found = of
        .ratios(&events.concat(), ROOM, &[[50.0, 0.0, 0.0]; 3], &[])
        .unwrap();
    let power = |event: usize| found[2 * event].ln() / (50f64.ln() / 150f64.ln()).ln();
    near(found[2], found[0], 1e-12);
    assert!(
        (power(2) / power(0) - 1.0).abs() > 1e-3,
        "{} {}",
        power(0),
        power(2)
    );
    assert!((0..3).all(|event| 1.5 < power(event) && power(event) < 1.9999));
    assert_eq!([found[1], found[3], found[5]], [1.0; 3]);
}

/// Weights along the clustered vertices.
#[test]
fn matched_events_have_vertices() {
    let folder = tempfile::tempdir().unwrap();
    let file = densities(folder.path(), 1.0);
    let emissions = |emissions: f64, muf: f64| Variation {
        emissions,
        ..variation(1.0, muf)
    };
    let dynamical = Variation {
        dynamical: Some(Dynamical::PartonicEnergy),
        ..variation(1.0, 2.0)
    };
    let all = vec![
        emissions(2.0, 1.0),
        emissions(1.0, 0.5),
        dynamical,
        variation(2.0, 1.0),
    ];
    let matched = Matched {
        weight: 1.0,
        emissions: vec![12.0, 0.0, 15.0],
        densities: [vec![(2, 1e-3, 10.0), (21, 0.1, 30.0)], vec![(2, 0.1, 50.0)]],
        ..Matched::default()
    };
    let elements = elements("g g > t t~");
    let requested = systematics(all, Vec::new());
    let coupled = alpha_s();
    let mut of = Calculator::new(
        &requested,
        &elements,
        ENERGIES,
        &coupled,
        beams(&file),
        1,
        &Switches::from_env().unwrap(),
    )
    .unwrap();
    let record = record(&[21, 2, 6, -6], &top_pair());
    let found = of
        .ratios(&record, ROOM, &[[30.0, 30.0, 50.0]], &[&matched])
        .unwrap();
    // f at the last vertices, and the ratio of f at both ends of the vertex before.
    let along = |first: f64, before: f64, second: f64| {
        up(0.1, first) * up(0.1, second) * up(1e-3, before) / up(0.1, before)
    };
    let nominal = along(30.0, 10.0, 50.0);
    let energy = 2.0 * f64::sqrt(50.0 * 0.4);
    let coupling = |from: f64, to: f64| from.ln() / to.ln();
    let emitted = coupling(12.0, 24.0) * coupling(15.0, 30.0);
    let wanted = [
        emitted * along(30.0, 20.0, 50.0) / nominal,
        along(15.0, 10.0, 25.0) / nominal,
        // The scale of a vertex is at most that of the last one; alpha_s at vertices stays.
        along(2.0 * energy, 10.0, 2.0 * energy) / nominal,
        1.0,
    ];
    for (found, wanted) in found.iter().zip(wanted) {
        near(*found, wanted, 1e-5);
    }
}

#[test]
fn densities_are_multiplied() {
    let folder = tempfile::tempdir().unwrap();
    let both = beams(&densities(folder.path(), 2.0));
    let records = record(&[21, 2, 6, -6], &top_pair()).repeat(2);
    let scales = [[20.0, 40.0], [50.0, 60.0]];
    let products = |beams: Option<&[BeamDensity; 2]>| {
        density_products(beams, &records, ROOM, &scales, ENERGIES, 2).unwrap()
    };
    for (found, [first, second]) in products(both.as_ref()).into_iter().zip(scales) {
        near(
            found,
            2.0 * up(0.1, first) * up(1e-3, second) / 0.1 / 1e-3,
            1e-9,
        );
    }
    assert_eq!(products(None), [1.0; 2]);
}
