use super::*;

const SETTINGS: ClusteringSettings = ClusteringSettings {
    hadrons: true,
    maxjetflavor: 4,
    bwcutoff: 15.0,
    small_width: 1e-6,
    distance: 1.0,
    scheme: 1,
    alone: false,
    parton_beam: None,
    denominators: false,
};

const NOTHING: InitialScales = InitialScales {
    renormalisation: 0.0,
    factorisation: [0.0; 2],
    fixed: false,
    factor: 1.0,
};

const COLORS: [(i32, i32); 10] = [
    (1, 3),
    (-1, -3),
    (2, 3),
    (-2, -3),
    (6, 3),
    (-6, -3),
    (21, 8),
    (11, 1),
    (-11, 1),
    (23, 1),
];

fn line(legs: u32, daughters: [u32; 2], code: i32, spacelike: bool) -> ListedLine {
    ListedLine {
        legs,
        daughters,
        code,
        spacelike,
        forced: Forced::No,
        mass: if code == 23 { 91.2 } else { 0.0 },
        width: if code == 23 { 2.5 } else { 0.0 },
    }
}

/// Incoming momenta along the beams with the energy of the outgoing ones, whose sum is at rest.
fn point(out: &[[f64; 4]]) -> Vec<[f64; 4]> {
    let half = out.iter().map(|p| p[0]).sum::<f64>() / 2.0;
    let beams = [1.0, -1.0].map(|side| [half, 0.0, 0.0, side * half]);
    beams.into_iter().chain(out.iter().copied()).collect()
}

fn with_mass(mass: f64, [x, y, z]: [f64; 3]) -> [f64; 4] {
    [(mass * mass + x * x + y * y + z * z).sqrt(), x, y, z]
}

fn clustering(
    codes: &[i32],
    diagrams: Vec<ListedDiagram>,
    matching: Matching,
) -> Result<Clustering, Error> {
    let colors = COLORS.into_iter().collect();
    Clustering::new(vec![codes.to_vec()], diagrams, &colors, SETTINGS, matching)
}

/// The scales of a point in its first channel; `None` if it is dropped.
fn scales(clustering: &mut Clustering, p: &[[f64; 4]], given: &InitialScales) -> Option<[f64; 3]> {
    let mut rows = Rows::new(4 * p.len(), 1);
    for (row, component) in p.iter().flatten().enumerate() {
        rows.row_mut(row)[0] = *component;
    }
    let mut counts = JetCounts::default();
    (clustering.count_jets(&rows, &[0], &mut counts)).expect("jets");
    clustering.settle(&counts);
    let found = clustering.cluster(0, 0, p, given, &mut ClusteringCache::default());
    found.expect("a point").map(|found| found.scales)
}

#[track_caller]
fn assert_near(found: Option<[f64; 3]>, wanted: [f64; 3]) {
    for (found, wanted) in found.expect("a point that is kept").into_iter().zip(wanted) {
        assert!(
            (found - wanted).abs() <= 1e-12 * wanted,
            "{found} for {wanted}"
        );
    }
}

fn diagram(nqcd: i32, lines: Vec<ListedLine>) -> ListedDiagram {
    ListedDiagram { lines, nqcd }
}

#[test]
fn a_strong_pair_has_its_transverse_mass() {
    let diagrams = vec![diagram(2, vec![line(12, [4, 8], 21, false)])];
    let made = clustering(&[2, -2, 6, -6], diagrams, Matching::default());
    let mut process = made.expect("a process");
    let p = [30.0, 40.0, 77.0];
    let out = [with_mass(173.0, p), with_mass(173.0, p.map(|x| -x))];
    let wanted = 173f64.hypot(50.0);
    let given = NOTHING;
    assert_near(scales(&mut process, &point(&out), &given), [wanted; 3]);
    let half = InitialScales {
        factor: 0.5,
        ..NOTHING
    };
    assert_near(scales(&mut process, &point(&out), &half), [wanted / 2.0; 3]);
    // Given scales are kept, and multiplied by the factor unless they are fixed.
    let given = InitialScales {
        renormalisation: 91.0,
        factorisation: [10.0, 20.0],
        fixed: true,
        factor: 0.5,
    };
    assert_near(
        scales(&mut process, &point(&out), &given),
        [91.0, 10.0, 20.0],
    );
    let given = InitialScales {
        fixed: false,
        ..given
    };
    assert_near(
        scales(&mut process, &point(&out), &given),
        [91.0, 10.0, 20.0],
    );
    // MadEvent multiplies them again if points are reweighted.
    let diagrams = vec![diagram(2, vec![line(12, [4, 8], 21, false)])];
    let weighted = Matching {
        reweighted: true,
        ..Matching::default()
    };
    let mut process = clustering(&[2, -2, 6, -6], diagrams, weighted).expect("a process");
    assert_near(
        scales(&mut process, &point(&out), &given),
        [91.0, 5.0, 10.0],
    );
}

#[test]
fn what_a_colour_singlet_becomes_has_its_mass() {
    let diagrams = vec![diagram(0, vec![line(12, [4, 8], 23, false)])];
    let made = clustering(&[2, -2, -11, 11], diagrams, Matching::default());
    let mut process = made.expect("a process");
    let p = [10.0, 20.0, 38.0];
    let out = [with_mass(0.0, p), with_mass(0.0, p.map(|x| -x))];
    let given = NOTHING;
    let wanted = out[0][0] + out[1][0];
    assert_near(scales(&mut process, &point(&out), &given), [wanted; 3]);
}

/// u u~ > e+ e- g: the gluon is emitted from a beam at its transverse momentum; scales are the pair's transverse mass.
#[test]
fn an_emission_from_a_beam() {
    let from = |beam: u32, legs: u32| {
        let lines = vec![
            line(12, [4, 8], 23, false),
            line(legs, [beam, 16], if beam == 1 { 2 } else { -2 }, true),
        ];
        diagram(1, lines)
    };
    let diagrams = vec![from(1, 17), from(2, 18)];
    let codes = [2, -2, -11, 11, 21];
    let made = clustering(&codes, diagrams.clone(), Matching::default());
    let mut process = made.expect("a process");
    let gluon = [3.0, -4.0, 12.0];
    let (one, other) = ([17.0, 31.0, 14.0], [-20.0, -27.0, -26.0]);
    let out = [
        with_mass(0.0, one),
        with_mass(0.0, other),
        with_mass(0.0, gluon),
    ];
    let p = point(&out);
    let found = scales(&mut process, &p, &NOTHING);
    // The pair is on its mass shell.
    let pair = point::mass(&p, 12);
    assert!(pair > 91.2 - 37.5, "{pair}");
    assert_near(found, [pair.hypot(5.0); 3]);
    let cut = Matching {
        xqcut: 5.1,
        ..Matching::default()
    };
    let mut process = clustering(&codes, diagrams, cut).expect("a process");
    assert_eq!(scales(&mut process, &p, &NOTHING), None);
}

#[test]
fn points_that_are_dropped() {
    let p = [10.0, 20.0, 38.0];
    let out = [with_mass(0.0, p), with_mass(0.0, p.map(|x| -x))];
    let mass = out[0][0] + out[1][0];
    for (forced, near, dropped) in [
        (Forced::No, true, false),
        (Forced::On, true, false),
        (Forced::Off, true, true),
        (Forced::On, false, true),
        (Forced::Off, false, false),
    ] {
        let resonance = ListedLine {
            forced,
            mass: mass + if near { 30.0 } else { 40.0 },
            ..line(12, [4, 8], 23, false)
        };
        let diagrams = vec![diagram(0, vec![resonance])];
        let made = clustering(&[2, -2, -11, 11], diagrams, Matching::default());
        let mut process = made.expect("a process");
        let p = point(&out);
        assert_eq!(process.excludes(0, &p), dropped, "{forced:?}, {near}");
        let found = scales(&mut process, &p, &NOTHING);
        assert_eq!(found.is_none(), dropped, "{forced:?}, {near}");
    }
    // Densities of hadrons need scales of 2 GeV, unless they are fixed.
    for (scale, fixed, dropped) in [(2.0, false, false), (1.9, false, true), (1.9, true, false)] {
        let diagrams = vec![diagram(0, vec![line(12, [4, 8], 23, false)])];
        let mut process =
            clustering(&[2, -2, -11, 11], diagrams, Matching::default()).expect("a process");
        let given = InitialScales {
            factorisation: [scale; 2],
            fixed,
            ..NOTHING
        };
        let found = scales(&mut process, &point(&out), &given);
        assert_eq!(found.is_none(), dropped, "{scale} {fixed}");
    }
}

#[test]
fn what_cannot_be_clustered() {
    let error = clustering(&[21; 17], Vec::new(), Matching::default()).expect_err("too many");
    assert!(error.to_string().contains("17 legs"), "{error}");
    for legs in [0, 15, 16] {
        let diagrams = vec![diagram(2, vec![line(legs, [4, 8], 21, false)])];
        let error = clustering(&[21; 4], diagrams, Matching::default()).expect_err("no line");
        assert!(error.to_string().contains(&format!("{legs:#b}")), "{error}");
    }
    // A quark that becomes two gluons.
    let diagrams = vec![diagram(2, vec![line(12, [4, 8], 2, false)])];
    let made = clustering(&[21, 21, 21, 21], diagrams, Matching::default());
    let p = [10.0, 20.0, 38.0];
    let out = [with_mass(0.0, p), with_mass(0.0, p.map(|x| -x))];
    let mut rows = Rows::new(16, 1);
    for (row, component) in point(&out).iter().flatten().enumerate() {
        rows.row_mut(row)[0] = *component;
    }
    let error = made
        .expect("a process")
        .count_jets(&rows, &[0], &mut JetCounts::default())
        .expect_err("colours");
    assert!(error.to_string().contains("2 becomes 21 and 21"), "{error}");
}

#[test]
fn records_of_what_matching_found() {
    let mut found = Matched {
        weight: 0.5,
        start: 2.0,
        pt: vec![3.0],
        steps: vec![(4.0, [1, 5, 2]), (5.0, [3, 4, 0])],
        emissions: vec![6.0],
        densities: [vec![(21, 0.1, 7.0), (2, 0.2, 8.0)], vec![(-1, 0.3, 9.0)]],
    };
    found.exchange();
    let mut bytes = Vec::new();
    found.push_record(5, &mut bytes);
    // weight, start; for three outgoing legs pt, steps, legs of steps, emissions; for both beams five codes, x and Q.
    assert_eq!(
        bytes.len(),
        8 * (2 + 3 + 3 + 3) + 4 * (9 + 10) + 8 * (10 + 10)
    );
    let double = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().expect("bytes"));
    let whole = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().expect("bytes"));
    assert_eq!(
        [0, 8, 16, 24, 40, 48, 56].map(double),
        [0.5, 2.0, 3.0, 0.0, 4.0, 5.0, 0.0]
    );
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6].map(|i| whole(64 + 4 * i)),
        [2, 5, 1, 3, 4, 0, 0]
    );
    assert_eq!([100, 108].map(double), [6.0, 0.0]);
    assert_eq!(
        [0, 1, 5, 6, 7].map(|i| whole(124 + 4 * i)),
        [-1, 0, 21, 2, 0]
    );
    assert_eq!([0, 5, 6].map(|i| double(164 + 8 * i)), [0.3, 0.1, 0.2]);
    assert_eq!([0, 5, 6].map(|i| double(244 + 8 * i)), [9.0, 7.0, 8.0]);
}
