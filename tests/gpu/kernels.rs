//! What the engine says of its kernels and of its time.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, some};
use mebridge::machine::Machine;
use mebridge::runtime::{Precision, Switches};
use std::time::Instant;

/// Events of the measured call: one chunk, so that no two kernels run at the same time.
const EVENTS: usize = 32_768;

#[test]
fn kernels_and_phases_are_told() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (r, process) in &some(&[
        "gg_tt.P1_gg_ttx",
        "gg_ttgg.P1_gg_ttxgg",
        "gg_ttggg.P1_gg_ttxggg",
    ]) {
        let batch = Batch::random(process, EVENTS);
        let precisions = [Precision::Double, Precision::Mixed, Precision::Float];
        // Without generated code and, where it is generated, with it.
        let kinds = precisions.map(|precision| [(precision, Some(0)), (precision, None)]);
        for (precision, gpu_group) in kinds.into_iter().flatten() {
            let switches = Switches {
                precision,
                gpu_group,
                ..gpu.switches()
            };
            let mut bridge = bridge(process, &switches);
            batch.run(Ask::CHANNELS, &mut bridge);
            bridge.settle();
            batch.run(Ask::CHANNELS, &mut bridge);
            bridge.set_profile(true);
            let start = Instant::now();
            batch.run(Ask::CHANNELS, &mut bridge);
            let seconds = start.elapsed().as_secs_f64();
            let timers = bridge.timers();
            let kernels = bridge.kernels(true).expect("kernels");
            let Machine::Gpu(gpus) = bridge.machine() else {
                panic!("not on a GPU");
            };
            let properties = gpus.properties();
            let room = properties.threads_per_processor();
            let name = &r.name;
            println!(
                "{name} {precision:?}: {EVENTS} events with channels in {seconds:.4} s by the clock"
            );
            for (phase, time) in &timers.0 {
                println!("  {phase:32} {:.4} s", time.as_secs_f64());
            }
            let running = timers.kernels().as_secs_f64();
            let flops = 2.0 * bridge.multiply_adds(true).expect("it has run") as f64;
            let rate = flops * EVENTS as f64 / running;
            let peak = properties.peak(precision != Precision::Float);
            let bandwidth = kernels.bytes as f64 * EVENTS as f64 / running;
            println!(
                "  {rate:.2e} flop/s, {:.1} % of the peak; at least {bandwidth:.2e} byte/s, {:.1} % of the peak",
                100.0 * rate / peak,
                100.0 * bandwidth / properties.bandwidth
            );
            for k in &kernels.each {
                println!(
                    "  {:24} {:3} launches of blocks of {:4} threads, {:3} registers, {:4} bytes local, {:6} shared, {} blocks: {:.1} %",
                    k.name,
                    k.launches,
                    k.threads,
                    k.registers,
                    k.local,
                    k.shared,
                    k.blocks,
                    100.0 * f64::from(k.blocks * k.threads) / f64::from(room)
                );
                let sound = (1..=255).contains(&k.registers)
                    && k.threads > 0
                    && k.launches > 0
                    && k.blocks > 0
                    && k.blocks * k.threads <= room
                    && k.shared <= properties.shared_per_processor;
                if !sound {
                    wrong.push(format!("{name} {precision:?}: {k:?}"));
                }
            }
            if !(running > 0.0 && running < seconds && rate < peak) {
                wrong.push(format!("{name} {precision:?}: kernels ran for {running} s of {seconds} s, {rate:e} flop/s, {bandwidth:e} byte/s"));
            }
        }
    }
    conclude(&wrong);
}
