//! Samples in the memory of the emulated GPU, compared with those of the CPU.

use mebridge::backend::SessionMemory;
use mebridge::bridge::Bridge;
use mebridge::cache::Cache;
use mebridge::error::Error;
use mebridge::events::{Answers, Events};
use mebridge::gpu::Gpus;
use mebridge::gpu::cuda::check_where_named;
use mebridge::gpu::driver::{Buffer, Driver, Stream};
use mebridge::phase_space::PhaseSpace;
use mebridge::process::{HelicitySum, Process};
use mebridge::runtime::{BackendChoice, Precision, Switches};
use mebridge::sample::{
    DeviceSample, MatrixElementOffsets, Momenta, Outputs, Points, Rows, Sample, SampleAnswers,
    Strides, g_s,
};
use mebridge::target::{CallSize, Target};
use mebridge_emulator::Emulator;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

const EVENTS: usize = 70;
/// Marks numbers that were not written.
const UNTOUCHED: i32 = -77;

/// Events with all possible inputs, component by component as in samplers, with a stride.
struct Given {
    legs: usize,
    stride: usize,
    momenta: Vec<f64>,
    rows: Vec<f64>,
    alpha_s: Vec<f64>,
    random: [Vec<f64>; 3],
    fixed_helicity: Vec<i32>,
    fixed_diagram: Vec<i32>,
    flavor: Vec<i32>,
}

impl Given {
    fn new(process: &Process, masses: &[f64], stride: usize) -> Given {
        let incoming = process.legs.iter().filter(|leg| leg.incoming).count();
        let space = PhaseSpace::new(1000.0, &masses[..incoming], &masses[incoming..]).unwrap();
        let legs = process.legs.len();
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut numbers = |count| (0..count).map(|_| random.random()).collect::<Vec<f64>>();
        let mut momenta = vec![0.0; 4 * legs * stride];
        let mut rows = Vec::new();
        for event in 0..EVENTS {
            let mut p = vec![0.0; space.components()];
            space.event(&numbers(space.randoms()), &mut p);
            for leg in 0..legs {
                for mu in 0..4 {
                    momenta[event + stride * (legs * mu + leg)] = p[4 * leg + mu];
                }
            }
            rows.extend(p);
        }
        let mut index = |count: usize| -> Vec<i32> {
            let numbers = numbers(EVENTS).into_iter();
            numbers.map(|x| (x * count as f64) as i32).collect()
        };
        let fixed_helicity = index(process.helicities.len());
        let fixed_diagram = index(process.diagrams as usize);
        let flavor = index(3);
        let alpha_s = numbers(EVENTS).iter().map(|x| 0.09 + 0.05 * x).collect();
        let mut random = [(); 3].map(|()| numbers(EVENTS));
        // Out of range they mean the same here and there.
        let odd = [-0.5, f64::NEG_INFINITY, 1.0, 3.0, f64::INFINITY, f64::NAN];
        for random in &mut random {
            random[EVENTS - 8..][..odd.len()].copy_from_slice(&odd);
        }
        Given {
            legs,
            stride,
            momenta,
            rows,
            alpha_s,
            random,
            fixed_helicity,
            fixed_diagram,
            flavor,
        }
    }

    /// Spoils a momentum.
    fn spoil(&mut self, event: usize, x: f64) {
        self.momenta[event] = x;
        self.rows[4 * self.legs * event] = x;
    }
}

#[derive(Debug, Default, PartialEq)]
struct Found {
    matrix_elements: Vec<f64>,
    /// |M|^2 at leading colour; empty if it was not requested.
    leading_color: Vec<f64>,
    amp2: Vec<f64>,
    helicity: Vec<i32>,
    color: Vec<i32>,
    diagram: Vec<i32>,
}

/// By the CPU.
fn expected(bridge: &mut Bridge, given: &Given, fixed: bool, diagrams: bool) -> Found {
    let rows = bridge.process().diagrams as usize;
    let couplings: Vec<f64> = given.alpha_s.iter().map(|&a| g_s(a)).collect();
    let sample = Sample {
        points: Points {
            momenta: Momenta::rows(&given.rows, given.legs),
            g_s: &couplings,
            random_helicity: &given.random[0],
            random_color: &given.random[1],
        },
        random_diagram: &given.random[2],
        helicity: fixed.then_some(&given.fixed_helicity),
        diagram: fixed.then_some(&given.fixed_diagram),
        diagrams,
    };
    let none = || vec![UNTOUCHED; EVENTS];
    let leading = diagrams && !fixed && !bridge.process().color_diagonal().is_empty();
    let mut found = Found {
        matrix_elements: vec![0.0; EVENTS],
        leading_color: vec![0.0; if leading { EVENTS } else { 0 }],
        amp2: vec![0.0; EVENTS * rows],
        helicity: none(),
        color: none(),
        diagram: none(),
    };
    let amp2 = found.amp2.as_mut_ptr();
    let answers = SampleAnswers {
        outputs: Outputs {
            matrix_elements: &mut found.matrix_elements,
            helicity: &mut found.helicity,
            color: &mut found.color,
        },
        diagram: &mut found.diagram,
        // SAFETY: all rows were allocated.
        amp2: diagrams.then(|| unsafe { Rows::new(amp2, EVENTS, rows, EVENTS) }),
    };
    match leading {
        false => bridge.evaluate(&sample, answers),
        true => {
            let sampler = bridge.sampler(true, &SessionMemory::default());
            let mut sampler = sampler.expect("a sampler");
            sampler.run_with_leading_color(&sample, answers, &mut found.leading_color)
        }
    }
    .expect("a sample");
    found
}

/// Arrays in the memory of a GPU.
struct Device {
    driver: Arc<dyn Driver>,
    stream: Stream,
    buffers: Vec<Buffer>,
}

fn bytes<T: Copy>(numbers: &[T]) -> &[u8] {
    // SAFETY: numbers without padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

impl Device {
    fn new(driver: Arc<dyn Driver>) -> Device {
        let stream = Stream::new(&driver).expect("a stream");
        Device {
            driver,
            stream,
            buffers: Vec::new(),
        }
    }

    fn put<T: Copy>(&mut self, numbers: &[T]) -> u64 {
        let buffer = Buffer::new(&self.driver, size_of_val(numbers)).expect("memory");
        let at = buffer.pointer();
        // SAFETY: the sizes are equal, and the stream is waited for.
        unsafe { self.stream.upload(at, bytes(numbers)).unwrap() };
        self.stream.synchronize().unwrap();
        self.buffers.push(buffer);
        at
    }

    fn get<T: Copy>(&self, at: u64, mut numbers: Vec<T>) -> Vec<T> {
        let size = size_of_val(&numbers[..]);
        // SAFETY: numbers of any bits.
        let to = unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast::<u8>(), size) };
        // SAFETY: the sizes are equal, and the stream is waited for.
        unsafe { self.stream.download(to, at).unwrap() };
        self.stream.synchronize().unwrap();
        numbers
    }

    /// The stream as a caller names it.
    fn raw(&self) -> u64 {
        self.stream.raw()
    }

    /// All inputs and outputs, for these rows of diagrams.
    fn sample(&mut self, given: &Given, rows: usize) -> DeviceSample {
        let none = vec![UNTOUCHED; EVENTS];
        let amp2 = vec![f64::from(UNTOUCHED); rows * given.stride];
        DeviceSample {
            events: EVENTS,
            momenta: self.put(&given.momenta),
            strides: Strides {
                event: 1,
                leg: given.stride as isize,
                component: (given.stride * given.legs) as isize,
            },
            alpha_s: self.put(&given.alpha_s),
            default_g_s: f64::NAN,
            random_helicity: self.put(&given.random[0]),
            random_color: self.put(&given.random[1]),
            random_diagram: self.put(&given.random[2]),
            fixed_helicity: 0,
            fixed_diagram: 0,
            flavor: 0,
            matrix_elements: self.put(&vec![f64::from(UNTOUCHED); EVENTS]),
            helicity: self.put(&none),
            color: self.put(&none),
            diagram: self.put(&none),
            leading_color: 0,
            amp2: self.put(&amp2),
            amp2_stride: given.stride,
            stream: self.raw(),
            element: MatrixElementOffsets::single(rows),
        }
    }

    fn found(&self, sample: &DeviceSample, rows: usize) -> Found {
        let none = || vec![0; EVENTS];
        let all: Vec<f64> = match sample.amp2 {
            0 => Vec::new(),
            at => self.get(at, vec![0.0; rows * sample.amp2_stride]),
        };
        let amp2 = all.chunks(sample.amp2_stride.max(1));
        // Nothing is written after the events.
        let rest = amp2.clone().flat_map(|row| &row[EVENTS..]);
        assert!(rest.into_iter().all(|&x| x == f64::from(UNTOUCHED)));
        Found {
            matrix_elements: self.get(sample.matrix_elements, vec![0.0; EVENTS]),
            leading_color: match sample.leading_color {
                0 => Vec::new(),
                at => self.get(at, vec![0.0; EVENTS]),
            },
            amp2: amp2.flat_map(|row| row[..EVENTS].to_vec()).collect(),
            helicity: self.get(sample.helicity, none()),
            color: self.get(sample.color, none()),
            diagram: self.get(sample.diagram, none()),
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stream.synchronize().unwrap();
    }
}

/// Which code evaluates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Tables,
    Generated,
    Subsets,
    /// As for a process that is too large for one thread.
    ItsSubsets,
    Helicities,
}

fn bridges(
    gpu: &Arc<Emulator>,
    process: &Process,
    by: By,
    precision: Precision,
) -> (Bridge, Bridge) {
    let switches = Switches {
        precision,
        backend: BackendChoice::Cpu,
        gpu_group: (by == By::Tables).then_some(0),
        ..Switches::default()
    };
    let card = process.model.default_card();
    let driver: Arc<dyn Driver> = gpu.clone();
    let gpus = Gpus::new(vec![driver], &switches, Cache::default()).expect("a GPU");
    let gpus = match by {
        By::Tables | By::Generated | By::ItsSubsets => gpus,
        By::Subsets => gpus.by_subsets(),
        By::Helicities => gpus.by_helicities(),
    };
    let on = |target| {
        Bridge::with_target(target, process.clone(), &card, &switches, 64).expect("bridge")
    };
    let cpu = Target::choose(&switches, CallSize::new(process, 64)).expect("a CPU");
    (on(cpu), on(Target::Gpu(gpus)))
}

fn near(a: &[f64], b: &[f64], relative: f64, absolute: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (i, (&a, &b)) in a.iter().zip(b).enumerate() {
        let near = (a - b).abs() <= relative * b.abs() + absolute || a.is_nan() && b.is_nan();
        assert!(near, "{what} {i}: {a:e} for {b:e}");
    }
}

fn compare(name: &str, by: By, precision: Precision) {
    let process = mebridge::generate(name).expect("process").remove(0);
    compare_process(&process, by, precision);
}

#[expect(clippy::too_many_lines, reason = "a list of samples")]
fn compare_process(process: &Process, by: By, precision: Precision) {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let (mut cpu, mut on_gpu) = bridges(&gpu, process, by, precision);
    let mut given = Given::new(process, &cpu.masses(), EVENTS + 5);
    given.spoil(3, f64::NAN);
    given.spoil(41, 1.1 * given.momenta[41]);
    let rows = process.diagrams as usize;
    let mut device = Device::new(gpu.clone());
    let sampler = on_gpu.device_sampler().expect("a sampler");
    gpu.take_log();
    let exact = precision == Precision::Double;
    let tolerance = if exact { 1e-12 } else { 2e-3 };
    let check = |found: &Found, expected: &Found, what: &str| {
        // Where terms of either sign are added, the largest sum says what can be expected.
        let of_largest = match process.helicity_sum {
            HelicitySum::Positive => 0.0,
            _ => (expected.matrix_elements.iter()).fold(0.0, |a: f64, b| a.max(b.abs())),
        };
        near(
            &found.matrix_elements,
            &expected.matrix_elements,
            tolerance,
            tolerance * of_largest,
            what,
        );
        for (event, x) in found.matrix_elements.iter().enumerate() {
            assert_eq!(x.is_nan(), [3, 41].contains(&event), "{what} {event}");
        }
        if !found.leading_color.is_empty() {
            let [mut a, mut b] = [found, expected].map(|of| of.leading_color.clone());
            for event in [3, 41] {
                (a[event], b[event]) = (0.0, 0.0);
            }
            near(&a, &b, tolerance, 0.0, what);
        }
        if !found.amp2.is_empty() {
            near(
                &found.amp2,
                &expected.amp2,
                tolerance,
                1e-2 * tolerance,
                what,
            );
        }
        for event in (0..EVENTS).filter(|event| exact && ![3, 41].contains(event)) {
            let choices = |f: &Found| (f.helicity[event], f.color[event], f.diagram[event]);
            assert_eq!(choices(found), choices(expected), "{what} {event}");
        }
    };

    // Everything.
    let leading = !process.color_diagonal().is_empty();
    let sample = DeviceSample {
        leading_color: match leading {
            true => device.put(&[f64::NAN; EVENTS]),
            false => 0,
        },
        ..device.sample(&given, rows)
    };
    let run = |sample: &DeviceSample| {
        // SAFETY: arrays of these sizes, which stay.
        unsafe { sampler.run(sample) }
    };
    run(&sample).expect("a sample");
    // Nothing is done before the wait.
    assert!(gpu.take_log().launches.is_empty());
    let found = device.found(&sample, rows);
    let launched: Vec<String> = gpu.take_log().launches.into_iter().map(|l| l.0).collect();
    let has = |name: &str| launched.iter().any(|l| l == name);
    let right = match by {
        By::Tables => has("helicities") && has("load_sample") && has("answer_sample"),
        By::Helicities => has("helicity") && has("answer_sample"),
        By::Subsets | By::ItsSubsets => has("hoisted") && has("generated") && has("sum_parts"),
        By::Generated => launched == ["generated"],
    };
    assert!(right, "{launched:?}");
    check(
        &found,
        &expected(&mut cpu, &given, false, true),
        "everything",
    );

    // Fixed helicities and diagrams.
    let fixed = DeviceSample {
        fixed_helicity: device.put(&given.fixed_helicity),
        fixed_diagram: device.put(&given.fixed_diagram),
        ..device.sample(&given, rows)
    };
    run(&fixed).expect("a sample");
    let fixed = device.found(&fixed, rows);
    check(&fixed, &expected(&mut cpu, &given, true, true), "fixed");
    assert_eq!(fixed.helicity, given.fixed_helicity);

    // Only the matrix element and the helicity.
    let alone = DeviceSample {
        color: 0,
        diagram: 0,
        amp2: 0,
        ..device.sample(&given, rows)
    };
    gpu.take_log();
    run(&alone).expect("a sample");
    let mut of_cpu = expected(&mut cpu, &given, false, false);
    let none = device.put(&vec![UNTOUCHED; EVENTS]);
    let found = device.found(
        &DeviceSample {
            color: none,
            diagram: none,
            ..alone
        },
        rows,
    );
    if by == By::ItsSubsets {
        // Of a recursion, which serves these samples, while those with diagrams are served by the list of diagrams.
        let launched = gpu.take_log().launches;
        let has = |name: &str| launched.iter().any(|l| l.0 == name);
        assert!(has("hoisted") && has("generated"), "{launched:?}");
    }
    of_cpu.color = vec![UNTOUCHED; EVENTS];
    of_cpu.diagram = vec![UNTOUCHED; EVENTS];
    check(&found, &of_cpu, "alone");

    // Rows of events, backwards, without random numbers and alpha_s.
    let backwards: Vec<f64> = given
        .rows
        .chunks(4 * given.legs)
        .rev()
        .flatten()
        .copied()
        .collect();
    let last = 8 * (backwards.len() - 4 * given.legs) as u64;
    let rows_of_events = DeviceSample {
        momenta: device.put(&backwards) + last,
        strides: Strides {
            event: -4 * given.legs as isize,
            leg: 4,
            component: 1,
        },
        alpha_s: 0,
        default_g_s: g_s(0.13),
        random_helicity: 0,
        random_color: 0,
        random_diagram: 0,
        stream: 0,
        ..device.sample(&given, rows)
    };
    run(&rows_of_events).expect("a sample");
    // The default stream differs from ours; the next sample follows it.
    run(&device.sample(&given, rows)).expect("a sample");
    let found = device.found(&rows_of_events, rows);
    let half = vec![0.5; EVENTS];
    let named = DeviceSample {
        alpha_s: device.put(&vec![0.13; EVENTS]),
        random_helicity: device.put(&half),
        random_color: device.put(&half),
        random_diagram: device.put(&half),
        ..device.sample(&given, rows)
    };
    run(&named).expect("a sample");
    let bits = |found: Found| {
        let bits = |numbers: Vec<f64>| numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let choices = (found.helicity, found.color, found.diagram);
        (bits(found.matrix_elements), bits(found.amp2), choices)
    };
    assert_eq!(bits(found), bits(device.found(&named, rows)), "defaults");

    // The second of three matrix elements, and indices that name nothing.
    let (mut flavor, mut helicity) = (given.flavor.clone(), vec![100; EVENTS]);
    (flavor[10], flavor[11]) = (3, -1);
    let mut diagram = vec![20; EVENTS];
    flavor[20..24].fill(1);
    (helicity[20], helicity[21], diagram[22], diagram[23]) = (99, 100 + 4096, 19, 20 + rows as i32);
    let second = DeviceSample {
        flavor: device.put(&flavor),
        fixed_helicity: device.put(&helicity),
        fixed_diagram: device.put(&diagram),
        element: MatrixElementOffsets {
            index: 1,
            count: 3,
            helicity: 100,
            color: 10,
            diagram: 20,
            diagrams: rows + 25,
        },
        ..device.sample(&given, rows + 25)
    };
    run(&second).expect("a sample");
    let others = device.found(&second, rows + 25);
    for event in 0..EVENTS {
        let me = others.matrix_elements[event];
        if flavor[event] != 1 {
            assert_eq!(me, f64::from(UNTOUCHED), "event {event}");
            assert_eq!(others.color[event], UNTOUCHED);
            assert!(
                (0..rows + 25).all(|row| others.amp2[row * EVENTS + event] == f64::from(UNTOUCHED))
            );
            continue;
        }
        assert_eq!(
            me.is_nan(),
            [3, 20, 21, 22, 23, 41].contains(&event),
            "event {event}: {me}"
        );
        assert!(others.color[event] >= 10);
        assert_eq!(others.helicity[event], helicity[event]);
        for row in (0..20).chain(20 + rows..25 + rows) {
            assert_eq!(others.amp2[row * EVENTS + event], 0.0);
        }
        let sum: f64 = (20..20 + rows)
            .map(|row| others.amp2[row * EVENTS + event])
            .sum();
        assert!(
            (sum - f64::from(u8::from(!me.is_nan()))).abs() < 1e-5,
            "event {event}: {sum}"
        );
    }
    // The first matrix element answers for invalid indices.
    let first = DeviceSample {
        fixed_helicity: 0,
        fixed_diagram: 0,
        element: MatrixElementOffsets {
            index: 0,
            ..MatrixElementOffsets {
                count: 3,
                ..MatrixElementOffsets::single(rows)
            }
        },
        flavor: second.flavor,
        ..device.sample(&given, rows)
    };
    run(&first).expect("a sample");
    let found = device.found(&first, rows);
    assert!(found.matrix_elements[10].is_nan() && found.matrix_elements[11].is_nan());

    // Memory of the host is refused by its name.
    let host = DeviceSample {
        alpha_s: given.alpha_s.as_ptr() as u64,
        ..sample
    };
    let refused = run(&host);
    let named = matches!(
        refused,
        Err(Error::NotOnThisGpu {
            what: "alpha_s",
            ..
        })
    );
    assert!(named, "{refused:?}");
}

/// Events beyond single precision are reported, because they are not evaluated again.
#[test]
fn events_that_single_precision_cannot_hold_are_nan() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let process = mebridge::generate("g g > t t~ g")
        .expect("process")
        .remove(0);
    for by in [By::Tables, By::Generated] {
        let (mut cpu, mut on_gpu) = bridges(&gpu, &process, by, Precision::Float);
        let mut given = Given::new(&process, &cpu.masses(), EVENTS);
        // Of |M|^2 with g_s^6.
        given.alpha_s[5] = 1e20;
        let rows = process.diagrams as usize;
        let mut device = Device::new(gpu.clone());
        let sampler = on_gpu.device_sampler().expect("a sampler");
        let sample = device.sample(&given, rows);
        // SAFETY: arrays of these sizes, which stay.
        unsafe { sampler.run(&sample) }.expect("a sample");
        let found = device.found(&sample, rows).matrix_elements;
        let expected = expected(&mut cpu, &given, false, true).matrix_elements;
        assert!(expected[5] > 1e50 && expected[5] < 1e80, "{}", expected[5]);
        for (event, x) in found.iter().enumerate() {
            assert_eq!(x.is_nan(), event == 5, "{by:?} {event}: {x}");
            assert!(
                event == 5 || *x > 0.0 && x.is_finite(),
                "{by:?} {event}: {x}"
            );
        }
    }
}

/// The GPU reports whether an answer of a call is beyond single precision, so that the host does not check answers: by
/// tables and by generated code, of whole events and of subsets.
#[test]
fn calls_that_single_precision_cannot_hold_are_had_in_double() {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    for (name, by) in [
        ("g g > t t~", By::Tables),
        ("g g > t t~", By::Helicities),
        ("g g > t t~", By::Generated),
        ("g g > t t~ g", By::ItsSubsets),
    ] {
        let process = mebridge::generate(name).expect("process").remove(0);
        let (_, mut on_gpu) = bridges(&gpu, &process, by, Precision::Float);
        let (mut double, _) = bridges(&gpu, &process, By::Tables, Precision::Double);
        let given = Given::new(&process, &double.masses(), EVENTS);
        let mut g_s = [1.2; EVENTS];
        // Of |M|^2 with g_s^4.
        g_s[5] = 1e12;
        let half = [0.5; EVENTS];
        let channels = [1; EVENTS];
        for channels in [None, Some(&channels[..])] {
            let call = |bridge: &mut Bridge| {
                let events = Events {
                    momenta: &given.rows,
                    g_s: &g_s,
                    random_helicity: &half,
                    random_color: &half,
                    channels,
                    igraph: None,
                };
                let mut out = vec![0.0; EVENTS];
                let mut answers = Answers {
                    matrix_elements: &mut out,
                    helicity: &mut [0; EVENTS],
                    color: &mut [0; EVENTS],
                };
                bridge.run(&events, &mut answers).expect("answers");
                out
            };
            let expected = call(&mut double);
            // The second time by generated code, where there is some.
            for time in 0..2 {
                let found = call(&mut on_gpu);
                assert_eq!(found[5], expected[5], "{name} {time}");
                for (event, (x, y)) in found.iter().zip(&expected).enumerate() {
                    let near = event == 5 || x != y && (x / y - 1.0).abs() < 2e-3;
                    assert!(near, "{name} {time} {event}: {x:e} for {y:e}");
                }
                on_gpu.wait_for_compiler();
            }
        }
    }
}

#[test]
fn samples_by_tables_are_those_of_the_cpu() {
    compare("g g > t t~", By::Tables, Precision::Double);
    compare("e+ e- > mu+ mu-", By::Tables, Precision::Float);
}

/// Samples without diagrams by the colour-ordered form, the others by the diagrams.
#[test]
fn samples_of_both_forms_are_those_of_the_cpu() {
    compare("g g > g g g", By::Tables, Precision::Double);
}

#[test]
fn samples_of_whole_events_are_those_of_the_cpu() {
    compare("g g > t t~", By::Generated, Precision::Double);
    compare("g g > t t~", By::Generated, Precision::Float);
}

#[test]
fn samples_by_subsets_are_those_of_the_cpu() {
    compare("g u > t t~ u", By::Subsets, Precision::Double);
}

/// Subsets of diagrams, and of a recursion if no diagrams are requested.
#[test]
fn samples_by_subsets_of_a_larger_process_are_those_of_the_cpu() {
    compare("g g > t t~ g", By::ItsSubsets, Precision::Float);
    compare("g g > t t~ g", By::ItsSubsets, Precision::Double);
}

/// A recursion without any AMP2 (see `polarized`).
#[test]
fn samples_of_polarized_particles_are_those_of_the_cpu() {
    compare("g g > t{L} t~ g", By::ItsSubsets, Precision::Double);
}

#[test]
fn samples_by_helicities_are_those_of_the_cpu() {
    compare("g g > t t~", By::Helicities, Precision::Double);
    compare("g u > t t~ u", By::Helicities, Precision::Mixed);
}

/// A GPU with little memory takes a sample in chunks, from several threads, and gives all memory back.
#[test]
fn samples_come_in_chunks_and_from_many_threads() {
    let Some(gpu) = Emulator::with_memory(400 << 10, check_where_named) else {
        return;
    };
    let process = mebridge::generate("e+ e- > mu+ mu-")
        .expect("process")
        .remove(0);
    let (mut cpu, mut on_gpu) = bridges(&gpu, &process, By::Tables, Precision::Double);
    let given = Given::new(&process, &cpu.masses(), EVENTS);
    let expected = expected(&mut cpu, &given, false, true);
    let sampler = on_gpu.device_sampler().expect("a sampler");
    // It remains usable after the bridge is dropped.
    drop(on_gpu);
    gpu.take_log();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (sampler, gpu) = (sampler.clone(), gpu.clone());
            let (given, expected) = (&given, &expected);
            scope.spawn(move || {
                let mut device = Device::new(gpu);
                for _ in 0..5 {
                    let sample = device.sample(given, 2);
                    // SAFETY: arrays of these sizes.
                    unsafe { sampler.run(&sample).expect("a sample") };
                    let found = device.found(&sample, 2);
                    near(
                        &found.matrix_elements,
                        &expected.matrix_elements,
                        1e-13,
                        0.0,
                        "chunks",
                    );
                    near(&found.amp2, &expected.amp2, 1e-13, 1e-15, "chunks");
                    assert_eq!(found.diagram, expected.diagram);
                }
            });
        }
    });
    let launches = gpu.take_log().launches;
    let chunks = launches.iter().filter(|l| l.0 == "load_sample").count();
    assert!(chunks > 15, "{chunks} chunks");
    drop(sampler);
    assert!(gpu.is_idle());
}

/// A sample may take as much memory for one block of events as a call.
#[test]
fn a_sample_has_room_where_a_call_has() {
    let Some(gpu) = Emulator::with_memory(7 << 20, check_where_named) else {
        return;
    };
    let process = mebridge::generate("g g > t t~ g g")
        .expect("process")
        .remove(0)
        .as_color_ordered()
        .expect("a colour-ordered form");
    let (mut cpu, mut on_gpu) = bridges(&gpu, &process, By::Tables, Precision::Double);
    let given = Given::new(&process, &cpu.masses(), EVENTS);
    let mut device = Device::new(gpu.clone());
    let sampler = on_gpu.device_sampler().expect("a sampler");
    let sample = DeviceSample {
        diagram: 0,
        amp2: 0,
        ..device.sample(&given, 1)
    };
    // SAFETY: arrays of these sizes, which stay.
    unsafe { sampler.run(&sample).expect("a sample") };
    let found: Vec<f64> = device.get(sample.matrix_elements, vec![0.0; EVENTS]);
    let expected = expected(&mut cpu, &given, false, false).matrix_elements;
    near(&found, &expected, 1e-12, 0.0, "block by block");
}

/// Contributions of either sign, as they are and as MadEvent adds them.
#[test]
fn samples_of_interferences_are_those_of_the_cpu() {
    let generated = |text| mebridge::generate(text).expect("process").remove(0);
    let small = generated("u u~ > u u~ QCD^2==2");
    for helicity_sum in [HelicitySum::Signed, HelicitySum::Absolute] {
        let process = Process {
            helicity_sum,
            ..small.clone()
        };
        for by in [By::Tables, By::Generated, By::Subsets, By::Helicities] {
            compare_process(&process, by, Precision::Double);
        }
    }
}
