//! Handles signals that end the command: incomplete files and folders are removed first, and started programs ended.

use crate::output;
use mebridge::files::temporary;
use mebridge_oracle::child;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether the program polls [`stop_requested`], so that the first signal does not end the command.
static IS_POLLED: AtomicBool = AtomicBool::new(false);
static CAME: AtomicBool = AtomicBool::new(false);
/// Called before a signal ends the command; returns a message to print.
static LAST_WORDS: Mutex<Option<LastWords>> = Mutex::new(None);

/// A function that returns a message for the user.
type LastWords = Box<dyn FnOnce() -> Option<String> + Send>;

/// Installs the handlers: from now on a signal removes temporary files before it ends the command. If no thread can be
/// started, a signal ends the command at once, as by default. Returns only after the thread has begun, so that nothing
/// temporary is made before.
pub fn watch() {
    // Writing beyond the file size limit (`ulimit -f`) then gives an error, as a full disk does; started programs get
    // the signal.
    let _ = flag::register(SIGXFSZ, Arc::default());
    let signals = [SIGINT, SIGTERM, SIGHUP];
    let signals: Vec<c_int> = signals.into_iter().filter(|&s| !is_ignored(s)).collect();
    let (ready, begun) = channel();
    let wait = move || {
        let Ok(mut signals) = Signals::new(signals) else {
            return;
        };
        // Only this thread sends.
        let _ = ready.send(());
        for signal in signals.forever() {
            let first = !CAME.swap(true, Ordering::Relaxed);
            if first && IS_POLLED.load(Ordering::Relaxed) {
                continue;
            }
            child::end_all();
            temporary::remove_all();
            let words = LAST_WORDS
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let words = words.and_then(|words| words());
            // Until the end: no other thread writes after the last words.
            let _last = std::io::stderr().lock();
            if let Some(words) = words {
                output::warn(&format!("interrupted; {words}"));
            }
            // This ends the program; if it does not, nothing else can be done.
            let _ = emulate_default_handler(signal);
        }
    };
    // The thread is not joined: it waits as long as the command runs.
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(wait);
    // An error if there is no such thread, or no handler.
    let _ = begun.recv();
}

/// Sets a function that is called before a signal ends the command; its message is printed.
pub fn run_before_exit(words: impl FnOnce() -> Option<String> + Send + 'static) {
    hold_exit().run_before_exit(words);
}

/// While this value exists no signal ends the command.
pub struct HeldExit(MutexGuard<'static, Option<LastWords>>);

/// Delays the end of the command.
pub fn hold_exit() -> HeldExit {
    HeldExit(LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl HeldExit {
    /// As [`run_before_exit`], and allows the end of the command again.
    pub fn run_before_exit(mut self, words: impl FnOnce() -> Option<String> + Send + 'static) {
        *self.0 = Some(Box::new(words));
    }
}

/// Lets the first signal request a stop, and the second one end the command.
pub fn first_signal_requests_stop() {
    IS_POLLED.store(true, Ordering::Relaxed);
}

/// Whether a signal has requested a stop.
pub fn stop_requested() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Whether a signal is ignored (`nohup`, a job in the background of a script): then it stays ignored.
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: the call fills a struct on the stack; all zeros is a valid value of it, which it keeps if the call fails.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}
