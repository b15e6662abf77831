//! Launches that are recorded and replayed, and calls of changing numbers of events.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, on_cpu, some};
use mebridge::backend::Clocks;
use mebridge::runtime::{Precision, Switches};

/// Events of one call after the other; the memory for them grows on the way.
const NEVT: [usize; 14] = [
    32, 1, 33, 64, 7, 4096, 64, 31, 4095, 20_000, 100, 4096, 1, 20_000,
];

#[test]
fn answers_do_not_depend_on_graphs_or_on_earlier_calls() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (r, process) in &some(&[
        "gg_tt.P1_gg_ttx",
        "gg_ttg.P1_gg_ttxg",
        "nobm_pp_ttW.P1_gu_ttxwpd",
        "gg_ttgg.P1_gg_ttxgg",
    ]) {
        let batch = Batch::random(process, 20_000);
        let mut cpu = on_cpu(process);
        let right = [Ask::PLAIN, Ask::CHANNELS].map(|ask| (ask, batch.run(ask, &mut cpu)));
        for (precision, tolerance) in [(Precision::Double, 1e-10), (Precision::Mixed, 1e-3)] {
            for graphs in [false, true] {
                for profile in [Clocks::None, Clocks::Phases, Clocks::Kernels] {
                    let switches = Switches {
                        precision,
                        gpu_graphs: Some(graphs),
                        ..gpu.switches()
                    };
                    let mut bridge = bridge(process, &switches);
                    bridge.set_profile(profile);
                    let mut first: [Option<crate::events::Outcome>; 2] = [None, None];
                    for (i, &nevt) in NEVT.iter().rev().chain(&NEVT).enumerate() {
                        let which = i % 3 % 2;
                        let (ask, right) = &right[which];
                        let mut answer = batch.first(nevt, *ask, &mut bridge);
                        // Whole and parts of the same call agree far better than with the CPU.
                        let earlier = first[which].get_or_insert_with(|| answer.clone());
                        let common = nevt.min(earlier.squared.len());
                        if let Some(what) =
                            answer.first(common).differs(&earlier.first(common), 1e-12)
                            && precision == Precision::Double
                        {
                            wrong.push(format!("{}: {what} differ from an earlier call, {nevt} events, graphs {graphs}", r.name));
                        }
                        if precision != Precision::Double {
                            // A choice may fall to the other side of an edge.
                            answer.helicity.clone_from(&right.first(nevt).helicity);
                            answer.color.clone_from(&right.first(nevt).color);
                        }
                        if let Some(what) = answer.differs(&right.first(nevt), tolerance) {
                            wrong.push(format!(
                                "{}: {what} differ, call {i} of {nevt} events, graphs {graphs}, profile {profile:?}, {precision:?}",
                                r.name
                            ));
                        }
                    }
                }
            }
        }
        println!("{}: {} calls each way", r.name, 2 * NEVT.len());
    }
    conclude(&wrong);
}
