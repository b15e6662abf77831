//! A small hand-written MadEvent (`fortran/madevent`): its outputs, and operations of a user on them.

use crate::support::{Ran, copy, gg_ttx, mebridge};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Folder of the files that are put into an output.
pub fn small() -> PathBuf {
    mebridge_testing::root().join("fortran/madevent")
}

/// Whether the tools to build MadEvent exist; reports it if not.
pub fn compiler() -> bool {
    let there = |name| Command::new(name).arg("--version").output().is_ok();
    let all = cfg!(target_os = "linux") && there("gfortran") && there("make");
    if !all {
        eprintln!("SKIPPED: there is no Linux with gfortran and make");
    }
    all
}

/// Makes an output in a folder; `caller` selects the `auto_dsig1_*.f` that calls the matrix elements.
pub fn output(folder: &Path, caller: &str) -> PathBuf {
    let output = folder.join("an output");
    copy(&gg_ttx().join("../.."), &output);
    let small = small();
    let p = "SubProcesses/P1_gg_ttx";
    let files = [
        ("make_opts", "Source/make_opts".to_owned()),
        ("run_card.dat", "Cards/run_card.dat".into()),
        (caller, format!("{p}/auto_dsig1.f")),
    ];
    let same = [
        "makefile",
        "driver.f",
        "auto_dsig.f",
        "genps.inc",
        "run.inc",
    ];
    let same = same.map(|name| (name, format!("{p}/{name}")));
    for (from, to) in files.into_iter().chain(same) {
        fs::copy(small.join(from), output.join(to)).unwrap();
    }
    // A link in an output of MG5aMC.
    let model = output.join("Source/MODEL/coupl.inc");
    fs::copy(model, output.join(p).join("coupl.inc")).unwrap();
    fs::create_dir(output.join("lib")).unwrap();
    output
}

/// The library that cargo built with this test.
pub fn library() -> String {
    let command = Path::new(env!("CARGO_BIN_EXE_mebridge"));
    let folder = command.parent().unwrap();
    let places = [
        folder.join("deps/libmebridge.so"),
        folder.join("libmebridge.so"),
    ];
    let newest = places.into_iter().max_by_key(|path| {
        let times = path.metadata().and_then(|m| m.modified());
        times.ok()
    });
    newest.unwrap().display().to_string()
}

pub fn link(output: &Path, more: &[&str]) -> Ran {
    let arguments = [&["link", output.to_str().unwrap()], more].concat();
    mebridge(output.parent().unwrap(), &arguments)
}

pub fn unlink(output: &Path) -> Ran {
    mebridge(
        output.parent().unwrap(),
        &["unlink", output.to_str().unwrap()],
    )
}

pub fn p(output: &Path) -> PathBuf {
    output.join("SubProcesses/P1_gg_ttx")
}

/// Returns the products of make in the P directory.
pub fn objects(output: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(p(output)).unwrap().map(|e| e.unwrap().path());
    let object = |path: &PathBuf| path.extension().is_some_and(|e| e == "o");
    paths.filter(object).collect()
}

/// `make madevent`.
#[track_caller]
pub fn make(output: &Path) {
    make_target(output, "madevent");
}

#[track_caller]
pub fn make_target(output: &Path, target: &str) {
    let (success, text) = try_make(output, target);
    assert!(success, "{text}");
}

/// Cache of make's products for the sources of model and HELAS, by all their inputs. Most outputs have the same, and to
/// compile them takes longer than the rest of an output.
static LIBRARIES: Mutex<BTreeMap<Sources, [Vec<u8>; 2]>> = Mutex::new(BTreeMap::new());

type Sources = Vec<(PathBuf, Vec<u8>)>;

fn sources_of_libraries(output: &Path) -> Sources {
    let mut files = vec![p(output).join("makefile")];
    for folder in ["Source", "Source/MODEL", "Source/DHELAS"] {
        let entries = fs::read_dir(output.join(folder)).into_iter().flatten();
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|path| path.is_file() && path.extension().is_none_or(|e| e != "o"));
    files.sort();
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        (path.strip_prefix(output).unwrap().to_owned(), bytes)
    };
    files.into_iter().map(read).collect()
}

/// Returns whether make succeeds, and its output.
pub fn try_make(output: &Path, target: &str) -> (bool, String) {
    let known = || LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
    let libraries = ["libmodel.a", "libdhelas.a"].map(|name| output.join("lib").join(name));
    let sources = sources_of_libraries(output);
    let missing = libraries.iter().all(|path| !path.exists());
    if missing && let Some(made) = known().get(&sources) {
        for (path, bytes) in libraries.iter().zip(made) {
            fs::write(path, bytes).unwrap();
        }
    }
    let mut command = Command::new("make");
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "FC", "FFLAGS"] {
        command.env_remove(name);
    }
    let made = command.arg(target).current_dir(p(output)).output().unwrap();
    if missing
        && made.status.success()
        && let [Ok(model), Ok(helas)] = libraries.map(fs::read)
    {
        known().insert(sources, [model, helas]);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let report = format!("{}\n{}", text(&made.stdout), text(&made.stderr));
    (made.status.success(), report)
}

/// Returns the answers of a P directory's executable, and its stderr.
#[track_caller]
pub fn run(directory: &Path, input: &str) -> (Vec<(f64, i32, i32)>, String) {
    run_with(directory, input, "1")
}

/// Returns the message with which the executable of a P directory stops.
#[track_caller]
pub fn stops(directory: &Path, input: &str) -> String {
    let ran = execute(directory, input, "1");
    assert!(!ran.status.success());
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

pub fn execute(directory: &Path, input: &str, mode: &str) -> std::process::Output {
    fs::write(directory.join("input"), input).unwrap();
    let ran = Command::new(directory.join("madevent"))
        .current_dir(directory)
        .stdin(fs::File::open(directory.join("input")).unwrap())
        .env("CUDACPP_RUNTIME_CACHE", "off")
        .env("CUDACPP_RUNTIME_BACKEND", "cpu")
        .env("CUDACPP_RUNTIME_FBRIDGEMODE", mode)
        .output()
        .unwrap();
    fs::remove_file(directory.join("input")).unwrap();
    ran
}

/// The same in a mode of `CUDACPP_RUNTIME_FBRIDGEMODE`.
#[track_caller]
pub fn run_with(directory: &Path, input: &str, mode: &str) -> (Vec<(f64, i32, i32)>, String) {
    let ran = execute(directory, input, mode);
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{stderr}");
    let text = String::from_utf8(ran.stdout).unwrap();
    let answers = text.lines().map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let integer = |i: usize| words[i].parse().unwrap();
        (words[0].parse().unwrap(), integer(1), integer(2))
    });
    (answers.collect(), stderr)
}

#[track_caller]
pub fn agree(a: &[(f64, i32, i32)], b: &[(f64, i32, i32)]) {
    assert_eq!(a.len(), 16);
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a.0 - b.0).abs() < 1e-12 * b.0.abs(), "{a:?} {b:?}");
        assert_eq!((a.1, a.2), (b.1, b.2));
    }
}

/// Makes the Fortran's own matrix element nonsense, so that an answer of its cannot pass for the library's. Make
/// would rightly stop, so the file is recorded as the one that link read.
pub fn spoil(output: &Path) {
    let path = p(output).join("matrix1.f");
    let text = fs::read_to_string(&path).unwrap();
    let spoilt = text.replace("MATRIX1 = MATRIX1/BELOW", "MATRIX1 = 1D9");
    assert!(text != spoilt, "matrix1.f has another last statement");
    fs::write(path, spoilt).unwrap();
    conceal(output, "matrix1.f");
}

/// Lets make take a file of the P directory for the one that was linked from, although it is another one by now.
pub fn conceal(output: &Path, name: &str) {
    conceal_in(&p(output), name);
}

/// The same of any P directory.
pub fn conceal_in(directory: &Path, name: &str) {
    let path = directory.join("mebridge_sources.txt");
    let Ok(list) = fs::read_to_string(&path) else {
        return;
    };
    let mut command = Command::new("cksum");
    let ran = command.arg(name).current_dir(directory).output().unwrap();
    let now = String::from_utf8(ran.stdout).unwrap();
    let of_file = |line: &&str| line.ends_with(&format!(" {name}"));
    let before = list.lines().find(of_file).expect("link has read it");
    fs::write(path, list.replace(before, now.trim_end())).unwrap();
}

/// Summed over helicities without a channel and in two of them, and helicity by helicity.
pub const INPUTS: [&str; 4] = ["0 0\n", "0 2\n", "0 3\n", "1 1\n"];
