//! The engine on the emulated GPU, compared with the CPU's engine.

use super::color_ordered::{EVENTS, Points};
use mebridge::Error;
use mebridge::backend::{Kernel, Kernels};
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::events::{Answers, Events};
use mebridge::gpu::cuda::check_where_named;
use mebridge::gpu::driver::Driver;
use mebridge::gpu::{Gpus, check_samples};
use mebridge::import::import_directory;
use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Precision, Switches};
use mebridge::target::{CallSize, Target};
use mebridge_emulator::{Emulator, Log};
use std::sync::Arc;

use mebridge_testing::{self as common, worst};

pub(super) struct Outcome {
    pub(super) matrix_elements: Vec<f64>,
    pub(super) helicity: Vec<i32>,
    pub(super) color: Vec<i32>,
    pub(super) good: Option<usize>,
    pub(super) recursion: bool,
}

pub(super) fn run(bridge: &mut Bridge, events: &Events) -> Outcome {
    try_run(bridge, events).expect("run")
}

fn try_run(bridge: &mut Bridge, events: &Events) -> Result<Outcome, Error> {
    let nevt = events.g_s.len();
    let mut outcome = Outcome {
        matrix_elements: vec![0.0; nevt],
        helicity: vec![0; nevt],
        color: vec![0; nevt],
        good: None,
        recursion: false,
    };
    let mut answers = Answers {
        matrix_elements: &mut outcome.matrix_elements,
        helicity: &mut outcome.helicity,
        color: &mut outcome.color,
    };
    bridge.run(events, &mut answers)?;
    outcome.good = bridge.good_helicities();
    let serving = bridge.serving(events.channels.is_some());
    outcome.recursion = serving.expect("it has run").1;
    Ok(outcome)
}

/// The bits of |M|^2, helicities and colours.
pub(super) type Bits = (Vec<u64>, Vec<i32>, Vec<i32>);

/// Runs events, and returns the launches.
pub(super) fn run_logged(gpu: &Emulator, bridge: &mut Bridge, events: &Events) -> (Bits, Log) {
    gpu.take_log();
    let outcome = run(bridge, events);
    let bits = outcome.matrix_elements.iter().map(|x| x.to_bits());
    let bits = (bits.collect(), outcome.helicity, outcome.color);
    (bits, gpu.take_log())
}

/// The CPU's bridge and that of the GPU.
fn bridges(
    gpu: &Arc<Emulator>,
    process: &Process,
    precision: Precision,
    by_helicities: bool,
) -> [Bridge; 2] {
    bridges_with(gpu, process, precision, by_helicities, Switches::default())
}

/// The same with more switches.
pub(super) fn bridges_with(
    gpu: &Arc<Emulator>,
    process: &Process,
    precision: Precision,
    by_helicities: bool,
    switches: Switches,
) -> [Bridge; 2] {
    let switches = Switches {
        precision,
        backend: BackendChoice::Cpu,
        ..switches
    };
    let card = process.model.default_card();
    let driver: Arc<dyn Driver> = gpu.clone();
    let gpus = Gpus::new(vec![driver], &switches, Cache::default()).expect("a GPU");
    let gpus = match by_helicities {
        true => gpus.by_helicities(),
        false => gpus,
    };
    let on = |machine| {
        Bridge::with_target(machine, process.clone(), &card, &switches, 64).expect("bridge")
    };
    let cpu = Target::choose(&switches, CallSize::new(process, 64)).expect("a CPU");
    [on(cpu), on(Target::Gpu(gpus))]
}

/// The kernels that a bridge reports must be those that run.
fn kernels(bridge: &Bridge, channels: bool) -> Vec<String> {
    let kernels = bridge.kernels(channels).expect("kernels");
    let names: Vec<String> = kernels.each.iter().map(|k| k.name.clone()).collect();
    let has = |name: &str| names.iter().any(|n| n == name);
    let of_helicities = usize::from(has("helicities")) + usize::from(has("helicity"));
    let tables = has("load") && of_helicities == 1 && has("answer");
    assert!(tables != (names[0] == "generated"), "{names:?}");
    let sound = |k: &Kernel| k.launches > 0 && k.blocks > 0 && k.threads > 0;
    assert!(kernels.each.iter().all(sound), "{kernels:?}");
    assert!(!tables || kernels.bytes > 4 * 32);
    names
}

#[test]
fn real_processes_agree_with_the_cpu() {
    compare(false);
}

/// Diagrams and recursion, all kinds of amplitudes, by the generated kernel of a helicity.
#[test]
fn real_processes_by_helicities_agree_with_the_cpu() {
    compare(true);
}

/// Small real processes, one of each family, because compiling is slow. `MEBRIDGE_TEST_PROCESS` names
/// others, by a part of their names.
const FEW: [&str; 6] = [
    "ee_mumu.",
    "gg_tt.P1",
    "gq_ttq.P1_gu_",
    "heft_gg_bb.",
    "nobm_pp_ttW.P0_dux",
    "susy_gg_t1t1.",
];

fn compare(by_helicities: bool) {
    let Some(references) = common::references() else {
        return;
    };
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let only = std::env::var("MEBRIDGE_TEST_PROCESS").ok();
    let wanted = |r: &&common::Reference| match &only {
        Some(only) => r.name.contains(only),
        None => FEW.iter().any(|few| r.name.starts_with(few)),
    };
    let cases = references.iter().filter(wanted).collect();
    let mut plans = [false; 2];
    for r in common::require::cases("of these names", cases) {
        let process = import_directory(&r.directory).expect("import").remove(0);
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            let tolerance = match precision {
                Precision::Double => 1e-12,
                Precision::Mixed => 1e-5,
                Precision::Float => 2e-3,
            };
            let [mut cpu, mut on_gpu] = bridges(&gpu, &process, precision, by_helicities);
            // The second time with generated code, if there is any.
            let calls = [(37, false), (37, true), (1, true), (37, false), (36, true)];
            for (nevt, channels) in calls {
                let events = r.events(channels).first(nevt);
                let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
                on_gpu.wait_for_compiler();
                let by = worst(&a.matrix_elements, &b.matrix_elements);
                println!(
                    "{} {precision:?} {channels} {by:.1e} recursion {}",
                    r.name, a.recursion
                );
                plans[usize::from(a.recursion)] = true;
                assert!(by < tolerance, "{}: {by:e}", r.name);
                assert_eq!(a.good, b.good, "{}", r.name);
                let names = kernels(&on_gpu, channels);
                if by_helicities {
                    assert!(names.iter().any(|n| n == "helicity"), "{names:?}");
                }
                assert_eq!(cpu.kernels(channels).expect("none"), Kernels::default());
                if precision == Precision::Double {
                    assert_eq!(a.helicity, b.helicity, "{}", r.name);
                    assert_eq!(a.color, b.color, "{}", r.name);
                }
            }
        }
    }
    assert!(
        only.is_some() || plans == [true; 2],
        "diagrams and recursions"
    );
}

/// Diagrams that are cut between their quark lines, with factors for each chirality, by tables and by the generated kernel
/// of a helicity; and a process so small that code for all of its diagrams is faster.
#[test]
fn two_quark_lines_agree_with_the_cpu() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    for (text, cut) in [("u u > e+ e- u u g", true), ("u u~ > e+ e- d d~", false)] {
        let process = mebridge::generate(text).expect(text).remove(0);
        let points = Points::new(&process);
        let [mut cpu, mut on_gpu] = bridges(&gpu, &process, Precision::Double, false);
        for channels in [false, true] {
            for nevt in [EVENTS, 1, EVENTS] {
                let events = points.events(channels).first(nevt);
                let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
                on_gpu.wait_for_compiler();
                let by = worst(&a.matrix_elements, &b.matrix_elements);
                println!("{text} {channels} {by:.1e} recursion {}", a.recursion);
                assert!(by < 1e-12, "{text}: {by:e}");
                assert_eq!((a.helicity, a.color), (b.helicity, b.color), "{text}");
                assert_eq!((a.good, a.recursion), (b.good, cut), "{text}");
            }
        }
        let kernels = on_gpu.kernels(false).expect("kernels").each;
        let of_helicity = kernels.iter().any(|kernel| kernel.name == "helicity");
        assert_eq!(of_helicity, cut, "{kernels:?}");
    }
}

/// One kernel for all operations before amplitudes or loops gives the answers of the launches that it replaces.
#[test]
fn levels_in_shared_memory_are_those_of_launches() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    for (text, precision, by_helicity) in [
        ("u u~ > t t~ g", Precision::Double, true),
        ("u u~ > t t~ g", Precision::Float, true),
        ("g g > g g g", Precision::Double, false),
    ] {
        let process = mebridge::generate(text).expect(text).remove(0);
        let points = Points::new(&process);
        let tables = Switches {
            gpu_group: Some(0),
            ..Switches::default()
        };
        let [_, mut launches] = bridges_with(&gpu, &process, precision, false, tables);
        // Without code for subsets of helicities, which would take the place of levels.
        let [_, mut levels] = bridges(&gpu, &process, precision, by_helicity);
        for channels in [false, true] {
            let all = points.events(channels && by_helicity);
            run(&mut levels, &all);
            levels.wait_for_compiler();
            for nevt in [EVENTS, 1] {
                let events = all.first(nevt);
                let (a, b) = (run(&mut levels, &events), run(&mut launches, &events));
                let by = worst(&a.matrix_elements, &b.matrix_elements);
                assert!(
                    by < if precision == Precision::Double {
                        1e-14
                    } else {
                        1e-5
                    },
                    "{text}: {by:e}"
                );
                assert_eq!((a.helicity, a.color), (b.helicity, b.color), "{text}");
            }
            let names = |bridge: &Bridge| {
                let kernels = bridge.kernels(channels && by_helicity).expect("kernels");
                kernels
                    .each
                    .into_iter()
                    .map(|kernel| kernel.name)
                    .collect::<Vec<_>>()
            };
            let [one, many] = [names(&levels), names(&launches)];
            let of = |start: &str| one.iter().filter(|name| name.starts_with(start)).count();
            assert_eq!((of("levels"), of("run_")), (1, 0), "{text}: {one:?}");
            assert_eq!(of("helicity"), usize::from(by_helicity), "{text}: {one:?}");
            assert!(
                many.iter().any(|name| name.starts_with("run_")),
                "{text}: {many:?}"
            );
        }
    }
}

/// Momenta of phi phi > phi phi, at most 90 events.
fn scalars(nevt: usize) -> Vec<f64> {
    let (e, m) = (500.0f64, 125.0f64);
    let p = (e * e - m * m).sqrt();
    let event = |event| {
        let cosine = 0.9 - 0.02 * event as f64;
        let (x, z) = (p * (1.0 - cosine * cosine).sqrt(), p * cosine);
        [
            e, 0.0, 0.0, p, e, 0.0, 0.0, -p, e, x, 0.0, z, e, -x, 0.0, -z,
        ]
    };
    (0..nevt).flat_map(event).collect()
}

/// By tables and by generated code.
#[test]
fn momenta_that_are_not_conserved_are_refused() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let process = mebridge::process::example::scalars();
    let nevt = 40;
    let half = vec![0.5; nevt];
    let mut momenta = scalars(nevt);
    momenta.swap(33 * 16 + 13, 33 * 16 + 15);
    for precision in [Precision::Double, Precision::Float] {
        let [_, mut on_gpu] = bridges(&gpu, &process, precision, false);
        for generated in [false, true] {
            let events = Events {
                momenta: &momenta,
                g_s: &half,
                random_helicity: &half,
                random_color: &half,
                channels: None,
                igraph: None,
            };
            let mut answers = Answers {
                matrix_elements: &mut vec![0.0; nevt],
                helicity: &mut vec![0; nevt],
                color: &mut vec![0; nevt],
            };
            let error = on_gpu.run(&events, &mut answers).unwrap_err();
            let named = matches!(error, mebridge::Error::NotConserved { event: 33, .. });
            assert!(named, "generated {generated}: {error}");
            let events = Events {
                momenta: &scalars(nevt),
                ..events
            };
            run(&mut on_gpu, &events);
            on_gpu.wait_for_compiler();
        }
    }
}

/// Couplings that are not polynomials in G are computed on the host and copied, for each chunk. (The emulator checks
/// that they stay valid until they have been read.)
#[test]
fn couplings_that_are_given_are_those_of_the_cpu() {
    use mebridge::process::arith::{Builder, Function, Op};
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let mut process = mebridge::process::example::scalars();
    let mut builder = Builder::new(2);
    let (mass, g) = (builder.input(0), builder.input(1));
    let i = builder.complex(0.0, 1.0);
    let root = builder.push(Op::Call(Function::RealSqrt, g));
    let coupling = builder.push(Op::Mul(i, root));
    process.model.program = builder.finish();
    process.model.parameters[0].value = mass;
    process.model.couplings[0].value = coupling;
    let nevt = 70;
    let momenta = scalars(nevt);
    let g_s: Vec<f64> = (0..nevt).map(|event| 1.0 + 0.01 * event as f64).collect();
    let half = vec![0.5; nevt];
    let events = Events {
        momenta: &momenta,
        g_s: &g_s,
        random_helicity: &half,
        random_color: &half,
        channels: None,
        igraph: None,
    };
    let [mut cpu, mut on_gpu] = bridges(&gpu, &process, Precision::Double, false);
    for _ in 0..2 {
        let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
        assert!(worst(&a.matrix_elements, &b.matrix_elements) < 1e-12);
        on_gpu.wait_for_compiler();
    }
    // The host does not see alpha_s of a sample: refused when such a library is made, and when it is used.
    let requested = check_samples(&process).expect_err("refused").to_string();
    let name = &process.model.couplings[0].name;
    assert!(
        requested.contains(&format!("{name} of `{}`", process.name)),
        "{requested}"
    );
    let used = on_gpu.device_sampler().err().expect("refused").to_string();
    assert!(used.contains("no polynomials"), "{used}");
    check_samples(&mebridge::process::example::scalars()).expect("a polynomial");
}

/// Whatever fails in a call, copies to the caller's arrays have ended when it returns, and no recording is leaked.
#[test]
fn a_panic_leaves_no_copies_under_way() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let process = mebridge::process::example::scalars();
    let nevt = 3;
    let (momenta, ones) = (scalars(nevt), vec![0.5; nevt]);
    let events = Events {
        momenta: &momenta,
        g_s: &ones,
        random_helicity: &ones,
        random_color: &ones,
        channels: None,
        igraph: None,
    };
    for graphs in [false, true] {
        let switches = Switches {
            gpu_graphs: Some(graphs),
            gpu_group: Some(0),
            ..Switches::default()
        };
        let [_, mut bridge] = bridges_with(&gpu, &process, Precision::Double, false, switches);
        bridge.prepare(&events).expect("good momenta");
        for launches in 0..3 {
            gpu.panic_after(launches);
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                run(&mut bridge, &events);
            }));
            assert!(panicked.is_err(), "{launches} launches are all there are");
            assert!(gpu.is_idle(), "after {launches} launches, graphs {graphs}");
        }
        run(&mut bridge, &events);
        assert_eq!(gpu.kept_graphs(), usize::from(graphs));
        drop(bridge);
        assert_eq!(gpu.kept_graphs(), 0);
    }
}

/// Generated code is compared where the tables are right, whatever comes first: here a quark that goes on along
/// the beam, so that a propagator is infinite and the event is refused.
#[test]
fn generated_code_is_not_judged_by_the_first_events() {
    let Some(references) = common::references() else {
        return;
    };
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let Some(r) = common::one_of(&references, "gq_ttq.P1_gu_ttxu") else {
        return;
    };
    let process = import_directory(&r.directory).expect("import").remove(0);
    let (mass, out) = (173.0f64, 30.0);
    let top = |x: f64, z: f64| [(mass * mass + x * x + z * z).sqrt(), x, 0.0, z];
    let tops = [top(200.0, 80.0), top(-200.0, -50.0)];
    let beam = (tops[0][0] + tops[1][0] + out) / 2.0;
    let beams = [[beam, 0.0, 0.0, beam], [beam, 0.0, 0.0, -beam]];
    let singular = [beams[0], beams[1], tops[0], tops[1], [out, 0.0, 0.0, -out]].concat();
    let first = Events {
        momenta: &singular,
        ..r.events(false).first(1)
    };
    let ordinary = r.events(false);
    let names = |first: &Events, is_refused: bool| {
        let [_, mut on_gpu] = bridges(&gpu, &process, Precision::Double, false);
        let mut run_first = || {
            let refused = matches!(try_run(&mut on_gpu, first), Err(Error::NotFinite { .. }));
            assert_eq!(refused, is_refused);
            on_gpu.wait_for_compiler();
        };
        run_first();
        run_first();
        run_logged(&gpu, &mut on_gpu, &ordinary).1.launches
    };
    let expected = names(&ordinary, false);
    assert!(
        expected.iter().all(|(name, _)| name != "load"),
        "{expected:?}"
    );
    assert_eq!(names(&first, true), expected);
}

/// The colour sum by products of matrices, in one batch of helicities and, with little memory, in
/// several; launches recorded or not.
#[test]
fn colour_sums_by_matrix_products_agree_with_the_cpu() {
    let Some(references) = common::references() else {
        return;
    };
    let names = [
        "gg_tt.P1_gg_ttx",
        "gq_ttq.P1_gu_ttxu",
        "gg_ttgg.P1_gg_ttxgg",
    ];
    let cases = references.iter().filter(|r| names.contains(&&*r.name));
    let cases = common::require::cases(names.join(", "), cases.collect());
    for (memory, batches) in [(1 << 30, false), (16 << 20, true)] {
        for &r in &cases {
            let many = r.name.contains("ttgg");
            if batches && !many {
                continue;
            }
            let process = import_directory(&r.directory).expect("import").remove(0);
            let all = |channels| r.events(channels);
            // Of many diagrams one of both, as it takes its time: launches do not depend on the precision.
            for (precision, tolerance, ways) in [
                (
                    Precision::Double,
                    1e-12,
                    &[false, true][usize::from(many)..],
                ),
                (
                    Precision::Mixed,
                    1e-5,
                    &[false, true][..2 - usize::from(many)],
                ),
                (Precision::Float, 2e-3, &[false, true][usize::from(many)..]),
            ] {
                for &graphs in ways {
                    let Some(gpu) = Emulator::with_memory(memory, check_where_named) else {
                        return;
                    };
                    let switches = Switches {
                        blas_color_sum: Some(true),
                        gpu_graphs: Some(graphs),
                        ..Switches::default()
                    };
                    let [mut cpu, mut on_gpu] =
                        bridges_with(&gpu, &process, precision, false, switches);
                    for (nevt, channels) in [(37, false), (64, true), (1, true), (37, false)] {
                        let events = all(channels).first(nevt);
                        let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
                        let by = worst(&a.matrix_elements, &b.matrix_elements);
                        println!("{} {precision:?} {channels} {by:.1e}", r.name);
                        assert!(by < tolerance, "{}: {by:e}", r.name);
                        assert_eq!(a.good, b.good, "{}", r.name);
                        if precision == Precision::Double {
                            assert_eq!(a.helicity, b.helicity, "{}", r.name);
                            assert_eq!(a.color, b.color, "{}", r.name);
                        }
                        kernels(&on_gpu, channels);
                        let each = on_gpu.kernels(channels).expect("kernels").each;
                        assert!(each.iter().any(|kernel| kernel.name == "color_dots"));
                    }
                }
            }
        }
    }
}

/// Momenta of this number of events.
fn points(bridge: &Bridge, nevt: usize) -> Vec<f64> {
    let masses = bridge.masses();
    let space = PhaseSpace::new(1000.0, &masses[..2], &masses[2..]).expect("phase space");
    let mut momenta = vec![0.0; space.components() * nevt];
    for (event, momenta) in momenta.chunks_mut(space.components()).enumerate() {
        let random = (0..space.randoms()).map(|i| (7 * event + 5 * i) % nevt);
        let random: Vec<f64> = random.map(|n| (n as f64 + 0.5) / nevt as f64).collect();
        space.event(&random, momenta);
    }
    momenta
}

/// Between the question how much memory is free and its allocation others may take it: chunks are smaller then.
#[test]
fn memory_that_others_take_makes_chunks_smaller() {
    let Some(gpu) = Emulator::with_memory(64 << 20, check_where_named) else {
        return;
    };
    let process = mebridge::generate("g g > t t~").expect("process").remove(0);
    let switches = Switches {
        gpu_group: Some(0),
        ..Switches::default()
    };
    let nevt = 900;
    let [mut cpu, mut on_gpu] = bridges_with(&gpu, &process, Precision::Double, false, switches);
    let numbers = vec![0.4; nevt];
    let momenta = points(&on_gpu, nevt);
    let events = Events {
        momenta: &momenta,
        g_s: &vec![1.2; nevt],
        random_helicity: &numbers,
        random_color: &numbers,
        channels: None,
        igraph: None,
    };
    let right = run(&mut cpu, &events).matrix_elements;
    // A first call allocates the permanent memory of a bridge, and the smallest chunk.
    run(&mut on_gpu, &events.first(1));
    let driver: Arc<dyn Driver> = gpu.clone();
    let (free, _) = driver.memory().expect("memory");
    let mut chunks = |others: usize| {
        gpu.taken_by_others(others);
        gpu.take_log();
        let answer = run(&mut on_gpu, &events).matrix_elements;
        assert!(worst(&answer, &right) < 1e-12, "{others} of {free} bytes");
        let launches = gpu.take_log().launches;
        launches.iter().filter(|(name, _)| name == "load").count()
    };
    let by_others = [free, free - (1 << 20), 0].map(&mut chunks);
    assert!(by_others.is_sorted_by(|a, b| a > b), "{by_others:?} chunks");
}

/// What a call costs on the CPU's side is its calls of the driver: a call that has been made before makes these, and
/// none more.
#[test]
fn a_steady_call_asks_the_driver_for_what_it_needs() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let process = mebridge::generate("g g > t t~").expect("process").remove(0);
    let card = process.model.default_card();
    let driver: Arc<dyn Driver> = gpu.clone();
    let nevt = 37;
    let (g_s, random, channel) = (vec![1.2; nevt], vec![0.4; nevt], vec![1; nevt]);
    for (by_tables, work) in [(true, "launch_graph"), (false, "launch")] {
        let switches = Switches {
            gpu_group: by_tables.then_some(0),
            ..Switches::default()
        };
        let gpus = Gpus::new(vec![driver.clone()], &switches, Cache::default()).expect("a GPU");
        let bridge = Bridge::with_target(Target::Gpu(gpus), process.clone(), &card, &switches, 64);
        let mut bridge = bridge.expect("bridge");
        let momenta = points(&bridge, nevt);
        for channels in [false, true] {
            let events = Events {
                momenta: &momenta,
                g_s: &g_s,
                random_helicity: &random,
                random_color: &random,
                channels: channels.then_some(&channel),
                igraph: None,
            };
            run(&mut bridge, &events);
            bridge.wait_for_compiler();
            run(&mut bridge, &events);
            let (_, log) = run_logged(&gpu, &mut bridge, &events);
            // Momenta, couplings, two random numbers and channels; |M|^2, helicity, colour and what is wrong.
            let expected = [
                ("download", 4),
                ("fill", 1),
                (work, 1),
                ("synchronize", 1),
                ("upload", 4 + usize::from(channels)),
            ];
            let calls: Vec<_> = log.calls.into_iter().collect();
            assert_eq!(calls, expected, "{work}, channels: {channels}");
        }
    }
}
