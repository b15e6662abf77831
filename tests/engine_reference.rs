//! The CPU engine against the reference files of real MG5aMC outputs, at every SIMD level and
//! precision, for whole and odd numbers of events, with and without channels.

mod common;

use common::{Reference, worst};
use mebridge::bridge::Bridge;
use mebridge::events::Answers;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::runtime::{Backend, Precision, Switches};
use mebridge::simd::Level;

struct Outcome {
    matrix_elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
    good: usize,
}

fn run(
    process: &Process,
    r: &Reference,
    nevt: usize,
    channels: bool,
    level: Level,
    precision: Precision,
) -> Outcome {
    let switches = Switches {
        backend: Backend::Cpu,
        simd: Some(level.name().to_owned()),
        precision,
        ..Switches::default()
    };
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
