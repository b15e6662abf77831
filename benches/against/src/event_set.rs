//! The events of a row: flat phase space at 1.5 TeV from a fixed seed, the same for both libraries and on every
//! machine. Arrays are those of the Fortran interface: `momenta[event][leg][4]`.

use crate::phase_space;
use crate::random::SplitMix64;
use crate::rows::Process;
use std::path::Path;

/// GeV.
const ENERGY: f64 = 1500.0;
/// The top quark's mass in GeV where no card says another: in the models that mebridge comes with.
const TOP: f64 = 173.0;
/// alpha_s of all events, and g_s with it.
const ALPHA_S: f64 = 0.118;
const SEED: u64 = 20;

/// Events, and random numbers for their choices.
pub struct EventSet {
    /// How many events.
    pub events: usize,
    /// Legs of an event.
    pub legs: usize,
    /// `[event][leg][4]`, (E, px, py, pz) in GeV.
    pub momenta: Vec<f64>,
    /// `[event]`
    pub g_s: Vec<f64>,
    /// `[event]`
    pub alpha_s: Vec<f64>,
    /// `[event]`, for helicity, colour and diagram.
    pub random: [Vec<f64>; 3],
}

impl EventSet {
    /// Events of this process, whose outgoing legs have these masses.
    pub fn new(masses: &[f64], events: usize) -> EventSet {
        let mut random = SplitMix64::new(SEED);
        let momenta: Vec<f64> = (0..events)
            .flat_map(|_| phase_space::event(ENERGY, masses, &mut random))
            .flatten()
            .collect();
        EventSet {
            events,
            legs: masses.len() + 2,
            momenta,
            g_s: vec![(4.0 * std::f64::consts::PI * ALPHA_S).sqrt(); events],
            alpha_s: vec![ALPHA_S; events],
            random: [1, 2, 3].map(|stream| {
                let mut random = SplitMix64::new(SEED + stream);
                (0..events).map(|_| random.number()).collect()
            }),
        }
    }

    /// The momenta of one event.
    pub fn event(&self, event: usize) -> &[f64] {
        &self.momenta[4 * self.legs * event..][..4 * self.legs]
    }
}

/// Masses of the outgoing legs. Only the top quark on the list has a mass; a directory with a card has the mass of its
/// card.
pub fn masses(process: &Process, source: &Path) -> Vec<f64> {
    let card = std::fs::read_to_string(source.join("../../Cards/param_card.dat"));
    let top = card.ok().and_then(|card| mass(&card, 6)).unwrap_or(TOP);
    let codes = process.outgoing.iter();
    codes
        .map(|code| if code.abs() == 6 { top } else { 0.0 })
        .collect()
}

/// The mass of a particle in the text of a parameter card.
fn mass(card: &str, code: i32) -> Option<f64> {
    let mut inside = false;
    for line in card.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        match first.to_lowercase().as_str() {
            "block" => {
                inside = words
                    .next()
                    .is_some_and(|name| name.eq_ignore_ascii_case("mass"))
            }
            "decay" => inside = false,
            _ if inside && first == code.to_string() => return words.next()?.parse().ok(),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mass_is_found_in_its_block() {
        let card = "Block loop\n 6 1.0\nBLOCK MASS # of all\n  5 4.7 # MB\n  6 1.73e+02 # MT\nDECAY 6 1.49\n";
        assert_eq!(mass(card, 6), Some(173.0));
        assert_eq!(mass(card, 23), None);
    }

    #[test]
    fn more_events_begin_with_the_same() {
        let [few, many] = [3, 10].map(|events| EventSet::new(&[TOP, TOP, 0.0], events));
        assert_eq!(few.event(2), many.event(2));
        assert_eq!(few.random[1][..3], many.random[1][..3]);
        assert_eq!(few.event(0).len(), 20);
    }
}
