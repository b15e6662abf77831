//! What this program asks of the system: one core for all that it starts, the time, and to be told of Ctrl-C.

use crate::rows::Backend;
use std::sync::atomic::{AtomicBool, Ordering};

/// Binds this program and those that it starts to one core, the last one that it may use unless one is named.
#[cfg(target_os = "linux")]
pub fn bind(core: Option<usize>) -> Result<usize, String> {
    let failed = |what: String| format!("{what}: {}", std::io::Error::last_os_error());
    // SAFETY: zero is a set without cores.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a set of this size.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&cores), &mut cores) } != 0 {
        return Err(failed("which cores may be used".into()));
    }
    // SAFETY: the numbers are below the size of the set.
    let may =
        |core: &usize| *core < 8 * size_of_val(&cores) && unsafe { libc::CPU_ISSET(*core, &cores) };
    let core = match core {
        Some(core) if may(&core) => core,
        Some(core) => {
            return Err(format!(
                "core {core} may not be used; taskset -p $$ says which"
            ));
        }
        None => (0..8 * size_of_val(&cores))
            .rfind(may)
            .ok_or("no core may be used")?,
    };
    // SAFETY: as above.
    unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut one);
        if libc::sched_setaffinity(0, size_of_val(&one), &one) != 0 {
            return Err(failed(format!("core {core}")));
        }
    }
    Ok(core)
}

/// Other systems bind no programs to cores.
#[cfg(not(target_os = "linux"))]
pub fn bind(core: Option<usize>) -> Result<usize, String> {
    match core {
        Some(_) => Err("programs are bound to a core on Linux alone; leave --core out".into()),
        None => Ok(0),
    }
}

/// What tells the time of calls.
#[derive(Clone, Copy, Debug)]
pub struct Clock(libc::clockid_t);

impl Clock {
    /// On a CPU the time that this program had it, all its threads together: other programs on the core count for
    /// less. On a GPU the time that passed.
    pub fn new(backend: Backend) -> Clock {
        Clock(match backend {
            Backend::Cpu => libc::CLOCK_PROCESS_CPUTIME_ID,
            Backend::Cuda => libc::CLOCK_MONOTONIC,
        })
    }

    /// Seconds since some moment.
    pub fn seconds(self) -> f64 {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: a pointer to a time. These clocks are there.
        unsafe { libc::clock_gettime(self.0, &mut time) };
        time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
    }
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn interrupt(signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
    // SAFETY: signal() may be called by a handler. The second one ends the program as ever.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// From now on SIGINT and SIGTERM only ask to stop.
pub fn catch_interrupts() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let handler = interrupt as extern "C" fn(libc::c_int);
        // SAFETY: the handler does nothing that a handler may not.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// From now on the program ends, as others do, where nobody reads on what it prints: `--list | head`.
pub fn end_with_the_reader() {
    // SAFETY: no handler, but what a program starts with.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Whether one of them came.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on() {
        for backend in [Backend::Cpu, Backend::Cuda] {
            let clock = Clock::new(backend);
            let begun = clock.seconds();
            let mut x = 0u64;
            while clock.seconds() - begun < 1e-3 {
                x = std::hint::black_box(x + 1);
            }
            assert!(x > 0);
        }
    }
}
