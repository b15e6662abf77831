//! AMD's GPUs, tested without one: the whole host side, from the switch to the answers, on a substitute for
//! `libamdhip64`, `libhiprtc` and `libhipblas` (`crates/testing/src/hip/driver.cc`) with two GPUs and waves of 64.
//!
//! A program looks for a library only once, so each test is a separate program, started by `the_stand_in_serves`, and
//! by `machine_code_serves` if the substitute runs machine code of AMD's GPUs on an emulator.

#![cfg(target_os = "linux")]

use mebridge::Error;
use mebridge::bridge::Bridge;
use mebridge::events::{Answers, Events};
use mebridge::gpu::cuda::Platform;
use mebridge::gpu::likely_platform;
use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, CachePlace, Devices, Precision, Switches};
use mebridge_testing::worst;
use std::path::Path;
use std::process::Command;

const EVENTS: usize = 150;

/// Runs the others, each in a separate program.
#[test]
fn the_stand_in_serves() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(place) = mebridge_testing::hip::stand_in(folder.path()) else {
        return;
    };
    let run = |tests: &[&str]| {
        for test in tests {
            start(test, &place, |_| ());
        }
    };
    // Side by side, those behind each other that compile the same.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            run(&[
                "it_is_chosen",
                "whatever_call_fails_nothing_is_left",
                "colour_ordered_forms_are_those_of_the_cpu",
            ]);
        });
        run(&[
            "answers_are_those_of_the_cpu",
            "colour_sums_by_hipblas_are_those_of_the_cpu",
            "two_gpus_share_events",
        ]);
    });
}

/// The same answers from machine code for waves of 32 and of 64, by clang and an emulator of the instruction set: code
/// for the CPU says nothing of either.
#[test]
fn machine_code_serves() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    mebridge_testing::hip::on_machine_code(folder.path(), kept, |gpu, place, more| {
        for test in [
            "machine_code_gives_the_answers_of_the_cpu",
            "machine_code_of_many_diagrams_gives_the_answers_of_the_cpu",
            "machine_code_of_colour_ordered_forms_gives_the_answers_of_the_cpu",
        ] {
            let found = start(test, place, more);
            for line in found.lines().filter(|line| line.starts_with("worst")) {
                println!("{gpu}: {line}");
            }
        }
    });
}

/// Runs a test in a separate program, on the substitute; returns its output.
fn start(test: &str, place: &Path, more: impl Fn(&mut Command)) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CUDACPP_") {
            command.env_remove(name);
        }
    }
    command
        .args(["--ignored", "--exact", test, "--nocapture"])
        .env("MEBRIDGE_HIP", place)
        .env("STAND_IN_CACHE", place.join("cache"));
    more(&mut command);
    let output = command.output().expect("this program");
    let found = [output.stdout, output.stderr];
    let found = found.map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        output.status.success(),
        "{test}: {}\n{}",
        found[0],
        found[1]
    );
    assert!(found[0].contains("1 passed"), "{test}: {}", found[0]);
    let [found, _] = found;
    found
}

/// The control interface of the substitute.
struct StandIn(libloading::Library);

impl StandIn {
    fn get() -> StandIn {
        let folder = std::env::var_os("MEBRIDGE_HIP").expect("a folder");
        let path = std::path::Path::new(&folder).join("libamdhip64.so.6");
        // SAFETY: it is the substitute, which is loaded already or will be.
        StandIn(unsafe { libloading::Library::new(path) }.expect("the stand-in"))
    }

    fn number(&self, name: &str) -> usize {
        // SAFETY: all functions that are looked up here have this type.
        unsafe {
            self.0
                .get::<unsafe extern "C" fn() -> usize>(name)
                .expect("a function")()
        }
    }

    /// Makes the call after `after` further ones fail; none if `after` is negative.
    fn fail(&self, after: i64) {
        // SAFETY: the type of the function.
        unsafe {
            self.0
                .get::<unsafe extern "C" fn(i64)>("stand_in_fail")
                .expect("a function")(after)
        }
    }

    /// The same of calls of hipBLAS.
    fn fail_blas(&self, after: i64) {
        // SAFETY: the type of the function.
        unsafe {
            self.0
                .get::<unsafe extern "C" fn(i64)>("stand_in_fail_blas")
                .expect("a function")(after)
        }
    }

    fn failed_call(&self) -> String {
        // SAFETY: the type of the function, which gives a constant text.
        unsafe {
            let name = self
                .0
                .get::<unsafe extern "C" fn() -> *const std::ffi::c_char>("stand_in_failed_call");
            std::ffi::CStr::from_ptr(name.expect("a function")())
                .to_string_lossy()
                .into_owned()
        }
    }

    fn has_failed(&self) -> bool {
        self.number("stand_in_has_failed") & 1 == 1
    }
}

fn process(text: &str) -> Process {
    mebridge::generate::generate(text)
        .expect("a process")
        .remove(0)
}

/// Events of a process.
struct Points {
    momenta: Vec<f64>,
    numbers: Vec<f64>,
    channels: Vec<i32>,
}

impl Points {
    fn new(process: &Process) -> Points {
        let masses: Vec<f64> = {
            let switches = switches(BackendChoice::Cpu);
            bridge(process, &switches).expect("a bridge").masses()
        };
        let masses: Vec<f64> = masses.into_iter().map(f64::abs).collect();
        let (a, b) = masses.split_at(2);
        let space = PhaseSpace::new(1500.0, a, b).expect("phase space");
        let mut next = 0u64;
        let mut random = || {
            next = next
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (next >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut momenta = vec![0.0; EVENTS * 4 * masses.len()];
        for event in momenta.chunks_mut(4 * masses.len()) {
            let randoms: Vec<f64> = (0..space.randoms()).map(|_| random()).collect();
            space.event(&randoms, event);
        }
        let diagrams: Vec<i32> = process
            .channels
            .amp2
            .iter()
            .map(|amp2| amp2.diagram as i32)
            .collect();
        Points {
            momenta,
            numbers: (0..EVENTS).map(|_| 0.1 + 0.8 * random()).collect(),
            channels: (0..EVENTS)
                .map(|i| {
                    diagrams
                        .get(i % diagrams.len().max(1))
                        .copied()
                        .unwrap_or(0)
                })
                .collect(),
        }
    }

    fn events(&self, channels: bool) -> Events<'_> {
        Events {
            momenta: &self.momenta,
            g_s: &self.numbers,
            random_helicity: &self.numbers,
            random_color: &self.numbers,
            channels: channels.then_some(&self.channels),
            igraph: None,
        }
    }
}

fn switches(backend: BackendChoice) -> Switches {
    Switches {
        backend,
        cache: CachePlace::Folder(std::env::var_os("STAND_IN_CACHE").expect("a folder").into()),
        ..Switches::default()
    }
}

fn bridge(process: &Process, switches: &Switches) -> Result<Bridge, Error> {
    let card = process.model.default_card();
    Bridge::new(process.clone(), &card, switches, EVENTS)
}

type Outcome = (Vec<f64>, Vec<i32>, Vec<i32>);

fn run(bridge: &mut Bridge, events: &Events) -> Result<Outcome, Error> {
    let mut answers = (vec![0.0; EVENTS], vec![0; EVENTS], vec![0; EVENTS]);
    let mut into = Answers {
        matrix_elements: &mut answers.0,
        helicity: &mut answers.1,
        color: &mut answers.2,
    };
    bridge.run(events, &mut into)?;
    Ok(answers)
}

/// All answers are those of the CPU, by tables and, once it is there, by generated code.
fn compare(process: &Process, precision: Precision, tolerance: f64, gpu: &Switches) {
    let points = Points::new(process);
    let of = |base: &Switches| Switches {
        precision,
        ..base.clone()
    };
    let mut on_gpu = bridge(process, &of(gpu)).expect("a GPU");
    let mut cpu = bridge(process, &of(&switches(BackendChoice::Cpu))).expect("a CPU");
    let mut most = 0f64;
    for channels in [false, true] {
        let events = points.events(channels && !process.channels.amp2.is_empty());
        let wanted = run(&mut cpu, &events).expect("answers");
        for generated in [false, true] {
            if generated {
                on_gpu.wait_for_compiler();
            }
            let got = run(&mut on_gpu, &events).expect("answers");
            let by = worst(&got.0, &wanted.0);
            most = most.max(by);
            assert!(
                by < tolerance,
                "{} {precision:?} {channels} {generated}: {by:e}",
                process.name
            );
            if precision == Precision::Double {
                assert_eq!(
                    (got.1, got.2),
                    (wanted.1.clone(), wanted.2.clone()),
                    "{}",
                    process.name
                );
            }
        }
    }
    println!("worst of {} in {precision:?}: {most:.1e}", process.name);
}

#[test]
#[ignore = "started by the_stand_in_serves"]
fn it_is_chosen() {
    let there = likely_platform();
    // Where there is an NVIDIA GPU, that comes first.
    if there == Some(Platform::Hip) {
        let auto = Switches {
            device: Devices::These(vec![0]),
            ..switches(BackendChoice::Auto)
        };
        assert!(
            bridge(&process("e+ e- > mu+ mu-"), &auto)
                .expect("a GPU")
                .level()
                .is_none()
        );
    }
    let hip = switches(BackendChoice::Hip);
    let on_gpu = bridge(&process("e+ e- > mu+ mu-"), &hip).expect("a GPU");
    assert_eq!(on_gpu.target().name(), "stand-in for MI200");
    assert_eq!(on_gpu.target().platform_name(), "hip");
    let none = Switches {
        device: Devices::These(vec![2]),
        ..hip.clone()
    };
    let error = bridge(&process("e+ e- > mu+ mu-"), &none)
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::NoSuchDevice {
                device: 2,
                devices: 2
            }
        ),
        "{error}"
    );
}

#[test]
#[ignore = "started by the_stand_in_serves"]
fn answers_are_those_of_the_cpu() {
    let hip = switches(BackendChoice::Hip);
    for text in [
        "e+ e- > mu+ mu-",
        "g g > t t~",
        "g g > t t~ g",
        "u u~ > w+ w-",
    ] {
        compare(&process(text), Precision::Double, 1e-11, &hip);
    }
    compare(&process("g g > t t~"), Precision::Float, 1e-3, &hip);
    let tables = Switches {
        gpu_group: Some(0),
        ..hip
    };
    compare(&process("g g > t t~ g"), Precision::Mixed, 1e-4, &tables);
}

#[test]
#[ignore = "started by the_stand_in_serves"]
fn colour_ordered_forms_are_those_of_the_cpu() {
    for text in ["g g > g g g", "u u~ > e+ e- g g g"] {
        let ordered = process(text).as_color_ordered().expect("a form");
        let hip = switches(BackendChoice::Hip);
        compare(&ordered, Precision::Double, 1e-11, &hip);
    }
}

#[test]
#[ignore = "started by machine_code_serves"]
fn machine_code_gives_the_answers_of_the_cpu() {
    let hip = switches(BackendChoice::Hip);
    for text in [
        "e+ e- > mu+ mu-",
        "g g > t t~",
        "u u~ > w+ w-",
        "g g > t t~ g",
    ] {
        compare(&process(text), Precision::Double, 1e-12, &hip);
    }
    for (precision, tolerance) in [(Precision::Float, 1e-3), (Precision::Mixed, 1e-4)] {
        compare(&process("g g > t t~"), precision, tolerance, &hip);
    }
    let blas = Switches {
        blas_color_sum: Some(true),
        ..hip
    };
    compare(&process("g g > t t~ g"), Precision::Double, 1e-12, &blas);
}

/// One of many diagrams, whose generated code has a helicity for each block.
#[test]
#[ignore = "started by machine_code_serves"]
fn machine_code_of_many_diagrams_gives_the_answers_of_the_cpu() {
    let hip = switches(BackendChoice::Hip);
    compare(&process("g g > t t~ g g"), Precision::Double, 1e-12, &hip);
}

/// Gluons alone, a line of quarks, and one with a pair of leptons: each kind of array.
#[test]
#[ignore = "started by machine_code_serves"]
fn machine_code_of_colour_ordered_forms_gives_the_answers_of_the_cpu() {
    let hip = switches(BackendChoice::Hip);
    for (text, precision, tolerance) in [
        ("g g > g g g", Precision::Double, 1e-12),
        ("g g > t t~ g", Precision::Double, 1e-12),
        ("g g > t t~ g", Precision::Float, 1e-3),
        ("u u~ > e+ e- g", Precision::Double, 1e-12),
    ] {
        let ordered = process(text).as_color_ordered().expect("a form");
        compare(&ordered, precision, tolerance, &hip);
    }
}

#[test]
#[ignore = "started by the_stand_in_serves"]
fn colour_sums_by_hipblas_are_those_of_the_cpu() {
    let blas = Switches {
        blas_color_sum: Some(true),
        ..switches(BackendChoice::Hip)
    };
    compare(&process("g g > t t~"), Precision::Double, 1e-11, &blas);
    compare(&process("g g > t t~ g"), Precision::Mixed, 1e-4, &blas);
    compare(&process("g g > t t~ g"), Precision::Float, 1e-3, &blas);
    let text = process("g g > t t~");
    let points = Points::new(&text);
    let answers = |switches: &Switches| {
        let mut bridge = bridge(&text, switches)?;
        let got = run(&mut bridge, &points.events(false))?;
        let each = bridge.kernels(false)?.each;
        Ok::<_, Error>((got, each.iter().any(|kernel| kernel.name == "color_dots")))
    };
    let (wanted, by_library) = answers(&blas).expect("answers");
    assert!(by_library);
    // It was not requested.
    let (_, by_library) = answers(&switches(BackendChoice::Hip)).expect("answers");
    assert!(!by_library);
    let tf32 = Switches {
        tf32: Some(true),
        precision: Precision::Mixed,
        ..blas.clone()
    };
    let error = answers(&tf32).unwrap_err().to_string();
    assert!(error.contains("CUBLASTF32TENSOR"), "{error}");
    // Each of its calls in turn fails.
    let stand_in = StandIn::get();
    let mut failed = 0;
    let mut left = stand_in.number("stand_in_out");
    let mut errors = 0;
    loop {
        stand_in.fail_blas(failed);
        let result = answers(&blas);
        let over = !stand_in.has_failed();
        stand_in.fail(-1);
        wait_for_compilers();
        let now = stand_in.number("stand_in_out");
        assert!(now <= left, "call {failed}: {now} things are left");
        left = now;
        match result {
            Ok((got, _)) => assert_eq!(got, wanted, "call {failed}"),
            Err(error) => {
                assert!(error.to_string().contains("hipblas"), "{error}");
                errors += 1;
            }
        }
        if over {
            break;
        }
        failed += 1;
    }
    assert!(failed > 4 && errors > 3, "{failed} calls, {errors} errors");
}

#[test]
#[ignore = "started by the_stand_in_serves"]
fn two_gpus_share_events() {
    let both = Switches {
        device: Devices::All,
        ..switches(BackendChoice::Hip)
    };
    compare(&process("g g > t t~"), Precision::Double, 1e-11, &both);
}

/// Waits until no thread compiles: it may have the last hold of programs.
fn wait_for_compilers() {
    let compiles = |task: std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.starts_with("mebridge-comp"))
    };
    let tasks = || std::fs::read_dir("/proc/self/task").expect("the threads of this program");
    while tasks().flatten().any(compiles) {
        std::thread::yield_now();
    }
}

/// Each call in turn fails: there is an error or the right answers, and nothing is left.
#[test]
#[ignore = "started by the_stand_in_serves"]
fn whatever_call_fails_nothing_is_left() {
    let stand_in = StandIn::get();
    let process = process("e+ e- > mu+ mu-");
    let points = Points::new(&process);
    let hip = switches(BackendChoice::Hip);
    let wanted = {
        let mut bridge = bridge(&process, &hip).expect("a GPU");
        bridge.wait_for_compiler();
        run(&mut bridge, &points.events(true)).expect("answers")
    };
    wait_for_compilers();
    assert_eq!(stand_in.number("stand_in_out"), 0);
    let (mut failed, mut errors, mut left) = (0, 0, 0);
    loop {
        stand_in.fail(failed);
        let result = bridge(&process, &hip).and_then(|mut bridge| {
            run(&mut bridge, &points.events(true))?;
            bridge.wait_for_compiler();
            run(&mut bridge, &points.events(true))
        });
        let over = !stand_in.has_failed();
        stand_in.fail(-1);
        wait_for_compilers();
        let call = stand_in.failed_call();
        // To release something the GPU has to be made current.
        if !["hipGetDevice", "hipSetDevice"].contains(&call.as_str()) {
            assert_eq!(
                stand_in.number("stand_in_out"),
                left,
                "call {failed}, {call}"
            );
        }
        left = stand_in.number("stand_in_out");
        match result {
            // Releases may fail without an error, and so may optional optimisations.
            Ok(got) => {
                assert!(worst(&got.0, &wanted.0) < 1e-11, "call {failed}");
                assert_eq!((&got.1, &got.2), (&wanted.1, &wanted.2), "call {failed}");
            }
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.contains("hipErrorInjected") || message.contains("hiprtc"),
                    "call {failed}: {message}"
                );
                errors += 1;
            }
        }
        if over {
            break;
        }
        failed += 1;
    }
    assert!(
        failed > 100 && errors > 50,
        "{failed} calls, {errors} errors"
    );
    println!("{failed} calls failed in turn, {errors} with an error");
}
