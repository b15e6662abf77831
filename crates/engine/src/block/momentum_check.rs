//! Checks momenta of a vector of events while they are loaded: all numbers are finite, energies positive and legs on their
//! mass shells (as far as [`AllowedMomenta`] requires it), energy and momentum conserved.
//!
//! Non-finite values fail without a separate test: comparisons with NaN are false, infinity minus infinity is NaN, and
//! no number is less than itself.

use super::propagators::LEG_ON_SHELL;
use mebridge_backend::{AllowedMomenta, NOT_CONSERVED, OFF_SHELL};
use mebridge_simd::{Real, Simd};

/// State of the check after the legs seen so far.
pub(super) struct MomentumCheck<V: Simd> {
    good: V::Mask,
    /// Incoming minus outgoing momenta: E, px, py, pz.
    sum: [V; 4],
    /// Incoming energy.
    energy: V,
}

impl<V: Simd> MomentumCheck<V> {
    #[inline(always)]
    pub(super) fn new(zero: V) -> Self {
        MomentumCheck {
            good: zero.eq(zero),
            sum: [zero; 4],
            energy: zero,
        }
    }

    /// Adds the next leg, with momentum (E, px, py, pz). Returns its square: that of the mass, unless the momentum is
    /// off the mass shell by more than its rounding.
    #[inline(always)]
    pub(super) fn leg(
        &mut self,
        p: [V; 4],
        mass: f64,
        incoming: bool,
        allowed: AllowedMomenta,
    ) -> V {
        let [e, x, y, z] = p;
        let (e2, mass_squared) = (e * e, e.same(mass * mass));
        let p2 = x.mul_add(x, y.mul_add(y, z.mul_add(z, mass_squared)));
        let excess = e2 - p2;
        let off = excess.abs();
        let near = match allowed {
            AllowedMomenta::Physical | AllowedMomenta::Crossed => off.lt(e2 * e.same(OFF_SHELL)),
            AllowedMomenta::OffShell => off.lt(e.same(f64::INFINITY)),
        };
        let size = match allowed {
            AllowedMomenta::Physical | AllowedMomenta::OffShell => e,
            AllowedMomenta::Crossed => e.abs(),
        };
        self.good = V::both(self.good, V::both(near, e.same(0.0).lt(size)));
        let s = self.sum;
        self.sum = if incoming {
            self.energy = self.energy + size;
            [s[0] + e, s[1] + x, s[2] + y, s[3] + z]
        } else {
            [s[0] - e, s[1] - x, s[2] - y, s[3] - z]
        };
        let rounding = e2 * e.same(LEG_ON_SHELL * V::Scalar::EPSILON.to_f64());
        V::select(off.le(rounding), mass_squared, excess + mass_squared)
    }

    /// Mask of the events whose momenta are good.
    #[inline(always)]
    pub(super) fn good(self) -> V::Mask {
        let [e, x, y, z] = self.sum;
        let off = e.mul_add(e, x.mul_add(x, y.mul_add(y, z * z)));
        let most = self.energy * e.same(NOT_CONSERVED);
        V::both(self.good, off.lt(most * most))
    }
}
