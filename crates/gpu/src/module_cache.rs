//! Device code, compiled when it is first needed and kept.
//!
//! As many programs are compiled at a time as the machine has cores. They are kept on disk under a key of what they
//! were made from: their text, the options, the compiler and the kind of GPU. Nearly all of them serve every process,
//! so that the next process finds them.

use super::driver::{Driver, Function, Module};
use super::source::CompilationUnit;
use mebridge_cache::key::{Key, KeyBuilder};
use mebridge_cache::{Cache, Kind};
use mebridge_support::error::Result;
use mebridge_support::signals;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of stack of a thread in which the compiler runs: it goes deep into long functions.
pub const COMPILER_STACK: usize = 64 << 20;

/// The programs of one GPU.
pub struct ModuleCache {
    driver: Arc<dyn Driver>,
    cache: Cache,
    compiler: String,
    modules: Mutex<HashMap<String, Module>>,
    /// The texts of what is being compiled, and what tells those who wait for it.
    compiling: Mutex<HashSet<String>>,
    compiled: Condvar,
}

/// Options of the compiler for all programs.
pub(crate) fn options() -> Vec<String> {
    [
        "--std=c++17",
        "-default-device",
        "--extra-device-vectorization",
    ]
    .map(String::from)
    .to_vec()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread compiles, until this goes.
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
    /// No programs so far.
    pub fn new(driver: Arc<dyn Driver>, cache: Cache) -> Result<ModuleCache> {
        Ok(ModuleCache {
            compiler: driver.compiler()?,
            driver,
            cache,
            modules: Mutex::default(),
            compiling: Mutex::default(),
            compiled: Condvar::new(),
        })
    }

    /// The GPU.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }

    /// Compiles what is missing of these. What another thread compiles is waited for: a program is loaded once.
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
            // Where they failed, the error is this thread's, too, after it has tried.
            drop(self.compiled.wait_while(compiling, theirs));
        }
    }

    /// Compiles and loads these.
    fn compile(&self, mut missing: Vec<&CompilationUnit>) -> Result<()> {
        // The longest first, as they take longest.
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
                if signals::held_back(|| builder.spawn_scoped(scope, work)).is_err() {
                    break;
                }
            }
        });
        // Where no thread could be had.
        work();
        let images = images.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (unit, image) in missing.into_iter().zip(images) {
            let module = Module::load(&self.driver, &image.expect("all were compiled")?)?;
            lock(&self.modules).insert(unit.text.clone(), module);
        }
        Ok(())
    }

    /// A kernel of a unit, which is compiled if that has not been done.
    pub fn function(&self, unit: &CompilationUnit, name: &str, shared: usize) -> Result<Function> {
        self.load(std::slice::from_ref(unit))?;
        lock(&self.modules)[&unit.text].function(name, shared)
    }

    /// How many threads the blocks of a kernel should have for some work, if that was found out before.
    pub fn remembered_threads(&self, function: &Function, work: &[u32]) -> Option<u32> {
        let key = self.key_of_threads(function, work)?;
        self.cache.load(Kind::Blocks, &key)
    }

    /// Keeps that for later.
    pub fn remember_threads(&self, function: &Function, work: &[u32], threads: u32) {
        if let Some(key) = self.key_of_threads(function, work) {
            self.cache.store(Kind::Blocks, &key, &threads);
        }
    }

    /// The key of that; none where nothing is kept.
    fn key_of_threads(&self, function: &Function, work: &[u32]) -> Option<Key> {
        if !self.cache.is_on() {
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

    fn image(&self, unit: &CompilationUnit) -> Result<Vec<u8>> {
        let options = options();
        let key: Option<Key> = (|| {
            let mut key: KeyBuilder = Key::builder("device code");
            key.value(&self.compiler)?;
            key.value(&options)?;
            key.value(&unit.text)?;
            Some(key.finish())
        })();
        if let Some(key) = &key
            && let Some(image) = self.cache.load(Kind::Device, key)
        {
            return Ok(image);
        }
        let image = self.driver.compile(&unit.text, &options)?;
        if let Some(key) = &key {
            self.cache.store(Kind::Device, key, &image);
        }
        Ok(image)
    }
}
