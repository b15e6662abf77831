//! The GPU, processes, bridges; and tests in separate programs.

use crate::common::{self, Reference, require};
use mebridge::bridge::Bridge;
use mebridge::gpu::cuda::{Cuda, Platform};
use mebridge::gpu::driver::Driver;
use mebridge::gpu::likely_platform;
use mebridge::import::import_directory;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, CachePlace, Precision, Switches};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Environment variable of a program that was started by the test of this name.
pub const CHILD: &str = "MEBRIDGE_TEST_CHILD";

/// Manufacturer of the GPUs.
pub fn platform() -> Platform {
    likely_platform().expect("a GPU")
}

/// Returns the switch that selects them.
pub fn backend() -> BackendChoice {
    match platform() {
        Platform::Cuda => BackendChoice::Cuda,
        Platform::Hip => BackendChoice::Hip,
    }
}

/// The same by its name.
pub fn backend_name() -> &'static str {
    match platform() {
        Platform::Cuda => "cuda",
        Platform::Hip => "hip",
    }
}

/// The GPU, for one test at a time.
pub struct Gpu {
    _alone: MutexGuard<'static, ()>,
}

impl Gpu {
    /// Returns the GPU; `None`, with a report, if there is none.
    pub fn get() -> Option<Gpu> {
        static ALONE: Mutex<()> = Mutex::new(());
        let Some(platform) = likely_platform() else {
            let why = mebridge::gpu::cuda::devices(Platform::Cuda).err();
            let why = why.map_or_else(String::new, |e| e.to_string());
            require::skipped("gpu", why);
            return None;
        };
        let first = Cuda::open(platform, 0).expect("the first GPU");
        require::used("gpu", &first.properties().name);
        Some(Gpu {
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        })
    }

    /// Its driver, whose context stays for the life of the program.
    pub fn driver(&self) -> &'static Arc<dyn Driver> {
        static DRIVER: OnceLock<Arc<dyn Driver>> = OnceLock::new();
        DRIVER.get_or_init(|| Cuda::open(platform(), 0).expect("the first GPU"))
    }

    /// Switches that select it, without generated code, so that no test waits for the compiler.
    pub fn switches(&self) -> Switches {
        self.driver();
        Switches {
            backend: backend(),
            gpu_group: Some(0),
            cache: CachePlace::Folder(cache()),
            ..Switches::default()
        }
    }

    /// A bridge on it.
    pub fn bridge(&self, process: &Process, precision: Precision) -> Bridge {
        let switches = Switches {
            precision,
            ..self.switches()
        };
        bridge(process, &switches)
    }

    /// Free bytes of its memory.
    pub fn free(&self) -> usize {
        self.driver().memory().expect("memory").0
    }

    /// Runs a test in a separate program, with these variables, and waits for it.
    pub fn child(&self, test: &str, variables: &[(&str, String)]) {
        let program = std::env::current_exe().expect("the program of this test");
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CUDACPP_") {
                command.env_remove(name);
            }
        }
        let status = command
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(CHILD, test)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .status()
            .expect("it starts");
        assert!(status.success(), "{test} failed: {status}");
    }
}

/// Whether this program was started by [`Gpu::child`] for this test.
pub fn is_child(test: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|name| name == test)
}

/// A number of the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Where compiled device code and plans are kept.
pub fn cache() -> PathBuf {
    let named = std::env::var_os("MEBRIDGE_TEST_CACHE").map(PathBuf::from);
    named.unwrap_or_else(|| std::env::temp_dir().join("mebridge-gpu-tests"))
}

/// A bridge.
pub fn bridge(process: &Process, switches: &Switches) -> Bridge {
    let card = process.model.default_card();
    Bridge::new(process.clone(), &card, switches, 64).expect("bridge")
}

/// A bridge on all cores of the CPU.
pub fn on_cpu(process: &Process) -> Bridge {
    let switches = Switches {
        backend: BackendChoice::Cpu,
        threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        cache: CachePlace::Folder(cache()),
        ..Switches::default()
    };
    bridge(process, &switches)
}

/// Returns the requested reference files, with their processes.
pub fn cases() -> Vec<(Reference, Process)> {
    let only = std::env::var("MEBRIDGE_TEST_PROCESS").unwrap_or_default();
    // It was already reported that there are none at all.
    let Some(references) = common::references_of_files() else {
        return Vec::new();
    };
    let request = references.into_iter().filter(|r| r.name.contains(&only));
    require::cases(format_args!("names with '{only}'"), request.collect())
        .into_iter()
        .map(|r| {
            let process = match r.directory.is_dir() {
                true => import_directory(&r.directory).expect("import").remove(0),
                false => Process::read(&r.directory).expect("process file"),
            };
            (r, process)
        })
        .collect()
}

/// Returns some of these by their names, if they exist.
pub fn some(names: &[&str]) -> Vec<(Reference, Process)> {
    let mut cases = cases();
    cases.retain(|(r, _)| names.contains(&r.name.as_str()));
    if cases.is_empty() {
        require::skipped("reference", format_args!("none of {names:?} is there"));
    }
    cases
}

/// Fails with all errors.
pub fn conclude(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
