//! Measures the time from a cold start to the first answer.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, backend, is_child, platform, some};
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::gpu::Gpus;
use mebridge::runtime::{CachePlace, Switches};
use mebridge::target::Target;
use std::time::Instant;

const TEST: &str = "cold::first_answers_take_this_long";
/// The process, and the folder of the cache.
const PROCESS: &str = "MEBRIDGE_TEST_COLD_PROCESS";
const CACHE: &str = "MEBRIDGE_TEST_COLD_CACHE";
/// Events of a call.
const EVENTS: usize = 16_384;

#[test]
fn first_answers_take_this_long() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    if is_child(TEST) {
        return child();
    }
    println!(
        "seconds: GPU opened, bridge, good helicities and recursion, first call of {EVENTS} events, second call"
    );
    for (r, _) in some(&[
        "gg_tt.P1_gg_ttx",
        "gg_ttgg.P1_gg_ttxgg",
        "gg_ttggg.P1_gg_ttxggg",
    ]) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().to_str().expect("a name in UTF-8");
        // Without a cache, with an empty one, and with what that one holds then.
        for place in ["", cache, cache] {
            gpu.child(TEST, &[(PROCESS, r.name.clone()), (CACHE, place.into())]);
        }
    }
}

fn child() {
    let name = std::env::var(PROCESS).expect("the process");
    let (_, process) = some(&[&name]).pop().expect("it is there");
    let place = std::env::var(CACHE).expect("the cache");
    let switches = Switches {
        backend: backend(),
        cache: match place.as_str() {
            "" => CachePlace::Off,
            folder => CachePlace::Folder(folder.into()),
        },
        ..Switches::default()
    };
    let kept = std::fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some());
    let batch = Batch::random(&process, EVENTS);
    let card = process.model.default_card();
    let begin = Instant::now();
    let mut times = Vec::new();
    let mut last = begin;
    let mut lap = || {
        times.push(format!("{:.3}", last.elapsed().as_secs_f64()));
        last = Instant::now();
    };
    let gpus = Gpus::open(platform(), &switches, Cache::new(&switches.cache)).expect("GPU");
    lap();
    let mut bridge =
        Bridge::with_target(Target::Gpu(gpus), process, &card, &switches, EVENTS).expect("bridge");
    lap();
    bridge
        .prepare(&batch.events(Ask::CHANNELS))
        .expect("prepared");
    lap();
    let answer = batch.run(Ask::CHANNELS, &mut bridge);
    lap();
    assert!(answer.squared.iter().all(|x| x.is_finite()));
    let first = begin.elapsed().as_secs_f64();
    batch.run(Ask::CHANNELS, &mut bridge);
    lap();
    let start = Instant::now();
    bridge.wait_for_compiler();
    let settled = start.elapsed().as_secs_f64();
    let start = Instant::now();
    batch.run(Ask::CHANNELS, &mut bridge);
    let last = start.elapsed().as_secs_f64();
    let cache = match (place.is_empty(), kept) {
        (true, _) => "without a cache",
        (_, false) => "with an empty cache",
        (_, true) => "from the cache",
    };
    println!(
        "{name} {cache}: first answer after {first:.3} s: {}; the compiler was done {settled:.3} s \
         later, then a call takes {last:.4} s",
        times.join(" + ")
    );
}
