//! Processes in their colour-ordered form.

use crate::events::{Ask, Batch};
use crate::support::{Gpu, bridge, conclude, on_cpu};
use mebridge::generate;
use mebridge::process::Process;
use mebridge::runtime::{Precision, Switches};

const IGRAPH: Ask = Ask {
    channels: false,
    igraph: true,
};

/// Where no two legs are nearly parallel and none is soft: the first of many events for which invariants of all pairs are
/// at least this part of the whole. Elsewhere terms cancel, and orders of additions tell.
fn ordinary(process: &Process, nevt: usize) -> Batch {
    const LEAST: f64 = 2e-3;
    let mut all = Batch::random(process, 400 * nevt + 20_000);
    let legs = process.legs.len();
    let far = |event: &[f64]| {
        let of = |leg: usize| &event[4 * leg..4 * leg + 4];
        let product = |a: &[f64], b: &[f64]| a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
        let whole = product(of(0), of(1));
        let pairs = (0..legs).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs
            .into_iter()
            .all(|(a, b)| product(of(a), of(b)) > LEAST * whole)
    };
    let events = all.momenta.chunks_exact(4 * legs);
    let momenta: Vec<f64> = events
        .filter(|e| far(e))
        .take(nevt)
        .flatten()
        .copied()
        .collect();
    let found = momenta.len() / (4 * legs);
    assert!(found * 2 > nevt, "{found} of {nevt} events");
    all.momenta = momenta;
    for numbers in [
        &mut all.g_s,
        &mut all.random_helicity,
        &mut all.random_color,
    ] {
        numbers.truncate(found);
    }
    all.channels.truncate(found);
    all.igraph.truncate(found);
    all
}

/// Against the CPU: the helicities of all precisions, and in double precision all choices; from two to seven
/// insertions.
#[test]
fn colour_ordered_forms_agree_with_the_cpu() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (text, nevt) in [
        ("g g > g g", 3000),
        ("g g > g g g", 3000),
        ("g g > t t~ g g", 3000),
        ("u u~ > g g g", 3000),
        ("u~ g > u~ g g g", 3000),
        ("g g > g g g g", 1000),
        ("g g > t t~ g g g", 1000),
        ("g g > g g g g g", 300),
        ("g g > t t~ g g g g", 300),
        ("g g > t t~ g g g g g", 33),
        ("g g > g g g g g g", 16),
        ("u u~ > a g g", 3000),
        ("u u~ > e+ e- g g", 3000),
        ("u d~ > w+ g g g", 1000),
        ("d d~ > z g g g", 1000),
        ("g u > e+ e- u g g", 1000),
        ("d~ u > e+ ve g g g", 1000),
        ("u u~ > e+ e- g g g g", 300),
        ("d d~ > z g g g g g", 33),
    ] {
        let process = generate(text).expect("generated").remove(0);
        let process = process.as_color_ordered().expect("a colour-ordered form");
        wrong.extend(compare(&gpu, &process, nevt, false));
    }
    conclude(&wrong);
}

/// With a share of the memory that holds a block of events in several runs of helicities, and with other sizes of
/// calls.
#[test]
fn runs_of_helicities_agree_with_the_cpu() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (text, bytes) in [
        ("g g > t t~ g g g", 20e6),
        ("g g > g g g g", 5e6),
        ("d d~ > z g g g g", 4e6),
    ] {
        let process = generate(text).expect("generated").remove(0);
        let process = process.as_color_ordered().expect("a colour-ordered form");
        let batch = ordinary(&process, 200);
        let nevt = batch.len();
        let right = batch.run(IGRAPH, &mut on_cpu(&process));
        let switches = Switches {
            gpu_memory: Some(bytes / gpu.free() as f64),
            ..gpu.switches()
        };
        let mut little = bridge(&process, &switches);
        for nevt in [1, 32, 33, nevt] {
            let answer = batch.first(nevt, IGRAPH, &mut little);
            if let Some(what) = answer.differs(&right.first(nevt), 1e-11) {
                wrong.push(format!("{text}, {nevt} events: {what}"));
            }
        }
        let kernels = little.kernels(false).expect("kernels").each;
        let sums = kernels
            .iter()
            .find(|kernel| ["color_ordered_sum", "few_color_sums"].contains(&&*kernel.name));
        assert!(sums.is_some_and(|kernel| kernel.launches > 1), "{text}");
    }
    conclude(&wrong);
}

/// Two quark lines, whose diagrams are cut between them, by tables and by generated code; some with bosons and leptons.
#[test]
fn two_quark_lines_agree_with_the_cpu() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let mut wrong = Vec::new();
    for (text, nevt) in [
        ("u u~ > e+ e- d d~ g", 3000),
        ("u u > e+ e- u u g", 3000),
        ("u u~ > z d d~ g g", 1000),
        ("u u~ > e+ e- d d~ g g", 1000),
        ("u u~ > t t~ g g g", 1000),
        ("u u > u u g g g", 1000),
    ] {
        let process = generate(text).expect("generated").remove(0);
        for generated in [false, true] {
            wrong.extend(compare(&gpu, &process, nevt, generated));
        }
    }
    conclude(&wrong);
}

/// Differences from the CPU, with tables or generated code.
fn compare(gpu: &Gpu, process: &Process, nevt: usize, generated: bool) -> Vec<String> {
    let text = &process.name;
    let mut wrong = Vec::new();
    let batch = ordinary(process, nevt);
    let mut cpu = on_cpu(process);
    let right = [Ask::PLAIN, IGRAPH].map(|ask| (ask, batch.run(ask, &mut cpu)));
    for (precision, tolerance) in [
        (Precision::Double, 1e-11),
        // The CPU sums over colours in single precision then, a GPU does not.
        (Precision::Mixed, 1e-4),
        (Precision::Float, 1e-2),
    ] {
        let switches = Switches {
            precision,
            gpu_group: if generated { None } else { Some(0) },
            ..gpu.switches()
        };
        let mut on_gpu = bridge(process, &switches);
        for (ask, right) in &right {
            if generated {
                batch.run(*ask, &mut on_gpu);
                on_gpu.wait_for_compiler();
            }
            let mut answer = batch.run(*ask, &mut on_gpu);
            println!(
                "{text} {precision:?} {ask:?} generated {generated}: {:.1e}",
                crate::common::worst(&answer.squared, &right.squared)
            );
            if precision != Precision::Double {
                // Choices may differ where a random number is near their limit.
                answer.helicity.clone_from(&right.helicity);
                answer.color.clone_from(&right.color);
            }
            if let Some(what) = answer.differs(right, tolerance) {
                wrong.push(format!("{text} {precision:?} {ask:?}: {what}"));
            }
        }
    }
    wrong
}
