//! Runs a program with limits of time and memory, in a process group, so that it can be killed with all its children.

use mebridge::files::temporary::folder_of;
use mebridge_support::sorted::SortedSet;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between the first two checks whether a program has ended; later intervals are longer.
const FIRST_LOOK: Duration = Duration::from_micros(300);
/// Longest interval.
const LAST_LOOK: Duration = Duration::from_millis(20);
/// Time that a program may take to end.
const GRACE: Duration = Duration::from_millis(500);
/// Number of bytes kept from the end of a program's stderr.
const KEPT: usize = 4000;

/// Process groups of the running programs.
static RUNNING: Mutex<SortedSet<i32>> = Mutex::new(SortedSet::new());

/// A running program, which is killed on drop.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> std::io::Result<Running> {
        // Locked during the start, so that a running program is always listed.
        let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.process_group(0).spawn()?;
        all.insert(child.id().cast_signed());
        Ok(Running(child))
    }

    /// Returns the exit status, if the program has ended.
    fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let mut all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let status = self.0.try_wait()?;
        if status.is_some() {
            // From now on the number may belong to another program.
            all.remove(&self.0.id().cast_signed());
        }
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = self.0.id().cast_signed();
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            let requested = Instant::now();
            while let Ok(None) = self.ended() {
                if requested.elapsed() > GRACE {
                    break;
                }
                send(signal, group);
                std::thread::sleep(LAST_LOOK);
            }
        }
    }
}

/// Sends a signal. gfortran removes its files only if it is terminated by a signal that it can handle.
fn send(signal: i32, group: i32) {
    // SAFETY: the arguments are numbers.
    unsafe { libc::kill(-group, signal) };
}

/// Kills all running programs before this program ends; none can be started afterwards.
pub fn end_all() {
    let all = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().for_each(|&group| send(libc::SIGTERM, group));
    std::mem::forget(all);
}

/// Runs a program to its end. Its stdout is discarded; if it fails, the end of its stderr (written to a file at
/// `errors`, in a temporary folder) is part of the reason.
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
        // The compiler's files are removed with the folder: it may be killed before it removes them.
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

/// Disables core files, and limits memory.
pub fn limit_resources(command: &mut Command, memory: Option<u64>) {
    let limit = move |resource, bytes| {
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        // SAFETY: setrlimit reads a struct that outlives the call.
        unsafe { libc::setrlimit(resource, &limit) };
    };
    let limits = move || {
        limit(libc::RLIMIT_CORE, 0);
        if let Some(bytes) = memory {
            limit(libc::RLIMIT_AS, bytes);
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure calls only setrlimit, which is allowed there.
    unsafe { command.pre_exec(limits) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Children of the program are killed, too, even if they ignore signals.
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
            // Dead, even if it was not waited for.
            let state = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
            assert!(state.is_err() || state.is_ok_and(|s| s.contains(") Z ")));
        }
    }
}
