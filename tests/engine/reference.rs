//! The CPU engine against the reference files of real MG5aMC outputs, at every SIMD level and
//! precision, for whole and odd numbers of events, with and without channels, and as a sampler's calls.

use crate::common::{self, Reference, worst};
use mebridge::bridge::Bridge;
use mebridge::events::Answers;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Precision, Switches};
use mebridge::sample::{Momenta, Rows, Sample, SampleAnswers};
use mebridge::simd::Level;

struct Outcome {
    matrix_elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
    good: usize,
}

/// The same events as a sample, each in the diagram of its channel: |M|^2 without and with the channel's share, and
/// the choices, counted from 1.
fn sampled(process: &Process, r: &Reference, nevt: usize, level: Level) -> (Vec<f64>, Outcome) {
    let switches = switches(level, Precision::Double);
    let card = process.model.default_card();
    let mut bridge = Bridge::new(process.clone(), &card, &switches, nevt).expect("bridge");
    let events = r.events(true).first(nevt);
    let diagram: Vec<i32> = r.channels[..nevt].iter().map(|c| c - 1).collect();
    let sample = Sample {
        momenta: Momenta::rows(events.momenta, process.legs.len()),
        g_s: events.g_s,
        random_helicity: events.random_helicity,
        random_color: events.random_color,
        random_diagram: events.random_color,
        helicity: None,
        diagram: Some(&diagram),
        diagrams: true,
    };
    let (mut plain, mut drawn) = (vec![0.0; nevt], vec![0; nevt]);
    let (mut helicity, mut color) = (vec![0; nevt], vec![0; nevt]);
    let diagrams = process.diagrams as usize;
    let mut shares = vec![0.0; nevt * diagrams];
    // SAFETY: as many rows as there is room for.
    let rows = unsafe { Rows::new(shares.as_mut_ptr(), nevt, diagrams, nevt) };
    let answers = SampleAnswers {
        matrix_elements: &mut plain,
        helicity: &mut helicity,
        color: &mut color,
        diagram: &mut drawn,
        amp2: Some(rows),
    };
    let bad = bridge.evaluate(&sample, answers).expect("a sample");
    assert_eq!(bad.count, 0, "{}", r.name);
    let share = |event: usize| shares[event + nevt * diagram[event] as usize];
    let weighted = (0..nevt).map(|event| plain[event] * share(event));
    let outcome = Outcome {
        matrix_elements: weighted.collect(),
        helicity: helicity.iter().map(|h| h + 1).collect(),
        color: color.iter().map(|c| c + 1).collect(),
        good: bridge.good_helicities().expect("good helicities"),
    };
    (plain, outcome)
}

fn switches(level: Level, precision: Precision) -> Switches {
    Switches {
        backend: BackendChoice::Cpu,
        simd: Some(level.name().to_owned()),
        precision,
        ..Switches::default()
    }
}

fn run(
    process: &Process,
    r: &Reference,
    nevt: usize,
    channels: bool,
    level: Level,
    precision: Precision,
) -> Outcome {
    let switches = switches(level, precision);
    let card = process.model.default_card();
    let mut bridge = Bridge::new(process.clone(), &card, &switches, nevt).expect("bridge");
    let events = r.events(channels).first(nevt);
    let mut matrix_elements = vec![0.0; nevt];
    let mut helicity = vec![0; nevt];
    let mut color = vec![0; nevt];
    let mut answers = Answers {
        matrix_elements: &mut matrix_elements,
        helicity: &mut helicity,
        color: &mut color,
    };
    bridge.run(&events, &mut answers).expect("run");
    let good = bridge.good_helicities().expect("good helicities");
    Outcome {
        matrix_elements,
        helicity,
        color,
        good,
    }
}

fn differing(a: &[i32], b: &[i32]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

#[test]
fn double_precision_agrees_to_1e_12_at_every_level() {
    let Some(references) = common::references() else {
        return;
    };
    println!("process, good helicities, worst without channel, with channel, choices");
    for r in &references {
        let process = import_directory(&r.directory).expect("import").remove(0);
        let (mut plain, mut weighted) = (0.0f64, 0.0f64);
        let mut choices = 0;
        for level in Level::supported() {
            for nevt in [64, 61, 7, 1] {
                let o = run(&process, r, nevt, false, level, Precision::Double);
                plain = plain.max(worst(&o.matrix_elements, &r.plain[..nevt]));
                choices += differing(&o.helicity, &r.plain_helicity[..nevt]);
                assert!(o.color.iter().all(|&c| c == 0), "{}", r.name);
                let o = run(&process, r, nevt, true, level, Precision::Double);
                weighted = weighted.max(worst(&o.matrix_elements, &r.weighted[..nevt]));
                choices += differing(&o.helicity, &r.weighted_helicity[..nevt]);
                choices += differing(&o.color, &r.color[..nevt]);
                assert_eq!(o.good, r.good_helicities, "{} at {level}", r.name);
            }
        }
        let (alone, o) = sampled(&process, r, 61, Level::best());
        plain = plain.max(worst(&alone, &r.plain[..61]));
        weighted = weighted.max(worst(&o.matrix_elements, &r.weighted[..61]));
        choices += differing(&o.helicity, &r.weighted_helicity[..61]);
        choices += differing(&o.color, &r.color[..61]);
        println!(
            "{:32} {:4} {plain:.1e} {weighted:.1e} {choices}",
            r.name, r.good_helicities
        );
        assert!(plain <= 1e-12, "{}: {plain:e} without channel", r.name);
        assert!(weighted <= 1e-12, "{}: {weighted:e} with channel", r.name);
        assert_eq!(choices, 0, "{}: choices differ", r.name);
    }
}

#[test]
fn mixed_and_single_precision_are_within_their_tolerance() {
    let Some(references) = common::references() else {
        return;
    };
    println!("process, worst in mixed and in single precision");
    for r in &references {
        let process = import_directory(&r.directory).expect("import").remove(0);
        let (mut mixed, mut single) = (0.0f64, 0.0f64);
        for level in Level::supported() {
            for (precision, w) in [
                (Precision::Mixed, &mut mixed),
                (Precision::Float, &mut single),
            ] {
                for nevt in [64, 13] {
                    let o = run(&process, r, nevt, false, level, precision);
                    *w = w.max(worst(&o.matrix_elements, &r.plain[..nevt]));
                    let o = run(&process, r, nevt, true, level, precision);
                    *w = w.max(worst(&o.matrix_elements, &r.weighted[..nevt]));
                    assert_eq!(o.good, r.good_helicities, "{} at {level}", r.name);
                }
            }
        }
        println!("{:32} {mixed:.1e} {single:.1e}", r.name);
        assert!(mixed <= 1e-5, "{}: {mixed:e} in mixed precision", r.name);
        assert!(single <= 2e-3, "{}: {single:e} in single precision", r.name);
    }
}
