use super::*;

/// Every instruction set that is enabled for compilation is also checked on the CPU.
#[test]
#[cfg(target_arch = "x86_64")]
fn all_features_are_tested() {
    let (code, tests) = (include_str!("x86.rs"), include_str!("level.rs"));
    let lists = code.split('"').skip(1).step_by(2);
    let lists = lists.filter(|list| list.contains("avx") || list.contains("sse"));
    let mut features: Vec<&str> = lists.flat_map(|list| list.split(',')).collect();
    features.sort_unstable();
    features.dedup();
    assert!(features.contains(&"sse4.2") && features.contains(&"avx512dq"));
    for feature in features {
        assert!(
            tests.contains(&format!("detected!(\"{feature}\")")),
            "{feature}"
        );
    }
}
use proptest::prelude::*;

/// Applies every operation to three vectors and collects the results lane by lane.
struct Everything<'a, S> {
    a: &'a [S],
    b: &'a [S],
    c: &'a [S],
}

const RESULTS: usize = 22;

#[repr(align(64))]
struct Aligned<S>([S; 16]);

impl<S: Real> Task<S> for Everything<'_, S> {
    type Output = Vec<[f64; RESULTS]>;

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) -> Self::Output {
        let mut out = vec![[0.0; RESULTS]; self.a.len()];
        let load = |from: &[S]| {
            let mut buffer = Aligned([S::default(); 16]);
            buffer.0[..V::LANES].copy_from_slice(from);
            // SAFETY: the buffer is long enough and aligned; the CPU supports the level.
            unsafe { V::load(buffer.0.as_ptr()) }
        };
        for first in (0..self.a.len()).step_by(V::LANES) {
            let range = first..first + V::LANES;
            let a = load(&self.a[range.clone()]);
            let b = load(&self.b[range.clone()]);
            let c = load(&self.c[range.clone()]);
            // SAFETY: the CPU supports the level.
            let (zero, one) = unsafe { (V::zero(), V::splat(S::from_f64(1.0))) };
            let z = Cx::new(a, b) * Cx::new(b, c);
            let results: [V; RESULTS - 1] = [
                a + b,
                a - b,
                a * b,
                a / b,
                -a,
                a.mul_add(b, c),
                a.mul_sub(b, c),
                a.neg_mul_add(b, c),
                a.abs().sqrt(),
                a.max(b),
                a.min(b),
                a.abs(),
                a.copysign(b),
                V::select(a.lt(b), one, zero),
                V::select(a.le(b), one, zero),
                V::select(a.eq(b), one, zero),
                V::select(V::both(a.lt(b), b.lt(c)), one, zero),
                V::select(a.lt(b), b, c),
                z.re,
                z.im,
                a.same(0.5),
            ];
            for (i, result) in results.into_iter().enumerate() {
                let mut buffer = Aligned([S::default(); 16]);
                // SAFETY: the buffer is long enough and aligned.
                unsafe { result.store(buffer.0.as_mut_ptr()) };
                for lane in 0..V::LANES {
                    out[first + lane][i] = buffer.0[lane].to_f64();
                }
            }
            let mut buffer = Aligned([0f32; 16]);
            // SAFETY: the buffer is long enough and aligned.
            unsafe { (a / b).store_single(buffer.0.as_mut_ptr()) };
            for lane in 0..V::LANES {
                out[first + lane][RESULTS - 1] = f64::from(buffer.0[lane]);
            }
            assert_eq!(buffer.0[V::LANES..], [0.0; 16][V::LANES..]);
        }
        out
    }
}

/// The same results in plain arithmetic.
fn expected(a: f64, b: f64, c: f64) -> [f64; RESULTS] {
    let test = |x: bool| if x { 1.0 } else { 0.0 };
    [
        a + b,
        a - b,
        a * b,
        a / b,
        -a,
        a * b + c,
        a * b - c,
        c - a * b,
        a.abs().sqrt(),
        if a > b { a } else { b },
        if a < b { a } else { b },
        a.abs(),
        a.abs() * if b.is_sign_negative() { -1.0 } else { 1.0 },
        test(a < b),
        test(a <= b),
        test(a == b),
        test(a < b && b < c),
        if a < b { b } else { c },
        a * b - b * c,
        a * c + b * b,
        0.5,
        f64::from((a / b) as f32),
    ]
}

/// Small integers and halves: exact in either precision, with frequent equal numbers and zeros.
fn number() -> impl Strategy<Value = f64> {
    (-16i32..=16).prop_map(|n| f64::from(n) / 2.0)
}

fn check<S: Real>(numbers: &[(f64, f64, f64)], relative: f64) {
    let column = |pick: fn(&(f64, f64, f64)) -> f64| -> Vec<S> {
        numbers.iter().map(|n| S::from_f64(pick(n))).collect()
    };
    let (a, b, c) = (column(|n| n.0), column(|n| n.1), column(|n| n.2));
    for level in Level::supported() {
        let task = Everything {
            a: &a,
            b: &b,
            c: &c,
        };
        // SAFETY: the task requires nothing but the level.
        let got = unsafe { dispatch(level, task) };
        for (got, &(a, b, c)) in got.iter().zip(numbers) {
            let expected = expected(a, b, c);
            for i in 0..RESULTS {
                let (x, y) = (got[i], expected[i]);
                let same = x == y || (x.is_nan() && y.is_nan());
                assert!(
                    same || (x - y).abs() <= relative * y.abs(),
                    "{level}, result {i} of {a}, {b}, {c}: {x} instead of {y}"
                );
            }
        }
    }
}

/// Passes numbers of events through registers and back.
struct Edges<'a, S> {
    /// For each event `stride` numbers, of which the first four are read.
    numbers: &'a [f64],
    stride: usize,
    of: std::marker::PhantomData<S>,
}

impl<S: Real> Task<S> for Edges<'_, S> {
    /// Number of lanes; results of four reads per lane, of single reads, and of these as integers.
    type Output = (usize, Vec<f64>, Vec<f64>, Vec<i32>);

    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) -> Self::Output {
        let lanes = V::LANES;
        assert!(self.numbers.len() >= lanes * self.stride);
        let mut four = vec![0.0; 4 * lanes];
        let mut one = vec![0.0; lanes];
        let mut integers = vec![0; lanes];
        // SAFETY: the CPU supports the level; all arrays are long enough.
        unsafe {
            let columns = V::columns(self.numbers.as_ptr(), self.stride);
            for (column, four) in columns.iter().zip(four.chunks_mut(lanes)) {
                column.store_doubles(four.as_mut_ptr());
            }
            let x = V::load_doubles(self.numbers.as_ptr());
            x.store_doubles(one.as_mut_ptr());
            x.store_integers(integers.as_mut_ptr());
            let zero = V::zero();
            assert!(V::all(zero.eq(zero)) && !V::all(zero.lt(zero)));
            let nan = V::splat(S::from_f64(f64::NAN));
            assert!(V::all(nan.max(zero).eq(zero)) && V::all(nan.min(zero).eq(zero)));
            assert!(!V::all(nan.eq(nan)) && !V::all(nan.lt(zero)) && !V::all(zero.le(nan)));
            // False in only one lane.
            for lane in 0..lanes {
                let mut other = vec![0.0; lanes];
                other[lane] = 1.0;
                assert!(!V::all(V::load_doubles(other.as_ptr()).eq(zero)));
            }
        }
        (lanes, four, one, integers)
    }
}

#[test]
fn numbers_of_events_go_into_registers_and_back_in_order() {
    fn check<S: Real>(stride: usize) {
        let numbers: Vec<f64> = (0..16 * stride).map(|i| i as f64 + 1.0).collect();
        for level in Level::supported() {
            let task = Edges {
                numbers: &numbers,
                stride,
                of: std::marker::PhantomData::<S>,
            };
            // SAFETY: the task requires nothing but the level.
            let (lanes, four, one, integers) = unsafe { dispatch(level, task) };
            for lane in 0..lanes {
                for column in 0..4 {
                    let expected = numbers[lane * stride + column];
                    assert_eq!(four[column * lanes + lane], expected, "{level}");
                }
                assert_eq!(one[lane], numbers[lane], "{level}");
                assert_eq!(integers[lane], lane as i32 + 1, "{level}");
            }
        }
    }
    for stride in [4, 7, 16] {
        check::<f64>(stride);
        check::<f32>(stride);
    }
}

proptest! {
    #[test]
    fn every_operation_does_what_it_says_at_every_level(
        numbers in proptest::collection::vec((number(), number(), number()), 32)
    ) {
        check::<f64>(&numbers, 0.0);
        // Quotients and roots are rounded to f32.
        check::<f32>(&numbers, 1e-7);
    }
}

#[test]
fn a_register_holds_as_many_lanes_as_its_level_says() {
    fn lanes<S: Real>() -> [(Level, usize); 5] {
        fn of<V: Simd>() -> (Level, usize) {
            assert_eq!(
                std::mem::size_of::<V>(),
                V::LANES * std::mem::size_of::<V::Scalar>()
            );
            (V::LEVEL, V::LANES)
        }
        [
            of::<S::None>(),
            of::<S::Sse4>(),
            of::<S::Avx2>(),
            of::<S::Avx512y>(),
            of::<S::Avx512z>(),
        ]
    }
    if cfg!(target_arch = "x86_64") {
        assert_eq!(lanes::<f64>().map(|l| l.0), Level::ALL);
        assert_eq!(lanes::<f64>().map(|l| l.1), [1, 2, 4, 4, 8]);
        assert_eq!(lanes::<f32>().map(|l| l.1), [1, 4, 8, 8, 16]);
    }
    if cfg!(target_arch = "aarch64") {
        // A level that is not built uses the registers of level none.
        let built = |level: Level, lanes| if level.is_built() { lanes } else { 1 };
        let (avx2, avx512z) = (Level::Avx2, Level::Avx512z);
        let doubles = [1, 2, built(avx2, 4), 1, built(avx512z, 8)];
        let singles = [1, 4, built(avx2, 8), 1, built(avx512z, 16)];
        assert_eq!(lanes::<f64>().map(|l| l.1), doubles);
        assert_eq!(lanes::<f32>().map(|l| l.1), singles);
    }
}

/// A core supports the levels whose registers are not longer than its own.
#[test]
#[cfg(target_arch = "aarch64")]
fn levels_of_sve_need_its_length() {
    let bits = crate::sve::bits();
    assert!(matches!(bits, 0 | 128 | 256 | 512 | 1024 | 2048), "{bits}");
    // tests/arm.sh sets the register length of the emulated core.
    if let Ok(expected) = std::env::var("MEBRIDGE_TEST_SVE_BITS") {
        assert_eq!(bits.to_string(), expected);
    }
    let levels = [Level::None, Level::Sse4, Level::Avx2, Level::Avx512z];
    let fit = levels.into_iter().zip([0, 0, 256, 512]);
    let fit = fit.filter(|(level, needed)| level.is_built() && *needed <= bits);
    assert_eq!(Level::supported(), fit.map(|f| f.0).collect::<Vec<Level>>());
}

#[test]
fn names_choose_levels() {
    assert_eq!(Level::choose("none").unwrap(), Level::None);
    assert_eq!(Level::choose(" Auto ").unwrap(), Level::best());
    assert_eq!(Level::choose("").unwrap(), Level::best());
    for level in Level::supported() {
        assert_eq!(Level::choose(level.name()).unwrap(), level);
    }
    let message = Level::choose("avx9").unwrap_err().to_string();
    assert!(message.contains("`avx9`") && message.contains("512z"));
    for level in Level::ALL {
        if !level.is_supported() {
            let message = Level::choose(level.name()).unwrap_err().to_string();
            assert!(message.contains(level.name()) && message.contains("none"));
        }
    }
}
