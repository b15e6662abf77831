//! Surveys and rounds of an integrand whose cross section has a closed form: three massless legs at 1 TeV, of which the
//! first two have a mass of 50 GeV or more, with |M|^2 = s / s_12.

use mebridge_phasespace::cuts::{Cuts, Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_phasespace::{
    Beams, Channel, Diagram, Layout, Limits, Permutation, Propagator, Rows, Settings as Space,
    Weights,
};
use mebridge_sampler::Error;
use mebridge_sampler::integrand::{
    Beam, ElementGroup, Failure, Flux, Integrand, PICOBARN, Partons, Running, Source, Squared,
};
use mebridge_sampler::rounds::{self, Round, round};
use mebridge_sampler::sums::WeightSums;
use mebridge_sampler::survey::{Nothing, Settings, Survey, survey};
use mebridge_simd::Level;
use std::f64::consts::PI;

const ENERGY: f64 = 1000.0;
const LEAST: f64 = 50.0;

struct OverMass;

impl Squared for OverMass {
    fn evaluate(
        &mut self,
        _: usize,
        points: &Rows,
        _: &[f64],
        squared: &mut [f64],
    ) -> Result<(), Failure> {
        let layout = Layout::new(5);
        for (point, to) in squared.iter_mut().enumerate() {
            let row = |leg: usize, i: usize| points.row(layout.momentum(leg) + i)[point];
            let sum = |i: usize| row(2, i) + row(3, i);
            let [e, x, y, z]: [f64; 4] = std::array::from_fn(sum);
            *to = ENERGY * ENERGY / (e * e - x * x - y * y - z * z);
        }
        Ok(())
    }
}

fn evaluators(threads: usize) -> Vec<OverMass> {
    (0..threads).map(|_| OverMass).collect()
}

/// What the first two legs have between two masses: of three massless legs ds_12 ds_23 / (128 pi^3 s) is phase space.
fn exact(from: f64, to: f64) -> f64 {
    let s = ENERGY * ENERGY;
    let integral = s * f64::ln(to * to / (from * from)) - (to * to - from * from);
    PICOBARN / (2.0 * s) * integral / (128.0 * PI.powi(3))
}

/// The tree in which two of the legs come from a line with this mass and width.
fn diagram(pair: [usize; 2], mass: f64, width: f64) -> Diagram {
    let other = 3 - pair[0] - pair[1];
    let vertices = [
        "i0 i1 p0".to_owned(),
        format!("p0 p1 o{other}"),
        format!("p1 o{} o{}", pair[0], pair[1]),
    ];
    let line = |name: &str| name.parse().expect("a line");
    let of = [(0.0, 0.0), (mass, width)].map(|(mass, width)| Propagator { mass, width });
    Diagram {
        masses: vec![0.0; 3],
        propagators: of.to_vec(),
        vertices: (vertices.iter())
            .map(|names| names.split(' ').map(line).collect())
            .collect(),
    }
}

fn integrand(diagrams: &[Diagram], windows: &[Window]) -> Integrand {
    let limits = Limits::new(3, windows);
    let space = Space {
        energy: ENERGY,
        beams: Beams::Neither,
        incoming: [0.0; 2],
        fermions: Vec::new(),
        limits: limits.clone(),
    };
    let source = |(column, diagram): (u32, &Diagram)| Source {
        group: 0,
        channel: Channel::new(diagram, &space).expect("a channel"),
        permutations: vec![Permutation::none(3)],
        columns: vec![column],
        chances: vec![1.0],
    };
    Integrand {
        groups: vec![ElementGroup {
            elements: vec![0],
            partons: vec![Partons {
                element: 0,
                codes: [11, -11],
                exchanged: false,
                factor: 1.0,
            }],
            weights: Weights::new(diagrams, &limits, false).expect("weights"),
            cuts: Some(Cuts::new(5, windows, &[]).expect("cuts")),
            scale: Scale {
                dynamical: Dynamical::HalfTransverseMass,
                factor: 1.0,
                renormalisation: Some(91.188),
                factorisation: Some([91.188; 2]),
            },
            clustering: None,
            legs: 5,
            beams: [0, 1],
            rapidity: 0.0,
            flux: Flux::Collision([0.0; 2]),
        }],
        sources: (0..).zip(diagrams).map(source).collect(),
        beams: [Beam::Parton, Beam::Parton],
        running: Running::Fixed(0.118),
        selection: None,
        level: Level::best(),
    }
}

fn heavy() -> Window {
    Window::new(Observable::Mass, vec![vec![2, 3]], LEAST, f64::INFINITY)
}

fn three() -> Integrand {
    let pairs = [[0, 1], [1, 2], [0, 2]];
    integrand(&pairs.map(|pair| diagram(pair, 0.0, 0.0)), &[heavy()])
}

fn settings(seed: u64, events: u64) -> Settings {
    Settings {
        seed,
        events,
        overweight: 0.01,
        precision: None,
    }
}

fn made(settings: &Settings, numbers: u16, threads: usize) -> (Survey, Vec<Round>) {
    let (mut what, mut of) = (three(), evaluators(threads));
    let survey = survey(&mut what, settings, &mut of).expect("a survey");
    let one = |number| round(&what, &survey, settings, number, settings.events, &mut of);
    let rounds = (0..numbers).map(one).collect::<Result<_, _>>();
    (survey, rounds.expect("rounds"))
}

fn summed(events: u64, rounds: &[Round]) -> impl Iterator<Item = (u64, &[WeightSums])> {
    rounds.iter().map(move |round| (events, &round.sums[..]))
}

#[test]
fn threads_change_nothing() {
    let all = [1, 2, 5].map(|threads| made(&settings(7, 3000), 2, threads));
    let [(survey, rounds), others @ ..] = all;
    for (other, more) in others {
        assert_eq!(other, survey);
        for (one, other) in rounds.iter().zip(&more) {
            assert_eq!((&one.drawn, &one.sums), (&other.drawn, &other.sums));
            assert!(one.events == other.events);
        }
    }
    assert!(rounds[0].events != rounds[1].events);
}

#[test]
fn cross_sections_scatter_by_their_errors_about_the_closed_form() {
    let (seeds, events) = (50, 300);
    let (mut sum, mut square) = (0.0, 0.0);
    for seed in 0..seeds {
        let (survey, rounds) = made(&settings(seed, events), 2, 1);
        let found = rounds::cross_section(&survey, summed(events, &rounds));
        let pull = (found.mean - exact(LEAST, ENERGY)) / found.error;
        sum += pull;
        square += pull * pull;
        assert!(found.error < 0.03 * found.mean, "{found:?}");
    }
    let mean = sum / seeds as f64;
    let width = (square / seeds as f64 - mean * mean).sqrt();
    // One standard deviation is 0.14 and 0.1.
    assert!(
        mean.abs() < 0.4 && (0.7..1.3).contains(&width),
        "{mean} {width}"
    );
}

#[test]
fn events_follow_the_cross_section() {
    let (_, rounds) = made(&settings(3, 10_000), 1, 2);
    let events = &rounds[0].events;
    assert_eq!(events.len(), 10_000);
    let mass = |event: &mebridge_sampler::events::Event| {
        let sum = |i: usize| event.momenta[2][i] + event.momenta[3][i];
        let [e, x, y, z] = std::array::from_fn(sum);
        (e * e - x * x - y * y - z * z).sqrt()
    };
    let total: f64 = events.iter().map(|event| event.weight).sum();
    // What is above one is a hundredth of each source at most by the spectrum.
    assert!((1e4..1.02e4).contains(&total), "{total}");
    for (from, to) in [
        (50.0, 100.0),
        (100.0, 300.0),
        (300.0, 600.0),
        (600.0, 1000.0),
    ] {
        let within = events
            .iter()
            .filter(|event| (from..to).contains(&mass(event)));
        let share = within.map(|event| event.weight).sum::<f64>() / total;
        let wanted = exact(from, to) / exact(LEAST, ENERGY);
        let error = (wanted * (1.0 - wanted) / 1e4).sqrt();
        assert!(
            (share - wanted).abs() < 4.0 * error,
            "{from} {share} {wanted}"
        );
    }
    // Sources are mixed.
    let first = events[..1000].iter().filter(|event| event.source == 0);
    let all = events.iter().filter(|event| event.source == 0);
    let (first, all) = (first.count() as f64, all.count() as f64 / 10.0);
    assert!((first - all).abs() < 100.0, "{first} {all}");
}

#[test]
fn sources_that_others_can_stand_for_are_left_out() {
    // What is far from its mass shell has weights of a thousandth. Its resonance stays, but not twice.
    let far = |pair, width| diagram(pair, 5000.0, width);
    let all = [
        diagram([0, 1], 0.0, 0.0),
        far([0, 1], 0.0),
        far([1, 2], 10.0),
        far([1, 2], 10.0),
    ];
    let mut what = integrand(&all, &[heavy()]);
    let found = survey(&mut what, &settings(1, 1000), &mut evaluators(1)).expect("a survey");
    let stay = &found.stay[..];
    assert!(matches!(stay, [0, 2 | 3]) && found.of == 4, "{stay:?}");
    let xs = found.cross_section();
    assert!(
        (xs.mean - exact(LEAST, ENERGY)).abs() < 4.0 * xs.error,
        "{xs:?}"
    );
    let columns: Vec<&[u32]> = what.sources.iter().map(|of| &of.columns[..]).collect();
    assert_eq!(
        (columns, what.groups[0].weights.count()),
        (vec![&[0][..], &[1]], 2)
    );
}

#[test]
fn a_survey_measures_as_well_as_is_wanted() {
    let precise = Settings {
        precision: Some(0.003),
        ..settings(1, 100)
    };
    let (found, _) = made(&precise, 0, 1);
    let xs = found.cross_section();
    // Errors are those of other points than the ones by which the number was planned.
    assert!(xs.error < 0.004 * xs.mean, "{xs:?}");
}

#[test]
fn a_survey_is_written_and_read() {
    let (mut what, settings) = (three(), settings(5, 500));
    let found = survey(&mut what, &settings, &mut evaluators(1)).expect("a survey");
    let bytes = found.to_bytes(&[1; 32]);
    let read = Survey::from_bytes(&bytes, &[1; 32]).expect("a survey");
    assert_eq!(read, found);
    let mut again = three();
    read.apply(&mut again).expect("the same sources");
    let events = |what: &Integrand, of: &Survey| {
        let round = round(what, of, &settings, 3, 100, &mut evaluators(1));
        round.expect("a round").events
    };
    assert!(events(&what, &found) == events(&again, &read));

    let same = diagram([0, 1], 0.0, 0.0);
    let mut other = integrand(&[same], &[heavy()]);
    assert_eq!(read.apply(&mut other), Err(Error::OtherRun));
    let error = |bytes: &[u8], of: u8| Survey::from_bytes(bytes, &[of; 32]).expect_err("none");
    assert_eq!(error(&bytes, 2), Error::OtherRun);
    assert_eq!(error(b"<LesHouchesEvents>", 1), Error::NoSurvey);
    assert_eq!(error(&[], 1), Error::NoSurvey);
    let mut newer = bytes.clone();
    newer[8] += 1;
    assert_eq!(error(&newer, 1), Error::Format { found: 2 });
    for cut in [17, 79, 80, bytes.len() - 1] {
        assert_eq!(error(&bytes[..cut], 1), Error::Damaged, "{cut}");
    }
    let mut damaged = bytes;
    *damaged.last_mut().expect("some bytes") ^= 1;
    assert_eq!(error(&damaged, 1), Error::Damaged);
}

#[test]
fn where_nothing_passes_it_is_said() {
    let none = Window::new(Observable::Mass, vec![vec![2, 3]], 0.0, 1e-9);
    let mut what = integrand(&[diagram([1, 2], 0.0, 0.0)], &[none]);
    let error = survey(&mut what, &settings(1, 10), &mut evaluators(1)).expect_err("nothing");
    assert!(
        matches!(error.downcast_ref(), Some(Nothing::Passes(_))),
        "{error}"
    );
    assert!(
        error.to_string().contains("none passes the cuts"),
        "{error}"
    );
}

/// |M|^2 with a pole that nothing keeps points from.
struct Pole;

impl Squared for Pole {
    fn evaluate(
        &mut self,
        element: usize,
        points: &Rows,
        alpha_s: &[f64],
        squared: &mut [f64],
    ) -> Result<(), Failure> {
        OverMass.evaluate(element, points, alpha_s, squared)?;
        for value in squared {
            *value = value.powi(3);
        }
        Ok(())
    }
}

#[test]
fn an_infinite_cross_section_ends() {
    let mut integrand = integrand(&[diagram([0, 1], 0.0, 0.0)], &[]);
    let settings = settings(1, 100);
    let found = survey(&mut integrand, &settings, &mut vec![Pole]).expect("a survey");
    let wrong = round(&integrand, &found, &settings, 0, 100, &mut vec![Pole]);
    let wrong = wrong.expect_err("no events").to_string();
    assert!(wrong.contains("it is infinite"), "{wrong}");
}
