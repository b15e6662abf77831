//! `Bridge::one_event`: each helicity separately, compared with the definition of the process.

use crate::common;
use mebridge::bridge::Bridge;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::process::evaluate::NumericProcess;
use mebridge::process::external::external;
use mebridge::runtime::{CachePlace, Switches};
use num_complex::Complex64;
use std::path::Path;

/// A process with one row of the helicity table alone.
fn only(process: &Process, row: usize) -> Process {
    let mut one = process.clone();
    one.helicities = vec![process.helicities[row].clone()];
    one
}

#[track_caller]
fn close(a: f64, b: f64, scale: f64) {
    assert!((a - b).abs() <= 1e-12 * scale, "{a} {b}");
}

fn check(process: &Process, momenta: &[[f64; 4]], g: f64) {
    let card = process.model.default_card();
    for level in ["none", "auto"] {
        let mut switches = Switches {
            cache: CachePlace::Off,
            ..Switches::default()
        };
        switches.set("SIMD", level.into()).unwrap();
        switches.set("BACKEND", "cpu".into()).unwrap();
        let mut bridge = Bridge::new(process.clone(), &card, &switches, 4).unwrap();
        let flat: Vec<f64> = momenta.iter().flatten().copied().collect();
        let all = process.evaluate(momenta, g, &card);
        let total: f64 = all.contributions.iter().map(|x| x.abs()).sum();
        let amp2: f64 = all.amp2.iter().sum();
        let jamp2: f64 = all.jamp2.iter().sum();
        let diagrams = process.diagrams as usize;
        let flows = process.color_flows();
        for every in [false, true, false] {
            let event = bridge.one_event(&flat, g, every).unwrap().clone();
            assert_eq!(event.contributions.len(), process.helicities.len());
            // A second call gives the same.
            assert_eq!(&event, bridge.one_event(&flat, g, every).unwrap());
            for row in 0..process.helicities.len() {
                let plain = only(process, row).evaluate(momenta, g, &card);
                let iden = f64::from(process.iden);
                close(
                    event.contributions[row],
                    plain.contributions[0] * iden,
                    total * iden,
                );
                if !every && bridge.is_good(row) == Some(false) {
                    assert!(
                        event.amp2[row * diagrams..][..diagrams]
                            .iter()
                            .all(|&x| x == 0.0)
                    );
                    continue;
                }
                let mut of_diagram = vec![0.0; diagrams];
                for (entry, x) in process.channels.amp2.iter().zip(&plain.amp2) {
                    of_diagram[entry.diagram as usize - 1] += x;
                }
                for (a, b) in event.amp2[row * diagrams..].iter().zip(&of_diagram) {
                    close(*a, *b, amp2);
                }
                for (a, b) in event.jamp2[row * flows..].iter().zip(&plain.jamp2) {
                    close(*a, *b, jamp2);
                }
            }
        }
        jamps_are_those_of_the_diagrams(&mut bridge, process, momenta, g);
        // Another event has another answer, and invalid momenta are refused.
        let before = bridge.one_event(&flat, g, false).unwrap().clone();
        let after = bridge.one_event(&flat, 1.1 * g, false).unwrap();
        assert_ne!(&before, after);
        let mut bad = flat.clone();
        bad[0] = f64::NAN;
        assert!(bridge.one_event(&bad, g, false).is_err());
        assert_eq!(&before, bridge.one_event(&flat, g, false).unwrap());
        assert!(bridge.one_event(&flat[4..], g, false).is_err());
    }
}

/// JAMPs have the values of the definition, phases included.
fn jamps_are_those_of_the_diagrams(
    bridge: &mut Bridge,
    process: &Process,
    momenta: &[[f64; 4]],
    g: f64,
) {
    let flat: Vec<f64> = momenta.iter().flatten().copied().collect();
    let values = process.model.evaluate(&process.model.default_card(), g);
    let numbers = NumericProcess::new(process, |value| values[value as usize]);
    let diagrams = process.amplitudes.diagrams().unwrap();
    let of_row = |row: &Vec<i8>| {
        let amplitudes = numbers.amplitudes(|e| {
            let leg = e.leg as usize;
            let mass = numbers.quantity(e.mass);
            external(e.kind, &momenta[leg], mass, row[leg], e.sign)
        });
        diagrams.jamp.apply(&amplitudes)
    };
    let expected: Vec<Complex64> = process.helicities.iter().flat_map(of_row).collect();
    let found = bridge.jamps(&flat, g).unwrap().to_vec();
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0f64, |size, z| size.max(z.norm()));
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).norm() <= 1e-12 * largest, "{a} {b}");
    }
    assert_eq!(found, bridge.jamps(&flat, g).unwrap());
    // Other calls between do not change them.
    bridge.one_event(&flat, 1.1 * g, false).unwrap();
    assert_eq!(found, bridge.jamps(&flat, g).unwrap());
    assert!(bridge.jamps(&flat[4..], g).is_err());
}

#[test]
fn each_helicity_is_that_of_the_process() {
    let p = Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let process = import_directory(&p).unwrap().remove(0);
    let momenta = [
        [500.0, 0.0, 0.0, 500.0],
        [500.0, 0.0, 0.0, -500.0],
        [500.0, 300.0, 100.0, 343.613_445_9],
        [500.0, -300.0, -100.0, -343.613_445_9],
    ];
    // On the mass shell of the card.
    let mut momenta = momenta;
    let z = (250_000.0 - 173.0f64 * 173.0 - 100_000.0).sqrt();
    momenta[2][3] = z;
    momenta[3][3] = -z;
    check(&process, &momenta, 1.2);
}

/// Real outputs: the recursion serves the largest of them where lanes hold helicities, the list of diagrams without.
#[test]
fn helicities_add_up_to_the_reference() {
    let Some(references) = common::references() else {
        return;
    };
    for r in &references {
        let process = import_directory(&r.directory).expect("import").remove(0);
        let card = process.model.default_card();
        let [mut lanes, mut list] = ["auto", "none"].map(|level| {
            let mut switches = Switches {
                cache: CachePlace::Off,
                ..Switches::default()
            };
            switches.set("SIMD", level.into()).unwrap();
            switches.set("BACKEND", "cpu".into()).unwrap();
            Bridge::new(process.clone(), &card, &switches, 1).unwrap()
        });
        let (diagrams, flows) = (process.diagrams as usize, process.color_flows());
        for i in 0..r.g_s.len().min(2) {
            let width = 4 * process.legs.len();
            let momenta = &r.momenta[i * width..][..width];
            let event = lanes.one_event(momenta, r.g_s[i], false).unwrap();
            let total: f64 = event.contributions.iter().sum();
            close(total / f64::from(process.iden), r.plain[i], r.plain[i]);
            let of_diagram =
                |diagram: usize| -> f64 { event.amp2[diagram..].iter().step_by(diagrams).sum() };
            let configs = process.channels.config_diagram.iter();
            let all: f64 = configs
                .filter(|&&d| d > 0)
                .map(|&d| of_diagram(d as usize - 1))
                .sum();
            let share = of_diagram(r.channels[i] as usize - 1) / all;
            close(r.plain[i] * share, r.weighted[i], 100.0 * r.weighted[i]);
            let other = list.one_event(momenta, r.g_s[i], false).unwrap();
            let pairs = event.contributions.iter().zip(&other.contributions);
            pairs.for_each(|(a, b)| close(*a, *b, total));
            for (a, b, width) in [
                (&event.amp2, &other.amp2, diagrams),
                (&event.jamp2, &other.jamp2, flows),
            ] {
                let rows = b.chunks_exact(width).map(|row| row.iter().sum());
                let largest = rows.fold(0.0, f64::max);
                for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(width)) {
                    // A vanishing helicity leaves rounding.
                    let all = b.iter().sum::<f64>().max(1e-12 * largest);
                    a.iter()
                        .zip(b)
                        .for_each(|(a, b)| close(*a, *b, 100.0 * all));
                }
            }
        }
    }
}
