//! What a test needs besides Rust, and may find missing: a GPU, reference files, compilers.
//!
//! A test says which of these it used or what it had to skip. Each is a line in the file that `MEBRIDGE_TEST_LOG`
//! names, from which `make test` makes its summary, as cargo shows nothing of a test that passes. What
//! `MEBRIDGE_REQUIRE` lists (`gpu,reference`, or `all`) must not be missing: there a skip is a failure.

use std::fmt::Display;
use std::io::Write;

/// What can be required.
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

/// Notes that a test uses something.
pub fn used(need: &str, what: impl Display) {
    assert!(NEEDS.contains(&need), "{need} is not in NEEDS");
    note("used", need, &what.to_string());
}

/// Notes that a test is skipped; fails where that must not be.
#[track_caller]
pub fn skipped(need: &str, why: impl Display) {
    assert!(NEEDS.contains(&need), "{need} is not in NEEDS");
    let asked = std::env::var("MEBRIDGE_REQUIRE").unwrap_or_default();
    assert!(
        !required(&asked, need),
        "MEBRIDGE_REQUIRE has {need}, but: {why}"
    );
    eprintln!("SKIPPED: {why}");
    note("skipped", need, &why.to_string());
}

/// Cases of a test: a list that is empty tests nothing.
#[track_caller]
pub fn cases<T>(what: impl Display, cases: Vec<T>) -> Vec<T> {
    assert!(!cases.is_empty(), "there are no cases to test: {what}");
    cases
}

/// Whether a list of names has one of them, or all.
fn required(asked: &str, need: &str) -> bool {
    let names = asked.split(',').map(str::trim).filter(|n| !n.is_empty());
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
    // One write, as many tests write at a time.
    let log = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path);
    log.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("MEBRIDGE_TEST_LOG names a file that can be written");
}
