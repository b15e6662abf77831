//! Check mode of executables made by `mebridge link`: compares the library's matrix elements with the Fortran's.
//!
//! As with the CUDACPP plugin, `CUDACPP_RUNTIME_FBRIDGEMODE` below 0 enables it. MadEvent continues with the library's
//! matrix elements; when the program ends, the ratios library / Fortran of all events are reported on stderr for each
//! process. A MadEvent with one event per call requests one helicity at a time: requests with the same momenta count as
//! one event.

use mebridge::error::Result;
use mebridge::runtime::check_mode;
use mebridge_support::sorted::SortedMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, Once, OnceLock, PoisonError};

/// Ratios that differ from 1 by more than this are counted.
const FAR: f64 = 1e-8;

/// Statistics of the ratios library / Fortran of one process.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ratios {
    /// The current event, whose helicities may not be complete.
    event: Option<Event>,
    events: u64,
    /// Events where both are zero, and events where only the Fortran's matrix element is.
    both_zero: u64,
    fortran_zero: u64,
    far: u64,
    sum: f64,
    least: f64,
    most: f64,
    /// The event whose ratio is farthest from 1.
    worst: Option<(f64, Event)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Event {
    momenta: Vec<f64>,
    g_s: f64,
    library: f64,
    fortran: f64,
}

static ALL: Mutex<SortedMap<String, Ratios>> = Mutex::new(SortedMap::new());

/// Whether check mode is on.
pub fn is_enabled() -> Result<bool> {
    static ON: OnceLock<bool> = OnceLock::new();
    let on = match ON.get() {
        Some(&on) => on,
        None => {
            let enabled = check_mode()?;
            *ON.get_or_init(|| enabled)
        }
    };
    if on {
        report_at_exit();
    }
    Ok(on)
}

/// Adds both matrix elements of an event, or of some of its helicities.
pub fn add_event(process: &str, momenta: &[f64], g_s: f64, (library, fortran): (f64, f64)) {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.contains_key(process) {
        all.insert(process.to_owned(), Ratios::default());
    }
    let ratios = all.entry(process.to_owned()).or_default();
    match &mut ratios.event {
        Some(event) if event.g_s == g_s && event.momenta == momenta => {
            event.library += library;
            event.fortran += fortran;
        }
        _ => {
            ratios.end_event();
            ratios.event = Some(Event {
                momenta: momenta.to_vec(),
                g_s,
                library,
                fortran,
            });
        }
    }
}

impl Ratios {
    /// Adds the current event to the statistics.
    fn end_event(&mut self) {
        let Some(event) = self.event.take() else {
            return;
        };
        match (event.library == 0.0, event.fortran == 0.0) {
            (true, true) => return self.both_zero += 1,
            (false, true) => return self.fortran_zero += 1,
            _ => {}
        }
        let ratio = event.library / event.fortran;
        let off = match ratio.is_nan() {
            true => f64::INFINITY,
            false => (ratio - 1.0).abs(),
        };
        if self.events == 0 {
            (self.least, self.most) = (ratio, ratio);
        }
        self.events += 1;
        self.far += u64::from(off > FAR);
        self.sum += ratio - 1.0;
        self.least = self.least.min(ratio);
        self.most = self.most.max(ratio);
        if self.worst.as_ref().is_none_or(|(worst, _)| off > *worst) {
            self.worst = Some((off, event));
        }
    }

    fn text(&self, process: &str) -> String {
        let mut text = format!(
            "mebridge: check: {process}: {} events, library / Fortran - 1: min {:.2e}, max {:.2e}, mean {:.2e}; {} \
             farther than {FAR:e} from 0\n",
            self.events,
            self.least - 1.0,
            self.most - 1.0,
            self.sum / self.events.max(1) as f64,
            self.far,
        );
        if self.both_zero > 0 {
            let _ = writeln!(
                text,
                "mebridge: check: both are 0 for {} more",
                self.both_zero
            );
        }
        if self.fortran_zero > 0 {
            let _ = writeln!(
                text,
                "mebridge: check: WARNING the Fortran has 0 for {} more, the library has not",
                self.fortran_zero
            );
        }
        if let Some((_, event)) = &self.worst {
            let _ = writeln!(
                text,
                "mebridge: check: worst event: library {:.16e}, Fortran {:.16e}, g_s {:.16e}, momenta (E px py pz):",
                event.library, event.fortran, event.g_s
            );
            for p in event.momenta.chunks_exact(4) {
                let numbers: Vec<String> = p.iter().map(|x| format!("{x:.16e}")).collect();
                let _ = writeln!(text, "  {}", numbers.join(" "));
            }
        }
        text
    }
}

/// Reports all processes when the program ends.
fn report_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn report() {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        for (process, ratios) in all.iter_mut() {
            ratios.end_event();
            // Errors are ignored: stderr may be closed.
            let _ = std::io::stderr().write_all(ratios.text(process).as_bytes());
        }
    }
    ONCE.call_once(|| {
        // SAFETY: the function lives as long as the library, which is never unloaded because the executable links to
        // it.
        unsafe { libc::atexit(report) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helicities_of_an_event_are_added() {
        let process = "a process of this test";
        let p = [1.0, 0.0, 0.0, 1.0];
        let q = [2.0, 0.0, 0.0, 2.0];
        add_event(process, &p, 1.0, (0.5, 0.25));
        add_event(process, &p, 1.0, (0.5, 0.75));
        add_event(process, &q, 1.0, (3.0, 2.0));
        add_event(process, &q, 1.1, (0.0, 0.0));
        add_event(process, &p, 1.0, (1.0, 0.0));
        let mut ratios = ALL.lock().unwrap().remove(process).unwrap();
        ratios.end_event();
        assert_eq!(
            (ratios.events, ratios.both_zero, ratios.fortran_zero),
            (2, 1, 1)
        );
        assert_eq!(
            (ratios.least, ratios.most, ratios.sum, ratios.far),
            (1.0, 1.5, 0.5, 1)
        );
        let (off, worst) = ratios.worst.clone().unwrap();
        assert_eq!((off, worst.momenta.as_slice()), (0.5, &q[..]));
        let text = ratios.text(process);
        assert!(
            text.contains("2 events") && text.contains("max 5.00e-1"),
            "{text}"
        );
        assert!(
            text.contains("2.0000000000000000e0 0.0000000000000000e0"),
            "{text}"
        );
    }
}
