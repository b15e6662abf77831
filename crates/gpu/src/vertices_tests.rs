//! Compares device functions, run on the CPU, with the CPU kernels at SIMD level none.

use super::cuda::check_where_named;
use super::driver::{Buffer, Driver, Function, Pointer, Shape, Stream};
use super::structures::{DeviceStructure, device_structures};
use mebridge_emulator::Emulator;
use mebridge_ops::kernels::{Direct, amplitudes, currents};
use mebridge_ops::opcode::{Mode, Momenta, Opcode};
use mebridge_process::ExternalKind::{
    self, FermionIn, FermionOut, RaritaIn, RaritaOut, Scalar, Tensor, Vector,
};
use mebridge_process::external::external;
use mebridge_simd::{Level, Real, Simd, Task, dispatch};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::sync::Arc;

const FUNCTIONS: &str = concat!(
    include_str!("../../../cuda/compilers.cuh"),
    include_str!("../../../cuda/number.cuh"),
    include_str!("../../../cuda/vertices.cuh"),
    include_str!("../../../cuda/recursion.cuh"),
    include_str!("../../../cuda/external.cuh"),
);

/// Loads and stores for tests: the numbers of an event are contiguous.
const ACCESS: &str = r#"
DEVICE Cx C(const Real *m) { return cx(m[0], m[1]); }
DEVICE Four F(const Real *m) { return four(C(m), C(m + 2), C(m + 4), C(m + 6)); }
DEVICE Momentum P(const Real *m) { return momentum(m[0], m[1], m[2], m[3]); }
DEVICE Matrix M(const Real *m) {
    Matrix z;
    for (int i = 0; i < 10; i++) z.a[i] = m[i];
    return z;
}
DEVICE void put(Real *m, Real x) { m[0] = x; }
DEVICE void put(Real *m, Cx z) { m[0] = z.re; m[1] = z.im; }
DEVICE void put(Real *m, Four z) { for (int i = 0; i < 4; i++) put(m + 2 * i, z.c[i]); }
DEVICE void put(Real *m, Sixteen z) { for (int i = 0; i < 16; i++) put(m + 2 * i, z.c[i]); }
DEVICE void put(Real *m, Matrix z) {
    for (int i = 0; i < 10; i++) m[i] = z.a[i];
}
"#;

/// Returns a number as bytes.
trait Number: Real {
    const NAME: &'static str;
    fn bytes(self) -> Vec<u8>;
    fn of(bytes: &[u8]) -> Self;
}
impl Number for f64 {
    const NAME: &'static str = "double";
    fn bytes(self) -> Vec<u8> {
        self.to_ne_bytes().to_vec()
    }
    fn of(bytes: &[u8]) -> f64 {
        f64::from_ne_bytes(bytes.try_into().unwrap())
    }
}
impl Number for f32 {
    const NAME: &'static str = "float";
    fn bytes(self) -> Vec<u8> {
        self.to_ne_bytes().to_vec()
    }
    fn of(bytes: &[u8]) -> f32 {
        f32::from_ne_bytes(bytes.try_into().unwrap())
    }
}

device_structures! {
    /// Numbers of events, and which leg it is, where it is one.
    Numbers {
        m: [Real *],
        kind: [unsigned],
        massive: [unsigned],
        helicity: [unsigned],
        sign: [unsigned],
    }
}

/// An emulated GPU with a program of the device functions and some kernels.
struct Program {
    driver: Arc<dyn Driver>,
    module: super::driver::Module,
    stream: Stream,
}

impl Program {
    fn new<S: Number>(kernels: &str) -> Option<Program> {
        let driver: Arc<dyn Driver> = Emulator::new(check_where_named)?;
        let options = ["REAL", "COLOR"].map(|name| format!("-D{name}={}", S::NAME));
        let image = driver
            .compile(
                &format!("{FUNCTIONS}{ACCESS}{}{kernels}", Numbers::declaration()),
                &options,
            )
            .unwrap();
        let module = super::driver::Module::load(&driver, &image).unwrap();
        let stream = Stream::new(&driver).unwrap();
        Some(Program {
            driver,
            module,
            stream,
        })
    }

    fn function(&self, name: &str) -> Function {
        self.module.function(name, 0).unwrap()
    }

    /// Runs a kernel on the numbers of all events, with one block per event.
    fn run<S: Number>(&self, name: &str, numbers: &mut [S], events: usize, rest: [u32; 4]) {
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|x| x.bytes()).collect();
        let memory = Buffer::new(&self.driver, bytes.len()).unwrap();
        let at: Pointer = memory.pointer();
        let [kind, massive, helicity, sign] = rest;
        let arguments = Numbers {
            m: at,
            kind,
            massive,
            helicity,
            sign,
        };
        let shape = Shape {
            blocks: [events as u32, 1, 1],
            threads: [1, 1, 1],
            shared: 0,
        };
        let function = self.function(name);
        // SAFETY: the memory holds this many numbers, and the kernel accesses only those of its event.
        unsafe {
            self.stream.upload(at, &bytes).unwrap();
            self.stream
                .launch(&function, shape, &arguments.bytes())
                .unwrap();
            self.stream.download(&mut bytes, at).expect("numbers back");
        }
        self.stream.synchronize().unwrap();
        let each = bytes.chunks_exact(size_of::<S>());
        for (number, bytes) in numbers.iter_mut().zip(each) {
            *number = S::of(bytes);
        }
    }
}

/// An operation and the device code that computes the same.
struct Case {
    name: String,
    opcode: Opcode,
    operands: Vec<u32>,
    /// Addresses of masses.
    masses: Vec<u32>,
    /// Numbers per event.
    numbers: u32,
    /// Address and length of the result.
    result: (u32, u32),
    body: String,
}

impl Case {
    /// Returns the device code of a kernel with a layout, as the source generator writes it.
    fn of(opcode: Opcode) -> Case {
        let layout = opcode.layout().unwrap();
        let components: Vec<u8> = opcode.spins().iter().map(|s| s.components()).collect();
        let (mut next, mut operands, mut terms) = (0, Vec::new(), Vec::new());
        let mut claim = |kind: &str, size: u32| {
            operands.push(next);
            terms.push(match kind {
                "" => format!("m[{next}]"),
                _ => format!("{kind}(m + {next})"),
            });
            next += size;
            next - size
        };
        for &n in &components[..layout.inputs] {
            claim(if n == 1 { "C" } else { "F" }, 2 * u32::from(n));
        }
        for _ in 0..layout.factors {
            claim("C", 2);
        }
        let momenta = match layout.momenta {
            Momenta::None => 0,
            Momenta::Result => 1,
            Momenta::Inputs => layout.inputs,
        };
        for _ in 0..momenta {
            claim("P", 4);
        }
        let masses = (0..layout.masses).map(|_| claim("", 1)).collect();
        let size = 2 * u32::from(components[layout.inputs]);
        operands.push(next);
        Case {
            name: format!("{opcode:?}"),
            opcode,
            operands,
            masses,
            numbers: next + size,
            result: (next, size),
            body: format!("put(m + {next}, {opcode:?}({}));", terms.join(", ")),
        }
    }

    /// Creates a case for a kernel of variable length. Wavefunctions are at 0, 8, ... 56, factors at 64 and 66, momenta
    /// at 68, 72, 76 and 80, a mass at 84, matrices at 85 and 101, the result at 117.
    fn sum(name: &str, opcode: Opcode, operands: &[u32], size: u32, body: &str) -> Case {
        Case {
            name: name.to_owned(),
            opcode,
            operands: operands.to_vec(),
            masses: vec![84],
            numbers: 133,
            result: (117, size),
            body: body.to_owned(),
        }
    }
}

/// Returns cases for the kernels of variable length, with all their features.
#[rustfmt::skip]
fn sums() -> Vec<Case> {
    use Opcode::*;
    let mut cases = Vec::new();
    for (name, opcode, propagate) in [
        ("Ffv1", SumFfv1, "propagate_out"),
        ("Ffv2", SumFfv2, "propagate_in"),
    ] {
        let terms = format!(
            "Four sum = negative(term_{name}(F(m + 32), F(m + 40), no_four()));
             sum = term_{name}(F(m), F(m + 8), sum);
             sum = term_{name}(F(m + 16), F(m + 24), sum);"
        );
        let tail = [2, 1, 0, 8, 16, 24, 32, 40, 64, 68, 84, 117];
        for (mode, finish) in [
            (Mode::STORE, format!("times(C(m + 64), {propagate}(sum, P(m + 68), m[84]))")),
            (Mode::ADD, format!("times_add(C(m + 64), {propagate}(sum, P(m + 68), m[84]), F(m + 117))")),
            (Mode::ADD | Mode::BARE, "times_add(C(m + 64), sum, F(m + 117))".to_owned()),
        ] {
            let operands = [&[mode][..], &tail].concat();
            let body = format!("{terms} put(m + 117, {finish});");
            cases.push(Case::sum(&format!("Sum{name}_{mode}"), opcode, &operands, 8, &body));
        }
    }
    cases.push(Case::sum("SumFfv3", SumFfv3, &[Mode::ADD, 1, 2, 0, 8, 16, 24, 32, 40, 64, 117], 8,
        "Four sum = term_Ffv3(F(m + 16), F(m + 24), no_four());
         sum = negative(term_Ffv3(F(m + 32), F(m + 40), sum));
         sum = term_Ffv3(F(m), F(m + 8), sum);
         put(m + 117, times_add(C(m + 64), sum, F(m + 117)));"));
    cases.push(Case::sum("SumVvv1", SumVvv1,
        &[Mode::STORE, 2, 1, 1, 0, 8, 68, 72, 16, 24, 76, 80, 32, 40, 48, 40, 48, 56, 64, 66, 117], 8,
        "Four sum = term_Vvv1(F(m), F(m + 8), P(m + 68), P(m + 72), no_four());
         sum = term_Vvv1(F(m + 16), F(m + 24), P(m + 76), P(m + 80), sum);
         Four other = negative(term_gluons(F(m + 40), F(m + 48), F(m + 56), no_four()));
         other = term_gluons(F(m + 32), F(m + 40), F(m + 48), other);
         put(m + 117, times_add(C(m + 66), other, times(C(m + 64), sum)));"));
    cases.push(Case::sum("SumVvvvDiff1", SumVvvvDiff1,
        &[Mode::ADD, 2, 0, 8, 16, 24, 32, 40, 64, 117], 8,
        "Four sum = term_VvvvDiff1(F(m), F(m + 8), F(m + 16), no_four());
         sum = term_VvvvDiff1(F(m + 24), F(m + 32), F(m + 40), sum);
         put(m + 117, times_add(C(m + 64), sum, F(m + 117)));"));
    cases.push(Case::sum("SumVss1", SumVss1,
        &[Mode::ADD, 2, 1, 1, 0, 8, 68, 16, 24, 72, 32, 10, 18, 40, 26, 34, 64, 66, 117], 8,
        "Four sum = term_Vss1(C(m), C(m + 8), P(m + 68), no_four());
         sum = term_Vss1(C(m + 16), C(m + 24), P(m + 72), sum);
         Four other = negative(term_Vvss1(F(m + 40), C(m + 26), C(m + 34), no_four()));
         other = term_Vvss1(F(m + 32), C(m + 10), C(m + 18), other);
         put(m + 117, times_add(C(m + 66), other, times_add(C(m + 64), sum, F(m + 117))));"));
    cases.push(Case::sum("ScalarVertex", ScalarVertex,
        &[Mode::ADD, 1, 1, 1, 1, 0, 68, 16, 72, 32, 40, 48, 40, 64, 66, 117], 2,
        "Cx sum = -term_Vss3(F(m + 16), P(m + 72), cx(0, 0));
         sum = term_Vss3(F(m), P(m + 68), sum);
         Cx other = -term_Vvss4(F(m + 48), F(m + 40), cx(0, 0));
         other = term_Vvss4(F(m + 32), F(m + 40), other);
         put(m + 117, mul_add(C(m + 66), other, mul_add(C(m + 64), sum, C(m + 117))));"));
    cases.push(Case::sum("SumSss1", SumSss1, &[1, 1, 0, 8, 16, 24, 64, 117], 2,
        "Cx sum = term_Sss1(C(m), C(m + 8), -term_Sss1(C(m + 16), C(m + 24), cx(0, 0)));
         put(m + 117, C(m + 64) * sum);"));
    cases.push(Case::sum("DotScalar0", DotScalar0, &[0, 8, 117], 2,
        "put(m + 117, DotScalar0(C(m), C(m + 8)));"));
    cases.push(Case::sum("DensityScalar", DensityScalar, &[1, 1, 0, 8, 117], 1,
        "put(m + 117, term_DensityScalar(C(m + 8), half_of(term_DensityScalar(C(m), Real(0)))));"));
    cases.push(Case::sum("TraceScalar", TraceScalar, &[85, 101, 117], 1,
        "put(m + 117, TraceScalar(m[85], m[101]));"));
    cases.push(Case::sum("Add", Add, &[2, 1, 0, 8, 16, 117], 8,
        "Four sum = add_four(negative(F(m + 16)), F(m)); put(m + 117, add_four(sum, F(m + 8)));"));
    for (name, opcode) in [("Conjugate", Conjugate), ("MinusConjugate", MinusConjugate)] {
        let body = format!("put(m + 117, {name}(F(m + 8)));");
        cases.push(Case::sum(name, opcode, &[8, 117], 8, &body));
    }
    for (name, opcode) in [("DotSpinor0", DotSpinor0), ("DotVector0", DotVector0)] {
        let body = format!("put(m + 117, {name}(F(m), F(m + 8)));");
        cases.push(Case::sum(name, opcode, &[0, 8, 117], 2, &body));
    }
    cases.push(Case::sum("Dots", Dots, &[16, 2, 0, 117, 8, 119], 4,
        "put(m + 117, DotSpinor0(F(m), F(m + 16))); put(m + 119, DotSpinor0(F(m + 8), F(m + 16)));"));
    for (name, opcode) in [("DensitySpinor", DensitySpinor), ("DensityVector", DensityVector)] {
        let body = format!(
            "Matrix sum = half_of(term_{name}(F(m), no_matrix())); sum = term_{name}(F(m + 8), sum);
             put(m + 117, term_{name}(F(m + 16), sum));"
        );
        // Spinors have six numbers in total.
        let numbers = if opcode == DensitySpinor { 6 } else { 10 };
        cases.push(Case::sum(name, opcode, &[1, 2, 0, 8, 16, 117], numbers, &body));
    }
    for (name, opcode) in [("TraceSpinor", TraceSpinor), ("TraceVector", TraceVector)] {
        let body = format!("put(m + 117, {name}(M(m + 85), M(m + 101)));");
        cases.push(Case::sum(name, opcode, &[85, 101, 117], 1, &body));
    }
    cases
}

struct OnCpu<'a, S> {
    case: &'a Case,
    base: *mut S,
}

impl<S: Real> Task<S> for OnCpu<'_, S> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Simd<Scalar = S>>(self) {
        let Case {
            opcode, operands, ..
        } = self.case;
        let dot = matches!(
            opcode,
            Opcode::DotSpinor0 | Opcode::DotVector0 | Opcode::DotScalar0 | Opcode::Dots
        );
        // SAFETY: the operands are addresses within the numbers of the event.
        unsafe {
            match dot || opcode.layout().is_some_and(|layout| layout.amplitude) {
                true => amplitudes::<V, _>(*opcode, operands, Direct, self.base),
                false => currents::<V, _>(*opcode, operands, Direct, self.base),
            }
        }
    }
}

/// Every operation of variable length is compared. (Generated code for [`Opcode::Dots`] is that of single
/// products.)
#[test]
fn every_operation_of_no_fixed_length_is_among_the_cases() {
    let cases = sums();
    for &opcode in Opcode::STREAMS.iter().filter(|&&o| o != Opcode::Dots) {
        assert!(cases.iter().any(|case| case.opcode == opcode), "{opcode:?}");
    }
}

/// Runs all cases on random numbers and compares the results.
fn compare<S: Number>(limit: f64) {
    const EVENTS: usize = 20;
    let cases: Vec<Case> = Opcode::VERTICES
        .iter()
        .map(|&opcode| Case::of(opcode))
        .chain(sums())
        .collect();
    let mut source = String::new();
    for Case {
        name,
        numbers,
        body,
        ..
    } in &cases
    {
        writeln!(
            source,
            "extern \"C\" __global__ void test_{name}(ARGUMENTS(Numbers) a) {{ Real *m = a.m + blockIdx.x * {numbers}; {body} }}"
        )
        .unwrap();
    }
    let Some(program) = Program::new::<S>(&source) else {
        return;
    };
    for (i, case) in cases.iter().enumerate() {
        let mut rng = ChaCha8Rng::seed_from_u64(i as u64);
        let length = case.numbers as usize;
        let mut numbers: Vec<S> = (0..EVENTS * length)
            .map(|_| S::from_f64(rng.random_range(-1.0..1.0)))
            .collect();
        for event in numbers.chunks_exact_mut(length) {
            // Well away from zero.
            for &mass in &case.masses {
                event[mass as usize] = S::from_f64(rng.random_range(1.0..2.0));
            }
        }
        let mut expected = numbers.clone();
        for event in expected.chunks_exact_mut(length) {
            let base = event.as_mut_ptr();
            // SAFETY: at level none a vector is one number, and the operands stay within the event.
            unsafe { dispatch(Level::None, OnCpu { case, base }) };
        }
        program.run(&format!("test_{}", case.name), &mut numbers, EVENTS, [0; 4]);
        let (at, size) = (case.result.0 as usize, case.result.1 as usize);
        let mut worst = 0.0f64;
        for (got, expected) in numbers
            .chunks_exact(length)
            .zip(expected.chunks_exact(length))
        {
            let result = at..at + size;
            let scale = expected[result.clone()]
                .iter()
                .map(|x| x.to_f64().abs())
                .fold(0.1, f64::max);
            for (got, expected) in got[result.clone()].iter().zip(&expected[result]) {
                let deviation = (got.to_f64() - expected.to_f64()).abs() / scale;
                assert!(deviation < limit, "{}: {deviation:e}", case.name);
                worst = worst.max(deviation);
            }
            assert!(
                got[..at].iter().zip(&expected[..at]).all(|(x, y)| x == y),
                "{} changed what it reads",
                case.name
            );
        }
        println!("{} {worst:e}", case.name);
    }
}

#[test]
fn vertices_are_those_of_the_cpu_in_double() {
    compare::<f64>(1e-14);
}

#[test]
fn vertices_are_those_of_the_cpu_in_single() {
    compare::<f32>(5e-6);
}

const EXTERNAL: &str = r#"
// Momentum, mass, wavefunction.
extern "C" __global__ void leg(ARGUMENTS(Numbers) a) {
    Real *m = a.m + blockIdx.x * 37;
    int h = (int)a.helicity, s = (int)a.sign;
    unsigned kind = a.kind, massive = a.massive;
    Momentum p = P(m);
    if (kind == 0) put(m + 5, external_in(p, m[4], massive, h, s));
    if (kind == 1) put(m + 5, external_out(p, m[4], massive, h, s));
    if (kind == 2) put(m + 5, external_vector(p, m[4], massive, h, s));
    if (kind == 3) put(m + 5, external_scalar());
    if (kind == 4) put(m + 5, external_tensor(p, m[4], massive, h, s));
    if (kind == 5) put(m + 5, external_rarita_in(p, m[4], massive, h, s));
    if (kind == 6) put(m + 5, external_rarita_out(p, m[4], massive, h, s));
}
"#;

/// Returns general momenta and all special ones; `near` adds some with cancellations.
fn momenta(mass: f64, near: bool) -> Vec<[f64; 4]> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut three: Vec<[f64; 3]> = (0..40)
        .map(|_| [0; 3].map(|_| rng.random_range(-300.0..300.0)))
        .collect();
    three.extend([
        [0.0, 0.0, 250.0],
        [0.0, 0.0, -250.0],
        [-0.0, 0.0, -250.0],
        [0.0, -0.0, -250.0],
        [30.0, 0.0, 0.0],
        [0.0, -30.0, 0.0],
        [-30.0, 40.0, 0.0],
        [-30.0, 40.0, -0.0],
        [1e-3, 2e-3, 500.0],
        [3.0, -2.0, -500.0],
    ]);
    if near {
        three.extend([
            [1e-3, 2e-3, -500.0],
            [1e-5, -2e-5, -500.0],
            [1e-7, 2e-7, -500.0],
            [0.0, 1e-9, -500.0],
            [1e-9, 0.0, 500.0],
        ]);
    }
    if mass != 0.0 {
        three.push([0.0; 3]);
    }
    three
        .iter()
        .map(|&[x, y, z]| [(x * x + y * y + z * z + mass * mass).sqrt(), x, y, z])
        .collect()
}

const LEGS: [(ExternalKind, f64, &[i8]); 13] = [
    (FermionIn, 0.0, &[-1, 1]),
    (FermionOut, 0.0, &[-1, 1]),
    (FermionIn, 173.0, &[-1, 1]),
    (FermionOut, 173.0, &[-1, 1]),
    (FermionIn, -40.0, &[-1, 1]),
    (FermionOut, -40.0, &[-1, 1]),
    (Vector, 0.0, &[-1, 1, 4]),
    (Vector, 80.4, &[-1, 0, 1, 4]),
    (Scalar, 125.0, &[0]),
    (Tensor, 0.0, &[-2, 2]),
    (Tensor, 300.0, &[-2, -1, 0, 1, 2]),
    (RaritaIn, 90.0, &[-3, -1, 1, 3]),
    (RaritaOut, 90.0, &[-3, -1, 1, 3]),
];

/// Returns the wavefunctions of the device function.
fn leg<S: Number>(
    program: &Program,
    kind: ExternalKind,
    mass: f64,
    momenta: &[[f64; 4]],
    helicity: i8,
    sign: i8,
) -> Vec<Vec<f64>> {
    let components = 2 * (kind.components() as usize - 2);
    let mut numbers = Vec::new();
    for p in momenta {
        numbers.extend(p.iter().map(|&x| S::from_f64(x)));
        numbers.push(S::from_f64(mass));
        numbers.extend([S::from_f64(0.0); 32]);
    }
    let number = match kind {
        FermionIn => 0,
        FermionOut => 1,
        Vector => 2,
        Scalar => 3,
        Tensor => 4,
        RaritaIn => 5,
        RaritaOut => 6,
    };
    let massive = u32::from(mass != 0.0);
    let arguments = [number, massive, helicity as u32, sign as u32];
    program.run("leg", &mut numbers, momenta.len(), arguments);
    let events = numbers.chunks_exact(37);
    events
        .map(|event| {
            event[5..5 + components]
                .iter()
                .map(|x| x.to_f64())
                .collect()
        })
        .collect()
}

fn compare_externals<S: Number>(limit: f64) {
    let Some(program) = Program::new::<S>(EXTERNAL) else {
        return;
    };
    for (kind, mass, helicities) in LEGS {
        let momenta = momenta(mass, S::DOUBLE);
        for (&helicity, sign) in helicities.iter().flat_map(|h| [(h, -1), (h, 1)]) {
            let got = leg::<S>(&program, kind, mass, &momenta, helicity, sign);
            for (got, p) in got.iter().zip(&momenta) {
                let expected = &external(kind, p, mass, helicity, sign)[2..];
                let scale = expected.iter().map(|z| z.norm()).fold(0.0, f64::max);
                assert_eq!(got.len(), 2 * expected.len());
                for (got, expected) in got.chunks_exact(2).zip(expected) {
                    let deviation = (got[0] - expected.re).hypot(got[1] - expected.im) / scale;
                    assert!(
                        deviation < limit,
                        "{kind:?} {mass} {p:?} {helicity} {sign}: {got:?} instead of {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn externals_are_those_of_helas_in_double() {
    compare_externals::<f64>(1e-14);
}

#[test]
fn externals_are_those_of_helas_in_single() {
    compare_externals::<f32>(1e-5);
}

/// In single precision the spinor of a massless fermion very close to -z keeps its direction.
#[test]
fn single_precision_does_not_cancel_near_the_negative_axis() {
    let Some(program) = Program::new::<f32>(EXTERNAL) else {
        return;
    };
    let (x, z) = (0.01f64, -500.0f64);
    let p = [x.hypot(z), x, 0.0, z];
    let f = &leg::<f32>(&program, FermionIn, 0.0, &[p], 1, 1)[0];
    let exact = (x * x / (2.0 * p[0])).sqrt();
    assert!((f[4] / exact - 1.0).abs() < 1e-5, "{f:?}");
    assert!((f[6] / (2.0 * p[0]).sqrt() - 1.0).abs() < 1e-5, "{f:?}");
}

/// Kernel that writes for each event whether the first number is below the quotient of the next two.
const BELOW: &str = r#"
extern "C" __global__ void below(ARGUMENTS(Numbers) a) {
    Real *m = a.m + 4 * blockIdx.x;
    m[3] = is_below(m[0], m[1], m[2]);
}
"#;

/// A choice without a division is that with it, also where the product is a digit or two from the sum, zero, infinite, or
/// too small for its digits.
fn compare_choices<S: Number>() {
    let Some(program) = Program::new::<S>(BELOW) else {
        return;
    };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let epsilon = f64::powi(2.0, -if S::NAME == "double" { 52 } else { 23 });
    let special = [0.0, -1.0, 1e-320, 1e-42, f64::INFINITY, f64::NAN];
    let mut numbers: Vec<S> = Vec::new();
    for i in 0..4000 {
        let x = random.random::<f64>();
        let sum = 10f64.powi(random.random_range(-30..30));
        let near = 1.0 + epsilon * f64::from(random.random_range(-12..=12));
        let (running, sum) = match i % 4 {
            0 => (sum * random.random::<f64>(), sum),
            1 | 2 => (x * sum * near, sum),
            _ => {
                let of = |i: usize| special.get(i).copied().unwrap_or(x);
                (of(random.random_range(0..8)), of(random.random_range(0..8)))
            }
        };
        numbers.extend([x, running, sum, 0.0].map(S::from_f64));
    }
    program.run("below", &mut numbers, 4000, [0; 4]);
    let (mut below, mut near) = (0, 0);
    for one in numbers.chunks_exact(4) {
        let [random, running, sum, is_below] = [0, 1, 2, 3].map(|i| one[i].to_f64());
        let quotient = S::from_f64(running / sum).to_f64();
        assert_eq!(is_below != 0.0, random < quotient, "{one:?}");
        below += u32::from(is_below != 0.0);
        near += u32::from((random / quotient - 1.0).abs() < 8.0 * epsilon);
    }
    assert!(
        (1000..3000).contains(&below) && near > 500,
        "{below}, {near}"
    );
}

#[test]
fn choices_without_a_division_are_those_with_it() {
    compare_choices::<f64>();
    compare_choices::<f32>();
}
