//! Validation of plans, and engines on plans that pass it.

use mebridge_backend::EachHelicity;
use mebridge_backend::inputs::{Inputs, Points};
use mebridge_backend::sample::Momenta;
use mebridge_cpu::{Cores, HelicityLanes};
use mebridge_import::import_directory;
use mebridge_ops::{Address, GeneralRoutine};
use mebridge_plan::binding::Binding;
use mebridge_plan::color::BlockDiagonal;
use mebridge_plan::passes::Pass;
use mebridge_plan::plan_after;
use mebridge_plan::{Plan, ValidPlan, compile, memory_reuse, recursion, tiling};
use mebridge_process::{Process, example};
use mebridge_simd::Level;
use mebridge_support::runtime::Precision;
use proptest::prelude::*;
use std::path::Path;

struct MadePlans {
    process: Process,
    binding: Binding,
    plans: Vec<Plan>,
}

fn make(process: Process) -> MadePlans {
    let binding = Binding::new(&process.model, &process.model.default_card()).unwrap();
    let all: Vec<u32> = (0..process.helicities.len() as u32).collect();
    let mut plans = vec![compile(&process, &binding, &all).unwrap()];
    plans.extend(recursion::compile(&process, &binding, &all));
    if let Some(mut plan) = plan_after(Pass::Conjugates, &process, &binding, &all).unwrap() {
        tiling::cut(&mut plan, 4).unwrap();
        memory_reuse::reuse(&mut plan).unwrap();
        plans.push(plan);
    }
    plans.extend(recursion::compile_each(&process, &binding, &all));
    MadePlans {
        process,
        binding,
        plans,
    }
}

fn is_valid(plan: &Plan, process: &Process) -> bool {
    plan.clone().validate(process).is_ok()
}

fn gg_ttx() -> MadePlans {
    let directory = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fortran/gg_ttx/SubProcesses/P1_gg_ttx"
    );
    make(import_directory(Path::new(directory)).unwrap().remove(0))
}

#[test]
fn plans_of_the_planner_are_valid() {
    let made = gg_ttx();
    assert_eq!(made.plans.len(), 4);
    for plan in &made.plans {
        assert!(is_valid(plan, &made.process));
        assert!(plan.has_channels_of(&made.process));
        let mut other = plan.clone();
        other.helicities[0] = made.process.helicities.len() as u32;
        assert!(!is_valid(&other, &made.process));
        assert!(!is_valid(plan, &example::scalars()));
    }
    let scalars = make(example::scalars());
    assert!(is_valid(&scalars.plans[0], &scalars.process));
}

#[test]
fn an_address_outside_of_the_memory_is_seen() {
    let made = gg_ttx();
    for plan in &made.plans {
        // Whatever the last vectors hold, without them some address is out of range.
        let short = Plan {
            vectors: plan.vectors - 1,
            ..plan.clone()
        };
        assert!(!is_valid(&short, &made.process));
        for batch in 0..plan.operations().currents.len() {
            let mut bad = plan.clone();
            *bad.operations_mut().unwrap().currents[batch]
                .operands
                .last_mut()
                .unwrap() = plan.vectors - 1;
            assert!(!is_valid(&bad, &made.process));
            bad.operations_mut().unwrap().currents[batch].operands.pop();
            assert!(!is_valid(&bad, &made.process));
        }
        for tile in 0..plan.operations().tiles.len() {
            let mut bad = plan.clone();
            let batch = bad.operations_mut().unwrap().tiles[tile]
                .currents
                .last_mut()
                .unwrap();
            *batch.operands.last_mut().unwrap() = plan.vectors - 1;
            assert!(!is_valid(&bad, &made.process));
            let mut bad = plan.clone();
            bad.operations_mut().unwrap().tiles[tile].group = plan.groups().len() as u32;
            assert!(!is_valid(&bad, &made.process));
            let mut bad = plan.clone();
            bad.operations_mut().unwrap().tiles.swap(0, tile);
            assert_eq!(is_valid(&bad, &made.process), tile == 0);
        }
        let mut bad = plan.clone();
        bad.operations_mut()
            .unwrap()
            .tables
            .last_mut()
            .unwrap()
            .fill(Address::MAX);
        assert!(!is_valid(&bad, &made.process));
        bad.operations_mut().unwrap().tables[0].clear();
        assert!(!is_valid(&bad, &made.process));
        let mut bad = plan.clone();
        bad.couplings[0] = Address::MAX - 1;
        assert!(!is_valid(&bad, &made.process));
        let mut bad = plan.clone();
        bad.jamp_base = plan.vectors;
        assert!(!is_valid(&bad, &made.process));
        // A batch of the same operations among the amplitudes.
        let mut bad = plan.clone();
        bad.operations_mut()
            .unwrap()
            .amplitudes
            .push(plan.operations().currents[0].clone());
        assert!(!is_valid(&bad, &made.process));
        let mut bad = plan.clone();
        bad.operations_mut()
            .unwrap()
            .channels
            .squares
            .push(plan.operations().amplitudes[0].clone());
        assert!(!is_valid(&bad, &made.process));
        let mut bad = plan.clone();
        bad.operations_mut().unwrap().groups[0] = vec![plan.helicities.len() as u32];
        assert!(!is_valid(&bad, &made.process));
        // A routine that the process does not have.
        let mut bad = plan.clone();
        bad.operations_mut().unwrap().general.push(GeneralRoutine {
            routine: example::scalars().routines.remove(0),
            massless: false,
        });
        assert!(!is_valid(&bad, &made.process));
    }
}

/// The recursion and the list of diagrams agree for single helicities.
#[test]
fn a_recursion_tells_helicities_apart() {
    let made = gg_ttx();
    let rows: Vec<u32> = (0..made.process.helicities.len() as u32).collect();
    for level in Level::supported() {
        let lanes = HelicityLanes::choose(&made.process, &rows, level.lanes::<f64>());
        let process = match &lanes {
            Some(lanes) => lanes.process(&made.process),
            None => made.process.clone(),
        };
        let made = make(process);
        let [list, recursion] = [0, made.plans.len() - 1].map(|plan| {
            let (process, binding) = (&made.process, &made.binding);
            let plan = made.plans[plan].clone().validate(process).unwrap();
            let color = BlockDiagonal::of_process(process, false);
            let (core, double) = (Cores { level, threads: 1 }, Precision::Double);
            let backend = core.backend(process, &color, binding, plan, double, lanes.as_ref());
            let mut each = EachHelicity::default();
            let answered = backend.unwrap().each(one_event(&event()), &mut each);
            assert!(answered.unwrap());
            each
        });
        let all: f64 = list.contributions.iter().sum();
        for (a, b) in list.contributions.iter().zip(&recursion.contributions) {
            assert!((a - b).abs() < 1e-13 * all, "{a} {b}");
        }
        for (at, h) in list.order.iter().enumerate() {
            let there = recursion.order.iter().position(|other| other == h).unwrap();
            for (a, b) in [
                (&list.amp2, &recursion.amp2),
                (&list.jamp2, &recursion.jamp2),
            ] {
                let width = a.len() / list.order.len();
                let (a, b) = (&a[at * width..][..width], &b[there * width..][..width]);
                let all: f64 = a.iter().sum();
                for (a, b) in a.iter().zip(b) {
                    assert!((a - b).abs() < 1e-12 * all, "{a} {b}");
                }
            }
        }
    }
}

/// Momenta of an event.
fn event() -> [[f64; 4]; 4] {
    let (e, p) = (500.0, (500.0f64.powi(2) - 173.0 * 173.0).sqrt());
    [
        [e, 0.0, 0.0, e],
        [e, 0.0, 0.0, -e],
        [e, 0.6 * p, 0.0, 0.8 * p],
        [e, -0.6 * p, 0.0, -0.8 * p],
    ]
}

fn one_event(momenta: &[[f64; 4]; 4]) -> Inputs<'_> {
    Inputs::without_channels(Points {
        momenta: Momenta::rows(momenta.as_flattened(), 4),
        g_s: &[1.2],
        random_helicity: &[0.5],
        random_color: &[0.5],
    })
}

/// Runs a plan; its results are ignored.
fn run(made: &MadePlans, plan: ValidPlan) {
    let color = BlockDiagonal::of_process(&made.process, false);
    let (process, binding) = (&made.process, &made.binding);
    let core = Cores {
        level: Level::best(),
        threads: 1,
    };
    let backend = core.backend(process, &color, binding, plan, Precision::Double, None);
    // The damaged plan may have other masses.
    let _ = backend.unwrap().contributions(one_event(&event()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    #[test]
    fn a_damaged_plan_that_is_valid_can_be_run(
        which in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        thread_local! {
            static MADE: MadePlans = gg_ttx();
        }
        MADE.with(|made| {
            let mut bytes = postcard::to_stdvec(&made.plans[which]).unwrap();
            for (at, value) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            if let Ok(plan) = postcard::from_bytes::<Plan>(&bytes)
                && plan.vectors < 1 << 20
                && let Ok(plan) = plan.validate(&made.process)
            {
                run(made, plan);
            }
        });
    }
}
