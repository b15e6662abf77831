use super::*;
use crate::{Task, dispatch_unchecked};
use proptest::prelude::*;

/// Applies all functions to the numbers of a register of maximum length.
struct All<'a>(&'a [f64; 8], &'a [f64; 8]);

const FUNCTIONS: usize = 7;

#[repr(align(64))]
struct Aligned([f64; 8]);

impl Task<f64> for All<'_> {
    type Output = [[f64; 8]; FUNCTIONS];

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = f64>>(self) -> Self::Output {
        let mut found = [[0.0; 8]; FUNCTIONS];
        for first in (0..8).step_by(V::LANES) {
            let mut register = [Aligned([0.0; 8]), Aligned([0.0; 8])];
            for (register, from) in register.iter_mut().zip([self.0, self.1]) {
                register.0[..V::LANES].copy_from_slice(&from[first..first + V::LANES]);
            }
            // SAFETY: the arrays are long enough and aligned; the CPU supports the level.
            let [x, y] = register.map(|register| unsafe { V::load(register.0.as_ptr()) });
            let (sine, cosine) = sin_cos(x);
            let results = [exp(x), ln(x), pow(x, y), sine, cosine, tan(x), atan(x)];
            for (result, found) in results.into_iter().zip(&mut found) {
                let mut register = Aligned([0.0; 8]);
                // SAFETY: as above.
                unsafe { result.store(register.0.as_mut_ptr()) };
                found[first..first + V::LANES].copy_from_slice(&register.0[..V::LANES]);
            }
        }
        found
    }
}

/// Evaluates all functions at a number, for each supported level.
fn at(x: f64, y: f64) -> Vec<(Level, [f64; FUNCTIONS])> {
    let levels = Level::ALL.into_iter().filter(|level| level.is_supported());
    levels
        .map(|level| {
            // SAFETY: the CPU supports the level.
            let found = unsafe { dispatch_unchecked::<f64, _>(level, All(&[x; 8], &[y; 8])) };
            (
                level,
                found.map(|lanes| {
                    assert!(
                        lanes
                            .iter()
                            .all(|lane| lane.to_bits() == lanes[0].to_bits())
                    );
                    lanes[0]
                }),
            )
        })
        .collect()
}

/// The deviation of a number in units of the last place.
fn ulps(found: f64, wanted: f64) -> f64 {
    if found.to_bits() == wanted.to_bits() || (found.is_nan() && wanted.is_nan()) || found == wanted
    {
        return 0.0;
    }
    let unit = f64::from_bits(wanted.abs().to_bits() + 1) - wanted.abs();
    (found - wanted).abs() / unit
}

/// The standard library's results, which are accurate to slightly more than half an ulp.
fn expected(x: f64, y: f64) -> [f64; FUNCTIONS] {
    [
        x.exp(),
        x.ln(),
        x.powf(y),
        x.sin(),
        x.cos(),
        x.tan(),
        x.atan(),
    ]
}

/// The error bounds stated in the table of the module.
const BOUNDS: [f64; FUNCTIONS] = [1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 2.0];

/// Tests some of the functions (by index) for these arguments.
#[track_caller]
fn compare(x: f64, y: f64, functions: &[usize]) {
    let wanted = expected(x, y);
    for (level, found) in at(x, y) {
        for &f in functions {
            let off = ulps(found[f], wanted[f]);
            // If all digits cancel, as in the sine near pi, so do those of omitted terms.
            assert!(
                off <= BOUNDS[f],
                "{level:?}, function {f} of {x:e}, {y}: {:e} for {:e}, {off} ulp",
                found[f],
                wanted[f]
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exponentials(x in -708.0..709.78f64, small in -1.0..1.0f64) {
        compare(x, 1.0, &[0]);
        compare(small, 1.0, &[0]);
    }

    #[test]
    fn logarithms(x in -745.0..709.0f64, near in 0.5..2.0f64, step in -1e-6..1e-6f64) {
        for x in [x.exp(), near, 1.0 + step] {
            compare(x, 1.0, &[1]);
        }
    }

    #[test]
    fn powers(x in -700.0..700.0f64, share in -1.0..1.0f64, near in 0.1..10.0f64, y in -50.0..50.0f64) {
        compare(x.exp(), share, &[2]);
        compare(near, y, &[2]);
    }

    #[test]
    fn angles(x in -4.0..4.0f64, large in -1e5..1e5f64) {
        compare(x, 1.0, &[3, 4, 5]);
        compare(large, 1.0, &[3, 4, 5]);
    }

    #[test]
    fn tangents(x in -3.0..3.0f64, exponent in -30.0..30.0f64) {
        compare(x, 1.0, &[6]);
        compare(x.signum() * exponent.exp(), 1.0, &[6]);
    }
}

#[test]
fn ends_and_what_is_no_number() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for x in [
        0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 709.782, 709.79, 1e300, -1e300, 5e-324, 1e-310,
    ] {
        compare(x, 1.0, &[0, 1, 6]);
    }
    for x in [0.0, 1e-300, -1e-20, nan] {
        compare(x, 1.0, &[3, 4, 5]);
    }
    for (x, y) in [
        (2.0, 0.0),
        (1.0, 1e10),
        (2.0, -1e5),
        (0.5, -1e5),
        (2.0, nan),
        (f64::MIN_POSITIVE, 0.5),
        (f64::MAX, 0.5),
    ] {
        compare(x, y, &[2]);
    }
    for (_, found) in at(-709.0, 1.0) {
        assert_eq!(found[0], 0.0);
    }
    for (_, found) in at(1.1e5, 1.0) {
        assert!(found[3].is_nan() && found[4].is_nan() && found[5].is_nan());
    }
}

/// Near zeros of sine and cosine, the digits come from those of pi beyond double precision.
#[test]
fn multiples_of_a_half_of_pi() {
    for n in -20..=20 {
        compare(f64::from(n) * FRAC_PI_2, 1.0, &[3, 4, 5]);
        compare(f64::from(n) * FRAC_PI_4, 1.0, &[3, 4, 5]);
    }
}
