//! Events that are weighed at leading colour first.

use super::fixed;
use mebridge::event_generator::{ColorTreatment, ElementRequest, EventGenerator, Request};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_sampler::events::Event;
use mebridge_sampler::rounds::{self, CorrectionSums};
use mebridge_sampler::sums::Estimate;
use mebridge_sampler::survey::SurveySettings;

const EVENTS: u64 = 8000;
const BINS: usize = 12;

/// Makes events whose gluons and light quarks have 30 GeV and distances of 0.5.
fn generator(text: &str, color: ColorTreatment, threads: usize) -> EventGenerator {
    let processes = mebridge::generate(text).expect(text);
    let windows = |process: &mebridge::Process| {
        let legs = process.legs.iter().enumerate();
        let jets = legs.filter(|(_, leg)| !leg.incoming && (leg.pdg == 21 || leg.pdg.abs() < 5));
        let jets: Vec<usize> = jets.map(|(number, _)| number).collect();
        let mut windows = Vec::new();
        for (place, &jet) in jets.iter().enumerate() {
            let window =
                |observable, least, legs| Window::new(observable, legs, least, f64::INFINITY);
            windows.push(window(Observable::Pt, 30.0, vec![vec![jet]]));
            for &other in &jets[..place] {
                windows.push(window(
                    Observable::Distance,
                    0.5,
                    vec![vec![other], vec![jet]],
                ));
            }
        }
        windows
    };
    let elements = processes.iter().map(|process| ElementRequest {
        windows: windows(process),
        ..ElementRequest::default()
    });
    let request = Request {
        threads,
        backend: Some("cpu".to_owned()),
        by_propagators: true,
        color,
        ..Request::new(1000.0, fixed(91.188), elements.collect())
    };
    EventGenerator::new(processes, &request, None).expect("a generator")
}

struct Made {
    cross_section: Estimate,
    /// Sums of weights and of squared weights in bins of several observables.
    spectra: Vec<[[f64; 2]; BINS]>,
    bytes: Vec<u8>,
    drawn: u64,
}

fn made(text: &str, color: ColorTreatment, seed: u64, threads: usize) -> Made {
    let mut generator = generator(text, color, threads);
    let approximated = matches!(
        color,
        ColorTreatment::LeadingFirst | ColorTreatment::Leading
    );
    assert_eq!(generator.approximated().len(), usize::from(approximated));
    let settings = SurveySettings {
        seed,
        events: EVENTS,
        overweight: 0.01,
        precision: None,
    };
    let survey = generator.survey(&settings).expect("a survey").clone();
    let records = generator.round(&settings, 0).expect("events");
    let of_points = rounds::cross_section(&survey, [(EVENTS, &records.round.sums[..])]);
    let cross_section = of_points.times(CorrectionSums::total(&records.round.corrections).mean());
    let mean = records.weights().iter().sum::<f64>() / EVENTS as f64;
    assert!((mean / cross_section.mean - 1.0).abs() < 1e-2, "{mean}");
    let mut spectra = vec![[[0.0; 2]; BINS]; 4];
    for (event, weight) in records.round.events.iter().zip(records.weights()) {
        for (spectrum, place) in spectra.iter_mut().zip(places(event)) {
            let bin = &mut spectrum[((place * BINS as f64) as usize).min(BINS - 1)];
            bin[0] += weight;
            bin[1] += weight * weight;
        }
    }
    assert_eq!(records.round.events.len() as u64, EVENTS);
    Made {
        cross_section,
        spectra,
        bytes: generator.bytes(&records),
        drawn: records.round.drawn.iter().sum(),
    }
}

/// Observables of an event, in [0, 1): energy and angle of the last leg, mass and angle of the last two.
fn places(event: &Event) -> [f64; 4] {
    let legs = event.momenta.len();
    let [a, b] = [event.momenta[legs - 2], event.momenta[legs - 1]];
    let size = |p: [f64; 4]| (p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt();
    let sum: [f64; 4] = std::array::from_fn(|i| a[i] + b[i]);
    let mass = (sum[0] * sum[0] - size(sum).powi(2)).max(0.0).sqrt();
    [
        b[0] / 500.0,
        (b[3] / size(b) + 1.0) / 2.0,
        mass / 1000.0,
        (a[3] / size(a) + 1.0) / 2.0,
    ]
}

/// Cross section and distributions are those of the full sum over colours, for one and for two quark lines, for gluons
/// alone, and for gluons that come in where others go out.
#[test]
fn events_are_those_of_the_full_sum() {
    for text in [
        "g g > t t~ g g",
        "g g > g g g",
        "u g > u g g",
        "u u~ > d d~ g",
    ] {
        let [first, full] = [(ColorTreatment::LeadingFirst, 1), (ColorTreatment::Full, 2)]
            .map(|(color, seed)| made(text, color, seed, 2));
        let [a, b] = [first.cross_section, full.cross_section];
        let pull = (a.mean - b.mean) / f64::hypot(a.error, b.error);
        assert!(pull.abs() < 4.0, "{text}: {pull}");
        assert!(a.error < 0.02 * a.mean, "{text}: {a:?}");
        for (number, (one, other)) in first.spectra.iter().zip(&full.spectra).enumerate() {
            let chi = |(a, b): (&[f64; 2], &[f64; 2])| match a[1] + b[1] {
                0.0 => 0.0,
                variance => (a[0] - b[0]).powi(2) / variance,
            };
            let chi: f64 = one.iter().zip(other).map(chi).sum();
            assert!(
                chi < 45.0,
                "{text}, observable {number}: chi2 {chi} of {BINS} bins"
            );
        }
    }
}

/// Leading colour alone differs, and is what the first stage samples.
#[test]
fn leading_color_is_an_approximation() {
    let [leading, full] = [ColorTreatment::Leading, ColorTreatment::Full]
        .map(|color| made("g g > g g g", color, 1, 2));
    let ratio = full.cross_section.mean / leading.cross_section.mean;
    assert!((1.2..2.0).contains(&ratio), "{ratio}");
}

#[test]
fn events_do_not_depend_on_threads() {
    let [one, three] =
        [1, 3].map(|threads| made("g g > g g g", ColorTreatment::LeadingFirst, 3, threads));
    assert!(one.bytes == three.bytes && one.drawn == three.drawn);
}

/// What has no colour flows to choose from is refused by name, and not approximated by itself.
#[test]
fn what_has_no_flows() {
    let processes = mebridge::generate("e+ e- > t t~").expect("a process");
    let request = |color| Request {
        backend: Some("cpu".to_owned()),
        by_propagators: true,
        color,
        ..Request::new(500.0, fixed(91.188), vec![ElementRequest::default()])
    };
    let new = |color| EventGenerator::new(processes.clone(), &request(color), None);
    let refused = new(ColorTreatment::LeadingFirst)
        .err()
        .expect("no flows")
        .to_string();
    assert!(refused.contains("color = full"), "{refused}");
    assert!(
        new(ColorTreatment::Auto)
            .expect("a generator")
            .approximated()
            .is_empty()
    );
}
