//! The library's own threads, which run none of the caller's signal handlers.
//!
//! The system delivers a signal of a process to any thread that does not block it. If a handler on a worker thread of
//! one call made another call, it would wait for the first call to end, which waits for the worker.

/// Runs `f`, which starts a thread. The new thread blocks all signals except the synchronous ones and that of
/// profilers.
pub fn with_blocked_signals<T>(f: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    let _restored = Restored::new();
    f()
}

/// Synchronous signals, which a thread causes itself, and the clock of profilers.
#[cfg(unix)]
const OWN: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGPROF,
];

/// Restores the signal mask of this thread when dropped, also if `f` panics.
#[cfg(unix)]
struct Restored(libc::sigset_t);

#[cfg(unix)]
impl Restored {
    fn new() -> Restored {
        // SAFETY: signal sets on the stack, which the first calls fill; zero bytes are a valid set.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            for signal in OWN {
                libc::sigdelset(&raw mut all, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut before);
            Restored(before)
        }
    }
}

#[cfg(unix)]
impl Drop for Restored {
    fn drop(&mut self) {
        // SAFETY: the mask that this thread had before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns which of these signals this thread blocks.
    fn held() -> [bool; 3] {
        // SAFETY: a set on the stack, which the call fills.
        unsafe {
            let mut held = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut held);
            [libc::SIGALRM, libc::SIGUSR1, libc::SIGSEGV]
                .map(|signal| libc::sigismember(&raw const held, signal) == 1)
        }
    }

    #[test]
    fn a_thread_that_is_started_there_runs_no_handlers() {
        let before = held();
        let thread = with_blocked_signals(|| std::thread::spawn(held));
        assert_eq!(held(), before);
        assert_eq!(thread.join().expect("no panic"), [true, true, false]);
    }
}
