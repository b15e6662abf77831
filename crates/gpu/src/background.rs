//! Compilers that run in the background, and the end of a program while they do.
//!
//! As many compilers run at the same time as there are cores, so that what was requested first is ready first. What is
//! no longer needed before its compiler has started is not compiled: the end of a program waits for running ones alone.

use mebridge_support::error::{Error, Result};
use mebridge_support::signals;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Stack size in bytes of compiler threads: the compiler recurses deeply in long functions.
pub(crate) const COMPILER_STACK: usize = 64 << 20;
/// Maximum time to wait for a compiler.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(600);
/// Interval at which an exiting program checks for running compilers.
const LOOK: Duration = Duration::from_millis(2);
/// Running compilers. An exiting program waits for them: the compiler's library is unloaded on exit, and a thread still
/// running in it would crash the program after all its work is done.
static AT_WORK: Compilers = Compilers(AtomicU64::new(0));

/// Compilers in the background that may still be started.
pub(crate) struct CompilerSlots {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A slot in use.
pub(crate) struct CompilerSlot<'a>(&'a CompilerSlots);

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
    pub(crate) fn take(&self, unneeded: &AtomicBool) -> Option<CompilerSlot<'_>> {
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
    pub(crate) fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.free.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

impl Drop for CompilerSlot<'_> {
    fn drop(&mut self) {
        self.0.change(|free| *free += 1);
    }
}

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
pub(crate) fn counted(work: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
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

/// Whether objects may be dropped while their compilers run.
pub(crate) fn are_abandoned() -> bool {
    ABANDONED.load(Ordering::Acquire)
}

/// What a thread with compilers makes in the background. If it is dropped before, the thread goes on by itself.
pub struct Background<T> {
    made: Receiver<Result<T>>,
}

impl<T: Send + 'static> Background<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// There can be no more threads.
    pub fn begin(make: impl FnOnce() -> Result<T> + Send + 'static) -> Result<Background<T>> {
        let (sender, made) = sync_channel(1);
        let work = counted(move || {
            // Nobody may wait for it any more.
            let _ = sender.send(make());
        });
        let builder = Builder::new()
            .name("mebridge-compile".into())
            .stack_size(COMPILER_STACK);
        signals::with_blocked_signals(|| builder.spawn(work)).map_err(|error| {
            let what = format!("a thread for compilers: {error}");
            Error::Internal { what }
        })?;
        Ok(Background { made })
    }

    /// Returns what was made, once it is. In the child of a fork it never is.
    pub fn ready(&self) -> Option<Result<T>> {
        match self.made.try_recv() {
            Ok(made) => Some(made),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(ended())),
        }
    }

    /// Waits for what is made.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn wait(&self) -> Result<T> {
        self.made.recv().unwrap_or_else(|_| Err(ended()))
    }
}

fn ended() -> Error {
    Error::Internal {
        what: "a thread with compilers ended before its work".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made is there once, after the thread has ended its work; a panic is an error.
    #[test]
    fn what_is_made_in_the_background_is_waited_for() {
        let (go, wait) = std::sync::mpsc::channel();
        let background = Background::begin(move || {
            wait.recv().expect("a signal");
            Ok(5)
        });
        let background = background.expect("a thread");
        assert!(background.ready().is_none() && compilers_at_work());
        go.send(()).expect("a thread that waits");
        assert_eq!(background.wait().expect("a number"), 5);
        let panics = Background::<()>::begin(|| panic!("a compiler"));
        assert!(panics.expect("a thread").wait().is_err());
    }

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
