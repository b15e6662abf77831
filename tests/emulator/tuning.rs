//! Tuned numbers of threads per block, on the emulated GPU, with given durations of launches.

use crate::processes::{Bits, run_logged};
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::gpu::Gpus;
use mebridge::gpu::cuda::check_where_named;
use mebridge::gpu::driver::Driver;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::runtime::{CachePlace, Switches};
use mebridge::target::Target;
use mebridge_emulator::{Emulator, Log};
use mebridge_testing::{self as common, Reference};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Fills the emulated GPU, even with one thread per event.
const MANY: usize = 2048;
/// Does not fill it.
const FEW: usize = 37;
/// Launches until all candidates of a kernel have been tried.
const LAUNCHES: usize = 6;

/// Which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Tables,
    Helicities,
    Generator,
}

/// Events of a process, and the cache folder.
struct Setup {
    gpu: Arc<Emulator>,
    process: Process,
    reference: Reference,
    cache: tempfile::TempDir,
}

fn setup() -> Option<Setup> {
    setup_on(Emulator::new(check_where_named)?)
}

fn setup_on(gpu: Arc<Emulator>) -> Option<Setup> {
    let references = common::references()?;
    let mut reference = references
        .into_iter()
        .find(|r| r.name == "gg_tt.P1_gg_ttx")?;
    let process = import_directory(&reference.directory)
        .expect("import")
        .remove(0);
    let legs = process.legs.len();
    let times = MANY.div_ceil(reference.g_s.len());
    reference.momenta = reference.momenta.repeat(times);
    reference.momenta.truncate(4 * legs * MANY);
    for numbers in [
        &mut reference.g_s,
        &mut reference.random_helicity,
        &mut reference.random_color,
    ] {
        *numbers = numbers.repeat(times);
    }
    reference.channels = reference.channels.repeat(times);
    Some(Setup {
        gpu,
        process,
        reference,
        cache: tempfile::tempdir().expect("a temporary folder"),
    })
}

impl Setup {
    fn bridge(&self, way: Way, tune: Option<bool>) -> Bridge {
        let switches = Switches {
            gpu_tune: tune,
            gpu_group: (way == Way::Tables).then_some(0),
            ..Switches::default()
        };
        let driver: Arc<dyn Driver> = self.gpu.clone();
        let cache = Cache::new(&CachePlace::Folder(self.cache.path().to_owned()));
        let gpus = Gpus::new(vec![driver], &switches, cache).expect("a GPU");
        let gpus = match way {
            Way::Helicities => gpus.by_helicities(),
            _ => gpus,
        };
        let card = self.process.model.default_card();
        let machine = Target::Gpu(gpus);
        let bridge = Bridge::with_target(machine, self.process.clone(), &card, &switches, 64);
        let mut bridge = bridge.expect("bridge");
        // From now on generated code is ready.
        self.run(&mut bridge, FEW);
        bridge.wait_for_compiler();
        self.run(&mut bridge, FEW);
        bridge
    }

    fn run(&self, bridge: &mut Bridge, nevt: usize) -> (Bits, Log) {
        let events = self.reference.events(true);
        let events = events.first(nevt);
        run_logged(&self.gpu, bridge, &events)
    }

    /// Names and bytes of the files of chosen sizes.
    fn files(&self) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(self.cache.path()).expect("the cache");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let of_kind = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "blocks");
        let mut files: Vec<_> = paths
            .filter(of_kind)
            .map(|path| (path.clone(), read(&path)))
            .collect();
        files.sort();
        files
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file of the cache")
}

/// Names of the kernels that were launched.
fn names(log: &Log) -> Vec<&str> {
    log.launches.iter().map(|(name, _)| name.as_str()).collect()
}

/// Names and threads of the kernels that a bridge says it runs.
fn threads(bridge: &Bridge) -> Vec<(String, u32)> {
    let kernels = bridge.kernels(true).expect("kernels").each;
    let of = |kernel: mebridge_backend::Kernel| (kernel.name, kernel.threads);
    kernels.into_iter().map(of).collect()
}

/// Whether a bridge has tried anything.
fn has_tried(bridge: &Bridge) -> bool {
    let kernels = bridge.kernels(true).expect("kernels").each;
    kernels.iter().any(|kernel| !kernel.tried.is_empty())
}

/// The fewer threads, the faster.
fn small_is_fast(_: &str, threads: u32) -> Duration {
    Duration::from_secs(threads.into())
}

/// The more threads, the faster.
fn large_is_fast(_: &str, threads: u32) -> Duration {
    Duration::from_secs_f64(1e5 / f64::from(threads))
}

fn tune(way: Way) {
    let Some(setup) = setup() else {
        return;
    };
    let mut plain = setup.bridge(way, Some(false));
    let (right, launched) = setup.run(&mut plain, MANY);
    assert!(!has_tried(&plain));
    assert_eq!(setup.files(), []);
    let defaults = threads(&plain);
    // Straight-line code is one launch or two, which are not recorded.
    let graphs = usize::from(way != Way::Generator);
    assert_eq!(launched.graphs, graphs);

    setup.gpu.set_cost(small_is_fast);
    let mut bridge = setup.bridge(way, None);
    let mut shapes = Vec::new();
    for call in 0..LAUNCHES {
        // Calls of few events in between use the defaults.
        let (_, log) = setup.run(&mut bridge, FEW);
        assert_eq!(log.graphs, graphs);
        let (outcome, log) = setup.run(&mut bridge, MANY);
        assert!(outcome == right, "{way:?}: call {call} differs");
        assert_eq!(names(&log), names(&launched), "only what is done anyway");
        assert_eq!(log.graphs, 0);
        shapes.push(log.launches);
    }
    assert_ne!(shapes[0], shapes[1]);
    // Tuning has ended.
    let chosen = threads(&bridge);
    for _ in 0..2 {
        let (outcome, log) = setup.run(&mut bridge, MANY);
        assert!(outcome == right, "{way:?}: differs when tuned");
        assert_eq!(names(&log), names(&launched));
        assert_eq!(log.graphs, graphs);
        for (name, threads) in &log.launches {
            let known = chosen.iter().find(|(known, _)| known == name);
            assert_eq!(known.map(|k| k.1), Some(*threads), "{name}");
        }
    }
    assert!(has_tried(&bridge));
    assert_eq!(threads(&bridge), chosen);
    for ((name, chosen), (_, default)) in chosen.iter().zip(&defaults) {
        let smallest = match (name.as_str(), way) {
            ("generated", _) => 32,
            ("helicity", _) => 128,
            // The work of these is not divided among any number of threads.
            ("helicities" | "levels" | "answer", _) => *default,
            _ => 64,
        };
        assert_eq!(*chosen, smallest, "{name}");
    }
    // Few events follow, in graphs that are recorded anew.
    let (_, log) = setup.run(&mut bridge, FEW);
    for (name, threads) in &log.launches {
        assert!(chosen.contains(&(name.clone(), *threads)), "{name}");
    }

    // Another engine begins with what was chosen, whatever its clocks would say.
    setup.gpu.set_cost(large_is_fast);
    let files = setup.files();
    assert!(!files.is_empty());
    let mut second = setup.bridge(way, None);
    let (outcome, log) = setup.run(&mut second, MANY);
    assert!(outcome == right);
    assert_eq!(log.graphs, graphs);
    assert_eq!(threads(&second), chosen);
    assert!(!has_tried(&second));
    assert_eq!(setup.files(), files);

    // Unless tuning is disabled.
    let mut third = setup.bridge(way, Some(false));
    setup.run(&mut third, MANY);
    assert_eq!(threads(&third), defaults);

    // Damaged files are rebuilt.
    for (path, bytes) in &files {
        let half = &bytes[..bytes.len() / 2];
        std::fs::write(path, half).expect("a file of the cache");
    }
    setup.gpu.set_cost(small_is_fast);
    let mut fourth = setup.bridge(way, None);
    assert_eq!(threads(&fourth), defaults);
    for _ in 0..LAUNCHES {
        let (outcome, _) = setup.run(&mut fourth, MANY);
        assert!(outcome == right);
    }
    assert_eq!(threads(&fourth), chosen);
    assert_eq!(setup.files(), files);
}

#[test]
fn kernels_that_walk_tables_are_tuned() {
    tune(Way::Tables);
}

#[test]
fn the_kernel_of_a_helicity_is_tuned() {
    tune(Way::Helicities);
}

#[test]
fn straight_line_code_is_tuned() {
    tune(Way::Generator);
}

/// Where the default is the fastest it stays, and its graphs as well.
#[test]
fn the_default_stays_if_nothing_is_faster() {
    let Some(setup) = setup() else {
        return;
    };
    setup.gpu.set_cost(|_, _| Duration::from_secs(100));
    let mut bridge = setup.bridge(Way::Tables, None);
    let before = threads(&bridge);
    for _ in 0..LAUNCHES {
        setup.run(&mut bridge, MANY);
    }
    assert!(has_tried(&bridge));
    assert_eq!(threads(&bridge), before);
    let files = setup.files();
    assert!(!files.is_empty(), "this is remembered, too");
    let mut second = setup.bridge(Way::Tables, None);
    setup.run(&mut second, MANY);
    assert!(!has_tried(&second));
}

/// A call of several chunks, two of which are under way at a time.
#[test]
fn chunks_that_are_timed_follow_each_other() {
    let Some(gpu) = Emulator::with_memory(5 << 20, check_where_named) else {
        return;
    };
    let Some(setup) = setup_on(gpu) else {
        return;
    };
    let (right, launched) = setup.run(&mut setup.bridge(Way::Tables, Some(false)), MANY);
    let chunks = names(&launched)
        .iter()
        .filter(|&&name| name == "load")
        .count();
    assert!(chunks > 1, "all fits into one chunk");
    assert_eq!(launched.waits, 0);
    setup.gpu.set_cost(small_is_fast);
    let mut bridge = setup.bridge(Way::Tables, None);
    let (outcome, log) = setup.run(&mut bridge, MANY);
    assert!(outcome == right);
    assert_eq!(names(&log).len(), names(&launched).len());
    assert_eq!(log.waits, chunks - 1, "no two run side by side");
    for _ in 1..LAUNCHES {
        assert!(setup.run(&mut bridge, MANY).0 == right);
    }
    let (outcome, log) = setup.run(&mut bridge, MANY);
    assert!(outcome == right);
    assert_eq!((log.waits, log.graphs), (0, chunks));
    assert!(has_tried(&bridge));
    let kernels = bridge.kernels(true).expect("kernels").each;
    for kernel in kernels.iter().filter(|kernel| !kernel.tried.is_empty()) {
        assert_eq!(kernel.threads, 64, "{kernel:?}");
    }
}
