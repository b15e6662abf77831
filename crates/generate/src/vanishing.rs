//! Detection of interferences that vanish identically: by colour, or summed over helicities.

use mebridge_process::phase_space::PhaseSpace;
use mebridge_process::{Process, Quantity};
use mebridge_support::random::SplitMix64;

const SEED: u64 = 20_261_128;
/// Number of points for each card, at energies away from thresholds.
const POINTS: usize = 2;
/// Energy in units of the threshold or of `MIN_ENERGY_UNIT` (in GeV), whichever is larger.
const ENERGY: f64 = 2.3;
const MIN_ENERGY_UNIT: f64 = 100.0;
/// The strong coupling.
const G: f64 = 1.2;
/// Largest relative remainder of cancelling terms.
const ROUNDING: f64 = 1e-11;

/// Whether |M|^2 vanishes for all momenta and cards although its terms do not. Tested with the values of the process's
/// own card, and with modified values.
pub fn vanishes(process: &Process) -> bool {
    let mut random = SplitMix64::new(SEED);
    let own = process.model.default_card();
    let other = own.iter().map(|&x| match x {
        0.0 => random.between(0.2, 0.5),
        x => x * random.between(1.0, 1.3),
    });
    let cards = [other.collect(), own.clone()];
    let mut some = false;
    for card in &cards {
        for _ in 0..POINTS {
            let Some(momenta) = momenta(process, card, &mut random) else {
                continue;
            };
            let answer = process.evaluate(&momenta, G, card);
            let (total, terms) = (answer.contributions.iter().sum::<f64>(), answer.terms);
            if total.is_nan() || terms == 0.0 {
                continue;
            }
            if total.abs() > ROUNDING * terms {
                return false;
            }
            some = true;
        }
    }
    some
}

/// Random momenta with the masses of a card.
fn momenta(process: &Process, card: &[f64], random: &mut SplitMix64) -> Option<Vec<[f64; 4]>> {
    let model = &process.model;
    let values = model.evaluate(card, G);
    let value = |of: Quantity| {
        of.0.map(|n| values[model.parameters[n as usize].value as usize].re)
    };
    let masses = |incoming: bool| -> Vec<f64> {
        let legs = process.legs.iter().filter(|leg| leg.incoming == incoming);
        legs.map(|leg| value(leg.mass).unwrap_or(0.0).abs())
            .collect()
    };
    let (incoming, outgoing) = (masses(true), masses(false));
    let needed = incoming.iter().sum::<f64>().max(outgoing.iter().sum());
    let energy = match incoming.len() {
        1 => incoming[0],
        _ => ENERGY * needed.max(MIN_ENERGY_UNIT),
    };
    let space = PhaseSpace::new(energy, &incoming, &outgoing).ok()?;
    let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.number()).collect();
    let mut momenta = vec![0.0; space.components()];
    space.event(&numbers, &mut momenta);
    Some(momenta.as_chunks().0.to_vec())
}
