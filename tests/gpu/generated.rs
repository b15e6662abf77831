//! Straight-line code generated for a process and compiled in the background: the answers of the table kernels until
//! then, and its own afterwards.

use crate::common::{Reference, worst};
use crate::events::{Ask, Batch, run};
use crate::support::{Gpu, bridge, cases, conclude};
use mebridge::Error;
use mebridge::bridge::Bridge;
use mebridge::process::Process;
use mebridge::runtime::{Precision, Switches};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Random events, against the kernels that go through tables.
const EVENTS: usize = 20_000;

/// Bytes of the GPU's memory that two bridges take.
const MEMORY: usize = 10 << 30;

/// Whether the kernels for calls with or without channels were generated.
fn is_generated(bridge: &Bridge, ask: Ask) -> bool {
    let kernels = bridge.kernels(ask.channels).expect("kernels");
    !kernels
        .each
        .iter()
        .any(|kernel| kernel.name == "helicities")
}

/// Returns the errors of a process in a precision, and a line of the table. Two bridges have this share of the GPU's
/// free memory each.
fn compare(
    gpu: &Gpu,
    r: &Reference,
    process: &Process,
    precision: Precision,
    memory: f64,
) -> (Vec<String>, String) {
    let mut wrong = Vec::new();
    let name = format!("{} {precision:?}", r.name);
    let (tolerance, off_tables) = match precision {
        Precision::Double => (1e-12, 1e-10),
        Precision::Mixed => (1e-5, 1e-3),
        Precision::Float => (2e-3, f64::MAX),
    };
    let of_tables = Switches {
        precision,
        gpu_memory: Some(memory),
        ..gpu.switches()
    };
    let mut tables = bridge(process, &of_tables);
    let mut generated = bridge(
        process,
        &Switches {
            gpu_group: None,
            ..of_tables
        },
    );
    let batch = Batch::new(r);
    let start = Instant::now();
    let mut by = [0.0f64; 2];
    for (when, by) in ["at once", "settled"].into_iter().zip(&mut by) {
        for (ask, right) in [(Ask::PLAIN, &r.plain), (Ask::CHANNELS, &r.weighted)] {
            for nevt in [64, 61, 7, 1] {
                let answer = batch.first(nevt, ask, &mut generated);
                *by = by.max(worst(&answer.squared, &right[..nevt]));
                if precision != Precision::Double {
                    continue;
                }
                let mut right = answer.clone();
                let (helicity, color) = match ask.channels {
                    true => (&r.weighted_helicity, r.color.clone()),
                    false => (&r.plain_helicity, vec![0; nevt]),
                };
                right.helicity = helicity[..nevt].to_vec();
                right.color = color[..nevt].to_vec();
                if let Some(what) = answer.differs(&right, 0.0) {
                    wrong.push(format!("{name}: {what}, {nevt} events, {ask:?}, {when}"));
                }
            }
        }
        generated.wait_for_compiler();
    }
    let seconds = start.elapsed().as_secs_f64();
    for (when, by) in ["at once", "settled"].into_iter().zip(by) {
        if by > tolerance {
            wrong.push(format!("{name}: {by:.1e} from the reference, {when}"));
        }
    }
    let there = [Ask::PLAIN, Ask::CHANNELS].map(|ask| is_generated(&generated, ask));
    let batch = Batch::random(process, EVENTS);
    let mut off: f64 = 0.0;
    for ask in Ask::ALL {
        let mut answer = batch.run(ask, &mut generated);
        let right = batch.run(ask, &mut tables);
        off = off.max(worst(&answer.squared, &right.squared));
        if precision != Precision::Double {
            // A choice may fall to the other side of an edge.
            answer.helicity.clone_from(&right.helicity);
            answer.color.clone_from(&right.color);
        }
        if let Some(what) = answer.differs(&right, off_tables) {
            wrong.push(format!("{name}: {what} differ from the tables, {ask:?}"));
        }
    }
    let mut bad = batch.clone();
    let event = EVENTS / 3;
    for later in [event, event + 1000] {
        bad.momenta[later * 4 * batch.legs] = f64::NAN;
    }
    for ask in [Ask::PLAIN, Ask::CHANNELS] {
        match run(&mut generated, &bad.events(ask)) {
            Err(Error::BadMomentum { event: named, .. }) if named == event => {}
            other => wrong.push(format!(
                "{name}: event {event} is bad: {:?}",
                other.map(drop)
            )),
        }
    }
    let line = format!(
        "{name:38} {:5} {:5} {:7.1e} {:7.1e} {off:7.1e} {seconds:5.1}",
        there[0], there[1], by[0], by[1]
    );
    (wrong, line)
}

#[test]
fn generated_code_agrees_before_and_after_it_is_there() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let precisions = [Precision::Double, Precision::Mixed, Precision::Float];
    let cases = cases();
    let tasks = cases.iter().flat_map(|case| precisions.map(|p| (case, p)));
    let tasks: Vec<_> = tasks.collect();
    println!(
        "code without and with channels is generated; worst from the reference at once and later; \
         from the tables on {EVENTS} random events; seconds until it was there"
    );
    // The compiler takes most of the time, on one core for each program. Each thread has two bridges on the GPU.
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = cores.min(gpu.free() / MEMORY).max(1);
    // Otherwise some would take what others need.
    let memory = 0.4 / threads as f64;
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&((r, process), precision)) =
                    tasks.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let (found, line) = compare(&gpu, r, process, precision, memory);
                    println!("{line}");
                    wrong.lock().expect("nobody panicked").extend(found);
                }
            });
        }
    });
    conclude(&wrong.into_inner().expect("nobody panicked"));
}
