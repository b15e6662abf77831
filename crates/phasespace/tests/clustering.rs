//! Clustered points compared with results of the Python package's clustering:
//! `crates/phasespace/tests/clustering.json`.

use mebridge_phasespace::Rows;
use mebridge_phasespace::clustering::{
    Clustering, ClusteringCache, ClusteringSettings, InitialScales, JetCounts, ListedDiagram,
    Matched, Matching, Weighing,
};
use mebridge_support::sorted::SortedMap;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    process: String,
    settings: ClusteringSettings,
    matching: Matching,
    given: (f64, [f64; 2], bool, f64),
    processes: Vec<Vec<i32>>,
    colors: SortedMap<i32, i32>,
    masses: Vec<f64>,
    diagrams: Vec<ListedDiagram>,
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    channel: i32,
    process: usize,
    /// Three-momenta of the outgoing legs except the last one, GeV; their sum is at rest.
    momenta: Vec<[f64; 3]>,
    x: [f64; 2],
    found: Option<Found>,
}

#[derive(Deserialize)]
struct Found {
    scales: [f64; 3],
    #[serde(flatten)]
    matched: Option<Weighted>,
}

#[derive(Deserialize)]
struct Weighted {
    weight: f64,
    start: f64,
    pt: Vec<f64>,
    steps: Vec<(f64, [i32; 3])>,
    emissions: Vec<f64>,
    densities: [Vec<(i32, f64, f64)>; 2],
}

impl Event {
    fn momenta(&self, masses: &[f64]) -> Vec<[f64; 4]> {
        let last = [0, 1, 2].map(|i| -self.momenta.iter().map(|p| p[i]).sum::<f64>());
        let every = self.momenta.iter().chain([&last]);
        let out = every
            .zip(&masses[2..])
            .map(|([x, y, z], mass)| [(mass * mass + x * x + y * y + z * z).sqrt(), *x, *y, *z]);
        let out: Vec<[f64; 4]> = out.collect();
        let half = out.iter().map(|p| p[0]).sum::<f64>() / 2.0;
        let beams = [1.0, -1.0].map(|side| [half, 0.0, 0.0, side * half]);
        beams.into_iter().chain(out).collect()
    }
}

/// As in the script that wrote the file.
fn alpha_s(q: f64) -> f64 {
    1.0 / (1.0 + 0.9 * (1.0 + q).ln())
}

fn density(_: usize, code: i32, x: f64, q: f64) -> f64 {
    let code = if code == 21 { 7 } else { code.abs() };
    (1.0 - x).powi(3) * (2.0 + q).ln().powf(0.1 * f64::from(code)) / x.powf(0.2)
}

#[track_caller]
fn assert_near(found: f64, wanted: f64, what: &str) {
    assert!(
        (found - wanted).abs() <= 1e-10 * wanted.abs(),
        "{found} for {wanted}: {what}"
    );
}

fn compare(found: &Matched, wanted: &Weighted, what: &str) {
    assert_near(found.weight, wanted.weight, what);
    assert_near(found.start, wanted.start, what);
    let mut pt = found.pt.clone();
    pt.resize(wanted.pt.len(), 0.0);
    for (found, wanted) in pt.iter().zip(&wanted.pt) {
        assert_near(*found, *wanted, what);
    }
    for ((scale, legs), (wanted, of)) in found.steps.iter().zip(&wanted.steps) {
        assert_near(*scale, *wanted, what);
        assert_eq!(legs, of, "{what}");
    }
    assert_eq!(found.emissions.len(), wanted.emissions.len(), "{what}");
    for (found, wanted) in found.emissions.iter().zip(&wanted.emissions) {
        assert_near(*found, *wanted, what);
    }
    for (found, wanted) in found.densities.iter().zip(&wanted.densities) {
        assert_eq!(
            found.len(),
            wanted.len(),
            "{what}: {found:?} for {wanted:?}"
        );
        for ((code, x, q), (of, of_x, of_q)) in found.iter().zip(wanted) {
            assert_eq!(code, of, "{what}");
            assert_near(*x, *of_x, what);
            assert_near(*q, *of_q, what);
        }
    }
}

#[test]
fn points_are_clustered_as_in_the_python_package() {
    let text = include_str!("clustering.json");
    let cases: Vec<Case> = serde_json::from_str(text).expect("cases");
    let mut kept = [0; 2];
    for case in cases {
        let legs = case.masses.len();
        let mut clustering = Clustering::new(
            case.processes.clone(),
            case.diagrams,
            &case.colors,
            case.settings,
            case.matching,
        )
        .expect("a process");
        let mut rows = Rows::new(4 * legs, case.events.len());
        for (point, event) in case.events.iter().enumerate() {
            for (row, component) in event.momenta(&case.masses).iter().flatten().enumerate() {
                rows.row_mut(row)[point] = *component;
            }
        }
        let channels: Vec<i32> = case.events.iter().map(|event| event.channel).collect();
        let mut counts = JetCounts::default();
        (clustering.count_jets(&rows, &channels, &mut counts)).expect("jets");
        clustering.settle(&counts);
        let (renormalisation, factorisation, fixed, factor) = case.given;
        let given = InitialScales {
            renormalisation,
            factorisation,
            fixed,
            factor,
        };
        let mut memory = ClusteringCache::default();
        for (number, event) in case.events.iter().enumerate() {
            let what = format!("{} {:?} event {number}", case.process, case.matching);
            let p = event.momenta(&case.masses);
            let at = clustering.cluster(
                event.channel as usize,
                event.process,
                &p,
                &given,
                &mut memory,
            );
            let found = at.expect("a point");
            kept[usize::from(found.is_some())] += 1;
            let (found, wanted) = match (found, &event.found) {
                (Some(found), Some(wanted)) => (found, wanted),
                (found, wanted) => {
                    assert_eq!(found.is_some(), wanted.is_some(), "{what}");
                    continue;
                }
            };
            for (found, wanted) in found.scales.into_iter().zip(wanted.scales) {
                assert_near(found, wanted, &what);
            }
            if let Some(wanted) = &wanted.matched {
                let codes = &case.processes[event.process];
                let by = Weighing {
                    alpha_s: &alpha_s,
                    density: Some(&density),
                    codes: [codes[0], codes[1]],
                    x: event.x,
                    energy: 1000.0,
                };
                compare(
                    &clustering.matched(&found, &given, &by, &memory),
                    wanted,
                    &what,
                );
            }
        }
    }
    assert!(kept.iter().all(|&count| count > 2), "{kept:?}");
}
