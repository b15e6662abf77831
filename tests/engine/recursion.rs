//! Which processes have a recursive plan, and that it is less work than the list of diagrams.

use crate::common;
use mebridge::color::BlockDiagonal;
use mebridge::import::import_directory;
use mebridge::plan::binding::Binding;
use mebridge::plan::{compile, recursion};
use mebridge::process::Process;
use std::path::Path;

fn helicities(process: &Process) -> Vec<u32> {
    (0..process.helicities.len() as u32).collect()
}

fn binding(process: &Process) -> Binding {
    Binding::new(&process.model, &process.model.default_card()).expect("binding")
}

#[test]
fn the_process_by_hand_has_a_recursion() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let process = import_directory(&directory).expect("import").remove(0);
    let plan = recursion::compile(&process, &binding(&process), &helicities(&process))
        .expect("gluons and one quark line have a recursion");
    // Two quark currents, or one of them and the gluon's, with 8 helicities each or fewer; and
    // the root with each vector attached.
    assert!(plan.count.currents <= 28, "{:?}", plan.count);
    // Three vertices for each of 16 helicities would be 48 * 60 multiply-adds in amplitudes alone.
    let diagrams = compile(&process, &binding(&process), &helicities(&process)).expect("plan");
    assert!(
        diagrams.count.multiply_adds < 48 * 64,
        "{:?}",
        diagrams.count
    );
}

#[test]
fn quark_and_gluon_processes_have_a_recursion() {
    let Some(references) = common::references() else {
        return;
    };
    for r in &references {
        let process = import_directory(&r.directory).expect("import").remove(0);
        let binding = binding(&process);
        let all = helicities(&process);
        let diagrams = compile(&process, &binding, &all).expect("plan");
        let recursion = recursion::compile(&process, &binding, &all);
        println!(
            "{:32} multiply-adds by diagrams {:9}, by recursion {:9}, colour {:8}",
            r.name,
            diagrams.count.multiply_adds,
            recursion
                .as_ref()
                .map_or(0, |plan| plan.count.multiply_adds),
            all.len() * BlockDiagonal::of_process(&process, false).multiply_adds()
        );
        let pure_qcd = r.name.contains("gg_tt") && !r.name.starts_with("susy")
            || r.name.starts_with("gq_tt")
            || r.name.starts_with("pp_tt");
        assert!(recursion.is_some() || !pure_qcd, "{}", r.name);
    }
}
