//! The separate times of amplitudes and colour sums, on the emulated GPU. Its launches take a given time, and the clock
//! in its kernels counts its calls.

use crate::processes::{Bits, run_logged};
use mebridge::backend::{AMPLITUDES, COLOR, Clocks, Timers};
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::gpu::Gpus;
use mebridge::gpu::cuda::check_where_named;
use mebridge::gpu::driver::Driver;
use mebridge::import::import_directory;
use mebridge::runtime::{Precision, Switches};
use mebridge::target::Target;
use mebridge_emulator::Emulator;
use mebridge_testing::{self as common, Reference};
use std::sync::Arc;
use std::time::Duration;

const EVENTS: usize = 37;

/// Duration of a launch that may end with a colour sum.
const COST: Duration = Duration::from_secs(1000);
/// Longer than everything else.
const ELSE: f64 = 100.0;

/// Which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Tables,
    Helicities,
    Generator,
    HelicitySplit,
    /// Groups of operations as kernels, or as functions of one.
    Groups(bool),
    Blas,
}

/// The bits of answers, and kernels that were launched with threads of a block.
type Outcome = (Bits, Vec<(String, u32)>);

fn cost(name: &str, _: u32) -> Duration {
    let of_helicities = ["helicit", "generated", "hoisted", "color_dots"];
    match of_helicities.iter().any(|begin| name.starts_with(begin)) {
        true => COST,
        false => Duration::ZERO,
    }
}

fn run(gpu: &Emulator, bridge: &mut Bridge, r: &Reference, channels: bool) -> Outcome {
    let events = r.events(channels);
    let events = events.first(EVENTS);
    let (bits, log) = run_logged(gpu, bridge, &events);
    (bits, log.launches)
}

/// Runs a process with and without clocks. The seconds of amplitudes and of colour sums of one call, and the kernels
/// that it launched.
fn divided(
    name: &str,
    way: Way,
    precision: Precision,
    channels: bool,
) -> Option<([f64; 2], Vec<String>)> {
    let references = common::references()?;
    let r = common::one_of(&references, name)?;
    let gpu = Emulator::new(check_where_named)?;
    gpu.set_cost(cost);
    let process = import_directory(&r.directory).expect("import").remove(0);
    let card = process.model.default_card();
    let switches = Switches {
        precision,
        gpu_group: match way {
            Way::Tables => Some(0),
            Way::Groups(_) => Some(60),
            _ => None,
        },
        gpu_functions: Some(way == Way::Groups(true)),
        blas_color_sum: Some(way == Way::Blas),
        ..Switches::default()
    };
    let driver: Arc<dyn Driver> = gpu.clone();
    let gpus = Gpus::new(vec![driver], &switches, Cache::default()).expect("a GPU");
    let gpus = match way {
        Way::Helicities => gpus.by_helicities(),
        Way::HelicitySplit => gpus.by_subsets(),
        _ => gpus,
    };
    let bridge = Bridge::with_target(Target::Gpu(gpus), process, &card, &switches, 64);
    let mut bridge = bridge.expect("bridge");
    // From now on generated code is ready.
    run(&gpu, &mut bridge, r, channels);
    bridge.wait_for_compiler();
    run(&gpu, &mut bridge, r, channels);
    let plain = run(&gpu, &mut bridge, r, channels);
    assert_eq!(bridge.timers().kernels(), Duration::ZERO);
    let mut measure = |clocks: Clocks| -> (Timers, Outcome) {
        bridge.set_profile(clocks);
        let before = bridge.timers();
        let outcome = run(&gpu, &mut bridge, r, channels);
        (bridge.timers().since(&before), outcome)
    };
    let seconds = |timers: &Timers| [AMPLITUDES, COLOR].map(|p| timers.duration(p).as_secs_f64());
    // Amplitudes have the time of both, and the kernels are those of other calls.
    let (phases, outcome) = measure(Clocks::Phases);
    assert_eq!(outcome, plain, "{name} {way:?}");
    let [both, none] = seconds(&phases);
    assert_eq!(none, 0.0, "{name} {way:?}");
    let (clocked, outcome) = measure(Clocks::Kernels);
    assert_eq!(outcome, plain, "{name} {way:?} with clocks");
    let launches: Vec<String> = outcome.1.into_iter().map(|(name, _)| name).collect();
    let count = launches.iter().filter(|name| !cost(name, 0).is_zero());
    let right = COST.as_secs_f64() * count.count() as f64;
    let [amplitudes, color] = seconds(&clocked);
    println!("{name} {way:?} {channels} {amplitudes} {color} {both}");
    assert!(amplitudes > ELSE && color > ELSE, "{name} {way:?}");
    for sum in [amplitudes + color, both] {
        assert!((sum - right).abs() < ELSE, "{name} {way:?}: {sum} {right}");
    }
    assert!(clocked.kernels().as_secs_f64() < right + ELSE);
    // The clocks are gone.
    let (none, outcome) = measure(Clocks::None);
    assert_eq!((none.kernels(), outcome), (Duration::ZERO, plain));
    Some(([amplitudes, color], launches))
}

/// The share of colour sums.
fn share([amplitudes, color]: [f64; 2]) -> f64 {
    color / (amplitudes + color)
}

const TT: &str = "gg_tt.P1_gg_ttx";

#[test]
fn kernels_of_helicities_are_divided() {
    for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
        for channels in [false, true] {
            // The clock is read before, between and after the two.
            if let Some((seconds, launches)) = divided(TT, Way::Tables, precision, channels) {
                assert!(launches.iter().any(|name| name == "helicities"));
                assert!((share(seconds) - 1.0 / 2.0).abs() < 0.01, "{seconds:?}");
            }
            // Here also once more at the end.
            if let Some((seconds, launches)) = divided(TT, Way::Helicities, precision, channels) {
                assert!(launches.iter().any(|name| name == "helicity"));
                assert!((share(seconds) - 1.0 / 3.0).abs() < 0.01, "{seconds:?}");
            }
        }
    }
}

#[test]
fn code_of_whole_events_is_divided() {
    for channels in [false, true] {
        for way in [Way::Generator, Way::Groups(false), Way::Groups(true)] {
            if let Some((seconds, launches)) = divided(TT, way, Precision::Double, channels) {
                assert!(
                    launches.iter().all(|name| name.starts_with("generated")),
                    "{launches:?}"
                );
                // Around each colour sum, and twice more in a kernel.
                let share = share(seconds);
                assert!((0.2..0.5).contains(&share), "{way:?} {share}");
            }
        }
    }
}

#[test]
fn code_of_shares_is_divided() {
    for channels in [false, true] {
        if let Some((_, launches)) = divided(TT, Way::HelicitySplit, Precision::Double, channels) {
            assert_eq!(launches, ["hoisted", "generated", "answer"]);
        }
    }
}

#[test]
fn colour_sums_of_the_library_are_divided() {
    for channels in [false, true] {
        if let Some((seconds, _)) = divided(TT, Way::Blas, Precision::Double, channels) {
            // One launch is JAMP, one the rest of colour sums.
            assert!((share(seconds) - 1.0 / 2.0).abs() < 0.01, "{seconds:?}");
        }
    }
}
