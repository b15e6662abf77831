//! The CPU engine against the reference files of real MG5aMC outputs, at every SIMD level and
//! precision, for whole and odd numbers of events, with and without channels, and as a sampler's calls.

use crate::common::{self, Reference, worst};
use mebridge::bridge::Bridge;
use mebridge::events::Answers;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, CachePlace, Precision, Switches};
use mebridge::sample::{Outputs, Rows, Sample, SampleAnswers};
use mebridge::simd::Level;
use std::path::Path;

struct Outcome {
    matrix_elements: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
    good: usize,
}

/// The levels of this CPU, or those of them that `MEBRIDGE_TEST_LEVELS` names: under emulation, where a run of all
/// takes long, registers of another length concern some alone.
fn levels() -> Vec<Level> {
    let supported = Level::supported();
    let Ok(names) = std::env::var("MEBRIDGE_TEST_LEVELS") else {
        return supported;
    };
    let level = |name: &str| {
        let found = supported.iter().find(|level| level.name() == name);
        *found.unwrap_or_else(|| panic!("MEBRIDGE_TEST_LEVELS: no level {name} on this CPU"))
    };
    names.split(',').map(level).collect()
}

/// The largest differences of one level over all files.
struct Worst {
    level: Level,
    /// Without and with a channel, or in mixed and in single precision.
    differences: [f64; 2],
}

impl Worst {
    fn of_levels() -> Vec<Worst> {
        let of = |level| Worst {
            level,
            differences: [0.0; 2],
        };
        levels().into_iter().map(of).collect()
    }

    fn add(&mut self, which: usize, difference: f64) -> f64 {
        self.differences[which] = self.differences[which].max(difference);
        difference
    }
}

/// Printed for the summary of `make test-arm`, which looks for these lines.
fn tell(all: &[Worst], files: usize, what: [&str; 2]) {
    for Worst { level, differences } in all {
        println!(
            "level {level}: {files} reference files, worst {:.1e} {}, {:.1e} {}",
            differences[0], what[0], differences[1], what[1]
        );
    }
}

/// The same events as a sample, each in the diagram of its channel: |M|^2 without and with the channel's share, and
/// the choices, counted from 1.
fn sampled(
    process: &Process,
    r: &Reference,
    nevt: usize,
    switches: &Switches,
) -> (Vec<f64>, Outcome) {
    let card = process.model.default_card();
    let mut bridge = Bridge::new(process.clone(), &card, switches, nevt).expect("bridge");
    let events = r.events(true).first(nevt);
    let diagram: Vec<i32> = r.channels[..nevt].iter().map(|c| c - 1).collect();
    let sample = Sample {
        points: events.points(process.legs.len()),
        random_diagram: events.random_color,
        helicity: None,
        diagram: Some(&diagram),
        diagrams: true,
    };
    let (mut plain, mut drawn) = (vec![0.0; nevt], vec![0; nevt]);
    let (mut helicity, mut color) = (vec![0; nevt], vec![0; nevt]);
    let diagrams = process.diagrams as usize;
    let mut shares = vec![0.0; nevt * diagrams];
    // SAFETY: there is room for all rows.
    let rows = unsafe { Rows::new(shares.as_mut_ptr(), nevt, diagrams, nevt) };
    let answers = SampleAnswers {
        outputs: Outputs {
            matrix_elements: &mut plain,
            helicity: &mut helicity,
            color: &mut color,
        },
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

/// Plans are made once for all bridges of a process and taken from `plans` then.
fn switches(level: Level, precision: Precision, plans: &Path) -> Switches {
    Switches {
        backend: BackendChoice::Cpu,
        simd: Some(level.name().to_owned()),
        precision,
        cache: CachePlace::Folder(plans.to_owned()),
        ..Switches::default()
    }
}

fn run(
    process: &Process,
    r: &Reference,
    nevt: usize,
    channels: bool,
    switches: &Switches,
) -> Outcome {
    let card = process.model.default_card();
    let mut bridge = Bridge::new(process.clone(), &card, switches, nevt).expect("bridge");
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
    let plans = tempfile::tempdir().unwrap();
    let mut levels = Worst::of_levels();
    println!("process, good helicities, worst without channel, with channel, choices");
    for r in &references {
        let process = import_directory(&r.directory).expect("import").remove(0);
        let (mut plain, mut weighted) = (0.0f64, 0.0f64);
        let mut choices = 0;
        for worst_of in &mut levels {
            let level = worst_of.level;
            let switches = switches(level, Precision::Double, plans.path());
            for nevt in [64, 61, 7, 1] {
                let o = run(&process, r, nevt, false, &switches);
                let difference = worst(&o.matrix_elements, &r.plain[..nevt]);
                plain = plain.max(worst_of.add(0, difference));
                choices += differing(&o.helicity, &r.plain_helicity[..nevt]);
                assert!(o.color.iter().all(|&c| c == 0), "{}", r.name);
                let o = run(&process, r, nevt, true, &switches);
                let difference = worst(&o.matrix_elements, &r.weighted[..nevt]);
                weighted = weighted.max(worst_of.add(1, difference));
                choices += differing(&o.helicity, &r.weighted_helicity[..nevt]);
                choices += differing(&o.color, &r.color[..nevt]);
                assert_eq!(o.good, r.good_helicities, "{} at {level}", r.name);
            }
        }
        let best = levels.last_mut().expect("a level");
        let switches = switches(best.level, Precision::Double, plans.path());
        let (alone, o) = sampled(&process, r, 61, &switches);
        plain = plain.max(best.add(0, worst(&alone, &r.plain[..61])));
        weighted = weighted.max(best.add(1, worst(&o.matrix_elements, &r.weighted[..61])));
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
    tell(
        &levels,
        references.len(),
        ["without channel", "with channel, all choices the same"],
    );
}

#[test]
fn mixed_and_single_precision_are_within_their_tolerance() {
    let Some(references) = common::references() else {
        return;
    };
    let plans = tempfile::tempdir().unwrap();
    let mut levels = Worst::of_levels();
    println!("process, worst in mixed and in single precision");
    for r in &references {
        let process = import_directory(&r.directory).expect("import").remove(0);
        let mut both = [0.0f64; 2];
        for worst_of in &mut levels {
            let level = worst_of.level;
            for (which, precision) in [Precision::Mixed, Precision::Float].into_iter().enumerate() {
                let switches = switches(level, precision, plans.path());
                for nevt in [64, 13] {
                    let o = run(&process, r, nevt, false, &switches);
                    let plain = worst(&o.matrix_elements, &r.plain[..nevt]);
                    let o = run(&process, r, nevt, true, &switches);
                    let weighted = worst(&o.matrix_elements, &r.weighted[..nevt]);
                    both[which] = both[which].max(worst_of.add(which, plain.max(weighted)));
                    assert_eq!(o.good, r.good_helicities, "{} at {level}", r.name);
                }
            }
        }
        let [mixed, single] = both;
        println!("{:32} {mixed:.1e} {single:.1e}", r.name);
        assert!(mixed <= 1e-5, "{}: {mixed:e} in mixed precision", r.name);
        assert!(single <= 2e-3, "{}: {single:e} in single precision", r.name);
    }
    tell(
        &levels,
        references.len(),
        ["in mixed precision", "in single precision"],
    );
}
