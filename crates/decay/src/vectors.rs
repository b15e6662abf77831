//! Four-momenta (E, px, py, pz) in GeV.

use std::f64::consts::PI;

/// A four-momentum.
pub type Momentum = [f64; 4];

/// The sum of momenta.
pub fn sum<'a>(momenta: impl IntoIterator<Item = &'a Momentum>) -> Momentum {
    let mut all = [0.0; 4];
    for momentum in momenta {
        all.iter_mut().zip(momentum).for_each(|(sum, x)| *sum += x);
    }
    all
}

/// The invariant mass, 0 for spacelike momenta.
pub fn mass([e, x, y, z]: Momentum) -> f64 {
    ((e - z) * (e + z) - x * x - y * y).max(0.0).sqrt()
}

/// The square of the three-momentum.
pub fn squared([_, x, y, z]: Momentum) -> f64 {
    x * x + y * y + z * z
}

/// Boosts a momentum from the rest frame of `frame`, whose mass is given, to the frame in which `frame` is given.
pub fn boost([e, x, y, z]: Momentum, frame: Momentum, mass: f64) -> Momentum {
    let along = x * frame[1] + y * frame[2] + z * frame[3];
    let energy = (e * frame[0] + along) / mass;
    let factor = (e + energy) / (frame[0] + mass);
    [
        energy,
        x + factor * frame[1],
        y + factor * frame[2],
        z + factor * frame[3],
    ]
}

/// The inverse of [`boost`]: boosts a momentum into the rest frame of `frame`.
pub fn to_rest(momentum: Momentum, [e, x, y, z]: Momentum, mass: f64) -> Momentum {
    boost(momentum, [e, -x, -y, -z], mass)
}

/// The momentum of the two products of a decay at rest; 0 if the decay is closed.
pub fn two_body(mass: f64, one: f64, other: f64) -> f64 {
    let product =
        (mass + one + other) * (mass + one - other) * (mass - one + other) * (mass - one - other);
    match mass > one + other {
        true => product.max(0.0).sqrt() / (2.0 * mass),
        false => 0.0,
    }
}

/// A particle with this mass and absolute momentum; two numbers in (0, 1) choose its direction.
pub fn isotropic(mass: f64, momentum: f64, [cosine, azimuth]: [f64; 2]) -> Momentum {
    let cosine = 2.0 * cosine - 1.0;
    let sine = ((1.0 - cosine) * (1.0 + cosine)).sqrt();
    let (y, x) = (2.0 * PI * azimuth).sin_cos();
    let energy = mass.hypot(momentum);
    [
        energy,
        momentum * sine * x,
        momentum * sine * y,
        momentum * cosine,
    ]
}

/// The momentum of a particle of the given mass in the opposite direction.
pub fn opposite([_, x, y, z]: Momentum, mass: f64) -> Momentum {
    let energy = (mass * mass + x * x + y * y + z * z).sqrt();
    [energy, -x, -y, -z]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boosts_are_undone_and_keep_masses() {
        let frame = [5.0, 1.0, -2.0, 3.0];
        let m = mass(frame);
        let p = isotropic(0.5, 2.0, [0.3, 0.8]);
        let moved = boost(p, frame, m);
        assert!((mass(moved) - 0.5).abs() < 1e-12);
        let back = to_rest(moved, frame, m);
        assert!(
            back.iter().zip(p).all(|(a, b)| (a - b).abs() < 1e-12),
            "{back:?}"
        );
        let at_rest = boost([m, 0.0, 0.0, 0.0], frame, m);
        assert!(
            at_rest
                .iter()
                .zip(frame)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
        assert!((two_body(5.0, 3.0, 0.0) - 1.6).abs() < 1e-15);
        assert_eq!(two_body(5.0, 3.0, 2.5), 0.0);
    }
}
