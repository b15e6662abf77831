//! Threads of the library's own, which run no signal handler of its caller's.
//!
//! The system gives a signal of a program to any of its threads that does not hold it back. A handler on a helper of a
//! call that is under way would wait, in another call, for the end of that one, and that one for the helper.

/// Runs `f`, which starts a thread: that one holds back all signals but those that a thread brings about itself and
/// that of profilers.
pub fn held_back<T>(f: impl FnOnce() -> T) -> T {
    #[cfg(unix)]
    let _restored = Restored::new();
    f()
}

/// Signals that a thread brings about itself, and the clock of profilers.
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

/// Puts the signals of this thread back, also where `f` panics.
#[cfg(unix)]
struct Restored(libc::sigset_t);

#[cfg(unix)]
impl Restored {
    fn new() -> Restored {
        // SAFETY: sets of signals on the stack, which the first calls fill: zero bytes are such a set.
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
        // SAFETY: the set that the thread had.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Which of these signals this thread holds back.
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
        let thread = held_back(|| std::thread::spawn(held));
        assert_eq!(held(), before);
        assert_eq!(thread.join().expect("no panic"), [true, true, false]);
    }
}
