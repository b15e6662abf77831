//! Processes as Fortran (`mebridge generate --fortran`), read by the importer and compiled by gfortran, equal the
//! originals.

use crate::common::gfortran;
use mebridge::phase_space::PhaseSpace;
use mebridge::process::Process;
use mebridge::runtime::{BackendChoice, Switches};
use mebridge::{Answers, Bridge, Error, Events, export, generate, import_directory};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Largest relative difference that is rounding.
const TOLERANCE: f64 = 1e-11;
const ALPHA_S: f64 = 0.113;
/// Events of each process.
const EVENTS: usize = 3;
/// Maximum number of channels of a process, spread evenly.
const CHANNELS: usize = 12;

/// QCD with one to three quark lines and gluons alone, electroweak bosons, the Higgs boson, leptons, a decay.
const PROCESSES: [&str; 17] = [
    "g g > t t~ g",
    "g g > g g",
    "g g > g g g",
    "u u~ > t t~ g",
    "u u > u u",
    "u u~ > d d~ s s~",
    "d d~ > z g g",
    "u d~ > w+ a",
    "u u~ > u u~ QED=2",
    "e+ e- > mu+ mu-",
    "ve ve~ > w+ w- z",
    "w+ w- > w+ w-",
    "e+ e- > e+ e- a",
    "g g > t t~ h",
    "h h > h h",
    "w+ w- > h h",
    "t > b w+",
];

struct Case {
    process: Process,
    momenta: Vec<f64>,
    /// For the choice of helicities and of colours, for each event.
    random: [Vec<f64>; 2],
}

/// Answers of an engine or of the Fortran: values, helicities, colour flows.
type Said = (Vec<f64>, Vec<i32>, Vec<i32>);

fn strong_coupling() -> f64 {
    2.0 * (std::f64::consts::PI * ALPHA_S).sqrt()
}

impl Case {
    fn of(process: Process, seed: u64) -> Case {
        let model = &process.model;
        let values = model.evaluate(&model.default_card(), 1.0);
        let masses = |incoming: bool| -> Vec<f64> {
            let legs = process.legs.iter().filter(|leg| leg.incoming == incoming);
            let mass = legs.map(|leg| {
                leg.mass.0.map_or(0.0, |n| {
                    values[model.parameters[n as usize].value as usize].re
                })
            });
            mass.collect()
        };
        let (incoming, outgoing) = (masses(true), masses(false));
        let energy = match incoming.len() {
            1 => incoming[0],
            _ => 900.0,
        };
        let space = PhaseSpace::new(energy, &incoming, &outgoing).expect("phase space");
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut momenta = vec![0.0; EVENTS * space.components()];
        for event in momenta.chunks_mut(space.components()) {
            let numbers: Vec<f64> = (0..space.randoms()).map(|_| rng.random()).collect();
            space.event(&numbers, event);
        }
        let random = [(); 2].map(|()| (0..EVENTS).map(|_| rng.random()).collect());
        Case {
            process,
            momenta,
            random,
        }
    }

    fn events(&self) -> impl Iterator<Item = Vec<[f64; 4]>> {
        let size = 4 * self.process.legs.len();
        self.momenta
            .chunks(size)
            .map(|event| event.as_chunks::<4>().0.to_vec())
    }

    /// Some of the channels, 0 in front.
    fn channels(&self) -> Vec<u32> {
        let channels = &self.process.channels;
        let diagrams = channels.amp2.iter().map(|a| a.diagram);
        let mut all: Vec<u32> = diagrams.filter(|&d| channels.is_channel(d)).collect();
        all.sort_unstable();
        let step = all.len().div_ceil(CHANNELS).max(1);
        [0].into_iter()
            .chain(all.into_iter().step_by(step))
            .collect()
    }

    /// The answers of the engine to this process, which may be another form of the case's.
    fn engine(&self, process: &Process, channel: u32) -> Said {
        let switches = Switches {
            backend: BackendChoice::Cpu,
            ..Switches::default()
        };
        let card = process.model.default_card();
        let mut bridge = Bridge::new(process.clone(), &card, &switches, EVENTS).expect("bridge");
        let (mut values, mut helicity, mut color) =
            (vec![0.0; EVENTS], vec![0; EVENTS], vec![0; EVENTS]);
        let channels = vec![channel as i32; EVENTS];
        let events = Events {
            momenta: &self.momenta,
            g_s: &[strong_coupling(); EVENTS],
            random_helicity: &self.random[0],
            random_color: &self.random[1],
            channels: (channel != 0).then_some(&channels),
            igraph: None,
        };
        let mut answers = Answers {
            matrix_elements: &mut values,
            helicity: &mut helicity,
            color: &mut color,
        };
        bridge.run(&events, &mut answers).expect("run");
        if channel == 0 {
            color.fill(0);
        }
        (values, helicity, color)
    }

    /// Returns the input of the probe.
    fn input(&self) -> String {
        let mut text = format!("{}\n", self.process.helicities.len());
        for row in &self.process.helicities {
            let row: Vec<String> = row.iter().map(i8::to_string).collect();
            let _ = writeln!(text, "{}", row.join(" "));
        }
        for channel in self.channels() {
            let size = 4 * self.process.legs.len();
            for (n, momenta) in self.momenta.chunks(size).enumerate() {
                let [helicity, color] = [&self.random[0][n], &self.random[1][n]];
                let _ = write!(text, "{ALPHA_S} {helicity:e} {color:e} {channel}");
                for x in momenta {
                    let _ = write!(text, "\n{x:e}");
                }
                text.push('\n');
            }
        }
        text
    }
}

/// Every process by itself, and the output of all of them.
fn written(folder: &Path) -> (Vec<Case>, Vec<PathBuf>) {
    let cases: Vec<Case> = (0..)
        .zip(PROCESSES)
        .map(|(seed, text)| Case::of(generate(text).expect(text).remove(0), seed))
        .collect();
    let processes: Vec<Process> = cases.iter().map(|case| case.process.clone()).collect();
    let names = export::write(&processes, folder).expect("written");
    (cases, names.iter().map(|name| folder.join(name)).collect())
}

#[track_caller]
fn near(name: &str, what: &str, ours: &[f64], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{name}: {what}");
    let largest = ours.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
    for (a, b) in ours.iter().zip(theirs) {
        // Diagrams that vanish do so but for rounding.
        let scale = a.abs().max(1e-9 * largest);
        assert!(
            (a - b).abs() <= TOLERANCE * scale,
            "{name}: {what}: {a:e} {b:e}"
        );
    }
}

/// The tables are the same, and so are the numbers, diagram by diagram and flow by flow.
#[test]
fn the_importer_reads_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let (cases, folders) = written(&folder.path().join("out"));
    for (case, folder) in cases.iter().zip(folders) {
        let process = &case.process;
        let name = &process.name;
        let imported = import_directory(&folder).expect(name).remove(0);
        assert_eq!(imported.name, *name);
        assert_eq!(imported.model_name, "sm");
        assert_eq!(imported.helicities, process.helicities, "{name}");
        assert_eq!(imported.iden, process.iden, "{name}");
        assert_eq!(imported.channels, process.channels, "{name}");
        assert_eq!(imported.diagrams, process.diagrams, "{name}");
        assert_eq!(imported.other_flavours, process.other_flavours, "{name}");
        let legs = |p: &Process| -> Vec<(i32, bool)> {
            p.legs.iter().map(|leg| (leg.pdg, leg.incoming)).collect()
        };
        assert_eq!(legs(&imported), legs(process), "{name}");
        let flows = process.amplitudes.jamps();
        for (i, j) in (0..flows).flat_map(|i| (0..flows).map(move |j| (i, j))) {
            let entries =
                [&imported, process].map(|p| p.amplitudes.diagrams().unwrap().color.entry(i, j));
            assert!(
                (entries[0] - entries[1]).abs() < 1e-12,
                "{name}: {entries:?}"
            );
        }
        for momenta in case.events() {
            let [ours, theirs] = [process, &imported]
                .map(|p| p.evaluate(&momenta, strong_coupling(), &p.model.default_card()));
            near(name, "|M|^2", &[ours.total()], &[theirs.total()]);
            near(name, "AMP2", &ours.amp2, &theirs.amp2);
            near(name, "JAMP2", &ours.jamp2, &theirs.jamp2);
        }
        let channel = case.channels().pop().unwrap_or(0);
        for channel in [0, channel] {
            let (ours, theirs) = (
                case.engine(process, channel),
                case.engine(&imported, channel),
            );
            near(name, "engine", &ours.0, &theirs.0);
            assert_eq!((ours.1, ours.2), (theirs.1, theirs.2), "{name}");
        }
    }
}

/// Compiles, and reports gfortran's message on failure.
fn compile(folder: &Path, arguments: &[String]) {
    let output = Command::new("gfortran")
        .args(["-O0", "-w"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("gfortran");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", folder.display());
}

/// Fortran files of a folder.
fn sources(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let paths = entries.map(|entry| entry.path());
    let paths = paths.filter(|path| path.extension().is_some_and(|e| e == "f"));
    let mut sources: Vec<String> = paths.map(|path| path.display().to_string()).collect();
    sources.sort();
    sources
}

/// Makes and runs the probe of a P directory, with these objects of the output's; gives the numbers in its lines.
fn probe(case: &Case, folder: &Path, objects: &[String]) -> Vec<Vec<f64>> {
    let probe = mebridge_testing::root().join("tests/exported/probe.f");
    std::fs::copy(probe, folder.join("probe.f")).expect("copied");
    let own = ["-I.", "-I../../Source/MODEL", "-o", "probe"];
    let own = own
        .into_iter()
        .chain(["probe.f", "matrix1.f", "select_color.f"]);
    let arguments: Vec<String> = own
        .map(str::to_owned)
        .chain(objects.iter().cloned())
        .collect();
    compile(folder, &arguments);
    std::fs::write(folder.join("input.txt"), case.input()).expect("written");
    let output = Command::new("./probe")
        .current_dir(folder)
        .stdin(Stdio::from(
            std::fs::File::open(folder.join("input.txt")).expect("input"),
        ))
        .output()
        .expect("probe");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", case.process.name);
    let text = String::from_utf8(output.stdout).expect("text");
    // A list that is written without a format goes on in further lines.
    let numbers: Vec<f64> = text
        .split_whitespace()
        .map(|word| word.parse().expect("a number"))
        .collect();
    let more = case.process.diagrams as usize + case.process.color_flows() + 1;
    let mut rest = &numbers[..];
    let mut lines = Vec::new();
    for channel in case.channels() {
        for _ in 0..EVENTS {
            let (line, behind) = rest.split_at(3);
            lines.push(line.to_vec());
            rest = behind;
            if channel == 0 {
                let (line, behind) = rest.split_at(more);
                lines.push(line.to_vec());
                rest = behind;
            }
        }
    }
    assert_eq!(rest, &[0.0; 0], "{}", case.process.name);
    lines
}

/// Objects of all Fortran files of these folders, in a folder of theirs.
fn objects(output: &Path, sources: &[String], name: &str) -> Vec<String> {
    let folder = output.join(name);
    std::fs::create_dir(&folder).expect("a folder");
    let mut arguments = vec!["-c".into(), "-I../Source/MODEL".into()];
    arguments.extend_from_slice(sources);
    compile(&folder, &arguments);
    let entries = std::fs::read_dir(&folder).expect("a folder").flatten();
    entries
        .map(|entry| entry.path().display().to_string())
        .collect()
}

fn check(case: &Case, lines: &[Vec<f64>]) {
    let name = &case.process.name;
    let mut lines = lines.iter();
    for channel in case.channels() {
        let (values, helicities, colors) = case.engine(&case.process, channel);
        for (event, momenta) in case.events().enumerate() {
            let line = lines.next().expect("a line");
            near(name, "Fortran", &values[event..=event], &line[..1]);
            let choice = (f64::from(helicities[event]), f64::from(colors[event]));
            assert_eq!(choice, (line[1], line[2]), "{name}, channel {channel}");
            if channel != 0 {
                continue;
            }
            let line = lines.next().expect("a line");
            let card = case.process.model.default_card();
            let plain = case.process.evaluate(&momenta, strong_coupling(), &card);
            let total = plain.total() * f64::from(case.process.iden);
            near(name, "MATRIX1", &[total], &line[..1]);
            let mut amp2 = vec![0.0; case.process.diagrams as usize];
            for (of, value) in case.process.channels.amp2.iter().zip(&plain.amp2) {
                amp2[of.diagram as usize - 1] = *value;
            }
            near(name, "AMP2", &amp2, &line[1..=amp2.len()]);
            near(name, "JAMP2", &plain.jamp2, &line[amp2.len() + 1..]);
        }
    }
}

/// gfortran computes the same: |M|^2, AMP2, JAMP2, shares of channels, choices of helicity and colour.
#[test]
fn gfortran_computes_the_same() {
    if !gfortran() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let (cases, folders) = written(&output);
    let common: Vec<String> = ["Source/DHELAS", "Source/MODEL"]
        .iter()
        .flat_map(|name| sources(&output.join(name)))
        .collect();
    let common = objects(&output, &common, "objects");
    for (case, folder) in cases.iter().zip(folders) {
        check(case, &probe(case, &folder, &common));
    }
}

/// Lorentz structures that were written by hand in the place of those that are derived from the model.
#[test]
fn structures_by_hand_compute_the_same() {
    if !gfortran() {
        return;
    }
    let processes = [
        (
            "g g > t t~ g",
            "FFV1P0_3 FFV1_0 FFV1_1 FFV1_2 VVV1P0_1 VVV1_0",
        ),
        ("e+ e- > mu+ mu- / z", "FFV1P0_3 FFV1_0"),
        ("u d~ > e+ ve", "FFV2_0 FFV2_3"),
    ];
    let top = mebridge_testing::root().join("fortran");
    let by_hand = ["gg_ttx/Source/DHELAS", "outputs/DHELAS"].map(|name| sources(&top.join(name)));
    let folder = tempfile::tempdir().unwrap();
    for (number, (text, structures)) in processes.iter().enumerate() {
        let case = Case::of(generate(text).expect(text).remove(0), 3);
        let output = folder.path().join(number.to_string());
        let names = export::write(std::slice::from_ref(&case.process), &output).expect("written");
        let name = |path: &str| {
            let stem = Path::new(path).file_stem().unwrap_or_default();
            stem.to_string_lossy().into_owned()
        };
        let mut common = sources(&output.join("Source/MODEL"));
        let mut replaced = Vec::new();
        for own in sources(&output.join("Source/DHELAS")) {
            let mut all = by_hand.iter().flatten();
            let hand = all.find(|hand| name(hand) == name(&own));
            if hand.is_some() && name(&own) != "aloha_functions" {
                replaced.push(name(&own));
            }
            common.push(hand.unwrap_or(&own).clone());
        }
        assert_eq!(replaced.join(" "), *structures, "{text}");
        let objects = objects(&output, &common, "objects");
        check(&case, &probe(&case, &output.join(&names[0]), &objects));
    }
}

/// A parameter that runs with alpha_s, with a name that is longer than MG5aMC's twenty characters.
#[test]
fn parameters_that_run_do_so_in_fortran() {
    if !gfortran() {
        return;
    }
    let text =
        std::fs::read_to_string(mebridge_testing::root().join("crates/generate/src/model/sm.toml"));
    let running = "\n[[running]]\nparameters = [\"ymt\"]\nblock = \"yukawa\"\nscale = 150.0\n\
                   gamma = [[\"ymt\", \"ymt\", \"-8/(4*pi)\"]]\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("running.toml");
    std::fs::write(&file, text.expect("the model") + running).expect("written");
    let model = mebridge::model::Model::read(&file).expect("a model");
    let process = generate::generate_with("g g > t t~ h", &model).expect("generated");
    let case = Case::of(process.into_iter().next().expect("a process"), 5);
    let names = case.process.model.card.iter().map(|c| c.name.len());
    assert!(names.max() > Some(20));
    let output = folder.path().join("out");
    let name = &export::write(std::slice::from_ref(&case.process), &output).expect("written")[0];
    let mut common = sources(&output.join("Source/MODEL"));
    common.extend(sources(&output.join("Source/DHELAS")));
    let objects = objects(&output, &common, "objects");
    check(&case, &probe(&case, &output.join(name), &objects));
    let imported = import_directory(&output.join(name))
        .expect("imported")
        .remove(0);
    let (ours, theirs) = (case.engine(&case.process, 0), case.engine(&imported, 0));
    near("g g > t t~ h", "imported", &ours.0, &theirs.0);
    // It runs: without the block's own scale the coupling is that of the card.
    let plain = generate("g g > t t~ h").expect("generated").remove(0);
    let plain = case.engine(&plain, 0);
    assert!((plain.0[0] / ours.0[0] - 1.0).abs() > 1e-3);
}

#[test]
fn what_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |process: Process, name: &str| {
        let output = folder.path().join(name);
        let error = export::write(&[process], &output).unwrap_err();
        assert!(matches!(error, Error::Export { .. }), "{error:?}");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        (error.to_string(), left)
    };
    let process = generate("g g > t t~").unwrap().remove(0);
    let recursion = process.as_color_ordered().expect("one quark line");
    let (what, left) = refused(recursion, "recursion");
    assert!(what.contains("without diagrams"), "{what}");
    assert_eq!(left, 0);
    let mut indices = process.clone();
    indices.model.card[0].index = vec![1, 2];
    let (what, left) = refused(indices, "indices");
    assert!(what.contains("several indices"), "{what}");
    assert_eq!(left, 0);
    let mut polarised = process.clone();
    polarised.beam_weights = vec![1.0; polarised.helicities.len()];
    assert!(
        refused(polarised, "polarised")
            .0
            .contains("polarised beams")
    );
    // Existing files stay.
    let there = folder.path().join("there");
    std::fs::write(&there, "a file").unwrap();
    assert!(
        refused(process.clone(), "there")
            .0
            .contains("is not overwritten")
    );
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "a file");
    // Two processes that disagree about a coupling.
    let mut other = process.clone();
    other.model.couplings.swap(0, 1);
    let names: Vec<String> = other
        .model
        .couplings
        .iter()
        .map(|c| c.name.clone())
        .rev()
        .collect();
    for (coupling, name) in other.model.couplings.iter_mut().zip(names) {
        coupling.name = name;
    }
    let error = export::write(&[process, other], &folder.path().join("two")).unwrap_err();
    assert!(error.to_string().contains("means two things"), "{error}");
}
