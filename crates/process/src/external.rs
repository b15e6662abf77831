//! External wavefunctions in the conventions of HELAS (KEK-91-11): IXXXXX, OXXXXX, VXXXXX and SXXXXX.
//!
//! Spinors are in the chiral representation, left-handed components first, and helicity eigenstates along their
//! momentum; `sign` (NSF) is +1 for a particle and -1 for an antiparticle. Polarisation vectors are real in the plane
//! of the momentum and the z axis, and imaginary perpendicular to it; `sign` (NSV) is -1 for an incoming and +1 for an
//! outgoing boson. The first two components of each wavefunction hold the momentum that flows along the fermion line or
//! out of the vertex.
//!
//! Spin 2 and 3/2 are built from these with Clebsch-Gordan coefficients, as in ALOHA's TXXXXX, IRXXXX and ORXXXX
//! (arXiv:1010.4261). The component (mu, nu) of a tensor has the index `4 mu + nu`, and so has (mu, spinor component)
//! of spin 3/2.
//!
//! Two things differ from every version of HELAS. For negative p3, `p0 + p3` and `|p| + p3` in a fermion's spinors are
//! computed as `pt^2 / (p0 - p3)` and `pt^2 / (|p| - p3)`, because the sums lose digits near -z, up to all of them. And
//! a leg with `|p| <= ` [`AT_REST`] ` m` has its spin along z, like a leg at rest in HELAS, because its direction of
//! flight is dominated by rounding.
//!
//! The helicity [`MOMENTUM`] of a vector gives its momentum as the polarisation, divided by its mass or, if massless,
//! by its energy, whatever NSV is. Tests of Ward identities use this.

use super::ExternalKind;
use num_complex::Complex64;

/// A momentum `(E, px, py, pz)`.
pub type Momentum = [f64; 4];

/// Up to this |p| / m, the spin of a leg is along z instead of along its momentum. Its wavefunctions are those at rest,
/// boosted to that momentum to first order, so that sums over helicities do not depend on the axis. 2^-26: the second
/// order is below rounding in double precision. Also in `cuda/external.cuh` and
/// `fortran/gg_ttx/Source/DHELAS/aloha_functions.f`.
pub const AT_REST: f64 = 1.0 / 67_108_864.0;

/// `NHEL = 4` of HELAS's `VXXXXX`: the momentum in place of the polarisation.
pub const MOMENTUM: i8 = 4;

/// Evaluates the wavefunction of an external leg; `helicity` is `NHEL`, `sign` is NSF, NSV or NSS.
pub fn external(
    kind: ExternalKind,
    p: &Momentum,
    mass: f64,
    helicity: i8,
    sign: i8,
) -> Vec<Complex64> {
    let sign = f64::from(sign);
    let helicity = f64::from(helicity);
    let (flow, components) = match kind {
        ExternalKind::FermionIn => (-sign, fermion_in(p, mass, helicity, sign).to_vec()),
        ExternalKind::FermionOut => (sign, fermion_out(p, mass, helicity, sign).to_vec()),
        ExternalKind::Vector => (sign, vector(p, mass, helicity, sign).to_vec()),
        ExternalKind::Scalar => (sign, vec![Complex64::new(1.0, 0.0)]),
        ExternalKind::Tensor => (sign, tensor(p, mass, helicity, sign)),
        ExternalKind::RaritaIn => (-sign, rarita(p, mass, helicity, sign, true)),
        ExternalKind::RaritaOut => (sign, rarita(p, mass, helicity, sign, false)),
    };
    let mut wavefunction = vec![
        Complex64::new(p[0] * flow, p[3] * flow),
        Complex64::new(p[1] * flow, p[2] * flow),
    ];
    wavefunction.extend(components);
    wavefunction
}

fn real(x: f64) -> Complex64 {
    Complex64::new(x, 0.0)
}

/// `|p|`, never above the energy.
fn modulus(p: &Momentum) -> f64 {
    p[0].min((p[1] * p[1] + p[2] * p[2] + p[3] * p[3]).sqrt())
}

/// `px^2 + py^2`; zero where it is so small that digits are lost to underflow.
fn transverse_square(p: &Momentum) -> f64 {
    let square = p[1] * p[1] + p[2] * p[2];
    if square < 2f64.powi(-1000) {
        0.0
    } else {
        square
    }
}

/// `size + p3` without cancellation, where `size` is |p|.
fn light_cone(p: &Momentum, size: f64) -> f64 {
    if p[3] < 0.0 {
        transverse_square(p) / (size - p[3])
    } else {
        size + p[3]
    }
}

/// Whether a leg with this |p| has its spin along z, see [`AT_REST`].
fn is_at_rest(size: f64, mass: f64) -> bool {
    size <= AT_REST * mass.abs()
}

/// A two-spinor with spin up or down along z, boosted from rest to first order by `1 + h sigma p / 2 m`, where `h` is
/// +1 for the right-handed and -1 for the left-handed half.
fn boosted(p: &Momentum, mass: f64, up: bool, handedness: f64) -> [Complex64; 2] {
    let [x, y, z] = [p[1], p[2], p[3]].map(|x| handedness * x / (2.0 * mass.abs()));
    match up {
        true => [real(1.0 + z), Complex64::new(x, y)],
        false => [Complex64::new(x, -y), real(1.0 - z)],
    }
}

/// Spinor of a massive moving fermion: the two-spinor `chi` of helicity `nh`, and the square roots of `E +- |p|` with
/// their signs.
fn moving(p: &Momentum, mass: f64, pp: f64, nh: f64, nsf: f64) -> ([Complex64; 2], [f64; 2]) {
    let sf = [
        0.5 * (1.0 + nsf + (1.0 - nsf) * nh),
        0.5 * (1.0 + nsf - (1.0 - nsf) * nh),
    ];
    let large = (p[0] + pp).sqrt();
    let small = mass / large;
    let (first, second) = if nh > 0.0 {
        (small, large)
    } else {
        (large, small)
    };
    let pp3 = light_cone(p, pp);
    let along = real((pp3 * 0.5 / pp).sqrt());
    let across = if pp3 == 0.0 {
        real(-nh)
    } else {
        Complex64::new(nh * p[1], p[2]) / (2.0 * pp * pp3).sqrt()
    };
    // chi(im), chi(ip) of HELAS: for positive helicity the first is `along`.
    let chi = if nh > 0.0 {
        [along, across]
    } else {
        [across, along]
    };
    (chi, [sf[0] * first, sf[1] * second])
}

/// The two-spinor of a massless fermion: `sqrt(E + pz)` and the rest.
fn massless(p: &Momentum, helicity: f64, nsf: f64) -> [Complex64; 2] {
    let nh = helicity * nsf;
    let root = light_cone(p, p[0]).sqrt() * nsf;
    let other = if root == 0.0 {
        real(-helicity * (2.0 * p[0]).sqrt())
    } else {
        Complex64::new(nh * p[1], p[2]) / root
    };
    [real(root), other]
}

fn fermion_in(p: &Momentum, mass: f64, helicity: f64, nsf: f64) -> [Complex64; 4] {
    let nh = helicity * nsf;
    let zero = real(0.0);
    if mass == 0.0 {
        let chi = massless(p, helicity, nsf);
        return if nh > 0.0 {
            [zero, zero, chi[0], chi[1]]
        } else {
            [chi[1], chi[0], zero, zero]
        };
    }
    let pp = modulus(p);
    if is_at_rest(pp, mass) {
        let (root, signed) = (mass.abs().sqrt(), mass.abs().sqrt().copysign(mass));
        let [left, right] = match nh > 0.0 {
            true => [signed, nsf * root],
            false => [nsf * root, signed],
        };
        let of = |handedness: f64| boosted(p, mass, nh > 0.0, handedness);
        let ([a, b], [c, d]) = (of(-1.0), of(1.0));
        return [left * a, left * b, right * c, right * d];
    }
    let (chi, f) = moving(p, mass, pp, nh, nsf);
    [f[0] * chi[0], f[0] * chi[1], f[1] * chi[0], f[1] * chi[1]]
}

fn fermion_out(p: &Momentum, mass: f64, helicity: f64, nsf: f64) -> [Complex64; 4] {
    let nh = helicity * nsf;
    let zero = real(0.0);
    if mass == 0.0 {
        let chi = massless(p, helicity, nsf).map(|c| c.conj());
        return if nh > 0.0 {
            [chi[0], chi[1], zero, zero]
        } else {
            [zero, zero, chi[1], chi[0]]
        };
    }
    let pp = modulus(p);
    if is_at_rest(pp, mass) {
        let (root, signed) = (mass.abs().sqrt(), mass.abs().sqrt().copysign(mass));
        let [right, left] = match nh > 0.0 {
            true => [helicity * root, helicity * nsf * signed],
            false => [-helicity * nsf * signed, -helicity * root],
        };
        let of = |handedness: f64| boosted(p, mass, nh > 0.0, handedness).map(|c| c.conj());
        let ([a, b], [c, d]) = (of(1.0), of(-1.0));
        return [right * a, right * b, left * c, left * d];
    }
    let (chi, f) = moving(p, mass, pp, nh, nsf);
    let chi = chi.map(|c| c.conj());
    [f[1] * chi[0], f[1] * chi[1], f[0] * chi[0], f[0] * chi[1]]
}

/// Adds all products of the components of two wavefunctions, times `factor`, to `sum`.
fn add_products(sum: &mut [Complex64], factor: Complex64, a: &[Complex64; 4], b: &[Complex64; 4]) {
    for (mu, a) in a.iter().enumerate() {
        for (nu, b) in b.iter().enumerate() {
            sum[4 * mu + nu] += factor * a * b;
        }
    }
}

fn tensor(p: &Momentum, mass: f64, helicity: f64, nst: f64) -> Vec<Complex64> {
    let of = |helicity: f64| vector(p, mass, helicity, nst);
    let mut sum = vec![real(0.0); 16];
    let mut add = |factor: f64, a: f64, b: f64| {
        add_products(&mut sum, real(factor), &of(a), &of(b));
    };
    match helicity.abs() {
        // A card may set the mass to 0 for a particle whose table has five helicities.
        h if mass == 0.0 && h < 2.0 => {}
        2.0 => add(1.0, helicity / 2.0, helicity / 2.0),
        1.0 => {
            let half = 0.5f64.sqrt();
            add(half, helicity, 0.0);
            add(half, 0.0, helicity);
        }
        _ => {
            let sixth = (1.0f64 / 6.0).sqrt();
            add(sixth, 1.0, -1.0);
            add(sixth, -1.0, 1.0);
            add(2.0 * sixth, 0.0, 0.0);
        }
    }
    sum
}

/// Spin 3/2, flowing in or out; `helicity` is twice the spin along the direction of flight.
fn rarita(p: &Momentum, mass: f64, helicity: f64, nsr: f64, incoming: bool) -> Vec<Complex64> {
    let nsv = if incoming { -nsr } else { nsr };
    let vector = |helicity: f64| vector(p, mass, helicity, nsv);
    let spinor = |helicity: f64| match incoming {
        true => fermion_in(p, mass, helicity, nsr),
        false => fermion_out(p, mass, helicity, nsr),
    };
    // The phase of the spinor of helicity -1 relative to that of the vector.
    let pt = transverse_square(p).sqrt().min(modulus(p));
    let phase = if is_at_rest(modulus(p), mass) {
        // The longitudinal vector has the sign of the mass in motion, but not at rest.
        real(1f64.copysign(mass))
    } else if pt == 0.0 {
        real(1f64.copysign(p[3]))
    } else {
        Complex64::new(p[1], -nsv * p[2]) / pt
    };
    let (third, two_thirds) = ((1.0f64 / 3.0).sqrt(), (2.0f64 / 3.0).sqrt());
    let mut sum = vec![real(0.0); 16];
    let mut add = |factor: Complex64, a: f64, b: f64| {
        add_products(&mut sum, factor, &vector(a), &spinor(b));
    };
    match helicity as i8 {
        3 => add(real(1.0), 1.0, 1.0),
        1 => {
            add(real(two_thirds), 0.0, 1.0);
            add(third * phase, 1.0, -1.0);
        }
        -1 => {
            add(real(third), -1.0, 1.0);
            add(two_thirds * phase, 0.0, -1.0);
        }
        _ => add(phase, -1.0, -1.0),
    }
    sum
}

fn vector(p: &Momentum, mass: f64, helicity: f64, nsv: f64) -> [Complex64; 4] {
    if helicity == f64::from(MOMENTUM) {
        let scale = if mass == 0.0 { p[0] } else { mass };
        return p.map(|x| real(x / scale));
    }
    let half = 0.5f64.sqrt();
    let transverse = transverse_square(p).sqrt();
    if mass == 0.0 {
        let z = real(helicity * transverse / p[0] * half);
        if transverse == 0.0 {
            return [
                real(0.0),
                real(-helicity * half),
                Complex64::new(0.0, nsv * half.copysign(p[3])),
                z,
            ];
        }
        let tilt = p[3] / (p[0] * transverse) * half * helicity;
        return [
            real(0.0),
            Complex64::new(-p[1] * tilt, -nsv * p[2] / transverse * half),
            Complex64::new(-p[2] * tilt, nsv * p[1] / transverse * half),
            z,
        ];
    }
    let pp = modulus(p);
    let pt = pp.min(transverse);
    let signed = nsv * helicity.abs();
    let longitudinal = 1.0 - helicity.abs();
    if is_at_rest(pp, mass) {
        return [
            Complex64::new(
                longitudinal * p[3] - helicity * half * p[1],
                signed * half * p[2],
            ) / mass,
            real(-helicity * half),
            Complex64::new(0.0, signed * half),
            real(longitudinal),
        ];
    }
    let boost = p[0] / (mass * pp);
    let time = real(longitudinal * pp / mass);
    let z = real(longitudinal * p[3] * boost + helicity * pt / pp * half);
    if pt == 0.0 {
        return [
            time,
            real(-helicity * half),
            Complex64::new(0.0, signed * half.copysign(p[3])),
            z,
        ];
    }
    let tilt = p[3] / (pp * pt) * half * helicity;
    [
        time,
        Complex64::new(
            longitudinal * p[1] * boost - p[1] * tilt,
            -signed * p[2] / pt * half,
        ),
        Complex64::new(
            longitudinal * p[2] * boost - p[2] * tilt,
            signed * p[1] / pt * half,
        ),
        z,
    ]
}
