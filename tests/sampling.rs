//! Points and events of the sampler: cross sections compared with closed formulas, events with the distributions that
//! they are drawn from.

use mebridge::channel_factors::{ChannelFactors, ChannelRequest};
use mebridge::event_generator::{
    BeamRequest, ColorTreatment, ElementRequest, EventGenerator, Records, Request,
};
use mebridge::generate::generate_with;
use mebridge::sampling::{ClusteredLines, Common, Elements, MatrixElement, integrand};
use mebridge::{Bridge, Switches, models};
use mebridge_densities::{BosonBeam, BosonOrder, Densities, Radiator, StrongCoupling};
use mebridge_phasespace::Rows;
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::integrand::{Beam, Failure, Integrand, PICOBARN, RunningCoupling};
use mebridge_sampler::rounds::{self, Round, round};
use mebridge_sampler::sums::Estimate;
use mebridge_sampler::survey::{Survey, SurveySettings, survey};
use mebridge_sampler::weigh::Weigh;
use std::f64::consts::PI;
use std::fmt::Write;
use std::sync::Arc;

#[path = "sampling/clustered.rs"]
mod clustered;
#[path = "sampling/functions.rs"]
mod functions;
#[path = "sampling/leading_color.rs"]
mod leading_color;

/// A process with its bridge.
struct Run {
    integrand: Integrand,
    bridges: Vec<Bridge>,
}

impl Run {
    fn new(text: &str, common: &Common, windows: impl Fn(&[i32]) -> Vec<Window>) -> Run {
        Run::with(text, common, windows, &[])
    }

    /// The same with other values of the parameter card.
    fn with(
        text: &str,
        common: &Common,
        windows: impl Fn(&[i32]) -> Vec<Window>,
        card: &[(&str, f64)],
    ) -> Run {
        let run = Run::prepared(text, common, windows, card);
        run.expect("an integrand")
    }

    fn prepared(
        text: &str,
        common: &Common,
        windows: impl Fn(&[i32]) -> Vec<Window>,
        values: &[(&str, f64)],
    ) -> Result<Run, Failure> {
        let model = models::model(None).expect("the Standard Model");
        let (mut bridges, mut elements) = (Vec::new(), Vec::new());
        for mut process in generate_with(text, &model).expect("a process") {
            for (name, value) in values {
                let place = process.model.card_parameter(name);
                process.model.card[place.expect("a parameter")].default = *value;
            }
            let card = process.model.default_card();
            let codes: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
            let bridge = Bridge::new(process.clone(), &card, &Switches::default(), 512);
            let bridge = bridge.expect("a bridge");
            elements.push(MatrixElement {
                process,
                masses: bridge.masses(),
                mirrored: !common.beams[0].is_parton()
                    && !common.beams[0].is_lepton()
                    && codes[0] != codes[1],
                windows: windows(&codes),
                rules: Vec::new(),
                clustered: ClusteredLines::default(),
                off_shell: Vec::new(),
                vanishes: false,
                function: None,
            });
            bridges.push(bridge);
        }
        let integrand = integrand(1, &elements, common)?;
        Ok(Run { integrand, bridges })
    }

    fn evaluators(&mut self, count: usize, diagrams: bool) -> Vec<Elements> {
        let bridges = &mut self.bridges;
        let one = |_| Elements::new(bridges, diagrams).expect("samplers");
        (0..count).map(one).collect()
    }

    fn survey(&mut self, settings: SurveySettings, threads: usize) -> Survey {
        let mut evaluators = self.evaluators(threads, false);
        survey(&mut self.integrand, &settings, &mut evaluators).expect("a survey")
    }

    fn events(&mut self, survey: &Survey, settings: SurveySettings, threads: usize) -> Round {
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

fn settings(events: u64) -> SurveySettings {
    SurveySettings {
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
        factorisation: [Some(scale); 2],
    }
}

fn partons() -> Common {
    Common {
        energy: 1000.0,
        rapidity: 0.0,
        beams: [Beam::Parton, Beam::Parton],
        running: RunningCoupling::Fixed(0.118),
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

/// Scale dependence of x f(x): a power of ln (Q / 100 GeV) for each parton.
type Slope = fn(i32) -> f64;

/// A proton whose densities do not depend on the scale.
fn proton() -> Beam {
    hadron(|_| 0.0)
}

/// A proton whose densities depend on the scale.
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
        densities: Arc::new(Densities::open(&file).expect("a set")),
        anti: false,
    }
}

fn anti(beam: &Beam) -> Beam {
    match beam {
        Beam::Parton | Beam::PhotonPair(_) => beam.clone(),
        Beam::Densities { densities, anti } => Beam::Densities {
            densities: densities.clone(),
            anti: !anti,
        },
    }
}

/// Protons of 13 TeV.
fn protons() -> Common {
    let proton = proton();
    let table = StrongCoupling::new(&[5.0, 50.0, 500.0, 1e5], &[0.118; 4]).expect("a table");
    Common {
        energy: 13_000.0,
        rapidity: 0.0,
        beams: [proton.clone(), proton],
        running: RunningCoupling::Table(Arc::new(table)),
        scale: fixed(200.0),
        clustering: None,
    }
}

fn no_cuts(_: &[i32]) -> Vec<Window> {
    Vec::new()
}

/// Cuts on pt, rapidities and distances of gluons and quarks.
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

/// Returns the cross section of g g > t t~ at a squared energy, pb, and that of u u~ > t t~ (B. Combridge, Nucl. Phys.
/// B151 (1979) 429), with alpha_s = 0.118.
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
    let size = PI * alpha_s * alpha_s / s * PICOBARN;
    [
        size / 3.0 * gluons,
        size * 8.0 / 27.0 * beta * (1.0 + rho / 2.0),
    ]
}

/// Integrates over the energies of both partons from the threshold of top pairs on, by midpoints in ln tau and the
/// rapidity. `of` gets the squared energy of the partons, the rapidity and both fractions, and includes the densities x
/// f(x).
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

/// Returns the cross section of a process from a survey and a round with `events` events.
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

/// Top pairs from u and u~ of both beams; with different beams the two orders have their own densities, cuts and
/// scales.
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
    // With antiprotons on one side the orders differ already.
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
    let beam = hadron(slope);
    // One of them may be the energy of the partons instead of fixed.
    for scales in [
        [Some(800.0), Some(15.0)],
        [Some(800.0), None],
        [None, Some(15.0)],
    ] {
        let common = Common {
            beams: [beam.clone(), beam.clone()],
            scale: Scale {
                factor: 0.5,
                factorisation: scales,
                ..fixed(200.0)
            },
            ..protons()
        };
        let energy = common.energy;
        top_pairs_of_quarks(&common, 50.0, |_, x1, x2| {
            let own = 0.5 * energy * (x1 * x2).sqrt();
            let of = |beam: usize, code: i32, x: f64| {
                let scale = scales[beam].unwrap_or(own);
                density(code, x) * (1.0 + slope(code) * (scale / 100.0).ln())
            };
            of(0, 2, x1) * of(1, -2, x2) + of(0, -2, x1) * of(1, 2, x2)
        });
    }
}

/// A gluon beam, on either side of a proton.
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
        for event in run.events(&survey, settings(100), 1).events.iter() {
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
        let element = MatrixElement {
            process,
            masses: bridge.expect("a bridge").masses(),
            mirrored: true,
            windows: Vec::new(),
            rules: Vec::new(),
            clustered: Default::default(),
            off_shell: Vec::new(),
            vanishes: false,
            function: None,
        };
        let common = Common { beams, ..protons() };
        let found = integrand(1, &[element], &common).expect_err("it cannot be");
        assert!(found.to_string().contains(wanted), "{found}");
    }
}

#[test]
fn beams_are_asked_for_by_json() {
    let text =
        r#"["parton", {"hadron": {"densities": "a.dat", "anti": true}}, {"photons": "muon"}]"#;
    let found: Vec<BeamRequest> = serde_json::from_str(text).expect("beams");
    let hadron = BeamRequest::Hadron {
        densities: "a.dat".into(),
        anti: true,
        ion: None,
    };
    let photons = BeamRequest::Photons(Radiator::Muon);
    assert_eq!(found, [BeamRequest::Parton, hadron, photons]);
    let bosons = BeamRequest::Bosons(BosonBeam {
        of: Radiator::Electron,
        anti: true,
        left_handed: 0.25,
        by_transverse_momentum: true,
        order: BosonOrder::NextToLeadingPower,
        energy: 1500.0,
        above_mass: true,
        alpha: 1.0 / 132.507,
        masses: [80.419, 91.188],
    });
    let text = serde_json::to_string(&bosons).expect("text");
    assert_eq!(
        serde_json::from_str::<BeamRequest>(&text).expect("a beam"),
        bosons
    );
}

/// Photons from a proton and from an electron: a different density for each beam.
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
    // The value in the card of the Standard Model.
    let alpha = 1.0 / 132.507;
    let wanted = folded(common.energy * common.energy, |s, _, x1, x2| {
        let rho = 4.0 * 173.0 * 173.0 / s;
        let beta = (1.0 - rho).sqrt();
        let logarithm = ((1.0 + beta) / (1.0 - beta)).ln();
        let shape = (1.0 + rho - rho * rho / 2.0) * logarithm - beta * (1.0 + rho);
        let size = 4.0 * PI * alpha * alpha / s * 3.0 * (2.0f64 / 3.0).powi(4);
        let flux = |radiator: Radiator, x: f64| {
            let mut found = [0.0];
            Densities::photons(radiator).evaluate(&[x], &[scale * scale], &mut found);
            found[0]
        };
        size * shape * PICOBARN * flux(of[0], x1) * flux(of[1], x2)
    });
    agrees(found, wanted);
}

/// Photons of polarised muons, whose densities depend on the helicity: a matrix element for each pair of helicities.
#[test]
fn bosons_have_densities_by_helicity() {
    let scale = 200.0;
    let alpha = 1.0 / 132.507;
    let beam = |anti: bool, left_handed: f64| {
        let beam = BosonBeam {
            of: Radiator::Muon,
            anti,
            left_handed,
            by_transverse_momentum: false,
            order: BosonOrder::Logarithm,
            energy: 2000.0,
            above_mass: false,
            alpha,
            masses: [80.419, 91.188],
        };
        Arc::new(Densities::bosons(beam))
    };
    let of = [beam(true, 0.95), beam(false, 0.1)];
    let common = Common {
        energy: 4000.0,
        beams: of.each_ref().map(|densities| Beam::Densities {
            densities: densities.clone(),
            anti: false,
        }),
        ..protons()
    };
    let pairs = ["a{L} a{L}", "a{L} a{R}", "a{R} a{L}", "a{R} a{R}"];
    let of_pairs = pairs.map(|pair| format!("add process {pair} > t t~"));
    let text = of_pairs.join("; ").replacen("add process ", "", 1);
    let mut run = Run::new(&text, &common, no_cuts);
    let found = cross_section(&mut run, 60_000, 2);
    // The cross sections of photons with the same and with opposite helicities.
    let wanted = folded(common.energy * common.energy, |s, _, x1, x2| {
        let rho = 4.0 * 173.0 * 173.0 / s;
        let beta = (1.0 - rho).sqrt();
        let logarithm = ((1.0 + beta) / (1.0 - beta)).ln();
        let shape = (1.0 + rho - rho * rho / 2.0) * logarithm - beta * (1.0 + rho);
        let size = 4.0 * PI * alpha * alpha / s * 3.0 * (2.0f64 / 3.0).powi(4);
        let same = beta * (1.0 - beta.powi(4)) * (1.0 / rho + logarithm / (2.0 * beta));
        let opposite = 2.0 * shape - same;
        let fluxes = [(&of[0], x1), (&of[1], x2)].map(|(densities, x)| {
            let mut found = [0.0; 8];
            densities.evaluate(&[x], &[scale * scale], &mut found);
            [found[0], found[1]]
        });
        let [[a, b], [c, d]] = fluxes;
        size * PICOBARN * (same * (a * c + b * d) + opposite * (a * d + b * c))
    });
    agrees(found, wanted);

    let several = Run::prepared("a a > t t~", &common, no_cuts, &[]);
    let error = several.err().expect("an error").to_string();
    let message = "the densities of beam 1 are those of single helicities, and a matrix element has several there";
    assert_eq!(error, message);
    let other = Run::prepared("w-{0} a{R} > b t~", &common, no_cuts, &[]);
    let error = other.err().expect("an error").to_string();
    assert!(
        error.starts_with("the densities of beam 1 have no -24"),
        "{error}"
    );
}

/// Where partons have different masses, one of them has exactly its fraction of the beam: the one without a mass.
#[test]
fn massless_partons_have_their_fraction() {
    let bosons = Beam::Densities {
        densities: Arc::new(Densities::bosons(BosonBeam {
            of: Radiator::Electron,
            anti: true,
            left_handed: 0.5,
            by_transverse_momentum: false,
            order: BosonOrder::Logarithm,
            energy: 2000.0,
            above_mass: false,
            alpha: 1.0 / 132.507,
            masses: [80.419, 91.188],
        })),
        anti: false,
    };
    let both = [bosons.clone(), bosons.clone()];
    for (text, beams, light) in [
        ("w+{0} a{R} > w+ z", both.clone(), 1),
        ("a{R} w+{0} > w+ z", both, 0),
        ("e-{L} w+{0} > ve h", [Beam::Parton, bosons], 0),
    ] {
        let common = Common {
            energy: 3000.0,
            beams,
            ..protons()
        };
        let mut run = Run::new(text, &common, no_cuts);
        let survey = run.survey(settings(200), 1);
        for event in run.events(&survey, settings(200), 1).events.iter() {
            let [energy, _, _, along] = event.momenta[light];
            // The order of like beams may be exchanged.
            let fraction = event.fractions[usize::from(along < 0.0)];
            assert!(
                (energy / (1500.0 * fraction) - 1.0).abs() < 1e-9,
                "{text}: {event:?}"
            );
        }
    }
}

/// The text of an `eepdf.f` whose components are constants times powers of 1 - x: those of electrons and positrons.
fn eepdf(constants: [[f64; 4]; 2]) -> String {
    let mut text = String::new();
    for (kind, of) in [(2, constants[0]), (1, constants[1])] {
        for (n, value) in (1..).zip(of) {
            text += &format!("      function eepdf_{n}_{kind}_{kind}(y,z)\n");
            for (name, low, high) in [
                ("yv", 0.1, 0.9),
                ("zv", 5.0, 15.0),
                ("(gridv(iny,  1),iny=1,2)", value, value),
                ("(gridv(iny,  2),iny=1,2)", value, value),
            ] {
                text += &format!("      data {name}/\n     # {low:e},\n     # {high:e}/\n");
            }
        }
    }
    text
}

/// Pairs of muons of photons in the s channel: the cross section is 4 pi alpha^2 / 3 s.
#[test]
fn muon_pairs_of_electrons_that_radiated() {
    let constants = [[0.06, 0.3, 0.02, 0.4], [0.05, 0.03, 0.2, 0.5]];
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("eepdf.f");
    std::fs::write(&file, eepdf(constants)).expect("a file");
    let beam = |anti: bool| Beam::Densities {
        densities: Arc::new(Densities::leptons(&file, anti).expect("densities")),
        anti: false,
    };
    let (energy, scale, least) = (240.0, 100.0f64, 30.0);
    let common = Common {
        energy,
        beams: [beam(true), beam(false)],
        scale: fixed(scale),
        ..protons()
    };
    let cut = |_: &[i32]| {
        vec![Window::new(
            Observable::Mass,
            vec![vec![2, 3]],
            least,
            f64::INFINITY,
        )]
    };
    let mut run = Run::new("e+ e- > mu+ mu- / z h", &common, cut);
    let found = cross_section(&mut run, 40_000, 2);
    let beta = 0.007_562_397 / PI * (2.0 * (scale / 0.511e-3).ln() - 1.0);
    let (tau, alpha, steps) = ((least / energy).powi(2), 1.0 / 132.507, 400);
    let mut wanted = 0.0;
    for n in 0..4 {
        // Positrons lost energy to the other bunch in the last two components, electrons in every second one.
        let [first, second] = [n / 2, n % 2].map(|lost| beta + f64::from(lost) / 3.0);
        let product = constants[1][n as usize] * constants[0][n as usize];
        let inner = |from: f64, power: f64, of: &dyn Fn(f64) -> f64| -> f64 {
            let range = (1.0 - from).powf(power);
            let x = |i: i32| {
                let t = (f64::from(i) + 0.5) / f64::from(steps) * range;
                1.0 - t.powf(1.0 / power)
            };
            (0..steps).map(|i| of(x(i)) / x(i)).sum::<f64>() * range / power / f64::from(steps)
        };
        wanted += product * inner(tau, first, &|x1| inner(tau / x1, second, &|_| 1.0));
    }
    wanted *= 4.0 * PI * alpha * alpha / 3.0 / (energy * energy) * PICOBARN;
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

/// Events conserve momentum, pass the cuts, have the partons of their process, and choices of their matrix element.
#[test]
fn events_are_those_of_their_process() {
    events_are(&protons());
}

/// The same if the two orders differ, in the detector frame.
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
    let mut events = run.events(&survey, settings(2000), 1).events;
    let mut evaluators = run.evaluators(1, true);
    evaluators.choose(events.parts_mut()).expect("choices");
    let (mut exchanged, mut different) = (0, 0);
    for event in events.iter() {
        let choice = event.choice.expect("it was made");
        let [helicity, color, diagram] = choice.map(|number| number as usize);
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
        assert!(helicity < process.helicities.len());
        assert!(color < process.color_flows());
        assert!(diagram < process.diagrams as usize);
    }
    assert!(different > 200 && exchanged > 50, "{exchanged}");
    // Both orders of different partons are equally likely if the beams are alike.
    if common.rapidity == 0.0 {
        let off = exchanged as f64 / different as f64 - 0.5;
        assert!(off.abs() < 2.0 / f64::sqrt(different as f64), "{off}");
    }
}

fn check(found: Estimate, wanted: f64, precision: f64) {
    let pull = (found.mean - wanted) / found.error;
    assert!(
        pull.abs() < 4.0 && found.error < precision * wanted,
        "{found:?} for {wanted}: {pull}"
    );
}

/// Quarks of different masses from a gluon, in both channels (B. Combridge, as above, with the masses of the incoming
/// particles).
#[test]
fn beams_with_masses() {
    let (top, bottom) = (173.0f64.powi(2), 4.7f64.powi(2));
    let (s, alpha_s) = (1e6f64, 0.118f64);
    let mut run = Run::new("t t~ > b b~ QED=0", &partons(), no_cuts);
    let found = cross_section(&mut run, 10_000, 1);
    let beta = |square: f64| (1.0 - 4.0 * square / s).sqrt();
    let spins = (1.0 + 2.0 * top / s) * (1.0 + 2.0 * bottom / s);
    let wanted = 8.0 * PI * alpha_s * alpha_s / (27.0 * s) * PICOBARN * spins * beta(bottom);
    check(found, wanted / beta(top), 0.005);

    let pt = |codes: &[i32]| {
        let some = (2..codes.len()).map(|leg| vec![vec![leg]]);
        some.map(|leg| Window::new(Observable::Pt, leg, 20.0, f64::INFINITY))
            .collect()
    };
    let mut run = Run::new("t b > t b QED=0", &partons(), pt);
    let found = cross_section(&mut run, 10_000, 1);
    let lambda = (s - top - bottom).powi(2) - 4.0 * top * bottom;
    let steps = 100_000;
    // From the smallest angle that the cut allows to the largest, by midpoints of ln -t.
    let half = lambda / (2.0 * s);
    let cosine = (1.0 - 400.0 * 4.0 * s / lambda).sqrt();
    let (from, to) = ((half * (1.0 - cosine)).ln(), (half * (1.0 + cosine)).ln());
    let width = (to - from) / f64::from(steps);
    let mut wanted = 0.0;
    for step in 0..steps {
        let t = -(from + (f64::from(step) + 0.5) * width).exp();
        let u = 2.0 * (top + bottom) - s - t;
        let sum = top + bottom;
        let squared = (s - sum).powi(2) + (u - sum).powi(2) + 2.0 * t * sum;
        wanted += squared / (t * t) * -t * width;
    }
    let coupling = (4.0 * PI * alpha_s).powi(2) * 4.0 / 9.0;
    check(
        found,
        wanted * coupling / (16.0 * PI * lambda) * PICOBARN,
        0.01,
    );
}

/// Matrix elements that share channels, without densities to set their relative frequencies.
#[test]
fn flavors_of_partons() {
    let charges = [2.0 / 3.0, -1.0 / 3.0];
    let photons = charges.map(|charge: f64| charge * charge);
    let alpha = 1.0f64 / 132.507;
    // Two generations in three colours.
    let pairs = |of: [f64; 2]| 6.0 * of.iter().sum::<f64>();
    let mut run = Run::new("e+ e- > j j / z", &partons(), no_cuts);
    let found = cross_section(&mut run, 10_000, 1);
    let wanted = 4.0 * PI * alpha * alpha / (3.0 * 1e6) * PICOBARN * pairs(photons);
    check(found, wanted, 0.01);

    let [fermi, z, w] = weak();
    let resting = Common {
        energy: z.sqrt(),
        ..partons()
    };
    let couplings = charges.map(|charge| {
        let vector = 0.5 * charge.signum() - 2.0 * charge * (1.0 - w / z);
        vector * vector + 0.25
    });
    let mut run = Run::new("z > j j", &resting, no_cuts);
    let found = cross_section(&mut run, 10_000, 1);
    let each = fermi * z.powf(1.5) / (6.0 * PI * 2.0f64.sqrt());
    // All weights of a flavour are equal.
    let wanted = each * pairs(couplings);
    assert!((found.mean / wanted - 1.0).abs() < 1e-4, "{found:?}");
}

/// G_F, and squared masses of Z and W that follow from the default card.
fn weak() -> [f64; 3] {
    let (fermi, alpha, z) = (1.16637e-5f64, 1.0 / 132.507, 91.188f64.powi(2));
    let root = (z * z / 4.0 - alpha * PI * z / (fermi * 2.0f64.sqrt())).sqrt();
    [fermi, z, z / 2.0 + root]
}

/// Returns the width of t > b w+ at a squared mass of the W boson.
fn top_width(w: f64) -> f64 {
    let [fermi, _, on_shell] = weak();
    let (top, bottom) = (173.0f64.powi(2), 4.7f64.powi(2));
    let (x, y) = (w / top, bottom / top);
    let root = ((1.0 - x - y).powi(2) - 4.0 * x * y).sqrt();
    let spins = (1.0 - y).powi(2) + x * (1.0 + y) - 2.0 * x * x;
    fermi * on_shell / w * top.powf(1.5) / (8.0 * PI * 2.0f64.sqrt()) * root * spins
}

/// Returns the width of w+ > e+ ve at a squared mass of the W boson.
fn w_width(w: f64) -> f64 {
    let [fermi, _, on_shell] = weak();
    fermi * on_shell * w.sqrt() / (6.0 * PI * 2.0f64.sqrt())
}

/// One particle decays, into two and through a chain.
#[test]
fn widths_of_decays() {
    let [_, _, w] = weak();
    let common = Common {
        energy: 173.0,
        ..partons()
    };
    let mut run = Run::new("t > b w+", &common, no_cuts);
    let found = cross_section(&mut run, 1000, 1);
    // All weights are equal, and grids keep them so.
    assert!((found.mean / top_width(w) - 1.0).abs() < 1e-4, "{found:?}");
    assert!(found.error < 1e-7 * found.mean, "{found:?}");

    let width = 2.0476;
    let cutoff = 15.0 * width;
    let near = |codes: &[i32]| {
        assert_eq!(codes[1..], [5, -11, 12]);
        let (least, largest) = (w.sqrt() - cutoff, w.sqrt() + cutoff);
        vec![Window::new(
            Observable::Mass,
            vec![vec![3, 4]],
            least,
            largest,
        )]
    };
    let mut run = Run::with("t > b w+, w+ > e+ ve", &common, near, &[("WW", width)]);
    let survey = run.survey(settings(10_000), 1);
    let made = run.events(&survey, settings(10_000), 1);
    let found = rounds::cross_section(&survey, [(10_000, &made.sums[..])]);
    let steps = 100_000;
    let (from, to) = ((w.sqrt() - cutoff).powi(2), (w.sqrt() + cutoff).powi(2));
    let mut wanted = 0.0;
    for step in 0..steps {
        let size = (to - from) / f64::from(steps);
        let q = from + (f64::from(step) + 0.5) * size;
        let propagator = (q - w).powi(2) + w * width * width;
        wanted += q.sqrt() * w_width(q) * top_width(q) / (PI * propagator) * size;
    }
    check(found, wanted, 0.01);
    let points: u64 = made.drawn.iter().sum();
    assert!(points < 20_000, "{points}");
    for event in made.events.iter() {
        assert_eq!(event.momenta[..2], [[0.0; 4], [173.0, 0.0, 0.0, 0.0]]);
    }
}

/// Both quarks of a pair decay through chains, with eight lines that are on their mass shells or outgoing: production
/// times branching fractions, and the fraction within some widths.
#[test]
fn chains_of_decays() {
    let [_, _, w] = weak();
    let (top, narrow) = (0.015f64, 0.008f64);
    let near = |codes: &[i32]| {
        let place = |code: i32| {
            codes
                .iter()
                .position(|known| *known == code)
                .expect("a leg")
        };
        let window = |legs: &[i32], mass: f64, width: f64| {
            let legs = legs.iter().map(|&code| place(code)).collect();
            let (least, largest) = (mass - 15.0 * width, mass + 15.0 * width);
            Window::new(Observable::Mass, vec![legs], least, largest)
        };
        vec![
            window(&[5, -11, 12], 173.0, top),
            window(&[-11, 12], w.sqrt(), narrow),
            window(&[-5, 13, -14], 173.0, top),
            window(&[13, -14], w.sqrt(), narrow),
        ]
    };
    let text = "g g > t t~, (t > b w+, w+ > e+ ve), (t~ > b~ w-, w- > mu- vm~)";
    let mut run = Run::with(text, &partons(), near, &[("WT", top), ("WW", narrow)]);
    let survey = run.survey(settings(5000), 1);
    let made = run.events(&survey, settings(5000), 1);
    let found = rounds::cross_section(&survey, [(5000, &made.sums[..])]);
    let within = 2.0 / PI * 30.0f64.atan();
    let branching = top_width(w) / top * within * w_width(w) / narrow * within;
    check(found, top_pairs(1e6)[0] * branching * branching, 0.02);
    let points: u64 = made.drawn.iter().sum();
    assert!(points < 20_000, "{points}");
}

/// On the mass shell `$` leaves the share of the other diagrams' weights: a closed formula with products of
/// propagators.
#[test]
fn lines_off_their_mass_shells() {
    let (mass, width) = (91.188, 2.441404);
    for (energy, left) in [
        (mass, width * width / (width * width + mass * mass)),
        (200.0, 1.0),
    ] {
        let found = ["", " $ z"].map(|off| {
            let text = format!("e+ e- > mu+ mu-{off}");
            let mut made = generator(&text, energy, &[("WZ", width)]).expect("a generator");
            let survey = made.survey(&settings(2000)).expect("a survey").clone();
            let events = made.round(&settings(2000), 0).expect("events");
            let sums = &events.round.sums[..];
            // A line that is on its mass shell is in the record.
            let shown = lines(&made, &events)
                .iter()
                .any(|words| words[..2] == ["23", "2"]);
            assert_eq!(shown, off.is_empty() && energy == mass, "{text} {energy}");
            rounds::cross_section(&survey, [(2000, sums)])
        });
        let [all, off] = found;
        let error = f64::hypot(all.error / all.mean, off.error / off.mean);
        let ratio = off.mean / all.mean / left;
        assert!((ratio - 1.0).abs() < 4.0 * error + 1e-9, "{ratio} {energy}");
    }
}

fn generator(text: &str, energy: f64, values: &[(&str, f64)]) -> Result<EventGenerator, Failure> {
    let model = models::model(None).expect("the Standard Model");
    let mut processes = generate_with(text, &model).expect("a process");
    for process in &mut processes {
        for (name, value) in values {
            let place = process.model.card_parameter(name);
            process.model.card[place.expect("a parameter")].default = *value;
        }
    }
    let request = Request {
        threads: 2,
        backend: Some("cpu".to_owned()),
        by_propagators: true,
        color: ColorTreatment::Full,
        ..Request::new(
            energy,
            fixed(91.188),
            vec![ElementRequest::default(); processes.len()],
        )
    };
    EventGenerator::new(processes, &request, None)
}

/// Returns the particles of all records, as text.
fn lines(made: &EventGenerator, events: &Records) -> Vec<Vec<String>> {
    let mut text = Vec::new();
    let bytes = made.bytes(events);
    mebridge::lhe::push_events(&mut text, &bytes, events.particles, 1.0).expect("text");
    let text = String::from_utf8(text).expect("text");
    let words =
        |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
    text.lines()
        .map(words)
        .filter(|words| words.len() == 13)
        .collect()
}

/// A radiating particle without a width is not a resonance: cuts, which the generator uses unchanged, keep photons from
/// being soft.
#[test]
fn what_radiates_needs_no_width() {
    for text in ["e+ e- > ta+ ta- a", "e+ e- > b b~ g g"] {
        let made = generator(text, 500.0, &[]);
        assert!(made.is_ok(), "{text}: {:?}", made.err());
    }
}

/// Impossible requests are refused by name.
#[test]
fn what_has_no_events() {
    #[rustfmt::skip]
    let cases = [
        ("u u~ > z", 91.188, &[][..], "a particle that goes out alone"),
        ("z > t t~", 91.188, &[], "needs 346 GeV"),
        ("e+ e- > t t~", 300.0, &[], "needs 346 GeV"),
        ("e+ e- > z h, z > mu+ mu-", 500.0, &[("WZ", 0.0)], "particle 23 (PDG code)"),
        ("e+ e- > mu+ mu-", 91.188, &[("WZ", 0.0)], "no width"),
        ("h > e+ e- mu+ mu-", 125.0, &[("WZ", 1e-14)], "lost in rounding"),
        ("t d > b u", 1000.0, &[], "on its mass shell"),
    ];
    for (text, energy, values, message) in cases {
        match generator(text, energy, values) {
            Ok(_) => panic!("{text} is not refused"),
            Err(wrong) => assert!(wrong.to_string().contains(message), "{text}: {wrong}"),
        }
    }
}

/// The records of a decay: the particle, the W boson in it, and the outgoing particles.
#[test]
fn records_of_decays() {
    let mut made = generator("t > b w+, w+ > e+ ve", 173.0, &[]).expect("a generator");
    made.survey(&settings(500)).expect("a survey");
    let events = made.round(&settings(500), 0).expect("events");
    let particles = lines(&made, &events);
    let known: Vec<&[String]> = particles[..5].iter().map(|words| &words[..4]).collect();
    let wanted = [
        ["6", "-1", "0", "0"],
        ["24", "2", "1", "0"],
        ["5", "1", "1", "0"],
        ["-11", "1", "2", "2"],
        ["12", "1", "2", "2"],
    ];
    assert_eq!(known, wanted);
}

/// All threads append to a file.
#[test]
fn records_are_appended() {
    let mut made = generator("e+ e- > mu+ mu-", 200.0, &[]).expect("a generator");
    made.survey(&settings(5000)).expect("a survey");
    let events = made.round(&settings(5000), 0).expect("events");
    let bytes = made.bytes(&events);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("events");
    std::fs::write(&file, "head").expect("a file");
    made.append(&events, &file).expect("records");
    made.append(&events, &file).expect("records");
    assert!(std::fs::read(&file).expect("a file") == [b"head", &bytes[..], &bytes].concat());
    let nowhere = folder.path().join("nowhere/events");
    let error = made.append(&events, &nowhere).expect_err("no folder");
    assert!(error.to_string().contains("nowhere/events"), "{error}");
}

/// If |M|^2 has a larger width than the card, the ratio is a factor where the line can be on its mass shell, and
/// nowhere else.
#[test]
fn narrow_widths() {
    let mut process = mebridge::generate("e+ e- > mu+ mu-")
        .expect("a process")
        .remove(0);
    let place = process.model.card_parameter("WZ").expect("a width");
    process.model.card[place].default = 1e-9;
    let described = mebridge::describe::describe(std::slice::from_ref(&process), &[false], "", "");
    let mut channels = described.expect("channels").channels;
    for channel in &mut channels {
        if channel.propagators[0] == 23 {
            channel.parameters[0].1.insert_str(0, "FK_");
            channel.masses[0].1 = 1e-3;
        }
    }
    let heavy = Window::new(Observable::Mass, vec![vec![2, 3]], 200.0, f64::INFINITY);
    for (windows, factor) in [(&[][..], 1e6), (&[heavy], 1.0)] {
        let requested = ChannelRequest {
            widths: Some(15.0),
            propagators: true,
            off_shell: &[],
            windows,
        };
        let found = ChannelFactors::new(&process, &channels, &[0.0; 4], &requested);
        let found = found.expect("factors");
        if factor == 1.0 {
            assert!(found.is_none());
            continue;
        }
        let counts = found
            .expect("some")
            .of_channels(&Rows::new(16, 1), &[0.25, 0.75]);
        let wanted = channels.iter().map(|channel| {
            let share = [0.25, 0.75][channel.diagrams[0].diagram];
            if channel.propagators[0] == 23 {
                share * factor
            } else {
                share
            }
        });
        for (count, wanted) in counts.iter().zip(wanted) {
            assert!((count / wanted - 1.0).abs() < 1e-9, "{count} {wanted}");
        }
    }
}
