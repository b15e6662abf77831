//! Momenta of production with other masses.
//!
//! The outgoing particles of a collision or a resonance keep their directions in its rest frame; all their momenta
//! there are scaled by one factor that conserves energy. Resonances of the event keep their masses.

use crate::vectors::{Momentum, boost, mass, squared, sum, to_rest};

/// The outgoing particles of a collision or a resonance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Siblings {
    /// Indices of outgoing momenta.
    pub legs: Vec<usize>,
    /// Resonances, with their own products.
    pub groups: Vec<Siblings>,
}

impl Siblings {
    /// Indices of all outgoing momenta, including those of resonances.
    pub fn all(&self) -> Vec<usize> {
        let within = self.groups.iter().flat_map(Siblings::all);
        self.legs.iter().copied().chain(within).collect()
    }

    /// Gives momenta new masses and returns the ratio of the phase-space volumes, new over old; `None` if the masses do
    /// not fit.
    ///
    /// Args: `before` and `after` are the masses of all `momenta`, old and new.
    pub fn reshuffle(
        &self,
        momenta: &mut [Momentum],
        before: &[f64],
        after: &[f64],
    ) -> Option<f64> {
        let own = sum(self.all().iter().map(|&leg| &momenta[leg]));
        self.place(momenta, (own, own), before, after)
    }

    /// The same for a group whose total momentum changes from `from` to `to`.
    fn place(
        &self,
        momenta: &mut [Momentum],
        (from, to): (Momentum, Momentum),
        before: &[f64],
        after: &[f64],
    ) -> Option<f64> {
        let energy = mass(from);
        let groups: Vec<Momentum> = self
            .groups
            .iter()
            .map(|group| sum(group.all().iter().map(|&leg| &momenta[leg])))
            .collect();
        let own_masses: Vec<f64> = groups.iter().map(|&group| mass(group)).collect();
        let rests: Vec<Momentum> = (self.legs.iter().map(|&leg| momenta[leg]))
            .chain(groups.iter().copied())
            .map(|momentum| to_rest(momentum, from, energy))
            .collect();
        let masses = |of: &[f64]| -> Vec<f64> {
            self.legs
                .iter()
                .map(|&leg| of[leg])
                .chain(own_masses.iter().copied())
                .collect()
        };
        let (before_own, after_own) = (masses(before), masses(after));
        let same = before_own.iter().zip(&after_own).all(|(a, b)| a == b);
        let (factor, mut ratio) = match same {
            true => (1.0, 1.0),
            false => scale(&rests, &before_own, &after_own, energy)?,
        };
        let moved: Vec<Momentum> = rests
            .iter()
            .zip(&after_own)
            .map(|(&[e, x, y, z], &mass)| {
                let rest = match same {
                    true => [e, x, y, z],
                    false => {
                        let [x, y, z] = [x, y, z].map(|p| factor * p);
                        [(mass * mass + x * x + y * y + z * z).sqrt(), x, y, z]
                    }
                };
                boost(rest, to, energy)
            })
            .collect();
        let (legs, resonances) = moved.split_at(self.legs.len());
        for (&leg, &momentum) in self.legs.iter().zip(legs) {
            momenta[leg] = momentum;
        }
        for ((group, &from), &to) in self.groups.iter().zip(&groups).zip(resonances) {
            ratio *= group.place(momenta, (from, to), before, after)?;
        }
        Some(ratio)
    }
}

/// The factor by which momenta in the common rest frame are scaled to conserve the energy with the masses `after`, and
/// the ratio of phase-space volumes: `x^(3 n - 3) sum(p^2 / E) / sum(p'^2 / E') prod(E / E')`.
fn scale(momenta: &[Momentum], before: &[f64], after: &[f64], energy: f64) -> Option<(f64, f64)> {
    let left = energy - after.iter().sum::<f64>();
    let squares: Vec<f64> = momenta.iter().map(|&momentum| squared(momentum)).collect();
    let all: f64 = squares.iter().sum();
    if left <= 0.0 || all <= 1e-20 * energy * energy {
        return None;
    }
    let energies = |masses: &[f64], factor: f64| -> Vec<f64> {
        let each = masses.iter().zip(&squares);
        each.map(|(mass, square)| (mass * mass + factor * factor * square).sqrt())
            .collect()
    };
    // The sum of energies is convex in the factor, so Newton's method converges from above.
    let mut factor = squares
        .iter()
        .map(|square| square.sqrt())
        .fold(f64::INFINITY, |most, p| match p > 0.0 {
            true => most.min(energy / p),
            false => most,
        });
    for _ in 0..100 {
        let own = energies(after, factor);
        let excess = own.iter().sum::<f64>() - energy;
        let slope: f64 = own
            .iter()
            .zip(&squares)
            .map(|(e, square)| factor * square / e)
            .sum();
        let step = excess / slope;
        factor -= step;
        if step.abs() <= 1e-14 * factor {
            break;
        }
    }
    let (old, new) = (energies(before, 1.0), energies(after, factor));
    let over = |energies: &[f64]| -> f64 {
        squares
            .iter()
            .zip(energies)
            .map(|(square, e)| square / e)
            .sum()
    };
    let products: f64 = old.iter().zip(&new).map(|(old, new)| old / new).product();
    let power = 3 * (momenta.len() as i32 - 1);
    let ratio = factor.powi(power) * over(&old) / (factor * factor * over(&new)) * products;
    (factor.is_finite() && ratio.is_finite()).then_some((factor, ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{isotropic, opposite, two_body};

    fn pair(energy: f64, masses: [f64; 2]) -> Vec<Momentum> {
        let p = two_body(energy, masses[0], masses[1]);
        let one = isotropic(masses[0], p, [0.3, 0.7]);
        vec![one, opposite(one, masses[1])]
    }

    /// Phase space of two particles is proportional to their momentum.
    #[test]
    fn two_particles_have_the_known_phase_space() {
        let group = Siblings {
            legs: vec![0, 1],
            groups: vec![],
        };
        for (energy, after) in [
            (500.0, [160.0, 180.0]),
            (346.1, [150.0, 170.0]),
            (346.1, [173.0, 173.04]),
        ] {
            let mut momenta = pair(energy, [173.0; 2]);
            let p = squared(momenta[0]).sqrt();
            let ratio = group
                .reshuffle(&mut momenta, &[173.0; 2], &after)
                .expect("there is room");
            let expected = two_body(energy, after[0], after[1]) / p;
            assert!((ratio / expected - 1.0).abs() < 1e-8, "{ratio} {expected}");
            let found: Vec<f64> = momenta.iter().map(|&p| mass(p)).collect();
            assert!((found[0] - after[0]).abs() < 1e-6 && (found[1] - after[1]).abs() < 1e-6);
            assert!((sum(&momenta)[0] - energy).abs() < 1e-9);
        }
        let mut momenta = pair(346.1, [173.0; 2]);
        assert_eq!(
            group.reshuffle(&mut momenta, &[173.0; 2], &[180.0, 173.0]),
            None
        );
    }

    /// The ratio of nested two-body decays is the product of the ratios of their momenta.
    #[test]
    fn resonances_keep_their_masses() {
        let outer = pair(900.0, [400.0, 91.0]);
        let inner = pair(400.0, [173.0; 2])
            .into_iter()
            .map(|p| boost(p, outer[0], 400.0));
        let mut momenta: Vec<Momentum> = inner.collect();
        momenta.push(outer[1]);
        let group = Siblings {
            legs: vec![2],
            groups: vec![Siblings {
                legs: vec![0, 1],
                groups: vec![],
            }],
        };
        let before = [173.0, 173.0, 91.0];
        let total = sum(&momenta);
        let ratio = group
            .reshuffle(&mut momenta, &before, &[170.0, 175.0, 93.0])
            .expect("there is room");
        assert!((mass(sum(&momenta[..2])) - 400.0).abs() < 1e-6);
        assert!(
            sum(&momenta)
                .iter()
                .zip(total)
                .all(|(a, b)| (a - b).abs() < 1e-9)
        );
        let expected = two_body(400.0, 170.0, 175.0) / two_body(400.0, 173.0, 173.0)
            * two_body(900.0, 400.0, 93.0)
            / two_body(900.0, 400.0, 91.0);
        assert!((ratio / expected - 1.0).abs() < 1e-8);
    }
}
