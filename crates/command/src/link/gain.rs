//! What a run gains by the link, said before there is a run.

use mebridge::process::Process;

/// A rule of thumb: microseconds of MadEvent's own for an event (phase space, densities, cuts, writing), and of the
/// Fortran's matrix element for an amplitude of a helicity. Their ratio is what counts. What it gives for five processes,
/// and what was measured, is in docs/link.md; it leaves out which helicities vanish, and what recycling spares.
const OWN: f64 = 65.0;
const OF_AMPLITUDE: f64 = 0.1;
/// Shares of an event's time that nobody sees.
const LITTLE: f64 = 0.15;

/// The share of an event's time that the Fortran's matrix element takes.
fn share(process: &Process) -> f64 {
    let amplitudes = process.amplitudes.vertices().len() * process.helicities.len();
    let matrix_element = OF_AMPLITUDE * amplitudes as f64;
    matrix_element / (matrix_element + OWN)
}

/// What to expect of a P directory with these matrix elements.
pub fn expected(processes: &[Process]) -> String {
    let most = processes.iter().map(share).fold(0.0, f64::max);
    let percent = (100.0 * most).clamp(1.0, 99.0);
    let of = format!(
        "judged by the number of amplitudes the Fortran's matrix element takes some {percent:.0} % of the time of an event"
    );
    match most < LITTLE {
        true => format!("{of}: runs are hardly faster when linked"),
        false => format!(
            "{of}: linked runs are some {:.1} times as fast, compiling aside",
            1.0 / (1.0 - percent / 100.0)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge::generate;

    #[test]
    fn little_is_promised_of_small_processes() {
        let of = |text| expected(&generate(text).unwrap());
        assert_eq!(
            of("e+ e- > mu+ mu-"),
            "judged by the number of amplitudes the Fortran's matrix element takes some 5 % of the time of an event: runs \
             are hardly faster when linked"
        );
        assert!(of("g g > t t~").contains("some 7 % of the time of an event: runs are hardly"));
        assert!(of("g g > t t~ g").contains("are some 1.9 times as fast"));
        assert!(of("g g > t t~ g g").contains("are some 16"));
    }
}
