//! Compilation of device code on first use, and its cache.
//!
//! Up to one program per core is compiled at a time. Programs are stored on disk under a key made of their text, the
//! options, the compiler and the kind of GPU. Nearly all of them are independent of the process, so that later
//! processes reuse them.

use super::background::{COMPILER_STACK, CompilerSlots};
use super::driver::{Driver, Function, Module};
use super::source::CompilationUnit;
use mebridge_cache::key::{Key, KeyBuilder};
use mebridge_cache::{Cache, EntryKind};
use mebridge_support::error::Result;
use mebridge_support::signals;
use mebridge_support::sync::lock;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The programs of one GPU.
pub struct ModuleCache {
    driver: Arc<dyn Driver>,
    cache: Cache,
    compiler: String,
    modules: Mutex<HashMap<String, Module>>,
    /// Texts of the units being compiled; `compiled` signals that one has finished.
    compiling: Mutex<HashSet<String>>,
    compiled: Condvar,
    compiler_slots: CompilerSlots,
}

/// Returns the compiler options common to all programs.
pub(crate) fn options() -> Vec<String> {
    [
        "--std=c++17",
        "-default-device",
        "--extra-device-vectorization",
    ]
    .map(String::from)
    .to_vec()
}

/// A guard for the units that a thread compiles.
struct Compiling<'a> {
    of: &'a ModuleCache,
    units: Vec<&'a CompilationUnit>,
}

impl Drop for Compiling<'_> {
    fn drop(&mut self) {
        let mut compiling = lock(&self.of.compiling);
        for unit in &self.units {
            compiling.remove(&unit.text);
        }
        self.of.compiled.notify_all();
    }
}

impl ModuleCache {
    /// Creates a cache without loaded programs.
    pub fn new(driver: Arc<dyn Driver>, cache: Cache) -> Result<ModuleCache> {
        Ok(ModuleCache {
            compiler: driver.compiler()?,
            driver,
            cache,
            modules: Mutex::default(),
            compiling: Mutex::default(),
            compiled: Condvar::new(),
            compiler_slots: CompilerSlots::new(),
        })
    }

    /// Returns the slots for compilers in the background.
    pub(crate) fn compiler_slots(&self) -> &CompilerSlots {
        &self.compiler_slots
    }

    /// Returns the driver of the GPU.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Compiles and loads units that are missing, and waits for units that another thread compiles, so that each is
    /// loaded only once.
    pub fn load(&self, units: &[CompilationUnit]) -> Result<()> {
        loop {
            let (mut missing, mut others): (Vec<&CompilationUnit>, Vec<&CompilationUnit>) =
                Default::default();
            let mut compiling = lock(&self.compiling);
            {
                let modules = lock(&self.modules);
                for unit in units {
                    if modules.contains_key(&unit.text) || missing.contains(&unit) {
                        continue;
                    }
                    match compiling.contains(&unit.text) {
                        true => others.push(unit),
                        false => missing.push(unit),
                    }
                }
            }
            compiling.extend(missing.iter().map(|unit| unit.text.clone()));
            drop(compiling);
            if !missing.is_empty() {
                let mine = Compiling {
                    of: self,
                    units: missing.clone(),
                };
                self.compile(missing)?;
                drop(mine);
            }
            if others.is_empty() {
                return Ok(());
            }
            let compiling = lock(&self.compiling);
            let theirs = |compiling: &mut HashSet<String>| {
                others.iter().any(|unit| compiling.contains(&unit.text))
            };
            // If another thread failed, this thread tries again and reports its own error.
            drop(self.compiled.wait_while(compiling, theirs));
        }
    }

    /// Compiles and loads units.
    fn compile(&self, mut missing: Vec<&CompilationUnit>) -> Result<()> {
        // The longest first, as they take the most time.
        missing.sort_by_key(|unit| std::cmp::Reverse(unit.text.len()));
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let next = AtomicUsize::new(0);
        let images = Mutex::new(Vec::from_iter(missing.iter().map(|_| None)));
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = missing.get(i) else {
                    return;
                };
                let image = self.image(unit);
                images.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(image);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.min(missing.len()) {
                let builder = std::thread::Builder::new().stack_size(COMPILER_STACK);
                if signals::with_blocked_signals(|| builder.spawn_scoped(scope, work)).is_err() {
                    break;
                }
            }
        });
        // Units left over because no thread could be started.
        work();
        let images = images.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (unit, image) in missing.into_iter().zip(images) {
            let module = Module::load(&self.driver, &image.expect("all were compiled")?)?;
            lock(&self.modules).insert(unit.text.clone(), module);
        }
        Ok(())
    }

    /// Returns a kernel of a unit, which is compiled if necessary.
    pub fn function(&self, unit: &CompilationUnit, name: &str, shared: usize) -> Result<Function> {
        self.load(std::slice::from_ref(unit))?;
        lock(&self.modules)[&unit.text].function(name, shared)
    }

    /// Returns the best number of threads per block of a kernel for some work, if it was determined before.
    pub fn remembered_threads(&self, function: &Function, work: &[u32]) -> Option<u32> {
        let key = self.key_of_threads(function, work)?;
        self.cache.load(EntryKind::Blocks, &key)
    }

    /// Stores the best number of threads per block.
    pub fn remember_threads(&self, function: &Function, work: &[u32], threads: u32) {
        if let Some(key) = self.key_of_threads(function, work) {
            self.cache.store(EntryKind::Blocks, &key, &threads);
        }
    }

    /// Returns the cache key of a number of threads; `None` if the cache is off.
    fn key_of_threads(&self, function: &Function, work: &[u32]) -> Option<Key> {
        if !self.cache.is_enabled() {
            return None;
        }
        let modules = lock(&self.modules);
        let (text, _) = (modules.iter()).find(|(_, known)| *known == function.module())?;
        let gpu = self.driver.properties();
        let mut key = Key::builder("threads of a block");
        key.value(&self.compiler)?;
        key.value(&options())?;
        key.value(text)?;
        key.value(function.name())?;
        key.value(&(&gpu.name, gpu.processors))?;
        key.value(work)?;
        Some(key.finish())
    }

    /// Whether these units are loaded, or stored on disk.
    pub fn has_compiled(&self, units: &[CompilationUnit]) -> bool {
        units.iter().all(|unit| {
            let is_loaded = lock(&self.modules).contains_key(&unit.text);
            let stored = || self.stored(self.key_of_image(unit).as_ref());
            is_loaded || stored().is_some()
        })
    }

    /// Returns the cache key of a compiled unit.
    fn key_of_image(&self, unit: &CompilationUnit) -> Option<Key> {
        let mut key: KeyBuilder = Key::builder("device code");
        key.value(&self.compiler)?;
        key.value(&options())?;
        key.value(&unit.text)?;
        Some(key.finish())
    }

    fn stored(&self, key: Option<&Key>) -> Option<Vec<u8>> {
        self.cache.load(EntryKind::Device, key?)
    }

    fn image(&self, unit: &CompilationUnit) -> Result<Vec<u8>> {
        let key = self.key_of_image(unit);
        if let Some(image) = self.stored(key.as_ref()) {
            return Ok(image);
        }
        let image = self.driver.compile(&unit.text, &options())?;
        if let Some(key) = &key {
            self.cache.store(EntryKind::Device, key, &image);
        }
        Ok(image)
    }
}
