//! Clustered points: their cross sections compared with those of events at another scale, weighted by their clustered
//! scales.

use mebridge::generate::generate_with;
use mebridge::sampling::{
    Clustered, ClusteredLines, Common, Elements, MatrixElement, Shares, integrand,
};
use mebridge::{Bridge, Switches, models};
use mebridge_densities::StrongCoupling;
use mebridge_phasespace::clustering::{
    ClusteringCache, ClusteringSettings as Clustering, InitialScales, Matching, Weighing,
};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_phasespace::{Layout, Rows};
use mebridge_sampler::events::{Event, Events, at_rest};
use mebridge_sampler::integrand::PointNumbers;
use mebridge_sampler::integrand::{Beam, Integrand, MatrixElementSource, RunningCoupling};
use mebridge_sampler::random::Philox;
use mebridge_sampler::rounds::{self, Round, round};
use mebridge_sampler::sums::Estimate;
use mebridge_sampler::survey::{SurveySettings, survey};
use serde_json::{Value, json};
use std::sync::Arc;

const PROCESS: &str = "g g > t t~ g";
const ENERGY: f64 = 1000.0;

/// alpha_s by one loop.
fn alpha_s(scale: f64) -> f64 {
    1.0 / (0.61 * (scale * scale / 0.02).ln())
}

/// The diagrams of the process, as `mebridge generate --lines` has them.
fn lines() -> ClusteredLines {
    let text = include_str!("../../crates/phasespace/tests/clustering.json");
    let cases: Vec<Value> = serde_json::from_str(text).expect("cases");
    let case = cases.iter().find(|case| case["process"] == PROCESS);
    let case = case.expect("the process");
    let diagrams = case["diagrams"].as_array().expect("diagrams").iter();
    let diagrams: Vec<Value> = diagrams
        .map(|one| json!({"diagram": one["diagram"], "lines": one}))
        .collect();
    let lines = json!({"diagrams": diagrams, "colors": case["colors"]});
    serde_json::from_value(lines).expect("lines")
}

fn clustered(matching: Option<Matching>) -> Clustered {
    Clustered {
        settings: Clustering {
            hadrons: true,
            parton_beam: None,
            maxjetflavor: 4,
            bwcutoff: 15.0,
            small_width: 1e-6,
            distance: 1.0,
            denominators: false,
            scheme: 1,
            alone: false,
        },
        matching,
        scaled: true,
    }
}

fn settings() -> SurveySettings {
    SurveySettings {
        seed: 1,
        events: 8000,
        overweight: 0.01,
        precision: None,
    }
}

struct Run {
    integrand: Integrand,
    evaluators: Vec<Elements>,
}

impl Run {
    /// With fixed scales where it is not clustered.
    fn new(clustering: Option<Clustered>, threads: usize) -> Run {
        let model = models::model(None).expect("the Standard Model");
        let process = generate_with(PROCESS, &model).expect("a process").remove(0);
        let card = process.model.default_card();
        let bridge = Bridge::new(process.clone(), &card, &Switches::default(), 512);
        let mut bridges = vec![bridge.expect("a bridge")];
        let pt = Window::new(Observable::Pt, vec![vec![4]], 20.0, f64::INFINITY);
        let elements = [MatrixElement {
            process,
            masses: bridges[0].masses(),
            mirrored: false,
            windows: vec![pt],
            rules: Vec::new(),
            off_shell: Vec::new(),
            vanishes: false,
            function: None,
            clustered: lines(),
        }];
        let fixed = clustering.is_none().then_some(200.0);
        let scales: Vec<f64> = (0..200).map(|i| 1.1f64.powi(i)).collect();
        let values: Vec<f64> = scales
            .iter()
            .map(|&scale| alpha_s(scale.max(2.0)))
            .collect();
        let table = StrongCoupling::new(&scales[8..80], &values[8..80]).expect("a table");
        let common = Common {
            energy: ENERGY,
            rapidity: 0.0,
            beams: [Beam::Parton, Beam::Parton],
            running: RunningCoupling::Table(Arc::new(table)),
            scale: Scale {
                dynamical: Dynamical::HalfTransverseMass,
                factor: 1.0,
                renormalisation: fixed,
                factorisation: [fixed; 2],
            },
            clustering,
        };
        let mut integrand = integrand(1, &elements, &common).expect("an integrand");
        let shares = Shares::new(&elements[0].clustered, false, ENERGY, &bridges[0]);
        let shares: Arc<[Shares]> = vec![shares.expect("shares")].into();
        let one = |_| {
            let factors = Arc::from([]);
            Elements::in_channels(&mut bridges, false, shares.clone(), factors).expect("samplers")
        };
        let mut evaluators: Vec<Elements> = (0..threads).map(one).collect();
        if common.clustering.is_some() {
            (integrand.count_jets(&mut evaluators[0])).expect("jets");
        }
        Run {
            integrand,
            evaluators,
        }
    }

    fn events(&mut self) -> (Round, Estimate) {
        let settings = settings();
        let evaluators = &mut self.evaluators;
        let survey = survey(&mut self.integrand, &settings, evaluators).expect("a survey");
        let made = round(
            &self.integrand,
            &survey,
            &settings,
            0,
            settings.events,
            evaluators,
        );
        let made = made.expect("events");
        let found = rounds::cross_section(&survey, [(settings.events, &made.sums[..])]);
        (made, found)
    }
}

/// By what clustering multiplies the weights of events with the scale 200 GeV.
fn factors(events: &Events, run: &mut Run, matching: &Matching) -> Vec<f64> {
    let layout = Layout::new(5);
    let mut rows = Rows::new(layout.rows(), events.len());
    for (place, event) in events.iter().enumerate() {
        for (row, number) in at_rest(&event.momenta).as_flattened().iter().enumerate() {
            rows.row_mut(row)[place] = *number;
        }
    }
    let philox = Philox {
        seed: 7,
        round: 0,
        channel: 0,
    };
    let count = events.len();
    let random: Vec<f64> = (0..count as u64)
        .map(|event| philox.number(event, 0))
        .collect();
    let (mut squared, mut channels) = (vec![0.0; count], vec![0; count]);
    let fixed = vec![alpha_s(200.0); count];
    let numbers = PointNumbers {
        channels: &random,
        ..PointNumbers::default()
    };
    (run.evaluators[0])
        .evaluate(0, &rows, &fixed, numbers, &mut squared, &mut channels)
        .expect("diagrams");
    let group = run.integrand.groups[0]
        .clustering
        .as_ref()
        .expect("clustering");
    let own = &group.elements[0].clustering;
    let given = InitialScales {
        renormalisation: 0.0,
        factorisation: [0.0; 2],
        fixed: false,
        factor: 1.0,
    };
    let by = Weighing {
        alpha_s: &alpha_s,
        density: None,
        codes: [21; 2],
        x: [1.0; 2],
        energy: ENERGY,
    };
    let mut memory = ClusteringCache::default();
    let factor = |(event, channel): (&Event, i32)| {
        let p = at_rest(&event.momenta);
        let found = own.cluster(channel as usize, 0, &p, &given, &mut memory);
        let Some(found) = found.expect("colours") else {
            return 0.0;
        };
        let ratio = (alpha_s(found.scales[0]) / alpha_s(200.0)).powi(3);
        match matching.reweighted {
            true => ratio * own.matched(&found, &given, &by, &memory).weight,
            false => ratio,
        }
    };
    events.iter().zip(channels).map(factor).collect()
}

#[test]
fn cross_sections_are_those_of_events_that_are_weighted() {
    let (fixed, size) = Run::new(None, 1).events();
    for matching in [
        Matching::default(),
        Matching {
            reweighted: true,
            xqcut: 40.0,
            ..Matching::default()
        },
    ] {
        let mut run = Run::new(Some(clustered(Some(matching))), 1);
        let (_, found) = run.events();
        let factors = factors(&fixed.events, &mut run, &matching);
        let count = factors.len() as f64;
        let mean = factors.iter().sum::<f64>() / count;
        let variance = factors.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        let wanted = size.mean * mean;
        let error = (size.error * mean).hypot(size.mean * (variance / count).sqrt());
        let pull = (found.mean - wanted) / found.error.hypot(error);
        assert!(
            pull.abs() < 4.0 && error < 0.02 * wanted && found.error < 0.02 * wanted,
            "{found:?} for {wanted} +- {error}, {matching:?}"
        );
        assert!((mean - 1.0).abs() > 0.05, "{mean}");
    }
}

#[test]
fn clustered_events_do_not_depend_on_threads() {
    let matching = Matching {
        reweighted: true,
        xqcut: 30.0,
        ..Matching::default()
    };
    let [one, other] = [1, 3].map(|threads| {
        let mut run = Run::new(Some(clustered(Some(matching))), threads);
        run.events().0.events
    });
    assert_eq!(one.len(), 8000);
    assert!(
        one.iter()
            .all(|event| event.matched.is_some() && event.diagram.is_some())
    );
    assert_eq!(one, other);
}
