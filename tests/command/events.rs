//! Subcommands of the Python package.

use crate::support::{directory, mebridge_with};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A program that says of itself that it is Python, and then what it is given.
fn python(folder: &Path, says: &str) -> String {
    let path = folder.join("python");
    let text =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && exec echo {says}\nshift 4\necho \"$@\"\n");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn all_arguments_are_handed_over_to_python() {
    let d = directory();
    let python = python(d.path(), "Python 3.10.1");
    for subcommand in ["events", "pack"] {
        let arguments = [subcommand, "OUTPUT", "--nevents", "3", "--help"];
        let ran = mebridge_with(d.path(), &arguments, &[("MEBRIDGE_PYTHON", &python)]);
        let wanted = format!("{subcommand} OUTPUT --nevents 3 --help\n");
        assert_eq!(ran.ok(), wanted);
    }
}

#[test]
fn what_is_no_interpreter_is_named() {
    let d = directory();
    let other = python(d.path(), "bc 1.07.1");
    for (given, why) in [
        ("./no-python", "No such file"),
        ("/", "Permission denied"),
        (&other, "it is no Python"),
        ("true", "it is no Python"),
    ] {
        let ran = mebridge_with(
            d.path(),
            &["events", "OUTPUT"],
            &[("MEBRIDGE_PYTHON", given)],
        );
        let said = ran.failed(1);
        let wanted = format!("{given} cannot be run ({why}");
        assert!(
            said.contains(&wanted) && said.contains("MEBRIDGE_PYTHON"),
            "{said}"
        );
    }
    let ran = mebridge_with(d.path(), &["events", "OUTPUT"], &[("PATH", "/nowhere")]);
    assert!(
        ran.failed(1)
            .contains("python3 cannot be run (No such file"),
        "{}",
        ran.stderr
    );
}
