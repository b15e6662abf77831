//! No pass of the plan compiler changes the answer, and its savings are counted.

use crate::common;
use mebridge::backend::{Backend, Contributions, EachHelicity};
use mebridge::color::BlockDiagonal;
use mebridge::cpu::Cores;
use mebridge::generate::{generate, generate_with};
use mebridge::import::import_directory;
use mebridge::inputs::{Inputs, Points};
use mebridge::model::Model;
use mebridge::phase_space::PhaseSpace;
use mebridge::plan::binding::Binding;
use mebridge::plan::passes::Pass;
use mebridge::plan::plan_after;
use mebridge::plan::{ChannelPlan, Count, Plan, memory_reuse, tiling};
use mebridge::process::Process;
use mebridge::runtime::Precision;
use mebridge::sample::Momenta;
use mebridge::simd::Level;
use rand::{Rng, SeedableRng};
use std::path::Path;

const EVENTS: usize = 24;

/// The parts of the answers of a plan, on the same events every time.
fn parts(process: &Process, binding: &Binding, plan: Plan) -> Vec<Contributions> {
    on_events(process, binding, plan, |backend, inputs| {
        backend.contributions(inputs).expect("good momenta")
    })
}

/// The JAMPs of all helicities of a plan, on the first of these events, in the order of the helicities.
fn jamps(process: &Process, binding: &Binding, mut plan: Plan) -> Vec<f64> {
    let (flows, helicities) = (plan.flows, plan.helicities.len());
    // Squares of diagrams are not wanted.
    plan.operations_mut().expect("no loops").channels = ChannelPlan::default();
    let each = on_events(process, binding, plan, |backend, inputs| {
        let mut each = EachHelicity {
            jamps: Some(Vec::new()),
            ..EachHelicity::default()
        };
        assert!(backend.each(inputs, &mut each).expect("good momenta"));
        each
    });
    let mut all = vec![f64::NAN; 2 * flows * helicities];
    let jamps = each.jamps.expect("JAMPs");
    for (jamps, &h) in jamps.chunks_exact(2 * flows).zip(&each.order) {
        all[2 * flows * h as usize..][..2 * flows].copy_from_slice(jamps);
    }
    all
}

/// Evaluates a plan on the same events every time.
fn on_events<R>(
    process: &Process,
    binding: &Binding,
    plan: Plan,
    evaluate: impl FnOnce(&mut dyn Backend, Inputs) -> R,
) -> R {
    let masses = plan.masses.clone();
    let legs = masses.len();
    let space = PhaseSpace::new(1500.0, &masses[..2], &masses[2..]).expect("phase space");
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let mut momenta = vec![0.0; EVENTS * legs * 4];
    for event in momenta.chunks_exact_mut(4 * legs) {
        let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.random()).collect();
        space.event(&numbers, event);
    }
    let (g_s, half) = (vec![1.2; EVENTS], vec![0.5; EVENTS]);
    let inputs = Inputs::without_channels(Points {
        momenta: Momenta::rows(&momenta, legs),
        g_s: &g_s,
        random_helicity: &half,
        random_color: &half,
    });
    let split = BlockDiagonal::of_process(process, false);
    let plan = plan.validate(process).expect("a plan of the process");
    let core = Cores {
        level: Level::best(),
        threads: 1,
    };
    let backend = core.backend(process, &split, binding, plan, Precision::Double, None);
    let mut backend = backend.expect("its engine");
    evaluate(&mut *backend, inputs)
}

/// Evaluates a process after each pass; returns the remaining work after each.
fn passes(process: &Process) -> Vec<(Pass, Count)> {
    let binding = Binding::new(&process.model, &process.model.default_card()).expect("binding");
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let mut first: Option<Vec<Contributions>> = None;
    let mut counts = Vec::new();
    for pass in Pass::ALL {
        let Some(plan) = plan_after(pass, process, &binding, &all).expect("plan") else {
            continue;
        };
        let count = plan.count;
        let parts = parts(process, &binding, plan);
        let first = first.get_or_insert_with(|| parts.clone());
        let mut worst: f64 = 0.0;
        for (now, then) in parts.iter().zip(first.iter()) {
            let total: f64 = then.helicities.iter().sum();
            for (x, y) in now.helicities.iter().zip(&then.helicities) {
                worst = worst.max((x - y).abs() / total);
            }
            let total: f64 = then.amp2.iter().sum();
            // A recursion may have none.
            assert!([0, then.amp2.len()].contains(&now.amp2.len()));
            for (x, y) in now.amp2.iter().zip(&then.amp2) {
                worst = worst.max((x - y).abs() / total);
            }
        }
        println!(
            "{:28} {:>10} multiply-adds, {:>8} for AMP2, {:>8} wavefunctions, {:>8} vectors; moved by {worst:.1e}",
            pass.what(),
            count.multiply_adds,
            count.squares,
            count.currents,
            count.vectors
        );
        assert!(worst < 1e-12, "{pass:?}: {worst:e}");
        counts.push((pass, count));
    }
    counts
}

/// Cuts the recursion into tiles, whether it needs them or not.
fn tiles(process: &Process) {
    let binding = Binding::new(&process.model, &process.model.default_card()).expect("binding");
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let after = |pass| {
        let plan = plan_after(pass, process, &binding, &all).expect("plan");
        plan.expect("a recursion")
    };
    let (apart, whole) = (after(Pass::Conjugates), after(Pass::MemoryReuse));
    let answer = parts(process, &binding, whole.clone());
    let vectors = |apart: &Plan, runs: usize| {
        let mut plan = apart.clone();
        tiling::cut(&mut plan, runs).expect("whole operations");
        memory_reuse::reuse(&mut plan).expect("whole operations");
        println!("{runs} runs: {} of {} vectors", plan.vectors, whole.vectors);
        assert!(plan.operations().tiles.len() <= runs.min(plan.groups().len()));
        assert!(runs == 1 || plan.vectors < whole.vectors);
        assert!(plan.clone().validate(process).is_ok());
        let count = Count::new(&plan);
        assert_eq!(
            count,
            Count {
                vectors: count.vectors,
                ..whole.count
            }
        );
        let parts = parts(process, &binding, plan);
        for (now, then) in parts.iter().zip(&answer) {
            assert_eq!(now.helicities, then.helicities);
            assert_eq!(now.amp2, then.amp2);
        }
        count.vectors
    };
    let as_listed = [1, 2, 3, 8, 1000].map(|runs| vectors(&apart, runs));
    let mut ordered = apart.clone();
    tiling::order(&mut ordered, &process.helicities);
    // The order is a heuristic: 572 vectors instead of 564 for g u > t t~ u.
    assert!(50 * vectors(&ordered, 1000) <= 51 * as_listed[4]);
}

#[test]
fn turns_of_currents_move_no_bit() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    tiles(&import_directory(&directory).expect("import").remove(0));
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    for directory in [
        "gg_ttgg.mad/SubProcesses/P1_gg_ttxgg",
        "gq_ttq.mad/SubProcesses/P1_gu_ttxu",
    ] {
        let processes = import_directory(&outputs.join(directory));
        tiles(&processes.expect("import").remove(0));
    }
}

fn after(counts: &[(Pass, Count)], pass: Pass) -> Count {
    let found = counts.iter().find(|(p, _)| *p == pass);
    found.unwrap_or_else(|| panic!("no plan after {pass:?}")).1
}

#[test]
fn no_pass_moves_the_answer_of_the_process_by_hand() {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fortran/gg_ttx/SubProcesses/P1_gg_ttx");
    let counts = passes(&import_directory(&directory).expect("import").remove(0));
    assert_eq!(counts.len(), Pass::ALL.len());
    let adds = |pass| after(&counts, pass).multiply_adds;
    // One gluon current and four quark currents for 16 helicities, of which 4 and 4 x 4 differ.
    assert_eq!(after(&counts, Pass::List).currents, 16 * 3);
    assert_eq!(after(&counts, Pass::Recycling).currents, 3 * 4);
    assert!(adds(Pass::Recycling) < adds(Pass::List));
    assert!(adds(Pass::PartialVertices) < adds(Pass::Recycling));
    assert!(adds(Pass::Conjugates) < adds(Pass::Basis));
    assert!(after(&counts, Pass::MemoryReuse).vectors <= after(&counts, Pass::Conjugates).vectors);
    // It is small enough already.
    assert_eq!(
        after(&counts, Pass::Tiling),
        after(&counts, Pass::MemoryReuse)
    );
}

/// A process of the model of coloured scalars.
fn of_scalars(text: &str) -> Process {
    let model = Model::parse(common::SCALAR_QCD, Path::new("scalar_qcd.toml")).expect("a model");
    generate_with(text, &model).expect(text).remove(0)
}

/// Scalars at the root and below it, a quark at the root, scalars of two masses, with a width and without. (All
/// diagrams of a flow, and each diagram's square: what `Pass::Tiling` leaves is the recursion with its AMP2.)
#[test]
fn no_pass_moves_the_answer_of_coloured_scalars() {
    for (text, saves) in [
        ("g g > s s~", false),
        ("g g > s s~ g", true),
        ("g s > g s g", true),
        ("g g > r r~ g g", true),
        ("u u~ > s s~ g", true),
        ("u g > u s s~", true),
        ("u u~ > s s~ g g", true),
        ("s s > s s g", false),
        ("g g > s s~ r r~", false),
        ("u u~ > s s~ r r~", true),
    ] {
        println!("{text}");
        let counts = passes(&of_scalars(text));
        assert_eq!(counts.len(), Pass::ALL.len(), "{text} has a recursion");
        let (last, listed) = (
            after(&counts, Pass::Tiling),
            after(&counts, Pass::PartialVertices),
        );
        assert!(
            !saves || last.multiply_adds < listed.multiply_adds,
            "{text}"
        );
    }
    tiles(&of_scalars("g g > s s~ g"));
    tiles(&of_scalars("u u~ > s s~ g g"));
}

/// Two quark lines: of different flavours, of the same one (both assignments), massive; with a Z, W, photon or pair of
/// leptons on a line. JAMPs are those of the diagrams, too.
#[test]
fn no_pass_moves_the_answer_of_two_quark_lines() {
    for (text, saves) in [
        ("u u~ > d d~ g", 1.3),
        ("u u > u u g", 1.0),
        ("u u~ > t t~ g", 1.0),
        ("u u~ > z d d~ g", 1.5),
        ("u d > w+ d d g", 1.2),
        ("u u~ > a t t~", 1.0),
        ("u u > e+ e- u u", 2.0),
    ] {
        println!("{text}");
        let process = generate(text).expect(text).remove(0);
        let counts = passes(&process);
        let multiply_adds = |pass| after(&counts, pass).multiply_adds as f64;
        let gain = multiply_adds(Pass::PartialVertices) / multiply_adds(Pass::Tiling);
        println!("{gain:.2} times less work than the diagrams");
        assert!(gain > saves, "{text}: {gain}");
        let binding = Binding::new(&process.model, &process.model.default_card()).expect("binding");
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        let plan = |pass| plan_after(pass, &process, &binding, &all).expect("plan");
        for pass in [Pass::MemoryReuse, Pass::Tiling] {
            let plan = plan(pass).expect(text);
            assert!(!plan.channels().is_empty(), "{text} {pass:?}: AMP2");
        }
        let listed = jamps(&process, &binding, plan(Pass::List).expect(text));
        let largest = listed.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        for pass in [Pass::MemoryReuse, Pass::Tiling] {
            let found = jamps(&process, &binding, plan(pass).expect(text));
            assert_eq!(found.len(), listed.len());
            for (a, b) in found.iter().zip(&listed) {
                assert!((a - b).abs() < 1e-12 * largest, "{text} {pass:?}: {a} {b}");
            }
        }
    }
}

/// Vertices that depend on chirality: AMP2 need a cut with a side that has none of them, or a line of one chirality. Two
/// bosons on a line may leave no such cut.
#[test]
fn amp2_with_chirality_are_those_of_the_diagrams() {
    for (text, has_amp2) in [
        ("u d~ > w+ g g", true),
        ("u d~ > e+ ve g g", true),
        ("u u~ > e+ e- g g", true),
        ("u u~ > z g g", true),
        ("g g > z u u~", true),
        ("e+ e- > mu+ mu- a", true),
        ("u d~ > t t~ w+ g", true),
        ("u d~ > w+ s s~ g", true),
        ("u s > w+ d s", true),
        ("u u > w+ u d g", true),
        ("u u~ > z z g", false),
    ] {
        println!("{text}");
        let process = generate(text).expect(text).remove(0);
        passes(&process);
        let binding = Binding::new(&process.model, &process.model.default_card()).expect("binding");
        let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
        for pass in [Pass::MemoryReuse, Pass::Tiling] {
            let plan = plan_after(pass, &process, &binding, &all).expect("plan");
            let plan = plan.expect(text);
            assert_eq!(!plan.channels().is_empty(), has_amp2, "{text} {pass:?}");
        }
    }
}

#[test]
fn no_pass_moves_the_answer_of_real_outputs() {
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    for (directory, saves) in [
        ("gg_ttgg.mad/SubProcesses/P1_gg_ttxgg", true),
        ("pp_tt012j.mad/SubProcesses/P2_uux_ttxgg", false),
        ("pp_tt012j.mad/SubProcesses/P2_uu_ttxuu", false),
        ("gq_ttq.mad/SubProcesses/P1_gu_ttxu", false),
        ("smeft_gg_tttt.mad/SubProcesses/P1_gg_ttxttx", false),
        ("susy_gg_tt.mad/SubProcesses/P1_gg_ttx", false),
        ("nobm_pp_ttW.mad/SubProcesses/P1_udx_ttxwpg", false),
        ("heft_gg_bb.mad/SubProcesses/P1_gg_bbx", false),
    ] {
        println!("{directory}");
        let counts = passes(
            &import_directory(&outputs.join(directory))
                .expect("import")
                .remove(0),
        );
        if saves {
            for pair in counts.windows(2) {
                let ((_, before), (pass, now)) = (pair[0], pair[1]);
                // The recursion pays with its currents' basis only.
                let less = now.multiply_adds <= before.multiply_adds;
                assert!(less || pass == Pass::Recursion, "{pass:?}");
            }
            let adds = |pass| after(&counts, pass).multiply_adds;
            assert!(5 * adds(Pass::MemoryReuse) < adds(Pass::List));
            assert!(3 * adds(Pass::MemoryReuse) < 2 * adds(Pass::PartialVertices));
        }
    }
}
