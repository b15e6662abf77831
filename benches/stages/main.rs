//! Each stage by itself, from a directory of MG5aMC to an answer: `make bench`.
//!
//! | group | what is measured |
//! |---|---|
//! | `import` | a directory becomes a process |
//! | `plan` | a process becomes a list of diagrams, or a recursion |
//! | `external` | external wavefunctions of one leg, all its helicities |
//! | `kernels` | all operations of a plan that one kernel computes |
//! | `amplitudes` | all wavefunctions of a plan, all amplitudes of one helicity, and what AMP2 take beside |
//! | `jamp` | from the amplitudes of one helicity to its JAMPs |
//! | `color` | one colour sum |
//! | `whole` | calls of a bridge |
//! | `choices` | calls that choose nothing but the helicity, that choose the colour, that have channels |
//!
//! From `external` to `color` it is one vector of events at the best SIMD level of the CPU, and
//! the numbers are random: only the time matters.
//!
//! g g > t t~ comes with the source; g g > t t~ + 1, 2, 3 gluons are taken from the outputs of
//! MG5aMC in the folder `MEBRIDGE_MG5_OUTPUTS`, and skipped, loudly, without it.

mod events;
mod memory;
mod processes;
mod run;
mod timing;

use events::RepeatedCalls;
use mebridge::color::BlockDiagonal;
use mebridge::engine::color::ColorSum;
use mebridge::engine::stages::Jamps;
use mebridge::import::import_directory;
use mebridge::ops::Batch;
use mebridge::ops::opcode::Opcode;
use mebridge::plan::binding::Binding;
use mebridge::plan::{Plan, compile, recursion};
use mebridge::process::Process;
use mebridge::process::external::MOMENTUM;
use mebridge::process::{ExternalKind, example};
use mebridge::runtime::Precision;
use mebridge::simd::{Level, Real};
use memory::Memory;
use processes::{Named, processes};
use std::collections::BTreeMap;
use std::hint::black_box;
use timing::Group;
pub use timing::Settings;

fn import(settings: &Settings) {
    let mut group = settings.group("import");
    for named in processes() {
        group.measure(named.name, || {
            import_directory(black_box(&named.directory)).expect("it was read before")
        });
    }
}

/// The plans of a process for all its helicities.
struct Plans {
    diagrams: Plan,
    recursion: Option<Plan>,
}

fn binding(process: &Process) -> Binding {
    Binding::new(&process.model, &process.model.default_card()).expect("the card is complete")
}

fn helicities(process: &Process) -> Vec<u32> {
    (0..process.helicities.len() as u32).collect()
}

impl Plans {
    fn new(process: &Process) -> Plans {
        let (binding, all) = (binding(process), helicities(process));
        Plans {
            diagrams: compile(process, &binding, &all).expect("a plan"),
            recursion: recursion::compile(process, &binding, &all),
        }
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, &Plan)> {
        let recursion = self.recursion.as_ref().map(|plan| ("recursion", plan));
        std::iter::once(("diagrams", &self.diagrams)).chain(recursion)
    }
}

fn plan(settings: &Settings) {
    let mut group = settings.group("plan");
    for Named { name, process, .. } in processes() {
        let (binding, all) = (binding(process), helicities(process));
        group.measure(&format!("diagrams/{name}"), || {
            compile(black_box(process), &binding, &all).expect("a plan")
        });
        group.measure(&format!("recursion/{name}"), || {
            recursion::compile(black_box(process), &binding, &all)
        });
    }
}

fn external(settings: &Settings) {
    let mut group = settings.group("external");
    for (name, kind, massive, helicities) in [
        (
            "massless fermion",
            ExternalKind::FermionIn,
            false,
            &[-1, 1][..],
        ),
        ("massive fermion", ExternalKind::FermionOut, true, &[-1, 1]),
        ("massless vector", ExternalKind::Vector, false, &[-1, 1]),
        ("massive vector", ExternalKind::Vector, true, &[-1, 0, 1]),
        (
            "momentum as vector",
            ExternalKind::Vector,
            false,
            &[MOMENTUM],
        ),
        ("scalar", ExternalKind::Scalar, true, &[0]),
    ] {
        both(&mut group, name, |group, id, in_double| match in_double {
            true => leg::<f64>(group, id, kind, massive, helicities),
            false => leg::<f32>(group, id, kind, massive, helicities),
        });
    }
}

fn leg<T: Real>(group: &mut Group, id: &str, kind: ExternalKind, massive: bool, helicities: &[i8]) {
    let level = Level::best();
    let lanes = level.lanes::<T>();
    // A momentum, a mass and the wavefunctions.
    let results: Vec<u32> = (0..helicities.len() as u32).map(|i| 5 + 8 * i).collect();
    let mut memory = Memory::<T>::random(5 + 8 * helicities.len(), lanes);
    // On its mass shell: it is along no axis, and the mass is 1 or 0.
    for (i, x) in [7f64.sqrt(), 1.0, 2.0, 1.0].into_iter().enumerate() {
        let x = if i == 0 && !massive { 6f64.sqrt() } else { x };
        memory.fill(i as u32, T::from_f64(x));
    }
    memory.fill(4, T::from_f64(1.0));
    group.events(lanes as u64);
    let base = memory.base();
    group.measure(id, || {
        run::external(level, base, kind, massive, helicities, black_box(&results));
    });
}

/// In double and in single precision.
fn both(group: &mut Group, name: &str, mut bench: impl FnMut(&mut Group, &str, bool)) {
    for (precision, in_double) in [("d", true), ("f", false)] {
        bench(group, &format!("{name}/{precision}"), in_double);
    }
}

/// The batches of a plan, by the kernel's name.
fn by_kernel<'a>(batches: &'a [Batch]) -> BTreeMap<String, Vec<&'a Batch>> {
    let mut kernels: BTreeMap<String, Vec<&'a Batch>> = BTreeMap::new();
    for batch in batches {
        // General structures are run by an interpreter, not by a kernel.
        if !matches!(batch.opcode, Opcode::General(_)) && !batch.is_empty() {
            let name = format!("{:?}", batch.opcode);
            kernels.entry(name).or_default().push(batch);
        }
    }
    kernels
}

/// One benchmark of batches that are run one after the other.
fn batches<T: Real>(
    group: &mut Group,
    id: &str,
    plan: &Plan,
    currents: &[&Batch],
    amplitudes: &[&Batch],
) {
    let level = Level::best();
    let lanes = level.lanes::<T>();
    let mut memory = Memory::<T>::random(plan.vectors as usize, lanes);
    for &(address, value) in &plan.constants {
        memory.fill(address, T::from_f64(value));
    }
    group.events(lanes as u64);
    let base = memory.base();
    group.measure(id, || {
        for batch in currents {
            run::currents(level, base, batch);
        }
        for batch in amplitudes {
            run::amplitudes(level, base, batch, &plan.operations().tables[0]);
        }
    });
}

fn kernels(settings: &Settings) {
    let mut group = settings.group("kernels");
    // The largest of the processes whose data fit into L2.
    let some: Vec<&Named> = processes().iter().filter(|p| p.is_small).collect();
    let Some(Named { name, process, .. }) = some.last() else {
        return;
    };
    for (kind, plan) in Plans::new(process).each() {
        let direct = [
            plan.operations().currents.as_slice(),
            &plan.channels().squares,
        ]
        .concat();
        for (kernel, some) in by_kernel(&direct) {
            let name = format!("{name}/{kind}/{kernel}");
            both(&mut group, &name, |group, id, in_double| match in_double {
                true => batches::<f64>(group, id, plan, &some, &[]),
                false => batches::<f32>(group, id, plan, &some, &[]),
            });
        }
        for (kernel, some) in by_kernel(&plan.operations().amplitudes) {
            let name = format!("{name}/{kind}/{kernel}");
            both(&mut group, &name, |group, id, in_double| match in_double {
                true => batches::<f64>(group, id, plan, &[], &some),
                false => batches::<f32>(group, id, plan, &[], &some),
            });
        }
    }
}

fn amplitudes(settings: &Settings) {
    let mut group = settings.group("amplitudes");
    for Named { name, process, .. } in processes() {
        for (kind, plan) in Plans::new(process).each() {
            let currents: Vec<&Batch> = plan.operations().currents.iter().collect();
            let amplitudes: Vec<&Batch> = plan.operations().amplitudes.iter().collect();
            let id = format!("{kind} wavefunctions/{name}");
            batches::<f64>(&mut group, &id, plan, &currents, &[]);
            let id = format!("{kind} amplitudes/{name}");
            batches::<f64>(&mut group, &id, plan, &[], &amplitudes);
            let squares: Vec<&Batch> = plan.channels().squares.iter().collect();
            if !squares.is_empty() {
                let id = format!("{kind} AMP2/{name}");
                batches::<f64>(&mut group, &id, plan, &squares, &[]);
            }
        }
    }
}

fn jamp(settings: &Settings) {
    let mut group = settings.group("jamp");
    let level = Level::best();
    group.events(level.lanes::<f64>() as u64);
    for Named { name, process, .. } in processes() {
        for (kind, plan) in Plans::new(process).each() {
            let jamps = Jamps::<f64>::new(process, &binding(process), plan.clone(), level);
            let mut jamps = jamps.expect("enough memory");
            group.measure(&format!("{kind}/{name}"), || jamps.run());
        }
    }
}

fn color(settings: &Settings) {
    let mut group = settings.group("color");
    for Named { process, .. } in processes() {
        let color_blocks = BlockDiagonal::of_process(process, false);
        let name = format!("{} flows", process.amplitudes.jamps());
        both(&mut group, &name, |group, id, in_double| match in_double {
            true => color_sum(group, id, &color_blocks, |x| x),
            false => color_sum(group, id, &color_blocks, |x| x as f32),
        });
    }
}

fn color_sum<T: Real>(
    group: &mut Group,
    id: &str,
    color_blocks: &BlockDiagonal,
    convert: impl Fn(f64) -> T,
) {
    let level = Level::best();
    let lanes = level.lanes::<T>();
    let color = ColorSum::new(color_blocks, convert);
    let jamps = 2 * color_blocks.flows;
    let mut memory = Memory::<T>::random(jamps + color.scratch() + 1, lanes);
    group.events(lanes as u64);
    let base = memory.base();
    group.measure(id, || {
        run::color_sum(level, base, black_box(&color), color_blocks.flows);
    });
}

/// Events in one call.
const NEVT: usize = 256;

fn whole(settings: &Settings) {
    let mut group = settings.group("whole");
    group.events(NEVT as u64);
    for named in processes() {
        for precision in [Precision::Double, Precision::Mixed, Precision::Float] {
            let mut calls = RepeatedCalls::new(&named.process, precision, NEVT);
            for (door, channels) in [("nomultichannel", false), ("sequence", true)] {
                let id = format!("{}/{door}/{}", named.name, precision.name());
                group.measure(&id, || calls.run(channels, false));
            }
        }
    }
    // What a call costs beside the process itself.
    let mut calls = RepeatedCalls::new(&example::scalars(), Precision::Double, NEVT);
    group.measure("phi phi > phi phi/nomultichannel/d", || {
        calls.run(false, false);
    });
}

fn choices(settings: &Settings) {
    let mut group = settings.group("choices");
    group.events(NEVT as u64);
    for named in processes().iter().filter(|p| p.is_small) {
        let mut calls = RepeatedCalls::new(&named.process, Precision::Double, NEVT);
        for (what, channels, igraph) in [
            ("helicity", false, false),
            ("helicity and colour", false, true),
            ("helicity, colour and channel", true, true),
        ] {
            group.measure(&format!("{what}/{}", named.name), || {
                calls.run(channels, igraph)
            });
        }
    }
}

/// All stages.
pub fn run(settings: &Settings) {
    for stage in [
        import, plan, external, kernels, amplitudes, jamp, color, whole, choices,
    ] {
        stage(settings);
    }
}

fn main() {
    run(&Settings::from_arguments());
}
