//! Photons of intact beam particles, with the constants of MG5aMC's `PhotonFlux.f`.

use super::interpolation::Interpolation;
use super::{Densities, Radiator};
use mebridge_simd::{Simd, functions};
use std::f64::consts::PI;

/// The PDG code of the photon.
const PHOTON: i32 = 22;
const ALPHA: f64 = 0.007_299_270_1;
/// Parameters of the proton's form factors, the first one in GeV^2.
const DIPOLE: f64 = 0.71;
const A: f64 = 7.16;
const B: f64 = -3.96;
const C: f64 = 0.028;

/// The photon density of a beam.
pub fn density(beam: Radiator) -> Densities {
    Densities::new(Vec::new(), vec![PHOTON], Interpolation::Photons(beam))
}

/// Mass of a beam particle, GeV.
pub fn mass(beam: Radiator) -> f64 {
    match beam {
        Radiator::Proton => 0.938,
        Radiator::Electron => 0.511e-3,
        Radiator::Muon => 0.105_658,
    }
}

/// x f(x) of photons with virtualities up to `q2`, GeV^2.
#[inline(always)]
pub fn flux<V: Simd<Scalar = f64>>(beam: Radiator, x: V, q2: V) -> V {
    let (zero, one, half) = (x.same(0.0), x.same(1.0), x.same(0.5));
    let mass = mass(beam);
    let inside = x.lt(one);
    let x = V::select(inside, x, half);
    let rest = one - x;
    let least = x.same(mass * mass) * x * x / rest;
    let open = V::both(inside, least.lt(q2));
    let least = V::select(open, least, q2 * half);
    let found = match beam {
        Radiator::Proton => {
            let dipole = x.same(1.0 / DIPOLE);
            let terms = of_proton(x, q2 * dipole) - of_proton(x, least * dipole);
            x.same(ALPHA / PI) * terms * rest
        }
        Radiator::Electron | Radiator::Muon => {
            let square = x.same(2.0 * mass * mass) * x * x;
            let ends = square * (one / q2 - one / least);
            let shape = x.mul_add(x, x.same(2.0) - (x + x));
            let logarithm = functions::ln(q2 / least);
            shape.mul_add(logarithm, ends) * x.same(ALPHA / (2.0 * PI))
        }
    };
    let found = V::select(V::both(open, zero.lt(found)), found, zero);
    // NaN is kept.
    V::select(q2.eq(q2), found, q2)
}

/// The integral over virtualities up to `q`, in units of [`DIPOLE`].
#[inline(always)]
fn of_proton<V: Simd<Scalar = f64>>(x: V, q: V) -> V {
    let one = x.same(1.0);
    let more = one + q;
    let inverse = one / more;
    let y = x * x / (one - x);
    let first = y.mul_add(x.same(A), one) * (series(inverse) - functions::ln(more / q));
    let second = x.same((1.0 - B) / 4.0) * y / q * inverse * inverse * inverse;
    let of_b = x.same(B) * inverse;
    let last = functions::ln(one - of_b) + series(of_b);
    let weight = x.same(C) * y.mul_add(x.same(0.25), one);
    weight.mul_add(last, first + second)
}

/// a + a^2 / 2 + a^3 / 3
#[inline(always)]
fn series<V: Simd<Scalar = f64>>(a: V) -> V {
    let inner = a.mul_add(a.same(1.0 / 3.0), a.same(0.5));
    a * a.mul_add(inner, a.same(1.0))
}
