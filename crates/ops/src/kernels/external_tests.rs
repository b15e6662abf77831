//! Compares external wavefunctions with an implementation of the same conventions that branches, one event at a time,
//! and checks properties that do not depend on phases: the equation of motion and the sum over helicities.

use super::external;
use super::tests::{EventBlock, lanes, slashed};
use mebridge_process::ExternalKind::{
    self, FermionIn, FermionOut, RaritaIn, RaritaOut, Scalar, Tensor, Vector,
};
use mebridge_process::external::AT_REST;
use mebridge_simd::{Level, Real, Simd, Task, dispatch};
use num_complex::Complex64;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

type C = Complex64;

struct RunExternal<'a, S> {
    kind: ExternalKind,
    sign: i8,
    massive: bool,
    helicities: &'a [i8],
    results: &'a [u32],
    base: *mut S,
}

impl<S: Real> Task<S> for RunExternal<'_, S> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) {
        // SAFETY: vectors 0 to 4 of the block hold momentum and mass, the results follow.
        unsafe {
            let vector = |i: usize| V::load(self.base.add(i * V::LANES));
            let momentum = [vector(0), vector(1), vector(2), vector(3)];
            let mass = self.massive.then(|| vector(4));
            external(
                self.kind,
                self.sign,
                mass,
                momentum,
                self.helicities,
                self.results,
                self.base,
            );
        }
    }
}

/// The wavefunctions of each event, for each helicity.
fn run<S: Real>(
    level: Level,
    kind: ExternalKind,
    sign: i8,
    mass: f64,
    momenta: &[[f64; 4]],
    helicities: &[i8],
) -> Vec<Vec<Vec<C>>> {
    let lanes = lanes::<S>(level);
    let components = kind.components() - 2;
    let results: Vec<u32> = (0..helicities.len() as u32)
        .map(|i| 5 + i * 2 * components)
        .collect();
    let mut out = Vec::new();
    for chunk in momenta.chunks(lanes) {
        let mut block = EventBlock::<S>::new(5 + helicities.len() * 2 * components as usize, lanes);
        for lane in 0..lanes {
            let p = chunk.get(lane).unwrap_or(&chunk[0]);
            for (i, &component) in p.iter().enumerate() {
                block.set(i as u32, lane, component);
            }
            block.set(4, lane, mass);
        }
        let task = RunExternal {
            kind,
            sign,
            massive: mass != 0.0,
            helicities,
            results: &results,
            base: block.base(),
        };
        // SAFETY: the block is long enough.
        unsafe { dispatch(level, task) };
        for lane in 0..chunk.len() {
            out.push(
                results
                    .iter()
                    .map(|&a| {
                        (0..components)
                            .map(|i| block.complex(a + 2 * i, lane))
                            .collect()
                    })
                    .collect(),
            );
        }
    }
    out
}

/// HELAS's conventions with branches. For legs that count as at rest, which have separate tests, the process's
/// implementation is used.
fn plain(kind: ExternalKind, sign: i8, m: f64, p: [f64; 4], helicity: i8) -> Vec<C> {
    if m != 0.0 && (p[1].hypot(p[2]).hypot(p[3])) <= AT_REST * m.abs() {
        return mebridge_process::external::external(kind, &p, m, helicity, sign).split_off(2);
    }
    let [e, x, y, z] = p;
    let (s, h) = (f64::from(sign), f64::from(helicity));
    let zero = C::new(0.0, 0.0);
    let real = |x: f64| C::new(x, 0.0);
    let pt = x.hypot(y);
    match kind {
        Scalar => vec![real(1.0)],
        // Products of the cases below; their properties are tested separately.
        Tensor | RaritaIn | RaritaOut => {
            mebridge_process::external::external(kind, &p, m, helicity, sign).split_off(2)
        }
        Vector if helicity == 4 => p.map(|x| real(x / if m == 0.0 { e } else { m })).to_vec(),
        Vector => {
            let r = 0.5f64.sqrt();
            let length = if m == 0.0 { e } else { e.min(pt.hypot(z)) };
            let long = 1.0 - h.abs();
            let boost = if m == 0.0 {
                0.0
            } else {
                long * e / (m * length)
            };
            let energy = if m == 0.0 { 0.0 } else { long * length / m };
            let (vx, vy) = if pt == 0.0 {
                (real(-h * r), C::new(0.0, s * h.abs() * r.copysign(z)))
            } else {
                let tilt = z / (length * pt) * r * h;
                (
                    C::new(x * boost - x * tilt, -s * h.abs() * y / pt * r),
                    C::new(y * boost - y * tilt, s * h.abs() * x / pt * r),
                )
            };
            vec![real(energy), vx, vy, real(z * boost + h * pt / length * r)]
        }
        FermionIn | FermionOut => {
            let conjugate = if kind == FermionIn { 1.0 } else { -1.0 };
            let nh = s * h;
            let (upper, lower);
            if m == 0.0 {
                let root = if pt == 0.0 && z < 0.0 {
                    0.0
                } else {
                    (e + z).max(0.0).sqrt()
                };
                let first = real(s * root);
                let second = if root == 0.0 {
                    real(-h * (2.0 * e).sqrt())
                } else {
                    C::new(h * x, s * conjugate * y) / root
                };
                let none = [zero, zero];
                let chi = if nh > 0.0 {
                    [first, second]
                } else {
                    [second, first]
                };
                (upper, lower) = if (nh > 0.0) == (kind == FermionIn) {
                    (none, chi)
                } else {
                    (chi, none)
                };
            } else {
                let length = e.min((x * x + y * y + z * z).sqrt());
                let big = (e + length).sqrt();
                let omega = if nh > 0.0 {
                    [m / big, big]
                } else {
                    [big, m / big]
                };
                let sf = if s > 0.0 { [1.0, 1.0] } else { [nh, -nh] };
                let cone = (length + z).max(0.0);
                let first = real((cone * 0.5 / length).sqrt());
                let second = if cone == 0.0 {
                    real(-nh)
                } else {
                    C::new(nh * x, conjugate * y) / (2.0 * length * cone).sqrt()
                };
                let chi = if nh > 0.0 {
                    [first, second]
                } else {
                    [second, first]
                };
                let a = chi.map(|c| c * sf[0] * omega[0]);
                let b = chi.map(|c| c * sf[1] * omega[1]);
                (upper, lower) = if kind == FermionIn { (a, b) } else { (b, a) };
            }
            vec![upper[0], upper[1], lower[0], lower[1]]
        }
    }
}

/// Momenta in general position, and all special ones.
fn momenta(mass: f64) -> Vec<[f64; 4]> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut three: Vec<[f64; 3]> = (0..40)
        .map(|_| [0; 3].map(|_| rng.random_range(-300.0..300.0)))
        .collect();
    three.extend([
        [0.0, 0.0, 250.0],
        [0.0, 0.0, -250.0],
        [-0.0, 0.0, -250.0],
        [30.0, 0.0, 0.0],
        [0.0, -30.0, 0.0],
        [-30.0, 40.0, 0.0],
        [1e-3, 2e-3, 500.0],
        [3.0, -2.0, -500.0],
    ]);
    if mass != 0.0 {
        three.push([0.0; 3]);
        three.extend(slow(mass));
    }
    three
        .iter()
        .map(|&[x, y, z]| [(x * x + y * y + z * z + mass * mass).sqrt(), x, y, z])
        .collect()
}

/// Momenta of a leg that counts as at rest.
fn slow(mass: f64) -> impl Iterator<Item = [f64; 3]> {
    let directions = [
        [1.0, 0.0, 0.0],
        [0.0, -1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, -1.0],
        [0.48, -0.64, -0.6],
    ];
    let sizes = [1e-20, 1e-12 * mass.abs(), 0.99 * AT_REST * mass.abs()];
    sizes
        .into_iter()
        .flat_map(move |size| directions.map(|d| d.map(|x| size * x)))
}

const CASES: [(ExternalKind, f64, &[i8]); 13] = [
    (FermionIn, 0.0, &[-1, 1]),
    (FermionOut, 0.0, &[1, -1]),
    (FermionIn, 173.0, &[-1, 1]),
    (FermionOut, 173.0, &[-1, 1]),
    (FermionIn, -40.0, &[-1, 1]),
    (FermionOut, -40.0, &[-1, 1]),
    (Vector, 0.0, &[-1, 4, 1]),
    (Vector, 80.4, &[4, -1, 0, 1]),
    (Scalar, 125.0, &[0]),
    (Tensor, 0.0, &[-2, -1, 0, 1, 2]),
    (Tensor, 650.0, &[-2, -1, 0, 1, 2]),
    (RaritaIn, 340.0, &[-3, -1, 1, 3]),
    (RaritaOut, 340.0, &[-3, -1, 1, 3]),
];

fn worst<S: Real>(level: Level) -> f64 {
    let mut worst = 0.0f64;
    for (kind, mass, helicities) in CASES {
        let momenta = momenta(mass);
        for sign in [-1, 1] {
            let got = run::<S>(level, kind, sign, mass, &momenta, helicities);
            for (got, &p) in got.iter().zip(&momenta) {
                for (got, &helicity) in got.iter().zip(helicities) {
                    let expected = plain(kind, sign, mass, p, helicity);
                    let scale = expected.iter().map(|z| z.norm()).fold(0.0, f64::max);
                    for (x, y) in got.iter().zip(&expected) {
                        // A massless tensor has only two helicities; the others are zero.
                        let scale = if scale == 0.0 { 1.0 } else { scale };
                        let deviation = (x - y).norm() / scale;
                        // Precision that HELAS loses near -z.
                        let size = p[1].hypot(p[2]).hypot(p[3]);
                        let off_axis = p[1] != 0.0 || p[2] != 0.0;
                        let lost = match off_axis && p[3] < 0.0 {
                            true => f64::EPSILON * size / (size + p[3]),
                            false => 0.0,
                        };
                        let limit = if S::DOUBLE { 1e-14 + lost } else { 1e-5 };
                        assert!(
                            deviation < limit,
                            "{kind:?} {mass} {p:?} {helicity} {sign} at {level}: {got:?} instead of {expected:?}"
                        );
                        worst = worst.max(deviation - lost);
                    }
                }
            }
        }
    }
    worst
}

#[test]
fn externals_follow_helas_at_every_level_in_double() {
    for level in Level::supported() {
        assert!(worst::<f64>(level) < 1e-14);
    }
}

#[test]
fn externals_follow_helas_at_every_level_in_single() {
    for level in Level::supported() {
        assert!(worst::<f32>(level) < 1e-5);
    }
}

/// The sum over helicities of (incoming) x (outgoing) is `p/ + m`, for antiparticles `p/ - m`; this implies the Dirac
/// equation and the normalisation.
#[test]
fn spinors_are_complete() {
    for mass in [0.0, 173.0, -40.0] {
        let momenta = momenta(mass);
        for sign in [1, -1] {
            let level = Level::best();
            let f1 = run::<f64>(level, FermionIn, sign, mass, &momenta, &[-1, 1]);
            let f2 = run::<f64>(level, FermionOut, sign, mass, &momenta, &[-1, 1]);
            for ((f1, f2), p) in f1.iter().zip(&f2).zip(&momenta) {
                let mut expected = slashed(&p.map(|x| C::new(x, 0.0)));
                for (i, row) in expected.iter_mut().enumerate() {
                    row[i] += f64::from(sign) * mass;
                }
                for i in 0..4 {
                    for j in 0..4 {
                        let sum: C = (0..2).map(|h| f1[h][i] * f2[h][j]).sum();
                        let deviation = (sum - expected[i][j]).norm() / p[0];
                        assert!(
                            deviation < 1e-10,
                            "{mass} {sign} {p:?}: {sum} instead of {}",
                            expected[i][j]
                        );
                    }
                }
            }
        }
    }
}

/// The sum over helicities of `epsilon epsilon*` is `-g + p p / m^2`; for a massless vector the
/// polarisations are orthonormal and transverse.
#[test]
fn polarisations_are_complete() {
    let product = |a: &[C], b: &[C]| -> C {
        a[0] * b[0].conj() - a[1] * b[1].conj() - a[2] * b[2].conj() - a[3] * b[3].conj()
    };
    let level = Level::best();
    for mass in [0.0, 80.4] {
        let momenta = momenta(mass);
        let helicities: &[i8] = if mass == 0.0 { &[-1, 1] } else { &[-1, 0, 1] };
        for sign in [1, -1] {
            let all = run::<f64>(level, Vector, sign, mass, &momenta, helicities);
            for (all, p) in all.iter().zip(&momenta) {
                let q = p.map(|x| C::new(x, 0.0));
                for (i, a) in all.iter().enumerate() {
                    assert!((product(a, &q) / p[0]).norm() < 1e-12, "{p:?}: {a:?}");
                    for (j, b) in all.iter().enumerate() {
                        let expected = if i == j { -1.0 } else { 0.0 };
                        assert!((product(a, b) - expected).norm() < 1e-11);
                    }
                }
            }
        }
    }
}

/// Tensors are symmetric, traceless, transverse and orthonormal; for spin 3/2 `gamma_mu psi^mu` and `p_mu psi^mu`
/// vanish, and helicities are orthogonal.
#[test]
fn high_spins_obey_their_constraints() {
    let level = Level::best();
    let metric = [1.0, -1.0, -1.0, -1.0];
    let square = |a: &[C], b: &[C]| -> C {
        let entry = |k: usize| metric[k / 4] * metric[k % 4] * a[k] * b[k].conj();
        (0..16).map(entry).sum()
    };
    let mass = 650.0;
    let momenta = momenta(mass);
    for sign in [1, -1] {
        let all = run::<f64>(level, Tensor, sign, mass, &momenta, &[-2, -1, 0, 1, 2]);
        for (all, p) in all.iter().zip(&momenta) {
            for (i, t) in all.iter().enumerate() {
                let trace: C = (0..4).map(|mu| metric[mu] * t[5 * mu]).sum();
                assert!(trace.norm() < 1e-11, "{p:?}: {trace}");
                for mu in 0..4 {
                    let along: C = (0..4).map(|nu| metric[nu] * p[nu] * t[4 * mu + nu]).sum();
                    assert!((along / p[0]).norm() < 1e-11, "{p:?}: {along}");
                    (0..4).for_each(|nu| assert!((t[4 * mu + nu] - t[4 * nu + mu]).norm() < 1e-12));
                }
                for (j, other) in all.iter().enumerate() {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!(
                        (square(t, other) - expected).norm() < 1e-10,
                        "{p:?} {i} {j}"
                    );
                }
            }
        }
    }
    let momenta = self::momenta(340.0);
    for sign in [1, -1] {
        let all = run::<f64>(level, RaritaIn, sign, 340.0, &momenta, &[-3, -1, 1, 3]);
        for (all, p) in all.iter().zip(&momenta) {
            if p[1] == 0.0 && p[2] == 0.0 && p[3].abs() > AT_REST * 340.0 {
                // Along the axis, ALOHA's phase conventions are not consistent with each other.
                continue;
            }
            for psi in all {
                let scale = p[0].sqrt() * p[0] / 340.0;
                for spinor in 0..4 {
                    let along: C = (0..4)
                        .map(|mu| metric[mu] * p[mu] * psi[4 * mu + spinor])
                        .sum();
                    assert!((along / (p[0] * scale)).norm() < 1e-11, "{p:?}: {along}");
                }
                let mut gamma = [C::new(0.0, 0.0); 4];
                for mu in 0..4 {
                    let mut unit = [C::new(0.0, 0.0); 4];
                    unit[mu] = C::new(1.0, 0.0);
                    for (sum, row) in gamma.iter_mut().zip(slashed(&unit)) {
                        for (spinor, entry) in row.iter().enumerate() {
                            *sum += entry * psi[4 * mu + spinor];
                        }
                    }
                }
                assert!(
                    gamma.iter().all(|g| (g / scale).norm() < 1e-11),
                    "{p:?}: {gamma:?}"
                );
            }
        }
    }
}

/// The two components of a spinor of helicity +1 near -z: their ratio is the tangent of half the angle from +z, their
/// relative phase is the azimuth, and the sum of their squares is that of the spinor.
fn near_the_negative_axis<S: Real>(level: Level, limit: f64) {
    for (mass, pz) in [
        (0.0, -500.0f64),
        (173.0, -500.0),
        (173.0, -2e-3),
        (4.7, -1e5),
    ] {
        for angle in [0.3, 1e-2, 1e-4, 1e-6, 1e-8, 1e-12] {
            let pt = angle * pz.abs();
            let (x, y) = (0.6 * pt, -0.8 * pt);
            let size = pt.hypot(pz);
            let p = [size.hypot(mass), x, y, pz];
            let chi = &run::<S>(level, FermionIn, 1, mass, &[p], &[1])[0][0][2..];
            let ratio = chi[1] / chi[0] * (pt / (size - pz));
            let expected = C::new(x, y) / pt;
            assert!((ratio - expected).norm() < limit, "{mass} {p:?}: {chi:?}");
            let square = (chi[0].norm_sqr() + chi[1].norm_sqr()) / (p[0] + size);
            assert!((square - 1.0).abs() < limit, "{mass} {p:?}: {chi:?}");
        }
    }
}

#[test]
fn spinors_near_the_negative_axis_have_all_digits() {
    for level in Level::supported() {
        near_the_negative_axis::<f64>(level, 3e-15);
        near_the_negative_axis::<f32>(level, 2e-6);
    }
}

/// Whatever its momentum, a leg that counts as at rest has its spin along z.
fn at_rest<S: Real>(level: Level) {
    for (kind, mass, helicities) in CASES.into_iter().filter(|&(_, mass, _)| mass != 0.0) {
        let helicities: Vec<i8> = helicities.iter().copied().filter(|&h| h != 4).collect();
        let momenta: Vec<[f64; 4]> = std::iter::once([0.0; 3])
            .chain(slow(mass))
            .map(|[x, y, z]| [mass.abs(), x, y, z])
            .collect();
        for sign in [-1, 1] {
            let all = run::<S>(level, kind, sign, mass, &momenta, &helicities);
            for (moving, p) in all.iter().zip(&momenta) {
                let speed = p[1].hypot(p[2]).hypot(p[3]) / mass.abs();
                for (moving, resting) in moving.iter().zip(&all[0]) {
                    let scale = resting.iter().map(|c| c.norm()).fold(0.0, f64::max);
                    for (a, b) in moving.iter().zip(resting) {
                        let far = (a - b).norm() / scale;
                        assert!(far <= 3.0 * speed, "{kind:?} {p:?}: {moving:?} {resting:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_leg_nearly_at_rest_has_its_spin_along_z() {
    for level in Level::supported() {
        at_rest::<f64>(level);
        at_rest::<f32>(level);
    }
}

/// Spin 3/2 at rest agrees with slow motion along z, up to a phase, for either sign of the mass.
#[test]
fn spin_three_halves_at_rest_follows_the_sign_of_the_mass() {
    let helicities = [3, 1, -1, -3];
    for level in Level::supported() {
        for (kind, mass, sign) in [RaritaIn, RaritaOut]
            .into_iter()
            .flat_map(|kind| [100.0, -100.0].map(|mass| (kind, mass)))
            .flat_map(|(kind, mass)| [1, -1].map(|sign| (kind, mass, sign)))
        {
            let momenta = [[100.0, 0.0, 0.0, 0.0], [100.0, 0.0, 0.0, 1e-5]];
            let all = run::<f64>(level, kind, sign, mass, &momenta, &helicities);
            for (resting, moving) in all[0].iter().zip(&all[1]) {
                let product: C = resting.iter().zip(moving).map(|(a, b)| a.conj() * b).sum();
                let size = |of: &[C]| of.iter().map(|c| c.norm_sqr()).sum::<f64>().sqrt();
                let along = product.norm() / size(resting) / size(moving);
                assert!(
                    along > 1.0 - 1e-6,
                    "{kind:?} {mass} {sign}: {resting:?} {moving:?}"
                );
            }
        }
    }
}
