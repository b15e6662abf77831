//! The engine's report of its kernels and times, with separate times for amplitudes and colour sums.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, some};
use mebridge::backend::{AMPLITUDES, COLOR, Clocks};
use mebridge::runtime::{Precision, Switches};
use mebridge::target::Target;
use std::time::Instant;

/// Events of the measured call: one chunk, so that no two kernels run at the same time.
const EVENTS: usize = 32_768;

const TOPS: [&str; 4] = [
    "gg_tt.P1_gg_ttx",
    "gg_ttg.P1_gg_ttxg",
    "gg_ttgg.P1_gg_ttxgg",
    "gg_ttggg.P1_gg_ttxggg",
];

#[test]
fn kernels_and_phases_are_told() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (r, process) in &some(&TOPS) {
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
            bridge.wait_for_compiler();
            let right = batch.run(Ask::CHANNELS, &mut bridge);
            // By the kernels of all other calls, and by those with clocks in them; the first call with
            // clocks compiles.
            let measured = [Clocks::Phases, Clocks::Kernels].map(|clocks| {
                bridge.set_profile(clocks);
                batch.run(Ask::CHANNELS, &mut bridge);
                let before = bridge.timers();
                let start = Instant::now();
                let answer = batch.run(Ask::CHANNELS, &mut bridge);
                let seconds = start.elapsed().as_secs_f64();
                if let Some(what) = answer.differs(&right, 1e-12)
                    && precision == Precision::Double
                {
                    wrong.push(format!("{}: {what} differ with {clocks:?}", r.name));
                }
                (seconds, bridge.timers().since(&before))
            });
            let [(_, plain), (seconds, timers)] = measured;
            let kernels = bridge.kernels(true).expect("kernels");
            let Target::Gpu(gpus) = bridge.target() else {
                panic!("not on a GPU");
            };
            let properties = gpus.properties();
            let room = properties.threads_per_processor();
            let name = &r.name;
            println!(
                "{name} {precision:?}: {EVENTS} events with channels in {seconds:.4} s by the clock"
            );
            for (phase, time) in &timers.0 {
                println!("  {phase:32} {:.5} s", time.as_secs_f64());
            }
            let [amplitudes, color] = [AMPLITUDES, COLOR].map(|p| timers.duration(p).as_secs_f64());
            let both = amplitudes + color;
            let without = plain.duration(AMPLITUDES).as_secs_f64();
            println!(
                "  colour sums are {:.1} % of the two, which take {:.3} times as long as without clocks",
                100.0 * color / both,
                both / without
            );
            let divided = amplitudes > 0.0 && color > 0.0 && plain.duration(COLOR).is_zero();
            // Events of the driver are far apart, compared with what clocks cost.
            if !(divided && both > 0.5 * without && both < 3.0 * without) {
                wrong.push(format!(
                    "{} {precision:?}: {amplitudes} s and {color} s, {without} s without clocks",
                    r.name
                ));
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
