//! Spin 2 (`TXXXXX`) and spin 3/2 (`IRXXXX`, `ORXXXX`): products of vectors and spinors with Clebsch-Gordan
//! coefficients, see [`mebridge_process::external`].

use super::{MassiveFermion, Vector, signed, transverse_square};
use crate::kernels::Memory;
use mebridge_process::ExternalKind;
use mebridge_simd::{Cx, Simd, Task};

/// Implementation of [`super::external`] for these kinds.
pub(super) struct HighSpin<'a, V: Simd> {
    pub kind: ExternalKind,
    pub sign: i8,
    pub mass: Option<V>,
    pub momentum: [V; 4],
    pub helicities: &'a [i8],
    pub results: &'a [u32],
    pub base: *mut V::Scalar,
}

impl<U: Simd> Task<U::Scalar> for HighSpin<'_, U> {
    type Output = ();

    /// The level must be that of `U`.
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = U::Scalar>>(self) {
        let m = Memory::<U>::new(self.base);
        let (momentum, sign) = (self.momentum, self.sign);
        let pairs = self.helicities.iter().zip(self.results);
        // SAFETY: guaranteed by the caller of `external`.
        unsafe {
            if self.kind == ExternalKind::Tensor {
                let leg = Vector::new(momentum, self.mass);
                for (&helicity, &result) in pairs {
                    tensor(m, result, &leg, helicity, sign, self.mass.is_none());
                }
            } else {
                // Only massive ones are imported.
                let mass = self.mass.unwrap_or(U::zero());
                let incoming = self.kind == ExternalKind::RaritaIn;
                let leg = Rarita::new(momentum, mass, sign, incoming);
                for (&helicity, &result) in pairs {
                    leg.put(m, result, helicity);
                }
            }
        }
    }
}

/// Adds all products of the components of two wavefunctions to `sum`.
#[inline(always)]
fn add_products<V: Simd>(sum: &mut [Cx<V>; 16], a: [Cx<V>; 4], b: [Cx<V>; 4]) {
    for mu in 0..4 {
        for nu in 0..4 {
            sum[4 * mu + nu] = a[mu].mul_add(b[nu], sum[4 * mu + nu]);
        }
    }
}

#[inline(always)]
fn times<V: Simd>(factor: f64, a: [Cx<V>; 4]) -> [Cx<V>; 4] {
    let factor = a[0].re.same(factor);
    [
        a[0].scale(factor),
        a[1].scale(factor),
        a[2].scale(factor),
        a[3].scale(factor),
    ]
}

/// Stores 16 components.
///
/// # Safety
/// As for [`super::external`].
#[inline(always)]
unsafe fn put<V: Simd>(m: Memory<V>, result: u32, components: [Cx<V>; 16]) {
    for (component, at) in components.into_iter().zip((result..).step_by(2)) {
        // SAFETY: the caller passes an address with room for 16 components.
        unsafe { m.put_complex(at, component) };
    }
}

/// Stores the tensor of a helicity from -2 to 2; `leg` is the vector with the same momentum and mass.
///
/// # Safety
/// As for [`super::external`].
#[inline(always)]
unsafe fn tensor<V: Simd>(
    m: Memory<V>,
    result: u32,
    leg: &Vector<V>,
    helicity: i8,
    sign: i8,
    massless: bool,
) {
    let zero = Cx::new(leg.zero, leg.zero);
    let mut sum = [zero; 16];
    match helicity {
        // Only the outer two helicities, as in TXXXXX.
        -1..=1 if massless => {}
        2 | -2 => {
            let outer = leg.wavefunction(helicity / 2, sign);
            add_products(&mut sum, outer, outer);
        }
        1 | -1 => {
            let half = std::f64::consts::FRAC_1_SQRT_2;
            let [outer, inner] = [leg.wavefunction(helicity, sign), leg.wavefunction(0, sign)];
            add_products(&mut sum, times(half, outer), inner);
            add_products(&mut sum, times(half, inner), outer);
        }
        _ => {
            let sixth = (1.0f64 / 6.0).sqrt();
            let [plus, minus, inner] = [
                leg.wavefunction(1, sign),
                leg.wavefunction(-1, sign),
                leg.wavefunction(0, sign),
            ];
            add_products(&mut sum, times(sixth, plus), minus);
            add_products(&mut sum, times(sixth, minus), plus);
            add_products(&mut sum, times(2.0 * sixth, inner), inner);
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe { put(m, result, sum) };
}

/// Quantities shared by all helicities of a massive leg of spin 3/2.
struct Rarita<V: Simd> {
    vector: Vector<V>,
    fermion: MassiveFermion<V>,
    /// Phase of the spinor of helicity -1 relative to that of the vector.
    phase: Cx<V>,
    sign: i8,
    incoming: bool,
}

impl<V: Simd> Rarita<V> {
    #[inline(always)]
    fn new(p: [V; 4], mass: V, sign: i8, incoming: bool) -> Self {
        let zero = p[0].same(0.0);
        let one = zero.same(1.0);
        let fermion = MassiveFermion::new(p, mass);
        let pt = V::select(fermion.rest, zero, transverse_square(p).sqrt());
        let along = pt.eq(zero);
        let inverse = one / V::select(along, one, pt);
        // At rest, the longitudinal vector does not have the sign of the mass that it has in motion.
        let axis = one.copysign(V::select(fermion.rest, mass, p[3]));
        // NSV is -NSR for incoming lines.
        let across = signed(if incoming { sign } else { -sign }, p[2] * inverse);
        Rarita {
            vector: Vector::new(p, Some(mass)),
            fermion,
            phase: Cx::new(
                V::select(along, axis, p[1] * inverse),
                V::select(along, zero, across),
            ),
            sign,
            incoming,
        }
    }

    #[inline(always)]
    fn of_vector(&self, helicity: i8) -> [Cx<V>; 4] {
        let sign = if self.incoming { -self.sign } else { self.sign };
        self.vector.wavefunction(helicity, sign)
    }

    /// The spinor, including the phase for helicity -1.
    #[inline(always)]
    fn spinor(&self, helicity: i8) -> [Cx<V>; 4] {
        let spinor = match self.incoming {
            true => self.fermion.incoming(helicity, self.sign),
            false => self.fermion.outgoing(helicity, self.sign),
        };
        match helicity < 0 {
            true => super::super::times(self.phase, spinor),
            false => spinor,
        }
    }

    /// Stores the wavefunction of a helicity, given as twice the spin along the direction of flight.
    ///
    /// # Safety
    /// As for [`super::external`].
    #[inline(always)]
    unsafe fn put(&self, m: Memory<V>, result: u32, helicity: i8) {
        let zero = Cx::new(self.vector.zero, self.vector.zero);
        let (third, two_thirds) = ((1.0f64 / 3.0).sqrt(), (2.0f64 / 3.0).sqrt());
        let mut sum = [zero; 16];
        match helicity {
            3 => add_products(&mut sum, self.of_vector(1), self.spinor(1)),
            1 => {
                add_products(
                    &mut sum,
                    times(two_thirds, self.of_vector(0)),
                    self.spinor(1),
                );
                add_products(&mut sum, times(third, self.of_vector(1)), self.spinor(-1));
            }
            -1 => {
                add_products(&mut sum, times(third, self.of_vector(-1)), self.spinor(1));
                add_products(
                    &mut sum,
                    times(two_thirds, self.of_vector(0)),
                    self.spinor(-1),
                );
            }
            _ => add_products(&mut sum, self.of_vector(-1), self.spinor(-1)),
        }
        // SAFETY: guaranteed by the caller.
        unsafe { put(m, result, sum) };
    }
}
