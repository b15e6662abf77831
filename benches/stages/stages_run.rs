//! Each stage runs once.

// The benchmark's own start is not used.
#[allow(dead_code)]
#[path = "main.rs"]
mod stages;

#[test]
fn each_stage_runs() {
    stages::run(&stages::Settings::once());
}
