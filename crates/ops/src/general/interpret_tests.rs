//! Compares compiled routines with the evaluation of their programs.

use super::*;
use crate::kernels::{Direct, Table};
use mebridge_simd::{Level, Real, Simd, Task, dispatch};
use mebridge_testing::random_routines::{Step, badly_conditioned, random_routine};
use mebridge_testing::sample_routines::*;
use num_complex::Complex64;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

struct RunGeneral<'a, S> {
    general: &'a General,
    operands: &'a [u32],
    table: Option<&'a [u32]>,
    memory: &'a mut [S],
}

impl<S: Real> Task<S> for RunGeneral<'_, S> {
    type Output = usize;
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) -> usize {
        let base = self.memory.as_mut_ptr();
        if !self.memory.is_empty() {
            // SAFETY: the operands are addresses within the memory, which is aligned.
            unsafe {
                match self.table {
                    Some(table) => {
                        run::<V, _>(self.general, self.operands, Table(table), base);
                    }
                    None => run::<V, _>(self.general, self.operands, Direct, base),
                }
            }
        }
        V::LANES
    }
}

/// Runs `operations` operations at random arguments and compares with the program. `None` if the program is too badly
/// conditioned there for a comparison.
fn worst<S: Real>(
    routine: &Routine,
    massless: bool,
    level: Level,
    operations: usize,
    by_table: bool,
    seed: u64,
) -> Option<f64> {
    let general = General::compile(routine, massless);
    let layout = general.layout();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut vectors = 0u32;
    let mut claim = |n: u32| {
        vectors += n;
        vectors - n
    };
    let mut operands = Vec::new();
    for _ in 0..operations {
        for &components in &routine.inputs {
            operands.push(claim(2 * (components - 2)));
        }
        operands.extend((0..layout.factors).map(|_| claim(2)));
        operands.extend((0..layout.inputs).map(|_| claim(4)));
        operands.extend((0..layout.masses).map(|_| claim(1)));
        operands.push(claim(2 * general.components() as u32));
    }
    let probe = RunGeneral::<S> {
        general: &general,
        operands: &[],
        table: None,
        memory: &mut [],
    };
    // SAFETY: without memory the task does nothing.
    let lanes = unsafe { dispatch(level, probe) };
    let mut numbers = vec![S::default(); vectors as usize * lanes + 64];
    let start = numbers.as_ptr().align_offset(64);
    let memory = &mut numbers[start..];
    for x in memory.iter_mut() {
        *x = S::from_f64(rng.random_range(-1.0..1.0));
    }
    let mut table = vec![u32::MAX; 3];
    let mut listed = operands.clone();
    if by_table {
        for operation in listed.chunks_exact_mut(layout.len()) {
            for operand in &mut operation[..layout.inputs] {
                table.push(*operand);
                *operand = table.len() as u32 - 1;
            }
        }
    }
    let task = RunGeneral {
        general: &general,
        operands: &listed,
        table: by_table.then_some(&table),
        memory,
    };
    // SAFETY: the operands are addresses within the memory, which is aligned.
    unsafe { dispatch(level, task) };
    let at = |address: u32, lane: usize| memory[address as usize * lanes + lane].to_f64();
    let complex =
        |address: u32, lane: usize| Complex64::new(at(address, lane), at(address + 1, lane));
    let mut worst = 0.0f64;
    for operation in operands.chunks_exact(layout.len()) {
        for lane in 0..lanes {
            let mut inputs = Vec::new();
            for (i, &components) in routine.inputs.iter().enumerate() {
                let p = operation[layout.inputs + layout.factors + i];
                inputs.push(Complex64::new(at(p, lane), at(p + 3, lane)));
                inputs.push(Complex64::new(at(p + 1, lane), at(p + 2, lane)));
                inputs.extend((0..components - 2).map(|c| complex(operation[i] + 2 * c, lane)));
            }
            for i in 0..layout.factors {
                inputs.push(complex(operation[layout.inputs + i], lane));
            }
            for i in 0..layout.masses {
                let address = operation[2 * layout.inputs + layout.factors + i];
                let x = if massless { 0.0 } else { at(address, lane) };
                inputs.push(Complex64::new(x, 0.0));
            }
            let values = routine.program.evaluate(&inputs);
            if !massless && badly_conditioned(&routine.program, &values) {
                return None;
            }
            let skip = if layout.amplitude { 0 } else { 2 };
            let expected = routine.results(&values).split_off(skip);
            let scale = expected.iter().map(|z| z.norm()).fold(0.1, f64::max);
            for (i, z) in expected.iter().enumerate() {
                let got = complex(operation[layout.len() - 1] + 2 * i as u32, lane);
                let deviation = (got - z).norm() / scale;
                assert!(!deviation.is_nan(), "{got} instead of {z}");
                worst = worst.max(deviation);
            }
        }
    }
    Some(worst)
}

#[test]
fn structures_are_computed_as_their_programs_say() {
    let samples = [
        ffv_0(1.0, 1.0),
        ffv_1(1.0, 0.5),
        ffv_2(0.0, 1.0),
        ffv_3(1.0, 2.0, true),
        ffv_3(1.0, 0.0, false),
        vvv_0(),
        vvv_1(true),
        vvvv_0([2.0, -1.0, -1.0]),
        vvvv_1([0.0, 1.0, -1.0], true),
        dipole_0(),
        heft_3(),
    ];
    let mut compared = 0;
    for routine in &samples {
        for massless in [false, true] {
            for level in Level::supported() {
                for (operations, by_table) in [(1, false), (2, true), (7, false), (9, true)] {
                    for seed in 0..3 {
                        let double =
                            worst::<f64>(routine, massless, level, operations, by_table, seed);
                        if let Some(deviation) = double {
                            compared += 1;
                            assert!(deviation < 1e-11, "{}: {deviation:e}", routine.name);
                        }
                    }
                }
                if let Some(deviation) = worst::<f32>(routine, massless, level, 5, false, 1) {
                    assert!(deviation < 1e-2, "{} single: {deviation:e}", routine.name);
                }
            }
        }
    }
    assert!(compared > 300, "only {compared} comparisons were possible");
}

/// Signs and factors of i cost nothing, and expressions that differ by them share a node.
#[test]
fn phases_are_not_computed() {
    let routine = routine("VS_0", &[6, 3], 1, 0, |a| {
        let (v, s) = (&a.w[0], a.w[1][0]);
        let one = v[0] - a.i * v[1];
        let two = a.i * v[0] + v[1];
        // i one = two, so the sum is 2 i one s.
        vec![a.factor * (a.i * one * s + two * s)]
    });
    let general = General::compile(&routine, true);
    // Four loads, v0 - i v1, the constant, three products, the store.
    assert!(general.instructions() <= 10, "{:#?}", general.code);
    let deviation = worst::<f64>(&routine, true, Level::None, 3, false, 1);
    assert!(deviation.unwrap() < 1e-14);
}

/// More arguments and temporaries than fit on the stack.
#[test]
fn large_structures_work_as_well() {
    let routine = routine("SS_0", &[3, 3], 100, 0, |a| {
        let v: Vec<E> = a.coupling.iter().map(|&c| c * a.w[0][0]).collect();
        let sum = (0..100).fold(a.w[1][0], |sum, k| sum + v[k] * v[99 - k]);
        vec![v.iter().fold(sum, |sum, &v| sum + v)]
    });
    let general = General::compile(&routine, true);
    assert!(general.code.slots > 64 && general.layout().len() > 24);
    for operations in [1, 3, 8] {
        let deviation = worst::<f64>(&routine, true, Level::best(), operations, true, 5);
        assert!(deviation.unwrap() < 1e-12);
    }
}

#[test]
fn nothing_is_read_of_a_mass_that_is_zero() {
    let massive = General::compile(&ffv_3(1.0, 1.0, true), false);
    let massless = General::compile(&ffv_3(1.0, 1.0, true), true);
    let without = General::compile(&ffv_3(1.0, 1.0, false), true);
    assert_eq!(massless.instructions(), without.instructions());
    assert!(massless.instructions() < massive.instructions());
}

fn step() -> impl Strategy<Value = Step> {
    (0u8..32, any::<[u32; 4]>()).prop_map(|(n, [a, b, c, d])| Step(n, a, b, c, d))
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_global_rejects: 100_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn random_programs_are_computed_as_they_say(
        steps in proptest::collection::vec(step(), 1..24),
        seed in any::<u64>(),
    ) {
        let routine = random_routine(&steps);
        let deviation = worst::<f64>(&routine, false, Level::None, 1, false, seed);
        prop_assume!(deviation.is_some());
        prop_assert!(deviation.unwrap() < 1e-7, "{deviation:?}");
        if let Some(deviation) = worst::<f64>(&routine, false, Level::best(), 3, true, seed) {
            prop_assert!(deviation < 1e-7, "{deviation:?}");
        }
    }
}
