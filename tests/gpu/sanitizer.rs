//! Work of all kinds under the tools of NVIDIA's compute-sanitizer, which must find nothing: no access outside of
//! memory, no call that the driver refuses, no read of what nothing wrote, no race, no barrier that some threads miss.
//!
//! `tests/sanitize.sh` runs this alone, on a machine with the program of these tests and without Rust.

use crate::common::require;
use crate::events::{Ask, Batch};
use crate::support::{CHILD, Gpu, bridge, conclude, is_child, platform};
use crate::umami;
use mebridge::gpu::cuda::Platform;
use mebridge::process::Process;
use mebridge::runtime::{Precision, Switches};
use std::path::{Path, PathBuf};
use std::process::Command;

const TEST: &str = "sanitizer::no_tool_finds_anything";
const TOOLS: [&str; 4] = ["memcheck", "initcheck", "racecheck", "synccheck"];
/// Only tools whose names contain this; and of a child the one that it runs under.
const TOOL: &str = "MEBRIDGE_TEST_TOOL";
/// One event, blocks of 32 that are not full, one that is and one that is not, and several.
const EVENTS: [usize; 4] = [1, 31, 33, 257];
/// Colours; more diagrams; a Z; and gluons alone and a line with leptons, whose plans are ones of loops. Each with the
/// precision of its samples, of which a program has one.
const PROCESSES: [(&str, &str); 5] = [
    ("g g > t t~", "d"),
    ("g g > t t~ g", "f"),
    ("u u~ > e+ e- g", "m"),
    ("g g > g g g", "d"),
    ("u u~ > e+ e- g g g", "d"),
];
/// A tool that has found something ends the program with this.
const FOUND: i32 = 99;
/// Last output of a child.
const DONE: &str = "all was evaluated";

/// The program of the tools.
fn sanitizer() -> Option<PathBuf> {
    let named = std::env::var_os("MEBRIDGE_SANITIZER").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/local/cuda/bin".into()]);
    let mut there = folders.map(|folder| folder.join("compute-sanitizer"));
    named.or_else(|| there.find(|program| program.is_file()))
}

#[test]
fn no_tool_finds_anything() {
    if is_child(TEST) {
        return work();
    }
    let Some(_gpu) = Gpu::get() else {
        return require::skipped("sanitizer", "there is no GPU");
    };
    let Some(sanitizer) = sanitizer().filter(|_| platform() == Platform::Cuda) else {
        let why = "no NVIDIA GPU, or no compute-sanitizer in PATH and /usr/local/cuda/bin; MEBRIDGE_SANITIZER names one";
        return require::skipped("sanitizer", why);
    };
    require::used("sanitizer", sanitizer.display());
    let requested = |variable: &str| std::env::var(variable).unwrap_or_default();
    let (only_tool, only_process) = (requested(TOOL), requested("MEBRIDGE_TEST_PROCESS"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for tool in TOOLS.into_iter().filter(|tool| tool.contains(&only_tool)) {
        for (process, fptype) in PROCESSES
            .into_iter()
            .filter(|p| p.0.contains(&only_process))
        {
            let found = watched(&sanitizer, tool, process, fptype);
            println!("{tool}, {process}: {}", found.as_deref().unwrap_or("clean"));
            wrong.extend(found);
            count += 1;
        }
    }
    assert!(
        count > 0,
        "no tool '{only_tool}', or no process '{only_process}'"
    );
    conclude(&wrong);
}

/// Returns the findings of a tool while a process is evaluated.
fn watched(sanitizer: &Path, tool: &str, process: &str, fptype: &str) -> Option<String> {
    let mut command = Command::new(sanitizer);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CUDACPP_") {
            command.env_remove(name);
        }
    }
    let ran = command
        .args(["--tool", tool, "--error-exitcode", &FOUND.to_string()])
        .arg(std::env::current_exe().expect("the program of this test"))
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(CHILD, TEST)
        .env(TOOL, tool)
        .env("CUDACPP_RUNTIME_PROCESS", process)
        .env("CUDACPP_RUNTIME_FPTYPE", fptype)
        .env("CUDACPP_RUNTIME_BACKEND", "cuda")
        .env("CUDACPP_RUNTIME_CACHE", crate::support::cache())
        .output()
        .expect("it starts");
    let text = [ran.stdout, ran.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    // "ERROR SUMMARY: 0 errors", or "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)".
    let mut sums = text.lines().filter(|line| line.contains(" SUMMARY: "));
    let clean = sums.any(|line| line.contains(" SUMMARY: 0 "));
    (!ran.status.success() || !clean || !text.contains(DONE)).then(|| {
        format!(
            "{tool} finds something in {process}, {}:\n{text}",
            ran.status
        )
    })
}

/// All kinds of calls of a process, in a program that a tool watches.
fn work() {
    let racecheck = std::env::var(TOOL).is_ok_and(|tool| tool == "racecheck");
    let gpu = Gpu::get().expect("a GPU");
    let process = umami::own_process();
    let batch = Batch::random(&process, EVENTS[3]);
    for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
        // By tables, by generated code as soon as it is there, and with colour sums by cuBLAS, within whose kernels
        // races would be NVIDIA's.
        for (group, blas) in [(Some(0), None), (None, None), (Some(0), Some(true))] {
            if blas.is_none() || !racecheck {
                let switches = Switches {
                    precision,
                    gpu_group: group,
                    blas_color_sum: blas,
                    ..gpu.switches()
                };
                calls(&process, &batch, &switches);
            }
        }
    }
    umami::evaluate_few(&gpu, &process, &batch, &EVENTS);
    println!("{DONE}");
}

/// Calls with and without channels and colours, before and after generated code is there.
fn calls(process: &Process, batch: &Batch, switches: &Switches) {
    let mut bridge = bridge(process, switches);
    for _ in 0..2 {
        for ask in [Ask::ALL[0], Ask::ALL[1], Ask::ALL[3]] {
            for nevt in EVENTS {
                let answer = batch.first(nevt, ask, &mut bridge);
                let finite = answer.squared.iter().all(|x| x.is_finite());
                assert!(finite, "{}, {nevt} events, {ask:?}", process.name);
            }
        }
        bridge.wait_for_compiler();
    }
}
