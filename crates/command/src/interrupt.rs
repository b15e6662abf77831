//! Signals that end the command: what is not whole goes first, programs that were started, files and
//! folders alike.

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

/// Whether somebody asks for [`came`], so that the first signal does not end the command.
static IS_ASKED: AtomicBool = AtomicBool::new(false);
static CAME: AtomicBool = AtomicBool::new(false);
/// What is done, and told, before a signal ends the command.
static LAST_WORDS: Mutex<Option<LastWords>> = Mutex::new(None);

/// Gives the line that users need.
type LastWords = Box<dyn FnOnce() -> Option<String> + Send>;

/// From now on such a signal removes what is temporary before it ends the command. Where there is no thread for that
/// it ends the command at once, as ever. Nothing is made before it is so: the thread may be slow to start.
pub fn watch() {
    // Who writes more than a file may have (`ulimit -f`) gets an error, as on a full disk; programs that are started get the
    // signal.
    let _ = flag::register(SIGXFSZ, Arc::default());
    let signals = [SIGINT, SIGTERM, SIGHUP];
    let signals: Vec<c_int> = signals.into_iter().filter(|&s| !is_ignored(s)).collect();
    let (ready, begun) = channel();
    let wait = move || {
        let Ok(mut signals) = Signals::new(signals) else {
            return;
        };
        // Nobody else sends anything, so that it is asked for.
        let _ = ready.send(());
        for signal in signals.forever() {
            let first = !CAME.swap(true, Ordering::Relaxed);
            if first && IS_ASKED.load(Ordering::Relaxed) {
                continue;
            }
            child::end_all();
            temporary::remove_all();
            let words = LAST_WORDS
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(words) = words.and_then(|words| words()) {
                output::warn(&format!("interrupted; {words}"));
            }
            // It ends the program; where it does not there is nothing to be done.
            let _ = emulate_default_handler(signal);
        }
    };
    // Without a handle: it waits for as long as the command runs.
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(wait);
    // An error where there is no such thread, or no handler.
    let _ = begun.recv();
}

/// Has this done before a signal ends the command, and says what it gives.
pub fn before_the_end(words: impl FnOnce() -> Option<String> + Send + 'static) {
    hold().before_the_end(words);
}

/// As long as this is there no signal ends the command.
pub struct Held(MutexGuard<'static, Option<LastWords>>);

/// Holds the end of the command back.
pub fn hold() -> Held {
    Held(LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Held {
    /// As the function of this name, and lets go.
    pub fn before_the_end(mut self, words: impl FnOnce() -> Option<String> + Send + 'static) {
        *self.0 = Some(Box::new(words));
    }
}

/// From now on the first signal asks to stop, and the second one ends the command.
pub fn ask_first() {
    IS_ASKED.store(true, Ordering::Relaxed);
}

/// Whether one of them came.
pub fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Whether a signal is ignored (`nohup`, a job in the background of a script): then it stays ignored.
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: a struct on the stack that the call fills, which is all zeros where the call fails.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action);
        action.sa_sigaction == libc::SIG_IGN
    }
}
