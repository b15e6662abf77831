//! A call in many chunks gives the same as a call in one chunk, and reports a bad event by its number in the call.

use crate::events::{Ask, Batch, Outcome, run};
use crate::support::{Gpu, bridge, conclude, some};
use mebridge::Error;
use mebridge::bridge::Bridge;
use mebridge::process::Process;
use mebridge::runtime::Switches;

/// Events of the large call: more than the engine puts into one chunk even if there is room.
const EVENTS: usize = 100_000;
/// Events of each of the small calls.
const SMALL: usize = 4096;

/// A bridge with the largest number of chunks, and the memory that they may use.
fn in_small_chunks(gpu: &Gpu, process: &Process, batch: &Batch) -> (Bridge, usize) {
    let mut bytes = 1 << 20;
    loop {
        let switches = Switches {
            gpu_memory: Some(bytes as f64 / gpu.free() as f64),
            ..gpu.switches()
        };
        let mut bridge = bridge(process, &switches);
        match run(&mut bridge, &batch.events(Ask::PLAIN).first(64)) {
            Ok(_) => return (bridge, bytes),
            // One block of events does not fit.
            Err(Error::GpuMemory { .. }) => bytes *= 2,
            Err(error) => panic!("{error}"),
        }
    }
}

fn differences(
    batch: &Batch,
    small: &mut Bridge,
    large: &mut Bridge,
    mut fail: impl FnMut(String),
) {
    for ask in Ask::ALL {
        // Calls of one chunk each.
        let mut right = Outcome::default();
        let events = batch.events(ask);
        for first in (0..batch.len()).step_by(SMALL) {
            let part = events.part(first, SMALL.min(batch.len() - first));
            right.extend(run(large, &part).expect("run"));
        }
        for (name, bridge) in [("small chunks", &mut *small), ("large chunks", &mut *large)] {
            if let Some(what) = batch.run(ask, bridge).differs(&right, 1e-12) {
                fail(format!("{what} differ in {name}, {ask:?}"));
            }
        }
    }
}

/// Returns the event for which a call is refused.
fn refused(batch: &Batch, ask: Ask, bridge: &mut Bridge) -> String {
    match run(bridge, &batch.events(ask)) {
        Err(Error::BadMomentum { event, .. }) => event.to_string(),
        Err(error) => format!("'{error}'"),
        Ok(_) => "no event".into(),
    }
}

fn bad_events(batch: &Batch, bridge: &mut Bridge, mut fail: impl FnMut(String)) {
    let n = batch.len();
    let energy = |event: usize| event * batch.legs * 4;
    let size = 4 * batch.legs;
    // (which events, what becomes of an energy)
    let bad: [(&[usize], f64); 6] = [
        (&[n * 3 / 5 + 7], f64::NAN),
        (&[n / 2 + 1, n * 3 / 4 + 3], f64::NAN),
        (&[n - 1], -1.0),
        (&[0], f64::INFINITY),
        (&[n / 3], 0.0),
        // Off its mass shell.
        (&[n * 4 / 5], 5000.0),
    ];
    for (i, (events, value)) in bad.into_iter().enumerate() {
        let mut bad = batch.clone();
        for &event in events {
            // Another leg each time.
            bad.momenta[energy(event) + 4 * i % size] = value;
        }
        for ask in [Ask::PLAIN, Ask::CHANNELS] {
            let message = refused(&bad, ask, bridge);
            if message != events[0].to_string() {
                fail(format!(
                    "events {events:?} have an energy of {value}, and {message} was named, {ask:?}"
                ));
            }
        }
    }
}

#[test]
fn many_chunks_are_as_good_as_one() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (r, process) in &some(&[
        "gg_tt.P1_gg_ttx",
        "pp_tt012j.P2_gu_ttxgu",
        "gg_ttgg.P1_gg_ttxgg",
    ]) {
        let batch = Batch::random(process, EVENTS);
        let (mut small, bytes) = in_small_chunks(&gpu, process, &batch);
        // Momenta, g_s, random numbers and answers alone.
        let least = EVENTS * (32 * batch.legs + 3 * 8 + 16);
        println!(
            "{}: chunks within {bytes} bytes, {EVENTS} events need far more than {least}",
            r.name
        );
        if 3 * bytes > least {
            wrong.push(format!(
                "{}: it takes {bytes} bytes to run at all, so there are few chunks",
                r.name
            ));
        }
        let mut large = bridge(process, &gpu.switches());
        differences(&batch, &mut small, &mut large, |what| {
            wrong.push(format!("{}: {what}", r.name))
        });
        for (name, bridge) in [("small chunks", &mut small), ("large chunks", &mut large)] {
            bad_events(&batch, bridge, |what| {
                wrong.push(format!("{}, {name}: {what}", r.name))
            });
        }
        // A refused call has no later effect.
        differences(&batch, &mut small, &mut large, |what| {
            wrong.push(format!("{}, after bad events: {what}", r.name));
        });
    }
    conclude(&wrong);
}
