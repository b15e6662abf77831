//! Surveys and events on an emulated GPU, compared with those of CPU threads.

use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::event_generator::{ColorTreatment, ElementRequest, EventGenerator, Request};
use mebridge::generate::generate_with;
use mebridge::gpu::Gpus;
use mebridge::gpu::cuda::check_where_named;
use mebridge::gpu::driver::Driver;
use mebridge::models;
use mebridge::runtime::{CachePlace, Switches};
use mebridge::sampling::{Common, Elements, MatrixElement, integrand};
use mebridge::target::Target;
use mebridge_backend::DeviceSession;
use mebridge_densities::{Densities, StrongCoupling};
use mebridge_emulator::Emulator;
use mebridge_gpu_sampler::weigher::{self, Gpu};
use mebridge_phasespace::cuts::{Observable, Window};
use mebridge_phasespace::scales::{Dynamical, Scale};
use mebridge_sampler::integrand::{Beam, Integrand, RunningCoupling};
use mebridge_sampler::rounds::{Round, round};
use mebridge_sampler::survey::{Survey, SurveySettings, survey};
use mebridge_sampler::weigh::Weigh;
use std::sync::Arc;

/// Only tables: compiling code of processes with a C++ compiler takes long.
fn switches() -> Switches {
    Switches {
        gpu_group: Some(0),
        ..Switches::default()
    }
}

fn off() -> Cache {
    Cache::new(&CachePlace::Off)
}

/// A process with its matrix elements on the CPU and on emulated GPUs.
struct Run {
    last: u32,
    integrand: Integrand,
    elements: Vec<Elements>,
    gpus: weigher::SamplerGpus,
}

impl Run {
    /// Makes `gpus` emulated GPUs, each with launches of `launch` blocks.
    fn new(text: &str, common: &Common, gpus: usize, launch: usize) -> Option<Run> {
        Run::with(text, common, gpus, launch, false)
    }

    /// The same where the last matrix element vanishes.
    fn with(
        text: &str,
        common: &Common,
        gpus: usize,
        launch: usize,
        last_vanishes: bool,
    ) -> Option<Run> {
        let model = models::model(None).expect("the Standard Model");
        let processes = generate_with(text, &model).expect("a process");
        let switches = switches();
        let (mut bridges, mut elements) = (Vec::new(), Vec::new());
        for process in &processes {
            let card = process.model.default_card();
            let codes: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
            let bridge = Bridge::new(process.clone(), &card, &switches, 1).expect("a bridge");
            elements.push(MatrixElement {
                process: process.clone(),
                masses: bridge.masses(),
                mirrored: !common.beams[0].is_parton() && codes[0] != codes[1],
                windows: jets(&codes),
                rules: Vec::new(),
                clustered: Default::default(),
                off_shell: Vec::new(),
                vanishes: last_vanishes && elements.len() + 1 == processes.len(),
                function: None,
            });
            bridges.push(bridge);
        }
        let integrand = integrand(1, &elements, common).expect("an integrand");
        let mut drivers: Vec<Arc<dyn Driver>> = Vec::new();
        for _ in 0..gpus {
            drivers.push(Emulator::new(check_where_named)?);
        }
        let all = Gpus::new(drivers, &switches, off()).expect("GPUs");
        let one = |(gpus, library): (Gpus, &Arc<_>)| {
            let target = Target::Gpu(gpus);
            let sessions = processes.iter().map(|process| {
                let card = process.model.default_card();
                let bridge =
                    Bridge::with_target(target.clone(), process.clone(), &card, &switches, 1);
                let sampler = bridge.expect("a bridge").device_sampler();
                Arc::new(sampler.expect("samples")) as Arc<dyn DeviceSession>
            });
            Gpu::new(library, sessions.collect()).expect("a GPU")
        };
        Some(Run {
            last: processes.len() as u32 - 1,
            integrand,
            elements: vec![Elements::new(&mut bridges, false).expect("samplers")],
            gpus: weigher::SamplerGpus::new(all.each().map(one).collect(), Vec::new(), 2)
                .with_launches_of(launch),
        })
    }
}

fn events<W: Weigh + ?Sized>(
    integrand: &Integrand,
    weigher: &mut W,
    count: u64,
) -> (Survey, Round) {
    let settings = SurveySettings {
        seed: 7,
        events: count,
        overweight: 0.01,
        precision: None,
    };
    let mut integrand = integrand.clone();
    let survey = survey(&mut integrand, &settings, weigher).expect("a survey");
    let round = round(&integrand, &survey, &settings, 0, count, weigher).expect("events");
    (survey, round)
}

fn close(a: f64, b: f64, what: &str) {
    assert!(
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
        "{what}: {a:e}, {b:e}"
    );
}

fn same(text: &str, cpu: &(Survey, Round), gpu: &(Survey, Round)) {
    assert_eq!(
        (&cpu.0.stay, cpu.0.points),
        (&gpu.0.stay, gpu.0.points),
        "{text}"
    );
    for (one, other) in cpu.0.sources.iter().zip(&gpu.0.sources) {
        close(one.sums.mean().mean, other.sums.mean().mean, text);
        close(one.sums.mean().error, other.sums.mean().error, text);
        close(one.sums.largest(), other.sums.largest(), text);
        let counts =
            |of: &mebridge_sampler::sums::WeightSums| [of.points(), of.passed(), of.unusable()];
        assert_eq!(counts(&one.sums), counts(&other.sums), "{text}");
        for dimension in 0..one.grid.dimensions() {
            for (a, b) in one
                .grid
                .edges(dimension)
                .iter()
                .zip(other.grid.edges(dimension))
            {
                close(*a, *b, text);
            }
        }
        for (a, b) in one.chances.iter().zip(&other.chances) {
            close(*a, *b, text);
        }
    }
    assert_eq!(
        (&cpu.1.drawn, cpu.1.unusable),
        (&gpu.1.drawn, gpu.1.unusable),
        "{text}"
    );
    assert_eq!(cpu.1.events.len(), gpu.1.events.len(), "{text}");
    for (a, b) in cpu.1.events.iter().zip(gpu.1.events.iter()) {
        let names =
            |of: &mebridge_sampler::events::Event| (of.source, of.point, of.element, of.partons);
        assert_eq!(names(a), names(b), "{text}");
        assert_eq!(a.process, b.process, "{text}");
        let scale = a.momenta[0][0];
        for (a, b) in a
            .momenta
            .as_flattened()
            .iter()
            .zip(b.momenta.as_flattened())
        {
            assert!((a - b).abs() < 1e-9 * scale, "{text}: {a} {b}");
        }
        let numbers = |of: &mebridge_sampler::events::Event| {
            [&of.fractions[..], &of.scales, &[of.weight, of.alpha_s]].concat()
        };
        for (a, b) in numbers(a).into_iter().zip(numbers(b)) {
            close(a, b, text);
        }
    }
}

fn jets(codes: &[i32]) -> Vec<Window> {
    let jets = (2..codes.len()).filter(|&leg| codes[leg] == 21 || codes[leg].abs() < 6);
    let jets: Vec<usize> = jets.collect();
    let mut found = Vec::new();
    for (i, &jet) in jets.iter().enumerate() {
        let one = vec![vec![jet]];
        found.push(Window::new(Observable::Pt, one, 20.0, f64::INFINITY));
        for &other in &jets[i + 1..] {
            let both = vec![vec![jet], vec![other]];
            found.push(Window::new(Observable::Distance, both, 0.4, f64::INFINITY));
        }
    }
    found
}

/// Partons of 1 TeV, or protons of 13 TeV with densities made up.
fn common(protons: bool) -> Common {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("made_up_0000.dat");
    let codes = [-4, -3, -2, -1, 21, 1, 2, 3, 4];
    let x: Vec<f64> = (0..=100)
        .map(|i| 10f64.powf(-5.0 + f64::from(i) / 20.0))
        .collect();
    let lines = |numbers: &[f64]| {
        let words: Vec<String> = numbers.iter().map(|n| format!("{n:.12e}")).collect();
        words.join(" ")
    };
    let q = [5.0, 100.0, 1e5];
    let names = codes.map(|code| code.to_string()).join(" ");
    let mut text = format!(
        "PdfType: central\nFormat: lhagrid1\n---\n{}\n{}\n{names}\n",
        lines(&x),
        lines(&q)
    );
    for &x in &x {
        for q in q {
            let of = |code: i32| {
                let size = if code == 21 {
                    3.0
                } else {
                    0.4 / f64::from(code.abs())
                };
                size * x.powf(-0.2) * (1.0 - x).powi(5) * (1.0 + 0.01 * f64::ln(q))
            };
            text += &lines(&codes.map(of));
            text.push('\n');
        }
    }
    std::fs::write(&file, text + "---\n").expect("a file");
    let beam = match protons {
        true => Beam::Densities {
            densities: Arc::new(Densities::open(&file).expect("a set")),
            anti: false,
        },
        false => Beam::Parton,
    };
    let table =
        StrongCoupling::new(&[5.0, 50.0, 500.0, 1e5], &[0.2, 0.14, 0.1, 0.07]).expect("a table");
    Common {
        energy: if protons { 13_000.0 } else { 1000.0 },
        rapidity: 0.0,
        beams: [beam.clone(), beam],
        running: RunningCoupling::Table(Arc::new(table)),
        scale: Scale {
            dynamical: Dynamical::HalfTransverseMass,
            factor: 1.0,
            renormalisation: None,
            factorisation: [None; 2],
        },
        clustering: None,
    }
}

#[test]
fn surveys_and_events_are_those_of_the_cpu() {
    for (text, protons, count) in [("g g > t t~", false, 300), ("p p > e+ ve j", true, 60)] {
        let common = common(protons);
        let Some(mut run) = Run::new(text, &common, 1, 5) else {
            return;
        };
        let cpu = events(&run.integrand, &mut run.elements, count);
        let gpu = events(&run.integrand, &mut run.gpus, count);
        same(text, &cpu, &gpu);
    }
}

/// Points have none of the vanishing matrix elements, also if the last one vanishes.
#[test]
fn what_vanishes_has_no_points() {
    let common = common(false);
    let Some(mut run) = Run::with("e+ e- > j j", &common, 1, 5, true) else {
        return;
    };
    let cpu = events(&run.integrand, &mut run.elements, 100);
    let gpu = events(&run.integrand, &mut run.gpus, 100);
    same("e+ e- > j j", &cpu, &gpu);
    assert!(gpu.1.events.iter().all(|event| event.element != run.last));
}

/// Not even the last bit depends on the number of GPUs.
#[test]
fn two_gpus_share_a_run() {
    let common = common(false);
    let found = [1, 2].map(|gpus| {
        let mut run = Run::new("g g > t t~", &common, gpus, 3)?;
        Some(events(&run.integrand, &mut run.gpus, 200))
    });
    let [Some((survey, round)), Some((others, other))] = found else {
        return;
    };
    assert_eq!(survey, others);
    assert_eq!(round.events, other.events);
}

/// Records are the same, with the helicities, colour flows and diagrams that GPUs choose.
#[test]
fn records_are_those_of_the_cpu() {
    // Generated code replaces tables when it is ready.
    same_records(
        "g g > t t~",
        ColorTreatment::Full,
        &Switches::default(),
        true,
    );
}

/// The same where threads work until the kernels are compiled, and a GPU after that.
#[test]
fn records_of_threads_and_then_a_gpu_are_those_of_the_cpu() {
    same_records(
        "g g > t t~",
        ColorTreatment::Full,
        &Switches::default(),
        false,
    );
}

/// The same where points are weighed by single colour flows: of one class, with gluons that come in where others go out;
/// and of several classes.
#[test]
fn records_at_leading_colour_are_those_of_the_cpu() {
    for text in ["g g > t t~ g", "u u~ > d d~ g"] {
        same_records(text, ColorTreatment::LeadingFirst, &switches(), true);
    }
}

fn same_records(text: &str, color: ColorTreatment, switches: &Switches, waits: bool) {
    let model = models::model(None).expect("the Standard Model");
    let processes = generate_with(text, &model).expect("a process");
    let common = common(false);
    let element = |process: &mebridge::Process| {
        let codes: Vec<i32> = process.legs.iter().map(|leg| leg.pdg).collect();
        ElementRequest {
            windows: jets(&codes),
            ..ElementRequest::default()
        }
    };
    let request = Request {
        color,
        ..Request::new(
            common.energy,
            common.scale,
            processes.iter().map(element).collect(),
        )
    };
    let Some(driver) = Emulator::new(check_where_named) else {
        return;
    };
    let gpus = Gpus::new(vec![driver], switches, off()).expect("GPUs");
    let [cpu, gpu] = [None, Some(&gpus)].map(|gpus| {
        let generator = EventGenerator::on_gpus(gpus, processes.clone(), &request, None, switches);
        let mut generator = generator.expect("a generator");
        assert_eq!(generator.by_threads(), None);
        let approximates = color != ColorTreatment::Full;
        assert_eq!(!generator.approximated().is_empty(), approximates);
        let settings = SurveySettings {
            seed: 3,
            events: 100,
            overweight: 0.01,
            precision: None,
        };
        if waits {
            generator.wait_for_gpus().expect("kernels");
        }
        generator.survey(&settings).expect("a survey");
        let mut text = Vec::new();
        for number in 0..2 {
            let made = generator.round(&settings, number).expect("events");
            let bytes = generator.bytes(&made);
            mebridge::lhe::push_events(&mut text, &bytes, made.particles, 1.0).expect("text");
            generator.wait_for_gpus().expect("kernels");
        }
        let parts = generator.seconds();
        let is_on_gpu = parts.iter().any(|(name, _)| *name == "answers read");
        assert_eq!(is_on_gpu, gpus.is_some());
        String::from_utf8(text).expect("text")
    });
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let (cpu, gpu) = (words(&cpu), words(&gpu));
    assert_eq!(cpu.len(), gpu.len(), "{text}");
    for (a, b) in cpu.iter().zip(&gpu) {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            // Components of momenta that are nearly zero have larger relative differences.
            (Ok(x), Ok(y)) => assert!((x - y).abs() < 1e-7 * x.abs().max(1.0), "{text}: {a} {b}"),
            _ => assert_eq!(a, b, "{text}"),
        }
    }
}
