//! The machine and the time of a measurement.

use mebridge::simd::Level;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// Name of the CPU.
    pub cpu: String,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// SIMD levels of the CPU.
    pub levels: Vec<String>,
    /// Operating system and architecture.
    pub system: String,
    /// Load (average of a minute) before the first point, if the system reports it. It includes earlier work of this
    /// program.
    pub load_before: Option<f64>,
    /// The same after the last point.
    pub load_after: Option<f64>,
}

impl Host {
    /// Returns this machine.
    pub fn this() -> Host {
        Host {
            cpu: cpu(),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get()),
            levels: Level::supported().iter().map(|l| l.name().into()).collect(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            load_before: load(),
            load_after: None,
        }
    }
}

/// Returns the CPU's name from Linux, or elsewhere the architecture.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == "model name")
        .map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.into())
}

/// Returns the number of processes that run or wait, averaged over a minute.
pub fn load() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Returns the time as `2026-01-31T12:00:00Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
    date(seconds.map_or(0, |d| d.as_secs()))
}

/// Converts seconds since 1970 to a date: the calendar repeats every 400 years, counted from a 1st of March so that the
/// leap day is the last day of its year.
fn date(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let day = day - (153 * march + 2) / 5 + 1;
    let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }

    #[test]
    fn this_machine_has_a_name() {
        let machine = Host::this();
        assert!(!machine.cpu.is_empty());
        assert!(machine.cpus >= 1);
        assert!(machine.levels.contains(&"none".to_owned()));
    }
}
