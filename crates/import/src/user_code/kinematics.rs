//! The functions of MadEvent's `Source/kin_functions.f` that functions of a user may call.

use super::Kind;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// A function of momenta, (E, px, py, pz).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kinematic {
    /// Squared distance in rapidity and azimuth.
    R2,
    /// Squared mass of one momentum plus a factor times the other.
    SumDot,
    /// Squared transverse momentum of a sum.
    PtDot,
    /// Rapidity in the detector frame of a momentum in the rest frame of the partons.
    Rap,
    /// Rapidity in the frame of the momentum.
    Rap2,
    /// Difference of azimuths, from 0 to pi.
    DeltaPhi,
    /// Transverse energy.
    Et,
    /// Transverse momentum.
    Pt,
    /// Product of Minkowski space.
    Dot,
    /// Product of the vectors of three dimensions.
    ThreeDot,
    /// Size of the vector of three dimensions.
    Rho,
    /// Polar angle.
    Theta,
    /// Pseudorapidity in the frame of the momentum.
    Eta,
    /// Azimuth, from 0 to 2 pi.
    Phi,
}

const NAMES: [(&str, Kinematic, usize); 14] = [
    ("R2", Kinematic::R2, 2),
    ("SUMDOT", Kinematic::SumDot, 2),
    ("PTDOT", Kinematic::PtDot, 2),
    ("RAP", Kinematic::Rap, 1),
    ("RAP2", Kinematic::Rap2, 1),
    ("DELTA_PHI", Kinematic::DeltaPhi, 2),
    ("ET", Kinematic::Et, 1),
    ("PT", Kinematic::Pt, 1),
    ("DOT", Kinematic::Dot, 2),
    ("THREEDOT", Kinematic::ThreeDot, 2),
    ("RHO", Kinematic::Rho, 1),
    ("THETA", Kinematic::Theta, 1),
    ("ETA", Kinematic::Eta, 1),
    ("PHI", Kinematic::Phi, 1),
];

impl Kinematic {
    /// Finds a function by its name.
    pub(super) fn find(name: &str) -> Option<Kinematic> {
        let found = NAMES.iter().find(|(known, ..)| *known == name);
        found.map(|(_, function, _)| *function)
    }

    /// Number of momenta that it takes.
    pub(super) fn momenta(self) -> usize {
        let own = NAMES.iter().find(|(_, function, _)| *function == self);
        own.map_or(1, |(.., momenta)| *momenta)
    }

    /// Number of arguments: the momenta, and a factor.
    pub(super) fn arguments(self) -> usize {
        self.momenta() + usize::from(self == Kinematic::SumDot)
    }

    /// Type of its result.
    pub(super) const KIND: Kind = Kind::Real;

    /// Computes the function as `kin_functions.f` does; `rapidity` is that of the partons' centre of mass.
    pub(super) fn of(self, p: &[[f64; 4]; 2], factor: f64, rapidity: f64) -> f64 {
        let [one, other] = *p;
        match self {
            Kinematic::R2 => {
                delta_phi(one, other).powi(2) + (rap(one, rapidity) - rap(other, rapidity)).powi(2)
            }
            Kinematic::SumDot => {
                let sum: [f64; 4] = std::array::from_fn(|i| one[i] + factor * other[i]);
                dot(sum, sum)
            }
            Kinematic::PtDot => (one[1] + other[1]).powi(2) + (one[2] + other[2]).powi(2),
            Kinematic::Rap => rap(one, rapidity),
            Kinematic::Rap2 => 0.5 * ((one[0] + one[3]) / (one[0] - one[3])).ln(),
            Kinematic::DeltaPhi => delta_phi(one, other),
            Kinematic::Et => {
                let pt = pt(one);
                match pt > 0.0 {
                    true => one[0] * pt / (pt * pt + one[3] * one[3]).sqrt(),
                    false => 0.0,
                }
            }
            Kinematic::Pt => pt(one),
            Kinematic::Dot => dot(one, other),
            Kinematic::ThreeDot => three_dot(one, other),
            Kinematic::Rho => three_dot(one, one).sqrt(),
            Kinematic::Theta => theta(one),
            Kinematic::Eta => -(theta(one) / 2.0).tan().ln(),
            Kinematic::Phi => phi(one),
        }
    }
}

fn pt(p: [f64; 4]) -> f64 {
    (p[1] * p[1] + p[2] * p[2]).sqrt()
}

fn three_dot(p: [f64; 4], q: [f64; 4]) -> f64 {
    p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
}

fn theta(p: [f64; 4]) -> f64 {
    (p[3] / (p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt()).acos()
}

/// Below 1e-6 GeV^2, a product that is below 1e-6 (of single precision) of the sum of its terms is 0.
fn dot(p: [f64; 4], q: [f64; 4]) -> f64 {
    let found = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
    let sum = (p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]).max(0.0);
    match found.abs() < 1e-6 && found / sum < f64::from(1e-6_f32) {
        true => 0.0,
        false => found,
    }
}

fn rap(p: [f64; 4], rapidity: f64) -> f64 {
    match p[0] > p[3].abs() {
        true => 0.5 * ((p[0] + p[3]) / (p[0] - p[3])).ln() + rapidity,
        false => -1e99,
    }
}

fn delta_phi(p: [f64; 4], q: [f64; 4]) -> f64 {
    const LARGEST: f64 = 0.999_999_99;
    let cosine = (p[1] * q[1] + p[2] * q[2]) / (pt(p) * pt(q));
    // MAX of Fortran leaves the bound where the other argument is no number.
    let cosine = if cosine.is_nan() { -LARGEST } else { cosine };
    cosine.clamp(-LARGEST, LARGEST).acos()
}

fn phi(p: [f64; 4]) -> f64 {
    // The digits that kin_functions.f has of it.
    let pi = (PI * 1e9).round() / 1e9;
    let found = match (p[1] > 0.0, p[1] < 0.0, p[2] >= 0.0) {
        (true, ..) => (p[2] / p[1]).atan(),
        (_, true, _) => (p[2] / p[1]).atan() + pi,
        (.., true) => pi / 2.0,
        _ => -pi / 2.0,
    };
    if found < 0.0 { found + 2.0 * pi } else { found }
}
