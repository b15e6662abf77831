//! `mebridge link` with outputs of aMC@NLO: hand-written ones (`fortran/outputs/nlo`, and `nlo_qcd` with virtuals) and real
//! ones, with a program that asks for Borns, colour links and real emissions (`fortran/madevent/nlo`).

use crate::common;
use crate::madevent::{compiler, conceal_in, library, link, small, unlink};
use crate::support::{Ran, copy, mebridge, same, snapshot};
use mebridge::import::{Options, import_born, import_directory};
use mebridge::process::phase_space::PhaseSpace;
use mebridge::process::{Leg, Process};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A P directory with the program and its input.
struct Small {
    output: PathBuf,
    p: PathBuf,
    input: String,
}

impl Small {
    /// Puts the program into a P directory of an output.
    fn new(output: PathBuf, name: &str) -> Small {
        let p = output.join("SubProcesses").join(name);
        for file in ["driver.f", "makefile"] {
            fs::copy(small().join("nlo").join(file), p.join(file)).unwrap();
        }
        fs::create_dir_all(output.join("lib")).unwrap();
        let born = import_born(&p, &Options::default()).unwrap();
        let flows = born.process.amplitudes.jamps();
        let graphs = born.process.amplitudes.vertices().len();
        fs::write(
            p.join("sizes.inc"),
            format!(
                "      INTEGER NGRAPHS,NCOLOR\n      PARAMETER(NGRAPHS={graphs},NCOLOR={flows})\n"
            ),
        )
        .unwrap();
        let links: Vec<[usize; 2]> = born.links.iter().map(|link| link.legs).collect();
        let input = input(&p, &born.process, &links);
        Small { output, p, input }
    }

    #[track_caller]
    fn make(&self) {
        let made = self.try_make("madevent_mintFO");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let report = [text(&made.stdout), text(&made.stderr)].concat();
        assert!(made.status.success(), "{report}");
    }

    fn try_make(&self, target: &str) -> Output {
        let mut command = Command::new("make");
        for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "FC", "FFLAGS"] {
            command.env_remove(name);
        }
        command.arg(target).current_dir(&self.p).output().unwrap()
    }

    /// Returns the answers of a program, and its stderr.
    #[track_caller]
    fn run(&self, program: &str, mode: &str) -> (Vec<Vec<f64>>, String) {
        fs::write(self.p.join("input"), &self.input).unwrap();
        let ran = Command::new(self.p.join(program))
            .current_dir(&self.p)
            .stdin(fs::File::open(self.p.join("input")).unwrap())
            .env("CUDACPP_RUNTIME_CACHE", "off")
            .env("CUDACPP_RUNTIME_FBRIDGEMODE", mode)
            .output()
            .unwrap();
        fs::remove_file(self.p.join("input")).unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{stderr}");
        let text = String::from_utf8(ran.stdout).unwrap();
        let answers = text.lines().filter_map(|line| line.strip_prefix("ANSWER"));
        let numbers = |line: &str| {
            line.split_whitespace()
                .map(|x| x.parse().unwrap())
                .collect()
        };
        (answers.map(numbers).collect(), stderr)
    }

    /// Removes what make has built in the P directory.
    fn clean(&self) {
        for path in fs::read_dir(&self.p).unwrap().map(|e| e.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".o") || ["madevent_mintFO", "gensym"].contains(&&*name) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    fn doctor(&self) -> Ran {
        mebridge(&self.output, &["doctor", self.output.to_str().unwrap()])
    }
}

/// Writes the file that the launcher writes from the card, with what the matrix elements of these directories need.
fn write_card(output: &Path, directories: &[&str]) {
    let mut values = BTreeMap::new();
    for name in directories {
        for process in import_directory(&output.join("SubProcesses").join(name)).unwrap() {
            let card = process.model.card.into_iter();
            let named = card.filter(|parameter| !parameter.index.is_empty());
            values.extend(named.map(|parameter| (parameter.name, parameter.default)));
        }
    }
    let value = |x: f64| format!("{x:e}").replace('e', "D");
    let lines = values
        .iter()
        .map(|(name, x)| format!("      {name} = {}\n", value(*x)));
    let text: String = lines.collect();
    fs::write(output.join("Source/param_card.inc"), text).unwrap();
}

/// Momenta of some events.
fn events(process: &Process, count: usize) -> Vec<Vec<f64>> {
    let values = process.model.evaluate(&process.model.default_card(), 1.2);
    let mass = |leg: &Leg| {
        let value = |i: u32| values[process.model.parameters[i as usize].value as usize].re;
        leg.mass.0.map_or(0.0, value).abs()
    };
    let masses = |incoming: bool| -> Vec<f64> {
        let legs = process.legs.iter().filter(|leg| leg.incoming == incoming);
        legs.map(mass).collect()
    };
    let space = PhaseSpace::new(1000.0, &masses(true), &masses(false)).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(61);
    let event = |_| {
        let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.random()).collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&numbers, &mut momenta);
        momenta
    };
    (0..count).map(event).collect()
}

/// The input of the program: Borns in each FKS configuration with their links, and real emissions.
fn input(p: &Path, born: &Process, links: &[[usize; 2]]) -> String {
    let squeezed = |file: &str| -> String {
        let text = fs::read_to_string(p.join(file)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('C'));
        lines
            .flat_map(str::chars)
            .filter(|c| *c != ' ' && *c != '$')
            .collect()
    };
    let splits = squeezed("born.f");
    let (_, splits) = splits.split_once("DATAIJ_VALUES/").unwrap();
    let splits: Vec<&str> = splits.split('/').next().unwrap().split(',').collect();
    let chooser = squeezed("real_me_chooser.f");
    let mut text = String::new();
    let point = |text: &mut String, momenta: &[f64]| {
        let numbers: Vec<String> = momenta.iter().map(|x| format!("{x:e}")).collect();
        writeln!(text, "{}", numbers.join("\n")).unwrap();
    };
    let mut reals = import_directory(p).unwrap();
    // The Born is the last.
    reals.pop();
    let files = mebridge::import::matrix_files(p).unwrap();
    for (i, momenta) in events(born, 4).iter().enumerate() {
        let g = 1.1 + 0.05 * i as f64;
        for (configuration, split) in (1..).zip(&splits) {
            let with_complex = u8::from(*split != "0");
            writeln!(text, "1 {configuration} {with_complex} {g}").unwrap();
            point(&mut text, momenta);
            for [a, b] in links {
                writeln!(text, "2 {} {} {g}", a + 1, b + 1).unwrap();
            }
        }
    }
    for (real, file) in reals.iter().zip(&files) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let number = name.trim_start_matches("matrix_");
        let (before, _) = chooser
            .split_once(&format!("CALLSMATRIX{number}("))
            .unwrap();
        let (_, configuration) = before.rsplit_once("(NFKSPROCESS.EQ.").unwrap();
        let configuration = configuration.split(')').next().unwrap();
        for momenta in events(real, 4) {
            writeln!(text, "3 {configuration} 0 1.2").unwrap();
            point(&mut text, &momenta);
        }
    }
    text
}

/// Compares answers, each relative to the largest number of its line.
#[track_caller]
fn agree(a: &[Vec<f64>], b: &[Vec<f64>]) {
    assert!(a.len() == b.len() && !a.is_empty());
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.len(), b.len());
        let size = b.iter().fold(0.0f64, |size, x| size.max(x.abs()));
        assert!(b[0] != 0.0 && size.is_finite());
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() < 1e-11 * size, "{a:?} {b:?}");
        }
    }
}

/// A hand-written output, `nlo` or `nlo_qcd`.
fn by_hand(folder: &Path, name: &str) -> Small {
    let output = folder.join("an output");
    let from = mebridge_testing::root().join("fortran/outputs").join(name);
    for part in ["Cards", "Source", "SubProcesses"] {
        copy(&from.join(part), &output.join(part));
    }
    fs::copy(small().join("make_opts"), output.join("Source/make_opts")).unwrap();
    fs::copy(
        small().join("run_card.dat"),
        output.join("Cards/run_card.dat"),
    )
    .unwrap();
    fs::create_dir(output.join("lib")).unwrap();
    // A link in an output of MG5aMC.
    let model = output.join("Source/MODEL/coupl.inc");
    fs::copy(model, output.join("SubProcesses/P0_gg_ttx/coupl.inc")).unwrap();
    write_card(&output, &["P0_gg_ttx"]);
    Small::new(output, "P0_gg_ttx")
}

/// Replaces a text in a file of the P directory, without make noticing it.
#[track_caller]
fn spoil(small: &Small, file: &str, from: &str, to: &str) {
    let path = small.p.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} lacks {from}");
    fs::write(&path, text.replace(from, to)).unwrap();
    conceal_in(&small.p, file);
}

#[test]
fn borns_links_and_reals_come_from_the_library() {
    all_come_from_the_library("nlo");
}

/// With virtuals, which stay the Fortran's.
#[test]
fn tree_diagrams_of_an_output_with_virtuals_come_from_the_library() {
    all_come_from_the_library("nlo_qcd");
}

fn all_come_from_the_library(name: &str) {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let small = by_hand(d.path(), name);
    let before = snapshot(&small.output);
    small.make();
    let (fortran, stderr) = small.run("madevent_mintFO", "1");
    assert_eq!(stderr, "");
    let clocks = || {
        let mut nm = Command::new("nm");
        nm.args(["-D", "--undefined-only", "madevent_mintFO"]);
        let names = String::from_utf8(nm.current_dir(&small.p).output().unwrap().stdout).unwrap();
        ["_gfortran_cpu_time_4", "mebridge_cpu_time_"].map(|name| names.contains(name))
    };
    assert_eq!(clocks(), [true, false]);
    small.clean();
    let report = link(&small.output, &[]).ok().to_owned();
    for line in [
        "P0_gg_ttx: d g > t t~ d [ QCD ], a real emission, one event a call\n",
        "P0_gg_ttx: g g > t t~ [ QCD ], the Born and its colour links, one event a call\n",
    ] {
        assert!(report.contains(line), "{report}");
    }
    // In check mode the Fortran is asked, too.
    small.make();
    assert_eq!(clocks(), [false, true]);
    let (library, stderr) = small.run("madevent_mintFO", "-1");
    agree(&library, &fortran);
    for name in ["d g > t t~ d [ QCD ]", "g g > t t~ [ QCD ]"] {
        assert!(
            stderr.contains(&format!("{name} from this executable")),
            "{stderr}"
        );
        assert!(stderr.contains(&format!("check: {name}: ")), "{stderr}");
    }
    assert!(
        stderr.contains("check: g g > t t~ [ QCD ], link 8: "),
        "{stderr}"
    );
    assert!(
        !stderr.replace(" 0 farther", "").contains(" farther"),
        "{stderr}"
    );
    let doctor = small.doctor().stdout;
    assert!(
        doctor.contains("madevent_mintFO calls the library"),
        "{doctor}"
    );
    assert!(!doctor.contains("!! P0"), "{doctor}");
    // With nonsense in their place nothing can be the Fortran's own.
    let spoilt = [
        ("matrix_1.f", "EACH(1) = EACH(1)/AVERAGE", "EACH(1) = 1D9"),
        ("born.f", "GC_11,AMP(3))", "GC_10,AMP(3))"),
        (
            "b_sf_004.f",
            "EACH(1) = EACH(1)/IDEN_VALUES(NFKSPROCESS)",
            "EACH(1) = 1D9",
        ),
    ];
    for (file, right, wrong) in spoilt {
        spoil(&small, file, right, wrong);
    }
    small.make();
    let (library, _) = small.run("madevent_mintFO", "1");
    // The first Born of each of the two FKS configurations, which have eight links, is the Fortran's.
    let first = 2 * (1 + 8);
    assert!(library[0] != fortran[0]);
    agree(&library[first..], &fortran[first..]);
    // The program that finds the channels keeps its own.
    assert!(small.try_make("gensym").status.success());
    let (own, stderr) = small.run("gensym", "1");
    assert!(stderr.is_empty() && own[0] != fortran[0]);
    for (file, right, wrong) in spoilt {
        spoil(&small, file, wrong, right);
    }
    unlink(&small.output).ok();
    small.clean();
    let after = snapshot(&small.output).into_iter();
    let built = |path: &PathBuf| path.extension().is_some_and(|e| e == "o" || e == "a");
    same(&after.filter(|(path, _)| !built(path)).collect(), &before);
}

/// With the top quarks along the beams some helicities vanish. The Fortran then leaves them out for good.
#[test]
fn helicities_that_vanish_in_the_first_event_count() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let mut small = by_hand(d.path(), "nlo");
    let born = import_born(&small.p, &Options::default()).unwrap();
    let some = events(&born.process, 3);
    let mut along = some[0].clone();
    let size = along[9..12].iter().map(|p| p * p).sum::<f64>().sqrt();
    along[9..12].copy_from_slice(&[0.0, 0.0, size]);
    along[13..16].copy_from_slice(&[0.0, 0.0, -size]);
    let of = |events: &[Vec<f64>]| {
        let mut text = String::new();
        for momenta in events {
            for configuration in 1..=2 {
                writeln!(text, "1 {configuration} 1 1.2").unwrap();
                let numbers: Vec<String> = momenta.iter().map(|x| format!("{x:e}")).collect();
                writeln!(text, "{}", numbers.join("\n")).unwrap();
            }
        }
        text
    };
    let special_first = of(&[&[along][..], &some].concat());
    small.make();
    small.input = of(&some);
    let (right, _) = small.run("madevent_mintFO", "1");
    small.input = special_first;
    let (fortran, _) = small.run("madevent_mintFO", "1");
    assert!(
        (fortran[2][0] / right[0][0] - 1.0).abs() > 1e-3,
        "the first event is not special"
    );
    small.clean();
    link(&small.output, &[]).ok();
    small.make();
    let (library, _) = small.run("madevent_mintFO", "1");
    agree(&library[2..], &right);
}

/// Close to the threshold of two top quarks aMC@NLO's generator loses digits: a soft parton of a run was off its mass shell by
/// 4e-2 of its energy squared. aMC@NLO also goes on after events of which |M|^2 is not finite: it leaves out what is NaN.
#[test]
fn a_run_goes_on_after_events_at_the_edge() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let mut small = by_hand(d.path(), "nlo");
    let real = import_directory(&small.p).unwrap().remove(0);
    let values = real.model.evaluate(&real.model.default_card(), 1.2);
    let mass = real.legs[2].mass.0.unwrap();
    let mass = values[real.model.parameters[mass as usize].value as usize].re;
    #[rustfmt::skip]
    let soft = [
        [173.00606835109468, 0.0, 0.0, 173.00606835109468],
        [173.00606835109468, 0.0, 0.0, -173.00606835109468],
        [173.00606469136727, 0.3437121526469631, 1.3652791680304417, 0.34102015047171735],
        [173.00606467663138, -0.34371215293885965, -1.365279169189901, -0.34101266964572685],
        [7.3341907125268335e-6, 2.918965624765235e-10, 1.159459417365838e-9, -7.480825985339834e-6],
    ];
    let soft = soft.map(|p| p.map(|x| x * mass / 173.0));
    // The quark that goes out has the direction of the one that comes in.
    let across = (400.0f64.powi(2) - 100.0f64.powi(2) - mass * mass).sqrt();
    let along = [
        [500.0, 0.0, 0.0, 500.0],
        [500.0, 0.0, 0.0, -500.0],
        [400.0, across, 0.0, -100.0],
        [400.0, -across, 0.0, -100.0],
        [200.0, 0.0, 0.0, 200.0],
    ];
    let emission = |momenta: [[f64; 4]; 5]| {
        let numbers = momenta.iter().flatten().map(|x| format!("{x:e}\n"));
        format!("3 1 0 1.2\n{}", numbers.collect::<String>())
    };
    // The first Born of a configuration is the Fortran's.
    let borns = small
        .input
        .lines()
        .take_while(|line| !line.starts_with("3 "));
    let with_coupling = |g: &str| -> String {
        let line = |line: &str| match line.rsplit_once(' ') {
            Some((before, _)) => format!("{before} {g}\n"),
            None => format!("{line}\n"),
        };
        borns.clone().map(line).collect()
    };
    let (usual, too_large) = (with_coupling("1.2"), with_coupling("1e200"));
    let count = usual.lines().filter(|line| line.contains(' ')).count();
    small.input = [
        &*usual,
        &*emission(soft),
        &*too_large,
        &*emission(along),
        &*usual,
    ]
    .concat();
    small.make();
    let (fortran, _) = small.run("madevent_mintFO", "1");
    small.clean();
    link(&small.output, &[]).ok();
    small.make();
    let (library, stderr) = small.run("madevent_mintFO", "1");
    agree(&library[..count], &fortran[..count]);
    let ratio = library[count][0] / fortran[count][0];
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    // AMP_SPLIT keeps what the events before have left.
    let after = library.len() - count;
    let first = |answers: &[Vec<f64>]| answers.iter().map(|a| vec![a[0]]).collect::<Vec<_>>();
    agree(&first(&library[after..]), &first(&fortran[after..]));
    let between = &library[1 + count..after];
    assert_eq!(between.len(), count + 1);
    assert!(
        between.iter().all(|answer| answer[0].is_nan()),
        "{between:?}"
    );
    for why in [
        "too large",
        "particles 1 and 5, which have no mass, have the same direction",
    ] {
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn an_edit_of_a_born_is_seen() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let small = by_hand(d.path(), "nlo");
    link(&small.output, &[]).ok();
    small.make();
    for file in ["born.f", "b_sf_003.f", "matrix_1.f"] {
        let path = small.p.join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}C\n")).unwrap();
        let made = small.try_make("madevent_mintFO");
        let report = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(
            !made.status.success() && report.contains(&format!("{file} has changed")),
            "{report}"
        );
        let doctor = small.doctor().stdout;
        let changed = format!("!! P0_gg_ttx: {file} has changed");
        assert!(doctor.contains(&changed), "{doctor}");
        fs::write(&path, text).unwrap();
    }
    small.make();
}

/// An object from before the link whose caller does not go through the symbol would stay the Fortran's.
#[test]
fn an_object_that_cannot_be_linked_stops_make() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let small = by_hand(d.path(), "nlo");
    link(&small.output, &[]).ok();
    let inlined = Command::new("gfortran")
        .args(["-O3", "-c", "-w", "matrix_1.f"])
        .args(["--param", "max-inline-insns-auto=100000"])
        .args(["--param", "large-function-insns=1000000"])
        .current_dir(&small.p)
        .output()
        .unwrap();
    assert!(inlined.status.success(), "{inlined:?}");
    let made = small.try_make("madevent_mintFO");
    let report = String::from_utf8_lossy(&made.stderr).into_owned();
    // Compilers may decide otherwise, and the library is called then.
    if made.status.success() {
        let (_, stderr) = small.run("madevent_mintFO", "1");
        assert!(
            stderr.contains("d g > t t~ d [ QCD ] from this executable"),
            "{stderr}"
        );
    } else {
        assert!(
            report.contains("the linker cannot replace smatrix1_splitorders in it"),
            "{report}"
        );
    }
}

#[test]
fn several_squared_orders_stay_the_fortrans() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let small = by_hand(d.path(), "nlo");
    let several = |file: &str, from: &str| {
        let path = small.p.join(file);
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace(from, &from.replace("NSQAMPSO=1", "NSQAMPSO=2"));
        fs::write(path, text).unwrap();
    };
    several("born.f", "(NCOMB=16, NAMPSO=1, NSQAMPSO=1");
    let report = link(&small.output, &[]).ok().to_owned();
    assert!(
        report.contains("!! P0_gg_ttx: born.f stays the Fortran's: "),
        "{report}"
    );
    assert!(
        report.contains("several squared coupling orders (NSQAMPSO)"),
        "{report}"
    );
    assert!(!small.p.join("mebridge_matrixborn.f").exists());
    let doctor = small.doctor().stdout;
    assert!(doctor.contains("born.f stays the Fortran's: "), "{doctor}");
    unlink(&small.output).ok();
    several("matrix_1.f", "(NEXTERNAL=5, NSQAMPSO=1)");
    assert!(link(&small.output, &[]).code != 0);
}

#[test]
fn real_outputs_give_the_same_linked() {
    if !compiler() {
        return;
    }
    let Some(outputs) = common::mg5_outputs() else {
        return;
    };
    let nlo = |path: &PathBuf| path.extension().is_some_and(|e| e == "nlo");
    let entries = fs::read_dir(&outputs).unwrap().flatten();
    let outputs: Vec<PathBuf> = entries.map(|e| e.path()).filter(nlo).collect();
    if outputs.is_empty() {
        mebridge_testing::require::skipped("outputs", "MEBRIDGE_MG5_OUTPUTS has no *.nlo");
    }
    let library = library();
    for from in outputs {
        let d = tempfile::tempdir().unwrap();
        let output = d.path().join("output");
        for part in ["Cards", "Source", "SubProcesses"] {
            crate::link_outputs::copy(&from.join(part), &output.join(part));
        }
        let mut names: Vec<String> = fs::read_dir(output.join("SubProcesses"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().join("born.f").is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        write_card(&output, &all);
        // Products of earlier runs are in the way.
        let directories = names.iter().map(|name| format!("SubProcesses/{name}"));
        let sources = ["Source/MODEL", "Source/DHELAS"].map(str::to_owned);
        for folder in directories.chain(sources) {
            for path in fs::read_dir(output.join(folder)).unwrap().flatten() {
                if path.path().extension().is_some_and(|e| e == "o") {
                    fs::remove_file(path.path()).unwrap();
                }
            }
        }
        let all: Vec<Small> = names
            .iter()
            .map(|name| Small::new(output.clone(), name))
            .collect();
        let fortran: Vec<_> = all
            .iter()
            .map(|small| {
                small.make();
                small.run("madevent_mintFO", "1").0
            })
            .collect();
        let report = mebridge(
            d.path(),
            &["link", output.to_str().unwrap(), "--library", &library],
        );
        assert!(!report.ok().contains("!!"), "{}", report.stdout);
        for (small, fortran) in all.iter().zip(&fortran) {
            small.make();
            let (answers, stderr) = small.run("madevent_mintFO", "1");
            assert!(stderr.contains("from this executable"), "{stderr}");
            agree(&answers, fortran);
        }
    }
}
