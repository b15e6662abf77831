//! Progress on stderr: bars on a terminal, for work that takes more than a second; elsewhere a line about work that may
//! take minutes.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Shorter work shows no progress.
const QUIET: Duration = Duration::from_secs(1);
/// Time after which a line reports long work.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two updates.
const REDRAW: Duration = Duration::from_millis(200);

/// Shows the progress of a piece of work, until it is dropped.
pub struct Progress {
    done: Arc<AtomicU64>,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Shows the progress of `steps` steps; 0 for work without steps.
    pub fn new(what: &str, steps: u64) -> Progress {
        let done = Arc::new(AtomicU64::new(0));
        let painter = std::io::stderr().is_terminal().then(|| {
            let (end, ended) = channel::<()>();
            let (what, done) = (what.to_owned(), done.clone());
            let thread = Builder::new().spawn(move || {
                let wait = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
                if !wait(QUIET) {
                    return;
                }
                let bar = bar(&what, steps);
                while {
                    bar.set_position(done.load(Ordering::Relaxed));
                    bar.tick();
                    wait(REDRAW)
                } {}
                bar.finish_and_clear();
            });
            // If no thread can be made the work runs without progress.
            Some((end, thread.ok()?))
        });
        Progress {
            done,
            painter: painter.flatten(),
        }
    }

    /// Shows the progress of work that may take minutes: if stderr is not a terminal, a line reports it after ten
    /// seconds.
    pub fn patient(what: &str) -> Progress {
        if std::io::stderr().is_terminal() {
            return Progress::new(what, 0);
        }
        let (end, ended) = channel::<()>();
        let what = what.to_owned();
        let thread = Builder::new().spawn(move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("mebridge: {what}, for ten seconds so far");
            }
        });
        Progress {
            done: Arc::default(),
            painter: thread.ok().map(|thread| (end, thread)),
        }
    }

    /// Reports that `steps` steps are done.
    pub fn add(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Reports that one more step is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.painter.take() {
            drop(end);
            // It only draws; a failure does not matter.
            let _ = thread.join();
        }
    }
}

fn bar(what: &str, steps: u64) -> ProgressBar {
    let (bar, template) = if steps == 0 {
        (ProgressBar::new_spinner(), "{spinner} {msg} [{elapsed}]")
    } else {
        (
            ProgressBar::new(steps),
            "{msg} [{bar:40}] {pos}/{len} [{elapsed}, {eta} left]",
        )
    };
    // The templates are constants, and tested.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what.to_owned());
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_can_be_made_and_short_work_ends_at_once() {
        for steps in [0, 3] {
            bar("test", steps).finish_and_clear();
            let start = std::time::Instant::now();
            let progress = Progress::new("test", steps);
            progress.step();
            drop(progress);
            assert!(start.elapsed() < QUIET);
        }
    }
}
