//! Outgoing polarised particles: few helicities, whose recursion has no AMP2. On the emulated GPU, compared with the
//! CPU's engine.

use super::color_ordered::Points;
use super::processes::{bridges_with, run};
use mebridge::events::Events;
use mebridge::generate;
use mebridge::gpu::cuda::check_where_named;
use mebridge::runtime::{Precision, Switches};
use mebridge_emulator::Emulator;
use mebridge_testing::worst;

#[test]
fn a_recursion_without_amp2_serves_calls_without_channels() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let process = generate("g g > t{L} t~ g").expect("generated").remove(0);
    let points = Points::new(&process);
    // Only tables, because compiling is slow.
    let switches = Switches {
        gpu_group: Some(0),
        ..Switches::default()
    };
    let [mut cpu, mut on_gpu] = bridges_with(&gpu, &process, Precision::Double, false, switches);
    let channels = [1; 5];
    for with_channels in [false, true] {
        let events = Events {
            channels: with_channels.then_some(&channels),
            ..points.events(false).first(5)
        };
        let (a, b) = (run(&mut on_gpu, &events), run(&mut cpu, &events));
        assert!(worst(&a.matrix_elements, &b.matrix_elements) < 1e-12);
        assert_eq!((a.helicity, a.color, a.good), (b.helicity, b.color, b.good));
        assert_eq!(a.recursion, !with_channels);
    }
}
