//! Plans of loops on the emulated GPU, compared with the CPU's engine.

use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::error::Error;
use mebridge::events::{Answers, Events};
use mebridge::generate;
use mebridge::gpu::Gpus;
use mebridge::gpu::cuda::check_where_named;
use mebridge::gpu::driver::Driver;
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::process::Process;
use mebridge::process::color_ordered::FlowTerm;
use mebridge::random::SplitMix64;
use mebridge::runtime::{BackendChoice, Precision, Switches};
use mebridge::target::{CallSize, Target};
use mebridge_emulator::Emulator;
use mebridge_testing::worst;
use std::sync::Arc;

/// Events of a call.
pub(super) const EVENTS: usize = 37;

/// A process in its colour-ordered form, although diagrams may serve it better.
fn ordered(text: &str) -> Process {
    let process = generate(text).expect("generated").remove(0);
    process.as_color_ordered().expect("a colour-ordered form")
}

/// Events, with a random configuration each: none, or one that allows some colour flows.
pub(super) struct Points {
    momenta: Vec<f64>,
    numbers: Vec<f64>,
    igraph: Vec<i32>,
}

impl Points {
    pub(super) fn new(process: &Process) -> Points {
        let card = process.model.default_card();
        let binding = Binding::new(&process.model, &card).expect("binding");
        let masses = |incoming| binding.masses(&process.legs, incoming);
        let space = PhaseSpace::new(1500.0, &masses(true), &masses(false)).expect("phase space");
        let mut random = SplitMix64::new(7);
        let mut momenta = vec![0.0; EVENTS * process.legs.len() * 4];
        for event in momenta.chunks_exact_mut(4 * process.legs.len()) {
            let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.number()).collect();
            space.event(&numbers, event);
        }
        let configurations = process.channels.config_diagram.len() as f64;
        Points {
            momenta,
            numbers: (0..EVENTS).map(|_| random.number()).collect(),
            igraph: (0..EVENTS)
                .map(|_| random.between(0.0, configurations + 1.0) as i32)
                .collect(),
        }
    }

    pub(super) fn events(&self, igraph: bool) -> Events<'_> {
        Events {
            momenta: &self.momenta,
            g_s: &self.numbers,
            random_helicity: &self.numbers,
            random_color: &self.numbers,
            channels: None,
            igraph: igraph.then_some(&self.igraph),
        }
    }
}

fn bridges(gpu: &Arc<Emulator>, process: &Process, precision: Precision) -> [Bridge; 2] {
    let switches = Switches {
        precision,
        backend: BackendChoice::Cpu,
        ..Switches::default()
    };
    let card = process.model.default_card();
    let driver: Arc<dyn Driver> = gpu.clone();
    let gpus = Gpus::new(vec![driver], &switches, Cache::default()).expect("a GPU");
    let on = |target| {
        Bridge::with_target(target, process.clone(), &card, &switches, 64).expect("bridge")
    };
    let cpu = Target::choose(&switches, CallSize::new(process, 64)).expect("a CPU");
    [on(cpu), on(Target::Gpu(gpus))]
}

fn run(bridge: &mut Bridge, events: &Events) -> (Vec<f64>, Vec<i32>, Vec<i32>) {
    let nevt = events.g_s.len();
    let mut answers = (vec![0.0; nevt], vec![0; nevt], vec![0; nevt]);
    let mut into = Answers {
        matrix_elements: &mut answers.0,
        helicity: &mut answers.1,
        color: &mut answers.2,
    };
    bridge.run(events, &mut into).expect("answers");
    answers
}

/// |M|^2 and all choices are those of the CPU. Returns the number of launches of kernels with a colour sum in one call.
fn compare(gpu: &Arc<Emulator>, text: &str, precision: Precision, tolerance: f64) -> usize {
    agree(gpu, &ordered(text), precision, tolerance)
}

fn agree(gpu: &Arc<Emulator>, process: &Process, precision: Precision, tolerance: f64) -> usize {
    let text = &process.name;
    let points = Points::new(process);
    let [mut cpu, mut on_gpu] = bridges(gpu, process, precision);
    for (nevt, igraph) in [(EVENTS, false), (EVENTS, true), (1, true), (EVENTS, false)] {
        let events = points.events(igraph).first(nevt);
        let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
        let by = worst(&a.0, &b.0);
        println!("{text} {precision:?} {igraph} {by:.1e}");
        assert!(by < tolerance, "{text} {precision:?}: {by:e}");
        assert_eq!(on_gpu.good_helicities(), cpu.good_helicities(), "{text}");
        if precision == Precision::Double {
            assert_eq!((a.1, a.2), (b.1, b.2), "{text}");
        }
    }
    let kernels = on_gpu.kernels(false).expect("kernels").each;
    let launches = |name: &str| kernels.iter().find(|k| k.name == name).map(|k| k.launches);
    assert!(launches("load").is_some() && launches("answer").is_some());
    let sums = ["color_ordered_sum", "few_color_sums", "array_loops"];
    sums.into_iter().find_map(launches).expect("a colour sum")
}

/// Gluons only, and heavy and light quark lines, incoming, outgoing and from in to out, with a boson or a pair of leptons;
/// one to four insertions.
#[test]
fn colour_ordered_forms_agree_with_the_cpu() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    for text in [
        "g g > g g",
        "g g > g g g",
        "g t > g t",
        "g g > t t~",
        "g g > t t~ g g",
        "u u~ > g g g",
        "u~ g > u~ g g",
        "d d~ > z g",
        "g d > w- u g",
        "u~ g > a u~ g g",
        "d d~ > z g g g g",
        "u u~ > e+ e- g",
        "g u > e+ e- u g g",
        "d~ u > e+ ve g g",
    ] {
        compare(&gpu, text, Precision::Double, 1e-12);
        compare(&gpu, text, Precision::Float, 2e-3);
    }
    // The CPU sums over colours in single precision then, and a GPU runs the code of double precision.
    for text in ["g g > g g g", "u u~ > g g g", "g u > e+ e- u g g"] {
        compare(&gpu, text, Precision::Mixed, 1e-5);
    }
}

/// Colour flows in another order than JAMPs, with signs, as imported processes may have them.
#[test]
fn flows_in_any_order_agree_with_the_cpu() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let mut process = ordered("u u~ > g g g");
    let form = process.amplitudes.color_ordered_mut().expect("a form");
    let flow = |i: u32| FlowTerm {
        jamp: (5 * i + 1) % 6,
        minus: i % 3 == 1,
    };
    form.flows = (0..6).map(|i| vec![flow(i)]).collect();
    agree(&gpu, &process, Precision::Double, 1e-12);
}

/// On a GPU a process with diagrams is served by this form sooner than on a CPU; not in calls with channels.
#[test]
fn calls_without_channels_are_served() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    for (text, serves) in [
        ("g g > g g g", true),
        ("u u~ > e+ e- g g g", true),
        ("u u~ > e+ e- g g", false),
    ] {
        let process = generate(text).expect("generated").remove(0);
        let by_diagrams = process.as_diagrams().expect("diagrams");
        let points = Points::new(&process);
        let [mut cpu, _] = bridges(&gpu, &by_diagrams, Precision::Double);
        let [_, mut on_gpu] = bridges(&gpu, &process, Precision::Double);
        let (a, b) = (
            run(&mut on_gpu, &points.events(true)),
            run(&mut cpu, &points.events(true)),
        );
        assert!(worst(&a.0, &b.0) < 1e-12, "{text}");
        assert_eq!((a.1, a.2), (b.1, b.2), "{text}");
        let in_loops =
            |bridge: &Bridge| bridge.serving(false).is_some_and(|s| s.0.loops().is_some());
        assert_eq!(
            (in_loops(&on_gpu), in_loops(&cpu)),
            (serves, false),
            "{text}"
        );
        let kernels = on_gpu.kernels(false).expect("kernels").each;
        let whole = kernels.iter().any(|kernel| kernel.name == "array_loops");
        assert_eq!(whole, serves, "{text}");
    }
}

/// If a block of events with a single helicity does not fit, this is reported.
#[test]
fn too_little_memory_is_an_error() {
    let Some(gpu) = Emulator::with_memory(400 << 10, check_where_named) else {
        return;
    };
    let process = ordered("g g > t t~ g g");
    let points = Points::new(&process);
    let [_, mut on_gpu] = bridges(&gpu, &process, Precision::Double);
    let events = points.events(false);
    let nevt = events.g_s.len();
    let mut answers = Answers {
        matrix_elements: &mut vec![0.0; nevt],
        helicity: &mut vec![0; nevt],
        color: &mut vec![0; nevt],
    };
    let error = on_gpu.run(&events, &mut answers).expect_err("no room");
    let named = matches!(error, Error::GpuMemory { .. } | Error::Memory { .. });
    assert!(named, "{error}");
}

/// Colour sums of several stages, and rows of the matrix in several tiles.
#[test]
fn stages_agree_with_the_cpu() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let process = ordered("u u~ > g g g g g");
    let driver: Arc<dyn Driver> = gpu.clone();
    let switches = Switches {
        backend: BackendChoice::Cpu,
        ..Switches::default()
    };
    let card = process.model.default_card();
    let points = Points::new(&process);
    let mut answers = Vec::new();
    for stages in [false, true] {
        let gpus = Gpus::new(vec![driver.clone()], &switches, Cache::default()).expect("a GPU");
        let gpus = if stages { gpus.by_stages() } else { gpus };
        let target = Target::Gpu(gpus);
        let mut bridge =
            Bridge::with_target(target, process.clone(), &card, &switches, 64).expect("bridge");
        answers.push(run(&mut bridge, &points.events(true).first(3)));
    }
    let cpu = Target::choose(&switches, CallSize::new(&process, 64)).expect("a CPU");
    let mut cpu = Bridge::with_target(cpu, process.clone(), &card, &switches, 64).expect("bridge");
    let right = run(&mut cpu, &points.events(true).first(3));
    for answer in answers {
        assert!(worst(&answer.0, &right.0) < 1e-11);
        assert_eq!((&answer.1, &answer.2), (&right.1, &right.2));
    }
}

/// With little memory helicities are divided into runs, and events into chunks.
#[test]
fn runs_of_helicities_agree_with_the_cpu() {
    for (text, memory) in [
        ("g g > t t~ g g", 7 << 20),
        ("g g > g g g", 1 << 20),
        ("d d~ > z g g g", 1 << 20),
    ] {
        let Some(gpu) = Emulator::with_memory(memory, check_where_named) else {
            return;
        };
        let runs = compare(&gpu, text, Precision::Double, 1e-12);
        assert!(runs > 1, "{text}: {runs} runs");
    }
}
