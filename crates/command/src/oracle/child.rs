//! A program with limits of time and memory.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The first wait between two looks at whether a program has ended; waits become longer.
const FIRST_LOOK: Duration = Duration::from_micros(300);
/// The longest wait.
const LAST_LOOK: Duration = Duration::from_millis(20);
/// The end of what a program wrote on stderr is kept.
const KEPT: usize = 4000;

/// Runs a program to its end. What it writes on stdout is thrown away, the end of what it writes on
/// stderr (into a file at `errors`) comes with the reason why it failed.
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
        .env("GFORTRAN_ERROR_BACKTRACE", "n")
        .env("LC_ALL", "C");
    limit_resources(&mut command, memory);
    let start = Instant::now();
    let mut child = command.spawn().map_err(text)?;
    let mut look = FIRST_LOOK;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(text)? {
            break status;
        }
        if start.elapsed() > limit {
            child.kill().map_err(text)?;
            child.wait().map_err(text)?;
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
