//! The CPU time of executables of aMC@NLO: they ask for it dozens of times for each point (`CPU_TIME`) to print what
//! their parts take.
//!
//! The system's clock takes 0.25 microseconds a call, a fifth of the time of a linked run. So it is read at most once in
//! [`EXACT_FOR`], and a clock of the wall tells how much has passed since. What another process may have used of that is
//! corrected at the next reading: sums of many differences are right, and time never runs backwards.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a reading of the system's clock serves.
const EXACT_FOR: Duration = Duration::from_millis(1);

static CLOCK: Mutex<Option<Clock>> = Mutex::new(None);

/// The last reading.
struct Clock {
    at: Instant,
    cpu: f64,
    /// What was answered last.
    answered: f64,
}

impl Clock {
    /// Returns the CPU time in seconds, which `exact` reads from the system.
    fn now(&mut self, now: Instant, exact: impl Fn() -> f64) -> f64 {
        let passed = now.saturating_duration_since(self.at);
        let seconds = match passed < EXACT_FOR {
            true => self.cpu + passed.as_secs_f64(),
            false => {
                (self.at, self.cpu) = (now, exact());
                self.cpu
            }
        };
        self.answered = self.answered.max(seconds);
        self.answered
    }
}

/// Writes the CPU time of this process in seconds.
///
/// # Safety
/// `seconds` points to a variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mebridge_cpu_time_(seconds: *mut f64) {
    let now = Instant::now();
    let read = match CLOCK.try_lock() {
        Ok(mut clock) => clock
            .get_or_insert_with(|| Clock {
                at: now,
                cpu: system(),
                answered: 0.0,
            })
            .now(now, system),
        Err(_) => system(),
    };
    // SAFETY: guaranteed by the caller.
    unsafe { seconds.write(read) }
}

/// Reads the system's clock.
#[cfg(unix)]
fn system() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a local variable. Without such a clock it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

#[cfg(not(unix))]
fn system() -> f64 {
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_is_asked_once_in_a_while() {
        let start = Instant::now();
        let mut clock = Clock {
            at: start,
            cpu: 2.0,
            answered: 0.0,
        };
        let mut at = |micros: u64, exact: Option<f64>| {
            clock.now(start + Duration::from_micros(micros), || exact.unwrap())
        };
        assert_eq!(at(0, None), 2.0);
        assert!((at(400, None) - 2.0004).abs() < 1e-12);
        assert!((at(999, None) - 2.000999).abs() < 1e-12);
        // Another process ran in between.
        assert!((at(1000, Some(2.0003)) - 2.000999).abs() < 1e-12);
        assert!((at(1500, None) - 2.000999).abs() < 1e-12);
        assert!((at(1900, None) - 2.0012).abs() < 1e-12);
        assert_eq!(at(5000, Some(2.0031)), 2.0031);
    }

    #[cfg(unix)]
    #[test]
    fn it_is_the_cpu_time_of_the_process() {
        let read = || {
            let mut seconds = f64::NAN;
            // SAFETY: a local variable.
            unsafe { mebridge_cpu_time_(&raw mut seconds) };
            seconds
        };
        let first = read();
        let before = system();
        while system() < before + 0.05 {
            assert!(read() >= first);
        }
        std::thread::sleep(2 * EXACT_FOR);
        assert!((read() - system()).abs() < 0.01);
    }
}
