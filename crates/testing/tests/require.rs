//! Tests report what they used or skipped.

use mebridge_testing::require;
use std::process::Command;

/// Runs the test below in a separate program with `MEBRIDGE_REQUIRE` set; returns whether it passed, and its log.
fn run(required: &str) -> (bool, String) {
    let log = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "skips_one_uses_one", "--ignored"])
        .env("MEBRIDGE_REQUIRE", required)
        .env("MEBRIDGE_TEST_LOG", log.path())
        .output()
        .unwrap();
    let text = std::fs::read_to_string(log.path()).unwrap();
    (output.status.success(), text)
}

#[test]
#[ignore = "run by the tests below"]
fn skips_one_uses_one() {
    require::used("cxx", "a compiler\nof two lines");
    require::skipped("gpu", "there is none");
}

#[test]
fn what_was_used_and_skipped_is_in_the_log() {
    let both = "used cxx a compiler of two lines\nskipped gpu there is none\n";
    assert_eq!(run(""), (true, both.into()));
    assert_eq!(run("cxx, reference"), (true, both.into()));
}

#[test]
fn a_skip_of_what_is_required_is_a_failure() {
    let one = "used cxx a compiler of two lines\n";
    assert_eq!(run("cxx,gpu"), (false, one.into()));
    assert_eq!(run("all"), (false, one.into()));
    // A misspelt name requires nothing, so it is refused.
    assert_eq!(run("gpuu"), (false, one.into()));
}

#[test]
#[should_panic = "there are no cases to test: outputs in /nowhere"]
fn an_empty_list_of_cases_is_a_failure() {
    require::cases("outputs in /nowhere", Vec::<u8>::new());
}

/// The names are those in `make test`'s summary.
#[test]
fn the_summary_knows_all_names() {
    let script = include_str!("../../../tests/run.sh");
    for need in require::NEEDS {
        assert!(script.contains(&format!("need {need} ")), "{need}");
    }
}
