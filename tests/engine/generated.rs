//! Generated processes against numbers of other programs: the reference files, and the same processes imported from
//! what MG5aMC wrote (`output madevent` or `output standalone`, with `set zerowidth_tchannel False`).

use crate::common::{self, require};
use mebridge::import::import_directory;
use mebridge::model::Model;
use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Switches};
use mebridge::{Answers, Bridge, Events, generate};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::Path;

/// Largest relative difference that is rounding.
const TOLERANCE: f64 = 1e-11;

/// An engine's answers for events, with the random numbers of the choice of helicity.
fn run(
    process: &Process,
    card: &[f64],
    momenta: &[f64],
    g: &[f64],
    random: &[f64],
) -> (Vec<f64>, Vec<i32>) {
    let switches = Switches {
        backend: BackendChoice::Cpu,
        ..Switches::default()
    };
    let count = g.len();
    let mut bridge = Bridge::new(process.clone(), card, &switches, count).expect("bridge");
    let (mut squared, mut helicity, mut color) = (vec![0.0; count], vec![0; count], vec![0; count]);
    let events = Events {
        momenta,
        g_s: g,
        random_helicity: random,
        random_color: &vec![0.5; count],
        channels: None,
        igraph: None,
    };
    let mut answers = Answers {
        matrix_elements: &mut squared,
        helicity: &mut helicity,
        color: &mut color,
    };
    bridge.run(&events, &mut answers).expect("run");
    (squared, helicity)
}

/// Name of a process with these PDG codes.
fn name(codes: &[i32]) -> String {
    let model = Model::standard().expect("model");
    let names = codes.iter().map(|&code| {
        let particle = model.particles.iter().find(|p| p.pdg == code);
        particle
            .expect("a particle of the Standard Model")
            .name
            .clone()
    });
    let names: Vec<String> = names.collect();
    format!("{} > {}", names[..2].join(" "), names[2..].join(" "))
}

/// Every reference file of the Standard Model, generated: matrix elements, and the helicity that is chosen.
#[test]
fn reference_files() {
    let Some(folder) = common::reference_folder() else {
        return;
    };
    let files = std::fs::read_dir(&folder).expect("folder").flatten();
    let mut files: Vec<_> = files.map(|entry| entry.path()).collect();
    files.sort();
    let mut done = 0;
    for file in files {
        let stem = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let other_model = ["heft", "smeft", "susy", "README"];
        if other_model.iter().any(|model| stem.starts_with(model)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("reference file");
        let first = text.lines().next().unwrap_or_default();
        let codes = text.lines().find_map(|line| line.strip_prefix("# pdg "));
        let process = match codes {
            Some(codes) => name(
                &codes
                    .split(' ')
                    .map(|c| c.parse().expect("code"))
                    .collect::<Vec<i32>>(),
            ),
            None => first.trim_start_matches("# ").to_owned(),
        };
        let process = generate(&process).expect("generated").remove(0);
        let legs = process.legs.len();
        if legs > 7 {
            // To plan these takes minutes without optimisation.
            continue;
        }
        let (mut momenta, mut g, mut random) = (Vec::new(), Vec::new(), Vec::new());
        let (mut squared, mut helicity) = (Vec::new(), Vec::new());
        let lines = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        for line in lines.take(16) {
            let numbers = line.split_whitespace().map(|x| x.parse().expect("number"));
            let numbers: Vec<f64> = numbers.collect();
            let (p, rest) = numbers.split_at(4 * legs);
            momenta.extend(p);
            g.push(rest[0]);
            if codes.is_some() {
                random.push(rest[1]);
                squared.push(rest[4]);
                helicity.push(rest[5] as i32);
            } else {
                random.push(0.5);
                squared.push(rest[1]);
            }
        }
        let card = process.model.default_card();
        let (own, chosen) = run(&process, &card, &momenta, &g, &random);
        let worst = common::worst(&own, &squared);
        println!("{stem}: {}: {worst:.1e}", process.name);
        assert!(worst < TOLERANCE, "{stem}: {worst:e}");
        if codes.is_some() {
            assert_eq!(chosen, helicity, "{stem}");
        }
        done += 1;
    }
    require::used("reference", format_args!("{done} generated"));
}

/// Whether an output is of the Standard Model with its default restriction, or without the mass of b.
fn is_standard(process: &Process) -> bool {
    matches!(process.model_name.as_str(), "sm" | "sm-no_b_mass")
}

/// The values that a card of an imported process gives to a generated one.
fn same_card(own: &Process, imported: &Process, card: &[f64]) -> Vec<f64> {
    let value = |p: &mebridge::process::model::CardParameter| {
        let mut others = imported.model.card.iter().zip(card);
        let same = others.find(|(q, _)| q.block == p.block && q.index == p.index);
        same.map_or(p.default, |(_, value)| *value)
    };
    own.model.card.iter().map(value).collect()
}

/// Sums of `JAMP2` and `AMP2` of an event, in order of their size: flows and diagrams have other numbers.
fn weights(process: &Process, point: &[[f64; 4]], g: f64, card: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let evaluation = process.evaluate(point, g, card);
    let sorted = |mut x: Vec<f64>| {
        x.sort_by(f64::total_cmp);
        x
    };
    let configurations = &process.channels.config_diagram;
    let amp2 = process.channels.amp2.iter().zip(evaluation.amp2);
    let amp2 = amp2.filter(|(a, _)| configurations.contains(&a.diagram));
    (
        sorted(evaluation.jamp2),
        sorted(amp2.map(|(_, x)| x).collect()),
    )
}

/// Every process of the Standard Model that MG5aMC wrote, generated by its own name.
#[test]
fn outputs() {
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    let entries = std::fs::read_dir(&outputs).expect("folder").flatten();
    let mut entries: Vec<_> = entries
        .map(|entry| entry.path().join("SubProcesses"))
        .collect();
    entries.sort();
    let mut done = 0;
    for folder in entries.iter().filter(|f| f.is_dir()) {
        let subprocesses = std::fs::read_dir(folder).expect("folder").flatten();
        let mut subprocesses: Vec<_> = subprocesses
            .map(|entry| entry.path())
            .filter(|path| {
                path.is_dir()
                    && path
                        .file_name()
                        .is_some_and(|n| n.as_encoded_bytes()[0] == b'P')
            })
            .collect();
        subprocesses.sort();
        for directory in subprocesses {
            done += compare(&directory);
        }
    }
    require::used("outputs", format_args!("{done} generated"));
}

/// Compares the matrix elements of a P directory; returns their number.
fn compare(directory: &Path) -> usize {
    let Ok(processes) = import_directory(directory) else {
        // Other tests check that imports succeed.
        return 0;
    };
    let mut done = 0;
    for imported in processes {
        if !is_standard(&imported) || imported.legs.len() > 7 {
            continue;
        }
        let own = match generate(&imported.name) {
            Ok(mut own) => own.remove(0),
            Err(error) if error.to_string().contains("cannot be generated") => continue,
            Err(error) => panic!("{error}"),
        };
        let card = imported.model.default_card();
        let own_card = same_card(&own, &imported, &card);
        let incoming = own.legs.iter().filter(|leg| leg.incoming).count();
        let values = own.model.evaluate(&own_card, 1.2);
        let mass = |leg: &mebridge::process::Leg| {
            let parameter = leg.mass.0.map(|m| own.model.parameters[m as usize].value);
            parameter.map_or(0.0, |value| values[value as usize].re)
        };
        let masses: Vec<f64> = own.legs.iter().map(mass).collect();
        let (before, after) = masses.split_at(incoming);
        let energy = if incoming == 1 { before[0] } else { 1000.0 };
        let space = PhaseSpace::new(energy, before, after).expect("phase space");
        let mut rng = ChaCha8Rng::seed_from_u64(14);
        let event_length = space.components();
        let mut momenta = vec![0.0; 8 * event_length];
        for event in momenta.chunks_exact_mut(event_length) {
            let random: Vec<f64> = (0..space.randoms()).map(|_| rng.random()).collect();
            space.event(&random, event);
            // Exactly conserved, as a massive propagator multiplies what is not by (energy / mass)^2.
            let (rest, last) = event.split_at_mut(event_length - 4);
            for (k, x) in last.iter_mut().enumerate() {
                let legs = rest.chunks_exact(4).zip(&own.legs);
                let signed = legs.map(|(p, leg)| if leg.incoming { p[k] } else { -p[k] });
                *x = signed.sum();
            }
        }
        let g: Vec<f64> = (0..8).map(|i| 1.0 + 0.05 * f64::from(i)).collect();
        let random: Vec<f64> = (0..8).map(|i| f64::from(i) / 8.0).collect();
        let (a, chosen) = run(&own, &own_card, &momenta, &g, &random);
        let (b, expected) = run(&imported, &card, &momenta, &g, &random);
        let worst = common::worst(&a, &b);
        println!("{}: {}: {worst:.1e}", directory.display(), imported.name);
        assert!(
            worst < TOLERANCE,
            "{}: {worst:e}: {a:?} {b:?}",
            imported.name
        );
        assert_eq!(chosen, expected, "{}", imported.name);
        assert_eq!(
            (own.color_flows(), own.iden),
            (imported.color_flows(), imported.iden)
        );
        if !imported.channels.config_diagram.is_empty() {
            let point: Vec<[f64; 4]> = momenta[..space.components()]
                .chunks_exact(4)
                .map(|p| [p[0], p[1], p[2], p[3]])
                .collect();
            let (jamp2, amp2) = weights(&own, &point, 1.2, &own_card);
            let (other_jamp2, other_amp2) = weights(&imported, &point, 1.2, &card);
            let worst = common::worst(&jamp2, &other_jamp2);
            assert!(worst < TOLERANCE, "{}: JAMP2 {worst:e}", imported.name);
            // MG5aMC makes one channel of diagrams whose propagators have the same masses.
            if amp2.len() == other_amp2.len() {
                let worst = common::worst(&amp2, &other_amp2);
                assert!(worst < TOLERANCE, "{}: AMP2 {worst:e}", imported.name);
            }
        }
        done += 1;
    }
    done
}
