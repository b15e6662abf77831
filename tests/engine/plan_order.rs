//! Whatever an operation of a plan reads has been written before it, and lies within the plan's
//! memory.

use crate::common;
use mebridge::import::import_directory;
use mebridge::ops::visit::{Access, visit};
use mebridge::ops::{Address, Batch};
use mebridge::plan::binding::Binding;
use mebridge::plan::passes::{Pass, plan_after};
use mebridge::plan::{Plan, compile, recursion};
use mebridge::process::Process;
use std::path::Path;

/// Which vectors have been written.
struct Memory<'a> {
    plan: &'a Plan,
    written: Vec<bool>,
}

impl Memory<'_> {
    fn write(&mut self, at: Address, vectors: u32) {
        for i in at..at + vectors {
            assert!(i < self.plan.vectors, "{i} is outside of the memory");
            self.written[i as usize] = true;
        }
    }

    fn read(&self, at: Address, vectors: u32, what: &Batch) {
        for i in at..at + vectors {
            assert!(i < self.plan.vectors, "{i} is outside of the memory");
            assert!(
                self.written[i as usize],
                "{:?} reads {i} too early",
                what.opcode
            );
        }
    }

    fn run(&mut self, batch: &Batch, table: Option<&[Address]>) {
        let mut accesses = Vec::new();
        let whole = visit(
            batch,
            &self.plan.operations().general,
            table.is_some(),
            &mut |at, access| {
                accesses.push((at, access));
            },
        );
        assert!(
            whole.is_some(),
            "{:?} ends within an operation",
            batch.opcode
        );
        for (at, access) in accesses {
            match access {
                Access::Number => {}
                Access::Read(vectors) => self.read(at, vectors, batch),
                Access::Write(vectors) => self.write(at, vectors),
                Access::Update(vectors) => self.read(at, vectors, batch),
                Access::Indexed(vectors) => {
                    let table = table.expect("only amplitudes look things up");
                    self.read(table[at as usize], vectors, batch);
                }
            }
        }
    }
}

fn check(plan: &Plan) {
    let mut memory = Memory {
        plan,
        written: vec![false; plan.vectors as usize],
    };
    memory.write(plan.leg_momenta, 4 * plan.masses.len() as u32);
    plan.constants.iter().for_each(|c| memory.write(c.0, 1));
    plan.couplings.iter().for_each(|&c| memory.write(c, 2));
    plan.momenta.iter().for_each(|m| memory.write(m.address, 4));
    plan.propagators
        .iter()
        .for_each(|p| memory.write(p.address, 2));
    plan.factors.iter().for_each(|f| memory.write(f.address, 2));
    for external in &plan.externals {
        external
            .results
            .iter()
            .for_each(|&r| memory.write(r, 2 * (external.kind.components() - 2)));
    }
    for batch in plan
        .operations()
        .currents
        .iter()
        .chain(&plan.channels().squares)
    {
        memory.run(batch, None);
    }
    let mut tiles = plan.operations().tiles.iter().peekable();
    for (group, at) in plan.groups().iter().zip(0..) {
        if let Some(tile) = tiles.next_if(|tile| tile.group == at) {
            for batch in &tile.currents {
                memory.run(batch, None);
            }
        }
        for &h in group {
            for batch in &plan.operations().amplitudes {
                memory.run(batch, Some(&plan.operations().tables[h as usize]));
            }
        }
        let mut units = plan.operations().jamp.units.iter();
        for sum in &plan.operations().jamp.sums {
            let count = sum.units.iter().sum::<u32>() as usize;
            for &at in units.by_ref().take(count) {
                assert!(memory.written[at as usize] && memory.written[at as usize + 1]);
            }
            memory.write(sum.address, 2);
        }
        assert!(
            memory.written[plan.jamp_base as usize..][..2 * plan.flows]
                .iter()
                .all(|&w| w)
        );
    }
}

fn check_process(process: &Process) {
    let binding = Binding::new(&process.model, &process.model.default_card()).expect("binding");
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    check(&compile(process, &binding, &all).expect("plan"));
    if let Some(plan) = recursion::compile(process, &binding, &all) {
        check(&plan);
    }
    if let Some(plan) = plan_after(Pass::Tiling, process, &binding, &all).expect("plan") {
        check(&plan);
    }
}

#[test]
fn plans_of_the_process_by_hand_are_in_order() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    check_process(&import_directory(&directory).expect("import").remove(0));
}

#[test]
fn plans_of_real_outputs_are_in_order() {
    let Some(references) = common::references() else {
        return;
    };
    for r in &references {
        println!("{}", r.name);
        check_process(&import_directory(&r.directory).expect("import").remove(0));
    }
}
