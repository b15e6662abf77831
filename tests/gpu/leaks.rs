//! Bridges that are made and deleted leak no memory, on the GPU or on the host.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, backend, is_child, number, platform, some};
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::gpu::Gpus;
use mebridge::process::Process;
use mebridge::runtime::Switches;
use mebridge::target::Target;
use std::time::{Duration, Instant};

const TEST: &str = "leaks::bridges_leave_nothing_behind";
/// Cycles before memory is compared: what is taken once and kept has been taken by then.
const FIRST: u64 = 100;
/// Events of a call.
const EVENTS: usize = 32;

/// Bytes of memory of this program that are in use.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

const STAGES: [&str; 6] = [
    "open the GPU",
    "bridge",
    "good helicities",
    "first call",
    "second call",
    "delete",
];

/// One bridge, and the time of each stage of its life.
fn cycle(process: &Process, switches: &Switches, batch: &Batch) -> [Duration; STAGES.len()] {
    let mut times = [Duration::ZERO; STAGES.len()];
    let mut last = Instant::now();
    let mut stage = 0;
    let mut lap = || {
        times[stage] = last.elapsed();
        last = Instant::now();
        stage += 1;
    };
    let gpus = Gpus::open(platform(), switches, Cache::new(&switches.cache)).expect("GPU");
    lap();
    let card = process.model.default_card();
    let machine = Target::Gpu(gpus);
    let mut bridge =
        Bridge::with_target(machine, process.clone(), &card, switches, EVENTS).expect("bridge");
    lap();
    bridge
        .find_good_helicities(&batch.events(Ask::PLAIN))
        .expect("good helicities");
    lap();
    batch.run(Ask::PLAIN, &mut bridge);
    lap();
    batch.run(Ask::CHANNELS, &mut bridge);
    lap();
    drop(bridge);
    lap();
    times
}

fn print(what: &str, times: &[[Duration; STAGES.len()]]) {
    let mean = |stage: usize| {
        let sum: Duration = times.iter().map(|t| t[stage]).sum();
        sum.as_secs_f64() * 1e3 / times.len() as f64
    };
    let each: Vec<String> = (0..STAGES.len())
        .map(|i| format!("{} {:.2}", STAGES[i], mean(i)))
        .collect();
    let all: f64 = (0..STAGES.len()).map(mean).sum();
    println!(
        "{what}, {} cycles, ms each: {all:.2} = {}",
        times.len(),
        each.join(", ")
    );
}

#[test]
fn bridges_leave_nothing_behind() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    if !is_child(TEST) {
        return gpu.child(TEST, &[]);
    }
    let Some((_, process)) = some(&["gg_tt.P1_gg_ttx"]).pop() else {
        return;
    };
    let switches = Switches {
        cache: mebridge::runtime::CachePlace::Folder(crate::support::cache()),
        backend: backend(),
        ..Switches::default()
    };
    let batch = Batch::random(&process, EVENTS);
    // Without another owner of the GPU's context.
    let times: Vec<_> = (0..4).map(|_| cycle(&process, &switches, &batch)).collect();
    print("the first bridge", &times[..1]);
    print("each with a context of its own", &times[1..]);

    gpu.driver();
    let cycles = number("MEBRIDGE_TEST_CYCLES", 10_000);
    let limit = Duration::from_secs(number("MEBRIDGE_TEST_SECONDS", 240));
    let start = Instant::now();
    let mut before = (gpu.free(), resident());
    let mut times = Vec::new();
    let mut done = 0;
    while done < cycles && start.elapsed() < limit {
        let time = cycle(&process, &switches, &batch);
        done += 1;
        if done <= FIRST {
            times.push(time);
            before = (gpu.free(), resident());
        }
        if done == FIRST {
            print("with the context there", &times);
        }
    }
    let after = (gpu.free(), resident());
    let seconds = start.elapsed().as_secs_f64();
    println!("{done} cycles in {seconds:.1} s");
    if done < cycles {
        println!("NOTE: {cycles} cycles were requested, and there was time for {done}");
    }
    let lost = before.0 as i64 - after.0 as i64;
    println!(
        "memory of the GPU: {lost} bytes fewer are free after {done} cycles than after {FIRST}"
    );
    assert!(lost.abs() <= 1 << 20, "{lost} bytes of the GPU's memory");
    if let (Some(before), Some(after)) = (before.1, after.1) {
        let grown = after as i64 - before as i64;
        println!("memory of the host: {grown} bytes more");
        assert!(grown < 20_000_000, "{grown} bytes of memory");
    }
    assert!(done > FIRST, "{done} cycles are too few to compare");
}
