//! Photons of both protons in ultraperipheral collisions, as in gamma-UPC (H.-S. Shao, D. d'Enterria, arXiv:2207.03012),
//! which MG5aMC calls for `edff` and `chff`.
//!
//! The flux is an integral over the distances b1, b2 of the photons from the centres of their protons, with the
//! probability that the protons, which are |b1 - b2| apart, stay intact. So it is one function of x1 and x2. Bessel
//! functions, integrals by the midpoint rule and interpolation are those of gamma-UPC, so that values are, too.

use std::f64::consts::{PI, TAU};

/// How the charge of a proton is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormFactor {
    /// Outside of the proton, as that of a point: `edff`.
    ElectricDipole,
    /// By the dipole form factor: `chff`.
    Charge,
}

const ALPHA: f64 = 0.007_299_270_072_992_700_5;
/// Mass of the proton in GeV, and its radius in 1 / GeV.
const MASS: f64 = 0.938_272_081;
const RADIUS: f64 = 0.877 / 0.1973;
/// The length of the dipole form factor, 1 / GeV.
const LENGTH: f64 = 1.186_781_658_193_853_3;
/// Least b of the charge form factor, in radii of the proton.
const LEAST: f64 = 0.1;
/// The largest ln(x b mass).
const LARGEST: f64 = 2.0;
/// Points of the midpoint rule in ln b of the electric dipole form factor; the other one has twice as many.
const STEPS: usize = 30;
/// Points of the midpoint rule in the angle between b1 and b2, of which half are different.
const ANGLES: usize = 10;
/// Decades of x of the grid, from 1 downwards, and knots in each of them.
const DECADES: usize = 8;
const KNOTS: usize = 10;
const ALL: usize = DECADES * KNOTS + 1;
/// The electric dipole form factor has no larger ratio to the flux of protons that always stay intact.
const RATIO: f64 = 100.0;

/// The flux of photons from two protons.
#[derive(Debug)]
pub struct PhotonPairs {
    form: FormFactor,
    /// Lorentz factors of the protons.
    gammas: [f64; 2],
    /// The flux by x1 and x2, which are 10^(-k / KNOTS).
    values: Vec<f64>,
}

impl PhotonPairs {
    /// Computes the flux for protons with these energies, GeV.
    pub fn new(form: FormFactor, energies: [f64; 2]) -> Self {
        let gammas = energies.map(|energy| energy / MASS);
        let beams = gammas.map(|gamma| {
            let rows = (0..ALL).map(|k| Distances::new(form, knot(k), gamma));
            rows.collect::<Vec<_>>()
        });
        let energy_square = (4.0 * energies[0] * energies[1]).ln();
        let size = 9.81 + 0.211 * energy_square + 0.0185 * energy_square * energy_square;
        let mut values = vec![0.0; ALL * ALL];
        // At x = 1 there are no photons.
        for i in 1..ALL {
            for j in 1..ALL {
                values[i * ALL + j] = match energies[0] == energies[1] && j < i {
                    true => values[j * ALL + i],
                    false => beams[0][i].flux(&beams[1][j], size) / (knot(i) * knot(j)),
                };
            }
        }
        PhotonPairs {
            form,
            gammas,
            values,
        }
    }

    /// The least x of the grid.
    pub fn least_x() -> f64 {
        knot(ALL - 1)
    }

    /// The density of pairs of photons with these shares of the energies of the first and of the second proton.
    pub fn at(&self, x: [f64; 2]) -> f64 {
        if x.iter().any(|&x| !(x > 0.0 && x <= 1.0)) {
            return 0.0;
        }
        let [one, other] = [0, 1].map(|beam| outside(x[beam], self.gammas[beam]));
        let intact = (one * other).max(0.0);
        if intact.is_nan() || intact == 0.0 {
            return 0.0;
        }
        let [(i, of_first), (j, of_second)] = x.map(weights);
        let mut found = 0.0;
        for (row, first) in of_first.iter().enumerate() {
            let row = &self.values[(i + row) * ALL + j..][..=KNOTS];
            let row: f64 = row
                .iter()
                .zip(&of_second)
                .map(|(value, of)| value * of)
                .sum();
            found += first * row;
        }
        let large = self.form == FormFactor::ElectricDipole && found > RATIO * intact;
        match found.is_nan() || found < 0.0 || large {
            // Polynomials oscillate where the flux falls steeply.
            true => intact,
            false => found,
        }
    }
}

/// The x of a knot.
fn knot(number: usize) -> f64 {
    10f64.powf(-(number as f64) / KNOTS as f64)
}

/// The first knot of the decade of x, and the Lagrange polynomials of its knots in log10 x.
fn weights(x: f64) -> (usize, [f64; KNOTS + 1]) {
    let place = -x.log10() * KNOTS as f64;
    let decade = ((place / KNOTS as f64).ceil() as usize).clamp(1, DECADES) - 1;
    let first = decade * KNOTS;
    let place = place - first as f64;
    let mut found = [1.0; KNOTS + 1];
    for (i, of) in found.iter_mut().enumerate() {
        for j in (0..=KNOTS).filter(|&j| j != i) {
            *of *= (place - j as f64) / (i as f64 - j as f64);
        }
    }
    (first, found)
}

/// The flux of photons from a proton that is always intact, outside of its radius.
fn outside(x: f64, gamma: f64) -> f64 {
    let at = MASS * x * RADIUS;
    let (k0, k1) = bessel(at);
    let rest = (1.0 - 1.0 / (gamma * gamma)) * at * at / 2.0 * (k1 * k1 - k0 * k0);
    ALPHA / x * 2.0 / PI * (at * k0 * k1 - rest)
}

/// Distances of a photon with some x from the centre of its proton.
struct Distances {
    /// b in 1 / GeV, with b^2 times the number of photons per area, for alpha = 1, and the step in ln b.
    points: Vec<(f64, f64)>,
}

impl Distances {
    fn new(form: FormFactor, x: f64, gamma: f64) -> Self {
        let (least, steps) = match form {
            FormFactor::ElectricDipole => (1.0, STEPS),
            FormFactor::Charge => (LEAST, 2 * STEPS),
        };
        let begin = (RADIUS * MASS * least * x).ln();
        let step = (LARGEST - begin) / steps as f64;
        let point = |i: usize| {
            let scaled = (begin + (i as f64 + 0.5) * step).exp();
            let distance = scaled / x / MASS;
            let photons = match form {
                FormFactor::ElectricDipole => {
                    let (k0, k1) = bessel(scaled);
                    let transverse = k0 / gamma;
                    scaled * scaled * (k1 * k1 + transverse * transverse)
                }
                FormFactor::Charge => {
                    let length = LENGTH * x * MASS;
                    let root = (1.0 + 1.0 / (length * length)).sqrt();
                    let (k0, k1) = bessel(scaled * root);
                    let inner = root * k1 + scaled / (2.0 * length * length) * k0;
                    (scaled * (bessel(scaled).1 - inner)).powi(2)
                }
            };
            (distance, photons / (PI * PI) * step)
        };
        Distances {
            points: (0..steps).map(point).collect(),
        }
    }

    /// x1 x2 times the flux; `size` is that of protons that interact, 1 / GeV^2.
    fn flux(&self, other: &Distances, size: f64) -> f64 {
        let cosines: [f64; ANGLES / 2] =
            std::array::from_fn(|i| ((i as f64 + 0.5) / ANGLES as f64 * TAU).cos());
        let mut sum = 0.0;
        for &(first, of_first) in &self.points {
            let mut row = 0.0;
            for &(second, of_second) in &other.points {
                let squares = first * first + second * second;
                let mut intact = 0.0;
                for cosine in cosines {
                    let square = squares - 2.0 * first * second * cosine;
                    let missed = 1.0 - (-square / (2.0 * size)).exp();
                    intact += missed * missed;
                }
                row += of_second * intact;
            }
            sum += of_first * row;
        }
        sum * 2.0 * TAU / ANGLES as f64 * TAU * ALPHA * ALPHA
    }
}

/// The modified Bessel functions K0 and K1 (M. Abramowitz, I. Stegun, 9.8.1 to 9.8.8), which have relative errors of 1e-7.
fn bessel(x: f64) -> (f64, f64) {
    let sum = |of: &[f64], y: f64| of.iter().rev().fold(0.0, |sum, term| sum * y + term);
    if x > 2.0 {
        let (y, size) = (2.0 / x, (-x).exp() / x.sqrt());
        let k0 = [
            1.253_314_14,
            -0.078_323_58,
            0.021_895_68,
            -0.010_624_46,
            0.005_878_72,
            -0.002_515_40,
            0.000_532_08,
        ];
        let k1 = [
            1.253_314_14,
            0.234_986_19,
            -0.036_556_20,
            0.015_042_68,
            -0.007_803_53,
            0.003_256_14,
            -0.000_682_45,
        ];
        return (size * sum(&k0, y), size * sum(&k1, y));
    }
    let (y, t) = (x * x / 4.0, (x / 3.75).powi(2));
    let i0 = [
        1.0,
        3.515_622_9,
        3.089_942_4,
        1.206_749_2,
        0.265_973_2,
        0.036_076_8,
        0.004_581_3,
    ];
    let i1 = [
        0.5,
        0.878_905_94,
        0.514_988_69,
        0.150_849_34,
        0.026_587_33,
        0.003_015_32,
        0.000_324_11,
    ];
    let k0 = [
        -0.577_215_66,
        0.422_784_20,
        0.230_697_56,
        0.034_885_90,
        0.002_626_98,
        0.000_107_50,
        0.000_007_40,
    ];
    let k1 = [
        1.0,
        0.154_431_44,
        -0.672_785_79,
        -0.181_568_97,
        -0.019_194_02,
        -0.001_104_04,
        -0.000_046_86,
    ];
    let logarithm = (x / 2.0).ln();
    (
        sum(&k0, y) - logarithm * sum(&i0, t),
        sum(&k1, y) / x + logarithm * x * sum(&i1, t),
    )
}
