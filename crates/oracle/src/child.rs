//! A program with limits of time and memory. It and what it starts are a group of processes, so that both can be ended.

use mebridge::files::temporary::folder_of;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first wait between two looks at whether a program has ended; waits become longer.
const FIRST_LOOK: Duration = Duration::from_micros(300);
/// The longest wait.
const LAST_LOOK: Duration = Duration::from_millis(20);
/// How long a program may take to end.
const GRACE: Duration = Duration::from_millis(500);
/// The end of what a program wrote on stderr is kept.
const KEPT: usize = 4000;

/// Those that run, by the number of their group.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A program that runs, which ends with this.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> std::io::Result<Running> {
        // Held all the while: there is no moment at which it runs and is not listed.
        let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.process_group(0).spawn()?;
        all.insert(child.id().cast_signed());
        Ok(Running(child))
    }

    /// How it ended, if it did.
    fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.0.try_wait()?;
        if status.is_some() {
            // The number is another program's from now on.
            all.remove(&self.0.id().cast_signed());
        }
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = self.0.id().cast_signed();
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            let asked = Instant::now();
            while let Ok(None) = self.ended() {
                if asked.elapsed() > GRACE {
                    break;
                }
                send(signal, group);
                std::thread::sleep(LAST_LOOK);
            }
        }
    }
}

/// gfortran removes its files before it ends, but only where it is asked to end.
fn send(signal: i32, group: i32) {
    // SAFETY: numbers.
    unsafe { libc::kill(-group, signal) };
}

/// Ends all that run, for a program that is about to end: none can be started any more.
pub fn end_all() {
    let all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().for_each(|&group| send(libc::SIGTERM, group));
    std::mem::forget(all);
}

/// Runs a program to its end. What it writes on stdout is thrown away, the end of what it writes on
/// stderr (into a file at `errors`, in a temporary folder) comes with the reason why it failed.
pub fn run(
    mut command: Command,
    input: Option<&Path>,
    errors: &Path,
    limit: Duration,
    memory: Option<u64>,
) -> std::result::Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    let stdin = match input {
        Some(path) => File::open(path).map_err(text)?.into(),
        None => Stdio::null(),
    };
    command
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(File::create(errors).map_err(text)?)
        // Files of the compiler go with the folder: it may be ended before it removes them.
        .env("TMPDIR", folder_of(errors))
        .env("GFORTRAN_ERROR_BACKTRACE", "n")
        .env("LC_ALL", "C");
    limit_resources(&mut command, memory);
    let start = Instant::now();
    let mut running = Running::start(&mut command).map_err(text)?;
    let mut look = FIRST_LOOK;
    let status = loop {
        if let Some(status) = running.ended().map_err(text)? {
            break status;
        }
        if start.elapsed() > limit {
            return Err(format!("took longer than {} s", limit.as_secs_f64()));
        }
        std::thread::sleep(look);
        look = (look * 5 / 4).min(LAST_LOOK);
    };
    if status.success() {
        return Ok(());
    }
    let bytes = std::fs::read(errors).unwrap_or_default();
    let all = String::from_utf8_lossy(&bytes);
    let from = all.ceil_char_boundary(all.len().saturating_sub(KEPT));
    Err(match status.signal() {
        Some(signal) => format!("ended by signal {signal}"),
        None => format!("{} {}", status, all[from..].trim()).trim().into(),
    })
}

/// No core files, and no more memory than this.
pub fn limit_resources(command: &mut Command, memory: Option<u64>) {
    let limit = move |resource, bytes| {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        // SAFETY: it reads a struct that outlives the call.
        unsafe { libc::setrlimit(resource, &limit) };
    };
    let limits = move || {
        limit(libc::RLIMIT_CORE, 0);
        if let Some(bytes) = memory {
            limit(libc::RLIMIT_AS, bytes);
        }
        Ok(())
    };
    // SAFETY: between fork and exec it calls setrlimit alone, which may be called there.
    unsafe { command.pre_exec(limits) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also what a program has started, and one that does not want to.
    #[test]
    fn programs_end_in_time_with_what_they_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name| folder.path().join(name);
        for script in [
            "sleep 50 & echo $! > \"$0\"; wait",
            "trap '' TERM; sleep 50 & echo $! > \"$0\"; wait; wait",
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(path("number"));
            let ran = run(
                command,
                None,
                &path("errors"),
                Duration::from_millis(300),
                None,
            );
            assert!(ran.is_err_and(|e| e.contains("longer")));
            let number = std::fs::read_to_string(path("number")).unwrap();
            // Dead, be it that nobody has asked how it ended.
            let state = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
            assert!(state.is_err() || state.is_ok_and(|s| s.contains(") Z ")));
        }
    }
}
