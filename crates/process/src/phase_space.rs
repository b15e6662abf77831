//! Flat phase space by RAMBO.
//!
//! R. Kleiss, W.J. Stirling, S.D. Ellis, "A new Monte Carlo treatment of multiparticle phase
//! space at high energies", Comput. Phys. Commun. 40 (1986) 359.
//!
//! Conventions:
//! * momenta as in MadEvent, `P(0:3, NEXTERNAL)`: `(E, px, py, pz)` in GeV, the incoming legs first, with positive
//!   energy, along +z and -z in their centre-of-mass frame;
//! * the weight is that of the paper: the volume element is the product of `d^4p delta(p^2 - m^2)` times `delta^4(P -
//!   sum p)`, *without* the `(2 pi)^(4-3n)` of a cross section. The total weight of n massless particles is
//!   `(pi/2)^(n-1) w^(2n-4) / (Gamma(n) Gamma(n-1))`;
//! * each final-state momentum takes four random numbers in the open interval (0, 1).

use mebridge_support::error::{Error, Result};
use std::f64::consts::{FRAC_PI_2, TAU};

/// Number of random numbers per final-state leg.
pub const RANDOMS_PER_LEG: usize = 4;

/// Bound on the Newton steps for the scaling of massive momenta; usually a few suffice.
const MAX_STEPS: usize = 100;

/// Flat phase space of one process at one energy.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpace {
    energy: f64,
    incoming: Vec<[f64; 4]>,
    masses: Vec<f64>,
    massless_volume: f64,
}

impl PhaseSpace {
    /// Creates the phase space at this centre-of-mass energy in GeV, given the masses of the incoming legs (one or two)
    /// and of the outgoing legs (at least two, or one whose mass is the energy).
    pub fn new(energy: f64, incoming: &[f64], outgoing: &[f64]) -> Result<Self> {
        let bad = |what: String| Err(Error::PhaseSpace { what });
        if !(energy.is_finite() && energy > 0.0) {
            return bad(format!("the energy is {energy} GeV"));
        }
        if let Some(mass) = incoming
            .iter()
            .chain(outgoing)
            .find(|m| !(m.is_finite() && **m >= 0.0))
        {
            return bad(format!("a leg has the mass {mass} GeV"));
        }
        let w = energy;
        let incoming = match *incoming {
            [m] if (m - w).abs() <= 1e-9 * w => vec![[m, 0.0, 0.0, 0.0]],
            [m] => {
                return bad(format!(
                    "one incoming leg of mass {m} GeV decays at that energy, not at {w} GeV"
                ));
            }
            [a, b] => {
                let Some(p) = two_body_momentum(w, a, b) else {
                    return bad(format!(
                        "{w} GeV is below the threshold of the incoming legs, {} GeV",
                        a + b
                    ));
                };
                vec![
                    [(p * p + a * a).sqrt(), 0.0, 0.0, p],
                    [(p * p + b * b).sqrt(), 0.0, 0.0, -p],
                ]
            }
            _ => return bad(format!("{} incoming legs", incoming.len())),
        };
        match *outgoing {
            [] => return bad("no outgoing legs".into()),
            [m] if (m - w).abs() <= 1e-9 * w => {}
            [m] => {
                return bad(format!(
                    "the only outgoing leg has mass {m} GeV, so the energy must be that, not {w} GeV"
                ));
            }
            _ => {
                let threshold: f64 = outgoing.iter().sum();
                if w <= threshold {
                    return bad(format!(
                        "{w} GeV is not above the threshold of the outgoing legs, {threshold} GeV"
                    ));
                }
            }
        }
        Ok(PhaseSpace {
            energy,
            incoming,
            masses: outgoing.to_vec(),
            massless_volume: massless_volume(outgoing.len(), energy),
        })
    }

    /// Number of external legs.
    pub fn legs(&self) -> usize {
        self.incoming.len() + self.masses.len()
    }

    /// Number of random numbers per event: [`RANDOMS_PER_LEG`] for each outgoing leg.
    pub fn randoms(&self) -> usize {
        RANDOMS_PER_LEG * self.masses.len()
    }

    /// Number of momentum components per event, 4 per leg.
    pub fn components(&self) -> usize {
        4 * self.legs()
    }

    /// Fills in the momenta of one event and returns its weight.
    ///
    /// # Panics
    /// If the length of `random` is not [`PhaseSpace::randoms`], or that of `momenta` not [`PhaseSpace::components`].
    pub fn event(&self, random: &[f64], momenta: &mut [f64]) -> f64 {
        assert_eq!(random.len(), self.randoms(), "random numbers of an event");
        assert_eq!(momenta.len(), self.components(), "momenta of an event");
        let (incoming, outgoing) = momenta.split_at_mut(4 * self.incoming.len());
        for (p, from) in incoming.chunks_exact_mut(4).zip(&self.incoming) {
            p.copy_from_slice(from);
        }
        if self.masses.len() == 1 {
            outgoing.copy_from_slice(&[self.energy, 0.0, 0.0, 0.0]);
            return self.massless_volume;
        }
        massless(self.energy, random, outgoing);
        if self.masses.iter().all(|&m| m == 0.0) {
            return self.massless_volume;
        }
        self.massless_volume * self.give_masses(outgoing)
    }

    /// Scales the three-momenta so that the legs are on their mass shells, and returns the weight relative to the
    /// massless one (section 4 of the paper).
    fn give_masses(&self, momenta: &mut [f64]) -> f64 {
        let w = self.energy;
        let legs = || momenta.chunks_exact(4).zip(&self.masses);
        // The sum of energies is convex in xi, and its largest zero is below this start.
        let total: f64 = self.masses.iter().sum();
        let mut xi = (1.0 - (total / w).powi(2)).sqrt();
        for _ in 0..MAX_STEPS {
            let (mut excess, mut slope) = (-w, 0.0);
            for (p, m) in legs() {
                let e = (m * m + (xi * p[0]).powi(2)).sqrt();
                excess += e;
                slope += xi * p[0] * p[0] / e;
            }
            let step = excess / slope;
            xi -= step;
            // From above, every step decreases xi, until rounding dominates.
            if step <= 1e-15 * xi {
                break;
            }
        }
        let n = self.masses.len() as i32;
        let (mut sum, mut product, mut sum_squares) = (0.0, 1.0, 0.0);
        for (p, m) in momenta.chunks_exact_mut(4).zip(&self.masses) {
            let k = xi * p[0];
            p[1] *= xi;
            p[2] *= xi;
            p[3] *= xi;
            p[0] = (m * m + k * k).sqrt();
            sum += k;
            product *= k / p[0];
            sum_squares += k * k / p[0];
        }
        (sum / w).powi(2 * n - 3) * product / sum_squares * w
    }
}

/// Generates momenta of massless legs at energy `w`: isotropic ones, boosted and scaled into the centre-of-mass frame
/// (sections 2 and 3 of the paper).
fn massless(w: f64, random: &[f64], momenta: &mut [f64]) {
    for (r, q) in random
        .chunks_exact(RANDOMS_PER_LEG)
        .zip(momenta.chunks_exact_mut(4))
    {
        let cos = 2.0 * r[0] - 1.0;
        let sin = (1.0 - cos * cos).sqrt();
        let phi = TAU * r[1];
        let e = -(r[2] * r[3]).ln();
        q[0] = e;
        q[1] = e * sin * phi.sin();
        q[2] = e * sin * phi.cos();
        q[3] = e * cos;
    }
    to_rest(w, momenta);
    // If all legs are close to each other, the boost is large and digits are lost. A second, tiny boost restores them.
    for q in momenta.chunks_exact_mut(4) {
        q[0] = (q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
    }
    to_rest(w, momenta);
}

/// Boosts momenta into their centre-of-mass frame, and scales them to the energy `w`.
fn to_rest(w: f64, momenta: &mut [f64]) {
    let mut total = [0.0; 4];
    for q in momenta.chunks_exact(4) {
        for (t, q) in total.iter_mut().zip(q) {
            *t += *q;
        }
    }
    let [e, x, y, z] = total;
    let mass = (e * e - z * z - y * y - x * x).sqrt();
    let b = [-x / mass, -y / mass, -z / mass];
    let gamma = e / mass;
    let a = 1.0 / (1.0 + gamma);
    let scale = w / mass;
    for q in momenta.chunks_exact_mut(4) {
        let bq = b[0] * q[1] + b[1] * q[2] + b[2] * q[3];
        let e = q[0];
        for i in 0..3 {
            q[i + 1] = scale * (q[i + 1] + b[i] * (e + a * bq));
        }
        q[0] = scale * (gamma * e + bq);
    }
}

/// Volume of the phase space of `n` massless legs at energy `w`; for `n` = 1, where
/// the volume is a delta function, its coefficient 1.
pub fn massless_volume(n: usize, w: f64) -> f64 {
    let mut volume = 1.0;
    for k in 1..n {
        // A factor (pi/2) w^2 / (k (k-1)) each, without w^2 / (k-1) for k = 1.
        volume *= FRAC_PI_2 / k as f64;
        if k > 1 {
            volume *= w * w / (k - 1) as f64;
        }
    }
    volume
}

/// Momentum of two legs of these masses in their centre-of-mass frame; `None` below threshold.
fn two_body_momentum(w: f64, a: f64, b: f64) -> Option<f64> {
    if w < a + b {
        return None;
    }
    let kallen = (w - a - b) * (w + a + b) * (w - a + b) * (w + a - b);
    Some(kallen.max(0.0).sqrt() / (2.0 * w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mebridge_support::random::SplitMix64;

    /// Mean and standard error of some values.
    #[derive(Default)]
    struct Mean {
        count: f64,
        sum: f64,
        squares: f64,
    }

    impl Mean {
        fn add(&mut self, value: f64) {
            self.count += 1.0;
            self.sum += value;
            self.squares += value * value;
        }

        fn mean(&self) -> f64 {
            self.sum / self.count
        }

        fn standard_error(&self) -> f64 {
            ((self.squares / self.count - self.mean().powi(2)) / self.count).sqrt()
        }
    }

    /// Calls `f` with the momenta and the weight of `count` events.
    fn events(space: &PhaseSpace, count: usize, mut f: impl FnMut(&[f64], f64)) {
        let mut random = SplitMix64::new(7);
        let mut numbers = vec![0.0; space.randoms()];
        let mut momenta = vec![0.0; space.components()];
        for _ in 0..count {
            numbers.fill_with(|| random.number());
            let weight = space.event(&numbers, &mut momenta);
            f(&momenta, weight);
        }
    }

    /// Checks mass shells and conservation of momentum.
    fn check_kinematics(energy: f64, incoming: &[f64], outgoing: &[f64], tolerance: f64) {
        let space = PhaseSpace::new(energy, incoming, outgoing).unwrap();
        let masses: Vec<f64> = incoming.iter().chain(outgoing).copied().collect();
        events(&space, 20_000, |momenta, weight| {
            let mut total = [0.0; 4];
            for (i, (p, m)) in momenta.chunks_exact(4).zip(&masses).enumerate() {
                let square = p[0] * p[0] - p[1] * p[1] - p[2] * p[2] - p[3] * p[3];
                assert!(
                    (square - m * m).abs() < tolerance * energy * energy,
                    "leg {i}: p^2 is {square}, m^2 is {}",
                    m * m
                );
                assert!(p[0] > 0.0);
                let sign = if i < incoming.len() { 1.0 } else { -1.0 };
                for (t, p) in total.iter_mut().zip(p) {
                    *t += sign * p;
                }
            }
            for t in total {
                assert!(t.abs() < tolerance * energy, "momentum is off by {t}");
            }
            assert!(weight > 0.0 && weight.is_finite());
        });
    }

    #[test]
    fn momenta_are_on_shell_and_conserved() {
        check_kinematics(1500.0, &[0.0, 0.0], &[0.0, 0.0], 2e-15);
        check_kinematics(1500.0, &[0.0, 0.0], &[173.0, 173.0], 2e-15);
        check_kinematics(1500.0, &[0.0, 0.0], &[173.0, 173.0, 0.0, 0.0, 0.0], 2e-15);
        check_kinematics(1500.0, &[5.0, 80.0], &[80.4, 0.0, 4.7], 2e-15);
        check_kinematics(173.0, &[173.0], &[80.4, 4.7], 2e-15);
        // Just above threshold.
        check_kinematics(346.0 * (1.0 + 1e-9), &[0.0, 0.0], &[173.0, 173.0], 2e-15);
        check_kinematics(346.0 * (1.0 + 1e-12), &[0.0, 0.0], &[173.0, 173.0], 2e-15);
        check_kinematics(125.0, &[0.0, 0.0], &[125.0], 2e-15);
    }

    /// Massless weights are constant, so they do not test the momenta. The distribution of the mass M of all legs but
    /// one does.
    #[test]
    fn massless_phase_space_is_flat() {
        let w = 100.0;
        for n in [3usize, 4, 5] {
            let space = PhaseSpace::new(w, &[0.0, 0.0], &vec![0.0; n]).unwrap();
            // dV_n / dM^2 = V_2(w; 0, M) V_(n-1)(M), and V_2 is proportional to 1 - M^2/w^2,
            // V_(n-1) to M^(2n-6). With u = M^2/w^2: density of u = (n-1)(n-2) u^(n-3) (1-u).
            let k = n as f64;
            let mean = (k - 2.0) / k;
            let mean_square = (k - 1.0) * (k - 2.0) / (k * (k + 1.0));
            for leg in 0..n {
                let (mut u, mut u2) = (Mean::default(), Mean::default());
                events(&space, 40_000, |momenta, weight| {
                    assert_eq!(weight, massless_volume(n, w));
                    let e = momenta[4 * (2 + leg)];
                    let value = 1.0 - 2.0 * e / w;
                    u.add(value);
                    u2.add(value * value);
                });
                for (s, expected) in [(&u, mean), (&u2, mean_square)] {
                    let pull = (s.mean() - expected) / s.standard_error();
                    assert!(pull.abs() < 4.5, "n = {n}, leg {leg}: {pull} sigma");
                }
            }
        }
    }

    #[test]
    fn directions_are_isotropic() {
        let space = PhaseSpace::new(1500.0, &[0.0, 0.0], &[173.0, 173.0, 0.0]).unwrap();
        for component in 1..4 {
            let (mut mean, mut square) = (Mean::default(), Mean::default());
            events(&space, 40_000, |momenta, _| {
                let p = &momenta[8..12];
                let norm = (p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt();
                mean.add(p[component] / norm);
                square.add((p[component] / norm).powi(2));
            });
            assert!((mean.mean() / mean.standard_error()).abs() < 4.5);
            assert!(((square.mean() - 1.0 / 3.0) / square.standard_error()).abs() < 4.5);
        }
    }

    #[test]
    fn massless_volumes_are_those_of_the_paper() {
        let pi = std::f64::consts::PI;
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-14, "{a} {b}");
        close(massless_volume(2, 91.0), pi / 2.0);
        close(massless_volume(3, 10.0), pi.powi(2) / 8.0 * 100.0);
        close(
            massless_volume(5, 10.0),
            (pi / 2.0).powi(4) * 1e6 / (24.0 * 6.0),
        );
    }

    #[test]
    fn two_massive_legs_weigh_what_the_closed_formula_says() {
        for (w, a, b) in [
            (1500.0, 173.0, 173.0),
            (400.0, 173.0, 80.4),
            (90.0, 0.0, 89.0),
        ] {
            let space = PhaseSpace::new(w, &[0.0, 0.0], &[a, b]).unwrap();
            // V_2 = (pi/2) lambda^(1/2) / w^2 = (pi/2) 2 k / w.
            let exact = FRAC_PI_2 * 2.0 * two_body_momentum(w, a, b).unwrap() / w;
            events(&space, 100, |_, weight| {
                assert!((weight / exact - 1.0).abs() < 1e-12, "{weight} {exact}");
            });
        }
    }

    /// Three legs, one of them massive: the integral over the mass of the massless pair,
    /// `V_3 = int dM^2 V_2(w; m, M) V_2(M; 0, 0)`, by Simpson's rule.
    #[test]
    fn three_legs_with_one_massive_weigh_what_the_integral_says() {
        let (w, m) = (500.0, 173.0);
        let pair = |square: f64| {
            let k = two_body_momentum(w, m, square.sqrt()).unwrap_or(0.0);
            FRAC_PI_2 * (2.0 * k / w) * FRAC_PI_2
        };
        let top = (w - m) * (w - m);
        let steps = 20_000;
        let h = top / steps as f64;
        let exact: f64 = (0..=steps)
            .map(|i| {
                let c = match i {
                    0 => 1.0,
                    i if i == steps => 1.0,
                    i if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                c * pair((i as f64 * h).min(top)) * h / 3.0
            })
            .sum();
        let space = PhaseSpace::new(w, &[0.0, 0.0], &[m, 0.0, 0.0]).unwrap();
        let mut weights = Mean::default();
        events(&space, 40_000, |_, weight| {
            weights.add(weight);
        });
        let pull = (weights.mean() - exact) / weights.standard_error();
        assert!(pull.abs() < 4.5, "{} {exact}", weights.mean());
        assert!(weights.standard_error() / exact < 3e-3);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let message = |energy: f64, incoming: &[f64], outgoing: &[f64]| {
            PhaseSpace::new(energy, incoming, outgoing)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message(300.0, &[0.0, 0.0], &[173.0, 173.0]),
            "no phase space: 300 GeV is not above the threshold of the outgoing legs, 346 GeV; \
             give another energy with --energy"
        );
        assert!(message(-1.0, &[0.0, 0.0], &[0.0, 0.0]).contains("the energy is -1 GeV"));
        assert!(message(f64::NAN, &[0.0, 0.0], &[0.0, 0.0]).contains("the energy is NaN GeV"));
        assert!(message(1.0, &[0.0, -3.0], &[0.0, 0.0]).contains("the mass -3 GeV"));
        assert!(message(1.0, &[0.0, 3.0], &[0.0, 0.0]).contains("incoming legs, 3 GeV"));
        assert!(message(1.0, &[0.0; 3], &[0.0, 0.0]).contains("3 incoming legs"));
        assert!(message(1.0, &[0.0; 2], &[]).contains("no outgoing legs"));
        assert!(message(1500.0, &[0.0; 2], &[125.0]).contains("must be that, not 1500 GeV"));
    }
}
