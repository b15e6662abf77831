//! Compares device functions of Lorentz structures, run on the CPU, with the evaluation of their programs.

use super::cuda::check_where_named;
use super::cuda::compile_for;
use super::driver::{Buffer, Driver, Module, Shape, Stream};
use super::routine::device_function;
use super::structures::{DeviceStructure, device_structures};
use mebridge_emulator::Emulator;
use mebridge_ops::GeneralRoutine;
use mebridge_process::arith::{Builder, Comparison, Function, Op};
use mebridge_process::lorentz::Routine;
use mebridge_support::error::Error;
use mebridge_testing::random_routines::{Step, badly_conditioned, random_routine};
use mebridge_testing::require;
use mebridge_testing::sample_routines::*;
use num_complex::Complex64;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::sync::Arc;

const FUNCTIONS: &str = concat!(
    include_str!("../../../cuda/compilers.cuh"),
    include_str!("../../../cuda/number.cuh"),
    include_str!("../../../cuda/functions.cuh"),
);

/// Loads and stores for tests: the numbers of an event are contiguous, in `double` whatever the precision of the
/// functions.
const ACCESS: &str = r#"
DEVICE Real R(const double *m) { return Real(m[0]); }
DEVICE Cx C(const double *m) { return cx(R(m), R(m + 1)); }
DEVICE Four F(const double *m) { return four(C(m), C(m + 2), C(m + 4), C(m + 6)); }
template <int N> DEVICE Several<N> S(const double *m) {
    Several<N> v;
    for (int i = 0; i < N; i++) v.c[i] = C(m + 2 * i);
    return v;
}
DEVICE Momentum P(const double *m) { return momentum(R(m), R(m + 1), R(m + 2), R(m + 3)); }
DEVICE void put(double *m, Cx z) { m[0] = z.re; m[1] = z.im; }
DEVICE void put(double *m, Four z) { for (int i = 0; i < 4; i++) put(m + 2 * i, z.c[i]); }
template <int N> DEVICE void put(double *m, Several<N> z) {
    for (int i = 0; i < N; i++) put(m + 2 * i, z.c[i]);
}
"#;

/// Returns the program's inputs for one event, in the order of the operation.
struct Event {
    waves: Vec<Vec<Complex64>>,
    couplings: Vec<Complex64>,
    momenta: Vec<[f64; 4]>,
    masses: Vec<f64>,
}

impl Event {
    fn random(routine: &Routine, rng: &mut ChaCha8Rng) -> Event {
        // Numbers that a float represents exactly, so that both precisions get the same.
        let mut real = || f64::from(rng.random_range(-1.0f32..1.0));
        let mut complex = || Complex64::new(real(), real());
        let waves = routine.inputs.iter();
        Event {
            waves: waves
                .map(|&n| (2..n).map(|_| complex()).collect())
                .collect(),
            couplings: (0..routine.couplings).map(|_| complex()).collect(),
            momenta: routine
                .inputs
                .iter()
                .map(|_| [(); 4].map(|()| real()))
                .collect(),
            masses: (0..if routine.massive { 2 } else { 0 })
                .map(|_| real())
                .collect(),
        }
    }

    fn numbers(&self) -> Vec<f64> {
        let complex = self.waves.iter().flatten().chain(&self.couplings);
        let mut numbers: Vec<f64> = complex.flat_map(|z| [z.re, z.im]).collect();
        numbers.extend(self.momenta.iter().flatten());
        numbers.extend(&self.masses);
        numbers
    }

    fn inputs(&self, massless: bool) -> Vec<Complex64> {
        let mut inputs = Vec::new();
        for (w, p) in self.waves.iter().zip(&self.momenta) {
            inputs.push(Complex64::new(p[0], p[3]));
            inputs.push(Complex64::new(p[1], p[2]));
            inputs.extend(w);
        }
        inputs.extend(&self.couplings);
        let mass = |&x: &f64| Complex64::new(if massless { 0.0 } else { x }, 0.0);
        inputs.extend(self.masses.iter().map(mass));
        inputs
    }
}

/// Returns the components of the result according to the program.
fn expected(general: &GeneralRoutine, event: &Event) -> (Vec<Complex64>, bool) {
    let routine = &general.routine;
    let values = routine.program.evaluate(&event.inputs(general.massless));
    let skip = if routine.is_amplitude() { 0 } else { 2 };
    (
        routine.results(&values).split_off(skip),
        !general.massless && badly_conditioned(&routine.program, &values),
    )
}

device_structures! {
    /// Numbers of events.
    Numbers {
        memory: [double *],
    }
}

/// Returns device code with a kernel for each routine, named by its index; events have `stride` numbers.
fn source(routines: &[GeneralRoutine], stride: usize, real: &str) -> String {
    let mut text = format!("#define REAL {real}\n#define COLOR {real}\n{FUNCTIONS}{ACCESS}");
    text.push_str(&Numbers::declaration());
    for (i, general) in routines.iter().enumerate() {
        let routine = &general.routine;
        let mut at = 0;
        let mut next = |numbers: u32| {
            at += numbers;
            format!("m + {}", at - numbers)
        };
        let mut arguments = Vec::new();
        for &n in &routine.inputs {
            let load = match n {
                3 => "C".into(),
                6 => "F".into(),
                n => format!("S<{}>", n - 2),
            };
            arguments.push(format!("{load}({})", next(2 * (n - 2))));
        }
        arguments.extend((0..routine.couplings).map(|_| format!("C({})", next(2))));
        arguments.extend(routine.inputs.iter().map(|_| format!("P({})", next(4))));
        if routine.massive {
            arguments.extend([1, 1].map(|n| format!("R({})", next(n))));
        }
        text.push_str(&device_function(&format!("General{i}"), general));
        let _ = write!(
            text,
            "extern \"C\" __global__ void run{i}(ARGUMENTS(Numbers) a) {{
    double *m = a.memory + {stride} * blockIdx.x;
    put({}, General{i}({}));
}}
",
            next(0),
            arguments.join(", ")
        );
    }
    text
}

/// Returns the results of device functions for some events each: components, event by event. `None` if there is no C++
/// compiler.
fn run(
    routines: &[GeneralRoutine],
    events: &[Vec<Event>],
    real: &str,
) -> Option<Vec<Vec<Vec<Complex64>>>> {
    let driver: Arc<dyn Driver> = Emulator::new(check_where_named)?;
    let stride = routines.iter().map(numbers_of).max().unwrap_or(0);
    let text = source(routines, stride, real);
    let image = driver.compile(&text, &[]).unwrap();
    let module = Module::load(&driver, &image).unwrap();
    let stream = Stream::new(&driver).unwrap();
    let mut results = Vec::new();
    for (i, (general, events)) in routines.iter().zip(events).enumerate() {
        let mut numbers = Vec::new();
        for event in events {
            let mut of_event = event.numbers();
            of_event.resize(stride, 0.0);
            numbers.extend(of_event);
        }
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let memory = Buffer::new(&driver, bytes.len()).unwrap();
        let at = memory.pointer();
        let function = module.function(&format!("run{i}"), 0).unwrap();
        let shape = Shape {
            blocks: [events.len() as u32, 1, 1],
            threads: [1, 1, 1],
            shared: 0,
        };
        // SAFETY: the memory holds the numbers of all events, and a block accesses only those of its event.
        unsafe {
            stream.upload(at, &bytes).unwrap();
            stream
                .launch(&function, shape, &Numbers { memory: at }.bytes())
                .unwrap();
            stream.download(&mut bytes, at).unwrap();
        }
        stream.synchronize().unwrap();
        let number = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap());
        let numbers: Vec<f64> = bytes.chunks_exact(8).map(number).collect();
        let of_event = numbers.chunks_exact(stride).zip(events);
        results.push(
            of_event
                .map(|(numbers, event)| {
                    let out = numbers[event.numbers().len()..].chunks_exact(2);
                    let out = out.map(|z| Complex64::new(z[0], z[1]));
                    out.take(components(&general.routine)).collect()
                })
                .collect(),
        );
    }
    Some(results)
}

fn components(routine: &Routine) -> usize {
    match routine.is_amplitude() {
        true => 1,
        false => routine.outputs.len() - 2,
    }
}

/// Numbers per event, including the result.
fn numbers_of(general: &GeneralRoutine) -> usize {
    let routine = &general.routine;
    let waves: u32 = routine.inputs.iter().map(|n| 2 * (n - 2) + 4).sum();
    waves as usize + 2 * routine.couplings as usize + 2 + 2 * components(routine)
}

/// Compares at random events. Returns the largest deviation of each routine, if it can be compared, and the number of
/// comparisons.
fn worst(routines: &[GeneralRoutine], per_routine: usize, real: &str) -> Option<(f64, usize)> {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let events: Vec<Vec<Event>> = routines
        .iter()
        .map(|g| {
            (0..per_routine)
                .map(|_| Event::random(&g.routine, &mut rng))
                .collect()
        })
        .collect();
    let results = run(routines, &events, real)?;
    let (mut worst, mut compared) = (0.0f64, 0);
    for (i, (general, events)) in routines.iter().zip(&events).enumerate() {
        for (event, got) in events.iter().zip(&results[i]) {
            let (expected, bad) = expected(general, event);
            if bad {
                continue;
            }
            compared += 1;
            let scale = expected.iter().map(|z| z.norm()).fold(0.1, f64::max);
            for (got, z) in got.iter().zip(&expected) {
                let deviation = (got - z).norm() / scale;
                let name = &general.routine.name;
                assert!(!deviation.is_nan(), "{name} {i}: {got} instead of {z}");
                worst = worst.max(deviation);
            }
        }
    }
    Some((worst, compared))
}

fn both(routines: impl IntoIterator<Item = Routine>) -> Vec<GeneralRoutine> {
    let both = |routine: Routine| {
        [false, true].map(|massless| GeneralRoutine {
            routine: routine.clone(),
            massless,
        })
    };
    routines.into_iter().flat_map(both).collect()
}

fn example_routines() -> Vec<GeneralRoutine> {
    both([
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
        // Wavefunctions that are neither spinor, vector nor scalar.
        routine("TT_1", &[18, 6], 1, 16, |a| {
            let t = &a.w[0];
            (0..16)
                .map(|i| a.factor * t[15 - i] * a.w[1][i / 4] * a.out[i % 4])
                .collect()
        }),
    ])
}

#[test]
fn structures_are_computed_as_their_programs_say() {
    let example_routines = example_routines();
    let Some((double, compared)) = worst(&example_routines, 100, "double") else {
        return;
    };
    assert!(compared > 1500, "only {compared} comparisons were possible");
    assert!(double < 1e-12, "{double:e}");
    let (single, _) = worst(&example_routines, 100, "float").unwrap();
    assert!(single < 1e-2, "{single:e}");
}

#[test]
fn random_programs_are_computed_as_they_say() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let random = (0..200).map(|_| {
        let steps = (0..rng.random_range(1..24)).map(|_| {
            Step(
                rng.random_range(0..32),
                rng.random(),
                rng.random(),
                rng.random(),
                rng.random(),
            )
        });
        random_routine(&steps.collect::<Vec<_>>())
    });
    let routines: Vec<GeneralRoutine> = random
        .map(|routine| GeneralRoutine {
            routine,
            massless: false,
        })
        .collect();
    let Some((deviation, compared)) = worst(&routines, 20, "double") else {
        return;
    };
    assert!(compared > 1000, "only {compared} comparisons were possible");

    assert!(deviation < 1e-12, "{deviation:e}");
}

const FUNCTIONS_OF_ONE: [Function; 18] = [
    Function::RealSqrt,
    Function::Sqrt,
    Function::Exp,
    Function::RealLog,
    Function::Log,
    Function::Sin,
    Function::Cos,
    Function::Tan,
    Function::Asin,
    Function::Acos,
    Function::Atan,
    Function::Sinh,
    Function::Cosh,
    Function::Tanh,
    Function::Abs,
    Function::Conj,
    Function::Re,
    Function::Im,
];

const COMPARISONS: [Comparison; 6] = [
    Comparison::Eq,
    Comparison::Ne,
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
];

/// Returns a routine of two scalars that computes one operation of their components or, if `real`, of their real parts.
fn of_operation(real: bool, op: impl Fn(u32, u32, &mut Builder) -> Op) -> GeneralRoutine {
    let mut routine = Routine {
        name: String::new(),
        inputs: vec![3, 3],
        couplings: 0,
        massive: false,
        program: Default::default(),
        outputs: Vec::new(),
    };
    let mut builder = Builder::new(6);
    let mut arguments = [2, 5].map(|n| builder.input(n));
    if real {
        arguments = arguments.map(|x| builder.push(Op::Call(Function::Re, x)));
    }
    let op = op(arguments[0], arguments[1], &mut builder);
    routine.name = format!("{op:?} of {arguments:?}");
    routine.outputs = vec![builder.push(op)];
    routine.program = builder.finish();
    GeneralRoutine {
        routine,
        massless: false,
    }
}

/// Returns a routine for every operation of `process::arith`.
fn operations() -> Vec<GeneralRoutine> {
    let mut routines = Vec::new();
    for function in FUNCTIONS_OF_ONE {
        for real in [false, true] {
            routines.push(of_operation(real, |a, _, _| Op::Call(function, a)));
        }
    }
    for real in [false, true] {
        routines.push(of_operation(real, |a, b, _| Op::Add(a, b)));
        routines.push(of_operation(real, |a, b, _| Op::Sub(a, b)));
        routines.push(of_operation(real, |a, b, _| Op::Mul(a, b)));
        routines.push(of_operation(real, |a, b, _| Op::Div(a, b)));
        routines.push(of_operation(real, |a, _, _| Op::Neg(a)));
        routines.push(of_operation(real, |a, b, _| Op::Pow(a, b)));
        for n in [-3, -1, 0, 1, 2, 7] {
            routines.push(of_operation(real, |a, _, _| Op::PowI(a, n)));
        }
        for test in COMPARISONS {
            routines.push(of_operation(real, |a, b, builder| Op::Select {
                test,
                lhs: a,
                rhs: b,
                yes: a,
                no: builder.complex(0.25, -3.0),
            }));
        }
        // An infinite constant, and one that is not a number.
        for x in [f64::INFINITY, f64::NAN] {
            routines.push(of_operation(real, |a, b, builder| Op::Select {
                test: Comparison::Lt,
                lhs: a,
                rhs: b,
                yes: a,
                no: builder.real(x),
            }));
        }
    }
    routines.push(of_operation(true, |a, b, _| Op::Complex(a, b)));
    routines.push(of_operation(true, |a, b, _| Op::Max(a, b)));
    routines.push(of_operation(true, |a, b, _| Op::Min(a, b)));
    routines.push(of_operation(true, |a, b, _| Op::Sign(a, b)));
    routines.push(of_operation(true, |a, b, _| Op::Atan2(a, b)));
    routines
}

#[test]
fn every_operation_is_right_in_all_quadrants_and_on_the_axes() {
    let routines = operations();
    let mut points = vec![Complex64::ZERO];
    // Numbers that a float represents exactly.
    for size in [f64::powi(2.0, -10), 0.25, 1.0, 3.0, 40.0] {
        for (re, im) in [(1, 0), (0, 1), (2, 1), (1, 2), (1, 1)] {
            for (x, y) in [(1, 1), (-1, 1), (1, -1), (-1, -1)] {
                let parts = [re * x, im * y].map(|n| size * f64::from(n));
                points.push(Complex64::new(parts[0], parts[1]));
            }
        }
    }
    let events: Vec<Vec<Event>> = routines
        .iter()
        .map(|_| {
            let pairs = (0..points.len()).map(|i| (points[i], points[(i * 13 + 4) % points.len()]));
            let equal = points.iter().map(|&z| (z, z));
            pairs
                .chain(equal)
                .map(|(a, b)| Event {
                    waves: vec![vec![a], vec![b]],
                    couplings: Vec::new(),
                    momenta: vec![[0.0; 4]; 2],
                    masses: Vec::new(),
                })
                .collect()
        })
        .collect();
    for (real, tolerance, largest) in [("double", 1e-12, f64::MAX), ("float", 1e-4, 1e36)] {
        let Some(results) = run(&routines, &events, real) else {
            return;
        };
        let mut compared = 0;
        for (i, (general, events)) in routines.iter().zip(&events).enumerate() {
            for (event, got) in events.iter().zip(&results[i]) {
                let (z, got) = (expected(general, event).0[0], got[0]);
                if !(z.re.abs() <= largest && z.im.abs() <= largest) {
                    continue;
                }
                compared += 1;
                let deviation = (got - z).norm() / z.norm().max(1.0);
                assert!(
                    deviation < tolerance,
                    "{} in {real} at {:?}: {got} instead of {z}",
                    general.routine.name,
                    event.waves
                );
            }
        }
        assert!(compared > 10_000, "{compared}");
    }
}

/// The GPU compiler accepts the code that the CPU compiler accepts.
#[test]
fn nvrtc_compiles_all_of_it() {
    // The other precision is the same text, which the emulator runs.
    for (real, routines) in [("double", operations()), ("float", example_routines())] {
        let text = source(&routines, 100, real);
        match compile_for("sm_90", &text, &["--std=c++17".into()]) {
            Ok(image) => {
                assert_eq!(&image[..4], b"\x7fELF");
                require::used("nvrtc", real);
            }
            Err(error @ Error::GpuCompile { .. }) => panic!("{error}"),
            Err(error) => {
                require::skipped("nvrtc", format_args!("no device code is compiled: {error}"));
            }
        }
    }
}

#[test]
fn what_is_not_needed_is_not_computed() {
    let general = |massless, massive| GeneralRoutine {
        routine: ffv_3(1.0, 1.0, massive),
        massless,
    };
    let massive = device_function("F", &general(false, true));
    let massless = device_function("F", &general(true, true));
    assert!(massive.starts_with(
        "DEVICE Four F(Four w0, Four w1, Cx f0, Momentum p0, Momentum p1, Real mass, Real width) {"
    ));
    assert!(massive.matches("mass").count() > 1);
    assert!(massless.matches("mass").count() == 1);
    assert_eq!(massless, device_function("F", &general(true, false)));
    assert!(massless.lines().count() < massive.lines().count());
}
