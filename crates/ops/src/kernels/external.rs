//! External wavefunctions: `IXXXXX`, `OXXXXX`, `VXXXXX` and `SXXXXX` of HELAS, for all helicities of a leg at once;
//! those of spin 2 and 3/2, composed of these, are in `high_spin`.
//!
//! Conventions are those of [`mebridge_process::external`], including the special cases: a leg nearly at rest, a vector
//! along the z axis, a fermion along -z. Instead of branching, all cases are computed and the right one is selected for
//! each event.

mod high_spin;

use super::Memory;
use high_spin::HighSpin;
use mebridge_process::ExternalKind;
use mebridge_process::external::{AT_REST, MOMENTUM};
use mebridge_simd::{Cx, Real, Simd};

/// Computes the wavefunctions of an external leg and stores the one for `helicities[i]` at address `results[i]`: four
/// components of a spinor or a vector, one of a scalar, 16 of spin 3/2 or 2. `sign` is `NSF`, `NSV` or `NSS`; `mass` is
/// `None` if the mass is exactly zero; `momentum` is the physical one, with positive energy. Helicities are -1 and 1,
/// for a massive vector also 0, for any vector also [`MOMENTUM`]; those of a scalar are ignored.
///
/// # Safety
/// The CPU supports the level of `V`; the addresses are valid in the memory at `base`, which is aligned to the register
/// size.
#[inline(always)]
pub unsafe fn external<V: Simd>(
    kind: ExternalKind,
    sign: i8,
    mass: Option<V>,
    momentum: [V; 4],
    helicities: &[i8],
    results: &[u32],
    base: *mut V::Scalar,
) {
    let m = Memory::<V>::new(base);
    let pairs = helicities.iter().zip(results);
    // SAFETY: the caller guarantees valid addresses and the level.
    unsafe {
        match (kind, mass) {
            (ExternalKind::FermionIn, None) => {
                let leg = MasslessFermion::new(momentum);
                for (&helicity, &result) in pairs {
                    m.put_four(result, leg.incoming(helicity, sign));
                }
            }
            (ExternalKind::FermionOut, None) => {
                let leg = MasslessFermion::new(momentum);
                for (&helicity, &result) in pairs {
                    m.put_four(result, leg.outgoing(helicity, sign));
                }
            }
            (ExternalKind::FermionIn, Some(mass)) => {
                let leg = MassiveFermion::new(momentum, mass);
                for (&helicity, &result) in pairs {
                    m.put_four(result, leg.incoming(helicity, sign));
                }
            }
            (ExternalKind::FermionOut, Some(mass)) => {
                let leg = MassiveFermion::new(momentum, mass);
                for (&helicity, &result) in pairs {
                    m.put_four(result, leg.outgoing(helicity, sign));
                }
            }
            (ExternalKind::Vector, mass) => {
                let leg = Vector::new(momentum, mass);
                for (&helicity, &result) in pairs {
                    m.put_four(result, leg.wavefunction(helicity, sign));
                }
            }
            (ExternalKind::Tensor | ExternalKind::RaritaIn | ExternalKind::RaritaOut, mass) => {
                // Rare and large: a separate function leaves the registers to the other cases.
                V::call(HighSpin {
                    kind,
                    sign,
                    mass,
                    momentum,
                    helicities,
                    results,
                    base,
                });
            }
            (ExternalKind::Scalar, _) => {
                let zero = V::zero();
                for &result in results {
                    m.put_complex(result, Cx::new(zero.same(1.0), zero));
                }
            }
        }
    }
}

/// A square `px^2 + py^2` below this has lost digits to underflow, and the direction cannot be distinguished from the
/// axis.
#[inline(always)]
fn least_square<V: Simd>(zero: V) -> V {
    zero.same(f64::powi(2.0, if V::Scalar::DOUBLE { -1000 } else { -100 }))
}

/// `px^2 + py^2`; zero if it is too small.
#[inline(always)]
fn transverse_square<V: Simd>(p: [V; 4]) -> V {
    let square = p[1] * p[1] + p[2] * p[2];
    let zero = square.same(0.0);
    V::select(square.lt(least_square(zero)), zero, square)
}

/// Masks of momenta that point towards -z, and of those that are exactly along it; also returns `px^2 + py^2`.
#[inline(always)]
fn backward<V: Simd>(p: [V; 4]) -> (V::Mask, V::Mask, V) {
    let zero = p[3].same(0.0);
    let square = p[1].mul_add(p[1], p[2] * p[2]);
    let backward = p[3].lt(zero);
    let along = V::both(backward, square.lt(least_square(zero)));
    (backward, along, square)
}

/// Mask of legs that count as at rest, given |p|, and whether there are any, which is rare.
#[inline(always)]
fn at_rest<V: Simd>(size: V, mass: V) -> (V::Mask, bool) {
    let largest = mass.abs() * mass.same(AT_REST);
    (size.le(largest), !V::all(largest.lt(size)))
}

/// Changes the sign of `x` if `sign` is negative.
#[inline(always)]
fn signed<V: Simd>(sign: i8, x: V) -> V {
    if sign < 0 { -x } else { x }
}

/// Quantities shared by both helicities of a massless fermion.
struct MasslessFermion<V> {
    /// `sqrt(p0 + p3)`; zero if the momentum is numerically along -z.
    root: V,
    /// For helicity +1: p1 over the root; along -z `-sqrt(2 p0)`.
    p1: V,
    /// p2 over the root; along -z zero.
    p2: V,
    zero: V,
}

impl<V: Simd> MasslessFermion<V> {
    #[inline(always)]
    fn new(p: [V; 4]) -> Self {
        let (backward, along, square) = backward(p);
        // `p0 + p3` loses digits near -z: there it is computed as `pt^2 / (p0 - p3)`. Its root and the inverse follow
        // from the root of `(p0 - p3) pt^2` and its inverse, so that a single division is needed.
        let cone = p[0] + p[3].abs();
        let product = V::select(backward, cone * square, cone);
        let product = V::select(along, cone, product);
        let root = product.sqrt();
        let inverse = root * (root.same(1.0) / product);
        let scale = V::select(backward, cone * inverse, inverse);
        MasslessFermion {
            root: V::select(backward, square * inverse, root),
            p1: V::select(along, -root, p[1] * scale),
            p2: p[2] * scale,
            zero: p[0].same(0.0),
        }
    }

    /// The two components before they are put in order. `conjugate` is -1 for an outgoing line.
    #[inline(always)]
    fn chi(&self, helicity: i8, sign: i8, conjugate: i8) -> (Cx<V>, Cx<V>) {
        (
            Cx::new(signed(sign, self.root), self.zero),
            Cx::new(signed(helicity, self.p1), signed(sign * conjugate, self.p2)),
        )
    }

    #[inline(always)]
    fn incoming(&self, helicity: i8, sign: i8) -> [Cx<V>; 4] {
        let zero = Cx::new(self.zero, self.zero);
        let (a, b) = self.chi(helicity, sign, 1);
        if helicity * sign > 0 {
            [zero, zero, a, b]
        } else {
            [b, a, zero, zero]
        }
    }

    #[inline(always)]
    fn outgoing(&self, helicity: i8, sign: i8) -> [Cx<V>; 4] {
        let zero = Cx::new(self.zero, self.zero);
        let (a, b) = self.chi(helicity, sign, -1);
        if helicity * sign > 0 {
            [a, b, zero, zero]
        } else {
            [zero, zero, b, a]
        }
    }
}

/// Quantities shared by both helicities of a massive fermion.
struct MassiveFermion<V: Simd> {
    /// `sqrt(p0 + |p|)`, and the mass divided by it.
    omega: [V; 2],
    /// First component of chi.
    chi1: V,
    /// p1 and p2 over `sqrt(2 |p| (|p| + p3))`; along -z they are -1 and 0.
    p1: V,
    p2: V,
    /// Mask of legs at rest, and whether there are any.
    rest: V::Mask,
    any_at_rest: bool,
    /// If there are: p1, p2 and p3 over `2 |m|`, the first-order effect on the chiralities of the boost from rest.
    boost: [V; 3],
    /// If there are: the root of |m|, and that with the sign of m.
    sqm: [V; 2],
    zero: V,
}

impl<V: Simd> MassiveFermion<V> {
    #[inline(always)]
    fn new(p: [V; 4], mass: V) -> Self {
        let zero = p[0].same(0.0);
        let one = zero.same(1.0);
        let (backward, along, square) = backward(p);
        let size = p[3].mul_add(p[3], square).sqrt().min(p[0]);
        let omega = (p[0] + size).sqrt();
        // The components of chi are sqrt((|p| + p3) / 2 |p|) and one proportional to pt: near -z they exchange roles.
        // All quotients are obtained from a single division.
        let cone = size + p[3].abs();
        let below = ((size + size) * cone).sqrt();
        let across = V::select(backward, square.sqrt(), one);
        let below = V::select(along, one, across) * below;
        let inverse = one / (below * omega);
        let inverse_omega = inverse * below;
        let inverse = inverse * omega;
        let scale = V::select(backward, cone * inverse, inverse);
        let (rest, any_at_rest) = at_rest(size, mass);
        let (mut boost, mut sqm) = ([zero; 3], [zero; 2]);
        if any_at_rest {
            let magnitude = mass.abs();
            let root = magnitude.sqrt();
            sqm = [root, root.copysign(mass)];
            let over_mass = zero.same(0.5) / magnitude;
            boost = [p[1] * over_mass, p[2] * over_mass, p[3] * over_mass];
        }
        MassiveFermion {
            omega: [omega, mass * inverse_omega],
            chi1: V::select(backward, square, cone) * inverse,
            p1: V::select(along, -one, p[1] * scale),
            p2: p[2] * scale,
            rest,
            any_at_rest,
            boost,
            sqm,
            zero,
        }
    }

    /// The two halves for `nh = helicity * sign`: the spinor chi times the two omegas.
    #[inline(always)]
    fn halves(&self, helicity: i8, sign: i8, conjugate: i8) -> ([Cx<V>; 2], [Cx<V>; 2]) {
        let nh = helicity * sign;
        let chi1 = Cx::new(self.chi1, self.zero);
        let chi2 = Cx::new(signed(nh, self.p1), signed(conjugate, self.p2));
        // sf(1) = sf(2) = 1 for particles; nh and -nh for antiparticles.
        let (sf1, sf2) = if sign > 0 { (1, 1) } else { (nh, -nh) };
        if nh > 0 {
            let (a, b) = (signed(sf1, self.omega[1]), signed(sf2, self.omega[0]));
            (
                [chi1.scale(a), chi2.scale(a)],
                [chi1.scale(b), chi2.scale(b)],
            )
        } else {
            let (a, b) = (signed(sf1, self.omega[0]), signed(sf2, self.omega[1]));
            (
                [chi2.scale(a), chi1.scale(a)],
                [chi2.scale(b), chi1.scale(b)],
            )
        }
    }

    /// For legs at rest, replaces the spinor by one with spin up or down along z: `first` times it in the first half
    /// (left-handed, or right-handed for `conjugate` spinors), `second` times it in the other; includes the boost from
    /// rest to first order, `1 -+ sigma p / 2 |m|`.
    #[inline(always)]
    fn at_rest(
        &self,
        moving: [Cx<V>; 4],
        [first, second]: [V; 2],
        up: bool,
        conjugate: bool,
    ) -> [Cx<V>; 4] {
        if !self.any_at_rest {
            return moving;
        }
        let [x, y, z] = self.boost;
        let along = if up { z } else { -z };
        let across = Cx::new(x, if up == conjugate { -y } else { y });
        let (a, b) = match conjugate {
            false => (-first, second),
            true => (first, -second),
        };
        let halves = [
            [Cx::new(a.mul_add(along, first), self.zero), across.scale(a)],
            [
                Cx::new(b.mul_add(along, second), self.zero),
                across.scale(b),
            ],
        ];
        let [[a, b], [c, d]] = match (up, halves) {
            (true, halves) => halves,
            (false, [[a, b], [c, d]]) => [[b, a], [d, c]],
        };
        [
            self.choose(moving[0], a),
            self.choose(moving[1], b),
            self.choose(moving[2], c),
            self.choose(moving[3], d),
        ]
    }

    #[inline(always)]
    fn choose(&self, moving: Cx<V>, rest: Cx<V>) -> Cx<V> {
        Cx::new(
            V::select(self.rest, rest.re, moving.re),
            V::select(self.rest, rest.im, moving.im),
        )
    }

    #[inline(always)]
    fn incoming(&self, helicity: i8, sign: i8) -> [Cx<V>; 4] {
        let ([a, b], [c, d]) = self.halves(helicity, sign, 1);
        let [root, signed_root] = self.sqm;
        let up = helicity * sign > 0;
        let rest = match up {
            true => [signed_root, signed(sign, root)],
            false => [signed(sign, root), signed_root],
        };
        self.at_rest([a, b, c, d], rest, up, false)
    }

    #[inline(always)]
    fn outgoing(&self, helicity: i8, sign: i8) -> [Cx<V>; 4] {
        let ([a, b], [c, d]) = self.halves(helicity, sign, -1);
        let [root, signed_root] = self.sqm;
        let up = helicity * sign > 0;
        let rest = match up {
            true => [signed(helicity, root), signed_root],
            false => [signed_root, signed(-helicity, root)],
        };
        self.at_rest([c, d, a, b], rest, up, true)
    }
}

/// Quantities shared by all helicities of a vector; `h` is `sqrt(1/2)`.
struct Vector<V: Simd> {
    /// `h p1/pt` and `h p2/pt`; along the z axis `h sign(p3)` and 0.
    c1: V,
    c2: V,
    /// `h pt / |p|`.
    z: V,
    /// `p3 / |p|`.
    cos: V,
    /// Helicity 0: energy and momentum components.
    longitudinal: [V; 4],
    /// At rest p1 and p2 over the mass, otherwise zero.
    boost: [V; 2],
    /// The momentum, and the inverse of the mass, or of the energy for a massless vector.
    p: [V; 4],
    scale: V,
    zero: V,
}

impl<V: Simd> Vector<V> {
    #[inline(always)]
    fn new(p: [V; 4], mass: Option<V>) -> Self {
        let zero = p[0].same(0.0);
        let one = zero.same(1.0);
        let h = zero.same(std::f64::consts::FRAC_1_SQRT_2);
        let pt2 = transverse_square(p);
        let pt = pt2.sqrt();
        let Some(mass) = mass else {
            let (c1, c2, inverse) = Self::azimuth(p, pt, p[0], h);
            return Vector {
                c1,
                c2,
                z: h * pt * inverse,
                cos: p[3] * inverse,
                longitudinal: [zero; 4],
                boost: [zero; 2],
                p,
                scale: inverse,
                zero,
            };
        };
        let size = (pt2 + p[3] * p[3]).sqrt().min(p[0]);
        let pt = pt.min(size);
        let (rest, any_at_rest) = at_rest(size, mass);
        let (c1, c2, inverse) = Self::azimuth(p, pt, size, h);
        let inverse_mass = one / mass;
        let emp = p[0] * inverse_mass * inverse;
        let mut leg = Vector {
            c1,
            c2,
            z: h * pt * inverse,
            cos: p[3] * inverse,
            longitudinal: [size * inverse_mass, p[1] * emp, p[2] * emp, p[3] * emp],
            boost: [zero; 2],
            p,
            scale: inverse_mass,
            zero,
        };
        if any_at_rest {
            leg.c1 = V::select(rest, h, c1);
            leg.c2 = V::select(rest, zero, c2);
            leg.z = V::select(rest, zero, leg.z);
            leg.cos = V::select(rest, one, leg.cos);
            let [energy, x, y, z] = leg.longitudinal;
            leg.longitudinal = [
                V::select(rest, p[3] * inverse_mass, energy),
                V::select(rest, zero, x),
                V::select(rest, zero, y),
                V::select(rest, one, z),
            ];
            leg.boost = [
                V::select(rest, p[1] * inverse_mass, zero),
                V::select(rest, p[2] * inverse_mass, zero),
            ];
        }
        leg
    }

    /// `c1` and `c2`, and the inverse of `size`, using a single division.
    #[inline(always)]
    fn azimuth(p: [V; 4], pt: V, size: V, h: V) -> (V, V, V) {
        let (zero, one) = (pt.same(0.0), pt.same(1.0));
        let along = pt.eq(zero);
        let transverse = V::select(along, one, pt);
        let inverse = one / (transverse * size);
        let scale = h * (inverse * size);
        (
            V::select(along, h.copysign(p[3]), p[1] * scale),
            V::select(along, zero, p[2] * scale),
            inverse * transverse,
        )
    }

    #[inline(always)]
    fn wavefunction(&self, helicity: i8, sign: i8) -> [Cx<V>; 4] {
        let zero = self.zero;
        if helicity == MOMENTUM {
            let [e, x, y, z] = self.p;
            return [
                Cx::new(e * self.scale, zero),
                Cx::new(x * self.scale, zero),
                Cx::new(y * self.scale, zero),
                Cx::new(z * self.scale, zero),
            ];
        }
        if helicity == 0 {
            let [e, x, y, z] = self.longitudinal;
            return [
                Cx::new(e, zero),
                Cx::new(x, zero),
                Cx::new(y, zero),
                Cx::new(z, zero),
            ];
        }
        let [x, y] = self.boost;
        [
            Cx::new(signed(-helicity, x * self.c1), signed(sign, y * self.c1)),
            Cx::new(
                signed(-helicity, self.cos * self.c1),
                signed(-sign, self.c2),
            ),
            Cx::new(signed(-helicity, self.cos * self.c2), signed(sign, self.c1)),
            Cx::new(signed(helicity, self.z), zero),
        ]
    }
}
