//! Numbers of threads per block, chosen from the times of the first large launches.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, some};
use mebridge::backend::{Clocks, Kernel};
use mebridge::bridge::Bridge;
use mebridge::process::Process;
use mebridge::runtime::{CachePlace, Precision, Switches};
use std::path::Path;
use std::time::Duration;

/// Number of calls until everything has been tried, and some more.
const CALLS: usize = 10;

/// Events of a call: enough for kernels with a thread for each event, where an event is little work.
fn events(process: &Process) -> usize {
    match process.diagrams {
        0..10 => 1 << 20,
        10..100 => 1 << 18,
        _ => 1 << 16,
    }
}

/// The kernels that a bridge reports.
fn kernels(bridge: &Bridge, ask: Ask) -> Vec<Kernel> {
    bridge.kernels(ask.channels).expect("kernels").each
}

/// The shortest time of the kernels of a call.
fn fastest(bridge: &mut Bridge, batch: &Batch, ask: Ask) -> Duration {
    bridge.set_profile(Clocks::Phases);
    let call = |bridge: &mut Bridge| {
        let before = bridge.timers().kernels();
        batch.run(ask, bridge);
        bridge.timers().kernels().saturating_sub(before)
    };
    let times: Vec<Duration> = (0..5).map(|_| call(bridge)).collect();
    bridge.set_profile(Clocks::None);
    times.into_iter().min().expect("some")
}

#[test]
fn threads_of_blocks_are_chosen_and_remembered() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (r, process) in &some(&[
        "gg_tt.P1_gg_ttx",
        "gg_ttg.P1_gg_ttxg",
        "gg_ttgg.P1_gg_ttxgg",
    ]) {
        let batch = Batch::random(process, events(process));
        for precision in [Precision::Double, Precision::Float] {
            // Kernels that go through tables, and generated code.
            for group in [Some(0), None] {
                let cache = tempfile::tempdir().expect("a temporary folder");
                let about = format!("{} {precision:?} GPUGROUP {group:?}", r.name);
                wrong.extend(
                    tune(&gpu, process, &batch, precision, group, cache.path())
                        .into_iter()
                        .map(|what| format!("{about}: {what}")),
                );
            }
        }
    }
    conclude(&wrong);
}

/// Returns the errors; prints the candidates and the choice.
fn tune(
    gpu: &Gpu,
    process: &Process,
    batch: &Batch,
    precision: Precision,
    group: Option<usize>,
    cache: &Path,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let open = |tune: bool| {
        let switches = Switches {
            precision,
            gpu_group: group,
            gpu_tune: Some(tune),
            cache: CachePlace::Folder(cache.to_owned()),
            ..gpu.switches()
        };
        let mut bridge = bridge(process, &switches);
        for ask in [Ask::PLAIN, Ask::CHANNELS] {
            // Generated code is there afterwards, and has been compared with the tables.
            batch.first(32, ask, &mut bridge);
            bridge.wait_for_compiler();
            batch.first(32, ask, &mut bridge);
        }
        bridge
    };
    let mut plain = open(false);
    let mut tuned = open(true);
    for ask in [Ask::PLAIN, Ask::CHANNELS] {
        let right = batch.run(ask, &mut plain);
        for call in 0..CALLS {
            if let Some(what) = batch.run(ask, &mut tuned).differs(&right, 0.0) {
                wrong.push(format!("{what} differ in call {call}, {ask:?}"));
            }
        }
        let [before, after] =
            [&mut plain, &mut tuned].map(|bridge| fastest(bridge, batch, ask).as_secs_f64());
        println!(
            "{} {precision:?} GPUGROUP {group:?} {ask:?}, {} events: {before:.3e} s with constants, {after:.3e} s tuned",
            process.name,
            batch.g_s.len()
        );
        let defaults = kernels(&plain, ask);
        for (kernel, default) in kernels(&tuned, ask).iter().zip(&defaults) {
            print!(
                "  {:<24} {:>4} threads of {}",
                kernel.name, kernel.threads, default.threads
            );
            for (threads, seconds) in &kernel.tried {
                print!("  {threads}: {seconds:.3e} s");
            }
            println!();
            if !default.tried.is_empty() {
                wrong.push(format!("{} was tuned in spite of the switch", kernel.name));
            }
        }
        if kernels(&tuned, ask).iter().all(|k| k.tried.is_empty()) {
            wrong.push(format!("nothing was tried, {ask:?}"));
        }
    }
    let mut second = open(true);
    for ask in [Ask::PLAIN, Ask::CHANNELS] {
        let threads = |bridge: &Bridge| {
            let kernels = kernels(bridge, ask).into_iter();
            kernels.map(|k| (k.name, k.threads)).collect::<Vec<_>>()
        };
        if threads(&second) != threads(&tuned) {
            wrong.push(format!("not remembered, {ask:?}"));
        }
        let right = batch.run(ask, &mut plain);
        if let Some(what) = batch.run(ask, &mut second).differs(&right, 0.0) {
            wrong.push(format!("{what} differ with remembered sizes, {ask:?}"));
        }
    }
    wrong
}
