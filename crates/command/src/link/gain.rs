//! Estimates the gain of a linked run beforehand.

use mebridge::process::Process;

/// A rule of thumb: microseconds per event in MadEvent itself (phase space, densities, cuts, writing), and per
/// amplitude and helicity in the Fortran matrix element. Only their ratio matters. docs/link.md compares its results
/// with measurements for five processes; it ignores vanishing helicities and the savings of recycling.
const OWN: f64 = 65.0;
const OF_AMPLITUDE: f64 = 0.1;
/// Share of an event's time below which a gain is not noticeable.
const LITTLE: f64 = 0.15;

/// Returns the share of an event's time that the Fortran matrix element takes.
fn share(process: &Process) -> f64 {
    let amplitudes = process.amplitudes.vertices().len() * process.helicities.len();
    let matrix_element = OF_AMPLITUDE * amplitudes as f64;
    matrix_element / (matrix_element + OWN)
}

/// Describes the expected gain for a P directory with these matrix elements.
pub fn expected_gain(processes: &[Process]) -> String {
    let most = processes.iter().map(share).fold(0.0, f64::max);
    let percent = (100.0 * most).clamp(1.0, 99.0);
    let of = format!(
        "estimated from the number of amplitudes, the Fortran matrix element takes some {percent:.0} % of the time of an event"
    );
    match most < LITTLE {
        true => format!("{of}: runs are hardly faster when linked"),
        false => format!(
            "{of}: linked runs are some {:.1} times as fast, not counting compilation",
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
        let of = |text| expected_gain(&generate(text).unwrap());
        assert_eq!(
            of("e+ e- > mu+ mu-"),
            "estimated from the number of amplitudes, the Fortran matrix element takes some 5 % of the time of an event: runs \
             are hardly faster when linked"
        );
        assert!(of("g g > t t~").contains("some 7 % of the time of an event: runs are hardly"));
        assert!(of("g g > t t~ g").contains("are some 1.9 times as fast"));
        assert!(of("g g > t t~ g g").contains("are some 16"));
    }
}
