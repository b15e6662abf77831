//! Events, which Python makes.

use crate::support::{directory, mebridge_with};

#[test]
fn all_arguments_are_handed_over_to_python() {
    let d = directory();
    let arguments = ["events", "OUTPUT", "--nevents", "3", "--help"];
    let ran = mebridge_with(d.path(), &arguments, &[("MEBRIDGE_PYTHON", "echo")]);
    assert_eq!(ran.ok(), "-m mebridge events OUTPUT --nevents 3 --help\n");
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
