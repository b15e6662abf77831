//! All reference files in all precisions, and more events compared with the CPU.

use crate::common::worst;
use crate::events::{Ask, Batch, Outcome, differing};
use crate::support::{Gpu, cases, conclude, on_cpu};
use mebridge::runtime::Precision;
use std::time::Instant;

/// Random events of each process, against the CPU.
const EVENTS: usize = 4096;
/// Largest allowed difference: for some events terms cancel more than in the reference files.
const RANDOM_TOLERANCE: f64 = 1e-10;

#[test]
fn reference_files_agree_and_choices_are_those_of_the_cpu() {
    let Some(gpu) = Gpu::get() else {
        return;
    };
    let cases = cases();
    println!(
        "worst relative difference from the reference without channel and with (d), in mixed and single precision; \
         from the CPU on {EVENTS} random events; choices that differ from either; seconds on the CPU and in all"
    );
    println!(
        "{:30} {:>4} {:>7} {:>7} {:>7} {:>7} {:>7} {:>3} {:>5} {:>5}",
        "process", "good", "d", "d chan", "m", "f", "random", "cho", "cpu", "all"
    );
    let mut wrong = Vec::new();
    let mut overall = [0.0f64; 5];
    for (r, process) in &cases {
        let start = Instant::now();
        let batch = Batch::new(r);
        let [mut plain, mut weighted, mut mixed, mut float, mut random] = [0.0f64; 5];
        let mut choices = 0;
        let mut fail = |what: String| wrong.push(format!("{}: {what}", r.name));
        for (precision, nevts) in [
            (Precision::Double, &[64, 61, 7, 1][..]),
            (Precision::Mixed, &[64, 13]),
            (Precision::Float, &[64, 13]),
        ] {
            for &nevt in nevts {
                let mut bridge = gpu.bridge(process, precision);
                let a = batch.first(nevt, Ask::PLAIN, &mut bridge);
                let b = batch.first(nevt, Ask::CHANNELS, &mut bridge);
                let by = [
                    worst(&a.squared, &r.plain[..nevt]),
                    worst(&b.squared, &r.weighted[..nevt]),
                ];
                match precision {
                    Precision::Double => {
                        plain = plain.max(by[0]);
                        weighted = weighted.max(by[1]);
                        choices += differing(&a.helicity, &r.plain_helicity[..nevt])
                            + differing(&a.color, &vec![0; nevt])
                            + differing(&b.helicity, &r.weighted_helicity[..nevt])
                            + differing(&b.color, &r.color[..nevt]);
                    }
                    Precision::Mixed => mixed = mixed.max(by[0]).max(by[1]),
                    Precision::Float => float = float.max(by[0]).max(by[1]),
                }
                if bridge.good_helicities() != Some(r.good_helicities) {
                    let (good, right) = (bridge.good_helicities(), r.good_helicities);
                    fail(format!(
                        "{good:?} good helicities of {right}, {nevt} events, {precision:?}"
                    ));
                }
            }
        }
        let batch = Batch::random(process, EVENTS);
        let mut on_gpu = gpu.bridge(process, Precision::Double);
        let mut cpu = on_cpu(process);
        let mut on_cpu_for = 0.0;
        for ask in Ask::ALL {
            let a = batch.run(ask, &mut on_gpu);
            let start = Instant::now();
            let b = batch.run(ask, &mut cpu);
            on_cpu_for += start.elapsed().as_secs_f64();
            random = random.max(worst(&a.squared, &b.squared));
            choices += a.other_choices(&b);
            if let Some(what) = a.differs(&b, RANDOM_TOLERANCE) {
                fail(format!("{what} differ from the CPU, {ask:?}"));
            }
        }
        println!(
            "{:30} {:>4} {plain:7.1e} {weighted:7.1e} {mixed:7.1e} {float:7.1e} {random:7.1e} {choices:3} {on_cpu_for:5.1} {:5.1}",
            r.name,
            r.good_helicities,
            start.elapsed().as_secs_f64()
        );
        let seen = [plain, weighted, mixed, float, random];
        for (worst, by) in overall.iter_mut().zip(seen) {
            *worst = worst.max(by);
        }
        let checks = [
            ("without channel", plain, 1e-12),
            ("with channel", weighted, 1e-12),
            ("in mixed precision", mixed, 1e-5),
            ("in single precision", float, 2e-3),
        ];
        for (what, by, limit) in checks {
            if by > limit {
                fail(format!("{by:.1e} {what}, and {limit:e} is allowed"));
            }
        }
        if choices > 0 {
            fail(format!("{choices} choices differ"));
        }
    }
    let [plain, weighted, mixed, float, random] = overall;
    println!(
        "{:30} {:>4} {plain:7.1e} {weighted:7.1e} {mixed:7.1e} {float:7.1e} {random:7.1e}",
        format!("worst of {}", cases.len()),
        ""
    );
    conclude(&wrong);
}

/// The comparisons of these tests detect wrong answers.
#[test]
fn wrong_answers_are_seen() {
    let right = Outcome {
        squared: vec![1.0, 2.0],
        helicity: vec![1, 2],
        color: vec![0, 3],
    };
    assert_eq!(right.differs(&right, 0.0), None);
    let mut off = right.clone();
    off.squared[1] *= 1.0 + 1e-9;
    assert_eq!(off.differs(&right, 1e-8), None);
    let message = off.differs(&right, 1e-10).expect("a difference");
    assert!(message.contains("event Some(1)"), "{message}");
    off.squared[1] = f64::NAN;
    assert!(off.differs(&right, 1.0).is_some());
    let mut other = right.clone();
    other.color[0] = 1;
    assert!(other.differs(&right, 1.0).is_some());
    assert!(right.first(1).differs(&right, 1.0).is_some());
    assert!(Outcome::none(2).differs(&right, 1.0).is_some());
}
