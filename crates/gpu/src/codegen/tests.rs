//! Compares straight-line code on the emulated GPU with the CPU engine: in one piece, with spilled values, and in
//! groups.

use super::{DeviceCode, Generator};
use crate::cuda::check_where_named;
use crate::driver::{Buffer, Driver, Module, Pointer, Shape, Stream};
use crate::helicity_split::HelicitySplit;
use crate::level_schedule::LevelSchedule;
use crate::source;
use crate::structures::{Choices, DeviceStructure, GeneratedArguments};
use mebridge_backend::Contributions;
use mebridge_backend::inputs::{Inputs, NONE, Outputs, PerEvent, Points};
use mebridge_backend::sample::Momenta;
use mebridge_cpu::Cores;
use mebridge_emulator::Emulator;
use mebridge_import::import_directory;
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::{Plan, compile, recursion};
use mebridge_process::phase_space::PhaseSpace;
use mebridge_process::{Process, example};
use mebridge_simd::Level;
use mebridge_support::error::Result;
use mebridge_support::runtime::Precision;
use mebridge_testing as common;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;
use std::sync::Arc;

const EVENTS: usize = 70;

/// Random events of a process.
struct RandomEvents {
    momenta: Vec<f64>,
    g_s: Vec<f64>,
    random_helicity: Vec<f64>,
    random_color: Vec<f64>,
    channel: Vec<i32>,
    /// The configurations of the channels, and arbitrary ones.
    configs: [Vec<i32>; 2],
}

impl RandomEvents {
    fn new(process: &Process, masses: &[f64]) -> RandomEvents {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let incoming = process.legs.iter().filter(|l| l.incoming).count();
        let (a, b) = masses.split_at(incoming);
        let space = PhaseSpace::new(3000.0, a, b).expect("phase space");
        let mut momenta = vec![0.0; EVENTS * 4 * masses.len()];
        for event in momenta.chunks_mut(4 * masses.len()) {
            let random: Vec<f64> = (0..space.randoms()).map(|_| rng.random()).collect();
            space.event(&random, event);
        }
        let config_of_diagram = process.channels.config_of_diagrams(process.diagrams);
        let known = process.channels.amp2.iter().filter_map(|amp2| {
            let diagram = amp2.diagram as i32 - 1;
            Some((diagram, config_of_diagram[diagram as usize]? as i32))
        });
        let known: Vec<(i32, i32)> = known.collect();
        let in_turn = |i: usize| known[i % known.len()];
        let configs = process.channels.config_diagram.len() as i32;
        let mut numbers = |from: f64| (0..EVENTS).map(|_| from + rng.random::<f64>()).collect();
        let (g_s, random_helicity, random_color) = (numbers(0.7), numbers(0.0), numbers(0.0));
        RandomEvents {
            momenta,
            g_s,
            random_helicity,
            random_color,
            channel: (0..EVENTS).map(|i| in_turn(i).0).collect(),
            configs: [
                (0..EVENTS).map(|i| in_turn(i).1).collect(),
                (0..EVENTS)
                    .map(|_| rng.random_range(NONE..configs))
                    .collect(),
            ],
        }
    }

    fn inputs(&self, channels: bool, any_config: bool) -> Inputs<'_> {
        let config = PerEvent::Each(&self.configs[usize::from(any_config)]);
        Inputs {
            points: Points {
                momenta: Momenta::rows(&self.momenta, self.momenta.len() / (4 * EVENTS)),
                g_s: &self.g_s,
                random_helicity: &self.random_helicity,
                random_color: &self.random_color,
            },
            channel: channels.then_some(PerEvent::Each(&self.channel)),
            config: channels.then_some(config),
        }
    }
}

/// |M|^2, helicities, colours, and the first bad event.
type Outcome = (Vec<f64>, Vec<i32>, Vec<i32>, u32);

/// Buffers of a launch.
struct Launch<'a> {
    gpu: &'a Arc<dyn Driver>,
    stream: Stream,
    buffers: Vec<Buffer>,
}

impl Launch<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<Pointer> {
        let buffer = Buffer::new(self.gpu, bytes.len())?;
        let pointer = buffer.pointer();
        // SAFETY: the buffer has the size of the bytes.
        unsafe { self.stream.upload(pointer, bytes)? };
        self.stream.synchronize()?;
        self.buffers.push(buffer);
        Ok(pointer)
    }

    fn doubles(&mut self, numbers: &[f64]) -> Result<Pointer> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        self.take(&bytes)
    }

    fn integers(&mut self, numbers: &[i32]) -> Result<Pointer> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        self.take(&bytes)
    }

    fn back(&self, from: Pointer, bytes: usize) -> Result<Vec<u8>> {
        let mut to = vec![0; bytes];
        // SAFETY: the bytes live until the stream has finished.
        unsafe { self.stream.download(&mut to, from)? };
        self.stream.synchronize()?;
        Ok(to)
    }
}

/// Runs device code on events.
fn run(
    gpu: &Arc<dyn Driver>,
    source: &DeviceCode,
    plan: &Plan,
    inputs: &Inputs,
    formula_couplings: &[f64],
) -> Result<Outcome> {
    let shape = source::CompileOptions {
        double: true,
        double_color: true,
        lanes: 32,
        workspace_lanes: 32,
        workspace_threads: 256,
        workspace_blocks: 1,
        colors_outside: false,
        split_orders: false,
        helicity_sum: mebridge_process::HelicitySum::Positive,
    };
    let declarations = source::declarations_of_generated();
    let text = format!("{}{declarations}{}", shape.prelude(), source.text);
    let module = Module::load(gpu, &gpu.compile(&text, &[])?)?;
    let stream = Stream::new(gpu)?;
    let mut launch = Launch {
        gpu,
        stream: stream.clone(),
        buffers: Vec::new(),
    };
    let amp2_of = plan.channels().amp2_of_diagram.iter();
    let amp2_of: Vec<i32> = amp2_of.map(|i| i.map_or(NONE, |i| i as i32)).collect();
    // Only this member of the structure is read.
    let choices = Choices {
        helicities: 0,
        amp2_of_diagram: launch.integers(&amp2_of)?,
        config_of_diagram: 0,
        denominator: 0,
        totals: 0,
        allowed: 0,
        flows: 0,
        helicity_count: 0,
        denominator_count: 0,
        amp2_count: 0,
        flow_count: 0,
    };
    let (points, count) = (&inputs.points, inputs.points.count());
    let indices = |launch: &mut Launch, of_events: Option<PerEvent>| match of_events {
        Some(PerEvent::Each(all)) => launch.integers(all),
        Some(PerEvent::Same(index)) => launch.integers(&vec![index; count]),
        None => Ok(0),
    };
    let answers = [
        launch.doubles(&vec![0.0; count])?,
        launch.integers(&vec![0; count])?,
        launch.integers(&vec![0; count])?,
        launch.integers(&[-1, -1])?,
    ];
    let padded = count.next_multiple_of(32);
    let memory = vec![f64::NAN; padded * source.vectors as usize];
    let arguments = GeneratedArguments {
        choices: launch.take(&choices.bytes())?,
        momenta: launch.doubles(&points.momenta.to_rows())?,
        g_s: launch.doubles(points.g_s)?,
        formula_couplings: launch.doubles(formula_couplings)?,
        random_helicity: launch.doubles(points.random_helicity)?,
        random_color: launch.doubles(points.random_color)?,
        channel: indices(&mut launch, inputs.channel)?,
        config: indices(&mut launch, inputs.config)?,
        matrix_elements: answers[0],
        helicity: answers[1],
        color: answers[2],
        bad: answers[3],
        lost: answers[3] + 4,
        contributions: 0,
        jamp2: 0,
        amp2: 0,
        memory: launch.doubles(&memory)?,
        cycles: 0,
        events: count as u32,
        crossed: 0,
    };
    for name in &source.kernels {
        let function = module.function(name, 0)?;
        // More threads than events are left.
        let shape = Shape {
            blocks: [2, 1, 1],
            threads: [32, 1, 1],
            shared: 0,
        };
        // SAFETY: these are the arguments of the kernel, and all arrays have the lengths that it reads.
        unsafe { stream.launch(&function, shape, &arguments.bytes())? };
    }
    let integers = |bytes: Vec<u8>| -> Vec<i32> {
        let numbers = bytes.as_chunks().0.iter();
        numbers.map(|&bytes| i32::from_ne_bytes(bytes)).collect()
    };
    let matrix_elements = launch.back(answers[0], 8 * count)?;
    let matrix_elements = matrix_elements.as_chunks().0.iter();
    let matrix_elements = matrix_elements.map(|&bytes| f64::from_ne_bytes(bytes));
    let outcome = (
        matrix_elements.collect(),
        integers(launch.back(answers[1], 4 * count)?),
        integers(launch.back(answers[2], 4 * count)?),
        integers(launch.back(answers[3], 4)?)[0] as u32,
    );
    drop(launch);
    Ok(outcome)
}

/// Variants of generated code.
fn variants<'a>(generator: Generator<'a>) -> Vec<Generator<'a>> {
    vec![
        generator,
        Generator {
            registers: 60,
            ..generator
        },
        Generator {
            group: 20,
            ..generator
        },
        Generator {
            group: 30,
            functions: true,
            registers: 40,
            ..generator
        },
    ]
}

/// Whether there are channels, and whether configurations are arbitrary instead of those of the channels.
const CALLS: [(bool, bool); 3] = [(false, false), (true, false), (true, true)];

/// The couplings that are not polynomials in G: real and imaginary parts for all events.
fn formula_couplings(tables: &LevelSchedule, binding: &Binding, g_s: &[f64]) -> Vec<f64> {
    let mut formula_couplings = Vec::new();
    for &(i, _) in &tables.formula_couplings {
        let mut values = Vec::new();
        let at = g_s.iter().map(|&g| {
            binding.evaluate(g, &mut values);
            values[i as usize]
        });
        let at: Vec<_> = at.collect();
        formula_couplings.extend(at.iter().map(|z| z.re));
        formula_couplings.extend(at.iter().map(|z| z.im));
    }
    formula_couplings
}

/// Tests with and without channels, and with the channels' or arbitrary configurations.
fn check(process: &Process, channels: bool, any_config: bool) {
    let Some(gpu) = Emulator::new(check_where_named) else {
        return;
    };
    let gpu: Arc<dyn Driver> = gpu;
    let card = process.model.default_card();
    let binding = Binding::new(&process.model, &card).expect("binding");
    let masses = process.legs.iter().map(|leg| binding.value(leg.mass));
    let masses: Vec<f64> = masses.collect();
    let sample = RandomEvents::new(process, &masses);
    let split = BlockDiagonal::of_process(process, false);
    let allowed = process.channels.allowed_flows();
    let inputs = sample.inputs(channels, any_config);
    let mut expected: Outcome = (
        vec![0.0; EVENTS],
        vec![0; EVENTS],
        vec![0; EVENTS],
        u32::MAX,
    );
    let outputs = Outputs {
        matrix_elements: &mut expected.0,
        helicity: &mut expected.1,
        color: &mut expected.2,
    };
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let cores = Cores {
        level: Level::None,
        threads: 1,
    };
    let cpu = |helicities: &[u32]| {
        let plan = compile(process, &binding, helicities).and_then(|plan| plan.validate(process));
        let plan = plan.expect("plan");
        cores
            .backend(process, &split, &binding, plan, Precision::Double, None)
            .expect("engine")
    };
    let each = cpu(&all).contributions(inputs).expect("contributions");
    let contributes = |&h: &u32| {
        let of = |c: &Contributions| (c.helicities[h as usize], c.helicities.iter().sum::<f64>());
        each.iter().map(of).any(|(one, sum)| one > 1e-24 * sum)
    };
    let good: Vec<u32> = all.into_iter().filter(contributes).collect();
    cpu(&good).run(inputs, outputs).expect("run");
    let diagrams = compile(process, &binding, &good).expect("plan");
    let recursion = recursion::compile(process, &binding, &good);
    for plan in std::iter::once(&diagrams).chain(&recursion) {
        if channels && plan.channels().is_empty() {
            continue;
        }
        let tables = LevelSchedule::new(plan, &binding).expect("tables");
        let formula_couplings = formula_couplings(&tables, &binding, &sample.g_s);
        let generator = Generator {
            tables: &tables,
            general: &plan.operations().general,
            split: &split,
            masses: &masses,
            signs: &process.signs(),
            helicities: &plan.helicities,
            denominator: &plan.channels().denominator,
            allowed: &allowed,
            flow_weights: &process.flow_weights,
            helicity_sum: mebridge_process::HelicitySum::Positive,
            normalization: 1.0 / f64::from(process.iden),
            channels,
            colors: channels,
            threads: 128,
            blocks: 2,
            registers: 0,
            group: 0,
            functions: false,
            subsets: None,
            hoisted: 0,
            sample: None,
            clocks: false,
        };
        for variant in variants(generator) {
            let source = variant.source().expect("source");
            assert!(!source.text.to_lowercase().contains("clock"));
            let ran = run(&gpu, &source, plan, &inputs, &formula_couplings).expect("run");
            let pairs = ran.0.iter().zip(&expected.0);
            for (event, (a, b)) in pairs.enumerate() {
                let by = ((a - b) / b).abs();
                assert!(by < 1e-12, "{} event {event}: {a} for {b}", process.name);
            }
            assert_eq!(ran.1, expected.1, "{}: helicities", process.name);
            assert_eq!(ran.2, expected.2, "{}: colours", process.name);
            assert_eq!(ran.3, u32::MAX, "{}: a bad event", process.name);
            // A bad event is detected, and the results of the others do not change.
            let mut momenta = sample.momenta.clone();
            let numbers = 4 * masses.len();
            momenta[numbers * 41] *= 1.001;
            momenta[numbers * 40 + 5] = f64::NAN;
            let mut bad = inputs;
            bad.points.momenta = Momenta::rows(&momenta, masses.len());
            let ran = run(&gpu, &source, plan, &bad, &formula_couplings).expect("run");
            assert_eq!(ran.3, 40, "{}: the first bad event", process.name);
            assert_eq!(ran.1[42..], expected.1[42..], "{}", process.name);
        }
    }
}

#[test]
fn scalars_agree_with_the_cpu() {
    for (channels, any_config) in CALLS {
        check(&example::scalars(), channels, any_config);
    }
}

fn gluons_and_quarks(channels: bool, any_config: bool) {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let process = import_directory(&directory).expect("import").remove(0);
    check(&process, channels, any_config);
}

// Each of these takes long, because of the C++ compiler.
#[test]
fn gluons_and_quarks_agree_with_the_cpu() {
    gluons_and_quarks(false, false);
}

#[test]
fn gluons_and_quarks_with_channels_agree_with_the_cpu() {
    gluons_and_quarks(true, false);
}

#[test]
fn gluons_and_quarks_with_any_configuration_agree_with_the_cpu() {
    gluons_and_quarks(true, true);
}

#[test]
fn real_processes_agree_with_the_cpu() {
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    for output in ["ee_mumu", "gg_tt"] {
        let folder = outputs.join(format!("{output}.mad/SubProcesses"));
        let mut directories: Vec<_> = std::fs::read_dir(&folder)
            .expect("SubProcesses")
            .map(|entry| entry.expect("entry").path())
            .filter(|path| path.is_dir())
            .collect();
        directories.sort();
        let process = import_directory(&directories[0]).expect("import").remove(0);
        for (channels, any_config) in CALLS {
            check(&process, channels, any_config);
        }
    }
}

/// Values shared by subsets are computed once for each setting of their legs, and each number has its own address.
#[test]
fn shares_find_what_they_have_in_common() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let process = import_directory(&directory).expect("import").remove(0);
    let card = process.model.default_card();
    let binding = Binding::new(&process.model, &card).expect("binding");
    let good: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let recursion = recursion::compile(&process, &binding, &good).expect("recursion");
    let kind = recursion.operations().recursion;
    let subsets = HelicitySplit::best(&process, &binding, &good, kind, 1000).expect("subsets");
    assert!(subsets.order.len() > 1 && subsets.fixed.iter().filter(|f| **f).count() > 1);
    let split = BlockDiagonal::of_process(&process, false);
    let allowed = process.channels.allowed_flows();
    let generator = Generator {
        tables: &subsets.tables,
        general: &subsets.plan.operations().general,
        split: &split,
        masses: &subsets.plan.masses,
        signs: &process.signs(),
        helicities: &good,
        denominator: &subsets.plan.channels().denominator,
        allowed: &allowed,
        flow_weights: &process.flow_weights,
        helicity_sum: mebridge_process::HelicitySum::Positive,
        normalization: 1.0,
        channels: false,
        colors: false,
        threads: 128,
        blocks: 2,
        registers: 60,
        group: 0,
        functions: false,
        subsets: Some(&subsets),
        hoisted: 0,
        sample: None,
        clocks: false,
    };
    let whole = generator.whole_process().expect("values");
    let mut before = 0;
    for most in 0..=subsets.fixed.len() as u32 {
        let hoisted = generator.hoist(&whole, &subsets, most).expect("cut");
        let mut taken = vec![false; hoisted.vectors];
        for (&id, places) in &hoisted.puts {
            let numbers = hoisted.before.graph.values[id].class.numbers();
            for at in places.iter().flat_map(|&at| at..at + numbers) {
                assert!(
                    !std::mem::replace(&mut taken[at], true),
                    "two numbers at {at}"
                );
            }
        }
        assert!(taken.iter().all(|&taken| taken), "a place without a number");
        // The more is computed before, the less is left.
        let values = hoisted.before.order.len();
        assert!(
            values >= before,
            "{values} values of {most} legs, {before} of fewer"
        );
        before = values;
        let text = Generator {
            hoisted: most,
            ..generator
        }
        .source()
        .expect("source")
        .text;
        let by_helicity = text.matches("const int h").count();
        assert_eq!(by_helicity > 0, most == 0, "helicities of {most} legs");
    }
}
