//! Straight-line code for a process or for a helicity of it, compiled behind the scenes.
//!
//! The compiler takes seconds for what tables can do at once. So it works in a thread of its own, and
//! until it is done the kernels that go through tables answer. What was compiled before comes from the
//! cache in no time; a call waits a moment for that.

use super::driver::Function;
use super::module_cache::{COMPILER_STACK, ModuleCache};
use super::source::Unit;
use crate::error::Result;
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Nobody waits longer for a compiler.
const LONGEST: Duration = Duration::from_secs(600);
/// How long the first call waits.
const FIRST_CALL_WAIT: Duration = Duration::from_millis(150);

/// Compilers at work. A program that ends waits for them: the compiler's library is taken down
/// then, and a thread that is still in it would crash the program after all its work is done.
static AT_WORK: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

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
        *AT_WORK.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        AtWork
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        *AT_WORK.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        AT_WORK.1.notify_all();
    }
}

extern "C" fn wait_for_all() {
    let count = AT_WORK.0.lock().unwrap_or_else(PoisonError::into_inner);
    let wait = AT_WORK
        .1
        .wait_timeout_while(count, LONGEST, |count| *count > 0);
    drop(wait.unwrap_or_else(PoisonError::into_inner));
}

/// What has come of it.
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
    asked: Instant,
    /// Whether it has been compared with the tables.
    pub checked: bool,
}

impl Generated {
    /// Begins to compile a kernel of a unit.
    pub fn begin(
        library: &Arc<ModuleCache>,
        unit: impl FnOnce() -> Option<Unit> + Send + 'static,
    ) -> Generated {
        let state = Arc::new((Mutex::new(State::Compiling), Condvar::new()));
        let (library, theirs) = (library.clone(), state.clone());
        let at_work = AtWork::new();
        let work = move || {
            let _at_work = at_work;
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
                // Nothing is lost but speed.
                _ => State::Failed,
            };
            *theirs.0.lock().unwrap_or_else(PoisonError::into_inner) = result;
            theirs.1.notify_all();
        };
        let builder = std::thread::Builder::new()
            .name("mebridge-compile".into())
            .stack_size(COMPILER_STACK);
        if builder.spawn(work).is_err() {
            *state.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Failed;
        }
        Generated {
            state,
            asked: Instant::now(),
            checked: false,
        }
    }

    /// The kernel, if it is there.
    pub fn get(&self) -> Option<Arc<[Function]>> {
        self.wait(FIRST_CALL_WAIT.saturating_sub(self.asked.elapsed()))
    }

    /// It is not used any more.
    pub fn reject(&self) {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Failed;
    }

    /// The kernel, once the compiler is done.
    pub fn wait_for_compiler(&self) -> Option<Arc<[Function]>> {
        self.wait(LONGEST)
    }

    fn wait(&self, limit: Duration) -> Option<Arc<[Function]>> {
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
