//! Straight-line code for a process or for a helicity of it, compiled behind the scenes.
//!
//! The compiler takes seconds for what tables can do at once. So it works in a thread of its own, and
//! until it is done the kernels that go through tables answer. What was compiled before comes from the
//! cache in no time; a call waits a moment for that.

use super::driver::Function;
use super::module_cache::{COMPILER_STACK, ModuleCache};
use super::source::CompilationUnit;
use mebridge_support::error::Result;
use mebridge_support::signals;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Nobody waits longer for a compiler.
const LONGEST: Duration = Duration::from_secs(600);
/// How often a program that ends looks for compilers.
const LOOK: Duration = Duration::from_millis(2);
/// How long the first call waits.
const FIRST_CALL_WAIT: Duration = Duration::from_millis(150);

/// Compilers at work. A program that ends waits for them: the compiler's library is taken down
/// then, and a thread that is still in it would crash the program after all its work is done.
static AT_WORK: Compilers = Compilers(AtomicU64::new(0));

/// The number of compilers, and of which program: the number of the process above that of its threads. The child of a
/// fork has none of its parent's compilers, and does not wait for them. There is no lock, because such a child could
/// find it held for ever.
struct Compilers(AtomicU64);

impl Compilers {
    /// How many this program has, by what is counted.
    fn of(counted: u64, program: u32) -> u64 {
        match counted >> 32 == u64::from(program) {
            true => counted & u64::from(u32::MAX),
            false => 0,
        }
    }

    fn change(&self, program: u32, change: impl Fn(u64) -> u64) {
        let next =
            |counted| Some(u64::from(program) << 32 | change(Compilers::of(counted, program)));
        // It always says what comes next.
        let _ = (self.0).fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    }

    fn count(&self, program: u32) -> u64 {
        Compilers::of(self.0.load(Ordering::Acquire), program)
    }
}

/// Counts a compiler as long as it is there.
struct AtWork;

impl AtWork {
    fn new() -> AtWork {
        static ONCE: Once = Once::new();
        // What is registered later is called earlier, so this comes before the compiler's library
        // is taken down, which was loaded before.
        ONCE.call_once(|| {
            // SAFETY: the function takes nothing and does not unwind.
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

/// Work of a compiler, which is at work until all that it held is gone: that may be the last hold of modules of the GPU.
fn counted(work: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
    let at_work = AtWork::new();
    move || {
        let _at_work = at_work;
        work();
    }
}

extern "C" fn wait_for_all() {
    let since = Instant::now();
    while AT_WORK.count(std::process::id()) > 0 && since.elapsed() < LONGEST {
        std::thread::sleep(LOOK);
    }
}

/// The outcome.
#[derive(Clone)]
enum State {
    /// The compiler is at work.
    Compiling,
    /// Kernels, to be run one after the other.
    Ready(Arc<[Function]>),
    /// None; the tables serve.
    Failed,
}

/// A kernel in the making.
pub struct Generated {
    state: Arc<(Mutex<State>, Condvar)>,
    /// The number of the program that has the compiler's thread.
    program: u32,
    asked: Instant,
    /// Whether it has been compared with the tables.
    pub checked: bool,
}

impl Generated {
    /// Begins to compile a kernel of a unit.
    pub fn begin(
        library: &Arc<ModuleCache>,
        unit: impl FnOnce() -> Option<CompilationUnit> + Send + 'static,
    ) -> Generated {
        let state = Arc::new((Mutex::new(State::Compiling), Condvar::new()));
        let (library, theirs) = (library.clone(), state.clone());
        let work = counted(move || {
            let function = || -> Option<Result<Arc<[Function]>>> {
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
                // Only speed is lost.
                _ => State::Failed,
            };
            *theirs.0.lock().unwrap_or_else(PoisonError::into_inner) = result;
            theirs.1.notify_all();
        });
        let builder = std::thread::Builder::new()
            .name("mebridge-compile".into())
            .stack_size(COMPILER_STACK);
        if signals::held_back(|| builder.spawn(work)).is_err() {
            *state.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Failed;
        }
        Generated {
            state,
            program: std::process::id(),
            asked: Instant::now(),
            checked: false,
        }
    }

    /// The kernel, if it is there.
    pub fn get(&self) -> Option<Arc<[Function]>> {
        self.wait(FIRST_CALL_WAIT.saturating_sub(self.asked.elapsed()))
    }

    /// The kernel, if it is there without any wait.
    pub fn there(&self) -> Option<Arc<[Function]>> {
        self.wait(Duration::ZERO)
    }

    /// It is not used any more.
    pub fn reject(&self) {
        if !self.forked() {
            *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Failed;
        }
    }

    /// Whether this is the child of the program that has the thread. There the lock may be that thread's for ever, and a
    /// kernel of the parent's is of no use.
    fn forked(&self) -> bool {
        self.program != std::process::id()
    }

    /// The kernel, once the compiler is done.
    pub fn wait_for_compiler(&self) -> Option<Arc<[Function]>> {
        self.wait(LONGEST)
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
        // The thread uses the library, which goes with the last of us; a program that ends does not
        // leave the compiler at work.
        self.wait_for_compiler();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a compiler holds goes while it still counts.
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

    /// A child of a fork has the count of its parent, and counts its own from none.
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
