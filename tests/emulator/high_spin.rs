//! Particles of spin 2 and 3/2 on the emulated GPU, compared with the CPU's engine.

use super::color_ordered::Points;
use super::processes::{bridges_with, run};
use mebridge::events::Events;
use mebridge::generate::generate_with;
use mebridge::gpu::cuda::check_where_named;
use mebridge::model::Model;
use mebridge::runtime::{Precision, Switches};
use mebridge_emulator::Emulator;
use mebridge_testing::worst;
use std::path::Path;

/// A tensor `y` and a fermion `r` of spin 3/2, with an electron and a scalar.
const MODEL: &str = r#"
format = 1
name = "small"
orders = { NP = 1 }
[[particles]]
name = "e-"
antiname = "e+"
pdg = 11
spin = 2
color = 1
[[particles]]
name = "s"
pdg = 9000001
spin = 1
color = 1
mass = "MS"
[[particles]]
name = "y"
pdg = 9000002
spin = 5
color = 1
mass = "MY"
width = "WY"
[[particles]]
name = "r"
antiname = "r~"
pdg = 9000003
spin = 4
color = 1
mass = "MR"
width = "WR"
[[card]]
name = "MS"
block = "mass"
index = [9000001]
value = 120.0
[[card]]
name = "MY"
block = "mass"
index = [9000002]
value = 300.0
[[card]]
name = "MR"
block = "mass"
index = [9000003]
value = 200.0
[[card]]
name = "WY"
block = "decay"
index = [9000002]
value = 5.0
[[card]]
name = "WR"
block = "decay"
index = [9000003]
value = 3.0
[couplings]
GC_1 = { value = "complex(0,1)*0.002", orders = { NP = 1 } }
GC_2 = { value = "complex(0,1)*0.003", orders = { NP = 1 } }
GC_3 = { value = "complex(0,1)*0.004", orders = { NP = 1 } }
[lorentz]
FFT = "P(1003,1)*Gamma(2003,2,1) - P(1003,2)*Gamma(2003,2,1)"
SST = "P(1003,1)*P(2003,2) + P(1003,2)*P(2003,1)"
FRS = "P(2,3)*ProjP(2,1)"
RFS = "P(1,3)*ProjM(2,1)"
[[vertices]]
particles = "e+ e- y"
terms = [["1", "FFT", "GC_1"]]
[[vertices]]
particles = "s s y"
terms = [["1", "SST", "GC_2"]]
[[vertices]]
particles = "e+ r s"
terms = [["1", "FRS", "GC_3"]]
[[vertices]]
particles = "r~ e- s"
terms = [["1", "RFS", "GC_3"]]
"#;

fn agree(text: &str) {
    agree_in(MODEL, text);
}

/// By tables, by the generated kernel of a helicity and by code of whole events: the second call.
pub(super) fn agree_in(model: &str, text: &str) {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let model = Model::parse(model, Path::new("small.toml")).expect("a model");
    let process = generate_with(text, &model).expect(text).remove(0);
    let points = Points::new(&process);
    let drawn = process.channels.config_diagram.iter();
    let drawn: Vec<i32> = drawn.filter(|&&d| d != 0).map(|&d| d as i32).collect();
    let channels: Vec<i32> = (0..64).map(|event| drawn[event % drawn.len()]).collect();
    for (by_helicities, gpu_group) in [(false, None), (false, Some(0)), (true, None)] {
        for (precision, tolerance) in [
            (Precision::Double, 1e-11),
            (Precision::Mixed, 1e-5),
            (Precision::Float, 2e-3),
        ] {
            // Compiling is slow: only the tables' kernels are tested in all precisions.
            if precision != Precision::Double && gpu_group.is_none() {
                continue;
            }
            let switches = Switches {
                gpu_group,
                ..Switches::default()
            };
            let [mut cpu, mut on_gpu] =
                bridges_with(&gpu, &process, precision, by_helicities, switches);
            for (nevt, with_channels) in [(37, false), (37, true), (36, false), (36, true)] {
                let events = Events {
                    channels: with_channels.then_some(&channels[..nevt]),
                    ..points.events(false).first(nevt)
                };
                let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
                on_gpu.wait_for_compiler();
                let by = worst(&a.matrix_elements, &b.matrix_elements);
                let what = format!("{text} {precision:?} {by_helicities} {gpu_group:?}");
                assert!(by < tolerance, "{what}: {by:e}");
                assert!(b.matrix_elements.iter().all(|x| *x > 0.0), "{what}");
                assert_eq!(a.good, b.good, "{what}");
                if precision == Precision::Double {
                    assert_eq!(a.helicity, b.helicity, "{what}");
                }
            }
        }
    }
}

/// As propagators: spin 2 in the s-channel, 3/2 in the others.
#[test]
fn propagators_of_high_spin_agree_with_the_cpu() {
    agree("e+ e- > s s");
}

#[test]
fn external_tensors_agree_with_the_cpu() {
    agree("e+ e- > y y");
}

#[test]
fn external_fermions_of_spin_three_halves_agree_with_the_cpu() {
    agree("e+ e- > r r~");
}
