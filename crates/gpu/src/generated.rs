//! Straight-line code for a process or for one helicity, compiled in the background.
//!
//! Compilation takes seconds, while tables can be used at once. So the compiler runs in its own thread, and until it
//! has finished, the table-driven kernels are used. Code compiled before is loaded quickly from the cache; the first
//! call waits briefly for that.
//!
//! As many compilers run at the same time as there are cores, so that what was requested first is ready first. What is
//! no longer needed before its compiler has started is not compiled: the end of a program waits for running ones alone.

use super::driver::Function;
use super::module_cache::{COMPILER_STACK, ModuleCache};
use super::source::CompilationUnit;
use mebridge_support::error::Result;
use mebridge_support::signals;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Maximum time to wait for a compiler.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Interval at which an exiting program checks for running compilers.
const LOOK: Duration = Duration::from_millis(2);
/// Time that the first call waits.
const FIRST_CALL_WAIT: Duration = Duration::from_millis(150);

/// Running compilers. An exiting program waits for them: the compiler's library is unloaded on exit, and a thread still
/// running in it would crash the program after all its work is done.
static AT_WORK: Compilers = Compilers(AtomicU64::new(0));

/// The process id in the upper half, and the number of its running compilers in the lower half. The child of a fork has
/// none of its parent's compiler threads and must not wait for them. There is no lock, because a child could find it
/// held for ever.
struct Compilers(AtomicU64);

impl Compilers {
    /// Returns the number of compilers of this process, given the counter.
    fn of(counted: u64, program: u32) -> u64 {
        match counted >> 32 == u64::from(program) {
            true => counted & u64::from(u32::MAX),
            false => 0,
        }
    }

    fn change(&self, program: u32, change: impl Fn(u64) -> u64) {
        let next =
            |counted| Some(u64::from(program) << 32 | change(Compilers::of(counted, program)));
        // The closure always returns a value.
        let _ = (self.0).fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    fn count(&self, program: u32) -> u64 {
        Compilers::of(self.0.load(Ordering::Acquire), program)
    }
}

/// A guard that counts a running compiler.
struct AtWork;

impl AtWork {
    fn new() -> AtWork {
        static ONCE: Once = Once::new();
        // Exit functions run in reverse order of registration, so this one runs before the compiler's library, which
        // was loaded earlier, is unloaded.
        ONCE.call_once(|| {
            // SAFETY: the function takes no arguments and does not unwind.
            let _ = unsafe { libc::atexit(wait_for_all) };
        });
        AT_WORK.change(std::process::id(), |count| count + 1);
        AtWork
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.change(std::process::id(), |count| count.saturating_sub(1));
    }
}

/// Runs the work of a compiler, which counts as running until all its objects are dropped: they may hold the last
/// references to modules of the GPU.
fn counted(work: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
    let at_work = AtWork::new();
    move || {
        let _at_work = at_work;
        work();
    }
}

extern "C" fn wait_for_all() {
    let since = Instant::now();
    while AT_WORK.count(std::process::id()) > 0 && since.elapsed() < MAX_WAIT {
        std::thread::sleep(LOOK);
    }
}

/// Compilers in the background that may still be started.
pub(crate) struct CompilerSlots {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A slot in use.
struct CompilerSlot<'a>(&'a CompilerSlots);

impl CompilerSlots {
    /// Creates one slot per core.
    pub(crate) fn new() -> CompilerSlots {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        CompilerSlots {
            free: Mutex::new(cores),
            changed: Condvar::new(),
        }
    }

    /// Waits for a slot, unless it is no longer needed.
    fn take(&self, unneeded: &AtomicBool) -> Option<CompilerSlot<'_>> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let none = |free: &mut usize| *free == 0 && !unneeded.load(Ordering::Acquire);
        let waited = self.changed.wait_while(free, none);
        let mut free = waited.unwrap_or_else(PoisonError::into_inner);
        if unneeded.load(Ordering::Acquire) {
            return None;
        }
        *free -= 1;
        Some(CompilerSlot(self))
    }

    /// Wakes those that wait, after `change`.
    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.free.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

impl Drop for CompilerSlot<'_> {
    fn drop(&mut self) {
        self.0.change(|free| *free += 1);
    }
}

/// Whether objects are dropped while their compilers run.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Lets objects be dropped while their compilers run, for which the exit functions of the program wait instead.
pub fn abandon_compilers() {
    ABANDONED.store(true, Ordering::Release);
}

/// Returns whether compilers run in the background. The exit functions of a program wait for them; `_exit` does not.
pub fn compilers_at_work() -> bool {
    AT_WORK.count(std::process::id()) > 0
}

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
    asked: Instant,
    /// Whether it has been compared with the tables.
    pub checked: bool,
}

impl Generated {
    /// Starts to compile the kernels of a unit.
    pub fn begin(
        library: &Arc<ModuleCache>,
        unit: impl FnOnce() -> Option<CompilationUnit> + Send + 'static,
    ) -> Generated {
        let state = Arc::new((Mutex::new(State::Compiling), Condvar::new()));
        let unneeded = Arc::new(AtomicBool::new(false));
        let (theirs, dropped) = (state.clone(), unneeded.clone());
        let of = library.clone();
        let work = counted(move || {
            let library = of;
            let function = || -> Option<Result<Arc<[Function]>>> {
                let _slot = library.compiler_slots().take(&dropped)?;
                let unit = unit()?;
                let kernels = unit.kernels.iter();
                Some(
                    kernels
                        .map(|name| library.function(&unit, name, 0))
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
            asked: Instant::now(),
            checked: false,
        }
    }

    /// Returns the kernels, if they are ready after a short wait.
    pub fn get(&self) -> Option<Arc<[Function]>> {
        self.wait(FIRST_CALL_WAIT.saturating_sub(self.asked.elapsed()))
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
        if !ABANDONED.load(Ordering::Acquire) {
            self.wait_for_compiler();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects held by a compiler are dropped while it is still counted.
    #[test]
    fn a_compiler_is_at_work_until_it_holds_nothing() {
        struct Held(std::sync::mpsc::Sender<u64>);
        impl Drop for Held {
            fn drop(&mut self) {
                let _ = self.0.send(AT_WORK.count(std::process::id()));
            }
        }
        let (sender, count) = std::sync::mpsc::channel();
        let held = Held(sender);
        counted(move || {
            let _seen = &held;
        })();
        assert!(count.recv().expect("a count") > 0);
    }

    /// A forked child inherits its parent's counter, and counts its own compilers from 0.
    #[test]
    fn a_child_waits_for_no_compiler_of_its_parents() {
        let (parent, child) = (7, 8);
        let compilers = Compilers(AtomicU64::new(0));
        compilers.change(parent, |count| count + 1);
        compilers.change(parent, |count| count + 1);
        assert_eq!((compilers.count(parent), compilers.count(child)), (2, 0));
        compilers.change(parent, |count| count - 1);
        assert_eq!(compilers.count(parent), 1);
        compilers.change(child, |count| count + 1);
        assert_eq!((compilers.count(parent), compilers.count(child)), (0, 1));
        compilers.change(child, |count| count - 1);
        assert_eq!(compilers.count(child), 0);
    }
}
