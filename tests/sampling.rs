//! Points and events of the sampler: cross sections beside closed formulas, events beside what they are drawn from.

use mebridge::generate::generate_with;
use mebridge::sampling::{ClusteredLines, Common, Element, Elements, integrand};
use mebridge::{Bridge, Switches, models};
use mebridge_densities::{Coupling, Densities, Radiator};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::integrand::{Beam, Integrand, Running};
use mebridge_sampler::rounds::{self, Round, round};
use mebridge_sampler::sums::Estimate;
use mebridge_sampler::survey::{Settings, Survey, survey};
use std::fmt::Write;
use std::sync::Arc;

/// A process with what evaluates it.
struct Run {
    integrand: Integrand,
    bridges: Vec<Bridge>,
}

impl Run {
    fn new(text: &str, common: &Common, windows: impl Fn(&[i32]) -> Vec<Window>) -> Run {
        let model = models::model(None).expect("the Standard Model");
        let (mut bridges, mut elements) = (Vec::new(), Vec::new());
        for process in generate_with(text, &model).expect("a process") {
            let card = process.model.default_card();
            let codes: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
            let bridge = Bridge::new(process.clone(), &card, &Switches::default(), 512);
            let bridge = bridge.expect("a bridge");
            elements.push(Element {
                process,
                masses: bridge.masses(),
                mirrored: !common.beams[0].is_parton() && codes[0] != codes[1],
                windows: windows(&codes),
                rules: Vec::new(),
                clustered: ClusteredLines::default(),
            });
            bridges.push(bridge);
        }
        let integrand = integrand(&elements, common).expect("an integrand");
        Run { integrand, bridges }
    }

    fn evaluators(&mut self, count: usize, diagrams: bool) -> Vec<Elements> {
        let bridges = &mut self.bridges;
        let one = |_| Elements::new(bridges, diagrams).expect("samplers");
        (0..count).map(one).collect()
    }

    fn survey(&mut self, settings: Settings, threads: usize) -> Survey {
        let mut evaluators = self.evaluators(threads, false);
        survey(&mut self.integrand, &settings, &mut evaluators).expect("a survey")
    }

    fn events(&mut self, survey: &Survey, settings: Settings, threads: usize) -> Round {
        let mut evaluators = self.evaluators(threads, false);
        let found = round(
            &self.integrand,
            survey,
            &settings,
            0,
            settings.events,
            &mut evaluators,
        );
        found.expect("events")
    }
}

fn settings(events: u64) -> Settings {
    Settings {
        seed: 1,
        events,
        overweight: 0.01,
        precision: None,
    }
}

fn fixed(scale: f64) -> Scale {
    Scale {
        dynamical: Dynamical::PartonicEnergy,
        factor: 1.0,
        renormalisation: Some(scale),
        factorisation: Some([scale; 2]),
    }
}

fn partons() -> Common {
    Common {
        energy: 1000.0,
        rapidity: 0.0,
        beams: [Beam::Parton, Beam::Parton],
        running: Running::Fixed(0.118),
        scale: fixed(91.188),
        clustering: None,
    }
}

/// x f(x) of python/examples/densities.py at its scale of 91.188 GeV.
fn density(code: i32, x: f64) -> f64 {
    if code == 21 {
        return 3.0 * x.powf(-0.2) * (1.0 - x).powi(5);
    }
    let size = [0.3, 0.25, 0.15, 0.1][code.unsigned_abs() as usize - 1];
    let valence = match code {
        1 => 1.5 * (1.0 - x),
        2 => 3.0,
        _ => 0.0,
    };
    size * x.powf(-0.2) * (1.0 - x).powi(7) + valence * x.sqrt() * (1.0 - x).powi(3)
}

/// How x f(x) changes with the scale: by that of ln (Q / 100 GeV), for each parton.
type Slope = fn(i32) -> f64;

/// A proton with densities that do not depend on the scale.
fn proton() -> Beam {
    hadron(|_| 0.0)
}

/// One that does.
fn hadron(slope: Slope) -> Beam {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toy_0000.dat");
    let codes = [-4, -3, -2, -1, 21, 1, 2, 3, 4];
    let mut x: Vec<f64> = (0..160)
        .map(|i| 10f64.powf(-6.0 + 5.0 * f64::from(i) / 160.0))
        .collect();
    x.extend((0..=120).map(|i| 0.1 + 0.9 * f64::from(i) / 120.0));
    let q = [5.0, 20.0, 100.0, 1e3, 1e5];
    let mut text = "PdfType: central\nFormat: lhagrid1\n---\n".to_owned();
    for numbers in [&x[..], &q] {
        let words: Vec<String> = numbers.iter().map(|n| format!("{n:.12e}")).collect();
        writeln!(text, "{}", words.join(" ")).expect("text");
    }
    writeln!(text, "{}", codes.map(|code| code.to_string()).join(" ")).expect("text");
    for &x in &x {
        for q in q {
            let factor = |code: i32| 1.0 + slope(code) * (q / 100.0).ln();
            let words = codes.map(|code| format!("{:.12e}", density(code, x) * factor(code)));
            writeln!(text, "{}", words.join(" ")).expect("text");
        }
    }
    text += "---\n";
    std::fs::write(&file, text).expect("a file");
    Beam::Densities {
        densities: Arc::new(Densities::lhapdf(&file).expect("a set")),
        anti: false,
    }
}

fn anti(beam: &Beam) -> Beam {
    match beam {
        Beam::Parton => Beam::Parton,
        Beam::Densities { densities, anti } => Beam::Densities {
            densities: densities.clone(),
            anti: !anti,
        },
    }
}

/// Protons of 13 TeV.
fn protons() -> Common {
    let proton = proton();
    let table = Coupling::new(&[5.0, 50.0, 500.0, 1e5], &[0.118; 4]).expect("a table");
    Common {
        energy: 13_000.0,
        rapidity: 0.0,
        beams: [proton.clone(), proton],
        running: Running::Table(Arc::new(table)),
        scale: fixed(200.0),
        clustering: None,
    }
}

fn no_cuts(_: &[i32]) -> Vec<Window> {
    Vec::new()
}

/// pt, rapidities and distances of gluons and quarks.
fn jets(codes: &[i32]) -> Vec<Window> {
    let jets = (2..codes.len()).filter(|&leg| codes[leg] == 21 || codes[leg].abs() < 6);
    let jets: Vec<usize> = jets.collect();
    let mut found = Vec::new();
    for (i, &jet) in jets.iter().enumerate() {
        let one = vec![vec![jet]];
        found.push(Window::new(
            Observable::Pt,
            one.clone(),
            20.0,
            f64::INFINITY,
        ));
        found.push(Window::new(
            Observable::Rapidity,
            one,
            f64::NEG_INFINITY,
            5.0,
        ));
        for &other in &jets[i + 1..] {
            let both = vec![vec![jet], vec![other]];
            found.push(Window::new(Observable::Distance, both, 0.4, f64::INFINITY));
        }
    }
    found
}

/// The cross section of g g > t t~ at a squared energy, pb, and that of u u~ > t t~ (B. Combridge, Nucl. Phys. B151 (1979)
/// 429), with alpha_s = 0.118.
fn top_pairs(s: f64) -> [f64; 2] {
    let (mass, alpha_s) = (173.0f64, 0.118f64);
    let rho = 4.0 * mass * mass / s;
    if rho >= 1.0 {
        return [0.0; 2];
    }
    let beta = (1.0 - rho).sqrt();
    let logarithm = ((1.0 + beta) / (1.0 - beta)).ln();
    let gluons =
        (1.0 + rho + rho * rho / 16.0) * logarithm - beta * (7.0 / 4.0 + 31.0 / 16.0 * rho);
    let size = std::f64::consts::PI * alpha_s * alpha_s / s * mebridge_sampler::integrand::PICOBARN;
    [
        size / 3.0 * gluons,
        size * 8.0 / 27.0 * beta * (1.0 + rho / 2.0),
    ]
}

/// The integral over the energies of both partons from the threshold of top pairs on, by midpoints in ln tau and the
/// rapidity. `of` takes the squared energy of the partons, the rapidity and both fractions, and has densities x f(x).
fn folded(square: f64, of: impl Fn(f64, f64, f64, f64) -> f64) -> f64 {
    let (least, steps) = ((4.0 * 173.0 * 173.0 / square).ln(), 400);
    let mut found = 0.0;
    for i in 0..steps {
        let u = (f64::from(i) + 0.5) / f64::from(steps) * (-least).sqrt();
        let log_tau = least + u * u;
        let of_tau = 2.0 * u * (-least).sqrt() / f64::from(steps);
        for j in 0..steps {
            let y = (f64::from(j) + 0.5) / f64::from(steps) * -log_tau + 0.5 * log_tau;
            let of_y = -log_tau / f64::from(steps);
            let (x1, x2) = ((0.5 * log_tau + y).exp(), (0.5 * log_tau - y).exp());
            found += of_tau * of_y * of(square * log_tau.exp(), y, x1, x2);
        }
    }
    found
}

#[track_caller]
fn agrees(found: Estimate, wanted: f64) {
    let pull = (found.mean - wanted) / found.error;
    assert!(
        pull.abs() < 4.0 && found.error < 0.01 * wanted,
        "{found:?} for {wanted}"
    );
}

/// The cross section of a process by a survey and a round of so many events.
fn cross_section(run: &mut Run, events: u64, threads: usize) -> Estimate {
    let survey = run.survey(settings(events), threads);
    let made = run.events(&survey, settings(events), threads);
    rounds::cross_section(&survey, [(events, &made.sums[..])])
}

#[test]
fn top_pairs_of_gluons() {
    let mut run = Run::new("g g > t t~", &partons(), no_cuts);
    let found = cross_section(&mut run, 40_000, 1);
    let [wanted, _] = top_pairs(1e6);
    let pull = (found.mean - wanted) / found.error;
    assert!(
        pull.abs() < 4.0 && found.error < 0.004 * wanted,
        "{found:?} for {wanted}"
    );
}

#[test]
fn top_pairs_of_protons() {
    let mut run = Run::new("p p > t t~", &protons(), no_cuts);
    let found = cross_section(&mut run, 40_000, 2);
    let wanted = folded(1.69e8, |s, _, x1, x2| {
        let [gluons, quarks] = top_pairs(s);
        let both = |a: i32, b: i32| density(a, x1) * density(b, x2);
        let of_quarks = (1..=4).map(|code| both(code, -code) + both(-code, code));
        gluons * both(21, 21) + quarks * of_quarks.sum::<f64>()
    });
    agrees(found, wanted);
}

/// Top pairs of u and u~ of both beams; with other beams both orders have their own densities, cuts and scales.
fn top_pairs_of_quarks(common: &Common, largest: f64, wanted: impl Fn(f64, f64, f64) -> f64) {
    let pair = |_: &[i32]| {
        let rapidity = Observable::Rapidity;
        vec![Window::new(
            rapidity,
            vec![vec![2, 3]],
            f64::NEG_INFINITY,
            largest,
        )]
    };
    let mut run = Run::new("u u~ > t t~", common, pair);
    let found = cross_section(&mut run, 40_000, 2);
    let wanted = folded(common.energy * common.energy, |s, y, x1, x2| {
        let passes = (y + common.rapidity).abs() <= largest;
        f64::from(u8::from(passes)) * top_pairs(s)[1] * wanted(y, x1, x2)
    });
    agrees(found, wanted);
}

/// Both orders of u from one beam and u~ from the other.
fn of_protons(x1: f64, x2: f64) -> f64 {
    density(2, x1) * density(-2, x2) + density(-2, x1) * density(2, x2)
}

#[test]
fn cuts_are_in_the_frame_of_beams_with_different_energies() {
    for rapidity in [0.9, -0.9] {
        let common = Common {
            energy: 6000.0,
            rapidity,
            ..protons()
        };
        top_pairs_of_quarks(&common, 0.4, |_, x1, x2| of_protons(x1, x2));
    }
    // Of antiprotons on one side the orders differ by themselves.
    let [proton, _] = protons().beams;
    let common = Common {
        energy: 6000.0,
        rapidity: 0.9,
        beams: [anti(&proton), proton],
        ..protons()
    };
    let quarks = |x1, x2| density(-2, x1) * density(-2, x2) + density(2, x1) * density(2, x2);
    top_pairs_of_quarks(&common, 0.4, |_, x1, x2| quarks(x1, x2));
}

#[test]
fn antiprotons_have_antiparticles() {
    let [proton, _] = protons().beams;
    let quarks = |x1, x2| density(-2, x1) * density(-2, x2) + density(2, x1) * density(2, x2);
    let antiproton = anti(&proton);
    let beams = [
        [proton.clone(), antiproton.clone()],
        [antiproton.clone(), proton],
    ];
    for beams in beams {
        let common = Common { beams, ..protons() };
        top_pairs_of_quarks(&common, 50.0, |_, x1, x2| quarks(x1, x2));
    }
    let common = Common {
        beams: [antiproton.clone(), antiproton],
        ..protons()
    };
    top_pairs_of_quarks(&common, 50.0, |_, x1, x2| of_protons(x1, x2));
}

#[test]
fn each_beam_has_its_scale() {
    let slope = |code: i32| if code > 0 { 0.14 } else { -0.12 };
    let scales = [800.0, 15.0];
    let beam = hadron(slope);
    let common = Common {
        beams: [beam.clone(), beam],
        scale: Scale {
            factorisation: Some(scales),
            ..fixed(200.0)
        },
        ..protons()
    };
    let of = |beam: usize, code: i32, x: f64| {
        density(code, x) * (1.0 + slope(code) * (scales[beam] / 100.0f64).ln())
    };
    top_pairs_of_quarks(&common, 50.0, |_, x1, x2| {
        of(0, 2, x1) * of(1, -2, x2) + of(0, -2, x1) * of(1, 2, x2)
    });
}

/// Gluons as a beam, on either side of a proton.
#[test]
fn one_beam_is_the_parton() {
    let [proton, _] = protons().beams;
    let square = 13_000.0f64.powi(2);
    let least = (4.0 * 173.0 * 173.0 / square).ln();
    let steps = 4000;
    let wanted: f64 = (0..steps)
        .map(|i| {
            let x = (least * (f64::from(i) + 0.5) / f64::from(steps)).exp();
            -least / f64::from(steps) * top_pairs(x * square)[0] * density(21, x)
        })
        .sum();
    for parton in 0..2 {
        let mut beams = [Beam::Parton, proton.clone()];
        beams.rotate_left(parton);
        let common = Common {
            beams,
            rapidity: 0.5,
            ..protons()
        };
        let mut run = Run::new("g g > t t~", &common, no_cuts);
        agrees(cross_section(&mut run, 40_000, 2), wanted);
        let survey = run.survey(settings(100), 1);
        for event in run.events(&survey, settings(100), 1).events {
            let energies = [6500.0 * 0.5f64.exp(), 6500.0 * (-0.5f64).exp()];
            assert_eq!(event.fractions[parton], 1.0);
            for (beam, energy) in energies.into_iter().enumerate() {
                let found = event.momenta[beam][0] / (energy * event.fractions[beam]);
                assert!((found - 1.0).abs() < 1e-12, "{event:?}");
            }
        }
    }
}

#[test]
fn beams_have_what_comes_in() {
    let [proton, _] = protons().beams;
    for (text, beams, wanted) in [
        (
            "b b~ > t t~",
            [proton.clone(), proton.clone()],
            "the densities of beam 1 have no -5, 5 (PDG codes)",
        ),
        (
            "u u~ > t t~",
            [proton, Beam::Parton],
            "beam 2 is a particle itself, and the process has several there, or in both beams: -2, 2",
        ),
    ] {
        let model = models::model(None).expect("the Standard Model");
        let process = generate_with(text, &model)
            .expect("a process")
            .swap_remove(0);
        let card = process.model.default_card();
        let bridge = Bridge::new(process.clone(), &card, &Switches::default(), 512);
        let element = Element {
            process,
            masses: bridge.expect("a bridge").masses(),
            mirrored: true,
            windows: Vec::new(),
            rules: Vec::new(),
            clustered: Default::default(),
        };
        let common = Common { beams, ..protons() };
        let found = integrand(&[element], &common).expect_err("it cannot be");
        assert!(found.to_string().contains(wanted), "{found}");
    }
}

/// Photons of a proton and of an electron: a different density for each beam.
#[test]
fn photons_are_radiated_by_beams() {
    let of = [Radiator::Proton, Radiator::Electron];
    let scale = 200.0;
    let beams = of.map(|of| Beam::Densities {
        densities: Arc::new(Densities::photons(of)),
        anti: false,
    });
    let common = Common {
        energy: 4000.0,
        beams,
        ..protons()
    };
    let mut run = Run::new("a a > t t~", &common, no_cuts);
    let found = cross_section(&mut run, 40_000, 2);
    // The value of the card of the Standard Model.
    let alpha = 1.0 / 132.507;
    let wanted = folded(common.energy * common.energy, |s, _, x1, x2| {
        let rho = 4.0 * 173.0 * 173.0 / s;
        let beta = (1.0 - rho).sqrt();
        let logarithm = ((1.0 + beta) / (1.0 - beta)).ln();
        let shape = (1.0 + rho - rho * rho / 2.0) * logarithm - beta * (1.0 + rho);
        let size = 4.0 * std::f64::consts::PI * alpha * alpha / s * 3.0 * (2.0f64 / 3.0).powi(4);
        let flux = |radiator: Radiator, x: f64| {
            let mut found = [0.0];
            Densities::photons(radiator).evaluate(&[x], &[scale * scale], &mut found);
            found[0]
        };
        size * shape * mebridge_sampler::integrand::PICOBARN * flux(of[0], x1) * flux(of[1], x2)
    });
    agrees(found, wanted);
}

#[test]
fn events_do_not_depend_on_threads() {
    let runs = [1, 3].map(|threads| {
        let mut run = Run::new("p p > t t~ j", &protons(), jets);
        let survey = run.survey(settings(2000), threads);
        let made = run.events(&survey, settings(2000), threads);
        (survey, made.events)
    });
    let [(one, some), (other, others)] = &runs;
    assert_eq!(some.len(), 2000);
    assert_eq!(one, other);
    assert_eq!(some, others);
}

/// Events conserve momentum, lie within the cuts, have the partons of their process, and choices of their matrix element.
#[test]
fn events_are_those_of_their_process() {
    events_are(&protons());
}

/// So they are where both orders differ, in the frame of the detector.
#[test]
fn events_of_other_beams_are_those_of_their_process() {
    let [proton, _] = protons().beams;
    events_are(&Common {
        energy: 6000.0,
        rapidity: 0.8,
        beams: [proton.clone(), anti(&proton)],
        ..protons()
    });
}

fn events_are(common: &Common) {
    let mut run = Run::new("p p > t t~ j", common, jets);
    let survey = run.survey(settings(2000), 1);
    let events = run.events(&survey, settings(2000), 1).events;
    let random = vec![[0.3, 0.6, 0.9]; events.len()];
    let mut evaluators = run.evaluators(1, true);
    let choices = evaluators[0].choose(&events, &random).expect("choices");
    let (mut exchanged, mut different) = (0, 0);
    for (event, choice) in events.iter().zip(choices) {
        let group = run.integrand.sources[event.source as usize].group;
        let partons = &run.integrand.groups[group].partons[event.partons as usize];
        let p = &event.momenta;
        for i in 0..4 {
            let off: f64 = p[2..].iter().map(|q| q[i]).sum::<f64>() - p[0][i] - p[1][i];
            assert!(off.abs() < 1e-9 * p[0][0].max(p[1][0]), "{off} {event:?}");
        }
        for (beam, fraction) in event.fractions.iter().enumerate() {
            let leg = if partons.exchanged { 1 - beam } else { beam };
            let sign = [1.0, -1.0][beam];
            let energy = 0.5 * common.energy * (sign * common.rapidity).exp();
            assert!(
                (p[leg][3] / (sign * energy * fraction) - 1.0).abs() < 1e-9,
                "{event:?}"
            );
        }
        exchanged += usize::from(partons.exchanged);
        different += usize::from(partons.codes[0] != partons.codes[1]);
        let jet = p[4];
        assert!(jet[1].hypot(jet[2]) >= 20.0 * (1.0 - 1e-12), "{event:?}");
        let rapidity = 0.5 * ((jet[0] + jet[3]) / (jet[0] - jet[3])).ln();
        assert!(rapidity.abs() <= 5.0 + 1e-9, "{rapidity}");
        assert!(event.weight >= 1.0, "{event:?}");
        assert!((event.alpha_s - 0.118).abs() < 1e-12, "{event:?}");
        let process = run.bridges[event.element as usize].process();
        assert!((choice.helicity as usize) < process.helicities.len());
        assert!((choice.color as usize) < process.color_flows());
        assert!((choice.diagram as usize) < process.diagrams as usize);
    }
    assert!(different > 200 && exchanged > 50, "{exchanged}");
    // Both orders of different partons are as likely where beams are like.
    if common.rapidity == 0.0 {
        let off = exchanged as f64 / different as f64 - 0.5;
        assert!(off.abs() < 2.0 / f64::sqrt(different as f64), "{off}");
    }
}
