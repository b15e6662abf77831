//! Several bridges on one GPU, and one bridge on several GPUs.

use crate::common::require;
use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, platform, some};
use mebridge::runtime::{Devices, Precision, Switches};
use std::sync::Mutex;

#[test]
fn bridges_of_several_threads_do_not_disturb_each_other() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let cases = some(&["gg_tt.P1_gg_ttx", "gg_ttg.P1_gg_ttxg"]);
    let wrong = Mutex::new(Vec::new());
    // Each process twice: four threads.
    std::thread::scope(|scope| {
        for (thread, (r, process)) in cases.iter().chain(&cases).enumerate() {
            let (gpu, wrong) = (&gpu, &wrong);
            scope.spawn(move || {
                let batch = Batch::random(process, 5000);
                let mut first = gpu.bridge(process, Precision::Double);
                let right =
                    [Ask::PLAIN, Ask::CHANNELS].map(|ask| (ask, batch.run(ask, &mut first)));
                // Bridges come and go while others run.
                for round in 0..10 {
                    let mut bridge = gpu.bridge(process, Precision::Double);
                    for (call, nevt) in [5000, 64, 1000, 33, 5000].into_iter().enumerate() {
                        let (ask, right) = &right[call % 2];
                        let answer = batch.first(nevt, *ask, &mut bridge);
                        if let Some(what) = answer.differs(&right.first(nevt), 1e-12) {
                            let name = &r.name;
                            let mut wrong = wrong.lock().expect("nobody panicked");
                            wrong.push(format!(
                                "{name}: {what} differ, thread {thread}, round {round}, call {call}"
                            ));
                        }
                    }
                }
            });
        }
    });
    conclude(&wrong.into_inner().expect("nobody panicked"));
}

#[test]
fn several_gpus_answer_as_one() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let count = mebridge::gpu::cuda::devices(platform()).expect("GPUs");
    if count == 1 {
        require::skipped("gpus", "there is one GPU");
        return;
    }
    require::used("gpus", count);
    let mut wrong = Vec::new();
    for (r, process) in &some(&["gg_tt.P1_gg_ttx", "gg_ttgg.P1_gg_ttxgg"]) {
        let batch = Batch::random(process, 40_000);
        let mut one = gpu.bridge(process, Precision::Double);
        let backwards: Vec<usize> = (0..count).rev().collect();
        for device in [
            Devices::All,
            Devices::These(backwards),
            Devices::These(vec![count - 1]),
        ] {
            let switches = Switches {
                device: device.clone(),
                ..gpu.switches()
            };
            let mut several = bridge(process, &switches);
            println!("{}: {}", r.name, several.target().name());
            for ask in [Ask::PLAIN, Ask::CHANNELS] {
                // Fewer events than GPUs, fewer than a block for each, and many.
                for nevt in [1, 31, 33, 100, 4097, 40_000] {
                    let right = batch.first(nevt, ask, &mut one);
                    if let Some(what) = batch.first(nevt, ask, &mut several).differs(&right, 1e-12)
                    {
                        wrong.push(format!(
                            "{}: {what} differ, {nevt} events, {device:?}",
                            r.name
                        ));
                    }
                }
            }
            let mut bad = batch.clone();
            let event = batch.len() - 5;
            bad.momenta[event * 4 * batch.legs] = f64::NAN;
            match crate::events::run(&mut several, &bad.events(Ask::PLAIN)) {
                Err(mebridge::Error::BadMomentum { event: named, .. }) if named == event => {}
                other => wrong.push(format!(
                    "{}: event {event} is bad: {:?}",
                    r.name,
                    other.map(drop)
                )),
            }
        }
    }
    conclude(&wrong);
}
