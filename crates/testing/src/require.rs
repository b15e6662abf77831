//! Requirements of tests besides Rust that may be missing: a GPU, reference files, compilers.
//!
//! A test reports which of these it used or why it was skipped. Each report is a line in the file named by
//! `MEBRIDGE_TEST_LOG`, from which `make test` makes its summary, because cargo shows no output of tests that pass. If
//! a requirement is listed in `MEBRIDGE_REQUIRE` (`gpu,reference`, or `all`), a skip is a failure.

use std::fmt::Display;
use std::io::Write;

/// Possible requirements.
pub const NEEDS: [&str; 12] = [
    "gpu",
    "gpus",
    "sanitizer",
    "nvrtc",
    "amd",
    "amd-emulator",
    "hiprtc",
    "reference",
    "outputs",
    "models",
    "cxx",
    "fortran",
];

/// Reports that a test uses something.
pub fn used(need: &str, what: impl Display) {
    assert!(NEEDS.contains(&need), "{need} is not in NEEDS");
    note("used", need, &what.to_string());
}

/// Reports that a test is skipped; fails if that is not allowed.
#[track_caller]
pub fn skipped(need: &str, why: impl Display) {
    assert!(NEEDS.contains(&need), "{need} is not in NEEDS");
    let requested = std::env::var("MEBRIDGE_REQUIRE").unwrap_or_default();
    assert!(
        !required(&requested, need),
        "MEBRIDGE_REQUIRE has {need}, but: {why}"
    );
    eprintln!("SKIPPED: {why}");
    note("skipped", need, &why.to_string());
}

/// Returns the cases of a test; fails if there are none.
#[track_caller]
pub fn cases<T>(what: impl Display, cases: Vec<T>) -> Vec<T> {
    assert!(!cases.is_empty(), "there are no cases to test: {what}");
    cases
}

/// Whether a list contains a name, or `all`.
fn required(requested: &str, need: &str) -> bool {
    let names = requested
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty());
    let names: Vec<&str> = names.collect();
    for name in &names {
        assert!(
            NEEDS.contains(name) || *name == "all",
            "MEBRIDGE_REQUIRE has '{name}'; it takes all and {NEEDS:?}"
        );
    }
    names.contains(&need) || names.contains(&"all")
}

fn note(verb: &str, need: &str, what: &str) {
    let Some(path) = std::env::var_os("MEBRIDGE_TEST_LOG") else {
        return;
    };
    let line = format!("{verb} {need} {}\n", what.replace('\n', " "));
    // A single write, because many tests write at the same time.
    let log = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path);
    log.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("MEBRIDGE_TEST_LOG names a file that can be written");
}
