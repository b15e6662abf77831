//! Flat phase space by RAMBO (R. Kleiss, W.J. Stirling, S.D. Ellis, Comput. Phys. Commun. 40 (1986) 359), without
//! its weights: a speed does not depend on them.
//!
//! Momenta are (E, px, py, pz) in GeV, in the centre-of-mass frame; the two incoming legs come first, massless, along
//! +z and -z, with positive energy.

use crate::random::SplitMix64;
use std::f64::consts::TAU;

/// A momentum.
pub type Momentum = [f64; 4];

/// One event at this energy, with outgoing legs of these masses.
pub fn event(energy: f64, masses: &[f64], random: &mut SplitMix64) -> Vec<Momentum> {
    let half = 0.5 * energy;
    let mut momenta = vec![[half, 0.0, 0.0, half], [half, 0.0, 0.0, -half]];
    let massless = massless(energy, masses.len(), random);
    let factor = factor(energy, masses, &massless);
    for (p, mass) in massless.iter().zip(masses) {
        let [x, y, z] = [1, 2, 3].map(|i| factor * p[i]);
        let e = (mass * mass + x * x + y * y + z * z).sqrt();
        momenta.push([e, x, y, z]);
    }
    momenta
}

/// Massless momenta that add up to this energy at rest.
fn massless(energy: f64, count: usize, random: &mut SplitMix64) -> Vec<Momentum> {
    let isotropic = |_| {
        let z = 2.0 * random.number() - 1.0;
        let (sin, cos) = (TAU * random.number()).sin_cos();
        let e = -(random.number() * random.number()).ln();
        let across = e * (1.0 - z * z).sqrt();
        [e, across * cos, across * sin, e * z]
    };
    let mut momenta: Vec<Momentum> = (0..count).map(isotropic).collect();
    let mut total = [0.0; 4];
    for p in &momenta {
        for (total, p) in total.iter_mut().zip(p) {
            *total += p;
        }
    }
    let mass = (total[0] * total[0] - square(&total)).sqrt();
    // Into the frame where they are together at rest, and to the energy.
    let boost = [1, 2, 3].map(|i| -total[i] / mass);
    let gamma = total[0] / mass;
    let a = 1.0 / (1.0 + gamma);
    let scale = energy / mass;
    for p in &mut momenta {
        let along = boost[0] * p[1] + boost[1] * p[2] + boost[2] * p[3];
        let e = p[0];
        p[0] = scale * (gamma * e + along);
        for i in 0..3 {
            p[i + 1] = scale * (p[i + 1] + boost[i] * (e + a * along));
        }
    }
    momenta
}

/// The factor of the three-momenta with which the energies of massive legs add up, by Newton's method.
fn factor(energy: f64, masses: &[f64], massless: &[Momentum]) -> f64 {
    let total: f64 = masses.iter().sum();
    let mut factor = (1.0 - (total / energy).powi(2)).sqrt();
    for _ in 0..100 {
        let (mut excess, mut slope) = (-energy, 0.0);
        for (p, mass) in massless.iter().zip(masses) {
            let e = (mass * mass + factor * factor * square(p)).sqrt();
            excess += e;
            slope += factor * square(p) / e;
        }
        let step = excess / slope;
        factor -= step;
        if step.abs() < 1e-15 * factor {
            break;
        }
    }
    factor
}

/// The square of the three-momentum.
fn square(p: &Momentum) -> f64 {
    p[1] * p[1] + p[2] * p[2] + p[3] * p[3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momentum_is_conserved_and_on_its_mass_shell() {
        let energy = 1500.0;
        let mut random = SplitMix64::new(11);
        for masses in [
            &[0.0, 0.0][..],
            &[173.0, 173.0],
            &[173.0, 173.0, 0.0, 0.0, 0.0, 0.0],
            &[172.76, 172.76, 172.76, 172.76],
        ] {
            for _ in 0..1000 {
                let momenta = event(energy, masses, &mut random);
                let mut total = [0.0; 4];
                for (i, (p, mass)) in momenta
                    .iter()
                    .zip([0.0; 2].iter().chain(masses))
                    .enumerate()
                {
                    assert!(p[0] > 0.0);
                    let off = p[0] * p[0] - square(p) - mass * mass;
                    assert!(off.abs() < 1e-12 * energy * energy, "leg {i}: {off}");
                    let sign = if i < 2 { 1.0 } else { -1.0 };
                    for (total, p) in total.iter_mut().zip(p) {
                        *total += sign * p;
                    }
                }
                assert!(total.iter().all(|t| t.abs() < 1e-11 * energy), "{total:?}");
            }
        }
    }

    #[test]
    fn a_seed_has_its_events() {
        let once = event(1500.0, &[173.0, 173.0, 0.0], &mut SplitMix64::new(5));
        let again = event(1500.0, &[173.0, 173.0, 0.0], &mut SplitMix64::new(5));
        assert_eq!(once, again);
    }
}
