//! Whatever an operation of a plan reads has been written before it, in plans of the process by hand and of real outputs;
//! generated processes are followed in `crates/plan/tests/data_flow.rs`.

use crate::common;
use mebridge::import::import_directory;
use mebridge::plan::binding::Binding;
use mebridge::plan::passes::Pass;
use mebridge::plan::plan_after;
use mebridge::plan::{Plan, color_ordered, compile, recursion};
use mebridge::process::Process;
use std::path::Path;

fn follow(plan: Plan, process: &Process) {
    let plan = plan.validate(process).expect("a plan of the process");
    if let Err(what) = plan.follow(process) {
        panic!("{}: {what}", process.name);
    }
}

fn check_process(process: &Process) {
    let binding = Binding::new(&process.model, &process.model.default_card()).expect("binding");
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    follow(compile(process, &binding, &all).expect("plan"), process);
    if let Some(plan) = recursion::compile(process, &binding, &all) {
        follow(plan, process);
    }
    if let Some(plan) = plan_after(Pass::Tiling, process, &binding, &all).expect("plan") {
        follow(plan, process);
    }
    let form = process.as_color_ordered();
    if let Some(form) = form.filter(|form| color_ordered::can(form, &binding)) {
        follow(compile(&form, &binding, &all).expect("plan"), &form);
    }
}

#[test]
fn plans_of_the_process_by_hand_read_what_was_written() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    check_process(&import_directory(&directory).expect("import").remove(0));
}

#[test]
fn plans_of_real_outputs_read_what_was_written() {
    let Some(references) = common::references() else {
        return;
    };
    for r in &references {
        println!("{}", r.name);
        check_process(&import_directory(&r.directory).expect("import").remove(0));
    }
}
