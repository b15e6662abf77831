//! Small plans after each pass, compared with text files in `plans/`.
//!
//! With `MEBRIDGE_UPDATE_PLANS=1` the files are rewritten, so that `git diff` shows the effect of a change on plans.

use mebridge_generate::generate;
use mebridge_import::import_directory;
use mebridge_ops::Batch;
use mebridge_ops::visit::{Access, visit};
use mebridge_plan::binding::Binding;
use mebridge_plan::color_ordered::{self, Machine};
use mebridge_plan::passes::Pass;
use mebridge_plan::plan_after;
use mebridge_plan::{Operations, Plan, compile};
use mebridge_process::Process;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const UPDATE: &str = "MEBRIDGE_UPDATE_PLANS";
/// Number of lines shown before and after the first difference.
const AROUND: usize = 2;

fn generated(text: &str) -> Process {
    generate(text).expect(text).remove(0)
}

fn binding(process: &Process) -> Binding {
    Binding::new(&process.model, &process.model.default_card()).expect("binding")
}

fn all(process: &Process) -> Vec<u32> {
    (0..process.helicities.len() as u32).collect()
}

/// Each pass, with the output of `print` for its plan.
fn passes(process: &Process, print: impl Fn(&Plan) -> String) -> String {
    let (binding, all) = (binding(process), all(process));
    let mut text = String::new();
    for pass in Pass::ALL {
        let plan = plan_after(pass, process, &binding, &all).expect("a plan");
        let _ = match plan {
            Some(plan) => writeln!(text, "== {pass:?}: {} ==\n{}", pass.what(), print(&plan)),
            None => writeln!(text, "== {pass:?}: none ==\n"),
        };
    }
    text
}

/// Compares a text with the file of this name.
fn hold(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/plans")
        .join(name);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, text).expect("written");
        return;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if known == text {
        return;
    }
    let pairs = known.lines().zip(text.lines());
    let at = pairs.take_while(|(a, b)| a == b).count();
    let some = |text: &str| {
        let lines = text.lines().skip(at.saturating_sub(AROUND));
        lines.take(2 * AROUND + 1).collect::<Vec<_>>().join("\n")
    };
    panic!(
        "{name}, line {}: the plan is another one than\n{}\nnamely\n{}\n\
         If that is meant, write the files anew with {UPDATE}=1 and look at git diff.",
        at + 1,
        some(&known),
        some(text),
    );
}

#[test]
fn gluons_to_top_quarks_as_imported() {
    let directory = "../../fortran/gg_ttx/SubProcesses/P1_gg_ttx";
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let process = import_directory(&directory).expect("import").remove(0);
    hold("gg_ttx.txt", &passes(&process, Plan::to_string));
}

#[test]
fn quarks_to_electrons() {
    let process = generated("u u~ > e+ e-");
    hold("uux_epem.txt", &passes(&process, Plan::to_string));
}

/// Number of operations of each kind in a plan.
fn histogram(plan: &Plan) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    let mut add = |name: String, count: usize| *all.entry(name).or_default() += count;
    let operations = plan.operations();
    let tiles = operations.tiles.iter().flat_map(|tile| &tile.currents);
    let batches = operations.currents.iter().chain(tiles);
    for batch in batches.chain(&operations.channels.squares) {
        add(
            format!("{:?}", batch.opcode),
            results(operations, batch, false),
        );
    }
    for batch in &operations.amplitudes {
        add(
            format!("{:?} of a helicity", batch.opcode),
            results(operations, batch, true),
        );
    }
    if let Some(loops) = plan.loops() {
        loops
            .once
            .iter()
            .for_each(|op| add(format!("{:?} once", op.kind()), 1));
        loops
            .per_run
            .iter()
            .for_each(|op| add(format!("{:?} each run", op.kind()), 1));
    }
    all
}

/// Number of results of a batch.
fn results(operations: &Operations, batch: &Batch, tables: bool) -> usize {
    let mut results = 0;
    visit(batch, &operations.general, tables, &mut |_, access| {
        results += usize::from(matches!(access, Access::Write(_) | Access::Update(_)));
    });
    results
}

/// Numbers of operations of each kind.
#[test]
fn gluons_to_top_quarks_and_a_gluon() {
    let process = generated("g g > t t~ g");
    let text = passes(&process, |plan| {
        let mut text = format!("{:#?}\n", plan.count);
        for (name, count) in histogram(plan) {
            let _ = writeln!(text, "{count:6} {name}");
        }
        text
    });
    hold("gg_ttxg.txt", &text);
}

/// The colour-ordered form, for a core and for a GPU.
#[test]
fn gluons_in_color_order() {
    let process = generated("g g > g g").as_color_ordered().expect("a form");
    let form = process.amplitudes.color_ordered().expect("a form");
    let (binding, all) = (binding(&process), all(&process));
    let core = compile(&process, &binding, &all).expect("a plan");
    let machine = Machine::Gpu { tile: usize::MAX };
    let gpu = color_ordered::compile(&process, form, &binding, &all, machine).expect("a plan");
    let text = format!("== core ==\n{core}\n== GPU ==\n{gpu}");
    hold("gg_gg_color_ordered.txt", &text);
}

/// A massless quark line that takes up a boson.
#[test]
fn quarks_and_a_boson_in_color_order() {
    let process = generated("u d~ > w+ g").as_color_ordered().expect("a form");
    // Quarks with opposite helicities.
    let rows = (0..).zip(&process.helicities);
    let good = rows.filter(|(_, row)| row[0] == -row[1]);
    let good: Vec<u32> = good.map(|(h, _)| h).collect();
    let plan = compile(&process, &binding(&process), &good).expect("a plan");
    hold("udx_wpg_color_ordered.txt", &plan.to_string());
}

/// Checks that the files are read and differences are detected.
#[test]
fn another_plan_is_seen() {
    if std::env::var_os(UPDATE).is_some() {
        return;
    }
    let other = generated("u u~ > mu+ mu- g");
    let text = passes(&other, Plan::to_string);
    let held = std::panic::catch_unwind(|| hold("uux_epem.txt", &text));
    let what = held.expect_err("another plan");
    let what = what.downcast_ref::<String>().expect("a message");
    assert!(
        what.contains("uux_epem.txt, line 2") && what.contains(UPDATE),
        "{what}"
    );
}
