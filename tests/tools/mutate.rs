//! `mebridge-tools mutate`, with the directory that comes with the source.

use crate::common::gfortran;
use crate::support::{Ran, copy, directory, gg_ttx, mebridge, snapshot};
use serde_json::Value;
use std::path::Path;

fn mutate(folder: &Path, more: &[&str]) -> Ran {
    let p = gg_ttx();
    let arguments = ["mutate", p.to_str().unwrap(), "--seed", "5"];
    mebridge(folder, &[&arguments[..], more].concat())
}

/// The entries of a log in the order of their numbers, without times.
fn entries(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).expect("a log");
    let mut entries: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    for entry in &mut entries {
        entry["milliseconds"] = Value::Null;
        // Errors of gfortran name a temporary folder.
        entry["detail"] = Value::Null;
    }
    entries.sort_by_key(|entry| entry["number"].as_u64());
    entries
}

const BAD: [&str; 3] = ["differs", "panics", "hangs"];

#[test]
fn changes_are_judged_and_a_log_goes_on() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let log = d.path().join("log.jsonl");
    let name = log.to_str().unwrap();
    let ran = mutate(d.path(), &["--count", "30", "--log", name]);
    assert_eq!(ran.stderr, "");
    let first = entries(&log);
    assert_eq!(first.len(), 30, "{}", ran.stdout);
    let is = |entry: &Value, outcomes: &[&str]| {
        outcomes.iter().any(|outcome| entry["outcome"] == *outcome)
    };
    for entry in &first {
        let others = [
            "refused",
            "agrees",
            "not_compiled",
            "fortran_fails",
            "not_judged",
        ];
        assert!(is(entry, &others) || is(entry, &BAD), "{entry}");
        assert_ne!(entry["before"], entry["after"]);
    }
    assert!(first.iter().any(|entry| is(entry, &["refused"])));
    let bad = first.iter().any(|entry| is(entry, &BAD));
    assert_eq!(ran.code, i32::from(bad), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n30 changes in "), "{}", ran.stdout);

    // Two jobs make the same changes, with the same outcomes; what is in the log is not made again.
    let second = d.path().join("second.jsonl");
    let other = second.to_str().unwrap();
    let jobs = ["--count", "36", "--jobs", "2", "--log"];
    mutate(d.path(), &[&jobs[..], &[other]].concat());
    let ran = mutate(d.path(), &["--count", "36", "--log", name]);
    assert!(ran.stdout.contains("\n6 changes in "), "{}", ran.stdout);
    assert_eq!(entries(&log), entries(&second));

    // Both logs in one table: 72 changes, half of them the same as the others.
    let ran = mebridge(d.path(), &["mutate", "--summary", name, other]);
    let last = ran.stdout.lines().last().unwrap_or("");
    let numbers: Vec<usize> = last
        .split_whitespace()
        .skip(1)
        .map(|w| w.parse().unwrap())
        .collect();
    assert_eq!(
        (ran.code, ran.stdout.lines().count()),
        (0, 3),
        "{}",
        ran.stdout
    );
    assert_eq!(
        (numbers[0], numbers[2..].iter().sum()),
        (72, 72),
        "{}",
        ran.stdout
    );
    assert!(numbers[1] <= 36, "{}", ran.stdout);
}

#[test]
fn files_can_be_chosen() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let log = d.path().join("log.jsonl");
    let more = ["--count", "5", "--only", "leshouche", "--log"];
    let ran = mutate(d.path(), &[&more[..], &[log.to_str().unwrap()]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    for entry in entries(&log) {
        let file = entry["file"].as_str().unwrap();
        assert!(file.ends_with("/leshouche.inc"), "{file}");
        // The squared matrix element does not depend on it.
        let outcome = entry["outcome"].as_str().unwrap();
        assert!(["refused", "not_judged"].contains(&outcome), "{outcome}");
    }
    let ran = mutate(d.path(), &["--only", "nothing"]);
    assert!(ran.failed(1).contains("has no file to change"));
}

#[test]
fn a_directory_that_does_not_agree_unchanged_is_an_error() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let ran = mutate(d.path(), &["--tolerance", "1e-30"]);
    let message = ran.failed(1);
    assert!(
        message.contains("unchanged it does not agree: event "),
        "{message}"
    );
}

/// The directory itself stays as it is.
#[test]
fn nothing_is_written_into_the_directory() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let copied = d.path().join("output");
    copy(&gg_ttx().join("../.."), &copied);
    let before = snapshot(&copied);
    let p = copied.join("SubProcesses/P1_gg_ttx");
    let ran = mebridge(d.path(), &["mutate", p.to_str().unwrap(), "--count", "10"]);
    assert_eq!(ran.stderr, "");
    assert!(before == snapshot(&copied));
}
