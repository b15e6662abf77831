//! Plans read only what has been written and what they are meant to read; damaged plans are detected.

use mebridge_generate::generate;
use mebridge_ops::arrays::{ArrayKind, ArrayOp, Payload};
use mebridge_plan::binding::Binding;
use mebridge_plan::color_ordered::{self, Loops, Machine};
use mebridge_plan::passes::Pass;
use mebridge_plan::plan_after;
use mebridge_plan::{Body, Plan, compile};
use mebridge_process::Process;

fn generated(text: &str) -> Process {
    generate(text).expect(text).remove(0)
}

/// A process in its colour-ordered form, its parameters, and the helicities that may contribute.
fn form(text: &str) -> (Process, Binding, Vec<u32>) {
    let process = generated(text);
    let process = process.as_color_ordered().expect(text);
    let binding = Binding::new(&process.model, &process.model.default_card()).expect(text);
    // Incoming quarks have opposite helicities in all contributions.
    let quarks = process.legs[0].pdg.abs() < 6 && process.legs[1].pdg.abs() < 6;
    let rows = (0..).zip(&process.helicities);
    let good = rows.filter(|(_, row)| !quarks || row[0] == -row[1]);
    let good = good.map(|(h, _)| h).collect();
    (process, binding, good)
}

fn follow(what: &str, plan: Plan, process: &Process) {
    let plan = plan.validate(process).expect(what);
    if let Err(error) = plan.follow(process) {
        panic!("{what}: {error}");
    }
}

/// Pure gluons, quarks with and without mass, and with a colour singlet; few and many legs, in one run and in many.
#[test]
fn plans_of_loops_read_what_was_written() {
    for text in [
        "g g > g g",
        "g g > g g g",
        "g g > g g g g",
        "g g > g g g g g",
        "u u~ > g g",
        "g u > u g g",
        "u u~ > g g g g",
        "u u~ > g g g g g",
        "g g > t t~",
        "g g > t t~ g g",
        "g g > t t~ g g g",
        "g u > z u g g",
        "u d~ > w+ g g g",
        "d d~ > z g g g g",
        "u u~ > e+ e- g g",
    ] {
        let (process, binding, good) = form(text);
        let plan = compile(&process, &binding, &good).expect(text);
        follow(text, plan, &process);
        let made = process.amplitudes.color_ordered().expect("a form");
        for tile in [usize::MAX, 16 * made.jamps()] {
            let machine = Machine::Gpu { tile };
            let plan = color_ordered::compile(&process, made, &binding, &good, machine);
            follow(&format!("{text}, {tile}"), plan.expect(text), &process);
        }
    }
}

/// After each pass.
#[test]
fn plans_of_diagrams_read_what_was_written() {
    for text in [
        "u u~ > e+ e-",
        "g g > t t~",
        "g g > t t~ g",
        "u u~ > d d~ g g",
        "g g > t t~ h",
    ] {
        let process = generated(text);
        let binding = Binding::new(&process.model, &process.model.default_card()).expect(text);
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        for pass in Pass::ALL {
            if let Some(plan) = plan_after(pass, &process, &binding, &all).expect(text) {
                follow(&format!("{text}, {pass:?}"), plan, &process);
            }
        }
    }
}

fn loops(plan: &mut Plan) -> &mut Loops {
    match &mut plan.body {
        Body::Loops(loops) => loops,
        Body::Operations(_) => panic!("a plan of loops"),
    }
}

/// All addresses of these damaged plans are within memory, so that validation accepts them.
#[test]
fn damaged_plans_are_seen() {
    type Change = fn(&mut Loops);
    fn first(ops: &mut [ArrayOp], kind: ArrayKind) -> usize {
        let at = ops.iter().position(|op| op.kind() == kind);
        at.expect("an operation of this kind")
    }
    let changes: [(&str, Change, &str); 8] = [
        (
            "an operation that is missing",
            |l| {
                let at = first(&mut l.once, ArrayKind::Vector);
                l.once.remove(at);
            },
            "nothing has written",
        ),
        (
            "a current before what it is made of",
            |l| {
                let at = l.once.iter().rposition(|op| op.kind() == ArrayKind::Vector);
                let last = l.once.remove(at.expect("a current"));
                l.once.insert(0, last);
            },
            "nothing has written",
        ),
        (
            "a spinor whose memory serves for another one too early",
            |l| {
                let spinor =
                    |op: &ArrayOp| matches!(op.kind(), ArrayKind::LineIn | ArrayKind::LineOut);
                let all = l.once.iter_mut().chain(&mut l.per_run);
                let mut lines = all.filter(|op| spinor(op));
                let first = lines.next().expect("a spinor").out;
                let other = lines.find(|op| op.out != first);
                other.expect("another one").out = first;
            },
            "",
        ),
        (
            "sums of a run that are missing in it",
            |l| {
                let at = first(&mut l.per_run, ArrayKind::Sum);
                l.per_run.remove(at);
            },
            "nothing has written",
        ),
        (
            "products that are added up in the memory of a current",
            |l| {
                let at = first(&mut l.once, ArrayKind::Vector);
                l.pools.first_numbers = l.once[at].out;
                l.pools.buffer = l.once[at].out;
            },
            "nothing has written",
        ),
        (
            "a shift of one run in another",
            |l| {
                let last = l.runs.len() - 1;
                l.runs.swap(0, last);
                l.runs[0].swap(1, 2);
            },
            "",
        ),
        (
            "half of an element",
            |l| {
                let at = first(&mut l.per_run, ArrayKind::Contract);
                let Payload::Contract(contract) = l.per_run[at].payload else {
                    panic!("a contraction");
                };
                let [from, _] = contract.pairs.0;
                l.pools.pairs[from as usize].a.address += 4;
            },
            "part of which is something else",
        ),
        (
            "helicities of rows",
            |l| {
                let last = l.rows.len() - 1;
                l.rows.swap(0, last);
            },
            "other legs or helicities",
        ),
    ];
    // The second process has gluon currents that are sums within a run, in memory that is reused.
    let made = ["g g > t t~ g g g g", "g g > g g g g g"].map(|text| {
        let (process, binding, good) = form(text);
        let plan = compile(&process, &binding, &good).expect(text);
        (process, plan)
    });
    for (what, change, why) in changes {
        let (process, plan) = &made[usize::from(what.starts_with("sums"))];
        let mut damaged = plan.clone();
        change(loops(&mut damaged));
        assert!(damaged.body != plan.body, "{what}");
        let valid = damaged.validate(process);
        let valid = valid.unwrap_or_else(|error| panic!("{what}: {error}"));
        let seen = valid.follow(process).expect_err(what);
        println!("{what}: {seen}");
        assert!(seen.contains(why), "{what}: {seen}");
    }
}

/// One colour flow of gluons: the sums of vertices of neighbours, and one product with the last gluon.
#[test]
fn a_flow_of_gluons_is_a_recursion() {
    for text in ["g g > g g", "g g > g g g", "g g > g g g g"] {
        let flows = generated(text).leading_color().expect(text);
        let process = &flows.classes[0];
        let binding = Binding::new(&process.model, &process.model.default_card()).expect(text);
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let plan = mebridge_plan::recursion::compile(process, &binding, &all).expect(text);
        assert!(plan.operations().recursion.is_some());
        let [products] = &plan.operations().amplitudes[..] else {
            panic!("{text}: one kind of product");
        };
        assert_eq!(products.operands.len(), 3, "{text}");
        follow(text, plan, process);
    }
}
