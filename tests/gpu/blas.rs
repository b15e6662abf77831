//! The colour sum by cuBLAS.

use crate::common::worst;
use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, on_cpu, some};
use mebridge::runtime::{Precision, Switches};
use std::time::Instant;

/// Random events of each process.
const EVENTS: usize = 4096;

#[test]
fn colour_sums_by_matrix_products_agree() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    println!("worst relative difference from the CPU, and seconds of the second call");
    for (r, process) in &some(&[
        "gg_tt.P1_gg_ttx",
        "gg_ttgg.P1_gg_ttxgg",
        "gg_ttggg.P1_gg_ttxggg",
        "smeft_gg_tttt.P1_gg_ttxttx",
    ]) {
        // More events where little is to do.
        let nevt = if process.diagrams > 500 { 256 } else { EVENTS };
        let batch = Batch::random(process, nevt);
        let mut cpu = on_cpu(process);
        let right = [Ask::PLAIN, Ask::CHANNELS].map(|ask| (ask, batch.run(ask, &mut cpu)));
        for (precision, tf32, tolerance) in [
            (Precision::Double, false, 1e-10),
            (Precision::Mixed, false, 1e-3),
            (Precision::Mixed, true, 1e-2),
        ] {
            for (blas, graphs) in [(false, false), (true, false), (true, true)] {
                let switches = Switches {
                    precision,
                    blas_color_sum: Some(blas),
                    tf32: Some(tf32),
                    gpu_graphs: Some(graphs),
                    ..gpu.switches()
                };
                let mut bridge = bridge(process, &switches);
                for (ask, right) in &right {
                    batch.run(*ask, &mut bridge);
                    let start = Instant::now();
                    let mut answer = batch.run(*ask, &mut bridge);
                    let seconds = start.elapsed().as_secs_f64();
                    println!(
                        "{:30} {precision:?} TF32 {tf32} BLAS {blas} graphs {graphs} channels {}: {:.1e}, {seconds:.4} s",
                        r.name,
                        ask.channels,
                        worst(&answer.squared, &right.squared)
                    );
                    if precision != Precision::Double {
                        // A choice may fall to the other side of an edge.
                        answer.helicity.clone_from(&right.helicity);
                        answer.color.clone_from(&right.color);
                    }
                    if let Some(what) = answer.differs(right, tolerance) {
                        wrong.push(format!(
                            "{}: {what} differ, {precision:?}, TF32 {tf32}, BLAS {blas}, graphs {graphs}, {ask:?}",
                            r.name
                        ));
                    }
                }
                let kernels = bridge.kernels(true).expect("kernels").each;
                if kernels.iter().any(|kernel| kernel.name == "color_dots") != blas {
                    wrong.push(format!("{}: BLAS {blas} was not heeded", r.name));
                }
            }
        }
    }
    conclude(&wrong);
}
