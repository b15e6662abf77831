//! Packs: their jobs, and broken packs.

use crate::support::{PARTONS, Ran, hears_signals, mebridge, mebridge_with};
use flate2::read::MultiGzDecoder;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const PROCESS: &str = "e+ e- > mu+ mu-";
/// Unusual environment variables.
const FOREIGN: [(&str, &str); 6] = [
    ("LD_LIBRARY_PATH", "/nowhere"),
    ("CUDACPP_RUNTIME_SIMD", "none"),
    ("CUDACPP_RUNTIME_BACKEND", "cuda"),
    ("CUDACPP_RUNTIME_UNKNOWN", "1"),
    ("MEBRIDGE_CUDA", "/nowhere"),
    ("LANG", "tr_TR.UTF-8"),
];

/// An unpacked pack, and a folder next to it in which jobs run.
struct Pack {
    folder: TempDir,
    pack: PathBuf,
    place: PathBuf,
}

impl Pack {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let arguments = ["pack", PROCESS, "-o", "ee.tar", "--quiet"];
        let numbers = ["--nevents", "10000", "--measured", "1000"];
        let ran = mebridge(
            folder.path(),
            &[&arguments[..], &numbers, &PARTONS].concat(),
        );
        let line = ran.ok();
        assert!(
            line.contains("ee.tar: ") && line.ends_with(" MB\n"),
            "{line}"
        );
        Pack::unpacked(folder, "ee.tar")
    }

    fn unpacked(folder: TempDir, name: &str) -> Self {
        // A quote, a space and a dollar.
        let (pack, place) = (
            folder.path().join("of 'ours' $x"),
            folder.path().join("jobs"),
        );
        fs::create_dir(&pack).expect("a folder");
        fs::create_dir(&place).expect("a folder");
        let mut tar = Command::new("tar");
        tar.arg("xf").arg(folder.path().join(name)).arg("-C");
        assert!(tar.arg(&pack).status().expect("tar runs").success());
        fs::remove_file(folder.path().join(name)).expect("it is there");
        Pack {
            folder,
            pack,
            place,
        }
    }

    fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.pack.join("run.sh"));
        // Without this environment.
        command.args(arguments).env_clear().current_dir(&self.place);
        command
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", &self.place);
        command.envs(variables.iter().copied());
        command
    }

    fn job(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
        let ended = self.command(arguments, variables).output();
        let ended = ended.expect("the script runs");
        Ran {
            code: ended.status.code().expect("no signal"),
            stdout: String::from_utf8(ended.stdout).expect("UTF-8"),
            stderr: String::from_utf8(ended.stderr).expect("UTF-8"),
        }
    }

    /// Returns the file that a job makes, and removes it.
    fn events(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Vec<u8> {
        self.job(&[arguments, &["--quiet"]].concat(), variables)
            .ok();
        let made = self.place.join("events.lhe.gz");
        let found = fs::read(&made).expect("events");
        fs::remove_file(made).expect("it is there");
        assert_eq!(names(&self.place), Vec::<String>::new());
        found
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries
        .map(|entry| entry.file_name().display().to_string())
        .collect()
}

fn text(packed: &[u8]) -> String {
    let mut text = String::new();
    let read = MultiGzDecoder::new(packed).read_to_string(&mut text);
    read.expect("a whole file");
    text
}

/// Returns the momenta of the outgoing particles.
fn momenta(text: &str) -> Vec<String> {
    let words = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let outgoing = words.filter(|words| words.len() == 13 && words[1] == "1");
    outgoing.map(|words| words[6..9].join(" ")).collect()
}

#[test]
fn a_seed_gives_the_same_file_and_another_one_other_events() {
    let pack = Pack::new();
    let all = |path: &Path| crate::support::snapshot(path).into_keys();
    let before: Vec<PathBuf> = all(&pack.pack).collect();
    let folders = [&pack.pack, &pack.pack.join("mebridge")].map(PathBuf::from);
    let mode = |mode| {
        for folder in &folders {
            fs::set_permissions(folder, Permissions::from_mode(mode)).expect("ours");
        }
    };
    mode(0o555);
    let first = pack.events(&["60", "1"], &[]);
    assert!(pack.events(&["60", "1"], &FOREIGN) == first);
    assert!(text(&pack.events(&["60", "1", "--threads", "2"], &[])) == text(&first));
    let other = pack.events(&["60", "2"], &[]);
    mode(0o755);
    assert_eq!(all(&pack.pack).collect::<Vec<_>>(), before);
    let (first, other) = (text(&first), text(&other));
    let found = [&first, &other].map(|text| momenta(text));
    assert_eq!(found.each_ref().map(Vec::len), [120, 120]);
    let one: BTreeSet<&String> = found[0].iter().collect();
    assert_eq!(one.len(), 120);
    assert!(found[1].iter().all(|other| !one.contains(other)));
    let header = first.split("<mebridge>").nth(1).expect("a block");
    let header = header.split("</mebridge>").next().expect("its end");
    let header: serde_json::Value = serde_json::from_str(header).expect("JSON");
    let numbers = ["events", "seed", "surveyed_events"].map(|name| header[name].as_u64());
    assert_eq!(numbers, [Some(60), Some(1), Some(10_000)]);
    assert_eq!(header["simd"].as_str().map(str::is_empty), Some(false));
    // QED at 200 GeV with the Z, pb.
    let init = first.split("<init>\n").nth(1).expect("a block");
    let total = init.lines().nth(1).expect("a line").split_whitespace();
    let total: f64 = total.take(1).collect::<String>().parse().expect("a number");
    assert!((2.0..4.0).contains(&total), "{total}");
    refusals(&pack);
    interruptions(&pack);
    colons(&pack);
}

fn refusals(pack: &Pack) {
    fs::write(pack.place.join("events.lhe.gz"), "mine").expect("written");
    for (arguments, wanted) in [
        (&["5", "1"][..], "events.lhe.gz is there already"),
        (
            &["5", "0", "-o", "x.lhe"],
            "SEED is 0; it must be a whole number from 1 to 18446744073709551615",
        ),
        (&["0", "1", "-o", "x.lhe"], "NEVENTS is 0"),
        (&["1e3", "1", "-o", "x.lhe"], "NEVENTS is '1e3'"),
        (
            &["5", "1", "-o", "x.lhe", "--threads", "0"],
            "--threads is 0; it must be a whole number from 1 to 1024",
        ),
        (
            &["5", "1", "-o", "nowhere/x.lhe"],
            "nowhere/x.lhe cannot be written: No such file or directory",
        ),
    ] {
        let ran = pack.job(arguments, &[]);
        assert!(ran.failed(1).contains(wanted), "{}", ran.stderr);
    }
    let mine = fs::read_to_string(pack.place.join("events.lhe.gz"));
    assert_eq!(mine.expect("it is there"), "mine");
    assert_eq!(names(&pack.place).len(), 1);
    fs::remove_file(pack.place.join("events.lhe.gz")).expect("it is there");
    let help = pack.job(&["--help"], &[]);
    let help = help.ok();
    assert!(
        help.contains("run.sh [OPTIONS] <NEVENTS> <SEED>") && help.contains("-11 11 -13 13"),
        "{help}"
    );
}

/// Nothing is left, and a message says so.
fn interruptions(pack: &Pack) {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut command = pack.command(&["100000000", "1", "--quiet"], &[]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let job = hears_signals(&mut command)
            .spawn()
            .expect("the script runs");
        // Its temporary folder exists, and so do the signal handlers.
        let mut tries = 0;
        while names(&pack.place).is_empty() {
            std::thread::sleep(Duration::from_millis(10));
            tries += 1;
            assert!(tries < 6000, "it does not begin");
        }
        // SAFETY: the number of a child that is not waited for yet.
        assert_eq!(unsafe { libc::kill(job.id() as i32, signal) }, 0);
        let ended = job.wait_with_output().expect("it ends");
        let report = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(130), "{report}");
        assert_eq!(report, "mebridge: interrupted; no file was written\n");
        assert_eq!(names(&pack.place), Vec::<String>::new());
    }
}

fn colons(pack: &Pack) {
    let place = pack.folder.path().join("a:b");
    fs::create_dir(&place).expect("a folder");
    fs::copy(pack.pack.join("run.sh"), place.join("run.sh")).expect("copied");
    let ended = Command::new(place.join("run.sh")).args(["1", "1"]).output();
    let ended = ended.expect("the script runs");
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("colon"));
}

#[test]
fn what_is_broken_is_named() {
    let pack = Pack::new();
    let root = pack.pack.join("mebridge");
    let broken = |wanted: &str| {
        let ran = pack.job(&["5", "1"], &[]);
        assert!(
            ran.failed(1).contains(wanted),
            "{wanted} is not in {}",
            ran.stderr
        );
        assert_eq!(names(&pack.place), Vec::<String>::new());
    };
    let libraries = root.join("lib");
    let mut changed = vec!["run/survey/points", "run/plan", "SHA256SUMS"];
    if libraries.is_dir() {
        changed.push("lib/libm.so.6");
    }
    for name in changed {
        let file = root.join(name);
        let whole = fs::read(&file).expect("a file");
        let mut other = whole.clone();
        let middle = other.len() / 2;
        other[middle] ^= 1;
        fs::write(&file, other).expect("written");
        broken(&format!("mebridge/{name} is not what was packed\n"));
        fs::write(&file, whole).expect("written");
    }
    if libraries.is_dir() {
        let library = libraries.join("libc.so.6");
        let whole = fs::read(&library).expect("a file");
        fs::write(&library, "").expect("written");
        // The shell says it, where nothing else runs.
        broken("the program of the pack in ");
        fs::write(&library, whole).expect("written");
    }
    fs::write(root.join("run/more"), "").expect("written");
    broken("mebridge/run/more was not packed\n");
    fs::remove_file(root.join("run/more")).expect("it is there");
    fs::remove_file(root.join("run/recipe.json")).expect("it is there");
    broken("mebridge/run/recipe.json cannot be read: No such file or directory\n");
    fs::remove_dir_all(root).expect("it is there");
    broken("is missing: unpack the pack again");
}

#[test]
fn what_cannot_be_packed() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let refused = |arguments: &[&str], code: i32, wanted: &str| {
        let ran = mebridge(here, &[&["pack"], arguments].concat());
        assert!(ran.failed(code).contains(wanted), "{}", ran.stderr);
    };
    refused(
        &[PROCESS, "-o", "x.zip"],
        1,
        "the pack is 'x.zip'; its name must end with one of .tar, .tar.gz, .tgz, .tar.xz",
    );
    refused(&[PROCESS, "-o", "no/x.tar"], 1, "cannot be written");
    refused(&["t > b w+", "-o", "x.tar"], 1, "no packs");
    refused(&[PROCESS, "-o", "x.tar", "--simd", "mmx"], 2, "mmx");
    refused(
        &[PROCESS, "-o", "x.tar", "--seed", "0"],
        2,
        "it must be a whole number from 1",
    );
    refused(
        &[".", "-o", "x.tar"],
        1,
        "is neither an output of MG5aMC (SubProcesses) nor a run of",
    );
    refused(
        &[".", "-o", "x.tar", "--seed", "1"],
        1,
        "--seed is for an output",
    );
    refused(
        &[".", "-o", "x.tar", "--set", "a=1"],
        1,
        "--set is for an output",
    );
    fs::create_dir_all(here.join("run_01/state")).expect("a folder");
    refused(&["run_01", "-o", "x.tar"], 1, "holds no survey");
    assert_eq!(names(here), ["run_01"]);
}

#[test]
fn a_run_is_not_surveyed_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let events = [
        "events",
        PROCESS,
        "--nevents",
        "500",
        "--seed",
        "5",
        "--quiet",
    ];
    let cut = ["--set", "ptl=30"];
    let ran = mebridge(here, &[&events[..], &PARTONS, &cut].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let points = fs::read(here.join("Events/run_01/state/survey/points")).expect("a survey");
    let pack = ["pack", "Events/run_01", "-o", "x.tar.gz", "--quiet"];
    let other = [("CUDACPP_RUNTIME_FPTYPE", "f")];
    let ran = mebridge_with(here, &pack, &other);
    assert!(ran.failed(1).contains("another switches"), "{}", ran.stderr);
    mebridge(here, &pack).ok();
    let pack = Pack::unpacked(folder, "x.tar.gz");
    let run = pack.pack.join("mebridge/run");
    assert!(fs::read(run.join("survey/points")).expect("a survey") == points);
    let made = text(&pack.events(&["30", "1"], &[]));
    let card = made.split("<MGRunCard>").nth(1).expect("a card");
    let has = |wanted: &str| {
        let mut lines = card
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert!(
            lines.any(|words| words.join(" ").starts_with(wanted)),
            "{wanted}"
        );
    };
    has("30 = nevents");
    has("30.0 = ptl");
    // All points of the run count for the jobs.
    let totals = |text: &str| -> Vec<f64> {
        let init = text.split("<init>\n").nth(1).expect("a block");
        let words = init.lines().nth(1).expect("a line").split_whitespace();
        words
            .take(2)
            .map(|word| word.parse().expect("a number"))
            .collect()
    };
    let before = fs::read(
        pack.folder
            .path()
            .join("Events/run_01/unweighted_events.lhe.gz"),
    );
    let (before, now) = (totals(&text(&before.expect("events"))), totals(&made));
    assert!(
        (now[0] - before[0]).abs() < 4.0 * before[1] && now[1] < 1.05 * before[1],
        "{now:?} {before:?}"
    );
    let least = momenta(&made)
        .iter()
        .map(|row| {
            let words: Vec<f64> = row
                .split(' ')
                .map(|word| word.parse().expect("a number"))
                .collect();
            words[0].hypot(words[1])
        })
        .fold(f64::INFINITY, f64::min);
    assert!(least >= 30.0, "{least}");
}
