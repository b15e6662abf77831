//! Without a GPU: some of these tests on a substitute for AMD's driver, in separate programs.

use crate::support::CHILD;
use mebridge::gpu::likely_platform;
use std::path::Path;
use std::process::Command;

const TEST: &str = "umami::numbers_are_those_of_the_cpu";

/// UMAMI's functions on arrays in the memory of the GPU.
#[test]
fn samples_are_evaluated_on_the_stand_in() {
    if likely_platform().is_some() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(place) = mebridge_testing::hip::stand_in(folder.path()) else {
        return;
    };
    evaluate(&place, |_| ());
}

/// The same with machine code of AMD's GPUs.
#[test]
fn samples_are_evaluated_by_machine_code() {
    if likely_platform().is_some() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    mebridge_testing::hip::on_machine_code(folder.path(), kept, |_, place, more| {
        evaluate(place, more)
    });
}

fn evaluate(place: &Path, more: impl Fn(&mut Command)) {
    for process in ["e+ e- > mu+ mu-", "g g > t t~"] {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
            .env(CHILD, TEST)
            .env("MEBRIDGE_HIP", place)
            .env("CUDACPP_RUNTIME_PROCESS", process)
            .env("CUDACPP_RUNTIME_BACKEND", "hip")
            .env("CUDACPP_RUNTIME_CACHE", place.join("cache"))
            // It does not use a GPU.
            .env_remove("MEBRIDGE_TEST_LOG");
        more(&mut command);
        let output = command.output().expect("it starts");
        let message = [output.stdout, output.stderr];
        let message = message.map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(
            output.status.success(),
            "{process}: {}\n{}",
            message[0],
            message[1]
        );
        assert!(!message[1].contains("SKIPPED"), "{process}: {}", message[1]);
    }
}
