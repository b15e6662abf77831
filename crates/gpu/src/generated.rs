//! Straight-line code for a process or for one helicity, compiled in the background.
//!
//! Compilation takes seconds, while tables can be used at once. So the compiler runs in its own thread, and until it
//! has finished, the table-driven kernels are used. Code compiled before is loaded quickly from the cache; the first
//! call waits briefly for that.

use super::background::{COMPILER_STACK, MAX_WAIT, are_abandoned, counted};
use super::driver::Function;
use super::module_cache::ModuleCache;
use super::source::CompilationUnit;
use mebridge_support::error::Result;
use mebridge_support::signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time that the first call waits.
const FIRST_CALL_WAIT: Duration = Duration::from_millis(150);

/// State of a compilation.
#[derive(Clone)]
enum State {
    /// The compiler is running.
    Compiling,
    /// The kernels, in the order of their launches.
    Ready(Arc<[Function]>),
    /// Compilation failed; tables are used.
    Failed,
}

/// Generated kernels, possibly still being compiled.
pub struct Generated {
    state: Arc<(Mutex<State>, Condvar)>,
    library: Arc<ModuleCache>,
    /// Set when the kernels are dropped: a compiler that has not started does not start.
    unneeded: Arc<AtomicBool>,
    /// Id of the process that runs the compiler thread.
    program: u32,
    requested: Instant,
    /// Whether it has been compared with the tables.
    pub checked: bool,
}

impl Generated {
    /// Starts to compile the kernels of units, each with the bytes of dynamic shared memory that it may request.
    pub fn begin(
        library: &Arc<ModuleCache>,
        units: impl FnOnce() -> Option<Vec<(CompilationUnit, usize)>> + Send + 'static,
    ) -> Generated {
        let state = Arc::new((Mutex::new(State::Compiling), Condvar::new()));
        let unneeded = Arc::new(AtomicBool::new(false));
        let (theirs, dropped) = (state.clone(), unneeded.clone());
        let of = library.clone();
        let work = counted(move || {
            let library = of;
            let function = || -> Option<Result<Arc<[Function]>>> {
                let _slot = library.compiler_slots().take(&dropped)?;
                let (units, shared): (Vec<_>, Vec<_>) = units()?.into_iter().unzip();
                if let Err(error) = library.load(&units) {
                    return Some(Err(error));
                }
                let kernels = units.iter().zip(shared).flat_map(|(unit, shared)| {
                    let names = unit.kernels.iter();
                    names.map(move |name| (unit, name, shared))
                });
                Some(
                    kernels
                        .map(|(unit, name, shared)| library.function(unit, name, shared))
                        .collect(),
                )
            };
            let function = std::panic::catch_unwind(std::panic::AssertUnwindSafe(function));
            let result = match function {
                Ok(Some(Ok(function))) => State::Ready(function),
                // Without generated code, only speed is lost.
                _ => State::Failed,
            };
            *theirs.0.lock().unwrap_or_else(PoisonError::into_inner) = result;
            theirs.1.notify_all();
        });
        let builder = std::thread::Builder::new()
            .name("mebridge-compile".into())
            .stack_size(COMPILER_STACK);
        if signals::with_blocked_signals(|| builder.spawn(work)).is_err() {
            *state.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Failed;
        }
        Generated {
            state,
            library: library.clone(),
            unneeded,
            program: std::process::id(),
            requested: Instant::now(),
            checked: false,
        }
    }

    /// Returns the kernels, if they are ready after a short wait.
    pub fn get(&self) -> Option<Arc<[Function]>> {
        self.wait(FIRST_CALL_WAIT.saturating_sub(self.requested.elapsed()))
    }

    /// Returns the kernels, if they are ready now.
    pub fn ready(&self) -> Option<Arc<[Function]>> {
        self.wait(Duration::ZERO)
    }

    /// Discards the kernels.
    pub fn reject(&self) {
        if !self.forked() {
            *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Failed;
        }
    }

    /// Returns whether this process is a forked child of the one with the compiler thread. In the child the lock may be
    /// held for ever, and the parent's kernels are useless.
    fn forked(&self) -> bool {
        self.program != std::process::id()
    }

    /// Waits for the compiler and returns the kernels.
    pub fn wait_for_compiler(&self) -> Option<Arc<[Function]>> {
        self.wait(MAX_WAIT)
    }

    fn wait(&self, limit: Duration) -> Option<Arc<[Function]>> {
        if self.forked() {
            return None;
        }
        let (state, done) = &*self.state;
        let state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let compiling = |state: &mut State| matches!(state, State::Compiling);
        let waited = done.wait_timeout_while(state, limit, compiling);
        match &*waited.unwrap_or_else(PoisonError::into_inner).0 {
            State::Ready(functions) => Some(functions.clone()),
            State::Compiling | State::Failed => None,
        }
    }
}

impl Drop for Generated {
    fn drop(&mut self) {
        if self.forked() {
            return;
        }
        let unneeded = &self.unneeded;
        (self.library.compiler_slots()).change(|_| unneeded.store(true, Ordering::Release));
        // The thread uses the library, which is dropped with the last user; an exiting program does not leave the
        // compiler running.
        if !are_abandoned() {
            self.wait_for_compiler();
        }
    }
}
