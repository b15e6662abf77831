//! Squared coupling orders, and so a JAMP for each order and contributions of either sign, on the stand-in for a GPU,
//! against the CPU's engine.

use super::color_ordered::Points;
use super::processes::{bridges_with, run};
use mebridge::events::Events;
use mebridge::generate;
use mebridge::gpu::cuda::check_where_named;
use mebridge::process::{HelicitySum, Process};
use mebridge::runtime::{Precision, Switches};
use mebridge_emulator::Emulator;

fn process(text: &str) -> Process {
    let process = generate(text).expect("generated").remove(0);
    assert!(!process.flow_weights.is_empty(), "{text}");
    assert_eq!(process.helicity_sum, HelicitySum::Signed, "{text}");
    process
}

/// Calls with and without channels and colours, by code in which a kernel of this name is.
fn agree(process: &Process, kernel: &str, switches: &Switches) {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let points = Points::new(process);
    let drawn = process.channels.config_diagram.iter();
    let drawn: Vec<i32> = drawn
        .copied()
        .filter(|&d| d != 0)
        .map(|d| d as i32)
        .collect();
    let channels: Vec<i32> = (0..64).map(|event| drawn[event % drawn.len()]).collect();
    let (mut negative, mut seen) = (0, [0; 2]);
    for (precision, tolerance) in [
        (Precision::Double, 1e-12),
        (Precision::Mixed, 1e-5),
        (Precision::Float, 2e-3),
    ] {
        // A C++ compiler takes its time: the tables' kernels have all precisions.
        if precision == Precision::Mixed && kernel != "helicities" {
            continue;
        }
        let [mut cpu, mut on_gpu] = bridges_with(
            &gpu,
            process,
            precision,
            kernel == "helicity",
            switches.clone(),
        );
        for (nevt, with_channels, with_colors) in [
            (37, false, false),
            (37, true, true),
            (37, false, true),
            (37, false, false),
            (36, true, true),
            (35, false, true),
        ] {
            let all = points.events(with_colors).first(nevt);
            let events = Events {
                channels: with_channels.then_some(&channels[..nevt]),
                ..all
            };
            let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
            on_gpu.wait_for_compiler();
            // Terms cancel: the largest says what can be expected.
            let largest = b.matrix_elements.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            let what = format!(
                "{} {precision:?} {with_channels} {with_colors}",
                process.name
            );
            assert!(largest > 0.0, "{what}");
            for (event, (x, y)) in a.matrix_elements.iter().zip(&b.matrix_elements).enumerate() {
                let near = (x - y).abs() <= tolerance * largest;
                assert!(near, "{what}: event {event}: {x:e} for {y:e}");
            }
            negative += b.matrix_elements.iter().filter(|x| **x < 0.0).count();
            assert_eq!(a.good, b.good, "{what}");
            let kernels = on_gpu.kernels(with_channels).expect("kernels").each;
            let names: Vec<&str> = kernels.iter().map(|k| &*k.name).collect();
            assert!(names.contains(&kernel), "{names:?}");
            if precision == Precision::Double {
                assert_eq!(a.helicity, b.helicity, "{what}");
                assert_eq!(a.color, b.color, "{what}");
                for color in b.color.iter().filter(|color| **color > 0) {
                    seen[usize::from(*color > 1)] += 1;
                }
            }
        }
    }
    assert!(negative > 0, "{}: nothing is negative", process.name);
    assert!(
        seen.iter().all(|&n| n > 0),
        "{}: colours {seen:?}",
        process.name
    );
}

/// As in MadEvent, which uses absolute values and the sign of the chosen helicity.
fn absolute(process: &Process) -> Process {
    Process {
        helicity_sum: HelicitySum::Absolute,
        ..process.clone()
    }
}

#[test]
fn interferences_in_one_thread_agree_with_the_cpu() {
    let all = process("u u~ > u u~ QCD^2<=2");
    agree(&absolute(&all), "generated", &Switches::default());
}

#[test]
fn interferences_by_tables_agree_with_the_cpu() {
    let switches = Switches {
        gpu_group: Some(0),
        ..Switches::default()
    };
    let process = process("u u~ > u u~ QCD^2==2");
    agree(&process, "helicities", &switches);
    agree(&absolute(&process), "helicities", &switches);
}

#[test]
fn interferences_by_helicities_agree_with_the_cpu() {
    let process = process("u u~ > u u~ QCD^2==2");
    agree(&absolute(&process), "helicity", &Switches::default());
}

#[test]
fn interferences_by_matrix_products_agree_with_the_cpu() {
    let switches = Switches {
        blas_color_sum: Some(true),
        ..Switches::default()
    };
    let process = process("u u~ > u u~ QCD^2==2");
    agree(&process, "color_dots", &switches);
}

/// Too large for one thread: subsets of the helicities.
#[test]
fn interferences_in_subsets_agree_with_the_cpu() {
    let process = process("u u~ > u u~ g QCD^2==4");
    agree(&process, "hoisted", &Switches::default());
}
