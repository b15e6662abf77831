//! Subcommands of the Python package.

use crate::support::{directory, mebridge_with};

#[test]
fn all_arguments_are_handed_over_to_python() {
    let d = directory();
    for subcommand in ["events", "pack", "plugin"] {
        let arguments = [subcommand, "OUTPUT", "--nevents", "3", "--help"];
        let ran = mebridge_with(d.path(), &arguments, &[("MEBRIDGE_PYTHON", "echo")]);
        let wanted = format!("-m mebridge {subcommand} OUTPUT --nevents 3 --help\n");
        assert_eq!(ran.ok(), wanted);
    }
}

#[test]
fn an_interpreter_that_is_missing_is_named() {
    let d = directory();
    let ran = mebridge_with(
        d.path(),
        &["events", "OUTPUT"],
        &[("MEBRIDGE_PYTHON", "./no-python")],
    );
    let said = ran.failed(1);
    assert!(
        said.contains("./no-python cannot be run") && said.contains("MEBRIDGE_PYTHON"),
        "{said}"
    );
}
